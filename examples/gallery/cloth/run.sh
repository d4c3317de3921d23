#!/bin/sh
# A cloth that falls from two pins: springs hardly stretch but turn freely, so that it folds.
set -eu
. "$(dirname "$0")/../gallery.sh"

"$bin/pogo-gen" box 60 40 1 -o cloth.npy --quiet
"$bin/pogo-block" cloth.npy --job "$here/job.toml" --quiet
"$bin/pogo-solve" cloth.blk --plot --quiet
picture "$(ls cloth.out/snapshot-*.png | sed -n 6p)"
