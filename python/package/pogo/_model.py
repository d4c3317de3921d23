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
from ._words import Folder, Memory, Progress, StrPath, Value, new_file, options, teller

if TYPE_CHECKING:
    from ._arrays import Inputs, Names
    from ._results import Run

Jobs = Union[StrPath, Sequence[StrPath], None]


class Model:
    """An input and its jobs: what `pogo-block` makes a block file of. `read` gives one of files; `pogo.explicit.Model`,
    `pogo.voxel.Model`, `pogo.spring.Lattice` and `pogo.eikonal.Model` make them of arrays.
    """

    def __init__(
        self, input: Path, jobs: Sequence[Path], options: Mapping[str, Value], inputs: Inputs | None = None
    ) -> None:
        self.input = input
        """Deck, stack or mesh. That of a model of arrays lies in memory, where only this process finds it: see `save`."""
        self.jobs = list(jobs)
        """TOML jobs; later ones win. That of a model of arrays lies in memory, too."""
        self.options = dict(options)
        """Options of pogo-block."""
        self._inputs = inputs

    def _words(self) -> list[str]:
        return [str(self.input), *(f"--job={job}" for job in self.jobs), *options(self.options)]

    def explained(self, error: Error) -> Error:
        """An error about inputs of this object's own: without their folder, and with the line of the job."""
        return _explained(error, self._names)

    def _shorten(self, text: str) -> str:
        return text if self._names is None else self._names.shorten(text)

    @property
    def _names(self) -> Names | None:
        return None if self._inputs is None else self._inputs.names

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
        checked: dict[str, Any] = json.loads(self._shorten(report))
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
        """Copies the input and its jobs into a folder, for the commands, and gives the model of the copies. A model of arrays is
        written there.
        """
        target = Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        if self._inputs is not None:
            self._inputs.save(target)
        for path in [self.input, *self.jobs]:
            if self._inputs is None or path.parent != self._inputs.path:
                shutil.copytree(path, target / path.name) if path.is_dir() else shutil.copy(path, target)
        return Model(target / self.input.name, [target / job.name for job in self.jobs], self.options)

    def __repr__(self) -> str:
        jobs = "".join(f" --job {job}" for job in self.jobs)
        return self._shorten(f"<pogo.Model {self.input}{jobs}>")


class Block:
    """A block file, which `pogo.solve` runs. One that was made without a name goes with this object."""

    def __init__(
        self, path: StrPath, owner: Union[Folder, Memory, None] = None, report: Mapping[str, Any] | None = None
    ) -> None:
        self.path = Path(path)
        """The file. One in memory has a path, too, which processes of the same user find as long as it is there."""
        self.report = dict(report or {})
        """What pogo-block has said of it; empty of a file that was there."""
        self.remarks: list[str] = []
        """Warnings and notes of pogo-block."""
        self._owner = owner
        self._names: Names | None = None

    def explained(self, error: Error) -> Error:
        """An error about files of this object's own: without their folder."""
        return _explained(error, self._owner, self._names)

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
        target = Path(path)
        if target.is_dir():
            target /= self._owner.name if isinstance(self._owner, Memory) else self.path.name
        # Without the permissions, which are others in memory.
        shutil.copyfile(self.path, target)
        return Block(target, None, self.report)

    def solve(self, **keywords: Any) -> Run:
        """Runs it: see `pogo.solve`."""
        from ._solve import solve

        return solve(self, **keywords)

    def __repr__(self) -> str:
        return f"<pogo.Block {self.path if self._owner is None else self._owner.explained(str(self.path))}>"


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

    Without `output` it is a temporary file that goes with the `Block`; that of a model of arrays lies in memory. `options` are
    those of `pogo-block`. Ctrl-C ends it and leaves nothing. Raises `pogo.Error` with all that is wrong.
    """
    if isinstance(model, Model):
        model = Model(model.input, [*model.jobs, *_paths(job)], {**model.options, **options}, model._inputs)
    else:
        model = Model(Path(model), _paths(job), options)
    owner = None
    if output is None:
        output, owner = new_file(f"{model.input.stem}.blk", model._inputs is not None)
    try:
        _, report, _, remarks = _pogo.block([*model._words(), f"--output={output}"], teller(progress))
    except Error as error:
        raise model.explained(error) from None
    made = Block(output, owner, json.loads(model._shorten(report)))
    made.remarks, made._names = [model._shorten(remark) for remark in remarks], model._names
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


def _explained(error: Error, *owners: Union[Names, Folder, Memory, None]) -> Error:
    text = str(error)
    for owner in owners:
        text = text if owner is None else owner.explained(text)
    if text == str(error):
        return error
    explained = type(error)(text)
    explained.exit_code = getattr(error, "exit_code", 1)
    return explained
