//! The dense stiffness of one element: K_e = Σ_q w_q det J_q Bᵀ D B, or V B̄ᵀ D B̄ + hourglass stiffness.

use pogo_formats::model::ElementKind;

use super::shape::{CORNERS, QuadraturePoint, gradients};
use super::{is_reduced, plane_elasticity, thickness};
use crate::explicit::SectionProperties;

/// Default hourglass coefficient k of the one-point elements. The hourglass modes γ_α (Flanagan and Belytschko 1981,
/// orthogonal to linear fields) get the stiffness
///
/// ```text
/// κ = k h M / n_nodes · Σ_Ii B̄_Ii² / V,    f_Ii = κ Σ_α γ_αI γ_αJ u_Ji
/// ```
///
/// with the mean gradient operator B̄_Ii = ∫ ∂N_I/∂x_i dV, the volume V, the section's factor h and M the mean of
/// D11, D22 (and D33 in 3D; plane values in 2D), which is λ + 2μ for isotropic solids.
pub const HOURGLASS_COEFFICIENT: f64 = 0.05;

/// The hourglass base vectors h_α: ξη in 2D; ηζ, ζξ, ξη, ξηζ at the corners in 3D.
pub fn hourglass_vectors(dimension: usize) -> Vec<[f64; 8]> {
    let product = |f: fn([f64; 3]) -> f64| CORNERS.map(f);
    if dimension == 2 {
        let mut xy = product(|[a, b, _]| a * b);
        xy[4..].fill(0.0);
        vec![xy]
    } else {
        vec![
            product(|[_, b, c]| b * c),
            product(|[a, _, c]| a * c),
            product(|[a, b, _]| a * b),
            product(|[a, b, c]| a * b * c),
        ]
    }
}

/// M of [`HOURGLASS_COEFFICIENT`], Pa.
pub(crate) fn hourglass_modulus(kind: ElementKind, elasticity: &[f64; 36]) -> f64 {
    if kind.dimension() == 2 {
        let d = plane_elasticity(elasticity, kind.is_plane_stress());
        (d[0][0] + d[1][1]) / 2.0
    } else {
        (elasticity[0] + elasticity[7] + elasticity[14]) / 3.0
    }
}

/// K_e, N/m, (n, n) row-major with n = nodes × dimension, degrees of freedom node by node. `positions` has z = 0 in 2D
/// and zero rows beyond the element's nodes; `rule` is [`quadrature`](super::quadrature) of the kind.
pub fn element_stiffness(
    kind: ElementKind,
    rule: &[QuadraturePoint],
    positions: &[[f64; 3]; 8],
    section: &SectionProperties,
) -> Vec<f64> {
    let (dimension, n_nodes) = (kind.dimension(), kind.n_nodes());
    let n = n_nodes * dimension;
    let d = strain_elasticity(kind, &section.elasticity);
    let thickness = thickness(kind, section.thickness);
    let mut k = vec![0.0; n * n];
    let points = rule.iter().map(|point| {
        let (dx, det) = gradients(point, positions, dimension);
        (dx, point.weight * det * thickness)
    });
    if !is_reduced(kind) {
        for (dx, dv) in points {
            add_stiffness(&mut k, &dx, dv, &d, dimension, n_nodes);
        }
        return k;
    }
    // Mean gradient: B̄/V, exact for this rule.
    let mut volume = 0.0;
    let mut mean = [[0.0; 3]; 8];
    for (dx, dv) in points {
        volume += dv;
        for (sum, row) in mean.iter_mut().zip(&dx) {
            for i in 0..dimension {
                sum[i] += row[i] * dv;
            }
        }
    }
    let squares: f64 = mean.iter().flatten().map(|b| b * b).sum();
    for value in mean.iter_mut().flatten() {
        *value /= volume;
    }
    add_stiffness(&mut k, &mean, volume, &d, dimension, n_nodes);
    let modulus = hourglass_modulus(kind, &section.elasticity);
    let kappa = HOURGLASS_COEFFICIENT * section.hourglass_factor * modulus * squares / (volume * n_nodes as f64);
    for h in hourglass_vectors(dimension) {
        let mut gamma = h;
        for j in 0..dimension {
            let moment: f64 = (0..n_nodes).map(|node| positions[node][j] * h[node]).sum();
            for node in 0..n_nodes {
                gamma[node] -= mean[node][j] * moment;
            }
        }
        for a in 0..n_nodes {
            for b in 0..n_nodes {
                for i in 0..dimension {
                    k[(a * dimension + i) * n + b * dimension + i] += kappa * gamma[a] * gamma[b];
                }
            }
        }
    }
    k
}

/// D for the strains of the kind: (ε11, ε22, γ12) in 2D, all six in 3D; zero beyond.
pub(crate) fn strain_elasticity(kind: ElementKind, elasticity: &[f64; 36]) -> [[f64; 6]; 6] {
    let mut d = [[0.0; 6]; 6];
    if kind.dimension() == 2 {
        let plane = plane_elasticity(elasticity, kind.is_plane_stress());
        for i in 0..3 {
            d[i][..3].copy_from_slice(&plane[i]);
        }
    } else {
        for i in 0..6 {
            d[i].copy_from_slice(&elasticity[6 * i..6 * i + 6]);
        }
    }
    d
}

/// Rows of B for one degree of freedom: the strains of a unit displacement of component `i` with gradient `g`.
pub(crate) fn strain_of(g: &[f64; 3], i: usize, dimension: usize) -> [f64; 6] {
    let [x, y, z] = *g;
    if dimension == 2 {
        if i == 0 { [x, 0.0, y, 0.0, 0.0, 0.0] } else { [0.0, y, x, 0.0, 0.0, 0.0] }
    } else {
        match i {
            0 => [x, 0.0, 0.0, y, z, 0.0],
            1 => [0.0, y, 0.0, x, 0.0, z],
            _ => [0.0, 0.0, z, 0.0, x, y],
        }
    }
}

fn add_stiffness(k: &mut [f64], dx: &[[f64; 3]; 8], dv: f64, d: &[[f64; 6]; 6], dimension: usize, n_nodes: usize) {
    let n = n_nodes * dimension;
    let mut b = [[0.0; 6]; 24];
    for (dof, row) in b[..n].iter_mut().enumerate() {
        *row = strain_of(&dx[dof / dimension], dof % dimension, dimension);
    }
    for column in 0..n {
        let mut stress = [0.0; 6];
        for i in 0..6 {
            stress[i] = dv * (0..6).map(|j| d[i][j] * b[column][j]).sum::<f64>();
        }
        for row in 0..n {
            k[row * n + column] += (0..6).map(|i| b[row][i] * stress[i]).sum::<f64>();
        }
    }
}
