//! `*OUTPUT`, `*NODE OUTPUT`, `*ELEMENT OUTPUT`, `*NODE PRINT`, `*NODE FILE`, `*EL FILE` → traces and fields.

use super::Deck;
use super::assembly::Assembly;
use super::data::entries;
use super::lexer::{Card, Keyword};
use super::log::Log;
use super::numbers::{real, whole};
use super::raw::{Entity, RawDeck};
use crate::dynamics::{ElementHistoryRequest, FieldRequest, HistoryRequest, OutputInterval};
use crate::quantities::{ElementQuantity, FieldQuantity, NodalQuantity};

/// Intervals a step where the deck gives none, as in Abaqus/Explicit.
const HISTORY_INTERVALS: u32 = 200;
const FIELD_INTERVALS: u32 = 20;

/// Traces (nodes or elements times variables) that a history of the whole model may have.
const MOST_TRACES: usize = 10_000;
/// What stands in the traces' names where a history names no set.
const WHOLE_MODEL: &str = "MODEL";

#[derive(Clone, PartialEq)]
enum Output {
    None,
    History(OutputInterval),
    /// Index of the field request.
    Field(usize),
    /// Asked for never (FREQUENCY=0).
    Off,
}

pub(super) struct Requests<'a> {
    assembly: &'a Assembly,
    dimension: u8,
    /// What is read goes here.
    deck: &'a mut Deck,
    current: Output,
    /// Variables that are not written, once each.
    unwritten: Vec<String>,
}

impl<'a> Requests<'a> {
    pub fn new(assembly: &'a Assembly, deck: &'a mut Deck) -> Self {
        let dimension = assembly.mesh.dimension as u8;
        Self { assembly, dimension, deck, current: Output::None, unwritten: Vec::new() }
    }

    pub fn read(mut self, raw: &RawDeck, log: &mut Log) {
        let mut place = None;
        for card in raw.cards.iter().map(|c| &c.card) {
            let before = self.unwritten.len();
            match card.keyword.key.as_str() {
                "OUTPUT" => self.current = self.output(&card.keyword, log),
                "NODEOUTPUT" => self.output_of(card, Entity::Node, log),
                "ELEMENTOUTPUT" => self.output_of(card, Entity::Element, log),
                "NODEPRINT" => self.print(card, log),
                // `*NODE FILE` of a set is a history; of the whole model it is a field, and so is `*EL FILE`.
                "NODEFILE" if card.keyword.has("NSET") => self.print(card, log),
                "NODEFILE" => self.file(card, Entity::Node, log),
                "ELFILE" => self.file(card, Entity::Element, log),
                _ => {}
            }
            if self.unwritten.len() > before {
                place = place.or(Some(card.keyword.place));
            }
        }
        if let Some(place) = place {
            log.note(place, format!("output variables that are not written: {}", self.unwritten.join(", ")));
        }
        self.deck.fields.retain(|f| !f.quantities.is_empty());
    }

    /// What the output cards after this one are for.
    fn output(&mut self, keyword: &Keyword, log: &mut Log) -> Output {
        let history = keyword.has("HISTORY");
        if !history && !keyword.has("FIELD") {
            return Output::None;
        }
        let default = OutputInterval::Count(if history { HISTORY_INTERVALS } else { FIELD_INTERVALS });
        let Some(interval) = interval(keyword, default, log) else { return Output::Off };
        if history {
            return Output::History(interval);
        }
        let quantities = match variable(keyword) {
            Variable::All => [&FieldQuantity::AT_NODES[..], &FieldQuantity::AT_ELEMENTS, &self.pressure()].concat(),
            Variable::Preselect => {
                [&[FieldQuantity::Displacement, FieldQuantity::Velocity, FieldQuantity::Stress][..], &self.pressure()]
                    .concat()
            }
            Variable::Named => Vec::new(),
        };
        self.deck.fields.push(FieldRequest { quantities, interval });
        Output::Field(self.deck.fields.len() - 1)
    }

    /// `*NODE OUTPUT` and `*ELEMENT OUTPUT`.
    fn output_of(&mut self, card: &Card, entity: Entity, log: &mut Log) {
        match (self.current.clone(), entity) {
            (Output::History(interval), _) => self.history(card, entity, interval, log),
            (Output::Field(at), _) => {
                let (all, n_preselected) = match entity {
                    Entity::Node => (&FieldQuantity::AT_NODES[..], 2),
                    Entity::Element => (&FieldQuantity::AT_ELEMENTS[..], 1),
                };
                match variable(&card.keyword) {
                    Variable::All => self.add_fields(at, all),
                    Variable::Preselect => self.add_fields(at, &all[..n_preselected]),
                    Variable::Named => {}
                }
                if entity == Entity::Node && variable(&card.keyword) != Variable::Named {
                    self.add_fields(at, &self.pressure());
                }
                self.named_fields(at, card, entity, log);
            }
            (Output::Off, _) => {}
            (Output::None, Entity::Node) => {
                log.error(card.keyword.place, "*NODE OUTPUT must follow *OUTPUT, FIELD or *OUTPUT, HISTORY")
            }
            (Output::None, Entity::Element) => {
                let text = "*ELEMENT OUTPUT follows no *OUTPUT, FIELD or *OUTPUT, HISTORY: nothing is written for it";
                log.note(card.keyword.place, text)
            }
        }
    }

    /// `*NODE PRINT`: every increment unless it says otherwise.
    fn print(&mut self, card: &Card, log: &mut Log) {
        if let Some(interval) = interval(&card.keyword, OutputInterval::Increments(1), log) {
            self.history(card, Entity::Node, interval, log);
        }
    }

    fn file(&mut self, card: &Card, entity: Entity, log: &mut Log) {
        let Some(interval) = interval(&card.keyword, OutputInterval::Count(FIELD_INTERVALS), log) else { return };
        self.deck.fields.push(FieldRequest { quantities: Vec::new(), interval });
        self.named_fields(self.deck.fields.len() - 1, card, entity, log);
    }

    fn history(&mut self, card: &Card, entity: Entity, interval: OutputInterval, log: &mut Log) {
        match entity {
            Entity::Node => {
                let dimension = self.dimension;
                let has_fluid = self.has_fluid();
                let named = |name: &str| {
                    let (quantity, component) = NodalQuantity::named(name)?;
                    let is_there = quantity != NodalQuantity::Pressure || has_fluid;
                    is_there.then(|| components(quantity, component, quantity.n_components(dimension)))
                };
                let variables = self.variables(card, named, [&["U", "V", "A", "RF", "POR"], &["U", "V", "POR"]], log);
                if let Some((set, nodes)) = self.set_of(card, entity, variables.len(), log) {
                    self.deck.histories.push(HistoryRequest { set, nodes, variables, weights: Vec::new(), interval });
                }
            }
            Entity::Element => {
                let most = if self.dimension == 2 { 4 } else { 6 };
                let named = |name: &str| {
                    let (quantity, component) = ElementQuantity::named(name)?;
                    Some(components(quantity, component, quantity.n_components().min(most)))
                };
                let variables = self.variables(card, named, [&["S", "E", "MISES", "SENER"], &["S"]], log);
                if let Some((set, elements)) = self.set_of(card, entity, variables.len(), log) {
                    self.deck.element_histories.push(ElementHistoryRequest { set, elements, variables, interval });
                }
            }
        }
    }

    /// The variables of a history, each once: those that are named, then `all` or those that are preselected.
    fn variables<Q: Copy + PartialEq>(
        &mut self,
        card: &Card,
        named: impl Fn(&str) -> Option<Vec<(Q, u8)>>,
        [all, preselected]: [&[&str]; 2],
        log: &Log,
    ) -> Vec<(Q, u8)> {
        let mut variables: Vec<(Q, u8)> = Vec::new();
        let mut add = |more: Vec<(Q, u8)>| {
            for variable in more {
                if !variables.contains(&variable) {
                    variables.push(variable);
                }
            }
        };
        for name in variable_names(card, log) {
            match named(&name) {
                Some(more) => add(more),
                None => self.not_written(name),
            }
        }
        let names = match variable(&card.keyword) {
            Variable::All => all,
            Variable::Preselect => preselected,
            Variable::Named => &[],
        };
        names.iter().filter_map(|name| named(name)).for_each(add);
        variables
    }

    /// Name and members of the set that a history of some variables is of; none where nothing is written. Without a set it is of
    /// the whole model, where that is small enough.
    fn set_of(&self, card: &Card, entity: Entity, n_variables: usize, log: &mut Log) -> Option<(String, Vec<u32>)> {
        let place = card.keyword.place;
        let noun = entity.noun();
        let (key, all) = match entity {
            Entity::Node => ("NSET", self.assembly.mesh.n_nodes()),
            Entity::Element => ("ELSET", self.assembly.mesh.n_elements()),
        };
        let name = &card.keyword.name;
        let (set, members) = match card.keyword.get(key).filter(|set| !set.is_empty()) {
            None if all.saturating_mul(n_variables) > MOST_TRACES => {
                let text = format!(
                    "*{name} names no {key}=, which means all {all} {noun}s: more than {MOST_TRACES} traces are not \
                     written; name a set with {key}=, or ask for *OUTPUT, FIELD"
                );
                log.warning(place, text);
                return None;
            }
            None => (WHOLE_MODEL, (0..all as u32).collect()),
            Some(set) => match self.assembly.members(entity, set) {
                None => {
                    let hint = self.assembly.hint(entity, set);
                    log.absent(place, format!("there is no {noun} set `{set}`{hint}"));
                    return None;
                }
                Some(members) if members.is_empty() => {
                    log.warning(place, format!("{noun} set `{set}` is empty: no history is written for it"));
                    return None;
                }
                Some(members) => (set, members),
            },
        };
        if n_variables == 0 {
            log.note(place, format!("nothing of this *{name} is written"));
            return None;
        }
        Some((set.to_owned(), members))
    }

    fn has_fluid(&self) -> bool {
        self.assembly.mesh.groups.iter().any(|group| group.kind.is_acoustic())
    }

    /// The field of fluids, where there are any.
    fn pressure(&self) -> Vec<FieldQuantity> {
        if self.has_fluid() { vec![FieldQuantity::Pressure] } else { Vec::new() }
    }

    /// Adds the fields that a card names.
    fn named_fields(&mut self, at: usize, card: &Card, entity: Entity, log: &Log) {
        for name in variable_names(card, log) {
            let quantity = match entity {
                Entity::Node => {
                    let named = NodalQuantity::named(&name).and_then(|(quantity, _)| FieldQuantity::of_nodes(quantity));
                    named.filter(|quantity| *quantity != FieldQuantity::Pressure || self.has_fluid())
                }
                Entity::Element => FieldQuantity::of_elements(name.trim_end_matches(|c: char| c.is_ascii_digit())),
            };
            match quantity {
                Some(quantity) => self.add_fields(at, &[quantity]),
                None => self.not_written(name),
            }
        }
    }

    fn add_fields(&mut self, at: usize, quantities: &[FieldQuantity]) {
        let Some(request) = self.deck.fields.get_mut(at) else { return };
        for quantity in quantities {
            if !request.quantities.contains(quantity) {
                request.quantities.push(*quantity);
            }
        }
    }

    fn not_written(&mut self, name: String) {
        if !self.unwritten.contains(&name) && self.unwritten.len() < 40 {
            self.unwritten.push(name);
        }
    }
}

/// The component of a quantity that is named, if there is one below `n`, or all `n` components.
fn components<Q: Copy>(quantity: Q, component: Option<u8>, n: u8) -> Vec<(Q, u8)> {
    let wanted = |at: &u8| component.is_none_or(|component| component == *at);
    (0..n).filter(wanted).map(|component| (quantity, component)).collect()
}

/// What `VARIABLE=` asks for besides the variables that are named.
#[derive(PartialEq)]
enum Variable {
    All,
    Preselect,
    Named,
}

fn variable(keyword: &Keyword) -> Variable {
    match keyword.word("VARIABLE").as_str() {
        "ALL" => Variable::All,
        _ if keyword.has("VARIABLE") => Variable::Preselect,
        _ => Variable::Named,
    }
}

/// When to write; none for never.
fn interval(keyword: &Keyword, default: OutputInterval, log: &mut Log) -> Option<OutputInterval> {
    let given = |keys: &[&str]| keys.iter().find_map(|key| keyword.get(key));
    let (key, value, interval) = if let Some(value) = given(&["FREQUENCY", "FREQUENCYF"]) {
        // The second is CalculiX's.
        ("FREQUENCY", value, whole(value.as_bytes()).map(OutputInterval::Increments))
    } else if let Some(value) = given(&["TIMEINTERVAL"]) {
        ("TIME INTERVAL", value, real(value.as_bytes()).filter(|t| *t > 0.).map(OutputInterval::Time))
    } else if let Some(value) = given(&["NUMBERINTERVAL", "NUMBERINTERVALS"]) {
        ("NUMBER INTERVAL", value, whole(value.as_bytes()).filter(|n| *n > 0).map(OutputInterval::Count))
    } else {
        if keyword.has("TIMEPOINTS") {
            log.note(keyword.place, "TIME POINTS= is not read: the default interval is used");
        }
        return Some(default);
    };
    if interval.is_none() {
        log.error(keyword.place, format!("*{}: {key}={value} is not a positive number", keyword.name));
    }
    interval.or(Some(default)).filter(|interval| *interval != OutputInterval::Increments(0))
}

fn variable_names(card: &Card, log: &Log) -> Vec<String> {
    let names = entries(card, log).into_iter().flat_map(|entry| entry.words());
    names.filter(|name| !name.is_empty()).collect()
}
