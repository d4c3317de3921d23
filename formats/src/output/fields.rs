//! Fields over the whole mesh for ParaView: a series of `.vtu` files and the `.pvd` that lists them with their times.
//!
//! One file a snapshot, written whole and then listed, so that a run that is killed loses nothing it had written and a
//! snapshot needs no memory but a buffer. The data follow the XML as raw bytes with 64-bit lengths, so models over 4 GiB
//! are no exception. ParaView opens `fields.pvd`; so does every other program that uses VTK.
//!
//! | array | on | components | unit |
//! |---|---|---|---|
//! | `displacement`, `velocity`, `acceleration` | points | 3 (z = 0 in 2D) | m, m/s, m/s² |
//! | `stress` | cells | XX YY ZZ XY YZ XZ | Pa |
//! | `strain` | cells | XX YY ZZ XY YZ XZ of the tensor: shears are γ/2 | 1 |
//! | `energy_density` | cells | 1 | J/m³ |
//! | `node_label` | points | 1 | |
//! | `element_label`, `section` | cells | 1 | |
//! | `instance` | points and cells | 1, only where there are several | |

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::{OutputError, write_atomically};
use crate::block::{GroupView, MeshView};
use crate::model::{ElementKind, FieldQuantity};

/// Width of the numbers in field files, positions included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FieldPrecision {
    /// float32, 7 digits: enough to look at, half the size.
    #[default]
    Single,
    /// float64.
    Double,
}

/// A quantity over the mesh.
#[derive(Debug, Clone, Copy)]
pub struct Field<'a> {
    /// What.
    pub quantity: FieldQuantity,
    /// At nodes: (n_nodes, dimension), in the mesh's order. Stress and strain: (n_elements, 6), Voigt order 11, 22, 33,
    /// 12, 13, 23, engineering shears. Energy density: (n_elements,).
    pub values: &'a [f64],
}

/// A mesh as it is written.
#[derive(Debug, Clone)]
pub struct FieldMesh<'a> {
    mesh: &'a MeshView<'a>,
    /// `order[p]` is the node of point p; empty when they are the same.
    order: &'a [u32],
    /// Point of each node; empty when they are the same.
    point_of_node: Vec<u32>,
}

impl<'a> FieldMesh<'a> {
    /// Points stand in the user's order: point p is the node `order[p]` of the mesh; an empty `order` keeps the mesh's.
    /// Cells stand in the order of the element groups.
    ///
    /// # Errors
    /// [`OutputError::Shape`] when `order` is no permutation of the nodes, or a table of the mesh has another length.
    pub fn new(mesh: &'a MeshView<'a>, order: &'a [u32]) -> Result<Self, OutputError> {
        let n = mesh.n_nodes();
        let wrong = |what: &str| OutputError::shape(Path::new("fields"), what);
        if mesh.coordinates.len() != n * mesh.dimension || !(1..=3).contains(&mesh.dimension) {
            return Err(wrong("the mesh has not one position a node"));
        }
        for group in &mesh.groups {
            let elements = group.labels.len();
            if group.connectivity.len() != elements * group.kind.n_nodes() || group.section.len() != elements {
                return Err(wrong("an element group's tables have different lengths"));
            }
            if group.connectivity.iter().any(|&node| node as usize >= n) {
                return Err(wrong("an element refers to a node that does not exist"));
            }
        }
        let mut point_of_node = Vec::new();
        if !order.is_empty() {
            point_of_node = vec![u32::MAX; n];
            for (point, &node) in order.iter().enumerate() {
                match point_of_node.get_mut(node as usize) {
                    Some(slot) if *slot == u32::MAX => *slot = point as u32,
                    _ => return Err(wrong("the order of the points is no permutation of the nodes")),
                }
            }
            if order.len() != n {
                return Err(wrong("the order of the points is no permutation of the nodes"));
            }
        }
        Ok(Self { mesh, order, point_of_node })
    }

    fn nodes(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.mesh.n_nodes()).map(|point| self.order.get(point).map_or(point, |&node| node as usize))
    }

    fn point(&self, node: u32) -> u32 {
        self.point_of_node.get(node as usize).copied().unwrap_or(node)
    }

    fn connectivity_length(&self) -> usize {
        self.mesh.groups.iter().map(|group| group.connectivity.len()).sum()
    }

    fn has_instances(&self) -> bool {
        self.mesh.instances.len() > 1
            && self.mesh.node_instance.len() == self.mesh.n_nodes()
            && self.mesh.groups.iter().all(|group| group.instance.len() == group.labels.len())
    }
}

/// Snapshots of one request: `<name>.pvd` in a folder and its files in `<name>/`.
#[derive(Debug, Clone)]
pub struct FieldSeries {
    folder: PathBuf,
    name: String,
    precision: FieldPrecision,
    /// (step, time) of the snapshots written.
    snapshots: Vec<(u64, f64)>,
}

impl FieldSeries {
    /// Starts a series and removes the files that an earlier run's `<name>.pvd` lists.
    ///
    /// # Errors
    /// [`OutputError::Io`].
    pub fn create(folder: &Path, name: &str, precision: FieldPrecision) -> Result<Self, OutputError> {
        let mut series = Self { folder: folder.into(), name: name.into(), precision, snapshots: Vec::new() };
        for (step, _) in series.listed()? {
            remove(&series.path(step))?;
        }
        remove(&series.pvd())?;
        series.snapshots.clear();
        fs::create_dir_all(folder.join(name)).map_err(OutputError::io(&folder.join(name)))?;
        Ok(series)
    }

    /// Continues the series of an earlier run after the snapshots up to `step`; later ones will be written again.
    ///
    /// # Errors
    /// [`OutputError::Io`].
    pub fn resume(folder: &Path, name: &str, precision: FieldPrecision, step: u64) -> Result<Self, OutputError> {
        let mut series = Self { folder: folder.into(), name: name.into(), precision, snapshots: Vec::new() };
        series.snapshots = series.listed()?.into_iter().filter(|&(listed, _)| listed <= step).collect();
        fs::create_dir_all(folder.join(name)).map_err(OutputError::io(&folder.join(name)))?;
        Ok(series)
    }

    /// `<name>.pvd`, the file to open.
    pub fn pvd(&self) -> PathBuf {
        self.folder.join(format!("{}.pvd", self.name))
    }

    /// Number of snapshots.
    pub fn len(&self) -> usize {
        self.snapshots.len()
    }

    /// No snapshot yet.
    pub fn is_empty(&self) -> bool {
        self.snapshots.is_empty()
    }

    /// Writes the snapshot of a step and lists it; one of that step is replaced. Returns the `.vtu` file.
    ///
    /// # Errors
    /// [`OutputError::Io`]; [`OutputError::Shape`] when a field has not the length that its quantity asks for.
    pub fn write(
        &mut self,
        mesh: &FieldMesh<'_>,
        step: u64,
        time: f64,
        fields: &[Field<'_>],
    ) -> Result<PathBuf, OutputError> {
        let precision = self.precision;
        self.write_with(step, time, |path| write_vtu(path, mesh, time, fields, precision))
    }

    /// Lists the snapshot of a step that `write` writes to the path it is given; one of that step is replaced.
    ///
    /// # Errors
    /// [`OutputError::Io`], and what `write` returns.
    pub fn write_with(
        &mut self,
        step: u64,
        time: f64,
        write: impl FnOnce(&Path) -> Result<(), OutputError>,
    ) -> Result<PathBuf, OutputError> {
        let path = self.path(step);
        write(&path)?;
        self.snapshots.retain(|&(listed, _)| listed < step);
        self.snapshots.push((step, time));
        write_atomically(&self.pvd(), |out| {
            writeln!(out, "<?xml version=\"1.0\"?>")?;
            writeln!(out, "<VTKFile type=\"Collection\" version=\"1.0\" byte_order=\"LittleEndian\">\n<Collection>")?;
            for (step, time) in &self.snapshots {
                let file = escape(&format!("{}/{}", self.name, file_name(*step)));
                writeln!(out, "<DataSet timestep=\"{time:?}\" part=\"0\" file=\"{file}\"/>")?;
            }
            writeln!(out, "</Collection>\n</VTKFile>")
        })?;
        Ok(path)
    }

    fn path(&self, step: u64) -> PathBuf {
        self.folder.join(&self.name).join(file_name(step))
    }

    /// Steps and times in the `.pvd` on disk; lines that are not ours are passed over.
    fn listed(&self) -> Result<Vec<(u64, f64)>, OutputError> {
        let text = match fs::read_to_string(self.pvd()) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(OutputError::io(&self.pvd())(error)),
        };
        let entry = |line: &str| {
            let time = attribute(line, "timestep")?.parse().ok()?;
            let file = Path::new(attribute(line, "file")?);
            let step = file.file_stem()?.to_str()?.parse().ok()?;
            Some((step, time))
        };
        Ok(text.lines().filter_map(entry).collect())
    }
}

fn file_name(step: u64) -> String {
    format!("{step:09}.vtu")
}

fn attribute<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    line.split_once(&format!(" {name}=\""))?.1.split_once('"').map(|(value, _)| value)
}

fn remove(path: &Path) -> Result<(), OutputError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(OutputError::io(path)(error)),
        _ => Ok(()),
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Writes one snapshot as a `.vtu` file.
///
/// # Errors
/// As [`FieldSeries::write`].
pub fn write_vtu(
    path: &Path,
    mesh: &FieldMesh<'_>,
    time: f64,
    fields: &[Field<'_>],
    precision: FieldPrecision,
) -> Result<(), OutputError> {
    let arrays = arrays(path, mesh, fields)?;
    write_atomically(path, |out| {
        writeln!(out, "<?xml version=\"1.0\"?>")?;
        writeln!(
            out,
            "<VTKFile type=\"UnstructuredGrid\" version=\"1.0\" byte_order=\"LittleEndian\" header_type=\"UInt64\">"
        )?;
        writeln!(out, "<UnstructuredGrid>\n<FieldData>")?;
        writeln!(
            out,
            "<DataArray type=\"Float64\" Name=\"TimeValue\" NumberOfTuples=\"1\" format=\"ascii\">{time:?}</DataArray>"
        )?;
        if mesh.has_instances() {
            write_names(out, "instance_names", &mesh.mesh.instances)?;
        }
        let (points, cells) = (mesh.mesh.n_nodes(), mesh.mesh.n_elements());
        writeln!(out, "</FieldData>\n<Piece NumberOfPoints=\"{points}\" NumberOfCells=\"{cells}\">")?;
        let mut offset = 0;
        for (place, begin) in [
            (Place::Points, "<Points>"),
            (Place::Cells, "<Cells>"),
            (Place::PointData, "<PointData Vectors=\"displacement\">"),
            (Place::CellData, "<CellData>"),
        ] {
            writeln!(out, "{begin}")?;
            for array in arrays.iter().filter(|array| array.place() == place) {
                array.declare(out, mesh, precision, offset)?;
                offset += 8 + array.bytes(mesh, precision);
            }
            let name = begin[1..].split([' ', '>']).next().unwrap_or_default();
            writeln!(out, "</{name}>")?;
        }
        write!(out, "</Piece>\n</UnstructuredGrid>\n<AppendedData encoding=\"raw\">\n_")?;
        for array in &arrays {
            out.write_all(&array.bytes(mesh, precision).to_le_bytes())?;
            array.write(out, mesh, precision)?;
        }
        writeln!(out, "\n</AppendedData>\n</VTKFile>")
    })
}

/// Strings as VTK keeps them: character codes, each string ended by a zero.
fn write_names(out: &mut impl Write, name: &str, values: &[&str]) -> io::Result<()> {
    writeln!(out, "<DataArray type=\"String\" Name=\"{name}\" NumberOfTuples=\"{}\" format=\"ascii\">", values.len())?;
    for value in values {
        for byte in value.bytes().filter(|&byte| byte != 0) {
            write!(out, "{byte} ")?;
        }
        writeln!(out, "0")?;
    }
    writeln!(out, "</DataArray>")
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Points,
    Cells,
    PointData,
    CellData,
}

/// An array of the file, in the order in which they are written.
#[derive(Debug, Clone, Copy)]
enum Array<'a> {
    Positions,
    Connectivity,
    Offsets,
    Types,
    Nodal(Field<'a>),
    NodeLabel,
    NodeInstance,
    Elemental(Field<'a>),
    ElementLabel,
    ElementInstance,
    Section,
}

fn arrays<'a>(path: &Path, mesh: &FieldMesh<'_>, fields: &[Field<'a>]) -> Result<Vec<Array<'a>>, OutputError> {
    let (nodes, elements) = (mesh.mesh.n_nodes(), mesh.mesh.n_elements());
    for field in fields {
        let expected = match field.quantity {
            FieldQuantity::Displacement | FieldQuantity::Velocity | FieldQuantity::Acceleration => {
                nodes * mesh.mesh.dimension
            }
            FieldQuantity::Stress | FieldQuantity::Strain => 6 * elements,
            FieldQuantity::EnergyDensity => elements,
        };
        if field.values.len() != expected {
            let what = format!("{} has {} values, expected {expected}", name(field.quantity), field.values.len());
            return Err(OutputError::shape(path, what));
        }
    }
    let at_nodes = |field: &Field<'_>| is_nodal(field.quantity);
    let mut arrays = vec![Array::Positions, Array::Connectivity, Array::Offsets, Array::Types];
    arrays.extend(fields.iter().filter(|field| at_nodes(field)).map(|&field| Array::Nodal(field)));
    arrays.push(Array::NodeLabel);
    if mesh.has_instances() {
        arrays.push(Array::NodeInstance);
    }
    arrays.extend(fields.iter().filter(|field| !at_nodes(field)).map(|&field| Array::Elemental(field)));
    arrays.push(Array::ElementLabel);
    if mesh.has_instances() {
        arrays.push(Array::ElementInstance);
    }
    arrays.push(Array::Section);
    Ok(arrays)
}

const fn name(quantity: FieldQuantity) -> &'static str {
    match quantity {
        FieldQuantity::Displacement => "displacement",
        FieldQuantity::Velocity => "velocity",
        FieldQuantity::Acceleration => "acceleration",
        FieldQuantity::Stress => "stress",
        FieldQuantity::Strain => "strain",
        FieldQuantity::EnergyDensity => "energy_density",
    }
}

const fn is_nodal(quantity: FieldQuantity) -> bool {
    matches!(quantity, FieldQuantity::Displacement | FieldQuantity::Velocity | FieldQuantity::Acceleration)
}

/// VTK's cell type of an element.
const fn cell_type(kind: ElementKind) -> u8 {
    match kind {
        ElementKind::Cpe3 | ElementKind::Cps3 => 5,
        ElementKind::Cpe4 | ElementKind::Cps4 | ElementKind::Cpe4r | ElementKind::Cps4r => 9,
        ElementKind::C3d4 => 10,
        ElementKind::C3d6 => 13,
        ElementKind::C3d8 | ElementKind::C3d8r => 12,
    }
}

impl Array<'_> {
    fn place(self) -> Place {
        match self {
            Self::Positions => Place::Points,
            Self::Connectivity | Self::Offsets | Self::Types => Place::Cells,
            Self::Nodal(_) | Self::NodeLabel | Self::NodeInstance => Place::PointData,
            Self::Elemental(_) | Self::ElementLabel | Self::ElementInstance | Self::Section => Place::CellData,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Positions => "Points",
            Self::Connectivity => "connectivity",
            Self::Offsets => "offsets",
            Self::Types => "types",
            Self::Nodal(field) | Self::Elemental(field) => name(field.quantity),
            Self::NodeLabel => "node_label",
            Self::ElementLabel => "element_label",
            Self::NodeInstance | Self::ElementInstance => "instance",
            Self::Section => "section",
        }
    }

    /// Number type and its bytes.
    fn number(self, mesh: &FieldMesh<'_>, precision: FieldPrecision) -> (&'static str, u64) {
        match self {
            Self::Positions | Self::Nodal(_) | Self::Elemental(_) => match precision {
                FieldPrecision::Single => ("Float32", 4),
                FieldPrecision::Double => ("Float64", 8),
            },
            // VTK has signed cell arrays only.
            Self::Connectivity | Self::Offsets if fits_int32(mesh) => ("Int32", 4),
            Self::Connectivity | Self::Offsets => ("Int64", 8),
            Self::Types => ("UInt8", 1),
            Self::NodeInstance | Self::ElementInstance => ("UInt16", 2),
            Self::NodeLabel | Self::ElementLabel | Self::Section => ("UInt32", 4),
        }
    }

    fn components(self) -> u64 {
        match self {
            Self::Positions | Self::Nodal(_) => 3,
            Self::Elemental(field) if field.quantity != FieldQuantity::EnergyDensity => 6,
            _ => 1,
        }
    }

    fn bytes(self, mesh: &FieldMesh<'_>, precision: FieldPrecision) -> u64 {
        let tuples = match self.place() {
            Place::Points | Place::PointData => mesh.mesh.n_nodes(),
            _ if matches!(self, Self::Connectivity) => mesh.connectivity_length(),
            _ => mesh.mesh.n_elements(),
        };
        tuples as u64 * self.components() * self.number(mesh, precision).1
    }

    fn declare(
        self,
        out: &mut impl Write,
        mesh: &FieldMesh<'_>,
        precision: FieldPrecision,
        offset: u64,
    ) -> io::Result<()> {
        let (number, _) = self.number(mesh, precision);
        write!(out, "<DataArray type=\"{number}\" Name=\"{}\"", self.name())?;
        match self.components() {
            1 => {}
            6 => {
                write!(out, " NumberOfComponents=\"6\"")?;
                for (index, name) in ["XX", "YY", "ZZ", "XY", "YZ", "XZ"].iter().enumerate() {
                    write!(out, " ComponentName{index}=\"{name}\"")?;
                }
            }
            n => write!(out, " NumberOfComponents=\"{n}\"")?,
        }
        writeln!(out, " format=\"appended\" offset=\"{offset}\"/>")
    }

    fn write(self, out: &mut impl Write, mesh: &FieldMesh<'_>, precision: FieldPrecision) -> io::Result<()> {
        let view = mesh.mesh;
        let groups = || view.groups.iter();
        let mut real = |out: &mut _, value: f64| write_real(out, value, precision);
        match self {
            Self::Positions => write_vectors(out, mesh, view.coordinates, &mut real),
            Self::Nodal(field) => write_vectors(out, mesh, field.values, &mut real),
            Self::Connectivity => groups().try_for_each(|group| write_connectivity(out, mesh, group)),
            Self::Offsets => {
                let mut end = 0;
                for group in groups() {
                    for _ in group.labels {
                        end += group.kind.n_nodes() as u64;
                        write_index(out, end, mesh)?;
                    }
                }
                Ok(())
            }
            Self::Types => groups()
                .try_for_each(|group| group.labels.iter().try_for_each(|_| out.write_all(&[cell_type(group.kind)]))),
            Self::NodeLabel => mesh.nodes().try_for_each(|node| out.write_all(&view.node_labels[node].to_le_bytes())),
            Self::NodeInstance => {
                mesh.nodes().try_for_each(|node| out.write_all(&view.node_instance[node].to_le_bytes()))
            }
            Self::Elemental(field) => match field.quantity {
                FieldQuantity::EnergyDensity => field.values.iter().try_for_each(|&value| real(out, value)),
                quantity => {
                    let shear = if quantity == FieldQuantity::Strain { 0.5 } else { 1.0 };
                    for &[xx, yy, zz, xy, xz, yz] in field.values.as_chunks::<6>().0 {
                        for value in [xx, yy, zz, shear * xy, shear * yz, shear * xz] {
                            real(out, value)?;
                        }
                    }
                    Ok(())
                }
            },
            Self::ElementLabel => {
                groups().flat_map(|group| group.labels).try_for_each(|label| out.write_all(&label.to_le_bytes()))
            }
            Self::ElementInstance => groups()
                .flat_map(|group| group.instance)
                .try_for_each(|instance| out.write_all(&instance.to_le_bytes())),
            Self::Section => {
                groups().flat_map(|group| group.section).try_for_each(|section| out.write_all(&section.to_le_bytes()))
            }
        }
    }
}

fn fits_int32(mesh: &FieldMesh<'_>) -> bool {
    i32::try_from(mesh.connectivity_length()).is_ok() && i32::try_from(mesh.mesh.n_nodes()).is_ok()
}

fn write_index(out: &mut impl Write, index: u64, mesh: &FieldMesh<'_>) -> io::Result<()> {
    if fits_int32(mesh) { out.write_all(&(index as u32).to_le_bytes()) } else { out.write_all(&index.to_le_bytes()) }
}

fn write_real(out: &mut impl Write, value: f64, precision: FieldPrecision) -> io::Result<()> {
    match precision {
        FieldPrecision::Single => out.write_all(&(value as f32).to_le_bytes()),
        FieldPrecision::Double => out.write_all(&value.to_le_bytes()),
    }
}

/// Nodal vectors in the order of the points, with zeros up to three components.
fn write_vectors<W: Write>(
    out: &mut W,
    mesh: &FieldMesh<'_>,
    values: &[f64],
    real: &mut impl FnMut(&mut W, f64) -> io::Result<()>,
) -> io::Result<()> {
    let dimension = mesh.mesh.dimension;
    for node in mesh.nodes() {
        for &value in &values[node * dimension..(node + 1) * dimension] {
            real(out, value)?;
        }
        for _ in dimension..3 {
            real(out, 0.0)?;
        }
    }
    Ok(())
}

/// Abaqus and VTK order the nodes of these elements alike (VTK 9.7 computes a positive volume for C3D6 as it stands).
fn write_connectivity(out: &mut impl Write, mesh: &FieldMesh<'_>, group: &GroupView<'_>) -> io::Result<()> {
    group.connectivity.iter().try_for_each(|&node| write_index(out, u64::from(mesh.point(node)), mesh))
}

#[cfg(test)]
mod tests;
