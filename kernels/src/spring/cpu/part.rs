//! What a stepper of a part owns, and how its threads share it.
//!
//! A part moves its own units. Its arrays are as long as those of the whole model, so that particles have the same places in all
//! parts; but what belongs to other units is never touched, so that it takes no memory, and its tables have no entries for them.
//! After each step the other ranks send the displacements of particles at the other ends of springs, and Δu where springs have
//! dampers.
//!
//! A spring between two parts breaks in both in the same step, as both compute the same stretch; the owner of its first end
//! notes it. All ranks learn of it before cuts, erasures and additions, and at the end of each order to advance.

use std::ops::Range;

use super::{CpuStepper, Layout, Special};
use crate::dynamics::{Part, PartStepper};
use crate::simd::Real;
use crate::spring::Change;
use crate::spring::team::{SpringPart, share_broken};

/// A thread's units, and what acts on them: ranges of the lists, ascending.
#[derive(Debug, Clone, Default)]
pub(super) struct Share {
    pub units: Vec<Range<usize>>,
    pub forces: Vec<Range<usize>>,
    pub supports: Vec<Range<usize>>,
    pub monitors: Vec<Range<usize>>,
}

/// The units of a part, ascending. Of a whole model all of them, also those without particles.
pub(super) fn own_units<T>(layout: &dyn Layout<T>, part: &Part, n_particles: usize) -> Vec<Range<usize>> {
    if part.n_own() == n_particles {
        return std::iter::once(0..layout.n_units()).collect();
    }
    let mut is_own = vec![false; layout.n_units()];
    part.own().for_each(|particle| is_own[layout.unit_of(particle)] = true);
    let mut ranges = Vec::new();
    (0..layout.n_units()).filter(|&unit| is_own[unit]).for_each(|unit| push(&mut ranges, unit));
    ranges
}

/// Appends a unit to ascending ranges.
fn push(ranges: &mut Vec<Range<usize>>, unit: usize) {
    match ranges.last_mut() {
        Some(last) if last.end == unit => last.end += 1,
        _ => ranges.push(unit..unit + 1),
    }
}

impl Share {
    /// Shares of about the same work, a thread: consecutive ones of the own units.
    pub fn all<T>(
        layout: &dyn Layout<T>,
        own: &[Range<usize>],
        threads: usize,
        [forces, supports, monitors]: [&[Special]; 3],
    ) -> Vec<Self> {
        let of = |units: Vec<Range<usize>>| Self {
            forces: on_units(forces, &units),
            supports: on_units(supports, &units),
            monitors: on_units(monitors, &units),
            units,
        };
        divide(layout, own, threads).into_iter().map(of).collect()
    }
}

/// Where those that stand on some units are in a list that is sorted by unit.
fn on_units(all: &[Special], units: &[Range<usize>]) -> Vec<Range<usize>> {
    let before = |unit: usize| all.partition_point(|each| each.unit < unit);
    let ranges = units.iter().map(|units| before(units.start)..before(units.end));
    ranges.filter(|range| !range.is_empty()).collect()
}

/// Divides units among threads, in turn.
fn divide<T>(layout: &dyn Layout<T>, own: &[Range<usize>], threads: usize) -> Vec<Vec<Range<usize>>> {
    let n: usize = own.iter().map(Range::len).sum();
    let threads = threads.clamp(1, n.max(1));
    let total: usize = own.iter().cloned().flatten().map(|unit| layout.weight(unit)).sum();
    let mut units = own.iter().cloned().flatten();
    let mut shares = Vec::with_capacity(threads);
    let (mut last, mut done) = (0, 0);
    for thread in 0..threads {
        let (first, left) = (last, threads - thread - 1);
        let mut share = Vec::new();
        while last < n - left.min(n) && (left == 0 || last == first || done < total * (thread + 1) / threads) {
            let Some(unit) = units.next() else { break };
            done += layout.weight(unit);
            last += 1;
            push(&mut share, unit);
        }
        shares.push(share);
    }
    shares
}

impl<T: Real> CpuStepper<'_, T> {
    /// Lets all ranks know of the springs that broke.
    pub(super) fn share_broken(&mut self) {
        let Some(ranks) = self.ranks.as_deref().filter(|_| self.problem.may_break()) else { return };
        let broken = share_broken(ranks, std::mem::take(&mut self.unshared));
        self.changes.extend(self.springs.break_all(broken));
    }
}

impl<T: Real> PartStepper for CpuStepper<'_, T> {
    type Number = T;

    fn part(&self) -> &Part {
        &self.part
    }

    fn n_components(&self) -> usize {
        1
    }

    fn rows(&self, particle: u32) -> Vec<u32> {
        (0..3).map(|component| self.layout.index(particle as usize, component) as u32).collect()
    }

    fn exchanged(&mut self) -> Vec<&mut [T]> {
        let at = (self.step % 2) as usize;
        let mut arrays = vec![&mut self.u[at][..]];
        if self.problem.is_damped() {
            arrays.push(&mut self.du[at]);
        }
        arrays
    }
}

impl<T: Real> SpringPart for CpuStepper<'_, T> {
    fn share_changes(&mut self) {
        self.share_broken();
    }

    fn shared_changes(&self) -> &[Change] {
        &self.changes
    }

    fn work_entries(&self) -> [Vec<u32>; 2] {
        if !self.problem.follow_work {
            return [Vec::new(), Vec::new()];
        }
        let n_forces = self.forces.len();
        let all = |of: fn(&Share) -> &Vec<Range<usize>>, first: usize| {
            self.shares.iter().flat_map(of).cloned().flatten().map(move |at| (first + at) as u32)
        };
        let external = all(|share| &share.forces, 0).chain(all(|share| &share.supports, n_forces));
        [external.collect(), all(|share| &share.units, 0).collect()]
    }

    fn work(&self) -> [Vec<f64>; 2] {
        let [external, units] = self.work_entries();
        let of = |values: &[f64], at: Vec<u32>| at.into_iter().map(|at| values[at as usize]).collect();
        [of(&self.external_work, external), of(&self.dissipated, units)]
    }
}
