//! The command as a whole: its options, and what it does with them.
//!
//! [`run`] is the program: it prints, catches signals, sets up threads and gives the exit code. The executable in `bin/`
//! calls it, and so does the command that the Python package installs.

mod args;
mod processes;
mod progress;

use std::ffi::OsString;
use std::io::{self, Write};
use std::time::Duration;

use clap::{CommandFactory, Parser};
use pogo_formats::system::messages::say;
use pogo_formats::system::{inputs, maps, memory, threads};
use pogo_formats::{exit_code, timings};

use crate::interrupt::Interrupts;
use crate::observe::{Observer, Silent};
pub use args::Args;
use progress::Report;

/// Runs the command; the first argument is its name. Gives the exit code.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> i32 {
    let words: Vec<OsString> = arguments.into_iter().collect();
    let args = match Args::try_parse_from(&words) {
        Ok(args) => args,
        Err(error) => return said(&error),
    };
    match solve(&args, &words) {
        Ok(code) => code,
        // The reader of a pipe has seen enough.
        Err(error) if error.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe) => 0,
        Err(error) => {
            // Not the chain of causes: every message holds its own.
            let stdout = if error.is::<io::Error>() { "error: cannot write to stdout: " } else { "" };
            say(format_args!("{stdout}{error}"));
            exit_code::BAD_INPUT
        }
    }
}

/// How long another process waits after an error, until rank 0 has told it.
const TIME_TO_SAY_WHY: Duration = Duration::from_millis(500);

/// Prints what clap has to say: help and version are no success where they could not be written.
fn said(error: &clap::Error) -> i32 {
    match error.print().and_then(|()| io::stdout().flush()) {
        Err(failed) if !error.use_stderr() && failed.kind() != io::ErrorKind::BrokenPipe => {
            say(format_args!("error: cannot write to stdout: {failed}"));
            exit_code::BAD_INPUT
        }
        _ => error.exit_code(),
    }
}

fn solve(args: &Args, words: &[OsString]) -> anyhow::Result<i32> {
    let mut stdout = io::stdout().lock();
    let mut command = Args::command();
    if let Some(shell) = args.completions {
        let mut text = Vec::new();
        clap_complete::generate(shell, &mut command, "pogo-solve", &mut text);
        stdout.write_all(&text)?;
        stdout.flush()?;
        return Ok(0);
    }
    if args.man {
        clap_mangen::Man::new(command).render(&mut stdout)?;
        stdout.flush()?;
        return Ok(0);
    }
    if args.timings {
        timings::record();
    }
    memory::own_process();
    inputs::protect();
    maps::tell_of_cut_files().map_err(|error| anyhow::anyhow!("error: cannot catch signals: {error}"))?;
    let mut config = args.config();
    // Before there are threads.
    memory::share_heaps(config.settings.n_threads());
    config.command = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    memory::tell_of_no_memory(&config.block_file);
    let alone = threads::start(config.settings.threads).map_err(|error| anyhow::anyhow!("error: {error}"))?;
    if let Some(reason) = alone {
        config.settings.threads = Some(1);
        if !args.quiet {
            say(format_args!("note: going on with one thread, as the system starts no more: {reason}"));
        }
    }
    let interrupts = Interrupts::install().map_err(|error| anyhow::anyhow!("error: cannot catch signals: {error}"))?;
    let processes = processes::join()?;
    // Progress and messages come once.
    let leads = processes.as_ref().is_none_or(|ranks| ranks.leads());
    let (mut report, mut silent) = (Report::default(), Silent);
    let observer: &mut dyn Observer = if args.quiet || !leads { &mut silent } else { &mut report };
    let outcome = crate::solve_with(processes.as_ref(), &config, &interrupts, observer);
    if !leads {
        if outcome.is_err() {
            // A launcher ends all processes when the first has failed. Rank 0 says why.
            std::thread::sleep(TIME_TO_SAY_WHY);
        }
        return Ok(outcome.map_or(exit_code::BAD_INPUT, |_| 0));
    }
    // A log that cannot be written is no reason to fail.
    let _ = io::stderr().write_all(timings::text().as_bytes());
    let outcome = outcome?;
    if args.quiet {
        // A report says it by itself.
        for problem in outcome.problems() {
            say(problem);
        }
    }
    if args.json {
        stdout.write_all(outcome.json().as_bytes())?;
        stdout.flush()?;
    }
    Ok(outcome.exit_code())
}
