// Written by `cargo xtask kernels` from spring/gpu/layout.rs: change it there.

#pragma once
#include "../../device/types.cuh"

// In a mask: the place has a particle. The bits below are directions.
constexpr u32 ACTIVE = 2147483648u;
// Directions to neighbours in a grid.
constexpr u32 DIRECTIONS = 26u;
// Threads of a thread block of most kernels.
constexpr u32 THREADS = 256u;
// Tile of `columns`: places along x and y.
constexpr u32 TILE_X = 32u;
constexpr u32 TILE_Y = 16u;
// Rows of a tile that a warp has.
constexpr u32 WARP_ROWS = 4u;
// Bytes of a tile in shared memory: four planes with their rims, and three without.
constexpr u32 TILE_BYTES = 52992u;
// Particles of a block of `lattice`, and of `lattice_even`, whose thread blocks have half as many threads.
constexpr u32 LATTICE_BLOCK = 256u;
constexpr u32 EVEN_BLOCK = 512u;
// Slots whose springs a thread of a resident kernel has, and halo particles that it may fetch.
constexpr u32 SLOTS_OF_A_THREAD = 9u;
constexpr u32 MOST_HALO = 4u;
// Sums of `energies`: kinetic, elastic, gravity, work, energy taken, momentum.
constexpr u32 N_SUMS = 8u;
// Kinds of `Special`.
constexpr u32 FORCE = 0u;
constexpr u32 SUPPORT = 1u;
// What `edit` changes: masks, local ids or global ids.
constexpr u32 EDIT_MASK = 0u;
constexpr u32 EDIT_LOCAL = 1u;
constexpr u32 EDIT_GLOBAL = 2u;

// Constants of a spring, as `Constants` of the CPU: d, 1/L², (|d|² − L²)/L², k, c/L²Δt, and the largest w.
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

// A force on, or the motion of, one degree of freedom, by its place in the arrays.
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

// Rest vector and 1/L² of a spring of a list without a grid.
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

// A spring that came or went: `clear` and `set` are bits of a mask, or `set` is the id of an entry.
struct Edit {
    u32 at;
    u32 clear;
    u32 set;
};
static_assert(sizeof(Edit) == 12, "Edit");
OFFSET_IS(Edit, at, 0); OFFSET_IS(Edit, clear, 4); OFFSET_IS(Edit, set, 8);

// What a launch is told.
struct Params {
    // Displacements, doubled; increments, doubled where dampers read those of neighbours.
    real *u[2];
    real *du[2];
    // Force of dampers of the last step, or null where nobody reads it.
    real *drag;
    u32 *mask;
    const u8 *material;
    const Rule *rules;
    // BΔt²/m, one a place, or null where it is uniform.
    const real *inertia;
    // Local ids, times the bytes of a particle in shared memory.
    u16 *ids;
    // Places of the halo's particles in shared memory, (tables, halo_most), or null: one behind the other.
    const u16 *place;
    u32 *global_ids;
    // First slot of each block.
    const u32 *first;
    const u32 *halo_first;
    const u32 *halo;
    const Rest *rest;
    const u16 *classes;
    // First entry of `specials` of each degree of freedom that has any, and the first of these of each particle.
    const u32 *special_first;
    const u32 *special_of;
    const Special *specials;
    // Of each degree of freedom that has any: Δu_n, work, and by what the energy taken differs from that of a free one.
    real *last;
    double *work;
    double *special_heat;
    // Energy taken by friction and dampers, a sum a warp of the steps' kernel, or null where it is not followed.
    double *heat;
    // Signals from the first row of the stretch on, and BΔt² g behind each row, (rows, n_signals).
    const double *signals;
    const int *record;
    double *recording;
    // Places of the monitors in the arrays.
    const u32 *monitors;
    u32 *row;
    // Springs that broke: row, both particles, 0.
    uint4 *log;
    u32 *log_count;
    // Particle of each place.
    const u32 *particle;
    // Displacements that the blocks of a resident kernel hand each other, (2, n).
    uint4 *exchange;
    // Of columns: the next ticket, thread blocks that have finished, and the number of the step after each tile's last.
    u32 *tickets;
    // Of columns: whether TILE_X by WARP_ROWS places in a plane have all springs along axes and face diagonals, bit z of
    // (tiles, whole_words).
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
    // Most particles of a halo, and most places of a block and its halo in shared memory.
    u32 halo_most;
    u32 local_most;
    u32 wide;
    // Bytes of a particle in shared memory.
    u32 id_bytes;
    u32 follow;
    // Planes that a thread block of columns marches.
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
