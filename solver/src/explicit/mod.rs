//! Explicit elastodynamics: from a model to results in a folder.
//!
//! ```text
//! run ─► assemble (matter, loads, columns) ─► Problem ─► kernels
//!     └► crate::run (time loop) ─► model (energy, columns), snapshots
//! ```

mod assemble;
mod columns;
mod faces;
mod fluid;
mod impedance;
mod linear;
mod loads;
mod matter;
mod model;
mod periodic;
mod pogo_files;
mod relaxation;
mod resolution;
mod run;
mod single;
mod snapshots;
mod stepper;

use std::path::Path;

use pogo_formats::dynamics::shots;
use pogo_formats::explicit::{Explicit, Setup};
use pogo_formats::mesh::{ElementLaw, MeshView};
use pogo_formats::physics::BlockFile;
use pogo_formats::system::memory::Need;
use pogo_kernels::explicit::MOST_SHOTS_AT_ONCE;

use crate::call::Call;
use crate::config::options::Purpose;
use crate::config::{Precision, Settings};
use crate::error::SolveError;
use crate::observe::Observer;
use crate::run::conditions::Dofs;
use crate::{Model, RunSummary, Solve};

impl Solve for Explicit {
    const OPTIONS: &'static [Purpose] = &[Purpose::Time, Purpose::Explicit];

    fn apply(settings: &Settings, setup: &mut Setup) {
        let explicit = &mut setup.explicit;
        crate::run::apply_settings(settings, &mut explicit.time, &mut explicit.increment);
        explicit.lumping = settings.lumping.unwrap_or(explicit.lumping);
    }

    fn shots(setup: &mut Setup, table: Option<&Path>) -> Result<Vec<String>, SolveError> {
        if let Some(table) = table {
            let names: Vec<&str> = setup.names_of_sources().collect();
            setup.shots = shots::read_table(table, &names).map_err(SolveError::Table)?;
        }
        let place = table.map_or_else(String::new, |table| format!("{}: ", table.display()));
        setup.check_shots().map_err(|reason| SolveError::Table(format!("{place}error: {reason}")))?;
        Ok(setup.shots.iter().map(|shot| shot.name.clone()).collect())
    }

    fn reduce_to_shot(setup: &mut Setup, shot: usize) -> Result<(), String> {
        setup.reduce_to_shot(shot)
    }

    /// Triangles share their geometry. Other elements are stepped side by side, where few shots fill a device. That gains a tenth at
    /// three million nodes. In space without grids it takes longer: thread blocks wait for each other there.
    fn most_shots_at_once(model: Model<'_, Self>, settings: &Settings, free: u64) -> usize {
        const ENOUGH_SIDE_BY_SIDE: usize = 4;
        let Model { file, setup } = model;
        if !setup.copied.is_empty() {
            // On the CPU alone.
            return 1;
        }
        let mesh = file.mesh();
        let mut kinds = mesh.groups.iter().filter(|group| !group.labels.is_empty()).map(|group| group.kind);
        let most = match kinds.all(|kind| kind.law() == ElementLaw::Triangle) {
            true => MOST_SHOTS_AT_ONCE,
            false if mesh.dimension == 2 || !file.device().grid_size.is_empty() => ENOUGH_SIDE_BY_SIDE,
            false => 1,
        };
        // Bytes of all arrays, more than any kind of element takes; what is left free is for recorded values.
        let of_shot = mesh.n_nodes() as f64 * (150.0 + 40.0 * settings.precision.bytes());
        ((0.8 * free as f64 / of_shot) as usize).clamp(1, most)
    }

    fn modules(file: &BlockFile<Self>, settings: &Settings) -> Vec<&'static str> {
        pogo_kernels::explicit::gpu_modules(file.mesh().dimension, settings.precision == Precision::F32)
    }

    fn need(file: &BlockFile<Self>, settings: &Settings) -> Need {
        let mesh = file.mesh();
        let (n, d, real) = (mesh.n_nodes() as f64, mesh.dimension as f64, settings.precision.bytes());
        let corners: usize = mesh.groups.iter().map(|group| group.connectivity.len()).sum();
        let mut need = Need::default();
        need.add("for displacements and masses", n * ((6.5 + 7.5 * d) * real + 40.0 * d));
        need.add("for elements", 9.0 * corners as f64);
        need
    }

    fn run(model: Model<'_, Self>, call: &Call<'_>, observer: &mut dyn Observer) -> Result<RunSummary, SolveError> {
        let Model { file, setup } = model;
        run::run(file, setup, call, observer)
    }
}

fn dofs(mesh: &MeshView<'_>) -> Dofs {
    Dofs { n_nodes: mesh.n_nodes(), dimension: mesh.dimension }
}
