"""Reflection of P, S and Rayleigh waves from absorbing boundaries, in dB, as a Markdown table; NumPy alone.

usage: absorbing_table.py BIN FOLDER [DEPTH ...]

BIN is the folder of the commands, FOLDER an empty one for models. Packets of waves, Gaussian with a width of 2 wavelengths,
meet at normal incidence a layer DEPTH wavelengths deep (of the wave in question), or an impedance boundary without depth. P
and S waves: energy that comes back over that which came. Rayleigh waves: amplitude at their frequency at a point of the surface,
after and before the reflection. Profile `damping` has the best d_max of the list below, which is printed in units of c/depth.
"""

import csv
import json
import pathlib
import subprocess
import sys

import numpy as np

YOUNG, POISSON, DENSITY = 70e9, 0.33, 2700.0
MU = YOUNG / (2 * (1 + POISSON))
LAMBDA = YOUNG * POISSON / ((1 + POISSON) * (1 - 2 * POISSON))
CP, CS = np.sqrt((LAMBDA + 2 * MU) / DENSITY), np.sqrt(MU / DENSITY)
WAVELENGTH, SIGMA, FINE = 10e-3, 2.0, 16
SCALES = [5, 10, 20, 40]


def rayleigh_speed():
    f = lambda c: (2 - (c / CS) ** 2) ** 2 - 4 * np.sqrt(1 - (c / CP) ** 2) * np.sqrt(1 - (c / CS) ** 2)
    low, high = 0.5 * CS, 0.9999 * CS
    for _ in range(100):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if f(low) * f(middle) > 0 else (low, middle)
    return low


CR = rayleigh_speed()


def envelope(x):
    """A packet about 0 and its derivative by x, over the wave number."""
    k, s = 2 * np.pi / WAVELENGTH, SIGMA * WAVELENGTH
    e = np.exp(-0.5 * (x / s) ** 2)
    return e * np.sin(k * x), e * np.cos(k * x)


def velocity(wave, x, depth_below):
    """Of a packet that will travel both ways, at x from its middle."""
    odd, even = envelope(x)
    if wave == "P":
        return even, 0 * x
    if wave == "S":
        return 0 * x, even
    k = 2 * np.pi / WAVELENGTH
    p, q = k * np.sqrt(1 - (CR / CP) ** 2), k * np.sqrt(1 - (CR / CS) ** 2)
    z = depth_below
    u = k * (np.exp(-p * z) - 2 * p * q / (q * q + k * k) * np.exp(-q * z))
    w = p * (np.exp(-p * z) - 2 * k * k / (q * q + k * k) * np.exp(-q * z))
    return u * odd / k, -w * even / k


class Case:
    """A mesh with a packet in its middle and the same boundary at both ends."""

    def __init__(self, wave, depth, profile):
        self.wave, self.depth, self.profile = wave, depth, profile
        self.speed = {"P": CP, "S": CS, "R": CR}[wave]
        self.way = 16.0 if wave != "R" else 20.0
        h = WAVELENGTH / FINE
        layer = 0.0 if profile == "impedance" else depth
        self.nx = 2 * round((self.way + layer) * FINE)
        self.ny = 2 if wave != "R" else 6 * FINE
        self.h, self.layer = h, layer * WAVELENGTH

    def deck(self):
        nx, ny, h = self.nx, self.ny, self.h
        label = lambda i, j: 1 + i + (nx + 1) * j
        x = (np.arange(nx + 1) - nx / 2) * h
        lines = ["*Node"]
        lines += [f"{label(i, j)}, {i * h:.9e}, {j * h:.9e}" for j in range(ny + 1) for i in range(nx + 1)]
        lines.append("*Element, type=CPE4, elset=ALL")
        corners = lambda i, j: (label(i, j), label(i + 1, j), label(i + 1, j + 1), label(i, j + 1))
        cells = [(i, j) for j in range(ny) for i in range(nx)]
        lines += [f"{1 + n}, " + ", ".join(map(str, corners(i, j))) for n, (i, j) in enumerate(cells)]
        lines += ["*Solid Section, elset=ALL, material=M", ",", "*Material, name=M", "*Density", f"{DENSITY},"]
        lines += ["*Elastic", f"{YOUNG}, {POISSON}", "*Boundary"] if self.wave != "R" else ["*Elastic", f"{YOUNG}, {POISSON}"]
        if self.wave != "R":
            held = 2 if self.wave == "P" else 1
            lines += [f"{label(i, j)}, {held}, {held}" for j in range(ny + 1) for i in range(nx + 1)]
        lines.append("*Initial Conditions, type=VELOCITY")
        for j in range(ny + 1):
            for i, v in enumerate(np.transpose(velocity(self.wave, x, (ny - j) * h))):
                lines += [f"{label(i, j)}, {c + 1}, {v[c]:.6e}" for c in (0, 1) if abs(v[c]) > 1e-12]
        # On the surface, 9 wavelengths from the layer.
        record = label(nx // 2 + round((self.way - 9) * FINE), ny)
        way = {"R": self.way + 9 + 4 * SIGMA}.get(self.wave, self.way + 4 * SIGMA + 2 * self.layer / WAVELENGTH)
        time = way * WAVELENGTH / self.speed
        lines += ["*Nset, nset=REC", f"{record},", "*Step", "*Dynamic, Explicit", f", {time}"]
        lines += ["*Output, history, frequency=1", "*Node Output, nset=REC", "U2,", "*End Step", ""]
        return "\n".join(lines)

    def job(self):
        words = ["[[absorbing]]", "name = 'ends'", "side = ['xmin', 'xmax']", f"profile = '{self.profile}'"]
        if self.profile != "impedance":
            words.append(f"depth = {self.layer}")
        if self.profile == "damping":
            words.append("d_max = 1")
        if self.profile == "stiffness_reduction":
            words += [f"frequency = {self.speed / WAVELENGTH}", f"wave_speed = {self.speed}"]
        if self.wave == "R":
            # What goes down must not come back.
            words += ["[[absorbing]]", "name = 'below'", "side = 'ymin'", "profile = 'impedance'"]
        return "\n".join(words) + "\n"

    def reflection(self, binaries, folder):
        """dB, and the d_max that gave it."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "model.inp").write_text(self.deck())
        (folder / "job.toml").write_text(self.job())
        call = lambda *words: subprocess.run([binaries / words[0], *words[1:], "--quiet"], cwd=folder, check=True)
        call("pogo-block", "model.inp", "--job", "job.toml")
        results = []
        for scale in SCALES if self.profile == "damping" else [None]:
            change = ["--set", f"absorbing.ends.d_max={scale * self.speed / self.layer}"] if scale else []
            call("pogo-solve", "model.blk", "-o", "out", *change)
            results.append((self.measured(folder / "out"), scale))
        return min(results)

    def measured(self, out):
        if self.wave != "R":
            rows = table(out / "energy.csv")
            energy = rows["kinetic"] + rows["strain"]
            return 10 * np.log10(energy[-1] / energy[0])
        rows = table(out / "traces.csv")
        time, trace = rows["time"], next(v for name, v in rows.items() if name.endswith(".U2"))
        omega = 2 * np.pi * self.speed / WAVELENGTH
        # The packet passes, and comes back 18 wavelengths later, from the face and from within the layer.
        amplitude = lambda part: abs(np.sum(trace[part] * np.exp(-1j * omega * time[part])))
        half = (self.way - 9 + 9) * WAVELENGTH / self.speed
        return 20 * np.log10(amplitude(time > half) / amplitude(time <= half))


def table(path):
    with open(path) as file:
        rows = list(csv.reader(line for line in file if not line.startswith("#")))
    columns = np.array([[float(value) for value in row] for row in rows[1:]]).T
    return dict(zip(rows[0], columns))


def main():
    binaries, folder = map(lambda word: pathlib.Path(word).resolve(), sys.argv[1:3])
    depths = [float(word) for word in sys.argv[3:]] or [0.5, 1.0, 1.5, 2.0, 3.0]
    print("| boundary | depth / wavelength | P | S | Rayleigh |\n|---|---|---|---|---|")
    for profile in ["impedance", "damping", "stiffness_reduction"]:
        for depth in depths if profile != "impedance" else [0.0]:
            cells = []
            for wave in "PSR":
                decibels, scale = Case(wave, depth, profile).reflection(binaries, folder / f"{profile}-{depth}-{wave}")
                cells.append(f"{decibels:.0f}" + (f" ({scale})" if scale else ""))
            print(f"| `{profile}` | {depth:g} | " + " | ".join(cells) + " |", flush=True)


main()
