// How the fuzz target and the replay of its corpus read a .pogo-inp file: with and without a job, as a mesh alone, and finished.

use std::path::Path;

use pogo_formats::read::deck::pogo::{PogoOptions, ShearOrder};
use pogo_formats::read::deck::{ReadOptions, read_bytes};

/// Reads the bytes; true when they are a model.
pub fn read(bytes: &[u8]) -> bool {
    let path = Path::new("a.pogo-inp");
    let mesh = ReadOptions { mesh_only: true, ..ReadOptions::default() };
    let _ = read_bytes(path, bytes, &mesh);
    let pogo = PogoOptions { shear_order: ShearOrder::Voigt, tie_base: Some(0), abaqus_orientations: true };
    let ignore = vec!["MPI".to_owned()];
    let options = ReadOptions { pogo, ignore, job_sets_time: true, ..ReadOptions::default() };
    let _ = read_bytes(path, bytes, &options).and_then(|deck| deck.finish());
    match read_bytes(path, bytes, &ReadOptions::default()).and_then(|deck| deck.finish()) {
        Ok(_) => true,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            false
        }
    }
}
