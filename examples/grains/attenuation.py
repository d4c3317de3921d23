#!/usr/bin/env python3
"""Attenuation of plane longitudinal waves in a polycrystal of Inconel 600, beside Born's approximation.

    attenuation.py [--width 60] [--length 100] [--across 6] [--realizations 1] [--c44 126.2e9] [--folder attenuation]

A prism of C3D8R, `width` elements wide and `length` long, is filled with Voronoi grains that are `across` elements wide. A face moves
as a pulse, the sides do not move along their normals, and the mean motion of the far face is the coherent wave. Its
attenuation is its spectrum over that of the same prism with the mean stiffness. Born's approximation takes the mean stiffness
(Voigt) as the medium, and the difference of each grain's stiffness from it as sources of single scattering:

    alpha = 1/2 sum_b integral (v_b/v) (k k_b / (4 pi rho v_b^2))^2 <(dC_ijkl s_i t_j p_k p_l)^2> W(|k p - k_b s|) dOmega

with p the direction of the wave, s that of the scattered wave b and t its polarization, and W the Fourier transform of the chance that two
points lie in one grain (Stanke and Kino 1984, in the limit of weak scattering). That chance is counted in the grains of the model.

Needs NumPy and SciPy, and pogo-block and pogo-solve on the PATH.
"""
import argparse
import shutil
import subprocess
from pathlib import Path

import numpy as np
from scipy.integrate import trapezoid
from scipy.spatial import cKDTree
from scipy.spatial.transform import Rotation

# Pa and kg/m3. C44 is an option: 44.6e9 makes an isotropic crystal.
C11, C12, DENSITY = 234.6e9, 145.4e9, 8260.0
H = 1e-5  # edge of an element, m


def crystal(c44):
    """Stiffness of the crystal in its own axes, (3, 3, 3, 3)."""
    one = np.eye(3)
    pair = np.einsum("ij,kl->ijkl", one, one)
    shear = np.einsum("ik,jl->ijkl", one, one) + np.einsum("il,jk->ijkl", one, one)
    cube = sum(np.einsum("i,j,k,l->ijkl", a, a, a, a) for a in one)
    return C12 * pair + c44 * shear + (C11 - C12 - 2 * c44) * cube


def voigt_means(c44):
    """Moduli of Voigt's mean, Pa: that of compression waves and that of shear waves."""
    bulk, shear = (C11 + 2 * C12) / 3, (C11 - C12 + 3 * c44) / 5
    return bulk + 4 / 3 * shear, shear


def write_model(grain, angles, c44, folder):
    """mesh.inp with a set for each grain, and jobs of the polycrystal and of its mean."""
    nz, ny, nx = grain.shape
    m = np.array([nx, ny, nz]) + 1
    nodes = np.indices(m[::-1]).reshape(3, -1).T[:, ::-1] * H
    k, j, i = np.indices(grain.shape).reshape(3, -1)
    first = 1 + i + m[0] * (j + m[1] * k)
    face = np.column_stack([first, first + 1, first + 1 + m[0], first + m[0]])
    with open(folder / "mesh.inp", "w") as deck:
        deck.write("*Heading\nA prism in grains\n*Node\n")
        np.savetxt(deck, np.column_stack([np.arange(1, len(nodes) + 1), nodes]), fmt="%d,%.7g,%.7g,%.7g")
        deck.write("*Element, type=C3D8R, elset=ALL\n")
        elements = np.column_stack([np.arange(1, grain.size + 1), face, face + m[0] * m[1]])
        np.savetxt(deck, elements, fmt="%d", delimiter=",")
    np.savetxt(folder / "grain_of.csv", np.column_stack([np.arange(1, grain.size + 1), grain.ravel() + 1]), fmt="%d,%d")
    numbered = np.column_stack([np.arange(1, len(angles) + 1), angles])
    np.savetxt(folder / "euler.csv", numbered, fmt="%d,%.6f,%.6f,%.6f")
    compression, shear = voigt_means(c44)
    speed = np.sqrt(compression / DENSITY)
    # A Ricker pulse whose waves are 18 elements long at its peak.
    frequency = speed / (18 * H)
    n_face = m[0] * m[1]
    common = f"""
[solver]
time = {1.9 * nz * H / speed}
[[source]]
side = "zmin"
direction = [0, 0, 1]
velocity = 1.0
amplitude = {{ kind = "ricker", frequency = {frequency}, peak_time = {1.2 / frequency} }}
[[boundary]]
side = ["xmin", "xmax"]
components = 1
[[boundary]]
side = ["ymin", "ymax"]
components = 2
[[monitor]]
name = "far"
side = "zmax"
variables = "V3"
weights = {1 / n_face}
"""
    material = f'[[material]]\nname = "inconel"\ndensity = {DENSITY}\n'
    grains = '[[grains]]\nmaterial = "inconel"\nfile = "euler.csv"\nelements = "grain_of.csv"\n'
    (folder / "polycrystal.toml").write_text(f"{material}cubic = [{C11}, {C12}, {c44}]\n{grains}{common}")
    bulk = (C11 + 2 * C12) / 3
    young, poisson = 9 * bulk * shear / (3 * bulk + shear), (3 * bulk - 2 * shear) / (6 * bulk + 2 * shear)
    section = '[[section]]\nelset = "ALL"\nmaterial = "inconel"\n'
    (folder / "mean.toml").write_text(f"{material}young = {young}\npoisson = {poisson}\n{section}{common}")
    return frequency, speed


def spectrum(folder, name, frequencies):
    """Spectrum of the mean motion of the far face."""
    subprocess.run(
        ["pogo-block", "mesh.inp", "--job", f"{name}.toml", "-o", f"{name}.blk", "--quiet"], cwd=folder, check=True
    )
    subprocess.run(
        ["pogo-solve", f"{name}.blk", "-o", f"{name}.out", "--precision", "f32", "--no-fields", "--quiet"], cwd=folder, check=True
    )
    with open(folder / f"{name}.out" / "traces.csv") as lines:
        rows = [line for line in lines if not line.startswith("#")]
    time, motion = np.loadtxt(rows[1:], delimiter=",").T
    return trapezoid(motion * np.exp(-2j * np.pi * np.outer(frequencies, time)), time, axis=1)


def chance_of_one_grain(grain, lags):
    """Chance that two points `lag` elements apart lie in one grain: the mean over the three axes."""
    chances = []
    for axis in range(3):
        swapped = np.moveaxis(grain, axis, 0)
        chances.append([np.mean(swapped[lag:] == swapped[: len(swapped) - lag]) for lag in lags])
    return np.mean(chances, axis=0)


def born(frequency, c44, chance, lags):
    """Born's attenuation, Np/m."""
    compression, shear = voigt_means(c44)
    speed, k = np.sqrt(compression / DENSITY), 2 * np.pi * frequency / np.sqrt(compression / DENSITY)
    turns = Rotation.random(4000, random_state=3).as_matrix()
    c = crystal(c44)
    # dC_ijkl p_k p_l of each grain for p = z.
    stress = np.einsum("nia,njb,nc,nd,abcd->nij", turns, turns, turns[:, 2], turns[:, 2], c, optimize=True)
    stress -= stress.mean(axis=0)
    r, fine = lags * H, np.linspace(0, lags[-1] * H, 2000)
    weight = np.interp(fine, r, chance)
    cosines, weights = np.polynomial.legendre.leggauss(48)
    total = 0.0
    for cosine, w in zip(cosines, weights):
        sine = np.sqrt(1 - cosine**2)
        s = np.array([sine, 0, cosine])
        for modulus, polarizations in ((compression, [s]), (shear, [np.array([cosine, 0, -sine]), np.array([0, 1, 0])])):
            v = np.sqrt(modulus / DENSITY)
            k_b = 2 * np.pi * frequency / v
            q = np.sqrt(max(k**2 + k_b**2 - 2 * k * k_b * cosine, 0.0))
            transform = 4 * np.pi * trapezoid(weight * fine**2 * np.sinc(q * fine / np.pi), fine)
            scattered = sum(np.mean(np.einsum("nij,i,j->n", stress, s, t) ** 2) for t in polarizations)
            total += 2 * np.pi * w * v / speed * (k * k_b / (4 * np.pi * modulus)) ** 2 * scattered * transform
    return total / 2


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--width", type=int, default=60, help="elements")
    parser.add_argument("--length", type=int, default=100, help="elements")
    parser.add_argument("--across", type=float, default=6.0, help="elements in the mean width of a grain")
    parser.add_argument("--realizations", type=int, default=1)
    parser.add_argument("--c44", type=float, default=126.2e9, help="Pa")
    parser.add_argument("--folder", type=Path, default=Path("attenuation"))
    options = parser.parse_args()
    if missing := [name for name in ("pogo-block", "pogo-solve") if shutil.which(name) is None]:
        parser.error(f"{' and '.join(missing)} not found: put the folder of Pogo's commands on the PATH")
    if min(options.width, options.length) < 4 * options.across or options.realizations < 1:
        parser.error("the prism must be four grains wide and long, and filled once at least")
    options.folder.mkdir(parents=True, exist_ok=True)
    shape = np.array([options.length, options.width, options.width])
    n_grains = round(np.prod(shape) / options.across**3)
    centres = np.indices(shape).reshape(3, -1).T + 0.5
    diameter = options.across * H
    lags = np.arange(int(4 * options.across))
    logs, theory = [], []
    for seed in range(options.realizations):
        random = np.random.default_rng(seed)
        grain = cKDTree(random.random((n_grains, 3)) * shape).query(centres)[1]
        grain = np.unique(grain, return_inverse=True)[1].reshape(shape)
        angles = Rotation.random(grain.max() + 1, random_state=seed).as_euler("ZXZ", degrees=True)
        peak, speed = write_model(grain, angles, options.c44, options.folder)
        frequencies = peak * np.array([0.6, 0.8, 1.0, 1.2, 1.4])
        ratio = spectrum(options.folder, "polycrystal", frequencies) / spectrum(options.folder, "mean", frequencies)
        logs.append(-np.log(np.abs(ratio)) / (options.length * H))
        chance = chance_of_one_grain(grain, lags)
        theory.append([born(frequency, options.c44, chance, lags) for frequency in frequencies])
    print(f"{n_grains} grains, {options.realizations} realizations; attenuation over the width of a grain, Np")
    print("   k d      Pogo   spread      Born   ratio")
    for f, measured, spread, expected in zip(
        frequencies, np.mean(logs, 0), np.std(logs, 0), np.mean(theory, 0)
    ):
        kd = 2 * np.pi * f / speed * diameter
        measured, spread, expected = measured * diameter, spread * diameter, expected * diameter
        print(f"{kd:6.2f} {measured:9.4f} {spread:8.4f} {expected:9.4f} {measured / expected:7.2f}")


if __name__ == "__main__":
    main()
