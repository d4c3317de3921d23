#!/usr/bin/env bash
# Builds the wheel of the Python package, installs it into a fresh environment, and runs there the tests of python/tests and
# the notebooks of examples/notebooks.
#   python/build-wheel.sh                a release wheel for this machine
#   python/build-wheel.sh --manylinux    one for every Linux with glibc 2.28 or later (manylinux_2_28), linked by zig
#   python/build-wheel.sh --dev          with Cargo's profile dev, which shares what `cargo test` has compiled
# The wheel is put into target/wheels.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-$PWD/target}
case $target in /*) ;; *) target=$PWD/$target ;; esac
export CARGO_TARGET_DIR="$target"

profile=release
options=()
packages=("maturin>=1.9,<2")
case ${1:-} in
    "") ;;
    --dev) profile=dev ;;
    --manylinux)
        options=(--zig --compatibility manylinux_2_28)
        packages+=(ziglang)
        ;;
    *)
        sed -n '2,7s/^# //p' "$0" >&2
        exit 2
        ;;
esac

# A wheel has the licence beside pyproject.toml. A link to it would be lost where archives know none.
cmp LICENSE-MIT python/LICENSE-MIT

tools=$target/python-tools
[ -x "$tools/bin/pip" ] || python3 -m venv "$tools"
"$tools/bin/pip" install --quiet --disable-pip-version-check "${packages[@]}"
# maturin looks for zig on the path.
export PATH="$tools/bin:$PATH"
wheels=$target/wheels
rm -f "$wheels"/pogo_fe-*.whl
"$tools/bin/maturin" build --quiet --manifest-path python/Cargo.toml --profile "$profile" --out "$wheels" "${options[@]}"
wheel=$(ls "$wheels"/pogo_fe-*.whl)
echo "$wheel: $(stat -c %s "$wheel") bytes"

fresh=$target/python-fresh
rm -rf "$fresh"
python3 -m venv "$fresh"
"$fresh/bin/pip" install --quiet --disable-pip-version-check "$wheel[vtkhdf,labels]" pytest matplotlib
# Compares with the executables beside the wheel's commands, if they have been built.
folder=$target/$profile
[ "$profile" != dev ] || folder=$target/debug
[ ! -x "$folder/pogo-solve" ] || export POGO_BIN="$folder"
"$fresh/bin/pytest" -p no:cacheprovider python/tests
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
for notebook in "$PWD"/examples/notebooks/*.py; do
    echo "$notebook"
    (cd "$results" && MPLBACKEND=agg "$fresh/bin/python" -W error::SyntaxWarning "$notebook")
done
