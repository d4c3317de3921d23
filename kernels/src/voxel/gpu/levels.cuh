// The coarse levels: one launch is one correction, all levels of it (multigrid.rs has the same on the CPU).
//
// The kernel is cooperative: all its thread blocks run at once and meet at barriers, so that the small levels cost a
// barrier a step and not a launch, and the conjugate gradients inside decide on the device when they are done. Sums are
// taken in one order, thread by thread and block by block: the same bits on every run.
//
// Level 1 has the unknowns as they are and an operator that is never assembled. Further levels have blocks and are
// scaled, D^-1/2 A D^-1/2 with unknowns D^1/2 x, so that their smoother needs no diagonal.

#pragma once

#ifdef __CUDACC__
#define DEVICE __device__
#define INLINE __device__ __forceinline__
#define APART __device__ __noinline__
#define LANES 8
constexpr unsigned WARP = 32;
#else // one thread, for tests on the host
#include <cmath>
#define DEVICE
#define INLINE inline
#define APART
#define LANES 1
constexpr unsigned WARP = 1;
#define __shared__ static
#endif

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;

constexpr u32 MAX_LEVELS = 24;

/// A coarse level. Vectors have 3 n numbers and room for a multiple of four.
struct Level {
    float* residual; // of the conjugate gradients; the right-hand side before
    float* direction;
    float* product;
    float* solution;
    float* z;
    float* t;
    float* d;
    const float* inverse; // level 1: 1 / diagonal, 0 where there is no stiffness
    const float* scale;   // further levels: D^-1/2, the same
    const u32* row_first; // blocks of each row, (n + 1,)
    const u32* column;
    const u64* value; // rows of blocks, (3, n_blocks): three numbers of 21 bits each, see `UNIT`
    u64 n_blocks;
    const u32* nodes;        // of each element, (n_elements, 8)
    const u32* owner;        // of each finer node: 32 × element + place, (n_finer,)
    const u32* gather_first; // finer nodes that each node's values come from, (n + 1,)
    const u32* gather;       // 4 × finer node + k: weight 2^-k
    u32 n;
    u32 n_finer;
    u32 steps; // of conjugate gradients
    float step;  // 1 / lambda
    double cost; // of a product, in products of the finest level
};

/// What a correction needs; `levels.rs` has the mirror.
struct Tables {
    Level levels[MAX_LEVELS];
    const float* bottom;      // inverse of the last level's matrix, (3 n, 3 n), or 0
    const float* fine_residual;
    float* fine_z;
    const u32* fixed;         // degrees of freedom of the finest level, (n_fixed,)
    const u32* child;         // level 1: first voxel of each element, or its matrix
    const u8* octants;        // which of the eight are there; 0: it has a matrix
    const float* own;         // those matrices, (…, 24, 24)
    const u32* list_first;    // finest nodes of each element, (n_elements + 1,)
    const u32* list;
    const u8* place;
    const u8* material;       // class of each voxel, or 0: all are of the first
    const float* young;       // E h of each class
    const float* modulus;     // of each voxel, or 0
    double* partial;          // (2, 3, thread blocks)
    u32* arrived;             // 0 at the start
    double* work;             // products so far, in those of the finest level
    double tolerance;         // square of the relative residual that ends conjugate gradients
    float modulus_unit;
    u32 n_levels;
    u32 degree;
    u32 n_fixed;
    u32 colour_first[9];      // elements of level 1 that share no node
};

/// Stiffness of 2 × 2 × 2 voxels, see first.rs: row 3 v + a, column 3 w + b.
#ifdef __CUDACC__
__constant__ float CELL[576];
#else
static float CELL[576];
#endif

/// What 1 is in the blocks of the scaled levels: no entry of a positive matrix with a diagonal of 1 is larger.
constexpr float UNIT = 1048575;

constexpr u32 SUMS = 3;

/// The threads of a launch and where they meet.
struct Grid {
    u32 thread, n_threads;
    double* partial;
    u32* arrived;
    double* work;
    u32 slot;
#ifdef __CUDACC__
    DEVICE Grid(const Tables& tables)
        : thread(blockIdx.x * blockDim.x + threadIdx.x), n_threads(gridDim.x * blockDim.x), partial(tables.partial),
          arrived(tables.arrived),
          work(tables.work), slot(0) {}

    /// All have come, and see what the others have written.
    INLINE void meet() {
        __syncthreads();
        if (threadIdx.x == 0) {
            __threadfence();
            const u32 ticket = atomicAdd(arrived, 1);
            const u32 all = (ticket / gridDim.x + 1) * gridDim.x;
            u32 now;
            do {
                asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(now) : "l"(arrived) : "memory");
            } while (now < all);
            __threadfence();
        }
        __syncthreads();
    }

    /// Hands in sums, to be followed by `meet` and `take`.
    template <int Q> INLINE void give(const double (&sum)[Q]) {
        __shared__ double warps[SUMS][32];
        slot ^= 1;
#pragma unroll
        for (int q = 0; q < Q; q++) {
            double s = sum[q];
#pragma unroll
            for (int k = 16; k > 0; k >>= 1) s += __shfl_xor_sync(~0u, s, k);
            if (threadIdx.x % 32 == 0) warps[q][threadIdx.x / 32] = s;
        }
        __syncthreads();
        if (threadIdx.x < Q) {
            double s = 0;
            for (u32 w = 0; w < blockDim.x / 32; w++) s += warps[threadIdx.x][w];
            partial[(slot * SUMS + threadIdx.x) * gridDim.x + blockIdx.x] = s;
        }
    }

    /// The sums of all thread blocks, the same in every thread.
    template <int Q> INLINE void take(double (&sum)[Q]) {
        __shared__ double all[SUMS];
        const u32 warp = threadIdx.x / 32;
        if (warp < Q) {
            double s = 0;
            for (u32 b = threadIdx.x % 32; b < gridDim.x; b += 32) s += partial[(slot * SUMS + warp) * gridDim.x + b];
#pragma unroll
            for (int k = 16; k > 0; k >>= 1) s += __shfl_xor_sync(~0u, s, k);
            if (threadIdx.x % 32 == 0) all[warp] = s;
        }
        __syncthreads();
#pragma unroll
        for (int q = 0; q < Q; q++) sum[q] = all[q];
        __syncthreads();
    }
#else
    double kept[SUMS];
    Grid(const Tables& tables)
        : thread(0), n_threads(1), partial(tables.partial), arrived(tables.arrived), work(tables.work), slot(0) {}
    void meet() {}
    template <int Q> void give(const double (&sum)[Q]) {
        for (int q = 0; q < Q; q++) kept[q] = sum[q];
    }
    template <int Q> void take(double (&sum)[Q]) {
        for (int q = 0; q < Q; q++) sum[q] = kept[q];
    }
#endif
};

/// Counts a product.
INLINE void count(const Grid& g, const Level& level) {
    if (g.thread == 0) *g.work += level.cost;
}

/// Four numbers of a vector.
struct alignas(16) Four {
    float v[4];
};
#define EACH _Pragma("unroll") for (int m = 0; m < 4; m++)

INLINE Four load(const float* from, u64 i) { return reinterpret_cast<const Four*>(from)[i]; }
INLINE void store(float* to, u64 i, const Four& v) { reinterpret_cast<Four*>(to)[i] = v; }

/// Adds the products of four numbers each.
INLINE void add_dot(double& sum, const Four& a, const Four& b) { EACH sum += double(a.v[m]) * double(b.v[m]); }

/// Calls `act(i)` for each four of 3 n numbers.
template <class Act> INLINE void for_fours(const Grid& g, u32 n, Act act) {
    const u32 fours = u32((3 * u64(n) + 3) / 4);
    for (u32 i = g.thread; i < fours; i += g.n_threads) act(i);
}

/// Of step k = 1, 2, … of Chebyshev smoothing of the fourth kind; see `factors` and `weight` in multigrid.rs.
INLINE float keep_factor(u32 k) { return (2.0f * k - 3.0f) / (2.0f * k + 1.0f); }
INLINE float step_factor(u32 k) { return (8.0f * k - 4.0f) / (2.0f * k + 1.0f); }
INLINE float weight(u32 degree, u32 k) {
    if (degree == 1) return 1.125f;
    if (degree == 2) return k == 1 ? 1.0238729f : 1.2640891f;
    if (degree == 3) return k == 1 ? 1.0084254f : k == 2 ? 1.0886784f : 1.3375313f;
    if (degree == 4) return k == 1 ? 1.003913f : k == 2 ? 1.040358f : k == 3 ? 1.148635f : 1.3826887f;
    return 1.0f;
}

/// The Walsh-Hadamard transform of eight numbers.
INLINE void walsh(float (&v)[8]) {
#pragma unroll
    for (int half = 1; half < 8; half *= 2)
#pragma unroll
        for (int i = 0; i < 8; i++)
            if (!(i & half)) {
                const float a = v[i], b = v[i + half];
                v[i] = a + b;
                v[i + half] = a - b;
            }
}

/// E h of a voxel.
INLINE float stiffness(const Tables& tables, u32 voxel) {
    if (tables.modulus) return tables.modulus[voxel] * tables.modulus_unit;
    return tables.young[tables.material ? tables.material[voxel] : 0];
}

#ifdef __CUDACC__
INLINE u32 of_lane(u32 value, u32 lane) { return __shfl_sync(~0u, value, lane); }
INLINE void meet_warp() { __syncwarp(); }
#else
inline u32 of_lane(u32 value, u32) { return value; }
inline void meet_warp() {}
#endif

constexpr u32 NOWHERE = ~0u;

/// y += factor × A x on level 1; a barrier before, one after.
///
/// A thread has an element. Its lanes fetch and add numbers of nodes together, neighbours neighbouring numbers of one
/// node, and hand them on through shared memory: a third of the sectors that each lane by itself would ask for.
APART void add_first(Grid& g, const Tables& tables, float factor, const float* x, float* y) {
    __shared__ float scratch[256 / 32][8][3 * WARP];
    count(g, tables.levels[0]);
    const u32* nodes = tables.levels[0].nodes;
    const u32 lane = g.thread % WARP;
    float(&mine)[8][3 * WARP] = scratch[WARP == 1 ? 0 : g.thread / WARP % 8];
    for (u32 colour = 0; colour < 8; colour++) {
        const u32 end = tables.colour_first[colour + 1];
        for (u32 base = tables.colour_first[colour] + g.thread - lane; base < end; base += g.n_threads) {
            const u32 e = base + lane;
            const bool there = e < end;
            u32 node[8];
            float v[8][3];
#pragma unroll
            for (int c = 0; c < 8; c++) node[c] = there ? nodes[8 * u64(e) + c] : NOWHERE;
#pragma unroll
            for (int c = 0; c < 8; c++)
#pragma unroll
                for (int k = 0; k < 3; k++) {
                    const u32 j = lane + WARP * k, from = of_lane(node[c], j / 3);
                    v[c][k] = from == NOWHERE ? 0.0f : x[3 * u64(from) + j % 3];
                }
            meet_warp();
#pragma unroll
            for (int c = 0; c < 8; c++)
#pragma unroll
                for (int k = 0; k < 3; k++) mine[c][lane + WARP * k] = v[c][k];
            meet_warp();
            float u[3][8];
#pragma unroll
            for (int c = 0; c < 8; c++)
#pragma unroll
                for (int a = 0; a < 3; a++) u[a][c] = mine[c][3 * lane + a];
            const u32 child = there ? tables.child[e] : 0, octants = there ? tables.octants[e] : 255;
            if (octants == 0) {
                const float* row = tables.own + 576 * u64(child);
                for (int i = 0; i < 24; i++, row += 24) {
                    float sum = 0;
#pragma unroll
                    for (int j = 0; j < 24; j++) sum += row[j] * u[j % 3][j / 3];
                    mine[i / 3][3 * lane + i % 3] = factor * sum;
                }
            } else {
                float amplitude[8];
                u32 next = child;
#pragma unroll
                for (int o = 0; o < 8; o++)
                    amplitude[o] = there && octants >> o & 1 ? factor * stiffness(tables, next++) : 0.0f;
                walsh(amplitude);
#pragma unroll
                for (int a = 0; a < 3; a++) walsh(u[a]);
#pragma unroll
                for (int a = 0; a < 3; a++) {
                    float f[8];
                    f[0] = 0;
#pragma unroll
                    for (int v = 1; v < 8; v++) {
                        float sum = 0;
#pragma unroll
                        for (int w = 0; w < 8; w++) {
                            float part = 0;
#pragma unroll
                            for (int b = 0; b < 3; b++) {
                                const int other = v ^ 1 << a ^ w ^ 1 << b;
                                if (other != 0) part += CELL[24 * (3 * v + a) + 3 * other + b] * u[b][other];
                            }
                            sum += amplitude[w] * part;
                        }
                        f[v] = sum;
                    }
                    walsh(f);
#pragma unroll
                    for (int c = 0; c < 8; c++) mine[c][3 * lane + a] = f[c];
                }
            }
            meet_warp();
            // No two lanes have a node in common: they are of one colour.
#pragma unroll
            for (int c = 0; c < 8; c++)
#pragma unroll
                for (int k = 0; k < 3; k++) {
                    const u32 j = lane + WARP * k, to = of_lane(node[c], j / 3);
                    v[c][k] = to == NOWHERE ? 0.0f : y[3 * u64(to) + j % 3] + mine[c][j];
                }
#pragma unroll
            for (int c = 0; c < 8; c++)
#pragma unroll
                for (int k = 0; k < 3; k++) {
                    const u32 j = lane + WARP * k, to = of_lane(node[c], j / 3);
                    if (to != NOWHERE) y[3 * u64(to) + j % 3] = v[c][k];
                }
        }
        g.meet();
    }
}

/// Calls `act(i, sum)` for each of 3 n rows, `add(at, sum of three rows)` for all that belongs to three of them before.
template <class Add, class Act> INLINE void for_sums(const Grid& g, u32 n, const u32* first, Add add, Act act) {
    constexpr u32 ROWS = WARP / LANES;
    const u32 lane = g.thread % LANES, part = g.thread / LANES % ROWS, n_warps = g.n_threads / WARP;
    for (u32 base = g.thread / WARP * ROWS; base < n; base += n_warps * ROWS) {
        const u32 row = base + part;
        float sum[3] = {0, 0, 0};
        if (row < n) {
            const u32 end = first[row + 1];
            for (u32 at = first[row] + lane; at < end; at += LANES) add(at, sum);
        }
#ifdef __CUDACC__
#pragma unroll
        for (int a = 0; a < 3; a++)
#pragma unroll
            for (int k = LANES / 2; k > 0; k >>= 1) sum[a] += __shfl_xor_sync(~0u, sum[a], k);
        const float mine = lane == 0 ? sum[0] : lane == 1 ? sum[1] : sum[2];
        if (row < n && lane < 3) act(3 * row + lane, mine);
#else
        for (int a = 0; a < 3; a++) act(3 * row + a, sum[a]);
#endif
    }
}

/// Calls `act(i, (A x)_i)` for each of the 3 n rows of a level of blocks.
template <class Act> INLINE void for_rows(const Grid& g, const Level& level, const float* x, Act act) {
    count(g, level);
    for_sums(
        g, level.n, level.row_first,
        [&](u32 at, float(&sum)[3]) {
            const float* from = x + 3 * u64(level.column[at]);
            const float u[3] = {from[0], from[1], from[2]};
#pragma unroll
            for (int a = 0; a < 3; a++) {
                const u64 row = level.value[a * level.n_blocks + at];
#pragma unroll
                for (int b = 0; b < 3; b++) sum[a] += float(int((long long)(row << (43 - 21 * b)) >> 43)) * u[b];
            }
        },
        [&](u32 i, float sum) { act(i, sum * (1 / UNIT)); });
}

/// out = from + factor × A x, out ≠ x; a barrier before, one after.
INLINE void add_product(Grid& g, const Tables& tables, u32 l, const float* from, float factor, const float* x, float* out) {
    const Level& level = tables.levels[l];
    if (l == 0) {
        if (from != out) {
            for_fours(g, level.n, [&](u32 i) { store(out, i, load(from, i)); });
            g.meet();
        }
        add_first(g, tables, factor, x, out);
    } else {
        for_rows(g, level, x, [&](u32 i, float sum) { out[i] = from[i] + factor * sum; });
        g.meet();
    }
}

/// 1 / D of four unknowns: 1 where they are scaled.
INLINE Four inverse_of(const Level& level, u32 i) {
    if (level.inverse) return load(level.inverse, i);
    return {1, 1, 1, 1};
}

/// One step k of the smoother by itself: d = keep d + step D⁻¹ t, z += weight d; from z = 0 if `fresh`. With `dots` the
/// sums z·residual and z·product are handed in. A barrier after.
APART void smooth_step(Grid& g, const Level& level, u32 degree, u32 k, const float* t, bool fresh, bool dots) {
    const float keep = keep_factor(k), s = step_factor(k) * level.step, w = weight(degree, k);
    double sum[2] = {0, 0};
    for_fours(g, level.n, [&](u32 i) {
        const Four from = load(t, i), inverse = inverse_of(level, i);
        Four d = {0, 0, 0, 0}, z = {0, 0, 0, 0};
        if (k > 1) d = load(level.d, i);
        if (!fresh) z = load(level.z, i);
        EACH {
            d.v[m] = keep * d.v[m] + s * inverse.v[m] * from.v[m];
            z.v[m] += w * d.v[m];
        }
        store(level.d, i, d);
        store(level.z, i, z);
        if (dots) {
            add_dot(sum[0], z, load(level.residual, i));
            add_dot(sum[1], z, load(level.product, i));
        }
    });
    if (dots) g.give(sum);
    g.meet();
}

/// z = smoothed from 0, t = residual − A z, in true units where the level is scaled.
INLINE void smooth_before(Grid& g, const Tables& tables, u32 l) {
    const Level& level = tables.levels[l];
    const u32 degree = tables.degree;
    if (l > 0 && degree == 2) {
        const float s = step_factor(1) * level.step, s2 = step_factor(2) * level.step, keep = keep_factor(2);
        const float w1 = weight(2, 1), w2 = weight(2, 2);
        for_rows(g, level, level.residual, [&](u32 i, float sum) {
            const float r = level.residual[i], d = s * r;
            level.z[i] = w1 * d + w2 * (keep * d + s2 * (r - s * sum));
        });
        g.meet();
    } else {
        smooth_step(g, level, degree, 1, level.residual, true, false);
        for (u32 k = 2; k <= degree; k++) {
            add_product(g, tables, l, k == 2 ? level.residual : level.t, -1.0f, level.d, level.t);
            smooth_step(g, level, degree, k, level.t, false, false);
        }
    }
    if (l == 0) {
        add_product(g, tables, l, level.residual, -1.0f, level.z, level.t);
    } else {
        for_rows(g, level, level.z, [&](u32 i, float sum) {
            const float scale = level.scale[i];
            level.t[i] = scale > 0 ? (level.residual[i] - sum) / scale : 0.0f;
        });
        g.meet();
    }
}

/// z is smoothed further; z·residual and z·product are handed in.
INLINE void smooth_after(Grid& g, const Tables& tables, u32 l, u32 degree) {
    const Level& level = tables.levels[l];
    add_product(g, tables, l, level.residual, -1.0f, level.z, level.t);
    if (l > 0 && degree == 2) {
        const float s = step_factor(1) * level.step, s2 = step_factor(2) * level.step, keep = keep_factor(2);
        const float w1 = weight(2, 1), w2 = weight(2, 2);
        double sum[2] = {0, 0};
        for_rows(g, level, level.t, [&](u32 i, float product) {
            const float t = level.t[i], d = s * t;
            const float z = level.z[i] + w1 * d + w2 * (keep * d + s2 * (t - s * product));
            level.z[i] = z;
            sum[0] += double(z) * double(level.residual[i]);
            sum[1] += double(z) * double(level.product[i]);
        });
        g.give(sum);
        g.meet();
        return;
    }
    for (u32 k = 1; k <= degree; k++) {
        if (k > 1) add_product(g, tables, l, level.t, -1.0f, level.d, level.t);
        smooth_step(g, level, degree, k, level.t, false, k == degree);
    }
}

/// Weights of a place along each axis: place x + 3 y + 9 z in half edges, corner bits.
INLINE float place_weight(u32 place, u32 corner) {
    const u32 x = place % 3, y = place / 3 % 3, z = place / 9;
    const u32 twice = (corner & 1 ? x : 2 - x) * (corner & 2 ? y : 2 - y) * (corner & 4 ? z : 2 - z);
    return 0.125f * twice;
}

/// residual of level l = Pᵀ t of level l − 1; its square is handed in.
INLINE void restrict_to(Grid& g, const Tables& tables, u32 l) {
    const Level &coarse = tables.levels[l], &fine = tables.levels[l - 1];
    double square[1] = {0};
    for_sums(
        g, coarse.n, coarse.gather_first,
        [&](u32 at, float(&sum)[3]) {
            const u32 entry = coarse.gather[at];
            const float* from = fine.t + 3 * u64(entry >> 2);
            const float w = 1.0f / float(1 << (entry & 3));
#pragma unroll
            for (int a = 0; a < 3; a++) sum[a] += w * from[a];
        },
        [&](u32 i, float value) {
            square[0] += double(value) * double(value);
            coarse.residual[i] = value * coarse.scale[i];
        });
    g.give(square);
    g.meet();
}

/// z of level l − 1 += P × values of level l.
INLINE void prolong_from(Grid& g, const Tables& tables, u32 l, const float* values) {
    const Level &coarse = tables.levels[l], &fine = tables.levels[l - 1];
    for (u32 i = g.thread; i < 3 * coarse.n_finer; i += g.n_threads) {
        const u32 a = i % 3, owner = coarse.owner[i / 3], place = owner & 31;
        const u32* nodes = coarse.nodes + 8 * u64(owner >> 5);
        float value = 0;
#pragma unroll
        for (u32 c = 0; c < 8; c++) {
            const float w = place_weight(place, c);
            if (w > 0) {
                const u32 from = 3 * nodes[c] + a;
                value += w * values[from] * coarse.scale[from];
            }
        }
        if (l > 1) {
            const float scale = fine.scale[i];
            value = scale > 0 ? value / scale : 0.0f;
        }
        fine.z[i] += value;
    }
    g.meet();
}

/// residual of level 1 = Pᵀ × residual of the finest level; its square is handed in.
APART void restrict_first(Grid& g, const Tables& tables) {
    const Level& level = tables.levels[0];
    for_fours(g, level.n, [&](u32 i) { store(level.residual, i, {0, 0, 0, 0}); });
    g.meet();
    for (u32 colour = 0; colour < 8; colour++) {
        const u32 end = tables.colour_first[colour + 1];
        for (u32 e = tables.colour_first[colour] + g.thread; e < end; e += g.n_threads) {
            float sum[8][3] = {};
            for (u32 at = tables.list_first[e]; at < tables.list_first[e + 1]; at++) {
                const float* from = tables.fine_residual + 3 * u64(tables.list[at]);
                const u32 place = tables.place[at];
                const float v[3] = {from[0], from[1], from[2]};
#pragma unroll
                for (u32 c = 0; c < 8; c++) {
                    const float w = place_weight(place, c);
#pragma unroll
                    for (int a = 0; a < 3; a++) sum[c][a] += w * v[a];
                }
            }
#pragma unroll
            for (int c = 0; c < 8; c++) {
                float* to = level.residual + 3 * u64(level.nodes[8 * u64(e) + c]);
#pragma unroll
                for (int a = 0; a < 3; a++) to[a] += sum[c][a];
            }
        }
        g.meet();
    }
    double sum[1] = {0};
    for_fours(g, level.n, [&](u32 i) {
        const Four r = load(level.residual, i);
        add_dot(sum[0], r, r);
    });
    g.give(sum);
    g.meet();
}

/// z of the finest level += P × values of level 1, but where it is fixed.
APART void prolong_first(Grid& g, const Tables& tables, const float* values) {
    const Level& level = tables.levels[0];
    for (u32 e = g.thread; e < tables.colour_first[8]; e += g.n_threads) {
        float u[8][3];
#pragma unroll
        for (int c = 0; c < 8; c++) {
            const float* from = values + 3 * u64(level.nodes[8 * u64(e) + c]);
#pragma unroll
            for (int a = 0; a < 3; a++) u[c][a] = from[a];
        }
        for (u32 at = tables.list_first[e]; at < tables.list_first[e + 1]; at++) {
            float* to = tables.fine_z + 3 * u64(tables.list[at]);
            const u32 place = tables.place[at];
            float v[3] = {0, 0, 0};
#pragma unroll
            for (u32 c = 0; c < 8; c++) {
                const float w = place_weight(place, c);
#pragma unroll
                for (int a = 0; a < 3; a++) v[a] += w * u[c][a];
            }
#pragma unroll
            for (int a = 0; a < 3; a++) to[a] += v[a];
        }
    }
    g.meet();
    for (u32 i = g.thread; i < tables.n_fixed; i += g.n_threads) tables.fine_z[tables.fixed[i]] = 0;
}

/// solution = bottom × residual; a barrier after.
INLINE void solve_bottom(Grid& g, const Tables& tables, u32 l) {
    const Level& level = tables.levels[l];
    const u32 n = 3 * level.n;
#ifdef __CUDACC__
    const u32 lane = g.thread % 32, n_lanes = 32;
#else
    const u32 lane = 0, n_lanes = 1;
#endif
    for (u32 row = g.thread / n_lanes; row < n; row += g.n_threads / n_lanes) {
        float sum = 0;
        for (u32 j = lane; j < n; j += n_lanes) sum += tables.bottom[u64(row) * n + j] * level.residual[j];
#ifdef __CUDACC__
#pragma unroll
        for (int k = 16; k > 0; k >>= 1) sum += __shfl_xor_sync(~0u, sum, k);
#endif
        if (lane == 0) level.solution[row] = sum;
    }
    g.meet();
}

/// One step of flexible conjugate gradients on a level, whose z is there; says whether another follows.
INLINE bool conjugate_step(Grid& g, const Tables& tables, u32 l, u32& step, double start, double& before, double& alpha) {
    const Level& level = tables.levels[l];
    double dots[2];
    g.take(dots);
    const double rho = dots[0];
    const bool first = step == 0;
    double curvature[1] = {0};
    if (rho > 0) {
        const float beta = first ? 0.0f : float(-alpha * dots[1] / before);
        for_fours(g, level.n, [&](u32 i) {
            Four p = load(level.z, i);
            if (!first) {
                const Four old = load(level.direction, i);
                EACH p.v[m] += beta * old.v[m];
            }
            store(level.direction, i, p);
            if (l == 0) store(level.product, i, {0, 0, 0, 0});
        });
        g.meet();
        if (l == 0) {
            add_first(g, tables, 1.0f, level.direction, level.product);
            for_fours(g, level.n, [&](u32 i) { add_dot(curvature[0], load(level.direction, i), load(level.product, i)); });
        } else {
            for_rows(g, level, level.direction, [&](u32 i, float sum) {
                level.product[i] = sum;
                curvature[0] += double(level.direction[i]) * double(sum);
            });
        }
        g.give(curvature);
        g.meet();
        g.take(curvature);
    }
    if (!(rho > 0 && curvature[0] > 0)) {
        // A direction of no use: what there is must do.
        if (first) {
            const float factor = rho > 0 ? 0.0f : 1.0f;
            for_fours(g, level.n, [&](u32 i) {
                Four z = load(level.z, i);
                EACH z.v[m] *= factor;
                store(level.solution, i, z);
            });
            g.meet();
        }
        return false;
    }
    alpha = rho / curvature[0];
    before = rho;
    step++;
    const bool last = step == level.steps;
    const float factor = float(alpha);
    double sum[1] = {0};
    for_fours(g, level.n, [&](u32 i) {
        const Four p = load(level.direction, i);
        Four x = {0, 0, 0, 0};
        if (!first) x = load(level.solution, i);
        EACH x.v[m] += factor * p.v[m];
        store(level.solution, i, x);
        if (!last) {
            const Four q = load(level.product, i);
            Four r = load(level.residual, i);
            EACH r.v[m] -= factor * q.v[m];
            store(level.residual, i, r);
            if (level.scale) {
                const Four scale = load(level.scale, i);
                EACH r.v[m] = scale.v[m] > 0 ? r.v[m] / scale.v[m] : 0.0f;
            }
            add_dot(sum[0], r, r);
        }
    });
    if (last) {
        g.meet();
        return false;
    }
    g.give(sum);
    g.meet();
    g.take(sum);
    return !(sum[0] <= tables.tolerance * start);
}

/// z of the finest level += coarse correction for its residual.
INLINE void correct(Grid& g, const Tables& tables) {
    u32 step[MAX_LEVELS];
    double start[MAX_LEVELS], before[MAX_LEVELS], alpha[MAX_LEVELS];
    const u32 bottom = tables.bottom ? tables.n_levels - 1 : tables.n_levels;
    restrict_first(g, tables);
    u32 l = 0;
    bool entered = true; // with a new right-hand side, whose square was handed in
    for (;;) {
        if (entered) {
            double sum[1];
            g.take(sum);
            start[l] = sum[0];
            step[l] = 0;
        }
        if (l == bottom) {
            solve_bottom(g, tables, l);
        } else {
            smooth_before(g, tables, l);
            if (l + 1 < tables.n_levels) {
                l++;
                restrict_to(g, tables, l);
                entered = true;
                continue;
            }
            smooth_after(g, tables, l, 20);
        }
        // A cycle is done, and maybe those above it.
        for (;;) {
            const Level& level = tables.levels[l];
            const bool inner = l != bottom && level.steps > 1;
            if (inner && conjugate_step(g, tables, l, step[l], start[l], before[l], alpha[l])) break;
            const float* values = inner || l == bottom ? level.solution : level.z;
            if (l == 0) {
                prolong_first(g, tables, values);
                return;
            }
            prolong_from(g, tables, l, values);
            l--;
            smooth_after(g, tables, l, tables.degree);
        }
        entered = false;
    }
}
