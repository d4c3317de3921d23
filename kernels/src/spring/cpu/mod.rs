//! The step on the CPU: a register of particles at once, each thread a run of rows or blocks, one barrier a step.
//!
//! u is doubled, so that nobody waits for neighbours within a step. Δu is updated in place unless dampers or the sums of energy
//! need the old one. Forces have a fixed order and both ends of a spring compute them: the same bits on every run, for every number
//! of threads, for every instruction set, and for both addressings.
//!
//! A stepper may have a [`Part`] of the particles, which are whole rows or blocks; see [`part`].

pub(super) mod grid;
mod halos;
pub(super) mod lattice;
pub(super) mod lists;
mod part;
mod pull;
mod worker;

use std::ffi::c_void;
use std::ops::Range;
use std::sync::Arc;

use pogo_formats::system::parallel::Shared;
use pogo_formats::system::parallel::iterate::*;

use super::events::Schedule;
use super::springs::Springs;
use super::{Addressing, Cause, Change, Energies, SpringError, SpringProblem, SpringStepper, State};
use crate::device::DeviceError;
use crate::dynamics::{Barrier, Part, Stepper, Steps};
use crate::ranks::Ranks;
use crate::simd::{Level, Real};
use grid::Grid;
use lists::{Lists, Scratch};
use part::{Share, own_units};
use worker::{Run, Worker};

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
    /// Factor A of the last increment.
    decay: T,
    /// BΔt² g(t_n).
    gravity: [T; 3],
    /// Some springs have dampers.
    damped: bool,
    /// Some springs may break.
    breaks: bool,
}

/// A thread's share of a step.
pub(crate) struct Task<'r, T> {
    /// Ranges of units, ascending.
    units: &'r [Range<usize>],
    arrays: Arrays<T>,
    factors: StepFactors<T>,
    step: u64,
    broken: Vec<(u64, [u32; 2])>,
    scratch: Scratch<T>,
}

impl<T> Task<'_, T> {
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
    /// Number of rows, or of blocks.
    fn n_units(&self) -> usize;
    fn unit_of(&self, particle: usize) -> usize;
    /// Work of a unit.
    fn weight(&self, unit: usize) -> usize;
    /// Where the numbers of a unit lie.
    fn spans(&self, unit: usize) -> Vec<Range<usize>>;
    /// BΔt²/m of a number.
    fn inertia(&self, index: usize) -> T;
    /// Tables that a step changes.
    fn pointers(&mut self, arrays: &mut Arrays<T>);
    /// # Safety
    /// The arrays must be as long as `len`, the units this thread's alone, and the tables laid out for the level's lanes.
    unsafe fn advance(&self, level: Level, task: &mut Task<T>);
    /// Puts a spring of a group between two particles, or takes the one away that is there.
    fn change(&mut self, particles: [u32; 2], group: Option<u32>);
    /// Bytes that a step moves, given the particles of the part.
    fn bytes_per_step(&self, n_own: usize) -> f64;
}

/// A number of the arrays that a force or a support acts on, or whose motion is recorded.
#[derive(Debug, Clone, Copy)]
struct Special {
    unit: usize,
    index: usize,
    /// Of the signals, or of the recording.
    column: usize,
    value: f64,
}

impl Special {
    /// Degrees of freedom with their columns and values, by unit.
    fn sorted<T>(layout: &dyn Layout<T>, all: impl Iterator<Item = (u64, usize, f64)>) -> Vec<Self> {
        let special = |(dof, column, value): (u64, usize, f64)| {
            let (particle, component) = (dof as usize / 3, dof as usize % 3);
            Self { unit: layout.unit_of(particle), index: layout.index(particle, component), column, value }
        };
        let mut all: Vec<Self> = all.map(special).collect();
        all.sort_by_key(|special| special.unit);
        all
    }
}

/// Steps a model, or a part of it, on the CPU in precision `T`.
#[derive(Debug)]
pub struct CpuStepper<'a, T: Real> {
    part: Part,
    /// Those that have the other parts.
    ranks: Option<Arc<dyn Ranks>>,
    /// Springs of this part that broke, of which the other ranks do not know yet.
    unshared: Vec<Change>,
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
    monitors: Vec<Special>,
    /// Dissipated energy by unit.
    dissipated: Vec<f64>,
    /// Work by force, then by support.
    external_work: Vec<f64>,
    /// External work and dissipated energy at the start, J.
    before: [f64; 2],
    step: u64,
    /// One a thread.
    shares: Vec<Share>,
    pool: Option<rayon::ThreadPool>,
}

impl<'a, T: Real> CpuStepper<'a, T> {
    /// A stepper on `threads` threads of this machine, with the instructions of `level`, from a state at any step.
    ///
    /// # Errors
    /// A model that contradicts itself, an addressing that it cannot have, threads that cannot be started.
    pub fn new(
        problem: SpringProblem<'a>,
        state: &State,
        addressing: Addressing,
        threads: usize,
        level: Level,
    ) -> Result<Self, SpringError> {
        let part = Part::whole(problem.n_particles());
        Self::with(problem, (part, None), state, addressing, threads, level)
    }

    /// A stepper of a part, given those ranks that have the others; see [`PartStepper`](crate::dynamics::PartStepper). The
    /// state is that of the whole model.
    ///
    /// # Errors
    /// As for [`new`](Self::new), and a model with more numbers than messages can name.
    pub fn of_part(
        problem: SpringProblem<'a>,
        part: Part,
        ranks: &Arc<dyn Ranks>,
        state: &State,
        addressing: Addressing,
        threads: usize,
        level: Level,
    ) -> Result<Self, SpringError> {
        let made = Self::with(problem, (part, Some(ranks.clone())), state, addressing, threads, level)?;
        let n = made.layout.len();
        if n > u32::MAX as usize { Err(SpringError::Numbers { n }) } else { Ok(made) }
    }

    fn with(
        problem: SpringProblem<'a>,
        (part, ranks): (Part, Option<Arc<dyn Ranks>>),
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
        let mut layout = layout_of::<T>(&problem, &springs, addressing, n_lanes, &part)?;
        springs.replay(&problem, &state.changes, |particles, group| layout.change(particles, group));
        let placed = |values: &[f64]| place_numbers::<T>(layout.as_ref(), &part, values);
        let u = [0, 1].map(|_| placed(&state.displacement));
        let damped = problem.is_damped();
        let mut du = vec![placed(&state.increment)];
        if damped || problem.follow_work {
            du.push(placed(&state.increment));
        }
        let forces = problem.forces.iter().map(|force| (force.dof, force.signal as usize, force.value));
        let supports = problem.constraints.iter().map(|held| (held.dof, held.signal as usize, held.value));
        let monitors = problem.monitors.iter().zip(0..).map(|(&dof, column)| (dof, column, 0.0));
        let [forces, supports] = [Special::sorted(layout.as_ref(), forces), Special::sorted(layout.as_ref(), supports)];
        let monitors = Special::sorted(layout.as_ref(), monitors);
        let own = own_units(layout.as_ref(), &part, problem.n_particles());
        let shares = Share::all(layout.as_ref(), &own, threads.max(1), [&forces, &supports, &monitors]);
        let pool = pogo_formats::system::threads::pool(shares.len())?;
        let follow = |len| vec![0.0; if problem.follow_work { len } else { 0 }];
        Ok(Self {
            part,
            ranks,
            unshared: Vec::new(),
            level,
            schedule: Schedule::new(&problem, state.step),
            happened: state.happened(),
            changes: state.changes.clone(),
            drag: vec![T::default(); if damped && problem.follow_work { layout.len() } else { 0 }],
            dissipated: follow(layout.n_units()),
            external_work: follow(forces.len() + supports.len()),
            before: [state.external_work, state.dissipated],
            u,
            du,
            monitors,
            forces,
            supports,
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
        let n_own = self.part.n_own();
        self.layout.bytes_per_step(n_own) / n_own.max(1) as f64
    }

    /// Numbers of some particles, (n, 3).
    fn widen(&self, values: &[T], particles: impl Iterator<Item = usize>) -> Vec<f64> {
        let mut wide = Vec::with_capacity(3 * self.part.n_own());
        for particle in particles {
            wide.extend((0..3).map(|c| values[self.layout.index(particle, c)].to_f64()));
        }
        wide
    }

    /// Displacement u_n of all particles, solver order; right for those of this part and of its halo.
    fn displacement(&self) -> Vec<f64> {
        self.widen(&self.u[(self.step % 2) as usize], 0..self.problem.n_particles())
    }

    /// Cuts, erasures and additions of the current step.
    fn events(&mut self) {
        if self.happened > self.step || self.schedule.next(self.step) != Some(self.step) {
            return;
        }
        self.share_broken();
        let u = self.displacement();
        let by = self.ranks.as_deref().map(|ranks| (&self.part, ranks));
        let changes = self.schedule.apply(&self.problem, &mut self.springs, self.step, &u, by);
        for change in &changes {
            self.layout.change(change.particles, self.problem.group_of(change));
        }
        self.changes.extend(changes);
        self.happened = self.step + 1;
    }

    /// Takes steps between which no spring comes or goes by command.
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
        let run = &Run {
            arrays,
            u: [even, odd],
            du: [du[0], du[du.len() - 1]],
            recording: recording.as_mut_ptr(),
            dissipated: self.dissipated.as_mut_ptr(),
            external_work: self.external_work.as_mut_ptr(),
            problem: &self.problem,
            layout: self.layout.as_ref(),
            level: self.level,
            forces: &self.forces,
            supports: &self.supports,
            monitors: &self.monitors,
        };
        let barrier = Barrier::new(self.shares.len());
        let (first, shares, row) = (self.step, &self.shares, 3 * self.monitors.len());
        let work = |thread: usize| {
            let mut worker = Worker::new(run, &shares[thread]);
            let mut next_record = 0;
            for k in 0..n_steps {
                let n = first + k as u64;
                let now = &signals[k * n_signals..(k + 1) * n_signals];
                let next = &signals[(k + 1) * n_signals..(k + 2) * n_signals];
                let recorded = record.get(next_record) == Some(&n);
                // SAFETY: this thread alone writes these units; the barrier separates the steps; recordings are long enough.
                unsafe { worker.step(n, [now, next], recorded.then_some(next_record * row)) };
                next_record += usize::from(recorded);
                barrier.wait();
            }
            worker.broken()
        };
        let broken: Vec<_> = match &self.pool {
            None => work(0),
            Some(pool) => pool.broadcast(|context| work(context.index())).into_iter().flatten().collect(),
        };
        self.step += n_steps as u64;
        let broken = broken.into_iter().map(|(step, particles)| Change { step, particles, cause: Cause::Broken });
        match self.ranks {
            None => self.changes.extend(self.springs.break_all(broken.collect())),
            Some(_) => self.unshared.extend(broken),
        }
    }
}

/// The tables of an addressing that a problem can have, for a part of it.
fn layout_of<T: Real>(
    problem: &SpringProblem,
    springs: &Springs,
    addressing: Addressing,
    lanes: usize,
    part: &Part,
) -> Result<Box<dyn Layout<T>>, SpringError> {
    let sizes = (lanes, problem.mesh.lists.block_size);
    Ok(match addressing.choose(problem)? {
        Addressing::ExplicitGlobal => Box::new(Lists::<T, u32>::new(problem, springs, sizes, part)?),
        Addressing::Explicit => Box::new(Lists::<T, u16>::new(problem, springs, sizes, part)?),
        _ => Box::new(Grid::new(problem, lanes, 0, part)?),
    })
}

/// The numbers (n, 3) of a part and of its halo as steps read them. Where they are zero no memory is touched: a part of a model at
/// rest takes that of its own particles alone.
fn place_numbers<T: Real>(layout: &dyn Layout<T>, part: &Part, values: &[f64]) -> Vec<T> {
    let mut placed = vec![T::default(); layout.len()];
    let all = Shared::new(&mut placed);
    let place = |particle: usize| {
        for (component, value) in values[3 * particle..][..3].iter().enumerate().filter(|(_, x)| x.to_bits() != 0) {
            let at = layout.index(particle, component);
            // SAFETY: each degree of freedom has a place of its own, and each particle is placed once.
            unsafe { all.part(at..at + 1)[0] = T::from_f64(*value) };
        }
    };
    for own in part.own_ranges() {
        own.clone().into_par_iter().with_min_len(1 << 12).for_each(place);
    }
    part.halo().iter().for_each(|&particle| place(particle as usize));
    placed
}

impl<T: Real> Stepper for CpuStepper<'_, T> {
    type State = State;

    fn step(&self) -> u64 {
        self.step
    }

    fn make(&mut self, steps: Steps<'_>, recording: &mut Vec<f64>) -> Result<(), DeviceError> {
        let Steps { n: n_steps, signals, record } = steps;
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
        Ok(())
    }

    fn state(&self) -> Result<State, DeviceError> {
        let [external, dissipated] = self.before;
        let increment = &self.du[if self.du.len() == 2 { (self.step % 2) as usize } else { 0 }];
        Ok(State {
            step: self.step,
            displacement: self.widen(&self.u[(self.step % 2) as usize], self.part.own()),
            increment: self.widen(increment, self.part.own()),
            external_work: external + self.external_work.iter().sum::<f64>(),
            dissipated: dissipated + self.dissipated.iter().sum::<f64>(),
            changes: self.changes.clone(),
        })
    }
}

/// Of a stepper with all particles; a part knows no energies of its own.
impl<'a, T: Real> SpringStepper<'a> for CpuStepper<'a, T> {
    fn energies(&self, signals: &[f64]) -> Result<Energies, DeviceError> {
        Ok(super::energies::energies(&self.problem, &self.springs, &self.state()?, signals))
    }

    fn changes(&self) -> &[Change] {
        &self.changes
    }

    fn springs(&self) -> &Springs<'a> {
        &self.springs
    }
}
