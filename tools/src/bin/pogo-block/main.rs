//! `pogo-block`: makes a block file of a deck, a voxel stack or a mesh and TOML jobs.

mod arguments;
mod progress;

use std::io::{IsTerminal, Write};

use arguments::Cli;
use pogo_formats::system::memory;
use pogo_tools::prepare::Progress;
use pogo_tools::{ROOMS, cli, room};

/// So that a process without memory ends with a message.
#[global_allocator]
static ALLOCATOR: memory::Watched = memory::Watched;

fn main() {
    cli::run(|cli: Cli| prepare(&cli));
}

/// True unless the input has problems, which have then been printed.
fn prepare(cli: &Cli) -> anyhow::Result<bool> {
    let _timing = cli.timing.start();
    cli::start_threads(cli.threads.map(usize::from))?;
    let reporter: Box<dyn Progress> = match (cli.quiet, std::io::stderr().is_terminal()) {
        (true, _) => Box::new(()),
        (false, true) => Box::new(progress::Bar::new()),
        (false, false) => Box::new(progress::Lines::new()),
    };
    let (request, options) = (cli.request(), &cli.physics.0);
    cli::clean_up_beside(&request.output)?;
    memory::tell_of_no_memory(&request.input);
    if let Some(bytes) = cli.memory {
        memory::hold(bytes);
    }
    let physics = room::choose(&ROOMS, &request.input, &request.jobs)?;
    room::check_options(&ROOMS, physics, &request.input, options)?;
    let report = match cli.check {
        true => physics.check(&request, options, &*reporter),
        false => physics.prepare(&request, options, &*reporter),
    }?;
    drop(reporter);
    // A warning is a likely mistake: whoever wants no progress and no figures still has to know of it.
    let notes = report.remarks.notes.iter().filter(|_| !cli.quiet);
    let mut stderr = std::io::stderr().lock();
    for message in report.problems.iter().chain(&report.remarks.warnings).chain(notes) {
        // A log that cannot be written is no reason to fail.
        let _ = writeln!(stderr, "{message}");
    }
    if cli.json {
        cli::write_stdout(format!("{}\n", report.json).as_bytes())?;
    } else if !cli.quiet {
        cli::write_stdout(report.text.as_bytes())?;
    }
    Ok(report.ok)
}
