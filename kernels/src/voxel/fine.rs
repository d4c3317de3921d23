//! The finest level: products with what follows them done brick by brick, while the sums are at hand.

use super::multigrid::{factors, for_parts, weight};
use super::number::Shared;
use super::{Product, Scratch};

/// The finest level of the preconditioner, in single precision.
pub(super) struct Fine<'a> {
    pub product: Product<'a>,
    pub scratch: Scratch,
    /// 1 / diagonal of each node: its three entries are equal.
    inverse: Vec<f32>,
    /// Largest eigenvalue of D⁻¹ K.
    lambda: f32,
    /// Residual of the smoother.
    pub residual: Vec<f32>,
    /// Steps.
    d: Vec<f32>,
    /// Next steps; the coarse correction.
    pub e: Vec<f32>,
    /// Products made.
    pub products: f64,
}

impl<'a> Fine<'a> {
    pub fn new(product: Product<'a>, inverse: Vec<f32>, lambda: f64) -> Self {
        let n = 3 * inverse.len();
        Self {
            product,
            scratch: Scratch::default(),
            inverse,
            lambda: lambda as f32,
            residual: vec![0.0; n],
            d: vec![0.0; n],
            e: vec![0.0; n],
            products: 0.0,
        }
    }

    /// K x, handed to `sink` brick by brick.
    pub fn apply(&mut self, x: &[f32], sink: impl Fn(usize, &mut [f32]) -> f64 + Sync) -> f64 {
        self.products += 1.0;
        self.product.apply(x, &mut self.scratch, sink)
    }

    /// z = `degree` smoothing steps on K z = b from z = 0; then `residual` = b − K z.
    pub fn smooth_before(&mut self, degree: usize, b: &[f32], z: &mut [f32]) {
        let (_, s) = self.factors(1);
        let inverse = &self.inverse;
        for_parts(&mut self.d, |first, d| {
            for (i, d) in d.iter_mut().enumerate() {
                *d = s * inverse[(first + i) / 3] * b[first + i];
            }
        });
        let (d, w) = (&self.d, weight(degree, 1));
        for_parts(z, |first, z| {
            for (z, d) in z.iter_mut().zip(&d[first..]) {
                *z = w * d;
            }
        });
        let mut residual = std::mem::take(&mut self.residual);
        for k in 2..=degree {
            // Of the first step r = b, which needs no copy.
            self.step(degree, k, (k == 2).then_some(b), &mut residual, z);
        }
        let out = Shared::new(&mut residual);
        self.apply(z, |first, y| {
            // SAFETY: each brick has its own nodes.
            let r = unsafe { out.part(3 * first..3 * first + y.len()) };
            for ((r, b), y) in r.iter_mut().zip(&b[3 * first..]).zip(&*y) {
                *r = b - y;
            }
            0.0
        });
        self.residual = residual;
    }

    /// z += e and `degree` smoothing steps more; `residual` is that before e. Returns Σ z b and Σ z q.
    pub fn smooth_after(&mut self, degree: usize, b: &[f32], q: &[f32], z: &mut [f32]) -> (f64, f64) {
        let (_, s) = self.factors(1);
        let (mut residual, mut d, e) =
            (std::mem::take(&mut self.residual), std::mem::take(&mut self.d), std::mem::take(&mut self.e));
        let w = weight(degree, 1);
        {
            let (r, d, z) = (Shared::new(&mut residual), Shared::new(&mut d), Shared::new(z));
            let inverse = std::mem::take(&mut self.inverse);
            self.apply(&e, |first, y| {
                let range = 3 * first..3 * first + y.len();
                // SAFETY: each brick has its own nodes.
                let (r, d, z) = unsafe { (r.part(range.clone()), d.part(range.clone()), z.part(range.clone())) };
                let e = &e[range];
                for i in 0..y.len() {
                    r[i] -= y[i];
                    d[i] = s * inverse[first + i / 3] * r[i];
                    z[i] += e[i] + w * d[i];
                }
                0.0
            });
            self.inverse = inverse;
        }
        (self.d, self.e) = (d, e);
        for k in 2..=degree {
            self.step(degree, k, None, &mut residual, z);
        }
        self.residual = residual;
        (super::multigrid::dot(z, b), super::multigrid::dot(z, q))
    }

    /// Step k ≥ 2: r = (`start` or r) − K d; d = p d + s D⁻¹ r; z += w d.
    fn step(&mut self, degree: usize, k: usize, start: Option<&[f32]>, residual: &mut [f32], z: &mut [f32]) {
        let (p, s) = self.factors(k);
        let w = weight(degree, k);
        let (d, mut next) = (std::mem::take(&mut self.d), std::mem::take(&mut self.e));
        let inverse = std::mem::take(&mut self.inverse);
        {
            let (r, next, z) = (Shared::new(residual), Shared::new(&mut next), Shared::new(z));
            self.apply(&d, |first, y| {
                let range = 3 * first..3 * first + y.len();
                // SAFETY: each brick has its own nodes.
                let (r, next, z) = unsafe { (r.part(range.clone()), next.part(range.clone()), z.part(range.clone())) };
                let d = &d[range.clone()];
                if let Some(start) = start {
                    r.copy_from_slice(&start[range]);
                }
                for i in 0..y.len() {
                    r[i] -= y[i];
                    next[i] = p * d[i] + s * inverse[first + i / 3] * r[i];
                    z[i] += w * next[i];
                }
                0.0
            });
        }
        self.inverse = inverse;
        (self.d, self.e) = (next, d);
    }

    fn factors(&self, k: usize) -> (f32, f32) {
        let (p, s) = factors(k);
        (p, s / self.lambda)
    }
}
