//! The mass of each node: the job's materials, the deck's `*MASS`, and the `*DENSITY` of its trusses.
//!
//! What a job gives a set holds over the deck's masses. What it gives all nodes holds over the density of trusses, but not over
//! `*MASS`.

use std::collections::BTreeMap;

use pogo_formats::job::{JobError, Located};
use pogo_formats::mesh::Mesh;
use pogo_formats::read::deck::{Lines, Truss};
use pogo_formats::spring::SpringMaterial;
use pogo_formats::spring::job::{MaterialTable, SpringJob};
use pogo_formats::words::counted;

use super::assign::{Assignment, element_set};
use super::combine::{Combinations, masses_at_one_node};
use super::{Edges, NONE};
use crate::conditions::find_set;
use crate::elements::{norm, position, sub};
use crate::prepare::Remarks;

/// Masses of trusses with a `*DENSITY`.
pub(super) struct Trusses {
    /// Names and densities of their materials.
    materials: Vec<(String, f64)>,
    /// By node: the sum of ρ A L / 2 over its trusses, and their materials.
    at_node: BTreeMap<u32, (f64, Vec<u32>)>,
}

impl Trusses {
    /// Adds up the trusses that are springs. Their volume is added to that of the nodes, unless the elements have areas.
    pub fn new(mesh: &Mesh, lines: &Lines, assignment: &Assignment, volume: &mut [f64]) -> Self {
        let mut trusses = Self { materials: Vec::new(), at_node: BTreeMap::new() };
        let in_plane = mesh.groups.iter().map(|elements| elements.kind.dimension()).max() == Some(2);
        for property in &lines.properties {
            let Some(truss) = &property.truss else { continue };
            let material = trusses.material(truss);
            for &line in property.lines.iter().filter(|line| assignment.of_line[**line as usize].is_some()) {
                let [a, b] = lines.nodes[line as usize];
                let share = 0.5 * truss.area * norm(sub(position(mesh, b), position(mesh, a)));
                for node in [a, b] {
                    if !in_plane {
                        volume[node as usize] += share;
                    }
                    if let Some((index, density)) = material {
                        let (mass, of) = trusses.at_node.entry(node).or_default();
                        *mass += density * share;
                        if let Err(at) = of.binary_search(&index) {
                            of.insert(at, index);
                        }
                    }
                }
            }
        }
        trusses
    }

    /// Index and density of a material that has a density.
    fn material(&mut self, truss: &Truss) -> Option<(u32, f64)> {
        let density = truss.density.filter(|density| *density > 0.0)?;
        let at = self.materials.iter().position(|(name, _)| *name == truss.material).unwrap_or_else(|| {
            self.materials.push((truss.material.clone(), density));
            self.materials.len() - 1
        });
        Some((at as u32, density))
    }
}

/// Fills `material` and `materials` of the edges. `filled` marks the nodes with a share of elements.
pub(super) fn assign(
    mesh: &Mesh,
    lines: &Lines,
    job: &SpringJob,
    trusses: &Trusses,
    filled: &[bool],
    edges: &mut Edges,
) -> Result<(), JobError> {
    let mut materials =
        Combinations::new(job.materials.iter().map(|item| item.value.material()).collect(), |material| &material.name);
    let mut at_node: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for mass in lines.masses.iter().filter(|mass| !mass.nodes.is_empty()) {
        let name = materials.unique(&mass.name);
        let index = materials.push(SpringMaterial { name, mass: mass.mass, density: 0.0 });
        mass.nodes.iter().for_each(|&node| at_node.entry(node).or_default().push(index));
    }
    let mut has_own_mass = vec![false; mesh.n_nodes()];
    at_node.keys().chain(trusses.at_node.keys()).for_each(|&node| has_own_mass[node as usize] = true);
    let for_all = job.materials.iter().rposition(|item| item.value.nset.is_none() && item.value.elset.is_none());
    if for_all.is_none() {
        let mut index_of = Vec::new();
        for (name, density) in &trusses.materials {
            let name = materials.unique(name);
            index_of.push(materials.push(SpringMaterial { name, mass: 0.0, density: *density }));
        }
        for (&node, (_, of)) in &trusses.at_node {
            at_node.entry(node).or_default().extend(of.iter().map(|&index| index_of[index as usize]));
        }
    }
    // The deck's masses hold over a material for all nodes, and materials of sets hold over them.
    let mut material = vec![NONE; mesh.n_nodes()];
    let mut set_masses_of_deck = |material: &mut [u16]| {
        for (node, of) in std::mem::take(&mut at_node) {
            let index = u16::try_from(materials.of(of, masses_at_one_node)).ok().filter(|&index| index != NONE);
            material[node as usize] =
                index.ok_or_else(|| job.solver.place.error("the deck makes more than 65,535 masses that differ"))?;
        }
        Ok(())
    };
    if for_all.is_none() {
        set_masses_of_deck(&mut material)?;
    }
    for (index, item) in job.materials.iter().enumerate() {
        set_material(mesh, lines, item, index as u16, &mut material)?;
        if for_all == Some(index) {
            set_masses_of_deck(&mut material)?;
        }
    }
    let nodes = Nodes { mesh, job, trusses, filled, has_own_mass: &has_own_mass, material: &material };
    nodes.check(edges, &materials.items)?;
    keep_used(job, edges, material, materials.items);
    Ok(())
}

/// Gives the nodes of a table of the job its material.
fn set_material(
    mesh: &Mesh,
    lines: &Lines,
    item: &Located<MaterialTable>,
    own: u16,
    material: &mut [u16],
) -> Result<(), JobError> {
    let table = &item.value;
    if table.label.is_some() || table.threshold.is_some() {
        return Err(item.place.error("`label` and `threshold` are for stacks; of a deck give `nset` or `elset`"));
    }
    if table.stiffness.is_some() || table.damping.is_some() || table.max_strain.is_some() || table.rest_factor.is_some()
    {
        return Err(item.place.error("[[springs]] tables describe the springs of a deck, not materials"));
    }
    let error = |text| item.place.error(text);
    match (&table.nset, &table.elset) {
        (Some(name), _) => {
            let set = find_set(&mesh.node_sets, name, "node").map_err(error)?;
            set.members.iter().for_each(|&node| material[node as usize] = own);
        }
        (None, Some(name)) => {
            let set = element_set(mesh, lines, name).map_err(error)?;
            for &line in set.lines {
                lines.nodes[line as usize].iter().for_each(|&node| material[node as usize] = own);
            }
            for (group, at) in set.elements.iter().filter_map(|&element| mesh.place(element)) {
                group.nodes(at).iter().for_each(|&node| material[node as usize] = own);
            }
        }
        (None, None) => material.fill(own),
    }
    Ok(())
}

/// The nodes with their materials.
struct Nodes<'a> {
    mesh: &'a Mesh,
    job: &'a SpringJob,
    trusses: &'a Trusses,
    /// Nodes with a share of elements.
    filled: &'a [bool],
    /// Nodes with a mass of the deck.
    has_own_mass: &'a [bool],
    material: &'a [u16],
}

/// Nodes whose masses are worth a remark.
#[derive(Default)]
struct Tally {
    /// With a `*MASS` and a share of elements.
    n_hidden: usize,
    /// With trusses and a share of elements.
    n_filled: usize,
    /// With a mass of the deck that the job replaces.
    n_replaced: usize,
    /// With the mass of trusses.
    n_trusses: usize,
    /// Mass of all trusses.
    mass: f64,
}

impl Nodes<'_> {
    /// Checks that every node with a spring has a mass. Gives nodes with the mass of trusses the volume for it.
    fn check(&self, edges: &mut Edges, materials: &[SpringMaterial]) -> Result<(), JobError> {
        let Edges { springs, volume, remarks, .. } = edges;
        let n_of_job = self.job.materials.len();
        let place = self.job.materials.first().map_or(&self.job.solver.place, |item| &item.place);
        let mut tally = Tally::default();
        for at in used_nodes(springs, self.mesh.n_nodes()) {
            let (label, own) = (self.mesh.node_labels[at], usize::from(self.material[at]));
            if self.material[at] == NONE {
                let text =
                    "has springs and no material: give a [[material]] for all nodes first, or trusses a *DENSITY";
                return Err(place.error(format!("node {label} {text}")));
            }
            if own < n_of_job {
                let item = &self.job.materials[own];
                if item.value.density.is_some() && volume[at] == 0.0 {
                    let text = "has no share of an area or volume, which `density` would need: give `mass`";
                    return Err(item.place.error(format!("node {label} {text}")));
                }
                tally.n_replaced += usize::from(self.has_own_mass[at]);
                continue;
            }
            match (self.trusses.at_node.get(&(at as u32)), materials[own].density) {
                (Some((own, _)), density) if density > 0.0 => {
                    volume[at] = own / density;
                    tally.mass += own;
                    tally.n_trusses += 1;
                    tally.n_filled += usize::from(self.filled[at]);
                }
                _ => tally.n_hidden += usize::from(volume[at] > 0.0),
            }
        }
        tally.remark(remarks);
        Ok(())
    }
}

impl Tally {
    fn remark(&self, remarks: &mut Remarks) {
        let nodes = |n: usize| counted(n, "node");
        if self.n_hidden > 0 {
            let text = "with a *MASS of the deck and a share of elements: the *MASS alone counts";
            remarks.warnings.push(format!("warning: {} {text}", nodes(self.n_hidden)));
        }
        if self.n_filled > 0 {
            let text = "on trusses and other elements: the *DENSITY of trusses alone counts; give these a [[material]]";
            remarks.warnings.push(format!("warning: {} {text}", nodes(self.n_filled)));
        }
        if self.n_trusses > 0 {
            let (nodes, mass) = (nodes(self.n_trusses), self.mass);
            let text = format!("ρ A L / 2 of each truss by *DENSITY, {mass:.4e} in all, beside any *MASS");
            remarks.notes.push(format!("note: {nodes}: {text}"));
        }
        if self.n_replaced > 0 {
            let nodes = nodes(self.n_replaced);
            remarks.notes.push(format!("note: [[material]] holds over *MASS and *DENSITY of the deck at {nodes}"));
        }
    }
}

/// Nodes with a spring, ascending.
pub(super) fn used_nodes(springs: &[(u32, u32, u16)], n_nodes: usize) -> impl Iterator<Item = usize> + use<> {
    let mut used = vec![false; n_nodes];
    springs.iter().for_each(|&(a, b, _)| [a, b].iter().for_each(|&node| used[node as usize] = true));
    (0..n_nodes).filter(move |&at| used[at])
}

/// Drops materials of the deck that no node has by themselves: a change by name would have no effect. Warns of materials of
/// the job that no node has.
fn keep_used(job: &SpringJob, edges: &mut Edges, mut material: Vec<u16>, materials: Vec<SpringMaterial>) {
    material.iter_mut().filter(|of| **of == NONE).for_each(|of| *of = 0);
    let mut own = vec![false; materials.len()];
    used_nodes(&edges.springs, material.len()).for_each(|at| own[usize::from(material[at])] = true);
    for (item, _) in job.materials.iter().zip(&own).filter(|(_, own)| !**own) {
        let what = "is of no particle: of materials that cover the same node, the later holds, and the deck's masses over one for all";
        edges.remarks.warn(&item.place, format!("material \"{}\" {what}", item.value.name));
    }
    let is_kept = |index: usize| index < job.materials.len() || own[index];
    let mut place = 0;
    let new: Vec<u16> = (0..own.len())
        .map(|index| {
            place += u16::from(is_kept(index));
            place.saturating_sub(1)
        })
        .collect();
    edges.material = material.into_iter().map(|of| new[usize::from(of)]).collect();
    edges.materials = materials.into_iter().enumerate().filter(|(at, _)| is_kept(*at)).map(|(_, m)| m).collect();
}
