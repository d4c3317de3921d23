#!/bin/sh
# Tissue under tension, cut by a scalpel that moves: from voxels to pictures by two commands, and a study of stiffer skin.
set -eu
. "$(dirname "$0")/../example.sh"

# Voxels of 1, and of 2 in the two upper layers: a stack without a header, and its description.
awk 'BEGIN { for (k = 0; k < 8; k++) for (i = 0; i < 24 * 12; i++) printf "%d", k < 6 ? 1 : 2 }' | tr '12' '\001\002' > tissue.raw
cat > tissue.raw.toml <<END
shape = [24, 12, 8]
type = "uint8"
END

"$bin/pogo-block" tissue.raw --job "$here/tissue.toml" -o tissue.blk
"$bin/pogo-info" tissue.blk
"$bin/pogo-solve" tissue.blk --plot --movie --report -o tissue.out
"$bin/pogo-solve" tissue.blk --study "$here/sweep.toml" --no-fields -o study.out

echo "results in $out/tissue.out: report.html (a browser), fields.pvd (ParaView), snapshot-*.png, movie.png, traces.csv, broken.csv, energy.csv, summary.json"
