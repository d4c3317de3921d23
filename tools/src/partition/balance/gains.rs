//! Gains of nodes while they pass from one block to another.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// No node.
const NONE: u32 = u32::MAX;

/// Nodes in the order in which they would pass: the highest gain first, and of equal gains the lowest label. Kept for its memory.
#[derive(Default)]
pub(super) struct Gains {
    /// Gain, label and node.
    heap: BinaryHeap<(i32, Reverse<u32>, u32)>,
    /// Nodes with their gains by the hash of the node. The length is a power of two.
    table: Vec<(u32, i32)>,
    /// Places of the table that are used.
    used: Vec<u32>,
}

impl Gains {
    /// Forgets all, and makes room for so many nodes.
    pub(super) fn clear(&mut self, most: usize) {
        self.heap.clear();
        self.used.drain(..).for_each(|place| self.table[place as usize].0 = NONE);
        let size = (2 * most).next_power_of_two();
        if self.table.len() < size {
            self.table.resize(size, (NONE, 0));
        }
    }

    fn place(&self, node: u32) -> usize {
        let mask = self.table.len() - 1;
        let mut place = (node.wrapping_mul(0x9e37_79b9) >> 7) as usize & mask;
        while ![NONE, node].contains(&self.table[place].0) {
            place = (place + 1) & mask;
        }
        place
    }

    /// Whether the gain of a node is known.
    pub(super) fn knows(&self, node: u32) -> bool {
        self.table[self.place(node)].0 == node
    }

    /// Adds to the gain of a node, which `gain` gives where it is not known, and puts the node into the order.
    pub(super) fn add(&mut self, node: u32, label: u32, more: i32, gain: impl FnOnce() -> i32) {
        let place = self.place(node);
        if self.table[place].0 == NONE {
            self.used.push(place as u32);
            self.table[place] = (node, gain());
        } else {
            self.table[place].1 += more;
        }
        self.heap.push((self.table[place].1, Reverse(label), node));
    }

    /// Takes the first node.
    pub(super) fn pop(&mut self) -> Option<u32> {
        loop {
            let (gain, _, node) = self.heap.pop()?;
            // Others are from before the gain changed.
            if self.table[self.place(node)].1 == gain {
                return Some(node);
            }
        }
    }
}
