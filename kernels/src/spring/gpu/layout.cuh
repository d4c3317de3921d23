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
LIES_AT(Rule, rest, 0);
LIES_AT(Rule, inverse, 24);
LIES_AT(Rule, offset, 32);
LIES_AT(Rule, stiffness, 40);
LIES_AT(Rule, damping, 48);
LIES_AT(Rule, limit, 56);
#else
static_assert(sizeof(Rule) == 32, "Rule");
LIES_AT(Rule, rest, 0);
LIES_AT(Rule, inverse, 12);
LIES_AT(Rule, offset, 16);
LIES_AT(Rule, stiffness, 20);
LIES_AT(Rule, damping, 24);
LIES_AT(Rule, limit, 28);
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
LIES_AT(Special, index, 0);
LIES_AT(Special, signal, 4);
LIES_AT(Special, kind, 8);
LIES_AT(Special, reserved, 12);
LIES_AT(Special, value, 16);

// Rest vector and 1/L² of a spring of a list without a grid.
struct Rest {
    real d[3];
    real inverse;
};
#ifdef POGO_F64
static_assert(sizeof(Rest) == 32, "Rest");
LIES_AT(Rest, d, 0);
LIES_AT(Rest, inverse, 24);
#else
static_assert(sizeof(Rest) == 16, "Rest");
LIES_AT(Rest, d, 0);
LIES_AT(Rest, inverse, 12);
#endif

// A spring that came or went: `clear` and `set` are bits of a mask, or `set` is the id of an entry.
struct Edit {
    u32 at;
    u32 clear;
    u32 set;
};
static_assert(sizeof(Edit) == 12, "Edit");
LIES_AT(Edit, at, 0);
LIES_AT(Edit, clear, 4);
LIES_AT(Edit, set, 8);

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
LIES_AT(Params, u, 0);
LIES_AT(Params, du, 16);
LIES_AT(Params, drag, 32);
LIES_AT(Params, mask, 40);
LIES_AT(Params, material, 48);
LIES_AT(Params, rules, 56);
LIES_AT(Params, inertia, 64);
LIES_AT(Params, ids, 72);
LIES_AT(Params, place, 80);
LIES_AT(Params, global_ids, 88);
LIES_AT(Params, first, 96);
LIES_AT(Params, halo_first, 104);
LIES_AT(Params, halo, 112);
LIES_AT(Params, rest, 120);
LIES_AT(Params, classes, 128);
LIES_AT(Params, special_first, 136);
LIES_AT(Params, special_of, 144);
LIES_AT(Params, specials, 152);
LIES_AT(Params, last, 160);
LIES_AT(Params, work, 168);
LIES_AT(Params, special_heat, 176);
LIES_AT(Params, heat, 184);
LIES_AT(Params, signals, 192);
LIES_AT(Params, record, 200);
LIES_AT(Params, recording, 208);
LIES_AT(Params, monitors, 216);
LIES_AT(Params, row, 224);
LIES_AT(Params, log, 232);
LIES_AT(Params, log_count, 240);
LIES_AT(Params, particle, 248);
LIES_AT(Params, exchange, 256);
LIES_AT(Params, tickets, 264);
LIES_AT(Params, whole, 272);
LIES_AT(Params, friction, 280);
LIES_AT(Params, inertia_factor, 296);
LIES_AT(Params, time_increment, 304);
LIES_AT(Params, n_signals, 312);
LIES_AT(Params, n_monitors, 316);
LIES_AT(Params, n_specials, 320);
LIES_AT(Params, n, 324);
LIES_AT(Params, len, 328);
LIES_AT(Params, row_length, 332);
LIES_AT(Params, plane, 336);
LIES_AT(Params, pad, 340);
LIES_AT(Params, block, 344);
LIES_AT(Params, n_materials, 348);
LIES_AT(Params, n_directions, 352);
LIES_AT(Params, damped, 356);
LIES_AT(Params, breaks, 360);
LIES_AT(Params, halo_most, 364);
LIES_AT(Params, local_most, 368);
LIES_AT(Params, wide, 372);
LIES_AT(Params, id_bytes, 376);
LIES_AT(Params, follow, 380);
LIES_AT(Params, depth, 384);
LIES_AT(Params, whole_words, 388);
LIES_AT(Params, size, 392);
LIES_AT(Params, stride, 404);
LIES_AT(Params, decay, 512);
LIES_AT(Params, uniform_inertia, 520);
LIES_AT(Params, rule, 528);
LIES_AT(Params, pull, 2192);
#else
static_assert(sizeof(Params) == 1456, "Params");
LIES_AT(Params, u, 0);
LIES_AT(Params, du, 16);
LIES_AT(Params, drag, 32);
LIES_AT(Params, mask, 40);
LIES_AT(Params, material, 48);
LIES_AT(Params, rules, 56);
LIES_AT(Params, inertia, 64);
LIES_AT(Params, ids, 72);
LIES_AT(Params, place, 80);
LIES_AT(Params, global_ids, 88);
LIES_AT(Params, first, 96);
LIES_AT(Params, halo_first, 104);
LIES_AT(Params, halo, 112);
LIES_AT(Params, rest, 120);
LIES_AT(Params, classes, 128);
LIES_AT(Params, special_first, 136);
LIES_AT(Params, special_of, 144);
LIES_AT(Params, specials, 152);
LIES_AT(Params, last, 160);
LIES_AT(Params, work, 168);
LIES_AT(Params, special_heat, 176);
LIES_AT(Params, heat, 184);
LIES_AT(Params, signals, 192);
LIES_AT(Params, record, 200);
LIES_AT(Params, recording, 208);
LIES_AT(Params, monitors, 216);
LIES_AT(Params, row, 224);
LIES_AT(Params, log, 232);
LIES_AT(Params, log_count, 240);
LIES_AT(Params, particle, 248);
LIES_AT(Params, exchange, 256);
LIES_AT(Params, tickets, 264);
LIES_AT(Params, whole, 272);
LIES_AT(Params, friction, 280);
LIES_AT(Params, inertia_factor, 296);
LIES_AT(Params, time_increment, 304);
LIES_AT(Params, n_signals, 312);
LIES_AT(Params, n_monitors, 316);
LIES_AT(Params, n_specials, 320);
LIES_AT(Params, n, 324);
LIES_AT(Params, len, 328);
LIES_AT(Params, row_length, 332);
LIES_AT(Params, plane, 336);
LIES_AT(Params, pad, 340);
LIES_AT(Params, block, 344);
LIES_AT(Params, n_materials, 348);
LIES_AT(Params, n_directions, 352);
LIES_AT(Params, damped, 356);
LIES_AT(Params, breaks, 360);
LIES_AT(Params, halo_most, 364);
LIES_AT(Params, local_most, 368);
LIES_AT(Params, wide, 372);
LIES_AT(Params, id_bytes, 376);
LIES_AT(Params, follow, 380);
LIES_AT(Params, depth, 384);
LIES_AT(Params, whole_words, 388);
LIES_AT(Params, size, 392);
LIES_AT(Params, stride, 404);
LIES_AT(Params, decay, 508);
LIES_AT(Params, uniform_inertia, 512);
LIES_AT(Params, rule, 516);
LIES_AT(Params, pull, 1348);
#endif
