//! What one case works out and later ones can use.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// What was kept last, by cases that may run side by side.
#[derive(Default)]
pub(crate) struct Kept(Mutex<Option<Arc<dyn Any + Send + Sync>>>);

impl Kept {
    /// What was kept last, if it is of this type and `fits`.
    pub fn last<T: Any + Send + Sync>(&self, fits: impl FnOnce(&T) -> bool) -> Option<Arc<T>> {
        let last = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()?;
        last.downcast::<T>().ok().filter(|last| fits(last))
    }

    /// Keeps something instead of what was kept before.
    pub fn keep<T: Any + Send + Sync>(&self, kept: &Arc<T>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(kept.clone());
    }
}

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Kept")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_is_found_if_it_fits() {
        let kept = Kept::default();
        assert!(kept.last::<u32>(|_| true).is_none());
        kept.keep(&Arc::new(7_u32));
        assert_eq!(kept.last::<u32>(|&last| last == 7).as_deref(), Some(&7));
        assert!(kept.last::<u32>(|&last| last == 8).is_none());
        assert!(kept.last::<i32>(|_| true).is_none());
        kept.keep(&Arc::new(8_u32));
        assert!(kept.last::<u32>(|&last| last == 7).is_none());
    }
}
