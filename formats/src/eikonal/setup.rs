//! Everything of an Eikonal model but its mesh: what a parametric study may change without a new block file.

// rkyv's derive writes undocumented twins of enum variants with named fields.
#![allow(missing_docs)]

use rkyv::{Archive, Deserialize, Serialize};

use super::ecg::Ecg;
use super::gradient::GradientOutputs;

/// How fast the wave is in the elements of a class.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub enum Velocity {
    /// The wave does not enter: a scar, a block.
    Blocked,
    /// The same speed in all directions, length / time.
    Isotropic(f64),
    /// Speeds along fibre, sheet and normal (fibre × sheet) directions, length / time. With equal second and third
    /// speeds no sheet direction is needed. In the plane and on surfaces the sheet lies in the element's plane.
    Axes {
        /// vᵢ.
        speeds: [f64; 3],
        /// eᵢ.
        directions: Directions,
    },
    /// D, length² / time²: xx, yy, zz, xy, yz, zx.
    Tensor([f64; 6]),
    /// Velocities of each element, [`EikonalMesh::velocities`](super::EikonalMesh), times a factor.
    EachSpeeds {
        /// Factor on all of them.
        factor: f64,
        /// eᵢ where there are three speeds an element.
        directions: Directions,
    },
    /// D of each element, [`EikonalMesh::tensor`](super::EikonalMesh); the factor is one on velocities: D is multiplied by its square.
    EachTensor {
        /// Factor on velocities.
        factor: f64,
    },
}

/// Directions of fibre and sheet.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, Copy, PartialEq)]
pub enum Directions {
    /// Those of each element.
    Each,
    /// The same everywhere.
    Constant {
        /// Along the fibre.
        fibre: [f64; 3],
        /// In the sheet, across the fibre; none where two speeds are equal.
        sheet: Option<[f64; 3]>,
    },
}

/// Elements with the same law.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub struct VelocityClass {
    /// Name, unique.
    pub name: String,
    pub velocity: Velocity,
}

/// Nodes where the wave starts.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub enum StartRegion {
    /// Solver indices, ascending.
    Nodes(Vec<u32>),
    /// A node by its label, `12` or `INSTANCE.12`.
    Label(String),
    /// A node set, by its index.
    Set(u32),
    /// Nodes with `low` ≤ x ≤ `high`.
    Box { low: [f64; 3], high: [f64; 3] },
    /// Nodes within a radius of a centre.
    Sphere { centre: [f64; 3], radius: f64 },
    /// The node nearest to a point.
    Nearest([f64; 3]),
}

/// A start of the wave.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub struct Start {
    /// Name, unique.
    pub name: String,
    pub region: StartRegion,
    /// When. A node of two starts takes the earlier time; one that the wave of another start reaches before takes that time.
    pub time: f64,
}

/// The local solver of a tetrahedron (Section 3 of the paper).
#[derive(Archive, Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
pub enum LocalSolver {
    /// Six stored products an element; mixed ones from these by eq. 11 (Section 3.3).
    Six,
    /// All 18 products stored (Section 3.2).
    Eighteen,
    /// Products from coordinates and the metric when they are needed (Section 3.1).
    OnTheFly,
}

/// How sub-domains are worked on (Section 6.3).
#[derive(Archive, Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decomposition {
    /// The kernel's choice: one active list.
    Automatic,
    /// One active list for the whole mesh.
    Whole,
    /// First approach: one interface list for each pair of sub-domains, sub-domains shared among workers.
    First,
    /// Second approach: one worker a sub-domain with its own interface.
    Second,
}

/// What a tree of fibres is like; its nodes and edges are in [`Trees`](super::Trees).
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub struct TreeSettings {
    /// Name, unique.
    pub name: String,
    /// Speed along its edges, length / time; with speeds of single edges a factor on them.
    pub speed: f64,
    /// Distance from a junction within which nodes of the tissue are coupled to it; none: the nearest node.
    pub radius: Option<f64>,
    /// Time from the tree to the tissue.
    pub delay: f64,
    /// Time from the tissue to the tree.
    pub delay_back: f64,
    /// Where and when the wave starts in the tree: node of the tree, from 0, and time.
    pub start: Option<(u32, f64)>,
}

/// Settings of the solver.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, Copy, PartialEq)]
pub struct EikonalSettings {
    /// Relative fall of a time below which its neighbours are not woken; 0 means any fall wakes.
    pub tolerance: f64,
    /// Radius of the ball round each start node in which times are set to √((x − s)ᵀ M (x − s)) of the element at the start; 0 means none.
    pub exact_radius: f64,
    pub local_solver: LocalSolver,
    pub decomposition: Decomposition,
}

impl Default for EikonalSettings {
    fn default() -> Self {
        Self {
            tolerance: 0.0,
            exact_radius: 0.0,
            local_solver: LocalSolver::Six,
            decomposition: Decomposition::Automatic,
        }
    }
}

/// What is written besides `arrival.npy` and `summary.json`.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub struct EikonalOutputs {
    /// Fields as VTU: arrival time, sub-domain, speed, predecessor.
    pub fields: bool,
    /// Isochrones: names of sides (`+x`, `-z`, …) that the surface is seen from; a mesh in the plane needs `+z`.
    pub views: Vec<String>,
    /// Number of isochrones in a picture.
    pub isochrones: u32,
    /// Bins of the histogram of activated volume; 0 means none.
    pub histogram_bins: u32,
    /// Nodes from which the path back to a start is followed, solver indices.
    pub path_nodes: Vec<u32>,
    /// Points from whose nearest node the path is followed.
    pub path_points: Vec<[f64; 3]>,
    /// Nodes whose times are written for each case of many, solver indices, in the order asked for; empty means all.
    pub probe_nodes: Vec<u32>,
}

impl Default for EikonalOutputs {
    fn default() -> Self {
        Self {
            fields: true,
            views: Vec::new(),
            isochrones: 20,
            histogram_bins: 50,
            path_nodes: Vec::new(),
            path_points: Vec::new(),
            probe_nodes: Vec::new(),
        }
    }
}

/// Classes, starts, settings and outputs.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq, Default)]
pub struct EikonalSetup {
    pub title: String,
    /// Name of the unit of length, such as `mm`; speeds are in this over the next.
    pub length_unit: String,
    /// Name of the unit of time, such as `ms`.
    pub time_unit: String,
    pub classes: Vec<VelocityClass>,
    pub starts: Vec<Start>,
    pub settings: EikonalSettings,
    pub outputs: EikonalOutputs,
    pub ecg: Option<Ecg>,
    pub gradient: GradientOutputs,
    /// One for each tree of [`Trees`](super::Trees).
    pub trees: Vec<TreeSettings>,
}
