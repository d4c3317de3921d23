//! Ranks that end together when one of them fails.

use std::cell::Cell;
use std::sync::Arc;

use super::Ranks;
use crate::device::DeviceError;

/// What lets all ranks know whether one of them has failed.
#[derive(Debug)]
pub(crate) struct Accord {
    pub ranks: Arc<dyn Ranks>,
    /// A device has failed, and all ranks know.
    failed: Cell<bool>,
}

impl Accord {
    pub fn new(ranks: &Arc<dyn Ranks>) -> Self {
        Self { ranks: ranks.clone(), failed: Cell::new(false) }
    }

    /// What this rank has come to; an error on all ranks if it is one on any. Collective until the first error: a rank whose
    /// device fails must come here once, or the others would wait for ever.
    pub fn agree<V, E: From<DeviceError>>(&self, outcome: Result<V, E>) -> Result<V, E> {
        if self.failed.get() {
            return outcome;
        }
        let all = self.ranks.all_gather(vec![u8::from(outcome.is_ok())]);
        let Some(rank) = all.iter().position(|well| *well == [0]) else { return outcome };
        self.failed.set(true);
        // The rank itself says why.
        outcome.and_then(|_| Err(DeviceError::OnRank { rank, reason: "its device has failed".into() }.into()))
    }

    /// Whether all ranks say yes. Collective.
    pub fn all(&self, yes: bool) -> bool {
        self.ranks.all_gather(vec![u8::from(yes)]).iter().all(|said| *said == [1])
    }
}
