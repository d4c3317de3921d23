//! What a run is asked to do, checked.

pub(crate) mod options;
mod parse;

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::ValueEnum;
use pogo_formats::dynamics::Increment;
use pogo_formats::explicit::Lumping;
use pogo_formats::write::fields::FieldFormat;

pub use parse::{
    SettingError, lumping_name, parse_checkpoint_interval, parse_device, parse_increment, parse_lumping, parse_seconds,
};

/// Floating-point format of the stepped arrays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
#[allow(missing_docs)] // the names of the formats; a description would stand in the command line's help
pub enum Precision {
    // Half the memory traffic; traces within about 1e-6 of `F64` (5e-4 for bodies that fly freely).
    F32,
    // The default: a result never depends on rounding unless the user asks for speed.
    #[default]
    F64,
}

impl Precision {
    /// `f32` or `f64`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }
}

/// Where to compute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DeviceChoice {
    /// The first CUDA device if it can be used and has the memory, else the CPU.
    #[default]
    Auto,
    /// The CPU.
    Cpu,
    /// This CUDA device, from 0.
    Cuda(u32),
}

/// How the neighbours of particles are found. The command line's help shows these descriptions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum AddressingChoice {
    /// By the grid where there is one and no springs are added, else by lists
    #[default]
    Auto,
    /// By the grid of a lattice
    Implicit,
    /// By lists with ids of 16 bits
    Explicit,
    /// By lists with ids of 32 bits
    ExplicitGlobal,
}

/// When the state is written so that the run can go on from there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CheckpointInterval {
    /// Wall-clock time.
    Wall(Duration),
    /// Steps.
    Steps(u64),
}

/// Solver settings of one run. `None` leaves what the block file says.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Stepped arrays.
    pub precision: Precision,
    /// Where to compute.
    pub device: DeviceChoice,
    /// Threads; none means all cores.
    pub threads: Option<usize>,
    /// Mass lumping.
    pub lumping: Option<Lumping>,
    /// Length of the run, s.
    pub time: Option<f64>,
    /// Δt.
    pub increment: Option<Increment>,
    /// Step even if Δt is above the stable increment.
    pub allow_unstable: bool,
    /// Samples of the energy balance over the run; none chooses by the number of steps.
    pub energy_samples: Option<u32>,
    /// Write the field snapshots that the model asks for.
    pub fields: bool,
    /// Kind of files that fields go to.
    pub field_format: FieldFormat,
    /// Draw traces and snapshots.
    pub plot: bool,
    /// Write checkpoints.
    pub checkpoint: Option<CheckpointInterval>,
    /// Springs: how they are found.
    pub addressing: AddressingChoice,
    /// Springs: follow the work of forces and dampers.
    pub follow_work: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            precision: Precision::default(),
            device: DeviceChoice::default(),
            threads: None,
            lumping: None,
            time: None,
            increment: None,
            allow_unstable: false,
            energy_samples: None,
            fields: true,
            field_format: FieldFormat::default(),
            plot: false,
            checkpoint: None,
            addressing: AddressingChoice::default(),
            follow_work: true,
        }
    }
}

impl Settings {
    /// Threads to start: the number asked for, or one for each core.
    pub(crate) fn n_threads(&self) -> usize {
        self.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
    }

    /// Sets `solver.precision`, `solver.threads` or `solver.allow_unstable` from text; false for any other name.
    ///
    /// # Errors
    /// A value that the setting cannot have.
    pub(crate) fn set(&mut self, name: &str, value: &str) -> Result<bool, SettingError> {
        let error = |expected| SettingError { setting: name.into(), found: format!("`{value}`"), expected };
        match name {
            "solver.precision" => {
                self.precision = Precision::from_str(value, false).map_err(|_| error("f32 or f64"))?;
            }
            "solver.threads" => {
                let threads = value.parse().ok().filter(|&threads| threads > 0);
                self.threads = Some(threads.ok_or_else(|| error("a positive whole number"))?);
            }
            "solver.allow_unstable" => {
                self.allow_unstable = value.parse().map_err(|_| error("true or false"))?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// Where a run starts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Start {
    /// At t = 0.
    #[default]
    Beginning,
    /// From a checkpoint; none means the one in the output folder.
    Checkpoint(Option<PathBuf>),
}

/// One call of the solver.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Config {
    /// Block file.
    pub block_file: PathBuf,
    /// Output folder; none means `NAME.out` in the current folder for a block file `NAME.blk`.
    pub output: Option<PathBuf>,
    /// `NAME=VALUE`, in order.
    pub overrides: Vec<String>,
    /// Study file: several cases instead of one.
    pub study: Option<PathBuf>,
    /// Settings.
    pub settings: Settings,
    /// Where to start.
    pub start: Start,
    /// Voxel statics: displacements to start from, a `.npy` file or the output folder of an earlier run.
    pub start_vector: Option<PathBuf>,
    /// Eikonal: a table of many sets of starts, all run on the mapped mesh.
    pub starts: Option<PathBuf>,
}

impl Config {
    /// Folder that the results go to.
    pub fn output_folder(&self) -> PathBuf {
        self.output.clone().unwrap_or_else(|| default_output(&self.block_file))
    }
}

/// `NAME.out` in the current folder.
fn default_output(block_file: &Path) -> PathBuf {
    let mut name = block_file.file_stem().unwrap_or_else(|| "pogo".as_ref()).to_os_string();
    name.push(".out");
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_go_beside_where_the_user_stands() {
        let config = Config { block_file: "models/weld.v2.blk".into(), ..Config::default() };
        assert_eq!(config.output_folder(), PathBuf::from("weld.v2.out"));
    }

    #[test]
    fn settings_are_set_by_name() {
        let mut settings = Settings::default();
        let applied = ["solver.precision", "m.young"].map(|name| settings.set(name, "f32").unwrap());
        assert_eq!((applied, settings.precision), ([true, false], Precision::F32));
        assert!(settings.set("solver.precision", "f16").unwrap_err().to_string().contains("f32 or f64"));
    }
}
