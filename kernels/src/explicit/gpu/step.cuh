// What every kernel of the explicit step shares: the tables, and the update of one node.
//
//   Δu_{n+1} = [(1 − q) Δu_n + Δt²/m (F_n − f_int(u_n))] / (1 + q),   q = α Δt / 2      (Huthwaite 2014, eq. 2)
//   u_{n+1}  = u_n + Δu_{n+1}
//
// A thread block has one block of the mesh, or one after the other. State arrays are doubled: a launch reads one pair
// (u, Δu) and writes the other, so blocks never wait for each other inside a launch.

#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

constexpr u32 NONE = 0xffffffffu;
constexpr u32 MIXED = 0xfffeu;

// Where the rows of one block stand. The same layout as `Block` in tables.rs.
struct __align__(16) Block {
    u32 node_first, n_own, halo_first, n_halo;
    u32 outer_first, n_outer, local_first, material;
    u32 special_first, damped, energy_row, further_first;
    u32 n_further, colour_first, n_colours, n_boundary;
    u32 boundary_first, rows_first, n_rows, n_items;
    u32 piece_first, reserved[3];
};

// Elasticity in the units of the tables, as on the CPU: in the plane the leading 3 × 3 times the thickness.
template <typename T> struct Material {
    T d[36];
    T hourglass;
    T reserved;
};

// A batch of elements: in the plane, of which no two share an own node; in space a run of them, or of rings.
struct __align__(16) Colour {
    u64 connectivity_first;
    u32 element_first, n_elements;
    u32 law, material, reserved0, reserved1;
};

// What acts on one degree of freedom, or is recorded of it.
enum : u32 { FORCE = 0, SUPPORT = 1, MONITOR = 2 };
struct Special {
    double value, mass, damping;
    u32 kind, component, signal, column;
};

template <typename T> struct Params {
    T *u[2], *du[2];
    const T *x;          // positions, (own, halo, outer) block by block
    const T *inertia;    // Δt²/m/(1 + q), (n_nodes,)
    const T *decay;      // (1 − q)/(1 + q), (n_nodes,), read in damped blocks
    const T *dissipation; // α m / 4Δt, (n_nodes,)
    const Block *blocks;
    const u32 *list;     // blocks of this launch, or null for all
    const u32 *halo_nodes, *outer_nodes;
    const uint4 *fan, *halo_fan; // three words of a fan record, in single precision inertia
    const u32 *fan_materials, *halo_fan_materials;
    const u16 *further_node;
    const u32 *further_fan, *further_materials;
    const Material<T> *materials;
    const Colour *colours;
    const u16 *connectivity;
    const T *factors;    // stiffness factor of each coloured entry, or null
    const u32 *special_first; // (n_own + n_halo + 1) of each block that has any
    const Special *specials;
    const double *signals; // rows of t_n, (n_rows, n_signals)
    const int *record;     // row of `recording` for each step, or −1
    double *recording;     // (n_recorded, n_monitors, 3)
    double *energies;      // work and damped energy so far, (n_energy_rows, 2)
    const u32 *row;        // row of `signals` that the launch starts from
    const u32 *gather_first; // first piece of each own and later node, block by block
    const uint4 *gather;   // places where forces on a node are, eight to a piece, then 0xffff
    const u32 *passed_first; // first row in `passed` of each boundary node, block by block
    const u32 *passed_row; // row in `passed` of each entry of halo_nodes
    T *passed;             // forces of elements on joins, for the blocks that own the nodes, (n, 3)
    T *force;              // f_int without those, in space, (n_nodes, 3)
    double *force_out;     // f_int instead of a step, N, (n_nodes, dimension), or null
    u64 n_nodes;
    double force_unit, time_increment;
    u32 n_signals, n_monitors;
};

template <typename T> struct Pair;
template <> struct Pair<float> { typedef float2 type; };
template <> struct Pair<double> { typedef double2 type; };

__device__ __forceinline__ float reciprocal(float x) {
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// Two Newton steps from the hardware's 20 bits: within an ulp or two, a third of the division's instructions.
__device__ __forceinline__ double reciprocal(double x) {
    double y;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
    double e = fma(-x, y, 1.0);
    e = fma(e, e, e);
    return fma(y, e, y);
}

// External work and damped energy of a thread's nodes.
struct Energies {
    double work = 0.0, damped = 0.0;
};

// One node from f_int. `own` is false for halo nodes, whose owner counts their energy. In PLAIN blocks no force, support
// or monitor acts.
template <typename T, int D, bool PLAIN>
__device__ __forceinline__ void update_node(const Params<T> &p, const Block &block, u32 local, u64 node, u32 row, bool own,
                                            T inertia, const T *f_int, const T *u, const T *du, T *u_next, T *du_next,
                                            Energies &energies) {
    T f[D];
#pragma unroll
    for (int c = 0; c < D; c++) f[c] = f_int[c];
    u32 first = 0, last = 0;
    const double *now = nullptr;
    if (!PLAIN && block.special_first != NONE) {
        first = p.special_first[block.special_first + local];
        last = p.special_first[block.special_first + local + 1];
        now = p.signals + (u64)row * p.n_signals;
        for (u32 s = first; s < last; s++) {
            const Special &special = p.specials[s];
            if (special.kind != FORCE) continue;
            const T force = (T)(special.value * now[special.signal] / p.force_unit);
#pragma unroll
            for (int c = 0; c < D; c++)
                if (special.component == c) f[c] -= force;
        }
    }
    if (block.damped) {
        const T decay = p.decay[node];
        T squares = 0;
#pragma unroll
        for (int c = 0; c < D; c++) {
            du_next[c] = decay * du[c] - inertia * f[c];
            const T sum = du[c] + du_next[c];
            squares += sum * sum;
        }
        if (own) energies.damped += (double)(p.dissipation[node] * squares);
    } else {
#pragma unroll
        for (int c = 0; c < D; c++) du_next[c] = du[c] - inertia * f[c];
    }
    if (PLAIN) {
#pragma unroll
        for (int c = 0; c < D; c++) u_next[c] = u[c] + du_next[c];
        return;
    }
    // The free update of a supported component is not made: neither its motion nor its dissipation.
    for (u32 s = first; s < last; s++) {
        const Special &special = p.specials[s];
        if (special.kind != SUPPORT) continue;
        const T prescribed = (T)(special.value * (now[p.n_signals + special.signal] - now[special.signal]));
        const double after = (double)prescribed, dt = p.time_increment;
        const double rate = special.damping / (4.0 * dt);
#pragma unroll
        for (int c = 0; c < D; c++) {
            if (special.component != c) continue;
            const double before = (double)du[c], free = (double)du_next[c];
            du_next[c] = prescribed;
            if (!own) continue;
            if (block.damped)
                energies.damped += rate * ((before + after) * (before + after) - (before + free) * (before + free));
            // R = m a + c v + f_int − F.
            const double reaction = special.mass * (after - before) / (dt * dt) + 2.0 * rate * (before + after) +
                                    (double)f[c] * p.force_unit;
            energies.work += reaction * 0.5 * (before + after);
        }
    }
#pragma unroll
    for (int c = 0; c < D; c++) u_next[c] = u[c] + du_next[c];
    if (!own) return;
    const int recorded = first < last ? p.record[row] : -1;
    for (u32 s = first; s < last; s++) {
        const Special &special = p.specials[s];
        double before = 0, after = 0, at = 0;
#pragma unroll
        for (int c = 0; c < D; c++) {
            if (special.component != c) continue;
            before = (double)du[c];
            after = (double)du_next[c];
            at = (double)u[c];
        }
        if (special.kind == FORCE) {
            energies.work += special.value * now[special.signal] * 0.5 * (before + after);
        } else if (special.kind == MONITOR && recorded >= 0) {
            double *out = p.recording + ((u64)recorded * p.n_monitors + special.column) * 3;
            out[0] = at;
            out[1] = before;
            out[2] = after;
        }
    }
}

// Adds the energies of the threads to the block's row, always in the same order.
template <int THREADS> __device__ void add_energies(double *rows, u32 row, Energies mine) {
    __shared__ double sums[2][THREADS / 32];
    for (int offset = 16; offset > 0; offset /= 2) {
        mine.work += __shfl_down_sync(0xffffffffu, mine.work, offset);
        mine.damped += __shfl_down_sync(0xffffffffu, mine.damped, offset);
    }
    if (threadIdx.x % 32 == 0) {
        sums[0][threadIdx.x / 32] = mine.work;
        sums[1][threadIdx.x / 32] = mine.damped;
    }
    __syncthreads();
    if (threadIdx.x < 2) {
        double sum = 0;
        for (int warp = 0; warp < THREADS / 32; warp++) sum += sums[threadIdx.x][warp];
        rows[2 * (u64)row + threadIdx.x] += sum;
    }
    __syncthreads();
}

// The whole row at once.
__device__ __forceinline__ Block load_block(const Block *at) {
    union {
        uint4 words[sizeof(Block) / 16];
        Block block;
    };
#pragma unroll
    for (u32 i = 0; i < sizeof(Block) / 16; i++) words[i] = __ldg(reinterpret_cast<const uint4 *>(at) + i);
    return block;
}
