#!/bin/sh
# Scattering in a polycrystal: each grain turns the axes of a cubic crystal, so a plane wave loses its front to noise.
set -eu
. "$(dirname "$0")/../gallery.sh"

size="-v n=250 -v width=0.02 -v height=0.01"
awk -f "$here/grains.awk" $size > seeds.txt
awk -f "$here/grains.awk" $size -v job=1 > grains.toml
awk -f "$here/../grid.awk" -v nx=400 -v ny=200 -v h=0.05e-3 -v seeds=seeds.txt > nickel.inp
"$bin/pogo-block" nickel.inp --job "$here/job.toml" --job grains.toml --quiet
"$bin/pogo-solve" nickel.blk --plot --quiet
picture nickel.out/snapshot-000000344.png
