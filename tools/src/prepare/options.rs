//! Options of `pogo-block` that several kinds of physics take.

use clap::{Args, ValueEnum};
use pogo_formats::read::deck::ReadOptions;
use pogo_formats::read::deck::pogo::{PogoOptions, ShearOrder};

use crate::cli::word;

/// Options for what is read from a deck.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub struct DeckOptions {
    /// Leave out a keyword or a type of elements although it changes the physics; CONTACT, PLASTIC and the like stand for all
    /// keywords of their kind, NO-SECTION for elements that no section names, LATER-STEPS for all steps but the first.
    /// Repeatable.
    #[arg(long, value_name = "KEYWORD", action = clap::ArgAction::Append)]
    pub ignore: Vec<String>,
    /// Split second-order elements (C3D10, C3D15, C3D20, CPE6, CPE8, CPS6, CPS8 and their kin, and those of Gmsh and VTK) into
    /// linear ones of half their edges.
    #[arg(long)]
    pub split_second_order: bool,
}

impl DeckOptions {
    /// The options as on a command line.
    pub fn command_line(&self) -> impl Iterator<Item = String> {
        let split = self.split_second_order.then(|| "--split-second-order".to_owned());
        self.ignore.iter().map(|keyword| format!("--ignore {keyword}")).chain(split)
    }

    /// As the readers of decks and meshes take them.
    pub fn reader(&self) -> ReadOptions {
        let (ignore, split_second_order) = (self.ignore.clone(), self.split_second_order);
        ReadOptions { ignore, split_second_order, ..ReadOptions::default() }
    }
}

/// Options for what a .pogo-inp file leaves open.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub struct PogoFileOptions {
    /// Order of the shear constants in materials of types 1 to 3 of a .pogo-inp file.
    #[arg(long, value_enum, default_value = "abaqus", value_name = "ORDER")]
    pub pogo_shear_order: ShearWord,
    /// Number of the first node in ties of a .pogo-inp file [default: that with which tied nodes coincide].
    #[arg(long, value_name = "0|1", value_parser = clap::value_parser!(u8).range(0..=1))]
    pub pogo_tie_base: Option<u8>,
    /// Meaning of the orientations of anisotropic materials in a .pogo-inp file; it is not public, so they are refused without
    /// this option.
    #[arg(long, value_enum, value_name = "MEANING")]
    pub pogo_orientations: Option<OrientationWord>,
}

/// Order of the shear constants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum ShearWord {
    /// 12, 13, 23
    #[default]
    Abaqus,
    /// 23, 13, 12, as BristolFE writes them
    Voigt,
}

/// What orientations mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OrientationWord {
    /// The values of *ORIENTATION: vectors a and b, perhaps an axis and an angle in degrees
    Abaqus,
}

impl PogoFileOptions {
    /// The options as on a command line, as far as they are not the defaults.
    pub fn command_line(&self) -> impl Iterator<Item = String> {
        let order = (self.pogo_shear_order != ShearWord::default())
            .then(|| format!("--pogo-shear-order {}", word(&self.pogo_shear_order)));
        let base = self.pogo_tie_base.map(|base| format!("--pogo-tie-base {base}"));
        let orientations = self.pogo_orientations.map(|meaning| format!("--pogo-orientations {}", word(&meaning)));
        [order, base, orientations].into_iter().flatten()
    }

    /// As the reader takes them.
    pub fn reader(&self) -> PogoOptions {
        PogoOptions {
            shear_order: match self.pogo_shear_order {
                ShearWord::Abaqus => ShearOrder::Abaqus,
                ShearWord::Voigt => ShearOrder::Voigt,
            },
            tie_base: self.pogo_tie_base,
            abaqus_orientations: self.pogo_orientations.is_some(),
        }
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
