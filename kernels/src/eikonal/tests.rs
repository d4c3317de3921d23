//! Plane waves, point sources, references, and what must not change the result.

use proptest::prelude::*;

use super::*;
use crate::simd::Portable;
use crate::test_meshes::{cube, dot, nearest, ordered, surface, tensors};
use pogo_formats::eikonal::{EikonalMesh, sub_domains};

pub(crate) mod gpu;
mod references;
mod team;

pub(crate) fn problem<'a>(mesh: &'a EikonalMesh, metric: &'a [[f64; 6]]) -> EikonalProblem<'a> {
    let metrics = if metric.len() == mesh.original_element.len() {
        Metrics::Each(metric)
    } else {
        Metrics::Classes { class: &mesh.class, metric }
    };
    EikonalProblem { mesh: mesh.view(), domains: None, metrics }
}

pub(crate) const VARIANTS: [LocalSolver; 3] = [LocalSolver::Six, LocalSolver::Eighteen, LocalSolver::OnTheFly];

/// Distances √(dᵀ M d) from a node.
fn distances(mesh: &EikonalMesh, metric: &[f64; 6], from: u32) -> Vec<f64> {
    let view = mesh.view();
    let source = view.point(from as usize);
    (0..view.n_nodes())
        .map(|node| {
            let x = view.point(node);
            let d = std::array::from_fn(|c| x[c] - source[c]);
            dot(metric, d, d).sqrt()
        })
        .collect()
}

pub(crate) fn worst<T: Real>(a: &[T], b: &[T]) -> f64 {
    let apart = |(a, b): (&T, &T)| if a.to_f64() == b.to_f64() { 0.0 } else { (a.to_f64() - b.to_f64()).abs() };
    a.iter().zip(b).map(apart).fold(0.0, f64::max)
}

/// With exact times on the faces where it comes in, a plane wave is exact everywhere, through elements of any shape: here a cube of
/// tetrahedra that are obtuse, more so in the metric.
#[test]
fn plane_waves_are_exact() {
    for (speeds, jitter, direction) in [
        ([1.0, 1.0, 1.0], 0.0, [1.0, 0.0, 0.0]),
        ([3.0, 2.0, 1.0], 0.25, [0.3, -0.5, 0.8]),
        ([10.0, 1.0, 1.0], 0.25, [-0.1, 1.0, 0.2]),
        ([5.0, 1.0, 0.3], 0.3, [0.7, 0.7, -0.1]),
    ] {
        let (d, metric) = tensors(speeds);
        let mesh = cube(9, jitter);
        let norm = dot(&d, direction, direction).sqrt();
        let slowness = direction.map(|x| x / norm);
        let unit = |i: usize| std::array::from_fn(|c| f64::from(u8::from(c == i)));
        // D s: where the wave goes.
        let ray: [f64; 3] = std::array::from_fn(|i| dot(&d, unit(i), slowness));
        let exact: Vec<f64> =
            mesh.coordinates.as_chunks::<3>().0.iter().map(|x| (0..3).map(|c| x[c] * slowness[c]).sum()).collect();
        let starts: Vec<(u32, f64)> = mesh
            .coordinates
            .as_chunks::<3>()
            .0
            .iter()
            .enumerate()
            .filter(|(_, x)| (0..3).any(|c| (x[c] == 0.0 && ray[c] > 0.0) || (x[c] == 1.0 && ray[c] < 0.0)))
            .map(|(node, _)| (node as u32, exact[node]))
            .collect();
        for local_solver in VARIANTS {
            let settings = EikonalSettings { local_solver, ..Default::default() };
            let arrival = solve::<f64>(&problem(&mesh, &[metric]), &starts, &settings).unwrap();
            assert!(worst(&arrival.time, &exact) < 1e-12, "{speeds:?}: {:e}", worst(&arrival.time, &exact));
            let single = solve::<f32>(&problem(&mesh, &[metric]), &starts, &settings).unwrap();
            assert!(worst(&single.time, &exact.iter().map(|&t| t as f32).collect::<Vec<_>>()) < 1e-5);
        }
    }
}

#[test]
fn plane_waves_are_exact_in_the_plane_and_on_a_surface() {
    // And on a cylinder along its axis, which all triangles of an even mesh contain.
    for (map, jitter, metric, along) in [
        ((|x, y| [x, y, 0.0]) as fn(f64, f64) -> [f64; 3], 0.3, tensors([4.0, 2.0, 0.7]).1, None),
        (|x, y| [x.cos(), x.sin(), 2.0 * y], 0.0, [0.25, 0.25, 0.25, 0.0, 0.0, 0.0], Some(2)),
    ] {
        let mesh = surface(17, jitter, map);
        // In the plane z = 0 a wave whose slowness solves sᵀ D s = 1, D the inverse of the plane part of M.
        let slowness = if let Some(axis) = along {
            std::array::from_fn(|c| if c == axis { 0.5 } else { 0.0 })
        } else {
            let det = metric[0] * metric[1] - metric[3] * metric[3];
            let d = [metric[1] / det, metric[0] / det, 0.0, -metric[3] / det, 0.0, 0.0];
            let direction = [0.4, 0.9, 0.0];
            let norm = dot(&d, direction, direction).sqrt();
            direction.map(|x| x / norm)
        };
        let view = mesh.view();
        let exact: Vec<f64> =
            (0..view.n_nodes()).map(|node| (0..3).map(|c| view.point(node)[c] * slowness[c]).sum()).collect();
        // All of the rim.
        let rim = (0..view.n_nodes()).filter(|&node| view.neighbours_of(node).len() > view.round(node).len());
        let starts: Vec<(u32, f64)> = rim.map(|node| (node as u32, exact[node])).collect();
        assert_eq!(starts.len(), 4 * 17);
        let arrival = solve::<f64>(&problem(&mesh, &[metric]), &starts, &EikonalSettings::default()).unwrap();
        assert!(worst(&arrival.time, &exact) < 1e-12, "{:e}", worst(&arrival.time, &exact));
    }
}

/// Root of the mean square error against √(dᵀ M d), for cells of 1 / n.
fn point_error(n: usize, radius: f64) -> f64 {
    let (_, metric) = tensors([2.0, 1.5, 1.0]);
    let mesh = cube(n, 0.2);
    let start = nearest(&mesh, [0.5, 0.5, 0.5]);
    let metric = [metric];
    let problem = problem(&mesh, &metric);
    let starts = if radius > 0.0 { exact_ball(&problem, &[(start, 0.0)], radius) } else { vec![(start, 0.0)] };
    let arrival = solve::<f64>(&problem, &starts, &EikonalSettings::default()).unwrap();
    let exact = distances(&mesh, &metric[0], start);
    // Times between elements' nodes are linear: never below the distance.
    assert!(arrival.time.iter().zip(&exact).all(|(t, d)| *t > d - 1e-12));
    (arrival.time.iter().zip(&exact).map(|(t, d)| (t - d).powi(2)).sum::<f64>() / exact.len() as f64).sqrt()
}

#[test]
fn point_sources_converge_and_an_exact_ball_makes_it_first_order() {
    let order = |radius| (point_error(8, radius) / point_error(24, radius)).ln() / 3.0_f64.ln();
    let (plain, ball) = (order(0.0), order(0.2));
    assert!((0.55..0.95).contains(&plain), "{plain}");
    assert!((0.9..1.4).contains(&ball), "{ball}");
    assert!(point_error(24, 0.2) < 0.5 * point_error(24, 0.0));
}

/// A cube with a metric of its own in every element.
pub(crate) fn patchwork(n: usize) -> (EikonalMesh, Vec<[f64; 6]>) {
    let mesh = cube(n, 0.25);
    let metrics = (0..mesh.original_element.len())
        .map(|e| {
            let noise = |i: u64| crate::test_meshes::noise(7 * mesh.original_element[e] as u64 + i);
            tensors([2.0 + noise(0), 1.5 + noise(1), 1.2 + noise(2)]).1
        })
        .collect();
    (mesh, metrics)
}

/// Where forms of the solver are compared: a cube of many tensors, the same with a wall, and a bent sheet.
pub(crate) struct Trial {
    pub name: &'static str,
    pub mesh: EikonalMesh,
    pub metrics: Vec<[f64; 6]>,
    pub starts: [(u32, f64); 2],
}

impl Trial {
    /// With so many cells along the edges of the cube and of the sheet. The wall is in the middle, of some half width.
    pub fn all(cube: usize, sheet: usize, wall: f64) -> [Self; 3] {
        let of = |name, mesh: EikonalMesh, metrics| {
            let starts = [(5, 1.0), (mesh.original_node.len() as u32 / 3, 1.3)];
            Self { name, mesh, metrics, starts }
        };
        let ((open, metrics), (walled, mut blocked)) = (patchwork(cube), patchwork(cube));
        let view = walled.view();
        for (e, metric) in blocked.iter_mut().enumerate() {
            if view.nodes(e).iter().all(|&node| (view.point(node as usize)[0] - 0.5).abs() < wall) {
                *metric = BLOCKED;
            }
        }
        let sheet = surface(sheet, 0.25, |x, y| [x.cos(), x.sin(), y]);
        [
            of("cube", open, metrics),
            of("cube with a wall", walled, blocked),
            of("sheet", sheet, vec![tensors([3.0, 2.0, 1.0]).1]),
        ]
    }
}

/// The plain form of the method: every node from every element until nothing changes.
fn until_nothing_changes(mesh: &EikonalMesh, metrics: &[[f64; 6]], starts: &[(u32, f64)]) -> Vec<f64> {
    let view = mesh.view();
    let mut time = vec![f64::INFINITY; view.n_nodes()];
    starts.iter().for_each(|&(node, t)| time[node as usize] = t);
    loop {
        let mut changed = false;
        for e in 0..view.n_elements() {
            let l: [f64; 6] = squares(&view, &Metrics::Each(metrics), e);
            for k in 0..4 {
                let [a, b, c] = local::others(k);
                let phi = [a, b, c].map(|corner| time[view.nodes(e)[corner] as usize]);
                let numbers =
                    [(a, c), (b, c), (a, b), (a, k), (b, k), (c, k)].map(|(from, to)| l[local::edge(from, to)]);
                let (t, _) = local::tetrahedron::<f64, Portable>(phi, local::Reference::from_squares(numbers));
                let here = &mut time[view.nodes(e)[k] as usize];
                if t < *here {
                    changed |= t < *here * (1.0 - 1e-14);
                    *here = t;
                }
            }
        }
        if !changed {
            return time;
        }
    }
}

#[test]
fn is_what_the_plain_method_gives() {
    let (mesh, metrics) = patchwork(6);
    let starts = [(3, 0.4), (200, 0.1), (300, 0.25)];
    let expected = until_nothing_changes(&mesh, &metrics, &starts);
    for local_solver in VARIANTS {
        for window in [0.0, 0.3, 1.0, f64::INFINITY] {
            let settings = EikonalSettings { local_solver, window, ..Default::default() };
            let arrival = solve::<f64>(&problem(&mesh, &metrics), &starts, &settings).unwrap();
            assert!(worst(&arrival.time, &expected) < 1e-12, "{:e}", worst(&arrival.time, &expected));
            assert_eq!(arrival.unreached, 0);
            let single = solve::<f32>(&problem(&mesh, &metrics), &starts, &settings).unwrap();
            assert!(worst(&single.time, &expected.iter().map(|&t| t as f32).collect::<Vec<_>>()) < 3e-6);
        }
    }
}

#[test]
fn same_bits_for_every_number_of_threads_and_domains() {
    let (mesh, metrics) = patchwork(17);
    let n = mesh.original_node.len();
    let starts = [(5, 0.0), (4000, 0.2)];
    let mut first: Option<Vec<f32>> = None;
    for n_domains in [1, 74, 2700] {
        let node_first: Vec<u32> = (0..=n_domains).map(|d| (d * n / n_domains) as u32).collect();
        let domains = sub_domains("morton", &node_first, &mesh);
        let problem = EikonalProblem { domains: Some(domains.view()), ..problem(&mesh, &metrics) };
        for threads in [1, 2, 5] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let solver = EikonalSolver::<f32>::new(&problem, &EikonalSettings::default()).unwrap();
            let arrival = pool.install(|| solver.solve(&starts)).unwrap();
            let statistics = &arrival.statistics;
            assert_eq!(statistics.active_domains.len(), statistics.sweeps as usize);
            assert_eq!(statistics.active_domains.iter().sum::<u32>(), statistics.active_sweeps.iter().sum::<u32>());
            if n_domains == 74 {
                assert!(statistics.active_domains.iter().all(|&active| (1..74).contains(&active)));
            }
            assert_eq!(first.get_or_insert_with(|| arrival.time.clone()), &arrival.time);
        }
    }
}

#[test]
fn many_sets_of_starts_are_each_solved() {
    let (mesh, metrics) = patchwork(8);
    let problem = problem(&mesh, &metrics);
    let solver = EikonalSolver::<f64>::new(&problem, &EikonalSettings::default()).unwrap();
    let sets: Vec<Vec<(u32, f64)>> = (0..20).map(|case| vec![(30 * case, 0.1), (case, 0.2)]).collect();
    let found = std::sync::Mutex::new(vec![None; sets.len()]);
    let take = in_turn(sets.len(), 3);
    solver.solve_many(&sets, take, |case, arrival| found.lock().unwrap()[case] = Some(arrival.time)).unwrap();
    for (starts, found) in sets.iter().zip(found.into_inner().unwrap()) {
        assert_eq!(found.unwrap(), solver.solve(starts).unwrap().time);
    }
}

/// A wall with a hole: the wave goes through the hole, and what is shut off is never reached.
#[test]
fn blocked_elements_stop_the_wave() {
    let n = 16;
    let mesh = surface(n, 0.0, |x, y| [x, y, 0.0]);
    let view = mesh.view();
    let plain = [1.0, 1.0, 1.0, 0.0, 0.0, 0.0];
    let centre = |e: usize| -> [f64; 2] {
        std::array::from_fn(|c| view.nodes(e).iter().map(|&node| view.point(node as usize)[c]).sum::<f64>() / 3.0)
    };
    let wall = |hole: f64| -> Vec<[f64; 6]> {
        (0..view.n_elements())
            .map(|e| {
                let [x, y] = centre(e);
                if (x - 0.5).abs() < 1.0 / n as f64 && y > hole { BLOCKED } else { plain }
            })
            .collect()
    };
    let (start, end) = (nearest(&mesh, [0.0, 1.0, 0.0]), nearest(&mesh, [1.0, 1.0, 0.0]));
    let settings = EikonalSettings::default();
    let open = solve::<f64>(&problem(&mesh, &wall(0.25)), &[(start, 1.0)], &settings).unwrap();
    // Down to the lower end of the wall, along below it, and up.
    let h = 1.0 / n as f64;
    let exact = 2.0 * ((0.5 - h).powi(2) + 0.75_f64.powi(2)).sqrt() + 2.0 * h;
    let found = open.time[end as usize] - 1.0;
    assert!(found > exact - 1e-12 && found < 1.1 * exact, "{found}, {exact}");
    // Nodes inside the wall have blocked elements alone.
    assert_eq!(open.unreached, 12);
    let shut = solve::<f64>(&problem(&mesh, &wall(-1.0)), &[(start, 1.0)], &settings).unwrap();
    assert_eq!(shut.time[end as usize], f64::INFINITY);
    assert_eq!(shut.unreached, 9 * 17);
}

#[test]
fn paths_lead_back_to_a_start() {
    let (mesh, metrics) = patchwork(8);
    let problem = problem(&mesh, &metrics);
    let view = mesh.view();
    let starts = [(17, 0.1), (600, 0.0)];
    let arrival = solve::<f64>(&problem, &starts, &EikonalSettings::default()).unwrap();
    let from = predecessors(&problem, &starts, &arrival.time);
    for node in 0..view.n_nodes() {
        if starts.iter().any(|start| start.0 == node as u32) {
            assert_eq!(from[node], Predecessor::NONE);
            continue;
        }
        let nodes = view.nodes(from[node].element as usize);
        let sum: f32 = from[node].weight.iter().sum();
        assert!((sum - 1.0).abs() < 1e-5 && from[node].weight.iter().all(|&w| w >= -1e-6));
        // The path from the entry has the remaining time.
        let mut point = view.point(node);
        let mut entry = 0.0;
        for k in 0..4 {
            let w = f64::from(from[node].weight[k]);
            assert!(w == 0.0 || nodes[k] as usize != node);
            entry += if w > 0.0 { w * arrival.time[nodes[k] as usize] } else { 0.0 };
            (0..3).for_each(|c| point[c] -= w * view.point(nodes[k] as usize)[c]);
        }
        let travel = dot(&metrics[from[node].element as usize], point, point).sqrt();
        assert!((entry + travel - arrival.time[node]).abs() < 1e-5);
        assert!(entry < arrival.time[node]);
    }
    // In f32 the same nodes are starts.
    let single = solve::<f32>(&problem, &starts, &EikonalSettings::default()).unwrap();
    let none = predecessors(&problem, &starts, &single.time).iter().filter(|p| p.element == u32::MAX).count();
    assert_eq!(none, 2);
}

#[test]
fn speed_is_that_of_the_tensor() {
    let mesh = cube(12, 0.2);
    let metric = [[0.25, 0.25, 0.25, 0.0, 0.0, 0.0]];
    let problem = problem(&mesh, &metric);
    let exact = distances(&mesh, &metric[0], 0);
    let speed = |e: usize| conduction_speed(&problem, &exact, e);
    let far =
        (0..mesh.view().n_elements()).filter(|&e| mesh.view().nodes(e).iter().all(|&node| exact[node as usize] > 0.3));
    far.for_each(|e| assert!((speed(e) - 2.0).abs() < 0.15, "{}", speed(e)));
    let sheet = surface(12, 0.0, |x, y| [x.cos(), x.sin(), y]);
    let time: Vec<f64> = (0..sheet.original_node.len()).map(|node| sheet.view().point(node)[2] / 3.0).collect();
    let metric = [[1.0 / 9.0, 1.0 / 9.0, 1.0 / 9.0, 0.0, 0.0, 0.0]];
    let problem = self::problem(&sheet, &metric);
    assert!((0..problem.mesh.n_elements()).all(|e| (conduction_speed(&problem, &time, e) - 3.0).abs() < 1e-5));
}

#[test]
fn bad_problems_are_refused() {
    let mesh = cube(2, 0.0);
    let metric = [[1.0, 1.0, 1.0, 0.0, 0.0, 0.0]];
    let good = problem(&mesh, &metric);
    let settings = EikonalSettings::default();
    assert_eq!(solve::<f64>(&good, &[], &settings), Err(EikonalError::NoStart));
    assert_eq!(solve::<f64>(&good, &[(27, 0.0)], &settings), Err(EikonalError::StartNode { node: 27, n_nodes: 27 }));
    assert!(matches!(solve::<f64>(&good, &[(0, f64::NAN)], &settings), Err(EikonalError::StartTime { .. })));
    let short = EikonalProblem { metrics: Metrics::Each(&metric), ..good };
    assert!(matches!(solve::<f64>(&short, &[(0, 0.0)], &settings), Err(EikonalError::Length { found: 1, .. })));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    /// The numbering of nodes, elements and corners does not matter.
    #[test]
    fn numbering_does_not_matter(seed in 0_u64..1000) {
        let (mesh, metrics) = patchwork(4);
        let view = mesh.view();
        let mut order: Vec<u32> = (0..view.n_nodes() as u32).collect();
        order.sort_by_key(|&node| (crate::test_meshes::noise(seed + 1000 * u64::from(node)) * 1e9) as i64);
        let mut place = vec![0; order.len()];
        order.iter().enumerate().for_each(|(new, &old)| place[old as usize] = new as u32);
        let mut other = EikonalMesh {
            corners: 4,
            coordinates: order.iter().flat_map(|&old| view.point(old as usize)).collect(),
            elements: (0..view.n_elements())
                .flat_map(|e| {
                    let mut nodes: Vec<u32> = view.nodes(e).iter().map(|&node| place[node as usize]).collect();
                    nodes.rotate_left((seed as usize + e) % 4);
                    nodes
                })
                .collect(),
            original_node: order.clone(),
            original_element: mesh.original_element.clone(),
            ..Default::default()
        };
        other.connect(order.len());
        let start = (seed % 125) as u32;
        let settings = EikonalSettings::default();
        let a = solve::<f64>(&problem(&mesh, &metrics), &[(start, 0.0)], &settings).unwrap();
        let b = solve::<f64>(&problem(&other, &metrics), &[(place[start as usize], 0.0)], &settings).unwrap();
        for (old, &new) in place.iter().enumerate() {
            prop_assert!((a.time[old] - b.time[new as usize]).abs() < 1e-12);
        }
    }
}

/// Solver order is by Morton key, and tables fit.
#[test]
fn meshes_of_tests_are_in_order() {
    let mesh = cube(4, 0.0);
    let points = mesh.coordinates.as_chunks::<3>().0;
    assert!(points[0] == [0.0; 3] && points[124] == [1.0; 3] && points[1] == [0.25, 0.0, 0.0]);
    let same = ordered(points, mesh.elements.as_chunks::<4>().0);
    assert_eq!(same.elements, mesh.elements);
}
