//! NumPy's `.npy`: versions 1 to 3, C or Fortran order, either byte order.

use std::io::{Read, Seek};
use std::path::Path;

use super::options::{AxisOrder, ImageOptions};
use super::sample::SampleType;
use super::source::Encoding;
use super::{Format, Header, Opened, Problem};
use crate::system::inputs::{self, Input};

/// What the header of an array says.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Array {
    pub(super) sample: SampleType,
    pub(super) encoding: Encoding,
    fortran: bool,
    pub(super) shape: Vec<u64>,
    /// Bytes before the first sample.
    pub(super) offset: u64,
}

/// Opens an `.npy` file.
pub(super) fn open(mut file: Input, options: &ImageOptions) -> Result<Opened, Problem> {
    file.rewind().map_err(|error| format!("cannot read the header: {error}"))?;
    let array = Array::read(&mut file)?;
    let header = array.header(Format::Npy, options)?;
    Opened::flat(header, array.encoding, file, array.offset)
}

/// Shape and numbers of an array of any type, in C order.
pub(crate) fn read_numbers(path: &Path) -> Result<(Vec<usize>, Vec<f64>), String> {
    let (shape, _, values) = numbers(inputs::find(path).map_err(|error| format!("cannot read: {error}"))?)?;
    Ok((shape, values))
}

/// Shape of an array of any type, whether it holds whole numbers, and its numbers in C order.
pub(crate) fn numbers(mut reader: impl Read) -> Result<(Vec<usize>, bool, Vec<f64>), String> {
    let array = Array::read(&mut reader)?;
    let mut data = Vec::new();
    reader.read_to_end(&mut data).map_err(|error| format!("cannot read: {error}"))?;
    let whole = !matches!(array.sample, SampleType::Float32 | SampleType::Float64);
    let shape: Vec<usize> = array.shape.iter().map(|&n| usize::try_from(n).unwrap_or(usize::MAX)).collect();
    let size = array.sample.bytes();
    if array.samples().and_then(|n| n.checked_mul(size as u64)) != Some(data.len() as u64) {
        return Err(format!("its shape {shape:?} and its length do not fit: this file is damaged"));
    }
    array.encoding.to_little(size, &mut data);
    let mut values = vec![0.0; data.len() / size];
    array.sample.decode(&data, &mut values);
    if !array.fortran || shape.len() < 2 {
        return Ok((shape, whole, values));
    }
    let [rows, columns] = shape[..] else {
        return Err("an array of more than two indices in Fortran order is not read".into());
    };
    let turned = (0..rows).flat_map(|row| (0..columns).map(move |column| column * rows + row));
    let values = turned.map(|at| values[at]).collect();
    Ok((shape, whole, values))
}

impl Array {
    /// Reads the magic, version, length and dictionary that start an array.
    pub(super) fn read(mut reader: impl Read) -> Result<Self, String> {
        let mut read = |bytes: &mut [u8]| {
            reader.read_exact(bytes).map_err(|_| "the npy header is cut short: this file is damaged".to_owned())
        };
        let mut start = [0; 8];
        read(&mut start)?;
        if &start[..6] != b"\x93NUMPY" {
            return Err("this is no npy array".to_owned());
        }
        let length_bytes = match start[6] {
            1 => 2,
            2 | 3 => 4,
            version => {
                return Err(format!(
                    "version {version} of the npy format is not known: save the array with a current NumPy"
                ));
            }
        };
        let mut length = [0; 4];
        read(&mut length[..length_bytes])?;
        let length = u64::from(u32::from_le_bytes(length));
        if length > 1 << 20 {
            return Err(format!("the npy header claims {length} bytes for itself: this file is damaged"));
        }
        let mut text = vec![0; length as usize];
        read(&mut text)?;
        let text: String = text.iter().map(|&byte| char::from(byte)).collect();
        Self::parse(&text, (8 + length_bytes) as u64 + length)
    }

    fn parse(text: &str, offset: u64) -> Result<Self, String> {
        let value = |key: &str| {
            let at =
                [format!("'{key}'"), format!("\"{key}\"")].iter().find_map(|k| text.find(k).map(|at| at + k.len()));
            let rest = at.map(|at| text[at..].trim_start()).and_then(|rest| rest.strip_prefix(':'));
            rest.map(str::trim_start).ok_or_else(|| format!("the npy header has no \"{key}\": this file is damaged"))
        };
        let descr = value("descr")?;
        let quote = descr.chars().next().filter(|&c| c == '\'' || c == '"').ok_or(
            "this npy array has a structured dtype: save one field, e.g. np.save(\"image.npy\", array[\"image\"])",
        )?;
        let descr = descr[1..].split(quote).next().unwrap_or_default();
        let (order, kind) = match descr.chars().next() {
            Some(order @ ('<' | '>' | '|' | '=')) => (order, &descr[1..]),
            _ => ('=', descr),
        };
        let sample = match kind.as_bytes() {
            b"b1" => Some(SampleType::Uint8),
            &[kind, bytes @ b'1'..=b'8'] => SampleType::of(char::from(kind), 8 * u64::from(bytes - b'0')),
            _ => None,
        };
        let sample = sample.ok_or_else(|| {
            format!("dtype \"{descr}\" is not read: save the array as 8 to 64 bit integers, float32 or float64")
        })?;
        let fortran = match value("fortran_order")? {
            rest if rest.starts_with("True") => true,
            rest if rest.starts_with("False") => false,
            _ => return Err("the npy header says neither True nor False for \"fortran_order\"".to_owned()),
        };
        let damaged = || "the npy header has no readable \"shape\": this file is damaged".to_owned();
        let shape = value("shape")?.strip_prefix('(').and_then(|rest| rest.split(')').next()).ok_or_else(damaged)?;
        let shape = shape
            .split(',')
            .map(|n| n.trim().trim_end_matches('L'))
            .filter(|n| !n.is_empty())
            .map(|n| n.parse::<u64>().map_err(|_| damaged()))
            .collect::<Result<Vec<_>, _>>()?;
        let encoding = if order == '>' { Encoding::Big } else { Encoding::Little };
        Ok(Self { sample, encoding, fortran, shape, offset })
    }

    /// Number of samples, where it can be counted.
    pub(super) fn samples(&self) -> Option<u64> {
        self.shape.iter().try_fold(1u64, |product, &n| product.checked_mul(n))
    }

    /// The stack that the array is.
    pub(super) fn header(&self, format: Format, options: &ImageOptions) -> Result<Header, String> {
        let shape = self.shape.iter().map(|&n| usize::try_from(n)).collect::<Result<Vec<_>, _>>();
        let shape: [usize; 3] = match shape.as_deref() {
            Ok(&[a, b, c]) => [a, b, c],
            Ok(&[a, b]) => [1, a, b],
            _ => {
                return Err(format!(
                    "this array has shape {:?}: a stack has three indices; save one stack, such as np.save(\"stack.npy\", array[0])",
                    self.shape
                ));
            }
        };
        let order = options.axes.unwrap_or(AxisOrder::Zyx);
        let reverse = |[a, b, c]: [usize; 3]| [c, b, a];
        // A picture is one layer of rows in either order.
        let size = match order {
            AxisOrder::Zyx => reverse(shape),
            AxisOrder::Xyz if self.shape.len() == 2 => [shape[1], shape[2], 1],
            AxisOrder::Xyz => shape,
        };
        let mut header = Header::new(format, size, self.sample);
        header.reversed = match order {
            AxisOrder::Zyx => self.fortran,
            AxisOrder::Xyz => !self.fortran,
        };
        Ok(header)
    }
}
