//! `[[absorbing]]`: layers that take waves away.

use serde::Deserialize;

use crate::explicit::AbsorbingProfile;
use crate::job::Sides;
use crate::job::check::{named, positive};
use crate::words::{Choice, Word};

/// `[[absorbing]]`: elements within `depth` of the given sides of the mesh's bounding box take waves away. Where two sides
/// meet, the larger depth fraction X counts.
///
/// | profile | law | keys |
/// |---|---|---|
/// | `damping` | α = d_max Xᵖ | `d_max`; `exponent`, 3 when absent |
/// | `stiffness_reduction` | α = 2πf X³, E′ = E exp(−a X³ k₀ X l), k₀ = 2πf/c, a = −ln(0.01)/(k₀ l) | `frequency`, `wave_speed` |
#[derive(Deserialize, Debug, Clone, PartialEq)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct Absorbing {
    /// Name, for changes by name; `LAYER` and a number when absent.
    pub name: Option<String>,
    /// One or several of `"xmin"`, `"xmax"`, `"ymin"`, `"ymax"`, `"zmin"`, `"zmax"`.
    pub side: Sides,
    /// Thickness l of the layer, m: about 3 wavelengths for damping, 1.5 for stiffness reduction.
    pub depth: f64,
    pub profile: Word<Profile>,
    /// Damping at the outer face, 1/s.
    pub d_max: Option<f64>,
    /// p.
    pub exponent: Option<f64>,
    /// f, Hz.
    pub frequency: Option<f64>,
    /// c, m/s.
    pub wave_speed: Option<f64>,
    /// Only elements of this set.
    pub elset: Option<String>,
}

/// Laws of [`Absorbing`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// Mass-proportional damping that grows with depth.
    Damping,
    /// Damping, and a stiffness that falls with depth.
    StiffnessReduction,
}

impl Choice for Profile {
    const WORDS: &'static [(&'static str, Self)] =
        &[("damping", Self::Damping), ("stiffness_reduction", Self::StiffnessReduction)];
}

impl Absorbing {
    pub(super) fn check(&self) -> Result<(), String> {
        named(self.name.as_deref())?;
        positive("depth", Some(self.depth))?;
        self.law().map(|_| ())
    }

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
        match self.profile.0 {
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
