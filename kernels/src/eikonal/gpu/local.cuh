// The local solver on the device; formulas and names as in ../local.rs.

#pragma once

typedef unsigned int u32;
typedef unsigned long long u64;

constexpr u32 INFINITE = 0x7f800000u;

__device__ __forceinline__ float root(float x) {
    float y;
    asm("sqrt.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

__device__ __forceinline__ float reciprocal(float x) {
    float y;
    asm("rcp.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// Products of eq. 8.
struct Reference {
    float b11, b12, b22, g1, g2, gamma, l12, l14, l24, g12;
};

// Squares of the edges 13, 23, 12, 14, 24, 34 (eq. 11).
__device__ __forceinline__ Reference from_squares(float l13, float l23, float l12, float l14, float l24, float l34) {
    Reference m;
    m.b11 = l13;
    m.b12 = 0.5f * ((l13 - l12) + l23);
    m.b22 = l23;
    m.g1 = 0.5f * ((l14 - l13) - l34);
    m.g2 = 0.5f * ((l24 - l23) - l34);
    m.gamma = l34;
    m.l12 = l12;
    m.l14 = l14;
    m.l24 = l24;
    m.g12 = 0.5f * ((l14 - l12) - l24);
    return m;
}

__device__ __forceinline__ Reference from_products(float b11, float b12, float b22, float g1, float g2, float gamma) {
    Reference m;
    m.b11 = b11;
    m.b12 = b12;
    m.b22 = b22;
    m.g1 = g1;
    m.g2 = g2;
    m.gamma = gamma;
    m.l12 = b11 - 2.0f * b12 + b22;
    m.l14 = b11 + 2.0f * g1 + gamma;
    m.l24 = b22 + 2.0f * g2 + gamma;
    m.g12 = (b12 - b22) + (g1 - g2);
    return m;
}

// Time above that at the edge's second end, or +∞ where the least is at an end.
__device__ __forceinline__ float over_edge(float b, float g, float gamma, float p) {
    float inverse = reciprocal(b);
    float y = g * inverse, z = p * inverse;
    float h2 = fmaxf(fmaf(-g, y, gamma), 0.0f);
    float w = fmaf(-p, z, 1.0f);
    float r = root(h2 * w);
    float lambda = -fmaf(y, w, r * z);
    return w > 0.0f && lambda >= 0.0f && lambda <= w ? fmaf(-p, y, r) : __uint_as_float(INFINITE);
}

// Time at corner 4. Times may be +∞.
__device__ __forceinline__ float tetrahedron(float phi1, float phi2, float phi3, const Reference &m) {
    float p1 = phi1 - phi3, p2 = phi2 - phi3;
    float inverse = reciprocal(fmaf(m.b11, m.b22, -(m.b12 * m.b12)));
    float y1 = fmaf(m.b22, m.g1, -(m.b12 * m.g2)) * inverse, y2 = fmaf(m.b11, m.g2, -(m.b12 * m.g1)) * inverse;
    float z1 = fmaf(m.b22, p1, -(m.b12 * p2)) * inverse, z2 = fmaf(m.b11, p2, -(m.b12 * p1)) * inverse;
    float h2 = fmaxf(fmaf(-m.g1, y1, fmaf(-m.g2, y2, m.gamma)), 0.0f);
    float w = fmaf(-p1, z1, fmaf(-p2, z2, 1.0f));
    float r = root(h2 * w);
    float lambda1 = -fmaf(y1, w, r * z1), lambda2 = -fmaf(y2, w, r * z2);
    if (w > 0.0f && lambda1 >= 0.0f && lambda2 >= 0.0f && lambda1 + lambda2 <= w)
        return fmaf(-p1, y1, fmaf(-p2, y2, r)) + phi3;
    float t = phi3 + fminf(over_edge(m.b11, m.g1, m.gamma, p1), over_edge(m.b22, m.g2, m.gamma, p2));
    t = fminf(t, phi2 + over_edge(m.l12, m.g12, m.l24, phi1 - phi2));
    t = fminf(t, fminf(phi1 + root(m.l14), phi2 + root(m.l24)));
    return fminf(t, phi3 + root(m.gamma));
}

__device__ __forceinline__ float triangle(float phi1, float phi2, float l12, float l13, float l23) {
    float g = 0.5f * ((l13 - l12) - l23);
    float t = phi2 + over_edge(l12, g, l23, phi1 - phi2);
    return fminf(t, fminf(phi1 + root(l13), phi2 + root(l23)));
}

// What of an element is stored: the device's forms of ../products.rs.
struct Stored {
    const u32 *nodes;      // (n_elements, corners)
    const float *numbers;  // squares; or 18 products; or metrics
    const float4 *point;   // (n_nodes,), on the fly alone
};

enum : int { SIX = 0, EIGHTEEN = 1, FLY = 2, THREE = 3 };

__device__ __forceinline__ float pick(u32 k, float at0, float at1, float at2, float at3) {
    float low = k == 0 ? at0 : at1, high = k == 2 ? at2 : at3;
    return k < 2 ? low : high;
}

// The data of one element, and its solver for corner k, a number known only at run time.
template <int FORM> struct Element;

template <> struct Element<SIX> {
    float l[6];
    __device__ __forceinline__ Element(const Stored &s, u32 e, const u32 *) {
        const float2 *from = reinterpret_cast<const float2 *>(s.numbers) + 3 * size_t(e);
        for (int i = 0; i < 3; i++) {
            float2 two = __ldg(from + i);
            l[2 * i] = two.x, l[2 * i + 1] = two.y;
        }
    }
    __device__ __forceinline__ Reference at(u32 k) const {
        return from_squares(pick(k, l[4], l[3], l[3], l[1]), pick(k, l[5], l[5], l[4], l[2]), pick(k, l[2], l[1], l[0], l[0]),
                            pick(k, l[0], l[0], l[1], l[3]), pick(k, l[1], l[2], l[2], l[4]), pick(k, l[3], l[4], l[5], l[5]));
    }
};

// Places of ac·ac, ac·bc, bc·bc, ac·ck, bc·ck, ck·ck for each corner: squares 0 to 5, then pairs (0,1) (0,2) (0,3) (0,4) (1,2) (1,3)
// (1,5) (2,4) (2,5) (3,4) (3,5) (4,5).
__constant__ const unsigned char EIGHTEEN_PLACE[4][6] = {
    {4, 17, 5, 15, 16, 3}, // ac = 13, bc = 23, ck = 30
    {3, 16, 5, 15, 17, 4}, // ac = 03, bc = 23, ck = 31
    {3, 15, 4, 16, 17, 5}, // ac = 03, bc = 13, ck = 32
    {1, 10, 2, 12, 14, 5}, // ac = 02, bc = 12, ck = 23
};

template <> struct Element<EIGHTEEN> {
    const float *from;
    __device__ __forceinline__ Element(const Stored &s, u32 e, const u32 *) : from(s.numbers + 18 * size_t(e)) {}
    __device__ __forceinline__ Reference at(u32 k) const {
        float v[6];
        for (int i = 0; i < 6; i++) v[i] = __ldg(from + EIGHTEEN_PLACE[k][i]);
        float sign = k == 3 ? 1.0f : -1.0f;
        return from_products(v[0], v[1], v[2], sign * v[3], sign * v[4], v[5]);
    }
};

template <> struct Element<FLY> {
    float4 x[4];
    float m[6];
    __device__ __forceinline__ Element(const Stored &s, u32 e, const u32 *nodes) {
        for (int i = 0; i < 4; i++) x[i] = __ldg(s.point + nodes[i]);
        const float2 *from = reinterpret_cast<const float2 *>(s.numbers) + 3 * size_t(e);
        for (int i = 0; i < 3; i++) {
            float2 two = __ldg(from + i);
            m[2 * i] = two.x, m[2 * i + 1] = two.y;
        }
    }
    __device__ __forceinline__ float product(float3 a, float3 b) const {
        return a.x * (m[0] * b.x + m[3] * b.y + m[5] * b.z) + a.y * (m[3] * b.x + m[1] * b.y + m[4] * b.z) +
               a.z * (m[5] * b.x + m[4] * b.y + m[2] * b.z);
    }
    __device__ __forceinline__ float3 pick_point(u32 k, int at0, int at1, int at2, int at3) const {
        return make_float3(pick(k, x[at0].x, x[at1].x, x[at2].x, x[at3].x), pick(k, x[at0].y, x[at1].y, x[at2].y, x[at3].y),
                           pick(k, x[at0].z, x[at1].z, x[at2].z, x[at3].z));
    }
    __device__ __forceinline__ Reference at(u32 k) const {
        float3 a = pick_point(k, 1, 0, 0, 0), b = pick_point(k, 2, 2, 1, 1), c = pick_point(k, 3, 3, 3, 2);
        float3 d = pick_point(k, 0, 1, 2, 3);
        float3 ac = make_float3(c.x - a.x, c.y - a.y, c.z - a.z), bc = make_float3(c.x - b.x, c.y - b.y, c.z - b.z);
        float3 cd = make_float3(d.x - c.x, d.y - c.y, d.z - c.z);
        return from_products(product(ac, ac), product(ac, bc), product(bc, bc), product(ac, cd), product(bc, cd), product(cd, cd));
    }
};

template <> struct Element<THREE> {
    float l[3];
    __device__ __forceinline__ Element(const Stored &s, u32 e, const u32 *) {
        for (int i = 0; i < 3; i++) l[i] = __ldg(s.numbers + 3 * size_t(e) + i);
    }
};

// The time at corner k of an element with these times at its corners.
template <int FORM> __device__ __forceinline__ float solve(const Element<FORM> &element, const float *t, u32 k) {
    return tetrahedron(k == 0 ? t[1] : t[0], k <= 1 ? t[2] : t[1], k <= 2 ? t[3] : t[2], element.at(k));
}

template <> __device__ __forceinline__ float solve<THREE>(const Element<THREE> &element, const float *t, u32 k) {
    const float *l = element.l; // 01, 02, 12
    return triangle(k == 0 ? t[1] : t[0], k <= 1 ? t[2] : t[1], k == 0 ? l[2] : k == 1 ? l[1] : l[0],
                    k == 2 ? l[1] : l[0], k == 0 ? l[1] : l[2]);
}

template <int FORM> __device__ __forceinline__ void load_nodes(const Stored &s, u32 e, u32 *nodes) {
    if constexpr (FORM == THREE) {
        for (int i = 0; i < 3; i++) nodes[i] = __ldg(s.nodes + 3 * size_t(e) + i);
    } else {
        uint4 four = __ldg(reinterpret_cast<const uint4 *>(s.nodes) + e);
        nodes[0] = four.x, nodes[1] = four.y, nodes[2] = four.z, nodes[3] = four.w;
    }
}

// All thread blocks wait for the last one. `target` counts arrivals. What was written before is visible after. While the first thread waits
// the others do `meanwhile`, which what is before the barrier must not depend on.
template <typename Work> __device__ __forceinline__ void grid_barrier(u32 *arrived, u32 &target, Work meanwhile) {
    target += gridDim.x;
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(arrived) : "memory");
        u32 seen;
        do {
            asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(arrived) : "memory");
        } while (int(seen - target) < 0);
    } else
        meanwhile();
    __syncthreads();
}

__device__ __forceinline__ void grid_barrier(u32 *arrived, u32 &target) {
    grid_barrier(arrived, target, [] {});
}
