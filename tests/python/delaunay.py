"""Writes a deck of tetrahedra that no grid lies under: the Delaunay mesh of jittered points of a unit cube, nodes and
elements in random order, steel, held at z = 0, with a pulse at the top and one monitor.

    delaunay.py NODES FILE.inp
"""

import sys

import numpy as np
from scipy.spatial import Delaunay

n_nodes, path = int(sys.argv[1]), sys.argv[2]
random = np.random.default_rng(1)
edge = round(n_nodes ** (1 / 3))
at = np.stack(np.meshgrid(*[np.arange(edge)] * 3, indexing="ij"), -1).reshape(-1, 3)
inner = ((at > 0) & (at < edge - 1)).astype(float)
points = (at + inner * random.uniform(-0.35, 0.35, at.shape)) / (edge - 1)
random.shuffle(points)
cells = Delaunay(points).simplices
random.shuffle(cells)
corners = points[cells]
volume = np.einsum("ij,ij->i", np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), corners[:, 3] - corners[:, 0]) / 6
# Flat ones on the faces have no volume; others are turned so that it is positive.
keep = np.abs(volume) > 0.005 / (edge - 1) ** 3
cells[volume < 0] = cells[volume < 0][:, [0, 2, 1, 3]]
cells = cells[keep] + 1
speed = np.sqrt(269.23e9 / 7850)
time = 0.3 / speed
with open(path, "w") as out:
    out.write("*HEADING\nDelaunay mesh of jittered points\n*NODE\n")
    np.savetxt(out, np.column_stack([np.arange(1, len(points) + 1), points]), fmt="%d, %.9f, %.9f, %.9f")
    out.write("*ELEMENT, TYPE=C3D4, ELSET=ALL\n")
    np.savetxt(out, np.column_stack([np.arange(1, len(cells) + 1), cells]), fmt="%d, %d, %d, %d, %d")
    for name, z in [("BOTTOM", 0.0), ("TOP", 1.0)]:
        out.write(f"*NSET, NSET={name}\n")
        out.writelines(f"{node + 1}\n" for node in np.flatnonzero(points[:, 2] == z))
    centre = np.argmin(np.linalg.norm(points - 0.5, axis=1)) + 1
    out.write(
        f"*NSET, NSET=CENTRE\n{centre}\n"
        "*MATERIAL, NAME=STEEL\n*DENSITY\n7850.\n*ELASTIC\n200e9, 0.3\n*SOLID SECTION, ELSET=ALL, MATERIAL=STEEL\n"
        f"*AMPLITUDE, NAME=PULSE\n0., 0., {time / 4:.6e}, 1., {time / 2:.6e}, 0.\n"
        f"*STEP\n*DYNAMIC, EXPLICIT\n, {time:.6e}\n*BOUNDARY\nBOTTOM, 1, 3\n"
        "*CLOAD, AMPLITUDE=PULSE\nTOP, 3, 1.\n"
        "*OUTPUT, HISTORY\n*NODE OUTPUT, NSET=CENTRE\nU\n*END STEP\n"
    )
print(f"{path}: {len(points)} nodes, {len(cells)} tetrahedra")
