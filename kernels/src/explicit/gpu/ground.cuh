// Corrects the motion of the nodes that have a dashpot to the ground, after a step that has moved them without it:
//
//   [(1 + q) I + Ĝ] Δu_{n+1} = (1 + q) Δu* − Ĝ Δu_n,   Ĝ = Δt/2m G
//
// The step has also counted the energies of Δu*, and has recorded it. Both are corrected.

#pragma once
#include "grounded.cuh"
#include "corrected.cuh"

// Corrects a node, and the node of a fluid that touches it.
template <typename T>
__device__ __forceinline__ void correct(const Params<T> &p, const Ground &g, u32 k, u32 first, Energies &energies) {
    const double per_dt = p.per_time_increment;
    double change[3] = {};
    for (u32 at = first; at != NONE;) {
        const Grounded &e = g.entries[at];
        const u64 start = g.n_numbers * e.node;
        double old[3] = {}, free[3] = {}, next[3], taken[3], right[3];
#pragma unroll
        for (u32 c = 0; c < 3; c++) {
            if (c >= g.n_numbers) continue;
            old[c] = (double)p.du[0][start + c];
            free[c] = (double)p.du[1][start + c];
        }
        const double flow = e.flow[0] * change[0] + e.flow[1] * change[1] + e.flow[2] * change[2];
#pragma unroll
        for (u32 i = 0; i < 3; i++) {
            double sum = 0;
#pragma unroll
            for (u32 c = 0; c < 3; c++) sum += e.matrix[3 * i + c] * (old[c] + (e.held >> c & 1 ? free[c] : 0));
            right[i] = e.system * free[i] - e.half * sum + (i == 0 ? flow : 0);
        }
#pragma unroll
        for (u32 i = 0; i < 3; i++) {
            double sum = 0;
#pragma unroll
            for (u32 c = 0; c < 3; c++) sum += e.solve[3 * i + c] * right[c];
            next[i] = e.held >> i & 1 ? free[i] : (double)(T)sum;
            change[i] = next[i] - free[i];
            if (i >= g.n_numbers || e.held >> i & 1) continue;
            p.du[1][start + i] = (T)next[i];
            p.u[1][start + i] = p.u[0][start + i] + (T)next[i];
            const double before = old[i] + free[i], after = old[i] + next[i];
            energies.damped += e.dissipation * (after * after - before * before);
        }
#pragma unroll
        for (u32 i = 0; i < 3; i++) {
            double sum = 0;
#pragma unroll
            for (u32 c = 0; c < 3; c++) sum += e.matrix[3 * i + c] * (old[c] + next[c]);
            taken[i] = 0.25 * per_dt * sum * (old[i] + next[i]);
            energies.damped += taken[i];
            // A support bears what the dashpot puts on it.
            if (e.held >> i & 1) energies.work += taken[i];
        }
        account_actions(p, k, e.special, next, change, energies);
        at = e.next;
    }
}

template <typename T> __device__ __forceinline__ void ground(const Params<T> &p, const Ground &g, u32 k) {
    Energies energies;
    const GroundedBlock &block = g.blocks[blockIdx.x];
    for (u32 first = block.first + threadIdx.x; first < block.end; first += THREADS) correct(p, g, k, first, energies);
    add_energies<THREADS>(p.energies, block.energy, energies);
}
