//! Boxes (rectangles in 2D) of any element kind and number of nodes, for timing. They are of steel with elements of 1 mm. One
//! face is fixed; a tone burst pulls the opposite face, with a monitor in its middle.

use pogo_formats::dynamics::{Boundary, BoundaryKind};
use pogo_formats::explicit::{Elasticity, Material, Model, Section};
use pogo_formats::mesh::{ElementKind, ElementShape, Mesh, NamedSet};

use super::assemble::{Action, Signal, act, isotropic, mesh_of, short};
use super::outline::{Outline, Role};
use super::triangles::{fill, noise};
use super::{GenerateError, refuse};

/// Element side length, m.
const SIZE: f64 = 1e-3;

/// Size and elements of a box.
#[derive(Debug, Clone, PartialEq)]
pub struct BoxOptions {
    pub elements: ElementKind,
    /// Number of nodes, met as nearly as whole rows of elements allow.
    pub nodes: u32,
    /// Random displacement of inner nodes as a fraction of the element size, 0 to 0.2 (triangles are always irregular).
    pub jitter: f64,
    /// Length of the run, in increments.
    pub increments: u32,
}

/// An element kind by its name.
pub fn parse_kind(name: &str) -> Result<ElementKind, String> {
    ElementKind::from_name(name).filter(|kind| !kind.is_acoustic()).ok_or_else(|| {
        let names = ElementKind::SOLIDS.map(|kind| kind.name().to_lowercase());
        format!("known kinds are {}", names.join(", "))
    })
}

/// Builds the model.
///
/// # Errors
/// [`GenerateError::Option`] for a number out of range; others as in [`fill`].
pub fn cuboid(options: &BoxOptions) -> Result<Model, GenerateError> {
    if !(8..=500_000_000).contains(&options.nodes) {
        return refuse("--nodes must be 8 to 500 million");
    }
    if !(0.0..=0.2).contains(&options.jitter) {
        return refuse("--jitter must be 0 to 0.2");
    }
    let (mesh, sides) = match options.elements.shape() {
        ElementShape::Triangle => triangles(options)?,
        ElementShape::Quadrilateral => lattice::<2>(options),
        _ => lattice::<3>(options),
    };
    let material = isotropic("STEEL", 7850.0, 210e9, 0.3);
    let (p_speed, s_speed) = wave_speeds(&material);
    // A fifth of the time a P wave needs for an element's side: stable for tetrahedra moved by the largest jitter.
    let increment = short((0.2 * SIZE / p_speed * 1e9).floor() * 1e-9);
    let face = |side: usize, name: &str| {
        let members = mesh.coordinates.chunks_exact(mesh.dimension as usize).zip(0..);
        let at = if side == 0 { 0.0 } else { sides[0] };
        let members = members.filter(|(position, _)| (position[0] - at).abs() < 1e-6 * SIZE);
        NamedSet { name: name.to_owned(), members: members.map(|(_, node)| node).collect() }
    };
    let (fixed, pulled) = (face(0, "FIXED"), face(1, "SOURCE").members);
    let distance = |node: u32| -> f64 {
        let dimension = mesh.dimension as usize;
        let position = &mesh.coordinates[node as usize * dimension..][1..dimension];
        position.iter().zip(&sides[1..]).map(|(x, side)| (x - 0.5 * side).powi(2)).sum()
    };
    let middle = pulled.iter().copied().min_by(|&a, &b| distance(a).total_cmp(&distance(b))).unwrap_or_default();
    let boundaries = (0..mesh.dimension as u8).map(|component| Boundary {
        name: format!("FIXED.{}", component + 1),
        nodes: fixed.members.clone(),
        component,
        kind: BoundaryKind::Displacement,
        value: 0.0,
        amplitude: None,
    });
    let boundaries = boundaries.collect();
    let action = Action {
        title: format!("Box of {}", options.elements.name()),
        force: [1e3 / pulled.len().max(1) as f64, 0.0],
        source: pulled,
        signal_name: "BURST",
        signal: Signal::hann_burst(s_speed / (12.0 * SIZE), 3.0),
        monitors: vec![("MONITOR", middle)],
        node_sets: vec![fixed],
        time: short(f64::from(options.increments) * increment),
        increment,
        n_fields: 0,
    };
    let mut model = act(mesh, vec![material], vec![Section::new("ALL", 0)], action);
    model.setup.boundaries = boundaries;
    Ok(model)
}

/// Plane P and S waves, m/s.
fn wave_speeds(material: &Material) -> (f64, f64) {
    let Elasticity::Isotropic { young, poisson } = material.elasticity else { return (f64::NAN, f64::NAN) };
    let shear = young / (2.0 * (1.0 + poisson) * material.density);
    ((shear * 2.0 * (1.0 - poisson) / (1.0 - 2.0 * poisson)).sqrt(), shear.sqrt())
}

/// A square of unstructured triangles, with its side lengths.
fn triangles(options: &BoxOptions) -> Result<(Mesh, Vec<f64>), GenerateError> {
    // Each node takes √3/2 of a square of side h; one row of nodes lies on the sides.
    let side = SIZE * ((f64::from(options.nodes) * 0.75f64.sqrt()).sqrt() - 1.0).max(1.0);
    let mut outline = Outline::new(SIZE);
    let corners = [[0.0, 0.0], [side, 0.0], [side, side], [0.0, side]].map(|corner| outline.point(corner));
    for i in 0..4 {
        outline.straight(corners[i], corners[(i + 1) % 4], Role::Wall);
    }
    let filled = fill(&outline, |_| 0)?;
    let mesh = mesh_of(2, options.elements, filled.points.into_flattened(), filled.triangles.into_flattened());
    Ok((mesh, vec![side; 2]))
}

/// A lattice that is cut into elements, with its side lengths. Inner nodes are moved; those on a face stay in it.
fn lattice<const D: usize>(options: &BoxOptions) -> (Mesh, Vec<f64>) {
    let kind = options.elements;
    let across = (f64::from(options.nodes).powf(1.0 / D as f64).round() as usize).max(2);
    let mut n_nodes = [across; D];
    n_nodes[0] = (f64::from(options.nodes) / (across.pow(D as u32 - 1)) as f64).round().max(2.0) as usize;
    let strides = {
        let mut s = [1; D];
        for axis in 1..D {
            s[axis] = s[axis - 1] * n_nodes[axis - 1];
        }
        s
    };
    let total = n_nodes.iter().product::<usize>();
    let site = |index: usize| -> [usize; D] { std::array::from_fn(|axis| index / strides[axis] % n_nodes[axis]) };

    let mut coordinates = Vec::with_capacity(D * total);
    let mut connectivity = Vec::new();
    let cells = cells(kind.shape());
    for index in 0..total {
        let site = site(index);
        for axis in 0..D {
            let inner = site[axis] > 0 && site[axis] + 1 < n_nodes[axis];
            let shift = if inner { options.jitter * noise(index as u64, 0, axis as u64 + 1) } else { 0.0 };
            coordinates.push(SIZE * (site[axis] as f64 + shift));
        }
        if (0..D).all(|axis| site[axis] + 1 < n_nodes[axis]) {
            for corner in cells.iter().flatten() {
                let offset = (0..D).map(|axis| usize::from(corner >> axis & 1) * strides[axis]).sum::<usize>();
                connectivity.push((index + offset) as u32);
            }
        }
    }
    let sides = n_nodes.map(|n| SIZE * (n - 1) as f64).to_vec();
    (mesh_of(D, kind, coordinates, connectivity), sides)
}

/// The elements that fill a cell, by corners: bit 0 of a corner is its x, bit 1 its y, bit 2 its z.
fn cells(shape: ElementShape) -> Vec<Vec<u8>> {
    match shape {
        ElementShape::Triangle | ElementShape::Quadrilateral => vec![vec![0, 1, 3, 2]],
        // Kuhn's six tetrahedra round the diagonal from corner 0 to corner 7, each with positive volume.
        ElementShape::Tetrahedron => {
            [[1, 2], [2, 4], [4, 1]].iter().flat_map(|&[a, b]| [vec![0, a, a | b, 7], vec![0, a | b, b, 7]]).collect()
        }
        ElementShape::Wedge => vec![vec![0, 1, 3, 4, 5, 7], vec![0, 3, 2, 4, 7, 6]],
        ElementShape::Hexahedron => vec![vec![0, 1, 3, 2, 4, 5, 7, 6]],
    }
}
