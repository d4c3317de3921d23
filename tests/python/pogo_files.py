"""Compares Pogo on .pogo-inp files with central differences written here, in plain NumPy and SciPy.

    pip install numpy scipy
    python pogo_files.py FOLDER_OF_THE_COMMANDS SCRATCH_FOLDER MODEL.pogo-inp ...

The files are read here by a reader of their own. Elements come from independent.py. The recurrence is that of the solver that
BristolFE has for itself: u_k = (M + dt/2 C)^-1 (dt^2 (f_k - K u_(k-1)) + 2 M u_(k-1) - (M - dt/2 C) u_(k-2)), and sample k of a
trace is u_k. Of a model that sends to itself, rows of u_k are then copied.
"""

import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
from independent import elasticity, lump, stiffness
from scipy.sparse import coo_matrix

TYPES = {0: ("ISOTROPIC", 2), 1: ("ORTHOTROPIC", 9), 2: ("ANISOTROPIC", 21), 3: ("ENGINEERING CONSTANTS", 9)}
N_NODES = {"CPE3": 3, "CPE4": 4, "CPE4R": 4, "C3D4": 4, "C3D6": 6, "C3D8": 8, "C3D8R": 8}


class File:
    def __init__(self, path):
        self.data, self.at = Path(path).read_bytes(), 0
        header = self.text(20)[9:]
        self.minor = int(header.split(".")[1]) if header else self.ints(2)[1]
        self.real = 8

    def array(self, kind, n):
        values = np.frombuffer(self.data, kind, n, self.at)
        self.at += values.nbytes
        return values

    def ints(self, n=None):
        values = self.array("<i4", 1 if n is None else n)
        return int(values[0]) if n is None else values.astype(int)

    def reals(self, n=None):
        values = self.array(f"<f{self.real}", 1 if n is None else n).astype(float)
        return values[0] if n is None else values

    def codes(self, n):
        return self.array("<u8" if self.minor >= 10 else "<u4", n).astype(int)

    def text(self, n):
        return self.array("u1", n).tobytes().split(b"\0")[0].decode().rstrip()

    def section(self, name):
        while self.minor >= 14:
            found, (_, size) = self.text(40), struct.unpack_from("<iq", self.data, self.at)
            self.at += 12
            if found == name:
                return
            self.at += size


def read(path):
    f, m = File(path), {}
    if 11 <= f.minor < 14:
        for _ in range((f.ints(), f.ints())[1]):
            sizes = f.ints(1 if f.minor == 13 else 2)
            f.at += sizes.sum()
            if f.minor == 13:
                kind = f.text(16)
                n = f.ints() if kind == "string" else np.prod(f.ints(f.ints()), dtype=int) * (8 if kind == "double" else 4)
                f.at += n
    f.section("generalInfo")
    f.real, dim = f.ints(2)
    dofs = f.ints() if f.minor >= 2 else dim
    f.at += 1104
    m["n"], m["dt"] = f.ints(), f.reals()
    f.section("nodes")
    m["x"] = f.reals(f.ints() * dim).reshape(-1, dim)
    f.section("elements")
    n, most = f.ints(2)
    types, materials, _ = f.ints(n), f.ints(n), f.ints(n)
    nodes = f.ints(n * most).reshape(n, most)
    f.section("elTypes")
    if 3 <= f.minor < 14:
        f.at += 8
    names = []
    for _ in range(f.ints()):
        names.append(f.text(20))
        f.at += 8
    f.section("matTypes")
    m["materials"] = []
    for _ in range(f.ints()):
        kind, k = f.ints(3)[1:] if f.minor >= 9 else f.ints(2)
        law, n_constants = TYPES[kind]
        v = [*f.reals(k), 0.]
        m["materials"].append((elasticity(law, np.array(v[:n_constants])), v[n_constants], v[n_constants + 1]))
    m["elements"] = [(names[t], nodes[e, :N_NODES[names[t]]], materials[e]) for e, t in enumerate(types)]
    f.section("orientations")
    assert f.ints() == 0
    f.section("fixDof")
    place = lambda codes: codes // 4 * dim + codes % 4
    n = f.array("<u8" if f.minor >= 10 else "<u4", 1)[0]
    m["fixed"] = place(f.codes(n))
    f.section("ties")
    assert f.minor < 6 or f.ints() == 0
    f.section("dofGroups")
    groups = []
    for _ in range(f.ints() if f.minor >= 8 else 0):
        n = f.ints()
        groups.append((place(f.codes(n)), f.reals(n)))
    listed = lambda of_groups, codes: [groups[c] if of_groups else (place(np.array([c])), np.ones(1)) for c in codes]
    mark = lambda: f.minor >= 8 and bool(f.array("i1", 1)[0])
    f.section("signals")
    m["shots"] = []
    for _ in range(f.ints() if f.minor >= 7 else 1):
        (k, n_samples), dt, signals = f.ints(2), f.reals(), []
        for _ in range(k):
            n, kind, of_groups = f.ints(), f.ints() if f.minor >= 1 else 0, mark()
            terms, a = listed(of_groups, f.codes(n)), f.reals(n)
            signals.append((kind, [(d, w * a_k) for (d, w), a_k in zip(terms, a)], f.reals(n_samples)))
        m["shots"].append((dt, signals))
    f.section("measurements")
    if f.minor >= 5:
        k, m["every"], m["first"] = f.ints(3)
        m["sets"] = []
        for _ in range(k):
            name, n = f.text(20), f.ints()
            of_groups = mark()
            m["sets"].append((name, of_groups, listed(of_groups, f.codes(n))))
    else:
        n, m["every"], m["first"] = *f.ints(2), f.ints() if f.minor >= 4 else 0
        m["sets"] = [("main", False, listed(False, f.codes(n)))]
    m["copied"] = np.zeros((2, 0), int)
    if f.minor >= 15:
        f.section("mpi")
        (divisions, _), lists = f.ints(2), []
        assert divisions < 2
        for _ in range(2 * divisions):
            lists.append(f.array("<u4", f.ints()).astype(int))
        if lists:
            # A copy of a copy is one of the first node.
            source = dict(zip(lists[1], lists[0]))
            while any(node in source for node in lists[0]):
                lists[0] = np.array([source.get(node, node) for node in lists[0]])
            m["copied"] = np.array(lists)
    return m


def solve(m, shot):
    """Samples of all traces, (n_samples, n_traces)."""
    x, dt, dim = m["x"], m["dt"], m["x"].shape[1]
    mass, damping = np.zeros(x.size), np.zeros(x.size)
    rows, columns, values, known = [], [], [], {}
    for kind, nodes, material in m["elements"]:
        d, density, alpha = m["materials"][material]
        corners = x[nodes] - x[nodes[0]]
        key = (kind, material, tuple(np.round(corners.ravel(), 12)))
        if key not in known:
            known[key] = stiffness(kind, corners, d, 1.), density * lump(kind, corners, "row-sum")
        k, lumped = known[key]
        dofs = (nodes[:, None] * dim + np.arange(dim)).ravel()
        np.add.at(mass, dofs, np.repeat(lumped, dim))
        np.add.at(damping, dofs, alpha * np.repeat(lumped, dim))
        rows.append(np.repeat(dofs, len(dofs)))
        columns.append(np.tile(dofs, len(dofs)))
        values.append(k.ravel())
    k = coo_matrix((np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))).tocsr()
    interval, signals = m["shots"][shot]
    traces = [terms for _, _, members in m["sets"] for terms in members]
    u, before, samples = np.zeros(x.size), np.zeros(x.size), []
    for n in range(m["n"]):
        force, driven = np.zeros(x.size), {}
        for kind, terms, signal in signals:
            times = np.arange(len(signal) + 1) * interval
            value = np.interp(n * dt, times, [*signal, 0.], right=0.)
            for dofs, weights in terms:
                if kind == 0:
                    np.add.at(force, dofs, weights * value)
                else:
                    assert kind == 1
                    driven.update(zip(dofs, weights * value))
        after = (dt**2 * (force - k @ u) + 2 * mass * u - (mass - dt / 2 * damping) * before) / (mass + dt / 2 * damping)
        after[m["fixed"]] = 0
        for dof, value in driven.items():
            after[dof] = value
        after = after.reshape(-1, dim)
        after[m["copied"][1]] = after[m["copied"][0]]
        after = after.ravel()
        u, before = after, u
        if n >= m["first"] and (n - m["first"]) % m["every"] == 0:
            samples.append([np.sum(u[dofs] * weights) for dofs, weights in traces])
    return np.array(samples)


def columns(m):
    """Name of each trace in traces.csv."""
    dim, names = m["x"].shape[1], []
    for name, of_groups, members in m["sets"]:
        for dofs, _ in members:
            labels = {f"U{d % dim + 1}" for d in dofs}
            label = labels.pop() if len(labels) == 1 else "U"
            names.append(f"{name}.{label}" if of_groups else f"{name}.{dofs[0] // dim + 1}.{label}")
    return names


def main():
    commands, scratch = Path(sys.argv[1]), Path(sys.argv[2])
    for path in map(Path, sys.argv[3:]):
        m = read(path)
        block = scratch / f"{path.stem}.blk"
        subprocess.run([commands / "pogo-block", path, "-o", block, "-q"], check=True)
        subprocess.run([commands / "pogo-solve", block, "--device", "cpu", "--precision", "f64", "-o", scratch / path.stem],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for shot in range(len(m["shots"])):
            folder = scratch / path.stem
            if len(m["shots"]) > 1:
                folder = folder / f"shot{shot + 1}"
            with open(folder / "traces.csv") as file:
                lines = [line for line in file if not line.startswith("#")]
            found, heading = np.loadtxt(lines[1:], delimiter=",", ndmin=2), lines[0].strip().split(",")
            expected, times = solve(m, shot), (m["first"] + 1 + m["every"] * np.arange(len(found))) * m["dt"]
            assert np.allclose(found[:, 0], times, rtol=1e-12), f"{path.name}: times"
            found = found[:, [heading.index(name) for name in columns(m)]]
            assert found.shape == expected.shape, f"{path.name}: {found.shape} samples, not {expected.shape}"
            error = np.abs(found - expected).max() / np.abs(expected).max()
            print(f"{path.name}, shot {shot + 1}: {found.shape[1]} traces of {len(found)} samples, {error:.1e} of the largest")
            if not error < 1e-9:
                sys.exit(f"{path.name}: differs")


if __name__ == "__main__":
    main()
