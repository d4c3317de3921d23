//! `[[transducer]]`: probes and arrays on a surface, which send and receive.

use crate::dynamics::OutputInterval;
use crate::job::check::{at_most_one, named, positive};
use crate::job::{AmplitudeReference, List, table};
use crate::words::{Choice, Word};

table! { [timing]
/// `[[transducer]]`: a force on an aperture, in one piece or by the elements of an array with delays, and the mean motion of
/// each as a trace.
///
/// | aperture | 2D | 3D |
/// |---|---|---|
/// | one length | a line across `normal` | a disc of this diameter |
/// | two lengths | - | a rectangle: along `axis`, and across it |
///
/// Element k acts later by τ_k, the least of which is 0: with `focus` x_f, τ_k = −|x_k − x_f|/c + const; with `steering` θ
/// from the normal towards the axis, τ_k = s_k sin θ / c + const, s_k the place of its centre along the axis.
pub struct Transducer {
    /// Name of its loads and traces (with `.1`, `.2`, … of an array's elements); `TRANSDUCER` and a number when absent.
    pub name: Option<String>,
    /// Middle of the aperture, m.
    pub centre: Vec<f64>,
    /// m.
    pub aperture: List<f64>,
    /// Direction of the force and of what is received, of any length.
    pub direction: Vec<f64>,
    /// Normal of the aperture, of any length; `direction` when absent.
    pub normal: Option<Vec<f64>>,
    /// Along which the elements are counted; in the plane the normal turned by 90° anticlockwise when absent.
    pub axis: Option<Vec<f64>>,
    /// Number of elements; 1 when absent.
    #[serde(default = "one_element")]
    pub elements: usize,
    /// Distance between elements, m; 0 when absent.
    #[serde(default)]
    pub gap: f64,
    /// Total of the whole aperture without apodisation, N. Without it the transducer receives only.
    pub force: Option<f64>,
    /// Name of an amplitude, or one written here.
    pub amplitude: Option<AmplitudeReference>,
    /// Point on which the elements' waves meet, m.
    pub focus: Option<Vec<f64>>,
    /// Direction in which they travel: degrees from the normal towards the axis.
    pub steering: Option<f64>,
    /// c of the delays, m/s.
    pub wave_speed: Option<f64>,
    /// Factor on forces and on what is received, by the place in the aperture; `"uniform"` when absent.
    pub apodisation: Option<Word<Apodisation>>,
    /// Which traces are recorded: `"elements"`, one each (the default); `"sum"`, one of the whole aperture; `"none"`.
    pub receive: Option<Word<Receive>>,
    /// How far from the aperture a node may lie, m; rounding, or half an element for a line that no row of nodes lies on.
    pub tolerance: Option<f64>,
}
}

const fn one_element() -> usize {
    1
}

/// Weight across an aperture by u, the distance from its middle over half its length, in [0, 1].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Apodisation {
    /// 1.
    #[default]
    Uniform,
    /// cos²(πu/2).
    Hann,
    /// 0.54 + 0.46 cos(πu).
    Hamming,
}

impl Choice for Apodisation {
    const WORDS: &'static [(&'static str, Self)] =
        &[("uniform", Self::Uniform), ("hann", Self::Hann), ("hamming", Self::Hamming)];
}

impl Apodisation {
    /// The weight at u.
    pub fn at(self, u: f64) -> f64 {
        use std::f64::consts::PI;
        match self {
            Self::Uniform => 1.0,
            Self::Hann => (0.5 * PI * u.min(1.0)).cos().powi(2),
            Self::Hamming => 0.54 + 0.46 * (PI * u.min(1.0)).cos(),
        }
    }
}

/// What a transducer records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub enum Receive {
    #[default]
    Elements,
    Sum,
    None,
}

impl Choice for Receive {
    const WORDS: &'static [(&'static str, Self)] =
        &[("elements", Self::Elements), ("sum", Self::Sum), ("none", Self::None)];
}

/// Which elements act later.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum DelayLaw<'a> {
    /// All act at once.
    Together,
    /// Point, m, and wave speed, m/s.
    Focus(&'a [f64], f64),
    /// Angle, rad, and wave speed, m/s.
    Steering(f64, f64),
}

impl Transducer {
    pub(super) fn check(&self) -> Result<(), String> {
        named(self.name.as_deref())?;
        if self.aperture.0.len() > 2 {
            return Err("`aperture` is one length or two".to_owned());
        }
        self.aperture.0.iter().try_for_each(|&length| positive("aperture", Some(length)))?;
        positive("tolerance", self.tolerance)?;
        if !(1..=10_000).contains(&self.elements) {
            return Err(format!("`elements` must lie between 1 and 10000, not {}", self.elements));
        }
        let pitch = self.aperture.0[0] / self.elements as f64;
        if !(0.0..pitch).contains(&self.gap) {
            return Err(format!("`gap` must be less than the pitch of the elements, {pitch:e} m, and not negative"));
        }
        if self.force.is_none() && self.amplitude.is_some() {
            return Err("`amplitude` goes with `force`".to_owned());
        }
        if self.force.is_none() && matches!(self.receive, Some(Word(Receive::None))) {
            return Err("it neither sends nor receives: give `force`, or another `receive`".to_owned());
        }
        self.delay_law()?;
        self.when().map(|_| ())
    }

    /// The law of the delays.
    ///
    /// # Errors
    /// A message for keys that do not go together.
    pub fn delay_law(&self) -> Result<DelayLaw<'_>, String> {
        positive("wave_speed", self.wave_speed)?;
        let law = at_most_one([("focus", self.focus.as_ref().map(|_| ())), ("steering", self.steering.map(|_| ()))])?;
        let Some(speed) = self.wave_speed else {
            return match law {
                None => Ok(DelayLaw::Together),
                Some(()) => Err("`focus` and `steering` need `wave_speed`".to_owned()),
            };
        };
        if self.elements < 2 && law.is_some() {
            return Err("`focus` and `steering` need two `elements` or more".to_owned());
        }
        if self.amplitude.is_none() && law.is_some() {
            return Err("`focus` and `steering` need an `amplitude` to delay".to_owned());
        }
        match (&self.focus, self.steering) {
            (Some(point), _) => Ok(DelayLaw::Focus(point, speed)),
            (_, Some(angle)) if angle.abs() < 90.0 => Ok(DelayLaw::Steering(angle.to_radians(), speed)),
            (_, Some(angle)) => Err(format!("`steering` must lie between -90 and 90 degrees, not {angle}")),
            (None, None) => Err("`wave_speed` goes with `focus` or `steering`".to_owned()),
        }
    }

    /// When traces are recorded.
    ///
    /// # Errors
    /// As [`timing`](Self::timing).
    pub fn when(&self) -> Result<OutputInterval, String> {
        Ok(self.timing()?.unwrap_or(OutputInterval::Increments(1)))
    }
}
