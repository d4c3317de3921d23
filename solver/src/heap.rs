//! Memory: what is given back to the system, and what is kept for what comes next. All of it is done only in a process that is
//! the command's own.

use pogo_formats::system::memory::is_own_process;

/// Sets a parameter of the C library's heap. Does nothing where that is not glibc's.
fn set_heap(parameter: i32, value: i32) {
    if !is_own_process() {
        return;
    }
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        unsafe extern "C" {
            fn mallopt(parameter: i32, value: i32) -> i32;
        }
        // SAFETY: of glibc; it may be called at any time.
        unsafe { mallopt(parameter, value) };
    }
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    let _ = (parameter, value);
}

const M_TRIM_THRESHOLD: i32 = -1;
const M_MMAP_THRESHOLD: i32 = -3;
const M_MMAP_MAX: i32 = -4;

/// Makes every large allocation a mapping of its own, which goes when it is freed; else what setting up has freed stays in holes
/// of the heap.
pub(crate) fn return_large_blocks() {
    set_heap(M_MMAP_THRESHOLD, 1 << 17);
}

/// Keeps what is freed for what is allocated next: half as many new pages, which the system has to clear. The holes that stay
/// are a twentieth of a large model's memory (a third of the host's where a device has the vectors), and too much of a small one's.
pub(crate) fn keep_freed_blocks() {
    set_heap(M_MMAP_MAX, 0);
    set_heap(M_TRIM_THRESHOLD, i32::MAX);
}

/// Gives back the pages of code that only starting and setting up have needed, several MB of a small model's memory: what is run
/// again comes back from the file. Returns the bytes of code that this is about. Does nothing on systems other than Linux.
#[cfg(target_os = "linux")]
pub(crate) fn forget_code() -> usize {
    unsafe extern "C" {
        fn madvise(address: *mut std::ffi::c_void, length: usize, advice: i32) -> i32;
    }
    const MADV_DONTNEED: i32 = 4;
    if !is_own_process() {
        return 0;
    }
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let code = maps.lines().filter_map(|line| {
        let mut words = line.split_ascii_whitespace();
        let (range, access) = (words.next()?, words.next()?);
        let from_file = words.nth(3).is_some_and(|path| path.starts_with('/'));
        let (first, end) = range.split_once('-')?;
        let (first, end) = (usize::from_str_radix(first, 16).ok()?, usize::from_str_radix(end, 16).ok()?);
        // Nothing has ever been written there.
        (access == "r-xp" && from_file && first < end).then_some((first, end - first))
    });
    code.map(|(first, length)| {
        let address = std::ptr::with_exposed_provenance_mut(first);
        // SAFETY: a mapping of this process, read-only and from a file: its pages are the same when they come back.
        if unsafe { madvise(address, length, MADV_DONTNEED) } == 0 { length } else { 0 }
    })
    .sum()
}

/// There is nothing to do.
#[cfg(not(target_os = "linux"))]
pub(crate) fn forget_code() -> usize {
    0
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn code_comes_back() {
        assert_eq!(forget_code(), 0, "another program's code stays");
        pogo_formats::system::memory::own_process();
        return_large_blocks();
        assert!(forget_code() > 100_000, "these tests are more code than that");
        let sum: u64 = vec![1_u64; 1 << 20].iter().sum();
        assert_eq!(sum, 1 << 20);
    }
}
