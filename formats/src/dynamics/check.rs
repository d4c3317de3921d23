//! What setups over time refer to: checked when a block file is written and when it is opened.

use super::{Amplitude, AmplitudeShape, Boundary, BoundaryKind, HistoryRequest, InitialVelocity, NodalQuantity};
use crate::block::check::{Check, all_below, require};

/// What there is to refer to.
pub(crate) struct Limits<'a> {
    pub amplitudes: &'a [Amplitude],
    pub n_nodes: usize,
    /// Components of a displacement.
    pub dimension: usize,
}

/// That weights belong to nodes and variables of one quantity.
fn weights(history: &HistoryRequest) -> Check {
    let HistoryRequest { set, nodes, variables, weights, .. } = history;
    let (n_nodes, n_variables) = (nodes.len(), variables.len());
    require(weights.is_empty() || n_nodes.checked_mul(n_variables) == Some(weights.len()), || {
        format!("history `{set}`: {} weights for {n_nodes} nodes and {n_variables} variables", weights.len())
    })?;
    require(weights.iter().all(|weight| weight.is_finite()), || format!("history `{set}`: a weight is not finite"))?;
    let one = variables.windows(2).all(|pair| pair[0].0 == pair[1].0);
    require(weights.is_empty() || one, || format!("history `{set}`: a sum of different quantities"))
}

impl Limits<'_> {
    /// That an amplitude exists.
    pub(crate) fn amplitude(&self, name: &str, index: Option<u32>) -> Check {
        require(index.is_none_or(|index| (index as usize) < self.amplitudes.len()), || {
            format!("`{name}`: an amplitude that does not exist")
        })
    }

    /// Scalars have the component 0 alone.
    fn scalar(name: &str, is_scalar: bool, component: u8) -> Check {
        require(!is_scalar || component == 0, || {
            format!("`{name}`: component {} of a pressure", u32::from(component) + 1)
        })
    }

    fn component(&self, name: &str, component: u8) -> Check {
        require(usize::from(component) < self.dimension, || {
            format!("`{name}`: component {} in a {}D mesh", u32::from(component) + 1, self.dimension)
        })
    }

    /// Checks the amplitudes themselves, and the tables that all physics over time have.
    pub(crate) fn check(
        &self,
        boundaries: &[Boundary],
        initial_velocities: &[InitialVelocity],
        histories: &[HistoryRequest],
    ) -> Check {
        for Amplitude { name, shape, .. } in self.amplitudes {
            if let AmplitudeShape::Tabular { times, values } | AmplitudeShape::SmoothStep { times, values } = shape {
                require(times.len() == values.len() && !times.is_empty(), || {
                    format!("amplitude `{name}`: {} times for {} values", times.len(), values.len())
                })?;
                require(times.is_sorted() && times.iter().chain(values).all(|value| value.is_finite()), || {
                    format!("amplitude `{name}`: times decrease or a value is not finite")
                })?;
            }
        }
        for boundary in boundaries {
            self.amplitude(&boundary.name, boundary.amplitude)?;
            self.component(&boundary.name, boundary.component)?;
            Self::scalar(&boundary.name, boundary.kind == BoundaryKind::Pressure, boundary.component)?;
            all_below(&format!("boundary `{}`", boundary.name), &boundary.nodes, self.n_nodes)?;
        }
        for initial in initial_velocities {
            self.component(&initial.name, initial.component)?;
            all_below(&format!("initial velocity `{}`", initial.name), &initial.nodes, self.n_nodes)?;
        }
        for history in histories {
            all_below(&format!("history `{}`", history.set), &history.nodes, self.n_nodes)?;
            history.variables.iter().try_for_each(|&(quantity, component)| {
                Self::scalar(&history.set, quantity == NodalQuantity::Pressure, component)?;
                self.component(&history.set, component)
            })?;
            weights(history)?;
        }
        Ok(())
    }
}
