//! The command line.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use pogo_formats::VERSION;
use pogo_tools::arrange::ArrangeOptions;
use pogo_tools::partition::{PartitionOptions, Partitioner};
use pogo_tools::pipeline::Config;

/// Turns an Abaqus deck into a block file, which pogo-solve runs.
///
/// Reads the deck, applies the jobs, cuts the mesh into blocks, arranges them in memory and writes the block file. The file
/// appears whole or not at all: an interrupted run leaves what was there before.
#[derive(Parser)]
#[command(name = "pogo-block", version = VERSION, after_help = "Examples:
  pogo-block weld.inp                        -> weld.blk
  pogo-block mesh.inp --job job.toml         a bare mesh; the job adds material, source and time
  pogo-block crash.inp --ignore CONTACT --ignore PLASTIC
  pogo-block weld.inp --check                counts and problems, nothing written
  pogo-block gear.inp --partition greedy --paper-limits --json > gear.json

All keys of a job are in examples/job-reference.toml.
Manual page: pogo-block --man | man -l -
Shell completions: pogo-block --completions bash (elvish, fish, powershell, zsh)
Exit codes: 0 done, 1 a deck, job or file cannot be used, 2 wrong command line.")]
pub struct Cli {
    /// Abaqus deck.
    #[arg(value_name = "DECK")]
    deck: PathBuf,
    /// TOML job: what the deck does not say, or says otherwise. Of several, later ones win.
    #[arg(long = "job", value_name = "FILE")]
    jobs: Vec<PathBuf>,
    /// Block file to write [default: the deck's name with .blk, beside it].
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// How to cut the mesh into blocks.
    #[arg(long, value_enum, default_value = "aligned", value_name = "METHOD")]
    partition: Method,
    /// Most nodes a block.
    #[arg(long, default_value_t = 512, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    block_nodes: u16,
    /// Split blocks until they keep the paper's limits (20 loads, 128 boundary nodes).
    #[arg(long)]
    paper_limits: bool,
    /// Leave out a keyword (or CONTACT, PLASTIC, … with all that belongs to it) although it changes the physics. Repeatable.
    #[arg(long, value_name = "KEYWORD", action = clap::ArgAction::Append)]
    ignore: Vec<String>,
    /// Report what is in the deck and what is wrong with it; write nothing.
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

impl Cli {
    pub fn config(&self) -> Config {
        Config {
            deck: self.deck.clone(),
            jobs: self.jobs.clone(),
            output: self.output.clone().unwrap_or_else(|| Config::default_output(&self.deck)),
            ignore: self.ignore.clone(),
            partition: PartitionOptions {
                partitioner: match self.partition {
                    Method::Aligned => Partitioner::Aligned,
                    Method::Greedy => Partitioner::Greedy,
                    Method::Metis => Partitioner::Metis,
                },
                capacity: self.block_nodes.into(),
                threads: 0,
            },
            arrange: ArrangeOptions { paper_limits: self.paper_limits, threads: 0 },
        }
    }
}
