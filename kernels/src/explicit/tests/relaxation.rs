//! Relaxation mechanisms against dense matrices, and the proof of their stability against the eigenvalues of a mode.

use super::*;

/// Three mechanisms of different strength in two of three sections, beside stiffness-proportional damping.
pub(super) fn problem(case: &Case) -> Problem<'_> {
    let mut problem = case.problem();
    problem.time_increment *= 0.5;
    problem.relaxation = of(problem.time_increment);
    problem
}

pub(super) fn of(time_increment: f64) -> Relaxation {
    Relaxation {
        rates: [0.03, 0.2, 1.1].map(|x| x / time_increment).to_vec(),
        strengths: vec![[0.05, 0.02, 0.1], [0.0; 3], [0.2, 0.1, 0.03]],
    }
}

fn factors_of_elements(problem: &Problem, of_section: impl Fn(usize) -> f64) -> Vec<f64> {
    let sections = problem.mesh.groups.iter().flat_map(|group| group.section);
    sections.map(|&section| of_section(section as usize)).collect()
}

/// Σ factor_e K_e u by dense element matrices.
fn force_with(problem: &Problem, of_section: impl Fn(usize) -> f64, u: &[f64]) -> Vec<f64> {
    reference_force(&Problem { stiffness_factor: factors_of_elements(problem, of_section), ..problem.clone() }, u)
}

/// Σ K_m (u + β_m/Δt Δu − Σ_l Y_l z_l) by dense element matrices.
fn reference(problem: &Problem, u: &[f64], du: &[f64], memory: &[f64]) -> Vec<f64> {
    let mut force = reference_force(problem, u);
    let mut add = |other: Vec<f64>, factor: f64| {
        force.iter_mut().zip(other).for_each(|(force, other)| *force += factor * other);
    };
    add(force_with(problem, |section| problem.lag_of(section), du), 1.0);
    for (mechanism, z) in memory.chunks_exact(u.len()).enumerate() {
        add(force_with(problem, |section| problem.relaxation.of_section(section)[mechanism], z), -1.0);
    }
    force
}

#[test]
fn relaxed_forces_are_those_of_the_dense_elements() {
    for (kind, case) in lag::cases() {
        let problem = problem(&case);
        let (u, du) = (case.noise(1e-6), case.noise(3e-7).into_iter().rev().collect::<Vec<_>>());
        let memory = [case.noise(2e-6), case.noise(1e-6), case.noise(3e-6)].concat();
        let expected = reference(&problem, &u, &du, &memory);
        let rest = State { memory: vec![0.0; memory.len()], ..case.rest() };
        for level in Level::available() {
            let options = CpuOptions { level, ..CpuOptions::new(2) };
            let mut double = CpuStepper::<f64>::new(&problem, &rest, options).unwrap();
            let mut single = CpuStepper::<f32>::new(&problem, &rest, options).unwrap();
            let error = difference(&double.viscous_force([&u, &du, &memory]).unwrap(), &expected);
            assert!(error < 1e-13, "{kind:?}, {level:?}: {error:e}");
            let error = difference(&single.viscous_force([&u, &du, &memory]).unwrap(), &expected);
            assert!(error < 4e-6, "{kind:?}, {level:?}, single: {error:e}");
        }
    }
}

/// Steps by dense matrices: u, Δu, z.
fn dense_steps(problem: &Problem, start: &State, values: &[f64], last: usize) -> [Vec<f64>; 3] {
    let (d, dt, n) = (problem.mesh.dimension, problem.time_increment, start.displacement.len());
    let [mut u, mut du, mut z] = [start.displacement.clone(), start.increment.clone(), start.memory.clone()];
    for step in values.windows(2) {
        let mut force = reference(problem, &u, &du, &z);
        force[5] -= 100.0 * step[0];
        for dof in 0..n {
            let (mass, q) = (problem.lumped_mass[dof / d], 0.5 * dt * problem.damping_rate[dof / d]);
            let before = u[dof];
            du[dof] = ((1.0 - q) * du[dof] - dt * dt / mass * force[dof]) / (1.0 + q);
            if dof == last {
                du[dof] = 1e-6 * (step[1] - step[0]);
            }
            u[dof] += du[dof];
            for (z, rate) in z.chunks_exact_mut(n).zip(&problem.relaxation.rates) {
                // Of the textbook's form, z = a z + b u_n + c u_{n+1}.
                let x = rate * dt;
                let a = (-x).exp();
                let (b, c) = ((1.0 - a) / x - a, 1.0 - (1.0 - a) / x);
                z[dof] = a * z[dof] + b * before + c * u[dof];
            }
        }
    }
    [u, du, z]
}

#[test]
fn steps_are_those_of_the_dense_elements_for_any_threads_and_across_restarts() {
    for (kind, case) in lag::cases() {
        let mut problem = problem(&case);
        let (n_nodes, d, steps) = (case.mesh.n_nodes(), case.mesh.dimension as usize, 12);
        let dt = problem.time_increment;
        problem.damping_rate = (0..n_nodes).map(|i| if i % 3 == 0 { 0.02 / dt } else { 0.0 }).collect();
        problem.forces = vec![NodalForce { dof: 5, signal: 0, value: 100.0 }];
        let last = n_nodes * d - 1;
        problem.constraints = vec![Constraint { dof: last as u64, signal: 0, value: 1e-6 }];
        // u, and z of the third mechanism.
        problem.monitors = vec![7, (3 * n_nodes * d + 7) as u64];
        let memory = [case.noise(2e-7), case.noise(1e-7), case.noise(5e-8)].concat();
        let start = State { displacement: case.noise(1e-7), increment: case.noise(1e-8), memory, ..State::default() };
        let table = signals(steps, |t| (0.3 * t).sin());
        let [u, du, z] = dense_steps(&problem, &start, &table.values, last);
        let stepped = |threads: usize, cut: usize| {
            let options = CpuOptions { cache: 1, ..CpuOptions::new(threads) };
            let mut recording = Vec::new();
            let mut stepper = CpuStepper::<f64>::new(&problem, &start, options).unwrap();
            let first = SignalTable { n_signals: 1, values: table.values[..=cut].to_vec() };
            stepper.advance(cut, &first, &[0], &mut recording).unwrap();
            let mut stepper = CpuStepper::<f64>::new(&problem, &stepper.state().unwrap(), options).unwrap();
            let rest = SignalTable { n_signals: 1, values: table.values[cut..].to_vec() };
            stepper.advance(steps - cut, &rest, &[11], &mut recording).unwrap();
            (stepper.state().unwrap(), recording)
        };
        let (end, recording) = stepped(1, 5);
        assert_eq!((end.clone(), recording.clone()), stepped(3, 8), "{kind:?}");
        for (what, found, expected) in
            [("u", &end.displacement, &u), ("Δu", &end.increment, &du), ("z", &end.memory, &z)]
        {
            let error = difference(found, expected);
            assert!(error < 1e-11, "{kind:?}, {what}: {error:e}");
        }
        assert_eq!([recording[0], recording[3]], [start.displacement[7], start.memory[2 * n_nodes * d + 7]]);
        let [.., before] = dense_steps(&problem, &start, &table.values[..steps], last);
        assert!((recording[9] / before[2 * n_nodes * d + 7] - 1.0).abs() < 1e-8, "{kind:?}: {recording:?}");
    }
}

#[test]
fn copies_have_the_memory_of_what_they_copy() {
    for (kind, case) in lag::cases() {
        let mut problem = problem(&case);
        let copied = CopiedDisplacements { from: vec![2, 20], to: vec![11, 40] };
        copied.pairs().for_each(|(_, to)| problem.lumped_mass[to] = 0.0);
        problem.copied = copied.clone();
        let d = problem.mesh.dimension;
        let mut start = State { displacement: case.noise(1e-7), increment: case.noise(1e-8), ..State::default() };
        start.memory = vec![0.0; 3 * start.displacement.len()];
        let rows = start.memory.chunks_exact_mut(start.displacement.len());
        for values in rows.chain([&mut start.displacement[..], &mut start.increment[..]]) {
            copied.copy(values, d);
        }
        let table = signals(20, |_| 0.0);
        let mut stepper = CpuStepper::<f32>::new(&problem, &start, CpuOptions::new(2)).unwrap();
        stepper.advance(20, &table, &[], &mut Vec::new()).unwrap();
        let end = stepper.state().unwrap();
        let mut expected = end.memory.clone();
        expected.chunks_exact_mut(end.displacement.len()).for_each(|memory| copied.copy(memory, d));
        assert!(end.memory == expected && expected.iter().any(|&z| z != 0.0), "{kind:?}");
    }
}

/// Below the limit of the unrelaxed stiffness every run decays; little above it one grows.
#[test]
fn the_unrelaxed_stiffness_bounds_the_increment() {
    for kind in [ElementKind::Cpe3, ElementKind::Cpe4, ElementKind::C3d8r] {
        let case = lag::cases().find(|(other, _)| *other == kind).unwrap().1;
        let (mut problem, d) = (problem(&case), case.mesh.dimension as usize);
        problem.damping_beta = Vec::new();
        let stepper = CpuStepper::<f64>::new(
            &Problem { relaxation: Relaxation::default(), ..problem.clone() },
            &case.rest(),
            CpuOptions::new(1),
        )
        .unwrap();
        let mass = problem.lumped_mass.clone();
        let limit =
            super::super::elements::global_stable_increment(&mass, d, &[], 400, |u| stepper.internal_force(u)).unwrap();
        // Slow mechanisms hardly move in half a period of the highest mode, so that its limit is that of C_U.
        for (rate, factor, stable) in [(1e-4, 0.999, true), (0.3, 0.999, true), (2.0, 0.999, true), (1e-4, 1.01, false)]
        {
            problem.time_increment = factor * limit;
            problem.relaxation.rates = [0.1 * rate, rate, 10.0 * rate].map(|x| x / limit).to_vec();
            let n = case.mesh.coordinates.len();
            let start = State { displacement: case.noise(1e-9), memory: vec![0.0; 3 * n], ..case.rest() };
            let mut stepper = CpuStepper::<f64>::new(&problem, &start, CpuOptions::new(1)).unwrap();
            stepper.advance(2000, &SignalTable { n_signals: 0, values: Vec::new() }, &[], &mut Vec::new()).unwrap();
            let is_bounded = stepper.state().unwrap().displacement.iter().all(|u| u.abs() < 1e-6);
            assert_eq!(is_bounded, stable, "{kind:?}, {rate}, {factor}");
        }
    }
}

#[test]
fn what_is_not_relaxation_is_refused() {
    let case = Case::of(ElementKind::Cpe4, [3, 3, 0], isotropic(210e9, 0.3));
    let n = case.mesh.coordinates.len();
    let rest = State { memory: vec![0.0; n], ..case.rest() };
    let refusal = |rates: Vec<f64>, strengths: Vec<[f64; 3]>| {
        let problem = Problem { relaxation: Relaxation { rates, strengths }, ..case.problem() };
        assert_eq!(problem.viscosity(), Some("damping by relaxation mechanisms ([relaxation])"));
        CpuStepper::<f64>::new(&problem, &rest, CpuOptions::new(1)).err()
    };
    assert_eq!(refusal(vec![1e6], vec![[0.5, 0.0, 0.0]]), None);
    assert_eq!(refusal(vec![0.0], vec![[0.5, 0.0, 0.0]]), Some(StepperError::RelaxationRates));
    for strengths in [[1.0, 0.0, 0.0], [-0.1, 0.0, 0.0], [f64::NAN, 0.0, 0.0]] {
        let expected = StepperError::RelaxationStrengths { section: 0 };
        assert_eq!(refusal(vec![1e6], vec![strengths]), Some(expected));
    }
    assert!(matches!(refusal(vec![1e6], Vec::new()), Some(StepperError::Model(_))));
    // The memory has another length.
    assert!(matches!(refusal(vec![1e6, 2e6], vec![[0.1; 3]]), Some(StepperError::Model(_))));
}
