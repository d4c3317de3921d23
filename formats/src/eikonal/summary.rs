//! `summary.json` of an Eikonal run.

use serde::Serialize;

use crate::write::summary::{Ending, Origin};

/// The node that the wave reaches last.
#[derive(Debug, Clone, PartialEq, Serialize, Default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Latest {
    /// Label in the mesh's file.
    pub node: u32,
    /// Its index in the mesh's file, from 0: the row of `arrival.npy`.
    pub index: u32,
    /// Its arrival time, in `time_unit`.
    pub time: f64,
    /// Its coordinates, in `length_unit`.
    pub position: [f64; 3],
}

/// Everything a script wants to know about a run. Numbers that are not finite become `null`.
#[derive(Debug, Clone, PartialEq, Serialize, Default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct EikonalSummary {
    /// `eikonal`.
    pub physics: &'static str,
    /// How the run ended.
    #[serde(flatten)]
    pub ending: Ending,
    /// What was solved.
    #[serde(flatten)]
    pub origin: Origin,
    /// Unit of length of the mesh, as the job says.
    pub length_unit: String,
    /// Unit of time of the results; `…_seconds` are wall-clock time.
    pub time_unit: String,
    /// Nodes of the mesh, as many as unknowns.
    pub nodes: u64,
    /// Elements of the mesh.
    pub elements: u64,
    /// Corners an element, 3 or 4.
    pub corners: u32,
    /// Elements that the wave does not enter.
    pub blocked_elements: u64,
    /// Sub-domains.
    pub domains: u64,
    /// `cpu`, or the name of the device.
    pub device: String,
    /// `f32` or `f64`.
    pub precision: String,
    /// Threads that computed.
    pub threads: u32,
    /// `six`, `eighteen` or `on-the-fly`.
    pub local_solver: &'static str,
    /// Relative fall of a time that was not passed on.
    pub tolerance: f64,
    /// Radius of the balls of exact times round starts, in `length_unit`.
    pub exact_radius: f64,
    /// Nodes with a start time, those of the balls included.
    pub start_nodes: u64,
    /// Sets of starts; above 1 with `--starts`.
    pub cases: u64,
    /// Sweeps over the active set, of all cases together.
    pub sweeps: u64,
    /// Local solves of all cases together.
    pub local_solves: u64,
    /// With trees: solves of the tissue until tissue and trees agreed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tree_rounds: Option<u32>,
    /// Local solves over elements and cases.
    pub solves_an_element: f64,
    /// Mean share of the sub-domains that were active in a sweep; `null` with `--starts`.
    pub active_fraction: Option<f64>,
    /// Nodes that no wave reaches (of many cases, the most). Their time is infinite.
    pub unreached: u64,
    /// The node that is reached last (of many cases, the latest of all); `null` where none is reached.
    pub latest: Option<Latest>,
    /// Time of tensors and of what is stored of the elements, s.
    pub setup_seconds: f64,
    /// Time of the sweeps, s.
    pub loop_seconds: f64,
    /// Wall-clock time of the whole run, s.
    pub total_seconds: f64,
    /// Peak resident memory, bytes; `null` where the system does not tell it.
    pub peak_memory_bytes: Option<u64>,
    /// Files written, relative to the output folder.
    pub files: Vec<String>,
    /// What the user should know.
    pub warnings: Vec<String>,
}
