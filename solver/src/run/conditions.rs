//! Forces on nodes, prescribed components and initial velocities, by degree of freedom.

use std::collections::BTreeMap;

use pogo_formats::dynamics::{Amplitude, Boundary, BoundaryKind, InitialVelocity};
use pogo_kernels::dynamics::signals::{Signal, Signals};
use pogo_kernels::dynamics::{Constraint, NodalForce};

/// A load or boundary condition that the model cannot carry.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConditionError {
    #[error("{name}: {what} {index} is beyond the mesh; the block file and its parameters do not fit together")]
    Beyond {
        /// Load or boundary condition.
        name: String,
        /// `node`, `element` or `amplitude`.
        what: &'static str,
        index: u32,
    },
    #[error("{name}: component 3 in a plane model; use components 1 and 2")]
    ThirdComponent {
        /// Load or boundary condition.
        name: String,
    },
}

impl ConditionError {
    pub fn beyond(name: &str, what: &'static str, index: u32) -> Self {
        Self::Beyond { name: name.into(), what, index }
    }
}

/// The degrees of freedom of a model: node × dimension + component.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dofs {
    pub n_nodes: usize,
    pub dimension: usize,
}

impl Dofs {
    pub fn n(&self) -> usize {
        self.n_nodes * self.dimension
    }

    pub fn at(&self, node: u32, component: u8) -> u64 {
        u64::from(node) * self.dimension as u64 + u64::from(component)
    }

    fn checked(&self, name: &str, node: u32, component: u8) -> Result<u64, ConditionError> {
        if usize::from(component) >= self.dimension {
            return Err(ConditionError::ThirdComponent { name: name.into() });
        }
        self.check_node(name, node)?;
        Ok(self.at(node, component))
    }

    pub fn check_node(&self, name: &str, node: u32) -> Result<(), ConditionError> {
        if (node as usize) < self.n_nodes { Ok(()) } else { Err(ConditionError::beyond(name, "node", node)) }
    }

    pub fn check_direction(&self, name: &str, direction: &[f64; 3]) -> Result<(), ConditionError> {
        if self.dimension == 2 && direction[2] != 0.0 {
            Err(ConditionError::ThirdComponent { name: name.into() })
        } else {
            Ok(())
        }
    }
}

/// Whether the amplitude is absolute; an error if there is none with that index.
pub(crate) fn is_absolute(
    amplitudes: &[Amplitude],
    amplitude: Option<u32>,
    name: &str,
) -> Result<bool, ConditionError> {
    let Some(index) = amplitude else { return Ok(false) };
    match amplitudes.get(index as usize) {
        Some(amplitude) => Ok(amplitude.absolute),
        None => Err(ConditionError::beyond(name, "amplitude", index)),
    }
}

/// Forces on nodes, merged by degree of freedom and signal and sorted.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Forces {
    /// On free components: these drive the solution.
    pub free: Vec<NodalForce>,
    /// On prescribed components: these only change the reaction.
    pub supported: Vec<NodalForce>,
}

/// Sums forces by (degree of freedom, signal).
pub(crate) struct ForceSum {
    forces: Vec<NodalForce>,
    dofs: Dofs,
}

impl ForceSum {
    pub fn new(dofs: Dofs) -> Self {
        Self { forces: Vec::new(), dofs }
    }

    pub fn add(&mut self, node: u32, signal: u32, force: [f64; 3]) {
        for (component, &value) in (0..).zip(&force).take(self.dofs.dimension) {
            if value != 0.0 {
                self.forces.push(NodalForce { dof: self.dofs.at(node, component), signal, value });
            }
        }
    }

    /// Adds magnitude × weight × direction at each node; a node beyond the weights has the weight 1.
    ///
    /// # Errors
    /// A node beyond the model, or a third component in 2D.
    pub fn add_concentrated(
        &mut self,
        name: &str,
        nodes: &[u32],
        weights: &[f64],
        direction: [f64; 3],
        (magnitude, signal): (f64, u32),
    ) -> Result<(), ConditionError> {
        self.dofs.check_direction(name, &direction)?;
        for (index, &node) in nodes.iter().enumerate() {
            self.dofs.check_node(name, node)?;
            let weight = magnitude * weights.get(index).copied().unwrap_or(1.0);
            self.add(node, signal, direction.map(|component| component * weight));
        }
        Ok(())
    }

    /// The sums; those on `constraints` (increasing by degree of freedom) apart.
    pub fn forces(mut self, constraints: &[Constraint]) -> Forces {
        // Stable: equal keys are summed in the order of the loads, the same on every run.
        self.forces.sort_by_key(|force| (force.dof, force.signal));
        self.forces.dedup_by(|next, kept| {
            let same = (next.dof, next.signal) == (kept.dof, kept.signal);
            if same {
                kept.value += next.value;
            }
            same
        });
        let is_held = |force: &NodalForce| constraints.binary_search_by_key(&force.dof, |held| held.dof).is_ok();
        let (supported, free) = self.forces.into_iter().partition(is_held);
        Forces { free, supported }
    }
}

/// Velocity at t = 0 of every degree of freedom that has one, m/s; later entries win.
///
/// # Errors
/// An index beyond the model, or a third component in 2D.
pub(crate) fn initial_velocities(dofs: Dofs, given: &[InitialVelocity]) -> Result<BTreeMap<u64, f64>, ConditionError> {
    let mut velocities = BTreeMap::new();
    for initial in given {
        for &node in &initial.nodes {
            velocities.insert(dofs.checked(&initial.name, node, initial.component)?, initial.value);
        }
    }
    Ok(velocities)
}

/// Prescribed components, increasing by degree of freedom; of several on one component the last wins.
///
/// # Errors
/// An index beyond the model, or a third component in 2D.
pub(crate) fn constraints(
    dofs: Dofs,
    boundaries: &[Boundary],
    amplitudes: &[Amplitude],
    initial_velocities: &BTreeMap<u64, f64>,
    signals: &mut Signals<'_>,
) -> Result<Vec<Constraint>, ConditionError> {
    let mut last = BTreeMap::new();
    for boundary in boundaries {
        let absolute = is_absolute(amplitudes, boundary.amplitude, &boundary.name)?;
        for &node in &boundary.nodes {
            last.insert(dofs.checked(&boundary.name, node, boundary.component)?, (boundary, absolute));
        }
    }
    let of = |(dof, (boundary, absolute)): (u64, (&Boundary, bool))| {
        let initial_velocity = initial_velocities.get(&dof).copied().unwrap_or(0.0);
        let (signal, value) = prescribed(boundary, absolute, initial_velocity);
        Constraint { dof, signal: signals.column(signal), value }
    };
    Ok(last.into_iter().map(of).collect())
}

/// The signal that a boundary condition follows, and the displacement at signal 1, m.
fn prescribed(boundary: &Boundary, absolute: bool, initial_velocity: f64) -> (Signal, f64) {
    let value = if absolute { 1.0 } else { boundary.value };
    let amplitude = boundary.amplitude;
    match boundary.kind {
        // One column serves everything that does not move.
        _ if value == 0.0 && (boundary.kind != BoundaryKind::Acceleration || initial_velocity == 0.0) => {
            (Signal::Value(None), 0.0)
        }
        BoundaryKind::Displacement => (Signal::Value(amplitude), value),
        BoundaryKind::Velocity => (Signal::Velocity(amplitude), value),
        // q is minus the integral of the pressure.
        BoundaryKind::Pressure => (Signal::Sum(amplitude), -value),
        BoundaryKind::Acceleration if value == 0.0 => (Signal::Velocity(None), initial_velocity),
        BoundaryKind::Acceleration => {
            (Signal::Acceleration { amplitude, initial_velocity: initial_velocity / value }, value)
        }
    }
}
