//! Arrival times of a wave: tensors out of velocities and directions, starts, the kernel, results.

mod arrivals;
mod context;
mod ecg;
mod engine;
mod gradients;
mod histogram;
mod many;
mod paths;
mod pictures;
mod results;
mod run;
mod spread;
mod starts;
mod table;
mod trees;

use pogo_formats::eikonal::Eikonal;
use pogo_formats::physics::BlockFile;
use pogo_formats::system::memory::Need;

use crate::call::Call;
use crate::config::options::Purpose;
use crate::config::{Precision, Settings};
use crate::error::SolveError;
use crate::observe::Observer;
use crate::{Model, RunSummary, Solve};

impl Solve for Eikonal {
    const OPTIONS: &'static [Purpose] = &[Purpose::Arrivals];

    fn modules(_file: &BlockFile<Self>, settings: &Settings) -> Vec<&'static str> {
        pogo_kernels::eikonal::gpu_modules(settings.precision == Precision::F32)
    }

    fn need(file: &BlockFile<Self>, settings: &Settings) -> Need {
        let mesh = file.mesh();
        let mut need = Need::default();
        need.add("for times", mesh.n_nodes() as f64 * (16.0 * settings.precision.bytes() + 50.0));
        let tensors = if file.setup().ecg.is_some() { 2.0 } else { 1.0 };
        need.add("for tensors", tensors * 48.0 * mesh.n_elements() as f64);
        need
    }

    fn run(model: Model<'_, Self>, call: &Call<'_>, observer: &mut dyn Observer) -> Result<RunSummary, SolveError> {
        let Model { file, setup } = model;
        run::run((&file.mesh(), &file.domains(), &file.trees()), setup, call, observer)
    }
}
