// Step of hexahedra in a grid, or of grid cells of six tetrahedra.
//
// A thread block goes through a tile of columns, plane by plane. Each thread has one column. A plane of nodes is in
// shared memory once, for the elements below it and above it. The forces on a plane are complete when the elements
// above it have been computed. Each thread keeps the forces from the element below the plane in registers. Neighbouring
// columns exchange their forces in shared memory. Tiles overlap by one element. Both tiles compute that element, so no
// forces pass between tiles.
//
// A plane has one slot for each node. Column t has the lowest corner of its element in slot t. The next slots hold the
// nodes beyond the last column of each row. The last slots hold the nodes beyond the last row.

#pragma once
#include "solids.cuh"

// Contribution to the coefficients from the four corners of an element on one plane, in the order of CPE4. Differences
// are formed first.
template <typename T, int C> struct Quad {
    Vector<T, C> at, along, twist, side;

    __device__ __forceinline__ void set(const Vector<T, C> *v) {
        const Vector<T, C> a = v[1] - v[0], b = v[2] - v[3];
        at = v[0];
        along = a + b;
        twist = b - a;
        side = v[3] - v[0];
    }
};

// Computes the same coefficients as `hexahedron_modes`.
template <typename T, int C>
__device__ __forceinline__ void modes_between(const Quad<T, C> &low, const Quad<T, C> &high, Vector<T, C> *m) {
    m[0] = low.along + high.along;
    m[4] = high.along - low.along;
    m[5] = low.twist + high.twist;
    m[6] = high.twist - low.twist;
    const Vector<T, C> rise = high.side - low.side;
    m[1] = axpy(T(2), low.side + high.side, m[5]);
    m[3] = axpy(T(2), rise, m[6]);
    m[2] = axpy(T(4), high.at - low.at, axpy(T(2), rise, m[4]));
}

// Adds f_int of the six tetrahedra of a cell. They surround the diagonal from corner 0 to corner 6. `get` returns x and
// u of a corner.
template <typename T, int C, typename Flux, typename Get>
__device__ __forceinline__ void add_cell(const Flux &flux, Get &&get, Vector<T, C> *f) {
    typedef Vector<T, 3> X;
    typedef Vector<T, C> V;
    constexpr int RING[7] = {1, 2, 3, 7, 4, 5, 1};
    X xa, g, r, s;
    V ua, h, hr, hs;
    get(0, xa, ua);
    get(6, g, h);
    get(RING[0], r, hr);
    g = g - xa, h = h - ua;
    r = r - xa, hr = hr - ua;
    X n = cross(g, r);
    V fb = nothing<T, C>(), sum = fb, fc = fb;
#pragma unroll
    for (int k = 0; k < 6; k++) {
        get(RING[k + 1], s, hs);
        s = s - xa, hs = hs - ua;
        const X m = cross(g, s), cb = cross(r, s);
        const T inverse = inverse_of(dot(g, cb));
        typename Flux::InRing t;
        flux.in_ring(h, hr, hs, cb, m, n, inverse, t);
        fb = Flux::times(t, cb, fb);
        const V now = Flux::times(t, nothing<T, 3>() - m, fc);
        sum = sum + now;
        f[RING[k]] = f[RING[k]] + now;
        fc = Flux::times(t, n);
        r = s, hr = hs, n = m;
    }
    f[RING[0]] = f[RING[0]] + fc;
    f[6] = f[6] + fb;
    f[0] = f[0] - (sum + fc + fb);
}

// Layout of the dynamic shared memory of `march`. The function `room` in grids.rs computes its size. It holds x and u
// of three planes, two planes of exchanged forces, Δu and inertia of the node that each thread updates, and the words.
template <typename T, int S> struct MarchRooms {
    unsigned char *shared;
    static constexpr u32 PLANE = (3 + S) * sizeof(T) * SLOTS;

    __device__ __forceinline__ Near<T, S> near(u32 k) const { return Near<T, S>(shared + k % 3 * PLANE, SLOTS); }
    __device__ __forceinline__ T *forces(u32 k) const {
        return reinterpret_cast<T *>(shared + 3 * PLANE) + k % 2 * 3 * S * THREADS;
    }
    __device__ __forceinline__ T *motion() const { return reinterpret_cast<T *>(shared + 3 * PLANE) + 6 * S * THREADS; }
    __device__ __forceinline__ u32 *words(u32 k) const {
        return reinterpret_cast<u32 *>(motion() + (S + 1) * THREADS) + k % PLANES_OF_WORDS * SLOTS;
    }
};

template <typename T, u32 LAW>
__device__ __forceinline__ void march(const Params<T> &p, const Material<T> &material) {
    constexpr int S = Element<T, LAW, true>::C;
    typedef Vector<T, 3> X;
    typedef Vector<T, S> V;
    DYNAMIC_SHARED;
    const MarchRooms<T, S> rooms = {shared};
    const u32 t = threadIdx.x;
    const Tile tile = load_row(p.tiles + p.list[blockIdx.x]);
    const u32 w = tile.width, h = tile.height, n_slots = tile.n_slots, n_planes = tile.n_layers + 1;
    const u32 j = t / w, i = t - j * w, beside = w * h, beyond = beside + h + 1;
    const bool two = t + THREADS < n_slots, forces_only = p.force_out;
    u32 slots[4] = {t, i + 1 < w ? t + 1 : beside + j, 0, j + 1 < h ? t + w : beyond + i};
    slots[2] = i + 1 == w ? beside + j + 1 : j + 1 == h ? beyond + i + 1 : t + w + 1;
    // Threads without a column take part in loads and barriers, but all their corners are their own slot.
    if (t >= beside) slots[1] = slots[2] = slots[3] = t;
    const u32 *words = p.words + tile.first;
    const T *x_in = p.tile_x + 3 * tile.first;
    const Element<T, LAW, true> element(material);

    auto bring_words = [&](u32 k) {
        if (k >= n_planes) return;
        const u32 *from = words + k * SLOTS + t;
        copy_later<4>(rooms.words(k) + t, from);
        if (two) copy_later<4>(rooms.words(k) + t + THREADS, from + THREADS);
    };
    // A thread reads only words that it has copied itself, so it needs no barrier.
    auto bring = [&](u32 k) {
        if (k >= n_planes) return;
        const Near<T, S> near = rooms.near(k);
        const T *x = x_in + (u64)k * 3 * SLOTS + t;
        auto bring_slot = [&](u32 s) {
            const T *u = p.u[0] + S * (u64)(rooms.words(k)[s] & TILE_NODE);
#pragma unroll
            for (int c = 0; c < 3; c++) {
                if (c < S) copy_later<sizeof(T)>(near.u(s, c), u + c);
                copy_later<sizeof(T)>(near.x(s, c), x + c * SLOTS + (s - t));
            }
        };
        bring_slot(t);
        if (two) bring_slot(t + THREADS);
    };
    auto read = [&](u32 k, Quad<T, 3> &qx, Quad<T, S> &qu) {
        const Near<T, S> near = rooms.near(k);
        X x[4];
        V u[4];
#pragma unroll
        for (int c = 0; c < 4; c++) near.get(slots[c], x[c].c, u[c].c);
        qx.set(x);
        qu.set(u);
    };
    // `own` is the force of the thread's own element on its lowest corner. `u_old` is the displacement of that node.
    V own, u_old;
    auto finish = [&](u32 k) {
        const u32 word = rooms.words(k)[t];
        if (!(word & MOVED)) return;
        const T *left = rooms.forces(k) + t - 1, *below = left + S * THREADS + 1 - w, *both = below + S * THREADS - 1;
        const T *motion = rooms.motion() + t;
        const u64 at = S * (u64)(word & TILE_NODE);
        V f;
#pragma unroll
        for (u32 c = 0; c < S; c++)
            f[c] = (own[c] + left[c * THREADS]) + (below[c * THREADS] + both[c * THREADS]);
        T *du_out = p.du[1] + at;
        if (forces_only || word & BY_ACT) {
#pragma unroll
            for (u32 c = 0; c < S; c++) {
                if (p.force_out)
                    p.force_out[at + c] = (double)f[c] * p.force_unit;
                else
                    du_out[c] = f[c];
            }
            return;
        }
        T *u_out = p.u[1] + at;
        const T inertia = motion[S * THREADS];
#pragma unroll
        for (u32 c = 0; c < S; c++) {
            const T moved = motion[c * THREADS] - inertia * f[c];
            du_out[c] = moved;
            u_out[c] = u_old[c] + moved;
        }
    };

#pragma unroll 1
    for (u32 k = 0; k < 4; k++) bring_words(k);
    wait_for_copies();
    bring(0);
    bring(1);
    // Forces of the elements below on the lower plane. For tetrahedra there is one for each corner. For hexahedra they
    // are coefficients: mean, ξ, η, ξη.
    V kept[4] = {};
#pragma unroll 1
    for (u32 k = 0; k + 1 < n_planes; k++) {
        wait_for_copies();
        __syncthreads();
        if (k > 0) finish(k - 1);
        bring(k + 2);
        bring_words(k + 4);
        const u32 word = rooms.words(k)[t];
        if (word & MOVED) {
            const u32 node = word & TILE_NODE;
#pragma unroll
            for (u32 c = 0; c < S; c++) copy_later<sizeof(T)>(rooms.motion() + c * THREADS + t, p.du[0] + S * (u64)node + c);
            copy_later<sizeof(T)>(rooms.motion() + S * THREADS + t, p.inertia + node);
        }
        V others[3];
        if constexpr (IN_RINGS<LAW>) {
            V f[8] = {kept[0], kept[1], kept[2], kept[3]};
#pragma unroll
            for (int n = 4; n < 8; n++) f[n] = {};
            const Near<T, S> low = rooms.near(k), high = rooms.near(k + 1);
            const auto get = [&](int n, X &x, V &u) { (n < 4 ? low : high).get(slots[n % 4], x.c, u.c); };
            X x_own;
            get(0, x_own, u_old);
            if (word & PRESENT) add_cell(element.solid, get, f);
            own = f[0];
            others[0] = f[1], others[1] = f[3], others[2] = f[2];
#pragma unroll
            for (int n = 0; n < 4; n++) kept[n] = f[4 + n];
        } else {
            V q[7];
            Quad<T, 3> low_x, high_x;
            Quad<T, S> low_u, high_u;
            read(k, low_x, low_u);
            read(k + 1, high_x, high_u);
            u_old = low_u.at;
            if (word & PRESENT) {
                X mx[7];
                V mu[7];
                modes_between(low_x, high_x, mx);
                modes_between(low_u, high_u, mu);
                element.force_of_modes(mx, mu, q);
            } else {
#pragma unroll
                for (int m = 0; m < 7; m++) q[m] = {};
            }
            const V mean = kept[0] - q[2], xi = kept[1] + (q[0] - q[4]), eta = kept[2] + (q[1] - q[3]), both = kept[3] + (q[5] - q[6]);
            kept[0] = q[2];
            kept[1] = q[0] + q[4];
            kept[2] = q[1] + q[3];
            kept[3] = q[5] + q[6];
            const V left = mean - xi, right = mean + xi, down = eta - both, up = eta + both;
            own = left - down;
            others[0] = right - up, others[1] = left + down, others[2] = right + up;
        }
        T *to = rooms.forces(k) + t;
#pragma unroll
        for (int n = 0; n < 3; n++)
#pragma unroll
            for (int c = 0; c < S; c++) to[(S * n + c) * THREADS] = others[n][c];
    }
    wait_for_copies();
    __syncthreads();
    finish(n_planes - 2);
}

// Updates the nodes that have a load, a constraint, a monitor or damping, one thread per node. The tile has stored
// f_int of the node in its Δu slot.
template <typename T, int S = 3> __device__ __forceinline__ void act(const Params<T> &p, u32 k) {
    if (p.force_out) return;
    const u32 i = blockIdx.x * THREADS + threadIdx.x;
    Energies energies;
    if (i < p.n_act_nodes) {
        const u64 node = p.act_nodes[i];
        Motion<T, S> motion;
#pragma unroll
        for (int c = 0; c < S; c++) {
            motion.f[c] = p.du[1][S * node + c];
            motion.u[c] = p.u[0][S * node + c];
            motion.du[c] = p.du[0][S * node + c];
        }
        Block block = {};
        block.special_first = p.act_special;
        block.damped = p.damped;
        const Moved<T, S> next = update_node<T, S, false>(p, block, i, node, k, *p.row + k, motion, energies);
#pragma unroll
        for (int c = 0; c < S; c++) {
            p.u[1][S * node + c] = next.u[c];
            p.du[1][S * node + c] = next.du[c];
        }
    }
    add_energies<THREADS>(p.energies, p.act_energy + blockIdx.x, energies);
}
