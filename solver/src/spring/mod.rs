//! Mass-spring-damper models: from a model to results in a folder.
//!
//! ```text
//! run ─► assemble (masses, forces) ─► SpringProblem ─► kernels
//!     └► crate::run (time loop) ─► model (energies, reactions), snapshots ─► report
//! ```

mod assemble;
mod columns;
mod model;
mod report;
mod run;
mod single;
mod snapshots;
mod stepper;

use pogo_formats::physics::BlockFile;
use pogo_formats::spring::{Spring, SpringSetup};
use pogo_formats::system::memory::Need;

use crate::call::Call;
use crate::config::options::Purpose;
use crate::config::{Precision, Settings};
use crate::error::SolveError;
use crate::observe::Observer;
use crate::{Model, RunSummary, Solve};

impl Solve for Spring {
    const OPTIONS: &'static [Purpose] = &[Purpose::Time, Purpose::Springs];

    fn apply(settings: &Settings, setup: &mut SpringSetup) {
        crate::run::apply_settings(settings, &mut setup.solver.time, &mut setup.solver.increment);
    }

    fn modules(_file: &BlockFile<Self>, settings: &Settings) -> Vec<&'static str> {
        pogo_kernels::spring::gpu_modules(settings.precision == Precision::F32)
    }

    fn need(file: &BlockFile<Self>, settings: &Settings) -> Need {
        let n = file.mesh().n_particles() as f64;
        let mut need = Need::default();
        need.add("for displacements and masses", n * (18.0 * settings.precision.bytes() + 60.0));
        need.add("for springs", 3.0 * file.mesh().n_springs() as f64);
        need
    }

    fn run(model: Model<'_, Self>, call: &Call<'_>, observer: &mut dyn Observer) -> Result<RunSummary, SolveError> {
        let Model { file, setup } = model;
        run::run(&file.mesh(), setup, call, observer)
    }
}
