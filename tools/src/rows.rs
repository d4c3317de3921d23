//! Tables of rows that stand one after the other.

use std::ops::AddAssign;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use pogo_formats::system::parallel::iterate::*;

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

/// As [`by_row`], by all threads; `row_of` are the rows of the items.
pub(crate) fn by_row_in_parallel(n_rows: usize, row_of: &[u32]) -> (Vec<u32>, Vec<u32>) {
    const CHUNK: usize = 4096;
    let zeros = |n: usize| -> Vec<AtomicU32> { (0..n).into_par_iter().map(|_| AtomicU32::new(0)).collect() };
    let next = zeros(n_rows);
    row_of.par_iter().with_min_len(CHUNK).for_each(|&row| {
        next[row as usize].fetch_add(1, Relaxed);
    });
    let first: Vec<u32> = offsets(next.iter().map(|length| length.load(Relaxed)));
    next.iter().zip(&first).for_each(|(next, &first)| next.store(first, Relaxed));
    let items = zeros(row_of.len());
    (0_u32..row_of.len() as u32).into_par_iter().zip(row_of).with_min_len(CHUNK).for_each(|(item, &row)| {
        items[next[row as usize].fetch_add(1, Relaxed) as usize].store(item, Relaxed);
    });
    let mut items: Vec<u32> = items.into_iter().map(AtomicU32::into_inner).collect();
    // Threads have filled the rows in any order.
    let ends = first[1..].chunks(CHUNK).map(|ends| ends[ends.len() - 1] as usize);
    let lengths = ends.scan(0, |start, end| Some(end - std::mem::replace(start, end)));
    cut(&mut items, lengths).into_par_iter().enumerate().for_each(|(chunk, items)| {
        let first = &first[chunk * CHUNK..(n_rows + 1).min((chunk + 1) * CHUNK + 1)];
        let row = |bounds: &[u32]| (bounds[0] - first[0]) as usize..(bounds[1] - first[0]) as usize;
        first.windows(2).for_each(|bounds| items[row(bounds)].sort_unstable());
    });
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_threads_sort_items_by_row_as_one_does() {
        let n_rows = 10_000;
        // Some rows are empty, and some items far apart are in one row.
        let row_of: Vec<u32> = (0..70_000_u64).map(|item| (item * 40_503 % 9_973) as u32).collect();
        assert_eq!(by_row_in_parallel(n_rows, &row_of), by_row(n_rows, row_of.iter().copied()));
        assert_eq!(by_row_in_parallel(3, &[]), by_row(3, std::iter::empty()));
    }
}
