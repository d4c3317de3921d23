//! `summary.json` of a voxel run.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::write::summary::{Ending, Origin};

/// Counts of a quantity over the volume, in classes of equal width from 0 to `maximum`.
#[derive(Debug, Clone, PartialEq, Serialize, Default)]
#[allow(missing_docs)]
pub struct Histogram {
    /// Upper end of the last class.
    pub maximum: f64,
    pub mean: f64,
    pub median: f64,
    /// Voxels in each class.
    pub counts: Vec<u64>,
}

/// Pistoia's estimate: the bone fails when a share of its volume passes an effective strain.
#[derive(Debug, Clone, PartialEq, Serialize, Default)]
pub struct Failure {
    /// Share of the volume.
    pub volume: f64,
    /// Effective strain that this share may pass.
    pub strain: f64,
    /// Effective strain that this share passes in the computed case.
    pub strain_passed: f64,
    /// What the computed load is multiplied with at failure.
    pub factor: f64,
    /// Reaction on the loaded face at failure, by components: the force; of bending and torsion the moment about the middle.
    pub load: [f64; 3],
}

/// Apparent properties of a test on two opposite faces.
#[derive(Debug, Clone, PartialEq, Serialize, Default)]
pub struct Apparent {
    /// `modulus`, `confined modulus`, `shear modulus`, `bending stiffness`, `torsional stiffness`.
    pub kind: &'static str,
    /// Apparent strain, or the curvature or twist a length.
    pub strain: f64,
    /// Force or moment on the upper face.
    pub load: f64,
    /// Cross-section of the box, holes included.
    pub area: f64,
    /// Length of the box along the axis.
    pub length: f64,
    /// The property: load / area / strain, or load / strain for stiffnesses.
    pub value: f64,
}

/// Apparent stiffness of six cases; Voigt's order xx, yy, zz, yz, xz, xy with engineering shears.
#[derive(Debug, Clone, PartialEq, Serialize, Default)]
#[allow(missing_docs)]
pub struct Tensor {
    pub boundary: &'static str,
    /// C, symmetrised.
    pub stiffness: [[f64; 6]; 6],
    /// C⁻¹.
    pub compliance: [[f64; 6]; 6],
    /// ‖C − Cᵀ‖ / ‖C‖ before it was made symmetric.
    pub asymmetry: f64,
    /// The orthotropic part in the grid's axes.
    pub orthotropic: Orthotropic,
    /// The orthotropic part in the axes in which it is largest.
    pub best_orthotropic: Orthotropic,
}

/// An orthotropic fit.
#[derive(Debug, Clone, PartialEq, Serialize, Default)]
pub struct Orthotropic {
    /// Rows are its axes in global components.
    pub axes: [[f64; 3]; 3],
    /// E1, E2, E3.
    pub young: [f64; 3],
    /// ν12, ν13, ν23.
    pub poisson: [f64; 3],
    /// G23, G13, G12.
    pub shear: [f64; 3],
    /// ‖what is not orthotropic‖ / ‖C‖, Frobenius norms of the tensor.
    pub rest: f64,
}

/// One load case.
#[derive(Debug, Clone, PartialEq, Serialize, Default)]
#[allow(missing_docs)]
pub struct CaseSummary {
    /// Name; empty when there is one case.
    pub name: String,
    /// Whether the tolerance was reached.
    pub converged: bool,
    pub iterations: u64,
    /// True relative residual at the end.
    pub relative_residual: f64,
    /// Fine-product equivalents.
    pub products: f64,
    /// Time of the solve with its preconditioner, s.
    pub solve_seconds: f64,
    /// Of it, set-up of the preconditioner, s; 0 where that of an earlier case serves.
    pub setup_seconds: f64,
    /// Factor that the solution was multiplied with to reach a given force or moment.
    pub scale: f64,
    /// Sum of the reactions on each named face or condition.
    pub reaction: BTreeMap<String, [f64; 3]>,
    /// Sum of all reactions and forces over the sum of their sizes: nil but for rounding and the residual.
    pub imbalance: f64,
    pub strain_energy: f64,
    /// Largest displacement, by size of the vector.
    pub max_displacement: f64,
    pub apparent: Option<Apparent>,
    pub energy_density: Histogram,
    /// Effective strain √(2 U / E).
    pub effective_strain: Histogram,
    pub failure: Option<Failure>,
}

/// Everything a script wants to know about a run.
#[derive(Debug, Clone, PartialEq, Serialize, Default)]
#[allow(missing_docs)]
pub struct VoxelSummary {
    /// `static`.
    pub physics: &'static str,
    #[serde(flatten)]
    pub ending: Ending,
    #[serde(flatten)]
    pub origin: Origin,
    pub unit: String,
    /// Degrees of freedom, prescribed ones included.
    pub dof: u64,
    pub nodes: u64,
    pub elements: u64,
    /// Edge of a voxel.
    pub spacing: f64,
    /// Solid volume over that of the box.
    pub solid_fraction: f64,
    /// `cpu`, or the name of the device.
    pub device: String,
    pub threads: u32,
    /// How nodes were found: `brick`, `offset`, `hash`, `domains` or `periodic`.
    pub grid: &'static str,
    /// Sub-domains that were computed apart.
    pub domains: u64,
    /// Relative residual that was asked for.
    pub tolerance: f64,
    /// Of all load cases together.
    pub iterations: u64,
    /// The largest of all load cases.
    pub relative_residual: f64,
    /// Fine-product equivalents of all load cases together.
    pub products: f64,
    /// Reaction on each named face or condition; with several load cases, see `cases`.
    pub reaction: BTreeMap<String, [f64; 3]>,
    pub cases: Vec<CaseSummary>,
    /// Apparent stiffness of six cases.
    pub tensor: Option<Tensor>,
    /// Wall-clock time of all solves, s.
    pub solve_seconds: f64,
    /// Of it, set-up of preconditioners, s.
    pub setup_seconds: f64,
    /// Wall-clock time of the whole run, s.
    pub total_seconds: f64,
    /// Peak resident memory, bytes.
    pub peak_memory_bytes: Option<u64>,
    /// Peak resident memory over the degrees of freedom.
    pub bytes_per_dof: Option<f64>,
    /// Memory in use on the device, bytes.
    pub device_bytes: Option<u64>,
    /// The same over the degrees of freedom.
    pub device_bytes_per_dof: Option<f64>,
    /// Files written, relative to the output folder.
    pub files: Vec<String>,
    /// What the user should know.
    pub warnings: Vec<String>,
}
