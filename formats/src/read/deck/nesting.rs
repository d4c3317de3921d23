//! What a deck opens and must close: parts, the assembly, instances, steps.

use super::lexer::{Keyword, Place};
use super::log::Log;

/// Keywords that open a block, and those that close it, both as [`compact`](super::lexer::compact) gives them; and the latter as
/// one writes it.
const PAIRS: [(&str, &str, &str); 4] = [
    ("PART", "ENDPART", "END PART"),
    ("ASSEMBLY", "ENDASSEMBLY", "END ASSEMBLY"),
    ("INSTANCE", "ENDINSTANCE", "END INSTANCE"),
    ("STEP", "ENDSTEP", "END STEP"),
];

/// A block that is open.
struct Open {
    /// Index into [`PAIRS`].
    pair: usize,
    name: String,
    place: Place,
}

/// Blocks that are open, outermost first. One that is never closed means that the deck is cut short, so that what followed is
/// missing.
#[derive(Default)]
pub(super) struct Nesting(Vec<Open>);

impl Nesting {
    /// Opens or closes what the keyword opens or closes.
    pub fn keyword(&mut self, keyword: &Keyword, log: &mut Log) {
        if let Some(pair) = PAIRS.iter().position(|pair| pair.0 == keyword.key) {
            // Of these only instances stand inside another block.
            let stays = usize::from(keyword.key == "INSTANCE" && self.0.first().is_some_and(|open| open.pair == 1));
            self.leave(stays, log);
            self.0.push(Open { pair, name: keyword.value("NAME").to_owned(), place: keyword.place });
        } else if let Some(pair) = PAIRS.iter().position(|pair| pair.1 == keyword.key) {
            match self.0.iter().rposition(|open| open.pair == pair) {
                Some(at) => {
                    self.leave(at + 1, log);
                    self.0.pop();
                }
                None => log.error(keyword.place, format!("*{} without *{}", PAIRS[pair].2, PAIRS[pair].0)),
            }
        }
    }

    /// The deck is over.
    pub fn end(&mut self, log: &mut Log) {
        self.leave(0, log);
    }

    /// Closes all but the outermost `keep` blocks, which is an error for each.
    fn leave(&mut self, keep: usize, log: &mut Log) {
        for Open { pair, name, place } in self.0.drain(keep.min(self.0.len())..) {
            let (opening, _, closing) = PAIRS[pair];
            let name = if name.is_empty() { String::new() } else { format!(", NAME={name}") };
            log.error(place, format!("*{opening}{name} has no *{closing}: is the deck cut short?"));
        }
    }
}
