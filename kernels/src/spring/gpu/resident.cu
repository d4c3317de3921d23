// Small models in single precision. The kernel stays on the device for many steps. A thread keeps the state and the ids
// of its particle in registers. Neighbouring blocks exchange displacements through global memory.
//
// A displacement is stored and loaded as one unit of 16 bytes: x, y, z and the number of its step. The reader loads it
// until the number is right. This needs no barrier, no flag and no fence. Two slots per particle suffice. A block
// writes the displacements of step n + 2 only after it has read those of its neighbours for step n + 1. By then the
// neighbours have read its displacements of step n.

#include "springs.cuh"

// Maximum number of halo particles that a thread fetches.
#define MOST 4
static_assert(MOST == MOST_HALO, "the host allows other halos");

extern __shared__ char shared[];

static __device__ __forceinline__ void publish(uint4 *to, const float u[3], u32 tag) {
    u64 low = u64(__float_as_uint(u[1])) << 32 | __float_as_uint(u[0]), high = u64(tag) << 32 | __float_as_uint(u[2]);
    asm volatile("{ .reg .b128 t; mov.b128 t, {%1, %2}; st.relaxed.gpu.global.b128 [%0], t; }" ::"l"(to), "l"(low), "l"(high)
                 : "memory");
}

static __device__ __forceinline__ void ask(const uint4 *from, u64 &low, u64 &high) {
    asm volatile("{ .reg .b128 t; ld.relaxed.gpu.global.b128 t, [%2]; mov.b128 {%0, %1}, t; }" : "=l"(low), "=l"(high) : "l"(from)
                 : "memory");
}

// Pulls at one place of the springs from slot FIRST to slot LAST. PLAIN: springs never break, and the spacing is even.
template <int FIRST, int LAST, int ND, bool PLAIN>
static __device__ __forceinline__ void pulls(const Params &p, const float *here, const float u[3], u32 *ids, u32 self, u32 at,
                                             u32 row, bool &broke, float force[3]) {
    const char *bytes = (const char *)here;
    Pulls<PLAIN> sums;
#pragma unroll
    for (int d = FIRST; d < LAST; ++d) {
        u32 &pair = ids[(d - FIRST) / 2], id = (d - FIRST) & 1 ? pair >> 16 : pair & 0xffff;
        const float *other = (const float *)(bytes + id);
        float e[3] = {other[0] - u[0], other[1] - u[1], other[2] - u[2]};
        Stretched s = stretch_lattice<PLAIN>(e, p, d);
        if (!PLAIN && p.breaks && s.w > p.rule[d].limit && id != self) {
            u32 block = blockIdx.x, local = id / 12;
            note(p, row, at, local < p.block ? block * p.block + local : p.halo[p.halo_first[block] + local - p.block]);
            pair = (d - FIRST) & 1 ? (pair & 0xffff) | self << 16 : (pair & 0xffff0000u) | self;
            broke = true;
            s.pull = 0;
        }
        sums.add(s, d);
    }
#pragma unroll
    for (int c = 0; c < 3; ++c) force[c] = sums.force(p, LAST, c);
}

// The threads form groups of `block` threads. A group computes the springs of NINE slots for every particle. The first
// group updates the particles. The last group fetches the halo.
#define NINE 9
static_assert(NINE == SLOTS_OF_A_THREAD, "the host deals out other slots");
// FOLLOW: work and the energy dissipated by friction are summed.
template <int ND, bool PLAIN, bool FOLLOW>
static __device__ __forceinline__ void resident(const Params &p, u32 n_steps, u32 parity, u32 tag) {
    const int GROUPS = (ND + NINE - 1) / NINE;
    u32 block = blockIdx.x, group = threadIdx.x / p.block, i = threadIdx.x % p.block, at = block * p.block + i;
    bool mine = at < p.n;
    u32 size = 3 * (p.block + p.halo_most), self = 12 * i;
    float *local = (float *)shared, *partial = local + 2 * size;
    u64 first = u64(p.first[block]) * p.block + i;
    u32 ids[(NINE + 1) / 2];
    bool broke = false;
#pragma unroll
    for (int d = 0; d < NINE; d += 2) {
        u32 slot = group * NINE + d;
        ids[d / 2] = (slot < ND ? u32(p.ids[first + u64(slot) * p.block]) : self) |
                     (d + 1 < NINE && slot + 1 < ND ? u32(p.ids[first + u64(slot + 1) * p.block]) : self) << 16;
    }
    bool fetcher = group == GROUPS - 1;
    u32 halo_first = p.halo_first[block], n_halo = fetcher ? p.halo_first[block + 1] - halo_first : 0;
    u32 halo[MOST];
#pragma unroll
    for (int h = 0; h < MOST; ++h) {
        u32 entry = i + h * p.block;
        halo[h] = entry < n_halo ? p.halo[halo_first + entry] : ~0u;
    }
    float u[3] = {0, 0, 0}, du[3] = {0, 0, 0};
    double heat = 0, work = 0;
    u32 special_from = 0, special_to = 0, row = *p.row;
    float inertia = p.uniform_inertia;
    if (group == 0 && mine) {
#pragma unroll
        for (int c = 0; c < 3; ++c) {
            u[c] = p.u[parity][c * p.len + at];
            du[c] = p.du[0][c * p.len + at];
            local[3 * i + c] = u[c];
        }
        if (p.inertia) inertia = p.inertia[at];
        if (p.special_of) {
            special_from = p.special_of[at];
            special_to = p.special_of[at + 1];
        }
        publish(p.exchange + (tag & 1) * p.n + at, u, tag);
    }
    for (u32 k = 0; k < n_steps; ++k, ++tag) {
        float *here = local + (k & 1) * size, *there = local + (~k & 1) * size;
        const double *now = p.signals + u64(row + k) * p.n_signals;
        float g[3] = {0, 0, 0};
        if (group == 0)
#pragma unroll
            for (int c = 0; c < 3; ++c) g[c] = float(__ldg(now + p.n_signals - 3 + c));
        if (fetcher) {
            const uint4 *slots = p.exchange + (tag & 1) * p.n;
            u64 low[MOST], high[MOST];
#pragma unroll
            for (int h = 0; h < MOST; ++h)
                if (halo[h] != ~0u) ask(slots + halo[h], low[h], high[h]);
            bool waiting;
            do {
                waiting = false;
#pragma unroll
                for (int h = 0; h < MOST; ++h)
                    if (halo[h] != ~0u && u32(high[h] >> 32) != tag) {
                        ask(slots + halo[h], low[h], high[h]);
                        waiting = true;
                    }
            } while (waiting);
#pragma unroll
            for (int h = 0; h < MOST; ++h)
                if (halo[h] != ~0u) {
                    float *to = here + 3 * (p.block + i + h * p.block);
                    to[0] = __uint_as_float(u32(low[h]));
                    to[1] = __uint_as_float(u32(low[h] >> 32));
                    to[2] = __uint_as_float(u32(high[h]));
                }
        }
        __syncthreads();
        float force[3] = {0, 0, 0};
        if (group == 0) {
            pulls<0, ND < NINE ? ND : NINE, ND, PLAIN>(p, here, u, ids, self, at, row + k, broke, force);
        } else {
            float own[3] = {here[3 * i], here[3 * i + 1], here[3 * i + 2]};
            if (ND > NINE && group == 1)
                pulls<NINE, ND < 2 * NINE ? (ND > NINE ? ND : NINE) : 2 * NINE, ND, PLAIN>(p, here, own, ids, self, at, row + k, broke, force);
            else if (ND > 2 * NINE)
                pulls<2 * NINE, (ND > 2 * NINE ? ND : 2 * NINE), ND, PLAIN>(p, here, own, ids, self, at, row + k, broke, force);
#pragma unroll
            for (int c = 0; c < 3; ++c) partial[((group - 1) * 3 + c) * p.block + i] = force[c];
        }
        if (GROUPS > 1) __syncthreads();
        if (group > 0) continue;
#pragma unroll
        for (int other = 0; other < GROUPS - 1; ++other)
#pragma unroll
            for (int c = 0; c < 3; ++c) force[c] += partial[(other * 3 + c) * p.block + i];
        float old[3], before[3];
#pragma unroll
        for (int c = 0; c < 3; ++c) {
            before[c] = du[c];
            du[c] = p.decay * du[c] + (inertia * force[c] + g[c]);
            old[c] = u[c];
            u[c] = old[c] + du[c];
        }
        for (u32 number = special_from; number < special_to; ++number) {
            double pushes = 0, free = 0;
            bool held = false;
            u32 component = 0;
            for (u32 s = p.special_first[number]; s < p.special_first[number + 1]; ++s) {
                Special special = p.specials[s];
                double push = special.value * now[special.signal];
                float by = special.kind == FORCE ? inertia * float(push)
                                             : float(special.value * (now[p.n_signals + special.signal] - now[special.signal]));
                component = special.index / p.len;
                if (special.kind == FORCE)
                    pushes += push;
                else
                    held = true;
#pragma unroll
                for (u32 c = 0; c < 3; ++c) {
                    if (component == c && special.kind != FORCE) free = du[c];
                    du[c] = component != c ? du[c] : special.kind == FORCE ? du[c] + by : by;
                    u[c] = component != c ? u[c] : old[c] + du[c];
                }
            }
            if (FOLLOW)
#pragma unroll
                for (u32 c = 0; c < 3; ++c)
                    if (component == c)
                        work += (pushes + (held ? (double(du[c]) - free) / double(inertia) : 0)) * 0.5 * (double(before[c]) + double(du[c]));
        }
        if (FOLLOW && p.heat && mine) {
            float sum = 0;
#pragma unroll
            for (int c = 0; c < 3; ++c) sum += rubbed(p, before[c], du[c]);
            heat += sum;
        }
        if (mine) {
            publish(p.exchange + (~tag & 1) * p.n + at, u, tag + 1);
#pragma unroll
            for (int c = 0; c < 3; ++c) there[3 * i + c] = u[c];
        }
    }
    if (group == 0 && mine) {
#pragma unroll
        for (int c = 0; c < 3; ++c) {
            p.u[(parity + n_steps) & 1][c * p.len + at] = u[c];
            p.du[0][c * p.len + at] = du[c];
        }
    }
    if (FOLLOW && group == 0) {
        if (mine) heat /= double(inertia);
        if (special_from < special_to) p.work[special_from] += work;
        for (u32 number = special_from; number < special_to; ++number) {
            u32 component = p.specials[p.special_first[number]].index / p.len;
            p.last[number] = component == 0 ? du[0] : component == 1 ? du[1] : du[2];
        }
#pragma unroll
        for (int by = 16; by; by /= 2) heat += __shfl_xor_sync(~0u, heat, by);
        if (p.heat && i % 32 == 0) p.heat[at / 32] += heat;
    }
    if (broke)
#pragma unroll
        for (int d = 0; d < NINE; ++d) {
            u32 slot = group * NINE + d;
            if (slot < ND) p.ids[first + u64(slot) * p.block] = u16(d & 1 ? ids[d / 2] >> 16 : ids[d / 2]);
        }
}

#define RESIDENT(NAME, ND, PLAIN, FOLLOW, THREADS)                                                                               \
    extern "C" __global__ void __launch_bounds__(THREADS, 1)                                                                      \
        NAME(const __grid_constant__ Params p, u32 n_steps, u32 parity, u32 tag) {                                               \
        resident<ND, PLAIN, FOLLOW>(p, n_steps, parity, tag);                                                                    \
    }
RESIDENT(resident_even_6, 6, true, false, 512)
RESIDENT(resident_even_18, 18, true, false, 512)
RESIDENT(resident_even_26, 26, true, false, 768)
RESIDENT(resident_even_6_follow, 6, true, true, 512)
RESIDENT(resident_even_18_follow, 18, true, true, 512)
RESIDENT(resident_even_26_follow, 26, true, true, 768)
// For more threads, uneven spacing, or springs that break.
RESIDENT(resident_6, 6, false, false, 1024)
RESIDENT(resident_18, 18, false, false, 1024)
RESIDENT(resident_26, 26, false, false, 1024)
RESIDENT(resident_6_follow, 6, false, true, 1024)
RESIDENT(resident_18_follow, 18, false, true, 1024)
RESIDENT(resident_26_follow, 26, false, true, 1024)
