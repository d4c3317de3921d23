//! `[[absorbing]]`: layers that take waves away.

use serde::Deserialize;

use crate::explicit::AbsorbingProfile;
use crate::job::Sides;
use crate::job::check::{exactly_one, named, positive};
use crate::words::{Choice, Word};

/// `[[absorbing]]`: elements within `depth` of the given sides of the mesh's bounding box take waves away. Where two sides
/// meet, the larger depth fraction X counts. With the profile `impedance` dashpots on outer faces do it.
///
/// | profile | law | keys |
/// |---|---|---|
/// | `damping` | α = d_max Xᵖ | `d_max`; `exponent`, 3 when absent |
/// | `stiffness_reduction` | α = 2πf X³, E′ = E exp(−a X³ k₀ X l), k₀ = 2πf/c, a = −ln(0.01)/(k₀ l) | `frequency`, `wave_speed` |
/// | `impedance` | traction −ρ c_P on the velocity along the normal, −ρ c_S on that along the face | none; `nset` in place of `side` |
#[derive(Deserialize, Debug, Clone, PartialEq)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct Absorbing {
    /// Name, for changes by name; `LAYER` and a number when absent.
    pub name: Option<String>,
    /// One or several of `"xmin"`, `"xmax"`, `"ymin"`, `"ymax"`, `"zmin"`, `"zmax"`.
    pub side: Option<Sides>,
    /// With the profile `impedance`: outer faces with all their nodes in this set.
    pub nset: Option<String>,
    /// Thickness l of the layer, m: about 3 wavelengths for damping, 1.5 for stiffness reduction.
    pub depth: Option<f64>,
    pub profile: Word<Profile>,
    /// Damping at the outer face, 1/s.
    pub d_max: Option<f64>,
    /// p.
    pub exponent: Option<f64>,
    /// f, Hz.
    pub frequency: Option<f64>,
    /// c, m/s.
    pub wave_speed: Option<f64>,
    /// Only elements of this set, or faces of these.
    pub elset: Option<String>,
}

/// Laws of [`Absorbing`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// Mass-proportional damping that grows with depth.
    Damping,
    /// Damping, and a stiffness that falls with depth.
    StiffnessReduction,
    /// Dashpots on the outer faces.
    Impedance,
}

impl Choice for Profile {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("damping", Self::Damping),
        ("stiffness_reduction", Self::StiffnessReduction),
        ("impedance", Self::Impedance),
    ];
}

impl Absorbing {
    pub(super) fn check(&self) -> Result<(), String> {
        named(self.name.as_deref())?;
        positive("depth", self.depth)?;
        match self.profile.0 {
            Profile::Impedance => self.check_impedance(),
            _ => self.layer().map(|_| ()),
        }
    }

    fn check_impedance(&self) -> Result<(), String> {
        let numbers = [self.depth, self.d_max, self.exponent, self.frequency, self.wave_speed];
        if numbers.iter().any(Option::is_some) {
            return Err("profile \"impedance\" needs no `depth` and no other number: it lies on faces".to_owned());
        }
        exactly_one([("side", self.side.as_ref().map(|_| ())), ("nset", self.nset.as_ref().map(|_| ()))])
    }

    /// Sides, depth and law of a layer.
    ///
    /// # Errors
    /// A message when a key is missing, does not belong to the profile, or has an impossible value.
    pub fn layer(&self) -> Result<(&Sides, f64, AbsorbingProfile), String> {
        if self.nset.is_some() {
            return Err("`nset` belongs to profile \"impedance\"".to_owned());
        }
        for (key, value) in [
            ("d_max", self.d_max),
            ("exponent", self.exponent),
            ("frequency", self.frequency),
            ("wave_speed", self.wave_speed),
        ] {
            positive(key, value)?;
        }
        let (Some(side), Some(thickness)) = (&self.side, self.depth) else {
            return Err("a layer needs `side` and `depth`; profile \"impedance\" needs no depth".to_owned());
        };
        let law = match self.profile.0 {
            Profile::Damping | Profile::Impedance => {
                if self.frequency.is_some() || self.wave_speed.is_some() {
                    return Err("`frequency` and `wave_speed` belong to profile \"stiffness_reduction\"".to_owned());
                }
                let d_max = self.d_max.ok_or("profile \"damping\" needs `d_max` (1/s)")?;
                AbsorbingProfile::Damping { d_max, exponent: self.exponent.unwrap_or(3.0) }
            }
            Profile::StiffnessReduction => {
                if self.d_max.is_some() || self.exponent.is_some() {
                    return Err("`d_max` and `exponent` belong to profile \"damping\"".to_owned());
                }
                let (Some(frequency), Some(wave_speed)) = (self.frequency, self.wave_speed) else {
                    return Err("profile \"stiffness_reduction\" needs `frequency` and `wave_speed`".to_owned());
                };
                AbsorbingProfile::StiffnessReduction { frequency, wave_speed, thickness }
            }
        };
        Ok((side, thickness, law))
    }
}
