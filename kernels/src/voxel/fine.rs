//! The finest level: products with what follows them done brick by brick, while the sums are at hand.

use rayon::prelude::*;

use super::multigrid::{Coarse, Smoother, for_parts};
use super::number::{Shared, from_half};
use super::{Product, Scratch};
use crate::simd::Real;

/// The finest level of the preconditioner.
pub(super) struct Fine<'a, T = f32> {
    pub product: Product<'a>,
    pub scratch: Scratch,
    /// 1 / diagonal of each node, whose three entries are equal, in 16 bits: any numbers near it would do.
    inverse: Vec<u16>,
    /// Largest eigenvalue of D⁻¹ K at most.
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

impl<'a, T: Real> Fine<'a, T> {
    /// `lambda` is the largest eigenvalue before `inverse` is rounded.
    pub fn new(product: Product<'a>, inverse: Vec<u16>, lambda: f64, smoother: Smoother) -> Self {
        // Seven bits are kept: the most that rounding adds.
        let lambda = lambda * (1.0 + 1.0 / 256.0);
        let n = 3 * inverse.len();
        let zeros = |n| vec![T::default(); n];
        let c = zeros(if smoother.sums_up() { n } else { 0 });
        let scratch = Scratch::default();
        Self { product, scratch, inverse, lambda, smoother, z: zeros(n), e: zeros(n), c, products: 0.0 }
    }

    /// K x, handed to `sink` brick by brick.
    pub fn apply(&mut self, x: &[T], sink: impl Fn(usize, &mut [T]) -> f64 + Sync) -> f64 {
        self.products += 1.0;
        self.product.apply_arranged(x, &mut self.scratch, sink)
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
        // What the product puts by is not needed in between.
        let further = self.scratch.put_by(product);
        coarse.correct(&mut self.e, &mut self.z, further, &|e| product.stiffness(e));
        product.arranged_fixed().iter().for_each(|&dof| self.z[dof as usize] = T::default());
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
                e.par_chunks_mut(3 * NODES).zip(inverse.par_chunks(NODES)).zip(r.par_chunks(3 * NODES)).for_each(
                    |((e, inverse), r)| {
                        let factor = only * s;
                        let each = e.chunks_exact_mut(3).zip(inverse).zip(r.chunks_exact(3));
                        each.for_each(|((e, &inverse), r)| {
                            let factor = factor * from_half::<T>(inverse);
                            (0..3).for_each(|a| e[a] = factor * r[a]);
                        });
                    },
                );
                if sums_up {
                    for_parts(&mut c, |first, c| {
                        c.iter_mut().zip(&e[first..]).for_each(|(c, &d)| *c = w_over * d);
                    });
                }
            } else {
                let (out, sums) = (Shared::new(&mut e), Shared::new(&mut c));
                self.apply(&z, |first, y| {
                    for_pieces(&inverse[first..], y, |at, inverse, y| {
                        let range = 3 * first + at..3 * first + at + y.len();
                        // SAFETY: each brick has its own nodes.
                        let e = unsafe { out.part(range.clone()) };
                        // SAFETY: as above.
                        let c = if sums_up { unsafe { sums.part(range.clone()) } } else { &mut [] };
                        let (z, r) = (&z[range.clone()], &r[range]);
                        let n = y.len();
                        assert!(e.len() == n && z.len() == n && r.len() == n && inverse.len() == n);
                        let step = |i: usize| s * inverse[i] * (r[i] - y[i]);
                        if k == 1 {
                            (0..n).for_each(|i| e[i] = z[i] + only * step(i));
                            c.iter_mut().enumerate().for_each(|(i, c)| *c = w_over * step(i));
                            return;
                        }
                        // e is the iterate before.
                        if zero && k == 2 {
                            e.fill(T::default());
                        }
                        let next = |i: usize, before: T| p * (z[i] - before) + step(i);
                        c.iter_mut().enumerate().for_each(|(i, c)| *c += w_over * next(i, e[i]));
                        if degree == 2 {
                            // Of two steps with weights, the first counts when the second is made.
                            (0..n).for_each(|i| e[i] = e[i] + first_weight * (z[i] - e[i]) + w * next(i, e[i]));
                        } else {
                            (0..n).for_each(|i| e[i] = z[i] + next(i, e[i]));
                        }
                    });
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

/// Nodes that a thread takes at a time.
const NODES: usize = 4096;

/// Calls `act` for pieces of y, with the place of each piece and with what each of its numbers has of `inverse`, one for a node.
#[inline(always)]
fn for_pieces<T: Real>(inverse: &[u16], y: &[T], mut act: impl FnMut(usize, &[T], &[T])) {
    const PIECE: usize = 128;
    let mut each = [T::default(); 3 * PIECE];
    for (i, (y, inverse)) in y.chunks(3 * PIECE).zip(inverse.chunks(PIECE)).enumerate() {
        each.chunks_exact_mut(3)
            .zip(inverse)
            .for_each(|(to, &inverse)| to.copy_from_slice(&[from_half::<T>(inverse); 3]));
        act(3 * PIECE * i, &each[..y.len()], y);
    }
}
