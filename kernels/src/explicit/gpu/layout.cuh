// Written by `cargo xtask kernels` from explicit/gpu/layout.rs: change it there.

#pragma once
#include "../../device/types.cuh"

// No block, row or curve.
constexpr u32 NONE = 4294967295u;
// `material` of a block in whose fans materials meet.
constexpr u32 MIXED = 65534u;
// Most own, halo and outer nodes of a block that goes by fans.
constexpr u32 MOST_LOCAL = 1024u;
// Actions of a block that fans keep in shared memory, at most.
constexpr u32 MOST_KEPT = 64u;
// Bytes of `Extra` without materials and actions, and of an `Action` (fans.cuh, step.cuh).
constexpr u32 EXTRA_BYTES = 144u;
constexpr u32 ACTION_BYTES = 24u;
// Threads of a thread block of `solids`, `march` and `act`; elements or rings of a batch.
constexpr u32 THREADS = 128u;
// A corner that is not there, in rows of solids.
constexpr u32 ABSENT = 40959u;
// Slots of a plane of a tile; some may be empty.
constexpr u32 SLOTS = 192u;
// Planes of a tile whose words are in shared memory.
constexpr u32 PLANES_OF_WORDS = 8u;
// In a word of a tile: the node.
constexpr u32 TILE_NODE = 536870911u;
// In a word of a tile: the node is the lowest corner of an element.
constexpr u32 PRESENT = 536870912u;
// In a word of a tile: the tile updates the node.
constexpr u32 MOVED = 1073741824u;
// In a word of a tile: `act` updates the node, because it carries a load, a constraint, a monitor or damping. The tile
// stores f_int where Δu will be.
constexpr u32 BY_ACT = 2147483648u;
// Force laws (laws.cuh).
constexpr u32 TRIANGLE = 0u;
constexpr u32 QUADRILATERAL = 1u;
constexpr u32 REDUCED_QUADRILATERAL = 2u;
constexpr u32 TETRAHEDRON = 3u;
constexpr u32 WEDGE = 4u;
constexpr u32 HEXAHEDRON = 5u;
constexpr u32 REDUCED_HEXAHEDRON = 6u;
// C3D8 whose opposite edges are equal: a third of the arithmetic.
constexpr u32 PARALLELEPIPED = 7u;
// Kinds of `Special`.
constexpr u32 FORCE = 0u;
constexpr u32 SUPPORT = 1u;
constexpr u32 MONITOR = 2u;
// In `Special::kind`: mask of the kind.
constexpr u32 KIND = 255u;
// In `Special::kind`: it is the last one of its node.
constexpr u32 LAST = 65536u;
// In `Special::kind`: lowest bit of the local number of its node.
constexpr u32 LOCAL_AT = 20u;
// Steps whose signals are made at a time.
constexpr u32 WINDOW = 64u;
// Shapes of a `Curve`.
constexpr u32 TABULAR = 0u;
constexpr u32 SMOOTH_STEP = 1u;
constexpr u32 PERIODIC = 2u;
constexpr u32 HANN_BURST = 3u;
constexpr u32 GAUSSIAN_BURST = 4u;
constexpr u32 RECTANGULAR_BURST = 5u;
constexpr u32 RICKER = 6u;
constexpr u32 GAUSSIAN_PULSE = 7u;
// Kinds of a `Column`: the value of a curve, or the displacement under it as a velocity or an acceleration.
constexpr u32 VALUE = 0u;
constexpr u32 VELOCITY = 1u;
constexpr u32 ACCELERATION = 2u;

// One block of the mesh: where its rows stand in the tables.
struct alignas(16) Block {
    u32 node_first;
    u32 n_own;
    u32 halo_first;
    u32 n_halo;
    u32 outer_first;
    u32 n_outer;
    // First of its positions.
    u32 local_first;
    u32 material;
    // First of its entries of `special_first`, or NONE.
    u32 special_first;
    // 1 if some node of it is damped.
    u32 damped;
    // Row of `energies`, or NONE.
    u32 energy_row;
    u32 further_first;
    u32 n_further;
    u32 colour_first;
    u32 n_colours;
    u32 n_boundary;
    u32 boundary_first;
    // Its rows of `connectivity`, in pieces of 16 bytes.
    u32 rows_first;
    u32 n_rows;
    // First of its entries of `specials`.
    u32 special_base;
    u32 n_special;
    u32 source_first;
    u32 n_sources;
    // 1 if tiles update its nodes, and it only passes forces on.
    u32 moved_by_tiles;
};
static_assert(sizeof(Block) == 96, "Block");
OFFSET_IS(Block, node_first, 0); OFFSET_IS(Block, n_own, 4); OFFSET_IS(Block, halo_first, 8);
OFFSET_IS(Block, n_halo, 12); OFFSET_IS(Block, outer_first, 16); OFFSET_IS(Block, n_outer, 20);
OFFSET_IS(Block, local_first, 24); OFFSET_IS(Block, material, 28); OFFSET_IS(Block, special_first, 32);
OFFSET_IS(Block, damped, 36); OFFSET_IS(Block, energy_row, 40); OFFSET_IS(Block, further_first, 44);
OFFSET_IS(Block, n_further, 48); OFFSET_IS(Block, colour_first, 52); OFFSET_IS(Block, n_colours, 56);
OFFSET_IS(Block, n_boundary, 60); OFFSET_IS(Block, boundary_first, 64); OFFSET_IS(Block, rows_first, 68);
OFFSET_IS(Block, n_rows, 72); OFFSET_IS(Block, special_base, 76); OFFSET_IS(Block, n_special, 80);
OFFSET_IS(Block, source_first, 84); OFFSET_IS(Block, n_sources, 88); OFFSET_IS(Block, moved_by_tiles, 92);

// Elasticity in the units of the tables, as on the CPU: in the plane the leading 3 × 3 times the thickness.
template <typename T> struct Material {
    T d[36];
    T hourglass;
    T reserved;
};
static_assert(sizeof(Material<float>) == 152, "Material<float>");
OFFSET_IS(Material<float>, d, 0); OFFSET_IS(Material<float>, hourglass, 144);
OFFSET_IS(Material<float>, reserved, 148);
static_assert(sizeof(Material<double>) == 304, "Material<double>");
OFFSET_IS(Material<double>, d, 0); OFFSET_IS(Material<double>, hourglass, 288);
OFFSET_IS(Material<double>, reserved, 296);

// A tile of a grid: `width` × `height` columns of hexahedra or of cells of six tetrahedra, and the nodes that it updates,
// which are not the first ones along any axis.
struct alignas(16) Tile {
    // First of its words.
    u64 first;
    u32 n_layers;
    u32 width;
    u32 height;
    u32 n_slots;
    u32 reserved[2];
};
static_assert(sizeof(Tile) == 32, "Tile");
OFFSET_IS(Tile, first, 0); OFFSET_IS(Tile, n_layers, 8); OFFSET_IS(Tile, width, 12);
OFFSET_IS(Tile, height, 16); OFFSET_IS(Tile, n_slots, 20); OFFSET_IS(Tile, reserved, 24);

// A batch of elements of one law and material: in the plane, no two of them share an own node; in space, a run of
// elements or of rings of tetrahedra.
struct alignas(16) Colour {
    u64 connectivity_first;
    u32 element_first;
    u32 n_elements;
    u32 law;
    u32 material;
    u32 reserved[2];
};
static_assert(sizeof(Colour) == 32, "Colour");
OFFSET_IS(Colour, connectivity_first, 0); OFFSET_IS(Colour, element_first, 8);
OFFSET_IS(Colour, n_elements, 12); OFFSET_IS(Colour, law, 16); OFFSET_IS(Colour, material, 20);
OFFSET_IS(Colour, reserved, 24);

// A force on, or the constraint of, one degree of freedom, or that it is recorded.
struct Special {
    // N of a force at signal 1, m of a constraint.
    double value;
    // Lumped mass, kg, and α m, kg/s, of a constraint.
    double mass;
    double damping;
    u32 kind;
    u32 component;
    u32 signal;
    // Column of the recorded values of a monitor.
    u32 column;
};
static_assert(sizeof(Special) == 40, "Special");
OFFSET_IS(Special, value, 0); OFFSET_IS(Special, mass, 8); OFFSET_IS(Special, damping, 16);
OFFSET_IS(Special, kind, 24); OFFSET_IS(Special, component, 28); OFFSET_IS(Special, signal, 32);
OFFSET_IS(Special, column, 36);

// What a launch of step kernels is told.
template <typename T> struct Params {
    // Displacements and their last increments, (n_nodes, dimension): a step reads the first array and writes the second.
    T *u[2];
    T *du[2];
    // Positions, (own, halo, outer) block by block.
    const T *x;
    // Δt²/m/(1 + q), (n_nodes,).
    const T *inertia;
    // (1 − q)/(1 + q), (n_nodes,), read in damped blocks.
    const T *decay;
    // α m / 4Δt, (n_nodes,).
    const T *dissipation;
    const Block *blocks;
    // Blocks or tiles of this launch, or null for all blocks.
    const u32 *list;
    const u32 *halo_nodes;
    const u32 *outer_nodes;
    // Three words of a fan record, and in single precision the inertia, of own nodes and of halos.
    const uint4 *fan;
    const uint4 *halo_fan;
    const u32 *fan_materials;
    const u32 *halo_fan_materials;
    const u16 *further_node;
    const u32 *further_fan;
    const u32 *further_materials;
    const Material<T> *materials;
    const Colour *colours;
    const u16 *connectivity;
    // Stiffness factor of each entry of a colour, or null.
    const T *factors;
    // First entry of `specials` of each own and halo node, and their end, of the blocks that have any.
    const u32 *special_first;
    const Special *specials;
    // Signals at t_n from the first step of the graph on, (WINDOW + 2, n_signals).
    const double *signals;
    // Row of `recording` of each step, or −1.
    const int *record;
    // u, Δu before and after the step, (n_recorded, n_monitors, 3).
    double *recording;
    // External work and damped energy so far, (n_energy_rows, 2).
    double *energies;
    // Row of `record` with which the graph began.
    const u32 *row;
    // First row of `passed` of each boundary node, block by block.
    const u32 *passed_first;
    // Row of `passed` of each entry of halo_nodes.
    const u32 *passed_row;
    // Forces of elements on joins, for the blocks that own the nodes, (n, 3).
    T *passed;
    // Blocks that pass forces on to each block. By fans: the block itself and those that it reads or that read it, in rows of
    // n_neighbours that end with NONE.
    const u32 *sources;
    // Number of launches that have stored the forces of each block; by fans, number of passes of this launch.
    u32 *done;
    // f_int instead of a step, N, (n_nodes, dimension), or null.
    double *force_out;
    u64 n_nodes;
    // Unit of forces, N, its inverse, and 1/Δt.
    double force_unit;
    double per_force_unit;
    double per_time_increment;
    u32 n_signals;
    u32 n_monitors;
    u32 n_materials;
    u32 n_blocks;
    // In space: own and later nodes of a block, and later nodes, at most.
    u32 near_room;
    u32 later_room;
    const Tile *tiles;
    // A word a node of each plane of each tile.
    const u32 *words;
    // Positions of these nodes, (planes, 3, SLOTS) tile by tile.
    const T *tile_x;
    // Nodes that `act` updates, (n_act_nodes,).
    const u32 *act_nodes;
    u32 n_act_nodes;
    // Entry of special_first and row of energies of the first of them.
    u32 act_special;
    u32 act_energy;
    // 1 if any node is damped.
    u32 damped;
    // Entries of a row of `sources`, by fans.
    u32 n_neighbours;
    // Actions of a block that are kept in shared memory, at most, by fans.
    u32 n_kept;
};
static_assert(sizeof(Params<float>) == 400, "Params<float>");
OFFSET_IS(Params<float>, u, 0); OFFSET_IS(Params<float>, du, 16); OFFSET_IS(Params<float>, x, 32);
OFFSET_IS(Params<float>, inertia, 40); OFFSET_IS(Params<float>, decay, 48);
OFFSET_IS(Params<float>, dissipation, 56); OFFSET_IS(Params<float>, blocks, 64);
OFFSET_IS(Params<float>, list, 72); OFFSET_IS(Params<float>, halo_nodes, 80);
OFFSET_IS(Params<float>, outer_nodes, 88); OFFSET_IS(Params<float>, fan, 96);
OFFSET_IS(Params<float>, halo_fan, 104); OFFSET_IS(Params<float>, fan_materials, 112);
OFFSET_IS(Params<float>, halo_fan_materials, 120); OFFSET_IS(Params<float>, further_node, 128);
OFFSET_IS(Params<float>, further_fan, 136); OFFSET_IS(Params<float>, further_materials, 144);
OFFSET_IS(Params<float>, materials, 152); OFFSET_IS(Params<float>, colours, 160);
OFFSET_IS(Params<float>, connectivity, 168); OFFSET_IS(Params<float>, factors, 176);
OFFSET_IS(Params<float>, special_first, 184); OFFSET_IS(Params<float>, specials, 192);
OFFSET_IS(Params<float>, signals, 200); OFFSET_IS(Params<float>, record, 208);
OFFSET_IS(Params<float>, recording, 216); OFFSET_IS(Params<float>, energies, 224);
OFFSET_IS(Params<float>, row, 232); OFFSET_IS(Params<float>, passed_first, 240);
OFFSET_IS(Params<float>, passed_row, 248); OFFSET_IS(Params<float>, passed, 256);
OFFSET_IS(Params<float>, sources, 264); OFFSET_IS(Params<float>, done, 272);
OFFSET_IS(Params<float>, force_out, 280); OFFSET_IS(Params<float>, n_nodes, 288);
OFFSET_IS(Params<float>, force_unit, 296); OFFSET_IS(Params<float>, per_force_unit, 304);
OFFSET_IS(Params<float>, per_time_increment, 312); OFFSET_IS(Params<float>, n_signals, 320);
OFFSET_IS(Params<float>, n_monitors, 324); OFFSET_IS(Params<float>, n_materials, 328);
OFFSET_IS(Params<float>, n_blocks, 332); OFFSET_IS(Params<float>, near_room, 336);
OFFSET_IS(Params<float>, later_room, 340); OFFSET_IS(Params<float>, tiles, 344);
OFFSET_IS(Params<float>, words, 352); OFFSET_IS(Params<float>, tile_x, 360);
OFFSET_IS(Params<float>, act_nodes, 368); OFFSET_IS(Params<float>, n_act_nodes, 376);
OFFSET_IS(Params<float>, act_special, 380); OFFSET_IS(Params<float>, act_energy, 384);
OFFSET_IS(Params<float>, damped, 388); OFFSET_IS(Params<float>, n_neighbours, 392);
OFFSET_IS(Params<float>, n_kept, 396);
static_assert(sizeof(Params<double>) == 400, "Params<double>");
OFFSET_IS(Params<double>, u, 0); OFFSET_IS(Params<double>, du, 16); OFFSET_IS(Params<double>, x, 32);
OFFSET_IS(Params<double>, inertia, 40); OFFSET_IS(Params<double>, decay, 48);
OFFSET_IS(Params<double>, dissipation, 56); OFFSET_IS(Params<double>, blocks, 64);
OFFSET_IS(Params<double>, list, 72); OFFSET_IS(Params<double>, halo_nodes, 80);
OFFSET_IS(Params<double>, outer_nodes, 88); OFFSET_IS(Params<double>, fan, 96);
OFFSET_IS(Params<double>, halo_fan, 104); OFFSET_IS(Params<double>, fan_materials, 112);
OFFSET_IS(Params<double>, halo_fan_materials, 120); OFFSET_IS(Params<double>, further_node, 128);
OFFSET_IS(Params<double>, further_fan, 136); OFFSET_IS(Params<double>, further_materials, 144);
OFFSET_IS(Params<double>, materials, 152); OFFSET_IS(Params<double>, colours, 160);
OFFSET_IS(Params<double>, connectivity, 168); OFFSET_IS(Params<double>, factors, 176);
OFFSET_IS(Params<double>, special_first, 184); OFFSET_IS(Params<double>, specials, 192);
OFFSET_IS(Params<double>, signals, 200); OFFSET_IS(Params<double>, record, 208);
OFFSET_IS(Params<double>, recording, 216); OFFSET_IS(Params<double>, energies, 224);
OFFSET_IS(Params<double>, row, 232); OFFSET_IS(Params<double>, passed_first, 240);
OFFSET_IS(Params<double>, passed_row, 248); OFFSET_IS(Params<double>, passed, 256);
OFFSET_IS(Params<double>, sources, 264); OFFSET_IS(Params<double>, done, 272);
OFFSET_IS(Params<double>, force_out, 280); OFFSET_IS(Params<double>, n_nodes, 288);
OFFSET_IS(Params<double>, force_unit, 296); OFFSET_IS(Params<double>, per_force_unit, 304);
OFFSET_IS(Params<double>, per_time_increment, 312); OFFSET_IS(Params<double>, n_signals, 320);
OFFSET_IS(Params<double>, n_monitors, 324); OFFSET_IS(Params<double>, n_materials, 328);
OFFSET_IS(Params<double>, n_blocks, 332); OFFSET_IS(Params<double>, near_room, 336);
OFFSET_IS(Params<double>, later_room, 340); OFFSET_IS(Params<double>, tiles, 344);
OFFSET_IS(Params<double>, words, 352); OFFSET_IS(Params<double>, tile_x, 360);
OFFSET_IS(Params<double>, act_nodes, 368); OFFSET_IS(Params<double>, n_act_nodes, 376);
OFFSET_IS(Params<double>, act_special, 380); OFFSET_IS(Params<double>, act_energy, 384);
OFFSET_IS(Params<double>, damped, 388); OFFSET_IS(Params<double>, n_neighbours, 392);
OFFSET_IS(Params<double>, n_kept, 396);

// scale × shape(t − delay). What a, b and c are depends on the shape; n pairs of `numbers` from `first` on are points (t, a)
// or terms (A, B).
struct Curve {
    u32 shape;
    u32 n;
    u64 first;
    double scale;
    double delay;
    double a;
    double b;
    double c;
};
static_assert(sizeof(Curve) == 56, "Curve");
OFFSET_IS(Curve, shape, 0); OFFSET_IS(Curve, n, 4); OFFSET_IS(Curve, first, 8); OFFSET_IS(Curve, scale, 16);
OFFSET_IS(Curve, delay, 24); OFFSET_IS(Curve, a, 32); OFFSET_IS(Curve, b, 40); OFFSET_IS(Curve, c, 48);

// Signal of a column of the table; without a curve a = 1.
struct Column {
    u32 kind;
    u32 curve;
};
static_assert(sizeof(Column) == 8, "Column");
OFFSET_IS(Column, kind, 0); OFFSET_IS(Column, curve, 4);

// Signals, and the rows of them that are made ahead.
struct SignalTables {
    const Curve *curves;
    const Column *columns;
    const double2 *numbers;
    // (WINDOW + 2, n_signals).
    double *rows;
    // Of integrated columns, (WINDOW + 1, n_signals).
    double *increments;
    // Step of row 0.
    u64 *step;
    double time_increment;
    u32 n_signals;
};
static_assert(sizeof(SignalTables) == 64, "SignalTables");
OFFSET_IS(SignalTables, curves, 0); OFFSET_IS(SignalTables, columns, 8); OFFSET_IS(SignalTables, numbers, 16);
OFFSET_IS(SignalTables, rows, 24); OFFSET_IS(SignalTables, increments, 32); OFFSET_IS(SignalTables, step, 40);
OFFSET_IS(SignalTables, time_increment, 48); OFFSET_IS(SignalTables, n_signals, 56);
