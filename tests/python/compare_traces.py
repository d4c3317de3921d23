"""Compares two traces.csv: compare_traces.py A B TOLERANCE NAME. The largest difference of each quantity over its largest
value must be within the tolerance."""

import collections
import re
import sys


def read(path):
    with open(path) as file:
        lines = [line for line in file if not line.startswith("#")]
    return lines[0].strip().split(","), [[float(v) for v in line.split(",")] for line in lines[1:]]


def main():
    first, second, tolerance, name = sys.argv[1:]
    (names, a), (others, b) = read(first), read(second)
    if names != others or len(a) != len(b):
        sys.exit(f"{name}: the traces have other columns or rows")
    largest, difference = collections.defaultdict(float), collections.defaultdict(float)
    for column, label in enumerate(names):
        quantity = re.sub(r"\d+$", "", label.rsplit(".", 1)[-1])
        for row, other in zip(a, b):
            largest[quantity] = max(largest[quantity], abs(row[column]))
            difference[quantity] = max(difference[quantity], abs(row[column] - other[column]))
    errors = {q: difference[q] / largest[q] if largest[q] > 0 else difference[q] for q in largest}
    print(f"{name}: {len(names) - 1} traces, {len(a)} rows, " + ", ".join(f"{q} {e:.1e}" for q, e in errors.items()))
    # A is a second difference: single precision leaves it noise that grows as 1/Δt².
    if not all(error <= float(tolerance) * (1e3 if q == "A" else 1) for q, error in errors.items()):
        sys.exit(f"{name}: differs by more than {tolerance}")


if __name__ == "__main__":
    main()
