#!/usr/bin/env python3
"""Compares two voxel runs: compare_voxels.py EXPECTED.out FOUND.out TOLERANCE [NAME]."""
import json
import sys

import numpy as np

expected, found, tolerance = sys.argv[1], sys.argv[2], float(sys.argv[3])
name = sys.argv[4] if len(sys.argv) > 4 else found
a, b = (json.load(open(folder + "/summary.json")) for folder in (expected, found))
worst = 0.0
for file in (f for f in a["files"] if f.startswith("displacement")):
    u, v = np.load(f"{expected}/{file}"), np.load(f"{found}/{file}")
    worst = max(worst, np.linalg.norm(u - v) / np.linalg.norm(u))
print(
    f"{name}: {a['dof']} dof, iterations {a['iterations']} and {b['iterations']}, products {a['products']:.0f} and "
    f"{b['products']:.0f}, {a['solve_seconds']:.2f} s ({a['device']}) and {b['solve_seconds']:.2f} s ({b['device']}), "
    f"displacements {worst:.1e} apart, {b.get('device_bytes_per_dof') or 0:.1f} B a dof on the device"
)
# The CPU's cycle makes a step more on level 2, which saves up to a sixth of the iterations: more than a quarter is a fault.
more = b["iterations"] - a["iterations"]
sys.exit(0 if worst <= tolerance and abs(more) <= max(len(a["cases"]), a["iterations"] / 4) else 1)
