//! Arrival times of a wave: tensors out of velocities and directions, starts, the kernel, results.

mod arrivals;
mod context;
mod engine;
mod histogram;
mod many;
mod paths;
mod pictures;
mod results;
mod run;
mod spread;
mod starts;
mod table;

use pogo_formats::eikonal::{Eikonal, EikonalSetup};
use pogo_formats::physics::BlockFile;

use crate::call::Call;
use crate::config::options::Purpose;
use crate::config::{Precision, Settings};
use crate::error::SolveError;
use crate::observe::Observer;
use crate::{RunSummary, Solve};

impl Solve for Eikonal {
    const OPTIONS: &'static [Purpose] = &[Purpose::Arrivals];

    fn modules(_file: &BlockFile<Self>, settings: &Settings) -> Vec<&'static str> {
        pogo_kernels::eikonal::gpu_modules(settings.precision == Precision::F32)
    }

    fn run(
        file: &BlockFile<Self>,
        setup: &EikonalSetup,
        call: &Call<'_>,
        observer: &mut dyn Observer,
    ) -> Result<RunSummary, SolveError> {
        run::run(&file.mesh(), &file.domains(), setup, call, observer)
    }
}
