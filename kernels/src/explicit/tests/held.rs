//! Linear constraints: the rows hold, every step is the equation of motion with forces of constraints that do no work, and the
//! accounts of energy are right, alone and beside dashpots, lags and relaxation.

use super::*;
use crate::explicit::dashpot::Dashpot;
use crate::explicit::projection::Inertia;

/// Rows of several kinds over nodes of every block: pairs, a node that many follow, a repeated row, and a massless unknown.
pub(super) fn rows_of(n_nodes: usize, d: usize) -> LinearRows {
    let mut rows = LinearRows { first: vec![0], n_dofs: (n_nodes * d) as u64, n_massless: 1, ..LinearRows::default() };
    let mut push = |terms: &[(u64, f64)]| {
        rows.dofs.extend(terms.iter().map(|term| term.0));
        rows.coefficients.extend(terms.iter().map(|term| term.1));
        rows.first.push(rows.dofs.len() as u32);
    };
    let n = n_nodes as u64;
    for k in 1..n / 9 {
        push(&[(9 * k, 1.0), ((9 * k + 4) * (d as u64 - 1) % (n * d as u64), -0.5 - 0.01 * k as f64)]);
    }
    push(&[(9, 2.0), ((13) * (d as u64 - 1) % (n * d as u64), -1.02)]);
    for k in 0..12 {
        push(&[(n * d as u64 - 1 - 2 * k, 1.0), (1, -1.0), (n * d as u64, 0.3 * k as f64)]);
    }
    rows
}

/// Distance of a fluid's unknowns among all degrees of freedom, or 1 in a solid.
fn stride_of(case: &Case) -> u64 {
    let is_fluid = case.mesh.groups.iter().all(|group| group.kind.is_acoustic());
    if is_fluid { case.mesh.dimension as u64 } else { 1 }
}

/// The rows over the unknowns of a solid or of a fluid.
fn rows_of_case(case: &Case) -> LinearRows {
    let (d, stride) = (case.mesh.dimension as usize, stride_of(case));
    let mut rows = rows_of(case.mesh.n_nodes(), d / stride as usize);
    rows.dofs.iter_mut().for_each(|dof| *dof *= stride);
    rows.n_dofs *= stride;
    rows
}

/// Adds what acts beside constraints to a problem.
type Beside = fn(&mut Problem<'_>);

fn alone(_: &mut Problem<'_>) {}

/// Dashpots at many nodes, with some that rows name and one of which a component is prescribed.
fn dashpots(problem: &mut Problem<'_>) {
    problem.dashpots = ground::dashpots(&problem.lumped_mass, problem.time_increment, problem.mesh.dimension, 0);
    if problem.mesh.fluid_nodes().contains(&true) {
        for Dashpot { matrix, .. } in &mut problem.dashpots {
            *matrix = [[matrix[0][0], 0.0, 0.0], [0.0; 3], [0.0; 3]];
        }
    }
}

fn relaxation(problem: &mut Problem<'_>) {
    problem.relaxation = relaxation::of(problem.time_increment);
}

fn all(problem: &mut Problem<'_>) {
    dashpots(problem);
    relaxation(problem);
}

/// The one projection of a problem of solids or of fluids.
fn projection_of(problem: &Problem<'_>) -> Projection {
    let mut all = problem.projections().unwrap().into_iter().flatten();
    let projection = all.next().unwrap();
    assert!(all.next().is_none());
    projection
}

/// A problem with rows, damping, forces on nodes that rows name and others, and a node that is moved, and a start that obeys the rows.
fn constrained_problem<'a>(case: &'a Case, beside: Beside) -> (Problem<'a>, State) {
    let mut problem = case.problem();
    let n_nodes = case.mesh.n_nodes();
    if problem.is_lagged() {
        problem.time_increment *= 0.5;
    }
    problem.rows = rows_of_case(case);
    let unknown = stride_of(case);
    problem.damping_rate = (0..n_nodes).map(|i| if i % 5 == 0 { 1e-2 / problem.time_increment } else { 0.0 }).collect();
    let force = |at: u64, value| NodalForce { dof: at * unknown, signal: 0, value };
    problem.forces = vec![force(9, 100.0), force(2, 50.0)];
    problem.constraints = vec![Constraint { dof: unknown, signal: 0, value: 1e-7 }];
    beside(&mut problem);
    problem.monitors = vec![unknown, 9 * unknown, problem.monitor_of_force(unknown)];
    let projection = projection_of(&problem);
    let mut start = State { displacement: case.noise(1e-9), increment: case.noise(1e-9), ..State::default() };
    start.memory = (0..problem.relaxation.rates.len()).flat_map(|_| case.noise(1e-9)).collect();
    (start.displacement[unknown as usize], start.increment[unknown as usize]) = (0.0, 0.0);
    for values in [&mut start.displacement, &mut start.increment] {
        projection.project(values, |_| 0.0);
    }
    (problem, start)
}

fn constrained<T: Real>(kind: ElementKind, case: &Case, threads: usize, beside: Beside) {
    let (problem, start) = constrained_problem(case, beside);
    assert!(projection_of(&problem).n_redundant() >= 1, "{kind:?}");
    let steps = 70;
    let table = signals(steps, |t| (0.05 * t).sin());
    let options = CpuOptions { threads, level: Level::detect(), cache: 1 };
    let mut whole = CpuStepper::<T>::new(&problem, &start, CpuOptions::new(1)).unwrap();
    let mut recording = Vec::new();
    whole.advance(steps, &table, &[3, 69], &mut recording).unwrap();
    let end = whole.state().unwrap();

    // The same bits for other threads, and from a state in between.
    let mut first = CpuStepper::<T>::new(&problem, &start, options).unwrap();
    let rest = SignalTable { n_signals: 1, values: table.values[41..].to_vec() };
    first.advance(41, &table, &[], &mut Vec::new()).unwrap();
    let mut second = CpuStepper::<T>::new(&problem, &first.state().unwrap(), options).unwrap();
    second.advance(steps - 41, &rest, &[], &mut Vec::new()).unwrap();
    assert_eq!(second.state().unwrap(), end, "{kind:?}, {threads} threads");

    // The rows hold, but for the massless unknown z: those of k = 0 and k give it.
    let is_single = size_of::<T>() == 4;
    for (values, tolerance) in [(&end.displacement, 1.0), (&end.increment, 10.0)] {
        let tolerance = tolerance * if is_single { 1e-5 } else { 1e-13 };
        let largest = values.iter().fold(0.0, |most: f64, u| most.max(u.abs()));
        let of_row = |row: usize| -> f64 {
            let terms = problem.rows.terms(row).filter(|(dof, _)| *dof < problem.rows.n_dofs);
            terms.map(|(dof, c)| c * values[dof as usize]).sum()
        };
        let first = problem.rows.n_rows() - 12;
        let z = -of_row(first + 11) / 3.3;
        for row in 0..problem.rows.n_rows() {
            let of_massless = if row < first { 0.0 } else { 0.3 * (row - first) as f64 * z };
            let rest = of_row(row) + of_massless;
            assert!(rest.abs() < tolerance * largest, "{kind:?}, row {row}: {rest:e} of {largest:e}");
        }
    }
    let moved = stride_of(case) as usize;
    assert!(end.increment[moved] == T::from_f64(1e-7 * (table.values[steps] - table.values[steps - 1])).to_f64());
    // Twice twelve nodes pull at the one that is moved.
    assert!(recording[6] != 0.0 && recording.len() == 18);
}

/// How far one-by-one steps are from the equation of motion, and from what energies they count.
fn errors<T: Real>(case: &Case, threads: usize, beside: Beside) -> [f64; 3] {
    let (problem, start) = constrained_problem(case, beside);
    let (n_nodes, d, steps, dt) = (case.mesh.n_nodes(), problem.mesh.dimension, 8, problem.time_increment);
    let table = signals(steps, |t| (0.3 * t).sin());
    let mut stepper = CpuStepper::<T>::new(&problem, &start, CpuOptions::new(threads)).unwrap();
    // Motions that the rows allow, without that of the node that is moved.
    let masses = vec![1.0; n_nodes];
    let unit = Inertia {
        dimension: d,
        components: d,
        lumped_mass: &masses,
        damping_rate: &[],
        dashpots: &[],
        time_increment: 0.0,
        constraints: &problem.constraints,
    };
    let nearest = Projection::new(&problem.rows, &unit).unwrap();
    let allowed: Vec<Vec<f64>> = (0..6)
        .map(|seed| {
            let mut motion: Vec<f64> = (0..n_nodes * d).map(|dof| noise((dof * 6 + seed) as u64)).collect();
            motion[stride_of(case) as usize] = 0.0;
            nearest.project(&mut motion, |_| 0.0);
            motion
        })
        .collect();
    let (mut worst, mut taken) = (0.0f64, 0.0);
    let mut before = stepper.state().unwrap();
    let first = before.clone();
    let sums = |state: &State, force: &[f64]| {
        let rows = force.iter().zip(state.displacement.iter().zip(&state.increment)).enumerate();
        rows.fold(0.0, |sum, (dof, (force, (u, du)))| {
            sum + 0.5 * force * (u - du) + 0.5 * problem.lumped_mass[dof / d] * (du / dt).powi(2)
        })
    };
    let force_of_start = stepper.internal_force(&first.displacement);
    for k in 0..steps {
        stepper.advance(1, &table.of_step(k), &[], &mut Vec::new()).unwrap();
        let after = stepper.state().unwrap();
        let mut net = stepper.viscous_force([&before.displacement, &before.increment, &before.memory]).unwrap();
        let elastic = stepper.internal_force(&before.displacement);
        let sum = |dof: usize| before.increment[dof] + after.increment[dof];
        let mut part = vec![0.0; n_nodes * d];
        for (dof, part) in part.iter_mut().enumerate() {
            let mass = problem.lumped_mass[dof / d];
            let rate = mass * problem.damping_rate[dof / d];
            taken += rate * sum(dof).powi(2) / (4.0 * dt) + 0.5 * (net[dof] - elastic[dof]) * sum(dof);
            net[dof] += rate * sum(dof) / (2.0 * dt);
            net[dof] += mass * (after.increment[dof] - before.increment[dof]) / (dt * dt);
            *part = net[dof].abs();
        }
        for dashpot in &problem.dashpots {
            let row = dashpot.node as usize * d;
            for i in 0..d {
                let force: f64 = (0..d).map(|c| dashpot.matrix[i][c] * sum(row + c) / (2.0 * dt)).sum();
                net[row + i] += force;
                taken += 0.5 * force * sum(row + i);
            }
        }
        for force in &problem.forces {
            net[force.dof as usize] -= force.value * table.values[k];
        }
        for motion in &allowed {
            let work: f64 = motion.iter().zip(&net).map(|(u, f)| u * f).sum();
            let size: f64 = motion.iter().zip(&part).map(|(u, f)| (u * f).abs()).sum();
            worst = worst.max(work.abs() / size);
        }
        before = after;
    }
    let force = stepper.internal_force(&before.displacement);
    let stored = sums(&before, &force) - sums(&first, &force_of_start);
    let strain = |state: &State, force: &[f64]| {
        let rows = force.iter().zip(state.displacement.iter().zip(&state.increment));
        0.5 * rows.map(|(force, (u, du))| force * (u - du)).sum::<f64>()
    };
    let in_account = if problem.is_viscous() { strain(&before, &force) - strain(&first, &force_of_start) } else { 0.0 };
    let size = taken.abs() + stored.abs() + before.external_work.abs();
    assert!(taken.abs() > 1e-6 * size && before.external_work.abs() > 1e-3 * size);
    let balance = stored - in_account + before.damped_energy - before.external_work;
    [worst, balance / size, (before.damped_energy - in_account - taken) / size].map(f64::abs)
}

const BESIDE: [(&str, Beside); 4] =
    [("alone", alone), ("dashpots", dashpots), ("relaxation", relaxation), ("all", all)];

#[test]
fn linear_constraints_hold_with_the_same_bits_for_any_number_of_threads() {
    for (kind, case) in cases(anisotropic()) {
        constrained::<f64>(kind, &case, 3, alone);
        constrained::<f32>(kind, &case, 2, alone);
        constrained::<f64>(kind, &case, 2, dashpots);
        constrained::<f32>(kind, &case, 3, dashpots);
    }
    for (kind, case) in lag::cases() {
        constrained::<f64>(kind, &case, 2, alone);
        let all = if kind.is_acoustic() { dashpots } else { all };
        constrained::<f64>(kind, &case, 3, all);
        constrained::<f32>(kind, &case, 2, all);
    }
}

#[test]
fn constrained_steps_satisfy_the_equation_of_motion_and_the_account_is_right() {
    for (kind, case) in lag::cases() {
        // Fluids do not relax.
        let beside = if kind.is_acoustic() { &BESIDE[..2] } else { &BESIDE[..] };
        for &(name, beside) in beside {
            let plain = Case { lags: Vec::new(), ..case.clone() };
            for (case, damping) in [(&plain, "no BETA"), (&case, "BETA")] {
                let errors = errors::<f64>(case, 2, beside);
                assert!(errors.iter().all(|error| *error < 1e-12), "{kind:?}, {name}, {damping}: {errors:?}");
            }
        }
        let [rest, balance, taken] = errors::<f32>(&case, 1, beside[beside.len() - 1].1);
        assert!(rest < 1e-4 && balance < 1e-4 && taken < 1e-4, "{kind:?}: {rest:e} {balance:e} {taken:e}");
    }
}

#[test]
fn linear_constraints_are_refused_beside_what_they_are_not_computed_with() {
    let (_, case) = cases(anisotropic()).next().unwrap();
    let n_nodes = case.mesh.n_nodes();
    let problem = Problem { rows: rows_of(n_nodes, case.mesh.dimension as usize), ..case.problem() };
    let refused = |problem: &Problem<'_>| {
        CpuStepper::<f64>::new(problem, &case.rest(), CpuOptions::new(1)).unwrap_err().to_string()
    };
    let copied = CopiedDisplacements { from: vec![0], to: vec![1] };
    assert!(refused(&Problem { copied, ..problem.clone() }).contains("periodic sides"));
    let mut beyond = problem;
    beyond.rows.dofs[0] = beyond.rows.n_dofs + 1;
    refused(&beyond);
    let (_, fluid) = cases(anisotropic()).find(|(kind, _)| kind.is_acoustic()).unwrap();
    let mut rows = rows_of_case(&fluid);
    rows.dofs[0] += 1;
    let problem = Problem { rows, ..fluid.problem() };
    let error = CpuStepper::<f64>::new(&problem, &fluid.rest(), CpuOptions::new(1)).unwrap_err();
    assert!(error.to_string().contains("the pressure of a fluid"), "{error}");
}
