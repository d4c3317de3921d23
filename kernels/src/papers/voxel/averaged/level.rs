//! One level of the papers' multigrid.

use super::coarse::Between;
use super::dense;
use super::settings::{AveragedError, AveragedSettings};
use crate::simd::Real;
use crate::voxel::vectors::{add, dot, for_parts};
use crate::voxel::{FACTORISED, Product, Scratch};
use pogo_formats::system::parallel::Shared;

/// One level.
pub(super) struct Level<'a, T> {
    pub product: Product<'a>,
    scratch: Scratch,
    /// 1 / diagonal, 0 where fixed.
    pub inverse: Vec<T>,
    /// Largest eigenvalue of D⁻¹ A.
    lambda: f64,
    /// Voxels over those of the finest level.
    pub cost: f64,
    /// Where the nodes stand between those of the next coarser level.
    pub between: &'a [Between],
    /// Cholesky factor of the coarsest level, row by row.
    factor: Vec<T>,
    /// Right side, solution, residual, step, product.
    pub b: Vec<T>,
    pub x: Vec<T>,
    pub r: Vec<T>,
    d: Vec<T>,
    q: Vec<T>,
}

impl<'a, T: Real> Level<'a, T> {
    pub fn new(product: Product<'a>, between: &'a [Between], cost: f64) -> Self {
        let n = 3 * product.n_nodes();
        let mut sums = vec![0.0; n];
        for (e, nodes) in product.elements().nodes.iter().enumerate() {
            let value = product.stiffness(e, 0) * product.cubes()[0].diagonal;
            nodes.iter().for_each(|&node| (0..3).for_each(|a| sums[3 * node as usize + a] += value));
        }
        let mut inverse: Vec<T> = sums.iter().map(|sum| T::from_f64(1.0 / sum)).collect();
        product.fixed().iter().for_each(|&dof| inverse[dof as usize] = T::default());
        let zeros = || vec![T::default(); n];
        let mut level = Self {
            product,
            scratch: Scratch::default(),
            inverse,
            lambda: 1.0,
            cost,
            between,
            factor: Vec::new(),
            b: zeros(),
            x: zeros(),
            r: zeros(),
            d: zeros(),
            q: zeros(),
        };
        level.lambda = level.largest_eigenvalue();
        level
    }

    /// y = A x.
    pub fn apply<U: Real>(&mut self, x: &[U], y: &mut [U]) {
        let out = Shared::new(y);
        self.product.apply(x, &mut self.scratch, &|first, part| {
            // SAFETY: each brick has its own nodes.
            unsafe { out.part(3 * first..3 * first + part.len()) }.copy_from_slice(part);
            0.0
        });
    }

    /// Lanczos on D^-1/2 A D^-1/2: the largest eigenvalue of its tridiagonal matrix.
    fn largest_eigenvalue(&mut self) -> f64 {
        const STEPS: usize = 15;
        let n = self.inverse.len();
        let root: Vec<f64> = self.inverse.iter().map(|inverse| inverse.to_f64().sqrt()).collect();
        let mut v: Vec<f64> = (0..n).map(|i| ((i as f64) * 0.73).sin() + 0.1).collect();
        v.iter_mut().zip(&root).filter(|(_, root)| **root == 0.0).for_each(|(v, _)| *v = 0.0);
        let (mut before, mut y, mut scaled) = (vec![0.0; n], vec![0.0; n], vec![0.0; n]);
        let norm = dot(&v, &v).sqrt();
        if !(norm > 0.0) {
            return 1.0;
        }
        v.iter_mut().for_each(|v| *v /= norm);
        let (mut diagonal, mut off) = (Vec::new(), Vec::<f64>::new());
        for _ in 0..STEPS {
            for i in 0..n {
                scaled[i] = root[i] * v[i];
            }
            self.apply(&scaled, &mut y);
            for i in 0..n {
                y[i] = root[i] * y[i] - off.last().unwrap_or(&0.0) * before[i];
            }
            let a = dot(&v, &y);
            diagonal.push(a);
            for i in 0..n {
                y[i] -= a * v[i];
            }
            let b = dot(&y, &y).sqrt();
            if !(b > 1e-10) {
                break;
            }
            off.push(b);
            std::mem::swap(&mut before, &mut v);
            for i in 0..n {
                v[i] = y[i] / b;
            }
        }
        largest_of_tridiagonal(&diagonal, &off)
    }

    /// Chebyshev smoothing of A x = b on [λ / ratio, λ], from x or from 0; products made.
    pub fn smooth(&mut self, settings: &AveragedSettings, from_zero: bool) -> usize {
        let (upper, lower) = (self.lambda, self.lambda / settings.ratio);
        let (theta, delta) = (0.5 * (upper + lower), 0.5 * (upper - lower));
        let sigma = theta / delta;
        let mut rho = 1.0 / sigma;
        let mut products = 0;
        for k in 0..settings.degree {
            if from_zero && k == 0 {
                self.r.copy_from_slice(&self.b);
            } else {
                self.residual();
                products += 1;
            }
            let next = 1.0 / (2.0 * sigma - rho);
            let (p, s) = if k == 0 { (0.0, 1.0 / theta) } else { (next * rho, 2.0 * next / delta) };
            let (p, s) = (T::from_f64(p), T::from_f64(s));
            if k > 0 {
                rho = next;
            }
            let (r, inverse) = (&self.r, &self.inverse);
            for_parts(&mut self.d, |first, d| {
                for (i, d) in (first..).zip(d) {
                    *d = p * *d + s * inverse[i] * r[i];
                }
            });
            add(&mut self.x, &self.d);
        }
        products
    }

    /// r = b − A x.
    pub fn residual(&mut self) {
        let (x, mut q) = (std::mem::take(&mut self.x), std::mem::take(&mut self.q));
        self.apply(&x, &mut q);
        (self.x, self.q) = (x, q);
        let (b, q) = (&self.b, &self.q);
        for_parts(&mut self.r, |first, r| {
            for (i, r) in (first..).zip(r) {
                *r = b[i] - q[i];
            }
        });
    }

    /// Right side of the coarser level: Pᵀ r, 0 where fixed.
    pub fn restrict(&self, coarse: &mut Self) {
        coarse.b.fill(T::default());
        for (node, between) in self.between.iter().enumerate() {
            let weight = T::from_f64(between.weight());
            for &up in between.nodes() {
                for a in 0..3 {
                    coarse.b[3 * up as usize + a] += weight * self.r[3 * node + a];
                }
            }
        }
        coarse.product.fixed().iter().for_each(|&dof| coarse.b[dof as usize] = T::default());
    }

    /// x += P x of the coarser level, 0 where fixed.
    pub fn prolong(&mut self, coarse: &Self) {
        for (node, between) in self.between.iter().enumerate() {
            let weight = T::from_f64(between.weight());
            for &up in between.nodes() {
                for a in 0..3 {
                    self.x[3 * node + a] += weight * coarse.x[3 * up as usize + a];
                }
            }
        }
        self.product.fixed().iter().for_each(|&dof| self.x[dof as usize] = T::default());
    }

    /// x = A⁻¹ b by the factor, or by steps of conjugate gradients with the diagonal.
    pub fn bottom(&mut self, steps: usize) {
        if !self.factor.is_empty() {
            dense::substitute(&self.factor, &self.b, &mut self.x);
            return;
        }
        let zeros = || vec![T::default(); self.b.len()];
        let (mut r, mut z, mut x, mut p, mut q) = (self.b.clone(), zeros(), zeros(), zeros(), zeros());
        let mut rho = 0.0;
        for step in 0..steps {
            z.iter_mut().zip(&r).zip(&self.inverse).for_each(|((z, &r), &inverse)| *z = r * inverse);
            let next = dot(&r, &z);
            if !(next > 0.0) {
                break;
            }
            let beta = T::from_f64(if step == 0 { 0.0 } else { next / rho });
            rho = next;
            p.iter_mut().zip(&z).for_each(|(p, &z)| *p = z + beta * *p);
            self.apply(&p, &mut q);
            let alpha = T::from_f64(rho / dot(&p, &q));
            for i in 0..x.len() {
                x[i] += alpha * p[i];
                r[i] = r[i] - alpha * q[i];
            }
        }
        self.x = x;
    }

    /// Makes the factor, from products with unit vectors. Fixed degrees of freedom are left out.
    pub fn factorise(&mut self) -> Result<(), AveragedError> {
        let n = self.inverse.len();
        if n > FACTORISED {
            return Err(AveragedError::Factorised(n));
        }
        let (mut matrix, mut unit, mut column) = (vec![0.0; n * n], vec![0.0; n], vec![0.0; n]);
        for i in 0..n {
            if self.inverse[i] == T::default() {
                continue;
            }
            unit[i] = 1.0;
            self.apply(&unit, &mut column);
            unit[i] = 0.0;
            (0..n).for_each(|row| matrix[row * n + i] = column[row]);
        }
        dense::factorise(&mut matrix, n);
        self.factor = matrix.into_iter().map(T::from_f64).collect();
        Ok(())
    }
}

/// The largest eigenvalue of a symmetric tridiagonal matrix with eigenvalues in [0, 100], by bisection with Sturm's
/// sequence.
fn largest_of_tridiagonal(diagonal: &[f64], off: &[f64]) -> f64 {
    let (mut low, mut high) = (0.0, 100.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        let mut d = 1.0;
        let above = (0..diagonal.len()).any(|i| {
            let b = if i == 0 { 0.0 } else { off[i - 1] };
            d = diagonal[i] - middle - b * b / d;
            d > 0.0
        });
        if above { low = middle } else { high = middle }
    }
    high
}
