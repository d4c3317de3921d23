//! Voxel statics: from a block file to displacements, reactions, apparent properties and fields.
//!
//! | module | what |
//! |---|---|
//! | `case`, `conditions`, `forces` | load cases as values of degrees of freedom |
//! | `support` | connected parts, hinges, rigid motions that nothing stops |
//! | `periodic` | opposite faces that move alike |
//! | `check` | models that cannot be computed |
//! | `settings`, `engine` | the call of the kernels |
//! | `element`, `elements` | the trilinear cube as plainly as can be, for results |
//! | `results`, `apparent`, `tensor`, `summary`, `fields`, `picture`, `files` | what comes out |
//! | `run` | one run with its files |

mod apparent;
mod case;
mod check;
mod conditions;
mod dense;
mod element;
mod elements;
mod engine;
mod fields;
mod files;
mod forces;
mod periodic;
mod picture;
mod results;
mod run;
mod settings;
mod summary;
mod support;
mod tensor;
#[cfg(test)]
mod tests;

use pogo_formats::physics::BlockFile;
use pogo_formats::system::memory::Need;
use pogo_formats::voxel::{Voxel, VoxelSetup};
use pogo_kernels::papers::voxel::{HashTables, OffsetTables};
use pogo_kernels::voxel::Grid;

use crate::call::Call;
use crate::config::options::Purpose;
use crate::config::{DeviceChoice, Exchange, Settings};
use crate::error::SolveError;
use crate::observe::Observer;
use crate::{Model, RunSummary, Solve};

impl Solve for Voxel {
    const OPTIONS: &'static [Purpose] = &[Purpose::Voxels];
    const DEVICES_IN_ONE_PROCESS: bool = true;

    fn apply(settings: &Settings, setup: &mut VoxelSetup) {
        let tolerance = &mut setup.solver.tolerance;
        *tolerance = settings.tolerance.unwrap_or(*tolerance);
    }

    fn device(choice: DeviceChoice, setup: &VoxelSetup) -> DeviceChoice {
        match choice {
            DeviceChoice::Auto if settings::only_cpu(setup).is_some() => DeviceChoice::Cpu,
            choice => choice,
        }
    }

    /// Several CUDA devices share one solver, unless they are to exchange messages.
    fn n_parts(choices: &[DeviceChoice], settings: &Settings) -> usize {
        let is_cuda = |choice: &DeviceChoice| matches!(choice, DeviceChoice::Cuda(_));
        if choices.iter().all(is_cuda) && settings.exchange != Exchange::Messages { 1 } else { choices.len() }
    }

    fn modules(file: &BlockFile<Self>, settings: &Settings) -> Vec<&'static str> {
        let several = settings.device.list(None).is_ok_and(|devices| devices.len() > 1);
        pogo_kernels::voxel::gpu_modules(several, !file.setup().ratios().is_empty())
    }

    fn need(file: &BlockFile<Self>, _: &Settings) -> Need {
        let mesh = file.mesh();
        let mut need = Need::default();
        need.add("for displacements and residuals", 100.0 * mesh.bricks.n_nodes() as f64);
        need.add("for coarse levels", 50.0 * mesh.bricks.n_elements() as f64);
        need
    }

    fn run(model: Model<'_, Self>, call: &Call<'_>, observer: &mut dyn Observer) -> Result<RunSummary, SolveError> {
        let Model { file, setup } = model;
        let (levels, domains) = (file.levels(), file.domains());
        // What the file was made with is what it is solved on.
        let (offset, hash) = (OffsetTables(levels.offset), HashTables(levels.hash));
        let grid = match (domains.n_domains() > 1, offset.0.is_empty(), hash.0.is_empty()) {
            (true, ..) => Grid::Domains(domains),
            (_, false, _) => Grid::Tables(&offset),
            (.., false) => Grid::Tables(&hash),
            _ => Grid::Bricks,
        };
        // On one of the threads that share the work: from outside each of the many short shares would wake them anew.
        rayon::scope(|_| run::run(&file.mesh(), grid, setup, call, observer))
    }
}
