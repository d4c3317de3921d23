//! Assembled coarse operators as they are multiplied: all blocks, in f32 or f64.

use std::ops::Range;

use rayon::prelude::*;

use super::blocks::{Blocks, transposed};
use crate::simd::{InstructionSet, Kernel, Level, Real};
use crate::voxel::lists::Lists;

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

    /// Rounds the blocks. Those that are rounded are freed, so that both forms never take their whole memory.
    pub fn new(blocks: Blocks) -> Self {
        let (first, column) = whole_pattern(&blocks).into_parts();
        // Zeros take no memory before they are written.
        let mut value = vec![T::default(); 9 * column.len() + 3];
        // Rows are filled from their ends.
        let mut next = first[1..].to_vec();
        blocks.consume(|row, column, block| {
            let mut put = |row: usize, block: &[f64; 9]| {
                next[row] -= 1;
                let to = &mut value[9 * next[row] as usize..];
                (0..9).for_each(|i| to[i] = T::from_f64(block[3 * (i % 3) + i / 3]));
            };
            put(row, block);
            if column != row {
                put(column, &transposed(block));
            }
        });
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

/// The columns of each row, of both triangles, ascending.
fn whole_pattern(blocks: &Blocks) -> Lists {
    Lists::by_key(blocks.n_rows(), || {
        (0..blocks.n_rows() as u32).flat_map(|row| {
            // Lower columns of a row have come with the rows before.
            let columns = blocks.columns(row as usize).iter();
            columns.flat_map(move |&column| [Some((row, column)), (column != row).then_some((column, row))]).flatten()
        })
    })
}
