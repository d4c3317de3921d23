//! From a material and an orientation to D in global axes, and its reductions to the plane.
//!
//! Voigt order 11, 22, 33, 12, 13, 23 with engineering shear strains throughout, as Abaqus has it.

use pogo_formats::explicit::{Material, Section};

/// Dense elasticity of a section in global axes, and what else a run of elements needs.
#[derive(Debug, Clone, PartialEq)]
pub struct SectionProperties {
    /// D, 6 × 6 row-major, Voigt order 11, 22, 33, 12, 13, 23, engineering shears, global axes, Pa. For 2D sections the
    /// kernels reduce it to plane strain or plane stress themselves, by element kind. Of a fluid 1/ρ times the unit matrix,
    /// m³/kg.
    pub elasticity: [f64; 36],
    /// ρ for inertia (mass scaling included), kg/m³. Of a fluid 1/κ, 1/Pa: the inertia of its unknown.
    pub density: f64,
    /// Thickness of 2D elements, m (1 in 3D).
    pub thickness: f64,
    /// Factor on the default hourglass stiffness.
    pub hourglass_factor: f64,
}

/// What is wrong with a material or a section.
#[derive(Debug, thiserror::Error, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum MaterialError {
    /// D has a negative or zero eigenvalue, or a constant is not a number.
    #[error(
        "material {material}: its elastic constants are not positive definite: under some strain it would give energy \
         away; check their values, order and units (isotropic solids need E > 0 and −1 < ν < 0.5)"
    )]
    NotPositiveDefinite { material: String },
    /// Density, thickness or a factor is not positive; `owner` is a material or a section.
    #[error("{owner}: {what} must be positive and finite, found {value}")]
    NotPositive { owner: String, what: &'static str, value: f64 },
    #[error("section {section}: its orientation is not a set of orthogonal unit vectors")]
    NotARotation { section: String },
}

/// Index pairs of the Voigt components.
const VOIGT: [[usize; 2]; 6] = [[0, 0], [1, 1], [2, 2], [0, 1], [0, 2], [1, 2]];

/// D of a section in global axes, with density (mass scaling included), thickness and hourglass factor.
///
/// # Errors
/// Constants that are not positive definite, quantities that are not positive, an orientation that is no rotation.
pub fn section_properties(section: &Section, material: &Material) -> Result<SectionProperties, MaterialError> {
    let owner = || format!("section {}", section.name);
    for (owner, what, value) in [
        (format!("material {}", material.name), "density", material.density),
        (owner(), "thickness", section.thickness),
        (owner(), "mass factor", section.mass_factor),
    ] {
        if !(value > 0.0 && value.is_finite()) {
            return Err(MaterialError::NotPositive { owner, what, value });
        }
    }
    if !(section.hourglass_factor >= 0.0 && section.hourglass_factor.is_finite()) {
        return Err(MaterialError::NotPositive {
            owner: owner(),
            what: "hourglass factor",
            value: section.hourglass_factor,
        });
    }
    let r = &section.material_from_global;
    for a in 0..3 {
        for b in 0..3 {
            let dot: f64 = (0..3).map(|i| r[3 * a + i] * r[3 * b + i]).sum();
            if !((dot - f64::from(u8::from(a == b))).abs() < 1e-6) {
                return Err(MaterialError::NotARotation { section: section.name.clone() });
            }
        }
    }
    if let Some(bulk) = material.elasticity.bulk() {
        return fluid_properties(section, material, bulk);
    }
    let elasticity = material
        .elasticity
        .matrix()
        .ok_or_else(|| MaterialError::NotPositiveDefinite { material: material.name.clone() })?;
    Ok(SectionProperties {
        elasticity: global_elasticity(&elasticity, r),
        density: material.density * section.mass_factor,
        thickness: section.thickness,
        hourglass_factor: section.hourglass_factor,
    })
}

/// Of a fluid, whose unknown q has the inertia 1/κ and the stiffness 1/ρ. A factor on its mass scales κ, as that slows its waves
/// as the factor on the density of a solid does.
fn fluid_properties(section: &Section, material: &Material, bulk: f64) -> Result<SectionProperties, MaterialError> {
    if !(bulk > 0.0 && bulk.is_finite()) {
        let owner = format!("material {}", material.name);
        return Err(MaterialError::NotPositive { owner, what: "bulk modulus", value: bulk });
    }
    let elasticity = std::array::from_fn(|at| if at % 7 == 0 { 1.0 / material.density } else { 0.0 });
    Ok(SectionProperties {
        elasticity,
        density: section.mass_factor / bulk,
        thickness: section.thickness,
        hourglass_factor: section.hourglass_factor,
    })
}

/// D_global = Tᵀ D_material T, T the rotation of engineering strains for v_material = R v_global.
pub(super) fn global_elasticity(material: &[f64; 36], material_from_global: &[f64; 9]) -> [f64; 36] {
    let r = |a: usize, i: usize| material_from_global[3 * a + i];
    let mut t = [[0.0; 6]; 6];
    for (row, &[a, b]) in VOIGT.iter().enumerate() {
        for (column, &[i, j]) in VOIGT.iter().enumerate() {
            // ε_ab = R_ai R_bj ε_ij; the shear columns take γ_ij = 2 ε_ij, the shear rows give γ_ab.
            let strain = if i == j { r(a, i) * r(b, i) } else { 0.5 * (r(a, i) * r(b, j) + r(a, j) * r(b, i)) };
            t[row][column] = if a == b { strain } else { 2.0 * strain };
        }
    }
    let mut out = [0.0; 36];
    for i in 0..6 {
        for j in i..6 {
            let mut sum = 0.0;
            for k in 0..6 {
                for l in 0..6 {
                    sum += t[k][i] * material[6 * k + l] * t[l][j];
                }
            }
            out[6 * i + j] = sum;
            out[6 * j + i] = sum;
        }
    }
    // Rounding must not make an isotropic or aligned material look anisotropic.
    let largest = (0..6).map(|i| out[7 * i]).fold(0.0, f64::max);
    out.map(|value| if value.abs() < 1e-14 * largest { 0.0 } else { value })
}

/// The plane part of D for (ε11, ε22, γ12), Pa, 3 × 3. Plane strain takes its rows and columns; plane stress condenses
/// σ33 = σ13 = σ23 = 0: D_pp − D_pq D_qq⁻¹ D_qp, for any anisotropy.
pub(crate) fn plane_elasticity(elasticity: &[f64; 36], plane_stress: bool) -> [[f64; 3]; 3] {
    let d = |i: usize, j: usize| elasticity[6 * i + j];
    let p = IN_PLANE;
    let mut out = p.map(|i| p.map(|j| d(i, j)));
    if plane_stress {
        let through = through_thickness(elasticity);
        for i in 0..3 {
            for j in 0..3 {
                out[i][j] += (0..3).map(|k| d(p[i], OUT_OF_PLANE[k]) * through[k][j]).sum::<f64>();
            }
        }
    }
    out
}

/// 11, 22, 12.
pub(crate) const IN_PLANE: [usize; 3] = [0, 1, 3];
/// 33, 13, 23.
pub(crate) const OUT_OF_PLANE: [usize; 3] = [2, 4, 5];

/// (ε33, γ13, γ23) = T (ε11, ε22, γ12) under plane stress: T = −D_qq⁻¹ D_qp.
pub(crate) fn through_thickness(elasticity: &[f64; 36]) -> [[f64; 3]; 3] {
    let d = |i: usize, j: usize| elasticity[6 * i + j];
    let qq = OUT_OF_PLANE.map(|i| OUT_OF_PLANE.map(|j| d(i, j)));
    let inverse = invert3(&qq).unwrap_or([[0.0; 3]; 3]);
    let mut out = [[0.0; 3]; 3];
    for i in 0..3 {
        for (j, &column) in IN_PLANE.iter().enumerate() {
            out[i][j] = -(0..3).map(|k| inverse[i][k] * d(OUT_OF_PLANE[k], column)).sum::<f64>();
        }
    }
    out
}

fn invert3(m: &[[f64; 3]; 3]) -> Option<[[f64; 3]; 3]> {
    let c = |i: usize, j: usize| {
        let (a, b, p, q) = ((i + 1) % 3, (i + 2) % 3, (j + 1) % 3, (j + 2) % 3);
        m[a][p] * m[b][q] - m[a][q] * m[b][p]
    };
    let det = (0..3).map(|j| m[0][j] * c(0, j)).sum::<f64>();
    if det == 0.0 || !det.is_finite() {
        return None;
    }
    let mut out = [[0.0; 3]; 3];
    for i in 0..3 {
        for j in 0..3 {
            out[j][i] = c(i, j) / det;
        }
    }
    Some(out)
}
