"""Bars with relaxation mechanisms against NumPy and SciPy alone.

usage: relaxed_bar.py mode TRACES ELEMENTS LENGTH QUALITY    a mode against the exact roots of its characteristic polynomial
       relaxed_bar.py wave TRACES DISTANCE QUALITY|table     attenuation and phase velocity of a plane wave between two nodes
       relaxed_bar.py two TRACES ENERGIES ELEMENTS LENGTH QUALITY1 QUALITY2    two materials, solved in time by SciPy

The mechanisms are fitted here with SciPy's non-negative least squares. Each prints what it has measured, as numbers.
"""

import sys

import numpy as np
import scipy.integrate
import scipy.interpolate
import scipy.optimize

BAND, MECHANISMS, REFERENCE = [1e5, 1e6], 3, 3e5
YOUNG, DENSITY = 5e9, 800.0
# Of the second half in `two`.
OTHER_YOUNG, OTHER_DENSITY = 20e9, 2000.0
# dB/m at the ends of the band: a power law.
TABLE = [40.0, 900.0]
RATES = 2 * np.pi * np.geomspace(*BAND, MECHANISMS)


def modulus(strengths, omega):
    """M/M_U."""
    omega = np.asarray(omega)[..., None]
    return 1 - np.sum(strengths * RATES / (RATES + 1j * omega), axis=-1)


def fit(inverse_quality):
    """Y and C_U/C for a target of 1/Q as a function of the frequency."""
    f = np.geomspace(*BAND, 10 * MECHANISMS)
    omega, target = 2 * np.pi * f[:, None], inverse_quality(f)[:, None]
    # 1/Q of the sum, multiplied out: sum Y (w_l w / target + w_l^2) / (w_l^2 + w^2) = 1.
    rows = (RATES * omega / target + RATES**2) / (RATES**2 + omega**2)
    strengths, _ = scipy.optimize.nnls(rows, np.ones(len(f)))
    slowness = np.real(1 / np.sqrt(modulus(strengths, 2 * np.pi * REFERENCE)))
    return strengths, slowness**2


def constant(quality):
    return fit(lambda f: np.full_like(f, 1 / quality))


def of_table(speed):
    """Q of 40 to 900 dB/m: the amplitude falls by exp(-pi f x / (Q c))."""
    power = np.log(TABLE[1] / TABLE[0]) / np.log(BAND[1] / BAND[0])
    neper = lambda f: TABLE[0] * (f / BAND[0]) ** power * np.log(10) / 20
    return fit(lambda f: neper(f) * speed / (np.pi * f))


def read(path):
    with open(path) as file:
        lines = [line for line in file if not line.startswith("#")]
    names = lines[0].strip().split(",")
    table = np.array([[float(value) for value in line.split(",")] for line in lines[1:]])
    return {name: table[:, i] for i, name in enumerate(names)}


def mode(path, n, length, quality):
    traces = read(path)
    strengths, unrelaxed = constant(quality)
    h, k = length / n, np.pi / length
    # Of a bar with lumped masses and the unrelaxed modulus.
    square = unrelaxed * (2 * np.sqrt(YOUNG / DENSITY) / h * np.sin(0.5 * k * h)) ** 2
    # U(s) = P(s) / (s^2 P + w^2 (P - sum Y w_l P/(s + w_l))), P = prod(s + w_l), for u = 0, v = 1 at the start.
    poly = np.poly1d
    product = poly(-RATES, r=True)
    rest = product
    for i, (y, rate) in enumerate(zip(strengths, RATES)):
        rest = rest - y * rate * poly(-np.delete(RATES, i), r=True)
    denominator = poly([1, 0, 0]) * product + square * rest
    roots = denominator.roots
    residues = product(roots) / denominator.deriv()(roots)
    exact = np.real(np.exp(np.outer(traces["time"], roots)) @ residues)
    found = traces["REC.1.U1"]
    print(np.linalg.norm(found - exact) / np.linalg.norm(exact))
    wave = roots[np.argmax(roots.imag)]
    # The fit itself: 1/Q of the mode is 2 |Re s| / |Im s| to first order.
    print(0.5 * abs(wave.imag / wave.real) / quality)


def wave(path, distance, quality):
    traces = read(path)
    near, far = [traces[name] for name in sorted((n for n in traces if n.endswith("U1")), key=lambda n: int(n.split(".")[1]))]
    strengths, unrelaxed = of_table(np.sqrt(YOUNG / DENSITY)) if quality == "table" else constant(float(quality))
    for f in (2e5, 4e5, 8e5):
        omega = 2 * np.pi * f
        transform = lambda signal: np.sum(signal * np.exp(-1j * omega * traces["time"]))
        ratio = transform(far) / transform(near)
        k = omega / np.sqrt(unrelaxed * YOUNG / DENSITY * modulus(strengths, omega))
        turns = np.round((k.real * distance + np.angle(ratio)) / (2 * np.pi))
        phase = 2 * np.pi * turns - np.angle(ratio)
        print(-np.log(abs(ratio)) / distance / -k.imag, omega * distance / phase / (omega / k.real))


def two(path, energies, n, length, quality1, quality2):
    traces, energies = read(path), read(energies)
    time, h = traces["time"], length / n
    driven = traces[next(name for name in traces if name.startswith("DRIVEN.") and name.endswith("U1"))]
    force_name = next(name for name in traces if name.startswith("DRIVEN.") and name.endswith("RF1"))
    fits = [constant(quality1), constant(quality2)]
    mass = np.zeros(n + 1)
    stiffness, relaxed = np.zeros((n + 1, n + 1)), np.zeros((MECHANISMS, n + 1, n + 1))
    for e in range(n):
        half = int(e >= n // 2)
        mass[e : e + 2] += 0.5 * [DENSITY, OTHER_DENSITY][half] * h
        element = fits[half][1] * [YOUNG, OTHER_YOUNG][half] / h * np.array([[1, -1], [-1, 1]])
        stiffness[e : e + 2, e : e + 2] += element
        for l in range(MECHANISMS):
            relaxed[l, e : e + 2, e : e + 2] += fits[half][0][l] * element
    end = scipy.interpolate.CubicSpline(time, driven)

    def split(t, y):
        u = np.concatenate([[end(t)], y[:n]])
        return u, y[n : 2 * n], y[2 * n : -1].reshape(MECHANISMS, n + 1)

    def force(u, z):
        return stiffness @ u - sum(relaxed[l] @ z[l] for l in range(MECHANISMS))

    def rate(t, y):
        u, v, z = split(t, y)
        taken = sum(RATES[l] * (u - z[l]) @ relaxed[l] @ (u - z[l]) for l in range(MECHANISMS))
        return np.concatenate([v, -force(u, z)[1:] / mass[1:], (RATES[:, None] * (u - z)).ravel(), [taken]])

    start = np.zeros(2 * n + MECHANISMS * (n + 1) + 1)
    solved = scipy.integrate.solve_ivp(rate, (time[0], time[-1]), start, method="DOP853", t_eval=time, rtol=1e-9, atol=1e-18)
    difference = lambda found, exact: np.linalg.norm(found - exact) / np.linalg.norm(exact)
    print(max(difference(traces[f"REC.{node + 1}.U1"], solved.y[node - 1]) for node in (n, n // 2)))
    # The reaction of the moving end, without its own inertia's noise at the first steps.
    states = [split(t, y) for t, y in zip(time, solved.y.T)]
    exact = np.array([force(u, z)[0] for u, _, z in states]) + mass[0] * end(time, 2)
    print(difference(traces[force_name], exact * h / 2))
    # The stress of the last element.
    strain = np.array([(u[n] - u[n - 1]) / h for u, _, _ in states])
    memory = np.array([(z[:, n] - z[:, n - 1]) / h for _, _, z in states])
    exact = fits[1][1] * OTHER_YOUNG * (strain - memory @ fits[1][0])
    print(difference(traces[next(name for name in traces if name.endswith("S11"))], exact))
    # What is lost, of a strip as wide as one cell and 1 thick.
    print(energies["damped"][-1] / (solved.y[-1, -1] * h))


def main():
    kind, path, *rest = sys.argv[1:]
    if kind == "mode":
        mode(path, int(rest[0]), float(rest[1]), float(rest[2]))
    elif kind == "wave":
        wave(path, float(rest[0]), rest[1])
    else:
        two(path, rest[0], int(rest[1]), *map(float, rest[2:]))


main()
