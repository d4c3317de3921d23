//! The stepper on a CUDA device against the one on the CPU. These tests need a device: `tests/gpu.sh kernels` runs them.

use std::collections::HashMap;

use pogo_formats::dynamics::{Amplitude, AmplitudeShape, Window};
use pogo_formats::explicit::block::DeviceTables;
use pogo_tools::explicit::arrange::{ArrangeOptions, arrange};
use pogo_tools::partition::{PartitionOptions, Partitioner, partition};

use super::*;
use crate::device::{Buffer, Gpu, Kernel, Module, Stream};
use crate::dynamics::Exchange;
use crate::dynamics::signals::{Signal, Signals};
use crate::simd::Real;

mod corrections;
mod host;
mod shots;
mod viscous;

/// A mesh in blocks, with the tables for devices.
struct Arranged {
    mesh: Mesh,
    blocks: Blocks,
    device: DeviceTables,
    sections: Vec<SectionProperties>,
}

impl Arranged {
    /// In stripes of each section.
    fn new(mesh: Mesh, elasticities: &[[f64; 36]], capacity: usize) -> Self {
        Self::in_sections(mesh, elasticities, capacity, &|e| e / 23 % elasticities.len())
    }

    fn in_sections(
        mut mesh: Mesh,
        elasticities: &[[f64; 36]],
        capacity: usize,
        section_of: &dyn Fn(usize) -> usize,
    ) -> Self {
        for group in &mut mesh.groups {
            for (e, section) in group.section.iter_mut().enumerate() {
                *section = section_of(e) as u32;
            }
        }
        let options = PartitionOptions { partitioner: Partitioner::Greedy, capacity };
        let partition = partition(&mesh.view(), &options, &|_| ()).unwrap();
        let arranged = arrange(mesh, partition, &ArrangeOptions::default()).unwrap();
        let sections = elasticities.iter().map(|&elasticity| section(elasticity)).collect();
        Self { mesh: arranged.mesh, blocks: arranged.blocks, device: arranged.device, sections }
    }

    /// Where fluids and solids touch, with areas that make pairs of nodes about as stiff as the elements.
    fn wet(&self, lumped_mass: &[f64], time_increment: f64) -> Vec<WetPair> {
        let d = self.mesh.dimension as usize;
        let place = |node: usize| -> Vec<i64> {
            self.mesh.coordinates[node * d..][..d].iter().map(|x| (x * 1e7).round() as i64).collect()
        };
        let fluid = self.mesh.view().fluid_nodes();
        let solids: HashMap<Vec<i64>, usize> =
            (0..fluid.len()).filter(|&node| !fluid[node]).map(|node| (place(node), node)).collect();
        let pair = |node: usize| {
            let solid = *solids.get(&place(node))?;
            let size = 0.3 * (lumped_mass[node] * lumped_mass[solid]).sqrt() / time_increment;
            let area = [0, 1, 2].map(|i| if i < d { size * noise((3 * node + i) as u64) } else { 0.0 });
            Some(WetPair { fluid: node as u32, solid: solid as u32, area })
        };
        (0..fluid.len()).filter(|&node| fluid[node]).filter_map(pair).collect()
    }

    /// A problem with forces, supports that rest and that move, damping in a part, and monitors. Nodes of fluids have one
    /// unknown.
    fn problem(&self) -> Problem<'_> {
        let mesh = self.mesh.view();
        let (d, n_nodes) = (mesh.dimension, mesh.n_nodes());
        let fluid = mesh.fluid_nodes();
        let is_unknown =
            |dof: u64| (dof as usize).is_multiple_of(d) || !fluid.get(dof as usize / d).is_some_and(|&fluid| fluid);
        let lumped_mass = lumped_mass(&mesh, &self.sections, Lumping::RowSum).unwrap();
        let stable = stable_increment(&mesh, &self.sections, &[], &lumped_mass).unwrap();
        let time_increment = 0.8 * stable.increment;
        let some = |count: usize, shift: u64| -> Vec<u64> {
            let mut dofs: Vec<u64> =
                (0..count as u64).map(|i| ((noise(i + shift).abs() * 1e9) as u64) % (n_nodes * d) as u64).collect();
            dofs.retain(|&dof| is_unknown(dof));
            dofs.sort_unstable();
            dofs.dedup();
            dofs
        };
        Problem {
            blocks: self.blocks.view(),
            copied: Default::default(),
            rows: Default::default(),
            wet: self.wet(&lumped_mass, time_increment),
            tied: Vec::new(),
            device: Some(self.device.view()),
            sections: self.sections.clone(),
            stiffness_factor: Vec::new(),
            dashpots: Vec::new(),
            damping_beta: Vec::new(),
            relaxation: Default::default(),
            damping_rate: (0..n_nodes)
                .map(|i| if i % n_nodes < n_nodes / 5 { 0.02 / time_increment * (1.0 + noise(i as u64)) } else { 0.0 })
                .collect(),
            time_increment,
            forces: some(40, 1)
                .into_iter()
                .map(|dof| NodalForce { dof, signal: (dof % 9) as u32, value: 50.0 + dof as f64 % 7.0 })
                .collect(),
            constraints: some(30, 1000)
                .into_iter()
                .map(|dof| {
                    // Prescribed velocities and accelerations stay within the same displacements.
                    let (signal, last) = ((dof % 25) as u32, 1.0 / (STEPS as f64 * time_increment));
                    let value = match signal {
                        _ if dof % 3 != 0 => 0.0,
                        0..9 => 1e-7,
                        _ if signal % 2 == 1 => 1e-7 * last,
                        _ => 1e-7 * last * last,
                    };
                    Constraint { dof, signal, value }
                })
                .collect(),
            monitors: some(60, 2000),
            mesh,
            lumped_mass,
        }
    }

    fn start(&self) -> State {
        let n = self.mesh.coordinates.len();
        let (d, fluid) = (self.mesh.dimension as usize, self.mesh.view().fluid_nodes());
        let is_unknown = |dof: usize| dof.is_multiple_of(d) || !fluid.get(dof / d).is_some_and(|&fluid| fluid);
        let value = |i: usize, shift: u64| if is_unknown(i) { noise(i as u64 + shift) } else { 0.0 };
        let values = |amplitude: f64, shift: u64| (0..n).map(|i| amplitude * value(i, shift)).collect();
        State { displacement: values(1e-8, 7), increment: values(1e-10, 99), ..State::default() }
    }

    /// The same with memory variables.
    fn start_of(&self, problem: &Problem) -> State {
        let n = problem.relaxation.rates.len() * self.mesh.coordinates.len();
        State { memory: (0..n).map(|i| 1e-8 * noise(i as u64 + 31)).collect(), ..self.start() }
    }
}

/// Amplitudes of every shape, with jumps and kinks inside of [`STEPS`] steps.
fn amplitudes(dt: f64) -> Vec<Amplitude> {
    let t = STEPS as f64 * dt;
    let times = vec![0.1 * t, 0.4 * t, 0.4 * t, 0.8 * t];
    let burst = |window| AmplitudeShape::ToneBurst { window, frequency: 20.0 / t, cycles: 15.0 };
    let shapes = [
        AmplitudeShape::Tabular { times, values: vec![0.2, 1.0, -0.7, 0.9] },
        AmplitudeShape::SmoothStep { times: vec![0.0, 0.3 * t, 0.5 * t], values: vec![0.0, 1.0, -0.5] },
        AmplitudeShape::Periodic {
            omega: 50.0 / t,
            start: 0.05 * t,
            constant: 0.1,
            terms: vec![[0.3, 0.5], [0.0, 0.4], [0.2, -0.1]],
        },
        burst(Window::Hann),
        burst(Window::Gaussian),
        burst(Window::Rectangular),
        AmplitudeShape::Ricker { frequency: 5.0 / t, peak_time: 0.3 * t },
        AmplitudeShape::GaussianPulse { rate: 100.0 / (t * t), peak_time: 0.5 * t },
    ];
    let amplitude =
        |(i, shape)| Amplitude { scale: 1.0 - 0.1 * i as f64, delay: 0.03 * i as f64 * t, ..Amplitude::new("", shape) };
    shapes.into_iter().enumerate().map(amplitude).collect()
}

/// Columns of every kind; forces take the values, supports what is integrated, too.
fn signals(amplitudes: &[Amplitude], dt: f64) -> Signals<'_> {
    let mut signals = Signals::new(amplitudes, dt);
    let n = amplitudes.len() as u32;
    for i in 0..n {
        signals.column(Signal::Value(Some(i)));
    }
    signals.column(Signal::Value(None));
    for i in 0..n {
        signals.column(Signal::Velocity(Some(i)));
        signals.column(Signal::Acceleration { amplitude: Some(i), initial_velocity: 0.3 });
    }
    signals
}

/// Runs in the pieces of `cuts`; records every third step.
fn run(stepper: &mut dyn Stepper<State = State>, signals: &Signals<'_>, cuts: &[usize]) -> (State, Vec<f64>) {
    let mut recording = Vec::new();
    let mut signals = signals.clone();
    for window in cuts.windows(2) {
        let record: Vec<u64> = (window[0] as u64..window[1] as u64).filter(|n| n % 3 == 0).collect();
        let n_steps = window[1] - window[0];
        let table =
            if stepper.reads_table() { signals.table(window[0] as u64, n_steps + 1) } else { SignalTable::default() };
        stepper.advance(n_steps, &table, &record, &mut recording).unwrap();
    }
    (stepper.state().unwrap(), recording)
}

const STEPS: usize = 1000;

/// Steps triangles by sub-domains on these devices; one that stands there twice has two.
fn by_devices<T: Real + 'static>(
    case: &Arranged,
    ordinals: &[u32],
    exchange: Exchange,
    cut: impl Fn(usize, usize) -> u32,
) {
    parts_of::<T>(case, &case.problem(), ordinals, exchange, cut);
}

fn parts_of<T: Real + 'static>(
    case: &Arranged,
    problem: &Problem,
    ordinals: &[u32],
    exchange: Exchange,
    cut: impl Fn(usize, usize) -> u32,
) {
    let amplitudes = amplitudes(problem.time_increment);
    let signals = signals(&amplitudes, problem.time_increment);
    let (start, cuts) = (case.start_of(problem), [0, 1, 70, 333, STEPS]);
    let mut one = GpuStepper::<T>::new(problem, &start, &signals, GpuOptions { ordinal: ordinals[0] }).unwrap();
    let (state, recording) = run(&mut one, &signals, &cuts);
    let force = one.internal_force(&state.displacement).unwrap();
    let sums = one.energy_sums().unwrap();
    let State { displacement, increment, memory, .. } = &state;
    let felt = one.viscous_force([displacement, increment, memory]).unwrap();
    let n_blocks = problem.blocks.n_blocks();
    let domain: Vec<u32> = (0..n_blocks).map(|b| cut(b, n_blocks)).collect();
    let domains = problem.domains(&domain, ordinals.len(), "test");
    std::thread::scope(|scope| {
        for (ranks, &ordinal) in Threads::new(ordinals.len()).into_iter().zip(ordinals) {
            let (domain, domains) = (&domain, domains.view());
            let (start, signals, cuts) = (&start, &signals, &cuts);
            let (state, recording, force, felt) = (&state, &recording, &force, &felt);
            scope.spawn(move || {
                let ranks: Arc<dyn Ranks> = Arc::new(ranks);
                let options = GpuOptions { ordinal };
                let member =
                    GpuMember::<T>::new((problem, &domains, domain), &ranks, start, signals, options, exchange)
                        .unwrap();
                let member = PartMember::new(member);
                if !ranks.leads() {
                    return member.serve(&*ranks);
                }
                let mut team = TeamStepper::new(problem, &domains, &ranks, member, start, false);
                let (found, recorded) = run(&mut team, signals, cuts);
                assert!(recorded == *recording, "{ordinals:?} {exchange:?} {}: recordings differ", T::NAME);
                let same = found.displacement == state.displacement
                    && found.increment == state.increment
                    && found.memory == state.memory;
                assert!(same, "{ordinals:?} {exchange:?} {}: states differ", T::NAME);
                assert!(team.internal_force(&state.displacement).unwrap() == *force);
                if problem.is_viscous() {
                    let State { displacement, increment, memory, .. } = &found;
                    assert!(team.viscous_force([displacement, increment, memory]).unwrap() == *felt);
                }
                let energies = [found.external_work, found.damped_energy];
                let expected = [state.external_work, state.damped_energy];
                // In grids the energies of other nodes are added up in a row.
                let limit = if case.device.grid_size.is_empty() { 0.0 } else { 1e-12 };
                assert!(
                    energies.iter().zip(expected).all(|(a, b)| (a - b).abs() <= limit * b.abs()),
                    "{energies:?}, {expected:?}"
                );
                let of_team = team.energy_sums().unwrap();
                assert_eq!(of_team.is_some(), sums.is_some());
                if let Some((of_team, sums)) = of_team.zip(sums) {
                    assert_eq!([of_team.external_work, of_team.damped_energy], energies);
                    assert!((of_team.kinetic - sums.kinetic).abs() <= 1e-12 * sums.kinetic);
                    assert!((of_team.strain - sums.strain).abs() <= 1e-9 * sums.strain.abs());
                }
                println!("{ordinals:?} {exchange:?} {}: a launch: same bits", T::NAME);
            });
        }
    });
}

/// Devices that a model is shared out among, and how they exchange.
fn ways(every: &[u32]) -> [(&[u32], Exchange); 6] {
    [
        (&[0, 0], Exchange::Plain),
        (&[0, 0, 0], Exchange::Overlap),
        (&[0, 0, 0], Exchange::Messages),
        (every, Exchange::Overlap),
        (every, Exchange::Plain),
        (every, Exchange::Messages),
    ]
}

/// Devices that share a model give the bits of one, here without grids: several sub-domains on one device, and with more
/// devices one on each.
#[test]
#[ignore = "needs a CUDA device: tests/gpu.sh kernels runs it"]
fn gpu_teams_give_the_bits_of_one_device() {
    let every: Vec<u32> = (0..crate::device::n_devices().unwrap().min(4)).collect();
    let kinds = [
        ElementKind::Cpe3,
        ElementKind::Ac2d3,
        ElementKind::Cpe4,
        ElementKind::Cpe4r,
        ElementKind::C3d4,
        ElementKind::C3d6,
        ElementKind::C3d6f,
        ElementKind::C3d8,
        ElementKind::C3d8r,
    ];
    let laws = [[isotropic(200e9, 0.3)].to_vec(), [anisotropic(), isotropic(200e9, 0.3)].to_vec()];
    for (kind, elasticities) in kinds.into_iter().flat_map(|kind| laws.iter().map(move |law| (kind, law))) {
        let cells = if kind.dimension() == 2 { [150, 90, 0] } else { [24, 20, 16] };
        let mut case = Arranged::new(box_mesh(kind, cells, 1e-3, 0.2), elasticities, 250);
        case.device.grid_size.clear();
        case.device.grid_material.clear();
        case.device.grid_places.clear();
        for (ordinals, exchange) in ways(&every) {
            println!("{} {ordinals:?}", kind.name());
            let k = ordinals.len();
            by_devices::<f64>(&case, ordinals, exchange, |b, n| (b * k / n) as u32);
            by_devices::<f32>(&case, ordinals, exchange, |b, n| (b * k / n) as u32);
            // Sub-domains that are not connected, and one with a single block.
            by_devices::<f32>(&case, ordinals, exchange, |b, _| (b / 2 % k) as u32);
            by_devices::<f64>(&case, ordinals, exchange, |b, _| {
                if b == 5 { (k - 1) as u32 } else { (b % (k - 1).max(1)) as u32 }
            });
        }
    }
}

/// Grids with what act on their nodes, and with blocks beside them that are stepped by themselves.
#[test]
#[ignore = "needs a CUDA device: tests/gpu.sh kernels runs it"]
fn gpu_teams_march_through_grids_with_the_bits_of_one_device() {
    let every: Vec<u32> = (0..crate::device::n_devices().unwrap().min(4)).collect();
    for kind in [ElementKind::C3d4, ElementKind::C3d8, ElementKind::C3d8r, ElementKind::Ac3d8] {
        let case = Arranged::new(box_mesh(kind, [37, 29, 34], 1e-3, 0.2), &[isotropic(210e9, 0.3)], 60);
        let mut problem = case.problem();
        for beside in [false, true] {
            if beside {
                problem.stiffness_factor = vec![1.0; case.mesh.n_elements()];
                problem.stiffness_factor[case.mesh.n_elements() / 2] = 1.5;
            }
            for (ordinals, exchange) in ways(&every) {
                let k = ordinals.len();
                parts_of::<f64>(&case, &problem, ordinals, exchange, |b, n| (b * k / n) as u32);
                parts_of::<f32>(&case, &problem, ordinals, exchange, |b, n| (b * k / n) as u32);
                parts_of::<f32>(&case, &problem, ordinals, exchange, |b, _| (b / 2 % k) as u32);
            }
        }
    }
}

/// The largest difference over the largest value.
fn relative(a: &[f64], b: &[f64]) -> f64 {
    let most = b.iter().fold(f64::MIN_POSITIVE, |most, v| most.max(v.abs()));
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).fold(0.0f64, |worst, (a, b)| worst.max((a - b).abs())) / most
}

fn compare<T: Real>(case: &Arranged, problem: &Problem, what: &str, tolerance: f64) {
    compare_within::<T>(case, problem, what, Limits::of::<T>(tolerance));
}

/// How far a device may be from the CPU, of the largest value.
#[derive(Clone, Copy)]
struct Limits {
    traces: f64,
    displacement: f64,
    /// Of f_int, against that in f64.
    forces: f64,
}

impl Limits {
    fn of<T: Real>(tolerance: f64) -> Self {
        let forces = if size_of::<T>() == 8 { 1e-12 } else { 5e-6 };
        Self { traces: tolerance, displacement: (10.0 * tolerance).min(1e-4), forces }
    }
}

fn compare_within<T: Real>(case: &Arranged, problem: &Problem, what: &str, limits: Limits) {
    let tolerance = limits.traces;
    let start = case.start_of(problem);
    let amplitudes = amplitudes(problem.time_increment);
    let signals = signals(&amplitudes, problem.time_increment);
    let run = |stepper: &mut dyn Stepper<State = State>, cuts: &[usize]| run(stepper, &signals, cuts);
    let cpu = run(&mut CpuStepper::<T>::new(problem, &start, CpuOptions::new(1)).unwrap(), &[0, STEPS]);
    assert!(cpu.1.iter().any(|&u| u != 0.0) && cpu.0.external_work != 0.0);
    let stepper = |start: &State, steps: u32| {
        let mut stepper = GpuStepper::<T>::new(problem, start, &signals, GpuOptions::default()).unwrap();
        if steps == 1 {
            stepper.step_singly();
        }
        stepper
    };
    let mut launches = vec![1];
    if stepper(&start, 2).report().kernels.iter().any(|kernel| kernel.steps == 2) {
        launches.push(2);
    }
    for steps in launches {
        let first = run(&mut stepper(&start, steps), &[0, STEPS]);
        let error = relative(&first.1, &cpu.1);
        let energies = [
            relative(&[first.0.external_work], &[cpu.0.external_work]),
            relative(&[first.0.damped_energy], &[cpu.0.damped_energy]),
        ];
        eprintln!(
            "  {what}, {steps} a launch: traces {error:.1e}, work {:.1e}, damped {:.1e}",
            energies[0], energies[1]
        );
        assert!(error <= tolerance, "{what}, {steps} a launch: traces differ by {error:e}");
        let moved = relative(&first.0.displacement, &cpu.0.displacement);
        assert!(moved <= limits.displacement, "{what}: displacements differ by {moved:e}");
        assert!(energies[0] <= 100.0 * tolerance && energies[1] <= 100.0 * tolerance, "{what}: {energies:?}");
        // The same bits again, however the run is cut, and from a state in the middle.
        assert_eq!(first, run(&mut stepper(&start, steps), &[0, STEPS]), "{what}: another run");
        let cut = run(&mut stepper(&start, steps), &[0, 130, 132, 660, STEPS]);
        assert_eq!(first.1.len(), cut.1.len());
        if steps == 1 {
            assert_eq!(first, cut, "{what}: cut");
        }
        let mut before = stepper(&start, steps);
        run(&mut before, &[0, 500]);
        let mut after = stepper(&before.state().unwrap(), steps);
        let rest = run(&mut after, &[500, STEPS]);
        assert_eq!(rest.0.displacement, first.0.displacement, "{what}: from a checkpoint");
        assert_eq!(rest.0.memory, first.0.memory, "{what}: from a checkpoint");
        if problem.is_viscous() {
            let memory = relative(&first.0.memory, &cpu.0.memory);
            assert!(memory <= limits.displacement, "{what}: memory variables differ by {memory:e}");
            // From the CPU to the device and back.
            let mut middle = CpuStepper::<T>::new(problem, &start, CpuOptions::new(1)).unwrap();
            run(&mut middle, &[0, 300]);
            let mut on_device = stepper(&middle.state().unwrap(), steps);
            run(&mut on_device, &[300, 700]);
            let mut last = CpuStepper::<T>::new(problem, &on_device.state().unwrap(), CpuOptions::new(1)).unwrap();
            let (end, _) = run(&mut last, &[700, STEPS]);
            let error = relative(&end.displacement, &cpu.0.displacement);
            assert!(error <= limits.displacement, "{what}: by turns displacements differ by {error:e}");
        }
    }
    let mut gpu = stepper(&start, 0);
    let force = ElementStepper::internal_force(&mut gpu, &start.displacement).unwrap();
    let expected =
        CpuStepper::<f64>::new(problem, &start, CpuOptions::new(1)).unwrap().internal_force(&start.displacement);
    let error = relative(&force, &expected);
    assert!(error <= limits.forces, "{what}: internal force differs by {error:e}");
    if problem.is_viscous() {
        compare_viscous_forces(problem, &start, &mut gpu, what, limits);
    }
    let Some(sums) = gpu.energy_sums().unwrap() else {
        let has_none = !problem.wet.is_empty() || !problem.relaxation.is_empty();
        assert!(has_none, "{what}: no sums of energies");
        return;
    };
    let d = case.mesh.dimension as usize;
    let kinetic: f64 = start.increment.iter().enumerate().map(|(i, du)| problem.lumped_mass[i / d] * du * du).sum();
    let strain: f64 =
        start.displacement.iter().zip(&start.increment).zip(&expected).map(|((u, du), f)| (u - du) * f).sum();
    assert!(relative(&[sums.kinetic, sums.strain], &[kinetic, strain]) < 1e-5, "{what}: {sums:?}, {kinetic}, {strain}");
}

/// What elements feel with Δu alone and with memory variables.
fn compare_viscous_forces<T: Real>(
    problem: &Problem,
    start: &State,
    gpu: &mut GpuStepper<T>,
    what: &str,
    limits: Limits,
) {
    let State { displacement, increment, memory, .. } = start;
    let mut cpu = CpuStepper::<f64>::new(problem, start, CpuOptions::new(1)).unwrap();
    for (name, memory) in [("Δu", &[][..]), ("memory", memory)] {
        let motion = [displacement, increment, memory];
        let error = relative(&gpu.viscous_force(motion).unwrap(), &cpu.viscous_force(motion).unwrap());
        assert!(error <= limits.forces, "{what}: the force with {name} differs by {error:e}");
    }
}

#[test]
#[ignore = "needs a CUDA device: tests/gpu.sh kernels runs it"]
fn every_element_kind_as_on_the_cpu() {
    // POGO_TEST_KINDS=CPE3,CPS3: these alone.
    let kinds = std::env::var("POGO_TEST_KINDS").ok();
    for kind in ElementKind::SOLIDS {
        if kinds.as_ref().is_some_and(|kinds| !kinds.split(',').any(|name| name == kind.name())) {
            continue;
        }
        let cells = if kind.dimension() == 2 { [40, 35, 0] } else { [13, 11, 9] };
        // In one material solids stand in a grid, in two in turn they do not.
        for (name, elasticities) in [
            ("isotropic", vec![isotropic(210e9, 0.3)]),
            ("two isotropic", vec![isotropic(210e9, 0.3), isotropic(70e9, 0.33)]),
            ("coupled", vec![anisotropic(), isotropic(70e9, 0.33)]),
        ] {
            for (shape, jitter) in [("straight", 0.0), ("distorted", 0.2)] {
                let case = Arranged::new(box_mesh(kind, cells, 1e-3, jitter), &elasticities, 300);
                let mut problem = case.problem();
                for scaled in [false, true] {
                    if scaled {
                        problem.stiffness_factor =
                            (0..case.mesh.n_elements()).map(|e| 1.0 + 0.5 * noise(e as u64)).collect();
                    }
                    let what = format!("{} {name} {shape} scaled {scaled}", kind.name());
                    compare::<f64>(&case, &problem, &format!("{what} f64"), 1e-12);
                    compare::<f32>(&case, &problem, &format!("{what} f32"), 1e-5);
                }
            }
        }
    }
}

/// Grains of so many elements in 24 materials, of which some couple shear. Where they are small, batches have elements of several runs,
/// and triangles no fans.
fn grains(kind: ElementKind, cells: [usize; 3], size: usize) -> Arranged {
    let some = [
        anisotropic(),
        isotropic(70e9, 0.33),
        anisotropic().map(|entry| 1.4 * entry),
        isotropic(210e9, 0.3),
        isotropic(110e9, 0.2),
        anisotropic().map(|entry| 0.8 * entry),
    ];
    let materials: Vec<[f64; 36]> =
        (0..24).map(|k| some[k % some.len()].map(|entry| (1.0 + 0.01 * k as f64) * entry)).collect();
    let case = Arranged::in_sections(box_mesh(kind, cells, 1e-3, 0.2), &materials, 60, &|e| e / size % materials.len());
    assert!(size > 7 || !case.device.mixed_colours.is_empty(), "{}", kind.name());
    case
}

#[test]
#[ignore = "needs a CUDA device: tests/gpu.sh kernels runs it"]
fn grains_as_on_the_cpu() {
    let triangles = [ElementKind::Cpe3, ElementKind::Cps3].map(|kind| (kind, 120));
    for (kind, size) in ElementKind::SOLIDS.map(|kind| (kind, 7)).into_iter().chain(triangles) {
        let case = grains(kind, if kind.dimension() == 2 { [35, 30, 0] } else { [11, 10, 9] }, size);
        let mut problem = case.problem();
        for scaled in [false, true] {
            if scaled {
                problem.stiffness_factor = (0..case.mesh.n_elements()).map(|e| 1.0 + 0.5 * noise(e as u64)).collect();
            }
            let what = format!("{} grains of {size} scaled {scaled}", kind.name());
            compare::<f64>(&case, &problem, &format!("{what} f64"), 1e-12);
            compare::<f32>(&case, &problem, &format!("{what} f32"), 1e-5);
        }
    }
}

/// Positions whose products are exact, and small blocks of which many have nothing but elements.
#[test]
#[ignore = "needs a CUDA device: tests/gpu.sh kernels runs it"]
fn exact_positions_and_plain_blocks() {
    for kind in [ElementKind::Cpe3, ElementKind::C3d8] {
        let cells = if kind.dimension() == 2 { [60, 50, 0] } else { [16, 15, 14] };
        let case = Arranged::new(box_mesh(kind, cells, 2.0f64.powi(-10), 0.0), &[isotropic(210e9, 0.3)], 24);
        let problem = case.problem();
        compare::<f64>(&case, &problem, &format!("{} exact f64", kind.name()), 1e-12);
        compare::<f32>(&case, &problem, &format!("{} exact f32", kind.name()), 1e-5);
    }
}

/// A grid whose diagonals go either way, wheels of 3 to 24 triangles with a rim around, and nodes where two open fans meet.
fn fans_of_all_sizes() -> Mesh {
    const CELLS: usize = 28;
    let mut mesh = box_mesh(ElementKind::Cpe3, [CELLS, CELLS - 4, 0], 1e-3, 0.2);
    let connectivity = &mut mesh.groups[0].connectivity;
    for (quad, nodes) in connectivity.chunks_exact_mut(6).enumerate() {
        let [p, q] = [nodes[0], nodes[1]];
        let [r, s] = [q + CELLS as u32 + 1, p + CELLS as u32 + 1];
        let turned = noise(quad as u64 + 5) > 0.2;
        nodes.copy_from_slice(&if turned { [p, q, s, q, r, s] } else { [p, q, r, p, r, s] });
    }
    let coordinates = &mut mesh.coordinates;
    let mut node = |x: f64, y: f64| {
        coordinates.extend([x, y]);
        (coordinates.len() / 2 - 1) as u32
    };
    // All close together: a block may have several of them, and in single precision positions are rounded as its extent asks.
    let (mut left, mut top) = (0.0, -0.5e-3);
    for n in [3, 4, 5, 6, 7, 8, 9, 10, 11, 16, 17, 18, 24] {
        let radius = 0.12e-3 * (n as f64).max(6.0);
        // The chords of the rim pass outside of the inner ring.
        let rim = radius * 1.3 / (std::f64::consts::PI / n as f64).cos();
        if left + 2.0 * rim > 28e-3 {
            (left, top) = (0.0, top - 4e-3);
        }
        let hub = [left + rim, top - rim];
        left += 2.1 * rim;
        let middle = node(hub[0], hub[1]);
        let mut ring = |radius: f64, shift: f64| -> Vec<u32> {
            let angle = |k: usize| (k as f64 + shift + 0.1 * noise(k as u64)) * std::f64::consts::TAU / n as f64;
            (0..n).map(|k| node(hub[0] + radius * angle(k).cos(), hub[1] + radius * angle(k).sin())).collect()
        };
        let (inner, outer) = (ring(radius, 0.0), ring(rim, 0.5));
        for k in 0..n {
            let next = (k + 1) % n;
            connectivity.extend([middle, inner[k], inner[next]]);
            connectivity.extend([inner[k], outer[k], inner[next], inner[next], outer[k], outer[next]]);
        }
    }
    for n in [2, 9, 12] {
        let hub = [left + 1.5e-3, top - 1.5e-3];
        left += 3e-3;
        let middle = node(hub[0], hub[1]);
        for side in [0.0, std::f64::consts::PI] {
            let angle = |k: usize| side + k as f64 / n as f64;
            let rim: Vec<u32> =
                (0..=n).map(|k| node(hub[0] + 1e-3 * angle(k).cos(), hub[1] + 1e-3 * angle(k).sin())).collect();
            rim.windows(2).for_each(|pair| connectivity.extend([middle, pair[0], pair[1]]));
        }
    }
    let (n_nodes, n) = (mesh.coordinates.len() / 2, mesh.groups[0].connectivity.len() / 3);
    mesh.node_labels = (1..=n_nodes as u32).collect();
    mesh.node_instance = vec![0; n_nodes];
    let group = &mut mesh.groups[0];
    (group.labels, group.instance, group.section) = ((1..=n as u32).collect(), vec![0; n], vec![0; n]);
    mesh
}

#[test]
fn the_fans_of_all_sizes_are_there() {
    let case = Arranged::new(fans_of_all_sizes(), &[isotropic(210e9, 0.3)], 300);
    let problem = case.problem();
    assert!(problem.lumped_mass.iter().all(|&mass| mass > 0.0));
    let device = case.device.view();
    let (mut closed, mut open, mut further) = ([0; 10], [0; 10], 0);
    for node in 0..case.mesh.n_nodes() {
        let fan = device.fan(node);
        let n = fan.n_neighbours();
        let is_closed = n > 3 && fan.neighbour(0) == fan.neighbour(n - 1);
        (if is_closed { &mut closed } else { &mut open })[n - usize::from(is_closed)] += 1;
        further += usize::from(fan.has_further());
    }
    assert!(closed[3..=8].iter().all(|&n| n > 0), "{closed:?}");
    assert!(open[3] > 0 && open[9] > 0 && further >= 9, "{open:?}, {further}");
}

/// Materials for each law of fans, and two that meet.
fn laws_of_fans() -> [(&'static str, Vec<[f64; 36]>); 4] {
    let steel = isotropic(210e9, 0.3);
    let mut stiffer = steel;
    stiffer[0] *= 1.4;
    [
        ("isotropic", vec![steel]),
        ("aligned", vec![stiffer]),
        ("coupled", vec![anisotropic()]),
        ("two isotropic", vec![steel, isotropic(70e9, 0.33)]),
    ]
}

#[test]
#[ignore = "needs a CUDA device: tests/gpu.sh kernels runs it"]
fn fans_of_all_sizes_in_every_law() {
    let (water, other) = (isotropic(210e9, 0.3), isotropic(70e9, 0.33));
    let fluids = [("fluid", vec![water]), ("two fluids", vec![water, other])];
    for (law, elasticities) in laws_of_fans().into_iter().chain(fluids) {
        for capacity in [48, 300] {
            let mut mesh = fans_of_all_sizes();
            if law.contains("fluid") {
                mesh.groups[0].kind = ElementKind::Ac2d3;
            }
            let case = Arranged::new(mesh, &elasticities, capacity);
            let problem = case.problem();
            let what = format!("fans, {law}, blocks of {capacity}");
            compare::<f64>(&case, &problem, &format!("{what}, f64"), 1e-12);
            // Some blocks have pieces 3 cm apart, and positions are rounded to a grid that these can hold: in f64 on such a
            // grid forces are 1e-5 off.
            let limits = Limits { forces: 3e-5, ..Limits::of::<f32>(1e-5) };
            compare_within::<f32>(&case, &problem, &format!("{what}, f32"), limits);
        }
    }
}

/// Hexahedra and tetrahedra in grids, with forces, supports, monitors and damping everywhere, scaled stiffness in one place, and
/// two materials.
#[test]
#[ignore = "needs a CUDA device: tests/gpu.sh kernels runs it"]
fn grids_as_on_the_cpu() {
    let materials = [isotropic(210e9, 0.3), isotropic(70e9, 0.33)];
    for kind in [ElementKind::C3d4, ElementKind::C3d8, ElementKind::C3d8r] {
        for (shape, jitter, edge) in [("straight", 0.0, 2.0f64.powi(-10)), ("distorted", 0.2, 1e-3)] {
            let mesh = box_mesh(kind, [27, 25, 34], edge, jitter);
            let half = mesh.n_elements() / 2;
            let case = Arranged::in_sections(mesh, &materials, 24, &|e| e / half);
            let mut problem = case.problem();
            let n_dofs = 3 * case.mesh.n_nodes() as u64;
            let places = |every: u64| (0..n_dofs).step_by(every as usize);
            problem.forces.clear();
            problem.forces.extend(places(737).map(|dof| NodalForce { dof, signal: (dof % 9) as u32, value: 60.0 }));
            problem.constraints.retain(|constraint| constraint.dof < n_dofs / 4);
            problem.monitors = places(211).collect();
            problem.damping_rate.iter_mut().skip(n_dofs as usize / 10).for_each(|rate| *rate = 0.0);
            problem.stiffness_factor = vec![1.0; case.mesh.n_elements()];
            problem.stiffness_factor[case.mesh.n_elements() - 10] = 1.5;
            let what = format!("{} {shape} grid", kind.name());
            let report = GpuStepper::<f32>::new(
                &problem,
                &case.start(),
                &signals(&amplitudes(problem.time_increment), problem.time_increment),
                GpuOptions::default(),
            );
            let report = report.unwrap().report().clone();
            let names: Vec<&str> = report.kernels.iter().map(|kernel| kernel.name.as_str()).collect();
            for way in ["march_", "solids_"] {
                assert!(names.iter().any(|name| name.starts_with(way)), "{what}: {names:?}");
            }
            compare::<f64>(&case, &problem, &format!("{what} f64"), 1e-12);
            compare::<f32>(&case, &problem, &format!("{what} f32"), 1e-5);
        }
    }
}

/// Blocks on which nothing acts keep no room for what might; their forces and energies are asked for all the same.
#[test]
#[ignore = "needs a CUDA device: tests/gpu.sh kernels runs it"]
fn forces_where_nothing_acts() {
    for kind in [ElementKind::Cpe3, ElementKind::Cpe4, ElementKind::C3d4, ElementKind::C3d8] {
        let cells = if kind.dimension() == 2 { [60, 50, 0] } else { [16, 15, 14] };
        let case = Arranged::new(box_mesh(kind, cells, 1e-3, 0.1), &[isotropic(210e9, 0.3)], 500);
        let mut problem = case.problem();
        problem.forces.clear();
        problem.constraints.clear();
        problem.monitors.clear();
        problem.damping_rate.clear();
        forces::<f64>(&problem, &case.start(), 1e-12);
        forces::<f32>(&problem, &case.start(), 5e-6);
    }
}

fn forces<T: Real>(problem: &Problem, start: &State, tolerance: f64) {
    let signals = Signals::new(&[], problem.time_increment);
    let expected =
        CpuStepper::<f64>::new(problem, start, CpuOptions::new(1)).unwrap().internal_force(&start.displacement);
    let mut gpu = GpuStepper::<T>::new(problem, start, &signals, GpuOptions::default()).unwrap();
    let force = ElementStepper::internal_force(&mut gpu, &start.displacement).unwrap();
    let error = relative(&force, &expected);
    assert!(error <= tolerance, "internal force differs by {error:e}");
}

#[test]
#[ignore = "needs a CUDA device: tests/gpu.sh kernels runs it"]
fn too_large_a_problem_is_refused_before_it_runs() {
    let case = Arranged::new(box_mesh(ElementKind::Cpe3, [8, 8, 0], 1e-3, 0.1), &[isotropic(210e9, 0.3)], 64);
    let mut problem = case.problem();
    let start = case.start();
    let signals = Signals::new(&[], problem.time_increment);
    problem.forces.clear();
    problem.constraints.clear();
    let none = GpuStepper::<f32>::new(&problem, &start, &signals, GpuOptions { ordinal: 99 });
    assert!(none.unwrap_err().to_string().contains("--device cpu"));
    problem.device = None;
    let error = GpuStepper::<f32>::new(&problem, &start, &signals, GpuOptions::default()).unwrap_err();
    assert!(error.to_string().contains("write the block file again"), "{error}");
}

#[test]
#[ignore = "needs a CUDA device: tests/gpu.sh kernels runs it"]
fn a_full_device_is_told_before_anything_runs() {
    let case = Arranged::new(box_mesh(ElementKind::Cpe3, [8, 8, 0], 1e-3, 0.1), &[isotropic(210e9, 0.3)], 64);
    let (problem, start) = (case.problem(), case.start());
    let amplitudes = amplitudes(problem.time_increment);
    let signals = signals(&amplitudes, problem.time_increment);
    let make = || GpuStepper::<f64>::new(&problem, &start, &signals, GpuOptions::default());
    let gpu = Gpu::open(0).unwrap();
    let taken = Buffer::<u32>::zeros((gpu.free_memory().unwrap() - (64 << 20)) as usize / 4).unwrap();
    match make().unwrap_err() {
        GpuError::Device(DeviceError::Memory { needed, free, .. }) => assert!(needed > free && free <= 64 << 20),
        other => panic!("{other}"),
    }
    drop(taken);
    make().unwrap();
}

/// A kernel that fails takes everything on the device along, so it runs in a process of its own.
#[test]
#[ignore = "needs a CUDA device: tests/gpu.sh kernels runs it"]
fn a_kernel_that_fails_is_an_error_from_then_on() {
    const NAME: &str = "a_kernel_that_fails_is_an_error_from_then_on";
    const INNER: &str = "POGO_TEST_FAILING_KERNEL";
    if std::env::var_os(INNER).is_none() {
        let path = format!("explicit::tests::gpu::{NAME}");
        let mut inner = std::process::Command::new(std::env::current_exe().unwrap());
        let run = inner.args([&path, "--exact", "--nocapture", "--ignored"]).env(INNER, "1").output().unwrap();
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
        return;
    }
    let case = Arranged::new(box_mesh(ElementKind::Cpe3, [8, 8, 0], 1e-3, 0.1), &[isotropic(210e9, 0.3)], 64);
    let (problem, start) = (case.problem(), case.start());
    let amplitudes = amplitudes(problem.time_increment);
    let signals = signals(&amplitudes, problem.time_increment);
    let mut stepper = GpuStepper::<f64>::new(&problem, &start, &signals, GpuOptions::default()).unwrap();
    let mut advance = || stepper.advance(100, &SignalTable::default(), &[], &mut Vec::new());
    advance().unwrap();
    let gpu = Gpu::open(0).unwrap();
    let text = c".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry fail() { trap; }\n";
    let module = Module::compile(&gpu, "fail", text).unwrap();
    let fail = Kernel::new(&gpu, &module, "fail", 0).unwrap();
    // SAFETY: it takes nothing and touches nothing.
    unsafe { fail.launch(&Stream::new().unwrap(), 1, &mut []) }.unwrap();
    for error in [advance().unwrap_err(), stepper.state().unwrap_err()] {
        assert!(error.to_string().starts_with("CUDA cannot "), "{error}");
    }
}

/// A box of a solid with one of a fluid on top of it: nodes at the same place are two.
fn solid_below_fluid(solid: ElementKind, cells: [usize; 3], jitter: f64) -> Mesh {
    let mut mesh = box_mesh(solid, cells, 1e-3, jitter);
    let fluid = box_mesh(solid.acoustic(), cells, 1e-3, jitter);
    let d = mesh.dimension as usize;
    let (n, height) = (mesh.n_nodes() as u32, 1e-3 * cells[d - 1] as f64);
    mesh.coordinates
        .extend(fluid.coordinates.iter().enumerate().map(|(i, x)| if i % d == d - 1 { x + height } else { *x }));
    mesh.node_labels.extend(fluid.node_labels.iter().map(|label| label + n));
    mesh.node_instance.extend(&fluid.node_instance);
    for mut group in fluid.groups {
        group.connectivity.iter_mut().for_each(|node| *node += n);
        let n_elements = mesh.groups[0].labels.len() as u32;
        group.labels.iter_mut().for_each(|label| *label += n_elements);
        group.section.fill(1);
        mesh.groups.push(group);
    }
    mesh
}

impl Arranged {
    /// Blocks in which both nodes of a place are; sections as the mesh has them, with these elasticities.
    fn touching(mesh: Mesh, elasticities: &[[f64; 36]], capacity: usize) -> Self {
        let options = PartitionOptions { partitioner: Partitioner::Greedy, capacity };
        let mut cut = partition(&mesh.view(), &options, &|_| ()).unwrap();
        let d = mesh.dimension as usize;
        let mut first: HashMap<Vec<i64>, usize> = HashMap::new();
        for (node, x) in mesh.coordinates.chunks_exact(d).enumerate() {
            let place = x.iter().map(|x| (x * 1e7).round() as i64).collect();
            let one = *first.entry(place).or_insert(node);
            cut.block_of_node[node] = cut.block_of_node[one];
        }
        let mut kept: Vec<u32> = cut.block_of_node.clone();
        kept.sort_unstable();
        kept.dedup();
        cut.block_of_node.iter_mut().for_each(|block| *block = kept.partition_point(|other| other < block) as u32);
        cut.n_blocks = kept.len() as u32;
        let arranged = arrange(mesh, cut, &ArrangeOptions::default()).unwrap();
        let sections = elasticities.iter().map(|&elasticity| section(elasticity)).collect();
        Self { mesh: arranged.mesh, blocks: arranged.blocks, device: arranged.device, sections }
    }
}

/// Models with fluids: each kind alone, in a grid and in two materials, and each kind on a solid. `check` gets the size of the
/// boxes in the plane and in space.
fn fluid_cases(cells: [[usize; 3]; 2], capacity: usize, check: &mut dyn FnMut(&str, Arranged)) {
    let (steel, other) = (isotropic(210e9, 0.3), isotropic(70e9, 0.33));
    for kind in ElementKind::ALL.into_iter().filter(|kind| kind.is_acoustic()) {
        let cells = cells[kind.dimension() - 2];
        for (shape, jitter) in [("straight", 0.0), ("distorted", 0.2)] {
            for materials in [&[steel][..], &[steel, other]] {
                let case = Arranged::new(box_mesh(kind, cells, 1e-3, jitter), materials, capacity);
                check(&format!("{} {shape} {}", kind.name(), materials.len()), case);
            }
            for solid in ElementKind::SOLIDS.into_iter().filter(|solid| solid.acoustic() == kind) {
                let half = cells.map(|n| n.div_ceil(2));
                for elasticity in [steel, anisotropic()] {
                    let mesh = solid_below_fluid(solid, half, jitter);
                    let case = Arranged::touching(mesh, &[elasticity, other], capacity);
                    check(&format!("{} on {} {shape}", kind.name(), solid.name()), case);
                }
            }
        }
    }
}

#[test]
#[ignore = "needs a CUDA device: tests/gpu.sh kernels runs it"]
fn fluids_as_on_the_cpu() {
    fluid_cases([[40, 35, 0], [13, 11, 9]], 300, &mut |what, case| {
        let mut problem = case.problem();
        if what.contains("distorted") {
            problem.stiffness_factor = (0..case.mesh.n_elements()).map(|e| 1.0 + 0.5 * noise(e as u64)).collect();
        }
        compare::<f64>(&case, &problem, &format!("{what} f64"), 1e-12);
        compare::<f32>(&case, &problem, &format!("{what} f32"), 1e-5);
    });
}

/// A problem of fluids, in some of which elements are scaled one by one.
fn problem_of<'a>(case: &'a Arranged, what: &str) -> Problem<'a> {
    let mut problem = case.problem();
    if what.contains("apart") {
        problem.wet.clear();
    }
    if what.contains("distorted") {
        problem.stiffness_factor = (0..case.mesh.n_elements()).map(|e| 1.0 + 0.5 * noise(e as u64)).collect();
    }
    problem
}
