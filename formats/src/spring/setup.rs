//! Everything of a mass-spring-damper model but its mesh: what a parametric study may change without a new block file.

// rkyv's derive writes undocumented twins of enum variants with named fields.
#![allow(missing_docs)]

use rkyv::{Archive, Deserialize, Serialize};

use crate::dynamics::{Amplitude, Boundary, HistoryRequest, Increment, InitialVelocity, OutputInterval};

/// What particles are made of: each weighs `mass` and `density` times the volume that belongs to it.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub struct SpringMaterial {
    /// Name, unique.
    pub name: String,
    /// kg; 0 where the density says all.
    pub mass: f64,
    /// kg/m³; 0 where the mass says all.
    pub density: f64,
}

/// Springs that are alike.
///
/// Force on the end i of a spring to j with d = x_j − x_i at rest, e = u_j − u_i, l = |d + e|, L = `rest_factor` |d|, n = (d + e) / l:
/// f = (k (l − L) + c n · (v_j − v_i)) n.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub struct SpringGroup {
    /// Name, unique; of a lattice `MATERIAL.axis`, `MATERIAL.face`, `MATERIAL.space`.
    pub name: String,
    /// k, N/m, besides what `axial_stiffness` comes to; 0 is no force.
    pub stiffness: f64,
    /// E A of a truss, N: E A / |d| more of k.
    pub axial_stiffness: f64,
    /// c, N s/m.
    pub damping: f64,
    /// A spring breaks when |l − L| / L exceeds this; infinite where it never does. Only extension counts.
    pub max_strain: f64,
    /// Length without force over the distance at rest; 1 unless the springs are pre-stressed.
    pub rest_factor: f64,
}

/// Forces on particles: magnitude × a(t) × weight × direction on each.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub struct PointForce {
    /// Name for overrides.
    pub name: String,
    /// Solver indices.
    pub particles: Vec<u32>,
    /// Share of each in the magnitude, (n,).
    pub weights: Vec<f64>,
    /// Unit vector.
    pub direction: [f64; 3],
    /// N.
    pub magnitude: f64,
    /// Index into [`SpringSetup::amplitudes`]; none means a(t) = 1.
    pub amplitude: Option<u32>,
}

/// Acceleration of particles.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub struct Gravity {
    /// Name for overrides.
    pub name: String,
    /// Solver indices; none means all particles.
    pub particles: Option<Vec<u32>>,
    /// Unit vector.
    pub direction: [f64; 3],
    /// m/s².
    pub magnitude: f64,
    /// Index into [`SpringSetup::amplitudes`]; none means a(t) = 1.
    pub amplitude: Option<u32>,
}

/// Which positions of the particles a cut looks at.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
pub enum CutFrame {
    /// Where they are at that time.
    Current,
    /// Where they are at rest.
    Rest,
}

/// What cuts.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub enum CutShape {
    /// The whole plane through a point.
    Plane {
        /// A point.
        point: [f64; 3],
        /// Normal, not zero.
        normal: [f64; 3],
    },
    /// A parallelogram from a corner along two edges.
    Sheet {
        /// Corner.
        corner: [f64; 3],
        /// Two edges.
        edges: [[f64; 3]; 2],
    },
    /// A straight blade that moves: between increments it sweeps a surface.
    Blade {
        /// Times of the stations, ascending, at least two.
        times: Vec<f64>,
        /// One end of the blade at each station.
        from: Vec<[f64; 3]>,
        /// The other end.
        to: Vec<[f64; 3]>,
    },
}

/// All springs that a shape crosses are erased.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub struct Cut {
    /// Name, unique.
    pub name: String,
    /// When, s; of a blade what its times are counted from.
    pub time: f64,
    /// Which positions.
    pub frame: CutFrame,
    /// With what.
    pub shape: CutShape,
}

/// Springs erased at a time.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub struct SpringErasure {
    /// Name, unique.
    pub name: String,
    /// When, s.
    pub time: f64,
    /// Both ends of each, solver indices.
    pub springs: Vec<[u32; 2]>,
}

/// Springs added at a time. In implicit addressing both ends must be neighbours in the grid.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub struct SpringAddition {
    /// Name, unique.
    pub name: String,
    /// When, s.
    pub time: f64,
    /// Index into [`SpringSetup::groups`].
    pub group: u32,
    /// Both ends of each, solver indices.
    pub springs: Vec<[u32; 2]>,
}

/// Damping of all particles, proportional to their mass.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, Copy, PartialEq)]
pub enum SpringDamping {
    /// λ of eq. (4) of the paper, an increment: x(t + Δt) = (2 − λ) x(t) − (1 − λ) x(t − Δt) + f Δt² / m.
    Lambda(f64),
    /// α, 1/s, centred: m a + α m v = f.
    Alpha(f64),
}

/// Positions over time.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub struct SpringFields {
    pub interval: OutputInterval,
    /// Springs as lines, with group and strain; otherwise particles only.
    pub springs: bool,
    /// Velocities of the particles, too.
    pub velocity: bool,
}

/// Settings of the solver.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub struct SpringSettings {
    /// Length of the run, s.
    pub time: f64,
    /// Δt; automatic: the bound on the stable increment times a factor.
    pub increment: Increment,
    /// Damping of all particles.
    pub damping: SpringDamping,
}

impl Default for SpringSettings {
    fn default() -> Self {
        Self { time: 0.0, increment: Increment::Automatic { factor: 0.9 }, damping: SpringDamping::Alpha(0.0) }
    }
}

/// Everything but the mesh.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq, Default)]
pub struct SpringSetup {
    pub title: String,
    /// What particles are made of.
    pub materials: Vec<SpringMaterial>,
    /// Spring groups. Of a lattice three for each material, `3 × material + group`. A spring between two materials has the
    /// harmonic means of their stiffnesses and dampings (each half belongs to its end) and the smaller `max_strain`.
    pub groups: Vec<SpringGroup>,
    /// Functions of time.
    pub amplitudes: Vec<Amplitude>,
    /// Fixed and driven particles. Later entries win over earlier ones.
    pub boundaries: Vec<Boundary>,
    pub forces: Vec<PointForce>,
    pub gravity: Vec<Gravity>,
    pub initial_velocities: Vec<InitialVelocity>,
    pub cuts: Vec<Cut>,
    /// Springs erased.
    pub erasures: Vec<SpringErasure>,
    /// Springs added.
    pub additions: Vec<SpringAddition>,
    /// Traces.
    pub histories: Vec<HistoryRequest>,
    /// Positions over time.
    pub fields: Vec<SpringFields>,
    pub solver: SpringSettings,
}
