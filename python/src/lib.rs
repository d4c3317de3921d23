//! `pogo._pogo`: Pogo's commands as functions of Python, and as programs.
//!
//! Each function takes the words of a command line, so that there is one list of options, and gives what the command would
//! print. The work is done on a thread of its own without the interpreter's lock.

mod apart;
mod deck;
mod failure;
mod held;
mod watch;

use pyo3::prelude::*;

/// Pogo's commands.
#[pymodule]
mod _pogo {
    use std::ffi::OsString;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use clap::Parser;
    use pogo_formats::system::{memory, threads};
    use pogo_solver::command::Args;
    use pogo_solver::interrupt::Interrupts;
    use pogo_tools::commands::{block as block_command, generate as generate_command, info as info_command};
    use pyo3::exceptions::PyValueError;
    use pyo3::prelude::*;

    use crate::apart::apart;
    #[pymodule_export]
    use crate::deck::write_deck;
    #[pymodule_export]
    use crate::failure::Error;
    use crate::failure::{bad_input, failure, wrong_command_line};
    #[pymodule_export]
    use crate::held::PyHeld;
    use crate::watch::{Observed, Preparing};

    /// So that a command without memory ends with a message.
    #[global_allocator]
    static ALLOCATOR: memory::Watched = memory::Watched;

    #[pymodule_export]
    const VERSION: &str = pogo_formats::VERSION;

    /// Exit code, summary as JSON, what went wrong, and the exception of whoever has stopped the run.
    type Solved = (i32, String, Vec<String>, Option<Py<PyAny>>);

    fn words(command: &str, arguments: Vec<OsString>) -> impl Iterator<Item = OsString> {
        std::iter::once(command.into()).chain(arguments)
    }

    /// Runs a command as this process's only task, and gives its exit code.
    #[pyfunction]
    fn run_command(py: Python<'_>, name: &str, arguments: Vec<OsString>) -> PyResult<i32> {
        let run: fn(Vec<OsString>) -> i32 = match name {
            "pogo-block" => block_command::run,
            "pogo-info" => info_command::run,
            "pogo-gen" => generate_command::run,
            "pogo-solve" => pogo_solver::command::run,
            _ => return Err(PyValueError::new_err(format!("there is no command {name}"))),
        };
        let words: Vec<OsString> = words(name, arguments).collect();
        // The exit code of a program that panics; the message is printed by then.
        Ok(py.detach(|| catch_unwind(AssertUnwindSafe(|| run(words))).unwrap_or(101)))
    }

    /// Makes a block file, or with --check reports: whether it could, the report as JSON, problems, and remarks.
    #[pyfunction]
    #[pyo3(signature = (arguments, tell = None))]
    fn block(
        py: Python<'_>,
        arguments: Vec<OsString>,
        tell: Option<Bound<'_, PyAny>>,
    ) -> PyResult<(bool, String, Vec<String>, Vec<String>)> {
        let command = words("pogo-block", arguments);
        let cli = block_command::Cli::try_parse_from(command).map_err(|error| wrong_command_line(py, &error))?;
        let stop = crate::watch::Stop::default();
        let (result, stopped) = apart(
            py,
            tell,
            || stop.ask(),
            |events| {
                let progress = Preparing::new(events, stop.clone());
                let prepare = || cli.prepare(&progress);
                match cli.threads {
                    Some(threads) => threads::in_pool(threads.into(), prepare)
                        .map_err(|error| format!("error: {error}"))
                        .and_then(|report| report.map_err(|error| error.to_string())),
                    None => prepare().map_err(|error| error.to_string()),
                }
            },
        )?;
        if let Some(stopped) = stopped {
            return Err(stopped);
        }
        let report = result.map_err(|text| bad_input(py, text))?;
        let remarks = report.remarks.in_order();
        Ok((report.ok, report.json, report.problems, remarks))
    }

    /// What is in a block file, as the command prints it.
    #[pyfunction]
    fn info(py: Python<'_>, arguments: Vec<OsString>) -> PyResult<String> {
        let command = words("pogo-info", arguments);
        let cli = info_command::Cli::try_parse_from(command).map_err(|error| wrong_command_line(py, &error))?;
        let (text, _) = apart(py, None, || (), |_| cli.inspect().map_err(|error| error.to_string()))?;
        text.map_err(|text| bad_input(py, text))
    }

    /// Writes a model of pogo-gen, and gives what is to be said of it as JSON.
    #[pyfunction]
    fn generate(py: Python<'_>, arguments: Vec<OsString>) -> PyResult<String> {
        let command = words("pogo-gen", arguments);
        let cli = generate_command::Cli::try_parse_from(command).map_err(|error| wrong_command_line(py, &error))?;
        let (made, _) = apart(py, None, || (), |_| cli.make().map_err(|error| error.to_string()))?;
        made.map(|made| made.json).map_err(|text| bad_input(py, text))
    }

    /// Runs a block file.
    #[pyfunction]
    #[pyo3(signature = (arguments, tell = None))]
    fn solve(py: Python<'_>, arguments: Vec<OsString>, tell: Option<Bound<'_, PyAny>>) -> PyResult<Solved> {
        let command = words("pogo-solve", arguments);
        let args = Args::try_parse_from(command).map_err(|error| wrong_command_line(py, &error))?;
        let (config, interrupts) = (args.config(), Interrupts::default());
        let (outcome, stopped) = apart(
            py,
            tell,
            || interrupts.request_stop(),
            |events| {
                let mut observer = Observed::new(events);
                pogo_solver::solve(&config, &interrupts, &mut observer).map_err(|error| error.to_string())
            },
        )?;
        let stopped = stopped.map(|error| error.into_value(py).into_any());
        match outcome {
            Ok(outcome) => Ok((outcome.exit_code(), outcome.json(), outcome.problems(), stopped)),
            Err(text) => Err(failure(py, text, pogo_formats::exit_code::BAD_INPUT)),
        }
    }
}
