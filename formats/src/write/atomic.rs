//! Files that appear whole or not at all.
//!
//! A file is written under a temporary name, `.NAME.PROCESS-NUMBER.tmp`, and locked as long as it is. A signal that ends the
//! process removes it. One that a killed process has left is removed by the next run into its folder.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::unfinished::Unfinished;
use super::{OutputError, ahead, journal};
use crate::system::inputs;

/// Writes a file through `fill`, beside its target, and renames it once every byte is on disk. A link stays; the file that
/// it leads to is written. A file of this process without a name (`/proc/self/fd/N` of memory, for instance) has nothing
/// beside it: it is written in place, and must be empty.
///
/// # Errors
/// [`OutputError::Io`] with the target's name when anything fails; the temporary file is then removed and the target is
/// as it was.
pub fn write_atomically(
    path: &Path,
    fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<(), OutputError> {
    let write = || {
        if let Some(length) = length_without_name(path) {
            return write_in_place(path, length, fill);
        }
        let target = behind_links(path)?;
        let temporary = temporary_name(&target);
        journal::note(path);
        let unfinished = Unfinished::new(&temporary);
        let result = write_and_rename(&target, &temporary, fill);
        if result.is_err() {
            // The first error is the one to report.
            let _ = fs::remove_file(&temporary);
        }
        drop(unfinished);
        result
    };
    write().map_err(advice).map_err(OutputError::io(path))
}

/// Length of a file that is in no folder, such as one of memory; none of any other.
fn length_without_name(path: &Path) -> Option<u64> {
    let found = fs::metadata(path).ok()?;
    (found.is_file() && found.nlink() == 0).then_some(found.len())
}

fn write_in_place(
    path: &Path,
    length: u64,
    fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> io::Result<()> {
    // Somebody may have mapped what it holds.
    if length > 0 {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "this file without a name is not empty: make a new one",
        ));
    }
    let mut writer = BufWriter::with_capacity(1 << 18, fs::OpenOptions::new().write(true).open(path)?);
    let written = fill(&mut writer).and_then(|()| writer.flush());
    if written.is_err() {
        // As it was. The first error is the one to report.
        let _ = writer.get_ref().set_len(0);
    }
    written
}

/// What to do about errors that a user can do something about.
pub(super) fn advice(error: io::Error) -> io::Error {
    let advice = match error.kind() {
        io::ErrorKind::StorageFull => "free some space, or write elsewhere with -o",
        io::ErrorKind::QuotaExceeded => "free some of your space, or write elsewhere with -o",
        io::ErrorKind::FileTooLarge => "raise the limit (`ulimit -f`), or write elsewhere with -o",
        _ => return error,
    };
    io::Error::new(error.kind(), format!("{error}: {advice}"))
}

/// The file that a path leads to, through symbolic links; it need not be there.
pub(super) fn behind_links(path: &Path) -> io::Result<PathBuf> {
    const MOST_LINKS: usize = 40;
    let mut target = path.to_owned();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&target) {
            Ok(link) => target = target.with_file_name("").join(link),
            Err(_) => return Ok(target),
        }
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "symbolic links lead to each other; give another name"))
}

fn write_and_rename(
    path: &Path,
    temporary: &Path,
    fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> io::Result<()> {
    // A rename would replace a device such as /dev/null.
    if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it exists and is not a regular file"));
    }
    inputs::check_result(path)?;
    let file = File::create(temporary)?;
    // Says to other processes that this one is alive. Not every file system has locks.
    let _ = file.try_lock();
    let mut writer = BufWriter::with_capacity(1 << 18, file);
    ahead::while_written(writer.get_ref().try_clone(), || {
        fill(&mut writer)?;
        // A dropped BufWriter loses the rest in silence.
        writer.flush()
    })?;
    writer.get_ref().sync_all()?;
    drop(writer);
    fs::rename(temporary, path)?;
    sync_folder(path)
}

fn temporary_name(path: &Path) -> PathBuf {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}-{}.tmp", std::process::id(), COUNTER.fetch_add(1, Ordering::Relaxed)));
    path.with_file_name(name)
}

/// The folder of a file; that of a bare name is the current one.
pub(super) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Makes the rename itself durable.
fn sync_folder(path: &Path) -> io::Result<()> {
    match File::open(folder_of(path))?.sync_all() {
        // Some network file systems cannot sync a folder; the file itself is safe.
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_leaves_the_old_file_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        write_atomically(&path, |out| out.write_all(b"old")).unwrap();
        let error = write_atomically(&path, |out| {
            out.write_all(b"new")?;
            Err(io::Error::other("disk full"))
        })
        .unwrap_err();
        assert!(error.to_string().ends_with("a.txt: error: disk full"), "{error}");
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_and_leads_to_the_new_file() {
        use std::os::unix::fs::symlink;

        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("store")).unwrap();
        fs::write(at("store/old.txt"), "old").unwrap();
        symlink("store/old.txt", at("relative")).unwrap();
        symlink(at("relative"), at("to a link")).unwrap();
        symlink("store/new.txt", at("to nothing")).unwrap();
        symlink("circle", at("circle")).unwrap();
        write_atomically(&at("to a link"), |out| out.write_all(b"one")).unwrap();
        write_atomically(&at("to nothing"), |out| out.write_all(b"two")).unwrap();
        let error = write_atomically(&at("circle"), |_| Ok(())).unwrap_err();
        assert!(error.to_string().contains("links lead to each other"), "{error}");
        assert_eq!(fs::read(at("store/old.txt")).unwrap(), b"one");
        assert_eq!(fs::read(at("store/new.txt")).unwrap(), b"two");
        assert!(["relative", "to a link", "to nothing"].iter().all(|name| at(name).is_symlink()));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 5);
        assert_eq!(fs::read_dir(at("store")).unwrap().count(), 2);
    }

    #[cfg(unix)]
    #[test]
    fn a_device_is_not_replaced() {
        let error = write_atomically(Path::new("/dev/null"), |_| Ok(())).unwrap_err();
        assert!(error.to_string().contains("not a regular file"), "{error}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_without_a_name_is_written_in_place_once() {
        use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

        // SAFETY: a string with its zero; what the call gives is a new descriptor.
        let memory = unsafe { OwnedFd::from_raw_fd(libc::memfd_create(c"block".as_ptr(), libc::MFD_CLOEXEC)) };
        let path = PathBuf::from(format!("/proc/self/fd/{}", memory.as_raw_fd()));
        let failed = write_atomically(&path, |out| {
            out.write_all(&[0; 1 << 20])?;
            Err(io::Error::other("no more"))
        });
        assert!(failed.unwrap_err().to_string().ends_with("no more"));
        write_atomically(&path, |out| out.write_all(b"new")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        let error = write_atomically(&path, |out| out.write_all(b"newer")).unwrap_err();
        assert!(error.to_string().contains("is not empty") && fs::read(&path).unwrap() == b"new", "{error}");
    }

    #[test]
    fn a_missing_folder_is_an_error_with_the_targets_name() {
        let error = write_atomically(Path::new("no/such/folder/a.txt"), |_| Ok(())).unwrap_err();
        assert!(error.to_string().starts_with("no/such/folder/a.txt: error: "), "{error}");
    }
}
