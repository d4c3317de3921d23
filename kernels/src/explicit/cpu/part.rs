//! What the inner loop reads of one block.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;

use pogo_formats::explicit::block::Run as ModelRun;
use pogo_formats::mesh::ElementKind;

use super::super::{Problem, StepperError};
use super::forces::grain;
use super::join::{Joined, Members};
use super::scale::Scale;
use super::strips::{find_strips, rows, shapes};
use super::tables::{Law, Run, computes_once, n_dummies};
use crate::simd::Real;

/// What one block adds to the tables.
pub(super) struct Part<T> {
    pub own: Vec<Range<usize>>,
    pub coordinates: Vec<T>,
    pub halo: Vec<u32>,
    /// With ranges in `offsets` and `factors` of the part.
    pub runs: Vec<Run>,
    pub offsets: Vec<u16>,
    pub factors: Vec<T>,
    pub decay: Vec<T>,
    pub dissipation: Vec<T>,
}

impl<T: Real> Part<T> {
    /// Lays the blocks of `group` out as one, for `lanes` elements at once.
    pub fn new(
        problem: &Problem,
        group: &[usize],
        scale: &Scale,
        strips: Option<Law>,
        material_of: &HashMap<(ElementKind, usize), usize>,
        lanes: usize,
    ) -> Result<Self, StepperError> {
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
        let mut part = Self {
            own,
            coordinates: Vec::with_capacity((n_real + n_dummies(dimension)) * dimension),
            halo,
            runs: Vec::new(),
            offsets: Vec::new(),
            factors: Vec::new(),
            decay: Vec::new(),
            dissipation: Vec::new(),
        };
        let own = part.own.iter().flat_map(Range::clone);
        let local = own.clone().chain(part.halo.iter().map(|&node| node as usize));
        let nodes: Vec<usize> = local.collect();
        if strips != Some(Law::EdgeStrip) {
            scale.add_coordinates(problem.mesh.coordinates, dimension, nodes.iter().copied(), &mut part.coordinates);
        }
        for members in &members {
            let material = material_of[&(members.kind, members.section)];
            match strips {
                Some(law) => part.add_strips(problem, members, scale, (law, material), &nodes, lanes),
                None => part.add_run(problem, members, material, n_real, lanes),
            }
        }
        let own = part.own.iter().flat_map(Range::clone);
        let damping = |node: usize| problem.damping_rate.get(node).copied().unwrap_or(0.0);
        if own.clone().any(|node| damping(node) != 0.0) {
            for node in own {
                let (alpha, dt) = (damping(node), problem.time_increment);
                let q = 0.5 * alpha * dt;
                part.decay.push(T::from_f64((1.0 - q) / (1.0 + q)));
                part.dissipation.push(T::from_f64(alpha * problem.lumped_mass[node] / (4.0 * dt)));
            }
        }
        Ok(part)
    }

    /// Lays elements of one kind and section out.
    fn add_run(&mut self, problem: &Problem, run: &Members, material: usize, n_real: usize, lanes: usize) {
        let factor = |e: u32| problem.stiffness_factor.get(e as usize).copied().unwrap_or(1.0);
        let mut factors: Vec<f64> = run.elements.iter().map(|&e| factor(e)).collect();
        if factors.iter().all(|&factor| factor == 1.0) {
            factors.clear();
        }
        self.add_batches(Law::of(run.kind), material, &run.connectivity, &factors, n_real, lanes);
    }

    /// Lays triangles out in strips. `nodes` are all of the block.
    fn add_strips(
        &mut self,
        problem: &Problem,
        run: &Members,
        scale: &Scale,
        (law, material): (Law, usize),
        nodes: &[usize],
        lanes: usize,
    ) {
        let rows = rows(&find_strips(&run.connectivity), lanes, nodes.len() as u16);
        let exact = scale.material(problem, run.kind, run.section);
        let half = 0.5 * if exact.isotropic { exact.elasticity[14] } else { 1.0 };
        let weight = |t: u32| {
            let e = run.elements[t as usize] as usize;
            half * problem.stiffness_factor.get(e).copied().unwrap_or(1.0)
        };
        let exact_position = |local: u16| {
            let first = 2 * nodes[usize::from(local)];
            [0, 1].map(|c| problem.mesh.coordinates[first + c] / scale.length)
        };
        let position = |local: u16| [0, 1].map(|c| self.coordinates[2 * usize::from(local) + c].to_f64());
        let shapes: Vec<T> = if law == Law::EdgeStrip {
            shapes(&rows, (lanes, true), exact_position, weight)
        } else {
            shapes(&rows, (lanes, false), position, weight)
        };
        let (first, first_factor) = (self.offsets.len(), self.factors.len());
        self.offsets.extend(rows.nodes.iter().map(|node| grain(2) as u16 * node));
        self.factors.extend(shapes);
        let (offsets, factors) = (first..self.offsets.len(), first_factor..self.factors.len());
        self.runs.push(Run { law, material, offsets, factors });
    }

    /// Lays elements out in batches.
    fn add_batches(
        &mut self,
        law: Law,
        material: usize,
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
