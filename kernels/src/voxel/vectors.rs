//! Operations on long vectors, in parallel where that is faster, with sums in one order.

use pogo_formats::system::parallel;

use crate::simd::Real;
use pogo_formats::system::parallel::Shared;

/// Numbers that a thread takes at a time: those of 4,096 nodes.
pub(crate) const CHUNK: usize = 3 << 12;

/// Σ a b.
pub(crate) fn dot<T: Real>(a: &[T], b: &[T]) -> f64 {
    let part = |(a, b): (&[T], &[T])| {
        let mut sums = [0.0_f64; 8];
        for (a, b) in a.chunks_exact(8).zip(b.chunks_exact(8)) {
            for i in 0..8 {
                sums[i] += a[i].to_f64() * b[i].to_f64();
            }
        }
        let tail = a.len() / 8 * 8;
        let rest: f64 = a[tail..].iter().zip(&b[tail..]).map(|(&a, &b)| a.to_f64() * b.to_f64()).sum();
        sums.iter().sum::<f64>() + rest
    };
    if a.len() <= CHUNK {
        return part((a, b));
    }
    let n = a.len().min(b.len());
    let sums = parallel::map(n.div_ceil(CHUNK), &|at| {
        let numbers = at * CHUNK..((at + 1) * CHUNK).min(n);
        part((&a[numbers.clone()], &b[numbers]))
    });
    sums.iter().sum()
}

/// Calls `act(first index, part)` for consecutive parts of `y`.
pub(crate) fn for_parts<T: Real>(y: &mut [T], act: impl Fn(usize, &mut [T]) + Sync) {
    if y.len() <= 2 * CHUNK {
        act(0, y);
    } else {
        let (n, y) = (y.len(), Shared::new(y));
        parallel::for_ranges(n, CHUNK, &|range| {
            // SAFETY: each range is one thread's own.
            act(range.start, unsafe { y.part(range.clone()) });
        });
    }
}

/// y = 0.
pub(crate) fn zero<T: Real>(y: &mut [T]) {
    for_parts(y, |_, y| y.fill(T::default()));
}

/// y += x.
pub(crate) fn add<T: Real>(y: &mut [T], x: &[T]) {
    for_parts(y, |first, y| y.iter_mut().zip(&x[first..]).for_each(|(y, &x)| *y += x));
}
