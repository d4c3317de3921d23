//! A file that appears whole or not at all.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
};

/// A temporary file beside its target; it takes the target's place on [`commit`](Self::commit) and is removed otherwise.
pub(super) struct AtomicFile {
    file: File,
    temporary: Option<PathBuf>,
    target: PathBuf,
}

impl AtomicFile {
    /// Creates the temporary file in the folder of `target`.
    ///
    /// # Errors
    /// The folder does not exist or cannot be written, or `target` exists and is no regular file.
    pub(super) fn create(target: &Path) -> io::Result<Self> {
        // A rename would replace a device such as /dev/null.
        if fs::metadata(target).is_ok_and(|metadata| !metadata.is_file()) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it exists and is not a regular file"));
        }
        let Some(name) = target.file_name() else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the path has no file name"));
        };
        // Through a symbolic link, replace what it points to, not the link.
        let target = fs::canonicalize(target).unwrap_or_else(|_| target.to_owned());
        static COUNT: AtomicU32 = AtomicU32::new(0);
        loop {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let mut temporary = std::ffi::OsString::from(".");
            temporary.push(name);
            temporary.push(format!(".{}-{count}.tmp", std::process::id()));
            let temporary = target.with_file_name(temporary);
            match OpenOptions::new().write(true).create_new(true).open(&temporary) {
                Ok(file) => return Ok(Self { file, temporary: Some(temporary), target }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Makes the content durable and puts it in the target's place.
    pub(super) fn commit(mut self) -> io::Result<()> {
        self.file.flush()?;
        self.file.sync_all()?;
        if let Some(temporary) = &self.temporary {
            fs::rename(temporary, &self.target)?;
            self.temporary = None;
        }
        let folder = match self.target.parent() {
            Some(folder) if folder.as_os_str().is_empty() => Path::new("."),
            Some(folder) => folder,
            None => return Ok(()),
        };
        // Some network file systems refuse to sync a folder; the file itself is in place and durable.
        if let Ok(folder) = File::open(folder) {
            let _ = folder.sync_all();
        }
        Ok(())
    }
}

/// Removes the temporary files that this process has beside `target`: for a program that a signal is about to end. A write
/// that still goes on fails afterwards.
pub fn remove_unfinished(target: &Path) {
    let target = fs::canonicalize(target).unwrap_or_else(|_| target.to_owned());
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

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            let _ = fs::remove_file(temporary);
        }
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Seek for AtomicFile {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        self.file.seek(position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unfinished_file_can_be_removed_from_outside() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("a.blk");
        fs::write(&target, "old").unwrap();
        let file = AtomicFile::create(&target).unwrap();
        let count = || fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(count(), 2);
        remove_unfinished(&target);
        assert_eq!((count(), fs::read(&target).unwrap()), (1, b"old".to_vec()));
        assert!(file.commit().is_err());
        assert_eq!(fs::read(&target).unwrap(), b"old");
    }
}
