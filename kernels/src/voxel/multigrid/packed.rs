//! Assembled coarse operators as they are multiplied: all blocks, in f32 or f64.

use std::ops::Range;

use pogo_formats::system::parallel::iterate::*;

use super::blocks::{Blocks, Lower, transposed};
use crate::simd::{InstructionSet, Kernel, Level, Real};
use crate::voxel::lists::starts;
use pogo_formats::system::parallel::Shared;

/// A matrix of 3 × 3 blocks, of both triangles.
#[derive(Debug, Clone, Default)]
pub(crate) struct Packed<T = f32> {
    pub first: Vec<u32>,
    pub column: Vec<u32>,
    /// Nine numbers a block, column-major, and three more at the end: columns are read four numbers at a time.
    pub value: Vec<T>,
}

impl<T: Real> Packed<T> {
    /// Rows that a thread takes at a time.
    const ROWS: usize = 512;
    /// Rows that are freed at a time while the blocks are rounded.
    const FREED: usize = 1 << 17;

    /// Rounds the blocks. Those that are rounded are freed, so that both forms never take their whole memory.
    pub fn new(mut blocks: Blocks, lower: &Lower) -> Self {
        let n_rows = blocks.n_rows();
        let row_length = |row: usize| (lower.of(row).len() + blocks.columns(row).len()) as u32;
        let first = starts((0..n_rows).map(row_length));
        let n_blocks = first[n_rows] as usize;
        // Zeros take no memory before they are written.
        let (mut column, mut value) = (vec![0_u32; n_blocks], vec![T::default(); 9 * n_blocks + 3]);
        let (columns, values) = (Shared::new(&mut column), Shared::new(&mut value));
        // A row has its own blocks and those of rows above: later rows go first, and free theirs.
        for begin in (0..n_rows).step_by(Self::FREED).rev() {
            let end = (begin + Self::FREED).min(n_rows);
            (begin..end).into_par_iter().with_min_len(64).for_each(|row| {
                let range = first[row] as usize..first[row + 1] as usize;
                // SAFETY: each row has a range of its own.
                let (columns, values) =
                    unsafe { (columns.part(range.clone()), values.part(9 * range.start..9 * range.end)) };
                let above = lower.of(row).iter().map(|&[other, at]| (other, at as usize, true));
                let own = blocks.columns(row).iter().zip(blocks.first[row] as usize..);
                let entries = above.chain(own.map(|(&other, at)| (other, at, false)));
                for ((to, column), (other, at, is_above)) in values.chunks_exact_mut(9).zip(columns).zip(entries) {
                    *column = other;
                    // Column-major.
                    let block = &blocks.value[at];
                    let block = if is_above { *block } else { transposed(block) };
                    to.iter_mut().zip(block).for_each(|(to, value)| *to = T::from_f64(value));
                }
            });
            blocks.free_from(begin);
        }
        Self { first, column, value }
    }

    /// Nodes of the columns of some rows.
    pub fn columns(&self, rows: &Range<usize>) -> &[u32] {
        &self.column[self.first[rows.start] as usize..self.first[rows.end] as usize]
    }

    /// The rows `own` of y = A x.
    pub fn apply(&self, own: &Range<usize>, x: &[T], y: &mut [T]) {
        let rows = |(chunk, y): (usize, &mut [T])| {
            Level::detect().run(Rows { matrix: self, first: own.start + chunk * Self::ROWS, x, y });
        };
        let y = &mut y[3 * own.start..3 * own.end];
        if y.len() > 6 * Self::ROWS {
            y.par_chunks_mut(3 * Self::ROWS).enumerate().for_each(rows);
        } else {
            y.chunks_mut(3 * Self::ROWS).enumerate().for_each(rows);
        }
    }
}

/// Some rows of y = A x.
struct Rows<'a, T> {
    matrix: &'a Packed<T>,
    first: usize,
    x: &'a [T],
    y: &'a mut [T],
}

impl<T: Real> Kernel for Rows<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<I: InstructionSet>(self) {
        let Self { matrix, first, x, y } = self;
        for (i, y) in y.chunks_exact_mut(3).enumerate() {
            let range = matrix.first[first + i] as usize..matrix.first[first + i + 1] as usize;
            // One sum for each column: additions then do not wait for each other.
            let mut sums = [[T::default(); 4]; 3];
            for at in range {
                let node = matrix.column[at] as usize;
                let x = &x[3 * node..3 * node + 3];
                let block = &matrix.value[9 * at..9 * at + 12];
                for j in 0..3 {
                    for a in 0..4 {
                        let value = block[3 * j + a];
                        sums[j][a] = if I::FMA { value.mul_add(x[j], sums[j][a]) } else { value * x[j] + sums[j][a] };
                    }
                }
            }
            for a in 0..3 {
                y[a] = sums[0][a] + sums[1][a] + sums[2][a];
            }
        }
    }
}
