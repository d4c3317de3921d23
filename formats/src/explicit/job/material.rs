//! `[[material]]`: density and stiffness.

use serde::Deserialize;

use crate::explicit::Elasticity;
use crate::job::check::{at_most_one, exactly_one, in_range, positive};
use crate::parameters::Range;
use crate::relaxation::Attenuation;

/// `[[material]]`: density and one of: `young` and `poisson`; `p_speed` and `s_speed`; `engineering_constants`;
/// `cubic`; `orthotropic`; `anisotropic`. A fluid has `bulk` or `sound_speed`; elements of it are computed as acoustic ones.
#[derive(Deserialize, Debug, Clone, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Material {
    /// Name; the deck's material of the same name is replaced.
    pub name: String,
    /// ρ, kg/m³.
    pub density: f64,
    /// Young's modulus E, Pa.
    pub young: Option<f64>,
    /// Poisson's ratio ν.
    pub poisson: Option<f64>,
    /// Speed of compression waves √((λ + 2μ)/ρ), m/s.
    pub p_speed: Option<f64>,
    /// Speed of shear waves √(μ/ρ), m/s.
    pub s_speed: Option<f64>,
    /// E1, E2, E3, ν12, ν13, ν23, G12, G13, G23 (Pa), in the material's axes.
    pub engineering_constants: Option<[f64; 9]>,
    /// C11, C12, C44 of a cubic crystal (Pa), in the material's axes.
    pub cubic: Option<[f64; 3]>,
    /// D1111, D1122, D2222, D1133, D2233, D3333, D1212, D1313, D2323 (Pa).
    pub orthotropic: Option<[f64; 9]>,
    /// The 21 constants of `*ELASTIC, TYPE=ANISOTROPIC`, in that order (Pa).
    pub anisotropic: Option<[f64; 21]>,
    /// Bulk modulus κ of a fluid, Pa.
    pub bulk: Option<f64>,
    /// Speed of sound √(κ/ρ) of a fluid, m/s.
    pub sound_speed: Option<f64>,
    /// Mass-proportional damping α in C = αM, 1/s; 0 when absent.
    #[serde(default)]
    pub alpha: f64,
    /// Stiffness-proportional damping β in C = βK, s; 0 when absent. It lowers the stable increment.
    #[serde(default)]
    pub beta: f64,
    /// Quality factor Q over the band of `[relaxation]`.
    pub quality_factor: Option<f64>,
    /// Attenuation of compression waves instead: a table over frequencies that cover the band of `[relaxation]`.
    pub attenuation: Option<AttenuationTable>,
}

/// `attenuation` of a `[[material]]`.
#[derive(Deserialize, Debug, Clone, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct AttenuationTable {
    /// f, Hz, ascending.
    pub frequency: Vec<f64>,
    /// α, dB/m, a power law between the frequencies.
    pub db_per_m: Vec<f64>,
}

impl Material {
    /// The attenuation that the keys give.
    ///
    /// # Errors
    /// A message when both are given, or values are impossible.
    pub fn attenuation(&self) -> Result<Attenuation, String> {
        let table = self
            .attenuation
            .clone()
            .map(|AttenuationTable { frequency, db_per_m }| Attenuation::Table { frequency, db_per_m });
        let quality = self.quality_factor.map(Attenuation::Quality);
        let found = at_most_one([("quality_factor", quality), ("attenuation", table)])?.unwrap_or_default();
        found.check()?;
        Ok(found)
    }

    /// The stiffness that the keys give.
    ///
    /// # Errors
    /// A message when none or several are given, or values are impossible.
    pub fn elasticity(&self) -> Result<Elasticity, String> {
        positive("density", Some(self.density))?;
        in_range("alpha", Some(self.alpha), Range::NotNegative)?;
        in_range("beta", Some(self.beta), Range::NotNegative)?;
        let isotropic = (self.young.is_some() || self.poisson.is_some()).then_some(0);
        let speeds = (self.p_speed.is_some() || self.s_speed.is_some()).then_some(1);
        let kind = exactly_one([
            ("young and poisson", isotropic),
            ("p_speed and s_speed", speeds),
            ("engineering_constants", self.engineering_constants.map(|_| 2)),
            ("cubic", self.cubic.map(|_| 3)),
            ("orthotropic", self.orthotropic.map(|_| 4)),
            ("anisotropic", self.anisotropic.map(|_| 5)),
            ("bulk", self.bulk.map(|_| 6)),
            ("sound_speed", self.sound_speed.map(|_| 6)),
        ])?;
        if kind == 6 {
            positive("bulk", self.bulk)?;
            positive("sound_speed", self.sound_speed)?;
            let of_speed = self.sound_speed.map(|speed| self.density * speed * speed);
            let bulk = self.bulk.or(of_speed).ok_or("no stiffness")?;
            return Ok(Elasticity::Fluid { bulk });
        }
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
            in_range("poisson", Some(poisson), Range::Poisson)?;
            return Ok(Elasticity::Isotropic { young, poisson });
        }
        let cubic = self.cubic.map(|[c11, c12, c44]| [c11, c12, c11, c12, c12, c11, c44, c44, c44]);
        let elasticity = match (self.engineering_constants, cubic.or(self.orthotropic), self.anisotropic) {
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
