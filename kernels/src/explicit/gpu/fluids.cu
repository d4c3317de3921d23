// Instances of the kernels in solids.cuh and march.cuh for fluids, one for each precision and element type. Nodes of fluids
// alone have one unknown. `flows` handles blocks with several element types of fluids, `matter` solids and fluids together.

#include "march.cuh"
#include "touch.cuh"

#define FLOWS(NAME, TYPE, SET, BLOCKS)                                                                                  \
    extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) NAME(const __grid_constant__ Params<TYPE> p, u32 k) { \
        step_solids<TYPE, SET, true>(p, k);                                                                             \
    }

#define MATTER(NAME, TYPE, ALIGNED, BLOCKS)                                                                             \
    extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)                                                       \
        NAME(const __grid_constant__ Params<TYPE> p, u32 k, const __grid_constant__ Wet<TYPE> wet) {                    \
        step_solids<TYPE, SPACE_MATTER, ALIGNED>(p, k, Touching<TYPE>{wet});                                            \
    }

#define MARCH(NAME, TYPE, LAW, BLOCKS)                                                                                  \
    extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)                                                       \
        NAME(const __grid_constant__ Params<TYPE> p, u32 k, const __grid_constant__ Material<TYPE> material) {          \
        march<TYPE, LAW>(p, material);                                                                                  \
    }

#define ACT(NAME, TYPE)                                                                                                 \
    extern "C" __global__ void __launch_bounds__(THREADS)                                                               \
        NAME(const __grid_constant__ Params<TYPE> p, u32 k) { act<TYPE, 1>(p, k); }

#ifndef POGO_F64
FLOWS(solids_f32_acoustic_tetrahedra, float, ACOUSTIC_TETRAHEDRON, 6)
FLOWS(solids_f32_acoustic_wedges, float, ACOUSTIC_WEDGE, 6)
FLOWS(solids_f32_acoustic_hexahedra, float, ACOUSTIC_HEXAHEDRON, 5)
FLOWS(solids_f32_acoustic_reduced_hexahedra, float, ACOUSTIC_REDUCED_HEXAHEDRON, 6)
FLOWS(solids_f32_acoustic_parallelepipeds, float, ACOUSTIC_PARALLELEPIPED, 6)
FLOWS(solids_f32_flows, float, SPACE_FLOWS, 5)
MATTER(solids_f32_matter, float, true, 3)
MATTER(solids_f32_matter_coupled, float, false, 2)
ACT(act_f32_acoustic, float)
MARCH(march_f32_acoustic_tetrahedra, float, ACOUSTIC_TETRAHEDRON, 6)
MARCH(march_f32_acoustic_hexahedra, float, ACOUSTIC_HEXAHEDRON, 6)
MARCH(march_f32_acoustic_reduced_hexahedra, float, ACOUSTIC_REDUCED_HEXAHEDRON, 6)
MARCH(march_f32_acoustic_parallelepipeds, float, ACOUSTIC_PARALLELEPIPED, 6)
#else
FLOWS(solids_f64_acoustic_tetrahedra, double, ACOUSTIC_TETRAHEDRON, 4)
FLOWS(solids_f64_acoustic_wedges, double, ACOUSTIC_WEDGE, 4)
FLOWS(solids_f64_acoustic_hexahedra, double, ACOUSTIC_HEXAHEDRON, 3)
FLOWS(solids_f64_acoustic_reduced_hexahedra, double, ACOUSTIC_REDUCED_HEXAHEDRON, 4)
FLOWS(solids_f64_acoustic_parallelepipeds, double, ACOUSTIC_PARALLELEPIPED, 4)
FLOWS(solids_f64_flows, double, SPACE_FLOWS, 3)
MATTER(solids_f64_matter, double, true, 2)
MATTER(solids_f64_matter_coupled, double, false, 2)
ACT(act_f64_acoustic, double)
MARCH(march_f64_acoustic_tetrahedra, double, ACOUSTIC_TETRAHEDRON, 4)
MARCH(march_f64_acoustic_hexahedra, double, ACOUSTIC_HEXAHEDRON, 3)
MARCH(march_f64_acoustic_reduced_hexahedra, double, ACOUSTIC_REDUCED_HEXAHEDRON, 4)
MARCH(march_f64_acoustic_parallelepipeds, double, ACOUSTIC_PARALLELEPIPED, 4)
#endif
