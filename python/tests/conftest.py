"""What the tests share."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import pytest

import pogo


@pytest.fixture(scope="session")
def command():
    """Runs one of Pogo's executables: those in POGO_BIN, else those that pip has installed."""
    folder = os.environ.get("POGO_BIN") or pathlib.Path(sys.executable).parent

    def run(name, *words, code=0):
        path = shutil.which(name, path=str(folder))
        assert path, f"there is no {name} in {folder}"
        done = subprocess.run([path, *map(str, words)], capture_output=True, text=True)
        assert done.returncode == code, done.stderr
        return done

    return run


@pytest.fixture
def by_commands(command, tmp_path):
    """The results of a model by the executables: its files are saved, blocked and solved."""

    def results(model, *options):
        saved = model.save(tmp_path / "saved")
        jobs = [f"--job={job}" for job in saved.jobs]
        command("pogo-block", saved.input, *jobs, "-o", tmp_path / "model.blk", "-q")
        command("pogo-solve", tmp_path / "model.blk", *options, "-o", tmp_path / "out", "-q")
        return pogo.open(tmp_path / "out")

    return results


@pytest.fixture
def by_arrays(monkeypatch, tmp_path):
    """The results of a model of arrays, of whose input and block file nothing is written: neither where temporary files are
    nor where Python runs.
    """

    def results(model, **keywords):
        empty = tmp_path / "empty"
        empty.mkdir()

        def refuse(*_, **__):
            raise AssertionError("a temporary folder was asked for")

        with monkeypatch.context() as patch:
            patch.setattr(tempfile, "mkdtemp", refuse)
            patch.setattr(tempfile, "tempdir", str(empty))
            patch.setenv("TMPDIR", str(empty))
            patch.chdir(empty)
            block = model.block()
            assert not model.input.exists() and not any(job.exists() for job in model.jobs)
            run = block.solve(output=tmp_path / "here", **keywords)
            assert not any(empty.iterdir())
        return run

    return results


def assert_same_bytes(here, there):
    """The files of two runs are the same, but for their summaries and the comments of tables, which hold times and names."""
    names = {path.name for path in here.files} - {"summary.json"}
    assert names and names == {path.name for path in there.files} - {"summary.json"}
    for name in names:
        one, other = ((run.folder / name).read_bytes() for run in (here, there))
        if name.endswith(".csv"):
            one, other = ([line for line in text.splitlines() if not line.startswith(b"#")] for text in (one, other))
        assert one == other, name


def squares(nx, ny, edge=1e-3):
    """Points and quadrilaterals of a plate."""
    x, y = np.meshgrid(np.arange(nx + 1) * edge, np.arange(ny + 1) * edge)
    first = (np.arange(ny)[:, None] * (nx + 1) + np.arange(nx)).ravel()
    return np.column_stack([x.ravel(), y.ravel()]), np.column_stack([first, first + 1, first + nx + 2, first + nx + 1])


def triangles(nx, ny, edge=1.0):
    """Points and triangles of a plate."""
    points, quads = squares(nx, ny, edge)
    return points, np.vstack([quads[:, :3], quads[:, [0, 2, 3]]])


def tetrahedra(n, edge=1.0):
    """Points and tetrahedra of a cube, six in each cell."""
    z, y, x = np.meshgrid(*[np.arange(n + 1) * edge] * 3, indexing="ij")
    k, j, i = np.meshgrid(*[np.arange(n)] * 3, indexing="ij")
    first = ((k * (n + 1) + j) * (n + 1) + i).ravel()
    steps = [1, n + 1, (n + 1) ** 2]
    cells = []
    for order in ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)):
        a = first + steps[order[0]]
        b = a + steps[order[1]]
        cells.append(np.column_stack([first, a, b, b + steps[order[2]]]))
    return np.column_stack([x.ravel(), y.ravel(), z.ravel()]), np.vstack(cells)


STEEL = {"density": 7932.0, "young": 216.9e9, "poisson": 0.2865}
BURST = {"kind": "hann", "frequency": 5e5, "cycles": 3}


def plate(nx=24, ny=12, **keywords):
    """A plate that is pushed at a point of its upper edge."""
    points, quads = squares(nx, ny)
    push = {"name": "PUSH", "at": [0.25 * nx * 1e-3, ny * 1e-3], "component": 2, "force": 1.0, "amplitude": BURST}
    monitors = [
        {"name": "ENDS", "nodes": [0, nx], "variables": ["U"]},
        {"name": "TOP", "line": [[0.0, ny * 1e-3], [nx * 1e-3, ny * 1e-3]], "points": 4, "variables": "U2"},
    ]
    keywords = {"time": 1e-5, **keywords}
    return pogo.explicit.Model(points, quads, {"steel": STEEL}, push, monitors, **keywords)
