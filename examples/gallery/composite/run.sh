#!/bin/sh
# Glass beads in a polymer: stiff beads carry more than their share, and strain gathers in the gaps between them.
set -eu
. "$(dirname "$0")/../gallery.sh"

awk -f "$here/beads.awk" -v n=40 -v beads=30 -v radius=7 | tr '12' '\001\002' > beads.raw
printf 'shape = [40, 40, 40]\ntype = "uint8"\n' > beads.raw.toml
"$bin/pogo-block" beads.raw --job "$here/job.toml" -o beads.blk --quiet
"$bin/pogo-solve" beads.blk --plot --quiet
picture beads.out/slice-zz.png
