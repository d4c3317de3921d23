//! Cutting blocks with too long a boundary, and blocks above capacity.

use rayon::prelude::*;

use super::Balance;
use crate::partition::NodeGraph;
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
        let (graph, block_of) = (self.graph, &*self.block_of);
        let cut: Vec<u32> = (0..self.n_blocks() as u32)
            .into_par_iter()
            .with_min_len(16)
            .filter(|&block| boundary(graph, block_of, block, &self.members[block as usize], dimension) > most)
            .collect();
        if cut.is_empty() {
            return 0;
        }
        let mut steps = vec![NONE; self.block_of.len()];
        for &block in &cut {
            let members = self.take_members(block);
            let inside = &*self.block_of;
            let [low, high] = halve(graph, &members, &members, |node| inside[node as usize] == block, &mut steps);
            let new = self.n_blocks() as u32;
            for &node in &high {
                self.block_of[node as usize] = new;
            }
            self.sizes[block as usize] = low.len() as u32;
            self.members[block as usize] = low;
            self.sizes.push(high.len() as u32);
            self.members.push(high);
            self.dissolved.push(false);
        }
        cut.len()
    }

    /// Cuts blocks that are still above capacity into blocks of at most that many nodes.
    pub(super) fn cut_rest(&mut self) {
        for block in 0..self.n_blocks() {
            if self.sizes[block] as usize <= self.capacity {
                continue;
            }
            let members = self.take_members(block as u32);
            for (i, piece) in members.chunks(self.capacity).enumerate() {
                let number = if i == 0 { block } else { self.sizes.len() };
                for &node in piece {
                    self.block_of[node as usize] = number as u32;
                }
                if i == 0 {
                    self.sizes[block] = piece.len() as u32;
                } else {
                    self.sizes.push(piece.len() as u32);
                    self.members.push(Vec::new());
                    self.dissolved.push(false);
                }
            }
        }
    }
}

/// Size of the boundary of a block: its boundary nodes in 2D, its halo in 3D.
fn boundary(graph: &NodeGraph, block_of: &[u32], block: u32, members: &[u32], dimension: usize) -> usize {
    let mut halo: Vec<u32> = Vec::with_capacity(512);
    let mut n_boundary = 0;
    for &node in members.iter().filter(|&&node| block_of[node as usize] == block) {
        let before = halo.len();
        halo.extend(graph.neighbours(node).iter().filter(|&&other| block_of[other as usize] != block));
        n_boundary += usize::from(halo.len() > before);
    }
    if dimension != 3 {
        return n_boundary;
    }
    halo.sort_unstable();
    halo.dedup();
    halo.len()
}
