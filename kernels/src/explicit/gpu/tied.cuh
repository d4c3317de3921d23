// What passes between fluids and solids outside the blocks, after a step that has left it out, a node a thread:
//
//   Δu_s ← Δu_s + Δt²/M (Σ_f A_fs p_f),          p_f = −Δq_f/Δt before the step
//   Δq_f ← Δq_f + Δt²/m (Σ_s A_fs · Δu_s)/Δt,    Δu_s after the first line
//
// `press` is the first line, `follow` the second one. Linear constraints may move the solids between them. Of some nodes blocks
// have taken both lines: their fluid follows what constraints have added to Δu_s.

#pragma once
#include "ties.cuh"
#include "corrected.cuh"

// Moves a node by what a force does to it in this step, and corrects what the step has counted and recorded of it.
template <typename T>
__device__ __forceinline__ void push(const Params<T> &p, u32 k, const Tied &node, const double *force, Energies &energies) {
    double old[3] = {}, free[3] = {}, after[3] = {}, change[3] = {};
#pragma unroll
    for (u32 c = 0; c < 3; c++) {
        if (c >= node.n) continue;
        old[c] = (double)p.du[0][node.at + c];
        free[c] = (double)p.du[1][node.at + c];
        after[c] = free[c];
        if (node.held >> c & 1) continue;
        double response = 0;
#pragma unroll
        for (u32 i = 0; i < 3; i++) response += node.response[3 * c + i] * force[i];
        const T next = (T)(free[c] + response);
        after[c] = (double)next;
        change[c] = after[c] - free[c];
        p.du[1][node.at + c] = next;
        p.u[1][node.at + c] = (T)((double)p.u[1][node.at + c] + response);
    }
#pragma unroll
    for (u32 c = 0; c < 3; c++) {
        if (c >= node.n) continue;
        // G v of the velocity between two increments.
        double without = 0, with = 0;
#pragma unroll
        for (u32 i = 0; i < 3; i++) {
            without += node.matrix[3 * c + i] * (old[i] + free[i]);
            with += node.matrix[3 * c + i] * (old[i] + after[i]);
        }
        without *= 0.5 * p.per_time_increment;
        with *= 0.5 * p.per_time_increment;
        const double before = old[c] + free[c], sum = old[c] + after[c];
        energies.damped += 0.5 * (with * sum - without * before);
        // The force is part of F in the reaction R = m a + c v + G v + f_int − F.
        if (node.held >> c & 1) energies.work += 0.5 * (with - without - force[c]) * sum;
        else energies.damped += node.dissipation * (sum * sum - before * before);
    }
    account_actions(p, k, node.special, after, change, energies);
}

template <typename T> __device__ __forceinline__ void press(const Params<T> &p, const Ties &t, u32 k) {
    const u32 i = blockIdx.x * THREADS + threadIdx.x;
    Energies energies;
    if (i < t.n_solids) {
        const Tied &node = t.nodes[i];
        for (u32 c = 0; c < node.n; c++) t.free[3 * (u64)i + c] = (double)p.du[1][node.at + c];
        double force[3] = {};
        for (u32 at = node.first_area; at < node.end_of_areas; at++) {
            const TieArea &area = t.areas[at];
            const double dq = (double)p.du[0][area.at];
            for (u32 c = 0; c < 3; c++) force[c] -= area.area[c] * dq;
        }
        if (node.first_area < node.end_of_areas) push(p, k, node, force, energies);
    }
    add_energies<THREADS>(p.energies, t.energy_of_solids + blockIdx.x, energies);
}

template <typename T> __device__ __forceinline__ void follow(const Params<T> &p, const Ties &t, u32 k) {
    const u32 i = t.n_solids + blockIdx.x * THREADS + threadIdx.x;
    Energies energies;
    if (i < t.n_nodes) {
        const Tied &node = t.nodes[i];
        double flow[3] = {};
        for (u32 at = node.first_area; at < node.end_of_areas; at++) {
            const TieArea &area = t.areas[at];
            for (u32 c = 0; c < t.nodes[area.node].n; c++) {
                const double known = area.is_stepped ? t.free[3 * (u64)area.node + c] : 0;
                flow[0] += area.area[c] * ((double)p.du[1][area.at + c] - known);
            }
        }
        push(p, k, node, flow, energies);
    }
    add_energies<THREADS>(p.energies, t.energy_of_fluids + blockIdx.x, energies);
}
