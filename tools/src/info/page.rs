//! The pieces of a page: lines, lists, numbers.

use std::fmt::{self, Display};

use pogo_formats::parameters::{Parameter, Value};
use pogo_formats::words::grouped;
use serde::Serialize;

/// Items of a list that are shown; the rest is only counted.
const SHOWN: usize = 20;

/// A name and a number.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Count {
    pub name: String,
    pub count: usize,
}

/// Something with a name, described in a line.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Item {
    /// Name for overrides.
    pub name: String,
    pub description: String,
}

/// Sets with their numbers of members.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sets {
    pub node_sets: Vec<Count>,
    pub element_sets: Vec<Count>,
}

impl Sets {
    /// Counts the members.
    pub fn new(node_sets: &[(&str, &[u32])], element_sets: &[(&str, &[u32])]) -> Self {
        let count = |sets: &[(&str, &[u32])]| {
            sets.iter().map(|(name, members)| Count { name: (*name).into(), count: members.len() }).collect()
        };
        Self { node_sets: count(node_sets), element_sets: count(element_sets) }
    }
}

/// One set a line: `node` or `element`, number of members, name.
impl Display for Sets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (kind, sets) in [("node", &self.node_sets), ("element", &self.element_sets)] {
            for Count { name, count } in sets {
                writeln!(f, "{kind:<7}  {count:>10}  {name}")?;
            }
        }
        Ok(())
    }
}

/// The name and the description of each entry.
pub fn items<T>(list: &[T], describe: impl Fn(&T) -> (&String, String)) -> Vec<Item> {
    let item = |entry| {
        let (name, description) = describe(entry);
        Item { name: name.clone(), description }
    };
    list.iter().map(item).collect()
}

/// Smallest and largest coordinate of each axis; empty without points.
pub fn bounding_box(coordinates: &[f64], dimension: usize) -> Vec<[f64; 2]> {
    let mut points = coordinates.chunks_exact(dimension.max(1));
    let Some(first) = points.next() else { return Vec::new() };
    let mut bounds: Vec<[f64; 2]> = first.iter().map(|&x| [x, x]).collect();
    for point in points {
        for (bound, &x) in bounds.iter_mut().zip(point) {
            *bound = [bound[0].min(x), bound[1].max(x)];
        }
    }
    bounds
}

/// A line of a page.
///
/// # Errors
/// Those of the formatter.
pub fn line(f: &mut fmt::Formatter, heading: &str, text: &str) -> fmt::Result {
    writeln!(f, "{heading:<12}{text}")
}

/// A heading with a line for each of the first items; nothing for an empty list.
///
/// # Errors
/// Those of the formatter.
pub fn list(f: &mut fmt::Formatter, heading: &str, items: &[Item]) -> fmt::Result {
    if items.is_empty() {
        return Ok(());
    }
    writeln!(f, "{heading}")?;
    let width = items.iter().take(SHOWN).map(|item| item.name.chars().count()).max().unwrap_or(0).min(32);
    for Item { name, description } in items.iter().take(SHOWN) {
        writeln!(f, "  {name:<width$}  {description}")?;
    }
    match items.len() - items.len().min(SHOWN) {
        0 => Ok(()),
        more => writeln!(f, "  … and {} more (--json lists all)", grouped(more as u64)),
    }
}

/// The lines of a bounding box.
///
/// # Errors
/// Those of the formatter.
pub fn extent(f: &mut fmt::Formatter, bounds: &[[f64; 2]], unit: &str) -> fmt::Result {
    for ([low, high], axis) in bounds.iter().zip(["x", "y", "z"]) {
        line(f, "", &format!("{axis} from {} to {} {unit}", number(*low), number(*high)))?;
    }
    Ok(())
}

/// The parameters, one a line: name, value, unit, meaning.
pub fn parameters_text(parameters: &[Parameter]) -> String {
    let name_width = parameters.iter().map(|p| p.name.chars().count()).max().unwrap_or(0);
    let value_width = parameters.iter().map(|p| p.value.to_string().chars().count()).max().unwrap_or(0);
    let line = |p: &Parameter| {
        let (name, value, unit, help) = (&p.name, p.value.to_string(), p.unit, p.help);
        format!("{name:<name_width$}  {value:<value_width$}  {unit:<10}  {help}\n")
    };
    parameters.iter().map(line).collect()
}

/// The shortest text that reads back as the same number.
pub fn number(value: f64) -> String {
    Value::Number(value).to_string()
}

/// A number of bytes in a unit that suits it.
pub fn size(bytes: u64) -> String {
    match bytes as f64 {
        b if b < 1e3 => format!("{bytes} bytes"),
        b if b < 1e6 => format!("{:.1} kB", b / 1e3),
        b if b < 1e9 => format!("{:.1} MB", b / 1e6),
        b => format!("{:.2} GB", b / 1e9),
    }
}
