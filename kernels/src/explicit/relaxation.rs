//! Relaxation mechanisms: a generalised Maxwell body with anelastic functions (Emmerich and Korn, Geophysics 52, 1987).
//!
//! ```text
//! σ = C_U (ε − Σ_l Y_l ζ_l),   dζ_l/dt = ω_l (ε − ζ_l)
//! ```
//!
//! The ω_l are those of the whole model, and strain is linear in displacement. So each mechanism has one memory variable a degree
//! of freedom, z_l, which relaxes towards u, and elements feel K (u − Σ_l Y_l z_l) with the unrelaxed stiffness K and with the
//! Y_l of their material. For u linear between steps z_l is known exactly:
//!
//! ```text
//! z^n = z^{n−1} + (1 − a) (u^n − z^{n−1}) − b Δu^n,   a = exp(−x),   b = (1 − a)/x − a,   x = ω_l Δt
//! ```
//!
//! A block makes z^n of its nodes and of its halo when it begins step n, out of u^n and Δu^n: these pass between blocks, the
//! memory variables do not.

use super::problem::StepperError;

/// Mechanisms that a model can have.
pub const MOST_MECHANISMS: usize = 3;

/// The relaxation mechanisms of a model; none by default.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Relaxation {
    /// ω_l, 1/s, (n_mechanisms,).
    pub rates: Vec<f64>,
    /// Y_l of each section, (n_sections,), padded with 0; empty without mechanisms.
    pub strengths: Vec<[f64; MOST_MECHANISMS]>,
}

impl Relaxation {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rates.is_empty()
    }

    /// Y_l of a section.
    pub fn of_section(&self, section: usize) -> [f64; MOST_MECHANISMS] {
        self.strengths.get(section).copied().unwrap_or_default()
    }

    /// 1 − a and b of each mechanism.
    pub(super) fn factors(&self, time_increment: f64) -> Vec<[f64; 2]> {
        self.rates.iter().map(|rate| factors(rate * time_increment)).collect()
    }

    /// That there are not too many mechanisms, and that each section has strengths that are not negative and leave stiffness.
    pub(super) fn check(&self, n_sections: usize) -> Result<(), StepperError> {
        let is_rate = |rate: &f64| *rate > 0.0 && rate.is_finite();
        if self.rates.len() > MOST_MECHANISMS || !self.rates.iter().all(is_rate) {
            return Err(StepperError::RelaxationRates);
        }
        let n_strengths = if self.is_empty() { 0 } else { n_sections };
        crate::dynamics::check_length("relaxation strengths", n_strengths, self.strengths.len())?;
        let is_wrong = |strengths: &[f64; MOST_MECHANISMS]| {
            !(strengths.iter().all(|&strength| strength >= 0.0) && strengths.iter().sum::<f64>() < 1.0)
        };
        match self.strengths.iter().position(is_wrong) {
            Some(section) => Err(StepperError::RelaxationStrengths { section }),
            None => Ok(()),
        }
    }
}

/// 1 − a and b for x = ω Δt. b is x/2 − x²/3 + x³/8 − … where the difference of its terms would cancel.
fn factors(x: f64) -> [f64; 2] {
    let rest = -(-x).exp_m1();
    let b = if x < 1e-3 { x * (0.5 - x * (1.0 / 3.0 - x / 8.0)) } else { rest / x - 1.0 + rest };
    [rest, b]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_follows_a_ramp_exactly() {
        // u = 2 + 5 t and z(0) = 0.3: z = 2 + 5 (t − 1/ω) + (0.3 − 2 + 5/ω) exp(−ωt).
        for (omega, dt) in [(3.0f64, 0.2), (3.0, 2e-4), (1e-6, 0.1), (1e-3, 1.0 - 1e-9)] {
            let [rest, b] = factors(omega * dt);
            let mut z = 0.3;
            for n in 1..=50 {
                let u = 2.0 + 5.0 * dt * f64::from(n);
                z = z + (rest * (u - z) - b * 5.0 * dt);
            }
            let t = 50.0 * dt;
            let exact = 2.0 + 5.0 * t + 5.0 / omega * (-omega * t).exp_m1() + (0.3 - 2.0) * (-omega * t).exp();
            assert!((z / exact - 1.0).abs() < 1e-9, "{omega} {dt}: {z} {exact}");
        }
    }
}
