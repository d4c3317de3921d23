// What the kernels that correct a step have in common.

#pragma once
#include "step.cuh"

// Adds the work of forces on what a correction has added to Δu_{n+1} of a node, and records what that is now. `entry` is the node's
// in `special_first`.
template <typename T>
__device__ __forceinline__ void account_actions(const Params<T> &p, u32 k, u32 entry, const double (&after)[3],
                                                const double (&change)[3], Energies &energies) {
    const int row = p.record[*p.row + k];
    for (u32 s = p.special_first[entry]; s < p.special_first[entry + 1]; s++) {
        const Special &special = p.specials[s];
        double now = 0, changed = 0;
#pragma unroll
        for (u32 c = 0; c < 3; c++) {
            if (special.component != c) continue;
            now = after[c];
            changed = change[c];
        }
        const u32 kind = special.kind & KIND;
        if (kind == FORCE)
            energies.work += 0.5 * changed * action_of(special, p.signals + (u64)k * p.n_signals, p.n_signals).value;
        else if (kind == MONITOR && row >= 0)
            p.recording[((u64)row * p.n_monitors + special.column) * 3 + 2] = now;
    }
}
