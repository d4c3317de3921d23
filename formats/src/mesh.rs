//! Nodes, elements and named sets, as a deck or a mesh file describes them.
//!
//! Nodes and elements are addressed by zero-based indices; the user's labels are kept beside them. The element index
//! runs through [`Mesh::groups`] in order: the elements of the first group, then those of the second, and so on.

// rkyv's derive writes undocumented twins of enum variants with named fields.
#![allow(missing_docs)]

mod collapse;

use rkyv::{Archive, Archived, Deserialize, Serialize};

use crate::block::Table;
use crate::block::cast::native;

/// First-order elements that Pogo computes.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum ElementKind {
    /// Plane-strain triangle, one integration point.
    Cpe3,
    /// Plane-stress triangle, one integration point.
    Cps3,
    /// Plane-strain quadrilateral, 2 × 2 points.
    Cpe4,
    /// Plane-stress quadrilateral, 2 × 2 points.
    Cps4,
    /// Plane-strain quadrilateral, one point with hourglass control.
    Cpe4r,
    /// Plane-stress quadrilateral, one point with hourglass control.
    Cps4r,
    /// Tetrahedron, one point.
    C3d4,
    /// Wedge, 3 × 2 points.
    C3d6,
    /// Hexahedron, 2 × 2 × 2 points.
    C3d8,
    /// Hexahedron, one point with hourglass control.
    C3d8r,
}

impl ElementKind {
    /// Every kind, in the order of its discriminant.
    pub const ALL: [Self; 10] = [
        Self::Cpe3,
        Self::Cps3,
        Self::Cpe4,
        Self::Cps4,
        Self::Cpe4r,
        Self::Cps4r,
        Self::C3d4,
        Self::C3d6,
        Self::C3d8,
        Self::C3d8r,
    ];

    /// The Abaqus name, upper case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cpe3 => "CPE3",
            Self::Cps3 => "CPS3",
            Self::Cpe4 => "CPE4",
            Self::Cps4 => "CPS4",
            Self::Cpe4r => "CPE4R",
            Self::Cps4r => "CPS4R",
            Self::C3d4 => "C3D4",
            Self::C3d6 => "C3D6",
            Self::C3d8 => "C3D8",
            Self::C3d8r => "C3D8R",
        }
    }

    /// The kind that an Abaqus name in any case stands for.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name().eq_ignore_ascii_case(name))
    }

    /// The kind with this discriminant, as the block file stores it.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }

    /// Space dimension, 2 or 3.
    pub const fn dimension(self) -> usize {
        match self {
            Self::Cpe3 | Self::Cps3 | Self::Cpe4 | Self::Cps4 | Self::Cpe4r | Self::Cps4r => 2,
            _ => 3,
        }
    }

    /// Nodes an element.
    pub const fn n_nodes(self) -> usize {
        match self {
            Self::Cpe3 | Self::Cps3 => 3,
            Self::Cpe4 | Self::Cps4 | Self::Cpe4r | Self::Cps4r | Self::C3d4 => 4,
            Self::C3d6 => 6,
            Self::C3d8 | Self::C3d8r => 8,
        }
    }

    /// Plane stress rather than plane strain (2D kinds only).
    pub const fn is_plane_stress(self) -> bool {
        matches!(self, Self::Cps3 | Self::Cps4 | Self::Cps4r)
    }

    /// Faces in Abaqus order (S1, S2, …), each with the local nodes in Abaqus order. In 3D the right-hand normal of a
    /// face as listed points *into* the element for S1 of hexahedra and wedges; use geometry, not order, for signs.
    pub const fn faces(self) -> &'static [&'static [u8]] {
        match self {
            Self::Cpe3 | Self::Cps3 => &[&[0, 1], &[1, 2], &[2, 0]],
            Self::Cpe4 | Self::Cps4 | Self::Cpe4r | Self::Cps4r => &[&[0, 1], &[1, 2], &[2, 3], &[3, 0]],
            Self::C3d4 => &[&[0, 1, 2], &[0, 3, 1], &[1, 3, 2], &[2, 3, 0]],
            Self::C3d6 => &[&[0, 1, 2], &[3, 5, 4], &[0, 3, 4, 1], &[1, 4, 5, 2], &[2, 5, 3, 0]],
            Self::C3d8 | Self::C3d8r => {
                &[&[0, 1, 2, 3], &[4, 7, 6, 5], &[0, 4, 5, 1], &[1, 5, 6, 2], &[2, 6, 7, 3], &[3, 7, 4, 0]]
            }
        }
    }
}

/// Elements of one kind.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub struct ElementGroup {
    /// What they are.
    pub kind: ElementKind,
    /// User's labels, (n,).
    pub labels: Vec<u32>,
    /// Index into [`Mesh::instances`], (n,).
    pub instance: Vec<u16>,
    /// Index into [`Setup::sections`], (n,).
    pub section: Vec<u32>,
    /// Node indices, (n, `kind.n_nodes()`), row-major, Abaqus order.
    pub connectivity: Vec<u32>,
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

/// Nodes, elements and sets.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub struct Mesh {
    /// 2 or 3.
    pub dimension: u32,
    /// Node positions in metres, (n_nodes, dimension), row-major.
    pub coordinates: Vec<f64>,
    /// User's labels, (n_nodes,).
    pub node_labels: Vec<u32>,
    /// Index into `instances`, (n_nodes,).
    pub node_instance: Vec<u16>,
    /// Instance names; a deck without parts has one, the empty name.
    pub instances: Vec<String>,
    /// Elements, one group a kind.
    pub groups: Vec<ElementGroup>,
    /// Node sets.
    pub node_sets: Vec<NamedSet>,
    /// Element sets, by element index.
    pub element_sets: Vec<NamedSet>,
}

impl Mesh {
    /// Number of nodes.
    pub fn n_nodes(&self) -> usize {
        self.node_labels.len()
    }

    /// Number of elements over all groups.
    pub fn n_elements(&self) -> usize {
        self.groups.iter().map(ElementGroup::len).sum()
    }
}

/// Elements of one kind; see [`ElementGroup`].
#[derive(Debug, Clone, Copy)]
pub struct GroupView<'a> {
    /// What they are.
    pub kind: ElementKind,
    /// User's labels, (n,).
    pub labels: &'a [u32],
    /// Instance indices, (n,).
    pub instance: &'a [u16],
    /// Section indices, (n,).
    pub section: &'a [u32],
    /// Node indices, (n, `kind.n_nodes()`).
    pub connectivity: &'a [u32],
}

/// A mesh; see [`Mesh`].
#[derive(Debug, Clone)]
pub struct MeshView<'a> {
    /// 2 or 3.
    pub dimension: usize,
    /// Node positions in metres, (n_nodes, dimension).
    pub coordinates: &'a [f64],
    /// User's labels, (n_nodes,).
    pub node_labels: &'a [u32],
    /// Instance indices, (n_nodes,).
    pub node_instance: &'a [u16],
    /// Instance names.
    pub instances: Vec<&'a str>,
    /// Elements.
    pub groups: Vec<GroupView<'a>>,
    /// Node sets, by name.
    pub node_sets: Vec<(&'a str, &'a [u32])>,
    /// Element sets, by name.
    pub element_sets: Vec<(&'a str, &'a [u32])>,
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
pub fn user_label(instances: &[&str], instance: u16, label: u32) -> String {
    match instances.get(usize::from(instance)) {
        Some(name) if !name.is_empty() => format!("{name}.{label}"),
        _ => label.to_string(),
    }
}

impl MeshView<'_> {
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
}

impl Mesh {
    /// The mesh as slices.
    pub fn view(&self) -> MeshView<'_> {
        MeshView {
            dimension: self.dimension as usize,
            coordinates: &self.coordinates,
            node_labels: &self.node_labels,
            node_instance: &self.node_instance,
            instances: self.instances.iter().map(String::as_str).collect(),
            groups: self
                .groups
                .iter()
                .map(|group| GroupView {
                    kind: group.kind,
                    labels: &group.labels,
                    instance: &group.instance,
                    section: &group.section,
                    connectivity: &group.connectivity,
                })
                .collect(),
            node_sets: self.node_sets.iter().map(|set| (set.name.as_str(), set.members.as_slice())).collect(),
            element_sets: self.element_sets.iter().map(|set| (set.name.as_str(), set.members.as_slice())).collect(),
        }
    }
}

impl Table for Mesh {
    type View<'a> = MeshView<'a>;

    fn view(&self) -> MeshView<'_> {
        self.view()
    }

    fn archived(mesh: &Archived<Self>) -> MeshView<'_> {
        fn sets(sets: &Archived<Vec<NamedSet>>) -> Vec<(&str, &[u32])> {
            sets.iter().map(|set| (set.name.as_str(), native(&set.members))).collect()
        }
        MeshView {
            dimension: mesh.dimension.to_native() as usize,
            coordinates: native(&mesh.coordinates),
            node_labels: native(&mesh.node_labels),
            node_instance: native(&mesh.node_instance),
            instances: mesh.instances.iter().map(|name| name.as_str()).collect(),
            groups: mesh
                .groups
                .iter()
                .map(|group| GroupView {
                    kind: kind(&group.kind),
                    labels: native(&group.labels),
                    instance: native(&group.instance),
                    section: native(&group.section),
                    connectivity: native(&group.connectivity),
                })
                .collect(),
            node_sets: sets(&mesh.node_sets),
            element_sets: sets(&mesh.element_sets),
        }
    }
}

fn kind(archived: &Archived<ElementKind>) -> ElementKind {
    use rkyv::Archived as A;
    match archived {
        A::<ElementKind>::Cpe3 => ElementKind::Cpe3,
        A::<ElementKind>::Cps3 => ElementKind::Cps3,
        A::<ElementKind>::Cpe4 => ElementKind::Cpe4,
        A::<ElementKind>::Cps4 => ElementKind::Cps4,
        A::<ElementKind>::Cpe4r => ElementKind::Cpe4r,
        A::<ElementKind>::Cps4r => ElementKind::Cps4r,
        A::<ElementKind>::C3d4 => ElementKind::C3d4,
        A::<ElementKind>::C3d6 => ElementKind::C3d6,
        A::<ElementKind>::C3d8 => ElementKind::C3d8,
        A::<ElementKind>::C3d8r => ElementKind::C3d8r,
    }
}
