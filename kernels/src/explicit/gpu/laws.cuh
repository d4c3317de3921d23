// f_int of one element, computed from its positions in every step.
//
// With g_a = ∂x/∂ξ_a and the cofactor rows c_a (c_ξ = g_η × g_ζ and so on, det J = g_ξ · c_ξ), the gradient is
// ∂u/∂x = Σ_a ∂u/∂ξ_a ⊗ c_a / det J. The force on node I is f_I = Σ_q w_q Σ_a ∂N_I/∂ξ_a (σ c_a): the weight det J
// cancels against the inverse Jacobian.
//
// Fields on quadrilaterals, wedges and hexahedra are expanded in polynomials of the reference element,
// v = v_ξ ξ + v_η η + … + v_ξηζ ξηζ, without the mean. The polynomials are orthogonal over the corners and over the
// Gauss points, and both transforms need only additions. Coefficients are multiplied by the number of nodes. The
// constants compensate for that factor.

#pragma once
#include "step.cuh"

#define BOTH_ __host__ __device__ __forceinline__

constexpr double GAUSS = 0.57735026918962576; // 1/√3

template <typename T> BOTH_ T inverse_of(T x) {
#ifdef __CUDA_ARCH__
    return reciprocal(x);
#else
    return T(1) / x;
#endif
}

template <typename T, int D> struct Vector {
    T c[D];
    BOTH_ T &operator[](int i) { return c[i]; }
    BOTH_ T operator[](int i) const { return c[i]; }
};

template <typename T, int D> BOTH_ Vector<T, D> operator+(Vector<T, D> a, Vector<T, D> b) {
#pragma unroll
    for (int i = 0; i < D; i++) a[i] += b[i];
    return a;
}

template <typename T, int D> BOTH_ Vector<T, D> operator-(Vector<T, D> a, Vector<T, D> b) {
#pragma unroll
    for (int i = 0; i < D; i++) a[i] -= b[i];
    return a;
}

template <typename T, int D> BOTH_ Vector<T, D> operator*(T s, Vector<T, D> a) {
#pragma unroll
    for (int i = 0; i < D; i++) a[i] *= s;
    return a;
}

// s a + b.
template <typename T, int D> BOTH_ Vector<T, D> axpy(T s, Vector<T, D> a, Vector<T, D> b) {
#pragma unroll
    for (int i = 0; i < D; i++) b[i] = fma(s, a[i], b[i]);
    return b;
}

// a + b or a − b. The sign is a compile-time constant after unrolling.
template <typename T, int D> BOTH_ Vector<T, D> plus(Vector<T, D> a, bool positive, Vector<T, D> b) {
    return positive ? a + b : a - b;
}

// Start value of a sum. −0 + x is x for every x, so the compiler removes the first addition.
template <typename T, int D> BOTH_ Vector<T, D> nothing() {
    Vector<T, D> a;
#pragma unroll
    for (int i = 0; i < D; i++) a[i] = T(-0.0);
    return a;
}

template <typename T> BOTH_ T dot(Vector<T, 3> a, Vector<T, 3> b) { return fma(a[0], b[0], fma(a[1], b[1], a[2] * b[2])); }

template <typename T> BOTH_ Vector<T, 3> cross(Vector<T, 3> a, Vector<T, 3> b) {
    return {fma(a[1], b[2], -(a[2] * b[1])), fma(a[2], b[0], -(a[0] * b[2])), fma(a[0], b[1], -(a[1] * b[0]))};
}

// a × b + c.
template <typename T> BOTH_ Vector<T, 3> cross(Vector<T, 3> a, Vector<T, 3> b, Vector<T, 3> c) {
    return {fma(a[1], b[2], fma(-a[2], b[1], c[0])), fma(a[2], b[0], fma(-a[0], b[2], c[1])),
            fma(a[0], b[1], fma(-a[1], b[0], c[2]))};
}

// σ in two dimensions. The constants contain the thickness and the quadrature weight.
template <typename T, bool ALIGNED> struct PlaneLaw {
    T d11, d12, d22, d66, d16, d26;

    BOTH_ PlaneLaw(const Material<T> &m, T weight)
        : d11(m.d[0] * weight), d12(m.d[1] * weight), d22(m.d[7] * weight), d66(m.d[14] * weight), d16(m.d[2] * weight),
          d26(m.d[8] * weight) {}

    // Computes σ c_ξ and σ c_η from g and h_a = ∂u/∂ξ_a: c_ξ = (g_ηy, −g_ηx), c_η = (−g_ξy, g_ξx).
    BOTH_ void fluxes(Vector<T, 2> gr, Vector<T, 2> gs, Vector<T, 2> hr, Vector<T, 2> hs, Vector<T, 2> &fr,
                      Vector<T, 2> &fs) const {
        const T inverse = inverse_of(fma(gr[0], gs[1], -(gr[1] * gs[0])));
        const T exx = fma(hr[0], gs[1], -(hs[0] * gr[1])) * inverse;
        const T eyy = fma(hs[1], gr[0], -(hr[1] * gs[0])) * inverse;
        const T gxy = fma(hs[0], gr[0], fma(-hr[0], gs[0], fma(hr[1], gs[1], -(hs[1] * gr[1])))) * inverse;
        T sxx = fma(d11, exx, d12 * eyy);
        T syy = fma(d12, exx, d22 * eyy);
        T sxy = d66 * gxy;
        if (!ALIGNED) {
            sxx = fma(d16, gxy, sxx);
            syy = fma(d26, gxy, syy);
            sxy = fma(d16, exx, fma(d26, eyy, sxy));
        }
        fr = {fma(sxx, gs[1], -(sxy * gs[0])), fma(sxy, gs[1], -(syy * gs[0]))};
        fs = {fma(sxy, gr[0], -(sxx * gr[1])), fma(syy, gr[0], -(sxy * gr[1]))};
    }
};

// ε, with doubled shear, of a tetrahedron in a ring: ∂u/∂x det J = h ⊗ cb − hr ⊗ m + hs ⊗ n. All vectors but cb are
// shared with neighbouring tetrahedra of the ring.
template <typename T>
BOTH_ void strain_of(Vector<T, 3> h, Vector<T, 3> hr, Vector<T, 3> hs, Vector<T, 3> cb, Vector<T, 3> m, Vector<T, 3> n, T inverse, T *e) {
    constexpr int I[6] = {0, 1, 2, 0, 0, 1}, J[6] = {0, 1, 2, 1, 2, 2};
#pragma unroll
    for (int v = 0; v < 6; v++) {
        const int i = I[v], j = J[v];
        e[v] = fma(h[i], cb[j], fma(-hr[i], m[j], hs[i] * n[j]));
        if (v >= 3) e[v] = fma(h[j], cb[i], fma(-hr[j], m[i], fma(hs[j], n[i], e[v])));
    }
#pragma unroll
    for (int v = 0; v < 6; v++) e[v] *= inverse;
}

// σ in three dimensions. The constants contain the quadrature weight.
template <typename T, bool ALIGNED> struct SolidLaw {
    T d[ALIGNED ? 9 : 21];

    BOTH_ SolidLaw(const Material<T> &m, T weight) {
        if (ALIGNED) {
            constexpr int AT[9] = {0, 1, 2, 7, 8, 14, 21, 28, 35};
#pragma unroll
            for (int i = 0; i < 9; i++) d[i] = m.d[AT[i]] * weight;
        } else {
            int n = 0;
#pragma unroll
            for (int i = 0; i < 6; i++)
#pragma unroll
                for (int j = i; j < 6; j++) d[n++] = m.d[6 * i + j] * weight;
        }
    }

    // Computes σ from ε in Voigt order 11, 22, 33, 12, 13, 23.
    BOTH_ void stress(const T *e, T *s) const {
        if (ALIGNED) {
            s[0] = fma(d[0], e[0], fma(d[1], e[1], d[2] * e[2]));
            s[1] = fma(d[1], e[0], fma(d[3], e[1], d[4] * e[2]));
            s[2] = fma(d[2], e[0], fma(d[4], e[1], d[5] * e[2]));
#pragma unroll
            for (int i = 3; i < 6; i++) s[i] = d[3 + i] * e[i];
        } else {
#pragma unroll
            for (int i = 0; i < 6; i++) {
                s[i] = d[entry(i, 0)] * e[0];
#pragma unroll
                for (int j = 1; j < 6; j++) s[i] = fma(d[entry(i, j)], e[j], s[i]);
            }
        }
    }

    // Position of D_ij in the upper triangle, which is stored by rows.
    BOTH_ static constexpr int entry(int i, int j) { return i <= j ? i * (11 - i) / 2 + j : j * (11 - j) / 2 + i; }

    // Computes σ c_a from g_a and h_a = ∂u/∂ξ_a.
    BOTH_ void fluxes(const Vector<T, 3> *g, const Vector<T, 3> *h, Vector<T, 3> *f) const {
        const Vector<T, 3> c[3] = {cross(g[1], g[2]), cross(g[2], g[0]), cross(g[0], g[1])};
        const T inverse = inverse_of(dot(g[0], c[0]));
        constexpr int I[6] = {0, 1, 2, 0, 0, 1}, J[6] = {0, 1, 2, 1, 2, 2};
        T e[6], s[6];
#pragma unroll
        for (int k = 0; k < 6; k++) {
            const int i = I[k], j = J[k];
            e[k] = fma(h[0][i], c[0][j], fma(h[1][i], c[1][j], h[2][i] * c[2][j]));
            if (k >= 3) e[k] = fma(h[0][j], c[0][i], fma(h[1][j], c[1][i], fma(h[2][j], c[2][i], e[k])));
        }
#pragma unroll
        for (int k = 0; k < 6; k++) e[k] *= inverse;
        stress(e, s);
#pragma unroll
        for (int a = 0; a < 3; a++) f[a] = times(s, c[a]);
    }

    // σ v.
    BOTH_ static Vector<T, 3> times(const T *s, Vector<T, 3> v) {
        return {fma(s[0], v[0], fma(s[3], v[1], s[4] * v[2])), fma(s[3], v[0], fma(s[1], v[1], s[5] * v[2])),
                fma(s[4], v[0], fma(s[5], v[1], s[2] * v[2]))};
    }

    // σ v + w.
    BOTH_ static Vector<T, 3> times(const T *s, Vector<T, 3> v, Vector<T, 3> w) {
        return {fma(s[0], v[0], fma(s[3], v[1], fma(s[4], v[2], w[0]))),
                fma(s[3], v[0], fma(s[1], v[1], fma(s[5], v[2], w[1]))),
                fma(s[4], v[0], fma(s[5], v[1], fma(s[2], v[2], w[2])))};
    }

    // What the forces of a tetrahedron in a ring are products of: σ.
    typedef T InRing[6];

    BOTH_ void in_ring(Vector<T, 3> h, Vector<T, 3> hr, Vector<T, 3> hs, Vector<T, 3> cb, Vector<T, 3> m, Vector<T, 3> n,
                       T inverse, InRing &s) const {
        T e[6];
        strain_of(h, hr, hs, cb, m, n, inverse, e);
        stress(e, s);
    }
};

// The flux of a fluid in two dimensions. With the cofactors c_a and v = Σ_a ∂q/∂ξ_a c_a, the flux is v / (ρ det J), and
// the force on node I is Σ_a ∂N_I/∂ξ_a (v · c_a) / (ρ det J). The constant is 1/ρ times the thickness and the weight.
template <typename T> struct PlaneFlow {
    T compliance;

    BOTH_ PlaneFlow(const Material<T> &m, T weight) : compliance(m.d[0] * weight) {}

    // |c_ξ|² = |g_η|², |c_η|² = |g_ξ|², c_ξ · c_η = −g_ξ · g_η.
    BOTH_ void fluxes(Vector<T, 2> gr, Vector<T, 2> gs, Vector<T, 1> hr, Vector<T, 1> hs, Vector<T, 1> &fr,
                      Vector<T, 1> &fs) const {
        const T factor = compliance * inverse_of(fma(gr[0], gs[1], -(gr[1] * gs[0])));
        const T rr = fma(gr[0], gr[0], gr[1] * gr[1]), ss = fma(gs[0], gs[0], gs[1] * gs[1]);
        const T rs = fma(gr[0], gs[0], gr[1] * gs[1]);
        const T r = hr[0] * factor, s = hs[0] * factor;
        fr[0] = fma(-s, rs, r * ss);
        fs[0] = fma(-r, rs, s * rr);
    }
};

// The flux of a fluid in three dimensions.
template <typename T> struct SpaceFlow {
    T compliance;

    BOTH_ SpaceFlow(const Material<T> &m, T weight) : compliance(m.d[0] * weight) {}

    BOTH_ void fluxes(const Vector<T, 3> *g, const Vector<T, 1> *h, Vector<T, 1> *f) const {
        const Vector<T, 3> c[3] = {cross(g[1], g[2]), cross(g[2], g[0]), cross(g[0], g[1])};
        const T factor = compliance * inverse_of(dot(g[0], c[0]));
        const Vector<T, 3> v = factor * axpy(h[0][0], c[0], axpy(h[1][0], c[1], h[2][0] * c[2]));
#pragma unroll
        for (int a = 0; a < 3; a++) f[a][0] = dot(v, c[a]);
    }

    // As in SolidLaw: v.
    typedef Vector<T, 3> InRing;

    BOTH_ void in_ring(Vector<T, 1> h, Vector<T, 1> hr, Vector<T, 1> hs, Vector<T, 3> cb, Vector<T, 3> m, Vector<T, 3> n,
                       T inverse, InRing &v) const {
        v = compliance * inverse * axpy(h[0], cb, axpy(-hr[0], m, hs[0] * n));
    }
    BOTH_ static Vector<T, 1> times(InRing v, Vector<T, 3> c) { return {dot(v, c)}; }
    BOTH_ static Vector<T, 1> times(InRing v, Vector<T, 3> c, Vector<T, 1> w) { return {dot(v, c) + w[0]}; }
};

// Force computation of one element type: f_int of all nodes, NODES × C, from their positions, NODES × D, and their
// unknowns, NODES × C. These are displacements, or one q in a fluid. Forces depend only on differences, and their sum is
// zero.
template <typename T, u32 LAW, bool ALIGNED> struct Element;

// Elements of solids and of fluids differ in the fluxes of their `Flux`, and in the number C of unknowns of a node.
template <typename T, typename Flux, int C_> struct TriangleOf {
    static constexpr int D = 2, C = C_, NODES = 3;
    Flux plane;

    BOTH_ TriangleOf(const Material<T> &material) : plane(material, T(0.5)) {}

    BOTH_ void force(const Vector<T, 2> *x, const Vector<T, C> *u, Vector<T, C> *f) const {
        plane.fluxes(x[1] - x[0], x[2] - x[0], u[1] - u[0], u[2] - u[0], f[1], f[2]);
        f[0] = nothing<T, C>() - f[1] - f[2];
    }
};

// 2 × 2 points.
template <typename T, typename Flux, int C_> struct QuadrilateralOf {
    static constexpr int D = 2, C = C_, NODES = 4;
    typedef Vector<T, 2> X;
    typedef Vector<T, C> V;
    Flux plane;

    BOTH_ QuadrilateralOf(const Material<T> &material) : plane(material, T(1.0 / 16.0)) {}

    // Coefficients of ξ and η, and that of ξη times 1/√3.
    template <int N> BOTH_ static void modes(const Vector<T, N> *v, Vector<T, N> *m) {
        const Vector<T, N> a = v[1] - v[0], b = v[2] - v[3];
        m[0] = a + b;
        m[1] = (v[3] - v[0]) + (v[2] - v[1]);
        m[2] = T(GAUSS) * (b - a);
    }

    BOTH_ void force(const X *x, const V *u, V *f) const {
        X g[3];
        V h[3], q[3] = {nothing<T, C>(), nothing<T, C>(), nothing<T, C>()};
        modes(x, g);
        modes(u, h);
#pragma unroll
        for (int s = 0; s < 2; s++) {
            const X gr = plus(g[0], s, g[2]);
            const V hr = plus(h[0], s, h[2]);
#pragma unroll
            for (int r = 0; r < 2; r++) {
                V fr, fs;
                plane.fluxes(gr, plus(g[1], r, g[2]), hr, plus(h[1], r, h[2]), fr, fs);
                q[0] = q[0] + fr;
                q[1] = q[1] + fs;
                q[2] = plus(plus(q[2], s, fr), r, fs);
            }
        }
        q[2] = T(GAUSS) * q[2];
        const V sum = q[0] + q[1], difference = q[0] - q[1];
        f[0] = q[2] - sum;
        f[1] = difference - q[2];
        f[2] = sum + q[2];
        f[3] = nothing<T, C>() - difference - q[2];
    }
};

// Mean gradient with hourglass stiffness.
template <typename T, typename Flux, int C_> struct ReducedQuadrilateralOf {
    static constexpr int D = 2, C = C_, NODES = 4;
    typedef Vector<T, 2> X;
    typedef Vector<T, C> V;
    Flux plane;
    T hourglass;

    BOTH_ ReducedQuadrilateralOf(const Material<T> &material) : plane(material, T(0.5)), hourglass(material.hourglass) {}

    BOTH_ void force(const X *x, const V *u, V *f) const {
        // The mean gradient of a quadrilateral follows from its diagonals p = x₂ − x₀, q = x₃ − x₁: 2A = p × q.
        const X p = x[2] - x[0], q = x[3] - x[1];
        const V up = u[2] - u[0], uq = u[3] - u[1];
        const T inverse = inverse_of(fma(p[0], q[1], -(p[1] * q[0])));
        V fp, fq;
        plane.fluxes(p, q, up, uq, fp, fq);
        // q = h·u − (∂u/∂x) h·x. The force is κ q (h_I − B_I·(h·x)) with κ = κ' Σ B² / A and Σ B² = (p² + q²) / 2.
        const X hx = (x[0] - x[1]) + (x[2] - x[3]);
        const V hu = (u[0] - u[1]) + (u[2] - u[3]);
        const T squares = fma(p[0], p[0], fma(p[1], p[1], fma(q[0], q[0], q[1] * q[1])));
        const T kappa = hourglass * squares * inverse;
        // h·x in terms of the diagonals: h·x = m_p p + m_q q.
        const T mp = -fma(hx[0], q[1], -(hx[1] * q[0])) * inverse;
        const T mq = -fma(p[0], hx[1], -(p[1] * hx[0])) * inverse;
        const V amount = kappa * axpy(mp, up, axpy(mq, uq, hu));
        fp = axpy(mp, amount, fp);
        fq = axpy(mq, amount, fq);
        f[0] = amount - fp;
        f[1] = nothing<T, C>() - amount - fq;
        f[2] = amount + fp;
        f[3] = fq - amount;
    }
};

template <typename T, typename Flux, int C_> struct TetrahedronOf {
    static constexpr int D = 3, C = C_, NODES = 4;
    Flux solid;

    BOTH_ TetrahedronOf(const Material<T> &material) : solid(material, T(1)) {}

    BOTH_ void force(const Vector<T, 3> *x, const Vector<T, C> *u, Vector<T, C> *f) const {
        Vector<T, 3> g[3];
        Vector<T, C> h[3];
#pragma unroll
        for (int a = 0; a < 3; a++) {
            g[a] = x[a + 1] - x[0];
            h[a] = u[a + 1] - u[0];
        }
        solid.fluxes(g, h, f + 1);
        f[0] = nothing<T, C>() - f[1] - f[2] - f[3];
    }
};

// 1 × 2 points.
template <typename T, typename Flux, int C_> struct WedgeOf {
    static constexpr int D = 3, C = C_, NODES = 6;
    typedef Vector<T, 3> X;
    typedef Vector<T, C> V;
    Flux solid;

    BOTH_ WedgeOf(const Material<T> &material) : solid(material, T(1.0 / 16.0)) {}

    // ∂/∂r and ∂/∂s at mid-height, their variation times 1/√3, and ∂/∂ζ along the axis; each times 2.
    template <int N> BOTH_ static void modes(const Vector<T, N> *v, Vector<T, N> *m) {
        typedef Vector<T, N> V;
        const V r = v[1] - v[0], s = v[2] - v[0], r_top = v[4] - v[3], s_top = v[5] - v[3];
        const V dr = r_top - r, ds = s_top - s;
        m[0] = r + r_top;
        m[1] = s + s_top;
        m[2] = T(GAUSS) * dr;
        m[3] = T(GAUSS) * ds;
        m[4] = axpy(T(1.0 / 3.0), dr + ds, v[3] - v[0]);
    }

    BOTH_ void force(const X *x, const V *u, V *f) const {
        X mx[5];
        V mu[5], q[5];
        modes(x, mx);
        modes(u, mu);
#pragma unroll
        for (int i = 0; i < 5; i++) q[i] = nothing<T, C>();
#pragma unroll
        for (int top = 0; top < 2; top++) {
            const X g[3] = {plus(mx[0], top, mx[2]), plus(mx[1], top, mx[3]), mx[4]};
            const V h[3] = {plus(mu[0], top, mu[2]), plus(mu[1], top, mu[3]), mu[4]};
            V flux[3];
            solid.fluxes(g, h, flux);
            q[0] = q[0] + flux[0];
            q[1] = q[1] + flux[1];
            q[2] = plus(q[2], top, flux[0]);
            q[3] = plus(q[3], top, flux[1]);
            q[4] = q[4] + flux[2];
        }
        const V up = q[4], shared = T(1.0 / 3.0) * up;
        const V dr = axpy(T(GAUSS), q[2], shared), ds = axpy(T(GAUSS), q[3], shared);
        f[1] = q[0] - dr;
        f[2] = q[1] - ds;
        f[4] = q[0] + dr;
        f[5] = q[1] + ds;
        f[0] = nothing<T, C>() - up - (f[1] + f[2]);
        f[3] = up - (f[4] + f[5]);
    }
};

// C3D6F: 3 × 2 points.
template <typename T, bool ALIGNED> struct Element<T, FULL_WEDGE, ALIGNED> {
    static constexpr int D = 3, C = 3, NODES = 6;
    typedef Vector<T, 3> V;
    SolidLaw<T, ALIGNED> solid;

    BOTH_ Element(const Material<T> &material) : solid(material, T(0.125)) {}

    // ∂/∂r and ∂/∂s at mid-height, their variation times 1/√3, and ∂/∂ζ at the three points.
    BOTH_ static void modes(const V *v, V *m) {
        const V r = v[1] - v[0], s = v[2] - v[0], r_top = v[4] - v[3], s_top = v[5] - v[3];
        const V dr = r_top - r, ds = s_top - s;
        m[0] = r + r_top;
        m[1] = s + s_top;
        m[2] = T(GAUSS) * dr;
        m[3] = T(GAUSS) * ds;
        m[4] = axpy(T(1.0 / 6.0), dr + ds, v[3] - v[0]);
        m[5] = axpy(T(0.5), dr, m[4]);
        m[6] = axpy(T(0.5), ds, m[4]);
    }

    BOTH_ void force(const V *x, const V *u, V *f) const {
        V mx[7], mu[7], q[7];
        modes(x, mx);
        modes(u, mu);
#pragma unroll
        for (int i = 0; i < 7; i++) q[i] = nothing<T, 3>();
#pragma unroll
        for (int top = 0; top < 2; top++) {
            V g[3] = {plus(mx[0], top, mx[2]), plus(mx[1], top, mx[3])};
            V h[3] = {plus(mu[0], top, mu[2]), plus(mu[1], top, mu[3])};
            V r = nothing<T, 3>(), s = nothing<T, 3>();
#pragma unroll
            for (int point = 0; point < 3; point++) {
                V flux[3];
                g[2] = mx[4 + point];
                h[2] = mu[4 + point];
                solid.fluxes(g, h, flux);
                r = r + flux[0];
                s = s + flux[1];
                q[4 + point] = q[4 + point] + flux[2];
            }
            q[0] = q[0] + r;
            q[1] = q[1] + s;
            q[2] = plus(q[2], top, r);
            q[3] = plus(q[3], top, s);
        }
        const V up = q[4] + q[5] + q[6], shared = T(1.0 / 6.0) * up;
        const V dr = axpy(T(GAUSS), q[2], axpy(T(0.5), q[5], shared));
        const V ds = axpy(T(GAUSS), q[3], axpy(T(0.5), q[6], shared));
        f[1] = q[0] - dr;
        f[2] = q[1] - ds;
        f[4] = q[0] + dr;
        f[5] = q[1] + ds;
        f[0] = nothing<T, 3>() - up - (f[1] + f[2]);
        f[3] = up - (f[4] + f[5]);
    }
};

// Coefficients of a field over a hexahedron, times 8: ξ, η, ζ, ηζ, ζξ, ξη, ξηζ. Differences are formed first, so that a
// common part of the nodal values costs no accuracy.
template <typename T, int C> BOTH_ void hexahedron_modes(const Vector<T, C> *v, Vector<T, C> *m) {
    typedef Vector<T, C> V;
    const V a = v[1] - v[0], b = v[2] - v[3], c = v[5] - v[4], d = v[6] - v[7];
    const V ab = a + b, cd = c + d, ba = b - a, dc = d - c;
    m[0] = ab + cd;
    m[4] = cd - ab;
    m[5] = ba + dc;
    m[6] = dc - ba;
    // The other edges along η and ζ are these edges plus differences between edges along ξ.
    const V low = v[3] - v[0], high = v[7] - v[4], rise = high - low;
    m[1] = axpy(T(2), low + high, m[5]);
    m[3] = axpy(T(2), rise, m[6]);
    m[2] = axpy(T(4), v[4] - v[0], axpy(T(2), rise, m[4]));
}

// The transpose: forces on the corners from forces on the coefficients.
template <typename T, int C> BOTH_ void hexahedron_corners(const Vector<T, C> *q, Vector<T, C> *f) {
    typedef Vector<T, C> V;
    constexpr int NODE[2][2][2] = {{{0, 1}, {3, 2}}, {{4, 5}, {7, 6}}}; // [ζ][η][ξ]
#pragma unroll
    for (int r = 0; r < 2; r++) {
        const V eta = plus(q[1], r, q[5]), zeta = plus(q[2], r, q[4]), both = plus(q[3], r, q[6]);
#pragma unroll
        for (int s = 0; s < 2; s++) {
            const V level = r ? plus(q[0], s, eta) : plus(nothing<T, C>() - q[0], s, eta);
            const V slope = plus(zeta, s, both);
            f[NODE[0][s][r]] = level - slope;
            f[NODE[1][s][r]] = level + slope;
        }
    }
}

// 2 × 2 × 2 points.
template <typename T, typename Flux, int C_> struct HexahedronOf {
    static constexpr int D = 3, C = C_, NODES = 8;
    typedef Vector<T, 3> X;
    typedef Vector<T, C> V;
    Flux solid;

    BOTH_ HexahedronOf(const Material<T> &material) : solid(material, T(1.0 / 512.0)) {}

    BOTH_ void force(const X *x, const V *u, V *f) const {
        X mx[7];
        V mu[7], q[7];
        hexahedron_modes(x, mx);
        hexahedron_modes(u, mu);
        force_of_modes(mx, mu, q);
        hexahedron_corners(q, f);
    }

    // Forces on the coefficients. At the Gauss points the product terms are scaled by 1/√3 or 1/3.
    BOTH_ void force_of_modes(X *mx, V *mu, V *q) const {
#pragma unroll
        for (int i = 3; i < 7; i++) {
            const T at_points = i < 6 ? T(GAUSS) : T(1.0 / 3.0);
            mx[i] = at_points * mx[i];
            mu[i] = at_points * mu[i];
        }
#pragma unroll
        for (int i = 0; i < 7; i++) q[i] = nothing<T, C>();
#pragma unroll
        for (int t = 0; t < 2; t++) {
            // At one ζ: ∂/∂ξ = a ± c at η = ±1/√3, ∂/∂η = b ± c at ξ = ±1/√3.
            const X xa = plus(mx[0], t, mx[4]), xb = plus(mx[1], t, mx[3]), xc = plus(mx[5], t, mx[6]);
            const V ua = plus(mu[0], t, mu[4]), ub = plus(mu[1], t, mu[3]), uc = plus(mu[5], t, mu[6]);
            V qa = nothing<T, C>(), qb = qa, qc = qa;
#pragma unroll
            for (int s = 0; s < 2; s++) {
                const X xz = plus(mx[2], s, mx[3]), xd = plus(mx[4], s, mx[6]);
                const V uz = plus(mu[2], s, mu[3]), ud = plus(mu[4], s, mu[6]);
                V flux[2][3];
#pragma unroll
                for (int r = 0; r < 2; r++) {
                    const X g[3] = {plus(xa, s, xc), plus(xb, r, xc), plus(xz, r, xd)};
                    const V h[3] = {plus(ua, s, uc), plus(ub, r, uc), plus(uz, r, ud)};
                    solid.fluxes(g, h, flux[r]);
                }
                const V along = flux[0][0] + flux[1][0];
                qa = qa + along;
                qb = qb + (flux[0][1] + flux[1][1]);
                qc = plus(qc, s, along) + (flux[1][1] - flux[0][1]);
                const V sum = flux[0][2] + flux[1][2], difference = flux[1][2] - flux[0][2];
                q[2] = q[2] + sum;
                q[3] = plus(q[3], s, sum);
                q[4] = q[4] + difference;
                q[6] = plus(q[6], s, difference);
            }
            q[0] = q[0] + qa;
            q[4] = plus(q[4], t, qa);
            q[1] = q[1] + qb;
            q[3] = plus(q[3], t, qb);
            q[5] = q[5] + qc;
            q[6] = plus(q[6], t, qc);
        }
#pragma unroll
        for (int i = 3; i < 6; i++) q[i] = T(GAUSS) * q[i];
        q[6] = T(1.0 / 3.0) * q[6];
    }
};

// C3D8 whose opposite edges are equal. Its Jacobian is constant, and ∂u/∂x is linear in the coefficients of u.
// Quadrature couples no two different polynomials. The result is that of the general element with a third of its
// arithmetic. Only the positions of four corners are read.
template <typename T, bool ALIGNED> struct Element<T, PARALLELEPIPED, ALIGNED> {
    static constexpr int D = 3, C = 3, NODES = 8;
    typedef Vector<T, 3> V;
    SolidLaw<T, ALIGNED> solid;

    BOTH_ Element(const Material<T> &material) : solid(material, T(1.0 / 8.0)) {}

    // σ of Σ h_i ⊗ c_i, i < N. c is divided by det J.
    template <int N> BOTH_ void stress(const V *h, const V *c, T *s) const {
        constexpr int I[6] = {0, 1, 2, 0, 0, 1}, J[6] = {0, 1, 2, 1, 2, 2};
        T e[6];
#pragma unroll
        for (int k = 0; k < 6; k++) {
            const int i = I[k], j = J[k];
            e[k] = h[0][i] * c[0][j];
            if (k >= 3) e[k] = fma(h[0][j], c[0][i], e[k]);
#pragma unroll
            for (int n = 1; n < N; n++) {
                e[k] = fma(h[n][i], c[n][j], e[k]);
                if (k >= 3) e[k] = fma(h[n][j], c[n][i], e[k]);
            }
        }
        solid.stress(e, s);
    }

    BOTH_ void force(const V *x, const V *u, V *f) const {
        const V g[3] = {x[1] - x[0], x[3] - x[0], x[4] - x[0]};
        V m[7], q[7];
        hexahedron_modes(u, m);
        force_of_edges(g, m, q);
        hexahedron_corners(q, f);
    }

    BOTH_ void force_of_modes(const V *mx, const V *mu, V *q) const {
        const V g[3] = {T(0.25) * mx[0], T(0.25) * mx[1], T(0.25) * mx[2]};
        force_of_edges(g, mu, q);
    }

    BOTH_ void force_of_edges(const V *g, const V *m, V *q) const {
        // With the edges g = 2 ∂x/∂ξ and the coefficients h = 8 ∂u/∂ξ, forces would be 8 times too large. The constants
        // contain 1/8.
        const V c[3] = {cross(g[1], g[2]), cross(g[2], g[0]), cross(g[0], g[1])};
        const T inverse = T(1.0 / 2.0) * inverse_of(dot(g[0], c[0]));
        const V w[3] = {inverse * c[0], inverse * c[1], inverse * c[2]};
        T s[6];
        stress<3>(m, w, s);
#pragma unroll
        for (int a = 0; a < 3; a++) q[a] = SolidLaw<T, ALIGNED>::times(s, c[a]);
        // The part of ∂u/∂x that is proportional to ξ_a comes from the products of ξ_a with the other two coordinates.
        T sx[6], sy[6], sz[6];
        {
            const V h[2] = {m[5], m[4]}, v[2] = {w[1], w[2]};
            stress<2>(h, v, sx);
        }
        {
            const V h[2] = {m[5], m[3]}, v[2] = {w[0], w[2]};
            stress<2>(h, v, sy);
        }
        {
            const V h[2] = {m[4], m[3]}, v[2] = {w[0], w[1]};
            stress<2>(h, v, sz);
        }
        typedef SolidLaw<T, ALIGNED> S;
        q[3] = T(1.0 / 3.0) * S::times(sy, c[2], S::times(sz, c[1]));
        q[4] = T(1.0 / 3.0) * S::times(sx, c[2], S::times(sz, c[0]));
        q[5] = T(1.0 / 3.0) * S::times(sx, c[1], S::times(sy, c[0]));
        // ξηζ: ∂u/∂x = h ⊗ (ηζ c_ξ + ζξ c_η + ξη c_ζ).
        if constexpr (ALIGNED) {
            // Σ_a c_aj c_al / det J, then its product with the elasticity.
            const auto square = [&](int j, int l) {
                return fma(c[0][j], w[0][l], fma(c[1][j], w[1][l], c[2][j] * w[2][l]));
            };
            const T xx = square(0, 0), yy = square(1, 1), zz = square(2, 2);
            const T *d = solid.d;
            const T k[6] = {fma(d[0], xx, fma(d[6], yy, d[7] * zz)),
                            fma(d[6], xx, fma(d[3], yy, d[8] * zz)),
                            fma(d[7], xx, fma(d[8], yy, d[5] * zz)),
                            (d[1] + d[6]) * square(0, 1),
                            (d[2] + d[7]) * square(0, 2),
                            (d[4] + d[8]) * square(1, 2)};
            q[6] = T(1.0 / 9.0) * S::times(k, m[6]);
        } else {
            V sum = nothing<T, 3>();
#pragma unroll
            for (int a = 0; a < 3; a++) {
                stress<1>(m + 6, w + a, s);
                sum = S::times(s, c[a], sum);
            }
            q[6] = T(1.0 / 9.0) * sum;
        }
    }
};

// 64 B̄ of a hexahedron by coefficients: the mean over the element of c_ξ for ξ, and of η c_ξ + ξ c_η for ξη. It is zero for
// ξηζ, where each cross product has two equal factors.
template <typename T> BOTH_ void mean_derivatives(const Vector<T, 3> *mx, Vector<T, 3> *b) {
    typedef Vector<T, 3> V;
    const V yz = T(1.0 / 3.0) * mx[3], zx = T(1.0 / 3.0) * mx[4], xy = T(1.0 / 3.0) * mx[5];
    b[0] = cross(mx[1], mx[2], cross(xy, mx[4]));
    b[1] = cross(mx[2], mx[0], cross(yz, mx[5]));
    b[2] = cross(mx[0], mx[1], cross(zx, mx[3]));
    b[3] = cross(mx[2], zx, cross(xy, mx[1]));
    b[4] = cross(mx[0], xy, cross(yz, mx[2]));
    b[5] = cross(mx[1], yz, cross(zx, mx[0]));
}

// C3D8R: exact mean gradient B̄ = ∫ ∂N/∂x dV with hourglass stiffness.
template <typename T, bool ALIGNED> struct Element<T, REDUCED_HEXAHEDRON, ALIGNED> {
    static constexpr int D = 3, C = 3, NODES = 8;
    typedef Vector<T, 3> V;
    SolidLaw<T, ALIGNED> solid;
    T hourglass;

    BOTH_ Element(const Material<T> &material)
        : solid(material, T(1.0 / 64.0)), hourglass(material.hourglass * T(1.0 / 8.0)) {}

    BOTH_ void force(const V *x, const V *u, V *f) const {
        V mx[7], mu[7], q[7];
        hexahedron_modes(x, mx);
        hexahedron_modes(u, mu);
        force_of_modes(mx, mu, q);
        hexahedron_corners(q, f);
    }

    // Forces on the coefficients.
    BOTH_ void force_of_modes(const V *mx, const V *mu, V *q) const {
        V b[6];
        mean_derivatives(mx, b);
        // V ∂u_i/∂x_j, V and Σ B̄² / 8.
        V gradient[3];
        T volume = mx[0][0] * b[0][0], squares = dot(b[0], b[0]);
#pragma unroll
        for (int i = 0; i < 3; i++) gradient[i] = mu[0][i] * b[0];
#pragma unroll
        for (int m = 1; m < 6; m++) {
            volume = fma(mx[m][0], b[m][0], volume);
            squares = fma(b[m][0], b[m][0], fma(b[m][1], b[m][1], fma(b[m][2], b[m][2], squares)));
#pragma unroll
            for (int i = 0; i < 3; i++) gradient[i] = axpy(mu[m][i], b[m], gradient[i]);
        }
        const T inverse = inverse_of(volume), kappa = hourglass * squares * inverse;
#pragma unroll
        for (int i = 0; i < 3; i++) gradient[i] = inverse * gradient[i];
        const T e[6] = {gradient[0][0], gradient[1][1], gradient[2][2], gradient[0][1] + gradient[1][0],
                        gradient[0][2] + gradient[2][0], gradient[1][2] + gradient[2][1]};
        T s[6];
        solid.stress(e, s);
        // q_α = h_α·u − (∂u/∂x)(h_α·x). Its force κ q_α (h_αI − B̄_I·(h_α·x)/V) reduces σ by κ q_α ⊗ (h_α·x)/V.
        V rows[3] = {{s[0], s[3], s[4]}, {s[3], s[1], s[5]}, {s[4], s[5], s[2]}};
        V amounts[4];
#pragma unroll
        for (int i = 0; i < 3; i++) {
            V lower = nothing<T, 3>();
#pragma unroll
            for (int m = 0; m < 4; m++) {
                const V x = mx[3 + m], g = gradient[i];
                amounts[m][i] = kappa * fma(-g[0], x[0], fma(-g[1], x[1], fma(-g[2], x[2], mu[3 + m][i])));
                lower = axpy(amounts[m][i], x, lower);
            }
            rows[i] = axpy(-inverse, lower, rows[i]);
        }
#pragma unroll
        for (int m = 0; m < 6; m++)
#pragma unroll
            for (int i = 0; i < 3; i++) {
                const T start = m < 3 ? T(-0.0) : amounts[m < 3 ? 0 : m - 3][i];
                q[m][i] = fma(rows[i][0], b[m][0], fma(rows[i][1], b[m][1], fma(rows[i][2], b[m][2], start)));
            }
        q[6] = amounts[3];
    }
};

// AC3D8 whose opposite edges are equal. The metric G_ab = c_a · c_b / (ρ det J) is constant, and quadrature couples no two
// different polynomials of ∂q/∂ξ_a.
template <typename T> struct AcousticParallelepiped {
    static constexpr int D = 3, C = 1, NODES = 8;
    typedef Vector<T, 3> X;
    typedef Vector<T, 1> V;
    T compliance;

    // As in C3D8 with equal edges: edges are 2 ∂x/∂ξ, coefficients 8 ∂q/∂ξ.
    BOTH_ AcousticParallelepiped(const Material<T> &m) : compliance(m.d[0] * T(1.0 / 16.0)) {}

    BOTH_ void force(const X *x, const V *u, V *f) const {
        const X g[3] = {x[1] - x[0], x[3] - x[0], x[4] - x[0]};
        V m[7], q[7];
        hexahedron_modes(u, m);
        force_of_edges(g, m, q);
        hexahedron_corners(q, f);
    }

    BOTH_ void force_of_modes(const X *mx, const V *mu, V *q) const {
        const X g[3] = {T(0.25) * mx[0], T(0.25) * mx[1], T(0.25) * mx[2]};
        force_of_edges(g, mu, q);
    }

    BOTH_ void force_of_edges(const X *g, const V *m, V *q) const {
        const X c[3] = {cross(g[1], g[2]), cross(g[2], g[0]), cross(g[0], g[1])};
        const T factor = compliance * inverse_of(dot(g[0], c[0]));
        const X w[3] = {factor * c[0], factor * c[1], factor * c[2]};
        const T xx = dot(w[0], c[0]), yy = dot(w[1], c[1]), zz = dot(w[2], c[2]);
        const T xy = dot(w[0], c[1]), xz = dot(w[0], c[2]), yz = dot(w[1], c[2]);
        q[0][0] = fma(xx, m[0][0], fma(xy, m[1][0], xz * m[2][0]));
        q[1][0] = fma(xy, m[0][0], fma(yy, m[1][0], yz * m[2][0]));
        q[2][0] = fma(xz, m[0][0], fma(yz, m[1][0], zz * m[2][0]));
        // The product of two coordinates has a slope along both.
        q[3][0] = T(1.0 / 3.0) * fma(yy + zz, m[3][0], fma(xy, m[4][0], xz * m[5][0]));
        q[4][0] = T(1.0 / 3.0) * fma(xx + zz, m[4][0], fma(xy, m[3][0], yz * m[5][0]));
        q[5][0] = T(1.0 / 3.0) * fma(xx + yy, m[5][0], fma(xz, m[3][0], yz * m[4][0]));
        q[6][0] = T(1.0 / 9.0) * (xx + yy + zz) * m[6][0];
    }
};

// AC3D8R: exact mean gradient with hourglass stiffness, as in C3D8R.
template <typename T> struct AcousticReducedHexahedron {
    static constexpr int D = 3, C = 1, NODES = 8;
    typedef Vector<T, 3> X;
    typedef Vector<T, 1> V;
    T compliance, hourglass;

    BOTH_ AcousticReducedHexahedron(const Material<T> &m)
        : compliance(m.d[0] * T(1.0 / 64.0)), hourglass(m.hourglass * T(1.0 / 8.0)) {}

    BOTH_ void force(const X *x, const V *u, V *f) const {
        X mx[7];
        V mu[7], q[7];
        hexahedron_modes(x, mx);
        hexahedron_modes(u, mu);
        force_of_modes(mx, mu, q);
        hexahedron_corners(q, f);
    }

    // Forces on the coefficients.
    BOTH_ void force_of_modes(const X *mx, const V *mu, V *q) const {
        X b[6];
        mean_derivatives(mx, b);
        // V ∂q/∂x, V and Σ B̄² / 8.
        X gradient = mu[0][0] * b[0];
        T volume = mx[0][0] * b[0][0], squares = dot(b[0], b[0]);
#pragma unroll
        for (int m = 1; m < 6; m++) {
            volume = fma(mx[m][0], b[m][0], volume);
            squares = fma(b[m][0], b[m][0], fma(b[m][1], b[m][1], fma(b[m][2], b[m][2], squares)));
            gradient = axpy(mu[m][0], b[m], gradient);
        }
        const T inverse = inverse_of(volume), kappa = hourglass * squares * inverse;
        gradient = inverse * gradient;
        X flux = compliance * gradient;
        T amounts[4];
        X lower = nothing<T, 3>();
#pragma unroll
        for (int m = 0; m < 4; m++) {
            const X x = mx[3 + m];
            amounts[m] = kappa * fma(-gradient[0], x[0], fma(-gradient[1], x[1], fma(-gradient[2], x[2], mu[3 + m][0])));
            lower = axpy(amounts[m], x, lower);
        }
        flux = axpy(-inverse, lower, flux);
#pragma unroll
        for (int m = 0; m < 6; m++) {
            const T start = m < 3 ? T(-0.0) : amounts[m < 3 ? 0 : m - 3];
            q[m][0] = fma(flux[0], b[m][0], fma(flux[1], b[m][1], fma(flux[2], b[m][2], start)));
        }
        q[6][0] = amounts[3];
    }
};

#define ELEMENT(LAW, ...)                                                                                               \
    template <typename T, bool ALIGNED> struct Element<T, LAW, ALIGNED> : __VA_ARGS__ {                                 \
        typedef __VA_ARGS__ Base;                                                                                       \
        BOTH_ Element(const Material<T> &material) : Base(material) {}                                                  \
    };

ELEMENT(TRIANGLE, TriangleOf<T, PlaneLaw<T, ALIGNED>, 2>)                          // CPE3, CPS3
ELEMENT(QUADRILATERAL, QuadrilateralOf<T, PlaneLaw<T, ALIGNED>, 2>)                // CPE4, CPS4
ELEMENT(REDUCED_QUADRILATERAL, ReducedQuadrilateralOf<T, PlaneLaw<T, ALIGNED>, 2>) // CPE4R, CPS4R
ELEMENT(TETRAHEDRON, TetrahedronOf<T, SolidLaw<T, ALIGNED>, 3>)                    // C3D4
ELEMENT(WEDGE, WedgeOf<T, SolidLaw<T, ALIGNED>, 3>)                                // C3D6
ELEMENT(HEXAHEDRON, HexahedronOf<T, SolidLaw<T, ALIGNED>, 3>)                      // C3D8
ELEMENT(ACOUSTIC_TRIANGLE, TriangleOf<T, PlaneFlow<T>, 1>)                         // AC2D3
ELEMENT(ACOUSTIC_QUADRILATERAL, QuadrilateralOf<T, PlaneFlow<T>, 1>)               // AC2D4
ELEMENT(ACOUSTIC_REDUCED_QUADRILATERAL, ReducedQuadrilateralOf<T, PlaneFlow<T>, 1>) // AC2D4R
ELEMENT(ACOUSTIC_TETRAHEDRON, TetrahedronOf<T, SpaceFlow<T>, 1>)                   // AC3D4
ELEMENT(ACOUSTIC_WEDGE, WedgeOf<T, SpaceFlow<T>, 1>)                               // AC3D6
ELEMENT(ACOUSTIC_HEXAHEDRON, HexahedronOf<T, SpaceFlow<T>, 1>)                     // AC3D8
ELEMENT(ACOUSTIC_PARALLELEPIPED, AcousticParallelepiped<T>)                        // AC3D8 with equal opposite edges
ELEMENT(ACOUSTIC_REDUCED_HEXAHEDRON, AcousticReducedHexahedron<T>)                 // AC3D8R
