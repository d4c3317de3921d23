//! What derivatives of arrival times are asked for.

// rkyv's derive writes undocumented twins.
#![allow(missing_docs)]

use rkyv::{Archive, Deserialize, Serialize};

/// A time that was measured.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// Solver index.
    pub node: u32,
    pub time: f64,
    /// Weight of the square of the difference.
    pub weight: f64,
}

/// Derivatives of arrival times by speeds, and by the times of starts.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq, Default)]
pub struct GradientOutputs {
    /// Nodes whose times are derived, solver indices, in the order asked for.
    pub nodes: Vec<u32>,
    /// The derivatives by the speeds of single elements are written, too.
    pub elements: bool,
    /// Times of a misfit ½ Σ weight (T − time)², whose derivatives are one more row.
    pub measured: Vec<Measured>,
}

impl GradientOutputs {
    /// Nothing is asked for.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty() && self.measured.is_empty()
    }
}
