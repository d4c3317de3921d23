//! Sets by label → lists of indices, each member once, in the user's order.

use std::collections::HashSet;

use super::lexer::{Cursor, Place, fields, text};
use super::log::Log;
use super::mesh_cards::parse_range;
use super::numbers::label;
use super::part::locate_line;
use super::raw::{Chunk, Entity, Members, RawPart, RawSets};
use crate::words::counted;

/// Sets within sets within sets.
const MAX_DEPTH: usize = 64;
/// Missing labels shown a set.
const SHOWN: usize = 3;

/// What a set's members may refer to. An instance name is empty for "here".
pub(super) trait Lookup {
    /// Index of a label.
    fn label(&self, entity: Entity, instance: &str, label: u32) -> Option<u32>;
    /// Indices of the labels first, first + step, … up to last that exist.
    fn range(&self, entity: Entity, instance: &str, range: [u32; 3]) -> Vec<u32>;
    /// The instance exists.
    fn has_instance(&self, instance: &str) -> bool;
    /// A set or `INSTANCE.LABEL` that is not in the list being resolved.
    fn named(&self, entity: Entity, instance: &str, name: &str) -> Option<Vec<u32>>;
    /// Members given by position, or through an element set.
    fn direct(&self, entity: Entity, instance: &str, members: &Members) -> Option<Vec<u32>>;
}

/// A set that is being resolved.
#[derive(Default)]
struct Open<'a> {
    name: &'a str,
    members: Vec<u32>,
    /// Members that do not exist.
    missing_labels: usize,
    /// Sets that it names and that do not exist.
    missing_sets: usize,
    /// Place of the last of them that is shown.
    last: Place,
    /// Sets that it names and that do exist, by instance and name: naming one again adds nothing.
    named: HashSet<(String, String)>,
}

/// Members that were seen already.
struct Seen(Vec<u64>);

impl Seen {
    /// True the first time.
    fn insert(&mut self, index: u32) -> bool {
        let word = index as usize / 64;
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        let bit = 1 << (index % 64);
        let new = self.0[word] & bit == 0;
        self.0[word] |= bit;
        new
    }

    fn clear(&mut self, members: &[u32]) {
        for index in members {
            self.0[*index as usize / 64] = 0;
        }
    }
}

/// Resolves all sets of a part, by position.
pub(super) fn resolve<L: Lookup>(entity: Entity, part: &RawPart, lookup: &L, log: &mut Log) -> Vec<Vec<u32>> {
    let sets = part.sets(entity);
    let done = vec![None; sets.list.len()];
    let mut resolver = Resolver { entity, sets, lookup, done, open: Vec::new(), seen: Seen(Vec::new()) };
    for at in 0..sets.list.len() {
        resolver.set(at, log);
    }
    resolver.done.into_iter().map(Option::unwrap_or_default).collect()
}

struct Resolver<'a, L> {
    entity: Entity,
    sets: &'a RawSets,
    lookup: &'a L,
    done: Vec<Option<Vec<u32>>>,
    /// Sets being resolved, outermost first.
    open: Vec<usize>,
    seen: Seen,
}

impl<L: Lookup> Resolver<'_, L> {
    fn set(&mut self, at: usize, log: &mut Log) {
        if self.done[at].is_some() {
            return;
        }
        self.open.push(at);
        let raw = &self.sets.list[at];
        let mut set = Open { name: &raw.name, ..Open::default() };
        for chunk in &raw.chunks {
            self.chunk(chunk, &mut set, log);
        }
        for (n, what) in [(set.missing_labels, ""), (set.missing_sets, " set")] {
            if n > SHOWN {
                let more = counted(n - SHOWN, &format!("more {}{what}", self.entity.noun()));
                log.absent(set.last, format!("set `{}` names {more} not in the model", set.name));
            }
        }
        if !set.members.is_sorted_by(|a, b| a < b) {
            set.members.retain(|index| self.seen.insert(*index));
            self.seen.clear(&set.members);
        }
        self.done[at] = Some(set.members);
        self.open.pop();
    }

    fn chunk(&mut self, chunk: &Chunk, set: &mut Open, log: &mut Log) {
        let (name, instance) = (set.name, chunk.instance.as_str());
        if !self.lookup.has_instance(instance) {
            return log.absent(chunk.place, format!("set `{name}`: instance `{instance}` does not exist"));
        }
        match &chunk.members {
            Members::Labels(labels) => {
                set.members.reserve(labels.len());
                for wanted in labels {
                    self.label(*wanted, instance, set, log, |log| {
                        let holds = |line: &[u8]| fields(line).any(|field| label(field) == Some(*wanted));
                        locate_line(log, chunk.place, chunk.offset, holds, false)
                    });
                }
            }
            Members::Ranges(end) => self.lines(chunk, *end, log, |resolver, line, place, log| {
                if let Ok(range) = parse_range(line) {
                    resolver.range(range, instance, place, set, log);
                }
            }),
            Members::Lines(end) => self.lines(chunk, *end, log, |resolver, line, place, log| {
                for field in fields(line).filter(|f| !f.is_empty()) {
                    match label(field) {
                        Some(wanted) => resolver.label(wanted, instance, set, log, |_| place),
                        None => resolver.reference(&text(field), instance, place, set, log),
                    }
                }
            }),
            direct => match (self.lookup.direct(self.entity, instance, direct), direct) {
                (Some(found), _) => set.members.extend(found),
                (None, Members::NodesOf(elements)) => {
                    log.absent(chunk.place, format!("set `{name}`: element set `{elements}` does not exist"));
                }
                (None, _) => {}
            },
        }
    }

    /// Reads the lines of a chunk again.
    fn lines(
        &mut self,
        chunk: &Chunk,
        end: usize,
        log: &mut Log,
        mut each: impl FnMut(&mut Self, &[u8], Place, &mut Log),
    ) {
        let Some(source) = log.sources.get(chunk.place.source as usize).cloned() else { return };
        let mut cursor = Cursor::at(source.bytes(), chunk.offset, chunk.place);
        while cursor.at < end
            && let Some(line) = cursor.next_data()
        {
            each(self, line, cursor.last(), log);
        }
    }

    fn label(&self, wanted: u32, instance: &str, set: &mut Open, log: &mut Log, place: impl FnOnce(&Log) -> Place) {
        if let Some(index) = self.lookup.label(self.entity, instance, wanted) {
            return set.members.push(index);
        }
        set.missing_labels += 1;
        if set.missing_labels <= SHOWN {
            set.last = place(log);
            let noun = self.entity.noun();
            log.absent(set.last, format!("set `{}` names {noun} {wanted}, which does not exist", set.name));
        }
    }

    fn range(&self, range: [u32; 3], instance: &str, place: Place, set: &mut Open, log: &mut Log) {
        let found = self.lookup.range(self.entity, instance, range);
        let [first, last, step] = range;
        let missing = u64::from((last - first) / step) + 1 - found.len() as u64;
        let (name, noun) = (set.name, self.entity.noun());
        if found.is_empty() {
            log.note(place, format!("set `{name}`: no {noun} of this range exists"));
        } else if missing > 0 {
            let (s, does) = if missing == 1 { ("", "does") } else { ("s", "do") };
            log.note(place, format!("set `{name}`: {missing} {noun}{s} of this range {does} not exist"));
        }
        set.members.extend(found);
    }

    /// Adds the members of a set that this one names.
    fn reference(&mut self, name: &str, instance: &str, place: Place, set: &mut Open, log: &mut Log) {
        let key = (instance.to_owned(), name.to_owned());
        if set.named.contains(&key) {
            return;
        }
        let found = match self.sets.find(name).filter(|_| instance.is_empty()) {
            // A set that names itself appends nothing.
            Some(other) if self.open.last() == Some(&other) => return,
            Some(other) if self.open.contains(&other) || self.open.len() >= MAX_DEPTH => {
                let text = format!("sets `{}` and `{name}` hold each other, or nest too deeply", set.name);
                return log.error(place, text);
            }
            Some(other) => {
                self.set(other, log);
                self.done[other].clone()
            }
            None => self.lookup.named(self.entity, instance, name),
        };
        if let Some(found) = found {
            set.named.insert(key);
            return set.members.extend(found);
        }
        set.missing_sets += 1;
        if set.missing_sets <= SHOWN {
            set.last = place;
            let noun = self.entity.noun();
            log.absent(place, format!("set `{}` names the {noun} set `{name}`, which does not exist", set.name));
        }
    }
}
