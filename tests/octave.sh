#!/usr/bin/env bash
# Reads results of all kinds of physics in GNU Octave with the scripts in examples/, and runs examples/compat/pogo_demo.m, which
# writes a model and calls the commands of P. Huthwaite's Pogo.
#
#   tests/octave.sh     needs GNU Octave (Debian: octave)
set -euo pipefail
cd "$(dirname "$0")/.."
if ! command -v octave-cli >/dev/null; then
    echo "SKIPPED: tests/octave.sh checked nothing: there is no octave-cli (Debian: octave)"
    exit 0
fi
target=${CARGO_TARGET_DIR:-$PWD/target}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cargo build --quiet --workspace --bins
bin=$target/debug

"$bin/pogo-gen" weld --size 0.6e-3 --fields 2 -o "$work/weld.inp" --quiet
"$bin/pogo-block" "$work/weld.inp" --quiet
"$bin/pogo-solve" "$work/weld.blk" --time 3e-6 --pogo-files --mat --device cpu --quiet -o "$work/weld"
"$bin/pogo-gen" box 8 -o "$work/lattice.npy" --quiet
"$bin/pogo-block" "$work/lattice.npy" --job "$work/lattice.toml" --quiet
"$bin/pogo-solve" "$work/lattice.blk" --time 0.02 --mat --device cpu --quiet -o "$work/lattice"
"$bin/pogo-gen" perlin --size 24 --cell 12 --fraction 0.6 -o "$work/bone.nrrd" --quiet
"$bin/pogo-block" "$work/bone.nrrd" --job examples/voxel/compression.toml --quiet
"$bin/pogo-solve" "$work/bone.blk" --device cpu --quiet -o "$work/bone"
"$bin/pogo-gen" ventricle --rings 8 -o "$work/heart.vtu" --quiet
"$bin/pogo-block" "$work/heart.vtu" --job examples/eikonal/activation.toml --quiet
"$bin/pogo-solve" "$work/heart.blk" --device cpu --quiet -o "$work/heart"

octave_in() { # COMMANDS
    POGO_BIN="$bin" PATH="$PWD/examples/compat:$PATH" \
        octave-cli --no-history --norc --quiet --eval "addpath('examples', 'examples/compat', 'tests'); $1"
}
octave_in "octave('$work')"
octave_in "pogo_demo('$work');" 2>"$work/said" || { cat "$work/said" >&2; exit 1; }
[ -s "$work/demo.png" ] || [ -s "$work/demo.svg" ] || { echo "error: pogo_demo.m drew nothing" >&2; exit 1; }
echo "octave: the demonstration ran"
