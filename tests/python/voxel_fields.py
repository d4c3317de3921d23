"""Reads fields.vti with VTK and checks every array against displacement.npy, formulas written down once more.

    pip install vtk numpy
    python voxel_fields.py model.out stack.npy      # labels 1 and 2 of 1000 and 3000, ν = 0.3, voxels of 0.5

The Rust tests run it with the interpreter named by POGO_PYTHON, else python3, where that has both.
"""

import json
import os
import sys

import numpy as np
import vtk
from vtk.util.numpy_support import vtk_to_numpy

H, NU, YOUNG = 0.5, 0.3, np.array([0.0, 1000.0, 3000.0])


def arrays(data):
    return {data.GetArrayName(i): vtk_to_numpy(data.GetArray(i)) for i in range(data.GetNumberOfArrays())}


def strain(u):
    """Strains at the middle of each voxel, xx, yy, zz, yz, xz, xy, of displacements (z, y, x, 3)."""
    gradient = np.zeros([n - 1 for n in u.shape[:3]] + [3, 3])
    for corner in np.ndindex(2, 2, 2):
        part = u[tuple(slice(c, n - 1 + c) for c, n in zip(corner, u.shape))]
        for axis, side in enumerate(reversed(corner)):
            gradient[..., :, axis] += (1 if side else -1) * part / 4 / H
    g = gradient
    shears = [g[..., 1, 2] + g[..., 2, 1], g[..., 0, 2] + g[..., 2, 0], g[..., 0, 1] + g[..., 1, 0]]
    return np.stack([g[..., 0, 0], g[..., 1, 1], g[..., 2, 2]] + shears, -1)


def close(name, found, expected, relative=1e-6):
    worst, size = abs(found - expected).max(), abs(expected).max()
    assert worst <= relative * size, f"{name}: {worst} of {size}"


def main(folder, stack):
    image = np.load(stack)
    solid = image > 0
    reader = vtk.vtkXMLImageDataReader()
    errors = []
    reader.AddObserver("ErrorEvent", lambda *event: errors.append(event))
    reader.SetFileName(os.path.join(folder, "fields.vti"))
    reader.Update()
    assert not errors and reader.GetErrorCode() == 0, "VTK reports errors"
    data = reader.GetOutput()
    points = tuple(n + 1 for n in image.shape)
    assert data.GetDimensions() == tuple(reversed(points)) and data.GetSpacing() == (H, H, H)
    at_points, at_cells = arrays(data.GetPointData()), arrays(data.GetCellData())

    nodes = np.load(os.path.join(folder, "nodes.npy"))
    displacement = np.load(os.path.join(folder, "displacement.npy"))
    where = (nodes[:, 2], nodes[:, 1], nodes[:, 0])
    u = np.zeros(points + (3,))
    u[where] = displacement
    close("displacement", at_points["displacement"].reshape(u.shape), u)

    cells = {name: values.reshape(image.shape + values.shape[1:])[solid] for name, values in at_cells.items()}
    young = YOUNG[image][solid]
    e = strain(u)[solid]
    close("modulus", cells["modulus"], young)
    close("strain", cells["strain"], e)
    unit = np.zeros((6, 6))
    unit[:3, :3] = NU / ((1 + NU) * (1 - 2 * NU))
    unit[range(6), range(6)] += np.array([2, 2, 2, 1, 1, 1]) * 0.5 / (1 + NU)
    stress = young[:, None] * (e @ unit)
    close("stress", cells["stress"], stress)
    s = stress
    normal = (s[:, 0] - s[:, 1]) ** 2 + (s[:, 1] - s[:, 2]) ** 2 + (s[:, 2] - s[:, 0]) ** 2
    close("von_mises", cells["von_mises"], np.sqrt(normal / 2 + 3 * (s[:, 3:] ** 2).sum(1)))
    energy = cells["energy_density"]
    close("effective_strain", cells["effective_strain"], np.sqrt(2 * energy / young))

    with open(os.path.join(folder, "summary.json"), encoding="utf-8") as file:
        summary = json.load(file)
    close("energy", energy.sum(dtype=float) * H**3, np.array(summary["cases"][0]["strain_energy"]))
    force = at_points["force"].reshape(u.shape)[-1].sum((0, 1), dtype=float)
    close("force", force, np.array(summary["reaction"]["zmax"]), 1e-5)


if __name__ == "__main__":
    main(*sys.argv[1:])
