//! Trees of fibres, such as Purkinje trees: nodes, edges and junctions with the tissue.

use crate::block::check::{Check, all_below, require};
use crate::block::{Table as _, tables};
use crate::eikonal::setup::TreeSettings;

tables! {
    /// Trees of fibres on which the wave runs along edges. Nodes and edges of one tree follow each other, as its file has
    /// them. An edge leads both ways; there may be loops.
    #[derive(Default)]
    pub struct Trees, TreesView as trees {
        /// Positions, (n, 3), in the unit of length of the job.
        pub coordinates: Vec<f64> [all_finite()],
        /// Nodes of each edge, (m, 2), from 0 over all trees.
        pub edges: Vec<u32> [all_below(trees.n_nodes())],
        /// Speed along each edge, (m,), or empty; 0 blocks.
        pub speeds: Vec<f64> [entries_or_none(trees.n_edges())],
        /// First node of each tree, (trees + 1,).
        pub node_first: Vec<u32>,
        /// First edge of each tree, (trees + 1,).
        pub edge_first: Vec<u32>,
        /// Nodes that are coupled to the tissue, ascending.
        pub junctions: Vec<u32> [all_below(trees.n_nodes())],
    }
}

impl TreesView<'_> {
    /// Nodes of all trees.
    pub fn n_nodes(&self) -> usize {
        self.coordinates.len() / 3
    }

    /// Edges of all trees.
    pub fn n_edges(&self) -> usize {
        self.edges.len() / 2
    }

    /// Number of trees.
    pub fn n_trees(&self) -> usize {
        self.node_first.len().saturating_sub(1)
    }

    /// Nodes of a tree.
    pub fn nodes_of(&self, tree: usize) -> std::ops::Range<usize> {
        self.node_first[tree] as usize..self.node_first[tree + 1] as usize
    }

    /// Edges of a tree.
    pub fn edges_of(&self, tree: usize) -> std::ops::Range<usize> {
        self.edge_first[tree] as usize..self.edge_first[tree + 1] as usize
    }

    /// Both nodes of an edge.
    pub fn ends(&self, edge: usize) -> [u32; 2] {
        self.edges.as_chunks::<2>().0[edge]
    }

    /// Position of a node.
    pub fn point(&self, node: usize) -> [f64; 3] {
        self.coordinates.as_chunks::<3>().0[node]
    }
}

/// What a solver relies on beyond the single tables; `settings` are those of each tree.
pub(super) fn check(trees: &TreesView, settings: &[TreeSettings]) -> Check {
    let n_settings = settings.len();
    Trees::check(trees)?;
    require(trees.coordinates.len().is_multiple_of(3) && trees.edges.len().is_multiple_of(2), || {
        "trees: tables that are cut".into()
    })?;
    require(trees.n_trees() == n_settings, || format!("trees: {} with {n_settings} settings", trees.n_trees()))?;
    if trees.node_first.is_empty() {
        let none = trees.edge_first.is_empty() && trees.coordinates.is_empty() && trees.edges.is_empty();
        return require(none, || "trees: nodes without a tree".into());
    }
    for (what, first, n) in
        [("nodes of trees", trees.node_first, trees.n_nodes()), ("edges of trees", trees.edge_first, trees.n_edges())]
    {
        let right = first.len() == trees.n_trees() + 1 && first[0] == 0 && first.is_sorted();
        require(right && first[first.len() - 1] as usize == n, || format!("{what}: wrong offsets"))?;
    }
    for (tree, settings) in settings.iter().enumerate() {
        let nodes = trees.nodes_of(tree);
        let own = trees.edges_of(tree).flat_map(|edge| trees.ends(edge)).all(|node| nodes.contains(&(node as usize)));
        require(own, || "trees: an edge between two trees".into())?;
        let start = settings.start.is_none_or(|(node, _)| (node as usize) < nodes.len());
        require(start, || "trees: a start that is no node".into())?;
    }
    let good = |speed: &f64| *speed >= 0.0 && speed.is_finite();
    require(trees.speeds.iter().all(good), || "trees: a speed that is none".into())?;
    all_below("junctions", trees.junctions, trees.n_nodes())?;
    require(trees.junctions.is_sorted_by(|a, b| a < b), || "junctions: not ascending".into())
}
