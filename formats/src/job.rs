//! TOML jobs: what a deck cannot say.
//!
//! A job adds to a deck, or takes the place of what the deck says: materials and sections for a bare mesh, tone bursts,
//! sources and monitor points by coordinates, absorbing layers, the length of the run. Every table and key is a public
//! struct and field of this module; `examples/job-reference.toml` shows all of them. Quantities are in SI units (or in
//! any other consistent set, the same as the deck's); angles are in degrees. A key that does not exist is an error.
//!
//! A name that the deck has too (a material, an amplitude) is replaced by the job's, and so is an earlier job's by a
//! later job's.

pub(crate) mod check;
pub(crate) mod convert;
mod physics;
pub(crate) mod text;
pub(crate) mod values;

use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use toml::Spanned;

pub use convert::{Action, Region, point};
pub use physics::{Physics, physics, physics_of};
pub use values::{AmplitudeReference, Component, Components, IncrementValue, Sides, Variables};

use text::JobText;

/// A job that cannot be used: `job.toml:12: error: …`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}{}: error: {message}", if *line > 0 { format!(":{line}") } else { String::new() })]
pub struct JobError {
    /// The job file as the user named it.
    pub file: String,
    /// From 1; 0 for the file as a whole.
    pub line: usize,
    /// What is wrong and what to do.
    pub message: String,
}

/// Where in which job something stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The job file as the user named it.
    pub file: Arc<str>,
    /// 1-based.
    pub line: usize,
}

impl Place {
    /// An error that points here.
    pub fn error(&self, message: impl Into<String>) -> JobError {
        JobError { file: self.file.to_string(), line: self.line, message: message.into() }
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// A table of a job and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Located<T> {
    /// Where its heading stands.
    pub place: Place,
    /// The table.
    pub value: T,
}

/// One or several jobs, merged and checked as far as they can be without the mesh.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Job {
    /// `title`: takes the place of the deck's heading.
    pub title: Option<String>,
    /// `[solver]`.
    pub solver: Option<Located<Solver>>,
    /// `[[material]]`.
    pub materials: Vec<Located<Material>>,
    /// `[[section]]`; where two cover the same element, the later wins.
    pub sections: Vec<Located<Section>>,
    /// `[[amplitude]]`.
    pub amplitudes: Vec<Located<Amplitude>>,
    /// `[[source]]`.
    pub sources: Vec<Located<Source>>,
    /// `[[boundary]]`.
    pub boundaries: Vec<Located<Boundary>>,
    /// `[[initial_velocity]]`.
    pub initial_velocities: Vec<Located<InitialVelocity>>,
    /// `[[monitor]]`.
    pub monitors: Vec<Located<Monitor>>,
    /// `[[field]]`.
    pub fields: Vec<Located<Field>>,
    /// `[[absorbing]]`.
    pub absorbing: Vec<Located<Absorbing>>,
}

/// The file as TOML gives it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawJob {
    title: Option<String>,
    solver: Option<Spanned<Solver>>,
    #[serde(default)]
    material: Vec<Spanned<Material>>,
    #[serde(default)]
    section: Vec<Spanned<Section>>,
    #[serde(default)]
    amplitude: Vec<Spanned<Amplitude>>,
    #[serde(default)]
    source: Vec<Spanned<Source>>,
    #[serde(default)]
    boundary: Vec<Spanned<Boundary>>,
    #[serde(default)]
    initial_velocity: Vec<Spanned<InitialVelocity>>,
    #[serde(default)]
    monitor: Vec<Spanned<Monitor>>,
    #[serde(default)]
    field: Vec<Spanned<Field>>,
    #[serde(default)]
    absorbing: Vec<Spanned<Absorbing>>,
}

/// `[solver]`: the run. What is absent stays as the deck says.
#[derive(Deserialize, Debug, Clone, PartialEq, Default)]
#[serde(deny_unknown_fields)]
pub struct Solver {
    /// Length of the run, s.
    pub time: Option<f64>,
    /// Time increment in seconds, or `"automatic"`: the largest stable one times `increment_factor`.
    pub increment: Option<IncrementValue>,
    /// Safety factor of the automatic increment, in (0, 1]; 0.95 when absent.
    pub increment_factor: Option<f64>,
    /// How element masses go to nodes: `"row-sum"` (default), `"hrz"` or `"equal"`.
    pub lumping: Option<LumpingName>,
}

/// Names of the lumping schemes.
#[derive(Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum LumpingName {
    /// Row sums of the consistent mass.
    RowSum,
    /// Hinton, Rock and Zienkiewicz.
    Hrz,
    /// Element mass over the number of nodes.
    Equal,
}

/// `[[material]]`: density and one of: `young` and `poisson`; `p_speed` and `s_speed`; `engineering_constants`;
/// `orthotropic`; `anisotropic`.
#[derive(Deserialize, Debug, Clone, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Material {
    /// Name; the deck's material of the same name is replaced.
    pub name: String,
    /// ρ, kg/m³.
    pub density: f64,
    /// Young's modulus E, Pa.
    pub young: Option<f64>,
    /// Poisson's ratio ν.
    pub poisson: Option<f64>,
    /// Speed of compression waves √((λ + 2μ)/ρ), m/s.
    pub p_speed: Option<f64>,
    /// Speed of shear waves √(μ/ρ), m/s.
    pub s_speed: Option<f64>,
    /// E1, E2, E3, ν12, ν13, ν23, G12, G13, G23 (Pa), in the material's axes.
    pub engineering_constants: Option<[f64; 9]>,
    /// D1111, D1122, D2222, D1133, D2233, D3333, D1212, D1313, D2323 (Pa).
    pub orthotropic: Option<[f64; 9]>,
    /// The 21 constants of `*ELASTIC, TYPE=ANISOTROPIC`, in that order (Pa).
    pub anisotropic: Option<[f64; 21]>,
    /// Mass-proportional damping α in C = αM, 1/s; 0 when absent.
    #[serde(default)]
    pub alpha: f64,
}

/// `[[section]]`: what a region is made of: `elset = "…"` or `all = true`. Elements of other dimension than the mesh
/// (edges and faces that a mesher adds) are never meant by `all`.
#[derive(Deserialize, Debug, Clone, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Section {
    /// Element set of the deck.
    pub elset: Option<String>,
    /// Every element.
    #[serde(default)]
    pub all: bool,
    /// Name of a material of this job or of the deck.
    pub material: String,
    /// `"strain"` or `"stress"`: 2D elements become CPE or CPS; as in the deck when absent.
    pub plane: Option<Plane>,
    /// Out-of-plane thickness of 2D elements, m; 1 when absent.
    pub thickness: Option<f64>,
    /// Direction of the material's axis 1 and a second vector in its 1-2 plane, each of three numbers.
    pub orientation: Option<[[f64; 3]; 2]>,
    /// Rotation of the material's axes about z (third axis), degrees anticlockwise. Instead of `orientation`.
    pub angle: Option<f64>,
    /// Factor on the hourglass stiffness of one-point elements; 1 when absent.
    pub hourglass_factor: Option<f64>,
    /// Factor on the density that inertia sees (mass scaling); 1 when absent.
    pub mass_factor: Option<f64>,
}

/// Plane strain or plane stress.
#[derive(Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Plane {
    /// ε33 = 0: CPE elements.
    Strain,
    /// σ33 = 0: CPS elements.
    Stress,
}

/// `[[amplitude]]`, or the value of an `amplitude` key: a dimensionless function of time. Which keys a kind needs:
///
/// | kind | keys |
/// |---|---|
/// | `hann`, `gaussian`, `rectangular` | `frequency`, `cycles`: sin(2πft) under that window |
/// | `ricker` | `frequency`; `peak_time`, 1.5 / frequency when absent |
/// | `gaussian_pulse` | `rate` and `peak_time`: exp(−rate (t − peak_time)²) |
/// | `table` | `times` and `values`, or `file`: linear between points, constant outside |
/// | `smooth_step` | `times` and `values`, or `file`: smooth steps between points |
#[derive(Deserialize, Debug, Clone, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Amplitude {
    /// Name; not needed where the amplitude stands inside a source.
    #[serde(default)]
    pub name: String,
    /// Which function.
    pub kind: AmplitudeKind,
    /// Centre frequency f, Hz.
    pub frequency: Option<f64>,
    /// Length of a tone burst in cycles.
    pub cycles: Option<f64>,
    /// Time of the peak, s.
    pub peak_time: Option<f64>,
    /// 1/s².
    pub rate: Option<f64>,
    /// s.
    pub times: Option<Vec<f64>>,
    /// One for each time.
    pub values: Option<Vec<f64>>,
    /// CSV file with a time and a value a line, beside the job; lines that start with # or a letter are skipped.
    pub file: Option<String>,
    /// Multiplies the function; 1 when absent.
    pub scale: Option<f64>,
    /// The function starts this much later, s; 0 when absent.
    pub delay: Option<f64>,
}

/// Kinds of [`Amplitude`].
#[derive(Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum AmplitudeKind {
    /// Tone burst under a Hann window.
    Hann,
    /// Tone burst under a Gaussian window.
    Gaussian,
    /// Tone burst under a rectangular window.
    Rectangular,
    /// Ricker wavelet.
    Ricker,
    /// Gaussian pulse.
    GaussianPulse,
    /// Points joined by straight lines.
    Table,
    /// Points joined by smooth steps.
    SmoothStep,
}

/// `[[source]]`: a force or a prescribed motion. Where: one of `at`, `line`, `box`, `nset`, `side`. Which way: one of
/// `direction`, `component`, `angle`. What: one of `force`, `displacement`, `velocity`, `acceleration`.
///
/// A force is the total. Along a line it is shared by the length that belongs to each node; over a set, box or side by the
/// area of the surface that belongs to each, or equally where the nodes are no part of the surface. A motion is given to
/// every node; one that is not along an axis prescribes each component that its direction has, so that the nodes do not
/// move sideways. It wins over a boundary condition of the same component.
#[derive(Deserialize, Debug, Clone, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// Name, for changes by name and in `pogo-info`; `SOURCE` and a number when absent.
    pub name: Option<String>,
    /// The node nearest to this point.
    pub at: Option<Vec<f64>>,
    /// The nodes along the segment between these two points.
    pub line: Option<[Vec<f64>; 2]>,
    /// The nodes in the box between these two corners.
    #[serde(rename = "box")]
    pub corners: Option<[Vec<f64>; 2]>,
    /// A node set of the deck.
    pub nset: Option<String>,
    /// The nodes on a side of the mesh's bounding box: `"xmin"`, `"xmax"`, `"ymin"`, …, or a list of them.
    pub side: Option<Sides>,
    /// How far from the line, box or side a node may lie, m. When absent, rounding only; for a line that no nodes lie
    /// on, half the size of the elements there.
    pub tolerance: Option<f64>,
    /// Direction vector (made unit length).
    pub direction: Option<Vec<f64>>,
    /// 1, 2, 3 or `"x"`, `"y"`, `"z"`.
    pub component: Option<Component>,
    /// 2D: direction by its angle from x, degrees anticlockwise.
    pub angle: Option<f64>,
    /// N in total (a metre of thickness in plane strain with thickness 1).
    pub force: Option<f64>,
    /// m.
    pub displacement: Option<f64>,
    /// m/s.
    pub velocity: Option<f64>,
    /// m/s².
    pub acceleration: Option<f64>,
    /// Name of an amplitude, or one written here: `{ kind = "hann", frequency = 2e6, cycles = 5 }`; constant 1 when absent.
    pub amplitude: Option<AmplitudeReference>,
}

/// `[[boundary]]`: prescribes components of some nodes; fixed when no value is given. Where: one of `at`, `line`, `box`,
/// `nset`, `side`.
#[derive(Deserialize, Debug, Clone, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Boundary {
    /// Name, for changes by name; `FIX` and a number when absent.
    pub name: Option<String>,
    /// The node nearest to this point.
    pub at: Option<Vec<f64>>,
    /// The nodes along the segment between these two points.
    pub line: Option<[Vec<f64>; 2]>,
    /// The nodes in the box between these two corners.
    #[serde(rename = "box")]
    pub corners: Option<[Vec<f64>; 2]>,
    /// A node set of the deck.
    pub nset: Option<String>,
    /// The nodes on one or several sides of the mesh's bounding box.
    pub side: Option<Sides>,
    /// How far from the line, box or side a node may lie, m.
    pub tolerance: Option<f64>,
    /// Components, `[1, 2]`, `"x"` or `"all"` (default).
    #[serde(default)]
    pub components: Components,
    /// m, m/s or m/s²; 0 when absent.
    #[serde(default)]
    pub value: f64,
    /// `"displacement"` (default), `"velocity"` or `"acceleration"`.
    #[serde(default, rename = "type")]
    pub kind: BoundaryType,
    /// Name of an amplitude, or one written here.
    pub amplitude: Option<AmplitudeReference>,
}

/// What a boundary condition prescribes.
#[derive(Deserialize, Debug, Clone, Copy, PartialEq, Eq, Default)]
#[serde(rename_all = "lowercase")]
pub enum BoundaryType {
    /// m.
    #[default]
    Displacement,
    /// m/s.
    Velocity,
    /// m/s².
    Acceleration,
}

/// `[[initial_velocity]]`: velocity at t = 0 of `nset`, the nodes in `box`, on `side`, or everything (`all = true`).
#[derive(Deserialize, Debug, Clone, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct InitialVelocity {
    /// Name, for changes by name; `VELOCITY` and a number when absent.
    pub name: Option<String>,
    /// A node set of the deck.
    pub nset: Option<String>,
    /// The nodes in the box between these two corners.
    #[serde(rename = "box")]
    pub corners: Option<[Vec<f64>; 2]>,
    /// The nodes on one or several sides of the mesh's bounding box.
    pub side: Option<Sides>,
    /// Every node.
    #[serde(default)]
    pub all: bool,
    /// How far from the box or side a node may lie, m.
    pub tolerance: Option<f64>,
    /// Velocity vector, m/s.
    pub velocity: Vec<f64>,
}

/// `[[monitor]]`: traces of nodes. Where: one of `at`, `line` (with `points`), `box`, `nset`, `side`. When: one of `every`,
/// `interval`, `count`; every increment when absent.
#[derive(Deserialize, Debug, Clone, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Monitor {
    /// Name in the column headings; `MONITOR` and a number when absent.
    pub name: Option<String>,
    /// The node nearest to this point.
    pub at: Option<Vec<f64>>,
    /// A segment: the nodes along it or, with `points`, the nodes nearest to that many points on it, ends included.
    pub line: Option<[Vec<f64>; 2]>,
    /// Number of points on the line.
    pub points: Option<usize>,
    /// The nodes in the box between these two corners.
    #[serde(rename = "box")]
    pub corners: Option<[Vec<f64>; 2]>,
    /// A node set of the deck.
    pub nset: Option<String>,
    /// The nodes on one or several sides of the mesh's bounding box.
    pub side: Option<Sides>,
    /// How far from the line, box or side a node may lie, m.
    pub tolerance: Option<f64>,
    /// `"U"`, `"V"`, `"A"`, `"RF"` for all components, or `"U2"` and the like; `["U"]` when absent.
    #[serde(default)]
    pub variables: Variables,
    /// Every so many increments.
    pub every: Option<u32>,
    /// Every so many seconds.
    pub interval: Option<f64>,
    /// So many equal intervals over the run.
    pub count: Option<u32>,
}

/// `[[field]]`: snapshots of the whole mesh. When: one of `every`, `interval`, `count`.
#[derive(Deserialize, Debug, Clone, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Field {
    /// Which.
    pub quantities: Vec<Quantity>,
    /// Every so many increments.
    pub every: Option<u32>,
    /// Every so many seconds.
    pub interval: Option<f64>,
    /// So many equal intervals over the run.
    pub count: Option<u32>,
}

/// Quantities of a [`Field`], by name or as Abaqus abbreviates them.
#[derive(Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// `"displacement"` or `"U"`, m.
    #[serde(alias = "U")]
    Displacement,
    /// `"velocity"` or `"V"`, m/s.
    #[serde(alias = "V")]
    Velocity,
    /// `"acceleration"` or `"A"`, m/s².
    #[serde(alias = "A")]
    Acceleration,
    /// `"stress"` or `"S"`, Pa.
    #[serde(alias = "S")]
    Stress,
    /// `"strain"` or `"E"`.
    #[serde(alias = "E")]
    Strain,
    /// `"energy_density"` or `"ENER"`, J/m³.
    #[serde(alias = "ENER")]
    EnergyDensity,
}

/// `[[absorbing]]`: elements within `depth` of the given sides of the mesh's bounding box take waves away. Where two sides
/// meet, the larger depth fraction X counts.
///
/// | profile | law | keys |
/// |---|---|---|
/// | `damping` | α = d_max Xᵖ | `d_max`; `exponent`, 3 when absent |
/// | `stiffness_reduction` | α = 2πf X³, E′ = E exp(−a X³ k₀ X l), k₀ = 2πf/c, a = −ln(0.01)/(k₀ l) | `frequency`, `wave_speed` |
#[derive(Deserialize, Debug, Clone, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Absorbing {
    /// Name, for changes by name; `LAYER` and a number when absent.
    pub name: Option<String>,
    /// One or several of `"xmin"`, `"xmax"`, `"ymin"`, `"ymax"`, `"zmin"`, `"zmax"`.
    pub side: Sides,
    /// Thickness l of the layer, m: about 3 wavelengths for damping, 1.5 for stiffness reduction.
    pub depth: f64,
    /// Law.
    pub profile: Profile,
    /// Damping at the outer face, 1/s.
    pub d_max: Option<f64>,
    /// p.
    pub exponent: Option<f64>,
    /// f, Hz.
    pub frequency: Option<f64>,
    /// c, m/s.
    pub wave_speed: Option<f64>,
    /// Only elements of this set.
    pub elset: Option<String>,
}

/// Laws of [`Absorbing`].
#[derive(Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Profile {
    /// Mass-proportional damping that grows with depth.
    Damping,
    /// Damping, and a stiffness that falls with depth.
    StiffnessReduction,
}

impl Job {
    /// Reads and checks one job.
    ///
    /// # Errors
    /// [`JobError`] with the line, for a file that cannot be read, TOML that is malformed, a key that does not exist, and
    /// values that make no sense.
    pub fn read(path: &Path) -> Result<Self, JobError> {
        Self::from_text(&JobText::read(path)?)
    }

    /// Parses and checks a job; amplitude files are looked for in `folder`.
    ///
    /// # Errors
    /// As [`Job::read`].
    pub fn parse(text: &str, name: &str, folder: &Path) -> Result<Self, JobError> {
        Self::from_text(&JobText::new(text, name, folder))
    }

    fn from_text(text: &JobText) -> Result<Self, JobError> {
        let raw: RawJob = text.parse()?;
        let mut job = Self {
            title: raw.title,
            solver: raw.solver.map(|item| text.locate(item)),
            materials: text.locate_all(raw.material),
            sections: text.locate_all(raw.section),
            amplitudes: text.locate_all(raw.amplitude),
            sources: text.locate_all(raw.source),
            boundaries: text.locate_all(raw.boundary),
            initial_velocities: text.locate_all(raw.initial_velocity),
            monitors: text.locate_all(raw.monitor),
            fields: text.locate_all(raw.field),
            absorbing: text.locate_all(raw.absorbing),
        };
        check::load_files(&mut job, &text.folder)?;
        check::job(&job)?;
        Ok(job)
    }

    /// Adds a later job: its solver keys and its named tables take the place of this job's, the others are appended.
    pub fn merge(&mut self, later: Self) {
        fn by_name<T>(mine: &mut Vec<Located<T>>, theirs: Vec<Located<T>>, name: impl Fn(&T) -> Option<&str>) {
            let same = |a: &T, b: &T| matches!((name(a), name(b)), (Some(a), Some(b)) if a.eq_ignore_ascii_case(b));
            mine.retain(|item| !theirs.iter().any(|other| same(&other.value, &item.value)));
            mine.extend(theirs);
        }
        self.title = later.title.or(self.title.take());
        if let Some(theirs) = later.solver {
            let mine = self.solver.take().map(|item| item.value).unwrap_or_default();
            let value = Solver {
                time: theirs.value.time.or(mine.time),
                increment: theirs.value.increment.or(mine.increment),
                increment_factor: theirs.value.increment_factor.or(mine.increment_factor),
                lumping: theirs.value.lumping.or(mine.lumping),
            };
            self.solver = Some(Located { place: theirs.place, value });
        }
        by_name(&mut self.materials, later.materials, |item| Some(&item.name));
        by_name(&mut self.amplitudes, later.amplitudes, |item| Some(&item.name));
        by_name(&mut self.sources, later.sources, |item| item.name.as_deref());
        by_name(&mut self.monitors, later.monitors, |item| item.name.as_deref());
        by_name(&mut self.absorbing, later.absorbing, |item| item.name.as_deref());
        self.sections.extend(later.sections);
        self.boundaries.extend(later.boundaries);
        self.initial_velocities.extend(later.initial_velocities);
        self.fields.extend(later.fields);
    }
}

impl From<LumpingName> for crate::explicit::Lumping {
    fn from(name: LumpingName) -> Self {
        match name {
            LumpingName::RowSum => Self::RowSum,
            LumpingName::Hrz => Self::Hrz,
            LumpingName::Equal => Self::Equal,
        }
    }
}

impl From<BoundaryType> for crate::dynamics::BoundaryKind {
    fn from(kind: BoundaryType) -> Self {
        match kind {
            BoundaryType::Displacement => Self::Displacement,
            BoundaryType::Velocity => Self::Velocity,
            BoundaryType::Acceleration => Self::Acceleration,
        }
    }
}

impl From<Quantity> for crate::dynamics::FieldQuantity {
    fn from(quantity: Quantity) -> Self {
        match quantity {
            Quantity::Displacement => Self::Displacement,
            Quantity::Velocity => Self::Velocity,
            Quantity::Acceleration => Self::Acceleration,
            Quantity::Stress => Self::Stress,
            Quantity::Strain => Self::Strain,
            Quantity::EnergyDensity => Self::EnergyDensity,
        }
    }
}

#[cfg(test)]
mod tests;
