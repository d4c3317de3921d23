// Instances of the kernels in solids.cuh, one for each precision and element type. `solid` handles blocks with several
// element types. `coupled` handles materials that couple shear and normal components. The last argument is the intended
// number of thread blocks per multiprocessor, which limits the registers of a thread.
//
// Arithmetic instructions (additions, products, fused) per element, in single precision:
//
//   ring of six tetrahedra 603   wedge 753   hexahedron 1274   reduced 547   parallelepiped 443

#include "solids.cuh"

#define SOLIDS(NAME, TYPE, SET, ALIGNED, BLOCKS)                                                                               \
    extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)                                                              \
        NAME(const __grid_constant__ Params<TYPE> p, u32 k) {                                                      \
        step_solids<TYPE, SET, ALIGNED>(p, k);                                                                         \
    }

#ifndef POGO_F64
SOLIDS(solids_f32_tetrahedra, float, TETRAHEDRON, true, 4)
SOLIDS(solids_f32_wedges, float, WEDGE, true, 4)
SOLIDS(solids_f32_full_wedges, float, FULL_WEDGE, true, 4)
SOLIDS(solids_f32_hexahedra, float, HEXAHEDRON, true, 4)
SOLIDS(solids_f32_reduced_hexahedra, float, REDUCED_HEXAHEDRON, true, 4)
SOLIDS(solids_f32_parallelepipeds, float, PARALLELEPIPED, true, 4)
SOLIDS(solids_f32_solid, float, SOLID_LAWS, true, 3)
SOLIDS(solids_f32_solid_coupled, float, SOLID_LAWS, false, 2)
#else
SOLIDS(solids_f64_tetrahedra, double, TETRAHEDRON, true, 2)
SOLIDS(solids_f64_wedges, double, WEDGE, true, 2)
SOLIDS(solids_f64_full_wedges, double, FULL_WEDGE, true, 2)
SOLIDS(solids_f64_hexahedra, double, HEXAHEDRON, true, 2)
SOLIDS(solids_f64_reduced_hexahedra, double, REDUCED_HEXAHEDRON, true, 2)
SOLIDS(solids_f64_parallelepipeds, double, PARALLELEPIPED, true, 2)
SOLIDS(solids_f64_solid, double, SOLID_LAWS, true, 2)
SOLIDS(solids_f64_solid_coupled, double, SOLID_LAWS, false, 2)
#endif
