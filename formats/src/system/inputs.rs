//! Files that are read as inputs: only what can be read as a file, and nothing that a result then replaces. What a program
//! [holds](super::held) in memory is found here in their place.

use std::fs::{File, FileType, Metadata, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::held::{self, Held, Pieces, Reader};
use crate::system::parallel::iterate::*;

/// What tells a file from all others, whatever it is called: its device and its number there.
type Identity = (u64, u64);

/// Every input that this process has read, in order.
static READ: Mutex<Vec<Identity>> = Mutex::new(Vec::new());

/// Inputs from this one on are not replaced by results.
static PROTECTED: AtomicUsize = AtomicUsize::new(usize::MAX);

/// An input that is read as a file.
pub enum Input {
    /// On disk.
    File(File),
    /// In memory.
    Held(Reader<Pieces>),
}

impl Input {
    /// Number of bytes.
    ///
    /// # Errors
    /// The system does not say.
    pub fn length(&self) -> io::Result<u64> {
        match self {
            Self::File(file) => file.metadata().map(|found| found.len()),
            Self::Held(held) => Ok(held.pieces().length()),
        }
    }

    /// Fills `out` with the bytes from `at` on; what is read next stays what it was.
    ///
    /// # Errors
    /// There are not so many, or the system cannot read them.
    pub fn read_exact_at(&self, out: &mut [u8], at: u64) -> io::Result<()> {
        match self {
            Self::File(file) => file.read_exact_at(out, at),
            Self::Held(held) => held.pieces().read_exact_at(out, at),
        }
    }
}

impl From<File> for Input {
    fn from(file: File) -> Self {
        Self::File(file)
    }
}

impl Read for Input {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.read(out),
            Self::Held(held) => held.read(out),
        }
    }
}

impl Seek for Input {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match self {
            Self::File(file) => file.seek(to),
            Self::Held(held) => held.seek(to),
        }
    }
}

/// Finds an input in memory, or opens the file.
///
/// # Errors
/// As for [`open`].
pub fn find(path: &Path) -> io::Result<Input> {
    match held::find(path) {
        Some(Held::File(pieces)) => Ok(Input::Held(pieces.into_reader())),
        _ => open(path).map(Input::File),
    }
}

/// Whether an input is a folder.
///
/// # Errors
/// There is no such input, or the system does not say.
pub fn is_folder(path: &Path) -> io::Result<bool> {
    if held::find(path).is_some() { Ok(false) } else { std::fs::metadata(path).map(|found| found.is_dir()) }
}

/// Opens an input on disk, and remembers that it was read.
///
/// # Errors
/// Anything but a regular file, which is said at once: to open a pipe would wait for its other end.
pub fn open(path: &Path) -> io::Result<File> {
    let file = open_regular(path)?;
    remember(&file.metadata()?);
    Ok(file)
}

/// Opens what a run may replace by its own results, such as the checkpoint that it goes on from.
///
/// # Errors
/// As for [`open`].
pub fn open_regular(path: &Path) -> io::Result<File> {
    refuse_others(&std::fs::metadata(path)?)?;
    // The file may have become a pipe since.
    let mut options = OpenOptions::new();
    options.read(true);
    // Miri knows no such flag.
    if !cfg!(miri) {
        options.custom_flags(libc::O_NONBLOCK);
    }
    let file = options.open(path)?;
    refuse_others(&file.metadata()?)?;
    Ok(file)
}

/// As [`open`], or a stream that another program has handed over by `/dev/stdin`, `/dev/fd/N` or the shell's `<(…)`.
///
/// # Errors
/// As for [`open`].
pub fn open_or_stream(path: &Path) -> io::Result<File> {
    if is_stream(path) { File::open(path) } else { open(path) }
}

/// A name of an open file of this process that is no regular file: it can be read once.
pub fn is_stream(path: &Path) -> bool {
    let is_handed_over = path == Path::new("/dev/stdin")
        || path.parent().is_some_and(|folder| folder == Path::new("/dev/fd") || folder == Path::new("/proc/self/fd"));
    is_handed_over && std::fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir())
}

/// The contents of an input.
///
/// # Errors
/// As for [`open`]; those of reading.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut input = find(path)?;
    let mut bytes = match &input {
        Input::File(file) => in_pieces(file),
        Input::Held(_) => Vec::new(),
    };
    // What is small, or has come since.
    input.seek(SeekFrom::Start(bytes.len() as u64))?;
    input.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The bytes of a large file, by all threads: the system copies each of them, into memory that it hands out meanwhile. None of a
/// small file, or of one that becomes shorter.
fn in_pieces(file: &File) -> Vec<u8> {
    const LARGE: u64 = 64 << 20;
    const PIECE: usize = 8 << 20;
    let length = file.metadata().map_or(0, |found| found.len());
    let Some(length) = usize::try_from(length).ok().filter(|_| length >= LARGE) else { return Vec::new() };
    // Where there is no memory for it, reading says so.
    if Vec::<u8>::new().try_reserve_exact(length).is_err() {
        return Vec::new();
    }
    let mut bytes = vec![0; length];
    let pieces = bytes.par_chunks_mut(PIECE).enumerate();
    let read = pieces.try_for_each(|(at, piece)| file.read_exact_at(piece, (at * PIECE) as u64));
    if read.is_ok() { bytes } else { Vec::new() }
}

/// The text of an input.
///
/// # Errors
/// As for [`open`]; those of reading; text that is not UTF-8.
pub fn read_to_string(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    find(path)?.read_to_string(&mut text)?;
    Ok(text)
}

fn refuse_others(found: &Metadata) -> io::Result<()> {
    let kind = found.file_type();
    if kind.is_file() {
        return Ok(());
    }
    let text = format!("it is {}, not a regular file: name a file", name_of(kind));
    Err(io::Error::new(io::ErrorKind::InvalidInput, text))
}

fn name_of(kind: FileType) -> &'static str {
    match kind {
        kind if kind.is_dir() => "a folder",
        kind if kind.is_fifo() => "a pipe",
        kind if kind.is_socket() => "a socket",
        _ => "a device",
    }
}

fn remember(found: &Metadata) {
    READ.lock().unwrap_or_else(PoisonError::into_inner).push(identity(found));
}

fn identity(found: &Metadata) -> Identity {
    (found.dev(), found.ino())
}

/// Whether two names lead to the same file.
pub fn is_same(a: &Path, b: &Path) -> bool {
    let of = |path| std::fs::metadata(path).ok().map(|found| identity(&found));
    of(a).is_some_and(|a| of(b) == Some(a))
}

/// A place in the order in which inputs are read, for [`is_read_since`].
pub fn mark() -> usize {
    READ.lock().unwrap_or_else(PoisonError::into_inner).len()
}

/// Whether this process has read the file that a path leads to, since that mark: under this name or another one.
pub fn is_read_since(mark: usize, path: &Path) -> bool {
    let Ok(found) = std::fs::metadata(path) else { return false };
    let read = READ.lock().unwrap_or_else(PoisonError::into_inner);
    read.get(mark..).unwrap_or_default().contains(&identity(&found))
}

/// Lets no result of this process replace an input that it reads from now on. For programs that end after one task.
pub fn protect() {
    PROTECTED.store(mark(), Ordering::Relaxed);
}

/// Fails for a file that was read as an input, where inputs are [protected](protect).
///
/// # Errors
/// It was.
pub(crate) fn check_result(path: &Path) -> io::Result<()> {
    if !is_read_since(PROTECTED.load(Ordering::Relaxed), path) {
        return Ok(());
    }
    let text = "it was read as an input, which no result replaces: give another name with -o";
    Err(io::Error::new(io::ErrorKind::InvalidInput, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_file_is_read_in_pieces() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(in_pieces(file.as_file()).is_empty());
        // 70 MB, mostly a hole.
        file.as_file().set_len(70_000_000).unwrap();
        for at in (0..70_000_000).step_by(999_983) {
            file.as_file().write_all_at(&[(at % 251) as u8 + 1], at).unwrap();
        }
        let expected = std::fs::read(file.path()).unwrap();
        assert!(in_pieces(file.as_file()) == expected && read(file.path()).unwrap() == expected);
    }

    #[test]
    fn files_are_known_by_what_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["a", "b"] {
            std::fs::write(at(name), name).unwrap();
        }
        std::fs::hard_link(at("a"), at("hard")).unwrap();
        std::os::unix::fs::symlink("a", at("soft")).unwrap();
        let before = mark();
        assert_eq!(read_to_string(&at("soft")).unwrap(), "a");
        for (name, expected) in [("a", true), ("hard", true), ("soft", true), ("b", false), ("none", false)] {
            assert_eq!(is_read_since(before, &at(name)), expected, "{name}");
        }
        // Another test may read at the same time.
        assert!(!is_read_since(mark(), &at("a")));
        assert!(
            is_same(&at("hard"), &at("soft")) && !is_same(&at("a"), &at("b")) && !is_same(&at("none"), &at("none"))
        );
    }

    #[test]
    fn what_is_no_file_is_refused_without_waiting() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let name = std::ffi::CString::new(pipe.to_str().unwrap()).unwrap();
        // SAFETY: a string with its zero.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        for (path, expected) in
            [(pipe.as_path(), "a pipe"), (folder.path(), "a folder"), (Path::new("/dev/null"), "a device")]
        {
            let error = open(path).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        assert!(!is_stream(&pipe) && !is_stream(&folder.path().join("none")));
    }
}
