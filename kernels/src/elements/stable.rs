//! The stable increment of central differences, Δt ≤ 2/ω_max.
//!
//! ω²_max of the whole model is at most the largest eigenvalue of any element's stiffness against its share of the
//! lumped mass (Irons and Treharne 1971), *however* the nodal masses are shared out: with Σ_e M_e = M,
//! u·Ku = Σ u_e·K_e u_e ≤ Σ λ_e u_e·M_e u_e ≤ max λ_e u·Mu. So 2/√λ_max over the elements is safe. The masses are shared
//! in proportion to each element's stiffness at the node: a sliver leans on its neighbours, and the bound comes much
//! nearer the truth than with the sliver's own mass. Centred damping does not change the limit.

use pogo_formats::block::MeshView;
use pogo_formats::model::{ElementKind, Lumping};

use super::shape::{QuadraturePoint, gradients};
use super::{Element, ElementError, element_stiffness, lumped_mass, map_chunks, quadrature, sum_to_nodes, thickness};
use crate::explicit::SectionProperties;

/// Largest stable increment and the element that sets it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StableIncrement {
    /// 2/ω_max, s.
    pub increment: f64,
    /// Element index of the stiffest.
    pub element: usize,
}

/// min over the elements of 2/ω_max against shares of the lumped mass: safe, and sharp to a few per cent on even meshes.
///
/// `stiffness_factor` multiplies each element's stiffness, (n_elements,), or is empty. Undamped limit; centred
/// damping leaves it unchanged. The same result for every number of threads.
///
/// # Errors
/// Elements without positive volume; wrong lengths or references; a mesh without elements.
pub fn stable_increment(
    mesh: &MeshView,
    sections: &[SectionProperties],
    stiffness_factor: &[f64],
    lumping: Lumping,
) -> Result<StableIncrement, ElementError> {
    let n_elements = mesh.n_elements();
    if !stiffness_factor.is_empty() && stiffness_factor.len() != n_elements {
        return Err(ElementError::Length {
            what: "stiffness factors",
            expected: n_elements,
            found: stiffness_factor.len(),
        });
    }
    let rules = ElementKind::ALL.map(quadrature);
    let mass = lumped_mass(mesh, sections, lumping)?;
    let weigh = |element: &Element| {
        let factor = stiffness_factor.get(element.index).copied().unwrap_or(1.0);
        nodal_stiffness(element, &rules[element.kind as usize], &sections[element.section], factor)
    };
    let (stiffness, _) = sum_to_nodes(mesh, sections.len(), |element| Some(weigh(element)))?;
    let chunks = map_chunks(mesh, sections.len(), |elements| {
        let mut worst: Option<(f64, usize)> = None;
        elements(&mut |element| {
            let mut share = weigh(element);
            for (share, &node) in share.iter_mut().zip(element.nodes) {
                *share *= mass[node as usize] / stiffness[node as usize];
            }
            let factor = stiffness_factor.get(element.index).copied().unwrap_or(1.0);
            let rule = &rules[element.kind as usize];
            let scaled = scaled_stiffness(element, rule, &sections[element.section], factor, &share);
            // The full eigenvalue is needed only where this element can be the worst so far.
            let n = element.kind.n_nodes() * element.kind.dimension();
            if worst.is_none_or(|(largest, _)| !all_eigenvalues_below(&scaled, n, largest)) {
                let eigenvalue = largest_eigenvalue(scaled, n);
                if worst.is_none_or(|(largest, _)| eigenvalue > largest) {
                    worst = Some((eigenvalue, element.index));
                }
            }
        });
        worst
    })?;
    let worst = chunks.into_iter().flatten().fold(None, |worst: Option<(f64, usize)>, next| {
        if worst.is_none_or(|(largest, _)| next.0 > largest) { Some(next) } else { worst }
    });
    let Some((eigenvalue, element)) = worst else {
        return Err(ElementError::Length { what: "elements", expected: 1, found: 0 });
    };
    if !(eigenvalue > 0.0 && eigenvalue.is_finite()) {
        return Err(ElementError::NotPositive { what: "largest ω² of an element", value: eigenvalue });
    }
    Ok(StableIncrement { increment: 2.0 / eigenvalue.sqrt(), element })
}

/// About the trace of the element's stiffness at each of its nodes: the weights by which nodal masses are shared.
fn nodal_stiffness(element: &Element, rule: &[QuadraturePoint], section: &SectionProperties, factor: f64) -> [f64; 8] {
    let modulus: f64 = (0..6).map(|i| section.elasticity[7 * i]).sum();
    let scale = factor * modulus * thickness(element.kind, section.thickness);
    let mut out = [0.0; 8];
    for point in rule {
        let (dx, det) = gradients(point, &element.positions, element.kind.dimension());
        for (out, g) in out.iter_mut().zip(&dx).take(element.kind.n_nodes()) {
            // An element without stiffness still takes a little.
            *out += scale.max(f64::MIN_POSITIVE) * point.weight * det.abs() * (g[0] * g[0] + g[1] * g[1] + g[2] * g[2]);
        }
    }
    out
}

/// M^-½ K M^-½ of one element with the given nodal masses.
fn scaled_stiffness(
    element: &Element,
    rule: &[QuadraturePoint],
    section: &SectionProperties,
    factor: f64,
    mass: &[f64; 8],
) -> Vec<f64> {
    let mut k = element_stiffness(element.kind, rule, &element.positions, section);
    let dimension = element.kind.dimension();
    let n = element.kind.n_nodes() * dimension;
    for row in 0..n {
        for column in 0..n {
            k[row * n + column] *= factor / (mass[row / dimension] * mass[column / dimension]).sqrt();
        }
    }
    k
}

/// Whether λ I − A is positive definite (Cholesky).
fn all_eigenvalues_below(a: &[f64], n: usize, lambda: f64) -> bool {
    let mut l = [0.0; 24 * 24];
    for j in 0..n {
        for i in j..n {
            let target = if i == j { lambda } else { 0.0 } - a[i * n + j];
            let sum = target - (0..j).map(|k| l[i * n + k] * l[j * n + k]).sum::<f64>();
            if i > j {
                l[i * n + j] = sum / l[j * n + j];
            } else if sum > 0.0 {
                l[j * n + j] = sum.sqrt();
            } else {
                return false;
            }
        }
    }
    true
}

/// Largest eigenvalue of a symmetric matrix by cyclic Jacobi rotations.
pub(crate) fn largest_eigenvalue(mut a: Vec<f64>, n: usize) -> f64 {
    let norm: f64 = a.iter().map(|v| v * v).sum();
    for _ in 0..30 {
        let mut off = 0.0;
        for p in 0..n {
            for q in p + 1..n {
                let apq = a[p * n + q];
                off += apq * apq;
                if apq * apq <= 1e-32 * norm {
                    continue;
                }
                let theta = (a[q * n + q] - a[p * n + p]) / (2.0 * apq);
                let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
                let c = 1.0 / (t * t + 1.0).sqrt();
                let s = t * c;
                for k in 0..n {
                    let (x, y) = (a[k * n + p], a[k * n + q]);
                    a[k * n + p] = c * x - s * y;
                    a[k * n + q] = s * x + c * y;
                }
                for k in 0..n {
                    let (x, y) = (a[p * n + k], a[q * n + k]);
                    a[p * n + k] = c * x - s * y;
                    a[q * n + k] = s * x + c * y;
                }
            }
        }
        if off <= 1e-28 * norm {
            break;
        }
    }
    (0..n).map(|i| a[i * n + i]).fold(f64::NEG_INFINITY, f64::max)
}

/// 2/ω_max of the whole model, s, by power iteration with Rayleigh quotients on M⁻¹K, where `internal_force` gives K u.
///
/// Approaches the limit from above (the eigenvalue from below), so use a few per cent less; `iterations` of 100 usually
/// leave under 1 %. Nodes without mass and constrained degrees of freedom do not take part.
///
/// # Errors
/// Wrong lengths; no mass at all.
pub fn global_stable_increment(
    lumped_mass: &[f64],
    dimension: usize,
    constrained: &[u64],
    iterations: usize,
    mut internal_force: impl FnMut(&[f64]) -> Vec<f64>,
) -> Result<f64, ElementError> {
    let n = lumped_mass.len() * dimension;
    let mut free: Vec<bool> = (0..n).map(|i| lumped_mass[i / dimension] > 0.0).collect();
    for &dof in constrained {
        if let Some(entry) = free.get_mut(dof as usize) {
            *entry = false;
        }
    }
    let mass = |i: usize| lumped_mass[i / dimension];
    // A rough start: neighbouring values differ, so the highest modes are in it.
    let mut u: Vec<f64> = (0..n as u64)
        .map(|i| {
            let bits = (i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            (bits ^ (bits >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9) as i64 as f64 / i64::MAX as f64
        })
        .collect();
    let mut eigenvalue = 0.0f64;
    for _ in 0..iterations.max(1) {
        for (i, u) in u.iter_mut().enumerate() {
            if !free[i] {
                *u = 0.0;
            }
        }
        let norm: f64 = u.iter().enumerate().map(|(i, u)| mass(i) * u * u).sum();
        if !(norm > 0.0) {
            return Err(ElementError::NotPositive { what: "mass of the free nodes", value: norm });
        }
        let scale = 1.0 / norm.sqrt();
        u.iter_mut().for_each(|u| *u *= scale);
        let force = internal_force(&u);
        if force.len() != n {
            return Err(ElementError::Length { what: "internal force", expected: n, found: force.len() });
        }
        eigenvalue = eigenvalue.max(u.iter().zip(&force).map(|(u, f)| u * f).sum());
        for i in 0..n {
            u[i] = if free[i] { force[i] / mass(i) } else { 0.0 };
        }
    }
    if !(eigenvalue > 0.0) {
        return Err(ElementError::NotPositive { what: "largest ω²", value: eigenvalue });
    }
    Ok(2.0 / eigenvalue.sqrt())
}
