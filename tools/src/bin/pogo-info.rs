//! `pogo-info`: what is in a block file, and whether it is whole.

use std::path::PathBuf;

use clap::Parser;
use pogo_formats::VERSION;
use pogo_formats::block::Container;
use pogo_formats::physics::registered;
use pogo_formats::system::memory;
use pogo_formats::timings;
use pogo_tools::info::Query;
use pogo_tools::{ROOMS, cli};

/// Shows what is in a block file; checks it.
#[derive(Parser)]
#[command(name = "pogo-info", version = VERSION, after_help = "Examples:
  pogo-info weld.blk                        mesh, materials, loads, outputs, blocks, efficiency, provenance
  pogo-info weld.blk --check                verify every byte; the exit code says whether the file is whole
  pogo-info weld.blk --parameters           what pogo-solve --set can change: names, values, units
  pogo-info weld.blk --sets                 names and sizes of the node and element sets
  pogo-info weld.blk --picture blocks.png   draw the blocks in colours
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
struct Cli {
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

/// So that a process without memory ends with a message.
#[global_allocator]
static ALLOCATOR: memory::Watched = memory::Watched;

fn main() {
    cli::run(|cli: Cli| show(&cli).map(|()| true));
}

fn show(cli: &Cli) -> anyhow::Result<()> {
    let _timing = cli.timing.start();
    cli::start_threads(None)?;
    memory::tell_of_no_memory(&cli.file);
    if let Some(path) = &cli.query.picture {
        cli::clean_up_beside(path)?;
    }
    let container = timings::timed("open", || Container::open(&cli.file))?;
    let physics = *registered(&container, &ROOMS.map(|room| (room.name(), room)))?;
    let text = timings::timed("inspect", || physics.inspect(container, &cli.query))?;
    let text = if cli.quiet && !cli.query.json { "" } else { &text };
    Ok(cli::write_stdout(text.as_bytes())?)
}
