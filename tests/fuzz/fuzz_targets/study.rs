//! No text makes the reader of studies panic, hang, or ask for much memory.
//!
//! `cargo +nightly fuzz run study --fuzz-dir tests/fuzz`

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let path = std::env::temp_dir().join(format!("pogo-fuzz-study-{}.toml", std::process::id()));
    if std::fs::write(&path, bytes).is_ok() {
        let _ = pogo_solver::study::read(&path);
    }
});
