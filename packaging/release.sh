#!/usr/bin/env bash
# Makes what a release publishes, in target/dist: an archive of the commands with manual pages, completions, examples and docs;
# the Debian package; the archive of the sources; software bills of materials (CycloneDX) of
# the solver and of the tools; and checksums of all.
#
#   packaging/release.sh
#
# Needs cargo-deb and cargo-cyclonedx (`cargo install cargo-deb cargo-cyclonedx --locked`). POGO_BIN names a folder with commands
# that are packed as they are. The commands need the C library of the machine that built them, or a later one; build on Debian 11
# or 12 for others. A static link with musl was not tried.
#
# What was run: each part of it, with commands that were built before.
set -euo pipefail
cd "$(dirname "$0")/.."
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
name=pogo-$version-$(uname -m)-linux-gnu
dist=$PWD/target/dist
rm -rf "$dist"
mkdir -p "$dist"

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
