// What every kernel of the explicit step shares: the tables, and the update of one node.
//
//   Δu_{n+1} = [(1 − q) Δu_n + Δt²/m (F_n − f_int(u_n))] / (1 + q),   q = α Δt / 2      (Huthwaite 2014, eq. 2)
//   u_{n+1}  = u_n + Δu_{n+1}
//
// A thread block has one block of the mesh, or one after the other. State arrays are doubled: a step reads one pair
// (u, Δu), the first of `Params`, and writes the other.

#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

constexpr u32 NONE = 0xffffffffu;
constexpr u32 MIXED = 0xfffeu;

// Where the rows of one block stand. The same layout as `Block` in tables.rs.
struct __align__(16) Block {
    u32 node_first, n_own, halo_first, n_halo;
    u32 outer_first, n_outer, local_first, material;
    u32 special_first, damped, energy_row, further_first;
    u32 n_further, colour_first, n_colours, n_boundary;
    u32 boundary_first, rows_first, n_rows, special_base;
    u32 n_special, source_first, n_sources, still; // still: its nodes are moved by others
};

// Elasticity in the units of the tables, as on the CPU: in the plane the leading 3 × 3 times the thickness.
template <typename T> struct Material {
    T d[36];
    T hourglass;
    T reserved;
};

// Columns of hexahedra in a grid, w times h of them, and the nodes that they move: not the first ones along any axis. The same
// layout as `TileRow` in grids.rs.
struct __align__(16) Tile {
    u64 first; // of its words
    u32 n_layers, w, h, n_slots;
    u32 reserved[2];
};

// Slots of a plane of a tile; it may leave some empty.
constexpr u32 SLOTS = 192;

// In a word: the node, whether there is an element of which it is the lowest corner, whether the tile moves it, and whether it
// leaves that to `act`, which finds f_int where Δu will be.
constexpr u32 TILE_NODE = (1u << 29) - 1, PRESENT = 1u << 29, MOVED = 1u << 30, LEFT = 1u << 31;

// A batch of elements: in the plane, of which no two share an own node; in space a run of them, or of rings.
struct __align__(16) Colour {
    u64 connectivity_first;
    u32 element_first, n_elements;
    u32 law, material, reserved0, reserved1;
};

// What acts on one degree of freedom, or is recorded of it.
enum : u32 { FORCE = 0, SUPPORT = 1, MONITOR = 2 };
constexpr u32 KIND = 255, LAST = 1 << 16, LOCAL_AT = 20; // in `kind`: whether it is the last of its node, and which node
struct Special {
    double value, mass, damping;
    u32 kind, component, signal, column;
};

template <typename T> struct Params {
    T *u[2], *du[2];
    const T *x;          // positions, (own, halo, outer) block by block
    const T *inertia;    // Δt²/m/(1 + q), (n_nodes,)
    const T *decay;      // (1 − q)/(1 + q), (n_nodes,), read in damped blocks
    const T *dissipation; // α m / 4Δt, (n_nodes,)
    const Block *blocks;
    const u32 *list;     // blocks of this launch, or null for all
    const u32 *halo_nodes, *outer_nodes;
    const uint4 *fan, *halo_fan; // three words of a fan record, in single precision inertia
    const u32 *fan_materials, *halo_fan_materials;
    const u16 *further_node;
    const u32 *further_fan, *further_materials;
    const Material<T> *materials;
    const Colour *colours;
    const u16 *connectivity;
    const T *factors;    // stiffness factor of each coloured entry, or null
    const u32 *special_first; // (n_own + n_halo + 1) of each block that has any
    const Special *specials;
    const double *signals; // rows of t_n from the step on that the graph began with, (WINDOW + 1, n_signals)
    const int *record;     // row of `recording` for each step, or −1
    double *recording;     // (n_recorded, n_monitors, 3)
    double *energies;      // work and damped energy so far, (n_energy_rows, 2)
    const u32 *row;        // row of `record` that the graph began with
    const u32 *passed_first; // first row in `passed` of each boundary node, block by block
    const u32 *passed_row; // row in `passed` of each entry of halo_nodes
    T *passed;             // forces of elements on joins, for the blocks that own the nodes, (n, 3)
    const u32 *sources;    // blocks that pass forces on to each block; by fans, itself and those that it reads or that read
                           // it, in rows of n_around that end with NONE
    u32 *done;             // launches so far that have put the forces of each block; by fans, passes of this launch
    double *force_out;     // f_int instead of a step, N, (n_nodes, dimension), or null
    u64 n_nodes;
    double force_unit, per_force_unit, per_time_increment;
    u32 n_signals, n_monitors, n_materials;
    u32 n_blocks, near_room, later_room; // blocks, and the most near and later nodes of one, in space
    const Tile *tiles;
    const u32 *words;  // a word a node of each plane of each tile
    const T *tile_x;   // their positions, (planes, 3, slots) tile by tile
    const u32 *left;   // nodes that tiles leave to `act`, (n_left,)
    u32 n_left, left_special, left_energy, damped; // with the entry of special_first and row of energies of the first; any damping
    u32 n_around, n_kept; // by fans: entries of a row of `sources`; actions of a block that are kept in shared memory, at most
};

template <typename T> struct Pair;
template <> struct Pair<float> { typedef float2 type; };
template <> struct Pair<double> { typedef double2 type; };

__device__ __forceinline__ float reciprocal(float x) {
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// Two Newton steps from the hardware's 20 bits: within an ulp or two, a third of the division's instructions.
__device__ __forceinline__ double reciprocal(double x) {
    double y;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
    double e = fma(-x, y, 1.0);
    e = fma(e, e, e);
    return fma(y, e, y);
}

__device__ __forceinline__ u32 acquire(const u32 *at) {
    u32 value;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
    return value;
}

__device__ __forceinline__ void release(u32 *at, u32 value) {
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(at), "r"(value) : "memory");
}

// External work and damped energy of a thread's nodes.
struct Energies {
    double work = 0.0, damped = 0.0;
};

// What acts on one degree of freedom in a step: N of a force, m of a support's increment; and in the step after it.
struct Action {
    double value, later;
    u32 bits, column; // kind, component, whether it is the last of its node, and which node
    __device__ __forceinline__ u32 kind() const { return bits & KIND; }
    __device__ __forceinline__ u32 component() const { return bits >> 8 & 3; }
    __device__ __forceinline__ bool last() const { return bits & LAST; }
};

// `now` is the row of signals at the step.
__device__ __forceinline__ Action action_of(const Special &special, const double *now, u32 n_signals) {
    const double *at = now + special.signal;
    const double a = at[0], b = at[n_signals], c = at[2 * n_signals];
    const bool support = (special.kind & KIND) == SUPPORT;
    return {special.value * (support ? b - a : a), special.value * (support ? c - b : b),
            special.kind | special.component << 8, special.column};
}

// Those of one node, from `first` on. Of a block, the first ones from `base` on may be kept in shared memory.
struct Actions {
    const Action *kept;
    u32 base, n_kept, first;
    u32 k;        // row of signals
    int recorded; // row of `recording`, or −1
    bool later;   // the second of two steps

    // `act` gets its number in `specials`, too.
    template <typename T, typename Act> __device__ __forceinline__ void each(const Params<T> &p, Act &&act) const {
        Action action;
        u32 s = first;
        do {
            if (s - base < n_kept) action = kept[s - base];
            else action = action_of(p.specials[s], p.signals + (u64)k * p.n_signals, p.n_signals);
            if (later) action.value = action.later;
            act(action, s);
            s++;
        } while (!action.last());
    }
};

// A node before and after its update.
template <typename T, int D> struct Motion {
    T f[D], u[D], du[D];
    T inertia, decay, dissipation; // the last two in damped blocks
};
template <typename T, int D> struct Moved {
    T u[D], du[D];
    Energies energies;
};

// One node from f_int, without what acts on it. `own` is false for halo nodes, whose owner counts their energy.
template <typename T, int D>
__device__ __forceinline__ Moved<T, D> move(const Motion<T, D> &node, bool damped, bool own) {
    Moved<T, D> next;
    if (damped) {
        T squares = 0;
#pragma unroll
        for (int c = 0; c < D; c++) {
            next.du[c] = node.decay * node.du[c] - node.inertia * node.f[c];
            const T sum = node.du[c] + next.du[c];
            squares += sum * sum;
        }
        if (own) next.energies.damped = (double)(node.dissipation * squares);
    } else {
#pragma unroll
        for (int c = 0; c < D; c++) next.du[c] = node.du[c] - node.inertia * node.f[c];
    }
#pragma unroll
    for (int c = 0; c < D; c++) next.u[c] = node.u[c] + next.du[c];
    return next;
}

// One node on which something acts. Out of line: few nodes are, and what they need costs the others no registers.
template <typename T, int D>
__device__ __noinline__ Moved<T, D> move_special(const Params<T> &p, Motion<T, D> node, bool damped, bool own, Actions actions) {
    actions.each(p, [&](const Action &action, u32 s) {
        if (action.kind() != FORCE) return;
        const T force = (T)(action.value * p.per_force_unit);
#pragma unroll
        for (int c = 0; c < D; c++)
            if (action.component() == c) node.f[c] -= force;
    });
    Moved<T, D> next = move(node, damped, own);
    // The free update of a supported component is not made: neither its motion nor its dissipation.
    actions.each(p, [&](const Action &action, u32 s) {
        if (action.kind() != SUPPORT) return;
        const T prescribed = (T)action.value;
        const double after = (double)prescribed, per_dt = p.per_time_increment;
        const Special &special = p.specials[s];
        const double rate = 0.25 * special.damping * per_dt;
#pragma unroll
        for (int c = 0; c < D; c++) {
            if (action.component() != c) continue;
            const double before = (double)node.du[c], free = (double)next.du[c];
            next.du[c] = prescribed;
            next.u[c] = node.u[c] + prescribed;
            if (!own) continue;
            if (damped)
                next.energies.damped += rate * ((before + after) * (before + after) - (before + free) * (before + free));
            // R = m a + c v + f_int − F.
            const double reaction = special.mass * (after - before) * per_dt * per_dt + 2.0 * rate * (before + after) +
                                    (double)node.f[c] * p.force_unit;
            next.energies.work += reaction * 0.5 * (before + after);
        }
    });
    if (!own) return next;
    actions.each(p, [&](const Action &action, u32 s) {
        double before = 0, after = 0, at = 0;
#pragma unroll
        for (int c = 0; c < D; c++) {
            if (action.component() != c) continue;
            before = (double)node.du[c];
            after = (double)next.du[c];
            at = (double)node.u[c];
        }
        if (action.kind() == FORCE) {
            next.energies.work += action.value * 0.5 * (before + after);
        } else if (action.kind() == MONITOR && actions.recorded >= 0) {
            double *out = p.recording + ((u64)actions.recorded * p.n_monitors + action.column) * 3;
            out[0] = at;
            out[1] = before;
            out[2] = after;
        }
    });
    return next;
}

// One node, with what acts on it if anything does: `special_first` of its block is read from the device's memory.
template <typename T, int D, bool PLAIN>
__device__ __forceinline__ Moved<T, D> update_node(const Params<T> &p, const Block &block, u32 local, u64 node, u32 k,
                                                   u32 row, Motion<T, D> motion, Energies &energies) {
    motion.inertia = p.inertia[node];
    if (block.damped) {
        motion.decay = p.decay[node];
        motion.dissipation = p.dissipation[node];
    }
    Moved<T, D> next;
    const u32 at = block.special_first + local;
    if (!PLAIN && block.special_first != NONE && p.special_first[at] < p.special_first[at + 1])
        next = move_special(p, motion, block.damped, true, {nullptr, 0, 0, p.special_first[at], k, p.record[row], false});
    else
        next = move(motion, block.damped, true);
    energies.work += next.energies.work;
    energies.damped += next.energies.damped;
    return next;
}

// Adds the energies of the THREADS threads to the block's row, always in the same order.
template <int THREADS>
__device__ void add_energies(double *rows, u32 row, Energies mine) {
    __shared__ double sums[2][THREADS / 32];
    const double before = threadIdx.x < 2 ? rows[2 * (u64)row + threadIdx.x] : 0;
    for (int offset = 16; offset > 0; offset /= 2) {
        mine.work += __shfl_down_sync(0xffffffffu, mine.work, offset);
        mine.damped += __shfl_down_sync(0xffffffffu, mine.damped, offset);
    }
    if (threadIdx.x % 32 == 0) {
        sums[0][threadIdx.x / 32] = mine.work;
        sums[1][threadIdx.x / 32] = mine.damped;
    }
    __syncthreads();
    if (threadIdx.x < 2) {
        double sum = 0;
        for (u32 warp = 0; warp < THREADS / 32; warp++) sum += sums[threadIdx.x][warp];
        rows[2 * (u64)row + threadIdx.x] = before + sum;
    }
    __syncthreads();
}

// The whole row of a table at once.
template <typename Row> __device__ __forceinline__ Row load_row(const Row *at) {
    union {
        uint4 words[sizeof(Row) / 16];
        Row row;
    };
#pragma unroll
    for (u32 i = 0; i < sizeof(Row) / 16; i++) words[i] = __ldg(reinterpret_cast<const uint4 *>(at) + i);
    return row;
}

// Asks for bytes to be brought near; the threads of the block, or of a warp, share the lines out.
template <bool WARP = false> __device__ __forceinline__ void prefetch(const void *from, u64 bytes) {
    const u32 thread = WARP ? threadIdx.x % 32 : threadIdx.x, n_threads = WARP ? 32 : blockDim.x;
    const char *first = reinterpret_cast<const char *>(reinterpret_cast<u64>(from) & ~(u64)127);
    const char *last = reinterpret_cast<const char *>(from) + bytes;
#pragma unroll 1
    for (const char *at = first + 128 * thread; at < last; at += 128 * n_threads)
        asm volatile("prefetch.global.L2 [%0];" ::"l"(at));
}
