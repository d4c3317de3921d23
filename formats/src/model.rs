//! A finite-element model as the deck and the job describe it: instances expanded, sets resolved to indices.
//!
//! Nodes and elements are addressed by zero-based indices; the user's labels are kept beside them. The element index
//! runs through [`Mesh::groups`] in order: the elements of the first group, then those of the second, and so on.

// rkyv's derive writes undocumented twins of enum variants with named fields.
#![allow(missing_docs)]

mod collapse;

use rkyv::{Archive, Deserialize, Serialize};

/// First-order elements that Pogo computes.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum ElementKind {
    /// Plane-strain triangle, one integration point.
    Cpe3,
    /// Plane-stress triangle, one integration point.
    Cps3,
    /// Plane-strain quadrilateral, 2 × 2 points.
    Cpe4,
    /// Plane-stress quadrilateral, 2 × 2 points.
    Cps4,
    /// Plane-strain quadrilateral, one point with hourglass control.
    Cpe4r,
    /// Plane-stress quadrilateral, one point with hourglass control.
    Cps4r,
    /// Tetrahedron, one point.
    C3d4,
    /// Wedge, 3 × 2 points.
    C3d6,
    /// Hexahedron, 2 × 2 × 2 points.
    C3d8,
    /// Hexahedron, one point with hourglass control.
    C3d8r,
}

impl ElementKind {
    /// Every kind, in the order of its discriminant.
    pub const ALL: [Self; 10] = [
        Self::Cpe3,
        Self::Cps3,
        Self::Cpe4,
        Self::Cps4,
        Self::Cpe4r,
        Self::Cps4r,
        Self::C3d4,
        Self::C3d6,
        Self::C3d8,
        Self::C3d8r,
    ];

    /// The Abaqus name, upper case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cpe3 => "CPE3",
            Self::Cps3 => "CPS3",
            Self::Cpe4 => "CPE4",
            Self::Cps4 => "CPS4",
            Self::Cpe4r => "CPE4R",
            Self::Cps4r => "CPS4R",
            Self::C3d4 => "C3D4",
            Self::C3d6 => "C3D6",
            Self::C3d8 => "C3D8",
            Self::C3d8r => "C3D8R",
        }
    }

    /// The kind that an Abaqus name in any case stands for.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name().eq_ignore_ascii_case(name))
    }

    /// The kind with this discriminant, as the block file stores it.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }

    /// Space dimension, 2 or 3.
    pub const fn dimension(self) -> usize {
        match self {
            Self::Cpe3 | Self::Cps3 | Self::Cpe4 | Self::Cps4 | Self::Cpe4r | Self::Cps4r => 2,
            _ => 3,
        }
    }

    /// Nodes an element.
    pub const fn n_nodes(self) -> usize {
        match self {
            Self::Cpe3 | Self::Cps3 => 3,
            Self::Cpe4 | Self::Cps4 | Self::Cpe4r | Self::Cps4r | Self::C3d4 => 4,
            Self::C3d6 => 6,
            Self::C3d8 | Self::C3d8r => 8,
        }
    }

    /// Plane stress rather than plane strain (2D kinds only).
    pub const fn is_plane_stress(self) -> bool {
        matches!(self, Self::Cps3 | Self::Cps4 | Self::Cps4r)
    }

    /// Faces in Abaqus order (S1, S2, …), each with the local nodes in Abaqus order. In 3D the right-hand normal of a
    /// face as listed points *into* the element for S1 of hexahedra and wedges; use geometry, not order, for signs.
    pub const fn faces(self) -> &'static [&'static [u8]] {
        match self {
            Self::Cpe3 | Self::Cps3 => &[&[0, 1], &[1, 2], &[2, 0]],
            Self::Cpe4 | Self::Cps4 | Self::Cpe4r | Self::Cps4r => &[&[0, 1], &[1, 2], &[2, 3], &[3, 0]],
            Self::C3d4 => &[&[0, 1, 2], &[0, 3, 1], &[1, 3, 2], &[2, 3, 0]],
            Self::C3d6 => &[&[0, 1, 2], &[3, 5, 4], &[0, 3, 4, 1], &[1, 4, 5, 2], &[2, 5, 3, 0]],
            Self::C3d8 | Self::C3d8r => {
                &[&[0, 1, 2, 3], &[4, 7, 6, 5], &[0, 4, 5, 1], &[1, 5, 6, 2], &[2, 6, 7, 3], &[3, 7, 4, 0]]
            }
        }
    }
}

/// Elements of one kind.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub struct ElementGroup {
    /// What they are.
    pub kind: ElementKind,
    /// User's labels, (n,).
    pub labels: Vec<u32>,
    /// Index into [`Mesh::instances`], (n,).
    pub instance: Vec<u16>,
    /// Index into [`Setup::sections`], (n,).
    pub section: Vec<u32>,
    /// Node indices, (n, `kind.n_nodes()`), row-major, Abaqus order.
    pub connectivity: Vec<u32>,
}

impl ElementGroup {
    /// A group without elements.
    pub const fn new(kind: ElementKind) -> Self {
        Self { kind, labels: Vec::new(), instance: Vec::new(), section: Vec::new(), connectivity: Vec::new() }
    }

    /// Elements in this group.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// No element at all.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }
}

/// A named list of node or element indices, in the user's order, each once.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub struct NamedSet {
    /// As the deck writes it; a set inside an instance is `INSTANCE.SET`.
    pub name: String,
    /// Zero-based indices.
    pub members: Vec<u32>,
}

/// Nodes, elements and sets.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub struct Mesh {
    /// 2 or 3.
    pub dimension: u32,
    /// Node positions in metres, (n_nodes, dimension), row-major.
    pub coordinates: Vec<f64>,
    /// User's labels, (n_nodes,).
    pub node_labels: Vec<u32>,
    /// Index into `instances`, (n_nodes,).
    pub node_instance: Vec<u16>,
    /// Instance names; a deck without parts has one, the empty name.
    pub instances: Vec<String>,
    /// Elements, one group a kind.
    pub groups: Vec<ElementGroup>,
    /// Node sets.
    pub node_sets: Vec<NamedSet>,
    /// Element sets, by element index.
    pub element_sets: Vec<NamedSet>,
}

impl Mesh {
    /// Number of nodes.
    pub fn n_nodes(&self) -> usize {
        self.node_labels.len()
    }

    /// Number of elements over all groups.
    pub fn n_elements(&self) -> usize {
        self.groups.iter().map(ElementGroup::len).sum()
    }
}

/// Linear elasticity. Components in the material frame, Abaqus's Voigt order 11, 22, 33, 12, 13, 23 with engineering
/// shear strains.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub enum Elasticity {
    /// Young's modulus E (Pa) and Poisson's ratio ν.
    Isotropic {
        /// E, Pa.
        young: f64,
        /// ν.
        poisson: f64,
    },
    /// E1, E2, E3, ν12, ν13, ν23, G12, G13, G23.
    EngineeringConstants([f64; 9]),
    /// D1111, D1122, D2222, D1133, D2233, D3333, D1212, D1313, D2323 (Pa).
    Orthotropic([f64; 9]),
    /// The 21 constants of `*ELASTIC, TYPE=ANISOTROPIC` in Abaqus's order (Pa).
    Anisotropic([f64; 21]),
}

/// A material.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub struct Material {
    /// Name, as the deck writes it.
    pub name: String,
    /// ρ, kg/m³.
    pub density: f64,
    /// Stiffness.
    pub elasticity: Elasticity,
    /// Mass-proportional damping α in C = αM, 1/s.
    pub damping_alpha: f64,
}

/// What a region of elements is made of.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub struct Section {
    /// The element set's name (with the instance in front where there are instances); unique.
    pub name: String,
    /// Index into [`Setup::materials`].
    pub material: u32,
    /// Rows are the material's 1, 2 and 3 axes in global components (row-major 3 × 3): v_material = R v_global.
    pub material_from_global: [f64; 9],
    /// Out-of-plane thickness of 2D elements, m; 1 in 3D.
    pub thickness: f64,
    /// Factor on the default hourglass stiffness of one-point elements; 1 unless `*SECTION CONTROLS` or
    /// `*HOURGLASS STIFFNESS` says otherwise.
    pub hourglass_factor: f64,
    /// `*FIXED MASS SCALING` factor on the density used for inertia; 1 by default.
    pub mass_factor: f64,
}

/// A dimensionless function of time a(t).
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub struct Amplitude {
    /// Name, as the deck writes it.
    pub name: String,
    /// Which function.
    pub shape: AmplitudeShape,
    /// Multiplies a(t); 1 as read.
    pub scale: f64,
    /// Time t is replaced by t − `delay`, s; 0 as read.
    pub delay: f64,
    /// `VALUE=ABSOLUTE`: the load is a(t) itself and the magnitude beside it is not used.
    pub absolute: bool,
}

/// Functions of time.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub enum AmplitudeShape {
    /// Linear between points, constant outside.
    Tabular {
        /// s, non-decreasing.
        times: Vec<f64>,
        /// a at those times.
        values: Vec<f64>,
    },
    /// Fifth-order steps with zero first and second derivative between points, constant outside.
    SmoothStep {
        /// s, increasing.
        times: Vec<f64>,
        /// a at those times.
        values: Vec<f64>,
    },
    /// a = A0 + Σ (A_n cos nω(t − t0) + B_n sin nω(t − t0)) for t ≥ t0, A0 before.
    Periodic {
        /// ω, rad/s.
        omega: f64,
        /// t0, s.
        start: f64,
        /// A0.
        constant: f64,
        /// (A_n, B_n), n = 1, 2, ….
        terms: Vec<[f64; 2]>,
    },
    /// sin(2πft) under a window that is non-zero for `cycles / frequency` seconds.
    ToneBurst {
        /// Shape of the window.
        window: Window,
        /// f, Hz.
        frequency: f64,
        /// Number of cycles.
        cycles: f64,
    },
    /// Ricker wavelet (1 − 2π²f²τ²) exp(−π²f²τ²), τ = t − `peak_time`.
    Ricker {
        /// Centre frequency f, Hz.
        frequency: f64,
        /// Time of the peak, s.
        peak_time: f64,
    },
    /// exp(−k (t − `peak_time`)²): the paper's geophysics source has k = 1000 s⁻², peak 0.25 s (Section 4.3).
    GaussianPulse {
        /// k, 1/s².
        rate: f64,
        /// Time of the peak, s.
        peak_time: f64,
    },
}

/// Window of a tone burst of length T = cycles / frequency.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
pub enum Window {
    /// ½ (1 − cos 2πt/T).
    Hann,
    /// Gaussian centred on T/2 with standard deviation T/6, cut to [0, T].
    Gaussian,
    /// 1 on [0, T].
    Rectangular,
}

/// A load: magnitude × a(t) × its spatial distribution.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub struct Load {
    /// Unique name for overrides, such as `LOAD1.2`.
    pub name: String,
    /// Where and in which direction it acts.
    pub kind: LoadKind,
    /// N, Pa, N/m³ or m/s² by kind.
    pub magnitude: f64,
    /// Index into [`Setup::amplitudes`]; none means a(t) = 1.
    pub amplitude: Option<u32>,
}

/// Spatial distribution of a load.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub enum LoadKind {
    /// magnitude × weight × direction at each node (N).
    Concentrated {
        /// Node indices.
        nodes: Vec<u32>,
        /// One a node, or empty for all 1.
        weights: Vec<f64>,
        /// Components 1, 2, 3.
        direction: [f64; 3],
    },
    /// Pressure on faces, positive into the element (Pa).
    Pressure {
        /// Face nodes, (n, 4), padded with `u32::MAX`.
        faces: Vec<[u32; 4]>,
        /// Element index that each face belongs to, (n,): its section gives the thickness in 2D, its centre the sign.
        elements: Vec<u32>,
    },
    /// Traction vector on faces (Pa).
    Traction {
        /// Face nodes, (n, 4), padded with `u32::MAX`.
        faces: Vec<[u32; 4]>,
        /// Element index that each face belongs to, (n,).
        elements: Vec<u32>,
        /// Unit direction.
        direction: [f64; 3],
    },
    /// Force a volume (N/m³).
    Body {
        /// Element indices.
        elements: Vec<u32>,
        /// Unit direction.
        direction: [f64; 3],
    },
    /// Acceleration of gravity (m/s²): acts through the density.
    Gravity {
        /// Element indices.
        elements: Vec<u32>,
        /// Unit direction.
        direction: [f64; 3],
    },
}

/// What a boundary condition prescribes.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
pub enum BoundaryKind {
    /// Displacement, m; zero fixes the component.
    Displacement,
    /// Velocity, m/s.
    Velocity,
    /// Acceleration, m/s².
    Acceleration,
}

/// One displacement component of some nodes is prescribed. Later entries win over earlier ones.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub struct Boundary {
    /// Unique name for overrides, such as `FIX1.2`.
    pub name: String,
    /// Node indices.
    pub nodes: Vec<u32>,
    /// 0, 1 or 2.
    pub component: u8,
    /// Quantity.
    pub kind: BoundaryKind,
    /// Value, times a(t).
    pub value: f64,
    /// Index into [`Setup::amplitudes`]; none means a(t) = 1.
    pub amplitude: Option<u32>,
}

/// Velocity of some nodes at t = 0.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub struct InitialVelocity {
    /// Unique name for overrides.
    pub name: String,
    /// Node indices.
    pub nodes: Vec<u32>,
    /// 0, 1 or 2.
    pub component: u8,
    /// m/s.
    pub value: f64,
}

/// How an absorbing layer damps. X is the depth fraction x/L of an element's centre, 0 at the inner face, 1 outside.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, Copy, PartialEq)]
pub enum AbsorbingProfile {
    /// α = d_max Xᵖ, p = 3 in the paper (Section 4.3).
    Damping {
        /// d_max, 1/s.
        d_max: f64,
        /// p.
        exponent: f64,
    },
    /// Stiffness reduction: α = 2πf X³, E′ = E exp(−a X³ k₀ X l), k₀ = 2πf/c, a = −ln(0.01)/(k₀ l).
    StiffnessReduction {
        /// f, Hz.
        frequency: f64,
        /// c, m/s.
        wave_speed: f64,
        /// l, m.
        thickness: f64,
    },
}

/// A region that absorbs waves.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub struct AbsorbingLayer {
    /// Unique name for overrides.
    pub name: String,
    /// Element indices.
    pub elements: Vec<u32>,
    /// X of each of them, in [0, 1].
    pub depth_fraction: Vec<f64>,
    /// Law.
    pub profile: AbsorbingProfile,
}

/// A nodal quantity that can be traced.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NodalQuantity {
    /// Displacement U, m.
    Displacement,
    /// Velocity V, m/s.
    Velocity,
    /// Acceleration A, m/s².
    Acceleration,
    /// Reaction force RF, N.
    Reaction,
}

/// When results are written.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, Copy, PartialEq)]
pub enum OutputInterval {
    /// Every so many increments.
    Increments(u32),
    /// Every so many seconds (the nearest increment).
    Time(f64),
    /// So many equal intervals over the run.
    Count(u32),
}

/// Traces of nodes.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub struct HistoryRequest {
    /// Name in the column headings: the set's, or the monitor point's.
    pub set: String,
    /// Node indices.
    pub nodes: Vec<u32>,
    /// Quantity and component (0, 1, 2).
    pub variables: Vec<(NodalQuantity, u8)>,
    /// When.
    pub interval: OutputInterval,
}

/// An element quantity that can be traced: of the mean strain of the element, in global axes.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ElementQuantity {
    /// Stress S, Pa; components 0 to 5: 11, 22, 33, 12, 13, 23.
    Stress,
    /// Strain E, engineering shears; components as of the stress.
    Strain,
    /// Equivalent stress MISES, Pa; component 0.
    Mises,
    /// Strain energy a volume SENER, J/m³; component 0.
    EnergyDensity,
}

impl ElementQuantity {
    /// How many components it has.
    pub const fn n_components(self) -> u8 {
        match self {
            Self::Stress | Self::Strain => 6,
            Self::Mises | Self::EnergyDensity => 1,
        }
    }
}

/// Traces of elements.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub struct ElementHistoryRequest {
    /// Name in the column headings: the element set's.
    pub set: String,
    /// Element indices.
    pub elements: Vec<u32>,
    /// Quantity and component.
    pub variables: Vec<(ElementQuantity, u8)>,
    /// When.
    pub interval: OutputInterval,
}

/// A field over the whole mesh.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FieldQuantity {
    /// U at nodes.
    Displacement,
    /// V at nodes.
    Velocity,
    /// A at nodes.
    Acceleration,
    /// σ at element centres, Pa.
    Stress,
    /// ε at element centres.
    Strain,
    /// Strain energy a volume at element centres, J/m³.
    EnergyDensity,
}

/// Snapshots of fields.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub struct FieldRequest {
    /// Which.
    pub quantities: Vec<FieldQuantity>,
    /// When.
    pub interval: OutputInterval,
}

/// Time increment Δt.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, Copy, PartialEq)]
pub enum Increment {
    /// This many seconds.
    Fixed(f64),
    /// The largest stable increment of the elements times this factor.
    Automatic {
        /// Safety factor.
        factor: f64,
    },
}

/// How element masses go to nodes.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lumping {
    /// Row sums of the consistent mass, ∫ ρ N dV.
    RowSum,
    /// Hinton, Rock and Zienkiewicz: the consistent diagonal, scaled to the element's mass.
    Hrz,
    /// Element mass over the number of nodes.
    Equal,
}

/// Settings of the explicit solver.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub struct ExplicitSettings {
    /// Length of the run, s.
    pub time: f64,
    /// Δt.
    pub increment: Increment,
    /// Mass lumping.
    pub lumping: Lumping,
}

/// Everything but the mesh: what a parametric study may change without a new block file.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub struct Setup {
    /// First line under `*HEADING`, or empty.
    pub title: String,
    /// Materials.
    pub materials: Vec<Material>,
    /// Sections.
    pub sections: Vec<Section>,
    /// Amplitudes.
    pub amplitudes: Vec<Amplitude>,
    /// Loads.
    pub loads: Vec<Load>,
    /// Boundary conditions.
    pub boundaries: Vec<Boundary>,
    /// Velocities at t = 0.
    pub initial_velocities: Vec<InitialVelocity>,
    /// Absorbing layers.
    pub absorbing_layers: Vec<AbsorbingLayer>,
    /// Traces of nodes.
    pub histories: Vec<HistoryRequest>,
    /// Traces of elements.
    pub element_histories: Vec<ElementHistoryRequest>,
    /// Snapshots.
    pub fields: Vec<FieldRequest>,
    /// Solver settings.
    pub explicit: ExplicitSettings,
}

/// A whole model.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// Nodes, elements, sets.
    pub mesh: Mesh,
    /// Materials, loads, outputs, settings.
    pub setup: Setup,
}
