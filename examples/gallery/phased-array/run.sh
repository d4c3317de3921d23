#!/bin/sh
# A phased array: sixteen elements fire one after the other, so that their P waves meet at a hole.
set -eu
. "$(dirname "$0")/../gallery.sh"

awk -f "$here/../grid.awk" -v nx=320 -v ny=267 -v h=0.15e-3 -v notch="31.2e-3 14.2e-3 32.8e-3 15.8e-3" > block.inp
awk -f "$here/array.awk" -v n=16 -v pitch=1e-3 -v width=0.8e-3 -v left=12e-3 -v top=40.05e-3 -v fx=32e-3 -v fy=15e-3 -v speed=5900 > array.toml
"$bin/pogo-block" block.inp --job "$here/job.toml" --job array.toml --quiet
"$bin/pogo-solve" block.blk --plot --quiet
picture "$(ls block.out/snapshot-*.png | sed -n 13p)"
