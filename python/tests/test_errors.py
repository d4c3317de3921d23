"""Errors, signals, and threads beside a run."""

import os
import signal
import threading
import time

import numpy as np
import pytest

import pogo
from conftest import plate


def test_messages_are_those_of_the_commands(command, tmp_path):
    deck = tmp_path / "bad.inp"
    deck.write_text("*Heading\n*Node\n1, 0., 0.\n*Element, type=C3D27\n1, 1\n*Contact\n")
    block = plate().block(output=tmp_path / "plate.blk")
    for call, words in [
        (lambda: pogo.block(deck), ["pogo-block", deck, "-q"]),
        (lambda: pogo.block(deck, domains=2), ["pogo-block", deck, "--domains=2", "-q"]),
        (
            lambda: block.solve(output=tmp_path / "o", set={"material.steel.yuong": 1.0}),
            ["pogo-solve", block.path, "-q", "--set", "material.steel.yuong=1.0"],
        ),
        (
            lambda: block.solve(output=tmp_path / "o", increment=1.0),
            ["pogo-solve", block.path, "-q", "--increment=1.0"],
        ),
        (
            lambda: block.solve(output=tmp_path / "o", addressing="explicit"),
            ["pogo-solve", block.path, "-q", "--addressing=explicit"],
        ),
        (
            lambda: block.solve(output=tmp_path / "o", restart=True),
            ["pogo-solve", block.path, "-q", "-o", tmp_path / "o", "--restart"],
        ),
    ]:
        with pytest.raises(pogo.Error) as caught:
            call()
        assert str(caught.value) == command(*words, code=1).stderr.strip() and caught.value.exit_code == 1


def test_an_unknown_option_is_a_wrong_command_line(tmp_path):
    block = plate().block()
    for call in (
        lambda: block.solve(colour="red"),
        lambda: pogo.block(plate(), colour="red"),
        lambda: block.solve(precision="f16"),
    ):
        with pytest.raises(pogo.Error) as caught:
            call()
        assert caught.value.exit_code == 2 and str(caught.value).startswith("error: ")


def test_an_error_in_a_table_shows_its_line():
    with pytest.raises(pogo.Error) as caught:
        plate(boundaries={"side": "left"}).check()
    text = str(caught.value)
    assert text.startswith("job.toml:") and 'side = "left"' in text and "pogo-" not in text


def test_a_run_that_diverges_keeps_its_results():
    block = plate().block()
    with pytest.raises(pogo.Diverged) as caught:
        block.solve(increment=1e-6, allow_unstable=True, time=1e-3)
    assert caught.value.exit_code == 3 and caught.value.run.summary["status"] == "diverged"
    assert str(caught.value) == caught.value.run.summary["message"]
    assert isinstance(caught.value, pogo.Error)


def long_plate():
    # Some tenths of a second, so that a signal arrives while it runs.
    return plate(40, 20, time=2.5e-3).block()


@pytest.fixture(scope="module")
def uninterrupted():
    return long_plate().solve()


def stopped_by(send):
    """A run that is stopped when `send` has had its first word of it."""
    block = long_plate()
    with pytest.raises(pogo.Interrupted) as caught:
        block.solve(progress=send)
    return block, caught.value.folder


def test_ctrl_c_keeps_a_checkpoint_from_which_a_run_goes_on(uninterrupted):
    # The signal arrives while the run goes on and Python waits.
    def send(kind, done, text):
        if kind == "done" and not timers:
            timers.append(threading.Timer(0.02, os.kill, (os.getpid(), signal.SIGINT)))
            timers[0].start()

    timers = []
    block, folder = stopped_by(send)
    assert (folder / "checkpoint.pogo").exists()
    assert pogo.open(folder).summary["status"] == "interrupted"
    run = pogo.solve(block, restart=folder)
    assert 0 < run.summary["first_step"] < run.summary["steps"] == uninterrupted.summary["steps"]
    for name, values in uninterrupted.traces.items():
        assert np.array_equal(run.traces[name], values)


def test_ctrl_c_while_progress_is_told(uninterrupted):
    block, folder = stopped_by(lambda kind, *_: kind == "done" and os.kill(os.getpid(), signal.SIGINT))
    assert np.array_equal(pogo.solve(block, restart=folder).traces["TOP"], uninterrupted.traces["TOP"])


def test_an_exception_of_the_caller_ends_the_run():
    class Enough(Exception):
        pass

    def complain(kind, done, text):
        raise Enough(text)

    for call in (lambda: long_plate().solve(progress=complain), lambda: pogo.block(plate(), progress=complain)):
        with pytest.raises(Enough):
            call()


def test_other_threads_of_python_go_on():
    block, laps, done = long_plate(), [], threading.Event()

    def run_beside():
        while not done.wait(0.001):
            laps.append(time.monotonic())

    beside = threading.Thread(target=run_beside)
    beside.start()
    begin = time.monotonic()
    block.solve()
    seconds = time.monotonic() - begin
    done.set()
    beside.join()
    # Were the lock held, there would be none but at the ends. The machine may be busy with other things.
    inside = [lap for lap in laps if begin + 0.1 * seconds < lap < begin + 0.9 * seconds]
    assert len(inside) > 10, (len(inside), seconds)


def test_runs_in_several_threads_of_python():
    block = plate().block()
    expected = block.solve().traces["TOP"]
    found = [None] * 3

    def work(at):
        found[at] = block.solve(threads=1).traces["TOP"]

    threads = [threading.Thread(target=work, args=(at,)) for at in range(3)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert all(np.array_equal(traces, expected) for traces in found)


def test_the_memory_of_python_keeps_its_limits():
    import resource

    before = resource.getrlimit(resource.RLIMIT_DATA)
    with pytest.raises(pogo.Error, match="that --memory allows"):
        plate().solve(memory="1k")
    assert resource.getrlimit(resource.RLIMIT_DATA) == before
