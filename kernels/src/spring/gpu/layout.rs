//! The layouts that the kernels of springs share with the host. The header `layout.cuh` is generated from them.
//!
//! Arrays with three components per particle are (3, len), component by component, or (len, 4) where they are `wide`.

use pogo_formats::spring::N_DIRECTIONS;

use crate::device::layout::{In, Out, layouts};
use crate::spring::law::Constants;

layouts! {
    header "spring/gpu/layout.cuh", numbers real;

    constants {
        /// Bit of a mask: the place has a particle. The bits below are directions.
        ACTIVE: u32 = 0x8000_0000;
        /// Number of directions to neighbours in a grid.
        DIRECTIONS: u32 = N_DIRECTIONS as u32;
        /// Threads of a thread block in most kernels.
        THREADS: u32 = 256;
        /// Places of a tile of `columns` along x and y.
        TILE_X: u32 = 32;
        TILE_Y: u32 = 16;
        /// Rows of a tile that one warp computes.
        WARP_ROWS: u32 = 4;
        /// Bytes of a tile in shared memory: four planes with the rim around the tile, and three planes without it.
        TILE_BYTES: u32 = 4 * (4 * 3 * (TILE_X + 8) * (TILE_Y + 2) + 3 * 3 * TILE_X * TILE_Y);
        /// Particles of a block of `lattice` and of `lattice_even`. The thread blocks of `lattice_even` have half as
        /// many threads.
        LATTICE_BLOCK: u32 = 256;
        EVEN_BLOCK: u32 = 512;
        /// Slots whose springs a thread of a resident kernel computes, and maximum number of halo particles that it
        /// fetches.
        SLOTS_OF_A_THREAD: u32 = 9;
        MOST_HALO: u32 = 4;
        /// Number of sums of `energies`: kinetic, elastic, gravity, work, dissipated energy, and three components of
        /// momentum.
        N_SUMS: u32 = crate::spring::energies::N_SUMS as u32;
        /// Values of `Special::kind`.
        FORCE: u32 = 0;
        SUPPORT: u32 = 1;
        /// What `edit` changes: masks, local ids or global ids.
        EDIT_MASK: u32 = 0;
        EDIT_LOCAL: u32 = 1;
        EDIT_GLOBAL: u32 = 2;
    }

    opaque {}

    /// Constants of a spring, as in `Constants` of the CPU: d, 1/L², (|d|² − L²)/L², k, c/L²Δt, and the maximum of w.
    struct Rule<T> {
        rest: [T; 3],
        inverse: T,
        offset: T,
        stiffness: T,
        damping: T,
        limit: T,
    }

    /// A force on one degree of freedom, or its prescribed motion. `index` is its position in the arrays.
    struct Special {
        index: u32,
        signal: u32,
        kind: u32,
        reserved: u32,
        value: f64,
    }

    /// Rest vector and 1/L² of a spring in a list without a grid.
    struct Rest<T> {
        d: [T; 3],
        inverse: T,
    }

    /// A spring that was added or removed. `clear` and `set` are bits of a mask, or `set` is the new id of an entry.
    struct Edit {
        at: u32,
        clear: u32,
        set: u32,
    }

    /// Parameters of a launch.
    struct Params<T> {
        /// Displacements, stored twice. Increments are stored twice if dampers read those of neighbours.
        u: [Out<T>; 2],
        du: [Out<T>; 2],
        /// Force of the dampers in the last step, or null if it is not needed.
        drag: Out<T>,
        mask: Out<u32>,
        material: In<u8>,
        rules: In<Rule<T>>,
        /// BΔt²/m for each place, or null if it is uniform.
        inertia: In<T>,
        /// Local ids, times the bytes of a particle in shared memory.
        ids: Out<u16>,
        /// Positions of the halo particles in shared memory, (tables, halo_most). If null, they are consecutive.
        place: In<u16>,
        global_ids: Out<u32>,
        /// First slot of each block.
        first: In<u32>,
        halo_first: In<u32>,
        halo: In<u32>,
        rest: In<Rest<T>>,
        classes: In<u16>,
        /// First entry in `specials` of each degree of freedom that has specials, and the first such degree of freedom
        /// of each particle.
        special_first: In<u32>,
        special_of: In<u32>,
        specials: In<Special>,
        /// For each degree of freedom that has specials: Δu_n, work, and the difference of its dissipated energy from
        /// that of a free one.
        last: Out<T>,
        work: Out<f64>,
        special_heat: Out<f64>,
        /// Energy dissipated by friction and dampers, one sum for each warp of the step kernel. Null if it is not
        /// followed.
        heat: Out<f64>,
        /// Signals, starting at the first row of the current stretch of steps, (rows, n_signals). The last three of
        /// each row are BΔt² g.
        signals: In<f64>,
        record: In<i32>,
        recording: Out<f64>,
        /// Positions of the monitors in the arrays.
        monitors: In<u32>,
        row: Out<u32>,
        /// Broken springs: row, both particles, 0.
        log: Out<[u32; 4]>,
        log_count: Out<u32>,
        /// Number of the particle at each place.
        particle: In<u32>,
        /// Displacements that the blocks of a resident kernel exchange, (2, n).
        exchange: Out<[u32; 4]>,
        /// Thread blocks of a step, and degrees of freedom in `special_first`, that a launch treats where this device has a
        /// part of the model. Null for all.
        list: In<u32>,
        special_list: In<u32>,
        /// Bit i: the particle of place i, or with lists particle i, is of this part. Null where all are.
        own: In<u32>,
        /// For columns: the next ticket, the number of thread blocks that have finished, and for each tile the number
        /// of its next step.
        tickets: Out<u32>,
        /// For columns: whether all springs along axes and face diagonals exist for TILE_X by WARP_ROWS places in plane
        /// z. This is bit z of (tiles, whole_words).
        whole: In<u32>,
        friction: [f64; 2],
        inertia_factor: f64,
        time_increment: f64,
        n_signals: u32,
        n_monitors: u32,
        n_specials: u32,
        n: u32,
        len: u32,
        row_length: u32,
        plane: u32,
        pad: u32,
        /// Particles of a block.
        block: u32,
        n_materials: u32,
        n_directions: u32,
        damped: u32,
        breaks: u32,
        /// Maximum number of particles of a halo, and of places in shared memory for a block and its halo.
        halo_most: u32,
        local_most: u32,
        wide: u32,
        /// Bytes of a particle in shared memory.
        id_bytes: u32,
        follow: u32,
        /// Number of planes in a tile of columns.
        depth: u32,
        whole_words: u32,
        size: [u32; 3],
        stride: [i32; N_DIRECTIONS],
        decay: T,
        uniform_inertia: T,
        rule: [Rule<T>; N_DIRECTIONS],
        /// k/L².
        pull: [T; N_DIRECTIONS],
    }
}

/// Places of a tile of `columns` along x and y, and rows of one of its warps.
pub(super) const TILE: [usize; 2] = [TILE_X as usize, TILE_Y as usize];
pub(super) const ROWS: usize = WARP_ROWS as usize;
/// Bytes of a particle in the shared memory of `lattice_even`.
pub(super) const WIDE: usize = 16;

impl<T> From<Constants<T>> for Rule<T> {
    fn from(of: Constants<T>) -> Self {
        let Constants { rest, inverse, offset, stiffness, damping, limit } = of;
        Self { rest, inverse, offset, stiffness, damping, limit }
    }
}
