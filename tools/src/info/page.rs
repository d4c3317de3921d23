//! The pieces of a page: numbers, sets, parameters.

use std::fmt::{self, Display};

use pogo_formats::parameters::{Parameter, Value};
use serde::Serialize;

use crate::listing::Listing;

/// A name and a number.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct Count {
    pub name: String,
    pub count: usize,
}

/// Sets with their numbers of members.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct Sets {
    pub node_sets: Vec<Count>,
    pub element_sets: Vec<Count>,
}

impl Sets {
    /// Counts the members.
    pub(crate) fn new(node_sets: &[(&str, &[u32])], element_sets: &[(&str, &[u32])]) -> Self {
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

impl Listing {
    /// Adds the smallest and the largest coordinate of each axis; none without points.
    pub(crate) fn bounding_box(&mut self, coordinates: &[f64], dimension: usize, n_shown: usize, unit: &str) {
        let mut points = coordinates.chunks_exact(dimension.max(1));
        let mut bounds: Vec<[f64; 2]> = points.next().unwrap_or_default().iter().map(|&x| [x, x]).collect();
        for point in points {
            for (bound, &x) in bounds.iter_mut().zip(point) {
                *bound = [bound[0].min(x), bound[1].max(x)];
            }
        }
        bounds.truncate(n_shown);
        self.figure("bounding_box", &bounds);
        for ([low, high], axis) in bounds.iter().zip(["x", "y", "z"]) {
            self.line("", format_args!("{axis} from {} to {} {unit}", number(*low), number(*high)));
        }
    }
}

/// The parameters, one a line: name, value, unit, meaning.
pub(crate) fn parameters_text(parameters: &[Parameter]) -> String {
    let name_width = parameters.iter().map(|p| p.name.chars().count()).max().unwrap_or(0);
    let value_width = parameters.iter().map(|p| p.value.to_string().chars().count()).max().unwrap_or(0);
    let line = |p: &Parameter| {
        let (name, value, unit, help) = (&p.name, p.value.to_string(), p.unit, p.help);
        format!("{name:<name_width$}  {value:<value_width$}  {unit:<10}  {help}\n")
    };
    parameters.iter().map(line).collect()
}

/// The shortest text that reads back as the same number.
pub(crate) fn number(value: f64) -> String {
    Value::Number(value).to_string()
}

/// A number of bytes in a unit that suits it.
pub(crate) fn size(bytes: u64) -> String {
    match bytes as f64 {
        b if b < 1e3 => format!("{bytes} bytes"),
        b if b < 1e6 => format!("{:.1} kB", b / 1e3),
        b if b < 1e9 => format!("{:.1} MB", b / 1e6),
        b => format!("{:.2} GB", b / 1e9),
    }
}
