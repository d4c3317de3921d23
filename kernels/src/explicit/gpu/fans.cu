// The kernels of fans.cuh, one a number of steps and kind of material. Compiled once for each precision.

#include "fans.cuh"

#ifdef POGO_F64
typedef double Real;
#define KERNEL(STEPS, SUFFIX) fans_f64_##STEPS##SUFFIX
#else
typedef float Real;
#define KERNEL(STEPS, SUFFIX) fans_f32_##STEPS##SUFFIX
#endif

#define FANS(STEPS, SUFFIX, ALIGNED)                                                                                     \
    extern "C" __global__ void __launch_bounds__(Fans<Real, STEPS>::THREADS, Fans<Real, STEPS>::RESIDENT)                \
        KERNEL(STEPS, SUFFIX)(const __grid_constant__ Params<Real> p, u32 k) {                              \
        step_fans<Real, STEPS, ALIGNED>(p, k);                                                                  \
    }

FANS(1, , true)
FANS(2, , true)
FANS(1, _coupled, false)
FANS(2, _coupled, false)
