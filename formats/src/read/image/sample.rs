//! Types of stored samples.

use crate::words::Choice;

/// Type of a stored sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SampleType {
    Uint8,
    Int8,
    Uint16,
    Int16,
    Uint32,
    Int32,
    Uint64,
    Int64,
    Float32,
    Float64,
}

impl Choice for SampleType {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("uint8", Self::Uint8),
        ("int8", Self::Int8),
        ("uint16", Self::Uint16),
        ("int16", Self::Int16),
        ("uint32", Self::Uint32),
        ("int32", Self::Int32),
        ("uint64", Self::Uint64),
        ("int64", Self::Int64),
        ("float32", Self::Float32),
        ("float64", Self::Float64),
        ("u8", Self::Uint8),
        ("i8", Self::Int8),
        ("u16", Self::Uint16),
        ("i16", Self::Int16),
        ("u32", Self::Uint32),
        ("i32", Self::Int32),
        ("u64", Self::Uint64),
        ("i64", Self::Int64),
        ("f32", Self::Float32),
        ("f64", Self::Float64),
    ];
}

impl SampleType {
    /// Bytes of a sample.
    pub fn bytes(self) -> usize {
        match self {
            Self::Uint8 | Self::Int8 => 1,
            Self::Uint16 | Self::Int16 => 2,
            Self::Uint32 | Self::Int32 | Self::Float32 => 4,
            Self::Uint64 | Self::Int64 | Self::Float64 => 8,
        }
    }

    /// As a job writes it.
    pub fn name(self) -> &'static str {
        self.word()
    }

    /// Little-endian samples as numbers, as many as both slices have.
    pub fn decode(self, bytes: &[u8], out: &mut [f64]) {
        macro_rules! each {
            ($type:ty, $n:literal) => {
                out.iter_mut()
                    .zip(bytes.as_chunks::<$n>().0)
                    .for_each(|(out, b)| *out = <$type>::from_le_bytes(*b) as f64)
            };
        }
        match self {
            Self::Uint8 => each!(u8, 1),
            Self::Int8 => each!(i8, 1),
            Self::Uint16 => each!(u16, 2),
            Self::Int16 => each!(i16, 2),
            Self::Uint32 => each!(u32, 4),
            Self::Int32 => each!(i32, 4),
            Self::Uint64 => each!(u64, 8),
            Self::Int64 => each!(i64, 8),
            Self::Float32 => each!(f32, 4),
            Self::Float64 => each!(f64, 8),
        }
    }

    /// Whether samples are IEEE floats.
    pub fn is_float(self) -> bool {
        matches!(self, Self::Float32 | Self::Float64)
    }
}

/// Byte order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Endian {
    #[default]
    Little,
    Big,
}

impl Choice for Endian {
    const WORDS: &'static [(&'static str, Self)] = &[("little", Self::Little), ("big", Self::Big)];
}
