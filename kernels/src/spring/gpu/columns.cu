// Implicit addressing in single precision, springs along axes and face diagonals that only pull, one material: a thread block has
// a tile of columns and marches along z, a thread ROWS columns side by side in y. Planes of displacements come into shared memory
// ahead of their use; springs between places of one thread, in a plane or from plane to plane, are computed once.

#include "springs.cuh"

#define X 32
#define Y 4
#define ROWS 2
#define STAGES 5
#define BLOCKS 5
#define THREADS (X * Y)
#define HIGH (Y * ROWS)
// Numbers of a row in shared memory: three unused, one place to the left, the tile, one place to the right.
#define PITCH 40
#define PLANE (PITCH * (HIGH + 2))
#define STAGE (3 * PLANE)

extern __shared__ char shared[];

static __device__ __forceinline__ void copy_16(u32 to, const float *from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}
static __device__ __forceinline__ void copy_4(u32 to, const float *from) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(from) : "memory");
}

// Adds ε / (w + √w) D times L² to one end, and takes it from the other where that is given.
template <int D, int DX, int DY, int DZ, bool FULL>
static __device__ __forceinline__ void add(const float a[3], const float *b, int pitch, const Params &p, u32 word, float sum[3], float *other) {
    const Rule &rule = p.rule[D];
    float e[3] = {b[0] - a[0], b[pitch] - a[1], b[2 * pitch] - a[2]};
    // At DX = 0 and so on nothing is added: the rest vector is known here.
    float along[3] = {DX ? e[0] + rule.rest[0] : e[0], DY ? e[1] + rule.rest[1] : e[1], DZ ? e[2] + rule.rest[2] : e[2]};
    float q = (DX ? along[0] + rule.rest[0] : e[0]) * e[0] + (DY ? along[1] + rule.rest[1] : e[1]) * e[1] +
              (DZ ? along[2] + rule.rest[2] : e[2]) * e[2];
    float w = fmaf(q, rule.inverse, 1.0f), root, inverse;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(root) : "f"(w));
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(fmaf(w, root, w)));
    float s = q * inverse;
    if (!FULL) s = (word >> D & 1) ? s : 0.0f;
#pragma unroll
    for (int c = 0; c < 3; ++c) {
        sum[c] = fmaf(s, along[c], sum[c]);
        if (other) other[c] = fmaf(-s, along[c], other[c]);
    }
}

struct Sums {
    float axis[ROWS][3], face[ROWS][3];
};

// All springs of this thread's places, with those whose other end is in the plane above: what these do there is left in `next`.
template <bool FULL>
static __device__ __forceinline__ void forces(const float *below, const float *here, const float *above, const float own[ROWS][3],
                                              const Params &p, const u32 word[ROWS], Sums &sums, Sums &next) {
#define AT(plane, dx, dy) ((plane) + (dy) * PITCH + (dx)), PLANE
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        const float *b = below + r * PITCH, *h = here + r * PITCH, *a = above + r * PITCH;
        float *axis = sums.axis[r], *face = sums.face[r];
        add<0, 1, 0, 0, FULL>(own[r], AT(h, 1, 0), p, word[r], axis, nullptr);
        add<1, -1, 0, 0, FULL>(own[r], AT(h, -1, 0), p, word[r], axis, nullptr);
        if (r + 1 < ROWS)
            add<2, 0, 1, 0, FULL>(own[r], own[r + 1 < ROWS ? r + 1 : r], 1, p, word[r], axis, sums.axis[r + 1 < ROWS ? r + 1 : r]);
        else
            add<2, 0, 1, 0, FULL>(own[r], AT(h, 0, 1), p, word[r], axis, nullptr);
        if (r == 0) add<3, 0, -1, 0, FULL>(own[r], AT(h, 0, -1), p, word[r], axis, nullptr);
        add<6, 1, 1, 0, FULL>(own[r], AT(h, 1, 1), p, word[r], face, nullptr);
        add<7, -1, -1, 0, FULL>(own[r], AT(h, -1, -1), p, word[r], face, nullptr);
        add<8, -1, 1, 0, FULL>(own[r], AT(h, -1, 1), p, word[r], face, nullptr);
        add<9, 1, -1, 0, FULL>(own[r], AT(h, 1, -1), p, word[r], face, nullptr);
        add<11, -1, 0, -1, FULL>(own[r], AT(b, -1, 0), p, word[r], face, nullptr);
        add<13, 1, 0, -1, FULL>(own[r], AT(b, 1, 0), p, word[r], face, nullptr);
        if (r == 0) add<15, 0, -1, -1, FULL>(own[r], AT(b, 0, -1), p, word[r], face, nullptr);
        if (r == ROWS - 1) add<17, 0, 1, -1, FULL>(own[r], AT(b, 0, 1), p, word[r], face, nullptr);
        add<10, 1, 0, 1, FULL>(own[r], AT(a, 1, 0), p, word[r], face, nullptr);
        add<12, -1, 0, 1, FULL>(own[r], AT(a, -1, 0), p, word[r], face, nullptr);
        add<4, 0, 0, 1, FULL>(own[r], AT(a, 0, 0), p, word[r], axis, next.axis[r]);
        add<14, 0, 1, 1, FULL>(own[r], AT(a, 0, 1), p, word[r], face, r + 1 < ROWS ? next.face[r + 1 < ROWS ? r + 1 : r] : nullptr);
        add<16, 0, -1, 1, FULL>(own[r], AT(a, 0, -1), p, word[r], face, r > 0 ? next.face[r > 0 ? r - 1 : r] : nullptr);
    }
}

// PAIR: the second array of displacements holds u_{n−1}, which u_{n+1} replaces (the paper's two positions): 12 bytes less.
template <bool PAIR> static __device__ __forceinline__ void columns(const Params &p, u32 k, u32 parity) {
    int tx = threadIdx.x % X, ty = threadIdx.x / X * ROWS;
    u32 x = blockIdx.x * X, y0 = blockIdx.y * HIGH, y = y0 + ty, z0 = blockIdx.z * p.depth, z1 = min(z0 + p.depth, p.size[2]);
    u32 row = *p.row + k;
    float g[3] = {gravity(p, row, 0), gravity(p, row, 1), gravity(p, row, 2)};
    const float *u = p.u[parity];
    float *next_u = p.u[parity ^ 1], *du = p.du[0];
    u32 at = p.pad + x + tx + y * p.row_length + z0 * p.plane;
    // What this thread copies of a plane: pieces of 16 bytes and numbers at the rim. Rows beyond the grid are read, too: the arrays
    // are padded.
    const u32 n_pieces = 3 * (HIGH + 2) * (X / 4), n_rims = 3 * (HIGH + 2) * 2;
    const u32 per = (n_pieces + THREADS - 1) / THREADS;
    u32 base = u32(__cvta_generic_to_shared(shared)), tile = p.pad + x + (z0 - 1) * p.plane + (y0 - 1) * p.row_length;
    u32 piece_from[per], piece_to[per], rim_from = 0, rim_to = 0;
#pragma unroll
    for (u32 j = 0; j < per; ++j) {
        u32 number = min(threadIdx.x + j * THREADS, n_pieces - 1), i = number % (X / 4), r = number / (X / 4), c = r / (HIGH + 2);
        r %= HIGH + 2;
        piece_from[j] = c * p.len + tile + r * p.row_length + 4 * i;
        piece_to[j] = base + 4 * (c * PLANE + r * PITCH + 4 + 4 * i);
    }
    {
        u32 side = threadIdx.x % 2, r = threadIdx.x / 2, c = r / (HIGH + 2);
        r %= HIGH + 2;
        rim_from = c * p.len + tile + r * p.row_length + (side ? X : -1);
        rim_to = base + 4 * (c * PLANE + r * PITCH + (side ? 4 + X : 3));
    }
    u32 into = 0;
    auto fetch = [&]() {
#pragma unroll
        for (u32 j = 0; j < per; ++j) {
            if (threadIdx.x + j * THREADS < n_pieces) copy_16(piece_to[j] + into, u + piece_from[j]);
            piece_from[j] += p.plane;
        }
        if (threadIdx.x < n_rims) copy_4(rim_to + into, u + rim_from);
        rim_from += p.plane;
        into = into == (STAGES - 1) * STAGE * 4 ? 0 : into + STAGE * 4;
    };
    auto commit = [&]() { asm volatile("cp.async.commit_group;" ::: "memory"); };
#pragma unroll
    for (int i = 0; i < STAGES - 1; ++i) {
        if (z0 + i < z1 + 2) fetch();
        commit();
    }
    const float *mine = (const float *)shared + ty * PITCH + 4 + tx + PITCH;
    // Masks come a plane ahead.
    bool inside[ROWS];
    u32 word[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        inside[r] = y + r < p.size[1];
        word[r] = inside[r] ? p.mask[at + r * p.row_length] : 0;
    }
    float axis_factor = p.uniform_inertia * p.rule[0].inverse * p.rule[0].stiffness; // of spacing alike along x, y, z
    float face_factor = p.uniform_inertia * p.rule[6].inverse * p.rule[6].stiffness;
    asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 3) : "memory");
    __syncthreads();
    Sums carry = {};
    // Springs from below into the first plane that later planes get from the one before.
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        const float *b = mine + r * PITCH, *h = b + STAGE;
        float own[3] = {h[0], h[PLANE], h[2 * PLANE]};
        add<5, 0, 0, -1, false>(own, AT(b, 0, 0), p, word[r], carry.axis[r], nullptr);
        if (r > 0) add<15, 0, -1, -1, false>(own, AT(b, 0, -1), p, word[r], carry.face[r], nullptr);
        if (r + 1 < ROWS) add<17, 0, 1, -1, false>(own, AT(b, 0, 1), p, word[r], carry.face[r], nullptr);
    }
    const float *below = mine, *here = mine + STAGE, *above = mine + 2 * STAGE;
    for (u32 z = z0; z < z1; ++z) {
        float old[ROWS][3];
        u32 ahead[ROWS];
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            u32 i = at + r * p.row_length;
            ahead[r] = inside[r] && z + 1 < z1 ? __ldcs(p.mask + i + p.plane) : 0;
#pragma unroll
            for (int c = 0; c < 3; ++c) old[r][c] = word[r] ? __ldcs((PAIR ? next_u : du) + c * p.len + i) : 0.0f;
        }
        // The plane above is there, and everybody is done with the one that the next fetch replaces.
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 4) : "memory");
        __syncthreads();
        if (z + STAGES - 2 < z1 + 1) fetch();
        commit();
        float own[ROWS][3];
        u32 some = 0, every = ~0u;
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            some |= word[r];
            every &= word[r];
#pragma unroll
            for (int c = 0; c < 3; ++c) own[r][c] = here[r * PITCH + c * PLANE];
        }
        Sums sums = carry;
        carry = {};
        if (__any_sync(~0u, some)) {
            if (__all_sync(~0u, (every & 0x3ffff) == 0x3ffff))
                forces<true>(below, here, above, own, p, word, sums, carry);
            else
                forces<false>(below, here, above, own, p, word, sums, carry);
#pragma unroll
            for (int r = 0; r < ROWS; ++r)
                if (word[r]) {
                    u32 i = at + r * p.row_length;
#pragma unroll
                    for (int c = 0; c < 3; ++c) {
                        float increment = PAIR ? own[r][c] - old[r][c] : old[r][c];
                        increment = p.decay * increment + (axis_factor * sums.axis[r][c] + face_factor * sums.face[r][c] + g[c]);
                        if (!PAIR) du[c * p.len + i] = increment;
                        next_u[c * p.len + i] = own[r][c] + increment;
                    }
                }
        }
#pragma unroll
        for (int r = 0; r < ROWS; ++r) word[r] = ahead[r];
        at += p.plane;
        below = here;
        here = above;
        above = above == mine + (STAGES - 1) * STAGE ? mine : above + STAGE;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) columns_increments(const __grid_constant__ Params p, u32 k, u32 parity) {
    columns<false>(p, k, parity);
}
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) columns_pairs(const __grid_constant__ Params p, u32 k, u32 parity) {
    columns<true>(p, k, parity);
}
