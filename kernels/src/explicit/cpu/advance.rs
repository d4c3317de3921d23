//! One call of `advance`: the turns of its threads.

use std::sync::{Mutex, PoisonError};

use super::correction::Correction;
use super::dispatch::{UpdateBlock, block_forces};
use super::law::force_stride;
use super::schedule::{Schedule, Turn};
use super::step::{Arrays, Scratch, Signals};
use super::tables::Tables;
use crate::dynamics::{Barrier, SignalTable};
use crate::simd::{Level, Real};

/// Pointers that may go to other threads: the blocks' rows are disjoint.
pub(super) struct Shared<T> {
    /// With the pointers that all steps have in common.
    pub arrays: Arrays<T>,
    /// Displacements of the boundary nodes at even and at odd steps.
    pub boundary: [*mut T; 2],
    /// Their increments, where there is a lag.
    pub boundary_increment: [*mut T; 2],
    /// Energies of even and of odd windows, (steps, n_energy_rows, 2).
    pub energies: [*mut f64; 2],
    /// What corrections add to them, (steps, 2).
    pub corrected_work: [*mut [f64; 2]; 2],
}

// SAFETY: each block's rows are written by the one thread that has it; see `Arrays`.
unsafe impl<T> Sync for Shared<T> {}

/// One call of `advance`.
pub(super) struct Advance<'a, T> {
    pub level: Level,
    pub tables: &'a Tables<T>,
    pub schedule: &'a Schedule,
    pub shared: Shared<T>,
    pub barrier: Barrier,
    pub correction: Option<&'a Mutex<Correction>>,
    /// Step that it begins with, and how many steps it makes.
    pub first: u64,
    /// The step whose memory variables the stepper was given.
    pub begun: u64,
    pub n_steps: usize,
    pub signals: &'a SignalTable,
    pub record: &'a [u64],
    /// External work and damped energy so far, J.
    pub energies: [f64; 2],
}

impl<T: Real> Advance<'_, T> {
    /// Takes the turns of one thread. Returns external work and damped energy, which only thread 0 sums up.
    pub fn run(&self, thread: usize, scratch: &mut Scratch<T>) -> [f64; 2] {
        let mut totals = self.energies;
        let turns = &self.schedule.turns[thread];
        let n_phases = self.n_steps * self.tables.phases_per_step();
        for (window, before) in (0..n_phases).step_by(self.schedule.window).enumerate() {
            for (turn, ahead) in turns.iter().zip(turns.iter().skip(1).chain(turns.last())) {
                if before + turn.phase >= n_phases {
                    continue;
                }
                match self.correction.filter(|_| turn.block == self.tables.blocks.len()) {
                    Some(correction) => self.correct(correction, turn.phase, (window, before)),
                    None => self.turn(*turn, ahead.block, (window, before), scratch),
                }
            }
            self.barrier.wait();
            if thread == 0 {
                self.sum_energies((window, before), &mut totals);
            }
        }
        totals
    }

    /// The arrays and the signals of step `k`, of a window that begins with phase `before`.
    #[inline(always)]
    fn of_step(&self, (window, before): (usize, usize), k: usize) -> (Arrays<T>, Signals<'_>) {
        let tables = self.tables;
        let n = self.first + k as u64;
        let parity = (n % 2) as usize;
        let mut arrays = self.shared.arrays;
        arrays.boundary = if tables.computes_once() { arrays.displacement } else { self.shared.boundary[parity] };
        arrays.next_boundary = self.shared.boundary[1 - parity];
        let increments = &self.shared.boundary_increment;
        arrays.boundary_increment = if tables.computes_once() { arrays.increment } else { increments[parity] };
        arrays.next_boundary_increment = increments[1 - parity];
        arrays.moves_memory = !tables.mechanisms.is_empty() && n > self.begun;
        arrays.energies = self.energies_of_step((window, before), k);
        arrays.recording = match self.record.binary_search(&n) {
            // SAFETY: there are rows for all recorded steps.
            Ok(at) => unsafe { arrays.recording.add(at * tables.n_monitors * 3) },
            Err(_) => std::ptr::null_mut(),
        };
        let (values, n_signals) = (&self.signals.values, self.signals.n_signals);
        let signals = Signals {
            now: &values[k * n_signals..(k + 1) * n_signals],
            next: &values[(k + 1) * n_signals..(k + 2) * n_signals],
        };
        (arrays, signals)
    }

    /// Takes a block through a phase of a window, which begins with phase `before`. `ahead` is the block of the next turn.
    #[inline(always)]
    fn turn(
        &self,
        turn: Turn,
        ahead: usize,
        (window, before): (usize, usize),
        Scratch { records, forces, saved }: &mut Scratch<T>,
    ) {
        let (tables, phases) = (self.tables, self.tables.phases_per_step());
        let phase = before + turn.phase;
        let (arrays, signals) = self.of_step((window, before), phase / phases);
        let block = &tables.blocks[turn.block];
        let next = tables.blocks.get(ahead).unwrap_or(block);
        self.schedule.wait_for_neighbours(turn.block, phase);
        // SAFETY: this thread alone has the block, whose neighbours have gone through all phases before this one, and go
        // through the next when this one is done.
        unsafe {
            let forces = match tables.computes_once() {
                true => arrays.forces.add(block.first_row * force_stride(3)),
                false => forces.as_mut_ptr(),
            };
            if phase.is_multiple_of(phases) {
                block_forces(self.level, tables, [block, next], &arrays, records, forces);
            }
            if phase % phases == phases - 1 {
                self.level.run(UpdateBlock { tables, block, arrays: &arrays, signals, saved, forces });
            }
        }
        self.schedule.finish(turn.block, phase);
    }

    /// Corrects the motion of a step, once the blocks that this concerns have gone through its last phase, `phase` of the window.
    fn correct(&self, correction: &Mutex<Correction>, phase: usize, (window, before): (usize, usize)) {
        let (phase, phases) = (before + phase, self.tables.phases_per_step());
        let k = phase / phases;
        let (arrays, signals) = self.of_step((window, before), k);
        self.schedule.wait_for_meeting(phase);
        let mut correction = correction.lock().unwrap_or_else(PoisonError::into_inner);
        let row = k - before / phases;
        // SAFETY: the blocks whose nodes are read and moved here, and those that read them, wait until this is done. There are rows
        // of energies for all steps of a window.
        unsafe {
            *self.shared.corrected_work[window % 2].add(row) =
                correction.make(self.first + k as u64 + 1, signals, &arrays);
        }
        self.schedule.finish_meeting(phase);
    }

    /// Where the energies of step `k` stand.
    fn energies_of_step(&self, (window, before): (usize, usize), k: usize) -> *mut f64 {
        let step = k - before / self.tables.phases_per_step();
        // SAFETY: there are rows for all steps of a window.
        unsafe { self.shared.energies[window % 2].add(2 * self.tables.n_energy_rows * step) }
    }

    /// Adds up the energies of a window, step by step: of each step those of the blocks in their order, then those of the
    /// correction. The others may be in the next window, which writes other rows; they come back to these only after this thread
    /// has passed the next barrier.
    fn sum_energies(&self, (window, before): (usize, usize), totals: &mut [f64; 2]) {
        let phases = self.tables.phases_per_step();
        let n_phases = self.n_steps * phases;
        for k in before / phases..(before + self.schedule.window).min(n_phases) / phases {
            let energies = self.energies_of_step((window, before), k);
            let mut sums = [0.0; 2];
            for row in 0..self.tables.n_energy_rows {
                for (i, sum) in sums.iter_mut().enumerate() {
                    // SAFETY: nobody writes these rows now.
                    *sum += unsafe { *energies.add(2 * row + i) };
                }
            }
            totals.iter_mut().zip(sums).for_each(|(total, sum)| *total += sum);
            if self.correction.is_some() {
                // SAFETY: as above.
                let work = unsafe { *self.shared.corrected_work[window % 2].add(k - before / phases) };
                totals.iter_mut().zip(work).for_each(|(total, work)| *total += work);
            }
        }
    }
}
