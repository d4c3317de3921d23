//! Second-order cells, split: the nodes of each type stand in an order of their own.

use super::super::model::read_deck;
use super::*;

/// Corners of a cell whose edges are 2 along x, y and z.
fn corners(shape: ElementShape) -> Vec<[f64; 3]> {
    let square = [[0., 0., 0.], [2., 0., 0.], [2., 2., 0.], [0., 2., 0.]];
    let triangle = [[0., 0., 0.], [2., 0., 0.], [0., 2., 0.]];
    let both = |low: &[[f64; 3]]| [low.to_vec(), low.iter().map(|x| [x[0], x[1], 2.]).collect()].concat();
    match shape {
        ElementShape::Triangle => triangle.to_vec(),
        ElementShape::Quadrilateral => square.to_vec(),
        ElementShape::Tetrahedron => [triangle.to_vec(), vec![[0., 0., 2.]]].concat(),
        ElementShape::Wedge => both(&triangle),
        ElementShape::Hexahedron => both(&square),
    }
}

/// A Gmsh type: its number, shape, the ends of its edges in the order of their nodes (Gmsh's manual, node ordering), and how many
/// nodes amid faces and the element follow.
const GMSH: [(u32, ElementShape, &[[usize; 2]], usize); 8] = [
    (9, ElementShape::Triangle, &[[0, 1], [1, 2], [2, 0]], 0),
    (16, ElementShape::Quadrilateral, &[[0, 1], [1, 2], [2, 3], [3, 0]], 0),
    (10, ElementShape::Quadrilateral, &[[0, 1], [1, 2], [2, 3], [3, 0]], 1),
    (11, ElementShape::Tetrahedron, &[[0, 1], [1, 2], [2, 0], [3, 0], [3, 2], [3, 1]], 0),
    (18, ElementShape::Wedge, WEDGE, 0),
    (13, ElementShape::Wedge, WEDGE, 3),
    (17, ElementShape::Hexahedron, HEXAHEDRON, 0),
    (12, ElementShape::Hexahedron, HEXAHEDRON, 7),
];
const WEDGE: &[[usize; 2]] = &[[0, 1], [0, 2], [0, 3], [1, 2], [1, 4], [2, 5], [3, 4], [3, 5], [4, 5]];
const HEXAHEDRON: &[[usize; 2]] =
    &[[0, 1], [0, 3], [0, 4], [1, 2], [1, 5], [2, 3], [2, 6], [3, 7], [4, 5], [4, 7], [5, 6], [6, 7]];

/// A VTK type, alike: Abaqus' order.
const VTK: [(u32, ElementShape, &[[usize; 2]], usize); 9] = [
    (22, ElementShape::Triangle, &[[0, 1], [1, 2], [2, 0]], 0),
    (34, ElementShape::Triangle, &[[0, 1], [1, 2], [2, 0]], 1),
    (23, ElementShape::Quadrilateral, &[[0, 1], [1, 2], [2, 3], [3, 0]], 0),
    (28, ElementShape::Quadrilateral, &[[0, 1], [1, 2], [2, 3], [3, 0]], 1),
    (24, ElementShape::Tetrahedron, &[[0, 1], [1, 2], [2, 0], [0, 3], [1, 3], [2, 3]], 0),
    (26, ElementShape::Wedge, VTK_WEDGE, 0),
    (32, ElementShape::Wedge, VTK_WEDGE, 3),
    (25, ElementShape::Hexahedron, VTK_HEXAHEDRON, 0),
    (29, ElementShape::Hexahedron, VTK_HEXAHEDRON, 7),
];
const VTK_WEDGE: &[[usize; 2]] = &[[0, 1], [1, 2], [2, 0], [3, 4], [4, 5], [5, 3], [0, 3], [1, 4], [2, 5]];
const VTK_HEXAHEDRON: &[[usize; 2]] =
    &[[0, 1], [1, 2], [2, 3], [3, 0], [4, 5], [5, 6], [6, 7], [7, 4], [0, 4], [1, 5], [2, 6], [3, 7]];

/// Nodes of a cell: corners, on edges, and others that nobody uses, off the plane of no face.
fn nodes(shape: ElementShape, edges: &[[usize; 2]], n_others: usize) -> Vec<[f64; 3]> {
    let mut nodes = corners(shape);
    for [a, b] in edges {
        nodes.push(std::array::from_fn(|k| (nodes[*a][k] + nodes[*b][k]) / 2.));
    }
    nodes.resize(nodes.len() + n_others, [0.3, 0.4, 0.]);
    nodes
}

/// Whether each part is a cell of half the edges, the right way round: its edges from one corner are 1 along x, y and z.
fn check(path: &Path, shape: ElementShape, what: &str) {
    let options = ReadOptions { split_second_order: true, ..ReadOptions::default() };
    let deck = read_deck(path, &options).unwrap_or_else(|error| panic!("{what}: {error}"));
    let (mesh, d) = (&deck.mesh, shape.dimension());
    assert_eq!((mesh.groups.len(), mesh.dimension as usize), (1, d), "{what}");
    let group = &mesh.groups[0];
    assert_eq!((group.kind.shape(), group.len()), (shape, if d == 2 { 4 } else { 8 }), "{what}");
    let whole: f64 = if shape == ElementShape::Tetrahedron { 8. / 6. } else { 2f64.powi(d as i32) };
    let whole = if matches!(shape, ElementShape::Triangle | ElementShape::Wedge) { whole / 2. } else { whole };
    let mut total = 0.;
    for at in 0..group.len() {
        let x = |local: usize| &mesh.coordinates[d * group.nodes(at)[local] as usize..][..d];
        let edge = |to: usize| -> [f64; 3] {
            let mut edge = [0., 0., 1.];
            (0..d).for_each(|k| edge[k] = x(to)[k] - x(0)[k]);
            edge
        };
        let (a, b, c) = match shape {
            ElementShape::Triangle | ElementShape::Tetrahedron => (edge(1), edge(2), edge(3.min(d))),
            ElementShape::Quadrilateral => (edge(1), edge(3), [0., 0., 1.]),
            ElementShape::Wedge => (edge(1), edge(2), edge(3)),
            ElementShape::Hexahedron => (edge(1), edge(3), edge(4)),
        };
        let c = if d == 2 { [0., 0., 1.] } else { c };
        let size = (a[1] * b[2] - a[2] * b[1]) * c[0]
            + (a[2] * b[0] - a[0] * b[2]) * c[1]
            + (a[0] * b[1] - a[1] * b[0]) * c[2];
        assert!(size > 0., "{what}: part {at} is turned over");
        total += size;
    }
    let ratio = total / whole;
    let expected = match shape {
        ElementShape::Tetrahedron => 6.,
        ElementShape::Triangle | ElementShape::Wedge => 2.,
        _ => 1.,
    };
    assert!((ratio - expected).abs() < 1e-12, "{what}: {ratio}");
}

#[test]
fn cells_of_gmsh_have_their_nodes_in_its_order() {
    let folder = folder();
    for (code, shape, edges, n_others) in GMSH {
        let nodes = nodes(shape, edges, n_others);
        let lines: String = nodes.iter().zip(1..).map(|(x, n)| format!("{n} {} {} {}\n", x[0], x[1], x[2])).collect();
        let list: String = (1..=nodes.len()).map(|n| format!(" {n}")).collect();
        let text = format!(
            "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n{}\n{lines}$EndNodes\n$Elements\n1\n1 {code} 2 1 1{list}\n\
             $EndElements\n",
            nodes.len()
        );
        check(&put(&folder, "a.msh", text), shape, &format!("Gmsh's type {code}"));
    }
}

#[test]
fn cells_of_vtk_have_their_nodes_in_its_order() {
    let folder = folder();
    for (code, shape, edges, n_others) in VTK {
        let nodes = nodes(shape, edges, n_others);
        let points: String = nodes.iter().map(|x| format!("{} {} {}\n", x[0], x[1], x[2])).collect();
        let list: String = (0..nodes.len()).map(|n| format!(" {n}")).collect();
        let n = nodes.len();
        let text = format!(
            "# vtk DataFile Version 2.0\na\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS {n} double\n{points}CELLS 1 {}\n{n}{list}\n\
             CELL_TYPES 1\n{code}\n",
            n + 1
        );
        check(&put(&folder, "a.vtk", text), shape, &format!("VTK's type {code}"));
    }
}

#[test]
fn without_the_option_they_are_refused_and_arrival_times_take_decks_alone() {
    let folder = folder();
    let nodes = "4\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n";
    let text = format!(
        "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n{nodes}$EndNodes\n$Elements\n1\n1 11 2 1 1 1 2 3 4 1 2 3 4 1 2\n$EndElements\n"
    );
    let path = put(&folder, "a.msh", text);
    let error = read_deck(&path, &ReadOptions::default()).unwrap_err().to_string();
    assert!(error.contains("1 second-order tetrahedra: only first-order"), "{error}");
    assert!(error.contains("or split these with --split-second-order"), "{error}");
    let options = ReadOptions { split_second_order: true, ..ReadOptions::default() };
    let error = super::super::read(&path, &options).unwrap_err().to_string();
    assert!(error.contains("split in decks alone"), "{error}");
}
