// Written by `cargo xtask kernels` from voxel/gpu/layout.rs: change it there.

#pragma once
#include "../../device/types.cuh"

// Threads and warps of a thread block on the finest level.
constexpr u32 THREADS = 256u;
constexpr u32 N_WARPS = 8u;
// Bit of `Word::element_at`: a degree of freedom of this plane of the tile is fixed.
constexpr u32 HAS_FIXED = 2147483648u;
// Maximum number of planes of a stretch. The shared memory then suffices for three thread blocks per
// multiprocessor, or for two in f64. The cases are: elements with their own moduli, kernels in f32, two
// smoothing steps, kernels in f64.
constexpr u32 LONGEST_MODULI = 96u;
constexpr u32 LONGEST_SINGLE = 176u;
constexpr u32 LONGEST_PAIR = 133u;
constexpr u32 LONGEST_DOUBLE = 120u;
// Empty planes before and after a stretch, so that no kernel has to test where the stretch ends. AFTER
// includes the planes that are fetched in advance.
constexpr u32 BEFORE = 3u;
constexpr u32 AFTER = 8u;
// Values of `Params::kind`. E h is the same everywhere, or each element has a class with its E h, or each
// element has its own modulus.
constexpr u32 ONE = 0u;
constexpr u32 CLASSES = 1u;
constexpr u32 EACH_ELEMENT = 2u;
// Maximum number of coarse levels.
constexpr u32 MAX_LEVELS = 24u;
// Bit of `Cell::places`: the element is one of another device, and has nodes of this one.
constexpr u32 OF_ANOTHER = 2147483648u;
// Most devices that compute one model.
constexpr u32 MOST_DEVICES = 8u;
// Bits of a node number in `Level::column`.
constexpr u32 COLUMN_BITS = 27u;
// Indices of the scalars of the outer conjugate gradients, in f64.
constexpr u32 PR = 0u;
constexpr u32 ZQ = 1u;
constexpr u32 PQ = 2u;
constexpr u32 RR = 4u;
constexpr u32 ALPHA = 5u;
constexpr u32 PQ_BEFORE = 6u;
constexpr u32 WORK = 7u;
constexpr u32 N_SCALARS = 8u;

struct Eight;

// The part of a plane of a tile that one warp computes. Bit 8 y + x stands for column (x, y) of its 8 × 4 columns.
// Columns 0 of a tile hold no nodes of the tile.
struct alignas(16) Word {
    u32 nodes;
    // Elements between this plane and the next, at columns (x, y) … (x + 1, y + 1).
    u32 elements;
    // Number of the first node.
    u32 node_at;
    // Number of the first element in the order of the tiles, and the bit HAS_FIXED.
    u32 element_at;
};
static_assert(sizeof(Word) == 16, "Word");
OFFSET_IS(Word, nodes, 0); OFFSET_IS(Word, elements, 4); OFFSET_IS(Word, node_at, 8);
OFFSET_IS(Word, element_at, 12);

// A plane of a tile. There is an empty plane before the first and after the last plane of each tile, and two
// before all others.
struct alignas(16) Plane {
    Word word[8];
    // First node of the halo in the list `halo`.
    u32 halo_at;
    // Bits of the existing nodes among the 64 around the tile's 15 × 15.
    u32 halo[2];
    // Row in the table of fixed degrees of freedom, counted from 1, or 0 for none.
    u32 fixed;
};
static_assert(sizeof(Plane) == 144, "Plane");
OFFSET_IS(Plane, word, 0); OFFSET_IS(Plane, halo_at, 128); OFFSET_IS(Plane, halo, 132);
OFFSET_IS(Plane, fixed, 140);

// The work of one thread block: planes at … at + n − 1 of its tile.
struct Stretch {
    u32 at;
    u32 n;
};
static_assert(sizeof(Stretch) == 8, "Stretch");
OFFSET_IS(Stretch, at, 0); OFFSET_IS(Stretch, n, 4);

// First plane of a tile, and its z coordinate.
struct Tile {
    u32 plane;
    int z;
};
static_assert(sizeof(Tile) == 8, "Tile");
OFFSET_IS(Tile, plane, 0); OFFSET_IS(Tile, z, 4);

// Stiffness of a cube in the basis of the Walsh-Hadamard transform (cube.rs). It includes E h if that is the same
// everywhere. Block s couples the transform entries q of all components a with q ^ 1 << a = s. Where elements differ in
// Poisson's ratio, `volume` and `across` are those for λ = 1 and μ = 0, the others those for λ = 0 and μ = 1.
template <typename T> struct Stiffness {
    // Block s = 0: stretch I + volume 1 1ᵀ.
    T stretch;
    T volume;
    // Block s = 7, of the same form.
    T hourglass;
    T coupling;
    // Blocks s = 1, 2, 4: diagonal and off-diagonal entries.
    T bend;
    T across;
    // Blocks s = 3, 5, 6: the four equal entries, and the entry of the third component.
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

// Parameters of a launch on the finest level.
template <typename T> struct Params {
    Stiffness<T> k;
    const Plane *planes;
    const Stretch *stretches;
    // Numbers of the halo nodes, which belong to other tiles.
    const u32 *halo;
    // Bits of the fixed degrees of freedom, (…, N_WARPS, 3).
    const u32 *fixed;
    // 1 / diagonal of each node, as the upper half of an f32.
    const u16 *inverse;
    // Class of each element in the order of the tiles, and E h of each class. Where elements differ in Poisson's ratio
    // a class has two numbers, μ h and λ / μ.
    const u8 *classes;
    const T *young;
    // Modulus of each element in the order of the tiles.
    const float *moduli;
    const T *x;
    T *y;
    const float *b;
    float *r;
    float *d;
    float *z;
    // One sum for each thread block.
    double *partial;
    // Forces in ascending order of their degrees of freedom.
    const Force *forces;
    u64 n_forces;
    // Factors of one smoothing step, or of two.
    float p;
    float s;
    float w;
    float w0;
    // Factor of `moduli`.
    T unit;
    u32 kind;
    // If 1, the result is added to z. For STORE, 1 means that x · y is summed.
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

// An element of level 1: its own places among 27, its position, and the mask of its eight voxels.
// Place x + 3 y + 9 z, in voxels, is its own if no other element has the finest node there. An element without
// octants has a stored matrix.
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

// A coarse level. Vectors have 3 n entries and room for the next multiple of four.
struct Level {
    // Right-hand side at first, then the residual of the conjugate gradients.
    float *residual;
    float *direction;
    float *product;
    float *solution;
    float *z;
    float *t;
    float *d;
    // 1 / diagonal, or 0 without stiffness. On the last level it is 1.
    const float *inverse;
    // First block of each row, (n + 1,). Null on level 1 and on the last level.
    const u32 *row_first;
    // Exponent e above COLUMN_BITS bits of the node number. Entries of the block are in units of 2^-e `unit`.
    const u32 *column;
    // The first eight entries of each block, row by row, and the ninth entry.
    const Eight *value;
    const short *ninth;
    // Nodes of each element, (n_elements, 8).
    const u32 *nodes;
    // Owner of each finer node: 32 × element + place, (n_finer,).
    const u32 *owner;
    // First entry of `gather` for each node, (n + 1,). An entry is 4 × finer node + k, with the weight 2^-k.
    const u32 *gather_first;
    const u32 *gather;
    u32 n;
    // The nodes that this device computes: first … end − 1. `first` is a multiple of four.
    u32 first;
    u32 end;
    // Steps of conjugate gradients.
    u32 steps;
    // Smoothing step 1 / λ.
    float step;
    // Unit of the block entries, a power of two.
    float unit;
    // Cost of a product with this level's matrix, in products of the finest level.
    double cost;
};
static_assert(sizeof(Level) == 160, "Level");
OFFSET_IS(Level, residual, 0); OFFSET_IS(Level, direction, 8); OFFSET_IS(Level, product, 16);
OFFSET_IS(Level, solution, 24); OFFSET_IS(Level, z, 32); OFFSET_IS(Level, t, 40); OFFSET_IS(Level, d, 48);
OFFSET_IS(Level, inverse, 56); OFFSET_IS(Level, row_first, 64); OFFSET_IS(Level, column, 72);
OFFSET_IS(Level, value, 80); OFFSET_IS(Level, ninth, 88); OFFSET_IS(Level, nodes, 96);
OFFSET_IS(Level, owner, 104); OFFSET_IS(Level, gather_first, 112); OFFSET_IS(Level, gather, 120);
OFFSET_IS(Level, n, 128); OFFSET_IS(Level, first, 132); OFFSET_IS(Level, end, 136);
OFFSET_IS(Level, steps, 140); OFFSET_IS(Level, step, 144); OFFSET_IS(Level, unit, 148);
OFFSET_IS(Level, cost, 152);

// The devices that compute together (devices.cuh). With one device all is 0.
struct Peers {
    // Partial sums of all thread blocks of all devices, (2, 3, n_blocks), on each device.
    double *partial[8];
    // On each device: the number of meetings that each device has come to, 0 at the start.
    u32 *met[8];
    u32 n_devices;
    // This device.
    u32 me;
    // The number of levels that all devices compute. The first device computes the others.
    u32 n_shared;
    // Thread blocks of all devices, and the first of this one.
    u32 n_blocks;
    u32 first_block;
    // Elements of level 1 of all devices.
    u32 n_elements;
    // Nodes of the finest level in the memory of this device: node_first … node_end − 1.
    u32 node_first;
    u32 node_end;
    // The tiles that hold them: tile_first … tile_last.
    u32 tile_first;
    u32 tile_last;
};
static_assert(sizeof(Peers) == 168, "Peers");
OFFSET_IS(Peers, partial, 0); OFFSET_IS(Peers, met, 64); OFFSET_IS(Peers, n_devices, 128);
OFFSET_IS(Peers, me, 132); OFFSET_IS(Peers, n_shared, 136); OFFSET_IS(Peers, n_blocks, 140);
OFFSET_IS(Peers, first_block, 144); OFFSET_IS(Peers, n_elements, 148); OFFSET_IS(Peers, node_first, 152);
OFFSET_IS(Peers, node_end, 156); OFFSET_IS(Peers, tile_first, 160); OFFSET_IS(Peers, tile_last, 164);

// Data of a coarse-grid correction.
struct Tables {
    Level levels[24];
    // Inverse of the last level's matrix, (3 n, 3 n), or null.
    const float *bottom;
    const float *fine_residual;
    float *fine_z;
    // Fixed degrees of freedom of the finest level, (n_fixed,).
    const u32 *fixed;
    // First voxel of each element of level 1, or the number of its matrix.
    const u32 *child;
    const Cell *cells;
    // Stored matrices of some elements of level 1, (…, 24, 24), as their lower triangles, (…, 300).
    const float *own;
    const Tile *tiles;
    const Plane *planes;
    // Class of each voxel, or null if all voxels have the first class.
    const u8 *material;
    // E h of each class. Where elements differ in Poisson's ratio a class has two numbers, λ h and μ h.
    const float *young;
    // Modulus of each voxel, or null.
    const float *modulus;
    // Partial sums, (2, 3, thread blocks).
    double *partial;
    // Numbers of arrivals at barriers of this device, and at those of all devices; 0 at the start.
    u32 *arrived;
    // Products up to now, in products of the finest level.
    double *work;
    // Square of the relative residual at which the conjugate gradients stop.
    double tolerance;
    float modulus_unit;
    u32 n_levels;
    u32 degree;
    u32 n_fixed;
    // Number of tiles along x.
    u32 n_tiles;
    // First element of each colour on level 1, of those with a node that this device computes. Elements of one colour
    // share no node.
    u32 colour_first[9];
    Peers peers;
};
static_assert(sizeof(Tables) == 4192, "Tables");
OFFSET_IS(Tables, levels, 0); OFFSET_IS(Tables, bottom, 3840); OFFSET_IS(Tables, fine_residual, 3848);
OFFSET_IS(Tables, fine_z, 3856); OFFSET_IS(Tables, fixed, 3864); OFFSET_IS(Tables, child, 3872);
OFFSET_IS(Tables, cells, 3880); OFFSET_IS(Tables, own, 3888); OFFSET_IS(Tables, tiles, 3896);
OFFSET_IS(Tables, planes, 3904); OFFSET_IS(Tables, material, 3912); OFFSET_IS(Tables, young, 3920);
OFFSET_IS(Tables, modulus, 3928); OFFSET_IS(Tables, partial, 3936); OFFSET_IS(Tables, arrived, 3944);
OFFSET_IS(Tables, work, 3952); OFFSET_IS(Tables, tolerance, 3960); OFFSET_IS(Tables, modulus_unit, 3968);
OFFSET_IS(Tables, n_levels, 3972); OFFSET_IS(Tables, degree, 3976); OFFSET_IS(Tables, n_fixed, 3980);
OFFSET_IS(Tables, n_tiles, 3984); OFFSET_IS(Tables, colour_first, 3988); OFFSET_IS(Tables, peers, 4024);
