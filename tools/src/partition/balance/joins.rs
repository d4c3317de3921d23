//! The joins between blocks. Passing nodes changes few of them, so only what was touched since is looked at again.

use rayon::prelude::*;

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
