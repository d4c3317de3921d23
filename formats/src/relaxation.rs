//! Relaxation mechanisms that give materials a quality factor over a band of frequencies.
//!
//! ```text
//! M(ω) = M_U (1 − Σ_l Y_l ω_l/(ω_l + iω)),   1/Q = Im M / Re M
//! ```
//!
//! (Emmerich and Korn, Geophysics 52, 1987). The ω_l are logarithmically spaced over the band. Multiplied out, 1/Q is linear in
//! the Y_l, which a least-squares fit without negative values gives at logarithmically spaced frequencies.

// rkyv's derive writes undocumented twins of enum variants with named fields.
#![allow(missing_docs)]

use std::f64::consts::{LOG10_E, PI, TAU};

use rkyv::{Archive, Deserialize, Serialize};

use crate::material::Material;

/// Mechanisms that a model can have.
pub const MOST_MECHANISMS: usize = 3;
/// Largest part of Q by which a fit may miss its target, and above which it is worth a warning.
pub const MOST_DEVIATION: f64 = 0.3;
/// See [`MOST_DEVIATION`].
pub const NOTABLE_DEVIATION: f64 = 0.1;
/// Frequencies of the fit, a mechanism.
const SAMPLES: usize = 10;
/// Frequencies at which the attained Q is compared with the target.
const COMPARED: usize = 200;
/// 20/ln 10: decibels of a factor e in amplitude.
const DB_PER_NEPER: f64 = 20.0 * LOG10_E;

/// The attenuation that a material is to have.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq, Default)]
pub enum Attenuation {
    /// None.
    #[default]
    None,
    /// Q over the whole band.
    Quality(f64),
    /// Of compression waves, log-log between the frequencies.
    Table {
        /// f, Hz, ascending.
        frequency: Vec<f64>,
        /// α, dB/m.
        db_per_m: Vec<f64>,
    },
}

/// What the relaxation mechanisms of a model have in common.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub struct Relaxation {
    /// The band of frequencies, Hz.
    pub band: [f64; 2],
    /// Mechanisms, 2 or 3.
    pub mechanisms: u32,
    /// Frequency at which the moduli of the materials hold, Hz.
    pub reference_frequency: f64,
}

/// The mechanisms of one material.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    /// Y_l, padded with 0.
    pub strengths: [f64; MOST_MECHANISMS],
    /// C_U / C: unrelaxed moduli over those that hold at the reference frequency.
    pub unrelaxed: f64,
    /// Largest |Q/Q_target − 1| in the band, and its frequency, Hz.
    pub deviation: (f64, f64),
}

impl Attenuation {
    /// Whether there is none.
    pub fn is_none(&self) -> bool {
        *self == Self::None
    }

    /// Checks the numbers.
    ///
    /// # Errors
    /// A message with the key that is wrong.
    pub fn check(&self) -> Result<(), String> {
        match self {
            Self::None => Ok(()),
            Self::Quality(quality) if *quality > 0.0 && quality.is_finite() => Ok(()),
            Self::Quality(quality) => Err(format!("`quality_factor` must be above 0, not {quality}")),
            Self::Table { frequency, db_per_m } => check_table(frequency, db_per_m),
        }
    }

    /// 1/Q at a frequency, Hz, of a material whose compression waves have the speed `speed`, m/s: α c/(8.686 π f).
    fn inverse_quality(&self, frequency: f64, speed: f64) -> f64 {
        match self {
            Self::None => 0.0,
            Self::Quality(quality) => 1.0 / quality,
            Self::Table { frequency: frequencies, db_per_m } => {
                interpolated(frequencies, db_per_m, frequency) * speed / (DB_PER_NEPER * PI * frequency)
            }
        }
    }
}

fn check_table(frequency: &[f64], db_per_m: &[f64]) -> Result<(), String> {
    if frequency.is_empty() || frequency.len() != db_per_m.len() {
        return Err("`attenuation` needs as many values of `db_per_m` as of `frequency`, and at least one".to_owned());
    }
    if !frequency.iter().chain(db_per_m).all(|value| *value > 0.0 && value.is_finite()) {
        return Err("all numbers of `attenuation` must be above 0".to_owned());
    }
    if !frequency.is_sorted_by(|a, b| a < b) {
        return Err("the frequencies of `attenuation` must ascend".to_owned());
    }
    Ok(())
}

/// A power law between neighbours.
fn interpolated(x: &[f64], y: &[f64], at: f64) -> f64 {
    let next = x.partition_point(|&x| x < at).clamp(1, x.len().max(2) - 1);
    if x.len() == 1 {
        return y[0];
    }
    let [x0, x1, y0, y1] = [x[next - 1], x[next], y[next - 1], y[next]].map(f64::ln);
    (y0 + (y1 - y0) * (at.ln() - x0) / (x1 - x0)).exp()
}

impl Relaxation {
    /// The mechanisms of a band, whose moduli hold at `reference` or at its geometric mean.
    pub fn new(band: [f64; 2], mechanisms: Option<u32>, reference: Option<f64>) -> Self {
        let reference_frequency = reference.unwrap_or_else(|| (band[0] * band[1]).sqrt());
        Self { band, mechanisms: mechanisms.unwrap_or(MOST_MECHANISMS as u32), reference_frequency }
    }

    /// Checks the numbers.
    ///
    /// # Errors
    /// A message with the key that is wrong.
    pub fn check(&self) -> Result<(), String> {
        let [low, high] = self.band;
        if !(low > 0.0 && high > low && high.is_finite()) {
            return Err(format!("`band` must be two frequencies above 0, the lower one first, not [{low}, {high}]"));
        }
        if !matches!(self.mechanisms, 2 | 3) {
            return Err(format!("`mechanisms` must be 2 or 3, not {}", self.mechanisms));
        }
        if !(self.reference_frequency > 0.0 && self.reference_frequency.is_finite()) {
            return Err(format!("`reference_frequency` must be above 0, not {}", self.reference_frequency));
        }
        Ok(())
    }

    /// Logarithmically spaced over the band, Hz.
    fn spaced(&self, n: usize) -> impl Iterator<Item = f64> {
        let [low, high] = self.band;
        (0..n).map(move |i| low * (high / low).powf(i as f64 / (n - 1) as f64))
    }

    /// ω_l, 1/s.
    pub fn rates(&self) -> Vec<f64> {
        self.spaced(self.mechanisms as usize).map(|frequency| TAU * frequency).collect()
    }

    /// M/M_U at a frequency, Hz: real and imaginary part.
    pub fn modulus(&self, strengths: &[f64], frequency: f64) -> [f64; 2] {
        let omega = TAU * frequency;
        let terms = self.rates().into_iter().zip(strengths).map(|(rate, strength)| {
            let part = strength * rate / (rate * rate + omega * omega);
            [part * rate, part * omega]
        });
        terms.fold([1.0, 0.0], |sum, term| [sum[0] - term[0], sum[1] + term[1]])
    }

    /// The mechanisms of a material; none where it has no attenuation.
    ///
    /// # Errors
    /// A message where the numbers make no sense or the target cannot be met.
    pub fn fit(&self, material: &Material) -> Result<Option<Fit>, String> {
        let target = &material.attenuation;
        if target.is_none() {
            return Ok(None);
        }
        self.check()?;
        target.check()?;
        if let Attenuation::Table { frequency, .. } = target {
            let ends = [frequency[0], frequency[frequency.len() - 1]];
            // Frequencies are typed with a few digits.
            if frequency.len() > 1 && (ends[0] > self.band[0] * 1.000001 || ends[1] < self.band[1] * 0.999999) {
                let ([low, high], [first, last]) = (self.band, ends);
                return Err(format!(
                    "the frequencies of `attenuation`, {first} to {last}, must cover the `band` of [relaxation], {low} to {high}"
                ));
            }
        }
        let Some([speed, ..]) = material.wave_speeds([1.0, 0.0, 0.0]).filter(|_| material.elasticity.bulk().is_none())
        else {
            return Err("attenuation is computed in solids with a positive stiffness alone".to_owned());
        };
        let strengths = self.strengths(|frequency| target.inverse_quality(frequency, speed));
        self.checked(strengths, |frequency| target.inverse_quality(frequency, speed)).map(Some)
    }

    /// The Y_l ≥ 0 with the least Σ (Q_target/Q − 1)² over the samples, in the form that is linear in them.
    fn strengths(&self, inverse_quality: impl Fn(f64) -> f64) -> [f64; MOST_MECHANISMS] {
        let rates = self.rates();
        let rows = self.spaced(SAMPLES * rates.len()).map(|frequency| {
            let (omega, target) = (TAU * frequency, inverse_quality(frequency));
            let mut row = [0.0; MOST_MECHANISMS];
            for (entry, rate) in row.iter_mut().zip(&rates) {
                *entry = (rate * omega / target + rate * rate) / (rate * rate + omega * omega);
            }
            row
        });
        least_squares(&rows.collect::<Vec<_>>(), rates.len())
    }

    fn checked(&self, strengths: [f64; MOST_MECHANISMS], inverse_quality: impl Fn(f64) -> f64) -> Result<Fit, String> {
        let ways = "take a narrower `band`, `mechanisms = 3`, or less attenuation";
        let sum: f64 = strengths.iter().sum();
        if sum.is_nan() || sum >= 1.0 {
            return Err(format!("so much attenuation leaves no stiffness at low frequencies: {ways}"));
        }
        let deviation_at = |frequency: f64| {
            let [real, imaginary] = self.modulus(&strengths, frequency);
            ((real / imaginary * inverse_quality(frequency) - 1.0).abs(), frequency)
        };
        let worst = |a: (f64, f64), b: (f64, f64)| if b.0 > a.0 || b.0.is_nan() { b } else { a };
        let deviation = self.spaced(COMPARED).map(deviation_at).fold((0.0, self.band[0]), worst);
        if deviation.0.is_nan() || deviation.0 > MOST_DEVIATION {
            let (part, frequency) = (100.0 * deviation.0, deviation.1);
            let mechanisms = self.mechanisms;
            return Err(format!(
                "{mechanisms} mechanisms miss Q by {part:.0} % at {frequency:.4e} Hz, more than {:.0} %: {ways}",
                100.0 * MOST_DEVIATION
            ));
        }
        // Re(1/√m)² for the modulus m at the reference frequency: the phase velocity there is that of the given moduli.
        let [real, imaginary] = self.modulus(&strengths, self.reference_frequency);
        let size = real.hypot(imaginary);
        let unrelaxed = (1.0 + real / size) / (2.0 * size);
        Ok(Fit { strengths, unrelaxed, deviation })
    }
}

impl Fit {
    /// What is to be said of it: how near it is to the target.
    pub fn words(&self, material: &str, relaxation: &Relaxation) -> String {
        let [low, high] = relaxation.band;
        let (part, frequency) = (100.0 * self.deviation.0, self.deviation.1);
        let stiffer = 100.0 * (self.unrelaxed - 1.0);
        format!(
            "material {material}: Q is met within {part:.1} % (at {frequency:.3e} Hz) from {low:e} to {high:e} Hz; unrelaxed moduli \
             are {stiffer:.2} % above the given ones"
        )
    }

    /// Whether it misses its target by so much that the user should know.
    pub fn is_rough(&self) -> bool {
        self.deviation.0 > NOTABLE_DEVIATION
    }
}

/// min |A x − 1| over x ≥ 0 with up to three unknowns: the best of the solutions with some of them 0 that have no negative one.
fn least_squares(rows: &[[f64; MOST_MECHANISMS]], n: usize) -> [f64; MOST_MECHANISMS] {
    let residual = |x: &[f64; MOST_MECHANISMS]| -> f64 {
        let of_row = |row: &[f64; MOST_MECHANISMS]| row.iter().zip(x).map(|(a, x)| a * x).sum::<f64>() - 1.0;
        rows.iter().map(|row| of_row(row).powi(2)).sum()
    };
    let mut best = [0.0; MOST_MECHANISMS];
    for used in 1u32..1 << n {
        let columns: Vec<usize> = (0..n).filter(|column| used & 1 << column != 0).collect();
        let x = solve(rows, &columns);
        if x.iter().all(|&x| x >= 0.0) && residual(&x) < residual(&best) {
            best = x;
        }
    }
    best
}

/// The normal equations of some columns, by elimination; the other unknowns are 0.
fn solve(rows: &[[f64; MOST_MECHANISMS]], columns: &[usize]) -> [f64; MOST_MECHANISMS] {
    let n = columns.len();
    let mut a = [[0.0; MOST_MECHANISMS + 1]; MOST_MECHANISMS];
    for row in rows {
        for (i, &ci) in columns.iter().enumerate() {
            for (j, &cj) in columns.iter().enumerate() {
                a[i][j] += row[ci] * row[cj];
            }
            a[i][n] += row[ci];
        }
    }
    // Positive definite, so that no pivot has to be looked for.
    for pivot in 0..n {
        let of_pivot = a[pivot];
        for row in &mut a[pivot + 1..n] {
            let factor = row[pivot] / of_pivot[pivot];
            row.iter_mut().zip(of_pivot).for_each(|(entry, of_pivot)| *entry -= factor * of_pivot);
        }
    }
    let mut x = [0.0; MOST_MECHANISMS];
    for i in (0..n).rev() {
        let known: f64 = (i + 1..n).map(|j| a[i][j] * x[columns[j]]).sum();
        x[columns[i]] = (a[i][n] - known) / a[i][i];
    }
    x
}

#[cfg(test)]
mod tests;
