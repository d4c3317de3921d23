//! Tables of a voxel model, in Morton order.

use rkyv::{Archive, Archived, Deserialize, Serialize};

use super::masks::Mask;
use super::{HashLevel, HashView, OffsetLevel, OffsetView, TransferView, morton_corners, morton_position};
use crate::block::Table;
use crate::block::cast::native;

/// In [`Bricks::neighbours`]: no such brick.
pub const NO_BRICK: u32 = u32::MAX;

/// The grid of a voxel model as bricks of 8 × 8 × 8, in ascending order of their Morton codes.
///
/// Slot s of a brick, 0 ≤ s < 512, is voxel (or node) `8 (brick position) + morton_position(s)`. Bit s mod 64 of word s / 64
/// of a mask says whether it is there; its number is the brick's first one and the number of set bits before it.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq, Default)]
pub struct Bricks {
    /// Morton code of each brick's position, ascending, (n_bricks,).
    pub code: Vec<u64>,
    /// Elements, (n_bricks, 8).
    pub element_mask: Vec<u64>,
    /// Nodes, (n_bricks, 8). A brick beyond the last elements may have nodes only.
    pub node_mask: Vec<u64>,
    /// First element of each brick, (n_bricks + 1,).
    pub element_first: Vec<u32>,
    /// First node of each brick, (n_bricks + 1,).
    pub node_first: Vec<u32>,
    /// Bricks round each brick, at (dx, dy, dz) ∈ {−1, 0, 1}³, x fastest, or [`NO_BRICK`], (n_bricks, 27).
    pub neighbours: Vec<u32>,
}

/// The papers' grid representations of all levels, the finest first; a file has one of them or none.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq, Default)]
pub struct VoxelLevels {
    /// Offset tables.
    pub offset: Vec<OffsetLevel>,
    /// Perfect hashes.
    pub hash: Vec<HashLevel>,
}

/// The elements and nodes of a voxel model.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq, Default)]
pub struct VoxelMesh {
    /// Voxels along x, y and z, void ones included.
    pub size: [u32; 3],
    /// Edge of a voxel h, in the job's unit of length.
    pub spacing: f64,
    /// Position of node (0, 0, 0).
    pub origin: [f64; 3],
    /// Which voxels are there.
    pub bricks: Bricks,
    /// Material of each element, an index into the setup's materials, (n_elements,), or empty.
    pub element_class: Vec<u8>,
    /// Young's modulus of each element, (n_elements,), or empty.
    pub element_modulus: Vec<f32>,
}

/// [`Bricks`] as slices.
#[derive(Debug, Clone, Copy)]
pub struct BricksView<'a> {
    /// As in [`Bricks`].
    pub code: &'a [u64],
    /// As in [`Bricks`].
    pub element_mask: &'a [u64],
    /// As in [`Bricks`].
    pub node_mask: &'a [u64],
    /// As in [`Bricks`].
    pub element_first: &'a [u32],
    /// As in [`Bricks`].
    pub node_first: &'a [u32],
    /// As in [`Bricks`].
    pub neighbours: &'a [u32],
}

/// [`VoxelMesh`] as slices.
#[derive(Debug, Clone, Copy)]
pub struct VoxelMeshView<'a> {
    /// As in [`VoxelMesh`].
    pub size: [u32; 3],
    /// As in [`VoxelMesh`].
    pub spacing: f64,
    /// As in [`VoxelMesh`].
    pub origin: [f64; 3],
    /// As in [`VoxelMesh`].
    pub bricks: BricksView<'a>,
    /// As in [`VoxelMesh`].
    pub element_class: &'a [u8],
    /// As in [`VoxelMesh`].
    pub element_modulus: &'a [f32],
}

impl VoxelMesh {
    /// The mesh as slices.
    pub fn view(&self) -> VoxelMeshView<'_> {
        VoxelMeshView {
            size: self.size,
            spacing: self.spacing,
            origin: self.origin,
            bricks: self.bricks.view(),
            element_class: &self.element_class,
            element_modulus: &self.element_modulus,
        }
    }
}

impl Bricks {
    /// The bricks as slices.
    pub fn view(&self) -> BricksView<'_> {
        BricksView {
            code: &self.code,
            element_mask: &self.element_mask,
            node_mask: &self.node_mask,
            element_first: &self.element_first,
            node_first: &self.node_first,
            neighbours: &self.neighbours,
        }
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

    /// Bytes of these tables.
    pub fn bytes(&self) -> usize {
        size_of_val(self.code)
            + size_of_val(self.element_mask)
            + size_of_val(self.node_mask)
            + size_of_val(self.element_first)
            + size_of_val(self.node_first)
            + size_of_val(self.neighbours)
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

impl Table for VoxelMesh {
    type View<'a> = VoxelMeshView<'a>;

    fn view(&self) -> VoxelMeshView<'_> {
        self.view()
    }

    fn archived(mesh: &Archived<Self>) -> VoxelMeshView<'_> {
        VoxelMeshView {
            size: mesh.size.map(|n| n.to_native()),
            spacing: mesh.spacing.to_native(),
            origin: mesh.origin.map(|x| x.to_native()),
            bricks: bricks(&mesh.bricks),
            element_class: &mesh.element_class,
            element_modulus: native(&mesh.element_modulus),
        }
    }
}

fn bricks(bricks: &Archived<Bricks>) -> BricksView<'_> {
    BricksView {
        code: native(&bricks.code),
        element_mask: native(&bricks.element_mask),
        node_mask: native(&bricks.node_mask),
        element_first: native(&bricks.element_first),
        node_first: native(&bricks.node_first),
        neighbours: native(&bricks.neighbours),
    }
}

/// [`VoxelLevels`] as slices.
#[derive(Debug)]
pub struct VoxelLevelsView<'a> {
    /// Offset tables of all levels, the finest first; empty unless the file was made with them.
    pub offset: Vec<OffsetView<'a>>,
    /// Hashes of all levels, the finest first; empty unless the file was made with them.
    pub hash: Vec<HashView<'a>>,
}

impl Table for VoxelLevels {
    type View<'a> = VoxelLevelsView<'a>;

    fn view(&self) -> VoxelLevelsView<'_> {
        let (offset, hash) = (&self.offset, &self.hash);
        VoxelLevelsView {
            offset: offset.iter().map(OffsetLevel::view).collect(),
            hash: hash.iter().map(HashLevel::view).collect(),
        }
    }

    fn archived(levels: &Archived<Self>) -> VoxelLevelsView<'_> {
        VoxelLevelsView {
            offset: levels.offset.iter().map(offset).collect(),
            hash: levels.hash.iter().map(hash).collect(),
        }
    }
}

fn offset(level: &Archived<OffsetLevel>) -> OffsetView<'_> {
    OffsetView {
        size: level.size.map(|n| n.to_native()),
        n_elements: level.n_elements.to_native() as usize,
        n_nodes: level.n_nodes.to_native() as usize,
        kind: native(&level.kind),
        before: native(&level.before),
        short_first: native(&level.short_first),
        short_offset: &level.short_offset,
        medium_first: native(&level.medium_first),
        medium_offset: native(&level.medium_offset),
        long_nodes: native(&level.long_nodes),
        transfer: TransferView {
            element_children: &level.transfer.element_children,
            element_first_child: native(&level.transfer.element_first_child),
            node_children: &level.transfer.node_children,
            node_first_child: native(&level.transfer.node_first_child),
        },
    }
}

fn hash(level: &Archived<HashLevel>) -> HashView<'_> {
    HashView {
        size: level.size.map(|n| n.to_native()),
        node_key: native(&level.node_key),
        upper: native(&level.upper),
        upper_first: native(&level.upper_first),
        element_node: native(&level.element_node),
        slot_first: native(&level.slot_first),
        shift_first: native(&level.shift_first),
        slots: native(&level.slots),
        shifts: native(&level.shifts),
    }
}
