// The kernels of colours.cuh, one a precision and kind of element; `plane` and `solid` are for blocks of several kinds
// and, coupled, for materials in which shear and normal components meet. The last number is how many thread blocks a
// multiprocessor should hold: it sets how many registers there are.
//
// Arithmetic instructions (additions, products, fused) an element, in single precision:
//
//   triangle 41   quadrilateral 200   reduced 82
//   tetrahedron 118   wedge 753   hexahedron 1310   reduced 583   parallelepiped 461

#include "colours.cuh"

#define COLOURS(NAME, TYPE, SET, ALIGNED, BLOCKS)                                                                        \
    extern "C" __global__ void __launch_bounds__(COLOUR_THREADS, (BLOCKS * 128 + COLOUR_THREADS - 1) / COLOUR_THREADS)                                                \
        NAME(const __grid_constant__ Params<TYPE> p, u32 k, u32 parity) {                                               \
        step_colours<TYPE, SET, ALIGNED>(p, k, parity);                                                                 \
    }

#ifndef POGO_SOLID
COLOURS(colours_f32_triangles, float, TRIANGLE, true, 7)
COLOURS(colours_f32_quads, float, QUADRILATERAL, true, 7)
COLOURS(colours_f32_reduced_quads, float, REDUCED_QUADRILATERAL, true, 7)
COLOURS(colours_f32_plane, float, PLANE_LAWS, true, 7)
COLOURS(colours_f32_plane_coupled, float, PLANE_LAWS, false, 7)
COLOURS(colours_f64_triangles, double, TRIANGLE, true, 7)
COLOURS(colours_f64_quads, double, QUADRILATERAL, true, 4)
COLOURS(colours_f64_reduced_quads, double, REDUCED_QUADRILATERAL, true, 5)
COLOURS(colours_f64_plane, double, PLANE_LAWS, true, 4)
COLOURS(colours_f64_plane_coupled, double, PLANE_LAWS, false, 4)
#endif

#ifndef POGO_PLANE
COLOURS(colours_f32_tetrahedra, float, TETRAHEDRON, true, 7)
COLOURS(colours_f32_wedges, float, WEDGE, true, 3)
COLOURS(colours_f32_hexahedra, float, HEXAHEDRON, true, 3)
COLOURS(colours_f32_reduced_hexahedra, float, REDUCED_HEXAHEDRON, true, 4)
COLOURS(colours_f32_parallelepipeds, float, PARALLELEPIPED, true, 5)
COLOURS(colours_f32_solid, float, SOLID_LAWS, true, 3)
COLOURS(colours_f32_solid_coupled, float, SOLID_LAWS, false, 2)
COLOURS(colours_f64_tetrahedra, double, TETRAHEDRON, true, 4)
COLOURS(colours_f64_wedges, double, WEDGE, true, 2)
COLOURS(colours_f64_hexahedra, double, HEXAHEDRON, true, 2)
COLOURS(colours_f64_reduced_hexahedra, double, REDUCED_HEXAHEDRON, true, 2)
COLOURS(colours_f64_parallelepipeds, double, PARALLELEPIPED, true, 3)
COLOURS(colours_f64_solid, double, SOLID_LAWS, true, 2)
COLOURS(colours_f64_solid_coupled, double, SOLID_LAWS, false, 2)
#endif
