//! Descriptions of what acts on a model of dynamics and of what is recorded.

use pogo_formats::dynamics::{
    Amplitude, AmplitudeShape, Boundary, BoundaryKind, HistoryRequest, InitialVelocity, OutputInterval, Window,
};
use pogo_formats::words::counted;
use pogo_formats::write::traces::TraceQuantity;

use super::number;
use crate::listing::{Item, items};

/// Describes the conditions of one model.
#[derive(Debug, Clone, Copy)]
pub struct Dynamics<'a> {
    /// What conditions act on: `node` or `particle`.
    pub noun: &'static str,
    pub amplitudes: &'a [Amplitude],
}

impl Dynamics<'_> {
    fn counted(&self, n: usize) -> String {
        counted(n, self.noun)
    }

    /// `, amplitude NAME`, or nothing.
    pub fn amplitude(&self, index: Option<u32>) -> String {
        let found = index.and_then(|index| self.amplitudes.get(index as usize));
        found.map_or_else(String::new, |amplitude| format!(", amplitude {}", amplitude.name))
    }

    /// Prescribed motions, each in a line.
    pub fn boundaries(&self, boundaries: &[Boundary]) -> Vec<Item> {
        items(boundaries, |boundary| {
            let (letter, unit) = match boundary.kind {
                BoundaryKind::Displacement => ("U", "m"),
                BoundaryKind::Velocity => ("V", "m/s"),
                BoundaryKind::Acceleration => ("A", "m/s²"),
                BoundaryKind::Pressure => ("POR", "Pa"),
            };
            let value = if boundary.value == 0.0 {
                "0".into()
            } else {
                format!("{} {unit}{}", number(boundary.value), self.amplitude(boundary.amplitude))
            };
            let n = self.counted(boundary.nodes.len());
            let component = match boundary.kind {
                BoundaryKind::Pressure => String::new(),
                _ => (boundary.component + 1).to_string(),
            };
            (&boundary.name, format!("{letter}{component} = {value} at {n}"))
        })
    }

    /// Initial velocities, each in a line.
    pub fn initial_velocities(&self, velocities: &[InitialVelocity]) -> Vec<Item> {
        items(velocities, |initial| {
            let (component, n) = (initial.component + 1, self.counted(initial.nodes.len()));
            (&initial.name, format!("V{component} = {} m/s at {n}", number(initial.value)))
        })
    }

    /// Histories of nodes, each in a line.
    pub fn histories(&self, histories: &[HistoryRequest]) -> Vec<Item> {
        items(histories, |history| {
            let labels = history.variables.iter().map(|&(q, c)| TraceQuantity::Nodal(q).label(c));
            let labels = labels.collect::<Vec<_>>().join(" ");
            let (n, interval) = (self.counted(history.nodes.len()), interval(&history.interval));
            let sum = if history.weights.is_empty() { "" } else { "weighted sum of " };
            (&history.set, format!("{sum}{labels} of {n}, {interval}"))
        })
    }
}

/// Entries without a name, by their numbers from 1.
pub fn numbered<T>(list: &[T], describe: impl Fn(&T) -> String) -> Vec<Item> {
    let item = |(number, entry): (usize, &T)| Item { name: number.to_string(), description: describe(entry) };
    (1..).zip(list).map(item).collect()
}

/// The law of an amplitude.
pub fn amplitude(amplitude: &Amplitude) -> String {
    let mut words = match &amplitude.shape {
        AmplitudeShape::Tabular { times, .. } => format!("table of {}", counted(times.len(), "point")),
        AmplitudeShape::SmoothStep { times, .. } => format!("smooth steps through {}", counted(times.len(), "point")),
        AmplitudeShape::Periodic { omega, terms, .. } => {
            format!("periodic, {} rad/s, {}", number(*omega), counted(terms.len(), "term"))
        }
        AmplitudeShape::ToneBurst { window, frequency, cycles } => {
            let window = match window {
                Window::Hann => "Hann",
                Window::Gaussian => "Gaussian",
                Window::Rectangular => "rectangular",
            };
            format!("{cycles} cycles of {} Hz, {window} window", number(*frequency))
        }
        AmplitudeShape::Ricker { frequency, peak_time } => {
            format!("Ricker, {} Hz, peak at {} s", number(*frequency), number(*peak_time))
        }
        AmplitudeShape::GaussianPulse { rate, peak_time } => {
            format!("Gaussian, {} 1/s², peak at {} s", number(*rate), number(*peak_time))
        }
    };
    if amplitude.scale != 1.0 {
        words += &format!(", × {}", amplitude.scale);
    }
    if amplitude.delay != 0.0 {
        words += &format!(", {} s late", number(amplitude.delay));
    }
    words
}

/// `increment 7`, or `5 increments from 1 to 9`.
fn counted_steps(steps: &[u32]) -> String {
    match steps {
        [] => "no increment".into(),
        [only] => format!("increment {only}"),
        [first, .., last] => format!("{} from {first} to {last}", counted(steps.len(), "increment")),
    }
}

/// How often something is recorded.
pub fn interval(interval: &OutputInterval) -> String {
    match *interval {
        OutputInterval::Increments(1) => "every increment".into(),
        OutputInterval::Increments(n) => format!("every {n} increments"),
        OutputInterval::Time(seconds) => format!("every {} s", number(seconds)),
        OutputInterval::Count(n) => format!("in {}", counted(n as usize, "interval")),
        OutputInterval::From { first, every: 1 } => format!("every increment from number {first} on"),
        OutputInterval::From { first, every } => format!("every {every} increments from number {first} on"),
        OutputInterval::Steps(ref steps) => format!("after {}", counted_steps(steps)),
    }
}
