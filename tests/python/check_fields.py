"""Reads a field series with VTK and checks every array against the formulas of `formats/src/write/fields/tests.rs`.

    pip install vtk numpy
    python check_fields.py fields.pvd
    python check_fields.py fields.vtkhdf

The Rust tests run it with the interpreter named by POGO_PYTHON, else python3, where that has both.
"""

import os
import sys
import xml.etree.ElementTree as xml

import numpy as np
import vtk
from vtk.util.numpy_support import vtk_to_numpy


def opened(reader, path):
    """The reader with its file, and the list that the errors go to which it reports."""
    errors = []
    reader.AddObserver("ErrorEvent", lambda *event: errors.append(event))
    reader.SetFileName(path)
    return reader, errors


def read(path):
    reader, errors = opened(vtk.vtkXMLUnstructuredGridReader(), path)
    reader.Update()
    assert not errors, f"{path}: VTK reports errors"
    return reader.GetOutput()


def steps(path):
    """VTKHDF: (time, grid) of every step."""
    reader, errors = opened(vtk.vtkHDFReader(), path)
    reader.UpdateInformation()
    times = reader.GetOutputInformation(0).Get(vtk.vtkStreamingDemandDrivenPipeline.TIME_STEPS())
    for time in times:
        reader.UpdateTimeStep(time)
        assert not errors, f"{path}: VTK reports errors"
        grid = vtk.vtkUnstructuredGrid()
        grid.DeepCopy(reader.GetOutput())
        yield time, grid


def check(grid, time, has_component_names):
    points = vtk_to_numpy(grid.GetPoints().GetData())
    point_data, cell_data = grid.GetPointData(), grid.GetCellData()
    node_label = vtk_to_numpy(point_data.GetArray("node_label"))
    assert (np.diff(node_label.astype(int)) == 1).all(), "points are not in the user's order"
    three_d = points[:, 2].any()
    first = points[node_label == 500][0]
    assert (first == 0).all(), "the node of label 500 is the origin"
    second = points[node_label == 499][0]
    assert (second == [1, 0, 0]).all()

    step = round(time * 1e8)
    displacement = vtk_to_numpy(point_data.GetArray("displacement"))
    expected = step * np.outer(node_label, [1, 2, 3 if three_d else 0])
    assert np.allclose(displacement, expected, rtol=1e-7, atol=0), "displacement"
    assert (vtk_to_numpy(point_data.GetArray("instance")) == (500 - node_label) % 2).all()
    names = grid.GetFieldData().GetAbstractArray("instance_names")
    assert [names.GetValue(i) for i in range(names.GetNumberOfValues())] == ["left", "ri<ght"]
    assert grid.GetFieldData().GetArray("TimeValue").GetValue(0) == time

    label = vtk_to_numpy(cell_data.GetArray("element_label")).astype(float)
    assert list(label) == ([100, 200, 300] if three_d else [100, 101, 200])
    assert (vtk_to_numpy(cell_data.GetArray("energy_density")) == label).all()
    # Abaqus's 11 22 33 12 13 23 becomes XX YY ZZ XY YZ XZ.
    voigt = label[:, None] + 0.125 * np.array([1, 2, 3, 4, 6, 5])
    stress = cell_data.GetArray("stress")
    assert not has_component_names or [stress.GetComponentName(i) for i in range(6)] == ["XX", "YY", "ZZ", "XY", "YZ", "XZ"]
    assert (vtk_to_numpy(stress) == voigt).all()
    assert (vtk_to_numpy(cell_data.GetArray("strain")) == voigt * [1, 1, 1, 0.5, 0.5, 0.5]).all()
    assert list(vtk_to_numpy(cell_data.GetArray("section"))) == ([1, 2, 3] if three_d else [1, 2, 2])

    size = vtk.vtkCellSizeFilter()
    size.SetInputData(grid)
    size.Update()
    data = size.GetOutput().GetCellData()
    if three_d:
        assert np.allclose(vtk_to_numpy(data.GetArray("Volume")), [1, 1 / 2, 1 / 6]), "volumes"
    else:
        assert np.allclose(vtk_to_numpy(data.GetArray("Area")), [1 / 2, 1 / 2, 1]), "areas"
    for cell in range(grid.GetNumberOfCells()):
        outward(grid.GetCell(cell))


def outward(cell):
    """Each face's normal points out of its cell: the local node order is VTK's."""
    if cell.GetCellDimension() == 2:
        corners = vtk_to_numpy(cell.GetPoints().GetData())
        assert np.cross(corners[1] - corners[0], corners[2] - corners[1])[2] > 0
        return
    centre = vtk_to_numpy(cell.GetPoints().GetData()).mean(axis=0)
    for face in range(cell.GetNumberOfFaces()):
        corners = vtk_to_numpy(cell.GetFace(face).GetPoints().GetData()).astype(float)
        normal = np.cross(corners[1] - corners[0], corners[2] - corners[1])
        assert normal @ (corners.mean(axis=0) - centre) > 0, f"face {face} of {cell.GetClassName()}"


def main():
    path = sys.argv[1]
    expected = [0.0, 50 * 1e-8, 100 * 1e-8]
    if path.endswith(".vtkhdf"):
        found = list(steps(path))
        assert [time for time, _ in found] == expected
        for time, grid in found:
            check(grid, time, False)
    else:
        entries = [entry.attrib for entry in xml.parse(path).getroot().iter("DataSet")]
        assert [float(entry["timestep"]) for entry in entries] == expected
        for entry in entries:
            check(read(os.path.join(os.path.dirname(path), entry["file"])), float(entry["timestep"]), True)
    print("fields are right")


main()
