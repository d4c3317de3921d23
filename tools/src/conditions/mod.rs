//! Conditions of dynamics that a job adds to a model: sources and monitors by coordinates or sets, boundary conditions,
//! initial velocities. Elements and particles take the same ones.

mod area;
mod geometry;
mod names;
mod region;

use pogo_formats::dynamics::{
    Amplitude, Boundary, BoundaryKind, HistoryRequest, InitialVelocity, Load, LoadKind, NodalQuantity,
};
use pogo_formats::job::{
    self, Action, AmplitudeReference, Components, Dynamics, JobError, Located, Region, Variables, point,
};
use pogo_formats::mesh::Mesh;
use pogo_formats::words::{counted, listed};

use crate::prepare::Remarks;

pub use area::area_fractions;
pub use geometry::Geometry;
#[cfg(test)]
pub use geometry::{Nearest, tributary_fractions};
pub use names::{find_name, find_set, name_or, unique};
pub use region::check_sides;

/// What acts on a model of dynamics and what is recorded at its nodes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Conditions {
    pub amplitudes: Vec<Amplitude>,
    pub loads: Vec<Load>,
    pub boundaries: Vec<Boundary>,
    pub initial_velocities: Vec<InitialVelocity>,
    pub histories: Vec<HistoryRequest>,
}

impl Conditions {
    /// Replaces every node index; elements keep theirs. `new_from_old` has one entry a node; the padding of faces
    /// (`u32::MAX`) stays.
    pub fn renumber(&mut self, new_from_old: &[u32]) {
        let renumber = |nodes: &mut [u32]| {
            for node in nodes {
                if let Some(&new) = new_from_old.get(*node as usize) {
                    *node = new;
                }
            }
        };
        for load in &mut self.loads {
            match &mut load.kind {
                LoadKind::Concentrated { nodes, .. } | LoadKind::Volume { nodes, .. } => renumber(nodes),
                LoadKind::Pressure { faces, .. } | LoadKind::Traction { faces, .. } => {
                    faces.iter_mut().for_each(|face| renumber(face));
                }
                LoadKind::Body { .. } | LoadKind::Gravity { .. } => {}
            }
        }
        self.boundaries.iter_mut().for_each(|boundary| renumber(&mut boundary.nodes));
        self.initial_velocities.iter_mut().for_each(|velocity| renumber(&mut velocity.nodes));
        self.histories.iter_mut().for_each(|history| renumber(&mut history.nodes));
    }

    /// Adds the job's amplitudes, boundary conditions, sources, initial velocities and monitors.
    ///
    /// # Errors
    /// [`JobError`] for a set, amplitude or component that does not exist, and for a place without a node.
    pub fn apply(&mut self, geometry: &Geometry, job: &Dynamics, remarks: &mut Remarks) -> Result<(), JobError> {
        each(&job.amplitudes, |item, _| {
            let amplitude = amplitude(&item.value, &item.value.name)?;
            if put(&mut self.amplitudes, amplitude, |amplitude| &amplitude.name) {
                remarks.note(&item.place, format_args!("amplitude {} replaces the deck's", item.value.name));
            }
            Ok(())
        })?;
        let mut apply = Apply { geometry, mesh: geometry.mesh(), conditions: self, remarks };
        each(&job.boundaries, |item, index| apply.boundary(item, index))?;
        // After the boundary conditions: of two that prescribe the same component the later one holds, and that must be the
        // source.
        each(&job.sources, |item, index| apply.source(item, index))?;
        each(&job.initial_velocities, |item, index| apply.initial_velocity(item, index))?;
        each(&job.monitors, |item, index| apply.monitor(item, index))
    }
}

/// Goes through the tables of one kind of a job, each with its number from 0, until the first error.
pub fn each<T>(
    tables: &[Located<T>],
    mut apply: impl FnMut(&Located<T>, usize) -> Message<()>,
) -> Result<(), JobError> {
    let mut numbered = tables.iter().enumerate();
    numbered.try_for_each(|(index, item)| apply(item, index).map_err(|text| item.place.error(text)))
}

/// Puts an item in the place of one of the same name, or behind all; says whether it replaced one.
fn put<T>(items: &mut Vec<T>, item: T, name_of: impl Fn(&T) -> &str) -> bool {
    match find_name(items, name_of(&item), &name_of) {
        Some(index) => items[index] = item,
        None => {
            items.push(item);
            return false;
        }
    }
    true
}

/// Applies the tables of one job.
struct Apply<'a> {
    mesh: &'a Mesh,
    geometry: &'a Geometry<'a>,
    conditions: &'a mut Conditions,
    remarks: &'a mut Remarks,
}

/// The error is a message without its place.
pub type Message<T> = Result<T, String>;

impl Apply<'_> {
    fn dimension(&self) -> usize {
        self.mesh.dimension as usize
    }

    fn source(&mut self, item: &Located<job::Source>, index: usize) -> Message<()> {
        let source = &item.value;
        let nodes = self.nodes(&item.place, source.region()?, source.tolerance)?;
        let name = name_or(&source.name, "SOURCE", index);
        let amplitude = add_amplitude(&mut self.conditions.amplitudes, source.amplitude.as_ref(), &name)?;
        match source.action()? {
            action @ (Action::Force(magnitude) | Action::Volume(magnitude)) => {
                let is_force = matches!(action, Action::Force(_));
                let weights = match nodes.weights {
                    Some(weights) => weights,
                    None if nodes.nodes.len() == 1 => vec![1.0],
                    None => area_fractions(self.mesh, &nodes.nodes).unwrap_or_else(|| {
                        let what = if is_force { "force" } else { "flow" };
                        let text = format!("these nodes are not a part of the surface: each takes the same {what}");
                        self.remarks.note(&item.place, text);
                        vec![1.0 / nodes.nodes.len() as f64; nodes.nodes.len()]
                    }),
                };
                let kind = if is_force {
                    let direction = source.unit_direction(self.dimension())?;
                    LoadKind::Concentrated { nodes: nodes.nodes, weights, direction }
                } else {
                    LoadKind::Volume { nodes: nodes.nodes, weights }
                };
                let text = format!("source {name} replaces the deck's load");
                let load = Load { name, kind, magnitude, amplitude };
                if put(&mut self.conditions.loads, load, |load| &load.name) {
                    self.remarks.note(&item.place, text);
                }
            }
            Action::Pressure(value) => {
                self.push_pressure(&name, nodes.nodes, value, amplitude);
            }
            Action::Motion(kind, value) => {
                let direction = source.unit_direction(self.dimension())?;
                for component in (0..self.dimension()).filter(|&component| direction[component] != 0.0) {
                    let value = value * direction[component];
                    let nodes = nodes.nodes.clone();
                    self.push_boundary(&name, nodes, component as u8, kind, value, amplitude);
                }
            }
        }
        Ok(())
    }

    fn boundary(&mut self, item: &Located<job::Boundary>, index: usize) -> Message<()> {
        let boundary = &item.value;
        let name = name_or(&boundary.name, "FIX", index);
        let nodes = self.nodes(&item.place, boundary.region()?, boundary.tolerance)?.nodes;
        let amplitude = add_amplitude(&mut self.conditions.amplitudes, boundary.amplitude.as_ref(), &name)?;
        if boundary.kind.is_some_and(|word| word.0 == BoundaryKind::Pressure) {
            self.push_pressure(&name, nodes, boundary.value, amplitude);
            return Ok(());
        }
        let components = match &boundary.components {
            Components::All => (0..self.dimension() as u8).collect(),
            Components::These(list) => list.iter().map(|component| component.0).collect::<Vec<_>>(),
        };
        let kind = boundary.kind.map_or(BoundaryKind::Displacement, |word| word.0);
        for component in components {
            exists(component, self.dimension())?;
            self.push_boundary(&name, nodes.clone(), component, kind, boundary.value, amplitude);
        }
        Ok(())
    }

    /// Prescribes the pressure of nodes of a fluid.
    fn push_pressure(&mut self, name: &str, nodes: Vec<u32>, value: f64, amplitude: Option<u32>) {
        let name = unique(&format!("{name}.8"), &self.conditions.boundaries, |b| &b.name);
        let kind = BoundaryKind::Pressure;
        self.conditions.boundaries.push(Boundary { name, nodes, component: 0, kind, value, amplitude });
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
        let name = unique(&format!("{name}.{}", component + 1), &self.conditions.boundaries, |b| &b.name);
        self.conditions.boundaries.push(Boundary { name, nodes, component, kind, value, amplitude });
    }

    fn initial_velocity(&mut self, item: &Located<job::InitialVelocity>, index: usize) -> Message<()> {
        let given = &item.value;
        let name = name_or(&given.name, "VELOCITY", index);
        let nodes = self.nodes(&item.place, given.region()?, given.tolerance)?.nodes;
        let velocity = point(&given.velocity, self.dimension(), "velocity")?;
        for (component, &value) in
            velocity.iter().enumerate().take(self.dimension()).filter(|(_, value)| **value != 0.0)
        {
            let name = unique(&format!("{name}.{}", component + 1), &self.conditions.initial_velocities, |v| &v.name);
            let entry = InitialVelocity { name, nodes: nodes.clone(), component: component as u8, value };
            self.conditions.initial_velocities.push(entry);
        }
        Ok(())
    }

    fn monitor(&mut self, item: &Located<job::Monitor>, index: usize) -> Message<()> {
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
        let variables = variables(&monitor.variables, self.dimension())?;
        let set = name_or(&monitor.name, "MONITOR", index);
        let text = format!("monitor {set} replaces the deck's output");
        let weights = weights(monitor, nodes.len())?;
        let request = HistoryRequest { set, nodes, variables, weights, interval: monitor.when()? };
        if put(&mut self.conditions.histories, request, |history| &history.set) {
            self.remarks.note(&item.place, text);
        }
        Ok(())
    }
}

/// The weights of a monitor's nodes: one each, or one for all.
fn weights(monitor: &job::Monitor, n_nodes: usize) -> Message<Vec<f64>> {
    match monitor.weights.as_ref().map(|list| list.0.as_slice()) {
        None => Ok(Vec::new()),
        Some(&[weight]) => Ok(vec![weight; n_nodes]),
        Some(weights) if weights.len() == n_nodes => Ok(weights.to_vec()),
        Some(weights) => {
            let n = counted(n_nodes, "node");
            Err(format!("{} in `weights` for {n}; give one each, or one for all", counted(weights.len(), "number")))
        }
    }
}

fn amplitude(given: &job::Amplitude, name: &str) -> Message<Amplitude> {
    Ok(Amplitude {
        scale: given.scale.unwrap_or(1.0),
        delay: given.delay.unwrap_or(0.0),
        ..Amplitude::new(name, given.shape()?)
    })
}

/// Index of the amplitude that a table names or carries. One that it carries is added, with the name `owner` if it has none.
///
/// # Errors
/// No amplitude of that name, or one that is not valid.
pub fn add_amplitude(
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

fn variables(given: &Variables, dimension: usize) -> Message<Vec<(NodalQuantity, u8)>> {
    let mut variables = Vec::new();
    for &(quantity, component) in &given.0 {
        let components = match component {
            Some(component) => component..component + 1,
            None => 0..quantity.n_components(dimension as u8),
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

#[cfg(test)]
mod tests {
    use pogo_formats::dynamics::OutputInterval;

    use super::*;

    #[test]
    fn renumbering_reaches_every_node_and_leaves_padding_and_elements() {
        let load = |kind| Load { name: String::new(), kind, magnitude: 1.0, amplitude: None };
        let direction = [1.0, 0.0, 0.0];
        let faces = vec![[0, 1, u32::MAX, u32::MAX]];
        let mut conditions = Conditions {
            amplitudes: vec![],
            loads: vec![
                load(LoadKind::Concentrated { nodes: vec![0, 2], weights: vec![], direction }),
                load(LoadKind::Pressure { faces: faces.clone(), elements: vec![0] }),
                load(LoadKind::Traction { faces, elements: vec![0], direction }),
                load(LoadKind::Body { elements: vec![0, 1], direction }),
            ],
            boundaries: vec![Boundary {
                name: String::new(),
                nodes: vec![1],
                component: 0,
                kind: BoundaryKind::Displacement,
                value: 0.0,
                amplitude: None,
            }],
            initial_velocities: vec![InitialVelocity {
                name: String::new(),
                nodes: vec![2, 1],
                component: 0,
                value: 1.0,
            }],
            histories: vec![HistoryRequest {
                set: String::new(),
                nodes: vec![0],
                variables: vec![],
                weights: Vec::new(),
                interval: OutputInterval::Increments(1),
            }],
        };
        conditions.renumber(&[2, 0, 1]);
        let LoadKind::Concentrated { nodes, .. } = &conditions.loads[0].kind else { panic!() };
        assert_eq!(nodes, &[2, 1]);
        for load in &conditions.loads[1..3] {
            let (LoadKind::Pressure { faces, elements } | LoadKind::Traction { faces, elements, .. }) = &load.kind
            else {
                panic!()
            };
            assert_eq!((faces[0], elements[0]), ([2, 0, u32::MAX, u32::MAX], 0));
        }
        let LoadKind::Body { elements, .. } = &conditions.loads[3].kind else { panic!() };
        assert_eq!(elements, &[0, 1]);
        assert_eq!(conditions.boundaries[0].nodes, [0]);
        assert_eq!(conditions.initial_velocities[0].nodes, [1, 0]);
        assert_eq!(conditions.histories[0].nodes, [2]);
    }
}
