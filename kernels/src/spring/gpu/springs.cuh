// The force of springs on a device, the same as on the CPU (law.rs), and functions that several kernels share.

#pragma once

#ifdef POGO_F64
typedef double real;
#else
typedef float real;
#endif

#include "layout.cuh"

constexpr int N_DIRECTIONS = int(DIRECTIONS);

// A spring at given displacements.
struct Stretched {
    real along[3], w, pull;
};

static __device__ __forceinline__ real over_w_plus_root(real measure, real w) {
#ifdef POGO_F64
    return measure / (w + sqrt(w));
#else
    float root, inverse;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(root) : "f"(w));
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(fmaf(w, root, w)));
    return measure * inverse;
#endif
}

static __device__ __forceinline__ Stretched stretch(const real e[3], const Rule &rule) {
    real q = (e[0] + (rule.rest[0] + rule.rest[0])) * e[0] + (e[1] + (rule.rest[1] + rule.rest[1])) * e[1] +
             (e[2] + (rule.rest[2] + rule.rest[2])) * e[2];
    real measure = q * rule.inverse + rule.offset;
    Stretched out;
    out.w = real(1) + measure;
    out.pull = rule.stiffness * over_w_plus_root(measure, out.w);
    out.along[0] = rule.rest[0] + e[0];
    out.along[1] = rule.rest[1] + e[1];
    out.along[2] = rule.rest[2] + e[2];
    return out;
}

// Offsets to the neighbours, as in formats/src/spring/lattice.rs.
static __host__ __device__ constexpr int step_to(int direction, int component) {
    constexpr int steps[N_DIRECTIONS][3] = {
        {1, 0, 0},   {-1, 0, 0},   {0, 1, 0},   {0, -1, 0},  {0, 0, 1},  {0, 0, -1},  {1, 1, 0},   {-1, -1, 0}, {-1, 1, 0},
        {1, -1, 0},  {1, 0, 1},    {-1, 0, -1}, {-1, 0, 1},  {1, 0, -1}, {0, 1, 1},   {0, -1, -1}, {0, -1, 1},  {0, 1, -1},
        {1, 1, 1},   {-1, -1, -1}, {-1, 1, 1},  {1, -1, -1}, {1, -1, 1}, {-1, 1, -1}, {-1, -1, 1}, {1, 1, -1}};
    return steps[direction][component];
}

// The first direction of the same kind: axes, face diagonals or cell diagonals.
static __host__ __device__ constexpr int first_alike(int direction) {
    return direction < 6 ? 0 : direction < 18 ? 6 : 18;
}

// A lattice spring with L = |d|. The direction is a compile-time constant, so zero components of the rest vector need
// no addition. Only the constants of few directions are needed, and they stay in registers. EVEN: the spacing is the
// same in all directions, and the pull is divided by k / L².
template <bool EVEN> static __device__ __forceinline__ Stretched stretch_lattice(const real e[3], const Params &p, int d) {
    const Rule &rule = p.rule[EVEN ? first_alike(d) : d & ~1];
    Stretched out;
    real t[3];
#pragma unroll
    for (int c = 0; c < 3; ++c) {
        const real spacing = p.rule[EVEN ? 0 : 2 * c].rest[EVEN ? 0 : c], rest = step_to(d, c) > 0 ? spacing : -spacing;
        out.along[c] = step_to(d, c) ? rest + e[c] : e[c];
#ifdef POGO_F64
        t[c] = step_to(d, c) ? e[c] + (rest + rest) : e[c];
#else
        t[c] = step_to(d, c) ? out.along[c] + rest : e[c];
#endif
    }
    real q = t[0] * e[0] + t[1] * e[1] + t[2] * e[2];
#ifdef POGO_F64
    real measure = q * rule.inverse;
    out.w = real(1) + measure;
    out.pull = rule.stiffness * over_w_plus_root(measure, out.w);
#else
    out.w = fmaf(q, rule.inverse, 1.0f);
    out.pull = over_w_plus_root(q, out.w) * (EVEN ? 1.0f : p.pull[d & ~1]);
#endif
    return out;
}

// Sum of the pulls in the order of the slots. EVEN first adds the pulls of axes, face diagonals and cell diagonals
// separately.
template <bool EVEN> struct Pulls {
    real sums[EVEN ? 3 : 1][3] = {};

    __device__ __forceinline__ void add(const Stretched &s, int d) {
        real *sum = sums[!EVEN || d < 6 ? 0 : d < 18 ? 1 : 2];
#pragma unroll
        for (int c = 0; c < 3; ++c) sum[c] = sum[c] + s.pull * s.along[c];
    }

    // Component c of the force from `nd` directions.
    __device__ __forceinline__ real force(const Params &p, int nd, int c) const {
        real force = sums[0][c];
        if (EVEN) {
            force = force * p.pull[0];
            if (nd > 6) force = force + sums[1][c] * p.pull[6];
            if (nd > 18) force = force + sums[2][c] * p.pull[18];
        }
        return force;
    }
};

static __device__ __forceinline__ real drag(const Stretched &s, const real rate[3], const Rule &rule) {
    real closing = rate[0] * s.along[0] + rate[1] * s.along[1] + rate[2] * s.along[2];
    return closing * rule.damping / s.w;
}

// Number of this thread block among those of a step.
static __device__ __forceinline__ u32 block_of_step(const Params &p) {
    return p.list ? __ldg(p.list + blockIdx.x) : blockIdx.x;
}

// Whether a particle, given by its place or number, is of this device's part.
static __device__ __forceinline__ bool is_own(const Params &p, u32 at) {
    return !p.own || p.own[at / 32] >> at % 32 & 1;
}

// Records a broken spring. Only the end with the lower number does so.
static __device__ __noinline__ void note(const Params &p, u32 row, u32 particle, u32 other) {
    if (particle < other) p.log[atomicAdd(p.log_count, 1)] = make_uint4(row, particle, other, 0);
}

// BΔt² g of a row of the signals.
static __device__ __forceinline__ real gravity(const Params &p, u32 row, int c) {
    return real(__ldg(p.signals + u64(row) * p.n_signals + p.n_signals - 3 + c));
}

// Energy that friction dissipates at one degree of freedom with the increments `before` and `after`, times BΔt²/m.
template <class R> static __device__ __forceinline__ R rubbed(const Params &p, R before, R after) {
    R both = before + after;
    return (R(p.friction[0]) * both + R(p.friction[1]) * before) * both;
}

// Adds the energy dissipated in a warp to its sum. All threads of the warp must call this function.
static __device__ __forceinline__ void add_heat(const Params &p, u32 warp, real heat) {
#pragma unroll
    for (int by = 16; by; by /= 2) heat += __shfl_xor_sync(~0u, heat, by);
    if (threadIdx.x % 32 == 0) p.heat[warp] += double(heat);
}

// Index of component c of a particle, and the particle of an index.
static __device__ __forceinline__ u64 number_of(const Params &p, u32 at, u32 c) {
    return p.wide ? 4ull * at + c : u64(c) * p.len + at;
}
static __device__ __forceinline__ u32 place_of(const Params &p, u32 number) {
    return p.wide ? number / 4 : number % p.len;
}

// Updates one particle and returns its dissipated energy.
static __device__ __forceinline__ real move(const Params &p, u32 parity, u32 row, u32 at, const real own[3], real force[3],
                                            const real dragging[3]) {
    real inertia = p.inertia ? p.inertia[at] : p.uniform_inertia, heat = 0, rub = 0;
    for (int c = 0; c < 3; ++c) {
        u64 i = u64(c) * p.len + at;
        if (p.damped) {
            force[c] = force[c] + dragging[c];
            if (p.drag) p.drag[i] = dragging[c];
        }
        real before = p.du[parity][i], increment = p.decay * before + (inertia * force[c] + gravity(p, row, c));
        p.du[parity ^ 1][i] = increment;
        p.u[parity ^ 1][i] = own[c] + increment;
        if (p.heat) {
            rub += rubbed(p, before, increment);
            if (p.damped) heat -= dragging[c] * real(0.5) * (before + increment);
        }
    }
    return p.heat ? heat + rub / inertia : real(0);
}
