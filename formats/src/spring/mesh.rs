//! Particles and springs.

use super::lattice::{DIRECTIONS, group_of_direction, material_of};
use crate::block::{Counts, Vector, tables};
use crate::mesh::{NamedSet, NodeNames};

/// Entry of an unused slot in [`SpringLists::neighbour`].
pub const NO_NEIGHBOUR: u16 = u16::MAX;

tables! {
    /// Particles in solver order, and the springs between them.
    #[derive(Default)]
    pub struct SpringMesh, SpringMeshView as mesh {
        /// Positions at rest, (n, 3), row-major; z = 0 for a deck in the plane.
        pub coordinates: Vec<f64> [entries(3 * mesh.n_particles()), all_finite()],
        /// User's labels, (n,); in a lattice 1 + place in the grid, x fastest.
        pub labels: Vec<u32>,
        /// Index into `instances`, (n,).
        pub instance: Vec<u16> [entries(mesh.n_particles()), all_below(mesh.instances.len())],
        /// Instance names; one, the empty name, where there are no instances.
        pub instances: Vec<String>,
        /// Index into [`SpringSetup::materials`](super::SpringSetup::materials), (n,).
        pub material: Vec<u16> [entries(mesh.n_particles())],
        /// Volume that belongs to each particle, (n,), or (1,) where it is the same for all.
        pub volume: Vec<f64>,
        /// Named sets of particles, by solver index.
        pub sets: Vec<NamedSet>,
        /// The grid of a lattice; none for a deck.
        pub grid: Option<SpringGrid> as SpringGridView,
        /// Explicit addressing.
        pub lists: SpringLists as SpringListsView,
    }

    /// Implicit addressing: every place of a grid, with or without a particle, x fastest.
    #[derive(Default)]
    pub struct SpringGrid, #[derive(Copy)] SpringGridView as grid {
        /// Places along x, y, z.
        pub size: Counts,
        /// Distance of neighbours along x, y, z.
        pub spacing: Vector,
        /// Position of the first place.
        pub origin: Vector,
        /// Mask of each place, (nx ny nz,): bits 0 to 25 say which neighbours a spring leads to (see
        /// [`DIRECTIONS`]), the bits from 26 on are the material plus one; 0 where there is no particle.
        pub mask: Vec<u32>,
        /// Place of each particle, (n,), by solver index.
        pub place: Vec<u32> [all_below(grid.n_places())],
    }

    /// Explicit addressing: lists of neighbours, stored vertically block by block.
    ///
    /// Block b owns the particles b × `block_size` to (b + 1) × `block_size`, the last block perhaps fewer. The neighbour in
    /// slot s of the i-th particle of the block is at `first[b]` + s × `block_size` + i. A *local id* below `block_size` is an own
    /// particle of the block; from there on it counts the block's halo. A particle's used slots come first; the others hold
    /// [`NO_NEIGHBOUR`]. In a lattice they follow the set bits of the particle's mask, from the lowest.
    #[derive(Default)]
    pub struct SpringLists, #[derive(Copy)] SpringListsView as lists {
        /// Particles a block, a multiple of 32.
        pub block_size: u32,
        /// Where each block's slots begin in `neighbour`, (n_blocks + 1,): multiples of `block_size`.
        pub first: Vec<u64> [offsets(lists.n_blocks(), lists.neighbour.len())],
        /// Local ids, slot after slot.
        pub neighbour: Vec<u16>,
        /// Group of each spring, laid out as `neighbour`: an index into [`SpringSetup::groups`](super::SpringSetup::groups). Empty
        /// in a lattice, where direction and materials say it.
        pub group: Vec<u16> [entries_or_none(lists.neighbour.len())],
        /// Springs of each particle, (n,).
        pub count: Vec<u16>,
        /// Mask of each particle of a lattice, (n,), as in the grid; empty for a deck.
        pub mask: Vec<u32> [entries_or_none(lists.count.len())],
        /// Where each block's halo begins, (n_blocks + 1,).
        pub halo_first: Vec<u64> [offsets(lists.n_blocks(), lists.halo.len())],
        /// Solver indices of particles of other blocks, ascending in each block.
        pub halo: Vec<u32> [all_below(lists.count.len())],
    }
}

/// One end of a spring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpringEnd {
    /// The other particle, solver index.
    pub other: u32,
    /// Index into [`SpringSetup::groups`](super::SpringSetup::groups); of a lattice's spring, the group of this end's material.
    pub group: u32,
    /// Bit of the mask that leads there; `None` for a deck.
    pub direction: Option<u8>,
}

impl SpringMeshView<'_> {
    /// Labels and instances of the particles.
    pub fn particle_names(&self) -> NodeNames<'_> {
        NodeNames { labels: self.labels, instance: self.instance, instances: &self.instances }
    }

    /// Number of particles.
    pub fn n_particles(&self) -> usize {
        self.labels.len()
    }

    /// Number of springs, each counted once.
    pub fn n_springs(&self) -> usize {
        self.lists.count.iter().map(|&count| usize::from(count)).sum::<usize>() / 2
    }

    /// Position at rest of a particle.
    pub fn position(&self, particle: usize) -> [f64; 3] {
        std::array::from_fn(|c| self.coordinates[3 * particle + c])
    }

    /// Volume that belongs to a particle.
    pub fn volume_of(&self, particle: usize) -> f64 {
        self.volume[if self.volume.len() == 1 { 0 } else { particle }]
    }

    /// Each spring once, from its lower particle: both particles and the group.
    pub fn each_spring(&self) -> impl Iterator<Item = (u32, u32, u32)> {
        (0..self.n_particles()).flat_map(move |particle| {
            let springs = self.springs(particle).filter(move |spring| spring.other as usize > particle);
            springs.map(move |spring| (particle as u32, spring.other, spring.group))
        })
    }

    /// Springs at a particle, in the order in which their forces are summed.
    pub fn springs(&self, particle: usize) -> impl Iterator<Item = SpringEnd> {
        let lists = self.lists;
        let (block, at) = (particle / lists.block_size, particle % lists.block_size);
        let first = lists.first[block] as usize + at;
        let mut left = if lists.mask.is_empty() { 0 } else { lists.mask[particle] };
        let material = usize::from(self.material[particle]);
        (0..usize::from(lists.count[particle])).map(move |slot| {
            let entry = first + slot * lists.block_size;
            let other = lists.particle(block, lists.neighbour[entry]);
            if lists.mask.is_empty() {
                return SpringEnd { other, group: u32::from(lists.group[entry]), direction: None };
            }
            let direction = left.trailing_zeros() as usize;
            left &= left.wrapping_sub(1);
            let group = 3 * material as u32 + group_of_direction(direction) as u32;
            SpringEnd { other, group, direction: Some(direction as u8) }
        })
    }

    /// From a particle to the other end of one of its springs, at rest. In a lattice a multiple of the spacing, not a difference
    /// of positions: both addressings have the same bits.
    pub fn rest_vector(&self, particle: usize, spring: &SpringEnd) -> [f64; 3] {
        match (self.grid, spring.direction) {
            (Some(grid), Some(direction)) => grid.rest_vector(usize::from(direction)),
            _ => {
                let (from, to) = (self.position(particle), self.position(spring.other as usize));
                std::array::from_fn(|c| to[c] - from[c])
            }
        }
    }
}

impl SpringGridView<'_> {
    /// Number of places.
    pub fn n_places(&self) -> usize {
        self.mask.len()
    }

    /// Step in `mask` to the neighbour at a bit.
    pub fn stride(&self, direction: usize) -> isize {
        let step = DIRECTIONS[direction].map(|s| s as isize);
        step[0] + self.size[0] as isize * (step[1] + self.size[1] as isize * step[2])
    }

    /// Vector to the neighbour at a bit, at rest.
    pub fn rest_vector(&self, direction: usize) -> [f64; 3] {
        std::array::from_fn(|c| f64::from(DIRECTIONS[direction][c]) * self.spacing[c])
    }

    /// The material at a place; none where there is no particle.
    pub fn material(&self, place: usize) -> Option<u8> {
        material_of(self.mask[place])
    }
}

impl<'a> SpringListsView<'a> {
    /// Number of blocks.
    pub fn n_blocks(&self) -> usize {
        self.first.len().saturating_sub(1)
    }

    /// Slots of a block.
    pub fn n_slots(&self, block: usize) -> usize {
        (self.first[block + 1] - self.first[block]) as usize / self.block_size
    }

    /// Halo of a block.
    pub fn halo(&self, block: usize) -> &'a [u32] {
        &self.halo[self.halo_first[block] as usize..self.halo_first[block + 1] as usize]
    }

    /// Solver index of a local id.
    pub fn particle(&self, block: usize, local: u16) -> u32 {
        let local = usize::from(local);
        match local.checked_sub(self.block_size) {
            None => (block * self.block_size + local) as u32,
            Some(entry) => self.halo[self.halo_first[block] as usize + entry],
        }
    }
}
