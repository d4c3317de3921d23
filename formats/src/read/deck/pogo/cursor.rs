//! Goes through the bytes of a file: numbers, texts, lists and sections. No list is taken that the file does not hold.

use super::Found;
use crate::words::counted;

/// Sections from 1.14 on, in the order of the file.
const SECTIONS: [&str; 14] = [
    "metadata",
    "generalInfo",
    "nodes",
    "elements",
    "pml",
    "elTypes",
    "matTypes",
    "orientations",
    "fixDof",
    "ties",
    "dofGroups",
    "signals",
    "measurements",
    "fieldStores",
];
/// The last section, from 1.15 on.
const EXCHANGE: &str = "mpi";

/// A list of reals of 4 or 8 bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reals<'a> {
    bytes: &'a [u8],
    size: usize,
    /// Byte at which the list begins.
    pub at: usize,
}

impl Reals<'_> {
    /// The numbers.
    pub fn to_vec(self) -> Vec<f64> {
        match self.size {
            4 => self.bytes.as_chunks().0.iter().map(|bytes| f64::from(f32::from_le_bytes(*bytes))).collect(),
            _ => self.bytes.as_chunks().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect(),
        }
    }

    /// The numbers, all of them finite.
    ///
    /// # Errors
    /// The first that is not, and its place.
    pub fn finite(self, what: &str) -> Found<Vec<f64>> {
        let values = self.to_vec();
        match values.iter().position(|value| !value.is_finite()) {
            None => Ok(values),
            Some(index) => {
                let (value, at) = (values[index], self.at + index * self.size);
                Err(format!("{what} has the value {value} (byte {at}): a finite number is needed"))
            }
        }
    }
}

/// A list of whole numbers of four bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Integers<'a> {
    bytes: &'a [[u8; 4]],
    /// Byte at which the list begins.
    pub at: usize,
}

impl<'a> Integers<'a> {
    pub fn len(self) -> usize {
        self.bytes.len()
    }

    pub fn get(self, index: usize) -> i32 {
        i32::from_le_bytes(self.bytes[index])
    }

    pub fn iter(self) -> impl ExactSizeIterator<Item = i32> + 'a {
        self.bytes.iter().map(|bytes| i32::from_le_bytes(*bytes))
    }

    /// As numbers without a sign; −1 is `u32::MAX`.
    pub fn unsigned(self) -> impl ExactSizeIterator<Item = u32> + 'a {
        self.bytes.iter().map(|bytes| u32::from_le_bytes(*bytes))
    }

    /// A part of the list.
    pub fn part(self, first: usize, n: usize) -> Self {
        Self { bytes: &self.bytes[first..first + n], at: self.at + 4 * first }
    }

    /// Indices below `n`.
    ///
    /// # Errors
    /// The first that is not, and its place.
    pub fn indices(self, n: usize, what: &str) -> Found<Vec<u32>> {
        let values: Vec<u32> = self.unsigned().collect();
        match values.iter().position(|&value| value as usize >= n) {
            None => Ok(values),
            Some(index) => Err(beyond(what, i64::from(self.get(index)), n, self.at + 4 * index)),
        }
    }
}

/// A number that is no index below `n`.
pub(super) fn beyond(what: &str, found: i64, n: usize, at: usize) -> String {
    format!("{what} is {found} (byte {at}), and there are {n}, counted from 0: the file is damaged")
}

/// A list of degrees of freedom, or of groups of these.
#[derive(Debug, Clone, Copy)]
pub(super) struct Codes<'a> {
    bytes: &'a [u8],
    size: usize,
    /// Byte at which the list begins.
    pub at: usize,
}

impl Codes<'_> {
    pub fn len(self) -> usize {
        self.bytes.len() / self.size
    }

    /// The codes with the bytes at which they stand.
    pub fn iter(&self) -> impl Iterator<Item = (u64, usize)> + '_ {
        let codes = self.bytes.chunks_exact(self.size).map(|bytes| match bytes {
            &[a, b, c, d] => u64::from(u32::from_le_bytes([a, b, c, d])),
            _ => bytes.iter().rev().fold(0, |code, byte| code << 8 | u64::from(*byte)),
        });
        codes.zip((self.at..).step_by(self.size))
    }
}

/// Goes through a file.
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    /// Byte of the file.
    pub at: usize,
    /// End of the section, or of the file.
    end: usize,
    part: &'static str,
    in_section: bool,
    /// Minor version: 7 of 1.07.
    pub version: u32,
    /// Bytes of a real.
    pub real_size: usize,
    /// What the user should know.
    pub warnings: Vec<String>,
}

impl<'a> Cursor<'a> {
    /// Behind the header of a file of this version.
    pub fn new(bytes: &'a [u8], at: usize, version: u32) -> Self {
        let (end, part) = (bytes.len(), "the file");
        Self { bytes, at, end, part, in_section: false, version, real_size: 8, warnings: Vec::new() }
    }

    /// Whether parts have names.
    pub fn has_sections(&self) -> bool {
        self.version >= 14
    }

    /// Bytes that are left of the section, or of the file.
    pub fn left(&self) -> usize {
        self.end - self.at
    }

    /// Takes `n` items of `size` bytes.
    ///
    /// # Errors
    /// The file or the section ends before.
    pub fn take(&mut self, n: u64, size: usize, what: &str) -> Found<&'a [u8]> {
        let (at, left) = (self.at, self.left());
        let bytes = n.checked_mul(size as u64).and_then(|bytes| usize::try_from(bytes).ok());
        let Some(bytes) = bytes.filter(|bytes| *bytes <= left) else {
            let place = if self.in_section { "the section ends" } else { "the file ends" };
            let end = self.end;
            let need = u128::from(n) * size as u128;
            return Err(format!(
                "{}: {what} at byte {at} would take {need} bytes, and {place} at byte {end}: it is cut short or damaged",
                self.part
            ));
        };
        self.at += bytes;
        Ok(&self.bytes[at..at + bytes])
    }

    fn fixed<const N: usize>(&mut self, what: &str) -> Found<[u8; N]> {
        let mut fixed = [0; N];
        fixed.copy_from_slice(self.take(1, N, what)?);
        Ok(fixed)
    }

    pub fn int(&mut self, what: &str) -> Found<i32> {
        self.fixed(what).map(i32::from_le_bytes)
    }

    pub fn unsigned(&mut self, what: &str) -> Found<u32> {
        self.fixed(what).map(u32::from_le_bytes)
    }

    pub fn byte(&mut self, what: &str) -> Found<u8> {
        self.fixed(what).map(|[byte]| byte)
    }

    /// A number of items that is stored with a sign.
    pub fn count(&mut self, what: &str) -> Found<u64> {
        let at = self.at;
        let found = self.int(what)?;
        u64::try_from(found).map_err(|_| format!("{what} is {found} (byte {at}): the file is damaged"))
    }

    /// A number of degrees of freedom: of eight bytes from 1.10 on where they are fixed.
    pub fn wide_count(&mut self, what: &str) -> Found<u64> {
        if self.version >= 10 { self.fixed(what).map(u64::from_le_bytes) } else { self.unsigned(what).map(u64::from) }
    }

    pub fn real(&mut self, what: &str) -> Found<f64> {
        let reals = self.reals(1, what)?;
        Ok(reals.to_vec()[0])
    }

    pub fn reals(&mut self, n: u64, what: &str) -> Found<Reals<'a>> {
        let (at, size) = (self.at, self.real_size);
        Ok(Reals { bytes: self.take(n, size, what)?, size, at })
    }

    pub fn integers(&mut self, n: u64, what: &str) -> Found<Integers<'a>> {
        let at = self.at;
        Ok(Integers { bytes: self.take(n, 4, what)?.as_chunks().0, at })
    }

    /// Codes have eight bytes from 1.10 on.
    pub fn codes(&mut self, n: u64, what: &str) -> Found<Codes<'a>> {
        let (at, size) = (self.at, if self.version >= 10 { 8 } else { 4 });
        Ok(Codes { bytes: self.take(n, size, what)?, size, at })
    }

    /// A text of fixed length: to its first NUL, without blanks at its end.
    pub fn text(&mut self, n: u64, what: &str) -> Found<String> {
        Ok(text(self.take(n, 1, what)?))
    }

    /// Begins a part of the file; from 1.14 on its section, before which unknown ones are skipped.
    ///
    /// # Errors
    /// The section is missing, or longer than the file.
    pub fn begin(&mut self, name: &'static str) -> Found<()> {
        self.leave();
        self.part = name;
        while self.has_sections() {
            let start = self.at;
            if self.left() == 0 {
                return Err(format!("section `{name}` is missing: the file ends at byte {start}"));
            }
            let (found, size) = self.section_head()?;
            if found == name {
                (self.end, self.in_section) = (self.at + size, true);
                break;
            }
            let place = |name: &str| SECTIONS.iter().position(|known| *known == name).unwrap_or(SECTIONS.len());
            let is_known = SECTIONS.contains(&found.as_str()) || found == EXCHANGE;
            if is_known && place(&found) > place(name) {
                return Err(format!("section `{name}` is missing: `{found}` stands in its place (byte {start})"));
            }
            self.skip(&found, start, size);
        }
        Ok(())
    }

    /// Ends the last part: what follows it is skipped with a warning.
    pub fn finish(&mut self) -> Found<()> {
        self.leave();
        while self.has_sections() && self.left() >= 52 {
            let start = self.at;
            let (found, size) = self.section_head()?;
            self.skip(&found, start, size);
        }
        if self.left() > 0 {
            let bytes = counted(self.left(), "byte");
            self.warnings.push(format!("{bytes} behind the last part are not read"));
        }
        Ok(())
    }

    fn skip(&mut self, found: &str, start: usize, size: usize) {
        let name: String = found.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        self.warnings.push(format!("section `{name}` (byte {start}, {}) is skipped", counted(size, "byte")));
        self.at += size;
    }

    /// Name and size of a section.
    fn section_head(&mut self) -> Found<(String, usize)> {
        let start = self.at;
        let name = self.text(40, "the name of a section")?;
        let version = self.int("the version of a section")?;
        let size = i64::from_le_bytes(self.fixed("the size of a section")?);
        let fits = usize::try_from(size).ok().filter(|size| *size <= self.left());
        let Some(fits) = fits else {
            let left = self.left();
            return Err(format!(
                "section `{}` at byte {start} would take {size} bytes, and {left} are left: the file is cut short or damaged",
                name.escape_debug()
            ));
        };
        if version != 1 && (SECTIONS.contains(&name.as_str()) || name == EXCHANGE) {
            self.warnings.push(format!("section `{name}` has version {version}; it is read as version 1"));
        }
        Ok((name, fits))
    }

    fn leave(&mut self) {
        if self.in_section && self.left() > 0 {
            let (bytes, part) = (counted(self.left(), "byte"), self.part);
            self.warnings.push(format!("{bytes} at the end of section `{part}` are not read"));
            self.at = self.end;
        }
        (self.end, self.in_section) = (self.bytes.len(), false);
    }

    /// Leaves the rest of a section unread.
    pub fn skip_section(&mut self) {
        self.at = self.end;
    }
}

/// A text to its first NUL, without blanks at its end.
pub(super) fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).trim_end().to_owned()
}
