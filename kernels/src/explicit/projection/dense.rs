//! A generalised inverse of a small dense matrix.

/// A pivot below this part of the largest one is rounding.
const RANK: f64 = 1e-10;

/// X with K X K = K, for a symmetric K, row by row.
#[derive(Debug, Clone, Default)]
pub(super) struct Inverse {
    pub n: usize,
    pub values: Vec<f64>,
    /// Rows of K that have no pivot: they follow from the others.
    pub left_out: Vec<usize>,
}

impl Inverse {
    /// Of `k`, (n, n), by Gauss–Jordan elimination with full pivoting. Rows and columns are scaled first, as they may be of
    /// different units. `sizes`, (n, n), are sums of the absolute values of what has been added up to each entry: against them
    /// rounding is told from pivots.
    pub fn new(mut k: Vec<f64>, sizes: &[f64], n: usize) -> Self {
        let largest = |row: &[f64]| row.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
        let scale: Vec<f64> = sizes
            .chunks_exact(n.max(1))
            .map(|row| match largest(row) {
                0.0 => 1.0,
                most => 1.0 / most.sqrt(),
            })
            .collect();
        let scaled = |at: usize, value: f64| value * scale[at / n] * scale[at % n];
        k.iter_mut().enumerate().for_each(|(at, value)| *value = scaled(at, *value));
        let smallest = RANK * sizes.iter().enumerate().fold(0.0, |most: f64, (at, &size)| most.max(scaled(at, size)));
        let mut inverse = vec![0.0; n * n];
        (0..n).for_each(|i| inverse[i * n + i] = 1.0);
        let (mut row_of, mut is_used) = (vec![None; n], vec![false; n]);
        for _ in 0..n {
            let free = (0..n * n).filter(|at| !is_used[at / n] && row_of[at % n].is_none());
            let Some(at) = free.max_by(|&a, &b| k[a].abs().total_cmp(&k[b].abs())) else { break };
            if k[at].abs() <= smallest {
                break;
            }
            let (row, column) = (at / n, at % n);
            (row_of[column], is_used[row]) = (Some(row), true);
            let pivot = k[at];
            let (k_row, inverse_row): (Vec<f64>, Vec<f64>) =
                (0..n).map(|j| (k[row * n + j] / pivot, inverse[row * n + j] / pivot)).unzip();
            for i in 0..n {
                let factor = if i == row { 0.0 } else { k[i * n + column] };
                for j in 0..n {
                    if i == row {
                        (k[i * n + j], inverse[i * n + j]) = (k_row[j], inverse_row[j]);
                    } else if factor != 0.0 {
                        k[i * n + j] -= factor * k_row[j];
                        inverse[i * n + j] -= factor * inverse_row[j];
                    }
                }
            }
        }
        let mut values = vec![0.0; n * n];
        for (column, row) in row_of.iter().enumerate().filter_map(|(column, row)| Some((column, (*row)?))) {
            for j in 0..n {
                values[column * n + j] = scale[column] * inverse[row * n + j] * scale[j];
            }
        }
        let left_out = (0..n).filter(|&row| !is_used[row]).collect();
        Self { n, values, left_out }
    }

    /// X b.
    pub fn times(&self, b: &[f64]) -> impl Iterator<Item = f64> {
        self.values.chunks_exact(self.n.max(1)).map(move |row| row.iter().zip(b).map(|(x, b)| x * b).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indefinite_matrices_are_inverted_and_rows_that_follow_from_others_left_out() {
        // [0 A; Aᵀ 0] with rows of sizes far apart.
        let k = vec![0.0, 0.0, 1e6, 2e6, 0.0, 0.0, 3.0, -1.0, 1e6, 3.0, 0.0, 0.0, 2e6, -1.0, 0.0, 0.0];
        let inverse = Inverse::new(k.clone(), &k.iter().map(|value: &f64| value.abs()).collect::<Vec<_>>(), 4);
        assert!(inverse.left_out.is_empty());
        for column in 0..4 {
            let of_k: Vec<f64> = (0..4).map(|i| k[i * 4 + column]).collect();
            for (i, value) in inverse.times(&of_k).enumerate() {
                assert!((value - f64::from(i == column)).abs() < 1e-9, "{value}");
            }
        }
        let singular = vec![2.0, 1.0, 3.0, 1.0, 2.0, 3.0, 3.0, 3.0, 6.0];
        let inverse = Inverse::new(singular.clone(), &singular, 3);
        assert_eq!(inverse.left_out.len(), 1);
        // All of it is rounding.
        assert_eq!(Inverse::new(vec![1e-17], &[2.0], 1).left_out, [0]);
        let b = [5.0, 4.0, 9.0];
        let x: Vec<f64> = inverse.times(&b).collect();
        for (row, b) in singular.chunks_exact(3).zip(b) {
            assert!((row.iter().zip(&x).map(|(k, x)| k * x).sum::<f64>() - b).abs() < 1e-12);
        }
    }
}
