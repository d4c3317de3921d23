"""The four commands, as pip installs them."""

from __future__ import annotations

import signal
import sys

from ._pogo import run_command


def _run(name: str) -> int:
    # The command catches signals itself.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return run_command(name, sys.argv[1:])


def block() -> int:
    """`pogo-block`."""
    return _run("pogo-block")


def info() -> int:
    """`pogo-info`."""
    return _run("pogo-info")


def solve() -> int:
    """`pogo-solve`."""
    return _run("pogo-solve")


def gen() -> int:
    """`pogo-gen`."""
    return _run("pogo-gen")
