//! The device against the CPU. These tests need a device: `tests/gpu.sh kernels` runs them.

use std::sync::{Arc, Mutex};

use super::*;
use crate::dynamics::Exchange;
use crate::ranks::{Ranks, Serves, Threads};

/// Largest difference, of the latest time.
pub(crate) fn apart<T: Real>(a: &[T], b: &[T]) -> f64 {
    let latest = b.iter().map(|t| t.to_f64()).filter(|t| t.is_finite()).fold(0.0, f64::max);
    worst(a, b) / latest
}

#[test]
#[ignore = "needs a CUDA device: tests/gpu.sh kernels runs it"]
fn every_form_gives_the_times_of_the_cpu() {
    every_form::<f32>("f32", &[true, false], 6e-6, 2e-5);
    every_form::<f64>("f64", &[true], 1e-13, 1e-13);
}

/// `limit`: of the forms that store squares or products; `on_the_fly`: where edges are differences of rounded coordinates.
fn every_form<T: Real>(precision: &str, forms: &[bool], limit: f64, on_the_fly: f64) {
    for Trial { name, mesh, metrics, starts } in &Trial::all(24, 60, 0.07) {
        let reference = solve::<T>(&problem(mesh, metrics), starts, &EikonalSettings::default()).unwrap();
        for local_solver in VARIANTS {
            let settings = EikonalSettings { local_solver, ..Default::default() };
            for &wide in forms {
                for window in [2.0, f64::INFINITY] {
                    let device = GpuSettings { wide, window, ..Default::default() };
                    let mut solver = GpuSolver::<T>::new(&problem(mesh, metrics), &settings, &device).unwrap();
                    let arrival = solver.solve(starts).unwrap();
                    let again = solver.solve(starts).unwrap();
                    assert_eq!(arrival.time, again.time, "{name}: two runs differ");
                    let apart = apart(&arrival.time, &reference.time);
                    eprintln!(
                        "{precision}, {name}, {local_solver:?}, wide {wide}, window {window}: {apart:.1e} apart, {} sweeps, {} solves",
                        arrival.statistics.sweeps, arrival.statistics.local_solves
                    );
                    let limit = if local_solver == LocalSolver::OnTheFly { on_the_fly } else { limit };
                    assert!(apart < limit, "{name}, {local_solver:?}: {apart:e}");
                    assert_eq!(arrival.unreached, reference.unreached);
                }
            }
        }
    }
}

#[test]
#[ignore = "needs a CUDA device: tests/gpu.sh kernels runs it"]
fn many_sets_at_once_give_the_bits_of_one_at_a_time() {
    let (mesh, metrics) = patchwork(16);
    let problem = problem(&mesh, &metrics);
    let sets: Vec<Vec<(u32, f64)>> = (0..21).map(|case| vec![(200 * case, 0.5), (case, 0.6)]).collect();
    let one = GpuSolver::<f32>::new(&problem, &EikonalSettings::default(), &GpuSettings::default()).unwrap();
    let one = Mutex::new((one, 0));
    let device = GpuSettings { sets: 5, ..Default::default() };
    let mut several = GpuSolver::<f32>::new(&problem, &EikonalSettings::default(), &device).unwrap();
    // Twice: buffers of the host are kept.
    for (n, unit) in [(21, 5), (42, 8)] {
        several
            .solve_many(&sets, in_turn(sets.len(), unit), |case, arrival| {
                let (one, n) = &mut *one.lock().unwrap();
                assert_eq!(arrival.time, one.solve(&sets[case]).unwrap().time);
                *n += 1;
            })
            .unwrap();
        assert_eq!(one.lock().unwrap().1, n);
    }
}

/// Solves with a rank for each of these devices; one that stands there twice has two.
fn by_devices<T: Real + 'static>(
    problem: &EikonalProblem,
    settings: &EikonalSettings,
    domain: &[u32],
    ordinals: &[u32],
    sets: &[Vec<(u32, f64)>],
    exchange: Exchange,
) -> Vec<Arrival<T>> {
    let first: Vec<u32> = (0..=domain.len() as u32).collect();
    let domains = cut(&problem.mesh, &first, domain, ordinals.len());
    let view = domains.view();
    std::thread::scope(|scope| {
        let of_rank = |(ranks, &ordinal): (Threads, &u32)| {
            let ranks: Arc<dyn Ranks> = Arc::new(ranks);
            scope.spawn(move || {
                let part = GpuPart::<T>::new(problem, settings, &view, &ranks, ordinal, exchange).unwrap();
                if !ranks.leads() {
                    part.serve(&*ranks);
                    return Vec::new();
                }
                let team = TeamSolver::new(problem, &view, &ranks, part);
                sets.iter().map(|starts| team.solve(starts).unwrap()).collect()
            })
        };
        let threads: Vec<_> = Threads::new(ordinals.len()).into_iter().zip(ordinals).map(of_rank).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    })
}

/// Several devices, and several parts on one device, make the sweeps of one device.
fn check_devices<T: Real + 'static>(problem: &EikonalProblem, settings: &EikonalSettings, sets: &[Vec<(u32, f64)>]) {
    let every: Vec<u32> = (0..crate::device::n_devices().unwrap().min(4)).collect();
    let n = problem.mesh.n_nodes();
    let device = GpuSettings { sets: 1, ..GpuSettings::default() };
    let mut one = GpuSolver::<T>::new(problem, settings, &device).unwrap();
    let expected: Vec<_> = sets.iter().map(|starts| one.solve(starts).unwrap()).collect();
    let rules: [fn(usize, usize, usize) -> usize; 3] = [
        |node, n, ranks| node * ranks / n,
        |node, _, ranks| node % ranks,
        |node, _, ranks| if node < ranks { node } else { ranks - 1 },
    ];
    for (ordinals, exchange) in [&every[..], &[0, 0], &[0, 0, 0]]
        .into_iter()
        .flat_map(|ordinals| [(ordinals, Exchange::Overlap), (ordinals, Exchange::Messages)])
    {
        for rule in rules {
            let domain: Vec<u32> = (0..n).map(|node| rule(node, n, ordinals.len()) as u32).collect();
            let found = by_devices::<T>(problem, settings, &domain, ordinals, sets, exchange);
            for (found, expected) in found.iter().zip(&expected) {
                assert!(found.time == expected.time, "{ordinals:?}, {exchange:?}: times differ");
                let numbers = |arrival: &Arrival<T>| {
                    (arrival.unreached, arrival.statistics.sweeps, arrival.statistics.local_solves)
                };
                assert_eq!(numbers(found), numbers(expected), "{ordinals:?}, {exchange:?}");
            }
            println!("{ordinals:?} {exchange:?} {} {:?}: the same bits", T::NAME, settings.local_solver);
        }
    }
}

#[test]
#[ignore = "needs a CUDA device: tests/gpu.sh kernels runs it"]
fn gpu_teams_give_the_times_of_one_device() {
    let (mesh, mut metrics) = patchwork(16);
    (0..metrics.len()).filter(|e| e % 7 == 3).for_each(|e| metrics[e] = BLOCKED);
    let n = mesh.original_node.len() as u32;
    let solid = problem(&mesh, &metrics);
    let sets = [vec![(3, 0.4), (n - 1, 0.1), (500, 0.1)], (0..n).step_by(97).map(|node| (node, 0.01)).collect()];
    for local_solver in VARIANTS {
        check_devices::<f32>(&solid, &EikonalSettings { local_solver, ..Default::default() }, &sets);
        check_devices::<f64>(&solid, &EikonalSettings { local_solver, ..Default::default() }, &sets);
    }
    let mesh = surface(40, 0.3, |x, y| [x.cos(), x.sin(), y + 0.2 * x * x]);
    let metric = [tensors([4.0, 2.0, 0.7]).1];
    let sets = [vec![(0, 0.0)], vec![(100, 0.5), (7, 0.25)]];
    check_devices::<f32>(&problem(&mesh, &metric), &EikonalSettings::default(), &sets);
    check_devices::<f64>(&problem(&mesh, &metric), &EikonalSettings::default(), &sets);
}

#[test]
fn a_device_that_is_not_there_is_named() {
    let (mesh, metrics) = patchwork(2);
    let device = GpuSettings { ordinal: 1000, ..Default::default() };
    let error = GpuSolver::<f32>::new(&problem(&mesh, &metrics), &EikonalSettings::default(), &device).err();
    assert!(matches!(error, Some(EikonalError::Device(_))));
}
