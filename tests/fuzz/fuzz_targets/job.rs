//! No text makes the readers of jobs panic, hang, or ask for much memory.
//!
//! `cargo +nightly fuzz run job --fuzz-dir tests/fuzz`

#![no_main]

mod job_input;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    job_input::read(bytes);
});
