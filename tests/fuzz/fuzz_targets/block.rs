//! Any bytes as a block file: opening, reading every table and verifying never panic, whatever they answer.
//!
//! `cargo +nightly fuzz run block --fuzz-dir tests/fuzz`

#![no_main]

use std::hint::black_box;

use libfuzzer_sys::fuzz_target;
use pogo_formats::block::BlockFile;

fuzz_target!(|bytes: &[u8]| {
    let path = std::env::temp_dir().join(format!("pogo-fuzz-{}.blk", std::process::id()));
    if std::fs::write(&path, bytes).is_err() {
        return;
    }
    if let Ok(file) = BlockFile::open(&path) {
        let (mesh, blocks) = (file.mesh(), file.blocks());
        black_box(format!("{mesh:?} {blocks:?} {:?} {:?} {:?}", file.device(), file.setup(), file.statistics()));
        for block in 0..blocks.n_blocks() {
            black_box((blocks.own_nodes(block), blocks.halo(block).len(), blocks.runs(block).count()));
            black_box(file.device().colours(block).count());
        }
        let _ = black_box(file.verify());
    }
});
