//! What the commands of this crate share: hidden helper options, and writing to stdout.

use std::ffi::OsString;
use std::io::{ErrorKind, Write};

use clap::ValueEnum;
use clap_complete::Shell;

/// Answers `--completions SHELL` and `--man`, which every command has and no `--help` shows: gives the shell's completion
/// script or the manual page in roff. None for any other command line (with the program's name as the first argument).
pub fn helper(mut command: clap::Command, arguments: impl IntoIterator<Item = OsString>) -> Option<Vec<u8>> {
    let arguments = arguments.into_iter().skip(1).take(2).map(|argument| argument.to_string_lossy().into_owned());
    let arguments = arguments.collect::<Vec<_>>();
    let mut out = Vec::new();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--man"] => clap_mangen::Man::new(command).render(&mut out).ok()?,
        ["--completions", shell] => {
            let name = command.get_name().to_owned();
            clap_complete::generate(Shell::from_str(shell, true).ok()?, &mut command, name, &mut out);
        }
        _ => return None,
    }
    Some(out)
}

/// Writes to stdout and flushes. A reader that went away (`| head`) is success.
///
/// # Errors
/// Any other failure, such as a full disk.
pub fn write_stdout(text: &[u8]) -> std::io::Result<()> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
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
        assert!(String::from_utf8_lossy(&ask(&["--man"]).unwrap()).contains(".TH pogo"));
        assert!(String::from_utf8_lossy(&ask(&["--completions", "bash"]).unwrap()).contains("complete -F"));
        assert_eq!(ask(&["--completions", "no-shell"]), None);
        assert_eq!(ask(&["weld"]), None);
        assert_eq!(ask(&[]), None);
    }
}
