//! The stiffness of a coarse cell of 2 × 2 × 2 voxels with different moduli.

use super::transfer::{PLACES, place_of};
use crate::simd::Real;
use crate::voxel::cube::Cube;

/// Stiffness of 2 × 2 × 2 voxels under trilinear displacements of the whole cell.
///
/// For octants o with moduli E_o it is Σ_o E_o P_oᵀ K P_o. Take the Walsh-Hadamard basis over the cell's corners, and over
/// the octants, ê_w = Σ_o (−1)^|w & o| E_o. Because of mirror symmetry each entry then depends on one ê alone:
/// f̂_(v,a) = Σ ê_w C_(v,a),(v',b) û_(v',b) with w = v ⊕ 2^a ⊕ v' ⊕ 2^b. One constant matrix replaces eight.
#[derive(Debug, Clone)]
pub(crate) struct Cell<T = f32> {
    /// P_oᵀ K P_o.
    pub octant: Vec<[[f64; 24]; 24]>,
    /// C, row (v, a) at 3 v + a, with the scale of both transforms.
    pub c: Box<[[T; 24]; 24]>,
    c64: Box<[[f64; 24]; 24]>,
}

fn sign(i: usize) -> f64 {
    if i.count_ones().is_multiple_of(2) { 1.0 } else { -1.0 }
}

/// The Walsh-Hadamard transform of eight numbers a stride apart.
fn walsh(v: &mut [f64], first: usize, stride: usize) {
    for half in [1, 2, 4] {
        for i in (0..8).filter(|i| i & half == 0) {
            let (a, b) = (v[first + i * stride], v[first + (i + half) * stride]);
            v[first + i * stride] = a + b;
            v[first + (i + half) * stride] = a - b;
        }
    }
}

/// Adds P_oᵀ A P_o of one octant to a coarse element's matrix.
pub(crate) fn add_child(octant: usize, a: &[f64; 576], out: &mut [f64; 576]) {
    // B = A P: columns go to the corners.
    let mut b = [0.0; 576];
    for d in 0..8 {
        let place = &PLACES[place_of(octant, d)];
        let weight = f64::from(place.weight);
        for &corner in place.corners() {
            for row in 0..24 {
                for m in 0..3 {
                    b[24 * row + 3 * usize::from(corner) + m] += weight * a[24 * row + 3 * d + m];
                }
            }
        }
    }
    for c in 0..8 {
        let place = &PLACES[place_of(octant, c)];
        let weight = f64::from(place.weight);
        for &corner in place.corners() {
            for m in 0..3 {
                let (to, from) = (24 * (3 * usize::from(corner) + m), 24 * (3 * c + m));
                for column in 0..24 {
                    out[to + column] += weight * b[from + column];
                }
            }
        }
    }
}

impl<T: Real> Cell<T> {
    /// The constant matrix for this cube.
    pub fn new(cube: &Cube) -> Self {
        let dense: [f64; 576] = std::array::from_fn(|i| cube.dense[i / 24][i % 24]);
        let octant: Vec<[[f64; 24]; 24]> = (0..8)
            .map(|o| {
                let mut out = [0.0; 576];
                add_child(o, &dense, &mut out);
                std::array::from_fn(|i| std::array::from_fn(|j| out[24 * i + j]))
            })
            .collect();
        let mut c64 = Box::new([[0.0; 24]; 24]);
        for i in 0..24 {
            for j in 0..24 {
                let (v, a, u, b) = (i / 3, i % 3, j / 3, j % 3);
                let w = v ^ 1 << a ^ u ^ 1 << b;
                let mut sum = 0.0;
                for o in 0..8 {
                    for c in 0..8 {
                        for d in 0..8 {
                            sum += sign(w & o) * sign(v & c) * octant[o][3 * c + a][3 * d + b] * sign(u & d);
                        }
                    }
                }
                // Each of the three inverse transforms is the transform over 8.
                c64[i][j] = if v == 0 || u == 0 { 0.0 } else { sum / 512.0 };
            }
        }
        let c = Box::new(c64.map(|row| row.map(T::from_f64)));
        Self { octant, c, c64 }
    }

    /// The diagonal of each P_oᵀ K P_o.
    pub fn diagonals(&self) -> [[f64; 24]; 8] {
        std::array::from_fn(|o| std::array::from_fn(|i| self.octant[o][i][i]))
    }

    /// The matrix of a cell with these stiffnesses E_o h.
    pub fn matrix(&self, e: &[f64; 8], out: &mut [f64; 576]) {
        let mut amplitude = *e;
        walsh(&mut amplitude, 0, 1);
        for i in 0..24 {
            for j in 0..24 {
                let w = (i / 3) ^ 1 << (i % 3) ^ (j / 3) ^ 1 << (j % 3);
                out[24 * i + j] = amplitude[w] * self.c64[i][j];
            }
        }
        for row in 0..24 {
            for b in 0..3 {
                walsh(out, 24 * row + b, 3);
            }
        }
        for column in 0..24 {
            for a in 0..3 {
                walsh(out, 24 * a + column, 72);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::voxel::tests::random;

    #[test]
    fn a_cell_is_its_eight_voxels() {
        let cube = Cube::new(0.3);
        let cell = Cell::<f32>::new(&cube);
        let e: [f64; 8] = std::array::from_fn(|o| if o == 3 { 0.0 } else { 0.5 + random(o as u64) });
        let mut sum = [0.0; 576];
        for o in 0..8 {
            let a: [f64; 576] = std::array::from_fn(|i| e[o] * cube.dense[i / 24][i % 24]);
            add_child(o, &a, &mut sum);
        }
        let mut matrix = [0.0; 576];
        cell.matrix(&e, &mut matrix);
        for (a, b) in matrix.iter().zip(&sum) {
            assert!((a - b).abs() < 1e-14, "{a} {b}");
        }
        // Of one modulus it is a cube of twice the edge.
        cell.matrix(&[0.7; 8], &mut matrix);
        for (a, b) in matrix.iter().zip(cube.dense.as_flattened()) {
            assert!((a - 1.4 * b).abs() < 1e-14, "{a} {b}");
        }
    }
}
