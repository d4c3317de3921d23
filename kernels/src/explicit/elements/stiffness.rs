//! The dense stiffness of one element, K_IiJk = C_ijkl ∫ ∂N_I/∂x_j ∂N_J/∂x_l dV; of the one-point kinds with the mean
//! gradient in place of ∂N/∂x, and hourglass stiffness.

use pogo_formats::mesh::ElementKind;

use super::SectionProperties;
use super::shape::{CORNERS, gradients};
use super::{plane_elasticity, quadrature, thickness};

/// Default hourglass coefficient k of the one-point elements. The hourglass modes γ_α (Flanagan and Belytschko 1981,
/// orthogonal to linear fields) get the stiffness
///
/// ```text
/// κ = k h M / n_nodes · Σ_Ii B̄_Ii² / V,    f_Ii = κ Σ_α γ_αI γ_αJ u_Ji
/// ```
///
/// with the mean gradient operator B̄_Ii = ∫ ∂N_I/∂x_i dV, the volume V, the section's factor h and M the mean of
/// D11, D22 (and D33 in 3D; plane values in 2D), which is λ + 2μ for isotropic solids.
pub(crate) const HOURGLASS_COEFFICIENT: f64 = 0.05;

/// The hourglass base vectors h_α: ξη in 2D; ηζ, ζξ, ξη, ξηζ at the corners in 3D.
fn hourglass_vectors(dimension: usize) -> Vec<[f64; 8]> {
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
/// and zero rows beyond the element's nodes.
pub fn element_stiffness(kind: ElementKind, positions: &[[f64; 3]; 8], section: &SectionProperties) -> Vec<f64> {
    let law = ElasticLaw::new(kind, section);
    match kind.n_nodes() {
        3 => by_nodes(&Stiffness::<3>::new(&law, positions), kind),
        4 => by_nodes(&Stiffness::<4>::new(&law, positions), kind),
        6 => by_nodes(&Stiffness::<6>::new(&law, positions), kind),
        _ => by_nodes(&Stiffness::<8>::new(&law, positions), kind),
    }
}

fn by_nodes<const N: usize>(stiffness: &Stiffness<N>, kind: ElementKind) -> Vec<f64> {
    let dimension = kind.dimension();
    let n = N * dimension;
    let mut k = vec![0.0; n * n];
    for a in 0..N {
        for b in 0..N {
            for i in 0..dimension {
                for j in i..dimension {
                    let value = stiffness.blocks[block(i, j)][a][b];
                    k[(a * dimension + i) * n + b * dimension + j] = value;
                    k[(b * dimension + j) * n + a * dimension + i] = value;
                }
            }
        }
    }
    k
}

/// Elasticity of one section for one kind.
#[derive(Debug, Clone)]
pub(crate) struct ElasticLaw {
    kind: ElementKind,
    /// C_ijkl, Pa, times the thickness in 2D; plane components there.
    tensor: [[[[f64; 3]; 3]; 3]; 3],
    /// κ without its geometric part, times the thickness.
    hourglass: f64,
    thickness: f64,
}

impl ElasticLaw {
    pub fn new(kind: ElementKind, section: &SectionProperties) -> Self {
        let dimension = kind.dimension();
        let thickness = thickness(kind, section.thickness);
        let plane = plane_elasticity(&section.elasticity, kind.is_plane_stress());
        let mut tensor = [[[[0.0; 3]; 3]; 3]; 3];
        for i in 0..dimension {
            for j in 0..dimension {
                for k in 0..dimension {
                    for l in 0..dimension {
                        let (row, column) = (voigt(dimension, i, j), voigt(dimension, k, l));
                        let d = match kind.is_acoustic() {
                            // The unknown stands in the first component, and the others do not meet it.
                            true if i + k > 0 => 0.0,
                            true => section.elasticity[0] * f64::from(u8::from(j == l)),
                            false if dimension == 2 => plane[row][column],
                            false => section.elasticity[6 * row + column],
                        };
                        tensor[i][j][k][l] = d * thickness;
                    }
                }
            }
        }
        let modulus = hourglass_modulus(kind, &section.elasticity);
        let hourglass = HOURGLASS_COEFFICIENT * section.hourglass_factor * modulus / kind.n_nodes() as f64 * thickness;
        Self { kind, tensor, hourglass, thickness }
    }

    /// A c with Σ_i K_IiIi ≤ c ∫ |∂N_I/∂x|² dV without hourglass stiffness: the largest row sum of Σ_i C_ijil.
    pub fn trace_modulus(&self) -> f64 {
        let row = |j: usize| (0..3).map(|l| (0..3).map(|i| self.tensor[i][j][i][l]).sum::<f64>().abs()).sum();
        (0..3).map(row).fold(0.0, f64::max)
    }
}

/// Position in the Voigt order of the dimension: 11, 22, 12 in the plane.
fn voigt(dimension: usize, i: usize, j: usize) -> usize {
    const SPACE: [[usize; 3]; 3] = [[0, 3, 4], [3, 1, 5], [4, 5, 2]];
    if dimension == 2 && i != j { 2 } else { SPACE[i][j] }
}

/// Where the block of the components i ≤ k stands: all those of the plane come first.
pub(crate) const fn block(i: usize, k: usize) -> usize {
    k * (k + 1) / 2 + i
}

/// K_e of an element of N nodes, by components.
pub(crate) struct Stiffness<const N: usize> {
    /// `blocks[block(i, k)][I][J]` = K_IiJk.
    pub blocks: [[[f64; N]; N]; 6],
    /// ∫ |∂N_I/∂x|² dV of each node, at the points of `quadrature`, the thickness included.
    pub squares: [f64; N],
}

impl<const N: usize> Stiffness<N> {
    #[inline(always)]
    pub fn new(law: &ElasticLaw, positions: &[[f64; 3]; 8]) -> Self {
        let (kind, dimension) = (law.kind, law.kind.dimension());
        let reduced = kind.is_reduced();
        // a[block(j, l)][I][J] = ∫ ∂N_I/∂x_j ∂N_J/∂x_l dV
        let mut a = [[[0.0; N]; N]; 6];
        let mut squares = [0.0; N];
        let mut mean = [[0.0; N]; 3];
        let mut volume = 0.0;
        for point in quadrature(kind) {
            let (dx, det) = gradients(point, kind, positions);
            let dv = point.weight * det;
            let g: [[f64; N]; 3] = std::array::from_fn(|i| std::array::from_fn(|node| dx[node][i]));
            for node in 0..N {
                squares[node] += dv.abs()
                    * law.thickness
                    * (g[0][node] * g[0][node] + g[1][node] * g[1][node] + g[2][node] * g[2][node]);
            }
            if reduced {
                volume += dv;
                for i in 0..dimension {
                    for node in 0..N {
                        mean[i][node] += g[i][node] * dv;
                    }
                }
            } else {
                add_products(&mut a, &g, dv, dimension);
            }
        }
        if reduced {
            let g = mean.map(|row| row.map(|b| b / volume));
            add_products(&mut a, &g, volume, dimension);
        }
        let mut blocks = elastic_blocks(&a, law);
        if reduced {
            let moduli: f64 = mean.iter().flatten().map(|b| b * b).sum();
            let kappa = law.hourglass * moduli / volume;
            for h in hourglass_vectors(dimension) {
                let mut gamma: [f64; N] = std::array::from_fn(|node| h[node]);
                for j in 0..dimension {
                    let moment: f64 = (0..N).map(|node| positions[node][j] * h[node]).sum();
                    for node in 0..N {
                        gamma[node] -= mean[j][node] / volume * moment;
                    }
                }
                for i in 0..if kind.is_acoustic() { 1 } else { dimension } {
                    for (row, &g) in blocks[block(i, i)].iter_mut().zip(&gamma) {
                        for (k, &h) in row.iter_mut().zip(&gamma) {
                            *k += kappa * g * h;
                        }
                    }
                }
            }
        }
        Self { blocks, squares }
    }
}

/// Adds ∂N_I/∂x_j ∂N_J/∂x_l dV.
#[inline(always)]
fn add_products<const N: usize>(a: &mut [[[f64; N]; N]; 6], g: &[[f64; N]; 3], dv: f64, dimension: usize) {
    for l in 0..dimension {
        for j in 0..=l {
            let to = &mut a[block(j, l)];
            for (row, gradient) in to.iter_mut().zip(&g[j]) {
                let weighted = gradient * dv;
                for (entry, other) in row.iter_mut().zip(&g[l]) {
                    *entry += weighted * other;
                }
            }
        }
    }
}

/// Σ_jl C_ijkl a_jl.
#[inline(always)]
fn elastic_blocks<const N: usize>(a: &[[[f64; N]; N]; 6], law: &ElasticLaw) -> [[[f64; N]; N]; 6] {
    let dimension = law.kind.dimension();
    let mut out = [[[0.0; N]; N]; 6];
    for k in 0..dimension {
        for i in 0..=k {
            let to = &mut out[block(i, k)];
            for j in 0..dimension {
                for l in 0..dimension {
                    let c = law.tensor[i][j][k][l];
                    if c == 0.0 {
                        continue;
                    }
                    // a_jl is the transpose of a_lj.
                    let from = &a[block(j.min(l), j.max(l))];
                    for node in 0..N {
                        for other in 0..N {
                            to[node][other] += c * if j <= l { from[node][other] } else { from[other][node] };
                        }
                    }
                }
            }
        }
    }
    out
}
