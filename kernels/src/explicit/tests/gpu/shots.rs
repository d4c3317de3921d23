//! Shots that step together, against runs alone.

use super::*;
use crate::explicit::{GpuShots, MOST_SHOTS_AT_ONCE};

/// A problem in which a few nodes are loaded, held and monitored, so that nothing acts on most blocks.
fn quiet(case: &Arranged) -> Problem<'_> {
    let mut problem = case.problem();
    problem.forces.clear();
    problem.constraints.truncate(4);
    problem.monitors.truncate(5);
    problem
}

/// The problem with forces of one shot, on some nodes of the upper half of the numbers, as damping is in the first fifth. One has none.
fn of_shot<'a>(quiet: &Problem<'a>, shot: usize) -> Problem<'a> {
    let n_dofs = (quiet.mesh.n_nodes() * quiet.mesh.dimension) as f64;
    let force = |i: usize| {
        let dof = (n_dofs * (1.0 - 0.5 * noise((10 * shot + i) as u64).abs())) as u64 - 1;
        NodalForce { dof, signal: ((shot + i) % 9) as u32, value: 40.0 + shot as f64 }
    };
    let mut problem = quiet.clone();
    problem.forces = (0..if shot == 1 { 0 } else { 3 }).map(force).collect();
    problem
}

/// Steps shots together and alone: the same bits of states, energies and recorded values.
fn compare_shots<T: Real>(case: &Arranged, quiet: &Problem, n_shots: usize, is_together: bool, what: &str) {
    let dt = quiet.time_increment;
    let curves = amplitudes(dt);
    let signals = signals(&curves, dt);
    let problems: Vec<Problem> = (0..n_shots).map(|shot| of_shot(quiet, shot)).collect();
    let stepper =
        |problem: &Problem| GpuStepper::<T>::new(problem, &case.start(), &signals, GpuOptions::default()).unwrap();
    let mut shots = GpuShots::new(problems.iter().map(stepper).collect()).unwrap();
    assert_eq!(shots.kernel().is_some(), is_together, "{what}");
    let cuts = [0, 7, 64, 65, 200, 500];
    let mut recordings = vec![Vec::new(); n_shots];
    for window in cuts.windows(2) {
        let record: Vec<u64> = (window[0] as u64..window[1] as u64).filter(|n| n % 3 == 0).collect();
        let records = vec![record.as_slice(); n_shots];
        shots.advance(window[1] - window[0], &records, &mut recordings).unwrap();
    }
    for (shot, problem) in problems.iter().enumerate() {
        let alone = run(&mut stepper(problem), &signals, &cuts);
        let state = shots.of(shot).state().unwrap();
        assert!(state.displacement.iter().any(|&u| u != 0.0), "{what}, shot {shot}: at rest");
        assert_eq!(state, alone.0, "{what}, shot {shot}");
        assert_eq!(recordings[shot], alone.1, "{what}, shot {shot}: recorded values");
    }
    println!("{what}: {n_shots} shots have the bits of runs alone");
}

#[test]
#[ignore = "needs a CUDA device: tests/gpu.sh kernels runs it"]
fn shots_together_have_the_bits_of_runs_alone() {
    for (law, elasticities) in laws_of_fans() {
        let cases = [
            ("box", box_mesh(ElementKind::Cpe3, [90, 80, 0], 1e-3, 0.2), 100, [5, MOST_SHOTS_AT_ONCE]),
            ("fans of all sizes", fans_of_all_sizes(), 48, [4, 11]),
        ];
        for (what, mesh, capacity, n_shots) in cases {
            let case = Arranged::new(mesh, &elasticities, capacity);
            let quiet = quiet(&case);
            let undamped = Problem { damping_rate: Vec::new(), ..quiet.clone() };
            for (n_shots, quiet, damped) in [(n_shots[0], &quiet, "damped"), (n_shots[1], &undamped, "undamped")] {
                let what = format!("{what}, {law}, {damped}");
                compare_shots::<f32>(&case, quiet, n_shots, true, &format!("{what}, f32"));
                compare_shots::<f64>(&case, quiet, n_shots, true, &format!("{what}, f64"));
            }
        }
    }
}

/// Those that are not of triangles alone step side by side.
#[test]
#[ignore = "needs a CUDA device: tests/gpu.sh kernels runs it"]
fn shots_of_other_elements_step_side_by_side() {
    for (kind, cells) in [(ElementKind::Cpe4r, [40, 30, 0]), (ElementKind::C3d8r, [12, 11, 10])] {
        let case = Arranged::new(box_mesh(kind, cells, 1e-3, 0.2), &[isotropic(210e9, 0.3)], 200);
        compare_shots::<f64>(&case, &quiet(&case), 3, false, kind.name());
    }
}
