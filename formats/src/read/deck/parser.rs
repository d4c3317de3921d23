//! Keyword cards → [`RawDeck`]: scopes, includes, and which keyword is read, left out or refused.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::ReadOptions;
use super::accepted::{Accepted, accepted};
use super::advice::{Situation, log_keywords};
use super::data::{numbers, numbers_of};
use super::frame::Frame;
use super::keywords::{Class, IgnoreList, family, has_word, is_other_section};
use super::lexer::{Card, Cursor, DataLine, Keyword, Line, Place, Source, compact, decode};
use super::lines::class_of;
use super::log::Log;
use super::mesh_cards::{ElementBlock, NodeBlock, SetBlock};
use super::nesting::Nesting;
use super::parameters::{check, check_data, check_fields};
use super::raw::{RawDeck, RawInstance, RawMaterial, RawPart, RawStep, StepCard};
use super::report::{KeywordCount, KeywordUse};

const MAX_DEPTH: usize = 20;
/// Files that include two others each, twenty deep, would never end.
const MAX_FILES: usize = 100_000;

/// Keywords that give a deck its shape: leaving one out would only garble the rest.
const STRUCTURE: &str =
    "NODE ELEMENT PART ENDPART ASSEMBLY ENDASSEMBLY INSTANCE ENDINSTANCE INCLUDE ENDSTEP END MATERIAL";

/// Keywords that say what nodes, elements and sets there are, or that would have to be known for it.
const MAKES_MESH: &str = "NODE ELEMENT NSET ELSET PART ENDPART ASSEMBLY ENDASSEMBLY INSTANCE ENDINSTANCE SYSTEM HEADING \
                          END PARAMETER ELCOPY ELGEN NCOPY NFILL NGEN NMAP";

/// Which mesh the cards belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Scope {
    #[default]
    Root,
    Part(usize),
    Instance(usize),
}

/// What the next data lines are for.
#[derive(Default)]
enum Block {
    /// No keyword yet.
    #[default]
    None,
    Skip,
    Nodes(NodeBlock),
    Elements(ElementBlock),
    Set(SetBlock),
    Card(Card),
}

/// A keyword and where its data begin.
struct Current {
    keyword: Keyword,
    accepted: &'static Accepted,
    first_data: Option<Place>,
}

#[derive(Default)]
pub(super) struct Parser {
    options: ReadOptions,
    pub ignore: IgnoreList,
    pub log: Log,
    pub raw: RawDeck,
    pub keywords: Vec<KeywordCount>,
    keyword_places: HashMap<String, (usize, Place)>,
    pub bytes: u64,
    scope: Scope,
    nesting: Nesting,
    block: Block,
    /// The keyword whose data lines come next, where they are checked.
    current: Option<Current>,
    /// Parameters without effect, once each.
    idle: Vec<(Place, String)>,
    in_step: bool,
    /// The step is left out on request, or is not the first.
    skip_step: bool,
    material: Option<usize>,
    frame: Option<Frame>,
    user_elements: HashMap<String, usize>,
    stack: Vec<PathBuf>,
    /// In-memory decks reach no files.
    may_include: bool,
    too_many_files: bool,
}

impl RawDeck {
    pub fn part_mut(&mut self, scope: Scope) -> &mut RawPart {
        match scope {
            Scope::Part(i) if i < self.parts.len() => &mut self.parts[i],
            Scope::Instance(i) if i < self.instances.len() => &mut self.instances[i].own,
            _ => &mut self.root,
        }
    }
}

impl Parser {
    pub fn new(options: &ReadOptions, may_include: bool) -> Self {
        let ignore = IgnoreList::new(&options.ignore);
        Self { options: options.clone(), ignore, may_include, ..Self::default() }
    }

    /// Reads a source to its end. The last block stays open: an included file may begin or go on with data.
    pub fn run(&mut self, source: Source) {
        let source = Rc::new(source);
        let index = self.log.sources.len() as u32;
        self.log.sources.push(Rc::clone(&source));
        self.bytes += source.bytes().len() as u64;
        self.stack.push(source.path.canonicalize().unwrap_or_else(|_| source.path.clone()));
        let mut cursor = Cursor::new(source.bytes(), index);
        self.data(&mut cursor);
        while let Some(line) = cursor.next_line() {
            if let Line::Keyword(first) = line {
                let keyword = Keyword::parse(first, cursor.last(), &mut cursor);
                self.keyword(keyword);
            }
            self.data(&mut cursor);
        }
        self.stack.pop();
    }

    /// Closes what is open at the end of the deck.
    pub fn end(&mut self) {
        self.close();
        // What a file that could not be included opens or closes is not known.
        if !self.log.incomplete {
            self.nesting.end(&mut self.log);
        }
        let places = &self.keyword_places;
        let place = |entry: &KeywordCount| {
            places.get(&count_key(&compact(&entry.keyword), entry.used)).map(|(_, place)| *place)
        };
        let keywords: Vec<_> = self.keywords.iter().filter_map(|entry| Some((entry, place(entry)?))).collect();
        let situation = Situation {
            options: &self.options,
            ignore: &self.ignore,
            has_elements: self.raw.parts().any(RawPart::is_computed),
        };
        log_keywords(&keywords, &self.idle, &situation, &mut self.log);
    }

    fn data(&mut self, cursor: &mut Cursor<'_>) {
        if let Some(current) = self.current.as_mut().filter(|current| current.first_data.is_none()) {
            let mut ahead = cursor.clone();
            current.first_data = ahead.next_data().map(|_| ahead.last());
        }
        let part = self.raw.part_mut(self.scope);
        match &mut self.block {
            Block::Nodes(block) => block.read(part, cursor, self.frame.as_ref(), &mut self.log),
            Block::Elements(block) => block.read(part, cursor, &mut self.log),
            Block::Set(block) => block.read(part, cursor, &mut self.log),
            Block::Card(card) => {
                while cursor.next_data().is_some() {
                    card.data.push(DataLine { place: cursor.last(), start: cursor.last_start, end: cursor.at });
                }
            }
            Block::None => {
                if cursor.next_data().is_some() {
                    self.log.error(cursor.last(), "data before the first keyword: is this an Abaqus deck?");
                    self.block = Block::Skip;
                    self.data(cursor);
                }
            }
            Block::Skip => while cursor.next_data().is_some() {},
        }
    }

    fn include(&mut self, name: &str, place: Place) {
        if name.is_empty() {
            return self.log.error(place, "INPUT= names no file");
        }
        if !self.may_include {
            return self.log.error(place, format!("`{name}` cannot be included: this deck is no file"));
        }
        if self.stack.len() >= MAX_DEPTH {
            return self.log.error(place, format!("`{name}` is included more than {MAX_DEPTH} files deep"));
        }
        if self.log.sources.len() >= MAX_FILES {
            if !self.too_many_files {
                self.too_many_files = true;
                self.log.error(place, format!("more than {MAX_FILES} files are included"));
            }
            return;
        }
        let folder = |source: Option<&Rc<Source>>| source.and_then(|s| s.path.parent()).map(Path::to_path_buf);
        let beside = folder(self.log.sources.get(place.source as usize)).unwrap_or_default();
        let top = folder(self.log.sources.first()).unwrap_or_default();
        // Decks from Windows part their folders with backslashes.
        let names = [name.to_owned(), name.replace('\\', "/")];
        let mut places = names.iter().flat_map(|name| [beside.join(name), top.join(name)]);
        // What is no file is told by its kind.
        let path = places.clone().find(|p| p.is_file()).or_else(|| places.find(|p| p.exists()));
        let Some(path) = path else {
            let looked = beside.join(name);
            self.log.incomplete = true;
            return self.log.error(place, format!("included file `{}` does not exist", looked.display()));
        };
        if path.canonicalize().is_ok_and(|p| self.stack.contains(&p)) {
            return self.log.error(place, format!("`{}` includes itself", path.display()));
        }
        match Source::open(&path) {
            Ok(source) => self.run(source),
            Err(e) => {
                self.log.incomplete = true;
                self.log.error(place, format!("cannot read `{}`: {e}", path.display()));
            }
        }
    }

    fn keyword(&mut self, keyword: Keyword) {
        let place = keyword.place;
        if keyword.key == "INCLUDE" {
            self.count(&keyword, KeywordUse::Read);
            return self.include(keyword.value("INPUT"), place);
        }
        self.close();
        self.nesting.keyword(&keyword, &mut self.log);
        if self.skip_step {
            // Asked for twice, which is no mistake.
            self.ignore.covers(&[&keyword.key]);
            self.count(&keyword, KeywordUse::Ignored);
            if keyword.key == "ENDSTEP" {
                self.skip_step = false;
            }
            return;
        }
        let class = class_of(&keyword.key, self.options.lines);
        let family = family(&keyword.key, class);
        if is_other_section(&keyword.key) && keyword.has("ELSET") {
            let set = keyword.value("ELSET").to_owned();
            self.raw.part_mut(self.scope).other_sections.push((set, place));
        }
        if keyword.key == "USERELEMENT" {
            let nodes = keyword.get("NODES").and_then(|n| n.parse().ok()).unwrap_or(0);
            self.user_elements.insert(keyword.value("TYPE").to_uppercase(), nodes);
        }
        if !matches!(keyword.key.as_str(), "DENSITY" | "ELASTIC" | "ACOUSTICMEDIUM" | "DAMPING")
            && class == Some(Class::Read)
        {
            self.material = None;
        }
        if !has_word(STRUCTURE, &keyword.key) && self.ignore.covers(&[&keyword.key, family]) {
            self.count(&keyword, KeywordUse::Ignored);
            if keyword.key == "STEP" {
                self.skip_step = true;
            }
            return;
        }
        if self.options.mesh_only && !has_word(MAKES_MESH, &keyword.key) {
            self.count(&keyword, KeywordUse::NoEffect);
            return;
        }
        match class {
            Some(Class::Read) => {
                self.count(&keyword, KeywordUse::Read);
                self.check(&keyword);
                self.open(keyword);
            }
            Some(Class::NoEffect) => {
                self.count(&keyword, KeywordUse::NoEffect);
                self.check(&keyword);
                // As a whole it has no effect, and so have its data.
                self.current = None;
            }
            Some(Class::Procedure { .. }) => self.procedure(&keyword),
            Some(Class::Refused { .. }) if self.material_is_replaced() => self.count(&keyword, KeywordUse::Ignored),
            Some(Class::Refused { .. } | Class::Essential { .. }) | None => self.count(&keyword, KeywordUse::Refused),
        }
    }

    /// Checks the parameters of a keyword, and what its data lines will be.
    fn check(&mut self, keyword: &Keyword) {
        if let Some(accepted) = accepted(&keyword.key) {
            check(keyword, accepted, &mut self.idle, &mut self.log);
            self.current = Some(Current { keyword: keyword.clone(), accepted, first_data: None });
        }
    }

    /// In a `*MATERIAL` that the job defines.
    fn material_is_replaced(&self) -> bool {
        let material = self.material.and_then(|m| self.raw.materials.get(m));
        material.is_some_and(|m| self.options.job_materials.iter().any(|name| name.eq_ignore_ascii_case(&m.name)))
    }

    /// A procedure that is not explicit dynamics.
    fn procedure(&mut self, keyword: &Keyword) {
        if let Some(step) = self.raw.steps.last_mut().filter(|_| self.in_step) {
            step.procedure = line_of(keyword);
        }
        let used = if self.options.job_sets_time { KeywordUse::Ignored } else { KeywordUse::Refused };
        self.count(keyword, used);
    }

    fn open(&mut self, keyword: Keyword) {
        let place = keyword.place;
        let input = keyword.get("INPUT").map(str::to_owned);
        match keyword.key.as_str() {
            "NODE" => {
                let block = NodeBlock::open(&keyword, self.raw.part_mut(self.scope), &mut self.log);
                self.block = Block::Nodes(block);
            }
            "ELEMENT" => {
                let part = self.raw.part_mut(self.scope);
                let block = ElementBlock::open(&keyword, part, &self.user_elements, &self.options, &mut self.log);
                self.block = block.map_or(Block::Skip, Block::Elements);
            }
            "NSET" | "ELSET" => {
                let block = SetBlock::open(&keyword, self.raw.part_mut(self.scope), &mut self.log);
                self.block = block.map_or(Block::Skip, Block::Set);
            }
            "PART" => {
                let name = new_name(&keyword, self.raw.parts.iter().map(|p| &p.name), &mut self.log);
                self.raw.parts.push(RawPart { name, place, ..RawPart::default() });
                self.enter(Scope::Part(self.raw.parts.len() - 1));
            }
            "INSTANCE" => {
                if keyword.has("LIBRARY") {
                    self.log.error(place, "instances from a library of earlier results cannot be read");
                }
                let name = new_name(&keyword, self.raw.instances.iter().map(|i| &i.name), &mut self.log);
                let part = keyword.value("PART").to_owned();
                self.raw.instances.push(RawInstance { name, part, place, ..RawInstance::default() });
                self.enter(Scope::Instance(self.raw.instances.len() - 1));
                self.block = Block::Card(Card { keyword, data: Vec::new() });
            }
            "ASSEMBLY" => {
                self.raw.assembly = keyword.value("NAME").to_owned();
                self.enter(Scope::Root);
            }
            "ENDPART" | "ENDINSTANCE" | "ENDASSEMBLY" => self.enter(Scope::Root),
            "MATERIAL" => {
                let name = new_name(&keyword, self.raw.materials.iter().map(|m| &m.name), &mut self.log);
                self.raw.materials.push(RawMaterial { name, place, cards: Vec::new() });
                self.material = Some(self.raw.materials.len() - 1);
            }
            "STEP" => self.open_step(keyword),
            "ENDSTEP" => self.in_step = false,
            "END" => {}
            "DYNAMIC" if !keyword.has("EXPLICIT") => {
                self.current = None;
                self.procedure(&keyword);
            }
            _ => self.block = Block::Card(Card { keyword, data: Vec::new() }),
        }
        if let Some(input) = input {
            self.include(&input, place);
        }
    }

    fn open_step(&mut self, keyword: Keyword) {
        let (name, place) = (keyword.value("NAME").to_owned(), keyword.place);
        let ramp = keyword.word("AMPLITUDE") == "RAMP";
        self.raw.steps.push(RawStep { name, place, procedure: String::new(), ramp });
        self.scope = Scope::Root;
        self.in_step = true;
        // The second says that it is one too many; what further steps hold does not matter.
        self.skip_step = self.raw.steps.len() > 1;
        if !self.skip_step {
            self.block = Block::Card(Card { keyword, data: Vec::new() });
        } else if self.ignore.covers(&["LATER STEPS"]) {
            self.log.warning(place, "all steps but the first are left out on request");
        } else if self.raw.steps.len() == 2 {
            let text = "a second *STEP: one step is computed; --ignore LATER-STEPS leaves out all but the first";
            self.log.error(place, text);
        }
    }

    fn enter(&mut self, scope: Scope) {
        self.scope = scope;
        self.frame = None;
    }

    fn close(&mut self) {
        let current = self.current.take();
        if let Some(Current { keyword, accepted, first_data }) = &current {
            check_data(keyword, accepted, *first_data, &mut self.log);
        }
        let part = self.raw.part_mut(self.scope);
        match std::mem::replace(&mut self.block, Block::Skip) {
            Block::None | Block::Skip => {}
            Block::Nodes(block) => block.close(part),
            Block::Elements(block) => block.close(part, &mut self.log),
            Block::Set(_) => {}
            Block::Card(card) => {
                if let Some(Current { accepted, .. }) = current {
                    check_fields(&card, accepted, &mut self.log);
                }
                self.close_card(card);
            }
        }
    }

    fn close_card(&mut self, card: Card) {
        let place = card.keyword.place;
        let replaced = self.material_is_replaced();
        match card.keyword.key.as_str() {
            "HEADING" => {
                if let Some(line) = card.data.first().filter(|_| self.raw.title.is_empty()) {
                    self.raw.title = decode(&self.log.line(line)).into_owned();
                }
            }
            "INSTANCE" => {
                let data = card.data.iter().map(|line| (line.place, numbers_of(line, &mut self.log))).collect();
                if let Scope::Instance(i) = self.scope {
                    self.raw.instances[i].data = data;
                }
            }
            "SYSTEM" => {
                let values = numbers(&card, &mut self.log).concat();
                self.frame = Frame::from_system(&values).unwrap_or_else(|text| {
                    self.log.error(place, text);
                    None
                });
            }
            "DENSITY" | "ELASTIC" | "ACOUSTICMEDIUM" | "DAMPING" => match self.material {
                _ if replaced => {}
                Some(m) => self.raw.materials[m].cards.push(card),
                None => self.log.error(place, format!("*{} stands outside of a *MATERIAL", card.keyword.name)),
            },
            "SURFACE" => self.raw.part_mut(self.scope).surfaces.push(card),
            "SOLIDSECTION" => self.raw.part_mut(self.scope).sections.push(card),
            "SPRING" | "DASHPOT" | "MASS" => self.raw.part_mut(self.scope).line_sections.push(card),
            "ORIENTATION" => self.raw.part_mut(self.scope).orientations.push(card),
            _ => {
                if card.keyword.key == "DYNAMIC"
                    && let Some(step) = self.raw.steps.last_mut()
                {
                    step.procedure = line_of(&card.keyword);
                }
                self.raw.cards.push(StepCard { card, in_step: self.in_step });
            }
        }
    }

    fn count(&mut self, keyword: &Keyword, used: KeywordUse) {
        let key = count_key(&keyword.key, used);
        match self.keyword_places.get(&key) {
            Some((at, _)) => self.keywords[*at].count += 1,
            None => {
                self.keyword_places.insert(key, (self.keywords.len(), keyword.place));
                self.keywords.push(KeywordCount {
                    keyword: keyword.name.clone(),
                    count: 1,
                    file: self.log.file(keyword.place),
                    line: keyword.place.line,
                    used,
                });
            }
        }
    }
}

/// Where keywords of one use are counted.
fn count_key(key: &str, used: KeywordUse) -> String {
    format!("{key}{}", used as u8)
}

/// The name of a part, an instance or a material, which must be new.
fn new_name<'n>(keyword: &Keyword, mut others: impl Iterator<Item = &'n String>, log: &mut Log) -> String {
    let name = keyword.value("NAME");
    if name.is_empty() {
        log.error(keyword.place, format!("*{} has no NAME=", keyword.name));
    }
    if others.any(|other| other.eq_ignore_ascii_case(name)) {
        log.error(keyword.place, format!("{} `{name}` is defined twice", keyword.name.to_lowercase()));
    }
    name.to_owned()
}

/// A keyword line as a report shows it.
fn line_of(keyword: &Keyword) -> String {
    let parameters = keyword.parameters.iter().map(|(key, value)| match value.as_str() {
        "" => format!(", {key}"),
        value => format!(", {key}={value}"),
    });
    keyword.name.clone() + &parameters.collect::<String>()
}
