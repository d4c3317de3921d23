//! The solver settings of a model as the kernels take them.

use pogo_formats::voxel::VoxelSetup;
use pogo_formats::voxel::setup::{
    Analysis, CoarseOperator, CoarseSolver, Cycle, PreconditionerPrecision, ResidualNorm, StaticSettings,
    TensorBoundary,
};
use pogo_kernels::papers::voxel::AveragedSettings;
use pogo_kernels::voxel::{CycleKind, CycleSettings, SolverSettings};

/// How the preconditioner works.
pub(super) enum Method {
    /// Galerkin levels, and whether the last has to be factorised.
    Galerkin(SolverSettings, bool),
    /// The papers' averaged moduli.
    Averaged(AveragedSettings),
}

impl Method {
    pub fn new(settings: &StaticSettings) -> Result<Self, String> {
        if settings.coarse_operator == Some(CoarseOperator::Averaged) {
            return averaged(settings).map(Self::Averaged);
        }
        let solver = SolverSettings {
            tolerance: settings.tolerance,
            from_start: settings.norm == ResidualNorm::Start,
            double: settings.precision == Some(PreconditionerPrecision::F64),
            iterations: settings.max_iterations as usize,
            cycle: cycle(settings),
        };
        Ok(Self::Galerkin(solver, settings.coarse_solver == Some(CoarseSolver::Direct)))
    }
}

/// What of these settings devices do not know, as the beginning of a sentence.
pub(super) fn only_cpu(setup: &VoxelSetup) -> Option<&'static str> {
    let settings = &setup.solver;
    let cycle = !matches!(settings.cycle, None | Some(Cycle::K));
    let reasons = [
        (
            settings.coarse_operator == Some(CoarseOperator::Averaged),
            "the papers' method (coarse_operator = averaged, preset = papers) runs",
        ),
        (is_periodic(setup), "periodic boundary conditions are solved"),
        (settings.precision == Some(PreconditionerPrecision::F64), "solver.precision = f64 works"),
        (cycle, "solver.cycle = v, w or f works"),
        (settings.smoother_ratio.is_some(), "solver.smoother_ratio works"),
        (settings.coarse_solver.is_some(), "solver.coarse_solver works"),
    ];
    reasons.into_iter().find(|reason| reason.0).map(|reason| reason.1)
}

pub(super) fn is_periodic(setup: &VoxelSetup) -> bool {
    setup.analysis == Analysis::Tensor(TensorBoundary::Periodic)
}

/// The settings of Galerkin levels.
fn cycle(settings: &StaticSettings) -> CycleSettings {
    let mut cycle = CycleSettings {
        ratio: settings.smoother_ratio,
        split: settings.coarse_operator != Some(CoarseOperator::Galerkin),
        ..CycleSettings::default()
    };
    if let Some(degree) = settings.smoother_degree {
        cycle.degree = [degree as usize; 2];
    }
    if let Some(levels) = settings.levels {
        // Level 1 is always there.
        cycle.levels = (levels as usize).max(2);
    }
    cycle.kind = settings.cycle.map_or(CycleKind::K, kind);
    if let Some(CoarseSolver::Jacobi(steps)) = settings.coarse_solver {
        cycle.bottom_steps = Some(steps as usize);
    }
    cycle
}

/// The settings of averaged moduli; what is not given is as in the papers.
fn averaged(settings: &StaticSettings) -> Result<AveragedSettings, String> {
    let papers = AveragedSettings::default();
    if settings.cycle == Some(Cycle::K) {
        return Err(
            "solver: cycle = \"k\" goes with coarse_operator = \"split\" or \"galerkin\"; averaged moduli have \
                    \"v\", \"w\" and \"f\""
                .into(),
        );
    }
    Ok(AveragedSettings {
        levels: settings.levels.map_or(papers.levels, |levels| levels as usize),
        cycle: settings.cycle.map_or(CycleKind::W, kind),
        degree: settings.smoother_degree.map_or(papers.degree, |degree| degree as usize),
        ratio: settings.smoother_ratio.unwrap_or(papers.ratio),
        bottom: match settings.coarse_solver {
            None => papers.bottom,
            Some(CoarseSolver::Jacobi(steps)) => Some(steps as usize),
            Some(CoarseSolver::Direct) => None,
        },
        single: settings.precision == Some(PreconditionerPrecision::F32),
        tolerance: settings.tolerance,
        from_start: settings.norm == ResidualNorm::Start,
        iterations: settings.max_iterations as usize,
    })
}

const fn kind(cycle: Cycle) -> CycleKind {
    match cycle {
        Cycle::K => CycleKind::K,
        Cycle::V => CycleKind::V,
        Cycle::W => CycleKind::W,
        Cycle::F => CycleKind::F,
    }
}
