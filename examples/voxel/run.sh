#!/bin/sh
# A porous sample from stack to stiffness, by two commands; then the same under other parameters, without reading the stack again.
#   examples/voxel/run.sh [SIZE]        voxels along an edge, 64 when absent
set -eu
. "$(dirname "$0")/../example.sh"

"$bin/pogo-gen" perlin --size "${1:-64}" --texture plates --cell 12 --fraction 0.3 -o sample.npy
"$bin/pogo-block" sample.npy --job "$here/compression.toml" -o sample.blk
"$bin/pogo-solve" sample.blk --plot --report -o sample.out
"$bin/pogo-info" sample.blk --parameters

# A stiffer bone; the first result is a good start.
"$bin/pogo-solve" sample.blk --set material.BONE.young=12e3 --start sample.out -o stiffer.out

echo "results in $out/sample.out: report.html (a browser), summary.json, fields.vti (ParaView), slice.png, displacement.npy"
