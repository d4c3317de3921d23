//! The command line of `pogo-solve`.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use clap_complete::Shell;
use pogo_formats::dynamics::Increment;
use pogo_formats::explicit::Lumping;
use pogo_formats::write::fields::FieldFormat;
use pogo_solver::config::{
    AddressingChoice, CheckpointInterval, Config, DeviceChoice, Precision, SettingError, Settings, Start,
    parse_checkpoint_interval, parse_device, parse_increment, parse_lumping, parse_seconds,
};

const EXAMPLES: &str = "\
Examples:
  pogo-solve weld.blk                                       results in weld.out/
  pogo-solve weld.blk --precision f32 -o fast.out           half the memory traffic
  pogo-solve weld.blk --set material.weld.young=190e9 --set amplitude.burst.frequency=4e6
  pogo-solve weld.blk --study sweep.toml                    many cases, the mesh mapped once
  pogo-solve weld.blk --checkpoint-interval 10m             and, if the machine went down,
  pogo-solve weld.blk --checkpoint-interval 10m --restart   go on from there
  pogo-solve bone.blk --set load.strain=-0.02 --plot        a voxel model
  pogo-solve tissue.blk --precision f32 --plot              masses and springs, cut while they move
  pogo-solve heart.blk --plot                               arrival times of a wave
  pogo-solve heart.blk --field-format vtkhdf                fields as one HDF5 file for ParaView, Python, MATLAB
  pogo-solve heart.blk --starts sites.csv                   thousands of start sites on one mapped mesh

What --set knows: pogo-info weld.blk --parameters

Output folder: traces.csv and traces.npz, energy.csv, summary.json, fields where the model asks for them. Voxel statics:
summary.json, residual.csv, nodes.npy and displacement.npy, fields.vti. Springs: broken.csv, too. Arrival times: arrival.npy,
arrival.vtu, activation.csv, paths.csv, summary.json. With --field-format vtkhdf, fields.vtkhdf takes the place of fields.pvd
and fields.vti, arrival.vtkhdf that of arrival.vtu.

Manual page: pogo-solve --man | man -l -
Shell completions: pogo-solve --completions bash (elvish, fish, powershell, zsh)

Signals: SIGTERM and SIGINT stop after a checkpoint, SIGUSR1 writes one and goes on.

Exit codes:
  0  done
  1  input that cannot be used, or a file that cannot be read or written
  2  wrong command line
  3  voxel statics: no convergence. Dynamics diverged: NaN, an energy balance off by a tenth of the largest energy, or kinetic energy a hundred times
     what was put in; state and results so far are written
  4  stopped by a signal after writing a checkpoint; go on with --restart";

/// Runs a block file: explicit elastodynamics by central differences, voxel statics, masses and springs, or arrival times
#[derive(Debug, Parser)]
#[command(
    name = "pogo-solve",
    version = pogo_formats::VERSION,
    after_help = EXAMPLES,
    override_usage = "pogo-solve [OPTIONS] <BLOCK_FILE>"
)]
pub struct Args {
    /// Block file, as pogo-block writes it
    #[arg(required_unless_present_any = ["completions", "man"])]
    block_file: Option<PathBuf>,
    /// Folder for the results [default: NAME.out in the current folder]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Changes a parameter; may be given several times
    #[arg(long = "set", value_name = "NAME=VALUE")]
    overrides: Vec<String>,
    /// Runs the cases of a study file, each into its own folder
    #[arg(long, value_name = "FILE", conflicts_with = "restart")]
    study: Option<PathBuf>,
    /// Where to compute: cpu, cuda or cuda:N; auto is the first CUDA device that can be used, else the CPU. Some settings of
    /// voxel models work on the CPU only. A device finds the nodes of voxels by bricks, whatever tables the file has
    #[arg(long, default_value = "auto", value_parser = |text: &str| expected(parse_device(text)))]
    device: DeviceChoice,
    /// Floating-point format of the unknowns: f64, or f32, which is faster; voxel models are always solved in f64
    #[arg(long, value_enum, default_value = "f64")]
    precision: Precision,
    /// Threads [default: all cores]; the results do not depend on it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Mass lumping: row-sum, hrz or equal [default: the model's]
    #[arg(long, value_name = "KIND", value_parser = |text: &str| expected(parse_lumping(text)))]
    lumping: Option<Lumping>,
    /// Length of the run in seconds [default: the model's]
    #[arg(long, value_name = "S", value_parser = |text: &str| expected(parse_seconds("time", text)))]
    time: Option<f64>,
    /// Time increment in seconds, or auto [default: the model's]
    #[arg(long, value_name = "S|auto", value_parser = |text: &str| expected(parse_increment(text)))]
    increment: Option<Increment>,
    /// Steps even if the increment is above the stable one
    #[arg(long)]
    allow_unstable: bool,
    /// Draws traces and snapshots
    #[arg(long)]
    plot: bool,
    /// Samples of the energy balance over the run [default: 5 to 100, by the number of steps]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    energy_samples: Option<u32>,
    /// Writes no field snapshots
    #[arg(long)]
    no_fields: bool,
    /// Kind of files for fields: vtu (.vti for voxels), or vtkhdf, one HDF5 file
    #[arg(long, value_enum, default_value = "vtu", value_name = "KIND", hide_possible_values = true)]
    field_format: FieldFormatName,
    /// Goes on from a checkpoint [default file: the one in the output folder]
    #[arg(long, value_name = "FILE", num_args = 0..=1)]
    restart: Option<Option<PathBuf>>,
    /// Voxel statics: starts from these displacements, a displacement.npy or the output folder of an earlier run
    #[arg(long, value_name = "FILE|DIR", conflicts_with = "restart")]
    start: Option<PathBuf>,
    /// Arrival times: runs every set of starts in a CSV table (case, node or x,y,z, time) in one go
    #[arg(long, value_name = "FILE.csv")]
    starts: Option<PathBuf>,
    /// Writes checkpoints: 60, 60s, 10m or 1h of wall-clock time, or 5000steps
    #[arg(long, value_name = "INTERVAL", value_parser = |text: &str| expected(parse_checkpoint_interval(text)))]
    checkpoint_interval: Option<CheckpointInterval>,
    /// Springs: how the neighbours of particles are found; the results do not depend on it
    #[arg(long, value_enum, default_value = "auto", value_name = "KIND")]
    addressing: AddressingChoice,
    /// Springs: does not follow the work of forces and dampers, which costs some percent
    #[arg(long)]
    no_work: bool,
    /// Prints the summary as JSON on standard output
    #[arg(long)]
    pub json: bool,
    /// Prints nothing but errors (and what --json asks for)
    #[arg(short, long)]
    pub quiet: bool,
    /// Prints completions for a shell
    #[arg(long, hide = true, value_name = "SHELL")]
    pub completions: Option<Shell>,
    /// Prints the manual page
    #[arg(long, hide = true)]
    pub man: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum FieldFormatName {
    Vtu,
    Vtkhdf,
}

impl Args {
    /// The checked call.
    pub fn config(&self) -> Config {
        Config {
            block_file: self.block_file.clone().unwrap_or_default(),
            output: self.output.clone(),
            overrides: self.overrides.clone(),
            study: self.study.clone(),
            settings: Settings {
                precision: self.precision,
                device: self.device,
                threads: self.threads.map(usize::from),
                lumping: self.lumping,
                time: self.time,
                increment: self.increment,
                allow_unstable: self.allow_unstable,
                energy_samples: self.energy_samples,
                fields: !self.no_fields,
                field_format: match self.field_format {
                    FieldFormatName::Vtu => FieldFormat::Vtu,
                    FieldFormatName::Vtkhdf => FieldFormat::VtkHdf,
                },
                plot: self.plot,
                checkpoint: self.checkpoint_interval,
                addressing: self.addressing,
                follow_work: !self.no_work,
            },
            start: match &self.restart {
                None => Start::Beginning,
                Some(file) => Start::Checkpoint(file.clone()),
            },
            start_vector: self.start.clone(),
            starts: self.starts.clone(),
        }
    }
}

/// What clap has not said already: it names the option and the value.
fn expected<T>(parsed: Result<T, SettingError>) -> Result<T, String> {
    parsed.map_err(|error| format!("expected {}", error.expected))
}
