"""The explicit step of Pogo beside cuSPARSE's CSR product of the same mesh: cusparse.py DECK POGO_SOLVE BLOCK (needs CuPy and SciPy)."""

import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

import cupy
import cupyx.scipy.sparse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import benchmark


def product_seconds(matrix, kind):
    """Median seconds of one product."""
    on_device = cupyx.scipy.sparse.csr_matrix(matrix.astype(kind))
    u = cupy.random.default_rng(1).standard_normal(matrix.shape[1]).astype(kind)
    begin, end = cupy.cuda.Event(), cupy.cuda.Event()
    seconds = []
    for repeat in range(12):
        begin.record()
        for _ in range(50):
            force = on_device @ u
        end.record()
        end.synchronize()
        seconds.append(cupy.cuda.get_elapsed_time(begin, end) / 50e3)
    assert bool(cupy.isfinite(force).all())
    return statistics.median(seconds[2:])


def main():
    deck, solve, block = sys.argv[1:]
    x, connectivity = benchmark.read_deck(deck)
    matrix = benchmark.stiffness(x, connectivity)
    print(f"cuSPARSE through CuPy {cupy.__version__}: {len(x)} nodes, {matrix.nnz} non-zeros")
    for precision, kind in (("f32", "float32"), ("f64", "float64")):
        product = len(x) / product_seconds(matrix, kind)
        with tempfile.TemporaryDirectory() as out:
            def run(time):
                subprocess.run([solve, block, "-o", out, "--quiet", "--no-fields", "--energy-samples", "1", "--device", "cuda",
                                "--precision", precision, "--time", str(time)], check=True)
                return json.loads((pathlib.Path(out) / "summary.json").read_text())
            increment = 0.9 * run(1e-12)["stable_increment"]
            speeds = sorted(run(20000 * increment)["node_steps_per_second"] for _ in range(3))
        print(f"  {precision}: K u {product / 1e9:.2f} G nodes/s, Pogo's whole step {speeds[1] / 1e9:.2f} G node-steps/s, "
              f"{speeds[1] / product:.1f} times")


if __name__ == "__main__":
    main()
