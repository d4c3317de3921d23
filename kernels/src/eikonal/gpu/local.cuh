// The local solver on the device, in single precision or, with POGO_F64, in double precision. Formulae and names are
// those of ../local.rs.

#pragma once

#include "../../device/types.cuh"
#ifdef POGO_ON_HOST
#include POGO_ON_HOST
#endif

// `word` holds the bits of a number. Times are not negative, so their words have the order of the times.
#ifdef POGO_F64
typedef double real;
typedef u64 word;
typedef double2 real2;
constexpr word INFINITE = 0x7ff0000000000000ull;
__device__ __forceinline__ real as_real(word bits) { return __longlong_as_double((long long)bits); }
__device__ __forceinline__ word as_word(real x) { return word(__double_as_longlong(x)); }
__device__ __forceinline__ real root(real x) { return sqrt(x); }
__device__ __forceinline__ real reciprocal(real x) { return 1.0 / x; }
#else
typedef float real;
typedef u32 word;
typedef float2 real2;
constexpr word INFINITE = 0x7f800000u;
__device__ __forceinline__ real as_real(word bits) { return __uint_as_float(bits); }
__device__ __forceinline__ word as_word(real x) { return __float_as_uint(x); }

__device__ __forceinline__ real root(real x) {
    real y;
    asm("sqrt.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

__device__ __forceinline__ real reciprocal(real x) {
    real y;
    asm("rcp.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
#endif

// Products of eq. 8.
struct Reference {
    real b11, b12, b22, g1, g2, gamma, l12, l14, l24, g12;
};

// The products from the squares of the edges 13, 23, 12, 14, 24, 34 (eq. 11).
__device__ __forceinline__ Reference from_squares(real l13, real l23, real l12, real l14, real l24, real l34) {
    Reference m;
    m.b11 = l13;
    m.b12 = real(0.5) * ((l13 - l12) + l23);
    m.b22 = l23;
    m.g1 = real(0.5) * ((l14 - l13) - l34);
    m.g2 = real(0.5) * ((l24 - l23) - l34);
    m.gamma = l34;
    m.l12 = l12;
    m.l14 = l14;
    m.l24 = l24;
    m.g12 = real(0.5) * ((l14 - l12) - l24);
    return m;
}

__device__ __forceinline__ Reference from_products(real b11, real b12, real b22, real g1, real g2, real gamma) {
    Reference m;
    m.b11 = b11;
    m.b12 = b12;
    m.b22 = b22;
    m.g1 = g1;
    m.g2 = g2;
    m.gamma = gamma;
    m.l12 = b11 - real(2) * b12 + b22;
    m.l14 = b11 + real(2) * g1 + gamma;
    m.l24 = b22 + real(2) * g2 + gamma;
    m.g12 = (b12 - b22) + (g1 - g2);
    return m;
}

// Minimum over an edge, relative to the time at its second end, or +∞ if the minimum is at an end.
__device__ __forceinline__ real over_edge(real b, real g, real gamma, real p) {
    real inverse = reciprocal(b);
    real y = g * inverse, z = p * inverse;
    real h2 = fmax(fma(-g, y, gamma), real(0));
    real w = fma(-p, z, real(1));
    real r = root(h2 * w);
    real lambda = -fma(y, w, r * z);
    return w > real(0) && lambda >= real(0) && lambda <= w ? fma(-p, y, r) : as_real(INFINITE);
}

// Time at corner 4. The times at the other corners may be +∞.
__device__ __forceinline__ real tetrahedron(real phi1, real phi2, real phi3, const Reference &m) {
    real p1 = phi1 - phi3, p2 = phi2 - phi3;
    real inverse = reciprocal(fma(m.b11, m.b22, -(m.b12 * m.b12)));
    real y1 = fma(m.b22, m.g1, -(m.b12 * m.g2)) * inverse, y2 = fma(m.b11, m.g2, -(m.b12 * m.g1)) * inverse;
    real z1 = fma(m.b22, p1, -(m.b12 * p2)) * inverse, z2 = fma(m.b11, p2, -(m.b12 * p1)) * inverse;
    real h2 = fmax(fma(-m.g1, y1, fma(-m.g2, y2, m.gamma)), real(0));
    real w = fma(-p1, z1, fma(-p2, z2, real(1)));
    real r = root(h2 * w);
    real lambda1 = -fma(y1, w, r * z1), lambda2 = -fma(y2, w, r * z2);
    if (w > real(0) && lambda1 >= real(0) && lambda2 >= real(0) && lambda1 + lambda2 <= w)
        return fma(-p1, y1, fma(-p2, y2, r)) + phi3;
    real t = phi3 + fmin(over_edge(m.b11, m.g1, m.gamma, p1), over_edge(m.b22, m.g2, m.gamma, p2));
    t = fmin(t, phi2 + over_edge(m.l12, m.g12, m.l24, phi1 - phi2));
    t = fmin(t, fmin(phi1 + root(m.l14), phi2 + root(m.l24)));
    return fmin(t, phi3 + root(m.gamma));
}

__device__ __forceinline__ real triangle(real phi1, real phi2, real l12, real l13, real l23) {
    real g = real(0.5) * ((l13 - l12) - l23);
    real t = phi2 + over_edge(l12, g, l23, phi1 - phi2);
    return fmin(t, fmin(phi1 + root(l13), phi2 + root(l23)));
}

#include "layout.cuh"

// Times as words.
__device__ __forceinline__ word *words(real *times) { return reinterpret_cast<word *>(times); }

enum : int { SIX = 0, EIGHTEEN = 1, FLY = 2, THREE = 3 };

__device__ __forceinline__ real pick(u32 k, real at0, real at1, real at2, real at3) {
    real low = k == 0 ? at0 : at1, high = k == 2 ? at2 : at3;
    return k < 2 ? low : high;
}

// Data of one element. `at` returns the products for corner k, which is known only at run time.
template <int PRODUCTS> struct Element;

template <> struct Element<SIX> {
    real l[6];
    __device__ __forceinline__ Element(const Stored &s, u32 e, const u32 *) {
        const real2 *from = reinterpret_cast<const real2 *>(s.numbers) + 3 * size_t(e);
        for (int i = 0; i < 3; i++) {
            real2 two = __ldg(from + i);
            l[2 * i] = two.x, l[2 * i + 1] = two.y;
        }
    }
    __device__ __forceinline__ Reference at(u32 k) const {
        return from_squares(pick(k, l[4], l[3], l[3], l[1]), pick(k, l[5], l[5], l[4], l[2]), pick(k, l[2], l[1], l[0], l[0]),
                            pick(k, l[0], l[0], l[1], l[3]), pick(k, l[1], l[2], l[2], l[4]), pick(k, l[3], l[4], l[5], l[5]));
    }
};

// Positions of ac·ac, ac·bc, bc·bc, ac·ck, bc·ck, ck·ck for each corner. The order in memory is: squares 0 to 5, then
// the pairs (0,1) (0,2) (0,3) (0,4) (1,2) (1,3) (1,5) (2,4) (2,5) (3,4) (3,5) (4,5).
__constant__ const unsigned char EIGHTEEN_PLACE[4][6] = {
    {4, 17, 5, 15, 16, 3}, // ac = 13, bc = 23, ck = 30
    {3, 16, 5, 15, 17, 4}, // ac = 03, bc = 23, ck = 31
    {3, 15, 4, 16, 17, 5}, // ac = 03, bc = 13, ck = 32
    {1, 10, 2, 12, 14, 5}, // ac = 02, bc = 12, ck = 23
};

template <> struct Element<EIGHTEEN> {
    const real *from;
    __device__ __forceinline__ Element(const Stored &s, u32 e, const u32 *) : from(s.numbers + 18 * size_t(e)) {}
    __device__ __forceinline__ Reference at(u32 k) const {
        real v[6];
        for (int i = 0; i < 6; i++) v[i] = __ldg(from + EIGHTEEN_PLACE[k][i]);
        real sign = k == 3 ? real(1) : -real(1);
        return from_products(v[0], v[1], v[2], sign * v[3], sign * v[4], v[5]);
    }
};

struct Point {
    real x, y, z;
};

__device__ __forceinline__ Point operator-(Point a, Point b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }

__device__ __forceinline__ Point load_point(const Stored &s, u32 node) {
#ifdef POGO_F64
    const double2 *from = reinterpret_cast<const double2 *>(s.point) + 2 * size_t(node);
    const double2 xy = __ldg(from);
    return {xy.x, xy.y, __ldg(from + 1).x};
#else
    const float4 x = __ldg(reinterpret_cast<const float4 *>(s.point) + node);
    return {x.x, x.y, x.z};
#endif
}

template <> struct Element<FLY> {
    Point x[4];
    real m[6];
    __device__ __forceinline__ Element(const Stored &s, u32 e, const u32 *nodes) {
        for (int i = 0; i < 4; i++) x[i] = load_point(s, nodes[i]);
        const real2 *from = reinterpret_cast<const real2 *>(s.numbers) + 3 * size_t(e);
        for (int i = 0; i < 3; i++) {
            real2 two = __ldg(from + i);
            m[2 * i] = two.x, m[2 * i + 1] = two.y;
        }
    }
    __device__ __forceinline__ real product(Point a, Point b) const {
        return a.x * (m[0] * b.x + m[3] * b.y + m[5] * b.z) + a.y * (m[3] * b.x + m[1] * b.y + m[4] * b.z) +
               a.z * (m[5] * b.x + m[4] * b.y + m[2] * b.z);
    }
    __device__ __forceinline__ Point pick_point(u32 k, int at0, int at1, int at2, int at3) const {
        return {pick(k, x[at0].x, x[at1].x, x[at2].x, x[at3].x), pick(k, x[at0].y, x[at1].y, x[at2].y, x[at3].y),
                pick(k, x[at0].z, x[at1].z, x[at2].z, x[at3].z)};
    }
    __device__ __forceinline__ Reference at(u32 k) const {
        const Point a = pick_point(k, 1, 0, 0, 0), b = pick_point(k, 2, 2, 1, 1), c = pick_point(k, 3, 3, 3, 2);
        const Point ac = c - a, bc = c - b, cd = pick_point(k, 0, 1, 2, 3) - c;
        return from_products(product(ac, ac), product(ac, bc), product(bc, bc), product(ac, cd), product(bc, cd), product(cd, cd));
    }
};

template <> struct Element<THREE> {
    real l[3];
    __device__ __forceinline__ Element(const Stored &s, u32 e, const u32 *) {
        for (int i = 0; i < 3; i++) l[i] = __ldg(s.numbers + 3 * size_t(e) + i);
    }
};

// Time at corner k of an element from the times t at its corners.
template <int PRODUCTS> __device__ __forceinline__ real solve(const Element<PRODUCTS> &element, const real *t, u32 k) {
    return tetrahedron(k == 0 ? t[1] : t[0], k <= 1 ? t[2] : t[1], k <= 2 ? t[3] : t[2], element.at(k));
}

template <> __device__ __forceinline__ real solve<THREE>(const Element<THREE> &element, const real *t, u32 k) {
    const real *l = element.l; // 01, 02, 12
    return triangle(k == 0 ? t[1] : t[0], k <= 1 ? t[2] : t[1], k == 0 ? l[2] : k == 1 ? l[1] : l[0],
                    k == 2 ? l[1] : l[0], k == 0 ? l[1] : l[2]);
}

template <int PRODUCTS> __device__ __forceinline__ void load_nodes(const Stored &s, u32 e, u32 *nodes) {
    if constexpr (PRODUCTS == THREE) {
        for (int i = 0; i < 3; i++) nodes[i] = __ldg(s.nodes + 3 * size_t(e) + i);
    } else {
        uint4 four = __ldg(reinterpret_cast<const uint4 *>(s.nodes) + e);
        nodes[0] = four.x, nodes[1] = four.y, nodes[2] = four.z, nodes[3] = four.w;
    }
}

// A start: a node of a set of starts, and its time.
struct Start {
    u32 entry;
    word time;
};

// Barrier of all thread blocks. `target` is the expected number of arrivals. Everything written before the barrier is
// visible after it. While the first thread waits, the others run `meanwhile`. Nothing before the barrier may depend on
// it.
template <typename Work> __device__ __forceinline__ void grid_barrier(u32 *arrived, u32 &target, Work meanwhile) {
    target += gridDim.x;
    __syncthreads();
    if (threadIdx.x == 0) {
#ifndef POGO_ON_HOST
        asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(arrived) : "memory");
        u32 seen;
        do {
            asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(arrived) : "memory");
        } while (int(seen - target) < 0);
#endif
    } else
        meanwhile();
    __syncthreads();
}

__device__ __forceinline__ void grid_barrier(u32 *arrived, u32 &target) {
    grid_barrier(arrived, target, [] {});
}
