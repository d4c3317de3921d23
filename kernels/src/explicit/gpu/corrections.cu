// Instances of the kernels that correct a step when all nodes have moved.

#include "ground.cuh"
#include "held.cuh"
#include "tied.cuh"

#define CORRECTION(NAME, ACT, WHAT)                                                                                            \
    extern "C" __global__ void __launch_bounds__(THREADS)                                                                      \
        NAME##_f32(const __grid_constant__ Params<float> p, u32 k, const __grid_constant__ WHAT what) { ACT(p, what, k); }     \
    extern "C" __global__ void __launch_bounds__(THREADS)                                                                      \
        NAME##_f64(const __grid_constant__ Params<double> p, u32 k, const __grid_constant__ WHAT what) { ACT(p, what, k); }

CORRECTION(ground, ground, Ground)
CORRECTION(ties_press, press, Ties)
CORRECTION(ties_follow, follow, Ties)
CORRECTION(held_rows, rows, Held)
CORRECTION(held_sets, sets, Held)
CORRECTION(held_borders, borders, Held)
CORRECTION(held_border_unknowns, border_unknowns, Held)
CORRECTION(held_inner, inner, Held)
CORRECTION(held_moves, moves, Held)
