//! What one thread does to the motion at the end of each step, when the blocks that it concerns have made the step: what passes
//! through ties of fluids, and the projection onto linear constraints.

use std::sync::Arc;

use pogo_formats::domains::SubDomainsView;

use super::copies::Row;
use super::held::Held;
use super::schedule::Meeting;
use super::step::{Arrays, Signals};
use super::tables::Tables;
use super::tied::Ties;
use crate::device::{append, read};
use crate::dynamics::Part;
use crate::explicit::problem::{Problem, StepperError};
use crate::ranks::{Parcel, Ranks};
use crate::simd::Real;

/// What is corrected of each step.
#[derive(Debug)]
pub(super) struct Correction {
    /// Fluids tied to solids, and those that touch what constraints move.
    ties: Option<Ties>,
    /// Linear constraints of solids and of fluids.
    held: [Option<Held>; 2],
    dimension: usize,
}

impl Correction {
    /// None where blocks make the whole step.
    ///
    /// # Errors
    /// Constraints that cannot be solved; a part of a model without a team.
    pub fn new<T: Real>(
        tables: &Tables<T>,
        problem: &Problem,
        part: &Part,
        team: Option<Team<'_>>,
    ) -> Result<Option<Self>, StepperError> {
        if !problem.has_correction() {
            return Ok(None);
        }
        if part.n_own() < problem.mesh.n_nodes() && team.is_none() {
            return Err(if problem.rows.is_empty() { StepperError::Tied } else { StepperError::Linear });
        }
        let held = problem.projections()?;
        let held = held.map(|held| held.map(|projection| Held::new(tables, problem, projection, (part, team))));
        let ties = Ties::new(tables, problem, (part, team), held[0].iter().flat_map(Held::moved));
        Ok(Some(Self { ties, held, dimension: tables.dimension }))
    }

    /// The blocks that wait for a step to be corrected.
    pub fn meeting<T: Real>(&self, tables: &Tables<T>) -> Meeting {
        let (ties, held) = (self.ties.as_ref(), || self.held.iter().flatten());
        let nodes = ties.into_iter().flat_map(|ties| ties.nodes(self.dimension));
        let nodes = nodes.chain(held().flat_map(|held| held.nodes(self.dimension)));
        Meeting::at(tables, nodes, ties.map_or(0, Ties::weight) + held().map(Held::weight).sum::<usize>())
    }

    /// Keeps Δu_n.
    pub fn keep<T: Real>(&mut self, increment: &[T]) {
        self.ties.iter_mut().for_each(|ties| ties.keep(increment));
        self.held.iter_mut().flatten().for_each(|held| held.keep(increment));
    }

    /// Corrects the motion from step n to `next` = n + 1, and what has been recorded of it. Returns what is added to the external
    /// work and to the damped energy of the whole model, J. Collective.
    ///
    /// # Safety
    /// The pointers must hold the rows that the tables name. Nobody else may touch those of nodes that are corrected, nor what has
    /// been recorded of them.
    pub unsafe fn make<T: Real>(&mut self, next: u64, signals: Signals<'_>, arrays: &Arrays<T>) -> [f64; 2] {
        let Self { ties, held: [solids, fluids], .. } = self;
        let mut sums = [0.0; 2];
        let mut add = |added: [f64; 2]| sums.iter_mut().zip(added).for_each(|(sum, added)| *sum += added);
        // SAFETY: the caller's promise.
        unsafe {
            // Pressures push solids, constraints hold them, fluids follow where they have gone, and constraints hold these.
            ties.iter_mut().for_each(|ties| add(ties.press(signals, arrays)));
            solids.iter_mut().for_each(|held| add(held.hold(next, signals, arrays)));
            ties.iter_mut().for_each(|ties| add(ties.follow(solids.is_some(), signals, arrays)));
            fluids.iter_mut().for_each(|held| add(held.hold(next, signals, arrays)));
            ties.iter_mut().for_each(|ties| add(ties.finish(fluids.is_some(), arrays)));
        }
        sums
    }
}

/// The ranks that have the parts of a model, and the sub-domains that these are.
pub(super) type Team<'a> = (&'a Arc<dyn Ranks>, &'a SubDomainsView<'a>);

/// Which rank has which of these degrees of freedom.
#[derive(Debug)]
pub(super) struct Owners {
    ranks: Arc<dyn Ranks>,
    /// Places of each rank, ascending.
    of_ranks: Vec<Vec<u32>>,
}

impl Owners {
    /// Of the nodes of the places, in their order.
    pub fn new((ranks, domains): Team<'_>, nodes: &[usize]) -> Self {
        let of_rank = |rank| {
            let part = Part::of(domains, rank);
            (0..).zip(nodes).filter(|&(_, &node)| part.local_own(node).is_some()).map(|(place, _)| place).collect()
        };
        Self { ranks: ranks.clone(), of_ranks: (0..ranks.n_ranks()).map(of_rank).collect() }
    }

    /// Completes numbers of all places, of which this rank has set those of its own. Collective.
    pub fn complete(&self, arrays: &mut [&mut Vec<f64>]) {
        let (me, row_bytes) = (self.ranks.rank(), arrays.len() * size_of::<f64>());
        let mut own = Vec::new();
        for &place in &self.of_ranks[me] {
            arrays.iter().for_each(|values| append(&values[place as usize..][..1], &mut own));
        }
        let others = || (0..self.of_ranks.len()).filter(|&rank| rank != me);
        let outgoing = others().filter(|_| !own.is_empty()).map(|rank| Parcel { rank, bytes: own.clone() });
        let incoming = others().filter(|&rank| !self.of_ranks[rank].is_empty());
        let incoming = incoming.map(|rank| Parcel { rank, bytes: vec![0; self.of_ranks[rank].len() * row_bytes] });
        let [_, received] = self.ranks.start(outgoing.collect(), incoming.collect()).finish();
        for Parcel { rank, bytes } in received {
            for (&place, row) in self.of_ranks[rank].iter().zip(bytes.chunks_exact(row_bytes)) {
                for (values, number) in arrays.iter_mut().zip(row.chunks_exact(size_of::<f64>())) {
                    values[place as usize] = read(number);
                }
            }
        }
    }
}

/// Adds to u of a degree of freedom: the row of its node, and its component.
///
/// # Safety
/// As for [`Correction::make`].
pub(super) unsafe fn move_by<T: Real>((row, component): (Row, usize), correction: f64, arrays: &Arrays<T>) {
    // SAFETY: the caller's promise.
    unsafe {
        let u = arrays.displacement.add(row.displacement + component);
        *u = T::from_f64((*u).to_f64() + correction);
        if let Some(boundary) = row.boundary {
            *arrays.next_boundary.add(boundary + component) = *u;
        }
    }
}
