//! The numbers of data arrays: encodings, compression, types.

use std::borrow::Cow;
use std::io::{self, Read};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use super::super::scan::{parse, words};
use crate::read::unpack::unpack_zlib;
use crate::system::parallel::iterate::*;

/// VTK's number types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Number {
    Int(usize),
    Uint(usize),
    Float(usize),
}

/// Each type's name in XML, and its names in older files.
const NUMBERS: [(Number, &str, &str); 10] = [
    (Number::Int(1), "Int8", "char signed_char vtktypeint8"),
    (Number::Int(2), "Int16", "short vtktypeint16"),
    (Number::Int(4), "Int32", "int vtkidtype vtktypeint32"),
    (Number::Int(8), "Int64", "long vtktypeint64"),
    (Number::Uint(1), "UInt8", "unsigned_char vtktypeuint8"),
    (Number::Uint(2), "UInt16", "unsigned_short vtktypeuint16"),
    (Number::Uint(4), "UInt32", "unsigned_int vtktypeuint32"),
    (Number::Uint(8), "UInt64", "unsigned_long vtktypeuint64"),
    (Number::Float(4), "Float32", "float"),
    (Number::Float(8), "Float64", "double"),
];

impl Number {
    pub fn from_name(name: &str) -> Option<Self> {
        NUMBERS.iter().find(|(_, known, _)| *known == name).map(|(number, ..)| *number)
    }

    /// By its name in files before XML.
    pub fn from_legacy_name(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        let has_it = |names: &str| names.split(' ').any(|known| known == name);
        NUMBERS.iter().find(|(_, _, names)| has_it(names)).map(|(number, ..)| *number)
    }

    pub fn is_whole(self) -> bool {
        !matches!(self, Self::Float(_))
    }

    pub fn bytes(self) -> usize {
        match self {
            Self::Int(n) | Self::Uint(n) | Self::Float(n) => n,
        }
    }

    /// The number in so many bytes, lowest first.
    fn value<const N: usize>(self, bytes: [u8; N]) -> f64 {
        let mut word = [0; 8];
        word[..N].copy_from_slice(&bytes);
        let whole = u64::from_le_bytes(word);
        match self {
            Self::Uint(_) => whole as f64,
            Self::Int(_) => ((whole << (64 - 8 * N)) as i64 >> (64 - 8 * N)) as f64,
            Self::Float(4) => f64::from(f32::from_bits(whole as u32)),
            Self::Float(_) => f64::from_bits(whole),
        }
    }
}

/// The numbers of an array, as the file has them until they are asked for.
pub(super) enum Numbers<'a> {
    Known(Cow<'a, [f64]>),
    /// Whole numbers of values of this type; in a `big` file the highest byte is first.
    Stored {
        data: Cow<'a, [u8]>,
        number: Number,
        big: bool,
    },
}

impl Numbers<'_> {
    /// The first number.
    pub fn first(&self) -> Option<f64> {
        match self {
            Self::Known(values) => values.first().copied(),
            Self::Stored { data, number, big } => {
                let one = data.get(..number.bytes())?;
                Numbers::Stored { data: one.into(), number: *number, big: *big }.into_vec().pop()
            }
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Known(values) => values.len(),
            Self::Stored { data, number, .. } => data.len() / number.bytes(),
        }
    }

    /// What becomes of each number, given its place.
    pub fn map<V: Send>(&self, of: impl Fn(usize, f64) -> V + Sync) -> Vec<V> {
        match self {
            Self::Known(values) => values.par_iter().enumerate().map(|(at, &value)| of(at, value)).collect(),
            Self::Stored { data, number, big } => match number.bytes() {
                1 => stored::<1, V>(data, *number, *big, of),
                2 => stored::<2, V>(data, *number, *big, of),
                4 => stored::<4, V>(data, *number, *big, of),
                _ => stored::<8, V>(data, *number, *big, of),
            },
        }
    }

    /// Whether something holds for all numbers, given their places.
    pub fn all(&self, holds: impl Fn(usize, f64) -> bool + Sync) -> bool {
        let fails = AtomicBool::new(false);
        self.map(|at, value| {
            if !holds(at, value) {
                fails.store(true, Relaxed);
            }
        });
        !fails.into_inner()
    }

    /// All numbers in double precision.
    pub fn into_vec(self) -> Vec<f64> {
        match self {
            Self::Known(values) => values.into_owned(),
            stored => stored.map(|_, value| value),
        }
    }
}

fn stored<const N: usize, V: Send>(
    data: &[u8],
    number: Number,
    big: bool,
    of: impl Fn(usize, f64) -> V + Sync,
) -> Vec<V> {
    let values = data.as_chunks::<N>().0.par_iter().with_min_len(1 << 14).enumerate();
    let one = |(at, &(mut bytes)): (usize, &[u8; N])| {
        if big {
            bytes.reverse();
        }
        of(at, number.value(bytes))
    };
    values.map(one).collect()
}

/// How binary data are laid out.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Layout {
    big: bool,
    /// Numbers of headers have eight bytes instead of four.
    long: bool,
    compressor: Option<Compressor>,
}

/// How the blocks of an array are compressed.
#[derive(Debug, Clone, Copy)]
enum Compressor {
    Zlib,
    Lz4,
    /// As a stream of xz.
    Lzma,
}

impl Compressor {
    /// The `bytes` bytes of a block.
    fn unpack(self, packed: &[u8], bytes: usize) -> Result<Vec<u8>, String> {
        // A damaged header must not ask for more memory than such data can unpack to: 1 : 1032, 1 : 255, some 1 : 7000.
        if bytes > packed.len().saturating_mul(7100) + 64 {
            return Err("its header is damaged".to_owned());
        }
        let mut data = vec![0; bytes];
        // Read to the end, where the checksums stand; data compressed by LZ4 have none.
        let rest = match self {
            Self::Zlib => unpack_zlib(packed, &mut data).ok(),
            Self::Lzma => {
                let mut stream = lzma_rust2::XzReader::new(packed, false);
                stream.read_exact(&mut data).and_then(|()| io::copy(&mut stream, &mut io::sink())).ok()
            }
            Self::Lz4 => lz4_flex::block::decompress_into(packed, &mut data)
                .ok()
                .and_then(|found| (bytes as u64).checked_sub(found as u64)),
        };
        if rest == Some(0) { Ok(data) } else { Err("its compressed data are damaged".to_owned()) }
    }
}

impl Layout {
    /// Plain numbers whose highest byte is first.
    pub fn big_endian() -> Self {
        Self { big: true, ..Self::default() }
    }

    pub fn new(
        byte_order: &Option<String>,
        header_type: &Option<String>,
        compressor: &Option<String>,
    ) -> Result<Self, String> {
        let compressor = match compressor.as_deref() {
            None | Some("") => None,
            Some("vtkZLibDataCompressor") => Some(Compressor::Zlib),
            Some("vtkLZ4DataCompressor") => Some(Compressor::Lz4),
            Some("vtkLZMADataCompressor") => Some(Compressor::Lzma),
            Some(other) => {
                return Err(format!("data compressed with {other}: write it with ZLib or without compression"));
            }
        };
        Ok(Self {
            big: byte_order.as_deref() == Some("BigEndian"),
            long: header_type.as_deref() == Some("UInt64"),
            compressor,
        })
    }

    /// A number of a header.
    fn head(&self, raw: &[u8], at: usize) -> Result<usize, String> {
        let size = if self.long { 8 } else { 4 };
        let bytes = raw.get(at * size..(at + 1) * size).ok_or("its header is cut")?;
        let fold = |sum: u64, &byte: &u8| sum << 8 | u64::from(byte);
        let value = if self.big { bytes.iter().fold(0, fold) } else { bytes.iter().rev().fold(0, fold) };
        Ok(value as usize)
    }

    /// The numbers of an array: header, then the data; `raw` may be longer.
    pub fn numbers<'a>(&self, raw: Cow<'a, [u8]>, number: Number) -> Result<Numbers<'a>, String> {
        let size: usize = if self.long { 8 } else { 4 };
        if raw.is_empty() {
            return self.stored(raw, number);
        }
        let Some(compressor) = self.compressor else {
            let bytes = self.head(&raw, 0)?;
            let range = size.checked_add(bytes).map(|end| size..end).filter(|range| range.end <= raw.len());
            let range = range.ok_or("its data are cut")?;
            let data = match raw {
                Cow::Borrowed(raw) => Cow::Borrowed(&raw[range]),
                Cow::Owned(mut raw) => {
                    raw.truncate(range.end);
                    raw.drain(..range.start);
                    Cow::Owned(raw)
                }
            };
            return self.stored(data, number);
        };
        // Number of blocks, bytes a block, bytes of the last one if it is shorter, compressed bytes of each.
        let (n_blocks, block, last) = (self.head(&raw, 0)?, self.head(&raw, 1)?, self.head(&raw, 2)?);
        if n_blocks > raw.len() / size {
            return Err("its header is damaged".into());
        }
        let mut parts = Vec::with_capacity(n_blocks);
        let mut at = size * (3 + n_blocks);
        for index in 0..n_blocks {
            let packed = self.head(&raw, 3 + index)?;
            let end = at.checked_add(packed).filter(|&end| end <= raw.len()).ok_or("its data are cut")?;
            let bytes = if index + 1 == n_blocks && last > 0 { last } else { block };
            parts.push((&raw[at..end], bytes));
            at = end;
        }
        let unpacked: Result<Vec<Vec<u8>>, String> =
            parts.par_iter().map(|&(packed, bytes)| compressor.unpack(packed, bytes)).collect();
        self.stored(unpacked?.concat().into(), number)
    }

    fn stored<'a>(&self, data: Cow<'a, [u8]>, number: Number) -> Result<Numbers<'a>, String> {
        match data.len().is_multiple_of(number.bytes()) {
            true => Ok(Numbers::Stored { data, number, big: self.big }),
            false => Err("its length is no whole number of values".into()),
        }
    }

    /// Plain numbers, without a header.
    pub fn convert(&self, data: &[u8], number: Number) -> Result<Vec<f64>, String> {
        self.stored(data.into(), number).map(Numbers::into_vec)
    }
}

/// Numbers as text.
pub(super) fn ascii(text: &[u8]) -> Result<Vec<f64>, String> {
    words(text).map(real).collect()
}

/// A number as text.
pub(super) fn real(word: &[u8]) -> Result<f64, String> {
    parse(word).ok_or_else(|| format!("`{}` is no number", String::from_utf8_lossy(&word[..word.len().min(40)])))
}

/// Base64, perhaps of several pieces that are padded each, with blanks between.
pub(super) fn base64(text: &[u8]) -> Result<Vec<u8>, String> {
    const LENIENT: GeneralPurpose = GeneralPurpose::new(
        &base64::alphabet::STANDARD,
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
    );
    let mut text = Cow::Borrowed(text.trim_ascii());
    if text.iter().any(u8::is_ascii_whitespace) {
        text.to_mut().retain(|byte| !byte.is_ascii_whitespace());
    }
    let mut out = Vec::with_capacity(text.len() / 4 * 3 + 3);
    for piece in text.split(|&byte| byte == b'=').filter(|piece| !piece.is_empty()) {
        // What follows a padded piece begins at a multiple of four again, so every piece stands for itself.
        STANDARD_NO_PAD
            .decode_vec(piece, &mut out)
            .or_else(|_| LENIENT.decode_vec(piece, &mut out))
            .map_err(|error| format!("its base64 is damaged: {error}"))?;
    }
    Ok(out)
}

/// How appended data are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    Raw,
    Base64,
}

/// What follows `<AppendedData …>_`.
pub(super) struct Appended<'a> {
    pub encoding: Encoding,
    data: &'a [u8],
}

impl<'a> Appended<'a> {
    /// `rest` begins with the tag.
    pub fn new(rest: &'a [u8]) -> Result<Self, String> {
        let close = memchr::memchr(b'>', rest).ok_or("<AppendedData is not closed: the file is cut")?;
        let tag = &rest[..close];
        let encoding = match memchr::memmem::find(tag, b"base64") {
            Some(_) => Encoding::Base64,
            None => Encoding::Raw,
        };
        let mark = memchr::memchr(b'_', &rest[close..]).ok_or("the appended data do not begin with _")?;
        Ok(Self { encoding, data: &rest[close + mark + 1..] })
    }

    /// The data from an offset on.
    pub fn from(&self, offset: usize) -> Result<&'a [u8], String> {
        self.data.get(offset..).ok_or_else(|| "its offset lies behind the end: the file is cut".into())
    }

    /// The array at an offset, up to the next one.
    pub fn base64(&self, offset: usize, next: Option<usize>) -> Result<Vec<u8>, String> {
        let rest = self.from(offset)?;
        let end = memchr::memchr(b'<', rest).unwrap_or(rest.len());
        let end = next.map_or(end, |next| end.min(next - offset));
        base64(&rest[..end])
    }
}
