//! The grid representations of the papers on all levels.

use pogo_formats::voxel::build::reserve;
use pogo_formats::voxel::{Bricks, BricksView, HashLevel, VoxelLevels, coarse_size, coarsen};

use super::{VoxelError, hash, offset};

/// How the nodes of an element are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum GridKind {
    /// Bricks of 8 × 8 × 8: least memory
    #[default]
    Brick,
    /// Offsets from the first node, in 8, 16 or 32 bits
    Offset,
    /// Perfect spatial hash
    Hash,
}

/// Nodes in a table of a hash by default: the marks of its slots then stay in the L1 cache while it is built, and its 16-bit
/// shifts reach every slot.
const KEYS_A_TABLE: usize = 1 << 15;

/// Builds the tables of a representation, from the level of `bricks` down to one element; [`GridKind::Brick`] needs none.
/// `hash_tables` is the number of tables of a hash, a power of two, on levels with at least so many nodes; by default there is
/// one for some 32,000 nodes. The tables do not depend on the number of threads.
///
/// # Errors
/// Not enough memory, or no perfect hash.
pub fn levels(
    bricks: &BricksView,
    size: [u32; 3],
    kind: GridKind,
    hash_tables: Option<usize>,
) -> Result<VoxelLevels, VoxelError> {
    let mut levels = VoxelLevels::default();
    if kind == GridKind::Brick {
        return Ok(levels);
    }
    let mut size = size;
    let (mut finer, mut owned): (Option<Bricks>, Option<Bricks>) = (None, None);
    loop {
        let level = owned.as_ref().map_or(*bricks, Bricks::view);
        match kind {
            GridKind::Offset => {
                let mut tables = offset::build(size, &level)?;
                if !levels.offset.is_empty() {
                    tables.transfer = offset::transfer(&level, &finer.as_ref().map_or(*bricks, Bricks::view))?;
                }
                levels.offset.push(tables);
            }
            _ => levels.hash.push(hash_level(size, &level, hash_tables)?),
        }
        if size == [1; 3] {
            return Ok(levels);
        }
        let coarse = coarsen(&level, size)?;
        size = coarse_size(size);
        finer = owned.replace(coarse);
    }
}

fn hash_level(size: [u32; 3], bricks: &BricksView, tables: Option<usize>) -> Result<HashLevel, VoxelError> {
    let mut codes = reserve("keys of nodes", bricks.n_nodes())?;
    let mut elements = reserve("nodes of elements", bricks.n_elements())?;
    for brick in 0..bricks.n_bricks() {
        let mut node = codes.len() as u32;
        let mut nodes = bricks.node_codes(brick);
        codes.extend(bricks.node_codes(brick));
        for code in bricks.element_codes(brick) {
            node += nodes.by_ref().take_while(|&other| other != code).count() as u32;
            elements.push(node);
            node += 1;
        }
    }
    let n_tables = match tables {
        Some(n) if n <= codes.len() => n,
        Some(_) => 1,
        None => (codes.len() / KEYS_A_TABLE).max(1).next_power_of_two(),
    };
    hash::build(size, &codes, elements, n_tables)
}
