// The kernels of fans.cuh, one a number of steps and kind of material. Compiled once for each precision.


#include "fans.cuh"

#ifdef POGO_F64
typedef double Real;
#define KERNEL(STEPS, SUFFIX) fans_f64_##STEPS##SUFFIX
constexpr int RESIDENT = 3; // thread blocks a multiprocessor: bounds the registers
#else
typedef float Real;
#define KERNEL(STEPS, SUFFIX) fans_f32_##STEPS##SUFFIX
constexpr int RESIDENT = 5;
#endif

#define FANS(STEPS, SUFFIX, ALIGNED)                                                                                     \
    extern "C" __global__ void __launch_bounds__(FAN_THREADS, RESIDENT)                                                  \
        KERNEL(STEPS, SUFFIX)(const __grid_constant__ Params<Real> p, u32 k, u32 parity) {                              \
        step_fans<Real, STEPS, ALIGNED>(p, k, parity);                                                                  \
    }

FANS(1, , true)
FANS(2, , true)
FANS(1, _coupled, false)
FANS(2, _coupled, false)
