//! Several ranks compute what one process does, to the bit.

use std::sync::Arc;

use super::*;
use crate::ranks::{Late, Ranks, Serves, Threads};

/// Solves with a rank for each sub-domain: `domain` is that of each node.
fn by_ranks<T: Real + 'static>(
    problem: &EikonalProblem,
    settings: &EikonalSettings,
    domain: &[u32],
    n_ranks: usize,
    sets: &[Vec<(u32, f64)>],
) -> Vec<Arrival<T>> {
    let first: Vec<u32> = (0..=domain.len() as u32).collect();
    let domains = cut(&problem.mesh, &first, domain, n_ranks);
    let view = domains.view();
    std::thread::scope(|scope| {
        let of_rank = |ranks: Threads| {
            let ranks: Arc<dyn Ranks> = Arc::new(Late::new(ranks));
            scope.spawn(move || {
                let n_threads = 1 + ranks.rank() % 2;
                let part = EikonalPart::<T>::new(problem, settings, &view, &ranks, n_threads).unwrap();
                if !ranks.leads() {
                    part.serve(&*ranks);
                    return Vec::new();
                }
                let team = TeamSolver::new(problem, &view, &ranks, part);
                assert_eq!(team.solve(&[]), Err(EikonalError::NoStart));
                sets.iter().map(|starts| team.solve(starts).unwrap()).collect()
            })
        };
        let threads: Vec<_> = Threads::new(n_ranks).into_iter().map(of_rank).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    })
}

/// The sub-domain of a node, of so many, for so many ranks.
type Rule = fn(usize, usize, usize) -> usize;

/// For 1 to 4 ranks, and for several cuts of the mesh: the arrivals of one process.
fn check_ranks<T: Real + 'static>(problem: &EikonalProblem, settings: &EikonalSettings, sets: &[Vec<(u32, f64)>]) {
    let n = problem.mesh.n_nodes();
    let solver = EikonalSolver::<T>::new(problem, settings).unwrap();
    let without_seconds = |mut arrival: Arrival<T>| {
        arrival.statistics.seconds = 0.0;
        arrival
    };
    let expected: Vec<_> = sets.iter().map(|starts| without_seconds(solver.solve(starts).unwrap())).collect();
    let rules: [(&str, Rule); 4] = [
        ("consecutive", |node, n, ranks| node * ranks / n),
        ("in turn", |node, _, ranks| node % ranks),
        ("pieces that do not touch", |node, _, ranks| node / 37 % ranks),
        ("all but a node for the last", |node, _, ranks| if node < ranks { node } else { ranks - 1 }),
    ];
    for ranks in 1..=4 {
        for (name, rule) in rules {
            let domain: Vec<u32> = (0..n).map(|node| rule(node, n, ranks) as u32).collect();
            let found = by_ranks::<T>(problem, settings, &domain, ranks, sets);
            for (found, expected) in found.into_iter().map(without_seconds).zip(&expected) {
                assert!(found.time.iter().zip(&expected.time).all(|(a, b)| a == b), "{ranks} ranks, {name}");
                assert_eq!((found.unreached, &found.statistics), (expected.unreached, &expected.statistics));
            }
        }
    }
}

#[test]
fn ranks_give_the_bits_of_one_process() {
    let (mesh, mut metrics) = patchwork(9);
    // A wall with holes.
    (0..metrics.len()).filter(|e| e % 7 == 3).for_each(|e| metrics[e] = BLOCKED);
    let n = mesh.original_node.len();
    let node_first: Vec<u32> = (0..=11).map(|d| (d * n / 11) as u32).collect();
    let domains = sub_domains("morton", &node_first, &mesh);
    let problem = EikonalProblem { domains: Some(domains.view()), ..problem(&mesh, &metrics) };
    let sets = [vec![(3, 0.4), (n as u32 - 1, 0.1), (500, 0.1)], exact_ball(&problem, &[(77, -2.0)], 0.3)];
    for local_solver in VARIANTS {
        check_ranks::<f32>(&problem, &EikonalSettings { local_solver, ..Default::default() }, &sets);
    }
    check_ranks::<f64>(&problem, &EikonalSettings::default(), &sets);
    let other = EikonalSettings { tolerance: 1e-3, window: f64::INFINITY, ..Default::default() };
    check_ranks::<f64>(&problem, &other, &sets);
}

#[test]
fn ranks_give_the_bits_of_one_process_on_a_surface() {
    let mesh = surface(14, 0.3, |x, y| [x.cos(), x.sin(), y + 0.2 * x * x]);
    let metric = [tensors([4.0, 2.0, 0.7]).1];
    let problem = problem(&mesh, &metric);
    let sets = [vec![(0, 0.0)], vec![(100, 0.5), (7, 0.25)]];
    check_ranks::<f32>(&problem, &EikonalSettings::default(), &sets);
    check_ranks::<f64>(&problem, &EikonalSettings { window: 0.0, ..Default::default() }, &sets);
}

/// Two sub-domains that have one node in common.
#[test]
fn parts_that_touch_at_one_node() {
    let mut mesh = EikonalMesh {
        corners: 3,
        coordinates: [[0.0, 0.0], [0.0, 1.0], [1.0, 0.5], [2.0, 0.0], [2.0, 1.0], [5.0, 5.0]]
            .iter()
            .flat_map(|&[x, y]| [x, y, 0.0])
            .collect(),
        elements: vec![0, 2, 1, 2, 3, 4],
        original_node: (0..6).collect(),
        original_element: vec![0, 1],
        class: vec![0, 0],
        ..Default::default()
    };
    mesh.connect(6);
    let metric = [[1.0, 1.0, 1.0, 0.0, 0.0, 0.0]];
    check_ranks::<f64>(&problem(&mesh, &metric), &EikonalSettings::default(), &[vec![(1, 0.0)]]);
}

/// A later time at a corner may give an earlier one behind it, by rounding. So the last bits may depend on the order of local
/// solves, and ranks make those of one process.
#[test]
fn local_solves_are_not_monotone_in_the_last_bit() {
    let noise = |i: u64| 0.5 + 0.5 * crate::test_meshes::noise(i);
    let falls = |i: &u64| {
        let x: [[f64; 2]; 3] = std::array::from_fn(|k| [noise(8 * i + 2 * k as u64), noise(8 * i + 2 * k as u64 + 1)]);
        let square = |k: usize, l: usize| (x[k][0] - x[l][0]).powi(2) + (x[k][1] - x[l][1]).powi(2);
        let squares = [square(0, 1), square(0, 2), square(1, 2)];
        let phi = [noise(8 * i + 6), noise(8 * i + 6) + 0.3 * noise(8 * i + 7) * squares[0].sqrt()];
        let time = |phi| local::triangle::<f64, Portable>(phi, squares).0;
        time([phi[0].next_up(), phi[1]]) < time(phi)
    };
    assert!((0..20_000).filter(falls).count() > 0);
}
