//! Iterators that make something of the items of others.

use std::ops::Range;

use super::{IndexedParallelIterator, ParallelIterator};

/// Ranges that a thread folds: few, as what comes of each may be large, and one thread puts all together.
const FOLDS_OF_A_THREAD: usize = 4;

/// See [`ParallelIterator::with_min_len`].
#[derive(Debug, Clone)]
pub struct Least<I> {
    pub(super) of: I,
    pub(super) least: usize,
}

/// See [`ParallelIterator::map`].
#[derive(Debug, Clone)]
pub struct Map<I, F> {
    pub(super) of: I,
    pub(super) make: F,
}

/// See [`ParallelIterator::map_init`].
#[derive(Debug, Clone)]
pub struct MapInit<I, N, F> {
    pub(super) of: I,
    pub(super) new: N,
    pub(super) make: F,
}

/// See [`ParallelIterator::filter`].
#[derive(Debug, Clone)]
pub struct Filter<I, F> {
    pub(super) of: I,
    pub(super) keep: F,
}

/// See [`ParallelIterator::filter_map`].
#[derive(Debug, Clone)]
pub struct FilterMap<I, F> {
    pub(super) of: I,
    pub(super) make: F,
}

/// See [`ParallelIterator::flat_map_iter`].
#[derive(Debug, Clone)]
pub struct FlatMap<I, F> {
    pub(super) of: I,
    pub(super) make: F,
}

/// See [`ParallelIterator::copied`].
#[derive(Debug, Clone)]
pub struct Copied<I> {
    pub(super) of: I,
}

/// See [`ParallelIterator::fold`].
#[derive(Debug, Clone)]
pub struct Fold<I, N, F> {
    pub(super) of: I,
    pub(super) new: N,
    pub(super) add: F,
}

/// See [`IndexedParallelIterator::enumerate`].
#[derive(Debug, Clone)]
pub struct Enumerate<I> {
    pub(super) of: I,
}

/// See [`IndexedParallelIterator::zip`].
#[derive(Debug, Clone)]
pub struct Zip<I, J> {
    pub(super) of: I,
    pub(super) with: J,
}

/// The places of the iterator that items come from.
macro_rules! same_places {
    () => {
        fn n_places(&self) -> usize {
            self.of.n_places()
        }

        fn least(&self) -> usize {
            self.of.least()
        }
    };
}

impl<I: ParallelIterator> ParallelIterator for Least<I> {
    type Item = I::Item;
    const IS_INDEXED: bool = I::IS_INDEXED;

    fn n_places(&self) -> usize {
        self.of.n_places()
    }

    fn least(&self) -> usize {
        self.of.least().max(self.least)
    }

    unsafe fn items(&self, places: Range<usize>) -> impl Iterator<Item = Self::Item> {
        // SAFETY: the caller's promise.
        unsafe { self.of.items(places) }
    }
}

impl<I: ParallelIterator, R: Send, F: Fn(I::Item) -> R + Sync> ParallelIterator for Map<I, F> {
    type Item = R;
    const IS_INDEXED: bool = I::IS_INDEXED;

    same_places!();

    unsafe fn items(&self, places: Range<usize>) -> impl Iterator<Item = Self::Item> {
        // SAFETY: the caller's promise.
        unsafe { self.of.items(places) }.map(&self.make)
    }
}

impl<I, M, R, N, F> ParallelIterator for MapInit<I, N, F>
where
    I: ParallelIterator,
    R: Send,
    N: Fn() -> M + Sync,
    F: Fn(&mut M, I::Item) -> R + Sync,
{
    type Item = R;
    const IS_INDEXED: bool = I::IS_INDEXED;

    same_places!();

    unsafe fn items(&self, places: Range<usize>) -> impl Iterator<Item = Self::Item> {
        let mut memory = (self.new)();
        // SAFETY: the caller's promise.
        unsafe { self.of.items(places) }.map(move |item| (self.make)(&mut memory, item))
    }
}

impl<I: ParallelIterator, F: Fn(&I::Item) -> bool + Sync> ParallelIterator for Filter<I, F> {
    type Item = I::Item;

    same_places!();

    unsafe fn items(&self, places: Range<usize>) -> impl Iterator<Item = Self::Item> {
        // SAFETY: the caller's promise.
        unsafe { self.of.items(places) }.filter(&self.keep)
    }
}

impl<I: ParallelIterator, R: Send, F: Fn(I::Item) -> Option<R> + Sync> ParallelIterator for FilterMap<I, F> {
    type Item = R;

    same_places!();

    unsafe fn items(&self, places: Range<usize>) -> impl Iterator<Item = Self::Item> {
        // SAFETY: the caller's promise.
        unsafe { self.of.items(places) }.filter_map(&self.make)
    }
}

impl<I: ParallelIterator, R: IntoIterator<Item: Send>, F: Fn(I::Item) -> R + Sync> ParallelIterator for FlatMap<I, F> {
    type Item = R::Item;

    same_places!();

    unsafe fn items(&self, places: Range<usize>) -> impl Iterator<Item = Self::Item> {
        // SAFETY: the caller's promise.
        unsafe { self.of.items(places) }.flat_map(&self.make)
    }
}

impl<'a, T: Copy + Send + Sync + 'a, I: ParallelIterator<Item = &'a T>> ParallelIterator for Copied<I> {
    type Item = T;
    const IS_INDEXED: bool = I::IS_INDEXED;

    same_places!();

    unsafe fn items(&self, places: Range<usize>) -> impl Iterator<Item = Self::Item> {
        // SAFETY: the caller's promise.
        unsafe { self.of.items(places) }.copied()
    }
}

impl<I: ParallelIterator, R: Send, N: Fn() -> R + Sync, F: Fn(R, I::Item) -> R + Sync> ParallelIterator
    for Fold<I, N, F>
{
    type Item = R;

    fn n_places(&self) -> usize {
        self.of.n_places()
    }

    fn least(&self) -> usize {
        let few = FOLDS_OF_A_THREAD * rayon::current_num_threads();
        self.of.least().max(self.of.n_places().div_ceil(few))
    }

    unsafe fn items(&self, places: Range<usize>) -> impl Iterator<Item = Self::Item> {
        // SAFETY: the caller's promise.
        std::iter::once(unsafe { self.of.items(places) }.fold((self.new)(), &self.add))
    }
}

impl<I: IndexedParallelIterator> ParallelIterator for Enumerate<I> {
    type Item = (usize, I::Item);
    const IS_INDEXED: bool = true;

    same_places!();

    unsafe fn items(&self, places: Range<usize>) -> impl Iterator<Item = Self::Item> {
        let first = places.start;
        // SAFETY: the caller's promise.
        (first..).zip(unsafe { self.of.items(places) })
    }
}

impl<I: IndexedParallelIterator, J: IndexedParallelIterator> ParallelIterator for Zip<I, J> {
    type Item = (I::Item, J::Item);
    const IS_INDEXED: bool = true;

    fn n_places(&self) -> usize {
        self.of.n_places().min(self.with.n_places())
    }

    fn least(&self) -> usize {
        self.of.least().max(self.with.least())
    }

    unsafe fn items(&self, places: Range<usize>) -> impl Iterator<Item = Self::Item> {
        // SAFETY: the caller's promise.
        unsafe { self.of.items(places.clone()).zip(self.with.items(places)) }
    }
}

impl<I: IndexedParallelIterator> IndexedParallelIterator for Least<I> {}
impl<I: IndexedParallelIterator, R: Send, F: Fn(I::Item) -> R + Sync> IndexedParallelIterator for Map<I, F> {}
impl<I, M, R, N, F> IndexedParallelIterator for MapInit<I, N, F>
where
    I: IndexedParallelIterator,
    R: Send,
    N: Fn() -> M + Sync,
    F: Fn(&mut M, I::Item) -> R + Sync,
{
}
impl<'a, T: Copy + Send + Sync + 'a, I: IndexedParallelIterator<Item = &'a T>> IndexedParallelIterator for Copied<I> {}
impl<I: IndexedParallelIterator> IndexedParallelIterator for Enumerate<I> {}
impl<I: IndexedParallelIterator, J: IndexedParallelIterator> IndexedParallelIterator for Zip<I, J> {}
