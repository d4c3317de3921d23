//! What iterators begin with: integers, slices, vectors.

use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::Range;

use super::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator, append};
use crate::system::parallel::Shared;

/// Integers of a range.
#[derive(Debug, Clone)]
pub struct Integers<T> {
    first: T,
    n: usize,
}

/// References to the elements of a slice.
#[derive(Debug, Clone)]
pub struct Slice<'a, T>(&'a [T]);

/// Mutable references to the elements of a slice.
#[derive(Debug)]
pub struct SliceMut<'a, T> {
    all: Shared<T>,
    n: usize,
    of: PhantomData<&'a mut [T]>,
}

/// Parts of a slice that follow each other.
#[derive(Debug, Clone)]
pub struct Chunks<'a, T> {
    all: &'a [T],
    size: usize,
}

/// Mutable parts of a slice that follow each other.
#[derive(Debug)]
pub struct ChunksMut<'a, T> {
    all: SliceMut<'a, T>,
    size: usize,
}

/// Overlapping parts of a slice, one from each element on.
#[derive(Debug, Clone)]
pub struct Windows<'a, T> {
    all: &'a [T],
    size: usize,
}

/// Elements of a vector, by value.
#[derive(Debug)]
pub struct Owned<T> {
    all: Vec<ManuallyDrop<T>>,
}

// SAFETY: each element is lent to one thread.
unsafe impl<T: Send> Sync for SliceMut<'_, T> {}
// SAFETY: each element is taken out by one thread.
unsafe impl<T: Send> Sync for Owned<T> {}

macro_rules! integers {
    ($($integer:ty)*) => {$(
        impl IntoParallelIterator for Range<$integer> {
            type Iter = Integers<$integer>;
            type Item = $integer;

            fn into_par_iter(self) -> Self::Iter {
                Integers { first: self.start, n: self.end.saturating_sub(self.start) as usize }
            }
        }

        impl ParallelIterator for Integers<$integer> {
            type Item = $integer;
            const IS_INDEXED: bool = true;

            fn n_places(&self) -> usize {
                self.n
            }

            unsafe fn items(&self, places: Range<usize>) -> impl Iterator<Item = Self::Item> {
                self.first + places.start as $integer..self.first + places.end as $integer
            }
        }

        impl IndexedParallelIterator for Integers<$integer> {}
    )*};
}
integers!(usize u32);

impl<'a, T> SliceMut<'a, T> {
    fn new(slice: &'a mut [T]) -> Self {
        Self { n: slice.len(), all: Shared::new(slice), of: PhantomData }
    }

    /// Elements `range`.
    ///
    /// # Safety
    /// No element is asked for twice in the life of the iterator.
    unsafe fn part(&self, range: Range<usize>) -> &'a mut [T] {
        // SAFETY: the slice is borrowed for 'a and used by nobody else; the caller's promise.
        unsafe { std::mem::transmute::<&mut [T], &'a mut [T]>(self.all.part(range)) }
    }
}

/// Elements that some of the parts of a slice of `n` elements have.
fn elements(parts: Range<usize>, size: usize, n: usize) -> Range<usize> {
    parts.start * size..(parts.end * size).min(n)
}

impl<'a, T: Sync> ParallelIterator for Slice<'a, T> {
    type Item = &'a T;
    const IS_INDEXED: bool = true;

    fn n_places(&self) -> usize {
        self.0.len()
    }

    unsafe fn items(&self, places: Range<usize>) -> impl Iterator<Item = Self::Item> {
        self.0[places].iter()
    }
}

impl<'a, T: Send> ParallelIterator for SliceMut<'a, T> {
    type Item = &'a mut T;
    const IS_INDEXED: bool = true;

    fn n_places(&self) -> usize {
        self.n
    }

    unsafe fn items(&self, places: Range<usize>) -> impl Iterator<Item = Self::Item> {
        // SAFETY: the caller's promise.
        unsafe { self.part(places) }.iter_mut()
    }
}

impl<'a, T: Sync> ParallelIterator for Chunks<'a, T> {
    type Item = &'a [T];
    const IS_INDEXED: bool = true;

    fn n_places(&self) -> usize {
        self.all.len().div_ceil(self.size)
    }

    unsafe fn items(&self, places: Range<usize>) -> impl Iterator<Item = Self::Item> {
        self.all[elements(places, self.size, self.all.len())].chunks(self.size)
    }
}

impl<'a, T: Send> ParallelIterator for ChunksMut<'a, T> {
    type Item = &'a mut [T];
    const IS_INDEXED: bool = true;

    fn n_places(&self) -> usize {
        self.all.n.div_ceil(self.size)
    }

    unsafe fn items(&self, places: Range<usize>) -> impl Iterator<Item = Self::Item> {
        // SAFETY: the caller's promise.
        unsafe { self.all.part(elements(places, self.size, self.all.n)) }.chunks_mut(self.size)
    }
}

impl<'a, T: Sync> ParallelIterator for Windows<'a, T> {
    type Item = &'a [T];
    const IS_INDEXED: bool = true;

    fn n_places(&self) -> usize {
        (self.all.len() + 1).saturating_sub(self.size)
    }

    unsafe fn items(&self, places: Range<usize>) -> impl Iterator<Item = Self::Item> {
        self.all[places.start..places.end + self.size - 1].windows(self.size)
    }
}

impl<T: Send> ParallelIterator for Owned<T> {
    type Item = T;
    const IS_INDEXED: bool = true;

    fn n_places(&self) -> usize {
        self.all.len()
    }

    unsafe fn items(&self, places: Range<usize>) -> impl Iterator<Item = Self::Item> {
        // SAFETY: nobody else takes this element, and the vector will not drop it.
        self.all[places].iter().map(|element| unsafe { std::ptr::read(&**element) })
    }
}

impl<T: Sync> IndexedParallelIterator for Slice<'_, T> {}
impl<T: Send> IndexedParallelIterator for SliceMut<'_, T> {}
impl<T: Sync> IndexedParallelIterator for Chunks<'_, T> {}
impl<T: Send> IndexedParallelIterator for ChunksMut<'_, T> {}
impl<T: Sync> IndexedParallelIterator for Windows<'_, T> {}
impl<T: Send> IndexedParallelIterator for Owned<T> {}

/// What slices give all threads.
pub trait ParallelSlice<T> {
    /// As [`slice::iter`].
    fn par_iter(&self) -> Slice<'_, T>;

    /// As [`slice::iter_mut`].
    fn par_iter_mut(&mut self) -> SliceMut<'_, T>;

    /// As [`slice::chunks`].
    ///
    /// # Panics
    /// If the size is 0, as for all parts.
    fn par_chunks(&self, size: usize) -> Chunks<'_, T>;

    /// As [`slice::chunks_exact`].
    fn par_chunks_exact(&self, size: usize) -> Chunks<'_, T>;

    /// As [`slice::chunks_mut`].
    fn par_chunks_mut(&mut self, size: usize) -> ChunksMut<'_, T>;

    /// As [`slice::chunks_exact_mut`].
    fn par_chunks_exact_mut(&mut self, size: usize) -> ChunksMut<'_, T>;

    /// As [`slice::windows`].
    fn par_windows(&self, size: usize) -> Windows<'_, T>;

    /// As [`slice::sort_unstable`].
    fn par_sort_unstable(&mut self)
    where
        T: Ord + Send;

    /// As [`slice::sort_unstable_by_key`].
    fn par_sort_unstable_by_key<K: Ord, F: Fn(&T) -> K + Sync>(&mut self, key: F)
    where
        T: Send;
}

impl<T> ParallelSlice<T> for [T] {
    fn par_iter(&self) -> Slice<'_, T> {
        Slice(self)
    }

    fn par_iter_mut(&mut self) -> SliceMut<'_, T> {
        SliceMut::new(self)
    }

    fn par_chunks(&self, size: usize) -> Chunks<'_, T> {
        assert!(size > 0, "parts have a size");
        Chunks { all: self, size }
    }

    fn par_chunks_exact(&self, size: usize) -> Chunks<'_, T> {
        self[..self.len() / size * size].par_chunks(size)
    }

    fn par_chunks_mut(&mut self, size: usize) -> ChunksMut<'_, T> {
        assert!(size > 0, "parts have a size");
        ChunksMut { all: SliceMut::new(self), size }
    }

    fn par_chunks_exact_mut(&mut self, size: usize) -> ChunksMut<'_, T> {
        let whole = self.len() / size * size;
        self[..whole].par_chunks_mut(size)
    }

    fn par_windows(&self, size: usize) -> Windows<'_, T> {
        assert!(size > 0, "parts have a size");
        Windows { all: self, size }
    }

    fn par_sort_unstable(&mut self)
    where
        T: Ord + Send,
    {
        rayon::slice::ParallelSliceMut::par_sort_unstable(self);
    }

    fn par_sort_unstable_by_key<K: Ord, F: Fn(&T) -> K + Sync>(&mut self, key: F)
    where
        T: Send,
    {
        rayon::slice::ParallelSliceMut::par_sort_unstable_by_key(self, key);
    }
}

/// What vectors give all threads.
pub trait ParallelVec<T> {
    /// Appends all items.
    fn par_extend(&mut self, items: impl IndexedParallelIterator<Item = T>);
}

impl<T: Send> ParallelVec<T> for Vec<T> {
    fn par_extend(&mut self, items: impl IndexedParallelIterator<Item = T>) {
        append(self, &items);
    }
}

impl<T: Send> IntoParallelIterator for Vec<T> {
    type Iter = Owned<T>;
    type Item = T;

    fn into_par_iter(self) -> Owned<T> {
        // In place: ManuallyDrop changes nothing in memory.
        Owned { all: self.into_iter().map(ManuallyDrop::new).collect() }
    }
}

impl<'a, T: Sync> IntoParallelIterator for &'a [T] {
    type Iter = Slice<'a, T>;
    type Item = &'a T;

    fn into_par_iter(self) -> Slice<'a, T> {
        Slice(self)
    }
}

impl<'a, T: Sync> IntoParallelIterator for &'a Vec<T> {
    type Iter = Slice<'a, T>;
    type Item = &'a T;

    fn into_par_iter(self) -> Slice<'a, T> {
        Slice(self)
    }
}

impl<'a, T: Send> IntoParallelIterator for &'a mut [T] {
    type Iter = SliceMut<'a, T>;
    type Item = &'a mut T;

    fn into_par_iter(self) -> SliceMut<'a, T> {
        SliceMut::new(self)
    }
}

impl<'a, T: Send> IntoParallelIterator for &'a mut Vec<T> {
    type Iter = SliceMut<'a, T>;
    type Item = &'a mut T;

    fn into_par_iter(self) -> SliceMut<'a, T> {
        SliceMut::new(self)
    }
}
