//! Dense Cholesky factors.

use crate::simd::Real;

/// L of A = L Lᵀ in the lower triangle of a matrix, in place; rows without stiffness become 0.
pub(super) fn factorise(a: &mut [f64], n: usize) {
    let most = (0..n).fold(0.0_f64, |most, i| most.max(a[i * n + i]));
    for i in 0..n {
        let (before, rest) = a.split_at_mut(i * n);
        let row = &mut rest[..n];
        for j in 0..i {
            let other = &before[j * n..j * n + j + 1];
            let sum: f64 = row[..j].iter().zip(other).map(|(a, b)| a * b).sum();
            row[j] = if other[j] > 0.0 { (row[j] - sum) / other[j] } else { 0.0 };
        }
        let sum: f64 = row[..i].iter().map(|a| a * a).sum();
        let pivot = row[i] - sum;
        row[i] = if pivot > 1e-9 * most { pivot.sqrt() } else { 0.0 };
        if row[i] == 0.0 {
            row[..i].fill(0.0);
        }
    }
}

/// x = A⁻¹ b for A = L Lᵀ.
pub(super) fn substitute<T: Real>(l: &[T], b: &[T], x: &mut [T]) {
    let n = b.len();
    for i in 0..n {
        let row = &l[i * n..i * n + i + 1];
        let sum: f64 = row[..i].iter().zip(&*x).map(|(&a, &x)| (a * x).to_f64()).sum();
        x[i] = if row[i] > T::default() { T::from_f64((b[i].to_f64() - sum) / row[i].to_f64()) } else { T::default() };
    }
    for i in (0..n).rev() {
        let row = &l[i * n..i * n + i + 1];
        x[i] = if row[i] > T::default() { T::from_f64(x[i].to_f64() / row[i].to_f64()) } else { T::default() };
        let xi = x[i];
        x[..i].iter_mut().zip(row).for_each(|(x, &a)| *x = *x - a * xi);
    }
}
