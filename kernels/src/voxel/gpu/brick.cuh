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
/// In Word::element_at: some degree of freedom of this plane of the tile is fixed.
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
    double* partial;     // a sum of each thread block
    const Force* forces; // ascending
    u64 n_forces;
    float p, s, w, w0; // factors of a smoothing step, or of two
    T unit;        // what `moduli` are multiplied with
    u32 kind;      // Moduli
    u32 add;       // z is added to
};

/// What follows the product.
enum Then : u32 {
    STORE,    // y = K x; sum x y
    DOT,      // sum b K x
    RESIDUAL, // r = b − K x
    STEP,     // r = b − K d; d' = p d + s D⁻¹ r; z += w d' (x is d, b may be r)
    PAIR,     // d = D⁻¹ b; z = (z or 0) + w0 d − w D⁻¹ K d (x is b)
    FORCES,   // r = f − K x; sum r²
};

/// Planes of u that are there or on their way: the one that is computed from, three to come.
constexpr u32 STAGES = 4;
/// Planes that a stretch has at most; empty ones before and after it, so that nobody needs to ask where it ends.
constexpr u32 LONGEST = 96, BEFORE = 3, AFTER = 2 + STAGES;

/// `N`: components of u, and for PAIR the word that has its node's entry of `inverse`.
template <class T, u32 N> struct Shared {
    Plane planes[BEFORE + LONGEST + AFTER];
    T u[STAGES][N][ROWS * PITCH];
    T f[2][9][16 * PITCH];
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

/// Starts to copy a number to shared memory.
template <class T> __device__ __forceinline__ void copy(T* to, const T* from) {
#ifdef __CUDACC__
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(static_cast<u32>(__cvta_generic_to_shared(to))),
                 "l"(from), "n"(sizeof(T))
                 : "memory");
#else
    *to = *from;
#endif
}

/// Ends a group of copies.
__device__ __forceinline__ void commit() {
#ifdef __CUDACC__
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/// Waits for all groups but the last `N`.
template <int N> __device__ __forceinline__ void wait() {
#ifdef __CUDACC__
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
#endif
}

/// Keeps the compiler from computing a number again wherever it is used.
__device__ __forceinline__ u32 kept(u32 v) {
#ifdef __CUDACC__
    asm volatile("" : "+r"(v));
#endif
    return v;
}

template <class T, u32 THEN, bool MODULI> struct March {
    static constexpr u32 N = THEN == PAIR ? 4 : 3;
    static constexpr bool SUMS = THEN == STORE || THEN == DOT || THEN == FORCES;
    static constexpr bool AHEAD = THEN != STORE && THEN != FORCES;
    /// Planes that are fetched ahead. PAIR still needs plane k − 1 when k + 2 comes.
    static constexpr int EARLY = THEN == PAIR ? 2 : STAGES;
    using Memory = Shared<T, N>;
    static constexpr u32 U = __builtin_offsetof(Memory, u), F = __builtin_offsetof(Memory, f);
    /// Bytes from one component to the next.
    static constexpr u32 NEXT_U = ROWS * PITCH * sizeof(T), NEXT_F = 16 * PITCH * sizeof(T);
    static constexpr u32 STAGE = N * NEXT_U, RIGHT = sizeof(T), UP = PITCH * sizeof(T);

    const Params<T>& p;
    u8* const memory;
    const u32 warp;
    const u32 bit, below; // of the lane
    /// Offsets of the thread's column and of its halo node; of the stages that it reads and writes; of the warp's word.
    const u32 column, halo_column;
    u32 stage, other_stage = 2 * STAGE;
    u32 words;
    const bool has_halo;
    u32 halo_node = 0;  // of the plane that is fetched next
    u32 odd = 0, halo_odd = 0; // PAIR: which half of the word is a node's, a bit a plane, the last fetched lowest
    T c[3] = {};               // forces on the own node of the face that is complete
    u32 elements = 0;          // of plane k
    u32 history = 0;           // whether there were elements on planes k − 1, k − 2, …, a bit each, the lowest first
    u32 raw = 0;               // modulus of the element of plane k
    T sum = 0;

    __device__ __forceinline__ March(const Params<T>& p, u8* memory)
        : p(p), memory(memory), warp(threadIdx.x / 32), bit(kept(1u << threadIdx.x % 32)), below(kept(bit - 1)),
          column(kept((4 * (warp / 2) + threadIdx.x % 32 / 8) * UP + (8 * (warp % 2) + threadIdx.x % 8) * RIGHT)),
          halo_column(kept(ring((threadIdx.x - (THREADS - 64)) % 64) * RIGHT)), stage(0),
          words(kept(BEFORE * sizeof(Plane) + warp * sizeof(Word))), has_halo(warp >= WARPS - 2) {}

    template <class V> __device__ __forceinline__ V& in(u32 offset) const { return *reinterpret_cast<V*>(memory + offset); }

    /// The word of the plane so many further than k.
    __device__ __forceinline__ const Word& word(int further) const { return in<Word>(words + further * int(sizeof(Plane))); }

    /// The plane itself.
    __device__ __forceinline__ const Plane& plane(int further) const {
        return in<Plane>(words - warp * sizeof(Word) + further * int(sizeof(Plane)));
    }

    /// Finds the halo node of a plane.
    __device__ __forceinline__ void find_halo(int further) {
        const Plane& from = plane(further);
        u32 bits = warp == WARPS - 2 ? from.halo[0] : from.halo[1];
        if (!(bits & bit)) return;
        halo_node = __ldg(p.halo + from.halo_at + (warp == WARPS - 2 ? 0 : __popc(from.halo[0])) + __popc(bits & below));
    }

    /// Starts to bring a plane, whose halo has been found, and finds that of the next one.
    __device__ __forceinline__ void fetch(int further, u32 to) {
        u32 nodes = word(further).nodes;
        if constexpr (THEN == PAIR) odd *= 2, halo_odd *= 2;
        if (nodes & bit) bring(word(further).node_at + __popc(nodes & below), to + column, odd);
        if (has_halo) {
            const Plane& from = plane(further);
            if ((warp == WARPS - 2 ? from.halo[0] : from.halo[1]) & bit) bring(halo_node, to + halo_column, halo_odd);
            find_halo(further + 1);
        }
        commit();
    }

    __device__ __forceinline__ void bring(u32 node, u32 to, u32& odd) const {
        const T* from = p.x + 3 * static_cast<u64>(node);
#pragma unroll
        for (u32 a = 0; a < 3; a++) copy(&in<T>(U + to + a * NEXT_U), from + a);
        if constexpr (THEN == PAIR) {
            copy(&in<T>(U + to + 3 * NEXT_U), reinterpret_cast<const T*>(p.inverse) + node / 2);
            odd += node % 2;
        }
    }

    /// PAIR: an entry of `inverse`, from the word that has it.
    __device__ __forceinline__ float inverse_at(u32 at, bool odd) const {
        u32 pair = in<u32>(U + at + 3 * NEXT_U);
        return __uint_as_float(odd ? pair & 0xffff0000u : pair << 16);
    }

    /// PAIR: scales what the thread has brought of plane k + 1, the last that was fetched, by 1 / diagonal.
    __device__ __forceinline__ void scale(u32 from) {
        if (word(1).nodes & bit) scale_node(from + column, odd & 1);
        if (!has_halo) return;
        if ((warp == WARPS - 2 ? plane(1).halo[0] : plane(1).halo[1]) & bit) scale_node(from + halo_column, halo_odd & 1);
    }

    __device__ __forceinline__ void scale_node(u32 at, bool odd) const {
        float by = inverse_at(at, odd);
#pragma unroll
        for (u32 a = 0; a < 3; a++) in<T>(U + at + a * NEXT_U) *= by;
    }

    __device__ __forceinline__ T modulus(u32 raw) const {
        T e = 1;
        if constexpr (MODULI) e = p.kind == CLASSES ? __ldg(p.young + (raw & 255)) : p.unit * __uint_as_float(raw);
        return elements & bit ? e : T(0);
    }

    __device__ __forceinline__ u32 fetch_modulus(const Word& w) const {
        if (!MODULI || !(w.elements & bit)) return 0;
        u32 i = (w.element_at & ~HAS_FIXED) + __popc(w.elements & below);
        return p.kind == CLASSES ? p.classes[i] : __float_as_uint(p.moduli[i]);
    }

    /// What `follow` needs besides y, of the thread's node.
    struct Ahead {
        float a[3], b[3], c[3], inverse;
    };

    /// The thread's node of plane k − 1, which must be there.
    __device__ __forceinline__ u32 finished() const { return word(-1).node_at + __popc(word(-1).nodes & below); }

    __device__ __forceinline__ void look_ahead(u32 node, Ahead& ahead) const {
        u64 dof = 3 * static_cast<u64>(node);
#pragma unroll
        for (u32 a = 0; a < 3; a++) {
            if (THEN == DOT || THEN == RESIDUAL || THEN == STEP) ahead.a[a] = p.b[dof + a];
            if (THEN == STEP) ahead.b[a] = p.x[dof + a];
            if (THEN == STEP || THEN == PAIR) ahead.c[a] = p.add ? p.z[dof + a] : 0.f;
        }
        if (THEN == STEP) ahead.inverse = inverse_of(p.inverse, node);
    }

    /// Sums of the thread's node of plane k − 1, and what follows.
    template <u32 BUFFER> __device__ __forceinline__ void finish(Ahead& ahead, u32 stage) {
        T y[3];
        u32 from = F + BUFFER * 9 * NEXT_F + column;
#pragma unroll
        for (u32 a = 0; a < 3; a++)
            y[a] = ((c[a] + in<T>(from + a * NEXT_F - RIGHT)) + in<T>(from + (3 + a) * NEXT_F - UP)) +
                   in<T>(from + (6 + a) * NEXT_F - UP - RIGHT);
        if (word(-1).element_at & HAS_FIXED) {
            __syncwarp(); // a branch, then, and not instructions that everybody skips
            const u32* bits = p.fixed + ((plane(-1).fixed - 1) * WARPS + warp) * 3;
#pragma unroll
            for (u32 a = 0; a < 3; a++)
                if (__ldg(bits + a) & bit) y[a] = 0;
        }
        if (!(word(-1).nodes & bit)) return;
        u64 dof = 3 * static_cast<u64>(finished());
        if constexpr (THEN == FORCES) {
            add_forces(y, dof);
        } else if constexpr (THEN == DOT) {
            sum += y[0] * ahead.a[0] + y[1] * ahead.a[1] + y[2] * ahead.a[2];
        } else {
            if constexpr (THEN == PAIR) {
#pragma unroll
                for (u32 a = 0; a < 3; a++) ahead.b[a] = in<T>(U + stage + column + a * NEXT_U);
                ahead.inverse = inverse_at(stage + column, odd >> 3 & 1);
            }
#pragma unroll
            for (u32 a = 0; a < 3; a++) follow(y[a], dof + a, ahead.a[a], ahead.b[a], ahead.c[a], ahead.inverse);
            if (THEN == STORE && p.partial) sum += y[0] * p.x[dof] + y[1] * p.x[dof + 1] + y[2] * p.x[dof + 2];
        }
    }

    __device__ __forceinline__ void follow(T y, u64 dof, float a, float b, float c, float inverse) const {
        if constexpr (THEN == STORE) p.y[dof] = y;
        if constexpr (THEN == RESIDUAL) p.r[dof] = a - y;
        if constexpr (THEN == STEP) {
            float r = a - y, d = p.p * b + p.s * inverse * r;
            if (p.r) p.r[dof] = r;
            if (p.d) p.d[dof] = d;
            p.z[dof] = p.w * d + c;
        }
        if constexpr (THEN == PAIR) p.z[dof] = p.w0 * b - p.w * inverse * y + c;
    }

    /// r = f − y of a node, and its square.
    __device__ __forceinline__ void add_forces(T (&y)[3], u64 dof) {
        if (p.n_forces) {
            u64 low = 0, high = p.n_forces;
            while (low < high) {
                u64 middle = (low + high) / 2;
                if (p.forces[middle].dof < dof) low = middle + 1;
                else high = middle;
            }
            for (; low < p.n_forces && p.forces[low].dof < dof + 3; low++)
#pragma unroll
                for (u32 a = 0; a < 3; a++)
                    if (p.forces[low].dof == dof + a) y[a] -= p.forces[low].value;
        }
#pragma unroll
        for (u32 a = 0; a < 3; a++) {
            p.r[dof + a] = static_cast<float>(-y[a]);
            sum += static_cast<double>(y[a]) * y[a];
        }
    }

    /// Takes plane k + 1, computes the elements of plane k from the transforms of both, finishes plane k − 1.
    template <u32 BUFFER>
    __device__ __forceinline__ void step(u32 from, u32 to, u32 done, const T (&low)[3][4], T (&up)[3][4], T (&f)[3][4],
                                         T (&g)[3][4]) {
        u32 above = word(1).elements, raw_above = fetch_modulus(word(1));
        Ahead ahead;
        if constexpr (AHEAD)
            if (word(-1).nodes & bit) look_ahead(finished(), ahead);
        wait<EARLY - 2>();
        if constexpr (THEN == PAIR) scale(from);
        __syncthreads();
        fetch(EARLY, to);
        if (elements | above) {
            u32 at = U + from + column;
#pragma unroll
            for (u32 a = 0; a < 3; a++) {
                up[a][0] = in<T>(at + a * NEXT_U);
                up[a][1] = in<T>(at + a * NEXT_U + RIGHT);
                up[a][2] = in<T>(at + a * NEXT_U + UP);
                up[a][3] = in<T>(at + a * NEXT_U + UP + RIGHT);
                face(up[a]);
            }
        }
        if (word(-1).nodes) finish<BUFFER ^ 1>(ahead, done);
        if (elements) {
            element(p.k, modulus(raw), low, up, f, g);
        } else {
#pragma unroll
            for (u32 i = 0; i < 12; i++) g[i / 4][i % 4] = 0;
        }
        u32 out = F + BUFFER * 9 * NEXT_F + column;
        if (elements || history & 1) {
#pragma unroll
            for (u32 a = 0; a < 3; a++) {
                face(f[a]);
                c[a] = f[a][0];
#pragma unroll
                for (u32 q = 1; q < 4; q++) in<T>(out + (3 * q - 3 + a) * NEXT_F) = f[a][q];
            }
        } else {
            c[0] = c[1] = c[2] = 0;
            if (history & 6) { // there still are sums of two planes ago
#pragma unroll
                for (u32 i = 0; i < 9; i++) in<T>(out + i * NEXT_F) = 0;
            }
        }
        history = 2 * history + (elements != 0);
        elements = above;
        raw = raw_above;
    }

    /// Brings the words of the stretch; what else there is in shared memory is made 0.
    __device__ __forceinline__ void prepare(const Stretch& stretch) const {
        constexpr u32 EACH = sizeof(Plane) / sizeof(uint4), FIRST = (BEFORE - 1) * EACH;
        const uint4* from = reinterpret_cast<const uint4*>(p.planes + stretch.at - BEFORE);
        // From plane 0, which stands before the stretch, to n + 1, which stands after it.
        u32 end = (BEFORE + stretch.n + 1) * EACH;
        for (u32 i = threadIdx.x; i < sizeof(Memory) / sizeof(uint4); i += THREADS) {
            uint4 v = {};
            if (i >= FIRST && i < end) v = __ldg(from + i);
            // Elements of the last one are another stretch's.
            if (i >= end - EACH && i < end && i % EACH < WARPS) v.y = 0;
            in<uint4>(i * sizeof(uint4)) = v;
        }
        __syncthreads();
    }

    __device__ __forceinline__ void run() {
        Stretch stretch = p.stretches[blockIdx.x];
        prepare(stretch);
        T a[3][4] = {}, b[3][4] = {}, f[3][4] = {}, g[3][4] = {};
        // k = −1: plane 0 only gives its transforms.
        words -= 2 * sizeof(Plane);
        if (has_halo) find_halo(1);
        for (int i = 1; i < EARLY; i++) fetch(i, (i - 1) * STAGE);
        if constexpr (THEN == PAIR) {
            wait<0>();
            scale(0);
        }
        // Nodes of plane 0 are another stretch's; nobody is to finish them, or to scale them once more.
        __syncthreads();
        Plane& first = in<Plane>((BEFORE - 1) * sizeof(Plane));
        if (threadIdx.x < WARPS) first.word[threadIdx.x].nodes = 0;
        if (threadIdx.x == WARPS) first.halo[0] = first.halo[1] = 0;
        __syncthreads();
        for (u32 steps = stretch.n + 3; steps; steps -= 2) {
            step<0>(stage, EARLY == 2 ? stage + STAGE : other_stage + STAGE, other_stage, a, b, f, g);
            words += sizeof(Plane);
            if (steps == 1) break;
            step<1>(stage + STAGE, EARLY == 2 ? other_stage : stage, other_stage + STAGE, b, a, g, f);
            words += sizeof(Plane);
            u32 swap = stage;
            stage = other_stage;
            other_stage = swap;
        }
        if (SUMS && p.partial) {
            __syncthreads();
            double* scratch = reinterpret_cast<double*>(memory);
            double all = block_sum(sum, scratch);
            if (threadIdx.x == 0) p.partial[blockIdx.x] = all;
        }
    }
};

template <class T, u32 THEN, bool MODULI> __device__ __forceinline__ void march(const Params<T>& p) {
    extern __shared__ __align__(16) u8 memory[];
    March<T, THEN, MODULI>(p, memory).run();
}
