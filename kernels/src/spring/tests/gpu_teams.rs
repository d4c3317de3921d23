//! Several devices give the bits of one. These tests need a device: `tests/gpu.sh kernels` runs them.

use std::sync::Arc;

use super::team::{DIVISIONS, come_and_go, cut_twice, load_everywhere, run_of};
use super::*;
use crate::dynamics::Exchange;
use crate::ranks::{Ranks, Serves, Threads};
use crate::simd::Precision;

/// Stops at odd and even steps, and far enough for recorded launches.
const STOPS: [usize; 3] = [8, 31, 180];

const SCHEMES: [(Addressing, Scheme); 5] = [
    (Addressing::Automatic, Scheme::Automatic),
    (Addressing::Implicit, Scheme::Cached),
    (Addressing::Implicit, Scheme::Shared),
    (Addressing::Explicit, Scheme::Shared),
    (Addressing::ExplicitGlobal, Scheme::Cached),
];

/// Steps by sub-domains on these devices; one that stands there twice has two. Gives the changes, or none where the scheme
/// cannot step the model.
fn by_devices<T: Real>(
    problem: &SpringProblem,
    (addressing, scheme): (Addressing, Scheme),
    (ordinals, exchange): (&[u32], Exchange),
    of: impl Fn(usize, usize) -> u32,
) -> Option<Vec<Change>> {
    let start = disturbed(problem, 0.05);
    let precision = if size_of::<T>() == 4 { Precision::F32 } else { Precision::F64 };
    let options = GpuOptions { ordinal: ordinals[0], scheme, ..GpuOptions::default() };
    let plan = match GpuPlan::new(precision, problem, addressing, options) {
        Err(GpuError::Scheme { .. }) => return None,
        plan => plan.unwrap(),
    };
    let mut one = GpuStepper::<T>::new(problem.clone(), &start, plan.addressing, plan.options(ordinals[0])).unwrap();
    let kernel = one.report().kernel.0.clone();
    let expected = run_of(&mut one, &STOPS);
    let (units, n_ranks) = (plan.units(problem), ordinals.len());
    let division: Vec<u32> = (0..units.n).map(|unit| of(unit, units.n)).collect();
    let domains = problem.domains(&units, &division, n_ranks, "test");
    let what = format!("{kernel} {}, {} of {} blocks, {ordinals:?} {exchange:?}", T::NAME, n_ranks, units.n);
    std::thread::scope(|scope| {
        for (ranks, &ordinal) in Threads::new(n_ranks).into_iter().zip(ordinals) {
            let (start, domains, expected, what) = (&start, domains.view(), &expected, &what);
            scope.spawn(move || {
                let ranks: Arc<dyn Ranks> = Arc::new(ranks);
                let on = (GpuPlan::from_bytes(&plan.to_bytes()), ordinal, exchange);
                let member = PartMember::on_device(precision, problem, &domains, &ranks, start, on).unwrap().0;
                if !ranks.leads() {
                    return member.serve(&*ranks);
                }
                let mut team = TeamStepper::new(problem.clone(), &domains, &ranks, member, start).unwrap();
                let found = run_of(&mut team, &STOPS);
                assert!(found.recording == expected.recording, "{what}: recordings differ");
                assert!(found.states == expected.states, "{what}: states differ");
                assert!(found.changes == expected.changes && found.n_springs == expected.n_springs, "{what}");
                for (found, expected) in found.energies.iter().zip(&expected.energies) {
                    // A thread block of the sums has places of several columns.
                    if what.starts_with("columns") {
                        let near = |a: f64, b: f64| (a - b).abs() <= 1e-13 * (expected.kinetic + expected.elastic);
                        assert!(
                            near(found.kinetic, expected.kinetic) && near(found.elastic, expected.elastic),
                            "{what}"
                        );
                        assert_eq!(found.n_springs, expected.n_springs);
                    } else {
                        assert_eq!(found, expected, "{what}");
                    }
                }
                eprintln!("{what}: the same bits, {} changes", found.changes.len());
            });
        }
    });
    Some(expected.changes)
}

/// All schemes in both precisions, by several sub-domains on one device, and with more devices by one on each. Gives in how many
/// ways a model was stepped, and the most changes.
fn by_all_devices(problem: &SpringProblem) -> (usize, usize) {
    let every: Vec<u32> = (0..crate::device::n_devices().unwrap().min(4)).collect();
    let (mut ways, mut changes) = (0, 0);
    for scheme in SCHEMES {
        let in_grid = problem.mesh.grid.is_some() && problem.added_outside_grid().is_none();
        if scheme.0 == Addressing::Implicit && !in_grid {
            continue;
        }
        for &(n_ranks, of) in &DIVISIONS {
            let on = [0; 4];
            let on = &on[..n_ranks];
            let found = [
                by_devices::<f32>(problem, scheme, (on, Exchange::Plain), of),
                by_devices::<f64>(problem, scheme, (on, Exchange::Messages), of),
            ];
            ways += found.iter().flatten().count();
            changes = found.iter().flatten().map(Vec::len).fold(changes, usize::max);
        }
        if every.len() > 1 {
            for exchange in [Exchange::Overlap, Exchange::Plain, Exchange::Messages] {
                let of = |unit: usize, n: usize| (unit * every.len() / n) as u32;
                by_devices::<f32>(problem, scheme, (&every, exchange), of);
                by_devices::<f64>(problem, scheme, (&every, exchange), of);
                by_devices::<f32>(problem, scheme, (&every, exchange), |unit, _| (unit / 2 % every.len()) as u32);
            }
        }
    }
    (ways, changes)
}

#[test]
#[ignore = "needs a CUDA device: tests/gpu.sh kernels runs it"]
fn gpu_teams_of_springs_give_the_bits_of_one_device() {
    // Everything that particles, springs and jobs can have.
    let (mesh, mut groups) = rich(26, 2, true);
    groups.iter_mut().for_each(|group| group.max_strain = 0.12);
    let mut all = problem(&mesh, groups, 1.0, 0.1);
    load_everywhere(&mut all);
    cut_twice(&mut all);
    let (ways, changes) = by_all_devices(&all);
    assert!(ways >= 32 && changes > 60, "{ways} {changes}");
    // Springs that come and go.
    let (mesh, mut groups) = rich(6, 1, false);
    groups.iter_mut().for_each(|group| group.rest_factor = 1.01);
    for far in [false, true] {
        let mut problem = problem(&mesh, groups.clone(), 1.0, 0.1);
        load_everywhere(&mut problem);
        come_and_go(&mut problem, far);
        let (ways, changes) = by_all_devices(&problem);
        assert!(ways >= 24 && changes > 300, "{ways} {changes}");
    }
    // No grid.
    let (mesh, groups) = net(600, 3);
    let mut deck = problem(&mesh, groups, 1.0, 0.05);
    load_everywhere(&mut deck);
    let (ways, _) = by_all_devices(&deck);
    assert!(ways >= 24, "{ways}");
}

/// The kernels for even lattices that are plain: columns, and lists of blocks of 512 and of 256 particles.
#[test]
#[ignore = "needs a CUDA device: tests/gpu.sh kernels runs it"]
fn gpu_teams_step_plain_lattices_with_the_bits_of_one_device() {
    for (spacing, directions) in [([1.0; 3], 18), ([1.0; 3], 6), ([1.0, 1.1, 0.9], 26)] {
        let mesh = lattice([40, 32, 24], spacing, directions, 512, |p| (p[0] + p[1] + p[2] < 80).then_some(0));
        for loads in [false, true] {
            let mut problem = problem(&mesh, vec![group(1.0), group(0.7), group(0.4)], 1.0, 0.2);
            if loads {
                load_everywhere(&mut problem);
                problem.mass = vec![1.1];
                problem.damping = SpringDamping::Alpha(0.05);
            }
            let (ways, _) = by_all_devices(&problem);
            // Columns where they are allowed.
            assert!(ways >= if directions <= 18 { 36 } else { 32 }, "{ways}");
        }
    }
}
