//! Parallel loops that are compiled once.
//!
//! Rayon's loops are compiled anew for each closure that they call, which takes the compiler as long as some hundred lines of other
//! code do; in a generic function, once for each set of types as well. The loops here take a reference to the closure, and are
//! compiled once. Its call cannot be inlined, so that an index should stand for a piece of work: a block, a brick, a batch.

use std::ops::Range;

use rayon::prelude::*;

/// Calls `act(i)` for each i < `n`, on the threads of the current pool.
pub fn for_each(n: usize, act: &(dyn Fn(usize) + Sync)) {
    (0..n).into_par_iter().for_each(act);
}

/// Calls `act` for ranges of up to `size` indices that follow each other, from 0 to `n`.
pub fn for_ranges(n: usize, size: usize, act: &(dyn Fn(Range<usize>) + Sync)) {
    for_each(n.div_ceil(size), &|at| act(at * size..((at + 1) * size).min(n)));
}

/// Calls `act` once for each thread of the current pool, and at once where they are free.
pub fn on_each_thread(act: &(dyn Fn() + Sync)) {
    (0..rayon::current_num_threads()).into_par_iter().with_max_len(1).for_each(|_| act());
}

/// `make(i)` for each i < `n`, in order.
pub fn map<R: Send>(n: usize, make: &(dyn Fn(usize) -> R + Sync)) -> Vec<R> {
    (0..n).into_par_iter().map(make).collect()
}

/// Parts one behind the other, which all threads copy.
pub fn joined<T: Copy + Default + Send + Sync, P: AsRef<[T]> + Sync>(parts: &[P]) -> Vec<T> {
    let mut out = vec![T::default(); parts.iter().map(|part| part.as_ref().len()).sum()];
    let mut left = &mut out[..];
    let place = |part: &P| {
        let place;
        (place, left) = std::mem::take(&mut left).split_at_mut(part.as_ref().len());
        place
    };
    let places: Vec<&mut [T]> = parts.iter().map(place).collect();
    places.into_par_iter().zip(parts).for_each(|(place, part)| place.copy_from_slice(part.as_ref()));
    out
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn each_index_is_taken_once() {
        let taken: Vec<AtomicUsize> = (0..1000).map(|_| AtomicUsize::new(0)).collect();
        let take = |i: usize| {
            taken[i].fetch_add(1, Ordering::Relaxed);
        };
        for_each(1000, &take);
        for_ranges(1000, 64, &|range| range.for_each(take));
        for_ranges(0, 64, &|_| panic!("there is none"));
        assert!(taken.iter().all(|n| n.load(Ordering::Relaxed) == 2));
        assert_eq!(map(5, &|i| i * i), [0, 1, 4, 9, 16]);
        assert_eq!(joined(&[vec![1, 2], vec![], vec![3]]), [1, 2, 3]);
        let n = AtomicUsize::new(0);
        on_each_thread(&|| {
            n.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(n.load(Ordering::Relaxed), rayon::current_num_threads());
    }
}
