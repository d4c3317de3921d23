//! Bytes → lines → keyword cards. Nothing here knows what a keyword means.

use std::borrow::Cow;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::numbers::real;
use super::pogo::is_pogo;
use crate::system::inputs;
use crate::system::maps::Map;

/// Files from this size on are mapped.
const MAPPED_FROM: u64 = 64 << 10;

enum Bytes {
    Mapped(Map),
    Owned(Vec<u8>),
}

/// One file of a deck.
pub(super) struct Source {
    /// Name for messages.
    pub name: String,
    /// Where it is; `*INCLUDE` is relative to its folder.
    pub path: PathBuf,
    bytes: Bytes,
}

impl Source {
    fn new(path: &Path, bytes: Bytes) -> Self {
        Self { name: path.to_string_lossy().into_owned(), path: path.to_path_buf(), bytes }
    }

    /// Maps a file; reads a small one (a process may have only so many maps) and what cannot be mapped (pipes).
    pub fn open(path: &Path) -> std::io::Result<Self> {
        let mut file = inputs::open_or_stream(path)?;
        let data = file.metadata()?;
        let bytes = if data.is_file() && data.len() >= MAPPED_FROM {
            Bytes::Mapped(Map::new(path, &file)?)
        } else {
            let mut owned = Vec::new();
            file.read_to_end(&mut owned)?;
            Bytes::Owned(owned)
        };
        let source = Self::new(path, bytes);
        let start = source.bytes();
        if is_pogo(start) {
            return Ok(source);
        }
        if start[..start.len().min(4096)].contains(&0) {
            let text = "it is not plain text (binary data, or UTF-16: save it as UTF-8)";
            return Err(std::io::Error::other(text));
        }
        if start.contains(&b'\r') && !start.contains(&b'\n') {
            let text = "its lines end with a carriage return alone: convert them (`mac2unix`, or `tr '\\r' '\\n'`)";
            return Err(std::io::Error::other(text));
        }
        Ok(source)
    }

    /// A deck that is already in memory.
    pub fn from_bytes(path: &Path, bytes: &[u8]) -> Self {
        Self::new(path, Bytes::Owned(bytes.to_vec()))
    }

    pub fn bytes(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Mapped(map) => map,
            Bytes::Owned(bytes) => bytes,
        }
    }
}

/// A position in a deck.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct Place {
    pub source: u32,
    /// Line from 1.
    pub line: u64,
}

/// Walks over the lines of a source.
#[derive(Clone)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    /// Offset of the next line.
    pub at: usize,
    /// Place of the next line.
    pub next: Place,
    /// Offset of the line read last.
    pub last_start: usize,
}

/// What a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// Keyword line without its asterisk, trimmed.
    Keyword(&'a [u8]),
    /// Data, trimmed; may be a lone comma.
    Data(&'a [u8]),
    /// Comment or blank.
    Nothing,
}

impl<'a> Cursor<'a> {
    /// At the beginning of a source, given by its index.
    pub fn new(bytes: &'a [u8], source: u32) -> Self {
        let at = if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        Self::at(bytes, at, Place { source, line: 1 })
    }

    pub fn at(bytes: &'a [u8], at: usize, next: Place) -> Self {
        Self { bytes, at, next, last_start: at }
    }

    /// All of the source.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Moves on over so many lines, to where the next one begins.
    pub fn skip_to(&mut self, at: usize, n_lines: u64) {
        self.at = at;
        self.next.line += n_lines;
    }

    /// Place of the line read last.
    pub fn last(&self) -> Place {
        Place { line: self.next.line - 1, ..self.next }
    }

    /// The next line, trimmed, and where it starts and ends; moves on.
    pub fn next_line(&mut self) -> Option<Line<'a>> {
        let rest = self.bytes.get(self.at..).filter(|rest| !rest.is_empty())?;
        let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        self.last_start = self.at;
        self.at += (end + 1).min(rest.len());
        self.next.line += 1;
        Some(classify(rest[..end].trim_ascii()))
    }

    /// Like [`Self::next_line`] for blocks of data: stops, without moving, before a keyword.
    pub fn next_data(&mut self) -> Option<&'a [u8]> {
        loop {
            let mut ahead = self.clone();
            match ahead.next_line()? {
                Line::Keyword(_) => return None,
                Line::Data(text) => {
                    *self = ahead;
                    return Some(text);
                }
                Line::Nothing => *self = ahead,
            }
        }
    }
}

fn classify(text: &[u8]) -> Line<'_> {
    match text {
        [] | [b'*', b'*', ..] => Line::Nothing,
        [b'*', keyword @ ..] => Line::Keyword(keyword),
        _ => Line::Data(text),
    }
}

/// The comma-separated fields of a line, trimmed; commas in double quotes do not separate. A trailing comma gives no
/// further field.
pub(super) fn fields(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(line);
    std::iter::from_fn(move || {
        let text = rest?;
        let mut quoted = false;
        let end = text.iter().position(|b| {
            quoted ^= *b == b'"';
            *b == b',' && !quoted
        });
        let (field, tail) = match end {
            Some(end) => (&text[..end], Some(&text[end + 1..])),
            None => (text, None),
        };
        rest = tail.filter(|t| !t.trim_ascii().is_empty());
        Some(field.trim_ascii())
    })
}

/// Text as UTF-8 or, where it is not, as Latin-1, in which every byte is a letter: names that differ stay different.
pub(super) fn decode(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => bytes.iter().map(|byte| char::from(*byte)).collect(),
    }
}

/// Text for a message or a name: quotes removed (`"My Part-1"."All nodes"` too).
pub(super) fn text(field: &[u8]) -> String {
    let text = decode(field);
    if text.contains('"') { text.replace('"', "").trim().to_owned() } else { text.trim().to_owned() }
}

/// Upper case without blanks, hyphens and underscores: how keywords and parameters are compared.
pub(super) fn compact(name: &str) -> String {
    name.chars().filter(|c| !c.is_whitespace() && !matches!(c, '-' | '_')).flat_map(char::to_uppercase).collect()
}

/// A keyword line with its continuation lines.
#[derive(Debug, Clone)]
pub(super) struct Keyword {
    /// Upper case, single blanks.
    pub name: String,
    /// As [`compact`] gives it.
    pub key: String,
    /// Compact name and value.
    pub parameters: Vec<(String, String)>,
    pub place: Place,
}

impl Keyword {
    /// Parses a keyword line; takes continuation lines (after a trailing comma) from `cursor`.
    pub fn parse(first: &[u8], place: Place, cursor: &mut Cursor<'_>) -> Self {
        let mut line = first.to_vec();
        while line.trim_ascii_end().ends_with(b",") {
            let mut ahead = cursor.clone();
            // Some writers end a complete keyword line with a comma: only a line that can be parameters continues it.
            match ahead.next_line() {
                Some(Line::Data(more)) if looks_like_parameters(more) => line.extend_from_slice(more),
                Some(Line::Nothing) => {}
                _ => break,
            }
            *cursor = ahead;
        }
        let mut parts = fields(&line);
        let name = text(parts.next().unwrap_or_default());
        let name = name.split_whitespace().collect::<Vec<_>>().join(" ").to_uppercase();
        let parameters = parts
            .filter(|p| !p.is_empty())
            .map(|p| match memchr::memchr(b'=', p) {
                Some(at) => (compact(&text(&p[..at])), text(&p[at + 1..])),
                None => (compact(&text(p)), String::new()),
            })
            .collect();
        Self { key: compact(&name), name, parameters, place }
    }

    /// The value of a parameter (empty where it is only named). Abaqus takes abbreviations of three letters or more.
    pub fn get(&self, key: &str) -> Option<&str> {
        let exact = self.parameters.iter().find(|(k, _)| k == key);
        exact
            .or_else(|| self.parameters.iter().find(|(k, _)| k.len() >= 3 && key.starts_with(k.as_str())))
            .map(|(_, value)| value.as_str())
    }

    pub fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// The value; empty where there is none.
    pub fn value(&self, key: &str) -> &str {
        self.get(key).unwrap_or_default()
    }

    /// The value, unless it is empty.
    pub fn given(&self, key: &str) -> Option<&str> {
        self.get(key).filter(|value| !value.is_empty())
    }

    /// The value as a number; nothing where there is none, or it is no number.
    pub fn real(&self, key: &str) -> Option<f64> {
        real(self.value(key).as_bytes())
    }

    /// `NAME=` is this one, in any case.
    pub fn is_named(&self, name: &str) -> bool {
        self.get("NAME").is_some_and(|own| own.eq_ignore_ascii_case(name))
    }

    /// The value, compacted; empty where there is none.
    pub fn word(&self, key: &str) -> String {
        compact(self.value(key))
    }
}

/// Parameters without a value that a continuation line may hold alone; any other word may be the name of a set.
const FLAGS: [&str; 6] = ["DIRECT", "DIRECTUSERCONTROL", "EXPLICIT", "GENERATE", "INTERNAL", "UNSORTED"];

fn looks_like_parameters(line: &[u8]) -> bool {
    let mut parts = fields(line).filter(|part| !part.is_empty());
    line.first().is_some_and(u8::is_ascii_alphabetic)
        && (line.contains(&b'=') || parts.all(|part| FLAGS.contains(&compact(&text(part)).as_str())))
}

/// A line of data, kept as a reference into its source.
#[derive(Debug, Clone, Copy)]
pub(super) struct DataLine {
    pub place: Place,
    pub start: usize,
    pub end: usize,
}

/// A keyword with its data.
#[derive(Debug, Clone)]
pub(super) struct Card {
    pub keyword: Keyword,
    pub data: Vec<DataLine>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_told_apart() {
        let deck = b"*Node , Nset = A\r\n\r\n ** note\r\n******* E L E M E N T S ****\r\n\t1, 2.\t\r\n,\n  *End";
        let mut cursor = Cursor::new(deck, 0);
        let lines: Vec<_> = std::iter::from_fn(|| cursor.next_line()).collect();
        let expected = [
            Line::Keyword(b"Node , Nset = A"),
            Line::Nothing,
            Line::Nothing,
            Line::Nothing,
            Line::Data(b"1, 2."),
            Line::Data(b","),
            Line::Keyword(b"End"),
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn keyword_lines_continue_after_a_comma() {
        let deck = b"type=U1, var=4,\n   INTEGRATION = 4\n1,2\n";
        let mut cursor = Cursor::new(deck, 0);
        let keyword = Keyword::parse(b"user  Element, nodes=4,", Place::default(), &mut cursor);
        assert_eq!((keyword.name.as_str(), keyword.key.as_str()), ("USER ELEMENT", "USERELEMENT"));
        assert_eq!(keyword.get("INTEGRATION"), Some("4"));
        assert_eq!(keyword.get("VAR"), Some("4"));
        assert_eq!(cursor.next_line(), Some(Line::Data(b"1,2")));
        let deck = b"EXPLICIT,\n direct user control, scale factor=0.9\n1e-8, 1e-4\n";
        let mut cursor = Cursor::new(deck, 0);
        let keyword = Keyword::parse(b"Dynamic,", Place::default(), &mut cursor);
        assert!(keyword.has("EXPLICIT") && keyword.has("DIRECTUSERCONTROL"));
        assert_eq!((keyword.get("SCALEFACTOR"), cursor.next_line()), (Some("0.9"), Some(Line::Data(b"1e-8, 1e-4"))));
        let mut cursor = Cursor::new(b"DIRECT, 1, 2\n", 0);
        Keyword::parse(b"BOUNDARY,", Place::default(), &mut cursor);
        assert_eq!(cursor.next_line(), Some(Line::Data(b"DIRECT, 1, 2")));
        let keyword = Keyword::parse(b"NSET, NSET=\"My, Set\", gen,", Place::default(), &mut Cursor::new(b"1, 5\n", 0));
        assert_eq!(keyword.get("NSET"), Some("My, Set"));
        assert!(keyword.has("GENERATE"));
    }

    #[test]
    fn fields_keep_empty_ones_but_not_a_trailing_one() {
        let split = |line: &'static str| fields(line.as_bytes()).map(text).collect::<Vec<_>>();
        assert_eq!(split(", 0.08"), ["", "0.08"]);
        assert_eq!(split("1, 2,  "), ["1", "2"]);
        assert_eq!(split(","), [""]);
        assert_eq!(split("\"a,b\" , , c"), ["a,b", "", "c"]);
        assert_eq!([text("Stück".as_bytes()), text(b"St\xfcck"), text(b"St\xe4ck")], ["Stück", "Stück", "Stäck"]);
    }
}
