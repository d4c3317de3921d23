#!/usr/bin/env python3
"""Reads the results of a run in Python.

    python3 read_results.py weld.out

Runs of explicit dynamics and of masses and springs have traces; arrival times and displacements of voxels are NumPy files. Traces need nothing but Python (traces.csv) or NumPy (traces.npz, faster). Fields are VTU files: PyVista, meshio and
VTK read them; here VTK itself is used where it is installed. With --field-format vtkhdf they are one HDF5 file.
"""

import csv
import json
import pathlib
import sys


def read_csv(path):
    """traces.csv -> {column: [values]}, without any package. Lines that start with # carry units and provenance."""
    with open(path, newline="") as file:
        rows = csv.reader(line for line in file if not line.startswith("#"))
        header = next(rows)
        columns = zip(*(map(float, row) for row in rows))
        return dict(zip(header, columns))


def read_npz(path):
    """traces.npz -> {column: array}; `time` goes with the first group of traces, `time-2` with the second, …"""
    import numpy

    with numpy.load(path) as archive:
        return {name: archive[name] for name in archive.files}


def read_last_field(path):
    """fields.pvd -> time, points (n, 3), displacement (n, 3) of the last snapshot."""
    import xml.etree.ElementTree

    import vtk
    from vtk.util.numpy_support import vtk_to_numpy

    last = xml.etree.ElementTree.parse(path).findall(".//DataSet")[-1]
    reader = vtk.vtkXMLUnstructuredGridReader()
    reader.SetFileName(str(path.parent / last.get("file")))
    reader.Update()
    grid = reader.GetOutput()
    points = vtk_to_numpy(grid.GetPoints().GetData())
    return float(last.get("timestep")), points, vtk_to_numpy(grid.GetPointData().GetArray("displacement"))


def show_arrays(folder):
    """Arrival times, in the order of the mesh's nodes, and displacements of voxels."""
    import numpy

    for path in sorted(folder.glob("*.npy")):
        values = numpy.load(path, mmap_mode="r")
        finite = values[numpy.isfinite(values)]
        span = f", from {finite.min():.6g} to {finite.max():.6g}" if finite.size else ""
        print(f"{path.name}: {values.dtype} {values.shape}{span}; {values.size - finite.size} not finite")


def read_last_step(path):
    """fields.vtkhdf -> time, points (n, 3), displacement (n, 3) of the last snapshot."""
    import h5py

    with h5py.File(path) as file:
        file = file["VTKHDF"]
        n = file["NumberOfPoints"][file["Steps/PartOffsets"][-1]]
        points, moved = file["Steps/PointOffsets"][-1], file["Steps/PointDataOffsets/displacement"][-1]
        return file["Steps/Values"][-1], file["Points"][points : points + n], file["PointData/displacement"][moved : moved + n]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])

    summary = json.loads((folder / "summary.json").read_text())
    if "steps" in summary:
        count = f"{summary['particles']} particles" if "particles" in summary else f"{summary['nodes']} nodes"
        print(f"{count}, {summary['steps']} steps of {summary['increment']:g} s")
    else:
        show_arrays(folder)
        return

    if not (folder / "traces.csv").exists():
        print("traces.csv: the run records none")
        return
    traces = read_csv(folder / "traces.csv")
    time = traces.pop("time")
    print(f"traces.csv: {len(traces)} traces, {len(time)} rows up to {time[-1]:g} s")
    for name, values in traces.items():
        at = max(range(len(values)), key=lambda i: abs(values[i]))
        print(f"  {name}: largest value {values[at]:.4g} at {time[at]:.4g} s")

    try:
        arrays = read_npz(folder / "traces.npz")
        print(f"traces.npz: {len(arrays)} arrays, among them {', '.join(list(arrays)[:3])}")
    except ImportError:
        print("traces.npz: install numpy to read it")

    for name, read, library in [("fields.pvd", read_last_field, "vtk"), ("fields.vtkhdf", read_last_step, "h5py")]:
        if not (folder / name).exists():
            continue
        try:
            snapshot, points, displacement = read(folder / name)
            largest = (displacement**2).sum(axis=1).max() ** 0.5
            print(f"{name}: at {snapshot:g} s the largest displacement of {len(points)} nodes is {largest:.4g} m")
        except ImportError:
            print(f"{name}: install {library}, or open it in ParaView")


if __name__ == "__main__":
    main()
