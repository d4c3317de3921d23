//! Lists of plain numbers as bytes.

use crate::device::{Plain, append, read};

/// Writes lists of numbers one behind the other.
#[derive(Debug, Clone, Default)]
pub struct Writer(Vec<u8>);

/// Reads lists in the order in which they were written.
#[derive(Debug)]
pub struct Reader<'a>(&'a [u8]);

#[allow(private_bounds)] // No other crate can make a number plain.
impl Writer {
    /// Appends a list, with its length.
    pub fn put<T: Plain>(&mut self, numbers: &[T]) {
        append(&[numbers.len() as u64], &mut self.0);
        append(numbers, &mut self.0);
    }

    /// All that was written.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

#[allow(private_bounds)]
impl<'a> Reader<'a> {
    /// From the first list on.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// The next list.
    ///
    /// # Panics
    /// If there is none.
    pub fn take<T: Plain>(&mut self) -> Vec<T> {
        let (length, rest) = self.0.split_at(size_of::<u64>());
        let (numbers, rest) = rest.split_at(read::<u64>(length) as usize * size_of::<T>());
        self.0 = rest;
        numbers.chunks_exact(size_of::<T>()).map(read).collect()
    }

    /// The only number of the next list.
    ///
    /// # Panics
    /// If there is no list, or an empty one.
    pub fn one<T: Plain>(&mut self) -> T {
        self.take()[0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_come_back_in_order() {
        let mut writer = Writer::default();
        writer.put(&[1.5_f32]);
        writer.put::<f64>(&[]);
        writer.put(&[7_u64, 8]);
        writer.put(b"abc");
        let bytes = writer.into_bytes();
        let mut reader = Reader::new(&bytes);
        assert_eq!(reader.one::<f32>(), 1.5);
        assert!(reader.take::<f64>().is_empty());
        assert_eq!(reader.take::<u64>(), [7, 8]);
        assert_eq!(reader.take::<u8>(), b"abc");
    }
}
