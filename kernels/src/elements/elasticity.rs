//! From a material and an orientation to D in global axes, and its reductions to the plane.
//!
//! Voigt order 11, 22, 33, 12, 13, 23 with engineering shear strains throughout, as Abaqus has it.

use pogo_formats::model::{Elasticity, Material, Section};

use crate::explicit::SectionProperties;

/// What is wrong with a material or a section.
#[derive(Debug, thiserror::Error, Clone, PartialEq)]
pub enum MaterialError {
    /// D has a negative or zero eigenvalue, or a constant is not a number.
    #[error(
        "material {material}: its elastic constants are not positive definite ({detail}); \
         check their values, order and units"
    )]
    NotPositiveDefinite {
        /// Name.
        material: String,
        /// Which condition fails.
        detail: String,
    },
    /// Density, thickness or a factor is not positive.
    #[error("{owner}: {what} must be positive and finite, found {value}")]
    NotPositive {
        /// Material or section.
        owner: String,
        /// Quantity.
        what: &'static str,
        /// Value.
        value: f64,
    },
    /// The orientation is no rotation.
    #[error("section {section}: its orientation is not a set of orthogonal unit vectors")]
    NotARotation {
        /// Name.
        section: String,
    },
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
    let elasticity = material_elasticity(&material.elasticity);
    let fail = |detail: String| MaterialError::NotPositiveDefinite { material: material.name.clone(), detail };
    let elasticity = elasticity.map_err(fail)?;
    if let Some(row) = first_bad_pivot(&elasticity) {
        return Err(fail(format!("the leading {0} × {0} part of D is not", row + 1)));
    }
    Ok(SectionProperties {
        elasticity: global_elasticity(&elasticity, r),
        density: material.density * section.mass_factor,
        thickness: section.thickness,
        hourglass_factor: section.hourglass_factor,
    })
}

/// D in material axes, Pa, (6, 6) row-major.
fn material_elasticity(elasticity: &Elasticity) -> Result<[f64; 36], String> {
    let mut d = [0.0; 36];
    match elasticity {
        Elasticity::Isotropic { young, poisson } => {
            let (e, nu) = (*young, *poisson);
            if !(e > 0.0 && nu > -1.0 && nu < 0.5) {
                return Err(format!("E = {e}, ν = {nu}; needed: E > 0, −1 < ν < 0.5"));
            }
            let lambda = e * nu / ((1.0 + nu) * (1.0 - 2.0 * nu));
            let mu = e / (2.0 * (1.0 + nu));
            for i in 0..3 {
                for j in 0..3 {
                    d[6 * i + j] = lambda;
                }
                d[7 * i] += 2.0 * mu;
                d[7 * (i + 3)] = mu;
            }
        }
        Elasticity::EngineeringConstants([e1, e2, e3, nu12, nu13, nu23, g12, g13, g23]) => {
            for (name, value) in [("E1", e1), ("E2", e2), ("E3", e3), ("G12", g12), ("G13", g13), ("G23", g23)] {
                if !(*value > 0.0) {
                    return Err(format!("{name} = {value}"));
                }
            }
            // Compliance, then its inverse.
            let mut s = [[1.0 / e1, -nu12 / e1, -nu13 / e1], [0.0, 1.0 / e2, -nu23 / e2], [0.0, 0.0, 1.0 / e3]];
            for i in 0..3 {
                for j in 0..i {
                    s[i][j] = s[j][i];
                }
            }
            let inverse = invert3(&s).ok_or("Poisson's ratios make the compliance singular")?;
            for i in 0..3 {
                d[6 * i..6 * i + 3].copy_from_slice(&inverse[i]);
            }
            (d[21], d[28], d[35]) = (*g12, *g13, *g23);
        }
        Elasticity::Orthotropic([d1111, d1122, d2222, d1133, d2233, d3333, d1212, d1313, d2323]) => {
            (d[0], d[7], d[14], d[21], d[28], d[35]) = (*d1111, *d2222, *d3333, *d1212, *d1313, *d2323);
            (d[1], d[6], d[2], d[12], d[8], d[13]) = (*d1122, *d1122, *d1133, *d1133, *d2233, *d2233);
        }
        Elasticity::Anisotropic(constants) => {
            // Abaqus lists the upper triangle column by column.
            let mut constants = constants.iter();
            for column in 0..6 {
                for row in 0..=column {
                    let value = *constants.next().unwrap_or(&f64::NAN);
                    d[6 * row + column] = value;
                    d[6 * column + row] = value;
                }
            }
        }
    }
    Ok(d)
}

/// D_global = Tᵀ D_material T, T the rotation of engineering strains for v_material = R v_global.
pub fn global_elasticity(material: &[f64; 36], material_from_global: &[f64; 9]) -> [f64; 36] {
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
pub fn plane_elasticity(elasticity: &[f64; 36], plane_stress: bool) -> [[f64; 3]; 3] {
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

/// Row of the first pivot of D = L Lᵀ that is not positive.
fn first_bad_pivot(elasticity: &[f64; 36]) -> Option<usize> {
    let mut l = *elasticity;
    for j in 0..6 {
        let pivot = l[7 * j] - (0..j).map(|k| l[6 * j + k] * l[6 * j + k]).sum::<f64>();
        if !(pivot > 1e-12 * elasticity[7 * j].abs()) || !pivot.is_finite() {
            return Some(j);
        }
        l[7 * j] = pivot.sqrt();
        for i in j + 1..6 {
            let sum = l[6 * i + j] - (0..j).map(|k| l[6 * i + k] * l[6 * j + k]).sum::<f64>();
            l[6 * i + j] = sum / l[7 * j];
        }
    }
    None
}
