// Elements in space: a thread an element, or a ring of tetrahedra round an edge. Each writes the forces on its nodes to
// places of their own in shared memory; then a thread a node adds up those of its node, always in the same order. An
// element on a join is computed once, by the first block that it touches; its forces on nodes of later blocks get rows of
// their own, which the thread blocks of those add, again in a fixed order, before they move the nodes.
//
// Dynamic shared memory: see `Rooms`. The host chooses how many threads a block has, and how many blocks there are.

#pragma once
#include "rows.cuh"

// The most threads of a block.
constexpr u32 MOST_THREADS = 512;
// Places of one element's forces, and what stands where a list has none.
constexpr u32 PLACES = 8, NO_PLACE = 0xffff;

// x and u of own and later nodes, in pieces of 16 and 8 bytes: fewer, wider accesses, of which each meets fewer banks.
template <typename T> struct Near;

template <> struct Near<float> {
    float4 *a; // ux, uy, uz, xx
    float2 *b; // xy, xz

    __device__ __forceinline__ Near(unsigned char *shared, u32 n)
        : a(reinterpret_cast<float4 *>(shared)), b(reinterpret_cast<float2 *>(shared + 16 * n)) {}
    // Where component c of one is.
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

template <> struct Near<double> {
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

// Forces of elements on their nodes: place k of all elements before place k + 1, so that neighbouring threads write
// neighbouring words.
template <typename T> struct Places {
    typedef typename Pair<T>::type T2;
    T2 *f;
    T *g;

    __device__ __forceinline__ Places(unsigned char *shared, u32 n_items)
        : f(reinterpret_cast<T2 *>(shared)), g(reinterpret_cast<T *>(f + PLACES * n_items)) {}
    __device__ __forceinline__ void set(u32 at, Vector<T, 3> v) const {
        f[at] = {v[0], v[1]};
        g[at] = v[2];
    }
    __device__ __forceinline__ Vector<T, 3> get(u32 at) const {
        const T2 v = f[at];
        return {v.x, v.y, g[at]};
    }
};

// The tetrahedra (a, b, c_k, c_{k+1}) round the edge ab: what they share is loaded and computed once. A row is a, b and up
// to six nodes c, the last one again in what is left; a > b says that the last and the first c make a tetrahedron, too.
template <typename T, bool ALIGNED>
__device__ __forceinline__ void put_ring(const Near<T> &near, const Places<T> &places, u32 item, u32 n_items,
                                         const SolidLaw<T, ALIGNED> &solid, Row row, const T *factors) {
    typedef Vector<T, 3> V;
    typedef SolidLaw<T, ALIGNED> S;
    const u32 a = row.node(0), b = row.node(1), first = row.node(2);
    V xa, ua, x, u;
    near.get(a, xa.c, ua.c);
    near.get(b, x.c, u.c);
    const V g = x - xa, h = u - ua;
    near.get(first, x.c, u.c);
    V r = x - xa, hr = u - ua, n = cross(g, r);
    V fc = nothing<T, 3>(), fb = nothing<T, 3>(), sum = nothing<T, 3>();
    u32 current = first, place = 2 * n_items + item;
    const bool closed = a > b;
    bool last = false;
#pragma unroll
    for (int k = 0; k < 6; k++) {
        u32 next = k < 5 ? row.node(3 + k) : current;
        if (last || (next == current && !closed)) break;
        if (next == current) {
            last = true;
            next = first;
        }
        near.get(next, x.c, u.c);
        const V s = x - xa, hs = u - ua, m = cross(g, s), cb = cross(r, s);
        T inverse = inverse_of(dot(g, cb));
        if (factors) inverse *= factors[k];
        // ∂u/∂x det J = h ⊗ cb − hr ⊗ m + hs ⊗ n.
        constexpr int I[6] = {0, 1, 2, 0, 0, 1}, J[6] = {0, 1, 2, 1, 2, 2};
        T e[6], t[6];
#pragma unroll
        for (int v = 0; v < 6; v++) {
            const int i = I[v], j = J[v];
            e[v] = fma(h[i], cb[j], fma(-hr[i], m[j], hs[i] * n[j]));
            if (v >= 3) e[v] = fma(h[j], cb[i], fma(-hr[j], m[i], fma(hs[j], n[i], e[v])));
        }
#pragma unroll
        for (int v = 0; v < 6; v++) e[v] *= inverse;
        solid.stress(e, t);
        fb = S::times(t, cb, fb);
        fc = S::times(t, nothing<T, 3>() - m, fc);
        sum = sum + fc;
        places.set(place, fc);
        place += n_items;
        fc = S::times(t, n);
        r = s;
        hr = hs;
        n = m;
        current = next;
    }
    sum = sum + fc;
    // A closed ring ends at the node where it began.
    if (last) {
        place = 2 * n_items + item;
        fc = fc + places.get(place);
    }
    places.set(place, fc);
    places.set(item + n_items, fb);
    places.set(item, nothing<T, 3>() - sum - fb);
}

// f_int of the elements of one run, of which the first is item `first` of the block; `row` is that of the thread's first.
template <typename T, u32 LAW, bool ALIGNED>
__device__ __forceinline__ void put_solids(const Params<T> &p, const Colour &run, const Near<T> &near, const Places<T> &places,
                                           u32 first, u32 n_items, Row row) {
    typedef Element<T, LAW, ALIGNED> E;
    constexpr int NODES = E::NODES;
    const u32 n = run.n_elements;
    const u16 *connectivity = p.connectivity + run.connectivity_first;
    const E element(p.materials[run.material]);
#pragma unroll 1
    for (u32 e = threadIdx.x; e < n; e += blockDim.x) {
        const Row now = row;
        if (e + blockDim.x < n) read_row<ROW_NODES<LAW>>(connectivity, e + blockDim.x, row);
        if constexpr (LAW == TETRAHEDRON) {
            put_ring<T, ALIGNED>(near, places, first + e, n_items, element.solid, now,
                                 p.factors ? p.factors + run.element_first + 6 * e : nullptr);
        } else {
            Vector<T, 3> x[NODES], u[NODES], f[NODES];
#pragma unroll
            for (int i = 0; i < NODES; i++) near.get(now.node(i), x[i].c, u[i].c);
            element.force(x, u, f);
            if (p.factors) {
                const T factor = p.factors[run.element_first + e];
#pragma unroll
                for (int i = 0; i < NODES; i++) f[i] = factor * f[i];
            }
#pragma unroll
            for (int i = 0; i < NODES; i++) places.set(first + e + i * n_items, f[i]);
        }
    }
}

// The forces at the places of one piece, added to `sum`.
template <typename T> __device__ __forceinline__ void add_places(uint4 words, const Places<T> &places, Vector<T, 3> &sum) {
    const Row row = {{words.x, words.y, words.z, words.w}};
#pragma unroll
    for (int i = 0; i < 8; i++) {
        const u32 at = row.node(i);
        if (at == NO_PLACE) break;
        sum = sum + places.get(at);
    }
}

// Where things lie in the dynamic shared memory of `step_solids`: descriptions of eight blocks, records of two, numbers of
// the later nodes of two, forces on own nodes of one, forces of one block's elements. Where records of two do not fit, one
// block's are brought when those of the one before are done with.
template <typename T> struct Rooms {
    u32 n_rooms, n_own, n_near, n_later;
    unsigned char *shared;

    __device__ __forceinline__ Block &block(u32 turn) const { return reinterpret_cast<Block *>(shared)[turn % 8]; }
    __device__ __forceinline__ unsigned char *records(u32 turn) const {
        return shared + 8 * sizeof(Block) + (turn & (n_rooms - 1)) * 6 * sizeof(T) * n_near;
    }
    __device__ __forceinline__ Near<T> near(u32 turn) const { return Near<T>(records(turn), n_near); }
    __device__ __forceinline__ u32 *later(u32 turn) const {
        return reinterpret_cast<u32 *>(records(0) + n_rooms * 6 * sizeof(T) * n_near) + (turn & 1) * n_later;
    }
    // (n_own, 3)
    __device__ __forceinline__ T *forces() const { return reinterpret_cast<T *>(later(0) + 2 * n_later); }
    __device__ __forceinline__ unsigned char *places() const {
        return reinterpret_cast<unsigned char *>(forces() + 3 * n_own);
    }
};

__device__ __forceinline__ u32 acquire(const u32 *at) {
    u32 value;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
    return value;
}

__device__ __forceinline__ void release(u32 *at, u32 value) {
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(at), "r"(value) : "memory");
}

// The last warp waits for the forces that earlier blocks pass on to one block.
template <typename T> __device__ __forceinline__ void wait_for_sources(const Params<T> &p, const Block &block, u32 launch) {
    const u32 first = blockDim.x - 32;
    if (threadIdx.x < first) return;
    for (u32 s = threadIdx.x - first; s < block.n_sources; s += 32) {
        const u32 *at = p.done + __ldg(p.sources + block.source_first + s);
        while (acquire(at) != launch) __nanosleep(64);
    }
}

// Asks for the records of one block, whose later nodes are known; nobody waits.
template <typename T>
__device__ __forceinline__ void bring_records(const Params<T> &p, const Block &block, u32 parity, const Near<T> &near,
                                              const u32 *later) {
    const u32 n_own = block.n_own, n = n_own + block.n_halo, first = block.node_first;
    const T *u_in = p.u[parity], *x_in = p.x + 3 * (u64)block.local_first;
#pragma unroll 2
    for (u32 i = threadIdx.x; i < n; i += blockDim.x) {
        const u32 node = i < n_own ? first + i : later[i - n_own];
        const T *u = u_in + 3 * (u64)node;
#pragma unroll
        for (int c = 0; c < 3; c++) {
            copy_later<sizeof(T)>(near.u(i, c), u + c);
            copy_later<sizeof(T)>(near.x(i, c), x_in + c * n + i);
        }
    }
}

// Forces passed on to boundary nodes of a block, a thread a node: where the first of them are is found out before anybody
// waits for them, and they are fetched while others add up. They are read past the L1, which does not know of them.
template <typename T> struct PassedOn {
    static constexpr u32 NODES = 2, ROWS = 2;
    u32 first[NODES], last[NODES];
    Vector<T, 3> rows[NODES][ROWS];

    __device__ __forceinline__ static Vector<T, 3> row(const Params<T> &p, u32 at) {
        const T *from = p.passed + 3 * (u64)at;
        return {__ldcg(from), __ldcg(from + 1), __ldcg(from + 2)};
    }
    __device__ __forceinline__ void find(const Params<T> &p, const Block &block) {
        const u32 *rows = p.passed_first + block.boundary_first;
#pragma unroll
        for (u32 s = 0; s < NODES; s++) {
            const u32 i = threadIdx.x + s * blockDim.x;
            first[s] = __ldg(rows + min(i, block.n_boundary));
            last[s] = __ldg(rows + min(i + 1, block.n_boundary));
        }
    }
    __device__ __forceinline__ void fetch(const Params<T> &p) {
#pragma unroll
        for (u32 s = 0; s < NODES; s++)
#pragma unroll
            for (u32 r = 0; r < ROWS; r++) {
                rows[s][r] = {T(0), T(0), T(0)};
                if (first[s] + r < last[s]) rows[s][r] = row(p, first[s] + r);
            }
    }
    // Adds them to the forces of the block's own elements.
    __device__ __forceinline__ void add(const Params<T> &p, const Block &block, T *force) const {
        auto add_rows = [&](u32 i, u32 from, u32 to) {
            for (u32 at = from; at < to; at++) {
                const Vector<T, 3> more = row(p, at);
#pragma unroll
                for (int c = 0; c < 3; c++) force[3 * i + c] += more[c];
            }
        };
#pragma unroll
        for (u32 s = 0; s < NODES; s++) {
            const u32 i = threadIdx.x + s * blockDim.x;
            if (first[s] == last[s]) continue;
#pragma unroll
            for (int c = 0; c < 3; c++) {
                T sum = force[3 * i + c];
#pragma unroll
                for (u32 r = 0; r < ROWS; r++) sum += rows[s][r][c];
                force[3 * i + c] = sum;
            }
            add_rows(i, first[s] + ROWS, last[s]);
        }
        const u32 *of = p.passed_first + block.boundary_first;
        for (u32 i = threadIdx.x + NODES * blockDim.x; i < block.n_boundary; i += blockDim.x) add_rows(i, of[i], of[i + 1]);
    }
};

// Own nodes of one block on which nothing acts: a thread a component.
template <typename T> struct Moving {
    // Components a thread has at a time: all that they need is asked for before anything is waited for.
    static constexpr u32 BATCH = 6;
    T u[BATCH], du[BATCH], factor[BATCH];

    __device__ __forceinline__ void fetch(const Params<T> &p, const Block &block, u32 parity, u32 base) {
        const u64 start = 3 * (u64)block.node_first;
        const T *u_in = p.u[parity] + start, *du_in = p.du[parity] + start, *inertia = p.inertia + block.node_first;
#pragma unroll
        for (u32 s = 0; s < BATCH; s++) {
            const u32 j = base + s * blockDim.x;
            u[s] = du[s] = factor[s] = 0;
            if (j >= 3 * block.n_own) continue;
            u[s] = __ldg(u_in + j);
            du[s] = __ldg(du_in + j);
            factor[s] = __ldg(inertia + j / 3);
        }
    }
    // Moves them, the first ones being fetched. The forces on the nodes of the next block take the place of theirs.
    __device__ __forceinline__ void finish(const Params<T> &p, const Block &block, u32 parity, T *force, const T *next,
                                           u32 n_next) {
        const u64 start = 3 * (u64)block.node_first;
        const u32 n = 3 * block.n_own, most = max(n, n_next);
        T *u_out = p.u[parity ^ 1] + start, *du_out = p.du[parity ^ 1] + start;
#pragma unroll 1
        for (u32 base = threadIdx.x; base < most; base += BATCH * blockDim.x) {
            if (base != threadIdx.x) fetch(p, block, parity, base);
#pragma unroll
            for (u32 s = 0; s < BATCH; s++) {
                const u32 j = base + s * blockDim.x;
                if (j < n) {
                    const T moved = du[s] - factor[s] * force[j];
                    du_out[j] = moved;
                    u_out[j] = u[s] + moved;
                }
                if (j < n_next) force[j] = next[j];
            }
        }
    }
};

// Own nodes of a block where something acts, a thread a node. Out of line, so that what they need costs the others no
// registers.
template <typename T>
__device__ __noinline__ void move_special_nodes(const Params<T> &p, const Block &block, u32 k, u32 parity, const T *force) {
    const u64 start = 3 * (u64)block.node_first;
    const T *u_in = p.u[parity] + start, *du_in = p.du[parity] + start;
    T *u_out = p.u[parity ^ 1] + start, *du_out = p.du[parity ^ 1] + start;
    const u32 row = *p.row + k;
    Energies energies;
#pragma unroll 1
    for (u32 i = threadIdx.x; i < block.n_own; i += blockDim.x) {
        Motion<T, 3> motion;
#pragma unroll
        for (int c = 0; c < 3; c++) {
            motion.f[c] = force[3 * i + c];
            motion.u[c] = u_in[3 * i + c];
            motion.du[c] = du_in[3 * i + c];
        }
        if (p.force_out) {
#pragma unroll
            for (int c = 0; c < 3; c++) p.force_out[start + 3 * i + c] = (double)motion.f[c] * p.force_unit;
            continue;
        }
        const u64 node = (u64)block.node_first + i;
        const Moved<T, 3> next = update_node<T, 3, false>(p, block, i, node, k, row, motion, energies);
#pragma unroll
        for (int c = 0; c < 3; c++) {
            u_out[3 * i + c] = next.u[c];
            du_out[3 * i + c] = next.du[c];
        }
    }
    if (block.energy_row != NONE && !p.force_out)
        add_energies<MOST_THREADS>(p.energies, block.energy_row, energies, blockDim.x / 32);
    __syncthreads();
}

// A step. A thread block takes one block after the other, in turns; the records of the next are on their way while the forces
// of one are computed. When these are there, the thread block says so, and moves the nodes of the turn before: by then the
// blocks that pass forces on to it, all earlier ones, have mostly been done by their thread blocks. All thread blocks must run
// at once. None waits for ever: a block is waited for only by later ones, after its forces, which wait for nothing but what its
// thread block did a turn before.
template <typename T, u32 SET, bool ALIGNED>
__device__ __forceinline__ void step_solids(const Params<T> &p, u32 k, u32 parity) {
    extern __shared__ __align__(16) unsigned char shared[];
    const Rooms<T> rooms = {p.n_rooms, p.own_room, p.near_room, p.later_room, shared};
    const u32 tid = threadIdx.x;
    // Number of the block of a turn; none from `n_blocks` on.
    auto number = [&](u32 turn) { return blockIdx.x + turn * gridDim.x; };
    if (number(0) >= p.n_blocks) return;
    // All blocks count alike, and nobody else writes this number.
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
        for (u32 i = tid; i < block.n_halo; i += blockDim.x)
            copy_later<4>(rooms.later(turn) + i, p.halo_nodes + block.halo_first + i);
    };
    auto bring = [&](u32 turn) {
        if (number(turn) >= p.n_blocks) return;
        const Block &block = rooms.block(turn);
        const u32 n = block.n_own + block.n_halo;
        bring_records(p, block, parity, rooms.near(turn), rooms.later(turn));
        prefetch(p.colours + block.colour_first, sizeof(Colour) * block.n_colours);
        prefetch(p.connectivity + 8 * (u64)block.rows_first, 16 * (u64)block.n_rows);
        prefetch(p.gather_first + block.local_first, sizeof(u32) * n);
        prefetch(p.gather + block.piece_first, 16 * (u64)n);
        prefetch(p.passed_row + block.halo_first, sizeof(u32) * block.n_halo);
        prefetch(p.sources + block.source_first, sizeof(u32) * block.n_sources);
    };
    auto near_motion = [&](const Block &block) {
        prefetch(p.du[parity] + 3 * (u64)block.node_first, 3 * sizeof(T) * block.n_own);
        prefetch(p.inertia + block.node_first, sizeof(T) * block.n_own);
        prefetch(p.passed_first + block.boundary_first, sizeof(u32) * (block.n_boundary + 1));
    };
    auto is_plain = [&](const Block &block) { return block.special_first == NONE && !block.damped && !p.force_out; };
    // Moves the nodes of a block, of which the forces are held, and holds those of the next.
    auto finish = [&](const Block &block, Moving<T> &moving, const T *next, u32 n_next) {
        T *held = rooms.forces();
        if (is_plain(block)) {
            moving.finish(p, block, parity, held, next, n_next);
        } else {
            move_special_nodes(p, block, k, parity, held);
            for (u32 j = tid; j < n_next; j += blockDim.x) held[j] = next[j];
        }
    };
    bring_block(0);
    bring_block(1);
    bring_block(2);
    wait_for_copies();
    __syncthreads();
    bring_later(0);
    bring_later(1);
    wait_for_copies();
    __syncthreads();
    bring(0);

#pragma unroll 1
    for (u32 turn = 0;; turn++) {
        const Block &block = rooms.block(turn);
        const u32 n_own = block.n_own, n_later = block.n_halo, n = n_own + n_later, n_items = block.n_items;
        const Near<T> near = rooms.near(turn);
        const Places<T> places(rooms.places(), n_items);
        Row row = {};
        auto read = [&](const Colour &run) {
            if (tid < run.n_elements) read_row_of<SET>(run.law, p.connectivity + run.connectivity_first, tid, row);
        };
        Colour run = {};
        if (block.n_colours > 0) read(run = load_row(p.colours + block.colour_first));
        wait_for_copies();
        __syncthreads();
        if (rooms.n_rooms == 2) bring(turn + 1);
        bring_later(turn + 2);
        bring_block(turn + 3);
        if (turn > 0) near_motion(rooms.block(turn - 1));
        if (number(turn + 1) >= p.n_blocks) near_motion(block);

        u32 first = 0;
#pragma unroll 1
        for (u32 c = 0; c < block.n_colours; c++) {
            if (c > 0) read(run = load_row(p.colours + block.colour_first + c));
            with_law<SET>(run.law, [&](auto law) {
                put_solids<T, decltype(law)::value, ALIGNED>(p, run, near, places, first, n_items, row);
            });
            first += run.n_elements;
        }

        // Forces on own nodes take the place of the records.
        constexpr u32 BATCH = 4;
        const u32 *pieces = p.gather_first + block.local_first, *rows = p.passed_row + block.halo_first;
        T *own = reinterpret_cast<T *>(rooms.records(turn)), *held = rooms.forces();
        // Of turn 0 there is nothing before.
        const Block &before = rooms.block(turn - 1);
        // Set on every way, or their registers would be taken while the elements are computed.
        PassedOn<T> passed_on = {};
        Moving<T> moving = {};
        if (turn > 0) {
            if (is_plain(before)) moving.fetch(p, before, parity, tid);
            passed_on.find(p, before);
            wait_for_sources(p, before, launch);
        }
#pragma unroll 1
        for (u32 base = tid; base - tid < n; base += BATCH * blockDim.x) {
            u32 piece[BATCH], last[BATCH], passed[BATCH];
            uint4 words[BATCH];
#pragma unroll
            for (u32 s = 0; s < BATCH; s++) {
                const u32 i = min(base + s * blockDim.x, n - 1);
                piece[s] = __ldg(pieces + i);
                last[s] = __ldg(pieces + i + 1);
                passed[s] = i < n_own ? 0 : __ldg(rows + i - n_own);
            }
#pragma unroll
            for (u32 s = 0; s < BATCH; s++) {
                words[s] = {~0u, ~0u, ~0u, ~0u};
                if (piece[s] < last[s]) words[s] = __ldg(p.gather + piece[s]);
            }
            // All elements have put their forces.
            if (base == tid) {
                __syncthreads();
                if (turn > 0) passed_on.fetch(p);
            }
#pragma unroll
            for (u32 s = 0; s < BATCH; s++) {
                const u32 i = base + s * blockDim.x;
                if (i >= n) break;
                Vector<T, 3> f = nothing<T, 3>();
                add_places(words[s], places, f);
#pragma unroll 1
                for (u32 more = piece[s] + 1; more < last[s]; more++) add_places(__ldg(p.gather + more), places, f);
                T *to = i < n_own ? own + 3 * i : p.passed + 3 * (u64)passed[s];
#pragma unroll
                for (int c = 0; c < 3; c++) to[c] = f[c];
            }
        }
        if (turn > 0) passed_on.add(p, before, held);
        __syncthreads();
        if (tid == 0) release(p.done + number(turn), launch);
        if (turn > 0) finish(before, moving, own, 3 * n_own);
        else
            for (u32 j = tid; j < 3 * n_own; j += blockDim.x) held[j] = own[j];
        if (number(turn + 1) >= p.n_blocks) {
            // The last one has no turn after it.
            if (is_plain(block)) moving.fetch(p, block, parity, tid);
            passed_on.find(p, block);
            wait_for_sources(p, block, launch);
            __syncthreads();
            passed_on.fetch(p);
            passed_on.add(p, block, held);
            __syncthreads();
            finish(block, moving, own, 0);
            return;
        }
        if (rooms.n_rooms == 1) {
            __syncthreads();
            bring(turn + 1);
        }
    }
}
