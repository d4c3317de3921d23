//! Strain energy of eight voxels side by side.

use std::sync::LazyLock;

use super::cube::Cube;
use super::forces::{Corners, Part, add_part, amplitudes, k, one, three, two};
use super::number::{Eight, walsh};
use super::problem::Lame;
use crate::simd::{InstructionSet, Kernel, Lanes, Level};

/// Strain-energy densities of eight voxels of edge 1 and modulus 1, one a lane.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EnergyDensities {
    /// Means over the voxels, ½ uᵀ K u.
    pub mean: [f64; 8],
    /// Those of the strain at the centre, ½ ε : D ε.
    pub centre: [f64; 8],
}

impl EnergyDensities {
    /// Of eight voxels with these constants, from the displacements of their nodes by component, corner (x + 2 y + 4 z) and
    /// voxel.
    pub fn new(lame: &[Lame; 8], displacements: &[[[f64; 8]; 8]; 3]) -> Self {
        Level::detect().run(OfEight { lame, displacements })
    }
}

/// The blocks of λ = 1, μ = 0 and of λ = 0, μ = 1.
static PARTS: LazyLock<[Part<f64>; 2]> =
    LazyLock::new(|| [[1.0, 0.0], [0.0, 1.0]].map(|lame| Cube::of_lame(lame).blocks));

struct OfEight<'a> {
    lame: &'a [Lame; 8],
    displacements: &'a Corners<f64>,
}

impl Kernel for OfEight<'_> {
    type Output = EnergyDensities;

    #[inline(always)]
    fn run<I: InstructionSet>(self) -> EnergyDensities {
        type T = f64;
        let parts = &*PARTS;
        let zero = Eight::<T, I>::splat(0.0);
        let (mut lambda, mut mu) = (zero, zero);
        for (lane, lame) in self.lame.iter().enumerate() {
            (lambda.0[lane], mu.0[lane]) = (lame.0[0], lame.0[1]);
        }
        let mut u = [[zero; 8]; 3];
        for a in 0..3 {
            let mut v = [zero; 8];
            for c in 0..8 {
                v[c] = Eight::first_of(&self.displacements[a][c]);
            }
            u[a] = walsh(v);
        }
        let mut f = [[zero; 8]; 3];
        for p in 0..2 {
            let (blocks, e) = (&parts[p], if p == 0 { lambda } else { mu });
            add_part!(p, blocks, u, e, f, zero);
        }
        // Amplitude 0 is a translation, which has no force.
        let mut sum = zero;
        for a in 0..3 {
            for w in 1..8 {
                sum = u[a][w].fma(f[a][w], sum);
            }
        }
        // At the centre ∂u_a/∂x_m = −û_{2^m},a / 4.
        let trace = u[0][1] + u[1][2] + u[2][4];
        let mut squares = zero;
        for a in 0..3 {
            let (b, c) = ((a + 1) % 3, (a + 2) % 3);
            let (normal, shear) = (u[a][1 << a], u[b][1 << c] + u[c][1 << b]);
            squares = (normal + normal).fma(normal, squares);
            squares = shear.fma(shear, squares);
        }
        let centre = mu.fma(squares, lambda * trace * trace);
        EnergyDensities { mean: (sum * Eight::splat(0.5)).0, centre: (centre * Eight::splat(0.5 / 16.0)).0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::voxel::tests::random;

    #[test]
    fn energies_are_those_of_the_matrix_and_of_the_strain_at_the_centre() {
        let ratios = [0.3, 0.0, 0.49, -0.4, 0.2, 0.25, 0.33, 0.1];
        let at = |a: usize, c: usize, lane: usize| random((a + 3 * c + 24 * lane) as u64) - 0.5;
        let displacements =
            std::array::from_fn(|a| std::array::from_fn(|c| std::array::from_fn(|lane| at(a, c, lane))));
        let found = EnergyDensities::new(&ratios.map(Lame::new), &displacements);
        for (lane, ratio) in ratios.into_iter().enumerate() {
            let cube = Cube::new(ratio);
            let u = |i: usize| at(i % 3, i / 3, lane);
            let mean: f64 = (0..576).map(|i| 0.5 * u(i / 24) * cube.dense[i / 24][i % 24] * u(i % 24)).sum();
            assert!((found.mean[lane] - mean).abs() < 1e-14 * mean, "{ratio}: {} {mean}", found.mean[lane]);
            // The slopes of the shape functions at the centre are ± 1 / 4.
            let slope = |a: usize, m: usize| -> f64 {
                (0..8).map(|c| if c >> m & 1 == 1 { 0.25 } else { -0.25 } * at(a, c, lane)).sum()
            };
            let [lambda, mu] = Lame::new(ratio).0;
            let strain = |a: usize, b: usize| 0.5 * (slope(a, b) + slope(b, a));
            let trace = strain(0, 0) + strain(1, 1) + strain(2, 2);
            let squares: f64 = (0..9).map(|i| strain(i / 3, i % 3).powi(2)).sum();
            let centre = 0.5 * lambda * trace * trace + mu * squares;
            assert!((found.centre[lane] - centre).abs() < 1e-14 * squares, "{ratio}: {} {centre}", found.centre[lane]);
        }
    }
}
