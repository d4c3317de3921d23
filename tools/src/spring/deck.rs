//! From a deck to springs: the edges of its elements, and its two-node elements, each pair of nodes once.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use pogo_formats::job::JobError;
use pogo_formats::mesh::{ElementKind, Mesh, NamedSet};
use pogo_formats::read::deck::{LineProperty, Lines, Truss};
use pogo_formats::spring::build::{BuildError, lists, spatial_order};
use pogo_formats::spring::job::SpringJob;
use pogo_formats::spring::{SpringGroup, SpringMaterial, SpringMesh};
use pogo_formats::words::counted;

use crate::explicit::apply_job::{Remarks, find_set};

/// Springs of a deck.
#[derive(Debug, Clone, PartialEq)]
pub struct Edges {
    /// Both nodes, the lower first, and an index into `groups`; ascending, each pair once.
    pub springs: Vec<(u32, u32, u16)>,
    /// The job's `[[springs]]`, then the deck's `*SPRING`, `*DASHPOT` and sections of trusses, then what acts between two nodes
    /// together.
    pub groups: Vec<SpringGroup>,
    /// An index into `materials` for each node that has a spring.
    pub material: Vec<u16>,
    /// The job's `[[material]]`, then the deck's `*MASS` and `*DENSITY` of trusses, then what is at one node together.
    pub materials: Vec<SpringMaterial>,
    /// Volume of elements, and of trusses with a section, that belongs to each node, or area of elements where none are solid:
    /// equal shares. Of a node that weighs what its trusses do, the volume of these; as much of the densest material as has the mass of
    /// all where they differ.
    pub volume: Vec<f64>,
    /// Two-node elements that are no springs, masses that hide others.
    pub remarks: Remarks,
}

/// None of a job's tables.
const NONE: u16 = u16::MAX;

/// Most notes of one kind.
const NOTES: usize = 20;

/// Edges of an element, as pairs of local nodes.
fn local_edges(kind: ElementKind) -> Vec<[u8; 2]> {
    let mut edges = BTreeSet::new();
    for face in kind.faces() {
        let n = face.len();
        // In the plane a face is an edge.
        for at in 0..if n == 2 { 1 } else { n } {
            let (a, b) = (face[at], face[(at + 1) % n]);
            edges.insert([a.min(b), a.max(b)]);
        }
    }
    edges.into_iter().collect()
}

/// The springs that a job makes of a deck's elements and two-node elements, and what its nodes weigh.
///
/// An element has one group. Of several tables of the job that name it the later one holds; a table that names no set leaves out
/// the elements of which the deck's own `*SPRING` or `*DASHPOT` says what they are. E A of a section is for trusses of which no
/// table says anything. Of one pair of nodes the later table of the job holds, and what the deck's own cards say comes on top,
/// each element for itself: a dashpot beside a spring.
///
/// # Errors
/// A set that does not exist, nothing that says which elements are springs, no material for a node, a spring without length.
pub fn edges(mesh: &Mesh, lines: &Lines, job: &SpringJob) -> Result<Edges, JobError> {
    let mut remarks = Remarks::default();
    let mut group = vec![NONE; mesh.n_elements()];
    // Of lines by table of the job, and behind them by property of the deck.
    let n_tables = job.springs.len();
    let mut of_line: Vec<Option<usize>> = vec![None; lines.nodes.len()];
    for (index, property) in lines.properties.iter().enumerate() {
        if stiffness(property).is_some() {
            property.lines.iter().for_each(|&line| of_line[line as usize] = Some(n_tables + index));
        }
    }
    let mut any = lines.properties.iter().any(|property| stiffness(property).is_some());
    for (table, item) in job.springs.iter().enumerate().filter(|(_, item)| item.value.says_where()) {
        let index = u16::try_from(table).ok().filter(|&index| index != NONE);
        let index = index.ok_or_else(|| item.place.error("at most 65,535 tables of springs"))?;
        any = true;
        match &item.value.elset {
            Some(name) => {
                let set = element_set(mesh, lines, name).map_err(|text| item.place.error(text))?;
                set.elements.iter().for_each(|&element| group[element as usize] = index);
                set.lines.iter().for_each(|&line| of_line[line as usize] = Some(table));
            }
            None => {
                group.fill(index);
                let own = |of: usize| of.checked_sub(n_tables).is_some_and(|of| lines.properties[of].truss.is_none());
                of_line.iter_mut().filter(|of| !of.is_some_and(own)).for_each(|of| *of = Some(table));
            }
        }
    }
    if !any {
        let text = "which edges are springs? give [[springs]] with `elset` or `all = true`";
        return Err(job.solver.place.error(text));
    }
    let mut springs: Vec<(u32, u32, usize)> = Vec::new();
    let mut volume = vec![0.0; mesh.n_nodes()];
    let mut first = 0;
    // Faces beside solids, as meshers write them, have no volume.
    let dimension = mesh.groups.iter().map(|elements| elements.kind.dimension()).max();
    for elements in &mesh.groups {
        let n = elements.kind.n_nodes();
        let local = local_edges(elements.kind);
        let fills = Some(elements.kind.dimension()) == dimension;
        for (at, nodes) in elements.connectivity.chunks_exact(n).enumerate() {
            let group = group[first + at];
            if group == NONE {
                continue;
            }
            let share = if fills { size(mesh, elements.kind, nodes) / n as f64 } else { 0.0 };
            nodes.iter().for_each(|&node| volume[node as usize] += share);
            for [a, b] in &local {
                let (a, b) = (nodes[usize::from(*a)], nodes[usize::from(*b)]);
                if a != b {
                    if position(mesh, a) == position(mesh, b) {
                        let [one, other] = [a, b].map(|node| mesh.node_labels[node as usize]);
                        let text = format!(
                            "nodes {one} and {other} of element {} are at one place: the edge between them can be no spring; merge them",
                            elements.labels[at]
                        );
                        return Err(job.springs[usize::from(group)].place.error(text));
                    }
                    springs.push((a.min(b), a.max(b), usize::from(group)));
                }
            }
        }
        first += elements.len();
    }
    let bare = group.iter().filter(|&&group| group == NONE).count();
    if bare > 0 {
        let makes = if bare == 1 { "makes" } else { "make" };
        let what = counted(bare, "element");
        remarks.warnings.push(format!("warning: {what} {makes} no springs: no [[springs]] table is for them"));
    }
    let mut n_loose = 0;
    for (at, (&[a, b], of)) in lines.nodes.iter().zip(&of_line).enumerate() {
        let Some(of) = *of else {
            n_loose += 1;
            continue;
        };
        if position(mesh, a) == position(mesh, b) {
            let place = job.springs.get(of).map_or(&job.solver.place, |item| &item.place);
            let text = format!("element {} has both ends at one place: it can be no spring", lines.labels[at]);
            return Err(place.error(text));
        }
        springs.push((a.min(b), a.max(b), of));
    }
    if n_loose > 0 {
        let what = counted(n_loose, "two-node element");
        let text = if n_loose == 1 { "is no spring" } else { "are no springs" };
        let why =
            "no [[springs]] table, *SPRING, *DASHPOT or section of trusses with an isotropic *ELASTIC is for them";
        remarks.notes.push(format!("note: {what} {text}: {why}"));
    }
    let n_notes = remarks.notes.len();
    for (index, property) in lines.properties.iter().enumerate() {
        let Some((what, value)) = stiffness(property) else { continue };
        let is_own = |line: &&u32| of_line[**line as usize] == Some(n_tables + index);
        let own = property.lines.iter().filter(is_own).count();
        let (n, name) = (property.lines.len() - own, &property.name);
        if own > 0 && property.truss.is_some() {
            let trusses = counted(own, "truss element");
            remarks.notes.push(format!("note: {trusses} of `{name}`: k = E A / length with {what} = {value:e}"));
        }
        if n > 0 {
            let text = format!("note: [[springs]] hold over {what} = {value:e} of the deck for {n} of `{name}`");
            remarks.notes.push(text);
        }
    }
    let more = remarks.notes.len().saturating_sub(n_notes + NOTES);
    if more > 0 {
        remarks.notes.truncate(n_notes + NOTES);
        remarks.notes.push(format!("note: the same of {}", counted(more, "further set")));
    }
    let mut trusses = Trusses { materials: Vec::new(), at_node: BTreeMap::new() };
    let filled: Vec<bool> = volume.iter().map(|volume| *volume > 0.0).collect();
    for property in &lines.properties {
        let Some(truss) = &property.truss else { continue };
        let material = trusses.material(truss);
        for &line in property.lines.iter().filter(|line| of_line[**line as usize].is_some()) {
            let [a, b] = lines.nodes[line as usize];
            let share = 0.5 * truss.area * distance(mesh, a, b);
            for node in [a, b] {
                // Volumes and areas do not add up.
                if dimension != Some(2) {
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
    springs.sort_unstable();
    let mut groups = Together::new(job.springs.iter().map(|item| item.value.group()).collect(), |group| &group.name);
    let mut of_property: Vec<Option<u32>> = vec![None; lines.properties.len()];
    for index in of_line.iter().flatten().filter_map(|of| of.checked_sub(n_tables)) {
        let property = &lines.properties[index];
        of_property[index].get_or_insert_with(|| {
            let name = groups.unique(&property.name);
            groups.push(SpringGroup {
                name,
                stiffness: property.stiffness,
                axial_stiffness: property.truss.as_ref().map_or(0.0, |truss| truss.area * truss.young.unwrap_or(0.0)),
                damping: property.damping,
                max_strain: f64::INFINITY,
                rest_factor: 1.0,
            })
        });
    }
    let mut pairs = Vec::new();
    let mut holds = vec![false; n_tables];
    for same in springs.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
        let n_of_job = same.partition_point(|spring| spring.2 < n_tables);
        let of_job = same[..n_of_job].last().map(|spring| spring.2 as u32);
        of_job.iter().for_each(|&table| holds[table as usize] = true);
        let of_deck = same[n_of_job..].iter().filter_map(|spring| of_property[spring.2 - n_tables]);
        let of: Vec<u32> = of_job.into_iter().chain(of_deck).collect();
        let parts: Vec<&SpringGroup> = of.iter().map(|&index| &groups.items[index as usize]).collect();
        if parts.iter().any(|part| part.axial_stiffness > 0.0) && one_rest_factor(&parts).is_none() {
            let [a, b] = [same[0].0, same[0].1].map(|node| mesh.node_labels[node as usize]);
            let what = "are springs with different `rest_factor`, and one has E A: give them one [[springs]] table";
            return Err(job.solver.place.error(format!("between nodes {a} and {b} {what}")));
        }
        let group = groups.of(of, parallel);
        let group = u16::try_from(group).ok().filter(|&group| group != NONE);
        let too_many = || job.solver.place.error("the deck makes more than 65,535 groups of springs that differ");
        pairs.push((same[0].0, same[0].1, group.ok_or_else(too_many)?));
    }
    for (item, _) in job.springs.iter().zip(holds).filter(|(item, holds)| !holds && item.value.says_where()) {
        let what = "hold for no edge and no two-node element: of tables that cover the same one, the later wins";
        remarks.warn(&item.place, format!("springs \"{}\" {what}", item.value.name));
    }
    let mut edges =
        Edges { springs: pairs, groups: groups.items, material: Vec::new(), materials: Vec::new(), volume, remarks };
    materials(mesh, lines, job, &trusses, &filled, &mut edges)?;
    Ok(edges)
}

/// What trusses with a `*DENSITY` weigh.
struct Trusses {
    /// Names and densities of their materials.
    materials: Vec<(String, f64)>,
    /// ρ A L / 2 of the trusses of each node, and which materials they have.
    at_node: BTreeMap<u32, (f64, Vec<u32>)>,
}

impl Trusses {
    /// Index and density of a material that has one.
    fn material(&mut self, truss: &Truss) -> Option<(u32, f64)> {
        let density = truss.density.filter(|density| *density > 0.0)?;
        let at = self.materials.iter().position(|(name, _)| *name == truss.material).unwrap_or_else(|| {
            self.materials.push((truss.material.clone(), density));
            self.materials.len() - 1
        });
        Some((at as u32, density))
    }
}

/// Materials of the nodes, and the list of them. `filled` says which nodes have a share of elements.
///
/// What a job says of a set holds over the deck's masses, and what it says of all nodes over the density of trusses, but not over
/// `*MASS`.
fn materials(
    mesh: &Mesh,
    lines: &Lines,
    job: &SpringJob,
    trusses: &Trusses,
    filled: &[bool],
    edges: &mut Edges,
) -> Result<(), JobError> {
    let Edges { springs, volume, remarks, .. } = edges;
    let mut materials =
        Together::new(job.materials.iter().map(|item| item.value.material()).collect(), |material| &material.name);
    let mut at_node: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for mass in lines.masses.iter().filter(|mass| !mass.nodes.is_empty()) {
        let name = materials.unique(&mass.name);
        let index = materials.push(SpringMaterial { name, mass: mass.mass, density: 0.0 });
        mass.nodes.iter().for_each(|&node| at_node.entry(node).or_default().push(index));
    }
    // The deck's masses hold over a material for all nodes, and one for a set over them.
    let for_all = job.materials.iter().rposition(|item| item.value.nset.is_none() && item.value.elset.is_none());
    let mut of_deck_too = vec![false; mesh.n_nodes()];
    at_node.keys().chain(trusses.at_node.keys()).for_each(|&node| of_deck_too[node as usize] = true);
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
    let mut material = vec![NONE; mesh.n_nodes()];
    let mut of_deck = |material: &mut [u16]| {
        for (node, of) in std::mem::take(&mut at_node) {
            let index = u16::try_from(materials.of(of, piled)).ok().filter(|&index| index != NONE);
            material[node as usize] =
                index.ok_or_else(|| job.solver.place.error("the deck makes more than 65,535 masses that differ"))?;
        }
        Ok(())
    };
    if for_all.is_none() {
        of_deck(&mut material)?;
    }
    for (index, item) in job.materials.iter().enumerate() {
        let table = &item.value;
        if table.label.is_some() || table.threshold.is_some() {
            return Err(item.place.error("`label` and `threshold` are for stacks; of a deck give `nset` or `elset`"));
        }
        if table.stiffness.is_some()
            || table.damping.is_some()
            || table.max_strain.is_some()
            || table.rest_factor.is_some()
        {
            return Err(item.place.error("springs of a deck are said by [[springs]] tables, not by materials"));
        }
        let error = |text| item.place.error(text);
        let own = index as u16;
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
                let members: BTreeSet<u32> = set.elements.iter().copied().collect();
                let mut first = 0;
                for elements in &mesh.groups {
                    for (at, nodes) in elements.connectivity.chunks_exact(elements.kind.n_nodes()).enumerate() {
                        if members.contains(&(first + at as u32)) {
                            nodes.iter().for_each(|&node| material[node as usize] = own);
                        }
                    }
                    first += elements.len() as u32;
                }
            }
            (None, None) => material.fill(own),
        }
        if for_all == Some(index) {
            of_deck(&mut material)?;
        }
    }
    let place = job.materials.first().map_or(&job.solver.place, |item| &item.place);
    let mut used = vec![false; mesh.n_nodes()];
    springs.iter().for_each(|&(a, b, _)| [a, b].iter().for_each(|&node| used[node as usize] = true));
    let (mut n_hidden, mut n_filled, mut n_overruled, mut n_weighed, mut mass) = (0, 0, 0, 0, 0.0);
    for at in (0..used.len()).filter(|&at| used[at]) {
        let (label, own) = (mesh.node_labels[at], usize::from(material[at]));
        if material[at] == NONE {
            let text = "has springs and no material: give a [[material]] for all nodes first, or trusses a *DENSITY";
            return Err(place.error(format!("node {label} {text}")));
        }
        if own < job.materials.len() {
            if job.materials[own].value.density.is_some() && volume[at] == 0.0 {
                let text = "has no share of an area or volume, which `density` would need: give `mass`";
                return Err(job.materials[own].place.error(format!("node {label} {text}")));
            }
            n_overruled += usize::from(of_deck_too[at]);
            continue;
        }
        match (trusses.at_node.get(&(at as u32)), materials.items[own].density) {
            (Some((own, _)), density) if density > 0.0 => {
                volume[at] = own / density;
                mass += own;
                n_weighed += 1;
                n_filled += usize::from(filled[at]);
            }
            _ => n_hidden += usize::from(volume[at] > 0.0),
        }
    }
    if n_hidden > 0 {
        let what = counted(n_hidden, "node");
        remarks
            .warnings
            .push(format!("warning: {what} with a *MASS of the deck and a share of elements: the *MASS alone counts"));
    }
    if n_filled > 0 {
        let text = "on trusses and other elements: the *DENSITY of trusses alone counts; give these a [[material]]";
        remarks.warnings.push(format!("warning: {} {text}", counted(n_filled, "node")));
    }
    if n_weighed > 0 {
        let what = counted(n_weighed, "node");
        let text = format!("note: {what}: ρ A L / 2 of each truss by *DENSITY, {mass:.4e} in all, beside any *MASS");
        remarks.notes.push(text);
    }
    if n_overruled > 0 {
        let what = counted(n_overruled, "node");
        remarks.notes.push(format!("note: [[material]] holds over *MASS and *DENSITY of the deck at {what}"));
    }
    material.iter_mut().filter(|of| **of == NONE).for_each(|of| *of = 0);
    // Of the deck's those that are part of others alone are nobody's: a change by name would do nothing.
    let n_of_job = job.materials.len();
    let mut own = vec![false; materials.items.len()];
    (0..used.len()).filter(|&at| used[at]).for_each(|at| own[usize::from(material[at])] = true);
    for (item, _) in job.materials.iter().zip(&own).filter(|(_, own)| !**own) {
        let what = "is of no particle: of materials that cover the same node, the later holds, and the deck's masses over one for all";
        remarks.warn(&item.place, format!("material \"{}\" {what}", item.value.name));
    }
    let is_kept = |index: usize| index < n_of_job || own[index];
    let mut place = 0;
    let new: Vec<u16> = (0..own.len())
        .map(|index| {
            place += u16::from(is_kept(index));
            place.saturating_sub(1)
        })
        .collect();
    edges.material = material.into_iter().map(|of| new[usize::from(of)]).collect();
    edges.materials = materials.items.into_iter().enumerate().filter(|(at, _)| is_kept(*at)).map(|(_, m)| m).collect();
    Ok(())
}

/// Things by index, to which come those that several of them make together.
struct Together<T> {
    items: Vec<T>,
    made: BTreeMap<Vec<u32>, u32>,
    /// Names in lower case.
    taken: HashSet<String>,
}

impl<T> Together<T> {
    fn new(items: Vec<T>, name_of: impl Fn(&T) -> &str) -> Self {
        let taken = items.iter().map(|item| name_of(item).to_ascii_lowercase()).collect();
        Self { items, made: BTreeMap::new(), taken }
    }

    /// `name`, or `name-2`, `name-3`, … when it is taken.
    fn unique(&mut self, name: &str) -> String {
        let numbered = (2..).map(|number| format!("{name}-{number}"));
        let mut candidates = std::iter::once(name.to_owned()).chain(numbered);
        candidates.find(|name| self.taken.insert(name.to_ascii_lowercase())).unwrap_or_default()
    }

    fn push(&mut self, item: T) -> u32 {
        self.items.push(item);
        self.items.len() as u32 - 1
    }

    /// The index of the one, or of what `make` makes of several.
    fn of(&mut self, indices: Vec<u32>, make: impl Fn(&[&T]) -> T) -> u32 {
        match (indices.as_slice(), self.made.get(&indices)) {
            (&[index], _) | (_, Some(&index)) => index,
            _ => {
                let parts: Vec<&T> = indices.iter().map(|&index| &self.items[index as usize]).collect();
                let made = make(&parts);
                let index = self.push(made);
                self.made.insert(indices, index);
                index
            }
        }
    }
}

fn joined<'n>(names: impl Iterator<Item = &'n str>) -> String {
    names.collect::<Vec<_>>().join("+")
}

/// What a card of the deck says of the pull of its elements, and in which words.
fn stiffness(property: &LineProperty) -> Option<(&'static str, f64)> {
    match &property.truss {
        Some(truss) => Some(("E A", truss.area * truss.young?)),
        None if property.stiffness > 0.0 => Some(("*SPRING", property.stiffness)),
        None => Some(("*DASHPOT", property.damping)),
    }
}

/// The rest factor of all that pull, or of the first where none does; none where they differ.
fn one_rest_factor(parts: &[&SpringGroup]) -> Option<f64> {
    let mut pulling = parts.iter().filter(|part| part.stiffness > 0.0 || part.axial_stiffness > 0.0);
    let factor = pulling.next().unwrap_or(&parts[0]).rest_factor;
    pulling.all(|part| part.rest_factor == factor).then_some(factor)
}

/// Springs side by side as one: Σ k_i (l − L_i) = k (l − L) with k = Σ k_i, L = Σ k_i L_i / k. It breaks where the first would.
/// Where one has E A, all have one `rest_factor`.
fn parallel(parts: &[&SpringGroup]) -> SpringGroup {
    let stiffness: f64 = parts.iter().map(|part| part.stiffness).sum();
    let moment: f64 = parts.iter().map(|part| part.stiffness * part.rest_factor).sum();
    let axial_stiffness: f64 = parts.iter().map(|part| part.axial_stiffness).sum();
    let rest_factor = one_rest_factor(parts).unwrap_or(moment / stiffness);
    let longest = parts.iter().map(|part| part.rest_factor * (1.0 + part.max_strain)).fold(f64::INFINITY, f64::min);
    SpringGroup {
        name: joined(parts.iter().map(|part| part.name.as_str())),
        stiffness,
        axial_stiffness,
        damping: parts.iter().map(|part| part.damping).sum(),
        max_strain: longest / rest_factor - 1.0,
        rest_factor,
    }
}

/// Masses at one node as one; of densities the largest, of which there is volume enough for the mass of all.
fn piled(parts: &[&SpringMaterial]) -> SpringMaterial {
    SpringMaterial {
        name: joined(parts.iter().map(|part| part.name.as_str())),
        mass: parts.iter().map(|part| part.mass).sum(),
        density: parts.iter().map(|part| part.density).fold(0.0, f64::max),
    }
}

/// An element set: elements that are computed, and two-node elements.
struct Members<'a> {
    elements: &'a [u32],
    lines: &'a [u32],
}

fn element_set<'a>(mesh: &'a Mesh, lines: &'a Lines, name: &str) -> Result<Members<'a>, String> {
    let of = |sets: &'a [NamedSet]| find_set(sets, name, "element").map(|set| set.members.as_slice());
    match (of(&mesh.element_sets), of(&lines.sets)) {
        (Err(text), Err(_)) if !mesh.element_sets.is_empty() => Err(text),
        (Err(_), Err(text)) => Err(text),
        (elements, lines) => Ok(Members { elements: elements.unwrap_or_default(), lines: lines.unwrap_or_default() }),
    }
}

/// Where a node lies.
fn position(mesh: &Mesh, node: u32) -> [f64; 3] {
    let dimension = mesh.dimension as usize;
    std::array::from_fn(|c| if c < dimension { mesh.coordinates[node as usize * dimension + c] } else { 0.0 })
}

fn distance(mesh: &Mesh, a: u32, b: u32) -> f64 {
    let [a, b] = [a, b].map(|node| position(mesh, node));
    (0..3).map(|c| (b[c] - a[c]).powi(2)).sum::<f64>().sqrt()
}

/// Area or volume of an element: that of the triangles or tetrahedra from its first node.
fn size(mesh: &Mesh, kind: ElementKind, nodes: &[u32]) -> f64 {
    let from = position(mesh, nodes[0]);
    let to = |local: u8| -> [f64; 3] {
        let point = position(mesh, nodes[usize::from(local)]);
        std::array::from_fn(|c| point[c] - from[c])
    };
    let cross =
        |a: [f64; 3], b: [f64; 3]| [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
    let dot = |a: [f64; 3], b: [f64; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    if kind.dimension() == 2 {
        let n = kind.n_nodes() as u8;
        let parts = (1..n - 1).map(|i| cross(to(i), to(i + 1)));
        let sum = parts.fold([0.0; 3], |sum, part| [sum[0] + part[0], sum[1] + part[1], sum[2] + part[2]]);
        return 0.5 * dot(sum, sum).sqrt();
    }
    // Cones from the first node over the faces that do not have it, in triangles.
    let mut volume = 0.0;
    for face in kind.faces().iter().filter(|face| !face.contains(&0)) {
        for i in 1..face.len() - 1 {
            volume += dot(to(face[0]), cross(to(face[i]), to(face[i + 1])));
        }
    }
    volume.abs() / 6.0
}

/// A mesh of those springs, nodes in spatial order, without the nodes that have none: also the solver index of each node,
/// `u32::MAX` where it has none.
///
/// # Errors
/// No spring at all, a node with too many, no memory.
pub fn mesh_of_edges(mesh: &Mesh, edges: &Edges, block_size: usize) -> Result<(SpringMesh, Vec<u32>), BuildError> {
    let mut used = vec![false; mesh.n_nodes()];
    for &(a, b, _) in &edges.springs {
        used[a as usize] = true;
        used[b as usize] = true;
    }
    let kept: Vec<u32> = (0_u32..).zip(&used).filter(|(_, used)| **used).map(|(node, _)| node).collect();
    if kept.is_empty() {
        return Err(BuildError::Empty);
    }
    let coordinates: Vec<f64> = kept.iter().flat_map(|&node| position(mesh, node)).collect();
    let (_, kept_from_solver) = spatial_order(&coordinates);
    let model_from_solver: Vec<u32> = kept_from_solver.iter().map(|&at| kept[at as usize]).collect();
    let mut solver_from_model = vec![u32::MAX; mesh.n_nodes()];
    for (solver, &node) in model_from_solver.iter().enumerate() {
        solver_from_model[node as usize] = solver as u32;
    }
    let n = model_from_solver.len();

    // Both ends of each spring, by particle.
    let mut ends: Vec<(u32, u32, u16)> = Vec::new();
    ends.try_reserve_exact(2 * edges.springs.len())?;
    for &(a, b, group) in &edges.springs {
        let (a, b) = (solver_from_model[a as usize], solver_from_model[b as usize]);
        ends.push((a, b, group));
        ends.push((b, a, group));
    }
    ends.sort_unstable();
    let mut first = vec![0_usize; n + 1];
    for (at, &(particle, _, _)) in ends.iter().enumerate() {
        first[particle as usize + 1] = at + 1;
    }
    let lists = lists(n, block_size, true, |particle, out| {
        out.extend(ends[first[particle]..first[particle + 1]].iter().map(|&(_, other, group)| (other, group)));
    })?;
    let of = |node: &u32| *node as usize;
    let sets = mesh.node_sets.iter().map(|set| NamedSet {
        name: set.name.clone(),
        members: set.members.iter().map(|node| solver_from_model[of(node)]).filter(|&at| at != u32::MAX).collect(),
    });
    let spring_mesh = SpringMesh {
        coordinates: model_from_solver.iter().flat_map(|&node| position(mesh, node)).collect(),
        labels: model_from_solver.iter().map(|node| mesh.node_labels[of(node)]).collect(),
        instance: model_from_solver.iter().map(|node| mesh.node_instance[of(node)]).collect(),
        instances: mesh.instances.clone(),
        material: model_from_solver.iter().map(|node| edges.material[of(node)]).collect(),
        volume: model_from_solver.iter().map(|node| edges.volume[of(node)]).collect(),
        sets: sets.filter(|set| !set.members.is_empty()).collect(),
        grid: None,
        lists,
    };
    Ok((spring_mesh, solver_from_model))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_have_the_edges_that_they_have() {
        use ElementKind::*;
        for (kind, n) in [(Cpe3, 3), (Cpe4, 4), (C3d4, 6), (C3d6, 9), (C3d8, 12)] {
            assert_eq!(local_edges(kind).len(), n, "{kind:?}");
        }
    }
}
