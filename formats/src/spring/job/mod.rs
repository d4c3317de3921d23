//! TOML jobs of mass-spring-damper models: `physics = "spring"`.
//!
//! What is loaded, held, driven, started and traced is said by the tables of a job with the same keys and the same rules;
//! masses and springs, gravity, cuts and changes of topology by tables of their own. Quantities are in any consistent set of
//! units. `examples/spring-job-reference.toml` shows every table and key. A key that does not exist is an error.

mod change;
mod material;

use serde::Deserialize;

pub use change::{Add, CutTable, Erase, FieldTable, GravityTable};
pub use material::{MaterialTable, PerGroup, SpringsTable};

use crate::dynamics::Increment;
use crate::job::check::{at_most_one, each, in_range, one, positive, unique};
use crate::job::{Dynamics, Image, IncrementValue, JobError, JobFile, Located, Tables, load};
use crate::parameters::Range;
use crate::read::image::{Class, Law, MaterialLaw, Quantity};
use crate::spring::{MAX_MATERIALS, SpringDamping, SpringSettings};

/// A checked job of a mass-spring-damper model.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct SpringJob {
    pub title: Option<String>,
    /// Amplitudes, sources, boundaries, initial velocities and monitors.
    pub dynamics: Dynamics,
    /// `[image]`; its defaults at line 1 where the job has none.
    pub image: Located<Image>,
    pub solver: Located<Solver>,
    pub materials: Vec<Located<MaterialTable>>,
    pub springs: Vec<Located<SpringsTable>>,
    pub gravity: Vec<Located<GravityTable>>,
    pub cuts: Vec<Located<CutTable>>,
    pub erasures: Vec<Located<Erase>>,
    pub additions: Vec<Located<Add>>,
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

impl JobFile for SpringJob {
    const KEYS: &'static [&'static str] = &[
        "physics",
        "title",
        "image",
        "solver",
        "material",
        "springs",
        "gravity",
        "cut",
        "erase",
        "add",
        "field",
        "amplitude",
        "source",
        "boundary",
        "initial_velocity",
        "monitor",
    ];

    fn from_tables(tables: &mut Tables<'_>) -> Result<Self, JobError> {
        let mut gravity: Vec<Located<GravityTable>> = tables.get_all("gravity")?;
        for item in &mut gravity {
            load(&item.place, &mut item.value.amplitude)?;
        }
        Ok(Self {
            title: tables.get("title")?.map(|title| title.value),
            dynamics: Dynamics::from_tables(tables)?,
            image: tables.get_or_default("image")?,
            solver: tables.get_or_default("solver")?,
            materials: tables.get_all("material")?,
            springs: tables.get_all("springs")?,
            gravity,
            cuts: tables.get_all("cut")?,
            erasures: tables.get_all("erase")?,
            additions: tables.get_all("add")?,
            fields: tables.get_all("field")?,
        })
    }

    fn check(&self) -> Result<(), JobError> {
        self.dynamics.check()?;
        self.dynamics.check_no_fluid()?;
        one(&self.image, Image::check)?;
        one(&self.solver, Solver::check)?;
        if let Some(item) = self.materials.get(MAX_MATERIALS) {
            return Err(item.place.error(format!("at most {MAX_MATERIALS} materials")));
        }
        each(&self.materials, MaterialTable::check)?;
        each(&self.springs, SpringsTable::check)?;
        each(&self.cuts, CutTable::check)?;
        each(&self.erasures, Erase::check)?;
        each(&self.additions, Add::check)?;
        each(&self.fields, |field| field.when().map(|_| ()))?;
        unique("material", &self.materials, |item| Some(&item.name))?;
        unique("springs", &self.springs, |item| Some(&item.name))?;
        unique("cut", &self.cuts, |item| item.name.as_deref())?;
        unique("erase", &self.erasures, |item| item.name.as_deref())?;
        unique("add", &self.additions, |item| item.name.as_deref())
    }
}

impl SpringJob {
    /// What grey values mean: each class of the law is named by the index of its material.
    ///
    /// # Errors
    /// No material, materials by labels beside one by a threshold, or several without either.
    pub fn voxel_law(&self) -> Result<Located<MaterialLaw>, JobError> {
        let Some(first) = self.materials.first().map(|item| &item.place) else {
            let text = "this job has no [[material]] table: say what particles weigh, e.g. mass = 1e-3";
            return Err(self.image.place.error(text));
        };
        let by_label = self.materials.iter().any(|item| item.value.label.is_some());
        let mut classes: Vec<Class> = Vec::new();
        for (index, item) in self.materials.iter().enumerate() {
            let table = &item.value;
            if table.nset.is_some() || table.elset.is_some() {
                let text = "`nset` and `elset` are for decks; of a stack give `label` or `threshold`";
                return Err(item.place.error(text));
            }
            match (&table.label, table.threshold) {
                (Some(labels), None) => {
                    for &value in &labels.0 {
                        if classes.iter().any(|class| class.value == value) {
                            return Err(item.place.error(format!("label {value} is listed twice")));
                        }
                        classes.push(Class { value, young: 1.0, name: format!("{index} {value}") });
                    }
                }
                _ if by_label => {
                    return Err(item.place.error("give each material its `label`, or each its `threshold`"));
                }
                (_, Some(value)) => classes.push(Class { value, young: 1.0, name: index.to_string() }),
                // Whatever is above 0.
                (_, None) if self.materials.len() == 1 => {
                    classes.push(Class { value: f64::MIN_POSITIVE, young: 1.0, name: index.to_string() });
                }
                _ => {
                    let text = "which voxels? of several materials each needs `label` or `threshold`";
                    return Err(item.place.error(text));
                }
            }
        }
        if !by_label && !classes.is_sorted_by(|a, b| a.value < b.value) {
            return Err(first.error("the values of `threshold` must rise from material to material"));
        }
        let law =
            if by_label { Law::Labels { labels: classes, others_are_void: true } } else { Law::Threshold(classes) };
        let value = MaterialLaw { quantity: Quantity::Native, calibration: None, law };
        Ok(Located { place: first.clone(), value })
    }
}

impl Solver {
    fn check(&self) -> Result<(), String> {
        positive("time", self.time)?;
        IncrementValue::check(self.increment, self.increment_factor)?;
        at_most_one([("alpha", self.alpha), ("lambda", self.lambda)])?;
        in_range("alpha", self.alpha, Range::NotNegative)?;
        in_range("lambda", self.lambda, Range::Unit)
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
