#!/usr/bin/env python3
"""Compares two Eikonal runs: compare_eikonal.py EXPECTED.out FOUND.out TOLERANCE [NAME]; the tolerance is of the latest time."""
import json
import sys

import numpy as np

expected, found, tolerance = sys.argv[1], sys.argv[2], float(sys.argv[3])
name = sys.argv[4] if len(sys.argv) > 4 else found
a, b = (json.load(open(folder + "/summary.json")) for folder in (expected, found))
file = next(f for f in a["files"] if f.startswith("arrival") and f.endswith(".npy"))
t, u = np.load(f"{expected}/{file}"), np.load(f"{found}/{file}")
reached = np.isfinite(t)
same = t.dtype == u.dtype and t.shape == u.shape and (reached == np.isfinite(u)).all()
worst = np.abs(t[reached] - u[reached]).max() / t[reached].max() if same else np.inf
print(
    f"{name}: {a['elements']} elements, {a['cases']} cases, {a['unreached']} and {b['unreached']} unreached, sweeps {a['sweeps']} and {b['sweeps']}, "
    f"{a['loop_seconds']:.3f} s ({a['device']}) and {b['loop_seconds']:.3f} s ({b['device']}), times {worst:.1e} apart"
)
sys.exit(0 if worst <= tolerance and b["device"] != "cpu" else 1)
