"""The commands as functions: each takes the words of a command line. See `pogo` for what to call."""

from collections.abc import Callable, Sequence
from os import PathLike

import numpy as np
from numpy.typing import NDArray

VERSION: str

class Error(Exception):
    """Why Pogo cannot do what was asked, in the words that its commands print."""

    exit_code: int

_Npy = tuple[bytes, NDArray[np.uint8]]

class Held:
    """Inputs in memory, which the commands' readers find in `folder`, as long as this object lives."""

    def __init__(self) -> None: ...
    @property
    def folder(self) -> str: ...
    def hold_bytes(self, name: str, bytes: bytes) -> None: ...
    def hold_array(self, name: str, array: _Npy) -> None: ...
    def hold_mesh(
        self,
        name: str,
        points: NDArray[np.float64],
        groups: Sequence[tuple[str, NDArray[np.int64]]],
        node_sets: Sequence[tuple[str, NDArray[np.int64]]],
        element_sets: Sequence[tuple[str, NDArray[np.int64]]],
        cell_data: Sequence[tuple[str, _Npy]],
    ) -> None: ...

_Tell = Callable[[str, float, str], object]
_Path = str | PathLike[str]

def run_command(name: str, arguments: Sequence[_Path]) -> int: ...
def block(arguments: Sequence[_Path], tell: _Tell | None = ...) -> tuple[bool, str, list[str], list[str]]: ...
def info(arguments: Sequence[_Path]) -> str: ...
def generate(arguments: Sequence[_Path]) -> str: ...
def solve(arguments: Sequence[_Path], tell: _Tell | None = ...) -> tuple[int, str, list[str], BaseException | None]: ...
def write_deck(
    path: _Path,
    points: NDArray[np.float64],
    groups: Sequence[tuple[str, NDArray[np.int64]]],
    node_sets: Sequence[tuple[str, NDArray[np.int64]]],
    element_sets: Sequence[tuple[str, NDArray[np.int64]]],
) -> None: ...
