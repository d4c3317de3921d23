"""Checks voxel statics against matrices that SciPy assembles and solves directly.

    pip install numpy scipy h5py
    python voxel_statics.py target/debug scratch

The first argument is the folder of pogo-block and pogo-solve. Each case makes a model, runs both commands on it, and compares
displacements, reactions, energies, fields, and Pistoia's estimate. Nothing of Pogo's is used but its results.
"""

import json
import os
import subprocess
import sys

import h5py
import numpy as np
import scipy.sparse
import scipy.sparse.linalg

CORNERS = np.array([[c & 1, c >> 1 & 1, c >> 2] for c in range(8)])


def strain_matrix(at, h):
    """B at a point of the unit cube: xx, yy, zz, yz, xz, xy, engineering shears."""
    signs, shapes = 2 * CORNERS - 1, np.where(CORNERS == 1, at, 1 - np.asarray(at))
    gradient = np.stack([signs[:, a] * np.delete(shapes, a, 1).prod(1) for a in range(3)], 1) / h
    b = np.zeros((6, 24))
    for c, (x, y, z) in enumerate(gradient):
        b[:, 3 * c : 3 * c + 3] = [[x, 0, 0], [0, y, 0], [0, 0, z], [0, z, y], [z, 0, x], [y, x, 0]]
    return b


def elasticity(young, nu):
    """D from its inverse, which needs no Lamé constants."""
    compliance = np.diag([1.0, 1, 1, 2 * (1 + nu), 2 * (1 + nu), 2 * (1 + nu)])
    compliance[:3, :3] -= nu * (1 - np.eye(3))
    return young * np.linalg.inv(compliance)


class Model:
    """An assembled model of moduli and Poisson's ratios (z, y, x), 0 being void. Nodes are (i, j, k)."""

    def __init__(self, young, nu, h):
        self.h, self.shape = h, [n + 1 for n in young.shape[::-1]]
        self.voxels = np.argwhere(young > 0)[:, ::-1]
        at = tuple(self.voxels.T[::-1])
        self.young, ratios = young[at].astype(float), nu[at]
        self.d = np.array([elasticity(*pair) for pair in zip(self.young, ratios)])
        points = 0.5 + np.array([-1, 1]) / np.sqrt(12)
        all_b = [strain_matrix((x, y, z), h) for x in points for y in points for z in points]
        self.k = sum(np.einsum("ia,nij,jb->nab", b, self.d, b) for b in all_b) * h**3 / 8
        corners = self.voxels[:, None] + CORNERS
        self.dofs = (3 * self.number(corners)[:, :, None] + np.arange(3)).reshape(-1, 24)
        n = 3 * np.prod(self.shape)
        entries = (np.repeat(self.dofs, 24, 1).ravel(), np.tile(self.dofs, (1, 24)).ravel())
        self.matrix = scipy.sparse.csc_matrix((self.k.ravel(), entries), (n, n))

    def number(self, nodes):
        nodes = np.asarray(nodes)
        return nodes[..., 0] + self.shape[0] * (nodes[..., 1] + self.shape[1] * nodes[..., 2])

    def solve(self, fixed, forces=()):
        """Displacements for {(i, j, k, direction): value}."""
        n = self.matrix.shape[0]
        free, u, f = np.zeros(n, bool), np.zeros(n), np.zeros(n)
        free[self.dofs.ravel()] = True
        for (*node, direction), value in dict(fixed).items():
            free[3 * self.number(node) + direction], u[3 * self.number(node) + direction] = False, value
        for (*node, direction), value in dict(forces).items():
            f[3 * self.number(node) + direction] = value
        u[free] = scipy.sparse.linalg.spsolve(self.matrix[free][:, free], (f - self.matrix @ u)[free])
        self.u, self.force = u, (self.matrix @ u).reshape(-1, 3)
        self.of_voxel = u[self.dofs]
        self.strain = self.of_voxel @ strain_matrix((0.5, 0.5, 0.5), self.h).T
        self.stress = np.einsum("nij,nj->ni", self.d, self.strain)
        self.mean = np.einsum("ni,nij,nj->n", self.of_voxel, self.k, self.of_voxel) / 2 / self.h**3
        self.centre = (self.strain * self.stress).sum(1) / 2

    def faces(self, axis):
        """Numbers of the nodes of solid voxels on both faces of their box."""
        nodes = np.unique(self.dofs.ravel() // 3)
        at = np.stack(np.unravel_index(nodes, self.shape[::-1])[::-1], 1)
        return [at[at[:, axis] == end] for end in (self.voxels[:, axis].min(), self.voxels[:, axis].max() + 1)]

    def axial(self, strain):
        low, high = self.faces(2)
        length = self.h * (high[0, 2] - low[0, 2])
        fixed = {(*node, a): 0.0 for node in low for a in range(3)}
        fixed.update({(*node, a): strain * length * (a == 2) for node in high for a in range(3)})
        self.solve(fixed)


def close(name, found, expected, relative):
    found, expected = np.asarray(found, float), np.asarray(expected, float)
    worst, size = abs(found - expected).max(), abs(expected).max()
    assert found.shape == expected.shape and worst <= relative * size, f"{name}: {worst} of {size}"
    return worst / size


def pistoia(density, young, volume):
    """Effective strain that a share of the voxels passes."""
    effective = np.sort(np.sqrt(2 * density / young))[::-1]
    return effective[max(1, round(volume * len(effective))) - 1]


class Commands:
    def __init__(self, folder, scratch):
        self.folder, self.scratch = folder, scratch

    def path(self, name):
        return os.path.join(self.scratch, name)

    def run(self, name, arguments):
        done = subprocess.run([os.path.join(self.folder, name), *arguments], capture_output=True, text=True)
        assert done.returncode == 0, f"{name}: {done.stderr}"
        return done.stdout + done.stderr

    def model(self, stack, job=None, *options):
        """The block file of a stack."""
        arguments = [self.path(stack), "--quiet", "-o", self.path("model.blk"), *options]
        if job is not None:
            with open(self.path("job.toml"), "w", encoding="utf-8") as file:
                file.write(job)
            arguments += ["--job", self.path("job.toml")]
        self.run("pogo-block", arguments)

    def solve(self, *arguments):
        """The summary of a run."""
        out = self.path("model.out")
        self.run("pogo-solve", [self.path("model.blk"), "--quiet", "--device", "cpu", "-o", out, *arguments])
        with open(os.path.join(out, "summary.json"), encoding="utf-8") as file:
            return json.load(file)

    def compare(self, name, model, relative=1e-8):
        nodes = np.load(self.path("model.out/nodes.npy"))
        found = np.load(self.path("model.out/displacement.npy"))
        expected = model.u.reshape(-1, 3)[model.number(nodes)]
        print(f"{name}: {3 * len(nodes)} unknowns, displacements {close(name, found, expected, relative):.1e} apart")

    def compare_fields(self, model):
        with h5py.File(self.path("model.out/fields.vtkhdf")) as file:
            at = tuple((model.voxels - model.voxels.min(0)).T[::-1])
            cells = {name: values[()] for name, values in file["VTKHDF/CellData"].items()}
        shape = tuple(np.ptp(model.voxels, axis=0)[::-1] + 1)
        expected = {
            "strain": model.strain,
            "stress": model.stress,
            "energy_density": model.mean,
            "effective_strain": np.sqrt(2 * model.mean / model.young),
            "modulus": model.young,
        }
        for name, values in expected.items():
            found = cells[name].reshape(shape + values.shape[1:])[at]
            close(name, found, values, 1e-6)


def check_case(summary, model):
    """What the summary says of the first case of an axial test."""
    case, high = summary["cases"][0], model.faces(2)[1]
    force = model.force[model.number(high)].sum(0)
    close("reaction", summary["reaction"]["zmax"], force, 1e-7)
    close("energy", case["strain_energy"], model.mean.sum() * model.h**3, 1e-7)
    close("largest energy", case["energy_density"]["maximum"], model.mean.max(), 1e-6)
    failure = case["failure"]
    density = {"centre": model.centre, "mean": model.mean}[failure["energy"]]
    passed = pistoia(density, model.young, failure["volume"])
    close("failure", failure["strain_passed"], passed, 1e-6)
    close("failure load", failure["load"], force * failure["strain"] / passed, 1e-6)
    return failure["factor"]


FIELDS = 'fields = ["strain", "stress", "energy_density", "effective_strain", "modulus"]'


def porous(shape, seed):
    """Labels 0, 1, 2: a foam of two materials, in one piece from zmin to zmax."""
    random = np.random.default_rng(seed)
    smooth = random.random(shape)
    for axis in range(3):
        smooth = smooth + np.roll(smooth, 1, axis)
    labels = (smooth > np.quantile(smooth, 0.35)).astype(np.uint8)
    labels[:, 2:4, 2:4] = 1
    labels[0], labels[-1] = 1, 1
    labels[(random.random(shape) < 0.4) & (labels == 1)] = 2
    return labels


def failure_load(commands):
    """Pistoia's estimate by the energy at the centre and by the mean."""
    labels = porous((9, 8, 7), 1)
    np.save(commands.path("foam.npy"), labels)
    young = np.array([0, 1000.0, 3000.0])[labels]
    model = Model(young, np.full(labels.shape, 0.3), 0.5)
    model.axial(-0.01)
    commands.model(
        "foam.npy",
        f"""[image]
spacing = 0.5
keep = "largest"
[material]
law = "labels"
poisson = 0.3
labels = [{{ value = 1, young = 1000 }}, {{ value = 2, young = 3000 }}]
[load]
preset = "axial"
strain = -0.01
[output]
{FIELDS}
""",
    )
    summary = commands.solve("--tolerance", "1e-10", "--field-format", "vtkhdf")
    assert summary["tolerance"] == 1e-10 and summary["relative_residual"] <= 1e-10
    commands.compare("one ratio", model)
    commands.compare_fields(model)
    factors = [check_case(summary, model)]
    assert summary["cases"][0]["failure"]["energy"] == "centre"
    summary = commands.solve("--tolerance", "1e-10", "--set", "output.failure_energy=mean")
    assert summary["cases"][0]["failure"]["energy"] == "mean"
    factors.append(check_case(summary, model))
    # The mean of a voxel is never less than the energy at its centre.
    assert factors[1] < 0.999 * factors[0], factors


def several_ratios(commands):
    """Materials with Poisson's ratios of their own, on every grid and in several parts."""
    labels = porous((10, 9, 11), 4)
    labels[(labels == 1) & (np.random.default_rng(5).random(labels.shape) < 0.3)] = 3
    np.save(commands.path("phases.npy"), labels)
    young, ratio = np.array([0, 1000.0, 3000.0, 40.0])[labels], np.array([0, 0.3, 0.05, 0.48])[labels]
    model = Model(young, ratio, 0.1)
    model.axial(-0.02)
    job = f"""[image]
spacing = 0.1
keep = "largest"
[material]
law = "labels"
poisson = 0.3
labels = [
    {{ value = 1, young = 1000 }},
    {{ value = 2, young = 3000, poisson = 0.05 }},
    {{ value = 3, young = 40, poisson = 0.48, name = "marrow" }},
]
[load]
preset = "axial"
strain = -0.02
[output]
{FIELDS}
"""
    for options in ([], ["--grid", "offset"], ["--grid", "hash"], ["--domains", "3"]):
        commands.model("phases.npy", job, *options)
        summary = commands.solve("--tolerance", "1e-10", "--field-format", "vtkhdf")
        commands.compare(" ".join(["several ratios", *options]), model)
    commands.compare_fields(model)
    check_case(summary, model)
    commands.model("phases.npy", job)
    for options in (
        ["--set", "solver.precision=f64"],
        ["--set", "solver.cycle=v"],
        ["--set", "solver.coarse_operator=galerkin", "--set", "solver.levels=2"],
    ):
        commands.solve("--tolerance", "1e-10", *options)
        commands.compare(" ".join(["several ratios", *options]), model)
    # A ratio may be changed by its name.
    changed = Model(young, np.where(labels == 3, 0.2, ratio), 0.1)
    changed.axial(-0.02)
    commands.solve("--tolerance", "1e-10", "--set", "material.marrow.poisson=0.2")
    commands.compare("a changed ratio", changed)


def parosol_file(commands):
    """A file of ParOSol without any job: moduli, displacements and forces of its own."""
    random = np.random.default_rng(2)
    shape = (6, 5, 4)
    young = np.where(porous(shape, 3) > 0, 1 + 10 * random.random(shape), 0).astype(np.float32)
    model = Model(young, np.full(shape, 0.25), 0.082)
    low, high = model.faces(2)
    fixed = {(*node, a): 1e-3 * random.random() * (a == 1) for node in low for a in range(3)}
    forces = {(*node, a): random.standard_normal() for node in high for a in (0, 2)}
    single = lambda values: {key: float(np.float32(value)) for key, value in values.items()}
    fixed, forces = single(fixed), single(forces)
    model.solve(fixed, forces)
    with h5py.File(commands.path("sample.h5"), "w") as file:
        group = file.create_group("Image_Data")
        group["Image"], group["Voxelsize"], group["Poisons_ratio"] = young, 0.082, 0.25
        for name, values in (("Fixed_Displacement", fixed), ("Loaded_Nodes", forces)):
            order = np.array([(z, y, x, a) for x, y, z, a in values], np.uint16)
            group[name + "_Coordinates"] = order
            group[name + "_Values"] = np.array(list(values.values()), np.float32)
    commands.model("sample.h5")
    summary = commands.solve("--tolerance", "1e-11")
    assert summary["tolerance"] == 1e-11
    commands.compare("ParOSol's file", model)


def main(folder, scratch):
    commands = Commands(folder, scratch)
    for case in (failure_load, several_ratios, parosol_file):
        case(commands)


if __name__ == "__main__":
    main(*sys.argv[1:])
