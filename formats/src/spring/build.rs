//! From a grid of materials, or from pairs of particles, to a [`SpringMesh`].

use std::io::ErrorKind;
use std::sync::atomic::{AtomicU32, Ordering};

use super::{
    DIRECTION_BITS, DIRECTIONS, MATERIAL_SHIFT, MAX_MATERIALS, N_DIRECTIONS, NO_NEIGHBOUR, SpringGrid, SpringLists,
    SpringMesh, group_of_direction,
};
use crate::memory::filled;
use crate::system::parallel;
use crate::system::parallel::iterate::*;
use crate::voxel::morton_code;

/// Particles a block where nothing else is said: 8 × 8 × 8 places of a full lattice.
pub const BLOCK_SIZE: usize = 512;

/// Why a mesh cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// More than can be numbered.
    #[error("{found} {what}: at most {limit} can be numbered")]
    TooMany {
        /// What.
        what: &'static str,
        /// How many there are.
        found: usize,
        /// How many there may be.
        limit: usize,
    },
    /// A block and its halo have more particles than a 16-bit id can name.
    #[error(
        "a block of {size} particles has {halo} more around it, beyond the 65,534 of 16-bit ids: choose smaller blocks"
    )]
    Halo {
        /// Particles a block.
        size: usize,
        /// Its halo.
        halo: usize,
    },
    /// Nothing to make a model of.
    #[error("no particle")]
    Empty,
    /// Memory.
    #[error("not enough memory")]
    Memory,
}

impl From<std::collections::TryReserveError> for BuildError {
    fn from(_: std::collections::TryReserveError) -> Self {
        Self::Memory
    }
}

impl From<BuildError> for std::io::Error {
    fn from(error: BuildError) -> Self {
        let kind = if error == BuildError::Memory { ErrorKind::OutOfMemory } else { ErrorKind::InvalidInput };
        Self::new(kind, error.to_string())
    }
}

/// A lattice to make a mesh of.
#[derive(Debug, Clone)]
pub struct Lattice<'a> {
    /// Places along x, y, z.
    pub size: [usize; 3],
    /// Distance of neighbours.
    pub spacing: [f64; 3],
    /// Position of the first place.
    pub origin: [f64; 3],
    /// Material plus one of each place, x fastest; 0 where there is no particle.
    pub material: &'a [u8],
    /// Which groups (axis, face, space) each material has springs in; a spring needs both its ends to have it.
    pub has_springs: &'a [[bool; 3]],
    /// Volume of a particle.
    pub volume: f64,
    /// Particles a block, a multiple of 32.
    pub block_size: usize,
}

/// Particles in Morton order, masks and lists. Sets are left to the caller.
///
/// # Errors
/// No particle, too many, too many materials, or no memory.
///
/// # Panics
/// If `material` has another length than the grid, or a block size is no multiple of 32.
pub fn lattice(lattice: &Lattice) -> Result<SpringMesh, BuildError> {
    let Lattice { size, spacing, origin, material, has_springs, volume, block_size } = *lattice;
    let n_places = size.iter().product::<usize>();
    assert_eq!(material.len(), n_places, "a material for each place");
    too_many("places of the grid", n_places, u32::MAX as usize - 1)?;
    too_many("places along an axis", size.into_iter().max().unwrap_or(0), (1 << 21) - 1)?;
    too_many("materials", has_springs.len(), MAX_MATERIALS)?;
    let allowed: Vec<u32> = has_springs
        .iter()
        .map(|has| (0..N_DIRECTIONS).filter(|&d| has[group_of_direction(d) as usize]).fold(0, |bits, d| bits | 1 << d))
        .collect();
    let at = |place: usize| [place % size[0], place / size[0] % size[1], place / size[0] / size[1]];
    let mut mask: Vec<u32> = Vec::new();
    mask.try_reserve_exact(n_places)?;
    let one = |place: usize| {
        let Some(own) = material[place].checked_sub(1) else { return 0 };
        let position = at(place).map(|p| p as i64);
        let mut bits = u32::from(own + 1) << MATERIAL_SHIFT;
        for (d, step) in DIRECTIONS.iter().enumerate() {
            let q: [i64; 3] = std::array::from_fn(|c| position[c] + i64::from(step[c]));
            if (0..3).any(|c| q[c] < 0 || q[c] >= size[c] as i64) {
                continue;
            }
            let there = (q[0] + size[0] as i64 * (q[1] + size[1] as i64 * q[2])) as usize;
            let both = material[there]
                .checked_sub(1)
                .map_or(0, |other| allowed[usize::from(own)] & allowed[usize::from(other)]);
            bits |= both & 1 << d;
        }
        bits
    };
    mask.par_extend((0..n_places).into_par_iter().map(one));

    let mut order: Vec<(u64, u32)> = (0..n_places)
        .into_par_iter()
        .filter(|&place| mask[place] != 0)
        .map(|place| (morton_code(at(place).map(|p| p as u32)), place as u32))
        .collect();
    if order.is_empty() {
        return Err(BuildError::Empty);
    }
    order.par_sort_unstable();
    let place: Vec<u32> = order.into_par_iter().map(|(_, place)| place).collect();
    let n = place.len();
    let mut particle_at = Vec::new();
    particle_at.try_reserve_exact(n_places)?;
    particle_at.par_extend((0..n_places).into_par_iter().map(|_| AtomicU32::new(u32::MAX)));
    place.par_iter().enumerate().for_each(|(particle, &place)| {
        particle_at[place as usize].store(particle as u32, Ordering::Relaxed);
    });
    let grid = SpringGrid { size: size.map(|m| m as u32), spacing, origin, mask, place };
    let stride: [i64; N_DIRECTIONS] = std::array::from_fn(|d| {
        let [x, y, z] = DIRECTIONS[d].map(i64::from);
        x + size[0] as i64 * (y + size[1] as i64 * z)
    });
    let neighbours = |particle: usize, out: &mut Vec<(u32, u16)>| {
        let place = grid.place[particle];
        let mut left = grid.mask[place as usize] & DIRECTION_BITS;
        while left != 0 {
            let d = left.trailing_zeros() as usize;
            left &= left - 1;
            out.push((particle_at[(i64::from(place) + stride[d]) as usize].load(Ordering::Relaxed), 0));
        }
    };
    let mut lists = lists(n, block_size, false, neighbours)?;
    lists.mask = grid.place.par_iter().map(|&place| grid.mask[place as usize]).collect();
    drop(particle_at);
    let mut positions: Vec<[f64; 3]> = Vec::new();
    positions.try_reserve_exact(n)?;
    positions.par_extend(grid.place.par_iter().map(|&place| {
        let p = at(place as usize);
        std::array::from_fn(|c| origin[c] + spacing[c] * p[c] as f64)
    }));
    Ok(SpringMesh {
        coordinates: positions.into_flattened(),
        labels: grid.place.par_iter().map(|&place| place + 1).collect(),
        instance: vec![0; n],
        instances: vec![String::new()],
        material: grid.place.par_iter().map(|&place| u16::from(material[place as usize] - 1)).collect(),
        volume: vec![volume],
        sets: Vec::new(),
        grid: Some(grid),
        lists,
    })
}

fn too_many(what: &'static str, found: usize, limit: usize) -> Result<(), BuildError> {
    if found <= limit { Ok(()) } else { Err(BuildError::TooMany { what, found, limit }) }
}

/// Lists of a model whose particles are in solver order. `neighbours` appends the other ends of a particle's springs, each
/// with its group, in the order in which forces are to be summed; groups are kept if `grouped`.
///
/// # Errors
/// A halo beyond 16-bit ids, a particle with more than 65,535 springs, or no memory.
///
/// # Panics
/// If the block size is no multiple of 32, or 0.
pub fn lists(
    n_particles: usize,
    block_size: usize,
    grouped: bool,
    neighbours: impl Fn(usize, &mut Vec<(u32, u16)>) + Sync,
) -> Result<SpringLists, BuildError> {
    assert!(block_size > 0 && block_size.is_multiple_of(32), "blocks of a multiple of 32 particles");
    struct Block {
        neighbour: Vec<u16>,
        group: Vec<u16>,
        count: Vec<u16>,
        halo: Vec<u32>,
    }
    let n_blocks = n_particles.div_ceil(block_size);
    let one = |block: usize| -> Result<Block, BuildError> {
        let own = block * block_size..((block + 1) * block_size).min(n_particles);
        let (mut all, mut ends) = (Vec::new(), vec![0]);
        for particle in own.clone() {
            neighbours(particle, &mut all);
            ends.push(all.len());
        }
        let outside = |other: &u32| !own.contains(&(*other as usize));
        let mut halo: Vec<u32> = all.iter().map(|(other, _)| *other).filter(outside).collect();
        halo.sort_unstable();
        halo.dedup();
        if block_size + halo.len() >= usize::from(NO_NEIGHBOUR) {
            return Err(BuildError::Halo { size: block_size, halo: halo.len() });
        }
        let counts = || ends.windows(2).map(|pair| pair[1] - pair[0]);
        let n_slots = counts().max().unwrap_or(0);
        too_many("springs of a particle", n_slots, usize::from(u16::MAX))?;
        let mut neighbour = filled(n_slots * block_size, NO_NEIGHBOUR)?;
        let mut group = filled(if grouped { n_slots * block_size } else { 0 }, 0)?;
        for (at, pair) in ends.windows(2).enumerate() {
            for (slot, &(other, of)) in all[pair[0]..pair[1]].iter().enumerate() {
                let local = match (other as usize).checked_sub(own.start).filter(|_| !outside(&other)) {
                    Some(local) => local,
                    None => block_size + halo.partition_point(|&particle| particle < other),
                };
                neighbour[slot * block_size + at] = local as u16;
                if grouped {
                    group[slot * block_size + at] = of;
                }
            }
        }
        Ok(Block { neighbour, group, count: counts().map(|count| count as u16).collect(), halo })
    };
    let blocks: Vec<Block> = (0..n_blocks).into_par_iter().map(one).collect::<Result<_, _>>()?;
    let starts = |length: fn(&Block) -> usize| -> Vec<u64> {
        let mut end = 0;
        let ends = blocks.iter().map(|block| {
            end += length(block) as u64;
            end
        });
        std::iter::once(0).chain(ends).collect()
    };
    let (first, halo_first) = (starts(|block| block.neighbour.len()), starts(|block| block.halo.len()));
    let lists = SpringLists {
        block_size: block_size as u32,
        first,
        neighbour: parallel::joined(&blocks.iter().map(|block| &block.neighbour).collect::<Vec<_>>()),
        group: parallel::joined(&blocks.iter().map(|block| &block.group).collect::<Vec<_>>()),
        count: parallel::joined(&blocks.iter().map(|block| &block.count).collect::<Vec<_>>()),
        halo_first,
        halo: parallel::joined(&blocks.iter().map(|block| &block.halo).collect::<Vec<_>>()),
        ..SpringLists::default()
    };
    blocks.into_par_iter().for_each(drop);
    Ok(lists)
}

/// Order of points by the Morton code of their position in the bounding box: solver index of each point, and point of each
/// solver index.
pub fn spatial_order(coordinates: &[f64]) -> (Vec<u32>, Vec<u32>) {
    let (points, _) = coordinates.as_chunks::<3>();
    let (mut low, mut high) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
    for point in points {
        for c in 0..3 {
            low[c] = low[c].min(point[c]);
            high[c] = high[c].max(point[c]);
        }
    }
    // One scale for all axes, so that blocks are as wide as they are long.
    let extent = (0..3).map(|c| high[c] - low[c]).fold(0.0, f64::max);
    let scale = if extent > 0.0 { f64::from((1_u32 << 20) - 1) / extent } else { 0.0 };
    let mut order: Vec<(u64, u32)> = points
        .par_iter()
        .enumerate()
        .map(|(index, point)| {
            let cell = std::array::from_fn(|c| ((point[c] - low[c]) * scale) as u32);
            (morton_code(cell), index as u32)
        })
        .collect();
    order.par_sort_unstable();
    let model_from_solver: Vec<u32> = order.into_iter().map(|(_, index)| index).collect();
    let mut solver_from_model = vec![0; points.len()];
    for (solver, &model) in model_from_solver.iter().enumerate() {
        solver_from_model[model as usize] = solver as u32;
    }
    (solver_from_model, model_from_solver)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spring::opposite;

    fn full(size: [usize; 3], has: [bool; 3]) -> SpringMesh {
        let material = vec![1; size.iter().product()];
        let (spacing, origin) = ([0.5, 0.25, 1.0], [1.0, 2.0, 3.0]);
        let has_springs = &[has];
        let volume = 0.125;
        lattice(&Lattice { size, spacing, origin, material: &material, has_springs, volume, block_size: 32 }).unwrap()
    }

    #[test]
    fn a_box_has_the_springs_of_the_paper() {
        // Counted by hand: pairs of neighbours along axes and face diagonals.
        let [nx, ny, nz] = [5, 4, 3];
        let mesh = full([nx, ny, nz], [true, true, false]);
        let view = mesh.view();
        let axes = (nx - 1) * ny * nz + nx * (ny - 1) * nz + nx * ny * (nz - 1);
        let faces = 2 * ((nx - 1) * (ny - 1) * nz + (nx - 1) * ny * (nz - 1) + nx * (ny - 1) * (nz - 1));
        assert_eq!(view.n_springs(), axes + faces);
        assert_eq!(view.n_particles(), nx * ny * nz);
        // Table 1 of the paper has 280,240 for 32³, 496 more than this pattern has.
        let n = 32;
        assert_eq!(3 * (n - 1) * n * n + 6 * (n - 1) * (n - 1) * n, 279_744);
    }

    #[test]
    fn lists_and_masks_say_the_same() {
        let mesh = full([7, 6, 5], [true, true, true]);
        let view = mesh.view();
        let grid = view.grid.unwrap();
        for particle in 0..view.n_particles() {
            let (from, place) = (view.position(particle), grid.place[particle] as isize);
            let mut seen = 0;
            for spring in view.springs(particle) {
                let direction = usize::from(spring.direction.unwrap());
                seen |= 1_u32 << direction;
                assert_eq!(grid.place[spring.other as usize] as isize, place + grid.stride(direction));
                let to = view.position(spring.other as usize);
                let rest = view.rest_vector(particle, &spring);
                assert!((0..3).all(|c| (to[c] - from[c] - rest[c]).abs() < 1e-12));
                let back = view.springs(spring.other as usize).find(|back| back.other as usize == particle).unwrap();
                assert_eq!(usize::from(back.direction.unwrap()), opposite(direction));
            }
            assert_eq!(seen, grid.mask[place as usize] & DIRECTION_BITS);
        }
    }

    #[test]
    fn springs_need_both_ends_to_have_the_group() {
        let material = [1, 2, 0, 1];
        let has_springs = &[[true, false, false], [false, true, false]];
        let mesh = lattice(&Lattice {
            size: [4, 1, 1],
            spacing: [1.0; 3],
            origin: [0.0; 3],
            material: &material,
            has_springs,
            volume: 1.0,
            block_size: 32,
        })
        .unwrap();
        assert_eq!((mesh.view().n_springs(), mesh.view().n_particles()), (0, 3));
        assert_eq!(mesh.labels, [1, 2, 4]);
        assert_eq!(mesh.material, [0, 1, 0]);
    }
}
