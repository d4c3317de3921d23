//! Small dense matrices.

/// Solves A x = b by elimination with pivoting; none where A is singular to rounding.
pub(super) fn solve<const N: usize>(mut a: [[f64; N]; N], mut b: [f64; N]) -> Option<[f64; N]> {
    let largest = a.iter().flatten().fold(0.0_f64, |largest, x| largest.max(x.abs()));
    for column in 0..N {
        let pivot = (column..N).max_by(|&i, &j| a[i][column].abs().total_cmp(&a[j][column].abs()))?;
        let size = a[pivot][column].abs();
        if size.is_nan() || size <= 1e-12 * largest {
            return None;
        }
        a.swap(column, pivot);
        b.swap(column, pivot);
        for row in column + 1..N {
            let factor = a[row][column] / a[column][column];
            let pivot_row = a[column];
            a[row].iter_mut().zip(pivot_row).skip(column).for_each(|(x, pivot)| *x -= factor * pivot);
            b[row] -= factor * b[column];
        }
    }
    for row in (0..N).rev() {
        let known: f64 = (row + 1..N).map(|k| a[row][k] * b[k]).sum();
        b[row] = (b[row] - known) / a[row][row];
    }
    Some(b)
}

/// A⁻¹; none where A is singular to rounding.
pub(super) fn inverse<const N: usize>(a: [[f64; N]; N]) -> Option<[[f64; N]; N]> {
    let mut columns = [[0.0; N]; N];
    for (column, out) in columns.iter_mut().enumerate() {
        *out = solve(a, std::array::from_fn(|row| f64::from(row == column)))?;
    }
    Some(transposed(&columns))
}

/// The product A B.
pub(super) fn product<const N: usize>(a: &[[f64; N]; N], b: &[[f64; N]; N]) -> [[f64; N]; N] {
    std::array::from_fn(|i| std::array::from_fn(|j| (0..N).map(|k| a[i][k] * b[k][j]).sum()))
}

/// The transpose Aᵀ.
pub(super) fn transposed<const N: usize>(a: &[[f64; N]; N]) -> [[f64; N]; N] {
    std::array::from_fn(|i| std::array::from_fn(|j| a[j][i]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inverse_undoes_its_matrix() {
        let a = [[0.0, 2.0, 1.0], [1.0, -1.0, 3.0], [4.0, 0.0, 0.5]];
        let one = product(&a, &inverse(a).unwrap());
        for (i, row) in one.iter().enumerate() {
            for (j, x) in row.iter().enumerate() {
                assert!((x - f64::from(i == j)).abs() < 1e-14);
            }
        }
        assert_eq!(inverse([[1.0, 2.0], [2.0, 4.0]]), None);
    }
}
