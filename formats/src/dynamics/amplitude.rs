//! Values of functions of time.

use std::f64::consts::TAU;

use super::{Amplitude, AmplitudeShape, Window};

impl Amplitude {
    /// a(t) = `scale` × shape(t − `delay`).
    pub fn at(&self, time: f64) -> f64 {
        self.scale * shape_at(&self.shape, time - self.delay)
    }
}

fn shape_at(shape: &AmplitudeShape, t: f64) -> f64 {
    match shape {
        AmplitudeShape::Tabular { times, values } => interpolate(times, values, t, |xi| xi),
        AmplitudeShape::SmoothStep { times, values } => {
            interpolate(times, values, t, |xi| xi * xi * xi * (10.0 + xi * (6.0 * xi - 15.0)))
        }
        AmplitudeShape::Periodic { omega, start, constant, terms } => {
            if t < *start {
                return *constant;
            }
            let phase = omega * (t - start);
            terms.iter().zip(1u32..).fold(*constant, |sum, (&[a, b], n)| {
                let (sine, cosine) = (f64::from(n) * phase).sin_cos();
                sum + a * cosine + b * sine
            })
        }
        AmplitudeShape::ToneBurst { window, frequency, cycles } => {
            let length = cycles / frequency;
            if !(0.0..=length).contains(&t) {
                return 0.0;
            }
            let window = match window {
                Window::Hann => 0.5 * (1.0 - (TAU * t / length).cos()),
                Window::Gaussian => (-0.5 * (6.0 * (t / length - 0.5)).powi(2)).exp(),
                Window::Rectangular => 1.0,
            };
            window * (TAU * frequency * t).sin()
        }
        AmplitudeShape::Ricker { frequency, peak_time } => {
            let x = (0.5 * TAU * frequency * (t - peak_time)).powi(2);
            (1.0 - 2.0 * x) * (-x).exp()
        }
        AmplitudeShape::GaussianPulse { rate, peak_time } => (-rate * (t - peak_time).powi(2)).exp(),
    }
}

/// Value at `t` of the curve through the points, constant outside; `ease` maps the fraction of an interval to the
/// fraction of the step. At a repeated time the later value holds.
fn interpolate(times: &[f64], values: &[f64], t: f64, ease: impl Fn(f64) -> f64) -> f64 {
    let next = times.partition_point(|&time| time <= t);
    match (next.checked_sub(1), values.get(next)) {
        (None, first) => first.copied().unwrap_or(0.0),
        (Some(last), None) => values.get(last).copied().unwrap_or(0.0),
        (Some(before), Some(&b)) => {
            let (t0, t1, a) = (times[before], times[next], values[before]);
            a + (b - a) * ease((t - t0) / (t1 - t0))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn amplitude(shape: AmplitudeShape) -> Amplitude {
        Amplitude::new("A", shape)
    }

    #[test]
    fn tables_are_linear_inside_and_constant_outside() {
        let mut table =
            amplitude(AmplitudeShape::Tabular { times: vec![1.0, 2.0, 2.0, 3.0], values: vec![5.0, 7.0, 0.0, 1.0] });
        for (t, a) in [(0.0, 5.0), (1.0, 5.0), (1.5, 6.0), (2.0, 0.0), (2.25, 0.25), (3.0, 1.0), (9.0, 1.0)] {
            assert_eq!(table.at(t), a, "at {t}");
        }
        table.scale = -2.0;
        table.delay = 1.0;
        assert_eq!(table.at(2.5), -12.0);
    }

    #[test]
    fn smooth_steps_are_flat_at_their_ends() {
        let step = amplitude(AmplitudeShape::SmoothStep { times: vec![0.0, 2.0], values: vec![1.0, 3.0] });
        assert_eq!(step.at(1.0), 2.0);
        assert_eq!(step.at(2.0), 3.0);
        let h = 1e-4;
        for end in [h, 2.0 - h] {
            let slope = (step.at(end + h) - step.at(end - h)) / (2.0 * h);
            assert!(slope.abs() < 1e-6, "slope {slope} at {end}");
        }
    }

    #[test]
    fn periodic_is_constant_before_its_start() {
        let wave = amplitude(AmplitudeShape::Periodic {
            omega: TAU,
            start: 1.0,
            constant: 0.5,
            terms: vec![[1.0, 0.0], [0.0, 2.0]],
        });
        assert_eq!(wave.at(0.9), 0.5);
        assert!((wave.at(1.125) - (0.5 + 0.5f64.sqrt() + 2.0)).abs() < 1e-12);
    }

    #[test]
    fn bursts_vanish_outside_and_peak_inside() {
        for window in [Window::Hann, Window::Gaussian, Window::Rectangular] {
            let burst = amplitude(AmplitudeShape::ToneBurst { window, frequency: 2.0, cycles: 5.0 });
            assert_eq!(burst.at(-0.1), 0.0);
            assert_eq!(burst.at(2.6), 0.0);
            // Five cycles: a crest of the carrier falls on the middle of the window.
            assert!((burst.at(1.125).abs() - 1.0).abs() < 0.1);
        }
        let ricker = amplitude(AmplitudeShape::Ricker { frequency: 3.0, peak_time: 0.5 });
        assert_eq!(ricker.at(0.5), 1.0);
        let pulse = amplitude(AmplitudeShape::GaussianPulse { rate: 1000.0, peak_time: 0.25 });
        assert_eq!(pulse.at(0.25), 1.0);
        assert!((pulse.at(0.28) - (-0.9f64).exp()).abs() < 1e-12);
    }
}
