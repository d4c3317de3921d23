use std::path::Path;

use pogo_formats::explicit::job::ExplicitJob;
use pogo_formats::job::JobFile as _;
use pogo_formats::mesh::{ElementKind, Mesh};

use super::*;
use crate::conditions::each;

/// A grid of unit squares or cubes; node (i, j, k) has index i + (nx + 1) (j + (ny + 1) k).
fn grid([nx, ny, nz]: [usize; 3]) -> Mesh {
    let node = |i: usize, j: usize, k: usize| ((k * (ny + 1) + j) * (nx + 1) + i) as u32;
    let (mut coordinates, mut connectivity) = (Vec::new(), Vec::new());
    let (kind, dimension) = if nz > 0 { (ElementKind::C3d8, 3) } else { (ElementKind::Cpe4, 2) };
    for k in 0..=nz {
        for j in 0..=ny {
            for i in 0..=nx {
                coordinates.extend(&[i as f64, j as f64, k as f64][..dimension]);
            }
        }
    }
    for k in 0..nz.max(1) {
        for j in 0..ny {
            for i in 0..nx {
                for k in k..=k + usize::from(nz > 0) {
                    connectivity.extend([node(i, j, k), node(i + 1, j, k), node(i + 1, j + 1, k), node(i, j + 1, k)]);
                }
            }
        }
    }
    Mesh::of_kind(kind, coordinates, connectivity)
}

fn apply(mesh: &Mesh, keys: &str) -> Result<(Conditions, Remarks), String> {
    let text = format!("[[transducer]]\nname = 'p'\n{keys}");
    let job = ExplicitJob::parse(&text, "job.toml", Path::new("")).map_err(|error| error.to_string())?;
    let (mut conditions, mut remarks, geometry) = (Conditions::default(), Remarks::default(), Geometry::new(mesh));
    each(&job.transducers, |item, index| transducer(&geometry, &mut conditions, item, index, &mut remarks))
        .map_err(|error| error.to_string())?;
    Ok((conditions, remarks))
}

fn parts(load: &Load) -> (&[u32], &[f64]) {
    let LoadKind::Concentrated { nodes, weights, .. } = &load.kind else { panic!() };
    (nodes, weights)
}

fn close(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len(), "{found:?} {expected:?}");
    for (a, b) in found.iter().zip(expected) {
        assert!((a - b).abs() < 1e-14, "{found:?} {expected:?}");
    }
}

const BURST: &str = "amplitude = { kind = 'hann', frequency = 1, cycles = 3, delay = 0.5 }";

/// Nodes 2 to 6 of a row are four edges: half an edge at the ends.
#[test]
fn one_piece_shares_its_force_by_length_and_receives_the_mean() {
    let mesh = grid([10, 4, 0]);
    let keys = format!("centre = [4, 4]\naperture = 4\ndirection = [0, -2]\nforce = 3\n{BURST}");
    let (conditions, remarks) = apply(&mesh, &keys).unwrap();
    let (load, row) = (&conditions.loads[0], 4 * 11);
    let (nodes, weights) = parts(load);
    assert_eq!((load.name.as_str(), load.magnitude, load.amplitude), ("p", 3.0, Some(0)));
    assert_eq!(nodes, [2, 3, 4, 5, 6].map(|i| row + i));
    close(weights, &[0.125, 0.25, 0.25, 0.25, 0.125]);
    let LoadKind::Concentrated { direction, .. } = load.kind else { panic!() };
    assert_eq!(direction, [0.0, -1.0, 0.0]);
    let history = &conditions.histories[0];
    assert_eq!((history.set.as_str(), history.variables.as_slice()), ("p", &[(NodalQuantity::Displacement, 1)][..]));
    close(&history.weights, &[-0.125, -0.25, -0.25, -0.25, -0.125]);
    assert!(
        remarks.notes[0].ends_with("transducer p has 5 nodes, at most 0.000e0 m from its aperture"),
        "{:?}",
        remarks.notes
    );
}

#[test]
fn apodisation_weighs_nodes_of_one_piece_and_elements_of_an_array() {
    let mesh = grid([10, 4, 0]);
    let base = "centre = [4, 4]\naperture = 4\ndirection = [0, -1]\nforce = 1\napodisation = 'hann'\n";
    let (conditions, _) = apply(&mesh, base).unwrap();
    // cos² of 0, 45 and 90 degrees.
    close(parts(&conditions.loads[0]).1, &[0.0, 0.125, 0.25, 0.125, 0.0]);
    let (conditions, _) = apply(&mesh, &format!("{base}elements = 2\n")).unwrap();
    // Both centres are half-way out. The node between them belongs to the second.
    assert_eq!(conditions.loads.iter().map(|load| load.name.as_str()).collect::<Vec<_>>(), ["p.1", "p.2"]);
    close(&conditions.loads.iter().map(|load| parts(load).1.iter().sum()).collect::<Vec<f64>>(), &[0.25, 0.25]);
    assert_eq!(conditions.loads.iter().map(|load| parts(load).0.len()).collect::<Vec<_>>(), [2, 3]);
    // What an element receives is its mean motion times the apodisation.
    close(&conditions.histories.iter().map(|one| one.weights.iter().sum()).collect::<Vec<f64>>(), &[-0.5, -0.5]);
    let (conditions, _) = apply(&mesh, &format!("{base}elements = 2\nreceive = 'sum'\n")).unwrap();
    assert_eq!(conditions.histories.len(), 1);
    close(&[conditions.histories[0].weights.iter().sum()], &[-0.5]);
}

#[test]
fn delays_follow_focus_and_angle() {
    let mesh = grid([40, 4, 0]);
    let base =
        format!("centre = [20, 4]\naperture = 16\ndirection = [0, -1]\nelements = 4\ngap = 1\nforce = 1\n{BURST}\n");
    let delays = |keys: &str| {
        let (conditions, _) = apply(&mesh, &format!("{base}{keys}")).unwrap();
        let of = |load: &Load| conditions.amplitudes[load.amplitude.unwrap() as usize].delay - 0.5;
        let loads: Vec<usize> = conditions.loads.iter().map(|load| parts(load).0.len()).collect();
        assert_eq!(loads, [3; 4], "elements are 3 wide, with their middle at a node");
        conditions.loads.iter().map(of).collect::<Vec<f64>>()
    };
    // Centres at x = 14, 18, 22 and 26, and a wave speed of 2.
    let steered = delays("steering = 30\nwave_speed = 2");
    close(&steered, &[0.0, 1.0, 2.0, 3.0]);
    close(&delays("steering = -30\nwave_speed = 2"), &[3.0, 2.0, 1.0, 0.0]);
    let focused = delays("focus = [17, 0]\nwave_speed = 2");
    let path = |x: f64| (x - 17.0).hypot(4.0) / 2.0;
    close(&focused, &[14.0, 18.0, 22.0, 26.0].map(|x| path(26.0) - path(x)));
}

#[test]
fn discs_and_rectangles_share_by_area() {
    let mesh = grid([8, 8, 2]);
    let top = |i: u32, j: u32| i + 9 * (j + 9 * 2);
    let base = "centre = [4, 4, 2]\ndirection = [0, 0, -1]\nforce = 1\n";
    let (conditions, _) = apply(&mesh, &format!("{base}aperture = [4, 2]\naxis = [1, 0, 0]\nelements = 2\n")).unwrap();
    let (nodes, weights) = parts(&conditions.loads[0]);
    assert_eq!(nodes, [top(2, 3), top(3, 3), top(2, 4), top(3, 4), top(2, 5), top(3, 5)]);
    // Areas of a rectangle of 4 by 2: a quarter of a face at a corner, halves along the edges, without the middle line.
    close(weights, &[1.0, 2.0, 2.0, 4.0, 1.0, 2.0].map(|part| 0.5 * part / 12.0));
    let (conditions, _) = apply(&mesh, &format!("{base}aperture = 2\n")).unwrap();
    // No face has all four nodes in the disc: equal parts.
    close(parts(&conditions.loads[0]).1, &[0.2; 5]);
    let (conditions, _) = apply(&mesh, &format!("{base}aperture = 2.9\n")).unwrap();
    close(parts(&conditions.loads[0]).1, &[1.0, 2.0, 1.0, 2.0, 4.0, 2.0, 1.0, 2.0, 1.0].map(|part| part / 16.0));
}

#[test]
fn transducers_that_make_no_sense_are_refused() {
    let base = "centre = [4, 4]\naperture = 4\ndirection = [0, -1]\n";
    let cases = [
        ("", "elements = 3\nfocus = [4, 0]\nforce = 1", "`focus` and `steering` need `wave_speed`"),
        ("", "focus = [4, 0]\nwave_speed = 1\nforce = 1", "`focus` and `steering` need two `elements` or more"),
        ("", "elements = 3\nsteering = 10\nwave_speed = 1\nforce = 1", "need an `amplitude` to delay"),
        ("", "wave_speed = 1", "`wave_speed` goes with `focus` or `steering`"),
        ("", "receive = 'none'", "it neither sends nor receives"),
        ("", "axis = [0, 1]", "`axis` must be at right angles"),
        ("", "elements = 9", "no node lies in element 2 of 9"),
        ("", "elements = 2\ngap = 2", "`gap` must be less than the pitch"),
        ("centre = [4, 4]\naperture = [4, 2]\ndirection = [0, -1]\n", "", "in a 2D mesh `aperture` is one length"),
        ("centre = [4, 14]\naperture = 2\ndirection = [0, -1]\n", "", "no node lies along the aperture"),
        ("centre = [4, 4]\naperture = 2\ndirection = [0, 0]\n", "", "`direction` has no length"),
        ("centre = [4, 4, 1]\naperture = 2\ndirection = [0, 1]\n", "", "`centre`"),
    ];
    for (other, keys, message) in cases {
        let base = if other.is_empty() { base } else { other };
        let error = apply(&grid([10, 4, 0]), &format!("{base}{keys}")).err().unwrap_or_default();
        assert!(error.starts_with("job.toml:1: error: ") && error.contains(message), "{keys}: {error}");
    }
    let base = "centre = [4, 4, 2]\ndirection = [0, 0, -1]\n";
    for (keys, message) in [
        ("aperture = 2\nelements = 2", "an array needs a rectangular `aperture`"),
        ("aperture = [2, 2]", "a rectangular aperture needs its `axis`"),
        ("aperture = 2\ncentre = [4, 4, 1.5]", "duplicate key"),
    ] {
        let error = apply(&grid([8, 8, 2]), &format!("{base}{keys}")).err().unwrap_or_default();
        assert!(error.contains(message), "{keys}: {error}");
    }
}
