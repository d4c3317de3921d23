//! Sparse LDLᵀ of a symmetric quasi-definite matrix, in an approximate-minimum-degree order.
//!
//! A quasi-definite matrix [S −B; −Bᵀ −D] with S and D positive definite has an LDLᵀ in every order (Vanderbei, SIAM J. Optim.
//! 5, 1995). The elimination goes row by row along the elimination tree (Davis, ACM Trans. Math. Softw. 31, 2005).

use amd::Control;

use crate::union::Union;

/// A pivot below this part of what it is the difference of is rounding: its row follows from rows before it.
const RANK: f64 = 1e-11;

/// A symmetric matrix by its entries (row, column, value) with row ≤ column; values of equal places are summed.
pub(super) struct Symmetric {
    pub n: usize,
    pub entries: Vec<(u32, u32, f64)>,
    /// Whether the pivot of each row is to be positive; else negative.
    pub is_positive: Vec<bool>,
}

/// P F Pᵀ = L D Lᵀ. Rows that follow from others are left out: their unknowns are 0.
#[derive(Debug, Clone, Default)]
pub(super) struct Factor {
    /// Row of F of each row of L.
    order: Vec<u32>,
    /// First entry of each column of L, (n + 1,).
    column_first: Vec<u32>,
    rows: Vec<u32>,
    values: Vec<f64>,
    /// 1/D; 0 of rows that are left out.
    inverse_pivot: Vec<f64>,
}

/// Columns of the upper triangle of P F Pᵀ.
struct Columns {
    first: Vec<usize>,
    rows: Vec<u32>,
    values: Vec<f64>,
}

impl Factor {
    /// The factor, and the rows of F that are left out, ascending.
    pub fn new(matrix: &Symmetric) -> (Self, Vec<u32>) {
        let order = minimum_degree(matrix);
        let columns = permuted(matrix, &order);
        let (parent, counts) = elimination_tree(&columns);
        let mut column_first = vec![0];
        counts.iter().for_each(|count| column_first.push(column_first[column_first.len() - 1] + count));
        let n_entries = column_first[matrix.n] as usize;
        let mut factor = Self {
            order,
            column_first,
            rows: vec![0; n_entries],
            values: vec![0.0; n_entries],
            inverse_pivot: vec![0.0; matrix.n],
        };
        let mut left_out = factor.eliminate(&columns, &parent, &matrix.is_positive);
        left_out.sort_unstable();
        (factor, left_out)
    }

    /// Entries of L below its diagonal.
    pub fn n_entries(&self) -> usize {
        self.values.len()
    }

    /// Makes the rows of L one by one. Returns the rows of F that are left out.
    fn eliminate(&mut self, columns: &Columns, parent: &[u32], is_positive: &[bool]) -> Vec<u32> {
        let n = self.order.len();
        let (mut row, mut seen) = (vec![0.0_f64; n], vec![u32::MAX; n]);
        let mut filled = vec![0; n];
        let mut left_out = Vec::new();
        let (mut pattern, mut path): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
        for k in 0..n {
            pattern.clear();
            seen[k] = k as u32;
            let mut pivot = 0.0_f64;
            for at in columns.first[k]..columns.first[k + 1] {
                let (mut i, value) = (columns.rows[at] as usize, columns.values[at]);
                if i == k {
                    pivot += value;
                    continue;
                }
                row[i] += value;
                path.clear();
                while seen[i] != k as u32 {
                    seen[i] = k as u32;
                    path.push(i);
                    i = parent[i] as usize;
                }
                // From the root to the leaf, as what comes last here is eliminated first.
                pattern.extend(path.iter().rev());
            }
            let mut size = pivot.abs();
            for &i in pattern.iter().rev() {
                let y = std::mem::take(&mut row[i]);
                let first = self.column_first[i] as usize;
                for at in first..first + filled[i] {
                    row[self.rows[at] as usize] -= self.values[at] * y;
                }
                let l = y * self.inverse_pivot[i];
                pivot -= l * y;
                size += (l * y).abs();
                (self.rows[first + filled[i]], self.values[first + filled[i]]) = (k as u32, l);
                filled[i] += 1;
            }
            let sign = if is_positive[self.order[k] as usize] { 1.0 } else { -1.0 };
            match sign * pivot > RANK * size {
                true => self.inverse_pivot[k] = 1.0 / pivot,
                false => left_out.push(self.order[k]),
            }
        }
        left_out
    }

    /// Number of rows.
    pub fn n(&self) -> usize {
        self.order.len()
    }

    /// Joins the rows of F that hang together.
    pub fn join(&self, union: &Union) {
        for (column, ends) in self.column_first.windows(2).enumerate() {
            for &row in &self.rows[ends[0] as usize..ends[1] as usize] {
                union.join(self.order[column], self.order[row as usize]);
            }
        }
    }

    /// Replaces a right-hand side by the solution. `work` is as long.
    pub fn solve(&self, x: &mut [f64], work: &mut [f64]) {
        for (to, &from) in work.iter_mut().zip(&self.order) {
            *to = x[from as usize];
        }
        for (column, ends) in self.column_first.windows(2).enumerate() {
            let (y, entries) = (work[column], ends[0] as usize..ends[1] as usize);
            for (&row, l) in self.rows[entries.clone()].iter().zip(&self.values[entries]) {
                work[row as usize] -= l * y;
            }
        }
        for (column, ends) in self.column_first.windows(2).enumerate().rev() {
            let entries = ends[0] as usize..ends[1] as usize;
            let below = self.rows[entries.clone()].iter().zip(&self.values[entries]);
            let sum: f64 = below.map(|(&row, l)| l * work[row as usize]).sum();
            work[column] = work[column] * self.inverse_pivot[column] - sum;
        }
        for (&from, &to) in work.iter().zip(&self.order) {
            x[to as usize] = from;
        }
    }
}

/// The row of F that is eliminated first, second, ….
fn minimum_degree(matrix: &Symmetric) -> Vec<u32> {
    let mut places: Vec<(u32, u32)> = matrix.entries.iter().map(|&(row, column, _)| (column, row)).collect();
    places.extend((0..matrix.n as u32).map(|row| (row, row)));
    places.sort_unstable();
    places.dedup();
    let mut first = vec![0_usize; matrix.n + 1];
    places.iter().for_each(|&(column, _)| first[column as usize + 1] += 1);
    (0..matrix.n).for_each(|column| first[column + 1] += first[column]);
    let rows: Vec<usize> = places.iter().map(|&(_, row)| row as usize).collect();
    match amd::order(matrix.n, &first, &rows, &Control::default()) {
        Ok((order, _, _)) => order.into_iter().map(|row| row as u32).collect(),
        // Any order gives the same result.
        Err(_) => (0..matrix.n as u32).collect(),
    }
}

/// The upper triangle in another order of rows and columns.
fn permuted(matrix: &Symmetric, order: &[u32]) -> Columns {
    let mut place = vec![0; matrix.n];
    (0u32..).zip(order).for_each(|(new, &old)| place[old as usize] = new);
    let mut entries: Vec<(u32, u32, f64)> = matrix
        .entries
        .iter()
        .map(|&(row, column, value)| {
            let (i, j) = (place[row as usize], place[column as usize]);
            (i.max(j), i.min(j), value)
        })
        .collect();
    // Stable: what is summed keeps its order.
    entries.sort_by_key(|&(column, row, _)| (column, row));
    let mut first = vec![0; matrix.n + 1];
    entries.iter().for_each(|&(column, _, _)| first[column as usize + 1] += 1);
    (0..matrix.n).for_each(|column| first[column + 1] += first[column]);
    Columns {
        first,
        rows: entries.iter().map(|entry| entry.1).collect(),
        values: entries.iter().map(|entry| entry.2).collect(),
    }
}

/// Parent of each column in the elimination tree, and the number of entries below the diagonal.
fn elimination_tree(columns: &Columns) -> (Vec<u32>, Vec<u32>) {
    let n = columns.first.len() - 1;
    let (mut parent, mut seen, mut counts) = (vec![u32::MAX; n], vec![u32::MAX; n], vec![0; n]);
    for k in 0..n {
        seen[k] = k as u32;
        for at in columns.first[k]..columns.first[k + 1] {
            let mut i = columns.rows[at] as usize;
            while seen[i] != k as u32 {
                if parent[i] == u32::MAX {
                    parent[i] = k as u32;
                }
                counts[i] += 1;
                seen[i] = k as u32;
                i = parent[i] as usize;
            }
        }
    }
    (parent, counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A quasi-definite matrix of a grid: n² rows, of which every third has a negative pivot.
    fn grid(n: usize) -> Symmetric {
        let (mut entries, size) = (Vec::new(), n * n);
        let is_positive: Vec<bool> = (0..size).map(|i| i % 3 != 0).collect();
        for i in 0..size {
            entries.push((i as u32, i as u32, if is_positive[i] { 5.0 + (i % 7) as f64 } else { -4.5 }));
            for j in [i + 1, i + n].into_iter().filter(|&j| j < size && (j == i + n || j % n != 0)) {
                entries.push((i as u32, j as u32, 0.3 + 0.1 * (j % 5) as f64));
                entries.push((i as u32, j as u32, 0.2));
            }
        }
        Symmetric { n: size, entries, is_positive }
    }

    fn product(matrix: &Symmetric, x: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; matrix.n];
        for &(i, j, value) in &matrix.entries {
            let (i, j) = (i as usize, j as usize);
            out[i] += value * x[j];
            if i != j {
                out[j] += value * x[i];
            }
        }
        out
    }

    #[test]
    fn solutions_satisfy_the_equations() {
        for n in [1, 2, 7, 20] {
            let matrix = grid(n);
            let (factor, left_out) = Factor::new(&matrix);
            assert!(left_out.is_empty());
            let expected: Vec<f64> = (0..matrix.n).map(|i| (1.7 * i as f64).sin()).collect();
            let mut x = product(&matrix, &expected);
            factor.solve(&mut x, &mut vec![0.0; matrix.n]);
            let error = x.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(error < 1e-13, "{n}: {error:e}");
        }
    }

    #[test]
    fn rows_that_follow_from_others_are_left_out() {
        // Gᵀ of rank 2: the third row is the sum of the others.
        let g = [[1.0, 2.0, 0.0], [0.5, -1.0, 3.0], [1.5, 1.0, 3.0]];
        let entry = |i: usize, j: usize| (i as u32, j as u32, (0..3).map(|k| g[i][k] * g[j][k]).sum());
        let entries = (0..3).flat_map(|j| (0..=j).map(move |i| entry(i, j))).collect();
        let (factor, left_out) = Factor::new(&Symmetric { n: 3, entries, is_positive: vec![true; 3] });
        assert_eq!(left_out.len(), 1);
        let mut x = vec![1.0, 1.0, 1.0];
        factor.solve(&mut x, &mut [0.0; 3]);
        assert_eq!(x[left_out[0] as usize], 0.0);
    }

    #[test]
    fn the_order_keeps_a_long_chain_sparse() {
        // A star: in the order of its numbers it would fill.
        let n = 500;
        let entries = (0..n).map(|i| (i, i, 2.0 * f64::from(n))).chain((1..n).map(|i| (0, i, 1.0))).collect();
        let (factor, _) = Factor::new(&Symmetric { n: n as usize, entries, is_positive: vec![true; n as usize] });
        assert_eq!(factor.values.len(), n as usize - 1);
    }
}
