//! The finest level: products with what follows them done brick by brick, while the sums are at hand.

use pogo_formats::system::parallel::iterate::*;

use super::multigrid::{Coarse, Smoother, StepVectors};
use super::number::from_half;
use super::product::{Product, Scratch, Sink};
use super::share::Share;
use crate::simd::Real;
use pogo_formats::system::parallel::Shared;

/// The finest level of the preconditioner.
pub(super) struct Fine<'a, T = f32> {
    pub product: Product<'a>,
    /// What this rank computes of the vectors.
    pub share: Share,
    pub scratch: Scratch,
    /// 1 / diagonal of each node, whose three entries are equal, in 16 bits. The smoother needs no exact inverse.
    inverse: Vec<u16>,
    /// Upper bound of the largest eigenvalue of D⁻¹ K.
    lambda: f64,
    smoother: Smoother,
    /// The preconditioned residual.
    pub z: Vec<T>,
    /// The iterate before z, its residual, or K p.
    pub before: Vec<T>,
    /// See [`Smoother::has_surplus`].
    surplus: Vec<T>,
    /// Products computed so far.
    pub products: f64,
}

impl<'a, T: Real> Fine<'a, T> {
    /// `lambda` is the largest eigenvalue before `inverse` is rounded.
    pub fn new(product: Product<'a>, share: Share, inverse: Vec<u16>, lambda: f64, smoother: Smoother) -> Self {
        // Seven bits are kept: the most that rounding adds.
        let lambda = lambda * (1.0 + 1.0 / 256.0);
        let n = 3 * inverse.len();
        let zeros = |n| vec![T::default(); n];
        let surplus = zeros(if smoother.has_surplus() { n } else { 0 });
        let scratch = Scratch::default();
        let (z, before) = (zeros(n), zeros(n));
        Self { product, share, scratch, inverse, lambda, smoother, z, before, surplus, products: 0.0 }
    }

    /// K x, handed to `sink` brick by brick. Values of x of nodes of other ranks are fetched.
    pub fn apply(&mut self, x: &mut [T], sink: Sink<'_, T>) -> f64 {
        self.products += 1.0;
        self.product.fetch(x);
        self.product.apply_arranged(x, &mut self.scratch, sink)
    }

    /// z = one cycle on K z = r.
    pub fn precondition(&mut self, coarse: &mut Coarse<T>, r: &[T]) {
        self.smooth(r, true);
        let (mut z, mut residual) = (std::mem::take(&mut self.z), std::mem::take(&mut self.before));
        let out = Shared::new(&mut residual);
        self.apply(&mut z, &|first, y| {
            // SAFETY: each brick has its own nodes.
            let residual = unsafe { out.part(3 * first..3 * first + y.len()) };
            for ((residual, &r), &y) in residual.iter_mut().zip(&r[3 * first..]).zip(&*y) {
                *residual = r - y;
            }
            0.0
        });
        (self.z, self.before) = (z, residual);
        let product = &self.product;
        let further = product.lend(&mut self.scratch);
        coarse.correct(&mut self.before, &mut self.z, further, &|e, part| product.stiffness(e, part));
        product.arranged_fixed().iter().for_each(|&dof| self.z[dof as usize] = T::default());
        self.smooth(r, false);
    }

    /// Smoothing steps on K z = r from z or from 0.
    fn smooth(&mut self, r: &[T], from_zero: bool) {
        let smoother = self.smoother.clone();
        let inverse = std::mem::take(&mut self.inverse);
        for step in smoother.steps::<T>(self.lambda, from_zero) {
            let (mut z, mut before) = (std::mem::take(&mut self.z), std::mem::take(&mut self.before));
            let mut surplus = std::mem::take(&mut self.surplus);
            let has_surplus = !surplus.is_empty();
            let (next, sums) = (Shared::new(&mut before), Shared::new(&mut surplus));
            let advance = |z: &[T], first: usize, y: &[T]| {
                for_pieces(&inverse[first..], y, |at, inverse, product| {
                    let range = 3 * first + at..3 * first + at + product.len();
                    // SAFETY: each brick has its own nodes.
                    let before = unsafe { next.part(range.clone()) };
                    // SAFETY: as above.
                    let surplus = if has_surplus { unsafe { sums.part(range.clone()) } } else { &mut [] };
                    let (z, b) = (&z[range.clone()], &r[range]);
                    step.advance(StepVectors { inverse, b, product, z, before, surplus });
                });
            };
            if step.is_first_from_zero() {
                // Any numbers stand for K z, which this step does not read.
                let own = self.share.nodes();
                let pieces = z[3 * own.start..3 * own.end].par_chunks(3 * NODES).enumerate();
                pieces.for_each(|(i, y)| advance(&z, own.start + i * NODES, y));
            } else {
                self.product.fetch(&mut z);
                self.products += 1.0;
                self.product.apply_arranged(&z, &mut self.scratch, &|first, y| {
                    advance(&z, first, y);
                    0.0
                });
            }
            (self.z, self.before, self.surplus) = (before, z, surplus);
        }
        self.inverse = inverse;
        if smoother.has_surplus() {
            self.share.add(&mut self.z, &self.surplus);
        }
    }
}

/// Nodes that a thread takes at a time.
const NODES: usize = 4096;

/// Calls `act(place, inverse, y)` for pieces of y, with `inverse`, one number a node, laid out for each of its numbers.
#[inline(always)]
fn for_pieces<T: Real>(inverse: &[u16], y: &[T], mut act: impl FnMut(usize, &[T], &[T])) {
    const PIECE: usize = 128;
    let mut each = [T::default(); 3 * PIECE];
    for (i, (y, inverse)) in y.chunks(3 * PIECE).zip(inverse.chunks(PIECE)).enumerate() {
        each.chunks_exact_mut(3).zip(inverse).for_each(|(to, &inverse)| to.copy_from_slice(&[from_half(inverse); 3]));
        act(3 * PIECE * i, &each[..y.len()], y);
    }
}
