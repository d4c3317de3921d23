//! Temporary files of this process that a signal has to remove, and those that killed processes have left.

use std::ffi::{CString, OsStr, c_char};
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use super::atomic::{behind_links, folder_of};

/// More files than are written at the same time. What goes beyond is only left behind by a signal, not forgotten.
const MOST: usize = 256;

/// Names of files that are being written. A name belongs to whoever takes it from its place: the one who writes the file, or
/// a signal handler.
struct Names([AtomicPtr<c_char>; MOST]);

static NAMES: Names = Names::new();

impl Names {
    const fn new() -> Self {
        Self([const { AtomicPtr::new(null_mut()) }; MOST])
    }

    fn add(&'static self, path: &Path) -> Unfinished {
        let Ok(name) = CString::new(path.as_os_str().as_bytes()) else { return Unfinished(None) };
        let name = name.into_raw();
        let order = Ordering::AcqRel;
        let free =
            |place: &&AtomicPtr<c_char>| place.compare_exchange(null_mut(), name, order, Ordering::Relaxed).is_ok();
        let place = self.0.iter().find(free);
        if place.is_none() {
            forget(name);
        }
        Unfinished(place)
    }

    fn remove_files(&self) {
        for place in &self.0 {
            let name = place.swap(null_mut(), Ordering::AcqRel);
            if !name.is_null() {
                // SAFETY: a string with its zero, which nobody else has now; it is never freed.
                unsafe { libc::unlink(name) };
            }
        }
    }
}

/// A temporary file that is being written, known to signal handlers as long as this is not dropped.
pub(super) struct Unfinished(Option<&'static AtomicPtr<c_char>>);

impl Unfinished {
    pub fn new(path: &Path) -> Self {
        NAMES.add(path)
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Some(place) = self.0 {
            // It may be the name of another file by now, if a handler has taken the one of this file: then the process ends.
            forget(place.swap(null_mut(), Ordering::AcqRel));
        }
    }
}

fn forget(name: *mut c_char) {
    if !name.is_null() {
        // SAFETY: all names come from `into_raw`, and the one who takes a name is the only one to have it.
        drop(unsafe { CString::from_raw(name) });
    }
}

/// Removes the temporary files of this process, which is about to end. A signal handler may call it. A write that still goes
/// on fails afterwards, at the rename.
pub fn remove_unfinished() {
    NAMES.remove_files();
}

/// Removes the temporary files beside a file that is to be written, or was to be, if their processes have been killed.
pub fn remove_left_behind(output: &Path) {
    let Ok(output) = behind_links(output) else { return };
    remove_left_in(folder_of(&output));
}

/// As [`remove_left_behind`], in a folder.
pub fn remove_left_in(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if process_of(&entry.file_name()).is_some_and(is_dead) && !is_locked(&entry.path()) {
            // Another run into the folder may have done it.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// The process that has given a file this name, if it is one of a temporary file: `.NAME.PROCESS-NUMBER.tmp`.
fn process_of(name: &OsStr) -> Option<i32> {
    let is_number = |text: &[u8]| !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    let name = name.as_bytes().strip_prefix(b".")?.strip_suffix(b".tmp")?;
    let mut ends = name.rsplitn(2, |&byte| byte == b'.');
    let (end, target) = (ends.next()?, ends.next()?);
    let mut numbers = end.splitn(2, |&byte| byte == b'-');
    let (process, number) = (numbers.next()?, numbers.next()?);
    let ours = !target.is_empty() && is_number(process) && is_number(number);
    std::str::from_utf8(process).ok()?.parse().ok().filter(|_| ours)
}

/// No process of this machine has this number.
fn is_dead(process: i32) -> bool {
    // SAFETY: signal 0 only asks.
    let found = process > 0 && unsafe { libc::kill(process, 0) } == 0;
    !found && std::io::Error::last_os_error().raw_os_error() == Some(libc::ESRCH)
}

/// A process of another machine or container may still write the file, or nobody can know.
fn is_locked(path: &Path) -> bool {
    !File::options().append(true).open(path).is_ok_and(|file| file.try_lock().is_ok())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn only_names_of_ours_are_known() {
        for (name, expected) in [
            (".a.blk.17-0.tmp", Some(17)),
            (".a.17-203.tmp", Some(17)),
            ("a.blk.17-0.tmp", None),
            (".17-0.tmp", None),
            (".a.blk.17.tmp", None),
            (".a.blk.x-0.tmp", None),
            (".a.blk.-1.tmp", None),
            (".a.blk.17-0-1.tmp", None),
            (".a.blk.17-0.tmp.bak", None),
            (".a.blk.99999999999-0.tmp", None),
        ] {
            assert_eq!(process_of(OsStr::new(name)), expected, "{name}");
        }
    }

    #[test]
    fn what_dead_processes_have_left_is_removed_and_nothing_else() {
        let mut child = Command::new("true").spawn().unwrap();
        let (dead, own) = (child.id(), std::process::id());
        child.wait().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let stay = [format!(".a.blk.{own}-7.tmp"), format!(".b.blk.{dead}-1.tmp"), "mine.tmp".into(), "a.blk".into()];
        let goes = [format!(".a.blk.{dead}-0.tmp"), format!(".fields.pvd.{dead}-12.tmp")];
        stay.iter().chain(&goes).for_each(|name| fs::write(at(name), "x").unwrap());
        // As if another machine wrote it.
        let held = File::open(at(&stay[1])).unwrap();
        held.lock().unwrap();
        remove_left_behind(&at("a.blk"));
        for name in &stay {
            assert!(at(name).exists(), "{name}");
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), stay.len());
    }

    #[test]
    fn a_signal_removes_what_is_being_written_and_nothing_else() {
        static NAMES: Names = Names::new();
        let folder = tempfile::tempdir().unwrap();
        let paths: Vec<_> = (0..MOST + 2).map(|n| folder.path().join(n.to_string())).collect();
        paths.iter().for_each(|path| fs::write(path, "x").unwrap());
        drop(NAMES.add(&paths[0]));
        let written: Vec<_> = paths[1..].iter().map(|path| NAMES.add(path)).collect();
        NAMES.remove_files();
        drop(written);
        NAMES.remove_files();
        let left: Vec<_> = paths.iter().filter(|path| path.exists()).collect();
        // The first was finished, and there was no place for the last.
        assert_eq!(left, [&paths[0], &paths[MOST + 1]]);
    }
}
