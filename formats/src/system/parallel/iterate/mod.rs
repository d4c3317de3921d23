//! Parallel iterators with the names and the meaning of rayon's, and with little to compile for each call.
//!
//! An iterator is a number of places and, for any range of them, a plain iterator of their items. What is compiled for a call is one
//! plain loop. What shares the ranges out is compiled once; see [`parallel`](super).
//!
//! Items have the order of their places, and so has what is collected; what is found first is first in that order. An error or a panic
//! may leave items of an [owned](Owned) vector that nobody took, which are then not dropped.

mod adapters;
mod sources;

use std::cmp::Ordering;
use std::iter::Sum;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

pub use adapters::{Copied, Enumerate, Filter, FilterMap, FlatMap, Fold, Least, Map, MapInit, Zip};
pub use sources::{Chunks, ChunksMut, Integers, Owned, ParallelSlice, ParallelVec, Slice, SliceMut, Windows};

use super::{Shared, for_ranges, map_ranges};

/// Ranges that a thread takes one after the other: so many that no thread waits long for another at the end.
const RANGES_OF_A_THREAD: usize = 32;

/// Items that come from places, in their order. All threads of the current pool take ranges of places.
pub trait ParallelIterator: Sized + Sync {
    /// What it yields.
    type Item: Send;

    /// Whether each place yields one item; see [`IndexedParallelIterator`].
    const IS_INDEXED: bool = false;

    /// Number of places.
    fn n_places(&self) -> usize;

    /// Places that a range has at least.
    fn least(&self) -> usize {
        1
    }

    /// The items of a range of places, in order.
    ///
    /// # Safety
    /// The range ends at [`n_places`](Self::n_places) at most, and no place is taken twice in the life of the iterator.
    unsafe fn items(&self, places: Range<usize>) -> impl Iterator<Item = Self::Item>;

    /// Ranges have at least so many places: of items that take little time there should be many.
    fn with_min_len(self, least: usize) -> Least<Self> {
        Least { of: self, least }
    }

    /// As [`Iterator::map`].
    fn map<R: Send, F: Fn(Self::Item) -> R + Sync>(self, make: F) -> Map<Self, F> {
        Map { of: self, make }
    }

    /// As [`Iterator::map`], with memory that is made for each range of places.
    fn map_init<M, R: Send, N: Fn() -> M + Sync, F: Fn(&mut M, Self::Item) -> R + Sync>(
        self,
        new: N,
        make: F,
    ) -> MapInit<Self, N, F> {
        MapInit { of: self, new, make }
    }

    /// As [`Iterator::filter`].
    fn filter<F: Fn(&Self::Item) -> bool + Sync>(self, keep: F) -> Filter<Self, F> {
        Filter { of: self, keep }
    }

    /// As [`Iterator::filter_map`].
    fn filter_map<R: Send, F: Fn(Self::Item) -> Option<R> + Sync>(self, make: F) -> FilterMap<Self, F> {
        FilterMap { of: self, make }
    }

    /// As [`Iterator::flat_map`].
    fn flat_map_iter<R: IntoIterator<Item: Send>, F: Fn(Self::Item) -> R + Sync>(self, make: F) -> FlatMap<Self, F> {
        FlatMap { of: self, make }
    }

    /// As [`Iterator::copied`].
    fn copied<'a, T: Copy + Send + Sync + 'a>(self) -> Copied<Self>
    where
        Self: ParallelIterator<Item = &'a T>,
    {
        Copied { of: self }
    }

    /// As [`Iterator::fold`], for each range of places: an item of each, to be [reduced](Self::reduce).
    fn fold<R: Send, N: Fn() -> R + Sync, F: Fn(R, Self::Item) -> R + Sync>(self, new: N, add: F) -> Fold<Self, N, F> {
        Fold { of: self, new, add }
    }

    /// Calls `act` with each item.
    fn for_each<F: Fn(Self::Item) + Sync>(self, act: F) {
        self.for_each_init(|| (), |(), item| act(item));
    }

    /// Calls `act` with each item and with memory that is made for each range of places.
    fn for_each_init<M, N: Fn() -> M + Sync, F: Fn(&mut M, Self::Item) + Sync>(self, new: N, act: F) {
        for_ranges(self.n_places(), size_of_range(&self), &|places| {
            let mut memory = new();
            // SAFETY: ranges have no place in common.
            unsafe { self.items(places) }.for_each(|item| act(&mut memory, item));
        });
    }

    /// Calls `act` with each item, until one gives an error.
    ///
    /// # Errors
    /// The first one, in the order of the items.
    fn try_for_each<E: Send, F: Fn(Self::Item) -> Result<(), E> + Sync>(self, act: F) -> Result<(), E> {
        self.try_for_each_init(|| (), |(), item| act(item))
    }

    /// As [`try_for_each`](Self::try_for_each), with memory that is made for each range of places.
    ///
    /// # Errors
    /// The first one, in the order of the items.
    fn try_for_each_init<M, E: Send, N: Fn() -> M + Sync, F: Fn(&mut M, Self::Item) -> Result<(), E> + Sync>(
        self,
        new: N,
        act: F,
    ) -> Result<(), E> {
        self.map_init(new, act).find_map_first(Result::err).map_or(Ok(()), Err)
    }

    /// Whether something holds for all items.
    fn all<F: Fn(Self::Item) -> bool + Sync>(self, holds: F) -> bool {
        let fails = AtomicBool::new(false);
        for_ranges(self.n_places(), size_of_range(&self), &|places| {
            // SAFETY: ranges have no place in common.
            if !fails.load(Relaxed) && !unsafe { self.items(places) }.all(&holds) {
                fails.store(true, Relaxed);
            }
        });
        !fails.into_inner()
    }

    /// Whether something holds for any item.
    fn any<F: Fn(Self::Item) -> bool + Sync>(self, holds: F) -> bool {
        !self.all(|item| !holds(item))
    }

    /// What `find` makes of the first item of which it makes anything.
    fn find_map_first<R: Send, F: Fn(Self::Item) -> Option<R> + Sync>(self, find: F) -> Option<R> {
        let (found, earliest) = (Mutex::new((usize::MAX, None)), AtomicUsize::new(usize::MAX));
        for_ranges(self.n_places(), size_of_range(&self), &|places| {
            let start = places.start;
            if start > earliest.load(Relaxed) {
                return;
            }
            // SAFETY: ranges have no place in common.
            let Some(first) = unsafe { self.items(places) }.find_map(&find) else { return };
            let mut found = found.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            if start < found.0 {
                *found = (start, Some(first));
                earliest.store(start, Relaxed);
            }
        });
        found.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()).1
    }

    /// The first item for which something holds.
    fn find_first<F: Fn(&Self::Item) -> bool + Sync>(self, holds: F) -> Option<Self::Item> {
        self.find_map_first(|item| holds(&item).then_some(item))
    }

    /// One made of all items, given what stands for none and what is made of two.
    fn reduce<N: Fn() -> Self::Item + Sync, F: Fn(Self::Item, Self::Item) -> Self::Item + Sync>(
        self,
        none: N,
        both: F,
    ) -> Self::Item {
        // SAFETY: ranges have no place in common.
        of_ranges(&self, &|places| unsafe { self.items(places) }.fold(none(), &both)).into_iter().fold(none(), &both)
    }

    /// The sum of all items.
    fn sum<S: Send + Sum<Self::Item> + Sum<S>>(self) -> S {
        // SAFETY: ranges have no place in common.
        of_ranges(&self, &|places| unsafe { self.items(places) }.sum::<S>()).into_iter().sum()
    }

    /// The number of items.
    fn count(self) -> usize {
        // SAFETY: ranges have no place in common.
        of_ranges(&self, &|places| unsafe { self.items(places) }.count()).into_iter().sum()
    }

    /// As [`Iterator::max`].
    fn max(self) -> Option<Self::Item>
    where
        Self::Item: Ord,
    {
        self.max_by(Ord::cmp)
    }

    /// As [`Iterator::min_by`].
    fn min_by<F: Fn(&Self::Item, &Self::Item) -> Ordering + Sync>(self, order: F) -> Option<Self::Item> {
        // SAFETY: ranges have no place in common.
        of_ranges(&self, &|places| unsafe { self.items(places) }.min_by(&order)).into_iter().flatten().min_by(&order)
    }

    /// As [`Iterator::max_by`].
    fn max_by<F: Fn(&Self::Item, &Self::Item) -> Ordering + Sync>(self, order: F) -> Option<Self::Item> {
        // SAFETY: ranges have no place in common.
        of_ranges(&self, &|places| unsafe { self.items(places) }.max_by(&order)).into_iter().flatten().max_by(&order)
    }

    /// As [`Iterator::unzip`].
    fn unzip<A: Send, B: Send>(self) -> (Vec<A>, Vec<B>)
    where
        Self: ParallelIterator<Item = (A, B)>,
    {
        // SAFETY: ranges have no place in common.
        let ranges = of_ranges(&self, &|places| unsafe { self.items(places) }.unzip::<A, B, Vec<A>, Vec<B>>());
        let (a, b): (Vec<Vec<A>>, Vec<Vec<B>>) = ranges.into_iter().unzip();
        (concatenated(a), concatenated(b))
    }

    /// All items, in order.
    fn collect<C: FromItems<Self::Item>>(self) -> C {
        C::from_items(self)
    }
}

/// Items of which each place yields one.
pub trait IndexedParallelIterator: ParallelIterator {
    /// As [`Iterator::enumerate`].
    fn enumerate(self) -> Enumerate<Self> {
        Enumerate { of: self }
    }

    /// As [`Iterator::zip`].
    fn zip<Z: IntoParallelIterator<Iter: IndexedParallelIterator>>(self, with: Z) -> Zip<Self, Z::Iter> {
        Zip { of: self, with: with.into_par_iter() }
    }

    /// The place of the first item for which something holds.
    fn position_first<F: Fn(Self::Item) -> bool + Sync>(self, holds: F) -> Option<usize> {
        self.enumerate().find_map_first(|(place, item)| holds(item).then_some(place))
    }
}

/// What all threads can iterate over.
pub trait IntoParallelIterator {
    /// The iterator.
    type Iter: ParallelIterator<Item = Self::Item>;
    /// What it yields.
    type Item: Send;

    /// Makes an iterator of it.
    fn into_par_iter(self) -> Self::Iter;
}

impl<I: ParallelIterator> IntoParallelIterator for I {
    type Iter = I;
    type Item = I::Item;

    fn into_par_iter(self) -> I {
        self
    }
}

/// What items are collected into.
pub trait FromItems<T>: Sized {
    /// Made of all items, in order.
    fn from_items<I: ParallelIterator<Item = T>>(items: I) -> Self;
}

impl<T: Send> FromItems<T> for Vec<T> {
    fn from_items<I: ParallelIterator<Item = T>>(items: I) -> Self {
        if !I::IS_INDEXED {
            // SAFETY: ranges have no place in common.
            return concatenated(of_ranges(&items, &|places| unsafe { items.items(places) }.collect()));
        }
        let mut all = Self::new();
        append(&mut all, &items);
        all
    }
}

/// The error is the first one, in the order of the items.
impl<T: Send, E: Send> FromItems<Result<T, E>> for Result<Vec<T>, E> {
    fn from_items<I: ParallelIterator<Item = Result<T, E>>>(items: I) -> Self {
        let earliest = AtomicUsize::new(usize::MAX);
        let ranges = of_ranges(&items, &|places| {
            let start = places.start;
            if start > earliest.load(Relaxed) {
                return Ok(Vec::new());
            }
            // SAFETY: ranges have no place in common.
            let range: Result<Vec<T>, E> = unsafe { items.items(places) }.collect();
            range.inspect_err(|_| _ = earliest.fetch_min(start, Relaxed))
        });
        ranges.into_iter().collect::<Result<Vec<_>, E>>().map(concatenated)
    }
}

/// Places of each range but the last.
fn size_of_range(of: &impl ParallelIterator) -> usize {
    of.n_places().div_ceil(RANGES_OF_A_THREAD * rayon::current_num_threads()).max(of.least()).max(1)
}

/// What `make` makes of each range of places, in order.
fn of_ranges<R: Send>(of: &impl ParallelIterator, make: &(dyn Fn(Range<usize>) -> R + Sync)) -> Vec<R> {
    map_ranges(of.n_places(), size_of_range(of), make)
}

/// Vectors one behind the other.
fn concatenated<T>(parts: Vec<Vec<T>>) -> Vec<T> {
    let mut all = Vec::with_capacity(parts.iter().map(Vec::len).sum());
    for mut part in parts {
        all.append(&mut part);
    }
    all
}

/// Appends all items to a vector, of which each place yields one.
fn append<I: ParallelIterator>(all: &mut Vec<I::Item>, items: &I) {
    let (had, n) = (all.len(), items.n_places());
    all.reserve(n);
    let free = Shared::new(&mut all.spare_capacity_mut()[..n]);
    for_ranges(n, size_of_range(items), &|places| {
        let expected = places.len();
        // SAFETY: ranges have no place in common.
        let (free, items) = unsafe { (free.part(places.clone()), items.items(places)) };
        let written = free.iter_mut().zip(items).map(|(place, item)| _ = place.write(item)).count();
        assert_eq!(written, expected, "each place of an indexed iterator yields one item");
    });
    // SAFETY: all are there.
    unsafe { all.set_len(had + n) };
}

#[cfg(test)]
mod tests;
