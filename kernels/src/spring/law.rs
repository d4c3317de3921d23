//! The force of a spring, without cancellation.
//!
//! ```text
//! q = l² − |d|² = Σ_c (e_c + 2 d_c) e_c        e = u_j − u_i
//! ε = q / L² + (|d|² − L²) / L²                so that w = 1 + ε = l² / L²
//! k (l − L) n = k ε / (w + √w) · (d + e)
//! c n · (v_j − v_i) n = (c / L² Δt) (Δe · (d + e)) / w · (d + e)
//! ```
//!
//! Strain is √w − 1, so a spring breaks where w exceeds (1 + largest strain)². From the other end d and e have the opposite
//! sign and nothing else changes: both ends compute the same bits.

use pogo_formats::spring::SpringGroup;

use crate::simd::Real;

/// What the force of a spring follows from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Law {
    /// Vector d between the ends at rest positions, m.
    pub rest: [f64; 3],
    /// Square of the rest length, L², m².
    pub length_squared: f64,
    /// (|d|² − L²) / L².
    pub offset: f64,
    /// k, N/m, the part of E A included.
    pub stiffness: f64,
    /// k without the part of E A, N/m, and E A × rest factor, N: that times √(1/L²) is the other part.
    pub parts: [f64; 2],
    /// Damping c, N s/m.
    pub damping: f64,
    /// Largest w at which the spring holds.
    pub limit: f64,
}

impl Law {
    /// The law of a group's spring along d, of stiffness k + E A / |d|.
    pub fn new(group: &SpringGroup, rest: [f64; 3]) -> Self {
        let square = |x: f64| x * x;
        let distance_squared = square(rest[0]) + square(rest[1]) + square(rest[2]);
        let factor = square(group.rest_factor);
        Self {
            rest,
            length_squared: factor * distance_squared,
            offset: (1.0 - factor) / factor,
            stiffness: group.stiffness + group.axial_stiffness / distance_squared.sqrt(),
            parts: [group.stiffness, group.axial_stiffness * group.rest_factor],
            damping: group.damping,
            limit: square(1.0 + group.max_strain),
        }
    }

    /// Strain measure ε at the relative displacement e.
    pub fn strain_measure(&self, e: [f64; 3]) -> f64 {
        let q: f64 = (0..3).map(|c| (e[c] + 2.0 * self.rest[c]) * e[c]).sum();
        q / self.length_squared + self.offset
    }

    /// Pull at i, N, its part from the damper alone, and the elastic energy, J, at e and Δe / Δt.
    pub fn force(&self, e: [f64; 3], rate: [f64; 3]) -> ([f64; 3], [f64; 3], f64) {
        let measure = self.strain_measure(e);
        let w = 1.0 + measure;
        let root = w.sqrt();
        let pull = self.stiffness * measure / (w + root);
        let along: [f64; 3] = std::array::from_fn(|c| self.rest[c] + e[c]);
        let closing: f64 = (0..3).map(|c| rate[c] * along[c]).sum();
        let drag = self.damping / self.length_squared * closing / w;
        let stretch = measure / (1.0 + root);
        (
            along.map(|a| (pull + drag) * a),
            along.map(|a| drag * a),
            0.5 * self.stiffness * self.length_squared * stretch * stretch,
        )
    }
}

/// The group of a spring between particles of two groups: in series, half of it belongs to each.
pub(crate) fn between(a: &SpringGroup, b: &SpringGroup) -> SpringGroup {
    let harmonic = |a: f64, b: f64| if a == b { a } else { 2.0 * (a * b) / (a + b) };
    SpringGroup {
        name: String::new(),
        stiffness: harmonic(a.stiffness, b.stiffness),
        axial_stiffness: harmonic(a.axial_stiffness, b.axial_stiffness),
        damping: harmonic(a.damping, b.damping),
        max_strain: a.max_strain.min(b.max_strain),
        rest_factor: 0.5 * (a.rest_factor + b.rest_factor),
    }
}

/// What the steppers need of a [`Law`], in their precision; `Rule` in springs.cuh.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Constants<T> {
    /// d.
    pub rest: [T; 3],
    /// 1 / L².
    pub inverse: T,
    pub offset: T,
    /// k.
    pub stiffness: T,
    /// c / L² Δt.
    pub damping: T,
    pub limit: T,
}

impl<T: Real> Constants<T> {
    pub fn new(law: &Law, time_increment: f64) -> Self {
        let inverse = T::from_f64(1.0 / law.length_squared);
        Self {
            rest: law.rest.map(T::from_f64),
            inverse,
            offset: T::from_f64(law.offset),
            stiffness: T::from_f64(law.stiffness),
            damping: T::from_f64(law.damping / time_increment) * inverse,
            limit: T::from_f64(law.limit),
        }
    }
}
