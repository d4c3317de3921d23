// Definitions that all kernels of the explicit step share: the tables, and the update of one node.
//
//   Δu_{n+1} = [(1 − q) Δu_n + Δt²/m (F_n − f_int(u_n))] / (1 + q),   q = α Δt / 2      (Huthwaite 2014, eq. 2)
//   u_{n+1}  = u_n + Δu_{n+1}
//
// A thread block computes one block of the mesh, or several blocks in turn. State arrays exist twice: a step reads one
// pair (u, Δu), the first one of `Params`, and writes the other pair.

#pragma once
#include "layout.cuh"
#ifdef POGO_ON_HOST
#include POGO_ON_HOST
#else
// Dynamic shared memory of a thread block, `shared`.
#define DYNAMIC_SHARED extern __shared__ __align__(16) unsigned char shared[]
#endif

template <typename T> struct Pair;
template <> struct Pair<float> { typedef float2 type; };
template <> struct Pair<double> { typedef double2 type; };

// What the compiler of a host does not know stands in host.cuh.
#ifndef POGO_ON_HOST
__device__ __forceinline__ float reciprocal(float x) {
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// The hardware gives 20 correct bits. The refinement brings the error to one or two ulps, with a third of the
// instructions of a division.
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
#endif

// External work and damped energy of the nodes that one thread updates.
struct Energies {
    double work = 0.0, damped = 0.0;
};

// What acts on one degree of freedom in a step. `value` is the force in N, or the increment of a support in m. `later`
// is the same for the following step.
struct Action {
    double value, later;
    // `bits` holds the kind, the component, the flag for the last entry of a node, and the local node number.
    u32 bits, column;
    __device__ __forceinline__ u32 kind() const { return bits & KIND; }
    __device__ __forceinline__ u32 component() const { return bits >> 8 & 3; }
    __device__ __forceinline__ bool last() const { return bits & LAST; }
};
static_assert(sizeof(Action) == ACTION_BYTES, "the host counts with another size");

// `now` points to the signals of the current step.
__device__ __forceinline__ Action action_of(const Special &special, const double *now, u32 n_signals) {
    const double *at = now + special.signal;
    const double a = at[0], b = at[n_signals], c = at[2 * n_signals];
    const bool support = (special.kind & KIND) == SUPPORT;
    return {special.value * (support ? b - a : a), special.value * (support ? c - b : b),
            special.kind | special.component << 8, special.column};
}

// The actions on one node, starting at entry `first` of `specials`. The first `n_kept` actions of the block, starting
// at entry `base`, may be in shared memory.
struct Actions {
    const Action *kept;
    u32 base, n_kept, first;
    u32 k; // row of signals
    int recorded; // row of `recording`, or −1
    bool later; // true in the second of two steps

    // Calls `act` with each action and its index in `specials`.
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

// State of a node before the update (`Motion`) and after it (`Moved`).
template <typename T, int D> struct Motion {
    T f[D], u[D], du[D];
    T inertia, decay, dissipation; // the last two only in damped blocks
};
template <typename T, int D> struct Moved {
    T u[D], du[D];
    Energies energies;
};

// Updates one node from f_int, without forces, supports and monitors. `own` is false for halo nodes: the block that
// owns such a node counts its energy.
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

// Updates one node with forces, supports or monitors. This function is not inlined: few nodes need it, and inlined it
// would cost registers for all others.
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
    // A supported component keeps neither its free motion nor the dissipation of that motion.
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

// Updates one node, including the actions on it if there are any. `special_first` of its block is read from global
// memory.
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

// What a block has beside elements and actions, in models where fluids and solids do not touch (see touch.cuh).
struct Nothing {
    __device__ __forceinline__ constexpr bool in(u32) const { return false; }
    template <int S, u32 THREADS, typename T>
    __device__ __forceinline__ void move(const Params<T> &, const Block &, u32, u32, T *) const {}
};

// Adds the energies of all threads to the row of the block. The order of the sum is fixed.
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

// Loads a whole row of a table with accesses of 16 bytes.
template <typename Row> __device__ __forceinline__ Row load_row(const Row *at) {
    union {
        uint4 words[sizeof(Row) / 16];
        Row row;
    };
#pragma unroll
    for (u32 i = 0; i < sizeof(Row) / 16; i++) words[i] = __ldg(reinterpret_cast<const uint4 *>(at) + i);
    return row;
}

#ifndef POGO_ON_HOST
// Prefetches a range of bytes into the L2 cache. The threads of the thread block, or of a warp, share the cache lines.
template <bool WARP = false> __device__ __forceinline__ void prefetch(const void *from, u64 bytes) {
    const u32 thread = WARP ? threadIdx.x % 32 : threadIdx.x, n_threads = WARP ? 32 : blockDim.x;
    const char *first = reinterpret_cast<const char *>(reinterpret_cast<u64>(from) & ~(u64)127);
    const char *last = reinterpret_cast<const char *>(from) + bytes;
#pragma unroll 1
    for (const char *at = first + 128 * thread; at < last; at += 128 * n_threads)
        asm volatile("prefetch.global.L2 [%0];" ::"l"(at));
}
#endif
