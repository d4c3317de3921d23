// Instances of the kernels in colours.cuh for fluids, one for each precision and element type. Nodes of fluids alone have
// one unknown. `flows` handles blocks with several element types of fluids, `matter` solids and fluids together.

#include "colours.cuh"
#include "touch.cuh"

#define FLOWS(NAME, TYPE, SET, BLOCKS)                                                                                  \
    extern "C" __global__ void __launch_bounds__(COLOUR_THREADS, BLOCKS) NAME(const __grid_constant__ Params<TYPE> p, u32 k) { \
        step_colours<TYPE, SET, true>(p, k);                                                                            \
    }

#define MATTER(NAME, TYPE, ALIGNED, BLOCKS)                                                                             \
    extern "C" __global__ void __launch_bounds__(COLOUR_THREADS, BLOCKS)                                                \
        NAME(const __grid_constant__ Params<TYPE> p, u32 k, const __grid_constant__ Wet<TYPE> wet) {                    \
        step_colours<TYPE, PLANE_MATTER, ALIGNED>(p, k, Touching<TYPE>{wet});                                           \
    }

FLOWS(colours_f32_acoustic_triangles, float, ACOUSTIC_TRIANGLE, 8)
FLOWS(colours_f32_acoustic_quads, float, ACOUSTIC_QUADRILATERAL, 8)
FLOWS(colours_f32_acoustic_reduced_quads, float, ACOUSTIC_REDUCED_QUADRILATERAL, 8)
FLOWS(colours_f32_flows, float, PLANE_FLOWS, 8)
MATTER(colours_f32_matter, float, true, 7)
MATTER(colours_f32_matter_coupled, float, false, 7)
FLOWS(colours_f64_acoustic_triangles, double, ACOUSTIC_TRIANGLE, 7)
FLOWS(colours_f64_acoustic_quads, double, ACOUSTIC_QUADRILATERAL, 5)
FLOWS(colours_f64_acoustic_reduced_quads, double, ACOUSTIC_REDUCED_QUADRILATERAL, 7)
FLOWS(colours_f64_flows, double, PLANE_FLOWS, 5)
MATTER(colours_f64_matter, double, true, 4)
MATTER(colours_f64_matter_coupled, double, false, 4)
