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

typedef unsigned short u16;

/// The upper half of a number, rounded.
DEVICE u16 upper_half(float v) {
    u32 bits = __float_as_uint(v);
    bits += 0x7fff + (bits >> 16 & 1);
    return u16(bits >> 16);
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

/// α = z·r / p·q; x += α p, r −= α q, q is kept as the upper halves of its numbers; sums of r² by thread block.
extern "C" __global__ void __launch_bounds__(256) outer_update(
    double* scalar, const float* p, const float* q, double* x, float* r, u16* kept, double* partial, u64 n) {
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
        ushort4 upper;
        upper.x = upper_half(dq.v[0]);
        upper.y = upper_half(dq.v[1]);
        upper.z = upper_half(dq.v[2]);
        upper.w = upper_half(dq.v[3]);
        reinterpret_cast<ushort4*>(kept)[i] = upper;
        add_dot(sum, v, v);
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) partial[blockIdx.x] = sum;
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        scalar[ALPHA] = alpha;
        scalar[BEFORE] = scalar[ZR];
    }
}

/// Sums of z q by thread block, of the q before.
extern "C" __global__ void __launch_bounds__(256)
    outer_dot(const float* z, const u16* kept, double* partial, u64 n) {
    double sum = 0;
    for (u64 i = blockIdx.x * 256ull + threadIdx.x; 4 * i < n; i += gridDim.x * 256ull) {
        const ushort4 q = reinterpret_cast<const ushort4*>(kept)[i];
        const Four upper = {__uint_as_float(u32(q.x) << 16), __uint_as_float(u32(q.y) << 16),
                            __uint_as_float(u32(q.z) << 16), __uint_as_float(u32(q.w) << 16)};
        add_dot(sum, load(z, i), upper);
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

/// out = x of n nodes, of which node i is `order[i]` in x.
extern "C" __global__ void __launch_bounds__(256)
    outer_take(const double* x, const u32* order, double* out, u64 n) {
    for (u64 i = blockIdx.x * 256ull + threadIdx.x; i < 3 * n; i += gridDim.x * 256ull)
        out[i] = x[3 * u64(order[i / 3]) + i % 3];
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
