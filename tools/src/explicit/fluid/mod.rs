//! Fluids in a model: conditions and output requests go to the nodes of the matter that they are for.
//!
//! A node of a fluid has a pressure and no displacement. So forces, motions and initial velocities are those of solids, pressures,
//! flows and constraints of pressures those of fluids, and a request of a set with nodes of both is divided.

mod split;

use pogo_formats::dynamics::{Boundary, BoundaryKind, HistoryRequest, LinearTerm, LoadKind, NodalQuantity};
use pogo_formats::explicit::{Interface, Model, Setup};
use pogo_formats::mesh::{Mesh, user_label};
use pogo_formats::words::counted;

use self::split::Twins;
pub(super) use self::split::join_pairs;
use crate::prepare::Remarks;

/// Divides the nodes that solids and fluids share, and the conditions of a model with fluids.
///
/// # Errors
/// A message for a condition that no node can have.
pub(super) fn divide(model: &mut Model, input: &str, remarks: &mut Remarks) -> Result<(), String> {
    let is_acoustic = |of_fluid: bool| {
        let groups = model.mesh.groups.iter();
        groups.filter(move |group| group.kind.is_acoustic() == of_fluid).any(|group| !group.is_empty())
    };
    if !is_acoustic(true) {
        return without_fluids(&model.setup);
    }
    let is_mixed = is_acoustic(false);
    let twins = split::split(&mut model.mesh)?;
    let mut notes = Vec::new();
    let mut ties = std::mem::take(&mut model.setup.interface.ties);
    if is_mixed {
        notes.extend(match twins.interface.elements.len() {
            0 if ties.is_empty() => {
                Some("no fluid touches a solid: they share no face, and no *TIE joins them".to_owned())
            }
            0 => None,
            n => Some(format!("fluids touch solids at {}", counted(n, "face"))),
        });
    }
    let matter = Matter::new(&model.mesh, &twins);
    ties.renumber_fluid(|node| twins.fluid_of.get(&node).copied().unwrap_or(node));
    model.setup.interface = Interface { ties, ..twins.interface };
    for term in model.setup.linear.terms.iter_mut().filter(|term| term.component == LinearTerm::PRESSURE) {
        term.node = twins.fluid_of.get(&term.node).copied().unwrap_or(term.node);
    }
    loads(&mut model.setup, &model.mesh, &matter, &mut notes)?;
    boundaries(&mut model.setup, &matter, &mut notes)?;
    histories(&mut model.setup, &model.mesh, &matter, &mut notes)?;
    remarks.notes.extend(notes.into_iter().map(|note| format!("{input}: note: {note}")));
    Ok(())
}

/// Refuses what only fluids have.
fn without_fluids(setup: &Setup) -> Result<(), String> {
    let volume = setup.loads.iter().find(|load| matches!(load.kind, LoadKind::Volume { .. })).map(|load| &load.name);
    let held = setup.boundaries.iter().find(|held| held.kind == BoundaryKind::Pressure).map(|held| &held.name);
    let pressure = |history: &&HistoryRequest| history.variables.iter().any(|v| v.0 == NodalQuantity::Pressure);
    let traced = setup.histories.iter().find(pressure).map(|history| &history.set);
    match volume.or(held).or(traced) {
        Some(name) => Err(format!(
            "`{name}` is for fluids, and the model has none: give elements AC2D3, AC2D4, AC3D4, AC3D8, …, or a material with `bulk`"
        )),
        None => Ok(()),
    }
}

/// Which nodes and elements are those of fluids.
struct Matter {
    nodes: Vec<bool>,
    elements: Vec<bool>,
    /// The node of the fluid, by that of the solid at its place.
    fluid_of: std::collections::HashMap<u32, u32>,
}

impl Matter {
    fn new(mesh: &Mesh, twins: &Twins) -> Self {
        let nodes = mesh.view().fluid_nodes();
        let of_group = |group: &pogo_formats::mesh::ElementGroup| vec![group.kind.is_acoustic(); group.len()];
        let elements = mesh.groups.iter().flat_map(of_group).collect();
        Self { nodes, elements, fluid_of: twins.fluid_of.clone() }
    }

    fn is_fluid(&self, node: u32) -> bool {
        self.nodes[node as usize]
    }

    /// The node of a fluid, or of a solid, that stands for a node of the deck.
    fn side(&self, node: u32, of_fluid: bool) -> Option<u32> {
        let twin = if of_fluid { self.fluid_of.get(&node).copied() } else { None };
        twin.or_else(|| (self.is_fluid(node) == of_fluid).then_some(node))
    }

    /// Keeps the nodes of fluids, or those of solids, with their rows of `n` weights.
    fn keep(&self, nodes: &mut Vec<u32>, weights: &mut Vec<f64>, n: usize, of_fluid: bool) {
        if !weights.is_empty() {
            let rows = nodes.iter().zip(weights.chunks(n.max(1)));
            let kept = rows.filter(|(node, _)| self.side(**node, of_fluid).is_some()).flat_map(|(_, row)| row);
            *weights = kept.copied().collect();
        }
        *nodes = nodes.iter().filter_map(|&node| self.side(node, of_fluid)).collect();
    }
}

fn label(mesh: &Mesh, node: u32) -> String {
    let node = node as usize;
    user_label(&mesh.instances, mesh.node_instance[node], mesh.node_labels[node])
}

fn loads(setup: &mut Setup, mesh: &Mesh, matter: &Matter, notes: &mut Vec<String>) -> Result<(), String> {
    for load in &mut setup.loads {
        let name = &load.name;
        match &mut load.kind {
            LoadKind::Concentrated { nodes, .. } => {
                if let Some(&node) = nodes.iter().find(|&&node| matter.is_fluid(node)) {
                    let label = label(mesh, node);
                    let text =
                        "which has no displacement: give a `volume_acceleration` (degree of freedom 8) or a pressure";
                    return Err(format!("load `{name}` is a force on node {label} of a fluid, {text}"));
                }
            }
            LoadKind::Volume { nodes, weights } => {
                matter.keep(nodes, weights, 1, true);
                if nodes.is_empty() {
                    return Err(format!(
                        "load `{name}` is a flow into a fluid, and none of its nodes is one of a fluid"
                    ));
                }
            }
            LoadKind::Pressure { elements, .. } | LoadKind::Traction { elements, .. } => {
                if elements.iter().any(|&element| matter.elements[element as usize]) {
                    let text = "which takes none: prescribe the pressure of its nodes (degree of freedom 8)";
                    return Err(format!("load `{name}` acts on faces of a fluid, {text}"));
                }
            }
            LoadKind::Body { elements, .. } | LoadKind::Gravity { elements, .. } => {
                let before = elements.len();
                elements.retain(|&element| !matter.elements[element as usize]);
                if elements.len() < before {
                    let n = counted(before - elements.len(), "element");
                    notes.push(format!("load `{name}` does nothing in {n} of fluids"));
                }
            }
        }
    }
    setup.loads.retain(|load| match &load.kind {
        LoadKind::Body { elements, .. } | LoadKind::Gravity { elements, .. } => !elements.is_empty(),
        _ => true,
    });
    Ok(())
}

fn boundaries(setup: &mut Setup, matter: &Matter, notes: &mut Vec<String>) -> Result<(), String> {
    let mut idle = Vec::new();
    for Boundary { name, nodes, kind, value, .. } in &mut setup.boundaries {
        let of_fluid = *kind == BoundaryKind::Pressure;
        matter.keep(nodes, &mut Vec::new(), 1, of_fluid);
        if nodes.is_empty() && *value != 0.0 {
            let what = if of_fluid { "a pressure, and none of its nodes is one of a fluid" } else { OF_SOLIDS };
            return Err(format!("boundary `{name}` prescribes {what}"));
        }
        if nodes.is_empty() {
            idle.push(name.clone());
        }
    }
    setup.boundaries.retain(|held| !held.nodes.is_empty());
    for initial in &mut setup.initial_velocities {
        matter.keep(&mut initial.nodes, &mut Vec::new(), 1, false);
        if initial.nodes.is_empty() {
            idle.push(initial.name.clone());
        }
    }
    setup.initial_velocities.retain(|initial| !initial.nodes.is_empty());
    if !idle.is_empty() {
        notes.push(format!("conditions left out, as no node has what they prescribe: {}", idle.join(", ")));
    }
    Ok(())
}

const OF_SOLIDS: &str =
    "a motion, and all of its nodes are those of fluids, which have none: give a pressure (degree of freedom 8)";

fn histories(setup: &mut Setup, mesh: &Mesh, matter: &Matter, notes: &mut Vec<String>) -> Result<(), String> {
    let mut idle = Vec::new();
    let mut divided = Vec::new();
    for history in setup.histories.drain(..) {
        let mut found = false;
        for of_fluid in [false, true] {
            let mut part = history.clone();
            part.variables.retain(|&(quantity, _)| (quantity == NodalQuantity::Pressure) == of_fluid);
            if part.variables.is_empty() {
                continue;
            }
            let n = part.variables.len();
            let lost = part.nodes.iter().find(|&&node| matter.side(node, of_fluid).is_none()).copied();
            if let (Some(node), false) = (lost, part.weights.is_empty()) {
                let (label, has) = (label(mesh, node), if of_fluid { "pressure" } else { "displacement" });
                return Err(format!("the weighted sum `{}` has node {label}, which has no {has}", history.set));
            }
            matter.keep(&mut part.nodes, &mut part.weights, n, of_fluid);
            if !part.nodes.is_empty() {
                divided.push(part);
                found = true;
            }
        }
        if !found {
            idle.push(history.set);
        }
    }
    setup.histories = divided;
    for history in &mut setup.element_histories {
        history.elements.retain(|&element| !matter.elements[element as usize]);
        if history.elements.is_empty() {
            idle.push(history.set.clone());
        }
    }
    setup.element_histories.retain(|history| !history.elements.is_empty());
    if !idle.is_empty() {
        let text = "fluids have POR at nodes, and solids the others";
        notes.push(format!("histories left out, as nothing has what they ask for ({text}): {}", idle.join(", ")));
    }
    Ok(())
}
