#!/usr/bin/env python3
"""Writes a cube of n³ hexahedra in Voronoi grains: cube.inp with Neper's names of sets, euler.csv, and two jobs.

    grains.py 100 10000          # a million elements in 10,000 grains; grains.toml and, of one orientation, one.toml
"""
import sys

import numpy as np
from scipy.spatial import cKDTree
from scipy.spatial.transform import Rotation

n, n_seeds = int(sys.argv[1]), int(sys.argv[2])
random = np.random.default_rng(1)
centres = (np.indices((n, n, n)).reshape(3, -1).T[:, ::-1] + 0.5) / n
grain = cKDTree(random.random((n_seeds, 3))).query(centres)[1]
grain = np.unique(grain, return_inverse=True)[1].ravel() + 1
m = n + 1
nodes = np.indices((m, m, m)).reshape(3, -1).T[:, ::-1] * (1e-3 / n)
k, j, i = np.indices((n, n, n)).reshape(3, -1)
first = 1 + i + m * (j + m * k)
lower = np.column_stack([first, first + 1, first + 1 + m, first + m])
with open("cube.inp", "w") as deck:
    deck.write("*Heading\nA cube in grains\n*Node\n")
    np.savetxt(deck, np.column_stack([np.arange(1, m**3 + 1), nodes]), fmt="%d, %.8g, %.8g, %.8g")
    deck.write("*Element, type=C3D8R, elset=ALL\n")
    np.savetxt(deck, np.column_stack([np.arange(1, n**3 + 1), lower, lower + m * m]), fmt="%d", delimiter=",")
    order = np.argsort(grain, kind="stable") + 1
    for number, members in enumerate(np.split(order, np.cumsum(np.bincount(grain)[1:])[:-1]), 1):
        deck.write(f"*Elset, elset=poly{number}\n")
        for at in range(0, len(members), 12):
            deck.write(", ".join(map(str, members[at : at + 12])) + "\n")
angles = Rotation.random(grain.max(), random_state=1).as_euler("ZXZ", degrees=True)
np.savetxt("euler.csv", np.column_stack([np.arange(1, grain.max() + 1), angles]), fmt="%d,%.4f,%.4f,%.4f")
common = """[solver]
time = 2e-7
[[material]]
name = "copper"
density = 8960
cubic = [168.4e9, 121.4e9, 75.4e9]
[[monitor]]
at = [0, 0, 0]
[[source]]
at = [0.0005, 0.0005, 0.001]
component = 3
force = 1
"""
with open("grains.toml", "w") as job:
    job.write(common + '[[grains]]\nmaterial = "copper"\nfile = "euler.csv"\n')
with open("one.toml", "w") as job:
    job.write(common + '[[section]]\nall = true\nmaterial = "copper"\norientation = [[1, 1, 0.5], [-1, 1, 0]]\n')
print(f"{n**3} elements in {grain.max()} grains")
