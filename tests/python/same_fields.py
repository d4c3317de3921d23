"""Compares the VTKHDF files of one run with the .pvd, .vtu or .vti files of the same run, every number of every step.

    pip install vtk numpy            # h5py, too, reads the files where it is there
    python same_fields.py run.out run-vtkhdf.out

Prints how many arrays agree. The Rust tests run it with the interpreter named by POGO_PYTHON, else python3, where that has both.
"""

import os
import sys
import xml.etree.ElementTree as xml

import numpy as np
import vtk
from vtk.util.numpy_support import vtk_to_numpy

try:
    import h5py
except ImportError:
    h5py = None

XML = {".vtu": vtk.vtkXMLUnstructuredGridReader, ".vti": vtk.vtkXMLImageDataReader}


def output(reader, path, time=None):
    errors = []
    for event in ("ErrorEvent", "WarningEvent"):
        reader.AddObserver(event, lambda *event: errors.append(event))
    reader.SetFileName(path)
    reader.UpdateTimeStep(time) if time is not None else reader.Update()
    assert not errors, f"{path}: VTK complains"
    return reader.GetOutput()


def arrays(data):
    found = {}
    for index in range(data.GetNumberOfArrays()):
        array = data.GetAbstractArray(index)
        if isinstance(array, vtk.vtkStringArray):
            found[array.GetName()] = [array.GetValue(i) for i in range(array.GetNumberOfValues())]
        else:
            found[array.GetName()] = vtk_to_numpy(array)
    return found


def contents(grid):
    found = {("point", name): array for name, array in arrays(grid.GetPointData()).items()}
    found |= {("cell", name): array for name, array in arrays(grid.GetCellData()).items()}
    field = arrays(grid.GetFieldData())
    found |= {("field", name): field[name] for name in field if name in ("TimeValue", "instance_names")}
    if isinstance(grid, vtk.vtkImageData):
        found["image", "extent"] = np.array(grid.GetExtent())
        found["image", "origin"] = np.array(grid.GetOrigin())
        found["image", "spacing"] = np.array(grid.GetSpacing())
        return found
    cells = grid.GetCells()
    found["mesh", "points"] = vtk_to_numpy(grid.GetPoints().GetData())
    found["mesh", "bounds"] = np.array(grid.GetBounds())
    if grid.GetNumberOfCells():
        found["mesh", "connectivity"] = vtk_to_numpy(cells.GetConnectivityArray()).astype(np.int64)
        found["mesh", "offsets"] = vtk_to_numpy(cells.GetOffsetsArray()).astype(np.int64)
        found["mesh", "types"] = np.array([grid.GetCellType(cell) for cell in range(grid.GetNumberOfCells())])
    return found


def compare(old, new, where):
    assert set(old) == set(new), f"{where}: {sorted(set(old) ^ set(new))}"
    for key in old:
        a, b = old[key], new[key]
        if isinstance(a, list):
            assert a == b, f"{where}: {key}"
            continue
        assert a.dtype == b.dtype and a.shape == b.shape, f"{where}: {key}: {a.dtype} {a.shape}, {b.dtype} {b.shape}"
        # Bit for bit: NaN where nothing is reached, too.
        assert a.tobytes() == b.tobytes(), f"{where}: {key} differs"
    return len(old)


def read_with_h5py(path):
    """Every data set can be read whole, and no row is without a step."""
    with h5py.File(path) as file:
        root = file["VTKHDF"]
        sizes = {}
        root.visititems(lambda name, item: sizes.update({name: item[()].shape}) if isinstance(item, h5py.Dataset) else None)
        if "Steps" not in root:
            return
        n_steps = int(root["Steps"].attrs["NSteps"])
        for name, shape in sizes.items():
            assert not name.startswith("Steps/") or shape[0] == n_steps, name
        for group, count in (("PointData", "NumberOfPoints"), ("CellData", "NumberOfCells")):
            part = root["Steps/PartOffsets"][-1]
            for name in root.get(group, []):
                begin = root[f"Steps/{group}Offsets/{name}"][-1]
                assert len(root[group][name]) == begin + root[count][part], name


def times(path):
    reader = vtk.vtkHDFReader()
    reader.SetFileName(path)
    reader.UpdateInformation()
    return reader.GetOutputInformation(0).Get(vtk.vtkStreamingDemandDrivenPipeline.TIME_STEPS())


def main():
    old, new = sys.argv[1:]
    checked = steps = 0
    for name in sorted(os.listdir(new)):
        stem, extension = os.path.splitext(name)
        if extension != ".vtkhdf":
            continue
        path = os.path.join(new, name)
        if h5py:
            read_with_h5py(path)
        pvd = os.path.join(old, f"{stem}.pvd")
        if os.path.exists(pvd):
            entries = [entry.attrib for entry in xml.parse(pvd).getroot().iter("DataSet")]
            listed = [float(entry["timestep"]) for entry in entries]
            # VTK knows no times of a single step.
            assert len(listed) == 1 or list(times(path)) == listed, f"{times(path)} and {listed}"
            files = [(os.path.join(old, entry["file"]), time) for entry, time in zip(entries, listed)]
        else:
            files = [(os.path.join(old, f"{stem}{kind}"), None) for kind in XML]
            files = [(file, time) for file, time in files if os.path.exists(file)]
        assert files, f"{name} has no counterpart in {old}"
        for file, time in files:
            a = contents(output(XML[os.path.splitext(file)[1]](), file))
            b = contents(output(vtk.vtkHDFReader(), path, time))
            checked += compare(a, b, f"{name} at {time}")
            steps += 1
    assert checked, f"no .vtkhdf files in {new}"
    print(f"{checked} arrays in {steps} grids agree")


main()
