//! Prints block efficiency, loads and times of every partitioner on a model, with and without the paper's limits. Of the tables
//! for devices it prints the mean number of colours of a run, and the outer nodes over all nodes.
//!
//! ```text
//! cargo run --release -p pogo-tools --example partition_report -- weld
//! cargo run --release -p pogo-tools --example partition_report -- gear --size 160e-6 --picture gear.png
//! cargo run --release -p pogo-tools --example partition_report -- model.inp --partition aligned --repeat 5
//! ```

use std::io::{Write, stdout};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Context;
use clap::Parser;
use pogo_formats::mesh::Mesh;
use pogo_formats::read::deck::{ReadOptions, read};
use pogo_tools::explicit::arrange::{ArrangeOptions, arrange_blocks};
use pogo_tools::generate::{ModelOptions, gear, geophysics, weld};
use pogo_tools::partition::{PartitionOptions, Partitioner, partition};
use pogo_tools::picture::{Parts, PictureOptions, draw};

/// Compares partitioners.
#[derive(Parser)]
struct Arguments {
    /// weld, gear, geophysics, or a deck.
    model: String,
    /// Element size of a named model, m [default: the paper's].
    #[arg(long)]
    size: Option<f64>,
    /// Only this partitioner.
    #[arg(long, value_enum)]
    partition: Option<Partitioner>,
    /// Most nodes in a block.
    #[arg(long, default_value_t = 512)]
    block_nodes: usize,
    /// Number of runs; the best time of each stage is printed.
    #[arg(long, default_value_t = 1)]
    repeat: usize,
    /// Picture of the blocks of the last partitioner.
    #[arg(long)]
    picture: Option<PathBuf>,
    /// Part of the model to draw: x0,y0,x1,y1 in m.
    #[arg(long, value_delimiter = ',', allow_hyphen_values = true)]
    window: Option<Vec<f64>>,
}

fn mesh(arguments: &Arguments) -> anyhow::Result<Mesh> {
    let options = ModelOptions { size: arguments.size, ..ModelOptions::default() };
    Ok(match arguments.model.as_str() {
        "weld" => weld(&options)?.mesh,
        "gear" => gear(&options)?.mesh,
        "geophysics" => geophysics(&options)?.mesh,
        deck => read(Path::new(deck), &ReadOptions::default())?.finish()?.0.mesh,
    })
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let mesh = mesh(&arguments)?;
    let mut out = stdout();
    writeln!(out, "{} nodes, {} elements", mesh.n_nodes(), mesh.n_elements())?;
    writeln!(
        out,
        "partitioner limits blocks      η  loads (most) linked (most)   halo beyond split  partition  arrange  tables, s  colours  outer"
    )?;
    let partitioners = match arguments.partition {
        Some(partitioner) => vec![partitioner],
        None => vec![Partitioner::Aligned, Partitioner::Greedy, Partitioner::Metis],
    };
    for partitioner in partitioners {
        let options = PartitionOptions { partitioner, capacity: arguments.block_nodes };
        for paper_limits in [false, true] {
            if paper_limits && mesh.dimension != 2 {
                continue;
            }
            let mut best = [f64::INFINITY; 3];
            let mut arranged = None;
            for _ in 0..arguments.repeat.max(1) {
                let copy = mesh.clone();
                let start = Instant::now();
                let cut = partition(&mesh.view(), &options, &|_| ())?;
                best[0] = best[0].min(start.elapsed().as_secs_f64());
                let start = Instant::now();
                let options = ArrangeOptions { paper_limits, ..ArrangeOptions::default() };
                let blocked = arrange_blocks(copy, cut, &options)?;
                best[1] = best[1].min(start.elapsed().as_secs_f64());
                let start = Instant::now();
                arranged = Some(blocked.with_device_tables(&options));
                best[2] = best[2].min(start.elapsed().as_secs_f64());
            }
            let arranged = arranged.context("at least one run")?;
            let s = &arranged.statistics;
            writeln!(
                out,
                "{:<11} {:<6} {:>6} {:.4} {:>6.2} ({:>4}) {:>6.2} ({:>4}) {:.4} {:>6} {:>5} {:>10.3} {:>8.3} {:>10.3} {:>8.2} {:.4}",
                s.partitioner,
                if paper_limits { "paper" } else { "none" },
                s.n_blocks,
                s.efficiency,
                s.mean_loads,
                s.max_loads,
                s.mean_linked_blocks,
                s.max_linked_blocks,
                s.halo_fraction,
                s.n_beyond_paper_limits,
                s.n_split,
                best[0],
                best[1],
                best[2],
                arranged.device.colour_run.len() as f64 / arranged.blocks.run_kind.len() as f64,
                arranged.device.outer_nodes.len() as f64 / arranged.mesh.n_nodes() as f64
            )?;
            if let (Some(path), false) = (&arguments.picture, paper_limits) {
                let window = arguments.window.as_ref().and_then(|w| <[f64; 4]>::try_from(w.as_slice()).ok());
                let options = PictureOptions { window, ..PictureOptions::default() };
                let blocks = arranged.blocks.view();
                let parts = Parts { first: blocks.node_first, halo: &|block| blocks.halo(block) };
                draw(&arranged.mesh.view(), &parts, path, ("", "block"), &options)?;
            }
        }
    }
    Ok(())
}
