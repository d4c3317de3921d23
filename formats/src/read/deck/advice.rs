//! What is said of keywords that are left out, have no effect, or are refused, and what the user can do.

use super::ReadOptions;
use super::keywords::{Class, IgnoreList, NONLINEAR, OTHER_PHYSICS, SECTION, classify, nearest};
use super::lexer::{Place, compact};
use super::lines::class_of;
use super::log::Log;
use super::mesh_cards::shorten;
use super::report::{KeywordCount, KeywordUse};

/// What a job does for a deck with another procedure.
const JOB_WITH_TIME: &str =
    "a job with `[solver]` and `time` (--job FILE) computes the motion in that time under the deck's loads instead";

/// What messages on keywords depend on.
pub(super) struct Situation<'a> {
    pub options: &'a ReadOptions,
    pub ignore: &'a IgnoreList,
    /// The deck has elements of types that are computed.
    pub has_elements: bool,
}

/// One message a keyword that is left out or refused, and one for all keywords and parameters (`idle`) without effect.
pub(super) fn log_keywords(
    keywords: &[(&KeywordCount, Place)],
    idle: &[(Place, String)],
    situation: &Situation,
    log: &mut Log,
) {
    let mut without_effect: Vec<(Place, String)> = Vec::new();
    for (entry, place) in keywords.iter().copied() {
        let key = compact(&entry.keyword);
        let name = if entry.keyword.is_empty() { "(no keyword)" } else { &shorten(entry.keyword.as_bytes()) };
        let times = if entry.count > 1 { format!(" ({} times)", entry.count) } else { String::new() };
        match entry.used {
            KeywordUse::Read => {}
            KeywordUse::NoEffect => without_effect.push((place, format!("*{name}"))),
            KeywordUse::Ignored if situation.options.job_sets_time && is_procedure(&key) => {
                log.note(place, format!("*{name} is left out: the job sets the time{times}"));
            }
            KeywordUse::Ignored => {
                let why = match class_of(&key, situation.options.lines) {
                    Some(Class::Refused { family, .. }) if !situation.ignore.covers(&[&key, family, "STEP"]) => {
                        "left out: the job defines its material"
                    }
                    _ => "ignored on request",
                };
                log.note(place, format!("*{name} is {why}{times}"));
            }
            KeywordUse::Refused => log.error(place, refusal(&entry.keyword, &key, name, &times, situation)),
        }
    }
    without_effect.extend_from_slice(idle);
    if let Some((place, _)) = without_effect.first() {
        let list: Vec<&str> = without_effect.iter().map(|(_, text)| text.as_str()).collect();
        log.note(*place, format!("without effect here: {}", list.join("; ")));
    }
}

fn is_procedure(key: &str) -> bool {
    key == "DYNAMIC" || matches!(classify(key), Some(Class::Procedure { .. }))
}

/// Why a keyword is refused. `key` is as [`compact`] gives it, `name` and `times` as they are shown.
fn refusal(keyword: &str, key: &str, name: &str, times: &str, situation: &Situation) -> String {
    match class_of(key, situation.options.lines) {
        Some(Class::Refused { why: SECTION, .. }) if !situation.has_elements => {
            format!("*{name} is not supported{times}: {SECTION}")
        }
        Some(Class::Refused { family, why }) => {
            let flag = quoted(if family.is_empty() { keyword } else { family });
            let mut text = format!("*{name} is not supported{times}: {why}; --ignore {flag} leaves it out");
            if why == NONLINEAR && family.is_empty() {
                text += ", and the material then needs *ELASTIC; or a job's [[material]] of its name replaces it";
            }
            text
        }
        Some(Class::Essential { why }) => format!("*{name} is not read{times}: {why}"),
        Some(Class::Procedure { why: OTHER_PHYSICS }) => {
            format!("this deck asks for *{name}{times}: {OTHER_PHYSICS}")
        }
        Some(Class::Procedure { why }) => format!("this deck asks for *{name}{times}: {why}; {JOB_WITH_TIME}"),
        Some(_) => {
            let why = "only *DYNAMIC, EXPLICIT is computed; write EXPLICIT, or";
            format!("this deck asks for *{name}{times}: {why} {JOB_WITH_TIME}")
        }
        None => {
            let hint = nearest(key).map(|near| format!(" (did you mean *{near}?)")).unwrap_or_default();
            format!("*{name} is not a known keyword{times}{hint}; --ignore {} leaves it out", quoted(name))
        }
    }
}

/// A name as a shell takes it.
pub(super) fn quoted(name: &str) -> String {
    if name.contains(|c: char| !c.is_ascii_alphanumeric()) { format!("\"{name}\"") } else { name.to_owned() }
}
