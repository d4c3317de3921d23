#!/bin/sh
# A crack in a weld: a shear wave meets a slit and sends an echo back; behind it lies a shadow.
set -eu
. "$(dirname "$0")/../gallery.sh"

"$bin/pogo-gen" weld --size 0.2e-3 --frequency 1.5e6 --cycles 3 --time 15e-6 --fields 10 -o weld.inp --quiet
"$bin/pogo-block" weld.inp --quiet
"$bin/pogo-solve" weld.blk --plot --quiet
picture "$(ls weld.out/snapshot-*.png | tail -n 1)"
