//! Options of `pogo-block` that several kinds of physics take.

use clap::{Args, ValueEnum};

use crate::cli::word;

/// Options for what is read from a deck.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub struct DeckOptions {
    /// Leave out a keyword or a type of elements although it changes the physics; CONTACT, PLASTIC and the like stand for all
    /// keywords of their kind, NO-SECTION for elements that no section names, LATER-STEPS for all steps but the first.
    /// Repeatable.
    #[arg(long, value_name = "KEYWORD", action = clap::ArgAction::Append)]
    pub ignore: Vec<String>,
}

impl DeckOptions {
    /// The options as on a command line.
    pub fn command_line(&self) -> impl Iterator<Item = String> {
        self.ignore.iter().map(|keyword| format!("--ignore {keyword}"))
    }
}

/// Options for the size of blocks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub struct BlockOptions {
    /// Most nodes in a block [default: 512]; of springs the particles in a block, a multiple of 32.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub block_nodes: Option<u16>,
}

/// How nodes or bricks are cut into sub-domains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum DomainMethod {
    /// Contiguous ranges of the Morton order
    #[default]
    Morton,
    /// Layers that follow the boundary
    Aligned,
    /// Growth from a seed
    Greedy,
    /// The METIS library
    Metis,
}

/// Options for sub-domains.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct DomainOptions {
    /// Number of sub-domains to cut a voxel model or an Eikonal mesh into.
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub domains: u16,
    /// How to cut sub-domains. Aligned and greedy are for Eikonal meshes only and may make a few more than asked for.
    #[arg(long, value_enum, default_value = "morton", value_name = "METHOD")]
    pub domain_partition: DomainMethod,
}

impl DomainOptions {
    /// The options as on a command line.
    pub fn command_line(&self) -> [String; 2] {
        [format!("--domains {}", self.domains), format!("--domain-partition {}", word(&self.domain_partition))]
    }
}
