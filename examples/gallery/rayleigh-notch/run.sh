#!/bin/sh
# A Rayleigh wave at a notch: part of it is reflected, part goes round, part becomes shear waves below.
set -eu
. "$(dirname "$0")/../gallery.sh"

awk -f "$here/../grid.awk" -v nx=350 -v ny=125 -v h=0.2e-3 -v notch="39e-3 22e-3 39.4e-3 26e-3" > block.inp
"$bin/pogo-block" block.inp --job "$here/job.toml" --quiet
"$bin/pogo-solve" block.blk --plot --quiet
picture block.out/snapshot-000000590.png
