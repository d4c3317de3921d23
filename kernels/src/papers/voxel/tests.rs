use super::*;
use crate::voxel::tests::{Porous, go};
use crate::voxel::{CycleKind, Grid};

#[test]
fn the_papers_method_has_its_options() {
    let porous = Porous::new();
    let (problem, forces) = (porous.problem(), &porous.forces);
    let papers = AveragedSettings { tolerance: 1e-9, levels: 3, ..AveragedSettings::default() };
    for settings in [
        papers.clone(),
        AveragedSettings { single: true, ..papers.clone() },
        AveragedSettings { bottom: None, ..papers.clone() },
        AveragedSettings { cycle: CycleKind::F, ..papers.clone() },
        AveragedSettings { cycle: CycleKind::V, ratio: 8.0, ..papers.clone() },
    ] {
        let solution = solve_averaged(&problem, Grid::Bricks, &settings, forces, None, &mut go).unwrap();
        assert!(solution.converged && porous.error(&solution) < 1e-7, "{settings:?}: {}", solution.relative_residual);
    }
    let two = Porous::of([0.1, 0.4]);
    let error = solve_averaged(&two.problem(), Grid::Bricks, &papers, forces, None, &mut go).unwrap_err();
    assert_eq!(error, AveragedError::Ratios);
    let large = AveragedSettings { bottom: None, levels: 1, ..papers };
    let error = solve_averaged(&problem, Grid::Bricks, &large, forces, None, &mut go).unwrap_err();
    assert!(matches!(error, AveragedError::Factorised(n) if n == 3 * porous.bricks.view().n_nodes()));
}
