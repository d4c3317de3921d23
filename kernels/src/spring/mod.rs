//! Mass-spring-damper models: m_i a_i = Σ_j f_ij (Rasmusson, Mosegaard, Sørensen 2008, eqs. 1 and 2), by Verlet's scheme (eqs. 3
//! and 4).
//!
//! With d = x_j − x_i at rest, e = u_j − u_i, D = d + e, l = |D|, L the length without force, the spring pulls at i with
//!
//! ```text
//! f_ij = (k (l − L) + c n · (v_j − v_i)) n,   n = D / l,   v = Δu_n / Δt
//! Δu_{n+1} = A Δu_n + B Δt²/m_i (Σ_j f_ij + F_i(t_n) + m_i g(t_n)),   u_{n+1} = u_n + Δu_{n+1}
//! ```
//!
//! where A = 1 − λ, B = 1 with the paper's damping (eq. 4), and A = (1 − q)/(1 + q), B = 1/(1 + q), q = αΔt/2 with damping centred in
//! time. The state is (u, Δu), not two positions, and elongations are computed without cancellation (see `law`).
//!
//! *Implicit* addressing finds neighbours by their place in a grid and a mask, *explicit* addressing by lists. Every end of a spring
//! computes the force for itself, in the order of the slots, and both ends get the same number: momentum is kept to rounding, a
//! spring breaks at both ends in the same step, and no result depends on the number of threads. Both addressings give the same bits.

mod cpu;
mod energies;
mod events;
mod gpu;
mod law;
mod make;
mod reactions;
mod springs;
mod team;
mod units;

#[cfg(test)]
mod tests;

use pogo_formats::spring::{
    Cut, DIRECTION_BITS, SpringAddition, SpringDamping, SpringErasure, SpringGroup, SpringMeshView,
};
use pogo_formats::system::parallel::iterate::*;

use crate::device::DeviceError;
use crate::dynamics::{Constraint, NodalForce, SignalTable, Stepper};
pub use cpu::CpuStepper;
pub use energies::stable_increment;
pub use gpu::{GpuError, GpuOptions, GpuPlan, GpuReport, GpuStepper, Scheme, gpu_modules};
pub use make::{cpu_stepper, gpu_stepper};
pub use reactions::Reactions;
pub use springs::Springs;
pub use team::{PartMember, SpringPart, TeamStepper};
pub use units::Units;

/// How the neighbours of a particle are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Addressing {
    /// By place in the grid and mask, where there is a grid and every added spring joins neighbours there; else by lists.
    #[default]
    Automatic,
    /// By place in the grid and mask.
    Implicit,
    /// By lists of 16-bit ids, local to a block and its halo.
    Explicit,
    /// By lists of 32-bit ids.
    ExplicitGlobal,
}

/// An acceleration of all particles: `acceleration` × signal(t_n).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Acceleration {
    /// m/s² at signal 1.
    pub acceleration: [f64; 3],
    /// Column of the signal table.
    pub signal: u32,
}

/// A model, independent of device, precision and addressing.
#[derive(Debug, Clone)]
pub struct SpringProblem<'a> {
    /// Particles and springs, solver order.
    pub mesh: SpringMeshView<'a>,
    /// Group of each index that springs name; see [`SpringSetup::groups`](pogo_formats::spring::SpringSetup::groups).
    pub groups: Vec<SpringGroup>,
    /// m, kg, (n,), or (1,) where it is the same for all.
    pub mass: Vec<f64>,
    /// Damping of all particles.
    pub damping: SpringDamping,
    /// Δt, s.
    pub time_increment: f64,
    /// Accelerations of all particles; their sum acts.
    pub gravity: Vec<Acceleration>,
    /// Point forces; a degree of freedom is particle × 3 + component.
    pub forces: Vec<NodalForce>,
    /// Fixed and driven components: Δu_{n+1} = value × (signal(t_{n+1}) − signal(t_n)).
    pub constraints: Vec<Constraint>,
    /// Degrees of freedom whose motion is recorded at each recorded step.
    pub monitors: Vec<u64>,
    /// Cuts. Changes of time t happen before the first step with t_n ≥ t (to 1e-9 Δt).
    pub cuts: Vec<Cut>,
    /// Springs that a job takes away.
    pub erasures: Vec<SpringErasure>,
    /// Springs that a job adds.
    pub additions: Vec<SpringAddition>,
    /// Follow external work and dissipated energy in every step. The motion is the same; a step takes some percent longer.
    pub follow_work: bool,
}

/// What made a spring come or go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Cause {
    /// It was stretched beyond its limit.
    Broken,
    /// Index of the cut.
    Cut(u32),
    /// Index of the erasure.
    Erased(u32),
    /// Index of the addition.
    Added(u32),
}

/// A spring came or went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Change {
    /// Step n: at t_n a spring that went exerts no force, and one that came exerts its first.
    pub step: u64,
    /// Both ends, solver indices, ascending.
    pub particles: [u32; 2],
    /// What made it come or go.
    pub cause: Cause,
}

/// The state at step n, solver order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct State {
    /// Number of steps done.
    pub step: u64,
    /// u_n, m, (n, 3).
    pub displacement: Vec<f64>,
    /// Δu_n = u_n − u_{n−1}, m, (n, 3); see [`SpringProblem::start`].
    pub increment: Vec<f64>,
    /// Work of point forces and driven particles from t = 0 to t_{n−½}, J; 0 unless followed.
    pub external_work: f64,
    /// Energy taken by dampers in the same time, J; 0 unless followed.
    pub dissipated: f64,
    /// Springs that came and went so far, in order.
    pub changes: Vec<Change>,
}

impl State {
    /// Cuts, erasures and additions of steps before this one have happened.
    pub(crate) fn happened(&self) -> u64 {
        self.step + u64::from(self.changes.iter().any(|change| change.step == self.step))
    }
}

/// Energies and momentum at t_n, with v_n = (Δu_n + Δu_{n+1}) / 2Δt.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Energies {
    /// ½ Σ m v², J.
    pub kinetic: f64,
    /// ½ Σ k (l − L)² over all springs, J.
    pub elastic: f64,
    /// −Σ m g · u, J.
    pub gravity: f64,
    /// Work of point forces and driven particles from t = 0 to t_n, J; 0 unless followed.
    pub external_work: f64,
    /// Energy taken by dampers in the same time, J; 0 unless followed.
    pub dissipated: f64,
    /// Σ m v, kg m/s.
    pub momentum: [f64; 3],
    /// Springs that are there.
    pub n_springs: u64,
}

/// Why a stepper cannot be made.
#[allow(missing_docs)]
#[derive(Debug, thiserror::Error, Clone, PartialEq)]
pub enum SpringError {
    #[error("{what}: {found} where {expected} are needed")]
    Length { what: &'static str, expected: usize, found: usize },
    #[error("{what} {index} has {name} {value}: it must be {needed}")]
    Value { what: &'static str, index: usize, name: &'static str, value: f64, needed: &'static str },
    #[error("{what}: degree of freedom {dof} of {n_dofs}")]
    Dof { what: &'static str, dof: u64, n_dofs: usize },
    #[error("degree of freedom {dof} is prescribed twice")]
    Twice { dof: u64 },
    /// The mesh contradicts itself.
    #[error("{what}; write the block file again")]
    Mesh { what: &'static str },
    /// More kinds of springs than lists can tell apart.
    #[error("the springs are of {n} kinds: at most 65,535; give groups the same numbers")]
    Kinds { n: usize },
    /// Implicit addressing without a grid.
    #[error("the model has no grid: only a lattice has implicit addressing; use explicit addressing")]
    NoGrid,
    /// An added spring that a grid cannot have.
    #[error(
        "the spring added from particle index {0} to {1} does not join neighbours in the grid, or is not of the group that \
         their materials have; use explicit addressing", particles[0], particles[1]
    )]
    NotInGrid { particles: [u32; 2] },
    /// A spring from a particle to itself or nowhere, or one that is there already.
    #[error("the spring from particle index {0} to {1} cannot be added: {reason}", particles[0], particles[1])]
    Addition { particles: [u32; 2], reason: &'static str },
    /// A block and its halo have more particles than a local id can name.
    #[error("block {block} has {particles} particles with its halo, more than 65,535: use 32-bit ids")]
    BlockTooLarge { block: usize, particles: usize },
    /// More numbers than a part of a model can name in its messages.
    #[error("the model's arrays have {n} numbers, more than 4,294,967,295: solve it by one process on one device")]
    Numbers { n: usize },
    #[error(transparent)]
    Threads(#[from] pogo_formats::system::threads::ThreadError),
}

/// Steps a mass-spring-damper model.
pub trait SpringStepper<'a>: Stepper<State = State> {
    /// Energies at step n, given the signals at t_n and then those at t_{n+1}, (2, n_signals), in double precision: one pass over
    /// all springs.
    ///
    /// # Errors
    /// The device is lost.
    fn energies(&self, signals: &[f64]) -> Result<Energies, DeviceError>;

    /// Springs that came and went so far, those of the states before included, in order.
    fn changes(&self) -> &[Change];

    /// The springs that are there now.
    fn springs(&self) -> &Springs<'a>;
}

impl Addressing {
    /// What a problem can have, in place of [`Addressing::Automatic`].
    pub(crate) fn choose(self, problem: &SpringProblem) -> Result<Self, SpringError> {
        match (self, problem.mesh.grid, problem.added_outside_grid()) {
            (Self::Automatic, Some(_), None) => Ok(Self::Implicit),
            (Self::Automatic, _, _) => Ok(Self::Explicit),
            (Self::Implicit, None, _) => Err(SpringError::NoGrid),
            (Self::Implicit, Some(_), Some(particles)) => Err(SpringError::NotInGrid { particles }),
            _ => Ok(self),
        }
    }
}

impl SpringProblem<'_> {
    /// Number of particles.
    pub fn n_particles(&self) -> usize {
        self.mesh.n_particles()
    }

    /// m of a particle.
    pub(crate) fn mass_of(&self, particle: usize) -> f64 {
        self.mass[if self.mass.len() == 1 { 0 } else { particle }]
    }

    /// A and B of the module's equation.
    pub(crate) fn damping_factors(&self) -> [f64; 2] {
        match self.damping {
            SpringDamping::Lambda(lambda) => [1.0 - lambda, 1.0],
            SpringDamping::Alpha(alpha) => {
                let q = 0.5 * alpha * self.time_increment;
                [(1.0 - q) / (1.0 + q), 1.0 / (1.0 + q)]
            }
        }
    }

    /// BΔt².
    pub(crate) fn inertia_factor(&self) -> f64 {
        let [_, b] = self.damping_factors();
        b * self.time_increment * self.time_increment
    }

    /// What friction takes.
    pub(crate) fn friction(&self) -> Friction {
        let [_, b] = self.damping_factors();
        Friction(match self.damping {
            SpringDamping::Alpha(alpha) => [0.25 * b * alpha * self.time_increment, 0.0],
            SpringDamping::Lambda(lambda) => [0.0, 0.5 * b * lambda],
        })
    }

    /// Some springs have dampers.
    pub(crate) fn is_damped(&self) -> bool {
        self.groups.iter().any(|group| group.damping != 0.0)
    }

    /// Some springs may break.
    pub(crate) fn may_break(&self) -> bool {
        self.groups.iter().any(|group| group.max_strain.is_finite())
    }

    /// Some springs pull or push at rest.
    pub(crate) fn is_stressed(&self) -> bool {
        self.groups.iter().any(|group| group.rest_factor != 1.0)
    }

    /// Springs that will be added, with their groups.
    pub(crate) fn added(&self) -> impl Iterator<Item = ([u32; 2], u32)> {
        self.additions.iter().flat_map(|each| each.springs.iter().map(|&pair| (pair, each.group)))
    }

    /// An added spring that a grid cannot have, if there is one.
    pub(crate) fn added_outside_grid(&self) -> Option<[u32; 2]> {
        self.added().find(|&(pair, group)| !springs::in_grid(self, pair, group)).map(|(pair, _)| pair)
    }

    /// The group of a spring that came; none if it went.
    pub(crate) fn group_of(&self, change: &Change) -> Option<u32> {
        match change.cause {
            Cause::Added(index) => self.additions.get(index as usize).map(|addition| addition.group),
            _ => None,
        }
    }

    /// A bit for each direction in which some particle has a spring.
    pub(crate) fn directions_in_use(&self) -> u32 {
        self.mesh.lists.mask.par_iter().with_min_len(1 << 12).copied().reduce(|| 0, |a, b| a | b) & DIRECTION_BITS
    }

    /// All columns that are named are there.
    pub(crate) fn check_signals(&self, signals: &SignalTable) {
        let columns = self.forces.iter().map(|f| f.signal).chain(self.constraints.iter().map(|c| c.signal));
        let most = columns.chain(self.gravity.iter().map(|g| g.signal)).max();
        assert!(
            most.is_none_or(|column| (column as usize) < signals.n_signals),
            "the signal table has too few columns"
        );
    }

    /// g at the given signals.
    pub(crate) fn gravity_at(&self, signals: &[f64]) -> [f64; 3] {
        let mut g = [0.0; 3];
        for each in &self.gravity {
            for c in 0..3 {
                g[c] += each.acceleration[c] * signals[each.signal as usize];
            }
        }
        g
    }

    /// What a stepper refuses.
    pub(crate) fn check(&self, state: &State) -> Result<(), SpringError> {
        let n = self.n_particles();
        let length = |what, expected, found| {
            if expected == found { Ok(()) } else { Err(SpringError::Length { what, expected, found }) }
        };
        length("displacements", 3 * n, state.displacement.len())?;
        length("increments", 3 * n, state.increment.len())?;
        if self.mass.len() != 1 {
            length("masses", n, self.mass.len())?;
        }
        let value = |what, index, name, value: f64, needed, good: bool| {
            if good { Ok(()) } else { Err(SpringError::Value { what, index, name, value, needed }) }
        };
        for (i, &mass) in self.mass.iter().enumerate() {
            value("particle index", i, "the mass", mass, "positive", mass > 0.0 && mass.is_finite())?;
        }
        let dt = self.time_increment;
        value("run", 0, "the increment", dt, "positive", dt > 0.0 && dt.is_finite())?;
        let (damping, low) = match self.damping {
            SpringDamping::Lambda(lambda) => (lambda, lambda <= 2.0),
            SpringDamping::Alpha(alpha) => (alpha, alpha.is_finite()),
        };
        value("run", 0, "the damping", damping, "at least 0, and λ at most 2", damping >= 0.0 && low)?;
        for (i, group) in self.groups.iter().enumerate() {
            let finite = |x: f64| x >= 0.0 && x.is_finite();
            value("spring group", i, "the stiffness", group.stiffness, "at least 0", finite(group.stiffness))?;
            let axial = group.axial_stiffness;
            value("spring group", i, "the axial stiffness", axial, "at least 0", finite(axial))?;
            value("spring group", i, "the damping", group.damping, "at least 0", finite(group.damping))?;
            let (factor, strain) = (group.rest_factor, group.max_strain);
            value("spring group", i, "the rest factor", factor, "positive", factor > 0.0 && factor.is_finite())?;
            value("spring group", i, "the largest strain", strain, "positive", strain > 0.0)?;
        }
        let n_dofs = 3 * n;
        let dof = |what, dof: u64| {
            if dof < n_dofs as u64 { Ok(()) } else { Err(SpringError::Dof { what, dof, n_dofs }) }
        };
        self.forces.iter().try_for_each(|force| dof("force", force.dof))?;
        self.monitors.iter().try_for_each(|&monitor| dof("monitor", monitor))?;
        let mut held = vec![false; n_dofs];
        for constraint in &self.constraints {
            dof("constraint", constraint.dof)?;
            if std::mem::replace(&mut held[constraint.dof as usize], true) {
                return Err(SpringError::Twice { dof: constraint.dof });
            }
        }
        Ok(())
    }
}

/// The energy that friction takes in a step: BαΔt/4, of (Δu_n + Δu_{n+1})², and Bλ/2, of Δu_n (Δu_n + Δu_{n+1}).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Friction(pub [f64; 2]);

impl Friction {
    /// The energy that it takes from a number that moves by `old` and then by `new`, times BΔt²/m.
    pub fn energy(self, old: f64, new: f64) -> f64 {
        let Self([centred, lagged]) = self;
        (centred * (old + new) + lagged * old) * (old + new)
    }
}
