//! Second-order elements: refused, or split into linear ones.

use std::collections::BTreeSet;

use pogo_formats::dynamics::{Boundary, InitialVelocity, LoadKind};
use pogo_formats::mesh::{ElementKind, ElementShape, Mesh};
use pogo_formats::read::deck::{Deck, DeckError, ReadOptions};

use super::*;

/// Corners of a reference element, then the ends of its edges in the order of the nodes on them.
fn reference(shape: ElementShape) -> (Vec<[f64; 3]>, Vec<[usize; 2]>) {
    let bottom = vec![[0, 1], [1, 2], [2, 3], [3, 0]];
    let square = vec![[0., 0., 0.], [1., 0., 0.], [1., 1., 0.], [0., 1., 0.]];
    let triangle = vec![[0., 0., 0.], [1., 0., 0.], [0., 1., 0.]];
    let raised = |low: &[[f64; 3]]| low.iter().map(|x| [x[0], x[1], 1.]).collect::<Vec<_>>();
    match shape {
        ElementShape::Triangle => (triangle, vec![[0, 1], [1, 2], [2, 0]]),
        ElementShape::Quadrilateral => (square, bottom),
        ElementShape::Tetrahedron => {
            ([triangle, vec![[0., 0., 1.]]].concat(), vec![[0, 1], [1, 2], [2, 0], [0, 3], [1, 3], [2, 3]])
        }
        ElementShape::Wedge => (
            [triangle.clone(), raised(&triangle)].concat(),
            vec![[0, 1], [1, 2], [2, 0], [3, 4], [4, 5], [5, 3], [0, 3], [1, 4], [2, 5]],
        ),
        ElementShape::Hexahedron => (
            [square.clone(), raised(&square)].concat(),
            [bottom, vec![[4, 5], [5, 6], [6, 7], [7, 4], [0, 4], [1, 5], [2, 6], [3, 7]]].concat(),
        ),
    }
}

/// A deck of one skewed element of volume 0.6 times that of the reference, whose set of nodes F has those of its first face.
fn deck_of(name: &str, kind: ElementKind, step: &str) -> String {
    let (corners, edges) = reference(kind.shape());
    let skewed = |x: &[f64; 3]| [x[0] + 0.3 * x[1] + 0.1 * x[2], 0.6 * x[1] + 0.2 * x[2], x[2]];
    let mut nodes: Vec<[f64; 3]> = corners.iter().map(skewed).collect();
    for [a, b] in &edges {
        nodes.push(std::array::from_fn(|k| (nodes[*a][k] + nodes[*b][k]) / 2.));
    }
    let face = kind.faces()[0];
    let on_edges = edges.iter().enumerate().filter(|(_, ends)| ends.iter().all(|end| face.contains(&(*end as u8))));
    let mut of_face: Vec<usize> = face.iter().map(|corner| usize::from(*corner) + 1).collect();
    of_face.extend(on_edges.map(|(edge, _)| corners.len() + edge + 1));
    let list = |numbers: Vec<usize>| numbers.iter().map(usize::to_string).collect::<Vec<_>>().join(",\n");
    let lines: String = nodes.iter().zip(1..).map(|(x, n)| format!("{n}, {}, {}, {}\n", x[0], x[1], x[2])).collect();
    format!(
        "*NODE\n{lines}*ELEMENT, TYPE={name}, ELSET=E\n7, {}\n*NSET, NSET=F\n{}\n*NSET, NSET=ALL, ELSET=E\n\
         *SOLID SECTION, ELSET=E, MATERIAL=M\n1.\n*MATERIAL, NAME=M\n*DENSITY\n1\n*ELASTIC\n1, 0\n{step}",
        list((1..=nodes.len()).collect()),
        list(of_face),
    )
}

fn split(text: &str) -> Result<Deck, DeckError> {
    let options = ReadOptions { split_second_order: true, ..ReadOptions::default() };
    pogo_formats::read::deck::read_bytes(Path::new("deck.inp"), text.as_bytes(), &options)
}

/// Area of a triangle, or volume of a tetrahedron, times 2 or 6.
fn determinant(mesh: &Mesh, nodes: &[u32]) -> f64 {
    let d = mesh.dimension as usize;
    let x = |node: u32| &mesh.coordinates[d * node as usize..][..d];
    let edge = |k: usize| -> [f64; 3] {
        let mut edge = [0.; 3];
        (0..d).for_each(|c| edge[c] = x(nodes[k])[c] - x(nodes[0])[c]);
        edge
    };
    let (a, b, c) = (edge(1), edge(2), if d == 3 { edge(3) } else { [0., 0., 1.] });
    (a[1] * b[2] - a[2] * b[1]) * c[0] + (a[2] * b[0] - a[0] * b[2]) * c[1] + (a[0] * b[1] - a[1] * b[0]) * c[2]
}

/// Area or volume of an element that is an affine image of its reference shape.
fn size(mesh: &Mesh, kind: ElementKind, nodes: &[u32]) -> f64 {
    match kind.shape() {
        ElementShape::Triangle => determinant(mesh, nodes) / 2.,
        ElementShape::Quadrilateral => determinant(mesh, &[nodes[0], nodes[1], nodes[3]]),
        ElementShape::Tetrahedron => determinant(mesh, nodes) / 6.,
        ElementShape::Wedge => determinant(mesh, nodes) / 2.,
        ElementShape::Hexahedron => determinant(mesh, &[nodes[0], nodes[1], nodes[3], nodes[4]]),
    }
}

const SPLIT: [(&str, ElementKind, usize, usize); 8] = [
    ("CPE6M", ElementKind::Cpe3, 4, 6),
    ("CPS8R", ElementKind::Cps4r, 4, 9),
    ("CPE8", ElementKind::Cpe4, 4, 9),
    ("C3D10", ElementKind::C3d4, 8, 10),
    ("C3D10M", ElementKind::C3d4, 8, 10),
    ("C3D15", ElementKind::C3d6, 8, 18),
    ("C3D20", ElementKind::C3d8, 8, 27),
    ("C3D20R", ElementKind::C3d8r, 8, 27),
];

#[test]
fn parts_fill_the_element_and_have_equal_sizes() {
    for (name, kind, n_parts, n_nodes) in SPLIT {
        let deck = split(&deck_of(name, kind, "")).unwrap();
        let mesh = &deck.mesh;
        let group = &mesh.groups[0];
        assert_eq!((mesh.groups.len(), group.kind, group.len(), mesh.n_nodes()), (1, kind, n_parts, n_nodes), "{name}");
        let whole = 0.6 * if matches!(kind.shape(), ElementShape::Triangle | ElementShape::Wedge) { 0.5 } else { 1. };
        let whole = if kind.shape() == ElementShape::Tetrahedron { 0.1 } else { whole };
        for at in 0..n_parts {
            let part = size(mesh, kind, group.nodes(at));
            assert!((part - whole / n_parts as f64).abs() < 1e-14, "{name} {at}: {part}");
        }
        let labels: BTreeSet<u32> = group.labels.iter().copied().collect();
        assert_eq!((group.labels[0], labels.len()), (7, n_parts), "{name}");
        let labels: BTreeSet<u32> = mesh.node_labels.iter().copied().collect();
        assert_eq!(labels.len(), n_nodes, "{name}");
        let set = |sets: &[pogo_formats::mesh::NamedSet], name: &str| {
            sets.iter().find(|set| set.name == name).map(|set| set.members.len())
        };
        assert_eq!(set(&mesh.element_sets, "E"), Some(n_parts), "{name}");
        assert_eq!(set(&mesh.node_sets, "ALL"), Some(n_nodes), "{name}");
        let on_face = match kind.shape() {
            ElementShape::Triangle | ElementShape::Quadrilateral => 3,
            ElementShape::Tetrahedron | ElementShape::Wedge => 6,
            ElementShape::Hexahedron => 9,
        };
        assert_eq!(set(&mesh.node_sets, "F"), Some(on_face), "{name}");
        let notes: Vec<String> = deck.notes.iter().map(ToString::to_string).collect();
        assert!(notes.iter().any(|note| note.contains(&format!("1 {name} element split into"))), "{notes:?}");
        let (model, notes) = deck.finish().unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(model.mesh.n_nodes(), n_nodes, "{name}");
        assert!(!notes.iter().any(|note| note.text.contains("turned back")), "{name}: {notes:?}");
    }
}

/// Twice the area of a triangle or a parallelogram, or the length of an edge.
fn measure(mesh: &Mesh, face: &[u32; 4]) -> f64 {
    let d = mesh.dimension as usize;
    let x = |k: usize| &mesh.coordinates[d * face[k] as usize..][..d];
    let edge = |k: usize| -> Vec<f64> { x(k).iter().zip(x(0)).map(|(to, from)| to - from).collect() };
    if d == 2 {
        return edge(1).iter().map(|x| x * x).sum::<f64>().sqrt();
    }
    let (a, b) = (edge(1), edge(if face[3] == u32::MAX { 2 } else { 3 }));
    let normal = [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
    let area = normal.iter().map(|x| x * x).sum::<f64>().sqrt();
    if face[3] == u32::MAX { area } else { 2. * area }
}

#[test]
fn loads_on_faces_are_on_those_of_the_parts() {
    for (name, kind, ..) in SPLIT {
        for number in 1..=kind.faces().len() {
            let step = format!("*STEP\n*DYNAMIC, EXPLICIT\n, 1.\n*DLOAD\nE, P{number}, 5.\n*END STEP\n");
            let of = |name: &str, kind: ElementKind, read: &dyn Fn(&str) -> Deck| {
                let deck = read(&deck_of(name, kind, &step));
                let LoadKind::Pressure { faces, elements } = &deck.loads[0].kind else { panic!("a pressure") };
                let total: f64 = faces.iter().map(|face| measure(&deck.mesh, face)).sum();
                for (face, element) in faces.iter().zip(elements) {
                    let (group, at) = deck.mesh.place(*element).expect("an element");
                    let corners = face.iter().filter(|node| **node != u32::MAX);
                    assert!(corners.clone().all(|node| group.nodes(at).contains(node)), "{name} S{number}");
                }
                (faces.len(), total)
            };
            let (n, total) = of(name, kind, &|text| split(text).unwrap());
            // The linear element has the first nodes of the second-order one; the others belong to no element.
            let (corners, _) = reference(kind.shape());
            let linear = |text: &str| {
                let start = text.find("7, 1,\n").expect("the element") + 3;
                let end = text.find("*NSET").expect("the sets");
                let nodes: Vec<String> = (1..=corners.len()).map(|n| n.to_string()).collect();
                try_read(&format!("{}{}\n{}", &text[..start], nodes.join(","), &text[end..]), &[]).unwrap()
            };
            let (one, expected) = of(kind.name(), kind, &linear);
            assert_eq!((n, one), (if kind.dimension() == 2 { 2 } else { 4 }, 1), "{name} S{number}");
            assert!((total - expected).abs() < 1e-13, "{name} S{number}: {total} {expected}");
        }
    }
}

#[test]
fn conditions_on_a_whole_face_hold_its_middle() {
    let step = "*INITIAL CONDITIONS, TYPE=VELOCITY\nALL, 1, 3.\n*STEP\n*DYNAMIC, EXPLICIT\n, 1.\n*BOUNDARY\nF, 1, 1\n*END STEP\n";
    for (name, kind, on_face) in [("C3D20", ElementKind::C3d8, 9), ("C3D10", ElementKind::C3d4, 6)] {
        let deck = split(&deck_of(name, kind, step)).unwrap();
        let [Boundary { nodes: held, .. }] = &deck.boundaries[..] else { panic!("one boundary condition") };
        let [InitialVelocity { nodes: moving, .. }] = &deck.initial_velocities[..] else { panic!("one velocity") };
        assert_eq!((held.len(), moving.len()), (on_face, deck.mesh.n_nodes()), "{name}");
        assert!(held.iter().all(|node| deck.mesh.coordinates[3 * *node as usize + 2] == 0.), "{name}: {held:?}");
    }
}

#[test]
fn neighbours_share_the_middle_of_their_face() {
    // A second hexahedron on top of the first.
    let text = deck_of("C3D20", ElementKind::C3d8, "");
    let mut more = String::new();
    let bottom = [5, 6, 7, 8, 13, 14, 15, 16];
    for n in 0..12 {
        let (x, y) = [(0., 0.), (1., 0.), (1., 1.), (0., 1.), (0.5, 0.), (1., 0.5), (0.5, 1.), (0., 0.5)][n % 8];
        let z = if n < 8 { 2. } else { 1.5 };
        let (x, y) = (x + 0.3 * y + 0.1 * z, 0.6 * y + 0.2 * z);
        more += &format!("{}, {x}, {y}, {z}\n", 101 + n);
    }
    let top = (101..=104).chain(105..=108).collect::<Vec<u32>>();
    let nodes = [&bottom[..4], &top[..4], &bottom[4..], &top[4..], &[109, 110, 111, 112]].concat();
    let list: Vec<String> = nodes.iter().map(u32::to_string).collect();
    let element = format!("*ELEMENT, TYPE=C3D20, ELSET=E\n8, {}\n*NSET, NSET=F\n", list.join(",\n"));
    let text = text.replacen("*ELEMENT", &format!("{more}*ELEMENT"), 1).replacen("*NSET, NSET=F\n", &element, 1);
    let mesh = split(&text).unwrap().mesh;
    assert_eq!((mesh.n_elements(), mesh.n_nodes()), (16, 20 + 12 + 7 + 6));
}

#[test]
fn inner_tetrahedra_have_the_shortest_diagonal_in_common() {
    let (_, edges) = reference(ElementShape::Tetrahedron);
    let text = deck_of("C3D10", ElementKind::C3d4, "");
    let (start, end) = (text.find("7, 1,").expect("the element"), text.find("*NSET").expect("the sets"));
    // The same element whose nodes are listed in another order, which names each diagonal first, second and third.
    for order in [[0, 1, 2, 3], [1, 2, 0, 3], [2, 0, 1, 3]] {
        let on_edge = |[a, b]: &[usize; 2]| {
            let ends = [order[*a], order[*b]];
            4 + edges.iter().position(|[a, b]| ends.contains(a) && ends.contains(b)).expect("an edge")
        };
        let nodes = order.iter().copied().chain(edges.iter().map(on_edge));
        let list: Vec<String> = nodes.map(|node| (node + 1).to_string()).collect();
        let mesh = split(&format!("{}7, {}\n{}", &text[..start], list.join(", "), &text[end..])).unwrap().mesh;
        let group = &mesh.groups[0];
        let x = |node: u32| &mesh.coordinates[3 * node as usize..][..3];
        let length = |[a, b]: [u32; 2]| x(a).iter().zip(x(b)).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
        let diagonals = [[4, 9], [5, 7], [6, 8]];
        let shortest = diagonals.into_iter().min_by(|a, b| length(*a).total_cmp(&length(*b))).expect("one");
        let holding = |pair: [u32; 2]| (0..8).filter(|at| pair.iter().all(|n| group.nodes(*at).contains(n))).count();
        for pair in diagonals {
            assert_eq!(holding(pair), if pair == shortest { 4 } else { 0 }, "{order:?}: {pair:?}");
        }
    }
}

#[test]
fn ties_take_the_faces_of_the_parts() {
    let mut text = deck_of("C3D10", ElementKind::C3d4, "");
    // A triangle of nodes under the first face, and a second element below.
    let nodes = "101, 0, 0, -1e-9\n102, 1, 0, -1e-9\n103, 0.3, 0.6, -1e-9\n104, 0.1, 0.2, -1\n\
                 105, 0.5, 0, -1e-9\n106, 0.65, 0.3, -1e-9\n107, 0.15, 0.3, -1e-9\n\
                 108, 0.05, 0.1, -0.5\n109, 0.55, 0.1, -0.5\n110, 0.2, 0.4, -0.5\n";
    text = text.replacen("*ELEMENT", &format!("{nodes}*ELEMENT"), 1);
    let element = "*ELEMENT, TYPE=C3D10, ELSET=LOW\n8, 101, 103, 102, 104, 107, 106, 105, 108, 110, 109\n\
                   *SURFACE, NAME=TOP\nE, S1\n*SURFACE, NAME=BOTTOM\nLOW, S1\n*TIE, NAME=GLUE\nTOP, BOTTOM\n\
                   *SOLID SECTION, ELSET=LOW, MATERIAL=M\n";
    text = text.replacen("*SOLID", &format!("{element}*SOLID"), 1);
    let (model, _) = split(&text).unwrap().finish().unwrap();
    // Each of the six nodes of the face follows in three directions the one node that is below it.
    let linear = &model.setup.linear;
    assert_eq!(linear.n_rows(), 18);
    for row in linear.rows() {
        let heavy = row.iter().filter(|term| term.coefficient.abs() > 1e-6).count();
        assert_eq!(heavy, 2, "{row:?}");
    }
}

#[test]
fn constraints_beside_new_nodes_are_refused() {
    let text =
        deck_of("C3D20", ElementKind::C3d8, "").replacen("*SOLID", "*EQUATION\n2\n1, 1, 1., 2, 1, -1.\n*SOLID", 1);
    let error = split(&text).expect_err("it is refused").to_string();
    assert!(error.contains("C3D20 elements get new nodes when they are split"), "{error}");
}

#[test]
fn what_cannot_be_split_is_refused() {
    let text = deck_of("C3D20R", ElementKind::C3d8r, "");
    let error = try_read(&text, &[]).expect_err("it is refused").to_string();
    assert!(error.contains("C3D20R (1 element") && error.contains("--split-second-order"), "{error}");
    let twice = text.replacen("\n20\n", "\n19\n", 1);
    let error = split(&twice).expect_err("it is refused").to_string();
    assert!(error.contains("element 7 has node 19 twice"), "{error}");
    let few = text.replacen(",\n20\n", "\n", 1);
    let error = split(&few).expect_err("it is refused").to_string();
    assert!(error.contains("19 of the 20 nodes of C3D20R"), "{error}");
    let high = text.replacen("\n7, 1,", "\n4294967290, 1,", 1);
    let error = split(&high).expect_err("it is refused").to_string();
    assert!(error.contains("labels above the highest"), "{error}");
}
