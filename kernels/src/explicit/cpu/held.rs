//! Linear constraints: after each step, the motion is projected onto them ([`projection`](crate::explicit::projection)).
//!
//! When the blocks that have or read what rows name have made a step, one thread corrects these degrees of freedom. The blocks
//! wait for that, and no others do ([`Meeting`]). Δu is projected in every step. So Δu stays exact to the rounding of a step, and u drifts from the
//! constraints by the rounding of sums alone; every [`FIX_EVERY`] steps u is projected, too.
//!
//! The step has taken energies, and what monitors record, from the motion without constraints. Both are corrected here. The
//! constraints' forces −Gᵀλ/Δt² do no work but where prescribed degrees of freedom move; it counts as external work. Where elements
//! feel more than u, the damped energy holds the work of all internal forces. The equation of motion tells the force on a node.
//!
//! A stepper with a part of a model has the rows of the whole model. Ranks tell each other the motion of what rows name, and
//! each of them projects all of it: the same numbers in the same order, so the same bits.

use super::copies::{Places, Row};
use super::correction::{Owners, Team, move_by};
use super::step::{Arrays, Signals};
use super::tables::Tables;
use crate::dynamics::Part;
use crate::explicit::dashpot;
use crate::explicit::problem::Problem;
use crate::explicit::projection::{FIX_EVERY, Projected, Projection};
use crate::simd::Real;

/// Entries of the projection that take about as long as a corner of an element, by a profile of one model. It weighs the turn of
/// the projection against those of blocks.
const ENTRIES_OF_CORNER: usize = 3;

/// A degree of freedom that a row names.
#[derive(Debug, Clone, Copy)]
struct Place {
    /// None where another rank has the node.
    row: Option<Row>,
    component: usize,
    /// α m / 4Δt, kg/s².
    dissipation: f64,
    /// (1 − q) m/Δt² and (1 + q) m/Δt², kg/s².
    inertia: [f64; 2],
}

/// A force on such a degree of freedom.
#[derive(Debug, Clone, Copy)]
struct Load {
    place: usize,
    signal: usize,
    /// N at signal 1.
    value: f64,
}

/// The constraints of a stepper.
#[derive(Debug)]
pub(super) struct Held {
    projection: Projection,
    places: Vec<Place>,
    /// Of a stepper with a part of the model.
    owners: Option<Owners>,
    loads: Vec<Load>,
    /// Place, signal and value of prescribed degrees of freedom.
    prescribed: Vec<Load>,
    /// Column of a record, and the place whose Δu_{n+1} it holds.
    monitors: Vec<(usize, usize)>,
    /// Column of a record, and the place on which it holds the constraints' force.
    forces: Vec<(usize, usize)>,
    time_increment: f64,
    /// The work of internal forces is in the damped energy.
    is_lagged: bool,
    /// Δu_n, Δu_{n+1} without constraints, and with them.
    before: Vec<f64>,
    free: Vec<f64>,
    after: Vec<f64>,
    found: Projected,
}

impl Held {
    /// Those of a projection, of a part whose team has the others.
    pub fn new<T: Real>(
        tables: &Tables<T>,
        problem: &Problem,
        projection: Projection,
        (part, team): (&Part, Option<Team<'_>>),
    ) -> Self {
        let d = tables.dimension as u64;
        let rows = Places::new(tables);
        let rate = 1.0 / (problem.time_increment * problem.time_increment);
        let place = |&dof: &u64| {
            let node = (dof / d) as usize;
            let q = 0.5 * problem.damping_rate_of(node) * problem.time_increment;
            Place {
                row: part.local_own(node).map(|node| rows.row(node)),
                component: (dof % d) as usize,
                dissipation: problem.damping(node)[1],
                inertia: [1.0 - q, 1.0 + q].map(|factor| factor * problem.lumped_mass[node] * rate),
            }
        };
        let touched = projection.touched();
        let find = |dof: u64| touched.binary_search(&dof).ok();
        let load = |dof, signal: u32, value| Some(Load { place: find(dof)?, signal: signal as usize, value });
        let columns = || problem.monitors.iter().copied().enumerate();
        let nodes: Vec<usize> = touched.iter().map(|dof| (dof / d) as usize).collect();
        Self {
            owners: team.map(|team| Owners::new(team, &nodes)),
            places: touched.iter().map(place).collect(),
            loads: problem.forces.iter().filter_map(|f| load(f.dof, f.signal, f.value)).collect(),
            prescribed: problem.constraints.iter().filter_map(|c| load(c.dof, c.signal, c.value)).collect(),
            // Those of memory variables record the motion, too.
            monitors: columns()
                .filter(|&(_, dof)| problem.force_of_monitor(dof).is_none())
                .filter_map(|(column, dof)| Some((column, find(dof % problem.rows.n_dofs)?)))
                .collect(),
            forces: columns()
                .filter_map(|(column, dof)| Some((column, find(problem.force_of_monitor(dof)?)?)))
                .collect(),
            time_increment: problem.time_increment,
            is_lagged: tables.is_lagged,
            before: vec![0.0; touched.len()],
            free: vec![0.0; touched.len()],
            after: vec![0.0; touched.len()],
            found: Projected::default(),
            projection,
        }
    }

    /// Own nodes that rows name, by their numbers in the part, with repetitions.
    pub fn nodes(&self, dimension: usize) -> impl Iterator<Item = usize> {
        self.places.iter().filter_map(move |place| Some(place.row?.increment / dimension))
    }

    /// Degrees of freedom that constraints may move, ascending.
    pub fn moved(&self) -> impl Iterator<Item = u64> {
        self.projection.moved()
    }

    /// What the turn of the projection costs, as the corners of elements.
    pub fn weight(&self) -> usize {
        self.projection.work() / ENTRIES_OF_CORNER
    }

    /// Keeps Δu_n.
    pub fn keep<T: Real>(&mut self, increment: &[T]) {
        for (before, place) in self.before.iter_mut().zip(&self.places) {
            if let Some(row) = place.row {
                *before = increment[row.increment + place.component].to_f64();
            }
        }
    }

    /// Corrects the motion from step n to `next` = n + 1, and what has been recorded of it. Returns what is added to the external
    /// work and to the damped energy of the whole model, J. Collective.
    ///
    /// # Safety
    /// The pointers must hold the rows that the tables name. Nobody else may touch those of nodes that rows name, nor what has been
    /// recorded of them.
    pub unsafe fn hold<T: Real>(&mut self, next: u64, signals: Signals<'_>, arrays: &Arrays<T>) -> [f64; 2] {
        for (free, place) in self.free.iter_mut().zip(&self.places) {
            if let Some(row) = place.row {
                // SAFETY: the caller's promise.
                *free = unsafe { *arrays.increment.add(row.increment + place.component) }.to_f64();
            }
        }
        if let Some(owners) = &self.owners {
            owners.complete(&mut [&mut self.before, &mut self.free]);
        }
        let Signals { now, next: then } = signals;
        self.projection.find(&self.free, |signal| then[signal as usize] - now[signal as usize], &mut self.found);
        let (mut work, mut damped) = (0.0, 0.0);
        let rate = 1.0 / (self.time_increment * self.time_increment);
        for (at, place) in self.places.iter().enumerate() {
            let (old, free) = (self.before[at], self.free[at]);
            if self.projection.inverse_mass()[at] == 0.0 {
                self.after[at] = free;
                continue;
            }
            let correction = self.projection.correction(&self.found, at);
            let new = T::from_f64(free + correction);
            if let Some(row) = place.row {
                // SAFETY: the caller's promise.
                unsafe {
                    *arrays.increment.add(row.increment + place.component) = new;
                    move_by((row, place.component), correction, arrays);
                    if let Some(boundary) = row.boundary.filter(|_| self.is_lagged) {
                        *arrays.next_boundary_increment.add(boundary + place.component) = new;
                    }
                }
            }
            let new = new.to_f64();
            self.after[at] = new;
            work -= 0.5 * rate * self.found.pull[at] * (old + new);
            damped += place.dissipation * ((old + new).powi(2) - (old + free).powi(2));
            if self.is_lagged {
                // f_int − F, and the force of a dashpot in the step without constraints.
                let force = place.inertia[0] * old - place.inertia[1] * free;
                damped += 0.5 * force * (new - free);
            }
        }
        for load in &self.loads {
            // The step has counted the motion without constraints.
            if self.projection.inverse_mass()[load.place] > 0.0 {
                let added = 0.5 * load.value * now[load.signal] * (self.after[load.place] - self.free[load.place]);
                work += added;
                damped += if self.is_lagged { added } else { 0.0 };
            }
        }
        let of_dashpots = self.work_of_dashpots();
        let (work, damped) = (work + of_dashpots[0], damped + of_dashpots[1]);
        std::mem::swap(&mut self.before, &mut self.after);
        // SAFETY: the caller's promise.
        unsafe {
            if !arrays.recording.is_null() {
                self.record(rate, arrays);
            }
            if next.is_multiple_of(FIX_EVERY) {
                self.fix(then, arrays);
            }
        }
        [work, damped]
    }

    /// What the dashpots take with constraints and have not taken without: of that, what supports do, and all of it, J.
    fn work_of_dashpots(&self) -> [f64; 2] {
        let (mut work, mut damped) = (0.0, 0.0);
        for node in self.projection.coupled() {
            let first = node.places.start;
            let of_node = |of: &[f64]| [0, 1, 2].map(|c| if c < node.places.len() { of[first + c] } else { 0.0 });
            let [old, free, new] = [&self.before, &self.free, &self.after].map(|of| of_node(of));
            let [without, with] = [free, new].map(|next| dashpot::force(&node.matrix, self.time_increment, old, next));
            for c in 0..node.places.len() {
                damped += 0.5 * (with[c] * (old[c] + new[c]) - without[c] * (old[c] + free[c]));
                if self.projection.inverse_mass()[first + c] == 0.0 {
                    // A support bears what the dashpot puts on it.
                    work += 0.5 * (with[c] - without[c]) * (old[c] + new[c]);
                } else if self.is_lagged {
                    // That force is part of the equation of motion.
                    damped -= 0.5 * without[c] * (new[c] - free[c]);
                }
            }
        }
        [work, damped]
    }

    /// Corrects what has been recorded. `rate` is 1/Δt².
    ///
    /// # Safety
    /// As for [`hold`](Self::hold).
    unsafe fn record<T: Real>(&self, rate: f64, arrays: &Arrays<T>) {
        // SAFETY: the caller's promise; there is a row of all monitors.
        unsafe {
            for &(column, at) in &self.monitors {
                let place = &self.places[at];
                if let Some(row) = place.row {
                    let new = *arrays.increment.add(row.increment + place.component);
                    *arrays.recording.add(3 * column + 2) = new.to_f64();
                }
            }
            for &(column, at) in &self.forces {
                *arrays.recording.add(3 * column) = -rate * self.found.pull[at];
            }
        }
    }

    /// Projects u_{n+1} itself: what rounding has added up. Collective.
    ///
    /// # Safety
    /// As for [`hold`](Self::hold).
    unsafe fn fix<T: Real>(&mut self, then: &[f64], arrays: &Arrays<T>) {
        for (u, place) in self.free.iter_mut().zip(&self.places) {
            if let Some(row) = place.row {
                // SAFETY: the caller's promise.
                *u = unsafe { *arrays.displacement.add(row.displacement + place.component) }.to_f64();
            }
        }
        if let Some(owners) = &self.owners {
            owners.complete(&mut [&mut self.free]);
        }
        for held in &self.prescribed {
            self.free[held.place] = held.value * then[held.signal];
        }
        self.projection.find(&self.free, |signal| then[signal as usize], &mut self.found);
        for (at, place) in self.places.iter().enumerate() {
            let correction = self.projection.correction(&self.found, at);
            if let Some(row) = place.row.filter(|_| correction != 0.0) {
                // SAFETY: the caller's promise.
                unsafe { move_by((row, place.component), correction, arrays) };
            }
        }
    }
}
