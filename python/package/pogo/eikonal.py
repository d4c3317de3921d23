"""Arrival times on meshes in arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Union

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from . import _model
from ._arrays import Inputs, Table, cells_of, error, indices_of, points_of
from ._words import Value

Tables = Union[Iterable[Table], Table, None]


class Model(_model.Model):
    """Triangles or tetrahedra with velocities, and where a wave starts.

    `points` are (n, 2) or (n, 3), `cells` (n, 3) or (n, 4). `velocities` and `starts` are tables as in a job
    (examples/eikonal-job-reference.toml): `{"speeds": [0.6, 0.4, 0.2]}`, `{"nodes": [0, 7], "time": 2.5}`; nodes and
    elements count from 0. `fibre` and `sheet` are a vector for each cell. `cell_data` are further arrays by name, which
    `tag` (as `tags` in `mesh`), `speed_data` and `tensor_data` may name; these may also be arrays themselves. `mesh`,
    `solver` and `output` are tables of the job, and `tables` further ones by name, such as `{"ecg": {…}}`. Arrays are not
    copied where their types allow that: let them be until the model has been blocked.
    """

    def __init__(
        self,
        points: ArrayLike,
        cells: ArrayLike,
        velocities: Tables,
        starts: Tables,
        *,
        fibre: ArrayLike | None = None,
        sheet: ArrayLike | None = None,
        cell_data: Mapping[str, ArrayLike] | None = None,
        mesh: Table | None = None,
        solver: Table | None = None,
        output: Table | None = None,
        tables: Mapping[str, Any] | None = None,
        title: str = "",
        **options: Value,
    ) -> None:
        inputs = Inputs()
        coordinates, elements = _mesh(points, cells)
        arrays = {name: np.asarray(values) for name, values in (cell_data or {}).items()}
        heading = dict(mesh or {})
        for name, vectors in (("fibre", fibre), ("sheet", sheet)):
            if vectors is not None:
                directions = np.asarray(vectors, np.float64)
                if directions.shape != (len(elements), 3):
                    raise error(f"{name}: the shape is {directions.shape}, and ({len(elements)}, 3) is expected")
                arrays[name] = directions
                heading[name] = name
        for name, values in arrays.items():
            if len(values) != len(elements):
                raise error(f"cell_data: {name} has {len(values)} rows, and there are {len(elements)} cells")
            if values.dtype == np.bool_:
                arrays[name] = values.view(np.uint8)
            elif values.dtype.kind in "iu" and values.dtype.itemsize in (1, 2) and values.dtype != np.uint8:
                arrays[name] = values.astype(np.int32)
            elif values.dtype == np.uint64:
                arrays[name] = values.astype(np.int64)
            elif values.dtype.kind not in "iuf" or values.dtype.itemsize not in (1, 4, 8):
                raise error(f"cell_data: {name} is of the type {values.dtype}, and numbers are expected")
        path = inputs.vtu(coordinates, elements, arrays)
        job = {
            "physics": "eikonal",
            "title": title,
            "mesh": heading or None,
            "velocity": inputs.tables(velocities, "velocity"),
            "start": inputs.tables(starts, "start"),
            "solver": solver,
            "output": output,
            **(tables or {}),
        }
        super().__init__(path, [inputs.job(job)], options, inputs)


def _mesh(points: ArrayLike, cells: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    coordinates = points_of(points)
    return coordinates, cells_of(cells, len(coordinates), (3, 4))


def _tensors(D: ArrayLike, n_cells: int, dimension: int) -> tuple[NDArray[np.float64], bool]:
    """(n_sets, n_cells, 6): xx, yy, zz, xy, yz, zx; and whether there are several sets."""
    found = np.asarray(D, np.float64)
    tensor = (dimension, dimension)
    is_batch = False
    if found.shape in ((), (n_cells,)):
        found = np.multiply.outer(np.broadcast_to(found, (n_cells,)), np.eye(dimension))[None]
    elif found.shape == tensor:
        found = np.broadcast_to(found, (1, n_cells, *tensor))
    elif found.shape == (n_cells, *tensor):
        found = found[None]
    elif found.ndim == 4 and found.shape[1:] == (n_cells, *tensor):
        is_batch = True
    else:
        one = f"(), {tensor}, ({n_cells},) or ({n_cells}, {dimension}, {dimension})"
        raise error(f"D: the shape is {found.shape}, and {one} is expected, or a batch of the last")
    skew = ~np.isclose(found, found.swapaxes(-1, -2), rtol=1e-6, atol=0.0).all(axis=(0, 2, 3))
    if skew.any():
        raise error(f"D: the tensor of cell {np.flatnonzero(skew)[0]} is not symmetric")
    if dimension == 2:
        # Across the plane, where nothing runs.
        full = np.zeros((*found.shape[:2], 3, 3))
        full[..., :2, :2] = found
        full[..., 2, 2] = 0.5 * (found[..., 0, 0] + found[..., 1, 1])
        found = full
    rows, columns = [0, 1, 2, 0, 1, 0], [0, 1, 2, 1, 2, 2]
    return np.ascontiguousarray(found[..., rows, columns]), is_batch


def _start_sets(starts: Any, times: Any, n_points: int) -> tuple[list[tuple[NDArray[Any], NDArray[Any]]], bool]:
    several = isinstance(starts, (list, tuple)) and any(np.ndim(item) > 0 for item in starts)
    several = several or (isinstance(starts, np.ndarray) and starts.ndim == 2)
    sets = list(starts) if several else [starts]
    at: list[Any]
    if times is None or np.isscalar(times):
        at = [0.0 if times is None else times] * len(sets)
    elif several:
        at = list(times)
        if len(at) != len(sets):
            raise error(f"times: {len(at)} sets, and starts has {len(sets)}")
    else:
        at = [times]
    made = []
    for number, (nodes, time) in enumerate(zip(sets, at)):
        what = f"starts: set {number}" if several else "starts"
        nodes = np.atleast_1d(indices_of(nodes, n_points, what))
        if nodes.size == 0:
            raise error(f"{what}: there is no node")
        time = np.asarray(time, np.float64)
        if time.ndim > 1 or (time.ndim == 1 and time.shape != nodes.shape):
            raise error(f"times: the shape is {time.shape}, and starts has {nodes.shape}")
        made.append((nodes, np.broadcast_to(time, nodes.shape)))
    return made, several


def solve(
    points: ArrayLike,
    cells: ArrayLike,
    D: ArrayLike,
    starts: Union[ArrayLike, Sequence[ArrayLike]],
    times: Union[ArrayLike, Sequence[ArrayLike], None] = None,
    *,
    exact_radius: float = 0.0,
    tolerance: float = 0.0,
    **keywords: Any,
) -> NDArray[Any]:
    """Times at which a wave arrives: √(∇t · D ∇t) = 1, with t = `times` (0 when absent) at the nodes `starts`.

    `points` are (n, 2) or (n, 3), `cells` triangles or tetrahedra. `D` is length² / time²: a number or one for each
    cell (the square of the speed), a tensor, or one for each cell, (n_cells, d, d). Times are infinite where no wave
    comes.

    One set of starts is a node or an array of nodes, and gives (n,). Several are a list of these, or an array of two
    dimensions: one run computes all, and gives (n_sets, n). Several `D`, (n_D, n_cells, d, d), give one more
    dimension before: (n_D, n) or (n_D, n_sets, n).

    `exact_radius` and `tolerance` are those of a job's `[solver]`; other keywords are those of `pogo.solve`, such as
    `precision="f32"` (the default is f64), `device` and `threads`.
    """
    coordinates, elements = _mesh(points, cells)
    dimension = np.asarray(points).shape[1]
    tensors, several_D = _tensors(D, len(elements), dimension)
    sets, several_starts = _start_sets(starts, times, len(coordinates))
    solver = _Solver(coordinates, elements, {"exact_radius": exact_radius, "tolerance": tolerance})
    arrivals = np.stack([solver.run(tensor, sets, keywords) for tensor in tensors])
    if not several_starts:
        arrivals = arrivals[:, 0]
    times_of_all: NDArray[Any] = arrivals if several_D else arrivals[0]
    return times_of_all


class _Solver:
    """One mesh, for one tensor after the other."""

    def __init__(self, points: NDArray[Any], cells: NDArray[Any], solver: Table) -> None:
        self.points, self.cells, self.solver = points, cells, solver
        self._last: tuple[NDArray[Any], _model.Block] | None = None

    def _block(self, tensor: NDArray[Any]) -> _model.Block:
        if self._last is None or not np.array_equal(self._last[0], tensor):
            velocity = {"name": "D", "tensor_data": tensor}
            output = {"fields": False, "histogram_bins": 0}
            start = {"node": int(self.cells[0, 0])}  # of the table of starts
            model = Model(self.points, self.cells, velocity, start, solver=self.solver, output=output)
            self._last = tensor, model.block()
        return self._last[1]

    def run(self, tensor: NDArray[Any], sets: Sequence[tuple[Any, Any]], keywords: Mapping[str, Any]) -> NDArray[Any]:
        """Arrival times of all sets, (n_sets, n)."""
        block, inputs = self._block(tensor), Inputs()
        rows = ["case,node,time\n"]
        for number, (nodes, times) in enumerate(sets):
            rows += [f"set{number},{node},{float(time)!r}\n" for node, time in zip(nodes, times)]
        table = inputs.text("starts.csv", "".join(rows))
        arrivals: NDArray[Any] = np.array(block.solve(starts=table, **keywords).arrival)
        return arrivals


class FIMSolver:
    """What `create_fim_solver` gives."""

    def __init__(
        self, points: ArrayLike, elems: ArrayLike, metrics: ArrayLike | None, precision: DTypeLike, device: str
    ) -> None:
        self._points, self._cells = _mesh(points, elems)
        self._dimension = np.asarray(points).shape[1]
        self._solver = _Solver(self._points, self._cells, {})
        self._precision = np.dtype(precision)
        self._device = device
        self._metrics = None if metrics is None else self._checked(metrics)

    def _checked(self, metrics: ArrayLike) -> NDArray[Any]:
        tensors: NDArray[np.float64] = _tensors(metrics, len(self._cells), self._dimension)[0][0]
        return tensors

    def comp_fim(
        self, x0: ArrayLike, x0_vals: ArrayLike, metrics: ArrayLike | None = None, max_iterations: int | None = None
    ) -> NDArray[Any]:
        """Arrival times at all points, with the times `x0_vals` at the points `x0`. `metrics` takes the place of the
        solver's. `max_iterations` is not needed: the times are final.
        """
        tensor = self._metrics if metrics is None else self._checked(metrics)
        if tensor is None:
            raise error("metrics: give D to create_fim_solver or to comp_fim")
        sets, _ = _start_sets(np.ravel(x0), np.broadcast_to(x0_vals, np.ravel(x0).shape), len(self._points))
        kind = "f32" if self._precision == np.float32 else "f64"
        run = {"precision": kind, "device": self._device}
        times: NDArray[Any] = self._solver.run(tensor, sets, run)[0].astype(self._precision, copy=False)
        return times


def create_fim_solver(
    points: ArrayLike,
    elems: ArrayLike,
    metrics: ArrayLike | None = None,
    precision: DTypeLike = np.float32,
    device: str = "cpu",
    use_active_list: bool = True,
) -> FIMSolver:
    """The call of fim-python: `create_fim_solver(points, elems, D).comp_fim(x0, x0_vals)`.

    `device` is "cpu" or "gpu", or what `pogo.solve` takes. Without `use_active_list` the same is done: Pogo always
    keeps a list of what is active.
    """
    return FIMSolver(points, elems, metrics, precision, {"gpu": "cuda"}.get(device, device))
