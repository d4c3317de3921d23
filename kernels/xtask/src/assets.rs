//! Manual pages and shell completions, as the commands themselves print them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const COMMANDS: [&str; 4] = ["pogo-block", "pogo-gen", "pogo-info", "pogo-solve"];

/// Shells, with the folder below `share` where each looks for the completions of a command.
const SHELLS: [(&str, &str); 3] =
    [("bash", "bash-completion/completions"), ("zsh", "zsh/vendor-completions"), ("fish", "fish/vendor_completions.d")];

/// Writes the pages and completions of the commands in the folder `bin` below `out`, laid out as in `/usr/share`.
///
/// # Errors
/// A command that is missing or fails, or a file that cannot be written.
pub fn write(bin: &Path, out: &Path) -> Result<String, String> {
    for name in COMMANDS {
        save(&out.join("man/man1").join(format!("{name}.1")), &ask(bin, name, &["--man"])?)?;
        for (shell, folder) in SHELLS {
            save(&out.join(folder).join(file_name(name, shell)), &ask(bin, name, &["--completions", shell])?)?;
        }
    }
    Ok(format!("manual pages and completions of {} commands are in {}", COMMANDS.len(), out.display()))
}

/// The name under which a shell looks for the completions of a command.
fn file_name(command: &str, shell: &str) -> String {
    match shell {
        "zsh" => format!("_{command}"),
        "fish" => format!("{command}.fish"),
        _ => command.to_owned(),
    }
}

fn ask(bin: &Path, name: &str, arguments: &[&str]) -> Result<Vec<u8>, String> {
    let path: PathBuf = bin.join(name);
    let output = Command::new(&path).args(arguments).output();
    let output = output.map_err(|error| format!("{}: {error}; build it with cargo build --bins", path.display()))?;
    match output.status.success() && !output.stdout.is_empty() {
        true => Ok(output.stdout),
        false => Err(format!("{} {}: {}", path.display(), arguments.join(" "), output.status)),
    }
}

fn save(path: &Path, text: &[u8]) -> Result<(), String> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let written = fs::create_dir_all(folder).and_then(|()| fs::write(path, text));
    written.map_err(|error| format!("{}: {error}", path.display()))
}
