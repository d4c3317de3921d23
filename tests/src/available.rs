//! What a test needs from outside the project, and what is said where it is missing.
//!
//! | needed | where it is looked for |
//! |---|---|
//! | shared inputs and references | the folder `$POGO_SHARED`, else `../shared` beside the project |
//! | a browser | the program `$POGO_BROWSER`, else `chromium`, `chromium-browser` or `google-chrome` |
//! | Python with the modules named | the interpreter `$POGO_PYTHON`, else `python3` |
//!
//! A test without what it needs returns early, which the test harness reports as `ok`. So each one calls [`skip`]: when
//! the test program ends, a final line counts the tests that checked nothing, each with the reason.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

static SKIPPED: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Notes that the calling test checks nothing because of `reason`; a final line of the test program tells.
pub fn skip(reason: impl Display) {
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    let mut skipped = SKIPPED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if skipped.is_empty() {
        // SAFETY: the function has C's calling convention and does not unwind.
        unsafe { libc::atexit(report) };
    }
    skipped.push(format!("{test}: {reason}"));
}

extern "C" fn report() {
    use std::io::Write;
    let Ok(mut skipped) = SKIPPED.lock() else { return };
    skipped.sort();
    skipped.dedup();
    // A closed standard error is no reason to fail.
    let _ = writeln!(std::io::stderr(), "SKIPPED: {} of the tests above checked nothing:", skipped.len());
    for line in skipped.iter() {
        let _ = writeln!(std::io::stderr(), "SKIPPED:   {line}");
    }
}

/// Root of the workspace.
pub fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/ lies in the workspace").to_path_buf()
}

/// A file or folder among the shared inputs. Where it is missing, the calling test is counted as skipped.
pub fn shared(what: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("POGO_SHARED").map_or_else(|| workspace().join("../shared"), PathBuf::from);
    let path = folder.join(what);
    if !path.exists() {
        skip(format_args!("there is no {} (POGO_SHARED names the folder of shared inputs)", path.display()));
        return None;
    }
    Some(path)
}

/// Chromium, or Chrome. Where there is none, the calling test is counted as skipped.
pub fn browser() -> Option<PathBuf> {
    let given = std::env::var_os("POGO_BROWSER").map(PathBuf::from);
    let folders =
        std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect::<Vec<_>>()).unwrap_or_default();
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let found = given.or_else(|| {
        names.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name))).find(|path| path.is_file())
    });
    if found.is_none() {
        skip("there is no Chromium (Debian: chromium; POGO_BROWSER names another one)");
    }
    found
}

/// A Python interpreter that has these modules. Where there is none, the calling test is counted as skipped.
pub fn python(modules: &[&str]) -> Option<String> {
    let python = std::env::var("POGO_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let import = format!("import {}", modules.join(", "));
    let found = Command::new(&python).args(["-c", &import]).output().is_ok_and(|output| output.status.success());
    if !found {
        skip(format_args!("{python} has no {} (POGO_PYTHON names an interpreter that has)", modules.join(" and ")));
        return None;
    }
    Some(python)
}
