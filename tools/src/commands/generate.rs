//! `pogo-gen`: writes the models that Pogo is measured with: Abaqus decks, voxel stacks, a mesh of a heart.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Parser;
use pogo_formats::VERSION;
use pogo_formats::system::memory;
use pogo_formats::timings;

use crate::cli;
use crate::generate::{Generated, Generator};

/// Writes benchmark models: decks (the three of the Pogo paper, and boxes) and voxel stacks.
#[derive(Parser)]
#[command(name = "pogo-gen", version = VERSION, after_help = "Examples:
  pogo-gen weld                          the paper's weld, 0.96 million nodes -> weld.inp
  pogo-gen gear --size 200e-6            a coarser gear, with the increment to match
  pogo-gen weld --size 0.28e-3 --frequency 1e6 --cycles 3 -o small.inp
  pogo-gen box --elements c3d8 --nodes 200000 -o box.inp
  pogo-gen box 32                        a lattice of 32 x 32 x 32 particles -> box.npy, and the job box.toml
  pogo-gen box --heart                   a lattice like the heart of the mass-spring paper -> heart.npy, heart.toml
  pogo-gen perlin --size 550             a porous sample like perlin1 of the ParOSol papers -> perlin.nrrd
  pogo-gen perlin --size 200 --texture struts --cell 10 --fraction 0.2 -o thin.npy
  pogo-gen mirror bone.tif --times 2 2 3 --crop 500 -o large.tif
  pogo-gen ventricle                     a left ventricle with turning fibres and a scar -> ventricle.vtu

Manual page: pogo-gen --man | man -l -
Shell completions: pogo-gen --completions bash (elvish, fish, powershell, zsh)
Exit codes: 0 done, 1 the model or file cannot be made, 2 wrong command line.")]
pub struct Cli {
    #[command(subcommand)]
    model: Generator,
    /// Print a summary as JSON on stdout.
    #[arg(long, global = true)]
    json: bool,
    #[command(flatten)]
    timing: cli::TimingOption,
    /// Print nothing but errors.
    #[arg(short, long, global = true)]
    quiet: bool,
    /// File to write [default: the model's name with .inp, or .nrrd; stacks may end with .npy, .nrrd or .tif].
    #[arg(short, long, global = true, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Runs the command; the first argument is its name. Gives the exit code.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> i32 {
    cli::run(arguments, |cli: Cli| generate(&cli).map(|()| true))
}

impl Cli {
    /// The file that the arguments name.
    fn path(&self) -> PathBuf {
        self.output.clone().unwrap_or_else(|| self.model.default_output().into())
    }

    /// Writes the model, and gives what is to be said of it as text and as JSON. Prints nothing.
    ///
    /// # Errors
    /// The model cannot be made, or the file cannot be written.
    pub fn make(&self) -> anyhow::Result<Generated> {
        Ok(timings::timed("generate", || self.model.save(&self.path()))?)
    }
}

fn generate(cli: &Cli) -> anyhow::Result<()> {
    let _timing = cli.timing.start();
    let path = cli.path();
    cli::start_threads(None)?;
    memory::tell_of_no_memory(&path);
    cli::clean_up_beside(&path)?;
    let made = cli.make()?;
    if cli.json {
        cli::write_stdout(made.json.as_bytes())?;
    } else if !cli.quiet {
        cli::write_stdout(made.text.as_bytes())?;
    }
    Ok(())
}
