// Projects a motion onto linear constraints, after a step that has moved the nodes without them:
//
//   u_{n+1} = u* − M⁻¹ Gᵀ λ,   (G M⁻¹ Gᵀ) λ = G u* − g
//
// Δu is projected in every step, u in some. Each kernel makes one product. The sum of a row is shared by lanes of a warp, in
// an order that does not change. See projection/mod.rs for the matrix, and for borders.

#pragma once
#include "constraints.cuh"
#include "step.cuh"

// The sum of a group of lanes, in its first one. All threads of a thread block take part.
template <u32 N> __device__ __forceinline__ double sum_of_lanes(double mine) {
    for (int offset = N / 2; offset > 0; offset /= 2) mine += __shfl_down_sync(0xffffffffu, mine, offset);
    return mine;
}

// What is projected of a degree of freedom.
template <typename T> __device__ __forceinline__ double free_value(const Params<T> &p, const Held &h, u32 k, u64 place) {
    const Touched &touched = h.touched[place];
    if (!h.fixes) return (double)p.du[1][touched.at];
    if (touched.signal != NONE) return touched.value * p.signals[(u64)(k + 1) * p.n_signals + touched.signal];
    return (double)p.u[1][touched.at];
}

// right = G u* − g.
template <typename T> __device__ __forceinline__ void rows(const Params<T> &p, const Held &h, u32 k) {
    const u32 i = (blockIdx.x * THREADS + threadIdx.x) / FEW_LANES, lane = threadIdx.x % FEW_LANES;
    double sum = 0;
    if (i < h.n_unknowns) {
        const Unknown &unknown = h.unknowns[i];
        for (u32 at = unknown.first_term + lane; at < unknown.end_of_terms; at += FEW_LANES)
            sum += h.terms[at].coefficient * free_value(p, h, k, h.terms[at].at);
        for (u32 at = unknown.first_moving + lane; at < unknown.end_of_moving; at += FEW_LANES) {
            const double *now = p.signals + (u64)k * p.n_signals + h.moving[at].signal;
            sum += h.moving[at].value * (h.fixes ? now[p.n_signals] : now[p.n_signals] - now[0]);
        }
    }
    sum = sum_of_lanes<FEW_LANES>(sum);
    if (i < h.n_unknowns && lane == 0) h.right[i] = sum;
}

// found = F⁻¹ right, set by set.
template <typename T> __device__ __forceinline__ void sets(const Params<T> &, const Held &h, u32) {
    const u32 i = (blockIdx.x * THREADS + threadIdx.x) / LANES, lane = threadIdx.x % LANES;
    double sum = 0;
    if (i < h.n_unknowns) {
        const Unknown &unknown = h.unknowns[i];
        const double *row = h.inverse + unknown.matrix, *right = h.right + unknown.begin;
        for (u32 at = lane; at < unknown.n; at += LANES) sum += row[at] * right[at];
    }
    sum = sum_of_lanes<LANES>(sum);
    if (i < h.n_unknowns && lane == 0) h.found[i] = sum;
}

// Right-hand sides of the borders, a thread block each.
template <typename T> __device__ __forceinline__ void borders(const Params<T> &, const Held &h, u32) {
    __shared__ double sums[THREADS / LANES];
    const Bordered &border = h.bordered[blockIdx.x];
    double sum = 0;
    for (u32 at = threadIdx.x; at < border.n_inner; at += THREADS)
        sum += h.responses[border.response + at] * h.right[h.inner[border.first_inner + at].unknown];
    sum = sum_of_lanes<LANES>(sum);
    if (threadIdx.x % LANES == 0) sums[threadIdx.x / LANES] = sum;
    __syncthreads();
    if (threadIdx.x > 0) return;
    double all = border.row == NONE ? 0 : h.right[border.row];
    for (u32 warp = 0; warp < THREADS / LANES; warp++) all -= sums[warp];
    h.border_right[blockIdx.x] = all;
}

// Unknowns of the borders.
template <typename T> __device__ __forceinline__ void border_unknowns(const Params<T> &, const Held &h, u32) {
    const u32 i = (blockIdx.x * THREADS + threadIdx.x) / LANES, lane = threadIdx.x % LANES;
    double sum = 0;
    if (i < h.n_bordered) {
        const Bordered &border = h.bordered[i];
        for (u32 at = lane; at < border.n; at += LANES)
            sum += h.border_inverse[border.inverse + at] * h.border_right[border.begin + at];
    }
    sum = sum_of_lanes<LANES>(sum);
    if (i < h.n_bordered && lane == 0) h.border_found[i] = sum;
}

// What borders do to the others, and the rows among them.
template <typename T> __device__ __forceinline__ void inner(const Params<T> &, const Held &h, u32) {
    const u32 i = blockIdx.x * THREADS + threadIdx.x;
    if (i < h.n_bordered && h.bordered[i].row != NONE) h.found[h.bordered[i].row] = h.border_found[i];
    if (i >= h.n_inner) return;
    const Inner &own = h.inner[i];
    double sum = 0;
    for (u32 at = 0; at < own.n; at++)
        sum += h.responses[own.response + (u64)at * own.n_inner] * h.border_found[own.begin + at];
    h.found[own.unknown] -= sum;
}

// Corrects what the step has counted and recorded of a degree of freedom whose Δu was `free` and is `after`.
template <typename T>
__device__ __forceinline__ void account(const Params<T> &p, u32 k, const Touched &touched, double pull, double free, double after,
                                        Energies &energies) {
    const double rate = p.per_time_increment * p.per_time_increment;
    const double old = (double)p.du[0][touched.at];
    if (touched.inverse_mass > 0) {
        const double sum = old + after, without = old + free;
        energies.work -= 0.5 * rate * pull * sum;
        energies.damped += touched.dissipation * (sum * sum - without * without);
    }
    const int row = p.record[*p.row + k];
    for (u32 s = p.special_first[touched.special]; s < p.special_first[touched.special + 1]; s++) {
        const Special &special = p.specials[s];
        double *out = p.recording + ((u64)(row < 0 ? 0 : row) * p.n_monitors + special.column) * 3;
        if (special.kind == FORCE) {
            // The step has counted the motion without constraints.
            const double force = special.value * p.signals[(u64)k * p.n_signals + special.signal];
            energies.work += 0.5 * force * (after - free);
        } else if (row >= 0 && special.kind == PULL) {
            out[0] = -rate * pull;
            out[1] = 0;
            out[2] = 0;
        } else if (row >= 0) {
            out[2] = after;
        }
    }
}

// Moves a degree of freedom by a correction; Δu_{n+1} before and after it.
struct Change {
    double free, after;
};
template <typename T> __device__ __forceinline__ Change move_by(const Params<T> &p, const Touched &touched, double correction) {
    Change change = {(double)p.du[1][touched.at], 0};
    change.after = change.free;
    if (touched.inverse_mass > 0) {
        const T next = (T)(change.free + correction);
        change.after = (double)next;
        p.du[1][touched.at] = next;
        p.u[1][touched.at] = (T)((double)p.u[1][touched.at] + correction);
    }
    return change;
}

// The same for u alone.
template <typename T> __device__ __forceinline__ void fix_by(const Params<T> &p, const Touched &touched, double correction) {
    if (correction != 0) p.u[1][touched.at] = (T)((double)p.u[1][touched.at] + correction);
}

// Moves all components of a node with a dashpot, which couples them in M, and corrects what the dashpot takes.
template <typename T>
__device__ __noinline__ void move_coupled(const Params<T> &p, const Held &h, u32 k, const Touched *touched, const double *pulls,
                                          Energies &energies) {
    const Coupled &node = h.coupled[touched->coupled];
    double old[3], free[3], after[3];
    for (u32 c = 0; c < h.components; c++) {
        double correction = 0;
        for (u32 i = 0; i < h.components; i++) correction -= node.inverse[3 * c + i] * pulls[i];
        if (h.fixes) {
            fix_by(p, touched[c], correction);
            continue;
        }
        const Change change = move_by(p, touched[c], correction);
        account(p, k, touched[c], pulls[c], change.free, change.after, energies);
        old[c] = (double)p.du[0][touched[c].at];
        free[c] = change.free;
        after[c] = change.after;
    }
    if (h.fixes) return;
    for (u32 c = 0; c < h.components; c++) {
        // G v of the velocity between two increments.
        double without = 0, with = 0;
        for (u32 i = 0; i < h.components; i++) {
            without += node.matrix[3 * c + i] * (old[i] + free[i]);
            with += node.matrix[3 * c + i] * (old[i] + after[i]);
        }
        const double half = 0.5 * p.per_time_increment;
        const double more = 0.5 * half * (with * (old[c] + after[c]) - without * (old[c] + free[c]));
        energies.damped += more;
        // A support bears what the dashpot puts on it.
        if (touched[c].inverse_mass == 0) energies.work += more;
    }
}

// Moves degrees of freedom by −M⁻¹ Gᵀ λ, a group of lanes each. The first one of a node with a dashpot moves all of it.
template <typename T> __device__ __forceinline__ void moves(const Params<T> &p, const Held &h, u32 k) {
    const u32 i = (blockIdx.x * THREADS + threadIdx.x) / FEW_LANES, lane = threadIdx.x % FEW_LANES;
    Energies energies;
    const bool is_there = i < h.n_touched, is_coupled = is_there && h.coupled && h.touched[i].coupled != NONE;
    const bool leads = is_there && !(is_coupled && h.touched[i].component > 0);
    double pulls[3] = {};
    for (u32 c = 0; c < (h.coupled ? h.components : 1); c++) {
        double pull = 0;
        if (leads && (c == 0 || is_coupled)) {
            const Touched &touched = h.touched[i + c];
            for (u32 at = touched.first_term + lane; at < touched.end_of_terms; at += FEW_LANES)
                pull += h.pulls[at].coefficient * h.found[h.pulls[at].at];
        }
        pulls[c] = sum_of_lanes<FEW_LANES>(pull);
    }
    if (leads && lane == 0) {
        const Touched &touched = h.touched[i];
        const double correction = -touched.inverse_mass * pulls[0];
        if (is_coupled) {
            move_coupled(p, h, k, &touched, pulls, energies);
        } else if (h.fixes) {
            fix_by(p, touched, correction);
        } else {
            const Change change = move_by(p, touched, correction);
            account(p, k, touched, pulls[0], change.free, change.after, energies);
        }
    }
    if (!h.fixes) add_energies<THREADS>(p.energies, h.energy + blockIdx.x, energies);
}
