//! User's labels → indices.

/// Finds the index of a label. Takes no memory for labels that count up, four bytes a label for nearly dense ones.
#[derive(Debug, Clone)]
pub(super) enum LabelIndex {
    /// first, first + 1, ….
    Sequential { first: u32, n: u32 },
    /// Table from the lowest label on; `u32::MAX` for none.
    Direct { first: u32, table: Vec<u32> },
    /// (label, index) by label.
    Sorted(Vec<(u32, u32)>),
}

impl Default for LabelIndex {
    fn default() -> Self {
        Self::Sequential { first: 0, n: 0 }
    }
}

impl LabelIndex {
    /// Indexes labels by their position; also gives the positions of labels that stand there already, with the
    /// position of the first. The first one wins.
    pub fn build(labels: impl Iterator<Item = u32> + Clone) -> (Self, Vec<(u32, u32)>) {
        let Some(first) = labels.clone().next() else {
            return Default::default();
        };
        let (mut n, mut lowest, mut highest, mut sequential) = (0u32, u32::MAX, 0u32, true);
        for label in labels.clone() {
            sequential &= Some(label) == first.checked_add(n);
            lowest = lowest.min(label);
            highest = highest.max(label);
            n += 1;
        }
        if sequential {
            return (Self::Sequential { first, n }, Vec::new());
        }
        let mut duplicates = Vec::new();
        let span = u64::from(highest - lowest) + 1;
        if span <= 2 * u64::from(n) + 1024 {
            let mut table = vec![u32::MAX; span as usize];
            for (at, label) in (0u32..).zip(labels) {
                let slot = &mut table[(label - lowest) as usize];
                if *slot == u32::MAX {
                    *slot = at;
                } else {
                    duplicates.push((at, *slot));
                }
            }
            return (Self::Direct { first: lowest, table }, duplicates);
        }
        let mut sorted: Vec<(u32, u32)> = labels.zip(0u32..).collect();
        sorted.sort_unstable();
        sorted.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                duplicates.push((next.1, kept.1));
            }
            same
        });
        (Self::Sorted(sorted), duplicates)
    }

    /// Index of a label.
    pub fn get(&self, label: u32) -> Option<u32> {
        match self {
            Self::Sequential { first, n } => label.checked_sub(*first).filter(|i| i < n),
            Self::Direct { first, table } => {
                let slot = label.checked_sub(*first)?;
                table.get(slot as usize).copied().filter(|i| *i != u32::MAX)
            }
            Self::Sorted(sorted) => {
                let at = sorted.binary_search_by_key(&label, |entry| entry.0).ok()?;
                sorted.get(at).map(|entry| entry.1)
            }
        }
    }

    /// Indices of the labels first, first + step, … up to last that exist, in that order; takes time by what exists,
    /// not by what is asked for.
    pub fn range(&self, first: u32, last: u32, step: u32) -> Vec<u32> {
        let step = step.max(1);
        let wanted = |label: u32| (first..=last).contains(&label) && (label - first).is_multiple_of(step);
        match self {
            Self::Sequential { first: lowest, n } => {
                clip(first, last, step, *lowest, u64::from(*n)).map(|label| label - lowest).collect()
            }
            Self::Direct { first: lowest, table } => {
                clip(first, last, step, *lowest, table.len() as u64).filter_map(|label| self.get(label)).collect()
            }
            Self::Sorted(sorted) => {
                let start = sorted.partition_point(|entry| entry.0 < first);
                let found = sorted.get(start..).unwrap_or_default().iter().take_while(|entry| entry.0 <= last);
                found.filter(|entry| wanted(entry.0)).map(|entry| entry.1).collect()
            }
        }
    }
}

/// The members of first, first + step, … ≤ last that lie in [lowest, lowest + n).
fn clip(first: u32, last: u32, step: u32, lowest: u32, n: u64) -> impl Iterator<Item = u32> {
    let skipped = lowest.saturating_sub(first).div_ceil(step);
    let start = u64::from(first) + u64::from(skipped) * u64::from(step);
    let end = (u64::from(last) + 1).min(u64::from(lowest) + n);
    (start..end).step_by(step as usize).map(|label| label as u32)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn finds_what_a_plain_search_finds(
            labels in prop_oneof![
                proptest::collection::vec(1u32..60, 0..40),
                proptest::collection::vec(1u32..u32::MAX, 0..40),
                (1u32..50, 0u32..50).prop_map(|(first, n)| (first..first + n).collect()),
            ],
            (first, last, step) in prop_oneof![(0u32..80, 0u32..80, 1u32..5), (any::<u32>(), any::<u32>(), 1u32..9)],
        ) {
            let (index, duplicates) = LabelIndex::build(labels.iter().copied());
            for label in labels.iter().copied().chain(0..70) {
                let plain = labels.iter().position(|l| *l == label).map(|i| i as u32);
                prop_assert_eq!(index.get(label), plain);
            }
            let distinct: std::collections::BTreeSet<u32> = labels.iter().copied().collect();
            prop_assert_eq!(duplicates.len(), labels.len() - distinct.len());
            let plain: Vec<u32> = distinct.iter().copied()
                .filter(|l| *l >= first && *l <= last && (l - first).is_multiple_of(step))
                .filter_map(|l| index.get(l)).collect();
            prop_assert_eq!(index.range(first, last, step), plain);
        }
    }

    #[test]
    fn a_huge_range_takes_no_time() {
        let (index, _) = LabelIndex::build([7, 5, 4_000_000_000].into_iter());
        assert_eq!(index.range(1, u32::MAX, 1), [1, 0, 2]);
        let (index, _) = LabelIndex::build(1..=10);
        assert_eq!(index.range(0, u32::MAX, 5), [4, 9]);
    }
}
