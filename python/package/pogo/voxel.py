"""Statics of voxel images in arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _model
from ._arrays import Inputs, Table, error
from ._results import Run
from ._words import Value

Tables = Union[Iterable[Table], Table, None]
Young = Union[float, Mapping[int, float], None]
Poisson = Union[float, Mapping[int, float]]


class Model(_model.Model):
    """A voxel image, indexed [z, y, x], with a load.

    `young` says what the image means:

    - a number: voxels that are not 0 (or True) are solid, with this modulus;
    - a modulus for each label, `{87: 28e3, 182: 200e3}`: 0 is void, and any other label an error;
    - None: the image holds the modulus of each voxel, and 0 is void.

    `poisson` is one number, or one for each label. `spacing` is the edge of a voxel in `unit`.

    `load`, `boundaries`, `forces`, `solver` and `output` are tables as in a job (examples/voxel-job-reference.toml),
    such as `{"preset": "axial", "strain": -0.01}`; an array may stand for the file of `mask`. `image_options` are
    further keys of its `[image]`, such as `{"keep": "largest"}`. Arrays are not copied where their types allow that: let
    them be until the model has been blocked.
    """

    def __init__(
        self,
        image: ArrayLike,
        spacing: float,
        young: Young = None,
        poisson: Poisson = 0.3,
        *,
        load: Table | None = None,
        boundaries: Tables = None,
        forces: Tables = None,
        unit: str = "mm",
        image_options: Table | None = None,
        solver: Table | None = None,
        output: Table | None = None,
        title: str = "",
        **options: Value,
    ) -> None:
        inputs = Inputs()
        stack, material = _material(np.asarray(image), young, poisson)
        path = inputs.array("image.npy", stack)
        job = {
            "title": title,
            "image": {"unit": unit, "spacing": spacing, **(image_options or {})},
            "material": material,
            "load": load,
            "boundary": inputs.tables(boundaries, "boundary"),
            "force": inputs.tables(forces, "force"),
            "solver": solver,
            "output": output,
        }
        super().__init__(path, [inputs.job(job)], options, inputs)


def _material(image: NDArray[Any], young: Young, poisson: Poisson) -> tuple[NDArray[Any], dict[str, Any]]:
    if image.ndim != 3:
        raise error(f"image: the shape is {image.shape}, and (nz, ny, nx) is expected")
    if young is None:
        if isinstance(poisson, Mapping):
            raise error("poisson: one number, as the image holds a modulus for each voxel")
        moduli = image if image.dtype.kind == "f" else image.astype(np.float64)
        return moduli, {"law": "modulus", "poisson": poisson}
    if isinstance(young, Mapping):
        if image.dtype.kind == "f":
            raise error(f"image: the type is {image.dtype}, and labels are whole numbers")
        labels = [{"value": int(value), "young": float(modulus)} for value, modulus in young.items()]
        material: dict[str, Any] = {"law": "labels", "labels": labels}
        if isinstance(poisson, Mapping):
            for row in labels:
                if row["value"] not in poisson:
                    raise error(f"poisson: there is none for label {row['value']}")
                row["poisson"] = float(poisson[int(row["value"])])
        else:
            material["poisson"] = poisson
        return image.view(np.uint8) if image.dtype == np.bool_ else image, material
    if isinstance(poisson, Mapping):
        raise error("poisson: one number, as there is one modulus")
    # What holds 0 and 1 alone is not copied; other numbers would count in the mean of voxels that become one.
    is_mask = image.dtype == np.bool_ or (image.dtype == np.uint8 and image.max(initial=0) <= 1)
    solid = (image if is_mask else image != 0).view(np.uint8)
    return solid, {"law": "threshold", "threshold": 1, "young": float(young), "poisson": poisson}


def solve(
    image: ArrayLike,
    spacing: float,
    young: Young = None,
    poisson: Poisson = 0.3,
    *,
    load: Table | None = None,
    boundaries: Tables = None,
    forces: Tables = None,
    unit: str = "mm",
    image_options: Table | None = None,
    solver: Table | None = None,
    output: Table | None = None,
    **keywords: Any,
) -> Run:
    """Solves a voxel image under a load, and gives the `pogo.Run`: reactions and apparent modulus in
    `summary["cases"]`, `displacement` at `nodes`, and `fields` that `output={"fields": […]}` asks for. See `Model`;
    other keywords are those of `pogo.solve`.
    """
    model = Model(
        image,
        spacing,
        young,
        poisson,
        load=load,
        boundaries=boundaries,
        forces=forces,
        unit=unit,
        image_options=image_options,
        solver=solver,
        output=output,
    )
    return model.solve(**keywords)


def stiffness(
    image: ArrayLike,
    spacing: float,
    young: Young = None,
    poisson: Poisson = 0.3,
    *,
    boundary: str = "kinematic",
    unit: str = "mm",
    image_options: Table | None = None,
    solver: Table | None = None,
    **keywords: Any,
) -> NDArray[np.float64]:
    """The apparent stiffness of an image, 6 × 6, of six load cases; stress and strain are ordered xx, yy, zz, yz, xz,
    xy, with engineering shear strains.

    `boundary` is "kinematic", "static" or "periodic", over the box of the whole image. See `Model` for the image; other
    keywords are those of `pogo.solve`.
    """
    load = {"preset": "six-cases", "boundary": boundary, "bounds": "image"}
    quiet = {"fields": [], "displacement": False}
    run = solve(
        image,
        spacing,
        young,
        poisson,
        load=load,
        unit=unit,
        image_options=image_options,
        solver=solver,
        output=quiet,
        **keywords,
    )
    return np.array(run.summary["tensor"]["stiffness"])
