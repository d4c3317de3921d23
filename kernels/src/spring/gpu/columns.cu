// Implicit addressing in single precision, springs along axes and face diagonals that only pull, one material: a thread block has
// a tile of 32 x 8 columns and marches along z. Planes of displacements come into shared memory two ahead, a thread reads nine
// places of each and keeps three planes in registers; the spring between two places of a column is computed once.

#include "springs.cuh"

#define X 32
#define Y 8
#define THREADS (X * Y)
// Numbers of a row in shared memory: three unused, one place to the left, the tile, one place to the right.
#define PITCH 40
#define PLANE (PITCH * (Y + 2))
#define STAGES 3

extern __shared__ char shared[];

static __device__ __forceinline__ void copy_16(u32 to, const float *from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}
static __device__ __forceinline__ void copy_4(u32 to, const float *from) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(from) : "memory");
}

// Nine places of a plane: x fastest, three components each.
struct Nine {
    float u[9][3];
};

static __device__ __forceinline__ void read_nine(Nine &to, const float *plane) {
#pragma unroll
    for (int c = 0; c < 3; ++c)
#pragma unroll
        for (int y = 0; y < 3; ++y)
#pragma unroll
            for (int x = 0; x < 3; ++x) to.u[3 * y + x][c] = plane[c * PLANE + y * PITCH + x];
}

// ε / (w + √w) times L², and D.
template <int DX, int DY, int DZ>
static __device__ __forceinline__ float pull(const float a[3], const float b[3], const Rule &rule, float along[3]) {
    float e[3] = {b[0] - a[0], b[1] - a[1], b[2] - a[2]};
    // At DX = 0 and so on nothing is added: the rest vector is known here.
    float t[3] = {DX ? e[0] + 2 * rule.rest[0] : e[0], DY ? e[1] + 2 * rule.rest[1] : e[1], DZ ? e[2] + 2 * rule.rest[2] : e[2]};
    float q = t[0] * e[0] + t[1] * e[1] + t[2] * e[2];
    along[0] = DX ? e[0] + rule.rest[0] : e[0];
    along[1] = DY ? e[1] + rule.rest[1] : e[1];
    along[2] = DZ ? e[2] + rule.rest[2] : e[2];
    float w = fmaf(q, rule.inverse, 1.0f), root, inverse;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(root) : "f"(w));
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(fmaf(w, root, w)));
    return q * inverse;
}

template <int D, bool FULL, int DX, int DY, int DZ>
static __device__ __forceinline__ void add(float sum[3], const float a[3], const float b[3], const Params &p, u32 word) {
    float along[3], s = pull<DX, DY, DZ>(a, b, p.rule[D], along);
    if (!FULL) s = (word >> D & 1) ? s : 0.0f;
#pragma unroll
    for (int c = 0; c < 3; ++c) sum[c] = fmaf(s, along[c], sum[c]);
}

// Sums over a particle's springs, by group; `carry` is the pull of the spring up, whose other end it is for the next plane.
template <bool FULL>
static __device__ __forceinline__ void forces(const Nine &below, const Nine &here, const Nine &above, const Params &p, u32 word,
                                              float axis[3], float face[3], float carry[3]) {
    const float *a = here.u[4];
    float up[3] = {0, 0, 0};
    add<0, FULL, 1, 0, 0>(axis, a, here.u[5], p, word);
    add<1, FULL, -1, 0, 0>(axis, a, here.u[3], p, word);
    add<2, FULL, 0, 1, 0>(axis, a, here.u[7], p, word);
    add<3, FULL, 0, -1, 0>(axis, a, here.u[1], p, word);
    add<6, FULL, 1, 1, 0>(face, a, here.u[8], p, word);
    add<7, FULL, -1, -1, 0>(face, a, here.u[0], p, word);
    add<8, FULL, -1, 1, 0>(face, a, here.u[6], p, word);
    add<9, FULL, 1, -1, 0>(face, a, here.u[2], p, word);
    add<11, FULL, -1, 0, -1>(face, a, below.u[3], p, word);
    add<13, FULL, 1, 0, -1>(face, a, below.u[5], p, word);
    add<15, FULL, 0, -1, -1>(face, a, below.u[1], p, word);
    add<17, FULL, 0, 1, -1>(face, a, below.u[7], p, word);
    add<10, FULL, 1, 0, 1>(face, a, above.u[5], p, word);
    add<12, FULL, -1, 0, 1>(face, a, above.u[3], p, word);
    add<14, FULL, 0, 1, 1>(face, a, above.u[7], p, word);
    add<16, FULL, 0, -1, 1>(face, a, above.u[1], p, word);
    add<4, FULL, 0, 0, 1>(up, a, above.u[4], p, word);
#pragma unroll
    for (int c = 0; c < 3; ++c) {
        axis[c] += carry[c] + up[c];
        carry[c] = -up[c];
    }
}

// PAIR: the arrays of Δu hold u_{n−1}, which u_{n+1} replaces (the paper's two positions): 12 bytes less.
template <bool PAIR> static __device__ __forceinline__ void columns(const Params &p, u32 k, u32 parity) {
    u32 depth = p.depth;
    int tx = threadIdx.x % X, ty = threadIdx.x / X;
    u32 x = blockIdx.x * X, y0 = blockIdx.y * Y, y = y0 + ty, z0 = blockIdx.z * depth, z1 = min(z0 + depth, p.size[2]);
    u32 row = *p.row + k;
    float g[3] = {gravity(p, row, 0), gravity(p, row, 1), gravity(p, row, 2)};
    const float *u = p.u[parity];
    float *next = p.u[parity ^ 1];
    float *du = p.du[0];
    // What this thread copies of a plane: a piece of 16 bytes and a number at the rim. Rows beyond the grid are read, too: the
    // arrays are padded.
    u32 at = p.pad + x + tx + y * p.row_length + z0 * p.plane;
    const u32 pieces = 3 * (Y + 2) * (X / 4), rims = 3 * (Y + 2) * 2;
    u32 base = u32(__cvta_generic_to_shared(shared)), to_piece = 0, to_rim = 0;
    const float *piece = u, *rim = u;
    bool has_piece = threadIdx.x < pieces, has_rim = threadIdx.x < rims;
    u32 tile = p.pad + x + (z0 - 1) * p.plane + (y0 - 1) * p.row_length;
    if (has_piece) {
        u32 i = threadIdx.x % (X / 4), r = threadIdx.x / (X / 4), c = r / (Y + 2);
        r %= Y + 2;
        piece += u64(c) * p.len + tile + r * p.row_length + 4 * i;
        to_piece = base + 4 * (c * PLANE + r * PITCH + 4 + 4 * i);
    }
    if (has_rim) {
        u32 side = threadIdx.x % 2, r = threadIdx.x / 2, c = r / (Y + 2);
        r %= Y + 2;
        rim += u64(c) * p.len + tile + r * p.row_length + (side ? X : -1);
        to_rim = base + 4 * (c * PLANE + r * PITCH + (side ? 4 + X : 3));
    }
    const u32 stage_bytes = 3 * PLANE * 4;
    u32 into = 0;
    auto fetch = [&]() {
        if (has_piece) copy_16(to_piece + into, piece);
        if (has_rim) copy_4(to_rim + into, rim);
        asm volatile("cp.async.commit_group;" ::: "memory");
        piece += p.plane;
        rim += p.plane;
        into = into == (STAGES - 1) * stage_bytes ? 0 : into + stage_bytes;
    };
    const float *mine = (const float *)shared + ty * PITCH + 3 + tx;
    bool inside = y < p.size[1];
    fetch();
    fetch();
    fetch();
    asm volatile("cp.async.wait_group 1;" ::: "memory");
    __syncthreads();
    Nine a, b, c;
    read_nine(a, mine);
    read_nine(b, mine + 3 * PLANE);
    u32 from = 2 * 3 * PLANE;
    // The spring from below into the first plane.
    float carry[3] = {0, 0, 0};
    {
        u32 word = inside ? p.mask[at] : 0;
        add<5, false, 0, 0, -1>(carry, b.u[4], a.u[4], p, word);
    }
    float axis_factor = p.uniform_inertia * p.rule[0].inverse * p.rule[0].stiffness; // of spacing alike along x, y, z
    float face_factor = p.uniform_inertia * p.rule[6].inverse * p.rule[6].stiffness;
    __syncthreads();
    auto step = [&](const Nine &below, const Nine &here, Nine &above, u32 z) {
        u8 what = inside ? p.chunk[at / 32] : 0;
        float old[3] = {0, 0, 0};
        if (what) {
#pragma unroll
            for (int i = 0; i < 3; ++i) old[i] = PAIR ? __ldcs(next + u64(i) * p.len + at) : __ldcs(du + u64(i) * p.len + at);
        }
        if (z + 1 < z1) {
            fetch();
            asm volatile("cp.async.wait_group 1;" ::: "memory");
        } else {
            asm volatile("cp.async.wait_group 0;" ::: "memory");
        }
        __syncthreads();
        read_nine(above, mine + from);
        from = from == (STAGES - 1) * 3 * PLANE ? 0 : from + 3 * PLANE;
        if (what) {
            float axis[3] = {0, 0, 0}, face[3] = {0, 0, 0};
            u32 word = ~0u;
            if (what == 2) {
                forces<true>(below, here, above, p, word, axis, face, carry);
            } else {
                word = p.mask[at];
                forces<false>(below, here, above, p, word, axis, face, carry);
            }
            if (word) {
#pragma unroll
                for (int i = 0; i < 3; ++i) {
                    float increment = PAIR ? here.u[4][i] - old[i] : old[i];
                    increment = p.decay * increment + (axis_factor * axis[i] + face_factor * face[i] + g[i]);
                    if (!PAIR) du[u64(i) * p.len + at] = increment;
                    next[u64(i) * p.len + at] = here.u[4][i] + increment;
                }
            }
        } else {
            carry[0] = carry[1] = carry[2] = 0;
        }
        at += p.plane;
    };
    for (u32 z = z0; z < z1; z += 3) {
        step(a, b, c, z);
        if (z + 1 >= z1) break;
        step(b, c, a, z + 1);
        if (z + 2 >= z1) break;
        step(c, a, b, z + 2);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 2) columns_increments(const __grid_constant__ Params p, u32 k, u32 parity) {
    columns<false>(p, k, parity);
}
extern "C" __global__ void __launch_bounds__(THREADS, 2) columns_pairs(const __grid_constant__ Params p, u32 k, u32 parity) {
    columns<true>(p, k, parity);
}
