//! `summary.json` of a voxel run.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::write::summary::{Ending, Origin};

/// Counts of a quantity over the volume, in classes of equal width from 0 to `maximum`.
#[derive(Debug, Clone, PartialEq, Serialize, Default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Histogram {
    /// Upper end of the last class.
    pub maximum: f64,
    /// Mean over the voxels.
    pub mean: f64,
    /// Value that half of the voxels do not exceed.
    pub median: f64,
    /// Voxels in each class.
    pub counts: Vec<u64>,
}

/// Pistoia's estimate: the bone fails when a share of its volume passes an effective strain.
#[derive(Debug, Clone, PartialEq, Serialize, Default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Failure {
    /// Share of the volume that may pass the strain, as a fraction.
    pub volume: f64,
    /// Strain energy that effective strains come from: `centre` (at the voxel's centre) or `mean` (over the voxel).
    pub energy: &'static str,
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
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Apparent {
    /// `modulus`, `confined modulus`, `shear modulus`, `bending stiffness`, `torsional stiffness`.
    pub kind: &'static str,
    /// Apparent strain; of bending and torsion the curvature or twist, rad / length.
    pub strain: f64,
    /// Force, or moment, on the upper face.
    pub load: f64,
    /// Cross-section of the box, holes included, length².
    pub area: f64,
    /// Length of the box along the axis.
    pub length: f64,
    /// The property: load / area / strain, force / length²; of stiffnesses load / strain, force × length².
    pub value: f64,
}

/// Apparent stiffness of six cases; Voigt's order xx, yy, zz, yz, xz, xy with engineering shears.
#[derive(Debug, Clone, PartialEq, Serialize, Default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Tensor {
    /// Boundary conditions of the six cases: `kinematic`, `static` or `periodic`.
    pub boundary: &'static str,
    /// C, symmetrised, force / length².
    pub stiffness: [[f64; 6]; 6],
    /// C⁻¹, length² / force.
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
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Orthotropic {
    /// Rows are its axes in global components.
    pub axes: [[f64; 3]; 3],
    /// Young's moduli E1, E2, E3, force / length².
    pub young: [f64; 3],
    /// Poisson's ratios ν12, ν13, ν23.
    pub poisson: [f64; 3],
    /// Shear moduli G23, G13, G12, force / length².
    pub shear: [f64; 3],
    /// ‖what is not orthotropic‖ / ‖C‖, Frobenius norms of the tensor.
    pub rest: f64,
}

/// One load case.
#[derive(Debug, Clone, PartialEq, Serialize, Default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CaseSummary {
    /// Name; empty when there is one case.
    pub name: String,
    /// Whether the tolerance was reached.
    pub converged: bool,
    /// Iterations of the solver.
    pub iterations: u64,
    /// True relative residual at the end.
    pub relative_residual: f64,
    /// Work, in products with the stiffness of the finest level.
    pub products: f64,
    /// Time of the solve with its preconditioner, s.
    pub solve_seconds: f64,
    /// Of it, set-up of the preconditioner, s; 0 where that of an earlier case serves.
    pub setup_seconds: f64,
    /// Factor that the solution was multiplied with to reach a given force or moment; 1 where none is given.
    pub scale: f64,
    /// Sum of the reactions on each named face or condition, x, y, z, force.
    pub reaction: BTreeMap<String, [f64; 3]>,
    /// Sum of all reactions and forces over the sum of their sizes: nil but for rounding and the residual.
    pub imbalance: f64,
    /// Strain energy of all voxels, force × length.
    pub strain_energy: f64,
    /// Largest displacement, by size of the vector, length.
    pub max_displacement: f64,
    /// Apparent property of a standard test; `null` for own conditions and six cases.
    pub apparent: Option<Apparent>,
    /// Mean strain-energy density of each voxel, force / length².
    pub energy_density: Histogram,
    /// Effective strain √(2 U / E) of each voxel, of that mean.
    pub effective_strain: Histogram,
    /// Estimate of the failure load in a standard test; `null` for own conditions and six cases.
    pub failure: Option<Failure>,
}

/// Everything a script wants to know about a run.
#[derive(Debug, Clone, PartialEq, Serialize, Default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct VoxelSummary {
    /// `static`.
    pub physics: &'static str,
    /// How the run ended.
    #[serde(flatten)]
    pub ending: Ending,
    /// What was solved.
    #[serde(flatten)]
    pub origin: Origin,
    /// Unit of length. Moduli are in any unit of force / length²; with mm and MPa, forces are in N.
    pub unit: String,
    /// Degrees of freedom, prescribed ones included.
    pub dof: u64,
    /// Nodes of the model.
    pub nodes: u64,
    /// Solid voxels.
    pub elements: u64,
    /// Edge of a voxel, length.
    pub spacing: f64,
    /// Solid volume over that of the box.
    pub solid_fraction: f64,
    /// `cpu`, or the name of the device.
    pub device: String,
    /// Threads that computed.
    pub threads: u32,
    /// How nodes were found: `brick`, `offset`, `hash`, `domains` or `periodic`.
    pub grid: &'static str,
    /// Sub-domains that were computed apart.
    pub domains: u64,
    /// Relative residual that was asked for.
    pub tolerance: f64,
    /// Iterations of all load cases together.
    pub iterations: u64,
    /// True relative residual at the end, the largest of all load cases.
    pub relative_residual: f64,
    /// Work of all load cases together, in products with the stiffness of the finest level.
    pub products: f64,
    /// Sum of the reactions on each named face or condition, x, y, z, force; with several load cases, see `cases`.
    pub reaction: BTreeMap<String, [f64; 3]>,
    /// The load cases that were solved, in their order.
    pub cases: Vec<CaseSummary>,
    /// Apparent stiffness of six cases; `null` of other models.
    pub tensor: Option<Tensor>,
    /// Wall-clock time of all solves, s.
    pub solve_seconds: f64,
    /// Of it, set-up of preconditioners, s.
    pub setup_seconds: f64,
    /// Wall-clock time of the whole run, s.
    pub total_seconds: f64,
    /// Peak resident memory, bytes; `null` where the system does not tell it.
    pub peak_memory_bytes: Option<u64>,
    /// Peak resident memory over the degrees of freedom, bytes.
    pub bytes_per_dof: Option<f64>,
    /// Memory in use on the device, bytes; `null` on the CPU.
    pub device_bytes: Option<u64>,
    /// The same over the degrees of freedom, bytes.
    pub device_bytes_per_dof: Option<f64>,
    /// Files written, relative to the output folder.
    pub files: Vec<String>,
    /// What the user should know.
    pub warnings: Vec<String>,
}
