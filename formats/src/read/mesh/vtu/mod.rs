//! VTK's XML unstructured grids, as VTK, ParaView and meshio write them: text, inline base64, appended raw or base64, plain or
//! compressed with zlib, LZ4 or LZMA.

mod data;
mod held;
pub(super) mod legacy;
pub(super) mod lines;

use std::borrow::Cow;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::cells::{Cells, Kind, MOST_NODES, Wanted};
use super::{CellArray, MeshFile, MeshFileError, bytes_of};
use crate::mesh::ElementShape;
use data::{Encoding, Layout, Number, Numbers};

/// A `DataArray` of the file, not yet read.
#[derive(Debug)]
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

impl Section {
    /// By the name of its tag.
    fn of(tag: &[u8]) -> Option<Self> {
        Some(match tag {
            b"Points" => Self::Points,
            b"Cells" => Self::Cells,
            b"CellData" => Self::CellData,
            b"PointData" => Self::PointData,
            b"FieldData" => Self::Other,
            _ => return None,
        })
    }
}

#[derive(Debug, Clone, Copy)]
enum Format<'a> {
    Ascii(&'a [u8]),
    Base64(&'a [u8]),
    Appended(usize),
}

/// Reads an array; the text says what it is, for messages.
type Load<'a> = dyn Fn(&Array, &str) -> Result<Numbers<'a>, MeshFileError> + 'a;

/// What the tags say.
struct Header<'a> {
    /// How binary data are laid out, or why they cannot be read, which is no matter to a file of text.
    layout: Result<Layout, String>,
    /// Nodes and cells of each piece.
    pieces: Vec<(usize, usize)>,
    arrays: Vec<Array<'a>>,
}

pub(super) fn read(path: &Path, wanted: Wanted) -> Result<MeshFile, MeshFileError> {
    if let Some(mesh) = crate::system::held::mesh(path) {
        return held::read(path, &mesh, wanted);
    }
    read_with(path, |header, load| assemble(path, header, load, wanted))
}

/// Reads a file; `assemble` makes of its tags and arrays what is asked for.
fn read_with<R>(
    path: &Path,
    assemble: impl FnOnce(&Header, &Load) -> Result<R, MeshFileError>,
) -> Result<R, MeshFileError> {
    let bytes = bytes_of(path)?;
    let wrong = |line: u64, message: String| MeshFileError::new(path, line, message);
    // What follows <AppendedData> need not be XML.
    let (xml, appended) = match memchr::memmem::find(&bytes, b"<AppendedData") {
        Some(at) => (&bytes[..at], Some(&bytes[at..])),
        None => (&bytes[..], None),
    };
    let header = header(path, xml)?;
    let appended = appended.map(data::Appended::new).transpose().map_err(|message| wrong(0, message))?;
    let offsets = header.arrays.iter().filter_map(|array| match array.format {
        Format::Appended(offset) => Some(offset),
        _ => None,
    });
    let load = |array: &Array, what: &str| -> Result<Numbers, MeshFileError> {
        let place = |message: String| wrong(array.line, format!("{what}: {message}"));
        let number = array.number.ok_or_else(|| place("its type is no number that VTK has".into()))?;
        match array.format {
            Format::Ascii(text) => data::ascii(text).map(|values| Numbers::Known(values.into())),
            Format::Base64(text) => {
                data::base64(text).and_then(|raw| header.layout.clone()?.numbers(raw.into(), number))
            }
            Format::Appended(offset) => match &appended {
                None => Err("it is appended, and there is no <AppendedData>".into()),
                Some(appended) => match appended.encoding {
                    Encoding::Raw => {
                        appended.from(offset).and_then(|raw| header.layout.clone()?.numbers(raw.into(), number))
                    }
                    Encoding::Base64 => {
                        let next = offsets.clone().filter(|&other| other > offset).min();
                        let raw = appended.base64(offset, next);
                        raw.and_then(|raw| header.layout.clone()?.numbers(raw.into(), number))
                    }
                },
            },
        }
        .map_err(place)
    };
    assemble(&header, &load)
}

/// A piece of a file.
struct Piece<'a, 'f> {
    path: &'a Path,
    arrays: Vec<&'a Array<'a>>,
    load: &'a Load<'f>,
    n_points: usize,
    n_cells: usize,
}

impl<'a, 'f> Piece<'a, 'f> {
    /// The pieces of a file.
    fn all(path: &'a Path, header: &'a Header, load: &'a Load<'f>) -> impl Iterator<Item = Self> {
        header.pieces.iter().enumerate().map(move |(at, &(n_points, n_cells))| {
            let arrays = header.arrays.iter().filter(|array| array.piece == at).collect();
            Self { path, arrays, load, n_points, n_cells }
        })
    }

    /// Adds its points to those of the pieces before; the number of its first one.
    fn points(&self, coordinates: &mut Vec<f64>) -> Result<usize, MeshFileError> {
        let first = coordinates.len() / 3;
        if self.n_points > 0 {
            let points = self.need(Section::Points, "points", Some(self.n_points.saturating_mul(3)))?.into_vec();
            match coordinates.is_empty() {
                true => *coordinates = points,
                false => coordinates.extend(points),
            }
        }
        Ok(first)
    }

    /// Numbers of an array that must be there: of the section of points the first, else the one with this name. `count` says how
    /// many they must be, where that is known.
    fn need(&self, section: Section, name: &str, count: Option<usize>) -> Result<Numbers<'f>, MeshFileError> {
        let is_it = |array: &&&Array| array.section == section && (section == Section::Points || array.name == name);
        let array = self.arrays.iter().find(is_it).ok_or_else(|| {
            MeshFileError::new(self.path, 0, format!("a piece without {name}: the file is cut or damaged"))
        })?;
        let values = (self.load)(array, name)?;
        match count.filter(|count| *count != values.len()) {
            None => Ok(values),
            Some(count) => {
                let message = format!("{name}: {} numbers, and {count} are expected", values.len());
                Err(MeshFileError::new(self.path, array.line, message))
            }
        }
    }

    /// Adds the cells; `first` is the index of the piece's first point.
    fn cells(&self, first: usize, cells: &mut Cells) -> Result<(), MeshFileError> {
        let types = self.need(Section::Cells, "types", Some(self.n_cells))?;
        let offsets = self.need(Section::Cells, "offsets", Some(self.n_cells))?;
        let connectivity = self.need(Section::Cells, "connectivity", None)?;
        if let Some((shape, nodes)) = self.cells_alike((&types, &offsets, &connectivity), first) {
            cells.extend(shape, nodes);
            return Ok(());
        }
        let [types, offsets, connectivity] = [types, offsets, connectivity].map(Numbers::into_vec);
        let mut start = 0;
        for (cell, (&code, &end)) in types.iter().zip(&offsets).enumerate() {
            let wrong = |message: String| MeshFileError::new(self.path, 0, format!("cell {cell}{message}"));
            let nodes = connectivity.get(start..end as usize).ok_or_else(|| wrong(": its offset is wrong".into()))?;
            start = end as usize;
            let kind = kind_of(code as u8);
            let (n, n_written) = (kind.n_nodes(), nodes_written(code as u8, kind));
            if n > 0 && nodes.len() != n_written {
                return Err(wrong(format!(" has {} nodes instead of {n_written}", nodes.len())));
            }
            let mut own = [0_u32; MOST_NODES];
            for (to, &from) in own[..n].iter_mut().zip(nodes) {
                if !(from >= 0.0 && from < self.n_points as f64) {
                    return Err(wrong(format!(" names point {from}, and there are {}", self.n_points)));
                }
                *to = (first + from as usize) as u32;
            }
            // Pixels and voxels go along x, then y.
            if matches!(code as u8, PIXEL | VOXEL) {
                own.swap(2, 3);
                own.swap(6, 7);
            }
            cells.push(kind, cells.len() as u32, 0, &own[..n]);
        }
        Ok(())
    }

    /// The shape and the nodes of all cells where all are alike and nothing is wrong with them.
    fn cells_alike(
        &self,
        (types, offsets, connectivity): (&Numbers, &Numbers, &Numbers),
        first: usize,
    ) -> Option<(ElementShape, Vec<u32>)> {
        let one = types.first()?;
        let code = one as u8;
        let Kind::Shape(shape) = kind_of(code) else { return None };
        let (n, n_points) = (shape.n_nodes(), self.n_points as f64);
        let is_whole = !matches!(code, PIXEL | VOXEL) && connectivity.len() == n * types.len();
        let alike = || types.all(|_, code| code == one);
        let in_step = || offsets.all(|cell, end| end == (n * (cell + 1)) as f64);
        if !(is_whole && alike() && in_step()) {
            return None;
        }
        let is_outside = AtomicBool::new(false);
        let nodes = connectivity.map(|_, node| {
            if node >= 0.0 && node < n_points {
                return (first + node as usize) as u32;
            }
            is_outside.store(true, Relaxed);
            0
        });
        (!is_outside.into_inner()).then_some((shape, nodes))
    }

    /// Adds the numbers on cells to the arrays of the pieces before.
    fn data(&self, data: &mut Vec<CellArray>) -> Result<(), MeshFileError> {
        for array in self.arrays.iter().filter(|array| array.section == Section::CellData) {
            // Strings and the like are of no use here.
            let (Some(number), components @ 1..) = (array.number, array.components) else { continue };
            let (name, n_cells) = (&array.name, self.n_cells);
            let what = format!("cell array \"{name}\"");
            let values = (self.load)(array, &what)?;
            if values.len() != n_cells.saturating_mul(components) {
                let message =
                    format!("{what}: {} numbers for {n_cells} cells of {components} components", values.len());
                return Err(MeshFileError::new(self.path, array.line, message));
            }
            let values = values.into_vec();
            match data.iter_mut().find(|other| other.name == *name && other.components == components) {
                Some(other) => other.values.extend(values),
                None => data.push(CellArray { name: name.clone(), components, whole: number.is_whole(), values }),
            }
        }
        Ok(())
    }
}

/// Puts the pieces together.
fn assemble(path: &Path, header: &Header, load: &Load, wanted: Wanted) -> Result<MeshFile, MeshFileError> {
    let mut mesh = MeshFile::of(path);
    let mut cells = Cells::default();
    let mut data: Vec<CellArray> = Vec::new();
    for piece in Piece::all(path, header, load) {
        let first = piece.points(&mut mesh.coordinates)?;
        if piece.n_cells > 0 {
            piece.cells(first, &mut cells)?;
            piece.data(&mut data)?;
        }
    }
    let on_points = header.arrays.iter().filter(|array| array.section == Section::PointData);
    mesh.point_arrays = on_points.map(|array| array.name.clone()).collect();
    let n_cells = cells.len();
    mesh.node_labels = (0..(mesh.coordinates.len() / 3).min(u32::MAX as usize) as u32).collect();
    let cell_of_element = cells.finish(path, &mut mesh, wanted)?;
    arrays_of_elements(path, &mut mesh, data, n_cells, &cell_of_element);
    Ok(mesh)
}

/// Adds data on cells as data on elements, which may be some of the cells.
fn arrays_of_elements(path: &Path, mesh: &mut MeshFile, data: Vec<CellArray>, n_cells: usize, cell_of_element: &[u32]) {
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
}

/// VTK's quadrilaterals and hexahedra along the axes.
const PIXEL: u8 = 8;
const VOXEL: u8 = 11;

/// VTK's second-order cells with nodes in the middle of faces, which stand behind those on edges.
const SEVEN_NODES: u8 = 34;
const NINE_NODES: u8 = 28;
const TWENTY_SEVEN_NODES: u8 = 29;
const EIGHTEEN_NODES: u8 = 32;

/// Nodes that a cell has in the file.
fn nodes_written(code: u8, kind: Kind) -> usize {
    match code {
        SEVEN_NODES => 7,
        NINE_NODES => 9,
        TWENTY_SEVEN_NODES => 27,
        EIGHTEEN_NODES => 18,
        _ => kind.n_nodes(),
    }
}

/// VTK's cell types.
fn kind_of(code: u8) -> Kind {
    match code {
        5 => Kind::TRIANGLE,
        PIXEL | 9 => Kind::QUADRILATERAL,
        10 => Kind::TETRAHEDRON,
        VOXEL | 12 => Kind::HEXAHEDRON,
        13 => Kind::WEDGE,
        0..=2 => Kind::Other("points", 0),
        3 | 4 => Kind::Other("lines", 1),
        6 => Kind::Other("triangle strips", 2),
        7 => Kind::Other("polygons", 2),
        14 => Kind::Other("pyramids", 3),
        21 => Kind::Other("second-order lines", 1),
        22 | SEVEN_NODES => Kind::SecondOrder(ElementShape::Triangle),
        23 | NINE_NODES => Kind::SecondOrder(ElementShape::Quadrilateral),
        24 => Kind::SecondOrder(ElementShape::Tetrahedron),
        25 | TWENTY_SEVEN_NODES => Kind::SecondOrder(ElementShape::Hexahedron),
        26 | EIGHTEEN_NODES => Kind::SecondOrder(ElementShape::Wedge),
        30 => Kind::Other("quadrilaterals of second order along one side", 2),
        33 => Kind::Other("hexahedra of 24 nodes", 3),
        69 | 76 => Kind::Other("triangles of higher order", 2),
        71 | 78 => Kind::Other("tetrahedra of higher order", 3),
        _ => Kind::Other("cells of other kinds", 3),
    }
}

impl<'a> Header<'a> {
    /// Gives the last array its text, unless its data are appended.
    fn set_text(&mut self, text: Cow<'a, [u8]>) {
        if let (Some(Format::Ascii(own) | Format::Base64(own)), Cow::Borrowed(text)) =
            (self.arrays.last_mut().map(|array| &mut array.format), text)
            && !text.trim_ascii().is_empty()
        {
            *own = text;
        }
    }
}

/// Reads the tags.
fn header<'a>(path: &Path, xml: &'a [u8]) -> Result<Header<'a>, MeshFileError> {
    let line_at = |at: usize| 1 + memchr::memchr_iter(b'\n', &xml[..at.min(xml.len())]).count() as u64;
    let mut reader = Reader::from_reader(xml);
    reader.config_mut().check_end_names = false;
    let mut header = Header { layout: Ok(Layout::default()), pieces: Vec::new(), arrays: Vec::new() };
    let (mut section, mut known) = (Section::Other, false);
    // Whether an array's text is being read, and how many tags are open inside it: VTK adds <InformationKey>s with text of
    // their own.
    let (mut open, mut inside) = (false, 0_usize);
    loop {
        let at = reader.buffer_position() as usize;
        let wrong = |message: String| MeshFileError::new(path, line_at(at), message);
        let event = reader.read_event().map_err(|error| wrong(format!("this is no XML: {error}")))?;
        let stays_open = matches!(event, Event::Start(_));
        match event {
            Event::Eof => break,
            Event::Start(_) if open => inside += 1,
            Event::End(_) if inside > 0 => inside -= 1,
            _ if inside > 0 => {}
            Event::Start(tag) | Event::Empty(tag) => {
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
                        let count = |name: &str| tag.count(name).map_err(wrong);
                        header.pieces.push((count("NumberOfPoints")?, count("NumberOfCells")?));
                    }
                    b"DataArray" if section != Section::Other && !header.pieces.is_empty() => {
                        let (piece, line) = (header.pieces.len() - 1, line_at(at));
                        header.arrays.push(tag.array(section, piece, line).map_err(wrong)?);
                        open = stays_open;
                    }
                    name => section = Section::of(name).unwrap_or(section),
                }
            }
            Event::Text(text) if open => header.set_text(text.into_inner()),
            Event::End(tag) => match tag.name().as_ref() {
                b"DataArray" => open = false,
                name if Section::of(name).is_some() => section = Section::Other,
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

    fn count(&self, name: &str) -> Result<usize, String> {
        let text = self.get(name).unwrap_or_default();
        let count = text.parse().ok().filter(|&n| n < u32::MAX as usize);
        count.ok_or_else(|| format!("{name}=\"{text}\" is no number of things"))
    }

    /// What a `DataArray` says of itself.
    fn array(&self, section: Section, piece: usize, line: u64) -> Result<Array<'static>, String> {
        let number = |name: &str| self.get(name).and_then(|text| text.parse().ok());
        let format = match self.get("format").as_deref() {
            Some("appended") => Format::Appended(number("offset").ok_or("an appended array without an offset")?),
            Some("binary") => Format::Base64(b""),
            _ => Format::Ascii(b""),
        };
        Ok(Array {
            section,
            piece,
            name: self.get("Name").unwrap_or_default(),
            number: self.get("type").and_then(|name| Number::from_name(&name)),
            components: number("NumberOfComponents").unwrap_or(1),
            format,
            line,
        })
    }
}
