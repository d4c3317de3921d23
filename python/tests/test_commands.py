"""The commands that pip installs."""

import pathlib
import subprocess
import sys

import pytest

import pogo

NAMES = ["pogo-block", "pogo-info", "pogo-solve", "pogo-gen"]


def installed(name, *words):
    path = pathlib.Path(sys.executable).parent / name
    return subprocess.run([path, *map(str, words)], capture_output=True, text=True)


@pytest.mark.parametrize("name", NAMES)
def test_they_say_what_the_executables_say(command, name):
    for words, code in [(["--version"], 0), (["--help"], 0), (["--no-such-option"], 2)]:
        here, there = installed(name, *words), command(name, *words, code=code)
        assert (here.returncode, here.stdout, here.stderr) == (code, there.stdout, there.stderr)
    assert pogo.__version__ in installed(name, "--version").stdout


def test_exit_codes_and_messages_are_the_same(command, tmp_path):
    missing = tmp_path / "missing.inp"
    here = installed("pogo-block", missing, "-q")
    assert here.returncode == 1 and here.stderr == command("pogo-block", missing, "-q", code=1).stderr
    assert "missing.inp: error: " in here.stderr


def test_a_model_from_generation_to_results(command, tmp_path):
    lattice, block = tmp_path / "l.npy", tmp_path / "l.blk"
    for name, *words in [
        ("pogo-gen", "box", "6", "-o", lattice),
        ("pogo-block", lattice, "--job", tmp_path / "l.toml", "-o", block),
        ("pogo-solve", block, "-o", tmp_path / "out", "--time", "0.01"),
        ("pogo-info", block, "--check"),
    ]:
        done = installed(name, *words)
        assert done.returncode == 0, done.stderr
    assert pogo.open(tmp_path / "out").summary["particles"] == 216


def test_they_need_no_numpy(tmp_path):
    code = "import sys, pogo._commands; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
