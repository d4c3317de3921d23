"""Folders of results."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Union

import numpy as np
from numpy.typing import NDArray

from ._npz import arrays_of
from ._pogo import Error
from ._vtk import Fields, fields_of
from ._words import Folder, StrPath


class Trace(np.ndarray[Any, Any]):
    """Values over time: (n_times,), or (n_times, n_traces) with a name each. Otherwise an array as any other; what is made of
    it keeps `time` and `names` where it has the same shape.
    """

    time: NDArray[np.float64]
    """Times of the rows, s."""
    names: list[str]
    """Names of the columns, as in traces.csv."""

    @staticmethod
    def of(values: NDArray[np.float64], time: NDArray[np.float64], names: list[str]) -> Trace:
        """Values with their labels."""
        trace = values.view(Trace)
        trace.time, trace.names = time, names
        return trace

    def __array_finalize__(self, other: Any) -> None:
        if isinstance(other, Trace) and other.shape == self.shape:
            self.time = getattr(other, "time", np.empty(0))
            self.names = getattr(other, "names", [])

    def to_pandas(self) -> Any:
        """A Series or DataFrame of pandas, with the times as its index."""
        import pandas

        index = pandas.Index(self.time, name="time")
        if self.ndim == 1:
            return pandas.Series(np.asarray(self), index, name=self.names[0])
        return pandas.DataFrame(np.asarray(self), index, self.names)

    def to_xarray(self) -> Any:
        """A DataArray of xarray, with the dimensions `time` and `trace`."""
        import xarray

        if self.ndim == 1:
            return xarray.DataArray(np.asarray(self), {"time": self.time}, ["time"], self.names[0])
        return xarray.DataArray(np.asarray(self), {"time": self.time, "trace": self.names}, ["time", "trace"])


class Traces(Mapping[str, Trace]):
    """Traces by the names of their columns. A name that only begins columns gives all of these as one array, so
    `traces["ARRAY"]` has the columns `ARRAY.12.U2`, `ARRAY.13.U2`, … One column is mapped and cannot be changed; several are
    copied.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._columns: dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]] = {}
        if not path.exists():
            return
        time = np.empty(0)
        for name, values in arrays_of(path).items():
            if name == "time" or (name.startswith("time-") and name[5:].isdigit()):
                time = values
            else:
                self._columns[name] = values, time

    @property
    def time(self) -> NDArray[np.float64]:
        """Times of the first trace, s; those of others may differ: each trace has its own."""
        return next((time for _, time in self._columns.values()), np.empty(0))

    @property
    def sets(self) -> list[str]:
        """What the names of columns begin with, as far as their first point."""
        return list(dict.fromkeys(name.split(".")[0] for name in self._columns))

    def __getitem__(self, name: str) -> Trace:
        if name in self._columns:
            values, time = self._columns[name]
            return Trace.of(values, time, [name])
        names = [column for column in self._columns if column.startswith(f"{name}.")]
        if not names:
            known = ", ".join(self.sets) or "none"
            raise KeyError(f"there is no trace {name!r}; there are {known}")
        time = self._columns[names[0]][1]
        if any(self._columns[column][1] is not time for column in names):
            raise KeyError(f"the traces of {name!r} have different times: ask for them one by one: {', '.join(names)}")
        return Trace.of(np.stack([self._columns[column][0] for column in names], axis=1), time, names)

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def _all(self) -> Trace:
        times = {id(time) for _, time in self._columns.values()}
        if len(times) != 1:
            raise Error(f"{self.path}: error: there are {len(times)} sets of times: ask for single traces")
        values = np.stack([values for values, _ in self._columns.values()], axis=1)
        return Trace.of(values, self.time, list(self._columns))

    def to_pandas(self) -> Any:
        """All traces as a DataFrame of pandas."""
        return self._all().to_pandas()

    def to_xarray(self) -> Any:
        """All traces as a DataArray of xarray."""
        return self._all().to_xarray()

    def __repr__(self) -> str:
        return f"<{len(self)} traces of {', '.join(self.sets) or 'nothing'}>"


class Table(Mapping[str, NDArray[Any]]):
    """The columns of a CSV file: numbers, or text where a value is none."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.reader(line for line in file if not line.startswith("#")))
        head, body = (rows[0], rows[1:]) if rows else ([], [])
        self._columns = {name: _numbers([row[at] for row in body]) for at, name in enumerate(head)}

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def to_pandas(self) -> Any:
        """A DataFrame of pandas."""
        import pandas

        return pandas.DataFrame(self._columns)

    def __repr__(self) -> str:
        return f"<{self.path.name}: {', '.join(self)}>"


def _numbers(texts: list[str]) -> NDArray[Any]:
    try:
        return np.array([float(text) for text in texts])
    except ValueError:
        return np.array(texts, dtype=object)


class Run:
    """A folder of results. What a file holds is read when it is asked for."""

    def __init__(self, folder: Path, owner: Folder | None = None) -> None:
        self.folder = folder
        """The folder; a temporary one goes with this object."""
        self._owner = owner

    @cached_property
    def summary(self) -> dict[str, Any]:
        """summary.json; docs/summary.md describes its keys."""
        path = self.folder / "summary.json"
        try:
            summary: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise Error(f"{path}: error: this is no folder of results, or its run has not ended: {error}") from error
        return summary

    @property
    def physics(self) -> str:
        """`explicit`, `static`, `spring` or `eikonal`."""
        return str(self.summary["physics"])

    @property
    def files(self) -> list[Path]:
        """The files that the run has written."""
        return [self.folder / name for name in self.summary["files"]]

    @cached_property
    def traces(self) -> Traces:
        """Traces over time; none where the run has recorded none."""
        return Traces(self.folder / "traces.npz")

    @cached_property
    def tables(self) -> dict[str, Table]:
        """The CSV files by name, without traces."""
        return {
            path.stem: Table(path)
            for path in self.files
            if path.suffix == ".csv" and not path.stem.startswith("traces")
        }

    @property
    def energies(self) -> Table:
        """Energies over time, J: energy.csv."""
        if "energy" not in self.tables:
            raise Error(f"{self.folder}: error: this run has no energies over time")
        return self.tables["energy"]

    @cached_property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """The `.npy` files by name, mapped and not copied."""
        return {path.stem: np.load(path, mmap_mode="r") for path in self.files if path.suffix == ".npy"}

    @cached_property
    def archives(self) -> dict[str, dict[str, NDArray[Any]]]:
        """The `.npz` files by name, without traces: the arrays in each, mapped and not copied."""
        return {path.stem: arrays_of(path) for path in self.files if path.suffix == ".npz" and path.stem != "traces"}

    @cached_property
    def series(self) -> dict[str, Fields]:
        """All fields by the names of their files."""
        kinds = (".pvd", ".vtu", ".vti", ".vtkhdf")
        found = {path.stem: fields_of(path) for path in self.files if path.suffix in kinds}
        for fields in found.values():
            fields.owner = self._owner
        return found

    @property
    def fields(self) -> Fields:
        """The first of the fields; see `series` for all."""
        if not self.series:
            raise Error(f"{self.folder}: error: this run has no fields; ask for them in the model")
        return next(iter(self.series.values()))

    def _array(self, *names: str) -> NDArray[Any]:
        for name in names:
            if name in self.arrays:
                return self.arrays[name]
        raise Error(
            f"{self.folder}: error: there is no {names[0]} here; there are: {', '.join(self.arrays) or 'no arrays'}"
        )

    @property
    def arrival(self) -> NDArray[Any]:
        """Arrival times in the order of the mesh's nodes, (n_nodes,), or (n_cases, n_nodes); infinite where no wave comes."""
        return self._array("arrival", "arrivals")

    @property
    def displacement(self) -> NDArray[Any]:
        """Displacements of a voxel model's nodes, (n_nodes, 3); of several load cases see `arrays`."""
        return self._array("displacement")

    @property
    def nodes(self) -> NDArray[Any]:
        """Indices of a voxel model's nodes, (n_nodes, 3), in the order of `displacement`."""
        return self._array("nodes")

    @property
    def warnings(self) -> list[str]:
        """What the user should know although the run came to its end."""
        return list(self.summary["warnings"])

    def __repr__(self) -> str:
        status = self.summary["status"] if (self.folder / "summary.json").exists() else "without a summary"
        return f"<pogo.Run {self.folder}: {status}>"


class Study(Mapping[str, Run]):
    """The cases of a study, or the shots of a model, by name."""

    def __init__(self, folder: Path, owner: Folder | None = None) -> None:
        self.folder = folder
        self._owner = owner
        self.table = Table(folder / "study.csv")
        """study.csv: a row a case."""
        names = [str(name) for name in _texts(folder / "study.csv", "case")]
        self._runs = {name: Run(folder / name, owner) for name in names if (folder / name / "summary.json").exists()}

    @cached_property
    def shots(self) -> dict[str, NDArray[Any]]:
        """shots.npz: `traces` (shot, trace, time), `time`, and the names."""
        return arrays_of(self.folder / "shots.npz")

    def __getitem__(self, name: str) -> Run:
        return self._runs[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._runs)

    def __len__(self) -> int:
        return len(self._runs)

    def __repr__(self) -> str:
        return f"<pogo.Study {self.folder}: {', '.join(self)}>"


def _texts(path: Path, column: str) -> list[str]:
    with path.open(newline="", encoding="utf-8") as file:
        return [row[column] for row in csv.DictReader(line for line in file if not line.startswith("#"))]


def open(folder: StrPath) -> Union[Run, Study]:
    """Opens a folder of results of any kind of physics, or of a study.

    Raises `pogo.Error` where it is none.
    """
    return results(Path(folder))


def results(path: Path, owner: Folder | None = None) -> Union[Run, Study]:
    """The results in a folder."""
    if not (path / "summary.json").exists() and (path / "study.csv").exists():
        return Study(path, owner)
    run = Run(path, owner)
    run.summary  # noqa: B018  an error now and not later
    return run
