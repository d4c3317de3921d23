//! Commands to which the system refuses something.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// A user without privileges; no file needs to belong to it.
const NOBODY: u32 = 65534;

/// A command that runs in a folder as an ordinary user, whom the system's limits bind: where the tests run as root, as
/// another user, who may write into the folder. None where there is no such user; then the calling test is skipped.
///
/// # Panics
/// The folder cannot be written.
pub fn without_privileges(command: &Command, folder: &Path) -> Option<Command> {
    // SAFETY: it only asks.
    if unsafe { libc::geteuid() } != 0 {
        let mut same = Command::new(command.get_program());
        same.args(command.get_args()).current_dir(folder);
        return Some(same);
    }
    // The target folder may be closed to others.
    let program = Path::new(command.get_program());
    let copy = folder.join(program.file_name().expect("a program has a name"));
    if !copy.exists() {
        fs::copy(program, &copy).expect("the program is copied");
    }
    fs::set_permissions(folder, fs::Permissions::from_mode(0o777)).expect("the folder is opened");
    let as_nobody = |program: &Path| {
        let mut command = Command::new(program);
        command.uid(NOBODY).gid(NOBODY).current_dir(folder);
        command
    };
    if !as_nobody(Path::new("true")).status().is_ok_and(|status| status.success()) {
        crate::skip("root cannot become another user here");
        return None;
    }
    let mut other = as_nobody(&copy);
    other.args(command.get_args());
    Some(other)
}

/// As [`without_privileges`], and the command can make no thread and no process.
pub fn without_threads(command: &Command, folder: &Path) -> Option<Command> {
    let mut command = without_privileges(command, folder)?;
    let limit = || {
        let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: it reads one structure.
        match unsafe { libc::setrlimit(libc::RLIMIT_NPROC, &none) } {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        }
    };
    // SAFETY: between fork and exec only the limit is set.
    unsafe { command.pre_exec(limit) };
    Some(command)
}
