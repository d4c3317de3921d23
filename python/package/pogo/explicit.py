"""Explicit elastodynamics of meshes in arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _model
from ._arrays import Inputs, Table, cells_of, error, indices_of, points_of
from ._words import Value

_KINDS = {(2, 3): "CPE3", (2, 4): "CPE4", (3, 4): "C3D4", (3, 6): "C3D6", (3, 8): "C3D8"}

Tables = Union[Iterable[Table], Table, None]


class Model(_model.Model):
    """A mesh with materials, sources and monitors, to run by central differences.

    `points` are (n, 2) or (n, 3). `cells` are (n, corners), or several such arrays by Abaqus's name of their kind:
    `{"CPE4R": quads, "CPE3": triangles}`; without a name they are CPE3, CPE4, C3D4, C3D6 or C3D8.

    `materials` has by name what a `[[material]]` table of a job has: `{"steel": {"density": 7932, "young": 216.9e9,
    "poisson": 0.2865}}`. With several, `material` says for each cell, in the order of `cells`, the index of its
    material.

    `sources`, `monitors`, `boundaries`, `initial_velocities`, `absorbing`, `fields`, `shots` and `amplitudes` are lists
    of tables as in a job (examples/job-reference.toml): `{"at": [0.01, 0.02], "component": 2, "force": 1.0,
    "amplitude": {"kind": "hann", "frequency": 2e6, "cycles": 5}}`. Beside the regions of a job there is `nodes`:
    indices of points. `node_sets` are named arrays of such indices, for `nset`; `element_sets` those of cells, for
    `elset`. `tables` are further tables of the job by name.

    Labels in results are those of a deck: the index from 0, plus 1. Arrays are not copied where their types allow that: let
    them be until the model has been blocked.
    """

    def __init__(
        self,
        points: ArrayLike,
        cells: Union[ArrayLike, Mapping[str, ArrayLike]],
        materials: Mapping[str, Table],
        sources: Tables = None,
        monitors: Tables = None,
        *,
        time: float,
        increment: Union[float, str] = "automatic",
        material: ArrayLike | None = None,
        boundaries: Tables = None,
        initial_velocities: Tables = None,
        absorbing: Tables = None,
        fields: Tables = None,
        amplitudes: Tables = None,
        shots: Tables = None,
        node_sets: Mapping[str, ArrayLike] | None = None,
        element_sets: Mapping[str, ArrayLike] | None = None,
        section: Table | None = None,
        solver: Table | None = None,
        tables: Mapping[str, Any] | None = None,
        title: str = "",
        **options: Value,
    ) -> None:
        inputs = Inputs()
        coordinates = points_of(points)
        n_points, dimension = coordinates.shape
        groups = _groups(cells, n_points, dimension)
        n_cells = sum(len(group) for _, group in groups)
        sets = [
            (name, indices_of(set_, n_points, f"node_sets: {name}").ravel()) for name, set_ in (node_sets or {}).items()
        ]
        of_elements = [
            (name, indices_of(set_, n_cells, f"element_sets: {name}").ravel())
            for name, set_ in (element_sets or {}).items()
        ]
        for name, _ in [*sets, *of_elements]:
            if not name or name != name.strip() or any(c in name for c in ',"\r\n'):
                raise error(f"the name of a set is {name!r}: name it as a deck can, without commas and quotes")
        sections = []
        names = list(materials)
        if not names:
            raise error("materials: there is none")
        if material is None:
            if len(names) > 1:
                raise error(f"material: {len(names)} materials, so say for each cell which it has")
            sections.append({"all": True, "material": names[0], **(section or {})})
        else:
            of_cell = indices_of(material, len(names), "material", "cell")
            if of_cell.shape != (n_cells,):
                raise error(
                    f"material: the shape is {of_cell.shape}, and ({n_cells},) is expected, an index for each cell"
                )
            for index in np.unique(of_cell):
                set_name = f"POGO-MATERIAL-{index + 1}"
                of_elements.append((set_name, np.flatnonzero(of_cell == index).astype(np.int64)))
                sections.append({"elset": set_name, "material": names[index], **(section or {})})

        def placed(given: Tables, name: str) -> list[dict[str, Any]]:
            rows = inputs.tables(given, name)
            for number, row in enumerate(rows):
                if "nodes" in row:
                    set_name = f"POGO-{name.upper()}-{number + 1}"
                    nodes = indices_of(row.pop("nodes"), n_points, f"{name} {number}: nodes")
                    sets.append((set_name, np.atleast_1d(nodes)))
                    row["nset"] = set_name
            return rows

        job = {
            "title": title,
            "solver": {"time": time, "increment": increment, **(solver or {})},
            "material": [{"name": name, **table} for name, table in materials.items()],
            "section": sections,
            "amplitude": inputs.tables(amplitudes, "amplitude"),
            "source": placed(sources, "source"),
            "boundary": placed(boundaries, "boundary"),
            "initial_velocity": placed(initial_velocities, "initial_velocity"),
            "absorbing": placed(absorbing, "absorbing"),
            "monitor": placed(monitors, "monitor"),
            "field": inputs.tables(fields, "field"),
            "shot": inputs.tables(shots, "shot"),
            **(tables or {}),
        }
        path = inputs.deck(coordinates, groups, sets, of_elements)
        super().__init__(path, [inputs.job(job)], options, inputs)


def _groups(
    cells: Union[ArrayLike, Mapping[str, ArrayLike]], n_points: int, dimension: int
) -> Sequence[tuple[str, NDArray[np.int64]]]:
    corners = [k for d, k in _KINDS if d == dimension]
    if isinstance(cells, Mapping):
        return [(kind, cells_of(group, n_points, corners)) for kind, group in cells.items()]
    found = cells_of(cells, n_points, corners)
    return [(_KINDS[dimension, found.shape[1]], found)]
