"""Energy that an impedance boundary sends back, against the theory of plane waves; NumPy alone.

usage: reflected_energy.py ENERGY.CSV P|S DEGREES POISSON SIGMA RATIO TOLERANCE

A packet of waves whose envelope is a Gaussian, SIGMA wavelengths wide, has met the boundary at DEGREES from its normal. The
traction there is -Z v with Z = RATIO times (rho c_P, rho c_S) along and across the normal. The amplitudes of the reflected
waves follow from two equations; what they carry, averaged over the spectrum of the packet, is compared with the last row of
the file.
"""

import sys

import numpy as np


def reflected(wave, k, poisson, ratio):
    """Part of the energy that comes back, for the wave vector k = (kx, ky)."""
    cs = 1.0
    cp = np.sqrt((2 - 2 * poisson) / (1 - 2 * poisson))
    mu, modulus = cs**2, cp**2
    lam = modulus - 2 * mu
    speed = {"P": cp, "S": cs}
    kx, ky = k
    omega = speed[wave] * np.hypot(kx, ky)
    along = {name: np.sqrt(complex((omega / c) ** 2 - ky**2)) for name, c in speed.items()}
    impedance = ratio * np.array([cp, cs])

    def lack(polarisation, kx):
        """Traction less that of the boundary, over i: must add up to 0."""
        a, b = polarisation
        traction = np.array([modulus * kx * a + lam * ky * b, mu * (ky * a + kx * b)])
        return traction - omega * impedance * np.array([a, b])

    unit = lambda name, v: np.array(v) * speed[name] / omega
    outgoing = {"P": unit("P", (along["P"], ky)), "S": unit("S", (-ky, along["S"]))}
    back = {"P": unit("P", (-along["P"], ky)), "S": unit("S", (ky, along["S"]))}
    columns = np.column_stack([lack(back[name], -along[name]) for name in "PS"])
    amplitudes = np.linalg.solve(columns, -lack(outgoing[wave], along[wave]))
    flux = lambda name: speed[name] ** 2 * along[name].real
    return sum(abs(a) ** 2 * flux(name) for a, name in zip(amplitudes, "PS")) / flux(wave)


def main():
    path, wave, (degrees, poisson, sigma, ratio, tolerance) = sys.argv[1], sys.argv[2], map(float, sys.argv[3:8])
    with open(path) as file:
        lines = [line.strip().split(",") for line in file if not line.startswith("#")]
    rows = [dict(zip(lines[0], map(float, line))) for line in lines[1:]]
    left, first = rows[-1], rows[0]
    found = (left["kinetic"] + left["strain"]) / (first["kinetic"] + first["strain"])
    # In units of the wave number; each part of the spectrum carries energy in proportion to k^2.
    kx0, ky = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    width = 1 / (2 * np.pi * sigma)
    kx = kx0 + width * np.linspace(-4, 4, 161)
    kx = kx[kx > 0.05 * kx0]
    weight = (kx**2 + ky**2) * np.exp(-(((kx - kx0) / width) ** 2))
    theory = np.sum(weight * [reflected(wave, (k, ky), poisson, ratio) for k in kx]) / weight.sum()
    print(f"{wave} at {degrees:g} degrees: {found:.5f} comes back, theory {theory:.5f}")
    if not abs(found - theory) < tolerance:
        sys.exit(f"{wave} at {degrees:g} degrees: {found:.5f} comes back and not {theory:.5f}")


main()
