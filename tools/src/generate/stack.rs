//! Writes stacks of 8-bit voxels, some layers at a time: `.npy`, `.nrrd`, or `.tif` (BigTIFF above 4 GB).

use std::io::{self, Write};
use std::path::Path;

use pogo_formats::write::write_atomically;

use super::{GenerateError, refuse};

/// Value of a solid voxel in the stacks that are generated.
pub const SOLID: u8 = 255;

/// Bytes of layers that are made at a time.
const SLAB: usize = 16 << 20;

/// What a written stack holds.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct StackSummary {
    /// Voxels along x, y and z.
    pub size: [usize; 3],
    /// Voxels that are not 0.
    pub solid: u64,
    /// Their share.
    pub fraction: f64,
}

impl std::fmt::Display for StackSummary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [x, y, z] = self.size;
        write!(f, "{x} × {y} × {z} voxels, {} solid ({:.2} %)", self.solid, 100.0 * self.fraction)
    }
}

/// Writes a stack of the given size (x, y, z) and edge of a voxel (mm). `fill` is called with the first layer and the voxels
/// of one or several layers, x fastest, layer after layer.
///
/// # Errors
/// [`GenerateError::Option`] for a name that has none of the known extensions, a size that is 0 or cannot be counted;
/// [`GenerateError::Write`] for the file.
pub fn save_stack(
    path: &Path,
    size: [usize; 3],
    spacing: f64,
    mut fill: impl FnMut(usize, &mut [u8]),
) -> Result<StackSummary, GenerateError> {
    let extension = path.extension().map(|extension| extension.to_string_lossy().to_lowercase()).unwrap_or_default();
    if !["npy", "nrrd", "tif", "tiff"].contains(&extension.as_str()) {
        let path = path.display();
        return refuse(format!("{path}: the name of a stack ends with .npy, .nrrd or .tif: give one with -o"));
    }
    let [nx, ny, nz] = size;
    let layer = nx.checked_mul(ny).filter(|&n| n > 0 && nz > 0);
    let all = layer.and_then(|n| n.checked_mul(nz)).filter(|&n| n < 1 << 46);
    let (Some(layer), Some(all)) = (layer, all) else {
        return refuse(format!("a stack of {nx} × {ny} × {nz} voxels cannot be made"));
    };
    if !(spacing.is_finite() && spacing > 0.0) {
        return refuse("--spacing must be a number above 0");
    }
    let mut solid = 0;
    write_atomically(path, |out| {
        let is_tiff = extension.starts_with("tif");
        match extension.as_str() {
            "npy" => npy_header(out, size)?,
            "nrrd" => nrrd_header(out, size, spacing)?,
            _ => tiff_header(out, all)?,
        }
        let step = (SLAB / layer).clamp(1, nz);
        let mut voxels = Vec::new();
        voxels.try_reserve_exact(step * layer).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
        for k in (0..nz).step_by(step) {
            voxels.resize(step.min(nz - k) * layer, 0);
            fill(k, &mut voxels);
            solid += voxels.iter().filter(|&&v| v != 0).count() as u64;
            out.write_all(&voxels)?;
        }
        if is_tiff { tiff_directories(out, size, spacing) } else { Ok(()) }
    })?;
    Ok(StackSummary { size, solid, fraction: solid as f64 / all as f64 })
}

fn npy_header(out: &mut impl Write, [nx, ny, nz]: [usize; 3]) -> io::Result<()> {
    let mut text = format!("{{'descr': '|u1', 'fortran_order': False, 'shape': ({nz}, {ny}, {nx}), }}");
    // The samples start at a multiple of 64 bytes.
    while (10 + text.len() + 1) % 64 != 0 {
        text.push(' ');
    }
    text.push('\n');
    out.write_all(b"\x93NUMPY\x01\x00")?;
    out.write_all(&(text.len() as u16).to_le_bytes())?;
    out.write_all(text.as_bytes())
}

fn nrrd_header(out: &mut impl Write, [nx, ny, nz]: [usize; 3], h: f64) -> io::Result<()> {
    write!(
        out,
        "NRRD0004\ntype: uint8\ndimension: 3\nspace dimension: 3\nsizes: {nx} {ny} {nz}\n\
         space directions: ({h},0,0) (0,{h},0) (0,0,{h})\nspace units: \"mm\" \"mm\" \"mm\"\n\
         kinds: domain domain domain\nencoding: raw\n\n"
    )
}

/// Whether `bytes` of voxels need 64-bit places.
fn is_big(bytes: usize) -> bool {
    // 300 bytes are more than a directory and its values take.
    bytes as u64 > 4_000_000_000
}

fn tiff_header(out: &mut impl Write, bytes: usize) -> io::Result<()> {
    if is_big(bytes) {
        out.write_all(b"II\x2b\0\x08\0\0\0")?;
        out.write_all(&(16 + bytes as u64).to_le_bytes())
    } else {
        out.write_all(b"II\x2a\0")?;
        out.write_all(&(8 + bytes as u32).to_le_bytes())
    }
}

/// A directory for each layer; the first has the size of voxels as ImageJ writes it.
fn tiff_directories(out: &mut impl Write, [nx, ny, nz]: [usize; 3], spacing: f64) -> io::Result<()> {
    let big = is_big(nx * ny * nz);
    let header = if big { 16u64 } else { 8 };
    let description = format!("ImageJ=1.53q\nimages={nz}\nslices={nz}\nunit=mm\nspacing={spacing}\n\0");
    let resolution = ((1e6 / spacing).round().min(f64::from(u32::MAX)) as u32, 1_000_000u32);
    let mut place = header + (nx * ny * nz) as u64;
    for k in 0..nz {
        let is_first = k == 0;
        let mut entries: Vec<(u16, u16, u64, u64)> = vec![
            (256, 4, 1, nx as u64),
            (257, 4, 1, ny as u64),
            (258, 3, 1, 8),
            (259, 3, 1, 1),
            (262, 3, 1, 1),
            (273, if big { 16 } else { 4 }, 1, header + (k * nx * ny) as u64),
            (277, 3, 1, 1),
            (278, 4, 1, ny as u64),
            (279, if big { 16 } else { 4 }, 1, (nx * ny) as u64),
        ];
        let n = entries.len() as u64 + if is_first { 4 } else { 0 };
        let length = if big { 8 + 20 * n + 8 } else { 2 + 12 * n + 4 };
        let values = place + length;
        if is_first {
            entries.push((282, 5, 1, values));
            entries.push((283, 5, 1, values));
            entries.push((296, 3, 1, 1));
            entries.push((270, 2, description.len() as u64, values + 8));
            entries.sort_unstable();
        }
        place = values + if is_first { 8 + description.len() as u64 } else { 0 };
        let next = if k + 1 < nz { place } else { 0 };
        // A small file has 16 bits for the number of entries, and 32 for each count, value and place.
        let (short, long) = if big { (8, 8) } else { (2, 4) };
        let mut bytes = n.to_le_bytes()[..short].to_vec();
        for (tag, kind, count, value) in entries {
            bytes.extend(tag.to_le_bytes());
            bytes.extend(kind.to_le_bytes());
            bytes.extend(&count.to_le_bytes()[..long]);
            // A fraction fits into the entry of a large file.
            let fraction = u64::from(resolution.1) << 32 | u64::from(resolution.0);
            bytes.extend(&if big && kind == 5 { fraction } else { value }.to_le_bytes()[..long]);
        }
        bytes.extend(&next.to_le_bytes()[..long]);
        if is_first {
            bytes.extend(resolution.0.to_le_bytes());
            bytes.extend(resolution.1.to_le_bytes());
            bytes.extend(description.as_bytes());
        }
        out.write_all(&bytes)?;
    }
    Ok(())
}
