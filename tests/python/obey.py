#!/usr/bin/env python3
"""Obeys what pogo-block says of decks that it refuses, until it makes a block file or has said that it cannot.

    obey.py BIN DECK_OR_FOLDER... [--random N] [--seed S] [--solve]

BIN is the folder of pogo-block (and pogo-solve). Prints a line a deck: what its first refusal says, what was done, and the end:
`runs`, `cannot be computed here`, `THE DECK IS WRONG` (the remaining messages are about mistakes or missing files, which nobody
else can mend) or `DEAD END`. The exit code is 1 if there is a dead end.

What can be obeyed: `--ignore NAME`, a job with `[solver]` and `time`, a job with `[[material]]`, linear elements in the place of
quadratic ones (their corners come first), another `TYPE=`, `EXPLICIT`. A refusal that says `cannot be computed here` ends it, unless
the same message has a way on.
"""
import argparse
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

STEEL = "density = 7800.0\nyoung = 2.1e11\npoisson = 0.3\n"
NONE = "cannot be computed here"
ROUNDS = 6
# What a deck's author must mend: every message that is left has one of these.
MISTAKES = re.compile(
    r"does not exist|is the deck cut short|without \*|already ha(s|ve) a section|not positive definite|is not a number|"
    r"without a value|names the|names node|a distributed load is|a boundary condition is|a concentrated load is|needs the|"
    r"write them as a table|is not read: |data before the first keyword|must follow \*OUTPUT|outside of a \*MATERIAL|stands twice"
)
# By the beginning of a type's name and its number of nodes: the linear type, and its number of nodes.
LINEAR = {
    ("C3D", 10): ("C3D4", 4), ("C3D", 15): ("C3D6", 6), ("C3D", 20): ("C3D8", 8), ("C3D", 27): ("C3D8", 8),
    ("CPE", 6): ("CPE3", 3), ("CPE", 8): ("CPE4", 4), ("CPS", 6): ("CPS3", 3), ("CPS", 8): ("CPS4", 4),
    ("C3D", 8): ("C3D8", 8), ("C3D", 4): ("C3D4", 4), ("C3D", 6): ("C3D6", 6),
    ("CPE", 4): ("CPE4", 4), ("CPE", 3): ("CPE3", 3), ("CPS", 4): ("CPS4", 4), ("CPS", 3): ("CPS3", 3),
}
COMPUTED = {"CPE3", "CPS3", "CPE4", "CPS4", "CPE4R", "CPS4R", "C3D4", "C3D6", "C3D8", "C3D8R"}


def linear(path):
    """Rewrites the elements of a deck that have a linear type; true if there were any."""
    text = path.read_text(errors="replace").splitlines()
    out, kept, total, pending, changed = [], 0, 0, [], False
    for line in text:
        if line.startswith("*") and not line.startswith("**"):
            total = 0
            found = re.match(r"(\*element\s*,.*type\s*=\s*)([A-Za-z]+3D|CPE|CPS)(\d+)([A-Za-z]*)(.*)", line, re.I)
            if found and (found[2] + found[3] + found[4]).upper() not in COMPUTED:
                new = LINEAR.get((found[2].upper(), int(found[3])))
                if new:
                    changed, kept, total, pending = True, new[1], int(found[3]), []
                    line = found[1] + new[0] + found[5]
            out.append(line)
        elif total and line.strip() and not line.startswith("**"):
            pending += [field for field in line.replace(" ", "").split(",") if field]
            if len(pending) > total:
                out.append(", ".join(pending[: kept + 1]))
                pending = []
        else:
            out.append(line)
    if changed:
        path.write_text("\n".join(out) + "\n")
    return changed


class Case:
    """A deck with what has been done for it."""

    def __init__(self, bin_folder, deck, scratch, solve):
        self.bin, self.solve = bin_folder, solve
        # What the deck includes lies beside it.
        self.folder = scratch / "deck"
        self.folder.mkdir()
        for file in deck.parent.iterdir():
            if file == deck or file.stat().st_size < 1 << 20 and file.is_file():
                shutil.copy(file, self.folder)
        self.deck = self.folder / deck.name
        self.flags, self.materials, self.has_time, self.done, self.mesh = [], [], False, [], False

    def block(self):
        """Runs pogo-block; gives its errors."""
        job = "[solver]\ntime = 1e-7\n" if self.has_time else ""
        job += "".join(f'[[material]]\nname = "{name}"\n{STEEL}' for name in self.materials)
        arguments = [self.bin / "pogo-block", self.deck, "-q", "-o", self.folder / "deck.blk"]
        if job:
            (self.folder / "job.toml").write_text(job)
            arguments += ["--job", self.folder / "job.toml"]
        for flag in self.flags:
            arguments += ["--ignore", flag]
        result = subprocess.run(arguments, capture_output=True, text=True, errors="replace", timeout=120)
        errors = [line for line in result.stderr.splitlines() if "error: " in line]
        return errors if result.returncode else []

    def do(self, what, is_new):
        if is_new:
            self.done.append(what)
        return is_new

    def obey(self, errors):
        """Does what the errors propose; true if that is anything new."""
        new = False
        for error in errors:
            for quoted, plain in re.findall(r'--ignore (?:"([^"]+)"|([^\s";,]+))', error):
                name = quoted or plain
                if not (set(self.materials) and "[[material]] of its name" in error):
                    new |= self.do(f"--ignore {name}", name not in self.flags)
                    self.flags += [name] if name not in self.flags else []
            if "`[solver]` and `time`" in error or "job that sets the time" in error:
                new |= self.do("time in a job", not self.has_time)
                self.has_time = True
            material = re.search(r"material `([^`]*)` has no .*\[\[material\]\]", error)
            name = material[1] if material else "steel" if "no element has a section" in error else None
            if name is not None and name not in self.materials:
                new |= self.do(f"material {name} in a job", True)
                self.materials.append(name)
            if re.search(r"mesh again with linear|in its place", error) and not self.mesh:
                self.mesh = True
                new |= self.do("linear elements", linear(self.deck))
        return new

    def run(self):
        """The end of the case."""
        for _ in range(ROUNDS):
            errors = self.block()
            if not errors:
                return self.computed()
            ways = ("--ignore ", "(--job FILE)", "mesh again with", "in its place", "[[material]]")
            if any(NONE in error and not any(way in error for way in ways) for error in errors):
                return NONE
            only = [error for error in errors if "element types" in error or "no element" in error]
            if any(NONE in error and "--ignore" not in error and "[[material]]" not in error for error in only):
                return NONE
            if not self.obey(errors):
                wrong = all(MISTAKES.search(error) for error in errors)
                return ("THE DECK IS WRONG: " if wrong else "DEAD END: ") + " | ".join(errors)
        return "DEAD END after rounds: " + " | ".join(errors)

    def computed(self):
        if not self.solve:
            return "runs"
        arguments = [self.bin / "pogo-solve", self.folder / "deck.blk", "-q", "-o", self.folder / "out", "--device", "cpu"]
        result = subprocess.run(arguments, capture_output=True, text=True, timeout=600)
        return "runs" if result.returncode == 0 else "DEAD END: " + result.stderr.strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", type=pathlib.Path)
    parser.add_argument("decks", nargs="+", type=pathlib.Path)
    parser.add_argument("--random", type=int, help="so many refused decks, drawn at random")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--solve", action="store_true", help="also solve the block file that is made")
    options = parser.parse_args()
    decks = [deck for path in options.decks for deck in (sorted(path.rglob("*.inp")) if path.is_dir() else [path])]
    random.Random(options.seed).shuffle(decks)
    counts, n_refused = {}, 0
    for deck in decks if options.random else sorted(decks):
        with tempfile.TemporaryDirectory() as scratch:
            case = Case(options.bin, deck, pathlib.Path(scratch), options.solve)
            first = case.block()
            if not first:
                continue
            n_refused += 1
            end = case.run()
        kind = end.split(":")[0]
        counts[kind] = counts.get(kind, 0) + 1
        place = re.compile(r"^.*?error: ")
        print(f"{deck}: {' | '.join(place.sub('', error) for error in first)}\n    {'; '.join(case.done) or 'nothing'} -> {end}")
        if n_refused == options.random:
            break
    print(", ".join(f"{n} {kind}" for kind, n in sorted(counts.items())) or "no deck is refused")
    sys.exit(any(kind.startswith("DEAD END") for kind in counts))


if __name__ == "__main__":
    main()
