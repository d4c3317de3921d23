//! The finest level: products with what follows them done brick by brick, while the sums are at hand.

use super::multigrid::{Coarse, Smoother, for_parts};
use super::number::{Number, Shared};
use super::{Product, Scratch};

/// The finest level of the preconditioner.
pub(super) struct Fine<'a, T = f32> {
    pub product: Product<'a>,
    pub scratch: Scratch,
    /// 1 / diagonal of each node: its three entries are equal.
    inverse: Vec<T>,
    /// Largest eigenvalue of D⁻¹ K.
    lambda: f64,
    smoother: Smoother,
    /// The preconditioned residual.
    pub z: Vec<T>,
    /// The iterate before it, or its residual.
    pub e: Vec<T>,
    /// Of smoothers with weights and more than two steps: Σ (w − 1) d.
    c: Vec<T>,
    /// Products made.
    pub products: f64,
}

impl<'a, T: Number> Fine<'a, T> {
    pub fn new(product: Product<'a>, inverse: Vec<T>, lambda: f64, smoother: Smoother) -> Self {
        let n = 3 * inverse.len();
        let zeros = |n| vec![T::default(); n];
        let c = zeros(if smoother.sums_up() { n } else { 0 });
        let scratch = Scratch::default();
        Self { product, scratch, inverse, lambda, smoother, z: zeros(n), e: zeros(n), c, products: 0.0 }
    }

    /// K x, handed to `sink` brick by brick.
    pub fn apply(&mut self, x: &[T], sink: impl Fn(usize, &mut [T]) -> f64 + Sync) -> f64 {
        self.products += 1.0;
        self.product.apply(x, &mut self.scratch, sink)
    }

    /// z = one cycle on K z = r.
    pub fn precondition(&mut self, coarse: &mut Coarse<T>, r: &[T]) {
        self.smooth(r, true);
        let z = std::mem::take(&mut self.z);
        let mut e = std::mem::take(&mut self.e);
        let out = Shared::new(&mut e);
        self.apply(&z, |first, y| {
            // SAFETY: each brick has its own nodes.
            let e = unsafe { out.part(3 * first..3 * first + y.len()) };
            for ((e, &r), &y) in e.iter_mut().zip(&r[3 * first..]).zip(&*y) {
                *e = r - y;
            }
            0.0
        });
        (self.z, self.e) = (z, e);
        let product = &self.product;
        coarse.correct(&self.e, &mut self.z, &|e| product.stiffness(e));
        product.fixed().iter().for_each(|&dof| self.z[dof as usize] = T::default());
        self.smooth(r, false);
    }

    /// Smoothing steps on K z = r from z, or from 0. The iterate and the one before it take turns in z and e; the step
    /// between them is their difference, so that no vector is needed for it.
    fn smooth(&mut self, r: &[T], zero: bool) {
        let steps = std::mem::take(&mut self.smoother.steps);
        let sums_up = Smoother { steps: steps.clone() }.sums_up();
        let (degree, first_weight) = (steps.len(), T::from_f64(steps[0][2]));
        let one = T::from_f64(1.0);
        for (k, &[p, s, w]) in (1..).zip(&steps) {
            let (p, s, w_over, w) =
                (T::from_f64(p), T::from_f64(s / self.lambda), T::from_f64(w - 1.0), T::from_f64(w));
            let only = if degree == 1 { w } else { one };
            let (inverse, z, mut c) =
                (std::mem::take(&mut self.inverse), std::mem::take(&mut self.z), std::mem::take(&mut self.c));
            let mut e = std::mem::take(&mut self.e);
            if zero && k == 1 {
                for_parts(&mut e, |first, e| {
                    for (i, e) in e.iter_mut().enumerate() {
                        *e = only * s * inverse[(first + i) / 3] * r[first + i];
                    }
                });
                if sums_up {
                    for_parts(&mut c, |first, c| {
                        c.iter_mut().zip(&e[first..]).for_each(|(c, &d)| *c = w_over * d);
                    });
                }
            } else {
                let (out, sums) = (Shared::new(&mut e), Shared::new(&mut c));
                self.apply(&z, |first, y| {
                    let range = 3 * first..3 * first + y.len();
                    // SAFETY: each brick has its own nodes.
                    let e = unsafe { out.part(range.clone()) };
                    // SAFETY: as above.
                    let c = if sums_up { unsafe { sums.part(range.clone()) } } else { &mut [] };
                    let (z, r) = (&z[range.clone()], &r[range]);
                    for i in 0..y.len() {
                        let step = s * inverse[first + i / 3] * (r[i] - y[i]);
                        if k == 1 {
                            e[i] = z[i] + only * step;
                            if sums_up {
                                c[i] = w_over * step;
                            }
                            continue;
                        }
                        let before = if zero && k == 2 { T::default() } else { e[i] };
                        let d = z[i] - before;
                        let next = p * d + step;
                        // Of two steps with weights, the first counts when the second is made.
                        e[i] = if degree == 2 { before + first_weight * d + w * next } else { z[i] + next };
                        if sums_up {
                            c[i] += w_over * next;
                        }
                    }
                    0.0
                });
            }
            self.inverse = inverse;
            (self.z, self.e, self.c) = (e, z, c);
        }
        if sums_up {
            let c = &self.c;
            for_parts(&mut self.z, |first, z| z.iter_mut().zip(&c[first..]).for_each(|(z, &c)| *z += c));
        }
        self.smoother.steps = steps;
    }
}
