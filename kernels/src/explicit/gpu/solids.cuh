// Step of solid elements. Each thread computes one element, or a ring of tetrahedra around an edge. A batch has as many
// elements or rings as a thread block has threads.
//
// The forces of a batch stay in registers. They are added to the nodal forces in shared memory corner by corner. No two
// elements of a batch share a node at the same corner. If two would, one of them adds its force in a later turn.
//
// An element that touches several blocks is computed once, by the first of them. Its forces on nodes of later blocks
// are stored in separate rows. The thread blocks of the later blocks add these rows, in a fixed order, before they
// update their nodes.

#pragma once
#include "rows.cuh"

// An entry of a connectivity row holds a node, a turn and a flag (corner.rs of the block file).
constexpr u32 TURN_AT = 13, NODE_MASK = (1u << TURN_AT) - 1, FLAG = 1u << 15;
static_assert(ABSENT == (FLAG | NODE_MASK), "corner.rs has other corners");
constexpr u32 TURN_BITS = FLAG - 1 & ~NODE_MASK;

__device__ __forceinline__ Row no_row() {
    constexpr u32 TWO = ABSENT << 16 | ABSENT;
    return {{TWO, TWO, TWO, TWO}};
}

__device__ __forceinline__ u32 local_node(const Row &row, int i) { return row.node(i) & NODE_MASK; }

// Node and turn of a corner. The result exceeds every node number if the force is added in a later turn or not at all.
__device__ __forceinline__ u32 place(const Row &row, int i) { return i == 0 ? row.node(0) & ~FLAG : row.node(i); }

// x and the S unknowns of own and later nodes in shared memory, in parts of 16 and 8 bytes. Wide accesses are fewer and
// have fewer bank conflicts.
template <typename T, int S = 3> struct Near;

template <> struct Near<float, 3> {
    float4 *a; // ux, uy, uz, xx
    float2 *b; // xy, xz

    __device__ __forceinline__ Near(unsigned char *shared, u32 n)
        : a(reinterpret_cast<float4 *>(shared)), b(reinterpret_cast<float2 *>(shared + 16 * n)) {}
    // Address of component c of node i.
    __device__ __forceinline__ float *u(u32 i, int c) const { return reinterpret_cast<float *>(a + i) + c; }
    __device__ __forceinline__ float *x(u32 i, int c) const {
        return c == 0 ? reinterpret_cast<float *>(a + i) + 3 : reinterpret_cast<float *>(b + i) + c - 1;
    }
    __device__ __forceinline__ void get(u32 i, float *x, float *u) const {
        const float4 v = a[i];
        const float2 w = b[i];
        u[0] = v.x, u[1] = v.y, u[2] = v.z;
        x[0] = v.w, x[1] = w.x, x[2] = w.y;
    }
};

template <> struct Near<double, 3> {
    double2 *a; // ux, uy
    double2 *b; // uz, xx
    double2 *c; // xy, xz

    __device__ __forceinline__ Near(unsigned char *shared, u32 n)
        : a(reinterpret_cast<double2 *>(shared)), b(reinterpret_cast<double2 *>(shared + 16 * n)),
          c(reinterpret_cast<double2 *>(shared + 32 * n)) {}
    __device__ __forceinline__ double *u(u32 i, int k) const {
        return k < 2 ? reinterpret_cast<double *>(a + i) + k : reinterpret_cast<double *>(b + i);
    }
    __device__ __forceinline__ double *x(u32 i, int k) const {
        return k == 0 ? reinterpret_cast<double *>(b + i) + 1 : reinterpret_cast<double *>(c + i) + k - 1;
    }
    __device__ __forceinline__ void get(u32 i, double *x, double *u) const {
        const double2 v = a[i], w = b[i], y = c[i];
        u[0] = v.x, u[1] = v.y, u[2] = w.x;
        x[0] = w.y, x[1] = y.x, x[2] = y.y;
    }
};

template <> struct Near<float, 1> {
    float4 *a; // q, xx, xy, xz

    __device__ __forceinline__ Near(unsigned char *shared, u32) : a(reinterpret_cast<float4 *>(shared)) {}
    __device__ __forceinline__ float *u(u32 i, int) const { return reinterpret_cast<float *>(a + i); }
    __device__ __forceinline__ float *x(u32 i, int c) const { return reinterpret_cast<float *>(a + i) + 1 + c; }
    __device__ __forceinline__ void get(u32 i, float *x, float *u) const {
        const float4 v = a[i];
        u[0] = v.x;
        x[0] = v.y, x[1] = v.z, x[2] = v.w;
    }
};

template <> struct Near<double, 1> {
    double2 *a; // q, xx
    double2 *b; // xy, xz

    __device__ __forceinline__ Near(unsigned char *shared, u32 n)
        : a(reinterpret_cast<double2 *>(shared)), b(reinterpret_cast<double2 *>(shared + 16 * n)) {}
    __device__ __forceinline__ double *u(u32 i, int) const { return reinterpret_cast<double *>(a + i); }
    __device__ __forceinline__ double *x(u32 i, int k) const {
        return k == 0 ? reinterpret_cast<double *>(a + i) + 1 : reinterpret_cast<double *>(b + i) + k - 1;
    }
    __device__ __forceinline__ void get(u32 i, double *x, double *u) const {
        const double2 v = a[i], w = b[i];
        u[0] = v.x;
        x[0] = v.y, x[1] = w.x, x[2] = w.y;
    }
};

// Adds a force to the node at `place`, whose row has S entries. All threads of the thread block call this function, no two
// with the same node. A thread that has nothing to add has a `place` above all nodes and adds to the unused node `none`.
// The caller puts a barrier before the next call.
template <int S, typename T, int C> __device__ __forceinline__ void add_force(T *forces, u32 place, u32 none, Vector<T, C> f) {
    T *to = forces + S * min(place, none);
    Vector<T, C> sum;
#pragma unroll
    for (int c = 0; c < C; c++) sum[c] = to[c];
    sum = sum + f;
#pragma unroll
    for (int c = 0; c < C; c++) to[c] = sum[c];
}

// Adds the forces on the corners that have a turn, one turn after another.
template <int CORNERS, int S, typename T, int C>
__device__ __forceinline__ void add_turns(T *forces, const Row &row, const Vector<T, C> *f) {
    u32 words = 0;
#pragma unroll
    for (int i = 0; i < CORNERS / 2; i++) words |= row.words[i];
    bool more = (words | words >> 16) & TURN_BITS;
#pragma unroll 1
    for (u32 turn = 1; __syncthreads_or(more); turn++) {
        more = false;
#pragma unroll
        for (int i = 0; i < CORNERS; i++) {
            const u32 at = place(row, i);
            if (at >> TURN_AT == turn) {
                T *to = forces + S * (at & NODE_MASK);
#pragma unroll
                for (int c = 0; c < C; c++) to[c] += f[i][c];
            }
            more |= at < FLAG && at >> TURN_AT > turn;
        }
    }
}

// Reads x and the first C unknowns of a node.
template <typename T, int S, int C>
__device__ __forceinline__ void get_some(const Near<T, S> &near, u32 i, Vector<T, 3> &x, Vector<T, C> &u) {
    T all[S];
    near.get(i, x.c, all);
#pragma unroll
    for (int c = 0; c < C; c++) u[c] = all[c];
}

// Adds the forces of the tetrahedra (a, b, c_k, c_{k+1}) around the edge ab. Common data is loaded and computed once. A
// row holds a, b and up to six nodes c. The remaining entries repeat the last node c, and no force is added to them. If
// the ring is closed, the last and the first node c form a tetrahedron too. All threads add the force on the same c_k
// at the same time, as soon as it is complete.
template <int C, int S, typename T, typename Flux>
__device__ __forceinline__ void add_ring(const Near<T, S> &near, const Flux &flux, const Row &row, const T *factors,
                                         T *forces, u32 none) {
    typedef Vector<T, 3> X;
    typedef Vector<T, C> V;
    const u32 a = local_node(row, 0), b = local_node(row, 1), first = local_node(row, 2);
    const bool there = row.node(0) != ABSENT, closed = row.node(0) & FLAG;
    X xa, g, r, n, s;
    V ua, h, hr, hs, f[8];
    V fc = nothing<T, C>(), fb = fc, sum = fc;
    u32 current = first;
    bool more = there;
    if (there) {
        get_some(near, a, xa, ua);
        get_some(near, b, g, h);
        get_some(near, first, r, hr);
        g = g - xa, h = h - ua;
        r = r - xa, hr = hr - ua;
        n = cross(g, r);
    }
#pragma unroll
    for (int k = 0; k < 6; k++) {
        u32 next = k < 5 ? local_node(row, 3 + k) : current;
        const bool back = next == current;
        V now = fc;
        // An open ring ends at its last node.
        more = more && (closed || !back);
        if (more) {
            if (back) next = first;
            get_some(near, next, s, hs);
            s = s - xa, hs = hs - ua;
            const X m = cross(g, s), cb = cross(r, s);
            T inverse = inverse_of(dot(g, cb));
            if (factors) inverse *= factors[k];
            typename Flux::InRing t;
            flux.in_ring(h, hr, hs, cb, m, n, inverse, t);
            fb = Flux::times(t, cb, fb);
            now = Flux::times(t, nothing<T, 3>() - m, fc);
            sum = sum + now;
            fc = Flux::times(t, n);
            more = !back;
            r = s;
            hr = hs;
            n = m;
            current = next;
        }
        f[2 + k] = now;
        if (k == 0) continue;
        add_force<S>(forces, row.node(2 + k), none, now);
        __syncthreads();
    }
    sum = sum + fc;
    // A closed ring ends at the node where it began.
    if (closed) f[2] = f[2] + fc;
    f[1] = fb;
    f[0] = nothing<T, C>() - sum - fb;
#pragma unroll
    for (int k = 0; k < 3; k++) {
        add_force<S>(forces, place(row, k), none, f[k]);
        if (k < 2) __syncthreads();
    }
    add_turns<8, S>(forces, row, f);
}

// Adds f_int of the elements of one run to `forces`, one batch after another. `row` is the connectivity row of the
// thread's first element.
template <typename T, u32 LAW, bool ALIGNED, int S>
__device__ __forceinline__ void add_solids(const Params<T> &p, const Colour &run, const Near<T, S> &near, T *forces, u32 none, Row row) {
    typedef Element<T, LAW, ALIGNED> E;
    const u32 n = run.n_elements;
    const u16 *connectivity = p.connectivity + run.connectivity_first;
    // Kernels of materials that couple shear also take batches in which each element has a material of its own.
    const bool mixed = !ALIGNED && run.materials_first != NONE;
    u32 material = run.material;
#pragma unroll 1
    for (u32 e = threadIdx.x; e - threadIdx.x < n; e += THREADS) {
        if (mixed && e < n) material = __ldg(p.element_materials + run.materials_first + e);
        const E element(p.materials[material]);
        const Row now = row;
        row = no_row();
        if (e + THREADS < n) read_row<ROW_NODES<LAW>>(connectivity, e + THREADS, row);
        if constexpr (IN_RINGS<LAW>) {
            add_ring<E::C>(near, element.solid, now, p.factors ? p.factors + run.element_first + 6 * e : nullptr, forces, none);
        } else {
            constexpr int NODES = E::NODES;
            Vector<T, E::C> f[NODES];
            if (now.node(0) != ABSENT) {
                Vector<T, 3> x[NODES];
                Vector<T, E::C> u[NODES];
#pragma unroll
                for (int i = 0; i < NODES; i++) get_some(near, local_node(now, i), x[i], u[i]);
                element.force(x, u, f);
                if (p.factors) {
                    const T factor = p.factors[run.element_first + e];
#pragma unroll
                    for (int i = 0; i < NODES; i++) f[i] = factor * f[i];
                }
            }
#pragma unroll
            for (int i = 0; i < NODES; i++) {
                add_force<S>(forces, place(now, i), none, f[i]);
                if (i + 1 < NODES) __syncthreads();
            }
            add_turns<NODES, S>(forces, now, f);
        }
    }
}

// Layout of the dynamic shared memory of `step_solids`. It holds the descriptions of four blocks, the numbers of the
// later nodes of one block, x and u of the nodes of one block, and the forces on its own and later nodes and on the
// unused node.
template <typename T, int S> struct Rooms {
    u32 n_near, n_later;
    unsigned char *shared;

    __device__ __forceinline__ Block &block(u32 turn) const { return reinterpret_cast<Block *>(shared)[turn % 4]; }
    __device__ __forceinline__ u32 *later() const { return reinterpret_cast<u32 *>(shared + 4 * sizeof(Block)); }
    __device__ __forceinline__ unsigned char *records() const { return shared + 4 * sizeof(Block) + 4 * n_later; }
    // Forces, (n_near + 2, S). The last row belongs to the unused node.
    __device__ __forceinline__ T *forces() const { return reinterpret_cast<T *>(records() + (3 + S) * sizeof(T) * n_near); }
    __device__ __forceinline__ u32 none() const { return n_near + 1; }
    __device__ __forceinline__ u32 n_forces() const { return S * (n_near + 2); }
};

// The last warp waits until all earlier blocks have stored the forces that they pass on to this block.
template <typename T> __device__ __forceinline__ void wait_for_sources(const Params<T> &p, const Block &block, u32 launch) {
    const u32 first = THREADS - 32;
    if (threadIdx.x < first) return;
    for (u32 s = threadIdx.x - first; s < block.n_sources; s += 32) {
        const u32 *at = p.done + __ldg(p.sources + block.source_first + s);
        while (acquire(at) != launch) __nanosleep(64);
    }
}

// Starts to copy x and u of all nodes of one block. The numbers of its later nodes must be in shared memory. No thread
// waits for the copies.
template <typename T, int S>
__device__ __forceinline__ void bring_records(const Params<T> &p, const Block &block, const Near<T, S> &near,
                                              const u32 *later) {
    const u32 n_own = block.n_own, n = n_own + block.n_halo, first = block.node_first;
    const T *u_in = p.u[0], *x_in = p.x + 3 * (u64)block.local_first + threadIdx.x;
#pragma unroll 2
    for (u32 i = threadIdx.x; i < n; i += THREADS, x_in += THREADS) {
        const u32 node = i < n_own ? first + i : later[i - n_own];
        const T *u = u_in + S * (u64)node;
#pragma unroll
        for (int c = 0; c < 3; c++) {
            if (c < S) copy_later<sizeof(T)>(near.u(i, c), u + c);
            copy_later<sizeof(T)>(near.x(i, c), x_in + c * n);
        }
    }
}

// Forces that earlier blocks pass on to the boundary nodes of a block, with one thread per node. The rows are located
// before the thread block waits for the earlier blocks. They are fetched before the first of them is added. The loads
// bypass the L1 cache, which is not coherent with stores of other multiprocessors.
template <typename T, int S> struct PassedOn {
    typedef Vector<T, S> V;
    static constexpr u32 NODES = 3, ROWS = 2;
    u32 first[NODES], last[NODES];
    V rows[NODES][ROWS];

    __device__ __forceinline__ static V row(const Params<T> &p, u32 at) {
        const T *from = p.passed + S * (u64)at;
        V passed;
#pragma unroll
        for (int c = 0; c < S; c++) passed[c] = __ldcg(from + c);
        return passed;
    }
    __device__ __forceinline__ void find(const Params<T> &p, const Block &block) {
        const u32 *rows = p.passed_first + block.boundary_first;
#pragma unroll
        for (u32 s = 0; s < NODES; s++) {
            const u32 i = threadIdx.x + s * THREADS;
            first[s] = __ldg(rows + min(i, block.n_boundary));
            last[s] = __ldg(rows + min(i + 1, block.n_boundary));
        }
    }
    __device__ __forceinline__ void fetch(const Params<T> &p) {
#pragma unroll
        for (u32 s = 0; s < NODES; s++)
#pragma unroll
            for (u32 r = 0; r < ROWS; r++) {
                rows[s][r] = {};
                if (first[s] + r < last[s]) rows[s][r] = row(p, first[s] + r);
            }
    }
    // Adds these rows to the forces of the block's own elements.
    __device__ __forceinline__ void add(const Params<T> &p, const Block &block, T *force) const {
        auto add_rows = [&](u32 i, u32 from, u32 to) {
            for (u32 at = from; at < to; at++) {
                const V more = row(p, at);
#pragma unroll
                for (int c = 0; c < S; c++) force[S * i + c] += more[c];
            }
        };
#pragma unroll
        for (u32 s = 0; s < NODES; s++) {
            const u32 i = threadIdx.x + s * THREADS;
            if (first[s] == last[s]) continue;
#pragma unroll
            for (int c = 0; c < S; c++) {
                T sum = force[S * i + c];
#pragma unroll
                for (u32 r = 0; r < ROWS; r++) sum += rows[s][r][c];
                force[S * i + c] = sum;
            }
            add_rows(i, first[s] + ROWS, last[s]);
        }
        const u32 *of = p.passed_first + block.boundary_first;
        for (u32 i = threadIdx.x + NODES * THREADS; i < block.n_boundary; i += THREADS) add_rows(i, of[i], of[i + 1]);
    }
};

// Update of the own nodes of a block without forces, supports, monitors and damping. Each thread has single components.
template <typename T, int S> struct Moving {
    // Number of components that a thread loads at a time. All loads are issued before the first value is used.
    static constexpr u32 BATCH = 4 * S;
    T u[BATCH], du[BATCH], factor[BATCH];

    __device__ __forceinline__ void fetch(const Params<T> &p, const Block &block, u32 base) {
        const u64 start = S * (u64)block.node_first + base;
        const T *u_in = p.u[0] + start, *du_in = p.du[0] + start;
        // S rounds of THREADS components cover THREADS nodes.
        const T *inertia[S];
#pragma unroll
        for (u32 s = 0; s < S; s++) inertia[s] = p.inertia + block.node_first + (base + s * THREADS) / S;
#pragma unroll
        for (u32 s = 0; s < BATCH; s++) {
            u[s] = du[s] = factor[s] = 0;
            if (base + s * THREADS >= S * block.n_own) continue;
            u[s] = __ldg(u_in + s * THREADS);
            du[s] = __ldg(du_in + s * THREADS);
            factor[s] = __ldg(inertia[s % S] + s / S * THREADS);
        }
    }
    // Updates the nodes and clears the forces. The first batch of each thread has been fetched already.
    __device__ __forceinline__ void finish(const Params<T> &p, const Block &block, T *force) {
        const u64 start = S * (u64)block.node_first;
        const u32 n = S * block.n_own;
#pragma unroll 1
        for (u32 base = threadIdx.x; base < n; base += BATCH * THREADS) {
            if (base != threadIdx.x) fetch(p, block, base);
            T *u_out = p.u[1] + start + base, *du_out = p.du[1] + start + base, *f = force + base;
#pragma unroll
            for (u32 s = 0; s < BATCH; s++) {
                if (base + s * THREADS >= n) break;
                const T moved = du[s] - factor[s] * f[s * THREADS];
                f[s * THREADS] = 0;
                du_out[s * THREADS] = moved;
                u_out[s * THREADS] = u[s] + moved;
            }
        }
    }
};

// Updates the own nodes of a block with forces, supports, monitors or damping, one thread per node. Not inlined, so
// that other blocks do not pay for its registers.
template <typename T, int S>
__device__ __noinline__ void move_special_nodes(const Params<T> &p, const Block &block, u32 k, T *force) {
    const u64 start = S * (u64)block.node_first;
    const T *u_in = p.u[0] + start, *du_in = p.du[0] + start;
    T *u_out = p.u[1] + start, *du_out = p.du[1] + start;
    const u32 row = *p.row + k;
    Energies energies;
#pragma unroll 1
    for (u32 i = threadIdx.x; i < block.n_own; i += THREADS) {
        Motion<T, S> motion;
#pragma unroll
        for (int c = 0; c < S; c++) {
            motion.f[c] = force[S * i + c];
            force[S * i + c] = 0;
            motion.u[c] = u_in[S * i + c];
            motion.du[c] = du_in[S * i + c];
        }
        if (p.force_out) {
#pragma unroll
            for (int c = 0; c < S; c++) p.force_out[start + S * i + c] = (double)motion.f[c] * p.force_unit;
            continue;
        }
        const u64 node = (u64)block.node_first + i;
        const Moved<T, S> next = update_node<T, S, false>(p, block, i, node, k, row, motion, energies);
#pragma unroll
        for (int c = 0; c < S; c++) {
            u_out[S * i + c] = next.u[c];
            du_out[S * i + c] = next.du[c];
        }
    }
    if (block.energy_row != NONE && !p.force_out)
        add_energies<THREADS>(p.energies, block.energy_row, energies);
    __syncthreads();
}

template <typename T, u32 SET, bool ALIGNED, typename Touching = Nothing>
__device__ __forceinline__ void step_solids(const Params<T> &p, u32 k, const Touching &touching = {}) {
    constexpr int S = unknowns_of(SET);
    DYNAMIC_SHARED;
    const Rooms<T, S> rooms = {p.near_room, p.later_room, shared};
    const Near<T, S> near(rooms.records(), p.near_room);
    const u32 tid = threadIdx.x;
    // Number of the block that this thread block computes in a turn. From `n_blocks` on there is none.
    auto number = [&](u32 turn) { return blockIdx.x + turn * gridDim.x; };
    if (number(0) >= p.n_blocks) return;
    // All blocks have the same launch count, and only this thread block writes this entry.
    const u32 launch = p.done[number(0)] + 1;
    auto bring_block = [&](u32 turn) {
        constexpr u32 WORDS = sizeof(Block) / 16;
        if (number(turn) < p.n_blocks && tid < WORDS)
            copy_later<16>(reinterpret_cast<uint4 *>(&rooms.block(turn)) + tid,
                           reinterpret_cast<const uint4 *>(p.blocks + number(turn)) + tid);
    };
    auto bring_later = [&](u32 turn) {
        if (number(turn) >= p.n_blocks) return;
        const Block &block = rooms.block(turn);
        for (u32 i = tid; i < block.n_halo; i += THREADS)
            copy_later<4>(rooms.later() + i, p.halo_nodes + block.halo_first + i);
    };
    auto bring = [&](u32 turn) {
        if (number(turn) < p.n_blocks) bring_records(p, rooms.block(turn), near, rooms.later());
    };
    // Prefetches what the elements of a block need. Each warp prefetches a part of it.
    auto bring_near = [&](u32 turn) {
        if (number(turn) >= p.n_blocks) return;
        const Block &block = rooms.block(turn);
        const u32 warp = tid / 32;
        if (warp == 0) {
            prefetch<true>(p.x + 3 * (u64)block.local_first, 3 * sizeof(T) * (block.n_own + block.n_halo));
        } else if (warp == 1) {
            prefetch<true>(p.u[0] + S * (u64)block.node_first, S * sizeof(T) * block.n_own);
            prefetch<true>(p.colours + block.colour_first, sizeof(Colour) * block.n_colours);
        } else if (warp == 2) {
            prefetch<true>(p.connectivity + 8 * (u64)block.rows_first, 16 * (u64)block.n_rows);
        } else {
            prefetch<true>(p.sources + block.source_first, sizeof(u32) * block.n_sources);
        }
    };
    auto motion_near = [&](const Block &block) {
        const u32 warp = tid / 32;
        if (warp == 0) {
            prefetch<true>(p.passed_first + block.boundary_first, sizeof(u32) * (block.n_boundary + 1));
            prefetch<true>(p.passed_row + block.halo_first, sizeof(u32) * block.n_halo);
        } else if (warp == 1) {
            prefetch<true>(p.inertia + block.node_first, sizeof(T) * block.n_own);
        } else if (warp == 3) {
            prefetch<true>(p.du[0] + S * (u64)block.node_first, S * sizeof(T) * block.n_own);
        }
    };
    bring_block(0);
    bring_block(1);
    wait_for_copies();
    __syncthreads();
    bring_later(0);
    for (u32 i = tid; i < rooms.n_forces(); i += THREADS) rooms.forces()[i] = 0;
    wait_for_copies();
    __syncthreads();
    bring(0);

#pragma unroll 1
    for (u32 turn = 0; number(turn) < p.n_blocks; turn++) {
        const Block &block = rooms.block(turn);
        T *forces = rooms.forces();
        Row row;
        auto read = [&](const Colour &run) {
            row = no_row();
            if (tid < run.n_elements) read_row_of<SET>(run.law, p.connectivity + run.connectivity_first, tid, row);
        };
        Colour run = {};
        if (block.n_colours > 0) read(run = load_row(p.colours + block.colour_first));
        wait_for_copies();
        __syncthreads();
        bring_later(turn + 1);
        bring_block(turn + 2);
        motion_near(block);
        bring_near(turn + 1);
#pragma unroll 1
        for (u32 c = 0; c < block.n_colours; c++) {
            if (c > 0) read(run = load_row(p.colours + block.colour_first + c));
            with_law<SET>(run.law, [&](auto law) {
                add_solids<T, decltype(law)::value, ALIGNED>(p, run, near, forces, rooms.none(), row);
            });
        }

        // All loads for the rest of this turn are issued together.
        const bool touches = touching.in(number(turn)) && !p.force_out && !block.moved_by_tiles;
        const bool plain = block.special_first == NONE && !block.damped && !p.force_out && !block.moved_by_tiles && !touches;
        PassedOn<T, S> passed_on = {};
        Moving<T, S> moving = {};
        if (plain) moving.fetch(p, block, tid);
        passed_on.find(p, block);
        for (u32 i = tid; i < block.n_halo; i += THREADS) {
            T *from = forces + S * (block.n_own + i), *to = p.passed + S * (u64)__ldg(p.passed_row + block.halo_first + i);
#pragma unroll
            for (int c = 0; c < S; c++) {
                to[c] = from[c];
                from[c] = 0;
            }
        }
        wait_for_copies();
        __syncthreads();
        if (tid == 0) release(p.done + number(turn), launch);
        bring(turn + 1);
        wait_for_sources(p, block, launch);
        __syncthreads();
        passed_on.fetch(p);
        passed_on.add(p, block, forces);
        __syncthreads();
        if (plain)
            moving.finish(p, block, forces);
        else if (touches)
            touching.template move<S, THREADS>(p, block, number(turn), k, forces);
        else if (!block.moved_by_tiles)
            move_special_nodes<T, S>(p, block, k, forces);
        else
            for (u32 i = tid; i < S * block.n_own; i += THREADS) forces[i] = 0;
    }
}
