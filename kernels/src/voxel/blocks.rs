//! Assembled coarse operators: sparse matrices of 3 × 3 blocks.

use rayon::prelude::*;

use super::number::{Machine, Number, Shared, machine};
use super::split::{Batches, Elements, PLACES, Transfer};

/// Sums below this share of the largest number in a row are what rounding in f32 leaves of numbers that cancel.
const NOTHING: f64 = 4e-6;
/// Blocks that are rounded at a time.
const PIECE: usize = 1 << 16;

/// A symmetric matrix of 3 × 3 blocks, all of them stored, row by row, while it is made.
#[derive(Debug, Clone, Default)]
pub(super) struct Blocks {
    pub first: Vec<u32>,
    pub column: Vec<u32>,
    /// Blocks, row-major.
    pub value: Vec<[f64; 9]>,
}

impl Blocks {
    /// Rounded. What is rounded goes at once, so that both never take their whole place.
    pub fn rounded<T: Number>(mut self) -> Packed<T> {
        // Zeros take no place before they are written.
        let mut value = vec![T::default(); 9 * self.value.len() + 3];
        while !self.value.is_empty() {
            let first = (self.value.len() - 1) / PIECE * PIECE;
            for (to, block) in value[9 * first..].chunks_exact_mut(9).zip(&self.value[first..]) {
                (0..9).for_each(|i| to[i] = T::from_f64(block[3 * (i % 3) + i / 3]));
            }
            self.value.truncate(first);
            self.value.shrink_to_fit();
        }
        Packed { first: self.first, column: self.column, value, short: None }
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
                        for (d, &column) in nodes.iter().enumerate() {
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

/// As [`Blocks`], for products: column by column.
#[derive(Debug, Clone, Default)]
pub(super) struct Packed<T = f32> {
    pub first: Vec<u32>,
    pub column: Vec<u32>,
    /// Nine numbers a block, column-major, and three more at the end: columns are read four numbers at a time.
    pub value: Vec<T>,
    /// Instead of `value`: see [`shorten`](Self::shorten).
    short: Option<Short>,
}

/// Blocks as a scale times whole numbers of 16 bits, in the order of [`Packed::value`].
#[derive(Debug, Clone, Default)]
struct Short {
    scale: Vec<f32>,
    /// Seven more at the end: sixteen are read at a time.
    value: Vec<i16>,
}

impl<T: Number> Packed<T> {
    const ROWS: usize = 512;

    /// Keeps 16 bits a number: enough for a preconditioner, and 26 B a block instead of 40. Other nodes' blocks act on
    /// differences of displacement, and the block of the row's own node becomes the sum of the row, which is nil where nothing is
    /// held: y_i = (Σ_j A_ij) x_i + Σ_j A_ij (x_j − x_i). Rounding then costs no force where the sample moves as a whole; else that
    /// could be more than what the slowest motions of a long sample cost.
    pub fn shorten(&mut self) {
        self.sum_rows();
        let n = self.column.len();
        let (mut scale, mut value) = (vec![0.0_f32; n], vec![0_i16; 9 * n + 7]);
        self.value.truncate(9 * n);
        while !self.value.is_empty() {
            let first = (self.value.len() / 9 - 1) / PIECE * PIECE;
            let blocks = self.value[9 * first..].chunks_exact(9);
            for ((scale, to), block) in
                scale[first..].iter_mut().zip(value[9 * first..].chunks_exact_mut(9)).zip(blocks)
            {
                let most = block.iter().fold(0.0_f64, |most, v| most.max(v.to_f64().abs()));
                if most > 0.0 {
                    *scale = (most / 32767.0) as f32;
                    (0..9).for_each(|i| to[i] = (block[i].to_f64() * (32767.0 / most)).round() as i16);
                }
            }
            self.value.truncate(9 * first);
            self.value.shrink_to_fit();
        }
        self.short = Some(Short { scale, value });
    }

    /// Puts the sum of each row in the place of its own node's block.
    fn sum_rows(&mut self) {
        for row in 0..self.first.len() - 1 {
            let range = self.first[row] as usize..self.first[row + 1] as usize;
            let own = range.start + self.column[range.clone()].partition_point(|&column| (column as usize) < row);
            let (mut sum, mut most) = ([0.0; 9], 0.0_f64);
            for at in range {
                for (i, sum) in sum.iter_mut().enumerate() {
                    let value = self.value[9 * at + i].to_f64();
                    *sum += value;
                    most = most.max(value.abs());
                }
            }
            for (i, &sum) in sum.iter().enumerate() {
                self.value[9 * own + i] = T::from_f64(if sum.abs() > NOTHING * most { sum } else { 0.0 });
            }
        }
    }

    /// y = A x.
    pub fn apply(&self, x: &[T], y: &mut [T]) {
        let rows = |(chunk, y): (usize, &mut [T])| {
            #[cfg(target_arch = "x86_64")]
            if machine() == Machine::Avx512
                && let Some(short) = &self.short
                && let (Some(x), Some(y)) = (T::singles(x), T::singles_mut(y))
            {
                // SAFETY: the machine has what it is compiled for.
                unsafe { self.rows_avx512(short, chunk * Self::ROWS, x, y) };
                return;
            }
            #[cfg(target_arch = "x86_64")]
            if machine() != Machine::Any {
                // SAFETY: the machine has what it is compiled for.
                unsafe { self.rows_avx2(chunk * Self::ROWS, x, y) };
                return;
            }
            self.rows::<false>(chunk * Self::ROWS, x, y);
        };
        if y.len() > 6 * Self::ROWS {
            y.par_chunks_mut(3 * Self::ROWS).enumerate().for_each(rows);
        } else {
            y.chunks_mut(3 * Self::ROWS).enumerate().for_each(rows);
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    fn rows_avx2(&self, first: usize, x: &[T], y: &mut [T]) {
        self.rows::<true>(first, x, y);
    }

    /// As [`rows`](Self::rows), a block at a time.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512vl,avx2,fma")]
    fn rows_avx512(&self, short: &Short, first: usize, x: &[f32], y: &mut [f32]) {
        use std::arch::x86_64::*;
        // Three numbers of a block for each component; what is read of the next block meets 0.
        let component = _mm512_setr_epi32(0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3);
        let load = |node: usize| {
            let from = &x[3 * node..3 * node + 3];
            // SAFETY: three numbers.
            let vector = unsafe { _mm_maskz_loadu_ps(7, from.as_ptr()) };
            _mm512_permutexvar_ps(component, _mm512_castps128_ps512(vector))
        };
        for (i, y) in y.chunks_exact_mut(3).enumerate() {
            let row = first + i;
            let range = self.first[row] as usize..self.first[row + 1] as usize;
            let values = &short.value[9 * range.start..9 * range.end + 7];
            let blocks = self.column[range.clone()].iter().zip(&short.scale[range]).zip(values.windows(16).step_by(9));
            let (own, mut sums) = (load(row), _mm512_setzero_ps());
            for ((&node, &scale), block) in blocks {
                let (node, there) = (node as usize, load(node as usize));
                let difference = _mm512_mask_sub_ps(there, if node == row { 0 } else { !0 }, there, own);
                // SAFETY: sixteen numbers.
                let block = unsafe { _mm256_loadu_si256(block.as_ptr().cast()) };
                let block = _mm512_cvtepi32_ps(_mm512_cvtepi16_epi32(block));
                sums = _mm512_fmadd_ps(block, _mm512_mul_ps(_mm512_set1_ps(scale), difference), sums);
            }
            let mut sum = [0.0; 16];
            // SAFETY: sixteen numbers.
            unsafe { _mm512_storeu_ps(sum.as_mut_ptr(), sums) };
            (0..3).for_each(|a| y[a] = sum[a] + sum[3 + a] + sum[6 + a]);
        }
    }

    #[inline(always)]
    fn rows<const FMA: bool>(&self, first: usize, x: &[T], y: &mut [T]) {
        for (i, y) in y.chunks_exact_mut(3).enumerate() {
            let range = self.first[first + i] as usize..self.first[first + i + 1] as usize;
            let own = &x[3 * (first + i)..3 * (first + i) + 3];
            // A sum for each column, so that no addition waits for the one before.
            let mut sums = [[T::default(); 4]; 3];
            for at in range {
                let node = self.column[at] as usize;
                let x = &x[3 * node..3 * node + 3];
                if let Some(short) = &self.short {
                    let scale = T::from_f64(f64::from(short.scale[at]));
                    let block = &short.value[9 * at..9 * at + 12];
                    for j in 0..3 {
                        let x = scale * (if node == first + i { own[j] } else { x[j] - own[j] });
                        for a in 0..4 {
                            let value = T::from_i16(block[3 * j + a]);
                            sums[j][a] = if FMA { value.fused(x, sums[j][a]) } else { value * x + sums[j][a] };
                        }
                    }
                    continue;
                }
                let block = &self.value[9 * at..9 * at + 12];
                for j in 0..3 {
                    for a in 0..4 {
                        let value = block[3 * j + a];
                        sums[j][a] = if FMA { value.fused(x[j], sums[j][a]) } else { value * x[j] + sums[j][a] };
                    }
                }
            }
            for a in 0..3 {
                y[a] = sums[0][a] + sums[1][a] + sums[2][a];
            }
        }
    }
}

impl Blocks {
    /// The diagonal.
    pub fn diagonal(&self) -> Vec<f64> {
        let diagonal = |row: u32| {
            let value = self.value[self.find(row, row)];
            [0, 4, 8].map(|i| value[i])
        };
        (0..self.n_rows() as u32).flat_map(diagonal).collect()
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
            for &row in &finer[first[node] as usize..first[node + 1] as usize] {
                let row = row as usize;
                for at in self.first[row] as usize..self.first[row + 1] as usize {
                    let of = &support[self.column[at] as usize];
                    let block = self.value[at].map(|v| v * support[row].2 * of.2);
                    for column in nodes(of) {
                        let to = &mut value[columns.partition_point(|&c| c < column)];
                        for i in 0..9 {
                            to[i] += block[i];
                        }
                    }
                }
            }
        });
        out
    }
}
