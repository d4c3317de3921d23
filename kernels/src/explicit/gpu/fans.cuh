// Triangles: a thread a node. The force on a node needs the nodes around it alone, in turn (its fan): nothing is shared
// but positions and displacements, and nothing is added but in one thread's registers.

#pragma once
#include "step.cuh"

// Threads of a block, and thread blocks on a multiprocessor at a time, which bounds their registers. As measured on an
// H200; two steps in double precision are bound by shared memory.
template <typename T, int STEPS> struct Fans {
    static constexpr u32 THREADS = sizeof(T) == 8 && STEPS == 2 ? 256 : 128;
    static constexpr u32 RESIDENT = sizeof(T) == 4 ? 8 : STEPS == 1 ? 6 : 3;
};
constexpr u32 ALL_LANES = 0xffffffffu;

template <typename T> struct __align__(4 * sizeof(T)) Record {
    T ux, uy, xx, xy;
};

// Records in shared memory, 16 bytes of one apart: a quarter of a warp reads all banks at once. In double precision u and x
// lie apart, x always as far behind as there can be nodes. LATER: u of one step on, of which x is the same.
constexpr u32 MOST_LOCAL = 1024;
template <typename T, bool LATER> struct Records {
    unsigned char *base;
    static constexpr int X = LATER ? -16 * (int)MOST_LOCAL : 16 * (int)MOST_LOCAL;

    // `offset` is 16 times the node.
    __device__ __forceinline__ Record<T> at(u32 offset) const {
        if constexpr (sizeof(T) == 4) {
            return *reinterpret_cast<const Record<T> *>(base + offset);
        } else {
            const double2 u = *reinterpret_cast<const double2 *>(base + offset);
            const double2 x = *reinterpret_cast<const double2 *>(base + offset + X);
            return {u.x, u.y, x.x, x.y};
        }
    }
    __device__ __forceinline__ void set(u32 node, Record<T> record) const {
        if constexpr (sizeof(T) == 4) {
            *reinterpret_cast<Record<T> *>(base + 16 * node) = record;
        } else {
            *reinterpret_cast<double2 *>(base + 16 * node) = {record.ux, record.uy};
            if (!LATER) *reinterpret_cast<double2 *>(base + 16 * node + X) = {record.xx, record.xy};
        }
    }
};

// ½ D in the plane.
template <typename T> struct Plane {
    T d11, d12, d22, d66, d16, d26;
};

template <typename T> __device__ __forceinline__ Plane<T> plane(const Params<T> &p, u32 material) {
    const T *d = p.materials[material].d, half = T(0.5);
    return {half * d[0], half * d[1], half * d[7], half * d[14], half * d[2], half * d[8]};
}

// Up to nine neighbours in turn, as tables.rs packs them: ten bits each; the number of them; whether the last and the first
// make a triangle too; whether more follow. Slots beyond the last neighbour repeat it.
struct Fan {
    u32 w0, w1, w2;
    __device__ __forceinline__ u32 count() const { return w0 >> 30 | w1 >> 28 & 12; }
    __device__ __forceinline__ bool further() const { return w2 >> 30 & 1; }
    __device__ __forceinline__ bool closed() const { return w2 >> 31; }
    // Neighbour k, times 16: the offset of its record.
    __device__ __forceinline__ u32 offset(int k) const {
        const u32 word = k < 3 ? w0 : k < 6 ? w1 : w2;
        const int bit = 10 * (k % 3) - 4;
        return (bit < 0 ? word << -bit : word >> bit) & 1023u << 4;
    }
};

// Adds f_int of one triangle to (fx, fy): node 0 of (0, p, q), A = p × q, gets −½ σ (c_p + c_q) with c_p = (q_y, −q_x),
// c_q = (−p_y, p_x); the ½ is in d. Where p = q the edge is exactly zero, and so is what is added: A is kept from zero by
// a number too small to count elsewhere (added last: a product that is exact would swallow it).
template <typename T, bool ALIGNED>
__device__ __forceinline__ void add_triangle(Record<T> p, Record<T> q, Plane<T> d, bool there, T &fx, T &fy) {
    constexpr T TINY = sizeof(T) == 4 ? T(1e-30) : T(1e-200);
    T inverse = reciprocal(fma(p.xx, q.xy, -(p.xy * q.xx)) + TINY);
    inverse = there ? inverse : T(0);
    const T exx = fma(p.ux, q.xy, -(q.ux * p.xy));
    const T eyy = fma(q.uy, p.xx, -(p.uy * q.xx));
    const T gxy = fma(q.ux, p.xx, fma(-p.ux, q.xx, fma(p.uy, q.xy, -(q.uy * p.xy))));
    T sxx = fma(d.d11, exx, d.d12 * eyy);
    T syy = fma(d.d12, exx, d.d22 * eyy);
    T sxy = d.d66 * gxy;
    if (!ALIGNED) {
        sxx = fma(d.d16, gxy, sxx);
        syy = fma(d.d26, gxy, syy);
        sxy = fma(d.d16, exx, fma(d.d26, eyy, sxy));
    }
    const T gx = (q.xx - p.xx) * inverse, gy = (q.xy - p.xy) * inverse;
    fx = fma(sxy, gx, fma(-sxx, gy, fx));
    fy = fma(syy, gx, fma(-sxy, gy, fy));
}

// Adds f_int of the triangles of one fan. All lanes of a warp go through as many neighbours as the one that has most.
template <typename T, bool ALIGNED, bool ANY, bool LATER>
__device__ __forceinline__ void add_fan(const Params<T> &params, Records<T, LATER> records, Record<T> me, Fan fan, Plane<T> d,
                                        bool mixed, u32 materials, T &fx, T &fy) {
    const u32 count = fan.count(), most = __reduce_max_sync(ALL_LANES, count);
    Record<T> first, last;
#pragma unroll
    for (int k = 0; k < 9; k++) {
        if (k >= 4 && k >= most) break;
        Record<T> next = records.at(fan.offset(k));
        next = {next.ux - me.ux, next.uy - me.uy, next.xx - me.xx, next.xy - me.xy};
        if (k == 0) {
            first = next;
        } else {
            if (ANY && mixed) d = plane(params, materials >> 4 * (k - 1) & 15);
            add_triangle<T, ALIGNED>(last, next, d, true, fx, fy);
        }
        last = next;
    }
    if (ANY && mixed) d = plane(params, materials >> 4 * ((count - 1) & 7) & 15);
    add_triangle<T, ALIGNED>(last, first, d, fan.closed(), fx, fy);
}

// f_int of one node from all its records. Called by whole warps; threads without a node have an empty fan.
template <typename T, bool ALIGNED, bool PLAIN, bool LATER>
__device__ __forceinline__ void fan_force(const Params<T> &p, const Block &block, Records<T, LATER> records, u32 local,
                                          Record<T> me, Fan fan, Plane<T> d, u32 materials, T *f) {
    f[0] = 0;
    f[1] = 0;
    u32 next = block.further_first;
    while (true) {
        const bool mixed = !PLAIN && block.material == MIXED;
        add_fan<T, ALIGNED, !PLAIN>(p, records, me, fan, d, mixed, materials, f[0], f[1]);
        if (!__any_sync(ALL_LANES, fan.further())) break;
        if (fan.further()) {
            while (p.further_node[next] != local) next++;
            fan = {p.further_fan[3 * (u64)next], p.further_fan[3 * (u64)next + 1], p.further_fan[3 * (u64)next + 2]};
            if (mixed) materials = p.further_materials[next];
            next++;
        } else {
            fan = {};
        }
    }
}

// What the update of a node needs beside its records.
template <typename T> struct Operands {
    typename Pair<T>::type du;
    T inertia;
    Fan fan;
};

// Of node `node`, whose fan is entry `entry` of `fans`.
template <typename T>
__device__ __forceinline__ Operands<T> operands(const Params<T> &p, u32 parity, u32 node, const uint4 *fans, u32 entry) {
    const uint4 fan = fans[entry];
    const auto du = reinterpret_cast<const typename Pair<T>::type *>(p.du[parity])[node];
    if constexpr (sizeof(T) == 4)
        return {du, __uint_as_float(fan.w), {fan.x, fan.y, fan.z}};
    else
        return {du, p.inertia[node], {fan.x, fan.y, fan.z}};
}

// STEPS = 1: own nodes from own and halo. STEPS = 2: first own and halo nodes, from what the halo reads too (outer
// nodes), then own nodes again. The halo's first step is made by every block that reads it, with the same arithmetic.
template <typename T, int STEPS, bool ALIGNED, bool PLAIN>
__device__ __forceinline__ void step_block(const Params<T> &p, const Block &block, u32 k, u32 parity) {
    typedef typename Pair<T>::type T2;
    constexpr u32 THREADS = Fans<T, STEPS>::THREADS;
    extern __shared__ __align__(32) unsigned char shared[];
    const u32 n_own = block.n_own, n_halo = block.n_halo, tid = threadIdx.x;
    const u32 n_ring = n_halo + (STEPS == 2 ? block.n_outer : 0);
    const Records<T, false> records = {shared};
    // STEPS = 2: own and halo nodes one step on, and Δu of own nodes.
    const Records<T, true> after = {shared + (sizeof(T) == 4 ? 16 * (n_own + n_ring) : 32 * MOST_LOCAL)};
    T2 *du_after = reinterpret_cast<T2 *>(after.base + 16 * (n_own + n_halo));
    const T2 *u_in = reinterpret_cast<const T2 *>(p.u[parity]);
    T2 *u_out = reinterpret_cast<T2 *>(p.u[parity ^ 1]);
    T2 *du_out = reinterpret_cast<T2 *>(p.du[parity ^ 1]);
    const T2 *x = reinterpret_cast<const T2 *>(p.x);

    auto of_own = [&](u32 i) -> Operands<T> {
        if (i >= n_own) return {};
        const u32 node = block.node_first + i;
        return operands(p, parity, node, p.fan, node);
    };
#pragma unroll 1
    for (u32 h = tid; h < n_ring; h += THREADS) {
        const u32 node = STEPS == 1 || h < n_halo ? p.halo_nodes[block.halo_first + h]
                                                  : p.outer_nodes[block.outer_first + h - n_halo];
        const T2 u = u_in[node], at = x[block.local_first + n_own + h];
        records.set(n_own + h, {u.x, u.y, at.x, at.y});
    }
    // Asked for before the block waits.
    Operands<T> now = of_own(tid);
#pragma unroll
    for (u32 s = 0; s < 512 / THREADS; s++) {
        const u32 i = tid + s * THREADS;
        if (i < n_own) {
            const T2 u = u_in[block.node_first + i], at = x[block.local_first + i];
            records.set(i, {u.x, u.y, at.x, at.y});
        }
    }
#pragma unroll 1
    for (u32 i = tid + 512; i < n_own; i += THREADS) {
        const T2 u = u_in[block.node_first + i], at = x[block.local_first + i];
        records.set(i, {u.x, u.y, at.x, at.y});
    }
    const bool mixed = !PLAIN && block.material == MIXED;
    const Plane<T> d = plane(p, mixed ? 0 : block.material);
    const u32 row = PLAIN ? 0 : *p.row + k;
    Energies energies;
    __syncthreads();

    // One step of one node; the whole warp comes along.
    T u_next[2], du_next[2], x_here[2];
    auto step = [&](auto from, u32 local, bool there, bool own, u32 node, u32 at_row, u32 materials,
                    const Operands<T> &operands) {
        const Record<T> me = from.at(there ? 16 * local : 0);
        T f[2];
        fan_force<T, ALIGNED, PLAIN>(p, block, from, local, me, operands.fan, d, materials, f);
        if (!there) return false;
        if (!PLAIN && p.force_out) {
            p.force_out[2 * (u64)node] = (double)f[0] * p.force_unit;
            p.force_out[2 * (u64)node + 1] = (double)f[1] * p.force_unit;
            return false;
        }
        x_here[0] = me.xx;
        x_here[1] = me.xy;
        const T u[2] = {me.ux, me.uy}, du_now[2] = {operands.du.x, operands.du.y};
        update_node<T, 2, PLAIN>(p, block, local, node, at_row, own, operands.inertia, f, u, du_now, u_next, du_next,
                                 energies);
        return true;
    };
#pragma unroll 1
    for (u32 i = tid; i - tid % 32 < n_own; i += THREADS) {
        const u32 node = block.node_first + i;
        const Operands<T> next = of_own(i + THREADS);
        const bool there = i < n_own;
        if (step(records, i, there, true, node, row, mixed && there ? p.fan_materials[node] : 0, now)) {
            if (STEPS == 1) {
                u_out[node] = {u_next[0], u_next[1]};
                du_out[node] = {du_next[0], du_next[1]};
            } else {
                after.set(i, {u_next[0], u_next[1], x_here[0], x_here[1]});
                du_after[i] = {du_next[0], du_next[1]};
            }
        }
        now = next;
    }
    if (STEPS == 2) {
#pragma unroll 1
        for (u32 h = tid; h - tid % 32 < n_halo; h += THREADS) {
            const bool there = h < n_halo;
            const u32 entry = block.halo_first + h, i = n_own + h;
            u32 node = 0;
            now = {};
            if (there) {
                node = p.halo_nodes[entry];
                now = operands(p, parity, node, p.halo_fan, entry);
            }
            if (step(records, i, there, false, node, row, mixed && there ? p.halo_fan_materials[entry] : 0, now))
                after.set(i, {u_next[0], u_next[1], x_here[0], x_here[1]});
        }
        now = of_own(tid);
        __syncthreads();
#pragma unroll 1
        for (u32 i = tid; i - tid % 32 < n_own; i += THREADS) {
            const u32 node = block.node_first + i;
            const Operands<T> next = of_own(i + THREADS);
            const bool there = i < n_own;
            if (there) now.du = du_after[i];
            if (step(after, i, there, true, node, row + 1, mixed && there ? p.fan_materials[node] : 0, now)) {
                u_out[node] = {u_next[0], u_next[1]};
                du_out[node] = {du_next[0], du_next[1]};
            }
            now = next;
        }
    }
    if (block.energy_row != NONE && (PLAIN || !p.force_out))
        add_energies<THREADS>(p.energies, block.energy_row, energies);
}

// Blocks where forces act, supports hold, monitors listen or materials meet: in a function of its own, so that what it
// needs costs the others no registers.
template <typename T, int STEPS, bool ALIGNED>
__device__ __noinline__ void step_special_block(const Params<T> &p, u32 number, u32 k, u32 parity) {
    const Block block = load_block(p.blocks + number);
    step_block<T, STEPS, ALIGNED, false>(p, block, k, parity);
}

template <typename T, int STEPS, bool ALIGNED>
__device__ __forceinline__ void step_fans(const Params<T> &p, u32 k, u32 parity) {
    const u32 number = p.list ? p.list[blockIdx.x] : blockIdx.x;
    const Block block = load_block(p.blocks + number);
    if (block.special_first == NONE && block.material != MIXED && !p.force_out)
        step_block<T, STEPS, ALIGNED, true>(p, block, k, parity);
    else
        step_special_block<T, STEPS, ALIGNED>(p, number, k, parity);
}
