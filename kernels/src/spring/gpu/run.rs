//! Starts kernels, a step or many at a time, and does on the host what happens between them.

use pogo_formats::system::parallel::iterate::*;

use super::GpuStepper;
use super::host::Host;
use super::layout::*;
use super::part::{Share, Shared};
use super::tables::whole_tiles;
use crate::device::{Buffer, DeviceError, Graph, Kernel, Slice, Stream, arguments};
use crate::dynamics::{SignalTable, Stepper, Steps};
use crate::simd::Real;
use crate::spring::{Cause, Change, Energies, SpringStepper, Springs, State, energies};

/// Steps of one graph: an even number, so that it ends on the arrays that it began with.
const GRAPH_STEPS: usize = 64;
/// Most thread blocks that sum energies, so many that their sums do not depend on the device, and sums of each.
const ENERGY_BLOCKS: u32 = 1024;
const SUMS: usize = energies::N_SUMS;
/// Most and least steps of one launch of columns.
const COLUMN_STEPS: usize = 4096;
const FEW: usize = 4;
/// Most steps of one launch of a resident kernel.
const RESIDENT_STEPS: usize = 1 << 16;

impl<T: Real> GpuStepper<'_, T> {
    /// Starts a kernel that takes (params, k, parity).
    fn start(&self, kernel: &Kernel, n_blocks: u32, threads: u32, k: usize, parity: usize) -> Result<(), DeviceError> {
        self.start_on(&self.stream, (kernel, n_blocks, threads), self.params, k, parity)
    }

    /// The same with other parameters.
    fn start_on(
        &self,
        stream: &Stream,
        (kernel, n_blocks, threads): (&Kernel, u32, u32),
        params: Params<T>,
        k: usize,
        parity: usize,
    ) -> Result<(), DeviceError> {
        let (k, parity) = (k as u32, parity as u32);
        // SAFETY: the arguments that step kernels take; the arrays hold what the tables name.
        unsafe { kernel.launch_grid(stream, [n_blocks, 1, 1], threads, &mut arguments![params, k, parity]) }
    }

    /// Starts what a step does for some thread blocks, and for what acts on their particles.
    fn start_share(&self, stream: &Stream, share: &Share, k: usize, parity: usize) -> Result<(), DeviceError> {
        let (kernels, params) = (&self.kernels, share.params(&self.params));
        if share.n_blocks > 0 {
            match (kernels.columns, &kernels.single) {
                (Some(_), _) => self.start_columns(stream, share.n_blocks, params, (1, k, parity, 0))?,
                (_, Some(kernel)) => {
                    self.start_on(stream, (kernel, share.n_blocks, self.params.block), params, k, parity)?;
                }
                _ => self.start_on(stream, (&kernels.step, share.n_blocks, kernels.threads), params, k, parity)?,
            }
        }
        if share.n_specials > 0 {
            let launch = (&kernels.specials, share.n_specials.div_ceil(THREADS), THREADS);
            self.start_on(stream, launch, params, k, parity)?;
        }
        Ok(())
    }

    /// Starts a step without recordings.
    fn start_step(&self, k: usize, parity: usize) -> Result<(), DeviceError> {
        let all = || self.shares.iter().try_for_each(|share| self.start_share(&self.stream, share, k, parity));
        let Some(shared) = &self.shared else { return all() };
        let written = parity as u32 ^ 1;
        if shared.exchange.host_waits() {
            all()?;
            return shared.exchange.start(&self.stream, written);
        }
        // Only the border reads what others send, so the rest need not wait for that.
        let Shared { border, begins, ends, exchange, .. } = shared;
        begins.order(&self.stream, border)?;
        self.start_share(border, &self.shares[0], k, parity)?;
        exchange.start(border, written)?;
        self.start_share(&self.stream, &self.shares[1], k, parity)?;
        exchange.finish(border, written)?;
        ends.order(border, &self.stream)
    }

    /// Starts single steps, from row k on; monitors where `recorded` says.
    fn start_steps(&self, n_steps: usize, step: u64, recorded: bool) -> Result<(), DeviceError> {
        let kernels = &self.kernels;
        let (n_monitors, host_waits) = (self.params.n_monitors, self.host_waits());
        for k in 0..n_steps {
            let parity = (step as usize + k) % 2;
            let monitored = recorded && n_monitors > 0;
            let record = |kernel: &Kernel| match monitored {
                true => self.start(kernel, n_monitors.div_ceil(THREADS), THREADS, k, parity),
                false => Ok(()),
            };
            let started =
                record(&kernels.before).and_then(|()| self.start_step(k, parity)).and_then(|()| record(&kernels.after));
            match host_waits {
                true => self.agree(started.and_then(|()| self.stream.synchronize()))?,
                false => started?,
            }
        }
        self.advance_row(n_steps)
    }

    /// Whether the host waits for all devices after each step.
    fn host_waits(&self) -> bool {
        self.shared.as_ref().is_some_and(|shared| shared.exchange.host_waits())
    }

    /// Whether steps go on without the host, so that they may be recorded.
    fn may_be_recorded(&self) -> bool {
        self.shared.as_ref().is_none_or(|shared| shared.exchange.is_of_devices())
    }

    fn advance_row(&self, by: usize) -> Result<(), DeviceError> {
        let (row, by) = (self.params.row, by as u32);
        // SAFETY: the arguments that `advance_row` takes.
        unsafe { self.kernels.advance_row.launch_grid(&self.stream, [1; 3], 1, &mut arguments![row, by]) }
    }

    /// Starts steps of columns, from row k on: one of some tiles, or several of all. `tag` is the number of the first where
    /// there are several.
    fn start_columns(
        &self,
        stream: &Stream,
        n_blocks: u32,
        params: Params<T>,
        (n_steps, k, parity, tag): (usize, usize, usize, u64),
    ) -> Result<(), DeviceError> {
        // Greater than that of any step before, which the empty table's 0 stands for, too.
        let tag = (tag as u32).wrapping_add(1);
        let (k, parity, n_steps) = (k as u32, parity as u32, n_steps as u32);
        let (step, threads) = (self.kernels.step, self.kernels.threads);
        // SAFETY: the arguments that columns take; the arrays hold what the tables name.
        unsafe { step.launch_grid(stream, [n_blocks, 1, 1], threads, &mut arguments![params, k, parity, n_steps, tag]) }
    }

    /// Starts many steps in one launch.
    fn start_resident(&self, n_steps: usize, step: u64) -> Result<(), DeviceError> {
        let (params, n, parity) = (self.params, n_steps as u32, (step % 2) as u32);
        // Never 0, which empty slots have, and as even as the step.
        let tag = ((step % (1 << 31)) + 2) as u32;
        let kernels = &self.kernels;
        let (blocks, threads) = (kernels.grid[0], kernels.threads);
        // SAFETY: the arguments that resident kernels take; all blocks are there at once.
        unsafe {
            kernels.step.launch_cooperative(&self.stream, blocks, threads, &mut arguments![params, n, parity, tag])?;
        }
        self.advance_row(n_steps)
    }

    /// Takes steps between which no spring comes or goes by command.
    fn run(&mut self, n_steps: usize, record: &[u64]) -> Result<(), DeviceError> {
        let rounds = self.shared.as_ref().map(|shared| shared.exchange.rounds() + n_steps as u64);
        let outcome = self.make_steps(n_steps, record);
        if let (Some(shared), Some(rounds), Err(_)) = (&self.shared, rounds, &outcome) {
            // Others wait for what this rank does not send.
            while shared.exchange.rounds() < rounds && shared.exchange.give_up() {}
        }
        let outcome = outcome.and_then(|()| self.read_log());
        self.agree(outcome)
    }

    fn make_steps(&mut self, n_steps: usize, record: &[u64]) -> Result<(), DeviceError> {
        let end = self.step + n_steps as u64;
        while self.step < end {
            let remaining = (end - self.step) as usize;
            let next = record[record.partition_point(|&step| step < self.step)..].first().copied();
            let quiet = next.map_or(remaining, |next| ((next - self.step) as usize).min(remaining));
            let resident = self.kernels.single.is_some();
            // A resident kernel writes no recordings.
            let done = if resident && quiet > 0 {
                let steps = quiet.min(RESIDENT_STEPS);
                self.start_resident(steps, self.step)?;
                steps
            } else if resident {
                self.start_steps(1, self.step, true)?;
                1
            } else if self.kernels.columns.is_some()
                && self.params.n_specials == 0
                && self.shared.is_none()
                && quiet >= FEW
            {
                // Nothing else happens between these steps.
                let steps = quiet.min(COLUMN_STEPS);
                let made = (steps, 0, (self.step % 2) as usize, self.step);
                self.start_columns(&self.stream, self.kernels.grid[0], self.params, made)?;
                self.advance_row(steps)?;
                steps
            } else if remaining >= GRAPH_STEPS && self.step.is_multiple_of(2) && self.may_be_recorded() {
                if self.graph.is_none() {
                    let stream = &self.stream;
                    self.graph = Some(Graph::record(stream, || self.start_steps(GRAPH_STEPS, 0, true))?);
                }
                if let Some(graph) = &self.graph {
                    graph.launch(&self.stream)?;
                }
                GRAPH_STEPS
            } else {
                let steps = if self.step % 2 == 1 { 1 } else { remaining };
                self.start_steps(steps, self.step, true)?;
                steps
            };
            self.step += done as u64;
        }
        self.stream.synchronize()
    }

    /// Springs that broke since the log was read last.
    fn read_log(&mut self) -> Result<(), DeviceError> {
        if self.params.breaks == 0 {
            return Ok(());
        }
        let mut count = [0];
        self.arrays.log_count.read(&mut count)?;
        let count = (count[0] as usize).min(self.arrays.log.len());
        if count == 0 {
            return Ok(());
        }
        let mut log = vec![[0; 4]; count];
        self.arrays.log.read(&mut log)?;
        self.arrays.log_count.write(&[0])?;
        let broken = log.iter().map(|&[row, first, second, _]| Change {
            step: self.first_row + u64::from(row),
            particles: [first, second],
            cause: Cause::Broken,
        });
        let broken = broken.collect();
        match self.shared {
            None => self.note_broken(broken),
            Some(_) => self.unshared.extend(broken),
        }
        Ok(())
    }

    /// Takes springs out of the host's tables that devices have seen break.
    pub(super) fn note_broken(&mut self, broken: Vec<Change>) {
        let broken = self.springs.break_all(broken);
        self.host.change(&self.problem, &broken);
        // The device has seen these itself, as far as it computes them.
        self.host.forget_touched();
        self.changes.extend(broken);
    }

    /// Cuts, erasures and additions of the current step.
    fn events(&mut self) -> Result<(), DeviceError> {
        if self.happened > self.step || self.schedule.next(self.step) != Some(self.step) {
            return Ok(());
        }
        // Right for the particles of this part and of its halo.
        let u = self.agree(self.widen(&self.arrays.u[(self.step % 2) as usize]))?;
        self.share_broken();
        let by = self.shared.as_ref().map(|shared| (&self.part, &*shared.accord.ranks));
        let changes = self.schedule.apply(&self.problem, &mut self.springs, self.step, &u, by);
        self.happened = self.step + 1;
        if changes.is_empty() {
            return Ok(());
        }
        self.host.change(&self.problem, &changes);
        if changes.iter().any(|change| matches!(change.cause, Cause::Added(_))) {
            self.tables.write_rules(&self.host)?;
        }
        if let (Some(_), Host::Grid(grid)) = (self.kernels.columns, &self.host) {
            self.arrays.whole.write(&whole_tiles(grid))?;
        }
        let (edits, what) = self.host.edits(&changes, self.params.id_bytes as usize);
        self.changes.extend(changes);
        let buffer = Buffer::of(&edits)?;
        let (params, at, n) = (self.params, buffer.pointer(), edits.len() as u32);
        if n > 0 {
            let (edit, grid) = (self.kernels.edit, [n.div_ceil(THREADS), 1, 1]);
            // SAFETY: the arguments that `edit` takes; the places and entries are those of the host's tables.
            unsafe { edit.launch_grid(&self.stream, grid, THREADS, &mut arguments![params, at, n, what])? };
        }
        self.stream.synchronize()
    }

    /// Hands signals and recordings of some steps to the kernels; how many values will be recorded.
    fn prepare(&mut self, n_steps: usize, signals: &SignalTable, record: &[u64]) -> Result<usize, DeviceError> {
        self.gpu.enter()?;
        let n = signals.n_signals;
        let table = self.signals(&signals.values, n, n_steps + 1);
        let mut rows = vec![-1; n_steps];
        for (row, &step) in record.iter().enumerate() {
            rows[(step - self.step) as usize] = row as i32;
        }
        let n_recorded = record.len() * self.problem.monitors.len() * 3;
        let mut moved = self.arrays.signals.grow(table.len())?;
        moved |= self.arrays.record.grow(n_steps)?;
        moved |= self.arrays.recording.grow(n_recorded)?;
        moved |= self.params.n_signals as usize != n + 3;
        self.arrays.signals.write(&table)?;
        self.arrays.record.write(&rows)?;
        self.arrays.row.write(&[0])?;
        self.params.signals = self.arrays.signals.at();
        self.params.record = self.arrays.record.at();
        self.params.recording = self.arrays.recording.at();
        self.params.n_signals = n as u32 + 3;
        if moved {
            self.graph = None;
        }
        Ok(n_recorded)
    }

    /// Makes steps, as [`Stepper::advance`] says.
    fn advance_by(&mut self, steps: Steps<'_>, recording: &mut Vec<f64>) -> Result<(), DeviceError> {
        let Steps { n: n_steps, signals, record } = steps;
        let prepared = self.prepare(n_steps, signals, record);
        // The others would wait for what this rank does not send.
        let n_recorded = self.agree(prepared)?;
        self.first_row = self.step;
        let end = self.step + n_steps as u64;
        while self.step < end {
            self.events()?;
            let until = self.schedule.next(self.step + 1).map_or(end, |next| next.min(end));
            self.run((until - self.step) as usize, record)?;
        }
        let first = recording.len();
        recording.resize(first + n_recorded, 0.0);
        self.arrays.recording.read(&mut recording[first..])?;
        recording[first..].iter_mut().for_each(|number| *number *= self.form.unit);
        Ok(())
    }

    /// Signals of some steps, with BΔt² g behind each step's.
    fn signals(&self, values: &[f64], n: usize, n_rows: usize) -> Vec<f64> {
        let mut table = Vec::with_capacity(n_rows * (n + 3));
        for row in 0..n_rows {
            let values = &values[row * n..(row + 1) * n];
            table.extend_from_slice(values);
            table.extend(self.problem.gravity_at(values).map(|g| self.params.inertia_factor * g / self.form.unit));
        }
        table
    }

    /// External work, and energy that friction and dampers have taken, from t = 0 on.
    fn followed(&self) -> Result<[f64; 2], DeviceError> {
        let sum = |array: &Slice<f64>| -> Result<f64, DeviceError> { Ok(array.to_vec()?.iter().sum()) };
        let square = self.form.unit * self.form.unit;
        let [external, dissipated] = self.before;
        Ok([
            external + square * sum(&self.arrays.work)?,
            dissipated + square * (sum(&self.arrays.heat)? + sum(&self.arrays.special_heat)?),
        ])
    }

    /// Sums of energies over the particles of this device, (n, [`N_SUMS`]), in its unit of length; see [`Energies::of_sums`].
    pub(super) fn sums(&self, signals: &[f64]) -> Result<Vec<f64>, DeviceError> {
        self.gpu.enter()?;
        let table = self.signals(signals, signals.len() / 2, 2);
        let blocks = match self.kernels.energy_blocks {
            0 => return Ok(vec![0.0; SUMS]),
            blocks => blocks.min(ENERGY_BLOCKS),
        };
        let (signals, sums) = (Buffer::of(&table)?, Buffer::<f64>::zeros(SUMS * blocks as usize)?);
        let params = Params { n_signals: (table.len() / 2) as u32, ..self.params };
        let (parity, n_blocks) = ((self.step % 2) as u32, self.kernels.energy_blocks);
        let (at, out) = (signals.pointer(), sums.pointer());
        let (kernel, threads, grid) = (self.kernels.energies, self.kernels.energy_threads, [blocks, 1, 1]);
        // SAFETY: the arguments that `energies` takes; the arrays hold what the tables name.
        unsafe {
            kernel.launch_grid(&self.stream, grid, threads, &mut arguments![params, parity, n_blocks, at, out])?;
        }
        self.stream.synchronize()?;
        sums.to_vec()
    }

    fn widen(&self, array: &Slice<T>) -> Result<Vec<f64>, DeviceError> {
        let (values, form) = (array.to_vec()?, self.form);
        let (host, dofs) = (&self.host, 0..3 * self.problem.n_particles());
        Ok(dofs.into_par_iter().map(|dof| form.unit * values[host.index(dof, form)].to_f64()).collect())
    }
}

impl<T: Real> Stepper for GpuStepper<'_, T> {
    type State = State;

    fn step(&self) -> u64 {
        self.step
    }

    fn make(&mut self, steps: Steps<'_>, recording: &mut Vec<f64>) -> Result<(), DeviceError> {
        self.problem.check_signals(steps.signals);
        if steps.n == 0 {
            return Ok(());
        }
        let outcome = self.advance_by(steps, recording);
        self.agree(outcome)
    }

    fn state(&self) -> Result<State, DeviceError> {
        self.gpu.enter()?;
        let now = (self.step % 2) as usize;
        let own = |array: &Slice<T>| -> Result<Vec<f64>, DeviceError> {
            let all = self.widen(array)?;
            Ok(if self.shared.is_some() { self.part.select(&all, 3) } else { all })
        };
        let displacement = own(&self.arrays.u[now])?;
        let increment = own(&self.arrays.du[if self.arrays.du.len() == 2 { now } else { 0 }])?;
        let [external_work, dissipated] = self.followed()?;
        Ok(State { step: self.step, displacement, increment, external_work, dissipated, changes: self.changes.clone() })
    }
}

impl<'a, T: Real> SpringStepper<'a> for GpuStepper<'a, T> {
    fn energies(&self, signals: &[f64]) -> Result<Energies, DeviceError> {
        let sums = self.sums(signals)?;
        Ok(Energies::of_sums(&sums, self.form.unit, self.followed()?, self.springs.len()))
    }

    fn changes(&self) -> &[Change] {
        &self.changes
    }

    fn springs(&self) -> &Springs<'a> {
        &self.springs
    }
}
