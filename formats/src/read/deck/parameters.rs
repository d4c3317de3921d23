//! Parameters and data lines of keywords, checked against the table of [accepted](super::accepted) keywords.

use super::accepted::{Accepted, Data, Effect};
use super::advice::quoted;
use super::keywords::{has_word, near, words};
use super::lexer::{Card, Keyword, Place, fields};
use super::log::Log;

/// Keywords of which all cards may be left out, and a model remains.
const MAY_GO: &str = "BOUNDARY CLOAD DLOAD DSLOAD INITIALCONDITIONS RESTART";

/// Says what becomes of each parameter that is not used: an error for one that is refused or differs from a known one by a
/// letter or two, a note or an entry of `idle` for one without effect, and a warning for one that is not known.
pub(super) fn check(keyword: &Keyword, accepted: &Accepted, idle: &mut Vec<(Place, String)>, log: &mut Log) {
    let (place, name) = (keyword.place, &keyword.name);
    for (given, value) in &keyword.parameters {
        let is_off = value.eq_ignore_ascii_case("NO");
        match accepted.parameter(given) {
            Some((Effect::Used, _)) => {}
            Some((Effect::Refused(_), _)) if is_off => {}
            Some((Effect::Refused(why), parameter)) => {
                let way = match has_word(MAY_GO, &keyword.key) {
                    true => format!("; --ignore {} leaves all of its kind out", quoted(name)),
                    false => String::new(),
                };
                log.error(place, format!("*{name}, {parameter} is not supported: {why}{way}"));
            }
            Some((Effect::Idle(why), parameter)) if why.is_empty() || is_off => {
                let text = format!("*{name}, {parameter}");
                if !idle.iter().any(|(_, other)| *other == text) {
                    idle.push((place, text));
                }
            }
            Some((Effect::Idle(why), parameter)) => {
                let value = if value.is_empty() { String::new() } else { format!("={value}") };
                log.note(place, format!("*{name}, {parameter}{value} is without effect: {why}"));
            }
            None => unknown(keyword, given, accepted, log),
        }
    }
}

fn unknown(keyword: &Keyword, given: &str, accepted: &Accepted, log: &mut Log) {
    let text = format!("*{} has no parameter {given}", keyword.name);
    let known = accepted.parameters.iter().flat_map(|(_, names)| words(names));
    match near(given, known).filter(|_| given.len() >= 3) {
        Some(near) => log.error(keyword.place, format!("{text}: did you mean {near}?")),
        None => log.warning(keyword.place, format!("{text} that is known here: it has no effect")),
    }
}

/// An error where data lines are missing, or stand where there are none. `first` is the place of the first data line.
pub(super) fn check_data(keyword: &Keyword, accepted: &Accepted, first: Option<Place>, log: &mut Log) {
    let name = &keyword.name;
    match (accepted.data, first) {
        (Data::Never, Some(place)) => {
            log.error(place, format!("*{name} takes no data lines: is the keyword of this line missing?"));
        }
        (Data::Needed { .. }, None) if !accepted.may_be_empty(keyword) => {
            log.absent(keyword.place, format!("*{name} has no data lines: is the deck cut short?"));
        }
        (Data::Wanted { .. }, None) if !accepted.may_be_empty(keyword) => {
            log.warning(keyword.place, format!("*{name} has no data lines: the set is empty"));
        }
        _ => {}
    }
}

/// Notes the first data line of a card that holds more than is read.
pub(super) fn check_fields(card: &Card, accepted: &Accepted, log: &mut Log) {
    let Some(last) = accepted.fields.last() else { return };
    let most = accepted.fields.iter().chain(std::iter::repeat(last));
    for (line, most) in card.data.iter().zip(most) {
        let bytes = log.line(line);
        let more: Vec<&[u8]> = fields(&bytes).skip(*most).filter(|field| !field.is_empty()).collect();
        if let [first, ..] = more.as_slice() {
            let (name, first) = (&card.keyword.name, super::lexer::text(first));
            let text = match most {
                0 => format!("*{name}: this data line is without effect"),
                1 => format!("*{name}: what stands behind the first field (`{first}`) is without effect"),
                n => format!("*{name}: what stands behind the first {n} fields (`{first}`) is without effect"),
            };
            log.note(line.place, text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::accepted::ACCEPTED;
    use super::super::lexer::compact;
    use super::*;

    /// What is said of a parameter of a keyword.
    fn said(accepted: &Accepted, parameter: &str) -> String {
        let (mut idle, mut log) = (Vec::new(), Log::default());
        let parameters = vec![(compact(parameter), String::new())];
        let name = accepted.name.to_owned();
        let keyword = Keyword { key: compact(&name), name, parameters, place: Place::default() };
        check(&keyword, accepted, &mut idle, &mut log);
        let error = log.failure(&super::super::DeckReport::default()).map(|error| error.to_string());
        let notes = log.notes().into_iter().map(|note| note.to_string());
        notes.chain(error).chain(idle.into_iter().map(|(_, text)| format!("idle: {text}"))).collect()
    }

    #[test]
    fn each_parameter_of_the_table_does_what_its_effect_says() {
        for accepted in ACCEPTED {
            for (effect, names) in accepted.parameters {
                for name in words(names) {
                    let (text, what) = (said(accepted, name), format!("*{}, {name}", accepted.name));
                    match effect {
                        Effect::Used => assert_eq!(text, "", "{what}"),
                        Effect::Refused(why) => {
                            assert!(text.contains("error: ") && text.contains(why), "{what}: {text}")
                        }
                        Effect::Idle("") => assert_eq!(text, format!("idle: {what}")),
                        Effect::Idle(why) => assert!(text.contains(why) && text.contains("note: "), "{what}: {text}"),
                    }
                }
            }
        }
    }

    #[test]
    fn an_unknown_parameter_of_any_keyword_is_spoken_of() {
        for accepted in ACCEPTED {
            let text = said(accepted, "XYZZY QUUX");
            assert!(text.contains("warning: ") && text.contains("XYZZYQUUX"), "*{}: {text}", accepted.name);
        }
    }

    #[test]
    fn a_suggestion_is_spelt_as_one_writes_it() {
        let accepted = super::super::accepted::accepted("AMPLITUDE").unwrap();
        assert!(said(accepted, "FIXED INTRVAL").contains("did you mean FIXED INTERVAL?"));
    }
}
