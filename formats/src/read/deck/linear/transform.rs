//! `*TRANSFORM`: axes in which conditions of some nodes are given.

use super::super::data::numbers;
use super::super::frame::{axes, unit};
use super::super::lexer::Card;
use super::super::log::Log;
use super::{Linear, OWN_AXIS};
use crate::dynamics::{Boundary, BoundaryKind, LinearTerm, Load, LoadKind};
use crate::vector::{Vector, cross, difference, dot};

/// Axes of nodes.
pub(super) enum Axes {
    /// The same for all nodes: rows are unit vectors.
    Same([Vector; 3]),
    /// Radial, tangential and axial, about the line through a point along a unit vector.
    Around(Vector, Vector),
}

impl Axes {
    /// Unit vectors of the axes at a position. On the line itself the first two are normal to it and to each other.
    pub fn at(&self, x: Vector) -> [Vector; 3] {
        match self {
            Self::Same(axes) => *axes,
            Self::Around(origin, along) => {
                let from = difference(x, *origin);
                let height = dot(from, *along);
                let outward = unit(std::array::from_fn(|k| from[k] - height * along[k]));
                let radial = outward.unwrap_or_else(|| normal_to(*along));
                [radial, cross(*along, radial), *along]
            }
        }
    }
}

/// A unit vector normal to one.
fn normal_to(along: Vector) -> Vector {
    let least = (0..3).min_by(|&a, &b| along[a].abs().total_cmp(&along[b].abs())).unwrap_or(0);
    let axis: Vector = std::array::from_fn(|k| f64::from(k == least));
    unit(cross(along, axis)).unwrap_or(axis)
}

/// What a boundary condition on a node's own axis is.
#[derive(Clone, Copy)]
pub(in super::super) struct Held {
    pub component: u8,
    pub kind: BoundaryKind,
    pub value: f64,
    pub amplitude: Option<u32>,
}

impl Linear<'_> {
    pub(super) fn transform(&mut self, card: &Card, log: &mut Log) {
        let place = card.keyword.place;
        let Some(nodes) = self.nodes(card.keyword.value("NSET"), place, log) else { return };
        let values = numbers(card, log).concat();
        let point = |i: usize| -> Vector { std::array::from_fn(|k| values.get(3 * i + k).copied().unwrap_or(0.)) };
        let axes = match card.keyword.word("TYPE").as_str() {
            "" | "R" => axes(point(0), point(1))
                .map(|rows| Axes::Same(std::array::from_fn(|i| std::array::from_fn(|k| rows[3 * i + k])))),
            "C" => unit(difference(point(1), point(0))).map(|along| Axes::Around(point(0), along)),
            other => {
                let text = "R and C are; give the conditions in global components";
                return log.error(place, format!("*TRANSFORM, TYPE={other} is not supported: {text}"));
            }
        };
        let Some(axes) = axes else {
            return log.error(place, "the points of *TRANSFORM coincide or lie on one line: give two that do not");
        };
        let in_plane = nodes.iter().all(|&node| {
            let [first, second, _] = axes.at(self.position(node));
            first[2] == 0. && second[2] == 0.
        });
        if self.dimension == 2 && !in_plane {
            return log.error(place, "*TRANSFORM turns axes out of the plane of a 2D model: keep them in the xy plane");
        }
        self.axes_of.extend(nodes.iter().map(|&node| (node, self.axes.len())));
        self.axes.push(axes);
    }

    /// Whether a node has axes of its own.
    pub(in super::super) fn has_axes(&self, node: u32) -> bool {
        self.axes_of.contains_key(&node)
    }

    /// Prescribes the displacement of nodes along an axis of their own, by a row for each.
    pub(in super::super) fn hold(&mut self, name: &str, nodes: Vec<u32>, held: Held) {
        let Held { component, kind, value, amplitude } = held;
        let own = OWN_AXIS + component;
        for &node in &nodes {
            if self.own_rows.insert((node, own)) {
                let mut terms = self.terms(node, component + 1, 1.);
                terms.push(LinearTerm { node, component: own, coefficient: -1. });
                self.deck.rows.push("*TRANSFORM", terms);
            }
        }
        self.deck.prescribed.push(Boundary { name: name.to_owned(), nodes, component: own, kind, value, amplitude });
    }

    /// A load along an axis of their own on nodes, as loads along global axes.
    pub(in super::super) fn turned_loads(&self, nodes: &[u32], component: u8) -> Vec<LoadKind> {
        let parts: Vec<Vector> = nodes
            .iter()
            .map(|&node| match self.axes_of.get(&node) {
                Some(&axes) => self.axes[axes].at(self.position(node))[usize::from(component)],
                None => std::array::from_fn(|k| f64::from(k == usize::from(component))),
            })
            .collect();
        if let Some(&direction) = parts.first().filter(|first| parts.iter().all(|part| part == *first)) {
            return vec![LoadKind::Concentrated { nodes: nodes.to_vec(), weights: Vec::new(), direction }];
        }
        let along = |k: usize| {
            let acting = || nodes.iter().zip(&parts).filter(move |(_, part)| part[k] != 0.);
            LoadKind::Concentrated {
                nodes: acting().map(|(&node, _)| node).collect(),
                weights: acting().map(|(_, part)| part[k]).collect(),
                direction: std::array::from_fn(|c| f64::from(c == k)),
            }
        };
        let is_there = |kind: &LoadKind| !matches!(kind, LoadKind::Concentrated { nodes, .. } if nodes.is_empty());
        (0..usize::from(self.dimension)).map(along).filter(is_there).collect()
    }

    /// A moment about a global axis on reference nodes.
    pub(in super::super) fn moment(&mut self, component: u8, load: Load) {
        self.deck.moments.push((component, load));
    }

    /// A prescribed rotation of reference nodes.
    pub(in super::super) fn rotate(&mut self, boundary: Boundary) {
        self.deck.prescribed.push(boundary);
    }
}
