//! Checks that tables of every kind of physics share: indices in range, offsets in order, numbers finite.

use crate::system::parallel::iterate::*;
/// Entries that one task scans.
pub(crate) const PIECE: usize = 1 << 16;

/// What a check finds: nothing, or the first table and entry that is wrong.
pub type Check = Result<(), String>;

pub(crate) fn require(condition: bool, reason: impl FnOnce() -> String) -> Check {
    if condition { Ok(()) } else { Err(reason()) }
}

/// As many entries as there should be.
pub(crate) fn entries<T>(what: &str, table: &[T], expected: usize) -> Check {
    require(table.len() == expected, || format!("{what}: {} entries where {expected} are expected", table.len()))
}

/// As many entries as there should be, or none.
pub(crate) fn entries_or_none<T>(what: &str, table: &[T], expected: usize) -> Check {
    if table.is_empty() { Ok(()) } else { entries(what, table, expected) }
}

/// Every index is below `limit`.
pub(crate) fn all_below<T: Copy + Ord + Sync + Send + Into<u64>>(what: &str, indices: &[T], limit: usize) -> Check {
    let largest = |piece: &[T]| piece.iter().copied().reduce(T::max);
    let largest: Option<T> = match indices.len() {
        n if n <= PIECE => largest(indices),
        _ => indices.par_chunks(PIECE).filter_map(largest).max(),
    };
    let largest: Option<u64> = largest.map(T::into);
    require(largest.is_none_or(|largest| largest < limit as u64), || {
        format!("{what}: index {} where {limit} exist", largest.unwrap_or(0))
    })
}

pub(crate) fn all_finite(what: &str, values: &[f64]) -> Check {
    let finite = |piece: &[f64]| piece.iter().fold(true, |all, value| all & value.is_finite());
    require(values.par_chunks(PIECE).all(finite), || format!("{what}: a value is not a finite number"))
}

/// `first` runs from 0 to `n_entries` in `n + 1` non-decreasing steps.
pub(crate) fn offsets<T: Copy + Ord + Sync + Into<u64>>(what: &str, first: &[T], n: usize, n_entries: usize) -> Check {
    require(first.len() == n + 1, || format!("{what}: {} offsets for {n} entries", first.len()))?;
    require(first[0].into() == 0 && first[n].into() == n_entries as u64, || {
        format!("{what}: offsets do not run from 0 to {n_entries}")
    })?;
    let sorted = first.par_windows(2).with_min_len(PIECE).all(|pair| pair[0] <= pair[1]);
    require(sorted, || format!("{what}: offsets decrease"))
}
