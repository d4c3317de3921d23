"""A bar of two materials, one with stiffness-proportional damping, against NumPy and SciPy alone.

usage: damped_bar.py TRACES ELEMENTS LENGTH BETA TOLERANCE

One end moves as the traces say; the equation of motion M u'' + beta K2 u' + (K1 + K2) u = 0 of the rest is solved in time by
SciPy's adaptive integrator. Then the amplification matrix of the lagged scheme of Pogo is checked: its spectral radius is
below 1 just below the increment at which 4M - 2 dt C - dt^2 K stops being positive definite, and above 1 just above it; and for
one mode that increment is 2/w (sqrt(1 + xi^2) - xi).
"""

import sys

import numpy as np
import scipy.integrate
import scipy.linalg
import scipy.optimize

YOUNG, DENSITY = [210e9, 5e9], [7800.0, 1200.0]


def matrices(n, length):
    """Lumped masses, and the stiffness of both halves, per area."""
    h = length / n
    mass, stiffness = np.zeros(n + 1), [np.zeros((n + 1, n + 1)) for _ in range(2)]
    for e in range(n):
        half = int(e >= n // 2)
        mass[e : e + 2] += 0.5 * DENSITY[half] * h
        stiffness[half][e : e + 2, e : e + 2] += YOUNG[half] / h * np.array([[1, -1], [-1, 1]])
    return mass, stiffness


def radius(mass, c, k, dt):
    """Spectral radius of (u, du) -> (u, du) of the scheme M (du' - du) + dt C du + dt^2 K u = 0, u' = u + du'."""
    n, m = len(mass), 1 / mass[:, None]
    du = np.hstack([-dt**2 * m * k, np.eye(n) - dt * m * c])
    u = du + np.hstack([np.eye(n), np.zeros((n, n))])
    return np.abs(np.linalg.eigvals(np.vstack([u, du]))).max()


def limit(mass, c, k):
    """The increment at which 4M - 2 dt C - dt^2 K is singular."""
    scale = 1 / np.sqrt(mass)
    c, k = [scale[:, None] * a * scale for a in (c, k)]
    lowest = lambda dt: np.linalg.eigvalsh(4 * np.eye(len(mass)) - 2 * dt * c - dt**2 * k)[0]
    largest = 2 / np.sqrt(np.linalg.eigvalsh(k)[-1])
    return scipy.optimize.brentq(lowest, 1e-6 * largest, 1.0001 * largest, xtol=1e-20, rtol=1e-12)


def main():
    path, n, length, beta, tolerance = sys.argv[1], int(sys.argv[2]), *map(float, sys.argv[3:6])
    with open(path) as file:
        lines = [line for line in file if not line.startswith("#")]
    names = lines[0].strip().split(",")
    table = np.array([[float(value) for value in line.split(",")] for line in lines[1:]])
    time = table[:, 0]
    column = lambda name: table[:, names.index(name)]
    driven = column(next(name for name in names if name.startswith("DRIVEN.") and name.endswith("U1")))
    mass, (k1, k2) = matrices(n, length)
    k, c = k1 + k2, beta * k2

    velocity = np.gradient(driven, time)
    inner, inverse = slice(1, None), 1 / mass[1:]

    def rate(t, y):
        u, v = y[:n], y[n:]
        end, end_rate = np.interp(t, time, driven), np.interp(t, time, velocity)
        force = k[inner, inner] @ u + c[inner, inner] @ v + k[inner, 0] * end + c[inner, 0] * end_rate
        return np.concatenate([v, -inverse * force])

    solved = scipy.integrate.solve_ivp(
        rate, (time[0], time[-1]), np.zeros(2 * n), method="RK45", t_eval=time, rtol=1e-7, atol=1e-15, max_step=2e-8
    )
    worst = 0.0
    for name, node in [(f"REC.{n + 1}.U1", n), (f"REC.{n // 2 + 1}.U1", n // 2)]:
        error = np.linalg.norm(column(name) - solved.y[node - 1]) / np.linalg.norm(solved.y[node - 1])
        worst = max(worst, error)
    print(f"differences of {worst:.2e}")
    if not worst < tolerance:
        sys.exit(f"the traces differ by {worst:.2e}, more than {tolerance}")

    for b in (1e-8, 1e-7, 1e-6):
        dt = limit(mass, b * k2, k)
        # At rest and in steady motion the eigenvalue 1 is a double one, known to the root of rounding.
        below, above = [radius(mass, b * k2, k, factor * dt) for factor in (0.999, 1.001)]
        if not below < 1 + 1e-6 < above:
            sys.exit(f"beta {b}: spectral radii {below} and {above} about the limit {dt}")
        uniform = limit(mass, b * k, k)
        w = np.sqrt(scipy.linalg.eigh(k, np.diag(mass), eigvals_only=True)[-1])
        xi = 0.5 * b * w
        if abs(uniform / (2 / w * (np.sqrt(1 + xi**2) - xi)) - 1) > 1e-6:
            sys.exit(f"beta {b}: the limit of one material is {uniform}")


main()
