"""The explicit step of Pogo beside cuSPARSE's CSR product of the same triangles: cusparse.py DECK POGO_SOLVE BLOCK (needs CuPy).

The matrix is assembled on the device, which takes a mesh of ten million nodes in seconds.
"""

import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import benchmark

# Steps of a run: 0.2 s and more at any size.
NODE_STEPS = 40e9


def read_deck(path):
    """Node positions (n, 2) and connectivity (e, 3) of a deck with one *NODE and one *ELEMENT block of triangles."""
    text = pathlib.Path(path).read_bytes()

    def table(keyword, columns):
        header = re.search(rb"^\*" + keyword + rb"\b[^\n]*\n", text, re.MULTILINE | re.IGNORECASE)
        end = text.find(b"\n*", header.end() - 1)
        lines = text[header.end():end if end >= 0 else len(text)].strip()
        return numpy.fromstring(lines.replace(b"\n", b","), sep=",").reshape(-1, columns)

    nodes = table(b"NODE", 3)
    elements = table(b"ELEMENT", 4)[:, 1:].astype(numpy.int64)
    index = numpy.zeros(int(nodes[:, 0].max()) + 1, numpy.int64)
    index[nodes[:, 0].astype(numpy.int64)] = numpy.arange(len(nodes))
    return nodes[:, 1:], index[elements]


def stiffness(xp, x, connectivity, kind):
    """The assembled stiffness of triangles in plane strain as CSR: data (`kind`), indices, indptr. `xp` is numpy or cupy."""
    count = len(x)
    x, connectivity = xp.asarray(x), xp.asarray(connectivity)
    corners = x[connectivity]
    d = xp.asarray(benchmark.elasticity(2))
    # b_a = (y_b - y_c, x_c - x_b) / 2A, the gradients of the shape functions.
    after, before = corners[:, [1, 2, 0]], corners[:, [2, 0, 1]]
    gradient = xp.stack([after[:, :, 1] - before[:, :, 1], before[:, :, 0] - after[:, :, 0]], 2)
    area = (gradient[:, 0, 0] * gradient[:, 1, 1] - gradient[:, 0, 1] * gradient[:, 1, 0]) / 2
    gradient /= 2 * area[:, None, None]
    # Pairs of nodes that share an element, each once, in the order of rows and columns.
    pairs = (connectivity[:, :, None] * count + connectivity[:, None, :]).ravel()
    pairs, place = xp.unique(pairs, return_inverse=True)
    place = place.reshape(-1, 3, 3)
    row, column = pairs // count, pairs % count
    start = xp.searchsorted(row, xp.arange(count + 1))
    length = start[1:] - start[:-1]
    del pairs
    data = xp.empty(4 * len(row), kind)
    indices = xp.empty(4 * len(row), xp.int32)
    # K_ab = A (g_a D g_b): entry (i, j) of a pair stands in row 2 r + i, column 2 c + j.
    voigt = [[0, 2], [2, 1]]
    local = xp.arange(len(row)) - start[row]
    for i in range(2):
        for j in range(2):
            value = xp.zeros(len(row))
            for a in range(3):
                for b in range(3):
                    term = sum(d[voigt[i][k], voigt[j][l]] * gradient[:, a, k] * gradient[:, b, l] for k in range(2) for l in range(2))
                    value += xp.bincount(place[:, a, b], weights=area * term, minlength=len(row))
            at = 4 * start[row] + 2 * i * length[row] + 2 * local + j
            data[at] = value
            indices[at] = 2 * column + j
    indptr = xp.stack([4 * start[:-1], 4 * start[:-1] + 2 * length], 1).ravel()
    return data, indices, xp.append(indptr, xp.asarray([4 * len(row)])).astype(xp.int32)


def product_seconds(cupy, matrix):
    """Median seconds of one product."""
    u = cupy.random.default_rng(1).standard_normal(matrix.shape[1]).astype(matrix.dtype)
    begin, end = cupy.cuda.Event(), cupy.cuda.Event()
    seconds = []
    for _ in range(12):
        begin.record()
        for _ in range(50):
            force = matrix @ u
        end.record()
        end.synchronize()
        seconds.append(cupy.cuda.get_elapsed_time(begin, end) / 50e3)
    assert bool(cupy.isfinite(force).all())
    return statistics.median(seconds[2:])


def main():
    import cupy
    import cupyx.scipy.sparse

    deck, solve, block = sys.argv[1:]
    x, connectivity = read_deck(deck)
    print(f"cuSPARSE through CuPy {cupy.__version__}: {len(x)} nodes")
    for precision, kind in (("f32", "float32"), ("f64", "float64")):
        matrix = cupyx.scipy.sparse.csr_matrix(stiffness(cupy, x, connectivity, kind), shape=(x.size, x.size))
        product = len(x) / product_seconds(cupy, matrix)
        nonzeros = matrix.nnz
        del matrix
        cupy.get_default_memory_pool().free_all_blocks()
        with tempfile.TemporaryDirectory() as out:
            def run(time):
                subprocess.run([solve, block, "-o", out, "--quiet", "--no-fields", "--energy-samples", "1", "--device", "cuda",
                                "--precision", precision, "--time", str(time)], check=True)
                return json.loads((pathlib.Path(out) / "summary.json").read_text())
            increment = 0.9 * run(1e-12)["stable_increment"]
            steps = max(2000, round(NODE_STEPS / len(x)))
            speeds = sorted(run(steps * increment)["node_steps_per_second"] for _ in range(3))
        print(f"  {precision}: {nonzeros} non-zeros, K u {product / 1e9:.2f} G nodes/s, "
              f"Pogo's whole step {speeds[1] / 1e9:.2f} G node-steps/s, {speeds[1] / product:.1f} times", flush=True)


if __name__ == "__main__":
    main()
