//! Linear constraints of a deck: `*TRANSFORM`, `*EQUATION`, `*MPC`, `*TIE`, `*RIGID BODY` and `*COUPLING`.
//!
//! Rows refer to the nodes of the deck. Components 0, 1 and 2 are displacements, [`ROTATION`] and the two after it rotations,
//! [`OWN_AXIS`] and the two after it displacements along the axes that `*TRANSFORM` gives a node, and [`LinearTerm::PRESSURE`] is the
//! pressure of a fluid.
//! [`from_deck`](crate::explicit) keeps what has mass and makes massless unknowns of the rest.

mod body;
mod equation;
mod face;
mod tie;
mod transform;

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use self::transform::Axes;
pub(super) use self::transform::Held;
use super::assembly::Assembly;
use super::data::Entry;
use super::lexer::{Card, Place};
use super::log::Log;
use super::raw::{Entity, RawDeck};
use super::surfaces::surface_faces;
use crate::dynamics::{Boundary, LinearConstraints, LinearTerm, Load};
use crate::vector::Vector;

/// Component of the rotation about the first axis.
pub(crate) const ROTATION: u8 = 3;
/// Component of the displacement along the first axis of a node's own.
pub(crate) const OWN_AXIS: u8 = 6;
/// The degree of freedom of decks that is the pressure of a fluid.
const PRESSURE_DOF: u8 = 8;

/// Linear constraints between the nodes of a deck.
#[derive(Debug, Clone, Default)]
pub(crate) struct DeckLinear {
    /// Rows over components 0 to 8 of nodes, and over pressures.
    pub rows: LinearConstraints,
    /// Prescribed rotations, and displacements along a node's own axes, by that component.
    pub prescribed: Vec<Boundary>,
    /// Moments: the component, and a concentrated load on nodes along (1, 0, 0).
    pub moments: Vec<(u8, Load)>,
    /// Surfaces of `*TIE`: those of fluids are no rows.
    pub ties: Vec<DeckTie>,
    /// Rows of `*MPC, TIE`, which joins the pressures of fluids, too.
    pub joins: Vec<Range<usize>>,
}

/// A `*TIE` of two surfaces.
#[derive(Debug, Clone)]
pub(crate) struct DeckTie {
    /// For messages.
    pub name: String,
    pub file: String,
    pub line: u64,
    /// The rows that it has made.
    pub rows: Range<usize>,
    /// The surface whose nodes follow, and the one that they follow.
    pub sides: [TieSide; 2],
    /// Largest distance of what is tied.
    pub tolerance: f64,
}

/// A surface of a `*TIE`.
#[derive(Debug, Clone)]
pub(crate) struct TieSide {
    /// Nodes of each face, padded with `u32::MAX`.
    pub faces: Vec<[u32; 4]>,
    /// The nodes that take part, ascending: a face does if all of its nodes do.
    pub nodes: Vec<u32>,
    /// It is a surface of nodes, without faces.
    pub is_of_nodes: bool,
}

/// Reads the constraints of a deck.
pub(super) struct Linear<'a> {
    assembly: &'a Assembly,
    dimension: u8,
    axes: Vec<Axes>,
    /// The last of `axes` that names a node.
    axes_of: HashMap<u32, usize>,
    /// Nodes whose rotations other nodes follow.
    turning: HashSet<u32>,
    /// Rows of displacements along own axes that are there: node and component.
    own_rows: HashSet<(u32, u8)>,
    pub deck: DeckLinear,
}

impl<'a> Linear<'a> {
    pub fn new(assembly: &'a Assembly) -> Self {
        Self {
            assembly,
            dimension: assembly.mesh.dimension as u8,
            axes: Vec::new(),
            axes_of: HashMap::new(),
            turning: HashSet::new(),
            own_rows: HashSet::new(),
            deck: DeckLinear::default(),
        }
    }

    /// Reads all cards. Axes come first, as equations are written in them.
    pub fn read(&mut self, raw: &RawDeck, log: &mut Log) {
        let cards = || raw.cards.iter().map(|entry| &entry.card);
        cards().filter(|card| card.keyword.key == "TRANSFORM").for_each(|card| self.transform(card, log));
        let mut coupling: Option<&Card> = None;
        // Bodies say which nodes turn.
        for card in cards() {
            match card.keyword.key.as_str() {
                "RIGIDBODY" => self.rigid_body(card, log),
                "COUPLING" => {
                    if let Some(card) = coupling.replace(card) {
                        log.error(card.keyword.place, body::BARE);
                    }
                }
                "KINEMATIC" | "DISTRIBUTING" => match coupling.take() {
                    Some(coupling) => self.couple(coupling, card, log),
                    None => log.error(card.keyword.place, format!("*{} stands behind no *COUPLING", card.keyword.name)),
                },
                _ => {}
            }
        }
        if let Some(card) = coupling {
            log.error(card.keyword.place, body::BARE);
        }
        for card in cards() {
            match card.keyword.key.as_str() {
                "EQUATION" => self.equation(card, log),
                "MPC" => self.multi_point(card, log),
                "TIE" => self.tie(card, log),
                _ => {}
            }
        }
    }

    /// Whether other nodes follow the rotation of all these.
    pub fn turn(&self, nodes: &[u32]) -> bool {
        !nodes.is_empty() && nodes.iter().all(|node| self.turning.contains(node))
    }

    /// The nodes of a set or label, in ascending order of their labels unless the set is unsorted.
    fn nodes(&self, name: &str, place: Place, log: &mut Log) -> Option<Vec<u32>> {
        let Some(mut nodes) = self.assembly.members(Entity::Node, name) else {
            let hint = self.assembly.hint(Entity::Node, name);
            log.absent(place, format!("there is no node or node set `{name}`{hint}"));
            return None;
        };
        if nodes.is_empty() {
            log.error(place, format!("node set `{name}` is empty: name a set with nodes"));
            return None;
        }
        if !self.assembly.is_unsorted(name) {
            let mesh = &self.assembly.mesh;
            let key = |node: &u32| (mesh.node_instance[*node as usize], mesh.node_labels[*node as usize]);
            nodes.sort_by_key(key);
        }
        Some(nodes)
    }

    /// The one node that a parameter names.
    fn reference(&self, card: &Card, log: &mut Log) -> Option<u32> {
        let name = card.keyword.value("REFNODE");
        match self.nodes(name, card.keyword.place, log)?.as_slice() {
            &[node] => Some(node),
            several => {
                let text = format!("REF NODE={name} is a set of {} nodes: name one", several.len());
                log.error(card.keyword.place, text);
                None
            }
        }
    }

    /// x of a node, with a third coordinate of 0 in the plane.
    fn position(&self, node: u32) -> Vector {
        let (mesh, d) = (&self.assembly.mesh, usize::from(self.dimension));
        let x = &mesh.coordinates[node as usize * d..][..d];
        std::array::from_fn(|c| x.get(c).copied().unwrap_or(0.))
    }

    /// The terms of a degree of freedom of a node, along its own axes where it has some.
    fn terms(&self, node: u32, dof: u8, factor: f64) -> Vec<LinearTerm> {
        if dof == PRESSURE_DOF {
            return vec![LinearTerm { node, component: LinearTerm::PRESSURE, coefficient: factor }];
        }
        let (first, axis) = if dof > 3 { (ROTATION, dof - 4) } else { (0, dof - 1) };
        let Some(axes) = self.axes_of.get(&node) else {
            return vec![LinearTerm { node, component: first + axis, coefficient: factor }];
        };
        let along = self.axes[*axes].at(self.position(node))[usize::from(axis)];
        let of = |(component, part): (u8, f64)| LinearTerm { node, component, coefficient: factor * part };
        (first..).zip(along).filter(|(_, part)| *part != 0.).map(of).collect()
    }

    /// The nodes of a surface, ascending: of element faces, with the share of the surface that belongs to each, or of nodes, all
    /// with 1.
    fn surface(&self, name: &str, place: Place, log: &mut Log) -> Option<Surface> {
        let cards = &self.assembly.parts[0].raw.surfaces;
        let of_nodes = cards.iter().find(|card| card.keyword.is_named(name) && card.keyword.word("TYPE") == "NODE");
        if let Some(card) = of_nodes {
            let mut nodes = Vec::new();
            for entry in super::data::entries(card, log) {
                nodes.extend(self.nodes(&entry.text(0), entry.place, log)?);
            }
            nodes.sort_unstable();
            nodes.dedup();
            return Some(Surface { weights: vec![1.; nodes.len()], nodes, faces: Vec::new() });
        }
        let (faces, elements) = surface_faces(self.assembly, name, place, log)?;
        let Some(faces) = self.assembly.faces_of_parts(faces, &elements) else {
            let text = format!(
                "surface `{name}` has faces of second-order elements with four edges, which are split after constraints are read: \
                 write linear elements there"
            );
            log.error(place, text);
            return None;
        };
        if faces.is_empty() {
            log.error(place, format!("surface `{name}` has no face of an element that is computed"));
            return None;
        }
        let mut shares: Vec<(u32, f64)> = Vec::new();
        for face in &faces {
            let n = face.iter().take_while(|&&node| node != u32::MAX).count();
            let corners: Vec<Vector> = face[..n].iter().map(|&node| self.position(node)).collect();
            shares.extend(face[..n].iter().copied().zip(face::shares(&corners)));
        }
        shares.sort_by_key(|share| share.0);
        let (mut nodes, mut weights): (Vec<u32>, Vec<f64>) = (Vec::new(), Vec::new());
        for (node, share) in shares {
            if nodes.last() == Some(&node) {
                weights.last_mut().into_iter().for_each(|weight| *weight += share);
            } else {
                nodes.push(node);
                weights.push(share);
            }
        }
        Some(Surface { nodes, weights, faces })
    }
}

/// The nodes of a surface.
struct Surface {
    /// Ascending.
    nodes: Vec<u32>,
    /// The area that belongs to each, or 1 of a surface of nodes.
    weights: Vec<f64>,
    /// Nodes of each face, padded with `u32::MAX`; none of a surface of nodes.
    faces: Vec<[u32; 4]>,
}

/// A degree of freedom from 1 to 6 that a field names, of those that there are in 2D or 3D.
fn dof(entry: &Entry, at: usize, dimension: u8) -> Option<u8> {
    let dof = u8::try_from(entry.whole(at)?).ok()?;
    let is_there = match dimension {
        2 => matches!(dof, 1 | 2 | 6),
        _ => (1..=6).contains(&dof),
    };
    is_there.then_some(dof)
}
