// Instances of the kernels in brick.cuh for one precision (POGO_F64), for elements of one Poisson's ratio or of several
// (POGO_RATIOS), and other kernels of the finest level.

#include "march.cuh"

#ifndef POGO_BLOCKS
#ifdef POGO_F64
#define POGO_BLOCKS 2
#else
#define POGO_BLOCKS 3
#endif
#endif

#define MARCH_AS(NAME, TYPE, THEN, MODULI)                                                                               \
    extern "C" __global__ void __launch_bounds__(THREADS, POGO_BLOCKS)                                                   \
        NAME(const __grid_constant__ Params<TYPE> p) {                                                                   \
        march<TYPE, THEN, MODULI>(p);                                                                                    \
    }
// One kernel for the same modulus everywhere, and one for other moduli. Elements of several ratios need the second only.
#ifdef POGO_RATIOS
#define MARCH(NAME, TYPE, THEN) MARCH_AS(NAME##_moduli, TYPE, THEN, true)
#else
#define MARCH(NAME, TYPE, THEN) MARCH_AS(NAME, TYPE, THEN, false) MARCH_AS(NAME##_moduli, TYPE, THEN, true)
#endif

#ifdef POGO_F64
MARCH(brick_store, double, STORE)
MARCH(brick_forces, double, FORCES)
#else
MARCH(brick_store, float, STORE)
MARCH(brick_dot, float, DOT)
MARCH(brick_residual, float, RESIDUAL)
MARCH(brick_step, float, STEP)
MARCH(brick_pair, float, PAIR)

/// d = s D⁻¹ b, z = (z or 0) + w d, for n degrees of freedom.
extern "C" __global__ void __launch_bounds__(256)
    brick_first_step(const u16* inverse, const float* b, float* d, float* z, u64 n, float s, float w, u32 add) {
    for (u64 i = blockIdx.x * 256ull + threadIdx.x; i < n; i += gridDim.x * 256ull) {
        float v = s * inverse_of(inverse, i / 3) * b[i];
        d[i] = v;
        z[i] = w * v + (add ? z[i] : 0.f);
    }
}

/// 1 / (diagonal Σ E h over a node's elements), with one thread block per plane. `p.unit` is 1 / the cube's diagonal. With
/// several ratios it is that for λ = 0 and μ = 1, and `p.w` is what λ = 1 adds to the diagonal, over that.
extern "C" __global__ void __launch_bounds__(THREADS)
    brick_inverse(const __grid_constant__ Params<float> p, u16* inverse, u32 first) {
    u32 plane = first + blockIdx.x, x = threadIdx.x % 16, y = threadIdx.x / 16;
    auto place = [](u32 x, u32 y, u32& warp, u32& bit) {
        warp = y / 4 * 2 + x / 8;
        bit = y % 4 * 8 + x % 8;
    };
    u32 warp, bit;
    place(x, y, warp, bit);
    Word own = p.planes[plane].word[warp];
    if (!(own.nodes >> bit & 1)) return;
    double sum = 0;
    for (u32 o = 0; o < 8; o++) {
        u32 w, i;
        place(x - (o & 1), y - (o >> 1 & 1), w, i);
        Word e = p.planes[plane - (o >> 2)].word[w];
        if (!(e.elements >> i & 1)) continue;
        u32 at = (e.element_at & ~HAS_FIXED) + __popc(e.elements & ((1u << i) - 1));
        if constexpr (RATIOS) {
            const float2 own = reinterpret_cast<const float2*>(p.young)[p.classes[at]];
            sum += double(own.x) * (1.0 + double(own.y) * p.w);
        } else {
            sum += p.kind == ONE ? 1.0 : p.kind == CLASSES ? double(p.young[p.classes[at]]) : double(p.moduli[at]) * p.w;
        }
    }
    float v = sum > 0 ? static_cast<float>(p.unit / sum) : 0.f;
    u32 bits = __float_as_uint(v);
    bits += 0x7fff + (bits >> 16 & 1);
    inverse[own.node_at + __popc(own.nodes & ((1u << bit) - 1))] = static_cast<u16>(bits >> 16);
}
#endif

/// Adds `n` partial sums in one thread block.
extern "C" __global__ void __launch_bounds__(256) brick_sum(const double* partial, u32 n, double* out) {
    __shared__ double scratch[8];
    double v = 0;
    for (u32 i = threadIdx.x; i < n; i += 256) v += partial[i];
    v = block_sum(v, scratch);
    if (threadIdx.x == 0) out[0] = v;
}
