//! Pseudo-ECG: electrodes, leads and the action potential that passes each point of the tissue when the wave does.
//!
//! ```text
//! φ(x_e, t) = −1/(4π σ_T) ∫ σ_i ∇V · ∇(1/|x − x_e|) dx,   V(x, t) = U(t − T(x))
//! U(τ) = rest + (peak − rest)/2 · [tanh(2 τ/upstroke) − tanh(2 (τ − duration)/recovery)],  without the second tanh: + 1
//! ```
//!
//! σ_i is the conductivity inside the cells and σ_T that of the torso, which is homogeneous and has no end (Gima and Rudy,
//! Circ. Res. 90, 2002; with arrival times: Pezzuto et al., Front. Physiol. 8:265, 2017).

// rkyv's derive writes undocumented twins of enum variants with named fields.
#![allow(missing_docs)]

use rkyv::{Archive, Deserialize, Serialize};

use super::metric::{MetricError, Symmetric, metrics};
use super::setup::{Directions, Velocity, VelocityClass};
use super::{BLOCKED, EikonalMeshView};

/// A point at which the potential is found.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub struct Electrode {
    /// Name, unique.
    pub name: String,
    /// In the unit of length of the job; it need not lie in the mesh.
    pub position: [f64; 3],
}

/// The mean potential of some electrodes less that of others.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub struct Lead {
    /// Name, unique.
    pub name: String,
    /// Electrodes, by index.
    pub plus: Vec<u32>,
    /// Electrodes, by index; with none the lead is unipolar.
    pub minus: Vec<u32>,
}

/// The action potential U.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, Copy, PartialEq)]
pub struct Template {
    /// Potential before the wave, mV.
    pub rest: f64,
    /// Potential behind the upstroke, mV.
    pub peak: f64,
    /// Width of the upstroke: (peak − rest) over the steepest slope, time.
    pub upstroke: f64,
    /// From the middle of the upstroke to that of the recovery, time; none: the tissue does not recover.
    pub duration: Option<f64>,
    /// Width of the recovery, as that of the upstroke.
    pub recovery: f64,
}

/// Sampling times: `from`, `from` + `step`, … up to `to`.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, Copy, PartialEq)]
pub struct Sampling {
    /// Time between samples.
    pub step: f64,
    /// First sample; none: before the first upstroke.
    pub from: Option<f64>,
    /// Last sample; none: behind the last upstroke, or the last recovery.
    pub to: Option<f64>,
}

/// Electrodes, leads, tissue and times of an ECG.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub struct Ecg {
    pub electrodes: Vec<Electrode>,
    pub leads: Vec<Lead>,
    /// σ_i along fibre, sheet and normal; the unit is that of `torso`.
    pub conductivity: [f64; 3],
    /// σ_T.
    pub torso: f64,
    pub template: Template,
    pub sampling: Sampling,
}

/// Most samples of an ECG.
pub const MOST_SAMPLES: usize = 10_000_000;

impl Template {
    /// dU/dτ, mV / time.
    pub fn slope(&self, tau: f64) -> f64 {
        let of = |tau: f64, width: f64| (self.peak - self.rest) / width * (2.0 * tau / width).cosh().powi(-2);
        of(tau, self.upstroke) - self.duration.map_or(0.0, |duration| of(tau - duration, self.recovery))
    }

    /// The second derivative of [`slope`](Self::slope), mV / time³.
    pub fn slope_bend(&self, tau: f64) -> f64 {
        // (sech²x)'' = 4 sech²x − 6 sech⁴x.
        let of = |tau: f64, width: f64| {
            let square = (2.0 * tau / width).cosh().powi(-2);
            (self.peak - self.rest) / width * 4.0 / (width * width) * (4.0 - 6.0 * square) * square
        };
        of(tau, self.upstroke) - self.duration.map_or(0.0, |duration| of(tau - duration, self.recovery))
    }

    /// The width of the steeper of upstroke and recovery.
    pub fn sharpest(&self) -> f64 {
        if self.duration.is_some() { self.upstroke.min(self.recovery) } else { self.upstroke }
    }

    /// Before the first of these times from the arrival, and after the second, U changes by less than 3e-9 of its height.
    pub fn support(&self) -> [f64; 2] {
        // 1 − tanh(2·5) = 4e-9, of which a half counts.
        let recovery = self.duration.map(|duration| [duration - 5.0 * self.recovery, duration + 5.0 * self.recovery]);
        let [first, last] = recovery.unwrap_or([0.0; 2]);
        [first.min(-5.0 * self.upstroke), last.max(5.0 * self.upstroke)]
    }
}

impl Sampling {
    /// First sample and number of samples for arrivals between two times; none where there would be more than
    /// [`MOST_SAMPLES`].
    pub fn samples(&self, template: &Template, [first, last]: [f64; 2]) -> Option<(f64, usize)> {
        let [before, after] = template.support();
        // Whole steps, so that runs share their times.
        let from = self.from.unwrap_or_else(|| ((first + before) / self.step).floor() * self.step);
        let to = self.to.unwrap_or_else(|| ((last + after) / self.step).ceil() * self.step);
        let n = ((to - from) / self.step * (1.0 + 1e-12)).floor() + 1.0;
        (n >= 1.0 && n <= MOST_SAMPLES as f64).then_some((from, n as usize))
    }
}

impl Ecg {
    /// Names of the columns: the electrodes, then the leads.
    pub fn channels(&self) -> impl Iterator<Item = &str> {
        let electrodes = self.electrodes.iter().map(|electrode| electrode.name.as_str());
        electrodes.chain(self.leads.iter().map(|lead| lead.name.as_str()))
    }

    /// σ_i of every element, (m,): zeros in elements that the wave does not enter, which are no source.
    ///
    /// Along the axes the directions are those of the velocity where it has constant ones, else those of the elements.
    ///
    /// # Errors
    /// The first element without a direction that is needed.
    pub fn conductivities(
        &self,
        mesh: &EikonalMeshView,
        classes: &[VelocityClass],
        metric: &[Symmetric],
    ) -> Result<Vec<Symmetric>, MetricError> {
        // Σ gᵢ eᵢ eᵢᵀ is the metric of the speeds gᵢ^−½.
        let speeds = self.conductivity.map(|g| 1.0 / g.sqrt());
        let of_class = |class: &VelocityClass| {
            let directions = match &class.velocity {
                Velocity::Axes { directions, .. } | Velocity::EachSpeeds { directions, .. } => *directions,
                _ => Directions::Each,
            };
            VelocityClass { name: class.name.clone(), velocity: Velocity::Axes { speeds, directions } }
        };
        // A blocked class needs no directions.
        let blocked = |class: &VelocityClass| class.velocity == Velocity::Blocked;
        let open = classes.iter().map(|class| if blocked(class) { class.clone() } else { of_class(class) });
        let mut found = metrics(mesh, &open.collect::<Vec<_>>())?;
        found.iter_mut().zip(metric).for_each(|(sigma, metric)| {
            if *metric == BLOCKED {
                *sigma = [0.0; 6];
            }
        });
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEMPLATE: Template =
        Template { rest: -85.0, peak: 30.0, upstroke: 2.0, duration: Some(300.0), recovery: 50.0 };

    /// U itself.
    fn potential(template: &Template, tau: f64) -> f64 {
        let half = 0.5 * (template.peak - template.rest);
        let end = template.duration.map_or(-1.0, |duration| (2.0 * (tau - duration) / template.recovery).tanh());
        template.rest + half * ((2.0 * tau / template.upstroke).tanh() - end)
    }

    #[test]
    fn the_slope_is_the_derivative_of_the_template() {
        for template in [TEMPLATE, Template { duration: None, ..TEMPLATE }] {
            for tau in [-3.0, -0.4, 0.0, 0.3, 2.0, 250.0, 310.0] {
                let h = 1e-4;
                let slope = (potential(&template, tau + h) - potential(&template, tau - h)) / (2.0 * h);
                assert!((template.slope(tau) - slope).abs() < 1e-5, "{tau}: {} {slope}", template.slope(tau));
                let bend = (template.slope(tau + h) - 2.0 * template.slope(tau) + template.slope(tau - h)) / (h * h);
                assert!((template.slope_bend(tau) - bend).abs() < 1e-4, "{tau}: {} {bend}", template.slope_bend(tau));
            }
            let [before, after] = template.support();
            let rest = potential(&template, after + 1e6);
            assert!((potential(&template, before) - -85.0).abs() < 3e-9 * 115.0);
            assert!((potential(&template, after) - rest).abs() < 1e-8 * 115.0);
        }
    }

    #[test]
    fn samples_are_whole_steps_that_cover_the_support() {
        let sampling = Sampling { step: 0.5, from: None, to: None };
        let (from, n) = sampling.samples(&TEMPLATE, [0.2, 80.0]).unwrap();
        assert_eq!((from, n), (-10.0, ((80.0 + 300.0 + 250.0 + 10.0) / 0.5) as usize + 1));
        assert_eq!(
            Sampling { from: Some(0.0), to: Some(1.0), step: 0.1 }.samples(&TEMPLATE, [0.0; 2]),
            Some((0.0, 11))
        );
        assert_eq!(Sampling { from: Some(0.0), to: Some(1.0), step: 1e-9 }.samples(&TEMPLATE, [0.0; 2]), None);
        assert_eq!(Sampling { from: Some(2.0), to: Some(1.0), step: 0.1 }.samples(&TEMPLATE, [0.0; 2]), None);
    }
}
