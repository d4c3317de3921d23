use std::path::Path;

use pogo_formats::eikonal::job::{Applied, EikonalJob};
use pogo_formats::eikonal::metrics;
use pogo_formats::eikonal::setup::StartRegion;
use pogo_formats::job::JobFile as _;
use pogo_formats::mesh::NamedSet;
use pogo_formats::read::mesh::MeshFile;
use proptest::prelude::*;

use super::*;
use crate::prepare::options::DomainMethod;

/// n³ cubes of six tetrahedra each, their edge 1.
pub(crate) fn cubes(n: u32) -> MeshFile {
    let side = n + 1;
    let node = |i: u32, j: u32, k: u32| i + side * (j + side * k);
    let mut mesh = MeshFile { file: "cubes.vtu".into(), corners: 4, ..MeshFile::default() };
    for at in 0..side.pow(3) {
        mesh.coordinates.extend([at % side, at / side % side, at / side / side].map(f64::from));
    }
    for at in 0..n.pow(3) {
        let [i, j, k] = [at % n, at / n % n, at / n / n];
        for axes in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let mut corner = [i, j, k];
            mesh.elements.push(node(corner[0], corner[1], corner[2]));
            for axis in axes {
                corner[axis] += 1;
                mesh.elements.push(node(corner[0], corner[1], corner[2]));
            }
        }
    }
    mesh.node_labels = (1..=side.pow(3)).collect();
    mesh.element_labels = (1..=6 * n.pow(3)).collect();
    mesh.element_sets = vec![NamedSet { name: "half".into(), members: (0..3 * n.pow(3)).collect() }];
    mesh.node_sets = vec![NamedSet { name: "first".into(), members: vec![0, 1] }];
    mesh
}

fn apply(mesh: &mut MeshFile, text: &str) -> Applied {
    EikonalJob::parse(text, "j.toml", Path::new(".")).unwrap().apply(mesh).unwrap()
}

const JOB: &str = "[[velocity]]\nspeed = 1\n[[velocity]]\nelset = 'half'\nspeed = 2\n[[start]]\nnodes = [8, 3]\n[[start]]\nnset = 'first'\n";

const METHODS: [DomainMethod; 4] =
    [DomainMethod::Morton, DomainMethod::Aligned, DomainMethod::Greedy, DomainMethod::Metis];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whatever the cut, every node and element is there once with what belongs to it, and nodes of a sub-domain are together.
    #[test]
    fn arranging_loses_nothing(n in 1_u32..5, parts in 1_usize..9, method in 0_usize..4) {
        let mut file = cubes(n);
        let applied = apply(&mut file, JOB);
        let method = METHODS[method];
        let parts = parts.min(file.n_nodes());
        let arranged = arrange(file.clone(), applied.clone(), method, parts).unwrap();
        let (mesh, domains) = (arranged.mesh.view(), arranged.domains.view());
        if matches!(method, DomainMethod::Morton | DomainMethod::Metis) {
            prop_assert_eq!(domains.n_domains(), parts);
        } else {
            // No larger than their share.
            let most = file.n_nodes().div_ceil(parts);
            prop_assert!((0..domains.n_domains()).all(|domain| domains.n_own(domain) <= most));
        }
        let mut seen = vec![0; file.n_nodes()];
        for node in 0..mesh.n_nodes() {
            let old = mesh.original_node[node];
            seen[old as usize] += 1;
            prop_assert_eq!(mesh.point(node), file.point(old));
            prop_assert_eq!(mesh.node_labels[node], old + 1);
        }
        prop_assert!(seen.iter().all(|&times| times == 1));
        let mut seen = vec![0; file.n_elements()];
        let turned = |element: usize| file.elements[4 * element..4 * element + 4].to_vec();
        for element in 0..mesh.n_elements() {
            let old = mesh.original_element[element] as usize;
            seen[old] += 1;
            prop_assert_eq!(mesh.class[element], applied.class[old]);
            let mut nodes: Vec<u32> = mesh.nodes(element).iter().map(|&node| mesh.original_node[node as usize]).collect();
            let mut expected = turned(old);
            nodes.sort_unstable();
            expected.sort_unstable();
            prop_assert_eq!(nodes, expected);
        }
        prop_assert!(seen.iter().all(|&times| times == 1));
        // Every neighbour of an own node is own or in the halo, at the place that the owner's list says.
        for domain in 0..domains.n_domains() {
            for message in domains.sent(domain) {
                let halo = domains.halo_of(message.reader as usize);
                prop_assert_eq!(&halo[message.halo_first..][..message.items.len()], message.items);
                let own = domains.span(domain);
                prop_assert!(message.items.iter().all(|&node| own.contains(&(node as usize))));
            }
        }
        let sent: usize = (0..domains.n_messages()).map(|message| domains.message(message).items.len()).sum();
        prop_assert_eq!(sent, domains.halo.len());
        let StartRegion::Nodes(starts) = &arranged.setup.starts[0].region else { panic!() };
        let mut labels: Vec<u32> = starts.iter().map(|&node| mesh.node_labels[node as usize]).collect();
        labels.sort_unstable();
        prop_assert_eq!(labels, vec![3, 8]);
        let again = arrange(file, applied, method, parts).unwrap();
        prop_assert_eq!(again, arranged);
    }
}

/// The faces of a cube, which have no rim, and a sheet, which has: every method cuts surfaces too, into about as many sub-domains as asked for.
#[test]
fn surfaces_are_cut_by_every_method() {
    let n = 12_u32;
    let side = n + 1;
    let mut closed = MeshFile { file: "cube.vtu".into(), corners: 3, ..MeshFile::default() };
    let mut index = std::collections::HashMap::new();
    for (face, (i, j)) in (0..6).flat_map(|face| (0..n * n).map(move |at| (face, (at % n, at / n)))) {
        let mut node = |i: u32, j: u32| {
            let mut x = [i, j, if face % 2 == 0 { 0 } else { n }];
            x.rotate_right(face / 2);
            let new = index.len() as u32;
            *index.entry(x).or_insert_with(|| {
                closed.coordinates.extend(x.map(f64::from));
                new
            })
        };
        let corners = [node(i, j), node(i + 1, j), node(i + 1, j + 1), node(i, j + 1)];
        closed.elements.extend([0, 1, 2, 0, 2, 3].map(|k| corners[k]));
    }
    let mut sheet = MeshFile { file: "sheet.vtu".into(), corners: 3, plane: true, ..MeshFile::default() };
    for at in 0..side * side {
        sheet.coordinates.extend([at % side, at / side, 0].map(f64::from));
    }
    for at in 0..n * n {
        let corner = at % n + side * (at / n);
        sheet.elements.extend([corner, corner + 1, corner + side, corner + 1, corner + side + 1, corner + side]);
    }
    for mut file in [closed, sheet] {
        let nodes = (file.coordinates.len() / 3) as u32;
        (file.node_labels, file.element_labels) = ((0..nodes).collect(), (0..file.elements.len() as u32 / 3).collect());
        let applied = apply(&mut file, "[[velocity]]\nspeed = 1\n[[start]]\nnode = 0\n");
        for method in METHODS {
            let arranged = arrange(file.clone(), applied.clone(), method, 9).unwrap();
            let domains = arranged.domains.view();
            assert!((9..=14).contains(&domains.n_domains()), "{method:?}: {}", domains.n_domains());
            assert_eq!(
                domains.n_domains() != 9,
                arranged.notes.iter().any(|note| note.contains("sub-domains of at most"))
            );
            // Sub-domains are patches, not dust.
            assert!(domains.halo.len() < 2 * nodes as usize, "{method:?}: {}", domains.halo.len());
        }
    }
}

#[test]
fn flat_elements_are_named_and_inverted_ones_turned() {
    let mut file = cubes(1);
    let job = apply(&mut file, "[[velocity]]\nspeed = 1\n[[start]]\nnode = 1\n");
    let arranged = arrange(file.clone(), job.clone(), DomainMethod::Morton, 1).unwrap();
    assert!(arranged.notes[0].contains("turned back in 3 elements"), "{:?}", arranged.notes);
    file.elements[7] = file.elements[6];
    file.element_lines = (10..16).collect();
    let error = arrange(file.clone(), job.clone(), DomainMethod::Morton, 1).unwrap_err();
    assert_eq!(error.place(), Some(Path::new("cubes.vtu:11")));
    assert!(error.to_string().starts_with("1 of 6 elements have no volume: 2"), "{error}");
    let error = arrange(cubes(1), job, DomainMethod::Morton, 9).unwrap_err().to_string();
    assert!(error.contains("--domains 9") && error.contains("8 nodes"), "{error}");
}

#[test]
fn what_a_scar_keeps_the_wave_from_is_counted() {
    let mut file = cubes(2);
    file.coordinates.extend([9.0, 9.0, 9.0]);
    file.node_labels.push(28);
    let job = apply(
        &mut file,
        "[[velocity]]\nspeed = 1\n[[velocity]]\nelset = 'half'\nspeed = 0\n[[start]]\nnode = 27\n[[start]]\nnode = 1\n",
    );
    let arranged = arrange(file, job, DomainMethod::Morton, 2).unwrap();
    assert!(arranged.notes.iter().any(|note| note.contains("1 of 28 nodes belong to no element, node 28 first")));
    let view = arranged.mesh.view();
    let metrics = metrics(&view, &arranged.setup.classes).unwrap();
    let found = reach(&view, &metrics, &arranged.setup.starts[..1]).unwrap();
    assert_eq!((found.unreached, found.first), (9, Some(1)));
    let (index, message) = reach(&view, &metrics, &arranged.setup.starts).unwrap_err();
    assert!(index == 1 && message.contains("every element round node 1 is blocked"), "{message}");
}

#[test]
fn elements_that_are_there_twice_are_found() {
    let mut file = cubes(2);
    let job = apply(&mut file, "[[velocity]]\nspeed = 1\n[[start]]\nnode = 1\n");
    let arranged = arrange(file.clone(), job, DomainMethod::Morton, 1).unwrap();
    assert!(twins(&arranged.mesh.view()).is_empty());
    // The third element again, its nodes in another order.
    let again = [file.elements[9], file.elements[8], file.elements[10], file.elements[11]];
    file.elements.extend(again);
    file.element_labels.push(999);
    let job = apply(&mut file, "[[velocity]]\nspeed = 1\n[[start]]\nnode = 1\n");
    let arranged = arrange(file, job, DomainMethod::Morton, 1).unwrap();
    let twins = twins(&arranged.mesh.view());
    assert_eq!(twins.len(), 1);
    assert_eq!(arranged.mesh.element_labels[twins[0]], 999);
}
