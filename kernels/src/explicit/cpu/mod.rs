//! The explicit step on the CPU: blocks that fit the cache, elements a lane each, a thread a run of blocks.
//!
//! A block needs the displacements of its own nodes and of its halo beside their positions, computes f_int of its
//! elements there, and updates its own nodes in place. In the plane the state itself has that form, with room for the
//! halo behind the own nodes, several blocks of the file are stepped as one, and a block computes all elements that it
//! touches: halo values come from a second, double-buffered array that holds the boundary nodes alone, so u and Δu each
//! move through memory once a step at most. Solids are copied into that form, and those on a join are computed by the
//! first block that they touch: each block then adds the forces that others have computed on its nodes, and moves them.
//! Elements are computed and their forces added in a fixed order, and energies are summed in the order of the steps and of
//! the blocks: the same bits on every run, for every number of threads and in every order of blocks ([`schedule`]).

mod forces;
mod groups;
mod join;
mod part;
mod plane;
pub(super) mod scale;
mod schedule;
mod solid;
mod step;
mod strips;
pub(super) mod tables;

use std::ops::Range;
use std::sync::Mutex;

use forces::Batches;
use plane::{Quadrilateral, ReducedQuadrilateral, Triangle};
use schedule::Schedule;
use solid::{Hexahedron, ReducedHexahedron, Tetrahedron, Wedge};
use step::{Aligned, Arrays, Scratch, Signals};
use tables::{Block, Law, Run, Tables};

use super::{Problem, State, Stepper, StepperError};
use crate::device::DeviceError;
use crate::dynamics::{Barrier, SignalTable};
use crate::simd::{InstructionSet, Kernel, Level, Real};

/// Prepares a block; see [`step::open_block`].
struct OpenBlock<'a, T> {
    tables: &'a Tables<T>,
    block: &'a Block,
    displacement: *mut T,
    boundary: *const T,
    records: *mut T,
    forces: *mut T,
}

impl<T: Real> Kernel for OpenBlock<'_, T> {
    type Output = *const T;
    #[inline(always)]
    fn run<I: InstructionSet>(self) -> *const T {
        let Self { tables, block, displacement, boundary, records, forces } = self;
        // SAFETY: the promise of `block_forces`.
        unsafe { step::open_block(tables, block, displacement, boundary, records, forces) }
    }
}

/// Adds f_int of a run. `LAW` is a [`Law`]; `SPECIAL`: of strips, the material is isotropic, of others, it does not couple
/// shear with the rest. Where the stress is a small part of the work, one form serves all materials.
struct AddForces<'a, T, const LAW: usize, const SPECIAL: bool> {
    batches: &'a Batches<'a, T>,
    records: *const T,
    forces: *mut T,
}

impl<T: Real, const LAW: usize, const SPECIAL: bool> Kernel for AddForces<'_, T, LAW, SPECIAL> {
    type Output = ();
    #[inline(always)]
    fn run<I: InstructionSet>(self) {
        type V<I, T> = <I as InstructionSet>::Narrow<T>;
        let Self { batches, records, forces: out } = self;
        // SAFETY: the promise of `add_forces` below.
        unsafe {
            match Law::ALL[LAW] {
                Law::Triangle => forces::add_forces::<V<I, T>, 2, 2, Triangle<V<I, T>, SPECIAL>>(batches, records, out),
                Law::Strip => plane::add_strips::<V<I, T>, SPECIAL, false>(batches, records, out),
                Law::EdgeStrip => plane::add_strips::<V<I, T>, SPECIAL, true>(batches, records, out),
                Law::Quadrilateral => {
                    forces::add_forces::<V<I, T>, 2, 3, Quadrilateral<V<I, T>, SPECIAL>>(batches, records, out)
                }
                Law::ReducedQuadrilateral => {
                    forces::add_forces::<V<I, T>, 2, 3, ReducedQuadrilateral<V<I, T>>>(batches, records, out)
                }
                Law::Tetrahedron => {
                    forces::add_forces::<V<I, T>, 3, 3, Tetrahedron<V<I, T>, SPECIAL>>(batches, records, out)
                }
                Law::Wedge => forces::add_forces::<V<I, T>, 3, 5, Wedge<V<I, T>>>(batches, records, out),
                Law::Hexahedron => {
                    forces::add_forces::<V<I, T>, 3, 7, Hexahedron<V<I, T>, SPECIAL>>(batches, records, out)
                }
                Law::ReducedHexahedron => {
                    forces::add_forces::<V<I, T>, 3, 7, ReducedHexahedron<V<I, T>>>(batches, records, out)
                }
            }
        }
    }
}

/// Adds f_int of a run's batches.
///
/// # Safety
/// As for [`forces::add_forces`].
unsafe fn add_forces<T: Real>(level: Level, law: Law, batches: &Batches<T>, records: *const T, forces: *mut T) {
    macro_rules! add {
        ($law:ident, $special:expr) => {
            level.run(AddForces::<T, { Law::$law as usize }, { $special }> { batches, records, forces })
        };
        ($law:ident) => {
            if batches.material.aligned { add!($law, true) } else { add!($law, false) }
        };
    }
    match law {
        Law::Triangle => add!(Triangle),
        Law::Strip if batches.material.isotropic => add!(Strip, true),
        Law::Strip => add!(Strip, false),
        Law::EdgeStrip if batches.material.isotropic => add!(EdgeStrip, true),
        Law::EdgeStrip => add!(EdgeStrip, false),
        Law::Quadrilateral => add!(Quadrilateral),
        Law::ReducedQuadrilateral => add!(ReducedQuadrilateral, false),
        Law::Tetrahedron => add!(Tetrahedron),
        Law::Wedge => add!(Wedge, false),
        Law::Hexahedron => add!(Hexahedron),
        Law::ReducedHexahedron => add!(ReducedHexahedron, false),
    }
}

/// Moves the nodes of a block; see [`step::update_block`].
struct UpdateBlock<'a, T> {
    tables: &'a Tables<T>,
    block: &'a Block,
    arrays: &'a Arrays<T>,
    signals: Signals<'a>,
    saved: &'a mut [[T; 2]],
    forces: *mut T,
}

impl<T: Real> Kernel for UpdateBlock<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<I: InstructionSet>(self) {
        let Self { tables, block, arrays, signals, saved, forces } = self;
        // SAFETY: the caller's promise, where it is made.
        unsafe { step::update_block::<I::Narrow<T>>(tables, block, arrays, signals, saved, forces) }
    }
}

/// f_int of one block into `forces`, (n_local, force stride), while the memory of the block after it is asked for.
///
/// # Safety
/// The pointers must hold the rows that the tables name. In the plane nobody else may touch the block's rows of
/// `displacement`.
unsafe fn block_forces<T: Real>(
    level: Level,
    tables: &Tables<T>,
    [block, next]: [&Block; 2],
    displacement: *mut T,
    boundary: *const T,
    records: &mut [T],
    forces: *mut T,
) {
    let records = records.as_mut_ptr();
    let records = level.run(OpenBlock { tables, block, displacement, boundary, records, forces });
    let runs = &tables.runs[block.runs.clone()];
    let [positions, mut positions_ahead] =
        [block, next].map(|block| tables.coordinates.as_ptr().wrapping_add(2 * block.first_row));
    let batches = |run: &Run| run.offsets.len() / (run.law.n_nodes() * tables.lanes);
    let record = tables.state_stride();
    let mut ahead = displacement.cast_const().wrapping_add(next.first_row * record);
    let step = (next.n_local(tables.dimension) * record * size_of::<T>())
        .div_ceil(runs.iter().map(batches).sum::<usize>().max(1));
    for run in runs {
        let material = &tables.materials[run.material];
        let offsets = &tables.offsets[run.offsets.clone()];
        let factors = &tables.factors[run.factors.clone()];
        let rows = Batches { offsets, factors, positions, material, ahead: (ahead, step), positions_ahead };
        // SAFETY: the caller's promise; offsets were checked when the tables were made.
        unsafe { add_forces(level, run.law, &rows, records, forces) };
        positions_ahead = positions_ahead.wrapping_byte_add(batches(run) * step);
        ahead = ahead.wrapping_byte_add(batches(run) * step);
    }
}

/// Steps a problem on the CPU in precision `T`.
#[derive(Debug)]
pub struct CpuStepper<T: Real> {
    tables: Tables<T>,
    level: Level,
    /// See [`Arrays::displacement`].
    displacement: Aligned<T>,
    /// Δu, (n_nodes, dimension), in solver order.
    increment: Vec<T>,
    /// u of the boundary nodes at even and at odd steps; empty where blocks pass forces on.
    boundary: [Vec<T>; 2],
    /// (n_rows, force stride), where blocks pass forces on.
    forces: Aligned<T>,
    /// Two windows' worth of (steps, n_energy_rows, 2).
    energies: [Vec<f64>; 2],
    step: u64,
    external_work: f64,
    damped_energy: f64,
    schedule: Schedule,
    scratch: Vec<Mutex<Scratch<T>>>,
    pool: Option<rayon::ThreadPool>,
}

/// A stepper on `threads` threads of this machine in precision `T`, from a state at any step.
///
/// # Errors
/// Arrays of the wrong length, degrees of freedom out of range, forces on nodes without mass, blocks that do not fit
/// together, threads that cannot be started.
pub fn cpu<T: Real>(problem: &Problem, state: &State, threads: usize) -> Result<Box<dyn Stepper>, StepperError> {
    Ok(Box::new(CpuStepper::<T>::new(problem, state, threads)?))
}

impl<T: Real> CpuStepper<T> {
    /// As [`cpu`].
    ///
    /// # Errors
    /// As [`cpu`].
    pub fn new(problem: &Problem, state: &State, threads: usize) -> Result<Self, StepperError> {
        Self::with_level(problem, state, threads, Level::detect())
    }

    /// As [`cpu`], at a given level.
    ///
    /// # Errors
    /// As [`cpu`].
    pub fn with_level(problem: &Problem, state: &State, threads: usize, level: Level) -> Result<Self, StepperError> {
        Self::with_cache(problem, state, threads, level, schedule::CACHE_BYTES)
    }

    /// As [`with_level`](Self::with_level), for a cache of so many bytes, which changes no bit.
    pub(super) fn with_cache(
        problem: &Problem,
        state: &State,
        threads: usize,
        level: Level,
        cache: usize,
    ) -> Result<Self, StepperError> {
        let mut tables = Tables::<T>::new(problem, state, level.narrow_lanes::<T>())?;
        let mut displacement = empty_rows(&tables);
        set_rows(&tables, &mut displacement, &state.displacement);
        if !tables.computes_once() && tables.strips.is_none() {
            // They are in the state now.
            tables.coordinates = Vec::new();
        }
        let boundary = boundary_rows(&tables, &displacement);
        let schedule = Schedule::new(&tables, problem.mesh.coordinates, threads.max(1), cache);
        let threads = schedule.turns.len();
        let energies = vec![0.0; 2 * tables.n_energy_rows * (schedule.window / tables.phases_per_step())];
        let pool = if threads > 1 {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            Some(pool.map_err(|error| StepperError::Threads { reason: error.to_string() })?)
        } else {
            None
        };
        Ok(Self {
            increment: state.increment.iter().map(|&value| T::from_f64(value)).collect(),
            boundary: [boundary.clone(), boundary],
            forces: Aligned::new(if tables.computes_once() { tables.n_rows * step::force_stride(3) } else { 0 }),
            energies: [energies.clone(), energies],
            step: state.step,
            external_work: state.external_work,
            damped_energy: state.damped_energy,
            scratch: (0..threads).map(|_| Mutex::new(Scratch::new(&tables))).collect(),
            displacement,
            tables,
            level,
            schedule,
            pool,
        })
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

    /// Elements that a step computes, those between blocks several times and those that fill batches or join strips
    /// included, a node.
    pub fn elements_per_node_step(&self) -> f64 {
        let computed = |run: &Run| run.offsets.len() / run.law.n_nodes();
        self.tables.runs.iter().map(computed).sum::<usize>() as f64 / self.tables.n_nodes.max(1) as f64
    }
}

/// Records of own, halo and dummy nodes with their positions, (n_rows, 4), in the plane; in space and of strips room for u.
fn empty_rows<T: Real>(tables: &Tables<T>) -> Aligned<T> {
    if tables.computes_once() {
        return Aligned::new(tables.n_nodes * 3);
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

/// Writes u, (n_nodes, dimension), of own nodes.
fn set_rows<T: Real>(tables: &Tables<T>, rows: &mut [T], displacement: &[f64]) {
    let d = tables.dimension;
    for block in &tables.blocks {
        let (first, stride) = step::own_rows(tables, block);
        let own = block.own.iter().flat_map(Range::clone);
        for (row, node) in rows[first..].chunks_mut(stride).zip(own) {
            for c in 0..d {
                row[c] = T::from_f64(displacement[node * d + c]);
            }
        }
    }
}

/// u of the boundary nodes.
fn boundary_rows<T: Real>(tables: &Tables<T>, displacement: &[T]) -> Vec<T> {
    let (d, stride) = (tables.dimension, tables.state_stride());
    let mut out = Vec::with_capacity(tables.boundary.len() * d);
    for block in &tables.blocks {
        for &local in &tables.boundary[block.boundary.clone()] {
            let first = (block.first_row + usize::from(local)) * stride;
            out.extend_from_slice(&displacement[first..first + d]);
        }
    }
    out
}

/// Pointers that may go to other threads: the blocks' rows are disjoint.
struct Shared<T>(Arrays<T>, [*mut T; 2], [*mut f64; 2]);
// SAFETY: each block's rows are written by the one thread that has it; see `Arrays`.
unsafe impl<T> Sync for Shared<T> {}

impl<T: Real> CpuStepper<T> {
    /// As [`Stepper::advance`], which cannot fail here.
    ///
    /// # Panics
    /// As said there.
    pub fn advance(&mut self, n_steps: usize, signals: &SignalTable, record: &[u64], recording: &mut Vec<f64>) {
        let tables = &self.tables;
        let n_signals = signals.n_signals;
        crate::dynamics::check_advance(self.step, n_steps, signals, record);
        let columns = tables.forces.iter().map(|f| f.signal).chain(tables.constraints.iter().map(|c| c.signal));
        assert!(columns.max().is_none_or(|column| column < n_signals), "the signal table has too few columns");
        let recorded_first = recording.len();
        recording.resize(recorded_first + record.len() * tables.n_monitors * 3, 0.0);
        let recorded = recording[recorded_first..].as_mut_ptr();
        let [even, odd] = &mut self.boundary;
        let [even_energies, odd_energies] = &mut self.energies;
        let shared = Shared(
            Arrays {
                displacement: self.displacement.as_mut_ptr(),
                increment: self.increment.as_mut_ptr(),
                forces: self.forces.as_mut_ptr(),
                boundary: std::ptr::null(),
                next_boundary: std::ptr::null_mut(),
                energies: std::ptr::null_mut(),
                recording: recorded,
            },
            [even.as_mut_ptr(), odd.as_mut_ptr()],
            [even_energies.as_mut_ptr(), odd_energies.as_mut_ptr()],
        );
        let shared = &shared;
        let barrier = Barrier::new(self.schedule.turns.len());
        let level = self.level;
        let (first, schedule, scratch) = (self.step, &mut self.schedule, &self.scratch);
        schedule.begin();
        let schedule = &*schedule;
        let phases = tables.phases_per_step();
        let n_phases = n_steps * phases;
        let work = |thread: usize| {
            let mut scratch = scratch[thread].lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let Scratch { records, forces, saved } = &mut *scratch;
            let (mut external_total, mut damped_total) = (self.external_work, self.damped_energy);
            let turns = &schedule.turns[thread];
            for (window, before) in (0..n_phases).step_by(schedule.window).enumerate() {
                let window_energies = shared.2[window % 2];
                let energies = |k: usize| {
                    // SAFETY: there are rows for all steps of a window.
                    unsafe { window_energies.add(2 * tables.n_energy_rows * (k - before / phases)) }
                };
                for (turn, ahead) in turns.iter().zip(turns.iter().skip(1).chain(turns.last())) {
                    let phase = before + turn.phase;
                    if phase >= n_phases {
                        continue;
                    }
                    let k = phase / phases;
                    let n = first + k as u64;
                    let parity = (n % 2) as usize;
                    let mut arrays = shared.0;
                    arrays.boundary = if tables.computes_once() { arrays.displacement } else { shared.1[parity] };
                    arrays.next_boundary = shared.1[1 - parity];
                    arrays.energies = energies(k);
                    arrays.recording = match record.binary_search(&n) {
                        // SAFETY: `recording` was made long enough above.
                        Ok(at) => unsafe { shared.0.recording.add(at * tables.n_monitors * 3) },
                        Err(_) => std::ptr::null_mut(),
                    };
                    let signals = Signals {
                        now: &signals.values[k * n_signals..(k + 1) * n_signals],
                        next: &signals.values[(k + 1) * n_signals..(k + 2) * n_signals],
                    };
                    let [block, next] = [turn, ahead].map(|turn| &tables.blocks[turn.block]);
                    schedule.wait_for_neighbours(turn.block, phase);
                    // SAFETY: this thread alone has the block, whose neighbours have gone through all phases before this one,
                    // and go through the next when this one is done.
                    unsafe {
                        let forces = match tables.computes_once() {
                            true => arrays.forces.add(block.first_row * step::force_stride(3)),
                            false => forces.as_mut_ptr(),
                        };
                        if phase % phases == 0 {
                            let (u, boundary) = (arrays.displacement, arrays.boundary);
                            block_forces(level, tables, [block, next], u, boundary, records, forces);
                        }
                        if phase % phases == phases - 1 {
                            let arrays = &arrays;
                            level.run(UpdateBlock { tables, block, arrays, signals, saved, forces });
                        }
                    }
                    schedule.finish(turn.block, phase);
                }
                barrier.wait();
                if thread == 0 {
                    // The others may be in the next window, which writes other rows; they come back to these only after this
                    // thread has passed the next barrier.
                    for k in before / phases..(before + schedule.window).min(n_phases) / phases {
                        let (mut external, mut damped) = (0.0, 0.0);
                        for row in 0..tables.n_energy_rows {
                            // SAFETY: as said.
                            unsafe {
                                external += *energies(k).add(2 * row);
                                damped += *energies(k).add(2 * row + 1);
                            }
                        }
                        external_total += external;
                        damped_total += damped;
                    }
                }
            }
            (external_total, damped_total)
        };
        let totals = match &self.pool {
            None => work(0),
            Some(pool) => pool.broadcast(|context| work(context.index()))[0],
        };
        (self.external_work, self.damped_energy) = totals;
        self.step += n_steps as u64;
    }

    /// As [`Stepper::state`].
    pub fn state(&self) -> State {
        let d = self.tables.dimension;
        let mut displacement = vec![0.0; self.increment.len()];
        for block in &self.tables.blocks {
            let (first, stride) = step::own_rows(&self.tables, block);
            let own = block.own.iter().flat_map(Range::clone);
            for (row, node) in self.displacement[first..].chunks(stride).zip(own) {
                for c in 0..d {
                    displacement[node * d + c] = row[c].to_f64();
                }
            }
        }
        State {
            step: self.step,
            displacement,
            increment: self.increment.iter().map(|value| value.to_f64()).collect(),
            external_work: self.external_work,
            damped_energy: self.damped_energy,
        }
    }

    /// As [`Stepper::internal_force`].
    ///
    /// # Panics
    /// If the displacement has the wrong length.
    pub fn internal_force(&self, displacement: &[f64]) -> Vec<f64> {
        let tables = &self.tables;
        let d = tables.dimension;
        assert_eq!(displacement.len(), tables.n_nodes * d, "displacement has the wrong length");
        let stride = step::force_stride(d);
        let mut u = Aligned::new(self.displacement.len());
        u.copy_from_slice(&self.displacement);
        set_rows(tables, &mut u, displacement);
        let halo = boundary_rows(tables, &u);
        let boundary = if tables.computes_once() { u.as_ptr() } else { halo.as_ptr() };
        let mut rows = Aligned::new(tables.n_rows * stride);
        let arrays = Shared(
            Arrays {
                displacement: u.as_mut_ptr(),
                increment: std::ptr::null_mut(),
                forces: rows.as_mut_ptr(),
                boundary,
                next_boundary: std::ptr::null_mut(),
                energies: std::ptr::null_mut(),
                recording: std::ptr::null_mut(),
            },
            [std::ptr::null_mut(); 2],
            [std::ptr::null_mut(); 2],
        );
        let arrays = &arrays;
        let each = |share: &[Block]| {
            let arrays = arrays.0;
            let mut scratch = Scratch::new(tables);
            for block in share {
                // SAFETY: the arrays have the rows that the tables name, and the block's are its own.
                unsafe {
                    let forces = arrays.forces.add(block.first_row * stride);
                    let (u, records) = (arrays.displacement, &mut scratch.records);
                    block_forces(self.level, tables, [block; 2], u, arrays.boundary, records, forces);
                }
            }
        };
        match &self.pool {
            None => each(&tables.blocks),
            Some(pool) => pool.scope(|scope| {
                for share in tables.blocks.chunks(tables.blocks.len().div_ceil(self.schedule.turns.len()).max(1)) {
                    scope.spawn(move |_| each(share));
                }
            }),
        }
        let mut out = vec![0.0; self.increment.len()];
        for block in &tables.blocks {
            for incoming in &tables.incoming[block.incoming.clone()] {
                let (to, from) = (block.first_row + incoming.node as usize, incoming.row as usize);
                for c in 0..d {
                    rows[to * stride + c] = rows[to * stride + c] + rows[from * stride + c];
                }
            }
            let own = block.own.iter().flat_map(Range::clone);
            for (row, node) in rows[block.first_row * stride..].chunks_exact(stride).zip(own) {
                for c in 0..d {
                    out[node * d + c] = row[c].to_f64() * tables.force_unit;
                }
            }
        }
        out
    }
}

impl<T: Real> Stepper for CpuStepper<T> {
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

    fn internal_force(&mut self, displacement: &[f64]) -> Result<Vec<f64>, DeviceError> {
        Ok(Self::internal_force(self, displacement))
    }
}
