//! From bricks with elements to all tables of [`Bricks`], on the finest level and on coarser ones.

use super::masks::{self, Mask};
use super::{Bricks, BricksView, NO_BRICK, morton_code, morton_position};
use crate::memory;
use crate::system::parallel::iterate::*;

/// Bricks a task works on.
const CHUNK: usize = 1024;

/// Why there are no bricks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BricksError {
    /// More nodes than 32 bits number.
    #[error("{found} nodes: at most {limit} are possible; crop or downsample")]
    TooMany {
        /// Nodes.
        found: u64,
        /// Most nodes.
        limit: u64,
    },
    /// The system gives no more memory.
    #[error("{bytes} bytes of memory are needed for {what} and the system has not got them")]
    Memory {
        /// Which table.
        what: &'static str,
        /// Its length.
        bytes: usize,
    },
}

/// A vector with room for `n` entries.
///
/// # Errors
/// [`BricksError::Memory`], naming the table.
pub fn reserve<T>(what: &'static str, n: usize) -> Result<Vec<T>, BricksError> {
    let mut vector = Vec::new();
    vector.try_reserve_exact(n).map_err(|_| BricksError::Memory { what, bytes: n.saturating_mul(size_of::<T>()) })?;
    Ok(vector)
}

/// A vector of `n` equal entries.
///
/// # Errors
/// [`BricksError::Memory`], naming the table.
pub fn filled<T: Clone>(what: &'static str, n: usize, value: T) -> Result<Vec<T>, BricksError> {
    memory::filled(n, value).map_err(|_| BricksError::Memory { what, bytes: n.saturating_mul(size_of::<T>()) })
}

/// The number of each brick, by its position.
struct BrickIndex {
    extent: [usize; 3],
    number: Vec<u32>,
}

impl BrickIndex {
    /// Of bricks with these codes, all inside a grid of `size` voxels.
    fn new(size: [u32; 3], codes: &[u64]) -> Result<Self, BricksError> {
        let extent = size.map(|n| n as usize / 8 + 1);
        let n = extent.iter().try_fold(1_usize, |n, &more| n.checked_mul(more)).unwrap_or(usize::MAX);
        let mut index = Self { extent, number: filled("the positions of the bricks", n, NO_BRICK)? };
        for (number, &code) in (0..).zip(codes) {
            if let Some(slot) = index.slot(morton_position(code).map(i64::from)) {
                index.number[slot] = number;
            }
        }
        Ok(index)
    }

    fn slot(&self, position: [i64; 3]) -> Option<usize> {
        let [i, j, k] = position.map(|p| usize::try_from(p).unwrap_or(usize::MAX));
        let [nx, ny, nz] = self.extent;
        (i < nx && j < ny && k < nz).then(|| (k * ny + j) * nx + i)
    }

    /// The brick at a position, or [`NO_BRICK`].
    fn at(&self, position: [i64; 3]) -> u32 {
        self.slot(position).map_or(NO_BRICK, |slot| self.number[slot])
    }
}

/// A position some bricks further.
fn moved(position: [u32; 3], by: [i64; 3]) -> [i64; 3] {
    std::array::from_fn(|axis| i64::from(position[axis]) + by[axis])
}

/// Bits 0, 1, 2 of c, each with a sign.
fn corner(c: usize, sign: i64) -> [i64; 3] {
    [sign * (c & 1) as i64, sign * (c >> 1 & 1) as i64, sign * (c >> 2 & 1) as i64]
}

/// The mask of a brick in `masks`, (n_bricks, 8).
pub(super) fn mask_of(masks: &[u64], brick: usize) -> Mask {
    std::array::from_fn(|word| masks[8 * brick + word])
}

/// Adds nodes, numbers and neighbours to bricks that hold elements, given by ascending codes, (n,), and masks, (n, 8), inside
/// an image of `size` voxels. The same input gives the same tables for any number of threads.
///
/// # Errors
/// More nodes than can be numbered, or not enough memory.
pub fn with_nodes(size: [u32; 3], codes: &[u64], elements: &[u64]) -> Result<Bricks, BricksError> {
    let index = BrickIndex::new(size, codes)?;
    // An element at the upper side of a brick has nodes in the bricks above.
    let mut all: Vec<u64> = codes
        .par_iter()
        .enumerate()
        .with_min_len(CHUNK)
        .flat_map_iter(|(brick, &code)| {
            let mask = mask_of(elements, brick);
            let position = morton_position(code);
            (0..8).filter(move |&c| masks::touches_upper(&mask, c)).map(move |c| {
                let [i, j, k] = corner(c, 1).map(|step| step as u32);
                morton_code([position[0] + i, position[1] + j, position[2] + k])
            })
        })
        .collect();
    all.par_sort_unstable();
    all.dedup();

    let n = all.len();
    let mut bricks = Bricks {
        code: all,
        element_mask: filled("masks of elements", 8 * n, 0)?,
        node_mask: filled("masks of nodes", 8 * n, 0)?,
        element_first: reserve("element numbers of bricks", n + 1)?,
        node_first: reserve("node numbers of bricks", n + 1)?,
        neighbours: filled("neighbours of bricks", 27 * n, NO_BRICK)?,
    };
    let of = |position| match index.at(position) {
        NO_BRICK => [0; 8],
        brick => mask_of(elements, brick as usize),
    };
    bricks
        .code
        .par_iter()
        .zip(bricks.element_mask.par_chunks_exact_mut(8))
        .zip(bricks.node_mask.par_chunks_exact_mut(8))
        .with_min_len(CHUNK)
        .for_each(|((&code, own), nodes)| {
            let position = morton_position(code);
            let around = std::array::from_fn(|c| of(moved(position, corner(c, -1))));
            own.copy_from_slice(&around[0]);
            nodes.copy_from_slice(&masks::node_mask(&around));
        });
    drop(index);
    number(&bricks.element_mask, &mut bricks.element_first)?;
    number(&bricks.node_mask, &mut bricks.node_first)?;

    let index = BrickIndex::new(size, &bricks.code)?;
    bricks.code.par_iter().zip(bricks.neighbours.par_chunks_exact_mut(27)).with_min_len(CHUNK).for_each(
        |(&code, neighbours)| {
            let position = morton_position(code);
            for (d, neighbour) in (0..).zip(neighbours) {
                *neighbour = index.at(moved(position, [d % 3 - 1, d / 3 % 3 - 1, d / 9 - 1]));
            }
        },
    );
    Ok(bricks)
}

/// The number of set bits before each brick, and of all.
fn number(masks: &[u64], first: &mut Vec<u32>) -> Result<(), BricksError> {
    let mut total = 0_u64;
    first.push(0);
    for brick in masks.chunks_exact(8) {
        total += u64::from(masks::count(brick));
        // One less than 2³²: `u32::MAX` itself means "none".
        let limit = u64::from(u32::MAX) - 1;
        if total > limit {
            let found = masks.par_iter().map(|word| u64::from(word.count_ones())).sum();
            return Err(BricksError::TooMany { found, limit });
        }
        first.push(total as u32);
    }
    Ok(())
}

/// Voxels along each axis of the next coarser level.
pub fn coarse_size(size: [u32; 3]) -> [u32; 3] {
    size.map(|n| n.div_ceil(2))
}

/// The next coarser level: element (i, j, k) is there if one of 2 (i, j, k) + {0, 1}³ is.
///
/// `size` holds the voxels along each axis of the fine level. The same input gives the same tables.
///
/// # Errors
/// Not enough memory.
pub fn coarsen(fine: &BricksView, size: [u32; 3]) -> Result<Bricks, BricksError> {
    // The eight bricks of a coarse one are consecutive in Morton order.
    let mut codes: Vec<u64> = Vec::new();
    let mut elements: Vec<u64> = Vec::new();
    for (brick, &code) in fine.code.iter().enumerate() {
        let mask = mask_of(fine.element_mask, brick);
        if mask == [0; 8] {
            continue;
        }
        if codes.last() != Some(&(code >> 3)) {
            codes.push(code >> 3);
            elements.extend([0; 8]);
        }
        let word = elements.len() - 8 + (code & 7) as usize;
        elements[word] = masks::coarse_word(&mask);
    }
    with_nodes(coarse_size(size), &codes, &elements)
}
