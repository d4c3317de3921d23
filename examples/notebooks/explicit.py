# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # A pulse in a steel plate
#
# A force pushes the upper edge of a plate. We build the mesh with NumPy, watch the wave pass an array of receivers, and
# measure its speed. Open this file as a notebook with Jupytext, or run it as it is.

# %%
import matplotlib.pyplot as plt
import numpy as np

import pogo

# %% [markdown]
# 120 × 60 mm in squares of 1 mm. Lengths are in m, as all units are SI.

# %%
nx, ny, edge = 120, 60, 1e-3
x, y = np.meshgrid(np.arange(nx + 1) * edge, np.arange(ny + 1) * edge)
points = np.column_stack([x.ravel(), y.ravel()])
first = (np.arange(ny)[:, None] * (nx + 1) + np.arange(nx)).ravel()
cells = np.column_stack([first, first + 1, first + nx + 2, first + nx + 1])

model = pogo.explicit.Model(
    points,
    cells,
    materials={"steel": {"density": 7932, "young": 216.9e9, "poisson": 0.2865}},
    sources={
        "name": "PUSH",
        "at": [0.06, 0.06],
        "component": "y",
        "force": 1.0,
        "amplitude": {"kind": "hann", "frequency": 300e3, "cycles": 3},
    },
    monitors={"name": "DEPTH", "line": [[0.06, 0.05], [0.06, 0.01]], "points": 9, "variables": "U2"},
    fields={"quantities": ["displacement"], "count": 5},
    time=16e-6,
)
run = pogo.solve(model, precision="f32")
print(run.traces)

# %% [markdown]
# `traces` are arrays with names and times.

# %%
depth = run.traces["DEPTH"]
figure, axes = plt.subplots()
axes.plot(1e6 * depth.time, 1e12 * np.asarray(depth) + 0.5 * np.arange(depth.shape[1]))
axes.set(xlabel="time, µs", ylabel="displacement, pm (each trace 0.5 higher)", title="Below the source")
figure.savefig("explicit-traces.png")

# %% [markdown]
# Below the source the compressional wave comes first. Where two traces are most alike, shifted in time, we read its
# speed.

# %%
near, far = np.asarray(depth[:, 2]), np.asarray(depth[:, 5])
step = depth.time[1] - depth.time[0]
lag = np.argmax(np.correlate(far, near, "full")) - (len(near) - 1)
measured = 15e-3 / (lag * step)
young, poisson, density = 216.9e9, 0.2865, 7932
exact = np.sqrt(young * (1 - poisson) / density / (1 + poisson) / (1 - 2 * poisson))
print(f"measured {measured:.0f} m/s, exact {exact:.0f} m/s")
assert abs(measured / exact - 1) < 0.05

# %% [markdown]
# Snapshots are mapped from the files of the run.

# %%
snapshot = run.fields[3]
height = snapshot.point_data["displacement"][:, 1].reshape(ny + 1, nx + 1)
figure, axes = plt.subplots()
image = axes.pcolormesh(1e3 * x, 1e3 * y, 1e12 * height, cmap="cividis", shading="gouraud")
axes.set(aspect="equal", xlabel="x, mm", ylabel="y, mm", title=f"at {1e6 * snapshot.time:.1f} µs")
figure.colorbar(image, label="u_y, pm")
figure.savefig("explicit-field.png")

# %% [markdown]
# A softer steel, without building the model again: parameters are changed by name.

# %%
block = pogo.block(model)
softer = pogo.solve(block, precision="f32", set={"material.steel.young": 150e9})
assert np.abs(softer.traces["DEPTH"]).max() > np.abs(depth).max()
