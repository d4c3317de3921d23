//! The joins between blocks. Passing nodes changes few of them, so only what was touched since is looked at again.

use pogo_formats::system::parallel::iterate::*;

use super::{Balance, INNER, LISTED, SETTLED};

/// Joins between blocks when they were looked at, a row a block.
#[derive(Default)]
pub(super) struct Joins {
    rows: Vec<Row>,
}

#[derive(Default)]
struct Row {
    /// Nodes of the block that read others, each behind the other block in the upper half of the word; ascending. Some stand
    /// there twice.
    words: Vec<u64>,
    /// The other block, and the number of words with it.
    entries: Vec<(u32, u32)>,
}

impl Joins {
    /// The blocks that a block reads, and the number of its nodes that read each.
    pub(super) fn of(&self, block: u32) -> &[(u32, u32)] {
        &self.rows[block as usize].entries
    }

    /// The nodes of a block that read another one.
    pub(super) fn nodes(&self, block: u32, other: u32) -> impl Iterator<Item = u32> {
        let words = &self.rows[block as usize].words;
        let first = words.partition_point(|&word| word >> 32 < u64::from(other));
        words[first..].iter().take_while(move |&&word| word >> 32 == u64::from(other)).map(|&word| word as u32)
    }
}

impl Balance<'_> {
    /// Brings the joins up to date. Members that have left are removed first.
    pub(super) fn look_at(&self, joins: &mut Joins) {
        joins.rows.resize_with(self.n_blocks(), Row::default);
        let blocks = joins.rows.par_iter_mut().enumerate().with_min_len(16);
        blocks.for_each(|(block, row)| {
            let block = block as u32;
            let mut members = self.members(block);
            self.forget_departed(&mut members, block);
            self.look_at_row(row, block, &members);
            self.arrivals(block).clear();
        });
    }

    fn look_at_row(&self, row: &mut Row, block: u32, members: &[u32]) {
        // A node that went to another block may be listed there by now.
        row.words.retain(|&word| self.block(word as u32) == block && self.knows(word as u32, LISTED));
        let n_kept = row.words.len();
        for &node in members.iter().filter(|&&node| !self.knows(node, LISTED)) {
            if self.knows(node, INNER) {
                self.now_knows(node, LISTED);
                continue;
            }
            let mut last = block;
            for &other in self.graph.neighbours(node) {
                let there = self.block(other);
                if there != block && there != last {
                    last = there;
                    row.words.push(u64::from(there) << 32 | u64::from(node));
                }
            }
            self.now_knows(node, if last == block { LISTED | INNER | SETTLED } else { LISTED });
        }
        if row.words.len() == n_kept && row.entries.iter().map(|entry| entry.1 as usize).sum::<usize>() == n_kept {
            return;
        }
        // Merges the two ascending stretches.
        row.words[n_kept..].sort_unstable();
        row.words.sort();
        row.entries.clear();
        let joins = row.words.chunk_by(|a, b| a >> 32 == b >> 32);
        row.entries.extend(joins.map(|join| ((join[0] >> 32) as u32, join.len() as u32)));
    }
}

#[cfg(test)]
mod tests {
    use super::super::Balance;
    use super::Joins;
    use crate::partition::NodeGraph;

    /// A square of nodes that are linked with all eight round them.
    fn square(edge: u32) -> NodeGraph {
        let nodes = (0..edge).flat_map(|y| (0..edge).map(move |x| (x, y)));
        let links = nodes.flat_map(|(x, y)| {
            let near = |at: u32| at.saturating_sub(1)..=(at + 1).min(edge - 1);
            let others = near(y).flat_map(move |j| near(x).map(move |i| i + edge * j));
            others.map(move |other| (x + edge * y, other)).filter(|(node, other)| node != other)
        });
        NodeGraph::from_links((edge * edge) as usize, links)
    }

    #[test]
    fn joins_that_were_kept_are_those_of_all_links() {
        let (edge, n_blocks) = (24, 12);
        let (graph, n) = (square(edge), edge * edge);
        let labels: Vec<u32> = (0..n).collect();
        let first: Vec<u32> = (0..=n_blocks).map(|block| block * n / n_blocks).collect();
        let state = Balance::new(&graph, &labels, &first, 64);
        let mut joins = Joins::default();
        for step in 0..60 {
            let node = (step * 67 + 5) % n;
            let (from, to) = (state.block(node), (state.block(node) + 1) % n_blocks);
            state.give(node, from, to);
            if step % 3 > 0 {
                continue;
            }
            state.look_at(&mut joins);
            for block in 0..n_blocks {
                let mut expected: Vec<(u32, u32)> = Vec::new();
                for node in (0..n).filter(|&node| state.block(node) == block) {
                    let mut last = block;
                    for there in graph.neighbours(node).iter().map(|&other| state.block(other)) {
                        if there != block && there != last {
                            expected.push((there, node));
                            last = there;
                        }
                    }
                }
                expected.sort_unstable();
                let others = joins.of(block).iter().map(|entry| entry.0);
                let found: Vec<(u32, u32)> =
                    others.flat_map(|other| joins.nodes(block, other).map(move |node| (other, node))).collect();
                assert_eq!(found, expected, "block {block} after step {step}");
                let lengths: usize = joins.of(block).iter().map(|entry| entry.1 as usize).sum();
                assert_eq!(lengths, expected.len());
            }
        }
    }
}
