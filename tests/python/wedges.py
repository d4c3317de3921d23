"""First frequency of a clamped bar of two layers of wedges: Pogo, an assembly in SciPy, and CalculiX.

    pip install numpy scipy
    python wedges.py FOLDER_OF_THE_COMMANDS SCRATCH_FOLDER

The element matrices are those of independent.py. CALCULIX holds what CalculiX 2.20 gives for the deck that is written
into the scratch folder; where `ccx` is in the PATH it is run again. CalculiX integrates the consistent mass of a C3D6
at its two points, too; Pogo lumps masses.
"""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
from independent import elasticity, lump, points, stiffness, table
from scipy.linalg import eigh

E, NU, DENSITY = 210e9, .3, 7800.
CELLS, SIDES = (20, 4, 2), (.1, .02, .01)
# Hz, the first five.
CALCULIX = [897.8799, 1817.216, 5412.298, 7464.733, 9716.360]


def bar(cells, sides, jitter):
    """Positions, and two wedges a cell."""
    grid = np.array([(i, j, k) for k in range(cells[2] + 1) for j in range(cells[1] + 1) for i in range(cells[0] + 1)])
    number = {tuple(place): at for at, place in enumerate(grid)}
    elements = []
    for place in grid[(grid < cells).all(axis=1)]:
        c = [number[tuple(place + (a, b, z))] for z in (0, 1) for a, b in ((0, 0), (1, 0), (1, 1), (0, 1))]
        elements += [[c[0], c[1], c[2], c[4], c[5], c[6]], [c[0], c[2], c[3], c[4], c[6], c[7]]]
    moved = jitter * np.sin(np.arange(1, grid.size + 1).reshape(grid.shape) ** 2)
    # CalculiX reads at most twenty characters of a number.
    return np.round((grid + moved) * np.divide(sides, cells), 10), np.array(elements)


def assembled(x, elements, matrix):
    """Σ of a matrix of each element's positions."""
    out = np.zeros((x.size, x.size))
    for nodes in elements:
        dofs = (3 * nodes[:, None] + np.arange(3)).ravel()
        out[np.ix_(dofs, dofs)] += matrix(x[nodes])
    return out


def stiffness_of(kind, x, elements):
    d = elasticity("ISOTROPIC", (E, NU))
    return assembled(x, elements, lambda y: stiffness(kind, y, d, 1.))


def lumped(x, elements):
    return assembled(x, elements, lambda y: DENSITY * np.diag(np.repeat(lump("C3D6", y, "row-sum"), 3)))


def consistent(x, elements):
    return assembled(x, elements, lambda y: DENSITY * np.kron(
        sum(dv * np.outer(n, n) for n, _, dv in points("C3D6", y)), np.eye(3)))


def modes(k, m, free, n):
    """Hz, and shapes on all degrees of freedom."""
    values, vectors = eigh(k[np.ix_(free, free)], m[np.ix_(free, free)], subset_by_index=[0, n - 1])
    shapes = np.zeros((len(k), n))
    shapes[free] = vectors
    return np.sqrt(values) / (2 * np.pi), shapes


def mesh_cards(x, elements, kind, fixed):
    out = ["*NODE, NSET=NALL\n", *(f"{i}, {a!r}, {b!r}, {c!r}\n" for i, (a, b, c) in enumerate(x.tolist(), 1)),
           f"*ELEMENT, TYPE={kind}, ELSET=EALL\n",
           *(", ".join(map(str, [i, *nodes])) + "\n" for i, nodes in enumerate((elements + 1).tolist(), 1)),
           "*NSET, NSET=FIX\n", *(f"{node + 1},\n" for node in fixed),
           f"*MATERIAL, NAME=STEEL\n*ELASTIC\n{E!r}, {NU!r}\n*DENSITY\n{DENSITY!r}\n",
           "*SOLID SECTION, ELSET=EALL, MATERIAL=STEEL\n"]
    return "".join(out)


def of_calculix(folder, cards):
    (folder / "bar.inp").write_text(cards + "*BOUNDARY\nFIX, 1, 3\n*STEP\n*FREQUENCY\n5\n*NODE FILE\nU\n*END STEP\n")
    if not shutil.which("ccx"):
        return CALCULIX
    subprocess.run(["ccx", "bar"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    lines = (folder / "bar.dat").read_text().splitlines()
    first = next(i for i, line in enumerate(lines) if line.split()[:1] == ["1"])
    return [float(line.split()[3]) for line in lines[first:first + 5]]


def of_pogo(commands, folder, kind, cards, shape, tip):
    """The frequency of a bar that starts with the velocities of its first mode: each trace is a sine then."""
    dt, steps = 1e-7, 4000
    speeds = [f"{at // 3 + 1}, {at % 3 + 1}, {v!r}\n" for at, v in enumerate(shape.tolist()) if v]
    text = (cards + "*INITIAL CONDITIONS, TYPE=VELOCITY\n" + "".join(speeds)
            + f"*STEP\n*DYNAMIC, EXPLICIT, DIRECT USER CONTROL\n{dt!r}, {dt * steps!r}\n*BOUNDARY\nFIX, 1, 3\n"
            + f"*NSET, NSET=TIP\n{tip + 1},\n*OUTPUT, HISTORY, FREQUENCY=1\n*NODE OUTPUT, NSET=TIP\nU3\n*END STEP\n")
    (folder / f"{kind}.inp").write_text(text)
    model, out = folder / f"{kind}.blk", folder / f"{kind}.out"
    subprocess.run([commands / "pogo-block", folder / f"{kind}.inp", "--quiet", "-o", model], check=True)
    subprocess.run([commands / "pogo-solve", model, "--quiet", "--precision", "f64", "-o", out], check=True)
    u = table(out / "traces.csv")[1][:, 1]
    curvature = -np.dot(u[2:] - 2 * u[1:-1] + u[:-2], u[1:-1]) / np.dot(u[1:-1], u[1:-1])
    return np.sqrt(curvature) / dt / (2 * np.pi)


def main():
    commands, folder = map(Path, sys.argv[1:3])
    bad = []

    def check(what, found, expected, tolerance):
        error = np.max(np.abs(np.divide(found, expected) - 1))
        print(f"{what:45} {np.round(found, 4)}  {error:.1e}")
        if not error < tolerance:
            bad.append(f"{what}: {found}, expected {expected}")

    x, elements = bar(CELLS, SIDES, .2)
    fixed = np.arange(0, len(x), CELLS[0] + 1)
    free = np.setdiff1d(np.arange(x.size), (3 * fixed[:, None] + np.arange(3)).ravel())
    k, mass = {kind: stiffness_of(kind, x, elements) for kind in ("C3D6", "C3D6F")}, lumped(x, elements)
    # CalculiX prints seven digits.
    expected = of_calculix(folder, mesh_cards(x, elements, "C3D6", fixed))
    check("C3D6, consistent masses, SciPy to CalculiX", modes(k["C3D6"], consistent(x, elements), free, 5)[0], expected, 3e-7)
    first = {}
    for kind in k:
        (frequency,), shape = modes(k[kind], mass, free, 1)
        first[kind] = of_pogo(commands, folder, kind, mesh_cards(x, elements, kind, fixed), shape[:, 0], len(x) - 1)
        check(f"{kind}, lumped masses, Pogo to SciPy", first[kind], frequency, 1e-9)
    print(f"C3D6F over C3D6: {first['C3D6F'] / first['C3D6'] - 1:.2%}")
    if not first["C3D6F"] > 1.02 * first["C3D6"]:
        bad.append("the two rules give the same frequency")
    # A wedge alone can twist without force at its two points; wedges side by side cannot.
    for cells, kind, n in [((1, 1, 1), "C3D6", 6), ((1, 1, 3), "C3D6", 6), ((2, 2, 2), "C3D6", 6), ((1, 1, 3), "C3D6F", 6)]:
        y, wedges = bar(cells, cells, .1)
        values = np.abs(np.linalg.eigvalsh(stiffness_of(kind, y, wedges))) / E
        if (values < 1e-12).sum() != n:
            bad.append(f"{kind}, {cells} cells: {(values < 1e-12).sum()} motions without force")
    sys.exit("\n".join(bad) if bad else 0)


if __name__ == "__main__":
    main()
