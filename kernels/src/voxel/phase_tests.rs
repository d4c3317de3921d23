//! Materials of very different stiffness.

use pogo_formats::voxel::{Bricks, bricks_of, morton_position};

use super::elements::Elements;
use super::rank_tests::Model;
use super::tests::{fixed, go, random};
use super::*;

/// A full block whose voxels have class 1 where `is_stiff` says so, and class 0 elsewhere.
fn block(size: [u32; 3], is_stiff: impl Fn([u32; 3]) -> bool) -> (Bricks, Vec<u8>) {
    let bricks = bricks_of(size, |_| true);
    let code = Elements::of_bricks(&bricks.view()).code;
    let class = code.into_iter().map(|code| u8::from(is_stiff(morton_position(code)))).collect();
    (bricks, class)
}

/// Pulls the upper end of a block and holds the lower one.
fn solve(
    (bricks, class): &(Bricks, Vec<u8>),
    young: &[f64; 2],
    ratios: Ratios<'_>,
    settings: &SolverSettings,
) -> Solution {
    let view = bricks.view();
    let top = (0..view.n_bricks()).flat_map(|b| view.node_positions(b)).map(|at| at[2]).max().unwrap_or(0);
    let fixed = fixed(&view, |at| match at[2] {
        0 => [Some(0.0); 3],
        z if z == top => [None, None, Some(1.0)],
        _ => [None; 3],
    });
    let moduli = Moduli::Classes { class, young };
    let problem = StaticProblem { bricks: view, moduli, ratios, spacing: 0.5, fixed: &fixed, forces: &[] };
    StaticSolver::new(&problem, Grid::Bricks, settings).solve(&fixed, &[], None, &mut go)
}

#[test]
fn layers_in_series_share_the_stress_whatever_their_stiffness() {
    let layers = block([11, 10, 26], |at| (at[2] / 3).is_multiple_of(2));
    let positions: Vec<[u32; 3]> = {
        let view = layers.0.view();
        (0..view.n_bricks()).flat_map(|b| view.node_positions(b)).collect()
    };
    for stiff in [1e3, 1e5, 1e6] {
        // Without lateral strain the stress is the same in all layers, and the displacement is linear in each.
        let compliance = |z: u32| if (z / 3).is_multiple_of(2) { 1.0 / stiff } else { 1.0 };
        let up_to = |z: u32| (0..z).map(compliance).sum::<f64>();
        let (settings, whole) = (SolverSettings { tolerance: 1e-9, ..SolverSettings::default() }, up_to(26));
        let found = solve(&layers, &[1.0, stiff], Ratios::One(0.0), &settings);
        assert!(found.converged && found.iterations < 16, "{stiff}: {}", found.iterations);
        for (at, u) in positions.iter().zip(found.displacement.as_chunks::<3>().0) {
            let exact = [0.0, 0.0, up_to(at[2]) / whole];
            assert!(exact.iter().zip(u).all(|(exact, u)| (exact - u).abs() < 1e-5), "{stiff}: {at:?} {u:?}");
        }
    }
}

#[test]
fn beams_in_a_matrix_take_few_iterations_and_give_the_same_as_common_coarse_nodes() {
    let is_beam = |[x, y, z]: [u32; 3]| (x % 8 < 3 && y % 9 < 3) || (y % 9 > 5 && z % 8 < 3);
    let beams = block([26, 25, 24], is_beam);
    let lame = [Lame::new(0.45), Lame::new(0.2)];
    for ratios in [Ratios::One(0.3), Ratios::Classes(&lame)] {
        let run = |young: [f64; 2], split: bool, double: bool| {
            let cycle = CycleSettings { split, ..CycleSettings::default() };
            let settings = SolverSettings { tolerance: 1e-9, double, cycle, ..SolverSettings::default() };
            solve(&beams, &young, ratios, &settings)
        };
        let (phases, common) = (run([1.0, 1e4], true, false), run([1.0, 1e4], false, true));
        assert!(phases.converged && common.converged);
        assert!(3 * phases.iterations < common.iterations, "{} {}", phases.iterations, common.iterations);
        let largest = common.displacement.iter().fold(0.0_f64, |most, u| most.max(u.abs()));
        for (a, b) in phases.displacement.iter().zip(&common.displacement) {
            assert!((a - b).abs() < 1e-5 * largest, "{a} {b}");
        }
        // No more iterations where the stiffness differs more.
        let far = run([1.0, 1e7], true, true);
        assert!(far.converged && far.iterations < 2 * phases.iterations, "{} {}", far.iterations, phases.iterations);
    }
}

#[test]
fn strewn_voxels_keep_common_coarse_nodes() {
    let strewn = block([30, 30, 30], |at| random(u64::from(at[0] + 100 * (at[1] + 100 * at[2]))) < 0.5);
    let run = |split| {
        let cycle = CycleSettings { split, ..CycleSettings::default() };
        let settings = SolverSettings { tolerance: 1e-6, cycle, ..SolverSettings::default() };
        solve(&strewn, &[1.0, 1e5], Ratios::One(0.3), &settings)
    };
    let (split, common) = (run(true), run(false));
    assert!(split.converged && common.converged);
    assert!(split.products < 1.5 * common.products, "{} {}", split.products, common.products);
}

#[test]
fn ranks_solve_samples_of_several_phases() {
    let (bricks, class) = block([44, 30, 27], |[x, y, z]| (z / 4).is_multiple_of(2) && (x + y) % 20 > 3);
    let settings = SolverSettings { tolerance: 1e-6, ..SolverSettings::default() };
    Model::of_classes(bricks, class).check(&[1.0, 1e5], Ratios::One(0.3), &settings, &[2], 3);
}
