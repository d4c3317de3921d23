//! `[gradient]` and `[[measured]]`.

use serde::Deserialize;

use super::NodeName;
use crate::job::check::{exactly_one, given, in_range};
use crate::parameters::Range;

/// `[gradient]`: derivatives of arrival times by the speeds of the job.
#[derive(Deserialize, Debug, Clone, PartialEq, Default)]
#[serde(deny_unknown_fields)]
pub struct Gradient {
    /// Nodes whose times are derived, by label.
    #[serde(default)]
    pub nodes: Vec<NodeName>,
    /// The same for the nodes nearest to these points.
    #[serde(default)]
    pub points: Vec<[f64; 3]>,
    /// The same for the nodes of a set.
    pub nset: Option<String>,
    /// The derivatives by the speeds of single elements are written, too.
    #[serde(default)]
    pub elements: bool,
}

/// `[[measured]]`: a time that was measured, for the derivatives of the misfit ½ Σ weight (T − time)². Where: `node` or `at`.
#[derive(Deserialize, Debug, Clone, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// A node by its label.
    pub node: Option<NodeName>,
    /// The node nearest to this point.
    pub at: Option<[f64; 3]>,
    /// The time.
    pub time: f64,
    /// Weight; 1 when absent.
    pub weight: Option<f64>,
}

impl Gradient {
    pub(super) fn check(&self) -> Result<(), String> {
        match &self.nset {
            Some(name) if name.trim().is_empty() => Err("`nset` is empty".into()),
            _ => Ok(()),
        }
    }
}

impl Measured {
    pub(super) fn check(&self) -> Result<(), String> {
        exactly_one([("node", given(&self.node)), ("at", given(&self.at))])?;
        in_range("weight", self.weight, Range::NotNegative)
    }
}
