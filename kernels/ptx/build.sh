#!/usr/bin/env bash
# Compiles the CUDA kernels to the PTX that is committed here. NVCC names the compiler of CUDA 13.0; without it one is
# installed from PyPI into target/nvcc. --check compares instead of writing.
set -euo pipefail
cd "$(dirname "$0")/../.."

if [ -z "${NVCC:-}" ]; then
    venv=target/nvcc
    if [ ! -x $venv/bin/python ]; then
        python3 -m venv $venv
        $venv/bin/pip install --quiet --disable-pip-version-check nvidia-cuda-nvcc==13.0.* nvidia-nvvm==13.0.* \
            nvidia-cuda-crt==13.0.* nvidia-cuda-runtime==13.0.* nvidia-cuda-cccl==13.0.*
    fi
    NVCC=$(echo $venv/lib/python3*/site-packages/nvidia/cu13/bin/nvcc)
fi
out=kernels/ptx
[ "${1:-}" = --check ] && out=$(mktemp -d)

# NAME SOURCE OPTIONS: PTX of kernels/src/SOURCE for compute capability 8.0; the driver compiles it for what it finds.
compile() {
    "$NVCC" -arch=compute_80 -ptx -O3 "${@:3}" -o "$out/$1.ptx" "kernels/src/$2"
    # Without the compiler's banner, whose build number changes while the code does not, and without the hash of this folder
    # in the names of functions that a file keeps to itself.
    sed -i '/^\/\//d; s/_INTERNAL_[0-9a-f]\{8\}_/_INTERNAL_00000000_/g' "$out/$1.ptx"
}
compile setup explicit/gpu/setup.cu &
compile colours_plane explicit/gpu/colours.cu &
wait
for law in isotropic aligned coupled; do
    compile fans_${law}_f32 explicit/gpu/fans.cu -DPOGO_LAW=$law &
    compile fans_${law}_f64 explicit/gpu/fans.cu -DPOGO_LAW=$law -DPOGO_F64 &
    wait
done
compile solids_f32 explicit/gpu/solids.cu &
compile solids_f64 explicit/gpu/solids.cu -DPOGO_F64 &
wait
compile march_f32 explicit/gpu/march.cu &
compile march_f64 explicit/gpu/march.cu -DPOGO_F64 &
wait
compile brick_f32 voxel/gpu/brick.cu &
compile brick_f64 voxel/gpu/brick.cu -DPOGO_F64 &
compile levels voxel/gpu/levels.cu &
wait
compile eikonal_active_f32 eikonal/gpu/active.cu &
compile eikonal_active_f64 eikonal/gpu/active.cu -DPOGO_F64 &
compile eikonal_wide eikonal/gpu/wide.cu &
compile eikonal_domains_f32 eikonal/gpu/domains.cu &
compile eikonal_domains_f64 eikonal/gpu/domains.cu -DPOGO_F64 &
wait
compile spring_f32 spring/gpu/general.cu &
# Without fused multiply-adds double precision has the CPU's bits.
compile spring_f64 spring/gpu/general.cu -DPOGO_F64 -fmad=false &
compile spring_columns spring/gpu/columns.cu &
compile spring_resident spring/gpu/resident.cu &
wait
if [ "${1:-}" = --check ]; then
    diff -rq --exclude=build.sh kernels/ptx "$out" && echo "PTX is what the sources give"
fi
