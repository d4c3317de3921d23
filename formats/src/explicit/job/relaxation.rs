//! `[relaxation]`: what the relaxation mechanisms of all materials have in common.

use serde::Deserialize;

use crate::relaxation::Relaxation as Setting;

/// `[relaxation]`: materials with a `quality_factor` or `attenuation` have it over this band.
#[derive(Deserialize, Debug, Clone, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Relaxation {
    /// Lowest and highest frequency, Hz. The relaxation frequencies are logarithmically spaced over it.
    pub band: [f64; 2],
    /// Relaxation mechanisms, 2 or 3; 3 when absent.
    pub mechanisms: Option<u32>,
    /// Frequency at which the moduli of materials hold, Hz: waves have their speeds there. The geometric mean of the band when
    /// absent.
    pub reference_frequency: Option<f64>,
}

impl Relaxation {
    /// The same with its defaults, not checked.
    pub fn setting(&self) -> Setting {
        Setting::new(self.band, self.mechanisms, self.reference_frequency)
    }
}
