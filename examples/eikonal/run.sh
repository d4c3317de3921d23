#!/bin/sh
# A ventricle with turning fibres and a scar, from the model to pictures: activation from two sites, the same with the scar healed, and
# a hundred other sites in one run. Then a pseudo-ECG, Purkinje fibres, and derivatives of times. Everything goes to examples/build/eikonal.
#
#   examples/eikonal/run.sh            23,000 tetrahedra
#   examples/eikonal/run.sh 60 12      780,000
set -eu
. "$(dirname "$0")/../example.sh"
rings=${1:-16}
layers=${2:-5}

"$bin/pogo-gen" ventricle --rings "$rings" --layers "$layers" -o ventricle.vtu
"$bin/pogo-block" ventricle.vtu --job "$here/activation.toml" --domains 74 -o ventricle.blk
"$bin/pogo-info" ventricle.blk --picture domains.png --quiet
"$bin/pogo-solve" ventricle.blk --plot --report -o activation
"$bin/pogo-solve" ventricle.blk --set velocity.scar.speed=0.4 --plot --no-fields -o healed --quiet

# Sites on a ring round the axis, one case each; only the three probes are kept.
awk 'BEGIN { print "case,x,y,z"; for (i = 0; i < 100; i++) { a = i * 6.2831853 / 100;
     printf "site%d,%g,%g,%g\n", i, 17 * cos(a), 17 * sin(a), 0 } }' > sites.csv
"$bin/pogo-solve" ventricle.blk --starts sites.csv -o sites --quiet

# A pseudo-ECG; and how times change with the speeds.
"$bin/pogo-block" ventricle.vtu --job "$here/activation.toml" --job "$here/ecg.toml" -o ecg.blk --quiet
"$bin/pogo-solve" ecg.blk --plot --no-fields -o ecg --quiet
"$bin/pogo-block" ventricle.vtu --job "$here/activation.toml" --job "$here/gradient.toml" -o gradient.blk --quiet
"$bin/pogo-solve" gradient.blk --plot --no-fields -o gradient --quiet

# Fibres from the septum round the inner wall, each with a branch downwards.
awk 'BEGIN { print "x,y,z"; for (i = 0; i < 12; i++) { a = 3.14159265 + i * 6.2831853 / 12;
     for (k = 0; k < 3; k++) printf "%g,%g,%g\n", 16 * cos(a), 16 * sin(a), -8 * k } }' > bundle-points.csv
awk 'BEGIN { for (i = 0; i < 12; i++) { if (i > 0) print 3 * (i - 1), 3 * i; print 3 * i, 3 * i + 1; print 3 * i + 1, 3 * i + 2 } }' > bundle-edges.csv
"$bin/pogo-block" ventricle.vtu --job "$here/activation.toml" --job "$here/purkinje.toml" -o purkinje.blk --quiet
"$bin/pogo-solve" purkinje.blk --plot -o purkinje --quiet

echo "ecg/ecg.svg, ecg.csv; gradient/gradient.csv, gradient.npz; purkinje/junctions.csv, trees.vtu, trees.png"
echo "activation/isochrones-xmax.png, arrival.vtu, paths.csv; sites/cases.csv:"
sort -t, -k4 -g sites/cases.csv | sed -n '2p;$p' | cut -d, -f1,4,5
