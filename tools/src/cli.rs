//! What the commands of this crate share: their start and exit codes, helper options, writing to stdout, threads, signals.

use std::ffi::OsString;
use std::fmt::Display;
use std::io::{ErrorKind, Write};
use std::path::Path;

use clap::error::ErrorKind as Wrong;
use clap::{Parser, ValueEnum};
use clap_complete::Shell;
use pogo_formats::system::messages::say;
use pogo_formats::system::{inputs, maps, memory, signals, threads};
use pogo_formats::{exit_code, timings, write};

/// The option `--timings`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::Args)]
pub struct TimingOption {
    /// Print on stderr where the time went: for each stage wall and processor time, bytes read and written, peak memory.
    #[arg(long)]
    timings: bool,
}

impl TimingOption {
    /// Records the stages of the command from now on, if that was asked for. The table is printed when the result is dropped.
    pub fn start(self) -> impl Drop {
        if self.timings {
            timings::record();
        }
        PrintTimings
    }
}

/// Prints the table of stages at the end.
struct PrintTimings;

impl Drop for PrintTimings {
    fn drop(&mut self) {
        // A log that cannot be written is no reason to fail.
        let _ = std::io::stderr().write_all(timings::text().as_bytes());
    }
}

/// Runs a command as this process's only task; the first argument is the command's name. The exit code is 0 if `command` gives
/// `true`, [`exit_code::BAD_INPUT`] if it gives `false` or an error, which is printed, and 2 for a wrong command line.
pub fn run<C: Parser, E: Display + From<std::io::Error>>(
    arguments: impl IntoIterator<Item = OsString>,
    command: impl FnOnce(C) -> Result<bool, E>,
) -> i32 {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    memory::own_process();
    inputs::protect();
    memory::share_one_heap_if_limited();
    let _ = maps::tell_of_cut_files();
    let result = match helper(C::command(), arguments.iter().cloned()) {
        Err(error) => return said(&error),
        Ok(Some(text)) => write_stdout(&text).map(|()| true).map_err(Into::into),
        Ok(None) => match C::try_parse_from(arguments) {
            Err(error) => return said(&error),
            Ok(options) => command(options),
        },
    };
    if let Err(error) = &result {
        say(error);
    }
    if result.unwrap_or(false) { 0 } else { exit_code::BAD_INPUT }
}

/// Answers `--completions SHELL` and `--man`, which every command has besides its own options: gives the shell's completion
/// script or the manual page in roff. `None` for any other command line; the first argument is the program's name.
///
/// # Errors
/// A shell that is not known.
fn helper(
    mut command: clap::Command,
    arguments: impl IntoIterator<Item = OsString>,
) -> Result<Option<Vec<u8>>, clap::Error> {
    let arguments = arguments.into_iter().skip(1).take(2).map(|argument| argument.to_string_lossy().into_owned());
    let arguments = arguments.collect::<Vec<_>>();
    let mut out = Vec::new();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--man"] => clap_mangen::Man::new(command).render(&mut out)?,
        ["--completions", name] => {
            let Ok(shell) = Shell::from_str(name, true) else {
                let text = format!("--completions {name}: known shells are bash, elvish, fish, powershell and zsh\n");
                return Err(command.error(Wrong::InvalidValue, text));
            };
            let name = command.get_name().to_owned();
            clap_complete::generate(shell, &mut command, name, &mut out);
        }
        ["--completions"] => {
            return Err(command.error(Wrong::InvalidValue, "--completions takes the name of a shell, such as bash\n"));
        }
        _ => return Ok(None),
    }
    Ok(Some(out))
}

/// The word for a choice on a command line, which block files and reports also use.
pub(crate) fn word(choice: &impl ValueEnum) -> String {
    choice.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

/// Writes to stdout and flushes. A reader that has closed the pipe (`| head`) is no error.
///
/// # Errors
/// Any other failure, such as a full disk.
pub fn write_stdout(text: &[u8]) -> std::io::Result<()> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(std::io::Error::new(error.kind(), format!("error: cannot write to stdout: {error}")))
        }
        _ => Ok(()),
    }
}

/// Prints what clap has to say and gives the exit code. Help and version that cannot be written are an error.
fn said(error: &clap::Error) -> i32 {
    let printed = error.print().and_then(|()| std::io::stdout().flush());
    match printed {
        Err(failed) if !error.use_stderr() && failed.kind() != ErrorKind::BrokenPipe => {
            say(format_args!("error: cannot write to stdout: {failed}"));
            exit_code::BAD_INPUT
        }
        _ => error.exit_code(),
    }
}

/// Makes the pool of threads of a command: with the number asked for, or one for each core. Where none are asked for and the
/// system makes none, this thread does all the work.
///
/// # Errors
/// The system does not make as many as were asked for.
pub fn start_threads(asked: Option<usize>) -> anyhow::Result<()> {
    threads::start(asked).map(drop).map_err(|error| anyhow::anyhow!("error: {error}"))
}

/// Keeps temporary files from staying beside `output`: those that killed runs have left go now, and signals that end this
/// run remove its own. A file beyond the size limit (SIGXFSZ) becomes an ordinary write error.
///
/// # Errors
/// The system lets no signal be caught.
pub fn clean_up_beside(output: &Path) -> std::io::Result<()> {
    write::remove_left_behind(output);
    signals::clean_up_before_the_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn helper_answers_only_its_own_options() {
        let ask = |arguments: &[&str]| {
            let command = clap::Command::new("pogo-x").about("Does x");
            helper(command, ["pogo-x"].iter().chain(arguments).map(OsString::from))
        };
        let given = |arguments: &[&str]| String::from_utf8(ask(arguments).unwrap().unwrap()).unwrap();
        assert!(given(&["--man"]).contains(".TH pogo"));
        assert!(given(&["--completions", "bash"]).contains("complete -F"));
        assert!(ask(&["--completions", "no-shell"]).unwrap_err().to_string().contains("bash, elvish, fish"));
        assert!(ask(&["--completions"]).is_err());
        assert_eq!(ask(&["weld"]).unwrap(), None);
        assert_eq!(ask(&[]).unwrap(), None);
    }
}
