// Written by `cargo xtask kernels` from spring/gpu/layout.rs: change it there.

#pragma once
#include "../../device/types.cuh"

// Bit of a mask: the place has a particle. The bits below are directions.
constexpr u32 ACTIVE = 2147483648u;
// Number of directions to neighbours in a grid.
constexpr u32 DIRECTIONS = 26u;
// Threads of a thread block in most kernels.
constexpr u32 THREADS = 256u;
// Places of a tile of `columns` along x and y.
constexpr u32 TILE_X = 32u;
constexpr u32 TILE_Y = 16u;
// Rows of a tile that one warp computes.
constexpr u32 WARP_ROWS = 4u;
// Bytes of a tile in shared memory: four planes with the rim around the tile, and three planes without it.
constexpr u32 TILE_BYTES = 52992u;
// Particles of a block of `lattice` and of `lattice_even`. The thread blocks of `lattice_even` have half as
// many threads.
constexpr u32 LATTICE_BLOCK = 256u;
constexpr u32 EVEN_BLOCK = 512u;
// Slots whose springs a thread of a resident kernel computes, and maximum number of halo particles that it
// fetches.
constexpr u32 SLOTS_OF_A_THREAD = 9u;
constexpr u32 MOST_HALO = 4u;
// Number of sums of `energies`: kinetic, elastic, gravity, work, dissipated energy, and three components of
// momentum.
constexpr u32 N_SUMS = 8u;
// Values of `Special::kind`.
constexpr u32 FORCE = 0u;
constexpr u32 SUPPORT = 1u;
// What `edit` changes: masks, local ids or global ids.
constexpr u32 EDIT_MASK = 0u;
constexpr u32 EDIT_LOCAL = 1u;
constexpr u32 EDIT_GLOBAL = 2u;

// Constants of a spring, as in `Constants` of the CPU: d, 1/L², (|d|² − L²)/L², k, c/L²Δt, and the maximum of w.
struct Rule {
    real rest[3];
    real inverse;
    real offset;
    real stiffness;
    real damping;
    real limit;
};
#ifdef POGO_F64
static_assert(sizeof(Rule) == 64, "Rule");
OFFSET_IS(Rule, rest, 0); OFFSET_IS(Rule, inverse, 24); OFFSET_IS(Rule, offset, 32);
OFFSET_IS(Rule, stiffness, 40); OFFSET_IS(Rule, damping, 48); OFFSET_IS(Rule, limit, 56);
#else
static_assert(sizeof(Rule) == 32, "Rule");
OFFSET_IS(Rule, rest, 0); OFFSET_IS(Rule, inverse, 12); OFFSET_IS(Rule, offset, 16);
OFFSET_IS(Rule, stiffness, 20); OFFSET_IS(Rule, damping, 24); OFFSET_IS(Rule, limit, 28);
#endif

// A force on one degree of freedom, or its prescribed motion. `index` is its position in the arrays.
struct Special {
    u32 index;
    u32 signal;
    u32 kind;
    u32 reserved;
    double value;
};
static_assert(sizeof(Special) == 24, "Special");
OFFSET_IS(Special, index, 0); OFFSET_IS(Special, signal, 4); OFFSET_IS(Special, kind, 8);
OFFSET_IS(Special, reserved, 12); OFFSET_IS(Special, value, 16);

// Rest vector and 1/L² of a spring in a list without a grid.
struct Rest {
    real d[3];
    real inverse;
};
#ifdef POGO_F64
static_assert(sizeof(Rest) == 32, "Rest");
OFFSET_IS(Rest, d, 0); OFFSET_IS(Rest, inverse, 24);
#else
static_assert(sizeof(Rest) == 16, "Rest");
OFFSET_IS(Rest, d, 0); OFFSET_IS(Rest, inverse, 12);
#endif

// A spring that was added or removed. `clear` and `set` are bits of a mask, or `set` is the new id of an entry.
struct Edit {
    u32 at;
    u32 clear;
    u32 set;
};
static_assert(sizeof(Edit) == 12, "Edit");
OFFSET_IS(Edit, at, 0); OFFSET_IS(Edit, clear, 4); OFFSET_IS(Edit, set, 8);

// Parameters of a launch.
struct Params {
    // Displacements, stored twice. Increments are stored twice if dampers read those of neighbours.
    real *u[2];
    real *du[2];
    // Force of the dampers in the last step, or null if it is not needed.
    real *drag;
    u32 *mask;
    const u8 *material;
    const Rule *rules;
    // BΔt²/m for each place, or null if it is uniform.
    const real *inertia;
    // Local ids, times the bytes of a particle in shared memory.
    u16 *ids;
    // Positions of the halo particles in shared memory, (tables, halo_most). If null, they are consecutive.
    const u16 *place;
    u32 *global_ids;
    // First slot of each block.
    const u32 *first;
    const u32 *halo_first;
    const u32 *halo;
    const Rest *rest;
    const u16 *classes;
    // First entry in `specials` of each degree of freedom that has specials, and the first such degree of freedom
    // of each particle.
    const u32 *special_first;
    const u32 *special_of;
    const Special *specials;
    // For each degree of freedom that has specials: Δu_n, work, and the difference of its dissipated energy from
    // that of a free one.
    real *last;
    double *work;
    double *special_heat;
    // Energy dissipated by friction and dampers, one sum for each warp of the step kernel. Null if it is not
    // followed.
    double *heat;
    // Signals, starting at the first row of the current stretch of steps, (rows, n_signals). The last three of
    // each row are BΔt² g.
    const double *signals;
    const int *record;
    double *recording;
    // Positions of the monitors in the arrays.
    const u32 *monitors;
    u32 *row;
    // Broken springs: row, both particles, 0.
    uint4 *log;
    u32 *log_count;
    // Number of the particle at each place.
    const u32 *particle;
    // Displacements that the blocks of a resident kernel exchange, (2, n).
    uint4 *exchange;
    // For columns: the next ticket, the number of thread blocks that have finished, and for each tile the number
    // of its next step.
    u32 *tickets;
    // For columns: whether all springs along axes and face diagonals exist for TILE_X by WARP_ROWS places in plane
    // z. This is bit z of (tiles, whole_words).
    const u32 *whole;
    double friction[2];
    double inertia_factor;
    double time_increment;
    u32 n_signals;
    u32 n_monitors;
    u32 n_specials;
    u32 n;
    u32 len;
    u32 row_length;
    u32 plane;
    u32 pad;
    // Particles of a block.
    u32 block;
    u32 n_materials;
    u32 n_directions;
    u32 damped;
    u32 breaks;
    // Maximum number of particles of a halo, and of places in shared memory for a block and its halo.
    u32 halo_most;
    u32 local_most;
    u32 wide;
    // Bytes of a particle in shared memory.
    u32 id_bytes;
    u32 follow;
    // Number of planes in a tile of columns.
    u32 depth;
    u32 whole_words;
    u32 size[3];
    int stride[26];
    real decay;
    real uniform_inertia;
    Rule rule[26];
    // k/L².
    real pull[26];
};
#ifdef POGO_F64
static_assert(sizeof(Params) == 2400, "Params");
OFFSET_IS(Params, u, 0); OFFSET_IS(Params, du, 16); OFFSET_IS(Params, drag, 32); OFFSET_IS(Params, mask, 40);
OFFSET_IS(Params, material, 48); OFFSET_IS(Params, rules, 56); OFFSET_IS(Params, inertia, 64);
OFFSET_IS(Params, ids, 72); OFFSET_IS(Params, place, 80); OFFSET_IS(Params, global_ids, 88);
OFFSET_IS(Params, first, 96); OFFSET_IS(Params, halo_first, 104); OFFSET_IS(Params, halo, 112);
OFFSET_IS(Params, rest, 120); OFFSET_IS(Params, classes, 128); OFFSET_IS(Params, special_first, 136);
OFFSET_IS(Params, special_of, 144); OFFSET_IS(Params, specials, 152); OFFSET_IS(Params, last, 160);
OFFSET_IS(Params, work, 168); OFFSET_IS(Params, special_heat, 176); OFFSET_IS(Params, heat, 184);
OFFSET_IS(Params, signals, 192); OFFSET_IS(Params, record, 200); OFFSET_IS(Params, recording, 208);
OFFSET_IS(Params, monitors, 216); OFFSET_IS(Params, row, 224); OFFSET_IS(Params, log, 232);
OFFSET_IS(Params, log_count, 240); OFFSET_IS(Params, particle, 248); OFFSET_IS(Params, exchange, 256);
OFFSET_IS(Params, tickets, 264); OFFSET_IS(Params, whole, 272); OFFSET_IS(Params, friction, 280);
OFFSET_IS(Params, inertia_factor, 296); OFFSET_IS(Params, time_increment, 304);
OFFSET_IS(Params, n_signals, 312); OFFSET_IS(Params, n_monitors, 316); OFFSET_IS(Params, n_specials, 320);
OFFSET_IS(Params, n, 324); OFFSET_IS(Params, len, 328); OFFSET_IS(Params, row_length, 332);
OFFSET_IS(Params, plane, 336); OFFSET_IS(Params, pad, 340); OFFSET_IS(Params, block, 344);
OFFSET_IS(Params, n_materials, 348); OFFSET_IS(Params, n_directions, 352); OFFSET_IS(Params, damped, 356);
OFFSET_IS(Params, breaks, 360); OFFSET_IS(Params, halo_most, 364); OFFSET_IS(Params, local_most, 368);
OFFSET_IS(Params, wide, 372); OFFSET_IS(Params, id_bytes, 376); OFFSET_IS(Params, follow, 380);
OFFSET_IS(Params, depth, 384); OFFSET_IS(Params, whole_words, 388); OFFSET_IS(Params, size, 392);
OFFSET_IS(Params, stride, 404); OFFSET_IS(Params, decay, 512); OFFSET_IS(Params, uniform_inertia, 520);
OFFSET_IS(Params, rule, 528); OFFSET_IS(Params, pull, 2192);
#else
static_assert(sizeof(Params) == 1456, "Params");
OFFSET_IS(Params, u, 0); OFFSET_IS(Params, du, 16); OFFSET_IS(Params, drag, 32); OFFSET_IS(Params, mask, 40);
OFFSET_IS(Params, material, 48); OFFSET_IS(Params, rules, 56); OFFSET_IS(Params, inertia, 64);
OFFSET_IS(Params, ids, 72); OFFSET_IS(Params, place, 80); OFFSET_IS(Params, global_ids, 88);
OFFSET_IS(Params, first, 96); OFFSET_IS(Params, halo_first, 104); OFFSET_IS(Params, halo, 112);
OFFSET_IS(Params, rest, 120); OFFSET_IS(Params, classes, 128); OFFSET_IS(Params, special_first, 136);
OFFSET_IS(Params, special_of, 144); OFFSET_IS(Params, specials, 152); OFFSET_IS(Params, last, 160);
OFFSET_IS(Params, work, 168); OFFSET_IS(Params, special_heat, 176); OFFSET_IS(Params, heat, 184);
OFFSET_IS(Params, signals, 192); OFFSET_IS(Params, record, 200); OFFSET_IS(Params, recording, 208);
OFFSET_IS(Params, monitors, 216); OFFSET_IS(Params, row, 224); OFFSET_IS(Params, log, 232);
OFFSET_IS(Params, log_count, 240); OFFSET_IS(Params, particle, 248); OFFSET_IS(Params, exchange, 256);
OFFSET_IS(Params, tickets, 264); OFFSET_IS(Params, whole, 272); OFFSET_IS(Params, friction, 280);
OFFSET_IS(Params, inertia_factor, 296); OFFSET_IS(Params, time_increment, 304);
OFFSET_IS(Params, n_signals, 312); OFFSET_IS(Params, n_monitors, 316); OFFSET_IS(Params, n_specials, 320);
OFFSET_IS(Params, n, 324); OFFSET_IS(Params, len, 328); OFFSET_IS(Params, row_length, 332);
OFFSET_IS(Params, plane, 336); OFFSET_IS(Params, pad, 340); OFFSET_IS(Params, block, 344);
OFFSET_IS(Params, n_materials, 348); OFFSET_IS(Params, n_directions, 352); OFFSET_IS(Params, damped, 356);
OFFSET_IS(Params, breaks, 360); OFFSET_IS(Params, halo_most, 364); OFFSET_IS(Params, local_most, 368);
OFFSET_IS(Params, wide, 372); OFFSET_IS(Params, id_bytes, 376); OFFSET_IS(Params, follow, 380);
OFFSET_IS(Params, depth, 384); OFFSET_IS(Params, whole_words, 388); OFFSET_IS(Params, size, 392);
OFFSET_IS(Params, stride, 404); OFFSET_IS(Params, decay, 508); OFFSET_IS(Params, uniform_inertia, 512);
OFFSET_IS(Params, rule, 516); OFFSET_IS(Params, pull, 1348);
#endif
