// Springs of every kind, with one thread per particle and one step per launch, and the other kernels of a step.

#include "springs.cuh"

// Implicit addressing with one thread per place of the grid. Neighbours are read from global memory ("cached").
static __device__ __forceinline__ real implicit_step(const Params &p, u32 place, u32 k, u32 parity) {
    if (place >= p.plane * p.size[2]) return 0;
    u32 at = p.pad + place, word = p.mask[at];
    if (!word) return 0;
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
    return move(p, parity, row, at, own, force, dragging);
}

extern "C" __global__ void __launch_bounds__(THREADS) implicit_cached(const __grid_constant__ Params p, u32 k, u32 parity) {
    u32 place = block_of_step(p) * THREADS + threadIdx.x;
    real heat = implicit_step(p, place, k, parity);
    if (p.heat) add_heat(p, place / 32, heat);
}

// Position in shared memory of particle i of a block. If the halo has positions of its own, two positions are left free
// between rows of eight particles. Eight threads that read 16 bytes each, of their neighbours in one direction, then
// have no bank conflict.
static __device__ __forceinline__ u32 own_place(const Params &p, u32 i) {
    return p.place ? i + i / 8 * 2 + 1 : i;
}
// Positions of a block's halo particles in shared memory, or null.
static __device__ __forceinline__ const u16 *halo_places(const Params &p, u32 block, u32 slots) {
    return p.place ? p.place + p.first[block] / slots * p.halo_most : nullptr;
}

// Copies vectors of a block's own and halo particles to shared memory. A particle has as many bytes there as its id
// counts.
static __device__ __forceinline__ void copy_local(const Params &p, real *to, const real *from, u32 block) {
    u32 first = block * p.block, halo_first = p.halo_first[block], n_halo = p.halo_first[block + 1] - halo_first;
    u32 width = p.id_bytes / sizeof(real);
    const u16 *places = halo_places(p, block, p.n_directions);
    for (u32 i = threadIdx.x; i < p.block; i += blockDim.x)
        if (first + i < p.n)
            for (int c = 0; c < 3; ++c) to[width * own_place(p, i) + c] = from[number_of(p, first + i, c)];
    for (u32 i = threadIdx.x; i < n_halo; i += blockDim.x) {
        u32 particle = __ldg(p.halo + halo_first + i), place = places ? places[i] : p.block + i;
        for (int c = 0; c < 3; ++c) to[width * place + c] = from[number_of(p, particle, c)];
    }
}

// Particle of a local id of a block.
static __device__ __forceinline__ u32 particle_of(const Params &p, u32 block, u32 local) {
    return local < p.block ? block * p.block + local : p.halo[p.halo_first[block] + local - p.block];
}

// Adds the axial part of k. The first component of `rest` of a class is E A × rest factor.
static __device__ __forceinline__ void add_axial(Rule &rule, const Rest &rest) {
    if (rule.rest[0] != real(0)) rule.stiffness = rule.stiffness + rule.rest[0] * sqrt(rest.inverse);
}

extern __shared__ char shared[];

// Explicit addressing. LOCAL: the ids have 16 bits and refer to a block and its halo in shared memory. They are
// multiplied by the bytes of three numbers. Otherwise the ids have 32 bits and refer to global memory ("cached").
template <bool LOCAL> static __device__ __forceinline__ real explicit_step(const Params &p, u32 block, u32 k, u32 parity) {
    const u32 SCALE = 3 * sizeof(real);
    u32 i = threadIdx.x, at = block * p.block + i;
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
    if (at >= p.n) return 0;
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
            rule = p.rules[p.classes[entry]];
            Rest rest = p.rest[entry];
            add_axial(rule, rest);
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
    return move(p, parity, row, at, own, force, dragging);
}
template <bool LOCAL> static __device__ __forceinline__ void explicit_general(const Params &p, u32 k, u32 parity) {
    u32 block = block_of_step(p);
    real heat = explicit_step<LOCAL>(p, block, k, parity);
    if (p.heat) add_heat(p, (block * blockDim.x + threadIdx.x) / 32, heat);
}

extern "C" __global__ void __launch_bounds__(512) explicit_local(const __grid_constant__ Params p, u32 k, u32 parity) {
    explicit_general<true>(p, k, parity);
}

extern "C" __global__ void __launch_bounds__(512) explicit_cached(const __grid_constant__ Params p, u32 k, u32 parity) {
    explicit_general<false>(p, k, parity);
}

// Lattice in blocks of BLOCK particles, for springs without dampers and pre-stress that never break. The loop over the
// slots is unrolled. All loads from global memory are issued at the start.
#define BLOCK 256
static_assert(BLOCK == LATTICE_BLOCK && 2 * BLOCK == EVEN_BLOCK, "the host cuts other blocks");
template <int ND> static __device__ __forceinline__ void lattice(const Params &p, u32 k, u32 parity) {
    u32 block = block_of_step(p), i = threadIdx.x, at = block * BLOCK + i;
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
    real heat = 0;
    if (at < p.n) {
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
            if (p.heat) heat += rubbed(p, old[c], increment);
        }
        if (p.heat) heat = heat / inertia;
    }
    if (p.heat) add_heat(p, (block * BLOCK + i) / 32, heat);
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
// The same for even spacing, in blocks of 512 particles, two for each thread. A particle has 16 bytes in global and
// shared memory, and ids are multiplied by 16. Pulls are divided by k / L² of the kind of springs that is most frequent
// among ND.
#define WIDE_BLOCK 512
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

static __device__ __forceinline__ void copy_16(u32 to, const float4 *from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}

template <int ND, bool HEAT> static __device__ __forceinline__ void lattice_even(const Params &p, u32 k, u32 parity) {
    const int BASE = ND == 6 ? 0 : 6;
    u32 block = block_of_step(p), i = threadIdx.x, first = p.first[block];
    const float4 *u = (const float4 *)p.u[parity];
    const u16 *ids = p.ids + u64(first) * WIDE_BLOCK + i, *places = halo_places(p, block, ND);
    const u32 *halo = p.halo + p.halo_first[block];
    u32 n_halo = p.halo_first[block + 1] - p.halo_first[block], row = *p.row + k;
    u32 base = u32(__cvta_generic_to_shared(shared));
    // The arrays are padded to whole blocks.
#pragma unroll
    for (u32 j = 0; j < WIDE_BLOCK; j += BLOCK) copy_16(base + 16 * own_place(p, i + j), u + block * WIDE_BLOCK + i + j);
#pragma unroll 2
    for (u32 h = i; h < n_halo; h += BLOCK) copy_16(base + 16 * (places ? __ldg(places + h) : WIDE_BLOCK + h), u + __ldcs(halo + h));
    float g[3];
#pragma unroll
    for (int c = 0; c < 3; ++c) g[c] = gravity(p, row, c);
    const float base_pull = p.pull[BASE];
    const float ratio[3] = {__fdividef(p.pull[0], base_pull), __fdividef(p.pull[6], base_pull), __fdividef(p.pull[18], base_pull)};
    float heat = 0;
#pragma unroll
    for (u32 half = 0; half < WIDE_BLOCK; half += BLOCK) {
        u32 at = block * WIDE_BLOCK + half + i;
        float4 old = __ldcs((const float4 *)p.du[parity] + at);
        float inertia = p.inertia ? (at < p.n ? p.inertia[at] : 0.0f) : p.uniform_inertia;
        u16 id[ND];
#pragma unroll
        for (int d = 0; d < ND; ++d) id[d] = __ldg(ids + d * WIDE_BLOCK + half);
        if (half == 0) {
            asm volatile("cp.async.wait_all;" ::: "memory");
            __syncthreads();
        }
        if (at < p.n) {
            float4 mine = ((const float4 *)shared)[own_place(p, half + i)];
            const float own[3] = {mine.x, mine.y, mine.z};
            float sum[3] = {0, 0, 0};
            Slots<0, ND, BASE>::pull(id, own, p, p.rule[0].rest[0], ratio, sum);
            float factor = inertia * base_pull;
            float4 moved;
            mine.x = fmaf(p.decay, old.x, fmaf(factor, sum[0], g[0]));
            mine.y = fmaf(p.decay, old.y, fmaf(factor, sum[1], g[1]));
            mine.z = fmaf(p.decay, old.z, fmaf(factor, sum[2], g[2]));
            mine.w = 0;
            moved = make_float4(own[0] + mine.x, own[1] + mine.y, own[2] + mine.z, 0);
            __stcs((float4 *)p.du[parity ^ 1] + at, mine);
            ((float4 *)p.u[parity ^ 1])[at] = moved;
            if (HEAT)
                heat += __fdividef(rubbed(p, old.x, mine.x) + rubbed(p, old.y, mine.y) + rubbed(p, old.z, mine.z), inertia);
        }
    }
    if (HEAT) add_heat(p, (block * BLOCK + i) / 32, heat);
}

#define LATTICE_EVEN(NAME, ND, HEAT)                                                                                             \
    extern "C" __global__ void __launch_bounds__(BLOCK, 6) NAME(const __grid_constant__ Params p, u32 k, u32 parity) {           \
        lattice_even<ND, HEAT>(p, k, parity);                                                                                    \
    }
LATTICE_EVEN(lattice_even_6, 6, false)
LATTICE_EVEN(lattice_even_18, 18, false)
LATTICE_EVEN(lattice_even_26, 26, false)
LATTICE_EVEN(lattice_even_6_heat, 6, true)
LATTICE_EVEN(lattice_even_18_heat, 18, true)
LATTICE_EVEN(lattice_even_26_heat, 26, true)
#endif

// Applies forces and then the motion of supports, with one thread per degree of freedom, and computes their work.
extern "C" __global__ void __launch_bounds__(THREADS) specials(const __grid_constant__ Params p, u32 k, u32 parity) {
    u32 i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= p.n_specials) return;
    if (p.special_list) i = p.special_list[i];
    const double *now = p.signals + u64(*p.row + k) * p.n_signals, *next = now + p.n_signals;
    u32 index = p.specials[p.special_first[i]].index;
    real u = p.u[parity][index], alone = p.du[parity ^ 1][index], du = alone;
    real inertia = p.inertia ? p.inertia[place_of(p, index)] : p.uniform_inertia;
    real free = du;
    bool held = false;
    for (u32 s = p.special_first[i]; s < p.special_first[i + 1]; ++s) {
        Special special = p.specials[s];
        if (special.kind == FORCE) {
            du = du + inertia * real(special.value * now[special.signal]);
        } else {
            free = du;
            held = true;
            du = real(special.value * (next[special.signal] - now[special.signal]));
        }
    }
    p.du[parity ^ 1][index] = du;
    p.u[parity ^ 1][index] = u + du;
    if (p.follow) {
        real before = p.last[i], dragging = p.drag ? p.drag[index] : real(0);
        p.last[i] = du;
        double half = 0.5 * (double(before) + double(du)), work = 0;
        for (u32 s = p.special_first[i]; s < p.special_first[i + 1]; ++s)
            if (p.specials[s].kind == FORCE) work += p.specials[s].value * now[p.specials[s].signal] * half;
        if (held) work += (double(du) - double(free)) / double(inertia) * half;
        p.work[i] += work;
        if (p.heat)
            p.special_heat[i] += (rubbed<double>(p, before, du) - rubbed<double>(p, before, alone)) / double(inertia) -
                                 double(dragging) * 0.5 * (double(du) - double(alone));
    }
}

// Energies and momentum at t_n, and the work and dissipated energy of step n, from t_{n−1/2} to t_{n+1/2}. A thread
// block sums over the particles of every gridDim.x-th block, as far as they are this device's. `now` points to the signals of t_n with BΔt² g, followed
// by those of t_{n+1}.
enum Kind { GRID, LOCAL, GLOBAL };
template <Kind KIND>
static __device__ __forceinline__ void energies(const Params &p, u32 parity, u32 n_blocks, const double *now, double *out) {
    const real *u = p.u[parity], *du = p.du[parity];
    const double *next = now + p.n_signals, *g = next - 3;
    real *local = (real *)shared, *local_rate = (real *)(shared + p.id_bytes * p.local_most);
    double sums[N_SUMS] = {};
    for (u32 block = blockIdx.x; block < n_blocks; block += gridDim.x) {
        u32 i = threadIdx.x, at = block * blockDim.x + i, word = 0;
        if (KIND == LOCAL) {
            __syncthreads();
            copy_local(p, local, u, block);
            if (p.damped) copy_local(p, local_rate, du, block);
            __syncthreads();
        }
        if (KIND == GRID) {
            if (at >= p.plane * p.size[2]) continue;
            at += p.pad;
            word = p.mask[at];
            if (!word) continue;
        } else if (at >= p.n) {
            continue;
        }
        if (!is_own(p, at)) continue;
        real own[3], rate[3], force[3], dragging[3], elastic = 0;
        for (int c = 0; c < 3; ++c) {
            u64 number = number_of(p, at, c);
            own[c] = u[number];
            rate[c] = du[number];
            force[c] = dragging[c] = 0;
        }
        u32 self = KIND == LOCAL ? own_place(p, i) * p.id_bytes : at;
        u32 own_material = p.n_materials > 1 && !p.rest ? p.material[at] : 0;
        u32 n_slots = KIND != GRID && p.rest ? p.first[block + 1] - p.first[block] : p.n_directions;
        for (u32 d = 0; d < n_slots; ++d) {
            u64 entry = KIND == GRID ? 0 : u64(p.first[block] + d) * p.block + i;
            u32 id = KIND == GRID ? at + p.stride[d] : KIND == LOCAL ? p.ids[entry] : p.global_ids[entry];
            if (KIND == GRID ? !(word >> d & 1) : id == self) continue;
            Rule rule;
            if (KIND != GRID && p.rest) {
                rule = p.rules[p.classes[entry]];
                Rest rest = p.rest[entry];
                add_axial(rule, rest);
                for (int c = 0; c < 3; ++c) rule.rest[c] = rest.d[c];
                rule.inverse = rest.inverse;
                rule.damping = rule.damping * rest.inverse;
            } else if (p.n_materials > 1) {
                u32 other = KIND == LOCAL ? particle_of(p, block, id / p.id_bytes) : id;
                rule = p.rules[(own_material * p.n_materials + p.material[other]) * N_DIRECTIONS + d];
            } else {
                rule = p.rule[d];
            }
            real e[3];
            for (int c = 0; c < 3; ++c)
                e[c] = (KIND == LOCAL ? *(const real *)(shared + id + c * sizeof(real)) : u[number_of(p, id, c)]) - own[c];
            Stretched s = stretch(e, rule);
            // Each end counts half of k (l − L)² / 2.
            if (rule.stiffness > real(0)) elastic += real(0.25) * s.pull * s.pull * s.w / (rule.stiffness * rule.inverse);
            for (int c = 0; c < 3; ++c) force[c] += s.pull * s.along[c];
            if (p.damped) {
                for (int c = 0; c < 3; ++c)
                    e[c] = (KIND == LOCAL ? *(const real *)((char *)local_rate + id + c * sizeof(real)) : du[number_of(p, id, c)]) - rate[c];
                real strength = drag(s, e, rule);
                for (int c = 0; c < 3; ++c) dragging[c] += strength * s.along[c];
            }
        }
        double push[3] = {0, 0, 0}, held[3] = {0, 0, 0};
        u32 is_held = 0, particle = KIND == GRID ? p.particle[at] : at;
        if (p.special_of)
            for (u32 s = p.special_first[p.special_of[particle]]; s < p.special_first[p.special_of[particle + 1]]; ++s) {
                Special special = p.specials[s];
                u32 c = p.wide ? special.index % 4 : special.index / p.len;
                if (special.kind == FORCE) {
                    push[c] += special.value * now[special.signal];
                } else {
                    is_held |= 1u << c;
                    held[c] = special.value * (next[special.signal] - now[special.signal]);
                }
            }
        double inertia = p.inertia ? p.inertia[at] : p.uniform_inertia, mass = p.inertia_factor / inertia;
        sums[1] += elastic;
        for (int c = 0; c < 3; ++c) {
            double before = rate[c], free = p.decay * before + inertia * (double(force[c]) + dragging[c] + push[c]) + g[c];
            double after = is_held >> c & 1 ? held[c] : free, motion = 0.5 * (before + after), v = motion / p.time_increment;
            sums[0] += 0.5 * mass * v * v;
            sums[2] -= g[c] / inertia * own[c];
            sums[5 + c] += mass * v;
            if (p.follow) {
                sums[3] += (push[c] + (after - free) / inertia) * motion;
                sums[4] += rubbed(p, before, after) / inertia - dragging[c] * motion;
            }
        }
    }
    __shared__ double partial[16][N_SUMS];
    for (int s = 0; s < N_SUMS; ++s) {
        for (int by = 16; by; by /= 2) sums[s] += __shfl_xor_sync(~0u, sums[s], by);
        if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32][s] = sums[s];
    }
    __syncthreads();
    if (threadIdx.x < N_SUMS) {
        double sum = 0;
        for (u32 warp = 0; warp < blockDim.x / 32; ++warp) sum += partial[warp][threadIdx.x];
        out[blockIdx.x * N_SUMS + threadIdx.x] = sum;
    }
}
#define ENERGIES(NAME, KIND)                                                                                                     \
    extern "C" __global__ void __launch_bounds__(512)                                                                             \
        NAME(const __grid_constant__ Params p, u32 parity, u32 n_blocks, const double *signals, double *out) {                   \
        energies<KIND>(p, parity, n_blocks, signals, out);                                                                       \
    }
ENERGIES(energies_grid, GRID)
ENERGIES(energies_local, LOCAL)
ENERGIES(energies_global, GLOBAL)

// u_s and Δu_s of the monitors before a step (WHAT = 0), and Δu_{s+1} after it (WHAT = 1).
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

// Adds or removes springs, one end per entry, in masks, local ids or global ids (EDIT_MASK, EDIT_LOCAL, EDIT_GLOBAL).
extern "C" __global__ void __launch_bounds__(THREADS) edit(const __grid_constant__ Params p, const Edit *edits, u32 n, u32 what) {
    u32 i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= n) return;
    Edit e = edits[i];
    if (what == EDIT_MASK) {
        atomicAnd(p.mask + e.at, ~e.clear);
        atomicOr(p.mask + e.at, e.set);
    } else if (what == EDIT_LOCAL) {
        p.ids[e.at] = u16(e.set);
    } else {
        p.global_ids[e.at] = e.set;
    }
}
