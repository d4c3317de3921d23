//! `[material]`: what grey values mean.

use serde::Deserialize;

use crate::job::List;
use crate::job::check::in_range;
use crate::parameters::Range;
use crate::read::image::{Class, Curve, Formula, Law, MaterialLaw, Quantity};
use crate::words::{Choice, Word};

/// `[material]`: from the value of a voxel to Young's modulus.
///
/// | law | keys |
/// |---|---|
/// | `threshold` | `threshold` (one or several, rising), `young` (as many): a voxel gets the modulus of the highest threshold that its value reaches, and is void below the first; `poisson` may be as many, too |
/// | `labels` | `labels`, a list of `{ value, young, poisson, name }`; `other` says what of labels that are not listed |
/// | `linear` | E = `slope` q + `intercept` |
/// | `power` | E = `factor` (q / `reference`)^`exponent` |
/// | `modulus` | the image holds E, 0 meaning void; times `scale` |
///
/// q is the value of a voxel, read as `quantity` says. For `linear` and `power`, voxels with q below `threshold` are void,
/// and so are those whose E is not above 0; E is held between `minimum` and `maximum`, and `classes` rounds it to so many
/// moduli (1 B a voxel instead of 4). A modulus of 0 in a table means void.
#[derive(Deserialize, Debug, Clone, PartialEq)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct Material {
    pub law: Word<LawName>,
    /// Poisson's ratio ν in (-1, 0.5): of every voxel, or one for each threshold. With `labels`, of those without their own;
    /// it may be absent where all have one.
    pub poisson: Option<List<f64>>,
    /// What q is: `"native"` (default), `"density"`, `"attenuation"` or `"hounsfield"`.
    #[serde(default)]
    pub quantity: Word<Quantity>,
    /// Values at which solid begins.
    pub threshold: Option<List<f64>>,
    /// Young's moduli, one for each threshold.
    pub young: Option<List<f64>>,
    /// Names of the materials, one for each threshold; `MATERIAL-1` and so on when absent.
    pub name: Option<List<String>>,
    /// What each label is.
    #[serde(default)]
    pub labels: Vec<Label>,
    /// What labels that are not listed are: `"error"` (default; 0 is void all the same) or `"void"`.
    pub other: Option<Word<OtherLabels>>,
    /// Slope of the linear law.
    pub slope: Option<f64>,
    /// Intercept of the linear law; 0 when absent.
    pub intercept: Option<f64>,
    /// Factor of the power law: E where q is `reference`.
    pub factor: Option<f64>,
    /// Exponent of the power law.
    pub exponent: Option<f64>,
    /// Density that the power law divides by; 1 when absent.
    pub reference: Option<f64>,
    /// Least modulus of a solid voxel.
    pub minimum: Option<f64>,
    pub maximum: Option<f64>,
    /// Number of moduli that a law is rounded to, 1 to 255; a modulus a voxel when absent.
    pub classes: Option<usize>,
    /// Factor from the image's moduli to the job's unit; 1 when absent.
    pub scale: Option<f64>,
    /// From stored values to density or Hounsfield units, instead of the header's.
    pub calibration: Option<Calibration>,
}

/// Laws of [`Material`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum LawName {
    Threshold,
    Labels,
    Linear,
    Power,
    Modulus,
}

impl Choice for LawName {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("threshold", Self::Threshold),
        ("labels", Self::Labels),
        ("linear", Self::Linear),
        ("power", Self::Power),
        ("modulus", Self::Modulus),
    ];
}

/// quantity = slope × stored value + intercept.
#[derive(Deserialize, Debug, Clone, Copy, PartialEq)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct Calibration {
    pub slope: f64,
    /// Intercept; 0 when absent.
    #[serde(default)]
    pub intercept: f64,
}

/// A label of an image and what it is made of.
#[derive(Deserialize, Debug, Clone, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Label {
    /// Value of the voxels; `label` in a job means the same.
    #[serde(alias = "label")]
    pub value: f64,
    /// Young's modulus; 0 is void.
    pub young: f64,
    /// Poisson's ratio; that of the table when absent.
    pub poisson: Option<f64>,
    /// Name of the material; `LABEL-` and the value when absent.
    pub name: Option<String>,
}

impl Label {
    /// Name of its material.
    fn material_name(&self) -> String {
        self.name.clone().unwrap_or_else(|| format!("LABEL-{}", self.value))
    }
}

/// What labels that are not listed are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum OtherLabels {
    /// An error that names them; 0 is void all the same.
    Error,
    Void,
}

impl Choice for OtherLabels {
    const WORDS: &'static [(&'static str, Self)] = &[("error", Self::Error), ("void", Self::Void)];
}

impl Material {
    /// The law of a table that has been checked.
    pub(super) fn law(&self) -> MaterialLaw {
        let formula = |curve| {
            let threshold = self.threshold.as_ref().and_then(|list| list.0.first().copied());
            let Self { minimum, maximum, classes, .. } = *self;
            Law::Formula(Formula { curve, threshold, minimum, maximum, classes })
        };
        let law = match self.law.0 {
            LawName::Threshold => Law::Threshold(self.thresholds()),
            LawName::Labels => {
                let class =
                    |label: &Label| Class { value: label.value, name: label.material_name(), young: label.young };
                let others_are_void = self.other == Some(Word(OtherLabels::Void));
                Law::Labels { labels: self.labels.iter().map(class).collect(), others_are_void }
            }
            LawName::Linear => {
                let (slope, intercept) = (self.slope.unwrap_or(0.0), self.intercept.unwrap_or(0.0));
                formula(Curve::Linear { slope, intercept })
            }
            LawName::Power => formula(Curve::Power {
                factor: self.factor.unwrap_or(0.0),
                exponent: self.exponent.unwrap_or(1.0),
                reference: self.reference.unwrap_or(1.0),
            }),
            LawName::Modulus => Law::Modulus { scale: self.scale.unwrap_or(1.0), classes: self.classes },
        };
        let calibration = self.calibration.map(|given| [given.slope, given.intercept]);
        MaterialLaw { quantity: self.quantity.0, calibration, law }
    }

    fn thresholds(&self) -> Vec<Class> {
        let (Some(List(values)), Some(List(young))) = (&self.threshold, &self.young) else { return Vec::new() };
        let classes = values.iter().zip(young).enumerate();
        classes.map(|(at, (&value, &young))| Class { value, name: self.threshold_name(at), young }).collect()
    }

    /// Name of the material of a threshold.
    fn threshold_name(&self, at: usize) -> String {
        match &self.name {
            Some(List(names)) => names[at].clone(),
            None => format!("MATERIAL-{}", at + 1),
        }
    }

    /// Poisson's ratio of all voxels but those of materials with their own.
    pub fn model_poisson(&self) -> f64 {
        let of_label = || self.labels.iter().find_map(|label| label.poisson);
        self.poisson.as_ref().and_then(|list| list.0.first().copied()).or_else(of_label).unwrap_or_default()
    }

    /// Poisson's ratio of the material `name` of this table, if it has its own.
    pub fn poisson_of(&self, name: &str) -> Option<f64> {
        let ratios = self.poisson.as_ref().map_or(&[][..], |list| &list.0[..]);
        match self.law.0 {
            LawName::Labels => self.labels.iter().find(|label| label.material_name() == name)?.poisson,
            LawName::Threshold if ratios.len() > 1 => {
                (0..ratios.len()).find(|&at| self.threshold_name(at) == name).map(|at| ratios[at])
            }
            _ => None,
        }
    }

    /// What can be checked without the stack.
    pub(super) fn check(&self) -> Result<(), String> {
        self.check_keys()?;
        self.check_poisson()?;
        match self.law.0 {
            LawName::Threshold => self.check_thresholds()?,
            LawName::Labels => self.check_labels()?,
            LawName::Linear => {
                self.slope.ok_or("law \"linear\" needs `slope` (and `intercept`): E = slope q + intercept")?;
            }
            LawName::Power => {
                let factor = self.factor.ok_or("law \"power\" needs `factor`: E = factor (q / reference)^exponent")?;
                self.exponent.ok_or("law \"power\" needs `exponent`: E = factor (q / reference)^exponent")?;
                if !(factor > 0.0 && self.reference.unwrap_or(1.0) > 0.0) {
                    return Err("`factor` and `reference` must be above 0".to_owned());
                }
            }
            LawName::Modulus => in_range("scale", self.scale, Range::Positive)?,
        }
        if matches!(self.law.0, LawName::Linear | LawName::Power)
            && self.threshold.as_ref().is_some_and(|t| t.0.len() != 1)
        {
            return Err("this law takes one `threshold`, below which voxels are void".to_owned());
        }
        in_range("minimum", self.minimum, Range::Positive)?;
        if self.maximum.is_some_and(|maximum| maximum <= self.minimum.unwrap_or(0.0)) {
            return Err("`maximum` must be above 0 and above `minimum`".to_owned());
        }
        if self.classes.is_some_and(|classes| !(1..=255).contains(&classes)) {
            return Err("`classes` must be 1 to 255".to_owned());
        }
        if self.calibration.is_some() && matches!(self.quantity.0, Quantity::Native | Quantity::Attenuation) {
            return Err(
                "`calibration` gives density or Hounsfield units: set quantity = \"density\" or \"hounsfield\""
                    .to_owned(),
            );
        }
        if self.calibration.is_some_and(|calibration| calibration.slope == 0.0) {
            return Err("`slope` of the calibration must not be 0".to_owned());
        }
        Ok(())
    }

    fn check_poisson(&self) -> Result<(), String> {
        let ratios = self.poisson.as_ref().map_or(&[][..], |list| &list.0[..]);
        let of_labels = self.labels.iter().filter_map(|label| label.poisson);
        ratios
            .iter()
            .copied()
            .chain(of_labels)
            .try_for_each(|ratio| in_range("poisson", Some(ratio), Range::Poisson))?;
        let n_thresholds = self.threshold.as_ref().map_or(0, |list| list.0.len());
        let all_labels = !self.labels.is_empty() && self.labels.iter().all(|label| label.poisson.is_some());
        match ratios.len() {
            1 => Ok(()),
            0 if self.poisson.is_none() && all_labels => Ok(()),
            0 => Err("`poisson` is missing: Poisson's ratio of all voxels, such as 0.3".to_owned()),
            n if self.law.0 == LawName::Threshold && n == n_thresholds => Ok(()),
            _ if self.law.0 == LawName::Threshold => {
                Err("`poisson` must be one number, or as many as there are thresholds".to_owned())
            }
            _ => Err("`poisson` must be one number; materials with their own need law = \"labels\" or \"threshold\""
                .to_owned()),
        }
    }

    /// A key that the chosen law does not look at is a mistake.
    fn check_keys(&self) -> Result<(), String> {
        use LawName::*;
        let keys: [(&str, bool, &[LawName]); 14] = [
            ("threshold", self.threshold.is_some(), &[Threshold, Linear, Power]),
            ("young", self.young.is_some(), &[Threshold]),
            ("name", self.name.is_some(), &[Threshold]),
            ("labels", !self.labels.is_empty(), &[Labels]),
            ("other", self.other.is_some(), &[Labels]),
            ("slope", self.slope.is_some(), &[Linear]),
            ("intercept", self.intercept.is_some(), &[Linear]),
            ("factor", self.factor.is_some(), &[Power]),
            ("exponent", self.exponent.is_some(), &[Power]),
            ("reference", self.reference.is_some(), &[Power]),
            ("minimum", self.minimum.is_some(), &[Linear, Power]),
            ("maximum", self.maximum.is_some(), &[Linear, Power]),
            ("classes", self.classes.is_some(), &[Linear, Power, Modulus]),
            ("scale", self.scale.is_some(), &[Modulus]),
        ];
        match keys.iter().find(|(_, given, laws)| *given && !laws.contains(&self.law.0)) {
            Some((key, _, _)) => Err(format!("`{key}` has no meaning for law \"{}\": leave it out", self.law.0.word())),
            None if self.quantity.0 != Quantity::Native && matches!(self.law.0, Labels | Modulus) => {
                Err(format!("`quantity` has no meaning for law \"{}\": leave it out", self.law.0.word()))
            }
            None => Ok(()),
        }
    }

    fn check_thresholds(&self) -> Result<(), String> {
        let thresholds = self.threshold.as_ref().map_or(&[][..], |list| &list.0[..]);
        let young = self.young.as_ref().map_or(&[][..], |list| &list.0[..]);
        if thresholds.is_empty() || young.len() != thresholds.len() {
            return Err(
                "law \"threshold\" needs `threshold` and `young`, as many of the one as of the other".to_owned()
            );
        }
        if thresholds.len() > 255 {
            return Err("at most 255 thresholds".to_owned());
        }
        if !thresholds.windows(2).all(|pair| pair[0] < pair[1]) {
            return Err("several values of `threshold` must rise".to_owned());
        }
        if young.iter().any(|&young| young < 0.0) || young.iter().all(|&young| young == 0.0) {
            return Err("`young` must be above 0 (0 makes a range void, but not all of them)".to_owned());
        }
        if let Some(names) = &self.name {
            let names = &names.0;
            if names.len() != thresholds.len() {
                return Err("`name` needs as many names as there are thresholds".to_owned());
            }
            check_names(names)?;
        }
        Ok(())
    }

    fn check_labels(&self) -> Result<(), String> {
        if self.labels.is_empty() {
            return Err("law \"labels\" needs `labels`, a list of { value = …, young = …, name = \"…\" }".to_owned());
        }
        if self.labels.iter().any(|label| label.young < 0.0) || self.labels.iter().all(|label| label.young == 0.0) {
            return Err("`young` of a label must be above 0 (0 is void, but not for all of them)".to_owned());
        }
        if self.labels.iter().filter(|label| label.young > 0.0).count() > 255 {
            return Err("at most 255 labels that are not void".to_owned());
        }
        for (i, label) in self.labels.iter().enumerate() {
            if self.labels[..i].iter().any(|other| other.value == label.value) {
                return Err(format!("label {} is listed twice", label.value));
            }
        }
        check_names(&self.labels.iter().map(Label::material_name).collect::<Vec<_>>())
    }
}

/// Names must differ, so that a material can be changed by its name.
fn check_names(names: &[String]) -> Result<(), String> {
    let mut seen = Vec::new();
    for name in names {
        if name.trim().is_empty() {
            return Err("a material's name is empty".to_owned());
        }
        let upper = name.to_uppercase();
        if seen.contains(&upper) {
            return Err(format!("two materials are called \"{name}\""));
        }
        seen.push(upper);
    }
    Ok(())
}
