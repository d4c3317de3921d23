//! The kernels, compiled for the host, against the CPU, and parts of a model against the whole.

use super::*;
use crate::explicit::gpu::Devices;
use crate::explicit::gpu::twin::Twin;

/// The kernels, compiled for the host, give what the CPU does.
pub(super) fn compare_twin<T: Real>(case: &Arranged, problem: &Problem, what: &str, tolerance: f64) {
    const TWIN_STEPS: usize = 8;
    // Linear constraints are also projected onto in step 64.
    let start = State { step: 60, ..case.start_of(problem) };
    let amplitudes = amplitudes(problem.time_increment);
    let signals = signals(&amplitudes, problem.time_increment);
    let Some(mut twin) = Twin::<T>::new(problem, &start).unwrap() else { return };
    let mut cpu = CpuStepper::<T>::new(problem, &start, CpuOptions::new(1)).unwrap();
    let force = twin.internal_force();
    let error = relative(&force, &cpu.internal_force(&start.displacement));
    assert!(
        force.iter().all(|value| value.is_finite()) && error <= tolerance,
        "{what} {:?}: forces differ by {error:e}",
        twin.kernels()
    );
    let mut recording = Vec::new();
    let record: Vec<u64> = (start.step..start.step + TWIN_STEPS as u64).collect();
    cpu.advance(TWIN_STEPS, &signals.clone().table(start.step, TWIN_STEPS + 1), &record, &mut recording).unwrap();
    let (expected, (found, recorded)) = (cpu.state().unwrap(), twin.advance(TWIN_STEPS, &signals));
    for (name, found, expected) in [
        ("u", &found.displacement, &expected.displacement),
        ("Δu", &found.increment, &expected.increment),
        ("memory", &found.memory, &expected.memory),
        ("records", &recorded, &recording),
        ("work", &vec![found.external_work], &vec![expected.external_work]),
        ("damped", &vec![found.damped_energy], &vec![expected.damped_energy]),
    ] {
        assert!(found.iter().all(|value| value.is_finite()), "{what} {:?}: {name}", twin.kernels());
        let error = relative(found, expected);
        let limit = if name == "work" || name == "damped" { 100.0 * tolerance } else { tolerance };
        assert!(error <= limit, "{what} {:?}: {name} differs by {error:e}", twin.kernels());
    }
}

/// A model on several devices: parts have the bits of one device, whatever they do not need to know is no number, and what they
/// wait for is complete before the rest of a step begins.
pub(super) fn compare_parts<T: Real>(
    case: &Arranged,
    problem: &Problem,
    what: &str,
    n: usize,
    cut: &dyn Fn(usize, usize) -> usize,
) {
    const STEPS: usize = 6;
    let start = case.start_of(problem);
    let amplitudes = amplitudes(problem.time_increment);
    let signals = signals(&amplitudes, problem.time_increment);
    let Some(mut one) = Twin::<T>::new(problem, &start).unwrap() else { return };
    let force = one.internal_force();
    let (state, recording) = one.advance(STEPS, &signals);
    let n_blocks = problem.blocks.n_blocks();
    let domain: Vec<u32> = (0..n_blocks).map(|b| cut(b, n_blocks) as u32).collect();
    let devices = |me: usize| Devices::new(&problem.blocks, &domain, n, me as u32);
    let part = |me: usize| Twin::<T>::of_part(problem, &start, Some(&devices(me))).unwrap().expect("a compiler");
    let mut team: Vec<Twin<T>> = (0..n).map(part).collect();
    (0..n).for_each(|me| Twin::forget(&mut team, me, |node| devices(me).is_own(node)));
    let d = case.mesh.dimension as usize;
    let forces: Vec<Vec<f64>> = team.iter_mut().map(Twin::internal_force).collect();
    let found = Twin::advance_team(&mut team, STEPS, &signals);
    for dof in 0..d * case.mesh.n_nodes() {
        let part = devices(0).of((dof / d) as u32) as usize;
        assert_eq!(forces[part][dof], force[dof], "{what}: f_int {dof}");
        assert_eq!(found[part].0.displacement[dof], state.displacement[dof], "{what}: u {dof}");
        assert_eq!(found[part].0.increment[dof], state.increment[dof], "{what}: Δu {dof}");
        for at in (dof..state.memory.len()).step_by(d * case.mesh.n_nodes()) {
            assert_eq!(found[part].0.memory[at], state.memory[at], "{what}: memory {at}");
        }
    }
    let n_dofs = (d * case.mesh.n_nodes()) as u64;
    for (at, value) in recording.iter().enumerate().filter(|(_, value)| value.is_finite()) {
        let dof = problem.monitors[at / 3 % problem.monitors.len()] % n_dofs;
        let owner = devices(0).of(dof as u32 / d as u32) as usize;
        assert_eq!(found[owner].1[at], *value, "{what}: record {at}");
        // What ties and linear constraints name, all parts record.
        let n_written = found.iter().filter(|(_, recording)| recording[at].is_finite()).count();
        assert!(n_written == 1 || problem.has_correction(), "{what}: record {at}");
    }
    let sum = |of: fn(&State) -> f64| found.iter().map(|(state, _)| of(state)).sum::<f64>();
    // Rows of their sums are others.
    for (found, expected) in
        [(sum(|s| s.external_work), state.external_work), (sum(|s| s.damped_energy), state.damped_energy)]
    {
        assert!(relative(&[found], &[expected]) <= 1e-12, "{what}: {found:e}, {expected:e}");
    }
}

#[test]
fn grains_on_the_host_step_as_the_cpu_and_in_parts_as_one() {
    for kind in [ElementKind::Cpe3, ElementKind::Cpe4, ElementKind::C3d4, ElementKind::C3d8r] {
        let cells = if kind.dimension() == 2 { [15, 13, 0] } else { [7, 6, 5] };
        let (case, name) = (grains(kind, cells, 7), kind.name());
        let mut problem = case.problem();
        if kind == ElementKind::Cpe3 {
            // Fans, which some blocks have, are not compiled for the host.
            problem.stiffness_factor = vec![1.1; case.mesh.n_elements()];
        }
        compare_twin::<f64>(&case, &problem, name, 1e-12);
        compare_twin::<f32>(&case, &problem, name, 1e-5);
        if kind == ElementKind::C3d8r {
            compare_parts::<f64>(&case, &problem, name, 2, &|b, n| 2 * b / n);
        }
    }
}

#[test]
fn parts_of_grids_on_the_host_have_the_bits_of_one_device() {
    for kind in [ElementKind::C3d4, ElementKind::C3d8, ElementKind::C3d8r, ElementKind::Ac3d8] {
        let case = Arranged::new(box_mesh(kind, [13, 12, 14], 1e-3, 0.2), &[isotropic(210e9, 0.3)], 24);
        let mut problem = case.problem();
        problem.damping_rate.iter_mut().step_by(3).for_each(|rate| *rate = 0.0);
        // Blocks beside this element are stepped by themselves.
        problem.stiffness_factor = vec![1.0; case.mesh.n_elements()];
        problem.stiffness_factor[case.mesh.n_elements() / 2] = 1.5;
        let name = kind.name();
        let twin = Twin::<f64>::new(&problem, &case.start()).unwrap();
        for way in ["march_", "solids_"] {
            let is_there = |twin: &Twin<f64>| twin.kernels().iter().any(|name| name.starts_with(way));
            assert!(twin.iter().all(is_there), "{name}: no kernel {way}");
        }
        compare_parts::<f64>(&case, &problem, &format!("{name} halves"), 2, &|b, n| 2 * b / n);
        match kind {
            ElementKind::C3d8r => {
                compare_parts::<f32>(&case, &problem, &format!("{name} strewn"), 3, &|b, _| b / 2 % 3);
            }
            ElementKind::C3d4 => {
                compare_parts::<f32>(&case, &problem, &format!("{name} one block"), 2, &|b, n| usize::from(b == n / 2));
            }
            _ => {}
        }
    }
}

#[test]
fn kernels_of_fluids_on_the_host_step_as_the_cpu() {
    let mut kernels = std::collections::BTreeSet::new();
    fluid_cases([[9, 8, 0], [9, 8, 8]], 60, &mut |what, case| {
        let mut problem = problem_of(&case, what);
        let mut plain = case.problem();
        if what.starts_with("AC2D3 ") && problem.wet.is_empty() {
            // Fans are not compiled for the host.
            problem.stiffness_factor = vec![1.1; case.mesh.n_elements()];
            plain.stiffness_factor = problem.stiffness_factor.clone();
        }
        compare_twin::<f64>(&case, &problem, what, 1e-12);
        // Barriers take long on the host.
        if what.contains("distorted") {
            compare_twin::<f32>(&case, &problem, what, 1e-5);
        }
        let twin = Twin::<f64>::new(&plain, &case.start()).unwrap();
        kernels.extend(twin.iter().flat_map(Twin::kernels).map(str::to_owned));
    });
    for kind in [ElementKind::Cpe4, ElementKind::C3d8] {
        let mesh = solid_below_fluid(kind, [5, 5, 4], 0.1);
        let case = Arranged::touching(mesh, &[isotropic(210e9, 0.3), isotropic(70e9, 0.3)], 60);
        let what = format!("{} and a fluid apart", kind.name());
        compare_twin::<f64>(&case, &problem_of(&case, &what), &what, 1e-12);
    }
    // All that there are but one: no case has several kinds of fluids and no solid.
    assert!(kernels.is_empty() || kernels.len() == 17, "{kernels:?}");
}
