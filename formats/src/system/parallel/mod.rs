//! Parallel loops of which little is compiled for each call.
//!
//! Rayon's iterators are compiled into a tree of joins for each closure that they call, which takes the compiler as long as some
//! hundred lines of other code do; in a generic function, once for each set of types as well. Here what shares work out among
//! rayon's threads takes a reference to a closure, and is compiled once.
//!
//! [`for_each`], [`map`] and their like suit pieces of work: an index stands for a block, a brick, a batch. [`iterate`] has
//! iterators with rayon's names, for items that each take little time.

pub mod iterate;
mod shared;

use std::mem::MaybeUninit;
use std::ops::Range;

use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};

pub use self::shared::Shared;

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
///
/// # Panics
/// Where `make` does; what it has made for others is then lost, not dropped.
pub fn map<R: Send>(n: usize, make: &(dyn Fn(usize) -> R + Sync)) -> Vec<R> {
    let mut made = Vec::with_capacity(n);
    let places = Shared::new(made.spare_capacity_mut());
    // SAFETY: each index has a place of its own.
    for_each(n, &|at| _ = unsafe { places.part(at..at + 1) }[0].write(make(at)));
    // SAFETY: all are there.
    unsafe { made.set_len(n) };
    made
}

/// `make(range)` for ranges of up to `size` indices that follow each other, from 0 to `n`.
pub fn map_ranges<R: Send>(n: usize, size: usize, make: &(dyn Fn(Range<usize>) -> R + Sync)) -> Vec<R> {
    map(n.div_ceil(size), &|at| make(at * size..((at + 1) * size).min(n)))
}

/// Parts one behind the other, which all threads copy.
pub fn joined<T: Copy + Send + Sync, P: AsRef<[T]> + Sync>(parts: &[P]) -> Vec<T> {
    let mut first = vec![0];
    first.extend(parts.iter().scan(0, |end, part| {
        *end += part.as_ref().len();
        Some(*end)
    }));
    let n = first[parts.len()];
    let mut all = Vec::with_capacity(n);
    let places = Shared::<MaybeUninit<T>>::new(all.spare_capacity_mut());
    for_each(parts.len(), &|at| {
        // SAFETY: each part has places of its own.
        unsafe { places.part(first[at]..first[at + 1]) }.write_copy_of_slice(parts[at].as_ref());
    });
    // SAFETY: all are there.
    unsafe { all.set_len(n) };
    all
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
        assert_eq!(map(5, &|i| vec![i * i]), [[0], [1], [4], [9], [16]]);
        assert_eq!(map_ranges(5, 2, &|range| range), [0..2, 2..4, 4..5]);
        assert_eq!(joined(&[vec![1, 2], vec![], vec![3]]), [1, 2, 3]);
        assert!(joined::<u8, Vec<u8>>(&[]).is_empty());
        let n = AtomicUsize::new(0);
        on_each_thread(&|| {
            n.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(n.load(Ordering::Relaxed), rayon::current_num_threads());
    }
}
