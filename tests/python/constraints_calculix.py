#!/usr/bin/env python3
"""Natural frequencies of models with linear constraints: Pogo beside CalculiX (`ccx`), which solves the eigenvalue problem.

    tests/python/constraints_calculix.py --bin FOLDER [--ccx ccx]

Two blocks of C3D4, clamped at one end, are joined
- tie: by `*TIE`, with meshes that do not match;
- equation: by `*EQUATION`, nodes of both in pairs, normal to the joint alone, so that they slide;
- body: by `*TIE`, where half of the free block is a `*RIGID BODY`.

Pogo steps free vibrations and takes the peaks of their spectrum. CalculiX has the consistent mass, Pogo the lumped one, whose
frequencies are lower by a part of order h², most in torsion: with n cells across a square the lumped moment of inertia is
1 + 2/n² times the exact one. So both are computed with two sizes of cells, and the difference must fall with their square. Without
the joint all frequencies are far off. Takes two minutes.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

SIZE = np.array([2.0, 0.5, 0.4])
YOUNG, POISSON, DENSITY = 1.0, 0.3, 1.0
# Six tetrahedra of a cell, by its corners as bits x + 2 y + 4 z, round the diagonal from 0 to 7.
TETRAHEDRA = [(0, 1, 3, 7), (0, 3, 2, 7), (0, 2, 6, 7), (0, 6, 4, 7), (0, 4, 5, 7), (0, 5, 1, 7)]
MODES = 5
# Peaks are sought so near to an expected frequency, a part of it.
NEAR = 0.06
# Length of a run, in periods of the lowest frequency.
PERIODS = 100
# CalculiX is asked for more modes: of few it misses the lowest ones.
ASKED = 15


class Block:
    """A box of tetrahedra from `start` to `end` along x."""

    def __init__(self, start, end, cells, first_node, first_element):
        self.n, self.first_node, self.first_element = np.array(cells), first_node, first_element
        axes = [np.linspace(a, b, n + 1) for a, b, n in zip([start, 0, 0], [end, *SIZE[1:]], cells)]
        self.x = np.stack(np.meshgrid(*axes, indexing="ij"), -1)

    def label(self, i, j, k):
        return self.first_node + int(np.ravel_multi_index((i, j, k), self.n + 1))

    def nodes(self):
        return [(self.label(*at), self.x[at]) for at in np.ndindex(*(self.n + 1))]

    def elements(self):
        label = self.first_element
        for at in np.ndindex(*self.n):
            corner = [self.label(*(np.array(at) + [c & 1, c >> 1 & 1, c >> 2])) for c in range(8)]
            for nodes in TETRAHEDRA:
                yield label, [corner[c] for c in nodes]
                label += 1

    def plane(self, i):
        return [self.label(i, j, k) for j, k in np.ndindex(*(self.n[1:] + 1))]


def lines(numbers):
    return "".join(", ".join(map(str, numbers[at : at + 8])) + ",\n" for at in range(0, len(numbers), 8))


def surface(name, block, i):
    """The element faces of a block in a plane of nodes: faces of tetrahedra by Abaqus' numbers."""
    plane, faces = set(block.plane(i)), [(0, 1, 2), (0, 3, 1), (1, 3, 2), (2, 3, 0)]
    found = [
        f"{label}, S{number}\n"
        for label, nodes in block.elements()
        for number, face in enumerate(faces, 1)
        if all(nodes[corner] in plane for corner in face)
    ]
    return f"*Surface, name={name}, type=ELEMENT\n" + "".join(found)


def model(kind, refine):
    half = SIZE[0] / 2
    left = Block(0, half, np.array([5, 3, 2]) * refine, 1, 1)
    cells = left.n if kind == "equation" else np.array([4, 2, 3]) * refine
    right = Block(half, SIZE[0], cells, 100001, 100001)
    deck = "*Node, nset=EVERY\n"
    for block in (left, right):
        deck += "".join(f"{label}, {', '.join(repr(float(x)) for x in at)}\n" for label, at in block.nodes())
    deck += "*Element, type=C3D4, elset=ALL\n"
    for block in (left, right):
        deck += "".join(f"{label}, {', '.join(map(str, nodes))}\n" for label, nodes in block.elements())
    deck += "*Nset, nset=FIX\n" + lines(left.plane(0)) + "*Nset, nset=END\n" + lines(right.plane(right.n[0]))
    if kind == "equation":
        pairs = zip(right.plane(0), left.plane(left.n[0]))
        deck += "".join(f"*Equation\n2\n{a}, 1, 1., {b}, 1, -1.\n" for a, b in pairs)
        # The sliding block is held sideways at its end.
        deck += "*Boundary\nEND, 2, 3\n"
    else:
        # The finer face follows the coarser one.
        deck += surface("SLAVE", left, left.n[0]) + surface("MASTER", right, 0)
        deck += "*Tie, name=JOINT, position tolerance=0.01\nSLAVE, MASTER\n"
    if kind == "body":
        stiff = [label for i in range(right.n[0] // 2, right.n[0] + 1) for label in right.plane(i)]
        deck += "*Nset, nset=STIFF\n" + lines(stiff)
        deck += "*Node, nset=REF\n900001, 2.3, 0.25, 0.2\n*Rigid body, nset=STIFF, ref node=900001"
        deck += "{rotation}\n"
    deck += f"*Material, name=M\n*Density\n{DENSITY}\n*Elastic\n{YOUNG}, {POISSON}\n*Solid section, elset=ALL, material=M\n"
    return deck + "*Boundary\nFIX, 1, 3\n", [*left.nodes(), *right.nodes()], left


def of_calculix(ccx, folder, deck):
    """Frequencies, Hz."""
    extra = "" if "{rotation}" not in deck else "*Node, nset=ROT\n900002, 2.3, 0.25, 0.2\n"
    text = extra + deck.replace("{rotation}", ", rot node=900002") + f"*Step\n*Frequency\n{ASKED},\n*End step\n"
    (folder / "model.inp").write_text(text)
    done = subprocess.run([ccx, "model"], cwd=folder, capture_output=True, text=True)
    values = []
    for line in (folder / "model.dat").read_text().splitlines():
        words = line.split()
        if len(words) == 5 and words[0].isdigit():
            values.append(float(words[3]))
    if len(values) < MODES:
        sys.exit(f"ccx gives {len(values)} frequencies:\n{done.stdout[-2000:]}")
    return np.array(values[:MODES])


def of_pogo(folder_of_commands, folder, deck, nodes, left, expected):
    """Peaks of a spectrum of free vibrations beside the expected frequencies, Hz."""
    # Smooth velocities, so that little is above the frequencies that the traces can hold.
    random = np.random.default_rng(1)
    time = float(PERIODS / expected[0])
    text = deck.replace("{rotation}", "")
    held = set(left.plane(0))
    x, y, z = np.array([at for _, at in nodes]).T - [[0], [0.2], [0.1]]
    shapes = [x, x**2, x**3, x * y, x * z, x**2 * y, x**2 * z, x * (1 - x) * y]
    velocity = np.stack(shapes, 1) @ random.normal(size=(len(shapes), 3))
    text += "*Initial conditions, type=VELOCITY\n"
    for (label, _), row in zip(nodes, velocity):
        if label not in held:
            text += "".join(f"{label}, {c}, {v:.6g}\n" for c, v in enumerate(row, 1))
    watched = [label for label, _ in nodes if label not in held][:: max(1, len(nodes) // 40)]
    every = float(1 / (40 * expected[-1]))
    text += f"*Nset, nset=WATCH\n{lines(watched)}"
    text += f"*Step\n*Dynamic, explicit\n, {time!r}\n"
    text += f"*Output, history, time interval={every!r}\n*Node output, nset=WATCH\nU\n*End step\n"
    (folder / "pogo.inp").write_text(text)
    solve = ["pogo.blk", "-o", "out", "--device", "cpu", "--precision", "f64"]
    for name, arguments in (("pogo-block", ["pogo.inp"]), ("pogo-solve", solve)):
        subprocess.run([folder_of_commands / name, *arguments, "--quiet"], cwd=folder, check=True, stderr=subprocess.DEVNULL)
    with open(folder / "out/traces.csv") as file:
        table = np.loadtxt((line for line in file if not line.startswith(("#", "time"))), delimiter=",")
    t, u = table[:, 0], table[:, 1:]
    # Rows are at the increments nearest to even times.
    dt = (t[-1] - t[0]) / (len(t) - 1)
    n = 16 * len(t)
    power = (np.abs(np.fft.rfft((u - u.mean(0)) * np.hanning(len(t))[:, None], n, axis=0)) ** 2).sum(1)
    frequency = np.fft.rfftfreq(n, dt)
    found = []
    for f in expected:
        near = np.flatnonzero(abs(frequency - f) < NEAR * f)
        peaks = near[(power[near] > power[near - 1]) & (power[near] > power[near + 1])]
        found.append(frequency[peaks[np.argmax(power[peaks])]] if len(peaks) else np.nan)
    return np.array(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--ccx", default="ccx")
    options = parser.parse_args()
    commands = options.bin.resolve()
    wrong = False
    for kind in ("tie", "equation", "body"):
        errors = []
        for refine in (2, 3):
            with tempfile.TemporaryDirectory() as name:
                folder = pathlib.Path(name)
                deck, nodes, left = model(kind, refine)
                expected = of_calculix(options.ccx, folder, deck)
                found = of_pogo(commands, folder, deck, nodes, left, expected)
            error = found / expected - 1
            errors.append(abs(error).max())
            frequencies = " ".join(f"{f:.5f}" for f in expected)
            differences = " ".join(f"{100 * e:+.2f} %" for e in error)
            print(f"{kind:9} x{refine} {frequencies} Hz | Pogo {differences}", flush=True)
        wrong |= not (errors[1] < 0.03 and errors[1] < 0.6 * errors[0])
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
