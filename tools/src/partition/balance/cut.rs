//! Cutting blocks with too long a boundary, and blocks above capacity.

use pogo_formats::system::parallel::iterate::*;

use super::{Balance, INNER};
use crate::partition::greedy::NONE;
use crate::partition::halve::{halve, work_space};

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
            .map_init(Few::default, |halo, block| (block, self.is_longer(block, most, dimension, halo)))
            .filter_map(|(block, is_long)| is_long.then_some(block))
            .collect();
        if cut.is_empty() {
            return 0;
        }
        let steps = work_space(self.block_of.len());
        let halves: Vec<[Vec<u32>; 2]> = cut
            .par_iter()
            .map(|&block| {
                let members = self.take_members(block);
                halve(graph, &members, &members, |node| self.block(node) == block, &steps)
            })
            .collect();
        for (&block, [low, high]) in cut.iter().zip(halves) {
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

    /// Whether the boundary of a block has more than `most` nodes: its own nodes that read others in 2D, its halo in 3D.
    fn is_longer(&self, block: u32, most: usize, dimension: usize, halo: &mut Few) -> bool {
        let members = self.members(block);
        let own = members.iter().filter(|&&node| self.block(node) == block && !self.knows(node, INNER));
        let beyond = |node: u32| self.graph.neighbours(node).iter().filter(|&&other| self.block(other) != block);
        if dimension != 3 {
            return own.filter(|&&node| beyond(node).next().is_some()).count() > most;
        }
        halo.clear(most);
        own.flat_map(|&node| beyond(node)).any(|&other| halo.add(other) > most)
    }
}

/// Some different nodes. Kept for its memory.
#[derive(Default)]
struct Few {
    /// Nodes by their hash. The length is a power of two.
    table: Vec<u32>,
    n: usize,
}

impl Few {
    /// Forgets all, and makes room for one more than `most`.
    fn clear(&mut self, most: usize) {
        self.table.clear();
        self.table.resize((4 * (most + 1)).next_power_of_two(), NONE);
        self.n = 0;
    }

    /// Adds a node, which may be there, and gives how many there are.
    fn add(&mut self, node: u32) -> usize {
        let mask = self.table.len() - 1;
        let mut place = (node.wrapping_mul(0x9e37_79b9) >> 7) as usize & mask;
        while ![NONE, node].contains(&self.table[place]) {
            place = (place + 1) & mask;
        }
        self.n += usize::from(self.table[place] == NONE);
        self.table[place] = node;
        self.n
    }
}
