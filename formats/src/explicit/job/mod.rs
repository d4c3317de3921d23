//! TOML jobs of explicit dynamics.
//!
//! A job adds to a deck, or takes the place of what the deck says: materials and sections for a bare mesh, tone bursts,
//! sources and monitor points by coordinates, absorbing layers, the length of the run. `examples/job-reference.toml` shows
//! every table and key. Quantities are in SI units (or in any other consistent set, the same as the deck's); angles are in
//! degrees. A material or an amplitude that the deck has too is replaced by the job's.

mod absorbing;
mod crack;
mod grains;
mod material;
mod relaxation;
mod section;
mod shot;
mod transducer;

use serde::Deserialize;

pub use absorbing::{Absorbing, Profile};
pub use crack::{Crack, CrackShape};
pub use grains::{Grains, Numbered, Orientation};
pub use material::{AttenuationTable, Material};
pub use relaxation::Relaxation;
pub use section::{Plane, Section};
pub use shot::Shot;
pub use transducer::{Apodisation, DelayLaw, Receive, Transducer};

use crate::dynamics::{FieldQuantity, OutputInterval, Start};
use crate::explicit::Lumping;
use crate::job::check::{each, one, positive, unique};
use crate::job::{Dynamics, IncrementValue, JobError, JobFile, Located, Tables, table};
use crate::words::{Choice, Word};

/// A checked job of explicit dynamics.
#[derive(Debug, Clone, PartialEq, Default)]
#[allow(missing_docs)]
pub struct ExplicitJob {
    /// Takes the place of the deck's heading.
    pub title: Option<String>,
    pub solver: Option<Located<Solver>>,
    pub materials: Vec<Located<Material>>,
    pub relaxation: Option<Located<Relaxation>>,
    /// Where two sections cover the same element, the later wins.
    pub sections: Vec<Located<Section>>,
    /// After the sections.
    pub grains: Vec<Located<Grains>>,
    /// Amplitudes, sources, boundaries, initial velocities and monitors.
    pub dynamics: Dynamics,
    pub fields: Vec<Located<Field>>,
    pub absorbing: Vec<Located<Absorbing>>,
    /// Opened one after the other, before anything else that needs the mesh.
    pub cracks: Vec<Located<Crack>>,
    pub transducers: Vec<Located<Transducer>>,
    pub shots: Vec<Located<Shot>>,
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
    pub lumping: Option<Word<Lumping>>,
    /// How forces that are not 0 at t = 0 begin: `"second-order"` (default), or `"first-order"`, as P. Huthwaite's Pogo does.
    pub start: Option<Word<Start>>,
}

impl Choice for Start {
    const WORDS: &'static [(&'static str, Self)] =
        &[("second-order", Self::SecondOrder), ("first-order", Self::FirstOrder)];
}

impl Choice for Lumping {
    const WORDS: &'static [(&'static str, Self)] =
        &[("row-sum", Self::RowSum), ("hrz", Self::Hrz), ("equal", Self::Equal)];
}

table! { [timing]
/// `[[field]]`: snapshots of the whole mesh. When: one of `every`, `interval`, `count`.
pub struct Field {
    /// By name or as Abaqus abbreviates them.
    pub quantities: Vec<Word<FieldQuantity>>,
}
}

impl Field {
    /// When the snapshots are written.
    ///
    /// # Errors
    /// A message when no key or more than one says when, or with an impossible value.
    pub fn when(&self) -> Result<OutputInterval, String> {
        self.timing()?.ok_or_else(|| "give one of `every`, `interval`, `count`".to_owned())
    }
}

impl JobFile for ExplicitJob {
    const KEYS: &'static [&'static str] = &[
        "physics",
        "title",
        "solver",
        "material",
        "relaxation",
        "section",
        "grains",
        "amplitude",
        "source",
        "boundary",
        "initial_velocity",
        "monitor",
        "field",
        "absorbing",
        "crack",
        "transducer",
        "shot",
    ];

    fn from_tables(tables: &mut Tables<'_>) -> Result<Self, JobError> {
        let mut grains: Vec<Located<Grains>> = tables.get_all("grains")?;
        for Located { place, value } in &mut grains {
            value.load(&place.folder).map_err(|text| place.error(text))?;
        }
        let mut transducers: Vec<Located<Transducer>> = tables.get_all("transducer")?;
        for Located { place, value } in &mut transducers {
            crate::job::load(place, &mut value.amplitude)?;
        }
        Ok(Self {
            grains,
            transducers,
            title: tables.get("title")?.map(|title| title.value),
            solver: tables.get("solver")?,
            materials: tables.get_all("material")?,
            relaxation: tables.get("relaxation")?,
            sections: tables.get_all("section")?,
            dynamics: Dynamics::from_tables(tables)?,
            fields: tables.get_all("field")?,
            absorbing: tables.get_all("absorbing")?,
            cracks: tables.get_all("crack")?,
            shots: tables.get_all("shot")?,
        })
    }

    fn check(&self) -> Result<(), JobError> {
        self.solver.as_ref().map_or(Ok(()), |solver| one(solver, Solver::check))?;
        each(&self.materials, |material| {
            material.elasticity()?;
            material.attenuation().map(|_| ())
        })?;
        self.relaxation.as_ref().map_or(Ok(()), |relaxation| one(relaxation, |value| value.setting().check()))?;
        each(&self.sections, Section::check)?;
        each(&self.grains, Grains::check)?;
        self.dynamics.check()?;
        each(&self.fields, |field| {
            if field.quantities.is_empty() {
                return Err("`quantities` is empty".to_owned());
            }
            field.when().map(|_| ())
        })?;
        each(&self.absorbing, Absorbing::check)?;
        each(&self.cracks, Crack::check)?;
        each(&self.transducers, Transducer::check)?;
        each(&self.shots, Shot::check)?;
        unique("material", &self.materials, |item| Some(&item.name))?;
        unique("absorbing", &self.absorbing, |item| item.name.as_deref())?;
        unique("crack", &self.cracks, |item| item.name.as_deref())?;
        unique("transducer", &self.transducers, |item| item.name.as_deref())?;
        unique("shot", &self.shots, |item| item.name.as_deref())
    }
}

impl Solver {
    fn check(&self) -> Result<(), String> {
        positive("time", self.time)?;
        IncrementValue::check(self.increment, self.increment_factor)
    }
}

#[cfg(test)]
mod tests;
