//! `*OUTPUT`, `*NODE OUTPUT`, `*ELEMENT OUTPUT`, `*NODE PRINT`, `*NODE FILE`, `*EL FILE` → traces and fields.

use super::assembly::Assembly;
use super::lexer::{Card, Keyword, fields, text};
use super::log::Log;
use super::numbers::{real, whole};
use super::raw::RawDeck;
use crate::dynamics::{ElementHistoryRequest, FieldRequest, HistoryRequest, OutputInterval};
use crate::quantities::{ElementQuantity, FieldQuantity, NodalQuantity};

/// Intervals a step where the deck gives none, as in Abaqus/Explicit.
const HISTORY_INTERVALS: u32 = 200;
const FIELD_INTERVALS: u32 = 20;

/// Traces (nodes or elements times variables) that a history of the whole model may have.
const MOST_TRACES: usize = 10_000;
/// What stands in the traces' names where a history names no set.
const WHOLE_MODEL: &str = "MODEL";

/// What a history is of.
#[derive(Clone, Copy)]
enum Of {
    Nodes,
    Elements,
}

#[derive(Clone, Copy, PartialEq)]
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
    pub histories: Vec<HistoryRequest>,
    pub element_histories: Vec<ElementHistoryRequest>,
    pub fields: Vec<FieldRequest>,
    current: Output,
    /// Variables that are not written, once each.
    unwritten: Vec<String>,
}

impl<'a> Requests<'a> {
    pub fn new(assembly: &'a Assembly) -> Self {
        let dimension = assembly.mesh.dimension as u8;
        Self {
            assembly,
            dimension,
            histories: Vec::new(),
            element_histories: Vec::new(),
            fields: Vec::new(),
            current: Output::None,
            unwritten: Vec::new(),
        }
    }

    pub fn read(&mut self, deck: &RawDeck, log: &mut Log) {
        let mut place = None;
        for card in deck.cards.iter().map(|c| &c.card) {
            let before = self.unwritten.len();
            match card.keyword.key.as_str() {
                "OUTPUT" => self.output(card, log),
                "NODEOUTPUT" => self.node_output(card, log),
                "ELEMENTOUTPUT" => self.element_output(card, log),
                "NODEPRINT" => self.print(card, log),
                "NODEFILE" | "ELFILE" => self.file(card, log),
                _ => {}
            }
            if self.unwritten.len() > before {
                place = place.or(Some(card.keyword.place));
            }
        }
        if let Some(place) = place {
            log.note(place, format!("output variables that are not written: {}", self.unwritten.join(", ")));
        }
        self.fields.retain(|f| !f.quantities.is_empty());
    }

    fn output(&mut self, card: &Card, log: &mut Log) {
        let keyword = &card.keyword;
        let history = keyword.has("HISTORY");
        if !history && !keyword.has("FIELD") {
            self.current = Output::None;
            return;
        }
        let default = OutputInterval::Count(if history { HISTORY_INTERVALS } else { FIELD_INTERVALS });
        let Some(interval) = interval(keyword, default, log) else {
            self.current = Output::Off;
            return;
        };
        if history {
            self.current = Output::History(interval);
            return;
        }
        let quantities = match variable(keyword) {
            Variable::All => [&FieldQuantity::AT_NODES[..], &FieldQuantity::AT_ELEMENTS].concat(),
            Variable::Preselect => vec![FieldQuantity::Displacement, FieldQuantity::Velocity, FieldQuantity::Stress],
            Variable::Named => Vec::new(),
        };
        self.fields.push(FieldRequest { quantities, interval });
        self.current = Output::Field(self.fields.len() - 1);
    }

    fn node_output(&mut self, card: &Card, log: &mut Log) {
        match self.current {
            Output::History(interval) => self.history(card, interval, log),
            Output::Field(at) => {
                match variable(&card.keyword) {
                    Variable::All => self.add_fields(at, &FieldQuantity::AT_NODES),
                    Variable::Preselect => self.add_fields(at, &FieldQuantity::AT_NODES[..2]),
                    Variable::Named => {}
                }
                self.node_fields(at, card, log);
            }
            Output::Off => {}
            Output::None => {
                log.error(card.keyword.place, "*NODE OUTPUT must follow *OUTPUT, FIELD or *OUTPUT, HISTORY")
            }
        }
    }

    fn element_output(&mut self, card: &Card, log: &mut Log) {
        match self.current {
            Output::History(interval) => self.element_history(card, interval, log),
            Output::Field(at) => {
                match variable(&card.keyword) {
                    Variable::All => self.add_fields(at, &FieldQuantity::AT_ELEMENTS),
                    Variable::Preselect => self.add_fields(at, &FieldQuantity::AT_ELEMENTS[..1]),
                    Variable::Named => {}
                }
                self.element_fields(at, card, log);
            }
            Output::Off => {}
            Output::None => {
                let text = "*ELEMENT OUTPUT follows no *OUTPUT, FIELD or *OUTPUT, HISTORY: nothing is written for it";
                log.note(card.keyword.place, text)
            }
        }
    }

    /// `*NODE PRINT`: every increment unless it says otherwise.
    fn print(&mut self, card: &Card, log: &mut Log) {
        if let Some(interval) = interval(&card.keyword, OutputInterval::Increments(1), log) {
            self.history(card, interval, log);
        }
    }

    /// `*NODE FILE` of a set is a history; of the whole model it is a field, and so is `*EL FILE`.
    fn file(&mut self, card: &Card, log: &mut Log) {
        let nodes = card.keyword.key == "NODEFILE";
        if nodes && card.keyword.has("NSET") {
            return self.print(card, log);
        }
        let Some(interval) = interval(&card.keyword, OutputInterval::Count(FIELD_INTERVALS), log) else { return };
        self.fields.push(FieldRequest { quantities: Vec::new(), interval });
        let at = self.fields.len() - 1;
        if nodes { self.node_fields(at, card, log) } else { self.element_fields(at, card, log) }
    }

    fn history(&mut self, card: &Card, interval: OutputInterval, log: &mut Log) {
        let place = card.keyword.place;
        let mut variables = Vec::new();
        for name in variable_names(card, log) {
            match NodalQuantity::named(&name) {
                Some((quantity, Some(component))) if component < self.dimension => {
                    variables.push((quantity, component))
                }
                Some((quantity, None)) => variables.extend((0..self.dimension).map(|c| (quantity, c))),
                Some(_) => {}
                None => self.not_written(name),
            }
        }
        let names: &[&str] = match variable(&card.keyword) {
            Variable::All => &["U", "V", "A", "RF"],
            Variable::Preselect => &["U", "V"],
            Variable::Named => &[],
        };
        for (quantity, _) in names.iter().filter_map(|name| NodalQuantity::named(name)) {
            variables.extend((0..self.dimension).map(|c| (quantity, c)));
        }
        let variables = once(variables);
        let Some((set, nodes)) = self.set_of(card, Of::Nodes, variables.len(), log) else { return };
        if variables.is_empty() {
            return log.note(place, format!("nothing of this *{} is written", card.keyword.name));
        }
        self.histories.push(HistoryRequest { set, nodes, variables, interval });
    }

    fn element_history(&mut self, card: &Card, interval: OutputInterval, log: &mut Log) {
        let place = card.keyword.place;
        let mut variables = Vec::new();
        for name in variable_names(card, log) {
            match self.elemental(&name) {
                Some(more) => variables.extend(more),
                None => self.not_written(name),
            }
        }
        let names: &[&str] = match variable(&card.keyword) {
            Variable::All => &["S", "E", "MISES", "SENER"],
            Variable::Preselect => &["S"],
            Variable::Named => &[],
        };
        variables.extend(names.iter().filter_map(|name| self.elemental(name)).flatten());
        let variables = once(variables);
        let Some((set, elements)) = self.set_of(card, Of::Elements, variables.len(), log) else { return };
        if variables.is_empty() {
            return log.note(place, format!("nothing of this *{} is written", card.keyword.name));
        }
        self.element_histories.push(ElementHistoryRequest { set, elements, variables, interval });
    }

    /// Name and members of the set that a history is of. Without a set it is of the whole model, where that is small enough.
    fn set_of(&self, card: &Card, of: Of, n_variables: usize, log: &mut Log) -> Option<(String, Vec<u32>)> {
        let place = card.keyword.place;
        let (key, one, all) = match of {
            Of::Nodes => ("NSET", "node", self.assembly.mesh.n_nodes()),
            Of::Elements => ("ELSET", "element", self.assembly.mesh.n_elements()),
        };
        let Some(set) = card.keyword.get(key).filter(|set| !set.is_empty()) else {
            if all.saturating_mul(n_variables) <= MOST_TRACES {
                return Some((WHOLE_MODEL.to_owned(), (0..all as u32).collect()));
            }
            let name = &card.keyword.name;
            let text = format!(
                "*{name} names no {key}=, which means all {all} {one}s: more than {MOST_TRACES} traces are not written; \
                 name a set with {key}=, or ask for *OUTPUT, FIELD"
            );
            log.warning(place, text);
            return None;
        };
        let members = match of {
            Of::Nodes => self.assembly.nodes_named(set),
            Of::Elements => self.assembly.elements_named(set),
        };
        match members {
            None => {
                let hint = self.assembly.hint(matches!(of, Of::Elements), set);
                log.absent(place, format!("there is no {one} set `{set}`{hint}"));
            }
            Some(members) if members.is_empty() => {
                log.warning(place, format!("{one} set `{set}` is empty: no history is written for it"))
            }
            Some(members) => return Some((set.to_owned(), members)),
        }
        None
    }

    /// An element variable and its components: all that a mesh of this dimension has, or the one that is named.
    fn elemental(&self, name: &str) -> Option<Vec<(ElementQuantity, u8)>> {
        let (quantity, component) = ElementQuantity::named(name)?;
        let n_components = quantity.n_components().min(if self.dimension == 2 { 4 } else { 6 });
        Some(match component {
            None => (0..n_components).map(|component| (quantity, component)).collect(),
            Some(component) if component < n_components => vec![(quantity, component)],
            Some(_) => Vec::new(),
        })
    }

    fn node_fields(&mut self, at: usize, card: &Card, log: &mut Log) {
        for name in variable_names(card, log) {
            match NodalQuantity::named(&name).and_then(|(quantity, _)| FieldQuantity::of_nodes(quantity)) {
                Some(quantity) => self.add_fields(at, &[quantity]),
                None => self.not_written(name),
            }
        }
    }

    fn element_fields(&mut self, at: usize, card: &Card, log: &mut Log) {
        for name in variable_names(card, log) {
            match FieldQuantity::of_elements(name.trim_end_matches(|c: char| c.is_ascii_digit())) {
                Some(quantity) => self.add_fields(at, &[quantity]),
                None => self.not_written(name),
            }
        }
    }

    fn add_fields(&mut self, at: usize, quantities: &[FieldQuantity]) {
        let Some(request) = self.fields.get_mut(at) else { return };
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

/// Each entry once, in the order of the first.
fn once<T: PartialEq + Copy>(entries: Vec<T>) -> Vec<T> {
    let mut out = Vec::new();
    for entry in entries {
        if !out.contains(&entry) {
            out.push(entry);
        }
    }
    out
}

/// What `VARIABLE=` asks for besides the variables that are named.
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

/// When to write; nothing for never.
fn interval(keyword: &Keyword, default: OutputInterval, log: &mut Log) -> Option<OutputInterval> {
    let place = keyword.place;
    let mut bad = |key: &str, value: &str| {
        log.error(place, format!("*{}: {key}={value} is not a positive number", keyword.name));
        Some(default)
    };
    // The second is CalculiX's.
    if let Some(value) = keyword.get("FREQUENCY").or(keyword.get("FREQUENCYF")) {
        return match whole(value.as_bytes()) {
            Some(0) => None,
            Some(n) => Some(OutputInterval::Increments(n)),
            None => bad("FREQUENCY", value),
        };
    }
    if let Some(value) = keyword.get("TIMEINTERVAL") {
        return match real(value.as_bytes()).filter(|t| *t > 0.) {
            Some(time) => Some(OutputInterval::Time(time)),
            None => bad("TIME INTERVAL", value),
        };
    }
    for key in ["NUMBERINTERVAL", "NUMBERINTERVALS"] {
        if let Some(value) = keyword.get(key) {
            return match whole(value.as_bytes()).filter(|n| *n > 0) {
                Some(n) => Some(OutputInterval::Count(n)),
                None => bad("NUMBER INTERVAL", value),
            };
        }
    }
    if keyword.has("TIMEPOINTS") {
        log.note(place, "TIME POINTS= is not read: the default interval is used");
    }
    Some(default)
}

fn variable_names(card: &Card, log: &Log) -> Vec<String> {
    let lines = card.data.iter().map(|line| log.line(line));
    lines
        .flat_map(|bytes| fields(&bytes).map(|f| text(f).to_uppercase()).collect::<Vec<_>>())
        .filter(|n| !n.is_empty())
        .collect()
}
