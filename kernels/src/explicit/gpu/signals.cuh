// Signals as functions of time, in double precision. Branches and the order of sums are those of signals.rs.

#pragma once
#include "step.cuh"

__device__ double interpolate(const double2 *points, u32 n, double t, bool smooth) {
    u32 next = 0, end = n;
    while (next < end) {
        const u32 middle = (next + end) / 2;
        if (points[middle].x <= t) next = middle + 1;
        else end = middle;
    }
    if (n == 0) return 0;
    if (next == 0) return points[0].y;
    if (next == n) return points[n - 1].y;
    const double2 low = points[next - 1], high = points[next];
    double xi = (t - low.x) / (high.x - low.x);
    if (smooth) xi = xi * xi * xi * (10.0 + xi * (6.0 * xi - 15.0));
    return low.y + (high.y - low.y) * xi;
}

__device__ double shape_at(const Curve &curve, const double2 *numbers, double t) {
    constexpr double PI = 3.14159265358979323846;
    const double2 *points = numbers + curve.first;
    switch (curve.shape) {
    case TABULAR:
    case SMOOTH_STEP: return interpolate(points, curve.n, t, curve.shape == SMOOTH_STEP);
    case PERIODIC: {
        // a = ω, b = start time, c = A0.
        if (t < curve.b) return curve.c;
        const double phase = curve.a * __dadd_rn(t, -curve.b);
        double sum = curve.c;
        for (u32 n = 1; n <= curve.n; n++) {
            double sine, cosine;
            sincos((double)n * phase, &sine, &cosine);
            sum = sum + points[n - 1].x * cosine + points[n - 1].y * sine;
        }
        return sum;
    }
    case RICKER: {
        // a = f, b = time of the peak.
        const double root = PI * curve.a * __dadd_rn(t, -curve.b), x = root * root;
        return (1.0 - 2.0 * x) * exp(-x);
    }
    case GAUSSIAN_PULSE: {
        // a = rate, b = time of the peak.
        const double late = __dadd_rn(t, -curve.b);
        return exp(-curve.a * (late * late));
    }
    default: {
        // a = f, b = length.
        if (!(t >= 0.0 && t <= curve.b)) return 0.0;
        double window = 1.0;
        if (curve.shape == HANN_BURST) window = 0.5 * (1.0 - cos(2.0 * PI * t / curve.b));
        if (curve.shape == GAUSSIAN_BURST) {
            const double late = 6.0 * (t / curve.b - 0.5);
            window = exp(-0.5 * (late * late));
        }
        return window * sin(2.0 * PI * curve.a * t);
    }
    }
}

// Times are rounded as on the host, so that a jump falls between the same two steps.
__device__ double amplitude_at(const SignalTables &s, u32 curve, double time) {
    if (curve == NONE) return 1.0;
    const Curve c = s.curves[curve];
    return c.scale * shape_at(c, s.numbers, __dadd_rn(time, -c.delay));
}

// Evaluates the rows of one column, starting `by` steps later. An integrated column continues from row `by` of the
// existing rows. Only models with fluids have sums.
__device__ void make_rows(const SignalTables &s, u32 by) {
    __shared__ double terms[WINDOW];
    const u32 column = blockIdx.x, r = threadIdx.x, n = s.n_signals;
    const Column what = s.columns[column];
    const double dt = s.time_increment, time = __dmul_rn((double)(*s.step + by + r), dt);
    if (what.kind == VALUE) {
        if (r <= WINDOW) s.rows[(u64)r * n + column] = amplitude_at(s, what.curve, time);
        return;
    }
#ifdef POGO_SUMS
    const bool sum = what.kind == SUM;
#else
    constexpr bool sum = false;
#endif
    if (sum && r < WINDOW)
        terms[r] = dt * amplitude_at(s, what.curve, __dadd_rn(time, dt));
    else if (r < WINDOW)
        terms[r] = what.kind == VELOCITY ? dt * amplitude_at(s, what.curve, __dadd_rn(time, 0.5 * dt))
                                         : __dmul_rn(__dmul_rn(dt, dt), amplitude_at(s, what.curve, time));
    __syncthreads();
    if (r != 0) return;
    double u = s.rows[(u64)by * n + column], du = s.increments[(u64)by * n + column];
    for (u32 row = 0;; row++) {
        s.rows[(u64)row * n + column] = u;
        s.increments[(u64)row * n + column] = du;
        if (row == WINDOW) break;
        du = what.kind == VELOCITY || sum ? terms[row] : __dadd_rn(du, terms[row]);
        u = __dadd_rn(u, du);
    }
}
