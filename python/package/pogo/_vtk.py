"""Grids in the files that Pogo writes, whose arrays are mapped and not copied, and meshes of arrays as such files."""

from __future__ import annotations

import os
import xml.etree.ElementTree as xml
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Union, overload

import numpy as np
from numpy.typing import NDArray

from ._pogo import Error

Array = NDArray[Any]


@dataclass
class Grid:
    """Points, cells and the data on them: one snapshot of a mesh. The arrays are read-only and mapped from the file."""

    points: Array
    """(n_points, 3)."""
    connectivity: Array
    """Points of all cells, one cell after the other."""
    offsets: Array
    """End of each cell in `connectivity`."""
    types: Array
    """VTK's number of each cell's type."""
    point_data: dict[str, Array] = field(default_factory=dict)
    cell_data: dict[str, Array] = field(default_factory=dict)
    time: float | None = None

    @property
    def cells(self) -> Array:
        """Points of each cell, (n_cells, corners), where all cells are of one type."""
        if self.types.size and (self.types != self.types[0]).any():
            raise Error("error: the cells are of several types: use `connectivity`, `offsets` and `types`")
        return self.connectivity.reshape(self.types.size, -1)


@dataclass
class Image:
    """Data on voxels: one snapshot. Arrays are indexed [z, y, x], as in NumPy, and read-only. They cover the box of the solid
    voxels, which begins at `origin`.
    """

    shape: tuple[int, int, int]
    """Voxels along z, y and x."""
    spacing: float
    origin: tuple[float, float, float]
    """Position of the lowest corner: x, y, z."""
    point_data: dict[str, Array] = field(default_factory=dict)
    """(nz + 1, ny + 1, nx + 1), and 3 components of vectors."""
    cell_data: dict[str, Array] = field(default_factory=dict)
    """(nz, ny, nx), and 6 components of tensors."""
    time: float | None = None


_TYPES = {
    "Float32": "<f4",
    "Float64": "<f8",
    "Int32": "<i4",
    "Int64": "<i8",
    "UInt8": "u1",
    "UInt16": "<u2",
    "UInt32": "<u4",
}


def _arrays(path: Path) -> tuple[xml.Element, Any]:
    """The tags of a file, and what reads an array of them."""
    mapped = np.memmap(path, dtype=np.uint8, mode="r")
    head = bytes(mapped[: 1 << 16])
    mark = head.find(b"<AppendedData")
    while mark < 0 and len(head) < mapped.size:
        head = bytes(mapped[: 4 * len(head)])
        mark = head.find(b"<AppendedData")
    if mark < 0:
        raise Error(f"{path}: error: the file is cut, or Pogo has not written it")
    start = head.index(b"_", mark) + 1
    tree = xml.fromstring(head[:mark] + b"</VTKFile>")

    def load(tag: xml.Element) -> Array:
        dtype = np.dtype(_TYPES[tag.get("type", "")])
        at = start + int(tag.get("offset", "0"))
        length = int(mapped[at : at + 8].view("<u8")[0]) if mapped.size >= at + 8 else -1
        if length < 0 or mapped.size < at + 8 + length:
            raise Error(f"{path}: error: the file is cut")
        values = np.frombuffer(mapped, dtype, length // dtype.itemsize, at + 8)
        components = int(tag.get("NumberOfComponents", "1"))
        return values.reshape(-1, components) if components > 1 else values

    return tree, load


def read_vtk(path: Path, time: float | None = None) -> Union[Grid, Image]:
    """A `.vtu` or `.vti` file that Pogo has written."""
    tree, load = _arrays(path)
    data = {
        name: {tag.get("Name", ""): load(tag) for tag in tree.findall(f".//{name}/DataArray")}
        for name in ("PointData", "CellData")
    }
    for tag in tree.findall(".//FieldData/DataArray"):
        if tag.get("Name") == "TimeValue" and time is None:
            time = float(tag.text or "nan")
    image = tree.find("ImageData")
    if image is not None:
        extent = [int(x) for x in image.get("WholeExtent", "").split()]
        nx, ny, nz = extent[1] - extent[0], extent[3] - extent[2], extent[5] - extent[4]
        x, y, z = (float(x) for x in image.get("Origin", "").split())
        points = {name: v.reshape(nz + 1, ny + 1, nx + 1, *v.shape[1:]) for name, v in data["PointData"].items()}
        cells = {name: v.reshape(nz, ny, nx, *v.shape[1:]) for name, v in data["CellData"].items()}
        spacing = float(image.get("Spacing", "").split()[0])
        return Image((nz, ny, nx), spacing, (x, y, z), points, cells, time)
    (points_tag,) = tree.findall(".//Points/DataArray")
    cells_of = {tag.get("Name"): load(tag) for tag in tree.findall(".//Cells/DataArray")}
    tables = cells_of["connectivity"], cells_of["offsets"], cells_of["types"]
    return Grid(load(points_tag), *tables, data["PointData"], data["CellData"], time)


class Fields(Sequence[Union[Grid, Image]]):
    """Snapshots in the order of time. They are read when they are asked for."""

    def __init__(self, name: str, times: Sequence[float | None], load: Any) -> None:
        self.name = name
        self.owner: object = None  # what keeps the files
        self._times = list(times)
        self._load = load

    @property
    def times(self) -> NDArray[np.float64]:
        """Times of the snapshots; NaN of what has no time."""
        return np.array([np.nan if t is None else t for t in self._times])

    def __len__(self) -> int:
        return len(self._times)

    @overload
    def __getitem__(self, index: int) -> Union[Grid, Image]: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Union[Grid, Image]]: ...
    def __getitem__(self, index: Union[int, slice]) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        at = range(len(self))[index]
        return self._load(at, self._times[at])

    def __repr__(self) -> str:
        return f"<{len(self)} snapshots of {self.name}>"


def fields_of(path: Path) -> Fields:
    """The snapshots of a `.pvd`, `.vtu`, `.vti` or `.vtkhdf` file."""
    if path.suffix == ".vtkhdf":
        from ._vtkhdf import fields_of_hdf

        return fields_of_hdf(path)
    if path.suffix == ".pvd":
        listed = [
            (float(tag.get("timestep", "nan")), path.parent / tag.get("file", ""))
            for tag in xml.parse(path).iter("DataSet")
        ]
        return Fields(path.stem, [time for time, _ in listed], lambda at, time: read_vtk(listed[at][1], time))
    return Fields(path.stem, [None], lambda at, time: read_vtk(path, time))


def write_vtu(path: Union[str, os.PathLike[str]], points: Array, cells: Array, cell_data: Mapping[str, Array]) -> None:
    """Writes triangles or tetrahedra, raw and little-endian; points of the plane have z = 0."""
    n_cells, corners = cells.shape
    if points.shape[1] == 2:
        points = np.column_stack([points, np.zeros(len(points))])
    kind = {3: 5, 4: 10}[corners]
    arrays = [
        ("Points", "Points", points),
        ("Cells", "connectivity", cells.ravel()),
        ("Cells", "offsets", np.arange(corners, corners * n_cells + 1, corners, dtype="<i8")),
        ("Cells", "types", np.full(n_cells, kind, np.uint8)),
        *(("CellData", name, values) for name, values in cell_data.items()),
    ]
    names = {np.dtype(code): name for name, code in _TYPES.items()}
    sections: dict[str, list[str]] = {"Points": [], "Cells": [], "CellData": []}
    offset, bodies = 0, []
    for section, name, values in arrays:
        values = np.ascontiguousarray(values)
        values = values.astype(values.dtype.newbyteorder("<"), copy=False)
        tag = xml.Element("DataArray", type=names[values.dtype], Name=name, format="appended", offset=str(offset))
        if values.ndim > 1:
            tag.set("NumberOfComponents", str(values[0].size if len(values) else 1))
        sections[section].append(xml.tostring(tag, "unicode"))
        offset += 8 + values.nbytes
        bodies.append(values)
    with open(path, "wb") as out:
        head = '<?xml version="1.0"?>\n<VTKFile type="UnstructuredGrid" version="1.0" '
        head += 'byte_order="LittleEndian" header_type="UInt64">\n'
        head += f'<UnstructuredGrid><Piece NumberOfPoints="{len(points)}" NumberOfCells="{n_cells}">\n'
        for section, tags in sections.items():
            head += f"<{section}>\n" + "\n".join(tags) + f"\n</{section}>\n"
        out.write((head + '</Piece></UnstructuredGrid>\n<AppendedData encoding="raw">\n_').encode())
        for values in bodies:
            out.write(np.uint64(values.nbytes).astype("<u8").tobytes())
            out.write(values.data if values.size else b"")
        out.write(b"\n</AppendedData>\n</VTKFile>\n")
