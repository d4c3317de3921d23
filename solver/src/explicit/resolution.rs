//! Signals that are too fast for the increment.

use pogo_formats::dynamics::AmplitudeShape;
use pogo_formats::explicit::Setup;

/// Fewest increments a period of a signal. A wave of a shorter period is shorter than some six of the smallest elements.
const FEWEST: f64 = 6.0;

/// Warnings about the amplitudes in use that change too fast for the increment `dt`, s. A signal is sampled once an
/// increment: with few increments a period the model sees another signal, or none.
pub(super) fn coarse_signals(setup: &Setup, dt: f64) -> Vec<String> {
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

/// The time in which a signal rises and falls, s; none for tables that end at another value than they begin with, such as steps.
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
