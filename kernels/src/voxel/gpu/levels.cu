// The kernels of the coarse levels for one device, and the vector operations of the outer conjugate gradients.

#include "coarse.cuh"

/// p = z + β p with β = −z·q / (p·q of the previous iteration), or β = 0 in the first. p is conjugate to the previous
/// direction for any preconditioner.
extern "C" __global__ void __launch_bounds__(256)
    outer_direction(const double* scalar, const float* z, float* p, u64 n) {
    const double before = scalar[PQ_BEFORE];
    const float beta = before == 0 ? 0.0f : float(-scalar[ZQ] / before);
    for (u64 i = blockIdx.x * 256ull + threadIdx.x; 4 * i < n; i += gridDim.x * 256ull) {
        Four v = load(z, i), old = load(p, i);
        EACH v.v[m] += beta * old.v[m];
        store(p, i, v);
    }
}

/// Sum over a thread block in a fixed order. Only thread 0 has the result.
DEVICE double block_sum(double v) {
    __shared__ double warps[8];
    for (int k = 16; k > 0; k >>= 1) v += __shfl_xor_sync(~0u, v, k);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = v;
    __syncthreads();
    v = 0;
    for (u32 w = 0; w < blockDim.x / 32; w++) v += warps[w];
    return v;
}

/// x in double precision, as an upper and a lower part of each number. A lower part of 16 bits omits the lowest bits.
template <class Low> struct Solution {
    u32* upper;
    Low* lower;
    static constexpr u32 MISSING = 32 - 8 * sizeof(Low);

    static DEVICE double join(u32 upper, Low lower) {
        return __longlong_as_double((long long)(u64(upper) << 32 | u64(lower) << MISSING));
    }
    static DEVICE void split(double v, u32& upper, Low& lower) {
        u64 bits = u64(__double_as_longlong(v));
        if (MISSING) bits += 1ull << MISSING >> 1;
        upper = u32(bits >> 32);
        lower = Low(bits >> MISSING);
    }
};

template <class T> struct alignas(4 * sizeof(T)) Quad {
    T v[4];
};

/// α = p·r / p·q; x += α p, r −= α q; one sum of r² for each thread block.
template <class Low>
DEVICE void update(double* scalar, const float* p, const float* q, Solution<Low> x, float* r, double* partial, u64 n) {
    const double alpha = scalar[PR] / scalar[PQ];
    const float factor = float(alpha);
    double sum = 0;
    for (u64 i = blockIdx.x * 256ull + threadIdx.x; 4 * i < n; i += gridDim.x * 256ull) {
        const Four dp = load(p, i), dq = load(q, i);
        Four v = load(r, i);
        auto& upper = reinterpret_cast<Quad<u32>*>(x.upper)[i];
        auto& lower = reinterpret_cast<Quad<Low>*>(x.lower)[i];
        auto up = upper;
        auto low = lower;
        EACH x.split(x.join(up.v[m], low.v[m]) + alpha * double(dp.v[m]), up.v[m], low.v[m]);
        upper = up;
        lower = low;
        EACH v.v[m] -= factor * dq.v[m];
        store(r, i, v);
        add_dot(sum, v, v);
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) partial[blockIdx.x] = sum;
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        scalar[ALPHA] = alpha;
        scalar[PQ_BEFORE] = scalar[PQ];
    }
}

/// Converts to f64.
template <class Low> DEVICE void expand(Solution<Low> x, double* out, u64 n) {
    for (u64 i = blockIdx.x * 256ull + threadIdx.x; i < n; i += gridDim.x * 256ull) out[i] = x.join(x.upper[i], x.lower[i]);
}

/// Converts from f64.
template <class Low> DEVICE void compress(Solution<Low> x, const double* from, u64 n) {
    for (u64 i = blockIdx.x * 256ull + threadIdx.x; i < n; i += gridDim.x * 256ull) x.split(from[i], x.upper[i], x.lower[i]);
}

#define SOLUTION(NAME, LOW)                                                                                              \
    extern "C" __global__ void __launch_bounds__(256) outer_update_##NAME(                                               \
        double* scalar, const float* p, const float* q, Solution<LOW> x, float* r, double* partial, u64 n) {             \
        update(scalar, p, q, x, r, partial, n);                                                                          \
    }                                                                                                                    \
    extern "C" __global__ void __launch_bounds__(256) outer_expand_##NAME(Solution<LOW> x, double* out, u64 n) {         \
        expand(x, out, n);                                                                                               \
    }                                                                                                                    \
    extern "C" __global__ void __launch_bounds__(256) outer_compress_##NAME(Solution<LOW> x, const double* from, u64 n) {\
        compress(x, from, n);                                                                                            \
    }
SOLUTION(48, u16)
SOLUTION(64, u32)

/// Sums of a b, one for each thread block.
extern "C" __global__ void __launch_bounds__(256) outer_dot(const float* a, const float* b, double* partial, u64 n) {
    double sum = 0;
    for (u64 i = blockIdx.x * 256ull + threadIdx.x; 4 * i < n; i += gridDim.x * 256ull) add_dot(sum, load(a, i), load(b, i));
    sum = block_sum(sum);
    if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

/// out = x of n nodes. Node i of `out` is node `order[i]` of x.
extern "C" __global__ void __launch_bounds__(256)
    outer_take(const double* x, const u32* order, double* out, u64 n) {
    for (u64 i = blockIdx.x * 256ull + threadIdx.x; i < 3 * n; i += gridDim.x * 256ull)
        out[i] = x[3 * u64(order[i / 3]) + i % 3];
}

/// out[0] = Σ partial, in one thread block.
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
