//! Linear elastic materials: their laws, stiffness matrices and wave speeds, and the sections that give them to elements.

// rkyv's derive writes undocumented twins of enum variants with named fields.
#![allow(missing_docs)]

use rkyv::{Archive, Deserialize, Serialize};

use crate::relaxation::Attenuation;

/// Linear elasticity. Components in the material frame, Abaqus's Voigt order 11, 22, 33, 12, 13, 23 with engineering
/// shear strains.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub enum Elasticity {
    /// Young's modulus E (Pa) and Poisson's ratio ν.
    Isotropic {
        /// E, Pa.
        young: f64,
        /// ν.
        poisson: f64,
    },
    /// E1, E2, E3, ν12, ν13, ν23, G12, G13, G23.
    EngineeringConstants([f64; 9]),
    /// D1111, D1122, D2222, D1133, D2233, D3333, D1212, D1313, D2323 (Pa).
    Orthotropic([f64; 9]),
    /// The 21 constants of `*ELASTIC, TYPE=ANISOTROPIC` in Abaqus's order (Pa).
    Anisotropic([f64; 21]),
    /// A fluid: no shear stiffness.
    Fluid {
        /// Bulk modulus κ = ρc², Pa.
        bulk: f64,
    },
}

/// A material.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub struct Material {
    /// Name, as the deck writes it.
    pub name: String,
    /// ρ, kg/m³.
    pub density: f64,
    pub elasticity: Elasticity,
    /// Mass-proportional damping α in C = αM, 1/s.
    pub damping_alpha: f64,
    /// Stiffness-proportional damping β in C = βK, s.
    pub damping_beta: f64,
    /// Attenuation by relaxation mechanisms.
    pub attenuation: Attenuation,
}

/// What a region of elements is made of.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub struct Section {
    /// The element set's name (with the instance in front where there are instances); unique.
    pub name: String,
    /// Index into the materials of the setup.
    pub material: u32,
    /// Rows are the material's 1, 2 and 3 axes in global components (row-major 3 × 3): v_material = R v_global.
    pub material_from_global: [f64; 9],
    /// Out-of-plane thickness of 2D elements, m; 1 in 3D.
    pub thickness: f64,
    /// Factor on the default hourglass stiffness of one-point elements; 1 unless `*SECTION CONTROLS` or
    /// `*HOURGLASS STIFFNESS` says otherwise.
    pub hourglass_factor: f64,
    /// `*FIXED MASS SCALING` factor on the density used for inertia; 1 by default.
    pub mass_factor: f64,
}

impl Material {
    /// A material without damping.
    pub fn new(name: impl Into<String>, density: f64, elasticity: Elasticity) -> Self {
        let attenuation = Attenuation::None;
        Self { name: name.into(), density, elasticity, damping_alpha: 0.0, damping_beta: 0.0, attenuation }
    }
}

impl Section {
    /// A section of a material whose axes are the global ones, of thickness 1 and without factors.
    pub fn new(name: impl Into<String>, material: u32) -> Self {
        Self {
            name: name.into(),
            material,
            material_from_global: [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0],
            thickness: 1.0,
            hourglass_factor: 1.0,
            mass_factor: 1.0,
        }
    }
}

/// Row and column of each constant of a symmetric 6 × 6 matrix in Abaqus's order: the upper triangle by columns.
fn upper_triangle() -> impl Iterator<Item = (usize, usize)> {
    (0..6).flat_map(|column| (0..=column).map(move |row| (row, column)))
}

impl Elasticity {
    /// D in the material frame, 6 × 6 row-major, Pa: σ = D ε with Voigt order 11, 22, 33, 12, 13, 23 and engineering shear
    /// strains. None for a fluid, and where D is not positive definite: such a material gives energy away.
    ///
    /// Engineering constants are inverted from ε11 = σ11/E1 − ν12/E1 σ22 − ν13/E1 σ33 and so on (ν_ij/E_i = ν_ji/E_j).
    pub fn matrix(&self) -> Option<[f64; 36]> {
        let mut d = [0.0; 36];
        let mut put = |row: usize, column: usize, value: f64| {
            d[6 * row + column] = value;
            d[6 * column + row] = value;
        };
        match *self {
            Self::Isotropic { young, poisson } => {
                let shear = young / (2.0 * (1.0 + poisson));
                let lambda = young * poisson / ((1.0 + poisson) * (1.0 - 2.0 * poisson));
                for i in 0..3 {
                    for j in 0..=i {
                        put(i, j, if i == j { lambda + 2.0 * shear } else { lambda });
                    }
                    put(i + 3, i + 3, shear);
                }
            }
            Self::EngineeringConstants([e1, e2, e3, nu12, nu13, nu23, g12, g13, g23]) => {
                let (s11, s22, s33) = (1.0 / e1, 1.0 / e2, 1.0 / e3);
                let (s12, s13, s23) = (-nu12 / e1, -nu13 / e1, -nu23 / e2);
                let determinant =
                    s11 * (s22 * s33 - s23 * s23) - s12 * (s12 * s33 - s23 * s13) + s13 * (s12 * s23 - s22 * s13);
                put(0, 0, (s22 * s33 - s23 * s23) / determinant);
                put(0, 1, (s13 * s23 - s12 * s33) / determinant);
                put(0, 2, (s12 * s23 - s13 * s22) / determinant);
                put(1, 1, (s11 * s33 - s13 * s13) / determinant);
                put(1, 2, (s12 * s13 - s11 * s23) / determinant);
                put(2, 2, (s11 * s22 - s12 * s12) / determinant);
                put(3, 3, g12);
                put(4, 4, g13);
                put(5, 5, g23);
            }
            Self::Orthotropic([d11, d12, d22, d13, d23, d33, d1212, d1313, d2323]) => {
                for ((row, column), value) in upper_triangle().zip([d11, d12, d22, d13, d23, d33]) {
                    put(row, column, value);
                }
                put(3, 3, d1212);
                put(4, 4, d1313);
                put(5, 5, d2323);
            }
            Self::Anisotropic(constants) => {
                for ((row, column), value) in upper_triangle().zip(constants) {
                    put(row, column, value);
                }
            }
            Self::Fluid { .. } => return None,
        }
        is_positive_definite(d).then_some(d)
    }
}

impl Elasticity {
    /// The bulk modulus of a fluid, Pa; none of a solid.
    pub const fn bulk(&self) -> Option<f64> {
        match *self {
            Self::Fluid { bulk } => Some(bulk),
            _ => None,
        }
    }

    /// Whether the constants make a material that keeps the energy that is put into it.
    pub fn is_sound(&self) -> bool {
        self.bulk().map_or_else(|| self.matrix().is_some(), |bulk| bulk > 0.0 && bulk.is_finite())
    }
}

impl Material {
    /// Speeds of the three plane waves that travel along a unit direction in the material frame, m/s, fastest first:
    /// √(eigenvalue/ρ) of the Christoffel matrix Γ_ik = D_ijkl n_j n_l. Fluids have √(κ/ρ), 0, 0. None without a positive
    /// density and stiffness.
    pub fn wave_speeds(&self, direction: [f64; 3]) -> Option<[f64; 3]> {
        if !(self.density > 0.0 && self.density.is_finite() && self.elasticity.is_sound()) {
            return None;
        }
        if let Some(bulk) = self.elasticity.bulk() {
            return Some([(bulk / self.density).sqrt(), 0.0, 0.0]);
        }
        let d = self.elasticity.matrix()?;
        const VOIGT: [[usize; 3]; 3] = [[0, 3, 4], [3, 1, 5], [4, 5, 2]];
        let mut christoffel = [[0.0; 3]; 3];
        for i in 0..3 {
            for k in 0..3 {
                for j in 0..3 {
                    for l in 0..3 {
                        christoffel[i][k] += d[6 * VOIGT[i][j] + VOIGT[k][l]] * direction[j] * direction[l];
                    }
                }
            }
        }
        Some(eigenvalues(christoffel).map(|value| (value.max(0.0) / self.density).sqrt()))
    }
}

/// Cholesky's test, after scaling the diagonal to 1 so that Pa do not matter.
fn is_positive_definite(d: [f64; 36]) -> bool {
    if !d.iter().all(|value| value.is_finite()) || (0..6).any(|i| d[7 * i] <= 0.0) {
        return false;
    }
    let mut l = [0.0; 36];
    for i in 0..6 {
        for j in 0..=i {
            let known: f64 = (0..j).map(|k| l[6 * i + k] * l[6 * j + k]).sum();
            let rest = d[6 * i + j] / (d[7 * i] * d[7 * j]).sqrt() - known;
            if i == j {
                // Rounding leaves about 1e-16 of an exactly singular matrix.
                if rest <= 1e-14 {
                    return false;
                }
                l[7 * i] = rest.sqrt();
            } else {
                l[6 * i + j] = rest / l[7 * j];
            }
        }
    }
    true
}

/// Eigenvalues of a symmetric 3 × 3 matrix by Jacobi rotations, largest first.
pub fn eigenvalues(mut a: [[f64; 3]; 3]) -> [f64; 3] {
    for _ in 0..30 {
        for (p, q) in [(0, 1), (0, 2), (1, 2)] {
            if a[p][q] == 0.0 {
                continue;
            }
            let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
            let t = theta.signum() / (theta.abs() + theta.hypot(1.0));
            let c = 1.0 / t.hypot(1.0);
            let s = t * c;
            for row in &mut a {
                (row[p], row[q]) = (c * row[p] - s * row[q], s * row[p] + c * row[q]);
            }
            let (row_p, row_q) = (a[p], a[q]);
            for (k, (x, y)) in row_p.into_iter().zip(row_q).enumerate() {
                (a[p][k], a[q][k]) = (c * x - s * y, s * x + c * y);
            }
        }
    }
    let mut values = [a[0][0], a[1][1], a[2][2]];
    values.sort_by(|x, y| y.total_cmp(x));
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    fn material(elasticity: Elasticity) -> Material {
        Material::new("m", 7800.0, elasticity)
    }

    fn close(found: [f64; 3], expected: [f64; 3]) {
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-9 * expected, "{found} {expected}");
        }
    }

    #[test]
    fn isotropic_speeds_in_every_notation() {
        let (e, nu) = (2.1e11, 0.3);
        let g = e / (2.0 * (1.0 + nu));
        let lambda = e * nu / ((1.0 + nu) * (1.0 - 2.0 * nu));
        let p = lambda + 2.0 * g;
        let (cp, cs) = ((p / 7800.0_f64).sqrt(), (g / 7800.0_f64).sqrt());
        let mut anisotropic = [0.0; 21];
        for (value, at) in [(p, 0), (lambda, 1), (p, 2), (lambda, 3), (lambda, 4), (p, 5), (g, 9), (g, 14), (g, 20)] {
            anisotropic[at] = value;
        }
        for elasticity in [
            Elasticity::Isotropic { young: e, poisson: nu },
            Elasticity::EngineeringConstants([e, e, e, nu, nu, nu, g, g, g]),
            Elasticity::Orthotropic([p, lambda, p, lambda, lambda, p, g, g, g]),
            Elasticity::Anisotropic(anisotropic),
        ] {
            for direction in [[1.0, 0.0, 0.0], [0.6, 0.8, 0.0], [0.48, 0.6, 0.64]] {
                close(material(elasticity.clone()).wave_speeds(direction).unwrap(), [cp, cs, cs]);
            }
        }
    }

    #[test]
    fn cubic_speeds_along_the_diagonal() {
        // Copper: along [110], ρc² = (c11 + c12 + 2 c44)/2, c44, (c11 − c12)/2.
        let (c11, c12, c44) = (168.4e9, 121.4e9, 75.4e9);
        let copper = material(Elasticity::Orthotropic([c11, c12, c11, c12, c12, c11, c44, c44, c44]));
        let speeds =
            [(c11 + c12 + 2.0 * c44) / 2.0, c44, (c11 - c12) / 2.0].map(|rho_c2: f64| (rho_c2 / 7800.0).sqrt());
        let h = 0.5_f64.sqrt();
        close(copper.wave_speeds([h, h, 0.0]).unwrap(), speeds);
    }

    #[test]
    fn unstable_materials_have_no_matrix() {
        for elasticity in [
            Elasticity::Isotropic { young: 1e9, poisson: 0.5 },
            Elasticity::Isotropic { young: -1e9, poisson: 0.3 },
            Elasticity::Isotropic { young: 1e9, poisson: -1.0 },
            Elasticity::EngineeringConstants([1e9, 1e9, 1e9, 0.9, 0.9, 0.9, 1e9, 1e9, 1e9]),
            Elasticity::Orthotropic([1e9, 2e9, 1e9, 0.0, 0.0, 1e9, 1e9, 1e9, 1e9]),
            Elasticity::Anisotropic([1e9; 21]),
            Elasticity::Isotropic { young: f64::NAN, poisson: 0.3 },
        ] {
            assert_eq!(elasticity.matrix(), None, "{elasticity:?}");
        }
    }
}
