//! A mesh with arrays on it, as the writers of files for ParaView take it: [`vtu`](super::vtu) and [`vtkhdf`](super::vtkhdf).
//!
//! Arrays are asked for their numbers when these are written, so that no copy of them is made.

use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use super::OutputError;
use crate::system::parallel::iterate::*;

/// Type of the numbers of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // as the types of Rust
pub enum Number {
    F32,
    F64,
    I64,
    U8,
    U16,
    U32,
}

impl Number {
    /// Bytes of one.
    pub const fn size(self) -> u64 {
        match self {
            Self::U8 => 1,
            Self::U16 => 2,
            Self::F32 | Self::U32 => 4,
            Self::F64 | Self::I64 => 8,
        }
    }
}

/// How long the numbers of an array stay the same in a series of snapshots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lasting {
    /// From the first snapshot to the last.
    Always,
    /// As long as the cells.
    WithCells,
    /// They differ from one to the next.
    No,
}

/// Writes the numbers of an array one after the other, components together, in little-endian.
pub type Fill<'a> = Box<dyn Fn(&mut dyn Write) -> io::Result<()> + 'a>;

/// Writes whole numbers one after the other, each in so many bytes, little-endian.
pub type Indices<'a> = Box<dyn Fn(&mut dyn Write, usize) -> io::Result<()> + 'a>;

/// Makes the function that writes the numbers of an iterator.
pub fn indices<'a, I: Iterator<Item = u64>>(numbers: impl Fn() -> I + 'a) -> Indices<'a> {
    const PIECE: usize = 4096;
    Box::new(move |out, width| {
        let (mut numbers, mut bytes) = (numbers(), Vec::with_capacity(8 * PIECE));
        loop {
            bytes.clear();
            put_numbers(&mut bytes, width, numbers.by_ref().take(PIECE));
            if bytes.is_empty() {
                return Ok(());
            }
            out.write_all(&bytes)?;
        }
    })
}

/// Appends whole numbers, each in 1, 4 or 8 bytes.
pub(super) fn put_numbers(bytes: &mut Vec<u8>, width: usize, numbers: impl Iterator<Item = u64>) {
    match width {
        1 => bytes.extend(numbers.map(|number| number as u8)),
        4 => numbers.for_each(|number| bytes.extend_from_slice(&(number as u32).to_le_bytes())),
        _ => numbers.for_each(|number| bytes.extend_from_slice(&number.to_le_bytes())),
    }
}

/// Makes pieces of something on all threads, and hands one after the other to this thread, which meanwhile does something else
/// with them: the next ones are made at the same time. There are never more than a few for each thread.
///
/// # Errors
/// The first that `take` gives.
pub fn in_pieces<P: Copy + Send + Sync, R: Send>(
    all: &[P],
    make: impl Fn(P) -> R + Sync,
    mut take: impl FnMut(R) -> io::Result<()>,
) -> io::Result<()> {
    let make_all = |pieces: &[P]| -> Vec<R> { pieces.par_iter().map(|&piece| make(piece)).collect() };
    let mut made: Vec<R> = Vec::new();
    for round in all.chunks(2 * rayon::current_num_threads().max(1)) {
        let mut next = Vec::new();
        rayon::in_place_scope(|scope| {
            scope.spawn(|_| next = make_all(round));
            std::mem::take(&mut made).into_iter().try_for_each(&mut take)
        })?;
        made = next;
    }
    made.into_iter().try_for_each(take)
}

/// An array by name.
#[allow(missing_docs)]
pub struct GridArray<'a> {
    pub name: &'a str,
    pub number: Number,
    /// Numbers a point or cell.
    pub components: usize,
    /// Their names, or none.
    pub component_names: &'a [&'a str],
    /// Until when it stays as it is.
    pub lasting: Lasting,
    /// Its numbers, (n, components).
    pub fill: Fill<'a>,
}

impl<'a> GridArray<'a> {
    /// An array whose components have no names.
    pub fn new(name: &'a str, number: Number, components: usize, lasting: Lasting, fill: Fill<'a>) -> Self {
        Self { name, number, components, component_names: &[], lasting, fill }
    }

    /// Calls `wait` before the numbers are asked for.
    pub fn wait_first(&mut self, wait: impl Fn() + 'a) {
        let fill = std::mem::replace(&mut self.fill, Box::new(|_| Ok(())));
        self.fill = Box::new(move |out| {
            wait();
            fill(out)
        });
    }
}

/// A mesh and what is on it.
#[allow(missing_docs)]
pub struct Grid<'a> {
    /// Time of a snapshot, s.
    pub time: Option<f64>,
    pub n_points: usize,
    pub n_cells: usize,
    /// Corners of all cells.
    pub n_corners: usize,
    /// Two meshes of one series with the same number have the same cells.
    pub cells_id: u64,
    /// Positions, three components.
    pub points: GridArray<'a>,
    /// Points of the cells, (n_corners,).
    pub connectivity: Indices<'a>,
    /// Corners up to the end of each cell, (n_cells,).
    pub ends: Indices<'a>,
    /// VTK's cell types, (n_cells,).
    pub types: Indices<'a>,
    /// What VTK is to show first: `Scalars` or `Vectors`, the first of the arrays on points.
    pub active: &'static str,
    /// Arrays on points.
    pub point_data: Vec<GridArray<'a>>,
    /// Arrays on cells.
    pub cell_data: Vec<GridArray<'a>>,
    /// A list of names, by name.
    pub names: Option<(&'static str, &'a [&'a str])>,
}

/// Makes the function that writes an array from its numbers as bytes.
pub fn fill<'a, I: Iterator<Item = [u8; N]>, const N: usize>(numbers: impl Fn() -> I + 'a) -> Fill<'a> {
    Box::new(move |out| numbers().try_for_each(|bytes| out.write_all(&bytes)))
}

/// The order in which points or cells stand, turned round: index of the one at each place.
///
/// # Errors
/// [`OutputError::Shape`] when `place` is no permutation.
pub fn inverse(path: &Path, place: &[u32]) -> Result<Vec<u32>, OutputError> {
    let inverse: Vec<AtomicU32> = place.par_iter().map(|_| AtomicU32::new(u32::MAX)).collect();
    let is_new = |(index, &place): (usize, &u32)| {
        let slot = inverse.get(place as usize);
        slot.is_some_and(|slot| slot.swap(index as u32, Ordering::Relaxed) == u32::MAX)
    };
    if !place.par_iter().enumerate().all(is_new) {
        return Err(OutputError::shape(path, "the order of points or cells is no permutation"));
    }
    Ok(inverse.into_par_iter().map(AtomicU32::into_inner).collect())
}
