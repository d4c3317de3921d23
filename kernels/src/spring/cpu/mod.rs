//! The step on the CPU: a register of particles at once, each thread a run of rows or blocks, one barrier a step.
//!
//! u is doubled, so that nobody waits for neighbours within a step; Δu is updated in place unless dampers or the books of energy
//! need the old one. Forces have a fixed order and both ends of a spring compute them: the same bits on every run, for every number
//! of threads, for every instruction set, and for both addressings.

pub(super) mod grid;
pub(super) mod lists;
mod pull;

use std::ffi::c_void;
use std::ops::Range;

use super::events::Schedule;
use super::springs::Springs;
use super::{Addressing, Cause, Change, Energies, SpringError, SpringProblem, State, Stepper};
use crate::device::DeviceError;
use crate::dynamics::Barrier;
use crate::dynamics::SignalTable;
use crate::simd::{Level, Real};
use grid::Grid;
use lists::{Lists, Scratch};

/// Numbers of a record in memory: (x, y, z, unused).
const RECORD: usize = 4;

/// Arrays of a step, and the tables that springs which break change.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrays<T> {
    u: *const T,
    next_u: *mut T,
    du: *const T,
    next_du: *mut T,
    /// Forces of dampers, or null.
    drag: *mut T,
    mask: *mut u32,
    any: *mut u32,
    all: *mut u32,
    ids: *mut c_void,
}

/// What all particles have in common in a step.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StepFactors<T> {
    /// A.
    decay: T,
    /// BΔt² g(t_n).
    gravity: [T; 3],
    /// Some springs have dampers.
    damped: bool,
    /// Some springs may break.
    breaks: bool,
}

/// A thread's share of a step.
pub(crate) struct Task<T> {
    units: Range<usize>,
    arrays: Arrays<T>,
    factors: StepFactors<T>,
    step: u64,
    broken: Vec<(u64, [u32; 2])>,
    scratch: Scratch<T>,
}

impl<T> Task<T> {
    /// Notes a broken spring, at its first end.
    fn broke(&mut self, particle: u32, other: u32) {
        if particle < other {
            self.broken.push((self.step, [particle, other]));
        }
    }
}

/// Where particles lie in the arrays, and how a share of them is advanced.
pub(super) trait Layout<T>: Send + Sync + std::fmt::Debug {
    /// Numbers of an array.
    fn len(&self) -> usize;
    fn index(&self, particle: usize, component: usize) -> usize;
    /// Rows or blocks.
    fn n_units(&self) -> usize;
    fn unit_of(&self, particle: usize) -> usize;
    /// Work of a unit.
    fn weight(&self, unit: usize) -> usize;
    /// Where the numbers of a unit lie.
    fn spans(&self, unit: usize) -> Vec<Range<usize>>;
    /// BΔt²/m.
    fn inertia(&self, index: usize) -> T;
    /// Tables that a step changes.
    fn pointers(&mut self, arrays: &mut Arrays<T>);
    /// # Safety
    /// The arrays must be as long as `len`, the units this thread's alone, and the tables laid out for the level's lanes.
    unsafe fn advance(&self, level: Level, task: &mut Task<T>);
    fn erase(&mut self, particles: [u32; 2]);
    fn add(&mut self, particles: [u32; 2], group: u32);
    fn bytes_per_step(&self) -> f64;
}

/// A force on, or the motion of, one number of the arrays.
#[derive(Debug, Clone, Copy)]
struct Special {
    unit: usize,
    index: usize,
    signal: usize,
    value: f64,
}

#[derive(Debug, Clone, Copy)]
struct Monitor {
    unit: usize,
    index: usize,
    column: usize,
}

/// Steps a model on the CPU in precision `T`.
#[derive(Debug)]
pub struct CpuStepper<'a, T: Real> {
    level: Level,
    problem: SpringProblem<'a>,
    springs: Springs<'a>,
    schedule: Schedule,
    /// Events of steps before this one have happened.
    happened: u64,
    changes: Vec<Change>,
    layout: Box<dyn Layout<T>>,
    u: [Vec<T>; 2],
    du: Vec<Vec<T>>,
    drag: Vec<T>,
    forces: Vec<Special>,
    supports: Vec<Special>,
    monitors: Vec<Monitor>,
    /// Dissipated energy by unit.
    dissipated: Vec<f64>,
    before: [f64; 2],
    external_work: Vec<f64>,
    step: u64,
    shares: Vec<Range<usize>>,
    pool: Option<rayon::ThreadPool>,
}

/// A stepper on `threads` threads of this machine in precision `T`, from a state at any step.
///
/// # Errors
/// A model that contradicts itself, an addressing that it cannot have, threads that cannot be started.
pub fn cpu<'a, T: Real>(
    problem: SpringProblem<'a>,
    state: &State,
    addressing: Addressing,
    threads: usize,
) -> Result<Box<dyn Stepper<'a> + 'a>, SpringError> {
    Ok(Box::new(CpuStepper::<T>::new(problem, state, addressing, threads, Level::detect())?))
}

/// Pointers that go to all threads: each writes its own units.
struct Shared<T>(Arrays<T>, [*mut T; 2], [*mut T; 2], *mut f64, *mut f64, *mut f64);
// SAFETY: as said.
unsafe impl<T> Sync for Shared<T> {}

impl<'a, T: Real> CpuStepper<'a, T> {
    /// As [`cpu`], at a given level.
    ///
    /// # Errors
    /// As [`cpu`].
    pub fn new(
        problem: SpringProblem<'a>,
        state: &State,
        addressing: Addressing,
        threads: usize,
        level: Level,
    ) -> Result<Self, SpringError> {
        let mut springs = Springs::prepare(&problem, state)?;
        let (n_lanes, block) = (level.wide_lanes::<T>(), problem.mesh.lists.block_size);
        if !block.is_multiple_of(n_lanes) {
            return Err(SpringError::Mesh { what: "the block size is no multiple of 32" });
        }
        let mut layout: Box<dyn Layout<T>> = match addressing.choose(&problem)? {
            Addressing::ExplicitGlobal => Box::new(Lists::<T, u32>::new(&problem, &springs, n_lanes, block)?),
            Addressing::Explicit => Box::new(Lists::<T, u16>::new(&problem, &springs, n_lanes, block)?),
            _ => Box::new(Grid::new(&problem, n_lanes, 0)?),
        };
        springs.replay(&problem, &state.changes, |change, group| match group {
            Some(group) => layout.add(change.particles, group),
            None => layout.erase(change.particles),
        });
        let flat = |values: &[f64]| {
            let mut out = vec![T::default(); layout.len()];
            for (dof, &value) in values.iter().enumerate() {
                out[layout.index(dof / 3, dof % 3)] = T::from_f64(value);
            }
            out
        };
        let u = flat(&state.displacement);
        let damped = problem.groups.iter().any(|group| group.damping != 0.0);
        let mut du = vec![flat(&state.increment)];
        if damped || problem.follow_work {
            du.push(du[0].clone());
        }
        let special = |dof: u64, signal: u32, value: f64| {
            let (particle, component) = (dof as usize / 3, dof as usize % 3);
            Special {
                unit: layout.unit_of(particle),
                index: layout.index(particle, component),
                signal: signal as usize,
                value,
            }
        };
        let mut forces: Vec<_> = problem.forces.iter().map(|f| special(f.dof, f.signal, f.value)).collect();
        forces.sort_by_key(|force| force.unit);
        let mut supports: Vec<_> = problem.constraints.iter().map(|c| special(c.dof, c.signal, c.value)).collect();
        supports.sort_by_key(|support| support.unit);
        let monitors = problem.monitors.iter().enumerate().map(|(column, &dof)| {
            let Special { unit, index, .. } = special(dof, 0, 0.0);
            Monitor { unit, index, column }
        });
        let mut monitors: Vec<_> = monitors.collect();
        monitors.sort_by_key(|monitor| monitor.unit);
        let shares = shares(layout.as_ref(), threads.max(1));
        let pool = if shares.len() > 1 {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(shares.len()).build();
            Some(pool.map_err(|error| SpringError::Threads { reason: error.to_string() })?)
        } else {
            None
        };
        let follow = |len| vec![0.0; if problem.follow_work { len } else { 0 }];
        Ok(Self {
            level,
            schedule: Schedule::new(&problem, state.step),
            happened: state.happened(),
            changes: state.changes.clone(),
            drag: vec![T::default(); if damped && problem.follow_work { layout.len() } else { 0 }],
            dissipated: follow(layout.n_units()),
            external_work: follow(forces.len() + supports.len()),
            before: [state.external_work, state.dissipated],
            u: [u.clone(), u],
            du,
            forces,
            supports,
            monitors,
            step: state.step,
            shares,
            pool,
            layout,
            springs,
            problem,
        })
    }

    /// Bytes that a step must move through memory at least, a particle.
    pub fn bytes_per_particle_step(&self) -> f64 {
        self.layout.bytes_per_step() / self.problem.n_particles().max(1) as f64
    }

    fn widen(&self, values: &[T]) -> Vec<f64> {
        (0..3 * self.problem.n_particles()).map(|dof| values[self.layout.index(dof / 3, dof % 3)].to_f64()).collect()
    }

    /// Which of the arrays of Δu is read.
    fn du_at(&self, step: u64) -> usize {
        if self.du.len() == 2 { (step % 2) as usize } else { 0 }
    }

    /// As [`Stepper::state`].
    pub fn state(&self) -> State {
        let [external, dissipated] = self.before;
        State {
            step: self.step,
            displacement: self.widen(&self.u[(self.step % 2) as usize]),
            increment: self.widen(&self.du[self.du_at(self.step)]),
            external_work: external + self.external_work.iter().sum::<f64>(),
            dissipated: dissipated + self.dissipated.iter().sum::<f64>(),
            changes: self.changes.clone(),
        }
    }

    /// Cuts, erasures and additions of the current step.
    fn events(&mut self) {
        if self.happened > self.step || self.schedule.next(self.step) != Some(self.step) {
            return;
        }
        let u = self.widen(&self.u[(self.step % 2) as usize]);
        let changes = self.schedule.apply(&self.problem, &mut self.springs, self.step, &u);
        for change in &changes {
            match change.cause {
                Cause::Added(index) => self.layout.add(change.particles, self.problem.additions[index as usize].group),
                _ => self.layout.erase(change.particles),
            }
        }
        self.changes.extend(changes);
        self.happened = self.step + 1;
    }

    /// As [`Stepper::advance`], which cannot fail here.
    ///
    /// # Panics
    /// As said there.
    pub fn advance(&mut self, n_steps: usize, signals: &SignalTable, record: &[u64], recording: &mut Vec<f64>) {
        crate::dynamics::check_advance(self.step, n_steps, signals, record);
        self.problem.check_signals(signals);
        let (first, end) = (self.step, self.step + n_steps as u64);
        let row = 3 * self.monitors.len();
        let recorded = recording.len();
        recording.resize(recorded + record.len() * row, 0.0);
        while self.step < end {
            self.events();
            let until = self.schedule.next(self.step + 1).map_or(end, |next| next.min(end));
            let values = &signals.values[(self.step - first) as usize * signals.n_signals..];
            let from = record.partition_point(|&step| step < self.step);
            let to = record.partition_point(|&step| step < until);
            let out = &mut recording[recorded + from * row..recorded + to * row];
            self.run((until - self.step) as usize, signals.n_signals, values, &record[from..to], out);
        }
    }

    /// Steps without events.
    fn run(&mut self, n_steps: usize, n_signals: usize, signals: &[f64], record: &[u64], recording: &mut [f64]) {
        let null = std::ptr::null_mut();
        let mut arrays = Arrays {
            u: null,
            next_u: null,
            du: null,
            next_du: null,
            drag: if self.drag.is_empty() { null } else { self.drag.as_mut_ptr() },
            mask: std::ptr::null_mut(),
            any: std::ptr::null_mut(),
            all: std::ptr::null_mut(),
            ids: std::ptr::null_mut(),
        };
        self.layout.pointers(&mut arrays);
        let [even, odd] = self.u.each_mut().map(|u| u.as_mut_ptr());
        let du: Vec<*mut T> = self.du.iter_mut().map(|du| du.as_mut_ptr()).collect();
        let shared = Shared(
            arrays,
            [even, odd],
            [du[0], du[du.len() - 1]],
            recording.as_mut_ptr(),
            self.dissipated.as_mut_ptr(),
            self.external_work.as_mut_ptr(),
        );
        let shared = &shared;
        let barrier = Barrier::new(self.shares.len());
        let (first, level, layout, problem) = (self.step, self.level, self.layout.as_ref(), &self.problem);
        let (forces, supports, monitors) = (&self.forces, &self.supports, &self.monitors);
        let (shares, row) = (&self.shares, 3 * self.monitors.len());
        let dt = problem.time_increment;
        let [decay, b] = problem.damping_factors();
        let damped = problem.groups.iter().any(|group| group.damping != 0.0);
        let breaks = problem.groups.iter().any(|group| group.max_strain.is_finite());
        let books = Books::new(problem);
        let work = |thread: usize| {
            let units = shares[thread].clone();
            let mine = |all: &[Special]| {
                all.partition_point(|each| each.unit < units.start)..all.partition_point(|each| each.unit < units.end)
            };
            let (my_forces, my_supports) = (mine(forces), mine(supports));
            let my_monitors = &monitors[monitors.partition_point(|each| each.unit < units.start)
                ..monitors.partition_point(|each| each.unit < units.end)];
            let mut task = Task {
                units: units.clone(),
                arrays: shared.0,
                factors: StepFactors { decay: T::from_f64(decay), gravity: [T::default(); 3], damped, breaks },
                step: 0,
                broken: Vec::new(),
                scratch: Scratch::default(),
            };
            let mut free = vec![T::default(); my_supports.len()];
            let mut next_record = 0;
            for k in 0..n_steps {
                let n = first + k as u64;
                let now = &signals[k * n_signals..(k + 1) * n_signals];
                let next = &signals[(k + 1) * n_signals..(k + 2) * n_signals];
                let (from, to) = ((n % 2) as usize, (n % 2) as usize ^ 1);
                let (u, next_u) = (shared.1[from].cast_const(), shared.1[to]);
                let (du, next_du) = (shared.2[from].cast_const(), shared.2[to]);
                (task.arrays.u, task.arrays.next_u, task.arrays.du, task.arrays.next_du) = (u, next_u, du, next_du);
                task.factors.gravity = problem.gravity_at(now).map(|g| T::from_f64(b * dt * dt * g));
                task.step = n;
                // SAFETY: this thread alone writes these units; the barrier separates the steps; recordings are long enough.
                unsafe {
                    let out = (record.get(next_record) == Some(&n)).then(|| shared.3.add(next_record * row));
                    if let Some(out) = out {
                        for monitor in my_monitors {
                            *out.add(3 * monitor.column) = (*u.add(monitor.index)).to_f64();
                            *out.add(3 * monitor.column + 1) = (*du.add(monitor.index)).to_f64();
                        }
                        next_record += 1;
                    }
                    layout.advance(level, &mut task);
                    for force in &forces[my_forces.clone()] {
                        let i = force.index;
                        let push = layout.inertia(i) * T::from_f64(force.value * now[force.signal]);
                        *next_du.add(i) = *next_du.add(i) + push;
                        *next_u.add(i) = *u.add(i) + *next_du.add(i);
                    }
                    for (support, free) in supports[my_supports.clone()].iter().zip(&mut free) {
                        let i = support.index;
                        *free = *next_du.add(i);
                        let increment = T::from_f64(support.value * (next[support.signal] - now[support.signal]));
                        *next_du.add(i) = increment;
                        *next_u.add(i) = *u.add(i) + increment;
                    }
                    if let Some(out) = out {
                        for monitor in my_monitors {
                            *out.add(3 * monitor.column + 2) = (*next_du.add(monitor.index)).to_f64();
                        }
                    }
                    if problem.follow_work {
                        let half = |i: usize| 0.5 * ((*du.add(i)).to_f64() + (*next_du.add(i)).to_f64());
                        for at in my_forces.clone() {
                            let force = &forces[at];
                            *shared.5.add(at) += force.value * now[force.signal] * half(force.index);
                        }
                        for (at, free) in my_supports.clone().zip(&free) {
                            let i = supports[at].index;
                            let reaction = ((*next_du.add(i)).to_f64() - free.to_f64()) / layout.inertia(i).to_f64();
                            *shared.5.add(forces.len() + at) += reaction * half(i);
                        }
                        for unit in units.clone() {
                            let mut sum = 0.0;
                            for i in layout.spans(unit).into_iter().flatten() {
                                let (old, new) = ((*du.add(i)).to_f64(), (*next_du.add(i)).to_f64());
                                let inertia = layout.inertia(i).to_f64();
                                if inertia > 0.0 {
                                    sum += books.friction(old, new) / inertia;
                                }
                                if !task.arrays.drag.is_null() {
                                    sum -= (*task.arrays.drag.add(i)).to_f64() * 0.5 * (old + new);
                                }
                            }
                            *shared.4.add(unit) += sum;
                        }
                    }
                }
                barrier.wait();
            }
            task.broken
        };
        let broken: Vec<_> = match &self.pool {
            None => work(0),
            Some(pool) => pool.broadcast(|context| work(context.index())).into_iter().flatten().collect(),
        };
        self.step += n_steps as u64;
        let mut broken: Vec<Change> =
            broken.into_iter().map(|(step, particles)| Change { step, particles, cause: Cause::Broken }).collect();
        broken.sort_unstable();
        for change in &broken {
            self.springs.erase(change.particles);
        }
        self.changes.extend(broken);
    }
}

/// Energy that friction takes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Books {
    /// BαΔt/4, of (Δu_n + Δu_{n+1})².
    centred: f64,
    /// Bλ/2, of Δu_n (Δu_n + Δu_{n+1}).
    lagged: f64,
}

impl Books {
    pub(super) fn new(problem: &SpringProblem) -> Self {
        let [centred, lagged] = problem.friction_factors();
        Self { centred, lagged }
    }

    /// Times m / BΔt².
    pub(super) fn friction(&self, old: f64, new: f64) -> f64 {
        (self.centred * (old + new) + self.lagged * old) * (old + new)
    }
}

/// Contiguous shares of units of about the same work, a thread.
fn shares<T>(layout: &dyn Layout<T>, threads: usize) -> Vec<Range<usize>> {
    let n = layout.n_units();
    let threads = threads.clamp(1, n.max(1));
    let total: usize = (0..n).map(|unit| layout.weight(unit)).sum();
    let mut shares = Vec::with_capacity(threads);
    let (mut first, mut done) = (0, 0);
    for thread in 0..threads {
        let (mut last, left) = (first, threads - thread - 1);
        while last < n - left.min(n) && (left == 0 || last == first || done < total * (thread + 1) / threads) {
            done += layout.weight(last);
            last += 1;
        }
        shares.push(first..last);
        first = last;
    }
    shares
}

impl<'a, T: Real> Stepper<'a> for CpuStepper<'a, T> {
    fn step(&self) -> u64 {
        self.step
    }

    fn advance(
        &mut self,
        n_steps: usize,
        signals: &SignalTable,
        record: &[u64],
        recording: &mut Vec<f64>,
    ) -> Result<(), DeviceError> {
        Self::advance(self, n_steps, signals, record, recording);
        Ok(())
    }

    fn state(&self) -> Result<State, DeviceError> {
        Ok(Self::state(self))
    }

    fn energies(&self, signals: &[f64]) -> Result<Energies, DeviceError> {
        Ok(super::energies::energies(&self.problem, &self.springs, &self.state(), signals))
    }

    fn changes(&self) -> &[Change] {
        &self.changes
    }

    fn springs(&self) -> &Springs<'a> {
        &self.springs
    }
}
