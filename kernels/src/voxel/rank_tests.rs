//! Several ranks find the bits of one process.

use std::ops::ControlFlow;
use std::sync::Arc;

use pogo_formats::voxel::{Bricks, bricks_of};

use super::tests::{fixed, go, random};
use super::*;
use crate::ranks::{Late, Ranks, Threads};

/// A model that is held at z = 0 and moved and loaded at its other end.
pub(super) struct Model {
    bricks: Bricks,
    modulus: Vec<f32>,
    class: Vec<u8>,
}

impl Model {
    fn new(size: [u32; 3], is_solid: impl Fn([u32; 3]) -> bool) -> Self {
        let bricks = bricks_of(size, is_solid);
        let n = bricks.view().n_elements() as u64;
        let modulus = (0..n).map(|e| 1.0 + random(e) as f32).collect();
        Self { modulus, class: (0..n).map(|e| u8::from(random(e) < 0.3)).collect(), bricks }
    }

    /// Elements of these classes.
    pub fn of_classes(bricks: Bricks, class: Vec<u8>) -> Self {
        Self { modulus: Vec::new(), class, bricks }
    }

    /// Solves with `young` as the moduli of two classes or, if there are none, with one for each element. The first load case is stopped
    /// after some iterations.
    pub fn check(
        &self,
        young: &[f64],
        ratios: Ratios<'_>,
        settings: &SolverSettings,
        rank_counts: &[usize],
        stop_after: usize,
    ) {
        let view = self.bricks.view();
        let top = (0..view.n_bricks()).flat_map(|b| view.node_positions(b)).map(|at| at[2]).max().unwrap_or(0);
        let moduli = match young {
            [] => Moduli::Each { modulus: &self.modulus, scale: 3.0 },
            young => Moduli::Classes { class: &self.class, young },
        };
        let fixed = fixed(&view, |at| match at[2] {
            0 => [Some(0.0); 3],
            z if z == top && at[0] > 0 => [None, None, Some(0.01)],
            _ => [None; 3],
        });
        let force = |node| NodalForce { node, direction: 1, value: random(u64::from(node)) };
        let forces: Vec<NodalForce> = (0..view.n_nodes() as u32).step_by(97).map(force).collect();
        let problem = StaticProblem { bricks: view, moduli, ratios, spacing: 0.1, fixed: &fixed, forces: &[] };
        let run = |mut solver: StaticSolver| {
            let mut until = |iteration: usize, _: f64| {
                if iteration == stop_after { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            };
            let first = solver.solve(&fixed, &forces, None, &mut until);
            let start = vec![1e-3; 3 * view.n_nodes()];
            [first, solver.solve(&fixed, &[], Some(&start), &mut go)]
        };
        let expected = run(StaticSolver::new(&problem, Grid::Bricks, settings));
        assert!(expected.iter().all(|solution| solution.iterations > 2));
        for &n_ranks in rank_counts {
            assert!(n_ranks <= most_ranks(&view));
            let of_rank = |ranks: Threads| {
                let ranks: Arc<dyn Ranks> = Arc::new(Late::new(ranks));
                run(StaticSolver::over(&problem, settings, &ranks))
            };
            let found: Vec<_> = std::thread::scope(|scope| {
                let of_rank = &of_rank;
                let threads: Vec<_> =
                    Threads::new(n_ranks).into_iter().map(|ranks| scope.spawn(move || of_rank(ranks))).collect();
                threads.into_iter().map(|thread| thread.join().expect("a rank")).collect()
            });
            for (rank, found) in found.iter().enumerate() {
                for (found, expected) in found.iter().zip(&expected) {
                    assert_eq!(found.history, expected.history, "{n_ranks} ranks");
                    assert_eq!(found.products, expected.products);
                    assert!(found.displacement.is_empty() == (rank > 0));
                    assert!(rank > 0 || found.displacement == expected.displacement, "{n_ranks} ranks");
                }
            }
        }
    }
}

/// The same ratio of all elements.
const ONE: Ratios = Ratios::One(0.3);

fn thin([x, y, z]: [u32; 3]) -> bool {
    z % 5 == 0 || (x % 4 < 2 && y % 5 == 1)
}

#[test]
fn ranks_solve_thin_samples() {
    Model::new([44, 45, 43], thin).check(&[10.0, 30.0], ONE, &exact(), &[5], 3);
}

#[test]
fn ranks_solve_samples_of_two_ratios() {
    let lame = [Lame::new(0.1), Lame::new(0.45)];
    Model::new([44, 23, 43], thin).check(&[10.0, 30.0], Ratios::Classes(&lame), &exact(), &[3], 3);
}

#[test]
fn ranks_solve_full_samples() {
    Model::new([33, 25, 37], |_| true).check(&[7.0, 7.0], ONE, &exact(), &[1, 4], 3);
    // A bar along which the ranks stand in line.
    Model::new([9, 10, 400], |_| true).check(&[], ONE, &exact(), &[3], 3);
}

fn exact() -> SolverSettings {
    SolverSettings { tolerance: 1e-8, ..SolverSettings::default() }
}

#[test]
fn ranks_solve_with_every_cycle_and_precision() {
    let model = Model::new([36, 28, 35], thin);
    let plain = CycleSettings { bottom: 100, ..CycleSettings::default() };
    for (cycle, double) in [
        (plain.clone(), true),
        (CycleSettings { kind: CycleKind::V, degree: [3, 4], ..plain.clone() }, false),
        (CycleSettings { kind: CycleKind::W, degree: [1, 1], ..plain.clone() }, true),
        (CycleSettings { kind: CycleKind::F, split: false, ..plain.clone() }, false),
        (CycleSettings { levels: 2, ..plain.clone() }, false),
        (CycleSettings { levels: 3, bottom_steps: Some(30), ..plain }, true),
    ] {
        let settings = SolverSettings { tolerance: 1e-6, double, cycle, iterations: 4, ..SolverSettings::default() };
        model.check(&[], ONE, &settings, &[3], 5);
    }
}

/// Two blocks that touch in one edge, a rank for each.
#[test]
fn ranks_may_touch_at_a_few_nodes() {
    let model = Model::new([64, 64, 24], |[x, y, _]| (x < 32) == (y < 32));
    model.check(&[5.0, 50.0], ONE, &exact(), &[2, 3], 3);
}
