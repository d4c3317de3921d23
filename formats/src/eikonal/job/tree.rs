//! `[[tree]]`: Purkinje trees.

use serde::Deserialize;

use crate::eikonal::Trees;
use crate::eikonal::setup::TreeSettings;
use crate::job::check::{exactly_one, given, in_range, named, positive};
use crate::job::{JobError, Located, rows_of_numbers};
use crate::parameters::Range;
use crate::read::mesh::{LineMesh, read_lines};
use crate::system::inputs;

use super::Applied;

/// `[[tree]]`: fibres on which the wave runs along edges, coupled to the tissue at junctions.
#[derive(Deserialize, Debug, Clone, PartialEq, Default)]
#[serde(deny_unknown_fields)]
pub struct Tree {
    /// Name, for changes by name; `TREE` and a number when absent.
    pub name: Option<String>,
    /// A `.vtu` or `.vtk` file with lines or polylines, beside the job; coordinates are multiplied by `[mesh] scale`.
    pub file: Option<String>,
    /// Instead of `file`: a table of x, y, z of the nodes, which are counted from 0, in the order of its rows.
    pub points: Option<String>,
    /// With `points`: a table of both nodes of each edge, and perhaps its speed.
    pub edges: Option<String>,
    /// Speed along all edges, length / time.
    pub speed: Option<f64>,
    /// Cell array of `file` with the speed of each line; of a table of edges the third column is taken.
    pub speed_data: Option<String>,
    /// Factor on the speeds of single edges; 1 when absent.
    pub factor: Option<f64>,
    /// Node, from 0, at which the wave starts in the tree.
    pub start_node: Option<u32>,
    /// The same for the node of the tree nearest to this point.
    pub start_at: Option<[f64; 3]>,
    /// When it starts there; 0 when absent.
    pub start_time: Option<f64>,
    /// Nodes, from 0, that are coupled to the tissue; when absent the ends of the tree but for the start node.
    pub junctions: Option<Vec<u32>>,
    /// Each junction is coupled to the tissue's nodes within this distance; to the nearest node when absent.
    pub radius: Option<f64>,
    /// Time from the tree to the tissue; 0 when absent.
    pub delay: Option<f64>,
    /// Time from the tissue to the tree; `delay` when absent.
    pub delay_back: Option<f64>,
}

impl Tree {
    pub(super) fn check(&self) -> Result<(), String> {
        named(self.name.as_deref())?;
        exactly_one([("file", given(&self.file)), ("points", given(&self.points))])?;
        if self.points.is_some() != self.edges.is_some() {
            return Err("`points` and `edges` go together".into());
        }
        if self.speed_data.is_some() && self.file.is_none() {
            return Err("`speed_data` goes with `file`; a table of edges has speeds in its third column".into());
        }
        if self.speed.is_some() && (self.speed_data.is_some() || self.factor.is_some()) {
            return Err("give `speed`, or speeds of single edges with a `factor`, not both".into());
        }
        positive("speed", self.speed)?;
        positive("factor", self.factor)?;
        if self.start_node.is_some() && self.start_at.is_some() {
            return Err("give `start_node` or `start_at`, not both".into());
        }
        if self.start_time.is_some() && self.start_node.is_none() && self.start_at.is_none() {
            return Err("`start_time` goes with `start_node` or `start_at`".into());
        }
        for (name, value) in [("radius", self.radius), ("delay", self.delay), ("delay_back", self.delay_back)] {
            in_range(name, value, Range::NotNegative)?;
        }
        Ok(())
    }

    /// Reads its nodes and edges.
    fn read(item: &Located<Self>, applied: &mut Applied) -> Result<LineMesh, JobError> {
        let Located { place, value } = item;
        if let Some(file) = &value.file {
            let path = place.folder.join(file);
            let lines =
                read_lines(&path, value.speed_data.as_deref()).map_err(|error| place.error(error.to_string()))?;
            applied.sources.push(path);
            return Ok(lines);
        }
        let mut lines = LineMesh::default();
        for (name, widths) in [(&value.points, [3, 3]), (&value.edges, [2, 3])] {
            let path = place.folder.join(name.as_deref().unwrap_or_default());
            let wrong = |line: usize, message: String| JobError { file: path.display().to_string(), line, message };
            let bytes = inputs::read(&path).map_err(|error| place.error(format!("{}: {error}", path.display())))?;
            let text = String::from_utf8(bytes).map_err(|_| wrong(0, "it is no text; a table is expected".into()))?;
            for (line, fields) in rows_of_numbers(&text) {
                if !widths.contains(&fields.len()) {
                    let [least, most] = widths;
                    let expected = if least == most { format!("{least}") } else { format!("{least} or {most}") };
                    return Err(wrong(line, format!("{} numbers, and {expected} are expected", fields.len())));
                }
                let number = |text: &str| text.parse::<f64>().ok().filter(|value| value.is_finite());
                let node = |text: &str| text.parse::<u32>().ok();
                let bad = || wrong(line, "finite numbers are expected, and nodes counted from 0".into());
                if widths == [3, 3] {
                    for field in fields {
                        lines.coordinates.push(number(field).ok_or_else(bad)?);
                    }
                    continue;
                }
                for field in &fields[..2] {
                    lines.edges.push(node(field).ok_or_else(bad)?);
                }
                if let Some(speed) = fields.get(2) {
                    lines.speeds.push(number(speed).ok_or_else(bad)?);
                }
            }
            applied.sources.push(path);
        }
        Ok(lines)
    }

    /// What is wrong with the nodes and edges.
    fn wrong(&self, lines: &LineMesh) -> Option<String> {
        let (n, m) = (lines.coordinates.len() / 3, lines.edges.len() / 2);
        if m == 0 {
            return Some("the tree has no edges: lines or polylines are expected".into());
        }
        if let Some(node) = lines.edges.iter().find(|&&node| node as usize >= n) {
            return Some(format!("an edge names node {node}, and the tree has {n}, counted from 0"));
        }
        if !lines.speeds.is_empty() && lines.speeds.len() != m {
            return Some(format!("{} speeds for {m} edges: give one for each edge, or none", lines.speeds.len()));
        }
        if let Some(speed) = lines.speeds.iter().find(|speed| **speed < 0.0) {
            return Some(format!("an edge has the speed {speed}: a positive number is needed, or 0 for a block"));
        }
        let named = self.start_node.iter().chain(self.junctions.iter().flatten());
        if let Some(node) = named.into_iter().find(|&&node| node as usize >= n) {
            return Some(format!("there is no node {node}: the tree has {n}, counted from 0"));
        }
        match (self.speed, lines.speeds.is_empty()) {
            (None, true) => Some("say how fast the wave is along the tree: `speed`, or speeds of its edges".into()),
            _ => None,
        }
    }

    /// The node at which the wave starts.
    fn start(&self, lines: &LineMesh) -> Option<u32> {
        let points = lines.coordinates.as_chunks::<3>().0;
        let nearest = |at: [f64; 3]| {
            let distance = |x: &[f64; 3]| (0..3).map(|k| (x[k] - at[k]).powi(2)).sum::<f64>();
            let best = (0..).zip(points).min_by(|a, b| distance(a.1).total_cmp(&distance(b.1)));
            best.map(|(node, _)| node)
        };
        self.start_node.or_else(|| self.start_at.and_then(nearest))
    }
}

/// Reads the trees of a job; `scale` is the factor on their coordinates.
pub(super) fn trees(items: &[Located<Tree>], scale: f64, applied: &mut Applied) -> Result<(), JobError> {
    if items.is_empty() {
        return Ok(());
    }
    let mut trees = Trees { node_first: vec![0], edge_first: vec![0], ..Trees::default() };
    let mut all_speeds: Vec<Vec<f64>> = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let Located { place, value } = item;
        let mut lines = Tree::read(item, applied)?;
        lines.coordinates.iter_mut().for_each(|x| *x *= scale);
        if lines.coordinates.iter().any(|x| !x.is_finite()) {
            return Err(place.error("`scale` makes coordinates of the tree that are too large"));
        }
        if let Some(message) = value.wrong(&lines) {
            return Err(place.error(message));
        }
        // `speed` holds for all edges, also where a table has speeds.
        let speeds = if value.speed.is_some() { Vec::new() } else { std::mem::take(&mut lines.speeds) };
        let start = value.start(&lines);
        let (first, n) = (trees.coordinates.len() / 3, lines.coordinates.len() / 3);
        let junctions = value.junctions.clone().unwrap_or_else(|| ends(&lines.edges, n, start));
        if junctions.is_empty() {
            return Err(place.error("the tree has no end that is coupled to the tissue: name `junctions`"));
        }
        trees.junctions.extend(junctions.iter().map(|node| first as u32 + node));
        trees.edges.extend(lines.edges.iter().map(|node| first as u32 + node));
        trees.coordinates.append(&mut lines.coordinates);
        trees.node_first.push((first + n) as u32);
        trees.edge_first.push((trees.edges.len() / 2) as u32);
        applied.setup.trees.push(TreeSettings {
            name: value.name.clone().unwrap_or_else(|| format!("TREE{}", index + 1)),
            speed: value.speed.or(value.factor).unwrap_or(1.0),
            radius: value.radius,
            delay: value.delay.unwrap_or(0.0),
            delay_back: value.delay_back.or(value.delay).unwrap_or(0.0),
            start: start.map(|node| (node, value.start_time.unwrap_or(0.0))),
        });
        all_speeds.push(speeds);
    }
    trees.junctions.sort_unstable();
    trees.junctions.dedup();
    // One table for all trees where any has speeds of its own.
    if all_speeds.iter().any(|speeds| !speeds.is_empty()) {
        for (tree, speeds) in all_speeds.into_iter().enumerate() {
            let n = (trees.edge_first[tree + 1] - trees.edge_first[tree]) as usize;
            trees.speeds.extend(if speeds.is_empty() { vec![1.0; n] } else { speeds });
        }
    }
    applied.trees = trees;
    Ok(())
}

/// Nodes with one edge, without the start.
fn ends(edges: &[u32], n: usize, start: Option<u32>) -> Vec<u32> {
    let mut degree = vec![0_u32; n];
    edges.iter().for_each(|&node| degree[node as usize] += 1);
    (0..n as u32).filter(|&node| degree[node as usize] == 1 && Some(node) != start).collect()
}
