//! Memory: how much this process may use, and how it ends when there is no more.
//!
//! What is large is estimated before it is allocated, and compared with the [`Limit`]. Where an allocation fails all the
//! same, a program with [`Watched`] as its allocator ends with a message that names its input.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ffi::{CString, c_char, c_int};
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};

use crate::exit_code;
use crate::write::remove_unfinished;

/// How much memory this process may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// Bytes.
    pub bytes: u64,
    /// What sets the limit, as the end of a sentence.
    pub source: &'static str,
}

impl Limit {
    /// What the user allows, the machine has, its container leaves (cgroup), or `ulimit` does: the least of these.
    pub fn new(asked: Option<u64>) -> Self {
        let held = Some(HELD.load(Ordering::Relaxed)).filter(|bytes| *bytes > 0);
        let asked = asked.or(held).map(|bytes| Self { bytes, source: "that --memory allows" });
        let machine = Some(Self { bytes: machine(), source: "that this machine has" });
        let container = container().map(|bytes| Self { bytes, source: "that the container or job (cgroup) may use" });
        let limits = [asked, machine, container, address_space()];
        let none = Self { bytes: u64::MAX, source: "" };
        limits.into_iter().flatten().min_by_key(|limit| limit.bytes).unwrap_or(none)
    }

    /// Fails for a need beyond the limit.
    ///
    /// # Errors
    /// What needs the memory, how much, and what to do.
    pub fn check(self, need: &Need) -> Result<(), MemoryError> {
        if need.bytes() <= self.bytes as f64 { Ok(()) } else { Err(MemoryError { need: need.clone(), limit: self }) }
    }
}

/// An estimate of the memory that something needs, by its parts.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Need(Vec<(&'static str, f64)>);

impl Need {
    /// Adds a part, in bytes.
    pub fn add(&mut self, what: &'static str, bytes: f64) {
        self.0.push((what, bytes));
    }

    /// Adds all parts of another need.
    pub fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Of all parts, bytes.
    pub fn bytes(&self) -> f64 {
        self.0.iter().map(|(_, bytes)| bytes).sum()
    }
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "about {}", size(self.bytes()))?;
        let mut parts: Vec<_> = self.0.iter().filter(|(_, bytes)| *bytes >= 0.1 * self.bytes()).collect();
        parts.sort_by(|a, b| b.1.total_cmp(&a.1));
        if parts.len() > 1 || self.0.len() > parts.len() {
            let parts: Vec<String> =
                parts.into_iter().map(|(what, bytes)| format!("{} {what}", size(*bytes))).collect();
            write!(f, " ({})", parts.join(", "))?;
        }
        Ok(())
    }
}

/// More memory is needed than may be used.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryError {
    need: Need,
    limit: Limit,
}

impl std::error::Error for MemoryError {}

impl fmt::Display for MemoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (limit, source) = (size(self.limit.bytes as f64), self.limit.source);
        write!(f, "it needs {} of memory, more than the {limit} {source}", self.need)
    }
}

/// Bytes in the largest unit that leaves a number of at least 1, as text.
pub fn size(bytes: f64) -> String {
    let units = [(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    match units.into_iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) => format!("{:.1} {name}", bytes / unit),
        None => format!("{bytes:.0} bytes"),
    }
}

/// Bytes of `8G`, `500M`, `1.5GB`, `8GiB`: with a power of ten, or of two where the unit has an `i`.
///
/// # Errors
/// What else was found, as the end of a sentence.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let at = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(at);
    let factor = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "k" | "kb" => 1e3,
        "m" | "mb" => 1e6,
        "g" | "gb" => 1e9,
        "t" | "tb" => 1e12,
        "kib" => 1024.0,
        "mib" => 1024.0 * 1024.0,
        "gib" => 1024.0 * 1024.0 * 1024.0,
        "tib" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        _ => f64::NAN,
    };
    let bytes = number.trim().parse().map_or(f64::NAN, |number: f64| number * factor);
    if bytes >= 1.0 && bytes < u64::MAX as f64 {
        return Ok(bytes as u64);
    }
    Err("expected a number of bytes, such as 8G, 500M or 2GiB".into())
}

fn text(path: impl AsRef<Path>) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

/// Kilobytes that a line of a file of `/proc` says.
fn kilobytes(file: &str, name: &str) -> Option<u64> {
    let text = text(file)?;
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

fn machine() -> u64 {
    kilobytes("/proc/meminfo", "MemTotal").map_or(u64::MAX, |kilobytes| kilobytes.saturating_mul(1024))
}

/// The least limit of the control groups that this process is in, of both versions.
fn container() -> Option<u64> {
    let groups = text("/proc/self/cgroup")?;
    let limits = groups.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?);
        let (root, file) = match controllers {
            "" => ("/sys/fs/cgroup", "memory.max"),
            _ if controllers.split(',').any(|name| name == "memory") => {
                ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
            }
            _ => return None,
        };
        least_of_groups(Path::new(root), path, file)
    });
    limits.min()
}

/// Of a group and those round it. Inside a container the group's own path may not be there, and the root is that of the container.
fn least_of_groups(root: &Path, path: &str, file: &str) -> Option<u64> {
    let group = root.join(path.trim_start_matches('/'));
    let folders = group.ancestors().take_while(|folder| folder.starts_with(root));
    folders.filter_map(|folder| text(folder.join(file))?.trim().parse().ok()).min()
}

/// What `ulimit -v` and `ulimit -d` leave.
fn address_space() -> Option<Limit> {
    let left = |resource, used: &str, source| {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: it writes one structure.
        let known = unsafe { libc::getrlimit(resource, &mut limit) } == 0 && limit.rlim_cur != libc::RLIM_INFINITY;
        let used = kilobytes("/proc/self/status", used).unwrap_or(0).saturating_mul(1024);
        known.then(|| Limit { bytes: limit.rlim_cur.saturating_sub(used), source })
    };
    let space = left(libc::RLIMIT_AS, "VmSize", "that ulimit -v leaves");
    let data = left(libc::RLIMIT_DATA, "VmData", "that ulimit -d leaves");
    space.into_iter().chain(data).min_by_key(|limit| limit.bytes)
}

/// The system's allocator, which remembers that it has failed, and asks for large pages for large allocations.
#[derive(Debug)]
pub struct Watched;

/// Bytes of the last allocation that failed.
static FAILED: AtomicUsize = AtomicUsize::new(0);

fn watched(pointer: *mut u8, bytes: usize) -> *mut u8 {
    if pointer.is_null() {
        FAILED.store(bytes.max(1), Ordering::Relaxed);
    } else if bytes >= LARGE {
        ask_for_large_pages(pointer, bytes);
    }
    pointer
}

/// Bytes from which on an allocation asks for large pages.
const LARGE: usize = 2 * LARGE_PAGE;
/// Bytes of a large page of x86-64.
const LARGE_PAGE: usize = 2 << 20;

/// Asks for large pages within an allocation. The system then clears 2 MB at a time instead of 4 kB, threads that touch new memory
/// wait for each other 512 times less often, and the processor finds an address with fewer steps. Many systems give them only to
/// those who ask (`/sys/kernel/mm/transparent_hugepage/enabled`).
fn ask_for_large_pages(pointer: *mut u8, bytes: usize) {
    #[cfg(all(target_os = "linux", not(miri)))]
    {
        let before = pointer.align_offset(LARGE_PAGE);
        let length = bytes.saturating_sub(before) / LARGE_PAGE * LARGE_PAGE;
        if length > 0 {
            // SAFETY: whole pages within the allocation; the advice changes nothing of what they hold. If it is not taken, small pages
            // do as well.
            unsafe { libc::madvise(pointer.add(before).cast(), length, libc::MADV_HUGEPAGE) };
        }
    }
    let _ = (pointer, bytes);
}

// SAFETY: all is left to the system's allocator.
unsafe impl GlobalAlloc for Watched {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        watched(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        watched(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: as the caller promises.
        watched(unsafe { System.realloc(pointer, layout, bytes) }, bytes)
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// The input that this process works on.
static INPUT: AtomicPtr<c_char> = AtomicPtr::new(null_mut());

/// Makes an allocation that fails end the process with a message that names its `input`, and [`exit_code::BAD_INPUT`]. The
/// program's allocator has to be [`Watched`].
pub fn tell_of_no_memory(input: &Path) {
    if let Ok(name) = CString::new(input.as_os_str().as_bytes()) {
        // Never freed: a handler may read it at any time.
        INPUT.store(name.into_raw(), Ordering::Release);
    }
    let handler: extern "C" fn(c_int) = on_abort;
    // SAFETY: the handler does nothing that a handler may not do.
    unsafe { libc::signal(libc::SIGABRT, handler as usize) };
}

/// The standard library says how much was asked for, and aborts.
extern "C" fn on_abort(signal: c_int) {
    let name = INPUT.load(Ordering::Acquire);
    // SAFETY: all of these may be called in a handler; the name stays for ever.
    unsafe {
        if FAILED.load(Ordering::Relaxed) == 0 {
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
            return;
        }
        remove_unfinished();
        if !name.is_null() {
            libc::write(2, name.cast(), libc::strlen(name));
            libc::write(2, c": ".as_ptr().cast(), 2);
        }
        let text = "error: there is no memory left for this model; free some, raise the limit (ulimit -v), or make the model smaller\n";
        libc::write(2, text.as_ptr().cast(), text.len());
        libc::_exit(exit_code::BAD_INPUT);
    }
}

/// The process is here for one command.
static OWN_PROCESS: AtomicBool = AtomicBool::new(false);

/// Says that this process is here for one command alone, whose needs decide on its heap and its limits. Before that, and in
/// a program that does other things, too, both stay as they are.
pub fn own_process() {
    OWN_PROCESS.store(true, Ordering::Relaxed);
}

/// Whether this process is here for one command alone.
pub fn is_own_process() -> bool {
    OWN_PROCESS.load(Ordering::Relaxed)
}

/// Lets every two of `n_threads` threads that start from now on share a heap: what one has freed the other can use. One heap for
/// all would keep the least memory, but of sixteen threads most would wait for it. Does nothing where the C library is not glibc,
/// and where the process is not [the command's own](own_process).
pub fn share_heaps(n_threads: usize) {
    set_most_heaps(if is_limited() { 1 } else { (n_threads / 2).max(1) });
}

/// Lets threads that start from now on have no heaps of their own where the addresses of this process are limited. Each heap of a
/// thread reserves 64 MB of them, and glibc tries to make one in every allocation of a thread that has got none: a hundred times
/// as slow.
pub fn share_one_heap_if_limited() {
    if is_limited() {
        set_most_heaps(1);
    }
}

/// Whether the addresses of this process are limited, of which each thread takes 2 MB for its stack.
pub(crate) fn is_limited() -> bool {
    address_space().is_some()
}

fn set_most_heaps(n: usize) {
    if !is_own_process() {
        return;
    }
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: of glibc; it may be called at any time.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, libc::c_int::try_from(n).unwrap_or(libc::c_int::MAX));
    }
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    let _ = n;
}

/// What [`hold`] allows, bytes; 0 for all there is.
static HELD: AtomicU64 = AtomicU64::new(0);

/// Lets this process allocate no more than so many bytes from now on, whatever was estimated; every later [`Limit`] knows it.
/// Does nothing where the process is not [the command's own](own_process): the limit would stay.
pub fn hold(bytes: u64) {
    if !is_own_process() {
        return;
    }
    HELD.store(bytes, Ordering::Relaxed);
    let used = kilobytes("/proc/self/status", "VmData").unwrap_or(0).saturating_mul(1024);
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: both calls take one structure.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_DATA, &mut limit) == 0 {
            limit.rlim_cur = limit.rlim_cur.min(bytes.saturating_add(used) as libc::rlim_t);
            libc::setrlimit(libc::RLIMIT_DATA, &limit);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        for (text, expected) in [
            ("8G", 8_000_000_000),
            ("500M", 500_000_000),
            ("1.5 GB", 1_500_000_000),
            ("2GiB", 2 << 30),
            ("12345", 12345),
        ] {
            assert_eq!(parse_size(text), Ok(expected), "{text}");
        }
        for text in ["", "G", "-1G", "0", "8X", "nan", "inf", "1e30", "8 G B"] {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_least_limit_holds_and_is_named() {
        let none = Limit::new(None);
        assert!(none.bytes > 1 << 20 && none.bytes <= machine(), "{none:?}");
        let asked = Limit::new(Some(1 << 20));
        assert_eq!(asked.bytes, 1 << 20);
        let mut need = Need::default();
        need.add("for traces", 3e6);
        need.add("for names", 1e3);
        let error = asked.check(&need).unwrap_err().to_string();
        assert_eq!(
            error,
            "it needs about 3.0 MB (3.0 MB for traces) of memory, more than the 1.0 MB that --memory allows"
        );
        assert_eq!(none.check(&need), Ok(()));
    }

    #[test]
    fn the_groups_round_a_group_count() {
        let root = tempfile::tempdir().unwrap();
        let inner = root.path().join("slurm/job");
        std::fs::create_dir_all(&inner).unwrap();
        let write =
            |folder: &str, text: &str| std::fs::write(root.path().join(folder).join("memory.max"), text).unwrap();
        write("slurm/job", "max\n");
        let least = |path| least_of_groups(root.path(), path, "memory.max");
        assert_eq!(least("/slurm/job"), None);
        write("slurm", "4096\n");
        write("", "8192\n");
        assert_eq!(least("/slurm/job"), Some(4096));
        assert_eq!(least("/of/the/host"), Some(8192));
    }
}
