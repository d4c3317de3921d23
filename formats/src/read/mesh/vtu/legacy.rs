//! VTK's older files of unstructured grids (`.vtk`), text or binary, versions 1 to 5.1: read into the arrays that `.vtu` files have.

use std::path::Path;

use super::super::cells::Wanted;
use super::super::scan::{Scanner, parse, words};
use super::super::{MeshFile, MeshFileError, bytes_of};
use super::data::{Layout, Number, Numbers, real};
use super::{Array, Format, Header, Load, Section, assemble};

/// The file, and how far it is read.
struct Legacy<'a> {
    path: &'a Path,
    scan: Scanner<'a>,
    /// Line of the keyword that was read last.
    line: u64,
    binary: bool,
    header: Header<'a>,
    /// Of each array of the header.
    tables: Vec<Vec<f64>>,
}

pub(in super::super) fn read(path: &Path, wanted: Wanted) -> Result<MeshFile, MeshFileError> {
    read_with(path, |header, load| assemble(path, header, load, wanted))
}

/// Reads a file; `assemble` makes of its arrays what is asked for.
pub(super) fn read_with<R>(
    path: &Path,
    assemble: impl FnOnce(&Header, &Load) -> Result<R, MeshFileError>,
) -> Result<R, MeshFileError> {
    let bytes = bytes_of(path)?;
    let header = Header { layout: Ok(Layout::default()), pieces: vec![(0, 0)], arrays: Vec::new() };
    let scan = Scanner::new(path, &bytes);
    let mut file = Legacy { path, scan, line: 0, binary: false, header, tables: Vec::new() };
    file.all()?;
    let Legacy { header, tables, .. } = file;
    let load = |array: &Array, _: &str| -> Result<Numbers, MeshFileError> {
        match array.format {
            Format::Appended(index) => Ok(Numbers::Known(tables[index].as_slice().into())),
            _ => Ok(Numbers::Known(Vec::new().into())),
        }
    };
    assemble(&header, &load)
}

impl<'a> Legacy<'a> {
    fn all(&mut self) -> Result<(), MeshFileError> {
        let version =
            self.line().strip_prefix(b"# vtk DataFile Version ").and_then(|version| parse::<f64>(version.trim_ascii()));
        let version = version.ok_or_else(|| self.wrong("this is no VTK file: its first line says so"))?;
        self.line();
        self.binary = match self.line() {
            b"BINARY" => true,
            b"ASCII" => false,
            _ => return Err(self.wrong("its third line is neither ASCII nor BINARY")),
        };
        // Which data come, and of how many things.
        let (mut section, mut count) = (Section::Other, 0);
        while let Some(words) = self.words() {
            let word = |at: usize| words.get(at).map_or("", String::as_str);
            let number = |at: usize| word(at).parse::<usize>();
            let n = number(1).unwrap_or(0);
            match word(0).to_ascii_uppercase().as_str() {
                "DATASET" if !word(1).eq_ignore_ascii_case("UNSTRUCTURED_GRID") => {
                    let message = format!("a VTK file of type {}: save the mesh as an unstructured grid", word(1));
                    return Err(self.wrong(&message));
                }
                "DATASET" => {}
                "METADATA" => self.skip_metadata(),
                "POINTS" => {
                    self.header.pieces[0].0 = n;
                    self.array(Section::Points, "", 3, n, word(2))?;
                }
                "CELLS" => self.cells(n, number(2).unwrap_or(0), version >= 5.0)?,
                "CELL_TYPES" => self.array(Section::Cells, "types", 1, n, "int")?,
                "CELL_DATA" => (section, count) = (Section::CellData, n),
                "POINT_DATA" => (section, count) = (Section::PointData, n),
                "SCALARS" => {
                    let components = number(3).unwrap_or(1);
                    let before = (self.scan.clone(), self.line);
                    if self.words().is_none_or(|words| words[0] != "LOOKUP_TABLE") {
                        (self.scan, self.line) = before;
                    }
                    self.array(section, word(1), components, count, word(2))?;
                }
                "VECTORS" | "NORMALS" => self.array(section, word(1), 3, count, word(2))?,
                "TENSORS" => self.array(section, word(1), 9, count, word(2))?,
                "TENSORS6" => self.array(section, word(1), 6, count, word(2))?,
                "GLOBAL_IDS" | "PEDIGREE_IDS" => self.array(section, word(1), 1, count, word(2))?,
                "TEXTURE_COORDINATES" => self.array(section, word(1), number(2).unwrap_or(0), count, word(3))?,
                "COLOR_SCALARS" => self.array(section, word(1), number(2).unwrap_or(0), count, "unsigned_char")?,
                "LOOKUP_TABLE" => self.array(Section::Other, "", 4, number(2).unwrap_or(0), "unsigned_char")?,
                "FIELD" => (0..number(2).unwrap_or(0)).try_for_each(|_| self.array_of_field(section))?,
                other => {
                    let message = format!("`{other}` is no keyword of a VTK file, or the numbers before it are cut");
                    return Err(self.wrong(&message));
                }
            }
        }
        Ok(())
    }

    /// An array of a field, which says itself how many things it has.
    fn array_of_field(&mut self, section: Section) -> Result<(), MeshFileError> {
        let mut words = self.words().ok_or_else(|| self.cut())?;
        if words[0] == "METADATA" {
            self.skip_metadata();
            words = self.words().ok_or_else(|| self.cut())?;
        }
        let [name, components, n, kind] = words.as_slice() else { return Err(self.cut()) };
        let (Ok(components), Ok(n)) = (components.parse(), n.parse()) else { return Err(self.cut()) };
        self.array(section, name, components, n, kind)
    }

    fn wrong(&self, message: &str) -> MeshFileError {
        MeshFileError::new(self.path, if self.binary { 0 } else { self.line }, message)
    }

    fn cut(&self) -> MeshFileError {
        self.wrong("the file is cut or damaged")
    }

    /// The rest of the line.
    fn line(&mut self) -> &'a [u8] {
        self.line = self.scan.line;
        self.scan.rest_of_line().unwrap_or_default()
    }

    /// Passes over the lines up to an empty one.
    fn skip_metadata(&mut self) {
        while !self.line().is_empty() {}
    }

    /// The words of the next line that has some.
    fn words(&mut self) -> Option<Vec<String>> {
        self.scan.peek()?;
        Some(words(self.line()).map(|word| String::from_utf8_lossy(word).into_owned()).collect())
    }

    /// The next numbers of a type.
    fn numbers(&mut self, n: usize, kind: &str) -> Result<Vec<f64>, MeshFileError> {
        let Some(number) = Number::from_legacy_name(kind) else {
            return Err(self.wrong(&format!("arrays of type `{kind}` are not read: write the file without them")));
        };
        if self.binary {
            let raw = n.checked_mul(number.bytes()).and_then(|bytes| self.scan.raw(bytes).ok());
            let raw = raw.ok_or_else(|| self.cut())?;
            return Layout::big_endian().convert(raw, number).map_err(|message| self.wrong(&message));
        }
        let mut numbers = self.scan.room(n, 2).map_err(|_| self.cut())?;
        for _ in 0..n {
            let word = self.scan.word().ok_or_else(|| self.cut())?;
            numbers.push(real(word).map_err(|message| self.wrong(&message))?);
        }
        Ok(numbers)
    }

    /// An array of `n` things follows.
    fn array(
        &mut self,
        section: Section,
        name: &str,
        components: usize,
        n: usize,
        kind: &str,
    ) -> Result<(), MeshFileError> {
        let n = n.checked_mul(components).ok_or_else(|| self.cut())?;
        if kind.eq_ignore_ascii_case("string") {
            return self.skip_strings(n);
        }
        let values = self.numbers(n, kind)?;
        self.put(section, &plain(name), components, Number::from_legacy_name(kind), values);
        Ok(())
    }

    /// Texts: one a line or, in binary files, behind their lengths, whose two highest bits say in how many bytes these are.
    fn skip_strings(&mut self, n: usize) -> Result<(), MeshFileError> {
        for _ in 0..n {
            if !self.binary {
                self.scan.rest_of_line().ok_or_else(|| self.cut())?;
                continue;
            }
            let rest = self.scan.rest();
            let width = [8, 4, 2, 1][rest.first().map_or(0, |&byte| usize::from(byte >> 6))];
            let head = rest.get(..width).ok_or_else(|| self.cut())?;
            let length =
                head.iter().fold(0_u64, |sum, &byte| sum << 8 | u64::from(byte)) & (u64::MAX >> (66 - 8 * width));
            let skipped = usize::try_from(length).map_or(rest.len(), |length| rest.len().min(width + length));
            self.scan.raw(skipped)?;
        }
        Ok(())
    }

    fn put(&mut self, section: Section, name: &str, components: usize, number: Option<Number>, values: Vec<f64>) {
        let format = Format::Appended(self.tables.len());
        self.tables.push(values);
        let name = name.to_owned();
        self.header.arrays.push(Array { section, piece: 0, name, number, components, format, line: 0 });
    }

    /// Nodes of the cells: each with its number before them or, from version 5 on, with offsets.
    fn cells(&mut self, n: usize, size: usize, with_offsets: bool) -> Result<(), MeshFileError> {
        let (mut offsets, mut connectivity) = (Vec::new(), Vec::new());
        if with_offsets {
            for table in [(&mut offsets, n), (&mut connectivity, size)] {
                let words = self.words().ok_or_else(|| self.cut())?;
                *table.0 = self.numbers(table.1, words.get(1).map_or("", String::as_str))?;
            }
            offsets = offsets.split_off(1.min(offsets.len()));
        } else {
            let all = self.numbers(size, "int")?;
            let mut rest = all.as_slice();
            while let Some((&count, after)) = rest.split_first() {
                let Some((nodes, after)) = after.split_at_checked(count as usize) else { return Err(self.cut()) };
                connectivity.extend_from_slice(nodes);
                offsets.push(connectivity.len() as f64);
                rest = after;
            }
        }
        self.header.pieces[0].1 = offsets.len();
        self.put(Section::Cells, "offsets", 1, None, offsets);
        self.put(Section::Cells, "connectivity", 1, None, connectivity);
        Ok(())
    }
}

/// A name in which blanks and the like are written as `%20`.
fn plain(name: &str) -> String {
    let mut parts = name.split('%');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.get(..2).and_then(|hex| u8::from_str_radix(hex, 16).ok()).filter(u8::is_ascii) {
            Some(byte) => {
                out.push(char::from(byte));
                out += &part[2..];
            }
            None => {
                out.push('%');
                out += part;
            }
        }
    }
    out
}
