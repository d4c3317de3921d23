//! Particles and springs.

use rkyv::{Archive, Archived, Deserialize, Serialize};

use super::lattice::{DIRECTIONS, N_DIRECTIONS, group_of_direction, material_of};
use crate::block::Table;
use crate::block::cast::native;
use crate::mesh::{NamedSet, NodeNames};

/// Entry of an unused slot in [`SpringLists::neighbour`].
pub const NO_NEIGHBOUR: u16 = u16::MAX;

/// Particles in solver order, and the springs between them.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq, Default)]
pub struct SpringMesh {
    /// Positions at rest, (n, 3), row-major; z = 0 for a deck in the plane.
    pub coordinates: Vec<f64>,
    /// User's labels, (n,); in a lattice 1 + place in the grid, x fastest.
    pub labels: Vec<u32>,
    /// Index into `instances`, (n,).
    pub instance: Vec<u16>,
    /// Instance names; one, the empty name, where there are no instances.
    pub instances: Vec<String>,
    /// Index into [`SpringSetup::materials`](super::SpringSetup::materials), (n,).
    pub material: Vec<u16>,
    /// Volume that belongs to each particle, (n,), or (1,) where it is the same for all.
    pub volume: Vec<f64>,
    /// Named sets of particles, by solver index.
    pub sets: Vec<NamedSet>,
    /// The grid of a lattice; none for a deck.
    pub grid: Option<SpringGrid>,
    /// Explicit addressing.
    pub lists: SpringLists,
}

/// Implicit addressing: every place of a grid, with or without a particle, x fastest.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq, Default)]
pub struct SpringGrid {
    /// Places along x, y, z.
    pub size: [u32; 3],
    /// Distance of neighbours along x, y, z.
    pub spacing: [f64; 3],
    /// Position of the first place.
    pub origin: [f64; 3],
    /// Mask of each place, (nx ny nz,): bits 0 to 25 say which neighbours a spring leads to (see
    /// [`DIRECTIONS`]), the bits from 26 on are the material plus one; 0 where there is no particle.
    pub mask: Vec<u32>,
    /// Place of each particle, (n,), by solver index.
    pub place: Vec<u32>,
}

/// Explicit addressing: lists of neighbours, stored vertically block by block.
///
/// Block b owns the particles b × `block_size` to (b + 1) × `block_size`, the last block perhaps fewer. The neighbour in
/// slot s of the i-th particle of the block is at `first[b]` + s × `block_size` + i. A *local id* below `block_size` is an own
/// particle of the block; from there on it counts the block's halo. A particle's used slots come first; the others hold
/// [`NO_NEIGHBOUR`]. In a lattice they follow the set bits of the particle's mask, from the lowest.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq, Default)]
pub struct SpringLists {
    /// Particles a block, a multiple of 32.
    pub block_size: u32,
    /// Where each block's slots begin in `neighbour`, (n_blocks + 1,): multiples of `block_size`.
    pub first: Vec<u64>,
    /// Local ids, slot after slot.
    pub neighbour: Vec<u16>,
    /// Group of each spring, laid out as `neighbour`: an index into [`SpringSetup::groups`](super::SpringSetup::groups). Empty
    /// in a lattice, where direction and materials say it.
    pub group: Vec<u16>,
    /// Springs of each particle, (n,).
    pub count: Vec<u16>,
    /// Mask of each particle of a lattice, (n,), as in the grid; empty for a deck.
    pub mask: Vec<u32>,
    /// Where each block's halo begins, (n_blocks + 1,).
    pub halo_first: Vec<u64>,
    /// Solver indices of particles of other blocks, ascending in each block.
    pub halo: Vec<u32>,
}

/// [`SpringMesh`] as slices.
#[derive(Debug, Clone)]
pub struct SpringMeshView<'a> {
    /// (n, 3).
    pub coordinates: &'a [f64],
    /// (n,).
    pub labels: &'a [u32],
    /// (n,).
    pub instance: &'a [u16],
    /// Instance names.
    pub instances: Vec<&'a str>,
    /// (n,).
    pub material: &'a [u16],
    /// (n,) or (1,).
    pub volume: &'a [f64],
    /// Sets of particles, by name.
    pub sets: Vec<(&'a str, &'a [u32])>,
    /// Implicit addressing, of a lattice.
    pub grid: Option<SpringGridView<'a>>,
    /// Explicit addressing.
    pub lists: SpringListsView<'a>,
}

/// [`SpringGrid`] as slices.
#[derive(Debug, Clone, Copy)]
pub struct SpringGridView<'a> {
    /// Places along x, y, z.
    pub size: [u32; 3],
    /// Distance of neighbours along x, y, z.
    pub spacing: [f64; 3],
    /// Position of the first place.
    pub origin: [f64; 3],
    /// (nx ny nz,).
    pub mask: &'a [u32],
    /// (n,).
    pub place: &'a [u32],
}

/// [`SpringLists`] as slices.
#[derive(Debug, Clone, Copy)]
pub struct SpringListsView<'a> {
    /// Particles a block.
    pub block_size: usize,
    /// (n_blocks + 1,).
    pub first: &'a [u64],
    /// Local ids.
    pub neighbour: &'a [u16],
    /// Group indices, or empty.
    pub group: &'a [u16],
    /// (n,).
    pub count: &'a [u16],
    /// (n,), or empty.
    pub mask: &'a [u32],
    /// (n_blocks + 1,).
    pub halo_first: &'a [u64],
    /// Solver indices.
    pub halo: &'a [u32],
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

impl SpringMesh {
    /// The mesh as slices.
    pub fn view(&self) -> SpringMeshView<'_> {
        SpringMeshView {
            coordinates: &self.coordinates,
            labels: &self.labels,
            instance: &self.instance,
            instances: self.instances.iter().map(String::as_str).collect(),
            material: &self.material,
            volume: &self.volume,
            sets: self.sets.iter().map(|set| (set.name.as_str(), set.members.as_slice())).collect(),
            grid: self.grid.as_ref().map(|grid| SpringGridView {
                size: grid.size,
                spacing: grid.spacing,
                origin: grid.origin,
                mask: &grid.mask,
                place: &grid.place,
            }),
            lists: SpringListsView {
                block_size: self.lists.block_size as usize,
                first: &self.lists.first,
                neighbour: &self.lists.neighbour,
                group: &self.lists.group,
                count: &self.lists.count,
                mask: &self.lists.mask,
                halo_first: &self.lists.halo_first,
                halo: &self.lists.halo,
            },
        }
    }
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

    /// The vectors to all neighbours.
    pub fn rest_vectors(&self) -> [[f64; 3]; N_DIRECTIONS] {
        std::array::from_fn(|direction| self.rest_vector(direction))
    }

    /// The material at a place; none where there is no particle.
    pub fn material(&self, place: usize) -> Option<u8> {
        material_of(self.mask[place])
    }
}

impl<'a> SpringListsView<'a> {
    /// Number of blocks.
    pub fn n_blocks(&self) -> usize {
        self.first.len() - 1
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

impl Table for SpringMesh {
    type View<'a> = SpringMeshView<'a>;

    fn view(&self) -> SpringMeshView<'_> {
        self.view()
    }

    fn archived(mesh: &Archived<Self>) -> SpringMeshView<'_> {
        let lists = &mesh.lists;
        SpringMeshView {
            coordinates: native(&mesh.coordinates),
            labels: native(&mesh.labels),
            instance: native(&mesh.instance),
            instances: mesh.instances.iter().map(|name| name.as_str()).collect(),
            material: native(&mesh.material),
            volume: native(&mesh.volume),
            sets: mesh.sets.iter().map(|set| (set.name.as_str(), native(&set.members))).collect(),
            grid: mesh.grid.as_ref().map(|grid| SpringGridView {
                size: grid.size.map(|n| n.to_native()),
                spacing: grid.spacing.map(|h| h.to_native()),
                origin: grid.origin.map(|x| x.to_native()),
                mask: native(&grid.mask),
                place: native(&grid.place),
            }),
            lists: SpringListsView {
                block_size: lists.block_size.to_native() as usize,
                first: native(&lists.first),
                neighbour: native(&lists.neighbour),
                group: native(&lists.group),
                count: native(&lists.count),
                mask: native(&lists.mask),
                halo_first: native(&lists.halo_first),
                halo: native(&lists.halo),
            },
        }
    }
}
