//! What runs over time share: functions of time, loads, constraints, initial velocities and output requests.

// rkyv's derive writes undocumented twins of enum variants with named fields.
#![allow(missing_docs)]

mod amplitude;
pub(crate) mod check;
mod copied;
mod interval;
mod linear;
pub mod shots;

pub use self::copied::CopiedDisplacements;
pub use self::interval::OutputInterval;
pub use self::linear::{LinearConstraints, LinearTerm};
pub use self::shots::Shot;
pub use crate::quantities::{ElementQuantity, FieldQuantity, NodalQuantity};
use rkyv::{Archive, Deserialize, Serialize};

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

impl Amplitude {
    /// As read: neither scaled nor delayed, and a factor on magnitudes.
    pub fn new(name: impl Into<String>, shape: AmplitudeShape) -> Self {
        Self { name: name.into(), shape, scale: 1.0, delay: 0.0, absolute: false }
    }
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
        window: Window,
        /// f, Hz.
        frequency: f64,
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
    /// N, Pa, N/m³, m/s² or m³/s² by kind.
    pub magnitude: f64,
    /// Index into the amplitudes of the setup; none means a(t) = 1.
    pub amplitude: Option<u32>,
}

/// Spatial distribution of a load.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub enum LoadKind {
    /// magnitude × weight × direction at each node (N).
    Concentrated {
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
        elements: Vec<u32>,
        /// Unit direction.
        direction: [f64; 3],
    },
    /// Acceleration of gravity (m/s²): acts through the density.
    Gravity {
        elements: Vec<u32>,
        /// Unit direction.
        direction: [f64; 3],
    },
    /// Magnitude × weight at each node of a fluid: the rate of the flow of volume into it (m³/s²).
    Volume {
        nodes: Vec<u32>,
        /// One a node, or empty for all 1.
        weights: Vec<f64>,
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
    /// Pressure of a fluid, Pa. The component is 0.
    Pressure,
}

/// One displacement component of some nodes is prescribed. Later entries win over earlier ones.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub struct Boundary {
    /// Unique name for overrides, such as `FIX1.2`.
    pub name: String,
    pub nodes: Vec<u32>,
    /// 0, 1 or 2.
    pub component: u8,
    pub kind: BoundaryKind,
    /// Value, times a(t).
    pub value: f64,
    /// Index into the amplitudes of the setup; none means a(t) = 1.
    pub amplitude: Option<u32>,
}

/// Velocity of some nodes at t = 0.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub struct InitialVelocity {
    /// Unique name for overrides.
    pub name: String,
    pub nodes: Vec<u32>,
    /// 0, 1 or 2.
    pub component: u8,
    /// m/s.
    pub value: f64,
}

/// Traces of nodes, or a weighted sum of these.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub struct HistoryRequest {
    /// Name in the column headings: the set's, or the monitor point's.
    pub set: String,
    pub nodes: Vec<u32>,
    /// Quantity and component (0, 1, 2).
    pub variables: Vec<(NodalQuantity, u8)>,
    /// Empty: each node and variable has a trace. Else there is one trace, Σ weight × value over all nodes and variables: a
    /// weight each, (n_nodes, n_variables), row-major. All variables are then components of one quantity.
    pub weights: Vec<f64>,
    pub interval: OutputInterval,
}

impl HistoryRequest {
    /// Number of traces.
    pub fn n_traces(&self) -> usize {
        if self.weights.is_empty() { self.nodes.len() * self.variables.len() } else { 1 }
    }

    /// Replaces node indices; a node without a new one goes, with its weights.
    pub(crate) fn renumber(&mut self, new_index: impl Fn(u32) -> Option<u32>) {
        let n_variables = self.variables.len().max(1);
        if !self.weights.is_empty() {
            let kept =
                self.nodes.iter().zip(self.weights.chunks(n_variables)).filter(|(node, _)| new_index(**node).is_some());
            self.weights = kept.flat_map(|(_, weights)| weights).copied().collect();
        }
        self.nodes.retain_mut(|node| {
            let new = new_index(*node);
            *node = new.unwrap_or_default();
            new.is_some()
        });
    }
}

/// Traces of elements.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub struct ElementHistoryRequest {
    /// Name in the column headings: the element set's.
    pub set: String,
    pub elements: Vec<u32>,
    pub variables: Vec<(ElementQuantity, u8)>,
    pub interval: OutputInterval,
}

/// Snapshots of fields.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub struct FieldRequest {
    pub quantities: Vec<FieldQuantity>,
    pub interval: OutputInterval,
}

/// How a run starts under forces that are not 0 at t = 0.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Start {
    /// Δu_0 = Δt v_0 − Δt²/2 a_0: a force F moves a mass m by ½ Δt² F/m in the first step.
    #[default]
    SecondOrder,
    /// Δu_0 = Δt v_0: a force F moves a mass m by Δt² F/m in the first step, as in P. Huthwaite's Pogo.
    FirstOrder,
}

/// Time increment Δt.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, Copy, PartialEq)]
pub enum Increment {
    /// This many seconds.
    Fixed(f64),
    /// The largest stable increment of the elements times this factor.
    Automatic { factor: f64 },
}

impl Default for Increment {
    /// The largest stable increment.
    fn default() -> Self {
        Self::Automatic { factor: 1.0 }
    }
}
