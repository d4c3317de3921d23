//! Explicit elastodynamics: M ü + C u̇ + K u = F by central differences (Huthwaite 2014, eqs. 1 to 4).
//!
//! With lumped M, C = diag(α_i m_i) and Δu_{n+1} = u_{n+1} − u_n, eq. (2) reads, for each degree of freedom,
//!
//! ```text
//! Δu_{n+1} = [(1 − q) Δu_n + Δt²/m (F_n − f_int(u_n))] / (1 + q),   q = α Δt / 2
//! u_{n+1}  = u_n + Δu_{n+1}
//! ```
//!
//! Materials with stiffness-proportional damping, C = βK, feel it with the velocity of the increment before,
//!
//! ```text
//! f_int = Σ_m K_m (u_n + β_m/Δt Δu_n)
//! ```
//!
//! so that a step computes each element once and solves nothing. This is stable while 4M − 2Δt C − Δt² K is positive
//! definite ([`elements::damped_stable_increment`]).
//!
//! Materials with relaxation mechanisms feel memory variables, too ([`Relaxation`]).
//!
//! Stepping the pair (u, Δu) rather than (u_n, u_{n−1}) keeps single precision to about 1e-6. The internal force
//! f_int = K u is recomputed from node positions every step; K is never stored.

mod cpu;
mod dashpot;
pub mod elements;
mod gpu;
mod groups;
mod make;
mod problem;
mod projection;
mod relaxation;
mod shots;
mod team;
mod ties;
mod units;

#[cfg(test)]
mod tests;

use crate::device::DeviceError;
use crate::dynamics::{State, Stepper};
pub use cpu::{CpuOptions, CpuStepper};
pub use dashpot::{Dashpot, DashpotStep};
use gpu::GpuMember;
pub use gpu::{GpuError, GpuOptions, GpuReport, GpuShots, GpuStepper, KernelReport, MOST_SHOTS_AT_ONCE, gpu_modules};
pub use make::{cpu_stepper, gpu_shot, gpu_stepper};
pub use problem::{Problem, StepperError, WetPair};
pub use projection::{Inertia, LinearRows, Projected, Projection, ProjectionError};
pub use relaxation::{MOST_MECHANISMS, Relaxation};
pub use shots::{Seat, seats};
pub use team::{ElementPart, PartMember, TeamStepper};

/// What the energy balance needs of a state, without the state.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct EnergySums {
    /// Σ m Δu_n², kg m².
    pub kinetic: f64,
    /// Σ (u_n − Δu_n) f_int(u_n), J.
    pub strain: f64,
    /// As [`State::external_work`](crate::dynamics::State::external_work).
    pub external_work: f64,
    /// As [`State::damped_energy`](crate::dynamics::State::damped_energy); with damping in proportion to the stiffness or
    /// relaxation, the strain energy is in it.
    pub damped_energy: f64,
}

/// Steps finite elements in time.
pub trait ElementStepper: Stepper<State = State> {
    /// f_int = K u for any displacement, N, (n_nodes × dimension,), in the stepper's precision.
    ///
    /// # Errors
    /// The device is lost.
    ///
    /// # Panics
    /// If the displacement has the wrong length.
    fn internal_force(&mut self, displacement: &[f64]) -> Result<Vec<f64>, DeviceError>;

    /// Σ_m K_m (u + β_m/Δt Δu − Σ_l Y_l z_l), N, for any displacement, increment and memory variables, (n_mechanisms × n_nodes ×
    /// dimension,): what a step feels with damping in proportion to the stiffness and with [`Relaxation`]. The memory may be
    /// empty. Without damping and mechanisms, and where steppers have none, that is [`internal_force`](Self::internal_force).
    ///
    /// # Errors
    /// The device is lost.
    ///
    /// # Panics
    /// If an array has the wrong length.
    fn viscous_force(&mut self, [displacement, _increment, _memory]: [&[f64]; 3]) -> Result<Vec<f64>, DeviceError> {
        self.internal_force(displacement)
    }

    /// What an energy sample needs of the state at step n, where it costs less than to fetch the state; else `None`.
    ///
    /// # Errors
    /// The device is lost.
    fn energy_sums(&mut self) -> Result<Option<EnergySums>, DeviceError> {
        Ok(None)
    }
}
