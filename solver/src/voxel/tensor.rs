//! The apparent stiffness from six load cases, and its orthotropic part.
//!
//! Energy decides: with the mean strain ε̄ of case a and the work W_ab = ½ f_aᵀ u_b of the boundary forces of case a on
//! the displacements of case b, ε̄_aᵀ C ε̄_b = 2 W_ab / V for kinematic conditions and σ̄_aᵀ S σ̄_b = 2 W_ab / V for
//! static ones (Hill's lemma), V being the volume of the box.

use pogo_formats::voxel::setup::TensorBoundary;
use pogo_formats::voxel::summary::{Orthotropic, Tensor};
use pogo_formats::voxel::{VoxelMeshView, VoxelSetup};
use pogo_kernels::voxel::NodalForce;

use super::case::{Conditions, coordinates, magnitude};
use super::conditions::Prepared;
use super::dense::{inverse, product, transposed};
use super::results::{Reactions, centre, extents};

/// 6 × 6 in Voigt's order xx, yy, zz, yz, xz, xy, engineering shears.
pub(super) type Matrix6 = [[f64; 6]; 6];

const PAIRS: [(usize, usize); 6] = [(0, 0), (1, 1), (2, 2), (1, 2), (0, 2), (0, 1)];

/// What is kept of each of the six cases.
#[derive(Debug, Default)]
pub(super) struct TensorCases {
    /// Mean stress of each case.
    stresses: Vec<[f64; 6]>,
    /// Work of the forces of all cases on the displacements of each.
    works: Vec<Vec<f64>>,
}

impl TensorCases {
    /// Adds the result of the next case.
    pub fn add(
        &mut self,
        mesh: &VoxelMeshView<'_>,
        setup: &VoxelSetup,
        reactions: &Reactions,
        conditions: &Conditions,
        prepared: &[Prepared],
        displacement: &[f64],
    ) {
        self.stresses.push(mean_stress(mesh, setup, reactions, conditions));
        self.works.push(prepared.iter().map(|other| work(&other.conditions, displacement)).collect());
    }

    /// The apparent stiffness; none unless there are six cases, or where it is singular.
    pub fn apparent(&self, mesh: &VoxelMeshView<'_>, setup: &VoxelSetup, boundary: TensorBoundary) -> Option<Tensor> {
        let Self { stresses, works } = self;
        let size = magnitude(&setup.magnitudes, Some(0));
        if stresses.len() != 6 {
            return None;
        }
        let unit = |name| tensor(std::array::from_fn(|i| std::array::from_fn(|case| stresses[case][i] / size)), name);
        match boundary {
            TensorBoundary::Kinematic => return unit("kinematic"),
            TensorBoundary::Periodic => return unit("periodic"),
            TensorBoundary::Static => {}
        }
        let volume: f64 = extents(setup, mesh.spacing).iter().product();
        // Row a is σ̄ of case a: works / V = Σ S Σᵀ.
        let sigma: Matrix6 = std::array::from_fn(|a| stresses[a]);
        let both: Matrix6 = std::array::from_fn(|a| std::array::from_fn(|b| works[b][a] / volume));
        let left = inverse(sigma)?;
        let compliance = product(&product(&left, &both), &transposed(&left));
        tensor(inverse(compliance)?, "static")
    }
}

/// Mean stress over the box, 1/V Σ sym(f ⊗ x) over all boundary forces.
fn mean_stress(
    mesh: &VoxelMeshView<'_>,
    setup: &VoxelSetup,
    reactions: &Reactions,
    conditions: &Conditions,
) -> [f64; 6] {
    let volume: f64 = extents(setup, mesh.spacing).iter().product();
    let mut moment = [[0.0; 3]; 3];
    // From the centre: the forces balance only to the tolerance, which a specimen far from the origin would multiply.
    let centre = centre(mesh, setup);
    let mut add = |node: u32, force: [f64; 3]| {
        let at = coordinates(mesh, node);
        let x: [f64; 3] = std::array::from_fn(|k| at[k] - centre[k]);
        (0..9).for_each(|at| moment[at / 3][at % 3] += force[at / 3] * x[at % 3]);
    };
    reactions.nodes.iter().zip(&reactions.forces).for_each(|(&node, &force)| add(node, force));
    for force in &conditions.forces {
        add(force.node, std::array::from_fn(|d| if d == usize::from(force.direction) { force.value } else { 0.0 }));
    }
    PAIRS.map(|(i, j)| 0.5 * (moment[i][j] + moment[j][i]) / volume)
}

/// Work of the forces, f · u.
fn work(conditions: &Conditions, displacement: &[f64]) -> f64 {
    let along = |force: &NodalForce| force.value * displacement[3 * force.node as usize + usize::from(force.direction)];
    conditions.forces.iter().map(along).sum()
}

/// From a symmetric matrix or its inverse to everything that is reported; none where C is singular.
///
/// `stiffness[i][j]` is the mean stress i for the unit mean strain j.
pub(super) fn tensor(stiffness: Matrix6, boundary: &'static str) -> Option<Tensor> {
    let t = transposed(&stiffness);
    let mut symmetric = stiffness;
    let (mut difference, mut size) = (0.0, 0.0);
    for i in 0..6 {
        for j in 0..6 {
            symmetric[i][j] = 0.5 * (stiffness[i][j] + t[i][j]);
            difference += (stiffness[i][j] - t[i][j]).powi(2);
            size += stiffness[i][j].powi(2);
        }
    }
    let compliance = inverse(symmetric)?;
    Some(Tensor {
        boundary,
        stiffness: symmetric,
        compliance,
        asymmetry: (difference / size).sqrt(),
        orthotropic: orthotropic(&symmetric, [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])?,
        best_orthotropic: orthotropic(&symmetric, best_axes(&symmetric))?,
    })
}

/// Stiffness in axes whose rows in global components are `r`: C′ = M C Mᵀ with the Bond matrix of stresses.
pub(super) fn rotated(c: &Matrix6, r: &[[f64; 3]; 3]) -> Matrix6 {
    let m: Matrix6 = std::array::from_fn(|row| {
        let (i, j) = PAIRS[row];
        std::array::from_fn(|column| {
            let (k, l) = PAIRS[column];
            let one = r[i][k] * r[j][l];
            if k == l { one } else { one + r[i][l] * r[j][k] }
        })
    });
    product(&product(&m, c), &transposed(&m))
}

/// Squared Frobenius norm of the part that is not orthotropic, and of the whole, as tensors of fourth order.
fn parts(c: &Matrix6) -> [f64; 2] {
    let (mut rest, mut all) = (0.0, 0.0);
    for (i, row) in c.iter().enumerate() {
        for (j, value) in row.iter().enumerate() {
            // An entry with a shear index stands for two components of the tensor.
            let weight = if i < 3 { 1.0 } else { 2.0 } * if j < 3 { 1.0 } else { 2.0 };
            all += weight * value * value;
            if i != j && (i > 2 || j > 2) {
                rest += weight * value * value;
            }
        }
    }
    [rest, all]
}

fn orthotropic(c: &Matrix6, axes: [[f64; 3]; 3]) -> Option<Orthotropic> {
    let mut c = rotated(c, &axes);
    let [rest, all] = parts(&c);
    for (i, row) in c.iter_mut().enumerate() {
        for (j, value) in row.iter_mut().enumerate() {
            if i != j && (i > 2 || j > 2) {
                *value = 0.0;
            }
        }
    }
    let s = inverse(c)?;
    Some(Orthotropic {
        axes,
        young: [0, 1, 2].map(|i| 1.0 / s[i][i]),
        poisson: [(0, 1), (0, 2), (1, 2)].map(|(i, j)| -s[i][j] / s[i][i]),
        shear: [3, 4, 5].map(|i| c[i][i]),
        rest: (rest / all).sqrt(),
    })
}

/// Turns axes by small angles, one axis after the other, while that makes the rest smaller; from several starts.
fn best_axes(c: &Matrix6) -> [[f64; 3]; 3] {
    let turned = |axes: &[[f64; 3]; 3], about: usize, angle: f64| {
        let (sin, cos) = angle.sin_cos();
        let (b, d) = ((about + 1) % 3, (about + 2) % 3);
        let mut out = *axes;
        for k in 0..3 {
            out[b][k] = cos * axes[b][k] + sin * axes[d][k];
            out[d][k] = cos * axes[d][k] - sin * axes[b][k];
        }
        out
    };
    let rest = |axes: &[[f64; 3]; 3]| parts(&rotated(c, axes))[0];
    let start = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    let mut best = (rest(&start), start);
    let eighth = std::f64::consts::FRAC_PI_4;
    for (about, angle) in [(0, 0.0), (0, eighth), (1, eighth), (2, eighth), (0, -0.5 * eighth), (1, 0.5 * eighth)] {
        let mut axes = turned(&start, about, angle);
        let mut now = rest(&axes);
        let mut step = 0.2;
        while step > 1e-7 {
            let mut moved = false;
            for about in 0..3 {
                for angle in [step, -step] {
                    let next = turned(&axes, about, angle);
                    let value = rest(&next);
                    if value < now {
                        (axes, now, moved) = (next, value, true);
                    }
                }
            }
            if !moved {
                step *= 0.5;
            }
        }
        // Another start must be clearly better, so that a grid-aligned sample keeps the grid's axes.
        if now < best.0 * 0.999 && now < best.0 - 1e-12 * parts(c)[1] {
            best = (now, axes);
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Matrix6 {
        let mut c = [[0.0; 6]; 6];
        c[0][..3].copy_from_slice(&[10.0, 3.0, 2.0]);
        c[1][..3].copy_from_slice(&[3.0, 8.0, 2.5]);
        c[2][..3].copy_from_slice(&[2.0, 2.5, 15.0]);
        (c[3][3], c[4][4], c[5][5]) = (3.0, 4.0, 2.0);
        c
    }

    #[test]
    fn turned_axes_are_found_again() {
        let (sin, cos) = 0.4_f64.sin_cos();
        let r = [[cos, sin, 0.0], [-sin, cos, 0.0], [0.0, 0.0, 1.0]];
        let (s2, c2) = 0.3_f64.sin_cos();
        let q = [[1.0, 0.0, 0.0], [0.0, c2, s2], [0.0, -s2, c2]];
        let axes = product(&q, &r);
        let turned = rotated(&sample(), &axes);
        assert!(parts(&turned)[0] > 1e-3);
        let tensor = tensor(turned, "kinematic").unwrap();
        assert!(tensor.best_orthotropic.rest < 1e-6, "{}", tensor.best_orthotropic.rest);
        let plain = orthotropic(&sample(), [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]).unwrap();
        let sorted = |mut e: [f64; 3]| {
            e.sort_by(f64::total_cmp);
            e
        };
        for (a, b) in sorted(tensor.best_orthotropic.young).iter().zip(sorted(plain.young)) {
            assert!((a - b).abs() < 1e-5 * b, "{a} {b}");
        }
    }

    #[test]
    fn an_isotropic_tensor_stays_the_same_in_all_axes() {
        let c = super::super::element::elasticity(0.3);
        let (sin, cos) = 0.7_f64.sin_cos();
        let turned = rotated(&c, &[[cos, 0.0, -sin], [0.0, 1.0, 0.0], [sin, 0.0, cos]]);
        for (a, b) in c.iter().flatten().zip(turned.iter().flatten()) {
            assert!((a - b).abs() < 1e-14);
        }
        let tensor = tensor(c, "kinematic").unwrap();
        assert!((tensor.orthotropic.young[1] - 1.0).abs() < 1e-12);
        assert!((tensor.orthotropic.poisson[2] - 0.3).abs() < 1e-12);
        assert!((tensor.orthotropic.shear[0] - 0.5 / 1.3).abs() < 1e-12);
    }
}
