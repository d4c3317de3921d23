//! Tables of rows that stand one after the other.

use std::ops::AddAssign;

use rayon::prelude::*;

/// Where each row begins and the last one ends, (n + 1,), from the lengths of the rows.
pub(crate) fn offsets<T: Copy + Default + AddAssign + From<u32>>(lengths: impl IntoIterator<Item = u32>) -> Vec<T> {
    let mut end = T::default();
    let ends = lengths.into_iter().map(|length| {
        end += T::from(length);
        end
    });
    std::iter::once(T::default()).chain(ends).collect()
}

/// The row of each of these items, which ascend; `first` is where each row begins, (n_rows + 1,).
pub(crate) fn rows_of<'a>(first: &'a [u32], items: &'a [u32]) -> impl Iterator<Item = usize> + 'a {
    let (mut row, mut own) = (0, 0..0);
    items.iter().map(move |item| {
        if !own.contains(item) {
            row = first.partition_point(|first| first <= item) - 1;
            own = first[row]..first[row + 1];
        }
        row
    })
}

/// Turns the lengths of rows into their ends, and gives the end of the last.
pub(crate) fn accumulate<T: Copy + Default + AddAssign>(lengths: &mut [T]) -> T {
    let mut end = T::default();
    for length in lengths {
        end += *length;
        *length = end;
    }
    end
}

/// Consecutive parts of a slice, of these lengths.
pub(crate) fn cut<T>(mut rest: &mut [T], lengths: impl IntoIterator<Item = usize>) -> Vec<&mut [T]> {
    let part = |length| rest.split_off_mut(..length).expect("the parts are as long as the slice");
    lengths.into_iter().map(part).collect()
}

/// Items by the row that each belongs to, ascending within a row: where each row begins, (n_rows + 1,), and the items. `row_of`
/// gives the rows of the items 0, 1, ….
pub(crate) fn by_row(n_rows: usize, row_of: impl Iterator<Item = u32> + Clone) -> (Vec<u32>, Vec<u32>) {
    let mut lengths = vec![0; n_rows];
    row_of.clone().for_each(|row| lengths[row as usize] += 1);
    let first: Vec<u32> = offsets(lengths);
    let mut items = vec![0; first[n_rows] as usize];
    let mut next = first.clone();
    for (item, row) in (0..).zip(row_of) {
        let place = &mut next[row as usize];
        items[*place as usize] = item;
        *place += 1;
    }
    (first, items)
}

/// Rows of this width in a new order, copied by all threads; `order` is the old row of each new one. An empty table stays empty.
pub(crate) fn gather<T: Copy + Default + Send + Sync>(from: &[T], order: &[u32], width: usize) -> Vec<T> {
    const CHUNK: usize = 16_384;
    if from.is_empty() || width == 0 {
        return Vec::new();
    }
    let mut all = vec![T::default(); width * order.len()];
    all.par_chunks_mut(width * CHUNK).zip(order.par_chunks(CHUNK)).for_each(|(to, order)| {
        for (to, &row) in to.chunks_exact_mut(width).zip(order) {
            to.copy_from_slice(&from[width * row as usize..][..width]);
        }
    });
    all
}

/// Slices one after the other, copied by all threads.
pub(crate) fn concatenate<'a, T: Copy + Default + Send + Sync + 'a>(parts: impl Iterator<Item = &'a [T]>) -> Vec<T> {
    let parts: Vec<&[T]> = parts.collect();
    let mut all = vec![T::default(); parts.iter().map(|part| part.len()).sum()];
    let places = cut(&mut all, parts.iter().map(|part| part.len()));
    places.into_par_iter().zip(&parts).for_each(|(to, from)| to.copy_from_slice(from));
    all
}
