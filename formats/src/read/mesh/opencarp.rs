//! openCARP meshes: `.pts` nodes, `.elem` elements with region tags, `.lon` fibres and perhaps sheets, `.vtx` lists of nodes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::cells::{Cells, Kind, Wanted};
use super::scan::{Scanner, parse, words};
use super::{CellArray, MeshFile, MeshFileError, bytes_of};
use crate::mesh::NamedSet;

/// `heart.elem` of the base name `heart`.
fn with(base: &Path, extension: &str) -> PathBuf {
    let mut name = base.as_os_str().to_owned();
    name.push(format!(".{extension}"));
    name.into()
}

/// Whether a path, which is no file of its own, is what files of a mesh have before their extensions, as openCARP names it.
pub(super) fn is_base(path: &Path) -> bool {
    path.file_name().is_some() && !path.exists() && ["pts", "elem"].iter().any(|of| with(path, of).is_file())
}

/// Reads the files of one base name.
pub(super) fn read(base: &Path) -> Result<MeshFile, MeshFileError> {
    let beside = |extension: &str| with(base, extension);
    let mut mesh = MeshFile { sources: vec![beside("pts"), beside("elem")], ..MeshFile::of(&beside("elem")) };
    mesh.coordinates = points(&beside("pts"))?;
    let n_nodes = mesh.coordinates.len() / 3;
    mesh.node_labels = (0..n_nodes as u32).collect();

    let elem = beside("elem");
    let (cells, tags) = elements(&elem)?;
    let n_cells = cells.len();
    let cell = cells.finish(&elem, &mut mesh, Wanted::Simplices)?;
    let region: Vec<f64> = cell.iter().map(|&cell| tags[cell as usize]).collect();
    let mut sets: BTreeMap<i64, Vec<u32>> = BTreeMap::new();
    for (element, &tag) in region.iter().enumerate() {
        sets.entry(tag as i64).or_default().push(element as u32);
    }
    mesh.element_sets = sets.into_iter().map(|(tag, members)| NamedSet { name: tag.to_string(), members }).collect();
    mesh.arrays.push(CellArray { name: "region".into(), components: 1, whole: true, values: region });

    let lon = beside("lon");
    if lon.is_file() {
        mesh.sources.push(lon.clone());
        let (values, n) = directions(&lon, n_cells)?;
        for (k, name) in ["fibre", "sheet"].into_iter().enumerate().take(n) {
            let of = |&cell: &u32| values[3 * (n * cell as usize + k)..][..3].iter().copied();
            let values = cell.iter().flat_map(of).collect();
            mesh.arrays.push(CellArray { name: name.into(), components: 3, whole: false, values });
        }
    }
    Ok(mesh)
}

/// A file without its comments, which begin with `#`; its lines stay where they are.
fn text_of(path: &Path) -> Result<Vec<u8>, MeshFileError> {
    let mut bytes = bytes_of(path)?;
    let mut at = 0;
    while let Some(mark) = memchr::memchr(b'#', &bytes[at..]) {
        let end = memchr::memchr(b'\n', &bytes[at + mark..]).map_or(bytes.len(), |end| at + mark + end);
        bytes[at + mark..end].fill(b' ');
        at = end;
    }
    Ok(bytes)
}

fn points(path: &Path) -> Result<Vec<f64>, MeshFileError> {
    let bytes = text_of(path)?;
    let mut scan = Scanner::new(path, &bytes);
    let n: usize = scan.number("the number of nodes")?;
    let mut coordinates = scan.room(n.saturating_mul(3), 2)?;
    for _ in 0..n {
        coordinates.extend(scan.point()?);
    }
    scan.end(&format!("more than the {n} nodes that the first line announces"))?;
    Ok(coordinates)
}

/// Elements, and the region of each.
fn elements(path: &Path) -> Result<(Cells, Vec<f64>), MeshFileError> {
    let bytes = text_of(path)?;
    let mut scan = Scanner::new(path, &bytes);
    let n: usize = scan.number("the number of elements")?;
    let mut tags = scan.room(n, 4)?;
    let mut cells = Cells::default();
    scan.rest_of_line();
    for index in 0..n {
        if scan.peek().is_none() {
            return Err(scan.error(format!("{index} of {n} elements: the file is cut")));
        }
        let line = scan.line;
        let wrong = |message: &str| MeshFileError::new(path, line, message);
        let mut words = words(scan.next_line().unwrap_or_default());
        let (kind, n_nodes) = match words.next().unwrap_or_default() {
            b"Tt" => (Kind::TETRAHEDRON, 4),
            b"Tr" => (Kind::TRIANGLE, 3),
            b"Ln" | b"cH" | b"cU" => (Kind::Other("lines (Ln)", 1), 2),
            b"Qd" => (Kind::Other("quadrilaterals (Qd)", 2), 4),
            b"Hx" => (Kind::Other("hexahedra (Hx)", 3), 8),
            b"Pr" => (Kind::Other("prisms (Pr)", 3), 6),
            b"Py" => (Kind::Other("pyramids (Py)", 3), 5),
            b"Oc" => (Kind::Other("octahedra (Oc)", 3), 6),
            other => {
                let other = String::from_utf8_lossy(other);
                return Err(wrong(&format!("`{other}` is no kind of element (Tt, Tr, …)")));
            }
        };
        let mut nodes = [0_u32; 8];
        for node in &mut nodes[..n_nodes] {
            *node = parse(words.next().unwrap_or_default())
                .ok_or_else(|| wrong(&format!("an element of {n_nodes} nodes is expected")))?;
        }
        let tag = match words.next() {
            None => 0,
            Some(word) => parse::<i64>(word).ok_or_else(|| wrong("the region is no whole number"))?,
        };
        cells.push(kind, index as u32, line, &nodes[..n_nodes]);
        tags.push(tag as f64);
    }
    Ok((cells, tags))
}

/// One or two directions an element.
fn directions(path: &Path, n: usize) -> Result<(Vec<f64>, usize), MeshFileError> {
    let bytes = text_of(path)?;
    let mut scan = Scanner::new(path, &bytes);
    // Files of old have no header; they have three numbers a line at once.
    let n_directions = match words(scan.clone().next_line().unwrap_or_default()).count() {
        1 => {
            let n: usize = scan.number("1 (fibres) or 2 (fibres and sheets)")?;
            if n != 1 && n != 2 {
                return Err(scan.error(format!("{n} directions an element; 1 or 2 is expected")));
            }
            n
        }
        3 => 1,
        6 => 2,
        words => return Err(scan.error(format!("{words} numbers in the first line; 1, 3 or 6 are expected"))),
    };
    let mut values = scan.room(3 * n * n_directions, 2)?;
    for _ in 0..n * n_directions {
        values.extend(scan.point()?);
    }
    scan.end(&format!("more directions than the {n} elements have"))?;
    Ok((values, n_directions))
}

/// Reads a list of nodes: their number, `intra` or `extra`, then indices from 0. `#` begins a comment.
///
/// # Errors
/// A file that cannot be read, is cut or has more nodes than it says.
pub fn read_vtx(path: &Path) -> Result<Vec<u32>, MeshFileError> {
    let bytes = text_of(path)?;
    let mut scan = Scanner::new(path, &bytes);
    let n: usize = scan.number("the number of nodes")?;
    if scan.peek().is_some_and(|byte| byte.is_ascii_alphabetic()) {
        scan.word();
    }
    let mut nodes = scan.room(n, 2)?;
    for _ in 0..n {
        nodes.push(scan.number("a node")?);
    }
    scan.end(&format!("more than the {n} nodes that the first line announces"))?;
    Ok(nodes)
}
