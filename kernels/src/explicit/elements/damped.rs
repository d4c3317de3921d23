//! The stable increment with damping in proportion to the stiffness, C = Σ β_m K_m, which acts with the velocity of the
//! increment before.
//!
//! The scheme M (Δu_{n+1} − Δu_n)/Δt² + C Δu_n/Δt + K u_n = 0 keeps
//!
//! ```text
//! E = ½ Δu·[M/Δt² − C/2Δt − K/4] Δu + ⅛ (u_n + u_{n−1})·K (u_n + u_{n−1})
//! ```
//!
//! but for what it loses, (Δu_n + Δu_{n+1})·C (Δu_n + Δu_{n+1})/4Δt ≥ 0 in each step. So it is stable where
//! 4M − 2Δt C − Δt² K is positive definite. Of one mode with ξ = βω/2 that is Ω² + 4ξΩ < 4 for Ω = ωΔt, or
//! Δt < 2/ω (√(1 + ξ²) − ξ): what Abaqus/Explicit takes for its own damping, too. Of the model it is Δt ≤ 2/ω′_max with
//! ω′ the frequencies of K + 2C/Δt, and that of the elements bounds it as without damping: an element's stiffness counts
//! 1 + 2β/Δt times.

use pogo_formats::mesh::{ElementKind, MeshView};

use super::stable::{StableIncrement, stable_increment_of};
use super::{ElementError, SectionProperties};

/// Relative difference below which an increment and the limit of the elements at that increment are the same.
const CLOSE: f64 = 1e-6;
/// Rounds in which the stiffest element alone says what comes next; then the increment is that limit.
const ROUNDS_OF_ONE: usize = 8;
/// Rounds after which the last safe increment is taken. Each halves the error at least.
const ROUNDS: usize = 64;

/// Factors on the stiffness of elements, (n_elements,), with which a model without damping has the stable increment of the
/// damped one, if that is `increment`: `stiffness_factor` times 1 + 2β/Δt. `beta` is β, s, (n_sections,).
pub fn damped_factors(mesh: &MeshView, stiffness_factor: &[f64], beta: &[f64], increment: f64) -> Vec<f64> {
    let sections = mesh.groups.iter().flat_map(|group| group.section);
    let factors = stiffness_factor.iter().copied().chain(std::iter::repeat(1.0));
    let of_section = |&section: &u32| 1.0 + 2.0 * beta.get(section as usize).copied().unwrap_or(0.0) / increment;
    sections.zip(factors).map(|(section, factor)| factor * of_section(section)).collect()
}

/// As [`stable_increment_of`], with damping in proportion to the stiffness: `beta` is β, s, (n_sections,), or empty.
///
/// # Errors
/// As for [`stable_increment_of`].
pub fn damped_stable_increment(
    mesh: &MeshView,
    sections: &[SectionProperties],
    stiffness_factor: &[f64],
    beta: &[f64],
    lumped_mass: &[f64],
    is_wanted: impl Fn(ElementKind) -> bool,
) -> Result<StableIncrement, ElementError> {
    let undamped = stable_increment_of(mesh, sections, stiffness_factor, lumped_mass, &is_wanted)?;
    if beta.iter().all(|&beta| beta == 0.0) {
        return Ok(undamped);
    }
    let limit = |increment: f64| {
        let factors = damped_factors(mesh, stiffness_factor, beta, increment);
        stable_increment_of(mesh, sections, &factors, lumped_mass, &is_wanted)
    };
    let mut increment = undamped.increment;
    for round in 0..ROUNDS {
        let found = limit(increment)?;
        if found.increment >= increment && found.increment <= increment * (1.0 + 4.0 * CLOSE) {
            return Ok(StableIncrement { increment, ..found });
        }
        let next = match round < ROUNDS_OF_ONE {
            true => of_element(mesh, beta, increment, found),
            false => found.increment,
        };
        // The limit at an increment that is not above it is never below it.
        increment = next * (1.0 - CLOSE);
    }
    Err(ElementError::NotPositive { what: "stable increment with this damping", value: increment })
}

/// √(β² + 4/ω²) − β of the stiffest element, whose limit is `found` where its stiffness counts 1 + 2β/Δt times.
fn of_element(mesh: &MeshView, beta: &[f64], increment: f64, found: StableIncrement) -> f64 {
    let section = mesh.group_of(found.element).map(|(group, at)| group.section[at] as usize);
    let beta = section.and_then(|section| beta.get(section)).copied().unwrap_or(0.0);
    let four_over_square = found.increment * found.increment * (1.0 + 2.0 * beta / increment);
    four_over_square / ((beta * beta + four_over_square).sqrt() + beta)
}
