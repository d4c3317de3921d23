//! Large tables that may not fit in memory.

use std::collections::TryReserveError;

/// A vector of `n` equal entries.
pub(crate) fn filled<T: Clone>(n: usize, value: T) -> Result<Vec<T>, TryReserveError> {
    let mut vector = Vec::new();
    vector.try_reserve_exact(n)?;
    vector.resize(n, value);
    Ok(vector)
}
