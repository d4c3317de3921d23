#!/usr/bin/env bash
# Where the time of whole commands goes: for each model the stages of pogo-block and pogo-solve (--timings), and one table of
# wall times.
#
#   tests/whole_run.sh [MODEL...]      voxels ventricle springs weld unstructured (the default is all)
#
# BIN names the folder of the commands (the default is target/release). SIZE=small takes models for a small machine, SIZE=full
# (the default) those of BENCHMARKS.md. DEVICE is as for pogo-solve --device. WORK keeps the models from call to call.
# `unstructured` needs a Python with SciPy (POGO_PYTHON), unless WORK has unstructured.inp.
set -euo pipefail
cd "$(dirname "$0")/.."
bin=${BIN:-${CARGO_TARGET_DIR:-$PWD/target}/release}
work=${WORK:-$(mktemp -d)}
size=${SIZE:-full} device=${DEVICE:-auto} python=${POGO_PYTHON:-python3}
mkdir -p "$work"
table=$work/table.txt
printf '%-26s %10s %10s %12s\n' model 'block, s' 'solve, s' 'of it loop' >"$table"

pick() { # FULL SMALL
    if [ "$size" = full ]; then echo "$1"; else echo "$2"; fi
}

clock() { # COMMAND...: runs it, and leaves its wall time in $wall
    local from to
    from=$(date +%s.%N)
    "$@"
    to=$(date +%s.%N)
    wall=$(echo "$to $from" | awk '{ printf "%.2f", $1 - $2 }')
}

loop() { # summary.json: seconds of the loop or of the iterations
    awk -F'[:,]' '/"loop_seconds"/ && !l { l = $2 } /"solve_seconds"/ && !s { s = $2 } /"setup_seconds"/ && !u { u = $2 }
        END { printf "%.3f", l != "" ? l : s - u }' "$1"
}

model() { # NAME INPUT [JOB]: makes the block file of a model
    local file=$work/$1
    echo "== $1: pogo-block"
    clock "$bin/pogo-block" "$2" ${3:+--job "$3"} -o "$file.blk" --quiet --timings
    block_wall=$wall
}

solve() { # NAME LABEL OPTIONS...
    local file=$work/$1
    echo "== $2: pogo-solve"
    clock "$bin/pogo-solve" "$file.blk" -o "$file.out" --device "$device" --quiet --timings "${@:3}"
    printf '%-26s %10s %10s %12s\n' "$2" "$block_wall" "$wall" "$(loop "$file.out/summary.json")" >>"$table"
}

for name in "${@:-voxels ventricle springs weld unstructured}"; do
    for name in $name; do
        case $name in
        voxels)
            [ -e "$work/voxels.nrrd" ] || "$bin/pogo-gen" perlin --size "$(pick 550 150)" -o "$work/voxels.nrrd" --quiet
            model voxels "$work/voxels.nrrd" examples/voxel/compression.toml
            solve voxels voxels --no-fields --set solver.tolerance=1e-6 ;;
        ventricle)
            [ -e "$work/ventricle.vtu" ] ||
                "$bin/pogo-gen" ventricle --rings "$(pick 190 60)" --layers "$(pick 46 16)" -o "$work/ventricle.vtu" --quiet
            model ventricle "$work/ventricle.vtu" examples/eikonal/activation.toml
            solve ventricle ventricle --precision f32 ;;
        springs)
            [ -e "$work/springs.npy" ] || "$bin/pogo-gen" box "$(pick 256 80)" -o "$work/springs.npy" --quiet
            model springs "$work/springs.npy" "$work/springs.toml"
            solve springs springs --precision f32 --no-fields ;;
        weld)
            [ -e "$work/weld.inp" ] ||
                "$bin/pogo-gen" weld $(pick "" "--size 0.28e-3 --frequency 1e6 --cycles 3") -o "$work/weld.inp" --quiet
            model weld "$work/weld.inp"
            solve weld "weld, f32" --precision f32
            solve weld "weld, f64" --precision f64 ;;
        unstructured)
            [ -e "$work/unstructured.inp" ] ||
                "$python" tests/python/delaunay.py "$(pick 970000 125000)" "$work/unstructured.inp"
            model unstructured "$work/unstructured.inp"
            solve unstructured "unstructured, f32" --precision f32
            solve unstructured "unstructured, f64" --precision f64 ;;
        *) echo "there is no model $name" >&2; exit 2 ;;
        esac
    done
done
cat "$table"
