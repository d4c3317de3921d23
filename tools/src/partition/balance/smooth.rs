//! Smoothing of joins.

use std::cmp::Reverse;
use std::sync::PoisonError;

use pogo_formats::system::parallel::iterate::*;

use super::{Balance, INNER, SETTLED};

/// Links of a node.
#[derive(Default)]
struct Links {
    inside: usize,
    /// The other blocks round the node, and its links to each.
    around: Vec<(u32, usize)>,
}

impl Balance<'_> {
    /// Moves nodes that have more links to another block than to their own, while that block has room.
    pub(super) fn smooth(&mut self, most: usize) {
        self.settle();
        let mut links = Links::default();
        for block in (0..self.n_blocks() as u32).filter(|&block| !self.dissolved[block as usize]) {
            let members = std::mem::take(&mut *self.members(block));
            let unsettled = |node: u32| !self.knows(node, SETTLED) && self.block(node) == block;
            for &node in members.iter().filter(|&&node| unsettled(node)) {
                if !self.is_drawn(node, block, &mut links) {
                    continue;
                }
                let has_room = |to: u32| !self.dissolved[to as usize] && (self.size(to) as usize) < most;
                let open = links.around.iter().filter(|&&(to, _)| has_room(to));
                let best = open.map(|&(to, links)| (links, Reverse(to))).max();
                if let Some((most_links, Reverse(to))) = best
                    && most_links > links.inside
                    && self.size(block) > 1
                    && self.is_removable(node, block)
                {
                    self.give(node, block, to);
                }
            }
            *self.members(block) = members;
        }
    }

    /// Finds the nodes that are settled, so that one after the other has to look only at the rest.
    fn settle(&self) {
        self.members.par_iter().enumerate().with_min_len(16).for_each_init(
            Links::default,
            |links, (block, members)| {
                let block = block as u32;
                let members = members.lock().unwrap_or_else(PoisonError::into_inner);
                let unsettled = |node: u32| !self.knows(node, SETTLED) && self.block(node) == block;
                for &node in members.iter().filter(|&&node| unsettled(node)) {
                    self.is_drawn(node, block, links);
                }
            },
        );
    }

    /// Whether a node has more links to another block than to its own. Then `links` are its links; else it is settled.
    fn is_drawn(&self, node: u32, block: u32, links: &mut Links) -> bool {
        let neighbours = self.graph.neighbours(node);
        links.inside = neighbours.iter().filter(|&&other| self.block(other) == block).count();
        // With half of all links, no other block can have more.
        let is_drawn = 2 * links.inside < neighbours.len() && {
            links.around.clear();
            for there in neighbours.iter().map(|&other| self.block(other)).filter(|&there| there != block) {
                match links.around.iter_mut().find(|(to, _)| *to == there) {
                    Some((_, links)) => *links += 1,
                    None => links.around.push((there, 1)),
                }
            }
            links.around.iter().any(|&(_, to_there)| to_there > links.inside)
        };
        if !is_drawn {
            self.now_knows(node, if links.inside == neighbours.len() { SETTLED | INNER } else { SETTLED });
        }
        is_drawn
    }
}
