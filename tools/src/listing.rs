//! What the commands report of a model or a block file: each figure is declared once, for JSON and for people.

use std::fmt::{self, Display};

use pogo_formats::words::grouped;
use serde::Serialize;

/// Items of a list that people see; the rest is only counted.
const SHOWN: usize = 20;

/// Something with a name, described in a line.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct Item {
    pub name: String,
    pub description: String,
}

/// The name and the description of each entry.
pub(crate) fn items<T>(list: &[T], describe: impl Fn(&T) -> (&String, String)) -> Vec<Item> {
    let item = |entry| {
        let (name, description) = describe(entry);
        Item { name: name.clone(), description }
    };
    list.iter().map(item).collect()
}

/// One JSON value, indented, without an end of line.
pub(crate) fn json(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).expect("maps have text for keys")
}

/// The figures of one JSON object, and lines of text. Both stand in the order in which they were added. `Display` gives the
/// lines, each with its end.
#[derive(Debug, Clone, Default)]
pub struct Listing {
    /// The name and the value of each figure as JSON.
    figures: Vec<(&'static str, String)>,
    text: String,
}

impl Listing {
    /// Adds a figure to the JSON object.
    pub(crate) fn figure(&mut self, name: &'static str, value: &impl Serialize) {
        self.figures.push((name, json(value)));
    }

    /// Adds a line as it is.
    pub(crate) fn text(&mut self, text: impl Display) {
        self.text += &format!("{text}\n");
    }

    /// Adds a line with a heading in the first column.
    pub(crate) fn line(&mut self, heading: &str, text: impl Display) {
        self.text(format_args!("{heading:<12}{text}"));
    }

    /// Adds a heading with a line for each of the first items; nothing for an empty list.
    pub(crate) fn list(&mut self, heading: &str, items: &[Item]) {
        if items.is_empty() {
            return;
        }
        self.text(heading);
        let (shown, more) = items.split_at(items.len().min(SHOWN));
        let width = shown.iter().map(|item| item.name.chars().count()).max().unwrap_or(0).min(32);
        for Item { name, description } in shown {
            self.text(format_args!("  {name:<width$}  {description}"));
        }
        if !more.is_empty() {
            self.text(format_args!("  … and {} more (--json lists all)", grouped(more.len() as u64)));
        }
    }

    /// Adds items as a figure and as a list, whose heading is the name of the figure in words.
    pub(crate) fn items(&mut self, name: &'static str, items: &[Item]) {
        self.figure(name, &items);
        self.list(&name.replace('_', " "), items);
    }

    /// Adds an array of objects as a figure and, with a heading, their text as a list. Each row is a name and a listing of one
    /// line.
    pub(crate) fn table(&mut self, name: &'static str, heading: Option<&str>, rows: &[(String, Self)]) {
        let objects: Vec<String> = rows.iter().map(|(_, row)| format!("  {}", indented(&row.json()))).collect();
        let value = if objects.is_empty() { "[]".to_owned() } else { format!("[\n{}\n]", objects.join(",\n")) };
        self.figures.push((name, value));
        let item =
            |(name, row): &(String, Self)| Item { name: name.clone(), description: row.text.trim_end().to_owned() };
        if let Some(heading) = heading {
            self.list(heading, &rows.iter().map(item).collect::<Vec<_>>());
        }
    }

    /// Adds another listing: its figures as one object, and its lines.
    pub(crate) fn object(&mut self, name: &'static str, object: &Self) {
        self.figures.push((name, object.json()));
        self.text += &object.text;
    }

    /// Adds the figures and the lines of another listing.
    pub(crate) fn extend(&mut self, other: Self) {
        self.figures.extend(other.figures);
        self.text += &other.text;
    }

    /// The figures as one JSON object, without an end of line.
    pub fn json(&self) -> String {
        let lines = self.figures.iter().map(|(name, value)| format!("  \"{name}\": {}", indented(value)));
        let lines: Vec<String> = lines.collect();
        if lines.is_empty() { "{}".to_owned() } else { format!("{{\n{}\n}}", lines.join(",\n")) }
    }
}

/// JSON for a place one level further in. A line break inside a text of JSON is escaped.
fn indented(json: &str) -> String {
    json.replace('\n', "\n  ")
}

impl Display for Listing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_are_cut_short_for_people_alone() {
        let loads = (0..1234).map(|n| Item { name: format!("load-{n}"), description: "1 N".into() });
        let mut listing = Listing::default();
        listing.items("some_loads", &loads.collect::<Vec<_>>());
        let text = listing.to_string();
        assert!(text.starts_with("some loads\n") && text.contains("and 1,214 more"), "{text}");
        assert!(text.contains("load-19 ") && !text.contains("load-20 "), "{text}");
        assert!(listing.json().contains("\"load-1233\""));
    }

    #[test]
    fn json_is_as_serde_writes_it() {
        let mut row = Listing::default();
        row.figure("name", &"a\n\"b\"");
        row.figure("x", &[1.0, 1e-5]);
        row.text("words");
        let mut listing = Listing::default();
        listing.table("rows", Some("some rows"), &[("a".into(), row.clone()), ("b".into(), row.clone())]);
        listing.table("none", Some("no rows"), &[]);
        listing.object("row", &row);
        listing.object("empty", &Listing::default());
        let value: serde_json::Value = serde_json::from_str(&listing.json()).unwrap();
        // Keys are in the order of the alphabet in a `Value`.
        assert_eq!(json(&value["rows"]), json(&serde_json::json!([value["row"], value["row"]])));
        let lines: Vec<usize> = listing.json().lines().map(|line| line.len() - line.trim_start().len()).collect();
        assert_eq!(lines[..8], [0, 2, 4, 6, 6, 8, 8, 6]);
        assert_eq!(listing.to_string(), "some rows\n  a  words\n  b  words\nwords\n");
    }
}
