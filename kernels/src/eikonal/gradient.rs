//! Derivatives of arrival times, by the adjoint of the discrete solution.
//!
//! At a node that does not start, the discrete time is T = Σ λᵢ Tᵢ + √(dᵀ M d): the corners i of the element through which the
//! wave came have the weights λᵢ, and d is the way through the element. λ minimises this, so its own change counts for
//! nothing to first order (the envelope theorem):
//!
//! ```text
//! dT = Σ λᵢ dTᵢ + dᵀ dM d / (2 √(dᵀ M d))
//! ```
//!
//! [`Walk::derivative`] follows this back: a *mass* 1 begins at a node, leaves dᵀ dM d / 2r in the element and goes on to the
//! corners with the weights λᵢ, until all of it has come to starts. This is the exact derivative of the discrete solution. It
//! exists where one element and one choice of face, edge or corner gives the least time; where two do, the solver's choice
//! gives the derivative to one side.
//!
//! Nodes are taken by falling time. Where an element is obtuse in its metric, a corner with a weight may be later than the
//! node: its mass waits for its next turn. A round of such nodes divides its mass at each turn, so the rest falls in
//! geometric steps; what is below 1e-18 of the beginning is dropped.

use std::collections::{BinaryHeap, HashMap};

use super::paths::upwind;
use super::problem::EikonalProblem;
use super::products::product;
use super::tree::{Joint, TreeOrigin, TreeTimes};
use crate::simd::Real;

/// Where the time of a node comes from that does not come through an element.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs)]
pub enum Origin {
    /// It starts; perhaps by a tree, through a coupling.
    Start { by_tree: Option<u32> },
    /// It lies in the ball of exact times of the start at a node, which perhaps starts by a tree.
    Ball { centre: u32, by_tree: Option<u32> },
}

/// A way through an element, of which weight × dᵀ dM d / (2 time) is a part of the derivative.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Crossing {
    /// Element, solver index.
    pub element: u32,
    /// Mass that went this way; in balls the element's share in the mean metric, too.
    pub weight: f64,
    /// d.
    pub way: [f64; 3],
    /// √(dᵀ M d); in balls with the mean metric.
    pub time: f64,
}

/// The parts of the derivative of a sum of times.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Derivative {
    /// Ways through elements.
    pub crossings: Vec<Crossing>,
    /// Mass at nodes of the tissue that start: the derivatives by their start times.
    pub starts: Vec<(u32, f64)>,
    /// Mass at nodes of trees that start.
    pub tree_starts: Vec<(u32, f64)>,
    /// Mass along edges of trees, times whose times it counts.
    pub tree_edges: Vec<(u32, f64)>,
    /// Mass through couplings to the tissue, and back.
    pub couplings: Vec<(u32, f64)>,
    /// The same from the tissue to the tree.
    pub couplings_back: Vec<(u32, f64)>,
}

/// A solution whose times are derived.
pub struct Walk<'a, T> {
    /// The mesh and its metrics.
    pub problem: &'a EikonalProblem<'a>,
    /// Times of the tissue.
    pub time: &'a [T],
    /// Nodes whose times do not come through elements.
    pub origin: &'a HashMap<u32, Origin>,
    /// Trees with their times.
    pub trees: Option<(&'a Joint, &'a TreeTimes)>,
}

/// A node in the queue, the latest first; nodes of trees follow those of the tissue.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Waiting {
    time: f64,
    node: usize,
}

impl Eq for Waiting {}

impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.time.total_cmp(&other.time).then(self.node.cmp(&other.node))
    }
}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// Masses on their way.
#[derive(Default)]
struct Masses {
    mass: HashMap<usize, f64>,
    queue: BinaryHeap<Waiting>,
}

impl Masses {
    fn add(&mut self, time: f64, node: usize, mass: f64) {
        let queue = &mut self.queue;
        *self.mass.entry(node).or_insert_with(|| {
            queue.push(Waiting { time, node });
            0.0
        }) += mass;
    }

    fn next(&mut self) -> Option<(usize, f64)> {
        let node = self.queue.pop()?.node;
        Some((node, self.mass.remove(&node).unwrap_or_default()))
    }
}

impl<T: Real> Walk<'_, T> {
    /// The derivative of Σ weight × T over nodes.
    pub fn derivative(&self, seeds: &[(u32, f64)]) -> Derivative {
        let n = self.time.len();
        let (mut found, mut masses) = (Derivative::default(), Masses::default());
        let total: f64 = seeds.iter().map(|(_, weight)| weight.abs()).sum();
        for &(node, weight) in seeds {
            masses.add(self.time[node as usize].to_f64(), node as usize, weight);
        }
        while let Some((node, mass)) = masses.next() {
            if mass.abs() <= 1e-18 * total {
                continue;
            }
            if node >= n {
                self.along_tree((node - n) as u32, mass, &mut found, &mut masses);
                continue;
            }
            match self.origin.get(&(node as u32)) {
                Some(&Origin::Ball { centre, by_tree }) => {
                    self.ball(node, centre, mass, &mut found);
                    self.at_start((centre, by_tree), mass, &mut found, &mut masses);
                }
                Some(&Origin::Start { by_tree }) => {
                    self.at_start((node as u32, by_tree), mass, &mut found, &mut masses);
                }
                None => self.through_element(node, mass, &mut found, &mut masses),
            }
        }
        found
    }

    /// What comes to the start time of a node, perhaps from a tree.
    fn at_start(&self, start: (u32, Option<u32>), mass: f64, found: &mut Derivative, masses: &mut Masses) {
        match (start.1, self.trees) {
            (Some(coupling), Some((joint, trees))) => {
                found.couplings.push((coupling, mass));
                let from = joint.couplings[coupling as usize].node;
                masses.add(trees.time[from as usize], self.time.len() + from as usize, mass);
            }
            _ => found.starts.push((start.0, mass)),
        }
    }

    fn along_tree(&self, node: u32, mass: f64, found: &mut Derivative, masses: &mut Masses) {
        let Some((joint, trees)) = self.trees else { return };
        match trees.origin[node as usize] {
            TreeOrigin::Never => {}
            TreeOrigin::Start => found.tree_starts.push((node, mass)),
            TreeOrigin::Edge(edge) => {
                found.tree_edges.push((edge, mass));
                if let Some(from) = joint.other_end(node, edge) {
                    masses.add(trees.time[from as usize], self.time.len() + from as usize, mass);
                }
            }
            TreeOrigin::Tissue(coupling) => {
                found.couplings_back.push((coupling, mass));
                let from = joint.couplings[coupling as usize].tissue;
                masses.add(self.time[from as usize].to_f64(), from as usize, mass);
            }
        }
    }

    fn through_element(&self, node: usize, mass: f64, found: &mut Derivative, masses: &mut Masses) {
        let mesh = &self.problem.mesh;
        let Some((element, weight)) = upwind(self.problem, self.time, node) else { return };
        let Some(metric) = self.problem.metrics.of(element as usize) else { return };
        let mut way = mesh.point(node);
        for (&corner, weight) in mesh.nodes(element as usize).iter().zip(weight).filter(|(_, weight)| *weight != 0.0) {
            let x = mesh.point(corner as usize);
            (0..3).for_each(|k| way[k] -= weight * x[k]);
            masses.add(self.time[corner as usize].to_f64(), corner as usize, weight * mass);
        }
        found.crossings.push(Crossing { element, weight: mass, way, time: product(&metric, way, way).sqrt() });
    }

    /// The straight way from a start to a node in its ball, in the mean of the metrics round both.
    fn ball(&self, node: usize, centre: u32, mass: f64, found: &mut Derivative) {
        let mesh = &self.problem.mesh;
        let (x, start) = (mesh.point(node), mesh.point(centre as usize));
        let way: [f64; 3] = std::array::from_fn(|k| x[k] - start[k]);
        let first = found.crossings.len();
        let mut square = 0.0;
        for end in [node, centre as usize] {
            let open = || {
                mesh.round(end).iter().map(|entry| entry / 4).filter(|&e| self.problem.metrics.of(e as usize).is_some())
            };
            let share = 0.5 / open().count().max(1) as f64;
            for element in open() {
                let metric = self.problem.metrics.of(element as usize).unwrap_or_default();
                square += share * product(&metric, way, way);
                found.crossings.push(Crossing { element, weight: share * mass, way, time: 0.0 });
            }
        }
        let time = square.sqrt();
        found.crossings[first..].iter_mut().for_each(|crossing| crossing.time = time);
    }
}
