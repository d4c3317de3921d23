#!/usr/bin/env python3
"""Node-steps a second of pogo-solve beside SciPy's CSR product and the memory floor, in one run.

    pip install numpy scipy
    cargo build --release
    tests/benchmark.py                                   # 0.2, 1 and 4 million nodes, three element kinds
    tests/benchmark.py --elements cpe3 weld --nodes 58000 235000

For each mesh: `pogo-gen box` (row by row; `weld` is the paper's first model instead, unstructured triangles numbered as the mesh
generator left them, with two materials, a source and monitors), `pogo-block`, then `pogo-solve` in both precisions, the median of the repeats; the stiffness
of the same mesh as a SciPy CSR matrix, whose product with a vector (float64, one thread) is the least that any stored
form must do in a step (and that of the whole step in NumPy around it, and of the product with the nodes numbered at random: Pogo renumbers them
itself, so its own speed does not depend on the deck's numbering); and the copy bandwidth of this machine with the same number of threads.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import threading
import time

import numpy as np
import scipy.sparse as sp

ROOT = pathlib.Path(__file__).resolve().parent.parent
GAUSS = 1 / np.sqrt(3)
CORNERS = np.array([[-1, -1, -1], [1, -1, -1], [1, 1, -1], [-1, 1, -1],
                    [-1, -1, 1], [1, -1, 1], [1, 1, 1], [-1, 1, 1]], float)


def read_deck(path):
    """Node positions and connectivity of a deck with one *NODE and one *ELEMENT block."""
    sections, name = {}, None
    with open(path) as file:
        for line in file:
            if line.startswith("*"):
                keyword = line.split(",")[0].strip().upper()
                name = keyword if keyword in ("*NODE", "*ELEMENT") and keyword not in sections else None
                if name:
                    sections[name] = []
            elif name:
                sections[name].append(line)
    nodes = np.array([line.split(",") for line in sections["*NODE"]], float)
    elements = np.array([line.split(",") for line in sections["*ELEMENT"]], int)
    index = np.zeros(int(nodes[:, 0].max()) + 1, int)
    index[nodes[:, 0].astype(int)] = np.arange(len(nodes))
    return nodes[:, 1:], index[elements[:, 1:]]


def elasticity(dimension, young=210e9, poisson=0.3):
    shear = young / 2 / (1 + poisson)
    first = young * poisson / (1 + poisson) / (1 - 2 * poisson)
    n = 3 if dimension == 2 else 6
    matrix = np.zeros((n, n))
    matrix[:dimension, :dimension] = first
    matrix[range(dimension), range(dimension)] += 2 * shear
    matrix[range(dimension, n), range(dimension, n)] = shear
    return matrix


def strain_matrix(gradient):
    """B (element, strain, dof) from shape gradients (element, node, dimension)."""
    count, nodes, dimension = gradient.shape
    pairs = [(0, 1)] if dimension == 2 else [(0, 1), (0, 2), (1, 2)]
    b = np.zeros((count, dimension + len(pairs), nodes, dimension))
    for i in range(dimension):
        b[:, i, :, i] = gradient[:, :, i]
    for row, (i, j) in enumerate(pairs):
        b[:, dimension + row, :, i] = gradient[:, :, j]
        b[:, dimension + row, :, j] = gradient[:, :, i]
    return b.reshape(count, dimension + len(pairs), nodes * dimension)


def element_stiffness(x):
    """K_e (element, dof, dof) of simplices, or of hexahedra with 2 x 2 x 2 points."""
    dimension = x.shape[2]
    d = elasticity(dimension)
    if x.shape[1] == dimension + 1:
        jacobian = np.swapaxes(x[:, 1:] - x[:, :1], 1, 2)
        local = np.vstack([-np.ones(dimension), np.eye(dimension)])
        points = [(local, 1 / (2 if dimension == 2 else 6))]
    else:
        points = []
        for point in CORNERS * GAUSS:
            factors = 1 + CORNERS * point
            local = np.stack([CORNERS[:, a] / 8 * np.prod(np.delete(factors, a, 1), 1) for a in range(3)], 1)
            points.append((local, 1.0))
    total = 0
    for local, weight in points:
        if len(points) > 1:
            jacobian = np.einsum("eni,nj->eij", x, local)
        b = strain_matrix(np.einsum("nj,eji->eni", local, np.linalg.inv(jacobian)))
        volume = weight * np.abs(np.linalg.det(jacobian))
        total = total + np.einsum("e,eba,bc,ecd->ead", volume, b, d, b, optimize=True)
    return total


def stiffness(x, connectivity):
    """The assembled matrix, chunk by chunk to bound the memory."""
    dimension, size = x.shape[1], x.size
    matrix = sp.csr_matrix((size, size))
    chunk = 4_000_000 // connectivity.shape[1] ** 2
    for first in range(0, len(connectivity), chunk):
        nodes = connectivity[first:first + chunk]
        ke = element_stiffness(x[nodes])
        dofs = (nodes[:, :, None] * dimension + np.arange(dimension)).reshape(len(nodes), -1)
        rows = np.repeat(dofs, dofs.shape[1], axis=1).ravel()
        columns = np.tile(dofs, (1, dofs.shape[1])).ravel()
        matrix = matrix + sp.csr_matrix((ke.ravel(), (rows, columns)), shape=(size, size))
    return matrix


def median_seconds(work):
    work()
    times = []
    while sum(times) < 1.5 or len(times) < 5:
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def scipy_seconds(matrix):
    """Median seconds of one product, and of one undamped central-difference step around it."""
    u = np.random.default_rng(1).standard_normal(matrix.shape[1])
    increment, inverse_mass = np.zeros_like(u), np.full_like(u, 1e-20)

    def step():
        nonlocal u, increment
        force = matrix @ u
        force *= inverse_mass
        increment -= force
        u += increment

    return median_seconds(lambda: matrix @ u), median_seconds(step)


def shuffled(matrix, dimension):
    """The same matrix with its nodes numbered at random."""
    nodes = np.random.default_rng(2).permutation(matrix.shape[0] // dimension)
    dofs = (nodes[:, None] * dimension + np.arange(dimension)).ravel()
    return matrix[dofs][:, dofs].tocsr()


def copy_bandwidth(threads, megabytes=256):
    """Bytes read and written a second by plain copies, all threads together; best of 7."""
    arrays = [(np.ones(megabytes * 131072), np.empty(megabytes * 131072)) for _ in range(threads)]
    best = 0
    for _ in range(7):
        workers = [threading.Thread(target=np.copyto, args=(b, a)) for a, b in arrays]
        start = time.perf_counter()
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        best = max(best, 2 * threads * megabytes * 1048576 / (time.perf_counter() - start))
    return best


def write_deck(element, nodes, deck):
    if element == "weld":
        # The model has 961,065 nodes at 40 µm.
        pogo("pogo-gen", "weld", "--size", 40e-6 * (961_065 / nodes) ** 0.5, "-o", deck, "--quiet")
    else:
        pogo("pogo-gen", "box", "--elements", element, "--nodes", nodes, "-o", deck, "--quiet")


def pogo(name, *arguments):
    return subprocess.run([ROOT / "target/release" / name, *map(str, arguments)], check=True, capture_output=True,
                          text=True).stdout


def solve(block, out, precision, threads, repeats, seconds):
    """Median summary of several runs, each long enough to time."""
    def run(steps_time):
        pogo("pogo-solve", block, "-o", out, "--json", "--quiet", "--no-fields", "--energy-samples", 1, "--threads",
             threads, "--precision", precision, "--time", steps_time)
        return json.loads((pathlib.Path(out) / "summary.json").read_text())

    increment = run(1e-12)["stable_increment"] * 0.9
    # Some steps take longer than they would in a long run: the energies at both ends count, too.
    duration = increment * 20
    for share in (0.1, 1.0):
        duration *= max(1, share * seconds / max(run(duration)["loop_seconds"], 1e-9))
    runs = [run(duration) for _ in range(repeats)]
    return sorted(runs, key=lambda summary: summary["node_steps_per_second"])[len(runs) // 2]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--elements", nargs="+", default=["cpe3", "c3d4", "c3d8"])
    parser.add_argument("--nodes", nargs="+", type=int, default=[200_000, 1_000_000, 4_000_000])
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3.0, help="length of each timed run")
    parser.add_argument("--scipy-limit", type=float, default=4e8, help="no SciPy product above so many non-zeros")
    options = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")

    print(f"{options.threads} threads; copy bandwidth {copy_bandwidth(options.threads) / 1e9:.1f} GB/s")
    print(f"{'mesh':>6} {'nodes':>9}  {'SciPy K u':>10} {'its step':>10} {'shuffled':>10}  " +
          "  ".join(f"{'Pogo ' + p:>10} {'x SciPy':>8} {'B/step':>7} {'GB/s':>6} {'% copy':>6}" for p in ("f64", "f32")))
    with tempfile.TemporaryDirectory() as folder:
        deck, block, out = (f"{folder}/box{suffix}" for suffix in (".inp", ".blk", ".out"))
        for element in options.elements:
            for nodes in options.nodes:
                write_deck(element, nodes, deck)
                pogo("pogo-block", deck, "-o", block, "--quiet")
                copy = copy_bandwidth(options.threads)
                x, connectivity = read_deck(deck)
                per_node = {"cpe3": 28, "weld": 28, "c3d4": 135, "c3d8": 243}.get(element, 250)
                product = step = random = None
                if per_node * len(x) <= options.scipy_limit:
                    matrix = stiffness(x, connectivity)
                    product, step = (len(x) / seconds for seconds in scipy_seconds(matrix))
                    random = len(x) / scipy_seconds(shuffled(matrix, x.shape[1]))[0]
                    del matrix
                n_nodes = len(x)
                del x, connectivity
                speeds = [f"{speed / 1e6:>8.1f} M" if speed else f"{'-':>10}" for speed in (product, step, random)]
                row = f"{element:>6} {n_nodes:>9}  " + " ".join(speeds)
                for precision in ("f64", "f32"):
                    summary = solve(block, out, precision, options.threads, options.repeats, options.seconds)
                    speed, size = summary["node_steps_per_second"], summary["bytes_per_node_step"]
                    ratio = f"{speed / product:>8.2f}" if product else f"{'-':>8}"
                    row += f"  {speed / 1e6:>8.1f} M {ratio} {size:>7.0f} {speed * size / 1e9:>6.1f} {100 * speed * size / copy:>6.0f}"
                print(row, flush=True)


if __name__ == "__main__":
    main()
