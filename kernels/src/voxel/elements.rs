//! Elements of a level with their nodes, and batches of them that threads add without races.

use std::ops::Range;

use pogo_formats::system::parallel;
use pogo_formats::system::parallel::iterate::*;
use pogo_formats::voxel::{BrickNodes, BricksView, morton_position};

use super::bricks::{ALL_SLOTS, count_blocks, for_each_slot};
use super::lists::Lists;
use pogo_formats::system::parallel::Shared;

/// In place of a node that an element does without: see [`phases`](super::multigrid).
pub(crate) const NO_NODE: u32 = u32::MAX;

/// Elements of one level, in the Morton order of their cells.
#[derive(Debug, Clone, Default)]
pub(crate) struct Elements {
    /// Morton code of each element's cell. Pieces of one cell have the same code.
    pub code: Vec<u64>,
    /// Eight nodes of each element.
    pub nodes: Vec<[u32; 8]>,
    pub n_nodes: usize,
    /// First cell along each axis and the one after the last, where the model is periodic along all three.
    pub period: Option<[[u32; 2]; 3]>,
    /// Of all voxels of a model without joined nodes, the number of non-zero blocks of their matrix. The voxels of a cell of
    /// 2 × 2 × 2 then share the node in its middle, and there is one node at a place.
    pub blocks_of_voxels: Option<usize>,
}

impl Elements {
    /// The elements of the finest level.
    pub fn of_bricks(bricks: &BricksView) -> Self {
        let n = bricks.n_elements();
        let (mut code, mut nodes) = (vec![0_u64; n], vec![[0_u32; 8]; n]);
        let (codes, lists) = (Shared::new(&mut code), Shared::new(&mut nodes));
        (0..bricks.n_bricks()).into_par_iter().for_each_init(BrickNodes::default, |local, brick| {
            local.load(bricks, brick);
            let range = bricks.element_first[brick] as usize..bricks.element_first[brick + 1] as usize;
            // SAFETY: each brick has elements of its own.
            let (codes, lists) = unsafe { (codes.part(range.clone()), lists.part(range)) };
            for_each_slot(&bricks.element_mask[8 * brick..8 * brick + 8], &ALL_SLOTS, |slot, rank| {
                codes[rank] = bricks.code[brick] << 9 | slot as u64;
                lists[rank] = local.in_slot(slot);
            });
        });
        Self { code, nodes, n_nodes: bricks.n_nodes(), period: None, blocks_of_voxels: Some(count_blocks(bricks)) }
    }

    /// Which octant of its coarse cell element `i` fills, bits 0 to 2. Bits 3 to 5 are set for the axes along which it
    /// fills the whole cell.
    ///
    /// It does so at the end of an odd number of cells of a periodic model. If such a coarse cell were half empty, the
    /// nodes at its end would lie between coarse nodes, but on a coarse node at the opposite side, where they are joined.
    pub fn octant(&self, i: usize) -> usize {
        let octant = (self.code[i] & 7) as usize;
        let Some(period) = self.period else { return octant };
        let at = morton_position(self.code[i]);
        let alone = |m: &usize| !(period[*m][0]..period[*m][1]).contains(&(at[*m] ^ 1));
        (0..3).filter(alone).fold(octant, |octant, m| octant | 8 << m)
    }
}

/// Consecutive elements in batches, and the batches in colours: batches of one colour share no node.
#[derive(Debug, Clone, Default)]
pub(crate) struct Batches {
    /// Batches of each colour.
    pub colours: Vec<Vec<u32>>,
    pub n_elements: usize,
}

impl Batches {
    /// Largest number of elements in a batch.
    pub const SIZE: usize = 256;

    /// Colours batches greedily, in their order.
    pub fn new(elements: &Elements) -> Self {
        let lower = lower_batches(elements);
        let mut colour = vec![0_usize; lower.len()];
        let mut colours: Vec<Vec<u32>> = Vec::new();
        for (batch, lower) in lower.iter().enumerate() {
            let taken: Vec<usize> = lower.iter().map(|&b| colour[b as usize]).collect();
            let free = (0..).find(|c| !taken.contains(c)).unwrap_or(0);
            colour[batch] = free;
            if free == colours.len() {
                colours.push(Vec::new());
            }
            colours[free].push(batch as u32);
        }
        Self { colours, n_elements: elements.nodes.len() }
    }

    /// Elements of a batch.
    pub fn elements(&self, batch: u32) -> Range<usize> {
        let first = batch as usize * Self::SIZE;
        first..(first + Self::SIZE).min(self.n_elements)
    }

    /// Those batches whose elements `keep` accepts, in the same order.
    pub fn filtered(&self, keep: impl Fn(Range<usize>) -> bool) -> Self {
        let of_colour =
            |colour: &Vec<u32>| colour.iter().copied().filter(|&batch| keep(self.elements(batch))).collect();
        Self { colours: self.colours.iter().map(of_colour).collect(), n_elements: self.n_elements }
    }

    /// Calls `act` with the elements of every batch, in parallel; batches that share a node one after the other, always
    /// in the same order.
    pub fn for_each(&self, act: &(dyn Fn(Range<usize>) + Sync)) {
        for colour in &self.colours {
            parallel::for_each(colour.len(), &|at| act(self.elements(colour[at])));
        }
    }
}

/// The lower batches with which each batch shares a node, ascending.
fn lower_batches(elements: &Elements) -> Vec<Vec<u32>> {
    let distinct = |batch: &[[u32; 8]]| {
        // A table of twice as many places as there can be nodes; a node stands in the first free place from its own on.
        const BITS: u32 = 12;
        const { assert!(1 << BITS >= 2 * 8 * Batches::SIZE) };
        let (mut table, mut nodes) = ([NO_NODE; 1 << BITS], Vec::with_capacity(Batches::SIZE));
        for &node in batch.as_flattened() {
            let mut at = (node.wrapping_mul(2_654_435_761) >> (32 - BITS)) as usize;
            while table[at] != node && table[at] != NO_NODE {
                at = (at + 1) % table.len();
            }
            if table[at] == NO_NODE {
                table[at] = node;
                nodes.push(node);
            }
        }
        nodes
    };
    let nodes_of: Vec<Vec<u32>> = elements.nodes.par_chunks(Batches::SIZE).map(distinct).collect();
    let batches = Lists::by_key(elements.n_nodes, nodes_of.len(), |batch| nodes_of[batch].iter().copied());
    let lower = |(batch, nodes): (usize, &Vec<u32>)| {
        let others = nodes.iter().flat_map(|&node| batches.of(node as usize).iter().copied());
        let mut lower: Vec<u32> = others.filter(|&other| (other as usize) < batch).collect();
        lower.sort_unstable();
        lower.dedup();
        lower
    };
    nodes_of.par_iter().enumerate().map(lower).collect()
}
