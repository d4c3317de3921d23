#!/bin/sh
# A heart with a scar: the wave of activation runs fastest along the fibres, and round the scar.
set -eu
. "$(dirname "$0")/../gallery.sh"

"$bin/pogo-gen" ventricle --rings 32 --layers 8 -o heart.vtu --quiet
"$bin/pogo-block" heart.vtu --job "$root/examples/eikonal/activation.toml" --quiet
"$bin/pogo-solve" heart.blk --plot --quiet
picture heart.out/isochrones-xmax.png
