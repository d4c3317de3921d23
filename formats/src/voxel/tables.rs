//! Tables of a voxel model, in Morton order.

use super::masks::Mask;
use super::{HashLevel, HashView, OffsetLevel, OffsetView, morton_corners, morton_position};
use crate::block::{Counts, Vector, tables};

/// In [`Bricks::neighbours`]: no such brick.
pub const NO_BRICK: u32 = u32::MAX;

tables! {
    /// The grid of a voxel model as bricks of 8 × 8 × 8, in ascending order of their Morton codes.
    ///
    /// Slot s of a brick, 0 ≤ s < 512, is voxel (or node) `8 (brick position) + morton_position(s)`. Bit s mod 64 of word s / 64
    /// of a mask says whether it is there; its number is the brick's first one and the number of set bits before it.
    #[derive(Default)]
    pub struct Bricks, #[derive(Copy)] BricksView as bricks {
        /// Morton code of each brick's position, ascending, (n_bricks,).
        pub code: Vec<u64>,
        /// Elements, (n_bricks, 8).
        pub element_mask: Vec<u64> [entries(8 * bricks.n_bricks())],
        /// Nodes, (n_bricks, 8). A brick beyond the last elements may have nodes only.
        pub node_mask: Vec<u64> [entries(8 * bricks.n_bricks())],
        /// First element of each brick, (n_bricks + 1,).
        pub element_first: Vec<u32> [entries(bricks.n_bricks() + 1)],
        /// First node of each brick, (n_bricks + 1,).
        pub node_first: Vec<u32> [entries(bricks.n_bricks() + 1)],
        /// Bricks round each brick, at (dx, dy, dz) ∈ {−1, 0, 1}³, x fastest, or [`NO_BRICK`], (n_bricks, 27).
        pub neighbours: Vec<u32> [entries(27 * bricks.n_bricks())],
    }

    /// The papers' grid representations of all levels, the finest first; a file has one of them or none.
    #[derive(Default)]
    pub struct VoxelLevels, VoxelLevelsView as levels {
        /// Offset tables.
        pub offset: Vec<OffsetLevel> as OffsetView,
        /// Perfect hashes.
        pub hash: Vec<HashLevel> as HashView,
    }

    /// The elements and nodes of a voxel model.
    #[derive(Default)]
    pub struct VoxelMesh, #[derive(Copy)] VoxelMeshView as mesh {
        /// Voxels along x, y and z, void ones included.
        pub size: Counts,
        /// Edge of a voxel h, in the job's unit of length.
        pub spacing: f64,
        /// Position of node (0, 0, 0).
        pub origin: Vector,
        /// Which voxels are there.
        pub bricks: Bricks as BricksView,
        /// Material of each element, an index into the setup's materials, (n_elements,), or empty.
        pub element_class: Vec<u8>,
        /// Young's modulus of each element, (n_elements,), or empty.
        pub element_modulus: Vec<f32>,
    }
}

/// Slots of a brick whose bits are set, ascending.
fn slots(mask: &[u64]) -> impl Iterator<Item = u32> + '_ {
    mask.iter().zip((0..).step_by(64)).flat_map(|(&word, first)| {
        std::iter::successors((word != 0).then_some(word), |&left| {
            let left = left & (left - 1);
            (left != 0).then_some(left)
        })
        .map(move |left| first + left.trailing_zeros())
    })
}

impl<'a> BricksView<'a> {
    /// Number of bricks.
    pub fn n_bricks(&self) -> usize {
        self.code.len()
    }

    /// Number of elements.
    pub fn n_elements(&self) -> usize {
        self.element_first.last().map_or(0, |&n| n as usize)
    }

    /// Number of nodes.
    pub fn n_nodes(&self) -> usize {
        self.node_first.last().map_or(0, |&n| n as usize)
    }

    /// Lowest voxel of a brick, (i, j, k).
    pub fn corner(&self, brick: usize) -> [u32; 3] {
        morton_position(self.code[brick]).map(|p| 8 * p)
    }

    /// Positions (i, j, k) of a brick's elements, in the order of their numbers.
    pub fn element_positions(&self, brick: usize) -> impl Iterator<Item = [u32; 3]> + use<'a> {
        let (corner, mask) = (self.corner(brick), &self.element_mask[8 * brick..8 * brick + 8]);
        slots(mask).map(move |slot| place(corner, slot))
    }

    /// Positions (i, j, k) of a brick's nodes, in the order of their numbers.
    pub fn node_positions(&self, brick: usize) -> impl Iterator<Item = [u32; 3]> + use<'a> {
        let (corner, mask) = (self.corner(brick), &self.node_mask[8 * brick..8 * brick + 8]);
        slots(mask).map(move |slot| place(corner, slot))
    }

    /// The elements of a brick as bits.
    pub fn elements(&self, brick: usize) -> Mask {
        std::array::from_fn(|word| self.element_mask[8 * brick + word])
    }

    /// Morton codes of a brick's elements, in the order of their numbers.
    pub fn element_codes(&self, brick: usize) -> impl Iterator<Item = u64> + use<'a> {
        let (code, mask) = (self.code[brick] << 9, &self.element_mask[8 * brick..8 * brick + 8]);
        slots(mask).map(move |slot| code | u64::from(slot))
    }

    /// Morton codes of a brick's nodes, in the order of their numbers.
    pub fn node_codes(&self, brick: usize) -> impl Iterator<Item = u64> + use<'a> {
        let (code, mask) = (self.code[brick] << 9, &self.node_mask[8 * brick..8 * brick + 8]);
        slots(mask).map(move |slot| code | u64::from(slot))
    }

    /// The eight nodes of an element, corner c at (c & 1, c >> 1 & 1, c >> 2), if there is such an element. For all elements
    /// of a brick, [`BrickNodes`](super::BrickNodes) is faster.
    pub fn nodes(&self, element: u32) -> Option<[u32; 8]> {
        if element as usize >= self.n_elements() {
            return None;
        }
        let brick = self.element_first.partition_point(|&first| first <= element) - 1;
        let rank_in_brick = (element - self.element_first[brick]) as usize;
        let code = self.element_codes(brick).nth(rank_in_brick)?;
        let mut nodes = [0; 8];
        for (node, corner) in nodes.iter_mut().zip(morton_corners(code)) {
            *node = self.node(morton_position(corner))?;
        }
        Some(nodes)
    }

    /// Number of node (i, j, k), if it is there.
    pub fn node(&self, position: [u32; 3]) -> Option<u32> {
        let code = super::morton_code(position);
        let brick = self.code.binary_search(&(code >> 9)).ok()?;
        rank(&self.node_mask[8 * brick..8 * brick + 8], code as usize & 511).map(|rank| self.node_first[brick] + rank)
    }

    /// Number of element (i, j, k), if it is there.
    pub fn element(&self, position: [u32; 3]) -> Option<u32> {
        let code = super::morton_code(position);
        self.element_at(self.code.binary_search(&(code >> 9)).ok()?, code as u32 & 511)
    }

    /// Number of the element at a slot of a brick, if it is there.
    pub fn element_at(&self, brick: usize, slot: u32) -> Option<u32> {
        let rank = rank(&self.element_mask[8 * brick..8 * brick + 8], slot as usize)?;
        Some(self.element_first[brick] + rank)
    }
}

fn place(corner: [u32; 3], slot: u32) -> [u32; 3] {
    let offset = morton_position(u64::from(slot));
    [corner[0] + offset[0], corner[1] + offset[1], corner[2] + offset[2]]
}

/// Set bits before `slot`, if its own is set.
fn rank(mask: &[u64], slot: usize) -> Option<u32> {
    let (word, bit) = (slot / 64, slot % 64);
    (mask[word] >> bit & 1 == 1).then(|| {
        let before: u32 = mask[..word].iter().map(|word| word.count_ones()).sum();
        before + (mask[word] & ((1 << bit) - 1)).count_ones()
    })
}
