//! `[solver]` and `[output]`.

use serde::Deserialize;

use crate::job::Component;
use crate::job::check::{in_range, positive};
use crate::parameters::Range;
use crate::voxel::setup::{
    CoarseOperator, CoarseSolver, Cycle, FailureEnergy, MAX_BINS, PreconditionerPrecision, ResidualNorm,
    StaticSettings, VoxelOutput, VoxelQuantity,
};
use crate::words::{Choice, Word};

/// `[solver]`. What is absent is left to the solver, or to the preset.
#[derive(Deserialize, Debug, Clone, PartialEq, Default)]
#[serde(deny_unknown_fields)]
pub struct Solver {
    /// `"papers"`: the configuration of the ParOSol papers (W-cycle, smoother of degree 10 and ratio 16, averaged moduli,
    /// six levels, 20 steps of Jacobi-CG at the bottom, ‖r‖ / ‖r₀‖). Other keys still win.
    pub preset: Option<Word<SolverPreset>>,
    /// Relative residual to reach; 1e-6 when absent.
    pub tolerance: Option<f64>,
    /// `"load"` (default): ‖r‖ / ‖f‖; `"start"`: ‖r‖ / ‖r₀‖.
    pub norm: Option<Word<ResidualNorm>>,
    /// 10,000 when absent.
    pub max_iterations: Option<u32>,
    /// `"f32"` or `"f64"`: of the preconditioner; residual and solution are f64.
    pub precision: Option<Word<PreconditionerPrecision>>,
    /// `"v"`, `"w"`, `"f"` or `"k"`.
    pub cycle: Option<Word<Cycle>>,
    /// Degree of the Chebyshev smoother.
    pub smoother_degree: Option<u32>,
    /// λmax over the lower end of the smoother's interval, above 1.
    pub smoother_ratio: Option<f64>,
    /// Levels, the finest included.
    pub levels: Option<u32>,
    /// `"averaged"`, `"galerkin"` or `"split"`.
    pub coarse_operator: Option<Word<CoarseOperator>>,
    /// `"direct"`, or the number of Jacobi-CG steps on the coarsest level.
    pub coarse_solver: Option<CoarseSolverValue>,
}

/// Presets of [`Solver`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SolverPreset {
    /// As in the ParOSol papers.
    Papers,
}

impl Choice for SolverPreset {
    const WORDS: &'static [(&'static str, Self)] = &[("papers", Self::Papers)];
}

impl Choice for ResidualNorm {
    const WORDS: &'static [(&'static str, Self)] = &[("load", Self::Load), ("start", Self::Start)];
}

impl Choice for PreconditionerPrecision {
    const WORDS: &'static [(&'static str, Self)] = &[("f32", Self::F32), ("f64", Self::F64)];
}

impl Choice for Cycle {
    const WORDS: &'static [(&'static str, Self)] = &[("v", Self::V), ("w", Self::W), ("f", Self::F), ("k", Self::K)];
}

impl Choice for CoarseOperator {
    const WORDS: &'static [(&'static str, Self)] =
        &[("averaged", Self::Averaged), ("galerkin", Self::Galerkin), ("split", Self::Split)];
}

impl Choice for FailureEnergy {
    const WORDS: &'static [(&'static str, Self)] = &[("centre", Self::Centre), ("mean", Self::Mean)];
}

impl Choice for VoxelQuantity {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("displacement", Self::Displacement),
        ("force", Self::Force),
        ("strain", Self::Strain),
        ("stress", Self::Stress),
        ("von_mises", Self::VonMises),
        ("energy_density", Self::EnergyDensity),
        ("effective_strain", Self::EffectiveStrain),
        ("modulus", Self::Modulus),
    ];
}

/// `"direct"`, or a number of steps.
#[derive(Deserialize, Debug, Clone, PartialEq)]
#[serde(untagged, expecting = "expected \"direct\" or a number of Jacobi-CG steps")]
#[allow(missing_docs)]
pub enum CoarseSolverValue {
    Steps(u32),
    Word(Word<CoarseSolver>),
}

impl Choice for CoarseSolver {
    const WORDS: &'static [(&'static str, Self)] = &[("direct", Self::Direct)];
}

impl Solver {
    /// What can be checked without the stack.
    pub(super) fn check(&self) -> Result<(), String> {
        self.settings().check()
    }

    pub(super) fn settings(&self) -> StaticSettings {
        let mut settings = StaticSettings::default();
        if self.preset == Some(Word(SolverPreset::Papers)) {
            settings = StaticSettings::papers();
        }
        settings.tolerance = self.tolerance.unwrap_or(settings.tolerance);
        settings.norm = self.norm.map_or(settings.norm, |word| word.0);
        settings.max_iterations = self.max_iterations.unwrap_or(settings.max_iterations);
        settings.precision = self.precision.map(|word| word.0).or(settings.precision);
        settings.cycle = self.cycle.map(|word| word.0).or(settings.cycle);
        settings.coarse_operator = self.coarse_operator.map(|word| word.0).or(settings.coarse_operator);
        settings.coarse_solver = match &self.coarse_solver {
            Some(CoarseSolverValue::Steps(steps)) => Some(CoarseSolver::Jacobi(*steps)),
            Some(CoarseSolverValue::Word(word)) => Some(word.0),
            None => settings.coarse_solver,
        };
        settings.smoother_degree = self.smoother_degree.or(settings.smoother_degree);
        settings.smoother_ratio = self.smoother_ratio.or(settings.smoother_ratio);
        settings.levels = self.levels.or(settings.levels);
        settings
    }
}

/// `[output]`.
#[derive(Deserialize, Debug, Clone, PartialEq, Default)]
#[serde(deny_unknown_fields)]
pub struct Output {
    /// Fields of `fields.vti` or `.vtkhdf`: `displacement`, `force`, `strain`, `stress`, `von_mises`, `energy_density`,
    /// `effective_strain`, `modulus`; none when absent.
    #[serde(default)]
    pub fields: Vec<Word<VoxelQuantity>>,
    /// `nodes.npy` and `displacement.npy`: on when absent.
    pub displacement: Option<bool>,
    /// Classes of the histograms; 100 when absent.
    pub histogram_bins: Option<u32>,
    /// Pistoia's criterion: share of the volume; 0.02 when absent.
    pub failure_volume: Option<f64>,
    /// Pistoia's criterion: effective strain; 0.007 when absent.
    pub failure_strain: Option<f64>,
    /// Pistoia's criterion: strain energy at the `"centre"` of a voxel (default) or its `"mean"` over the voxel.
    pub failure_energy: Option<Word<FailureEnergy>>,
    /// Normal of the slice that `--plot` draws; y when absent.
    pub slice: Option<Component>,
    /// Where it cuts, from 0 to 1; 0.5 when absent.
    pub slice_at: Option<f64>,
}

impl Output {
    /// What can be checked without the stack.
    pub(super) fn check(&self) -> Result<(), String> {
        positive("failure_strain", self.failure_strain)?;
        if self.failure_volume.is_some_and(|share| !(share > 0.0 && share < 1.0)) {
            return Err("`failure_volume` must lie between 0 and 1".to_owned());
        }
        in_range("slice_at", self.slice_at, Range::Unit)?;
        match self.histogram_bins {
            Some(bins) if !(1..=MAX_BINS).contains(&bins) => {
                Err(format!("`histogram_bins` must lie between 1 and {MAX_BINS}"))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn requests(&self) -> VoxelOutput {
        let default = VoxelOutput::default();
        let mut fields: Vec<VoxelQuantity> = self.fields.iter().map(|field| field.0).collect();
        fields.sort();
        fields.dedup();
        VoxelOutput {
            fields,
            displacement: self.displacement.unwrap_or(default.displacement),
            histogram_bins: self.histogram_bins.unwrap_or(default.histogram_bins),
            failure_volume: self.failure_volume.unwrap_or(default.failure_volume),
            failure_strain: self.failure_strain.unwrap_or(default.failure_strain),
            failure_energy: self.failure_energy.map_or(default.failure_energy, |word| word.0),
            slice: (
                self.slice.map_or(default.slice.0, |component| component.0),
                self.slice_at.unwrap_or(default.slice.1),
            ),
        }
    }
}
