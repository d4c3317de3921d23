//! Results that stand in the table of a study: entries of `summary.json`, and figures of traces.
//!
//! ```text
//! cases[0].apparent.value     reaction["upper face"][2]     latest.time
//! peak(TIP.4.U2)  peak_time(TIP.4.U2)  max(…)  min(…)  last(…)
//! ```
//!
//! `NAME=` before one of these is the head of its column.

use std::path::Path;

use pogo_formats::write::trace_archive::Archive;
use serde_json::Value;

/// The archive of a run's traces.
const TRACES: &str = "traces.npz";
/// Traces of which a table has the peaks when nothing is asked for.
const MAX_PEAKS: usize = 20;

/// A column of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Collected {
    /// Head of the column.
    pub head: String,
    /// What is shown, as it was written.
    pub text: String,
    item: Item,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Item {
    /// An entry of the summary.
    Entry(Vec<Step>),
    /// A figure of a trace.
    Trace(Figure, String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Key(String),
    Index(usize),
}

/// What is told of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Figure {
    /// Largest absolute value.
    Peak,
    /// The time of the peak, s.
    PeakTime,
    Max,
    Min,
    Last,
}

const FIGURES: [(&str, Figure); 5] = [
    ("peak", Figure::Peak),
    ("peak_time", Figure::PeakTime),
    ("max", Figure::Max),
    ("min", Figure::Min),
    ("last", Figure::Last),
];

impl Figure {
    fn of(self, times: &[f64], values: &[f64]) -> Option<f64> {
        let by = |rank: fn(f64) -> f64| {
            let known = times.iter().zip(values).filter(|(_, value)| !value.is_nan());
            // Of equal ones the first.
            known.reduce(|best, next| if rank(*next.1) > rank(*best.1) { next } else { best })
        };
        match self {
            Self::Peak => by(f64::abs).map(|(_, value)| value.abs()),
            Self::PeakTime => by(f64::abs).map(|(time, _)| *time),
            Self::Max => by(|value| value).map(|(_, value)| *value),
            Self::Min => by(|value| -value).map(|(_, value)| *value),
            Self::Last => values.last().copied(),
        }
    }
}

impl Collected {
    /// Reads what a user wants to see.
    ///
    /// # Errors
    /// What is wrong with it, and what it may be.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let (head, text) = match text.split_once('=') {
            Some((head, rest)) if !head.contains(['(', '[', '"']) => (head.trim(), rest.trim()),
            _ => (text, text),
        };
        if head.is_empty() || text.is_empty() {
            return Err("expected an entry of summary.json, such as cases[0].apparent.value, or peak(TRACE)".into());
        }
        let item = match text.strip_suffix(')').and_then(|text| text.split_once('(')) {
            Some((figure, trace)) => {
                let known = FIGURES.iter().find(|(name, _)| *name == figure);
                let names = FIGURES.map(|(name, _)| name).join(", ");
                let (_, figure) =
                    known.ok_or_else(|| format!("`{figure}` of a trace is not known; there are {names}"))?;
                Item::Trace(*figure, trace.trim().to_owned())
            }
            None => Item::Entry(steps(text)?),
        };
        Ok(Self { head: head.to_owned(), text: text.to_owned(), item })
    }

    /// The value of a run; null where it has none.
    ///
    /// # Errors
    /// There is no such entry or trace, or it is no single value.
    pub fn value(&self, results: &mut Results) -> Result<Value, String> {
        match &self.item {
            Item::Entry(steps) => entry(&results.summary, steps),
            Item::Trace(figure, name) => {
                let Some(archive) = &mut results.traces else { return Err("there are no traces".into()) };
                let found = archive.trace(name).map_err(|error| error.to_string())?;
                let Some((times, values)) = found else {
                    let names = archive.groups.iter().flat_map(|group| &group.columns).map(String::as_str);
                    return Err(format!("there is no trace {name}; there are {}", some_of(names)));
                };
                Ok(Value::from(figure.of(&times, &values)))
            }
        }
    }
}

/// Keys and numbers of a path.
fn steps(text: &str) -> Result<Vec<Step>, String> {
    let wrong = |what: &str| Err(format!("`{text}`: {what}, as in cases[0].apparent.value"));
    let (mut steps, mut rest) = (Vec::new(), text);
    while !rest.is_empty() {
        if let Some(inside) = rest.strip_prefix('[') {
            if let Some(quoted) = inside.strip_prefix('"') {
                let Some((key, after)) = quoted.split_once("\"]") else { return wrong("a quote or `]` is missing") };
                steps.push(Step::Key(key.to_owned()));
                rest = after;
            } else {
                let Some((number, after)) = inside.split_once(']') else { return wrong("`]` is missing") };
                let Ok(number) = number.trim().parse() else {
                    return wrong("`[…]` needs a number from 0, or a quoted name");
                };
                steps.push(Step::Index(number));
                rest = after;
            }
        } else {
            let part = if steps.is_empty() { rest } else { rest.strip_prefix('.').unwrap_or_default() };
            let end = part.find(['.', '[']).unwrap_or(part.len());
            if end == 0 {
                return wrong("a name is missing");
            }
            steps.push(Step::Key(part[..end].trim().to_owned()));
            rest = &part[end..];
        }
    }
    Ok(steps)
}

fn entry(summary: &Value, steps: &[Step]) -> Result<Value, String> {
    let mut at = summary;
    for step in steps {
        // What a run does not have is null: so are its parts.
        if at.is_null() {
            return Ok(Value::Null);
        }
        let next = match step {
            Step::Key(key) => at.get(key),
            Step::Index(index) => at.get(index),
        };
        at = next.ok_or_else(|| match (step, at) {
            (Step::Key(key), Value::Object(map)) => {
                format!("there is no `{key}`; there are {}", some_of(map.keys().map(String::as_str)))
            }
            (Step::Key(key), _) => format!("`{key}` stands where there are no names"),
            (Step::Index(index), Value::Array(list)) => format!("there is no [{index}] in a list of {}", list.len()),
            (Step::Index(index), _) => format!("[{index}] stands where there is no list"),
        })?;
    }
    match at {
        Value::Array(list) => Err(format!("it is a list of {}: name one of its values, such as [0]", list.len())),
        Value::Object(map) => {
            Err(format!("it has several values: name one of {}", some_of(map.keys().map(String::as_str))))
        }
        value => Ok(value.clone()),
    }
}

/// The first names, and how many there are beside.
fn some_of<'a>(names: impl Iterator<Item = &'a str>) -> String {
    const MOST: usize = 40;
    let names: Vec<&str> = names.collect();
    match names.len() {
        0 => "none".into(),
        n if n <= MOST => names.join(", "),
        n => format!("{} and {} others", names[..MOST].join(", "), n - MOST),
    }
}

/// What a run has written.
pub(crate) struct Results {
    summary: Value,
    traces: Option<Archive>,
}

impl Results {
    /// Of a run with this summary in this folder.
    pub fn of(summary: Value, folder: &Path) -> Self {
        let has_traces = summary["files"].as_array().is_some_and(|files| files.iter().any(|file| file == TRACES));
        let traces = has_traces.then(|| Archive::open(&folder.join(TRACES)).ok()).flatten();
        Self { summary, traces }
    }

    /// What a table shows of the run when nothing is asked for: what its physics is about.
    pub fn usual(&self) -> Vec<Collected> {
        let mut texts = match self.summary["physics"].as_str() {
            Some("explicit") => texts(&["energy.external", "energy.strain", "energy.kinetic"]),
            Some("spring") => texts(&["broken", "cut", "springs_left", "energy.elastic", "energy.kinetic"]),
            Some("static") => self.usual_of_statics(),
            Some("eikonal") => texts(&["latest.time", "latest.node", "unreached"]),
            _ => Vec::new(),
        };
        let traces = self.traces.iter().flat_map(|archive| &archive.groups).flat_map(|group| &group.columns);
        texts.extend(traces.take(MAX_PEAKS).map(|name| format!("peak({name})")));
        texts.iter().filter_map(|text| Collected::parse(text).ok()).collect()
    }

    /// Stiffness, or of each load case the apparent property, the failure load and the reactions.
    fn usual_of_statics(&self) -> Vec<String> {
        if !self.summary["tensor"].is_null() {
            let upper = (0..6).flat_map(|row| (row..6).map(move |column| (row, column)));
            return upper.map(|(row, column)| format!("tensor.stiffness[{row}][{column}]")).collect();
        }
        let mut texts = Vec::new();
        for (index, case) in self.summary["cases"].as_array().into_iter().flatten().enumerate() {
            let mut add = |path: String| texts.push(format!("cases[{index}].{path}"));
            if !case["apparent"].is_null() {
                add("apparent.value".into());
            }
            if !case["failure"].is_null() {
                (0..3).for_each(|axis| add(format!("failure.load[{axis}]")));
            }
            for name in case["reaction"].as_object().into_iter().flat_map(|map| map.keys()) {
                (0..3).for_each(|axis| add(format!("reaction[\"{name}\"][{axis}]")));
            }
        }
        texts
    }
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use pogo_formats::write::npy::{Stored, write_arrays};
    use serde_json::json;

    use super::*;

    fn results(folder: &Path) -> Results {
        let time = [0.0, 0.5, 1.0];
        let (a, b) = ([1.0, -4.0, f64::NAN], [2.0, 2.0, -1.0]);
        let arrays: [(&str, &[usize], Stored<'_>); 3] =
            [("time", &[3], Stored::F64(&time)), ("A.1.U1", &[3], Stored::F64(&a)), ("B.2.U1", &[3], Stored::F64(&b))];
        write_arrays(&folder.join(TRACES), &arrays).unwrap();
        let summary = json!({
            "physics": "static", "files": [TRACES], "tensor": null,
            "cases": [{"apparent": {"value": 2.5}, "failure": null, "name": "a b", "reaction": {"x=0": [1, 2, 3]}}],
        });
        Results::of(summary, folder)
    }

    #[test]
    fn entries_and_figures_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let mut results = results(folder.path());
        for (text, head, expected) in [
            ("cases[0].apparent.value", "cases[0].apparent.value", json!(2.5)),
            ("E = cases[0].apparent.value", "E", json!(2.5)),
            ("cases[0].reaction[\"x=0\"][2]", "cases[0].reaction[\"x=0\"][2]", json!(3)),
            ("cases[0].failure.load[1]", "cases[0].failure.load[1]", Value::Null),
            ("cases[0].name", "cases[0].name", json!("a b")),
            ("peak(A.1.U1)", "peak(A.1.U1)", json!(4.0)),
            ("t=peak_time(A.1.U1)", "t", json!(0.5)),
            ("max( A.1.U1 )", "max( A.1.U1 )", json!(1.0)),
            ("min(B.2.U1)", "min(B.2.U1)", json!(-1.0)),
            ("last(B.2.U1)", "last(B.2.U1)", json!(-1.0)),
            ("peak_time(B.2.U1)", "peak_time(B.2.U1)", json!(0.0)),
        ] {
            let collected = Collected::parse(text).unwrap();
            assert_eq!((collected.head.as_str(), collected.value(&mut results)), (head, Ok(expected)), "{text}");
        }
        let usual: Vec<String> = results.usual().into_iter().map(|collected| collected.head).collect();
        assert_eq!(usual[0], "cases[0].apparent.value");
        assert_eq!(usual[3..], ["cases[0].reaction[\"x=0\"][2]", "peak(A.1.U1)", "peak(B.2.U1)"]);
    }

    #[test]
    fn what_is_not_there_is_said_with_what_is() {
        let folder = tempfile::tempdir().unwrap();
        let mut results = results(folder.path());
        for (text, expected) in [
            ("cases[0].aparent.value", "no `aparent`; there are apparent, failure, name, reaction"),
            ("cases[1].apparent", "no [1] in a list of 1"),
            ("cases", "a list of 1: name one of its values"),
            ("cases[0].apparent", "name one of value"),
            ("physics.x", "`x` stands where there are no names"),
            ("physics[0]", "[0] stands where there is no list"),
            ("peak(C)", "no trace C; there are A.1.U1, B.2.U1"),
        ] {
            let found = Collected::parse(text).unwrap().value(&mut results).unwrap_err();
            assert!(found.contains(expected), "{text}: {found}");
        }
        for (text, expected) in [
            ("", "expected an entry"),
            ("a=", "expected an entry"),
            ("mean(A)", "there are peak, peak_time, max, min, last"),
            ("cases[x]", "a number from 0"),
            ("cases[0", "`]` is missing"),
            ("cases[\"a", "a quote"),
            ("cases..a", "a name is missing"),
            ("cases[0]x", "a name is missing"),
        ] {
            let found = Collected::parse(text).unwrap_err();
            assert!(found.contains(expected), "{text}: {found}");
        }
    }
}
