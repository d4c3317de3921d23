// Two steps of triangles for several shots at once: runs of one model that differ in what acts on it. A thread has one node, as in
// fans.cuh, and sums the forces on it for LANES shots. Positions, fans and materials are read once for all of them, and what the
// force needs of the geometry is computed once. For each shot the operations and their order are those of fans.cuh.
//
// Blocks on which anything acts in any shot, or that have a monitor, are not stepped here.

#pragma once
#include "fans.cuh"
#include "shots.cuh"

// Shots of a thread block, its threads, and thread blocks per multiprocessor, which limits the registers. Tuned on an H200.
template <typename T> struct FansOfShots {
    static constexpr int LANES = sizeof(T) == 4 ? LANES_F32 : LANES_F64;
    static constexpr u32 THREADS = 256, RESIDENT = sizeof(T) == 4 ? 3 : 2;
};

// x of a node, or of a difference of two nodes, and u of each shot.
template <typename T> struct Spoke {
    typedef typename Pair<T>::type T2;
    static constexpr int LANES = FansOfShots<T>::LANES;
    T2 x, u[LANES];

    __device__ __forceinline__ Record<T> lane(int l) const { return {u[l].x, u[l].y, x.x, x.y}; }
    __device__ __forceinline__ Spoke operator-(const Spoke &b) const {
        Spoke c;
        c.x = {x.x - b.x.x, x.y - b.x.y};
#pragma unroll
        for (int l = 0; l < LANES; l++) c.u[l] = {u[l].x - b.u[l].x, u[l].y - b.u[l].y};
        return c;
    }
};

// Layout of the dynamic shared memory. The function `room` in shots.rs computes its size. It holds rows at a distance of 16 bytes
// with x of the local nodes and their u in each shot, where a row has two of these in single precision and one in double
// precision, the fans of own and halo nodes, Δu of own and halo nodes shot by shot, in double precision the inertia of own nodes, and
// of a damped block the energy that each own node loses in a step, shot by shot.
template <typename T> struct RoomsOfShots {
    typedef typename Pair<T>::type T2;
    static constexpr int LANES = FansOfShots<T>::LANES, IN_ROW = 16 / sizeof(T2), ROWS = (LANES + IN_ROW) / IN_ROW;
    unsigned char *shared;
    u32 n_local, n_near, n_own, n_damped;

    // Entry 0 of a node is x, and entry l + 1 is u in shot l.
    __device__ __forceinline__ T2 &entry(int e, u32 node) const {
        return reinterpret_cast<T2 *>(shared + 16 * (e / IN_ROW * n_local + node))[e % IN_ROW];
    }
    __device__ __forceinline__ T2 &x(u32 node) const { return entry(0, node); }
    __device__ __forceinline__ T2 &u(int l, u32 node) const { return entry(l + 1, node); }
    __device__ __forceinline__ uint4 *fan() const { return reinterpret_cast<uint4 *>(shared + 16 * ROWS * n_local); }
    __device__ __forceinline__ T2 *du(int l) const { return reinterpret_cast<T2 *>(fan() + n_near) + l * n_near; }
    __device__ __forceinline__ T *inertia() const { return reinterpret_cast<T *>(du(LANES)); }
    __device__ __forceinline__ T *lost(int l) const { return inertia() + (sizeof(T) == 4 ? 0 : n_own) + l * n_damped; }
    __device__ __forceinline__ Extra<T> *extra() const {
        const unsigned char *end = reinterpret_cast<unsigned char *>(lost(LANES));
        return reinterpret_cast<Extra<T> *>(shared + ((end - shared + 15) & ~15));
    }
    // `offset` is 16 times the local node number.
    __device__ __forceinline__ Spoke<T> at(u32 offset) const {
        Spoke<T> spoke;
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            const unsigned char *row = shared + 16 * r * n_local + offset;
            if constexpr (sizeof(T) == 4) {
                const float4 both = *reinterpret_cast<const float4 *>(row);
                if (r == 0) spoke.x = {both.x, both.y};
                else spoke.u[2 * r - 1] = {both.x, both.y};
                if (2 * r < LANES) spoke.u[2 * r] = {both.z, both.w};
            } else if (r == 0) {
                spoke.x = *reinterpret_cast<const double2 *>(row);
            } else {
                spoke.u[r - 1] = *reinterpret_cast<const double2 *>(row);
            }
        }
        return spoke;
    }
};

// Records of one shot.
template <typename T> struct LaneRecords {
    RoomsOfShots<T> rooms;
    int lane;

    __device__ __forceinline__ Record<T> at(u32 offset) const {
        const u32 node = offset / 16;
        const typename Pair<T>::type x = rooms.x(node), u = rooms.u(lane, node);
        return {u.x, u.y, x.x, x.y};
    }
};

// f_int of one node in one shot, where a fan of its warp is open or has further neighbours. Not inlined, because few nodes need it.
template <typename T, Law LAW>
__device__ __noinline__ typename Pair<T>::type lone_force(const Params<T> &p, RoomsOfShots<T> rooms, int lane, u32 local, Fan fan,
                                                          Plane<T> d, u32 material, u32 materials, u32 further_first) {
    Block block = {};
    block.material = material;
    block.further_first = further_first;
    const LaneRecords<T> records = {rooms, lane};
    return fan_force<T, LAW, false>(p, block, rooms.extra(), records, local, records.at(16 * local), fan, d, materials);
}

// f_int of one node in each shot, as `fan_force` of fans.cuh.
template <typename T, Law LAW, bool PLAIN>
__device__ __forceinline__ void forces_of_fan(const Params<T> &p, const Block &block, RoomsOfShots<T> rooms, u32 local,
                                              const Spoke<T> &me, Fan fan, Plane<T> d, u32 materials,
                                              typename Pair<T>::type *f) {
    constexpr int LANES = FansOfShots<T>::LANES;
    if (fan.unusual()) {
#pragma unroll
        for (int l = 0; l < LANES; l++)
            f[l] = lone_force<T, LAW>(p, rooms, l, local, fan, d, block.material, materials, block.further_first);
        return;
    }
    const bool mixed = !PLAIN && block.material == MIXED;
    Forces<T, LAW> forces[LANES];
    Spoke<T> last = rooms.at(fan.offset(0)) - me;
    auto add = [&](u32 offset, u32 bits) {
        const Spoke<T> now = rooms.at(offset) - me;
        if (mixed) d = rooms.extra()->plane(materials >> bits & 15);
        const Slope<T> g = slope(last.lane(0), now.lane(0));
#pragma unroll
        for (int l = 0; l < LANES; l++) forces[l].add(last.lane(l), now.lane(l), g, d);
        last = now;
    };
#pragma unroll
    for (int k = 1; k < 4; k++) add(fan.offset(k), 4 * (k - 1));
    auto rest = [&](int most) {
#pragma unroll
        for (int k = 4; k < 9; k++) {
            if (k >= most) break;
            add(fan.offset(k), 4 * (k - 1));
        }
        add(fan.offset(0), CLOSING);
#pragma unroll
        for (int l = 0; l < LANES; l++) f[l] = forces[l].of(d);
    };
    // As in fans.cuh.
    if constexpr (PLAIN) fan.with_most([&](auto most) { rest(most.value); });
    else rest(fan.with_most([](auto most) { return (int)most.value; }));
}

// Steps a block for the shots from `first_shot` on: first own and halo nodes, then own nodes again, as fans.cuh does with STEPS = 2.
// With PLAIN the block has one material and no damping.
template <typename T, Law LAW, bool PLAIN>
__device__ __forceinline__ void step_block_of_shots(const Params<T> &p, const Shots<T> &shots, const Block &block, u32 number,
                                                    u32 first_shot) {
    typedef typename Pair<T>::type T2;
    constexpr int LANES = FansOfShots<T>::LANES;
    constexpr u32 THREADS = FansOfShots<T>::THREADS;
    extern __shared__ __align__(32) unsigned char shared[];
    const u32 n_own = block.n_own, n_halo = block.n_halo, tid = threadIdx.x;
    const u32 n_local = n_own + n_halo + block.n_outer, n_near = n_own + n_halo;
    const bool mixed = !PLAIN && block.material == MIXED, damped = !PLAIN && block.damped;
    const RoomsOfShots<T> rooms = {shared, n_local, n_near, n_own, damped ? n_own : 0};
    auto u_in = [&](int l) { return reinterpret_cast<const T2 *>(shots.u[first_shot + l][0]); };
    auto du_in = [&](int l) { return reinterpret_cast<const T2 *>(shots.du[first_shot + l][0]); };

    if (!PLAIN) keep_planes(p, block, rooms.extra());
    copy_rows<THREADS, 16, 4>(&rooms.x(0), reinterpret_cast<const T2 *>(p.x) + block.local_first, n_local);
    copy_rows<THREADS, 16, 4>(rooms.fan(), p.fan + block.node_first, n_own);
    if (sizeof(T) == 8) copy_rows<THREADS, sizeof(T), 4>(rooms.inertia(), p.inertia + block.node_first, n_own);
    copy_rows<THREADS, 16, 1>(rooms.fan() + n_own, p.halo_fan + block.halo_first, n_halo);
#pragma unroll
    for (int l = 0; l < LANES; l++) {
        copy_rows<THREADS, 16, 4>(&rooms.u(l, 0), u_in(l) + block.node_first, n_own);
        copy_rows<THREADS, sizeof(T2), 4>(rooms.du(l), du_in(l) + block.node_first, n_own);
    }
#pragma unroll 1
    for (u32 h = tid; n_own + h < n_local; h += THREADS) {
        const u32 node = h < n_halo ? p.halo_nodes[block.halo_first + h] : p.outer_nodes[block.outer_first + h - n_halo];
#pragma unroll
        for (int l = 0; l < LANES; l++) {
            copy_later<sizeof(T2)>(&rooms.u(l, n_own + h), u_in(l) + node);
            if (h < n_halo) copy_later<sizeof(T2)>(rooms.du(l) + n_own + h, du_in(l) + node);
        }
    }
    wait_for_copies();
    const Plane<T> d = plane(p, mixed ? 0 : block.material);
    Energies energies[LANES];
    __syncthreads();

    // One step of local node `i` of `n`. All threads of the warp take part; those beyond the last node repeat it and store
    // nothing.
    auto step = [&](u32 i, u32 n, auto &&store) {
        const u32 local = min(i, n - 1), entry = block.halo_first + local - n_own;
        const bool there = i < n, own = local < n_own;
        const u32 node = own ? block.node_first + local : p.halo_nodes[entry];
        const u32 materials = !mixed ? 0 : own ? p.fan_materials[node] : p.halo_fan_materials[entry];
        const Spoke<T> me = rooms.at(16 * local);
        const uint4 row = rooms.fan()[local];
        T inertia;
        if constexpr (sizeof(T) == 4) inertia = __uint_as_float(row.w);
        else inertia = own ? rooms.inertia()[local] : p.inertia[node];
        T2 f[LANES];
        forces_of_fan<T, LAW, PLAIN>(p, block, rooms, local, me, {row.x, row.y, row.z}, d, materials, f);
        if (!there) return;
#pragma unroll
        for (int l = 0; l < LANES; l++) {
            const T2 du = rooms.du(l)[local];
            Motion<T, 2> motion = {{f[l].x, f[l].y}, {me.u[l].x, me.u[l].y}, {du.x, du.y}, inertia};
            if (damped) {
                motion.decay = p.decay[node];
                motion.dissipation = p.dissipation[node];
            }
            const Moved<T, 2> moved = move(motion, damped, own);
            if (damped && own) rooms.lost(l)[local] = (T)moved.energies.damped;
            store(l, moved);
        }
    };
    // The sums are those of the threads in fans.cuh, which have other nodes, so that each shot has the energy of its run alone.
    auto add_lost = [&]() {
        if (tid >= Fans<T>::THREADS) return;
        for (u32 i = tid; i < n_own; i += Fans<T>::THREADS) {
#pragma unroll
            for (int l = 0; l < LANES; l++) energies[l].damped += (double)rooms.lost(l)[i];
        }
    };
#pragma unroll 1
    for (u32 i = tid; i - tid % 32 < n_near; i += THREADS)
        step(i, n_near, [&](int l, const Moved<T, 2> &moved) { rooms.du(l)[i] = {moved.du[0], moved.du[1]}; });
    __syncthreads();
    for (u32 i = tid; i < n_near; i += THREADS) {
#pragma unroll
        for (int l = 0; l < LANES; l++) {
            T2 &u = rooms.u(l, i);
            const T2 du = rooms.du(l)[i];
            u = {u.x + du.x, u.y + du.y};
        }
    }
    if (damped) add_lost();
    __syncthreads();
#pragma unroll 1
    for (u32 i = tid; i - tid % 32 < n_own; i += THREADS)
        step(i, n_own, [&](int l, const Moved<T, 2> &moved) {
            const u32 node = block.node_first + i;
            reinterpret_cast<T2 *>(shots.u[first_shot + l][1])[node] = {moved.u[0], moved.u[1]};
            reinterpret_cast<T2 *>(shots.du[first_shot + l][1])[node] = {moved.du[0], moved.du[1]};
        });
    if (damped) {
        __syncthreads();
        add_lost();
#pragma unroll
        for (int l = 0; l < LANES; l++) {
            const u32 energy_row = shots.energy_rows[(first_shot + l) * p.n_blocks + number];
            if (energy_row != NONE) add_energies<THREADS>(shots.energies[first_shot + l], energy_row, energies[l]);
        }
    }
}

// A thread block has a block of the mesh and LANES shots, whose number is a multiple of LANES. Thread blocks that have the same
// block follow one another, so that what they share is still in the L2 cache.
template <typename T, Law LAW>
__device__ __forceinline__ void step_fans_of_shots(const Params<T> &p, const Shots<T> &shots) {
    constexpr u32 LANES = FansOfShots<T>::LANES;
    const u32 n_groups = shots.n / LANES;
    const u32 number = p.list[blockIdx.x / n_groups], first_shot = blockIdx.x % n_groups * LANES;
    const Block block = load_row(p.blocks + number);
    if (block.material != MIXED && !block.damped)
        step_block_of_shots<T, LAW, true>(p, shots, block, number, first_shot);
    else
        step_block_of_shots<T, LAW == Law::isotropic ? Law::aligned : LAW, false>(p, shots, block, number, first_shot);
}
