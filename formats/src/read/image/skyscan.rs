//! The logs that Bruker's SkyScan programs put beside their slices.

use std::io::Read;
use std::path::PathBuf;

use super::{Header, are_edges};
use crate::system::inputs;

/// Most bytes that are read of a log.
const LONGEST: u64 = 1 << 20;

/// Edges of a voxel, µm: the reconstruction's pixel, or else the scan's, and as much from a section to the next unless some
/// were left out.
fn edges(log: &str) -> Option<[f64; 3]> {
    let value = |key: &str| {
        log.lines().find_map(|line| {
            let (name, value) = line.split_once('=')?;
            name.trim().eq_ignore_ascii_case(key).then(|| value.trim().replace(',', ".").parse::<f64>().ok())?
        })
    };
    let pixel = value("Pixel Size (um)").or_else(|| value("Image Pixel Size (um)"))?;
    let edges = [pixel, pixel, pixel * value("Section to Section Step").unwrap_or(1.0)];
    Some(edges).filter(are_edges)
}

/// Takes the size of voxels from the logs of a folder, where the slices do not have it and the logs agree.
pub(super) fn add_spacing(header: &mut Header, logs: &[PathBuf]) {
    let mut found: Vec<(String, [f64; 3])> = Vec::new();
    for path in logs {
        let mut bytes = Vec::new();
        let read = inputs::open(path).and_then(|file| file.take(LONGEST).read_to_end(&mut bytes));
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        match (read, edges(&String::from_utf8_lossy(&bytes))) {
            (Ok(_), Some(edges)) => found.push((name.into_owned(), edges)),
            (Ok(_), None) => {}
            (Err(error), _) => header.notes.push(format!("{name} cannot be read: {error}")),
        }
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    let Some((name, edges)) = found.first() else { return };
    let [x, _, z] = edges;
    if header.spacing.is_some() {
        header.notes.push(format!("{name} is not used: the slices say how large their voxels are"));
    } else if let Some((other, differ)) = found.iter().find(|(_, other)| other != edges) {
        header.notes.push(format!(
            "{name} gives pixels of {x} µm with {z} µm between sections, {other} of {} and {}: neither is used",
            differ[0], differ[2]
        ));
    } else {
        header.notes.push(format!("the size of voxels is from {name}: {x} µm, {z} µm between sections"));
        header.spacing = Some(edges.map(|edge| (edge * 1e9).round() / 1e12));
    }
}
