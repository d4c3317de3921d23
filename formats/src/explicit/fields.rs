//! Fields over a mesh of finite elements, as the writers of [`fields`](crate::write::fields) take them.
//!
//! | array | on | components | unit |
//! |---|---|---|---|
//! | `displacement`, `velocity`, `acceleration` | points | 3 (z = 0 in 2D) | m, m/s, m/s² |
//! | `pressure` | points | 1 | Pa |
//! | `stress` | cells | XX YY ZZ XY YZ XZ | Pa |
//! | `strain` | cells | XX YY ZZ XY YZ XZ of the tensor: shears are γ/2 | 1 |
//! | `energy_density` | cells | 1 | J/m³ |
//! | `node_label` | points | 1 | |
//! | `element_label`, `section` | cells | 1 | |
//! | `instance` | points and cells | 1, only where there are several | |

use std::path::Path;

use crate::dynamics::FieldQuantity;
use crate::mesh::MeshView;
use crate::write::OutputError;
use crate::write::grid::{Fill, Grid, GridArray, Lasting, Number, fill, indices, inverse};

/// A quantity over the mesh.
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub struct Field<'a> {
    pub quantity: FieldQuantity,
    /// At nodes: (n_nodes, dimension), pressure (n_nodes,), in the mesh's order. Stress and strain: (n_elements, 6), Voigt order 11, 22, 33,
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

const VOIGT: &[&str] = &["XX", "YY", "ZZ", "XY", "YZ", "XZ"];

impl FieldMesh<'_> {
    /// The mesh at a time with fields on it.
    ///
    /// # Errors
    /// [`OutputError::Shape`] when a field has not the length that its quantity asks for.
    pub fn grid<'g>(&'g self, time: f64, fields: &[Field<'g>]) -> Result<Grid<'g>, OutputError> {
        let (view, nodes, elements) = (self.mesh, self.mesh.n_nodes(), self.mesh.n_elements());
        for field in fields {
            let expected = match field.quantity {
                quantity if quantity.is_vector() => nodes * view.dimension,
                FieldQuantity::Pressure => nodes,
                quantity => quantity.n_components() * elements,
            };
            if field.values.len() != expected {
                let what = format!("{} has {} values, expected {expected}", field.quantity.name(), field.values.len());
                return Err(OutputError::shape(Path::new("fields"), what));
            }
        }
        let of_nodes = |name, values| GridArray::new(name, Number::F32, 3, Lasting::No, self.vectors(values));
        let at_nodes = |field: &Field<'g>| match field.quantity.is_vector() {
            true => of_nodes(field.quantity.name(), field.values),
            false => {
                let values = field.values;
                let fill = fill(move || self.nodes().map(move |node| (values[node] as f32).to_le_bytes()));
                GridArray::new(field.quantity.name(), Number::F32, 1, Lasting::No, fill)
            }
        };
        let of_elements = |field: &Field<'g>| {
            let (components, component_names) =
                if field.quantity.n_components() == 1 { (1, &[][..]) } else { (6, VOIGT) };
            let array = GridArray::new(field.quantity.name(), Number::F32, components, Lasting::No, elemental(*field));
            GridArray { component_names, ..array }
        };
        let label = |name, number, fill| GridArray::new(name, number, 1, Lasting::Always, fill);
        let groups = || view.groups.iter();
        let nodal = |field: &&Field<'_>| FieldQuantity::at_nodes(field.quantity);
        let mut point_data: Vec<_> = fields.iter().filter(nodal).map(at_nodes).collect();
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
            connectivity: indices(move || {
                let corners = groups().flat_map(|group| group.connectivity);
                corners.map(|&node| self.point(node).into())
            }),
            ends: indices(move || {
                let lengths =
                    groups().flat_map(|group| std::iter::repeat_n(group.kind.n_nodes() as u64, group.labels.len()));
                lengths.scan(0, |end, length| {
                    *end += length;
                    Some(*end)
                })
            }),
            types: indices(move || {
                groups().flat_map(|group| std::iter::repeat_n(u64::from(group.kind.vtk_type()), group.labels.len()))
            }),
            active: "Vectors",
            point_data,
            cell_data,
            names: self.has_instances().then_some(("instance_names", self.mesh.instances.as_slice())),
        })
    }

    /// Nodal vectors in the order of the points, with zeros up to three components.
    fn vectors<'g>(&'g self, values: &'g [f64]) -> Fill<'g> {
        let dimension = self.mesh.dimension;
        fill(move || {
            let component = move |node, k| if k < dimension { values[node * dimension + k] } else { 0.0 };
            let components = move |node| (0..3).map(move |k| (component(node, k) as f32).to_le_bytes());
            self.nodes().flat_map(components)
        })
    }
}

fn elemental(field: Field<'_>) -> Fill<'_> {
    let single = |value: f64| (value as f32).to_le_bytes();
    let shear = match field.quantity {
        FieldQuantity::Strain => 0.5,
        FieldQuantity::EnergyDensity => return fill(move || field.values.iter().map(move |&value| single(value))),
        _ => 1.0,
    };
    let vtk = move |&[xx, yy, zz, xy, xz, yz]: &[f64; 6]| [xx, yy, zz, shear * xy, shear * yz, shear * xz].map(single);
    fill(move || field.values.as_chunks::<6>().0.iter().flat_map(vtk))
}
