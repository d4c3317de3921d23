//! A coarse level: its operator, its vectors, its smoother.

use super::first::{First, Stiffness};
use super::half::Half;
use super::packed::Packed;
use super::settings::{CycleKind, CycleSettings};
use super::smoother::{Smoother, StepVectors};
use super::transfer::Transfer;
use crate::simd::Real;
use crate::voxel::elements::{Batches, Elements};
use crate::voxel::number::Shared;
use crate::voxel::vectors::{add, dot, for_parts};

/// The matrix of a coarse level.
#[derive(Debug)]
pub(crate) enum Operator<T = f32> {
    First(Box<First<T>>),
    Assembled(Packed<T>),
    Half(Half),
}

/// A vector in memory of its own or in memory that is lent to it.
#[derive(Debug)]
pub(super) struct Vector<T> {
    own: Vec<T>,
    at: *mut T,
    n: usize,
    /// The piece of memory that it is lent.
    lent: Option<usize>,
}

// SAFETY: it owns its numbers, or has borrowed them for itself alone (`Level::lend`).
unsafe impl<T: Send> Send for Vector<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Vector<T> {}

impl<T> Default for Vector<T> {
    fn default() -> Self {
        Self { own: Vec::new(), at: std::ptr::NonNull::dangling().as_ptr(), n: 0, lent: None }
    }
}

impl<T: Real> Vector<T> {
    fn resize(&mut self, n: usize) {
        self.own.resize(n, T::default());
        (self.at, self.n) = (self.own.as_mut_ptr(), n);
    }
}

impl<T> std::ops::Deref for Vector<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        // SAFETY: `n` numbers of its own, or of memory that stays lent until `n` is 0.
        unsafe { std::slice::from_raw_parts(self.at, self.n) }
    }
}

impl<T> std::ops::DerefMut for Vector<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above; nobody else has it.
        unsafe { std::slice::from_raw_parts_mut(self.at, self.n) }
    }
}

/// The vectors of a level, (3 n_nodes,) each where they are needed.
#[derive(Debug, Default)]
pub(super) struct Vectors<T> {
    /// Right side, later the residual.
    pub b: Vector<T>,
    /// Solution of A x = b.
    pub x: Vector<T>,
    /// Iterate of one cycle, and the one before it.
    pub z: Vector<T>,
    pub before: Vector<T>,
    /// Product A z.
    pub product: Vector<T>,
    /// See [`Smoother::has_surplus`].
    pub surplus: Vector<T>,
    /// Direction of conjugate gradients and its product.
    pub p: Vector<T>,
    pub q: Vector<T>,
}

impl<T> Vectors<T> {
    /// x, z, the iterate before, the product, p, q, the surplus and the right side.
    fn all(&mut self) -> [&mut Vector<T>; 8] {
        let Self { b, x, z, before, product, surplus, p, q } = self;
        [x, z, before, product, p, q, surplus, b]
    }
}

/// A coarse level.
#[derive(Debug)]
pub(crate) struct Level<T = f32> {
    pub operator: Operator<T>,
    /// Eight nodes of each element.
    pub nodes: Vec<[u32; 8]>,
    /// To and from the finer level.
    pub transfer: Transfer,
    batches: Batches,
    /// 1 / diagonal, 0 where there is no stiffness.
    pub inverse: Vec<T>,
    /// Largest eigenvalue of D⁻¹ A.
    pub lambda: f64,
    /// Non-zero blocks over those of the finest level.
    pub cost: f64,
    /// Number of degrees of freedom.
    pub n: usize,
    pub(super) vectors: Vectors<T>,
}

impl<T: Real> Level<T> {
    pub(super) fn new(
        operator: Operator<T>,
        elements: &Elements,
        batches: Batches,
        transfer: Transfer,
        diagonal: &[f64],
        cost: f64,
    ) -> Self {
        let most = diagonal.iter().fold(0.0_f64, |most, &d| most.max(d));
        let inverse = |&d: &f64| if d > 1e-7 * most { T::from_f64(1.0 / d) } else { T::default() };
        Self {
            operator,
            nodes: elements.nodes.clone(),
            transfer,
            batches,
            inverse: diagonal.iter().map(inverse).collect(),
            lambda: 1.0,
            cost,
            n: 3 * elements.n_nodes,
            vectors: Vectors::default(),
        }
    }

    /// Allocates the vectors. The last level is not smoothed: it needs its right side and its solution alone.
    ///
    /// A vector that nobody needs between two corrections gets memory that is lent to it, if a piece has enough
    /// `free`. The right side of level 1 is made of the residual in that memory, so it has memory of its own.
    pub(super) fn allocate(
        &mut self,
        [is_first, is_last]: [bool; 2],
        settings: &CycleSettings,
        smoother: &Smoother,
        free: &mut [usize],
    ) {
        let (n, full) = (self.n, !is_last);
        let conjugate = full && settings.kind == CycleKind::K;
        let needed = [true, full, full, full, conjugate, conjugate, full && smoother.has_surplus(), true];
        for (i, vector) in self.vectors.all().into_iter().enumerate().filter(|(i, _)| needed[*i]) {
            let is_right_side = i + 1 == needed.len();
            vector.lent = if is_first && is_right_side { None } else { free.iter().position(|&free| free >= n) };
            match vector.lent {
                Some(piece) => free[piece] -= n,
                None => vector.resize(n),
            }
        }
    }

    /// Lends memory to the vectors that have none of their own, until it is taken back. The rest stays in `memory`.
    pub(super) fn lend(&mut self, memory: &mut [&mut [T]]) {
        let n = self.n;
        for vector in self.vectors.all() {
            let Some(piece) = vector.lent else { continue };
            let (first, rest) = std::mem::take(&mut memory[piece]).split_at_mut(n);
            (vector.at, vector.n) = (first.as_mut_ptr(), n);
            memory[piece] = rest;
        }
    }

    /// Takes back what [`lend`](Self::lend) has given.
    pub(super) fn take_back(&mut self) {
        self.vectors.all().into_iter().filter(|vector| vector.lent.is_some()).for_each(|vector| vector.n = 0);
    }

    /// y = A x, for vectors of this level or others.
    fn multiply(
        operator: &Operator<T>,
        nodes: &[[u32; 8]],
        batches: &Batches,
        x: &[T],
        y: &mut [T],
        stiffness: &Stiffness,
    ) {
        match operator {
            Operator::First(first) => first.apply(nodes, x, y, batches, &|e| stiffness(e)),
            Operator::Assembled(blocks) => blocks.apply(x, y),
            Operator::Half(blocks) => blocks.apply(x, y),
        }
    }

    /// Computes A z.
    pub(super) fn multiply_z(&mut self, stiffness: &Stiffness, products: &mut f64) {
        let Vectors { z, product, .. } = &mut self.vectors;
        Self::multiply(&self.operator, &self.nodes, &self.batches, z, product, stiffness);
        *products += self.cost;
    }

    /// q = A p.
    pub(super) fn multiply_p(&mut self, stiffness: &Stiffness, products: &mut f64) {
        let Vectors { p, q, .. } = &mut self.vectors;
        Self::multiply(&self.operator, &self.nodes, &self.batches, p, q, stiffness);
        *products += self.cost;
    }

    /// b = Pᵀ r for a residual of the finer level.
    pub(super) fn restrict(&mut self, fine: &[T]) {
        self.transfer.restrict(&self.nodes, &self.batches, fine, &mut self.vectors.b);
    }

    /// fine += P x.
    pub(super) fn prolong(&self, fine: &mut [T]) {
        self.transfer.prolong(&self.nodes, &self.vectors.x, fine);
    }

    /// Smoothing steps on A z = b, from z or from 0.
    pub(super) fn smooth(&mut self, smoother: &Smoother, from_zero: bool, stiffness: &Stiffness, products: &mut f64) {
        for step in smoother.steps::<T>(self.lambda, from_zero) {
            if !step.is_first_from_zero() {
                self.multiply_z(stiffness, products);
            }
            let Vectors { b, z, before, product, surplus, .. } = &mut self.vectors;
            let (inverse, b, z, product) = (&self.inverse, &**b, &**z, &**product);
            let has_surplus = !surplus.is_empty();
            let surplus = Shared::new(surplus);
            for_parts(before, |first, before| {
                let range = first..first + before.len();
                // SAFETY: parts do not overlap.
                let surplus = if has_surplus { unsafe { surplus.part(range.clone()) } } else { &mut [] };
                let (inverse, b) = (&inverse[range.clone()], &b[range.clone()]);
                let (product, z) = (&product[range.clone()], &z[range]);
                step.advance(StepVectors { inverse, b, product, z, before, surplus });
            });
            std::mem::swap(&mut self.vectors.z, &mut self.vectors.before);
        }
        if smoother.has_surplus() {
            add(&mut self.vectors.z, &self.vectors.surplus);
        }
    }

    /// x = some steps of conjugate gradients with the diagonal on A x = b, from 0; b becomes the residual.
    pub(super) fn jacobi(&mut self, steps: usize, stiffness: &Stiffness, products: &mut f64) {
        let n = self.n;
        let Vectors { z, p, q, .. } = &mut self.vectors;
        [z, p, q].into_iter().for_each(|v| v.resize(n));
        self.vectors.x.fill(T::default());
        let mut rho = 0.0;
        for step in 0..steps {
            let Vectors { b, z, p, .. } = &mut self.vectors;
            for i in 0..n {
                z[i] = self.inverse[i] * b[i];
            }
            let next = dot(z, b);
            if !(next > 0.0) {
                break;
            }
            let beta = T::from_f64(if step == 0 { 0.0 } else { next / rho });
            rho = next;
            for i in 0..n {
                p[i] = z[i] + beta * p[i];
            }
            self.multiply_p(stiffness, products);
            let Vectors { b, x, p, q, .. } = &mut self.vectors;
            let curvature = dot(p, q);
            if !(curvature > 0.0) {
                break;
            }
            let alpha = T::from_f64(rho / curvature);
            for i in 0..n {
                x[i] += alpha * p[i];
                b[i] = b[i] - alpha * q[i];
            }
        }
    }

    /// The largest eigenvalue of D⁻¹ A, by power iteration, with a margin.
    pub(super) fn largest_eigenvalue(&self, stiffness: &Stiffness) -> f64 {
        let (mut v, mut y) = (vec![T::default(); self.n], vec![T::default(); self.n]);
        for (i, v) in v.iter_mut().enumerate() {
            let value = ((i as u32).wrapping_mul(2_654_435_761) >> 8) as f32 / (1 << 24) as f32 - 0.5;
            *v = if self.inverse[i] > T::default() { T::from_f64(f64::from(value)) } else { T::default() };
        }
        let mut lambda = 1.0;
        for _ in 0..12 {
            let norm = dot(&v, &v).sqrt();
            if !(norm > 0.0) {
                lambda = 1.0 / 1.1;
                break;
            }
            let scale = T::from_f64(1.0 / norm);
            for_parts(&mut v, |_, v| v.iter_mut().for_each(|v| *v = scale * *v));
            Self::multiply(&self.operator, &self.nodes, &self.batches, &v, &mut y, stiffness);
            for_parts(&mut y, |first, y| {
                y.iter_mut().zip(&self.inverse[first..]).for_each(|(y, &inverse)| *y = *y * inverse);
            });
            lambda = dot(&y, &y).sqrt();
            std::mem::swap(&mut v, &mut y);
        }
        1.1 * lambda
    }
}
