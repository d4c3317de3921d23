//! The nodes of a region that a job names.

use pogo_formats::job::{Place, Region, Sides, point};
use pogo_formats::mesh::{Mesh, NamedSet, user_label};
use pogo_formats::words::counted;

use super::{Apply, Message, find_set};

/// Nodes of a region.
pub(super) struct Nodes {
    pub nodes: Vec<u32>,
    /// Share of each node in a total, where the region itself determines it.
    pub weights: Option<Vec<f64>>,
}

impl From<Vec<u32>> for Nodes {
    fn from(nodes: Vec<u32>) -> Self {
        Self { nodes, weights: None }
    }
}

impl Apply<'_> {
    pub(super) fn ends(&self, ends: [&[f64]; 2], key: &str) -> Message<[[f64; 3]; 2]> {
        let dimension = self.mesh.dimension as usize;
        Ok([point(ends[0], dimension, key)?, point(ends[1], dimension, key)?])
    }

    pub(super) fn nodes(&mut self, place: &Place, region: Region<'_>, tolerance: Option<f64>) -> Message<Nodes> {
        let dimension = self.mesh.dimension as usize;
        let near = tolerance.unwrap_or(self.geometry.rounding());
        match region {
            Region::Point(at) => {
                let at = point(at, dimension, "at")?;
                Ok(Nodes { nodes: vec![self.nearest(place, at, true)?], weights: Some(vec![1.0]) })
            }
            Region::Line(ends) => {
                let ends = self.ends(ends, "line")?;
                let found = self.geometry.along_line(ends, tolerance).ok_or_else(|| match tolerance {
                    Some(tolerance) => format!("no node within {tolerance} of this line"),
                    None => "no node within half an element of this line, or its ends are the same".to_owned(),
                })?;
                if found.loose {
                    let text = format!(
                        "no row of nodes lies on this line: took {} within half an element, the farthest {:.3e} away",
                        counted(found.nodes.len(), "node"),
                        found.distance
                    );
                    self.remarks.note(place, text);
                }
                Ok(Nodes { nodes: found.nodes, weights: Some(found.weights) })
            }
            Region::Box(corners) => {
                let found = self.geometry.in_box(self.ends(corners, "box")?, near);
                if found.is_empty() { Err("no node lies in this box".to_owned()) } else { Ok(found.into()) }
            }
            Region::Sides(sides) => {
                check_sides(sides, dimension)?;
                Ok(self.geometry.on_sides(sides, near).into())
            }
            Region::Set(name) => {
                let set = match find_set(&self.mesh.node_sets, name, "node") {
                    Ok(set) => set,
                    Err(none) => return self.nodes_of_elements(place, name).ok_or(none),
                };
                if set.members.is_empty() {
                    return Err(format!("node set {} has no node that an element uses", set.name));
                }
                Ok(set.members.clone().into())
            }
            Region::All => Ok((0..self.mesh.n_nodes() as u32).collect::<Vec<_>>().into()),
        }
    }

    /// The nodes of an element set, where there is no node set of that name.
    fn nodes_of_elements(&mut self, place: &Place, name: &str) -> Option<Nodes> {
        let is_it = |set: &&NamedSet| set.name.eq_ignore_ascii_case(name);
        let set = self.mesh.element_sets.iter().find(is_it).filter(|set| !set.members.is_empty())?;
        let elements = set.members.iter().filter_map(|&element| self.mesh.place(element));
        let mut nodes: Vec<u32> = elements.flat_map(|(group, at)| group.nodes(at)).copied().collect();
        nodes.sort_unstable();
        nodes.dedup();
        let counted = counted(nodes.len(), "node");
        self.remarks
            .note(place, format_args!("no node set {name}: took the {counted} of the element set {}", set.name));
        Some(nodes.into())
    }

    /// The nearest node. It is noted with its distance if `tell` is set; a distance of more than an element is a warning.
    pub(super) fn nearest(&mut self, place: &Place, at: [f64; 3], tell: bool) -> Message<u32> {
        let found = self.geometry.nearest(at).ok_or("the mesh has no node")?;
        let size = self.geometry.element_size(found.node);
        let shown = &at[..self.mesh.dimension as usize];
        let label = node_name(self.mesh, found.node);
        let text = format!("the node nearest to {shown:?} is {label}, {:.3e} away", found.distance);
        if found.distance > size {
            self.remarks
                .warn(place, format_args!("{text}; elements there are {size:.3e} in size: is the point outside?"));
        } else if tell {
            self.remarks.note(place, text);
        }
        if let Some(twin) = found.twin.filter(|_| tell) {
            let twin = node_name(self.mesh, twin);
            let which = format!("nodes {label} and {twin} lie at one place: took {label}");
            self.remarks.warn(place, format_args!("{which}; a node set names the other"));
        }
        Ok(found.node)
    }
}

fn node_name(mesh: &Mesh, node: u32) -> String {
    user_label(&mesh.instances, mesh.node_instance[node as usize], mesh.node_labels[node as usize])
}

/// Refuses a side across an axis that the mesh does not have.
pub fn check_sides(sides: &Sides, dimension: usize) -> Result<(), String> {
    if sides.0.iter().any(|&(axis, _)| usize::from(axis) >= dimension) {
        return Err(format!("a {dimension}D mesh has no side across z"));
    }
    Ok(())
}
