//! `pogo-info`: what is in a block file, and whether it is whole.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Parser;
use pogo_formats::VERSION;
use pogo_formats::block::Container;
use pogo_formats::physics::registered;
use pogo_formats::system::memory;
use pogo_formats::timings;

use crate::info::Query;
use crate::{ROOMS, cli};

/// Shows what is in a block file; checks it.
#[derive(Parser)]
#[command(name = "pogo-info", version = VERSION, after_help = "Examples:
  pogo-info weld.blk                        mesh, materials, loads, outputs, blocks, efficiency, provenance
  pogo-info weld.blk --check                verify every byte; the exit code says whether the file is whole
  pogo-info weld.blk --parameters           what pogo-solve --set can change: names, values, units
  pogo-info weld.blk --sets                 names and sizes of the node and element sets
  pogo-info weld.blk --picture blocks.png   draw the blocks in colours
  pogo-info weld.blk --report weld.html     all of it, with the blocks to zoom and to turn, for a browser
  pogo-info weld.blk --made-from weld.inp   whether the input is still the one that the file was made from
  pogo-info weld.blk --json | jq .partition.efficiency
  pogo-info bone.blk                        a voxel model: materials, load cases, grid, sub-domains
  pogo-info tissue.blk                      a mass-spring-damper model: particles, spring groups, grid, blocks
  pogo-info bone.blk --grids                build every grid representation: bytes an element, occupancy, seconds
  pogo-info heart.blk                       an Eikonal model: velocities, starts, sub-domains

Units are named as in SI; a deck in another consistent set (mm, t, s, MPa) keeps its own numbers.
Manual page: pogo-info --man | man -l -
Shell completions: pogo-info --completions bash (elvish, fish, powershell, zsh)
Exit codes: 0 done, 1 the file is damaged or cannot be read, 2 wrong command line.")]
pub struct Cli {
    /// Block file that pogo-block wrote.
    #[arg(value_name = "FILE.blk")]
    file: PathBuf,
    #[command(flatten)]
    query: Query,
    #[command(flatten)]
    timing: cli::TimingOption,
    /// Print nothing but errors (and what --json asks for).
    #[arg(short, long)]
    quiet: bool,
}

/// Runs the command; the first argument is its name. Gives the exit code.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> i32 {
    cli::run(arguments, |cli: Cli| show(&cli).map(|()| true))
}

impl Cli {
    /// What the command says of the file. Prints nothing.
    ///
    /// # Errors
    /// The file is damaged or cannot be read, or a picture cannot be written.
    pub fn inspect(&self) -> anyhow::Result<String> {
        let container = timings::timed("open", || Container::open(&self.file))?;
        let physics = *registered(&container, &ROOMS.map(|room| (room.name(), room)))?;
        let text = timings::timed("inspect", || physics.inspect(container, &self.query))?;
        Ok(if self.quiet && !self.query.json { String::new() } else { text })
    }
}

fn show(cli: &Cli) -> anyhow::Result<()> {
    let _timing = cli.timing.start();
    cli::start_threads(None)?;
    memory::tell_of_no_memory(&cli.file);
    for path in [&cli.query.picture, &cli.query.report].into_iter().flatten() {
        cli::clean_up_beside(path)?;
    }
    Ok(cli::write_stdout(cli.inspect()?.as_bytes())?)
}
