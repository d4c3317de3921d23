//! Tables and keys of the job.

use serde::Deserialize;

use crate::eikonal::setup::{Decomposition, EikonalSettings, LocalSolver};
use crate::job::check::{at_most_one, exactly_one, given, in_range, positive};
use crate::job::{List, Sides};
use crate::parameters::Range;
use crate::words::{Choice, Word};

/// `[mesh]`: what the mesh's file means.
#[derive(Deserialize, Debug, Clone, PartialEq, Default)]
#[serde(deny_unknown_fields)]
pub struct Mesh {
    /// Factor on all coordinates of the file; 1 when absent. openCARP's micrometres become millimetres with 1e-3.
    pub scale: Option<f64>,
    /// Name of the unit of length after scaling, for results; `"mm"` when absent.
    pub length_unit: Option<String>,
    /// Name of the unit of time, for results; `"ms"` when absent.
    pub time_unit: Option<String>,
    /// Fibre direction of each element: name of a cell array of three components, or an `.npy` file of shape (n_elements, 3)
    /// in the order of the elements in the mesh's file. `fibre`, `fiber`, `fibres`, `fibers` are found without.
    pub fibre: Option<String>,
    /// Sheet direction of each element, as `fibre`. `sheet`, `sheets` are found without.
    pub sheet: Option<String>,
    /// Cell array or `.npy` file of whole numbers that `tag` means; `region`, `gmsh:physical`, `tag`, `material` are found without.
    pub tags: Option<String>,
}

/// `[[velocity]]`: how fast the wave is in some elements. Where: one of `elset`, `tag`, `all = true`; all elements when there is
/// none. How fast: one of `speed`, `speeds`, `tensor`, `speed_data`, `tensor_data`.
#[derive(Deserialize, Debug, Clone, PartialEq, Default)]
#[serde(deny_unknown_fields)]
pub struct Velocity {
    /// Name, for changes by name; `VELOCITY` and a number when absent.
    pub name: Option<String>,
    /// Element sets: one or a list. Regions of openCARP are sets by their number, physical groups of Gmsh by their name.
    pub elset: Option<List<String>>,
    /// Elements with these tags.
    pub tag: Option<List<i64>>,
    /// Every element.
    #[serde(default)]
    pub all: bool,
    /// The same speed in all directions; 0 blocks.
    pub speed: Option<f64>,
    /// Speeds along fibre, sheet and normal; with two numbers, along and across the fibre.
    pub speeds: Option<Vec<f64>>,
    /// D: xx, yy, zz, xy, yz, zx, length² / time².
    pub tensor: Option<[f64; 6]>,
    /// Cell array or `.npy` file with the speed of each element (one number), or speeds along and across the fibre (two), or along
    /// fibre, sheet and normal (three). 0 blocks an element.
    pub speed_data: Option<String>,
    /// Cell array or `.npy` file with D of each element: six numbers xx, yy, zz, xy, yz, zx or nine, row by row. All 0 blocks.
    pub tensor_data: Option<String>,
    /// Factor on velocities of `speed_data` and `tensor_data`; 1 when absent.
    pub factor: Option<f64>,
    /// Direction of the fibre, the same everywhere, in place of the mesh's.
    pub fibre: Option<[f64; 3]>,
    /// Direction of the sheet, the same everywhere, in place of the mesh's.
    pub sheet: Option<[f64; 3]>,
}

/// `[[start]]`: where and when the wave starts. Where: one of `node`, `nodes`, `nset`, `at`, `box`, `sphere`, `vtx`. Lengths and
/// positions are those after `[mesh] scale`.
#[derive(Deserialize, Debug, Clone, PartialEq, Default)]
#[serde(deny_unknown_fields)]
pub struct Start {
    /// Name, for changes by name; `START` and a number when absent.
    pub name: Option<String>,
    /// Time; 0 when absent.
    #[serde(default)]
    pub time: f64,
    /// A node by its label in the mesh's file: `12`, `"INSTANCE.12"`. VTK and openCARP count from 0.
    pub node: Option<NodeName>,
    /// Several nodes by their labels.
    pub nodes: Option<Vec<NodeName>>,
    /// A node set; of a Gmsh mesh, a physical group.
    pub nset: Option<String>,
    /// The node nearest to this point.
    pub at: Option<[f64; 3]>,
    /// The nodes in the box between these two corners.
    #[serde(rename = "box")]
    pub corners: Option<[[f64; 3]; 2]>,
    /// The nodes within a radius of a centre.
    pub sphere: Option<Sphere>,
    /// An openCARP list of nodes, beside the job.
    pub vtx: Option<String>,
}

/// A ball.
#[derive(Deserialize, Debug, Clone, Copy, PartialEq)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct Sphere {
    pub centre: [f64; 3],
    pub radius: f64,
}

/// A node by its label.
#[derive(Deserialize, Debug, Clone, PartialEq, Eq)]
#[serde(untagged, expecting = "expected the label of a node, 12 or \"INSTANCE.12\"")]
pub enum NodeName {
    /// `12`.
    Number(u32),
    /// `"INSTANCE.12"`.
    Text(String),
}

impl NodeName {
    /// `12` or `INSTANCE.12`.
    pub fn text(&self) -> String {
        match self {
            Self::Number(label) => label.to_string(),
            Self::Text(text) => text.clone(),
        }
    }
}

/// `[solver]`.
#[derive(Deserialize, Debug, Clone, PartialEq, Default)]
#[serde(deny_unknown_fields)]
pub struct Solver {
    /// Relative fall of a time below which its neighbours are not told; 0 when absent: every fall counts.
    pub tolerance: Option<f64>,
    /// Radius of the ball round each start in which exact times of a constant tensor are set; 0 when absent. It raises the
    /// order of accuracy from about 0.7 to about 1.
    pub exact_radius: Option<f64>,
    /// `"six"` (default), `"eighteen"` or `"on_the_fly"`: what is stored of a tetrahedron (Section 3 of the paper).
    pub local_solver: Option<Word<LocalSolver>>,
    /// `"automatic"` (default), `"whole"`, `"first"` or `"second"`: how a device works on sub-domains (Section 6.3).
    pub decomposition: Option<Word<Decomposition>>,
}

impl Choice for LocalSolver {
    const WORDS: &'static [(&'static str, Self)] =
        &[("six", Self::Six), ("eighteen", Self::Eighteen), ("on_the_fly", Self::OnTheFly)];
}

impl Choice for Decomposition {
    const WORDS: &'static [(&'static str, Self)] =
        &[("automatic", Self::Automatic), ("whole", Self::Whole), ("first", Self::First), ("second", Self::Second)];
}

/// `[output]`.
#[derive(Deserialize, Debug, Clone, PartialEq, Default)]
#[serde(deny_unknown_fields)]
pub struct Output {
    /// `arrival.vtu` or `.vtkhdf`: arrival time, sub-domain, speed, predecessor; on when absent.
    pub fields: Option<bool>,
    /// Sides that `--plot` looks from: `"xmin"`, `["xmax", "zmin"]`, …; one oblique view when absent.
    pub views: Option<Sides>,
    /// Isochrones in a picture; 20 when absent.
    pub isochrones: Option<u32>,
    /// Bins of the histogram of activation; 50 when absent, 0 for none.
    pub histogram_bins: Option<u32>,
    /// Nodes from which paths back to the start are followed, by label.
    #[serde(default)]
    pub path_nodes: Vec<NodeName>,
    /// The same for the nodes nearest to these points.
    #[serde(default)]
    pub path_points: Vec<[f64; 3]>,
    /// Nodes whose times are kept where many starts are run, by label; all nodes when absent.
    #[serde(default)]
    pub probe_nodes: Vec<NodeName>,
    /// The same for the nodes nearest to these points.
    #[serde(default)]
    pub probe_points: Vec<[f64; 3]>,
}

impl Mesh {
    pub(super) fn check(&self) -> Result<(), String> {
        positive("scale", self.scale)
    }
}

impl Velocity {
    pub(super) fn check(&self) -> Result<(), String> {
        at_most_one([("elset", given(&self.elset)), ("tag", given(&self.tag)), ("all", self.all.then_some(()))])?;
        exactly_one([
            ("speed", given(&self.speed)),
            ("speeds", given(&self.speeds)),
            ("tensor", given(&self.tensor)),
            ("speed_data", given(&self.speed_data)),
            ("tensor_data", given(&self.tensor_data)),
        ])?;
        positive("factor", self.factor)?;
        if self.factor.is_some() && self.speed_data.is_none() && self.tensor_data.is_none() {
            return Err("`factor` goes with `speed_data` or `tensor_data`".into());
        }
        if self.speed.is_some_and(|speed| speed < 0.0) {
            return Err("`speed` must be positive, or 0 for a block".into());
        }
        if let Some(speeds) = &self.speeds {
            if !(2..=3).contains(&speeds.len()) {
                return Err("`speeds` are along fibre, sheet and normal, or along and across the fibre".into());
            }
            let blocks = speeds.iter().all(|&speed| speed == 0.0);
            if let Some(speed) = speeds.iter().find(|&&speed| speed <= 0.0 && !blocks) {
                return Err(format!(
                    "a speed of {speed} makes a tensor that is not positive definite; speed = 0 blocks altogether"
                ));
            }
        }
        for (name, vector) in [("fibre", self.fibre), ("sheet", self.sheet)] {
            if vector == Some([0.0; 3]) {
                return Err(format!("`{name}` has no length"));
            }
        }
        if (self.fibre.is_some() || self.sheet.is_some()) && self.speeds.is_none() && self.speed_data.is_none() {
            return Err("`fibre` and `sheet` go with `speeds` or `speed_data`".into());
        }
        if self.sheet.is_some() && self.fibre.is_none() {
            return Err("`sheet` goes with `fibre`".into());
        }
        Ok(())
    }
}

impl Start {
    pub(super) fn check(&self) -> Result<(), String> {
        exactly_one([
            ("node", given(&self.node)),
            ("nodes", given(&self.nodes)),
            ("nset", given(&self.nset)),
            ("at", given(&self.at)),
            ("box", given(&self.corners)),
            ("sphere", given(&self.sphere)),
            ("vtx", given(&self.vtx)),
        ])?;
        in_range("radius", self.sphere.map(|sphere| sphere.radius), Range::NotNegative)
    }
}

impl Solver {
    pub(super) fn check(&self) -> Result<(), String> {
        in_range("tolerance", self.tolerance, Range::NotNegative)?;
        in_range("exact_radius", self.exact_radius, Range::NotNegative)?;
        match self.tolerance {
            Some(tolerance) if tolerance >= 0.1 => Err("`tolerance` is relative and must lie below 0.1".into()),
            _ => Ok(()),
        }
    }

    pub(super) fn settings(&self) -> EikonalSettings {
        let default = EikonalSettings::default();
        EikonalSettings {
            tolerance: self.tolerance.unwrap_or(default.tolerance),
            exact_radius: self.exact_radius.unwrap_or(default.exact_radius),
            local_solver: self.local_solver.map_or(default.local_solver, |word| word.0),
            decomposition: self.decomposition.map_or(default.decomposition, |word| word.0),
        }
    }
}

impl Output {
    pub(super) fn check(&self) -> Result<(), String> {
        match (self.isochrones, self.histogram_bins) {
            (Some(0 | 1001..), _) => Err("`isochrones` must lie between 1 and 1000".into()),
            (_, Some(100_001..)) => Err("`histogram_bins` must lie between 0 and 100000".into()),
            _ => Ok(()),
        }
    }
}
