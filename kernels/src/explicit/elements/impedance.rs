//! Impedance of plane waves.

use pogo_formats::material::eigenvalues;
use pogo_formats::mesh::ElementKind;

use super::elasticity::plane_elasticity;
use super::{SectionProperties, thickness};

/// Place of ij in Voigt's order.
const VOIGT: [[usize; 3]; 3] = [[0, 3, 4], [3, 1, 5], [4, 5, 2]];

/// Z(n) = (ρ Γ(n))^½, N s/m³, times the thickness in the plane, with the Christoffel matrix Γ_ik = D_ijkl n_j n_l: the
/// traction on a face with the unit normal `normal` is −Z v in any sum of plane waves that leave along it. Of an isotropic
/// material Z = ρ c_P n n + ρ c_S (1 − n n): the dashpots of Lysmer and Kuhlemeyer (1969).
///
/// `kind` is that of the element at the face: in the plane it says whether strain or stress is. The unknown of a fluid stands in
/// the first component, where its Z is 1/(ρ c) whatever the normal.
pub fn impedance(section: &SectionProperties, kind: ElementKind, normal: [f64; 3]) -> [[f64; 3]; 3] {
    let mut d = section.elasticity;
    if kind.is_acoustic() {
        let mut scalar = [[0.0; 3]; 3];
        // The law of a fluid has 1/κ for the density and 1/ρ for the elasticity.
        scalar[0][0] = thickness(kind, section.thickness) * (section.density * d[0]).sqrt();
        return scalar;
    }
    if kind.dimension() == 2 {
        let plane = plane_elasticity(&section.elasticity, kind.is_plane_stress());
        d = [0.0; 36];
        for (i, row) in [0, 1, 3].into_iter().zip(plane) {
            for (k, value) in [0, 1, 3].into_iter().zip(row) {
                d[6 * i + k] = value;
            }
        }
    }
    let mut square = [[0.0; 3]; 3];
    for i in 0..kind.dimension() {
        for k in 0..kind.dimension() {
            for j in 0..3 {
                for l in 0..3 {
                    let stiffness = d[6 * VOIGT[i][j] + VOIGT[k][l]];
                    square[i][k] += section.density * stiffness * normal[j] * normal[l];
                }
            }
        }
    }
    if kind.dimension() == 2 {
        // A third wave that meets none of the others.
        square[2][2] = 0.5 * (square[0][0] + square[1][1]);
    }
    let thickness = thickness(kind, section.thickness);
    let mut root = root(&square).map(|row| row.map(|value| thickness * value));
    if kind.dimension() == 2 {
        root[2][2] = 0.0;
    }
    root
}

/// The square root of a symmetric positive definite matrix C by the theorem of Cayley and Hamilton (Ting, J. Elasticity 15,
/// 1985): (I III 1 + (I² − II) C − C²)/(I II − III) with the invariants of the root.
fn root(c: &[[f64; 3]; 3]) -> [[f64; 3]; 3] {
    let [a, b, g] = eigenvalues(*c).map(|value| value.max(0.0).sqrt());
    let (first, second, third) = (a + b + g, a * b + b * g + g * a, a * b * g);
    let squared = |i: usize, k: usize| (0..3).map(|j| c[i][j] * c[j][k]).sum::<f64>();
    let unit = |i: usize, k: usize| if i == k { first * third } else { 0.0 };
    let scale = first * second - third;
    let entry = |i, k| (unit(i, k) + (first * first - second) * c[i][k] - squared(i, k)) / scale;
    [0, 1, 2].map(|i| [0, 1, 2].map(|k| entry(i, k)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{anisotropic, isotropic, section};

    #[test]
    fn the_impedance_is_density_times_speed_of_each_wave() {
        let normal = [0.48, -0.6, 0.64];
        let steel = section(isotropic(210e9, 0.3));
        let shear: f64 = 210e9 / 2.6;
        let [p, s] = [shear * (2.0 - 0.6) / (1.0 - 0.6), shear].map(|m| (m * steel.density).sqrt());
        let found = impedance(&steel, ElementKind::C3d8, normal);
        for i in 0..3 {
            for k in 0..3 {
                let along = normal[i] * normal[k];
                let expected = p * along + s * (if i == k { 1.0 } else { 0.0 } - along);
                assert!((found[i][k] - expected).abs() < 1e-9 * p, "{i} {k}: {} {expected}", found[i][k]);
            }
        }
        // Z² = ρ Γ of any material, and plane strain is a part of it where the normal lies in the plane.
        for kind in [ElementKind::C3d4, ElementKind::Cpe4, ElementKind::Cps3] {
            let (any, normal) = (section(anisotropic()), [0.6, 0.8, 0.0]);
            let z = impedance(&any, kind, normal);
            let gamma = |i: usize, k: usize| -> f64 {
                let mut d = any.elasticity;
                if kind.is_plane_stress() {
                    let plane = plane_elasticity(&any.elasticity, true);
                    for (i, row) in [0, 1, 3].into_iter().zip(plane) {
                        [0, 1, 3].into_iter().zip(row).for_each(|(k, value)| d[6 * i + k] = value);
                    }
                }
                let pairs = (0..2).flat_map(|j| (0..2).map(move |l| (j, l)));
                pairs.map(|(j, l)| d[6 * VOIGT[i][j] + VOIGT[k][l]] * normal[j] * normal[l]).sum()
            };
            for i in 0..kind.dimension() {
                for k in 0..kind.dimension() {
                    let square: f64 = (0..3).map(|j| z[i][j] * z[j][k]).sum();
                    let expected = any.density * any.thickness.powi(2) * gamma(i, k);
                    assert!((square - expected).abs() < 1e-9 * (any.density * gamma(0, 0)).abs(), "{kind:?} {i} {k}");
                }
            }
        }
    }
}
