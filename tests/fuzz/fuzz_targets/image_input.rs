// How the fuzz target and the replay of its corpus make a stack of bytes and read it. The first bytes decide the name; slices
// stand in a folder, and what has no header is raw.

use std::path::{Path, PathBuf};

use pogo_formats::job::JobFile as _;
use pogo_formats::read::image::{self, ImageOptions};
use pogo_formats::voxel::job::VoxelJob;

/// Voxels above 1 are solid; lengths of a header do not matter.
const JOB: &str = "[image]\nspacing = 1\n[material]\nlaw = \"threshold\"\nthreshold = 1\nyoung = 1\npoisson = 0.3\n";

/// Puts the bytes into the folder; gives the stack to read.
pub fn put(folder: &Path, bytes: &[u8]) -> std::io::Result<PathBuf> {
    let is = |start: &[u8]| bytes.starts_with(start);
    let slice = match bytes {
        _ if is(b"\x89PNG") => Some("1.png"),
        _ if is(b"BM") => Some("1.bmp"),
        _ => None,
    };
    if let Some(name) = slice {
        let slices = folder.join("slices");
        let _ = std::fs::remove_dir_all(&slices);
        std::fs::create_dir_all(&slices)?;
        std::fs::write(slices.join(name), bytes)?;
        return Ok(slices);
    }
    let has = |what: &[u8]| bytes[..bytes.len().min(1024)].windows(what.len()).any(|window| window == what);
    let name = match bytes {
        _ if is(b"\x1f\x8b") => "a.nii.gz",
        _ if is(b"PK\x03\x04") => "a.npz",
        _ if has(b"ElementDataFile") => "a.mha",
        _ if has(b"CTDATA") || has(b"NRRD") || has(b"NUMPY") || has(b"HDF") || bytes.len() < 24 => "a.bin",
        _ => "a.any",
    };
    std::fs::write(folder.join(name), bytes)?;
    Ok(folder.join(name))
}

/// Reads a stack by layers, and as a grid; true when both could be done.
pub fn read(path: &Path) -> bool {
    let layers = image::open(path, &ImageOptions::default()).and_then(|mut stack| {
        let (mut samples, n) = (Vec::new(), stack.n_layers());
        stack.read_layers(n - 1..n, &mut samples)?;
        stack.read_layers(0..1, &mut samples)?;
        stack.finish()
    });
    let _ = image::parosol_conditions(path);
    let Ok(job) = VoxelJob::parse(JOB, "job.toml", Path::new("")) else { return false };
    let grid = job.image.voxel_grid(path, &job.law());
    if let Ok((grid, report)) = &grid {
        assert_eq!(grid.n_voxels(), report.size.iter().product::<usize>());
        assert_eq!(report.solid + report.void, grid.n_voxels() as u64);
    }
    layers.is_ok() && grid.is_ok()
}
