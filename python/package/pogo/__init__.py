"""Explicit elastodynamics, statics of voxel stacks, masses and springs, and arrival times.

    import pogo

    run = pogo.solve(pogo.block("weld.inp", job="weld.toml"), precision="f32")
    run.traces["ARRAY"]

`read` and `block` make what `pogo-block` makes, `solve` does what `pogo-solve` does, in this process. `open` shows any folder
of results. `pogo.explicit`, `pogo.voxel`, `pogo.spring` and `pogo.eikonal` make models of arrays.
"""

from __future__ import annotations

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from . import eikonal, explicit, spring, voxel
    from ._model import Block, Model, block, generate, read
    from ._pogo import VERSION as __version__
    from ._pogo import Error
    from ._results import Run, Study, open
    from ._solve import Diverged, Interrupted, solve, study

__all__ = [
    "Block",
    "Diverged",
    "Error",
    "Interrupted",
    "Model",
    "Run",
    "Study",
    "__version__",
    "block",
    "eikonal",
    "explicit",
    "generate",
    "open",
    "read",
    "solve",
    "spring",
    "study",
    "voxel",
]

# Names are imported when they are asked for: the commands need neither them nor NumPy.
_PLACES = {
    "Block": "_model",
    "Diverged": "_solve",
    "Error": "_pogo",
    "Interrupted": "_solve",
    "Model": "_model",
    "Run": "_results",
    "Study": "_results",
    "block": "_model",
    "generate": "_model",
    "open": "_results",
    "read": "_model",
    "solve": "_solve",
    "study": "_solve",
}


def __getattr__(name: str) -> object:
    if name in ("eikonal", "explicit", "spring", "voxel"):
        return _import_module(f".{name}", __name__)
    if name == "__version__":
        return _import_module("._pogo", __name__).VERSION
    if name in _PLACES:
        return getattr(_import_module(f".{_PLACES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
