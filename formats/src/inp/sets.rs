//! Sets by label → lists of indices, each member once, in the user's order.

use super::lexer::{Place, fields};
use super::log::Log;
use super::numbers::label;
use super::part::locate_line;
use super::raw::{Chunk, Members, RawSets};

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
        let mut n_missing = 0;
        for chunk in &set.chunks {
            self.chunk(chunk, &set.name, &mut members, &mut n_missing, log);
        }
        if n_missing > SHOWN {
            let place = set.chunks.first().map(|c| c.place).unwrap_or_default();
            let text = format!("set `{}` names {} more {}s that do not exist", set.name, n_missing - SHOWN, L::WHAT);
            log.error(place, text);
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

    fn chunk(&mut self, chunk: &Chunk, set: &str, members: &mut Vec<u32>, n_missing: &mut usize, log: &mut Log) {
        let instance = chunk.instance.as_str();
        if !self.lookup.has_instance(instance) {
            return log.error(chunk.place, format!("set `{set}`: instance `{instance}` does not exist"));
        }
        match &chunk.members {
            Members::Labels(labels) => {
                members.reserve(labels.len());
                for wanted in labels {
                    if let Some(index) = self.lookup.label(instance, *wanted) {
                        members.push(index);
                        continue;
                    }
                    *n_missing += 1;
                    if *n_missing <= SHOWN {
                        let holds = |_, line: &[u8]| fields(line).any(|f| label(f) == Some(*wanted));
                        let place = locate_line(log, chunk.place, chunk.offset, holds, false);
                        log.error(place, format!("set `{set}` names {} {wanted}, which does not exist", L::WHAT));
                    }
                }
            }
            Members::Generate(first, last, step) => {
                let found = self.lookup.range(instance, *first, *last, *step);
                let wanted = u64::from((last - first) / step) + 1;
                if found.is_empty() {
                    log.note(chunk.place, format!("set `{set}`: no {} of this range exists", L::WHAT));
                } else if (found.len() as u64) < wanted {
                    let n = wanted - found.len() as u64;
                    log.note(chunk.place, format!("set `{set}`: {n} {}s of this range do not exist", L::WHAT));
                }
                members.extend(found);
            }
            Members::Set(name) => self.reference(name, chunk.place, instance, set, members, log),
            direct => match self.lookup.direct(instance, direct) {
                Some(found) => members.extend(found),
                None => {
                    let name = match direct {
                        Members::NodesOf(name) => name.as_str(),
                        _ => "",
                    };
                    log.error(chunk.place, format!("set `{set}`: element set `{name}` does not exist"));
                }
            },
        }
    }

    fn reference(
        &mut self,
        name: &str,
        place: Place,
        instance: &str,
        set: &str,
        members: &mut Vec<u32>,
        log: &mut Log,
    ) {
        let here = if instance.is_empty() { self.sets.find(name) } else { None };
        let Some(other) = here else {
            match self.lookup.named(instance, name) {
                Some(found) => members.extend(found),
                None => {
                    log.error(place, format!("set `{set}` names the {} set `{name}`, which does not exist", L::WHAT))
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
        if let Some(Some(found)) = self.done.get(other) {
            members.extend(found);
        }
    }
}
