use std::collections::HashMap;
use std::path::Path;

use pogo_formats::dynamics::{Boundary, BoundaryKind, HistoryRequest, Load, LoadKind, NodalQuantity};
use pogo_formats::dynamics::{CopiedDisplacements, InitialVelocity, OutputInterval};
use pogo_formats::explicit::job::ExplicitJob;
use pogo_formats::job::JobFile as _;
use pogo_formats::mesh::ElementKind;

use super::*;
use crate::elements::{cross, dot, faces as faces_of, sub};
use crate::explicit::apply_job::tests::setup;

/// Cells of unit size, `n[2] = 0` for the plane; triangles and tetrahedra are parts of cells. Inner nodes of the latter are
/// moved about by up to `shake`. Labels are the index plus 1.
fn grid(kind: ElementKind, n: [usize; 3], shake: f64) -> Model {
    let dimension = kind.dimension();
    let [nx, ny, nz] = n;
    let node = |i: usize, j: usize, k: usize| ((k * (ny + 1) + j) * (nx + 1) + i) as u32;
    let mut state = 7_u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) as f64 / f64::from(1_u32 << 31) - 0.5) * 2.0
    };
    let (mut coordinates, mut connectivity) = (Vec::new(), Vec::new());
    for k in 0..=nz {
        for j in 0..=ny {
            for i in 0..=nx {
                let at = [i, j, k];
                let is_inner = (0..dimension).all(|axis| at[axis] > 0 && at[axis] < n[axis]);
                let moved = |axis: usize, by: f64| at[axis] as f64 + if is_inner { shake * by } else { 0.0 };
                let by = [random(), random(), random()];
                coordinates.extend((0..dimension).map(|axis| moved(axis, by[axis])));
            }
        }
    }
    for k in 0..nz.max(1) {
        for j in 0..ny {
            for i in 0..nx {
                let quad = |k| [node(i, j, k), node(i + 1, j, k), node(i + 1, j + 1, k), node(i, j + 1, k)];
                let [a, b, c, d] = quad(k);
                match kind {
                    ElementKind::Cpe3 if (i + j) % 2 == 0 => connectivity.extend([a, b, c, a, c, d]),
                    ElementKind::Cpe3 => connectivity.extend([a, b, d, b, c, d]),
                    ElementKind::C3d4 => {
                        let corner = [quad(k), quad(k + 1)].concat();
                        for [a, b] in [[1, 2], [2, 3], [3, 7], [7, 4], [4, 5], [5, 1]] {
                            connectivity.extend([corner[0], corner[a], corner[b], corner[6]]);
                        }
                    }
                    _ if dimension == 3 => connectivity.extend([quad(k), quad(k + 1)].concat()),
                    _ => connectivity.extend([a, b, c, d]),
                }
            }
        }
    }
    Model { mesh: Mesh::of_kind(kind, coordinates, connectivity), setup: setup() }
}

fn cut(model: &mut Model, job: &str) -> Result<Remarks, String> {
    let job = ExplicitJob::parse(job, "job.toml", Path::new("")).map_err(|error| error.to_string())?;
    let mut remarks = Remarks::default();
    open(model, &job.cracks, &mut remarks).map_err(|error| error.to_string())?;
    Ok(remarks)
}

/// Positions of the nodes that were added, sorted.
fn new_nodes(model: &Model, n_before: usize) -> Vec<Vec<f64>> {
    let dimension = model.mesh.dimension as usize;
    let mut found: Vec<Vec<f64>> =
        model.mesh.coordinates[n_before * dimension..].chunks(dimension).map(<[f64]>::to_vec).collect();
    found.sort_by(|a, b| a.partial_cmp(b).unwrap());
    found
}

/// Area of the surface of a body, and its volume by the divergence theorem.
fn surface_and_volume(mesh: &Mesh) -> (f64, f64) {
    let mut count = HashMap::new();
    for (kind, nodes) in elements(mesh) {
        faces_of(kind, nodes).for_each(|face| *count.entry(faces::key_of(&face)).or_insert(0) += 1);
    }
    let (mut area, mut volume) = (0.0, 0.0);
    for (kind, nodes) in elements(mesh) {
        let middle = faces::centre(mesh, nodes);
        for face in faces_of(kind, nodes).filter(|face| count[&faces::key_of(face)] == 1) {
            let (vector, at) = (area_vector(mesh, round(&face)), faces::centre(mesh, round(&face)));
            area += crate::elements::norm(vector);
            let outward = dot(vector, sub(at, middle)).signum();
            volume += outward * dot(vector, at) / f64::from(mesh.dimension);
        }
    }
    (area, volume)
}

#[test]
fn a_line_on_a_row_of_edges_opens_those_and_leaves_its_tips() {
    for kind in [ElementKind::Cpe4, ElementKind::Cpe3] {
        for y in [3.0, 3.2, 2.7] {
            let mut model = grid(kind, [8, 6, 0], 0.0);
            let remarks = cut(&mut model, &format!("[[crack]]\nname = 'slot'\nline = [[2, {y}], [6, {y}]]")).unwrap();
            assert_eq!(new_nodes(&model, 63), [[3.0, 3.0], [4.0, 3.0], [5.0, 3.0]], "{kind:?} {y}");
            assert_eq!(model.mesh.node_labels[63..], [64, 65, 66]);
            let note = &remarks.notes[0];
            assert!(
                note.starts_with("job.toml:1: note: crack slot opens 4 element faces (length 4.000e0 of 4.000e0 m)"),
                "{note}"
            );
            assert!(note.contains(&format!("at most {:.3e} m from it", (y - 3.0_f64).abs())), "{note}");
            let sizes: Vec<_> = model.mesh.node_sets.iter().map(|set| (set.name.as_str(), set.members.len())).collect();
            assert_eq!(sizes, [("slot.plus", 5), ("slot.minus", 5), ("slot.front", 2)]);
            // Elements above have other nodes than those below.
            let above = model.mesh.node_sets[0].members.clone();
            for (_, nodes) in elements(&model.mesh) {
                let is_above = faces::centre(&model.mesh, nodes)[1] > 3.0;
                let at_crack = nodes.iter().filter(|&&n| position(&model.mesh, n)[1] == 3.0);
                for &node in at_crack.filter(|&&n| (3.0..=5.0).contains(&position(&model.mesh, n)[0])) {
                    assert_eq!(above.contains(&node), is_above);
                }
            }
        }
    }
}

#[test]
fn a_crack_at_the_surface_opens_it_and_two_cracks_may_cross() {
    let mut model = grid(ElementKind::Cpe4, [8, 6, 0], 0.0);
    cut(&mut model, "[[crack]]\nline = [[5, 3], [9, 3]]").unwrap();
    assert_eq!(new_nodes(&model, 63), [[6.0, 3.0], [7.0, 3.0], [8.0, 3.0]]);
    let mut model = grid(ElementKind::Cpe4, [8, 6, 0], 0.0);
    let (area, volume) = surface_and_volume(&model.mesh);
    cut(&mut model, "[[crack]]\nline = [[2, 3], [6, 3]]\n[[crack]]\nline = [[4, 1], [4, 5]]").unwrap();
    let at_crossing = model.mesh.coordinates.chunks(2).filter(|at| *at == [4.0, 3.0]).count();
    assert_eq!((at_crossing, model.mesh.n_nodes()), (4, 63 + 3 + 5 - 1 + 1 - 1));
    let (new_area, new_volume) = surface_and_volume(&model.mesh);
    assert!((new_area - area - 16.0).abs() < 1e-9 && (new_volume - volume).abs() < 1e-9);
}

/// On triangles without rows of edges along the line, the crack is no saw tooth: edges to and fro would be some 1.7 times as long.
#[test]
fn a_line_across_triangles_is_followed_without_teeth() {
    for (shake, [x, y]) in [(0.2, [20.0, 12.3]), (0.3, [19.0, 4.7]), (0.25, [4.2, 20.0]), (0.0, [20.0, 11.5])] {
        let mut model = grid(ElementKind::Cpe3, [24, 24, 0], shake);
        let (area, volume) = surface_and_volume(&model.mesh);
        let remarks = cut(&mut model, &format!("[[crack]]\nline = [[3, 3.4], [{x}, {y}]]")).unwrap();
        let length = f64::hypot(x - 3.0, y - 3.4);
        let (new_area, new_volume) = surface_and_volume(&model.mesh);
        let opened = 0.5 * (new_area - area);
        assert!((opened / length - 1.17).abs() < 0.2, "{opened} of {length}");
        assert!((new_volume / volume - 1.0).abs() < 1e-12);
        assert!(remarks.warnings.is_empty(), "{:?}", remarks.warnings);
        let n_new = model.mesh.n_nodes() - 625;
        // A simple path has one edge more than inner nodes.
        let faces =
            remarks.notes[0].split_once("opens ").unwrap().1.split(' ').next().unwrap().parse::<usize>().unwrap();
        assert_eq!(faces, n_new + 1);
        let Some(set) = model.mesh.node_sets.iter().find(|set| set.name == "CRACK1.plus") else { panic!() };
        for &node in &set.members {
            let at = position(&model.mesh, node);
            let height = ((x - 3.0) * (at[1] - 3.4) - (y - 3.4) * (at[0] - 3.0)) / length;
            assert!(height.abs() < 1.0, "{at:?} is {height} away");
        }
    }
}

#[test]
fn a_kinked_line_is_followed_round_its_corner() {
    let mut model = grid(ElementKind::Cpe4, [10, 10, 0], 0.0);
    cut(&mut model, "[[crack]]\nline = [[2, 2], [6, 2], [6, 7]]").unwrap();
    let expected: Vec<Vec<f64>> =
        [[3, 2], [4, 2], [5, 2], [6, 2], [6, 3], [6, 4], [6, 5], [6, 6]].map(|at| at.map(f64::from).to_vec()).into();
    assert_eq!(new_nodes(&model, 121), expected);
}

#[test]
fn a_patch_opens_faces_in_three_dimensions() {
    let polygon = "[[crack]]\npolygon = [[1, 1, 2], [5, 1, 2], [5, 4, 2], [1, 4, 2]]";
    // Of tetrahedra, a triangle at each of two corners has all its nodes at the front.
    for (kind, opened, n_front) in [(ElementKind::C3d8, 12.0, 14), (ElementKind::C3d4, 11.0, 12)] {
        let mut model = grid(kind, [6, 5, 4], 0.0);
        let n_before = model.mesh.n_nodes();
        let (area, volume) = surface_and_volume(&model.mesh);
        let remarks = cut(&mut model, polygon).unwrap();
        let told = format!("area {opened:.3e} of 1.200e1 m²), at most 0.000e0 m from it");
        assert!(remarks.notes[0].contains(&told), "{:?}", remarks.notes);
        let expected: Vec<Vec<f64>> =
            (2..5).flat_map(|i| (2..4).map(move |j| vec![f64::from(i), f64::from(j), 2.0])).collect();
        assert_eq!(new_nodes(&model, n_before), expected, "{kind:?}");
        let (new_area, new_volume) = surface_and_volume(&model.mesh);
        assert!((new_area - area - 2.0 * opened).abs() < 1e-9 && (new_volume - volume).abs() < 1e-9);
        let front = &model.mesh.node_sets[2];
        assert_eq!((front.name.as_str(), front.members.len()), ("CRACK1.front", n_front));
    }
}

/// A tilted disc through tetrahedra without rows of faces along it: no plane of faces is there to be found.
#[test]
fn a_disc_across_tetrahedra_is_followed() {
    let mut model = grid(ElementKind::C3d4, [14, 14, 14], 0.2);
    let (area, volume) = surface_and_volume(&model.mesh);
    let remarks = cut(&mut model, "[[crack]]\ncentre = [7, 7, 7.2]\nnormal = [0.3, 0.2, 1]\nradius = 4.5").unwrap();
    let (new_area, new_volume) = surface_and_volume(&model.mesh);
    let (opened, disc) = (0.5 * (new_area - area), std::f64::consts::PI * 4.5 * 4.5);
    assert!(opened > disc && opened < 1.65 * disc, "{opened} of {disc}");
    assert!((new_volume / volume - 1.0).abs() < 1e-12);
    assert!(remarks.warnings.is_empty(), "{:?}", remarks.warnings);
    let normal = [0.3, 0.2, 1.0].map(|x| x / 1.13_f64.sqrt());
    for set in &model.mesh.node_sets {
        for &node in &set.members {
            let arm = sub(position(&model.mesh, node), [7.0, 7.0, 7.2]);
            assert!(dot(arm, normal).abs() < 1.2 && crate::elements::norm(cross(arm, normal)) < 5.8, "{arm:?}");
        }
    }
}

#[test]
fn triangles_of_a_file_open_what_a_polygon_opens() {
    let folder = tempfile::tempdir().unwrap();
    let vtk = "# vtk DataFile Version 3.0\ncrack\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 5 double\n1 1 2\n5 1 2\n5 4 2\n1 4 2\n3 2.5 2\n\
               CELLS 4 16\n3 0 1 4\n3 2 1 4\n3 2 3 4\n3 0 3 4\nCELL_TYPES 4\n5\n5\n5\n5\n";
    std::fs::write(folder.path().join("crack.vtk"), vtk).unwrap();
    let job = ExplicitJob::parse("[[crack]]\nfile = 'crack.vtk'", "job.toml", folder.path()).unwrap();
    let mut found = grid(ElementKind::C3d8, [6, 5, 4], 0.0);
    let mut expected = found.clone();
    open(&mut found, &job.cracks, &mut Remarks::default()).unwrap();
    cut(&mut expected, "[[crack]]\npolygon = [[1, 1, 2], [5, 1, 2], [5, 4, 2], [1, 4, 2]]").unwrap();
    assert_eq!(found, expected);
}

#[test]
fn what_the_deck_says_of_a_node_holds_for_its_twin() {
    let mut model = grid(ElementKind::Cpe4, [8, 6, 0], 0.0);
    let (middle, edge) = (3 * 9 + 7, 3 * 9 + 8);
    let (below, above) = (2 * 8 + 7, 3 * 8 + 7);
    let (nodes, direction) = (vec![middle, 0], [1.0, 0.0, 0.0]);
    let load = |kind| Load { name: String::new(), kind, magnitude: 1.0, amplitude: None };
    let face = |element: u32, other: u32| ([edge, other, u32::MAX, u32::MAX], element);
    let (faces, elements) = [face(below, edge - 9), face(above, edge + 9)].into_iter().unzip();
    model.setup.loads = vec![
        load(LoadKind::Concentrated { nodes: nodes.clone(), weights: vec![], direction }),
        load(LoadKind::Pressure { faces, elements }),
    ];
    let (name, kind) = (String::new(), BoundaryKind::Displacement);
    model.setup.boundaries =
        vec![Boundary { name: name.clone(), nodes: nodes.clone(), component: 0, kind, value: 0.0, amplitude: None }];
    model.setup.initial_velocities = vec![InitialVelocity { name, nodes: nodes.clone(), component: 0, value: 1.0 }];
    let history = |weights| HistoryRequest {
        set: String::new(),
        nodes: nodes.clone(),
        variables: vec![(NodalQuantity::Displacement, 0), (NodalQuantity::Displacement, 1)],
        weights,
        interval: OutputInterval::Increments(1),
    };
    model.setup.histories = vec![history(vec![]), history(vec![2.0, 4.0, 1.0, 1.0])];
    model.mesh.node_sets.push(NamedSet { name: "SET".into(), members: nodes.clone() });
    cut(&mut model, "[[crack]]\nline = [[5, 3], [8, 3]]").unwrap();
    let twin = 63 + 1;
    let all = vec![middle, twin, 0];
    assert_eq!(position(&model.mesh, twin), [7.0, 3.0, 0.0]);
    let setup = &model.setup;
    let expected = LoadKind::Concentrated { nodes: all.clone(), weights: vec![0.5, 0.5, 1.0], direction };
    assert_eq!(setup.loads[0].kind, expected);
    let LoadKind::Pressure { faces, .. } = &setup.loads[1].kind else { panic!() };
    // The part with the lowest element keeps the node.
    assert_eq!([faces[0][0], faces[1][0]], [edge, 65]);
    assert_eq!([&setup.boundaries[0].nodes, &setup.initial_velocities[0].nodes, &setup.histories[0].nodes], [&all; 3]);
    assert_eq!((&setup.histories[1].nodes, &setup.histories[1].weights), (&all, &vec![1.0, 2.0, 1.0, 2.0, 1.0, 1.0]));
    assert_eq!(model.mesh.node_sets[0].members, all);
}

#[test]
fn cracks_that_open_nothing_or_make_no_sense_are_refused() {
    let cases = [
        ("line = [[20, 3], [30, 3]]", "the crack opens nothing: no face between two elements"),
        ("line = [[2, 3], [3, 3]]", "the crack opens nothing: 1 element face lies along it, and all of their nodes"),
        ("line = [[2, 3], [2, 3]]", "the point [2.0, 3.0] stands twice in `line`"),
        ("line = [[2, 3]]", "`line` needs two points or more"),
        ("polygon = [[2, 3, 0], [3, 3, 0], [3, 4, 0]]", "in a 2D mesh a crack is a `line`"),
        ("centre = [2, 3, 0]\nradius = 1", "a disc needs `centre`, `normal` and `radius`"),
        ("name = 'c'", "give one of `line`, `polygon`, `centre`, `file`"),
    ];
    for (keys, message) in cases {
        let mut model = grid(ElementKind::Cpe4, [8, 6, 0], 0.0);
        let error = cut(&mut model, &format!("[[crack]]\n{keys}")).err().unwrap();
        assert!(error.starts_with(&format!("job.toml:1: error: {message}")), "{error}");
    }
    let cases = [
        ("line = [[2, 3], [4, 3]]", "`line` is for 2D meshes"),
        ("polygon = [[1, 1, 2], [5, 1, 2], [5, 4, 2.1], [1, 4, 2]]", "the corners of `polygon` do not lie in a plane"),
        ("polygon = [[1, 1, 2], [5, 1, 2], [2, 2, 2], [1, 4, 2]]", "`polygon` must be convex"),
        ("polygon = [[1, 1, 2], [5, 4, 2], [5, 1, 2], [1, 4, 2]]", "`polygon`"),
        ("polygon = [[1, 1, 2], [2, 2, 2], [3, 3, 2]]", "the corners of `polygon` lie on a line"),
        ("centre = [3, 3, 2]\nnormal = [0, 0, 0]\nradius = 1", "`normal` is zero"),
        ("file = 'absent.vtk'", "absent.vtk: error: cannot read"),
    ];
    for (keys, message) in cases {
        let mut model = grid(ElementKind::C3d8, [6, 5, 4], 0.0);
        let error = cut(&mut model, &format!("[[crack]]\n{keys}")).err().unwrap();
        assert!(error.contains(message), "{error}");
    }
}

/// A doubled node would follow a node of the other side that is single, or the other way round.
#[test]
fn a_crack_that_reaches_a_periodic_side_is_refused() {
    let mut model = grid(ElementKind::Cpe4, [8, 6, 0], 0.0);
    let side = |x: u32| (0..=6).map(|j| 9 * j + x).collect();
    model.setup.copied = CopiedDisplacements { from: side(0), to: side(8) };
    let error = cut(&mut model, "[[crack]]\nline = [[5, 3], [8, 3]]").err().unwrap();
    assert!(error.contains("the crack reaches a periodic side at node 36"), "{error}");
    cut(&mut model, "[[crack]]\nline = [[3, 3], [7, 3]]").unwrap();
}

#[test]
fn a_coarse_mesh_and_a_crack_beyond_the_mesh_are_warned_of() {
    let mut model = grid(ElementKind::Cpe4, [8, 6, 0], 0.0);
    let remarks = cut(&mut model, "[[crack]]\nline = [[5, 3], [12, 3]]").unwrap();
    assert!(remarks.warnings[0].contains("only 43 % of it is opened"), "{:?}", remarks.warnings);
    let mut model = grid(ElementKind::Cpe4, [8, 6, 0], 0.0);
    let remarks = cut(&mut model, "[[crack]]\nline = [[2, 3], [4, 3]]").unwrap();
    assert!(remarks.warnings[0].contains("the mesh is coarse beside it, 2.0 elements"), "{:?}", remarks.warnings);
}
