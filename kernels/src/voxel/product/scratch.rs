//! Memory that products keep between calls.

use std::sync::Mutex;

use crate::simd::Real;

/// Memory for products of either precision.
#[derive(Debug, Default)]
pub struct Scratch {
    /// Sums that bricks pass to other chunks, and those of bricks that wait for them.
    pub(super) passed: Vec<f64>,
    pub(super) pending: Vec<f64>,
    /// Sums that bricks pass on inside a chunk, for each thread.
    pub(super) inside: Mutex<Vec<Vec<f64>>>,
    /// What the caller's `sink` returned for each brick or piece.
    pub(super) results: Vec<f64>,
    /// Vectors in another order, or of sub-domains.
    pub(super) vectors: [Vec<f64>; 2],
}

/// The first `n` numbers of memory that grows as needed.
pub(super) fn numbers<T: Real>(memory: &mut Vec<f64>, n: usize) -> &mut [T] {
    memory.resize(memory.len().max((n * size_of::<T>()).div_ceil(size_of::<f64>())), 0.0);
    // SAFETY: `Real` is f32 or f64 (nothing outside this crate can add one): no stricter alignment, any bits valid.
    let (_, all, _) = unsafe { memory.align_to_mut::<T>() };
    &mut all[..n]
}
