// Instances of the kernels in viscous.cuh.

#include "viscous.cuh"

#define VISCOUS(NAME, ACT, TYPE)                                                                                               \
    extern "C" __global__ void __launch_bounds__(THREADS)                                                                      \
        NAME(const __grid_constant__ Params<TYPE> p, u32 k, const __grid_constant__ Viscous<TYPE> v) { ACT(p, v, k); }

VISCOUS(viscous_feel_f32, feel, float)
VISCOUS(viscous_feel_f64, feel, double)
VISCOUS(viscous_fluid_f32, (step_nodes<float, 1>), float)
VISCOUS(viscous_fluid_f64, (step_nodes<double, 1>), double)
VISCOUS(viscous_plane_f32, (step_nodes<float, 2>), float)
VISCOUS(viscous_plane_f64, (step_nodes<double, 2>), double)
VISCOUS(viscous_space_f32, (step_nodes<float, 3>), float)
VISCOUS(viscous_space_f64, (step_nodes<double, 3>), double)
VISCOUS(viscous_record_f32, record_memory, float)
VISCOUS(viscous_record_f64, record_memory, double)
VISCOUS(viscous_settle_f32, settle, float)
VISCOUS(viscous_settle_f64, settle, double)
VISCOUS(viscous_remember_f32, remember_all, float)
VISCOUS(viscous_remember_f64, remember_all, double)
