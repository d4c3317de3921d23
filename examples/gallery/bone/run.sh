#!/bin/sh
# Trabecular bone in compression: rods and plates along the load carry it, and bend where they are thin.
set -eu
. "$(dirname "$0")/../gallery.sh"

"$bin/pogo-gen" perlin --size 80 --texture plates --cell 14 --fraction 0.35 --no-mirror -o bone.nrrd --quiet
"$bin/pogo-block" bone.nrrd --job "$here/job.toml" --quiet
"$bin/pogo-solve" bone.blk --plot --quiet
picture bone.out/slice.png
