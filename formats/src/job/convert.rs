//! Tables of a job as parts of the [`model`](crate::explicit::model). Errors are messages for the user, without the place.

use super::check::positive;
use super::{
    Absorbing, Amplitude, AmplitudeKind, Boundary, Field, InitialVelocity, Material, Monitor, Profile, Section, Sides,
    Source,
};
use crate::dynamics::{AmplitudeShape, BoundaryKind, OutputInterval, Window};
use crate::explicit::{AbsorbingProfile, Elasticity};
use crate::words::counted;

/// Which nodes a table means.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Region<'a> {
    /// The nearest one.
    Point(&'a [f64]),
    /// Those along a segment.
    Line([&'a [f64]; 2]),
    /// Those between two corners.
    Box([&'a [f64]; 2]),
    /// A set of the deck.
    Set(&'a str),
    /// Those on sides of the bounding box.
    Sides(&'a Sides),
    /// All of them.
    All,
}

/// What a source does: a total force (N) or a motion.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Action {
    /// N.
    Force(f64),
    /// m, m/s or m/s².
    Motion(BoundaryKind, f64),
}

/// The one that is there.
fn exactly_one<T, const N: usize>(choices: [(&str, Option<T>); N]) -> Result<T, String> {
    let names = choices.each_ref().map(|(name, _)| format!("`{name}`"));
    let mut found = choices.into_iter().filter_map(|(name, choice)| Some((name, choice?)));
    match (found.next(), found.next()) {
        (Some((_, choice)), None) => Ok(choice),
        (None, _) => Err(format!("give one of {}", names.join(", "))),
        (Some((one, _)), Some((other, _))) => {
            Err(format!("give `{one}` or `{other}`, not both (one of {})", names.join(", ")))
        }
    }
}

fn ends(pair: &[Vec<f64>; 2]) -> [&[f64]; 2] {
    [&pair[0], &pair[1]]
}

macro_rules! region {
    ($type:ty) => {
        impl $type {
            /// Where.
            ///
            /// # Errors
            /// A message when there is none or more than one.
            pub fn region(&self) -> Result<Region<'_>, String> {
                positive("tolerance", self.tolerance)?;
                exactly_one([
                    ("at", self.at.as_deref().map(Region::Point)),
                    ("line", self.line.as_ref().map(|pair| Region::Line(ends(pair)))),
                    ("box", self.corners.as_ref().map(|pair| Region::Box(ends(pair)))),
                    ("nset", self.nset.as_deref().map(Region::Set)),
                    ("side", self.side.as_ref().map(Region::Sides)),
                ])
            }
        }
    };
}

region!(Source);
region!(Boundary);
region!(Monitor);

impl InitialVelocity {
    /// Where.
    ///
    /// # Errors
    /// A message when there is none or more than one.
    pub fn region(&self) -> Result<Region<'_>, String> {
        positive("tolerance", self.tolerance)?;
        exactly_one([
            ("all", self.all.then_some(Region::All)),
            ("box", self.corners.as_ref().map(|pair| Region::Box(ends(pair)))),
            ("nset", self.nset.as_deref().map(Region::Set)),
            ("side", self.side.as_ref().map(Region::Sides)),
        ])
    }
}

impl Source {
    /// What it does.
    ///
    /// # Errors
    /// A message when there is none or more than one.
    pub fn action(&self) -> Result<Action, String> {
        exactly_one([
            ("force", self.force.map(Action::Force)),
            ("displacement", self.displacement.map(|value| Action::Motion(BoundaryKind::Displacement, value))),
            ("velocity", self.velocity.map(|value| Action::Motion(BoundaryKind::Velocity, value))),
            ("acceleration", self.acceleration.map(|value| Action::Motion(BoundaryKind::Acceleration, value))),
        ])
    }

    /// Exactly one of the keys that give a direction.
    pub(crate) fn check_direction(&self) -> Result<(), String> {
        exactly_one([
            ("direction", self.direction.as_ref().map(|_| ())),
            ("component", self.component.map(|_| ())),
            ("angle", self.angle.map(|_| ())),
        ])
    }

    /// Unit vector in which it acts, for a mesh of this dimension.
    ///
    /// # Errors
    /// A message when there is none or more than one, or it does not fit the dimension.
    pub fn unit_direction(&self, dimension: usize) -> Result<[f64; 3], String> {
        self.check_direction()?;
        let mut vector = [0.0; 3];
        if let Some(given) = &self.direction {
            vector = point(given, dimension, "direction")?;
        } else if let Some(component) = self.component {
            let component = usize::from(component.0);
            if component >= dimension {
                return Err(format!("component {} does not exist in a {dimension}D mesh", component + 1));
            }
            vector[component] = 1.0;
        } else if let Some(angle) = self.angle {
            if dimension != 2 {
                return Err("`angle` is for 2D meshes; give `direction`".to_owned());
            }
            // Exact for multiples of 90°, where the sine of π would leave 1e-16 in the other component.
            let (sin, cos) = match angle.rem_euclid(360.0) {
                0.0 => (0.0, 1.0),
                90.0 => (1.0, 0.0),
                180.0 => (0.0, -1.0),
                270.0 => (-1.0, 0.0),
                other => other.to_radians().sin_cos(),
            };
            vector = [cos, sin, 0.0];
        }
        let norm = vector.iter().map(|x| x * x).sum::<f64>().sqrt();
        if !norm.is_normal() {
            return Err("`direction` has no length, or too much".to_owned());
        }
        Ok(vector.map(|x| x / norm))
    }
}

/// A position or vector of a job, padded to three numbers. A 2D mesh takes two numbers, or three of which the last is 0.
///
/// # Errors
/// A message that names `key` when the count is wrong.
pub fn point(given: &[f64], dimension: usize, key: &str) -> Result<[f64; 3], String> {
    let mut padded = [0.0; 3];
    if given.len() != dimension && !(dimension == 2 && given.len() == 3 && given[2] == 0.0) {
        return Err(format!("`{key}` has {}, the mesh has {dimension} dimensions", counted(given.len(), "number")));
    }
    padded[..given.len()].copy_from_slice(given);
    Ok(padded)
}

impl Material {
    /// The stiffness that the keys give.
    ///
    /// # Errors
    /// A message when none or several are given, or values are impossible.
    pub fn elasticity(&self) -> Result<Elasticity, String> {
        positive("density", Some(self.density))?;
        if self.alpha < 0.0 {
            return Err(format!("`alpha` must not be negative, not {}", self.alpha));
        }
        let isotropic = (self.young.is_some() || self.poisson.is_some()).then_some(0);
        let speeds = (self.p_speed.is_some() || self.s_speed.is_some()).then_some(1);
        let kind = exactly_one([
            ("young and poisson", isotropic),
            ("p_speed and s_speed", speeds),
            ("engineering_constants", self.engineering_constants.map(|_| 2)),
            ("orthotropic", self.orthotropic.map(|_| 3)),
            ("anisotropic", self.anisotropic.map(|_| 4)),
        ])?;
        if kind <= 1 {
            let (young, poisson) = if kind == 0 {
                match (self.young, self.poisson) {
                    (Some(young), Some(poisson)) => (young, poisson),
                    (None, _) => return Err("`poisson` needs `young` beside it".to_owned()),
                    _ => return Err("`young` needs `poisson` beside it".to_owned()),
                }
            } else {
                let (Some(p), Some(s)) = (self.p_speed, self.s_speed) else {
                    return Err("`p_speed` and `s_speed` are needed both".to_owned());
                };
                if !(s > 0.0 && p > s * (4.0_f64 / 3.0).sqrt()) {
                    return Err(format!(
                        "`p_speed` must be above √(4/3) times `s_speed`, and that above 0 (not {p}, {s})"
                    ));
                }
                let (p2, s2) = (p * p, s * s);
                (self.density * s2 * (3.0 * p2 - 4.0 * s2) / (p2 - s2), (p2 - 2.0 * s2) / (2.0 * (p2 - s2)))
            };
            positive("young", Some(young))?;
            if !(poisson > -1.0 && poisson < 0.5) {
                return Err(format!("`poisson` must lie between -1 and 0.5, not {poisson}"));
            }
            return Ok(Elasticity::Isotropic { young, poisson });
        }
        let elasticity = match (self.engineering_constants, self.orthotropic, self.anisotropic) {
            (Some(constants), _, _) => Elasticity::EngineeringConstants(constants),
            (_, Some(constants), _) => Elasticity::Orthotropic(constants),
            (_, _, Some(constants)) => Elasticity::Anisotropic(constants),
            _ => return Err("no stiffness".to_owned()),
        };
        if elasticity.matrix().is_none() {
            return Err(format!(
                "material \"{}\" would give energy away: its stiffness is not positive definite",
                self.name
            ));
        }
        Ok(elasticity)
    }
}

impl Section {
    /// Rows are the material's axes in global components; `None` where the job says nothing.
    ///
    /// # Errors
    /// A message when the two vectors are parallel, or both keys are there.
    pub fn material_from_global(&self) -> Result<Option<[f64; 9]>, String> {
        match (self.orientation, self.angle) {
            (None, None) => Ok(None),
            (Some(_), Some(_)) => Err("give `orientation` or `angle`, not both".to_owned()),
            (None, Some(angle)) => {
                let (s, c) = angle.to_radians().sin_cos();
                Ok(Some([c, s, 0.0, -s, c, 0.0, 0.0, 0.0, 1.0]))
            }
            (Some([a, b]), None) => {
                let dot = |u: [f64; 3], v: [f64; 3]| u[0] * v[0] + u[1] * v[1] + u[2] * v[2];
                let cross = |u: [f64; 3], v: [f64; 3]| {
                    [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]]
                };
                let unit = |u: [f64; 3]| u.map(|x| x / dot(u, u).sqrt());
                let normal = cross(a, b);
                let sine_squared = dot(normal, normal) / (dot(a, a) * dot(b, b));
                if sine_squared.is_nan() || sine_squared < 1e-20 {
                    return Err("the two vectors of `orientation` are parallel or have no length".to_owned());
                }
                let (e1, e3) = (unit(a), unit(normal));
                let e2 = cross(e3, e1);
                Ok(Some([e1[0], e1[1], e1[2], e2[0], e2[1], e2[2], e3[0], e3[1], e3[2]]))
            }
        }
    }
}

impl Amplitude {
    /// The function that the keys give.
    ///
    /// # Errors
    /// A message when a key is missing, does not belong to the kind, or has an impossible value.
    pub fn shape(&self) -> Result<AmplitudeShape, String> {
        use AmplitudeKind as K;
        let (kind, allowed): (&str, &[&str]) = match self.kind {
            K::Hann => ("hann", &["frequency", "cycles"]),
            K::Gaussian => ("gaussian", &["frequency", "cycles"]),
            K::Rectangular => ("rectangular", &["frequency", "cycles"]),
            K::Ricker => ("ricker", &["frequency", "peak_time"]),
            K::GaussianPulse => ("gaussian_pulse", &["rate", "peak_time"]),
            K::Table => ("table", &["times", "values"]),
            K::SmoothStep => ("smooth_step", &["times", "values"]),
        };
        let present = [
            ("frequency", self.frequency.is_some()),
            ("cycles", self.cycles.is_some()),
            ("peak_time", self.peak_time.is_some()),
            ("rate", self.rate.is_some()),
            ("times", self.times.is_some()),
            ("values", self.values.is_some()),
        ];
        let list = || allowed.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(" and ");
        if let Some((key, _)) = present.iter().find(|(key, present)| *present && !allowed.contains(key)) {
            return Err(format!("`{key}` does not belong to an amplitude of kind \"{kind}\", which has {}", list()));
        }
        positive("frequency", self.frequency)?;
        positive("cycles", self.cycles)?;
        positive("rate", self.rate)?;
        let need = |key: &str, value: Option<f64>| {
            value.ok_or_else(|| format!("an amplitude of kind \"{kind}\" needs {} (`{key}` is missing)", list()))
        };
        let burst = |window| -> Result<AmplitudeShape, String> {
            let (frequency, cycles) = (need("frequency", self.frequency)?, need("cycles", self.cycles)?);
            Ok(AmplitudeShape::ToneBurst { window, frequency, cycles })
        };
        match self.kind {
            K::Hann => burst(Window::Hann),
            K::Gaussian => burst(Window::Gaussian),
            K::Rectangular => burst(Window::Rectangular),
            K::Ricker => {
                let frequency = need("frequency", self.frequency)?;
                Ok(AmplitudeShape::Ricker { frequency, peak_time: self.peak_time.unwrap_or(1.5 / frequency) })
            }
            K::GaussianPulse => Ok(AmplitudeShape::GaussianPulse {
                rate: need("rate", self.rate)?,
                peak_time: need("peak_time", self.peak_time)?,
            }),
            K::Table | K::SmoothStep => {
                let (Some(times), Some(values)) = (&self.times, &self.values) else {
                    return Err(format!("an amplitude of kind \"{kind}\" needs `times` and `values`, or `file`"));
                };
                if times.len() != values.len() || times.is_empty() {
                    return Err(format!(
                        "{} times and {} values: as many of each, at least 1",
                        times.len(),
                        values.len()
                    ));
                }
                let strict = self.kind == K::SmoothStep;
                if times.windows(2).any(|pair| pair[1] < pair[0] || strict && pair[1] == pair[0]) {
                    return Err("`times` must increase".to_owned());
                }
                let (times, values) = (times.clone(), values.clone());
                Ok(if strict {
                    AmplitudeShape::SmoothStep { times, values }
                } else {
                    AmplitudeShape::Tabular { times, values }
                })
            }
        }
    }
}

pub(crate) fn when(
    every: Option<u32>,
    interval: Option<f64>,
    count: Option<u32>,
) -> Result<Option<OutputInterval>, String> {
    positive("interval", interval)?;
    if every == Some(0) || count == Some(0) {
        return Err("`every` and `count` must be at least 1".to_owned());
    }
    if every.is_none() && interval.is_none() && count.is_none() {
        return Ok(None);
    }
    exactly_one([
        ("every", every.map(OutputInterval::Increments)),
        ("interval", interval.map(OutputInterval::Time)),
        ("count", count.map(OutputInterval::Count)),
    ])
    .map(Some)
}

impl Monitor {
    /// When it is written; every increment by default.
    ///
    /// # Errors
    /// A message when more than one key says so, or with an impossible value.
    pub fn when(&self) -> Result<OutputInterval, String> {
        Ok(when(self.every, self.interval, self.count)?.unwrap_or(OutputInterval::Increments(1)))
    }
}

impl Field {
    /// When it is written.
    ///
    /// # Errors
    /// A message when no key or more than one says so, or with an impossible value.
    pub fn when(&self) -> Result<OutputInterval, String> {
        when(self.every, self.interval, self.count)?
            .ok_or_else(|| "give one of `every`, `interval`, `count`".to_owned())
    }
}

impl Absorbing {
    /// The law that the keys give.
    ///
    /// # Errors
    /// A message when a key is missing, does not belong to the profile, or has an impossible value.
    pub fn law(&self) -> Result<AbsorbingProfile, String> {
        for (key, value) in [
            ("d_max", self.d_max),
            ("exponent", self.exponent),
            ("frequency", self.frequency),
            ("wave_speed", self.wave_speed),
        ] {
            positive(key, value)?;
        }
        match self.profile {
            Profile::Damping => {
                if self.frequency.is_some() || self.wave_speed.is_some() {
                    return Err("`frequency` and `wave_speed` belong to profile \"stiffness_reduction\"".to_owned());
                }
                let d_max = self.d_max.ok_or("profile \"damping\" needs `d_max` (1/s)")?;
                Ok(AbsorbingProfile::Damping { d_max, exponent: self.exponent.unwrap_or(3.0) })
            }
            Profile::StiffnessReduction => {
                if self.d_max.is_some() || self.exponent.is_some() {
                    return Err("`d_max` and `exponent` belong to profile \"damping\"".to_owned());
                }
                let (Some(frequency), Some(wave_speed)) = (self.frequency, self.wave_speed) else {
                    return Err("profile \"stiffness_reduction\" needs `frequency` and `wave_speed`".to_owned());
                };
                Ok(AbsorbingProfile::StiffnessReduction { frequency, wave_speed, thickness: self.depth })
            }
        }
    }
}
