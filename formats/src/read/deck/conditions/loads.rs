//! `*CLOAD`, `*DLOAD` and `*DSLOAD`.

use super::super::data::{Entry, entries};
use super::super::frame::unit;
use super::super::lexer::Card;
use super::super::log::Log;
use super::super::raw::Entity;
use super::super::sections::unique_name;
use super::super::surfaces::{faces_of, surface_faces};
use super::{Conditions, is_label};
use crate::dynamics::{Load, LoadKind};
use crate::mesh::NamedSet;

impl Conditions<'_> {
    /// Gives the name that the load has.
    fn push_load(&mut self, name: &str, kind: LoadKind, magnitude: f64, amplitude: Option<u32>) -> String {
        let name = unique_name(name, &mut self.load_names);
        self.deck.loads.push(Load { name: name.clone(), kind, magnitude, amplitude });
        name
    }

    pub(super) fn concentrated(&mut self, card: &Card, log: &mut Log) {
        let amplitude = self.amplitude_of(card, log);
        // As for boundary conditions, for ascending nodes (a node that comes twice is loaded twice).
        let mut run: Option<u32> = None;
        for entry in entries(card, log) {
            let expected = "a concentrated load is: set, component, magnitude";
            if entry.whole(1) == Some(8) && self.has_fluid() {
                self.volume(&entry, amplitude, log);
                continue;
            }
            if self.moment(&entry, amplitude, log) {
                continue;
            }
            let Some((nodes, dof, component, magnitude)) = self.nodal_value(&entry, expected, log) else { continue };
            let set = entry.text(0);
            if nodes.iter().any(|&node| self.linear.has_axes(node)) {
                run = None;
                for kind in self.linear.turned_loads(&nodes, component) {
                    self.push_load(&format!("{set}.{dof}"), kind, magnitude, amplitude);
                }
                continue;
            }
            let bare = is_label(&set);
            if bare
                && run == Some(dof)
                && let Some(Load { kind: LoadKind::Concentrated { nodes: to, .. }, magnitude: same, .. }) =
                    self.deck.loads.last_mut()
                && *same == magnitude
                && let &[node] = nodes.as_slice()
                && to.last().is_some_and(|last| *last < node)
            {
                to.push(node);
                continue;
            }
            run = bare.then_some(dof);
            let kind = LoadKind::Concentrated { nodes, weights: Vec::new(), direction: along(component.into()) };
            self.push_load(&format!("{set}.{dof}"), kind, magnitude, amplitude);
        }
    }

    /// Whether a line is a moment on reference nodes, which is read.
    fn moment(&mut self, entry: &Entry, amplitude: Option<u32>, log: &mut Log) -> bool {
        let Some(dof) = entry.whole(1).filter(|dof| (4..=6).contains(dof)) else { return false };
        let Some(nodes) = self.assembly.members(Entity::Node, &entry.text(0)) else { return false };
        let (Some(magnitude), false) = (entry.real(2), entry.has_more(3)) else { return false };
        if !self.rotates(dof, &nodes) {
            return false;
        }
        if nodes.iter().any(|&node| self.linear.has_axes(node)) {
            log.error(entry.place, "a moment on a node with *TRANSFORM: give reference nodes global axes");
            return true;
        }
        let name = unique_name(&format!("{}.{dof}", entry.text(0)), &mut self.load_names);
        let kind = LoadKind::Concentrated { nodes, weights: Vec::new(), direction: along(0) };
        self.linear.moment(dof as u8 - 1, Load { name, kind, magnitude, amplitude });
        true
    }

    /// A load on degree of freedom 8: the rate of the flow of volume into a fluid.
    fn volume(&mut self, entry: &Entry, amplitude: Option<u32>, log: &mut Log) {
        let Some(nodes) = self.nodes(entry, log) else { return };
        match entry.real(2) {
            Some(magnitude) if !entry.has_more(3) => {
                let kind = LoadKind::Volume { nodes, weights: Vec::new() };
                self.push_load(&format!("{}.8", entry.text(0)), kind, magnitude, amplitude);
            }
            _ => log.error(entry.place, "a load on a fluid is: set, 8, volume acceleration"),
        }
    }

    pub(super) fn distributed(&mut self, card: &Card, log: &mut Log) {
        let amplitude = self.amplitude_of(card, log);
        for entry in entries(card, log) {
            let (set, label) = (entry.text(0), entry.word(1));
            let found = match set.as_str() {
                "" => Some((0..self.assembly.n_elements).collect()),
                set => self.assembly.members(Entity::Element, set),
            };
            let Some(mut elements) = found else {
                let hint = self.assembly.hint(Entity::Element, &set);
                log.absent(entry.place, format!("there is no element or element set `{set}`{hint}"));
                continue;
            };
            // Springs and masses have gravity, too; a load that names no set is on all of them.
            let on_lines = self.lines && label == "GRAV";
            let is_of_set = on_lines && !set.is_empty();
            let codes = if is_of_set { elements.clone() } else { Vec::new() };
            elements.retain(|code| *code < self.assembly.n_elements);
            if elements.is_empty() && codes.is_empty() && (is_of_set || !on_lines) {
                let text = format!("element set `{set}` has no element that is computed: this line does nothing");
                log.warning(entry.place, text);
                if self.lines {
                    continue;
                }
            }
            let Some(magnitude) = entry.real(2) else {
                log.error(entry.place, "a distributed load is: element set, kind such as P1, BX or GRAV, magnitude");
                continue;
            };
            let Some(kind) = self.element_load(&label, elements, &entry, log) else { continue };
            more_than_read(&entry, if label == "GRAV" { 6 } else { 3 }, log);
            let name = if set.is_empty() { label } else { format!("{set}.{label}") };
            let name = self.push_load(&name, kind, magnitude, amplitude);
            if is_of_set {
                self.gravity_of_sets.push(NamedSet { name, members: codes });
            }
        }
    }

    /// What a line of `*DLOAD` with a label means for some elements.
    fn element_load(&self, label: &str, elements: Vec<u32>, entry: &Entry, log: &mut Log) -> Option<LoadKind> {
        let place = entry.place;
        if let Some(component) = ["BX", "BY", "BZ"].iter().position(|body| *body == label) {
            if component < usize::from(self.dimension) {
                return Some(LoadKind::Body { elements, direction: along(component) });
            }
            log.absent(place, format!("{label} does not exist in a 2D model"));
            return None;
        }
        if label == "GRAV" {
            let direction = direction(entry);
            if direction.is_none() {
                log.error(place, "GRAV is: element set, GRAV, magnitude, and a direction");
            }
            return direction.map(|direction| LoadKind::Gravity { elements, direction });
        }
        let Some(face) = label.strip_prefix('P').and_then(|n| n.parse::<usize>().ok()).filter(|n| *n > 0) else {
            log.error(place, other_load(label));
            return None;
        };
        match faces_of(&self.assembly.mesh, &elements, face) {
            Ok((faces, owners)) => {
                if faces.is_empty() && !elements.is_empty() {
                    let text = format!("face {face} has vanished, as its corners are one node or two");
                    log.warning(place, text + ": this line does nothing");
                }
                Some(LoadKind::Pressure { faces, elements: owners })
            }
            Err(what) => {
                log.error(place, what);
                None
            }
        }
    }

    pub(super) fn on_surface(&mut self, card: &Card, log: &mut Log) {
        let amplitude = self.amplitude_of(card, log);
        for entry in entries(card, log) {
            let (place, surface, label) = (entry.place, entry.text(0), entry.word(1));
            let Some(magnitude) = entry.real(2) else {
                log.error(place, "a surface load is: surface, P or TRVEC, magnitude");
                continue;
            };
            let Some((faces, elements)) = surface_faces(self.assembly, &surface, place, log) else { continue };
            if faces.is_empty() {
                let text = format!("surface `{surface}` has no face of an element that is computed");
                log.warning(place, text + ": this line does nothing");
            }
            let kind = match (label.as_str(), direction(&entry)) {
                ("P", _) => LoadKind::Pressure { faces, elements },
                ("TRVEC", Some(direction)) => LoadKind::Traction { faces, elements, direction },
                ("TRVEC", None) => {
                    log.error(place, "TRVEC is: surface, TRVEC, magnitude, and a direction");
                    continue;
                }
                _ => {
                    let text = "P and TRVEC are; --ignore DSLOAD leaves all surface loads out";
                    log.error(place, format!("surface load `{label}` is not supported: {text}"));
                    continue;
                }
            };
            more_than_read(&entry, if label == "P" { 3 } else { 6 }, log);
            self.push_load(&format!("{surface}.{label}"), kind, magnitude, amplitude);
        }
    }
}

/// Notes what stands behind the first `n` fields of a line.
fn more_than_read(entry: &Entry, n: usize, log: &mut Log) {
    if entry.has_more(n) {
        log.note(entry.place, format!("what stands behind the first {n} fields of this load is without effect"));
    }
}

/// What a distributed load is that is not computed.
fn other_load(label: &str) -> String {
    let what = match label {
        "CENTRIF" | "CENT" | "ROTA" | "CORIO" | "ROTDYNF" => " (a body that turns)",
        "NEWTON" => " (gravity between bodies)",
        "P" | "PX" | "PY" | "PZ" | "TRSHR" | "TRVEC" => " (a load of shells or beams)",
        _ if label.ends_with("NU") => " (a user subroutine)",
        _ if label.starts_with("HP") => " (a pressure that grows with depth)",
        _ if label.starts_with("VP") || label.starts_with("SP") => " (a viscous or stagnation pressure)",
        _ if label.starts_with("ED") => " (a load on the edges of shells)",
        _ if label.starts_with('F') => " (an elastic foundation)",
        _ => "",
    };
    let text = "P1 to P6, BX, BY, BZ and GRAV are; --ignore DLOAD leaves all distributed loads out";
    format!("distributed load `{label}`{what} is not supported: {text}")
}

/// The unit vector along a component.
fn along(component: usize) -> [f64; 3] {
    std::array::from_fn(|k| if k == component { 1. } else { 0. })
}

/// A unit vector from up to three fields behind a magnitude.
fn direction(entry: &Entry) -> Option<[f64; 3]> {
    unit([3, 4, 5].map(|at| entry.real(at).unwrap_or(0.)))
}
