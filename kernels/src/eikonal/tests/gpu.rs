//! The device against the CPU. These tests need a device: `tests/gpu.sh kernels` runs them.

use super::*;

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
    let mut one = GpuSolver::<f32>::new(&problem, &EikonalSettings::default(), &GpuSettings::default()).unwrap();
    let device = GpuSettings { sets: 5, ..Default::default() };
    let mut several = GpuSolver::<f32>::new(&problem, &EikonalSettings::default(), &device).unwrap();
    let mut n = 0;
    several
        .solve_many(&sets, |case, arrival| {
            assert_eq!(arrival.time, one.solve(&sets[case]).unwrap().time);
            n += 1;
        })
        .unwrap();
    assert_eq!(n, 21);
}

#[test]
fn a_device_that_is_not_there_is_named() {
    let (mesh, metrics) = patchwork(2);
    let device = GpuSettings { ordinal: 1000, ..Default::default() };
    let error = GpuSolver::<f32>::new(&problem(&mesh, &metrics), &EikonalSettings::default(), &device).err();
    assert!(matches!(error, Some(EikonalError::Device(_))));
}
