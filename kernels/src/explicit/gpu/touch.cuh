// Where fluids and solids touch. In a step the pressure of the fluid acts on the solid first, p = −Δq_n/Δt. When the nodes
// of the solid have moved by Δu_{n+1}, the fluid lets A · Δu_{n+1}/Δt flow out, and then its nodes are updated. Both nodes of
// a pair are own nodes of the same block, so nothing passes between blocks.

#pragma once
#include "wet.cuh"
#include "step.cuh"

// Updates the own nodes of a block in which fluids and solids touch, one thread per node, and clears the forces. Not
// inlined, so that other blocks do not pay for its registers.
template <int S, u32 THREADS, typename T>
__device__ __noinline__ void move_touching_nodes(const Params<T> &p, const Wet<T> &wet, const Block &block, u32 number, u32 k,
                                                 T *forces) {
    const u32 row = *p.row + k, first = wet.first[number], last = wet.first[number + 1];
    const u64 start = (u64)S * block.node_first;
    const T *u_in = p.u[0] + start, *du_in = p.du[0] + start;
    T *u_out = p.u[1] + start, *du_out = p.du[1] + start;
    Energies energies;
    auto move_node = [&](u32 i) {
        Motion<T, S> motion;
#pragma unroll
        for (int c = 0; c < S; c++) {
            motion.f[c] = forces[S * i + c];
            motion.u[c] = u_in[S * i + c];
            motion.du[c] = du_in[S * i + c];
        }
        const u64 node = (u64)block.node_first + i;
        const Moved<T, S> next = update_node<T, S, false>(p, block, i, node, k, row, motion, energies);
#pragma unroll
        for (int c = 0; c < S; c++) {
            u_out[S * i + c] = next.u[c];
            du_out[S * i + c] = next.du[c];
        }
    };
#pragma unroll 1
    for (u32 q = first + threadIdx.x; q < last; q += THREADS) {
        const WetPair<T> &pair = wet.pairs[q];
        const T dq = du_in[S * pair.fluid];
#pragma unroll
        for (int c = 0; c < S; c++) forces[S * pair.solid + c] += pair.area[c] * dq;
    }
    __syncthreads();
#pragma unroll 1
    for (u32 i = threadIdx.x; i < block.n_own; i += THREADS)
        if (!wet.later[block.node_first + i]) move_node(i);
    __syncthreads();
#pragma unroll 1
    for (u32 q = first + threadIdx.x; q < last; q += THREADS) {
        const WetPair<T> &pair = wet.pairs[q];
        T flow = 0;
#pragma unroll
        for (int c = 0; c < S; c++) flow += pair.area[c] * du_out[S * pair.solid + c];
        forces[S * pair.fluid] -= flow;
        move_node(pair.fluid);
    }
    if (block.energy_row != NONE) add_energies<THREADS>(p.energies, block.energy_row, energies);
    __syncthreads();
    for (u32 i = threadIdx.x; i < S * block.n_own; i += THREADS) forces[i] = 0;
    __syncthreads();
}

template <typename T> struct Touching {
    const Wet<T> &wet;

    __device__ __forceinline__ bool in(u32 number) const { return wet.first[number] < wet.first[number + 1]; }
    template <int S, u32 THREADS>
    __device__ __forceinline__ void move(const Params<T> &p, const Block &block, u32 number, u32 k, T *forces) const {
        move_touching_nodes<S, THREADS>(p, wet, block, number, k, forces);
    }
};
