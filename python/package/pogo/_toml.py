"""Jobs as TOML."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

Table = Mapping[str, Any]


def _value(value: Any) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        value = float(value)
        if math.isnan(value) or math.isinf(value):
            return {"inf": "inf", "-inf": "-inf"}.get(str(value), "nan")
        return repr(value)
    if isinstance(value, (str, os.PathLike)):
        # JSON's strings are TOML's basic strings, but for the character DEL.
        return json.dumps(os.fspath(value), ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        return (
            "{ " + ", ".join(f"{_key(key)} = {_value(item)}" for key, item in value.items() if item is not None) + " }"
        )
    if isinstance(value, np.ndarray):
        return _value(value.tolist())
    if isinstance(value, Iterable):
        return "[" + ", ".join(_value(item) for item in value) + "]"
    raise TypeError(f"{value!r} cannot stand in a job")


def _key(key: str) -> str:
    plain = key and all(c.isascii() and (c.isalnum() or c in "-_") for c in key)
    return key if plain else _value(key)


def dumps(job: Mapping[str, Any]) -> str:
    """A job as TOML: values first, then tables, and lists of tables as `[[name]]`. Whatever is None is left out."""
    values, tables = [], []
    for key, value in job.items():
        if value is None:
            continue
        if isinstance(value, Mapping):
            tables.append((f"[{_key(key)}]", value))
        elif isinstance(value, (list, tuple)) and value and all(isinstance(item, Mapping) for item in value):
            tables.extend((f"[[{_key(key)}]]", item) for item in value)
        elif not (isinstance(value, (list, tuple)) and not value):
            values.append(f"{_key(key)} = {_value(value)}")
    for heading, table in tables:
        values += ["", heading]
        values += [f"{_key(key)} = {_value(value)}" for key, value in table.items() if value is not None]
    return "\n".join(values) + "\n"
