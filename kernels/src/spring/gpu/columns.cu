// Implicit addressing in single precision, for one material and even spacing. Springs lie along axes and face
// diagonals. They have no dampers and no pre-stress, and they never break.
//
// A thread block goes through a tile of columns along z. Each thread has two by two columns. Planes of displacements
// are copied to shared memory in advance. A spring between two places of the same thread, in a plane or between planes,
// is computed once. Lengths are in units of twice the spacing.
//
// A launch may make many steps. Its thread blocks take one tile after another, step by step, and wait only for the
// neighbouring tiles. So no thread block is idle at the end of a step.

#include "springs.cuh"

#define WARPS 4
#define STAGES 4
#define BLOCKS 4
#define THREADS (32 * WARPS)
// A warp has 32 by 4 columns.
#define X 32
#define Y (4 * WARPS)
// Numbers in a row in shared memory. There are four before the tile and four after it, and only one of each is used.
#define PITCH (X + 8)
#define PLANE (PITCH * (Y + 2))
#define STAGE (3 * PLANE)
#define PIECES (3 * (Y + 2) * (PITCH / 4))
#define PER ((PIECES + THREADS - 1) / THREADS)
// Numbers of a plane of increments, without the rim. Three such planes follow the stages.
#define OLD (3 * Y * X)

static_assert(X == TILE_X && Y == TILE_Y && 4 * WARPS == TILE_Y && WARP_ROWS == 4, "the host cuts other tiles");
static_assert(TILE_BYTES == 4 * (STAGES * STAGE + 3 * OLD), "the host counts with other shared memory");

extern __shared__ char shared[];

// A vector with three components.
struct V {
    float x[3];
};
static __device__ __forceinline__ void copy_16(u32 to, const float *from) {
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}

// Adds the pull ε / (w + √w) D, times L² of face diagonals, to `sum`. If `other` is given, subtracts it there. `ratio`
// is k / L² of the axis springs over k / L² of the diagonal springs.
template <int DX, int DY, int DZ, bool MASKED>
static __device__ __forceinline__ void add(const V &a, const V &b, float ratio, bool there, V &sum, V *other) {
    const int step[3] = {DX, DY, DZ};
    const bool axis = DX * DX + DY * DY + DZ * DZ == 1;
    const int first = DX ? 0 : DY ? 1 : 2, second = DZ ? 2 : 1;
    float along[3], q;
    V e;
#pragma unroll
    for (int c = 0; c < 3; ++c) e.x[c] = b.x[c] - a.x[c];
    // ε L² = e · e + 2 d · e.
    if (axis)
        q = step[first] > 0 ? e.x[first] : -e.x[first];
    else if (step[first] > 0)
        q = step[second] > 0 ? e.x[first] + e.x[second] : e.x[first] - e.x[second];
    else
        q = step[second] > 0 ? e.x[second] - e.x[first] : -e.x[first] - e.x[second];
#pragma unroll
    for (int c = 0; c < 3; ++c) {
        along[c] = step[c] ? e.x[c] + (step[c] > 0 ? 0.5f : -0.5f) : e.x[c];
        q = fmaf(e.x[c], e.x[c], q);
    }
    float w = fmaf(q, axis ? 4.0f : 2.0f, 1.0f), root, inverse;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(root) : "f"(w));
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(fmaf(w, root, w)));
    float s = q * inverse;
    if (axis) s *= ratio;
    if (MASKED) s = there ? s : 0.0f;
#pragma unroll
    for (int c = 0; c < 3; ++c) {
        sum.x[c] = fmaf(s, along[c], sum.x[c]);
        if (other) other->x[c] = fmaf(-s, along[c], other->x[c]);
    }
}

static __device__ __forceinline__ V one(const float *at) {
    return {at[0], at[PLANE], at[2 * PLANE]};
}
static __device__ __forceinline__ void two(const float *at, V v[2]) {
#pragma unroll
    for (int c = 0; c < 3; ++c) {
        float2 pair = *(const float2 *)(at + c * PLANE);
        v[0].x[c] = pair.x;
        v[1].x[c] = pair.y;
    }
}

// Adds the pulls of all springs of the thread's places within a plane and to the plane above. Also adds the springs
// from the rim of this plane to the thread's places in the plane above. Pulls on the plane above are stored in `next`.
// MASKED: some springs are missing. FIRST: only `next` is needed.
template <bool MASKED, bool FIRST>
static __device__ __forceinline__ void forces(const float *here, const float *above, const V own[2][2], float ratio,
                                              const u32 word[2][2], const u32 ahead[2][2], V sum[2][2], V next[2][2]) {
#define W(r, c, bit) (!MASKED || (word[r][c] >> bit & 1))
#define A(r, c, bit) (!MASKED || (ahead[r][c] >> bit & 1))
#define ADD(dx, dy, dz, a, b, there, sum, other) add<dx, dy, dz, MASKED>(a, b, ratio, there, sum, other)
    V up[2][2];
    two(above, up[0]);
    two(above + PITCH, up[1]);
#pragma unroll
    for (int r = 0; r < 2; ++r) {
        // Rows before and after those of this thread.
        const int row = r ? 2 : -1;
        V side[2], left, right, ends[2];
        two(here + row * PITCH, side);
#pragma unroll
        for (int c = 0; c < 2; ++c) {
            if (r)
                ADD(0, 1, -1, up[r][c], side[c], A(r, c, 17), next[r][c], nullptr);
            else
                ADD(0, -1, -1, up[r][c], side[c], A(r, c, 15), next[r][c], nullptr);
        }
        if (!FIRST) {
            left = one(here + row * PITCH - 1);
            right = one(here + row * PITCH + 2);
            two(above + row * PITCH, ends);
            if (r) {
                ADD(0, 1, 0, own[1][0], side[0], W(1, 0, 2), sum[1][0], nullptr);
                ADD(0, 1, 0, own[1][1], side[1], W(1, 1, 2), sum[1][1], nullptr);
                ADD(1, 1, 0, own[1][0], side[1], W(1, 0, 6), sum[1][0], nullptr);
                ADD(-1, 1, 0, own[1][1], side[0], W(1, 1, 8), sum[1][1], nullptr);
                ADD(-1, 1, 0, own[1][0], left, W(1, 0, 8), sum[1][0], nullptr);
                ADD(1, 1, 0, own[1][1], right, W(1, 1, 6), sum[1][1], nullptr);
                ADD(0, 1, 1, own[1][0], ends[0], W(1, 0, 14), sum[1][0], nullptr);
                ADD(0, 1, 1, own[1][1], ends[1], W(1, 1, 14), sum[1][1], nullptr);
            } else {
                ADD(0, -1, 0, own[0][0], side[0], W(0, 0, 3), sum[0][0], nullptr);
                ADD(0, -1, 0, own[0][1], side[1], W(0, 1, 3), sum[0][1], nullptr);
                ADD(1, -1, 0, own[0][0], side[1], W(0, 0, 9), sum[0][0], nullptr);
                ADD(-1, -1, 0, own[0][1], side[0], W(0, 1, 7), sum[0][1], nullptr);
                ADD(-1, -1, 0, own[0][0], left, W(0, 0, 7), sum[0][0], nullptr);
                ADD(1, -1, 0, own[0][1], right, W(0, 1, 9), sum[0][1], nullptr);
                ADD(0, -1, 1, own[0][0], ends[0], W(0, 0, 16), sum[0][0], nullptr);
                ADD(0, -1, 1, own[0][1], ends[1], W(0, 1, 16), sum[0][1], nullptr);
            }
        }
        // Springs to the left and right of each row.
        left = one(here + r * PITCH - 1);
        right = one(here + r * PITCH + 2);
        ADD(-1, 0, -1, up[r][0], left, A(r, 0, 11), next[r][0], nullptr);
        ADD(1, 0, -1, up[r][1], right, A(r, 1, 13), next[r][1], nullptr);
        if (!FIRST) {
            ADD(-1, 0, 0, own[r][0], left, W(r, 0, 1), sum[r][0], nullptr);
            ADD(1, 0, 0, own[r][1], right, W(r, 1, 0), sum[r][1], nullptr);
            if (r) {
                ADD(-1, -1, 0, own[1][0], one(here - 1), W(1, 0, 7), sum[1][0], nullptr);
                ADD(1, -1, 0, own[1][1], one(here + 2), W(1, 1, 9), sum[1][1], nullptr);
            } else {
                ADD(-1, 1, 0, own[0][0], one(here + PITCH - 1), W(0, 0, 8), sum[0][0], nullptr);
                ADD(1, 1, 0, own[0][1], one(here + PITCH + 2), W(0, 1, 6), sum[0][1], nullptr);
            }
            left = one(above + r * PITCH - 1);
            right = one(above + r * PITCH + 2);
            ADD(-1, 0, 1, own[r][0], left, W(r, 0, 12), sum[r][0], nullptr);
            ADD(1, 0, 1, own[r][1], right, W(r, 1, 10), sum[r][1], nullptr);
            ADD(1, 0, 0, own[r][0], own[r][1], W(r, 0, 0), sum[r][0], &sum[r][1]);
            ADD(0, 1, 0, own[0][r], own[1][r], W(0, r, 2), sum[0][r], &sum[1][r]);
            if (r)
                ADD(-1, 1, 0, own[0][1], own[1][0], W(0, 1, 8), sum[0][1], &sum[1][0]);
            else
                ADD(1, 1, 0, own[0][0], own[1][1], W(0, 0, 6), sum[0][0], &sum[1][1]);
        }
        // Springs from plane to plane. Their bits are read from the mask of the upper end, because FIRST has no other
        // masks.
        ADD(0, 0, 1, own[r][0], up[r][0], A(r, 0, 5), sum[r][0], &next[r][0]);
        ADD(0, 0, 1, own[r][1], up[r][1], A(r, 1, 5), sum[r][1], &next[r][1]);
        ADD(1, 0, 1, own[r][0], up[r][1], A(r, 1, 11), sum[r][0], &next[r][1]);
        ADD(-1, 0, 1, own[r][1], up[r][0], A(r, 0, 13), sum[r][1], &next[r][0]);
        if (r) {
            ADD(0, -1, 1, own[1][0], up[0][0], A(0, 0, 17), sum[1][0], &next[0][0]);
            ADD(0, -1, 1, own[1][1], up[0][1], A(0, 1, 17), sum[1][1], &next[0][1]);
        } else {
            ADD(0, 1, 1, own[0][0], up[1][0], A(1, 0, 15), sum[0][0], &next[1][0]);
            ADD(0, 1, 1, own[0][1], up[1][1], A(1, 1, 15), sum[0][1], &next[1][1]);
        }
    }
}

// HEAT: the energy dissipated by friction is summed.
template <bool HEAT> static __device__ __forceinline__ void step_tile(const Params &p, u32 row, u32 parity, u32 bx, u32 by, u32 bz, u32 tile) {
    u32 lane = threadIdx.x % 32, tx = 2 * (lane % 16), ty = threadIdx.x / 32 * 4 + lane / 16 * 2;
    u32 x = bx * X, y0 = by * Y, y = y0 + ty, z0 = bz * p.depth, z1 = min(z0 + p.depth, p.size[2]);
    float g[3] = {gravity(p, row, 0), gravity(p, row, 1), gravity(p, row, 2)};
    const float *u = p.u[parity];
    float *next_u = p.u[parity ^ 1], *du = p.du[0];
    // Rows beyond the grid are read too. The arrays are padded for that.
    u32 base = u32(__cvta_generic_to_shared(shared)) + 16 * threadIdx.x;
    // Offsets of the pieces of a plane that this thread copies. Consecutive threads write consecutive pieces in shared
    // memory.
    u32 piece[PER];
#pragma unroll
    for (u32 j = 0; j < PER; ++j) {
        u32 number = min(threadIdx.x + j * THREADS, PIECES - 1), i = number % (PITCH / 4), r = number / (PITCH / 4);
        piece[j] = r / (Y + 2) * p.len + r % (Y + 2) * p.row_length + 4 * i;
    }
    const u32 start = p.pad + x - 4 + (z0 - 1) * p.plane + (y0 - 1) * p.row_length;
    const float *source = u + start;
    u32 into = 0;
    auto fetch = [&]() {
#pragma unroll
        for (u32 j = 0; j < PER; ++j)
            if (threadIdx.x + j * THREADS < PIECES) copy_16(base + into + 16 * THREADS * j, source + piece[j]);
        source += p.plane;
        into = into == (STAGES - 1) * STAGE * 4 ? 0 : into + STAGE * 4;
    };
    const float *old_source = du + p.pad + x + y0 * p.row_length + z0 * p.plane;
    u32 old_piece = threadIdx.x / (X / 4) % Y * p.row_length + threadIdx.x % (X / 4) * 4, old_into = 4 * STAGES * STAGE;
    auto fetch_old = [&]() {
        // A row has eight pieces, and a component has Y rows. THREADS / 8 = Y, so each iteration copies one component.
#pragma unroll
        for (u32 c = 0; c < 3; ++c) copy_16(base + old_into + 16 * THREADS * c, old_source + c * p.len + old_piece);
        old_source += p.plane;
        old_into = old_into == 4 * (STAGES * STAGE + 2 * OLD) ? 4 * (STAGES * STAGE) : old_into + 4 * OLD;
    };
    auto commit = [&]() { asm volatile("cp.async.commit_group;" ::: "memory"); };
#pragma unroll
    for (int i = 0; i < STAGES; ++i) {
        if (z0 + i < z1 + 2) fetch();
        if (i < 2 && z0 + i < z1) fetch_old();
        commit();
    }
    const float *my_old = (const float *)shared + STAGES * STAGE + ty * X + tx;
    const float *mine = (const float *)shared + (ty + 1) * PITCH + 4 + tx;
    bool inside[2] = {y < p.size[1], y + 1 < p.size[1]};
    u32 at = p.pad + x + tx + y * p.row_length + z0 * p.plane;
    // Masks are read two planes ahead, if any spring of the warp's places is missing.
    u32 word[2][2], ahead[2][2], far[2][2];
    const u32 *wholes = p.whole + ((by * WARPS + threadIdx.x / 32) * ((p.size[0] + X - 1) / X) + bx) * p.whole_words + z0 / 32;
    auto look = [&]() { return u64(__ldg(wholes + 1)) << 32 | __ldg(wholes); };
    u64 whole = look() >> z0 % 32;
    // Pulls are summed in units of k / L² of the diagonal springs, or of the axis springs if there are no diagonal
    // ones.
    const bool faces = p.pull[6] > 0;
    const u32 kept = faces ? ~0u : ACTIVE | 0x3f;
    auto masks = [&](u32 plane, bool all, u32 to[2][2]) {
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            uint2 pair = all ? make_uint2(~0u, ~0u) : make_uint2(0, 0);
            if (!all && inside[r] && plane < p.size[2])
                pair = __ldg((const uint2 *)(p.mask + p.pad + x + tx + (y + r) * p.row_length + plane * p.plane));
            to[r][0] = pair.x & kept;
            to[r][1] = pair.y & kept;
        }
    };
    masks(z0, whole & 1, word);
    masks(z0 + 1, whole & 2, ahead);
    float factor = p.uniform_inertia * (faces ? p.pull[6] : p.pull[0]);
    const float ratio = faces ? __fdividef(p.pull[0], p.pull[6]) : 1.0f;
    asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
    __syncthreads();
    V carry[2][2] = {};
    {
        V own[2][2], none[2][2];
        two(mine, own[0]);
        two(mine + PITCH, own[1]);
        forces<true, true>(mine, mine + STAGE, own, ratio, word, word, none, carry);
    }
    const float *here = mine + STAGE, *above = mine + 2 * STAGE;
    const float friction[2] = {float(p.friction[0]), float(p.friction[1])};
    float heat = 0;
    for (u32 z = z0; z < z1; ++z) {
        masks(z + 2, whole & 4, far);
        // The plane above has arrived, and no thread needs the plane that the next copy overwrites.
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 3) : "memory");
        __syncthreads();
        if (z + STAGES < z1 + 2) fetch();
        if (z + 2 < z1) fetch_old();
        commit();
        V own[2][2], sum[2][2], next[2][2] = {};
        two(here, own[0]);
        two(here + PITCH, own[1]);
        const bool full = (whole & 3) == 3;
        u32 some = 0;
#pragma unroll
        for (int r = 0; r < 2; ++r)
#pragma unroll
            for (int c = 0; c < 2; ++c) {
                sum[r][c] = carry[r][c];
                some |= word[r][c] | ahead[r][c];
            }
        if (full || __any_sync(~0u, some)) {
            if (full)
                forces<false, false>(here, above, own, ratio, word, ahead, sum, next);
            else
                forces<true, false>(here, above, own, ratio, word, ahead, sum, next);
            float2 old[2][3];
#pragma unroll
            for (int r = 0; r < 2; ++r)
#pragma unroll
                for (int c = 0; c < 3; ++c) old[r][c] = *(const float2 *)(my_old + c * Y * X + r * X);
#pragma unroll
            for (int r = 0; r < 2; ++r)
                if (inside[r]) {
                    u32 i = at + r * p.row_length;
#pragma unroll
                    for (int c = 0; c < 3; ++c) {
                        float2 increment, moved;
                        float a = old[r][c].x, b = old[r][c].y;
                        increment.x = fmaf(p.decay, a, fmaf(factor, sum[r][0].x[c], g[c]));
                        increment.y = fmaf(p.decay, b, fmaf(factor, sum[r][1].x[c], g[c]));
                        if (!full) {
                            increment.x = word[r][0] ? increment.x : 0.0f;
                            increment.y = word[r][1] ? increment.y : 0.0f;
                        }
                        if (HEAT) {
                            float both = a + increment.x;
                            heat = fmaf(fmaf(friction[0], both, friction[1] * a), both, heat);
                            both = b + increment.y;
                            heat = fmaf(fmaf(friction[0], both, friction[1] * b), both, heat);
                        }
                        moved.x = own[r][0].x[c] + increment.x;
                        moved.y = own[r][1].x[c] + increment.y;
                        __stcs((float2 *)(du + c * p.len + i), increment);
                        __stcs((float2 *)(next_u + c * p.len + i), moved);
                    }
                }
        }
#pragma unroll
        for (int r = 0; r < 2; ++r)
#pragma unroll
            for (int c = 0; c < 2; ++c) {
                carry[r][c] = next[r][c];
                word[r][c] = ahead[r][c];
                ahead[r][c] = far[r][c];
            }
        my_old = my_old == (const float *)shared + STAGES * STAGE + 2 * OLD + ty * X + tx ? my_old - 2 * OLD : my_old + OLD;
        at += p.plane;
        whole >>= 1;
        if ((z + 1) % 32 == 0) ++wholes, whole = look();
        here = above;
        above = above == mine + (STAGES - 1) * STAGE ? mine : above + STAGE;
    }
    if (HEAT) {
        add_heat(p, tile * WARPS + threadIdx.x / 32, heat / p.uniform_inertia);
    }
}

template <bool HEAT>
static __device__ __forceinline__ void march(const Params &p, u32 k, u32 parity, u32 n_steps, u32 tag) {
    __shared__ u32 ticket;
    const u32 nx = (p.size[0] + X - 1) / X, ny = (p.size[1] + Y - 1) / Y, nz = (p.size[2] + p.depth - 1) / p.depth;
    u32 *done = p.tickets + 2;
    for (;;) {
        // If a launch makes one step, the thread block number is the tile. Otherwise the thread block draws a ticket.
        if (threadIdx.x == 0) ticket = n_steps == 1 ? block_of_step(p) : atomicAdd(p.tickets, 1);
        __syncthreads();
        const u32 step = ticket / (nx * ny * nz), tile = ticket % (nx * ny * nz);
        if (step >= n_steps) break;
        const u32 bx = tile % nx, by = tile / nx % ny, bz = tile / nx / ny;
        // This tile reads what its neighbours have written in the previous step, and it overwrites what they have read.
        // It therefore waits for them. Their tickets were drawn earlier, so running thread blocks work on them.
        if (step > 0 && threadIdx.x < 27) {
            u32 ax = bx + threadIdx.x % 3 - 1, ay = by + threadIdx.x / 3 % 3 - 1, az = bz + threadIdx.x / 9 - 1, has;
            if (ax < nx && ay < ny && az < nz)
                do
                    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(has) : "l"(done + (az * ny + ay) * nx + ax) : "memory");
                while (int(has - (tag + step)) < 0);
        }
        __syncthreads();
        step_tile<HEAT>(p, *p.row + k + step, parity ^ (step & 1), bx, by, bz, tile);
        if (n_steps == 1) return;
        __syncthreads();
        if (threadIdx.x == 0) {
            __threadfence();
            asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(done + tile), "r"(tag + step + 1) : "memory");
        }
    }
    // The last thread block resets the tickets for the next launch.
    if (threadIdx.x == 0 && atomicAdd(p.tickets + 1, 1) == gridDim.x - 1) p.tickets[0] = p.tickets[1] = 0;
}

#define COLUMNS(NAME, HEAT)                                                                                                      \
    extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)                                                                 \
        NAME(const __grid_constant__ Params p, u32 k, u32 parity, u32 n_steps, u32 tag) {                                        \
        march<HEAT>(p, k, parity, n_steps, tag);                                                                           \
    }
COLUMNS(columns, false)
COLUMNS(columns_heat, true)
