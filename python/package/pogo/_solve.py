"""Runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Union

from . import _pogo
from ._model import Block, Model, block
from ._pogo import Error
from ._results import Run, Study, results
from ._words import Folder, Progress, StrPath, Value, options, teller, word

_INTERRUPTED = 4


class Diverged(Error):
    """A run that has diverged or not converged. `run` has the results as far as they go."""

    run: Union[Run, Study]


class Interrupted(KeyboardInterrupt):
    """A run that Ctrl-C has stopped. `folder` keeps its results so far, with the checkpoint of a run over time, from which
    `pogo.solve(…, restart=folder)` goes on.
    """

    folder: Path


def solve(
    model: Union[Block, Model, StrPath],
    *,
    output: StrPath | None = None,
    set: Mapping[str, Union[float, str, bool]] | None = None,
    device: str = "auto",
    precision: str = "f64",
    threads: int | None = None,
    time: float | None = None,
    increment: Union[float, str, None] = None,
    tolerance: float | None = None,
    starts: StrPath | None = None,
    start: Union[Run, StrPath, None] = None,
    restart: Union[bool, Run, StrPath] = False,
    fields: bool = True,
    field_format: str = "vtu",
    plot: bool = False,
    checkpoint_interval: str | None = None,
    memory: str | None = None,
    progress: Progress = False,
    **others: Value,
) -> Run:
    """Runs a model in this process, as `pogo-solve` does, and gives its results. See `study` for several runs.

    `model` is a block, the path of a block file, or a model, which is blocked first. Without `output` the results are in a
    temporary folder that goes with the `Run`. `set` changes parameters by name (`Block.parameters` lists them). `progress`
    prints on the way, or is called with a kind ("stage", "done", "note"), the share that is done, and a text. All
    other keywords are options of `pogo-solve` (`pogo-solve --help`): `allow_unstable=True` is `--allow-unstable`.

    The interpreter's lock is not held meanwhile. Ctrl-C stops the run after a checkpoint and raises `Interrupted`;
    `restart=` its folder goes on from there, with the bits of a run that was never stopped.

    Raises `Diverged` where the run diverges or does not converge, and `Error` where it cannot be carried out, with the
    command's message.
    """
    file = model if isinstance(model, Block) else (block(model) if isinstance(model, Model) else Block(model))
    go_on: list[str] = []
    if restart is not False and restart is not None:
        from_ = restart.folder if isinstance(restart, Run) else restart
        if from_ is True:
            go_on = ["--restart"]
        elif Path(from_).is_dir():
            output = from_ if output is None else output
            go_on = ["--restart"] if Path(output) == Path(from_) else [f"--restart={Path(from_) / 'checkpoint.pogo'}"]
        else:
            go_on = [f"--restart={word(from_)}"]
    owner = None
    if output is None:
        owner = Folder()
        output = owner.path
    folder = Path(output)
    if isinstance(start, Run):
        start = start.folder
    words = options(
        {
            "output": folder,
            "set": [f"{name}={word(value)}" for name, value in (set or {}).items()],
            "device": device,
            "precision": precision,
            "threads": threads,
            "time": time,
            "increment": increment,
            "tolerance": tolerance,
            "starts": starts,
            "start": start,
            "no_fields": not fields,
            "field_format": field_format,
            "plot": plot,
            "checkpoint_interval": checkpoint_interval,
            "memory": memory,
            **others,
        }
    )
    try:
        code, _, problems, stopped = _pogo.solve([str(file.path), *words, *go_on], teller(progress))
    except Error as error:
        raise file.explained(error) from None
    if stopped is not None and (code == _INTERRUPTED or not isinstance(stopped, KeyboardInterrupt)):
        if owner is not None and isinstance(stopped, KeyboardInterrupt):
            owner.keep()
        raise _interrupted(stopped, folder, problems) from None
    if code != 0:
        failed: Error
        failed = Diverged("\n".join(problems)) if code == 3 else Error("\n".join(problems))
        failed.exit_code = code
        if isinstance(failed, Diverged):
            failed.run = results(folder, owner)
        raise failed
    run = results(folder, owner)
    if stopped is not None:
        raise stopped
    # A `Study` where the model has shots, which `study` says.
    return run  # type: ignore[return-value]


def study(
    model: Union[Block, Model, StrPath],
    cases: StrPath | None = None,
    *,
    jobs: int | None = None,
    shots: StrPath | None = None,
    shot: Union[str, Sequence[str], None] = None,
    **keywords: Any,
) -> Study:
    """Runs the cases of a study file (TOML), the model's shots, or those of a table (CSV), `jobs` at a time. Gives the runs by
    name. Other keywords are those of `solve`. One shot alone is chosen by `shot`.

    Raises `Error` where a case fails, after the others have run; with `output` their results are kept.
    """
    chosen = [shot] if isinstance(shot, str) else list(shot or [])
    made: Any = solve(model, study=cases, jobs=jobs, shots=shots, shot=chosen, **keywords)
    if not isinstance(made, Study):
        raise Error(f"{made.folder}: error: the model has no shots, and there is no study: use pogo.solve")
    return made


def _interrupted(stopped: BaseException, folder: Path, problems: Sequence[str]) -> BaseException:
    if not isinstance(stopped, KeyboardInterrupt):
        return stopped
    lines = [*problems, f"what there is so far is kept in {folder}"]
    if (folder / "checkpoint.pogo").exists():
        lines.append(f"go on with pogo.solve(…, restart={str(folder)!r})")
    error = Interrupted("\n".join(lines))
    error.folder = folder
    return error
