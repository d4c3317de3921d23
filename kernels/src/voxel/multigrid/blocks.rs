//! Assembled coarse operators while they are made: sparse symmetric matrices of 3 × 3 blocks, in f64.

use pogo_formats::system::parallel;
use pogo_formats::system::parallel::iterate::*;

use crate::voxel::elements::{Batches, Elements};
use crate::voxel::lists::Lists;
use pogo_formats::system::parallel::Shared;

/// The upper triangle of a symmetric matrix of 3 × 3 blocks, row by row, the block of the diagonal first.
#[derive(Debug, Clone, Default)]
pub(crate) struct Blocks {
    /// First block of each row, and the end.
    pub first: Vec<u32>,
    /// Column of each block, ascending in a row.
    pub column: Vec<u32>,
    /// Blocks, row-major.
    pub value: Vec<[f64; 9]>,
}

/// See [`Blocks::lower`].
pub(crate) type Lower = Lists<[u32; 2]>;

/// The transpose of a block.
pub(crate) fn transposed(block: &[f64; 9]) -> [f64; 9] {
    std::array::from_fn(|i| block[3 * (i % 3) + i / 3])
}

impl Blocks {
    pub fn n_rows(&self) -> usize {
        self.first.len() - 1
    }

    /// Number of blocks of both triangles.
    pub fn n_blocks(&self) -> usize {
        2 * self.column.len() - self.n_rows()
    }

    /// Columns of a row.
    pub fn columns(&self, row: usize) -> &[u32] {
        &self.column[self.first[row] as usize..self.first[row + 1] as usize]
    }

    /// The diagonal, (n_rows, 3).
    pub fn diagonal(&self) -> Vec<[f64; 3]> {
        let diagonal = |&first: &u32| [0, 4, 8].map(|i| self.value[first as usize][i]);
        self.first[..self.n_rows()].par_iter().map(diagonal).collect()
    }

    /// Place of a block of the upper triangle.
    pub fn find(&self, row: u32, column: u32) -> usize {
        self.first[row as usize] as usize + self.columns(row as usize).partition_point(|&c| c < column)
    }

    /// For each column the rows above the diagonal in which it has a block, ascending, and the places of these blocks.
    pub fn lower(&self) -> Lower {
        Lists::of_entries(self.n_rows(), self.n_rows(), |row| {
            let first = self.first[row] + 1;
            self.columns(row)[1..].iter().zip(first..).map(move |(&column, at)| (column, [row as u32, at]))
        })
    }

    /// Frees the values of the rows from `row` on.
    pub fn free_from(&mut self, row: usize) {
        self.value.truncate(self.first[row] as usize);
        self.value.shrink_to_fit();
    }

    /// Blocks of value 0 for all pairs of nodes that share an element.
    pub fn pattern(elements: &Elements) -> Self {
        let elements_of =
            Lists::by_key(elements.n_nodes, elements.nodes.len(), |element| elements.nodes[element].into_iter());
        Self::of_rows(elements.n_nodes, |node, row| {
            for &element in elements_of.of(node) {
                row.extend_from_slice(&elements.nodes[element as usize]);
            }
        })
    }

    /// Blocks of value 0 in `n` rows. `columns(row, out)` appends the columns of a row in any order, more than once if it likes;
    /// those below the diagonal are left out.
    pub fn of_rows(n: usize, columns: impl Fn(usize, &mut Vec<u32>) + Sync) -> Self {
        const ROWS: usize = 4096;
        // Ends of the rows in each part, and their columns.
        let (ends, columns): (Vec<Vec<u32>>, Vec<Vec<u32>>) = (0..n.div_ceil(ROWS))
            .into_par_iter()
            .map(|part| {
                let (mut ends, mut all, mut row) = (Vec::with_capacity(ROWS), Vec::new(), Vec::new());
                for node in part * ROWS..((part + 1) * ROWS).min(n) {
                    row.clear();
                    columns(node, &mut row);
                    row.retain(|&other| other as usize >= node);
                    row.sort_unstable();
                    row.dedup();
                    all.extend_from_slice(&row);
                    ends.push(all.len() as u32);
                }
                (ends, all)
            })
            .unzip();
        let column = parallel::joined(&columns);
        let mut first = Vec::with_capacity(n + 1);
        first.push(0);
        for ends in ends {
            let before = first[first.len() - 1];
            first.extend(ends.into_iter().map(|end| before + end));
        }
        // Written by all threads: pages that are read before they are written are made twice.
        let value = (0..column.len()).into_par_iter().map(|_| [0.0; 9]).collect();
        Self { first, value, column }
    }

    /// Adds the matrices of all elements in one order; `matrix(element, memory, out)` overwrites `out`, with memory that `new`
    /// makes.
    pub fn add_all<M>(
        &mut self,
        elements: &Elements,
        batches: &Batches,
        new: impl Fn() -> M + Sync,
        matrix: impl Fn(usize, &mut M, &mut [f64; 576]) + Sync,
    ) {
        let n = self.value.len();
        let mut value = std::mem::take(&mut self.value);
        {
            let shared = Shared::new(&mut value);
            let this = &*self;
            batches.for_each(&|range| {
                // SAFETY: batches that run at the same time share no row; within one there is one thread.
                let value = unsafe { shared.part(0..n) };
                let (mut here, mut memory) = ([0.0; 576], new());
                for element in range {
                    matrix(element, &mut memory, &mut here);
                    let nodes = &elements.nodes[element];
                    for (c, &row) in nodes.iter().enumerate() {
                        for (d, &column) in nodes.iter().enumerate().filter(|(_, column)| **column >= row) {
                            let to = &mut value[this.find(row, column)];
                            for i in 0..9 {
                                to[i] += here[24 * (3 * c + i / 3) + 3 * d + i % 3];
                            }
                        }
                    }
                }
            });
        }
        self.value = value;
    }

    /// The product with a vector, entry by entry, to compare with.
    #[cfg(test)]
    pub fn product(&self, x: &[f64]) -> Vec<f64> {
        let mut y = vec![0.0; x.len()];
        for (i, row) in self.first.windows(2).enumerate() {
            for at in row[0] as usize..row[1] as usize {
                let (j, block) = (self.column[at] as usize, self.value[at]);
                for k in 0..9 {
                    y[3 * i + k / 3] += block[k] * x[3 * j + k % 3];
                    if i != j {
                        y[3 * j + k % 3] += block[k] * x[3 * i + k / 3];
                    }
                }
            }
        }
        y
    }
}
