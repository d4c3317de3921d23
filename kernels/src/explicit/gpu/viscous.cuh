// A step of elements that feel more than the displacement: with damping in proportion to the stiffness and with relaxation
// mechanisms the internal force is
//
//   f_int = Σ_g K_g (u_n + β_g/Δt Δu_n − Σ_l Y_gl z_l^n)
//
// over the groups g of materials with the same β and Y. The kernels of elements compute K_g times a displacement, group by
// group. `feel` makes that displacement before them. `step_nodes` moves all nodes when all forces are there. At the end of a step
// each memory variable follows the displacement, which is linear in a step:
//
//   z^{n+1} = z^n + (1 − a) (u_{n+1} − z^n) − b Δu_{n+1}

#pragma once
#include "viscosity.cuh"
#include "step.cuh"

// The unknown of a thread, of those that elements read here. From `n_unknowns` on there is none.
template <typename T> __device__ __forceinline__ u64 unknown_of_thread(const Viscous<T> &v) {
    const u64 i = (u64)blockIdx.x * THREADS + threadIdx.x;
    if (!v.read) return i;
    const u64 row = i / v.dimension;
    return row < v.n_read ? (u64)v.read[row] * v.dimension + i % v.dimension : v.n_unknowns;
}

// Displacement that a group feels, one unknown a thread. Before it the force of the last group is added to the sum.
template <typename T> __device__ __forceinline__ void feel(const Params<T> &p, const Viscous<T> &v, u32) {
    const u64 i = unknown_of_thread(v);
    if (i >= v.n_unknowns) return;
    if (v.n_before > 0) v.total[i] = v.n_before > 1 ? v.total[i] + v.part[i] : v.part[i];
    if (v.n_groups > 1) v.part[i] = 0;
    T felt = v.of_increment * p.du[0][i] + p.u[0][i];
#pragma unroll 1
    for (u32 l = 0; l < v.n_mechanisms; l++) felt -= v.of_memory[l] * v.memory[l * v.n_unknowns + i];
    v.felt[i] = felt;
}

// f_int of an unknown, N.
template <typename T> __device__ __forceinline__ double force_of(const Viscous<T> &v, u64 i) {
    return v.n_groups > 1 ? v.total[i] + v.part[i] : v.part[i];
}

// z_l of an unknown at the next step.
template <typename T> __device__ __forceinline__ void remember(const Viscous<T> &v, u64 i, T u, T du) {
#pragma unroll 1
    for (u32 l = 0; l < v.n_mechanisms; l++) {
        T &z = v.memory[l * v.n_unknowns + i];
        z = z + (v.factors[l][0] * (u - z) - v.factors[l][1] * du);
    }
}

// What ends a step for an unknown: the work of its internal force, which is in the damped energy whole, and its memory. One of
// several devices brings its memory variables to the next step when it has the displacements of the others.
template <typename T>
__device__ __forceinline__ void end_step(const Viscous<T> &v, u64 i, double force, T u, T du_before, T du, Energies &energies) {
    energies.damped += 0.5 * force * ((double)du_before + (double)du);
    if (!v.read) remember(v, i, u, du);
}

// Moves nodes, one a thread, with what acts on them.
template <typename T, int D> __device__ __forceinline__ void step_nodes(const Params<T> &p, const Viscous<T> &v, u32 k) {
    const NodeRange range = v.ranges[blockIdx.x];
    Energies energies;
    if (threadIdx.x < range.n) {
        const u64 node = range.first + threadIdx.x;
        double force[D];
        Motion<T, D> motion;
#pragma unroll
        for (int c = 0; c < D; c++) {
            const u64 i = D * node + c;
            force[c] = force_of(v, i);
            motion.f[c] = (T)(force[c] * p.per_force_unit);
            motion.u[c] = p.u[0][i];
            motion.du[c] = p.du[0][i];
        }
        Block block = {};
        block.special_first = range.special;
        block.damped = p.damped;
        const Moved<T, D> next = update_node<T, D, false>(p, block, threadIdx.x, node, k, *p.row + k, motion, energies);
#pragma unroll
        for (int c = 0; c < D; c++) {
            const u64 i = D * node + c;
            p.u[1][i] = next.u[c];
            p.du[1][i] = next.du[c];
            if (v.ends) end_step(v, i, force[c], next.u[c], motion.du[c], next.du[c], energies);
        }
    }
    add_energies<THREADS>(p.energies, range.energy, energies);
}

// Records memory variables at step n, one a thread.
template <typename T> __device__ __forceinline__ void record_memory(const Params<T> &p, const Viscous<T> &v, u32 k) {
    const u32 i = blockIdx.x * THREADS + threadIdx.x;
    const int row = p.record[*p.row + k];
    if (i >= v.n_records || row < 0) return;
    const MemoryRecord &record = v.records[i];
    double *out = p.recording + ((u64)row * p.n_monitors + record.column) * 3;
    out[0] = (double)v.memory[record.mechanism * v.n_unknowns + record.unknown];
    out[1] = (double)p.du[0][record.unknown];
    out[2] = (double)p.du[1][record.unknown];
}

// Ends a step that has been corrected, or whose memory was recorded, one node a thread.
template <typename T> __device__ __forceinline__ void settle(const Params<T> &p, const Viscous<T> &v, u32) {
    const NodeRange range = v.ranges[blockIdx.x];
    Energies energies;
    if (threadIdx.x < range.n) {
        const u64 first = (u64)(range.first + threadIdx.x) * v.dimension;
#pragma unroll 1
        for (u64 i = first; i < first + v.dimension; i++)
            end_step(v, i, force_of(v, i), p.u[1][i], p.du[0][i], p.du[1][i], energies);
    }
    add_energies<THREADS>(p.energies, range.energy, energies);
}

// Brings the memory variables of one of several devices to the next step, one unknown a thread.
template <typename T> __device__ __forceinline__ void remember_all(const Params<T> &p, const Viscous<T> &v, u32) {
    const u64 i = unknown_of_thread(v);
    if (i < v.n_unknowns) remember(v, i, p.u[1][i], p.du[1][i]);
}
