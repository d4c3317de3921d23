//! No text makes the readers of jobs panic, hang, or ask for much memory.
//!
//! `cargo +nightly fuzz run job --fuzz-dir tests/fuzz`

#![no_main]

mod job_input;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    // No folder has the files that a job may name.
    job_input::read(bytes, std::path::Path::new("absent"));
});
