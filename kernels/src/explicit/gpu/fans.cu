// Instances of the kernels in fans.cuh, one for each number of steps. The file is compiled once for each precision and
// `Law`.

#include "fans.cuh"
#include "precision.cuh"

#define NAME_(LAW, PRECISION, STEPS) fans_##LAW##_##PRECISION##_##STEPS
#define NAME(LAW, PRECISION, STEPS) NAME_(LAW, PRECISION, STEPS)

#define FANS(STEPS)                                                                                                      \
    extern "C" __global__ void __launch_bounds__(Fans<Real>::THREADS, Fans<Real>::RESIDENT)                              \
        NAME(POGO_LAW, PRECISION, STEPS)(const __grid_constant__ Params<Real> p, u32 k) {                                \
        step_fans<Real, STEPS, Law::POGO_LAW>(p, k);                                                                     \
    }

FANS(1)
FANS(2)
