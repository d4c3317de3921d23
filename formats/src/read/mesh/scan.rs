//! Words, numbers and raw bytes of a file, with the line where they stand.

use std::path::Path;

use super::MeshFileError;

/// A place in the bytes of a file.
#[derive(Debug, Clone)]
pub(super) struct Scanner<'a> {
    path: &'a Path,
    bytes: &'a [u8],
    at: usize,
    /// From 1.
    pub line: u64,
}

impl<'a> Scanner<'a> {
    pub fn new(path: &'a Path, bytes: &'a [u8]) -> Self {
        Self { path, bytes, at: 0, line: 1 }
    }

    /// An error at this line.
    pub fn error(&self, message: impl Into<String>) -> MeshFileError {
        MeshFileError::new(self.path, self.line, message)
    }

    /// Room for `n` things of at least `bytes` bytes each that the file claims to have.
    pub fn room<T>(&self, n: usize, bytes: usize) -> Result<Vec<T>, MeshFileError> {
        if n.saturating_mul(bytes) > self.bytes.len() {
            return Err(self.error(format!("{n} entries do not fit into this file: it is cut, or the number is wrong")));
        }
        let mut room = Vec::new();
        room.try_reserve_exact(n).map_err(|_| self.error(format!("no memory for {n} entries")))?;
        Ok(room)
    }

    /// The next word; none at the end.
    pub fn word(&mut self) -> Option<&'a [u8]> {
        self.skip_blanks();
        let start = self.at;
        while self.at < self.bytes.len() && !self.bytes[self.at].is_ascii_whitespace() {
            self.at += 1;
        }
        (self.at > start).then(|| &self.bytes[start..self.at])
    }

    /// Looks at the next byte that is not blank.
    pub fn peek(&mut self) -> Option<u8> {
        self.skip_blanks();
        self.bytes.get(self.at).copied()
    }

    /// The line of the next byte that is not blank.
    pub fn line_of_next(&mut self) -> u64 {
        self.skip_blanks();
        self.line
    }

    fn skip_blanks(&mut self) {
        while let Some(byte) = self.bytes.get(self.at).filter(|byte| byte.is_ascii_whitespace()) {
            self.line += u64::from(*byte == b'\n');
            self.at += 1;
        }
    }

    /// The rest of this line, without its end; the next read starts after it. None at the end.
    pub fn rest_of_line(&mut self) -> Option<&'a [u8]> {
        if self.at >= self.bytes.len() {
            return None;
        }
        let rest = &self.bytes[self.at..];
        let end = memchr::memchr(b'\n', rest);
        self.at += end.map_or(rest.len(), |end| end + 1);
        self.line += u64::from(end.is_some());
        Some(rest[..end.unwrap_or(rest.len())].trim_ascii())
    }

    /// The next line that is not empty.
    pub fn next_line(&mut self) -> Option<&'a [u8]> {
        self.skip_blanks();
        self.rest_of_line()
    }

    /// A number.
    pub fn number<T: std::str::FromStr>(&mut self, what: &str) -> Result<T, MeshFileError> {
        let word = self.word().ok_or_else(|| self.error(format!("the file ends where {what} is expected")))?;
        parse(word)
            .ok_or_else(|| self.error(format!("`{}` stands where {what} is expected", String::from_utf8_lossy(word))))
    }

    /// What is left.
    pub fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    /// An error with this message unless everything has been read.
    pub fn end(&mut self, message: &str) -> Result<(), MeshFileError> {
        if self.peek().is_some() { Err(self.error(message)) } else { Ok(()) }
    }

    /// Three numbers.
    pub fn point(&mut self) -> Result<[f64; 3], MeshFileError> {
        let mut x = [0.0; 3];
        for x in &mut x {
            *x = self.number("a coordinate")?;
        }
        Ok(x)
    }

    /// The next bytes as they are.
    pub fn raw(&mut self, n: usize) -> Result<&'a [u8], MeshFileError> {
        let end = self.at.checked_add(n).filter(|&end| end <= self.bytes.len());
        let end = end.ok_or_else(|| self.error("the binary data end too soon: the file is cut"))?;
        let raw = &self.bytes[self.at..end];
        self.at = end;
        Ok(raw)
    }

    /// Bytes of fixed length.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], MeshFileError> {
        let mut bytes = [0; N];
        bytes.copy_from_slice(self.raw(N)?);
        Ok(bytes)
    }
}

/// The words of a text.
pub(super) fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
}

/// A number of any kind.
pub(super) fn parse<T: std::str::FromStr>(word: &[u8]) -> Option<T> {
    std::str::from_utf8(word).ok()?.parse().ok()
}
