// Step of triangles, with one thread per node. The force on a node depends only on the nodes around it, taken in order
// (its fan). Threads share only positions and displacements. Each thread sums the force on its node in registers.

#pragma once
#include "rows.cuh"

// Threads of a thread block, and thread blocks per multiprocessor, which limits the registers. Both were tuned on an
// H200. In double precision shared memory has no room for more thread blocks.
template <typename T> struct Fans {
    static constexpr u32 THREADS = sizeof(T) == 4 ? 128 : 160, RESIDENT = sizeof(T) == 4 ? 8 : 4;
    // Each thread block prefetches data for the thread block that is this many numbers ahead. 0 means no prefetch:
    // there it costs more than it saves.
    static constexpr u32 AHEAD = sizeof(T) == 4 ? 0 : 200;
};
constexpr u32 ALL_LANES = 0xffffffffu;

template <typename T> struct __align__(4 * sizeof(T)) Record {
    T ux, uy, xx, xy; // nodes of a fluid have ux alone
};

// Numbers of a node in the arrays of the state.
template <typename T> struct One {
    T x;
};
template <typename T, int S> struct Numbers { typedef typename Pair<T>::type type; };
template <typename T> struct Numbers<T, 1> { typedef One<T> type; };

template <typename T> __device__ __forceinline__ One<T> plus(One<T> a, One<T> b) { return {a.x + b.x}; }
template <typename V> __device__ __forceinline__ V plus(V a, V b) { return {a.x + b.x, a.y + b.y}; }

// Those of an array.
template <typename V, typename T> __device__ __forceinline__ V numbers(const T (&of)[1]) { return {of[0]}; }
template <typename V, typename T> __device__ __forceinline__ V numbers(const T (&of)[2]) { return {of[0], of[1]}; }
template <typename T> __device__ __forceinline__ void take(T (&to)[1], One<T> from) { to[0] = from.x; }
template <typename T, typename V> __device__ __forceinline__ void take(T (&to)[2], V from) {
    to[0] = from.x;
    to[1] = from.y;
}

// Records of nodes in shared memory, at a distance of 16 bytes: a quarter of a warp reads all banks at once. In double
// precision u and x are in separate arrays at a fixed distance, large enough for the maximum number of nodes.
template <typename T, int S = 2> struct Records {
    unsigned char *base;
    static constexpr u32 X = sizeof(T) == 4 ? 8 : 16 * MOST_LOCAL;

    // `offset` is 16 times the local node number.
    __device__ __forceinline__ Record<T> at(u32 offset) const {
        if constexpr (sizeof(T) == 4) {
            return *reinterpret_cast<const Record<T> *>(base + offset);
        } else {
            const double2 x = *reinterpret_cast<const double2 *>(base + offset + X);
            if constexpr (S == 1) return {*reinterpret_cast<const double *>(base + offset), 0, x.x, x.y};
            const double2 u = *reinterpret_cast<const double2 *>(base + offset);
            return {u.x, u.y, x.x, x.y};
        }
    }
    __device__ __forceinline__ typename Numbers<T, S>::type &u(u32 node) const {
        return *reinterpret_cast<typename Numbers<T, S>::type *>(base + 16 * node);
    }
    __device__ __forceinline__ typename Pair<T>::type &x(u32 node) const {
        return *reinterpret_cast<typename Pair<T>::type *>(base + 16 * node + X);
    }
};

// ½ D in two dimensions.
template <typename T> struct Plane {
    T d11, d12, d22, d66, d16, d26;
};

// Additional data after the records, for blocks with specials or several materials. It holds the rows of `recording`
// and one bit for each own and halo node that has specials. If the block has several materials, ½ D of these
// follows. The actions on the first specials of the block in this launch come last.
template <typename T> struct __align__(16) Extra {
    int recorded[2];
    u32 reserved[2], marked[MOST_LOCAL / 32];

    __device__ __forceinline__ T *plane_at(u32 material) { return reinterpret_cast<T *>(this + 1) + 8 * material; }
    __device__ __forceinline__ Plane<T> plane(u32 material) {
        const T *d = plane_at(material);
        return {d[0], d[1], d[2], d[3], d[4], d[5]};
    }
    __device__ __forceinline__ Action *actions(const Block &block) {
        return reinterpret_cast<Action *>(plane_at(block.n_planes));
    }
    __device__ __forceinline__ bool is_marked(u32 local) const { return marked[local / 32] >> local % 32 & 1; }
};

template <typename T> __device__ __forceinline__ Plane<T> plane(const Params<T> &p, u32 material) {
    const T *d = p.materials[material].d, half = T(0.5);
    return {half * d[0], half * d[1], half * d[7], half * d[14], half * d[2], half * d[8]};
}

static_assert(sizeof(Extra<float>) == EXTRA_BYTES && sizeof(Extra<double>) == EXTRA_BYTES, "the host counts with another size");

// Which entries of D are used for all triangles: λ + 2μ and μ only, no coupling of shear and normal components, or all; or
// triangles are those of fluids, whose nodes have one unknown.
enum class Law { isotropic, aligned, coupled, acoustic };

// Unknowns of a node.
template <Law LAW> constexpr int UNKNOWNS = LAW == Law::acoustic ? 1 : 2;

// Up to nine neighbours of a node in order, with ten bits each, as fans.rs packs them. Unused slots repeat the last
// neighbour. `open`: the last and the first neighbour do not form a triangle. `further`: more neighbours follow. The
// other bits describe all fans of a warp. `unusual`: any fan is open or has further neighbours. `with_most`: the
// maximum number of neighbours, at least four.
struct Fan {
    u32 w0, w1, w2;
    __device__ __forceinline__ bool further() const { return w2 & 4; }
    __device__ __forceinline__ bool open() const { return w2 & 8; }
    __device__ __forceinline__ bool unusual() const { return w1 & 8; }
    // Calls `act` with the maximum number of neighbours as a compile-time constant.
    template <typename Act> __device__ __forceinline__ auto with_most(Act &&act) const {
        if (w0 & 4) {
            if (!(w0 & 8)) return act(Number<7>{});
            return w1 & 4 ? act(Number<9>{}) : act(Number<8>{});
        }
        if (!(w0 & 8)) return act(Number<4>{});
        return w1 & 4 ? act(Number<6>{}) : act(Number<5>{});
    }
    // Neighbour k times 16, which is the offset of its record.
    __device__ __forceinline__ u32 offset(int k) const {
        const u32 word = k < 3 ? w0 : k < 6 ? w1 : w2;
        return (k % 3 == 0 ? word : k % 3 == 1 ? word >> 10 : __funnelshift_l(word, word, 12)) & 1023u << 4;
    }
};

// 1 / (p × q) from c = q − p. If p = q, c is exactly zero, and so is every product with c. A tiny summand then keeps
// p × c from being zero. It does not change any other result.
template <typename T> __device__ __forceinline__ T inverse_area(Record<T> p, T cx, T cy) {
    constexpr T TINY = sizeof(T) == 4 ? T(1e-30) : T(1e-200);
    return reciprocal(fma(p.xx, cy, fma(-p.xy, cx, TINY)));
}

// (q − p) / (p × q): what the force of a triangle (0, p, q) needs of its geometry beside p and q.
template <typename T> struct Slope {
    T x, y;
};
template <typename T> __device__ __forceinline__ Slope<T> slope(Record<T> p, Record<T> q) {
    const T cx = q.xx - p.xx, cy = q.xy - p.xy;
    const T inverse = inverse_area(p, cx, cy);
    return {cx * inverse, cy * inverse};
}

// f_int of node 0 from its triangles (0, p, q) with A = p × q: −½ σ (c_p + c_q) with c_p = (q_y, −q_x),
// c_q = (−p_y, p_x). The factor ½ is in d.
template <typename T, Law LAW> struct Forces {
    T x = 0, y = 0;

    __device__ __forceinline__ void add(Record<T> p, Record<T> q, Slope<T> g, Plane<T> d) {
        const T exx = fma(p.ux, q.xy, -(q.ux * p.xy));
        const T eyy = fma(q.uy, p.xx, -(p.uy * q.xx));
        const T gxy = fma(q.ux, p.xx, fma(-p.ux, q.xx, fma(p.uy, q.xy, -(q.uy * p.xy))));
        T sxx = fma(d.d11, exx, d.d12 * eyy);
        T syy = fma(d.d12, exx, d.d22 * eyy);
        T sxy = d.d66 * gxy;
        if (LAW == Law::coupled) {
            sxx = fma(d.d16, gxy, sxx);
            syy = fma(d.d26, gxy, syy);
            sxy = fma(d.d16, exx, fma(d.d26, eyy, sxy));
        }
        x = fma(sxy, g.x, fma(-sxx, g.y, x));
        y = fma(syy, g.x, fma(-sxy, g.y, y));
    }
    __device__ __forceinline__ void end(Record<T> last, Record<T> first) {}
    __device__ __forceinline__ typename Pair<T>::type of(Plane<T>) const { return {x, y}; }
};

// The same for a single isotropic material. With θ = ∂u_x/∂x + ∂u_y/∂y, ω = ∂u_y/∂x − ∂u_x/∂y and c = q − p, a triangle
// gives
//
//   ½ (λ+2μ) θ (−c_y, c_x) − ½ μ ω (c_x, c_y) + μ (q.u_y − p.u_y, p.u_x − q.u_x).
//
// The sum of the last term depends only on the two ends of the fan, and it is zero for a closed fan. θ A and ω A need
// the eight products of a gradient. σ is not needed.
template <typename T> struct Forces<T, Law::isotropic> {
    T tx = 0, ty = 0, wx = 0, wy = 0; // Σ θ c, Σ ω c

    __device__ __forceinline__ void add(Record<T> p, Record<T> q, Slope<T> g, Plane<T>) {
        const T theta = fma(p.ux, q.xy, fma(-q.ux, p.xy, fma(q.uy, p.xx, -(p.uy * q.xx))));
        const T omega = fma(p.uy, q.xy, fma(-q.uy, p.xy, fma(p.ux, q.xx, -(q.ux * p.xx))));
        tx = fma(theta, g.x, tx);
        ty = fma(theta, g.y, ty);
        wx = fma(omega, g.x, wx);
        wy = fma(omega, g.y, wy);
    }
    __device__ __forceinline__ void end(Record<T> last, Record<T> first) {
        wx -= 2 * (last.uy - first.uy);
        wy += 2 * (last.ux - first.ux);
    }
    __device__ __forceinline__ typename Pair<T>::type of(Plane<T> d) const {
        return {fma(-d.d11, ty, -(d.d66 * wx)), fma(d.d11, tx, -(d.d66 * wy))};
    }
};

// The same for a fluid: of q alone, with the flux v = ∇q/ρ for the stress: −½ v · (c_p + c_q).
template <typename T> struct Forces<T, Law::acoustic> {
    T x = 0;

    __device__ __forceinline__ void add(Record<T> p, Record<T> q, Slope<T> g, Plane<T> d) {
        const T gx = fma(p.ux, q.xy, -(q.ux * p.xy)), gy = fma(q.ux, p.xx, -(p.ux * q.xx));
        x = fma(d.d11, fma(gy, g.x, -(gx * g.y)), x);
    }
    __device__ __forceinline__ void end(Record<T> last, Record<T> first) {}
    __device__ __forceinline__ One<T> of(Plane<T>) const { return {x}; }
};

template <typename T> __device__ __forceinline__ Record<T> operator-(Record<T> a, Record<T> b) {
    return {a.ux - b.ux, a.uy - b.uy, a.xx - b.xx, a.xy - b.xy};
}

// Position of the bits for the material of the triangle between the last and the first neighbour.
constexpr int CLOSING = 28;

// f_int of a node in a warp where some fan is open or has further neighbours, from all fan records of the node.
// `forces` holds the triangles between the first four neighbours of its first fan already. Not inlined, because few
// nodes need it.
template <typename T, Law LAW, typename Records>
__device__ __noinline__ typename Numbers<T, UNKNOWNS<LAW>>::type
unusual_force(const Params<T> &p, Extra<T> *extra, Records records, u32 local, Record<T> me, Fan fan, Record<T> first,
              Record<T> last, Forces<T, LAW> forces, Plane<T> d, bool mixed, u32 materials, u32 next) {
    for (int k = 4;; k = 1) {
#pragma unroll 1
        for (; k < 9; k++) {
            const Record<T> now = records.at(fan.offset(k)) - me;
            if (mixed) d = extra->plane(materials >> 4 * (k - 1) & 15);
            forces.add(last, now, slope(last, now), d);
            last = now;
        }
        if (mixed) d = extra->plane(materials >> CLOSING & 15);
        if (fan.open()) forces.end(last, first);
        else forces.add(last, first, slope(last, first), d);
        if (!fan.further()) return forces.of(d);
        while (p.further_node[next] != local) next++;
        fan = {p.further_fan[3 * (u64)next], p.further_fan[3 * (u64)next + 1], p.further_fan[3 * (u64)next + 2]};
        if (mixed) materials = p.further_materials[next];
        next++;
        first = last = records.at(fan.offset(0)) - me;
    }
}

// f_int of one node. All threads of a warp loop over the maximum number of neighbours in the warp.
template <typename T, Law LAW, bool PLAIN, typename Records>
__device__ __forceinline__ typename Numbers<T, UNKNOWNS<LAW>>::type
fan_force(const Params<T> &p, const Block &block, Extra<T> *extra, Records records, u32 local, Record<T> me, Fan fan,
          Plane<T> d, u32 materials) {
    const bool mixed = !PLAIN && block.material == MIXED;
    Forces<T, LAW> forces;
    const Record<T> first = records.at(fan.offset(0)) - me;
    Record<T> last = first;
    auto add = [&](int k) {
        const Record<T> now = records.at(fan.offset(k)) - me;
        if (mixed) d = extra->plane(materials >> 4 * (k - 1) & 15);
        forces.add(last, now, slope(last, now), d);
        last = now;
    };
#pragma unroll
    for (int k = 1; k < 4; k++) add(k);
    if (fan.unusual())
        return unusual_force<T, LAW>(p, extra, records, local, me, fan, first, last, forces, d, mixed, materials,
                                     block.further_first);
    auto rest = [&](int most) {
#pragma unroll
        for (int k = 4; k < 9; k++) {
            if (k >= most) break;
            add(k);
        }
        if (mixed) d = extra->plane(materials >> CLOSING & 15);
        forces.add(last, first, slope(last, first), d);
        return forces.of(d);
    };
    // Plain blocks have separate code for each number of neighbours. It needs no test between neighbours.
    if constexpr (PLAIN) return fan.with_most([&](auto most) { return rest(most.value); });
    else return rest(fan.with_most([](auto most) { return (int)most.value; }));
}

// Data for the update of a node besides its record.
template <typename T, int S> struct Operands {
    typename Numbers<T, S>::type du;
    T inertia;
    Fan fan;
};

// The same data of all nodes of a block, staged in shared memory with the records: fans of own and halo nodes, Δu and
// inertia of own nodes.
template <typename T, int S> struct Staged {
    typedef typename Numbers<T, S>::type V;
    uint4 *fan;
    V *du;
    T *inertia; // double precision only; in single precision it is part of the fan record
    u32 n_own;

    __device__ __forceinline__ Operands<T, S> own(u32 local) const {
        const uint4 row = fan[local];
        if constexpr (sizeof(T) == 4) return {du[local], __uint_as_float(row.w), {row.x, row.y, row.z}};
        else return {du[local], inertia[local], {row.x, row.y, row.z}};
    }
    __device__ __forceinline__ Operands<T, S> halo(const Params<T> &p, const V *du_in, u32 local, u32 node) const {
        const uint4 row = fan[local];
        if constexpr (sizeof(T) == 4) return {du_in[node], __uint_as_float(row.w), {row.x, row.y, row.z}};
        else return {du_in[node], p.inertia[node], {row.x, row.y, row.z}};
    }
    // Δu after the first step. For a halo node it replaces the fan.
    __device__ __forceinline__ V &made(u32 local) const {
        return local < n_own ? du[local] : reinterpret_cast<V &>(fan[local]);
    }
};

// Stores ½ D of the block's materials where several meet in it.
template <typename T>
__device__ __forceinline__ void keep_planes(const Params<T> &p, const Block &block, Extra<T> *extra) {
    const u32 tid = threadIdx.x;
    if (tid < block.n_planes) {
        const Plane<T> d = plane(p, p.fan_planes[block.plane_first + tid]);
        T *to = extra->plane_at(tid);
        to[0] = d.d11, to[1] = d.d12, to[2] = d.d22, to[3] = d.d66, to[4] = d.d16, to[5] = d.d26;
    }
}

// Stores `Extra` for one launch.
template <typename T, int STEPS>
__device__ __forceinline__ void keep_extra(const Params<T> &p, const Block &block, u32 k, Extra<T> *extra) {
    constexpr u32 THREADS = Fans<T>::THREADS;
    const u32 n_near = block.n_own + block.n_halo, tid = threadIdx.x;
    // A launch that only computes forces may have no room for these data. It does not read them.
    if (p.force_out) {
    } else if (block.special_first == NONE) {
        if (tid < MOST_LOCAL / 32) extra->marked[tid] = 0;
    } else {
        if (tid < STEPS) extra->recorded[tid] = p.record[*p.row + k + tid];
        if (tid < min(block.n_special, p.n_kept))
            extra->actions(block)[tid] =
                action_of(p.specials[block.special_base + tid], p.signals + (u64)k * p.n_signals, p.n_signals);
        const u32 *first = p.special_first + block.special_first;
#pragma unroll 4
        for (u32 i = tid; i - tid % 32 < n_near; i += THREADS) {
            const u32 at = min(i, n_near - 1), marks = __ballot_sync(ALL_LANES, i < n_near && first[at] < first[at + 1]);
            if (tid % 32 == 0) extra->marked[i / 32] = marks;
        }
    }
    keep_planes(p, block, extra);
}

// Starts to copy `n` rows to shared memory, at a distance of STRIDE bytes there. Each thread copies AT_ONCE rows in an
// iteration of the loop. No thread waits for the copies.
template <u32 THREADS, u32 STRIDE, u32 AT_ONCE, typename Row>
__device__ __forceinline__ void copy_rows(void *to, const Row *from, u32 n) {
    u32 at = (u32)__cvta_generic_to_shared(to) + STRIDE * threadIdx.x;
    from += threadIdx.x;
#pragma unroll 1
    for (u32 i = threadIdx.x; i < n; i += AT_ONCE * THREADS) {
#pragma unroll
        for (u32 s = 0; s < AT_ONCE; s++)
            asm volatile("{ .reg .pred there; setp.lt.u32 there, %0, %1; @there cp.async.ca.shared.global [%2], [%3], %4; }" ::
                             "r"(i + s * THREADS), "r"(n), "r"(at + s * STRIDE * THREADS), "l"(from + s * THREADS), "n"(sizeof(Row))
                         : "memory");
        at += AT_ONCE * STRIDE * THREADS;
        from += AT_ONCE * THREADS;
    }
}

// A node before its update.
template <typename T> __device__ __forceinline__ Motion<T, 1> motion_of(One<T> f, Record<T> me, One<T> du, T inertia) {
    return {{f.x}, {me.ux}, {du.x}, inertia};
}
template <typename T, typename V> __device__ __forceinline__ Motion<T, 2> motion_of(V f, Record<T> me, V du, T inertia) {
    return {{f.x, f.y}, {me.ux, me.uy}, {du.x, du.y}, inertia};
}

// Steps a block. STEPS = 1: the own nodes are updated from own and halo nodes. STEPS = 2: first the own and halo nodes
// are updated, for which the outer nodes around the halo are read, then the own nodes again. Every block that reads a
// halo node makes its first step itself, with the same arithmetic.
template <typename T, int STEPS, Law LAW, bool PLAIN, typename Wait>
__device__ __forceinline__ void step_block(const Params<T> &p, const Block &block, u32 k, u32 parity, Wait &&wait) {
    constexpr int S = UNKNOWNS<LAW>;
    typedef typename Pair<T>::type T2;
    typedef typename Numbers<T, S>::type V;
    constexpr u32 THREADS = Fans<T>::THREADS, RING_AT_ONCE = (256 + THREADS - 1) / THREADS;
    constexpr u32 OWN_AT_ONCE = (512 + THREADS - 1) / THREADS, X_AT_ONCE = (768 + THREADS - 1) / THREADS;
    extern __shared__ __align__(32) unsigned char shared[];
    const u32 n_own = block.n_own, n_halo = block.n_halo, tid = threadIdx.x;
    // Numbers of nodes that the first step reads and updates.
    const u32 n_local = n_own + n_halo + (STEPS == 2 ? block.n_outer : 0), n_near = n_own + (STEPS == 2 ? n_halo : 0);
    const Records<T, S> records = {shared};
    Staged<T, S> staged;
    staged.fan = reinterpret_cast<uint4 *>(shared + (sizeof(T) == 4 ? 0 : 16 * MOST_LOCAL) + 16 * n_local);
    staged.du = reinterpret_cast<V *>(staged.fan + n_near);
    staged.inertia = reinterpret_cast<T *>(staged.du + n_own);
    staged.n_own = n_own;
    unsigned char *end = reinterpret_cast<unsigned char *>(staged.inertia + (sizeof(T) == 4 ? 0 : n_own));
    // `extra` is aligned to 16 bytes.
    Extra<T> *extra = PLAIN ? nullptr : reinterpret_cast<Extra<T> *>(shared + ((end - shared + 15) & ~15));
    const V *u_in = reinterpret_cast<const V *>(p.u[parity]), *du_in = reinterpret_cast<const V *>(p.du[parity]);
    V *u_out = reinterpret_cast<V *>(p.u[parity ^ 1]);
    V *du_out = reinterpret_cast<V *>(p.du[parity ^ 1]);
    const T2 *x = reinterpret_cast<const T2 *>(p.x);

    if (!PLAIN) keep_extra<T, STEPS>(p, block, k, extra);
    auto ring_node = [&](u32 h) {
        return h < n_halo ? p.halo_nodes[block.halo_first + h] : p.outer_nodes[block.outer_first + h - n_halo];
    };
    // Constant data is fetched before the block waits for results of other blocks.
    u32 ring[RING_AT_ONCE];
#pragma unroll
    for (u32 s = 0; s < RING_AT_ONCE; s++) {
        const u32 h = tid + s * THREADS;
        if (n_own + h < n_local) ring[s] = ring_node(h);
    }
    copy_rows<THREADS, 16, X_AT_ONCE>(&records.x(0), x + block.local_first, n_local);
    copy_rows<THREADS, 16, OWN_AT_ONCE>(staged.fan, p.fan + block.node_first, n_own);
    if (sizeof(T) == 8) copy_rows<THREADS, sizeof(T), OWN_AT_ONCE>(staged.inertia, p.inertia + block.node_first, n_own);
    if (STEPS == 2) copy_rows<THREADS, 16, 1>(staged.fan + n_own, p.halo_fan + block.halo_first, n_halo);
    wait();
    copy_rows<THREADS, 16, OWN_AT_ONCE>(&records.u(0), u_in + block.node_first, n_own);
    copy_rows<THREADS, sizeof(V), OWN_AT_ONCE>(staged.du, du_in + block.node_first, n_own);
#pragma unroll
    for (u32 s = 0; s < RING_AT_ONCE; s++) {
        const u32 i = n_own + tid + s * THREADS;
        if (i < n_local) copy_later<sizeof(V)>(&records.u(i), u_in + ring[s]);
    }
#pragma unroll 1
    for (u32 i = n_own + tid + RING_AT_ONCE * THREADS; i < n_local; i += THREADS)
        copy_later<sizeof(V)>(&records.u(i), u_in + ring_node(i - n_own));
    wait_for_copies();
    const bool mixed = !PLAIN && block.material == MIXED;
    const Plane<T> d = plane(p, mixed ? 0 : block.material);
    Energies energies;
    __syncthreads();

    if (PLAIN && Fans<T>::AHEAD > 0 && tid >= THREADS - 32) {
        const u32 further = blockIdx.x + Fans<T>::AHEAD;
        if (further < gridDim.x) {
            const Block next = load_row(p.blocks + (p.list ? p.list[further] : further));
            prefetch<true>(u_in + next.node_first, sizeof(V) * next.n_own);
            prefetch<true>(p.du[parity] + S * (u64)next.node_first, sizeof(V) * next.n_own);
            prefetch<true>(p.inertia + next.node_first, sizeof(T) * next.n_own);
            prefetch<true>(p.fan + next.node_first, sizeof(uint4) * next.n_own);
            prefetch<true>(p.halo_fan + next.halo_first, sizeof(uint4) * next.n_halo);
            prefetch<true>(x + next.local_first, sizeof(T2) * (next.n_own + next.n_halo + next.n_outer));
        }
    }

    // One step of local node `i` of `n`. All threads of the warp take part.
    auto step = [&](u32 i, u32 n, auto &&store) {
        // Threads beyond the last node repeat the step of that node and store nothing, so that the warp stays together.
        // All paths through the fans meet again before `store` overwrites a fan with Δu. By then all threads have read
        // the fan.
        const u32 local = min(i, n - 1), entry = block.halo_first + local - n_own;
        const bool there = i < n, own = local < n_own;
        const u32 node = own ? block.node_first + local : p.halo_nodes[entry];
        const u32 materials = !mixed ? 0 : own ? p.fan_materials[node] : p.halo_fan_materials[entry];
        const Record<T> me = records.at(16 * local);
        const Operands<T, S> operands = own ? staged.own(local) : staged.halo(p, du_in, local, node);
        const V f = fan_force<T, LAW, PLAIN>(p, block, extra, records, local, me, operands.fan, d, materials);
        Motion<T, S> motion = motion_of(f, me, operands.du, operands.inertia);
        if (PLAIN) {
            const Moved<T, S> moved = move(motion, false, own);
            if (there) store(moved);
            return;
        }
        if (!there) return;
        if (p.force_out) {
            p.force_out[S * (u64)node] = (double)f.x * p.force_unit;
            if constexpr (S == 2) p.force_out[S * (u64)node + 1] = (double)f.y * p.force_unit;
            return;
        }
        if (block.damped) {
            motion.decay = p.decay[node];
            motion.dissipation = p.dissipation[node];
        }
        Moved<T, S> moved;
        if (extra->is_marked(local)) {
            take(moved.du, f);
        } else {
            moved = move(motion, block.damped, own);
            energies.work += moved.energies.work;
            energies.damped += moved.energies.damped;
        }
        store(moved);
    };
    // Updates those of the first `n` local nodes that have specials, one thread per node. It runs when all forces are
    // known. The forces of these nodes are in their Δu slots.
    auto act = [&](u32 n, bool later) {
        if (PLAIN || block.special_first == NONE || p.force_out) return;
        __syncthreads();
        const Action *kept = extra->actions(block);
        const u32 n_kept = min(block.n_special, p.n_kept), base = block.special_base;
        auto bits = [&](u32 s) { return s < n_kept ? kept[s].bits : p.specials[base + s].kind; };
#pragma unroll 1
        for (u32 s = tid; s < block.n_special; s += THREADS) {
            const u32 local = bits(s) >> LOCAL_AT;
            if (local >= n || (s > 0 && !(bits(s - 1) & LAST))) continue;
            const bool own = local < n_own, last = STEPS == 1 || later;
            const u32 node = own ? block.node_first + local : p.halo_nodes[block.halo_first + local - n_own];
            const Record<T> me = records.at(16 * local);
            const V f = last ? du_out[node] : staged.made(local), du = later ? staged.du[local] : du_in[node];
            const T inertia = own ? staged.own(local).inertia : staged.halo(p, du_in, local, node).inertia;
            Motion<T, S> motion = motion_of(f, me, du, inertia);
            if (block.damped) {
                motion.decay = p.decay[node];
                motion.dissipation = p.dissipation[node];
            }
            const Actions actions = {kept, base, n_kept, base + s, k, extra->recorded[later], later};
            const Moved<T, S> moved = move_special(p, motion, block.damped, own, actions);
            energies.work += moved.energies.work;
            energies.damped += moved.energies.damped;
            if (last) {
                u_out[node] = numbers<V>(moved.u);
                du_out[node] = numbers<V>(moved.du);
            } else {
                staged.made(local) = numbers<V>(moved.du);
            }
        }
    };
    if (STEPS == 2) {
#pragma unroll 1
        for (u32 i = tid; i - tid % 32 < n_near; i += THREADS)
            step(i, n_near, [&](const Moved<T, S> &moved) { staged.made(i) = numbers<V>(moved.du); });
        act(n_near, false);
        __syncthreads();
        for (u32 i = tid; i < n_near; i += THREADS) {
            const V u = records.u(i), du = staged.made(i);
            records.u(i) = plus(u, du);
        }
        __syncthreads();
    }
#pragma unroll 1
    for (u32 i = tid; i - tid % 32 < n_own; i += THREADS)
        step(i, n_own, [&](const Moved<T, S> &moved) {
            u_out[block.node_first + i] = numbers<V>(moved.u);
            du_out[block.node_first + i] = numbers<V>(moved.du);
        });
    act(n_own, STEPS == 2);
    if (!PLAIN && block.energy_row != NONE && !p.force_out)
        add_energies<THREADS>(p.energies, block.energy_row, energies);
}

// A launch may have several passes of STEPS steps each. Pass j of a block starts when pass j − 1 of all neighbouring
// blocks is complete: both the blocks that it reads and the blocks that read it. Thread blocks start in the order of
// their numbers, and all thread blocks of a pass come before those of the next pass. So a thread block waits only for
// thread blocks that are already running.
template <typename T, int STEPS, Law LAW> __device__ __forceinline__ void step_fans(const Params<T> &p, u32 k) {
    const u32 pass = blockIdx.y, number = p.list ? p.list[blockIdx.x] : blockIdx.x;
    const u32 *sources = p.sources + (u64)number * p.n_neighbours;
    const u32 source = pass > 0 && threadIdx.x < p.n_neighbours ? __ldg(sources + threadIdx.x) : NONE;
    const Block block = load_row(p.blocks + number);
    auto wait = [&]() {
        if (pass == 0) return;
        auto wait_for = [&](u32 other) {
            while (other != NONE && acquire(p.done + other) < pass) __nanosleep(32);
        };
        wait_for(source);
        for (u32 s = threadIdx.x + Fans<T>::THREADS; s < p.n_neighbours; s += Fans<T>::THREADS) wait_for(__ldg(sources + s));
        __syncthreads();
    };
    if (block.special_first == NONE && block.material != MIXED && !block.damped && !p.force_out)
        step_block<T, STEPS, LAW, true>(p, block, k + pass * STEPS, pass & 1, wait);
    else
        step_block<T, STEPS, LAW == Law::isotropic ? Law::aligned : LAW, false>(p, block, k + pass * STEPS, pass & 1, wait);
    if (gridDim.y > 1) {
        __syncthreads();
        if (threadIdx.x == 0) release(p.done + number, pass + 1);
    }
}
