#!/usr/bin/env python3
"""Faults on purpose: what the commands do when the system fails them.

    tests/faults/run.py [--bin FOLDER] [--quick] [--only KIND...] [--driver [LIBRARY]]

Each of pogo-gen, pogo-block, pogo-info and pogo-solve, of all four kinds of physics, meets
- a call that fails: each call that changes a file fails once (input/output error), or with all after it (disk full);
- too little memory: twenty limits of the address space;
- death: it is killed at random moments, run again, and compared;
- a folder of results that is removed, a pipe that nobody reads, closed standard streams, a terminal that is closed.

What must hold: no panic and no signal but the one that was sent; an error is a line with `error:` and exit code 1 (or 130
and above for a signal); no file under its final name is anything but the whole old or the whole new one; the next run gives
the results of an undisturbed one. Needs a C compiler. --quick takes every tenth fault.

With --driver, the same for a CUDA device: pogo-solve of all four kinds, those that step also in two parts on one device, by its
memory and by messages, meets calls of CUDA's driver that fail, the first, the last and some between of each function: once for lack of memory, and with all calls
after it, as when the device is lost.
"""

import argparse
import concurrent.futures
import filecmp
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
# What a run writes differs in these: times of the run.
TIMED = {"summary.json", "study.csv"}
failures = []


class Command:
    """A command with the files or folders that it makes, in a folder of its own."""

    def __init__(self, name, arguments, makes, inputs):
        self.name, self.arguments, self.makes, self.inputs = name, arguments, makes, inputs

    def __str__(self):
        return " ".join([pathlib.Path(self.arguments[0]).name, *self.arguments[1:]])


def start(command, folder, environment=None, limit=None, **options):
    def prepare():
        if limit:
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    return subprocess.Popen(
        command.arguments, cwd=folder, env={**os.environ, **(environment or {})}, preexec_fn=prepare, **options
    )


def run(command, folder, environment=None, limit=None):
    child = start(command, folder, environment, limit)
    try:
        _, said = child.communicate(timeout=120)
    except subprocess.TimeoutExpired:
        child.kill()
        return None, "no end within 120 s"
    return child.returncode, said.decode(errors="replace")


def fail(command, what, said=""):
    failures.append(f"{command}: {what}")
    print(f"FAILED: {command}: {what}\n    " + said.strip().replace("\n", "\n    "), flush=True)


def files(folder):
    """All files below a folder, by their names there."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink():
            found[str(path.relative_to(folder))] = path
    return found


def is_temporary(name):
    return any(part.startswith(".") for part in pathlib.Path(name).parts)


def half_written(command, folder, reference, old):
    """Files under a final name that are neither the old nor the new one."""
    wrong = []
    new, before = files(reference), files(old) if old else {}
    for name, path in files(folder).items():
        whole = [which[name] for which in (new, before) if name in which]
        if is_temporary(name) or pathlib.Path(name).name in TIMED:
            continue
        # A series grows: its list and its file of HDF5 may tell of fewer snapshots, a checkpoint of another step, and the
        # frames of pictures, which are drawn when a run ends, are there until then.
        if name.endswith((".pvd", ".vtkhdf", "checkpoint.pogo", ".series", ".frames")):
            continue
        if not any(filecmp.cmp(path, other, shallow=False) for other in whole):
            wrong.append(name)
    return wrong


def fresh(command, parent):
    folder = pathlib.Path(tempfile.mkdtemp(dir=parent))
    for path in command.inputs:
        shutil.copy(path, folder)
    return folder


def check(command, what, outcome, folder, reference, killed=None):
    """What must hold after a fault."""
    code, said = outcome
    if code is None or "panicked" in said:
        return fail(command, f"{what}: hangs or panics", said)
    if code < 0 and -code != killed:
        return fail(command, f"{what}: ended by signal {-code}", said)
    if code > 0 and code < 128 and "error:" not in said:
        return fail(command, f"{what}: exit code {code} without a word", said)
    wrong = half_written(command, folder, reference, None)
    if wrong:
        return fail(command, f"{what}: half-written: {', '.join(wrong)}", said)
    if code == 0:
        missing = [name for name in files(reference) if name not in files(folder)]
        if missing:
            return fail(command, f"{what}: success without {', '.join(missing)}", said)
        left = [name for name in files(folder) if name.endswith(".frames")]
        if left:
            return fail(command, f"{what}: success leaves {', '.join(left)}", said)
    return None


def failing_calls(command, parent, reference, library, step):
    counter = parent / "count"
    folder = fresh(command, parent)
    preload = {"LD_PRELOAD": str(library)}
    run(command, folder, {**preload, "FAULT_COUNT": str(counter)})
    n = int(counter.read_text())
    shutil.rmtree(folder)
    done = 0
    for name, error, more in (("one call fails", 5, {}), ("the disk is full", 28, {"FAULT_ALL": "1"})):
        for at in range(1, n + 1, step):
            folder = fresh(command, parent)
            outcome = run(command, folder, {**preload, "FAULT_AT": str(at), "FAULT_ERROR": str(error), **more})
            check(command, f"{name}, {at} of {n}", outcome, folder, reference)
            shutil.rmtree(folder, ignore_errors=True)
            done += 1
    return done


def little_memory(command, parent, reference, step):
    done = 0
    for megabytes in range(20, 420, 20 * min(step, 4)):
        folder = fresh(command, parent)
        code, said = run(command, folder, limit=megabytes << 20)
        # Where a command cannot even be loaded, the system speaks for itself.
        loaded = run(Command("", [command.arguments[0], "--version"], [], []), folder, limit=megabytes << 20)[0] == 0
        if loaded:
            check(command, f"{megabytes} MB of addresses", (code, said), folder, reference)
        shutil.rmtree(folder, ignore_errors=True)
        done += 1
    return done


def killed(command, parent, reference, times):
    folder = fresh(command, parent)
    began = time.monotonic()
    run(command, folder)
    usual = time.monotonic() - began
    shutil.rmtree(folder)
    for at in range(times):
        folder = fresh(command, parent)
        child = start(command, folder)
        time.sleep(random.random() * usual)
        child.kill()
        _, said = child.communicate()
        what = f"killed, the {at}th time"
        check(command, what, (child.returncode, said.decode(errors="replace")), folder, reference, signal.SIGKILL)
        code, said = run(command, folder)
        if code != 0:
            fail(command, f"{what}: the next run fails", said)
        else:
            check(command, f"{what}: the next run", (code, said), folder, reference)
            left = [name for name in files(folder) if name not in files(reference)]
            if left:
                fail(command, f"{what}: left behind: {', '.join(left)}", said)
        shutil.rmtree(folder, ignore_errors=True)
    return times


def failing_driver(command, parent, reference, through, quick):
    """Calls of CUDA's driver that fail. `through` is the environment in which the calls go through driver.c."""
    log = parent / "driver.log"
    folder = fresh(command, parent)
    outcome = run(command, folder, {**through, "FAULT_LOG": str(log)})
    if outcome[0] != 0:
        sys.exit(f"error: {command} through driver.c: {outcome[1]}")
    shutil.rmtree(folder)
    calls = {}
    for at, name in enumerate(log.read_text().split(), 1):
        calls.setdefault(name, []).append(at)
    between = 0 if quick else 4
    moments = sorted({at for ats in calls.values() for at in (ats[0], ats[-1], *random.choices(ats, k=between))})
    faults = [
        (f"{what}, driver call {at}", {"FAULT_AT": str(at), "FAULT_ERROR": str(error), **more})
        for what, error, more in (("no memory", 2, {}), ("the device is lost", 719, {"FAULT_ALL": "1"}))
        for at in moments
    ]

    def one(fault):
        what, environment = fault
        folder = fresh(command, parent)
        check(command, what, run(command, folder, {**through, **environment}), folder, reference)
        shutil.rmtree(folder, ignore_errors=True)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as several:
        list(several.map(one, faults))
    return len(faults)


def streams_and_folders(command, parent, reference):
    done = 0

    def ends(what, child, may=()):
        nonlocal done
        done += 1
        try:
            said = child.communicate(timeout=120)[1] or b""
        except subprocess.TimeoutExpired:
            child.kill()
            return fail(command, f"{what}: no end within 120 s")
        if b"panicked" in said or (child.returncode < 0 and -child.returncode not in may):
            return fail(command, f"{what}: ended with {child.returncode}", said.decode(errors="replace"))
        return None

    # A pipe that nobody reads any more.
    folder = fresh(command, parent)
    reader, writer = os.pipe()
    os.close(reader)
    ends("a closed pipe", start(command, folder, stdout=writer), (signal.SIGPIPE,))
    os.close(writer)
    shutil.rmtree(folder)
    # No standard streams at all.
    folder = fresh(command, parent)
    closed = Command("", ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *command.arguments], [], [])
    ends("closed streams", start(closed, folder))
    wrong = half_written(command, folder, reference, None)
    if wrong:
        fail(command, f"closed streams: half-written: {', '.join(wrong)}")
    shutil.rmtree(folder)
    # A terminal that is closed, and a device without room for messages.
    folder = fresh(command, parent)
    child = start(command, folder)
    time.sleep(0.02)
    child.send_signal(signal.SIGHUP)
    ends("a closed terminal", child, (signal.SIGHUP,))
    left = [name for name in files(folder) if is_temporary(name) and not name.endswith(".lock")]
    if left:
        fail(command, f"a closed terminal: left behind: {', '.join(left)}")
    shutil.rmtree(folder)
    with open("/dev/full", "wb") as full:
        folder = fresh(command, parent)
        ends("full standard output", start(command, folder, stdout=full))
        shutil.rmtree(folder)
    # The folder goes while the command runs.
    folder = fresh(command, parent)
    child = start(command, folder)
    time.sleep(0.03)
    shutil.rmtree(folder, ignore_errors=True)
    ends("a folder that is removed", child)
    shutil.rmtree(folder, ignore_errors=True)
    return done


def models(bin_folder, work, driver):
    """The commands under test; each of those behind has the files that those before it make. With a driver those on devices."""

    def pogo(name):
        return str(bin_folder / name)

    def made(command):
        folder = work / "inputs"
        folder.mkdir(exist_ok=True)
        for path in command.inputs:
            if not (folder / pathlib.Path(path).name).exists():
                shutil.copy(path, folder)
        code, said = run(command, folder)
        if code != 0:
            sys.exit(f"error: {command}: {said}")
        return [folder / name for name in command.makes]

    examples = ROOT / "examples"
    gens = [
        Command("explicit gen", [pogo("pogo-gen"), "weld", "--size", "1e-3", "--fields", "3", "-o", "weld.inp"], ["weld.inp"], []),
        Command("voxel gen", [pogo("pogo-gen"), "perlin", "--size", "20", "-o", "bone.nrrd"], ["bone.nrrd"], []),
        Command("spring gen", [pogo("pogo-gen"), "box", "6", "-o", "lattice.npy"], ["lattice.npy", "lattice.toml"], []),
        Command("eikonal gen", [pogo("pogo-gen"), "ventricle", "--rings", "6", "-o", "heart.vtu"], ["heart.vtu"], []),
    ]
    inputs = {command.name.split()[0]: made(command) for command in gens}
    jobs = {"voxel": examples / "voxel/compression.toml", "eikonal": examples / "eikonal/activation.toml"}
    blocks, others, on_devices = [], [], []
    for kind, paths in inputs.items():
        job = jobs.get(kind) or next((path for path in paths if path.suffix == ".toml"), None)
        block = f"{kind}.blk"
        arguments = [pogo("pogo-block"), paths[0].name, "-o", block, *(["--job", job.name] if job else [])]
        blocks.append(Command(f"{kind} block", arguments, [block], [paths[0], *([job] if job else [])]))
    for command in blocks:
        kind = command.name.split()[0]
        [block] = made(command)
        others.append(Command(f"{kind} info", [pogo("pogo-info"), block.name, "--check"], [], [block]))
        time_options = ["--time", "2e-6"] if kind == "explicit" else ["--time", "0.01"] if kind == "spring" else []
        checkpoints = ["--checkpoint-interval", "20steps"] if time_options else []
        solve = [pogo("pogo-solve"), block.name, "-o", "out", "--threads", "2", "--plot"]
        on_cpu = [*solve, "--device", "cpu", *time_options]
        others.append(Command(f"{kind} solve", [*on_cpu, *checkpoints], ["out"], [block]))
        others.append(Command(f"{kind} hdf5", [*on_cpu, "--field-format", "vtkhdf"], ["out"], [block]))
        two = ["cuda:0,0", "--exchange"]
        ways = {"device": ["cuda"], "devices": [*two, "overlap"], "messages": [*two, "messages"]}
        for name, device in ways.items() if driver else ():
            # One device has several parts where these exchange halos after each step.
            if name == "device" or kind in ("explicit", "spring"):
                arguments = [*solve, *time_options, *checkpoints, "--device", *device]
                on_devices.append(Command(f"{kind} {name}", arguments, ["out"], [block]))
    return on_devices if driver else gens + blocks + others


def installed_driver():
    """Path of the CUDA driver that the system finds."""
    listed = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"libcuda\.so\.1 .*=> (\S+)", listed)
    return found[1] if found else sys.exit("error: no CUDA driver is installed: give its path to --driver")


def main():
    parser = argparse.ArgumentParser(description="Faults on purpose; see the beginning of the file.")
    parser.add_argument("--bin", type=pathlib.Path, help="folder of the commands [default: target/release]")
    parser.add_argument("--quick", action="store_true", help="every tenth fault")
    parser.add_argument("--only", nargs="*", help="commands whose names hold one of these words")
    parser.add_argument("--seed", type=int, default=1, help="of the moments of death")
    parser.add_argument(
        "--driver",
        nargs="?",
        const="",
        help="faults of a CUDA device instead, with this library as the driver [default: the one installed]",
    )
    given = parser.parse_args()
    given.driver = installed_driver() if given.driver == "" else given.driver
    random.seed(given.seed)
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    bin_folder = (given.bin or target / "release").resolve()
    step = 10 if given.quick else 1
    with tempfile.TemporaryDirectory() as place:
        work = pathlib.Path(place)
        library, through = work / "failing.so", {}
        if given.driver:
            library = work / "driver/libcuda.so.1"
            library.parent.mkdir()
            through = {"LD_LIBRARY_PATH": str(library.parent), "FAULT_DRIVER": given.driver}
            called = re.findall(r"\bfn (cu[A-Z]\w+)\(", (ROOT / "kernels/src/device/driver.rs").read_text())
            wrapped = [f"FUNCTION({name})\n" for name in called if name != "cuGetErrorString"]
            (work / "functions.h").write_text("".join(wrapped))
        built = [HERE / ("driver.c" if given.driver else "failing.c"), f"-I{work}", "-ldl", "-lpthread"]
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", library, *built], check=True)
        columns = f"{'driver':>6}" if given.driver else f"{'calls':>6} {'memory':>7} {'killed':>7} {'streams':>8}"
        print(f"{'command':<16} {columns}", flush=True)
        for command in models(bin_folder, work, given.driver):
            if given.only and not any(word in command.name for word in given.only):
                continue
            reference = fresh(command, work)
            code, said = run(command, reference, through)
            if code != 0:
                sys.exit(f"error: {command}: {said}")
            if given.driver:
                n = failing_driver(command, work, reference, through, given.quick)
                print(f"{command.name:<16} {n:>6}", flush=True)
                continue
            counts = [
                failing_calls(command, work, reference, library, step),
                little_memory(command, work, reference, step),
                killed(command, work, reference, 200 // step),
                streams_and_folders(command, work, reference),
            ]
            print(f"{command.name:<16} {counts[0]:>6} {counts[1]:>7} {counts[2]:>7} {counts[3]:>8}", flush=True)
    print(f"faults: {len(failures)} failed" if failures else "faults: all ends were clean")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
