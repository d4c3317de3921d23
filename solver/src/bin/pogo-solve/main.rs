//! `pogo-solve`: maps a block file and runs it.

mod args;
mod processes;
mod progress;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use pogo_formats::system::{inputs, maps, memory, threads};
use pogo_formats::{exit_code, timings};
use pogo_solver::interrupt::Interrupts;
use pogo_solver::observe::{Observer, Silent};

use args::Args;
use progress::Report;

/// So that a process without memory ends with a message.
#[global_allocator]
static ALLOCATOR: memory::Watched = memory::Watched;

fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return said(&error),
    };
    match run(&args) {
        Ok(code) => ExitCode::from(code as u8),
        // The reader of a pipe has seen enough.
        Err(error) if error.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe) => {
            ExitCode::SUCCESS
        }
        Err(error) => {
            // Not the chain of causes: every message holds its own.
            let stdout = if error.is::<io::Error>() { "error: cannot write to stdout: " } else { "" };
            let _ = writeln!(io::stderr(), "{stdout}{error}");
            ExitCode::from(exit_code::BAD_INPUT as u8)
        }
    }
}

/// Prints what clap has to say: help and version are no success where they could not be written.
fn said(error: &clap::Error) -> ExitCode {
    match error.print() {
        Err(failed) if !error.use_stderr() && failed.kind() != io::ErrorKind::BrokenPipe => {
            let _ = writeln!(io::stderr(), "error: cannot write to stdout: {failed}");
            ExitCode::from(exit_code::BAD_INPUT as u8)
        }
        _ => ExitCode::from(error.exit_code() as u8),
    }
}

fn run(args: &Args) -> anyhow::Result<i32> {
    let mut stdout = io::stdout().lock();
    let mut command = Args::command();
    if let Some(shell) = args.completions {
        let mut text = Vec::new();
        clap_complete::generate(shell, &mut command, "pogo-solve", &mut text);
        stdout.write_all(&text)?;
        return Ok(0);
    }
    if args.man {
        clap_mangen::Man::new(command).render(&mut stdout)?;
        return Ok(0);
    }
    if args.timings {
        timings::record();
    }
    inputs::protect();
    maps::tell_of_cut_files().map_err(|error| anyhow::anyhow!("error: cannot catch signals: {error}"))?;
    // Before there are threads.
    memory::share_one_heap();
    let mut config = args.config();
    memory::tell_of_no_memory(&config.block_file);
    let alone = threads::start(config.settings.threads).map_err(|error| anyhow::anyhow!("error: {error}"))?;
    if let Some(reason) = alone {
        config.settings.threads = Some(1);
        if !args.quiet {
            let _ = writeln!(io::stderr(), "note: going on with one thread, as the system starts no more: {reason}");
        }
    }
    let interrupts = Interrupts::install().map_err(|error| anyhow::anyhow!("error: cannot catch signals: {error}"))?;
    let processes = processes::join()?;
    // Progress and messages come once.
    let leads = processes.as_ref().is_none_or(|ranks| ranks.leads());
    let (mut report, mut silent) = (Report::default(), Silent);
    let observer: &mut dyn Observer = if args.quiet || !leads { &mut silent } else { &mut report };
    let outcome = pogo_solver::solve_with(processes.as_ref(), &config, &interrupts, observer);
    if !leads {
        return Ok(outcome.map_or(exit_code::BAD_INPUT, |_| 0));
    }
    // A log that cannot be written is no reason to fail.
    let _ = io::stderr().write_all(timings::text().as_bytes());
    let outcome = outcome?;
    if args.quiet {
        // A report says it by itself.
        for problem in outcome.problems() {
            let _ = writeln!(io::stderr(), "{problem}");
        }
    }
    if args.json {
        stdout.write_all(outcome.json().as_bytes())?;
        stdout.flush()?;
    }
    Ok(outcome.exit_code())
}
