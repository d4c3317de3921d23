//! NumPy arrays, alone and in `.npz` files.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

/// Shape and numbers of an array in C order.
#[derive(Debug, Clone, PartialEq)]
pub struct Array {
    /// Length along each index.
    pub shape: Vec<usize>,
    /// All of it.
    pub values: Vec<f64>,
}

impl Array {
    /// The numbers as indices.
    pub fn indices(&self) -> Vec<u32> {
        self.values.iter().map(|&value| value as u32).collect()
    }
}

/// The arrays of an `.npz` file.
///
/// # Panics
/// If it is none.
pub fn npz(path: &Path) -> BTreeMap<String, Array> {
    let file = std::fs::File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut archive = zip::ZipArchive::new(file).expect("a zip archive");
    let mut arrays = BTreeMap::new();
    for index in 0..archive.len() {
        let mut raw = archive.by_index_raw(index).expect("an entry");
        let name = raw.name().expect("a name").trim_end_matches(".npy").to_owned();
        let (mut packed, mut bytes) = (Vec::new(), Vec::new());
        raw.read_to_end(&mut packed).expect("the entry's bytes");
        match raw.compression() {
            zip::CompressionMethod::Stored => bytes = packed,
            _ => _ = flate2::read::DeflateDecoder::new(&packed[..]).read_to_end(&mut bytes).expect("deflated data"),
        }
        arrays.insert(name, parse(&bytes));
    }
    arrays
}

/// An `.npy` file.
///
/// # Panics
/// If it is none.
pub fn npy(path: &Path) -> Array {
    parse(&std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
}

fn parse(bytes: &[u8]) -> Array {
    assert!(bytes.starts_with(b"\x93NUMPY\x01"), "an array of version 1");
    let length = usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let header = String::from_utf8_lossy(&bytes[10..10 + length]).into_owned();
    assert!(header.contains("'fortran_order': False"), "{header}");
    let between = |from: &str, to: char| {
        let start = header.find(from).expect("a key") + from.len();
        header[start..].split(to).next().expect("a value").to_owned()
    };
    let shape = between("'shape': (", ')');
    let shape = shape.split(',').map(str::trim).filter(|n| !n.is_empty()).map(|n| n.parse().expect("a length"));
    let data = &bytes[10 + length..];
    let values = match between("'descr': '", '\'').as_str() {
        "<f8" => data.as_chunks().0.iter().map(|&x| f64::from_le_bytes(x)).collect(),
        "<f4" => data.as_chunks().0.iter().map(|&x| f64::from(f32::from_le_bytes(x))).collect(),
        "<f2" => data.as_chunks().0.iter().map(|&x| half(u16::from_le_bytes(x))).collect(),
        "<i4" => data.as_chunks().0.iter().map(|&x| f64::from(i32::from_le_bytes(x))).collect(),
        "<i8" => data.as_chunks().0.iter().map(|&x| i64::from_le_bytes(x) as f64).collect(),
        "|u1" => data.iter().map(|&x| f64::from(x)).collect(),
        other => panic!("type {other}"),
    };
    Array { shape: shape.collect(), values }
}

/// A number of 16 bits.
fn half(bits: u16) -> f64 {
    let (sign, exponent, fraction) = (bits >> 15, i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    let size = match exponent {
        0 => fraction * 2f64.powi(-24),
        31 => f64::INFINITY,
        _ => (1024.0 + fraction) * 2f64.powi(exponent - 25),
    };
    if sign == 1 { -size } else { size }
}

/// Writes an array of 64-bit floats.
///
/// # Panics
/// If it cannot be written.
pub fn write_npy(path: &Path, shape: &[usize], values: &[f64]) {
    write_array(path, "<f8", shape, values.iter().flat_map(|value| value.to_le_bytes()));
}

/// Writes a stack of one byte a voxel, of `size` voxels along x, y and z, with x fastest.
///
/// # Panics
/// If it cannot be written.
pub fn write_stack(path: &Path, size: [usize; 3], voxel: impl Fn([usize; 3]) -> u8) {
    let [x, y, z] = size;
    write_array(path, "|u1", &[z, y, x], (0..x * y * z).map(|i| voxel([i % x, i / x % y, i / x / y])));
}

fn write_array(path: &Path, descr: &str, shape: &[usize], data: impl Iterator<Item = u8>) {
    let sizes: Vec<String> = shape.iter().map(|n| format!("{n},")).collect();
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({}), }}", sizes.join(" "));
    while !(10 + header.len() + 1).is_multiple_of(64) {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    std::fs::write(path, bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}
