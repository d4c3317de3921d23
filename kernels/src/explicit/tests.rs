//! The steppers against the dense reference and against what must be conserved. The suite takes the instruction set as
//! an argument and runs for each that the machine has.

mod device;
mod gpu;
mod ground;
mod held;
mod lag;
mod relaxation;

use std::sync::Arc;

use pogo_formats::dynamics::CopiedDisplacements;
use pogo_formats::explicit::Lumping;
use pogo_formats::explicit::block::Blocks;
use pogo_formats::mesh::{ElementKind, Mesh};

use super::elements::{SectionProperties, element_stiffness, lumped_mass, stable_increment};
use super::team::HaloMember;
use super::*;
use crate::dynamics::{Constraint, NodalForce, Part, SignalTable, State, recorded_in};
use crate::ranks::{Ranks, Serves, Threads};
use crate::simd::{Level, Real};
use crate::test_support::{anisotropic, box_blocks, box_mesh, isotropic, noise, section};

/// A mesh in blocks with its sections.
#[derive(Clone)]
struct Case {
    mesh: Mesh,
    blocks: Blocks,
    sections: Vec<SectionProperties>,
    /// β of the sections in increments of 0.9 of the stable one, or empty.
    lags: Vec<f64>,
}

impl Case {
    /// A jittered box with sides of 5 to 8 cells of 1 mm, in several blocks.
    fn new(kind: ElementKind, elasticity: [f64; 36]) -> Self {
        let case = Self::of(kind, [8, 7, 5], elasticity);
        assert!(case.blocks.n_boundary.len() > 1);
        case
    }

    /// A plane box in so many blocks that several are stepped as one.
    fn in_groups(kind: ElementKind, elasticity: [f64; 36]) -> Self {
        let case = Self::of(kind, [38, 38, 0], elasticity);
        assert!(case.blocks.n_boundary.len() > 60);
        case
    }

    fn of(kind: ElementKind, cells: [usize; 3], elasticity: [f64; 36]) -> Self {
        let mesh = box_mesh(kind, cells, 1e-3, 0.2);
        let (mesh, blocks) = box_blocks(&mesh, 4e-3);
        let mut section = section(elasticity);
        if kind.dimension() == 2 {
            section.thickness = 2e-3;
        }
        Self { mesh, blocks, sections: vec![section], lags: Vec::new() }
    }

    fn problem(&self) -> Problem<'_> {
        let mesh = self.mesh.view();
        let lumped_mass = lumped_mass(&mesh, &self.sections, Lumping::RowSum).unwrap();
        let stable = stable_increment(&mesh, &self.sections, &[], &lumped_mass).unwrap();
        Problem {
            mesh,
            blocks: self.blocks.view(),
            device: None,
            sections: self.sections.clone(),
            stiffness_factor: Vec::new(),
            lumped_mass,
            damping_rate: Vec::new(),
            dashpots: Vec::new(),
            damping_beta: self.lags.iter().map(|lag| lag * 0.9 * stable.increment).collect(),
            relaxation: Default::default(),
            time_increment: 0.9 * stable.increment,
            forces: Vec::new(),
            constraints: Vec::new(),
            monitors: Vec::new(),
            copied: Default::default(),
            rows: Default::default(),
            wet: Vec::new(),
            tied: Vec::new(),
        }
    }

    fn rest(&self) -> State {
        let n = self.mesh.coordinates.len();
        State { displacement: vec![0.0; n], increment: vec![0.0; n], ..State::default() }
    }

    fn noise(&self, amplitude: f64) -> Vec<f64> {
        (0..self.mesh.coordinates.len()).map(|i| amplitude * noise(i as u64 + 77)).collect()
    }
}

/// A case of every kind, then some in which several blocks are stepped as one.
fn cases(elasticity: [f64; 36]) -> impl Iterator<Item = (ElementKind, Case)> {
    let grouped = [ElementKind::Cpe3, ElementKind::Cps4, ElementKind::Cpe4r];
    let small = ElementKind::ALL.into_iter().map(move |kind| (kind, Case::new(kind, elasticity)));
    small.chain(grouped.into_iter().map(move |kind| (kind, Case::in_groups(kind, elasticity))))
}

/// K u by dense element matrices.
fn reference_force(problem: &Problem, displacement: &[f64]) -> Vec<f64> {
    let mesh = &problem.mesh;
    let d = mesh.dimension;
    let mut out = vec![0.0; displacement.len()];
    let mut e = 0;
    for group in &mesh.groups {
        for (nodes, &section) in group.connectivity.chunks_exact(group.kind.n_nodes()).zip(group.section) {
            let mut x = [[0.0; 3]; 8];
            for (row, &node) in x.iter_mut().zip(nodes) {
                row[..d].copy_from_slice(&mesh.coordinates[node as usize * d..node as usize * d + d]);
            }
            let k = element_stiffness(group.kind, &x, &problem.sections[section as usize]);
            let factor = problem.stiffness_factor.get(e).copied().unwrap_or(1.0);
            let dofs: Vec<usize> = nodes.iter().flat_map(|&node| (0..d).map(move |i| node as usize * d + i)).collect();
            for (row, &target) in dofs.iter().enumerate() {
                for (column, &source) in dofs.iter().enumerate() {
                    out[target] += factor * k[row * dofs.len() + column] * displacement[source];
                }
            }
            e += 1;
        }
    }
    out
}

fn difference(a: &[f64], b: &[f64]) -> f64 {
    let norm = b.iter().map(|v| v * v).sum::<f64>().sqrt();
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt() / norm
}

fn signals(n: usize, f: impl Fn(f64) -> f64) -> SignalTable {
    SignalTable { n_signals: 1, values: (0..=n).map(|i| f(i as f64)).collect() }
}

#[test]
fn internal_force_is_that_of_the_dense_elements() {
    for elasticity in [isotropic(210e9, 0.3), anisotropic()] {
        for (kind, case) in cases(elasticity) {
            let mut problem = case.problem();
            let u = case.noise(1e-6);
            for scaled in [false, true] {
                if scaled {
                    problem.stiffness_factor =
                        (0..case.mesh.n_elements()).map(|e| 1.0 + 0.5 * noise(e as u64)).collect();
                }
                let expected = reference_force(&problem, &u);
                for level in Level::available() {
                    let double =
                        CpuStepper::<f64>::new(&problem, &case.rest(), CpuOptions { level, ..CpuOptions::new(1) })
                            .unwrap();
                    let single =
                        CpuStepper::<f32>::new(&problem, &case.rest(), CpuOptions { level, ..CpuOptions::new(1) })
                            .unwrap();
                    let error = difference(&double.internal_force(&u), &expected);
                    assert!(error < 1e-13, "{kind:?}, {level:?}, scaled {scaled}: {error:e}");
                    let error = difference(&single.internal_force(&u), &expected);
                    assert!(error < 2e-6, "{kind:?}, {level:?}, scaled {scaled}, single: {error:e}");
                }
            }
        }
    }
}

#[test]
fn energy_is_balanced_to_rounding_and_neither_threads_nor_waves_change_a_bit() {
    let mut n_waved = 0;
    for (kind, case) in cases(anisotropic()) {
        let mut problem = case.problem();
        let n_nodes = case.mesh.n_nodes();
        let d = case.mesh.dimension as usize;
        let dt = problem.time_increment;
        problem.damping_rate =
            (0..n_nodes).map(|i| if i % 3 == 0 { 0.02 / dt * (1.0 + noise(i as u64)) } else { 0.0 }).collect();
        problem.forces = vec![NodalForce { dof: 5, signal: 0, value: 100.0 }];
        problem.constraints = vec![
            Constraint { dof: (n_nodes * d - 1) as u64, signal: 0, value: 1e-6 },
            Constraint { dof: (n_nodes * d / 2) as u64, signal: 0, value: 0.0 },
        ];
        problem.monitors = vec![0, 5, (n_nodes * d - 1) as u64];
        let steps = 60;
        let table = signals(steps, |t| (0.3 * t).sin());
        let mut start = case.rest();
        start.displacement = case.noise(1e-7);
        start.increment = case.noise(1e-8);
        let step_on = |start: &State, threads: usize, cache: usize| {
            CpuStepper::<f64>::new(&problem, start, CpuOptions { cache, ..CpuOptions::new(threads) }).unwrap()
        };
        let bytes = step_on(&start, 1, 0).bytes_per_node_step() as usize * n_nodes;
        let run = |threads: usize, cut: usize, cache: usize| {
            let mut stepper = step_on(&start, threads, cache);
            let mut recording = Vec::new();
            let first = SignalTable { n_signals: 1, values: table.values[..=cut].to_vec() };
            stepper.advance(cut, &first, &[0], &mut recording).unwrap();
            // Go on from the state, as a restart does.
            let mut stepper = step_on(&stepper.state().unwrap(), threads, cache);
            let rest = SignalTable { n_signals: 1, values: table.values[cut..].to_vec() };
            stepper.advance(steps - cut, &rest, &[steps as u64 - 1], &mut recording).unwrap();
            (stepper.state().unwrap(), recording)
        };
        let (end, recording) = run(1, 20, bytes);
        assert_eq!((end.clone(), recording.clone()), run(2, 20, bytes), "{kind:?}");
        assert_eq!((end.clone(), recording.clone()), run(3, 33, bytes), "{kind:?}");
        // In waves, where there are blocks enough.
        n_waved += usize::from(step_on(&start, 2, bytes / 10 * 9).runs_in_waves());
        assert_eq!((end.clone(), recording.clone()), run(1, 20, bytes / 10 * 9), "{kind:?}");
        assert_eq!((end.clone(), recording.clone()), run(2, 27, bytes / 10 * 9), "{kind:?}");
        assert_eq!(end.displacement[5], recording[9 + 3] + recording[9 + 5]);

        // ½ m (Δu/Δt)² + ½ u_{n+1}·K u_n − W + D.
        let energy = |state: &State, before: &[f64]| {
            let kinetic: f64 = state
                .increment
                .iter()
                .enumerate()
                .map(|(i, du)| 0.5 * problem.lumped_mass[i / d] * (du / dt).powi(2))
                .sum();
            let force = reference_force(&problem, before);
            let strain: f64 = 0.5 * force.iter().zip(&state.displacement).map(|(f, u)| f * u).sum::<f64>();
            (kinetic + strain, state.external_work, state.damped_energy)
        };
        let before = |state: &State| -> Vec<f64> {
            state.displacement.iter().zip(&state.increment).map(|(u, du)| u - du).collect()
        };
        let (initial, ..) = energy(&start, &before(&start));
        let (last, work, damped) = energy(&end, &before(&end));
        assert!(damped > 0.01 * initial && work != 0.0);
        let error = (last - work + damped - initial).abs() / initial.max(work.abs());
        assert!(error < 1e-11, "{kind:?}: {error:e}");
    }
    assert!(n_waved >= 2, "{n_waved} cases in waves");
}

/// Nodes that lie on the surface of the box of `Case`.
fn on_surface(case: &Case) -> Vec<bool> {
    let d = case.mesh.dimension as usize;
    let cells = [8.0, 7.0, 5.0];
    let at = |x: f64, end: f64| x.abs() < 1e-9 || (x - end * 1e-3).abs() < 1e-9;
    case.mesh.coordinates.chunks(d).map(|x| (0..d).any(|i| at(x[i], cells[i]))).collect()
}

#[test]
fn patch_test_and_rigid_motion() {
    for kind in ElementKind::SOLIDS {
        let case = Case::new(kind, anisotropic());
        let problem = case.problem();
        let d = case.mesh.dimension as usize;
        let stepper = CpuStepper::<f64>::new(&problem, &case.rest(), CpuOptions::new(2)).unwrap();
        // u = G x + t: G any matrix, then a rotation alone.
        for rigid in [false, true] {
            let g: Vec<f64> = (0..d * d)
                .map(|k| if rigid { (k % d) as f64 - (k / d) as f64 } else { noise(k as u64 + 5) })
                .map(|g| 1e-4 * g)
                .collect();
            let u: Vec<f64> = case
                .mesh
                .coordinates
                .chunks(d)
                .flat_map(|x| {
                    (0..d).map(|i| 1e-6 + (0..d).map(|j| g[i * d + j] * x[j]).sum::<f64>()).collect::<Vec<_>>()
                })
                .collect();
            let f = stepper.internal_force(&u);
            // The scale of one element's force: σ h^(d − 1).
            let scale = 200e9 * 1e-4 * 1e-6;
            for (node, surface) in on_surface(&case).into_iter().enumerate() {
                let largest = f[node * d..(node + 1) * d].iter().fold(0.0f64, |m, f| m.max(f.abs()));
                if rigid || !surface {
                    assert!(largest < 1e-9 * scale, "{kind:?}, node {node}, rigid {rigid}: {largest:e}");
                }
            }
            let fields = super::elements::element_fields(&problem.mesh, &problem.sections, &[], &u).unwrap();
            let first = &fields.stress[..6];
            assert!(rigid || first.iter().any(|s| s.abs() > 1e6));
            for stress in fields.stress.chunks(6) {
                for i in 0..6 {
                    assert!((stress[i] - first[i]).abs() < 1e-3, "{kind:?}: {stress:?} {first:?}");
                }
            }
            if kind.is_plane_stress() {
                assert!([2, 4, 5].iter().all(|&i| first[i].abs() < 1e-3), "{first:?}");
            }
        }
    }
}

#[test]
fn the_operator_is_symmetric() {
    for kind in ElementKind::ALL {
        let case = Case::new(kind, anisotropic());
        let problem = case.problem();
        let stepper = CpuStepper::<f64>::new(&problem, &case.rest(), CpuOptions::new(1)).unwrap();
        let (a, b) = (case.noise(1e-6), case.noise(1e-6).into_iter().rev().collect::<Vec<_>>());
        let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
        let (ab, ba) = (dot(&a, &stepper.internal_force(&b)), dot(&b, &stepper.internal_force(&a)));
        let scale = dot(&a, &stepper.internal_force(&a));
        assert!((ab - ba).abs() < 1e-13 * scale, "{kind:?}: {ab} {ba}");
    }
}

#[test]
fn single_precision_stays_near_double() {
    for kind in [ElementKind::Cpe3, ElementKind::Cps4, ElementKind::Cpe4r, ElementKind::C3d4, ElementKind::C3d8] {
        let case = Case::new(kind, isotropic(210e9, 0.3));
        let mut problem = case.problem();
        // Clamped at a corner's nodes, pulled by a pulse: a wave through the box and back.
        let d = case.mesh.dimension as usize;
        let node_at = |target: f64| {
            let sum = |x: &[f64]| (x.iter().sum::<f64>() - target).abs();
            let nodes = case.mesh.coordinates.chunks(d).enumerate();
            nodes.min_by(|a, b| sum(a.1).total_cmp(&sum(b.1))).unwrap().0
        };
        let (low, high) = (node_at(0.0), node_at(20e-3));
        problem.constraints = (0..d).map(|i| Constraint { dof: (low * d + i) as u64, signal: 0, value: 0.0 }).collect();
        problem.forces = vec![NodalForce { dof: (high * d) as u64, signal: 0, value: 1000.0 }];
        problem.time_increment *= 0.5;
        let steps = 400;
        let table = signals(steps, |t| if t < 60.0 { (t / 60.0 * std::f64::consts::PI).sin().powi(2) } else { 0.0 });
        let end = |stepper: &mut dyn Stepper<State = State>| {
            stepper.advance(steps, &table, &[], &mut Vec::new()).unwrap();
            stepper.state().unwrap().displacement
        };
        let double = end(&mut CpuStepper::<f64>::new(&problem, &case.rest(), CpuOptions::new(1)).unwrap());
        let single = end(&mut CpuStepper::<f32>::new(&problem, &case.rest(), CpuOptions::new(1)).unwrap());
        let error = difference(&single, &double);
        assert!(error < 3e-6, "{kind:?}: {error:e}");
    }
}

/// Rounded weights, elastic constants and positions must not make the material of single precision faster or slower.
#[test]
fn single_precision_keeps_the_speed_of_long_waves() {
    for kind in ElementKind::SOLIDS {
        // No two elements are rounded alike: what is left is what all elements have in common.
        let mesh = box_mesh(kind, [8, 7, 5], 1.13e-3, 0.2);
        let (mesh, blocks) = box_blocks(&mesh, 4e-3);
        let case = Case { mesh, blocks, sections: vec![section(isotropic(217e9, 0.283))], lags: Vec::new() };
        let mut problem = case.problem();
        let d = case.mesh.dimension as usize;
        // Clamped at one end: the fundamental along x, for some dozen periods.
        let mut start = case.rest();
        for (node, x) in case.mesh.coordinates.chunks_exact(d).enumerate() {
            start.displacement[node * d] = 1e-6 * (0.5 * std::f64::consts::PI * x[0] / (8.0 * 1.13e-3)).sin();
            if x[0] < 1e-4 {
                let dofs = (0..d).map(|i| (node * d + i) as u64);
                problem.constraints.extend(dofs.map(|dof| Constraint { dof, signal: 0, value: 0.0 }));
            }
        }
        let steps = 800;
        let table = signals(steps, |_| 0.0);
        let mut double = CpuStepper::<f64>::new(&problem, &start, CpuOptions::new(1)).unwrap();
        let mut single = CpuStepper::<f32>::new(&problem, &start, CpuOptions::new(1)).unwrap();
        double.advance(steps, &table, &[], &mut Vec::new()).unwrap();
        single.advance(steps, &table, &[], &mut Vec::new()).unwrap();
        // Against the first displacement: at the end the wave may just pass through zero.
        let norm = |u: &[f64]| u.iter().map(|u| u * u).sum::<f64>().sqrt();
        let end = double.state().unwrap().displacement;
        let error = difference(&single.state().unwrap().displacement, &end) * norm(&end) / norm(&start.displacement);
        assert!(error < 3e-6, "{kind:?}: {error:e}");
    }
}

#[test]
fn the_stable_increment_is_safe_and_sharp() {
    for kind in ElementKind::ALL {
        for lumping in [Lumping::RowSum, Lumping::Hrz, Lumping::Equal] {
            let case = Case::new(kind, anisotropic());
            let mut problem = case.problem();
            let d = case.mesh.dimension as usize;
            problem.lumped_mass = lumped_mass(&problem.mesh, &problem.sections, lumping).unwrap();
            let safe = stable_increment(&problem.mesh, &problem.sections, &[], &problem.lumped_mass).unwrap();
            let stepper = CpuStepper::<f64>::new(&problem, &case.rest(), CpuOptions::new(1)).unwrap();
            let limit = super::elements::global_stable_increment(&problem.lumped_mass, d, &[], 600, |u| {
                stepper.internal_force(u)
            })
            .unwrap();
            assert!(safe.increment < limit * (1.0 + 1e-9), "{kind:?} {lumping:?}: {safe:?} {limit}");
            assert!(safe.increment > 0.55 * limit, "{kind:?} {lumping:?}: {safe:?} {limit}");
            // Just below the limit a random start stays bounded, just above it grows.
            for (factor, grows) in [(0.995, false), (1.02, true)] {
                problem.time_increment = factor * limit;
                let mut start = case.rest();
                start.displacement = case.noise(1e-9);
                let mut stepper = CpuStepper::<f64>::new(&problem, &start, CpuOptions::new(1)).unwrap();
                let steps = 400;
                let table = SignalTable { n_signals: 0, values: Vec::new() };
                stepper.advance(steps, &table, &[], &mut Vec::new()).unwrap();
                let largest = stepper.state().unwrap().displacement.iter().fold(0.0f64, |m, u| m.max(u.abs()));
                assert_eq!(largest > 1e-6, grows, "{kind:?} {lumping:?} {factor}: {largest:e}");
            }
        }
    }
}

/// Plane waves u = a sin(k·x − ωt) in an anisotropic solid against the Christoffel equation (n·C·n) a = ρ c² a.
#[test]
fn plane_waves_travel_at_christoffel_speeds() {
    let elasticity = anisotropic();
    for kind in [ElementKind::C3d8, ElementKind::C3d4] {
        // A column along x, many cells long; waves along n = x with k fine enough for 1 % of dispersion.
        let n = 40;
        let mesh = box_mesh(kind, [n, 3, 3], 1e-3, 0.0);
        let (mesh, blocks) = box_blocks(&mesh, 10e-3);
        let case = Case { mesh, blocks, sections: vec![section(elasticity)], lags: Vec::new() };
        let problem = case.problem();
        // Γ_ik = C_i1k1, Voigt 11, 12, 13 are 0, 3, 4.
        let voigt = [0, 3, 4];
        let gamma: [[f64; 3]; 3] = voigt.map(|i| voigt.map(|k| elasticity[6 * i + k]));
        let k = 2.0 * std::f64::consts::PI / (n as f64 * 1e-3);
        for direction in 0..3 {
            // M⁻¹ K u of u = e sin kx is k² Γ e / ρ sin kx away from the ends and sides.
            let u: Vec<f64> = case
                .mesh
                .coordinates
                .chunks(3)
                .flat_map(|x| {
                    let mut u = [0.0; 3];
                    u[direction] = 1e-6 * (k * x[0]).sin();
                    u
                })
                .collect();
            let stepper = CpuStepper::<f64>::new(&problem, &case.rest(), CpuOptions::new(1)).unwrap();
            let f = stepper.internal_force(&u);
            let mut checked = 0;
            for (node, x) in case.mesh.coordinates.chunks(3).enumerate() {
                let inner = |i: usize| x[i] > 0.5e-3 && x[i] < 2.5e-3;
                if !(inner(1) && inner(2)) || (x[0] - 10e-3).abs() > 2e-3 {
                    continue;
                }
                for i in 0..3 {
                    let found = f[3 * node + i] / problem.lumped_mass[node];
                    let expected = k * k * gamma[i][direction] / 7900.0 * 1e-6 * (k * x[0]).sin();
                    let scale = k * k * gamma[direction][direction] / 7900.0 * 1e-6;
                    assert!((found - expected).abs() < 5e-3 * scale, "{kind:?} {direction} {i}: {found} {expected}");
                    checked += 1;
                }
            }
            assert!(checked > 30);
        }
    }
}

#[test]
fn faults_in_the_problem_are_errors() {
    let case = Case::new(ElementKind::Cpe3, isotropic(210e9, 0.3));
    let good = case.problem();
    let error = |change: &dyn Fn(&mut Problem)| {
        let mut problem = good.clone();
        change(&mut problem);
        CpuStepper::<f64>::new(&problem, &case.rest(), CpuOptions::new(1)).expect_err("a fault").to_string()
    };
    let force = |dof: u64| NodalForce { dof, signal: 0, value: 1.0 };
    assert!(error(&|p| p.forces.push(force(1 << 40))).contains("degree of freedom"));
    assert!(error(&|p| p.constraints = vec![Constraint { dof: 1, signal: 0, value: 0.0 }; 2]).contains("twice"));
    assert!(error(&|p| p.lumped_mass[3] = f64::NAN).contains("mass"));
    assert!(error(&|p| p.time_increment = 0.0).contains("increment"));
    assert!(error(&|p| p.sections.clear()).contains("sections"));
    assert!(error(&|p| p.damping_rate.push(1.0)).contains("damping"));
    assert!(
        error(&|p| {
            p.lumped_mass[2] = 0.0;
            p.forces.push(force(4));
        })
        .contains("no mass")
    );
}

/// A problem with loads, damping and monitors.
fn loaded(case: &Case) -> Problem<'_> {
    let mut problem = case.problem();
    let (n_nodes, d) = (case.mesh.n_nodes(), case.mesh.dimension as usize);
    problem.damping_rate = (0..n_nodes).map(|i| if i % 5 == 0 { 1e-2 / problem.time_increment } else { 0.0 }).collect();
    problem.stiffness_factor = (0..case.mesh.n_elements()).map(|e| 1.0 + 0.5 * noise(e as u64)).collect();
    let last = (n_nodes * d - 1) as u64;
    problem.forces =
        vec![NodalForce { dof: 5, signal: 0, value: 100.0 }, NodalForce { dof: last / 2, signal: 0, value: 30.0 }];
    problem.constraints =
        vec![Constraint { dof: last, signal: 0, value: 1e-6 }, Constraint { dof: 1, signal: 0, value: 0.0 }];
    problem.monitors = vec![last, 7, last / 2, last / 3];
    if !case.lags.is_empty() {
        let increment = problem.time_increment;
        problem.dashpots = ground::dashpots(&problem.lumped_mass, increment, d, (n_nodes - 1) as u32);
    }
    problem
}

/// A state of noise, with that of each memory variable.
fn noise_of(case: &Case, problem: &Problem) -> State {
    let memory = (1..=problem.relaxation.rates.len()).flat_map(|l| case.noise(2e-8 * l as f64)).collect();
    State { displacement: case.noise(1e-7), increment: case.noise(1e-9), memory, ..State::default() }
}

/// Steps a problem whole and by ranks that have sub-domains of its cells.
fn by_ranks<T: Real>(
    kind: ElementKind,
    (problem, start): (&Problem, &State),
    n_ranks: usize,
    cut: impl Fn(usize, usize) -> u32,
) {
    let d = problem.mesh.dimension;
    let steps = 31;
    let table = signals(steps, |t| (0.3 * t).sin());
    let mut whole = CpuStepper::<T>::new(problem, start, CpuOptions::new(2)).unwrap();
    let forces = whole.internal_force(&start.displacement);
    let viscous = |stepper: &mut dyn ElementStepper| {
        let [u, du, z] = [&start.displacement, &start.increment, &start.memory].map(Vec::as_slice);
        [[u, du, &[]], [u, du, z]].map(|motion: [&[f64]; 3]| stepper.viscous_force(motion).unwrap())
    };
    let viscous_forces = viscous(&mut whole);
    let mut expected = Vec::new();
    whole.advance(steps, &table, &[3, 30], &mut expected).unwrap();

    let cells = problem.cells();
    let mut domain = vec![0; problem.blocks.n_blocks()];
    for (at, cell) in cells.iter().enumerate() {
        cell.iter().for_each(|&block| domain[block] = cut(at, cells.len()));
    }
    let domains = problem.domains(&domain, n_ranks, "test");
    let domains = domains.view();
    std::thread::scope(|scope| {
        for ranks in Threads::new(n_ranks) {
            let (table, domains, viscous) = (&table, &domains, &viscous);
            let (forces, viscous_forces, expected, whole) = (&forces, &viscous_forces, &expected, &whole);
            scope.spawn(move || {
                let part = Part::of(domains, ranks.rank());
                let own = |values: &[f64]| part.select(values, d);
                let (displacement, increment) = (own(&start.displacement), own(&start.increment));
                let memory = part.select_local(&start.memory, start.displacement.len(), d);
                let state = State { displacement, increment, memory, ..start.clone() };
                let stepper = CpuStepper::<T>::of_part(problem, (part, None), &state, CpuOptions::new(2)).unwrap();
                let ranks: Arc<dyn Ranks> = Arc::new(ranks);
                let member = PartMember::new(HaloMember::new(problem, domains, &ranks, stepper));
                if !ranks.leads() {
                    return member.serve(&*ranks);
                }
                let mut team = TeamStepper::new(problem, domains, &ranks, member, start, true);
                assert_eq!(&team.internal_force(&start.displacement).unwrap(), forces, "{kind:?}");
                assert_eq!(&viscous(&mut team), viscous_forces, "{kind:?}");
                let mut recording = Vec::new();
                let first = SignalTable { n_signals: 1, values: table.values[..8].to_vec() };
                team.advance(7, &first, &[3], &mut recording).unwrap();
                let rest = SignalTable { n_signals: 1, values: table.values[7..].to_vec() };
                team.advance(steps - 7, &rest, &[30], &mut recording).unwrap();
                assert_eq!(&recording, expected, "{kind:?}");
                // Work and damping too: energies are summed in the order of the whole.
                assert_eq!(team.state().unwrap(), whole.state().unwrap(), "{kind:?}");
            });
        }
    });
}

#[test]
fn ranks_give_the_bits_of_one_stepper() {
    for (kind, case) in cases(anisotropic()) {
        let problem = loaded(&case);
        let problem = (&problem, &noise_of(&case, &problem));
        by_ranks::<f64>(kind, problem, 2, |cell, n| u32::from(cell >= n / 2));
        by_ranks::<f32>(kind, problem, 3, |cell, n| (3 * cell / n) as u32);
        // Sub-domains that are not connected, and one with a single cell.
        by_ranks::<f64>(kind, problem, 2, |cell, _| (cell / 2 % 2) as u32);
        by_ranks::<f32>(kind, problem, 4, |cell, _| if cell == 0 { 3 } else { (cell % 3) as u32 });
    }
    for (kind, case) in lag::cases() {
        let problem = loaded(&case);
        let problem = (&problem, &noise_of(&case, &problem));
        by_ranks::<f64>(kind, problem, 3, |cell, n| (3 * cell / n) as u32);
        by_ranks::<f32>(kind, problem, 2, |cell, _| (cell / 2 % 2) as u32);
    }
}

#[test]
fn ranks_give_the_bits_of_one_stepper_with_relaxation() {
    for (kind, case) in lag::cases() {
        let Problem { relaxation, time_increment, .. } = relaxation::problem(&case);
        let mut problem = Problem { relaxation, time_increment, ..loaded(&case) };
        let n_dofs = case.mesh.coordinates.len() as u64;
        let own = problem.monitors.clone();
        problem.monitors.extend(own.iter().zip([1, 2, 3]).map(|(dof, mechanism)| mechanism * n_dofs + dof));
        let problem = (&problem, &noise_of(&case, &problem));
        by_ranks::<f64>(kind, problem, 3, |cell, n| (3 * cell / n) as u32);
        by_ranks::<f32>(kind, problem, 2, |cell, _| (cell / 2 % 2) as u32);
        by_ranks::<f32>(kind, problem, 4, |cell, _| if cell == 0 { 3 } else { (cell % 3) as u32 });
    }
}

/// Copies to every seventh node from one elsewhere: no periodic mesh, but in every block and on both sides of their edges.
fn copies(n_nodes: usize) -> CopiedDisplacements {
    let to: Vec<u32> = (3..n_nodes as u32).step_by(7).collect();
    let from = to.iter().map(|&node| (node + 1 + 7 * (node % 50)) % (n_nodes as u32 / 7 * 7)).collect();
    CopiedDisplacements { from, to }
}

/// Lets nothing act on copied nodes, and begins with their copies.
fn with_copies<'a>(problem: Problem<'a>, start: &mut State) -> Problem<'a> {
    let (n_nodes, d) = (problem.mesh.n_nodes(), problem.mesh.dimension);
    let copied = copies(n_nodes);
    let origins = copied.origins(n_nodes);
    let is_itself = |dof: u64| {
        let node = dof as usize % (n_nodes * d) / d;
        origins[node] as usize == node
    };
    let mut problem = Problem { time_increment: 0.3 * problem.time_increment, ..problem };
    problem.forces.retain(|force| is_itself(force.dof));
    problem.constraints.retain(|held| is_itself(held.dof));
    problem.monitors.retain(|&dof| is_itself(dof));
    problem.dashpots.retain(|dashpot| is_itself(u64::from(dashpot.node) * d as u64));
    copied.pairs().for_each(|(_, to)| problem.lumped_mass[to] = 0.0);
    let memory = start.memory.chunks_exact_mut(n_nodes * d);
    for values in [&mut start.displacement[..], &mut start.increment].into_iter().chain(memory) {
        copied.copy(values, d);
    }
    Problem { copied, ..problem }
}

#[test]
fn ranks_give_the_bits_of_one_stepper_with_copies() {
    for (kind, case) in cases(anisotropic()) {
        let mut start = noise_of(&case, &case.problem());
        let problem = with_copies(loaded(&case), &mut start);
        by_ranks::<f64>(kind, (&problem, &start), 3, |cell, n| (3 * cell / n) as u32);
        by_ranks::<f32>(kind, (&problem, &start), 2, |cell, _| (cell / 2 % 2) as u32);
    }
    for (kind, case) in lag::cases() {
        let relaxed = relaxation::problem(&case);
        let mut start = noise_of(&case, &relaxed);
        let problem = with_copies(Problem { relaxation: relaxed.relaxation, ..loaded(&case) }, &mut start);
        by_ranks::<f64>(kind, (&problem, &start), 2, |cell, n| u32::from(cell >= n / 2));
        by_ranks::<f32>(kind, (&problem, &start), 4, |cell, _| if cell == 0 { 3 } else { (cell % 3) as u32 });
    }
}

/// The same as steps one by one, with the rows copied in between.
fn by_hand<T: Real>(kind: ElementKind, case: &Case, threads: usize) {
    let mut problem = case.problem();
    let (n_nodes, d) = (case.mesh.n_nodes(), case.mesh.dimension as usize);
    let copied = copies(n_nodes);
    let origins = copied.origins(n_nodes);
    assert!(copied.from.iter().all(|&node| origins[node as usize] == node));
    copied.pairs().for_each(|(_, to)| problem.lumped_mass[to] = 0.0);
    problem.time_increment *= 0.3;
    problem.damping_rate = (0..n_nodes).map(|i| if i % 5 == 0 { 1e-2 / problem.time_increment } else { 0.0 }).collect();
    problem.forces = vec![NodalForce { dof: 0, signal: 0, value: 100.0 }];
    problem.monitors = vec![0, 4 * d as u64];
    let mut expected = State { displacement: case.noise(1e-7), increment: case.noise(1e-9), ..State::default() };
    let copy = |state: &mut State| {
        copied.copy(&mut state.displacement, d);
        copied.copy(&mut state.increment, d);
    };
    // A stepper rounds what it begins with.
    let stepper = |state: &State| CpuStepper::<T>::new(&problem, state, CpuOptions::new(1)).unwrap();
    expected = stepper(&expected).state().unwrap();
    copy(&mut expected);
    let steps = 20;
    let table = signals(steps, |t| (0.3 * t).sin());
    let with_copies = Problem { copied: copied.clone(), ..problem.clone() };
    let options = CpuOptions { threads, level: Level::detect(), cache: 1 };
    let mut found = CpuStepper::<T>::new(&with_copies, &expected, options).unwrap();
    let mut displacement = expected.displacement.clone();
    copied.pairs().for_each(|(_, to)| displacement[to * d] += 1.0);
    let mut force = stepper(&expected).internal_force(&expected.displacement);
    copied.pairs().for_each(|(_, to)| force[to * d..(to + 1) * d].fill(0.0));
    assert_eq!(found.internal_force(&displacement), force, "{kind:?}");
    let mut recording = Vec::new();
    found.advance(steps, &table, &[3, 19], &mut recording).unwrap();
    let mut recorded = Vec::new();
    for k in 0..steps {
        let step = [k as u64];
        let mut one = stepper(&expected);
        one.advance(1, &table.of_step(k), recorded_in(&[3, 19], &step), &mut recorded).unwrap();
        expected = one.state().unwrap();
        copy(&mut expected);
    }
    assert_eq!(recording, recorded, "{kind:?}");
    assert_eq!(found.state().unwrap(), expected, "{kind:?}, {threads} threads");
    assert!(expected.displacement.iter().all(|u| u.is_finite()));
}

#[test]
fn copied_displacements_are_those_of_steps_with_copies_in_between() {
    for (kind, case) in cases(anisotropic()) {
        by_hand::<f64>(kind, &case, 1);
        by_hand::<f32>(kind, &case, 3);
    }
    for (kind, case) in lag::cases() {
        by_hand::<f64>(kind, &case, 2);
        by_hand::<f32>(kind, &case, 1);
    }
}

#[test]
fn ties_of_fluids_are_refused_beside_what_they_are_not_computed_with() {
    let (_, case) = lag::cases().next().unwrap();
    let n_nodes = case.mesh.n_nodes();
    let tied = vec![WetPair { fluid: 0, solid: 5, area: [1e-6, 0.0, 0.0] }];
    let lagged = Problem { tied: tied.clone(), ..case.problem() };
    let touching = Problem { wet: tied.clone(), tied: Vec::new(), ..lagged.clone() };
    let plain = Problem { tied, damping_beta: Vec::new(), ..case.problem() };
    let constrained = Problem { rows: held::rows_of(n_nodes, case.mesh.dimension as usize), ..plain.clone() };
    let beyond = Problem { tied: vec![WetPair { solid: n_nodes as u32, ..plain.tied[0] }], ..plain.clone() };
    let refused = |problem: &Problem| {
        let made = CpuStepper::<f64>::new(problem, &case.rest(), CpuOptions::new(1));
        made.err().map_or_else(String::new, |error| error.to_string())
    };
    assert!(refused(&touching).contains("nodes of fluids and solids are tied"), "{}", refused(&touching));
    assert_eq!(refused(&lagged), "");
    assert_eq!(refused(&constrained), "");
    assert!(refused(&beyond).contains("nodes"), "{}", refused(&beyond));
    assert_eq!(refused(&plain), "");
}
