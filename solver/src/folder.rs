//! The folder of a run's results: whatever is in it belongs to the summary beside it.
//!
//! One run at a time fills a folder. As long as it does, the folder holds a file that the run has locked, with its process
//! and the names of what it writes. The system gives the lock back when the process ends, however it ends. So a killed
//! run locks nobody out, and the next one removes what it has left.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::ops::Deref;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use pogo_formats::system::threads;
use pogo_formats::write::fields::remove_series;
use pogo_formats::write::{Journal, remove_left_in};

use crate::error::SolveError;

/// Name of the file that lists all others.
pub(crate) const SUMMARY: &str = "summary.json";

/// Name of the file that a run locks.
const LOCK: &str = ".pogo-solve.lock";

/// A folder that this run alone fills, as long as this is not dropped.
#[derive(Debug)]
pub(crate) struct RunFolder {
    path: PathBuf,
    /// None in a process whose rank 0 writes the results.
    lock: Option<Lock>,
    /// The run has created it.
    is_new: bool,
}

impl RunFolder {
    /// Creates a folder for results, if it is not there, and locks it. What killed runs have left unfinished there goes.
    ///
    /// # Errors
    /// It is no folder, or another run fills it.
    pub fn take(path: &Path) -> Result<Self, SolveError> {
        let is_new = !path.exists();
        create_folder(path)?;
        let lock = Lock::take(path)?;
        remove_left_in(path);
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                remove_left_in(&entry.path());
            }
        }
        Ok(Self { path: path.to_owned(), lock: Some(lock), is_new })
    }

    /// The folder of a study, which several processes may fill with the folders of its cases.
    ///
    /// # Errors
    /// It is no folder.
    pub fn of_a_study(path: &Path) -> Result<Self, SolveError> {
        create_folder(path)?;
        remove_left_in(path);
        Ok(Self { path: path.to_owned(), lock: None, is_new: false })
    }

    /// What is written from now on is no result of the run.
    pub fn end_results(&mut self) {
        self.lock.iter_mut().for_each(|lock| drop(lock.journal.take()));
    }

    /// The folder that rank 0 fills.
    pub fn of_another_rank(path: &Path) -> Self {
        Self { path: path.to_owned(), lock: None, is_new: false }
    }
}

impl Drop for RunFolder {
    /// A run that was refused leaves no empty folder.
    fn drop(&mut self) {
        drop(self.lock.take());
        if self.is_new {
            // Nothing if the folder is not empty.
            drop(fs::remove_dir(&self.path));
        }
    }
}

impl Deref for RunFolder {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.path
    }
}

/// The file that a run has locked.
#[derive(Debug)]
struct Lock {
    path: PathBuf,
    file: File,
    /// Notes what is written, once a run has taken the folder over.
    journal: OnceLock<Journal>,
}

impl Lock {
    fn take(folder: &Path) -> Result<Self, SolveError> {
        let path = folder.join(LOCK);
        let failed = |source| SolveError::Io { path: folder.into(), source };
        let mut patience = 5;
        loop {
            let mut file = OpenOptions::new().read(true).append(true).create(true).open(&path).map_err(failed)?;
            let mut text = String::new();
            match file.try_lock() {
                Ok(()) if !is_at(&file, &path) => continue,
                Ok(()) => {}
                Err(TryLockError::WouldBlock) if patience > 0 => {
                    // Somebody may only be asking whether it is locked.
                    patience -= 1;
                    std::thread::sleep(Duration::from_millis(5));
                    continue;
                }
                Err(TryLockError::WouldBlock) => {
                    // Its owner may just be about to write its name.
                    let _ = file.read_to_string(&mut text);
                    let owner = text.lines().next().unwrap_or("another process").to_owned();
                    return Err(SolveError::FolderInUse { path: folder.into(), owner });
                }
                // A file system without locks.
                Err(TryLockError::Error(_)) => {}
            }
            let _ = file.read_to_string(&mut text);
            let old: Vec<&str> = text.lines().skip(1).collect();
            let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
            let host = if host.trim().is_empty() { String::new() } else { format!(" on {}", host.trim()) };
            let mut owned = format!("process {}{host}\n", std::process::id());
            old.iter().for_each(|name| owned += &format!("{name}\n"));
            // A journal that cannot be written is no reason to write nothing.
            let _ = file.set_len(0).and_then(|()| file.write_all(owned.as_bytes()));
            return Ok(Self { path, file, journal: OnceLock::new() });
        }
    }

    /// Notes the name of each file that is written from now on.
    fn note_results(&self) {
        if let Ok(file) = self.file.try_clone() {
            self.journal.get_or_init(|| Journal::keep(&self.path.with_file_name(""), file));
        }
    }

    /// Names of files that this run and killed ones before it have written.
    fn names(&self) -> Vec<String> {
        let text = fs::read_to_string(&self.path).unwrap_or_default();
        text.lines().skip(1).map(str::to_owned).collect()
    }
}

impl Drop for Lock {
    /// The file stays where there are results without a summary.
    fn drop(&mut self) {
        drop(self.journal.take());
        let folder = self.path.with_file_name("");
        let all_listed = folder.join(SUMMARY).exists();
        if (all_listed || !self.names().iter().any(|name| folder.join(name).exists())) && is_at(&self.file, &self.path)
        {
            drop(fs::remove_file(&self.path));
        }
    }
}

/// Whether an open file is still the one of that name.
fn is_at(file: &File, path: &Path) -> bool {
    let identity = |found: fs::Metadata| (found.dev(), found.ino());
    let of_path = fs::metadata(path).map(identity).ok();
    of_path.is_some() && file.metadata().map(identity).ok() == of_path
}

/// Whether a run fills this folder now.
pub(crate) fn is_in_use(folder: &Path) -> bool {
    let opened = OpenOptions::new().append(true).open(folder.join(LOCK));
    opened.is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
}

/// Does work that one process does at a time, with a file of this name as the lock. Where the file system has no locks,
/// nobody waits.
pub(crate) fn locked<T>(path: &Path, work: impl FnOnce() -> Result<T, SolveError>) -> Result<T, SolveError> {
    let failed = |source| SolveError::Io { path: path.into(), source };
    loop {
        let file = OpenOptions::new().append(true).create(true).open(path).map_err(failed)?;
        if file.lock().is_ok() && !is_at(&file, path) {
            continue;
        }
        let done = work();
        // As long as it is locked: whoever waits for it sees that it is gone.
        drop(fs::remove_file(path));
        return done;
    }
}

/// The summary in a folder of results.
pub(crate) fn read_summary(folder: &Path) -> Option<serde_json::Value> {
    serde_json::from_str(&fs::read_to_string(folder.join(SUMMARY)).ok()?).ok()
}

/// A folder while a run fills it.
pub(crate) struct ResultFolder<'a> {
    folder: &'a RunFolder,
    /// Files of an earlier run that are still there.
    old: BTreeSet<String>,
}

impl<'a> ResultFolder<'a> {
    /// Takes the folder over: what earlier runs have written is removed at once, but for the files that `stay`. They are
    /// needed for now, and may be removed when this run is done.
    pub fn take(folder: &'a RunFolder, stay: impl Fn(&str) -> bool) -> Self {
        let summary = folder.join(SUMMARY);
        let mut old: BTreeSet<String> = listed_files(folder).into_iter().collect();
        old.extend(folder.lock.iter().flat_map(Lock::names));
        folder.lock.iter().for_each(Lock::note_results);
        old.retain(|name| is_within(name) && folder.join(name).exists());
        drop(fs::remove_file(summary));
        old.remove(SUMMARY);
        old.retain(|name| {
            let stays = stay(name);
            if !stays {
                remove(folder, name);
            }
            stays
        });
        Self { folder, old }
    }

    /// Adds the summary and those earlier files that `stay` to `files`, and removes the other earlier ones.
    pub fn settle(self, files: &mut Vec<String>, stay: impl Fn(&str) -> bool) {
        files.push(SUMMARY.into());
        for old in self.old {
            // Files of a series are listed in its own file.
            let series = old.split_once('/').map(|(series, _)| format!("{series}.pvd"));
            if files.contains(series.as_ref().unwrap_or(&old)) {
                continue;
            }
            if stay(&old) {
                files.push(old);
            } else {
                remove(self.folder, &old);
            }
        }
    }
}

/// Removes a result; with the list of a series, its files.
fn remove(folder: &Path, name: &str) {
    if let Some(series) = name.strip_suffix(".pvd") {
        drop(remove_series(folder, series));
    }
    drop(remove_file(&folder.join(name)));
    if let Some((series, _)) = name.split_once('/') {
        // Nothing if the folder is not empty.
        drop(fs::remove_dir(folder.join(series)));
    }
}

/// Bytes of a file that the system takes a while to remove.
const LARGE: u64 = 64 << 20;

/// Removes a file. A thread waits until the system has given back the room of a large one: 0.4 s a GB.
fn remove_file(path: &Path) -> io::Result<()> {
    let is_large = fs::symlink_metadata(path).is_ok_and(|found| found.is_file() && found.len() >= LARGE);
    // As long as somebody has it open, it keeps its room.
    let open = if is_large { File::open(path).ok() } else { None };
    fs::remove_file(path)?;
    if open.is_some() {
        let _ = threads::spawn("remove", || drop(open));
    }
    Ok(())
}

/// Creates a folder for results, if it is not there.
fn create_folder(folder: &Path) -> Result<(), SolveError> {
    fs::create_dir_all(folder).map_err(|error| {
        let source = match error.kind() {
            io::ErrorKind::AlreadyExists => {
                io::Error::new(error.kind(), "it is not a folder; give another name for the results with -o")
            }
            _ => error,
        };
        SolveError::Io { path: folder.into(), source }
    })
}

/// Files of an earlier run in this folder, by its summary.
fn listed_files(folder: &Path) -> Vec<String> {
    let Some(summary) = read_summary(folder) else { return Vec::new() };
    let names = summary["files"].as_array().into_iter().flatten().filter_map(serde_json::Value::as_str);
    names.map(str::to_owned).collect()
}

/// Never anything outside the folder, whatever a file says.
fn is_within(name: &str) -> bool {
    !name.is_empty() && Path::new(name).components().all(|part| matches!(part, Component::Normal(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    fn write(folder: &Path, name: &str) {
        pogo_formats::write::write_atomically(&folder.join(name), |_| Ok(())).unwrap();
    }

    #[test]
    fn large_files_are_gone_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("fields.vtu");
        File::create(&path).unwrap().set_len(LARGE).unwrap();
        remove_file(&path).unwrap();
        assert!(names(folder.path()).is_empty());
        assert_eq!(remove_file(&path).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_run_without_results_leaves_no_new_folder() {
        let place = tempfile::tempdir().unwrap();
        let (new, old) = (place.path().join("new"), place.path().join("old"));
        fs::create_dir(&old).unwrap();
        for folder in [&new, &old] {
            drop(RunFolder::take(folder).unwrap());
        }
        assert_eq!(names(place.path()), ["old"]);
        assert!(names(&old).is_empty());
        let run = RunFolder::take(&new).unwrap();
        write(&new, "traces.csv");
        drop(run);
        assert_eq!(names(&new), ["traces.csv"]);
    }

    #[test]
    fn one_run_at_a_time_fills_a_folder() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("out");
        let first = RunFolder::take(&path).unwrap();
        let message = RunFolder::take(&path).unwrap_err().to_string();
        assert!(message.contains(&format!("process {}", std::process::id())), "{message}");
        // A case of a study has a folder of its own in that of the study.
        let case = RunFolder::take(&path.join("case")).unwrap();
        write(&case, "traces.csv");
        drop(case);
        drop(first);
        drop(RunFolder::take(&path).unwrap());
        assert_eq!(names(&path), ["case"]);
    }

    #[test]
    fn what_a_killed_run_has_left_goes_and_what_is_the_users_stays() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path();
        fs::create_dir(path.join("fields")).unwrap();
        for mine in ["notes.csv", "fields/mine.vtu"] {
            fs::write(path.join(mine), "mine").unwrap();
        }
        fs::write(path.join("old.csv"), "old").unwrap();
        fs::write(path.join(SUMMARY), r#"{"files": ["old.csv", "../outside", "/etc/none", "summary.json"]}"#).unwrap();
        let first = RunFolder::take(path).unwrap();
        let results = ResultFolder::take(&first, |_| false);
        ["arrival.npy", "fields.pvd", "fields/1.vtu"].iter().for_each(|name| write(path, name));
        assert_eq!(names(path), [LOCK, "arrival.npy", "fields", "fields.pvd", "notes.csv"]);
        // Killed: no summary is written.
        drop(results);
        drop(first);
        assert!(path.join(LOCK).exists());

        let second = RunFolder::take(path).unwrap();
        let results = ResultFolder::take(&second, |name| name == "arrival.npy");
        assert_eq!(names(path), [LOCK, "arrival.npy", "fields", "notes.csv"]);
        write(path, "arrival.vtu");
        let mut files = vec!["arrival.vtu".to_owned()];
        results.settle(&mut files, |_| false);
        write(path, SUMMARY);
        drop(second);
        assert_eq!(files, ["arrival.vtu", SUMMARY]);
        assert_eq!(names(path), ["arrival.vtu", "fields", "notes.csv", SUMMARY]);
        assert_eq!(names(&path.join("fields")), ["mine.vtu"]);
    }

    #[test]
    fn a_run_that_goes_on_keeps_the_series_that_it_goes_on_with() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path();
        for series in ["fields", "fields-2"] {
            fs::create_dir(path.join(series)).unwrap();
        }
        let first = RunFolder::take(path).unwrap();
        drop(ResultFolder::take(&first, |_| false));
        ["fields.pvd", "fields/1.vtu", "fields-2.pvd", "fields-2/1.vtu"].iter().for_each(|name| write(path, name));
        drop(first);
        let second = RunFolder::take(path).unwrap();
        let results = ResultFolder::take(&second, |_| true);
        let mut files = vec!["fields.pvd".to_owned()];
        results.settle(&mut files, |_| false);
        write(path, SUMMARY);
        drop(second);
        assert_eq!(names(path), ["fields", "fields.pvd", SUMMARY]);
        assert_eq!(names(&path.join("fields")), ["1.vtu"]);
    }
}
