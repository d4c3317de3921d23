"""Archives of arrays, which are mapped and not copied."""

from __future__ import annotations

import io
import mmap
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

# A header of NumPy's that Pogo writes is shorter, and so is one of a member of an archive without the names.
_LONGEST = 1 << 16
_LOCAL_HEADER = 30


def arrays_of(path: Path) -> dict[str, NDArray[Any]]:
    """The arrays of an `.npz` file by name, read-only. Those that are packed are copied."""
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
    if any(member.compress_type != zipfile.ZIP_STORED for member in members):
        with np.load(path) as loaded:
            return {name: loaded[name] for name in loaded.files}
    with path.open("rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    return {member.filename.removesuffix(".npy"): _array(mapped, member.header_offset) for member in members}


def _array(mapped: mmap.mmap, at: int) -> NDArray[Any]:
    name, extra = struct.unpack_from("<HH", mapped, at + 26)
    start = at + _LOCAL_HEADER + name + extra
    head = io.BytesIO(mapped[start : start + _LONGEST])
    is_first = np.lib.format.read_magic(head) == (1, 0)
    read = np.lib.format.read_array_header_1_0 if is_first else np.lib.format.read_array_header_2_0
    shape, fortran, dtype = read(head)
    n = int(np.prod(shape, dtype=np.int64))
    if n == 0:
        return np.empty(shape, dtype)
    values: NDArray[Any] = np.frombuffer(mapped, dtype, n, start + head.tell())
    return values.reshape(shape, order="F" if fortran else "C")
