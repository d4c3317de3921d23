//! The steppers against the dense reference and against what must be conserved. The suite takes the instruction set as
//! an argument and runs for each that the machine has.

use pogo_formats::block::Blocks;
use pogo_formats::model::{ElementKind, Lumping, Mesh};

use super::*;
use crate::elements::{element_stiffness, lumped_mass, quadrature, stable_increment};
use support::{anisotropic, box_blocks, box_mesh, isotropic, noise, section};

#[path = "../../examples/support/mod.rs"]
mod support;

/// A mesh in blocks with its sections.
struct Case {
    mesh: Mesh,
    blocks: Blocks,
    sections: Vec<SectionProperties>,
}

impl Case {
    /// A jittered box with sides of 5 to 8 cells of 1 mm, in several blocks.
    fn new(kind: ElementKind, elasticity: [f64; 36]) -> Self {
        let mesh = box_mesh(kind, [8, 7, 5], 1e-3, 0.2);
        let (mesh, blocks) = box_blocks(&mesh, 4e-3);
        assert!(blocks.n_boundary.len() > 1);
        let mut section = section(elasticity);
        if kind.dimension() == 2 {
            section.thickness = 2e-3;
        }
        Self { mesh, blocks, sections: vec![section] }
    }

    fn problem(&self) -> Problem<'_> {
        let mesh = self.mesh.view();
        let lumped_mass = lumped_mass(&mesh, &self.sections, Lumping::RowSum).unwrap();
        let stable = stable_increment(&mesh, &self.sections, &[], Lumping::RowSum).unwrap();
        Problem {
            mesh,
            blocks: self.blocks.view(),
            sections: self.sections.clone(),
            stiffness_factor: Vec::new(),
            lumped_mass,
            damping_rate: Vec::new(),
            time_increment: 0.9 * stable.increment,
            forces: Vec::new(),
            constraints: Vec::new(),
            monitors: Vec::new(),
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

/// K u by dense element matrices.
fn reference_force(problem: &Problem, displacement: &[f64]) -> Vec<f64> {
    let mesh = &problem.mesh;
    let d = mesh.dimension;
    let mut out = vec![0.0; displacement.len()];
    let mut e = 0;
    for group in &mesh.groups {
        let rule = quadrature(group.kind);
        for (nodes, &section) in group.connectivity.chunks_exact(group.kind.n_nodes()).zip(group.section) {
            let mut x = [[0.0; 3]; 8];
            for (row, &node) in x.iter_mut().zip(nodes) {
                row[..d].copy_from_slice(&mesh.coordinates[node as usize * d..node as usize * d + d]);
            }
            let k = element_stiffness(group.kind, &rule, &x, &problem.sections[section as usize]);
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
    for kind in ElementKind::ALL {
        for elasticity in [isotropic(210e9, 0.3), anisotropic()] {
            let case = Case::new(kind, elasticity);
            let mut problem = case.problem();
            let u = case.noise(1e-6);
            for scaled in [false, true] {
                if scaled {
                    problem.stiffness_factor =
                        (0..case.mesh.n_elements()).map(|e| 1.0 + 0.5 * noise(e as u64)).collect();
                }
                let expected = reference_force(&problem, &u);
                for level in Level::available() {
                    let double = CpuStepper::<f64>::with_level(&problem, &case.rest(), 1, level).unwrap();
                    let single = CpuStepper::<f32>::with_level(&problem, &case.rest(), 1, level).unwrap();
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
fn energy_is_balanced_to_rounding_and_threads_change_no_bit() {
    for kind in ElementKind::ALL {
        let case = Case::new(kind, anisotropic());
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
        let run = |threads: usize, cut: usize| {
            let mut stepper = CpuStepper::<f64>::new(&problem, &start, threads).unwrap();
            let mut recording = Vec::new();
            let first = SignalTable { n_signals: 1, values: table.values[..=cut].to_vec() };
            stepper.advance(cut, &first, &[0], &mut recording);
            // Go on from the state, as a restart does.
            let mut stepper = CpuStepper::<f64>::new(&problem, &stepper.state(), threads).unwrap();
            let rest = SignalTable { n_signals: 1, values: table.values[cut..].to_vec() };
            stepper.advance(steps - cut, &rest, &[steps as u64 - 1], &mut recording);
            (stepper.state(), recording)
        };
        let (end, recording) = run(1, 20);
        assert_eq!((end.clone(), recording.clone()), run(2, 20), "{kind:?}");
        assert_eq!((end.clone(), recording.clone()), run(3, 33), "{kind:?}");
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
}
