//! A material law, ready to be applied to stored values.

use super::law::{Class, Curve, Formula, Law, MaterialLaw, Quantity};
use super::sample::SampleType;
use super::{Header, ScancoCalibration};

/// In place of the class of a value that the law gives no class or modulus.
pub(super) const BAD: u16 = 0x100;

/// From stored values to classes or moduli.
pub(super) struct Rule<'a> {
    law: &'a Law,
    /// Whether the law gives classes by itself.
    pub(super) is_table: bool,
    /// q = slope × stored value + intercept.
    slope: f64,
    intercept: f64,
    /// How far a value of single precision, or made by a header's slope, may be from a label, for one of its size.
    rounding: f64,
    /// Thresholds, or labels in rising order, and the class of each.
    table: Vec<(f64, u8)>,
    /// Names and moduli of classes 1, 2, …, of laws that are tables.
    pub(super) materials: Vec<(String, f64)>,
}

impl<'a> Rule<'a> {
    /// The law for the values of a stack. Fails where the stack lacks the calibration that the law asks for.
    pub(super) fn new(law: &'a MaterialLaw, header: &Header) -> Result<Self, String> {
        let [a, b] = header.rescale.unwrap_or([1.0, 0.0]);
        let [c, d] = quantity(law, &header.calibration)?;
        let is_exact = header.rescale.is_none() && header.sample != SampleType::Float32;
        let mut rule = Self {
            law: &law.law,
            is_table: law.is_table(),
            slope: a * c,
            intercept: b * c + d,
            rounding: if is_exact { 0.0 } else { f64::from(f32::EPSILON) },
            table: Vec::new(),
            materials: Vec::new(),
        };
        if let Law::Threshold(classes) | Law::Labels { labels: classes, .. } = &law.law {
            for Class { value, name, young } in classes {
                let class = if *young > 0.0 {
                    rule.materials.push((name.clone(), *young));
                    rule.materials.len() as u8
                } else {
                    0
                };
                rule.table.push((*value, class));
            }
            rule.table.sort_by(|a, b| a.0.total_cmp(&b.0));
        }
        Ok(rule)
    }

    /// Class of a stored value by a law that is a table: 0 is void, [`BAD`] a label that is not
    /// listed, or a value that is infinite or no number.
    pub(super) fn class(&self, stored: f64) -> u16 {
        let q = self.slope * stored + self.intercept;
        if !q.is_finite() {
            return BAD;
        }
        match self.law {
            Law::Threshold(_) => match self.table.iter().rposition(|&(threshold, _)| q >= threshold) {
                Some(at) => u16::from(self.table[at].1),
                None => 0,
            },
            _ => {
                let reach = (self.rounding * ((self.slope * stored).abs() + self.intercept.abs())).min(f64::MAX);
                let is_it = |label: f64| (q - label).abs() <= reach;
                let above = self.table.partition_point(|&(label, _)| label < q);
                let near = self.table[above.saturating_sub(1)..].iter().take(2).find(|&&(label, _)| is_it(label));
                match near {
                    Some(&(_, class)) => u16::from(class),
                    None if is_it(0.0) || matches!(self.law, Law::Labels { others_are_void: true, .. }) => 0,
                    None => BAD,
                }
            }
        }
    }

    /// Modulus of a stored value by a law that is no table: 0 is void, NaN a value that cannot be.
    pub(super) fn modulus(&self, stored: f64) -> f32 {
        let q = self.slope * stored + self.intercept;
        match self.law {
            Law::Formula(formula) => formula.modulus(q),
            Law::Modulus { scale, .. } => {
                let young = q * scale;
                if young >= 0.0 && young <= f64::from(f32::MAX) { young as f32 } else { f32::NAN }
            }
            Law::Threshold(_) | Law::Labels { .. } => f32::NAN,
        }
    }

    /// The error for a value that the law gives no class or modulus.
    pub(super) fn complain(&self, stored: f64) -> String {
        let q = self.slope * stored + self.intercept;
        match self.law {
            _ if !q.is_finite() => format!("has the value {q}: mend the image first"),
            Law::Labels { .. } => {
                format!("has label {q}, which `labels` does not list: list it, or set other = \"void\"")
            }
            Law::Modulus { .. } => format!("has the modulus {q}: moduli must be 0 (void) or more"),
            _ => format!("has the value {stored}, which the law has no modulus for"),
        }
    }
}

impl Formula {
    /// Modulus for the value q of a voxel: 0 is void, NaN stands for a value that cannot be.
    fn modulus(&self, q: f64) -> f32 {
        let young = match self.curve {
            Curve::Linear { slope, intercept } => slope * q + intercept,
            Curve::Power { .. } if q <= 0.0 => 0.0,
            Curve::Power { factor, exponent, reference } => factor * (q / reference).powf(exponent),
        };
        // Without a maximum an overflow is no modulus.
        let most = f64::from(f32::MAX);
        if !q.is_finite() || young.is_nan() || (young > most && self.maximum.is_none()) {
            return f32::NAN;
        }
        if self.threshold.is_some_and(|threshold| q < threshold)
            || (young <= 0.0 && (self.threshold.is_none() || self.minimum.is_none()))
        {
            return 0.0;
        }
        let young = young.max(self.minimum.unwrap_or(0.0)).min(self.maximum.unwrap_or(most).min(most));
        (young as f32).max(if young > 0.0 { f32::MIN_POSITIVE } else { 0.0 })
    }
}

/// Slope and intercept from native values to what the law is about.
fn quantity(law: &MaterialLaw, header: &ScancoCalibration) -> Result<[f64; 2], String> {
    if let Some(given) = law.calibration {
        return Ok(given);
    }
    let needs =
        |what: &str| format!("the stack's header has no {what}: give `calibration = {{ slope = …, intercept = … }}`");
    let scaling = || header.mu_scaling.ok_or_else(|| needs("Mu_Scaling"));
    match law.quantity {
        Quantity::Native => Ok([1.0, 0.0]),
        Quantity::Attenuation => Ok([1.0 / scaling()?, 0.0]),
        Quantity::Density => {
            let slope = header.density_slope.ok_or_else(|| needs("density calibration"))?;
            Ok([slope / scaling()?, header.density_intercept.unwrap_or(0.0)])
        }
        Quantity::Hounsfield => {
            let water = header.mu_water.ok_or_else(|| needs("µ of water for Hounsfield units"))?;
            Ok([1000.0 / (scaling()? * water), -1000.0])
        }
    }
}

/// Moduli rounded to classes: listed one by one, or the middles of equal intervals.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Rounding {
    /// Every modulus that occurs, rising.
    Exact(Vec<f32>),
    /// So many intervals between the least and the greatest.
    Intervals { least: f32, greatest: f32, n: usize },
}

impl Rounding {
    /// Class of a modulus: 0 for void, [`BAD`] for NaN.
    pub(super) fn class(&self, modulus: f32) -> u16 {
        if modulus == 0.0 {
            return 0;
        }
        if modulus.is_nan() {
            return BAD;
        }
        match self {
            Self::Exact(moduli) => moduli.binary_search_by(|m| m.total_cmp(&modulus)).map_or(BAD, |at| at as u16 + 1),
            Self::Intervals { least, greatest, n } => {
                let width = (greatest - least) / *n as f32;
                let at = if width > 0.0 { ((modulus - least) / width) as usize } else { 0 };
                at.min(n - 1) as u16 + 1
            }
        }
    }

    /// Names and moduli of classes 1, 2, ….
    pub(super) fn materials(&self) -> Vec<(String, f64)> {
        let moduli: Vec<f64> = match self {
            Self::Exact(moduli) => moduli.iter().map(|&m| f64::from(m)).collect(),
            Self::Intervals { least, greatest, n } => {
                let (least, greatest) = (f64::from(*least), f64::from(*greatest));
                (0..*n).map(|i| least + (greatest - least) * (i as f64 + 0.5) / *n as f64).collect()
            }
        };
        moduli.into_iter().enumerate().map(|(i, m)| (format!("MATERIAL-{}", i + 1), m)).collect()
    }
}
