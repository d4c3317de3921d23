//! TOML jobs of mass-spring-damper models: `physics = "spring"`.
//!
//! What is loaded, held, driven, started and traced is said by the tables of [`Job`] with the same keys and the same rules;
//! masses and springs, gravity, cuts and changes of topology by tables of their own. Quantities are in any consistent set of
//! units. `examples/spring-job-reference.toml` shows every table and key. A key that does not exist is an error.

mod change;
mod material;

use std::path::Path;

use serde::Deserialize;
use toml::Spanned;

pub use change::{Add, CutTable, Erase, FieldTable, GravityTable, PositionsName};
pub use material::{MaterialTable, PerGroup, SpringsTable};

use crate::dynamics::Increment;
use crate::job::text::JobText;
use crate::job::{
    Amplitude, Boundary, IncrementValue, InitialVelocity, Job, JobError, Located, Monitor, Source, check,
};
use crate::spring::{MAX_MATERIALS, SpringDamping, SpringSettings};
use crate::voxel::job::{Image, Law, List, Material as VoxelMaterial, OtherLabels, Quantity};

/// A checked job of a mass-spring-damper model.
#[derive(Debug, Clone, PartialEq)]
pub struct SpringJob {
    /// `title`, `[[amplitude]]`, `[[source]]`, `[[boundary]]`, `[[initial_velocity]]`, `[[monitor]]`; nothing else.
    pub common: Job,
    /// `[image]`; its defaults at line 1 where the job has none.
    pub image: Located<Image>,
    /// `[solver]`.
    pub solver: Located<Solver>,
    /// `[[material]]`.
    pub materials: Vec<Located<MaterialTable>>,
    /// `[[springs]]`.
    pub springs: Vec<Located<SpringsTable>>,
    /// `[[gravity]]`.
    pub gravity: Vec<Located<GravityTable>>,
    /// `[[cut]]`.
    pub cuts: Vec<Located<CutTable>>,
    /// `[[erase]]`.
    pub erasures: Vec<Located<Erase>>,
    /// `[[add]]`.
    pub additions: Vec<Located<Add>>,
    /// `[[field]]`.
    pub fields: Vec<Located<FieldTable>>,
}

/// `[solver]`.
#[derive(Deserialize, Debug, Clone, PartialEq, Default)]
#[serde(deny_unknown_fields)]
pub struct Solver {
    /// Length of the run, s.
    pub time: Option<f64>,
    /// Time increment in seconds, or `"automatic"` (default): the bound on the stable increment times `increment_factor`.
    pub increment: Option<IncrementValue>,
    /// Safety factor of the automatic increment, in (0, 1]; 0.9 when absent.
    pub increment_factor: Option<f64>,
    /// Damping of all particles, proportional to their mass: α, 1/s, centred.
    pub alpha: Option<f64>,
    /// Instead: λ of eq. (4) of the paper, a number an increment, in [0, 1].
    pub lambda: Option<f64>,
}

/// The file as TOML gives it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    #[serde(rename = "physics")]
    _physics: String,
    title: Option<String>,
    image: Option<Spanned<Image>>,
    solver: Option<Spanned<Solver>>,
    #[serde(default)]
    material: Vec<Spanned<MaterialTable>>,
    #[serde(default)]
    springs: Vec<Spanned<SpringsTable>>,
    #[serde(default)]
    gravity: Vec<Spanned<GravityTable>>,
    #[serde(default)]
    cut: Vec<Spanned<CutTable>>,
    #[serde(default)]
    erase: Vec<Spanned<Erase>>,
    #[serde(default)]
    add: Vec<Spanned<Add>>,
    #[serde(default)]
    field: Vec<Spanned<FieldTable>>,
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
}

impl SpringJob {
    /// Reads and checks one job.
    ///
    /// # Errors
    /// [`JobError`] with the line, for a file that cannot be read, TOML that is malformed, a key that does not exist, and
    /// values that make no sense.
    pub fn read(path: &Path) -> Result<Self, JobError> {
        Self::from_text(&JobText::read(path)?)
    }

    /// Parses and checks a job; `name` is the file as errors show it, amplitude files are looked for in `folder`.
    ///
    /// # Errors
    /// As [`SpringJob::read`].
    pub fn parse(text: &str, name: &str, folder: &Path) -> Result<Self, JobError> {
        Self::from_text(&JobText::new(text, name, folder))
    }

    fn from_text(text: &JobText) -> Result<Self, JobError> {
        let raw: Raw = text.parse()?;
        let mut common = Job {
            title: raw.title,
            amplitudes: text.locate_all(raw.amplitude),
            sources: text.locate_all(raw.source),
            boundaries: text.locate_all(raw.boundary),
            initial_velocities: text.locate_all(raw.initial_velocity),
            monitors: text.locate_all(raw.monitor),
            ..Job::default()
        };
        check::load_files(&mut common, &text.folder)?;
        check::job(&common)?;
        let mut gravity = text.locate_all(raw.gravity);
        for item in &mut gravity {
            check::load_file(item.value.amplitude.as_mut(), &text.folder)
                .map_err(|message| item.place.error(message))?;
        }
        let job = Self {
            common,
            image: text.locate_or_default(raw.image),
            solver: text.locate_or_default(raw.solver),
            materials: text.locate_all(raw.material),
            springs: text.locate_all(raw.springs),
            gravity,
            cuts: text.locate_all(raw.cut),
            erasures: text.locate_all(raw.erase),
            additions: text.locate_all(raw.add),
            fields: text.locate_all(raw.field),
        };
        job.image.value.check().map_err(|message| job.image.place.error(message))?;
        job.solver.value.check().map_err(|message| job.solver.place.error(message))?;
        if job.materials.len() > MAX_MATERIALS {
            return Err(text.place(0).error(format!("at most {MAX_MATERIALS} materials")));
        }
        check::each(&job.materials, MaterialTable::check)?;
        check::each(&job.springs, SpringsTable::check)?;
        check::each(&job.gravity, GravityTable::check)?;
        check::each(&job.cuts, CutTable::check)?;
        check::each(&job.erasures, Erase::check)?;
        check::each(&job.additions, Add::check)?;
        check::each(&job.fields, |field| field.when().map(|_| ()))?;
        check::unique("material", &job.materials, |item| Some(&item.name))?;
        check::unique("springs", &job.springs, |item| Some(&item.name))?;
        check::unique("cut", &job.cuts, |item| item.name.as_deref())?;
        check::unique("erase", &job.erasures, |item| item.name.as_deref())?;
        check::unique("add", &job.additions, |item| item.name.as_deref())?;
        Ok(job)
    }

    /// What grey values mean: each class of the law is named by the index of its material.
    ///
    /// # Errors
    /// No material, materials by labels beside one by a threshold, or several without either.
    pub fn voxel_law(&self) -> Result<Located<VoxelMaterial>, JobError> {
        let Some(first) = self.materials.first().map(|item| &item.place) else {
            let text = "this job has no [[material]] table: say what particles weigh, e.g. mass = 1e-3";
            return Err(self.image.place.error(text));
        };
        let mut law = VoxelMaterial {
            law: Law::Threshold,
            poisson: 0.0,
            quantity: Quantity::Native,
            threshold: None,
            young: None,
            name: None,
            labels: Vec::new(),
            other: OtherLabels::Void,
            slope: None,
            intercept: None,
            factor: None,
            exponent: None,
            reference: None,
            minimum: None,
            maximum: None,
            classes: None,
            scale: None,
            calibration: None,
        };
        let by_label = self.materials.iter().any(|item| item.value.label.is_some());
        let mut thresholds = Vec::new();
        for (index, item) in self.materials.iter().enumerate() {
            let table = &item.value;
            if table.nset.is_some() || table.elset.is_some() {
                return Err(item
                    .place
                    .error("`nset` and `elset` are for decks; of a stack give `label` or `threshold`"));
            }
            match (&table.label, table.threshold) {
                (Some(labels), None) => {
                    for &value in labels.values() {
                        if law.labels.iter().any(|label| label.value == value) {
                            return Err(item.place.error(format!("label {value} is listed twice")));
                        }
                        let name = Some(format!("{index} {value}"));
                        law.labels.push(crate::voxel::job::Label { value, young: 1.0, name });
                    }
                }
                _ if by_label => {
                    return Err(item.place.error("give each material its `label`, or each its `threshold`"));
                }
                (_, Some(threshold)) => thresholds.push((threshold, index)),
                // Whatever is above 0.
                (_, None) if self.materials.len() == 1 => thresholds.push((f64::MIN_POSITIVE, index)),
                _ => {
                    let text = "which voxels? of several materials each needs `label` or `threshold`";
                    return Err(item.place.error(text));
                }
            }
        }
        if by_label {
            law.law = Law::Labels;
        } else {
            if !thresholds.is_sorted_by(|a, b| a.0 < b.0) {
                return Err(first.error("the values of `threshold` must rise from material to material"));
            }
            law.threshold = Some(List::Several(thresholds.iter().map(|(value, _)| *value).collect()));
            law.young = Some(List::Several(vec![1.0; thresholds.len()]));
            law.name = Some(List::Several(thresholds.iter().map(|(_, index)| index.to_string()).collect()));
        }
        Ok(Located { place: first.clone(), value: law })
    }
}

impl Solver {
    fn check(&self) -> Result<(), String> {
        check::positive("time", self.time)?;
        if let Some(IncrementValue::Seconds(increment)) = self.increment {
            check::positive("increment", Some(increment))?;
            if self.increment_factor.is_some() {
                return Err("`increment_factor` goes with `increment = \"automatic\"`".to_owned());
            }
        }
        if self.increment_factor.is_some_and(|factor| !(factor > 0.0 && factor <= 1.0)) {
            return Err("`increment_factor` must lie in (0, 1]".to_owned());
        }
        if self.alpha.is_some() && self.lambda.is_some() {
            return Err("give `alpha` or `lambda`, not both".to_owned());
        }
        if self.alpha.is_some_and(|alpha| alpha < 0.0) {
            return Err("`alpha` must not be negative".to_owned());
        }
        if self.lambda.is_some_and(|lambda| !(0.0..=1.0).contains(&lambda)) {
            return Err("`lambda` must lie between 0 and 1".to_owned());
        }
        Ok(())
    }

    /// The settings; without a time it is 0.
    pub fn settings(&self) -> SpringSettings {
        let default = SpringSettings::default();
        let increment = match (self.increment, self.increment_factor, default.increment) {
            (Some(IncrementValue::Seconds(increment)), _, _) => Increment::Fixed(increment),
            (_, Some(factor), _) => Increment::Automatic { factor },
            (_, None, increment) => increment,
        };
        let damping = match (self.alpha, self.lambda) {
            (_, Some(lambda)) => SpringDamping::Lambda(lambda),
            (alpha, None) => SpringDamping::Alpha(alpha.unwrap_or(0.0)),
        };
        SpringSettings { time: self.time.unwrap_or(default.time), increment, damping }
    }
}

#[cfg(test)]
mod tests;
