#!/bin/sh
# A ventricle with turning fibres and a scar, from the model to pictures: activation from two sites, the same with the scar healed, and
# a hundred other sites in one run. Everything goes to examples/build/eikonal.
#
#   examples/eikonal/run.sh            23,000 tetrahedra
#   examples/eikonal/run.sh 60 12      780,000
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
rings=${1:-16}
layers=${2:-5}
. "$root/examples/commands.sh"
out=$root/examples/build/eikonal
mkdir -p "$out"
cd "$out"

"$bin/pogo-gen" ventricle --rings "$rings" --layers "$layers" -o ventricle.vtu
"$bin/pogo-block" ventricle.vtu --job "$here/activation.toml" --domains 74 -o ventricle.blk
"$bin/pogo-info" ventricle.blk --picture domains.png --quiet
"$bin/pogo-solve" ventricle.blk --plot -o activation
"$bin/pogo-solve" ventricle.blk --set velocity.scar.speed=0.4 --plot --no-fields -o healed --quiet

# Sites on a ring round the axis, one case each; only the three probes are kept.
awk 'BEGIN { print "case,x,y,z"; for (i = 0; i < 100; i++) { a = i * 6.2831853 / 100;
     printf "site%d,%g,%g,%g\n", i, 17 * cos(a), 17 * sin(a), 0 } }' > sites.csv
"$bin/pogo-solve" ventricle.blk --starts sites.csv -o sites --quiet

echo "activation/isochrones-xmax.png, arrival.vtu, paths.csv; sites/cases.csv:"
sort -t, -k4 -g sites/cases.csv | sed -n '2p;$p' | cut -d, -f1,4,5
