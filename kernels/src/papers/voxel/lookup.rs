//! Elements whose nodes are looked up in the papers' tables: offset tables (Kellenberger 2013) or perfect hashes.

use pogo_formats::voxel::{HashView, OffsetView};

use crate::voxel::NodeTables;

/// Offset tables of the levels, the finest first.
#[derive(Debug)]
pub struct OffsetTables<'a>(pub Vec<OffsetView<'a>>);

impl NodeTables for OffsetTables<'_> {
    fn name(&self) -> &'static str {
        "offset"
    }

    fn n_nodes(&self, level: usize) -> Option<usize> {
        self.0.get(level).map(|table| table.n_nodes)
    }

    #[inline]
    fn nodes(&self, level: usize, element: usize) -> [u32; 8] {
        self.0[level].nodes(element)
    }
}

/// Perfect hashes of the levels, the finest first.
#[derive(Debug)]
pub struct HashTables<'a>(pub Vec<HashView<'a>>);

impl NodeTables for HashTables<'_> {
    fn name(&self) -> &'static str {
        "hash"
    }

    fn n_nodes(&self, level: usize) -> Option<usize> {
        self.0.get(level).map(HashView::n_nodes)
    }

    #[inline]
    fn nodes(&self, level: usize, element: usize) -> [u32; 8] {
        self.0[level].nodes(element)
    }
}
