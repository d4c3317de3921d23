//! The corpora of the fuzz targets, damaged in the same ways in every run: no input makes a reader panic, take long, or ask
//! for more memory than its size allows. `POGO_DAMAGE=100` damages each file a hundred times as often.

use std::alloc::{GlobalAlloc, Layout, System};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

#[path = "../../tests/fuzz/fuzz_targets/block_input.rs"]
mod block_input;
#[path = "../../tests/fuzz/fuzz_targets/image_input.rs"]
mod image_input;
#[path = "../../tests/fuzz/fuzz_targets/job_input.rs"]
mod job_input;
#[path = "../../tests/fuzz/fuzz_targets/mesh_input.rs"]
mod mesh_input;
#[path = "../../tests/fuzz/fuzz_targets/pogo_input.rs"]
mod pogo_input;

/// Counts the memory that is in use, and the most that was.
struct Counted;

static USED: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

impl Counted {
    fn add(bytes: usize) {
        let used = USED.fetch_add(bytes, Ordering::Relaxed) + bytes;
        MOST.fetch_max(used, Ordering::Relaxed);
    }
}

// SAFETY: every call goes on to the system's allocator with the same arguments.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        Self::add(layout.size());
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        Self::add(layout.size());
        // SAFETY: as the caller promises.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        USED.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        Self::add(size);
        USED.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static COUNTED: Counted = Counted;

/// Memory that a reader may take for any input, bytes, and for each byte of the input: deflate packs 1032 to 1, and a voxel of
/// a byte becomes a few.
const FIXED: usize = 64 << 20;
const A_BYTE: usize = 16 << 10;
/// Far more than any of these small files takes, on a busy machine too.
const LONGEST: Duration = Duration::from_secs(20);

/// One test at a time: the memory of another would be counted.
static ALONE: Mutex<()> = Mutex::new(());

/// Xorshift: the same numbers in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n.max(1)
    }
}

/// Numbers that break sizes, offsets and counts.
const WORDS: [&str; 8] = ["0", "-1", "4294967296", "1e400", "nan", "18446744073709551615", "9999999", "inf"];

/// Changes bytes, replaces numbers of two to eight bytes or of digits, cuts, repeats and moves pieces.
fn damage(bytes: &mut Vec<u8>, numbers: &mut Numbers) {
    let n = bytes.len();
    let at = numbers.below(n);
    match numbers.below(8) {
        0 | 1 if n > 0 => bytes[at] ^= 1 << numbers.below(8),
        2 if n > 0 => bytes[at] = [0, 0x7f, 0x80, 0xff][numbers.below(4)],
        3 | 4 => {
            let width = 1 << (1 + numbers.below(3));
            let value = [0u64, 1, u64::MAX, u64::MAX >> 1, 1 << 31, 1 << 16, n as u64, 1 << 40][numbers.below(8)];
            let value = if numbers.below(2) == 0 { value.to_le_bytes() } else { value.to_be_bytes() };
            let end = (at + width).min(n);
            bytes[at..end].copy_from_slice(&value[..end - at]);
        }
        5 => bytes.truncate(at),
        6 => {
            let end = (at + numbers.below(64)).min(n);
            let piece = bytes[at..end].to_vec();
            let to = numbers.below(n);
            bytes.splice(to..to, piece);
        }
        _ => {
            let digits = |byte: &u8| byte.is_ascii_digit();
            if let Some(start) = bytes[at..].iter().position(digits).map(|start| at + start) {
                let end = bytes[start..].iter().position(|byte| !digits(byte)).map_or(n, |length| start + length);
                bytes.splice(start..end, WORDS[numbers.below(WORDS.len())].bytes());
            }
        }
    }
}

fn corpus(name: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fuzz/corpus").join(name);
    files(&folder)
}

fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.is_file());
    paths.sort();
    paths.iter().map(|path| (path.display().to_string(), std::fs::read(path).unwrap())).collect()
}

/// A folder in memory where there is one: rewriting a file thousands of times makes some file systems flush.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// Reads each file as it is and damaged `n` times.
fn replay(files: &[(String, Vec<u8>)], n: usize, read: impl Fn(&[u8])) {
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    assert!(files.len() >= 4, "{} files", files.len());
    let factor: usize = std::env::var("POGO_DAMAGE").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    for (name, whole) in files {
        let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15 ^ whole.len() as u64);
        for round in 0..=n * factor {
            let mut bytes = whole.clone();
            (0..round.min(1 + numbers.below(4))).for_each(|_| damage(&mut bytes, &mut numbers));
            let (start, before) = (Instant::now(), USED.load(Ordering::Relaxed));
            MOST.store(before, Ordering::Relaxed);
            read(&bytes);
            let most = MOST.load(Ordering::Relaxed).saturating_sub(before);
            let bound = FIXED + A_BYTE * bytes.len();
            assert!(most <= bound, "{name}, round {round}: {most} bytes of memory for {} bytes", bytes.len());
            assert!(start.elapsed() < LONGEST, "{name}, round {round}: {:?}", start.elapsed());
        }
    }
}

#[test]
fn damaged_stacks_are_read_or_refused() {
    let folder = folder();
    for (name, bytes) in corpus("image") {
        assert!(image_input::read(&image_input::put(folder.path(), &bytes).unwrap()), "{name} is not read");
    }
    replay(&corpus("image"), 60, |bytes| {
        let path = image_input::put(folder.path(), bytes).unwrap();
        image_input::read(&path);
    });
}

#[test]
fn damaged_meshes_are_read_or_refused() {
    let folder = folder();
    replay(&corpus("mesh"), 60, |bytes| {
        let path = mesh_input::put(folder.path(), bytes).unwrap();
        if let Err(error) = pogo_formats::read::mesh::read(&path, &Default::default()) {
            assert!(!error.to_string().is_empty());
        }
    });
}

#[test]
fn damaged_pogo_files_are_read_or_refused() {
    let files = corpus("pogo");
    assert!(files.iter().all(|(_, bytes)| pogo_input::read(bytes)));
    replay(&files, 400, |bytes| {
        pogo_input::read(bytes);
    });
}

#[test]
fn damaged_block_files_are_read_or_refused() {
    let folder = folder();
    let path = folder.path().join("a.blk");
    replay(&corpus("block"), 40, |bytes| {
        let mut bytes = bytes.to_vec();
        std::fs::write(&path, &bytes).unwrap();
        let _ = block_input::read(&path);
        // Checksums that fit, so that the tables themselves are looked at.
        if pogo_formats::block::repair(&mut bytes) {
            std::fs::write(&path, &bytes).unwrap();
            let _ = block_input::read(&path);
        }
    });
}

#[test]
fn damaged_jobs_are_read_or_refused() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    let mut jobs = files(&examples);
    jobs.retain(|(name, _)| name.ends_with(".toml"));
    assert!(jobs.iter().all(|(_, bytes)| job_input::read(bytes, &examples)));
    replay(&jobs, 100, |bytes| {
        job_input::read(bytes, &examples);
    });
}
