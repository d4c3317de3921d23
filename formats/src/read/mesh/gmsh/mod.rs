//! Gmsh's `.msh`, versions 2.2 and 4.1, as text and binary.
//!
//! Physical groups become sets: of elements for those of the mesh's dimension, and of nodes for all.

mod data;
mod v2;
mod v4;

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use super::cells::{Cells, Kind, Wanted, element_of_cell};
use super::scan::Scanner;
use super::{CellArray, MeshFile, MeshFileError, bytes_of};
use crate::mesh::{ElementShape, NamedSet};
use crate::read::labels::LabelIndex;

/// Name of the cell array of physical groups, as meshio has it.
pub(super) const PHYSICAL: &str = "gmsh:physical";

/// Nodes that an element may have.
const MOST_NODES: usize = 32;

/// What has been read so far.
#[derive(Default)]
struct Raw {
    /// Tags and positions of nodes.
    tags: Vec<u64>,
    coordinates: Vec<f64>,
    index: LabelIndex,
    cells: Cells,
    /// Tag of each cell.
    cell_tags: Vec<u64>,
    /// First physical group of each cell, 0 for none.
    physical: Vec<i32>,
    /// Kind and nodes of the last cell.
    last: Option<(Kind, [u32; MOST_NODES])>,
    /// Nodes of each group (dimension, group).
    group_nodes: BTreeMap<(usize, i32), Vec<u32>>,
    /// Cells of each group.
    group_cells: BTreeMap<(usize, i32), Vec<u32>>,
    names: HashMap<(usize, i32), String>,
    /// Physical groups of each geometric entity (version 4).
    entities: HashMap<(usize, i32), Vec<i32>>,
    data: Vec<data::ElementData>,
}

/// How numbers are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NumberFormat {
    Text,
    /// Binary; true where the bytes must be swapped.
    Binary(bool),
}

impl NumberFormat {
    /// A whole number of 4 bytes.
    fn int(self, scan: &mut Scanner) -> Result<i32, MeshFileError> {
        self.number(scan, "a whole number", i32::from_le_bytes)
    }

    /// A whole number of 8 bytes that is not negative.
    fn size(self, scan: &mut Scanner) -> Result<u64, MeshFileError> {
        self.number(scan, "a whole number", u64::from_le_bytes)
    }

    fn real(self, scan: &mut Scanner, what: &str) -> Result<f64, MeshFileError> {
        self.number(scan, what, f64::from_le_bytes)
    }

    /// The tag of a node or an element of version 2, which has 4 bytes.
    fn tag(self, scan: &mut Scanner, what: &str) -> Result<u64, MeshFileError> {
        match self {
            Self::Text => scan.number(what),
            Self::Binary(_) => {
                let tag = self.int(scan)?;
                u64::try_from(tag).map_err(|_| scan.error(format!("the tag of {what} is {tag}")))
            }
        }
    }

    fn number<T: std::str::FromStr, const N: usize>(
        self,
        scan: &mut Scanner,
        what: &str,
        from_bytes: fn([u8; N]) -> T,
    ) -> Result<T, MeshFileError> {
        let Self::Binary(swap) = self else { return scan.number(what) };
        let mut bytes = scan.array()?;
        if swap {
            bytes.reverse();
        }
        Ok(from_bytes(bytes))
    }

    /// Passes over the end of the line before binary data.
    fn begin(self, scan: &mut Scanner) {
        if self != Self::Text {
            scan.rest_of_line();
        }
    }
}

pub(super) fn read(path: &Path, wanted: Wanted) -> Result<MeshFile, MeshFileError> {
    let bytes = bytes_of(path)?;
    let mut scan = Scanner::new(path, &bytes);
    let mut raw = Raw::default();
    let (mut version, mut format) = (None, NumberFormat::Text);
    while let Some(line) = scan.next_line() {
        match (line, version) {
            (b"$MeshFormat", _) => {
                let (number, how) = format_of(&mut scan)?;
                (version, format) = (Some(number), how);
            }
            (_, None) => {
                return Err(MeshFileError::new(path, 1, "this is no Gmsh mesh: it does not begin with $MeshFormat"));
            }
            (b"$PhysicalNames", _) => names(&mut scan, &mut raw)?,
            (b"$Entities", _) => v4::entities(&mut scan, format, &mut raw)?,
            (b"$Nodes", Some(version)) => {
                match version {
                    Version::Two => v2::nodes(&mut scan, format, &mut raw)?,
                    Version::Four => v4::nodes(&mut scan, format, &mut raw)?,
                }
                index_nodes(&mut raw, &scan)?;
            }
            (b"$Elements", Some(Version::Two)) => v2::elements(&mut scan, format, &mut raw)?,
            (b"$Elements", Some(Version::Four)) => v4::elements(&mut scan, format, &mut raw)?,
            (b"$ElementData", _) => raw.data.push(data::read(&mut scan, format)?),
            (b"$PartitionedEntities", _) => {
                return Err(scan.error("a partitioned mesh is not read: save it whole"));
            }
            _ => {
                if line.starts_with(b"$") {
                    skip(&mut scan, line)?;
                }
                continue;
            }
        }
        end(&mut scan, line)?;
    }
    if version.is_none() {
        return Err(MeshFileError::new(path, 0, "this is no Gmsh mesh: there is no $MeshFormat"));
    }
    finish(path, raw, wanted)
}

#[derive(Clone, Copy)]
enum Version {
    Two,
    Four,
}

/// Version of the file, and how its numbers are written.
fn format_of(scan: &mut Scanner) -> Result<(Version, NumberFormat), MeshFileError> {
    let found: String = scan.number("the version of the format")?;
    let version = match found.as_str() {
        "2" | "2.0" | "2.1" | "2.2" => Version::Two,
        "4.1" => Version::Four,
        other => {
            let message =
                format!("version {other} of the format is not read: save as 2.2 or 4.1 (gmsh -save -format msh41)");
            return Err(scan.error(message));
        }
    };
    let binary: u32 = scan.number("0 (text) or 1 (binary)")?;
    let size: u32 = scan.number("the size of a number")?;
    scan.rest_of_line();
    if binary != 1 {
        return Ok((version, NumberFormat::Text));
    }
    let one = i32::from_le_bytes(scan.array()?);
    if one != 1 && one != i32::from_be(1) || size != 8 {
        return Err(scan.error("the binary header is not Gmsh's"));
    }
    Ok((version, NumberFormat::Binary(one != 1)))
}

/// The line that ends a section, which begins with `$Name`.
fn end(scan: &mut Scanner, name: &[u8]) -> Result<(), MeshFileError> {
    let wanted = [b"$End", &name[1..]].concat();
    match scan.next_line() {
        Some(line) if line == wanted => Ok(()),
        _ => Err(scan.error(format!(
            "{} is expected here: the section has more or fewer entries than it announces",
            String::from_utf8_lossy(&wanted)
        ))),
    }
}

/// Passes over a section that says nothing of the mesh.
fn skip(scan: &mut Scanner, name: &[u8]) -> Result<(), MeshFileError> {
    let wanted = [b"$End", &name[1..]].concat();
    loop {
        match scan.rest_of_line() {
            None => return Err(scan.error(format!("{} does not end", String::from_utf8_lossy(name)))),
            Some(line) if line.ends_with(&wanted) => return Ok(()),
            Some(_) => {}
        }
    }
}

fn names(scan: &mut Scanner, raw: &mut Raw) -> Result<(), MeshFileError> {
    let n: usize = scan.number("the number of names")?;
    for _ in 0..n {
        let dimension: usize = scan.number("a dimension")?;
        let group: i32 = scan.number("a physical group")?;
        let rest = scan.rest_of_line().unwrap_or_default();
        let name = String::from_utf8_lossy(rest).trim().trim_matches('"').to_owned();
        raw.names.insert((dimension, group), name);
    }
    Ok(())
}

fn index_nodes(raw: &mut Raw, scan: &Scanner) -> Result<(), MeshFileError> {
    if raw.tags.len() >= u32::MAX as usize {
        return Err(scan.error("more nodes than 32-bit tables can hold"));
    }
    if let Some(tag) = raw.tags.iter().find(|&&tag| tag > u64::from(u32::MAX)) {
        return Err(scan.error(format!("node {tag}: tags above 4294967295 are not read; renumber the mesh")));
    }
    let (index, repeated) = LabelIndex::build(raw.tags.iter().map(|&tag| tag as u32));
    if let Some(&(again, _)) = repeated.first() {
        return Err(scan.error(format!("node {} is defined twice", raw.tags[again as usize])));
    }
    raw.index = index;
    Ok(())
}

/// Gmsh's element types: number, kind and number of nodes.
const KINDS: [(i32, Kind, usize); 22] = [
    (1, Kind::Other("lines", 1), 2),
    (2, Kind::TRIANGLE, 3),
    (3, Kind::QUADRILATERAL, 4),
    (4, Kind::TETRAHEDRON, 4),
    (5, Kind::HEXAHEDRON, 8),
    (6, Kind::WEDGE, 6),
    (7, Kind::Other("pyramids", 3), 5),
    (8, Kind::Other("second-order lines", 1), 3),
    (9, Kind::SecondOrder(ElementShape::Triangle), 6),
    (10, Kind::SecondOrder(ElementShape::Quadrilateral), 9),
    (11, Kind::SecondOrder(ElementShape::Tetrahedron), 10),
    (12, Kind::SecondOrder(ElementShape::Hexahedron), 27),
    (13, Kind::SecondOrder(ElementShape::Wedge), 18),
    (14, Kind::Other("second-order pyramids", 3), 14),
    (15, Kind::Other("points", 0), 1),
    (16, Kind::SecondOrder(ElementShape::Quadrilateral), 8),
    (17, Kind::SecondOrder(ElementShape::Hexahedron), 20),
    (18, Kind::SecondOrder(ElementShape::Wedge), 15),
    (19, Kind::Other("second-order pyramids", 3), 13),
    (21, Kind::Other("third-order triangles", 2), 10),
    (26, Kind::Other("third-order lines", 1), 4),
    (29, Kind::Other("third-order tetrahedra", 3), 20),
];

/// Where Gmsh has the nodes on edges, which follow the corners: in the order of Abaqus, from 0. Those in the middle of faces and
/// elements, which some types have, come last.
fn places_on_edges(kind: Kind) -> &'static [usize] {
    match kind {
        Kind::SecondOrder(ElementShape::Triangle) => &[0, 1, 2],
        Kind::SecondOrder(ElementShape::Quadrilateral) => &[0, 1, 2, 3],
        Kind::SecondOrder(ElementShape::Tetrahedron) => &[0, 1, 2, 3, 5, 4],
        Kind::SecondOrder(ElementShape::Wedge) => &[0, 3, 1, 6, 8, 7, 2, 4, 5],
        Kind::SecondOrder(ElementShape::Hexahedron) => &[0, 3, 5, 1, 8, 10, 11, 9, 2, 4, 6, 7],
        Kind::Shape(_) | Kind::Other(..) => &[],
    }
}

/// Kind and number of nodes of an element type.
fn kind(scan: &Scanner, element_type: i32) -> Result<(Kind, usize), MeshFileError> {
    let found = KINDS.iter().find(|(number, ..)| *number == element_type);
    let (_, kind, n_nodes) =
        found.ok_or_else(|| scan.error(format!("elements of type {element_type} are not read")))?;
    Ok((*kind, *n_nodes))
}

impl Raw {
    /// Adds an element, whose nodes are tags.
    fn element(
        &mut self,
        scan: &Scanner,
        line: u64,
        (kind, tag): (Kind, u64),
        groups: &[i32],
        node_tags: &[u64],
    ) -> Result<(), MeshFileError> {
        let mut nodes = [0; MOST_NODES];
        let n = node_tags.len().min(nodes.len());
        for (node, tag_of) in nodes.iter_mut().zip(node_tags) {
            let index = u32::try_from(*tag_of).ok().and_then(|tag_of| self.index.get(tag_of));
            *node =
                index.ok_or_else(|| scan.error(format!("element {tag} names node {tag_of}, which does not exist")))?;
        }
        let label = u32::try_from(tag)
            .map_err(|_| scan.error(format!("element {tag}: tags above 4294967295 are not read; renumber the mesh")))?;
        // Version 2.2 has a line for each group that an element is in: one element of several sets.
        let again = self.last == Some((kind, nodes));
        self.last = Some((kind, nodes));
        let cell = self.cells.len() as u32 - u32::from(again);
        for &group in groups {
            let key = (kind.dimension(), group);
            self.group_nodes.entry(key).or_default().extend_from_slice(&nodes[..n]);
            self.group_cells.entry(key).or_default().push(cell);
        }
        if again {
            return Ok(());
        }
        self.physical.push(groups.first().copied().unwrap_or_default());
        self.cell_tags.push(tag);
        if let Kind::SecondOrder(shape) = kind {
            let (corners, on_edges) = nodes.split_at(shape.n_nodes());
            let on_edges = places_on_edges(kind).iter().map(|place| on_edges[*place]);
            let ordered: Vec<u32> = corners.iter().copied().chain(on_edges).collect();
            self.cells.push(kind, label, line, &ordered);
        } else {
            self.cells.push(kind, label, line, &nodes[..n]);
        }
        Ok(())
    }
}

fn finish(path: &Path, raw: Raw, wanted: Wanted) -> Result<MeshFile, MeshFileError> {
    let Raw { tags, coordinates, cells, cell_tags, physical, group_nodes, group_cells, names, data, .. } = raw;
    let mut mesh = MeshFile::of(path);
    mesh.coordinates = coordinates;
    mesh.node_labels = tags.into_iter().map(|tag| tag as u32).collect();
    let n_cells = cells.len();
    let cell_of_element = cells.finish(path, &mut mesh, wanted)?;
    let element_of_cell = element_of_cell(&cell_of_element, n_cells);
    let dimension = mesh.corners - 1;
    let name = |key: &(usize, i32)| names.get(key).cloned().unwrap_or_else(|| key.1.to_string());
    for (key, members) in group_cells.into_iter().filter(|(key, _)| key.0 == dimension) {
        let members = members.iter().map(|&cell| element_of_cell[cell as usize]).collect();
        mesh.element_sets.push(NamedSet { name: name(&key), members });
    }
    for (key, members) in group_nodes {
        let mut name = name(&key);
        if mesh.node_sets.iter().any(|set| set.name == name) {
            name = format!("{name} ({}D)", key.0);
        }
        mesh.node_sets.push(NamedSet { name, members });
    }
    if physical.iter().any(|&group| group != 0) {
        let values = cell_of_element.iter().map(|&cell| f64::from(physical[cell as usize])).collect();
        mesh.arrays.push(CellArray { name: PHYSICAL.into(), components: 1, whole: true, values });
    }
    for data in data {
        let array = data.array(path, &cell_of_element, &cell_tags)?;
        mesh.arrays.extend(array);
    }
    Ok(mesh)
}
