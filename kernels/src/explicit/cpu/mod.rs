//! The explicit step on the CPU. Each thread has some of the blocks, which fit its cache, and each lane computes one element.
//!
//! A block needs the displacements of its own nodes and of its halo beside their positions. It computes f_int of its
//! elements there, and updates its own nodes in place.
//!
//! *In the plane* the state itself has that form, with room for the halo behind the own nodes. Several blocks of the file
//! are stepped as one ([`groups`](super::groups)), and a block computes all elements that it touches. Halo values come from a second,
//! double-buffered array that holds the boundary nodes alone, so u and Δu each move through memory once a step at most.
//!
//! *In space* displacements and positions are copied into that form. The first block that an element touches computes it.
//! Each block then adds the forces that others have computed on its nodes, and moves them.
//!
//! Elements may feel more than u: see [`lag`] and [`memory`].
//!
//! Where displacements are copied from node to node ([`copies`]), steps are made one by one. Where linear constraints hold
//! ([`held`]), or fluids are tied to solids ([`tied`]), one thread corrects the motion at the end of a step, while others begin the
//! next one elsewhere ([`correction`]).
//!
//! A stepper may have a [`Part`] of the blocks. Halo values of other parts then come from their steppers. In space a part
//! computes for itself what blocks of other parts would pass on to its nodes ([`block::BlockTables::only_passing`]).
//!
//! Elements are computed and their forces added in a fixed order, and energies are summed in the order of the steps and of
//! the blocks. So results have the same bits on every run, for every number of threads and in every order of blocks
//! ([`schedule`]); displacements have the same bits however the model is cut into parts.

mod advance;
mod block;
mod copies;
mod correction;
mod dispatch;
mod fluid;
mod forces;
mod ground;
mod held;
mod join;
mod lag;
mod law;
mod memory;
mod plane;
mod probe;
mod schedule;
mod solid;
mod step;
mod strips;
mod tables;
mod tied;

use std::sync::{Mutex, PoisonError};

use pogo_formats::dynamics::CopiedDisplacements;

use super::ElementStepper;
use super::problem::{Problem, StepperError};
use super::team::ElementPart;
use crate::device::DeviceError;
use crate::dynamics::{Barrier, ModelError, Part, PartStepper, State, Stepper, Steps, check_length, recorded_in};
use crate::simd::{Level, Real};
use advance::{Advance, Shared};
use block::Run;
use copies::Copies;
use correction::{Correction, Team};
use law::force_stride;
use schedule::Schedule;
use step::{Aligned, Arrays, Scratch};
use tables::Tables;

/// How a problem is stepped on the CPU.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CpuOptions {
    /// Threads, at most one a block.
    pub threads: usize,
    /// The instruction set.
    pub level: Level,
    /// Bytes of cache that a wave of steps may use; they change no bit.
    pub cache: usize,
}

impl CpuOptions {
    /// So many threads with the best instruction set of this machine.
    pub fn new(threads: usize) -> Self {
        Self { threads, level: Level::detect(), cache: schedule::CACHE_BYTES }
    }
}

/// Steps a problem, or a part of it, on the CPU in precision `T`.
#[derive(Debug)]
pub struct CpuStepper<T> {
    part: Part,
    tables: Tables<T>,
    level: Level,
    /// See [`Arrays::displacement`]; in space with the part's halo at the end.
    displacement: Aligned<T>,
    /// Δu, (n_nodes, dimension); with a lag in space that of the part's halo at the end.
    increment: Vec<T>,
    /// u of the boundary nodes, then of the part's halo, at even and at odd steps; empty where blocks pass forces on.
    boundary: [Vec<T>; 2],
    /// Their Δu, where there is a lag.
    boundary_increment: [Vec<T>; 2],
    /// z_l, (n_mechanisms, n_rows, dimension): those of the step before, or of `begun`.
    memory: Vec<T>,
    /// The step of the state that the stepper was made from.
    begun: u64,
    /// (n_rows, force stride), where blocks pass forces on.
    forces: Aligned<T>,
    /// Of two windows, (steps, n_energy_rows, 2).
    energies: [Vec<f64>; 2],
    step: u64,
    external_work: f64,
    damped_energy: f64,
    schedule: Schedule,
    scratch: Vec<Mutex<Scratch<T>>>,
    copies: Copies,
    /// By numbers in the part.
    copied: CopiedDisplacements,
    correction: Option<Mutex<Correction>>,
    /// What it has added to the external work and to the damped energy, J, of two windows, (steps,).
    corrected_work: [Vec<[f64; 2]>; 2],
    pool: Option<rayon::ThreadPool>,
}

impl<T: Real> CpuStepper<T> {
    /// A stepper from a state at any step.
    ///
    /// # Errors
    /// Arrays of the wrong length, degrees of freedom out of range, forces on nodes without mass, blocks that do not fit
    /// together, threads that cannot be started.
    pub fn new(problem: &Problem, state: &State, options: CpuOptions) -> Result<Self, StepperError> {
        Self::of_part(problem, (Part::whole(problem.mesh.n_nodes()), None), state, options)
    }

    /// A stepper of a part of the problem, which has whole cells (see [`Problem::cells`]), from the state of its own nodes, with
    /// the memory variables of its halo behind theirs. The rest of the halo is to be set before the first step; see
    /// [`PartStepper`]. With linear constraints or ties of fluids it needs the team that has the other parts, and each step is collective.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn of_part(
        problem: &Problem,
        (part, team): (Part, Option<Team<'_>>),
        state: &State,
        options: CpuOptions,
    ) -> Result<Self, StepperError> {
        let CpuOptions { threads, level, cache } = options;
        problem.check(state, part.n_own())?;
        let n_memories = problem.relaxation.rates.len() * part.n_local() * problem.mesh.dimension;
        check_length("memory variables", n_memories, state.memory.len())?;
        let mut tables = Tables::<T>::new(problem, &part, level.narrow_lanes::<T>())?;
        let mut displacement = empty_rows(&tables);
        set_rows(&tables, &mut displacement, &state.displacement);
        if !tables.computes_once() && tables.strips.is_none() {
            // They are in the state now.
            tables.coordinates = Vec::new();
        }
        let boundary = boundary_rows(&tables, &displacement);
        let increment = increments(&tables, &state.increment);
        let boundary_increment = lag::boundary_increments(&tables, &increment);
        let correction = Correction::new(&tables, problem, &part, team)?;
        let meeting = correction.as_ref().map(|correction| correction.meeting(&tables));
        let nodes = (&part, problem.mesh.coordinates);
        let schedule = Schedule::new(&tables, nodes, (threads.max(1), cache), meeting);
        let threads = schedule.turns.len();
        let steps_of_window = schedule.window / tables.phases_per_step();
        let copied = copies::of_part(&problem.copied, &part)?;
        let energies = vec![0.0; 2 * tables.n_energy_rows * steps_of_window];
        Ok(Self {
            increment,
            memory: memory::rows(&tables, &state.memory),
            begun: state.step,
            boundary: [boundary.clone(), boundary],
            boundary_increment: [boundary_increment.clone(), boundary_increment],
            forces: Aligned::new(if tables.computes_once() { tables.n_rows * force_stride(3) } else { 0 }),
            energies: [energies.clone(), energies],
            step: state.step,
            external_work: state.external_work,
            damped_energy: state.damped_energy,
            scratch: (0..threads).map(|_| Mutex::new(Scratch::new(&tables))).collect(),
            copies: Copies::new(&tables, &copied),
            copied,
            correction: correction.map(Mutex::new),
            corrected_work: [(); 2].map(|()| vec![[0.0; 2]; steps_of_window]),
            pool: pogo_formats::system::threads::pool(threads).map_err(ModelError::from)?,
            part,
            displacement,
            tables,
            level,
            schedule,
        })
    }

    /// Copies the displacements of this step that are copied from node to node.
    fn copy(&mut self) {
        let parity = (self.step % 2) as usize;
        let u = [&mut self.displacement[..], &mut self.boundary[parity]];
        let du = [&mut self.increment[..], &mut self.boundary_increment[parity]];
        self.copies.make(self.tables.dimension, u, du);
    }

    /// Whether blocks go through several steps before others begin.
    #[cfg(test)]
    pub(super) fn runs_in_waves(&self) -> bool {
        !self.schedule.turns[0].is_sorted_by_key(|turn| turn.phase)
    }

    /// Bytes that a step must move through memory at least, a node.
    pub fn bytes_per_node_step(&self) -> f64 {
        self.tables.bytes_per_step() as f64 / self.tables.n_nodes.max(1) as f64
    }

    /// Elements that a step computes, a node: those between blocks several times, and those that fill batches or join
    /// strips.
    pub fn elements_per_node_step(&self) -> f64 {
        let computed = |run: &Run| run.offsets.len() / run.law.n_nodes();
        self.tables.runs.iter().map(computed).sum::<usize>() as f64 / self.tables.n_nodes.max(1) as f64
    }
}

/// Records of own, halo and dummy nodes with their positions, (n_rows, 4), in the plane; in space and of strips room for u.
fn empty_rows<T: Real>(tables: &Tables<T>) -> Aligned<T> {
    if tables.computes_once() {
        return Aligned::new((tables.n_nodes + tables.n_halo) * 3);
    }
    let stride = tables.state_stride();
    let mut out = Aligned::new(tables.n_rows * stride);
    if tables.strips.is_some() {
        return out;
    }
    for (record, x) in out.chunks_exact_mut(stride).zip(tables.coordinates.chunks_exact(2)) {
        record[stride / 2..].copy_from_slice(x);
    }
    out
}

/// Where u of each own node stands, and the node.
fn own_rows<T: Real>(tables: &Tables<T>) -> impl Iterator<Item = (usize, usize)> {
    tables.blocks.iter().flat_map(|block| {
        let (first, stride) = step::own_rows(tables, block);
        (first..).step_by(stride).zip(block.nodes())
    })
}

/// Writes u, (n_nodes, dimension), of own nodes.
fn set_rows<T: Real>(tables: &Tables<T>, rows: &mut [T], displacement: &[f64]) {
    let d = tables.dimension;
    for (row, node) in own_rows(tables) {
        for c in 0..d {
            rows[row + c] = T::from_f64(displacement[node * d + c]);
        }
    }
}

/// Δu, (n_nodes, dimension), and room for the part's halo where elements that are computed once read it.
fn increments<T: Real>(tables: &Tables<T>, increment: &[f64]) -> Vec<T> {
    let n_halo = if tables.is_lagged && tables.computes_once() { tables.n_halo } else { 0 };
    let mut out: Vec<T> = increment.iter().map(|&value| T::from_f64(value)).collect();
    out.resize((tables.n_nodes + n_halo) * tables.dimension, T::default());
    out
}

/// u of the boundary nodes, and room for the part's halo.
fn boundary_rows<T: Real>(tables: &Tables<T>, displacement: &[T]) -> Vec<T> {
    let (d, stride) = (tables.dimension, tables.state_stride());
    if tables.computes_once() {
        return Vec::new();
    }
    let mut out = Vec::with_capacity((tables.boundary.len() + tables.n_halo) * d);
    for block in &tables.blocks {
        for &local in &tables.boundary[block.boundary.clone()] {
            let first = (block.first_row + usize::from(local)) * stride;
            out.extend_from_slice(&displacement[first..first + d]);
        }
    }
    out.resize(out.len() + tables.n_halo * d, T::default());
    out
}

impl<T: Real> Stepper for CpuStepper<T> {
    type State = State;

    fn step(&self) -> u64 {
        self.step
    }

    /// Does not fail.
    ///
    /// # Panics
    /// Also for several steps of a part that has a halo.
    fn make(&mut self, steps: Steps<'_>, recording: &mut Vec<f64>) -> Result<(), DeviceError> {
        let Steps { n: n_steps, signals, record } = steps;
        if n_steps > 1 && !self.copies.is_empty() {
            return (0..n_steps).try_for_each(|k| {
                let step = [self.step];
                self.advance(1, &signals.of_step(k), recorded_in(record, &step), recording)
            });
        }
        // Nodes of the halo have the motion of this step by now.
        let reads_others = !self.part.halo().is_empty();
        if reads_others && self.step > self.begun {
            self.copy();
        }
        let tables = &self.tables;
        assert!(n_steps <= 1 || !reads_others, "the halo is that of one step");
        let columns = tables.forces.iter().map(|f| f.signal).chain(tables.constraints.iter().map(|c| c.signal));
        let has_columns = columns.max().is_none_or(|column| column < signals.n_signals);
        assert!(has_columns, "the signal table has too few columns");
        if let Some(correction) = &mut self.correction {
            correction.get_mut().unwrap_or_else(PoisonError::into_inner).keep(&self.increment);
        }
        let recorded = recording.len();
        recording.resize(recorded + record.len() * tables.n_monitors * 3, 0.0);
        self.schedule.begin();
        let advance = Advance {
            level: self.level,
            tables,
            schedule: &self.schedule,
            shared: Shared {
                arrays: Arrays {
                    displacement: self.displacement.as_mut_ptr(),
                    increment: self.increment.as_mut_ptr(),
                    forces: self.forces.as_mut_ptr(),
                    memory: self.memory.as_mut_ptr(),
                    recording: recording[recorded..].as_mut_ptr(),
                    ..Arrays::none()
                },
                boundary: self.boundary.each_mut().map(|rows| rows.as_mut_ptr()),
                boundary_increment: self.boundary_increment.each_mut().map(|rows| rows.as_mut_ptr()),
                energies: self.energies.each_mut().map(|rows| rows.as_mut_ptr()),
                corrected_work: self.corrected_work.each_mut().map(|rows| rows.as_mut_ptr()),
            },
            correction: self.correction.as_ref(),
            barrier: Barrier::new(self.schedule.turns.len()),
            first: self.step,
            begun: self.begun,
            n_steps,
            signals,
            record,
            energies: [self.external_work, self.damped_energy],
        };
        let run = |thread: usize| {
            let mut scratch = self.scratch[thread].lock().unwrap_or_else(PoisonError::into_inner);
            advance.run(thread, &mut scratch)
        };
        [self.external_work, self.damped_energy] = match &self.pool {
            None => run(0),
            Some(pool) => pool.broadcast(|context| run(context.index()))[0],
        };
        self.step += n_steps as u64;
        if !reads_others {
            self.copy();
        }
        Ok(())
    }

    fn state(&self) -> Result<State, DeviceError> {
        let d = self.tables.dimension;
        let n_own = self.tables.n_nodes * d;
        let mut displacement = vec![0.0; n_own];
        for (row, node) in own_rows(&self.tables) {
            for c in 0..d {
                displacement[node * d + c] = self.displacement[row + c].to_f64();
            }
        }
        let motion = (self.step > self.begun).then_some((displacement.as_slice(), self.increment.as_slice()));
        Ok(State {
            memory: memory::of_nodes(&self.tables, &self.memory, motion),
            step: self.step,
            displacement,
            increment: self.increment[..n_own].iter().map(|value| value.to_f64()).collect(),
            external_work: self.external_work,
            damped_energy: self.damped_energy,
        })
    }
}

impl<T: Real> ElementStepper for CpuStepper<T> {
    fn internal_force(&mut self, displacement: &[f64]) -> Result<Vec<f64>, DeviceError> {
        Ok(Self::internal_force(self, displacement))
    }

    fn viscous_force(&mut self, motion: [&[f64]; 3]) -> Result<Vec<f64>, DeviceError> {
        Ok(self.force(motion))
    }
}

impl<T: Real> ElementPart for CpuStepper<T> {
    fn energy_nodes(&self) -> Vec<u32> {
        let blocks = self.tables.blocks.iter().filter(|block| block.energy_row.is_some());
        blocks.filter_map(|block| Some(self.part.solver(block.nodes().next()?) as u32)).collect()
    }

    fn energies(&self) -> &[f64] {
        // The first window of a call has the even rows.
        &self.energies[0][..2 * self.tables.n_energy_rows]
    }

    fn work_of_rows(&self) -> [f64; 2] {
        self.corrected_work[0][0]
    }
}

impl<T: Real> PartStepper for CpuStepper<T> {
    type Number = T;

    fn part(&self) -> &Part {
        &self.part
    }

    fn n_components(&self) -> usize {
        self.tables.dimension
    }

    fn rows(&self, node: u32) -> Vec<u32> {
        let local = self.part.local(node as usize);
        if self.tables.computes_once() {
            return local.map(|local| local as u32).into_iter().collect();
        }
        let row = match local {
            Some(local) if local >= self.tables.n_nodes => {
                Some((self.tables.boundary.len() + local - self.tables.n_nodes) as u32)
            }
            _ => {
                let at = self.part.read_by_others().binary_search(&node).ok();
                at.map(|at| self.tables.rows_read_by_others[at])
            }
        };
        row.into_iter().collect()
    }

    fn exchanged(&mut self) -> Vec<&mut [T]> {
        let parity = (self.step % 2) as usize;
        let [u, du] = match self.tables.computes_once() {
            true => [&mut self.displacement[..], &mut self.increment[..]],
            false => [&mut self.boundary[parity][..], &mut self.boundary_increment[parity][..]],
        };
        if self.tables.is_lagged { vec![u, du] } else { vec![u] }
    }
}
