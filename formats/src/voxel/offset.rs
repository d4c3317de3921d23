//! Offset tables (Section 3.2.2 of Arbenz, Flaig and Kellenberger; Section 3.2 of Kellenberger's thesis).
//!
//! Each element keeps the number of its first node, the one at its lowest corner, and how far its seven others are from it.
//! In Morton order most are near: *short* elements keep seven bytes, *medium* ones seven 16-bit numbers, *long* ones
//! the numbers themselves. Elements keep their numbers: two bits for each say which kind it is, and counts say where it stands
//! among those of its kind (the papers renumber the elements by kind instead).

use crate::block::{Counts, tables};

tables! {
    /// Children of the elements and nodes of a coarse level on the next finer one. Those of (i, j, k) are at
    /// 2 (i, j, k) + (c & 1, c >> 1 & 1, c >> 2); in Morton order they are consecutive.
    #[derive(Default)]
    pub struct Transfer, #[derive(Copy)] TransferView as transfer {
        /// Bit c is set if child c of an element is there, (n_elements,).
        pub element_children: Vec<u8>,
        /// First child of each element, (n_elements,).
        pub element_first_child: Vec<u32>,
        /// Bit c is set if child c of a node is there, (n_nodes,).
        pub node_children: Vec<u8>,
        /// First child of each node, (n_nodes,).
        pub node_first_child: Vec<u32>,
    }

    /// Offset tables of one level.
    #[derive(Default)]
    pub struct OffsetLevel, #[derive(Copy)] OffsetView as level {
        /// Voxels along x, y and z.
        pub size: Counts,
        /// Number of elements.
        pub n_elements: u32,
        /// Number of nodes.
        pub n_nodes: u32,
        /// For 64 elements at a time: which are medium, and which are long, (⌈n_elements / 64⌉, 2).
        pub kind: Vec<u64> [entries(2 * level.n_elements.div_ceil(64))],
        /// Medium and long elements before these 64, (⌈n_elements / 64⌉, 2).
        pub before: Vec<u32> [entries(2 * level.n_elements.div_ceil(64))],
        /// First node of each short element, (n_short,).
        pub short_first: Vec<u32>,
        /// From there to its nodes 1 to 7, in planes, (7, n_short).
        pub short_offset: Vec<u8> [entries(7 * level.n_short())],
        /// First node of each medium element, (n_medium,).
        pub medium_first: Vec<u32>,
        /// From there to its nodes 1 to 7, in planes, (7, n_medium).
        pub medium_offset: Vec<u16> [entries(7 * level.n_medium())],
        /// Nodes of long elements, in planes, (8, n_long).
        pub long_nodes: Vec<u32> [entries(8 * level.n_long()), all_below(level.n_nodes)],
        /// To the next finer level; empty on the finest.
        pub transfer: Transfer as TransferView,
    }
}

/// Children of element or node n: (slot c, number) of each.
fn children(bitmap: &[u8], first: &[u32], n: usize) -> impl Iterator<Item = (u32, u32)> {
    let bits = bitmap[n];
    (0..8).filter(move |c| bits >> c & 1 == 1).zip(first[n]..)
}

impl<'a> TransferView<'a> {
    /// Children of an element: slot c and number of each.
    pub fn of_element(&self, element: usize) -> impl Iterator<Item = (u32, u32)> + use<'a> {
        children(self.element_children, self.element_first_child, element)
    }

    /// Children of a node: slot c and number of each.
    pub fn of_node(&self, node: usize) -> impl Iterator<Item = (u32, u32)> + use<'a> {
        children(self.node_children, self.node_first_child, node)
    }
}

impl OffsetView<'_> {
    /// Number of short elements.
    pub fn n_short(&self) -> usize {
        self.short_first.len()
    }

    /// Number of medium elements.
    pub fn n_medium(&self) -> usize {
        self.medium_first.len()
    }

    /// Number of long elements.
    pub fn n_long(&self) -> usize {
        self.long_nodes.len() / 8
    }

    /// The eight nodes of an element, corner c at (c & 1, c >> 1 & 1, c >> 2). All are below `n_nodes`.
    ///
    /// # Panics
    /// If there is no such element.
    pub fn nodes(&self, element: usize) -> [u32; 8] {
        let (word, bit) = (element / 64, element % 64);
        let (medium, long) = (self.kind[2 * word], self.kind[2 * word + 1]);
        let below = (1_u64 << bit) - 1;
        let n_medium = self.before[2 * word] as usize + (medium & below).count_ones() as usize;
        let n_long = self.before[2 * word + 1] as usize + (long & below).count_ones() as usize;
        if long >> bit & 1 == 1 {
            std::array::from_fn(|c| self.long_nodes[c * self.n_long() + n_long])
        } else if medium >> bit & 1 == 1 {
            let (n, first) = (self.n_medium(), self.medium_first[n_medium]);
            let offset = |c: usize| u32::from(self.medium_offset[(c - 1) * n + n_medium]);
            std::array::from_fn(|c| if c == 0 { first } else { first + offset(c) })
        } else {
            let at = element - n_medium - n_long;
            let (n, first) = (self.n_short(), self.short_first[at]);
            let offset = |c: usize| u32::from(self.short_offset[(c - 1) * n + at]);
            std::array::from_fn(|c| if c == 0 { first } else { first + offset(c) })
        }
    }
}
