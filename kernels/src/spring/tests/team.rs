//! Several ranks give the bits of one stepper.

use std::sync::Arc;

use super::*;
use crate::dynamics::Part;
use crate::ranks::{Ranks, Serves, Threads};

/// Steps after which a run is looked at.
const STOPS: [usize; 2] = [8, 31];
/// The sub-domain of a unit out of so many.
pub(super) type Division = fn(usize, usize) -> u32;
/// Numbers of ranks with their divisions: two halves, thirds, parts that are not connected, and one of a single unit.
pub(super) const DIVISIONS: [(usize, Division); 4] = [
    (2, |unit, n| u32::from(unit >= n / 2)),
    (3, |unit, n| (3 * unit / n) as u32),
    (2, |unit, _| (unit / 2 % 2) as u32),
    (4, |unit, _| if unit == 5 { 3 } else { (unit % 3) as u32 }),
];

/// Signals at so many steps from step `first` on, and at the one behind.
fn table(first: usize, steps: usize) -> SignalTable {
    SignalTable { n_signals: 1, values: (first..=first + steps).map(|k| 1.0 + (0.3 * k as f64).sin()).collect() }
}

/// What a run came to: the recording; state and energies at each stop.
#[derive(Debug, PartialEq)]
pub(super) struct Run {
    pub recording: Vec<f64>,
    pub states: Vec<State>,
    pub energies: Vec<Energies>,
    pub changes: Vec<Change>,
    pub n_springs: u64,
}

/// Steps from stop to stop.
pub(super) fn run_of<'a>(stepper: &mut impl SpringStepper<'a>, stops: &[usize]) -> Run {
    let (mut recording, mut states, mut energies) = (Vec::new(), Vec::new(), Vec::new());
    let mut first = 0;
    for &stop in stops {
        let record = [first as u64, stop as u64 - 1];
        stepper.advance(stop - first, &table(first, stop - first), &record, &mut recording).unwrap();
        states.push(stepper.state().unwrap());
        energies.push(stepper.energies(&table(stop, 1).values).unwrap());
        first = stop;
    }
    let (changes, n_springs) = (stepper.changes().to_vec(), stepper.springs().len());
    Run { recording, states, energies, changes, n_springs }
}

/// Compares ranks with one stepper; gives the changes.
fn by_ranks<T: Real>(problem: &SpringProblem, addressing: Addressing, (n_ranks, of): (usize, Division)) -> Vec<Change> {
    let start = disturbed(problem, 0.05);
    let level = Level::detect();
    let mut one = CpuStepper::<T>::new(problem.clone(), &start, addressing, 2, level).unwrap();
    let expected = run_of(&mut one, &STOPS);
    let units = problem.units(addressing).unwrap();
    let division: Vec<u32> = (0..units.n).map(|unit| of(unit, units.n)).collect();
    let domains = problem.domains(&units, &division, n_ranks, "test");
    let domains = domains.view();
    std::thread::scope(|scope| {
        for ranks in Threads::new(n_ranks) {
            let (start, domains, expected) = (&start, &domains, &expected);
            scope.spawn(move || {
                let (part, threads) = (Part::of(domains, ranks.rank()), 1 + ranks.rank() % 2);
                let ranks: Arc<dyn Ranks> = Arc::new(ranks);
                let stepper =
                    CpuStepper::<T>::of_part(problem.clone(), part, &ranks, start, addressing, threads, level);
                let member = PartMember::new(problem, domains, &ranks, stepper.unwrap());
                if !ranks.leads() {
                    return member.serve(&*ranks);
                }
                let mut team = TeamStepper::new(problem.clone(), domains, &ranks, member, start).unwrap();
                assert_eq!(&run_of(&mut team, &STOPS), expected, "{addressing:?}, {n_ranks} ranks");
            });
        }
    });
    expected.changes
}

/// Compares all divisions of both precisions; gives the changes.
fn by_all_ranks(problem: &SpringProblem, addressing: Addressing) -> Vec<Change> {
    let mut changes = Vec::new();
    for (at, &division) in DIVISIONS.iter().enumerate() {
        changes = if at % 2 == 0 {
            by_ranks::<f64>(problem, addressing, division)
        } else {
            by_ranks::<f32>(problem, addressing, division)
        };
    }
    changes
}

/// Forces, driven and fixed particles, gravity, and monitors everywhere.
pub(super) fn load_everywhere(problem: &mut SpringProblem) {
    load(problem);
    let n = 3 * problem.n_particles() as u64;
    problem.forces.extend([n / 2, n / 3, n - 1].map(|dof| NodalForce { dof, signal: 0, value: 0.1 }));
    problem.constraints.extend((1..12).map(|k| Constraint { dof: k * n / 13, signal: 0, value: 0.4 }));
    problem.monitors.extend([n - 1, n / 2, n / 4, 3]);
    problem.follow_work = true;
}

/// Cuts that move with the particles.
pub(super) fn cut_twice(problem: &mut SpringProblem) {
    let plane = CutShape::Plane { point: [10.3, 0.0, 0.0], normal: [1.0, 0.2, 0.1] };
    let blade = CutShape::Blade {
        times: vec![0.0, 1.5],
        from: vec![[-1.0, 5.3, -1.0], [20.0, 5.3, -1.0]],
        to: vec![[-1.0, 5.5, 9.0], [20.0, 5.5, 9.0]],
    };
    let cut = |time, frame, shape| Cut { name: "cut".into(), time, frame, shape };
    problem.cuts = vec![cut(1.0, CutFrame::Current, plane), cut(0.55, CutFrame::Current, blade)];
}

#[test]
fn ranks_give_the_bits_of_one_stepper_where_springs_break_and_are_cut() {
    let (mesh, mut groups) = rich(26, 2, true);
    groups.iter_mut().for_each(|group| group.max_strain = 0.12);
    let mut problem = problem(&mesh, groups, 1.0, 0.1);
    load_everywhere(&mut problem);
    cut_twice(&mut problem);
    for addressing in ADDRESSINGS {
        let changes = by_all_ranks(&problem, addressing);
        // What breaks at the start is known to all ranks before they begin.
        let count = |cause| changes.iter().filter(|change| change.cause == cause && change.step > 0).count();
        let counts = [Cause::Broken, Cause::Cut(0), Cause::Cut(1)].map(count);
        assert!(counts.iter().all(|&count| count > 20), "{counts:?}");
    }
}

/// Erases springs of every third particle and adds them again. `far`: also adds two that lead far away.
pub(super) fn come_and_go(problem: &mut SpringProblem, far: bool) {
    let joined = |i: usize| [i as u32, problem.mesh.springs(i).next().unwrap().other];
    let erased: Vec<[u32; 2]> = (0..problem.n_particles()).step_by(3).map(joined).collect();
    problem.erasures = vec![SpringErasure { name: "a".into(), time: 0.5, springs: erased.clone() }];
    let add = |time, group, springs| SpringAddition { name: "b".into(), time, group, springs };
    problem.additions = vec![add(1.2, 0, erased)];
    if far {
        let last = problem.n_particles() as u32 - 1;
        problem.additions.push(add(0.8, 2, vec![[0, last], [last / 2, 3]]));
    }
}

/// Of a grid, and where an added spring leads far away, so that another part reads a particle that it had not read.
#[test]
fn ranks_give_the_bits_of_one_stepper_where_springs_come_and_go() {
    let (mesh, mut groups) = rich(6, 1, false);
    groups.iter_mut().for_each(|group| group.rest_factor = 1.01);
    for far in [false, true] {
        let mut problem = problem(&mesh, groups.clone(), 1.0, 0.1);
        load_everywhere(&mut problem);
        come_and_go(&mut problem, far);
        for addressing in ADDRESSINGS {
            if !(far && addressing == Addressing::Implicit) {
                let changes = by_all_ranks(&problem, addressing);
                assert!(changes.len() > 300 && changes.iter().any(|change| change.step == 12));
            }
        }
    }
}

#[test]
fn ranks_give_the_bits_of_one_stepper_where_springs_differ_in_length() {
    let (mesh, groups) = net(600, 3);
    let mut problem = problem(&mesh, groups, 1.0, 0.05);
    load_everywhere(&mut problem);
    for addressing in [Addressing::Explicit, Addressing::ExplicitGlobal] {
        let changes = by_all_ranks(&problem, addressing);
        assert!(changes.iter().any(|change| change.cause == Cause::Broken && change.step > 0));
    }
}
