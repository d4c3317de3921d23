// Step of elements of any type: one thread per element, one colour at a time. No two elements of a colour share an own
// node of the block. So forces are added in shared memory without atomics, in a fixed order.
//
// Dynamic shared memory holds the S unknowns of own and halo nodes, their x, and f_int of own nodes. It has
// ((D + S) (n_own + n_halo) + S n_own) × sizeof(T) bytes, the maximum over the blocks of the launch. With one unknown the
// number of rows of unknowns is rounded up to an even number. A thread block has
// COLOUR_THREADS threads. The host reads this number as the largest thread block that the kernel can be launched with.

#pragma once
#include "rows.cuh"

#ifndef COLOUR_THREADS_
#define COLOUR_THREADS_ 128
#endif
constexpr u32 COLOUR_THREADS = COLOUR_THREADS_;
// Copies `count` consecutive numbers asynchronously. In two dimensions each copy takes two numbers.
template <typename T, int D> __device__ __forceinline__ void copy_all_later(T *to, const T *from, u32 count) {
    constexpr int STEP = D == 2 ? 2 : 1;
#pragma unroll 4
    for (u32 i = STEP * threadIdx.x; i < count; i += STEP * COLOUR_THREADS) copy_later<STEP * sizeof(T)>(to + i, from + i);
}

// Adds f_int of the elements of one colour to `forces`. `row` is the connectivity row of the thread's first element.
template <typename T, u32 LAW, bool ALIGNED, int S>
__device__ __forceinline__ void add_forces(const Params<T> &p, const Colour &colour, u32 n_own, const T *u_local,
                                           const T *x_local, T *forces, Row row) {
    typedef Element<T, LAW, ALIGNED> E;
    constexpr int D = E::D, C = E::C, NODES = E::NODES;
    const u32 n = colour.n_elements;
    const u16 *connectivity = p.connectivity + colour.connectivity_first;
    // Kernels of materials that couple shear also take batches in which each element has a material of its own.
    const bool mixed = !ALIGNED && colour.materials_first != NONE;
#pragma unroll 1
    for (u32 e = threadIdx.x; e < n;) {
        const u32 material = mixed ? __ldg(p.element_materials + colour.materials_first + e) : colour.material;
        const E element(p.materials[material]);
        T factor = 1;
        if (p.factors) factor = p.factors[colour.element_first + e];
        Vector<T, D> x[NODES];
        Vector<T, C> u[NODES], f[NODES];
#pragma unroll
        for (int i = 0; i < NODES; i++) {
            const u32 at = D * row.node(i), first = S * row.node(i);
#pragma unroll
            for (int c = 0; c < D; c++) {
                x[i][c] = x_local[at + c];
                if (c < C) u[i][c] = u_local[first + c];
            }
        }
        element.force(x, u, f);
        if (row.repeats<NODES>()) {
#pragma unroll
            for (int i = 0; i < NODES; i++) {
                const u32 node = row.node(i);
                if (node >= n_own) continue;
#pragma unroll
                for (int c = 0; c < C; c++) forces[S * node + c] = fma(factor, f[i][c], forces[S * node + c]);
            }
        } else {
            // All reads come before all writes, so that no read waits for a write.
#pragma unroll
            for (int i = 0; i < NODES; i++) {
                const u32 at = row.node(i) < n_own ? S * row.node(i) : 0;
#pragma unroll
                for (int c = 0; c < C; c++) f[i][c] = fma(factor, f[i][c], forces[at + c]);
            }
#pragma unroll
            for (int i = 0; i < NODES; i++) {
                const u32 node = row.node(i);
#pragma unroll
                for (int c = 0; c < C; c++)
                    if (node < n_own) forces[S * node + c] = f[i][c];
            }
        }
        e += COLOUR_THREADS;
        if (e < n) read_row<NODES>(connectivity, e, row);
    }
}

// Updates the own nodes from their forces. u_next and Δu_next replace u and f in shared memory and are stored from
// there. With direct stores in three dimensions, neighbouring threads would write every third word of the arrays.
template <typename T, int D, bool PLAIN>
__device__ __forceinline__ void update_block(const Params<T> &p, const Block &block, u32 k, T *u_local,
                                             T *forces) {
    const u32 n_own = block.n_own, row = PLAIN ? 0 : *p.row + k;
    const u64 first = (u64)D * block.node_first;
    if (!PLAIN && p.force_out) {
        for (u32 i = threadIdx.x; i < D * n_own; i += COLOUR_THREADS)
            p.force_out[first + i] = (double)forces[i] * p.force_unit;
        return;
    }
    const T *du_in = p.du[0] + first;
    Energies energies;
#pragma unroll 1
    for (u32 i = threadIdx.x; i < n_own; i += COLOUR_THREADS) {
        const u64 node = (u64)block.node_first + i;
        Motion<T, D> motion;
#pragma unroll
        for (int c = 0; c < D; c++) {
            motion.f[c] = forces[D * i + c];
            motion.u[c] = u_local[D * i + c];
            motion.du[c] = du_in[D * i + c];
        }
        const Moved<T, D> next = update_node<T, D, PLAIN>(p, block, i, node, k, row, motion, energies);
#pragma unroll
        for (int c = 0; c < D; c++) {
            u_local[D * i + c] = next.u[c];
            forces[D * i + c] = next.du[c];
        }
    }
    __syncthreads();
    T *u_out = p.u[1] + first, *du_out = p.du[1] + first;
#pragma unroll 4
    for (u32 i = threadIdx.x; i < D * n_own; i += COLOUR_THREADS) {
        u_out[i] = u_local[i];
        du_out[i] = forces[i];
    }
    if (block.energy_row != NONE) add_energies<COLOUR_THREADS>(p.energies, block.energy_row, energies);
}

// Not inlined, so that special nodes do not cost registers in the other blocks.
template <typename T, int D>
__device__ __noinline__ void update_special_block(const Params<T> &p, const Block &block, u32 k, T *u_local,
                                                  T *forces) {
    update_block<T, D, false>(p, block, k, u_local, forces);
}

template <typename T, u32 SET, bool ALIGNED, typename Touching = Nothing>
__device__ __forceinline__ void step_colours(const Params<T> &p, u32 k, const Touching &touching = {}) {
    constexpr int D = dimension_of(SET), S = unknowns_of(SET);
    DYNAMIC_SHARED;
    __shared__ Colour kept[KEPT_COLOURS];
    const u32 number = p.list ? p.list[blockIdx.x] : blockIdx.x;
    const Block &block = p.blocks[number];
    const u32 tid = threadIdx.x, n_own = block.n_own, n_halo = block.n_halo, n_local = n_own + n_halo;
    // Positions are copied by twos.
    const u32 n_rows = S == 1 ? (n_local + 1) / 2 * 2 : n_local;
    T *u_local = reinterpret_cast<T *>(shared), *x_local = u_local + S * n_rows, *forces = x_local + D * n_local;
    const u64 first = (u64)S * block.node_first;
    const T *u_in = p.u[0];

    const Colour *colours = p.colours + block.colour_first;
    const u32 n_colours = block.n_colours;
    for (u32 i = tid; i < 2 * min(n_colours, KEPT_COLOURS); i += COLOUR_THREADS)
        copy_later<16>(reinterpret_cast<uint4 *>(kept) + i, reinterpret_cast<const uint4 *>(colours) + i);
    for (u32 h = tid; h < n_halo; h += COLOUR_THREADS) {
        const T *from = u_in + (u64)S * p.halo_nodes[block.halo_first + h];
        T *to = u_local + S * (n_own + h);
        if (S == 2) {
            copy_later<2 * sizeof(T)>(to, from);
        } else {
#pragma unroll
            for (int c = 0; c < S; c++) copy_later<sizeof(T)>(to + c, from + c);
        }
    }
    copy_all_later<T, S>(u_local, u_in + first, S * n_own);
    copy_all_later<T, D>(x_local, p.x + (u64)D * block.local_first, D * n_local);
    for (u32 i = tid; i < S * n_own; i += COLOUR_THREADS) forces[i] = 0;
    if (n_colours <= KEPT_COLOURS) colours = kept;
    wait_for_copies();
    __syncthreads();
    if (n_colours > 0) {
        // The colours of a block are consecutive in the tables.
        const Colour &low = colours[0], &high = colours[n_colours - 1];
        u64 entries = high.connectivity_first - low.connectivity_first;
        with_law<SET>(high.law, [&](auto law) {
            entries += (u64)Element<T, decltype(law)::value, ALIGNED>::NODES * high.n_elements;
        });
        prefetch(p.connectivity + low.connectivity_first, sizeof(u16) * entries);
        if (p.factors)
            prefetch(p.factors + low.element_first,
                     sizeof(T) * (u64)(high.element_first + high.n_elements - low.element_first));
    }
    prefetch(p.du[0] + first, sizeof(T) * S * n_own);
    prefetch(p.inertia + block.node_first, sizeof(T) * n_own);

    Row row = {};
    auto read = [&](u32 c) {
        const Colour &colour = colours[c];
        if (tid < colour.n_elements) read_row_of<SET>(colour.law, p.connectivity + colour.connectivity_first, tid, row);
    };
    if (n_colours > 0) read(0);
#pragma unroll 1
    for (u32 c = 0; c < n_colours; c++) {
        const Row now = row;
        if (c + 1 < n_colours) read(c + 1);
        const Colour &colour = colours[c];
        with_law<SET>(colour.law, [&](auto law) {
            add_forces<T, decltype(law)::value, ALIGNED, S>(p, colour, n_own, u_local, x_local, forces, now);
        });
        __syncthreads();
    }
    if (touching.in(number) && !p.force_out)
        touching.template move<S, COLOUR_THREADS>(p, block, number, k, forces);
    else if (block.special_first == NONE && !p.force_out)
        update_block<T, S, true>(p, block, k, u_local, forces);
    else
        update_special_block<T, S>(p, block, k, u_local, forces);
}
