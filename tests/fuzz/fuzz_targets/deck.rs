//! No bytes make the deck reader panic, hang, or ask for much memory; whatever it reads, it can finish or refuse.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use pogo_formats::read::deck::{ReadOptions, read_bytes};

fuzz_target!(|bytes: &[u8]| {
    let springs = ReadOptions { lines: true, ..ReadOptions::default() };
    let _ = read_bytes(Path::new("fuzz.inp"), bytes, &springs);
    for job in [false, true] {
        let options = ReadOptions {
            job_sets_time: job,
            require_step: !job,
            split_second_order: job,
            ..ReadOptions::default()
        };
        if let Ok(mut deck) = read_bytes(Path::new("fuzz.inp"), bytes, &options) {
            if job && !deck.sections.is_empty() {
                deck.assign_section(None, 0);
            }
            let _ = deck.finish();
        }
    }
});
