//! Everything of a voxel model but its grid: what a parametric study may change without a new block file.

// rkyv's derive writes undocumented twins of enum variants with named fields.
#![allow(missing_docs)]

use rkyv::{Archive, Deserialize, Serialize};

/// A class of voxels.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub struct VoxelMaterial {
    /// Name, unique.
    pub name: String,
    /// Young's modulus E, force / length², positive.
    pub young: f64,
    /// Poisson's ratio ν in (−1, ½); none where it is that of the model.
    pub poisson: Option<f64>,
}

/// What the number of a [`Magnitude`] is.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
pub enum MagnitudeKind {
    /// Apparent strain (of shears the engineering strain γ).
    Strain,
    /// Displacement, length.
    Displacement,
    /// Angle, degrees.
    Angle,
    Force,
    /// Force × length.
    Moment,
    /// Force / length².
    Stress,
    /// A factor on a table or on vectors.
    Factor,
}

/// A number by name that conditions are multiplied with.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub struct Magnitude {
    /// Full name of the parameter, such as `load.strain`.
    pub name: String,
    /// What it is.
    pub kind: MagnitudeKind,
    /// As given; angles in degrees.
    pub value: f64,
}

/// Nodes.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub enum NodeRegion {
    /// Those with `low` ≤ (i, j, k) ≤ `high`: faces, planes, lines, boxes.
    Box {
        low: [u32; 3],
        /// Highest indices, themselves included.
        high: [u32; 3],
    },
    /// Those on the six faces of a box.
    Surface { low: [u32; 3], high: [u32; 3] },
    /// Those of the elements of a class.
    Material(u32),
    /// Those with these numbers, ascending.
    Nodes(Vec<u32>),
}

/// Displacements of the nodes of a region: in the chosen components, u = m (c + A (x − x₀)) with the magnitude m.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub struct PrescribedField {
    pub name: String,
    pub region: NodeRegion,
    pub components: [bool; 3],
    /// Index into [`VoxelSetup::magnitudes`]; none means m = 1. The magnitude of an angle is in radians here.
    pub magnitude: Option<u32>,
    /// c.
    pub constant: [f64; 3],
    /// A, row-major.
    pub gradient: [f64; 9],
    /// x₀, in the unit of length.
    pub centre: [f64; 3],
}

/// Values of single degrees of freedom: displacements or forces.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub struct NodalTable {
    pub name: String,
    /// Index into [`VoxelSetup::magnitudes`], a factor on all values; none means 1.
    pub magnitude: Option<u32>,
    /// Node numbers, (n,).
    pub nodes: Vec<u32>,
    /// 0, 1, 2: x, y, z, (n,).
    pub directions: Vec<u8>,
    /// Displacements or forces, (n,).
    pub values: Vec<f64>,
}

/// How a force is shared among the nodes of its region.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
pub enum Share {
    /// The vector on every node.
    Each,
    /// The vector is the total; equal parts.
    Equal,
    /// The vector is the total; parts by the area of the element faces with this normal (axis, whether the upper one) that
    /// have all four nodes in the region.
    Area {
        /// 0, 1, 2.
        axis: u8,
        /// The outer normal points up the axis.
        upper: bool,
    },
    /// The vector is a traction, force / length², on those element faces.
    Traction {
        /// 0, 1, 2.
        axis: u8,
        /// The outer normal points up the axis.
        upper: bool,
    },
}

/// Forces on the nodes of a region: the magnitude times the vector, shared.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub struct RegionForce {
    pub name: String,
    pub region: NodeRegion,
    pub share: Share,
    /// Index into [`VoxelSetup::magnitudes`]; none means 1.
    pub magnitude: Option<u32>,
    /// Components x, y, z.
    pub vector: [f64; 3],
}

/// A case whose solution is multiplied so that a reaction takes a given value; the problem is linear.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub struct ScaleTo {
    /// Index into [`VoxelSetup::magnitudes`]: a force or a moment.
    pub magnitude: u32,
    /// Nodes whose reactions are summed.
    pub region: NodeRegion,
    /// Direction 0, 1, 2 of the force, or axis of the moment.
    pub direction: u8,
    /// Point that the moment is taken about; none for a force.
    pub moment_about: Option<[f64; 3]>,
}

/// One right-hand side.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq, Default)]
pub struct LoadCase {
    /// Name, unique; empty when there is one case only.
    pub name: String,
    /// Displacements by region. Where two prescribe the same degree of freedom, the later wins.
    pub displacements: Vec<PrescribedField>,
    /// Displacements by table; they win over those by region.
    pub displacement_tables: Vec<NodalTable>,
    /// Forces by region; they add up.
    pub forces: Vec<RegionForce>,
    /// Forces by table; they add up.
    pub force_tables: Vec<NodalTable>,
    /// The forces are corrected by the smallest affine traction that takes their resultants away.
    pub balanced: bool,
    /// Six suitable degrees of freedom are fixed against rigid motion.
    pub hold_rigid_motion: bool,
    /// What the solution is scaled to.
    pub scale_to: Option<ScaleTo>,
}

/// How the displacements on the boundary are given when a stiffness tensor is asked for.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
pub enum TensorBoundary {
    /// u = ε̄ x on the whole boundary: an upper bound.
    Kinematic,
    /// Uniform tractions: a lower bound.
    Static,
    /// Periodic fluctuations.
    Periodic,
}

/// What is worked out from the reactions.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
pub enum Analysis {
    /// Reactions only.
    Own,
    /// Apparent modulus along an axis.
    Uniaxial {
        /// 0, 1, 2.
        axis: u8,
        /// The sides are held too, so that it is the modulus of uniaxial strain.
        confined: bool,
    },
    /// Apparent shear modulus.
    Shear {
        /// Normal of the faces that slide.
        axis: u8,
        /// Where they slide to.
        direction: u8,
    },
    /// Bending stiffness: moment over curvature.
    Bending {
        /// Along the beam.
        axis: u8,
        /// Axis that the end faces turn about.
        about: u8,
    },
    /// Torsional stiffness: moment over twist a length.
    Torsion {
        /// Axis that the faces turn about.
        axis: u8,
    },
    /// The 6 × 6 apparent stiffness from six cases.
    Tensor(TensorBoundary),
}

/// What the residual is compared with.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResidualNorm {
    /// ‖r‖ / ‖f‖, f the right-hand side with the prescribed displacements taken over.
    Load,
    /// ‖r‖ / ‖r₀‖, r₀ the residual of the start vector, which is zero or given: the papers' choice.
    Start,
}

/// Multigrid cycles.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cycle {
    /// Once down and up.
    V,
    /// Twice at each level.
    W,
    /// W first, then V.
    F,
    /// Each level accelerated by a few Krylov steps.
    K,
}

/// Operators of the coarse levels.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
pub enum CoarseOperator {
    /// Voxels with the mean modulus of 2 × 2 × 2 (eqs. 5 and 6 of the paper).
    Averaged,
    /// Galerkin products.
    Galerkin,
    /// Galerkin products on cells split into their connected components.
    Split,
}

/// Solver of the coarsest level.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
pub enum CoarseSolver {
    /// This many steps of Jacobi-CG.
    Jacobi(u32),
    Direct,
}

/// Number format of the preconditioner; the residual and the solution are always f64.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
pub enum PreconditionerPrecision {
    F32,
    F64,
}

/// Settings of the solver. What is `None` is left to the solver.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub struct StaticSettings {
    /// The solution is there when the relative residual is not above this.
    pub tolerance: f64,
    /// Which relative residual.
    pub norm: ResidualNorm,
    /// More iterations than this are an error.
    pub max_iterations: u32,
    /// Number format of the preconditioner.
    pub precision: Option<PreconditionerPrecision>,
    pub cycle: Option<Cycle>,
    /// Degree of the Chebyshev smoother.
    pub smoother_degree: Option<u32>,
    /// λmax over the lower end of the smoother's interval.
    pub smoother_ratio: Option<f64>,
    /// Number of levels, the finest included.
    pub levels: Option<u32>,
    /// Operators of the coarse levels.
    pub coarse_operator: Option<CoarseOperator>,
    /// Solver of the coarsest level.
    pub coarse_solver: Option<CoarseSolver>,
}

impl Default for StaticSettings {
    fn default() -> Self {
        Self {
            tolerance: 1e-6,
            norm: ResidualNorm::Load,
            max_iterations: 10_000,
            precision: None,
            cycle: None,
            smoother_degree: None,
            smoother_ratio: None,
            levels: None,
            coarse_operator: None,
            coarse_solver: None,
        }
    }
}

impl StaticSettings {
    /// Checks that a solver with these settings needs little memory for itself, and ends.
    ///
    /// # Errors
    /// Which setting is wrong, and what it may be.
    pub fn check(&self) -> Result<(), String> {
        let steps = if let Some(CoarseSolver::Jacobi(steps)) = self.coarse_solver { Some(steps) } else { None };
        for (name, value, most) in [
            ("max_iterations", Some(self.max_iterations), 100_000_000),
            ("smoother_degree", self.smoother_degree, 1000),
            ("levels", self.levels, 64),
            ("coarse_solver", steps, 1_000_000),
        ] {
            if value.is_some_and(|value| value < 1 || value > most) {
                return Err(format!("`{name}` must be from 1 to {most}"));
            }
        }
        if !(self.tolerance > 0.0 && self.tolerance < 1.0) {
            return Err("`tolerance` must lie between 0 and 1".to_owned());
        }
        if self.smoother_ratio.is_some_and(|ratio| !(ratio > 1.0 && ratio.is_finite())) {
            return Err("`smoother_ratio` must be above 1".to_owned());
        }
        Ok(())
    }

    /// The configuration of the ParOSol papers.
    pub fn papers() -> Self {
        Self {
            norm: ResidualNorm::Start,
            precision: Some(PreconditionerPrecision::F64),
            cycle: Some(Cycle::W),
            smoother_degree: Some(10),
            smoother_ratio: Some(16.0),
            levels: Some(6),
            coarse_operator: Some(CoarseOperator::Averaged),
            coarse_solver: Some(CoarseSolver::Jacobi(20)),
            ..Self::default()
        }
    }
}

/// A field that can be written.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum VoxelQuantity {
    /// u at nodes.
    Displacement,
    /// Reaction and applied forces K u at nodes.
    Force,
    /// ε at element centres, engineering shears: xx, yy, zz, yz, xz, xy.
    Strain,
    /// σ at element centres, the same order.
    Stress,
    /// Equivalent stress of von Mises at element centres.
    VonMises,
    /// Strain-energy density, mean over the element.
    EnergyDensity,
    /// Effective strain √(2 U / E) with the strain-energy density U.
    EffectiveStrain,
    /// Young's modulus; 0 is void.
    Modulus,
}

/// Which strain-energy density of a voxel Pistoia's criterion looks at.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureEnergy {
    /// ½ ε : D ε with the strain ε at the voxel's centre, as FAIM has it by default.
    Centre,
    /// The mean over the voxel, ½ uᵀ K u over its volume. It is never less.
    Mean,
}

/// Most classes of a histogram.
pub const MAX_BINS: u32 = 100_000;

/// What is written.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub struct VoxelOutput {
    /// Fields of the VTI files, one file a load case; none where empty.
    pub fields: Vec<VoxelQuantity>,
    /// `nodes.npy` and `displacement.npy`.
    pub displacement: bool,
    /// Classes of the histograms.
    pub histogram_bins: u32,
    /// Pistoia's criterion: share of the volume (0.02) …
    pub failure_volume: f64,
    /// … and the effective strain that it may pass (0.007).
    pub failure_strain: f64,
    /// The strain-energy density that the effective strain comes from.
    pub failure_energy: FailureEnergy,
    /// The slice of the picture: normal axis and position, a fraction of the box.
    pub slice: (u8, f64),
}

impl Default for VoxelOutput {
    fn default() -> Self {
        Self {
            fields: Vec::new(),
            displacement: true,
            histogram_bins: 100,
            failure_volume: 0.02,
            failure_strain: 0.007,
            failure_energy: FailureEnergy::Centre,
            slice: (1, 0.5),
        }
    }
}

/// Everything but the grid.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub struct VoxelSetup {
    pub title: String,
    /// Unit of length that the grid is in, `mm` if nothing else is said; moduli are force / length².
    pub unit: String,
    /// Materials; an element's class is an index into them. Empty where each element has its own modulus.
    pub materials: Vec<VoxelMaterial>,
    /// What the moduli of single elements are multiplied with.
    pub modulus_scale: f64,
    /// Poisson's ratio ν of all elements but those of materials with one of their own, in (−1, ½).
    pub poisson: f64,
    /// Lowest and highest node indices of the specimen: faces, areas and lengths are those of this box.
    pub bounds: [[u32; 3]; 2],
    /// Numbers by name.
    pub magnitudes: Vec<Magnitude>,
    /// Right-hand sides, solved one after the other.
    pub cases: Vec<LoadCase>,
    /// What comes of them.
    pub analysis: Analysis,
    pub solver: StaticSettings,
    pub output: VoxelOutput,
}

impl VoxelSetup {
    /// Poisson's ratio of each material; empty where all elements have [the same](Self::one_ratio).
    pub fn ratios(&self) -> Vec<f64> {
        let ratios: Vec<f64> = self.materials.iter().map(|material| material.poisson.unwrap_or(self.poisson)).collect();
        if ratios.windows(2).any(|pair| pair[0] != pair[1]) { ratios } else { Vec::new() }
    }

    /// Poisson's ratio of all elements, where [`ratios`](Self::ratios) is empty.
    pub fn one_ratio(&self) -> f64 {
        self.materials.first().and_then(|material| material.poisson).unwrap_or(self.poisson)
    }
}

impl Default for VoxelSetup {
    fn default() -> Self {
        Self {
            title: String::new(),
            unit: "mm".into(),
            materials: Vec::new(),
            modulus_scale: 1.0,
            poisson: 0.3,
            bounds: [[0; 3]; 2],
            magnitudes: Vec::new(),
            cases: Vec::new(),
            analysis: Analysis::Own,
            solver: StaticSettings::default(),
            output: VoxelOutput::default(),
        }
    }
}
