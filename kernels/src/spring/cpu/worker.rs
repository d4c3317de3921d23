//! A thread's part of a run of steps without events.

use std::ops::Range;

use super::lists::Scratch;
use super::part::Share;
use super::{Arrays, Layout, Special, StepFactors, Task};
use crate::simd::{Level, Real};
use crate::spring::SpringProblem;

/// What all threads of a run share. Each thread writes the numbers of its own units alone.
pub(super) struct Run<'r, T> {
    pub arrays: Arrays<T>,
    /// Arrays of even and odd steps.
    pub u: [*mut T; 2],
    pub du: [*mut T; 2],
    pub recording: *mut f64,
    pub dissipated: *mut f64,
    pub external_work: *mut f64,
    pub problem: &'r SpringProblem<'r>,
    pub layout: &'r dyn Layout<T>,
    pub level: Level,
    pub forces: &'r [Special],
    pub supports: &'r [Special],
    pub monitors: &'r [Special],
}
// SAFETY: as said.
unsafe impl<T> Sync for Run<'_, T> {}

/// Those of a list that stand in some ranges.
fn of<'r>(all: &'r [Special], ranges: &'r [Range<usize>]) -> impl Iterator<Item = &'r Special> {
    ranges.iter().flat_map(|range| &all[range.clone()])
}

/// One thread with its units, and what acts on them.
pub(super) struct Worker<'r, T> {
    run: &'r Run<'r, T>,
    task: Task<'r, T>,
    share: &'r Share,
    /// Δu_{n+1} that the supported numbers would have without supports.
    free: Vec<T>,
}

impl<'r, T: Real> Worker<'r, T> {
    pub fn new(run: &'r Run<'r, T>, share: &'r Share) -> Self {
        let [decay, _] = run.problem.damping_factors();
        let (damped, breaks) = (run.problem.is_damped(), run.problem.may_break());
        let task = Task {
            arrays: run.arrays,
            factors: StepFactors { decay: T::from_f64(decay), gravity: [T::default(); 3], damped, breaks },
            step: 0,
            broken: Vec::new(),
            scratch: Scratch::default(),
            units: &share.units,
        };
        let free = vec![T::default(); share.supports.iter().map(Range::len).sum()];
        Self { run, task, share, free }
    }

    /// Springs that broke: step and both ends.
    pub fn broken(self) -> Vec<(u64, [u32; 2])> {
        self.task.broken
    }

    /// Step n, with the signals at t_n and t_{n+1}; recorded from number `record` of the recording on.
    ///
    /// # Safety
    /// No other thread writes these units or reads them in the arrays that this step writes; the arrays are those of the layout.
    pub unsafe fn step(&mut self, n: u64, [now, next]: [&[f64]; 2], record: Option<usize>) {
        let (from, to) = ((n % 2) as usize, (n % 2) as usize ^ 1);
        let arrays = &mut self.task.arrays;
        (arrays.u, arrays.next_u) = (self.run.u[from].cast_const(), self.run.u[to]);
        (arrays.du, arrays.next_du) = (self.run.du[from].cast_const(), self.run.du[to]);
        let factor = self.run.problem.inertia_factor();
        self.task.factors.gravity = self.run.problem.gravity_at(now).map(|g| T::from_f64(factor * g));
        self.task.step = n;
        // SAFETY: the caller's promise.
        unsafe {
            let Arrays { u, du, next_du, .. } = self.task.arrays;
            let record = record.map(|first| self.run.recording.add(first));
            // Before the step, as Δu may be updated in place.
            if let Some(out) = record {
                for monitor in of(self.run.monitors, &self.share.monitors) {
                    *out.add(3 * monitor.column) = (*u.add(monitor.index)).to_f64();
                    *out.add(3 * monitor.column + 1) = (*du.add(monitor.index)).to_f64();
                }
            }
            self.run.layout.advance(self.run.level, &mut self.task);
            self.push_and_hold(now, next);
            if let Some(out) = record {
                for monitor in of(self.run.monitors, &self.share.monitors) {
                    *out.add(3 * monitor.column + 2) = (*next_du.add(monitor.index)).to_f64();
                }
            }
            if self.run.problem.follow_work {
                self.follow_work(now);
            }
        }
    }

    /// Adds point forces, then sets what supports prescribe.
    ///
    /// # Safety
    /// As for [`step`](Self::step).
    unsafe fn push_and_hold(&mut self, now: &[f64], next: &[f64]) {
        let (run, Arrays { u, next_u, next_du, .. }) = (self.run, self.task.arrays);
        // SAFETY: the caller's promise.
        unsafe {
            for force in of(run.forces, &self.share.forces) {
                let i = force.index;
                let push = run.layout.inertia(i) * T::from_f64(force.value * now[force.column]);
                *next_du.add(i) = *next_du.add(i) + push;
                *next_u.add(i) = *u.add(i) + *next_du.add(i);
            }
            for (support, free) in of(run.supports, &self.share.supports).zip(&mut self.free) {
                let i = support.index;
                *free = *next_du.add(i);
                let increment = T::from_f64(support.value * (next[support.column] - now[support.column]));
                *next_du.add(i) = increment;
                *next_u.add(i) = *u.add(i) + increment;
            }
        }
    }

    /// Adds the work of forces and supports, and the energy that friction and dampers take.
    ///
    /// # Safety
    /// As for [`step`](Self::step).
    unsafe fn follow_work(&self, now: &[f64]) {
        let (run, Arrays { du, next_du, drag, .. }) = (self.run, self.task.arrays);
        let friction = run.problem.friction();
        // SAFETY: the caller's promise.
        unsafe {
            let half = |i: usize| 0.5 * ((*du.add(i)).to_f64() + (*next_du.add(i)).to_f64());
            for at in self.share.forces.iter().cloned().flatten() {
                let force = &run.forces[at];
                *run.external_work.add(at) += force.value * now[force.column] * half(force.index);
            }
            for (at, free) in self.share.supports.iter().cloned().flatten().zip(&self.free) {
                let i = run.supports[at].index;
                let reaction = ((*next_du.add(i)).to_f64() - free.to_f64()) / run.layout.inertia(i).to_f64();
                *run.external_work.add(run.forces.len() + at) += reaction * half(i);
            }
            for unit in self.task.units.iter().cloned().flatten() {
                let mut sum = 0.0;
                for i in run.layout.spans(unit).into_iter().flatten() {
                    let (old, new) = ((*du.add(i)).to_f64(), (*next_du.add(i)).to_f64());
                    let inertia = run.layout.inertia(i).to_f64();
                    if inertia > 0.0 {
                        sum += friction.energy(old, new) / inertia;
                    }
                    if !drag.is_null() {
                        sum -= (*drag.add(i)).to_f64() * 0.5 * (old + new);
                    }
                }
                *run.dissipated.add(unit) += sum;
            }
        }
    }
}
