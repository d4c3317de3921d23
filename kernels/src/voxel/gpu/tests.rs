//! The solver on a device against that on the CPU. These tests need a device: `tests/gpu.sh kernels` runs them.

use std::sync::Arc;

use pogo_formats::voxel::{Bricks, bricks_of};

use super::super::tests::{Porous, check_bars, check_sheet, random};
use super::super::{
    CycleSettings, FixedDof, GpuStaticSolver, Grid, Lame, Moduli, NodalForce, Ratios, Solution, SolverSettings,
    StaticProblem, StaticSolver,
};

use crate::device::{DeviceError, n_devices};
use crate::ranks::{Ranks, Threads};

fn go(_: usize, _: f64) -> std::ops::ControlFlow<()> {
    std::ops::ControlFlow::Continue(())
}

/// Thin floors on thin pillars: no part is loose.
fn floors(size: [u32; 3]) -> Bricks {
    bricks_of(size, |[x, y, z]| z % 5 == 0 || (x % 4 < 2 && y % 5 == 1))
}

/// Both ends and a side held or moved by `strain`; forces inside.
fn load(bricks: &Bricks, top: u32, strain: f64) -> (Vec<FixedDof>, Vec<NodalForce>) {
    let view = bricks.view();
    let positions = (0..view.n_bricks()).flat_map(|b| view.node_positions(b));
    let (mut fixed, mut forces) = (Vec::new(), Vec::new());
    for (node, [x, _, z]) in positions.enumerate() {
        let node = node as u32;
        let values = match (z, x) {
            (0, _) => [Some(0.0); 3],
            (z, _) if z == top => [None, Some(strain), Some(-strain)],
            (_, 0) => [Some(0.0), None, None],
            _ => [None; 3],
        };
        let dofs = values.into_iter().zip(0..);
        fixed.extend(dofs.filter_map(|(value, direction)| value.map(|value| FixedDof { node, direction, value })));
        if values == [None; 3] && node.is_multiple_of(101) {
            forces.push(NodalForce { node, direction: (node % 3) as u8, value: 10.0 * strain });
        }
    }
    (fixed, forces)
}

fn difference(a: &Solution, b: &Solution) -> f64 {
    let norm = |v: &mut dyn Iterator<Item = f64>| v.map(|v| v * v).sum::<f64>().sqrt();
    let apart = norm(&mut a.displacement.iter().zip(&b.displacement).map(|(a, b)| a - b));
    apart / norm(&mut b.displacement.iter().copied())
}

fn device_solver(problem: &StaticProblem, settings: &SolverSettings) -> GpuStaticSolver {
    GpuStaticSolver::new(problem, settings, &[0]).expect("a device")
}

#[test]
#[ignore = "needs a CUDA device: tests/gpu.sh kernels runs it"]
fn a_device_solves_bars_between_frictionless_walls_and_sheets() {
    let solve = |problem: &StaticProblem, settings: &SolverSettings| {
        let mut device = device_solver(problem, settings);
        Some(device.solve(problem.fixed, &[], None, &mut go).expect("solves"))
    };
    check_bars(solve);
    check_sheet(solve);
}

#[test]
#[ignore = "needs a CUDA device: tests/gpu.sh kernels runs it"]
fn a_device_solves_as_the_cpu_does() {
    let usual = SolverSettings { tolerance: 1e-8, ..SolverSettings::default() };
    let cycle = CycleSettings::default();
    let with = |cycle: CycleSettings| SolverSettings { cycle, ..usual.clone() };
    for (size, settings) in [
        ([45, 33, 41], usual.clone()),
        ([45, 33, 41], with(CycleSettings { bottom: 4000, ..cycle.clone() })),
        ([45, 33, 41], with(CycleSettings { inner: vec![1], ..cycle.clone() })),
        ([20, 33, 16], with(CycleSettings { degree: [3, 3], bottom: 100, ..cycle.clone() })),
        ([20, 33, 16], with(CycleSettings { degree: [1, 1], ..cycle.clone() })),
        ([90, 80, 96], usual.clone()),
    ] {
        let bricks = floors(size);
        let view = bricks.view();
        let class: Vec<u8> = (0..view.n_elements()).map(|e| u8::from(random(e as u64) < 0.5)).collect();
        let modulus: Vec<f32> = (0..view.n_elements()).map(|e| 1.0 + random(e as u64) as f32).collect();
        let (fixed, forces) = load(&bricks, size[2], 1e-3);
        for (name, moduli) in [
            ("one modulus", Moduli::Classes { class: &class, young: &[1000.0, 1000.0] }),
            ("two moduli", Moduli::Classes { class: &class, young: &[1000.0, 3000.0] }),
            ("many moduli", Moduli::Each { modulus: &modulus, scale: 900.0 }),
        ] {
            let problem = StaticProblem {
                bricks: view,
                moduli,
                ratios: Ratios::One(0.3),
                spacing: 0.1,
                fixed: &fixed,
                forces: &forces,
            };
            let mut device = device_solver(&problem, &settings);
            let found = device.solve(&fixed, &forces, None, &mut go).expect("solves");
            let mut cpu = StaticSolver::new(&problem, Grid::Bricks, &settings);
            let expected = cpu.solve(&fixed, &forces, None, &mut go);
            let apart = difference(&found, &expected);
            eprintln!(
                "{} dofs, {name}, {:?}: {} iterations (CPU {}), {:.1} products ({:.1}), residual {:.1e} ({:.1e}), \
                 displacements {apart:.1e} apart",
                3 * view.n_nodes(),
                settings.cycle,
                found.iterations,
                expected.iterations,
                found.products,
                expected.products,
                found.relative_residual,
                expected.relative_residual
            );
            assert!(found.converged && expected.converged);
            assert!(found.iterations.abs_diff(expected.iterations) <= 1);
            assert!(apart < 1e-6);
            // The same bits again; another load case on the same preconditioner; from a start.
            let again = device.solve(&fixed, &forces, None, &mut go).expect("solves");
            assert!(again.displacement == found.displacement && again.history == found.history);
            let (other, others) = load(&bricks, size[2], -2e-3);
            let twice = device.solve(&other, &others, None, &mut go).expect("solves");
            let worst = twice
                .displacement
                .iter()
                .zip(&found.displacement)
                .fold(0.0_f64, |m, (a, b)| m.max((a + 2.0 * b).abs()));
            let scale = twice.displacement.iter().fold(0.0_f64, |m, a| m.max(a.abs()));
            assert!(worst < 1e-6 * scale, "{worst} {scale}");
            let near: Vec<f64> = found.displacement.iter().map(|u| 1.001 * u).collect();
            let warm = device.solve(&fixed, &forces, Some(&near), &mut go).expect("solves");
            assert!(warm.iterations < found.iterations && difference(&warm, &found) < 1e-6);
        }
    }
}

#[test]
#[ignore = "needs a CUDA device: tests/gpu.sh kernels runs it"]
fn a_device_solves_materials_of_several_ratios_as_the_cpu_does() {
    let cycle = CycleSettings { bottom: 100, ..CycleSettings::default() };
    let with = |cycle: CycleSettings| SolverSettings { tolerance: 1e-9, cycle, ..SolverSettings::default() };
    for poisson in [[0.0, 0.45], [0.3, -0.3]] {
        // Against plain conjugate gradients.
        let porous = Porous::of(poisson);
        let problem = porous.problem();
        for settings in [with(cycle.clone()), with(CycleSettings { degree: [3, 3], ..cycle.clone() })] {
            let mut device = device_solver(&problem, &settings);
            let found = device.solve(&porous.fixed, &porous.forces, None, &mut go).expect("solves");
            let error = porous.error(&found);
            eprintln!("ratios {poisson:?}: {} iterations, {error:.1e} from plain ones", found.iterations);
            assert!(found.converged && error < 1e-7);
        }
        // Against the same method on the CPU.
        for (size, settings) in [
            ([45, 33, 41], with(CycleSettings::default())),
            ([20, 33, 16], with(CycleSettings { degree: [1, 1], ..cycle.clone() })),
            ([90, 80, 96], with(CycleSettings::default())),
        ] {
            let bricks = floors(size);
            let view = bricks.view();
            let class: Vec<u8> = (0..view.n_elements()).map(|e| u8::from(random(e as u64) < 0.5)).collect();
            let (fixed, forces) = load(&bricks, size[2], 1e-3);
            let problem = StaticProblem {
                bricks: view,
                moduli: Moduli::Classes { class: &class, young: &[1000.0, 3000.0] },
                ratios: Ratios::Classes(&poisson.map(Lame::new)),
                spacing: 0.1,
                fixed: &fixed,
                forces: &forces,
            };
            let mut device = device_solver(&problem, &settings);
            let found = device.solve(&fixed, &forces, None, &mut go).expect("solves");
            let expected = StaticSolver::new(&problem, Grid::Bricks, &settings).solve(&fixed, &forces, None, &mut go);
            let apart = difference(&found, &expected);
            eprintln!(
                "{} dofs, ratios {poisson:?}: {} iterations (CPU {}), {:.1} products ({:.1}), displacements {apart:.1e} apart",
                3 * view.n_nodes(),
                found.iterations,
                expected.iterations,
                found.products,
                expected.products
            );
            assert!(found.converged && expected.converged && apart < 1e-7);
            // Rounding is another in each iteration, and here there are many.
            assert!(found.iterations.abs_diff(expected.iterations) <= 1 + expected.iterations / 10);
            let again = device.solve(&fixed, &forces, None, &mut go).expect("solves");
            assert!(again.displacement == found.displacement && again.history == found.history);
        }
    }
}

/// What elements of several devices are made of.
struct Materials {
    class: Vec<u8>,
    modulus: Vec<f32>,
    lame: [Lame; 2],
}

impl Materials {
    fn new(n_elements: usize) -> Self {
        let numbers = || (0..n_elements as u64).map(random);
        Self {
            class: numbers().map(|number| u8::from(number < 0.5)).collect(),
            modulus: numbers().map(|number| 1.0 + number as f32).collect(),
            lame: [0.3, -0.3].map(Lame::new),
        }
    }

    /// One modulus, two, one for each element, and two Poisson's ratios.
    fn kinds(&self) -> [(Moduli<'_>, Ratios<'_>); 4] {
        let (class, one) = (&self.class, Ratios::One(0.3));
        let two = Moduli::Classes { class, young: &[1000.0, 3000.0] };
        [
            (Moduli::Classes { class, young: &[1000.0, 1000.0] }, one),
            (two, one),
            (Moduli::Each { modulus: &self.modulus, scale: 900.0 }, one),
            (two, Ratios::Classes(&self.lame)),
        ]
    }
}

/// Samples of several shapes: thin floors, a solid box, a long thin bar, one so small that a device has nearly nothing.
fn shapes() -> Vec<(&'static str, [u32; 3], Bricks)> {
    let solid = |size| bricks_of(size, |_| true);
    vec![
        ("floors", [90, 80, 96], floors([90, 80, 96])),
        ("box", [60, 50, 64], solid([60, 50, 64])),
        ("bar", [9, 9, 200], solid([9, 9, 200])),
        ("grain", [5, 4, 6], solid([5, 4, 6])),
    ]
}

#[test]
#[ignore = "needs a CUDA device: tests/gpu.sh kernels runs it"]
fn several_devices_solve_as_one_does() {
    let n = n_devices().expect("a driver").min(4);
    if n < 2 {
        pogo_tests::skip("there is only one CUDA device");
        return;
    }
    let usual = SolverSettings { tolerance: 1e-8, ..SolverSettings::default() };
    let cubic = CycleSettings { degree: [3, 3], bottom: 100, ..CycleSettings::default() };
    let other = SolverSettings { tolerance: 1e-10, cycle: cubic, ..usual.clone() };
    let mut largest = 0.0_f64;
    for (name, size, bricks) in shapes() {
        let view = bricks.view();
        let materials = Materials::new(view.n_elements());
        let [one, two, each, ratios] = materials.kinds();
        let (fixed, forces) = load(&bricks, size[2], 1e-3);
        for ((moduli, ratios), settings) in [(one, &usual), (two, &other), (each, &usual), (ratios, &usual)] {
            let problem = StaticProblem { bricks: view, moduli, ratios, spacing: 0.1, fixed: &fixed, forces: &forces };
            let expected = device_solver(&problem, settings).solve(&fixed, &forces, None, &mut go).expect("solves");
            for (n_devices, least) in (2..=n).flat_map(|n| [(n, 0), (n, 2000), (n, usize::MAX)]) {
                let ordinals: Vec<u32> = (0..n_devices).collect();
                let mut devices =
                    GpuStaticSolver::with_least(&problem, settings, &ordinals, least).expect("connected devices");
                let found = devices.solve(&fixed, &forces, None, &mut go).expect("solves");
                let apart = difference(&found, &expected);
                largest = largest.max(apart);
                eprintln!(
                    "{name}, {n_devices} devices, levels of {least} nodes: {} iterations ({}), {apart:.1e} apart",
                    found.iterations, expected.iterations
                );
                assert!(found.converged && found.iterations.abs_diff(expected.iterations) <= 1);
                assert!(apart < 1e-6);
                let again = devices.solve(&fixed, &forces, None, &mut go).expect("solves");
                assert!(again.displacement == found.displacement && again.history == found.history);
                let near: Vec<f64> = found.displacement.iter().map(|u| 1.001 * u).collect();
                let warm = devices.solve(&fixed, &forces, Some(&near), &mut go).expect("solves");
                assert!(difference(&warm, &found) < 1e-6);
            }
        }
    }
    eprintln!("several devices differ from one by up to {largest:.1e} of the displacement");
}

/// What each of several ranks makes of a solver over all of them, of which rank r has device r. Levels of `least` nodes are computed
/// together.
fn over_ranks<R: Send>(
    n_ranks: usize,
    problem: &StaticProblem,
    settings: &SolverSettings,
    least: usize,
    act: impl Fn(&dyn Ranks, &mut GpuStaticSolver) -> R + Sync,
) -> Vec<R> {
    let act = &act;
    std::thread::scope(|scope| {
        let start = |ranks: Threads| {
            scope.spawn(move || {
                let ranks: Arc<dyn Ranks> = Arc::new(ranks);
                let solver = GpuStaticSolver::over_with_least(problem, settings, ranks.rank() as u32, &ranks, least);
                act(&*ranks, &mut solver.expect("a device for each rank"))
            })
        };
        let ranks: Vec<_> = Threads::new(n_ranks).into_iter().map(start).collect();
        ranks.into_iter().map(|rank| rank.join().expect("no panic")).collect()
    })
}

#[test]
#[ignore = "needs a CUDA device: tests/gpu.sh kernels runs it"]
fn ranks_with_a_device_each_have_the_bits_of_devices_of_one_process() {
    let n = n_devices().expect("a driver").min(4);
    if n < 2 {
        pogo_tests::skip("there is only one CUDA device");
        return;
    }
    let usual = SolverSettings { tolerance: 1e-8, ..SolverSettings::default() };
    let with = |cycle: CycleSettings| SolverSettings { cycle, ..usual.clone() };
    let cubic = with(CycleSettings { degree: [3, 3], bottom: 100, ..CycleSettings::default() });
    let plain = with(CycleSettings { inner: vec![1], ..CycleSettings::default() });
    let mut n_compared = 0;
    for (name, size, bricks) in shapes().into_iter().filter(|&(name, ..)| name != "grain") {
        let view = bricks.view();
        let materials = Materials::new(view.n_elements());
        let [one, two, each, ratios] = materials.kinds();
        let (fixed, forces) = load(&bricks, size[2], 1e-3);
        let cases = [(one, &usual), (two, &cubic), (two, &plain), (each, &usual), (ratios, &usual)];
        for ((moduli, ratios), settings) in cases {
            let problem = StaticProblem { bricks: view, moduli, ratios, spacing: 0.1, fixed: &fixed, forces: &forces };
            for (n_ranks, least) in (2..=n).flat_map(|n| [(n, 0), (n, 2000), (n, usize::MAX)]) {
                let ordinals: Vec<u32> = (0..n_ranks).collect();
                let mut devices =
                    GpuStaticSolver::with_least(&problem, settings, &ordinals, least).expect("connected devices");
                // One whole solve, one that the first rank stops, and one that goes on from there.
                let cases = |leads: bool, solver: &mut GpuStaticSolver| {
                    let whole = solver.solve(&fixed, &forces, None, &mut go).expect("solves");
                    let mut few = |iteration: usize, _: f64| match leads && iteration == 3 {
                        true => std::ops::ControlFlow::Break(()),
                        false => std::ops::ControlFlow::Continue(()),
                    };
                    let stopped = solver.solve(&fixed, &forces, None, &mut few).expect("solves");
                    let near: Vec<f64> = (0..3 * view.n_nodes()).map(|i| 1e-3 * random(i as u64)).collect();
                    [whole, stopped, solver.solve(&fixed, &forces, Some(&near), &mut go).expect("solves")]
                };
                let expected = cases(true, &mut devices);
                drop(devices);
                let solve = |ranks: &dyn Ranks, solver: &mut GpuStaticSolver| cases(ranks.leads(), solver);
                let found = over_ranks(n_ranks as usize, &problem, settings, least, solve);
                for (rank, found) in found.iter().enumerate() {
                    for (found, expected) in found.iter().zip(&expected) {
                        let at = format!("{name}, {settings:?}, rank {rank} of {n_ranks}, levels of {least} nodes");
                        let first = found.history.iter().zip(&expected.history).position(|(a, b)| a != b);
                        let apart = first.map(|at| (at, found.history[at], expected.history[at]));
                        assert!(found.history == expected.history, "{at}: {apart:?}");
                        let displacement = if rank == 0 { &expected.displacement[..] } else { &[] };
                        assert!(found.displacement == displacement, "{at}");
                        n_compared += 1;
                    }
                }
            }
        }
    }
    eprintln!("{n_compared} solutions of ranks have the bits of devices of one process");
    // A rank without a device.
    let bricks = floors([20, 33, 16]);
    let view = bricks.view();
    let class = vec![0; view.n_elements()];
    let (fixed, forces) = load(&bricks, 16, 1e-3);
    let moduli = Moduli::Classes { class: &class, young: &[1000.0] };
    let problem =
        StaticProblem { bricks: view, moduli, ratios: Ratios::One(0.3), spacing: 0.1, fixed: &fixed, forces: &forces };
    std::thread::scope(|scope| {
        for ranks in Threads::new(2) {
            let (problem, settings) = (&problem, &usual);
            scope.spawn(move || {
                let ranks: Arc<dyn Ranks> = Arc::new(ranks);
                let error = GpuStaticSolver::over(problem, settings, 99 * ranks.rank() as u32, &ranks).unwrap_err();
                match (ranks.rank(), error) {
                    (0, DeviceError::OnRank { rank: 1, .. }) | (1, DeviceError::NoDevice { .. }) => {}
                    (rank, error) => panic!("rank {rank}: {error}"),
                }
            });
        }
    });
}
