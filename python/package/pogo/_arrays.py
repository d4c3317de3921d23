"""Arrays as the inputs that the commands read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _toml
from ._pogo import Error
from ._words import Folder

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
    array = np.ascontiguousarray(points, np.float64)
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
    return np.ascontiguousarray(found, np.int64)


def indices_of(indices: ArrayLike, n: int, what: str, row: str = "entry") -> NDArray[np.int64]:
    """Indices from 0 that are below n."""
    array = np.atleast_1d(indices)
    if array.size and array.dtype.kind not in "iu":
        raise error(f"{what}: the type is {array.dtype}, and whole numbers are expected")
    bad = np.argwhere((array < 0) | (array >= n))
    if bad.size:
        at = tuple(bad[0])
        raise error(f"{what}: {row} {at[0]} is {array[at]}, and there are 0 to {n - 1}")
    return np.ascontiguousarray(array, np.int64)


def save_tables(folder: Folder, tables: Iterable[Table] | Table | None, name: str) -> list[dict[str, Any]]:
    """Tables of a job, in which arrays stand for files: these are written beside it."""
    if tables is None:
        return []
    if isinstance(tables, Mapping):
        tables = [tables]
    saved = []
    for number, table in enumerate(tables):
        row = dict(table)
        for key in _FILES:
            value = row.get(key)
            if isinstance(value, np.ndarray) and value.ndim > (1 if key in ("fibre", "sheet") else 0):
                file = f"{name}-{number}-{key}.npy"
                np.save(folder.path / file, value)
                row[key] = file
        saved.append(row)
    return saved


def save_job(folder: Folder, job: Mapping[str, Any]) -> Path:
    """Writes the job of a model."""
    path = folder.path / "job.toml"
    path.write_text(_toml.dumps(job), encoding="utf-8")
    return path
