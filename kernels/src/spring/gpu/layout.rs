//! What the kernels of springs and the host share; `layout.cuh` is written from it.
//!
//! Numbers of particles are (3, len), component after component, or (len, 4) where they are `wide`.

use pogo_formats::spring::N_DIRECTIONS;

use crate::device::layout::{In, Out, layouts};
use crate::spring::law::Constants;

layouts! {
    header "spring/gpu/layout.cuh", numbers real;

    constants {
        /// In a mask: the place has a particle. The bits below are directions.
        ACTIVE: u32 = 0x8000_0000;
        /// Directions to neighbours in a grid.
        DIRECTIONS: u32 = N_DIRECTIONS as u32;
        /// Threads of a thread block of most kernels.
        THREADS: u32 = 256;
        /// Tile of `columns`: places along x and y.
        TILE_X: u32 = 32;
        TILE_Y: u32 = 16;
        /// Rows of a tile that a warp has.
        WARP_ROWS: u32 = 4;
        /// Bytes of a tile in shared memory: four planes with their rims, and three without.
        TILE_BYTES: u32 = 4 * (4 * 3 * (TILE_X + 8) * (TILE_Y + 2) + 3 * 3 * TILE_X * TILE_Y);
        /// Particles of a block of `lattice`, and of `lattice_even`, whose thread blocks have half as many threads.
        LATTICE_BLOCK: u32 = 256;
        EVEN_BLOCK: u32 = 512;
        /// Slots whose springs a thread of a resident kernel has, and halo particles that it may fetch.
        SLOTS_OF_A_THREAD: u32 = 9;
        MOST_HALO: u32 = 4;
        /// Sums of `energies`: kinetic, elastic, gravity, work, energy taken, momentum.
        N_SUMS: u32 = 8;
        /// Kinds of `Special`.
        FORCE: u32 = 0;
        SUPPORT: u32 = 1;
        /// What `edit` changes: masks, local ids or global ids.
        EDIT_MASK: u32 = 0;
        EDIT_LOCAL: u32 = 1;
        EDIT_GLOBAL: u32 = 2;
    }

    opaque {}

    /// Constants of a spring, as `Constants` of the CPU: d, 1/L², (|d|² − L²)/L², k, c/L²Δt, and the largest w.
    struct Rule<T> {
        rest: [T; 3],
        inverse: T,
        offset: T,
        stiffness: T,
        damping: T,
        limit: T,
    }

    /// A force on, or the motion of, one degree of freedom, by its place in the arrays.
    struct Special {
        index: u32,
        signal: u32,
        kind: u32,
        reserved: u32,
        value: f64,
    }

    /// Rest vector and 1/L² of a spring of a list without a grid.
    struct Rest<T> {
        d: [T; 3],
        inverse: T,
    }

    /// A spring that came or went: `clear` and `set` are bits of a mask, or `set` is the id of an entry.
    struct Edit {
        at: u32,
        clear: u32,
        set: u32,
    }

    /// What a launch is told.
    struct Params<T> {
        /// Displacements, doubled; increments, doubled where dampers read those of neighbours.
        u: [Out<T>; 2],
        du: [Out<T>; 2],
        /// Force of dampers of the last step, or null where nobody reads it.
        drag: Out<T>,
        mask: Out<u32>,
        material: In<u8>,
        rules: In<Rule<T>>,
        /// BΔt²/m, one a place, or null where it is uniform.
        inertia: In<T>,
        /// Local ids, times the bytes of a particle in shared memory.
        ids: Out<u16>,
        /// Places of the halo's particles in shared memory, (tables, halo_most), or null: one behind the other.
        place: In<u16>,
        global_ids: Out<u32>,
        /// First slot of each block.
        first: In<u32>,
        halo_first: In<u32>,
        halo: In<u32>,
        rest: In<Rest<T>>,
        classes: In<u16>,
        /// First entry of `specials` of each degree of freedom that has any, and the first of these of each particle.
        special_first: In<u32>,
        special_of: In<u32>,
        specials: In<Special>,
        /// Of each degree of freedom that has any: Δu_n, work, and by what the energy taken differs from that of a free one.
        last: Out<T>,
        work: Out<f64>,
        special_heat: Out<f64>,
        /// Energy taken by friction and dampers, a sum a warp of the steps' kernel, or null where it is not followed.
        heat: Out<f64>,
        /// Signals from the first row of the stretch on, and BΔt² g behind each row, (rows, n_signals).
        signals: In<f64>,
        record: In<i32>,
        recording: Out<f64>,
        /// Places of the monitors in the arrays.
        monitors: In<u32>,
        row: Out<u32>,
        /// Springs that broke: row, both particles, 0.
        log: Out<[u32; 4]>,
        log_count: Out<u32>,
        /// Particle of each place.
        particle: In<u32>,
        /// Displacements that the blocks of a resident kernel hand each other, (2, n).
        exchange: Out<[u32; 4]>,
        /// Of columns: the next ticket, thread blocks that have finished, and the number of the step after each tile's last.
        tickets: Out<u32>,
        /// Of columns: whether TILE_X by WARP_ROWS places in a plane have all springs along axes and face diagonals, bit z of
        /// (tiles, whole_words).
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
        /// Most particles of a halo, and most places of a block and its halo in shared memory.
        halo_most: u32,
        local_most: u32,
        wide: u32,
        /// Bytes of a particle in shared memory.
        id_bytes: u32,
        follow: u32,
        /// Planes that a thread block of columns marches.
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
