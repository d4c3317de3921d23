//! Any bytes as a block file, as they are and with checksums that fit: opening, reading every table and verifying never
//! panic, whatever they answer.
//!
//! `cargo +nightly fuzz run block --fuzz-dir tests/fuzz`

#![no_main]

mod block_input;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let path = std::env::temp_dir().join(format!("pogo-fuzz-{}.blk", std::process::id()));
    let mut bytes = bytes.to_vec();
    if std::fs::write(&path, &bytes).is_err() {
        return;
    }
    let _ = block_input::read(&path);
    // Without this step few inputs get past the header.
    if pogo_formats::block::repair(&mut bytes) && std::fs::write(&path, &bytes).is_ok() {
        let _ = block_input::read(&path);
    }
});
