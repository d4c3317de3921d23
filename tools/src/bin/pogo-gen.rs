//! `pogo-gen`: writes the models that Pogo is measured with: Abaqus decks and voxel stacks.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::{Args, CommandFactory, Parser, Subcommand};
use pogo_formats::mesh::ElementKind;
use pogo_formats::{VERSION, exit_code};
use pogo_tools::cli;
use pogo_tools::generate::{
    self, BoxOptions, LatticeOptions, MirrorOptions, ModelOptions, PerlinOptions, VentricleOptions,
};

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
struct Cli {
    #[command(subcommand)]
    model: Kind,
    /// Print a summary as JSON on stdout.
    #[arg(long, global = true)]
    json: bool,
    /// Print nothing but errors.
    #[arg(short, long, global = true)]
    quiet: bool,
    /// File to write [default: the model's name with .inp, or .nrrd; stacks may end with .npy, .nrrd or .tif].
    #[arg(short, long, global = true, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Subcommand)]
enum Kind {
    /// Weld with a crack: 5 MHz, 40 µm, 0.96 million nodes (Section 4.1).
    Weld(ModelOptions),
    /// Spur gear with holes: 500 kHz, 80 µm, 1.45 million nodes (Section 4.2).
    Gear(ModelOptions),
    /// Four rocks with absorbing sides: 5 m, 1.01 million nodes (Section 4.3).
    Geophysics(ModelOptions),
    /// Steel box of 1 mm elements of one kind, to measure speed with; or, with numbers or --heart, a lattice of particles: a
    /// stack of voxels and a job of springs beside it (Rasmusson, Mosegaard and Sørensen).
    Box(BoxArguments),
    /// Porous voxel sample of Perlin noise (Arbenz, Flaig and Kellenberger).
    Perlin(PerlinOptions),
    /// Voxel stack mirrored to a larger one.
    Mirror(MirrorOptions),
    /// Left ventricle of tetrahedra with fibres, sheets and a scar, for arrival times.
    Ventricle(VentricleOptions),
}

#[derive(Args)]
struct BoxArguments {
    /// A lattice instead of elements: particles along x, y and z, or one number for a cube.
    #[arg(value_name = "N", num_args = 0..=3, conflicts_with_all = ["elements", "nodes", "jitter", "increments"])]
    lattice: Vec<usize>,
    /// A lattice like the paper's heart: 29,449 particles in a box of 140,760.
    #[arg(long, conflicts_with_all = ["elements", "nodes", "lattice", "jitter", "increments"])]
    heart: bool,
    /// Springs of a lattice along space diagonals, too.
    #[arg(long, conflicts_with_all = ["elements", "nodes"])]
    space: bool,
    /// Element kind, such as cpe3, cpe4r, c3d4, c3d8 or c3d8r.
    #[arg(long, value_parser = generate::cuboid::parse_kind, value_name = "KIND", requires = "nodes",
          required_unless_present_any = ["lattice", "heart"])]
    elements: Option<ElementKind>,
    /// Number of nodes, met as nearly as whole rows of elements allow.
    #[arg(long, value_name = "N", requires = "elements")]
    nodes: Option<u32>,
    /// Random displacement of inner nodes as a fraction of the element size, 0 to 0.2 (triangles are always irregular).
    #[arg(long, default_value_t = 0.15)]
    jitter: f64,
    /// Length of the run, in increments.
    #[arg(long, default_value_t = 1000, value_name = "N")]
    increments: u32,
}

fn main() {
    if let Some(text) = cli::helper(Cli::command(), std::env::args_os()).unwrap_or_else(|error| cli::exit(&error)) {
        finish(cli::write_stdout(&text).map_err(Into::into));
    }
    finish(run(&Cli::try_parse().unwrap_or_else(|error| cli::exit(&error))));
}

fn finish(result: anyhow::Result<()>) -> ! {
    if let Err(error) = &result {
        let _ = writeln!(std::io::stderr(), "{error}");
    }
    std::process::exit(if result.is_ok() { 0 } else { exit_code::BAD_INPUT })
}

fn run(cli: &Cli) -> anyhow::Result<()> {
    let start = Instant::now();
    let default = match &cli.model {
        Kind::Weld(_) => "weld.inp",
        Kind::Gear(_) => "gear.inp",
        Kind::Geophysics(_) => "geophysics.inp",
        Kind::Box(BoxArguments { elements: Some(_), .. }) => "box.inp",
        Kind::Box(BoxArguments { heart: true, .. }) => "heart.npy",
        Kind::Box(_) => "box.npy",
        Kind::Perlin(_) => "perlin.nrrd",
        Kind::Mirror(_) => "mirror.nrrd",
        Kind::Ventricle(_) => "ventricle.vtu",
    };
    let path = cli.output.clone().unwrap_or_else(|| default.into());
    cli::clean_up_after(&path)?;
    let model = match &cli.model {
        Kind::Weld(options) => generate::weld(options)?,
        Kind::Gear(options) => generate::gear(options)?,
        Kind::Geophysics(options) => generate::geophysics(options)?,
        Kind::Box(BoxArguments { elements: Some(elements), nodes: Some(nodes), jitter, increments, .. }) => {
            let (elements, nodes, jitter, increments) = (*elements, *nodes, *jitter, *increments);
            generate::cuboid(&BoxOptions { elements, nodes, jitter, increments })?
        }
        Kind::Box(BoxArguments { lattice, heart, space, .. }) => {
            let options = LatticeOptions { size: lattice.clone(), heart: *heart, space: *space };
            let (summary, job) = generate::save_lattice(&options, &path)?;
            if !cli.quiet && !cli.json {
                cli::write_stdout(format!("{}: the job\n", job.display()).as_bytes())?;
            }
            return stack(cli, &path, &summary, start);
        }
        Kind::Perlin(options) => return stack(cli, &path, &generate::save_perlin(options, &path)?, start),
        Kind::Mirror(options) => return stack(cli, &path, &generate::save_mirror(options, &path)?, start),
        Kind::Ventricle(options) => return stack(cli, &path, &generate::save_ventricle(options, &path)?, start),
    };
    let seconds = start.elapsed().as_secs_f64();
    let bytes = generate::save(&model, &path)?;
    let quality = generate::quality(&model.mesh);
    let total = start.elapsed().as_secs_f64();
    if cli.json {
        let summary = serde_json::json!({
            "file": path, "bytes": bytes, "quality": quality, "mesh_seconds": seconds, "total_seconds": total,
            "version": VERSION,
        });
        cli::write_stdout(format!("{summary:#}\n").as_bytes())?;
    } else if !cli.quiet {
        cli::write_stdout(
            format!("{}: {quality}, {:.1} MB in {total:.1} s\n", path.display(), bytes as f64 / 1e6).as_bytes(),
        )?;
    }
    Ok(())
}

/// Says what a stack or a mesh is like.
fn stack(
    cli: &Cli,
    path: &Path,
    stack: &(impl serde::Serialize + std::fmt::Display),
    start: Instant,
) -> anyhow::Result<()> {
    let seconds = start.elapsed().as_secs_f64();
    let bytes = path.metadata()?.len();
    if cli.json {
        let summary = serde_json::json!({
            "file": path, "bytes": bytes, "stack": stack, "total_seconds": seconds, "version": VERSION,
        });
        cli::write_stdout(format!("{summary:#}\n").as_bytes())?;
    } else if !cli.quiet {
        let megabytes = bytes as f64 / 1e6;
        cli::write_stdout(format!("{}: {stack}, {megabytes:.1} MB in {seconds:.1} s\n", path.display()).as_bytes())?;
    }
    Ok(())
}
