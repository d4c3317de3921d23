//! The sparse part of a projection as dense matrices: for devices, which multiply faster than they eliminate.

use pogo_formats::system::parallel::iterate::*;

use super::Projection;
use crate::union::Union;

/// Sets of unknowns of the sparse part that hang together.
#[derive(Debug, Clone, Default)]
pub(in crate::explicit) struct Sets {
    /// The unknowns, set by set, ascending in each.
    pub unknowns: Vec<u32>,
    /// First unknown of each set, (n_sets + 1,).
    pub first: Vec<u32>,
}

/// Inverses of the matrices of sets.
#[derive(Debug, Clone, Default)]
pub(in crate::explicit) struct Matrices {
    /// First number of each set, (n_sets + 1,).
    pub first: Vec<u64>,
    /// (n, n) of each set.
    pub values: Vec<f64>,
}

impl Sets {
    /// Unknowns of each set, as a range of `unknowns`.
    pub fn ranges(&self) -> impl Iterator<Item = std::ops::Range<usize>> {
        self.first.windows(2).map(|ends| ends[0] as usize..ends[1] as usize)
    }

    /// The most unknowns of a set.
    pub fn largest(&self) -> usize {
        self.ranges().map(|range| range.len()).max().unwrap_or(0)
    }
}

impl Projection {
    /// The sets.
    pub(in crate::explicit) fn sets(&self) -> Sets {
        let n = self.factor.n() as u32;
        let union = Union::new(n);
        self.factor.join(&union);
        let mut of_set: Vec<(u32, u32)> = (0..n).map(|unknown| (union.find(unknown), unknown)).collect();
        of_set.sort_unstable();
        let mut sets = Sets { unknowns: of_set.iter().map(|&(_, unknown)| unknown).collect(), first: vec![0] };
        for set in of_set.chunk_by(|a, b| a.0 == b.0) {
            sets.first.push(sets.first[sets.first.len() - 1] + set.len() as u32);
        }
        sets
    }

    /// The inverses: what the sparse factor makes of unit vectors, of one unknown of each set at a time. The inverse is
    /// symmetric, so that its columns are its rows.
    pub(in crate::explicit) fn matrices(&self, sets: &Sets) -> Matrices {
        let mut first = vec![0];
        sets.ranges().for_each(|set| first.push(first[first.len() - 1] + (set.len() * set.len()) as u64));
        let mut values = vec![0.0; first[first.len() - 1] as usize];
        let mut by_place: Vec<Vec<(usize, &mut [f64])>> = Vec::new();
        by_place.resize_with(sets.largest(), Vec::new);
        let mut rest = &mut values[..];
        for set in sets.ranges() {
            let (matrix, after) = rest.split_at_mut(set.len() * set.len());
            rest = after;
            for (place, row) in matrix.chunks_exact_mut(set.len()).enumerate() {
                by_place[place].push((set.start, row));
            }
        }
        let n = self.factor.n();
        by_place.into_par_iter().enumerate().for_each_init(
            || (vec![0.0; n], vec![0.0; n]),
            |(x, work), (place, rows)| {
                x.fill(0.0);
                rows.iter().for_each(|(start, _)| x[sets.unknowns[start + place] as usize] = 1.0);
                self.factor.solve(x, work);
                for (start, row) in rows {
                    let unknowns = &sets.unknowns[start..start + row.len()];
                    row.iter_mut().zip(unknowns).for_each(|(value, &unknown)| *value = x[unknown as usize]);
                }
            },
        );
        Matrices { first, values }
    }
}
