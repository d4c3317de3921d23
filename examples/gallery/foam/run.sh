#!/bin/sh
# An open foam in shear: struts bend, so that the foam is softer than its density says.
set -eu
. "$(dirname "$0")/../gallery.sh"

"$bin/pogo-gen" perlin --size 80 --texture struts --cell 14 --fraction 0.25 --no-mirror -o foam.nrrd --quiet
"$bin/pogo-block" foam.nrrd --job "$here/job.toml" --quiet
"$bin/pogo-solve" foam.blk --plot --quiet
picture foam.out/slice.png
