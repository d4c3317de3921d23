//! `*SOLID SECTION` with `*ORIENTATION`, `*SECTION CONTROLS` and `*FIXED MASS SCALING`.

use std::collections::HashSet;

use super::assembly::Assembly;
use super::data::{first_number, numbers};
use super::frame::{IDENTITY, axes, product, rotation_about, transpose};
use super::lexer::{Card, Place};
use super::lines::{Truss, TrussSection};
use super::log::Log;
use super::materials::empty_material;
use super::raw::{Entity, StepCard};
use super::report::ElementCount;
use super::{Deck, NO_SECTION};
use crate::material::{Elasticity, Section};
use crate::vector::difference;
use crate::words::counted;

/// Element types that are not computed, and how many of each have a section.
#[derive(Debug, Clone)]
pub(crate) struct Other {
    pub count: ElementCount,
    pub with_section: u64,
    pub(super) place: Place,
}

pub(super) struct Sections<'a> {
    assembly: &'a mut Assembly,
    /// Sections and their materials go here, and other types with a section are counted here.
    deck: &'a mut Deck,
    cards: &'a [StepCard],
    /// Sections of elements of other types.
    trusses: Vec<TrussSection>,
    /// Codes of elements of other types that have a section.
    other_codes: HashSet<u32>,
    names: HashSet<String>,
}

/// A name that no entry has yet: `NAME`, `NAME#2`, ….
pub(super) fn unique_name(wanted: &str, taken: &mut HashSet<String>) -> String {
    let mut name = wanted.to_owned();
    let mut number = 1;
    while !taken.insert(name.to_uppercase()) {
        number += 1;
        name = format!("{wanted}#{number}");
    }
    name
}

impl<'a> Sections<'a> {
    pub fn new(assembly: &'a mut Assembly, deck: &'a mut Deck, cards: &'a [StepCard]) -> Self {
        let (other_codes, names) = (HashSet::new(), HashSet::new());
        Self { assembly, deck, cards, trusses: Vec::new(), other_codes, names }
    }

    /// Gives every element its section. Returns the sections of elements of other types.
    pub fn assign(mut self, log: &mut Log) -> Vec<TrussSection> {
        // Cards of the root act on its sets whether or not it holds a mesh of its own.
        for (part, instance) in self.assembly.scopes() {
            for card in &self.assembly.parts[part].raw.sections.clone() {
                self.solid(card, part, instance, log);
            }
            for (set, _) in &self.assembly.parts[part].raw.other_sections {
                let codes = self.assembly.elements_in(instance, set).unwrap_or_default();
                self.other_codes.extend(codes.into_iter().filter(|code| *code >= self.assembly.n_elements));
            }
        }
        for name in self.other_codes.iter().filter_map(|code| self.assembly.type_of_other(*code)) {
            if let Some(other) = self.deck.others.iter_mut().find(|o| o.count.name == name) {
                other.with_section += 1;
            }
        }
        self.scale_masses(log);
        self.trusses
    }

    fn solid(&mut self, card: &Card, part: usize, instance: Option<usize>, log: &mut Log) {
        let place = card.keyword.place;
        let set = card.keyword.value("ELSET");
        let Some(codes) = self.assembly.elements_in(instance, set) else {
            return log.absent(place, format!("*SOLID SECTION: element set `{set}` does not exist"));
        };
        let Some(material) = self.material(card, log) else { return };
        let material_from_global = self.material_axes(card, part, instance, material, log);
        let thickness = first_number(card, log).unwrap_or(0.);
        if thickness < 0. {
            log.error(place, format!("thickness {thickness} is negative"));
        }
        let is_solid =
            |code: &u32| self.assembly.mesh.place(*code).is_some_and(|(group, _)| group.kind.dimension() == 3);
        if thickness > 0. && !codes.is_empty() && codes.iter().all(is_solid) {
            let text =
                "*SOLID SECTION: the first field is the thickness of plane elements, and without effect on solids";
            log.note(card.data.first().map_or(place, |line| line.place), text);
        }
        let thickness = if thickness > 0. { thickness } else { 1. };
        let hourglass_factor = self.hourglass(card, log);
        let section = self.deck.sections.len() as u32;
        self.deck.sections.push(Section {
            name: unique_name(&self.assembly.set_name(instance, set), &mut self.names),
            material,
            material_from_global,
            thickness,
            hourglass_factor,
            mass_factor: 1.,
        });
        let mut n_twice = 0;
        let mut of_others = Vec::new();
        for code in codes {
            match slot(self.assembly, code) {
                Some(slot) if *slot == NO_SECTION => *slot = section,
                None if self.other_codes.insert(code) => of_others.push(code),
                _ => n_twice += 1,
            }
        }
        if !of_others.is_empty() {
            let material = &self.deck.materials[material as usize];
            let young = match material.elasticity {
                Some(Elasticity::Isotropic { young, .. }) => Some(young),
                _ => None,
            };
            let truss = Truss { material: material.name.clone(), density: material.density, area: thickness, young };
            let name = self.assembly.set_name(instance, set);
            self.trusses.push(TrussSection { name, codes: of_others, section, truss });
        }
        if n_twice > 0 {
            let has = if n_twice == 1 { "has" } else { "have" };
            log.error(place, format!("{} of `{set}` already {has} a section", counted(n_twice, "element")));
        }
    }

    /// Rows: the axes of a section's material in global components.
    fn material_axes(
        &self,
        card: &Card,
        part: usize,
        instance: Option<usize>,
        material: u32,
        log: &mut Log,
    ) -> [f64; 9] {
        let Some(name) = card.keyword.get("ORIENTATION") else { return IDENTITY };
        let orientations = |p: usize| self.assembly.parts[p].raw.orientations.iter();
        let Some(found) = orientations(part).chain(orientations(0)).find(|card| card.keyword.is_named(name)) else {
            log.absent(card.keyword.place, format!("*ORIENTATION `{name}` does not exist"));
            return IDENTITY;
        };
        // Axes say nothing of a material that has none; other systems give each element its own.
        if self.is_isotropic(material) && !is_rectangular(found) {
            let text = format!("*ORIENTATION `{name}` is without effect on an isotropic material");
            log.note(found.keyword.place, text);
            return IDENTITY;
        }
        // A material axis e of the part points along T e in the assembly.
        let turn = instance.map_or(IDENTITY, |i| self.assembly.instances[i].frame.rotation);
        product(&orientation(found, log), &transpose(&turn))
    }

    fn is_isotropic(&self, material: u32) -> bool {
        let elasticity = self.deck.materials.get(material as usize).and_then(|m| m.elasticity.as_ref());
        matches!(elasticity, Some(Elasticity::Isotropic { .. }))
    }

    fn material(&mut self, card: &Card, log: &mut Log) -> Option<u32> {
        let Some(name) = card.keyword.given("MATERIAL") else {
            log.error(card.keyword.place, "*SOLID SECTION has no MATERIAL=");
            return None;
        };
        if let Some(at) = self.deck.materials.iter().position(|m| m.name.eq_ignore_ascii_case(name)) {
            return Some(at as u32);
        }
        // A job may bring it; `finish` complains where none does.
        self.deck.materials.push(empty_material(name, card.keyword.place, log));
        Some(self.deck.materials.len() as u32 - 1)
    }

    fn hourglass(&self, card: &Card, log: &mut Log) -> f64 {
        let Some(name) = card.keyword.get("CONTROLS") else { return 1. };
        let named = |c: &&Card| c.keyword.key == "SECTIONCONTROLS" && c.keyword.is_named(name);
        let Some(controls) = self.cards.iter().map(|c| &c.card).find(named) else {
            log.note(card.keyword.place, format!("*SECTION CONTROLS `{name}` do not exist: defaults are used"));
            return 1.;
        };
        let kind = controls.keyword.word("HOURGLASS");
        if !matches!(kind.as_str(), "" | "STIFFNESS") {
            let given = controls.keyword.value("HOURGLASS");
            let text = format!("HOURGLASS={given} is computed as stiffness hourglass control");
            log.note(controls.keyword.place, text);
        }
        match first_number(controls, log) {
            Some(factor) if factor < 0. => {
                log.error(controls.keyword.place, format!("*SECTION CONTROLS: the factor {factor} is negative"));
                1.
            }
            Some(factor) if factor > 0. => factor,
            _ => 1.,
        }
    }

    /// `*FIXED MASS SCALING`, of all elements or of a set: sections that a set cuts are split.
    fn scale_masses(&mut self, log: &mut Log) {
        let cards = self.cards;
        for card in cards.iter().map(|c| &c.card).filter(|c| c.keyword.key == "FIXEDMASSSCALING") {
            let place = card.keyword.place;
            let factor = card.keyword.real("FACTOR").filter(|factor| *factor > 0.);
            let Some(factor) = factor.filter(|_| !card.keyword.has("DT")) else {
                let text = "*FIXED MASS SCALING is read with a positive FACTOR= only; --ignore \"FIXED MASS SCALING\" leaves it out";
                log.error(place, text);
                continue;
            };
            log.note(place, format!("masses are scaled by {factor}"));
            let Some(set) = card.keyword.get("ELSET") else {
                self.deck.sections.iter_mut().for_each(|s| s.mass_factor *= factor);
                continue;
            };
            let Some(codes) = self.assembly.members(Entity::Element, set) else {
                log.absent(place, format!("*FIXED MASS SCALING: element set `{set}` does not exist"));
                continue;
            };
            let mut scaled = vec![NO_SECTION; self.deck.sections.len()];
            for code in codes {
                let Some(slot) = slot(self.assembly, code) else { continue };
                let Some(to) = scaled.get_mut(*slot as usize) else { continue };
                if *to == NO_SECTION {
                    let mut section = self.deck.sections[*slot as usize].clone();
                    section.mass_factor *= factor;
                    section.name = unique_name(&format!("{}.{set}", section.name), &mut self.names);
                    *to = self.deck.sections.len() as u32;
                    self.deck.sections.push(section);
                }
                *slot = *to;
            }
        }
    }
}

/// Section of an element; none for one that is not computed.
fn slot(assembly: &mut Assembly, code: u32) -> Option<&mut u32> {
    let mut at = code as usize;
    for group in &mut assembly.mesh.groups {
        if at < group.section.len() {
            return group.section.get_mut(at);
        }
        at -= group.section.len();
    }
    None
}

/// One set of axes for all elements.
fn is_rectangular(card: &Card) -> bool {
    let (system, definition) = (card.keyword.word("SYSTEM"), card.keyword.word("DEFINITION"));
    matches!(system.as_str(), "" | "RECTANGULAR" | "R") && matches!(definition.as_str(), "" | "COORDINATES")
}

/// Rows: the material axes of a rectangular `*ORIENTATION` in the components of its part.
fn orientation(card: &Card, log: &mut Log) -> [f64; 9] {
    let place = card.keyword.place;
    if !is_rectangular(card) {
        let text = "*ORIENTATION is read with SYSTEM=RECTANGULAR and DEFINITION=COORDINATES only, as a section has one set \
                    of axes; cut the region into sections that each have a rectangular one";
        log.error(place, text);
        return IDENTITY;
    }
    let lines = numbers(card, log);
    let first = lines.first().map(Vec::as_slice).unwrap_or_default();
    let point = |i: usize| -> [f64; 3] { std::array::from_fn(|k| first.get(3 * i + k).copied().unwrap_or(0.)) };
    let (a, b, c) = (point(0), point(1), point(2));
    let Some(frame) = axes(difference(a, c), difference(b, c)) else {
        log.error(place, "the points of *ORIENTATION lie on one line");
        return IDENTITY;
    };
    let second = lines.get(1).map(Vec::as_slice).unwrap_or_default();
    let (axis, degrees) = (second.first().copied().unwrap_or(1.), second.get(1).copied().unwrap_or(0.));
    let mut about = [0.; 3];
    match axis {
        1. => about[0] = 1.,
        2. => about[1] = 1.,
        3. => about[2] = 1.,
        _ if degrees == 0. => return frame,
        _ => {
            log.error(place, format!("*ORIENTATION: axis {axis} is none of 1, 2 and 3"));
            return frame;
        }
    }
    // Turned about its own axis by φ the frame is R_φᵀ applied to its components.
    product(&transpose(&rotation_about(about, degrees)), &frame)
}
