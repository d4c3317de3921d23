//! What springs must do, whatever computes them.

mod gpu;
mod gpu_teams;
mod team;

use pogo_formats::spring::{
    Cut, CutFrame, CutShape, SpringAddition, SpringDamping, SpringErasure, SpringGroup, SpringMesh,
};

use super::*;
use crate::simd::{Level, Real};
use crate::spring_support::{deck, group, lattice, problem};
use crate::test_support::noise;

const ADDRESSINGS: [Addressing; 3] = [Addressing::Implicit, Addressing::Explicit, Addressing::ExplicitGlobal];

fn constant(n_steps: usize) -> SignalTable {
    SignalTable { n_signals: 1, values: vec![1.0; n_steps + 1] }
}

fn random(n: usize, size: f64, seed: u64) -> Vec<f64> {
    (0..n as u64).map(|i| size * noise(i + seed)).collect()
}

/// The state after some steps, and energies before and after.
fn run<T: Real>(
    problem: &SpringProblem,
    state: &State,
    addressing: Addressing,
    threads: usize,
    level: Level,
    steps: usize,
) -> (State, [Energies; 2]) {
    let mut stepper = CpuStepper::<T>::new(problem.clone(), state, addressing, threads, level).unwrap();
    let before = stepper.energies(&[1.0, 1.0]).unwrap();
    stepper.advance(steps, &constant(steps), &[], &mut Vec::new()).unwrap();
    let after = stepper.energies(&[1.0, 1.0]).unwrap();
    (stepper.state().unwrap(), [before, after])
}

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}

/// A lattice with holes, two materials in part of the cases, everything that forces, supports and dampers do.
fn rich(directions: usize, materials: u8, damped: bool) -> (SpringMesh, Vec<SpringGroup>) {
    let size = [21, 10, 9];
    let mesh = lattice(size, [1.0, 1.1, 0.9], directions, 64, |p| {
        let hole = (p[0] * 7 + p[1] * 5 + p[2] * 3) % 11 == 0 || (p[0] > 12 && p[1] > 6);
        (!hole).then_some(if p[0] < 9 { 0 } else { materials - 1 })
    });
    let mut groups = Vec::new();
    for material in 0..materials {
        for kind in 0..3 {
            let damping = if damped { 0.3 + 0.1 * f64::from(kind) } else { 0.0 };
            groups.push(SpringGroup { damping, ..group(10.0 + 3.0 * f64::from(material) - 2.0 * f64::from(kind)) });
        }
    }
    (mesh, groups)
}

/// Forces, supports, gravity, masses.
fn load(problem: &mut SpringProblem) {
    let n = problem.n_particles();
    problem.mass = (0..n).map(|i| 1.0 + 0.2 * noise(i as u64)).collect();
    problem.forces = vec![NodalForce { dof: 40, signal: 0, value: 0.5 }, NodalForce { dof: 40, signal: 0, value: 0.1 }];
    problem.constraints = (0..30).map(|dof| Constraint { dof, signal: 0, value: 0.0 }).collect();
    problem.gravity = vec![Acceleration { acceleration: [0.0, 0.01, -0.02], signal: 0 }];
    problem.damping = SpringDamping::Lambda(0.01);
    problem.monitors = vec![40, 100, 7];
}

fn disturbed(problem: &SpringProblem, size: f64) -> State {
    let n = 3 * problem.n_particles();
    problem.start(random(n, size, 1), &random(n, size, 99), &[1.0], &[1.0]).unwrap()
}

#[test]
fn all_addressings_threads_and_instructions_give_the_same_bits() {
    for (directions, materials, damped, rest_factor) in
        [(18, 1, false, 1.0), (26, 2, true, 1.0), (6, 2, false, 0.98), (18, 1, true, 1.02)]
    {
        let (mesh, mut groups) = rich(directions, materials, damped);
        groups.iter_mut().for_each(|group| group.rest_factor = rest_factor);
        let mut problem = problem(&mesh, groups, 1.0, 0.1);
        load(&mut problem);
        problem.follow_work = damped;
        let state = disturbed(&problem, 0.05);
        let reference = run::<f64>(&problem, &state, Addressing::Implicit, 1, Level::PORTABLE, 50).0;
        let single = run::<f32>(&problem, &state, Addressing::Implicit, 1, Level::PORTABLE, 50).0;
        assert!(reference.displacement.iter().any(|u| u.abs() > 0.01));
        for level in Level::available() {
            for addressing in ADDRESSINGS {
                for threads in [1, 3] {
                    let what = format!("{directions} {materials} {level:?} {addressing:?} {threads}");
                    let state_64 = run::<f64>(&problem, &state, addressing, threads, level, 50).0;
                    assert_eq!(bits(&state_64.displacement), bits(&reference.displacement), "{what}");
                    assert_eq!(bits(&state_64.increment), bits(&reference.increment), "{what}");
                    let work = (state_64.external_work - reference.external_work).abs();
                    let heat = (state_64.dissipated - reference.dissipated).abs();
                    assert!(work <= 1e-13 && heat <= 1e-13 * reference.dissipated, "{what}");
                    let state_32 = run::<f32>(&problem, &state, addressing, threads, level, 50).0;
                    assert_eq!(bits(&state_32.displacement), bits(&single.displacement), "{what} f32");
                }
            }
        }
    }
}

#[test]
fn f32_keeps_to_f64() {
    let (mesh, groups) = rich(18, 1, false);
    let mut problem = problem(&mesh, groups, 1.0, 0.1);
    load(&mut problem);
    let state = disturbed(&problem, 1e-3);
    let double = run::<f64>(&problem, &state, Addressing::Implicit, 2, Level::detect(), 800).0;
    let single = run::<f32>(&problem, &state, Addressing::Implicit, 2, Level::detect(), 800).0;
    let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|x| x * x).sum::<f64>().sqrt();
    let difference = norm(&mut double.displacement.iter().zip(&single.displacement).map(|(a, b)| a - b));
    let error = difference / norm(&mut double.displacement.iter().copied());
    assert!(error < 5e-5, "{error:e}");
}

#[test]
fn the_step_agrees_with_the_law_in_plain_numbers() {
    let (mesh, groups) = rich(26, 2, true);
    let mut problem = problem(&mesh, groups, 1.0, 0.1);
    load(&mut problem);
    problem.damping = SpringDamping::Alpha(0.3);
    let state = disturbed(&problem, 0.05);
    let springs = Springs::new(&problem).unwrap();
    let n = problem.n_particles();
    let mut force = vec![0.0; 3 * n];
    springs.ends(0..n, |i, j, _, law| {
        let of = |a: &[f64]| std::array::from_fn(|c| a[3 * j + c] - a[3 * i + c]);
        let pull = law.force(of(&state.displacement), of(&state.increment).map(|x: f64| x / 0.1)).0;
        (0..3).for_each(|c| force[3 * i + c] += pull[c]);
    });
    force[40] += 0.6;
    let (after, _) = run::<f64>(&problem, &state, Addressing::Implicit, 1, Level::detect(), 1);
    for dof in 30..3 * n {
        let acceleration = force[dof] / problem.mass[dof / 3] + [0.0, 0.01, -0.02][dof % 3];
        let expected = ((1.0 - 0.015) * state.increment[dof] + 0.01 * acceleration) / 1.015;
        assert!((after.increment[dof] - expected).abs() < 1e-15, "{dof}");
    }
    assert!(after.displacement[..30].iter().zip(&state.displacement).all(|(a, b)| a == b));
}

/// Springs with E A, each of another length, and others.
fn net(n: usize, sections: u16) -> (SpringMesh, Vec<SpringGroup>) {
    let positions: Vec<[f64; 3]> =
        (0..n).map(|i| std::array::from_fn(|c| noise((3 * i + c) as u64) + 0.01 * i as f64)).collect();
    let springs: Vec<(u32, u32, u16)> = (0..n as u32)
        .flat_map(|i| [1, 3, 17, 40].map(|step| (i, i + step, (i + step) as u16 % sections)))
        .filter(|spring| spring.1 < n as u32)
        .collect();
    let groups = vec![
        SpringGroup { axial_stiffness: 2.0, rest_factor: 0.98, damping: 0.1, ..group(0.3) },
        SpringGroup { axial_stiffness: 0.7, ..group(0.0) },
        SpringGroup { max_strain: 0.1, ..group(1.0) },
    ];
    (deck(&positions, &springs, 64), groups)
}

/// A section is one kind, however many lengths it has; more than 65,535 here.
#[test]
fn springs_with_a_section_need_no_kind_for_each_length() {
    for (n, sections) in [(20_000, 1), (600, 2)] {
        let (mesh, groups) = net(n, sections);
        let mut problem = problem(&mesh, groups[..usize::from(sections)].to_vec(), 1.0, 0.05);
        problem.follow_work = true;
        let state = disturbed(&problem, 0.02);
        let springs = Springs::new(&problem).unwrap();
        let mut expected = state.increment.clone();
        springs.ends(0..n, |i, j, group, law| {
            let of = |a: &[f64]| std::array::from_fn(|c| a[3 * j + c] - a[3 * i + c]);
            let length = law.rest.iter().map(|d| d * d).sum::<f64>().sqrt();
            let k = [0.3 + 2.0 / length, 0.7 / length][group as usize];
            assert!((law.stiffness / k - 1.0).abs() < 1e-15);
            let pull = law.force(of(&state.displacement), of(&state.increment).map(|x: f64| x / 0.05)).0;
            (0..3).for_each(|c| expected[3 * i + c] += 0.0025 * pull[c]);
        });
        for addressing in [Addressing::Explicit, Addressing::ExplicitGlobal] {
            let after = run::<f64>(&problem, &state, addressing, 2, Level::detect(), 1).0;
            let worst = after.increment.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(worst < 1e-14, "{addressing:?} {worst}");
            let single = run::<f32>(&problem, &state, addressing, 1, Level::detect(), 1).0;
            let worst = single.increment.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(worst < 1e-6, "{addressing:?} {worst}");
        }
    }
}

/// Two masses on a spring: small motion is exactly cos of the scheme's own frequency, sin(ω̃Δt/2) = ωΔt/2.
#[test]
fn two_masses_oscillate_as_the_scheme_does_exactly() {
    let mesh = deck(&[[0.0; 3], [1.0, 0.0, 0.0]], &[(0, 1, 0)], 32);
    let (k, m, dt): (f64, f64, f64) = (3.0, 0.5, 0.1);
    let problem = problem(&mesh, vec![group(k)], m, dt);
    // Along one axis the force is k (l − L) exactly: no approximation of small motion.
    let state = problem.start(vec![-0.1, 0.0, 0.0, 0.1, 0.0, 0.0], &[0.0; 6], &[1.0], &[1.0]).unwrap();
    for addressing in [Addressing::Explicit, Addressing::ExplicitGlobal] {
        let (after, _) = run::<f64>(&problem, &state, addressing, 1, Level::detect(), 1000);
        let frequency = 2.0 / dt * ((2.0 * k / m).sqrt() * dt / 2.0).asin();
        let expected = 0.1 * (frequency * 1000.0 * dt).cos();
        assert!((after.displacement[3] - expected).abs() < 1e-12, "{} {expected}", after.displacement[3]);
        assert!((after.displacement[0] + expected).abs() < 1e-12);
    }
}

/// A chain fixed at one end: its modes are those of the scheme, too.
#[test]
fn a_chain_swings_in_its_modes() {
    let n = 20;
    let mesh = lattice([n, 1, 1], [1.0; 3], 6, 32, |_| Some(0));
    let (k, m, dt) = (2.0f64, 1.0f64, 0.2f64);
    let mut problem = problem(&mesh, vec![group(k), group(0.0), group(0.0)], m, dt);
    problem.constraints =
        [0, 3 * (n as u64 - 1)].iter().map(|&dof| Constraint { dof, signal: 0, value: 0.0 }).collect();
    for mode in [1, 3] {
        let wave = std::f64::consts::PI * mode as f64 / (n - 1) as f64;
        let shape: Vec<f64> =
            (0..3 * n).map(|i| if i % 3 == 0 { 0.01 * (wave * (i / 3) as f64).sin() } else { 0.0 }).collect();
        let state = problem.start(shape.clone(), &vec![0.0; 3 * n], &[1.0], &[1.0]).unwrap();
        let frequency = 2.0 * (k / m).sqrt() * (wave / 2.0).sin();
        let scheme = 2.0 / dt * (frequency * dt / 2.0).asin();
        for addressing in ADDRESSINGS {
            let (after, _) = run::<f64>(&problem, &state, addressing, 1, Level::detect(), 500);
            let factor = (scheme * 500.0 * dt).cos();
            for (u, shape) in after.displacement.iter().zip(&shape) {
                assert!((u - factor * shape).abs() < 1e-12, "{u} {}", factor * shape);
            }
        }
    }
}

#[test]
fn energy_swings_about_its_value_with_the_square_of_the_increment_and_momentum_stays() {
    let (mesh, groups) = rich(18, 1, false);
    let mut swing = Vec::new();
    for dt in [0.1, 0.05] {
        let problem = problem(&mesh, groups.clone(), 1.0, dt);
        let n = 3 * problem.n_particles();
        let velocity = random(n, 0.05, 7);
        let state = problem.start(random(n, 0.05, 1), &velocity, &[1.0], &[1.0]).unwrap();
        let mut stepper =
            CpuStepper::<f64>::new(problem.clone(), &state, Addressing::Implicit, 2, Level::detect()).unwrap();
        let total = |stepper: &CpuStepper<f64>| {
            let energies = stepper.energies(&[1.0, 1.0]).unwrap();
            let momentum: [f64; 3] = std::array::from_fn(|c| velocity.iter().skip(c).step_by(3).sum());
            assert!((0..3).all(|c| (energies.momentum[c] - momentum[c]).abs() < 1e-12), "{:?}", energies.momentum);
            energies.kinetic + energies.elastic
        };
        let first = total(&stepper);
        let mut most = 0.0f64;
        for _ in 0..60 {
            stepper.advance((1.0 / dt) as usize, &constant(20), &[], &mut Vec::new()).unwrap();
            most = most.max((total(&stepper) / first - 1.0).abs());
        }
        swing.push(most);
    }
    assert!(swing[0] < 0.1 && swing[1] < swing[0] / 3.0, "{swing:?}");
}

/// Work is that up to t_n, not up to the middle of the step before, also where it is being done.
#[test]
fn work_is_known_at_every_step_to_second_order() {
    let (mesh, groups) = rich(18, 1, false);
    let mut balance = Vec::new();
    for refine in [1, 2, 4] {
        let mut problem = problem(&mesh, groups.clone(), 1.0, 0.1 / f64::from(refine));
        let n = 3 * problem.n_particles();
        problem.forces =
            vec![NodalForce { dof: 40, signal: 0, value: 0.5 }, NodalForce { dof: 101, signal: 0, value: -0.2 }];
        problem.constraints = (0..30).map(|dof| Constraint { dof, signal: 1, value: 0.1 }).collect();
        problem.follow_work = true;
        let steps = 20 * refine as usize;
        let row = |k: usize| [1.0, (k as f64 / steps as f64).powi(3)];
        let signals = SignalTable { n_signals: 2, values: (0..=steps + 1).flat_map(row).collect() };
        let state = problem.start(vec![0.0; n], &vec![0.0; n], &signals.values[..2], &signals.values[..2]).unwrap();
        let mut stepper =
            CpuStepper::<f64>::new(problem.clone(), &state, Addressing::Explicit, 1, Level::detect()).unwrap();
        let (mut error, mut work) = (0.0f64, 0.0);
        for step in 0..steps {
            let here = SignalTable { n_signals: 2, values: signals.values[2 * step..2 * step + 4].to_vec() };
            stepper.advance(1, &here, &[], &mut Vec::new()).unwrap();
            let e = stepper.energies(&signals.values[2 * step + 2..2 * step + 6]).unwrap();
            error = error.max((e.kinetic + e.elastic - e.external_work).abs());
            work = e.external_work;
        }
        assert!(work > 0.01, "{work}");
        balance.push(error / work);
    }
    assert!(balance[2] < 0.02 && balance[2] < 0.1 * balance[0], "{balance:?}");
}

#[test]
fn work_is_kept_account_of() {
    for damping in [SpringDamping::Lambda(0.01), SpringDamping::Alpha(0.2)] {
        let (mesh, groups) = rich(18, 2, true);
        let mut balance = Vec::new();
        for refine in [1, 2, 4] {
            let mut problem = problem(&mesh, groups.clone(), 1.0, 0.05 / f64::from(refine));
            load(&mut problem);
            problem.damping = match damping {
                SpringDamping::Lambda(lambda) => SpringDamping::Lambda(lambda / f64::from(refine)),
                alpha => alpha,
            };
            problem.constraints[0].value = 0.3;
            problem.follow_work = true;
            let n = 3 * problem.n_particles();
            let state = problem.start(random(n, 0.02, 1), &random(n, 0.05, 3), &[0.0], &[0.0]).unwrap();
            let steps = 40 * refine as usize;
            // The signal rises smoothly, so that driven particles start and end at rest.
            let rise = |k: usize| 0.5 - 0.5 * (std::f64::consts::PI * k as f64 / steps as f64).cos();
            let signals = SignalTable { n_signals: 1, values: (0..=steps).map(rise).collect() };
            problem.gravity.clear();
            let mut stepper =
                CpuStepper::<f64>::new(problem.clone(), &state, Addressing::Explicit, 2, Level::detect()).unwrap();
            let total = |e: Energies| e.kinetic + e.elastic + e.dissipated - e.external_work;
            let before = total(stepper.energies(&signals.values[..2]).unwrap());
            stepper.advance(steps, &signals, &[], &mut Vec::new()).unwrap();
            let after = stepper.energies(&[1.0, 1.0]).unwrap();
            assert!(after.dissipated > 0.05 * before && after.external_work.abs() > 1e-3, "{after:?}");
            balance.push((total(after) / before - 1.0).abs());
        }
        // Of second order but for the dampers, which act with the velocity of the step before.
        assert!(balance[2] < 0.02 && balance[2] < 0.5 * balance[0], "{balance:?}");
    }
}

#[test]
fn a_run_continues_bit_for_bit_and_records_what_it_did() {
    let (mesh, mut groups) = rich(18, 2, true);
    groups.iter_mut().for_each(|group| group.max_strain = 0.05);
    let mut problem = problem(&mesh, groups, 1.0, 0.1);
    load(&mut problem);
    problem.cuts = vec![Cut {
        name: "cut".into(),
        time: 1.0,
        frame: CutFrame::Current,
        shape: CutShape::Plane { point: [10.3, 0.0, 0.0], normal: [1.0, 0.2, 0.1] },
    }];
    let state = disturbed(&problem, 0.05);
    for addressing in ADDRESSINGS {
        let make =
            |state: &State| CpuStepper::<f32>::new(problem.clone(), state, addressing, 2, Level::detect()).unwrap();
        let (mut whole, mut recording) = (make(&state), Vec::new());
        whole.advance(40, &constant(40), &[0, 5, 39], &mut recording).unwrap();
        assert_eq!(recording.len(), 27);
        assert_eq!(recording[0], f64::from(state.displacement[40] as f32));
        assert_eq!(recording[6 + 1], f64::from(state.increment[7] as f32));
        let (mut first, mut again) = (make(&state), Vec::new());
        first.advance(10, &constant(10), &[0, 5], &mut again).unwrap();
        let middle = first.state().unwrap();
        let mut second = make(&middle);
        second.advance(30, &constant(30), &[39], &mut again).unwrap();
        assert_eq!(bits(&recording), bits(&again));
        assert_eq!(whole.state().unwrap(), second.state().unwrap());
        let causes = |cause: fn(&Cause) -> bool| whole.changes().iter().filter(|c| cause(&c.cause)).count();
        let [broken, cut] = [causes(|c| matches!(c, Cause::Broken)), causes(|c| matches!(c, Cause::Cut(0)))];
        assert!(broken > 5 && cut > 50, "{broken} {cut}");
    }
}

/// Supports, forces and gravity are all that changes momentum, whatever springs, dampers and cuts do.
#[test]
fn reactions_balance_momentum() {
    let (mesh, mut groups) = rich(26, 2, true);
    groups.iter_mut().for_each(|group| group.max_strain = 0.1);
    let mut problem = problem(&mesh, groups, 1.0, 0.1);
    load(&mut problem);
    problem.constraints[4].value = 0.02;
    problem.cuts = vec![Cut {
        name: "cut".into(),
        time: 1.0,
        frame: CutFrame::Current,
        shape: CutShape::Plane { point: [3.0, 0.0, 0.0], normal: [1.0, 0.2, 0.1] },
    }];
    problem.monitors = (0..3 * problem.n_particles() as u64).collect();
    let dofs: Vec<u64> = problem.constraints.iter().map(|constraint| constraint.dof).collect();
    let n = 40;
    let signals = SignalTable { n_signals: 1, values: (0..=n).map(|k| 1.0 + 0.3 * (0.2 * k as f64).sin()).collect() };
    for damping in [SpringDamping::Lambda(0.01), SpringDamping::Alpha(0.3)] {
        problem.damping = damping;
        let state = disturbed(&problem, 0.04);
        let mut stepper =
            CpuStepper::<f64>::new(problem.clone(), &state, Addressing::Automatic, 2, Level::detect()).unwrap();
        let (record, mut recording): (Vec<u64>, _) = ((0..n as u64).collect(), Vec::new());
        stepper.advance(n, &signals, &record, &mut recording).unwrap();
        assert!(stepper.changes().len() > 100, "{}", stepper.changes().len());
        let mut reactions = Reactions::new(problem.clone(), dofs.clone(), Vec::new()).unwrap();
        let needed = reactions.monitors();
        assert!(needed.len() > dofs.len() && needed.is_sorted());
        reactions.learn(stepper.changes());
        let [a, b] = problem.damping_factors();
        let mut found = Vec::new();
        for step in 0..n {
            let motion: &[[f64; 3]] = recording.as_chunks().0;
            let motion = &motion[step * problem.monitors.len()..(step + 1) * problem.monitors.len()];
            let of = |dof: u64| {
                assert!(needed.binary_search(&dof).is_ok());
                motion[dof as usize]
            };
            let now = signals.values[step];
            reactions.at(step as u64, &[now], of, &mut found);
            let gravity = problem.gravity_at(&[now]);
            for c in 0..3 {
                let (mut inertia, mut size) = (0.0, 0.0);
                for (i, [_, before, after]) in motion.iter().enumerate().filter(|(dof, _)| dof % 3 == c) {
                    let mass = problem.mass_of(i / 3);
                    let force = mass * ((after - a * before) / (b * 0.1 * 0.1) - gravity[c]);
                    inertia += force;
                    size += force.abs();
                }
                let held: f64 = dofs.iter().zip(&found).filter(|(dof, _)| **dof % 3 == c as u64).map(|(_, f)| f).sum();
                let forces = problem.forces.iter().filter(|force| force.dof % 3 == c as u64);
                let forces: f64 = forces.map(|force| force.value * now).sum();
                assert!((inertia - held - forces).abs() < 1e-12 * size, "{step} {c}: {inertia} {held} {forces} {size}");
                assert!(held.abs() > 1e-6 * size, "{step} {c}: {held} {size}");
            }
        }
    }
}

#[test]
fn springs_break_at_both_ends_and_alike_in_all_addressings() {
    let (mesh, mut groups) = rich(26, 2, true);
    groups.iter_mut().for_each(|group| group.max_strain = 0.1);
    let mut problem = problem(&mesh, groups, 1.0, 0.1);
    problem.mass = vec![1.0];
    let state = disturbed(&problem, 0.06);
    let (reference, [before, after]) = run::<f64>(&problem, &state, Addressing::Implicit, 1, Level::PORTABLE, 40);
    assert!(reference.changes.len() > 20, "{}", reference.changes.len());
    assert!(reference.changes.is_sorted());
    assert_eq!(mesh.view().n_springs() as u64 - after.n_springs, reference.changes.len() as u64);
    assert!((0..3).all(|c| (before.momentum[c] - after.momentum[c]).abs() < 1e-11));
    for level in Level::available() {
        for addressing in ADDRESSINGS {
            let (state, _) = run::<f64>(&problem, &state, addressing, 2, level, 40);
            assert_eq!(state.changes, reference.changes);
            assert_eq!(bits(&state.displacement), bits(&reference.displacement), "{addressing:?}");
        }
    }
}

#[test]
fn a_spring_breaks_at_its_limit_and_not_before() {
    let mesh = deck(&[[0.0; 3], [0.0, 2.0, 0.0]], &[(0, 1, 0)], 32);
    let strong = SpringGroup { max_strain: 0.1, rest_factor: 0.5, ..group(1.0) };
    for (stretch, broken) in [(-0.901, 0), (-0.899, 1)] {
        let problem = problem(&mesh, vec![strong.clone()], 1.0, 1e-6);
        let state = problem.start(vec![0.0, 0.0, 0.0, 0.0, stretch, 0.0], &[0.0; 6], &[1.0], &[1.0]).unwrap();
        let (after, energies) = run::<f64>(&problem, &state, Addressing::Explicit, 1, Level::detect(), 3);
        assert_eq!(after.changes.len(), broken, "{stretch}");
        assert!(energies.iter().all(|each| each.n_springs == 1 - broken as u64));
        // What breaks or is cut at t = 0 does not pull at all, not even to the other side.
        assert_eq!(after.displacement == state.displacement, broken == 1);
    }
    let shape = CutShape::Plane { point: [0.0, 1.0, 0.0], normal: [0.0, 1.0, 0.0] };
    let cut = Cut { name: "cut".into(), time: 0.0, frame: CutFrame::Rest, shape };
    let pulling = SpringGroup { rest_factor: 0.5, ..group(1.0) };
    let problem = SpringProblem { cuts: vec![cut], ..problem(&mesh, vec![pulling], 1.0, 0.1) };
    for addressing in [Addressing::Explicit, Addressing::ExplicitGlobal] {
        let state = problem.start(vec![0.0; 6], &[0.0; 6], &[1.0], &[1.0]).unwrap();
        let (after, energies) = run::<f64>(&problem, &state, addressing, 1, Level::detect(), 3);
        assert_eq!((after.displacement, after.changes.len()), (vec![0.0; 6], 1));
        assert!(energies.iter().all(|each| each.kinetic == 0.0 && each.elastic == 0.0));
    }
}

/// Springs whose ends lie on different sides of a plane at rest, counted by hand.
#[test]
fn planes_sheets_and_blades_cut_what_they_cross() {
    let size = [12, 9, 8];
    let mesh = lattice(size, [1.0; 3], 18, 64, |_| Some(0));
    let cut = |shape| Cut { name: "cut".into(), time: 0.35, frame: CutFrame::Rest, shape };
    let sheet = |y: f64| CutShape::Sheet { corner: [4.5, -0.5, -0.5], edges: [[0.0, y, 0.0], [0.0, 0.0, 9.0]] };
    // Between two layers a particle has 1 axis and 4 face diagonals across; those at the rims have fewer.
    let (ny, nz) = (9, 8);
    let across = ny * nz + 2 * (ny - 1) * nz + 2 * ny * (nz - 1);
    let blade = CutShape::Blade {
        times: vec![0.0, 1.0, 2.0],
        from: vec![[4.5, -0.5, -0.5], [4.5, 4.0, -0.5], [4.5, 9.5, -0.5]],
        to: vec![[4.5, -0.5, 8.5], [4.5, 4.0, 8.5], [4.5, 9.5, 8.5]],
    };
    let cases = [
        (cut(CutShape::Plane { point: [4.5, 0.0, 0.0], normal: [2.0, 0.0, 0.0] }), across, 4),
        (cut(sheet(10.0)), across, 4),
        // Four rows of particles, and the diagonals that meet x = 4.5 at y ≤ 3.5: half a row's up and down.
        (cut(sheet(4.0)), 4 * nz + 2 * 4 * (nz - 1) + 2 * 3 * nz + 2 * nz, 4),
        (cut(blade), across, 4),
    ];
    for (cut, expected, first) in cases {
        for addressing in ADDRESSINGS {
            let mut problem = problem(&mesh, vec![group(1.0), group(1.0), group(1.0)], 1.0, 0.1);
            problem.cuts = vec![cut.clone()];
            let state = problem.start(vec![0.0; 3 * 864], &[0.0; 3 * 864], &[1.0], &[1.0]).unwrap();
            let (after, energies) = run::<f64>(&problem, &state, addressing, 2, Level::detect(), 40);
            assert_eq!(after.changes.len(), expected, "{:?}", cut.shape);
            assert_eq!(energies[0].n_springs - energies[1].n_springs, expected as u64);
            assert!(after.changes[0].step >= first && after.changes.iter().all(|c| c.cause == Cause::Cut(0)));
            let blade = matches!(cut.shape, CutShape::Blade { .. });
            assert_eq!(after.changes.iter().any(|c| c.step > first), blade);
        }
    }
}

#[test]
fn springs_are_erased_and_added_at_their_times() {
    let (mesh, groups) = rich(6, 1, false);
    let view = mesh.view();
    let axis = view.springs(200).next().unwrap().other;
    // A face diagonal of the grid, which the mesh lacks, and a spring to somewhere else.
    let place = |i: usize| -> [i32; 3] {
        std::array::from_fn(|c| (mesh.coordinates[3 * i + c] / [1.0, 1.1, 0.9][c]).round() as i32)
    };
    let diagonal = (0..view.n_particles())
        .find(|&j| (0..3).map(|c| place(j)[c] - place(200)[c]).eq([1, -1, 0]))
        .map(|j| j as u32)
        .unwrap();
    let erasure = SpringErasure { name: "a".into(), time: 0.5, springs: vec![[200, axis], [3, 3]] };
    let add = |time, group, to| SpringAddition { name: "b".into(), time, group, springs: vec![[200, to]] };
    for far in [false, true] {
        let mut problem = problem(&mesh, groups.clone(), 1.0, 0.1);
        problem.erasures = vec![erasure.clone()];
        problem.additions = vec![add(0.8, 1, diagonal), add(1.0, 0, axis)];
        if far {
            problem.additions.push(add(1.2, 2, 700));
        }
        let state = disturbed(&problem, 0.05);
        let expected: Vec<(u64, Cause)> =
            [(5, Cause::Erased(0)), (8, Cause::Added(0)), (10, Cause::Added(1)), (12, Cause::Added(2))]
                [..3 + usize::from(far)]
                .to_vec();
        let mut states = Vec::new();
        for addressing in ADDRESSINGS {
            if far && addressing == Addressing::Implicit {
                let refused = CpuStepper::<f64>::new(problem.clone(), &state, addressing, 1, Level::detect());
                assert!(matches!(refused, Err(SpringError::NotInGrid { particles: [200, 700] })));
                continue;
            }
            let (after, energies) = run::<f64>(&problem, &state, addressing, 2, Level::detect(), 30);
            let found: Vec<(u64, Cause)> = after.changes.iter().map(|c| (c.step, c.cause)).collect();
            assert_eq!(found, expected);
            assert_eq!(energies[1].n_springs, energies[0].n_springs + 1 + u64::from(far));
            assert!((0..3).all(|c| (energies[0].momentum[c] - energies[1].momentum[c]).abs() < 1e-12));
            // The energies know the added springs from the mesh alone: what the step makes of them must agree.
            let total = |e: &Energies| e.kinetic + e.elastic;
            assert!((total(&energies[1]) / total(&energies[0]) - 1.0).abs() < 0.2);
            states.push(after);
        }
        assert!(states.windows(2).all(|pair| bits(&pair[0].displacement) == bits(&pair[1].displacement)));
    }
}

#[test]
fn the_bound_on_the_increment_is_one() {
    // A chain: ω = 2 √(k/m) (1 at the ends of the spectrum), so Δt = √(m/k); the bound is exact for long chains.
    let chain = lattice([50, 1, 1], [1.0; 3], 6, 32, |_| Some(0));
    let mut problem_of_chain = problem(&chain, vec![group(4.0), group(0.0), group(0.0)], 1.0, 1.0);
    assert!((stable_increment(&problem_of_chain).unwrap() - 0.5).abs() < 1e-12);
    problem_of_chain.groups[0].damping = 0.3;
    assert!(stable_increment(&problem_of_chain).unwrap() < 0.5);
    let (mesh, groups) = rich(26, 2, true);
    for (factor, stable) in [(0.999, true), (2.2, false)] {
        let mut problem = problem(&mesh, groups.clone(), 1.0, 1.0);
        problem.time_increment = factor * stable_increment(&problem).unwrap();
        let n = 3 * problem.n_particles();
        let state = problem.start(random(n, 1e-6, 1), &vec![0.0; n], &[1.0], &[1.0]).unwrap();
        let (after, _) = run::<f64>(&problem, &state, Addressing::Implicit, 2, Level::detect(), 500);
        assert_eq!(after.displacement.iter().all(|u| u.abs() < 1e-4), stable, "{factor}");
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let mesh = deck(&[[0.0; 3], [1.0, 0.0, 0.0]], &[(0, 1, 0)], 32);
    let good = problem(&mesh, vec![group(1.0)], 1.0, 0.1);
    let state = good.start(vec![0.0; 6], &[0.0; 6], &[1.0], &[1.0]).unwrap();
    let refused = |change: &dyn Fn(&mut SpringProblem)| {
        let mut problem = good.clone();
        change(&mut problem);
        CpuStepper::<f32>::new(problem, &state, Addressing::Automatic, 1, Level::detect())
            .err()
            .map(|error| error.to_string())
    };
    assert_eq!(refused(&|_| ()), None);
    type Change<'a> = &'a dyn Fn(&mut SpringProblem);
    let cases: [(Change, &str); 8] = [
        (&|p| p.mass = vec![0.0], "mass"),
        (&|p| p.mass = vec![1.0; 3], "masses"),
        (&|p| p.time_increment = f64::NAN, "increment"),
        (&|p| p.groups[0].stiffness = -1.0, "stiffness"),
        (&|p| p.groups.clear(), "group"),
        (&|p| p.forces = vec![NodalForce { dof: 6, signal: 0, value: 1.0 }], "force"),
        (&|p| p.constraints = vec![Constraint { dof: 0, signal: 0, value: 1.0 }; 2], "twice"),
        (&|p| p.monitors = vec![9], "monitor"),
    ];
    for (change, word) in cases {
        let message = refused(change).unwrap();
        assert!(message.contains(word), "{message}");
    }
    assert!(matches!(
        CpuStepper::<f64>::new(good.clone(), &state, Addressing::Implicit, 1, Level::detect()),
        Err(SpringError::NoGrid)
    ));
}

#[test]
fn a_mesh_that_contradicts_itself_is_refused() {
    // A chain in two blocks: the second has one particle and a halo.
    let n = 33;
    let points: Vec<[f64; 3]> = (0..n).map(|i| [f64::from(i), 0.0, 0.0]).collect();
    let good = deck(&points, &(1..n as u32).map(|i| (i - 1, i, 0)).collect::<Vec<_>>(), 32);
    let said = |change: &dyn Fn(&mut SpringMesh)| {
        let mut mesh = good.clone();
        change(&mut mesh);
        Springs::new(&problem(&mesh, vec![group(1.0)], 1.0, 0.1)).err().map(|error| error.to_string())
    };
    assert_eq!(said(&|_| ()), None);
    let last = *good.lists.first.last().unwrap() as usize - 32;
    assert_eq!(good.lists.count[32], 1);
    assert!(good.lists.neighbour[last] >= 32, "the last particle's spring leads to the halo");
    type Change<'a> = &'a dyn Fn(&mut SpringMesh);
    let cases: [(Change, &str); 7] = [
        (&|mesh| mesh.lists.neighbour[0] = 0, "a spring leads nowhere"),
        (&|mesh| mesh.lists.neighbour[last] = 33, "a spring leads nowhere"),
        (&|mesh| mesh.lists.neighbour[last] = 1, "a spring leads nowhere"),
        (&|mesh| mesh.lists.group[last] = 1, "a spring has an unknown group"),
        (&|mesh| mesh.lists.halo[0] = 33, "a halo has a particle"),
        (&|mesh| mesh.lists.halo[1] = 32, "a halo has a particle"),
        (&|mesh| mesh.lists.count[32] = 2, "a particle has more springs"),
    ];
    for (change, message) in cases {
        let said = said(change).unwrap();
        assert!(said.starts_with(message), "{said}");
    }
}
