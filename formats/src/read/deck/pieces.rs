//! Long blocks of records, such as nodes and elements, read by all threads.

use memchr::{memchr, memchr_iter, memrchr};

use super::lexer::{Cursor, Place};
use crate::system::parallel::iterate::*;

/// Bytes of a block that are read line by line first: most blocks are short.
pub(super) const FIRST: usize = 256 << 10;
/// Bytes that a thread reads at once, about.
const PIECE: usize = 512 << 10;
/// Lines at which a piece may end that are tried.
const TRIES: usize = 64;

/// Records of a label and `width` values each.
pub(super) struct Records<'a, V> {
    pub width: usize,
    pub labels: &'a mut Vec<u32>,
    pub values: &'a mut Vec<V>,
}

/// What a line adds: a label, where a record begins, and values. The number says how many values its record lacks. False for a
/// line that somebody has to look at; what it has added by then is taken back.
pub(super) trait Parse<V>: Fn(&[u8], &mut Vec<u32>, &mut Vec<V>, &mut usize) -> bool + Sync {}
impl<V, F: Fn(&[u8], &mut Vec<u32>, &mut Vec<V>, &mut usize) -> bool + Sync> Parse<V> for F {}

/// What was read of a piece: whole records, up to where the first line begins that is not among them.
struct Piece<V> {
    labels: Vec<u32>,
    values: Vec<V>,
    end: usize,
    n_lines: u64,
    /// All of the piece.
    is_all: bool,
}

/// A block that is read in pieces where nothing has to be said of its lines.
pub(super) struct Pieces {
    /// From here on.
    from: usize,
    /// Bytes that are read line by line after a line that has to be looked at: more each time.
    wait: usize,
}

impl Pieces {
    /// Of a block whose first line is the next.
    pub fn new(cursor: &Cursor) -> Self {
        Self { from: cursor.at + FIRST, wait: FIRST }
    }

    /// Reads whole records as long as `parse` takes their lines, and moves behind them; the next line begins a record. Does
    /// nothing in short blocks, and for a while after a line that `parse` has not taken.
    pub fn read<V: Copy + Send>(&mut self, cursor: &mut Cursor, records: Records<'_, V>, parse: impl Parse<V>) {
        if cursor.at < self.from || rayon::current_num_threads() == 1 {
            return;
        }
        let bytes = cursor.bytes();
        loop {
            let most = bytes.len().min(cursor.at + 4 * rayon::current_num_threads() * PIECE);
            let block_end = end_of_block(bytes, cursor.at, most);
            let cuts = cuts(bytes, cursor.at, block_end);
            let read = |cut: &[usize]| read_piece(&bytes[..cut[1]], cut[0], records.width, &parse);
            let pieces: Vec<Piece<V>> = cuts.par_windows(2).map(read).collect();
            if pieces.is_empty() {
                // Lines that all end with a comma, say: nobody knows where a record begins.
                self.from = usize::MAX;
                return;
            }
            for piece in pieces {
                records.labels.extend_from_slice(&piece.labels);
                records.values.extend_from_slice(&piece.values);
                cursor.skip_to(piece.end, piece.n_lines);
                if !piece.is_all {
                    self.wait = self.wait.saturating_mul(8);
                    self.from = cursor.at.saturating_add(self.wait);
                    return;
                }
            }
            if block_end < most || most == bytes.len() {
                self.from = cursor.at + FIRST;
                return;
            }
        }
    }
}

/// Where the line of the next keyword begins, at most `most`; `at` is the beginning of a line.
pub(super) fn end_of_block(bytes: &[u8], at: usize, most: usize) -> usize {
    let begins_with = |star: usize| {
        let blanks = bytes[at..star].iter().rev().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r')).count();
        let start = star - blanks;
        let is_keyword = bytes.get(star + 1) != Some(&b'*') && (start == at || bytes[start - 1] == b'\n');
        is_keyword.then_some(start)
    };
    memchr_iter(b'*', &bytes[at..most]).find_map(|found| begins_with(at + found)).unwrap_or(most)
}

/// Pieces of whole lines.
pub(super) fn lines_of(mut bytes: &[u8]) -> Vec<&[u8]> {
    let mut pieces = Vec::new();
    while !bytes.is_empty() {
        let from = PIECE.min(bytes.len());
        let end = memchr(b'\n', &bytes[from..]).map_or(bytes.len(), |found| from + found + 1);
        let (piece, rest) = bytes.split_at(end);
        pieces.push(piece);
        bytes = rest;
    }
    pieces
}

/// Where pieces begin and end: at lines behind a line of data that does not go on.
fn cuts(bytes: &[u8], first: usize, end: usize) -> Vec<usize> {
    let mut cuts = vec![first];
    let mut at = first;
    while at < end {
        at = (at + PIECE).min(end);
        let mut tries = 0;
        while at < end && tries < TRIES {
            at = memchr(b'\n', &bytes[at..end]).map_or(end, |found| at + found + 1);
            if ends_a_record(&bytes[first..at]) {
                break;
            }
            tries += 1;
        }
        let is_line = at == bytes.len() || bytes[at - 1] == b'\n';
        if tries == TRIES || !is_line || !ends_a_record(&bytes[first..at]) {
            break;
        }
        cuts.push(at);
    }
    cuts
}

/// Whether the last line is one of data that does not go on in the next.
fn ends_a_record(bytes: &[u8]) -> bool {
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let line = bytes[memrchr(b'\n', bytes).map_or(0, |found| found + 1)..].trim_ascii();
    line.last().is_some_and(|&last| last != b',') && line[0] != b'*'
}

fn read_piece<V: Copy>(bytes: &[u8], first: usize, width: usize, parse: &impl Parse<V>) -> Piece<V> {
    let mut cursor = Cursor::at(bytes, first, Place::default());
    let (mut labels, mut values, mut missing) = (Vec::new(), Vec::new(), 0);
    let (mut end, mut n_lines, mut n_whole, mut is_all) = (first, 0, 0, false);
    loop {
        if missing == 0 {
            (end, n_lines, n_whole) = (cursor.at, cursor.next.line, labels.len());
        }
        let Some(line) = cursor.next_data() else {
            is_all = missing == 0 && cursor.at == bytes.len();
            break;
        };
        if !parse(line, &mut labels, &mut values, &mut missing) {
            break;
        }
    }
    if is_all {
        // Comments and blank lines behind the last record, too.
        (end, n_lines) = (cursor.at, cursor.next.line);
    }
    labels.truncate(n_whole);
    values.truncate(n_whole * width);
    Piece { labels, values, end, n_lines, is_all }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_end_where_records_do() {
        // Records of two lines each, the first of which goes on, and comments.
        let lines =
            |k: usize| format!("{k}, 1, 2,\n{}{}, 4\n", if k.is_multiple_of(50) { "** more,\n" } else { "" }, k % 1000);
        let text: String = (0..100_000).map(lines).collect();
        let bytes = text.as_bytes();
        for end in (2 * PIECE..2 * PIECE + 300).chain([bytes.len()]) {
            let cuts = cuts(bytes, 0, end);
            assert!(cuts.len() > 1 && cuts.is_sorted() && cuts.iter().all(|&cut| cut <= end), "{end}: {cuts:?}");
            for &cut in &cuts[1..] {
                let before = &text[..cut];
                assert!(before.ends_with(", 4\n"), "{end}: ends with {:?}", &before[before.len() - 20..]);
            }
        }
        assert_eq!(cuts(b"1, 2,\n3, 4,\n", 0, 12), [0]);
        assert_eq!(end_of_block(b"1, 2\n** no\n*Elset\n3", 0, 19), 11);
        assert_eq!(end_of_block(b"1, 2\n** no\n*Elset\n3", 0, 4), 4);
        assert_eq!(end_of_block(b"1, 2\n ** no * *\n \t*Elset\n3", 0, 24), 16);
        assert_eq!(end_of_block(b"1, 2\n  *Elset\n3", 5, 15), 5);
    }
}
