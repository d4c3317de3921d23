//! Amplitudes, the procedure, boundary conditions, initial conditions and loads.

mod loads;

use std::collections::HashSet;

use super::assembly::Assembly;
use super::data::{Entry, entries, numbers};
use super::keywords::IgnoreList;
use super::lexer::{Card, Place};
use super::linear::{Held, Linear, ROTATION};
use super::log::Log;
use super::raw::{Entity, RawDeck};
use super::sections::unique_name;
use super::{Deck, Step};
use crate::dynamics::{Amplitude, AmplitudeShape, Boundary, BoundaryKind, Increment, InitialVelocity, Start};
use crate::mesh::NamedSet;

/// Share of the elements' stable increment that an automatic increment takes where the deck gives no `SCALE FACTOR=`.
const SAFETY: f64 = 0.95;

/// Keywords that join nodes which carry no element, and turn, to others.
pub(super) const CARRIERS: &[&str] =
    &["COUPLING", "RIGID BODY", "EQUATION", "MPC", "PRE-TENSION SECTION", "EMBEDDED ELEMENT"];

/// The way round boundary conditions that are not computed.
const LEAVES_OUT: &str = "--ignore BOUNDARY leaves all boundary conditions out";

/// Prescribed degrees of freedom (1 to 6) of the named kinds.
const NAMED_KINDS: &[(&str, &[u8])] = &[
    ("XSYMM", &[1, 5, 6]),
    ("YSYMM", &[2, 4, 6]),
    ("ZSYMM", &[3, 4, 5]),
    ("XASYMM", &[2, 3, 4]),
    ("YASYMM", &[1, 3, 5]),
    ("ZASYMM", &[1, 2, 6]),
    ("ENCASTRE", &[1, 2, 3, 4, 5, 6]),
    ("PINNED", &[1, 2, 3]),
];

pub(super) struct Conditions<'a> {
    assembly: &'a Assembly,
    dimension: u8,
    ignore: &'a IgnoreList,
    /// The deck is of springs, which turn with their ends whatever the step says.
    lines: bool,
    /// What is read goes here.
    deck: &'a mut Deck,
    /// Elements of every `GRAV` with a set, by code, where springs and masses are wanted.
    gravity_of_sets: Vec<NamedSet>,
    load_names: HashSet<String>,
    boundary_names: HashSet<String>,
    initial_names: HashSet<String>,
    /// Amplitude of what names none (`*STEP, AMPLITUDE=RAMP`).
    default_amplitude: Option<u32>,
    /// Names of amplitudes that could not be read. What refers to them gives no further error.
    bad_amplitudes: Vec<String>,
    /// Boundary conditions from before the step: those of displacements, and those of rotations and of own axes.
    n_model_boundaries: [usize; 2],
    linear: Linear<'a>,
}

impl<'a> Conditions<'a> {
    pub fn new(assembly: &'a Assembly, ignore: &'a IgnoreList, lines: bool, deck: &'a mut Deck) -> Self {
        Self {
            assembly,
            dimension: assembly.mesh.dimension as u8,
            ignore,
            lines,
            deck,
            gravity_of_sets: Vec::new(),
            load_names: HashSet::new(),
            boundary_names: HashSet::new(),
            initial_names: HashSet::new(),
            default_amplitude: None,
            bad_amplitudes: Vec::new(),
            n_model_boundaries: [0; 2],
            linear: Linear::new(assembly),
        }
    }

    /// Reads all cards of a deck. Returns the gravity of sets where springs and masses are wanted.
    pub fn read(mut self, raw: &RawDeck, log: &mut Log) -> Vec<NamedSet> {
        // What others refer to comes first: a deck may define it after its use.
        for card in raw.cards.iter().map(|c| &c.card) {
            match card.keyword.key.as_str() {
                "AMPLITUDE" => self.amplitude(card, log),
                "DYNAMIC" => self.dynamic(card, log),
                _ => {}
            }
        }
        if let (Some(ramp), Some(step)) = (raw.steps.first().filter(|s| s.ramp), self.deck.step) {
            log.note(ramp.place, "AMPLITUDE=RAMP: what names no amplitude grows linearly over the step");
            self.default_amplitude = Some(self.deck.amplitudes.len() as u32);
            let (times, values) = (vec![0., step.time], vec![0., 1.]);
            self.push_amplitude("RAMP", AmplitudeShape::Tabular { times, values }, false);
        }
        let mut stepped = false;
        if !self.lines {
            self.linear.read(raw, log);
        }
        for entry in &raw.cards {
            if entry.in_step && !stepped {
                stepped = true;
                self.n_model_boundaries = [self.deck.boundaries.len(), self.linear.deck.prescribed.len()];
            }
            let card = &entry.card;
            match card.keyword.key.as_str() {
                "BOUNDARY" => self.boundary(card, entry.in_step, log),
                "CLOAD" => self.concentrated(card, log),
                "DLOAD" => self.distributed(card, log),
                "DSLOAD" => self.on_surface(card, log),
                "INITIALCONDITIONS" => self.initial(card, log),
                "BULKVISCOSITY" => {
                    let values = numbers(card, log);
                    if values.iter().flatten().any(|v| *v != 0.) || values.is_empty() {
                        log.note(card.keyword.place, "no bulk viscosity is applied");
                    }
                }
                "STEP" if self.deck.step.is_some() => {
                    let place = card.keyword.place;
                    let nlgeom = card.keyword.get("NLGEOM").map(|_| card.keyword.word("NLGEOM") != "NO");
                    let text = "nlgeom: solved as small-strain linear";
                    match (nlgeom, self.lines) {
                        (None, false) => log.note(place, text),
                        // Who writes it means it.
                        (Some(true), false) => log.warning(place, text),
                        (Some(false), true) => log.note(place, "NLGEOM=NO: springs turn with their ends all the same"),
                        _ => {}
                    }
                }
                _ => {}
            }
        }
        self.deck.linear = self.linear.deck;
        self.gravity_of_sets
    }

    fn amplitude(&mut self, card: &Card, log: &mut Log) {
        let (place, name) = (card.keyword.place, card.keyword.value("NAME"));
        if self.deck.amplitudes.iter().any(|a| a.name.eq_ignore_ascii_case(name)) {
            return log.error(place, format!("amplitude `{name}` is defined twice"));
        }
        match amplitude_shape(card, log) {
            // Refused already.
            _ if card.keyword.has("USER") => self.bad_amplitudes.push(name.to_owned()),
            Ok(shape) => self.push_amplitude(name, shape, card.keyword.word("VALUE") == "ABSOLUTE"),
            Err(what) => {
                log.error(place, format!("amplitude `{name}`{what}"));
                self.bad_amplitudes.push(name.to_owned());
            }
        }
    }

    fn push_amplitude(&mut self, name: &str, shape: AmplitudeShape, absolute: bool) {
        self.deck.amplitudes.push(Amplitude { name: name.to_owned(), shape, scale: 1., delay: 0., absolute });
    }

    fn dynamic(&mut self, card: &Card, log: &mut Log) {
        let place = card.keyword.place;
        if self.deck.step.is_some() {
            return log.error(place, "a second *DYNAMIC, EXPLICIT in one step");
        }
        let values = numbers(card, log).into_iter().next().unwrap_or_default();
        let value = |i: usize| values.get(i).copied().unwrap_or(0.);
        let (first, time, least, largest) = (value(0), value(1), value(2), value(3));
        if time <= 0. {
            return log.error(place, "*DYNAMIC, EXPLICIT needs the step's time as its second number");
        }
        let increment = if card.keyword.has("DIRECTUSERCONTROL") || card.keyword.has("DIRECT") {
            if first <= 0. {
                return log.error(place, "DIRECT USER CONTROL needs the increment as its first number");
            }
            Increment::Fixed(first)
        } else if first > 0. && first == largest {
            // The one way to force an increment without DIRECT: the first is also the largest.
            Increment::Fixed(first)
        } else {
            for (which, given) in [("first", first), ("smallest", least), ("largest", largest)] {
                if given > 0. {
                    let text = format!("the {which} increment {given} is not used: the increment is the stable one");
                    log.note(place, text);
                }
            }
            let factor = card.keyword.real("SCALEFACTOR").filter(|factor| *factor > 0.);
            if factor.is_none() && card.keyword.has("SCALEFACTOR") {
                log.error(place, "SCALE FACTOR= must be positive");
            }
            Increment::Automatic { factor: factor.unwrap_or(SAFETY) }
        };
        if card.keyword.real("ALPHA").is_some_and(|alpha| alpha != 0.) {
            log.note(place, "ALPHA= of *DYNAMIC is not used: central differences");
        }
        self.deck.step = Some(Step { time, increment, start: Start::SecondOrder });
    }

    fn amplitude_of(&self, card: &Card, log: &mut Log) -> Option<u32> {
        let Some(name) = card.keyword.get("AMPLITUDE") else { return self.default_amplitude };
        let found = self.deck.amplitudes.iter().position(|a| a.name.eq_ignore_ascii_case(name));
        if found.is_none() && !self.bad_amplitudes.iter().any(|bad| bad.eq_ignore_ascii_case(name)) {
            log.absent(card.keyword.place, format!("amplitude `{name}` does not exist"));
        }
        found.map(|i| i as u32)
    }

    /// Nodes of the set or label that a line begins with.
    fn nodes(&self, entry: &Entry, log: &mut Log) -> Option<Vec<u32>> {
        let name = entry.text(0);
        let found = self.assembly.members(Entity::Node, &name);
        match &found {
            None => {
                let hint = self.assembly.hint(Entity::Node, &name);
                log.absent(entry.place, format!("there is no node or node set `{name}`{hint}"));
            }
            Some(nodes) if nodes.is_empty() => {
                log.warning(entry.place, format!("node set `{name}` is empty: this line does nothing"));
            }
            Some(_) => {}
        }
        found
    }

    /// The component of a degree of freedom; none where the mesh has no such component. That is an error unless the value is 0.
    fn component(&self, dof: u32, value: f64, place: Place, log: &mut Log) -> Option<u8> {
        match dof {
            1..=3 if dof <= u32::from(self.dimension) => Some(dof as u8 - 1),
            1..=6 if value == 0. => None,
            4..=6 if self.ignore.covers(CARRIERS) => {
                log.note(place, "rotations have no effect without the constraint that is ignored");
                None
            }
            0 | 11..=30 if self.ignore.covers(&["TEMPERATURE"]) => {
                log.note(place, "temperatures have no effect here");
                None
            }
            0 | 11..=30 => {
                let text = "is a temperature, which is not computed; --ignore TEMPERATURE leaves it out";
                log.error(place, format!("degree of freedom {dof} {text}"));
                None
            }
            3 => {
                log.absent(place, "component 3 does not exist in a 2D model");
                None
            }
            4..=6 => {
                let text =
                    "is a rotation, which solid elements have not; --ignore COUPLING leaves it out with what it drives";
                log.error(place, format!("degree of freedom {dof} {text}"));
                None
            }
            7..=10 => {
                let what = ["the warping of a beam", "a pressure", "an electric potential", "the flow of a material"];
                let what = what[dof as usize - 7];
                log.error(place, format!("degree of freedom {dof} is {what}, which is not computed; {LEAVES_OUT}"));
                None
            }
            _ => {
                log.error(place, format!("degree of freedom {dof} is not computed (1, 2 and 3 are); {LEAVES_OUT}"));
                None
            }
        }
    }

    fn boundary(&mut self, card: &Card, in_step: bool, log: &mut Log) {
        let place = card.keyword.place;
        if card.keyword.word("OP") == "NEW" && in_step && self.n_model_boundaries != [0; 2] {
            log.note(place, "OP=NEW: the boundary conditions from before the step are removed");
            self.deck.boundaries.drain(..self.n_model_boundaries[0]);
            self.linear.deck.prescribed.drain(..self.n_model_boundaries[1]);
            self.n_model_boundaries = [0; 2];
        }
        let kind = match card.keyword.word("TYPE").as_str() {
            "" | "DISPLACEMENT" => BoundaryKind::Displacement,
            "VELOCITY" => BoundaryKind::Velocity,
            "ACCELERATION" => BoundaryKind::Acceleration,
            other => {
                let text = "DISPLACEMENT, VELOCITY and ACCELERATION are; --ignore BOUNDARY leaves all conditions out";
                return log.error(place, format!("*BOUNDARY, TYPE={other} is not supported: {text}"));
            }
        };
        let amplitude = self.amplitude_of(card, log);
        // Writers without sets give a line a node: equal lines for bare nodes become one entry a component.
        let mut run: Option<(u32, u32, u64, usize)> = None;
        for entry in entries(card, log) {
            let name = entry.text(0);
            let Some(nodes) = self.nodes(&entry, log) else { continue };
            let bare = is_label(&name);
            let before = run.take().filter(|_| bare);
            let word = entry.word(1);
            if let Some((_, dofs)) = NAMED_KINDS.iter().find(|(kind, _)| *kind == word && !entry.has_more(2)) {
                for &dof in *dofs {
                    let held =
                        Held { component: dof - 1, kind: BoundaryKind::Displacement, value: 0., amplitude: None };
                    if dof <= self.dimension || self.rotates(u32::from(dof), &nodes) {
                        self.push_held(&name, nodes.clone(), held, entry.place, log);
                    }
                }
                continue;
            }
            let Some((first, last, value)) = prescribed(&entry, log) else { continue };
            let turned = nodes.iter().any(|&node| self.linear.has_axes(node)) || self.linear.turn(&nodes);
            let bare = bare && !turned;
            let before = before.filter(|_| bare);
            if let Some((_, _, _, start)) = before.filter(|b| (b.0, b.1, b.2) == (first, last, value.to_bits())) {
                self.deck.boundaries[start..].iter_mut().for_each(|b| b.nodes.extend_from_slice(&nodes));
                run = before;
                continue;
            }
            if bare {
                run = Some((first, last, value.to_bits(), self.deck.boundaries.len()));
            }
            for dof in first..=last.min(first.saturating_add(8)) {
                if dof == 8 && kind == BoundaryKind::Displacement && self.has_fluid() {
                    self.push_pressure(&entry, nodes.clone(), value, amplitude, log);
                    continue;
                }
                let component = match self.rotates(dof, &nodes) {
                    true => dof as u8 - 1,
                    false => match self.component(dof, value, entry.place, log) {
                        Some(component) => component,
                        None => continue,
                    },
                };
                if value != 0. && amplitude.is_none() && kind == BoundaryKind::Displacement {
                    log.note(entry.place, "a displacement without an amplitude jumps to its value at t = 0");
                }
                let held = Held { component, kind, value, amplitude };
                self.push_held(&name, nodes.clone(), held, entry.place, log);
            }
        }
    }

    /// Whether there are elements of fluids, whose nodes have a degree of freedom 8.
    fn has_fluid(&self) -> bool {
        self.assembly.mesh.groups.iter().any(|group| group.kind.is_acoustic())
    }

    /// Prescribes the pressure of some nodes.
    fn push_pressure(&mut self, entry: &Entry, nodes: Vec<u32>, value: f64, amplitude: Option<u32>, log: &mut Log) {
        if value != 0. && amplitude.is_none() {
            log.note(entry.place, "a pressure without an amplitude jumps to its value at t = 0");
        }
        let name = unique_name(&format!("{}.8", entry.text(0)), &mut self.boundary_names);
        let kind = BoundaryKind::Pressure;
        self.deck.boundaries.push(Boundary { name, nodes, component: 0, kind, value, amplitude });
    }

    /// Whether a degree of freedom is a rotation of nodes that turn: reference nodes of rigid bodies and couplings.
    fn rotates(&self, dof: u32, nodes: &[u32]) -> bool {
        let axes = if self.dimension == 2 { 6..=6 } else { 4..=6 };
        axes.contains(&dof) && self.linear.turn(nodes)
    }

    /// Prescribes a component from 0 to 5 of some nodes, along their own axes where they have some.
    fn push_held(&mut self, set: &str, nodes: Vec<u32>, held: Held, place: Place, log: &mut Log) {
        let Held { component, kind, value, amplitude } = held;
        let (own, global): (Vec<u32>, Vec<u32>) = nodes.into_iter().partition(|&node| self.linear.has_axes(node));
        if component >= ROTATION && !own.is_empty() {
            return log.error(place, "a rotation of a node with *TRANSFORM: give reference nodes global axes");
        }
        let name = unique_name(&format!("{set}.{}", component + 1), &mut self.boundary_names);
        if !own.is_empty() {
            let name = match global.is_empty() {
                true => name.clone(),
                false => unique_name(&name, &mut self.boundary_names),
            };
            self.linear.hold(&name, own, held);
        }
        let boundary = Boundary { name, nodes: global, component, kind, value, amplitude };
        if component >= ROTATION {
            self.linear.rotate(boundary);
        } else if !boundary.nodes.is_empty() {
            self.deck.boundaries.push(boundary);
        }
    }

    fn initial(&mut self, card: &Card, log: &mut Log) {
        let place = card.keyword.place;
        match card.keyword.word("TYPE").as_str() {
            "VELOCITY" => {}
            "TEMPERATURE" => return log.note(place, "initial temperatures have no effect here"),
            other => {
                let text = format!("*INITIAL CONDITIONS, TYPE={other} is not supported");
                return log.error(place, text + "; --ignore \"INITIAL CONDITIONS\" leaves all of them out");
            }
        }
        for entry in entries(card, log) {
            let Some((nodes, dof, component, value)) =
                self.nodal_value(&entry, "an initial velocity is: set, component, value", log)
            else {
                continue;
            };
            let name = unique_name(&format!("{}.{dof}", entry.text(0)), &mut self.initial_names);
            self.deck.initial_velocities.push(InitialVelocity { name, nodes, component, value });
        }
    }

    /// Nodes, degree of freedom, component and value of a line that is: set, degree of freedom, value.
    fn nodal_value(&self, entry: &Entry, expected: &str, log: &mut Log) -> Option<(Vec<u32>, u32, u8, f64)> {
        let nodes = self.nodes(entry, log)?;
        let (Some(dof), Some(value), false) = (entry.whole(1), entry.real(2), entry.has_more(3)) else {
            log.error(entry.place, expected);
            return None;
        };
        Some((nodes, dof, self.component(dof, value, entry.place, log)?, value))
    }
}

/// First and last degree of freedom, and value, of a line of `*BOUNDARY`.
fn prescribed(entry: &Entry, log: &mut Log) -> Option<(u32, u32, f64)> {
    let first = entry.whole(1);
    let last = if entry.has(2) { entry.whole(2) } else { first };
    let value = if entry.has(3) { entry.real(3) } else { Some(0.) };
    let (Some(first), Some(last), Some(value), false) = (first, last, value, entry.has_more(4)) else {
        let text = "a boundary condition is: set, first and last degree of freedom, value; or: set, ENCASTRE, PINNED, \
                    XSYMM, …";
        log.error(entry.place, text);
        return None;
    };
    if first > last {
        let text = "the last is below the first; write the first, the last, and then the value";
        log.error(entry.place, format!("degrees of freedom {first} to {last}: {text}"));
        return None;
    }
    Some((first, last, value))
}

/// The shape of an amplitude, or what is wrong, to be put behind the amplitude's name.
fn amplitude_shape(card: &Card, log: &mut Log) -> Result<AmplitudeShape, String> {
    let keyword = &card.keyword;
    let definition = keyword.word("DEFINITION");
    let given: Vec<f64> = numbers(card, log).concat();
    let (times, values): (Vec<f64>, Vec<f64>) = match definition.as_str() {
        "" | "TABULAR" | "SMOOTHSTEP" if given.len() % 2 == 1 => return Err(" has a time without a value".into()),
        "" | "TABULAR" | "SMOOTHSTEP" => given.chunks_exact(2).map(|pair| (pair[0], pair[1])).unzip(),
        "EQUALLYSPACED" => {
            let start = keyword.real("BEGIN").unwrap_or(0.);
            let interval = keyword.real("FIXEDINTERVAL").filter(|interval| *interval > 0.);
            let interval = interval.ok_or(": EQUALLY SPACED needs a positive FIXED INTERVAL=")?;
            ((0..given.len()).map(|i| start + interval * i as f64).collect(), given)
        }
        "PERIODIC" => {
            return match given.as_slice() {
                [n, omega, start, constant, terms @ ..] if *n == (terms.len() / 2) as f64 && terms.len() % 2 == 0 => {
                    let terms = terms.as_chunks::<2>().0.to_vec();
                    Ok(AmplitudeShape::Periodic { omega: *omega, start: *start, constant: *constant, terms })
                }
                _ => Err(": PERIODIC takes N, ω, t0 and A0, then N pairs of A and B".into()),
            };
        }
        _ => {
            let known = "TABULAR, SMOOTH STEP, PERIODIC or EQUALLY SPACED";
            return Err(format!(": DEFINITION={} is not supported: {known}", keyword.value("DEFINITION")));
        }
    };
    let smooth = definition == "SMOOTHSTEP";
    if let Some(pair) = times.windows(2).find(|t| if smooth { t[1] <= t[0] } else { t[1] < t[0] }) {
        return Err(format!(": time {} follows {}", pair[1], pair[0]));
    }
    if times.is_empty() {
        return Err(" has no data".into());
    }
    if keyword.real("SMOOTH").is_some_and(|smooth| smooth != 0.) {
        let text = "SMOOTH= is not applied: the corners of the table stay";
        log.warning(keyword.place, format!("amplitude `{}`: {text}", keyword.value("NAME")));
    }
    Ok(if smooth { AmplitudeShape::SmoothStep { times, values } } else { AmplitudeShape::Tabular { times, values } })
}

/// Whether a name is a label rather than a set.
fn is_label(name: &str) -> bool {
    name.bytes().all(|b| b.is_ascii_digit())
}
