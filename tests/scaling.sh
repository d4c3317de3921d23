#!/usr/bin/env bash
# Strong and weak scaling over processes and over CUDA devices: the tables of the papers, from one command.
#
#   tests/scaling.sh ranks [COUNTS]    processes of one thread each, beside one process of as many threads ("1 2 4 8 16")
#   tests/scaling.sh gpus [COUNTS]     CUDA devices of this host, with all ways to exchange ("1 2")
#
# BIN names the folder of pogo-gen, pogo-block and a pogo-solve with MPI (the default is target/release). SIZE multiplies
# all models: 1 has 1 M nodes or 5 M degrees of freedom each. MODELS chooses some of them, and WEAK=0 leaves out models that
# grow with the number of ranks. Times are those of the loop or of the iterations, in s, the least of RUNS.
set -euo pipefail
cd "$(dirname "$0")/.."
bin=${BIN:-${CARGO_TARGET_DIR:-$PWD/target}/release}
work=${WORK:-$(mktemp -d)}
runs=${RUNS:-2} size=${SIZE:-1} python=${POGO_PYTHON:-python3}
mkdir -p "$work"
# Open MPI asks for these where root runs it.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

times() { # NUMBER FACTOR
    "$python" -c "print(round($1 * $2 * $size))"
}
edge() { # EDGE FACTOR
    "$python" -c "print(round($1 * ($2 * $size) ** (1 / 3)))"
}

block() { # MODEL FACTOR: makes its block file, that many times as large
    local file=$work/$1-$2
    [ -e "$file.blk" ] && return
    case $1 in
    springs)
        "$bin/pogo-gen" box "$(edge 100 "$2")" -o "$file.npy" --quiet
        "$bin/pogo-block" "$file.npy" --job "$file.toml" -o "$file.blk" --quiet ;;
    voxels)
        "$bin/pogo-gen" perlin --size "$(edge 190 "$2")" -o "$file.nrrd" --quiet
        "$bin/pogo-block" "$file.nrrd" --job examples/voxel/compression.toml -o "$file.blk" --quiet ;;
    eikonal)
        "$bin/pogo-gen" ventricle --rings "$(edge 110 "$2")" -o "$file.vtu" --quiet
        "$bin/pogo-block" "$file.vtu" --job examples/eikonal/activation.toml -o "$file.blk" --quiet ;;
    *)
        "$bin/pogo-gen" box --elements "$1" --nodes "$(times 1000000 "$2")" -o "$file.inp" --quiet
        "$bin/pogo-block" "$file.inp" -o "$file.blk" --quiet ;;
    esac
    rm -f "$file".{inp,npy,nrrd,vtu}
}

seconds() { # MODEL FACTOR COMMAND...: the least loop time of some runs
    local model=$1 file=$work/$1-$2.blk options=()
    case $model in
    springs) options=(--time "${SPRING_TIME:-0.02}" --energy-samples 1) ;;
    voxels) options=(--set solver.tolerance=1e-4) ;;
    eikonal) ;;
    *) options=(--time "${EXPLICIT_TIME:-1e-5}" --energy-samples 1) ;;
    esac
    for _ in $(seq "$runs"); do
        timeout "${LIMIT:-120}" "${@:3}" "$file" -o "$work/out" --precision f32 --no-fields --quiet "${options[@]}" >"$work/said" 2>&1 ||
            { echo "-"; return; }
        "$python" - "$work/out/summary.json" <<'PYTHON'
import json, sys
found = json.load(open(sys.argv[1]))
loop = found.get("loop_seconds", found["solve_seconds"] - found.get("setup_seconds", 0) if "solve_seconds" in found else None)
print(loop)
PYTHON
    done | sort -g | head -1
}

row() { # the columns of a row
    printf '| %s ' "$@"
    echo '|'
}

ratio() { # A B: A / B
    [ "$1" = - ] || [ "$2" = - ] && { echo -; return; }
    "$python" -c "print(f'{$1 / $2:.2f}')"
}

fixed() { [ "$1" = - ] && echo - || printf '%.3f' "$1"; }

ranks() { # COUNTS...
    row model ranks "time, s" "speed-up" "threads of one process, s" "weak, s" "weak efficiency"
    row --- --- --- --- --- --- ---
    local model n one time threads weak
    for model in ${MODELS:-cpe3 c3d8r springs voxels eikonal}; do
        block "$model" 1
        one=
        for n in "$@"; do
            time=$(seconds "$model" 1 mpirun --oversubscribe -np "$n" "$bin/pogo-solve" --device cpu --threads 1)
            threads=$(seconds "$model" 1 "$bin/pogo-solve" --device cpu --threads "$n")
            one=${one:-$time}
            weak=-
            if [ "${WEAK:-1}" = 1 ] && [ "$n" -gt 1 ]; then
                block "$model" "$n"
                weak=$(seconds "$model" "$n" mpirun --oversubscribe -np "$n" "$bin/pogo-solve" --device cpu --threads 1)
                rm -f "$work/$model-$n.blk"
            fi
            row "$model" "$n" "$(fixed "$time")" "$(ratio "$one" "$time")" "$(fixed "$threads")" "$(fixed "$weak")" "$(ratio "$one" "$weak")"
        done
    done
}

gpus() { # COUNTS...
    row model GPUs "overlap, s" "speed-up" "plain, s" "messages, s" "by processes, s" "weak, s" "weak efficiency"
    row --- --- --- --- --- --- --- --- ---
    local model n one time plain messages processes weak list
    for model in ${MODELS:-cpe3 c3d8r springs voxels eikonal}; do
        block "$model" 1
        one=
        for n in "$@"; do
            list=$(seq -s, -f 'cuda:%g' 0 $((n - 1)))
            time=$(seconds "$model" 1 "$bin/pogo-solve" --device "$list")
            one=${one:-$time}
            plain=- messages=- processes=- weak=-
            if [ "$n" -gt 1 ]; then
                plain=$(seconds "$model" 1 "$bin/pogo-solve" --device "$list" --exchange plain)
                case $model in
                voxels | eikonal) ;;
                *) messages=$(seconds "$model" 1 "$bin/pogo-solve" --device "$list" --exchange messages) ;;
                esac
                processes=$(seconds "$model" 1 mpirun --oversubscribe -np "$n" "$bin/pogo-solve" --device "$list")
                if [ "${WEAK:-1}" = 1 ]; then
                    block "$model" "$n"
                    weak=$(seconds "$model" "$n" "$bin/pogo-solve" --device "$list")
                    rm -f "$work/$model-$n.blk"
                fi
            fi
            row "$model" "$n" "$(fixed "$time")" "$(ratio "$one" "$time")" "$(fixed "$plain")" "$(fixed "$messages")" "$(fixed "$processes")" \
                "$(fixed "$weak")" "$(ratio "$one" "$weak")"
        done
    done
}

case ${1:-} in
ranks | gpus)
    what=$1
    shift
    if [ $# -eq 0 ]; then
        if [ "$what" = ranks ]; then set -- 1 2 4 8 16; else set -- 1 2; fi
    fi
    "$what" "$@" ;;
*) sed -n '2,/^set /p' "$0" | sed '/^set /d; s/^# \{0,1\}//'; exit 2 ;;
esac
