//! Reads a deck and says how fast: `cargo run --release -p pogo-formats --example read_deck -- deck.inp [--ignore KEYWORD]…`
//!
//! With `--make N deck.inp` it first writes a deck of about N nodes and 2 N triangles.

use std::error::Error;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use pogo_formats::read::deck::{ReadOptions, read};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let mut options = ReadOptions::default();
    let mut deck = None;
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--ignore" => options.ignore.extend(args.next()),
            "--job" => options.job_sets_time = true,
            "--make" => {
                let n = args.next().ok_or("--make takes a number of nodes")?.parse()?;
                let path = args.next().ok_or("--make takes a file")?;
                make(n, Path::new(&path))?;
                deck = Some(path);
            }
            _ => deck = Some(arg),
        }
    }
    let deck = deck.ok_or("which deck?")?;
    let mut out = std::io::stdout().lock();
    let start = Instant::now();
    let deck = read(Path::new(&deck), &options)?;
    let (bytes, read_time) = (deck.report.bytes as f64, start.elapsed().as_secs_f64());
    for note in &deck.notes {
        writeln!(out, "{note}")?;
    }
    let mesh = &deck.mesh;
    writeln!(out, "{} nodes, {} elements, {} dimensions", mesh.n_nodes(), mesh.n_elements(), mesh.dimension)?;
    writeln!(out, "read: {read_time:.3} s, {:.0} MB/s", bytes / read_time / 1e6)?;
    let start = Instant::now();
    let (model, _) = deck.finish()?;
    writeln!(out, "finish: {:.3} s, {} nodes kept", start.elapsed().as_secs_f64(), model.mesh.n_nodes())?;
    Ok(())
}

/// A jittered square of right triangles.
fn make(n_nodes: usize, path: &Path) -> Result<(), Box<dyn Error>> {
    let side = (n_nodes as f64).sqrt() as usize;
    let mut out = BufWriter::new(std::fs::File::create(path)?);
    writeln!(out, "*Heading\n generated\n*Node")?;
    let mut state = 1u64;
    let mut jitter = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 40) as f64 / (1u64 << 24) as f64 * 0.3
    };
    for j in 0..side {
        for i in 0..side {
            let (x, y) = ((i as f64 + jitter()) * 1e-4, (j as f64 + jitter()) * 1e-4);
            writeln!(out, "{:7}, {x:.12}, {y:.12}", j * side + i + 1)?;
        }
    }
    writeln!(out, "*Element, type=CPE3, elset=ALL")?;
    let mut label = 0;
    for j in 0..side - 1 {
        for i in 0..side - 1 {
            let a = j * side + i + 1;
            writeln!(out, "{:7}, {a:7}, {:7}, {:7}", label + 1, a + 1, a + side + 1)?;
            writeln!(out, "{:7}, {a:7}, {:7}, {:7}", label + 2, a + side + 1, a + side)?;
            label += 2;
        }
    }
    writeln!(
        out,
        "*Material, name=STEEL\n*Density\n7800.,\n*Elastic\n2.1e11, 0.3\n*Solid Section, elset=ALL, material=STEEL\n,"
    )?;
    writeln!(out, "*Step, nlgeom=NO\n*Dynamic, Explicit\n, 1e-5\n*End Step")?;
    out.flush()?;
    Ok(())
}
