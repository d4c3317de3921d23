#!/usr/bin/env python3
"""Time, memory and disk that it takes to block models of arrays, from memory and through files.

    block_arrays.py                 all models, each both ways, in processes of their own
    block_arrays.py mesh memory     one model: mesh, voxels or times; memory or files

Needs the module `pogo` (docs/python.md). Models: 1,000,000 nodes and 2 million triangles, of explicit dynamics and of arrival
times; 200 x 200 x 200 voxels of labels.
"""

import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

STEEL = {"density": 7932, "young": 216.9e9, "poisson": 0.2865}
PUSH = {"nodes": [0], "component": 2, "force": 1.0, "amplitude": {"kind": "hann", "frequency": 1e6, "cycles": 3}}


def triangles(n):
    """n x n nodes."""
    x, y = np.meshgrid(np.arange(n) * 1e-3, np.arange(n) * 1e-3)
    first = (np.arange(n - 1)[:, None] * n + np.arange(n - 1)).ravel()
    cells = np.empty((2, len(first), 3), np.int64)
    for half, steps in zip(cells, ((0, 1, n + 1), (0, n + 1, n))):
        for corner, step in enumerate(steps):
            np.add(first, step, out=half[:, corner])
    return np.column_stack([x.ravel(), y.ravel()]), cells.reshape(-1, 3)


def rods(n):
    """Voxels of a lattice of rods, label 87, a layer at a time."""
    image = np.empty((n, n, n), np.uint8)
    x = np.sin(np.arange(n) / 7)
    for layer, z in zip(image, x):
        layer[:] = 87 * (x + x[:, None] + z > 0)
    return image


def model_of(pogo, name):
    """What makes the model of this name, with its arrays there already."""
    if name == "voxels":
        image = rods(200)
        return lambda: pogo.voxel.Model(image, 0.02, {87: 28e3}, load={"preset": "axial", "strain": -0.01})
    points, cells = triangles(1000)
    if name == "times":
        return lambda: pogo.eikonal.Model(points, cells, {"speed": 1.0}, {"nodes": [0]})
    trace = {"name": "A", "nodes": range(10), "variables": "U2"}
    return lambda: pogo.explicit.Model(points, cells, {"steel": STEEL}, PUSH, trace, time=1e-6)


def memory(key):
    """A figure of this process, MiB."""
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(key))


def measure(name, way):
    """Blocks one model and prints a line."""
    import pogo

    make = model_of(pogo, name)
    pathlib.Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    before, start = memory("VmRSS"), time.perf_counter()
    model, disk = make(), 0
    with tempfile.TemporaryDirectory() as folder:
        if way == "files":
            model = model.save(folder)
            disk = sum(path.stat().st_size for path in pathlib.Path(folder).iterdir())
        block = model.block()
        seconds, peak = time.perf_counter() - start, memory("VmHWM") - before
    stage, bytes_ = block.report["seconds"]["read"], block.report["bytes"]
    figures = f"{seconds:5.2f} s, of which reading {stage:5.2f} s; peak {peak:4.0f} MiB above the arrays'"
    print(f"{name:6} {way:6} {figures}; input files {disk / 1e6:4.0f} MB; block file {bytes_ / 1e6:4.0f} MB")


if __name__ == "__main__":
    if len(sys.argv) == 3:
        measure(*sys.argv[1:])
    else:
        for name in ("mesh", "voxels", "times"):
            for way in ("files", "memory"):
                subprocess.run([sys.executable, __file__, name, way], check=True)
