//! The trilinear cube: stiffness, strain and stress of one element, in f64 and as plain as can be.

/// Nodes of an element: c = x + 2 y + 4 z for the corner at (x, y, z) ∈ {0, 1}³.
pub(super) const N_DOFS: usize = 24;

/// A cube of edge 1 with E = 1: K of an element is E h times `stiffness`.
///
/// | field | shape | unit |
/// |---|---|---|
/// | `stiffness` | (24, 24) | 1 |
/// | `elasticity` | (6, 6) | 1 |
///
/// Degrees of freedom are 3 c + direction. Voigt's order is xx, yy, zz, yz, xz, xy with engineering shears.
#[derive(Debug, Clone)]
pub(super) struct Cube {
    /// Columns of ∫ Bᵀ D B dV by 2 × 2 × 2 Gauss points, which is exact.
    pub stiffness: Box<[[f64; N_DOFS]; N_DOFS]>,
    /// D for E = 1.
    pub elasticity: [[f64; 6]; 6],
    /// Columns of B at the centre.
    centre: [[f64; 6]; N_DOFS],
}

/// Product of a matrix, given by its columns, and a vector. Rows are summed up side by side, each in the order of the columns.
fn product<const M: usize, const N: usize>(columns: &[[f64; M]; N], x: &[f64; N]) -> [f64; M] {
    let mut y = columns[0].map(|a| a * x[0]);
    for (column, &x) in columns.iter().zip(x).skip(1) {
        y.iter_mut().zip(column).for_each(|(y, a)| *y += a * x);
    }
    y
}

/// D of an isotropic material with E = 1.
pub(super) fn elasticity(poisson: f64) -> [[f64; 6]; 6] {
    let lambda = poisson / ((1.0 + poisson) * (1.0 - 2.0 * poisson));
    let mu = 0.5 / (1.0 + poisson);
    let mut d = [[0.0; 6]; 6];
    for i in 0..3 {
        d[i][..3].fill(lambda);
        d[i][i] += 2.0 * mu;
        d[i + 3][i + 3] = mu;
    }
    d
}

/// B at ξ ∈ [0, 1]³.
fn strain_matrix(xi: [f64; 3]) -> [[f64; N_DOFS]; 6] {
    let mut b = [[0.0; N_DOFS]; 6];
    for c in 0..8 {
        let upper = [c & 1 == 1, c >> 1 & 1 == 1, c >> 2 == 1];
        let value = |axis: usize| if upper[axis] { xi[axis] } else { 1.0 - xi[axis] };
        let slope = |axis: usize| if upper[axis] { 1.0 } else { -1.0 };
        let [x, y, z] =
            [slope(0) * value(1) * value(2), value(0) * slope(1) * value(2), value(0) * value(1) * slope(2)];
        (b[0][3 * c], b[1][3 * c + 1], b[2][3 * c + 2]) = (x, y, z);
        (b[3][3 * c + 1], b[3][3 * c + 2]) = (z, y);
        (b[4][3 * c], b[4][3 * c + 2]) = (z, x);
        (b[5][3 * c], b[5][3 * c + 1]) = (y, x);
    }
    b
}

impl Cube {
    /// The element of Poisson's ratio ν.
    pub fn new(poisson: f64) -> Self {
        let elasticity = elasticity(poisson);
        let mut stiffness = Box::new([[0.0; N_DOFS]; N_DOFS]);
        let point = 0.5 / 3.0_f64.sqrt();
        for g in 0..8 {
            let xi = [g & 1, g >> 1 & 1, g >> 2].map(|upper| if upper == 1 { 0.5 + point } else { 0.5 - point });
            let b = strain_matrix(xi);
            for (column, out) in stiffness.iter_mut().enumerate() {
                for (row, out) in out.iter_mut().enumerate() {
                    for i in 0..6 {
                        for j in 0..6 {
                            *out += 0.125 * b[i][row] * elasticity[i][j] * b[j][column];
                        }
                    }
                }
            }
        }
        let centre = strain_matrix([0.5; 3]);
        Self { stiffness, elasticity, centre: std::array::from_fn(|column| centre.map(|row| row[column])) }
    }

    /// K u of an element with E h = 1.
    pub fn apply(&self, u: &[f64; N_DOFS]) -> [f64; N_DOFS] {
        product(&self.stiffness, u)
    }

    /// ε at the centre for h = 1.
    pub fn strain(&self, u: &[f64; N_DOFS]) -> [f64; 6] {
        product(&self.centre, u)
    }

    /// σ for E = 1.
    pub fn stress(&self, strain: &[f64; 6]) -> [f64; 6] {
        std::array::from_fn(|i| self.elasticity[i].iter().zip(strain).map(|(d, e)| d * e).sum())
    }
}

/// Equivalent stress of von Mises.
pub(super) fn von_mises(s: &[f64; 6]) -> f64 {
    let normal = (s[0] - s[1]).powi(2) + (s[1] - s[2]).powi(2) + (s[2] - s[0]).powi(2);
    (0.5 * normal + 3.0 * (s[3] * s[3] + s[4] * s[4] + s[5] * s[5])).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// u = A x at the corners, A row-major.
    fn affine(a: [f64; 9]) -> [f64; N_DOFS] {
        std::array::from_fn(|dof| {
            let (c, row) = (dof / 3, dof % 3);
            let x = [c & 1, c >> 1 & 1, c >> 2].map(|x| x as f64);
            (0..3).map(|column| a[3 * row + column] * x[column]).sum()
        })
    }

    #[test]
    fn rigid_motion_gives_no_force_and_the_matrix_is_symmetric() {
        let cube = Cube::new(0.3);
        let translation: [f64; N_DOFS] = std::array::from_fn(|dof| [1.0, -2.0, 0.5][dof % 3]);
        let rotation = affine([0.0, -1.0, 2.0, 1.0, 0.0, -3.0, -2.0, 3.0, 0.0]);
        for u in [translation, rotation] {
            assert!(cube.apply(&u).iter().all(|f| f.abs() < 1e-14));
        }
        for i in 0..N_DOFS {
            for j in 0..N_DOFS {
                assert!((cube.stiffness[i][j] - cube.stiffness[j][i]).abs() < 1e-15);
            }
        }
    }

    #[test]
    fn a_uniform_strain_has_its_stress_and_energy() {
        let cube = Cube::new(0.25);
        let u = affine([1e-3, 2e-3, 0.0, 1e-3, -5e-4, 0.0, 0.0, 0.0, 2e-4]);
        let strain = cube.strain(&u);
        let expected = [1e-3, -5e-4, 2e-4, 0.0, 0.0, 3e-3];
        assert!(strain.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-17));
        // λ = 0.4, μ = 0.4 for E = 1, ν = ¼.
        let stress = cube.stress(&strain);
        assert!((stress[0] - (0.4 * 7e-4 + 0.8e-3)).abs() < 1e-16);
        assert!((stress[5] - 0.4 * 3e-3).abs() < 1e-16);
        let energy = 0.5 * strain.iter().zip(stress).map(|(e, s)| e * s).sum::<f64>();
        let stored = 0.5 * cube.apply(&u).iter().zip(u).map(|(f, u)| f * u).sum::<f64>();
        assert!((stored - energy).abs() < 1e-18);
        assert!((von_mises(&[3.0, 3.0, 3.0, 0.0, 0.0, 2.0]) - 12.0_f64.sqrt()).abs() < 1e-14);
    }
}
