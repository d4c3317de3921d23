// Tables of the coarse levels, and barriers and sums over all threads of a launch, for levels.cuh.

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
#define __shared__ static thread_local
#endif

#include "layout.cuh"
#include "ratios.cuh"

/// Eight entries of a block.
struct alignas(16) Eight {
    short v[8];
};

/// Parts of the stiffness: E h, or λ h and μ h where elements differ in Poisson's ratio.
enum : int { PARTS = RATIOS ? 2 : 1 };

/// Stiffness of 2 × 2 × 2 voxels (cell.rs), for each part: row 3 v + a, column 3 w + b.
#ifdef __CUDACC__
__constant__ float CELL[576 * PARTS];
#else
static float CELL[576 * PARTS];
#endif

constexpr u32 SUMS = 3;

/// The threads of a launch on one device, with a barrier and sums over all of them.
struct Launch {
    u32 thread, n_threads;
    double* partial;
    u32* arrived;
    double* work;
    u32 slot;

    /// Whether another device computes the level that has been entered.
    INLINE bool waits() const { return false; }
    INLINE void enter(u32) {}
    INLINE void leave(u32, float*) {}
    /// Lets other ranks have the nodes of a list in a vector.
    INLINE void share(u32, float*) {}
    /// Whether this device computes the node of a level.
    INLINE bool computes(const Level&, u32) const { return true; }
    /// The elements of level 1 whose nodes of the finest level this device may have, and whether it has them.
    INLINE u32 first_element(const Tables& tables) const { return tables.colour_first[0]; }
    INLINE u32 end_element(const Tables& tables) const { return tables.colour_first[8]; }
    INLINE bool has_some(const Tables&, const Cell&) const { return true; }
    INLINE bool has(u32) const { return true; }
#ifdef __CUDACC__
    DEVICE Launch(const Tables& tables)
        : thread(blockIdx.x * blockDim.x + threadIdx.x), n_threads(gridDim.x * blockDim.x), partial(tables.partial),
          arrived(tables.arrived),
          work(tables.work), slot(0) {}

    /// Barrier of all thread blocks. Afterwards each sees what the others have written before.
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

    /// The same where other devices read the nodes of a list in a vector afterwards.
    INLINE void meet(u32, float*) { Launch::meet(); }

    /// The same for what only this device reads and writes.
    INLINE void meet_own() { Launch::meet(); }

    INLINE u32 threads_of_block() const { return blockDim.x; }

    /// Calls `store(q, sum)` for each sum over a thread block.
    template <int Q, class Store> INLINE void add_block(const double (&sum)[Q], Store store) {
        __shared__ double warps[SUMS][32];
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
            store(threadIdx.x, s);
        }
    }

    /// Adds up the sums of `n` thread blocks, (Q, n).
    template <int Q> INLINE void add_blocks(const double* from, u32 n, double (&sum)[Q]) {
        __shared__ double all[SUMS];
        const u32 warp = threadIdx.x / 32;
        if (warp < Q) {
            double s = 0;
            for (u32 b = threadIdx.x % 32; b < n; b += 32) s += from[warp * n + b];
#pragma unroll
            for (int k = 16; k > 0; k >>= 1) s += __shfl_xor_sync(~0u, s, k);
            if (threadIdx.x % 32 == 0) all[warp] = s;
        }
        __syncthreads();
#pragma unroll
        for (int q = 0; q < Q; q++) sum[q] = all[q];
        __syncthreads();
    }

    /// Stores the partial sums of a thread block. `meet` and `take` must follow.
    template <int Q> INLINE void give(const double (&sum)[Q]) {
        slot ^= 1;
        add_block(sum, [&](u32 q, double s) { partial[(slot * SUMS + q) * gridDim.x + blockIdx.x] = s; });
    }

    /// Returns the sums over all thread blocks, with the same bits in every thread.
    template <int Q> INLINE void take(double (&sum)[Q]) { add_blocks(partial + slot * SUMS * gridDim.x, gridDim.x, sum); }
#else
    double kept[SUMS];
    Launch(const Tables& tables)
        : thread(0), n_threads(1), partial(tables.partial), arrived(tables.arrived), work(tables.work), slot(0) {}
    void meet() {}
    void meet(u32, float*) {}
    void meet_own() {}
    u32 threads_of_block() const { return 1; }
    template <int Q> void give(const double (&sum)[Q]) {
        for (int q = 0; q < Q; q++) kept[q] = sum[q];
    }
    template <int Q> void take(double (&sum)[Q]) {
        for (int q = 0; q < Q; q++) sum[q] = kept[q];
    }
#endif
};

#ifdef POGO_DEVICES
#include "devices.cuh"
typedef LaunchOfDevices Grid;
#else
typedef Launch Grid;
#endif

/// Adds the cost of one product with the level's matrix.
INLINE void count(const Grid& g, const Level& level) {
    if (g.thread == 0) *g.work += level.cost;
}

/// Four consecutive numbers of a vector.
struct alignas(16) Four {
    float v[4];
};
#define EACH _Pragma("unroll") for (int m = 0; m < 4; m++)

INLINE Four load(const float* from, u64 i) { return reinterpret_cast<const Four*>(from)[i]; }
INLINE void store(float* to, u64 i, const Four& v) { reinterpret_cast<Four*>(to)[i] = v; }

/// Adds the scalar product of four numbers each.
INLINE void add_dot(double& sum, const Four& a, const Four& b) { EACH sum += double(a.v[m]) * double(b.v[m]); }

/// Calls `act(i)` for each group of four numbers of a vector of a level that this device computes.
template <class Act> INLINE void for_fours(const Grid& g, const Level& level, Act act) {
    const u32 end = u32((3 * u64(level.end) + 3) / 4);
    for (u32 i = level.first / 4 * 3 + g.thread; i < end; i += g.n_threads) act(i);
}
