#!/bin/sh
# Immersion testing: an array in water sends a tilted beam on a steel plate. Beyond the critical angle of P waves only a shear wave
# enters the steel, and a slot sends an echo back.
set -eu
. "$(dirname "$0")/../gallery.sh"

printf '21e-3 9e-3\n21e-3 27e-3\n' > seeds.txt
awk -f "$here/../grid.awk" -v nx=420 -v ny=300 -v h=0.1e-3 -v seeds=seeds.txt -v notch="25.8e-3 4e-3 26.2e-3 9e-3" > tank.inp
awk -f "$here/array.awk" -v n=24 -v pitch=0.5e-3 -v left=4e-3 -v top=30e-3 -v angle=17 -v speed=1480 > array.toml
"$bin/pogo-block" tank.inp --job "$here/job.toml" --job array.toml --quiet
"$bin/pogo-solve" tank.blk --plot --quiet
picture "$(ls tank.out/snapshot-*.png | sed -n 16p)"
