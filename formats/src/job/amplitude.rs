//! `[[amplitude]]`: functions of time.

use std::path::Path;

use serde::Deserialize;
use serde::de::{self, MapAccess, value::MapAccessDeserializer};

use super::check::{positive, quoted};
use super::text::rows_of_numbers;
use super::values::visit;
use crate::dynamics::{AmplitudeShape, Window};
use crate::system::inputs;
use crate::words::{Choice, Word};

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
#[allow(missing_docs)]
pub struct Amplitude {
    /// Not needed where the amplitude stands inside a source.
    #[serde(default)]
    pub name: String,
    pub kind: Word<AmplitudeKind>,
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
    /// CSV file beside the job with a time and a value on each line. Lines that start with # or a letter are skipped.
    pub file: Option<String>,
    /// Multiplies the function; 1 when absent.
    pub scale: Option<f64>,
    /// The function starts this much later, s; 0 when absent.
    pub delay: Option<f64>,
}

/// Kinds of [`Amplitude`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum AmplitudeKind {
    /// Tone burst under this window.
    Burst(Window),
    Ricker,
    GaussianPulse,
    /// Points joined by straight lines.
    Table,
    /// Points joined by smooth steps.
    SmoothStep,
}

impl Choice for AmplitudeKind {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("hann", Self::Burst(Window::Hann)),
        ("gaussian", Self::Burst(Window::Gaussian)),
        ("rectangular", Self::Burst(Window::Rectangular)),
        ("ricker", Self::Ricker),
        ("gaussian_pulse", Self::GaussianPulse),
        ("table", Self::Table),
        ("smooth_step", Self::SmoothStep),
    ];
}

impl AmplitudeKind {
    /// The keys that belong to this kind.
    fn keys(self) -> &'static [&'static str] {
        match self {
            Self::Burst(_) => &["frequency", "cycles"],
            Self::Ricker => &["frequency", "peak_time"],
            Self::GaussianPulse => &["rate", "peak_time"],
            Self::Table | Self::SmoothStep => &["times", "values"],
        }
    }
}

/// An amplitude by its name, or written in place.
#[derive(Debug, Clone, PartialEq)]
pub enum AmplitudeReference {
    /// Name of an amplitude of the jobs or of the deck.
    Name(String),
    /// Written in place.
    Inline(Box<Amplitude>),
}

visit!(AmplitudeReference, "the name of an amplitude, or { kind = … }", {
    fn visit_str<E: de::Error>(self, value: &str) -> Result<Self::Value, E> {
        Ok(AmplitudeReference::Name(value.to_owned()))
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        let amplitude = Amplitude::deserialize(MapAccessDeserializer::new(map))?;
        Ok(AmplitudeReference::Inline(Box::new(amplitude)))
    }
});

impl AmplitudeReference {
    /// Reads the file of an amplitude that is written in place, and checks it.
    pub(crate) fn load(&mut self, folder: &Path) -> Result<(), String> {
        match self {
            Self::Name(_) => Ok(()),
            Self::Inline(amplitude) => amplitude.load(folder),
        }
    }
}

impl Amplitude {
    /// Reads the file that holds its times and values, so that nothing later needs the job's folder, and checks it.
    pub(super) fn load(&mut self, folder: &Path) -> Result<(), String> {
        if let Some(file) = self.file.take() {
            if self.times.is_some() || self.values.is_some() {
                return Err("give `file`, or `times` and `values`, not both".to_owned());
            }
            let (times, values) = read_table(&folder.join(file))?;
            (self.times, self.values) = (Some(times), Some(values));
        }
        self.shape().map(|_| ())
    }

    /// The function that the keys give.
    ///
    /// # Errors
    /// A message when a key is missing, does not belong to the kind, or has an impossible value.
    pub fn shape(&self) -> Result<AmplitudeShape, String> {
        let kind = self.kind.0;
        self.check_keys(kind)?;
        let need = |key: &str, value: Option<f64>| {
            value.ok_or_else(|| {
                let keys = quoted(kind.keys());
                format!("an amplitude of kind \"{}\" needs {keys} (`{key}` is missing)", kind.word())
            })
        };
        match kind {
            AmplitudeKind::Burst(window) => {
                let (frequency, cycles) = (need("frequency", self.frequency)?, need("cycles", self.cycles)?);
                Ok(AmplitudeShape::ToneBurst { window, frequency, cycles })
            }
            AmplitudeKind::Ricker => {
                let frequency = need("frequency", self.frequency)?;
                Ok(AmplitudeShape::Ricker { frequency, peak_time: self.peak_time.unwrap_or(1.5 / frequency) })
            }
            AmplitudeKind::GaussianPulse => Ok(AmplitudeShape::GaussianPulse {
                rate: need("rate", self.rate)?,
                peak_time: need("peak_time", self.peak_time)?,
            }),
            AmplitudeKind::Table => self.points(false).map(|(times, values)| AmplitudeShape::Tabular { times, values }),
            AmplitudeKind::SmoothStep => {
                self.points(true).map(|(times, values)| AmplitudeShape::SmoothStep { times, values })
            }
        }
    }

    fn check_keys(&self, kind: AmplitudeKind) -> Result<(), String> {
        let given = [
            ("frequency", self.frequency.is_some()),
            ("cycles", self.cycles.is_some()),
            ("peak_time", self.peak_time.is_some()),
            ("rate", self.rate.is_some()),
            ("times", self.times.is_some()),
            ("values", self.values.is_some()),
        ];
        if let Some((key, _)) = given.iter().find(|(key, given)| *given && !kind.keys().contains(key)) {
            let (word, keys) = (kind.word(), quoted(kind.keys()));
            return Err(format!("`{key}` does not belong to an amplitude of kind \"{word}\", which has {keys}"));
        }
        positive("frequency", self.frequency)?;
        positive("cycles", self.cycles)?;
        positive("rate", self.rate)
    }

    /// Times and values. The times of a smooth step must differ.
    fn points(&self, strict: bool) -> Result<(Vec<f64>, Vec<f64>), String> {
        let (Some(times), Some(values)) = (&self.times, &self.values) else {
            let kind = self.kind.0.word();
            return Err(format!("an amplitude of kind \"{kind}\" needs `times` and `values`, or `file`"));
        };
        if times.len() != values.len() || times.is_empty() {
            return Err(format!("{} times and {} values: as many of each, at least 1", times.len(), values.len()));
        }
        if times.windows(2).any(|pair| pair[1] < pair[0] || strict && pair[1] == pair[0]) {
            return Err("`times` must increase".to_owned());
        }
        Ok((times.clone(), values.clone()))
    }
}

/// Reads the CSV file of a tabular amplitude.
fn read_table(path: &Path) -> Result<(Vec<f64>, Vec<f64>), String> {
    let text = inputs::read_to_string(path)
        .map_err(|error| format!("cannot read amplitude file {}: {error}", path.display()))?;
    let (mut times, mut values) = (Vec::new(), Vec::new());
    for (number, fields) in rows_of_numbers(&text) {
        let numbers: Vec<_> = fields.iter().map(|field| field.parse::<f64>().ok().filter(|x| x.is_finite())).collect();
        // A third field is a second signal, or the result of a decimal comma.
        let &[Some(time), Some(value)] = numbers.as_slice() else {
            let text = "expected a time and a value, two numbers with decimal points";
            return Err(format!("{}:{}: {text}", path.display(), number));
        };
        times.push(time);
        values.push(value);
    }
    Ok((times, values))
}
