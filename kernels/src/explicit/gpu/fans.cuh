// Triangles: a thread a node. The force on a node needs the nodes around it alone, in turn (its fan): nothing is shared
// but positions and displacements, and nothing is added but in one thread's registers.

#pragma once
#include "step.cuh"

// Threads of a block, and thread blocks on a multiprocessor at a time, which bounds their registers. As measured on an
// H200; two steps in double precision are bound by shared memory.
template <typename T, int STEPS> struct Fans {
    static constexpr u32 THREADS = sizeof(T) == 8 && STEPS == 2 ? 256 : 128;
    static constexpr u32 RESIDENT = sizeof(T) == 4 ? 8 : STEPS == 1 ? 6 : 3;
    // Whose data each thread block asks for, that many thread blocks before they are its turn; nobody's, where it costs more.
    static constexpr u32 AHEAD = sizeof(T) == 8 && STEPS == 2 ? 200 : 0;
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

// Behind the records of a block where something acts or materials meet: rows of `recording`, a bit for each own and halo node
// where something acts; if materials meet, ½ D of all; what acts on the first degrees of freedom in this launch.
template <typename T> struct __align__(16) Extra {
    int recorded[2];
    u32 reserved[2], marked[MOST_LOCAL / 32];

    __device__ __forceinline__ T *plane_at(u32 material) { return reinterpret_cast<T *>(this + 1) + 8 * material; }
    __device__ __forceinline__ Plane<T> plane(u32 material) {
        const T *d = plane_at(material);
        return {d[0], d[1], d[2], d[3], d[4], d[5]};
    }
    __device__ __forceinline__ Action *actions(const Params<T> &p, const Block &block) {
        return reinterpret_cast<Action *>(plane_at(block.material == MIXED ? p.n_materials : 0));
    }
    __device__ __forceinline__ bool is_marked(u32 local) const { return marked[local / 32] >> local % 32 & 1; }
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
__device__ __forceinline__ void add_fan(Extra<T> *extra, Records<T, LATER> records, Record<T> me, Fan fan, Plane<T> d,
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
            if (ANY && mixed) d = extra->plane(materials >> 4 * (k - 1) & 15);
            add_triangle<T, ALIGNED>(last, next, d, true, fx, fy);
        }
        last = next;
    }
    if (ANY && mixed) d = extra->plane(materials >> 4 * ((count - 1) & 7) & 15);
    add_triangle<T, ALIGNED>(last, first, d, fan.closed(), fx, fy);
}

// f_int of one node from all its records. Called by whole warps; threads without a node have an empty fan.
template <typename T, bool ALIGNED, bool PLAIN, bool LATER>
__device__ __forceinline__ void fan_force(const Params<T> &p, const Block &block, Extra<T> *extra,
                                          Records<T, LATER> records, u32 local, Record<T> me, Fan fan, Plane<T> d,
                                          u32 materials, T *f) {
    f[0] = 0;
    f[1] = 0;
    u32 next = block.further_first;
    const bool mixed = !PLAIN && block.material == MIXED;
    while (true) {
        add_fan<T, ALIGNED, !PLAIN>(extra, records, me, fan, d, mixed, materials, f[0], f[1]);
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

// What `Extra` says, for one launch.
template <typename T, int STEPS>
__device__ __forceinline__ void keep_extra(const Params<T> &p, const Block &block, u32 k, Extra<T> *extra) {
    constexpr u32 THREADS = Fans<T, STEPS>::THREADS;
    const u32 n_near = block.n_own + block.n_halo, tid = threadIdx.x;
    // Forces alone are asked of blocks that have no room for this, too, and nothing here is read for them.
    if (p.force_out) {
    } else if (block.special_first == NONE) {
        if (tid < MOST_LOCAL / 32) extra->marked[tid] = 0;
    } else {
        if (tid < STEPS) extra->recorded[tid] = p.record[*p.row + k + tid];
        if (tid < min(block.n_special, p.n_kept))
            extra->actions(p, block)[tid] =
                action_of(p.specials[block.special_base + tid], p.signals + (u64)k * p.n_signals, p.n_signals);
        const u32 *first = p.special_first + block.special_first;
#pragma unroll 4
        for (u32 i = tid; i - tid % 32 < n_near; i += THREADS) {
            const u32 at = min(i, n_near - 1), marks = __ballot_sync(ALL_LANES, i < n_near && first[at] < first[at + 1]);
            if (tid % 32 == 0) extra->marked[i / 32] = marks;
        }
    }
    if (block.material == MIXED && tid < p.n_materials) {
        const Plane<T> d = plane(p, tid);
        T *to = extra->plane_at(tid);
        to[0] = d.d11, to[1] = d.d12, to[2] = d.d22, to[3] = d.d66, to[4] = d.d16, to[5] = d.d26;
    }
}

// STEPS = 1: own nodes from own and halo. STEPS = 2: first own and halo nodes, from what the halo reads too (outer
// nodes), then own nodes again. The halo's first step is made by every block that reads it, with the same arithmetic.
template <typename T, int STEPS, bool ALIGNED, bool PLAIN, typename Wait>
__device__ __forceinline__ void step_block(const Params<T> &p, const Block &block, u32 k, u32 parity, Wait &&wait) {
    typedef typename Pair<T>::type T2;
    constexpr u32 THREADS = Fans<T, STEPS>::THREADS, AT_ONCE = (512 + THREADS - 1) / THREADS, RING_AT_ONCE = 256 / THREADS;
    extern __shared__ __align__(32) unsigned char shared[];
    const u32 n_own = block.n_own, n_halo = block.n_halo, tid = threadIdx.x;
    const u32 n_ring = n_halo + (STEPS == 2 ? block.n_outer : 0);
    const Records<T, false> records = {shared};
    // STEPS = 2: own and halo nodes one step on, and Δu of own nodes.
    const Records<T, true> after = {shared + (sizeof(T) == 4 ? 16 * (n_own + n_ring) : 32 * MOST_LOCAL)};
    T2 *du_after = reinterpret_cast<T2 *>(after.base + 16 * (n_own + n_halo));
    unsigned char *end = STEPS == 2        ? reinterpret_cast<unsigned char *>(du_after + n_own)
                         : sizeof(T) == 4 ? shared + 16 * (n_own + n_halo)
                                          : shared + 16 * MOST_LOCAL + 16 * (n_own + n_halo);
    // From a multiple of 16 on.
    Extra<T> *extra = PLAIN ? nullptr : reinterpret_cast<Extra<T> *>(shared + ((end - shared + 15) & ~15));
    const T2 *u_in = reinterpret_cast<const T2 *>(p.u[parity]);
    T2 *u_out = reinterpret_cast<T2 *>(p.u[parity ^ 1]);
    T2 *du_out = reinterpret_cast<T2 *>(p.du[parity ^ 1]);
    const T2 *x = reinterpret_cast<const T2 *>(p.x);

    if (!PLAIN) keep_extra<T, STEPS>(p, block, k, extra);
    auto of_own = [&](u32 i) -> Operands<T> {
        if (i >= n_own) return {};
        const u32 node = block.node_first + i;
        return operands(p, parity, node, p.fan, node);
    };
    auto ring_node = [&](u32 h) {
        return STEPS == 1 || h < n_halo ? p.halo_nodes[block.halo_first + h] : p.outer_nodes[block.outer_first + h - n_halo];
    };
    // What never changes is asked for before waiting for what others make.
    T2 x_own[AT_ONCE], x_ring[RING_AT_ONCE];
    u32 ring[RING_AT_ONCE];
#pragma unroll
    for (u32 s = 0; s < AT_ONCE; s++)
        if (tid + s * THREADS < n_own) x_own[s] = x[block.local_first + tid + s * THREADS];
#pragma unroll
    for (u32 s = 0; s < RING_AT_ONCE; s++) {
        const u32 h = tid + s * THREADS;
        if (h >= n_ring) continue;
        ring[s] = ring_node(h);
        x_ring[s] = x[block.local_first + n_own + h];
    }
    wait();
    // Asked for before the block waits for its records.
    Operands<T> now = of_own(tid);
#pragma unroll
    for (u32 s = 0; s < RING_AT_ONCE; s++) {
        const u32 h = tid + s * THREADS;
        if (h >= n_ring) continue;
        const T2 u = u_in[ring[s]];
        records.set(n_own + h, {u.x, u.y, x_ring[s].x, x_ring[s].y});
    }
#pragma unroll 1
    for (u32 h = tid + RING_AT_ONCE * THREADS; h < n_ring; h += THREADS) {
        const T2 u = u_in[ring_node(h)], at = x[block.local_first + n_own + h];
        records.set(n_own + h, {u.x, u.y, at.x, at.y});
    }
#pragma unroll
    for (u32 s = 0; s < AT_ONCE; s++) {
        const u32 i = tid + s * THREADS;
        if (i < n_own) {
            const T2 u = u_in[block.node_first + i];
            records.set(i, {u.x, u.y, x_own[s].x, x_own[s].y});
        }
    }
#pragma unroll 1
    for (u32 i = tid + AT_ONCE * THREADS; i < n_own; i += THREADS) {
        const T2 u = u_in[block.node_first + i], at = x[block.local_first + i];
        records.set(i, {u.x, u.y, at.x, at.y});
    }
    const bool mixed = !PLAIN && block.material == MIXED;
    const Plane<T> d = plane(p, mixed ? 0 : block.material);
    Energies energies;
    __syncthreads();

    if (PLAIN && Fans<T, STEPS>::AHEAD > 0 && tid >= THREADS - 32) {
        const u32 further = blockIdx.x + Fans<T, STEPS>::AHEAD;
        if (further < gridDim.x) {
            const Block next = load_row(p.blocks + (p.list ? p.list[further] : further));
            prefetch<true>(u_in + next.node_first, sizeof(T2) * next.n_own);
            prefetch<true>(p.du[parity] + 2 * (u64)next.node_first, sizeof(T2) * next.n_own);
            prefetch<true>(p.inertia + next.node_first, sizeof(T) * next.n_own);
            prefetch<true>(p.fan + next.node_first, sizeof(uint4) * next.n_own);
            prefetch<true>(p.halo_fan + next.halo_first, sizeof(uint4) * next.n_halo);
            prefetch<true>(x + next.local_first, sizeof(T2) * (next.n_own + next.n_halo + next.n_outer));
        }
    }

    // One step of one node; the whole warp comes along.
    Moved<T, 2> moved;
    T x_here[2];
    auto step = [&](auto from, u32 local, bool there, bool own, u32 node, u32 materials,
                    const Operands<T> &operands) {
        const Record<T> me = from.at(there ? 16 * local : 0);
        T f[2];
        fan_force<T, ALIGNED, PLAIN>(p, block, extra, from, local, me, operands.fan, d, materials, f);
        if (!there) return false;
        if (!PLAIN && p.force_out) {
            p.force_out[2 * (u64)node] = (double)f[0] * p.force_unit;
            p.force_out[2 * (u64)node + 1] = (double)f[1] * p.force_unit;
            return false;
        }
        x_here[0] = me.xx;
        x_here[1] = me.xy;
        Motion<T, 2> motion = {{f[0], f[1]}, {me.ux, me.uy}, {operands.du.x, operands.du.y}, operands.inertia};
        if (PLAIN) {
            moved = move(motion, false, own);
            return true;
        }
        if (block.damped) {
            motion.decay = p.decay[node];
            motion.dissipation = p.dissipation[node];
        }
        if (extra->is_marked(local)) {
            moved.u[0] = moved.du[0] = f[0];
            moved.u[1] = moved.du[1] = f[1];
            return true;
        }
        moved = move(motion, block.damped, own);
        energies.work += moved.energies.work;
        energies.damped += moved.energies.damped;
        return true;
    };
    // The first `n` local nodes where something acts, a thread a node, once their forces are known: those stand where u one step
    // on will be, or Δu in the end.
    auto act = [&](auto from, u32 n, bool later) {
        if (PLAIN || block.special_first == NONE || p.force_out) return;
        __syncthreads();
        const Action *kept = extra->actions(p, block);
        const u32 n_kept = min(block.n_special, p.n_kept), base = block.special_base;
        auto bits = [&](u32 s) { return s < n_kept ? kept[s].bits : p.specials[base + s].kind; };
#pragma unroll 1
        for (u32 s = tid; s < block.n_special; s += THREADS) {
            const u32 local = bits(s) >> LOCAL_AT;
            if (local >= n || (s > 0 && !(bits(s - 1) & LAST))) continue;
            const bool own = local < n_own, between = STEPS == 2 && !later;
            const u32 entry = block.halo_first + local - n_own, node = own ? block.node_first + local : p.halo_nodes[entry];
            const Operands<T> operand = operands(p, parity, node, own ? p.fan : p.halo_fan, own ? node : entry);
            const Record<T> me = from.at(16 * local);
            T2 f, du = operand.du;
            if (between) {
                const Record<T> stands = after.at(16 * local);
                f = {stands.ux, stands.uy};
            } else {
                f = du_out[node];
            }
            if (later) du = du_after[local];
            Motion<T, 2> motion = {{f.x, f.y}, {me.ux, me.uy}, {du.x, du.y}, operand.inertia};
            if (block.damped) {
                motion.decay = p.decay[node];
                motion.dissipation = p.dissipation[node];
            }
            moved = move_special(p, motion, block.damped, own, {kept, base, n_kept, base + s, k, extra->recorded[later], later});
            energies.work += moved.energies.work;
            energies.damped += moved.energies.damped;
            if (between) {
                after.set(local, {moved.u[0], moved.u[1], me.xx, me.xy});
                if (own) du_after[local] = {moved.du[0], moved.du[1]};
            } else {
                u_out[node] = {moved.u[0], moved.u[1]};
                du_out[node] = {moved.du[0], moved.du[1]};
            }
        }
    };
#pragma unroll 1
    for (u32 i = tid; i - tid % 32 < n_own; i += THREADS) {
        const u32 node = block.node_first + i;
        const Operands<T> next = of_own(i + THREADS);
        const bool there = i < n_own;
        if (step(records, i, there, true, node, mixed && there ? p.fan_materials[node] : 0, now)) {
            if (STEPS == 1) {
                u_out[node] = {moved.u[0], moved.u[1]};
                du_out[node] = {moved.du[0], moved.du[1]};
            } else {
                after.set(i, {moved.u[0], moved.u[1], x_here[0], x_here[1]});
                du_after[i] = {moved.du[0], moved.du[1]};
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
            if (step(records, i, there, false, node, mixed && there ? p.halo_fan_materials[entry] : 0, now))
                after.set(i, {moved.u[0], moved.u[1], x_here[0], x_here[1]});
        }
        act(records, n_own + n_halo, false);
        now = of_own(tid);
        __syncthreads();
#pragma unroll 1
        for (u32 i = tid; i - tid % 32 < n_own; i += THREADS) {
            const u32 node = block.node_first + i;
            const Operands<T> next = of_own(i + THREADS);
            const bool there = i < n_own;
            if (there) now.du = du_after[i];
            if (step(after, i, there, true, node, mixed && there ? p.fan_materials[node] : 0, now)) {
                u_out[node] = {moved.u[0], moved.u[1]};
                du_out[node] = {moved.du[0], moved.du[1]};
            }
            now = next;
        }
        act(after, n_own, true);
    } else {
        act(records, n_own, false);
    }
    if (!PLAIN && block.energy_row != NONE && !p.force_out)
        add_energies<THREADS>(p.energies, block.energy_row, energies);
}

// A launch may have several passes of STEPS steps, one after the other: pass j of a block begins when pass j − 1 of all those
// around it has ended, what they read of it included. Thread blocks begin in the order of their numbers, passes last, so that
// whoever waits does so for some that run already.
template <typename T, int STEPS, bool ALIGNED> __device__ __forceinline__ void step_fans(const Params<T> &p, u32 k) {
    const u32 pass = blockIdx.y, number = p.list ? p.list[blockIdx.x] : blockIdx.x;
    const u32 *sources = p.sources + (u64)number * p.n_around;
    const u32 source = pass > 0 && threadIdx.x < p.n_around ? __ldg(sources + threadIdx.x) : NONE;
    const Block block = load_row(p.blocks + number);
    auto wait = [&]() {
        if (pass == 0) return;
        auto wait_for = [&](u32 other) {
            while (other != NONE && acquire(p.done + other) < pass) __nanosleep(32);
        };
        wait_for(source);
        for (u32 s = threadIdx.x + Fans<T, STEPS>::THREADS; s < p.n_around; s += Fans<T, STEPS>::THREADS) wait_for(__ldg(sources + s));
        __syncthreads();
    };
    if (block.special_first == NONE && block.material != MIXED && !block.damped && !p.force_out)
        step_block<T, STEPS, ALIGNED, true>(p, block, k + pass * STEPS, pass & 1, wait);
    else
        step_block<T, STEPS, ALIGNED, false>(p, block, k + pass * STEPS, pass & 1, wait);
    if (gridDim.y > 1) {
        __syncthreads();
        if (threadIdx.x == 0) release(p.done + number, pass + 1);
    }
}
