//! What a run is asked to do, checked.

pub(crate) mod options;
mod parse;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{ArgAction, ValueEnum};
use pogo_formats::dynamics::Increment;
use pogo_formats::explicit::Lumping;
use pogo_formats::system::memory;
use pogo_formats::words::Choice;
use pogo_formats::write::fields::FieldFormat;
use pogo_kernels::device::{DeviceError, n_devices};
use pogo_kernels::ranks::Ranks;

pub(crate) use parse::lumping_name;
use parse::{
    Expected, parse_base_name, parse_checkpoint_interval, parse_devices, parse_increment, parse_lumping, parse_seconds,
    parse_tolerance, parse_wall_time,
};
pub use pogo_kernels::simd::Precision;

/// A setting that means nothing.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("error: {setting}: `{found}`; {expected}")]
pub struct SettingError {
    setting: String,
    found: String,
    expected: Expected,
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

/// One device, or several that compute a model together or cases of a study at the same time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Devices {
    /// One.
    One(DeviceChoice),
    /// These, each the CPU or a CUDA device; one that is named twice computes two parts.
    Several(Vec<DeviceChoice>),
    /// All CUDA devices of this machine.
    AllCuda,
}

impl Default for Devices {
    fn default() -> Self {
        Self::One(DeviceChoice::Auto)
    }
}

impl From<DeviceChoice> for Devices {
    fn from(device: DeviceChoice) -> Self {
        Self::One(device)
    }
}

impl Devices {
    /// Each device that this process uses: all, or as one of several `processes` the one that its number on its host says.
    ///
    /// # Errors
    /// There is no CUDA device, and all were asked for.
    pub(crate) fn list(&self, processes: Option<&Arc<dyn Ranks>>) -> Result<Vec<DeviceChoice>, DeviceError> {
        let all = match self {
            Self::One(device) => vec![*device],
            Self::Several(devices) => devices.clone(),
            Self::AllCuda => match n_devices()? {
                0 => return Err(DeviceError::NoDevice { ordinal: 0, found: 0 }),
                n => (0..n).map(DeviceChoice::Cuda).collect(),
            },
        };
        Ok(match processes {
            Some(processes) => vec![all[processes.rank_on_host() % all.len()]],
            None => all,
        })
    }
}

/// How several CUDA devices exchange what lies between their sub-domains. The command line's help shows these descriptions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Exchange {
    /// While the inside of the sub-domains is computed
    #[default]
    Overlap,
    /// After each pass, for which all devices wait
    Plain,
    /// By messages through the memory of the hosts, as between devices that do not reach each other's memory
    Messages,
}

impl From<Exchange> for pogo_kernels::dynamics::Exchange {
    fn from(asked: Exchange) -> Self {
        match asked {
            Exchange::Overlap => Self::Overlap,
            Exchange::Plain => Self::Plain,
            Exchange::Messages => Self::Messages,
        }
    }
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

/// Solver settings of one run, as options of the command line. `None` leaves what the block file says.
#[derive(Debug, Clone, PartialEq, clap::Args)]
pub struct Settings {
    /// Where to compute: cpu, cuda or cuda:N; auto is the first CUDA device that can be used, else the CPU. Several devices
    /// compute together: cuda:all, cuda:0,1 or cpu,cpu; the cases of a study are dealt out to them. Some settings of voxel models work on the CPU only. A device finds
    /// the nodes of voxels by bricks, whatever tables the file has
    #[arg(long, default_value = "auto", value_name = "DEVICE", value_parser = parse_devices)]
    pub device: Devices,
    /// Several devices: how they exchange what lies between their sub-domains; the results do not depend on it
    #[arg(long, value_enum, default_value = "overlap", value_name = "KIND")]
    pub exchange: Exchange,
    /// Floating-point format of the unknowns: f64, or f32, which is faster; voxel models are always solved in f64
    #[arg(long, default_value = "f64", value_name = "PRECISION", value_parser = precision())]
    pub precision: Precision,
    /// Threads [default: all cores]; the results do not depend on it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024).map(usize::from))]
    pub threads: Option<usize>,
    /// Length of the run in seconds [default: the model's]
    #[arg(long, value_name = "S", value_parser = parse_seconds)]
    pub time: Option<f64>,
    /// Time increment in seconds, or auto [default: the model's]
    #[arg(long, value_name = "S|auto", value_parser = parse_increment)]
    pub increment: Option<Increment>,
    /// Steps even if the increment is above the stable one
    #[arg(long)]
    pub allow_unstable: bool,
    /// Mass lumping: row-sum, hrz or equal [default: the model's]
    #[arg(long, value_name = "KIND", value_parser = parse_lumping)]
    pub lumping: Option<Lumping>,
    /// Voxel statics: relative residual to reach, such as 1e-8 [default: the model's]
    #[arg(long, value_name = "X", value_parser = parse_tolerance)]
    pub tolerance: Option<f64>,
    /// Springs: how the neighbours of particles are found; the results do not depend on it
    #[arg(long, value_enum, default_value = "auto", value_name = "KIND")]
    pub addressing: AddressingChoice,
    /// Springs: does not follow the work of forces and dampers, which costs some percent
    #[arg(long = "no-work", action = ArgAction::SetFalse)]
    pub follow_work: bool,
    /// Samples of the energy balance over the run [default: 5 to 100, by the number of steps]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub energy_samples: Option<u32>,
    /// Draws traces and snapshots as pictures
    #[arg(long)]
    pub plot: bool,
    /// Draws movie.png, an animated PNG: 60 frames of the field over time, of the wave as it spreads, or the layers of voxels
    #[arg(long)]
    pub movie: bool,
    /// Writes report.html, one file for a browser, without network: the summary, traces and energies to zoom, the field over time
    #[arg(long)]
    pub report: bool,
    /// Writes the traces as traces.mat, too, for MATLAB and GNU Octave
    #[arg(long)]
    pub mat: bool,
    /// Writes no field snapshots
    #[arg(long = "no-fields", action = ArgAction::SetFalse)]
    pub fields: bool,
    /// Kind of files for fields: vtu (.vti for voxels), or vtkhdf, one HDF5 file
    #[arg(long, default_value = "vtu", value_name = "KIND", hide_possible_values = true, value_parser = field_format())]
    pub field_format: FieldFormat,
    /// Writes NAME.pogo-hist and NAME.pogo-field, too, which the MATLAB tools of P. Huthwaite's Pogo read [default name: the
    /// block file's]
    #[arg(long, value_name = "NAME", num_args = 0..=1, require_equals = true, value_parser = parse_base_name)]
    pub pogo_files: Option<Option<String>>,
    /// Writes checkpoints: 60, 60s, 10m or 1h of wall-clock time, or 5000steps
    #[arg(long = "checkpoint-interval", value_name = "INTERVAL", value_parser = parse_checkpoint_interval)]
    pub checkpoint: Option<CheckpointInterval>,
    /// Keeps a checkpoint of the end of the run, from which --restart goes on to a longer --time
    #[arg(long)]
    pub keep_checkpoint: bool,
}

fn precision() -> impl TypedValueParser<Value = Precision> {
    PossibleValuesParser::new(Precision::WORDS.iter().map(|(word, _)| *word))
        .map(|word| Precision::named(&word).unwrap_or_default())
}

fn field_format() -> impl TypedValueParser<Value = FieldFormat> {
    PossibleValuesParser::new(["vtu", "vtkhdf"])
        .map(|word| if word == "vtu" { FieldFormat::Vtu } else { FieldFormat::VtkHdf })
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            precision: Precision::default(),
            device: Devices::default(),
            exchange: Exchange::default(),
            threads: None,
            lumping: None,
            tolerance: None,
            time: None,
            increment: None,
            allow_unstable: false,
            energy_samples: None,
            fields: true,
            field_format: FieldFormat::default(),
            plot: false,
            movie: false,
            report: false,
            mat: false,
            pogo_files: None,
            checkpoint: None,
            keep_checkpoint: false,
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

    /// Whether fields are drawn as pictures.
    pub(crate) fn draws(&self) -> bool {
        self.plot || self.movie
    }

    /// The first option that asks for drawings of fields.
    pub(crate) fn drawing(&self) -> Option<&'static str> {
        let options = [("--plot", self.plot), ("--movie", self.movie), ("--report", self.report)];
        options.into_iter().find(|(_, given)| *given).map(|(option, _)| option)
    }

    /// Sets `solver.precision`, `solver.threads` or `solver.allow_unstable` from text; false for any other name.
    ///
    /// # Errors
    /// A value that the setting cannot have.
    pub(crate) fn set(&mut self, name: &str, value: &str) -> Result<bool, SettingError> {
        let error = |expected| SettingError { setting: name.into(), found: value.into(), expected: Expected(expected) };
        match name {
            "solver.precision" => {
                self.precision = Precision::named(value).ok_or_else(|| error("f32 or f64"))?;
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

/// One call of the solver, as options of the command line.
#[derive(Debug, Clone, PartialEq, Default, clap::Args)]
pub struct Config {
    /// Block file.
    #[arg(skip)]
    pub block_file: PathBuf,
    /// The words of the command line, for the report; none where there is none.
    #[arg(skip)]
    pub command: Vec<String>,
    /// Folder for the results [default: NAME.out in the current folder]
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Changes a parameter; may be given several times
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub overrides: Vec<String>,
    /// Runs the cases of a study file, each into its own folder, and lists them with their results in study.csv. Cases that are
    /// finished, with the same block file, parameters and options, are not run again. Several processes may run one study
    #[arg(long, value_name = "FILE")]
    pub study: Option<PathBuf>,
    /// With --study: runs this case alone, by its number from 1 or its name; may be given several times
    #[arg(long, value_name = "N|NAME", requires = "study")]
    pub case: Vec<String>,
    /// With --study: runs finished cases again
    #[arg(long, requires = "study")]
    pub again: bool,
    #[allow(rustdoc::broken_intra_doc_links)] // the brackets are an index; the command's help shows this text as it stands
    /// With --study or shots: a column of study.csv, such as cases[0].apparent.value (an entry of summary.json), peak(TIP.4.U2)
    /// (of a trace; also peak_time, max, min, last) or E=cases[0].apparent.value (with its head); may be given several times
    /// [default: what the study says, else what the physics is about]
    #[arg(long, value_name = "RESULT")]
    pub collect: Vec<String>,
    /// With --study or shots: runs N cases at a time, each with its share of the threads. Without it, several devices
    /// run one case each at a time, and a device steps shots at once where that is faster. The results do not depend on it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024).map(usize::from))]
    pub jobs: Option<usize>,
    #[allow(missing_docs)] // a description would stand in the command line's help
    #[command(flatten)]
    pub settings: Settings,
    /// Goes on from a checkpoint [default file: the one in the output folder]. With `auto`, and in studies, from the one in the
    /// output folder if there is one, else from the beginning
    #[arg(long, value_name = "FILE", num_args = 0..=1)]
    pub restart: Option<Option<PathBuf>>,
    /// Voxel statics: starts from these displacements, a displacement.npy or the output folder of an earlier run
    #[arg(long, value_name = "FILE|DIR", conflicts_with = "restart")]
    pub start: Option<PathBuf>,
    /// Memory that the run may use, such as 8G or 500M: one that needs more is refused before it begins [default: what the
    /// machine has, and its cgroup and ulimit allow]
    #[arg(long, value_name = "SIZE", value_parser = memory::parse_size)]
    pub memory: Option<u64>,
    /// Wall-clock time that the command may take: 60, 60s, 10m or 1h. Then it stops as by SIGTERM, after a checkpoint
    #[arg(long, value_name = "TIME", value_parser = parse_wall_time)]
    pub wall_time: Option<Duration>,
    /// Explicit dynamics: runs the shots of a CSV table (shot, source, scale, delay in s) instead of the model's own, each into
    /// its own folder, and writes the traces of all to shots.npz
    #[arg(long, value_name = "FILE.csv")]
    pub shots: Option<PathBuf>,
    /// Explicit dynamics: runs this shot alone; may be given several times
    #[arg(long, value_name = "NAME")]
    pub shot: Vec<String>,
    /// Arrival times: runs every set of starts in a CSV table (case, node or x,y,z, time) in one go
    #[arg(long, value_name = "FILE.csv")]
    pub starts: Option<PathBuf>,
}

/// What `--restart` is given for the checkpoint that may be there.
pub(crate) const AUTO: &str = "auto";

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
