//! Perfect spatial hash of the nodes (Lefebvre and Hoppe, ACM Transactions on Graphics 25, 2006), in one dimension as in
//! Section 3.2.1 of Arbenz, Flaig and Kellenberger, eq. (7), and Section 3.1 of Kellenberger's thesis.
//!
//! The key of a node is its Morton code. With T tables, T a power of two (1: the papers' `hash`; else their multi-hash), key κ
//! is in table t = κ mod T, and with k = ⌊κ / T⌋, m slots and r shifts in that table,
//!
//! h(k) = (k mod m + s Φ[k mod r]) mod m, s = ⌈m / 2¹⁶⌉.
//!
//! The factor s lets 16-bit shifts reach the whole table; without it dense ranges of keys that fall upon each other cannot
//! part. A slot holds the number of its node; an empty slot holds 0, and since a key is compared with that of the node found,
//! it needs no mark.

use super::morton_corners;
use crate::block::{Counts, tables};

tables! {
    /// The hash of one level.
    #[derive(Default)]
    pub struct HashLevel, #[derive(Copy)] HashView as level {
        /// Voxels along x, y and z.
        pub size: Counts,
        /// Lower 32 bits of the Morton code of each node, (n_nodes,).
        pub node_key: Vec<u32>,
        /// Upper bits of Morton codes that occur, ascending, (n_upper,).
        pub upper: Vec<u32>,
        /// First node with these upper bits, (n_upper + 1,).
        pub upper_first: Vec<u32> [offsets(level.upper.len(), level.n_nodes())],
        /// First node of each element, the one at its lowest corner, ascending, (n_elements,).
        pub element_node: Vec<u32> [all_below(level.n_nodes())],
        /// First slot of each table, (n_tables + 1,).
        pub slot_first: Vec<u64> [offsets(level.n_tables(), level.slots.len())],
        /// First shift of each table, (n_tables + 1,).
        pub shift_first: Vec<u64> [offsets(level.n_tables(), level.shifts.len())],
        /// H: node of each slot; 0 where empty.
        pub slots: Vec<u32> [all_below(level.n_nodes())],
        /// Φ.
        pub shifts: Vec<u16>,
    }
}

/// What shifts are multiplied with in a table of `slots` slots.
pub fn stride(slots: u64) -> u64 {
    slots.div_ceil(1 << 16)
}

impl HashView<'_> {
    /// Number of elements.
    pub fn n_elements(&self) -> usize {
        self.element_node.len()
    }

    /// Number of nodes.
    pub fn n_nodes(&self) -> usize {
        self.node_key.len()
    }

    /// Number of tables, a power of two.
    pub fn n_tables(&self) -> usize {
        self.slot_first.len().saturating_sub(1)
    }

    /// Nodes over slots.
    pub fn occupancy(&self) -> f64 {
        self.n_nodes() as f64 / self.slots.len() as f64
    }

    /// Morton code of a node.
    ///
    /// # Panics
    /// If there is no such node.
    pub fn code(&self, node: u32) -> u64 {
        // A level has one or few of them.
        let upper = match self.upper.len() {
            1 => 0,
            _ => self.upper_first.partition_point(|&first| first <= node) - 1,
        };
        u64::from(self.upper[upper]) << 32 | u64::from(self.node_key[node as usize])
    }

    /// What the slot of a key holds: its node if it has one, else any.
    fn slot(&self, key: u64) -> Option<u32> {
        let n_tables = self.n_tables();
        let (table, k) = (key as usize & (n_tables - 1), key >> n_tables.trailing_zeros());
        let (first, m) = (self.slot_first[table], self.slot_first[table + 1] - self.slot_first[table]);
        let (first_shift, r) = (self.shift_first[table], self.shift_first[table + 1] - self.shift_first[table]);
        if m == 0 {
            return None;
        }
        let shift = u64::from(self.shifts[(first_shift + k % r) as usize]);
        Some(self.slots[(first + (k % m + shift * stride(m)) % m) as usize])
    }

    /// The node with a Morton code, if there is one.
    pub fn node(&self, code: u64) -> Option<u32> {
        self.slot(code).filter(|&node| self.code(node) == code)
    }

    /// The eight nodes of an element, corner c at (c & 1, c >> 1 & 1, c >> 2). All are below `n_nodes`.
    ///
    /// # Panics
    /// If there is no such element.
    pub fn nodes(&self, element: usize) -> [u32; 8] {
        let first = self.element_node[element];
        let corners = morton_corners(self.code(first));
        std::array::from_fn(|c| if c == 0 { first } else { self.slot(corners[c]).unwrap_or(first) })
    }
}
