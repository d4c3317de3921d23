#!/bin/sh
# A cut through tissue under tension: a scalpel parts the springs of the skin, and the wound gapes.
set -eu
. "$(dirname "$0")/../gallery.sh"

awk 'BEGIN { for (k = 0; k < 8; k++) for (i = 0; i < 24 * 12; i++) printf "%d", k < 6 ? 1 : 2 }' | tr '12' '\001\002' > tissue.raw
printf 'shape = [24, 12, 8]\ntype = "uint8"\n' > tissue.raw.toml
"$bin/pogo-block" tissue.raw --job "$root/examples/spring/tissue.toml" -o tissue.blk --quiet
"$bin/pogo-solve" tissue.blk --plot --quiet
picture tissue.out/snapshot-000001501.png
