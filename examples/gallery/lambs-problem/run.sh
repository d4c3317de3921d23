#!/bin/sh
# Lamb's problem: a push on a half-space makes a P wave, an S wave, the head wave between them, and the Rayleigh wave.
set -eu
. "$(dirname "$0")/../gallery.sh"

awk -f "$here/../grid.awk" -v nx=250 -v ny=125 -v h=8 > rock.inp
"$bin/pogo-block" rock.inp --job "$here/job.toml" --quiet
"$bin/pogo-solve" rock.blk --plot --quiet
picture rock.out/snapshot-000000176.png
