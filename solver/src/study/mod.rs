//! Study files: many cases of one block file.
//!
//! ```toml
//! set = { "material.steel.density" = 7800 }       # for every case
//!
//! [[case]]                                        # a case by name …
//! name = "soft weld"
//! set = { "material.weld.young" = 190e9 }
//!
//! [sweep]                                         # … and one case for each combination of these lists
//! "material.weld.young" = [190e9, 210e9]
//! "amplitude.burst.frequency" = [2e6, 4e6]
//! "solver.precision" = ["f32"]
//! ```
//!
//! `collect = ["peak(TIP.4.U2)"]` at the beginning names what `study.csv` shows of the results, as `--collect` does.
//!
//! Names are those of `pogo-info --parameters`, and `solver.precision`, `solver.threads` and `solver.allow_unstable`, which
//! `--set` knows too.

mod collect;
mod index;
mod lanes;
mod record;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use pogo_formats::dynamics::shots::is_folder_name;
use pogo_formats::system::inputs;
use serde::Deserialize;
use toml::{Table, Value};

pub(crate) use collect::Collected;
pub(crate) use index::quote;
pub(crate) use lanes::{Cases, Place, Ran, lanes, run};
pub(crate) use record::{Common, Record};

/// A study file that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// Cannot be read.
    #[error("{}: error: {source}", path.display())]
    Read {
        /// File.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Not a study.
    #[error("{}:{line}: error: {what}", path.display())]
    Syntax {
        /// File.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// What is wrong, and what to do.
        what: String,
    },
    /// Readable, but it makes no sense.
    #[error("{}: error: {what}", path.display())]
    Content {
        /// File.
        path: PathBuf,
        /// What is wrong, and what to do.
        what: String,
    },
}

/// One case of a study.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Case {
    /// Name, and its folder's name.
    pub name: String,
    /// (name, value) in the order in which they are set.
    pub assignments: Vec<(String, String)>,
    /// Number of its shot, where the model has shots.
    pub shot: Option<usize>,
}

/// A study as its file has it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Study {
    /// In order.
    pub cases: Vec<Case>,
    /// What its table shows of the results.
    pub collect: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    collect: Vec<String>,
    #[serde(default)]
    set: Table,
    #[serde(default)]
    case: Vec<FileCase>,
    #[serde(default)]
    sweep: Table,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileCase {
    name: String,
    #[serde(default)]
    set: Table,
}

/// More combinations than anybody means to run.
const MAX_CASES: usize = 100_000;
/// Assignments of all cases together: a short file must not become gigabytes.
const MAX_ASSIGNMENTS: usize = 2_000_000;

/// Reads a study file.
///
/// # Errors
/// Not TOML, unknown keys, no case at all, two cases of one name, names that are no folder names.
pub fn read(path: &Path) -> Result<Study, StudyError> {
    let text = inputs::read_to_string(path).map_err(|source| StudyError::Read { path: path.into(), source })?;
    parse(path, &text)
}

fn parse(path: &Path, text: &str) -> Result<Study, StudyError> {
    let content = |what: String| StudyError::Content { path: path.into(), what };
    let file: File = toml::from_str(text).map_err(|error| StudyError::Syntax {
        path: path.into(),
        line: error.span().map_or(1, |span| text[..span.start.min(text.len())].matches('\n').count() + 1),
        what: error.message().to_owned(),
    })?;
    let common = assignments(&file.set).map_err(&content)?;
    let mut leaves = Vec::new();
    flatten(&file.sweep, "", &mut leaves);
    check_size(&common, &file.case, &leaves).map_err(&content)?;
    let mut cases = Vec::new();
    for case in &file.case {
        let own = assignments(&case.set).map_err(&content)?;
        cases.push(Case { name: case.name.clone(), assignments: [common.clone(), own].concat(), shot: None });
    }
    for combination in combinations(leaves).map_err(&content)? {
        let name = case_name(&combination);
        cases.push(Case { name, assignments: [common.clone(), combination].concat(), shot: None });
    }
    if cases.is_empty() {
        return Err(content("no case; give [[case]] entries, a [sweep] table, or both".into()));
    }
    let mut names = BTreeSet::new();
    for case in &cases {
        let name = case.name.as_str();
        // The table of the cases stands beside their folders.
        if !is_folder_name(name) || name == index::FILE_NAME {
            return Err(content(format!("case name {name:?} cannot be a folder's name; choose another")));
        }
        if !names.insert(name) {
            return Err(content(format!("two cases are named {name:?}; give each its own name")));
        }
    }
    Ok(Study { cases, collect: file.collect })
}

/// Numbers of the cases that `--case` names, increasing; all where it names none. A case is named by its place in the study,
/// from 1, or by its name.
///
/// # Errors
/// A case that does not exist, or a number that means two.
pub(crate) fn chosen(wanted: &[String], cases: &[Case]) -> Result<Vec<usize>, String> {
    let mut chosen = BTreeSet::new();
    for text in wanted {
        let named = cases.iter().position(|case| case.name == *text);
        let numbered = text.parse::<usize>().ok().and_then(|n| n.checked_sub(1)).filter(|&index| index < cases.len());
        match (named, numbered) {
            (Some(named), Some(numbered)) if named != numbered => {
                let (a, b) = (named + 1, numbered + 1);
                return Err(format!(
                    "--case {text}: case {a} has this name, and case {b} this number; rename case {a}"
                ));
            }
            (Some(index), _) | (None, Some(index)) => drop(chosen.insert(index)),
            (None, None) => {
                let n = cases.len();
                return Err(format!("there is no case {text}; give a name of the study, or a number from 1 to {n}"));
            }
        }
    }
    Ok(if wanted.is_empty() { (0..cases.len()).collect() } else { chosen.into_iter().collect() })
}

/// Quoted names are taken as they are; `material.weld.young = 1` without quotes is a nested table and means the same.
fn assignments(table: &Table) -> Result<Vec<(String, String)>, String> {
    let mut leaves = Vec::new();
    flatten(table, "", &mut leaves);
    leaves.into_iter().map(|(name, value)| Ok((name.clone(), scalar(&name, value)?))).collect()
}

fn flatten<'a>(table: &'a Table, prefix: &str, leaves: &mut Vec<(String, &'a Value)>) {
    for (key, value) in table {
        let name = format!("{prefix}{key}");
        match value {
            Value::Table(inner) => flatten(inner, &format!("{name}."), leaves),
            _ => leaves.push((name, value)),
        }
    }
}

fn scalar(name: &str, value: &Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Integer(number) => Ok(number.to_string()),
        Value::Float(number) => Ok(format!("{number:?}")),
        Value::Boolean(flag) => Ok(flag.to_string()),
        _ => Err(format!("{name}: expected a number, a word or true / false, found {}", value.type_str())),
    }
}

/// Refuses a study whose cases would not fit in memory, before any is made.
fn check_size(common: &[(String, String)], cases: &[FileCase], sweep: &[(String, &Value)]) -> Result<(), String> {
    let values = sweep.iter().map(|(_, value)| value.as_array().map_or(1, |values| values.len().max(1)));
    let n_combinations = if sweep.is_empty() { 0 } else { values.fold(1, usize::saturating_mul) };
    if n_combinations > MAX_CASES {
        return Err(format!("the sweep has more than {MAX_CASES} combinations; split the study"));
    }
    let n_assignments = (n_combinations + cases.len()).saturating_mul(common.len() + sweep.len());
    if n_assignments > MAX_ASSIGNMENTS {
        return Err(format!("the cases have {n_assignments} assignments together; split the study"));
    }
    Ok(())
}

/// Every value of every name of a sweep with every other.
fn combinations(leaves: Vec<(String, &Value)>) -> Result<Vec<Vec<(String, String)>>, String> {
    if leaves.is_empty() {
        return Ok(Vec::new());
    }
    let mut combinations = vec![Vec::new()];
    for (name, value) in leaves {
        let values = match value {
            Value::Array(values) if !values.is_empty() => {
                values.iter().map(|value| scalar(&name, value)).collect::<Result<Vec<_>, _>>()?
            }
            _ => return Err(format!("{name}: a sweep needs a list of at least one value, such as [190e9, 210e9]")),
        };
        combinations = combinations
            .into_iter()
            .flat_map(|start: Vec<(String, String)>| {
                let name = &name;
                values
                    .iter()
                    .map(move |value| {
                        let mut next = start.clone();
                        next.push((name.clone(), value.clone()));
                        next
                    })
                    .collect::<Vec<_>>()
            })
            .collect();
    }
    Ok(combinations)
}

/// `young-1.9e11_frequency-2e6`: last words of the names with the values; whole names where last words are alike.
fn case_name(combination: &[(String, String)]) -> String {
    fn last(name: &str) -> &str {
        name.rsplit('.').next().unwrap_or(name)
    }
    let words: BTreeSet<&str> = combination.iter().map(|(name, _)| last(name)).collect();
    let distinct = words.len() == combination.len();
    let parts: Vec<String> = combination
        .iter()
        .map(|(name, value)| {
            let name = if distinct { last(name) } else { name };
            let value = value.parse::<f64>().map_or_else(|_| value.clone(), short);
            format!("{name}-{value}").replace(['/', '\\', ' '], "-")
        })
        .collect();
    parts.join("_")
}

/// The shorter of 2000000 and 2e6.
fn short(number: f64) -> String {
    let (plain, scientific) = (format!("{number}"), format!("{number:e}"));
    if scientific.len() < plain.len() { scientific } else { plain }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn study(text: &str) -> Result<Vec<Case>, String> {
        parse(Path::new("s.toml"), text).map(|study| study.cases).map_err(|error| error.to_string())
    }

    #[test]
    fn cases_are_chosen_by_number_or_name() {
        let cases = ["a", "2", "c"].map(|name| Case { name: name.into(), ..Case::default() });
        let chosen = |wanted: &[&str]| {
            let wanted: Vec<String> = wanted.iter().map(|&text| text.to_owned()).collect();
            chosen(&wanted, &cases)
        };
        assert_eq!(chosen(&[]), Ok(vec![0, 1, 2]));
        assert_eq!(chosen(&["c", "1", "a", "2"]), Ok(vec![0, 1, 2]));
        assert_eq!(chosen(&["3"]), Ok(vec![2]));
        for text in ["0", "4", "-1", "b", ""] {
            assert!(chosen(&[text]).unwrap_err().contains("a number from 1 to 3"), "{text}");
        }
        let cases = ["2", "b"].map(|name| Case { name: name.into(), ..Case::default() });
        assert!(super::chosen(&["2".into()], &cases).unwrap_err().contains("rename case 1"));
    }

    #[test]
    fn cases_and_sweeps_are_expanded() {
        let cases = study(
            "set = { 'a.x' = 1 }\n[[case]]\nname = 'soft'\nset = { material.weld.young = 1.9e11 }\n\
             [sweep]\n'm.young' = [1e9, 2]\n'solver.precision' = ['f32', 'f64']\n",
        )
        .unwrap();
        let names: Vec<&str> = cases.iter().map(|case| case.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "soft",
                "young-1e9_precision-f32",
                "young-1e9_precision-f64",
                "young-2_precision-f32",
                "young-2_precision-f64"
            ]
        );
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(cases[0].assignments, [pair("a.x", "1"), pair("material.weld.young", "190000000000.0")]);
    }

    #[test]
    fn a_short_file_does_not_become_many_cases() {
        let many = |n: usize| (0..n).map(|i| i.to_string()).collect::<Vec<_>>().join(", ");
        let common: String = (0..100).map(|i| format!("a{i} = 1\n")).collect();
        let text = format!("[set]\n{common}[sweep]\nx = [{}]\ny = [{}]\n", many(300), many(300));
        assert!(study(&text).unwrap_err().contains("9180000 assignments together"));
        let text = format!("[sweep]\nx = [{}]\ny = [{}]\n", many(400), many(400));
        assert!(study(&text).unwrap_err().contains("more than 100000 combinations"));
    }

    /// The studies of the examples, changed at every byte: cases or an error.
    #[test]
    fn damaged_studies_are_read_or_refused() {
        for example in
            [include_str!("../../../examples/weld/sweep.toml"), include_str!("../../../examples/spring/sweep.toml")]
        {
            assert!(!study(example).unwrap().is_empty());
            for at in 0..example.len() {
                for piece in
                    ["", "[", "]", "=", "\"", ",", "1e400", "nan", "99999999999999999999", ".", "\n", "{", "\0", "/"]
                {
                    let text = [&example[..at], piece, example.get(at + 1..).unwrap_or_default()].concat();
                    if let Err(error) = study(&text) {
                        assert!(error.starts_with("s.toml"), "{error}");
                    }
                    let _ = study(&example[..at]);
                }
            }
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        for (text, expected) in [
            ("", "no case"),
            ("[sweep]\na = []\n", "a: a sweep needs a list"),
            ("[sweep]\na = 1\n", "a: a sweep needs a list"),
            ("[[case]]\nname = 'a'\n[[case]]\nname = 'a'\n", "two cases"),
            ("[[case]]\nname = '../a'\n", "folder"),
            ("[[case]]\nname = 'study.csv'\n", "cannot be a folder's name"),
            ("[[case]]\nname = 'a'\nsett = 1\n", "s.toml:3: error: unknown field"),
            ("x\n", "s.toml:1: error:"),
        ] {
            let found = study(text).unwrap_err();
            assert!(found.contains(expected), "{text:?}: {found}");
        }
    }
}
