"""Models and block files."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

from . import _pogo
from ._pogo import Error
from ._words import Folder, Progress, StrPath, Value, options, teller

if TYPE_CHECKING:
    from ._results import Run

Jobs = Union[StrPath, Sequence[StrPath], None]


class Model:
    """An input and its jobs: what `pogo-block` makes a block file of. `read` gives one of files; `pogo.explicit.Model`,
    `pogo.voxel.Model`, `pogo.spring.Lattice` and `pogo.eikonal.Model` make them of arrays.
    """

    def __init__(
        self, input: Path, jobs: Sequence[Path], options: Mapping[str, Value], owner: Folder | None = None
    ) -> None:
        self.input = input
        """Deck, stack or mesh."""
        self.jobs = list(jobs)
        """TOML jobs; later ones win."""
        self.options = dict(options)
        """Options of pogo-block."""
        self._owner = owner

    def _words(self) -> list[str]:
        return [str(self.input), *(f"--job={job}" for job in self.jobs), *options(self.options)]

    def explained(self, error: Error) -> Error:
        """An error about files of this object's own: without their folder, and with the line of the job."""
        return _explained(error, self._owner)

    def check(self) -> dict[str, Any]:
        """Reads everything and reports what is in it, as `pogo-block --check --json` does; nothing is written.

        Raises `pogo.Error` with all problems.
        """
        try:
            ok, report, problems, _ = _pogo.block([*self._words(), "--check"])
        except Error as error:
            raise self.explained(error) from None
        if not ok:
            failed = Error("\n".join(problems))
            failed.exit_code = 1
            raise self.explained(failed)
        checked: dict[str, Any] = json.loads(report)
        return checked

    @cached_property
    def report(self) -> dict[str, Any]:
        """What is in it: see `check`."""
        return self.check()

    def block(self, output: StrPath | None = None, **keywords: Any) -> Block:
        """Makes a block file: see `pogo.block`."""
        return block(self, output=output, **keywords)

    def solve(self, **keywords: Any) -> Run:
        """Makes a block file and runs it: see `pogo.solve`."""
        from ._solve import solve

        return solve(self, **keywords)

    def save(self, folder: StrPath) -> Model:
        """Copies the input and its jobs into a folder, for the commands, and gives the model of the copies."""
        target = Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        if self._owner is None:
            paths = [self.input, *self.jobs]
            for path in paths:
                shutil.copytree(path, target / path.name) if path.is_dir() else shutil.copy(path, target)
        else:
            shutil.copytree(self._owner.path, target, dirs_exist_ok=True)
        return Model(target / self.input.name, [target / job.name for job in self.jobs], self.options)

    def __repr__(self) -> str:
        jobs = "".join(f" --job {job}" for job in self.jobs)
        return f"<pogo.Model {self.input}{jobs}>"


class Block:
    """A block file, which `pogo.solve` runs. One that was made without a name goes with this object."""

    def __init__(self, path: StrPath, owner: Folder | None = None, report: Mapping[str, Any] | None = None) -> None:
        self.path = Path(path)
        """The file."""
        self.report = dict(report or {})
        """What pogo-block has said of it; empty of a file that was there."""
        self.remarks: list[str] = []
        """Warnings and notes of pogo-block."""
        self._owner = owner
        self._input: Folder | None = None

    def explained(self, error: Error) -> Error:
        """An error about files of this object's own: without their folder."""
        return _explained(_explained(error, self._owner), self._input)

    def info(self) -> dict[str, Any]:
        """What is in it, as `pogo-info --json` says."""
        shown: dict[str, Any] = json.loads(_pogo.info([str(self.path), "--json"]))
        return shown

    def verify(self) -> None:
        """Verifies every byte, as `pogo-info --check` does; raises `pogo.Error` where it is damaged."""
        _pogo.info([str(self.path), "--check"])

    @property
    def parameters(self) -> dict[str, dict[str, Any]]:
        """What `pogo.solve(set=…)` can change: by name `value`, `unit` and `help`."""
        rows = json.loads(_pogo.info([str(self.path), "--parameters", "--json"]))
        return {row.pop("name"): row for row in rows}

    def save(self, path: StrPath) -> Block:
        """Copies the file, and gives the copy."""
        shutil.copy(self.path, path)
        return Block(path, None, self.report)

    def solve(self, **keywords: Any) -> Run:
        """Runs it: see `pogo.solve`."""
        from ._solve import solve

        return solve(self, **keywords)

    def __repr__(self) -> str:
        return f"<pogo.Block {self.path}>"


def read(path: StrPath, job: Jobs = None, *, check: bool = True, **options: Value) -> Model:
    """Reads an input of any kind that `pogo-block` reads, with its jobs, and checks it.

    `options` are those of `pogo-block`, such as `ignore=["CONTACT"]`, `domains=8`, `block_nodes=256`. The input is read
    again when it is blocked; `check=False` leaves the first reading out. Raises `pogo.Error` with all that is wrong.
    """
    model = Model(Path(path), _paths(job), options)
    if check:
        model.report  # noqa: B018  an error now and not later
    return model


def block(
    model: Union[Model, StrPath],
    job: Jobs = None,
    *,
    output: StrPath | None = None,
    progress: Progress = False,
    **options: Value,
) -> Block:
    """Makes a block file, as `pogo-block` does, of a model or of an input and its jobs.

    Without `output` it is a temporary file that goes with the `Block`. `options` are those of `pogo-block`. Ctrl-C ends it and
    leaves nothing. Raises `pogo.Error` with all that is wrong.
    """
    if isinstance(model, Model):
        model = Model(model.input, [*model.jobs, *_paths(job)], {**model.options, **options}, model._owner)
    else:
        model = Model(Path(model), _paths(job), options)
    owner = None
    if output is None:
        owner = Folder()
        output = owner.path / f"{model.input.stem}.blk"
    try:
        _, report, _, remarks = _pogo.block([*model._words(), f"--output={output}"], teller(progress))
    except Error as error:
        raise model.explained(error) from None
    made = Block(output, owner, json.loads(report))
    made.remarks, made._input = remarks, model._owner
    return made


def generate(model: str, *arguments: Union[str, float], output: StrPath, **options_: Value) -> Path:
    """Writes one of the models that Pogo is measured with, as `pogo-gen` does: `generate("weld", size=1e-3, output="w.inp")`."""
    words = [model, *(str(argument) for argument in arguments), *options(options_), f"--output={output}"]
    _pogo.generate(words)
    return Path(output)


def _paths(job: Jobs) -> list[Path]:
    if job is None:
        return []
    if isinstance(job, (list, tuple)):
        return [Path(path) for path in job]
    return [Path(job)]  # type: ignore[arg-type]


def _explained(error: Error, owner: Folder | None) -> Error:
    text = str(error)
    if owner is None or str(owner.path) not in text:
        return error
    lines = []
    for line in text.splitlines():
        lines.append(line.replace(f"{owner.path}/", ""))
        file, _, rest = line.partition(".toml:")
        number = rest.split(":")[0]
        path = Path(f"{file}.toml")
        if number.isdigit() and path.parent == owner.path and path.exists():
            written = path.read_text(encoding="utf-8").splitlines()
            if 0 < int(number) <= len(written):
                lines.append(f"    {written[int(number) - 1]}")
    explained = type(error)("\n".join(lines))
    explained.exit_code = getattr(error, "exit_code", 1)
    return explained
