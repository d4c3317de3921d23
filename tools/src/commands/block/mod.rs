//! `pogo-block`: makes a block file of a deck, a voxel stack or a mesh and TOML jobs.

mod arguments;
mod progress;
mod upgrade;

use std::ffi::OsString;
use std::io::IsTerminal;

use pogo_formats::system::memory;
use pogo_formats::system::messages::say;

use crate::prepare::{PrepareError, Progress, Report};
use crate::{ROOMS, cli, room};
pub use arguments::{Cli, PhysicsOptions};

/// Runs the command; the first argument is its name. Gives the exit code.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> i32 {
    cli::run(arguments, |cli: Cli| start(&cli))
}

impl Cli {
    /// Makes the block file, or with `--check` reports. Prints nothing.
    ///
    /// # Errors
    /// See [`PrepareError`].
    pub fn prepare(&self, progress: &dyn Progress) -> Result<Report, PrepareError> {
        let (request, options) = (self.request(), &self.physics.0);
        let physics = room::choose(&ROOMS, &request.input, &request.jobs)?;
        room::check_options(&ROOMS, physics, &request.input, options)?;
        match self.check {
            true => physics.check(&request, options, progress),
            false => physics.prepare(&request, options, progress),
        }
    }
}

/// Makes what is asked for, or with `--upgrade` what was asked for before.
fn start(cli: &Cli) -> anyhow::Result<bool> {
    let _timing = cli.timing.start();
    cli::start_threads(cli.threads.map(usize::from))?;
    if !cli.upgrade {
        return prepare(cli);
    }
    match upgrade::command(cli)? {
        Some(again) => prepare(&again),
        None if cli.quiet || cli.json => Ok(true),
        None => {
            let text = format!("{}: is of this version already\n", cli.input.display());
            cli::write_stdout(text.as_bytes()).map(|()| true).map_err(Into::into)
        }
    }
}

/// True unless the input has problems, which have then been printed.
fn prepare(cli: &Cli) -> anyhow::Result<bool> {
    let reporter: Box<dyn Progress> = match (cli.quiet, std::io::stderr().is_terminal()) {
        (true, _) => Box::new(()),
        (false, true) => Box::new(progress::Bar::new()),
        (false, false) => Box::new(progress::Lines::new()),
    };
    let request = cli.request();
    cli::clean_up_beside(&request.output)?;
    memory::tell_of_no_memory(&request.input);
    if let Some(bytes) = cli.memory {
        memory::hold(bytes);
    }
    let report = cli.prepare(&*reporter)?;
    drop(reporter);
    // A warning is a likely mistake: whoever wants no progress and no figures still has to know of it.
    let notes = report.remarks.notes.iter().filter(|_| !cli.quiet);
    for message in report.problems.iter().chain(&report.remarks.warnings).chain(notes) {
        say(message);
    }
    if cli.json {
        cli::write_stdout(format!("{}\n", report.json).as_bytes())?;
    } else if !cli.quiet {
        cli::write_stdout(report.text.as_bytes())?;
    }
    Ok(report.ok)
}
