//! Applies a TOML job to a deck.
//!
//! In two stages, as the deck is read: [`apply_to_deck`] gives materials, sections and the time to a [`Deck`], which may be a
//! bare mesh; [`apply_to_model`] adds what needs the finished mesh: sources and monitor points by coordinates, boundary
//! conditions, absorbing layers, output.

mod absorbing;
mod deck;
mod geometry;
mod share;

use std::fmt::Display;

use pogo_formats::dynamics::{
    Amplitude, Boundary, BoundaryKind, FieldRequest, HistoryRequest, InitialVelocity, Load, LoadKind, NodalQuantity,
};
use pogo_formats::explicit::job::{Absorbing, ExplicitJob};
use pogo_formats::explicit::{AbsorbingLayer, Model, Setup};
use pogo_formats::job::{
    self, Action, AmplitudeReference, Components, Dynamics, JobError, Located, Place, Region, Sides, Variables, point,
};
use pogo_formats::mesh::{Mesh, NamedSet};
use pogo_formats::read::deck::ReadOptions;
use pogo_formats::words::counted;

pub use absorbing::{Layer, layer};
pub use deck::apply_to_deck;
pub use geometry::{AlongLine, Geometry, Nearest, tributary_fractions};
pub use share::area_fractions;

/// What the user should know about a job that was applied. Each line starts with `file:line: `.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Remarks {
    /// What was done: nearest nodes, replaced materials.
    pub notes: Vec<String>,
    /// What is probably not meant.
    pub warnings: Vec<String>,
}

impl Remarks {
    fn note(&mut self, place: &Place, text: impl Display) {
        self.notes.push(format!("{place}: note: {text}"));
    }

    pub(crate) fn warn(&mut self, place: &Place, text: impl Display) {
        self.warnings.push(format!("{place}: warning: {text}"));
    }
}

/// How to read a deck that this job will be applied to; `ignore` as in [`ReadOptions`].
pub fn read_options(job: Option<&ExplicitJob>, ignore: Vec<String>) -> ReadOptions {
    let job_sets_time = job.and_then(|job| job.solver.as_ref()).is_some_and(|solver| solver.value.time.is_some());
    ReadOptions {
        ignore,
        require_step: !job_sets_time,
        job_sets_time,
        job_materials: job
            .map_or_else(Vec::new, |job| job.materials.iter().map(|material| material.value.name.clone()).collect()),
        mesh_only: false,
        lines: false,
    }
}

/// Adds the job's amplitudes, sources, boundary conditions, outputs and absorbing layers to a model whose materials, sections
/// and time are those of [`apply_to_deck`].
///
/// # Errors
/// [`JobError`] for a set, amplitude or component that does not exist, and for a place with no node or element.
pub fn apply_to_model(model: &mut Model, job: &ExplicitJob) -> Result<Remarks, JobError> {
    if let Some(title) = &job.title {
        model.setup.title.clone_from(title);
    }
    let dimension = model.mesh.dimension as usize;
    let mut apply = apply_dynamics(model, &job.dynamics, None)?;
    for item in &job.fields {
        let quantities = item.value.quantities.iter().map(|word| word.0).collect();
        let interval = item.value.when().map_err(|text| item.place.error(text))?;
        apply.setup.fields.push(FieldRequest { quantities, interval });
    }
    for (index, item) in job.absorbing.iter().enumerate() {
        apply.absorbing(item, index, dimension).map_err(|text| item.place.error(text))?;
    }
    Ok(apply.remarks)
}

/// Adds what all runs over time share to a model whose nodes are particles without elements, and so far from each other.
///
/// # Errors
/// As [`apply_to_model`].
pub fn apply_to_particles(model: &mut Model, job: &Dynamics, spacing: f64) -> Result<Remarks, JobError> {
    Ok(apply_dynamics(model, job, Some(spacing))?.remarks)
}

fn apply_dynamics<'a>(model: &'a mut Model, job: &Dynamics, spacing: Option<f64>) -> Result<Apply<'a>, JobError> {
    let mut remarks = Remarks::default();
    for item in &job.amplitudes {
        let amplitude = amplitude(&item.value, &item.value.name).map_err(|text| item.place.error(text))?;
        match find_name(&model.setup.amplitudes, &amplitude.name, |a| &a.name) {
            Some(index) => {
                remarks.note(&item.place, format_args!("amplitude {} replaces the deck's", amplitude.name));
                model.setup.amplitudes[index] = amplitude;
            }
            None => model.setup.amplitudes.push(amplitude),
        }
    }
    let geometry = match spacing {
        None => Geometry::new(&model.mesh),
        Some(spacing) => Geometry::of_particles(&model.mesh, spacing),
    };
    let dimension = model.mesh.dimension as usize;
    let mut apply = Apply { geometry, mesh: &model.mesh, setup: &mut model.setup, remarks };
    for (index, item) in job.boundaries.iter().enumerate() {
        apply.boundary(item, index, dimension).map_err(|text| item.place.error(text))?;
    }
    // After the boundary conditions: of two that prescribe the same component the later wins, and a source is meant to move.
    for (index, item) in job.sources.iter().enumerate() {
        apply.source(item, index, dimension).map_err(|text| item.place.error(text))?;
    }
    for (index, item) in job.initial_velocities.iter().enumerate() {
        apply.initial_velocity(item, index, dimension).map_err(|text| item.place.error(text))?;
    }
    for (index, item) in job.monitors.iter().enumerate() {
        apply.monitor(item, index, dimension).map_err(|text| item.place.error(text))?;
    }
    Ok(apply)
}

struct Apply<'a> {
    mesh: &'a Mesh,
    geometry: Geometry<'a>,
    setup: &'a mut Setup,
    remarks: Remarks,
}

/// Nodes, and the share of each in a total where the region itself says it.
struct Nodes {
    nodes: Vec<u32>,
    weights: Option<Vec<f64>>,
}

impl From<Vec<u32>> for Nodes {
    fn from(nodes: Vec<u32>) -> Self {
        Self { nodes, weights: None }
    }
}

type Message<T> = Result<T, String>;

/// The name that a table gives itself, or its kind and number.
fn name_or(given: &Option<String>, kind: &str, index: usize) -> String {
    given.clone().unwrap_or_else(|| format!("{kind}{}", index + 1))
}

impl Apply<'_> {
    fn source(&mut self, item: &Located<job::Source>, index: usize, dimension: usize) -> Message<()> {
        let source = &item.value;
        let nodes = self.nodes(&item.place, source.region()?, source.tolerance)?;
        let direction = source.unit_direction(dimension)?;
        let name = name_or(&source.name, "SOURCE", index);
        let amplitude = self.amplitude(source.amplitude.as_ref(), &name)?;
        match source.action()? {
            Action::Force(magnitude) => {
                let weights = match nodes.weights {
                    Some(weights) => weights,
                    None if nodes.nodes.len() == 1 => vec![1.0],
                    None => area_fractions(self.mesh, &nodes.nodes).unwrap_or_else(|| {
                        let text = "these nodes are not a part of the surface: each takes the same force";
                        self.remarks.note(&item.place, text);
                        vec![1.0 / nodes.nodes.len() as f64; nodes.nodes.len()]
                    }),
                };
                let kind = LoadKind::Concentrated { nodes: nodes.nodes, weights, direction };
                let load = Load { name, kind, magnitude, amplitude };
                match find_name(&self.setup.loads, &load.name, |load| &load.name) {
                    Some(index) => {
                        self.remarks.note(&item.place, format_args!("source {} replaces the deck's load", load.name));
                        self.setup.loads[index] = load;
                    }
                    None => self.setup.loads.push(load),
                }
            }
            Action::Motion(kind, value) => {
                for component in (0..dimension).filter(|&component| direction[component] != 0.0) {
                    let value = value * direction[component];
                    let nodes = nodes.nodes.clone();
                    self.push_boundary(&name, nodes, component as u8, kind, value, amplitude);
                }
            }
        }
        Ok(())
    }

    fn boundary(&mut self, item: &Located<job::Boundary>, index: usize, dimension: usize) -> Message<()> {
        let boundary = &item.value;
        let name = name_or(&boundary.name, "FIX", index);
        let nodes = self.nodes(&item.place, boundary.region()?, boundary.tolerance)?.nodes;
        let amplitude = self.amplitude(boundary.amplitude.as_ref(), &name)?;
        let components = match &boundary.components {
            Components::All => (0..dimension as u8).collect(),
            Components::These(list) => list.iter().map(|component| component.0).collect::<Vec<_>>(),
        };
        let kind = boundary.kind.map_or(BoundaryKind::Displacement, |word| word.0);
        for component in components {
            exists(component, dimension)?;
            self.push_boundary(&name, nodes.clone(), component, kind, boundary.value, amplitude);
        }
        Ok(())
    }

    fn push_boundary(
        &mut self,
        name: &str,
        nodes: Vec<u32>,
        component: u8,
        kind: BoundaryKind,
        value: f64,
        amplitude: Option<u32>,
    ) {
        let name = unique(&format!("{name}.{}", component + 1), &self.setup.boundaries, |b| &b.name);
        self.setup.boundaries.push(Boundary { name, nodes, component, kind, value, amplitude });
    }

    fn initial_velocity(
        &mut self,
        item: &Located<job::InitialVelocity>,
        index: usize,
        dimension: usize,
    ) -> Message<()> {
        let given = &item.value;
        let name = name_or(&given.name, "VELOCITY", index);
        let nodes = self.nodes(&item.place, given.region()?, given.tolerance)?.nodes;
        let velocity = point(&given.velocity, dimension, "velocity")?;
        for (component, &value) in velocity.iter().enumerate().take(dimension).filter(|(_, value)| **value != 0.0) {
            let name = unique(&format!("{name}.{}", component + 1), &self.setup.initial_velocities, |v| &v.name);
            let entry = InitialVelocity { name, nodes: nodes.clone(), component: component as u8, value };
            self.setup.initial_velocities.push(entry);
        }
        Ok(())
    }

    fn monitor(&mut self, item: &Located<job::Monitor>, index: usize, dimension: usize) -> Message<()> {
        let monitor = &item.value;
        let nodes = match (monitor.region()?, monitor.points) {
            (Region::Line(ends), Some(points)) => {
                let [start, end] = self.ends(ends, "line")?;
                let mut nodes = Vec::new();
                for k in 0..points {
                    let fraction = k as f64 / (points - 1) as f64;
                    let at = [0, 1, 2].map(|axis| start[axis] + fraction * (end[axis] - start[axis]));
                    let node = self.nearest(&item.place, at, false)?;
                    if !nodes.contains(&node) {
                        nodes.push(node);
                    }
                }
                if nodes.len() < points {
                    let text = format!(
                        "{points} points of the line have only {}",
                        counted(nodes.len(), "different nearest node")
                    );
                    self.remarks.warn(&item.place, text);
                }
                nodes
            }
            (region, _) => self.nodes(&item.place, region, monitor.tolerance)?.nodes,
        };
        let variables = variables(&monitor.variables, dimension)?;
        let set = name_or(&monitor.name, "MONITOR", index);
        let request = HistoryRequest { set, nodes, variables, interval: monitor.when()? };
        match find_name(&self.setup.histories, &request.set, |history| &history.set) {
            Some(index) => {
                self.remarks.note(&item.place, format_args!("monitor {} replaces the deck's output", request.set));
                self.setup.histories[index] = request;
            }
            None => self.setup.histories.push(request),
        }
        Ok(())
    }

    fn absorbing(&mut self, item: &Located<Absorbing>, index: usize, dimension: usize) -> Message<()> {
        let given = &item.value;
        check_sides(&given.side, dimension)?;
        let bounds = self.geometry.bounds();
        let mut member = None;
        if let Some(name) = &given.elset {
            let mut inside = vec![false; self.mesh.n_elements()];
            for &element in &find_set(&self.mesh.element_sets, name, "element")?.members {
                inside[element as usize] = true;
            }
            member = Some(inside);
        }
        let is_member = |element: u32| member.as_ref().is_none_or(|inside| inside[element as usize]);
        let Layer { elements, depth_fraction } = layer(self.mesh, bounds, &given.side, given.depth, is_member);
        if elements.is_empty() {
            return Err(format!("no element lies within {} of that side", given.depth));
        }
        let name = name_or(&given.name, "LAYER", index);
        if elements.len() == self.mesh.n_elements() {
            self.remarks.warn(&item.place, format_args!("layer {name} covers every element of the mesh"));
        }
        self.setup.absorbing_layers.push(AbsorbingLayer { name, elements, depth_fraction, profile: given.law()? });
        Ok(())
    }

    /// Index of the amplitude that a table names or carries.
    fn amplitude(&mut self, reference: Option<&AmplitudeReference>, owner: &str) -> Message<Option<u32>> {
        add_amplitude(&mut self.setup.amplitudes, reference, owner)
    }

    fn ends(&self, ends: [&[f64]; 2], key: &str) -> Message<[[f64; 3]; 2]> {
        let dimension = self.mesh.dimension as usize;
        Ok([point(ends[0], dimension, key)?, point(ends[1], dimension, key)?])
    }

    fn nodes(&mut self, place: &Place, region: Region<'_>, tolerance: Option<f64>) -> Message<Nodes> {
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
                let set = find_set(&self.mesh.node_sets, name, "node")?;
                if set.members.is_empty() {
                    return Err(format!("node set {} has no node that an element uses", set.name));
                }
                Ok(set.members.clone().into())
            }
            Region::All => Ok((0..self.mesh.n_nodes() as u32).collect::<Vec<_>>().into()),
        }
    }

    /// The nearest node, with a note of how far it is (`tell`), or a warning when that is more than an element.
    fn nearest(&mut self, place: &Place, at: [f64; 3], tell: bool) -> Message<u32> {
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
    let label = mesh.node_labels[node as usize];
    match mesh.instances.get(usize::from(mesh.node_instance[node as usize])) {
        Some(instance) if !instance.is_empty() => format!("{instance}.{label}"),
        _ => label.to_string(),
    }
}

fn amplitude(given: &job::Amplitude, name: &str) -> Message<Amplitude> {
    Ok(Amplitude {
        name: name.to_owned(),
        shape: given.shape()?,
        scale: given.scale.unwrap_or(1.0),
        delay: given.delay.unwrap_or(0.0),
        absolute: false,
    })
}

/// Index of the amplitude that a table names or carries; one that it carries is added, named after `owner` if it has no name.
pub(crate) fn add_amplitude(
    amplitudes: &mut Vec<Amplitude>,
    reference: Option<&AmplitudeReference>,
    owner: &str,
) -> Message<Option<u32>> {
    let index = match reference {
        None => return Ok(None),
        Some(AmplitudeReference::Name(name)) => match find_name(amplitudes, name, |a| &a.name) {
            Some(index) => index,
            None => {
                let names = amplitudes.iter().map(|amplitude| amplitude.name.as_str());
                return Err(format!("there is no amplitude \"{name}\" in the job or the deck{}", listed(names)));
            }
        },
        Some(AmplitudeReference::Inline(given)) => {
            let name = if given.name.is_empty() { owner } else { &given.name };
            let name = unique(name, amplitudes, |amplitude| &amplitude.name);
            amplitudes.push(amplitude(given, &name)?);
            amplitudes.len() - 1
        }
    };
    Ok(Some(index as u32))
}

fn exists(component: u8, dimension: usize) -> Message<()> {
    if usize::from(component) < dimension {
        Ok(())
    } else {
        Err(format!("component {} does not exist in a {dimension}D mesh", component + 1))
    }
}

fn check_sides(sides: &Sides, dimension: usize) -> Message<()> {
    if sides.0.iter().any(|&(axis, _)| usize::from(axis) >= dimension) {
        return Err(format!("a {dimension}D mesh has no side across z"));
    }
    Ok(())
}

fn variables(given: &Variables, dimension: usize) -> Message<Vec<(NodalQuantity, u8)>> {
    let mut variables = Vec::new();
    for &(quantity, component) in &given.0 {
        let components = match component {
            Some(component) => component..component + 1,
            None => 0..dimension as u8,
        };
        for component in components {
            exists(component, dimension)?;
            if !variables.contains(&(quantity, component)) {
                variables.push((quantity, component));
            }
        }
    }
    Ok(variables)
}

/// Index of the item with this name: in the same case if there is one, else in any case, as Abaqus compares names.
pub(crate) fn find_name<T>(items: &[T], name: &str, name_of: impl Fn(&T) -> &str) -> Option<usize> {
    let exact = items.iter().position(|item| name_of(item) == name);
    exact.or_else(|| items.iter().position(|item| name_of(item).eq_ignore_ascii_case(name)))
}

/// `name`, or `name-2`, `name-3`, … when it is taken.
pub(crate) fn unique<T>(name: &str, items: &[T], name_of: impl Fn(&T) -> &str) -> String {
    let mut candidate = name.to_owned();
    let mut number = 2;
    while find_name(items, &candidate, &name_of).is_some() {
        candidate = format!("{name}-{number}");
        number += 1;
    }
    candidate
}

/// `; there are A, B, C`, at most ten names.
fn listed<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let names: Vec<&str> = names.collect();
    match names.len() {
        0 => "; there are none".to_owned(),
        n if n > 10 => format!("; there are {} and {} more", names[..10].join(", "), n - 10),
        _ => format!("; there are {}", names.join(", ")),
    }
}

/// A set by its name; `SET` also finds `INSTANCE.SET` where only one instance has it.
pub(crate) fn find_set<'s>(sets: &'s [NamedSet], name: &str, what: &str) -> Message<&'s NamedSet> {
    if let Some(index) = find_name(sets, name, |set| &set.name) {
        return Ok(&sets[index]);
    }
    let inside = |set: &&NamedSet| set.name.rsplit_once('.').is_some_and(|(_, own)| own.eq_ignore_ascii_case(name));
    let mut found = sets.iter().filter(inside);
    match (found.next(), found.next()) {
        (Some(set), None) => Ok(set),
        (Some(a), Some(b)) => Err(format!("{what} set {name} is ambiguous: write {} or {}", a.name, b.name)),
        (None, _) => Err(format!(
            "there is no {what} set {name} in the deck{}",
            listed(sets.iter().map(|set| set.name.as_str()))
        )),
    }
}

#[cfg(test)]
mod tests;
