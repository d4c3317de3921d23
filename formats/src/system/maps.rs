//! Files that are mapped into memory, and what becomes of a process when one of them is cut meanwhile.
//!
//! Reading behind the new end of a mapped file raises SIGBUS. A program that has called [`tell_of_cut_files`] then ends with
//! a message that names the file.

use std::ffi::{CString, c_char, c_int, c_void};
use std::fs::File;
use std::io;
use std::ops::Deref;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

#[cfg(not(miri))]
use memmap2::Mmap;

use crate::exit_code;
use crate::write::remove_unfinished;

/// More files than are mapped at the same time; what goes beyond has no name in the message.
const MOST: usize = 256;

/// One mapped file, as the signal handler sees it.
struct Place {
    /// Null where there is none.
    name: AtomicPtr<c_char>,
    /// Addresses of its bytes; an end of 0 holds none.
    start: AtomicUsize,
    end: AtomicUsize,
}

static MAPPED: [Place; MOST] =
    [const { Place { name: AtomicPtr::new(null_mut()), start: AtomicUsize::new(0), end: AtomicUsize::new(0) } }; MOST];

/// The bytes of a file, mapped to be read.
#[derive(Debug)]
pub struct Map {
    place: Option<&'static Place>,
    map: Bytes,
}

#[cfg(not(miri))]
type Bytes = Mmap;

#[cfg(not(miri))]
fn map(file: &File) -> io::Result<Bytes> {
    // SAFETY: a map must not change while slices of it are used. This process never writes to it: the map is read-only, and
    // Pogo replaces files by renaming. That no other process changes the file in place cannot be enforced; the documentation
    // of `BlockFile` and SECURITY.md ask it of the user. One that is cut raises SIGBUS.
    unsafe { Mmap::map(file) }
}

/// Miri, which looks for undefined behaviour, knows no maps of files.
#[cfg(miri)]
type Bytes = rkyv::util::AlignedVec<64>;

#[cfg(miri)]
fn map(mut file: &File) -> io::Result<Bytes> {
    let (mut bytes, mut aligned) = (Vec::new(), Bytes::new());
    io::Read::read_to_end(&mut file, &mut bytes)?;
    aligned.extend_from_slice(&bytes);
    Ok(aligned)
}

impl std::fmt::Debug for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Place")
    }
}

impl Map {
    /// Maps a whole file.
    ///
    /// # Errors
    /// The system maps no more, or not this kind of file.
    pub fn new(path: &Path, file: &File) -> io::Result<Self> {
        let map = map(file)?;
        Ok(Self { place: enter(path, &map), map })
    }

    /// The map itself.
    #[cfg(not(miri))]
    pub(crate) fn map(&self) -> &Mmap {
        &self.map
    }
}

impl Deref for Map {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.map
    }
}

fn enter(path: &Path, bytes: &[u8]) -> Option<&'static Place> {
    let name = CString::new(path.as_os_str().as_bytes()).ok()?.into_raw();
    let free =
        |place: &&Place| place.name.compare_exchange(null_mut(), name, Ordering::AcqRel, Ordering::Relaxed).is_ok();
    let Some(place) = MAPPED.iter().find(free) else {
        // SAFETY: it comes from `into_raw` just before.
        drop(unsafe { CString::from_raw(name) });
        return None;
    };
    let start = bytes.as_ptr() as usize;
    place.start.store(start, Ordering::Release);
    place.end.store(start + bytes.len(), Ordering::Release);
    Some(place)
}

impl Drop for Map {
    fn drop(&mut self) {
        if let Some(place) = self.place {
            place.end.store(0, Ordering::Release);
            let name = place.name.swap(null_mut(), Ordering::AcqRel);
            // SAFETY: it comes from `into_raw` in `enter`, and only the map that has the place takes it out.
            drop(unsafe { CString::from_raw(name) });
        }
    }
}

/// What SIGBUS did before.
static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

/// Makes a mapped file that is cut while it is read end the process with a message and [`exit_code::BAD_INPUT`].
///
/// # Errors
/// The system lets the signal not be caught.
pub fn tell_of_cut_files() -> io::Result<()> {
    // SAFETY: a zeroed `sigaction` is a valid one, and the handler does nothing that a handler may not do.
    unsafe {
        let mut before: libc::sigaction = std::mem::zeroed();
        if libc::sigaction(libc::SIGBUS, std::ptr::null(), &mut before) != 0 {
            return Err(io::Error::last_os_error());
        }
        BEFORE.get_or_init(|| before);
        let mut action: libc::sigaction = std::mem::zeroed();
        let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = on_bus_error;
        action.sa_sigaction = handler as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        match libc::sigaction(libc::SIGBUS, &action, null_mut()) {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

extern "C" fn on_bus_error(signal: c_int, info: *mut libc::siginfo_t, _: *mut c_void) {
    // SAFETY: the system passes the structure of this signal.
    let address = unsafe { (*info).si_addr() } as usize;
    let holds =
        |place: &&Place| (place.start.load(Ordering::Acquire)..place.end.load(Ordering::Acquire)).contains(&address);
    if let Some(place) = MAPPED.iter().find(holds) {
        let name = place.name.load(Ordering::Acquire);
        remove_unfinished();
        // SAFETY: all of these may be called in a handler; the name stays as long as the file is mapped.
        unsafe {
            libc::write(2, name.cast(), libc::strlen(name));
            let text = ": error: the file was cut while it was in use; make it again, and leave it alone until the run is done\n";
            libc::write(2, text.as_ptr().cast(), text.len());
            libc::_exit(exit_code::BAD_INPUT);
        }
    }
    // Not ours: the same access happens again, to what was there before.
    let before = BEFORE.get().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: the action is one that the system gave, or none, and then the default takes its place.
    unsafe {
        if before.is_null() || libc::sigaction(signal, before, null_mut()) != 0 {
            libc::signal(signal, libc::SIG_DFL);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_is_known_as_long_as_it_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.blk");
        std::fs::write(&path, "twelve bytes").unwrap();
        let map = Map::new(&path, &File::open(&path).unwrap()).unwrap();
        assert_eq!(&*map, b"twelve bytes");
        let start = map.as_ptr() as usize;
        let is_known = || {
            MAPPED.iter().any(|place| {
                place.start.load(Ordering::Acquire) == start && place.end.load(Ordering::Acquire) == start + 12
            })
        };
        assert!(is_known());
        drop(map);
        assert!(!is_known());
    }
}
