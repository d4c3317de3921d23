//! Dashpots: every step against the equation of motion, and the account of what they take.

use super::lag;
use super::*;
use crate::explicit::dashpot::Dashpot;

/// A symmetric positive definite matrix of about m/Δt, in the plane with its third row 0.
fn matrix(seed: u64, size: f64, dimension: usize) -> [[f64; 3]; 3] {
    let number = |i: usize, k: usize| noise(seed * 9 + (3 * i + k) as u64);
    let part = |i: usize, k: usize| {
        let square: f64 = (0..3).map(|j| number(i, j) * number(k, j)).sum();
        if i < dimension && k < dimension { size * (square + if i == k { 0.1 } else { 0.0 }) } else { 0.0 }
    };
    [0, 1, 2].map(|i| [0, 1, 2].map(|k| part(i, k)))
}

/// Dashpots at every seventh node, and at one more.
pub(super) fn dashpots(mass: &[f64], time_increment: f64, dimension: usize, more: u32) -> Vec<Dashpot> {
    let mut nodes: Vec<u32> = (1..mass.len() as u32).step_by(7).chain([more]).collect();
    nodes.sort_unstable();
    nodes.dedup();
    let dashpot = |node: u32| {
        let size = mass[node as usize] / time_increment;
        Dashpot { node, matrix: matrix(u64::from(node), size, dimension) }
    };
    nodes.into_iter().map(dashpot).collect()
}

/// Steps a problem one by one and returns the largest part of Δt²/m times the residual
/// m A + α m V + G V + f_int − F at free components, over the largest increment, and the relative error of the energy that
/// is taken.
fn errors<T: Real>(case: &Case, threads: usize) -> [f64; 2] {
    let mut problem = case.problem();
    let (n_nodes, d, steps) = (case.mesh.n_nodes(), case.mesh.dimension as usize, 10);
    let dt = problem.time_increment;
    let last = (n_nodes * d - 1) as u64;
    problem.damping_rate = (0..n_nodes).map(|i| if i % 3 == 0 { 0.02 / dt } else { 0.0 }).collect();
    problem.forces = vec![NodalForce { dof: d as u64, signal: 0, value: 100.0 }];
    // One component of a node with a dashpot moves as it is told.
    problem.constraints = vec![Constraint { dof: last, signal: 0, value: 1e-7 }];
    problem.dashpots = dashpots(&problem.lumped_mass, dt, d, (n_nodes - 1) as u32);
    let start = State { displacement: case.noise(1e-7), increment: case.noise(1e-8), ..State::default() };
    let table = signals(steps, |t| (0.3 * t).sin());
    let mut stepper = CpuStepper::<T>::new(&problem, &start, CpuOptions::new(threads)).unwrap();
    let (mut worst, mut taken) = (0.0f64, 0.0);
    let mut before = stepper.state().unwrap();
    let first = before.clone();
    for k in 0..steps {
        stepper.advance(1, &table.of_step(k), &[], &mut Vec::new()).unwrap();
        let after = stepper.state().unwrap();
        let mut net = stepper.viscous_force([&before.displacement, &before.increment, &[]]).unwrap();
        let elastic = stepper.internal_force(&before.displacement);
        for dof in 0..n_nodes * d {
            let sum = before.increment[dof] + after.increment[dof];
            let rate = problem.lumped_mass[dof / d] * problem.damping_rate[dof / d];
            taken += rate * sum * sum / (4.0 * dt) + 0.5 * (net[dof] - elastic[dof]) * sum;
            net[dof] += rate * sum / (2.0 * dt);
        }
        net[d] -= 100.0 * table.values[k];
        for dashpot in &problem.dashpots {
            for i in 0..d {
                let row = dashpot.node as usize * d;
                let sum = |c: usize| before.increment[row + c] + after.increment[row + c];
                let force: f64 = (0..d).map(|c| dashpot.matrix[i][c] * sum(c) / (2.0 * dt)).sum();
                net[row + i] += force;
                taken += 0.5 * force * sum(i);
            }
        }
        let largest = after.increment.iter().fold(0.0f64, |m, du| m.max(du.abs()));
        for dof in (0..n_nodes * d).filter(|&dof| dof as u64 != last) {
            let change = after.increment[dof] - before.increment[dof];
            let rest = change + dt * dt / problem.lumped_mass[dof / d] * net[dof];
            worst = worst.max(rest.abs() / largest);
        }
        before = after;
    }
    let strain = |state: &State| {
        let force = stepper.internal_force(&state.displacement);
        let rows = force.iter().zip(state.displacement.iter().zip(&state.increment));
        0.5 * rows.map(|(force, (u, du))| force * (u - du)).sum::<f64>()
    };
    let stored = if problem.is_lagged() { strain(&before) - strain(&first) } else { 0.0 };
    assert!(taken > 0.0);
    [worst, ((before.damped_energy - stored) / taken - 1.0).abs()]
}

#[test]
fn steps_satisfy_the_equation_of_motion_and_the_account_is_right() {
    let cases = ElementKind::ALL.into_iter().map(|kind| (kind, Case::new(kind, anisotropic())));
    for (kind, case) in cases.chain(lag::cases()) {
        let [rest, energy] = errors::<f64>(&case, 2);
        assert!(rest < 1e-12 && energy < 1e-9, "{kind:?}: {rest:e} {energy:e}");
        let [rest, energy] = errors::<f32>(&case, 1);
        assert!(rest < 1e-5 && energy < 1e-3, "{kind:?}, single: {rest:e} {energy:e}");
    }
}

#[test]
fn dashpots_without_mass_are_refused() {
    let case = Case::of(ElementKind::C3d8, [2, 2, 2], isotropic(210e9, 0.3));
    for (node, mass) in [(1 << 20, 1.0), (3, 0.0)] {
        let mut problem = case.problem();
        problem.lumped_mass[3] *= mass;
        problem.dashpots = vec![Dashpot { node, matrix: [[1.0; 3]; 3] }];
        let error = CpuStepper::<f64>::new(&problem, &case.rest(), CpuOptions::new(1)).unwrap_err();
        assert_eq!(error, StepperError::Dashpot { node: node as usize });
    }
}
