#!/usr/bin/env bash
# Solves models by several processes and compares every result with that of one process, byte by byte.
#
#   tests/mpi.sh [MPIRUN OPTIONS...]     needs Open MPI and libclang (Debian: libopenmpi-dev, libclang-dev), and NumPy
set -euo pipefail
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-$PWD/target}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Open MPI asks for these where root runs it, and where there are more processes than cores.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_mpi_yield_when_idle=1

cargo build -p pogo-tools
cargo build -p pogo-solver --features mpi
# Copies: another build may put commands without MPI in their place.
bin=$work/bin
mkdir "$bin"
cp "$target"/debug/pogo-{gen,block,solve} "$bin"

processes() { # N ARGUMENTS OF POGO-SOLVE...
    timeout 300 mpirun "${options[@]}" -np "$1" "$bin/pogo-solve" "${@:2}" --device cpu --quiet
}
options=("$@")

# Two comparisons at a time: most of one is starting processes.
running=()
beside() { # COMMAND...
    if [ ${#running[@]} -ge 2 ]; then
        wait "${running[0]}"
        running=("${running[@]:1}")
    fi
    "$@" &
    running+=($!)
}
finish() {
    local pid
    for pid in "${running[@]}"; do wait "$pid"; done
    running=()
}

# All files but those that hold times: the summary, the record of a case and the table of cases.
same() { # WHAT ONE OTHER
    if ! diff -rq --exclude summary.json --exclude case.json --exclude study.csv "$2" "$3"; then
        echo "error: $1: not the files of one process" >&2
        exit 1
    fi
    echo "$1" >> "$work/passed"
}

compare() { # BLOCK FILE, NAME, OPTIONS...
    local block=$1 name=$2 n
    "$bin/pogo-solve" "$block" -o "$work/$name.1" --device cpu --quiet "${@:3}"
    for n in 1 2 3 4; do
        processes $n "$block" -o "$work/$name.$n.mpi" "${@:3}"
        same "$name by $n processes" "$work/$name.1" "$work/$name.$n.mpi"
    done
    "$bin/pogo-solve" "$block" -o "$work/$name.parts" --device cpu,cpu,cpu --quiet "${@:3}"
    same "$name in 3 parts of a process" "$work/$name.1" "$work/$name.parts"
}

# Half of a run, s.
stop() { # NAME
    awk -F, '!/^#/ { last = $1 } END { print last / 2 }' "$work/$1.1/traces.csv"
}

for model in weld gear geophysics; do
    size=0.4e-3
    [ $model = geophysics ] && size=50
    [ $model = gear ] && size=1e-3
    "$bin/pogo-gen" $model --size $size --fields 2 -o "$work/$model.inp" --quiet
    "$bin/pogo-block" "$work/$model.inp" --block-nodes 128 -o "$work/$model.blk" --quiet
done
beside compare "$work/weld.blk" weld --precision f32 --time 3e-6
printf 'shot,source,scale,delay\na,SOURCE.1,1,\nb,SOURCE,0.5,1e-7\n' > "$work/shots.csv"
beside compare "$work/weld.blk" shots --precision f32 --time 2e-6 --shots "$work/shots.csv"
beside compare "$work/gear.blk" gear --time 1e-5
beside compare "$work/geophysics.blk" geophysics --time 0.3 --field-format vtkhdf
for kind in cpe4r c3d4 c3d8r; do
    "$bin/pogo-gen" box --elements $kind --nodes 4000 -o "$work/$kind.inp" --quiet
    "$bin/pogo-block" "$work/$kind.inp" --block-nodes 128 -o "$work/$kind.blk" --quiet
    beside compare "$work/$kind.blk" $kind
done


# Linear constraints, between nodes at opposite ends of a box: they belong to different processes.
awk '/^\*Step/ { for (k = 40; k < 400; k += 9) print "*Equation\n3\n" k ", 1, 1., " 2500 - k ", 2, -0.5, " 2000 + k ", 3, 0.25" } { print }' \
    "$work/c3d8r.inp" > "$work/held.inp"
"$bin/pogo-block" "$work/held.inp" --block-nodes 128 -o "$work/held.blk" --quiet
beside compare "$work/held.blk" held

# Relaxation mechanisms, and periodic sides whose nodes and copies belong to different processes.
for kind in cpe4r c3d8r; do
    sed '/^\*Solid Section/,+1d; /^\*Material/,+4d' "$work/$kind.inp" > "$work/relaxed.inp"
    printf '[relaxation]\nband = [1e5, 1e6]\n[[material]]\nname = "M"\ndensity = 7850\nyoung = 2.1e11\npoisson = 0.3\n%s\n' \
        'quality_factor = 20' > "$work/relaxed.toml"
    "$bin/pogo-block" "$work/relaxed.inp" --job "$work/relaxed.toml" --block-nodes 128 -o "$work/relaxed.$kind.blk" --quiet
    beside compare "$work/relaxed.$kind.blk" relaxed.$kind
done
${POGO_PYTHON:-python3} tests/python/large_pogo_inp.py 80 40 "$work/periodic.pogo-inp" --periodic
"$bin/pogo-block" "$work/periodic.pogo-inp" --block-nodes 128 -o "$work/periodic.blk" --quiet
beside compare "$work/periodic.blk" periodic

# Arrival times: one set of starts on parts of the mesh, and a table of which each process solves a share.
"$bin/pogo-gen" ventricle --rings 12 -o "$work/heart.vtu" --quiet
"$bin/pogo-block" "$work/heart.vtu" --job examples/eikonal/activation.toml --domains 9 -o "$work/heart.blk" --quiet
beside compare "$work/heart.blk" heart --plot
beside compare "$work/heart.blk" heart32 --precision f32
printf 'case,x,y,z\na,-17,0,0\nb,0,17,0\nc,12,12,-20\nd,17,0,-10\ne,0,-17,0\n' > "$work/sites.csv"
beside compare "$work/heart.blk" sites --starts "$work/sites.csv"

# Voxels: thin struts with all that can be written, and all six load cases of a full sample, each rank with a few bricks.
"$bin/pogo-gen" perlin --size 80 --cell 20 --fraction 0.3 -o "$work/bone.nrrd" --quiet
"$bin/pogo-block" "$work/bone.nrrd" --job examples/voxel/compression.toml -o "$work/bone.blk" --quiet
beside compare "$work/bone.blk" bone --plot

# Masses and springs.
"$bin/pogo-gen" box 14 -o "$work/lattice.npy" --quiet
"$bin/pogo-block" "$work/lattice.npy" --job "$work/lattice.toml" -o "$work/lattice.blk" --quiet
beside compare "$work/lattice.blk" lattice --time 0.02

finish
# A run goes on from the checkpoint of another number of processes.
"$bin/pogo-solve" "$work/weld.blk" -o "$work/whole" --device cpu --quiet
processes 3 "$work/weld.blk" -o "$work/stopped" --checkpoint-interval 500steps &
pid=$!
for _ in $(seq 600); do [ -e "$work/stopped/checkpoint.pogo" ] && break; sleep 0.05; done
# The lock of the folder names rank 0; mpirun ends the other processes once this one is gone.
owner=$(sed -n '1s/^process \([0-9]*\).*/\1/p' "$work/stopped/.pogo-solve.lock")
kill -KILL "$owner"
wait $pid 2>/dev/null || true
processes 2 "$work/weld.blk" -o "$work/stopped" --restart
same "a run that goes on by another number of processes" "$work/whole/traces.csv" "$work/stopped/traces.csv"

# So does one with memory variables or copies, which stops at a time.
for model in relaxed.cpe4r relaxed.c3d8r periodic; do
    processes 3 "$work/$model.blk" -o "$work/$model.stopped" --time "$(stop $model)" --keep-checkpoint
    processes 2 "$work/$model.blk" -o "$work/$model.stopped" --restart
    same "$model goes on by another number of processes" "$work/$model.1/traces.csv" "$work/$model.stopped/traces.csv"
done

# An error comes once, and names the rank where it is not rank 0.
refused() { # WHAT, EXPECTED WORDS, COMMAND...
    local said
    if said=$(timeout 60 "${@:3}" 2>&1); then echo "error: $1 was not refused" >&2; exit 1; fi
    if [ "$(grep -c "$2" <<<"$said")" != 1 ]; then echo "error: $1: $said" >&2; exit 1; fi
    echo "$1" >> "$work/passed"
}
cp "$work/cpe4r.blk" "$work/other.blk"
mpi=(mpirun "${options[@]}")
refused "a missing file" "No such file" "${mpi[@]}" -np 3 "$bin/pogo-solve" "$work/none.blk" --device cpu
refused "another file" "rank 1: .*another block file" "${mpi[@]}" \
    -np 1 "$bin/pogo-solve" "$work/weld.blk" -o "$work/o" --device cpu -q : \
    -np 1 "$bin/pogo-solve" "$work/other.blk" -o "$work/o" --device cpu -q
"$bin/pogo-gen" box --elements cpe3 --nodes 100 -o "$work/one.inp" --quiet
"$bin/pogo-block" "$work/one.inp" -o "$work/one.blk" --quiet
refused "more processes than blocks" "too few for" "${mpi[@]}" -np 2 "$bin/pogo-solve" "$work/one.blk" -o "$work/o" --device cpu -q
"$bin/pogo-gen" perlin --size 40 -o "$work/bone.nrrd" --quiet
"$bin/pogo-block" "$work/bone.nrrd" --job examples/voxel/compression.toml -o "$work/bone.blk" --quiet
# Processes that see different devices have one each. No machine has as many devices.
refused "a device that is not there" "there is no CUDA" "${mpi[@]}" \
    -np 1 "$bin/pogo-solve" "$work/bone.blk" -o "$work/o" --device cuda:77 -q : \
    -np 1 env CUDA_VISIBLE_DEVICES=7 "$bin/pogo-solve" "$work/bone.blk" -o "$work/o" --device cuda:77 -q
echo "mpi: $(wc -l < "$work/passed") comparisons passed"
