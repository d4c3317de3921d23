// The product y = K x of the finest level and what follows it, on a grid cut into tiles.
//
// A tile is 15 × 15 columns of nodes. Its nodes are numbered plane by plane, so that what a plane of it has lies in one
// piece. A thread block goes up a stretch of a tile: 16 × 16 threads, each with the elements between the node of its
// column and the next ones; those of the first row and column are computed by two tiles, for nodes get all their sums in one
// place: nothing is added in device memory. Of an element the transform over the four nodes of a face is that of the
// element above too, and stays in registers, as do sums on that face. Neighbouring columns meet in shared memory, with
// one barrier a plane. What follows the product is done by each warp on its up to 32 nodes, a contiguous piece of each vector.
//
// Instructions on numbers a voxel: 24 + 21 transforms, 33 in the middle, 42 back, 24 with E, 9 sums.

#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

constexpr u32 THREADS = 256;
constexpr u32 WARPS = THREADS / 32;
/// Distance of rows in shared memory: four rows of eight numbers meet no bank twice.
constexpr u32 PITCH = 24;
constexpr u32 ROWS = 17;
/// In Word::node_at: some degree of freedom of this plane of the tile is fixed.
constexpr u32 HAS_FIXED = 0x80000000u;

/// What a warp needs of a plane: bit 8 y + x of its 8 × 4 columns. Columns 0 have no nodes of the tile.
struct __align__(16) Word {
    u32 nodes;
    u32 elements;   // between this plane and the next, at (x, y) … (x + 1, y + 1)
    u32 node_at;    // number of the first node
    u32 element_at; // the same of elements, in the tile's order
};

/// A plane of a tile; before the first of a tile and after the last stands an empty one, two before all.
struct __align__(16) Plane {
    Word word[WARPS];
    u32 halo_at; // first of the halo's nodes in the list
    u32 halo[2]; // which are there of the 64 nodes round the tile's 15 × 15
    u32 fixed;   // row of the table of fixed degrees of freedom, counted from 1
};

/// What a thread block does: planes at … at + n − 1 of its tile.
struct Stretch {
    u32 at;
    u32 n;
};

/// Stiffness of a cube in the basis of the Walsh-Hadamard transform (cube.rs), E h in it if that is the same everywhere.
template <class T> struct Stiffness {
    T stretch, volume;     // of s = 0: stretch I + volume 1 1ᵀ
    T hourglass, together; // of s = 7, the same
    T bend, across;        // of s = 1, 2, 4: on and off the diagonal
    T shear;               // of s = 3, 5, 6: all four entries
    T last;                // the single one of those
};

/// Where E h comes from.
enum Moduli : u32 { ONE, CLASSES, EACH };

/// A force on a degree of freedom.
struct Force {
    u64 dof;
    double value;
};

template <class T> struct Params {
    Stiffness<T> k;
    const Plane* planes;
    const Stretch* stretches;
    const u32* halo;     // nodes of other tiles
    const u32* fixed;    // bits, (…, WARPS, 3)
    const u16* inverse;  // 1 / diagonal of each node: the upper half of an f32
    const u8* classes;   // of elements in the tiles' order
    const T* young;      // E h of each class
    const float* moduli; // of elements in the tiles' order
    const T* x;
    T* y;
    const float* b;
    float* r;
    float* d;
    float* z;
    const float* dot0;
    const float* dot1;
    double* partial;     // (2, thread blocks)
    const Force* forces; // ascending
    u64 n_forces;
    float p, s, w; // factors of a smoothing step
    float s0, w0;  // of the step before it
    T unit;        // what `moduli` are multiplied with
    u32 kind;      // Moduli
    u32 add;       // z is added to
};

/// What follows the product.
enum Then : u32 {
    STORE,    // y = K x; sum x y
    RESIDUAL, // r = b − K x
    STEP,     // r = b − K d; d' = p d + s D⁻¹ r; z += w d' (x is d, b may be r); sums z dot0, z dot1
    CORRECT,  // r −= K e; z += e + w s D⁻¹ r (x is e); sums as above
    PAIR,     // d = s0 D⁻¹ b; z = (z or 0) + w0 d + w (p d + s D⁻¹ (b − K d)) (x is b); sums as above
    FORCES,   // r = f − K x; sum r²
};

template <class T> struct Shared {
    T u[2][3][ROWS * PITCH];
    T f[2][9][16 * PITCH];
    T y[WARPS][96];
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

/// Forces of an element on its lower face, added, and on its upper one, from the transforms of both.
template <class T>
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
        T t = k.together * (u[0][6] + u[1][5] + u[2][3]);
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
        f[a][0] = fused(e, v[a][4], f[a][0]);
        g[a][0] = -e * v[a][4];
#pragma unroll
        for (u32 q = 1; q < 4; q++) {
            f[a][q] = fused(e, v[a][q] + v[a][q + 4], f[a][q]);
            g[a][q] = e * (v[a][q] - v[a][q + 4]);
        }
    }
}

/// Place in 17 × 17 of node h of the 64 round the tile's own.
__device__ __forceinline__ u32 ring(u32 h) {
    u32 x = h < 34 ? (h < 17 ? 0 : 16) : (h - 34) % 15 + 1;
    u32 y = h < 34 ? h % 17 : (h < 49 ? 0 : 16);
    return y * PITCH + x;
}

/// The sum over a thread block, in one order; thread 0 has it.
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

template <class T, u32 THEN> struct March {
    const Params<T>& p;
    Shared<T>& s;
    const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const u32 below = (1u << lane) - 1;
    /// Place of the thread's column in 17 × 17, and of its halo node.
    const u32 at = (4 * (warp / 2) + lane / 8) * PITCH + 8 * (warp % 2) + lane % 8;
    const bool has_halo = warp >= WARPS - 2;
    const u32 halo_at = ring((threadIdx.x - (THREADS - 64)) % 64);
    T own[3], halo[3];       // u of the next plane
    T c[3];                  // forces on the own node of the face that is complete
    Word next, further;      // of planes k + 1 and k + 2
    u32 elements = 0;        // of plane k
    bool before = false;     // plane k − 1 has elements of this warp
    bool dirty[2] = {true, true};
    u32 raw = 0, raw_next = 0; // modulus of the elements of planes k and k + 1
    double sum0 = 0, sum1 = 0;

    __device__ __forceinline__ March(const Params<T>& p, Shared<T>& s) : p(p), s(s) {}

    __device__ __forceinline__ Word word(u32 plane) const {
        uint4 v = __ldg(reinterpret_cast<const uint4*>(&p.planes[plane].word[warp]));
        return {v.x, v.y, v.z, v.w};
    }

    /// Value of x, or of the step before it.
    __device__ __forceinline__ void load(u32 node, T (&v)[3]) const {
        const T* from = p.x + 3 * static_cast<u64>(node);
        T by = 1;
        if constexpr (THEN == PAIR) by = p.s0 * inverse_of(p.inverse, node);
#pragma unroll
        for (u32 a = 0; a < 3; a++) {
            v[a] = from[a];
            if constexpr (THEN == PAIR) v[a] *= by;
        }
    }

    /// Values of a plane that the thread brings.
    __device__ __forceinline__ void fetch(const Word& w, u32 plane) {
        own[0] = own[1] = own[2] = 0;
        if (w.nodes >> lane & 1) load((w.node_at & ~HAS_FIXED) + __popc(w.nodes & below), own);
        if (has_halo) {
            uint4 h = __ldg(reinterpret_cast<const uint4*>(&p.planes[plane].halo_at));
            u32 bits = warp == WARPS - 2 ? h.y : h.z;
            u32 first = h.x + (warp == WARPS - 2 ? 0 : __popc(h.y));
            halo[0] = halo[1] = halo[2] = 0;
            if (bits >> lane & 1) load(__ldg(p.halo + first + __popc(bits & below)), halo);
        }
    }

    __device__ __forceinline__ T modulus(u32 bits) const {
        T e = 1;
        if (p.kind == CLASSES) e = __ldg(p.young + (raw & 255));
        if (p.kind == EACH) e = p.unit * __uint_as_float(raw);
        return bits >> lane & 1 ? e : T(0);
    }

    __device__ __forceinline__ void fetch_modulus(const Word& w) {
        raw_next = 0;
        if (p.kind == ONE || !(w.elements >> lane & 1)) return;
        u32 at = w.element_at + __popc(w.elements & below);
        raw_next = p.kind == CLASSES ? p.classes[at] : __float_as_uint(p.moduli[at]);
    }

    /// Sums of plane `plane`, and what follows.
    __device__ __forceinline__ void finish(u32 plane, u32 buffer) {
        Word w = word(plane);
        if (!w.nodes) return;
        const T(*f)[16 * PITCH] = s.f[buffer];
        T v[3];
        bool mine = w.nodes >> lane & 1;
        if (mine) {
#pragma unroll
            for (u32 a = 0; a < 3; a++) v[a] = ((c[a] + f[a][at - 1]) + f[3 + a][at - PITCH]) + f[6 + a][at - PITCH - 1];
            if (w.node_at & HAS_FIXED) {
                const u32* bits = p.fixed + ((__ldg(&p.planes[plane].fixed) - 1) * WARPS + warp) * 3;
#pragma unroll
                for (u32 a = 0; a < 3; a++)
                    if (__ldg(bits + a) >> lane & 1) v[a] = 0;
            }
            T* to = s.y[warp] + 3 * __popc(w.nodes & below);
#pragma unroll
            for (u32 a = 0; a < 3; a++) to[a] = v[a];
        }
        __syncwarp();
        u32 first = w.node_at & ~HAS_FIXED, n = 3 * __popc(w.nodes);
        u64 base = 3 * static_cast<u64>(first);
        T sum = 0, other = 0;
#pragma unroll
        for (u32 q = 0; q < 3; q++) {
            u32 i = lane + 32 * q;
            if (i < n) follow(s.y[warp][i], first + i / 3, base + i, sum, other);
        }
        if constexpr (THEN == FORCES) sum0 += add_forces(base, n);
        else if (THEN != RESIDUAL && p.partial) sum0 += sum, sum1 += other;
        __syncwarp();
    }

    __device__ __forceinline__ void follow(T y, u32 node, u64 dof, T& sum, T& other) const {
        if constexpr (THEN == STORE) {
            p.y[dof] = y;
            if (p.partial) sum += p.x[dof] * y;
        } else if constexpr (THEN == RESIDUAL) {
            p.r[dof] = p.b[dof] - y;
        } else if constexpr (THEN == STEP) {
            float r = p.b[dof] - y;
            if (p.r) p.r[dof] = r;
            float d = p.p * p.x[dof] + p.s * inverse_of(p.inverse, node) * r;
            if (p.d) p.d[dof] = d;
            store_z(p.w * d, dof, sum, other);
        } else if constexpr (THEN == CORRECT) {
            float r = p.r[dof] - y;
            p.r[dof] = r;
            store_z(p.x[dof] + p.w * p.s * inverse_of(p.inverse, node) * r, dof, sum, other);
        } else if constexpr (THEN == PAIR) {
            float inverse = inverse_of(p.inverse, node), b = p.x[dof], d = p.s0 * inverse * b;
            store_z(p.w0 * d + p.w * (p.p * d + p.s * inverse * (b - y)), dof, sum, other);
        }
    }

    __device__ __forceinline__ void store_z(float z, u64 dof, T& sum, T& other) const {
        if (p.add) z += p.z[dof];
        p.z[dof] = z;
        if (p.partial) {
            sum += z * p.dot0[dof];
            other += z * p.dot1[dof];
        }
    }

    /// r = f − y for the warp's dofs, and their squares.
    __device__ __forceinline__ double add_forces(u64 base, u32 n) {
        T* y = s.y[warp];
        if (p.n_forces) {
            u64 low = 0, high = p.n_forces;
            while (low < high) {
                u64 middle = (low + high) / 2;
                if (p.forces[middle].dof < base) low = middle + 1;
                else high = middle;
            }
            for (u64 i = low + lane; i < p.n_forces && p.forces[i].dof < base + n; i += 32)
                y[p.forces[i].dof - base] -= p.forces[i].value;
            __syncwarp();
        }
        double sum = 0;
        for (u32 i = lane; i < n; i += 32) {
            p.r[base + i] = static_cast<float>(-y[i]);
            sum += static_cast<double>(y[i]) * y[i];
        }
        return sum;
    }

    /// Brings plane k + 1, computes the elements of plane k from the transforms of both, finishes plane k − 1.
    template <u32 BUFFER>
    __device__ __forceinline__ void step(u32 k, u32 first, u32 end, const T (&low)[3][4], T (&up)[3][4], T (&f)[3][4],
                                         T (&g)[3][4]) {
        T(*u)[ROWS * PITCH] = s.u[BUFFER];
        T mine[3];
#pragma unroll
        for (u32 a = 0; a < 3; a++) {
            mine[a] = own[a];
            // Column 0 and row 0 are the halo's.
            if (at % PITCH != 0 && at >= PITCH) u[a][at] = own[a];
            if (has_halo) u[a][halo_at] = halo[a];
        }
        // Those of plane `end` are another stretch's.
        u32 above = k + 1 != end ? next.elements : 0;
        fetch_modulus(next);
        next = further;
        if (k + 2 <= end) fetch(next, k + 2);
        if (k + 3 <= end) further = word(k + 3);
        __syncthreads();
        if (elements | above) {
            bool edge = at % PITCH == 0 || at < PITCH;
#pragma unroll
            for (u32 a = 0; a < 3; a++) {
                up[a][0] = edge ? u[a][at] : mine[a];
                up[a][1] = u[a][at + 1];
                up[a][2] = u[a][at + PITCH];
                up[a][3] = u[a][at + PITCH + 1];
                face(up[a]);
            }
        }
        if (k > first) finish(k - 1, BUFFER ^ 1);
        if (elements) {
            element(p.k, modulus(elements), low, up, f, g);
        } else {
#pragma unroll
            for (u32 i = 0; i < 12; i++) g[i / 4][i % 4] = 0;
        }
        T(*out)[16 * PITCH] = s.f[BUFFER];
        if (elements || before) {
#pragma unroll
            for (u32 a = 0; a < 3; a++) {
                face(f[a]);
                c[a] = f[a][0];
#pragma unroll
                for (u32 q = 1; q < 4; q++) out[3 * q - 3 + a][at] = f[a][q];
            }
            dirty[BUFFER] = true;
        } else {
            c[0] = c[1] = c[2] = 0;
            if (dirty[BUFFER]) {
#pragma unroll
                for (u32 i = 0; i < 9; i++) out[i][at] = 0;
            }
            dirty[BUFFER] = false;
        }
        before = elements != 0;
        elements = above;
        raw = raw_next;
    }

    __device__ __forceinline__ void run() {
        Stretch stretch = p.stretches[blockIdx.x];
        u32 first = stretch.at, end = first + stretch.n;
        T a[3][4] = {}, b[3][4] = {}, f[3][4] = {}, g[3][4] = {};
        c[0] = c[1] = c[2] = 0;
        halo[0] = halo[1] = halo[2] = 0;
        next = word(first - 1);
        further = word(first);
        fetch(next, first - 1);
        // Plane first − 2 only gives way to the transforms of first − 1.
        u32 k = first - 2;
        for (;;) {
            step<0>(k, first, end, a, b, f, g);
            if (k == end) break;
            step<1>(k + 1, first, end, b, a, g, f);
            if (k + 1 == end) break;
            k += 2;
        }
        if constexpr (THEN != RESIDUAL) {
            if (p.partial) {
                double* scratch = reinterpret_cast<double*>(&s);
                sum0 = block_sum(sum0, scratch);
                if (THEN == STEP || THEN == CORRECT || THEN == PAIR) sum1 = block_sum(sum1, scratch + WARPS);
                if (threadIdx.x == 0) {
                    p.partial[blockIdx.x] = sum0;
                    p.partial[gridDim.x + blockIdx.x] = sum1;
                }
            }
        }
    }
};

template <class T, u32 THEN> __device__ __forceinline__ void march(const Params<T>& p) {
    extern __shared__ __align__(16) u8 memory[];
    March<T, THEN>(p, *reinterpret_cast<Shared<T>*>(memory)).run();
}
