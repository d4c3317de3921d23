// Kernels that run once, for positions relative to blocks, and kernels that run between steps, for signals, step
// counters and energy sums.

#include "signals.cuh"

// The compiler of the kernels (NVRTC) has no <cmath>.
__device__ __forceinline__ double infinity() { return __longlong_as_double(0x7ff0000000000000ll); }

// Computes the centre of the bounding box of `n` nodes, in multiples of `length`. `node_of` gives the node numbers. All
// threads of the thread block take part.
template <typename Grid, typename NodeOf>
__device__ void middle(const double *coordinates, u32 dimension, double length, u32 n, Grid &&grid, NodeOf &&node_of, double *origin) {
    __shared__ double low[8], high[8];
    for (u32 c = 0; c < dimension; c++) {
        double least = infinity(), most = -infinity();
        for (u32 i = threadIdx.x; i < n; i += blockDim.x) {
            const double x = coordinates[node_of(i) * dimension + c];
            least = fmin(least, x);
            most = fmax(most, x);
        }
        for (int offset = 16; offset > 0; offset /= 2) {
            least = fmin(least, __shfl_down_sync(0xffffffffu, least, offset));
            most = fmax(most, __shfl_down_sync(0xffffffffu, most, offset));
        }
        if (threadIdx.x % 32 == 0) {
            low[threadIdx.x / 32] = least;
            high[threadIdx.x / 32] = most;
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            for (u32 warp = 1; warp < blockDim.x / 32; warp++) {
                least = fmin(least, low[warp]);
                most = fmax(most, high[warp]);
            }
            origin[c] = grid(0.5 * (least + most) / length);
        }
        __syncthreads();
    }
}

// Stores the positions of the own, halo and outer nodes of one block. They are relative to the centre of the bounding
// box of its own and halo nodes, in multiples of `length`. If quantum > 0 (single precision), they are rounded to a
// grid that all blocks share. In three dimensions each component of a block is stored contiguously.
template <typename T>
__device__ void localise(const Block *blocks, const double *coordinates, const u32 *halo_nodes, const u32 *outer_nodes,
                         u32 dimension, double length, double quantum, T *out) {
    __shared__ double origin[3];
    const Block &block = blocks[blockIdx.x];
    const u32 n_near = block.n_own + block.n_halo, n_local = n_near + block.n_outer;
    auto node_of = [&](u32 i) -> u64 {
        if (i < block.n_own) return block.node_first + i;
        if (i < n_near) return halo_nodes[block.halo_first + i - block.n_own];
        return outer_nodes[block.outer_first + i - n_near];
    };
    auto grid = [&](double x) { return quantum > 0 ? rint(x / quantum) * quantum : x; };
    middle(coordinates, dimension, length, n_near, grid, node_of, origin);
    for (u32 i = threadIdx.x; i < n_local; i += blockDim.x) {
        const u64 node = node_of(i);
        for (u32 c = 0; c < dimension; c++)
            out[(u64)block.local_first * dimension + (dimension == 3 ? c * n_local + i : i * dimension + c)] =
                (T)(grid(coordinates[node * dimension + c] / length) - origin[c]);
    }
}

// Does the same for the nodes of a tile, plane by plane.
template <typename T>
__device__ void localise_tile(const Tile *tiles, const u32 *words, const double *coordinates, double length, double quantum,
                              T *out) {
    __shared__ double origin[3];
    const Tile &tile = tiles[blockIdx.x];
    const u32 n = (tile.n_layers + 1) * SLOTS;
    auto node_of = [&](u32 i) -> u64 { return words[tile.first + i] & TILE_NODE; };
    auto grid = [&](double x) { return quantum > 0 ? rint(x / quantum) * quantum : x; };
    middle(coordinates, 3, length, n, grid, node_of, origin);
    for (u32 i = threadIdx.x; i < n; i += blockDim.x)
        for (u32 c = 0; c < 3; c++)
            out[3 * (tile.first + i / SLOTS * SLOTS) + c * SLOTS + i % SLOTS] =
                (T)(grid(coordinates[3 * node_of(i) + c] / length) - origin[c]);
}

extern "C" __global__ void __launch_bounds__(256) localise_tiles_f32(const Tile *tiles, const u32 *words, const double *coordinates,
                                                                     double length, double quantum, float *out) {
    localise_tile<float>(tiles, words, coordinates, length, quantum, out);
}

extern "C" __global__ void __launch_bounds__(256) localise_tiles_f64(const Tile *tiles, const u32 *words, const double *coordinates,
                                                                     double length, double quantum, double *out) {
    localise_tile<double>(tiles, words, coordinates, length, quantum, out);
}

extern "C" __global__ void __launch_bounds__(256)
    localise_f32(const Block *blocks, const double *coordinates, const u32 *halo_nodes, const u32 *outer_nodes, u32 dimension,
                 double length, double quantum, float *out) {
    localise<float>(blocks, coordinates, halo_nodes, outer_nodes, dimension, length, quantum, out);
}

extern "C" __global__ void __launch_bounds__(256)
    localise_f64(const Block *blocks, const double *coordinates, const u32 *halo_nodes, const u32 *outer_nodes, u32 dimension,
                 double length, double quantum, double *out) {
    localise<double>(blocks, coordinates, halo_nodes, outer_nodes, dimension, length, quantum, out);
}

// Evaluates the rows of signals, starting `by` steps later. Each thread block has one column.
extern "C" __global__ void __launch_bounds__(96) make_signals(const __grid_constant__ SignalTables s, u32 by) {
    make_rows(s, by);
}

// Advances the step counters by `by` steps for the next launches.
extern "C" __global__ void __launch_bounds__(1) count_steps(u32 *row, u64 *step, u32 by) {
    *row += by;
    *step += by;
}

// Partial sums of m Δu² and (u − Δu) f over the degrees of freedom of one thread block, in a fixed order.
template <typename T>
__device__ void energy_sums(const T *u, const T *du, const double *force, const double *mass, u64 n_nodes, u32 dimension,
                            double *sums) {
    __shared__ double shared[2][8];
    double kinetic = 0, strain = 0;
    const u64 n = n_nodes * dimension, stride = (u64)gridDim.x * blockDim.x;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        const double increment = (double)du[i];
        kinetic += mass[i / dimension] * increment * increment;
        strain += ((double)u[i] - increment) * force[i];
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        kinetic += __shfl_down_sync(0xffffffffu, kinetic, offset);
        strain += __shfl_down_sync(0xffffffffu, strain, offset);
    }
    if (threadIdx.x % 32 == 0) {
        shared[0][threadIdx.x / 32] = kinetic;
        shared[1][threadIdx.x / 32] = strain;
    }
    __syncthreads();
    if (threadIdx.x < 2) {
        double sum = 0;
        for (int warp = 0; warp < 8; warp++) sum += shared[threadIdx.x][warp];
        sums[2 * blockIdx.x + threadIdx.x] = sum;
    }
}

extern "C" __global__ void __launch_bounds__(256)
    energy_sums_f32(const float *u, const float *du, const double *force, const double *mass, u64 n_nodes, u32 dimension,
                    double *sums) {
    energy_sums<float>(u, du, force, mass, n_nodes, dimension, sums);
}

extern "C" __global__ void __launch_bounds__(256)
    energy_sums_f64(const double *u, const double *du, const double *force, const double *mass, u64 n_nodes, u32 dimension,
                    double *sums) {
    energy_sums<double>(u, du, force, mass, n_nodes, dimension, sums);
}
