// Written by `cargo xtask kernels` from explicit/gpu/layout.rs: change it there.

#pragma once
#include "../../device/types.cuh"

// No block, no row or no curve.
constexpr u32 NONE = 4294967295u;
// `material` of a block that has fans in which several materials meet.
constexpr u32 MIXED = 65534u;
// Maximum number of own, halo and outer nodes of a block that the fan kernels compute.
constexpr u32 MOST_LOCAL = 1024u;
// Maximum number of actions of a block that the fan kernels keep in shared memory.
constexpr u32 MOST_KEPT = 64u;
// Bytes of `Extra` without materials and actions (fans.cuh), and bytes of an `Action` (step.cuh).
constexpr u32 EXTRA_BYTES = 144u;
constexpr u32 ACTION_BYTES = 24u;
// Threads of a thread block of `solids`, `march` and `act`. It is also the number of elements or rings in a
// batch.
constexpr u32 THREADS = 128u;
// Marks an empty corner in a connectivity row of the solid kernels.
constexpr u32 ABSENT = 40959u;
// Node slots of one plane of a tile. Some slots may be empty.
constexpr u32 SLOTS = 192u;
// Number of planes of a tile whose words are in shared memory.
constexpr u32 PLANES_OF_WORDS = 8u;
// Bits of a tile word that hold the node number.
constexpr u32 TILE_NODE = 536870911u;
// Bit of a tile word: the node is the lowest corner of an element.
constexpr u32 PRESENT = 536870912u;
// Bit of a tile word: the tile updates the node.
constexpr u32 MOVED = 1073741824u;
// Bit of a tile word: the kernel `act` updates the node, because the node has a load, a constraint, a monitor
// or damping. The tile stores f_int of this node in its Δu slot.
constexpr u32 BY_ACT = 2147483648u;
// Element laws, each with its own force computation (laws.cuh).
constexpr u32 TRIANGLE = 0u;
constexpr u32 QUADRILATERAL = 1u;
constexpr u32 REDUCED_QUADRILATERAL = 2u;
constexpr u32 TETRAHEDRON = 3u;
constexpr u32 WEDGE = 4u;
constexpr u32 FULL_WEDGE = 5u;
constexpr u32 HEXAHEDRON = 6u;
constexpr u32 REDUCED_HEXAHEDRON = 7u;
// C3D8 whose opposite edges are equal. It needs a third of the arithmetic.
constexpr u32 PARALLELEPIPED = 8u;
// Values of the kind of a `Special`.
constexpr u32 FORCE = 0u;
constexpr u32 SUPPORT = 1u;
constexpr u32 MONITOR = 2u;
// Bits of `Special::kind` that hold the kind.
constexpr u32 KIND = 255u;
// Bit of `Special::kind`: this is the last entry of its node.
constexpr u32 LAST = 65536u;
// Lowest bit of the local node number in `Special::kind`.
constexpr u32 LOCAL_AT = 20u;
// Number of steps whose signals are evaluated together.
constexpr u32 WINDOW = 64u;
// Values of `Curve::shape`.
constexpr u32 TABULAR = 0u;
constexpr u32 SMOOTH_STEP = 1u;
constexpr u32 PERIODIC = 2u;
constexpr u32 HANN_BURST = 3u;
constexpr u32 GAUSSIAN_BURST = 4u;
constexpr u32 RECTANGULAR_BURST = 5u;
constexpr u32 RICKER = 6u;
constexpr u32 GAUSSIAN_PULSE = 7u;
// Values of `Column::kind`. The column is the value of a curve, or the displacement that results from the
// curve as a velocity or as an acceleration.
constexpr u32 VALUE = 0u;
constexpr u32 VELOCITY = 1u;
constexpr u32 ACCELERATION = 2u;

// One block of the mesh, with the positions of its rows in the tables.
struct alignas(16) Block {
    u32 node_first;
    u32 n_own;
    u32 halo_first;
    u32 n_halo;
    u32 outer_first;
    u32 n_outer;
    // First node position of the block.
    u32 local_first;
    u32 material;
    // First entry of the block in `special_first`, or NONE.
    u32 special_first;
    // 1 if any node of the block is damped.
    u32 damped;
    // Row of the block in `energies`, or NONE.
    u32 energy_row;
    u32 further_first;
    u32 n_further;
    u32 colour_first;
    u32 n_colours;
    u32 n_boundary;
    u32 boundary_first;
    // First row of the block in `connectivity`, counted in units of 16 bytes.
    u32 rows_first;
    u32 n_rows;
    // First entry of the block in `specials`.
    u32 special_base;
    u32 n_special;
    u32 source_first;
    u32 n_sources;
    // 1 if tiles update the nodes of the block. The block then only passes forces on to other blocks.
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

// Elasticity in the units of the tables, as on the CPU. In two dimensions it is the leading 3 × 3 part times the
// thickness.
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

// A tile of a grid: `width` × `height` columns of hexahedra, or of cells of six tetrahedra. The tile updates its
// nodes except the first ones along each axis.
struct alignas(16) Tile {
    // First word of the tile.
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

// A batch of elements of one type and one material. In two dimensions no two elements of a batch share an own
// node. In three dimensions it is a run of elements or of rings of tetrahedra.
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

// A force, a constraint or a monitor on one degree of freedom.
struct Special {
    // For a force: its value in N at signal 1. For a constraint: the factor of the signal, in m.
    double value;
    // For a constraint: the lumped mass in kg, and α m in kg/s.
    double mass;
    double damping;
    u32 kind;
    u32 component;
    u32 signal;
    // For a monitor: its column in the recorded values.
    u32 column;
};
static_assert(sizeof(Special) == 40, "Special");
OFFSET_IS(Special, value, 0); OFFSET_IS(Special, mass, 8); OFFSET_IS(Special, damping, 16);
OFFSET_IS(Special, kind, 24); OFFSET_IS(Special, component, 28); OFFSET_IS(Special, signal, 32);
OFFSET_IS(Special, column, 36);

// Parameters of a launch of the step kernels.
template <typename T> struct Params {
    // Displacements and their last increments, (n_nodes, dimension). A step reads the first array and writes the
    // second.
    T *u[2];
    T *du[2];
    // Positions of own, halo and outer nodes, block by block.
    const T *x;
    // Δt²/m/(1 + q), (n_nodes,).
    const T *inertia;
    // (1 − q)/(1 + q), (n_nodes,). It is read in damped blocks only.
    const T *decay;
    // α m / 4Δt, (n_nodes,).
    const T *dissipation;
    const Block *blocks;
    // Blocks or tiles of this launch. Null means all blocks.
    const u32 *list;
    const u32 *halo_nodes;
    const u32 *outer_nodes;
    // Fan records of own nodes and of halo nodes: three words each. In single precision the fourth word is the
    // inertia.
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
    // Stiffness factor of each element, or null.
    const T *factors;
    // First entry in `specials` of each own and halo node, followed by the end of the last one. Only blocks that
    // have specials have rows here.
    const u32 *special_first;
    const Special *specials;
    // Signals at t_n, starting with the first step of the graph, (WINDOW + 2, n_signals).
    const double *signals;
    // Row of `recording` for each step, or −1 if the step is not recorded.
    const int *record;
    // u and Δu before the step and Δu after it, (n_recorded, n_monitors, 3).
    double *recording;
    // External work and damped energy up to now, (n_energy_rows, 2).
    double *energies;
    // Row of `record` at which the graph starts.
    const u32 *row;
    // First row in `passed` of each boundary node, block by block.
    const u32 *passed_first;
    // Row in `passed` of each entry of halo_nodes.
    const u32 *passed_row;
    // Forces of elements that several blocks share, for the blocks that own the nodes, (n, 3).
    T *passed;
    // Blocks that pass forces on to each block. For the fan kernels: the block itself, the blocks that it reads
    // and the blocks that read it, in rows of n_neighbours entries. NONE fills the rest of a row.
    const u32 *sources;
    // Number of launches that have stored the forces of each block. For the fan kernels: number of completed
    // passes of this launch.
    u32 *done;
    // If not null, f_int in N is stored here, (n_nodes, dimension), and no step is made.
    double *force_out;
    u64 n_nodes;
    // Unit of force in N, the inverse of that unit, and 1/Δt.
    double force_unit;
    double per_force_unit;
    double per_time_increment;
    u32 n_signals;
    u32 n_monitors;
    u32 n_materials;
    u32 n_blocks;
    // Solid kernels: the maximum over all blocks of the number of own and later nodes, and of the number of later
    // nodes. A later node belongs to a block with a higher number.
    u32 near_room;
    u32 later_room;
    const Tile *tiles;
    // One word for each node of each plane of each tile.
    const u32 *words;
    // Positions of the nodes in `words`, tile by tile, (planes, 3, SLOTS).
    const T *tile_x;
    // Nodes that the kernel `act` updates, (n_act_nodes,).
    const u32 *act_nodes;
    u32 n_act_nodes;
    // Entry of the first of these nodes in special_first, and the first row of `energies` that `act` uses.
    u32 act_special;
    u32 act_energy;
    // 1 if any node is damped.
    u32 damped;
    // Fan kernels: number of entries in a row of `sources`.
    u32 n_neighbours;
    // Fan kernels: maximum number of actions of a block that are kept in shared memory.
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

// A curve of the form scale × shape(t − delay). The shape determines the meaning of a, b and c. Some shapes also
// have n pairs of `numbers`, starting at `first`: points (t, a), or terms (A, B).
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

// Signal of one column of the table. Without a curve, a = 1.
struct Column {
    u32 kind;
    u32 curve;
};
static_assert(sizeof(Column) == 8, "Column");
OFFSET_IS(Column, kind, 0); OFFSET_IS(Column, curve, 4);

// Definitions of the signals, and the rows that are evaluated in advance.
struct SignalTables {
    const Curve *curves;
    const Column *columns;
    const double2 *numbers;
    // Values, (WINDOW + 2, n_signals).
    double *rows;
    // Increments of the integrated columns, (WINDOW + 1, n_signals).
    double *increments;
    // Number of the step of row 0.
    u64 *step;
    double time_increment;
    u32 n_signals;
};
static_assert(sizeof(SignalTables) == 64, "SignalTables");
OFFSET_IS(SignalTables, curves, 0); OFFSET_IS(SignalTables, columns, 8); OFFSET_IS(SignalTables, numbers, 16);
OFFSET_IS(SignalTables, rows, 24); OFFSET_IS(SignalTables, increments, 32); OFFSET_IS(SignalTables, step, 40);
OFFSET_IS(SignalTables, time_increment, 48); OFFSET_IS(SignalTables, n_signals, 56);
