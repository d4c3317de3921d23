//! Files that appear whole or not at all.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::OutputError;

/// Writes a file through `fill`, beside its target, and renames it once every byte is on disk.
///
/// # Errors
/// [`OutputError::Io`] with the target's name when anything fails; the temporary file is then removed and the target is
/// as it was.
pub fn write_atomically(
    path: &Path,
    fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<(), OutputError> {
    let temporary = temporary_name(path);
    let result = write_and_rename(path, &temporary, fill);
    if result.is_err() {
        // The first error is the one to report.
        let _ = fs::remove_file(&temporary);
    }
    result.map_err(advice).map_err(OutputError::io(path))
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

fn write_and_rename(
    path: &Path,
    temporary: &Path,
    fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> io::Result<()> {
    // A rename would replace a device such as /dev/null.
    if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it exists and is not a regular file"));
    }
    let mut writer = BufWriter::with_capacity(1 << 18, File::create(temporary)?);
    fill(&mut writer)?;
    // A dropped BufWriter loses the rest in silence.
    writer.flush()?;
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

/// Removes the temporary files that this process has beside `target`: for a program that a signal is about to end. A write
/// that still goes on fails afterwards, at the rename.
pub fn remove_unfinished(target: &Path) {
    let folder = match target.parent() {
        Some(folder) if folder.as_os_str().is_empty() => Path::new("."),
        Some(folder) => folder,
        None => return,
    };
    let process = format!(".{}-", std::process::id());
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with('.') && name.contains(&process) && name.ends_with(".tmp") {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Makes the rename itself durable.
fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    match File::open(folder)?.sync_all() {
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

    #[test]
    fn an_unfinished_file_can_be_removed_from_outside() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("a.blk");
        fs::write(&target, "old").unwrap();
        let count = || fs::read_dir(folder.path()).unwrap().count();
        let written = write_atomically(&target, |out| {
            assert_eq!(count(), 2);
            remove_unfinished(&target);
            assert_eq!(count(), 1);
            out.write_all(b"new")
        });
        assert!(written.is_err());
        assert_eq!((count(), fs::read(&target).unwrap()), (1, b"old".to_vec()));
    }

    #[cfg(unix)]
    #[test]
    fn a_device_is_not_replaced() {
        let error = write_atomically(Path::new("/dev/null"), |_| Ok(())).unwrap_err();
        assert!(error.to_string().contains("not a regular file"), "{error}");
    }

    #[test]
    fn a_missing_folder_is_an_error_with_the_targets_name() {
        let error = write_atomically(Path::new("no/such/folder/a.txt"), |_| Ok(())).unwrap_err();
        assert!(error.to_string().starts_with("no/such/folder/a.txt: error: "), "{error}");
    }
}
