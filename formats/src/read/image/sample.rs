//! Types of stored samples.

use crate::words::Choice;

/// Declares the types of samples, each with its type in Rust, its word in a job, and the short form of that.
macro_rules! samples {
    ($($variant:ident: $type:ty, $word:literal, $short:literal;)*) => {
        /// Type of a stored sample.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[allow(missing_docs)]
        pub enum SampleType {
            $($variant,)*
        }

        impl Choice for SampleType {
            const WORDS: &'static [(&'static str, Self)] =
                &[$(($word, Self::$variant),)* $(($short, Self::$variant),)*];
        }

        impl SampleType {
            /// Bytes of a sample.
            pub fn bytes(self) -> usize {
                match self {
                    $(Self::$variant => size_of::<$type>(),)*
                }
            }

            /// Converts little-endian samples to numbers, as many as both slices have.
            pub fn decode(self, bytes: &[u8], out: &mut [f64]) {
                match self {
                    $(Self::$variant => {
                        let samples = bytes.as_chunks::<{ size_of::<$type>() }>().0;
                        out.iter_mut().zip(samples).for_each(|(out, b)| *out = <$type>::from_le_bytes(*b) as f64);
                    })*
                }
            }
        }
    };
}

samples! {
    Uint8: u8, "uint8", "u8";
    Int8: i8, "int8", "i8";
    Uint16: u16, "uint16", "u16";
    Int16: i16, "int16", "i16";
    Uint32: u32, "uint32", "u32";
    Int32: i32, "int32", "i32";
    Uint64: u64, "uint64", "u64";
    Int64: i64, "int64", "i64";
    Float32: f32, "float32", "f32";
    Float64: f64, "float64", "f64";
}

impl SampleType {
    /// The type of samples of so many bits, whose kind is `u` (unsigned), `i` (signed) or `f` (IEEE float).
    pub(super) fn of(kind: char, bits: u64) -> Option<Self> {
        Self::named(&format!("{kind}{bits}"))
    }

    /// The type as a job writes it.
    pub fn name(self) -> &'static str {
        self.word()
    }

    /// The number that the lowest bits mean as a sample of 8 or 16 bits.
    pub(super) fn stored(self, bits: u16) -> f64 {
        let mut value = [0.0];
        self.decode(&bits.to_le_bytes(), &mut value);
        value[0]
    }

    /// Whether samples are IEEE floats.
    pub fn is_float(self) -> bool {
        matches!(self, Self::Float32 | Self::Float64)
    }
}

/// Byte order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub enum Endian {
    #[default]
    Little,
    Big,
}

impl Choice for Endian {
    const WORDS: &'static [(&'static str, Self)] = &[("little", Self::Little), ("big", Self::Big)];
}
