//! A coarse level: its operator, its vectors, its smoother.

use std::ops::Range;
use std::sync::Arc;

use pogo_formats::system::parallel::iterate::*;

use super::first::First;
use super::half::Half;
use super::packed::Packed;
use super::settings::{CycleKind, CycleSettings};
use super::smoother::{Smoother, StepVectors};
use super::transfer::Transfer;
use crate::ranks::{Ranks, Reader};
use crate::simd::Real;
use crate::voxel::elements::{Batches, Elements};
use crate::voxel::problem::Stiffness;
use crate::voxel::share::{Contributors, Halo, Share, bytes_of, sorted};
use pogo_formats::system::parallel::Shared;

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
        if self.own.len() != n {
            // Zeros take no memory before they are written.
            self.own = vec![T::default(); n];
        }
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

/// What a rank computes of products and transfers, and which numbers of other ranks it reads.
#[derive(Debug)]
struct Parts {
    /// Of the residual that comes from the finer level, whose nodes are read.
    restriction: Contributors,
    finer: Halo,
    /// Ranks that gather this residual whole, and the first nodes of each, if every rank goes on with the whole level.
    gathered: Option<(Arc<dyn Ranks>, Vec<usize>)>,
    /// Of products.
    product: Contributors,
    here: Halo,
    /// Groups of elements and finer nodes that are corrected, and the nodes of this level that are read for that.
    groups: Vec<u32>,
    corrected: Range<usize>,
    coarser: Halo,
}

impl Parts {
    /// Everything, of a level of `n_nodes` nodes.
    fn all(batches: Batches, n_nodes: usize, transfer: &Transfer) -> Self {
        let corrected = 0..transfer.fine.len();
        let all = Contributors::all(batches, n_nodes);
        Self {
            restriction: all.clone(),
            finer: Halo::default(),
            gathered: None,
            product: all,
            here: Halo::default(),
            groups: transfer.groups(&corrected),
            corrected,
            coarser: Halo::default(),
        }
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
    /// What this rank computes of the vectors; on a small level, every rank computes everything.
    pub(super) share: Share,
    parts: Parts,
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
    /// A level with the diagonal of its matrix. Rows of less than `least` times its greatest entry have no stiffness.
    pub(super) fn new(
        operator: Operator<T>,
        elements: &Elements,
        batches: Batches,
        transfer: Transfer,
        (diagonal, least): (&[f64], f64),
        cost: f64,
    ) -> Self {
        let most = diagonal.par_iter().copied().reduce(|| 0.0, f64::max);
        let inverse = |&d: &f64| if d > least * most { T::from_f64(1.0 / d) } else { T::default() };
        Self {
            operator,
            nodes: elements.nodes.par_iter().copied().collect(),
            parts: Parts::all(batches, elements.n_nodes, &transfer),
            transfer,
            share: Share::whole(3 * elements.n_nodes),
            inverse: diagonal.par_iter().map(inverse).collect(),
            lambda: 1.0,
            cost,
            n: 3 * elements.n_nodes,
            vectors: Vectors::default(),
        }
    }

    /// From now on this rank computes its share alone. `finer` and `here` are the first nodes of all ranks on the finer level
    /// and on this one, and the end. Unless the level is `divided`, only the residual is computed by shares: every rank gathers
    /// it, and goes on with the whole level. Collective.
    pub(super) fn divide(&mut self, ranks: &Arc<dyn Ranks>, [finer, here]: [&[usize]; 2], divided: bool) {
        let me = ranks.rank();
        let (own, corrected) = (here[me]..here[me + 1], finer[me]..finer[me + 1]);
        let (contributors, touching) = Contributors::of(&self.nodes, &self.parts.restriction.batches, own.clone());
        let read = touching.par_iter().flat_map_iter(|&e| self.transfer.of(e as usize).map(|(node, _)| node as u32));
        self.parts.finer = Halo::new(ranks, &sorted(read.collect()), finer);
        self.parts.groups = self.transfer.groups(&corrected);
        if divided {
            let read = match &mut self.operator {
                Operator::First(_) => sorted(touching.par_iter().flat_map_iter(|&e| self.nodes[e as usize]).collect()),
                Operator::Assembled(blocks) => sorted(blocks.columns(&own).to_vec()),
                Operator::Half(blocks) => blocks.keep(&own),
            };
            self.parts.here = Halo::new(ranks, &read, here);
            let corrects = |&e: &usize| self.transfer.of(e).any(|(node, _)| corrected.contains(&node));
            let read = (0..self.nodes.len()).into_par_iter().filter(corrects).flat_map_iter(|e| self.nodes[e]);
            self.parts.coarser = Halo::new(ranks, &sorted(read.collect()), here);
            self.parts.product = contributors.clone();
            self.share.divide(ranks, here);
        } else {
            self.parts.gathered = Some((ranks.clone(), here.to_vec()));
        }
        (self.parts.restriction, self.parts.corrected) = (contributors, corrected);
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
        parts: &Parts,
        x: &mut [T],
        y: &mut [T],
        stiffness: &Stiffness,
    ) {
        parts.here.fetch(x);
        match operator {
            Operator::First(first) => first.apply(nodes, x, y, &parts.product, stiffness),
            Operator::Assembled(blocks) => blocks.apply(&parts.product.own, x, y),
            Operator::Half(blocks) => blocks.apply(x, y),
        }
    }

    /// Computes A z.
    pub(super) fn multiply_z(&mut self, stiffness: &Stiffness, products: &mut f64) {
        let Vectors { z, product, .. } = &mut self.vectors;
        Self::multiply(&self.operator, &self.nodes, &self.parts, z, product, stiffness);
        *products += self.cost;
    }

    /// q = A p.
    pub(super) fn multiply_p(&mut self, stiffness: &Stiffness, products: &mut f64) {
        let Vectors { p, q, .. } = &mut self.vectors;
        Self::multiply(&self.operator, &self.nodes, &self.parts, p, q, stiffness);
        *products += self.cost;
    }

    /// b = Pᵀ r for a residual of the finer level.
    pub(super) fn restrict(&mut self, fine: &mut [T]) {
        let (parts, b) = (&self.parts, &mut self.vectors.b);
        parts.finer.fetch(fine);
        self.transfer.restrict(&self.nodes, &parts.restriction, fine, b);
        if let Some((ranks, cuts)) = &parts.gathered {
            let own = cuts[ranks.rank()]..cuts[ranks.rank() + 1];
            let all = ranks.all_gather(bytes_of(&b[3 * own.start..3 * own.end]));
            for (first, bytes) in cuts.iter().zip(&all) {
                let values = Reader::new(bytes).take::<T>();
                b[3 * first..3 * first + values.len()].copy_from_slice(&values);
            }
        }
    }

    /// fine += P x.
    pub(super) fn prolong(&mut self, fine: &mut [T]) {
        let parts = &self.parts;
        parts.coarser.fetch(&mut self.vectors.x);
        self.transfer.prolong(&self.nodes, (&parts.groups, &parts.corrected), &self.vectors.x, fine);
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
            self.share.for_parts(before, |first, before| {
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
            self.share.add(&mut self.vectors.z, &self.vectors.surplus);
        }
    }

    /// x = some steps of conjugate gradients with the diagonal on A x = b, from 0; b becomes the residual.
    pub(super) fn jacobi(&mut self, steps: usize, stiffness: &Stiffness, products: &mut f64) {
        let n = self.n;
        let Vectors { z, p, q, .. } = &mut self.vectors;
        [z, p, q].into_iter().for_each(|v| v.resize(n));
        self.vectors.x.fill(T::default());
        let own = self.share.numbers();
        let mut rho = 0.0;
        for step in 0..steps {
            let Vectors { b, z, p, .. } = &mut self.vectors;
            for i in own.clone() {
                z[i] = self.inverse[i] * b[i];
            }
            let next = self.share.dot(z, b);
            if !(next > 0.0) {
                break;
            }
            let beta = T::from_f64(if step == 0 { 0.0 } else { next / rho });
            rho = next;
            for i in own.clone() {
                p[i] = z[i] + beta * p[i];
            }
            self.multiply_p(stiffness, products);
            let Vectors { b, x, p, q, .. } = &mut self.vectors;
            let curvature = self.share.dot(p, q);
            if !(curvature > 0.0) {
                break;
            }
            let alpha = T::from_f64(rho / curvature);
            for i in own.clone() {
                x[i] += alpha * p[i];
                b[i] = b[i] - alpha * q[i];
            }
        }
    }

    /// The largest eigenvalue of D⁻¹ A, by power iteration, with a margin.
    pub(super) fn largest_eigenvalue(&self, stiffness: &Stiffness) -> f64 {
        let share = &self.share;
        let (mut v, mut y) = (vec![T::default(); self.n], vec![T::default(); self.n]);
        share.for_parts(&mut v, |first, v| {
            for (i, v) in (first..).zip(v) {
                let value = ((i as u32).wrapping_mul(2_654_435_761) >> 8) as f32 / (1 << 24) as f32 - 0.5;
                *v = if self.inverse[i] > T::default() { T::from_f64(f64::from(value)) } else { T::default() };
            }
        });
        let mut lambda = 1.0;
        for _ in 0..12 {
            let norm = share.dot(&v, &v).sqrt();
            if !(norm > 0.0) {
                lambda = 1.0 / 1.1;
                break;
            }
            let scale = T::from_f64(1.0 / norm);
            share.for_parts(&mut v, |_, v| v.iter_mut().for_each(|v| *v = scale * *v));
            Self::multiply(&self.operator, &self.nodes, &self.parts, &mut v, &mut y, stiffness);
            share.for_parts(&mut y, |first, y| {
                y.iter_mut().zip(&self.inverse[first..]).for_each(|(y, &inverse)| *y = *y * inverse);
            });
            lambda = share.dot(&y, &y).sqrt();
            std::mem::swap(&mut v, &mut y);
        }
        1.1 * lambda
    }
}
