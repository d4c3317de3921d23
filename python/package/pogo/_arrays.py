"""Arrays as the inputs that the commands read."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _toml
from ._pogo import Error, Held, write_deck
from ._vtk import write_vtu

Table = Mapping[str, Any]

# Keys of jobs that name a file of numbers, for which an array may stand.
_FILES = ("fibre", "sheet", "speed_data", "tensor_data", "mask")


def error(text: str) -> Error:
    """An error about an argument."""
    failed = Error(f"error: {text}")
    failed.exit_code = 1
    return failed


def points_of(points: ArrayLike) -> NDArray[np.float64]:
    """Coordinates of nodes, (n, 2) or (n, 3)."""
    array = np.require(points, np.float64, ["C", "A"])
    if array.ndim != 2 or array.shape[1] not in (2, 3):
        raise error(f"points: the shape is {array.shape}, and (n, 2) or (n, 3) is expected")
    bad = np.flatnonzero(~np.isfinite(array).all(axis=1))
    if bad.size:
        raise error(f"points: point {bad[0]} has a coordinate that is no finite number")
    return array


def cells_of(cells: ArrayLike, n_points: int, corners: Iterable[int]) -> NDArray[np.int64]:
    """Indices of each cell's points, (n, corners)."""
    found = np.asarray(cells)
    known = " or ".join(map(str, corners))
    if found.ndim != 2 or found.shape[1] not in corners:
        raise error(f"cells: the shape is {found.shape}, and (n, corners) with {known} corners is expected")
    if found.dtype.kind not in "iu":
        raise error(f"cells: the type is {found.dtype}, and whole numbers are expected")
    indices_of(found, n_points, "cells", "cell")
    return np.require(found, np.int64, ["C", "A"])


def indices_of(indices: ArrayLike, n: int, what: str, row: str = "entry") -> NDArray[np.int64]:
    """Indices from 0 that are below n."""
    array = np.atleast_1d(indices)
    if array.size and array.dtype.kind not in "iu":
        raise error(f"{what}: the type is {array.dtype}, and whole numbers are expected")
    bad = np.argwhere((array < 0) | (array >= n))
    if bad.size:
        at = tuple(bad[0])
        raise error(f"{what}: {row} {at[0]} is {array[at]}, and there are 0 to {n - 1}")
    return np.require(array, np.int64, ["C", "A"])


def _npy(values: NDArray[Any], name: str) -> tuple[bytes, NDArray[np.uint8]]:
    """An `.npy` file: its header, and its numbers as bytes. An array in C or Fortran order is not copied."""
    if values.dtype.hasobject:
        raise error(f"{name}: the type is {values.dtype}, and numbers are expected")
    if not (values.flags.c_contiguous or values.flags.f_contiguous):
        values = np.ascontiguousarray(values)
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, np.lib.format.header_data_from_array_1_0(values))
    in_order = values if values.flags.c_contiguous else values.T
    return head.getvalue(), in_order.reshape(-1).view(np.uint8)


Sets = Sequence[tuple[str, NDArray[np.int64]]]


class Names:
    """What messages call inputs in memory. It keeps none of them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines: list[str] = []
        """Of the job."""

    def shorten(self, text: str) -> str:
        """A text without the folder's name."""
        return text.replace(f"{self.path}/", "")

    def explained(self, text: str) -> str:
        """A text about these inputs: without their folder, and with the line of the job."""
        lines = []
        for line in text.splitlines():
            lines.append(self.shorten(line))
            at = line.partition(f"{self.path}/job.toml:")[2].split(":")[0]
            if at.isdigit() and 0 < int(at) <= len(self.lines):
                lines.append(f"    {self.lines[int(at) - 1]}")
        return "\n".join(lines)


class Inputs:
    """Inputs in memory, which pogo-block finds in `path` in place of files. They go with this object.

    The arrays are neither copied nor written, unless `save` is called. They are to stay as they are until then.
    """

    def __init__(self) -> None:
        self._held = Held()
        self.path = Path(self._held.folder)
        self._writers: dict[str, Callable[[Path], object]] = {}
        self.names = Names(self.path)

    def text(self, name: str, text: str) -> Path:
        """Holds a text as a file."""
        self._held.hold_bytes(name, text.encode())
        self._writers[name] = lambda path: path.write_text(text, encoding="utf-8")
        return self.path / name

    def job(self, job: Mapping[str, Any]) -> Path:
        """Holds the job of a model."""
        text = _toml.dumps(job)
        self.names.lines = text.splitlines()
        return self.text("job.toml", text)

    def array(self, name: str, values: NDArray[Any]) -> Path:
        """Holds an array as an `.npy` file."""
        self._held.hold_array(name, _npy(values, name))
        self._writers[name] = lambda path: np.save(path, values)
        return self.path / name

    def deck(self, points: NDArray[np.float64], groups: Sets, node_sets: Sets = (), element_sets: Sets = ()) -> Path:
        """Holds a mesh as a deck: cells by Abaqus's name of their type, and sets."""
        self._held.hold_mesh("mesh.inp", points, groups, node_sets, element_sets, [])
        self._writers["mesh.inp"] = lambda path: write_deck(path, points, groups, node_sets, element_sets)
        return self.path / "mesh.inp"

    def vtu(self, points: NDArray[np.float64], cells: NDArray[np.int64], cell_data: Mapping[str, NDArray[Any]]) -> Path:
        """Holds triangles or tetrahedra, with data on them, as a file of VTK."""
        kind = {3: "CPE3", 4: "C3D4"}[cells.shape[1]]
        # Readers of arrays take no Fortran order of more than two indices.
        in_order = {name: np.ascontiguousarray(v) if v.ndim > 2 else v for name, v in cell_data.items()}
        data = [(name, _npy(values, name)) for name, values in in_order.items()]
        self._held.hold_mesh("mesh.vtu", points, [(kind, cells)], [], [], data)
        self._writers["mesh.vtu"] = lambda path: write_vtu(path, points, cells, cell_data)
        return self.path / "mesh.vtu"

    def tables(self, tables: Iterable[Table] | Table | None, name: str) -> list[dict[str, Any]]:
        """Tables of a job, in which arrays stand for files: these are held beside it."""
        given: Iterable[Any] = [tables] if isinstance(tables, Mapping) else tables or []
        rows = []
        for number, table in enumerate(given):
            row: dict[str, Any] = dict(table)
            for key in _FILES:
                value = row.get(key)
                if isinstance(value, np.ndarray) and value.ndim > (1 if key in ("fibre", "sheet") else 0):
                    row[key] = self.array(f"{name}-{number}-{key}.npy", value).name
            rows.append(row)
        return rows

    def save(self, folder: Path) -> None:
        """Writes all of them as files."""
        for name, write in self._writers.items():
            write(folder / name)
