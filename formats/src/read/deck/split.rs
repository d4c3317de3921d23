//! Second-order elements → linear elements of half their edges.
//!
//! All nodes stay. Quadrilateral faces, and quadrilaterals and hexahedra themselves, get a node in their middle, where the shape
//! functions of the second-order element put it. A tetrahedron leaves an octahedron in its middle, which is cut along its shortest
//! diagonal. What refers to elements or their faces then refers to the parts.

use std::collections::{HashMap, HashSet};

use super::Deck;
use super::second_order::{Midside, SecondOrder, edges, place};
use crate::dynamics::LoadKind;
use crate::mesh::{ElementGroup, ElementShape, Mesh};
use crate::words::counted;

/// Splits the second-order elements of a deck without errors; `midside` has an entry for each group of its mesh. Returns notes.
///
/// # Errors
/// More nodes, elements or labels than 32 bits can number; linear constraints beside new nodes.
pub(crate) fn split(deck: &mut Deck, midside: &[Midside]) -> Result<Vec<String>, String> {
    if midside.iter().all(|group| group.of.is_none()) {
        return Ok(Vec::new());
    }
    let all = deck.mesh.groups.iter().zip(midside);
    let mut with_middles = all.filter(|(group, _)| !middles(group).is_empty()).filter_map(|(_, of)| of.of);
    if let (Some(of), false) = (with_middles.next(), deck.linear.rows.is_empty()) {
        return Err(format!(
            "{} elements get new nodes when they are split, which equations, ties, rigid bodies and couplings of this deck cannot \
             name: mesh with linear elements (elements with three-sided faces alone can be split here)",
            of.name
        ));
    }
    let old = std::mem::take(&mut deck.mesh.groups);
    let all = old.iter().zip(midside);
    let n_parts = |group: &ElementGroup, is_split| if is_split { parts(group.kind.shape(), 0).len() } else { 1 };
    let n_elements: usize = all.clone().map(|(group, of)| group.len() * n_parts(group, of.of.is_some())).sum();
    // At most as many nodes are new as there are elements.
    if n_elements + deck.mesh.n_nodes() >= u32::MAX as usize {
        return Err("split second-order elements have more than 4294967294 nodes and elements".into());
    }
    if highest_label(&old) as usize + n_elements > u32::MAX as usize {
        let text =
            "the parts of second-order elements need labels above the highest label, which is too near 4294967295";
        return Err(text.into());
    }
    let mut notes = Vec::new();
    for (group, of) in all.clone().filter(|(group, _)| !group.is_empty()) {
        let Some(of) = of.of else { continue };
        let (n, each) = (counted(group.len(), &format!("{} element", of.name)), n_parts(group, true));
        notes.push(format!(
            "{n} split into {each} {} each, with half the edges: errors fall with the square of the edge, those of \
             second-order elements with its cube",
            of.part.name()
        ));
    }
    let splitting = Splitting::new(&mut deck.mesh, old, midside);
    splitting.follow(deck);
    Ok(notes)
}

/// Splits the second-order elements of a mesh file, which have no type of their own; `on_edges` has for each group of the mesh the
/// nodes on edges, or nothing. Returns notes.
///
/// # Errors
/// As [`split`].
pub(crate) fn split_second_order(deck: &mut Deck, on_edges: Vec<Vec<u32>>) -> Result<Vec<String>, String> {
    let groups = deck.mesh.groups.iter().zip(on_edges);
    let midside = groups.map(|(group, nodes)| Midside {
        of: (!nodes.is_empty()).then(|| SecondOrder::of_parts(group.kind)).flatten(),
        nodes,
    });
    let midside: Vec<Midside> = midside.collect();
    split(deck, &midside)
}

fn highest_label(groups: &[ElementGroup]) -> u32 {
    groups.iter().flat_map(|group| &group.labels).copied().max().unwrap_or(0)
}

/// The parts of a second-order element, each with its local nodes: corners, then nodes on edges, then [`middles`]. A
/// tetrahedron's inner parts surround one of three diagonals.
fn parts(shape: ElementShape, diagonal: usize) -> Vec<Vec<u8>> {
    const TRIANGLES: [[usize; 3]; 4] = [[0, 3, 5], [3, 1, 4], [5, 4, 2], [3, 4, 5]];
    const QUADRILATERALS: [[usize; 4]; 4] = [[0, 4, 8, 7], [4, 1, 5, 8], [8, 5, 2, 6], [7, 8, 6, 3]];
    /// Nodes of the lowest, the middle and the highest layer.
    const WEDGE: [[u8; 6]; 3] = [[0, 1, 2, 6, 7, 8], [12, 13, 14, 15, 16, 17], [3, 4, 5, 9, 10, 11]];
    const HEXAHEDRON: [[u8; 9]; 3] =
        [[0, 1, 2, 3, 8, 9, 10, 11, 20], [16, 17, 18, 19, 22, 23, 24, 25, 26], [4, 5, 6, 7, 12, 13, 14, 15, 21]];
    const CORNERS: [[u8; 4]; 4] = [[0, 4, 6, 7], [4, 1, 5, 8], [6, 5, 2, 9], [7, 8, 9, 3]];
    let flat = |nodes: &[usize]| nodes.iter().map(|node| *node as u8).collect();
    let between = |low: &[u8], high: &[u8], nodes: &[usize]| -> Vec<u8> {
        nodes.iter().map(|node| low[*node]).chain(nodes.iter().map(|node| high[*node])).collect()
    };
    match shape {
        ElementShape::Triangle => TRIANGLES.iter().map(|part| flat(part)).collect(),
        ElementShape::Quadrilateral => QUADRILATERALS.iter().map(|part| flat(part)).collect(),
        ElementShape::Tetrahedron => {
            let ([a, b], round) = (DIAGONALS[diagonal], ROUND[diagonal]);
            let inner = (0..4).map(|k| vec![a, b, round[k], round[(k + 1) % 4]]);
            CORNERS.iter().map(|part| part.to_vec()).chain(inner).collect()
        }
        ElementShape::Wedge => {
            let layers = WEDGE.windows(2);
            layers.flat_map(|pair| TRIANGLES.map(|part| between(&pair[0], &pair[1], &part))).collect()
        }
        ElementShape::Hexahedron => {
            let layers = HEXAHEDRON.windows(2);
            layers.flat_map(|pair| QUADRILATERALS.map(|part| between(&pair[0], &pair[1], &part))).collect()
        }
    }
}

/// Diagonals of the octahedron in a tetrahedron, between nodes on opposite edges.
const DIAGONALS: [[u8; 2]; 3] = [[4, 9], [5, 7], [6, 8]];
/// The other nodes of the octahedron round each diagonal.
const ROUND: [[u8; 4]; 3] = [[5, 6, 7, 8], [8, 9, 6, 4], [4, 5, 9, 7]];

/// Corners of what gets a node in its middle: quadrilateral faces in the order of the faces, then the element itself.
fn middles(group: &ElementGroup) -> Vec<&'static [u8]> {
    let faces = group.kind.faces().iter().copied().filter(|face| face.len() == 4);
    match group.kind.shape() {
        ElementShape::Triangle | ElementShape::Tetrahedron => Vec::new(),
        ElementShape::Quadrilateral => vec![&[0, 1, 2, 3]],
        ElementShape::Wedge => faces.collect(),
        ElementShape::Hexahedron => faces.chain([&[0, 1, 2, 3, 4, 5, 6, 7][..]]).collect(),
    }
}

/// Places on the edges between some corners, as they stand in [`edges`].
fn edges_between(shape: ElementShape, is_corner: impl Fn(u8) -> bool) -> impl Iterator<Item = usize> {
    let ends = edges(shape).iter().enumerate();
    ends.filter(move |(_, ends)| ends.iter().all(|end| is_corner(*end))).map(|(at, _)| at)
}

/// The nodes in the middle of faces and elements.
#[derive(Default)]
struct Middles {
    /// By the sorted nodes on the edges of a face, which elements share.
    of_face: HashMap<[u32; 4], u32>,
    /// Index of the first.
    first_node: u32,
    /// Nodes of the face or element of each, one after the other.
    around: Vec<u32>,
    /// Where those of each start.
    start: Vec<usize>,
}

impl Middles {
    /// The node amid corners and nodes on edges, made where there is none yet.
    fn node(&mut self, mesh: &mut Mesh, corners: &[u32], on_edges: &[u32]) -> u32 {
        let key = sorted(on_edges);
        let new = self.first_node + self.start.len() as u32;
        if let Some(key) = key {
            if let Some(known) = self.of_face.get(&key) {
                return *known;
            }
            self.of_face.insert(key, new);
        }
        self.start.push(self.around.len());
        self.around.extend(corners.iter().chain(on_edges));
        // Shape functions of eight-node quadrilaterals and 20-node hexahedra in the middle: −¼ at corners.
        let dimension = mesh.dimension as usize;
        let on_edge = if on_edges.len() == 4 { 0.5 } else { 0.25 };
        let weighted = corners.iter().map(|node| (node, -0.25)).chain(on_edges.iter().map(|node| (node, on_edge)));
        let x = weighted.fold([0.; 3], |mut x, (node, weight)| {
            let from = &mesh.coordinates[*node as usize * dimension..][..dimension];
            x.iter_mut().zip(from).for_each(|(x, from)| *x += weight * from);
            x
        });
        mesh.coordinates.extend_from_slice(&x[..dimension]);
        mesh.node_instance.push(mesh.node_instance[corners[0] as usize]);
        new
    }

    /// Nodes of the face or element of a middle.
    fn around(&self, middle: usize) -> &[u32] {
        let end = self.start.get(middle + 1).copied().unwrap_or(self.around.len());
        &self.around[self.start[middle]..end]
    }
}

fn sorted(on_edges: &[u32]) -> Option<[u32; 4]> {
    let mut key: [u32; 4] = on_edges.try_into().ok()?;
    key.sort_unstable();
    Some(key)
}

struct Splitting<'a> {
    /// The elements before.
    old: Vec<ElementGroup>,
    midside: &'a [Midside],
    /// Index of the first part of each old element, and the number of all parts.
    first_part: Vec<u32>,
    middles: Middles,
}

impl<'a> Splitting<'a> {
    /// Fills the groups of a mesh with the parts of old elements, and adds its new nodes.
    fn new(mesh: &mut Mesh, old: Vec<ElementGroup>, midside: &'a [Midside]) -> Self {
        let mut next_label = highest_label(&old);
        let middles = Middles { first_node: mesh.n_nodes() as u32, ..Middles::default() };
        let mut splitting = Self { old: Vec::new(), midside, first_part: vec![0], middles };
        let mut n_parts = 0;
        for (group, more) in old.iter().zip(midside) {
            if more.of.is_none() {
                splitting.first_part.extend((1..=group.len() as u32).map(|n| n_parts + n));
                n_parts += group.len() as u32;
                mesh.groups.push(group.clone());
                continue;
            }
            let shape = group.kind.shape();
            let patterns: Vec<_> = (0..DIAGONALS.len()).map(|diagonal| parts(shape, diagonal)).collect();
            let mut to = ElementGroup::new(group.kind);
            let mut nodes = Vec::new();
            for at in 0..group.len() {
                nodes.clear();
                nodes.extend(group.nodes(at).iter().chain(more.of(group, at)));
                splitting.add_middles(mesh, group, &mut nodes);
                for (k, part) in patterns[shortest_diagonal(mesh, shape, &nodes)].iter().enumerate() {
                    next_label += u32::from(k > 0);
                    to.labels.push(if k == 0 { group.labels[at] } else { next_label });
                    to.instance.push(group.instance[at]);
                    to.section.push(group.section[at]);
                    to.connectivity.extend(part.iter().map(|node| nodes[usize::from(*node)]));
                    n_parts += 1;
                }
                splitting.first_part.push(n_parts);
            }
            mesh.groups.push(to);
        }
        let highest = mesh.node_labels.iter().copied().max().unwrap_or(0);
        // A label that is too high says no more than 4294967295.
        mesh.node_labels.extend((1..=splitting.middles.start.len() as u32).map(|n| highest.saturating_add(n)));
        splitting.old = old;
        splitting
    }

    /// Adds the middles of an element to its nodes.
    fn add_middles(&mut self, mesh: &mut Mesh, group: &ElementGroup, nodes: &mut Vec<u32>) {
        let (shape, n_corners) = (group.kind.shape(), group.kind.n_nodes());
        for corners in middles(group) {
            let around: Vec<u32> = corners.iter().map(|corner| nodes[usize::from(*corner)]).collect();
            let on_edges = edges_between(shape, |corner| corners.contains(&corner));
            let on_edges: Vec<u32> = on_edges.map(|edge| nodes[n_corners + edge]).collect();
            nodes.push(self.middles.node(mesh, &around, &on_edges));
        }
    }

    /// Sets, loads and requests of a deck refer to the parts, and conditions on all nodes round a middle to the middle, too.
    fn follow(&self, deck: &mut Deck) {
        let parts = |element: u32| self.first_part[element as usize]..self.first_part[element as usize + 1];
        let expand =
            |elements: &mut Vec<u32>| *elements = elements.iter().flat_map(|element| parts(*element)).collect();
        deck.mesh.element_sets.iter_mut().for_each(|set| expand(&mut set.members));
        deck.element_histories.iter_mut().for_each(|history| expand(&mut history.elements));
        for load in &mut deck.loads {
            match &mut load.kind {
                LoadKind::Concentrated { .. } | LoadKind::Volume { .. } => {}
                LoadKind::Body { elements, .. } | LoadKind::Gravity { elements, .. } => expand(elements),
                LoadKind::Pressure { faces, elements } | LoadKind::Traction { faces, elements, .. } => {
                    let all = faces.iter().zip(elements.iter());
                    let split =
                        all.flat_map(|(face, element)| self.faces(&deck.mesh, *face, *element, parts(*element)));
                    (*faces, *elements) = split.unzip();
                }
            }
        }
        let of_first = self.by_first_node();
        deck.mesh.node_sets.iter_mut().for_each(|set| self.add_middles_within(&of_first, &mut set.members));
        deck.boundaries.iter_mut().for_each(|held| self.add_middles_within(&of_first, &mut held.nodes));
        deck.initial_velocities.iter_mut().for_each(|start| self.add_middles_within(&of_first, &mut start.nodes));
    }

    /// The faces of the parts of an element that lie on a face of it, each with its part.
    fn faces(&self, mesh: &Mesh, face: [u32; 4], element: u32, parts: std::ops::Range<u32>) -> Vec<([u32; 4], u32)> {
        if parts.len() == 1 {
            return vec![(face, parts.start)];
        }
        let Some((group, more, at)) = place(&self.old, self.midside, element) else { return Vec::new() };
        let middle = |on_edges: [u32; 4]| self.middles.of_face.get(&sorted(&on_edges)?).copied();
        let holds = |part: u32, face: &[u32; 4]| {
            let nodes = mesh.place(part).map(|(group, at)| group.nodes(at)).unwrap_or_default();
            face.iter().all(|node| *node == u32::MAX || nodes.contains(node))
        };
        let faces = more.parts_of_face(group, at, face, middle).unwrap_or_default().into_iter();
        faces.filter_map(|face| parts.clone().find(|part| holds(*part, &face)).map(|part| (face, part))).collect()
    }

    /// The middles by the first of the nodes around them.
    fn by_first_node(&self) -> HashMap<u32, Vec<usize>> {
        let mut of_first: HashMap<u32, Vec<usize>> = HashMap::new();
        for middle in 0..self.middles.start.len() {
            of_first.entry(self.middles.around(middle)[0]).or_default().push(middle);
        }
        of_first
    }

    /// Adds the middles of which all nodes around are in a list.
    fn add_middles_within(&self, of_first: &HashMap<u32, Vec<usize>>, nodes: &mut Vec<u32>) {
        let members: HashSet<u32> = nodes.iter().copied().collect();
        let candidates = nodes.iter().filter_map(|node| of_first.get(node)).flatten().copied();
        let within = candidates.filter(|middle| self.middles.around(*middle).iter().all(|node| members.contains(node)));
        let mut added: Vec<u32> = within.map(|middle| self.middles.first_node + middle as u32).collect();
        added.sort_unstable();
        added.dedup();
        nodes.append(&mut added);
    }
}

/// The shortest diagonal of the octahedron in a tetrahedron; 0 for other shapes.
fn shortest_diagonal(mesh: &Mesh, shape: ElementShape, nodes: &[u32]) -> usize {
    if shape != ElementShape::Tetrahedron {
        return 0;
    }
    let dimension = mesh.dimension as usize;
    let x = |local: u8| &mesh.coordinates[dimension * nodes[usize::from(local)] as usize..][..dimension];
    let length = |[a, b]: [u8; 2]| x(a).iter().zip(x(b)).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
    let lengths = DIAGONALS.map(length);
    (0..3).min_by(|a, b| lengths[*a].total_cmp(&lengths[*b])).unwrap_or(0)
}
