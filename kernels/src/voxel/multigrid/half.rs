//! Assembled coarse operators in 11 B a block: one triangle, 16 bits a number.

use std::ops::Range;

use pogo_formats::system::parallel;
use pogo_formats::system::parallel::iterate::*;

use super::blocks::{Blocks, Lower, transposed};
use super::round::{exponent, rounded};
use crate::simd::{InstructionSet, Kernel, Level, Real, same_numbers, same_numbers_mut};
use crate::voxel::share::{clear_nodes, sorted};
use crate::voxel::vectors::zero;
use pogo_formats::system::parallel::Shared;

/// Sums below this share of the diagonal are what rounding leaves of numbers that cancel.
const NOTHING: f64 = 1e-10;
/// Bits of a column's number; above them stands the power of two that the block is divided by.
const SHIFT: u32 = 27;
const COLUMN: u32 = (1 << SHIFT) - 1;
/// Blocks that are rounded at a time.
const PIECE: usize = 1 << 16;

/// A symmetric matrix of 3 × 3 blocks, those of the upper triangle, row by row, a row's own block first.
///
/// Other nodes' blocks act on differences of displacement, and the block of a row's own node is the sum of the row, which is nil
/// where nothing is held: y_i = (Σ_j A_ij) x_i + Σ_j A_ij (x_j − x_i). Rounding then costs no force where the sample moves as a
/// whole; else that could be more than what the slowest motions of a long sample cost. One block serves both nodes:
/// y_j has A_ijᵀ (x_i − x_j).
#[derive(Debug)]
pub(crate) struct Half {
    first: Vec<u32>,
    /// With a power of two.
    column: Vec<u32>,
    /// Largest power, as it stands in an f32.
    unit: u32,
    /// Nine numbers a block, column-major; seven more at the end: sixteen are read at a time.
    value: Vec<i16>,
    /// Chunks of rows; those of one colour write nothing in common.
    colours: Vec<Vec<u32>>,
    /// Rows that are computed, and others that the same chunks write to.
    own: Range<usize>,
    stray: Vec<u32>,
}

impl Half {
    /// Largest number of rows.
    pub const ROWS: usize = 1 << SHIFT;
    /// Rows of a chunk.
    const CHUNK: usize = 256;

    /// Rounds. What is rounded goes at once, so that both never take their whole place.
    pub fn new(mut blocks: Blocks, lower: &Lower) -> Self {
        let colours = colours(&blocks);
        sum_rows(&mut blocks, lower);
        let Blocks { first, mut column, value: mut blocks } = blocks;
        let most = blocks.par_iter().flat_map_iter(|block| block).map(|v| v.abs()).reduce(|| 0.0, f64::max);
        let top = exponent(most);
        let mut value = vec![0_i16; 9 * column.len() + 7];
        while !blocks.is_empty() {
            let from = (blocks.len() - 1) / PIECE * PIECE;
            let to = column[from..].par_iter_mut().zip(value[9 * from..].par_chunks_exact_mut(9));
            to.zip(&blocks[from..]).for_each(|((column, to), block)| {
                let (power, whole) = rounded(&transposed(block), top);
                *column |= power << SHIFT;
                to.copy_from_slice(&whole);
            });
            blocks.truncate(from);
            blocks.shrink_to_fit();
        }
        let own = 0..first.len() - 1;
        Self { first, column, unit: (127 + top) as u32, value, colours, own, stray: Vec::new() }
    }

    /// Computes the rows `own` alone from now on. Returns the nodes that these rows read, ascending.
    pub fn keep(&mut self, own: &Range<usize>) -> Vec<u32> {
        let (n_rows, is_own) = (self.first.len() - 1, |row: usize| own.contains(&row));
        let rows = |chunk: u32| {
            let first = Self::CHUNK * chunk as usize;
            first..(first + Self::CHUNK).min(n_rows)
        };
        let entries = |row: usize| (self.first[row] as usize..self.first[row + 1] as usize).map(|at| self.column(at).0);
        let writes = |row: usize| is_own(row) || entries(row).any(is_own);
        let keep = |&chunk: &u32| rows(chunk).any(writes);
        let kept = |colour: &Vec<u32>| colour.par_iter().copied().filter(keep).collect();
        let colours: Vec<Vec<u32>> = self.colours.iter().map(kept).collect();
        let computed = || colours.par_iter().flat_map_iter(|chunks| chunks).flat_map_iter(|&chunk| rows(chunk));
        let stray = computed().flat_map_iter(|row| entries(row).chain([row])).filter(|&row| !is_own(row));
        let stray = sorted(stray.map(|row| row as u32).collect());
        let needed = computed().filter(|&row| writes(row)).flat_map_iter(|row| {
            // A row of this rank reads all its columns. A row of another rank stands for its entries in columns of this one.
            let columns = is_own(row);
            entries(row).filter(move |_| columns).chain([row])
        });
        let needed = sorted(needed.map(|row| row as u32).collect());
        (self.colours, self.own, self.stray) = (colours, own.clone(), stray);
        needed
    }

    /// The own rows of y = A x.
    pub fn apply<T: Real>(&self, x: &[T], y: &mut [T]) {
        zero(&mut y[3 * self.own.start..3 * self.own.end]);
        clear_nodes(&self.stray, y);
        let n = y.len();
        assert!(x.len() == n && n == 3 * (self.first.len() - 1));
        let shared = Shared::new(y);
        let rows = |chunk: usize| {
            // SAFETY: chunks that run at the same time write nothing in common.
            let y = unsafe { shared.part(0..n) };
            let rows = Self::CHUNK * chunk..(Self::CHUNK * (chunk + 1)).min(n / 3);
            Level::detect().run(HalfRows { matrix: self, rows, x, y });
        };
        for colour in &self.colours {
            if n > 12 * Self::CHUNK {
                colour.par_iter().for_each(|&chunk| rows(chunk as usize));
            } else {
                colour.iter().for_each(|&chunk| rows(chunk as usize));
            }
        }
    }

    /// Node and scale of a block.
    #[inline(always)]
    fn column(&self, at: usize) -> (usize, f32) {
        let column = self.column[at];
        ((column & COLUMN) as usize, f32::from_bits((self.unit - (column >> SHIFT)) << 23))
    }

    #[inline(always)]
    fn rows<T: Real>(&self, rows: std::ops::Range<usize>, x: &[T], y: &mut [T]) {
        let three = |from: &[T], node: usize| [from[3 * node], from[3 * node + 1], from[3 * node + 2]];
        for row in rows {
            let own = three(x, row);
            let mut sums = [T::default(); 3];
            let begin = self.first[row] as usize;
            for at in begin..self.first[row + 1] as usize {
                let (node, scale) = self.column(at);
                let (scale, there) = (T::from_f64(scale.into()), three(x, node));
                let d: [T; 3] = std::array::from_fn(|a| scale * if at == begin { own[a] } else { there[a] - own[a] });
                let block: [T; 9] = std::array::from_fn(|i| T::from_i16(self.value[9 * at + i]));
                (0..3).for_each(|a| sums[a] += block[a] * d[0] + block[3 + a] * d[1] + block[6 + a] * d[2]);
                if at > begin {
                    let y = &mut y[3 * node..3 * node + 3];
                    for (y, column) in y.iter_mut().zip(block.chunks_exact(3)) {
                        *y = *y - (column[0] * d[0] + column[1] * d[1] + column[2] * d[2]);
                    }
                }
            }
            (0..3).for_each(|a| y[3 * row + a] += sums[a]);
        }
    }

    /// As [`rows`](Self::rows), a block at a time.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512vl,avx2,fma")]
    fn rows_avx512(&self, rows: std::ops::Range<usize>, x: &[f32], y: &mut [f32]) {
        use std::arch::x86_64::*;
        // Of three numbers and nothing: one for each column of a block, and one for each row; what is read of the next block
        // meets nothing.
        let of_column = _mm512_setr_epi32(0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3);
        let of_row = _mm512_setr_epi32(0, 1, 2, 0, 1, 2, 0, 1, 2, 3, 3, 3, 3, 3, 3, 3);
        // A column's numbers, one each.
        let [first, second, third] = [0, 1, 2].map(|i| {
            let all = [i, 3 + i, 6 + i, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9];
            // SAFETY: sixteen numbers.
            unsafe { _mm512_loadu_si512(all.as_ptr().cast()) }
        });
        let load = |from: &[f32], node: usize| {
            let from = &from[3 * node..3 * node + 3];
            // SAFETY: three numbers.
            unsafe { _mm_maskz_loadu_ps(7, from.as_ptr()) }
        };
        for row in rows {
            let range = self.first[row] as usize..self.first[row + 1] as usize;
            let values = &self.value[9 * range.start..9 * range.end + 7];
            let (own, mut sums, begin) = (load(x, row), _mm512_setzero_ps(), range.start);
            for (at, block) in range.zip(values.windows(16).step_by(9)) {
                let (node, scale) = self.column(at);
                let there = load(x, node);
                let difference = if at == begin { own } else { _mm_sub_ps(there, own) };
                let difference = _mm512_castps128_ps512(_mm_mul_ps(_mm_set1_ps(scale), difference));
                // SAFETY: sixteen numbers.
                let block = unsafe { _mm256_loadu_si256(block.as_ptr().cast()) };
                let block = _mm512_cvtepi32_ps(_mm512_cvtepi16_epi32(block));
                sums = _mm512_fmadd_ps(block, _mm512_permutexvar_ps(of_column, difference), sums);
                if at == begin {
                    continue;
                }
                let back = _mm512_mul_ps(block, _mm512_permutexvar_ps(of_row, difference));
                let [a, b, c] =
                    [first, second, third].map(|of| _mm512_castps512_ps128(_mm512_permutexvar_ps(of, back)));
                let y = &mut y[3 * node..3 * node + 3];
                // Two and one: what is stored so is loaded again without waiting, and rows that follow share columns.
                // SAFETY: three numbers.
                unsafe {
                    let low = _mm_castsi128_ps(_mm_loadu_si64(y.as_ptr().cast()));
                    let before = _mm_movelh_ps(low, _mm_load_ss(&y[2]));
                    let after = _mm_sub_ps(before, _mm_add_ps(_mm_add_ps(a, b), c));
                    _mm_storeu_si64(y.as_mut_ptr().cast(), _mm_castps_si128(after));
                    _mm_store_ss(&mut y[2], _mm_movehl_ps(after, after));
                }
            }
            let mut sum = [0.0; 16];
            // SAFETY: sixteen numbers.
            unsafe { _mm512_storeu_ps(sum.as_mut_ptr(), sums) };
            (0..3).for_each(|a| y[3 * row + a] += sum[a] + sum[3 + a] + sum[6 + a]);
        }
    }
}

/// [`Half::rows`].
struct HalfRows<'a, T> {
    matrix: &'a Half,
    rows: std::ops::Range<usize>,
    x: &'a [T],
    y: &'a mut [T],
}

impl<T: Real> Kernel for HalfRows<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<I: InstructionSet>(self) {
        let Self { matrix, rows, x, y } = self;
        #[cfg(target_arch = "x86_64")]
        if I::AVX512
            && let (Some(x), Some(y)) = (same_numbers(x), same_numbers_mut(y))
        {
            // SAFETY: the kernel runs at the level of these instructions.
            return unsafe { matrix.rows_avx512(rows, x, y) };
        }
        matrix.rows(rows, x, y);
    }
}

/// Chunks of rows by colour.
fn colours(blocks: &Blocks) -> Vec<Vec<u32>> {
    let n = blocks.n_rows();
    // Colours of the chunks that write each row, a bit each.
    let mut taken = vec![0_u64; n];
    let mut colours: Vec<Vec<u32>> = Vec::new();
    let mut alone = Vec::new();
    for chunk in 0..n.div_ceil(Half::CHUNK) {
        let rows = Half::CHUNK * chunk..(Half::CHUNK * (chunk + 1)).min(n);
        let written = &blocks.column[blocks.first[rows.start] as usize..blocks.first[rows.end] as usize];
        let others = written.iter().fold(0, |others, &row| others | taken[row as usize]);
        let colour = others.trailing_ones() as usize;
        if colour == 64 {
            alone.push(vec![chunk as u32]);
            continue;
        }
        written.iter().for_each(|&row| taken[row as usize] |= 1 << colour);
        if colour == colours.len() {
            colours.push(Vec::new());
        }
        colours[colour].push(chunk as u32);
    }
    colours.append(&mut alone);
    colours
}

/// Puts the sum of each row in the place of its own node's block.
fn sum_rows(blocks: &mut Blocks, lower: &Lower) {
    let sum = |row: usize| {
        let mut sum = [0.0_f64; 9];
        let mut add = |block: &[f64; 9]| sum.iter_mut().zip(block).for_each(|(sum, v)| *sum += v);
        lower.of(row).iter().for_each(|&[_, at]| add(&transposed(&blocks.value[at as usize])));
        let own = &blocks.value[blocks.first[row] as usize..blocks.first[row + 1] as usize];
        own.iter().for_each(&mut add);
        let most = own[0].iter().fold(0.0_f64, |most, v| most.max(v.abs()));
        sum.map(|sum| if sum.abs() > NOTHING * most { sum } else { 0.0 })
    };
    let sums: Vec<[f64; 9]> = parallel::map(blocks.n_rows(), &sum);
    blocks.first.iter().zip(sums).for_each(|(&first, sum)| blocks.value[first as usize] = sum);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::voxel::tests::random;

    #[test]
    fn rounding_keeps_the_product() {
        // Each row with some of the next thousand, so that chunks write into one another; the first of all is held.
        let n = 3000_u32;
        let mut blocks = Blocks { first: vec![0], ..Blocks::default() };
        let mut sums = vec![[0.0; 9]; n as usize];
        for i in 0..n {
            let own = blocks.column.len();
            blocks.column.push(i);
            blocks.value.push([0.0; 9]);
            for j in (i + 1..n).filter(|&j| random(u64::from(7 * i + 13 * j)) < 30.0 / f64::from(j - i).powi(2)) {
                let size = 10.0_f64.powf(-3.0 * random(u64::from(i + j)));
                let block: [f64; 9] = std::array::from_fn(|k| size * (random(u64::from(i * n + j) + k as u64) - 0.5));
                blocks.column.push(j);
                blocks.value.push(block);
                for k in 0..9 {
                    sums[i as usize][k] -= block[k];
                    sums[j as usize][k] -= block[3 * (k % 3) + k / 3];
                }
            }
            blocks.value[own] = sums[i as usize].map(|v| if i == 0 { v + 1.0 } else { v });
            blocks.first.push(blocks.column.len() as u32);
        }
        let x: Vec<f64> = (0..3 * n).map(|i| 100.0 + random(i.into())).collect();
        let expected = blocks.product(&x);
        let lower = blocks.lower();
        let half = Half::new(blocks, &lower);
        assert!(half.colours.len() > 1);
        assert_eq!(half.colours.iter().map(Vec::len).sum::<usize>(), (n as usize).div_ceil(Half::CHUNK));
        let mut y = vec![f64::NAN; x.len()];
        half.apply(&x, &mut y);
        let mut y32 = vec![f32::NAN; x.len()];
        half.apply(&x.iter().map(|&x| x as f32).collect::<Vec<f32>>(), &mut y32);
        let size = expected.iter().skip(3).fold(0.0_f64, |size, v| size.max(v.abs()));
        for i in 3..y.len() {
            assert!((y[i] - expected[i]).abs() < 2e-4 * size, "{i}: {} {}", y[i], expected[i]);
            assert!((f64::from(y32[i]) - y[i]).abs() < 2e-4 * size, "{i}: {} {}", y32[i], y[i]);
        }
        // A motion of the whole costs nothing where nothing is held.
        half.apply(&vec![100.0_f32; x.len()], &mut y32);
        assert!(y32[..3].iter().any(|&y| y != 0.0) && y32[3..].iter().all(|&y| y == 0.0));
    }
}
