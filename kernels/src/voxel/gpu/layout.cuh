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
OFFSET_IS(Word, nodes, 0); OFFSET_IS(Word, elements, 4); OFFSET_IS(Word, node_at, 8);
OFFSET_IS(Word, element_at, 12);

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
OFFSET_IS(Plane, word, 0); OFFSET_IS(Plane, halo_at, 128); OFFSET_IS(Plane, halo, 132);
OFFSET_IS(Plane, fixed, 140);

// What a thread block does: planes at … at + n − 1 of its tile.
struct Stretch {
    u32 at;
    u32 n;
};
static_assert(sizeof(Stretch) == 8, "Stretch");
OFFSET_IS(Stretch, at, 0); OFFSET_IS(Stretch, n, 4);

// First plane of a tile, and its z.
struct Tile {
    u32 plane;
    int z;
};
static_assert(sizeof(Tile) == 8, "Tile");
OFFSET_IS(Tile, plane, 0); OFFSET_IS(Tile, z, 4);

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
OFFSET_IS(Stiffness<float>, stretch, 0); OFFSET_IS(Stiffness<float>, volume, 4);
OFFSET_IS(Stiffness<float>, hourglass, 8); OFFSET_IS(Stiffness<float>, coupling, 12);
OFFSET_IS(Stiffness<float>, bend, 16); OFFSET_IS(Stiffness<float>, across, 20);
OFFSET_IS(Stiffness<float>, shear, 24); OFFSET_IS(Stiffness<float>, last, 28);
static_assert(sizeof(Stiffness<double>) == 64, "Stiffness<double>");
OFFSET_IS(Stiffness<double>, stretch, 0); OFFSET_IS(Stiffness<double>, volume, 8);
OFFSET_IS(Stiffness<double>, hourglass, 16); OFFSET_IS(Stiffness<double>, coupling, 24);
OFFSET_IS(Stiffness<double>, bend, 32); OFFSET_IS(Stiffness<double>, across, 40);
OFFSET_IS(Stiffness<double>, shear, 48); OFFSET_IS(Stiffness<double>, last, 56);

// A force on a degree of freedom.
struct Force {
    u64 dof;
    double value;
};
static_assert(sizeof(Force) == 16, "Force");
OFFSET_IS(Force, dof, 0); OFFSET_IS(Force, value, 8);

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
OFFSET_IS(Params<float>, k, 0); OFFSET_IS(Params<float>, planes, 32); OFFSET_IS(Params<float>, stretches, 40);
OFFSET_IS(Params<float>, halo, 48); OFFSET_IS(Params<float>, fixed, 56);
OFFSET_IS(Params<float>, inverse, 64); OFFSET_IS(Params<float>, classes, 72);
OFFSET_IS(Params<float>, young, 80); OFFSET_IS(Params<float>, moduli, 88); OFFSET_IS(Params<float>, x, 96);
OFFSET_IS(Params<float>, y, 104); OFFSET_IS(Params<float>, b, 112); OFFSET_IS(Params<float>, r, 120);
OFFSET_IS(Params<float>, d, 128); OFFSET_IS(Params<float>, z, 136); OFFSET_IS(Params<float>, partial, 144);
OFFSET_IS(Params<float>, forces, 152); OFFSET_IS(Params<float>, n_forces, 160);
OFFSET_IS(Params<float>, p, 168); OFFSET_IS(Params<float>, s, 172); OFFSET_IS(Params<float>, w, 176);
OFFSET_IS(Params<float>, w0, 180); OFFSET_IS(Params<float>, unit, 184); OFFSET_IS(Params<float>, kind, 188);
OFFSET_IS(Params<float>, add, 192);
static_assert(sizeof(Params<double>) == 232, "Params<double>");
OFFSET_IS(Params<double>, k, 0); OFFSET_IS(Params<double>, planes, 64);
OFFSET_IS(Params<double>, stretches, 72); OFFSET_IS(Params<double>, halo, 80);
OFFSET_IS(Params<double>, fixed, 88); OFFSET_IS(Params<double>, inverse, 96);
OFFSET_IS(Params<double>, classes, 104); OFFSET_IS(Params<double>, young, 112);
OFFSET_IS(Params<double>, moduli, 120); OFFSET_IS(Params<double>, x, 128); OFFSET_IS(Params<double>, y, 136);
OFFSET_IS(Params<double>, b, 144); OFFSET_IS(Params<double>, r, 152); OFFSET_IS(Params<double>, d, 160);
OFFSET_IS(Params<double>, z, 168); OFFSET_IS(Params<double>, partial, 176);
OFFSET_IS(Params<double>, forces, 184); OFFSET_IS(Params<double>, n_forces, 192);
OFFSET_IS(Params<double>, p, 200); OFFSET_IS(Params<double>, s, 204); OFFSET_IS(Params<double>, w, 208);
OFFSET_IS(Params<double>, w0, 212); OFFSET_IS(Params<double>, unit, 216);
OFFSET_IS(Params<double>, kind, 224); OFFSET_IS(Params<double>, add, 228);

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
OFFSET_IS(Cell, places, 0); OFFSET_IS(Cell, x, 4); OFFSET_IS(Cell, y, 6); OFFSET_IS(Cell, z, 8);
OFFSET_IS(Cell, octants, 10);

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
OFFSET_IS(Level, residual, 0); OFFSET_IS(Level, direction, 8); OFFSET_IS(Level, product, 16);
OFFSET_IS(Level, solution, 24); OFFSET_IS(Level, z, 32); OFFSET_IS(Level, t, 40); OFFSET_IS(Level, d, 48);
OFFSET_IS(Level, inverse, 56); OFFSET_IS(Level, row_first, 64); OFFSET_IS(Level, column, 72);
OFFSET_IS(Level, value, 80); OFFSET_IS(Level, ninth, 88); OFFSET_IS(Level, nodes, 96);
OFFSET_IS(Level, owner, 104); OFFSET_IS(Level, gather_first, 112); OFFSET_IS(Level, gather, 120);
OFFSET_IS(Level, n, 128); OFFSET_IS(Level, n_finer, 132); OFFSET_IS(Level, steps, 136);
OFFSET_IS(Level, step, 140); OFFSET_IS(Level, unit, 144); OFFSET_IS(Level, reserved, 148);
OFFSET_IS(Level, cost, 152);

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
OFFSET_IS(Tables, levels, 0); OFFSET_IS(Tables, bottom, 3840); OFFSET_IS(Tables, fine_residual, 3848);
OFFSET_IS(Tables, fine_z, 3856); OFFSET_IS(Tables, fixed, 3864); OFFSET_IS(Tables, child, 3872);
OFFSET_IS(Tables, cells, 3880); OFFSET_IS(Tables, own, 3888); OFFSET_IS(Tables, tiles, 3896);
OFFSET_IS(Tables, planes, 3904); OFFSET_IS(Tables, material, 3912); OFFSET_IS(Tables, young, 3920);
OFFSET_IS(Tables, modulus, 3928); OFFSET_IS(Tables, partial, 3936); OFFSET_IS(Tables, arrived, 3944);
OFFSET_IS(Tables, work, 3952); OFFSET_IS(Tables, tolerance, 3960); OFFSET_IS(Tables, modulus_unit, 3968);
OFFSET_IS(Tables, n_levels, 3972); OFFSET_IS(Tables, degree, 3976); OFFSET_IS(Tables, n_fixed, 3980);
OFFSET_IS(Tables, n_tiles, 3984); OFFSET_IS(Tables, colour_first, 3988);
