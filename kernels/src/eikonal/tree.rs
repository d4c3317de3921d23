//! Trees of fibres, such as Purkinje trees, and their coupling with the tissue at junctions.
//!
//! On an edge the Eikonal equation has one dimension and its solution is exact: the wave takes length / speed. So the times
//! of a tree are those of shortest paths (Dijkstra). At a junction between node k of a tree and node j of the tissue
//!
//! ```text
//! T_j ≤ t_k + delay,   t_k ≤ T_j + delay_back
//! ```
//!
//! [`Joint::solve`] finds the largest times that all local solves, all edges and all junctions allow. It computes tree and
//! tissue in turn: the tree from its starts and from the tissue's times at junctions, the tissue from its starts and from
//! the tree's times at junctions, until no junction would make the tissue earlier.
//!
//! **It ends.** A further round takes place only if some junction lowers the time of its node of the tissue, by more than
//! rounding. A start that is added, or becomes earlier, never makes a time later. So at least one of finitely many times at
//! junctions falls in each further round and none rises. Times are floating-point numbers above the earliest start, of which
//! there are finitely many.
//!
//! **What it finds** is what one set of sweeps over tree and tissue together would find: both begin with +∞ everywhere,
//! apply updates which do not decrease when their input increases, and end where none of them lowers a time. By monotony
//! every such sequence ends at the same largest fixed point (to rounding). In practice there are as many rounds as the
//! wave's earliest paths change between tree and tissue, mostly two or three.
//!
//! The tissue is solved as a whole by whatever solves it, CPU, GPU or several ranks, so results have the bits that it has.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use pogo_formats::eikonal::TreesView;

use super::problem::{Arrival, EikonalError};
use crate::simd::Real;

/// How the wave came to a node of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeOrigin {
    /// Not at all.
    Never,
    /// It starts there.
    Start,
    /// Along this edge.
    Edge(u32),
    /// Through this coupling, from the tissue.
    Tissue(u32),
}

/// Times at the nodes of trees.
#[derive(Debug, Clone, PartialEq)]
pub struct TreeTimes {
    /// +∞ where no wave comes.
    pub time: Vec<f64>,
    /// Where it came from.
    pub origin: Vec<TreeOrigin>,
}

/// A junction of a node of a tree with a node of the tissue.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Coupling {
    /// Node of the trees.
    pub node: u32,
    /// Node of the tissue, solver index.
    pub tissue: u32,
    /// Time from the tree to the tissue.
    pub delay: f64,
    /// Time from the tissue to the tree.
    pub delay_back: f64,
}

/// Trees that are coupled to a tissue.
#[derive(Debug, Clone)]
pub struct Joint {
    /// First entry of each node in `others`.
    first: Vec<u32>,
    /// Edges round each node: the other node and the edge.
    others: Vec<(u32, u32)>,
    /// Time along each edge; +∞ blocks.
    edge_time: Vec<f64>,
    /// Junctions.
    pub couplings: Vec<Coupling>,
    /// Nodes of the trees where the wave starts, with times.
    pub starts: Vec<(u32, f64)>,
}

/// Times of tissue and trees together.
#[derive(Debug, Clone)]
pub struct JointArrival<T> {
    /// Of the tissue.
    pub tissue: Arrival<T>,
    /// Of the trees.
    pub trees: TreeTimes,
    /// Nodes of the tissue that start by a tree: node, time, coupling; ascending by node.
    pub by_tree: Vec<(u32, f64, u32)>,
    /// Solves of the tissue.
    pub rounds: u32,
}

/// What differs by rounding only, relative to a time.
fn rounding<T: Real>(time: f64) -> f64 {
    (if size_of::<T>() == 4 { 1e-6 } else { 4e-15 }) * time.abs()
}

impl Joint {
    /// Trees with the speeds of their settings, or a factor on those of their edges.
    pub fn new(trees: &TreesView, speeds: &[f64], couplings: Vec<Coupling>, starts: Vec<(u32, f64)>) -> Self {
        let mut edge_time = vec![0.0; trees.n_edges()];
        for (tree, &speed) in speeds.iter().enumerate() {
            for edge in trees.edges_of(tree) {
                let [a, b] = trees.ends(edge).map(|node| trees.point(node as usize));
                let length = (0..3).map(|k| (b[k] - a[k]).powi(2)).sum::<f64>().sqrt();
                let speed = speed * trees.speeds.get(edge).copied().unwrap_or(1.0);
                edge_time[edge] = if speed > 0.0 { length / speed } else { f64::INFINITY };
            }
        }
        let mut first = vec![0_u32; trees.n_nodes() + 1];
        trees.edges.iter().for_each(|&node| first[node as usize + 1] += 1);
        (1..first.len()).for_each(|node| first[node] += first[node - 1]);
        let (mut next, mut others) = (first.clone(), vec![(0, 0); trees.edges.len()]);
        for edge in 0..trees.n_edges() {
            let [a, b] = trees.ends(edge);
            for (from, to) in [(a, b), (b, a)] {
                others[next[from as usize] as usize] = (to, edge as u32);
                next[from as usize] += 1;
            }
        }
        Self { first, others, edge_time, couplings, starts }
    }

    /// Time along an edge.
    pub fn edge_time(&self, edge: u32) -> f64 {
        self.edge_time[edge as usize]
    }

    /// The node at the other end of an edge.
    pub fn other_end(&self, node: u32, edge: u32) -> Option<u32> {
        let round = &self.others[self.first[node as usize] as usize..self.first[node as usize + 1] as usize];
        round.iter().find(|(_, other)| *other == edge).map(|(node, _)| *node)
    }

    /// Times of the trees alone; `from_tissue` is the time that each coupling brings.
    fn trees(&self, from_tissue: &[f64]) -> TreeTimes {
        let n = self.first.len() - 1;
        let mut found = TreeTimes { time: vec![f64::INFINITY; n], origin: vec![TreeOrigin::Never; n] };
        // Times as ordered bits: sign and magnitude turned into two's complement.
        let ordered = |time: f64| {
            let bits = time.to_bits() as i64;
            bits ^ ((bits >> 63) as u64 >> 1) as i64
        };
        let mut heap = BinaryHeap::new();
        let brought = self.couplings.iter().zip(from_tissue).enumerate();
        let brought = brought.map(|(at, (coupling, &time))| (coupling.node, time, TreeOrigin::Tissue(at as u32)));
        let own = self.starts.iter().map(|&(node, time)| (node, time, TreeOrigin::Start));
        for (node, time, origin) in own.chain(brought) {
            if time < found.time[node as usize] {
                (found.time[node as usize], found.origin[node as usize]) = (time, origin);
                heap.push(Reverse((ordered(time), node)));
            }
        }
        while let Some(Reverse((key, node))) = heap.pop() {
            let at = node as usize;
            let time = found.time[at];
            if key != ordered(time) {
                continue;
            }
            for &(other, edge) in &self.others[self.first[at] as usize..self.first[at + 1] as usize] {
                let later = time + self.edge_time[edge as usize];
                if later < found.time[other as usize] {
                    found.time[other as usize] = later;
                    found.origin[other as usize] = TreeOrigin::Edge(edge);
                    heap.push(Reverse((ordered(later), other)));
                }
            }
        }
        found
    }

    /// Solves for trees and tissue. `solve` solves the tissue for a set of starts, to which the nodes that start by a tree
    /// are added: node, time, coupling; none where nothing starts yet.
    ///
    /// # Errors
    /// Those of `solve`.
    pub fn solve<T: Real>(
        &self,
        mut solve: impl FnMut(&[(u32, f64, u32)]) -> Result<Arrival<T>, EikonalError>,
    ) -> Result<JointArrival<T>, EikonalError> {
        let mut state = Rounds::new(self);
        loop {
            let tissue = solve(&state.by_tree())?;
            if !state.after(self, &tissue.time) {
                let Rounds { trees, given, rounds, .. } = state;
                return Ok(JointArrival { tissue, trees, by_tree: listed(&given), rounds });
            }
        }
    }
}

/// How far the rounds of a joint solve are.
#[derive(Debug, Clone)]
pub struct Rounds {
    from_tissue: Vec<f64>,
    trees: TreeTimes,
    /// Nodes of the tissue that start by a tree: time and coupling.
    given: BTreeMap<u32, (f64, u32)>,
    rounds: u32,
}

fn listed(given: &BTreeMap<u32, (f64, u32)>) -> Vec<(u32, f64, u32)> {
    given.iter().map(|(&node, &(time, coupling))| (node, time, coupling)).collect()
}

impl Rounds {
    /// Before the tissue is solved for the first time: the trees from their starts.
    pub fn new(joint: &Joint) -> Self {
        let from_tissue = vec![f64::INFINITY; joint.couplings.len()];
        let trees = joint.trees(&from_tissue);
        let mut rounds = Self { from_tissue, trees, given: BTreeMap::new(), rounds: 0 };
        rounds.give(joint, |_| f64::INFINITY);
        rounds
    }

    /// Nodes of the tissue that start by a tree in the next solve: node, time, coupling.
    pub fn by_tree(&self) -> Vec<(u32, f64, u32)> {
        listed(&self.given)
    }

    /// Times of the trees.
    pub fn trees(&self) -> &TreeTimes {
        &self.trees
    }

    /// Takes the times of the tissue over; says whether it must be solved again.
    pub fn after<T: Real>(&mut self, joint: &Joint, time: &[T]) -> bool {
        self.rounds += 1;
        let of = |node: u32| {
            let found = time[node as usize].to_f64();
            // The tissue counts from its first start, which rounds: what starts by a tree has that time.
            match self.given.get(&node) {
                Some(&(start, _)) if found >= start - rounding::<T>(start) => start,
                _ => found,
            }
        };
        for (coupling, brought) in joint.couplings.iter().zip(&mut self.from_tissue) {
            *brought = brought.min(of(coupling.tissue) + coupling.delay_back);
        }
        self.trees = joint.trees(&self.from_tissue);
        let now: BTreeMap<u32, f64> = joint.couplings.iter().map(|c| (c.tissue, of(c.tissue))).collect();
        self.give(joint, |node| now[&node] - rounding::<T>(now[&node]))
    }

    /// Adds the junctions at which the trees are earlier than `than`; says whether there are any.
    fn give(&mut self, joint: &Joint, than: impl Fn(u32) -> f64) -> bool {
        let mut any = false;
        for (at, coupling) in joint.couplings.iter().enumerate() {
            let time = self.trees.time[coupling.node as usize] + coupling.delay;
            let least = self.given.get(&coupling.tissue).map_or(f64::INFINITY, |given| given.0);
            if time < than(coupling.tissue).min(least) {
                self.given.insert(coupling.tissue, (time, at as u32));
                any = true;
            }
        }
        any
    }
}
