//! Groups that several threads join: the union of disjoint sets.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use pogo_formats::system::parallel::iterate::*;

/// Groups of numbers, joined by several threads. The lowest member stands for its group, whatever the order in which members
/// are joined.
#[derive(Debug)]
pub struct Union(Vec<AtomicU32>);

impl Union {
    /// `n` groups of one member each.
    pub fn new(n: u32) -> Self {
        Self((0..n).into_par_iter().map(AtomicU32::new).collect())
    }

    /// The lowest member of the group of i, once all are joined.
    pub fn find(&self, mut i: u32) -> u32 {
        loop {
            let up = self.0[i as usize].load(Relaxed);
            if up == i {
                return i;
            }
            let next = self.0[up as usize].load(Relaxed);
            if next != up {
                // Shortens the path. A parent is only ever replaced by a lower member of its own group.
                let _ = self.0[i as usize].compare_exchange_weak(up, next, Relaxed, Relaxed);
            }
            i = next;
        }
    }

    /// Whether i is the lowest member of its group.
    pub fn is_lowest(&self, i: u32) -> bool {
        self.0[i as usize].load(Relaxed) == i
    }

    /// Joins the groups of i and j.
    pub fn join(&self, i: u32, j: u32) {
        let (mut i, mut j) = (i, j);
        loop {
            (i, j) = (self.find(i), self.find(j));
            if i == j {
                return;
            }
            let (low, high) = (i.min(j), i.max(j));
            if self.0[high as usize].compare_exchange(high, low, Relaxed, Relaxed).is_ok() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_do_not_depend_on_the_order() {
        // Numbers with the same remainder of a division by 7 are joined, from both ends at the same time.
        let n = 10_000;
        let union = Union::new(n);
        (7..n).into_par_iter().for_each(|i| {
            union.join(if i % 2 == 0 { i } else { n + 6 - i }, if i % 2 == 0 { i - 7 } else { n - 1 - i })
        });
        for i in 0..n {
            assert_eq!(union.find(i), i % 7);
            assert_eq!(union.is_lowest(i), i < 7);
        }
    }
}
