//! Material laws: from the value of a voxel to Young's modulus.

use crate::words::Choice;

/// From the value of a voxel to Young's modulus.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct MaterialLaw {
    /// What the law takes for the value q of a voxel.
    pub quantity: Quantity,
    /// Slope and intercept from native values to density or Hounsfield units, instead of the header's.
    pub calibration: Option<[f64; 2]>,
    pub law: Law,
}

/// Laws from q to a modulus.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum Law {
    /// A voxel gets the class of the highest value that q reaches, and is void below the first. Values rise.
    Threshold(Vec<Class>),
    /// A voxel gets the class of its label.
    Labels {
        labels: Vec<Class>,
        /// Labels that are not listed are void, not an error.
        others_are_void: bool,
    },
    Formula(Formula),
    /// The image holds moduli, of which 0 means void.
    Modulus {
        /// Factor from the image's moduli to the model's unit.
        scale: f64,
        /// Number of moduli that they are rounded to, 1 to 255; a modulus a voxel when absent.
        classes: Option<usize>,
    },
}

/// A class of voxels.
#[derive(Debug, Clone, PartialEq)]
pub struct Class {
    /// Least value, or label.
    pub value: f64,
    /// Name of the material.
    pub name: String,
    /// Young's modulus; 0 is void.
    pub young: f64,
}

/// E as a function of q. Voxels with q below `threshold` are void, and so are those whose E is not above 0.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs)]
pub struct Formula {
    pub curve: Curve,
    pub threshold: Option<f64>,
    /// Least modulus of a solid voxel.
    pub minimum: Option<f64>,
    pub maximum: Option<f64>,
    /// Number of moduli that the law is rounded to, 1 to 255; a modulus a voxel when absent.
    pub classes: Option<usize>,
}

/// Curves of [`Formula`].
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs)]
pub enum Curve {
    /// E = slope q + intercept.
    Linear { slope: f64, intercept: f64 },
    /// E = factor (q / reference)^exponent.
    Power { factor: f64, exponent: f64, reference: f64 },
}

/// How the value of a voxel is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Quantity {
    /// As it is stored (a NIfTI file's `scl_slope` and `scl_inter` applied).
    #[default]
    Native,
    /// Density (mgHA/cm³ for Scanco files) by the calibration of the header or of the job.
    Density,
    /// Linear attenuation coefficient µ, 1/cm: stored value over the header's `mu_scaling`.
    Attenuation,
    /// Hounsfield units by the header's µ of water or by the calibration of the job.
    Hounsfield,
}

impl Choice for Quantity {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("native", Self::Native),
        ("density", Self::Density),
        ("attenuation", Self::Attenuation),
        ("hounsfield", Self::Hounsfield),
    ];
}

impl MaterialLaw {
    /// As a job writes it.
    pub fn name(&self) -> &'static str {
        match &self.law {
            Law::Threshold(_) => "threshold",
            Law::Labels { .. } => "labels",
            Law::Formula(Formula { curve: Curve::Linear { .. }, .. }) => "linear",
            Law::Formula(Formula { curve: Curve::Power { .. }, .. }) => "power",
            Law::Modulus { .. } => "modulus",
        }
    }

    /// Whether the law gives classes by itself.
    pub(super) fn is_table(&self) -> bool {
        matches!(self.law, Law::Threshold(_) | Law::Labels { .. })
    }

    /// Number of moduli that the law is rounded to.
    pub(super) fn classes(&self) -> Option<usize> {
        match self.law {
            Law::Formula(Formula { classes, .. }) | Law::Modulus { classes, .. } => classes,
            _ => None,
        }
    }
}
