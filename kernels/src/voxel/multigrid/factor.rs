//! Cholesky's factor of the last level: sparse, of 3 × 3 blocks.
//!
//! Nodes are eliminated in the order of least degree (Tinney and Walker 1967), which leaves a network of struts nearly as
//! sparse as it was.

use std::collections::BTreeSet;

use super::blocks::{Blocks, transposed};
use super::galerkin::Coupling;
use crate::simd::Real;

/// An order of elimination and what the factor has then.
#[derive(Debug, Default)]
pub(crate) struct Order {
    /// Nodes, first to last.
    nodes: Vec<u32>,
    /// First entry of each column in `rows`, (n + 1,).
    first: Vec<u32>,
    /// Places in the order of the rows below the diagonal of each column, ascending.
    rows: Vec<u32>,
}

impl Order {
    /// Of this matrix, unless the factor has more blocks than `most`.
    pub fn new(blocks: &Blocks, most: usize) -> Option<Self> {
        let n = blocks.n_rows();
        if blocks.column.len() > most {
            return None;
        }
        let mut beside: Vec<Vec<u32>> = vec![Vec::new(); n];
        for row in 0..n {
            for &column in blocks.columns(row) {
                if column as usize != row {
                    beside[row].push(column);
                    beside[column as usize].push(row as u32);
                }
            }
        }
        beside.iter_mut().for_each(|beside| beside.sort_unstable());
        // By degree, then by number.
        let mut left: BTreeSet<(usize, u32)> = beside.iter().map(Vec::len).zip(0..).collect();
        let mut place = vec![0_u32; n];
        let (mut nodes, mut columns, mut count) = (Vec::with_capacity(n), Vec::with_capacity(n), n);
        let mut merged = Vec::new();
        while let Some((_, node)) = left.pop_first() {
            let column = std::mem::take(&mut beside[node as usize]);
            count += column.len();
            if count > most {
                return None;
            }
            // What was beside the node is now beside one another.
            for &other in &column {
                merged.clear();
                let (mut mine, mut its) = (column.iter().peekable(), beside[other as usize].iter().peekable());
                while let Some(&next) = match (mine.peek().copied(), its.peek().copied()) {
                    (Some(a), Some(b)) if a == b => {
                        mine.next();
                        its.next()
                    }
                    (Some(a), Some(b)) if a < b => mine.next(),
                    (Some(_), None) => mine.next(),
                    _ => its.next(),
                } {
                    if next != node && next != other {
                        merged.push(next);
                    }
                }
                let old = &mut beside[other as usize];
                left.remove(&(old.len(), other));
                old.clone_from(&merged);
                left.insert((old.len(), other));
            }
            place[node as usize] = nodes.len() as u32;
            nodes.push(node);
            columns.push(column);
        }
        let mut out = Self { nodes, first: vec![0], rows: Vec::with_capacity(count - n) };
        for column in columns {
            let from = out.rows.len();
            out.rows.extend(column.iter().map(|&node| place[node as usize]));
            out.rows[from..].sort_unstable();
            out.first.push(out.rows.len() as u32);
        }
        Some(out)
    }

    /// Blocks that a solution reads: each twice, those of the diagonal once.
    pub fn n_blocks(&self) -> usize {
        2 * self.rows.len() + self.nodes.len()
    }
}

/// L of A = L Lᵀ; rows without stiffness are left out.
///
/// In f64: the slowest motions of a sample of thin struts are softer than what rounding to f32 leaves (there a level of 3,666
/// unknowns that was solved so took 32 iterations instead of 25).
#[derive(Debug, Default)]
pub(crate) struct Factor {
    order: Order,
    /// Below the diagonal, column by column, each block row by row.
    below: Vec<[f64; 9]>,
    /// Lower triangles of the blocks of the diagonal, row by row: 0, 2 and 5 are 0 where a row is left out.
    diagonal: Vec<[f64; 6]>,
}

/// a / pivot, 0 for a row that is left out.
fn over(a: f64, pivot: f64) -> f64 {
    if pivot > 0.0 { a / pivot } else { 0.0 }
}

/// Lower triangle of L of a block of the diagonal.
fn triangle(a: &[f64; 9], least: f64) -> [f64; 6] {
    let root = |pivot: f64| if pivot > least { pivot.sqrt() } else { 0.0 };
    let l00 = root(a[0]);
    let l10 = over(a[3], l00);
    let l11 = root(a[4] - l10 * l10);
    let l10 = if l11 > 0.0 { l10 } else { 0.0 };
    let l20 = over(a[6], l00);
    let l21 = over(a[7] - l20 * l10, l11);
    let l22 = root(a[8] - l20 * l20 - l21 * l21);
    if l22 > 0.0 { [l00, l10, l11, l20, l21, l22] } else { [l00, l10, l11, 0.0, 0.0, 0.0] }
}

/// B L⁻ᵀ for the block of the diagonal.
fn divide(b: &[f64; 9], l: &[f64; 6]) -> [f64; 9] {
    let mut out = [0.0; 9];
    for i in 0..3 {
        let x = over(b[3 * i], l[0]);
        let y = over(b[3 * i + 1] - x * l[1], l[2]);
        let z = over(b[3 * i + 2] - x * l[3] - y * l[4], l[5]);
        out[3 * i..3 * i + 3].copy_from_slice(&[x, y, z]);
    }
    out
}

/// a −= b cᵀ.
fn subtract(a: &mut [f64; 9], b: &[f64; 9], c: &[f64; 9]) {
    for i in 0..3 {
        for j in 0..3 {
            a[3 * i + j] -= (0..3).map(|k| b[3 * i + k] * c[3 * j + k]).sum::<f64>();
        }
    }
}

impl Factor {
    /// Factorises a matrix of blocks whose nodes are eliminated in `order`.
    ///
    /// A pivot counts as 0 below a share of the greatest entry of the diagonal. With phases, each of which has small or large
    /// entries, it does below a share of its own entry.
    pub fn new(blocks: &Blocks, order: Order, coupling: Coupling) -> Self {
        let n = order.nodes.len();
        let mut place = vec![0_u32; n];
        order.nodes.iter().zip(0..).for_each(|(&node, at)| place[node as usize] = at);
        let column = |at: usize| order.first[at] as usize..order.first[at + 1] as usize;
        let (mut below, mut diagonal) = (vec![[0.0_f64; 9]; order.rows.len()], vec![[0.0_f64; 9]; n]);
        for node in 0..n {
            let row = place[node] as usize;
            for at in blocks.first[node] as usize..blocks.first[node + 1] as usize {
                let (other, value) = (place[blocks.column[at] as usize] as usize, blocks.value[at]);
                let (low, high) = (row.min(other), row.max(other));
                if low == high {
                    diagonal[row] = value;
                    continue;
                }
                let range = column(low);
                let to = range.start + order.rows[range].partition_point(|&row| (row as usize) < high);
                below[to] = if row == high { value } else { transposed(&value) };
            }
        }
        let most = diagonal.iter().flat_map(|a| [a[0], a[4], a[8]]).fold(0.0, f64::max);
        let least: Vec<f64> = match coupling {
            Coupling::Element => vec![1e-9 * most; n],
            Coupling::Phases => diagonal.iter().map(|a| 1e-12 * a[0].max(a[4]).max(a[8])).collect(),
        };
        let mut triangles = Vec::with_capacity(n);
        for k in 0..n {
            let l = triangle(&diagonal[k], least[k]);
            triangles.push(l);
            let range = column(k);
            below[range.clone()].iter_mut().for_each(|b| *b = divide(b, &l));
            for at in range.clone() {
                let (row, block) = (order.rows[at] as usize, below[at]);
                subtract(&mut diagonal[row], &block, &block);
                // Rows below are among those of that row's column.
                let mut to = order.first[row] as usize;
                for further in at + 1..range.end {
                    while order.rows[to] < order.rows[further] {
                        to += 1;
                    }
                    let other = below[further];
                    subtract(&mut below[to], &other, &block);
                }
            }
        }
        Self { order, below, diagonal: triangles }
    }

    /// x = A⁻¹ b.
    pub fn solve<T: Real>(&self, b: &[T], x: &mut [T]) {
        let order = &self.order;
        let mut y: Vec<[f64; 3]> =
            order.nodes.iter().map(|&i| [0, 1, 2].map(|a| b[3 * i as usize + a].to_f64())).collect();
        let column = |k: usize| {
            let range = order.first[k] as usize..order.first[k + 1] as usize;
            order.rows[range.clone()].iter().zip(&self.below[range])
        };
        for (k, l) in self.diagonal.iter().enumerate() {
            let [u, v, w] = y[k];
            let u = over(u, l[0]);
            let v = over(v - l[1] * u, l[2]);
            let w = over(w - l[3] * u - l[4] * v, l[5]);
            y[k] = [u, v, w];
            for (&row, block) in column(k) {
                let to = &mut y[row as usize];
                (0..3).for_each(|i| to[i] -= block[3 * i] * u + block[3 * i + 1] * v + block[3 * i + 2] * w);
            }
        }
        for (k, l) in self.diagonal.iter().enumerate().rev() {
            let [mut u, mut v, mut w] = y[k];
            for (&row, block) in column(k) {
                let from = y[row as usize];
                u -= block[0] * from[0] + block[3] * from[1] + block[6] * from[2];
                v -= block[1] * from[0] + block[4] * from[1] + block[7] * from[2];
                w -= block[2] * from[0] + block[5] * from[1] + block[8] * from[2];
            }
            w = over(w, l[5]);
            v = over(v - l[4] * w, l[2]);
            u = over(u - l[1] * v - l[3] * w, l[0]);
            y[k] = [u, v, w];
        }
        for (&node, y) in order.nodes.iter().zip(&y) {
            x[3 * node as usize..3 * node as usize + 3].copy_from_slice(&y.map(T::from_f64));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::voxel::tests::random;

    /// A matrix with few blocks, its diagonal the larger; node 3 has no stiffness.
    fn matrix(n: u32) -> Blocks {
        let mut out = Blocks { first: vec![0], ..Blocks::default() };
        for i in 0..n {
            for j in i..n {
                let there = j == i || (i != 3 && j != 3 && random(u64::from(100 * i + j)) < 0.1);
                if !there {
                    continue;
                }
                let mut block: [f64; 9] =
                    std::array::from_fn(|k| random(u64::from(1000 * i + 10 * j) + k as u64) - 0.5);
                if i == j {
                    let full = block;
                    block = std::array::from_fn(|k| full[k] + full[3 * (k % 3) + k / 3]);
                    (0..3).for_each(|k| block[4 * k] += f64::from(n));
                    if i == 3 {
                        block = [0.0; 9];
                    }
                }
                out.column.push(j);
                out.value.push(block);
            }
            out.first.push(out.column.len() as u32);
        }
        out
    }

    #[test]
    fn a_solution_is_one() {
        let n = 40;
        let blocks = matrix(n as u32);
        let order = Order::new(&blocks, usize::MAX).expect("no limit");
        let (full, n_blocks) = (n * n, order.n_blocks());
        assert!(n_blocks < full, "{n_blocks} of {full}");
        assert!(Order::new(&blocks, (n_blocks + n) / 2).is_some());
        assert!(Order::new(&blocks, (n_blocks + n) / 2 - 1).is_none());
        let factor = Factor::new(&blocks, order, Coupling::Element);
        let b: Vec<f64> = (0..3 * n).map(|i| if i / 3 == 3 { 0.0 } else { random(i as u64) - 0.5 }).collect();
        let mut x = vec![f64::NAN; 3 * n];
        factor.solve(&b, &mut x);
        let y = blocks.product(&x);
        for (y, b) in y.iter().zip(&b) {
            assert!((y - b).abs() < 1e-12, "{y} {b}");
        }
    }
}
