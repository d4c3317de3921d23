#!/usr/bin/env python3
"""Writes a cube of n³ hexahedra, or a square of n² squares, in Voronoi grains: grains.inp with Neper's names of sets, euler.csv, and two
jobs.

    grains.py 100 10000          # a million C3D8R in 10,000 grains; grains.toml and, of one orientation, one.toml
    grains.py 1000 10000 CPE3    # two million CPE3, or a million CPE4R, in the plane
"""
import sys

import numpy as np
from scipy.spatial import cKDTree
from scipy.spatial.transform import Rotation

n, n_seeds = int(sys.argv[1]), int(sys.argv[2])
kind = sys.argv[3].upper() if len(sys.argv) > 3 else "C3D8R"
d = 2 if kind.startswith("CP") else 3
random = np.random.default_rng(1)
# The first axis runs fastest.
cells = np.indices((n,) * d).reshape(d, -1).T[:, ::-1]
m = n + 1
nodes = np.indices((m,) * d).reshape(d, -1).T[:, ::-1] * (1e-3 / n)
first = 1 + cells @ m ** np.arange(d)
square = np.column_stack([first, first + 1, first + 1 + m, first + m])
elements = square if d == 2 else np.column_stack([square, square + m * m])
if kind in ("CPE3", "CPS3"):
    elements = np.concatenate([square[:, [0, 1, 2]], square[:, [0, 2, 3]]], axis=1).reshape(-1, 3)
centres = nodes[elements - 1].mean(axis=1) / 1e-3
grain = cKDTree(random.random((n_seeds, d))).query(centres)[1]
grain = np.unique(grain, return_inverse=True)[1].ravel() + 1
with open("grains.inp", "w") as deck:
    deck.write("*Heading\nA body in grains\n*Node\n")
    np.savetxt(deck, np.column_stack([np.arange(1, m**d + 1), nodes]), fmt="%d" + ", %.8g" * d)
    deck.write(f"*Element, type={kind}, elset=ALL\n")
    np.savetxt(deck, np.column_stack([np.arange(1, len(elements) + 1), elements]), fmt="%d", delimiter=",")
    order = np.argsort(grain, kind="stable") + 1
    for number, members in enumerate(np.split(order, np.cumsum(np.bincount(grain)[1:])[:-1]), 1):
        deck.write(f"*Elset, elset=poly{number}\n")
        for at in range(0, len(members), 12):
            deck.write(", ".join(map(str, members[at : at + 12])) + "\n")
angles = Rotation.random(grain.max(), random_state=1).as_euler("ZXZ", degrees=True)
np.savetxt("euler.csv", np.column_stack([np.arange(1, grain.max() + 1), angles]), fmt="%d,%.4f,%.4f,%.4f")
origin, top = [0] * d, [0.0005] * (d - 1) + [0.001]
common = f"""[solver]
time = 2e-7
[[material]]
name = "copper"
density = 8960
cubic = [168.4e9, 121.4e9, 75.4e9]
[[monitor]]
at = {origin}
[[source]]
at = {top}
component = {d}
force = 1
"""
with open("grains.toml", "w") as job:
    job.write(common + '[[grains]]\nmaterial = "copper"\nfile = "euler.csv"\n')
with open("one.toml", "w") as job:
    job.write(common + '[[section]]\nall = true\nmaterial = "copper"\norientation = [[1, 1, 0.5], [-1, 1, 0]]\n')
print(f"{len(elements)} elements in {grain.max()} grains")
