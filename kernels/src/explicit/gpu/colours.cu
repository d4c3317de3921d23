// Instances of the kernels in colours.cuh, one for each precision and element type. `plane` handles blocks with several
// element types. `coupled` handles materials that couple shear and normal components. The last argument is the intended
// number of thread blocks per multiprocessor, which limits the registers of a thread.
//
// Arithmetic instructions (additions, products, fused) per element, in single precision:
//
//   triangle 41   quadrilateral 200   reduced 82

#include "colours.cuh"

#define COLOURS(NAME, TYPE, SET, ALIGNED, BLOCKS)                                                                        \
    extern "C" __global__ void __launch_bounds__(COLOUR_THREADS, BLOCKS)                                                \
        NAME(const __grid_constant__ Params<TYPE> p, u32 k) {                                               \
        step_colours<TYPE, SET, ALIGNED>(p, k);                                                                 \
    }

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
