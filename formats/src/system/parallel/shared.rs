//! A slice that several threads write, each its own part.

use std::ops::Range;

/// A slice that several threads write, each its own part.
#[derive(Debug)]
pub struct Shared<T>(*mut T, usize);

// SAFETY: whoever calls `part` promises that parts do not overlap.
unsafe impl<T: Send> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Shared<T> {}

impl<T> Shared<T> {
    /// Of a slice that nobody uses in another way meanwhile.
    pub fn new(slice: &mut [T]) -> Self {
        Self(slice.as_mut_ptr(), slice.len())
    }

    /// Elements `range` of the slice.
    ///
    /// # Safety
    /// While the result lives nobody else reads or writes these elements, and the slice that this was made from lives.
    ///
    /// # Panics
    /// If the range leaves the slice.
    #[allow(clippy::mut_from_ref)]
    pub unsafe fn part(&self, range: Range<usize>) -> &mut [T] {
        assert!(range.start <= range.end && range.end <= self.1);
        // SAFETY: inside the slice; the caller's promise.
        unsafe { std::slice::from_raw_parts_mut(self.0.add(range.start), range.len()) }
    }
}
