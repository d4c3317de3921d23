//! Damping in proportion to the stiffness and relaxation mechanisms, alone and together, in one group of materials and in several.

use pogo_formats::mesh::ElementLaw;

use super::host::{compare_parts, compare_twin};
use super::*;
use crate::explicit::gpu::twin::Twin;

/// What a model has beside the stiffness.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Damping {
    Beta,
    Relaxation,
    Both,
}

/// Gives two materials different damping, and a third none; monitors of memory variables. The increment is stable.
pub(super) fn damp(problem: &mut Problem, damping: Damping) {
    let n = problem.sections.len();
    problem.time_increment *= 0.5;
    let dt = problem.time_increment;
    if damping != Damping::Relaxation {
        problem.damping_beta = [0.05 * dt, 0.12 * dt, 0.0][..n].to_vec();
    }
    if damping != Damping::Beta {
        problem.relaxation = Relaxation {
            rates: [0.03, 0.2, 1.1].map(|x| x / dt).to_vec(),
            strengths: [[0.05, 0.02, 0.1], [0.2, 0.1, 0.03], [0.0; 3]][..n].to_vec(),
        };
        let n_dofs = (problem.mesh.n_nodes() * problem.mesh.dimension) as u64;
        for mechanism in 1..=3 {
            problem.monitors.extend((mechanism..n_dofs).step_by(37).map(|dof| mechanism * n_dofs + dof));
        }
    }
}

/// A box of two fluids by turns.
fn fluids(kind: ElementKind, cells: [[usize; 3]; 2], capacity: usize) -> Arranged {
    let materials = [isotropic(210e9, 0.3), isotropic(70e9, 0.33)];
    Arranged::new(box_mesh(kind, cells[kind.dimension() - 2], 1e-3, 0.2), &materials, capacity)
}

/// Boxes of each kind of solid, in a grid of one material, in two or three by turns, and in two halves, which are two grids.
fn cases(cells: [[usize; 3]; 2], capacity: usize, check: &mut dyn FnMut(&str, Arranged)) {
    let materials = [isotropic(210e9, 0.3), isotropic(70e9, 0.33), anisotropic()];
    for kind in ElementKind::SOLIDS {
        let mesh = || box_mesh(kind, cells[kind.dimension() - 2], 1e-3, 0.2);
        for n in 1..=3 {
            check(&format!("{} {n}", kind.name()), Arranged::new(mesh(), &materials[..n], capacity));
        }
        let half = mesh().n_elements().div_ceil(2);
        let case = Arranged::in_sections(mesh(), &materials[..2], capacity, &|e| e / half);
        check(&format!("{} halves", kind.name()), case);
    }
}

#[test]
fn viscous_steps_on_the_host_as_on_the_cpu() {
    let mut kernels = std::collections::BTreeSet::new();
    let mut check = |what: &str, case: Arranged| {
        for damping in [Damping::Beta, Damping::Relaxation, Damping::Both] {
            // Barriers take long on the host.
            if damping == Damping::Relaxation && !what.ends_with('2') || damping == Damping::Beta && what.ends_with('3')
            {
                continue;
            }
            let mut problem = case.problem();
            if problem.mesh.groups.iter().any(|group| group.kind.law() == ElementLaw::Triangle) {
                // Fans are not compiled for the host.
                problem.stiffness_factor = vec![1.1; case.mesh.n_elements()];
            }
            damp(&mut problem, damping);
            let what = format!("{what} {}", problem.viscosity().unwrap());
            compare_twin::<f64>(&case, &problem, &what, 1e-12);
            compare_twin::<f32>(&case, &problem, &what, 1e-5);
            let twin = Twin::<f64>::new(&problem, &case.start_of(&problem)).unwrap();
            kernels.extend(twin.iter().flat_map(Twin::kernels).map(str::to_owned));
        }
    };
    cases([[9, 8, 0], [7, 6, 6]], 60, &mut check);
    for kind in [ElementKind::Ac2d4, ElementKind::Ac3d8r] {
        let (case, name) = (fluids(kind, [[13, 12, 0], [7, 6, 6]], 60), kind.name());
        let mut problem = case.problem();
        damp(&mut problem, Damping::Beta);
        compare_twin::<f64>(&case, &problem, name, 1e-12);
        problem.dashpots = corrections::dashpots(&problem);
        compare_twin::<f32>(&case, &problem, &format!("{name}, dashpots"), 1e-5);
        compare_parts::<f64>(&case, &problem, &format!("{name} halves"), 2, &|b, n| 2 * b / n);
    }
    for way in ["colours_", "solids_"] {
        assert!(kernels.is_empty() || kernels.iter().any(|name| name.starts_with(way)), "{way}: {kernels:?}");
    }
}

/// Two grids of different damping, whose tiles are computed with their group, and blocks between them.
#[test]
fn viscous_grids_on_the_host_as_on_the_cpu() {
    for kind in [ElementKind::C3d4, ElementKind::C3d8, ElementKind::C3d8r] {
        let mesh = box_mesh(kind, [13, 12, 24], 1e-3, 0.2);
        let half = mesh.n_elements() / 2;
        let materials = [isotropic(210e9, 0.3), isotropic(70e9, 0.33)];
        let case = Arranged::in_sections(mesh, &materials, 24, &|e| e / half);
        let mut problem = case.problem();
        damp(&mut problem, Damping::Both);
        if let Some(twin) = Twin::<f64>::new(&problem, &case.start_of(&problem)).unwrap() {
            let of = |way: &str| twin.kernels().iter().filter(|name| name.starts_with(way)).count();
            assert_eq!([of("march_"), of("solids_")], [2, 1], "{}: {:?}", kind.name(), twin.kernels());
        }
        compare_twin::<f64>(&case, &problem, kind.name(), 1e-12);
        compare_twin::<f32>(&case, &problem, kind.name(), 1e-5);
    }
}

/// Dashpots correct what has moved, and then the step ends.
#[test]
fn viscous_steps_with_dashpots_on_the_host_as_on_the_cpu() {
    let mut check = |what: &str, case: Arranged| {
        if !what.ends_with('2') {
            return;
        }
        let mut problem = case.problem();
        if problem.mesh.groups.iter().any(|group| group.kind.law() == ElementLaw::Triangle) {
            problem.stiffness_factor = vec![1.1; case.mesh.n_elements()];
        }
        damp(&mut problem, Damping::Both);
        problem.dashpots = corrections::dashpots(&problem);
        compare_twin::<f64>(&case, &problem, what, 1e-12);
        compare_twin::<f32>(&case, &problem, what, 1e-5);
        corrections::constrain(&mut problem);
        compare_twin::<f64>(&case, &problem, &format!("{what}, rows"), 1e-11);
        compare_twin::<f32>(&case, &problem, &format!("{what}, rows"), 2e-5);
    };
    cases([[13, 12, 0], [5, 5, 5]], 60, &mut check);
}

#[test]
#[ignore = "needs a CUDA device: tests/gpu.sh kernels runs it"]
fn viscous_steps_as_on_the_cpu() {
    let mut check = |what: &str, case: Arranged| {
        for damping in [Damping::Beta, Damping::Relaxation, Damping::Both] {
            let mut problem = case.problem();
            damp(&mut problem, damping);
            if damping == Damping::Both {
                problem.dashpots = corrections::dashpots(&problem);
            }
            let what = format!("damped, {what} {}", problem.viscosity().unwrap());
            compare::<f64>(&case, &problem, &format!("{what} f64"), 1e-12);
            compare::<f32>(&case, &problem, &format!("{what} f32"), 1e-5);
            if damping == Damping::Both {
                corrections::constrain(&mut problem);
                compare::<f64>(&case, &problem, &format!("{what}, rows f64"), 1e-11);
                compare_within::<f32>(&case, &problem, &format!("{what}, rows f32"), corrections::SINGLE);
            }
        }
    };
    for kind in ElementKind::ALL.into_iter().filter(|kind| kind.is_acoustic()) {
        let case = fluids(kind, [[40, 35, 0], [13, 11, 9]], 300);
        let mut problem = case.problem();
        damp(&mut problem, Damping::Beta);
        problem.dashpots = corrections::dashpots(&problem);
        compare::<f64>(&case, &problem, &format!("damped, {} f64", kind.name()), 1e-12);
        compare::<f32>(&case, &problem, &format!("damped, {} f32", kind.name()), 1e-5);
    }
    cases([[40, 35, 0], [13, 11, 9]], 300, &mut check);
    for kind in [ElementKind::C3d4, ElementKind::C3d8, ElementKind::C3d8r] {
        let mesh = box_mesh(kind, [27, 25, 34], 1e-3, 0.2);
        let half = mesh.n_elements() / 2;
        let materials = [isotropic(210e9, 0.3), isotropic(70e9, 0.33)];
        check(&format!("{} grids", kind.name()), Arranged::in_sections(mesh, &materials, 24, &|e| e / half));
    }
}

/// Parts have the bits of one device: what they do not read is no number.
#[test]
fn viscous_parts_on_the_host_have_the_bits_of_one_device() {
    let materials = [isotropic(210e9, 0.3), isotropic(70e9, 0.33)];
    for kind in [ElementKind::Cpe4, ElementKind::C3d4, ElementKind::C3d8r] {
        let mesh = box_mesh(kind, if kind.dimension() == 2 { [15, 14, 0] } else { [9, 8, 14] }, 1e-3, 0.2);
        let half = mesh.n_elements() / 2;
        let case = Arranged::in_sections(mesh, &materials, 24, &|e| e / half);
        let mut problem = case.problem();
        damp(&mut problem, Damping::Both);
        let name = kind.name();
        compare_parts::<f64>(&case, &problem, &format!("{name} halves"), 2, &|b, n| 2 * b / n);
        problem.dashpots = corrections::dashpots(&problem);
        compare_parts::<f32>(&case, &problem, &format!("{name} strewn"), 3, &|b, _| b / 2 % 3);
        if kind == ElementKind::C3d8r {
            corrections::constrain(&mut problem);
            compare_parts::<f64>(&case, &problem, &format!("{name} strewn, rows"), 3, &|b, _| b / 2 % 3);
        }
    }
}

#[test]
#[ignore = "needs a CUDA device: tests/gpu.sh kernels runs it"]
fn viscous_teams_give_the_bits_of_one_device() {
    let every: Vec<u32> = (0..crate::device::n_devices().unwrap().min(4)).collect();
    let materials = [isotropic(210e9, 0.3), isotropic(70e9, 0.33)];
    for kind in [ElementKind::Cpe3, ElementKind::Cpe4r, ElementKind::C3d4, ElementKind::C3d8] {
        let mesh = box_mesh(kind, if kind.dimension() == 2 { [90, 60, 0] } else { [27, 25, 34] }, 1e-3, 0.2);
        let half = mesh.n_elements() / 2;
        let case = Arranged::in_sections(mesh, &materials, 60, &|e| e / half);
        for damping in [Damping::Beta, Damping::Both] {
            let mut problem = case.problem();
            damp(&mut problem, damping);
            println!("damped, {}", kind.name());
            for (ordinals, exchange) in ways(&every) {
                let k = ordinals.len();
                parts_of::<f64>(&case, &problem, ordinals, exchange, |b, n| (b * k / n) as u32);
                parts_of::<f32>(&case, &problem, ordinals, exchange, |b, _| (b / 2 % k) as u32);
            }
            corrections::constrain(&mut problem);
            let (ordinals, exchange) = ways(&every).into_iter().next().unwrap();
            let k = ordinals.len();
            parts_of::<f64>(&case, &problem, ordinals, exchange, |b, n| (b * k / n) as u32);
        }
    }
}
