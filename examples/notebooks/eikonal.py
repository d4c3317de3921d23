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
# # A wave of activation through tissue with a scar
#
# Arrival times on a sheet of tissue whose fibres turn, from one site, and from many in one call. Then which of ten
# sites explains measured times. Open this file as a notebook with Jupytext, or run it as it is.

# %%
import matplotlib.pyplot as plt
import numpy as np

import pogo

# %% [markdown]
# A sheet of 40 × 40 mm in triangles. The wave runs along the fibres at 0.6 mm/ms and across them at 0.3; in the scar it
# is slow.

# %%
n, edge = 80, 0.5
x, y = np.meshgrid(np.arange(n + 1) * edge, np.arange(n + 1) * edge)
points = np.column_stack([x.ravel(), y.ravel()])
first = (np.arange(n)[:, None] * (n + 1) + np.arange(n)).ravel()
cells = np.vstack(
    [np.column_stack([first, first + 1, first + n + 2]), np.column_stack([first, first + n + 2, first + n + 1])]
)

middle = points[cells].mean(axis=1)
angle = np.radians(60) * (middle[:, 1] / 40 - 0.5)
along = np.column_stack([np.cos(angle), np.sin(angle)])
across = np.column_stack([-np.sin(angle), np.cos(angle)])
D = 0.36 * np.einsum("ni,nj->nij", along, along) + 0.09 * np.einsum("ni,nj->nij", across, across)
scar = np.hypot(middle[:, 0] - 24, middle[:, 1] - 24) < 6
D[scar] = 0.0025 * np.eye(2)

# %%
site = int(np.argmin(np.hypot(points[:, 0] - 10, points[:, 1] - 15)))
times = pogo.eikonal.solve(points, cells, D, site)
figure, axes = plt.subplots()
contours = axes.tricontourf(points[:, 0], points[:, 1], cells, times, 15, cmap="cividis")
axes.set(aspect="equal", xlabel="x, mm", ylabel="y, mm", title="Arrival times")
figure.colorbar(contours, label="ms")
figure.savefig("eikonal-times.png")
assert times[site] == 0 and np.isfinite(times).all()

# %% [markdown]
# Without the scar and with straight fibres the times are known: √(rᵀ D⁻¹ r). The error falls with the length of the
# edges.

# %%
plain = np.diag([0.36, 0.09])
away = points - points[site]
exact = np.sqrt(np.einsum("ni,ij,nj->n", away, np.linalg.inv(plain), away))
error = np.abs(pogo.eikonal.solve(points, cells, plain, site) - exact).max()
print(f"largest error {error:.2f} of {exact.max():.1f} ms")
assert error < 0.02 * exact.max()

# %% [markdown]
# Which of the nodes of a grid explains times at eight electrodes? One call computes all sites.

# %%
electrodes = np.argmin(
    np.hypot(points[:, :1] - [2, 38, 2, 38, 20, 20, 2, 38], points[:, 1:] - [2, 2, 38, 38, 2, 38, 20, 20]), axis=0
)
rng = np.random.default_rng(0)
measured = times[electrodes] + rng.normal(0, 0.5, electrodes.size)
sites = np.flatnonzero((points[:, 0] % 4 == 2) & (points[:, 1] % 4 == 3))
every = pogo.eikonal.solve(points, cells, D, sites[:, None])
misfit = np.sqrt(((every[:, electrodes] - measured) ** 2).mean(axis=1))
best = sites[np.argmin(misfit)]
print(f"{len(sites)} sites; best at {points[best]}, true at {points[site]}, misfit {misfit.min():.2f} ms")
assert best == site

# %% [markdown]
# Code that calls fim-python runs with another import.

# %%
solver = pogo.eikonal.create_fim_solver(points, cells, D, precision=np.float64)
assert np.allclose(solver.comp_fim(np.array([site]), np.array([0.0])), times)
