//! `pogo-info`: what is in a block file, and whether it is whole.

use std::{io::Write, path::PathBuf};

use clap::{CommandFactory, Parser};
use pogo_formats::block::Container;
use pogo_formats::eikonal::{Drawn, Eikonal};
use pogo_formats::explicit::Explicit;
use pogo_formats::explicit::block::BlocksView;
use pogo_formats::physics::{self, BlockFile, Physics};
use pogo_formats::spring::Spring;
use pogo_formats::voxel::Voxel;
use pogo_formats::words::counted;
use pogo_formats::{VERSION, exit_code, parameters};
use pogo_tools::explicit::info;
use pogo_tools::picture::{self, PictureOptions};
use pogo_tools::{cli, eikonal, spring, voxel};

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
  pogo-info heart.blk                       a mass-spring-damper model: particles, spring groups, grid, blocks
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

impl Cli {
    /// How to draw a model of so many dimensions.
    fn picture_options(&self, dimension: usize) -> anyhow::Result<PictureOptions> {
        let file = self.file.display();
        anyhow::ensure!(self.window.is_none() || dimension == 2, "{file}: error: --window is for models in the plane");
        let default = PictureOptions::default();
        Ok(PictureOptions { size: self.size.unwrap_or(default.size), window: self.window })
    }
}

fn main() {
    let result = match cli::helper(Cli::command(), std::env::args_os()).unwrap_or_else(|error| cli::exit(&error)) {
        Some(text) => cli::write_stdout(&text).map_err(Into::into),
        None => run(&Cli::try_parse().unwrap_or_else(|error| cli::exit(&error))),
    };
    std::process::exit(match result {
        Ok(()) => 0,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "{error}");
            exit_code::BAD_INPUT
        }
    });
}

/// Shows a file of one physics as the command line asks.
type Show = fn(&Cli, Container) -> anyhow::Result<String>;

/// Every kind of physics.
const PHYSICS: &[(&str, Show)] = &[
    (Explicit::NAME, |cli, file| explicit(cli, &BlockFile::from_container(file)?)),
    (Voxel::NAME, |cli, file| voxels(cli, &BlockFile::from_container(file)?)),
    (Spring::NAME, |cli, file| springs(cli, &BlockFile::from_container(file)?)),
    (Eikonal::NAME, |cli, file| eikonal(cli, &BlockFile::from_container(file)?)),
];

fn run(cli: &Cli) -> anyhow::Result<()> {
    let file = Container::open(&cli.file)?;
    let text = physics::registered(&file, PHYSICS)?(cli, file)?;
    let text = if cli.quiet && !cli.json { "" } else { &text };
    Ok(cli::write_stdout(text.as_bytes())?)
}

/// What `--check` says when all is well.
fn whole(cli: &Cli, bytes: u64, sections: usize) -> String {
    let (bytes, sections) = (counted(bytes as usize, "byte"), counted(sections, "section"));
    format!("{}: whole: {bytes}, {sections}\n", cli.file.display())
}

fn voxels(cli: &Cli, file: &BlockFile<Voxel>) -> anyhow::Result<String> {
    let path = cli.file.display();
    anyhow::ensure!(!cli.sets, "{path}: error: --sets is for models of decks, this is a voxel model");
    let mut drawn = None;
    if let Some(path) = &cli.picture {
        cli::clean_up_after(path)?;
        let what = voxel::info::draw(file, path, cli.picture_options(3)?.size as usize)?;
        drawn = Some(format!("{}: {what}\n", path.display()));
    }
    if cli.check {
        file.verify()?;
    }
    Ok(if cli.parameters {
        let parameters = parameters::list(&file.setup());
        if cli.json { json(&parameters)? } else { info::parameters_text(&parameters) }
    } else if cli.grids {
        let grids = voxel::info::Grids::measure(&cli.file.display().to_string(), &file.mesh())?;
        if cli.json { json(&grids)? } else { grids.to_string() }
    } else if cli.json {
        json(&voxel::info::VoxelSummary::new(file))?
    } else if let Some(drawn) = drawn {
        drawn
    } else if cli.check {
        whole(cli, file.container().bytes(), file.container().sections().len())
    } else {
        voxel::info::VoxelSummary::new(file).to_string()
    })
}

fn springs(cli: &Cli, file: &BlockFile<Spring>) -> anyhow::Result<String> {
    let path = cli.file.display();
    anyhow::ensure!(!cli.grids, "{path}: error: --grids is for voxel models");
    anyhow::ensure!(!cli.sets, "{path}: error: the sets of a mass-spring-damper model are in the text without options");
    if cli.check {
        file.verify()?;
    }
    if let Some(path) = &cli.picture {
        for (option, given) in [("--size", cli.size.is_some()), ("--window", cli.window.is_some())] {
            anyhow::ensure!(!given, "{}: error: {option} is not for masses and springs", cli.file.display());
        }
        cli::clean_up_after(path)?;
        spring::info::picture(path, file)?;
    }
    Ok(if cli.parameters {
        let parameters = parameters::list(&file.setup());
        if cli.json { json(&parameters)? } else { info::parameters_text(&parameters) }
    } else if cli.json {
        json(&spring::info::SpringSummary::new(file))?
    } else if let Some(path) = &cli.picture {
        format!("{}: {}\n", path.display(), counted(file.mesh().lists.n_blocks(), "block"))
    } else if cli.check {
        whole(cli, file.container().bytes(), file.container().sections().len())
    } else {
        spring::info::SpringSummary::new(file).to_string()
    })
}

fn explicit(cli: &Cli, file: &BlockFile<Explicit>) -> anyhow::Result<String> {
    anyhow::ensure!(!cli.grids, "{}: error: --grids is for voxel models", cli.file.display());
    if cli.check {
        file.verify()?;
    }
    if let Some(path) = &cli.picture {
        cli::clean_up_after(path)?;
        let options = cli.picture_options(file.mesh().dimension)?;
        picture::draw(&file.mesh(), &file.blocks(), path, &options)?;
    }
    Ok(if cli.parameters {
        let parameters = parameters::list(&file.setup());
        if cli.json { json(&parameters)? } else { info::parameters_text(&parameters) }
    } else if cli.sets {
        if cli.json { json(&info::sets(&file.mesh()))? } else { info::sets_text(&file.mesh()) }
    } else if cli.json {
        json(&info::Summary::new(file))?
    } else if let Some(path) = &cli.picture {
        format!("{}: {}\n", path.display(), counted(file.blocks().n_blocks(), "block"))
    } else if cli.check {
        whole(cli, file.container().bytes(), file.container().sections().len())
    } else {
        info::Summary::new(file).to_string()
    })
}

fn eikonal(cli: &Cli, file: &BlockFile<Eikonal>) -> anyhow::Result<String> {
    anyhow::ensure!(!cli.grids, "{}: error: --grids is for voxel models", cli.file.display());
    if cli.check {
        file.verify()?;
    }
    let (mesh, domains) = (file.mesh(), file.domains());
    if let Some(path) = &cli.picture {
        cli::clean_up_after(path)?;
        let node_first = domains.starts();
        let halo_first: Vec<u64> = (0..node_first.len()).map(|domain| domains.halo_first(domain) as u64).collect();
        // All that a picture asks of blocks: who owns a node, and who is beside whom.
        let blocks = BlocksView {
            capacity: 1,
            node_first: &node_first,
            n_boundary: &node_first[1..],
            halo_first: &halo_first,
            halo_nodes: domains.halo,
            run_first: &[],
            run_kind: &[],
            run_section: &[],
            run_element_first: &[],
            run_connectivity_first: &[],
            elements: &[],
            connectivity: &[],
        };
        let drawn = Drawn::new(&mesh);
        let view = drawn.view(&mesh);
        picture::draw(&view, &blocks, path, &cli.picture_options(view.dimension)?)?;
    }
    Ok(if cli.parameters {
        let parameters = parameters::list(&file.setup());
        if cli.json { json(&parameters)? } else { info::parameters_text(&parameters) }
    } else if cli.sets {
        let summary = eikonal::info::EikonalSummary::new(file);
        let sets = [("node", &summary.node_sets), ("element", &summary.element_sets)];
        if cli.json {
            json(&serde_json::json!({ "node_sets": summary.node_sets, "element_sets": summary.element_sets }))?
        } else {
            let line = |what: &str, set: &info::Count| format!("{} ({})\n", set.name, counted(set.count, what));
            sets.iter().flat_map(|(what, sets)| sets.iter().map(move |set| line(what, set))).collect()
        }
    } else if cli.json {
        json(&eikonal::info::EikonalSummary::new(file))?
    } else if let Some(path) = &cli.picture {
        format!("{}: {}\n", path.display(), counted(domains.n_domains(), "sub-domain"))
    } else if cli.check {
        whole(cli, file.container().bytes(), file.container().sections().len())
    } else {
        eikonal::info::EikonalSummary::new(file).to_string()
    })
}

fn json(value: &impl serde::Serialize) -> anyhow::Result<String> {
    Ok(serde_json::to_string_pretty(value)? + "\n")
}

fn window(text: &str) -> Result<[f64; 4], String> {
    let numbers: Result<Vec<f64>, _> = text.split(',').map(|number| number.trim().parse()).collect();
    numbers.ok().and_then(|numbers| numbers.try_into().ok()).ok_or_else(|| "expected four numbers, X0,Y0,X1,Y1".into())
}
