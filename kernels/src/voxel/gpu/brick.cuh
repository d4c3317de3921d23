// The product y = K x on the finest level and the operation that follows it, on a grid that is cut into tiles.
//
// A tile is 15 × 15 columns of nodes. Its nodes are numbered plane by plane, so the data of a plane are contiguous. A
// thread block goes up a stretch of a tile (march.cuh). Each of its 16 × 16 threads computes the elements between the
// node of its column and the next ones. Two tiles compute the elements of the first row and column. A node therefore
// gets all its sums in one place, and nothing is added in device memory.
//
// The transform over the four nodes of a face serves the elements below and above the face. It stays in registers, as
// do the sums on the face. Neighbouring columns exchange sums in shared memory, with one barrier per plane. Each warp
// applies the operation after the product to its up to 32 nodes, which are contiguous in every vector.
//
// Floating-point instructions per voxel: 24 + 21 for the transforms, 30 for the stiffness, 33 for the transforms back,
// 24 for the faces, 9 for the sums. Own moduli need 15 more, and own Poisson's ratios 4 more than that.

#pragma once

#include "layout.cuh"
#include "ratios.cuh"

constexpr u32 WARPS = N_WARPS;
constexpr u32 ROWS = 17;

/// The operation after the product.
enum Then : u32 {
    STORE, // y = K x; sum of x y
    DOT, // sum of b K x
    RESIDUAL, // r = b − K x
    STEP,     // r = b − K d; d' = p d + s D⁻¹ r; z += w d' (x is d, b may be r)
    PAIR,     // d = D⁻¹ b; z = (z or 0) + w0 d − w D⁻¹ K d (x is b)
    FORCES, // r = f − K x; sum of r²
};

/// Planes of u in shared memory or on their way: the one that is in use, and three to come.
constexpr u32 STAGES = 4;
/// Maximum number of planes of a stretch.
template <class T, u32 THEN, bool MODULI>
constexpr u32 LONGEST = MODULI ? LONGEST_MODULI : sizeof(T) == 8 ? LONGEST_DOUBLE : THEN == PAIR ? LONGEST_PAIR : LONGEST_SINGLE;
static_assert(AFTER == 4 + STAGES, "empty planes for those that are on their way");

/// What a warp does in step k (`March::step`). With no flag it only waits for the others.
enum Flags : u32 {
    FETCH = 1, // the fetched plane has nodes for this warp
    HALO = 2, // fetch the first half of its halo
    OTHER_HALO = 4, // fetch the second half
    ABOVE = 8, // compute the transforms of plane k + 1
    ELEMENTS = 16, // compute elements or forces of plane k, or store zeros where forces were
    FINISH = 32, // finish nodes of plane k − 1
    FIXED = 64, // some of these nodes have fixed degrees of freedom
    BUSY = ABOVE | ELEMENTS | FINISH,
};

/// Data of a warp for step k: nodes of the fetched plane and elements of plane k + 1.
struct __align__(16) Task {
    u32 nodes, node_at, elements, flags;
};

/// The tasks of a plane, and its halo: for each half, the mask of existing nodes and the position in the list.
struct Tasks {
    Task task[WARPS];
    uint2 halo[2];
};

/// The same, for elements with moduli.
template <bool MODULI> struct Sheet : Tasks {};
template <> struct Sheet<true> : Tasks {
    u32 element_at[WARPS]; // number of the first element of plane k + 1
};

__device__ __forceinline__ float inverse_of(const u16* inverse, u32 node) {
    return __uint_as_float(static_cast<u32>(inverse[node]) << 16);
}

__device__ __forceinline__ float fused(float a, float b, float c) { return fmaf(a, b, c); }
__device__ __forceinline__ double fused(double a, double b, double c) { return fma(a, b, c); }

/// Sums and differences of four values at (0,0), (1,0), (0,1), (1,1).
template <class T> __device__ __forceinline__ void face(T (&v)[4]) {
    T a = v[0] + v[1], b = v[0] - v[1], c = v[2] + v[3], d = v[2] - v[3];
    v[0] = a + c;
    v[1] = b + d;
    v[2] = a - c;
    v[3] = b - d;
}

/// Position of a column of nodes in shared memory, in bytes: for single numbers, and for pairs.
struct Column {
    u32 one, two;
};

template <class T> struct Two;
template <> struct Two<float> {
    using Type = float2;
};
template <> struct Two<double> {
    using Type = double2;
};

/// N numbers for each of COUNT columns in shared memory. The components are in separate arrays, or the first two are
/// stored as pairs. Pairs need fewer instructions, but writing single numbers into them causes two-way bank conflicts.
template <class T, u32 COUNT, u32 N, bool PAIRS> struct Field {
    static constexpr u32 SIZE = N * COUNT * sizeof(T);

    static __device__ __forceinline__ u32 at(const Column& c, u32 a) {
        return PAIRS && a < 2 ? c.two + a * sizeof(T) : c.one + a * COUNT * sizeof(T);
    }

    /// Loads the first three numbers of the column at a distance of `columns`.
    static __device__ __forceinline__ void load(const u8* from, const Column& c, int columns, T (&v)[3]) {
        constexpr int ONE = sizeof(T);
        if constexpr (PAIRS) {
            auto pair = *reinterpret_cast<const typename Two<T>::Type*>(from + c.two + 2 * columns * ONE);
            v[0] = pair.x;
            v[1] = pair.y;
            v[2] = *reinterpret_cast<const T*>(from + at(c, 2) + columns * ONE);
        } else {
#pragma unroll
            for (u32 a = 0; a < 3; a++) v[a] = *reinterpret_cast<const T*>(from + at(c, a) + columns * ONE);
        }
    }

    static __device__ __forceinline__ void store(u8* to, const Column& c, T x, T y, T z) {
        if constexpr (PAIRS) {
            *reinterpret_cast<typename Two<T>::Type*>(to + c.two) = {x, y};
        } else {
            *reinterpret_cast<T*>(to + at(c, 0)) = x;
            *reinterpret_cast<T*>(to + at(c, 1)) = y;
        }
        *reinterpret_cast<T*>(to + at(c, 2)) = z;
    }
};

/// Stiffness of an element with λ = `ratio` μ, over μ. In k the numbers that μ has no part in, `volume` and `across`, are
/// those for λ = 1. The others are those for λ = 0 and μ = 1. What λ adds to them is a multiple of `across`.
template <class T> __device__ __forceinline__ Stiffness<T> of_ratio(const Stiffness<T>& k, T ratio) {
    Stiffness<T> own = k;
    own.volume = ratio * k.volume;
    own.across = ratio * k.across;
    own.bend = k.bend + own.across;
    own.last = fused(own.across, T(1) / 3, k.last);
    return own;
}

/// Forces of an element from the transforms of its lower and upper face. Those on the lower face are added to f, those
/// on the upper face are stored in g.
template <bool MODULI, class T>
__device__ __forceinline__ void element(const Stiffness<T>& k, T e, const T (&low)[3][4], const T (&up)[3][4],
                                        T (&f)[3][4], T (&g)[3][4]) {
    T u[3][8];
#pragma unroll
    for (u32 a = 0; a < 3; a++)
#pragma unroll
        for (u32 q = 0; q < 4; q++) {
            u[a][q] = low[a][q] + up[a][q];
            u[a][q + 4] = low[a][q] - up[a][q];
        }
    T v[3][8];
    {
        T t = k.volume * (u[0][1] + u[1][2] + u[2][4]);
        v[0][1] = fused(k.stretch, u[0][1], t);
        v[1][2] = fused(k.stretch, u[1][2], t);
        v[2][4] = fused(k.stretch, u[2][4], t);
    }
    {
        T t = k.coupling * (u[0][6] + u[1][5] + u[2][3]);
        v[0][6] = fused(k.hourglass, u[0][6], t);
        v[1][5] = fused(k.hourglass, u[1][5], t);
        v[2][3] = fused(k.hourglass, u[2][3], t);
    }
    v[1][3] = fused(k.across, u[2][5], k.bend * u[1][3]);
    v[2][5] = fused(k.across, u[1][3], k.bend * u[2][5]);
    v[0][3] = fused(k.across, u[2][6], k.bend * u[0][3]);
    v[2][6] = fused(k.across, u[0][3], k.bend * u[2][6]);
    v[0][5] = fused(k.across, u[1][6], k.bend * u[0][5]);
    v[1][6] = fused(k.across, u[0][5], k.bend * u[1][6]);
    v[0][2] = v[1][1] = k.shear * (u[0][2] + u[1][1]);
    v[0][4] = v[2][1] = k.shear * (u[0][4] + u[2][1]);
    v[1][4] = v[2][2] = k.shear * (u[1][4] + u[2][2]);
#pragma unroll
    for (u32 a = 0; a < 3; a++) {
        v[a][7] = k.last * u[a][7];
        if constexpr (MODULI) {
            f[a][0] = fused(e, v[a][4], f[a][0]);
            g[a][0] = -e * v[a][4];
        } else {
            f[a][0] += v[a][4];
            g[a][0] = -v[a][4];
        }
#pragma unroll
        for (u32 q = 1; q < 4; q++) {
            if constexpr (MODULI) {
                f[a][q] = fused(e, v[a][q] + v[a][q + 4], f[a][q]);
                g[a][q] = e * (v[a][q] - v[a][q + 4]);
            } else {
                f[a][q] += v[a][q] + v[a][q + 4];
                g[a][q] = v[a][q] - v[a][q + 4];
            }
        }
    }
}

/// Position in the 17 × 17 nodes of node h of the 64 nodes around the tile.
__device__ __forceinline__ u32 ring(u32 h, u32 pitch) {
    u32 x = h < 34 ? (h < 17 ? 0 : 16) : (h - 34) % 15 + 1;
    u32 y = h < 34 ? h % 17 : (h < 49 ? 0 : 16);
    return y * pitch + x;
}

/// Sum over a thread block in a fixed order. Only thread 0 has the result.
__device__ inline double block_sum(double v, double* scratch) {
#pragma unroll
    for (u32 d = 16; d > 0; d /= 2) v += __shfl_down_sync(~0u, v, d);
    __syncthreads();
    if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = v;
    __syncthreads();
    v = 0;
    if (threadIdx.x == 0)
        for (u32 w = 0; w < blockDim.x / 32; w++) v += scratch[w];
    return v;
}

/// Starts to copy a number to shared memory if `is` is true.
template <class T> __device__ __forceinline__ void copy_if(bool is, T* to, const T* from) {
#ifdef __CUDACC__
    asm volatile("{ .reg .pred is; setp.ne.u32 is, %2, 0; @is cp.async.ca.shared.global [%0], [%1], %3; }" ::"r"(
                     static_cast<u32>(__cvta_generic_to_shared(to))),
                 "l"(from), "r"(static_cast<u32>(is)), "n"(sizeof(T))
                 : "memory");
#else
    if (is) *to = *from;
#endif
}

/// The same for three numbers.
template <class T> __device__ __forceinline__ void copy_if(bool is, T* x, T* y, T* z, const T* from) {
#ifdef __CUDACC__
    asm volatile("{ .reg .pred is; setp.ne.u32 is, %4, 0; @is cp.async.ca.shared.global [%0], [%3], %5;"
                 "@is cp.async.ca.shared.global [%1], [%3 + %5], %5;"
                 " @is cp.async.ca.shared.global [%2], [%3 + %6], %5; }" ::"r"(
                     static_cast<u32>(__cvta_generic_to_shared(x))),
                 "r"(static_cast<u32>(__cvta_generic_to_shared(y))), "r"(static_cast<u32>(__cvta_generic_to_shared(z))),
                 "l"(from), "r"(static_cast<u32>(is)), "n"(sizeof(T)), "n"(2 * sizeof(T))
                 : "memory");
#else
    if (is) *x = from[0], *y = from[1], *z = from[2];
#endif
}

/// Ends a group of copies.
__device__ __forceinline__ void commit() {
#ifdef __CUDACC__
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/// Waits for all groups of copies but the last `N`.
template <int N> __device__ __forceinline__ void wait() {
#ifdef __CUDACC__
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
#endif
}

/// Prevents the compiler from computing a number again at each use.
__device__ __forceinline__ u32 kept(u32 v) {
#ifdef __CUDACC__
    asm volatile("" : "+r"(v));
#endif
    return v;
}

/// Address at which the dynamic shared memory of a launch begins, and the pointer for such an address.
__device__ __forceinline__ u32 shared_memory() {
    extern __shared__ __align__(16) u8 memory[];
    return static_cast<u32>(__cvta_generic_to_shared(memory));
}
__device__ __forceinline__ u8* at_shared(u32 at) { return static_cast<u8*>(__cvta_shared_to_generic(at)); }

/// v is the same in all lanes of a warp. The reduction tells the compiler so. Branches on v then need no reconvergence.
__device__ __forceinline__ u32 together(u32 v) { return __reduce_or_sync(~0u, v); }

/// Sets v = 0 exactly here. Otherwise the compiler would keep twelve zeros in registers while elements are computed.
__device__ __forceinline__ void clear(float& v) {
#ifdef __CUDACC__
    asm volatile("mov.f32 %0, 0f00000000;" : "=f"(v));
#else
    v = 0;
#endif
}
__device__ __forceinline__ void clear(double& v) {
#ifdef __CUDACC__
    asm volatile("mov.f64 %0, 0d0000000000000000;" : "=d"(v));
#else
    v = 0;
#endif
}

/// A number that the compiler cannot compute again.
__device__ __forceinline__ u32 opaque(u32 v) {
#ifdef __CUDACC__
    return __shfl_sync(~0u, v, threadIdx.x % 32);
#else
    return v;
#endif
}
