//! Nodes: their places, ties of nodes that are one, and displacements that are copied from node to node.

use super::cursor::{Codes, Integers, beyond};
use super::layout::{Layout, Tie};
use super::{Findings, Found};
use crate::dynamics::CopiedDisplacements;
use crate::read::deck::Deck;
use crate::words::counted;

/// Nodes a code of a degree of freedom is divided by.
const CODES_A_NODE: u64 = 4;
/// Tied nodes coincide within this part of the model's size.
const TOLERANCE: f64 = 1e-6;

/// The nodes of a file.
pub(super) struct Nodes {
    dimension: usize,
    n: usize,
    /// m, (n, dimension), row-major.
    positions: Vec<f64>,
    /// Node that stands for each node; empty where each stands for itself.
    of: Vec<u32>,
}

impl Nodes {
    /// Reads the places.
    ///
    /// # Errors
    /// A coordinate that is not finite.
    pub fn read(layout: &Layout) -> Found<Self> {
        let positions = layout.positions.finite("a node position")?;
        Ok(Self { dimension: layout.dimension, n: layout.n_nodes, positions, of: Vec::new() })
    }

    pub fn len(&self) -> usize {
        self.n
    }

    pub fn dimension(&self) -> usize {
        self.dimension
    }

    pub fn take_positions(&mut self) -> Vec<f64> {
        std::mem::take(&mut self.positions)
    }

    /// The node that stands for a node of the file.
    pub fn stands_for(&self, node: u32) -> u32 {
        self.of.get(node as usize).copied().unwrap_or(node)
    }

    /// Whether each node stands for itself.
    pub fn are_themselves(&self) -> bool {
        self.of.is_empty()
    }

    /// Nodes and components of a list.
    ///
    /// # Errors
    /// The first code of a node or a component that is not there, and its place.
    pub fn dofs(&self, codes: Codes, what: &str) -> Found<Vec<(u32, u8)>> {
        let dof = |(code, at): (u64, usize)| {
            let (node, component) = (code / CODES_A_NODE, code % CODES_A_NODE);
            if node >= self.n as u64 {
                return Err(beyond(&format!("{what}: a node"), node as i64, self.n, at));
            }
            if component >= self.dimension as u64 {
                let (n, component) = (self.dimension, component + 1);
                return Err(format!(
                    "{what}: component {component} at byte {at}, and nodes have {n}: the file is damaged"
                ));
            }
            Ok((self.stands_for(node as u32), component as u8))
        };
        codes.iter().map(dof).collect()
    }

    fn position(&self, node: u32) -> &[f64] {
        &self.positions[node as usize * self.dimension..][..self.dimension]
    }

    fn distance(&self, a: u32, b: u32) -> f64 {
        let squares = self.position(a).iter().zip(self.position(b)).map(|(a, b)| (a - b) * (a - b));
        squares.sum::<f64>().sqrt()
    }

    /// Length of the diagonal of the box around all nodes, m.
    fn size(&self) -> f64 {
        let extent = |axis: usize| {
            let along = || self.positions.iter().skip(axis).step_by(self.dimension);
            let (low, high) = along().fold((f64::MAX, f64::MIN), |(low, high), &x| (low.min(x), high.max(x)));
            (high - low).max(0.0)
        };
        (0..self.dimension).map(|axis| extent(axis).powi(2)).sum::<f64>().sqrt()
    }

    /// Makes tied nodes one, or refuses what is no such tie.
    ///
    /// # Errors
    /// A node that is not there.
    pub fn tie(&mut self, layout: &Layout, base: Option<u8>, findings: &mut Findings) -> Found<()> {
        let n_pairs: usize = layout.ties.iter().map(|tie| tie.masters.len()).sum();
        let what = format!("ties of {} of nodes", counted(n_pairs, "pair"));
        if n_pairs == 0 || findings.ignores("TIES", &what) {
            return Ok(());
        }
        let remedy = "join the meshes there, or --ignore TIES leaves ties out";
        for (number, tie) in (1..).zip(&layout.ties) {
            if !is_identity(&tie.transform, layout.dofs_a_node) {
                findings
                    .error(format!("tie set {number}: a transform other than the identity is not computed: {remedy}"));
                return Ok(());
            }
        }
        let bases = base.map_or(vec![1, 0], |base| vec![base]);
        let mut farthest = f64::INFINITY;
        for &base in &bases {
            let Some(pairs) = self.pairs(&layout.ties, base) else { continue };
            let distance = pairs.iter().map(|&(a, b)| self.distance(a, b)).fold(0.0, f64::max);
            if distance <= TOLERANCE * self.size() {
                self.join(&pairs);
                findings.note(format!("{what}, counted from {base}: each pair coincides and becomes one node"));
                return Ok(());
            }
            farthest = farthest.min(distance);
        }
        if farthest.is_finite() {
            let text = "nodes that do not coincide are tied";
            findings.error(format!("{text} (up to {farthest} m apart), which is not computed: {remedy}"));
            return Ok(());
        }
        Err(format!("ties: a node number is beyond the {} nodes, whether counted from 0 or 1", self.n))
    }

    /// Tied nodes; none where a number is beyond the nodes.
    fn pairs(&self, ties: &[Tie], base: u8) -> Option<Vec<(u32, u32)>> {
        let node = |found: u32| found.checked_sub(u32::from(base)).filter(|&node| (node as usize) < self.n);
        let all = ties.iter().flat_map(|tie| tie.masters.unsigned().zip(tie.slaves.unsigned()));
        all.map(|(master, slave)| Some((node(master)?, node(slave)?))).collect()
    }

    fn join(&mut self, pairs: &[(u32, u32)]) {
        self.of = (0..self.n as u32).collect();
        for &(master, slave) in pairs {
            let (master, slave) = (self.root(master), self.root(slave));
            self.of[slave as usize] = master;
        }
        for node in 0..self.n as u32 {
            self.of[node as usize] = self.root(node);
        }
    }

    fn root(&mut self, mut node: u32) -> u32 {
        while self.of[node as usize] != node {
            // Halves the way of later searches.
            let next = self.of[node as usize];
            self.of[node as usize] = self.of[next as usize];
            node = next;
        }
        node
    }

    /// What the model sends to itself after each increment: u of some nodes becomes that of others.
    ///
    /// # Errors
    /// Lists that are damaged.
    pub fn exchange(&self, layout: &Layout, deck: &mut Deck, findings: &mut Findings) -> Found<()> {
        let exchange = &layout.exchange;
        let n_nodes: usize = exchange.lists.iter().map(|(_, to)| to.len()).sum();
        let what = format!("displacements of {} are copied from others (mpi)", counted(n_nodes, "node"));
        if exchange.n_divisions == 0 || n_nodes == 0 || findings.ignores("MPI", &what) {
            return Ok(());
        }
        let &[(from, to)] = exchange.lists.as_slice() else {
            findings.error(format!(
                "the file is part {} of a model that is divided into {} (mpi): make one file of the whole model",
                u64::from(exchange.this_division) + 1,
                exchange.n_divisions
            ));
            return Ok(());
        };
        if from.len() != to.len() {
            let (sent, received) = (from.len(), to.len());
            return Err(format!(
                "mpi: {sent} nodes are sent (byte {}) and {received} received: the file is damaged",
                from.at
            ));
        }
        let list = |list: Integers, what: &str| {
            let nodes = list.indices(self.n, what)?;
            Ok::<Vec<u32>, String>(nodes.into_iter().map(|node| self.stands_for(node)).collect())
        };
        let mut copied = CopiedDisplacements {
            from: list(from, "mpi: a node that is sent")?,
            to: list(to, "mpi: a node that is received")?,
        };
        let mut targets = copied.to.clone();
        targets.sort_unstable();
        if let Some(twice) = targets.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(format!("mpi: node {} is received twice (byte {}): the file is damaged", twice[0] + 1, to.at));
        }
        copied.follow_chains().map_err(|node| {
            format!("mpi: node {} is sent to itself, perhaps over others (byte {})", node + 1, to.at)
        })?;
        deck.copied = copied;
        Ok(())
    }
}

fn is_identity(transform: &[f64], n: usize) -> bool {
    let expected = |at: usize| if at.is_multiple_of(n + 1) { 1.0 } else { 0.0 };
    transform.iter().enumerate().all(|(at, value)| (value - expected(at)).abs() <= 1e-6)
}
