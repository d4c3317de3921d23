"""Snapshots in a VTKHDF file, by h5py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ._pogo import Error
from ._vtk import Fields, Grid, Image


def fields_of_hdf(path: Path) -> Fields:
    """The snapshots of a file; each is copied from it when it is asked for."""
    try:
        import h5py
    except ImportError as error:
        raise Error(f"{path}: error: h5py reads this file: pip install h5py") from error
    with h5py.File(path) as file:
        root = file["VTKHDF"]
        times = [float(t) for t in root["Steps/Values"]] if "Steps" in root else [None]

    def load(at: int, time: float | None) -> Any:
        with h5py.File(path) as file:
            root = file["VTKHDF"]
            return _image(root, time) if root.attrs["Type"] == b"ImageData" else _grid(root, at, time)

    return Fields(path.stem, times, load)


def _image(root: Any, time: float | None) -> Image:
    extent = [int(x) for x in root.attrs["WholeExtent"]]
    shape = extent[5] - extent[4], extent[3] - extent[2], extent[1] - extent[0]
    x, y, z = (float(x) for x in root.attrs["Origin"])
    points, cells = ({name: v[...] for name, v in root.get(group, {}).items()} for group in ("PointData", "CellData"))
    return Image(shape, float(root.attrs["Spacing"][0]), (x, y, z), points, cells, time)


def _grid(root: Any, at: int, time: float | None) -> Grid:
    steps = root.get("Steps")

    def first(name: str) -> int:
        return 0 if steps is None or name not in steps else int(steps[name][at].ravel()[0])

    part = first("PartOffsets")
    n_points, n_cells, n_corners = (
        int(root[f"NumberOf{what}"][part]) for what in ("Points", "Cells", "ConnectivityIds")
    )
    point, cell, corner = first("PointOffsets"), first("CellOffsets"), first("ConnectivityIdOffsets")

    def data(group: str, n: int) -> dict[str, Any]:
        offsets = {} if steps is None else steps.get(f"{group}Offsets", {})
        rows = {name: int(offsets[name][at]) if name in offsets else 0 for name in root.get(group, {})}
        return {name: root[group][name][row : row + n] for name, row in rows.items()}

    # A part has an offset more than cells.
    ends = root["Offsets"][cell + part : cell + part + n_cells + 1]
    return Grid(
        root["Points"][point : point + n_points],
        root["Connectivity"][corner : corner + n_corners],
        ends[1:],
        root["Types"][cell : cell + n_cells],
        data("PointData", n_points),
        data("CellData", n_cells),
        time,
    )
