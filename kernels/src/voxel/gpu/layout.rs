//! What the kernels of voxel statics and the host share; `layout.cuh` is written from it.

use crate::device::layout::{In, Out, layouts};

layouts! {
    header "voxel/gpu/layout.cuh", numbers template;

    constants {
        /// Threads and warps of a thread block of the finest level.
        THREADS: u32 = 256;
        N_WARPS: u32 = THREADS / 32;
        /// In `Word::element_at`: some degree of freedom of this plane of the tile is fixed.
        HAS_FIXED: u32 = 1 << 31;
        /// Planes of a stretch, at most, as many as leave shared memory for three thread blocks a multiprocessor, in f64 for
        /// two: where elements have moduli; of kernels in f32; of two smoothing steps; in f64.
        LONGEST_MODULI: u32 = 96;
        LONGEST_SINGLE: u32 = 176;
        LONGEST_PAIR: u32 = 133;
        LONGEST_DOUBLE: u32 = 120;
        /// Empty planes before and after a stretch, so that nobody needs to ask where it ends; the latter and those ahead.
        BEFORE: u32 = 3;
        AFTER: u32 = 8;
        /// `Params::kind`: E h is the same everywhere, or that of each element's class, or each element has its own.
        ONE: u32 = 0;
        CLASSES: u32 = 1;
        EACH_ELEMENT: u32 = 2;
        /// Coarse levels, at most.
        MAX_LEVELS: u32 = 24;
        /// Bits of a node's number in `Level::column`.
        COLUMN_BITS: u32 = 27;
        /// Scalars of the outer conjugate gradients, f64.
        PR: u32 = 0;
        ZQ: u32 = 1;
        PQ: u32 = 2;
        RR: u32 = 4;
        ALPHA: u32 = 5;
        PQ_BEFORE: u32 = 6;
        WORK: u32 = 7;
        N_SCALARS: u32 = 8;
    }

    opaque {
        /// Eight numbers of a block of a level's matrix.
        Eight;
    }

    /// What a warp needs of a plane of a tile: bit 8 y + x of its 8 × 4 columns. Columns 0 have no nodes of the tile.
    struct Word align(16) {
        nodes: u32,
        /// Between this plane and the next, at (x, y) … (x + 1, y + 1).
        elements: u32,
        /// Number of the first node.
        node_at: u32,
        /// Number of the first element in the order of the tiles.
        element_at: u32,
    }

    /// A plane of a tile. An empty one stands before the first of a tile and after the last, and two before all.
    struct Plane align(16) {
        word: [Word; N_WARPS as usize],
        /// First of the halo's nodes in the list.
        halo_at: u32,
        /// Which nodes there are of the 64 round the tile's 15 × 15.
        halo: [u32; 2],
        /// Row of the table of fixed degrees of freedom, counted from 1; 0 for none.
        fixed: u32,
    }

    /// What a thread block does: planes at … at + n − 1 of its tile.
    struct Stretch {
        at: u32,
        n: u32,
    }

    /// First plane of a tile, and its z.
    struct Tile {
        plane: u32,
        z: i32,
    }

    /// Stiffness of a cube in the basis of the Walsh-Hadamard transform (cube.rs), E h in it if that is the same everywhere.
    struct Stiffness<T> {
        /// Of s = 0: stretch I + volume 1 1ᵀ.
        stretch: T,
        volume: T,
        /// Of s = 7, the same.
        hourglass: T,
        coupling: T,
        /// Of s = 1, 2, 4: on and off the diagonal.
        bend: T,
        across: T,
        /// Of s = 3, 5, 6: all four entries, and the single one.
        shear: T,
        last: T,
    }

    /// A force on a degree of freedom.
    struct Force {
        dof: u64,
        value: f64,
    }

    /// What a launch on the finest level is told.
    struct Params<T> {
        k: Stiffness<T>,
        planes: In<Plane>,
        stretches: In<Stretch>,
        /// Nodes of other tiles.
        halo: In<u32>,
        /// Bits, (…, N_WARPS, 3).
        fixed: In<u32>,
        /// 1 / diagonal of each node: the upper half of an f32.
        inverse: In<u16>,
        /// Classes of elements in the order of the tiles, and E h of each class.
        classes: In<u8>,
        young: In<T>,
        /// Moduli of elements in the order of the tiles.
        moduli: In<f32>,
        x: In<T>,
        y: Out<T>,
        b: In<f32>,
        r: Out<f32>,
        d: Out<f32>,
        z: Out<f32>,
        /// A sum of each thread block.
        partial: Out<f64>,
        /// Ascending by degree of freedom.
        forces: In<Force>,
        n_forces: u64,
        /// Factors of a smoothing step, or of two.
        p: f32,
        s: f32,
        w: f32,
        w0: f32,
        /// What `moduli` are multiplied with.
        unit: T,
        kind: u32,
        /// 1: z is added to; for STORE, x y is summed.
        add: u32,
    }

    /// An element of level 1: which of its 27 places, x + 3 y + 9 z in voxels, have nodes that no other element has; its
    /// position; which of its eight voxels are there. Without octants it has a matrix.
    struct Cell {
        places: u32,
        x: u16,
        y: u16,
        z: u16,
        octants: u16,
    }

    /// A coarse level. Vectors have 3 n numbers and room for a multiple of four.
    struct Level {
        /// Of the conjugate gradients; the right-hand side before.
        residual: Out<f32>,
        direction: Out<f32>,
        product: Out<f32>,
        solution: Out<f32>,
        z: Out<f32>,
        t: Out<f32>,
        d: Out<f32>,
        /// 1 / diagonal, 0 where there is no stiffness; of the bottom 1.
        inverse: In<f32>,
        /// Blocks of each row, (n + 1,); null on level 1 and the bottom.
        row_first: In<u32>,
        /// e above COLUMN_BITS, and the node: numbers of the block count 2^-e `unit`.
        column: In<u32>,
        /// All numbers of each block, row by row, but the last; and that.
        value: In<Eight>,
        ninth: In<i16>,
        /// Nodes of each element, (n_elements, 8).
        nodes: In<u32>,
        /// Of each finer node: 32 × element + place, (n_finer,).
        owner: In<u32>,
        /// Finer nodes that each node's values come from, (n + 1,): 4 × finer node + k, of weight 2^-k.
        gather_first: In<u32>,
        gather: In<u32>,
        n: u32,
        n_finer: u32,
        /// Steps of conjugate gradients.
        steps: u32,
        /// 1 / λ.
        step: f32,
        /// A power of two.
        unit: f32,
        reserved: u32,
        /// Cost of a product, in products of the finest level.
        cost: f64,
    }

    /// What a correction needs.
    struct Tables {
        levels: [Level; MAX_LEVELS as usize],
        /// Inverse of the last level's matrix, (3 n, 3 n), or null.
        bottom: In<f32>,
        fine_residual: In<f32>,
        fine_z: Out<f32>,
        /// Fixed degrees of freedom of the finest level, (n_fixed,).
        fixed: In<u32>,
        /// First voxel of each element of level 1, or its matrix.
        child: In<u32>,
        cells: In<Cell>,
        /// Matrices of some elements of level 1, (…, 24, 24): their lower triangles, (…, 300).
        own: In<f32>,
        tiles: In<Tile>,
        planes: In<Plane>,
        /// Class of each voxel, or null: all are of the first.
        material: In<u8>,
        /// E h of each class.
        young: In<f32>,
        /// Modulus of each voxel, or null.
        modulus: In<f32>,
        /// (2, 3, thread blocks).
        partial: Out<f64>,
        /// Arrivals at barriers, 0 at the start.
        arrived: Out<u32>,
        /// Products so far, in those of the finest level.
        work: Out<f64>,
        /// Square of the relative residual that ends conjugate gradients.
        tolerance: f64,
        modulus_unit: f32,
        n_levels: u32,
        degree: u32,
        n_fixed: u32,
        /// Tiles along x.
        n_tiles: u32,
        /// First of the elements of level 1 that share no node, colour by colour.
        colour_first: [u32; 9],
    }
}
