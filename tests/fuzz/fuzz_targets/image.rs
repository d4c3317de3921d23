//! No bytes make a reader of voxel stacks panic, hang, or ask for much memory.
//!
//! `cargo +nightly fuzz run image --fuzz-dir tests/fuzz`

#![no_main]

mod image_input;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let folder = std::env::temp_dir().join(format!("pogo-fuzz-image-{}", std::process::id()));
    if std::fs::create_dir_all(&folder).is_err() {
        return;
    }
    if let Ok(path) = image_input::put(&folder, bytes) {
        image_input::read(&path);
    }
});
