//! Damping in proportion to the stiffness against dense matrices, and its limit against the theory of one mode.

use super::*;
use crate::explicit::elements::{damped_factors, damped_stable_increment, global_stable_increment, joint_increment};

/// The same cases as elsewhere with two sections by turns and a third without damping, so that every block and most nodes
/// have several β.
pub(super) fn cases() -> impl Iterator<Item = (ElementKind, Case)> {
    let grouped = [ElementKind::Cpe3, ElementKind::Cps4, ElementKind::Cpe4r];
    let small = ElementKind::ALL.into_iter().map(|kind| (kind, [8, 7, 5]));
    small.chain(grouped.map(|kind| (kind, [38, 38, 0]))).map(|(kind, cells)| (kind, case(kind, cells)))
}

fn case(kind: ElementKind, cells: [usize; 3]) -> Case {
    let mut mesh = box_mesh(kind, cells, 1e-3, 0.2);
    for group in &mut mesh.groups {
        group.section.iter_mut().zip(0..).for_each(|(section, element)| *section = element / 3 % 3);
    }
    let (mesh, blocks) = box_blocks(&mesh, 4e-3);
    let sections = [anisotropic(), isotropic(100e9, 0.2), isotropic(210e9, 0.3)].map(section).to_vec();
    Case { mesh, blocks, sections, lags: vec![0.05, 0.0, 0.12] }
}

/// Σ K_m (u + β_m/Δt Δu) by dense element matrices.
fn reference(problem: &Problem, u: &[f64], du: &[f64]) -> Vec<f64> {
    let beta = &problem.damping_beta;
    let sections = problem.mesh.groups.iter().flat_map(|group| group.section);
    let factor = |(e, &section): (usize, &u32)| problem.stiffness_factor_of(e as u32) * beta[section as usize];
    let viscous = Problem { stiffness_factor: sections.enumerate().map(factor).collect(), ..problem.clone() };
    let of_velocity = reference_force(&viscous, du);
    let sum = reference_force(problem, u).into_iter().zip(of_velocity);
    sum.map(|(force, viscous)| force + viscous / problem.time_increment).collect()
}

#[test]
fn lagged_forces_are_those_of_the_dense_elements() {
    for (kind, case) in cases() {
        let mut problem = case.problem();
        problem.stiffness_factor = (0..case.mesh.n_elements()).map(|e| 1.0 + 0.5 * noise(e as u64)).collect();
        let (u, du) = (case.noise(1e-6), case.noise(3e-7).into_iter().rev().collect::<Vec<_>>());
        let expected = reference(&problem, &u, &du);
        let without = reference_force(&problem, &u);
        assert!(difference(&without, &expected) > 1e-2);
        for level in Level::available() {
            let options = CpuOptions { level, ..CpuOptions::new(2) };
            let mut double = CpuStepper::<f64>::new(&problem, &case.rest(), options).unwrap();
            let mut single = CpuStepper::<f32>::new(&problem, &case.rest(), options).unwrap();
            let error = difference(&double.viscous_force([&u, &du, &[]]).unwrap(), &expected);
            assert!(error < 1e-13, "{kind:?}, {level:?}: {error:e}");
            let error = difference(&single.viscous_force([&u, &du, &[]]).unwrap(), &expected);
            assert!(error < 2e-6, "{kind:?}, {level:?}, single: {error:e}");
            let error = difference(&double.internal_force(&u), &without);
            assert!(error < 1e-13, "{kind:?}, {level:?}, without lags: {error:e}");
        }
    }
}

/// Steps by dense matrices, and the account of what internal forces take.
#[test]
fn steps_are_those_of_the_dense_elements_and_energy_is_balanced() {
    for (kind, case) in cases() {
        let mut problem = case.problem();
        let (n_nodes, d, steps) = (case.mesh.n_nodes(), case.mesh.dimension as usize, 12);
        problem.time_increment *= 0.5;
        let dt = problem.time_increment;
        problem.damping_rate = (0..n_nodes).map(|i| if i % 3 == 0 { 0.02 / dt } else { 0.0 }).collect();
        problem.forces = vec![NodalForce { dof: 5, signal: 0, value: 100.0 }];
        let last = (n_nodes * d - 1) as u64;
        problem.constraints = vec![Constraint { dof: last, signal: 0, value: 1e-6 }];
        let start = State { displacement: case.noise(1e-7), increment: case.noise(1e-8), ..State::default() };
        let table = signals(steps, |t| (0.3 * t).sin());

        let (mut u, mut du) = (start.displacement.clone(), start.increment.clone());
        let mut damped = 0.0;
        for step in table.values.windows(2) {
            let mut force = reference(&problem, &u, &du);
            let viscous: Vec<f64> =
                force.iter().zip(reference_force(&problem, &u)).map(|(force, elastic)| force - elastic).collect();
            force[5] -= 100.0 * step[0];
            for dof in 0..u.len() {
                let (mass, q) = (problem.lumped_mass[dof / d], 0.5 * dt * problem.damping_rate[dof / d]);
                let old = du[dof];
                du[dof] = ((1.0 - q) * old - dt * dt / mass * force[dof]) / (1.0 + q);
                if dof as u64 == last {
                    du[dof] = 1e-6 * (step[1] - step[0]);
                }
                u[dof] += du[dof];
                let sum = old + du[dof];
                damped += 0.5 * q / dt / dt * mass * sum * sum + 0.5 * viscous[dof] * sum;
            }
        }
        let energy = |u: &[f64], du: &[f64]| {
            let force = reference_force(&problem, u);
            0.5 * force.iter().zip(u.iter().zip(du)).map(|(force, (u, du))| force * (u - du)).sum::<f64>()
        };
        let start_of_account = State { damped_energy: energy(&start.displacement, &start.increment), ..start.clone() };
        let stepped = |threads: usize, cut: usize| {
            let options = CpuOptions { cache: 1, ..CpuOptions::new(threads) };
            let mut stepper = CpuStepper::<f64>::new(&problem, &start_of_account, options).unwrap();
            let first = SignalTable { n_signals: 1, values: table.values[..=cut].to_vec() };
            stepper.advance(cut, &first, &[], &mut Vec::new()).unwrap();
            let mut stepper = CpuStepper::<f64>::new(&problem, &stepper.state().unwrap(), options).unwrap();
            let rest = SignalTable { n_signals: 1, values: table.values[cut..].to_vec() };
            stepper.advance(steps - cut, &rest, &[], &mut Vec::new()).unwrap();
            stepper.state().unwrap()
        };
        let end = stepped(1, 5);
        assert_eq!(end, stepped(3, 8), "{kind:?}");
        let error = difference(&end.displacement, &u).max(difference(&end.increment, &du));
        assert!(error < 1e-11, "{kind:?}: {error:e}");
        let error = (end.damped_energy - energy(&u, &du) - damped).abs() / damped;
        assert!(error < 1e-9 && damped > 0.0, "{kind:?}: damped {damped:e}, error {error:e}");
    }
}

/// Whether a random start stays bounded.
fn is_stable(case: &Case, problem: &Problem) -> bool {
    let start = State { displacement: case.noise(1e-9), ..case.rest() };
    let mut stepper = CpuStepper::<f64>::new(problem, &start, CpuOptions::new(1)).unwrap();
    let table = SignalTable { n_signals: 0, values: Vec::new() };
    stepper.advance(600, &table, &[], &mut Vec::new()).unwrap();
    stepper.state().unwrap().displacement.iter().all(|u| u.abs() < 1e-6)
}

#[test]
fn the_stable_increment_is_that_of_the_theory() {
    for kind in ElementKind::ALL {
        // One material: Δt = 2/ω (√(1 + ξ²) − ξ), ξ = βω/2.
        let mut case = Case::new(kind, isotropic(210e9, 0.3));
        let problem = case.problem();
        let (mesh, mass) = (&problem.mesh, &problem.lumped_mass);
        let plain = stable_increment(mesh, &case.sections, &[], mass).unwrap();
        let omega = 2.0 / plain.increment;
        for beta in [0.0, 0.02, 0.3, 5.0].map(|xi: f64| 2.0 * xi / omega) {
            let xi = 0.5 * beta * omega;
            let expected = 2.0 / omega * ((1.0 + xi * xi).sqrt() - xi);
            let found = damped_stable_increment(mesh, &case.sections, &[], &[beta], mass, |_| true).unwrap().increment;
            assert!((found / expected - 1.0).abs() < 1e-5, "{kind:?}, ξ = {xi}: {found:e} {expected:e}");
        }
        let d = case.mesh.dimension as usize;
        drop(problem);
        // Several materials: the elements' bound is safe, and the limit of the model is one.
        case = self::case(kind, [8, 7, 5]);
        let mut problem = case.problem();
        let mass = problem.lumped_mass.clone();
        let safe = damped_stable_increment(&problem.mesh, &case.sections, &[], &problem.damping_beta, &mass, |_| true)
            .unwrap();
        let limit_at = |increment: f64| {
            let factors = damped_factors(&problem.mesh, &[], &problem.damping_beta, increment);
            let undamped = Problem { stiffness_factor: factors, damping_beta: Vec::new(), ..problem.clone() };
            let stepper = CpuStepper::<f64>::new(&undamped, &case.rest(), CpuOptions::new(1)).unwrap();
            global_stable_increment(&mass, d, &[], 400, |u| stepper.internal_force(u)).unwrap()
        };
        let limit = (0..12).fold(safe.increment, |increment, _| limit_at(increment));
        assert!(safe.increment < limit * (1.0 + 1e-9) && safe.increment > 0.5 * limit, "{kind:?}");
        for (factor, stable) in [(0.99, true), (1.03, false)] {
            problem.time_increment = factor * limit;
            assert_eq!(is_stable(&case, &problem), stable, "{kind:?} {factor}");
        }
    }
}

#[test]
fn a_negative_beta_is_refused() {
    let case = Case::of(ElementKind::Cpe4, [3, 3, 0], isotropic(210e9, 0.3));
    let problem = Problem { damping_beta: vec![-1.0], ..case.problem() };
    let error = CpuStepper::<f64>::new(&problem, &case.rest(), CpuOptions::new(1)).unwrap_err();
    assert_eq!(error, StepperError::Beta { section: 0, beta: -1.0 });
    let problem = Problem { damping_beta: vec![1e-9], ..case.problem() };
    assert_eq!(problem.viscosity(), Some("stiffness-proportional damping (BETA)"));
}

/// A symmetric positive definite matrix.
fn random(seed: u64) -> [[f64; 2]; 2] {
    let [a, b, c, d] = [0, 1, 2, 3].map(|i| noise(4 * seed + i));
    [[a * a + b * b, a * c + b * d], [a * c + b * d, c * c + d * d]]
}

fn times(a: &[[f64; 2]; 2], x: [f64; 2]) -> [f64; 2] {
    a.map(|row| row[0] * x[0] + row[1] * x[1])
}

/// Two unknowns of a solid and two of a fluid of unit masses, damped or not, coupled by any areas: at 0.9999 of the bound nothing
/// grows. Where they are coupled the bound is not far from the limit.
#[test]
fn random_solids_and_fluids_are_stable_at_the_joint_increment() {
    let largest = |a: &[[f64; 2]; 2]| {
        let (mean, difference) = (0.5 * (a[0][0] + a[1][1]), 0.5 * (a[0][0] - a[1][1]));
        mean + difference.hypot(a[0][1])
    };
    let mut grows_at = [0; 2];
    for seed in 0..150 {
        let [k, h] = [0, 1].map(|i| random(7 * seed + i));
        let size = 10.0f64.powf(1.5 * noise(7 * seed + 900) - 0.5);
        let area = [[0, 1], [2, 3]].map(|row| row.map(|i| size * noise(7000 + 4 * seed + i)));
        let beta = [1, 2].map(|i| if seed % 3 < i { 10.0f64.powf(2.0 * noise(9000 + 2 * seed + i)) } else { 0.0 });
        let gram = |i: usize, j: usize| area[0][i] * area[0][j] + area[1][i] * area[1][j];
        let pairs = largest(&[[gram(0, 0), gram(0, 1)], [gram(1, 0), gram(1, 1)]]);
        let alone = |a: &[[f64; 2]; 2], beta: f64| (beta * beta + 4.0 / largest(a)).sqrt() - beta;
        let is_lagged = beta != [0.0; 2];
        let bound = joint_increment(alone(&k, beta[0]), alone(&h, beta[1]), pairs, is_lagged);
        let grows = |dt: f64| {
            let (mut u, mut du, mut q, mut dq) = ([1.0, -0.3], [0.1, 0.2], [0.4, 0.7], [-0.2, 0.1]);
            for _ in 0..30_000 {
                let felt = |x: [f64; 2], dx: [f64; 2], beta: f64| [0, 1].map(|i| x[i] + beta / dt * dx[i]);
                let internal = times(&k, felt(u, du, beta[0]));
                for i in 0..2 {
                    let push = area[i][0] * dq[0] + area[i][1] * dq[1];
                    du[i] -= dt * dt * (internal[i] + push / dt);
                    u[i] += du[i];
                }
                let internal = times(&h, felt(q, dq, beta[1]));
                for i in 0..2 {
                    let flow = area[0][i] * du[0] + area[1][i] * du[1];
                    dq[i] -= dt * dt * (internal[i] - flow / dt);
                    q[i] += dq[i];
                }
            }
            [u, du, q, dq].iter().flatten().any(|x| !(x.abs() < 1e6))
        };
        assert!(!grows(0.9999 * bound), "{seed}: {bound}");
        grows_at[0] += usize::from(grows(1.05 * bound));
        grows_at[1] += usize::from(grows(2.0 * bound));
    }
    assert!(grows_at[0] > 20 && grows_at[1] > 130, "{grows_at:?}");
}
