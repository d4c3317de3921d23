// Springs of every kind, a thread a particle, one step a launch; and what goes with a step.

#include "springs.cuh"

#define THREADS 256

// Implicit addressing, neighbours read where they are ("cached"): a thread a place of the grid.
extern "C" __global__ void __launch_bounds__(THREADS) implicit_cached(const __grid_constant__ Params p, u32 k, u32 parity) {
    u32 place = blockIdx.x * THREADS + threadIdx.x;
    if (place >= p.plane * p.size[2]) return;
    u32 at = p.pad + place, word = p.mask[at];
    if (!word) return;
    const real *u = p.u[parity], *du = p.du[parity];
    real own[3], rate[3], force[3], dragging[3];
    for (int c = 0; c < 3; ++c) {
        own[c] = u[c * p.len + at];
        rate[c] = p.damped ? du[c * p.len + at] : real(0);
        force[c] = dragging[c] = 0;
    }
    u32 row = *p.row + k;
    u32 own_material = p.n_materials > 1 ? p.material[at] : 0;
#pragma unroll 6
    for (u32 d = 0; d < p.n_directions; ++d) {
        if (!(word >> d & 1)) continue;
        u32 there = at + p.stride[d];
        const Rule &rule =
            p.n_materials > 1 ? p.rules[(own_material * p.n_materials + p.material[there]) * N_DIRECTIONS + d] : p.rule[d];
        real e[3];
        for (int c = 0; c < 3; ++c) e[c] = u[c * p.len + there] - own[c];
        Stretched s = stretch(e, rule);
        if (p.breaks && s.w > rule.limit) {
            word &= ~(1u << d);
            p.mask[at] = word;
            note(p, row, p.particle[at], p.particle[there]);
            continue;
        }
        for (int c = 0; c < 3; ++c) force[c] = force[c] + s.pull * s.along[c];
        if (p.damped) {
            for (int c = 0; c < 3; ++c) e[c] = du[c * p.len + there] - rate[c];
            real strength = drag(s, e, rule);
            for (int c = 0; c < 3; ++c) dragging[c] = dragging[c] + strength * s.along[c];
        }
    }
    move(p, parity, row, at, own, force, dragging);
}

// Own and halo numbers of a block, three a particle, side by side.
static __device__ __forceinline__ void copy_local(const Params &p, real *to, const real *from, u32 block) {
    u32 first = block * p.block, halo_first = p.halo_first[block], n_halo = p.halo_first[block + 1] - halo_first;
    for (u32 i = threadIdx.x; i < p.block; i += blockDim.x)
        if (first + i < p.n)
            for (int c = 0; c < 3; ++c) to[3 * i + c] = from[u64(c) * p.len + first + i];
    for (u32 i = threadIdx.x; i < n_halo; i += blockDim.x) {
        u32 particle = __ldg(p.halo + halo_first + i);
        for (int c = 0; c < 3; ++c) to[3 * (p.block + i) + c] = from[u64(c) * p.len + particle];
    }
}

// Particle of a local id of a block.
static __device__ __forceinline__ u32 particle_of(const Params &p, u32 block, u32 local) {
    return local < p.block ? block * p.block + local : p.halo[p.halo_first[block] + local - p.block];
}

extern __shared__ char shared[];

// Explicit addressing: ids of 16 bits, times the bytes of three numbers, local to a block and its halo in shared memory
// (LOCAL), or of 32 bits ("cached").
template <bool LOCAL> static __device__ __forceinline__ void explicit_general(const Params &p, u32 k, u32 parity) {
    const u32 SCALE = 3 * sizeof(real);
    u32 block = blockIdx.x, i = threadIdx.x, at = block * p.block + i;
    const real *u = p.u[parity], *du = p.du[parity];
    real *local = (real *)shared, *local_rate = nullptr;
    if (LOCAL) {
        copy_local(p, local, u, block);
        if (p.damped) {
            local_rate = local + 3 * (p.block + p.halo_most);
            copy_local(p, local_rate, du, block);
        }
        __syncthreads();
    }
    if (at >= p.n) return;
    u32 row = *p.row + k;
    real own[3], rate[3], force[3], dragging[3];
    for (int c = 0; c < 3; ++c) {
        own[c] = u[u64(c) * p.len + at];
        rate[c] = p.damped ? du[u64(c) * p.len + at] : real(0);
        force[c] = dragging[c] = 0;
    }
    u32 self = LOCAL ? i * SCALE : at;
    u32 own_material = p.n_materials > 1 && !p.rest ? p.material[at] : 0;
    u32 n_slots = p.rest ? p.first[block + 1] - p.first[block] : p.n_directions;
    for (u32 d = 0; d < n_slots; ++d) {
        u64 entry = u64(p.first[block] + d) * p.block + i;
        u32 id = LOCAL ? p.ids[entry] : p.global_ids[entry];
        if (id == self) continue;
        Rule rule;
        if (p.rest) {
            rule = p.rules[p.cls[entry]];
            Rest rest = p.rest[entry];
            for (int c = 0; c < 3; ++c) rule.rest[c] = rest.d[c];
            rule.inverse = rest.inverse;
            rule.damping = rule.damping * rest.inverse;
        } else if (p.n_materials > 1) {
            u32 other = LOCAL ? particle_of(p, block, id / SCALE) : id;
            rule = p.rules[(own_material * p.n_materials + p.material[other]) * N_DIRECTIONS + d];
        } else {
            rule = p.rule[d];
        }
        real e[3];
        for (int c = 0; c < 3; ++c)
            e[c] = (LOCAL ? *(const real *)(shared + id + c * sizeof(real)) : u[u64(c) * p.len + id]) - own[c];
        Stretched s = stretch(e, rule);
        if (p.breaks && s.w > rule.limit) {
            if (LOCAL)
                p.ids[entry] = u16(self);
            else
                p.global_ids[entry] = self;
            note(p, row, at, LOCAL ? particle_of(p, block, id / SCALE) : id);
            continue;
        }
        for (int c = 0; c < 3; ++c) force[c] = force[c] + s.pull * s.along[c];
        if (p.damped) {
            for (int c = 0; c < 3; ++c)
                e[c] = (LOCAL ? *(const real *)((char *)local_rate + id + c * sizeof(real)) : du[u64(c) * p.len + id]) - rate[c];
            real strength = drag(s, e, rule);
            for (int c = 0; c < 3; ++c) dragging[c] = dragging[c] + strength * s.along[c];
        }
    }
    move(p, parity, row, at, own, force, dragging);
}

extern "C" __global__ void __launch_bounds__(512) explicit_local(const __grid_constant__ Params p, u32 k, u32 parity) {
    explicit_general<true>(p, k, parity);
}

extern "C" __global__ void __launch_bounds__(512) explicit_cached(const __grid_constant__ Params p, u32 k, u32 parity) {
    explicit_general<false>(p, k, parity);
}

// A lattice's lists in blocks of BLOCK particles where springs only pull: slots unrolled, all that comes from afar asked
// for at the start.
#define BLOCK 256
template <int ND> static __device__ __forceinline__ void lattice(const Params &p, u32 k, u32 parity) {
    u32 block = blockIdx.x, i = threadIdx.x, at = block * BLOCK + i;
    const real *u = p.u[parity];
    real *local = (real *)shared;
    u64 first = u64(p.first[block]) * BLOCK + i;
    u32 halo_first = p.halo_first[block], n_halo = p.halo_first[block + 1] - halo_first;
    u32 near = i < n_halo ? __ldcs(p.halo + halo_first + i) : 0;
    real own[3] = {0, 0, 0}, old[3] = {0, 0, 0}, g[3];
    u32 row = *p.row + k;
    if (at < p.n)
#pragma unroll
        for (int c = 0; c < 3; ++c) {
            own[c] = u[u64(c) * p.len + at];
            old[c] = __ldcs(p.du[parity] + u64(c) * p.len + at);
        }
    u16 id[ND];
#pragma unroll
    for (int d = 0; d < ND; ++d) id[d] = __ldg(p.ids + first + u64(d) * BLOCK);
    if (i < n_halo)
#pragma unroll
        for (int c = 0; c < 3; ++c) local[3 * (BLOCK + i) + c] = u[u64(c) * p.len + near];
#pragma unroll 1
    for (u32 h = i + BLOCK; h < n_halo; h += BLOCK) {
        u32 particle = __ldcs(p.halo + halo_first + h);
#pragma unroll
        for (int c = 0; c < 3; ++c) local[3 * (BLOCK + h) + c] = u[u64(c) * p.len + particle];
    }
#pragma unroll
    for (int c = 0; c < 3; ++c) {
        local[3 * i + c] = own[c];
        g[c] = gravity(p, row, c);
    }
    real inertia = p.inertia ? (at < p.n ? p.inertia[at] : real(0)) : p.uniform_inertia;
    __syncthreads();
    if (at >= p.n) return;
    Pulls<false> pulls;
#pragma unroll
    for (int d = 0; d < ND; ++d) {
        real e[3];
#pragma unroll
        for (int c = 0; c < 3; ++c) e[c] = *(const real *)(shared + id[d] + c * sizeof(real)) - own[c];
        pulls.add(stretch_lattice<false>(e, p, d), d);
    }
#pragma unroll
    for (int c = 0; c < 3; ++c) {
        u64 j = u64(c) * p.len + at;
        real increment = p.decay * old[c] + (inertia * pulls.force(p, ND, c) + g[c]);
        p.du[parity ^ 1][j] = increment;
        p.u[parity ^ 1][j] = own[c] + increment;
    }
}

#define LATTICE(ND)                                                                                                              \
    extern "C" __global__ void __launch_bounds__(BLOCK, sizeof(real) == 4 ? 6 : 3)                                                \
        lattice_##ND(const __grid_constant__ Params p, u32 k, u32 parity) {                                                      \
        lattice<ND>(p, k, parity);                                                                                               \
    }
LATTICE(6)
LATTICE(18)
LATTICE(26)

#ifndef POGO_F64
// The same where spacings are alike: sixteen bytes a particle in shared memory (ids are times 16), and pulls over k / L² of the kind
// of springs that ND has most of.
template <int D, int BASE>
static __device__ __forceinline__ void pull_even(const float4 b, const float own[3], const Params &p, float d, float ratio, float sum[3]) {
    const float there[3] = {b.x, b.y, b.z};
    float along[3], q = 0;
#pragma unroll
    for (int c = 0; c < 3; ++c) {
        float e = there[c] - own[c], rest = step_to(D, c) > 0 ? d : -d;
        along[c] = step_to(D, c) ? e + rest : e;
        float t = step_to(D, c) ? along[c] + rest : e;
        q = c == 0 ? t * e : fmaf(t, e, q);
    }
    float s = over_w_plus_root(q, fmaf(q, p.rule[first_alike(D)].inverse, 1.0f));
    if (first_alike(D) != BASE) s *= ratio;
#pragma unroll
    for (int c = 0; c < 3; ++c) sum[c] = fmaf(s, along[c], sum[c]);
}

template <int D, int ND, int BASE> struct Slots {
    static __device__ __forceinline__ void pull(const u16 *id, const float own[3], const Params &p, float d, const float ratio[3],
                                                float sum[3]) {
        pull_even<D, BASE>(*(const float4 *)(shared + id[D]), own, p, d, ratio[D < 6 ? 0 : D < 18 ? 1 : 2], sum);
        Slots<D + 1, ND, BASE>::pull(id, own, p, d, ratio, sum);
    }
};
template <int ND, int BASE> struct Slots<ND, ND, BASE> {
    static __device__ __forceinline__ void pull(const u16 *, const float *, const Params &, float, const float *, float *) {}
};

template <int ND> static __device__ __forceinline__ void lattice_even(const Params &p, u32 k, u32 parity) {
    const int BASE = ND == 6 ? 0 : 6;
    u32 block = blockIdx.x, i = threadIdx.x, at = block * BLOCK + i;
    const float *u = p.u[parity];
    float4 *local = (float4 *)shared;
    const u16 *ids = p.ids + u64(p.first[block]) * BLOCK + i;
    u32 halo_first = p.halo_first[block], n_halo = p.halo_first[block + 1] - halo_first;
    u32 near = i < n_halo ? __ldcs(p.halo + halo_first + i) : 0;
    float own[3] = {0, 0, 0}, old[3] = {0, 0, 0};
    u32 row = *p.row + k;
    if (at < p.n)
#pragma unroll
        for (int c = 0; c < 3; ++c) {
            own[c] = u[u64(c) * p.len + at];
            old[c] = __ldcs(p.du[parity] + u64(c) * p.len + at);
        }
    u16 id[ND];
#pragma unroll
    for (int d = 0; d < ND; ++d) id[d] = __ldg(ids + d * BLOCK);
    auto place = [&](u32 h, u32 particle) {
        local[BLOCK + h] = make_float4(u[particle], u[u64(p.len) + particle], u[2 * u64(p.len) + particle], 0);
    };
    if (i < n_halo) place(i, near);
#pragma unroll 1
    for (u32 h = i + BLOCK; h < n_halo; h += BLOCK) place(h, __ldcs(p.halo + halo_first + h));
    local[i] = make_float4(own[0], own[1], own[2], 0);
    float g[3];
#pragma unroll
    for (int c = 0; c < 3; ++c) g[c] = gravity(p, row, c);
    float inertia = (p.inertia ? (at < p.n ? p.inertia[at] : 0.0f) : p.uniform_inertia) * p.pull[BASE];
    const float base = p.pull[BASE];
    const float ratio[3] = {__fdividef(p.pull[0], base), __fdividef(p.pull[6], base), __fdividef(p.pull[18], base)};
    __syncthreads();
    if (at >= p.n) return;
    float sum[3] = {0, 0, 0};
    Slots<0, ND, BASE>::pull(id, own, p, p.rule[0].rest[0], ratio, sum);
#pragma unroll
    for (int c = 0; c < 3; ++c) {
        u64 j = u64(c) * p.len + at;
        float increment = fmaf(p.decay, old[c], fmaf(inertia, sum[c], g[c]));
        p.du[parity ^ 1][j] = increment;
        p.u[parity ^ 1][j] = own[c] + increment;
    }
}

#define LATTICE_EVEN(ND)                                                                                                         \
    extern "C" __global__ void __launch_bounds__(BLOCK, 7) lattice_even_##ND(const __grid_constant__ Params p, u32 k, u32 parity) { \
        lattice_even<ND>(p, k, parity);                                                                                          \
    }
LATTICE_EVEN(6)
LATTICE_EVEN(18)
LATTICE_EVEN(26)
#endif

// What acts on single numbers, a thread a number: forces, then the motion of a support, and their work.
extern "C" __global__ void __launch_bounds__(THREADS) specials(const __grid_constant__ Params p, u32 k, u32 parity) {
    u32 i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= p.n_specials) return;
    const double *now = p.signals + u64(*p.row + k) * p.n_signals, *next = now + p.n_signals;
    u32 index = p.specials[p.special_first[i]].index;
    real u = p.u[parity][index], du = p.du[parity ^ 1][index];
    real inertia = p.inertia ? p.inertia[index % p.len] : p.uniform_inertia;
    real before = p.work ? p.du[parity][index] : real(0);
    real free = du;
    bool held = false;
    for (u32 s = p.special_first[i]; s < p.special_first[i + 1]; ++s) {
        Special special = p.specials[s];
        if (special.kind == 0) {
            du = du + inertia * real(special.value * now[special.signal]);
        } else {
            free = du;
            held = true;
            du = real(special.value * (next[special.signal] - now[special.signal]));
        }
    }
    p.du[parity ^ 1][index] = du;
    p.u[parity ^ 1][index] = u + du;
    if (p.work) {
        double half = 0.5 * (double(before) + double(du)), work = 0;
        for (u32 s = p.special_first[i]; s < p.special_first[i + 1]; ++s)
            if (p.specials[s].kind == 0) work += p.specials[s].value * now[p.specials[s].signal] * half;
        if (held) work += (double(du) - double(free)) / double(inertia) * half;
        p.work[i] += work;
    }
}

// Energy that friction and dampers take: a sum a thread block, added up in place.
extern "C" __global__ void __launch_bounds__(THREADS) dissipation(const __grid_constant__ Params p, u32 k, u32 parity) {
    __shared__ double sums[THREADS];
    double sum = 0;
    u64 n = 3ull * p.len;
    for (u64 i = u64(blockIdx.x) * THREADS + threadIdx.x; i < n; i += u64(gridDim.x) * THREADS) {
        double before = p.du[parity][i], after = p.du[parity ^ 1][i];
        real inertia = p.inertia ? p.inertia[i % p.len] : p.uniform_inertia;
        if (inertia > real(0)) sum += (p.friction[0] * (before + after) + p.friction[1] * before) * (before + after) / double(inertia);
        if (p.drag) sum -= double(p.drag[i]) * 0.5 * (before + after);
    }
    sums[threadIdx.x] = sum;
    for (u32 half = THREADS / 2; half; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    }
    if (threadIdx.x == 0) p.heat[blockIdx.x] += sums[0];
}

// u_s and Δu_s of the monitors before a step (what = 0), Δu_{s+1} after it.
template <int WHAT> static __device__ void monitors(const Params &p, u32 k, u32 parity) {
    u32 i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= p.n_monitors) return;
    int at = p.record[*p.row + k];
    if (at < 0) return;
    double *out = p.recording + (u64(at) * p.n_monitors + i) * 3;
    u32 index = p.monitors[i];
    if (WHAT == 0) {
        out[0] = double(p.u[parity][index]);
        out[1] = double(p.du[parity][index]);
    } else {
        out[2] = double(p.du[parity ^ 1][index]);
    }
}
extern "C" __global__ void __launch_bounds__(THREADS) monitors_before(const __grid_constant__ Params p, u32 k, u32 parity) {
    monitors<0>(p, k, parity);
}
extern "C" __global__ void __launch_bounds__(THREADS) monitors_after(const __grid_constant__ Params p, u32 k, u32 parity) {
    monitors<1>(p, k, parity);
}

extern "C" __global__ void advance_row(u32 *row, u32 by) {
    *row += by;
}

// Springs that come or go at one end each: bits of masks, local or global ids (what = 0, 1, 2).
extern "C" __global__ void __launch_bounds__(THREADS) edit(const __grid_constant__ Params p, const Edit *edits, u32 n, u32 what) {
    u32 i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= n) return;
    Edit e = edits[i];
    if (what == 0) {
        atomicAnd(p.mask + e.at, ~e.clear);
        atomicOr(p.mask + e.at, e.set);
    } else if (what == 1) {
        p.ids[e.at] = u16(e.set);
    } else {
        p.global_ids[e.at] = e.set;
    }
}
