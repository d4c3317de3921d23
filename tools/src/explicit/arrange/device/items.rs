//! Elements in space on their way into batches.

use pogo_formats::explicit::block::Run;

/// Elements of a run, or rings of its tetrahedra.
#[derive(Default)]
pub(super) struct Items {
    /// Nodes of an element.
    pub width: usize,
    /// Local indices, (n, `width`), and elements, (n,); for rings and in batches in the shape of the tables.
    pub nodes: Vec<u16>,
    pub elements: Vec<u32>,
}

impl Items {
    pub fn clear(&mut self) {
        self.nodes.clear();
        self.elements.clear();
    }

    /// Appends others of the same kind.
    pub fn append(&mut self, others: &Self) {
        self.width = others.width;
        self.nodes.extend_from_slice(&others.nodes);
        self.elements.extend_from_slice(&others.elements);
    }

    pub fn copy(&mut self, run: &Run) {
        self.width = run.kind.n_nodes();
        self.nodes.clear();
        self.nodes.extend_from_slice(run.connectivity);
        self.elements.clear();
        self.elements.extend_from_slice(run.elements);
    }
}
