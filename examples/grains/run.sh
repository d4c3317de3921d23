#!/bin/sh
# Backscatter of a polycrystal: copper in 360 grains of 1 mm, and the same plate of one material with the mean stiffness of random
# grains (Hill). Everything goes to examples/build/grains.
set -eu
. "$(dirname "$0")/../example.sh"

awk -f "$here/mesh.awk" > plate.inp
cp "$here/euler.csv" "$here/polycrystal.toml" .
"$bin/pogo-block" plate.inp --job "$here/common.toml" --job polycrystal.toml -o polycrystal.blk
"$bin/pogo-block" plate.inp --job "$here/common.toml" --job "$here/homogeneous.toml" -o homogeneous.blk --quiet
for model in polycrystal homogeneous; do
    "$bin/pogo-solve" $model.blk --plot -o $model --quiet
    # Root mean square from 3 us on, when the burst has left, over the largest value before.
    grep -v '^#' $model/traces.csv | awk -F, -v model=$model '
        NR > 1 && $1 < 3e-6 && $2 * $2 > most { most = $2 * $2 }
        NR > 1 && $1 > 3e-6 { mean += $2; n++; value[n] = $2 }
        END { mean /= n; for (i = 1; i <= n; i++) sum += (value[i] - mean) ^ 2
              printf "%s: backscatter %.4f of the burst (rms, from 3 us on)\n", model, sqrt(sum / n / most) }'
done
