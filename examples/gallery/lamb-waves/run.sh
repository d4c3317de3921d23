#!/bin/sh
# Lamb waves: a burst on a plate makes a fast symmetric wave (S0) and a slower antisymmetric one (A0), which spreads.
set -eu
. "$(dirname "$0")/../gallery.sh"

awk -f "$here/../grid.awk" -v nx=600 -v ny=24 -v h=0.25e-3 > plate.inp
"$bin/pogo-block" plate.inp --job "$here/job.toml" --quiet
"$bin/pogo-solve" plate.blk --plot --quiet
picture plate.out/snapshot-000000766.png
