//! `*TIE`: nodes of one surface follow the points of another that are nearest to them.
//!
//! Rows are made of all ties. Those between fluids and solids are no rows: `from_deck` takes them out again, by the surfaces that
//! are kept here, once it knows which elements are those of fluids.

use std::collections::HashMap;

use super::super::data::entries;
use super::super::lexer::{Card, Place};
use super::super::log::Log;
use super::face::foot;
use super::{DeckTie, Linear, Surface, TieSide};
use crate::vector::{Vector, difference, dot};
use crate::words::counted;

/// Distance of nodes that are tied, in mean diagonals of the other surface's faces, where the deck gives none.
const TOLERANCE: f64 = 0.05;
/// A gap below this part of the tolerance is none.
const NO_GAP: f64 = 1e-3;
/// Cells along an axis: more would overflow the indices.
const MOST_CELLS: f64 = 1e6;
/// Cells of a face; those of larger ones are not listed.
const CELLS_OF_FACE: f64 = 1e4;

/// A point of the master surface: its nodes with their weights, and how far it is.
type Foot = (Vec<(u32, f64)>, f64);

impl Linear<'_> {
    pub(super) fn tie(&mut self, card: &Card, log: &mut Log) {
        let (keyword, place) = (&card.keyword, card.keyword.place);
        if !matches!(keyword.word("TYPE").as_str(), "" | "NODETOSURFACE" | "SURFACETOSURFACE") {
            let text = format!("*TIE, TYPE={} is not supported: NODE TO SURFACE is", keyword.value("TYPE"));
            return log.error(place, text);
        }
        if keyword.word("TYPE") == "SURFACETOSURFACE" {
            log.note(
                place,
                "*TIE: each node follows the nearest point of the other surface, as with TYPE=NODE TO SURFACE",
            );
        }
        let given = keyword.real("POSITIONTOLERANCE");
        if keyword.has("POSITIONTOLERANCE") && given.is_none_or(|distance| distance <= 0.) {
            return log.error(place, "POSITION TOLERANCE= must be a positive distance");
        }
        let only = match keyword.get("TIEDNSET") {
            Some(name) => self.nodes(name, place, log),
            None => None,
        };
        for entry in entries(card, log) {
            if !(entry.has(0) && entry.has(1)) {
                log.error(entry.place, "*TIE is: the surface whose nodes follow, and the surface that they follow");
                continue;
            }
            let slave = self.surface(&entry.text(0), entry.place, log);
            let (Some(mut slave), Some(master)) = (slave, self.surface(&entry.text(1), entry.place, log)) else {
                continue;
            };
            if let Some(only) = &only {
                slave.nodes.retain(|node| only.contains(node));
            }
            let name = match keyword.value("NAME") {
                "" => "*TIE".to_owned(),
                name => format!("*TIE `{name}`"),
            };
            let tolerance = match given {
                Some(distance) => distance,
                None if master.faces.is_empty() => {
                    log.error(entry.place, format!("{name}: give POSITION TOLERANCE= to tie to a surface of nodes"));
                    continue;
                }
                None if only.is_some() => f64::INFINITY,
                None => TOLERANCE * self.mean_diagonal(&master),
            };
            let first = self.deck.rows.n_rows();
            self.tie_nodes(&name, (&slave, &master), tolerance, entry.place, log);
            let (file, line, rows) = (log.file(entry.place), entry.place.line, first..self.deck.rows.n_rows());
            let sides = [slave, master].map(TieSide::from);
            self.deck.ties.push(DeckTie { name, file, line, rows, sides, tolerance });
        }
    }

    fn tie_nodes(
        &mut self,
        name: &str,
        (slave, master): (&Surface, &Surface),
        tolerance: f64,
        place: Place,
        log: &mut Log,
    ) {
        let search = Search::new(self, master, tolerance);
        let feet: Vec<(u32, Option<Foot>)> = slave
            .nodes
            .iter()
            .filter(|node| master.nodes.binary_search(node).is_err())
            .map(|&node| (node, search.nearest(self.position(node))))
            .collect();
        let (mut n_tied, mut widest) = (0, 0.);
        for (node, foot) in &feet {
            if let Some((weights, distance)) = foot {
                self.join(name, *node, weights);
                n_tied += 1;
                widest = f64::max(widest, *distance);
            }
        }
        if n_tied == 0 {
            let text = "no node lies near enough to the other surface; give a larger POSITION TOLERANCE=";
            return log.error(place, format!("{name}: {text} than {tolerance:.3e}"));
        }
        log.note(
            place,
            format!("{name}: {} tied", if n_tied == 1 { "1 node is".into() } else { format!("{n_tied} nodes are") }),
        );
        if n_tied < feet.len() {
            let apart = counted(feet.len() - n_tied, "node");
            log.warning(
                place,
                format!("{name}: {apart} farther than {tolerance:.3e} from the other surface: not tied"),
            );
        }
        if widest > NO_GAP * tolerance.min(self.mean_diagonal(master)) {
            log.note(place, format!("{name}: no node is moved onto the other surface; gaps are up to {widest:.3e}"));
        }
    }

    /// Mean of the largest distances between two corners of a face.
    fn mean_diagonal(&self, surface: &Surface) -> f64 {
        let diagonal = |face: &[u32; 4]| {
            let corners = corners(self, face);
            let pairs = corners.iter().flat_map(|a| corners.iter().map(move |b| difference(*a, *b)));
            pairs.map(|d| dot(d, d)).fold(0., f64::max).sqrt()
        };
        let sum: f64 = surface.faces.iter().map(diagonal).sum();
        if surface.faces.is_empty() { f64::INFINITY } else { sum / surface.faces.len() as f64 }
    }
}

impl From<Surface> for TieSide {
    fn from(Surface { nodes, faces, .. }: Surface) -> Self {
        Self { is_of_nodes: faces.is_empty(), faces, nodes }
    }
}

fn corners(linear: &Linear<'_>, face: &[u32; 4]) -> Vec<Vector> {
    face.iter().take_while(|&&node| node != u32::MAX).map(|&node| linear.position(node)).collect()
}

/// The faces, or nodes, of a surface by the cells of a grid that they may be near to.
struct Search {
    /// Nodes and their positions.
    items: Vec<(Vec<u32>, Vec<Vector>)>,
    cells: HashMap<[i32; 3], Vec<u32>>,
    /// Items that are near to everything.
    large: Vec<u32>,
    origin: Vector,
    width: f64,
    tolerance: f64,
}

impl Search {
    fn new(linear: &Linear<'_>, surface: &Surface, tolerance: f64) -> Self {
        let of_face = |face: &[u32; 4]| {
            let nodes: Vec<u32> = face.iter().copied().take_while(|&node| node != u32::MAX).collect();
            (nodes, corners(linear, face))
        };
        let items: Vec<(Vec<u32>, Vec<Vector>)> = match surface.faces.as_slice() {
            [] => surface.nodes.iter().map(|&node| (vec![node], vec![linear.position(node)])).collect(),
            faces => faces.iter().map(of_face).collect(),
        };
        let all = || items.iter().flat_map(|item| &item.1);
        let low = all().fold([f64::INFINITY; 3], |low, x| std::array::from_fn(|k| low[k].min(x[k])));
        let high = all().fold([f64::NEG_INFINITY; 3], |high, x| std::array::from_fn(|k| high[k].max(x[k])));
        let extent = (0..3).map(|k| high[k] - low[k]).fold(0., f64::max);
        let size = linear.mean_diagonal(surface);
        let width = if size.is_finite() { size.max(tolerance) } else { tolerance }.max(extent / MOST_CELLS);
        let mut search = Self { items, cells: HashMap::new(), large: Vec::new(), origin: low, width, tolerance };
        search.fill();
        search
    }

    fn cell(&self, x: Vector) -> [i32; 3] {
        std::array::from_fn(|k| ((x[k] - self.origin[k]) / self.width).floor() as i32)
    }

    /// Puts each item into the cells of its box, which is wider by the tolerance.
    fn fill(&mut self) {
        for (at, (_, points)) in (0u32..).zip(&self.items) {
            let bound = |k: usize, sign: f64| points.iter().map(|x| sign * x[k]).fold(f64::NEG_INFINITY, f64::max);
            let low = self.cell(std::array::from_fn(|k| -bound(k, -1.) - self.tolerance));
            let high = self.cell(std::array::from_fn(|k| bound(k, 1.) + self.tolerance));
            let n_cells: f64 = (0..3).map(|k| f64::from(high[k]) - f64::from(low[k]) + 1.).product();
            if !(self.width.is_finite() && self.width > 0. && n_cells <= CELLS_OF_FACE) {
                self.large.push(at);
                continue;
            }
            for i in low[0]..=high[0] {
                for j in low[1]..=high[1] {
                    for k in low[2]..=high[2] {
                        self.cells.entry([i, j, k]).or_default().push(at);
                    }
                }
            }
        }
    }

    /// The nearest point of the surface within the tolerance; of several the first.
    fn nearest(&self, x: Vector) -> Option<Foot> {
        let near = self.cells.get(&self.cell(x)).into_iter().flatten().chain(&self.large);
        let mut best: Option<(u32, [f64; 4], f64)> = None;
        for &at in near {
            let (weights, distance) = foot(&self.items[at as usize].1, x);
            if distance <= self.tolerance && best.is_none_or(|best| distance < best.2) {
                best = Some((at, weights, distance));
            }
        }
        let (at, weights, distance) = best?;
        let nodes = self.items[at as usize].0.iter().copied().zip(weights);
        Some((nodes.filter(|(_, weight)| *weight != 0.).collect(), distance))
    }
}
