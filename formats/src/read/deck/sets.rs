//! Sets by label → lists of indices, each member once, in the user's order.

use std::collections::HashSet;

use super::lexer::{Cursor, Place, fields, text};
use super::log::Log;
use super::mesh_cards::parse_range;
use super::numbers::label;
use super::part::locate_line;
use super::raw::{Chunk, Members, RawSets};
use crate::words::counted;

/// Sets within sets within sets.
const MAX_DEPTH: usize = 64;
/// Missing labels shown a set.
const SHOWN: usize = 3;

/// What a set's members may refer to. An instance name is empty for "here".
pub(super) trait Lookup {
    /// `node` or `element`, for messages.
    const WHAT: &'static str;
    /// Index of a label.
    fn label(&self, instance: &str, label: u32) -> Option<u32>;
    /// Indices of the labels of a range that exist.
    fn range(&self, instance: &str, first: u32, last: u32, step: u32) -> Vec<u32>;
    /// The instance exists.
    fn has_instance(&self, instance: &str) -> bool;
    /// A set or `INSTANCE.LABEL` that is not in the list being resolved.
    fn named(&self, instance: &str, name: &str) -> Option<Vec<u32>>;
    /// Members given by position, or through an element set.
    fn direct(&self, instance: &str, members: &Members) -> Option<Vec<u32>>;
}

/// What one set has named so far.
#[derive(Default)]
struct Named {
    /// Members that do not exist.
    missing_labels: usize,
    /// Sets that do not exist.
    missing_sets: usize,
    /// Place of the last of them that is shown.
    last: Place,
    /// Sets that do, by instance and name: naming one again adds nothing.
    sets: HashSet<(String, String)>,
}

/// The line that is being resolved.
#[derive(Clone, Copy)]
struct Here<'a> {
    set: &'a str,
    instance: &'a str,
    place: Place,
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

/// Resolves all sets of a list, by position.
pub(super) fn resolve<L: Lookup>(sets: &RawSets, lookup: &L, log: &mut Log) -> Vec<Vec<u32>> {
    let mut resolver =
        Resolver { sets, lookup, done: vec![None; sets.list.len()], open: Vec::new(), seen: Seen(Vec::new()) };
    for at in 0..sets.list.len() {
        resolver.set(at, log);
    }
    resolver.done.into_iter().map(Option::unwrap_or_default).collect()
}

struct Resolver<'a, L> {
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
        let set = &self.sets.list[at];
        let mut members = Vec::new();
        let mut named = Named::default();
        for chunk in &set.chunks {
            self.chunk(chunk, &set.name, &mut members, &mut named, log);
        }
        for (n, what) in [(named.missing_labels, ""), (named.missing_sets, " set")] {
            if n > SHOWN {
                let more = counted(n - SHOWN, &format!("more {}{what}", L::WHAT));
                log.absent(named.last, format!("set `{}` names {more} not in the model", set.name));
            }
        }
        if !members.is_sorted_by(|a, b| a < b) {
            let mut kept = Vec::new();
            std::mem::swap(&mut kept, &mut members);
            kept.retain(|index| self.seen.insert(*index));
            self.seen.clear(&kept);
            members = kept;
        }
        self.done[at] = Some(members);
        self.open.pop();
    }

    fn chunk(&mut self, chunk: &Chunk, set: &str, members: &mut Vec<u32>, named: &mut Named, log: &mut Log) {
        let instance = chunk.instance.as_str();
        if !self.lookup.has_instance(instance) {
            return log.absent(chunk.place, format!("set `{set}`: instance `{instance}` does not exist"));
        }
        match &chunk.members {
            Members::Labels(labels) => {
                members.reserve(labels.len());
                for wanted in labels {
                    if let Some(index) = self.lookup.label(instance, *wanted) {
                        members.push(index);
                        continue;
                    }
                    named.missing_labels += 1;
                    if named.missing_labels <= SHOWN {
                        let holds = |_, line: &[u8]| fields(line).any(|f| label(f) == Some(*wanted));
                        let place = locate_line(log, chunk.place, chunk.offset, holds, false);
                        named.last = place;
                        log.absent(place, format!("set `{set}` names {} {wanted}, which does not exist", L::WHAT));
                    }
                }
            }
            Members::Ranges(end) => self.lines(chunk, *end, log, |resolver, line, place, log| {
                if let Ok(range) = parse_range(line) {
                    resolver.range(range, Here { set, instance, place }, members, log);
                }
            }),
            Members::Lines(end) => self.lines(chunk, *end, log, |resolver, line, place, log| {
                for field in fields(line).filter(|f| !f.is_empty()) {
                    match label(field) {
                        Some(wanted) => match resolver.lookup.label(instance, wanted) {
                            Some(index) => members.push(index),
                            None => {
                                named.missing_labels += 1;
                                if named.missing_labels <= SHOWN {
                                    named.last = place;
                                    let text = format!("set `{set}` names {} {wanted}, which does not exist", L::WHAT);
                                    log.absent(place, text);
                                }
                            }
                        },
                        None => resolver.reference(&text(field), Here { set, instance, place }, members, named, log),
                    }
                }
            }),
            direct => match self.lookup.direct(instance, direct) {
                Some(found) => members.extend(found),
                None => {
                    let name = match direct {
                        Members::NodesOf(name) => name.as_str(),
                        _ => "",
                    };
                    log.absent(chunk.place, format!("set `{set}`: element set `{name}` does not exist"));
                }
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
        let mut cursor = Cursor::at(source.bytes(), chunk.offset, chunk.place.line);
        while cursor.at < end
            && let Some(line) = cursor.next_data()
        {
            each(self, line, Place { line: cursor.line - 1, ..chunk.place }, log);
        }
    }

    fn range(&mut self, [first, last, step]: [u32; 3], here: Here<'_>, members: &mut Vec<u32>, log: &mut Log) {
        let Here { set, instance, place } = here;
        let found = self.lookup.range(instance, first, last, step);
        let wanted = u64::from((last - first) / step) + 1;
        if found.is_empty() {
            log.note(place, format!("set `{set}`: no {} of this range exists", L::WHAT));
        } else if (found.len() as u64) < wanted {
            let n = wanted - found.len() as u64;
            let (s, does) = if n == 1 { ("", "does") } else { ("s", "do") };
            log.note(place, format!("set `{set}`: {n} {}{s} of this range {does} not exist", L::WHAT));
        }
        members.extend(found);
    }

    fn reference(&mut self, name: &str, here: Here<'_>, members: &mut Vec<u32>, named: &mut Named, log: &mut Log) {
        let Here { set, instance, place } = here;
        if named.sets.contains(&(instance.to_owned(), name.to_owned())) {
            return;
        }
        let here = if instance.is_empty() { self.sets.find(name) } else { None };
        let Some(other) = here else {
            match self.lookup.named(instance, name) {
                Some(found) => {
                    named.sets.insert((instance.to_owned(), name.to_owned()));
                    members.extend(found);
                }
                None => {
                    named.missing_sets += 1;
                    if named.missing_sets <= SHOWN {
                        named.last = place;
                        log.absent(
                            place,
                            format!("set `{set}` names the {} set `{name}`, which does not exist", L::WHAT),
                        );
                    }
                }
            }
            return;
        };
        if self.open.last() == Some(&other) {
            // A set that names itself appends nothing.
            return;
        }
        if self.open.contains(&other) || self.open.len() >= MAX_DEPTH {
            return log.error(place, format!("sets `{set}` and `{name}` hold each other, or nest too deeply"));
        }
        self.set(other, log);
        named.sets.insert((instance.to_owned(), name.to_owned()));
        if let Some(Some(found)) = self.done.get(other) {
            members.extend(found);
        }
    }
}
