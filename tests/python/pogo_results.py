"""Reads the files of P. Huthwaite's Pogo, and solves a .pogo-inp by central differences in plain NumPy.

    python pogo_results.py FOLDER_OF_THE_COMMANDS SCRATCH_FOLDER

Written from the layout of the files alone. The elements are those of independent.py. Each case is a deck: Pogo solves it and
writes .pogo-hist and .pogo-field; Pogo also writes it as .pogo-inp, which is read and solved here.
"""

import struct
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from independent import elasticity, lump, stiffness

NONE = 0xFFFFFFFF
ABAQUS = [(r, c) for c in range(6) for r in range(c + 1)]


class Bytes:
    """A file as a stream of little-endian values."""

    def __init__(self, path, kind):
        self.data, self.at = Path(path).read_bytes(), 0
        header = self.text(20)
        assert header.startswith(f"%pogo-{kind}"), header
        tail = header[len(f"%pogo-{kind}"):]
        if tail:
            major, minor = (int(n) for n in tail.split("."))
        else:
            major, minor = self.i4(), self.i4()
        assert major == 1
        self.minor = minor
        self.sections = minor >= (14 if kind == "inp" else 7)
        self.real = "f8"

    def take(self, kind, n=None):
        count = 1 if n is None else n
        values = np.frombuffer(self.data, "<" + kind, count, self.at)
        self.at += values.nbytes
        return values[0].item() if n is None else values.copy()

    def i4(self, n=None):
        return self.take("i4", n)

    def u4(self, n=None):
        return self.take("u4", n)

    def r(self, n=None):
        return self.take(self.real, n)

    def text(self, n):
        raw = self.data[self.at:self.at + n]
        self.at += n
        return raw.split(b"\0")[0].decode().rstrip()

    def section(self, name):
        """Goes to a section; later ones are only looked for forwards."""
        while self.sections:
            found, version, size = self.text(40), self.i4(), self.take("i8")
            self.end = self.at + size
            if found == name:
                assert version == 1
                return
            self.at = self.end

    def done(self):
        assert not self.sections or self.at == self.end, (self.at, self.end)


def read_inp(path):
    f, m = Bytes(path, "inp"), SimpleNamespace()
    m.version = f.minor
    if f.minor >= 11:
        f.section("metadata")
        if f.minor <= 13:
            f.i4()
        assert f.i4() == 0
        f.done()
    f.section("generalInfo")
    assert f.i4() == 8
    m.dim, m.dofs = f.i4(), f.i4()
    m.notes, m.run, m.nt, m.dt = f.text(1024), f.text(80), f.u4(), f.r()
    f.done()
    f.section("nodes")
    m.nodes = f.r(f.u4() * m.dim).reshape(-1, m.dim)
    f.done()
    f.section("elements")
    n, width = f.u4(), f.i4()
    m.types, m.materials_of, orientations = f.i4(n), f.i4(n), f.i4(n)
    assert (orientations == -1).all()
    m.elements = f.u4(n * width).reshape(n, width)
    f.done()
    f.section("pml")
    assert f.i4() == f.i4() == 0
    f.done()
    f.section("elTypes")
    m.kinds = []
    for _ in range(f.i4()):
        m.kinds.append(f.text(20))
        assert f.i4() == f.i4() == 0
    f.done()
    f.section("matTypes")
    m.materials = []
    for _ in range(f.i4()):
        parent = f.i4() if f.minor >= 9 else -1
        kind, n = f.i4(), f.i4()
        m.materials.append((parent, kind, f.r(n)))
    f.done()
    f.section("orientations")
    assert f.i4() == 0
    f.done()

    def codes(n):
        return f.take("u8" if f.minor >= 10 else "i4", n)

    f.section("fixDof")
    m.fixed = codes(codes(None))
    f.done()
    f.section("ties")
    assert f.i4() == 0
    f.done()
    if f.minor >= 8:
        f.section("dofGroups")
        assert f.i4() == 0
        f.done()

    def listed(n):
        assert f.minor < 8 or f.take("i1") == 0
        return codes(n)

    f.section("signals")
    m.shots = []
    for _ in range(f.i4()):
        n_signals, samples, dt = f.i4(), f.i4(), f.r()
        assert (samples, dt) == (m.nt, m.dt)
        signals = []
        for _ in range(n_signals):
            n, kind = f.i4(), f.i4()
            signals.append((kind, listed(n), f.r(n), f.r(samples)))
        m.shots.append(signals)
    f.done()
    f.section("measurements")
    n, m.every, m.start = f.i4(), f.i4(), f.i4()
    m.sets = {}
    for _ in range(n):
        name, n = f.text(20), f.i4()
        m.sets[name] = listed(n)
    f.done()
    f.section("fieldStores")
    m.stores = f.i4(f.i4())
    assert f.u4() == NONE
    f.done()
    if f.minor >= 15:
        f.section("mpi")
        assert f.u4() == f.u4() == 0
        f.done()
    assert f.at == len(f.data)
    return m


def read_hist(path):
    f, h = Bytes(path, "hist"), SimpleNamespace(sets={})
    f.section("metadata")
    assert f.i4() == 0
    f.done()
    f.section("generalInfo")
    assert (f.i4(), f.minor) == (8, 7)
    dim, n_sets, nt = f.i4(), f.i4(), f.i4()
    h.dt, h.start = f.r(), f.r()
    f.done()
    f.section("measSets")
    for _ in range(n_sets):
        name, n = f.text(20), f.i4()
        h.sets[name] = [(f.i4(), f.i4(), f.r(dim), f.r(nt)) for _ in range(n)]
    f.done()
    assert f.at == len(f.data)
    h.times = h.start + h.dt * np.arange(nt)
    return h


def read_field(path):
    f, s = Bytes(path, "field"), SimpleNamespace(stores=[])
    f.section("metadata")
    assert f.i4() == 0
    f.done()
    f.section("generalInfo")
    assert (f.i4(), f.minor) == (8, 7)
    dim, dofs = f.i4(), f.i4()
    f.done()
    f.section("nodes")
    n = f.i4()
    s.nodes, s.numbers = f.r(n * dim).reshape(n, dim), f.i4(n)
    f.done()
    f.section("fieldStores")
    for _ in range(f.i4()):
        s.stores.append((f.r(), f.r(n * dofs).reshape(dofs, n).T))
    f.done()
    return s


def law(kind, values):
    """D, ρ, α of a material."""
    n = {0: 2, 2: 21}[kind]
    if kind == 0:
        d = elasticity("ISOTROPIC", values[:2])
    else:
        d = np.zeros((6, 6))
        for (i, j), value in zip(ABAQUS, values):
            d[i, j] = d[j, i] = value
    return d, values[n], values[n + 1] if len(values) > n + 1 else 0.


def solve(m, shot=0):
    """u after each force sample has acted, (nt, n_nodes, dim): u(-1) = u(-2) = 0."""
    n, dim = m.nodes.shape
    k, mass, damping = np.zeros((n * dim,) * 2), np.zeros(n), np.zeros(n)
    for kind, material, nodes in zip(m.types, m.materials_of, m.elements):
        kind, nodes = m.kinds[kind], nodes[nodes != NONE].astype(int)
        d, rho, alpha = law(*m.materials[material][1:])
        x = m.nodes[nodes]
        dofs = (nodes[:, None] * dim + np.arange(dim)).ravel()
        k[np.ix_(dofs, dofs)] += stiffness(kind, x, d, 1.)
        share = rho * lump(kind, x, "row-sum")
        np.add.at(mass, nodes, share)
        np.add.at(damping, nodes, alpha * share)
    mass, c = np.repeat(mass, dim), np.repeat(damping, dim)

    def at(codes):
        return (codes // 4 * dim + codes % 4).astype(int)

    dt, u, before, out = m.dt, np.zeros(n * dim), np.zeros(n * dim), []
    for sample in range(m.nt):
        f, held = np.zeros(n * dim), [(at(m.fixed), 0.)]
        for kind, codes, values, signal in m.shots[shot]:
            if kind == 0:
                np.add.at(f, at(codes), values * signal[sample])
            else:
                held.append((at(codes), values * signal[sample]))
        new = (dt**2 * (f - k @ u) + 2 * mass * u - (mass - dt / 2 * c) * before) / (mass + dt / 2 * c)
        for dofs, value in held:
            new[dofs] = value
        u, before = new, u
        out.append(u.reshape(n, dim))
    return np.array(out)


def grid(rng, dim, n):
    """Nodes of a distorted grid by index, and the corners of its cells."""
    index = np.stack(np.meshgrid(*[np.arange(k + 1) for k in n], indexing="ij"), -1).reshape(-1, dim)
    place = {tuple(i): p for p, i in enumerate(index)}
    x = 1e-3 * (index + .12 * rng.uniform(-1, 1, index.shape))
    square = [(0, 0), (1, 0), (1, 1), (0, 1)]
    corners = square if dim == 2 else [(*c, z) for z in (0, 1) for c in square]
    cells = [[place[tuple(np.add(i, c))] for c in corners] for i in np.ndindex(*n)]
    return x, cells


def deck(rng, dim, kinds, stores):
    x, cells = grid(rng, dim, (4, 3) if dim == 2 else (3, 2, 2))
    out = ["*HEADING\na test\n*NODE\n"]
    out += [", ".join([str(i + 1), *(repr(float(v)) for v in p)]) + "\n" for i, p in enumerate(x)]
    number, half = 0, len(cells) // 2
    for part, (kind, cells_of) in enumerate(zip(kinds, (cells[:half], cells[half:]))):
        splits = {"CPE3": [[0, 1, 2], [0, 2, 3]], "C3D6": [[0, 1, 2, 4, 5, 6], [0, 2, 3, 4, 6, 7]],
                  "C3D4": [[0, 1, 3, 4], [1, 2, 3, 6], [1, 3, 4, 6], [3, 4, 6, 7], [1, 4, 5, 6]]}
        out.append(f"*ELEMENT, TYPE={kind}, ELSET=PART{part}\n")
        for cell in cells_of:
            for corners in splits.get(kind, [range(len(cell))]):
                number += 1
                out.append(", ".join(map(str, [number, *(cell[c] + 1 for c in corners)])) + "\n")
    n = len(x)
    left, right = np.flatnonzero(x[:, 0] < .3e-3) + 1, np.flatnonzero(x[:, 0] > x[:, 0].max() - .5e-3) + 1
    for name, labels in (("LEFT", left), ("RIGHT", right), ("ALL", range(1, n + 1))):
        out.append(f"*NSET, NSET={name}\n" + "".join(f"{label}\n" for label in labels))
    thickness = 2.5 if dim == 2 else 1.
    out.append("*ORIENTATION, NAME=O\n0.8, 0.6, 0., -0.6, 0.8, 0.\n3, 20.\n")
    out.append(f"*SOLID SECTION, ELSET=PART0, MATERIAL=STEEL\n{thickness},\n")
    out.append(f"*SOLID SECTION, ELSET=PART1, MATERIAL=WELD, ORIENTATION=O\n{thickness},\n")
    out.append("*MATERIAL, NAME=STEEL\n*DENSITY\n7800.,\n*ELASTIC\n2.1e11, 0.3\n*DAMPING, ALPHA=2e5\n")
    out.append("*MATERIAL, NAME=WELD\n*DENSITY\n8000.,\n*ELASTIC, TYPE=ENGINEERING CONSTANTS\n"
               "2.5e11, 1.5e11, 1.9e11, 0.25, 0.3, 0.28, 9e10, 7e10\n6e10\n")
    out.append("*AMPLITUDE, NAME=BURST\n0., 0., 2e-7, 1., 5e-7, -0.7, 9e-7, 0.2\n")
    out.append("*AMPLITUDE, NAME=SHAKE, DEFINITION=SMOOTH STEP\n0., 0., 1e-6, 1.\n")
    out.append("*BOUNDARY\nLEFT, 1, 1\n*STEP, NAME=S, NLGEOM=NO\n*DYNAMIC, EXPLICIT, DIRECT USER CONTROL\n1e-8, 1.2e-6\n"
               "*BULK VISCOSITY\n0., 0.\n*BOUNDARY, AMPLITUDE=SHAKE\nLEFT, 2, 2, 1e-9\n")
    out.append("*CLOAD, AMPLITUDE=BURST\n" + "".join(f"{label}, 1, {3. + i}\n{label}, 2, -1.\n"
                                                     for i, label in enumerate(right)))
    out.append(f"*OUTPUT, FIELD, {stores}\n*NODE OUTPUT\nU\n")
    for name, frequency in (("RIGHT", 1), ("ALL", 1)):
        out.append(f"*OUTPUT, HISTORY, FREQUENCY={frequency}\n*NODE OUTPUT, NSET={name}\nU\n")
    out.append("*END STEP\n")
    return "".join(out)


def compare(name, found, expected, tolerance):
    error = np.abs(found - expected).max() / np.abs(expected).max()
    print(f"{name}: {error:.1e} of the largest")
    assert error < tolerance, name


def check(commands, folder, case, dim, kinds, version, job=None):
    rng = np.random.default_rng(case)
    folder = Path(folder) / str(case)
    folder.mkdir()
    (folder / "model.inp").write_text(deck(rng, dim, kinds, "FREQUENCY=30"))
    jobs = []
    if job:
        (folder / "job.toml").write_text(job)
        jobs = ["--job", "job.toml"]

    def run(command, *arguments):
        subprocess.run([Path(commands) / command, *arguments, "--quiet"], cwd=folder, check=True)

    run("pogo-block", "model.inp", *jobs)
    run("pogo-solve", "model.blk", "--pogo-files", "--threads", "1", "--device", "cpu")
    run("pogo-block", "model.inp", *jobs, "-o", "model.pogo-inp", "--pogo-version", version)
    history, field = read_hist(folder / "model.out/model.pogo-hist"), read_field(folder / "model.out/model.pogo-field")
    model = read_inp(folder / "model.pogo-inp")
    assert (f"1.{model.version:02}", model.nt, model.every, model.start) == (version, 120, 1, 0)
    u = solve(model)
    label = f"{'+'.join(kinds)} {version}"
    assert abs(history.start) < 1e-20 and abs(history.dt - model.dt) < 1e-20 and len(history.times) == model.nt
    assert list(history.sets) == list(model.sets) == ["RIGHT", "ALL"]
    for name, traces in history.sets.items():
        assert [(node, dof) for node, dof, *_ in traces] == [(c // 4, c % 4) for c in model.sets[name].tolist()]
        assert all((model.nodes[node] == position).all() for node, _, position, _ in traces)
        found = np.array([trace for *_, trace in traces]).T
        expected = np.stack([u[:, node, dof] for node, dof, *_ in traces], -1)
        compare(f"{label} {name}", found, expected, 1e-9)
    assert (field.numbers == np.arange(len(model.nodes))).all() and (field.nodes == model.nodes).all()
    assert [round(time / model.dt) for time, _ in field.stores] == model.stores.tolist() == [29, 59, 89, 119]
    for (time, found), sample in zip(field.stores, model.stores):
        compare(f"{label} field at {time:.2e} s", found, u[sample], 1e-9)


LAYER = """
[[absorbing]]
name = "end"
region = { box = [[0.0, -1.0], [2.2e-3, 1.0]] }
"""


def main(commands, scratch):
    check(commands, scratch, 1, 2, ["CPE4R", "CPE3"], "1.15")
    check(commands, scratch, 2, 2, ["CPE4", "CPE3"], "1.07")
    check(commands, scratch, 3, 3, ["C3D8R", "C3D4"], "1.10")
    check(commands, scratch, 4, 3, ["C3D8", "C3D6"], "1.13")


if __name__ == "__main__":
    main(*sys.argv[1:])
