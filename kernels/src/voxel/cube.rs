//! The stiffness of one voxel.

/// Stiffness of a cube of edge 1 and modulus 1, eight nodes, trilinear displacements.
///
/// Node c of a cube stands at (c & 1, c >> 1 & 1, c >> 2). A cube of edge h and modulus E has E h times this stiffness.
///
/// The cube has three mirror planes. In the Walsh-Hadamard basis over the nodes, û_w = Σ_c (−1)^|w & c| u_c, the
/// component a of û_w changes its sign under mirror m as bit m of w ⊕ 2^a says, so that only entries with equal w ⊕ 2^a
/// meet: the dense 24 × 24 matrix falls apart into eight symmetric blocks of 3 × 3, of which translations take away
/// another 27 entries. f_c = E h Σ_w (−1)^|w & c| Σ_b `B_s[a][b]` û_(s ⊕ 2^b),b with s = w ⊕ 2^a.
#[derive(Debug, Clone, PartialEq)]
pub struct Cube {
    /// K, row 3 c + a, column 3 d + b.
    pub dense: [[f64; 24]; 24],
    /// B_s, s = 0 … 7.
    pub blocks: [[[f64; 3]; 3]; 8],
    /// The diagonal of K, the same in every row.
    pub diagonal: f64,
}

/// Lamé's constants λ and μ of a material with E = 1 and Poisson's ratio ν in (−1, 0.5).
pub(crate) fn lame(poisson: f64) -> [f64; 2] {
    [poisson / ((1.0 + poisson) * (1.0 - 2.0 * poisson)), 0.5 / (1.0 + poisson)]
}

impl Cube {
    /// The stiffness for Poisson's ratio ν in (−1, 0.5).
    pub fn new(poisson: f64) -> Self {
        Self::of_lame(lame(poisson))
    }

    /// The stiffness for Lamé's constants λ and μ, instead of a modulus of 1.
    pub(crate) fn of_lame([lambda, mu]: [f64; 2]) -> Self {
        let mut dense = [[0.0; 24]; 24];
        // Two Gauss points a direction integrate products of trilinear gradients exactly.
        let points = [0.5 - 0.5 / 3_f64.sqrt(), 0.5 + 0.5 / 3_f64.sqrt()];
        for p in 0..8 {
            let at = [points[p & 1], points[p >> 1 & 1], points[p >> 2]];
            let gradient: [[f64; 3]; 8] = std::array::from_fn(|c| {
                std::array::from_fn(|a| (0..3).map(|m| factor(c >> m & 1, at[m], m == a)).product())
            });
            for c in 0..8 {
                for d in 0..8 {
                    let (g, h) = (gradient[c], gradient[d]);
                    let dot = g[0] * h[0] + g[1] * h[1] + g[2] * h[2];
                    for a in 0..3 {
                        for b in 0..3 {
                            let diagonal = if a == b { mu * dot } else { 0.0 };
                            dense[3 * c + a][3 * d + b] += (lambda * g[a] * h[b] + mu * g[b] * h[a] + diagonal) / 8.0;
                        }
                    }
                }
            }
        }
        let sign = |w: usize, c: usize| if (w & c).count_ones().is_multiple_of(2) { 1.0 } else { -1.0 };
        let blocks = std::array::from_fn(|s| {
            std::array::from_fn(|a| {
                std::array::from_fn(|b| {
                    // The inverse transform is the transform over 8, on both sides.
                    let (w, v) = (s ^ 1 << a, s ^ 1 << b);
                    let sum: f64 = (0..64)
                        .map(|i| sign(w, i / 8) * dense[3 * (i / 8) + a][3 * (i % 8) + b] * sign(v, i % 8))
                        .sum();
                    if w == 0 || v == 0 { 0.0 } else { sum / 64.0 }
                })
            })
        });
        Self { diagonal: dense[0][0], dense, blocks }
    }
}

/// One factor of a trilinear shape function, or its derivative.
fn factor(corner: usize, at: f64, derivative: bool) -> f64 {
    match (corner, derivative) {
        (0, false) => 1.0 - at,
        (_, false) => at,
        (0, true) => -1.0,
        (_, true) => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_the_whole_stiffness() {
        let cube = Cube::new(0.3);
        let sign = |w: usize, c: usize| if (w & c).count_ones().is_multiple_of(2) { 1.0 } else { -1.0 };
        for i in 0..24 {
            for j in 0..24 {
                let (c, a, d, b) = (i / 3, i % 3, j / 3, j % 3);
                let sum: f64 =
                    (0..8).map(|s: usize| sign(s ^ 1 << a, c) * cube.blocks[s][a][b] * sign(s ^ 1 << b, d)).sum();
                assert!((sum - cube.dense[i][j]).abs() < 1e-14, "{i} {j}: {sum} {}", cube.dense[i][j]);
            }
        }
        let entries = cube.blocks.iter().flatten().flatten().filter(|entry| entry.abs() > 1e-14).count();
        assert_eq!(entries, 45);
    }

    #[test]
    fn rigid_motion_costs_nothing_and_stretching_what_it_should() {
        let (nu, cube) = (0.3, Cube::new(0.3));
        let position = |c: usize| [(c & 1) as f64, (c >> 1 & 1) as f64, (c >> 2) as f64];
        let energy = |u: &dyn Fn([f64; 3]) -> [f64; 3]| -> f64 {
            let u: Vec<f64> = (0..8).flat_map(|c| u(position(c))).collect();
            (0..24).map(|i| (0..24).map(|j| u[i] * cube.dense[i][j] * u[j]).sum::<f64>()).sum()
        };
        assert!(energy(&|_| [1.0, 2.0, 3.0]).abs() < 1e-14);
        assert!(energy(&|[x, y, _]| [-y, x, 0.0]).abs() < 1e-14);
        // Uniaxial stress: twice the energy density is E ε².
        assert!((energy(&|[x, y, z]| [x, -nu * y, -nu * z]) - 1.0).abs() < 1e-14);
        // Shear: G γ².
        assert!((energy(&|[_, y, _]| [y, 0.0, 0.0]) - 0.5 / (1.0 + nu)).abs() < 1e-14);
        assert!((cube.diagonal - cube.dense[23][23]).abs() < 1e-15);
    }
}
