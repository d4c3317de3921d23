//! Two-node elements and point masses, of which a job makes springs and particles.

use std::collections::HashMap;

use super::assembly::Assembly;
use super::data::numbers;
use super::keywords::{Class, IgnoreList, classify, family};
use super::lexer::Card;
use super::log::Log;

use super::raw::{Entity, OtherGroup};
use crate::mesh::NamedSet;
use crate::words::counted;

/// Problems of one type of elements that are shown.
const SHOWN: usize = 10;
const NONE: u32 = u32::MAX;

/// Two-node elements and point masses: types that explicit dynamics does not compute.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Lines {
    /// User's labels, (n,).
    pub labels: Vec<u32>,
    /// Nodes of the mesh, (n,).
    pub nodes: Vec<[u32; 2]>,
    /// Element sets with such elements, by index here.
    pub sets: Vec<NamedSet>,
    /// What the deck's `*SPRING`, `*DASHPOT` and sections of trusses say.
    pub properties: Vec<LineProperty>,
    /// Elements of type MASS with their `*MASS`.
    pub masses: Vec<PointMass>,
    /// Nodes of the two-node elements and point masses on which a `GRAV` with a set acts, by the name of the load.
    pub gravity: Vec<(String, Vec<u32>)>,
}

/// A `*SPRING` or `*DASHPOT` and its elements (SPRINGA, DASHPOTA), or a `*SOLID SECTION` and its trusses (T2D2, T3D2).
#[derive(Debug, Clone, PartialEq)]
pub struct LineProperty {
    /// The element set, behind its instance if it has one.
    pub name: String,
    /// k, N/m; 0 of a dashpot.
    pub stiffness: f64,
    /// c, N s/m; 0 of a spring.
    pub damping: f64,
    /// Of trusses.
    pub truss: Option<Truss>,
    /// Index into [`Lines::nodes`].
    pub lines: Vec<u32>,
}

/// What a section says of trusses.
#[derive(Debug, Clone, PartialEq)]
pub struct Truss {
    /// Name of the material.
    pub material: String,
    /// ρ, kg/m³; none of a material without `*DENSITY`.
    pub density: Option<f64>,
    /// A, m².
    pub area: f64,
    /// E, Pa; none of a material without an isotropic `*ELASTIC`.
    pub young: Option<f64>,
}

/// A `*MASS` and its nodes.
#[derive(Debug, Clone, PartialEq)]
pub struct PointMass {
    /// The element set, behind its instance if it has one.
    pub name: String,
    /// m of each, kg.
    pub mass: f64,
    /// A node of the mesh for each element.
    pub nodes: Vec<u32>,
}

/// Class of a keyword where two-node elements are wanted, if that differs from its usual class. Springs follow lines between
/// particles, so that cross-sections of beams and the behaviour of connectors have no effect.
fn line_class(key: &str) -> Option<Class> {
    match key {
        "SPRING" | "DASHPOT" | "MASS" => Some(Class::Read),
        "BEAMSECTION" | "BEAMGENERALSECTION" | "SHELLSECTION" | "SHELLGENERALSECTION" | "MEMBRANESECTION" => {
            Some(Class::NoEffect)
        }
        "TRANSFORM" | "EQUATION" | "MPC" | "TIE" | "RIGIDBODY" | "COUPLING" | "KINEMATIC" | "DISTRIBUTING" => {
            let why =
                "linear constraints are of explicit elastodynamics; particles share nodes or have springs between them";
            Some(Class::Refused { family: family(key, None), why })
        }
        _ => key.starts_with("CONNECTOR").then_some(Class::NoEffect),
    }
}

/// Class of a keyword, perhaps where two-node elements are wanted.
pub(super) fn class_of(key: &str, lines: bool) -> Option<Class> {
    line_class(key).filter(|_| lines).or_else(|| classify(key))
}

/// A `*SOLID SECTION` of elements that are not computed.
pub(super) struct TrussSection {
    /// The element set, behind its instance if it has one.
    pub name: String,
    pub codes: Vec<u32>,
    /// Index of the section.
    pub section: u32,
    pub truss: Truss,
}

/// Collects two-node elements and point masses before the assembly gives its sets away.
pub(super) struct Collector {
    lines: Lines,
    /// Which card says what a line of its type is: `SPRING`, `DASHPOT`, `SOLIDSECTION`, or nothing.
    card_of: Vec<&'static str>,
    first_code: u32,
    /// By element code from `first_code` on: index of a line.
    line_of: Vec<u32>,
    /// By element code.
    node_of_mass: HashMap<u32, u32>,
}

impl Collector {
    /// Everything but the sets.
    pub fn new(assembly: &Assembly, trusses: &[TrussSection], ignore: &IgnoreList, log: &mut Log) -> Self {
        let mut out = Self {
            lines: Lines::default(),
            card_of: Vec::new(),
            first_code: assembly.n_elements,
            line_of: Vec::new(),
            node_of_mass: HashMap::new(),
        };
        for placed in &assembly.instances {
            let part = &assembly.parts[placed.part];
            for (group, first) in part.raw.others.iter().zip(&part.other_first) {
                if group.n_nodes > 0 && !ignore.has(&[&group.name]) {
                    let first_code = placed.other_base + (first - part.n_elements) as u32;
                    out.group(group, first_code, placed.node_first, assembly, log);
                }
            }
        }
        for (part, instance) in assembly.scopes() {
            for card in &assembly.parts[part].raw.line_sections {
                out.card(card, assembly, instance, log);
            }
        }
        for TrussSection { name, codes, truss, .. } in trusses {
            let lines = out.lines_of(codes, "SOLIDSECTION");
            if !lines.is_empty() {
                let (name, truss) = (name.clone(), Some(truss.clone()));
                out.lines.properties.push(LineProperty { name, stiffness: 0., damping: 0., truss, lines });
            }
        }
        out
    }

    /// There is no two-node element.
    pub fn is_empty(&self) -> bool {
        self.lines.nodes.is_empty()
    }

    /// Elements of one type of an instance.
    fn group(&mut self, group: &OtherGroup, first_code: u32, node_first: u32, assembly: &Assembly, log: &mut Log) {
        let named: HashMap<usize, &str> = group.named.iter().map(|(at, name)| (*at, name.as_str())).collect();
        let node = |at: usize| match named.get(&at) {
            Some(name) => assembly.members(Entity::Node, name).filter(|found| found.len() == 1).map(|found| found[0]),
            None => Some(group.nodes[at]).filter(|node| *node != NONE).map(|node| node + node_first),
        };
        let card = match group.name.as_str() {
            "SPRINGA" => "SPRING",
            "DASHPOTA" => "DASHPOT",
            name if name.starts_with("T2D2") || name.starts_with("T3D2") => "SOLIDSECTION",
            _ => "",
        };
        let mut n_errors = 0;
        for ((code, label), element) in (first_code..).zip(&group.labels).zip(0..) {
            let (first, n) = (group.first_node[element], group.nodes_of(element).unwrap_or_default().len());
            let ends: Vec<Option<u32>> = (first..first + n).map(node).collect();
            match *ends {
                [Some(node)] if group.n_nodes == 1 => {
                    self.node_of_mass.insert(code, node);
                }
                [Some(a), Some(b)] if a != b => {
                    let slot = (code - self.first_code) as usize;
                    self.line_of.resize(slot, NONE);
                    self.line_of.push(self.lines.nodes.len() as u32);
                    self.lines.nodes.push([a, b]);
                    self.lines.labels.push(*label);
                    self.card_of.push(card);
                }
                _ => {
                    n_errors += 1;
                    if n_errors <= SHOWN {
                        let what = if group.n_nodes == 1 { "is at no node" } else { "does not join two nodes" };
                        log.absent(group.place, format!("{} element {label} {what} of the deck", group.name));
                    }
                }
            }
        }
        if n_errors > SHOWN {
            let what = format!("more {} element", group.name);
            log.absent(group.place, format!("{} without nodes", counted(n_errors - SHOWN, &what)));
        }
    }

    fn line(&self, code: u32) -> Option<u32> {
        let line = self.line_of.get(code.checked_sub(self.first_code)? as usize);
        line.copied().filter(|line| *line != NONE)
    }

    fn card(&mut self, card: &Card, assembly: &Assembly, instance: Option<usize>, log: &mut Log) {
        let keyword = &card.keyword;
        let set = keyword.value("ELSET");
        let Some(codes) = assembly.elements_in(instance, set) else {
            return log.absent(keyword.place, format!("*{}: element set `{set}` does not exist", keyword.name));
        };
        let Some(value) = value(card, log) else { return };
        let name = assembly.set_name(instance, set);
        if keyword.key == "MASS" {
            let nodes = codes.iter().filter_map(|code| self.node_of_mass.get(code).copied()).collect();
            return self.lines.masses.push(PointMass { name, mass: value, nodes });
        }
        let lines = self.lines_of(&codes, &keyword.key);
        let (stiffness, damping) = if keyword.key == "SPRING" { (value, 0.) } else { (0., value) };
        self.lines.properties.push(LineProperty { name, stiffness, damping, truss: None, lines });
    }

    /// Those elements whose properties a card of this keyword gives.
    fn lines_of(&self, codes: &[u32], card: &str) -> Vec<u32> {
        let of_card = |line: &u32| self.card_of[*line as usize] == card;
        codes.iter().filter_map(|code| self.line(*code)).filter(of_card).collect()
    }

    /// Adds the sets of elements that are not computed, and the elements of each `GRAV` with a set, both by element code.
    pub fn finish(mut self, sets: Vec<NamedSet>, gravity: Vec<NamedSet>) -> Lines {
        let of_code = |code: &u32| match self.line(*code) {
            Some(line) => self.lines.nodes[line as usize].to_vec(),
            None => self.node_of_mass.get(code).copied().into_iter().collect(),
        };
        let nodes = |set: &NamedSet| (set.name.clone(), set.members.iter().flat_map(of_code).collect());
        let gravity = gravity.iter().map(nodes).collect();
        self.lines.gravity = gravity;
        let of_lines = sets.into_iter().map(|set| NamedSet {
            members: set.members.iter().filter_map(|code| self.line(*code)).collect(),
            name: set.name,
        });
        self.lines.sets = of_lines.filter(|set| !set.members.is_empty()).collect();
        self.lines
    }
}

/// The one number of a card: a stiffness, a coefficient or a mass.
fn value(card: &Card, log: &mut Log) -> Option<f64> {
    let keyword = &card.keyword;
    let lines = numbers(card, log);
    // Springs along their lines have a blank line in place of components, which is gone already. A lone comma stands for one,
    // and components that are given are passed over.
    let components =
        |line: &Vec<f64>| line.len() <= 2 && line.iter().all(|x| (0. ..=6.).contains(x) && x.fract() == 0.);
    let data = match lines.as_slice() {
        [first, rest @ ..] if keyword.key != "MASS" && !rest.is_empty() && components(first) => rest,
        all => all,
    };
    let value = match data {
        [line] if !keyword.has("NONLINEAR") && !keyword.has("COMPLEXSTIFFNESS") => line.first().copied(),
        _ => None,
    };
    let value = value.filter(|value| value.is_finite() && (*value > 0. || *value == 0. && keyword.key != "MASS"));
    if value.is_none() {
        let positive = if keyword.key == "MASS" { "above 0" } else { "not negative" };
        let (name, text) = (&keyword.name, "leaves it out, and the job gives another");
        log.error(keyword.place, format!("*{name} is read with one number, {positive}; --ignore {name} {text}"));
    }
    value
}
