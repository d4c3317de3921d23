// The coarse levels in one cooperative launch, and the vector steps of the outer conjugate gradients.

#include "levels.cuh"

/// z of the finest level += coarse correction for its residual. All thread blocks must be resident.
extern "C" __global__ void __launch_bounds__(256, 2) coarse_correction(const Tables* from) {
    __shared__ Tables tables;
    for (u32 i = threadIdx.x; i < sizeof(Tables) / 4; i += blockDim.x)
        reinterpret_cast<u32*>(&tables)[i] = reinterpret_cast<const u32*>(from)[i];
    __syncthreads();
    Grid g(tables);
    correct(g, tables);
}

/// What the host and the kernels of the outer conjugate gradients know of each other, f64.
enum Scalar : u32 { ZR, ZQ, PQ, UNUSED, RR, ALPHA, BEFORE, WORK, SCALARS };

/// p = z + β p; β = −α z·q / (z·r before), Polak and Ribière's, 0 at the start.
extern "C" __global__ void __launch_bounds__(256)
    outer_direction(const double* scalar, const float* z, float* p, u64 n) {
    const double before = scalar[BEFORE];
    const float beta = before == 0 ? 0.0f : float(-scalar[ALPHA] * scalar[ZQ] / before);
    for (u64 i = blockIdx.x * 256ull + threadIdx.x; 4 * i < n; i += gridDim.x * 256ull) {
        Four v = load(z, i), old = load(p, i);
        EACH v.v[m] += beta * old.v[m];
        store(p, i, v);
    }
}

/// The sum over a thread block in one order, in thread 0.
DEVICE double block_sum(double v) {
    __shared__ double warps[8];
    for (int k = 16; k > 0; k >>= 1) v += __shfl_xor_sync(~0u, v, k);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = v;
    __syncthreads();
    v = 0;
    for (u32 w = 0; w < blockDim.x / 32; w++) v += warps[w];
    return v;
}

/// α = z·r / p·q; x += α p, r −= α q; sums of r² by thread block.
extern "C" __global__ void __launch_bounds__(256) outer_update(
    double* scalar, const float* p, const float* q, double* x, float* r, double* partial, u64 n) {
    const double alpha = scalar[ZR] / scalar[PQ];
    const float factor = float(alpha);
    double sum = 0;
    for (u64 i = blockIdx.x * 256ull + threadIdx.x; 4 * i < n; i += gridDim.x * 256ull) {
        const Four dp = load(p, i), dq = load(q, i);
        Four v = load(r, i);
        double2* to = reinterpret_cast<double2*>(x) + 2 * i;
        double2 a = to[0], b = to[1];
        a.x += alpha * double(dp.v[0]);
        a.y += alpha * double(dp.v[1]);
        b.x += alpha * double(dp.v[2]);
        b.y += alpha * double(dp.v[3]);
        to[0] = a;
        to[1] = b;
        EACH v.v[m] -= factor * dq.v[m];
        store(r, i, v);
        add_dot(sum, v, v);
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) partial[blockIdx.x] = sum;
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        scalar[ALPHA] = alpha;
        scalar[BEFORE] = scalar[ZR];
    }
}

/// out[0] = Σ partial; one thread block.
extern "C" __global__ void __launch_bounds__(256) outer_sum(const double* partial, u32 n, double* out) {
    double v = 0;
    for (u32 i = threadIdx.x; i < n; i += 256) v += partial[i];
    v = block_sum(v);
    if (threadIdx.x == 0) out[0] = v;
}

/// x = value at the prescribed degrees of freedom.
extern "C" __global__ void __launch_bounds__(256)
    outer_prescribe(double* x, const u32* dof, const double* value, u64 n) {
    for (u64 i = blockIdx.x * 256ull + threadIdx.x; i < n; i += gridDim.x * 256ull) x[dof[i]] = value[i];
}
