#!/usr/bin/env bash
# Tests and benchmarks of the CUDA backend.
#
#   tests/gpu.sh build          builds what the other steps run, into target/gpu (no GPU needed; the folder may be carried)
#   tests/gpu.sh kernels        every element kind on the device against the CPU
#   tests/gpu.sh commands       the commands on the device against the CPU, from decks to traces
#   tests/gpu.sh fluids         fluids of every kind, alone and on solids: kernels, commands and speed beside solids
#   tests/gpu.sh shots          shots that a device steps at once, against each alone
#   tests/gpu.sh voxels         voxel statics on the device against the CPU, through the commands
#   tests/gpu.sh spring-commands  masses and springs on the device against the CPU, through the commands
#   tests/gpu.sh eikonal-commands  arrival times on the device against the CPU, through the commands
#   tests/gpu.sh test           all of these, without speeds
#   tests/gpu.sh sanitize       small runs of all kernels under compute-sanitizer: memcheck, racecheck, initcheck, synccheck
#   tests/gpu.sh bench [NODES]  node-steps a second beside the copy bandwidth, cuSPARSE, the Eikonal solver, and the paper's weld whole
#   tests/gpu.sh springs [SIZES] masses and springs in all ways: boxes of a side, and the paper's heart ("32,heart,128,256")
#   tests/gpu.sh spring-parts [SIZES]  what parts of a lattice cost on one device, 1 and 2 of them ("128")
#   tests/gpu.sh gear           the paper's gear, 500,000 steps, on the device and on the CPU
#   tests/gpu.sh all            test, then bench
#   tests/gpu.sh ptx VERSION    compiles the kernels with another NVRTC into target/gpu/ptx-VERSION (no GPU needed)
#   tests/gpu.sh compilers VERSION  speed of the stored kernels beside those of `ptx VERSION`
set -euo pipefail
cd "$(dirname "$0")/.."
bin=$PWD/target/gpu
target=${CARGO_TARGET_DIR:-$PWD/target}
work=${POGO_GPU_WORK:-${TMPDIR:-/tmp}/pogo-gpu}
python=${POGO_PYTHON:-python3}

build() {
    cargo build --release -p pogo-tools -p pogo-solver
    cargo build --release -p pogo-kernels --features bench --example bench_gpu --example bench_eikonal --example bench_voxel_gpu --example bench_spring
    mkdir -p "$bin"
    local test
    test=$(cargo test -p pogo-kernels --lib --no-run --message-format=json |
        sed -n 's/.*"executable":"\([^"]*pogo_kernels[^"]*\)".*/\1/p' | tail -1)
    cp "$test" "$bin/kernels-test"
    cp "$target"/release/pogo-{gen,block,solve} "$target"/release/examples/bench_{gpu,eikonal,spring,voxel_gpu} "$bin"
    find "$bin" -maxdepth 1 -type f -exec strip {} +
}

solve() { # BLOCK OUT ARGUMENTS...
    "$bin/pogo-solve" "$1" -o "$2" --quiet --no-fields "${@:3}"
}

kernels() {
    mkdir -p "$work"
    "$bin/kernels-test" --ignored --test-threads 1 --nocapture 2>&1 | tee "$work/kernels.log" | grep -v ' a launch: ' || true
    grep -q '^test result: ok' "$work/kernels.log"
    echo "kernels: $(grep -c ' a launch: ' "$work/kernels.log" || true) comparisons, worst f64 and f32 traces:" \
        "$(sed -n 's/.* f64, .*traces \([^,]*\),.*/\1/p' "$work/kernels.log" | sort -g | tail -1)" \
        "$(sed -n 's/.* f32, .*traces \([^,]*\),.*/\1/p' "$work/kernels.log" | sort -g | tail -1)"
}

commands() {
    mkdir -p "$work"
    # The example, and a box of every kind with all that its deck asks for.
    "$bin/pogo-block" examples/weld/weld.inp --job examples/weld/weld.toml -o "$work/weld.blk" --quiet
    local models=(weld) kind
    for kind in cpe3 cpe4 cpe4r c3d4 c3d6 c3d6f c3d8 c3d8r; do
        "$bin/pogo-gen" box --elements $kind --nodes 20000 -o "$work/$kind.inp" --quiet
        "$bin/pogo-block" "$work/$kind.inp" -o "$work/$kind.blk" --quiet
        models+=("$kind")
    done
    # What corrects a step: impedance boundaries, and linear constraints.
    printf '%s\n' '[[absorbing]]' "name = 'end'" "side = ['xmax']" "profile = 'impedance'" >"$work/end.toml"
    for kind in cpe3 cpe4r c3d4 c3d8; do
        "$bin/pogo-block" "$work/$kind.inp" --job "$work/end.toml" -o "$work/$kind-end.blk" --quiet
        models+=("$kind-end")
    done
    # Elements that feel more than the displacement.
    damped >"$work/damped.toml"
    # Constraints alone and beside all these, and beside a fluid that is tied.
    for kind in CPE4 C3D8 C3D8R; do
        "$python" tests/python/tied_boxes.py $kind 12 "$work/$kind-tied.inp"
        "$python" tests/python/tied_boxes.py $kind 12 "$work/$kind-water.inp" water
        "$bin/pogo-block" "$work/$kind-tied.inp" -o "$work/$kind-tied.blk" --quiet
        "$bin/pogo-block" "$work/$kind-tied.inp" --job "$work/end.toml" --job "$work/damped.toml" -o "$work/$kind-tied-end.blk" --quiet
        "$bin/pogo-block" "$work/$kind-water.inp" -o "$work/$kind-water.blk" --quiet
        "$bin/pogo-block" "$work/$kind-water.inp" --job "$work/end.toml" -o "$work/$kind-water-end.blk" --quiet
        models+=("$kind-tied" "$kind-tied-end" "$kind-water" "$kind-water-end")
    done
    for kind in cpe3 cpe4r c3d4 c3d8; do
        "$bin/pogo-block" "$work/$kind.inp" --job "$work/damped.toml" -o "$work/$kind-damped.blk" --quiet
        models+=("$kind-damped")
    done
    local model precision
    for model in "${models[@]}"; do
        for precision in f64 f32; do
            solve "$work/$model.blk" "$work/cpu.out" --device cpu --precision $precision
            solve "$work/$model.blk" "$work/gpu.out" --device cuda --precision $precision
            solve "$work/$model.blk" "$work/again.out" --device cuda --precision $precision
            cmp "$work/gpu.out/traces.npz" "$work/again.out/traces.npz"
            "$python" tests/python/compare_traces.py "$work/cpu.out/traces.csv" "$work/gpu.out/traces.csv" \
                $([ $precision = f64 ] && echo 1e-12 || echo 1e-5) "$model $precision"
        done
    done
}

# A job that gives a box damping in proportion to the stiffness and relaxation.
damped() {
    printf '%s\n' '[relaxation]' 'band = [1e5, 1e6]' '[[material]]' 'name = "POLYMER"' 'density = 7800' 'young = 210e9' \
        'poisson = 0.3' 'quality_factor = 30' 'beta = 1e-9' '[[section]]' 'elset = "ALL"' 'material = "POLYMER"'
}

# An array of 18 sources on the example, each of which is a shot, and one shot of all of them.
shots() {
    mkdir -p "$work"
    local k
    for k in $(seq 18); do
        printf '%s\n' '[[source]]' "name = \"s$k\"" "at = [$((4 + k))e-3, 20e-3]" 'component = "y"' 'force = 1.0' 'amplitude = "BURST"' \
            '[[shot]]' "name = \"shot$k\"" "sources = [\"s$k\"]"
    done >"$work/array.toml"
    printf '%s\n' '[[shot]]' 'name = "all"' "sources = [$(seq -s ', ' -f '"s%g"' 18)]" "delays = [$(seq -s ', ' -f '%ge-7' 18)]" \
        >>"$work/array.toml"
    "$bin/pogo-block" examples/weld/weld.inp --job examples/weld/weld.toml --job "$work/array.toml" -o "$work/array.blk" --quiet
    local precision at
    for precision in f32 f64; do
        rm -rf "$work"/array-*.out
        solve "$work/array.blk" "$work/array-at-once.out" --device cuda --precision $precision
        solve "$work/array.blk" "$work/array-alone.out" --device cuda --precision $precision --jobs 1
        # One that is stopped goes on shot by shot.
        solve "$work/array.blk" "$work/array-cut.out" --device cuda --precision $precision --wall-time 0.3s || [ $? -eq 4 ]
        solve "$work/array.blk" "$work/array-cut.out" --device cuda --precision $precision --restart
        for at in at-once cut; do
            cmp "$work/array-alone.out/shots.npz" "$work/array-$at.out/shots.npz"
        done
        echo "shots: 19 at once and after a stop, $precision: the bits of each alone"
    done
}

voxels() {
    mkdir -p "$work"
    # A porous sample and six load cases, on the CPU and on the device, twice.
    "$bin/pogo-gen" perlin --size 80 -o "$work/perlin.nrrd" --quiet
    printf '%s\n' '[image]' 'keep = "largest"' '[material]' 'law = "threshold"' 'threshold = 1' 'young = 1e4' 'poisson = 0.3' \
        '[solver]' 'tolerance = 1e-10' '[load]' 'preset = "axial"' 'strain = -0.01' >"$work/perlin.toml"
    "$bin/pogo-block" "$work/perlin.nrrd" --job "$work/perlin.toml" -o "$work/perlin.blk" --quiet
    solve "$work/perlin.blk" "$work/cpu.out" --device cpu
    solve "$work/perlin.blk" "$work/gpu.out" --device cuda
    solve "$work/perlin.blk" "$work/again.out" --device cuda
    cmp "$work/gpu.out/displacement.npy" "$work/again.out/displacement.npy"
    "$python" tests/python/compare_voxels.py "$work/cpu.out" "$work/gpu.out" 1e-6 perlin
    sed -i 's/axial/six-cases/' "$work/perlin.toml"
    "$bin/pogo-block" "$work/perlin.nrrd" --job "$work/perlin.toml" -o "$work/six.blk" --quiet
    solve "$work/six.blk" "$work/cpu.out" --device cpu
    solve "$work/six.blk" "$work/gpu.out" --device cuda
    "$python" tests/python/compare_voxels.py "$work/cpu.out" "$work/gpu.out" 1e-6 "six cases"
    # A laminate of two Poisson's ratios.
    laminate
    solve "$work/laminate.blk" "$work/cpu.out" --device cpu
    solve "$work/laminate.blk" "$work/gpu.out" --device cuda
    solve "$work/laminate.blk" "$work/again.out" --device cuda
    cmp "$work/gpu.out/displacement.npy" "$work/again.out/displacement.npy"
    "$python" tests/python/compare_voxels.py "$work/cpu.out" "$work/gpu.out" 1e-6 laminate
    # Two devices that exchange messages have the bits of two that read each other's memory: one load case, six, and two ratios.
    [ "$(nvidia-smi --list-gpus | wc -l)" -gt 1 ] || return 0
    for model in perlin six laminate; do
        solve "$work/$model.blk" "$work/memory.out" --device cuda:0,1
        solve "$work/$model.blk" "$work/messages.out" --device cuda:0,1 --exchange messages
        for file in "$work"/memory.out/*displacement*.npy; do
            cmp "$file" "$work/messages.out/$(basename "$file")"
        done
        echo "$model: the bits of two devices by messages"
    done
}

# Layers of two materials, pulled along them.
laminate() {
    awk 'BEGIN { for (k = 0; k < 40; k++) for (i = 0; i < 36 * 30; i++) printf "%d", int(i / 36) % 10 < 4 ? 1 : 2 }' |
        tr '12' '\001\002' >"$work/laminate.raw"
    printf '%s\n' 'shape = [36, 30, 40]' 'type = "uint8"' >"$work/laminate.raw.toml"
    printf '%s\n' '[image]' 'spacing = 0.1' '[material]' 'law = "threshold"' 'threshold = [1, 2]' 'young = [1000.0, 3000.0]' \
        'poisson = [0.45, 0.0]' '[solver]' 'tolerance = 1e-10' '[load]' 'preset = "axial"' 'strain = 0.01' >"$work/laminate.toml"
    "$bin/pogo-block" "$work/laminate.raw" --job "$work/laminate.toml" -o "$work/laminate.blk" --quiet
}

spring_commands() {
    mkdir -p "$work"
    # The example with a blade, dampers, driven ends and springs that break, and with what its base bears.
    awk 'BEGIN { for (k = 0; k < 8; k++) for (i = 0; i < 24 * 12; i++) printf "%d", k < 6 ? 1 : 2 }' | tr '12' '\001\002' >"$work/tissue.raw"
    printf '%s\n' 'shape = [24, 12, 8]' 'type = "uint8"' >"$work/tissue.raw.toml"
    cp examples/spring/tissue.toml "$work/tissue.toml"
    sed -i 's/max_strain = 0.8/max_strain = 0.1/' "$work/tissue.toml"
    printf '%s\n' '[[monitor]]' 'name = "BASE"' 'side = "zmin"' 'variables = ["RF"]' 'count = 50' >>"$work/tissue.toml"
    "$bin/pogo-block" "$work/tissue.raw" --job "$work/tissue.toml" -o "$work/tissue.blk" --quiet
    # The paper's box, a larger one, and its heart, swinging under gravity with a poke.
    "$bin/pogo-gen" box 16 -o "$work/small.npy" --quiet
    "$bin/pogo-gen" box 48 -o "$work/large.npy" --quiet
    "$bin/pogo-gen" box --heart -o "$work/heart.npy" --quiet
    printf '%s\n' 'physics = "spring"' '[image]' 'spacing = 1.0' '[solver]' 'time = 60.0' 'alpha = 0.01' '[[material]]' 'name = "a"' 'mass = 1.0' \
        'stiffness = { axis = 1.0, face = 0.7 }' '[[boundary]]' 'side = "zmin"' '[[gravity]]' 'vector = [1e-3, 0, -1e-3]' \
        '[[source]]' 'at = [8, 8, 40]' 'direction = [0, 1, 0]' 'force = 0.05' \
        'amplitude = { kind = "table", times = [0, 9], values = [0, 1] }' \
        '[[monitor]]' 'name = "BASE"' 'side = "zmin"' 'variables = ["RF"]' 'count = 30' \
        '[[monitor]]' 'name = "TOP"' 'side = "zmax"' 'count = 30' >"$work/lattice.toml"
    local model
    for model in small large heart; do
        "$bin/pogo-block" "$work/$model.npy" --job "$work/lattice.toml" -o "$work/$model.blk" --quiet
    done
    local addressing file
    for model in tissue small large heart; do
        solve "$work/$model.blk" "$work/cpu.out" --device cpu --precision f64
        for addressing in auto implicit explicit explicit-global; do
            solve "$work/$model.blk" "$work/gpu.out" --device cuda --precision f64 --addressing $addressing
            for file in traces.csv broken.csv; do
                cmp <(grep -v '^#' "$work/cpu.out/$file") <(grep -v '^#' "$work/gpu.out/$file")
            done
            "$python" tests/python/compare_traces.py "$work/cpu.out/energy.csv" "$work/gpu.out/energy.csv" 1e-10 "$model f64 $addressing energies"
        done
        echo "$model f64: $(grep -vc '^#' "$work/cpu.out/traces.csv") rows, $(grep -vc '^#' "$work/cpu.out/broken.csv") lines of changes, all the same"
        # Where springs break, single precision takes other ways.
        [ $model = tissue ] && continue
        solve "$work/$model.blk" "$work/cpu.out" --device cpu --precision f32
        for addressing in auto implicit explicit explicit-global; do
            solve "$work/$model.blk" "$work/gpu.out" --device cuda --precision f32 --addressing $addressing
            for file in traces.csv energy.csv; do
                "$python" tests/python/compare_traces.py "$work/cpu.out/$file" "$work/gpu.out/$file" 1e-4 "$model f32 $addressing $file"
            done
        done
    done
    # Parts on one device, as on several, have the bits of one that steps them in the same way. In single precision `explicit` and
    # `auto` of one device are another kernel for models as small as the first and the heart.
    local precision parts
    for model in tissue large; do
        for precision in f64 f32; do
            for addressing in auto implicit explicit explicit-global; do
                solve "$work/$model.blk" "$work/gpu.out" --device cuda --precision $precision --addressing $addressing
                for parts in "0,0" "0,0,0 --exchange plain"; do
                    # shellcheck disable=SC2086
                    solve "$work/$model.blk" "$work/parts.out" --device cuda:$parts --precision $precision --addressing $addressing
                    for file in traces.csv broken.csv; do
                        cmp <(grep -v '^#' "$work/gpu.out/$file") <(grep -v '^#' "$work/parts.out/$file")
                    done
                    "$python" tests/python/compare_traces.py "$work/gpu.out/energy.csv" "$work/parts.out/energy.csv" 1e-12 \
                        "$model $precision $addressing parts $parts energies"
                done
            done
        done
    done
    # A run that is stopped at a checkpoint goes on with the same bits, in another number of parts or on a CPU.
    restarted f32 cuda cuda 30
    restarted f32 cuda:0,0 cuda:0,0,0 3
    restarted f64 cuda:0,0 cpu 3
}

# Stops a run on one device at a checkpoint, and goes on with it on another.
restarted() { # PRECISION DEVICE DEVICE TIME
    local file solver code=0
    solve "$work/tissue.blk" "$work/whole.out" --device cuda --precision $1 --time $4
    rm -rf "$work/parts.out"
    # Not by the function: the signal is for the command itself.
    "$bin/pogo-solve" "$work/tissue.blk" -o "$work/parts.out" --quiet --no-fields --device $2 --precision $1 --time $4 \
        --checkpoint-interval 500steps &
    solver=$!
    until [ -e "$work/parts.out/checkpoint.pogo" ] || ! kill -0 $solver 2>/dev/null; do sleep 0.01; done
    kill -TERM $solver 2>/dev/null || true
    wait $solver || code=$?
    [ $code = 4 ] || { echo "the run was not interrupted: $code"; exit 1; }
    solve "$work/tissue.blk" "$work/parts.out" --device $3 --precision $1 --time $4 --restart
    for file in traces.csv broken.csv; do
        cmp <(grep -v '^#' "$work/whole.out/$file") <(grep -v '^#' "$work/parts.out/$file")
    done
    echo "restart $1 of $2 on $3: the same"
}

eikonal_commands() {
    mkdir -p "$work"
    # A ventricle with fibres, sheets and a scar, in all ways to work on sub-domains and in parts; a table of start sites; triangles in
    # the plane.
    "$bin/pogo-gen" ventricle --rings "${POGO_GPU_RINGS:-40}" --layers "${POGO_GPU_LAYERS:-10}" -o "$work/ventricle.vtu" --quiet
    "$bin/pogo-block" "$work/ventricle.vtu" --job examples/eikonal/activation.toml -o "$work/ventricle.blk" --domains 74 --quiet
    "$bin/pogo-gen" box --elements cpe3 --nodes 20000 -o "$work/plane.inp" --quiet
    printf '%s\n' 'physics = "eikonal"' '[[velocity]]' 'tensor = [4, 2, 1, 1, 0, 0]' '[[start]]' 'node = 1' >"$work/plane.toml"
    "$bin/pogo-block" "$work/plane.inp" --job "$work/plane.toml" -o "$work/plane.blk" --domains 74 --domain-partition aligned --quiet
    { echo case,x,y,z; seq 0 19 | awk '{printf "%d,%g,%g,%g\n", $1, 20 * cos($1), 20 * sin($1), -2 * $1}'; } >"$work/sites.csv"
    local model precision way limit
    for precision in f64 f32; do
        limit=$([ $precision = f64 ] && echo 1e-12 || echo 1e-5)
        for model in ventricle plane; do
            solve "$work/$model.blk" "$work/cpu.out" --device cpu --precision $precision
            for way in automatic first second; do
                solve "$work/$model.blk" "$work/gpu.out" --device cuda --precision $precision --set solver.decomposition=$way
                "$python" tests/python/compare_eikonal.py "$work/cpu.out" "$work/gpu.out" $limit "$model $precision $way"
                [ $way = automatic ] || continue
                # Two parts on one device, by its memory and by messages.
                local exchange
                for exchange in overlap messages; do
                    solve "$work/$model.blk" "$work/parts.out" --device cuda:0,0 --precision $precision --exchange $exchange
                    cmp "$work/gpu.out/arrival.npy" "$work/parts.out/arrival.npy"
                    echo "$model $precision in two parts, $exchange: the same times"
                done
            done
        done
        solve "$work/ventricle.blk" "$work/cpu.out" --device cpu --precision $precision --starts "$work/sites.csv"
        solve "$work/ventricle.blk" "$work/gpu.out" --device cuda --precision $precision --starts "$work/sites.csv"
        "$python" tests/python/compare_eikonal.py "$work/cpu.out" "$work/gpu.out" $limit "sites $precision"
    done
}

# Tanks of fluids, and of fluids and steel, on the device against the CPU: traces and energies, restarts, parts on one device.
fluid_commands() {
    mkdir -p "$work"
    local kind name n_fluid precision limit file job
    printf '%s\n' '[[absorbing]]' 'name = "end"' 'side = "xmin"' 'depth = 4e-3' 'profile = "stiffness_reduction"' 'frequency = 5e5' 'wave_speed = 1483' >"$work/layer.toml"
    for kind in AC2D3 AC2D4 AC2D4R AC3D4 AC3D6 AC3D8 AC3D8R; do
        for n_fluid in 14 24; do
            name=$kind-$n_fluid
            awk -f tests/fluids/tank.awk -v kind=$kind -v nx=24 -v ny=12 -v nz=10 -v n_fluid=$n_fluid -v distort=0.1 >"$work/$name.inp"
            job=$([ $n_fluid = 14 ] || echo "--job $work/layer.toml")
            "$bin/pogo-block" "$work/$name.inp" $job -o "$work/$name.blk" --block-nodes 256 --quiet
            for precision in f64 f32; do
                limit=$([ $precision = f64 ] && echo 1e-11 || echo 1e-4)
                solve "$work/$name.blk" "$work/cpu.out" --device cpu --precision $precision
                solve "$work/$name.blk" "$work/gpu.out" --device cuda --precision $precision
                # Not the balance: it is the rounding that is left of the other energies.
                for file in cpu gpu; do cut -d, -f1-5 "$work/$file.out/energy.csv" >"$work/$file.out/energies.csv"; done
                for file in traces.csv energies.csv; do
                    "$python" tests/python/compare_traces.py "$work/cpu.out/$file" "$work/gpu.out/$file" $limit "$name $precision $file"
                done
                solve "$work/$name.blk" "$work/parts.out" --device cuda:0,0 --precision $precision
                "$python" tests/python/compare_traces.py "$work/cpu.out/traces.csv" "$work/parts.out/traces.csv" $limit "$name $precision parts"
                rm -rf "$work/half.out"
                solve "$work/$name.blk" "$work/half.out" --device cuda --precision $precision --time 1.2e-5 --keep-checkpoint
                solve "$work/$name.blk" "$work/half.out" --device cuda --precision $precision --restart
                cmp <(grep -v '^#' "$work/gpu.out/traces.csv") <(grep -v '^#' "$work/half.out/traces.csv")
            done
        done
    done
}

# Node-steps a second of elements of fluids beside those of solids, in grids of boxes and in meshes without one.
fluid_speed() {
    "$bin/bench_gpu" CPE3,AC2D3,CPE4,AC2D4,CPE4R,AC2D4R 1000000 f32,f64 512 0
    "$bin/bench_gpu" C3D4,AC3D4,C3D6,AC3D6,C3D8,AC3D8,C3D8R,AC3D8R 1000000 f32,f64 512 0
    "$bin/bench_gpu" C3D4,AC3D4,C3D8,AC3D8,C3D8R,AC3D8R 1000000 f32,f64 512 0.15
    "$bin/bench_gpu" C3D4,AC3D4,C3D8,AC3D8,C3D8R,AC3D8R 1000000 f32,f64 512 0.15 blocks
}

fluids() {
    mkdir -p "$work"
    "$bin/kernels-test" --ignored --test-threads 1 --nocapture fluids 2>&1 | tee "$work/fluids.log" | grep -v ' a launch: ' || true
    grep -q '^test result: ok' "$work/fluids.log"
    echo "kernels of fluids: $(grep -c ' a launch: ' "$work/fluids.log") comparisons, worst f64 and f32 traces:" \
        "$(sed -n 's/.* f64, .*traces \([^,]*\),.*/\1/p' "$work/fluids.log" | sort -g | tail -1)" \
        "$(sed -n 's/.* f32, .*traces \([^,]*\),.*/\1/p' "$work/fluids.log" | sort -g | tail -1)"
    fluid_commands
    fluid_speed
}

# Lines of the form NAME BLOCK OPTIONS... of small runs that start every kernel.
sanitized_runs() {
    local kind precision addressing way
    damped >"$work/damped.toml"
    for kind in cpe3 cpe4 cpe4r c3d4 c3d6 c3d8 c3d8r; do
        "$bin/pogo-gen" box --elements $kind --nodes 400 -o "$work/$kind.inp" --quiet
        "$bin/pogo-block" "$work/$kind.inp" -o "$work/$kind.blk" --block-nodes 128 --quiet
        "$bin/pogo-block" "$work/$kind.inp" --job "$work/damped.toml" -o "$work/$kind-damped.blk" --block-nodes 128 --quiet
        for precision in f32 f64; do
            echo "$kind-$precision $kind.blk --device cuda --time 1e-6 --precision $precision"
            echo "$kind-$precision-damped $kind-damped.blk --device cuda --time 1e-6 --precision $precision"
            # Parts on one device: meshes without grids, and the exchange.
            echo "$kind-$precision-parts $kind.blk --device cuda:0,0 --time 1e-6 --precision $precision"
            echo "$kind-$precision-messages $kind.blk --device cuda:0,0 --exchange messages --time 1e-6 --precision $precision"
        done
    done
    local n_fluid
    for kind in AC2D3 AC2D4 AC2D4R AC3D4 AC3D6 AC3D8 AC3D8R; do
        for n_fluid in 4 8; do
            awk -f tests/fluids/tank.awk -v kind=$kind -v nx=8 -v ny=6 -v nz=6 -v n_fluid=$n_fluid -v distort=0.1 >"$work/tank.inp"
            "$bin/pogo-block" "$work/tank.inp" -o "$work/$kind-$n_fluid-tiny.blk" --block-nodes 128 --quiet
            for precision in f32 f64; do
                echo "$kind-$n_fluid-$precision $kind-$n_fluid-tiny.blk --device cuda --time 1e-6 --precision $precision"
            done
        done
    done
    "$bin/pogo-gen" perlin --size 20 -o "$work/tiny.nrrd" --quiet
    "$bin/pogo-block" "$work/tiny.nrrd" --job examples/voxel/compression.toml -o "$work/tiny.blk" --quiet
    echo "voxels tiny.blk --device cuda"
    echo "voxels-fine tiny.blk --device cuda --tolerance 1e-10"
    laminate
    echo "voxels-ratios laminate.blk --device cuda"
    "$bin/pogo-gen" box 8 -o "$work/lattice.npy" --quiet
    "$bin/pogo-block" "$work/lattice.npy" --job "$work/lattice.toml" -o "$work/lattice.blk" --quiet
    for precision in f32 f64; do
        for addressing in auto implicit explicit explicit-global; do
            echo "springs-$precision-$addressing lattice.blk --device cuda --time 5e-3 --precision $precision --addressing $addressing"
            echo "springs-$precision-$addressing-parts lattice.blk --device cuda:0,0 --time 5e-3 --precision $precision --addressing $addressing"
        done
    done
    "$bin/pogo-gen" ventricle --rings 8 --layers 3 -o "$work/chamber.vtu" --quiet
    "$bin/pogo-block" "$work/chamber.vtu" --job examples/eikonal/activation.toml -o "$work/chamber.blk" --domains 6 --quiet
    { echo case,x,y,z; seq 0 9 | awk '{printf "%d,%g,%g,%g\n", $1, 20 * cos($1), 20 * sin($1), -2 * $1}'; } >"$work/places.csv"
    for precision in f32 f64; do
        for way in overlap messages; do
            echo "arrival-$precision-$way chamber.blk --device cuda:0,0 --precision $precision --exchange $way"
        done
        for way in automatic first second; do
            echo "arrival-$precision-$way chamber.blk --device cuda --precision $precision --set solver.decomposition=$way"
        done
        echo "arrival-$precision-table chamber.blk --device cuda --precision $precision --starts places.csv"
    done
}

# Runs a command under a tool; leaves the log and a line that says how it ended.
sanitized() { # TOOL NAME BLOCK OPTIONS...
    local log=$work/sanitizer/$1-$2.log code=0
    (cd "$work" && timeout 400 "$sanitizer" --tool "$1" --error-exitcode 99 "$bin/pogo-solve" "$3" "${@:4}" -o "sanitizer/$1-$2.out" \
        --no-fields --quiet) >"$log" 2>&1 || code=$?
    # Races that kernels/src/device/README.md explains.
    if [ "$1" = racecheck ] && [ $code = 99 ] &&
        ! grep -oE 'access at [a-z_0-9]+' "$log" | grep -qvE 'at (solids|colours|fans|second)_'; then
        code=0
    fi
    printf '%-9s %-28s exit %3d  %s\n' "$1" "$2" "$code" "$(grep -E 'SUMMARY' "$log" | tail -1)" >>"$work/sanitizer/table"
}

sanitize() { # TOOLS...
    mkdir -p "$work"
    sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer)
    sanitized_runs >"$work/sanitized"
    rm -rf "$work/sanitizer"
    mkdir "$work/sanitizer"
    export bin work sanitizer
    export -f sanitized
    for tool in ${1:-memcheck racecheck initcheck synccheck}; do sed "s/^/$tool /" "$work/sanitized"; done |
        xargs -P "${JOBS:-8}" -L 1 bash -c 'sanitized "$@"' _
    sort "$work/sanitizer/table" | grep -v 'exit   0' || true
    echo "$(grep -c 'exit   0' "$work/sanitizer/table") of $(wc -l <"$work/sanitizer/table") runs under compute-sanitizer end without a finding to look into"
    ! grep -qv 'exit   0' "$work/sanitizer/table"
}

bench() {
    mkdir -p "$work"
    local nodes=${1:-10000000}
    "$bin/bench_gpu" CPE3 "500000,$nodes" f32,f64 512
    "$bin/bench_gpu" C3D4,C3D8,C3D8R "$((nodes / 2))" f32,f64 512
    "$bin/bench_gpu" C3D8,C3D8R "$((nodes / 2))" f32,f64 512 0
    # As in meshes without grids.
    "$bin/bench_gpu" C3D4,C3D8,C3D8R "$((nodes / 2))" f32,f64 512 0.15 blocks
    # The Eikonal equation: 3.07 million tetrahedra with every form and 100 start sites, and 24.6 million.
    "$bin/bench_eikonal" 80 device=cuda precisions=f32 wide=1,0 windows=inf,4 sets=8 domains=74,2700 inner=1,4 cases=100
    "$bin/bench_eikonal" 80 device=cuda precisions=f64 windows=4 sets=1 wide=0
    "$bin/bench_eikonal" 160 device=cuda precisions=f32 wide=1 windows=4 variants=six sets=1
    # The finest level of voxel statics: noise of 108 million degrees of freedom, and a solid cube.
    "$bin/bench_voxel_gpu" 440 0.35
    "$bin/bench_voxel_gpu" 440 1 0
    # The same triangles as a cuSPARSE matrix.
    local triangles
    for triangles in 1000000 "$nodes"; do
        "$bin/pogo-gen" box --elements cpe3 --nodes "$triangles" -o "$work/box.inp" --quiet
        "$bin/pogo-block" "$work/box.inp" -o "$work/box.blk" --quiet
        "$python" tests/python/cusparse.py "$work/box.inp" "$bin/pogo-solve" "$work/box.blk" || true
    done
    # The paper's weld from the first byte to the last.
    "$bin/pogo-gen" weld -o "$work/weld-full.inp" --quiet
    "$bin/pogo-block" "$work/weld-full.inp" -o "$work/weld-full.blk" --quiet
    local precision start
    for precision in f32 f64; do
        start=$(date +%s.%N)
        solve "$work/weld-full.blk" "$work/weld-full.out" --device cuda --precision $precision
        summary "weld $precision" "$work/weld-full.out" "$start"
    done
}

springs() {
    "$bin/bench_spring" cuda "${1:-32,heart,128,256}" f32
    "$bin/bench_spring" cuda "${1:-32,heart,128}" f64
}

# Particle-steps a second of a lattice in one part and in two on one device.
spring_parts() { # SIZES...
    mkdir -p "$work"
    local size precision addressing devices
    # With the job that comes with the box.
    for size in ${*:-128}; do
        "$bin/pogo-gen" box "$size" -o "$work/box.npy" --quiet
        "$bin/pogo-block" "$work/box.npy" --job "$work/box.toml" -o "$work/box.blk" --quiet
        for precision in f32 f64; do
            for addressing in implicit explicit; do
                for devices in 0 "0,0" 0 "0,0"; do
                    solve "$work/box.blk" "$work/box.out" --device cuda:$devices --precision $precision --addressing $addressing \
                        --energy-samples 2
                    "$python" -c 'import json, sys
s = json.load(open(sys.argv[1] + "/summary.json"))
print("lattice of", sys.argv[2] + "^3", *sys.argv[3:], "on", s["device"] + ":", s["steps"], "steps,", round(1e6 * s["loop_seconds"] / s["steps"], 1), "us a step")' \
                        "$work/box.out" "$size" $precision $addressing
                done
            done
        done
    done
}

gear() {
    mkdir -p "$work"
    "$bin/pogo-gen" gear -o "$work/gear.inp" --quiet
    "$bin/pogo-block" "$work/gear.inp" -o "$work/gear.blk" --quiet
    local device start
    for device in cuda cpu; do
        start=$(date +%s.%N)
        solve "$work/gear.blk" "$work/gear-$device.out" --device $device --precision f32
        summary "gear f32" "$work/gear-$device.out" "$start"
    done
    "$python" tests/python/compare_traces.py "$work/gear-cpu.out/traces.csv" "$work/gear-cuda.out/traces.csv" 1e-2 "gear f32"
}

ptx() {
    cargo xtask kernels --toolkit "$1" --out "$bin/ptx-$1"
}

compilers() {
    local set
    for set in "" "$bin/ptx-$1" "" "$bin/ptx-$1"; do
        echo "== ${set:-stored kernels}"
        [ -z "$set" ] || export POGO_PTX=$set
        "$bin/bench_gpu" CPE3,CPE4 4000000 f32,f64 512
        "$bin/bench_gpu" C3D4,C3D8,C3D8R 2000000 f32,f64 512
        "$bin/bench_gpu" C3D4,C3D8,C3D8R 2000000 f32,f64 512 0.15 blocks
        "$bin/bench_eikonal" 60 device=cuda precisions=f32 wide=1,0 windows=4 sets=8
        "$bin/bench_voxel_gpu" 256 0.35
        "$bin/bench_spring" cuda "32,heart,128" f32,f64
        unset POGO_PTX
    done
}

summary() { # NAME FOLDER START
    "$python" - "$@" <<'PY'
import json, sys, time
name, folder, start = sys.argv[1:]
s = json.load(open(folder + "/summary.json"))
e = s["energy"]
print(f"{name} on {s['device']}: {s['nodes']} nodes, {s['steps']} steps, status {s['status']}, loop {s['loop_seconds']:.2f} s, "
      f"in all {time.time() - float(start):.2f} s, {s['node_steps_per_second'] / 1e9:.2f} G node-steps/s, energy {e}")
PY
}

nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null || true
case ${1:-all} in
build) build ;;
kernels) kernels ;;
commands) commands ;;
fluids) fluids ;;
shots) shots ;;
voxels) voxels ;;
spring-commands) spring_commands ;;
eikonal-commands) eikonal_commands ;;
sanitize) sanitize "${2:-}" ;;
test) kernels; commands; fluid_commands; shots; voxels; spring_commands; eikonal_commands ;;
bench) bench "${@:2}" ;;
springs) springs "${@:2}" ;;
spring-parts) spring_parts "${@:2}" ;;
gear) gear ;;
ptx) ptx "$2" ;;
compilers) compilers "$2" ;;
all) kernels; commands; fluid_commands; shots; voxels; spring_commands; eikonal_commands; bench ;;
*) sed -n '2,20s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac
