//! The keys of a table that say where it acts, and when it is written.

use super::check::{at_most_one, positive};
use super::values::Sides;
use crate::dynamics::OutputInterval;
use crate::words::counted;

/// Which nodes a table means.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs)]
pub enum Region<'a> {
    /// The nearest one.
    Point(&'a [f64]),
    /// Those along a segment.
    Line([&'a [f64]; 2]),
    /// Those between two corners.
    Box([&'a [f64]; 2]),
    /// A set of the deck.
    Set(&'a str),
    /// Those on sides of the bounding box.
    Sides(&'a Sides),
    All,
}

/// A table with its own keys, and with the keys of the groups named in front: `place` (where it acts) and `timing` (when it
/// is written). The keys become fields of the table itself, so that an error can point to the line of a misspelt key.
macro_rules! table {
    ([$($group:ident),*] $(#[$meta:meta])* pub struct $name:ident { $($own:tt)* }) => {
        table! { @[$($group),*] { $(#[$meta])* } $name { $($own)* } }
    };
    (@[place $(, $more:ident)*] $meta:tt $name:ident { $($own:tt)* }) => {
        impl $name {
            /// Where the table acts.
            ///
            /// # Errors
            /// A message when no key says where, or more than one.
            pub fn region(&self) -> Result<$crate::job::Region<'_>, String> {
                use $crate::job::Region;
                $crate::job::check::positive("tolerance", self.tolerance)?;
                $crate::job::check::exactly_one([
                    ("at", self.at.as_deref().map(Region::Point)),
                    ("line", self.line.as_ref().map(|[a, b]| Region::Line([a, b]))),
                    ("box", self.corners.as_ref().map(|[a, b]| Region::Box([a, b]))),
                    ("nset", self.nset.as_deref().map(Region::Set)),
                    ("side", self.side.as_ref().map(Region::Sides)),
                    ("all", self.all.then_some(Region::All)),
                ])
            }
        }
        table! { @[$($more),*] $meta $name {
            $($own)*
            /// The node nearest to this point.
            pub at: Option<Vec<f64>>,
            /// The nodes along the segment between these two points.
            pub line: Option<[Vec<f64>; 2]>,
            /// The nodes in the box between these two corners.
            #[serde(rename = "box")]
            pub corners: Option<[Vec<f64>; 2]>,
            /// A node set of the deck.
            pub nset: Option<String>,
            /// The nodes on a side of the mesh's bounding box, `"xmin"`, `"xmax"`, `"ymin"`, …, or on several sides.
            pub side: Option<$crate::job::Sides>,
            /// Every node.
            #[serde(default)]
            pub all: bool,
            /// How far from the line, box or side a node may lie, m. When absent, rounding only; for a line on which no
            /// nodes lie, half the size of the elements there.
            pub tolerance: Option<f64>,
        } }
    };
    (@[timing $(, $more:ident)*] $meta:tt $name:ident { $($own:tt)* }) => {
        impl $name {
            /// When the table is written, if a key says so.
            ///
            /// # Errors
            /// A message when more than one key says when, or with an impossible value.
            pub fn timing(&self) -> Result<Option<$crate::dynamics::OutputInterval>, String> {
                $crate::job::interval(self.every, self.first, self.interval, self.count, self.steps.as_deref())
            }
        }
        table! { @[$($more),*] $meta $name {
            $($own)*
            /// Every so many increments.
            pub every: Option<u32>,
            /// With `every`: the first output is after this many increments, and neither start nor end of the run is added.
            pub first: Option<u32>,
            /// After each of these numbers of increments, increasing.
            pub steps: Option<Vec<u32>>,
            /// Every so many seconds.
            pub interval: Option<f64>,
            /// So many equal intervals over the run.
            pub count: Option<u32>,
        } }
    };
    (@[] { $(#[$meta:meta])* } $name:ident { $($fields:tt)* }) => {
        $(#[$meta])*
        #[derive(serde::Deserialize, Debug, Clone, PartialEq)]
        #[serde(deny_unknown_fields)]
        pub struct $name { $($fields)* }
    };
}
pub(crate) use table;

pub(crate) fn interval(
    every: Option<u32>,
    first: Option<u32>,
    interval: Option<f64>,
    count: Option<u32>,
    steps: Option<&[u32]>,
) -> Result<Option<OutputInterval>, String> {
    positive("interval", interval)?;
    if every == Some(0) || count == Some(0) {
        return Err("`every` and `count` must be at least 1".to_owned());
    }
    if first.is_some() && every.is_none() {
        return Err("`first` goes with `every`".to_owned());
    }
    if steps.is_some_and(|steps| steps.is_empty() || !steps.is_sorted_by(|a, b| a < b)) {
        return Err("`steps` must be a list of increasing numbers".to_owned());
    }
    let every = every.map(|every| match first {
        Some(first) => OutputInterval::From { first, every },
        None => OutputInterval::Increments(every),
    });
    at_most_one([
        ("every", every),
        ("steps", steps.map(|steps| OutputInterval::Steps(steps.to_vec()))),
        ("interval", interval.map(OutputInterval::Time)),
        ("count", count.map(OutputInterval::Count)),
    ])
}

/// A position or vector of a job, padded to three numbers. A 2D mesh takes two numbers, or three of which the last is 0.
///
/// # Errors
/// A message that names `key` when the count is wrong.
pub fn point(given: &[f64], dimension: usize, key: &str) -> Result<[f64; 3], String> {
    let mut padded = [0.0; 3];
    if given.len() != dimension && !(dimension == 2 && given.len() == 3 && given[2] == 0.0) {
        return Err(format!("`{key}` has {}, the mesh has {dimension} dimensions", counted(given.len(), "number")));
    }
    padded[..given.len()].copy_from_slice(given);
    Ok(padded)
}
