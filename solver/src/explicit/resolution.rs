//! Signals that are too fast for the increment.

use pogo_formats::dynamics::AmplitudeShape;
use pogo_formats::explicit::Setup;

/// Increments a period below which a signal is not what it says: a wave with so few of them is shorter than some six of the
/// smallest elements.
const FEWEST: f64 = 6.0;

/// What to say of the signals in use that the increment `dt` (s) does not follow: they are sampled once an increment, so that one of
/// a few increments is another signal, or none.
pub fn coarse_signals(setup: &Setup, dt: f64) -> Vec<String> {
    let loads = setup.loads.iter().filter(|load| load.magnitude != 0.0).map(|load| load.amplitude);
    let boundaries = setup.boundaries.iter().map(|boundary| boundary.amplitude);
    let used: Vec<u32> = loads.chain(boundaries).flatten().collect();
    let amplitudes = (0..).zip(&setup.amplitudes).filter(|(at, _)| used.contains(at));
    let too_fast = amplitudes.filter_map(|(_, amplitude)| {
        let period = period(&amplitude.shape).filter(|period| *period < FEWEST * dt)?;
        Some(format!(
            "amplitude `{}` has {:.2} increments a period of {period:.3e} s: mesh and increment are too coarse for it",
            amplitude.name,
            period / dt
        ))
    });
    too_fast.collect()
}

/// The time in which a signal rises and falls, s; nothing for tables that do not come back to where they begin, such as steps.
fn period(shape: &AmplitudeShape) -> Option<f64> {
    match shape {
        AmplitudeShape::ToneBurst { frequency, .. } | AmplitudeShape::Ricker { frequency, .. } => Some(1.0 / frequency),
        // Twice the time between the points where it is 1/e.
        AmplitudeShape::GaussianPulse { rate, .. } => Some(4.0 / rate.sqrt()),
        AmplitudeShape::Periodic { omega, terms, .. } => {
            let highest = terms.iter().rposition(|term| *term != [0.0; 2])? + 1;
            Some(std::f64::consts::TAU / (omega.abs() * highest as f64))
        }
        AmplitudeShape::Tabular { times, values } | AmplitudeShape::SmoothStep { times, values } => {
            let (first, last) = (values.first()?, values.last()?);
            let varies = first == last && values.iter().any(|value| value != first);
            varies.then(|| times.last().zip(times.first()).map(|(end, start)| end - start)).flatten()
        }
    }
}
