//! The command line.

use std::path::PathBuf;

use clap::{ArgMatches, Args, Command, FromArgMatches, Parser};
use pogo_formats::VERSION;
use pogo_formats::system::memory;

use crate::prepare::Request;
use crate::{ROOMS, cli, room};

/// Makes a block file, which pogo-solve runs, of a deck, a voxel stack or a mesh.
///
/// A deck: reads it, applies the jobs, cuts the mesh into blocks and arranges them in memory. A stack: reads it as its job says
/// and numbers the voxels in Morton order. A mesh: reads it for arrival times, or as a deck without anything else. The file appears whole or not at all: an
/// interrupted run leaves what was there before.
#[derive(Parser)]
#[command(name = "pogo-block", version = VERSION, after_help = "Examples:
  pogo-block weld.inp                        -> weld.blk
  pogo-block mesh.inp --job job.toml         a bare mesh; the job adds material, source and time
  pogo-block plate.msh --job job.toml        the same of a Gmsh or VTK mesh (.msh, .vtu, .vtk)
  pogo-block model.pogo-inp                  a model of P. Huthwaite's Pogo -> model.blk
  pogo-block mesh.inp --job job.toml --job finer.toml   the second job changes the first
  pogo-block crash.inp --ignore CONTACT --ignore PLASTIC
  pogo-block weld.inp --check                counts and problems, nothing written
  pogo-block gear.inp --partition greedy --paper-limits --json > gear.json
  pogo-block weld.inp -o weld.pogo-inp       the model for P. Huthwaite's Pogo; a deck with -o other.inp
  pogo-block bone.tif --job compression.toml a voxel stack -> bone.blk
  pogo-block sample.h5                       a file of ParOSol, with moduli and conditions of its own
  pogo-block bone.nrrd --job compression.toml --grid offset --domains 8
  pogo-block heart.npy --job tissue.toml     a lattice of masses and springs, where the job says physics = \"spring\"
  pogo-block heart.vtu --job activation.toml arrival times (Eikonal equation); heart.msh, heart.elem
  pogo-block heart.inp --job activation.toml the same of a deck, where the job says physics = \"eikonal\"
  pogo-block --upgrade weld.blk              a block file of an older version made new

The top-level key `physics` of a job chooses the physics. Without it a deck is for explicit dynamics, a stack for statics, and
a .vtu, .vtk, .msh or openCARP mesh for arrival times, or for explicit dynamics where the job has materials, sections, sources
or monitors.
All keys of a job are in examples/job-reference.toml, and in voxel-, spring- and eikonal-job-reference.toml.
Manual page: pogo-block --man | man -l -
Shell completions: pogo-block --completions bash (elvish, fish, powershell, zsh)
Exit codes: 0 done, 1 a deck, job or file cannot be used, 2 wrong command line.")]
pub struct Cli {
    /// Abaqus deck (.inp); model of P. Huthwaite's Pogo (.pogo-inp); voxel stack: TIFF, a folder of TIFF, BMP or PNG slices, npy, NRRD, MetaImage, NIfTI, AIM, ISQ, raw …;
    /// or mesh of triangles or tetrahedra: VTK (.vtu, .vtk), Gmsh (.msh), openCARP (.elem with .pts and .lon, or the name that
    /// these begin with).
    #[arg(value_name = "INPUT")]
    pub(super) input: PathBuf,
    /// TOML job: what the input does not say, or says otherwise. Repeatable; later jobs win. A stack and a mesh need a job; a
    /// file of ParOSol does not.
    #[arg(long = "job", value_name = "FILE")]
    jobs: Vec<PathBuf>,
    /// Block file to write [default: the input's name with .blk, beside it]. A name that ends in .pogo-inp or .inp asks for the
    /// model itself instead, as an input of P. Huthwaite's Pogo or as a deck.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[allow(missing_docs)] // a description would stand in the command line's help
    #[command(flatten)]
    pub physics: PhysicsOptions,
    /// Report what is in the input and what is wrong with it; write nothing.
    #[arg(long, conflicts_with = "output")]
    pub check: bool,
    /// INPUT is a block file of an older version: make it new with the command that made it, if the files that it was made from
    /// have not changed. Start it in the same folder.
    #[arg(long, conflicts_with_all = ["jobs", "output", "check"])]
    pub upgrade: bool,
    /// Print the summary as one JSON object on stdout.
    #[arg(long)]
    pub json: bool,
    #[allow(missing_docs)]
    #[command(flatten)]
    pub timing: cli::TimingOption,
    /// Print nothing but errors and warnings.
    #[arg(short, long)]
    pub quiet: bool,
    /// Memory that may be used, such as 8G or 500M: an input that needs more is an error.
    #[arg(long, value_name = "SIZE", value_parser = memory::parse_size)]
    pub memory: Option<u64>,
    /// Number of threads [default: one a core].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
}

impl Cli {
    /// The files that the arguments name.
    pub fn request(&self) -> Request {
        let output = self.output.clone().unwrap_or_else(|| self.input.with_extension("blk"));
        Request { input: self.input.clone(), jobs: self.jobs.clone(), output }
    }
}

/// The options of every physics, as they stand on the command line.
pub struct PhysicsOptions(pub ArgMatches);

impl FromArgMatches for PhysicsOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self(matches.clone()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.0 = matches.clone();
        Ok(())
    }
}

impl Args for PhysicsOptions {
    fn augment_args(command: Command) -> Command {
        room::add_arguments(&ROOMS, command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        room::add_arguments(&ROOMS, command)
    }
}
