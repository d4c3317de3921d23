#!/usr/bin/env bash
# Installs a Debian package, runs a model of each kind with it as a new user would, and removes it again. Needs root.
#
#   packaging/test-deb.sh target/debian/pogo_0.1.0-1_amd64.deb
set -euo pipefail
package=$(realpath "${1:?give a package}")
name=$(dpkg-deb --field "$package" Package)
work=$(mktemp -d)
trap 'dpkg --purge "$name" >/dev/null; rm -rf "$work"' EXIT
apt-get install -y -qq --no-install-recommends "$package" >/dev/null
cd "$work"
export PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin
examples=/usr/share/doc/pogo/examples
SECONDS=0

for command in pogo-block pogo-gen pogo-info pogo-solve; do
    [ "$(command -v $command)" = /usr/bin/$command ]
    $command --version
    gzip -dc /usr/share/man/man1/$command.1.gz | grep -q '^\.TH'
    bash -n /usr/share/bash-completion/completions/$command
done
pogo-block $examples/weld/weld.inp --job $examples/weld/weld.toml -o weld.blk --quiet
pogo-solve weld.blk --time 2e-6 --device cpu --quiet
pogo-gen perlin --size 24 --cell 12 --fraction 0.6 -o bone.tif --quiet
pogo-block bone.tif --job $examples/voxel/compression.toml --quiet
pogo-solve bone.blk --device cpu --quiet
pogo-gen ventricle --rings 8 --layers 3 -o heart.vtu --quiet
pogo-block heart.vtu --job $examples/eikonal/activation.toml --quiet
pogo-solve heart.blk --device cpu --quiet
pogo-gen box 8 -o box.npy --quiet
pogo-block box.npy --job box.toml --quiet
pogo-solve box.blk --device cpu --quiet
ls weld.out/summary.json bone.out/summary.json heart.out/summary.json box.out/summary.json
POGO_BIN=/usr/bin POGO_GALLERY=$work/gallery $examples/gallery/cloth/run.sh
echo "$name: installed, five models run in $SECONDS s"
