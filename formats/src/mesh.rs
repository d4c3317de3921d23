//! Nodes, elements and named sets, as a deck or a mesh file describes them.
//!
//! Nodes and elements are addressed by zero-based indices; the user's labels are kept beside them. The element index
//! runs through [`Mesh::groups`] in order: the elements of the first group, then those of the second, and so on.

// rkyv's derive writes undocumented twins of enum variants with named fields.
#![allow(missing_docs)]

mod collapse;

use rkyv::{Archive, Archived, Deserialize, Serialize};

use crate::block::cast::native;
use crate::block::{Record, Table, tables};

/// First-order elements that Pogo computes, by their Abaqus names. `C3d6f` is our own: a wedge with full integration.
///
/// The discriminant is the one number of a kind: it stands in block files, and `KINDS` lists the properties in its order.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[rkyv(derive(Clone, Copy))]
#[repr(u8)]
pub enum ElementKind {
    Cpe3,
    Cps3,
    Cpe4,
    Cps4,
    Cpe4r,
    Cps4r,
    C3d4,
    C3d6,
    C3d6f,
    C3d8,
    C3d8r,
    Ac2d3,
    Ac2d4,
    Ac2d4r,
    Ac3d4,
    Ac3d6,
    Ac3d8,
    Ac3d8r,
}

/// The reference shape of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ElementShape {
    Triangle,
    Quadrilateral,
    Tetrahedron,
    Wedge,
    Hexahedron,
}

/// The formula for the internal force of an element, numbered as the kernels number it. *Reduced* laws have one
/// integration point with hourglass control, wedges two points along their axis; the others integrate fully. *Acoustic* laws
/// are those of fluids, whose nodes have one unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ElementLaw {
    Triangle,
    Quadrilateral,
    ReducedQuadrilateral,
    Tetrahedron,
    Wedge,
    FullWedge,
    Hexahedron,
    ReducedHexahedron,
    AcousticTriangle,
    AcousticQuadrilateral,
    AcousticReducedQuadrilateral,
    AcousticTetrahedron,
    AcousticWedge,
    AcousticHexahedron,
    AcousticReducedHexahedron,
}

/// Name, force law, and whether the kind is of plane stress, in the order of the kinds.
const KINDS: [(ElementKind, &str, ElementLaw, bool); 18] = [
    (ElementKind::Cpe3, "CPE3", ElementLaw::Triangle, false),
    (ElementKind::Cps3, "CPS3", ElementLaw::Triangle, true),
    (ElementKind::Cpe4, "CPE4", ElementLaw::Quadrilateral, false),
    (ElementKind::Cps4, "CPS4", ElementLaw::Quadrilateral, true),
    (ElementKind::Cpe4r, "CPE4R", ElementLaw::ReducedQuadrilateral, false),
    (ElementKind::Cps4r, "CPS4R", ElementLaw::ReducedQuadrilateral, true),
    (ElementKind::C3d4, "C3D4", ElementLaw::Tetrahedron, false),
    (ElementKind::C3d6, "C3D6", ElementLaw::Wedge, false),
    (ElementKind::C3d6f, "C3D6F", ElementLaw::FullWedge, false),
    (ElementKind::C3d8, "C3D8", ElementLaw::Hexahedron, false),
    (ElementKind::C3d8r, "C3D8R", ElementLaw::ReducedHexahedron, false),
    (ElementKind::Ac2d3, "AC2D3", ElementLaw::AcousticTriangle, false),
    (ElementKind::Ac2d4, "AC2D4", ElementLaw::AcousticQuadrilateral, false),
    (ElementKind::Ac2d4r, "AC2D4R", ElementLaw::AcousticReducedQuadrilateral, false),
    (ElementKind::Ac3d4, "AC3D4", ElementLaw::AcousticTetrahedron, false),
    (ElementKind::Ac3d6, "AC3D6", ElementLaw::AcousticWedge, false),
    (ElementKind::Ac3d8, "AC3D8", ElementLaw::AcousticHexahedron, false),
    (ElementKind::Ac3d8r, "AC3D8R", ElementLaw::AcousticReducedHexahedron, false),
];

impl ElementKind {
    /// Every kind, in the order of its discriminant.
    pub const ALL: [Self; KINDS.len()] = {
        let mut all = [Self::Cpe3; KINDS.len()];
        let mut at = 0;
        while at < all.len() {
            all[at] = KINDS[at].0;
            assert!(all[at] as usize == at);
            at += 1;
        }
        all
    };

    /// Every kind of solids.
    pub const SOLIDS: [Self; 11] = {
        let mut solids = [Self::Cpe3; 11];
        let mut at = 0;
        while at < solids.len() {
            solids[at] = Self::ALL[at];
            assert!(!solids[at].is_acoustic());
            at += 1;
        }
        solids
    };

    /// The name in decks, upper case.
    pub const fn name(self) -> &'static str {
        KINDS[self as usize].1
    }

    /// The kind that a name in any case stands for.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name().eq_ignore_ascii_case(name))
    }

    /// The kind with this discriminant, as the block file stores it.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }

    /// Whether the kind is one of fluids.
    pub const fn is_acoustic(self) -> bool {
        self.law().is_acoustic()
    }

    /// The acoustic kind of the same shape and integration; itself for a kind of fluids.
    pub fn acoustic(self) -> Self {
        let same = |kind: &Self| kind.shape() == self.shape() && kind.is_reduced() == self.is_reduced();
        Self::ALL.into_iter().find(|kind| kind.is_acoustic() && same(kind)).unwrap_or(self)
    }

    /// The kind of a law, of plane stress or not.
    pub fn of_law(law: ElementLaw, plane_stress: bool) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.law() == law && kind.is_plane_stress() == plane_stress)
    }

    /// How its internal force is computed.
    pub const fn law(self) -> ElementLaw {
        KINDS[self as usize].2
    }

    /// Plane stress rather than plane strain (2D kinds only).
    pub const fn is_plane_stress(self) -> bool {
        KINDS[self as usize].3
    }

    /// One integration point with hourglass control.
    pub const fn is_reduced(self) -> bool {
        matches!(
            self.law(),
            ElementLaw::ReducedQuadrilateral
                | ElementLaw::ReducedHexahedron
                | ElementLaw::AcousticReducedQuadrilateral
                | ElementLaw::AcousticReducedHexahedron
        )
    }

    /// The kind of the same shape with one integration point or with full integration; itself where there is none.
    pub fn with_integration(self, reduced: bool) -> Self {
        let matter = |kind: Self| (kind.shape(), kind.is_plane_stress(), kind.is_acoustic());
        let same = |kind: &Self| matter(*kind) == matter(self);
        Self::ALL.into_iter().find(|kind| same(kind) && kind.is_reduced() == reduced).unwrap_or(self)
    }

    /// The reference shape.
    pub const fn shape(self) -> ElementShape {
        self.law().shape()
    }

    /// Space dimension, 2 or 3.
    pub const fn dimension(self) -> usize {
        self.shape().dimension()
    }

    /// Nodes an element.
    pub const fn n_nodes(self) -> usize {
        self.shape().n_nodes()
    }

    /// Cell type in VTK files. A VTK wedge has its first triangle's normal pointing outwards, which is C3D6 as it stands.
    pub const fn vtk_type(self) -> u8 {
        match self.shape() {
            ElementShape::Triangle => 5,
            ElementShape::Quadrilateral => 9,
            ElementShape::Tetrahedron => 10,
            ElementShape::Hexahedron => 12,
            ElementShape::Wedge => 13,
        }
    }

    /// Faces in Abaqus order (S1, S2, …), each with the local nodes in Abaqus order. In 3D the right-hand normal of a
    /// face as listed points *into* the element for S1 of hexahedra and wedges; use geometry, not order, for signs.
    pub const fn faces(self) -> &'static [&'static [u8]] {
        match self.shape() {
            ElementShape::Triangle => &[&[0, 1], &[1, 2], &[2, 0]],
            ElementShape::Quadrilateral => &[&[0, 1], &[1, 2], &[2, 3], &[3, 0]],
            ElementShape::Tetrahedron => &[&[0, 1, 2], &[0, 3, 1], &[1, 3, 2], &[2, 3, 0]],
            ElementShape::Wedge => &[&[0, 1, 2], &[3, 5, 4], &[0, 3, 4, 1], &[1, 4, 5, 2], &[2, 5, 3, 0]],
            ElementShape::Hexahedron => {
                &[&[0, 1, 2, 3], &[4, 7, 6, 5], &[0, 4, 5, 1], &[1, 5, 6, 2], &[2, 6, 7, 3], &[3, 7, 4, 0]]
            }
        }
    }
}

impl ElementShape {
    /// Space dimension, 2 or 3.
    pub const fn dimension(self) -> usize {
        match self {
            Self::Triangle | Self::Quadrilateral => 2,
            Self::Tetrahedron | Self::Wedge | Self::Hexahedron => 3,
        }
    }

    /// Nodes an element.
    pub const fn n_nodes(self) -> usize {
        match self {
            Self::Triangle => 3,
            Self::Quadrilateral | Self::Tetrahedron => 4,
            Self::Wedge => 6,
            Self::Hexahedron => 8,
        }
    }
}

impl ElementLaw {
    /// Every law, in the order of its number.
    pub const ALL: [Self; 15] = [
        Self::Triangle,
        Self::Quadrilateral,
        Self::ReducedQuadrilateral,
        Self::Tetrahedron,
        Self::Wedge,
        Self::FullWedge,
        Self::Hexahedron,
        Self::ReducedHexahedron,
        Self::AcousticTriangle,
        Self::AcousticQuadrilateral,
        Self::AcousticReducedQuadrilateral,
        Self::AcousticTetrahedron,
        Self::AcousticWedge,
        Self::AcousticHexahedron,
        Self::AcousticReducedHexahedron,
    ];

    /// Whether the law is one of fluids.
    pub const fn is_acoustic(self) -> bool {
        self as u8 >= Self::AcousticTriangle as u8
    }

    /// The shape of the elements that have this law.
    pub const fn shape(self) -> ElementShape {
        match self {
            Self::Triangle | Self::AcousticTriangle => ElementShape::Triangle,
            Self::Quadrilateral
            | Self::ReducedQuadrilateral
            | Self::AcousticQuadrilateral
            | Self::AcousticReducedQuadrilateral => ElementShape::Quadrilateral,
            Self::Tetrahedron | Self::AcousticTetrahedron => ElementShape::Tetrahedron,
            Self::Wedge | Self::FullWedge | Self::AcousticWedge => ElementShape::Wedge,
            Self::Hexahedron | Self::ReducedHexahedron | Self::AcousticHexahedron | Self::AcousticReducedHexahedron => {
                ElementShape::Hexahedron
            }
        }
    }
}

impl Table for ElementKind {
    type View<'a> = Self;

    fn view(&self) -> Self {
        *self
    }

    fn archived(archived: &Archived<Self>) -> Self {
        Self::ALL[*archived as usize]
    }
}

tables! {
    /// Elements of one kind.
    pub struct ElementGroup, #[derive(Copy)] GroupView as group {
        /// What they are.
        pub kind: ElementKind,
        /// User's labels, (n,).
        pub labels: Vec<u32>,
        /// Index into [`Mesh::instances`], (n,).
        pub instance: Vec<u16> [entries(group.labels.len())],
        /// Index into the sections of the setup, (n,).
        pub section: Vec<u32> [entries(group.labels.len())],
        /// Node indices, (n, `kind.n_nodes()`), row-major, Abaqus order.
        pub connectivity: Vec<u32> [entries(group.labels.len() * group.kind.n_nodes())],
    }

    /// Nodes, elements and sets.
    #[derive(Default)]
    pub struct Mesh, MeshView as mesh {
        /// 2 or 3.
        pub dimension: u32,
        /// Node positions in metres, (n_nodes, dimension), row-major.
        pub coordinates: Vec<f64> [entries(mesh.n_nodes() * mesh.dimension), all_finite()],
        /// User's labels, (n_nodes,).
        pub node_labels: Vec<u32>,
        /// Index into `instances`, (n_nodes,).
        pub node_instance: Vec<u16> [entries(mesh.n_nodes()), all_below(mesh.instances.len())],
        /// Instance names; a deck without parts has one, the empty name.
        pub instances: Vec<String>,
        /// Elements, one group a kind.
        pub groups: Vec<ElementGroup> as GroupView,
        /// Node sets.
        pub node_sets: Vec<NamedSet>,
        /// Element sets, by element index.
        pub element_sets: Vec<NamedSet>,
    }
}

impl ElementGroup {
    /// A group without elements.
    pub const fn new(kind: ElementKind) -> Self {
        Self { kind, labels: Vec::new(), instance: Vec::new(), section: Vec::new(), connectivity: Vec::new() }
    }

    /// Elements in this group.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Node indices of an element, given by its place in the group.
    pub fn nodes(&self, at: usize) -> &[u32] {
        let n = self.kind.n_nodes();
        &self.connectivity[at * n..(at + 1) * n]
    }

    /// No element at all.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }
}

/// A named list of node or element indices, in the user's order, each once.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub struct NamedSet {
    /// As the deck writes it; a set inside an instance is `INSTANCE.SET`.
    pub name: String,
    /// Zero-based indices.
    pub members: Vec<u32>,
}

impl Table for NamedSet {
    type View<'a> = (&'a str, &'a [u32]);

    fn view(&self) -> (&str, &[u32]) {
        (&self.name, &self.members)
    }

    fn archived(archived: &Archived<Self>) -> (&str, &[u32]) {
        (&archived.name, native(&archived.members))
    }
}

impl Record for NamedSet {}

impl Mesh {
    /// A mesh of elements of one kind and section, without sets, whose labels are the indices plus 1. `coordinates` are
    /// (n_nodes, dimension) and `connectivity` (n, `kind.n_nodes()`), both row-major.
    pub fn of_kind(kind: ElementKind, coordinates: Vec<f64>, connectivity: Vec<u32>) -> Self {
        let (n_nodes, n) = (coordinates.len() / kind.dimension(), connectivity.len() / kind.n_nodes());
        let labels = (1..=n as u32).collect();
        Self {
            dimension: kind.dimension() as u32,
            coordinates,
            node_labels: (1..=n_nodes as u32).collect(),
            node_instance: vec![0; n_nodes],
            instances: vec![String::new()],
            groups: vec![ElementGroup { kind, labels, instance: vec![0; n], section: vec![0; n], connectivity }],
            ..Self::default()
        }
    }

    /// Number of nodes.
    pub fn n_nodes(&self) -> usize {
        self.node_labels.len()
    }

    /// Number of elements over all groups.
    pub fn n_elements(&self) -> usize {
        self.groups.iter().map(ElementGroup::len).sum()
    }

    /// The group of an element, and its place there.
    pub fn place(&self, element: u32) -> Option<(&ElementGroup, usize)> {
        let mut at = element as usize;
        for group in &self.groups {
            if at < group.len() {
                return Some((group, at));
            }
            at -= group.len();
        }
        None
    }
}

/// How users know nodes: by label, and by instance where a model has instances.
#[derive(Debug, Clone, Copy)]
pub struct NodeNames<'a> {
    /// (n_nodes,).
    pub labels: &'a [u32],
    /// Instance indices, (n_nodes,).
    pub instance: &'a [u16],
    /// Names of the instances.
    pub instances: &'a [&'a str],
}

impl NodeNames<'_> {
    /// `LABEL`, or `INSTANCE.LABEL` where there are instances.
    pub fn of(&self, node: u32) -> String {
        user_label(self.instances, self.instance[node as usize], self.labels[node as usize])
    }

    /// Node indices in the user's order: by instance, then by label.
    pub fn user_order(&self) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.labels.len() as u32).collect();
        order.sort_unstable_by_key(|&node| (self.instance[node as usize], self.labels[node as usize], node));
        order
    }
}

/// `LABEL`, or `INSTANCE.LABEL` where there are instances.
pub fn user_label(instances: &[impl AsRef<str>], instance: u16, label: u32) -> String {
    match instances.get(usize::from(instance)) {
        Some(name) if !name.as_ref().is_empty() => format!("{}.{label}", name.as_ref()),
        _ => label.to_string(),
    }
}

impl<'a> MeshView<'a> {
    /// The group of an element and the element's place in it; none beyond the last element.
    pub fn group_of(&self, mut element: usize) -> Option<(&GroupView<'a>, usize)> {
        for group in &self.groups {
            if element < group.labels.len() {
                return Some((group, element));
            }
            element -= group.labels.len();
        }
        None
    }

    /// How users know an element: `LABEL`, or `INSTANCE.LABEL` where there are instances.
    pub fn element_name(&self, element: usize) -> String {
        match self.group_of(element) {
            Some((group, at)) => user_label(&self.instances, group.instance[at], group.labels[at]),
            None => format!("#{element}"),
        }
    }

    /// Labels and instances of the nodes.
    pub fn node_names(&self) -> NodeNames<'_> {
        NodeNames { labels: self.node_labels, instance: self.node_instance, instances: &self.instances }
    }

    /// Number of nodes.
    pub fn n_nodes(&self) -> usize {
        self.node_labels.len()
    }

    /// Number of elements over all groups.
    pub fn n_elements(&self) -> usize {
        self.groups.iter().map(|group| group.labels.len()).sum()
    }

    /// Whether some element is one of fluids.
    pub fn has_fluid(&self) -> bool {
        self.groups.iter().any(|group| group.kind.is_acoustic())
    }

    /// Whether each node is one of a fluid, (n_nodes,); empty in a mesh without fluids.
    pub fn fluid_nodes(&self) -> Vec<bool> {
        let mut fluid = vec![false; if self.has_fluid() { self.n_nodes() } else { 0 }];
        for group in self.groups.iter().filter(|group| group.kind.is_acoustic()) {
            group.connectivity.iter().for_each(|&node| fluid[node as usize] = true);
        }
        fluid
    }
}
