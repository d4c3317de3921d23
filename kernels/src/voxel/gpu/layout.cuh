// Written by `cargo xtask kernels` from voxel/gpu/layout.rs: change it there.

#pragma once
#include "../../device/types.cuh"

// Threads and warps of a thread block of the finest level.
constexpr u32 THREADS = 256u;
constexpr u32 N_WARPS = 8u;
// In `Word::element_at`: some degree of freedom of this plane of the tile is fixed.
constexpr u32 HAS_FIXED = 2147483648u;
// Planes of a stretch, at most, as many as leave shared memory for three thread blocks a multiprocessor, in f64 for
// two: where elements have moduli; of kernels in f32; of two smoothing steps; in f64.
constexpr u32 LONGEST_MODULI = 96u;
constexpr u32 LONGEST_SINGLE = 176u;
constexpr u32 LONGEST_PAIR = 133u;
constexpr u32 LONGEST_DOUBLE = 120u;
// Empty planes before and after a stretch, so that nobody needs to ask where it ends; the latter and those ahead.
constexpr u32 BEFORE = 3u;
constexpr u32 AFTER = 8u;
// `Params::kind`: E h is the same everywhere, or that of each element's class, or each element has its own.
constexpr u32 ONE = 0u;
constexpr u32 CLASSES = 1u;
constexpr u32 EACH_ELEMENT = 2u;
// Coarse levels, at most.
constexpr u32 MAX_LEVELS = 24u;
// Bits of a node's number in `Level::column`.
constexpr u32 COLUMN_BITS = 27u;
// Scalars of the outer conjugate gradients, f64.
constexpr u32 PR = 0u;
constexpr u32 ZQ = 1u;
constexpr u32 PQ = 2u;
constexpr u32 RR = 4u;
constexpr u32 ALPHA = 5u;
constexpr u32 PQ_BEFORE = 6u;
constexpr u32 WORK = 7u;
constexpr u32 N_SCALARS = 8u;

struct Eight;

// What a warp needs of a plane of a tile: bit 8 y + x of its 8 × 4 columns. Columns 0 have no nodes of the tile.
struct alignas(16) Word {
    u32 nodes;
    // Between this plane and the next, at (x, y) … (x + 1, y + 1).
    u32 elements;
    // Number of the first node.
    u32 node_at;
    // Number of the first element in the order of the tiles.
    u32 element_at;
};
static_assert(sizeof(Word) == 16, "Word");
LIES_AT(Word, nodes, 0);
LIES_AT(Word, elements, 4);
LIES_AT(Word, node_at, 8);
LIES_AT(Word, element_at, 12);

// A plane of a tile. An empty one stands before the first of a tile and after the last, and two before all.
struct alignas(16) Plane {
    Word word[8];
    // First of the halo's nodes in the list.
    u32 halo_at;
    // Which nodes there are of the 64 round the tile's 15 × 15.
    u32 halo[2];
    // Row of the table of fixed degrees of freedom, counted from 1; 0 for none.
    u32 fixed;
};
static_assert(sizeof(Plane) == 144, "Plane");
LIES_AT(Plane, word, 0);
LIES_AT(Plane, halo_at, 128);
LIES_AT(Plane, halo, 132);
LIES_AT(Plane, fixed, 140);

// What a thread block does: planes at … at + n − 1 of its tile.
struct Stretch {
    u32 at;
    u32 n;
};
static_assert(sizeof(Stretch) == 8, "Stretch");
LIES_AT(Stretch, at, 0);
LIES_AT(Stretch, n, 4);

// First plane of a tile, and its z.
struct Tile {
    u32 plane;
    int z;
};
static_assert(sizeof(Tile) == 8, "Tile");
LIES_AT(Tile, plane, 0);
LIES_AT(Tile, z, 4);

// Stiffness of a cube in the basis of the Walsh-Hadamard transform (cube.rs), E h in it if that is the same everywhere.
template <typename T> struct Stiffness {
    // Of s = 0: stretch I + volume 1 1ᵀ.
    T stretch;
    T volume;
    // Of s = 7, the same.
    T hourglass;
    T coupling;
    // Of s = 1, 2, 4: on and off the diagonal.
    T bend;
    T across;
    // Of s = 3, 5, 6: all four entries, and the single one.
    T shear;
    T last;
};
static_assert(sizeof(Stiffness<float>) == 32, "Stiffness<float>");
LIES_AT(Stiffness<float>, stretch, 0);
LIES_AT(Stiffness<float>, volume, 4);
LIES_AT(Stiffness<float>, hourglass, 8);
LIES_AT(Stiffness<float>, coupling, 12);
LIES_AT(Stiffness<float>, bend, 16);
LIES_AT(Stiffness<float>, across, 20);
LIES_AT(Stiffness<float>, shear, 24);
LIES_AT(Stiffness<float>, last, 28);
static_assert(sizeof(Stiffness<double>) == 64, "Stiffness<double>");
LIES_AT(Stiffness<double>, stretch, 0);
LIES_AT(Stiffness<double>, volume, 8);
LIES_AT(Stiffness<double>, hourglass, 16);
LIES_AT(Stiffness<double>, coupling, 24);
LIES_AT(Stiffness<double>, bend, 32);
LIES_AT(Stiffness<double>, across, 40);
LIES_AT(Stiffness<double>, shear, 48);
LIES_AT(Stiffness<double>, last, 56);

// A force on a degree of freedom.
struct Force {
    u64 dof;
    double value;
};
static_assert(sizeof(Force) == 16, "Force");
LIES_AT(Force, dof, 0);
LIES_AT(Force, value, 8);

// What a launch on the finest level is told.
template <typename T> struct Params {
    Stiffness<T> k;
    const Plane *planes;
    const Stretch *stretches;
    // Nodes of other tiles.
    const u32 *halo;
    // Bits, (…, N_WARPS, 3).
    const u32 *fixed;
    // 1 / diagonal of each node: the upper half of an f32.
    const u16 *inverse;
    // Classes of elements in the order of the tiles, and E h of each class.
    const u8 *classes;
    const T *young;
    // Moduli of elements in the order of the tiles.
    const float *moduli;
    const T *x;
    T *y;
    const float *b;
    float *r;
    float *d;
    float *z;
    // A sum of each thread block.
    double *partial;
    // Ascending by degree of freedom.
    const Force *forces;
    u64 n_forces;
    // Factors of a smoothing step, or of two.
    float p;
    float s;
    float w;
    float w0;
    // What `moduli` are multiplied with.
    T unit;
    u32 kind;
    // 1: z is added to; for STORE, x y is summed.
    u32 add;
};
static_assert(sizeof(Params<float>) == 200, "Params<float>");
LIES_AT(Params<float>, k, 0);
LIES_AT(Params<float>, planes, 32);
LIES_AT(Params<float>, stretches, 40);
LIES_AT(Params<float>, halo, 48);
LIES_AT(Params<float>, fixed, 56);
LIES_AT(Params<float>, inverse, 64);
LIES_AT(Params<float>, classes, 72);
LIES_AT(Params<float>, young, 80);
LIES_AT(Params<float>, moduli, 88);
LIES_AT(Params<float>, x, 96);
LIES_AT(Params<float>, y, 104);
LIES_AT(Params<float>, b, 112);
LIES_AT(Params<float>, r, 120);
LIES_AT(Params<float>, d, 128);
LIES_AT(Params<float>, z, 136);
LIES_AT(Params<float>, partial, 144);
LIES_AT(Params<float>, forces, 152);
LIES_AT(Params<float>, n_forces, 160);
LIES_AT(Params<float>, p, 168);
LIES_AT(Params<float>, s, 172);
LIES_AT(Params<float>, w, 176);
LIES_AT(Params<float>, w0, 180);
LIES_AT(Params<float>, unit, 184);
LIES_AT(Params<float>, kind, 188);
LIES_AT(Params<float>, add, 192);
static_assert(sizeof(Params<double>) == 232, "Params<double>");
LIES_AT(Params<double>, k, 0);
LIES_AT(Params<double>, planes, 64);
LIES_AT(Params<double>, stretches, 72);
LIES_AT(Params<double>, halo, 80);
LIES_AT(Params<double>, fixed, 88);
LIES_AT(Params<double>, inverse, 96);
LIES_AT(Params<double>, classes, 104);
LIES_AT(Params<double>, young, 112);
LIES_AT(Params<double>, moduli, 120);
LIES_AT(Params<double>, x, 128);
LIES_AT(Params<double>, y, 136);
LIES_AT(Params<double>, b, 144);
LIES_AT(Params<double>, r, 152);
LIES_AT(Params<double>, d, 160);
LIES_AT(Params<double>, z, 168);
LIES_AT(Params<double>, partial, 176);
LIES_AT(Params<double>, forces, 184);
LIES_AT(Params<double>, n_forces, 192);
LIES_AT(Params<double>, p, 200);
LIES_AT(Params<double>, s, 204);
LIES_AT(Params<double>, w, 208);
LIES_AT(Params<double>, w0, 212);
LIES_AT(Params<double>, unit, 216);
LIES_AT(Params<double>, kind, 224);
LIES_AT(Params<double>, add, 228);

// An element of level 1: which of its 27 places, x + 3 y + 9 z in voxels, have nodes that no other element has; its
// position; which of its eight voxels are there. Without octants it has a matrix.
struct Cell {
    u32 places;
    u16 x;
    u16 y;
    u16 z;
    u16 octants;
};
static_assert(sizeof(Cell) == 12, "Cell");
LIES_AT(Cell, places, 0);
LIES_AT(Cell, x, 4);
LIES_AT(Cell, y, 6);
LIES_AT(Cell, z, 8);
LIES_AT(Cell, octants, 10);

// A coarse level. Vectors have 3 n numbers and room for a multiple of four.
struct Level {
    // Of the conjugate gradients; the right-hand side before.
    float *residual;
    float *direction;
    float *product;
    float *solution;
    float *z;
    float *t;
    float *d;
    // 1 / diagonal, 0 where there is no stiffness; of the bottom 1.
    const float *inverse;
    // Blocks of each row, (n + 1,); null on level 1 and the bottom.
    const u32 *row_first;
    // e above COLUMN_BITS, and the node: numbers of the block count 2^-e `unit`.
    const u32 *column;
    // All numbers of each block, row by row, but the last; and that.
    const Eight *value;
    const short *ninth;
    // Nodes of each element, (n_elements, 8).
    const u32 *nodes;
    // Of each finer node: 32 × element + place, (n_finer,).
    const u32 *owner;
    // Finer nodes that each node's values come from, (n + 1,): 4 × finer node + k, of weight 2^-k.
    const u32 *gather_first;
    const u32 *gather;
    u32 n;
    u32 n_finer;
    // Steps of conjugate gradients.
    u32 steps;
    // 1 / λ.
    float step;
    // A power of two.
    float unit;
    u32 reserved;
    // Cost of a product, in products of the finest level.
    double cost;
};
static_assert(sizeof(Level) == 160, "Level");
LIES_AT(Level, residual, 0);
LIES_AT(Level, direction, 8);
LIES_AT(Level, product, 16);
LIES_AT(Level, solution, 24);
LIES_AT(Level, z, 32);
LIES_AT(Level, t, 40);
LIES_AT(Level, d, 48);
LIES_AT(Level, inverse, 56);
LIES_AT(Level, row_first, 64);
LIES_AT(Level, column, 72);
LIES_AT(Level, value, 80);
LIES_AT(Level, ninth, 88);
LIES_AT(Level, nodes, 96);
LIES_AT(Level, owner, 104);
LIES_AT(Level, gather_first, 112);
LIES_AT(Level, gather, 120);
LIES_AT(Level, n, 128);
LIES_AT(Level, n_finer, 132);
LIES_AT(Level, steps, 136);
LIES_AT(Level, step, 140);
LIES_AT(Level, unit, 144);
LIES_AT(Level, reserved, 148);
LIES_AT(Level, cost, 152);

// What a correction needs.
struct Tables {
    Level levels[24];
    // Inverse of the last level's matrix, (3 n, 3 n), or null.
    const float *bottom;
    const float *fine_residual;
    float *fine_z;
    // Fixed degrees of freedom of the finest level, (n_fixed,).
    const u32 *fixed;
    // First voxel of each element of level 1, or its matrix.
    const u32 *child;
    const Cell *cells;
    // Matrices of some elements of level 1, (…, 24, 24): their lower triangles, (…, 300).
    const float *own;
    const Tile *tiles;
    const Plane *planes;
    // Class of each voxel, or null: all are of the first.
    const u8 *material;
    // E h of each class.
    const float *young;
    // Modulus of each voxel, or null.
    const float *modulus;
    // (2, 3, thread blocks).
    double *partial;
    // Arrivals at barriers, 0 at the start.
    u32 *arrived;
    // Products so far, in those of the finest level.
    double *work;
    // Square of the relative residual that ends conjugate gradients.
    double tolerance;
    float modulus_unit;
    u32 n_levels;
    u32 degree;
    u32 n_fixed;
    // Tiles along x.
    u32 n_tiles;
    // First of the elements of level 1 that share no node, colour by colour.
    u32 colour_first[9];
};
static_assert(sizeof(Tables) == 4024, "Tables");
LIES_AT(Tables, levels, 0);
LIES_AT(Tables, bottom, 3840);
LIES_AT(Tables, fine_residual, 3848);
LIES_AT(Tables, fine_z, 3856);
LIES_AT(Tables, fixed, 3864);
LIES_AT(Tables, child, 3872);
LIES_AT(Tables, cells, 3880);
LIES_AT(Tables, own, 3888);
LIES_AT(Tables, tiles, 3896);
LIES_AT(Tables, planes, 3904);
LIES_AT(Tables, material, 3912);
LIES_AT(Tables, young, 3920);
LIES_AT(Tables, modulus, 3928);
LIES_AT(Tables, partial, 3936);
LIES_AT(Tables, arrived, 3944);
LIES_AT(Tables, work, 3952);
LIES_AT(Tables, tolerance, 3960);
LIES_AT(Tables, modulus_unit, 3968);
LIES_AT(Tables, n_levels, 3972);
LIES_AT(Tables, degree, 3976);
LIES_AT(Tables, n_fixed, 3980);
LIES_AT(Tables, n_tiles, 3984);
LIES_AT(Tables, colour_first, 3988);
