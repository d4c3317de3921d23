//! What the inner loop reads of one block.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;

use pogo_formats::explicit::block::Run as ModelRun;
use pogo_formats::mesh::ElementKind;

use super::join::{Joined, Members};
use super::lag::Lag;
use super::law::{Law, grain, n_dummies};
use super::strips::{conductances, find_strips, rows, shapes};
use crate::explicit::elements::CORNERS;
use crate::explicit::groups::computes_once;
use crate::explicit::problem::{Problem, StepperError};
use crate::explicit::units::{Units, bounds};
use crate::simd::Real;

/// Elements of one law and material in one block, in batches of as many as there are lanes.
#[derive(Debug, Clone)]
pub(super) struct Run {
    pub law: Law,
    pub material: usize,
    /// What the elements feel beside u_n.
    pub lag: Lag,
    /// In the tables' `offsets`.
    pub offsets: Range<usize>,
    /// In the tables' `factors`, or empty.
    pub factors: Range<usize>,
}

/// What the layouts of all blocks share.
pub(super) struct Layout<'a> {
    pub problem: &'a Problem<'a>,
    pub units: Units,
    /// See [`Tables`](super::tables::Tables).
    pub strips: Option<Law>,
    pub material_of: HashMap<(ElementKind, usize), usize>,
    /// Elements of a batch.
    pub lanes: usize,
}

/// The tables of one block, or of several of the file's as one. Local nodes are own nodes, halo and dummies.
#[derive(Default)]
pub(super) struct BlockTables<T> {
    /// Solver indices of its nodes, in local order.
    pub own: Vec<Range<usize>>,
    /// Positions relative to the middle of the block, (n_local, dimension); none where strips have their edges.
    pub coordinates: Vec<T>,
    /// Solver indices.
    pub halo: Vec<u32>,
    /// With ranges in `offsets` and `factors` of these tables.
    pub runs: Vec<Run>,
    pub offsets: Vec<u16>,
    pub factors: Vec<T>,
    /// r = (1 − q) / (1 + q) of own nodes, where one of them is damped.
    pub decay: Vec<T>,
    /// c / (4 Δt) of the same nodes.
    pub dissipation: Vec<T>,
}

impl<T: Real> BlockTables<T> {
    /// Lays the blocks of `group` out as one.
    pub fn new(layout: &Layout, group: &[usize]) -> Result<Self, StepperError> {
        let problem = layout.problem;
        let (blocks, dimension) = (&problem.blocks, problem.mesh.dimension);
        for &b in group {
            let n_local = blocks.own_nodes(b).len() + blocks.halo(b).len();
            blocks.runs(b).try_for_each(|run| check_run(problem, b, &run, n_local))?;
        }
        let too_large = |nodes| StepperError::BlockTooLarge { block: group[0], nodes };
        let mut joined = Joined::new(blocks, group).ok_or_else(|| too_large(usize::from(u16::MAX) + 1))?;
        if computes_once(dimension) {
            joined.keep_first();
        }
        let Joined { own, n_own, halo, members } = joined;
        let n_real = n_own + halo.len();
        if (n_real + n_dummies(dimension)) * grain(dimension) > usize::from(u16::MAX) {
            return Err(too_large(n_real));
        }
        let mut tables = Self { own, halo, ..Self::default() };
        let nodes = tables.nodes();
        if layout.strips.is_none_or(Law::reads_positions) {
            tables.set_coordinates(layout, &nodes);
        }
        for members in &members {
            match layout.strips {
                Some(law) => tables.add_strips(layout, law, members, &nodes),
                None => tables.add_run(layout, members, n_real),
            }
        }
        tables.set_damping(problem);
        Ok(tables)
    }

    /// Solver indices of own nodes and halo.
    fn nodes(&self) -> Vec<usize> {
        let own = self.own.iter().flat_map(Range::clone);
        own.chain(self.halo.iter().map(|&node| node as usize)).collect()
    }

    /// Sets the positions of the nodes relative to the middle of their box, then those of the dummies.
    fn set_coordinates(&mut self, layout: &Layout, nodes: &[usize]) {
        let (units, mesh) = (&layout.units, &layout.problem.mesh);
        let (coordinates, dimension) = (mesh.coordinates, mesh.dimension);
        let [low, high] = bounds(coordinates, dimension, nodes.iter().copied());
        let origin: [f64; 3] = std::array::from_fn(|i| units.round(0.5 * (low[i] + high[i])));
        for node in nodes {
            for i in 0..dimension {
                let x = units.round(coordinates[node * dimension + i]) - origin[i];
                self.coordinates.push(T::from_f64(x));
            }
        }
        for corner in &CORNERS[..n_dummies(dimension)] {
            self.coordinates.extend(corner[..dimension].iter().map(|&x| T::from_f64(0.5 * x)));
        }
    }

    fn set_damping(&mut self, problem: &Problem) {
        let own = self.own.iter().flat_map(Range::clone);
        if own.clone().any(|node| problem.damping_rate_of(node) != 0.0) {
            let damping = own.map(|node| problem.damping(node).map(T::from_f64));
            (self.decay, self.dissipation) = damping.map(|[decay, dissipation]| (decay, dissipation)).unzip();
        }
    }

    /// Turns a block in space into one without own nodes, which computes only the elements that touch nodes for which
    /// `receives` holds: it passes their forces on, and with the same bits as the whole block does, since they stay in
    /// their batches and lanes. None where there is no such element.
    pub fn only_passing(mut self, lanes: usize, receives: impl Fn(usize) -> bool) -> Option<Self> {
        let nodes = self.nodes();
        let wanted: Vec<bool> = nodes.iter().map(|&node| receives(node)).collect();
        let local = |offset: u16| usize::from(offset) / grain(3);
        let mut used = vec![false; nodes.len()];
        let (offsets, factors) = (std::mem::take(&mut self.offsets), std::mem::take(&mut self.factors));
        for run in &mut self.runs {
            let (n_nodes, dummies) = (run.law.n_nodes(), run.law.dummy_nodes());
            let (first, first_factor) = (self.offsets.len(), self.factors.len());
            for (batch, of_batch) in offsets[run.offsets.clone()].chunks_exact(n_nodes * lanes).enumerate() {
                let is_wanted = |lane: usize| {
                    let mut nodes = (0..n_nodes).map(|node| local(of_batch[node * lanes + lane]));
                    nodes.any(|node| wanted.get(node).is_some_and(|&wanted| wanted))
                };
                let lanes_wanted: Vec<bool> = (0..lanes).map(is_wanted).collect();
                if !lanes_wanted.contains(&true) {
                    continue;
                }
                for (at, &offset) in of_batch.iter().enumerate() {
                    let (node, is_wanted) = (at / lanes, lanes_wanted[at % lanes]);
                    if let (true, Some(used)) = (is_wanted, used.get_mut(local(offset))) {
                        *used = true;
                    }
                    let dummy = grain(3) as u16 * (nodes.len() as u16 + dummies[node]);
                    self.offsets.push(if is_wanted { offset } else { dummy });
                }
                let of_batch = factors[run.factors.clone()].chunks_exact(lanes).nth(batch);
                self.factors.extend_from_slice(of_batch.unwrap_or_default());
            }
            (run.offsets, run.factors) = (first..self.offsets.len(), first_factor..self.factors.len());
        }
        self.runs.retain(|run| !run.offsets.is_empty());
        self.keep_nodes(&nodes, &used);
        (!self.runs.is_empty()).then_some(self)
    }

    /// Drops all nodes but those that are used and the dummies; those that stay are halo.
    fn keep_nodes(&mut self, nodes: &[usize], used: &[bool]) {
        let is_kept = |local: usize| used.get(local).is_none_or(|&used| used);
        let mut place = vec![0; nodes.len() + n_dummies(3)];
        let mut coordinates = Vec::new();
        let kept: Vec<usize> = (0..place.len()).filter(|&local| is_kept(local)).collect();
        for (next, local) in kept.into_iter().enumerate() {
            place[local] = next;
            coordinates.extend_from_slice(&self.coordinates[3 * local..3 * local + 3]);
        }
        self.coordinates = coordinates;
        self.halo = nodes.iter().zip(used).filter(|(_, used)| **used).map(|(&node, _)| node as u32).collect();
        self.own = std::iter::once(0..0).collect();
        (self.decay, self.dissipation) = (Vec::new(), Vec::new());
        for offset in &mut self.offsets {
            *offset = (place[usize::from(*offset) / grain(3)] * grain(3)) as u16;
        }
    }

    /// Lays elements of one kind and section out.
    fn add_run(&mut self, layout: &Layout, run: &Members, n_real: usize) {
        let mut factors: Vec<f64> = run.elements.iter().map(|&e| layout.problem.stiffness_factor_of(e)).collect();
        if factors.iter().all(|&factor| factor == 1.0) {
            factors.clear();
        }
        let material = layout.material_of[&(run.kind, run.section)];
        let rule = (Law::Element(run.kind.law()), material, Lag::of(layout.problem, run.section));
        self.add_batches(rule, &run.connectivity, &factors, n_real, layout.lanes);
    }

    /// Lays triangles out in strips, of the kind given if they are solids. `nodes` are own nodes and halo.
    fn add_strips(&mut self, layout: &Layout, solids: Law, run: &Members, nodes: &[usize]) {
        let law = if run.kind.is_acoustic() { Law::FluidStrip } else { solids };
        let Layout { problem, units, lanes, .. } = layout;
        let (lanes, material) = (*lanes, layout.material_of[&(run.kind, run.section)]);
        let rows = rows(&find_strips(&run.connectivity), lanes, nodes.len() as u16);
        let exact = units.material(problem, run.kind, run.section);
        let half = 0.5
            * match law {
                Law::FluidStrip => exact.elasticity[0],
                _ if exact.isotropic => exact.elasticity[14],
                _ => 1.0,
            };
        let weight = |t: u32| half * problem.stiffness_factor_of(run.elements[t as usize]);
        let exact_position = |local: u16| {
            let first = 2 * nodes[usize::from(local)];
            [0, 1].map(|c| problem.mesh.coordinates[first + c] / units.length)
        };
        let position = |local: u16| [0, 1].map(|c| self.coordinates[2 * usize::from(local) + c].to_f64());
        let shapes: Vec<T> = match law {
            // Beside solids whose positions are rounded, those of fluids are too: so are all masses.
            Law::FluidStrip if solids.reads_positions() => conductances(&rows, lanes, position, weight),
            Law::FluidStrip => conductances(&rows, lanes, exact_position, weight),
            Law::EdgeStrip => shapes(&rows, (lanes, true), exact_position, weight),
            _ => shapes(&rows, (lanes, false), position, weight),
        };
        let (first, first_factor) = (self.offsets.len(), self.factors.len());
        self.offsets.extend(rows.nodes.iter().map(|node| grain(2) as u16 * node));
        self.factors.extend(shapes);
        let (offsets, factors) = (first..self.offsets.len(), first_factor..self.factors.len());
        let lag = Lag::of(problem, run.section);
        self.runs.push(Run { law, material, lag, offsets, factors });
    }

    /// Lays elements of a law, material and lag out in batches.
    fn add_batches(
        &mut self,
        (law, material, lag): (Law, usize, Lag),
        connectivity: &[u16],
        factors: &[f64],
        n_real: usize,
        lanes: usize,
    ) {
        let nodes = law.n_nodes();
        let grain = grain(law.dimension()) as u16;
        let dummy = law.dummy_nodes();
        let (offsets_first, factors_first) = (self.offsets.len(), self.factors.len());
        let batches = batches(connectivity, nodes, lanes);
        for batch in batches.chunks_exact(lanes) {
            for node in 0..nodes {
                self.offsets.extend(batch.iter().map(|entry| {
                    let local = entry.map_or(n_real as u16 + dummy[node], |e| connectivity[e * nodes + node]);
                    grain * local
                }));
            }
            if !factors.is_empty() {
                self.factors.extend(batch.iter().map(|entry| T::from_f64(entry.map_or(1.0, |e| factors[e]))));
            }
        }
        if !batches.is_empty() {
            self.runs.push(Run {
                law,
                material,
                lag,
                offsets: offsets_first..self.offsets.len(),
                factors: factors_first..self.factors.len(),
            });
        }
    }
}

/// The element of each lane of each batch, (n_batches, lanes). Lane l takes the l-th part of them, so that elements that
/// share nodes, which stand near each other, come in different batches: their force updates need not wait for each other.
/// Elements in lanes 2k and 2k + 1 never have the same node in the same place: their forces may be added together.
fn batches(connectivity: &[u16], nodes: usize, lanes: usize) -> Vec<Option<usize>> {
    let n = connectivity.len() / nodes;
    let share = n.div_ceil(lanes);
    let mut left: Vec<VecDeque<usize>> =
        (0..lanes).map(|lane| (lane * share).min(n)..((lane + 1) * share).min(n)).map(Iterator::collect).collect();
    let element = |e: usize| &connectivity[e * nodes..(e + 1) * nodes];
    let mut out = Vec::with_capacity(lanes * share);
    while left.iter().any(|left| !left.is_empty()) {
        for lane in 0..lanes {
            let neighbour: Option<usize> = if lane % 2 == 1 { out[out.len() - 1] } else { None };
            let fits = |&e: &usize| {
                neighbour.is_none_or(|other| element(e).iter().zip(element(other)).all(|(node, other)| node != other))
            };
            let next = left[lane].iter().position(fits).and_then(|at| left[lane].remove(at));
            out.push(next);
        }
    }
    out
}

/// Whether a run fits its block.
fn check_run(problem: &Problem, block: usize, run: &ModelRun, n_real: usize) -> Result<(), StepperError> {
    let wrong = |what| StepperError::Blocks { block, what };
    if run.connectivity.len() != run.elements.len() * run.kind.n_nodes() {
        return Err(wrong("a run's connectivity has the wrong length"));
    }
    if run.connectivity.iter().any(|&local| usize::from(local) >= n_real) {
        return Err(wrong("a run refers to a node that the block does not have"));
    }
    if run.kind.dimension() != problem.mesh.dimension {
        return Err(wrong("a run's elements have another dimension than the mesh"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_have_every_element_once_and_lanes_in_twos_never_meet() {
        for (n, n_nodes) in [(0, 5), (1, 5), (7, 5), (16, 9), (200, 30)] {
            // Many nodes in common.
            let random = |i: usize| (crate::test_support::noise(i as u64) * 1e6).abs() as usize % n_nodes;
            let connectivity: Vec<u16> = (0..4 * n).map(|i| random(i) as u16).collect();
            for lanes in [1, 4, 8] {
                let batches = batches(&connectivity, 4, lanes);
                let mut found: Vec<usize> = batches.iter().copied().flatten().collect();
                found.sort_unstable();
                assert!(found.into_iter().eq(0..n) && batches.len().is_multiple_of(lanes));
                for two in batches.chunks_exact(2).filter(|_| lanes > 1) {
                    if let &[Some(a), Some(b)] = two {
                        assert!((0..4).all(|i| connectivity[4 * a + i] != connectivity[4 * b + i]));
                    }
                }
            }
        }
    }
}
