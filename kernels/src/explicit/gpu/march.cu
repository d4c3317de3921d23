// Instances of the kernels in march.cuh, one for each precision and element type.

#include "march.cuh"

#define MARCH(NAME, TYPE, LAW, BLOCKS)                                                                                         \
    extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)                                                              \
        NAME(const __grid_constant__ Params<TYPE> p, u32 k, const __grid_constant__ Material<TYPE> material) {     \
        march<TYPE, LAW>(p, material);                                                                                 \
    }

#define ACT(NAME, TYPE)                                                                                                        \
    extern "C" __global__ void __launch_bounds__(THREADS)                                                                     \
        NAME(const __grid_constant__ Params<TYPE> p, u32 k) { act<TYPE>(p, k); }

#ifndef POGO_F64
ACT(act_f32, float)
MARCH(march_f32_tetrahedra, float, TETRAHEDRON, 4)
MARCH(march_f32_hexahedra, float, HEXAHEDRON, 4)
MARCH(march_f32_reduced_hexahedra, float, REDUCED_HEXAHEDRON, 4)
MARCH(march_f32_parallelepipeds, float, PARALLELEPIPED, 4)
#else
ACT(act_f64, double)
MARCH(march_f64_tetrahedra, double, TETRAHEDRON, 3)
MARCH(march_f64_hexahedra, double, HEXAHEDRON, 2)
MARCH(march_f64_reduced_hexahedra, double, REDUCED_HEXAHEDRON, 3)
MARCH(march_f64_parallelepipeds, double, PARALLELEPIPED, 2)
#endif
