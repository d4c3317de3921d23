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
# # Tissue under a scalpel
#
# A block of soft tissue is drawn apart and cut. We follow both lips of the wound, and the energy. Open this file as a
# notebook with Jupytext, or run it as it is.

# %%
import matplotlib.pyplot as plt
import numpy as np

import pogo

# %% [markdown]
# 24 × 12 × 8 particles, 1 mm apart, indexed [z, y, x]; the two upper layers are skin.

# %%
mask = np.ones((8, 12, 24), np.uint8)
mask[6:] = 2
draw = {"kind": "smooth_step", "times": [0.0, 0.05], "values": [0.0, 1.0]}
lattice = pogo.spring.Lattice(
    mask,
    spacing=1e-3,
    time=0.15,
    alpha=20.0,
    materials=[
        {"name": "fat", "label": 1, "density": 950.0, "stiffness": {"axis": 1.0, "face": 0.7, "space": 0.3}},
        {"name": "skin", "label": 2, "density": 1100.0, "stiffness": {"axis": 5.0, "face": 3.0, "space": 1.0}},
    ],
    boundaries=[
        {"side": "zmin"},
        {"name": "LEFT", "side": "xmin", "components": "x", "value": -2e-3, "amplitude": draw},
        {"name": "RIGHT", "side": "xmax", "components": "x", "value": 2e-3, "amplitude": draw},
    ],
    cuts={
        "name": "SCALPEL",
        "times": [0.05, 0.1],
        "from": [[12.1e-3, -1e-3, 4e-3], [12.1e-3, 13e-3, 4e-3]],
        "to": [[12.1e-3, -1e-3, 12e-3], [12.1e-3, 13e-3, 12e-3]],
    },
    monitors={
        "name": "LIPS",
        "line": [[11.5e-3, 6.5e-3, 7.5e-3], [12.5e-3, 6.5e-3, 7.5e-3]],
        "points": 2,
        "variables": "U1",
    },
    fields={"count": 5},
)
block = pogo.block(lattice)
run = pogo.solve(block)
print(f"{run.summary['springs']} springs, {run.summary['cut']} cut")
assert run.summary["cut"] > 0

# %% [markdown]
# The wound opens once the blade has passed.

# %%
lips = run.traces["LIPS"]
gap = np.asarray(lips[:, 1] - lips[:, 0])
before = gap[np.searchsorted(lips.time, 0.05)]
figure, axes = plt.subplots()
axes.plot(lips.time, 1e3 * gap)
axes.axvspan(0.05, 0.1, alpha=0.2, label="the blade moves")
axes.set(xlabel="time, s", ylabel="opening, mm")
axes.legend()
figure.savefig("spring-wound.png")
assert gap[-1] > 2 * before > 0

# %% [markdown]
# Which springs were cut, and when; and where the particles are at the end.

# %%
broken = run.tables["broken"]
print(f"{len(broken['time'])} springs went, the first at {broken['time'].min():.3f} s")
end = run.fields[-1].points
figure, axes = plt.subplots()
top = end[:, 2] > 6e-3
axes.scatter(1e3 * end[top, 0], 1e3 * end[top, 1], c=1e3 * end[top, 2], cmap="cividis", s=8)
axes.set(aspect="equal", xlabel="x, mm", ylabel="y, mm", title="The skin from above")
figure.savefig("spring-skin.png")

# %% [markdown]
# Stiffer skin gapes wider: two more cases of the same block.

# %%
for stiffness in (2.5, 10.0):
    lips = block.solve(set={"spring.skin.axis.stiffness": stiffness}, fields=False).traces["LIPS"]
    print(f"{stiffness:4} N/m: {1e3 * float(lips[-1, 1] - lips[-1, 0]):.2f} mm")
