//! Explicit dynamics as the time loop sees it.
//!
//! Central differences conserve ½ m (Δu_n/Δt)² + ½ u_{n−1}·K u_n exactly without forces and damping, with forces up to
//! their work ½ F_n·(Δu_n + Δu_{n+1}): the balance is zero but for rounding, whatever the increment. An unstable run
//! keeps it too, with kinetic energy growing against negative strain energy; so growth is judged on its own.

use std::path::Path;

use pogo_formats::explicit::Setup;
use pogo_formats::explicit::energy::{EnergyRow, write_csv};
use pogo_formats::write::checkpoint::Checkpoint;
use pogo_formats::write::report::{Curve, Panel};
use pogo_formats::write::traces::Traces;
use pogo_kernels::device::DeviceError;
use pogo_kernels::dynamics::signals::Signals;
use pogo_kernels::dynamics::{State, Stepper};
use pogo_kernels::explicit::{ElementStepper, EnergySums};

use super::columns::Columns;
use super::fluid::energy_between;
use super::matter::Matter;
use super::pogo_files::PogoHistories;
use super::relaxation;
use super::resolution::coarse_signals;
use super::snapshots::Frame;
use crate::error::SolveError;
use crate::run::checkpoint;
use crate::run::energy::{Balance, Divergence};
use crate::run::histories::DerivedColumns;
use crate::run::schedule::Clock;
use crate::run::time_loop::{Due, Stepped};
use crate::run::{Finished, Reported};

/// A model on its stepper.
pub(super) struct Model<'a> {
    pub stepper: Box<dyn ElementStepper>,
    pub columns: Columns<'a>,
    pub setup: &'a Setup,
    pub matter: &'a Matter,
    pub dimension: usize,
    pub clock: Clock,
    /// Energy at t = 0, J; none before it has been sampled.
    pub initial_energy: Option<f64>,
    /// What `--pogo-files` writes of the traces.
    pub pogo: PogoHistories,
    /// Energy is conserved: there are no copied displacements, or they make the mesh periodic.
    pub is_balanced: bool,
}

impl checkpoint::State for State {
    /// Memory variables.
    type Extra = Vec<f64>;

    fn motion(&self) -> Checkpoint<'_> {
        Checkpoint {
            step: self.step,
            external_work: self.external_work,
            damped_energy: self.damped_energy,
            displacement: self.displacement.as_slice().into(),
            increment: self.increment.as_slice().into(),
            ..Checkpoint::default()
        }
    }

    fn extra(&self) -> Vec<f64> {
        self.memory.clone()
    }

    fn restore(motion: Checkpoint<'static>, memory: Vec<f64>) -> Self {
        Self {
            step: motion.step,
            displacement: motion.displacement.into_owned(),
            increment: motion.increment.into_owned(),
            external_work: motion.external_work,
            damped_energy: motion.damped_energy,
            memory,
        }
    }
}

impl Stepped for Model<'_> {
    type State = State;
    type Energy = EnergyRow;
    type Frame = Frame;

    fn stepper(&mut self) -> &mut dyn Stepper<State = State> {
        &mut *self.stepper
    }

    /// Energies come from the state where a frame fetches it or no device sums them up.
    fn look(&mut self, _: &Signals<'_>, due: Due) -> Result<(Option<EnergyRow>, Option<Frame>), DeviceError> {
        let sums = if due.frame { None } else { self.stepper.energy_sums()? };
        let (sums, frame) = match sums {
            Some(sums) => (Sums::of_one_matter(sums, self.matter), None),
            None => {
                let state = self.stepper.state()?;
                let mut internal_force = self.stepper.internal_force(&state.displacement)?;
                let mut sums = self::sums(&state, &internal_force, self.matter, self.dimension);
                sums.between = energy_between(&self.matter.touching, self.dimension, self.clock.time_increment, &state);
                if !self.matter.relaxation.is_empty() {
                    let dt = self.clock.time_increment;
                    sums.of_solids.strain += relaxation::free_energy(&mut *self.stepper, self.matter, dt, &state)?;
                }
                if due.frame && self.matter.is_viscous() {
                    let State { displacement, increment, memory, .. } = &state;
                    internal_force = self.stepper.viscous_force([displacement, increment, memory])?;
                }
                (sums, due.frame.then_some((state, internal_force)))
            }
        };
        let mut row = row(self.stepper.step(), &sums, self.clock, self.initial_energy);
        if self.matter.is_viscous() {
            // Its account holds what internal forces have taken, also those of fluids: what is stored of it is not lost.
            row.damped -= 0.5 * (sums.of_solids.strain + sums.flow);
        }
        self.initial_energy = Some(row.initial);
        Ok((due.energy.then_some(row), frame))
    }

    fn balance(&self, sample: &EnergyRow) -> Balance {
        let mut balance = balance(sample);
        // What is kinetic in a solid stands for the compression of a fluid, and grows with it where a run is not stable.
        if !self.matter.fluid.is_empty() {
            balance.growing = Some(sample.kinetic.max(sample.strain));
        }
        Balance { error: balance.error.filter(|_| self.is_balanced), ..balance }
    }

    fn derived(&mut self) -> &mut dyn DerivedColumns {
        &mut self.columns
    }
}

impl Reported for Model<'_> {
    fn explain(&self, divergence: Divergence, last: &EnergyRow) -> (String, &'static str) {
        let what = match divergence {
            Divergence::NotFinite => "the solution is no longer finite".to_owned(),
            Divergence::Growing => format!("kinetic energy grew to {:.3e} J without cause", last.kinetic),
            Divergence::Unbalanced => format!("the energy balance is off by {:.3e} J", last.balance()),
        };
        (what, "check the model's loads and amplitudes, or use --precision f64 if the run was in f32")
    }

    fn write(
        &self,
        energies: &[EnergyRow],
        traces: &Traces,
        folder: &Path,
        comments: &[String],
    ) -> Result<Vec<String>, SolveError> {
        write_csv(&folder.join("energy.csv"), energies, comments)?;
        let mut files = self.pogo.write(folder, traces)?;
        files.push("energy.csv".into());
        Ok(files)
    }

    fn charts(&self, energies: &[EnergyRow]) -> Vec<Panel> {
        let times: Vec<f64> = energies.iter().map(|row| row.time).collect();
        let curve =
            |name: &str, of: fn(&EnergyRow) -> f64| Curve::new(name, times.clone(), energies.iter().map(of).collect());
        let curves = vec![
            curve("kinetic", |row| row.kinetic),
            curve("strain", |row| row.strain),
            curve("external work", |row| row.external),
            curve("damped", |row| row.damped),
            curve("balance", EnergyRow::balance),
        ];
        vec![Panel::over_time("energy", "J", curves)]
    }

    fn warnings(&self, _: &Finished) -> Vec<String> {
        let mut warnings = coarse_signals(self.setup, self.clock.time_increment);
        warnings.extend(relaxation::warnings(self.setup));
        warnings.extend_from_slice(&self.pogo.warnings);
        if !self.is_balanced {
            let why = "elements on one side of the mesh do not repeat those on the other";
            warnings.push(format!(
                "the copied displacements do not make the mesh periodic, as {why}: energy is not conserved"
            ));
        }
        warnings
    }
}

/// What the energy balance needs of a state.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    of_solids: EnergySums,
    /// Σ m Δq_n² of fluids, kg m²: twice their energy of compression times Δt².
    compression: f64,
    /// Σ (q_n − Δq_n) f_int(q_n) of fluids, J: twice their kinetic energy.
    flow: f64,
    /// See [`energy_between`], J.
    between: f64,
}

impl Sums {
    /// Of a model of solids alone, or of fluids alone.
    fn of_one_matter(sums: EnergySums, matter: &Matter) -> Self {
        if matter.fluid.is_empty() {
            return Self { of_solids: sums, ..Self::default() };
        }
        let of_solids = EnergySums { kinetic: 0.0, strain: 0.0, ..sums };
        Self { of_solids, compression: sums.kinetic, flow: sums.strain, between: 0.0 }
    }
}

/// Sums over a state for [`row`]. `internal_force` is K u_n.
fn sums(state: &State, internal_force: &[f64], matter: &Matter, dimension: usize) -> Sums {
    let mut sums = Sums::default();
    let rows = state.displacement.chunks_exact(dimension).zip(state.increment.chunks_exact(dimension));
    let rows = rows.zip(internal_force.chunks_exact(dimension));
    for (node, (&mass, ((u, du), force))) in matter.lumped_mass.iter().zip(rows).enumerate() {
        if matter.is_fluid(node) {
            sums.compression += mass * du[0] * du[0];
            sums.flow += (u[0] - du[0]) * force[0];
            continue;
        }
        for ((u, du), force) in u.iter().zip(du).zip(force) {
            sums.of_solids.kinetic += mass * du * du;
            sums.of_solids.strain += (u - du) * force;
        }
    }
    sums.of_solids.external_work = state.external_work;
    sums.of_solids.damped_energy = state.damped_energy;
    sums
}

/// Energies at step n; `initial` is the energy at t = 0, none at step 0.
fn row(step: u64, sums: &Sums, clock: Clock, initial: Option<f64>) -> EnergyRow {
    let Sums { of_solids, compression, flow, between } = *sums;
    let dt = clock.time_increment;
    let kinetic = 0.5 * of_solids.kinetic / (dt * dt) + 0.5 * flow;
    let strain = 0.5 * of_solids.strain + 0.5 * compression / (dt * dt) + between;
    EnergyRow {
        time: clock.time(step),
        kinetic,
        strain,
        external: of_solids.external_work,
        damped: of_solids.damped_energy,
        initial: initial.unwrap_or(kinetic + strain),
    }
}

fn balance(row: &EnergyRow) -> Balance {
    Balance {
        energies: [row.kinetic, row.strain, row.external, row.damped, row.initial],
        put_in: row.external.abs() + row.initial,
        growing: Some(row.kinetic),
        error: Some(row.balance()),
    }
}
