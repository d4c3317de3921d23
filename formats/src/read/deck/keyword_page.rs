//! The page `docs/reference/keywords.md`, made of the tables by which decks are read.

use std::fmt::Write as _;
use std::path::Path;

use super::accepted::{ACCEPTED, Accepted, Data, Effect};
use super::keywords::{CLASSES, Class, OF_LINES, has_word, words};

const ABOUT: &str = "# Keywords of decks

What becomes of each keyword of an Abaqus deck, made of the tables by which decks are read. `--ignore NAME` takes a keyword or a
family.

## Read
";

fn names(accepted: &Accepted, of: impl Fn(Effect) -> bool) -> String {
    let chosen = accepted.parameters.iter().filter(|(effect, _)| of(*effect));
    let mut names: Vec<&str> = chosen.flat_map(|(_, names)| words(names)).collect();
    names.sort_unstable();
    names.join(", ")
}

/// Parameters with the reason that stands beside them, `why: NAME, NAME`.
fn with_reasons(accepted: &Accepted, reason: impl Fn(Effect) -> Option<&'static str>) -> String {
    let chosen = accepted.parameters.iter().filter_map(|(effect, names)| Some((reason(*effect)?, *names)));
    let text = chosen.map(|(why, names)| {
        let names: Vec<&str> = words(names).collect();
        if why.is_empty() { names.join(", ") } else { format!("{} ({why})", names.join(", ")) }
    });
    text.collect::<Vec<_>>().join("; ")
}

fn row(accepted: &Accepted) -> String {
    let data = match accepted.data {
        Data::Never => "none".to_owned(),
        Data::Optional => "optional".to_owned(),
        Data::Wanted { unless: "" } | Data::Needed { unless: "" } => "needed".to_owned(),
        Data::Wanted { unless } | Data::Needed { unless } => format!("needed without {unless}"),
    };
    let used = names(accepted, |effect| effect == Effect::Used);
    let idle = with_reasons(accepted, |effect| if let Effect::Idle(why) = effect { Some(why) } else { None });
    let refused = with_reasons(accepted, |effect| if let Effect::Refused(why) = effect { Some(why) } else { None });
    format!("| *{} | {data} | {used} | {idle} | {refused} |\n", accepted.name)
}

fn page() -> String {
    let head =
        "\n| keyword | data lines | parameters that are used | without effect | refused |\n|---|---|---|---|---|\n";
    let mut out = format!("{ABOUT}{head}");
    let (lines, read): (Vec<_>, Vec<_>) = ACCEPTED.iter().partition(|accepted| has_word(OF_LINES, accepted.name));
    read.iter().filter(|accepted| accepted.name != "RESTART").for_each(|accepted| out += &row(accepted));
    let _ = write!(out, "\nOf masses and springs alone (`physics = \"spring\"`); refused otherwise:\n{head}");
    lines.iter().for_each(|accepted| out += &row(accepted));
    out += "\n## Without effect\n\nA note lists those that a deck has. *RESTART, READ is refused.\n\n";
    let without = CLASSES.iter().filter(|(class, _)| *class == Class::NoEffect);
    without.for_each(|(_, keywords)| out += &format!("{}\n", words(keywords).collect::<Vec<_>>().join(", ")));
    out += "\n## Refused\n\n| keywords | why, or what to do | `--ignore` |\n|---|---|---|\n";
    for (class, keywords) in CLASSES {
        let (why, how) = match class {
            Class::Read | Class::NoEffect => continue,
            Class::Procedure { why } => (*why, "no: a job with a time replaces the procedure".to_owned()),
            Class::Refused { family: "", why } => (*why, "the keyword".to_owned()),
            Class::Refused { family, why } => (*why, format!("the keyword, or {family} for all of them")),
            Class::Essential { why } => (*why, "no: nothing would be left to compute".to_owned()),
        };
        let _ = writeln!(out, "| {} | {why} | {how} |", words(keywords).collect::<Vec<_>>().join(", "));
    }
    out += "\nOther keywords that begin with CONTACT are of the family CONTACT. All other keywords are not known, which is an error; the \
            message names the nearest one that is.\n";
    out
}

#[test]
fn page_of_keywords_is_what_the_tables_say() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reference/keywords.md");
    let expected = page();
    if std::env::var_os("POGO_WRITE_DOCS").is_some() {
        std::fs::write(&path, &expected).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    let how = "POGO_WRITE_DOCS=1 cargo test -p pogo-formats page_of_keywords writes it";
    assert!(found == expected, "docs/reference/keywords.md is not up to date: {how}");
}
