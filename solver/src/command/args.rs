//! The command line of `pogo-solve`.

use std::path::PathBuf;

use crate::config::Config;
use clap::Parser;
use clap_complete::Shell;

const EXAMPLES: &str = "\
Examples:
  pogo-solve weld.blk                                       results in weld.out/
  pogo-solve weld.blk --precision f32 -o fast.out           half the memory traffic
  pogo-solve weld.blk --set material.weld.young=190e9 --set amplitude.burst.frequency=4e6
  pogo-solve weld.blk --study sweep.toml                    many cases, the mesh mapped once
  pogo-solve weld.blk --study sweep.toml --jobs 4           four cases at a time
  pogo-solve weld.blk --study sweep.toml --case 3           one case, such as a job of an array
  pogo-solve weld.blk --checkpoint-interval 10m             and, if the machine went down,
  pogo-solve weld.blk --checkpoint-interval 10m --restart   go on from there
  pogo-solve weld.blk --wall-time 55m --restart=auto        as often as a queue of one hour takes it
  pogo-solve weld.blk --report                              and a page to look at: weld.out/report.html
  pogo-solve bone.blk --set load.strain=-0.02 --plot        a voxel model
  pogo-solve tissue.blk --precision f32 --plot              masses and springs, cut while they move
  pogo-solve weld.blk --pogo-files --mat                    files for the MATLAB tools of P. Huthwaite's Pogo, and traces.mat
  pogo-solve heart.blk --plot                               arrival times of a wave
  pogo-solve heart.blk --field-format vtkhdf                fields as one HDF5 file for ParaView, Python, MATLAB
  pogo-solve heart.blk --starts sites.csv                   thousands of start sites on one mapped mesh

What --set knows: pogo-info weld.blk --parameters

Output folder: traces.csv and traces.npz, energy.csv, summary.json, fields where the model asks for them. Voxel statics:
summary.json, residual.csv, nodes.npy and displacement.npy, fields.vti. Springs: broken.csv, too. Arrival times: arrival.npy,
arrival.vtu, activation.csv, paths.csv, summary.json. With --field-format vtkhdf, fields.vtkhdf takes the place of fields.pvd
and fields.vti, arrival.vtkhdf that of arrival.vtu. With --pogo-files, NAME.pogo-hist and NAME.pogo-field, too; with --mat,
traces.mat; with --plot, pictures; with --movie, movie.png; with --report, report.html.

Manual page: pogo-solve --man | man -l -
Shell completions: pogo-solve --completions bash (elvish, fish, powershell, zsh)

Signals: SIGTERM, SIGINT and SIGHUP stop after a checkpoint, SIGUSR1 writes one and goes on.

Exit codes:
  0  done
  1  input that cannot be used, or a file that cannot be read or written
  2  wrong command line
  3  voxel statics: no convergence. Dynamics diverged: NaN, an energy balance off by a tenth of the largest energy, or kinetic energy a hundred times
     what was put in; state and results so far are written
  4  stopped by a signal or by --wall-time after writing a checkpoint; go on with --restart";

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
    #[command(flatten)]
    config: Config,
    /// Prints the summary as JSON on standard output
    #[arg(long)]
    pub json: bool,
    /// Prints nothing but errors (and what --json asks for)
    #[arg(short, long)]
    pub quiet: bool,
    /// Prints on stderr where the time went: for each stage wall and processor time, bytes read and written, peak memory. The
    /// summary has the same table
    #[arg(long)]
    pub timings: bool,
    /// Prints completions for a shell
    #[arg(long, hide = true, value_name = "SHELL")]
    pub completions: Option<Shell>,
    /// Prints the manual page
    #[arg(long, hide = true)]
    pub man: bool,
}

impl Args {
    /// The call of the solver.
    pub fn config(&self) -> Config {
        Config { block_file: self.block_file.clone().unwrap_or_default(), ..self.config.clone() }
    }
}
