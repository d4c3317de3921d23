#!/usr/bin/env bash
# Makes what a release publishes, in target/dist: an archive of the commands with manual pages, completions, examples and docs;
# the Debian package; the archive of the sources; software bills of materials (CycloneDX) of
# the solver and of the tools; and checksums of all.
#
#   packaging/release.sh
#
# Needs cargo-deb and cargo-cyclonedx (`cargo install cargo-deb cargo-cyclonedx --locked`), and Python 3 with venv, into which it
# installs cargo-zigbuild and zig from PyPI. Zig links the commands for glibc 2.28, so they run on Debian 10, Ubuntu 20.04 and RHEL 8, and
# on all later ones. POGO_BIN names a folder with commands that are packed as they are.
#
# What was run: the commands of this link, in a Debian 11; the rest with commands that were built before.
#
# There is no static link with musl: a static program cannot open the CUDA driver's library at run time.
set -euo pipefail
cd "$(dirname "$0")/.."
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
name=pogo-$version-$(uname -m)-linux-gnu
dist=$PWD/target/dist
rm -rf "$dist"
mkdir -p "$dist"

target=${CARGO_TARGET_DIR:-$PWD/target}
if [ -z "${POGO_BIN:-}" ]; then
    tools=$target/release-tools
    [ -x "$tools/bin/cargo-zigbuild" ] || {
        python3 -m venv "$tools"
        "$tools/bin/pip" install --quiet --disable-pip-version-check cargo-zigbuild ziglang
    }
    triple=$(uname -m)-unknown-linux-gnu
    PATH="$tools/bin:$PATH" cargo zigbuild --release --bins -p pogo-tools -p pogo-solver --target "$triple.2.28"
    export POGO_BIN=$target/$triple/release
fi
packaging/deb.sh
cp "$(ls -t target/debian/*.deb | head -n 1)" "$dist/"

# The package's files below a folder of the archive's name: NAME/bin, NAME/share. Times and owners are the same for every run, so
# that the same commands give the same archive.
files=$(mktemp -d)
trap 'rm -rf "$files"' EXIT
dpkg-deb --extract "$dist"/pogo_*.deb "$files"
cp LICENSE-MIT "$files/usr/share/doc/pogo/"
when=$(git log -1 --format=%ct)
tar --sort=name --mtime="@$when" --owner=0 --group=0 --numeric-owner --transform "s,^\.,$name," -C "$files/usr" -cf - . |
    gzip -9n > "$dist/$name.tar.gz"
git archive --format=tar --prefix="pogo-$version/" HEAD | gzip -9n > "$dist/pogo-$version-source.tar.gz"

if command -v cargo-cyclonedx >/dev/null; then
    # It writes one beside the Cargo.toml of every crate; the commands are of two.
    cargo cyclonedx --quiet --format json --spec-version 1.5 --manifest-path solver/Cargo.toml --override-filename pogo-sbom
    for crate in solver tools; do
        mv $crate/pogo-sbom.json "$dist/pogo-$version-sbom-$crate.cdx.json"
    done
    git ls-files --others --exclude-standard '*pogo-sbom.json' | xargs -r rm
else
    echo "error: there is no cargo-cyclonedx: cargo install cargo-cyclonedx --locked" >&2
    exit 1
fi
(cd "$dist" && sha256sum -- * > SHA256SUMS && sha256sum --check --quiet SHA256SUMS)
ls -l "$dist"
