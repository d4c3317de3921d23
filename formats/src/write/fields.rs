//! Fields over the whole mesh for ParaView: a series of `.vtu` files and the `.pvd` that lists them with their times, or one
//! VTKHDF file.
//!
//! Every snapshot is written whole before it is listed, so that a run that is killed loses nothing it had written, and
//! needs no memory but a buffer. Models over 4 GiB are no exception. ParaView opens `fields.pvd` or `fields.vtkhdf`; so does
//! every other program that uses VTK.
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
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::grid::{Fill, Grid, GridArray, Lasting, Number, fill, inverse};
use super::image_data::{ImageArray, ImageGrid};
use super::{OutputError, image_data, vtkhdf, vtu, write_atomically};
use crate::dynamics::FieldQuantity;
use crate::mesh::MeshView;

/// Width of the numbers in field files, positions included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FieldPrecision {
    /// float32, 7 digits: enough to look at, half the size.
    #[default]
    Single,
    /// float64.
    Double,
}

/// Kind of files for ParaView.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FieldFormat {
    /// VTK's XML: a `.vtu` file a snapshot and a `.pvd` file that lists them; `.vti` for voxels.
    #[default]
    Vtu,
    /// VTKHDF: one HDF5 file.
    VtkHdf,
}

impl FieldFormat {
    /// Writes a grid that is no snapshot of a series.
    ///
    /// # Errors
    /// [`OutputError::Io`].
    pub fn write(self, path: &Path, grid: &Grid<'_>) -> Result<(), OutputError> {
        match self {
            Self::Vtu => vtu::write(path, grid),
            Self::VtkHdf => vtkhdf::write(path, grid),
        }
    }

    /// Writes arrays on voxels; see [`image_data::write_vti`].
    ///
    /// # Errors
    /// [`OutputError::Io`].
    pub fn write_image(
        self,
        path: &Path,
        grid: &ImageGrid,
        arrays: &[ImageArray],
        fill: impl FnMut(usize, Range<usize>, &mut [f32]),
    ) -> Result<(), OutputError> {
        match self {
            Self::Vtu => image_data::write_vti(path, grid, arrays, fill),
            Self::VtkHdf => vtkhdf::write_image(path, grid, arrays, fill),
        }
    }
}

/// A quantity over the mesh.
#[derive(Debug, Clone, Copy)]
pub struct Field<'a> {
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
        let point_of_node = match order.len() {
            0 => Vec::new(),
            len if len == n => inverse(Path::new("fields"), order)?,
            _ => return Err(wrong("the order of the points is no permutation of the nodes")),
        };
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

/// Snapshots of one request: `<name>.pvd` in a folder and its files in `<name>/`, or `<name>.vtkhdf`.
#[derive(Debug, Clone)]
pub struct FieldSeries {
    folder: PathBuf,
    name: String,
    snapshots: Snapshots,
}

#[derive(Debug, Clone)]
enum Snapshots {
    /// (step, time) of those written.
    Vtu(Vec<(u64, f64)>),
    VtkHdf(vtkhdf::Series),
}

impl FieldSeries {
    /// Starts a series of `expected` snapshots and removes the files of an earlier run's.
    ///
    /// # Errors
    /// [`OutputError::Io`].
    pub fn create(folder: &Path, name: &str, format: FieldFormat, expected: u64) -> Result<Self, OutputError> {
        let snapshots = match format {
            FieldFormat::Vtu => Snapshots::Vtu(Vec::new()),
            FieldFormat::VtkHdf => Snapshots::VtkHdf(vtkhdf::Series::new(expected)),
        };
        let series = Self { folder: folder.into(), name: name.into(), snapshots };
        for (step, _) in series.listed()? {
            remove(&series.vtu(step))?;
        }
        [FieldFormat::Vtu, FieldFormat::VtkHdf].iter().try_for_each(|&format| remove(&series.file(format)))?;
        // Nothing if the folder is not empty, or not there.
        drop(fs::remove_dir(folder.join(name)));
        series.make_folder()?;
        Ok(series)
    }

    /// Continues the series of an earlier run after the snapshots up to `step`; later ones will be written again.
    ///
    /// # Errors
    /// [`OutputError::Io`]; [`OutputError::Damaged`] when that series has another format or is damaged.
    pub fn resume(
        folder: &Path,
        name: &str,
        format: FieldFormat,
        expected: u64,
        step: u64,
    ) -> Result<Self, OutputError> {
        let mut series = Self { folder: folder.into(), name: name.into(), snapshots: Snapshots::Vtu(Vec::new()) };
        let (other, option) = match format {
            FieldFormat::Vtu => (FieldFormat::VtkHdf, "vtkhdf"),
            FieldFormat::VtkHdf => (FieldFormat::Vtu, "vtu"),
        };
        let (path, other) = (series.file(format), series.file(other));
        if other.exists() && !path.exists() {
            let what = format!(
                "the run that is to go on wrote this series: go on with --field-format {option}, or write elsewhere with -o"
            );
            return Err(OutputError::damaged(&other, what));
        }
        series.snapshots = match format {
            FieldFormat::Vtu => {
                Snapshots::Vtu(series.listed()?.into_iter().filter(|&(listed, _)| listed <= step).collect())
            }
            FieldFormat::VtkHdf if path.exists() => Snapshots::VtkHdf(vtkhdf::Series::resume(&path, step, expected)?),
            FieldFormat::VtkHdf => Snapshots::VtkHdf(vtkhdf::Series::new(expected)),
        };
        series.make_folder()?;
        Ok(series)
    }

    fn make_folder(&self) -> Result<(), OutputError> {
        let folder = match self.snapshots {
            Snapshots::Vtu(_) => self.folder.join(&self.name),
            Snapshots::VtkHdf(_) => self.folder.clone(),
        };
        fs::create_dir_all(&folder).map_err(OutputError::io(&folder))
    }

    fn file(&self, format: FieldFormat) -> PathBuf {
        let extension = match format {
            FieldFormat::Vtu => "pvd",
            FieldFormat::VtkHdf => "vtkhdf",
        };
        self.folder.join(format!("{}.{extension}", self.name))
    }

    /// `<name>.pvd` or `<name>.vtkhdf`, the file to open.
    pub fn path(&self) -> PathBuf {
        self.file(match self.snapshots {
            Snapshots::Vtu(_) => FieldFormat::Vtu,
            Snapshots::VtkHdf(_) => FieldFormat::VtkHdf,
        })
    }

    /// Number of snapshots.
    pub fn len(&self) -> usize {
        match &self.snapshots {
            Snapshots::Vtu(snapshots) => snapshots.len(),
            Snapshots::VtkHdf(series) => series.len(),
        }
    }

    /// No snapshot yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes the snapshot of a step and lists it. Steps ascend; the last one is not written again.
    ///
    /// # Errors
    /// [`OutputError::Io`].
    pub fn write(&mut self, step: u64, time: f64, grid: &Grid<'_>) -> Result<(), OutputError> {
        let (path, file) = (self.path(), self.vtu(step));
        let snapshots = match &mut self.snapshots {
            Snapshots::VtkHdf(series) if series.last_step().is_some_and(|last| last >= step) => return Ok(()),
            Snapshots::VtkHdf(series) => return series.write(&path, step, time, grid),
            Snapshots::Vtu(snapshots) => snapshots,
        };
        vtu::write(&file, grid)?;
        snapshots.retain(|&(listed, _)| listed < step);
        snapshots.push((step, time));
        write_atomically(&path, |out| {
            writeln!(out, "<?xml version=\"1.0\"?>")?;
            writeln!(out, "<VTKFile type=\"Collection\" version=\"1.0\" byte_order=\"LittleEndian\">\n<Collection>")?;
            for (step, time) in snapshots {
                let file = escape(&format!("{}/{}", self.name, file_name(*step)));
                writeln!(out, "<DataSet timestep=\"{time:?}\" part=\"0\" file=\"{file}\"/>")?;
            }
            writeln!(out, "</Collection>\n</VTKFile>")
        })
    }

    fn vtu(&self, step: u64) -> PathBuf {
        self.folder.join(&self.name).join(file_name(step))
    }

    /// Steps and times in the `.pvd` on disk; lines that are not ours are passed over.
    fn listed(&self) -> Result<Vec<(u64, f64)>, OutputError> {
        let path = self.file(FieldFormat::Vtu);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(OutputError::io(&path)(error)),
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

const VOIGT: &[&str] = &["XX", "YY", "ZZ", "XY", "YZ", "XZ"];

impl FieldMesh<'_> {
    /// The mesh at a time with fields on it.
    ///
    /// # Errors
    /// [`OutputError::Shape`] when a field has not the length that its quantity asks for.
    pub fn grid<'g>(
        &'g self,
        time: f64,
        fields: &[Field<'g>],
        precision: FieldPrecision,
    ) -> Result<Grid<'g>, OutputError> {
        let (view, nodes, elements) = (self.mesh, self.mesh.n_nodes(), self.mesh.n_elements());
        for field in fields {
            let expected = match field.quantity.at_nodes() {
                true => nodes * view.dimension,
                false => field.quantity.n_components() * elements,
            };
            if field.values.len() != expected {
                let what = format!("{} has {} values, expected {expected}", field.quantity.name(), field.values.len());
                return Err(OutputError::shape(Path::new("fields"), what));
            }
        }
        let number = match precision {
            FieldPrecision::Single => Number::F32,
            FieldPrecision::Double => Number::F64,
        };
        let of_nodes = |name, values| {
            let fill = self.vectors(values, precision);
            GridArray { name, number, components: 3, component_names: &[], lasting: Lasting::No, fill }
        };
        let of_elements = |field: &Field<'g>| {
            let scalar = field.quantity.n_components() == 1;
            let (components, component_names) = if scalar { (1, &[][..]) } else { (6, VOIGT) };
            let fill = elemental(*field, precision);
            GridArray { name: field.quantity.name(), number, components, component_names, lasting: Lasting::No, fill }
        };
        let label = |name, number, fill| GridArray {
            name,
            number,
            components: 1,
            component_names: &[],
            lasting: Lasting::Always,
            fill,
        };
        let groups = || view.groups.iter();
        let nodal = |field: &&Field<'_>| FieldQuantity::at_nodes(field.quantity);
        let mut point_data: Vec<_> =
            fields.iter().filter(nodal).map(|field| of_nodes(field.quantity.name(), field.values)).collect();
        let labels = fill(|| self.nodes().map(|node| view.node_labels[node].to_le_bytes()));
        point_data.push(label("node_label", Number::U32, labels));
        let mut cell_data: Vec<_> = fields.iter().filter(|field| !nodal(field)).map(of_elements).collect();
        let labels = fill(move || groups().flat_map(|group| group.labels).map(|label| label.to_le_bytes()));
        cell_data.push(label("element_label", Number::U32, labels));
        if self.has_instances() {
            let of_nodes = fill(|| self.nodes().map(|node| view.node_instance[node].to_le_bytes()));
            point_data.push(label("instance", Number::U16, of_nodes));
            let of_cells = fill(move || groups().flat_map(|group| group.instance).map(|index| index.to_le_bytes()));
            cell_data.push(label("instance", Number::U16, of_cells));
        }
        let sections = fill(move || groups().flat_map(|group| group.section).map(|section| section.to_le_bytes()));
        cell_data.push(label("section", Number::U32, sections));
        Ok(Grid {
            time: Some(time),
            n_points: nodes,
            n_cells: elements,
            n_corners: self.connectivity_length(),
            cells_id: 0,
            points: GridArray { lasting: Lasting::Always, ..of_nodes("Points", view.coordinates) },
            connectivity: Box::new(move |emit| {
                let corners = groups().flat_map(|group| group.connectivity);
                corners.into_iter().try_for_each(|&node| emit(self.point(node).into()))
            }),
            ends: Box::new(move |emit| {
                let mut end = 0;
                for group in groups() {
                    for _ in group.labels {
                        end += group.kind.n_nodes() as u64;
                        emit(end)?;
                    }
                }
                Ok(())
            }),
            types: Box::new(move |emit| {
                groups().try_for_each(|group| group.labels.iter().try_for_each(|_| emit(group.kind.vtk_type().into())))
            }),
            active: "Vectors",
            point_data,
            cell_data,
            names: self.has_instances().then_some(("instance_names", self.mesh.instances.as_slice())),
        })
    }

    /// Nodal vectors in the order of the points, with zeros up to three components.
    fn vectors<'g>(&'g self, values: &'g [f64], precision: FieldPrecision) -> Fill<'g> {
        let dimension = self.mesh.dimension;
        Box::new(move |out| {
            for node in self.nodes() {
                for &value in &values[node * dimension..(node + 1) * dimension] {
                    write_real(out, value, precision)?;
                }
                for _ in dimension..3 {
                    write_real(out, 0.0, precision)?;
                }
            }
            Ok(())
        })
    }
}

fn elemental(field: Field<'_>, precision: FieldPrecision) -> Fill<'_> {
    let shear = match field.quantity {
        FieldQuantity::Strain => 0.5,
        FieldQuantity::EnergyDensity => {
            return Box::new(move |out| field.values.iter().try_for_each(|&value| write_real(out, value, precision)));
        }
        _ => 1.0,
    };
    Box::new(move |out| {
        for &[xx, yy, zz, xy, xz, yz] in field.values.as_chunks::<6>().0 {
            for value in [xx, yy, zz, shear * xy, shear * yz, shear * xz] {
                write_real(out, value, precision)?;
            }
        }
        Ok(())
    })
}

fn write_real(out: &mut dyn Write, value: f64, precision: FieldPrecision) -> io::Result<()> {
    match precision {
        FieldPrecision::Single => out.write_all(&(value as f32).to_le_bytes()),
        FieldPrecision::Double => out.write_all(&value.to_le_bytes()),
    }
}

#[cfg(test)]
mod tests;
