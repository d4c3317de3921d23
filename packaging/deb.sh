#!/usr/bin/env bash
# Builds the Debian package of Pogo's commands, with manual pages, completions, examples and the book's pages.
#
#   packaging/deb.sh            target/debian/pogo_VERSION_amd64.deb
#   packaging/deb.sh --mpi      target/debian/pogo-mpi_VERSION_amd64.deb, whose pogo-solve is for mpirun and srun
#   packaging/deb.sh --test     also installs the package, runs a model with it, and removes it; needs root
#
# Needs cargo-deb (`cargo install cargo-deb --locked`). POGO_BIN names a folder with commands that are packed as they are.
set -euo pipefail
cd "$(dirname "$0")/.."
variant=() features=() test=
for argument in "$@"; do
    case $argument in
        --mpi) variant=(--variant mpi) features=(--features pogo-solver/mpi) ;;
        --test) test=yes ;;
        *) sed -n '2,8s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
    esac
done
command -v cargo-deb >/dev/null || { echo "error: there is no cargo-deb: cargo install cargo-deb --locked" >&2; exit 1; }

target=${CARGO_TARGET_DIR:-$PWD/target}
if [ -n "${POGO_BIN:-}" ]; then
    bin=$POGO_BIN
else
    cargo build --release --bins -p pogo-tools -p pogo-solver "${features[@]}"
    bin=$target/release
fi

# What the package holds, laid out as it will lie below /usr.
stage=$PWD/target/package
rm -rf "$stage"
doc=$stage/share/doc/pogo
mkdir -p "$stage/bin" "$doc"
install -m 755 "$bin"/pogo-{block,gen,info,solve} "$stage/bin/"
strip --strip-unneeded "$stage"/bin/*
cargo xtask assets "$stage/bin" "$stage/share"
gzip -9n "$stage"/share/man/man1/*.1
cp README.md NOTATION.md BENCHMARKS.md SECURITY.md CITATION.cff "$doc/"
gzip -9nc CHANGELOG.md > "$doc/changelog.gz"
# The package gives all files of a list one mode, so executables have a list of their own.
git ls-files docs examples | while read -r file; do
    folder=$doc
    [ ! -x "$file" ] || folder=$stage/executable
    mkdir -p "$folder/$(dirname "$file")"
    cp "$file" "$folder/$file"
done

CARGO_TARGET_DIR=$target cargo deb --no-build --no-strip -p pogo-solver "${variant[@]}" -o target/debian/
package=$(ls -t target/debian/*.deb | head -n 1)
echo "$package"
! command -v lintian >/dev/null || lintian --fail-on error --suppress-tags \
    no-changelog,initial-upload-closes-no-bugs,debian-changelog-file-missing,bad-distribution-in-changes-file "$package"
[ -z "$test" ] || packaging/test-deb.sh "$package"
