// The kernels of fans.cuh, one a precision, number of steps and kind of material.

#include "fans.cuh"

#define FANS(NAME, TYPE, STEPS, ALIGNED, BLOCKS)                                                                         \
    extern "C" __global__ void __launch_bounds__(FAN_THREADS, BLOCKS)                                                    \
        NAME(const __grid_constant__ Params<TYPE> p, u32 k, u32 parity) {                                               \
        step_fans<TYPE, STEPS, ALIGNED>(p, k, parity);                                                                  \
    }

FANS(fans_f32_1, float, 1, true, 5)
FANS(fans_f32_2, float, 2, true, 5)
FANS(fans_f32_1_coupled, float, 1, false, 5)
FANS(fans_f32_2_coupled, float, 2, false, 5)
FANS(fans_f64_1, double, 1, true, 3)
FANS(fans_f64_2, double, 2, true, 3)
FANS(fans_f64_1_coupled, double, 1, false, 3)
FANS(fans_f64_2_coupled, double, 2, false, 3)
