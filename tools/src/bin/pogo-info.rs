//! `pogo-info`: what is in a block file, and whether it is whole.

use std::path::PathBuf;

use clap::Parser;
use pogo_formats::VERSION;
use pogo_formats::block::Container;
use pogo_formats::physics::registered;
use pogo_tools::info::Query;
use pogo_tools::picture::PictureOptions;
use pogo_tools::{ROOMS, cli};

/// Shows what is in a block file; checks it.
#[derive(Parser)]
#[command(name = "pogo-info", version = VERSION, after_help = "Examples:
  pogo-info weld.blk                        mesh, materials, loads, outputs, blocks, efficiency, provenance
  pogo-info weld.blk --check                verify every byte; the exit code says whether the file is whole
  pogo-info weld.blk --parameters           what pogo-solve --set can change: names, values, units
  pogo-info weld.blk --sets                 names and sizes of the node and element sets
  pogo-info weld.blk --picture blocks.png   draw the blocks in colours
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
    /// Verify every checksum, and all tables against each other.
    #[arg(long)]
    check: bool,
    /// List the parameters that can change from run to run.
    #[arg(long, conflicts_with = "sets")]
    parameters: bool,
    /// List the sets.
    #[arg(long)]
    sets: bool,
    /// Draw the blocks in colours (3D: the outer surface); of voxels a slice, with its sub-domains or moduli.
    #[arg(long, value_name = "FILE.png")]
    picture: Option<PathBuf>,
    /// Pixels of the picture's longer side (not of springs) [default: 1600].
    #[arg(long, value_name = "PIXELS", requires = "picture")]
    size: Option<u32>,
    /// Draw only this part of a 2D mesh, m.
    #[arg(long, value_name = "X0,Y0,X1,Y1", requires = "picture", value_parser = window, allow_hyphen_values = true)]
    window: Option<[f64; 4]>,
    /// Build the grid of a voxel model in every representation, and measure them.
    #[arg(long, conflicts_with_all = ["parameters", "sets", "picture"])]
    grids: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Print nothing but errors (and what --json asks for).
    #[arg(short, long)]
    quiet: bool,
}

fn main() {
    cli::run(|cli: Cli| show(cli).map(|()| true));
}

fn show(cli: Cli) -> anyhow::Result<()> {
    let Cli { check, parameters, sets, picture, size, window, grids, json, .. } = cli;
    if let Some(path) = &picture {
        cli::clean_up_after(path)?;
    }
    let picture_options = PictureOptions { size, window };
    let query = Query { check, parameters, sets, picture, picture_options, grids, json };
    let container = Container::open(&cli.file)?;
    let physics = *registered(&container, &ROOMS.map(|room| (room.name(), room)))?;
    let text = physics.inspect(container, &query)?;
    let text = if cli.quiet && !json { "" } else { &text };
    Ok(cli::write_stdout(text.as_bytes())?)
}

fn window(text: &str) -> Result<[f64; 4], String> {
    let numbers: Result<Vec<f64>, _> = text.split(',').map(|number| number.trim().parse()).collect();
    numbers.ok().and_then(|numbers| numbers.try_into().ok()).ok_or_else(|| "expected four numbers, X0,Y0,X1,Y1".into())
}
