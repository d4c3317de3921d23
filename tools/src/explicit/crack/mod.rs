//! Opens cracks in a mesh: `[[crack]]` of a job.

mod faces;
mod split;
mod surface;

use std::collections::BTreeSet;

use pogo_formats::explicit::Model;
use pogo_formats::explicit::job::Crack;
use pogo_formats::job::{JobError, Located};
use pogo_formats::mesh::{Mesh, NamedSet, user_label};
use pogo_formats::words::counted;

use self::faces::{Pair, area_vector};
use self::split::Split;
use self::surface::Surface;
use crate::conditions::{each, find_name, name_or};
use crate::elements::{dot, elements, position, round};
use crate::prepare::Remarks;

/// Fewest elements along a crack before it is called coarse.
const FEWEST_ACROSS: f64 = 4.0;

/// A crack of which less than this part is opened gives a warning.
const MOST_OF_IT: f64 = 0.8;

/// Opens the cracks of a job one after the other.
///
/// # Errors
/// [`JobError`] for a crack that opens nothing, or whose shape cannot be used.
pub(super) fn open(model: &mut Model, cracks: &[Located<Crack>], remarks: &mut Remarks) -> Result<(), JobError> {
    each(cracks, |item, index| {
        let name = name_or(&item.value.name, "CRACK", index);
        let surface = Surface::new(item.value.shape()?, model.mesh.dimension as usize, &item.place)?;
        let found = faces::find(&model.mesh, &surface);
        let split = Split::plan(&model.mesh, &found.iter().map(|pair| pair.0).collect())?;
        let opened: Vec<Pair> = found.iter().copied().filter(|pair| is_open(&split, pair)).collect();
        if opened.is_empty() {
            return Err(nothing(found.len()));
        }
        let copied = &model.setup.copied;
        if let Some(&node) = copied.from.iter().chain(&copied.to).find(|node| split.twins.contains_key(node)) {
            let (mesh, node) = (&model.mesh, node as usize);
            let label = user_label(&mesh.instances, mesh.node_instance[node], mesh.node_labels[node]);
            return Err(format!("the crack reaches a periodic side at node {label}: let it end before"));
        }
        if let Some(node) = model.setup.linear.nodes().find(|node| split.twins.contains_key(node)) {
            let (mesh, node) = (&model.mesh, node as usize);
            let label = user_label(&mesh.instances, mesh.node_instance[node], mesh.node_labels[node]);
            return Err(format!("the crack divides node {label}, which linear constraints hold: let it end before"));
        }
        if let Some(node) = model.setup.interface.ties.nodes().find(|node| split.twins.contains_key(node)) {
            let (mesh, node) = (&model.mesh, node as usize);
            let label = user_label(&mesh.instances, mesh.node_instance[node], mesh.node_labels[node]);
            return Err(format!("the crack divides node {label}, which a *TIE joins to a fluid: let it end before"));
        }
        let measures = Measures::of(&model.mesh, &surface, &opened);
        let n_before = model.mesh.n_nodes();
        split.apply(model)?;
        name_sets(&mut model.mesh, &name, &opened, &split)?;
        remarks.note(&item.place, measures.told(&name, opened.len(), n_before, &model.mesh));
        for text in measures.doubts(&name) {
            remarks.warn(&item.place, text);
        }
        Ok(())
    })
}

/// Whether some node of a face is another one on its other side.
fn is_open(split: &Split, (key, [plus, minus]): &Pair) -> bool {
    round(key).iter().any(|&node| split.node(*plus, node) != split.node(*minus, node))
}

fn nothing(n_faces: usize) -> String {
    let lie = match n_faces {
        0 => {
            return "the crack opens nothing: no face between two elements lies along it; is it inside the mesh?"
                .to_owned();
        }
        1 => "1 element face lies".to_owned(),
        n => format!("{n} element faces lie"),
    };
    format!(
        "the crack opens nothing: {lie} along it, and all of their nodes belong to its tip; make the crack longer or the mesh finer"
    )
}

/// Node sets of both faces and of the tip, which is in all three.
fn name_sets(mesh: &mut Mesh, name: &str, opened: &[Pair], split: &Split) -> Result<(), String> {
    let mut sets = ["plus", "minus", "front"].map(|side| (format!("{name}.{side}"), BTreeSet::new()));
    for (key, [plus, minus]) in opened {
        for &node in round(key) {
            let (above, below) = (split.node(*plus, node), split.node(*minus, node));
            sets[0].1.insert(above);
            sets[1].1.insert(below);
            if above == below {
                sets[2].1.insert(above);
            }
        }
    }
    for (name, members) in sets.into_iter().filter(|set| !set.1.is_empty()) {
        if find_name(&mesh.node_sets, &name, |set| &set.name).is_some() {
            return Err(format!("there is a node set {name} already: give the crack another `name`"));
        }
        mesh.node_sets.push(NamedSet { name, members: members.into_iter().collect() });
    }
    Ok(())
}

/// What is told of a crack.
struct Measures {
    /// Length, or area, of the crack as given.
    given: f64,
    /// That of the opened faces, as projected on it.
    covered: f64,
    /// Largest and mean distance of the opened faces' nodes from it, m.
    distances: [f64; 2],
    /// Mean of the longest edges of the elements beside it, m.
    size: f64,
    dimension: usize,
}

impl Measures {
    fn of(mesh: &Mesh, surface: &Surface, opened: &[Pair]) -> Self {
        let (mut covered, mut distances, mut n_nodes, mut size) = (0.0, [0.0_f64; 2], 0_usize, 0.0);
        let mut beside: Vec<u32> = opened.iter().flat_map(|pair| pair.1).collect();
        beside.sort_unstable();
        beside.dedup();
        let mut wanted = beside.iter().peekable();
        for (element, (kind, nodes)) in (0_u32..).zip(elements(mesh)) {
            if wanted.next_if(|&&other| other == element).is_none() {
                continue;
            }
            size += faces::size(mesh, kind, nodes);
            for face in crate::elements::faces(kind, nodes) {
                let key = faces::key_of(&face);
                // Both elements have the face: each counts half.
                if opened.binary_search_by_key(&key, |pair| pair.0).is_ok() {
                    let corners = round(&face).iter().map(|&node| surface.foot(position(mesh, node)));
                    let normal = surface.foot(faces::centre(mesh, round(&face))).normal;
                    covered += 0.5 * dot(area_vector(mesh, round(&face)), normal).abs();
                    for foot in corners {
                        distances[0] = distances[0].max(foot.height.abs());
                        distances[1] += foot.height.abs();
                        n_nodes += 1;
                    }
                }
            }
        }
        distances[1] /= n_nodes.max(1) as f64;
        let size = size / beside.len().max(1) as f64;
        Self { given: surface.measure, covered, distances, size, dimension: mesh.dimension as usize }
    }

    /// The note.
    fn told(&self, name: &str, n_faces: usize, n_before: usize, mesh: &Mesh) -> String {
        let (what, unit) = if self.dimension == 2 { ("length", "m") } else { ("area", "m²") };
        let [most, mean] = self.distances;
        let label = |node: usize| user_label(&mesh.instances, mesh.node_instance[node], mesh.node_labels[node]);
        let n_new = mesh.n_nodes() - n_before;
        let (first, last) = (label(n_before), label(mesh.n_nodes() - 1));
        let new = if n_new == 1 {
            format!("new node {first}")
        } else {
            format!("{} {first} to {last}", counted(n_new, "new node"))
        };
        format!(
            "crack {name} opens {} ({what} {:.3e} of {:.3e} {unit}), at most {most:.3e} m from it (mean {mean:.3e} m, {:.2} of an \
             element); {new}",
            counted(n_faces, "element face"),
            self.covered,
            self.given,
            mean / self.size,
        )
    }

    /// Warnings.
    fn doubts(&self, name: &str) -> Vec<String> {
        let mut doubts = Vec::new();
        if self.covered < MOST_OF_IT * self.given {
            doubts.push(format!(
                "crack {name}: only {:.0} % of it is opened; the rest lies outside the mesh or at tips inside elements",
                100.0 * self.covered / self.given
            ));
        }
        let across = self.given.powf(1.0 / (self.dimension - 1) as f64) / self.size;
        if across < FEWEST_ACROSS {
            doubts.push(format!(
                "crack {name}: the mesh is coarse beside it, {across:.1} elements of {:.3e} m along it; waves scatter as its \
                 elements say, not as its shape does",
                self.size
            ));
        }
        doubts
    }
}

#[cfg(test)]
mod tests;
