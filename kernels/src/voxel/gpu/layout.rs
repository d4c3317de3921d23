//! The layouts that the kernels of voxel statics share with the host. The header `layout.cuh` is generated from them.

use crate::device::layout::{In, Out, layouts};

layouts! {
    header "voxel/gpu/layout.cuh", numbers template;

    constants {
        /// Threads and warps of a thread block on the finest level.
        THREADS: u32 = 256;
        N_WARPS: u32 = THREADS / 32;
        /// Bit of `Word::element_at`: a degree of freedom of this plane of the tile is fixed.
        HAS_FIXED: u32 = 1 << 31;
        /// Maximum number of planes of a stretch. The shared memory then suffices for three thread blocks per
        /// multiprocessor, or for two in f64. The cases are: elements with their own moduli, kernels in f32, two
        /// smoothing steps, kernels in f64.
        LONGEST_MODULI: u32 = 96;
        LONGEST_SINGLE: u32 = 176;
        LONGEST_PAIR: u32 = 133;
        LONGEST_DOUBLE: u32 = 120;
        /// Empty planes before and after a stretch, so that no kernel has to test where the stretch ends. AFTER
        /// includes the planes that are fetched in advance.
        BEFORE: u32 = 3;
        AFTER: u32 = 8;
        /// Values of `Params::kind`. E h is the same everywhere, or each element has a class with its E h, or each
        /// element has its own modulus.
        ONE: u32 = 0;
        CLASSES: u32 = 1;
        EACH_ELEMENT: u32 = 2;
        /// Maximum number of coarse levels.
        MAX_LEVELS: u32 = 24;
        /// Bit of `Cell::places`: the element is one of another device, and has nodes of this one.
        OF_ANOTHER: u32 = 1 << 31;
        /// Most devices that compute one model.
        MOST_DEVICES: u32 = 8;
        /// What ranks read of a level's nodes in the memory of others: in products on that level, in restriction to the next, and in
        /// prolongation to the finer one. List `N_LISTS` l + k has those of kind k on level l.
        IN_PRODUCTS: u32 = 0;
        IN_RESTRICTION: u32 = 1;
        IN_PROLONGATION: u32 = 2;
        N_LISTS: u32 = 3;
        /// In place of a list: no rank reads nodes of others.
        NOBODY: u32 = 0x7fff_ffff;
        /// Bit of a call: the ranks also exchange sums.
        SUMMED: u32 = 1 << 31;
        /// Answer to a call after which no more are answered.
        GIVEN_UP: u32 = 0xffff_ffff;
        /// Bits of a node number in `Level::column`.
        COLUMN_BITS: u32 = 27;
        /// Indices of the scalars of the outer conjugate gradients, in f64.
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
        /// Eight entries of a block of a level's matrix.
        Eight;
    }

    /// The part of a plane of a tile that one warp computes. Bit 8 y + x stands for column (x, y) of its 8 × 4 columns.
    /// Columns 0 of a tile hold no nodes of the tile.
    struct Word align(16) {
        nodes: u32,
        /// Elements between this plane and the next, at columns (x, y) … (x + 1, y + 1).
        elements: u32,
        /// Number of the first node.
        node_at: u32,
        /// Number of the first element in the order of the tiles, and the bit HAS_FIXED.
        element_at: u32,
    }

    /// A plane of a tile. There is an empty plane before the first and after the last plane of each tile, and two
    /// before all others.
    struct Plane align(16) {
        word: [Word; N_WARPS as usize],
        /// First node of the halo in the list `halo`.
        halo_at: u32,
        /// Bits of the existing nodes among the 64 around the tile's 15 × 15.
        halo: [u32; 2],
        /// Row in the table of fixed degrees of freedom, counted from 1, or 0 for none.
        fixed: u32,
    }

    /// The work of one thread block: planes at … at + n − 1 of its tile.
    struct Stretch {
        at: u32,
        n: u32,
    }

    /// First plane of a tile, and its z coordinate.
    struct Tile {
        plane: u32,
        z: i32,
    }

    /// Stiffness of a cube in the basis of the Walsh-Hadamard transform (cube.rs). It includes E h if that is the same
    /// everywhere. Block s couples the transform entries q of all components a with q ^ 1 << a = s. Where elements differ in
    /// Poisson's ratio, `volume` and `across` are those for λ = 1 and μ = 0, the others those for λ = 0 and μ = 1.
    struct Stiffness<T> {
        /// Block s = 0: stretch I + volume 1 1ᵀ.
        stretch: T,
        volume: T,
        /// Block s = 7, of the same form.
        hourglass: T,
        coupling: T,
        /// Blocks s = 1, 2, 4: diagonal and off-diagonal entries.
        bend: T,
        across: T,
        /// Blocks s = 3, 5, 6: the four equal entries, and the entry of the third component.
        shear: T,
        last: T,
    }

    /// A force on a degree of freedom.
    struct Force {
        dof: u64,
        value: f64,
    }

    /// Parameters of a launch on the finest level.
    struct Params<T> {
        k: Stiffness<T>,
        planes: In<Plane>,
        stretches: In<Stretch>,
        /// Numbers of the halo nodes, which belong to other tiles.
        halo: In<u32>,
        /// Bits of the fixed degrees of freedom, (…, N_WARPS, 3).
        fixed: In<u32>,
        /// 1 / diagonal of each node, as the upper half of an f32.
        inverse: In<u16>,
        /// Class of each element in the order of the tiles, and E h of each class. Where elements differ in Poisson's ratio
        /// a class has two numbers, μ h and λ / μ.
        classes: In<u8>,
        young: In<T>,
        /// Modulus of each element in the order of the tiles.
        moduli: In<f32>,
        x: In<T>,
        y: Out<T>,
        b: In<f32>,
        r: Out<f32>,
        d: Out<f32>,
        z: Out<f32>,
        /// One sum for each thread block.
        partial: Out<f64>,
        /// Forces in ascending order of their degrees of freedom.
        forces: In<Force>,
        n_forces: u64,
        /// Factors of one smoothing step, or of two.
        p: f32,
        s: f32,
        w: f32,
        w0: f32,
        /// Factor of `moduli`.
        unit: T,
        kind: u32,
        /// If 1, the result is added to z. For STORE, 1 means that x · y is summed.
        add: u32,
    }

    /// An element of level 1: its own places among 27, its position, and the mask of its eight voxels.
    /// Place x + 3 y + 9 z, in voxels, is its own if no other element has the finest node there. An element without
    /// octants has a stored matrix.
    struct Cell {
        places: u32,
        x: u16,
        y: u16,
        z: u16,
        octants: u16,
    }

    /// A coarse level. Vectors have 3 n entries and room for the next multiple of four.
    struct Level {
        /// Right-hand side at first, then the residual of the conjugate gradients.
        residual: Out<f32>,
        direction: Out<f32>,
        product: Out<f32>,
        solution: Out<f32>,
        z: Out<f32>,
        t: Out<f32>,
        d: Out<f32>,
        /// 1 / diagonal, or 0 without stiffness. On the last level it is 1.
        inverse: In<f32>,
        /// First block of each row, (n + 1,). Null on level 1 and on the last level.
        row_first: In<u32>,
        /// Exponent e above COLUMN_BITS bits of the node number. Entries of the block are in units of 2^-e `unit`.
        column: In<u32>,
        /// The first eight entries of each block, row by row, and the ninth entry.
        value: In<Eight>,
        ninth: In<i16>,
        /// Nodes of each element, (n_elements, 8).
        nodes: In<u32>,
        /// Owner of each finer node: 32 × element + place, (n_finer,).
        owner: In<u32>,
        /// First entry of `gather` for each node, (n + 1,). An entry is 4 × finer node + k, with the weight 2^-k.
        gather_first: In<u32>,
        gather: In<u32>,
        n: u32,
        /// The nodes that this device computes: first … end − 1. `first` is a multiple of four.
        first: u32,
        end: u32,
        /// Steps of conjugate gradients.
        steps: u32,
        /// Smoothing step 1 / λ.
        step: f32,
        /// Unit of the block entries, a power of two.
        unit: f32,
        /// Cost of a product with this level's matrix, in products of the finest level.
        cost: f64,
    }

    /// Nodes of which a rank sends the numbers to others, rank by rank, and those that it receives.
    struct Letter {
        sent: In<u32>,
        received: In<u32>,
        n_sent: u32,
        n_received: u32,
    }

    /// How ranks exchange that do not reach each other's memory: a kernel writes what leaves into the memory of the host, calls
    /// the host, and waits for its answer.
    struct Post {
        /// One for each list, or null where devices reach each other's memory.
        letters: In<Letter>,
        /// In the host's memory: the numbers of a letter, and the sums of the thread blocks of this rank, (3, its thread blocks).
        outgoing: Out<f32>,
        own_sums: Out<f64>,
        /// In the host's memory: what has come, and the sums of the thread blocks of all ranks, (3, n_blocks).
        incoming: In<f32>,
        all_sums: In<f64>,
        /// In the host's memory: the number of calls, and what this one is for: a list with the bit `SUMMED`.
        calls: Out<u32>,
        /// In the host's memory: the number of calls that were answered.
        answered: In<u32>,
    }

    /// The devices that compute together (devices.cuh). With one device all is 0.
    struct Peers {
        /// Partial sums of all thread blocks of all devices, (2, 3, n_blocks), on each device; by messages first on this one.
        partial: [Out<f64>; MOST_DEVICES as usize],
        /// On each device: the number of meetings that each device has come to, 0 at the start.
        met: [Out<u32>; MOST_DEVICES as usize],
        n_devices: u32,
        /// This device.
        me: u32,
        /// The number of levels that all devices compute. The first device computes the others.
        n_shared: u32,
        /// Thread blocks of all devices, and the first of this one.
        n_blocks: u32,
        first_block: u32,
        /// Elements of level 1 of all devices.
        n_elements: u32,
        /// Nodes of the finest level in the memory of this device: node_first … node_end − 1.
        node_first: u32,
        node_end: u32,
        /// The tiles that hold them: tile_first … tile_last.
        tile_first: u32,
        tile_last: u32,
        post: Post,
    }

    /// Data of a coarse-grid correction.
    struct Tables {
        levels: [Level; MAX_LEVELS as usize],
        /// Inverse of the last level's matrix, (3 n, 3 n), or null.
        bottom: In<f32>,
        fine_residual: In<f32>,
        fine_z: Out<f32>,
        /// Fixed degrees of freedom of the finest level, (n_fixed,).
        fixed: In<u32>,
        /// First voxel of each element of level 1, or the number of its matrix.
        child: In<u32>,
        cells: In<Cell>,
        /// Stored matrices of some elements of level 1, (…, 24, 24), as their lower triangles, (…, 300).
        own: In<f32>,
        tiles: In<Tile>,
        planes: In<Plane>,
        /// Class of each voxel, or null if all voxels have the first class.
        material: In<u8>,
        /// E h of each class. Where elements differ in Poisson's ratio a class has two numbers, λ h and μ h.
        young: In<f32>,
        /// Modulus of each voxel, or null.
        modulus: In<f32>,
        /// Partial sums, (2, 3, thread blocks).
        partial: Out<f64>,
        /// Numbers of arrivals at barriers of this device, and at those of all devices; 0 at the start.
        arrived: Out<u32>,
        /// Products up to now, in products of the finest level.
        work: Out<f64>,
        /// Square of the relative residual at which the conjugate gradients stop.
        tolerance: f64,
        modulus_unit: f32,
        n_levels: u32,
        degree: u32,
        n_fixed: u32,
        /// Number of tiles along x.
        n_tiles: u32,
        /// First element of each colour on level 1, of those with a node that this device computes. Elements of one colour
        /// share no node.
        colour_first: [u32; 9],
        peers: Peers,
    }
}
