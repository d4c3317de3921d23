//! Units in which the tables hold lengths and forces, and what they do about the rounding of single precision.

use pogo_formats::mesh::{ElementKind, ElementLaw};
use pogo_formats::system::parallel::iterate::*;

use super::elements::{HOURGLASS_COEFFICIENT, hourglass_modulus, mass_change, plane_elasticity, thickness};
use super::problem::{Problem, StepperError};
use crate::simd::Real;

/// Elasticity of one section for one kind, in the units of the tables.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Material<T> {
    /// D, 6 × 6; in 2D its leading 3 × 3 holds the plane part times the thickness. In the unit of force, and times the
    /// quadrature weight where that is no power of two.
    pub elasticity: [T; 36],
    /// κ without its geometric part.
    pub hourglass: T,
    /// No coupling between normal and shear strains, nor among the shears.
    pub aligned: bool,
    /// In the plane: D11 = D22 = D12 + 2 D66, D66 is positive, and aligned.
    pub isotropic: bool,
}

impl Material<f64> {
    /// Rounded to precision `T`.
    pub fn narrow<T: Real>(&self) -> Material<T> {
        Material {
            elasticity: self.elasticity.map(T::from_f64),
            hourglass: T::from_f64(self.hourglass),
            aligned: self.aligned,
            isotropic: self.isotropic,
        }
    }
}

/// Units and rounding of the block-local coordinates.
#[derive(Default)]
pub(super) struct Units {
    /// Power of two near the element size, m.
    pub length: f64,
    /// Grid on which all blocks round their positions, in multiples of `length`: every block sees the same geometry. 0: none.
    pub quantum: f64,
    /// Unit of force, N.
    pub force: f64,
}

/// Visits the nodes of a set.
pub(super) type Visit<'a> = dyn Fn(usize, &mut dyn FnMut(usize)) + Sync + 'a;

/// Units of force that are tried.
const FORCE_UNITS: u32 = 4096;
/// With more materials than this, no unit suits all, and their errors differ in sign.
const MAX_UNIT_MATERIALS: usize = 16;

/// The unit in 1 ≤ f < 2 in which the constants of all materials are rounded least.
///
/// A rounded D is another material: its waves are early or late everywhere, up to 1e-6 of a trace after a hundred
/// radians. Constants divided by a common factor are rounded otherwise, so that with a few materials one of thousands of
/// factors leaves a tenth of the error or less.
fn force_unit<T: Real>(materials: &[Material<f64>]) -> f64 {
    if T::SIGNIFICAND_BITS >= f64::MANTISSA_DIGITS as i32 || materials.len() > MAX_UNIT_MATERIALS {
        return 1.0;
    }
    let error = |unit: f64| {
        let mut worst = 0.0f64;
        for material in materials {
            let d = |i: usize, j: usize| material.elasticity[6 * i + j];
            for (i, j) in (0..6).flat_map(|i| (0..=i).map(move |j| (i, j))).filter(|&(i, j)| d(i, j) != 0.0) {
                let rounded = T::from_f64(d(i, j) / unit).to_f64() * unit;
                worst = worst.max((rounded - d(i, j)).abs() / (d(i, i) * d(j, j)).sqrt());
            }
        }
        worst
    };
    let units = (0..FORCE_UNITS).map(|k| 1.0 + f64::from(k) / f64::from(FORCE_UNITS));
    units
        .map(|unit| (unit, error(unit)))
        .fold((1.0, f64::INFINITY), |best, next| if next.1 < best.1 { next } else { best })
        .0
}

impl Units {
    /// For `n` sets of nodes that each have one origin; `nodes(i, visit)` visits those of set i. Without sets there is no grid:
    /// for edges that are each rounded by themselves.
    pub fn new<T: Real>(problem: &Problem, n: usize, nodes: &Visit) -> Self {
        let (mesh, blocks, dimension) = (&problem.mesh, &problem.blocks, problem.mesh.dimension);
        let [low, high] = bounds(mesh.coordinates, dimension, 0..mesh.n_nodes());
        let volume: f64 = (0..dimension).map(|i| high[i] - low[i]).product();
        let size = (volume / mesh.n_elements().max(1) as f64).powf(1.0 / dimension as f64);
        let length = if size > 0.0 && size.is_finite() { 2.0f64.powi(size.log2().round() as i32) } else { 1.0 };
        // The grid that the largest block can still hold exactly. Double precision needs none: positions relative to
        // the block are as exact as the positions themselves.
        let mut quantum = 0.0;
        if T::SIGNIFICAND_BITS < f64::MANTISSA_DIGITS as i32 {
            let extent = (0..n).into_par_iter().map(|i| {
                let (mut low, mut high) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
                nodes(i, &mut |node| widen(&mut low, &mut high, &mesh.coordinates[node * dimension..], dimension));
                (0..dimension).map(|i| high[i] - low[i]).fold(0.0, f64::max)
            });
            let half = 0.5 * extent.reduce(|| 0.0, f64::max) / length;
            if half > 0.0 && half.is_finite() {
                quantum = 2.0f64.powi(half.log2().ceil() as i32 - T::SIGNIFICAND_BITS);
            }
        }
        let mut units = Self { length, quantum, force: 1.0 };
        let mut used: Vec<_> =
            (0..blocks.n_blocks()).flat_map(|b| blocks.runs(b)).map(|r| (r.kind, r.section)).collect();
        used.sort_unstable();
        used.dedup();
        let materials: Vec<_> = used.iter().map(|&(kind, section)| units.material(problem, kind, section)).collect();
        units.force = force_unit::<T>(&materials);
        units
    }

    /// A coordinate, m, in units of length and rounded to the grid.
    pub fn round(&self, x: f64) -> f64 {
        let x = x / self.length;
        if self.quantum > 0.0 { (x / self.quantum).round() * self.quantum } else { x }
    }

    /// Factor on each node's mass, (n_nodes,), that makes up for the rounding of the positions; empty for none. Elements
    /// that are a little larger are also a little heavier: only the two together leave the speed of waves as it is.
    pub fn mass_factors(&self, problem: &Problem) -> Vec<f64> {
        if self.quantum == 0.0 {
            return Vec::new();
        }
        let grid = self.quantum * self.length;
        // The sums of rows stand for all lumpings: the factors differ from 1 by 1e-7.
        let change = mass_change(&problem.mesh, &problem.sections, |x| (x / grid).round() * grid);
        let factor = |(change, &mass): (f64, &f64)| if mass > 0.0 { 1.0 + change / mass } else { 1.0 };
        change.map_or_else(Vec::new, |change| change.into_iter().zip(&problem.lumped_mass).map(factor).collect())
    }

    /// Δt²/m/(1 + q), q = α Δt / 2, in the units of the tables, (n_nodes,); 0 for nodes without mass.
    pub fn inertia<T: Real>(&self, problem: &Problem) -> Result<Vec<T>, StepperError> {
        let (factors, dt) = (self.mass_factors(problem), problem.time_increment);
        let one = |(node, &mass): (usize, &f64)| {
            if !(mass >= 0.0 && mass.is_finite()) {
                return Err(StepperError::Mass { node, mass });
            }
            let rate = problem.damping_rate_of(node);
            if !(rate >= 0.0 && rate.is_finite()) {
                return Err(StepperError::Damping { node, rate });
            }
            let inertia = if mass == 0.0 { 0.0 } else { dt * dt / (mass * (1.0 + 0.5 * rate * dt)) };
            Ok(T::from_f64(inertia * self.force / factors.get(node).copied().unwrap_or(1.0)))
        };
        problem.lumped_mass.iter().enumerate().map(one).collect()
    }

    /// D of a section for a kind; ∫ Bᵀ D B dV scales with length^(dimension − 2).
    pub fn material(&self, problem: &Problem, kind: ElementKind, section: usize) -> Material<f64> {
        let section = &problem.sections[section];
        let thickness = thickness(kind, section.thickness);
        let weight = match kind.law() {
            ElementLaw::Tetrahedron | ElementLaw::FullWedge | ElementLaw::AcousticTetrahedron => 1.0 / 6.0,
            _ => 1.0,
        };
        let unit = weight * thickness * self.length.powi(kind.dimension() as i32 - 2) / self.force;
        let mut d = section.elasticity;
        let aligned;
        let mut isotropic = false;
        if kind.dimension() == 2 {
            let plane = plane_elasticity(&section.elasticity, kind.is_plane_stress());
            d = [0.0; 36];
            for i in 0..3 {
                d[6 * i..6 * i + 3].copy_from_slice(&plane[i]);
            }
            aligned = plane[0][2] == 0.0 && plane[1][2] == 0.0;
            let same = |a: f64, b: f64| (a - b).abs() <= 1e-14 * plane[0][0];
            isotropic = aligned
                && plane[2][2] > 0.0
                && same(plane[0][0], plane[1][1])
                && same(plane[0][0], plane[0][1] + 2.0 * plane[2][2]);
        } else {
            aligned = is_aligned(&d);
        }
        let hourglass = HOURGLASS_COEFFICIENT * section.hourglass_factor / kind.n_nodes() as f64
            * hourglass_modulus(kind, &section.elasticity);
        Material { elasticity: d.map(|d| d * unit), hourglass: hourglass * unit, aligned, isotropic }
    }
}

/// Whether shear and normal components do not meet in D.
pub fn is_aligned(d: &[f64; 36]) -> bool {
    (0..6).all(|i| (0..6).all(|j| i == j || (i < 3 && j < 3) || d[6 * i + j] == 0.0))
}

/// The box round some nodes, [low, high].
pub(super) fn bounds(coordinates: &[f64], dimension: usize, nodes: impl Iterator<Item = usize>) -> [[f64; 3]; 2] {
    let (mut low, mut high) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
    nodes.for_each(|node| widen(&mut low, &mut high, &coordinates[node * dimension..], dimension));
    [low, high]
}

/// Widens a box by the point that `x` begins with.
fn widen(low: &mut [f64; 3], high: &mut [f64; 3], x: &[f64], dimension: usize) {
    for i in 0..dimension {
        low[i] = low[i].min(x[i]);
        high[i] = high[i].max(x[i]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_of_force_rounds_the_constants_least() {
        // λ + 2μ, λ and μ of E = 210 GPa, ν = 0.3; on its own λ + 2μ is wrong by 5e-8 in single precision.
        let (young, poisson) = (210e9, 0.3);
        let shear = young / (2.0 * (1.0 + poisson));
        let lambda = 2.0 * shear * poisson / (1.0 - 2.0 * poisson);
        let mut elasticity = [0.0; 36];
        (elasticity[0], elasticity[1], elasticity[6]) = (lambda + 2.0 * shear, lambda, lambda);
        (elasticity[7], elasticity[14]) = (lambda + 2.0 * shear, shear);
        let steel = Material { elasticity, hourglass: 0.0, aligned: true, isotropic: true };
        let unit = force_unit::<f32>(std::slice::from_ref(&steel));
        assert!((1.0..2.0).contains(&unit));
        for value in elasticity {
            let error = f64::from((value / unit) as f32) * unit - value;
            assert!(error.abs() <= 5e-9 * value, "{value}: {error:e}");
        }
        assert_eq!(force_unit::<f64>(&[steel]), 1.0);
    }
}
