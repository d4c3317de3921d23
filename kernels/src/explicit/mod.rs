//! Explicit elastodynamics: M ü + C u̇ + K u = F by central differences (Huthwaite 2014, eqs. 1 to 4).
//!
//! With lumped M, C = diag(α_i m_i) and Δu_{n+1} = u_{n+1} − u_n, eq. (2) reads, for each degree of freedom,
//!
//! ```text
//! Δu_{n+1} = [(1 − q) Δu_n + Δt²/m (F_n − f_int(u_n))] / (1 + q),   q = α Δt / 2
//! u_{n+1}  = u_n + Δu_{n+1}
//! ```
//!
//! Stepping the pair (u, Δu) rather than (u_n, u_{n−1}) keeps single precision to about 1e-6. The internal force
//! f_int = K u is recomputed from node positions every step; K is never stored.

mod cpu;
pub mod elements;
mod gpu;

#[cfg(test)]
mod tests;

use crate::device::DeviceError;
use crate::dynamics::{Constraint, NodalForce, SignalTable};
pub use cpu::{CpuStepper, cpu};
use elements::SectionProperties;
pub use gpu::{GpuError, GpuOptions, GpuReport, GpuStepper, KernelReport, gpu_modules};
use pogo_formats::explicit::block::{BlocksView, DeviceView};
use pogo_formats::mesh::MeshView;

/// A discretised problem, independent of device and precision.
#[derive(Debug, Clone)]
pub struct Problem<'a> {
    /// Mesh in solver order.
    pub mesh: MeshView<'a>,
    /// Block tables.
    pub blocks: BlocksView<'a>,
    /// Tables for devices with many threads; the CPU needs none.
    pub device: Option<DeviceView<'a>>,
    /// One a section.
    pub sections: Vec<SectionProperties>,
    /// Factor on the stiffness of each element (stiffness-reduction layers), (n_elements,), or empty for all 1.
    pub stiffness_factor: Vec<f64>,
    /// m, kg, (n_nodes,).
    pub lumped_mass: Vec<f64>,
    /// α_i = c_i / m_i, 1/s, (n_nodes,), or empty without damping.
    pub damping_rate: Vec<f64>,
    /// Δt, s.
    pub time_increment: f64,
    /// External forces.
    pub forces: Vec<NodalForce>,
    /// Prescribed components.
    pub constraints: Vec<Constraint>,
    /// Degrees of freedom whose u_n and Δu_{n+1} are recorded at each recorded step.
    pub monitors: Vec<u64>,
}

/// The state at step n, in solver order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct State {
    /// n.
    pub step: u64,
    /// u_n, m, (n_nodes × dimension,).
    pub displacement: Vec<f64>,
    /// Δu_n = u_n − u_{n−1}, m, (n_nodes × dimension,). At n = 0: Δt v_0 − Δt²/2 a_0, so that the start is second order.
    pub increment: Vec<f64>,
    /// Work done by forces and moving supports so far, J.
    pub external_work: f64,
    /// Energy taken by damping so far, J.
    pub damped_energy: f64,
}

/// Why a stepper cannot be made.
#[derive(Debug, thiserror::Error, Clone, PartialEq)]
pub enum StepperError {
    /// An array has the wrong length.
    #[error("{what}: {found} where {expected} are needed")]
    Length {
        /// Which.
        what: &'static str,
        /// Needed.
        expected: usize,
        /// Given.
        found: usize,
    },
    /// A mass is negative or no number.
    #[error("node index {node} has the mass {mass} kg")]
    Mass {
        /// Solver index.
        node: usize,
        /// m.
        mass: f64,
    },
    /// A damping rate is negative or no number.
    #[error("node index {node} has the damping rate {rate} 1/s")]
    Damping {
        /// Solver index.
        node: usize,
        /// α.
        rate: f64,
    },
    /// A force acts on a node that belongs to no element.
    #[error("a force acts on node index {node}, which has no mass: it belongs to no element")]
    Massless {
        /// Solver index.
        node: usize,
    },
    /// A degree of freedom is out of range.
    #[error("{what}: degree of freedom {dof} of {n_dofs}")]
    Dof {
        /// Force, constraint or monitor.
        what: &'static str,
        /// Given.
        dof: u64,
        /// How many there are.
        n_dofs: usize,
    },
    /// A degree of freedom is prescribed twice.
    #[error("degree of freedom {dof} is prescribed twice")]
    Twice {
        /// Which.
        dof: u64,
    },
    /// Δt is not positive.
    #[error("the time increment is {increment} s")]
    Increment {
        /// Δt.
        increment: f64,
    },
    /// A signal that does not exist.
    #[error("signal {signal} of {n_signals}")]
    Signal {
        /// Given.
        signal: u32,
        /// How many there are.
        n_signals: usize,
    },
    /// 16-bit local offsets do not reach.
    #[error("block {block} has {nodes} nodes with its halo, more than 16,379 in 2D or 8,183 in 3D: use smaller blocks")]
    BlockTooLarge {
        /// Which.
        block: usize,
        /// Own and halo nodes.
        nodes: usize,
    },
    /// The block tables contradict each other.
    #[error("block {block}: {what}; write the block file again")]
    Blocks {
        /// Which.
        block: usize,
        /// What.
        what: &'static str,
    },
    /// The system refuses threads.
    #[error("cannot start threads: {reason}")]
    Threads {
        /// Its words.
        reason: String,
    },
}

/// What the energy balance needs of a state, without the state.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct EnergySums {
    /// Σ m Δu_n², kg m².
    pub kinetic: f64,
    /// Σ (u_n − Δu_n) f_int(u_n), J.
    pub strain: f64,
    /// As [`State::external_work`].
    pub external_work: f64,
    /// As [`State::damped_energy`].
    pub damped_energy: f64,
}

/// Steps a problem in time on some device. Only devices fail: on the CPU nothing here is an error.
pub trait Stepper: Send {
    /// n: the state is u_n.
    fn step(&self) -> u64;

    /// Whether [`advance`](Self::advance) reads a table of signals; else the stepper evaluates them itself.
    fn reads_table(&self) -> bool {
        true
    }

    /// Advances `n_steps` from step n. `signals` has the rows n ..= n + `n_steps`, where they are [read](Self::reads_table).
    ///
    /// `record` lists steps s, strictly ascending, n ≤ s < n + `n_steps`. For each, (n_monitors, 3) numbers are appended to
    /// `recording`: u_s, Δu_s, Δu_{s+1} of every monitor, m, so that V = (Δu_s + Δu_{s+1}) / 2Δt and
    /// A = (Δu_{s+1} − Δu_s) / Δt² are centred. The same bits on every run and for every number of threads.
    ///
    /// # Errors
    /// The device is lost; the state is then unknown.
    ///
    /// # Panics
    /// If the signal table is too short, or the recorded steps are not ascending or outside.
    fn advance(
        &mut self,
        n_steps: usize,
        signals: &SignalTable,
        record: &[u64],
        recording: &mut Vec<f64>,
    ) -> Result<(), DeviceError>;

    /// The state at step n, exact (single precision widened), so that a stepper made from it continues bit for bit.
    ///
    /// # Errors
    /// The device is lost.
    fn state(&self) -> Result<State, DeviceError>;

    /// f_int = K u for any displacement, N, (n_nodes × dimension,), in the stepper's precision.
    ///
    /// # Errors
    /// The device is lost.
    ///
    /// # Panics
    /// If the displacement has the wrong length.
    fn internal_force(&mut self, displacement: &[f64]) -> Result<Vec<f64>, DeviceError>;

    /// What an energy sample needs of the state at step n, where it costs less than to fetch the state; else `None`.
    ///
    /// # Errors
    /// The device is lost.
    fn energy_sums(&mut self) -> Result<Option<EnergySums>, DeviceError> {
        Ok(None)
    }
}
