//! Checks that tables of every kind of physics share: indices in range, offsets in order, numbers finite.

use rayon::prelude::*;

/// Entries a task scans.
pub(crate) const PIECE: usize = 1 << 16;

/// What a check finds: nothing, or the first table and entry that is wrong.
pub type Check = Result<(), String>;

pub(crate) fn require(condition: bool, reason: impl FnOnce() -> String) -> Check {
    if condition { Ok(()) } else { Err(reason()) }
}

pub(crate) fn all_below(what: &str, indices: &[u32], limit: usize) -> Check {
    let largest = |piece: &[u32]| piece.iter().copied().fold(0, u32::max);
    let largest = match indices.len() {
        0 => return Ok(()),
        n if n <= PIECE => largest(indices),
        _ => indices.par_chunks(PIECE).map(largest).max().unwrap_or(0),
    };
    require((largest as usize) < limit, || format!("{what}: index {largest} where {limit} exist"))
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
