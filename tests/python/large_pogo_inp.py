"""Writes a .pogo-inp file of a plate of CPE4R, 44 bytes an element, to measure how fast such files are read.

    pip install numpy
    python large_pogo_inp.py 4800 4740 plate.pogo-inp     # 1.0 GB; --periodic: each row of nodes goes on at its other end
    pogo-block --check plate.pogo-inp --timings
"""

import struct
import sys

import numpy as np


def integers(*values):
    return struct.pack(f"<{len(values)}i", *values)


def reals(*values):
    return struct.pack(f"<{len(values)}d", *values)


def text(value, n):
    return value.encode().ljust(n, b"\0")


def section(file, name, *parts):
    parts = [part.tobytes() if isinstance(part, np.ndarray) else part for part in parts]
    file.write(text(name, 40) + struct.pack("<iq", 1, sum(map(len, parts))))
    for part in parts:
        file.write(part)


def main():
    nx, ny = map(int, sys.argv[1:3])
    n, m = (nx + 1) * (ny + 1), nx * ny
    with open(sys.argv[3], "wb") as file:
        file.write(text("%pogo-inp", 20) + integers(1, 15))
        section(file, "metadata", integers(0))
        section(file, "generalInfo", integers(8, 2, 2), text("plate", 1104), struct.pack("<I", 100), reals(1e-8))
        x = np.empty((ny + 1, nx + 1, 2))
        x[..., 0], x[..., 1] = 1e-4 * np.arange(nx + 1), 1e-4 * np.arange(ny + 1)[:, None]
        section(file, "nodes", struct.pack("<I", n), x)
        corner = (np.arange(ny)[:, None] * (nx + 1) + np.arange(nx))[..., None]
        nodes = (corner + [0, 1, nx + 2, nx + 1]).astype("<u4")
        zero = np.zeros(m, "<i4")
        section(file, "elements", struct.pack("<Ii", m, 4), zero, zero, zero - 1, nodes)
        section(file, "pml", integers(0, 0))
        section(file, "elTypes", integers(1), text("CPE4R", 20), integers(0, 0))
        section(file, "matTypes", integers(1, -1, 0, 3), reals(210e9, .3, 8000.))
        section(file, "orientations", integers(0))
        section(file, "fixDof", struct.pack("<Q", 0))
        section(file, "ties", integers(0))
        section(file, "dofGroups", integers(0))
        section(file, "signals", integers(1, 1, 4), reals(1e-8), integers(1, 0), b"\0", struct.pack("<Q", 5), reals(1.),
                reals(0., 1., 1., 0.))
        section(file, "measurements", integers(1, 1, 0), text("middle", 20), integers(1), b"\0",
                struct.pack("<Q", 4 * (n // 2)))
        section(file, "fieldStores", integers(0), struct.pack("<I", 0xFFFFFFFF))
        first = (np.arange(ny + 1)[:, None] * (nx + 1)).astype("<u4")
        sent, received = first + np.uint32([1, nx - 1]), first + np.uint32([nx, 0])
        lists = [part for nodes in (sent, received) for part in (integers(nodes.size), nodes)]
        section(file, "mpi", *([integers(1, 0), *lists] if "--periodic" in sys.argv else [integers(0, 0)]))


if __name__ == "__main__":
    main()
