"""Options as words of a command line, and what is told on the way."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
import time
import weakref
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Union

Value = Union[None, bool, int, float, str, "os.PathLike[str]", Iterable[Union[int, float, str, "os.PathLike[str]"]]]
StrPath = Union[str, "os.PathLike[str]"]
Progress = Union[bool, Callable[[str, float, str], object]]


def option(name: str) -> str:
    """The option of a command that a keyword stands for."""
    return "--" + name.strip("_").replace("_", "-")


def word(value: object) -> str:
    """A value as the command reads it; numbers keep all their digits."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if hasattr(value, "item") and getattr(value, "ndim", 0) == 0:
        value = value.item()  # a number of NumPy
    if isinstance(value, float):
        return repr(value)
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)


def options(values: Mapping[str, Value]) -> list[str]:
    """Keywords as options: True is an option alone, None and False leave it out, a list repeats it."""
    words = []
    for name, value in values.items():
        if value is None or value is False:
            continue
        if value is True:
            words.append(option(name))
        elif isinstance(value, (list, tuple)):
            for item in value:
                words.append(f"{option(name)}={word(item)}")
        else:
            words.append(f"{option(name)}={word(value)}")
    return words


class Folder:
    """A temporary folder that goes with this object, or when Python ends."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="pogo-"))
        self._finalizer = weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)

    def keep(self) -> None:
        """Leaves the folder where it is."""
        self._finalizer.detach()

    def explained(self, text: str) -> str:
        """A text about its files: without the folder's name."""
        return text.replace(f"{self.path}/", "")


class Memory:
    """A file in memory that goes with this object, or when Python ends. Other processes of this user find it, too."""

    def __init__(self, name: str) -> None:
        self.name = name
        file = os.memfd_create(name)
        self._finalizer = weakref.finalize(self, os.close, file)
        self.path = Path(f"/proc/{os.getpid()}/fd/{file}")

    def explained(self, text: str) -> str:
        """A text about it: by its name."""
        return re.sub(rf"{re.escape(str(self.path))}(?!\d)", self.name, text)


def new_file(name: str, in_memory: bool) -> tuple[Path, Union[Folder, Memory]]:
    """Where a file that goes with the second value may be written: where there is no disk, if the system can."""
    if in_memory:
        try:
            memory = Memory(name)
            if memory.path.is_file():
                return memory.path, memory
        except (AttributeError, OSError):
            pass  # other systems, and those that forbid it
    folder = Folder()
    return folder.path / name, folder


class Printer:
    """Prints to Python's standard error, which a notebook shows: a line for each stage, and one that moves."""

    def __init__(self) -> None:
        self.last = 0.0
        self.moving = False

    def _line(self, text: str) -> None:
        if self.moving:
            sys.stderr.write("\n")
            self.moving = False
        sys.stderr.write(text + "\n")
        sys.stderr.flush()

    def __call__(self, kind: str, done: float, text: str) -> None:
        if kind != "done":
            self._line(text)
        elif time.monotonic() - self.last >= 0.5:
            self.last = time.monotonic()
            sys.stderr.write(f"\r{100 * done:5.1f} % {text:30}")
            sys.stderr.flush()
            self.moving = True


def teller(progress: Progress) -> Callable[[str, float, str], object] | None:
    """What to call on the way."""
    if callable(progress):
        return progress
    return Printer() if progress else None
