//! Assembled coarse operators: sparse matrices of 3 × 3 blocks.

use rayon::prelude::*;

use super::number::Shared;
use super::split::{Batches, Elements, PLACES, Transfer};
use crate::simd::{InstructionSet, Kernel, Level, Real};

/// Blocks that are given back at a time.
const PIECE: usize = 1 << 16;

/// A symmetric matrix of 3 × 3 blocks while it is made: of each two that are each other's transpose, that of the upper
/// triangle. Row by row, a row's own block first.
#[derive(Debug, Clone, Default)]
pub(super) struct Blocks {
    pub first: Vec<u32>,
    pub column: Vec<u32>,
    /// Blocks, row-major.
    pub value: Vec<[f64; 9]>,
}

/// The transpose of a block.
pub(super) fn transposed(block: &[f64; 9]) -> [f64; 9] {
    std::array::from_fn(|i| block[3 * (i % 3) + i / 3])
}

impl Blocks {
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

    /// Blocks of both triangles.
    pub fn n_blocks(&self) -> usize {
        2 * self.column.len() - self.n_rows()
    }

    /// Calls `act(row, column, block)` for all blocks of the upper triangle, last row first. What has been used goes, so that the
    /// whole and what is made of it never both take their place.
    fn consume(mut self, mut act: impl FnMut(usize, usize, &[f64; 9])) {
        for row in (0..self.n_rows()).rev() {
            let first = self.first[row] as usize;
            for at in (first..self.first[row + 1] as usize).rev() {
                act(row, self.column[at] as usize, &self.value[at]);
            }
            self.value.truncate(first);
            if self.value.capacity() - first > PIECE {
                self.value.shrink_to_fit();
            }
        }
    }

    /// First block of each row, and the columns, of both triangles.
    fn whole_pattern(&self) -> (Vec<u32>, Vec<u32>) {
        let n = self.n_rows();
        let mut first = vec![0_u32; n + 1];
        for row in 0..n {
            let range = self.first[row] as usize..self.first[row + 1] as usize;
            first[row + 1] += range.len() as u32;
            self.column[range].iter().skip(1).for_each(|&column| first[column as usize + 1] += 1);
        }
        (0..n).for_each(|i| first[i + 1] += first[i]);
        let (mut next, mut columns) = (first.clone(), vec![0_u32; self.n_blocks()]);
        let mut put = |row: usize, column: u32| {
            columns[next[row] as usize] = column;
            next[row] += 1;
        };
        // Lower columns of a row come before its own turn.
        for row in 0..n {
            for at in self.first[row] as usize..self.first[row + 1] as usize {
                put(row, self.column[at]);
                if at > self.first[row] as usize {
                    put(self.column[at] as usize, row as u32);
                }
            }
        }
        (first, columns)
    }

    /// For products.
    pub fn rounded<T: Real>(self) -> Packed<T> {
        let (first, column) = self.whole_pattern();
        // Zeros take no place before they are written.
        let mut value = vec![T::default(); 9 * column.len() + 3];
        let mut put = Ends::new(&first);
        self.consume(|row, other, block| {
            put.each(row, other, block, |at, block| {
                (0..9).for_each(|i| value[9 * at + i] = T::from_f64(block[3 * (i % 3) + i / 3]));
            });
        });
        Packed { first, column, value }
    }

    /// The pattern of a level: nodes that share an element.
    pub fn pattern(elements: &Elements) -> Self {
        let n = elements.n_nodes;
        let mut count = vec![0_u32; n + 1];
        elements.nodes.iter().flatten().for_each(|&node| count[node as usize + 1] += 1);
        (0..n).for_each(|i| count[i + 1] += count[i]);
        let mut next = count.clone();
        let mut of_node = vec![0_u32; 8 * elements.nodes.len()];
        for (element, nodes) in elements.nodes.iter().enumerate() {
            for &node in nodes {
                of_node[next[node as usize] as usize] = element as u32;
                next[node as usize] += 1;
            }
        }
        const SIZE: usize = 4096;
        let parts: Vec<(Vec<u32>, Vec<u32>)> = (0..n.div_ceil(SIZE))
            .into_par_iter()
            .map(|part| {
                let (mut ends, mut columns, mut row) = (Vec::with_capacity(SIZE), Vec::new(), Vec::new());
                for node in part * SIZE..((part + 1) * SIZE).min(n) {
                    row.clear();
                    for &element in &of_node[count[node] as usize..count[node + 1] as usize] {
                        row.extend_from_slice(&elements.nodes[element as usize]);
                    }
                    row.retain(|&other| other as usize >= node);
                    row.sort_unstable();
                    row.dedup();
                    columns.extend_from_slice(&row);
                    ends.push(columns.len() as u32);
                }
                (ends, columns)
            })
            .collect();
        let mut out = Self { first: vec![0], ..Self::default() };
        out.column.reserve_exact(parts.iter().map(|part| part.1.len()).sum());
        for (ends, columns) in parts {
            let before = out.column.len() as u32;
            out.first.extend(ends.iter().map(|end| before + end));
            out.column.extend_from_slice(&columns);
        }
        out.value = vec![[0.0; 9]; out.column.len()];
        out
    }

    /// Place of a block of the upper triangle.
    fn find(&self, row: u32, column: u32) -> usize {
        let range = self.first[row as usize] as usize..self.first[row as usize + 1] as usize;
        range.start + self.column[range].partition_point(|&c| c < column)
    }

    /// Adds the matrices of all elements: `matrix(element, to be overwritten)`. In one order.
    pub fn add_all(&mut self, elements: &Elements, batches: &Batches, matrix: impl Fn(usize, &mut [f64; 576]) + Sync) {
        let n = self.value.len();
        let mut value = std::mem::take(&mut self.value);
        {
            let shared = Shared::new(&mut value);
            let this = &*self;
            batches.for_each(|range| {
                // SAFETY: batches that run at the same time share no row; within one there is one thread.
                let value = unsafe { shared.part(0..n) };
                let mut here = [0.0; 576];
                for element in range {
                    matrix(element, &mut here);
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
}

impl Blocks {
    pub fn n_rows(&self) -> usize {
        self.first.len() - 1
    }
}

/// Where blocks go in rows that are filled from their ends.
struct Ends(Vec<u32>);

impl Ends {
    fn new(first: &[u32]) -> Self {
        Self(first[1..].to_vec())
    }

    /// Calls `act(place, block)` for a block and its transpose. Rows must come last first, and their columns, too.
    fn each(&mut self, row: usize, column: usize, block: &[f64; 9], mut act: impl FnMut(usize, &[f64; 9])) {
        let mut next = |row: usize| {
            self.0[row] -= 1;
            self.0[row] as usize
        };
        act(next(row), block);
        if column != row {
            act(next(column), &transposed(block));
        }
    }
}

/// As [`Blocks`], both triangles, for products: column by column.
#[derive(Debug, Clone, Default)]
pub(super) struct Packed<T = f32> {
    pub first: Vec<u32>,
    pub column: Vec<u32>,
    /// Nine numbers a block, column-major, and three more at the end: columns are read four numbers at a time.
    pub value: Vec<T>,
}

impl<T: Real> Packed<T> {
    const ROWS: usize = 512;

    /// y = A x.
    pub fn apply(&self, x: &[T], y: &mut [T]) {
        let rows = |(chunk, y): (usize, &mut [T])| {
            Level::detect().run(PackedRows { matrix: self, first: chunk * Self::ROWS, x, y });
        };
        if y.len() > 6 * Self::ROWS {
            y.par_chunks_mut(3 * Self::ROWS).enumerate().for_each(rows);
        } else {
            y.chunks_mut(3 * Self::ROWS).enumerate().for_each(rows);
        }
    }

    #[inline(always)]
    fn rows<I: InstructionSet>(&self, first: usize, x: &[T], y: &mut [T]) {
        for (i, y) in y.chunks_exact_mut(3).enumerate() {
            let range = self.first[first + i] as usize..self.first[first + i + 1] as usize;
            // A sum for each column, so that no addition waits for the one before.
            let mut sums = [[T::default(); 4]; 3];
            for at in range {
                let node = self.column[at] as usize;
                let x = &x[3 * node..3 * node + 3];
                let block = &self.value[9 * at..9 * at + 12];
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

/// [`Packed::rows`].
struct PackedRows<'a, T> {
    matrix: &'a Packed<T>,
    first: usize,
    x: &'a [T],
    y: &'a mut [T],
}

impl<T: Real> Kernel for PackedRows<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<I: InstructionSet>(self) {
        self.matrix.rows::<I>(self.first, self.x, self.y);
    }
}

impl Blocks {
    /// The diagonal.
    pub fn diagonal(&self) -> Vec<f64> {
        let diagonal = |&first: &u32| [0, 4, 8].map(|i| self.value[first as usize][i]);
        self.first[..self.n_rows()].iter().flat_map(diagonal).collect()
    }

    /// Calls `act(row, column)` for the blocks above the diagonal.
    fn upper(&self, mut act: impl FnMut(u32, u32)) {
        for row in 0..self.n_rows() {
            let others = &self.column[self.first[row] as usize + 1..self.first[row + 1] as usize];
            others.iter().for_each(|&column| act(row as u32, column));
        }
    }

    /// Pᵀ A P on the pattern of the coarse level.
    pub fn coarser(&self, coarse: &Elements, transfer: &Transfer) -> Self {
        // Coarse nodes of each node, and their one weight.
        let mut support = vec![([0_u32; 8], 0_u8, 0.0_f64); self.n_rows()];
        for element in 0..coarse.nodes.len() {
            for i in transfer.first[element] as usize..transfer.first[element + 1] as usize {
                let place = &PLACES[usize::from(transfer.place[i])];
                let mut nodes = [0; 8];
                for k in 0..usize::from(place.n) {
                    nodes[k] = coarse.nodes[element][usize::from(place.corners[k])];
                }
                support[transfer.fine[i] as usize] = (nodes, place.n, f64::from(place.weight));
            }
        }
        let mut out = Self::pattern(coarse);
        // Lower columns of each row.
        let mut lower_first = vec![0_u32; self.n_rows() + 1];
        self.upper(|_, column| lower_first[column as usize + 1] += 1);
        (0..self.n_rows()).for_each(|i| lower_first[i + 1] += lower_first[i]);
        let (mut next, mut lower) = (lower_first.clone(), vec![0_u32; self.column.len() - self.n_rows()]);
        self.upper(|row, column| {
            lower[next[column as usize] as usize] = row;
            next[column as usize] += 1;
        });
        // Finer nodes of each coarse one.
        let mut first = vec![0_u32; out.n_rows() + 1];
        let nodes = |of: &([u32; 8], u8, f64)| of.0.into_iter().take(usize::from(of.1));
        support.iter().flat_map(nodes).for_each(|node| first[node as usize + 1] += 1);
        (0..out.n_rows()).for_each(|i| first[i + 1] += first[i]);
        let (mut next, mut finer) = (first.clone(), vec![0_u32; first.last().map_or(0, |&n| n as usize)]);
        for (row, of) in support.iter().enumerate() {
            for node in nodes(of) {
                finer[next[node as usize] as usize] = row as u32;
                next[node as usize] += 1;
            }
        }
        let value = Shared::new(&mut out.value);
        let (firsts, all_columns) = (&out.first, &out.column);
        (0..firsts.len() - 1).into_par_iter().for_each(|node| {
            let range = firsts[node] as usize..firsts[node + 1] as usize;
            let columns = &all_columns[range.clone()];
            // SAFETY: each row has blocks of its own.
            let value = unsafe { value.part(range) };
            let mut add = |column: u32, block: &[f64; 9], weight: f64| {
                let of = &support[column as usize];
                let block = block.map(|v| v * weight * of.2);
                for column in nodes(of).filter(|&column| column as usize >= node) {
                    let to = &mut value[columns.partition_point(|&c| c < column)];
                    for i in 0..9 {
                        to[i] += block[i];
                    }
                }
            };
            for &row in &finer[first[node] as usize..first[node + 1] as usize] {
                let weight = support[row as usize].2;
                for &column in &lower[lower_first[row as usize] as usize..lower_first[row as usize + 1] as usize] {
                    add(column, &transposed(&self.value[self.find(column, row)]), weight);
                }
                for at in self.first[row as usize] as usize..self.first[row as usize + 1] as usize {
                    add(self.column[at], &self.value[at], weight);
                }
            }
        });
        out
    }
}
