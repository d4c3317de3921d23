//! `pogo-block`: makes a block file of an Abaqus deck and, perhaps, TOML jobs.

mod interrupt;
mod progress;

use std::io::{IsTerminal, Write};
use std::path::PathBuf;

use clap::{CommandFactory, Parser, ValueEnum};
use pogo_formats::{VERSION, exit_code};
use pogo_tools::arrange::ArrangeOptions;
use pogo_tools::cli;
use pogo_tools::partition::{PartitionOptions, Partitioner};
use pogo_tools::pipeline::{self, Config, Progress};

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
Exit codes: 0 done, 1 a deck, job or file cannot be used, 2 wrong command line.")]
struct Cli {
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
    check: bool,
    /// Print the summary as one JSON object on stdout.
    #[arg(long)]
    json: bool,
    /// Print nothing but errors.
    #[arg(short, long)]
    quiet: bool,
    /// Threads [default: one a core].
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    threads: usize,
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

fn main() {
    let result = match cli::helper(Cli::command(), std::env::args_os()) {
        Some(text) => cli::write_stdout(&text).map(|()| true).map_err(Into::into),
        None => run(&Cli::parse()),
    };
    std::process::exit(match result {
        Ok(true) => 0,
        Ok(false) => exit_code::BAD_INPUT,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "{error:#}");
            exit_code::BAD_INPUT
        }
    });
}

/// True when all is well; problems that are not errors of the program itself have been printed.
fn run(cli: &Cli) -> anyhow::Result<bool> {
    let config = Config {
        deck: cli.deck.clone(),
        jobs: cli.jobs.clone(),
        output: cli.output.clone().unwrap_or_else(|| Config::default_output(&cli.deck)),
        ignore: cli.ignore.clone(),
        partition: PartitionOptions {
            partitioner: match cli.partition {
                Method::Aligned => Partitioner::Aligned,
                Method::Greedy => Partitioner::Greedy,
                Method::Metis => Partitioner::Metis,
            },
            capacity: cli.block_nodes.into(),
            threads: 0,
        },
        arrange: ArrangeOptions { paper_limits: cli.paper_limits, threads: 0 },
    };
    let reporter: Box<dyn Progress> = match (cli.quiet, std::io::stderr().is_terminal()) {
        (true, _) => Box::new(()),
        (false, true) => Box::new(progress::Bar::new()),
        (false, false) => Box::new(progress::Lines::new()),
    };
    interrupt::clean_up_after(&config.output)?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(cli.threads).build()?;
    let (ok, text, json, messages) = if cli.check {
        let report = pool.install(|| pipeline::check(&config, &*reporter));
        // Problems are errors: they are printed even with --quiet.
        let problems = report.problems.iter();
        let remarks = report.warnings.iter().chain(&report.notes).filter(|_| !cli.quiet);
        let messages: Vec<String> = problems.chain(remarks).cloned().collect();
        (report.ok, report.to_string(), serde_json::to_string_pretty(&report)?, messages)
    } else {
        let summary = pool.install(|| pipeline::run(&config, &*reporter))?;
        let remarks = summary.warnings.iter().chain(&summary.notes).filter(|_| !cli.quiet);
        (true, summary.to_string(), serde_json::to_string_pretty(&summary)?, remarks.cloned().collect())
    };
    drop(reporter);
    let mut stderr = std::io::stderr().lock();
    for message in messages {
        // A log that went away is no reason to fail.
        let _ = writeln!(stderr, "{message}");
    }
    if cli.json {
        cli::write_stdout(format!("{json}\n").as_bytes())?;
    } else if !cli.quiet {
        cli::write_stdout(text.as_bytes())?;
    }
    Ok(ok)
}
