//! The numbers of all plots, in one block.

use serde_json::{Value, json};

use crate::write::plot::Scale;

/// The numbers of all plots, little-endian, each array at a multiple of 4 bytes.
#[derive(Debug, Default)]
pub(super) struct Block {
    bytes: Vec<u8>,
    field_bytes: usize,
}

/// A field as codes: 0 to 250 (in one byte) or 0 to 65000 (in two) from `low` to `high`; two more codes stand for a value that
/// is unknown and for nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    pub(super) codes: Value,
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Field {
    /// The keys that a view has of its field.
    pub fn keys(&self, mut view: Value) -> Value {
        view["codes"] = self.codes.clone();
        view["low"] = json!(self.low);
        view["high"] = json!(self.high);
        view
    }
}

impl Block {
    /// Bytes of all fields so far.
    pub fn field_bytes(&self) -> usize {
        self.field_bytes
    }

    /// All bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn put<const N: usize>(&mut self, kind: &str, numbers: impl IntoIterator<Item = [u8; N]>) -> Value {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        let offset = self.bytes.len();
        numbers.into_iter().for_each(|number| self.bytes.extend(number));
        json!({ "type": kind, "offset": offset, "n": (self.bytes.len() - offset) / N })
    }

    pub fn f32(&mut self, values: impl IntoIterator<Item = f64>) -> Value {
        self.put("f32", values.into_iter().map(|value| (value as f32).to_le_bytes()))
    }

    pub fn u32(&mut self, values: impl IntoIterator<Item = u32>) -> Value {
        self.put("u32", values.into_iter().map(u32::to_le_bytes))
    }

    pub fn u16(&mut self, values: impl IntoIterator<Item = u16>) -> Value {
        self.put("u16", values.into_iter().map(u16::to_le_bytes))
    }
}

impl super::Report {
    /// Stores numbers as f32; they count as a field.
    pub fn numbers(&mut self, values: impl IntoIterator<Item = f64>) -> Value {
        self.counted(|block| block.f32(values))
    }

    /// Stores indices; they count as a field.
    pub fn indices(&mut self, values: impl IntoIterator<Item = u32>) -> Value {
        self.counted(|block| block.u32(values))
    }

    /// Stores numbers of 16 bits; they count as a field.
    pub fn codes_16(&mut self, values: impl IntoIterator<Item = u16>) -> Value {
        self.counted(|block| block.u16(values))
    }

    fn counted(&mut self, put: impl FnOnce(&mut Block) -> Value) -> Value {
        let before = self.block.bytes.len();
        let array = put(&mut self.block);
        self.block.field_bytes += self.block.bytes.len() - before;
        array
    }

    /// Stores the values of a field, NaN for nothing and infinity for an unknown value. They have 65000 steps from the smallest to
    /// the largest value (`range`) where `n` values of two bytes fit into `room` bytes; otherwise 250 steps over the scale, and
    /// values beyond its ends count as the ends.
    pub fn field(
        &mut self,
        values: impl IntoIterator<Item = f32>,
        (n, room): (usize, usize),
        range: [f64; 2],
        scale: &Scale,
    ) -> Field {
        let wide = 2 * n <= room;
        let [low, high] =
            if wide { [range[0].min(scale.low), range[1].max(scale.high)] } else { [scale.low, scale.high] };
        let high = if high > low { high } else { low + 1.0 };
        let place = |value: f32, top: f64| ((f64::from(value) - low) / (high - low) * top).round().clamp(0.0, top);
        let codes = if wide {
            let code = |value: f32| match value {
                nothing if nothing.is_nan() => 65535,
                unknown if unknown.is_infinite() => 65534,
                value => place(value, 65000.0) as u16,
            };
            self.counted(|block| block.u16(values.into_iter().map(code)))
        } else {
            let code = |value: f32| match value {
                nothing if nothing.is_nan() => 255,
                unknown if unknown.is_infinite() => 254,
                value => place(value, 250.0) as u8,
            };
            self.counted(|block| block.put("u8", values.into_iter().map(|value| [code(value)])))
        };
        Field { codes, low, high }
    }
}
