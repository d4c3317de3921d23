//! The deck as it is written: parts, instances, sets by label, cards. Nothing is resolved here.

use std::collections::HashMap;

use super::element_names::line_nodes;
use super::lexer::{Card, Place};
use super::second_order::{self, SecondOrder};
use crate::mesh::ElementKind;

/// What a set, a label or an output request is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Entity {
    Node,
    Element,
}

impl Entity {
    /// For messages.
    pub fn noun(self) -> &'static str {
        match self {
            Self::Node => "node",
            Self::Element => "element",
        }
    }
}

/// A whole deck.
#[derive(Default)]
pub(super) struct RawDeck {
    /// First line under `*HEADING`.
    pub title: String,
    /// Flat decks: everything. Otherwise nodes, sets and surfaces outside of parts (assembly level).
    pub root: RawPart,
    pub parts: Vec<RawPart>,
    pub instances: Vec<RawInstance>,
    /// `*ASSEMBLY, NAME=`, which may stand before the instance in references.
    pub assembly: String,
    pub materials: Vec<RawMaterial>,
    /// Cards of the model, then of the step, in order.
    pub cards: Vec<StepCard>,
    pub steps: Vec<RawStep>,
}

impl RawDeck {
    /// The mesh outside of parts, those of parts, and those inside instances.
    pub fn parts(&self) -> impl Iterator<Item = &RawPart> {
        std::iter::once(&self.root).chain(&self.parts).chain(self.instances.iter().map(|i| &i.own))
    }
}

/// A card that is resolved after the mesh is known.
pub(super) struct StepCard {
    pub card: Card,
    /// Stands inside the step.
    pub in_step: bool,
}

pub(super) struct RawStep {
    pub name: String,
    pub place: Place,
    /// The procedure's keyword line, such as `DYNAMIC, EXPLICIT`.
    pub procedure: String,
    /// `AMPLITUDE=RAMP`.
    pub ramp: bool,
}

/// A material's cards.
pub(super) struct RawMaterial {
    pub name: String,
    pub place: Place,
    pub cards: Vec<Card>,
}

/// An instance of a part.
#[derive(Default)]
pub(super) struct RawInstance {
    pub name: String,
    /// `PART=`.
    pub part: String,
    pub place: Place,
    /// The mesh, where it stands inside the instance.
    pub own: RawPart,
    /// Its data lines, flattened a line.
    pub data: Vec<(Place, Vec<f64>)>,
}

/// A mesh with its sets; labels are its own.
#[derive(Default)]
pub(super) struct RawPart {
    pub name: String,
    pub place: Place,
    pub nodes: RawNodes,
    /// One a kind, in the order of first appearance.
    pub groups: Vec<RawGroup>,
    /// Shells or membranes are among the groups, as elements in the plane.
    pub has_shells: bool,
    /// Elements of types that are not computed, one a type.
    pub others: Vec<OtherGroup>,
    pub node_sets: RawSets,
    pub element_sets: RawSets,
    pub surfaces: Vec<Card>,
    /// `*SOLID SECTION`.
    pub sections: Vec<Card>,
    /// Sections of other kinds: `ELSET=` and where.
    pub other_sections: Vec<(String, Place)>,
    /// `*SPRING`, `*DASHPOT` and `*MASS`, where two-node elements are wanted.
    pub line_sections: Vec<Card>,
    pub orientations: Vec<Card>,
}

impl RawPart {
    /// Nothing that makes a mesh.
    pub fn has_no_mesh(&self) -> bool {
        self.nodes.labels.is_empty() && self.groups.is_empty() && self.others.is_empty()
    }

    /// Elements of types that are computed.
    pub fn is_computed(&self) -> bool {
        self.groups.iter().any(|group| !group.labels.is_empty())
    }

    /// Sets, sections or surfaces.
    pub fn has_definitions(&self) -> bool {
        let sets = [&self.node_sets, &self.element_sets];
        let cards = [&self.sections, &self.line_sections, &self.surfaces];
        sets.iter().any(|sets| !sets.list.is_empty()) || cards.iter().any(|cards| !cards.is_empty())
    }

    pub fn sets(&self, entity: Entity) -> &RawSets {
        match entity {
            Entity::Node => &self.node_sets,
            Entity::Element => &self.element_sets,
        }
    }

    pub fn sets_mut(&mut self, entity: Entity) -> &mut RawSets {
        match entity {
            Entity::Node => &mut self.node_sets,
            Entity::Element => &mut self.element_sets,
        }
    }
}

/// Where a run of data lines starts, to find the line of one of them again.
#[derive(Debug, Clone, Copy)]
pub(super) struct BlockStart {
    /// Position in the list that the block adds to.
    pub first: usize,
    pub place: Place,
    pub offset: usize,
}

#[derive(Default)]
pub(super) struct RawNodes {
    pub labels: Vec<u32>,
    /// (n, 3), row-major.
    pub coordinates: Vec<f64>,
    pub blocks: Vec<BlockStart>,
}

pub(super) struct RawGroup {
    /// Of second-order elements the linear kind that their parts will have.
    pub kind: ElementKind,
    /// The type of second-order elements, which have nodes on their edges behind those of `kind`.
    pub second_order: Option<SecondOrder>,
    pub labels: Vec<u32>,
    /// Node labels, (n, `n_nodes()`), until the part is indexed; then its node indices.
    pub connectivity: Vec<u32>,
    pub blocks: Vec<BlockStart>,
}

impl RawGroup {
    pub fn new(kind: ElementKind, second_order: Option<SecondOrder>) -> Self {
        Self { kind, second_order, labels: Vec::new(), connectivity: Vec::new(), blocks: Vec::new() }
    }

    /// Nodes an element.
    pub fn n_nodes(&self) -> usize {
        self.kind.n_nodes() + self.second_order.map_or(0, |_| second_order::edges(self.kind.shape()).len())
    }

    /// Name of the type in the deck.
    pub fn name(&self) -> &'static str {
        self.second_order.map_or(self.kind.name(), |of| of.name)
    }
}

#[derive(Default)]
pub(super) struct OtherGroup {
    /// Upper case.
    pub name: String,
    pub place: Place,
    pub labels: Vec<u32>,
    /// Where each element's nodes start in `nodes`.
    pub first_node: Vec<usize>,
    /// Node labels of all, one element after the other, until the part is indexed; then node indices, `u32::MAX` where there is
    /// no such node.
    pub nodes: Vec<u32>,
    /// How many of its nodes an element uses as a two-node element or a point mass that is wanted; else 0.
    pub n_nodes: usize,
    /// Of these, nodes of other instances: where in `nodes`, and `INSTANCE.LABEL`.
    pub named: Vec<(usize, String)>,
}

impl OtherGroup {
    /// Nodes of an element, as they stand in `nodes`; of a beam without the one that only turns its cross-section.
    pub fn nodes_of(&self, element: usize) -> Option<&[u32]> {
        let end = self.first_node.get(element + 1).copied().unwrap_or(self.nodes.len());
        let nodes = self.nodes.get(*self.first_node.get(element)?..end)?;
        match line_nodes(&self.name) {
            0 => Some(nodes),
            n => Some(&nodes[..n.min(nodes.len())]),
        }
    }
}

/// Sets by name in any case.
#[derive(Default)]
pub(super) struct RawSets {
    pub list: Vec<RawSet>,
    by_name: HashMap<String, usize>,
}

impl RawSets {
    /// The set of that name, made where there is none yet: a second definition appends.
    pub fn open(&mut self, name: &str) -> usize {
        let list = &mut self.list;
        *self.by_name.entry(name.to_uppercase()).or_insert_with(|| {
            list.push(RawSet { name: name.to_owned(), unsorted: false, chunks: Vec::new() });
            list.len() - 1
        })
    }

    pub fn find(&self, name: &str) -> Option<usize> {
        self.by_name.get(&name.to_uppercase()).copied()
    }
}

pub(super) struct RawSet {
    pub name: String,
    /// Pairs of sets take its members in the order in which they are given, and not in that of labels.
    pub unsorted: bool,
    pub chunks: Vec<Chunk>,
}

impl RawSet {
    /// Adds a piece.
    pub fn push(&mut self, instance: &str, place: Place, offset: usize, members: Members) {
        self.chunks.push(Chunk { instance: instance.to_owned(), place, offset, members });
    }
}

/// A piece of a set.
pub(super) struct Chunk {
    /// `INSTANCE=`; empty for none.
    pub instance: String,
    pub place: Place,
    /// Offset of its first data line.
    pub offset: usize,
    pub members: Members,
}

pub(super) enum Members {
    Labels(Vec<u32>),
    /// Names among labels: the data lines from [`Chunk::offset`] to this one, to be read again. Kept like this because a
    /// name on its own takes more memory than the line that it stands on.
    Lines(usize),
    /// Lines of first, last and step, from [`Chunk::offset`] to here.
    Ranges(usize),
    /// The nodes of an element set (`*NSET, ELSET=`).
    NodesOf(String),
    /// Nodes by position, first and count (`*NODE, NSET=`).
    Nodes(usize, usize),
    /// Elements of a group by position: group, first, count (`*ELEMENT, ELSET=`).
    Elements(usize, usize, usize),
    /// The same for elements that are not computed.
    Others(usize, usize, usize),
}
