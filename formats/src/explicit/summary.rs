//! `summary.json` of an explicit run.

use serde::Serialize;

use super::energy::EnergyRow;
use crate::write::summary::{Ending, Origin};

/// The element that limits the increment.
#[derive(Debug, Clone, PartialEq, Serialize, Default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WorstElement {
    /// User's label.
    pub label: u32,
    /// Instance; empty without instances.
    pub instance: String,
    /// Abaqus name of its kind.
    pub kind: String,
    /// Its stable increment, s.
    pub stable_increment: f64,
}

/// Energies at the end, J.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FinalEnergy {
    /// ½ vᵀ M v, J.
    pub kinetic: f64,
    /// ½ uᵀ K u, J.
    pub strain: f64,
    /// Work done by forces and moving supports, J.
    pub external: f64,
    /// Energy that damping has taken, J.
    pub damped: f64,
    /// |kinetic + strain + damped − external − initial| over the largest of them.
    pub balance_error: f64,
}

impl From<EnergyRow> for FinalEnergy {
    fn from(row: EnergyRow) -> Self {
        Self {
            kinetic: row.kinetic,
            strain: row.strain,
            external: row.external,
            damped: row.damped,
            balance_error: row.balance_error(),
        }
    }
}

/// Everything a script wants to know about a run. Numbers that are not finite become `null`.
#[derive(Debug, Clone, PartialEq, Serialize, Default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ExplicitSummary {
    /// How the run ended.
    #[serde(flatten)]
    pub ending: Ending,
    /// `explicit`.
    pub physics: &'static str,
    /// What was solved.
    #[serde(flatten)]
    pub origin: Origin,
    /// Nodes of the model.
    pub nodes: u64,
    /// Elements of the model.
    pub elements: u64,
    /// Dimensions of the mesh, 2 or 3.
    pub dimension: u32,
    /// Blocks that the mesh was cut into.
    pub blocks: u64,
    /// Nodes over the nodes that the blocks have room for, η.
    pub block_efficiency: f64,
    /// Number of steps from time 0 to the end.
    pub steps: u64,
    /// Step that the run started from: 0, or the checkpoint's.
    pub first_step: u64,
    /// Δt, s.
    pub increment: f64,
    /// Largest stable Δt that is known, s: that of the whole model where it was worked out, else that of the stiffest element, which is smaller.
    pub stable_increment: f64,
    /// Element that limits it; `null` where the model has none.
    pub worst_element: Option<WorstElement>,
    /// Time reached, s.
    pub time: f64,
    /// `cpu`, or the name of the device.
    pub device: String,
    /// `f32` or `f64`.
    pub precision: String,
    /// Threads that computed.
    pub threads: u32,
    /// Mass lumping: `row-sum`, `hrz` or `equal`.
    pub lumping: String,
    /// Wall-clock time of the time loop, s.
    pub loop_seconds: f64,
    /// Wall-clock time of the whole run, s.
    pub total_seconds: f64,
    /// Nodes × steps done in this run over `loop_seconds`, 1/s.
    pub node_steps_per_second: f64,
    /// Shots that a device stepped at once, this one among them; else 1. Their rates add up.
    pub shots_at_once: u32,
    /// Bytes read and written a node-step, by count.
    pub bytes_per_node_step: f64,
    /// Peak resident memory, bytes; `null` where the system does not tell it.
    pub peak_memory_bytes: Option<u64>,
    /// Energies at the end, J.
    pub energy: FinalEnergy,
    /// Files written, relative to the output folder.
    pub files: Vec<String>,
    /// What the user should know.
    pub warnings: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write::summary::{Status, write};

    #[test]
    fn a_diverged_run_is_still_valid_json() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("summary.json");
        let summary = ExplicitSummary {
            ending: Ending { status: Status::Diverged, message: None },
            stable_increment: f64::INFINITY,
            energy: EnergyRow { kinetic: f64::NAN, ..EnergyRow::default() }.into(),
            nodes: 12,
            ..ExplicitSummary::default()
        };
        write(&summary, &path).unwrap();
        let value: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        assert_eq!(value["status"], "diverged");
        assert!(value["energy"]["kinetic"].is_null());
        assert!(value["energy"]["balance_error"].is_null());
        assert!(value["stable_increment"].is_null());
        assert_eq!(value["nodes"], 12);
    }

    #[test]
    fn the_promised_keys_are_there() {
        let value = serde_json::to_value(ExplicitSummary::default()).unwrap();
        for key in [
            "nodes",
            "elements",
            "steps",
            "increment",
            "stable_increment",
            "loop_seconds",
            "total_seconds",
            "node_steps_per_second",
            "bytes_per_node_step",
            "device",
            "precision",
            "block_efficiency",
            "energy",
            "version",
        ] {
            assert!(!value[key].is_null(), "{key}");
        }
        for key in ["kinetic", "strain", "external", "damped", "balance_error"] {
            assert!(value["energy"][key].is_number(), "{key}");
        }
    }
}
