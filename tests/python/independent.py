"""Compares Pogo with an explicit solver written here from the textbook alone, in plain NumPy and SciPy.

    pip install numpy scipy
    python independent.py FOLDER_OF_THE_COMMANDS SCRATCH_FOLDER

Random distorted meshes of every element kind, alone and mixed, with every elasticity, orientation, lumping, load,
support, amplitude and absorbing layer. Deck and arrays come from the same numbers; nothing is shared with Pogo but
NOTATION.md and the hourglass coefficient. Everything is dense: the meshes have some thirty nodes.
"""

import itertools
import subprocess
import sys
from pathlib import Path

import numpy as np
from scipy.linalg import expm
from write_deck import write

HOURGLASS = 0.05
KINDS_2D = ["CPE3", "CPS3", "CPE4", "CPS4", "CPE4R", "CPS4R"]
KINDS_3D = ["C3D4", "C3D6", "C3D6F", "C3D8", "C3D8R"]
N_NODES = dict(zip(KINDS_2D + KINDS_3D, [3, 3, 4, 4, 4, 4, 4, 6, 6, 8, 8]))
# Corners of the faces S1, S2, …
FACES = {3: ["12", "23", "31"], 4: ["12", "23", "34", "41"], 6: ["123", "465", "1452", "2563", "3641"],
         8: ["1234", "5876", "1562", "2673", "3784", "4851"], "C3D4": ["123", "142", "243", "341"]}
VOIGT = [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)]
CONSTANTS = {"ISOTROPIC": "", "ENGINEERING CONSTANTS": "", "ORTHOTROPIC": "11 12 22 13 23 33 44 55 66",
             "ANISOTROPIC": "11 12 22 13 23 33 14 24 34 44 15 25 35 45 55 16 26 36 46 56 66"}


def reference(kind):
    """Corners, exponents of the monomials, and Gauss points with weights, of the reference element."""
    n, g = N_NODES[kind], np.array([-1, 1]) / np.sqrt(3)
    if kind == "C3D4" or n == 3:
        dim, volume = (3, 1 / 6) if kind == "C3D4" else (2, 1 / 2)
        simplex = [(0,) * dim, *map(tuple, np.eye(dim, dtype=int))]
        return simplex, simplex, [((1 / (dim + 1),) * dim, volume)]
    square = [(-1, -1), (1, -1), (1, 1), (-1, 1)]
    if n == 4:
        return square, list(itertools.product((0, 1), repeat=2)), [(p, 1.) for p in itertools.product(g, g)]
    if n == 6:
        corners = [(a, b, c) for c in (-1, 1) for a, b in ((0, 0), (1, 0), (0, 1))]
        powers = [(i, j, k) for k in (0, 1) for i, j in ((0, 0), (1, 0), (0, 1))]
        # C3D6 has one point in the triangle; its masses, and all of C3D6F, have three.
        places = ((1 / 3, 1 / 3),) if kind == "C3D6" else ((1 / 6, 1 / 6), (2 / 3, 1 / 6), (1 / 6, 2 / 3))
        return corners, powers, [((a, b, c), .5 / len(places)) for c in g for a, b in places]
    corners = [(a, b, c) for c in (-1, 1) for a, b in square]
    return corners, list(itertools.product((0, 1), repeat=3)), [(p, 1.) for p in itertools.product(g, g, g)]


def shape(kind, xi):
    """N, (n,), and ∂N/∂ξ, (n, dim): the polynomials that are 1 at one corner and 0 at the others."""
    corners, powers, _ = (np.array(v, float) if i < 2 else v for i, v in enumerate(reference(kind)))
    coefficients = np.linalg.inv(np.prod(corners[:, None] ** powers, axis=2)).T
    factors = np.array(xi) ** powers
    slopes = [powers[:, a] * np.prod(np.delete(factors, a, axis=1), axis=1) for a in range(len(xi))]
    return coefficients @ np.prod(factors, axis=1), coefficients @ np.transpose(slopes)


RULES = {kind: [(shape(kind, xi), weight) for xi, weight in reference(kind)[2]] for kind in N_NODES}


def points(kind, x):
    """(N, ∂N/∂x, dV) at each Gauss point."""
    for (n, dn), weight in RULES[kind]:
        jacobian = dn.T @ x
        yield n, dn @ np.linalg.inv(jacobian).T, weight * np.linalg.det(jacobian)


def strain_matrix(dx):
    n, dim = dx.shape
    b = np.zeros((6, n * dim))
    for row, (i, j) in enumerate(VOIGT):
        if max(i, j) < dim:
            b[row, i::dim] += dx[:, j]
            if i != j:
                b[row, j::dim] += dx[:, i]
    return b


def plane_stress(d):
    """No stress through the thickness: drop its rows of the compliance."""
    keep, compliance = np.ix_([0, 1, 3], [0, 1, 3]), np.linalg.inv(d)
    d = np.zeros((6, 6))
    d[keep] = np.linalg.inv(compliance[keep])
    return d


def state_matrix(kind, x, d):
    """Rows: S and E in the order of VOIGT, mean over the element, from its displacements."""
    b = sum(dv * strain_matrix(dx) for _, dx, dv in points(kind, x)) / sum(dv for *_, dv in points(kind, x))
    stress = (plane_stress(d) if kind.startswith("CPS") else d) @ b
    return np.vstack([stress, np.linalg.inv(d) @ stress])


def stiffness(kind, x, d, hourglass):
    dim, n = x.shape[1], len(x)
    if kind.startswith("CPS"):
        d = plane_stress(d)
    if not kind.endswith("R"):
        return sum(dv * strain_matrix(dx).T @ d @ strain_matrix(dx) for _, dx, dv in points(kind, x))
    # Flanagan and Belytschko: mean gradient, and the modes orthogonal to linear fields.
    volume = sum(dv for _, _, dv in points(kind, x))
    mean = sum(dv * dx for _, dx, dv in points(kind, x)) / volume
    k = volume * strain_matrix(mean).T @ d @ strain_matrix(mean)
    kappa = HOURGLASS * hourglass * np.trace(d[:dim, :dim]) / dim * volume * np.sum(mean**2) / n
    c = np.array(reference(kind)[0], float).T
    for h in [c[0] * c[1]] if dim == 2 else [c[1] * c[2], c[2] * c[0], c[0] * c[1], c[0] * c[1] * c[2]]:
        gamma = h - mean @ (x.T @ h)
        k += kappa * np.kron(np.outer(gamma, gamma), np.eye(dim))
    return k


def lump(kind, x, how):
    """∫ of unit density, shared by the nodes."""
    kind = "C3D6F" if kind == "C3D6" else kind
    row_sums = sum(dv * n for n, _, dv in points(kind, x))
    if how == "row-sum":
        return row_sums
    diagonal = sum(dv * n**2 for n, _, dv in points(kind, x)) if how == "hrz" else np.ones(len(x))
    return diagonal * row_sums.sum() / diagonal.sum()


def elasticity(law, v):
    """6 × 6 in material axes."""
    if law == "ISOTROPIC":
        (e, nu), one = v, np.ones(3)
        return elasticity("ENGINEERING CONSTANTS", [*(e * one), *(nu * one), *(e / 2 / (1 + nu) * one)])
    d = np.zeros((6, 6))
    if law == "ENGINEERING CONSTANTS":
        s = np.diag(1 / np.array([*v[:3], *v[6:]]))
        for nu, (i, j) in zip(v[3:6], [(0, 1), (0, 2), (1, 2)]):
            s[i, j] = s[j, i] = -nu / v[i]
        return np.linalg.inv(s)
    for name, value in zip(CONSTANTS[law].split(), v):
        i, j = int(name[0]) - 1, int(name[1]) - 1
        d[i, j] = d[j, i] = value
    return d


def rotated(d, r):
    """D in space of a material whose axes are the columns of r: the fourth-order tensor turned index by index."""
    c = np.zeros((3, 3, 3, 3))
    for p, (i, j) in enumerate(VOIGT):
        for q, (k, l) in enumerate(VOIGT):
            c[i, j, k, l] = c[j, i, k, l] = c[i, j, l, k] = c[j, i, l, k] = d[p, q]
    c = np.einsum("ia,jb,kc,ld,abcd", r, r, r, r, c)
    return np.array([[c[i, j, k, l] for k, l in VOIGT] for i, j in VOIGT])


def turn(axis, degrees):
    x, y, z = np.array(axis) / np.linalg.norm(axis)
    return expm(np.radians(degrees) * np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]]))


def material_axes(a, b, axis, degrees):
    """Columns: a lies on axis 1, b in the plane of 1 and 2; then all are turned about one of them."""
    e1, e3 = a / np.linalg.norm(a), np.cross(a, b) / np.linalg.norm(np.cross(a, b))
    frame = np.column_stack([e1, np.cross(e3, e1), e3])
    return turn(frame[:, axis - 1], degrees) @ frame


def random_material(rng, law, alpha):
    a = rng.normal(size=(6, 6))
    d = np.diag([3., 3, 3, 1, 1, 1]) + np.pad(1 - np.eye(3), (0, 3)) + .06 * a @ a.T
    if law == "ISOTROPIC":
        v = [rng.uniform(1, 4), rng.uniform(-.2, .45)]
    elif law == "ENGINEERING CONSTANTS":
        s = np.linalg.inv(d[:3, :3])
        v = [*(1 / np.diag(s)), -s[0, 1] / s[0, 0], -s[0, 2] / s[0, 0], -s[1, 2] / s[1, 1], *np.diag(d)[3:]]
    else:
        v = [d[int(n[0]) - 1, int(n[1]) - 1] for n in CONSTANTS[law].split()]
    return rng.uniform(.5, 2), law, v, alpha


def amplitude(case, name, t):
    if name is None:
        return 1.
    kind, v = case["amplitudes"][name]
    if kind == "TABULAR":
        return np.interp(t, v[::2], v[1::2])
    if kind == "SMOOTH STEP":
        times, values = np.array(v[::2]), np.array(v[1::2])
        i = np.clip(np.searchsorted(times, t) - 1, 0, len(times) - 2)
        s = np.clip((t - times[i]) / (times[i + 1] - times[i]), 0, 1)
        return values[i] + (values[i + 1] - values[i]) * s**3 * (10 - 15 * s + 6 * s**2)
    if kind == "PERIODIC":
        phase = v[0] * (t - v[1])
        terms = enumerate(zip(v[3::2], v[4::2]), 1)
        return v[2] + (phase >= 0) * sum(a * np.cos(n * phase) + b * np.sin(n * phase) for n, (a, b) in terms)
    if kind == "ricker":
        s = (np.pi * v[0] * (t - v[1])) ** 2
        return (1 - 2 * s) * np.exp(-s)
    if kind == "gaussian_pulse":
        return np.exp(-v[0] * (t - v[1]) ** 2)
    length = v[1] / v[0]
    windows = {"hann": np.sin(np.pi * t / length) ** 2, "gaussian": np.exp(-18 * (t / length - .5) ** 2)}
    return windows.get(kind, 1.) * np.sin(2 * np.pi * v[0] * t) * (0 <= t <= length)


def elements(case):
    return [(kind, nodes, name) for kind, connectivity, name in case["groups"] for nodes in connectivity]


def placed(case):
    """Positions, and the rotation of the instance."""
    x, (shift, a, b, degrees) = case["x"], case["instance"] or (np.zeros(3), np.zeros(3), np.eye(3)[2], 0.)
    r, dim = turn(np.subtract(b, a), degrees), x.shape[1]
    return ((np.pad(x, ((0, 0), (0, 3 - dim))) + shift - a) @ r.T + a)[:, :dim], r


def absorb(case, x, centre):
    """(α, E′/E) of the layers at an element's centre."""
    alpha, factor = 0., 1.
    for layer in case["layers"]:
        axis, upper = "xyz".index(layer["side"][0]), layer["side"].endswith("max")
        inside = x[:, axis].max() - centre[axis] if upper else centre[axis] - x[:, axis].min()
        depth = max(0., 1 - inside / layer["depth"])
        if layer["profile"] == "damping":
            alpha += layer["d_max"] * depth ** layer["exponent"]
        else:
            omega, length = 2 * np.pi * layer["frequency"], layer["depth"]
            k0 = omega / layer["wave_speed"]
            alpha += omega * depth**3
            factor *= np.exp(np.log(.01) / (k0 * length) * depth**3 * k0 * depth * length)
    return alpha, factor


def face_shares(x, nodes, kind, number, thickness):
    """Nodes of a face with ∫N n dA (n outward) and ∫N dA of each."""
    local = [int(c) - 1 for c in FACES["C3D4" if kind == "C3D4" else len(nodes)][number - 1]]
    y = x[nodes[local]]
    if x.shape[1] == 2:
        normals = np.tile(thickness / 2 * np.array([[0, 1], [-1, 0]]) @ (y[1] - y[0]), (2, 1))
        areas = np.linalg.norm(normals, axis=1)
    else:
        normals, areas = np.zeros((len(local), 3)), np.zeros(len(local))
        for (n, dn), weight in RULES["CPE3" if len(local) == 3 else "CPE4"]:
            normal = weight * np.cross(*(dn.T @ y))
            normals, areas = normals + np.outer(n, normal), areas + n * np.linalg.norm(normal)
    outward = np.sign(normals.sum(axis=0) @ (y.mean(axis=0) - x[nodes].mean(axis=0)))
    return nodes[local], outward * normals, areas


def solve(case):
    """U, V, A and RF, (steps + 1, dofs), kinetic, strain, external and damped energy, (steps + 1, 4), and S, E, MISES and
    SENER, (steps + 1, elements, 14)."""
    (x, rotation), dt, steps = placed(case), case["dt"], case["steps"]
    dim, n_dofs = x.shape[1], x.size
    k, m, c = np.zeros((n_dofs, n_dofs)), np.zeros(n_dofs), np.zeros(n_dofs)
    gravity, volumes, states = [], [], []
    for kind, nodes, name in elements(case):
        section = case["sections"][name]
        density, law, constants, alpha = case["materials"][section["material"]]
        d = rotated(elasticity(law, constants), rotation @ material_axes(*section["orientation"]))
        more, factor = absorb(case, x, x[nodes].mean(axis=0))
        dofs = (dim * nodes[:, None] + np.arange(dim)).ravel()
        t = section["thickness"] if dim == 2 else 1.
        k[np.ix_(dofs, dofs)] += factor * t * stiffness(kind, x[nodes], d, section["hourglass"])
        states.append((dofs, state_matrix(kind, x[nodes], factor * d)))
        mass = density * t * lump(kind, x[nodes], case["lumping"])
        gravity.append(mass)
        volumes.append(t * lump(kind, x[nodes], "row-sum"))
        m[dofs] += section["mass"] * np.repeat(mass, dim)
        c[dofs] += (alpha + more) * section["mass"] * np.repeat(mass, dim)

    loads = []
    for kind, where, *rest, magnitude, amp in case["loads"]:
        f = np.zeros(x.shape)
        for e in where if kind != "CLOAD" else []:
            ekind, nodes, name = elements(case)[e]
            if kind in ("P", "TRVEC"):
                on, normals, areas = face_shares(x, nodes, ekind, rest[0], case["sections"][name]["thickness"])
                f[on] += -magnitude * normals if kind == "P" else magnitude * np.outer(areas, rest[1])
            else:
                f[nodes] += magnitude * np.outer(gravity[e] if kind == "GRAV" else volumes[e], rest[0])
        if kind == "CLOAD":
            f[where, rest[0]] += magnitude
        loads.append((f.ravel(), amp))

    v0, supports = np.zeros(n_dofs), {}
    for nodes, component, value in case["velocities"]:
        v0[dim * nodes + component] = value
    for nodes, component, kind, value, amp in case["boundaries"]:
        supports.update({dim * node + component: (kind, value, amp) for node in nodes})
    held = np.array(sorted(supports))
    path = np.zeros((steps + 3, len(held)))  # prescribed u at t_-1, t_0, …
    for column, dof in enumerate(held):
        kind, value, amp = supports[dof]
        a, u = lambda t: value * amplitude(case, amp, t), path[:, column]
        if kind == "DISPLACEMENT":
            u[:] = [a(i * dt) for i in range(-1, steps + 2)]
        elif kind == "VELOCITY":
            u[0], u[2:] = -dt * a(-.5 * dt), np.cumsum([dt * a((i + .5) * dt) for i in range(steps + 1)])
        else:
            u[0] = -dt * v0[dof] + dt**2 / 2 * a(0.)
            for i in range(steps + 1):
                u[i + 2] = 2 * u[i + 1] - u[i] + dt**2 * a(i * dt)

    u, out, work, damped = np.zeros(n_dofs), {q: [] for q in ("U", "V", "A", "RF", "energy", "S")}, 0., 0.
    u[held] = path[1]
    for i in range(steps + 1):
        f, inner = sum(vector * amplitude(case, amp, i * dt) for vector, amp in loads), k @ u
        if i == 0:
            before = u - dt * v0 + dt**2 / 2 * (f - inner - c * v0) / m
            before[held] = path[0]
        after = (f - inner + m / dt**2 * (2 * u - before) + c / (2 * dt) * before) / (m / dt**2 + c / (2 * dt))
        after[held] = path[i + 2]
        v, a = (after - before) / (2 * dt), (after - 2 * u + before) / dt**2
        reaction = np.zeros(n_dofs)
        reaction[held] = (m * a + c * v + inner - f)[held]
        energies = [m @ ((u - before) / dt) ** 2 / 2, before @ inner / 2, work, damped]
        inside = []
        for dofs, matrix in states:
            stress, strain = (matrix @ u[dofs]).reshape(2, 6)
            tensor = np.array([[stress[VOIGT.index((min(i, j), max(i, j)))] for i in range(3)] for j in range(3)])
            deviator = tensor - np.trace(tensor) / 3 * np.eye(3)
            inside.append([*stress, *strain, np.sqrt(1.5 * np.sum(deviator**2)), stress @ strain / 2])
        for q, row in zip(out, (u, v, a, reaction, energies, inside)):
            out[q].append(row)
        work += dt * (f + reaction) @ v
        damped += dt * c @ v**2
        before, u = u, after
    return {q: np.array(rows) for q, rows in out.items()}


def random_case(kinds, seed, law=None, whole=False):
    """A grid with moved nodes, its cells shared among the kinds, under everything that a model can have."""
    rng = np.random.default_rng(seed)
    dim = 3 if kinds[0].startswith("C3D") else 2
    n = (3, 2, 2) if dim == 3 else (5, 4)
    grid = [np.array(i[::-1]) for i in itertools.product(*(range(k + 1) for k in n[::-1]))]
    at = {tuple(i): number for number, i in enumerate(grid)}
    corners = np.array(reference("C3D8" if dim == 3 else "CPE4")[0]) > 0
    cells = np.array([[at[tuple(i + c)] for c in corners] for i in grid if (i < n).all()])
    split = {"CPE3": [[0, 1, 2], [0, 2, 3]], "CPS3": [[0, 1, 3], [1, 2, 3]],
             **{kind: [[0, 1, 2, 4, 5, 6], [0, 2, 3, 4, 6, 7]] for kind in ("C3D6", "C3D6F")},
             "C3D4": [[0, 1, 2, 6], [0, 2, 3, 6], [0, 3, 7, 6], [0, 7, 4, 6], [0, 4, 5, 6], [0, 5, 1, 6]]}
    case = dict(x=np.array(grid) + rng.uniform(-.2, .2, (len(grid), dim)), groups=[], materials={}, sections={},
                layers=[], instance=None, labels=3 * rng.permutation(len(grid)) + 5, dt=.04, steps=120,
                lumping=["row-sum", "hrz", "equal"][seed % 3])
    laws = [law] if law else list(CONSTANTS)
    for i, (kind, share) in enumerate(zip(kinds, np.array_split(rng.permutation(len(cells)), len(kinds)))):
        parts = split.get(kind, [list(range(len(corners)))])
        case["groups"].append((kind, np.array([cell[part] for cell in cells[share] for part in parts]), f"SET{i}"))
        case["materials"][f"M{i}"] = random_material(rng, laws[(seed + i) % len(laws)], .1 * (i + 1))
        a, b = rng.normal(size=3), rng.normal(size=3)
        orientation = (a, b, int(rng.integers(1, 4)), rng.uniform(-180, 180))
        case["sections"][f"SET{i}"] = dict(material=f"M{i}", orientation=orientation, thickness=rng.uniform(.5, 2),
                                           hourglass=rng.uniform(.5, 2), mass=rng.uniform(1, 2) if whole else 1.)
    case["amplitudes"] = {
        "STEP": ("SMOOTH STEP", [0., 0., 1.1, 1., 2.3, -.4]), "WAVE": ("PERIODIC", [3.1, .35, .2, .5, -.3, .1, .7]),
        "TABLE": ("TABULAR", [0., .3, .77, 1., 1.9, -1., 4., .5]), "HANN": ("hann", [.5, 2.]),
        "RECT": ("rectangular", [.31, 1.]), "GAUSS": ("gaussian", [.7, 2.]), "RICKER": ("ricker", [.4, 2.2]),
        "PULSE": ("gaussian_pulse", [2., 1.5])}
    nodes, m = rng.permutation(len(grid)), len(elements(case))
    some, unit = (lambda: rng.permutation(m)[:3]), (lambda: (lambda v: v / np.linalg.norm(v))(rng.normal(size=dim)))
    case["loads"] = [("CLOAD", nodes[i:i + 3], i % dim, .5, amp) for i, amp in enumerate([None, *case["amplitudes"]])]
    case["loads"] += [("BODY", some(), np.eye(dim)[1], .5, "TABLE"), ("GRAV", some(), unit(), .8, "WAVE")]
    for face in range(1, len(FACES["C3D4" if kinds[0] == "C3D4" else N_NODES[kinds[0]]]) + 1):
        first = np.arange(len(case["groups"][0][1]))
        case["loads"] += [("P", rng.permutation(first)[:2], face, .3 * face, "WAVE")]
        case["loads"] += [("TRVEC", rng.permutation(first)[:2], face, unit(), .2, "STEP")]
    case["boundaries"] = [(nodes[5:7], c, "DISPLACEMENT", 0., None) for c in range(dim)] + [
        (nodes[7:9], 0, "DISPLACEMENT", .2, "STEP"), (nodes[9:10], 1, "VELOCITY", .3, "WAVE"),
        (nodes[10:11], dim - 1, "ACCELERATION", -.1, "TABLE"), (nodes[11:12], 0, "DISPLACEMENT", .1, "RICKER")]
    case["velocities"] = [(nodes[12:15], 0, .6), (nodes[10:13], dim - 1, -.3)]
    if whole:
        axis = [0., 0, 2] if dim == 2 else [.3, -.5, 2]
        shift, about = np.array([3., -2, 0 if dim == 2 else 5]), np.array([1., 2, 0])
        case["instance"] = (shift, about, about + axis, 47.)
        case["layers"] = [dict(side="xmin", depth=1.3, profile="damping", d_max=3., exponent=2.5),
                          dict(side="ymax", depth=1.7, profile="stiffness_reduction", frequency=.4, wave_speed=1.1)]
    return case


def table(path):
    lines = [line.split(",") for line in path.read_text().splitlines() if not line.startswith("#")]
    return lines[0], np.array(lines[1:], float)


def difference(found, expected):
    return np.linalg.norm(found - expected) / np.linalg.norm(expected)


def compare(name, case, commands, folder):
    folder = folder / name
    folder.mkdir(parents=True)
    write(case, folder)
    model, out = folder / "model.blk", folder / "out"
    subprocess.run([commands / "pogo-block", folder / "model.inp", "--job", folder / "job.toml", "--quiet",
                    "--block-nodes", "16", "-o", model], check=True)
    expected, errors = solve(case), {}
    prefix = "ALL.I." if case["instance"] else "ALL."
    for precision in ("f32", "f64"):
        subprocess.run([commands / "pogo-solve", model, "--quiet", "--precision", precision,
                        "--lumping", case["lumping"], "--energy-samples", str(case["steps"]), "-o", out], check=True)
        heads, values = table(out / "traces.csv")
        for q in ("U", "V", "A", "RF") if precision == "f64" else ("U",):
            components = range(1, case["x"].shape[1] + 1)
            columns = [heads.index(f"{prefix}{label}.{q}{c}") for label in case["labels"] for c in components]
            errors[f"{q} {precision}"] = difference(values[:, columns], expected[q])
        names = ["11", "22", "33", "12", "13", "23"][:4 if case["x"].shape[1] == 2 else 6]
        labels = [101 + e for e in range(len(elements(case)))]
        for q, suffixes in {"S": ["S" + n for n in names], "E": ["E" + n for n in names], "MISES": ["MISES"],
                            "SENER": ["SENER"]}.items():
            first = {"S": 0, "E": 6, "MISES": 12, "SENER": 13}[q]
            columns = [heads.index(f"E{prefix}{label}.{s}") for label in labels for s in suffixes]
            wanted = expected["S"][:, :, first:first + len(suffixes)].reshape(len(values), -1)
            errors[f"{q} {precision}"] = difference(values[:, columns], wanted)
    _, energies = table(out / "energy.csv")
    errors["energies"] = difference(energies[:, 1:5], expected["energy"])
    print(f"{name:24}", *(f"{key} {error:.1e}" for key, error in errors.items()), sep="  ")
    # Rounding; in single precision a body that supports hold.
    return [f"{name}: {key} {e:.1e}" for key, e in errors.items() if not e < (2e-6 if "f32" in key else 1e-11)]


def main():
    commands, folder = map(Path, sys.argv[1:3])
    laws, bad = list(CONSTANTS), []
    for seed, kind in enumerate(KINDS_2D + KINDS_3D):
        bad += compare(kind, random_case([kind], seed, laws[seed % 4]), commands, folder)
    for seed, kinds in enumerate([KINDS_2D, KINDS_2D[::-1], KINDS_3D, KINDS_3D[::-1]], 20):
        bad += compare(f"all-from-{kinds[0]}", random_case(kinds, seed, whole=True), commands, folder)
    sys.exit("too far apart:\n" + "\n".join(bad) if bad else 0)


if __name__ == "__main__":
    main()
