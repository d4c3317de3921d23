//! `[[gravity]]`, `[[cut]]`, `[[erase]]`, `[[add]]`, `[[field]]`.

use serde::Deserialize;

use crate::dynamics::OutputInterval;
use crate::job::check::{exactly_one, given, in_range};
use crate::job::{AmplitudeReference, table};
use crate::parameters::Range;
use crate::spring::{CutFrame, CutShape, SpringFields};
use crate::words::{Choice, Word};

/// `[[gravity]]`: an acceleration of all particles.
#[derive(Deserialize, Debug, Clone, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct GravityTable {
    /// Name, for changes by name; `GRAVITY` and a number when absent.
    pub name: Option<String>,
    /// m/s².
    pub vector: [f64; 3],
    /// Name of an amplitude, or one written here; constant 1 when absent.
    pub amplitude: Option<AmplitudeReference>,
}

/// `[[cut]]`: springs that a shape crosses are erased. What: `point` and `normal` (a plane); `corner` and `edges` (a
/// parallelogram); `times`, `from` and `to` (a straight blade that moves).
#[derive(Deserialize, Debug, Clone, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct CutTable {
    /// Name, for changes by name; `CUT` and a number when absent.
    pub name: Option<String>,
    /// When, s; of a blade what `times` are counted from; 0 when absent.
    #[serde(default)]
    pub time: f64,
    /// Of a plane.
    pub point: Option<[f64; 3]>,
    /// Of a plane.
    pub normal: Option<[f64; 3]>,
    /// Of a parallelogram.
    pub corner: Option<[f64; 3]>,
    /// Of a parallelogram: two edges from the corner.
    pub edges: Option<[[f64; 3]; 2]>,
    /// Of a blade: times of its stations.
    pub times: Option<Vec<f64>>,
    /// Of a blade: one end at each station.
    pub from: Option<Vec<[f64; 3]>>,
    /// Of a blade: the other end at each station.
    pub to: Option<Vec<[f64; 3]>>,
    /// Which positions of the particles count: `"current"` (default) or `"rest"`.
    pub positions: Option<Word<CutFrame>>,
}

impl Choice for CutFrame {
    const WORDS: &'static [(&'static str, Self)] = &[("current", Self::Current), ("rest", Self::Rest)];
}

/// `[[erase]]`: springs erased at a time. Which: `pairs` of labels, `within` one set, `between` two sets.
#[derive(Deserialize, Debug, Clone, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Erase {
    /// Name, for changes by name; `ERASE` and a number when absent.
    pub name: Option<String>,
    /// When, s.
    #[serde(default)]
    pub time: f64,
    /// Labels of both ends.
    pub pairs: Option<Vec<[u32; 2]>>,
    /// Springs with both ends in this set.
    pub within: Option<String>,
    /// Springs from the one set to the other.
    pub between: Option<[String; 2]>,
}

/// `[[add]]`: springs added at a time. Which: `pairs` of labels, or `at`, pairs of points of which the nearest particles are
/// taken.
#[derive(Deserialize, Debug, Clone, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Add {
    /// Name, for changes by name; `ADD` and a number when absent.
    pub name: Option<String>,
    /// When, s.
    #[serde(default)]
    pub time: f64,
    /// Name of the `[[springs]]`, or of a group of a lattice such as `tissue.axis`.
    pub group: String,
    /// Labels of both ends.
    pub pairs: Option<Vec<[u32; 2]>>,
    /// Points near both ends.
    pub at: Option<Vec<[[f64; 3]; 2]>>,
}

table! { [timing]
/// `[[field]]`: positions over time. When: one of `every`, `interval`, `count`.
pub struct FieldTable {
    /// Springs as lines, with group and strain; true when absent. False: particles only.
    pub springs: Option<bool>,
    /// Velocities of the particles, too.
    #[serde(default)]
    pub velocity: bool,
}
}

fn length(v: [f64; 3]) -> f64 {
    v.iter().map(|x| x * x).sum::<f64>().sqrt()
}

fn not_before_start(time: f64) -> Result<(), String> {
    in_range("time", Some(time), Range::NotNegative)
}

impl CutTable {
    pub(super) fn check(&self) -> Result<(), String> {
        not_before_start(self.time)?;
        self.shape().map(|_| ())
    }

    /// What cuts.
    ///
    /// # Errors
    /// A message when keys are missing, or of more than one shape, or make no sense.
    pub fn shape(&self) -> Result<CutShape, String> {
        let plane = self.point.is_some() || self.normal.is_some();
        let sheet = self.corner.is_some() || self.edges.is_some();
        let blade = self.times.is_some() || self.from.is_some() || self.to.is_some();
        if u8::from(plane) + u8::from(sheet) + u8::from(blade) != 1 {
            let text = "give one of: `point` and `normal`; `corner` and `edges`; `times`, `from` and `to`";
            return Err(text.to_owned());
        }
        match (self.point, self.normal, self.corner, self.edges) {
            (Some(point), Some(normal), ..) => {
                if !length(normal).is_normal() {
                    return Err("`normal` has no length, or too much".to_owned());
                }
                return Ok(CutShape::Plane { point, normal });
            }
            (.., Some(corner), Some(edges)) => {
                let [a, b] = edges;
                let cross = [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
                if !length(cross).is_normal() {
                    return Err("the two `edges` are parallel or have no length".to_owned());
                }
                return Ok(CutShape::Sheet { corner, edges });
            }
            _ if plane => return Err("a plane needs `point` and `normal`".to_owned()),
            _ if sheet => return Err("a parallelogram needs `corner` and `edges`".to_owned()),
            _ => {}
        }
        let (Some(times), Some(from), Some(to)) = (&self.times, &self.from, &self.to) else {
            return Err("a blade needs `times`, `from` and `to`".to_owned());
        };
        if times.len() < 2 || from.len() != times.len() || to.len() != times.len() {
            return Err("a blade needs at least two stations: as many `from` and `to` as `times`".to_owned());
        }
        if !times.is_sorted_by(|a, b| a < b) || times[0] < 0.0 {
            return Err("`times` must increase, from 0 or later".to_owned());
        }
        Ok(CutShape::Blade { times: times.clone(), from: from.clone(), to: to.clone() })
    }
}

impl Erase {
    pub(super) fn check(&self) -> Result<(), String> {
        not_before_start(self.time)?;
        exactly_one([("pairs", given(&self.pairs)), ("within", given(&self.within)), ("between", given(&self.between))])
    }
}

impl Add {
    pub(super) fn check(&self) -> Result<(), String> {
        not_before_start(self.time)?;
        exactly_one([("pairs", given(&self.pairs)), ("at", given(&self.at))])
    }
}

impl FieldTable {
    /// When the snapshots are written.
    ///
    /// # Errors
    /// A message when no key or more than one says when, or with an impossible value.
    pub fn when(&self) -> Result<OutputInterval, String> {
        self.timing()?.ok_or_else(|| "give one of `every`, `interval`, `count`".to_owned())
    }

    /// The request.
    ///
    /// # Errors
    /// As [`when`](Self::when).
    pub fn request(&self) -> Result<SpringFields, String> {
        Ok(SpringFields { interval: self.when()?, springs: self.springs.unwrap_or(true), velocity: self.velocity })
    }
}
