//! The device against the CPU. These tests need a device: `tests/gpu.sh kernels` runs them.

use super::*;
use crate::simd::{Level, Real};

/// Relative distance of two fields.
fn distance(a: &[f64], b: &[f64]) -> f64 {
    let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|x| x * x).sum::<f64>().sqrt();
    norm(&mut a.iter().zip(b).map(|(a, b)| a - b)) / norm(&mut a.iter().copied())
}

/// Steps on both, with recordings; states, and what was recorded.
fn both<T: Real>(
    problem: &SpringProblem,
    state: &State,
    addressing: Addressing,
    scheme: Scheme,
    steps: usize,
) -> Option<([State; 2], [Vec<f64>; 2])> {
    both_with::<T>(problem, state, addressing, GpuOptions { scheme, ..GpuOptions::default() }, steps)
}

/// The same with other options.
fn both_with<T: Real>(
    problem: &SpringProblem,
    state: &State,
    addressing: Addressing,
    options: GpuOptions,
    steps: usize,
) -> Option<([State; 2], [Vec<f64>; 2])> {
    let scheme = options.scheme;
    let mut device = match GpuStepper::<T>::new(problem.clone(), state, addressing, options) {
        Ok(stepper) => stepper,
        Err(GpuError::Scheme { .. }) => return None,
        Err(error) => panic!("{error}"),
    };
    let report = device.report().clone();
    let mut host = CpuStepper::<T>::new(problem.clone(), state, Addressing::Automatic, 2, Level::detect()).unwrap();
    let wave = |k: usize| 1.0 + 0.3 * (0.2 * k as f64).sin();
    let mut recordings = [Vec::new(), Vec::new()];
    // In two stretches, the second at an odd step.
    for (first, n, record) in [(0, 77, vec![3, 4, 70]), (77, steps - 77, vec![77, steps as u64 - 1])] {
        let signals = SignalTable { n_signals: 1, values: (first..=first + n).map(wave).collect() };
        host.advance(n, &signals, &record, &mut recordings[0]).unwrap();
        device.advance(n, &signals, &record, &mut recordings[1]).unwrap();
    }
    let states = [host.state().unwrap(), device.state().unwrap()];
    // Energies of the device are those of its state; what came in and was taken is what the CPU says.
    let values = [wave(steps), wave(steps + 1)];
    let found = device.energies(&values).unwrap();
    let expected = energies::energies(problem, device.springs(), &states[1], &values);
    let scale = expected.kinetic + expected.elastic + expected.dissipated.abs() + expected.external_work.abs();
    let momentum = (2.0 * expected.kinetic * problem.mass_of(0) * problem.n_particles() as f64).sqrt();
    let single = size_of::<T>() == 4;
    let near = |a: f64, b: f64, scale: f64| (a - b).abs() <= if single { 3e-6 } else { 1e-12 } * scale;
    let what = format!("{} {addressing:?} {scheme:?}: {found:?} {expected:?}", report.kernel.0);
    assert!(near(found.kinetic, expected.kinetic, scale) && near(found.elastic, expected.elastic, scale), "{what}");
    assert!(near(found.gravity, expected.gravity, scale + expected.gravity.abs()), "{what}");
    assert!(near(found.external_work, expected.external_work, scale), "{what}");
    assert!(near(found.dissipated, expected.dissipated, scale), "{what}");
    assert!((0..3).all(|c| near(found.momentum[c], expected.momentum[c], momentum)), "{what}");
    assert_eq!(found.n_springs, expected.n_springs);
    if problem.follow_work && states[0].changes.is_empty() {
        let limit = scale * if single { 3e-5 } else { 1e-12 };
        assert!((states[0].external_work - states[1].external_work).abs() <= limit, "{what}");
        assert!((states[0].dissipated - states[1].dissipated).abs() <= limit, "{what}");
        // Two sums in the same order: the same bits.
        assert_eq!(found, device.energies(&values).unwrap());
    }
    let error = distance(&states[0].displacement, &states[1].displacement);
    eprintln!("{} {addressing:?} {scheme:?} {}: {error:.1e}", report.kernel.0, std::any::type_name::<T>());
    Some((states, recordings))
}

const SCHEMES: [(Addressing, Scheme); 6] = [
    (Addressing::Automatic, Scheme::Automatic),
    (Addressing::Implicit, Scheme::Cached),
    (Addressing::Implicit, Scheme::Shared),
    (Addressing::Explicit, Scheme::Shared),
    (Addressing::ExplicitGlobal, Scheme::Cached),
    (Addressing::Explicit, Scheme::Resident),
];

#[test]
#[ignore = "needs a CUDA device: tests/gpu.sh kernels runs it"]
fn all_ways_agree_with_the_cpu() {
    // (directions, materials, damped, rest factor, loads, even spacing), and how many ways must have been possible in f32.
    let cases = [
        (18, 1, false, 1.0, false, true, 6),
        (18, 1, false, 1.0, true, true, 5),
        (26, 1, false, 1.0, true, false, 5),
        (6, 1, false, 1.0, true, false, 5),
        (26, 2, true, 1.0, true, false, 4),
        (18, 2, false, 0.98, true, true, 4),
        (18, 1, true, 1.02, true, true, 4),
    ];
    for (directions, materials, damped, rest_factor, loads, even, expected) in cases {
        let (mut mesh, mut groups) = rich(directions, materials, damped);
        if even {
            mesh.grid.as_mut().unwrap().spacing = [1.0; 3];
        }
        groups.iter_mut().for_each(|group| group.rest_factor = rest_factor);
        let mut problem = problem(&mesh, groups, 1.0, 0.1);
        if loads {
            load(&mut problem);
            problem.constraints[4].value = 0.02;
            problem.follow_work = true;
        }
        if expected == 5 && even {
            // One mass: columns are possible.
            problem.mass = vec![1.1];
        }
        let state = disturbed(&problem, 0.02);
        let mut possible = 0;
        for (addressing, scheme) in SCHEMES {
            if let Some((states, recordings)) = both::<f64>(&problem, &state, addressing, scheme, 200) {
                assert_eq!(bits(&states[0].displacement), bits(&states[1].displacement), "{addressing:?} {scheme:?}");
                assert_eq!(bits(&recordings[0]), bits(&recordings[1]), "{addressing:?} {scheme:?}");
            }
            if let Some((states, recordings)) = both::<f32>(&problem, &state, addressing, scheme, 200) {
                possible += 1;
                assert!(distance(&states[0].displacement, &states[1].displacement) < 5e-6, "{addressing:?} {scheme:?}");
                assert!(recordings[0].is_empty() || distance(&recordings[0], &recordings[1]) < 1e-5);
            }
        }
        eprintln!("{directions} {materials} {damped} {rest_factor} {loads} {even}: {possible} ways");
        assert!(possible >= expected.min(4), "{possible} of {expected}");
    }
}

/// A full box of whole warps, where the unmasked code runs, and boundaries of tiles and columns lie inside.
#[test]
#[ignore = "needs a CUDA device: tests/gpu.sh kernels runs it"]
fn a_full_box_agrees() {
    let cases = [
        ([32, 32, 32], 18, 0.7),
        ([70, 21, 41], 18, 0.7),
        ([70, 18, 19], 18, 0.7),
        ([40, 18, 9], 18, 0.0),
        ([33, 17, 12], 26, 0.7),
        ([33, 17, 12], 6, 0.0),
    ];
    for (size, directions, face) in cases {
        let mesh = lattice(size, [1.0; 3], directions, 512, |_| Some(0));
        let mut problem = problem(&mesh, vec![group(1.0), group(face), group(0.4)], 1.0, 0.2);
        if size[2] < 20 {
            let x = if size[0] > 64 { 40.5 } else { 16.5 };
            let shape = CutShape::Plane { point: [x, 0.0, 0.0], normal: [1.0, 0.0, 0.0] };
            problem.cuts = vec![Cut { name: "cut".into(), time: 20.0, frame: CutFrame::Rest, shape }];
        }
        if size[0] > 32 {
            problem.damping = SpringDamping::Alpha(0.05);
            problem.follow_work = true;
        }
        let state = disturbed(&problem, 0.02);
        for (addressing, scheme) in SCHEMES {
            let Some((states, _)) = both::<f32>(&problem, &state, addressing, scheme, 300) else { continue };
            let error = distance(&states[0].displacement, &states[1].displacement);
            assert!(error < 1e-5, "{size:?} {directions} {face} {addressing:?} {scheme:?}: {error}");
            assert_eq!(states[0].changes, states[1].changes);
        }
        // Columns as long as the box, other than those that so small a model gets.
        let options = GpuOptions { scheme: Scheme::Shared, depth: size[2] as u32, ..GpuOptions::default() };
        let found = both_with::<f32>(&problem, &state, Addressing::Implicit, options, 300);
        if let Some((states, _)) = found {
            assert!(distance(&states[0].displacement, &states[1].displacement) < 1e-4, "{size:?}");
        }
    }
}

#[test]
#[ignore = "needs a CUDA device: tests/gpu.sh kernels runs it"]
fn springs_break_and_are_cut_and_added_as_on_the_cpu() {
    for (materials, damped) in [(1, false), (2, true)] {
        let (mesh, mut groups) = rich(18, materials, damped);
        groups.iter_mut().for_each(|group| group.max_strain = 0.06);
        let mut problem = problem(&mesh, groups, 1.0, 0.1);
        problem.mass = vec![1.0];
        problem.cuts = vec![Cut {
            name: "cut".into(),
            time: 1.0,
            frame: CutFrame::Current,
            shape: CutShape::Plane { point: [10.3, 0.0, 0.0], normal: [1.0, 0.2, 0.1] },
        }];
        let state = disturbed(&problem, 0.03);
        let cut = problem.mesh.springs(300).next().map(|spring| spring.other).unwrap();
        problem.erasures = vec![SpringErasure { name: "e".into(), time: 1.5, springs: vec![[300, cut]] }];
        let mut refused = 0;
        for far in [None, Some(700)] {
            problem.additions = vec![SpringAddition {
                name: "a".into(),
                time: 2.5,
                group: 0,
                springs: vec![[300, far.unwrap_or(cut)]],
            }];
            for (addressing, scheme) in SCHEMES {
                if far.is_some() && addressing == Addressing::Implicit {
                    refused += 1;
                    continue;
                }
                if let Some((states, _)) = both::<f64>(&problem, &state, addressing, scheme, 120) {
                    assert_eq!(states[0].changes, states[1].changes, "{addressing:?} {scheme:?}");
                    assert_eq!(
                        bits(&states[0].displacement),
                        bits(&states[1].displacement),
                        "{addressing:?} {scheme:?}"
                    );
                    assert!(states[0].changes.len() > 60);
                }
                if let Some((states, _)) = both::<f32>(&problem, &state, addressing, scheme, 80) {
                    // Rounding may move a break by a step, and what follows from it; not many.
                    let [a, b] = [&states[0].changes, &states[1].changes];
                    assert!(
                        a.len().abs_diff(b.len()) <= 2 + a.len() / 50,
                        "{addressing:?} {scheme:?}: {} {}",
                        a.len(),
                        b.len()
                    );
                }
            }
        }
        let implicit = SCHEMES.iter().filter(|(addressing, _)| *addressing == Addressing::Implicit).count();
        assert_eq!(refused, implicit);
    }
}

#[test]
#[ignore = "needs a CUDA device: tests/gpu.sh kernels runs it"]
fn a_deck_on_the_device_has_the_bits_of_the_cpu() {
    let (mesh, mut groups) = net(600, 3);
    for with_sections in [true, false] {
        if !with_sections {
            groups.iter_mut().for_each(|group| group.axial_stiffness = 0.0);
        }
        a_deck_has_the_bits_of_the_cpu(&mesh, &groups);
    }
    // More lengths than kinds can be.
    let (mesh, groups) = net(20_000, 2);
    a_deck_has_the_bits_of_the_cpu(&mesh, &groups);
}

fn a_deck_has_the_bits_of_the_cpu(mesh: &SpringMesh, groups: &[SpringGroup]) {
    let mut problem = problem(mesh, groups.to_vec(), 1.0, 0.05);
    problem.gravity = vec![Acceleration { acceleration: [0.0, 0.0, -0.1], signal: 0 }];
    let state = disturbed(&problem, 0.05);
    for (addressing, scheme) in SCHEMES {
        if addressing == Addressing::Implicit {
            continue;
        }
        if let Some((states, _)) = both::<f64>(&problem, &state, addressing, scheme, 200) {
            assert_eq!(states[0].changes, states[1].changes);
            assert_eq!(bits(&states[0].displacement), bits(&states[1].displacement), "{addressing:?} {scheme:?}");
        }
    }
}
