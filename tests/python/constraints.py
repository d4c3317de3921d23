"""Compares Pogo under linear constraints with a solver written here: dense matrices, and Lagrange multipliers in every step.

    pip install numpy scipy
    python constraints.py FOLDER_OF_THE_COMMANDS SCRATCH_FOLDER

Two blocks with meshes that do not match are tied. One has a rigid end, with a force and a moment on its reference node or with
prescribed motion; the other a coupling of the kind that distributes. Equations, own axes, supports and damping are added. Each
step solves for increments, massless unknowns and multipliers at once:

    [ (1 + q) M/Δt²   0    Gᵀ ] [ Δu ]   [ (1 − q) M/Δt² Δu_n + F − K u ]
    [      0          0    Cᵀ ] [ Δz ] = [ F_z                          ]
    [      G          C    0  ] [ λ  ]   [ 0                            ]

with the rows of prescribed degrees of freedom replaced by what they are. Rows that follow from others make the matrix singular,
so that the least solution is taken. Only the matrices of elements come from independent.py.
"""

import subprocess
import sys
from pathlib import Path

import numpy as np
from independent import elasticity, lump, stiffness

YOUNG, POISSON, DENSITY, ALPHA = 1e3, 0.3, 1.0, 0.4
TOLERANCE = 1e-11


def block(kind, cells, origin, size, first):
    """Labels and positions of the nodes of a box, and its elements."""
    dim = len(cells)
    axes = [origin[a] + size[a] * np.arange(cells[a] + 1) / cells[a] for a in range(dim)]
    shape = [n + 1 for n in cells]
    index = np.arange(np.prod(shape)).reshape(shape[::-1]).transpose()
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    x = np.empty((index.size, dim))
    x[index.ravel()] = grid.reshape(-1, dim)
    quad = [(0, 0), (1, 0), (1, 1), (0, 1)]
    corners = quad if dim == 2 else [(*c, k) for k in (0, 1) for c in quad]
    elements = [[first + index[tuple(np.add(cell, corner))] for corner in corners] for cell in np.ndindex(*cells)]
    return x, elements


class Model:
    """A deck and the arrays that say the same."""

    def __init__(self, kind, cells):
        self.kind, self.dim = kind, len(cells[0])
        dim = self.dim
        first, left = block(kind, cells[0], [0.0] * dim, [2.0, 1.0, 1.0][:dim], 0)
        second, right = block(kind, cells[1], [2.0] + [0.0] * (dim - 1), [1.5, 1.0, 1.0][:dim], len(first))
        self.x, self.elements, self.n_left = np.vstack([first, second]), left + right, len(left)
        self.n_first = len(first)
        self.n = self.x.size
        self.rows, self.held, self.loads, self.names = [], {}, {}, {}
        self.text = []

    def unknown(self, name):
        """The number of a massless unknown."""
        return self.names.setdefault(name, self.n + len(self.names))

    def dof(self, node, component):
        return node * self.dim + component

    def face(self, mask):
        return [int(node) for node in np.flatnonzero(mask)]

    def tie(self, slaves, masters):
        """Each slave follows the interpolation of the masters on a regular grid over the last axes."""
        for node in slaves:
            y = self.x[node, 1:]
            weights = {}
            lines = [np.unique(np.round(self.x[masters][:, a], 12)) for a in range(1, self.dim)]
            at = [min(max(np.searchsorted(line, v) - 1, 0), len(line) - 2) for line, v in zip(lines, y)]
            t = [(v - line[i]) / (line[i + 1] - line[i]) for line, v, i in zip(lines, y, at)]
            for corner in np.ndindex(*[2] * (self.dim - 1)):
                place = [line[i + c] for line, i, c in zip(lines, at, corner)]
                weight = np.prod([s if c else 1 - s for s, c in zip(t, corner)])
                if abs(weight) > 1e-12:
                    weights[next(m for m in masters if np.allclose(self.x[m, 1:], place))] = weight
            for component in range(self.dim):
                row = {self.dof(node, component): 1.0}
                row.update({self.dof(m, component): -w for m, w in weights.items()})
                self.rows.append(row)

    def turn(self, name, arm):
        """θ × arm of a reference node, as terms of each component."""
        terms = [{} for _ in range(self.dim)]
        for axis in [2] if self.dim == 2 else range(3):
            part = np.cross(np.eye(3)[axis], [*arm, 0.0] if self.dim == 2 else arm)
            for component in range(self.dim):
                terms[component][self.unknown((name, 3 + axis))] = part[component]
        return terms

    def rigid(self, name, position, nodes):
        for node in nodes:
            turned = self.turn(name, self.x[node] - position)
            for component in range(self.dim):
                row = {self.dof(node, component): 1.0, self.unknown((name, component)): -1.0}
                row.update({k: -v for k, v in turned[component].items()})
                self.rows.append(row)

    def distribute(self, name, position, nodes, weights):
        """The reference node is on the rigid body that moves with the momentum of nodes with these masses."""
        weights = np.array(weights) / np.sum(weights)
        x = np.array([[*p, 0.0][:3] for p in self.x[nodes]])
        centre = weights @ x
        r = x - centre
        inertia = sum(w * (a @ a * np.eye(3) - np.outer(a, a)) for w, a in zip(weights, r))
        axes = [2] if self.dim == 2 else [0, 1, 2]
        inverse = np.zeros((3, 3))
        inverse[np.ix_(axes, axes)] = np.linalg.inv(inertia[np.ix_(axes, axes)])
        arm = np.array([*position, 0.0][:3]) - centre
        skew = lambda a: np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])
        for component in range(self.dim):
            row = {self.unknown((name, component)): 1.0}
            for node, w, a in zip(nodes, weights, r):
                factor = w * (np.eye(3) - skew(arm) @ inverse @ skew(a))[component]
                row.update({self.dof(node, c): -factor[c] for c in range(self.dim)})
            self.rows.append(row)
        for axis in axes:
            row = {self.unknown((name, 3 + axis)): 1.0}
            for node, w, a in zip(nodes, weights, r):
                factor = w * (inverse @ skew(a))[axis]
                row.update({self.dof(node, c): -factor[c] for c in range(self.dim)})
            self.rows.append(row)

    def write(self, path, increment, steps, velocity):
        """The deck: nodes count from 1."""
        lines = ["*Heading", "*Node"]
        lines += [f"{i + 1}, " + ", ".join(repr(float(v)) for v in x) for i, x in enumerate(self.x)]
        lines += [f"*Element, type={self.kind}, elset=ALL"]
        lines += [f"{i + 1}, " + ", ".join(str(n + 1) for n in e) for i, e in enumerate(self.elements)]
        lines += [f"*Elset, elset=LEFT, generate\n1, {self.n_left}",
                  f"*Elset, elset=RIGHT, generate\n{self.n_left + 1}, {len(self.elements)}",
                  "*Solid Section, elset=ALL, material=M\n,", "*Material, name=M", f"*Density\n{DENSITY}",
                  f"*Elastic\n{YOUNG}, {POISSON}", f"*Damping, alpha={ALPHA}"]
        lines += self.text
        lines += [f"*Nset, nset=EVERY, generate\n1, {len(self.x)}", "*Initial Conditions, type=VELOCITY"]
        lines += [f"{i // self.dim + 1}, {i % self.dim + 1}, {float(v)!r}" for i, v in enumerate(velocity)]
        lines += ["*Step", "*Dynamic, Explicit, direct user control", f"{increment!r}, {increment * steps!r}"]
        lines += self.in_step
        lines += ["*Output, history, frequency=1", "*Node Output, nset=EVERY",
                  "U1, U2, RF1, RF2" + (", U3, RF3" if self.dim == 3 else ""), "*End Step", ""]
        path.write_text("\n".join(lines))

    def matrices(self):
        d = elasticity("ISOTROPIC", [YOUNG, POISSON])
        k, m = np.zeros((self.n, self.n)), np.zeros(self.n)
        for nodes in self.elements:
            dofs = [self.dof(n, c) for n in nodes for c in range(self.dim)]
            k[np.ix_(dofs, dofs)] += stiffness(self.kind, self.x[nodes], d, 1.0)
            m[dofs] += np.repeat(DENSITY * lump(self.kind, self.x[nodes], "row-sum"), self.dim)
        return k, m

    def solve(self, increment, steps, velocity):
        """u_n and the forces of supports, (steps + 1, n)."""
        k, m = self.matrices()
        total = self.n + len(self.names)
        g = np.zeros((len(self.rows), total))
        for at, row in enumerate(self.rows):
            for dof, value in row.items():
                g[at, dof] += value
        force, held = np.zeros(total), np.zeros(total, bool)
        for dof, value in self.loads.items():
            force[dof] += value
        held[list(self.held)] = True
        rate = np.array([self.held.get(dof, 0.0) for dof in range(total)])
        q = 0.5 * ALPHA * increment

        def inverse(mass):
            """Of the system, with rows of prescribed degrees of freedom replaced."""
            system = np.zeros((total + len(g),) * 2)
            system[: self.n, : self.n] = np.diag(mass)
            system[:total, total:] = g.T
            system[total:, :total] = g
            # Scaled to one size, so that what is cut off as rounding is rounding.
            scale = np.full(len(system), np.sqrt(np.mean(mass)))
            scale[: self.n] = 1 / np.sqrt(mass)
            scale[self.n:total] = 1 / np.sqrt(np.mean(mass))
            system *= np.outer(scale, scale)
            for dof in np.flatnonzero(held):
                system[dof] = 0.0
                system[dof, dof] = 1.0
            right = np.where(np.r_[held, np.zeros(len(g), bool)], 1 / scale, scale)
            return scale[:, None] * np.linalg.pinv(system, rcond=1e-12) * right

        def constrained(right, moved):
            full = np.concatenate([right, np.zeros(len(g))])
            full[:total][held] = moved[held]
            return full

        start, step = inverse(m / increment**2), inverse((1 + q) * m / increment**2)
        # Prescribed degrees of freedom move with a steady velocity.
        moved = rate * increment
        free = np.zeros(total)
        free[: self.n] = m / increment**2 * (increment * velocity - 0.5 * increment**2 * (force[: self.n] / m - ALPHA * velocity))
        free[self.n:] = -0.5 * force[self.n:]
        du = (start @ constrained(free, moved))[: self.n]
        u = np.zeros(self.n)
        history, reactions = [], []
        for _ in range(steps + 1):
            right = force.copy()
            right[: self.n] += (1 - q) * m / increment**2 * du - k @ u
            solution = step @ constrained(right, moved)
            after, pull = solution[: self.n], g[:, : self.n].T @ solution[total:]
            a, v = (after - du) / increment**2, (after + du) / (2 * increment)
            history.append(u.copy())
            reaction = m * a + ALPHA * m * v + k @ u - force[: self.n] + pull
            reactions.append(np.where(held[: self.n], reaction, 0.0))
            u, du = u + after, after
        return np.array(history), np.array(reactions)


def surfaces(model):
    """Nodes of the tied faces and of both ends, and the deck's surfaces."""
    x, first = model.x, np.arange(len(model.x)) < model.n_first
    sides = ("S2", "S4") if model.dim == 2 else ("S4", "S6")
    model.text += ["*Surface, name=MASTER", f"LEFT_FACE, {sides[0]}", "*Surface, name=SLAVE", f"RIGHT_FACE, {sides[1]}",
                   "*Surface, name=END", f"END_FACE, {sides[0]}"]
    place = lambda e, side: side(model.x[e][:, 0])
    found = {"LEFT_FACE": [], "RIGHT_FACE": [], "END_FACE": []}
    for label, e in enumerate(model.elements, 1):
        if label <= model.n_left and np.isclose(place(e, np.max), 2.0):
            found["LEFT_FACE"].append(label)
        if label > model.n_left and np.isclose(place(e, np.min), 2.0):
            found["RIGHT_FACE"].append(label)
        if label > model.n_left and np.isclose(place(e, np.max), 3.5):
            found["END_FACE"].append(label)
    for name, labels in found.items():
        model.text += [f"*Elset, elset={name}"] + [str(label) for label in labels]
    master = model.face(first & np.isclose(x[:, 0], 2.0))
    slave = model.face(~first & np.isclose(x[:, 0], 2.0))
    return master, slave, model.face(np.isclose(x[:, 0], 0.0)), model.face(np.isclose(x[:, 0], 3.5))


def tributary(model, nodes):
    """The part of a regular face that belongs to each node."""
    out = np.ones(len(nodes))
    for axis in range(1, model.dim):
        line = np.unique(np.round(model.x[nodes][:, axis], 12))
        width = np.gradient(line) * np.where((line == line[0]) | (line == line[-1]), 0.5, 1.0)
        out *= width[np.searchsorted(line, model.x[nodes][:, axis] - 1e-9)]
    return out


def model_of(kind, cells, motion):
    """A model with every kind of constraint. `motion`: the rigid end moves, or a force and a moment act on it."""
    model = Model(kind, cells)
    dim, reference = model.dim, len(model.x) + 10
    master, slave, rigid, end = surfaces(model)
    model.tie(slave, master)
    model.text += ["*Tie, name=T, position tolerance=1e-3", "SLAVE, MASTER"]
    at, far = np.array([-0.3, 0.4, 0.7][:dim]), np.array([3.9, 0.6, 0.2][:dim])
    for label, position in ((reference, at), (reference + 1, far)):
        model.text += ["*Node", f"{label}, " + ", ".join(map(str, position))]
    model.text += ["*Nset, nset=RIGID"] + [str(n + 1) for n in rigid]
    model.text += [f"*Rigid Body, ref node={reference}, tie nset=RIGID"]
    model.rigid("A", at, rigid)
    model.text += [f"*Coupling, constraint name=C, ref node={reference + 1}, surface=END", "*Distributing"]
    model.distribute("B", far, end, tributary(model, end))
    # The mean rotation of the distributing end is that of the rigid one, with a factor.
    turn = 6 if dim == 2 else 4
    model.text += ["*Equation", "2", f"{reference + 1}, {turn}, 1., {reference}, {turn}, 0.5"]
    model.rows.append({model.unknown(("B", turn - 1)): 1.0, model.unknown(("A", turn - 1)): 0.5})
    # Two nodes of the middle move together along 2, twice over; one on a rolling support along an own axis.
    inner = model.face(np.isclose(model.x[:, 0], 1.0))[:3]
    for a, b in ((0, 1), (1, 2), (2, 0)):
        model.text += ["*Equation", "2", f"{inner[a] + 1}, 2, 1.5, {inner[b] + 1}, 2, -1.5"]
        model.rows.append({model.dof(inner[a], 1): 1.5, model.dof(inner[b], 1): -1.5})
    roller = model.face(np.isclose(model.x[:, 0], 2.75))[0] if cells[1][0] % 2 == 0 else end[0]
    normal = np.array([0.6, 0.8, 0.0])
    model.text += [f"*Nset, nset=ROLLER\n{roller + 1}", "*Transform, nset=ROLLER", "0.6, 0.8, 0., -0.8, 0.6, 0.",
                   "*Boundary", "ROLLER, 1, 1"]
    model.rows.append({model.dof(roller, c): normal[c] for c in range(dim)})
    # A node of the tied master side is moved: its slaves push on the support.
    moved = master[0]
    model.held[model.dof(moved, 0)] = 0.05
    model.in_step = ["*Boundary, type=VELOCITY", f"{moved + 1}, 1, 1, 0.05"]
    if motion:
        for name, dof, rate in (("A", 1, 0.03), ("A", 6, -0.02)):
            model.held[model.unknown((name, dof - 1))] = rate
            model.in_step += ["*Boundary, type=VELOCITY", f"{reference}, {dof}, {dof}, {rate}"]
    loads = [("B", 2, 0.7), ("B", 6, 0.2)] + ([] if motion else [("A", 1, 0.4), ("A", 6, -0.3)])
    model.in_step += ["*Cload"]
    for name, dof, value in loads:
        model.loads[model.unknown((name, dof - 1))] = value
        model.in_step += [f"{reference + (name == 'B')}, {dof}, {value}"]
    return model


def compare(commands, folder, kind, cells, motion, block_nodes):
    model = model_of(kind, cells, motion)
    velocity = 0.1 * np.random.default_rng(5).standard_normal(model.n)
    increment, steps = 2e-3, 300
    model.write(folder / "model.inp", increment, steps, velocity)
    run = lambda *words: subprocess.run([commands / words[0], *words[1:]], cwd=folder, check=True)
    run("pogo-block", "model.inp", "--quiet", "--block-nodes", str(block_nodes))
    run("pogo-solve", "model.blk", "--quiet", "-o", "out", "--precision", "f64")
    run("pogo-solve", "model.blk", "--quiet", "-o", "cut", "--precision", "f64", "--device", "cpu,cpu,cpu")
    rows = lambda out: [line for line in (folder / out / "traces.csv").read_text().splitlines() if not line.startswith("#")]
    lines = rows("out")
    assert rows("cut") == lines, f"{kind}: three parts differ from one process"
    names, values = lines[0].split(","), np.array([line.split(",") for line in lines[1:]], float)
    expected, reactions = model.solve(increment, steps, velocity)
    for what, reference in (("U", expected), ("RF", reactions)):
        columns = [names.index(f"EVERY.{n + 1}.{what}{c + 1}") for n in range(len(model.x)) for c in range(model.dim)]
        error = np.abs(values[:, columns] - reference).max() / np.abs(reference).max()
        print(f"{kind} {'moved' if motion else 'loaded'}: {what} apart by {error:.1e}")
        assert error < TOLERANCE, f"{kind}: {what} apart by {error:e}"


def main():
    commands, folder = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    for motion in (False, True):
        compare(commands, folder, "CPE4", ([4, 3], [4, 4]), motion, 16)
        compare(commands, folder, "C3D8", ([4, 2, 1], [2, 3, 2]), motion, 16)


if __name__ == "__main__":
    main()
