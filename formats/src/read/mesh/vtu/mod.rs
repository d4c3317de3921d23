//! VTK's XML unstructured grids, as VTK, ParaView and meshio write them: text, inline base64, appended raw or base64, plain or
//! compressed with zlib, LZ4 or LZMA.

mod data;
pub(super) mod legacy;

use std::path::Path;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::cells::{Cells, Kind};
use super::{CellArray, MeshFile, MeshFileError, bytes_of};
use data::{Encoding, Layout, Number};

/// A `DataArray` of the file, not yet read.
#[derive(Debug, Clone)]
struct Array<'a> {
    section: Section,
    piece: usize,
    name: String,
    number: Option<Number>,
    components: usize,
    format: Format<'a>,
    line: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Section {
    Points,
    Cells,
    CellData,
    PointData,
    Other,
}

#[derive(Debug, Clone, Copy)]
enum Format<'a> {
    Ascii(&'a [u8]),
    Base64(&'a [u8]),
    Appended(usize),
}

/// Reads an array; the text says what it is, for messages.
type Load<'a> = dyn Fn(&Array, &str) -> Result<Vec<f64>, MeshFileError> + 'a;

/// What the tags say.
struct Header<'a> {
    /// How binary data are laid out, or why they cannot be read, which is no matter to a file of text.
    layout: Result<Layout, String>,
    /// Nodes and cells of each piece.
    pieces: Vec<(usize, usize)>,
    arrays: Vec<Array<'a>>,
}

pub(super) fn read(path: &Path) -> Result<MeshFile, MeshFileError> {
    let bytes = bytes_of(path)?;
    let wrong = |line: u64, message: String| MeshFileError::new(path, line, message);
    // What follows <AppendedData> need not be XML.
    let (xml, appended) = match memchr::memmem::find(&bytes, b"<AppendedData") {
        Some(at) => (&bytes[..at], Some(&bytes[at..])),
        None => (&bytes[..], None),
    };
    let header = header(path, xml)?;
    let appended = match appended {
        None => None,
        Some(rest) => Some(data::Appended::new(rest).map_err(|message| wrong(0, message))?),
    };
    let offsets: Vec<usize> = header
        .arrays
        .iter()
        .filter_map(|array| match array.format {
            Format::Appended(offset) => Some(offset),
            _ => None,
        })
        .collect();
    let load = |array: &Array, what: &str| -> Result<Vec<f64>, MeshFileError> {
        let place = |message: String| wrong(array.line, format!("{what}: {message}"));
        let number = array.number.ok_or_else(|| place("its type is no number that VTK has".into()))?;
        match array.format {
            Format::Ascii(text) => data::ascii(text),
            Format::Base64(text) => data::base64(text).and_then(|raw| header.layout.clone()?.numbers(&raw, number)),
            Format::Appended(offset) => match &appended {
                None => Err("it is appended, and there is no <AppendedData>".into()),
                Some(appended) => match appended.encoding {
                    Encoding::Raw => appended.from(offset).and_then(|raw| header.layout.clone()?.numbers(raw, number)),
                    Encoding::Base64 => {
                        let next = offsets.iter().copied().filter(|&other| other > offset).min();
                        let raw = appended.base64(offset, next);
                        raw.and_then(|raw| header.layout.clone()?.numbers(&raw, number))
                    }
                },
            },
        }
        .map_err(place)
    };
    assemble(path, &header, &load)
}

fn assemble(path: &Path, header: &Header, load: &Load) -> Result<MeshFile, MeshFileError> {
    let mut mesh = MeshFile { file: path.display().to_string(), sources: vec![path.to_owned()], ..MeshFile::default() };
    let mut cells = Cells::default();
    let mut data: Vec<CellArray> = Vec::new();
    for (piece, &(n_points, n_cells)) in header.pieces.iter().enumerate() {
        let of_piece = |section: Section, name: Option<&str>| {
            let right = |array: &&Array| {
                array.piece == piece && array.section == section && name.is_none_or(|name| array.name == name)
            };
            header.arrays.iter().find(right)
        };
        let need = |section: Section, name: Option<&str>, what: &str, count: usize| {
            let array = of_piece(section, name).ok_or_else(|| {
                MeshFileError::new(path, 0, format!("a piece without {what}: the file is cut or damaged"))
            })?;
            let values = load(array, what)?;
            if values.len() != count && count != usize::MAX {
                let message = format!("{what}: {} numbers, and {count} are expected", values.len());
                return Err(MeshFileError::new(path, array.line, message));
            }
            Ok(values)
        };
        let first = mesh.coordinates.len() / 3;
        if n_points > 0 {
            mesh.coordinates.extend(need(Section::Points, None, "points", n_points.saturating_mul(3))?);
        }
        if n_cells == 0 {
            continue;
        }
        let types = need(Section::Cells, Some("types"), "types", n_cells)?;
        let offsets = need(Section::Cells, Some("offsets"), "offsets", n_cells)?;
        let connectivity = need(Section::Cells, Some("connectivity"), "connectivity", usize::MAX)?;
        let mut start = 0;
        for (cell, (&kind, &end)) in types.iter().zip(&offsets).enumerate() {
            let end = end as usize;
            let wrong = |message: String| MeshFileError::new(path, 0, message);
            let nodes =
                connectivity.get(start..end).ok_or_else(|| wrong(format!("cell {cell}: its offset is wrong")))?;
            start = end;
            let kind = kind_of(kind as u8);
            let wanted = match kind {
                Kind::Triangle => 3,
                Kind::Tetrahedron => 4,
                Kind::Other(..) => usize::MAX,
            };
            let mut own = [0_u32; 4];
            if wanted < 5 {
                if nodes.len() != wanted {
                    return Err(wrong(format!("cell {cell} has {} nodes instead of {wanted}", nodes.len())));
                }
                for (to, &from) in own.iter_mut().zip(nodes) {
                    if !(from >= 0.0 && from < n_points as f64) {
                        return Err(wrong(format!("cell {cell} names point {from}, and there are {n_points}")));
                    }
                    *to = (first + from as usize) as u32;
                }
            }
            let label = cells.len() as u32;
            cells.push(kind, label, 0, &own[..wanted.min(4)]);
        }
        for array in header.arrays.iter().filter(|array| array.piece == piece && array.section == Section::CellData) {
            // Strings and the like are of no use here.
            let (Some(number), true) = (array.number, array.components > 0) else { continue };
            let what = format!("cell array \"{}\"", array.name);
            let values = load(array, &what)?;
            if values.len() != n_cells.saturating_mul(array.components) {
                let message =
                    format!("{what}: {} numbers for {n_cells} cells of {} components", values.len(), array.components);
                return Err(MeshFileError::new(path, array.line, message));
            }
            match data.iter_mut().find(|other| other.name == array.name && other.components == array.components) {
                Some(other) => other.values.extend(values),
                None => data.push(CellArray {
                    name: array.name.clone(),
                    components: array.components,
                    whole: number.is_whole(),
                    values,
                }),
            }
        }
    }
    let on_points = header.arrays.iter().filter(|array| array.section == Section::PointData);
    mesh.point_arrays = on_points.map(|array| array.name.clone()).collect();
    let n_cells = cells.len();
    mesh.node_labels = (0..(mesh.coordinates.len() / 3).min(u32::MAX as usize) as u32).collect();
    let cell_of_element = cells.finish(path, &mut mesh)?;
    for array in data {
        let (n, name) = (array.components, &array.name);
        if array.values.len() != n * n_cells {
            mesh.notes.push(format!("{}: note: cell array \"{name}\" is not in all pieces: left out", path.display()));
            continue;
        }
        let values = if cell_of_element.len() == n_cells {
            array.values
        } else {
            cell_of_element.iter().flat_map(|&cell| &array.values[n * cell as usize..][..n]).copied().collect()
        };
        mesh.arrays.push(CellArray { values, ..array });
    }
    Ok(mesh)
}

/// VTK's cell types.
fn kind_of(code: u8) -> Kind {
    match code {
        5 => Kind::Triangle,
        10 => Kind::Tetrahedron,
        0..=2 => Kind::Other("points", 0),
        3 | 4 => Kind::Other("lines", 1),
        6 => Kind::Other("triangle strips", 2),
        7 => Kind::Other("polygons", 2),
        8 | 9 => Kind::Other("quadrilaterals", 2),
        11 | 12 => Kind::Other("hexahedra", 3),
        13 => Kind::Other("wedges", 3),
        14 => Kind::Other("pyramids", 3),
        21 => Kind::Other("second-order lines", 1),
        22 | 34 => Kind::Other("second-order triangles", 2),
        23 | 28 | 30 => Kind::Other("second-order quadrilaterals", 2),
        24 => Kind::Other("second-order tetrahedra", 3),
        25 | 29 | 33 => Kind::Other("second-order hexahedra", 3),
        69 | 76 => Kind::Other("triangles of higher order", 2),
        71 | 78 => Kind::Other("tetrahedra of higher order", 3),
        _ => Kind::Other("cells of other kinds", 3),
    }
}

/// Reads the tags.
fn header<'a>(path: &Path, xml: &'a [u8]) -> Result<Header<'a>, MeshFileError> {
    let line_at = |at: usize| 1 + memchr::memchr_iter(b'\n', &xml[..at.min(xml.len())]).count() as u64;
    let mut reader = Reader::from_reader(xml);
    reader.config_mut().check_end_names = false;
    let mut header = Header { layout: Ok(Layout::default()), pieces: Vec::new(), arrays: Vec::new() };
    let (mut section, mut known) = (Section::Other, false);
    // The array whose text is being read, and how many tags are open inside it: VTK adds <InformationKey>s with text of their own.
    let mut open: Option<(Array, bool)> = None;
    let mut inside = 0_usize;
    loop {
        let at = reader.buffer_position() as usize;
        let wrong = |message: String| MeshFileError::new(path, line_at(at), message);
        let event = reader.read_event().map_err(|error| wrong(format!("this is no XML: {error}")))?;
        let stays_open = matches!(event, Event::Start(_));
        match &event {
            Event::Start(_) if open.is_some() => inside += 1,
            Event::End(_) if inside > 0 => {
                inside -= 1;
                continue;
            }
            _ => {}
        }
        match event {
            Event::Eof => break,
            Event::Start(tag) | Event::Empty(tag) if inside == 0 => {
                let tag = Tag(tag);
                match tag.0.name().as_ref() {
                    b"VTKFile" => {
                        known = true;
                        let kind = tag.get("type").unwrap_or_default();
                        if kind != "UnstructuredGrid" {
                            return Err(wrong(format!("VTK data of type {kind}; an UnstructuredGrid is expected")));
                        }
                        header.layout =
                            Layout::new(&tag.get("byte_order"), &tag.get("header_type"), &tag.get("compressor"));
                    }
                    b"Piece" => {
                        let count = |name: &str| {
                            let text = tag.get(name).unwrap_or_default();
                            text.parse::<usize>()
                                .ok()
                                .filter(|&n| n < u32::MAX as usize)
                                .ok_or_else(|| wrong(format!("{name}=\"{text}\" is no number of things")))
                        };
                        header.pieces.push((count("NumberOfPoints")?, count("NumberOfCells")?));
                    }
                    b"Points" => section = Section::Points,
                    b"Cells" => section = Section::Cells,
                    b"CellData" => section = Section::CellData,
                    b"PointData" => section = Section::PointData,
                    b"FieldData" => section = Section::Other,
                    b"DataArray" if section != Section::Other && !header.pieces.is_empty() => {
                        let components = tag.get("NumberOfComponents").and_then(|n| n.parse().ok()).unwrap_or(1);
                        let (format, is_text) = match tag.get("format").as_deref() {
                            Some("appended") => {
                                let offset = tag.get("offset").and_then(|offset| offset.parse().ok());
                                let offset =
                                    offset.ok_or_else(|| wrong("an appended array without an offset".into()))?;
                                (Format::Appended(offset), true)
                            }
                            Some("binary") => (Format::Base64(b""), false),
                            _ => (Format::Ascii(b""), true),
                        };
                        let array = Array {
                            section,
                            piece: header.pieces.len() - 1,
                            name: tag.get("Name").unwrap_or_default(),
                            number: tag.get("type").and_then(|name| Number::from_name(&name)),
                            components,
                            format,
                            line: line_at(at),
                        };
                        header.arrays.push(array.clone());
                        open = stays_open.then_some((array, is_text));
                    }
                    _ => {}
                }
            }
            Event::Text(text) if inside == 0 => {
                if let (Some((array, is_text)), Some(last)) = (&open, header.arrays.last_mut())
                    && let std::borrow::Cow::Borrowed(text) = text.into_inner()
                    && !matches!(array.format, Format::Appended(_))
                    && !text.trim_ascii().is_empty()
                {
                    last.format = if *is_text { Format::Ascii(text) } else { Format::Base64(text) };
                }
            }
            Event::End(tag) => match tag.name().as_ref() {
                b"DataArray" => open = None,
                b"Points" | b"Cells" | b"CellData" | b"PointData" | b"FieldData" => section = Section::Other,
                _ => {}
            },
            _ => {}
        }
    }
    if !known {
        return Err(MeshFileError::new(path, 1, "this is no VTK file: there is no <VTKFile>"));
    }
    if header.pieces.is_empty() {
        return Err(MeshFileError::new(path, 0, "there is no <Piece> in it: the file is cut or damaged"));
    }
    Ok(header)
}

/// A tag with its attributes.
struct Tag<'a>(BytesStart<'a>);

impl Tag<'_> {
    fn get(&self, name: &str) -> Option<String> {
        let attribute = self.0.try_get_attribute(name).ok()??;
        attribute.unescape_value().ok().map(|value| value.into_owned())
    }
}
