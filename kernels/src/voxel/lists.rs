//! Lists of numbers one behind the other.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use pogo_formats::system::parallel;
use pogo_formats::system::parallel::iterate::*;

use pogo_formats::system::parallel::Shared;

/// Sources, or keys, that a thread takes at a time.
const SHARE: usize = 1 << 10;

/// A list of values for each index.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lists<T = u32> {
    /// First entry of each list in `values`, and the end.
    first: Vec<u32>,
    values: Vec<T>,
}

impl Lists {
    /// For each of `n` keys the sources that name it, ascending; there are `n_sources`, and `keys` gives those of one.
    pub fn by_key<I: Iterator<Item = u32>>(n: usize, n_sources: usize, keys: impl Fn(usize) -> I + Sync) -> Self {
        Self::of_entries(n, n_sources, |source| keys(source).map(move |key| (key, source as u32)))
    }
}

impl<T: Copy + Default + Ord + Send + Sync> Lists<T> {
    /// Lists of these lengths.
    pub fn new(lengths: impl Iterator<Item = u32>, values: Vec<T>) -> Self {
        Self { first: starts(lengths), values }
    }

    /// For each of `n` keys its values, ascending; there are `n_sources`, and `entries` gives the keys and values of one.
    pub fn of_entries<I: Iterator<Item = (u32, T)>>(
        n: usize,
        n_sources: usize,
        entries: impl Fn(usize) -> I + Sync,
    ) -> Self {
        let next: Vec<AtomicU32> = (0..n).into_par_iter().map(|_| AtomicU32::new(0)).collect();
        let add = |key: u32| next[key as usize].fetch_add(1, Relaxed);
        parallel::for_ranges(n_sources, SHARE, &|sources| {
            for (key, _) in sources.flat_map(&entries) {
                add(key);
            }
        });
        let first = starts(next.iter().map(|count| count.load(Relaxed)));
        next.par_iter().zip(&first).for_each(|(next, &first)| next.store(first, Relaxed));
        let n_values = first.last().map_or(0, |&end| end as usize);
        let mut values = vec![T::default(); n_values];
        let shared = Shared::new(&mut values);
        parallel::for_ranges(n_sources, SHARE, &|sources| {
            for (key, value) in sources.flat_map(&entries) {
                let at = add(key) as usize;
                // SAFETY: each entry is counted out once.
                unsafe { shared.part(at..at + 1)[0] = value };
            }
        });
        parallel::for_ranges(n, SHARE, &|keys| {
            for key in keys {
                // SAFETY: each key has a range of its own.
                unsafe { shared.part(first[key] as usize..first[key + 1] as usize) }.sort_unstable();
            }
        });
        Self { first, values }
    }

    /// The list of an index.
    #[inline(always)]
    pub fn of(&self, index: usize) -> &[T] {
        &self.values[self.first[index] as usize..self.first[index + 1] as usize]
    }
}

/// The start of each of consecutive ranges of these lengths, and the end.
pub(crate) fn starts(lengths: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut out = Vec::with_capacity(lengths.size_hint().0 + 1);
    let mut end = 0;
    out.push(0);
    out.extend(lengths.map(|length| {
        end += length;
        end
    }));
    out
}
