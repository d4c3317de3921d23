"""Masses and springs of lattices in arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Union

import numpy as np
from numpy.typing import ArrayLike

from . import _model
from ._arrays import Inputs, Table, error
from ._words import Value

Tables = Union[Iterable[Table], Table, None]
Groups = Union[float, Mapping[str, float], None]


class Lattice(_model.Model):
    """A particle in each voxel of a mask, indexed [z, y, x], that is not 0, and springs to its neighbours.

    `stiffness`, `damping`, `max_strain` and `rest_factor` are one number, or one for each group of springs: `{"axis":
    10.0, "face": 7.0, "space": 3.0}`; a stiffness alone is for axes and faces. The mass of a particle is `mass`, or
    `density` times the volume of a voxel. For several materials, `materials` are `[[material]]` tables of a job with
    `label`; these keywords are then left out.

    `boundaries`, `sources`, `initial_velocities`, `monitors`, `gravity`, `cuts`, `erase`, `add`, `springs`,
    `amplitudes` and `fields` are tables as in a job (examples/spring-job-reference.toml). `spacing` is the edge of a
    voxel in `unit`. The mask is not copied where its order allows that: let it be until the model has been blocked.
    """

    def __init__(
        self,
        mask: ArrayLike,
        spacing: float = 1.0,
        *,
        time: float,
        density: float | None = None,
        mass: float | None = None,
        stiffness: Groups = None,
        damping: Groups = None,
        max_strain: Groups = None,
        rest_factor: Groups = None,
        materials: Tables = None,
        alpha: float | None = None,
        increment: Union[float, str] = "automatic",
        boundaries: Tables = None,
        sources: Tables = None,
        initial_velocities: Tables = None,
        monitors: Tables = None,
        gravity: Union[Iterable[float], Tables] = None,
        cuts: Tables = None,
        erase: Tables = None,
        add: Tables = None,
        springs: Tables = None,
        amplitudes: Tables = None,
        fields: Tables = None,
        unit: str = "m",
        image_options: Table | None = None,
        solver: Table | None = None,
        title: str = "",
        **options: Value,
    ) -> None:
        inputs = Inputs()
        stack = np.asarray(mask)
        if stack.ndim != 3:
            raise error(f"mask: the shape is {stack.shape}, and (nz, ny, nx) is expected")
        path = inputs.array("mask.npy", stack.view(np.uint8) if stack.dtype == np.bool_ else stack)
        own = {
            "density": density,
            "mass": mass,
            "stiffness": stiffness,
            "damping": damping,
            "max_strain": max_strain,
            "rest_factor": rest_factor,
        }
        if materials is not None and any(value is not None for value in own.values()):
            raise error("materials: these have their own density, stiffness and so on; leave out those of the lattice")
        if gravity is not None and not isinstance(gravity, Mapping):
            rows = list(gravity)
            gravity = {"vector": rows} if rows and not isinstance(rows[0], Mapping) else rows  # type: ignore[assignment]
        job = {
            "physics": "spring",
            "title": title,
            "image": {"unit": unit, "spacing": spacing, **(image_options or {})},
            "solver": {"time": time, "increment": increment, "alpha": alpha, **(solver or {})},
            "material": inputs.tables([{"name": "lattice", **own}] if materials is None else materials, "material"),
            "springs": inputs.tables(springs, "springs"),
            "amplitude": inputs.tables(amplitudes, "amplitude"),
            "boundary": inputs.tables(boundaries, "boundary"),
            "source": inputs.tables(sources, "source"),
            "initial_velocity": inputs.tables(initial_velocities, "initial_velocity"),
            "gravity": inputs.tables(gravity, "gravity"),  # type: ignore[arg-type]
            "cut": inputs.tables(cuts, "cut"),
            "erase": inputs.tables(erase, "erase"),
            "add": inputs.tables(add, "add"),
            "monitor": inputs.tables(monitors, "monitor"),
            "field": inputs.tables(fields, "field"),
        }
        super().__init__(path, [inputs.job(job)], options, inputs)
