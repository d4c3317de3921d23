// Functions shared by the kernels with one thread per element: selection of the element type, connectivity,
// asynchronous copies.

#pragma once
#include "laws.cuh"

// Maximum number of colours whose descriptions fit in shared memory. A block with more colours reads them from global
// memory.
constexpr u32 KEPT_COLOURS = 64;

// Template arguments for kernels that handle all element types of one dimension: those of solids, of fluids, or of both.
enum : u32 { PLANE_LAWS = 100, SOLID_LAWS, PLANE_FLOWS, SPACE_FLOWS, PLANE_MATTER, SPACE_MATTER };

__host__ __device__ constexpr bool is_acoustic(u32 set) {
    return (set >= ACOUSTIC_TRIANGLE && set <= ACOUSTIC_PARALLELEPIPED) || set == PLANE_FLOWS || set == SPACE_FLOWS;
}

__host__ __device__ constexpr int dimension_of(u32 set) {
    const bool plane_flow = (set >= ACOUSTIC_TRIANGLE && set <= ACOUSTIC_REDUCED_QUADRILATERAL) || set == PLANE_FLOWS;
    return set <= REDUCED_QUADRILATERAL || plane_flow || set == PLANE_LAWS || set == PLANE_MATTER ? 2 : 3;
}

// Number of unknowns of a node in the arrays of the state. A fluid alone has one. Beside solids its nodes have as many as
// those of solids, and all but the first are zero.
__host__ __device__ constexpr int unknowns_of(u32 set) { return is_acoustic(set) ? 1 : dimension_of(set); }

template <u32 VALUE> struct Number {
    static constexpr u32 value = VALUE;
};

// Calls `act` with the element type as a compile-time constant.
template <u32 SET, typename Act> __device__ __forceinline__ void with_law(u32 law, Act &&act) {
    if constexpr (SET == PLANE_LAWS) {
        if (law == TRIANGLE) act(Number<TRIANGLE>{});
        else if (law == QUADRILATERAL) act(Number<QUADRILATERAL>{});
        else act(Number<REDUCED_QUADRILATERAL>{});
    } else if constexpr (SET == SOLID_LAWS) {
        if (law == TETRAHEDRON) act(Number<TETRAHEDRON>{});
        else if (law == WEDGE) act(Number<WEDGE>{});
        else if (law == FULL_WEDGE) act(Number<FULL_WEDGE>{});
        else if (law == HEXAHEDRON) act(Number<HEXAHEDRON>{});
        else if (law == PARALLELEPIPED) act(Number<PARALLELEPIPED>{});
        else act(Number<REDUCED_HEXAHEDRON>{});
    } else if constexpr (SET == PLANE_FLOWS) {
        if (law == ACOUSTIC_TRIANGLE) act(Number<ACOUSTIC_TRIANGLE>{});
        else if (law == ACOUSTIC_QUADRILATERAL) act(Number<ACOUSTIC_QUADRILATERAL>{});
        else act(Number<ACOUSTIC_REDUCED_QUADRILATERAL>{});
    } else if constexpr (SET == SPACE_FLOWS) {
        if (law == ACOUSTIC_TETRAHEDRON) act(Number<ACOUSTIC_TETRAHEDRON>{});
        else if (law == ACOUSTIC_WEDGE) act(Number<ACOUSTIC_WEDGE>{});
        else if (law == ACOUSTIC_HEXAHEDRON) act(Number<ACOUSTIC_HEXAHEDRON>{});
        else if (law == ACOUSTIC_PARALLELEPIPED) act(Number<ACOUSTIC_PARALLELEPIPED>{});
        else act(Number<ACOUSTIC_REDUCED_HEXAHEDRON>{});
    } else if constexpr (SET == PLANE_MATTER) {
        if (is_acoustic(law)) with_law<PLANE_FLOWS>(law, act);
        else with_law<PLANE_LAWS>(law, act);
    } else if constexpr (SET == SPACE_MATTER) {
        if (is_acoustic(law)) with_law<SPACE_FLOWS>(law, act);
        else with_law<SOLID_LAWS>(law, act);
    } else {
        act(Number<SET>{});
    }
}

// Local node numbers of one element, two in each word.
struct Row {
    u32 words[4];
    __device__ __forceinline__ u32 node(int i) const { return i % 2 ? words[i / 2] >> 16 : words[i / 2] & 0xffff; }
    // True if a node occurs twice, as in collapsed elements.
    template <int NODES> __device__ __forceinline__ bool repeats() const {
        bool found = false;
#pragma unroll
        for (int i = 1; i < NODES; i++)
#pragma unroll
            for (int j = 0; j < i; j++) found |= node(i) == node(j);
        return found;
    }
};

template <int NODES> __device__ __forceinline__ void read_row(const u16 *connectivity, u32 e, Row &row) {
    if constexpr (NODES == 8) {
        const uint4 w = __ldg(reinterpret_cast<const uint4 *>(connectivity) + e);
        row.words[0] = w.x, row.words[1] = w.y, row.words[2] = w.z, row.words[3] = w.w;
    } else if constexpr (NODES == 4) {
        const uint2 w = __ldg(reinterpret_cast<const uint2 *>(connectivity) + e);
        row.words[0] = w.x, row.words[1] = w.y;
    } else if constexpr (NODES == 6) {
        const u32 *at = reinterpret_cast<const u32 *>(connectivity) + 3 * e;
#pragma unroll
        for (int i = 0; i < 3; i++) row.words[i] = __ldg(at + i);
    } else {
        const u16 *at = connectivity + 3 * e;
        row.words[0] = __ldg(at) | (u32)__ldg(at + 1) << 16;
        row.words[1] = __ldg(at + 2);
    }
}

// Number of entries in a connectivity row of the solid kernels. A row of tetrahedra is a ring of eight entries.
template <u32 LAW> constexpr bool IN_RINGS = LAW == TETRAHEDRON || LAW == ACOUSTIC_TETRAHEDRON;
template <u32 LAW> constexpr int ROW_NODES = IN_RINGS<LAW> ? 8 : Element<float, LAW, true>::NODES;

template <u32 SET> __device__ __forceinline__ void read_row_of(u32 law, const u16 *connectivity, u32 e, Row &row) {
    with_law<SET>(law, [&](auto number) {
        read_row<ROW_NODES<decltype(number)::value>>(connectivity, e, row);
    });
}

#ifndef POGO_ON_HOST
// Starts an asynchronous copy into shared memory. The thread does not wait for it.
template <int BYTES> __device__ __forceinline__ void copy_later(void *to, const void *from) {
    const u32 at = (u32)__cvta_generic_to_shared(to);
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(at), "l"(from), "n"(BYTES) : "memory");
}

__device__ __forceinline__ void wait_for_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }
#endif
