//! Cutting blocks with too long a boundary, and blocks above capacity.

use rayon::prelude::*;

use super::Balance;
use crate::partition::greedy::NONE;
use crate::partition::halve::halve;

/// A 2D block is too long if it has this many times the boundary nodes of the paper's 2 : 1 rectangle.
const TOO_LONG: f64 = 1.25;
/// A 3D block is too long if it reads this many times the nodes around a cube of hexahedra.
const TOO_LONG_IN_SPACE: f64 = 1.4;

impl Balance<'_> {
    /// Cuts blocks with too long a boundary in two. Returns how many.
    pub(super) fn cut_long(&mut self, dimension: usize) -> usize {
        let n = self.capacity as f64;
        // Nodes around a rectangle of 2 : 1, and around a cube.
        let (around, times) = if dimension == 3 {
            ((n.cbrt() + 2.0).powi(3) - n, TOO_LONG_IN_SPACE)
        } else {
            (2.0 * ((2.0 * n).sqrt() + (n / 2.0).sqrt()), TOO_LONG)
        };
        let most = (times * around) as usize;
        let graph = self.graph;
        let cut: Vec<u32> = (0..self.n_blocks() as u32)
            .into_par_iter()
            .with_min_len(16)
            .filter(|&block| self.boundary(block, dimension) > most)
            .collect();
        if cut.is_empty() {
            return 0;
        }
        let mut steps = vec![NONE; self.block_of.len()];
        for &block in &cut {
            let members = self.take_members(block);
            let inside = |node: u32| self.block(node) == block;
            let [low, high] = halve(graph, &members, &members, inside, &mut steps);
            self.keep(block, low);
            self.add_block(high);
        }
        cut.len()
    }

    /// Cuts blocks that are still above capacity into blocks of at most that many nodes.
    pub(super) fn cut_rest(&mut self) {
        for block in 0..self.n_blocks() as u32 {
            if self.size(block) as usize <= self.capacity {
                continue;
            }
            let members = self.take_members(block);
            let mut pieces = members.chunks(self.capacity).map(<[u32]>::to_vec);
            self.keep(block, pieces.next().unwrap_or_default());
            pieces.for_each(|piece| self.add_block(piece));
        }
    }

    /// Size of the boundary of a block: its boundary nodes in 2D, its halo in 3D.
    fn boundary(&self, block: u32, dimension: usize) -> usize {
        let mut halo: Vec<u32> = Vec::with_capacity(512);
        let mut n_boundary = 0;
        for &node in self.members(block).iter().filter(|&&node| self.block(node) == block) {
            let before = halo.len();
            halo.extend(self.graph.neighbours(node).iter().filter(|&&other| self.block(other) != block));
            n_boundary += usize::from(halo.len() > before);
        }
        if dimension != 3 {
            return n_boundary;
        }
        halo.sort_unstable();
        halo.dedup();
        halo.len()
    }
}
