//! The command line.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use pogo_formats::VERSION;
use pogo_formats::job::{self, Physics};
use pogo_formats::read::mesh::is_mesh_file;
use pogo_formats::spring::build::BLOCK_SIZE;
use pogo_tools::eikonal::EikonalMethod;
use pogo_tools::eikonal::prepare::EikonalConfig;
use pogo_tools::explicit::arrange::ArrangeOptions;
use pogo_tools::explicit::prepare::Config;
use pogo_tools::partition::{PartitionOptions, Partitioner};
use pogo_tools::prepare::is_deck;
use pogo_tools::spring::prepare::SpringConfig;
use pogo_tools::voxel::prepare::VoxelConfig;
use pogo_tools::voxel::{DomainMethod, GridKind};

/// Turns a deck, a voxel stack or a mesh into a block file, which pogo-solve runs.
///
/// Reads a deck, applies the jobs, cuts the mesh into blocks and arranges them in memory; or reads a stack as its job says and
/// numbers the voxels in Morton order; or reads a mesh for arrival times; and writes the block file. A job with physics =
/// "eikonal" asks for arrival times on a deck's mesh too; .vtu, .vtk, .msh and openCARP files are always for them. The file appears whole or not at all: an interrupted run
/// leaves what was there before.
#[derive(Parser)]
#[command(name = "pogo-block", version = VERSION, after_help = "Examples:
  pogo-block weld.inp                        -> weld.blk
  pogo-block mesh.inp --job job.toml         a bare mesh; the job adds material, source and time
  pogo-block crash.inp --ignore CONTACT --ignore PLASTIC
  pogo-block weld.inp --check                counts and problems, nothing written
  pogo-block gear.inp --partition greedy --paper-limits --json > gear.json
  pogo-block bone.tif --job compression.toml a voxel stack -> bone.blk
  pogo-block bone.nrrd --job compression.toml --grid offset --domains 8
  pogo-block heart.npy --job tissue.toml     a lattice of masses and springs, where the job says physics = \"spring\"
  pogo-block heart.vtu --job activation.toml arrival times (Eikonal equation); heart.msh, heart.elem
  pogo-block heart.inp --job activation.toml the same of a deck: the job says physics = \"eikonal\"

The top-level key `physics` of a job chooses: \"spring\" (stack or deck) or \"eikonal\". Without it a deck is explicit
dynamics, a stack statics, and a .vtu, .vtk, .msh or openCARP mesh is for arrival times.
All keys of a job are in examples/job-reference.toml, and in voxel-, spring- and eikonal-job-reference.toml.
Manual page: pogo-block --man | man -l -
Shell completions: pogo-block --completions bash (elvish, fish, powershell, zsh)
Exit codes: 0 done, 1 a deck, job or file cannot be used, 2 wrong command line.")]
pub struct Cli {
    /// Abaqus deck (.inp); a voxel stack: TIFF, a folder of TIFF, BMP or PNG slices, npy, NRRD, MetaImage, NIfTI, AIM, ISQ, raw …; or a mesh of
    /// triangles or tetrahedra: VTK (.vtu, .vtk), Gmsh (.msh), openCARP (.elem with .pts and .lon; or the name that these begin with).
    #[arg(value_name = "INPUT")]
    input: PathBuf,
    /// TOML job: what a deck does not say, or says otherwise; of several, later ones win. A stack and a mesh need one job.
    #[arg(long = "job", value_name = "FILE")]
    jobs: Vec<PathBuf>,
    /// Block file to write [default: the input's name with .blk, beside it].
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// How to cut the mesh of a deck into blocks.
    #[arg(long, value_enum, default_value = "aligned", value_name = "METHOD")]
    partition: Method,
    /// Most nodes a block [default: 512]; of springs particles a block, a multiple of 32.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    block_nodes: Option<u16>,
    /// Split blocks until they keep the paper's limits (20 loads, 128 boundary nodes).
    #[arg(long)]
    paper_limits: bool,
    /// Leave out a keyword (or CONTACT, PLASTIC, … with all that belongs to it) although it changes the physics. Repeatable.
    #[arg(long, value_name = "KEYWORD", action = clap::ArgAction::Append)]
    ignore: Vec<String>,
    /// How the nodes of a voxel are found: by bricks alone, or with the tables of the papers too.
    #[arg(long, value_enum, default_value = "brick", value_name = "KIND")]
    grid: Grid,
    /// Tables of a hash, a power of two; 1 is the papers' single hash [default: one for some 32,000 nodes].
    #[arg(long, value_name = "N", value_parser = tables)]
    hash_tables: Option<u32>,
    /// Sub-domains to cut a voxel model or an Eikonal mesh into.
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    domains: u16,
    /// How to cut sub-domains. Aligned and greedy (Eikonal meshes only) may make a few more than asked for.
    #[arg(long, value_enum, default_value = "morton", value_name = "METHOD")]
    domain_partition: DomainPartition,
    /// Report what is in the input and what is wrong with it; write nothing.
    #[arg(long, conflicts_with = "output")]
    pub check: bool,
    /// Print the summary as one JSON object on stdout.
    #[arg(long)]
    pub json: bool,
    /// Print nothing but errors.
    #[arg(short, long)]
    pub quiet: bool,
    /// Threads [default: one a core].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Method {
    /// Layers that follow the boundary: fullest blocks
    Aligned,
    /// Growth from a seed: fastest
    Greedy,
    /// The METIS library
    Metis,
}

#[derive(Clone, Copy, ValueEnum)]
enum Grid {
    /// Bricks of 8 × 8 × 8: least memory
    Brick,
    /// Offsets from the first node, in 8, 16 or 32 bits
    Offset,
    /// Perfect spatial hash
    Hash,
}

#[derive(Clone, Copy, ValueEnum)]
enum DomainPartition {
    /// Contiguous ranges of the Morton order
    Morton,
    /// Layers that follow the boundary
    Aligned,
    /// Growth from a seed
    Greedy,
    /// The METIS library
    Metis,
}

/// What a block file is made of.
#[derive(Clone, Copy, PartialEq)]
pub enum Model {
    Deck,
    Stack,
    Eikonal,
    Springs,
}

fn tables(text: &str) -> Result<u32, String> {
    let n = text.parse::<u32>().ok().filter(|n| n.is_power_of_two() && *n <= 1 << 20);
    n.ok_or_else(|| "expected a power of two up to 1048576".into())
}

impl Cli {
    /// What is to be computed: the last job that says it, or the kind of the input.
    pub fn model(&self) -> anyhow::Result<Model> {
        Ok(match job::physics(&self.jobs)? {
            Some(Physics::Eikonal) => Model::Eikonal,
            Some(Physics::Spring) => Model::Springs,
            None if is_mesh_file(&self.input) => Model::Eikonal,
            None if is_deck(&self.input) => Model::Deck,
            None => match self.input.metadata() {
                Err(error) => anyhow::bail!("{}: error: cannot be read: {error}", self.input.display()),
                Ok(_) => Model::Stack,
            },
        })
    }

    /// Refuses options that do nothing for a model; `given` says by its id whether an option is on the command line.
    pub fn check_options(&self, model: Model, given: impl Fn(&str) -> bool) -> anyhow::Result<()> {
        use Model::{Deck, Eikonal, Springs, Stack};
        let options: [(&str, &[Model], &str); 8] = [
            ("partition", &[Deck], "explicit dynamics"),
            ("paper_limits", &[Deck], "explicit dynamics"),
            ("block_nodes", &[Deck, Springs], "explicit dynamics, and masses and springs"),
            ("ignore", &[Deck, Eikonal, Springs], "decks"),
            ("grid", &[Stack], "voxel statics"),
            ("hash_tables", &[Stack], "voxel statics"),
            ("domains", &[Stack, Eikonal], "voxel statics and arrival times"),
            ("domain_partition", &[Stack, Eikonal], "voxel statics and arrival times"),
        ];
        anyhow::ensure!(
            self.hash_tables.is_none() || matches!(self.grid, Grid::Hash) || model != Stack,
            "{}: error: --hash-tables goes with --grid hash",
            self.input.display()
        );
        match options.iter().find(|(id, models, _)| given(id) && !models.contains(&model)) {
            None => Ok(()),
            Some((id, _, physics)) => {
                let option = id.replace('_', "-");
                anyhow::bail!("{}: error: --{option} is for {physics} only; leave it out", self.input.display())
            }
        }
    }

    pub fn eikonal_config(&self) -> anyhow::Result<EikonalConfig> {
        if let [_, second, ..] = self.jobs.as_slice() {
            anyhow::bail!("{}: error: an Eikonal model takes one job", second.display());
        }
        Ok(EikonalConfig {
            mesh: self.input.clone(),
            job: self.jobs.first().cloned(),
            output: self.output(),
            ignore: self.ignore.clone(),
            domains: self.domains.into(),
            method: match self.domain_partition {
                DomainPartition::Morton => EikonalMethod::Morton,
                DomainPartition::Aligned => EikonalMethod::Aligned,
                DomainPartition::Greedy => EikonalMethod::Greedy,
                DomainPartition::Metis => EikonalMethod::Metis,
            },
        })
    }

    pub fn output(&self) -> PathBuf {
        self.output.clone().unwrap_or_else(|| Config::default_output(&self.input))
    }

    /// The first job, for messages.
    pub fn first_job(&self) -> String {
        self.jobs.first().map_or(String::new(), |job| job.display().to_string())
    }

    pub fn spring_config(&self) -> anyhow::Result<SpringConfig> {
        let (Some(job), None) = (self.jobs.first(), self.jobs.get(1)) else {
            anyhow::bail!("{}: error: a mass-spring-damper model takes one job", self.first_job());
        };
        let block_size = self.block_nodes.map_or(BLOCK_SIZE, usize::from);
        anyhow::ensure!(
            block_size.is_multiple_of(32) && block_size <= 16_384,
            "error: --block-nodes {block_size}: blocks of springs have a multiple of 32 particles, at most 16384"
        );
        Ok(SpringConfig {
            input: self.input.clone(),
            job: job.clone(),
            output: self.output(),
            ignore: self.ignore.clone(),
            block_size,
        })
    }

    pub fn voxel_config(&self) -> anyhow::Result<VoxelConfig> {
        if let [_, second, ..] = self.jobs.as_slice() {
            anyhow::bail!("{}: error: a voxel stack takes one job", second.display());
        }
        Ok(VoxelConfig {
            stack: self.input.clone(),
            job: self.jobs.first().cloned(),
            output: self.output(),
            grid: match self.grid {
                Grid::Brick => GridKind::Brick,
                Grid::Offset => GridKind::Offset,
                Grid::Hash => GridKind::Hash,
            },
            hash_tables: self.hash_tables.map(|n| n as usize),
            domains: self.domains.into(),
            domain_method: match self.domain_partition {
                DomainPartition::Morton => DomainMethod::Morton,
                DomainPartition::Metis => DomainMethod::Metis,
                DomainPartition::Aligned | DomainPartition::Greedy => {
                    anyhow::bail!("error: a voxel model is cut by --domain-partition morton or metis")
                }
            },
        })
    }

    pub fn config(&self) -> Config {
        Config {
            deck: self.input.clone(),
            jobs: self.jobs.clone(),
            output: self.output(),
            ignore: self.ignore.clone(),
            partition: PartitionOptions {
                partitioner: match self.partition {
                    Method::Aligned => Partitioner::Aligned,
                    Method::Greedy => Partitioner::Greedy,
                    Method::Metis => Partitioner::Metis,
                },
                capacity: self.block_nodes.unwrap_or(512).into(),
                threads: 0,
            },
            arrange: ArrangeOptions { paper_limits: self.paper_limits, ..ArrangeOptions::default() },
        }
    }
}
