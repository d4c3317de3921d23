//! Massless unknowns, and rows that have no pivot: a dense matrix for each set that hangs together.

use super::dense::Inverse;
use super::factor::{Factor, Symmetric};
use super::rows::ProjectionError;

/// Unknowns of a border, whose matrix is dense.
const LARGEST_BORDER: usize = 2000;

/// Massless unknowns and rows without a pivot that hang together.
#[derive(Debug, Clone)]
pub(in crate::explicit) struct Border {
    /// Rows among the unknowns of the sparse part, then massless unknowns.
    pub rows: Vec<u32>,
    pub massless: Vec<u32>,
    /// Unknowns of the sparse part.
    pub inner: Vec<u32>,
    /// F_PP⁻¹ F_PQ, (n_inner, n_border).
    pub responses: Vec<f64>,
    inverse: Inverse,
}

impl Border {
    /// The border of a set of unknowns: K = F_QQ − F_QP F_PP⁻¹ F_PQ.
    ///
    /// `terms` are those of massless unknowns: row, unknown and coefficient.
    ///
    /// # Errors
    /// Too many of them.
    pub(super) fn new(
        (factor, matrix): (&Factor, &Symmetric),
        terms: &[(u32, u32, f64)],
        [inner, rows, massless]: [Vec<u32>; 3],
    ) -> Result<Self, ProjectionError> {
        let n_border = rows.len() + massless.len();
        if n_border > LARGEST_BORDER {
            return Err(ProjectionError::TooLarge { n: n_border });
        }
        let place = |row: u32| rows.binary_search(&row).ok();
        let mut columns: Vec<Vec<(u32, f64)>> = vec![Vec::new(); n_border];
        for &(i, j, value) in &matrix.entries {
            place(j).into_iter().for_each(|at| columns[at].push((i, value)));
            place(i).filter(|_| i != j).into_iter().for_each(|at| columns[at].push((j, value)));
        }
        for &(row, index, coefficient) in terms {
            if let Ok(at) = massless.binary_search(&index) {
                columns[rows.len() + at].push((row, -coefficient));
            }
        }
        let (mut k, mut sizes) = (vec![0.0; n_border * n_border], vec![0.0; n_border * n_border]);
        let mut responses = vec![0.0; inner.len() * n_border];
        let (mut x, mut work) = (vec![0.0; matrix.n], vec![0.0; matrix.n]);
        for (at, column) in columns.iter().enumerate() {
            x.fill(0.0);
            column.iter().for_each(|&(row, value)| x[row as usize] += value);
            for (other, &row) in rows.iter().enumerate() {
                k[other * n_border + at] += x[row as usize];
                sizes[other * n_border + at] += x[row as usize].abs();
                if at >= rows.len() {
                    k[at * n_border + other] += x[row as usize];
                    sizes[at * n_border + other] += x[row as usize].abs();
                }
            }
            factor.solve(&mut x, &mut work);
            inner.iter().enumerate().for_each(|(p, &unknown)| responses[p * n_border + at] = x[unknown as usize]);
        }
        for (other, column) in columns.iter().enumerate() {
            for &(row, value) in column {
                let Ok(p) = inner.binary_search(&row) else { continue };
                for at in 0..n_border {
                    let part = value * responses[p * n_border + at];
                    k[other * n_border + at] -= part;
                    sizes[other * n_border + at] += part.abs();
                }
            }
        }
        Ok(Self { rows, massless, inner, responses, inverse: Inverse::new(k, &sizes, n_border) })
    }

    /// Entries of its matrices.
    pub fn n_entries(&self) -> usize {
        self.responses.len() + self.inverse.n * self.inverse.n
    }

    /// Unknowns of the border.
    pub fn n(&self) -> usize {
        self.inverse.n
    }

    /// K⁻¹, (n, n).
    pub fn inverse(&self) -> &[f64] {
        &self.inverse.values
    }

    /// Rows that follow from others.
    pub fn n_redundant(&self) -> usize {
        self.inverse.left_out.iter().filter(|&&at| at < self.rows.len()).count()
    }

    /// Corrects the unknowns that the sparse part alone gives for a right-hand side, and sets those of the border.
    pub fn apply(&self, right: &[f64], unknowns: &mut [f64], massless: &mut [f64]) {
        let n = self.inverse.n;
        let mut b: Vec<f64> = self.rows.iter().map(|&row| right[row as usize]).collect();
        b.resize(n, 0.0);
        for (&unknown, responses) in self.inner.iter().zip(self.responses.chunks_exact(n)) {
            let right = right[unknown as usize];
            b.iter_mut().zip(responses).for_each(|(b, response)| *b -= response * right);
        }
        let y: Vec<f64> = self.inverse.times(&b).collect();
        for (&unknown, responses) in self.inner.iter().zip(self.responses.chunks_exact(n)) {
            unknowns[unknown as usize] -= responses.iter().zip(&y).map(|(response, y)| response * y).sum::<f64>();
        }
        let (of_rows, of_massless) = y.split_at(self.rows.len());
        self.rows.iter().zip(of_rows).for_each(|(&row, &y)| unknowns[row as usize] = y);
        self.massless.iter().zip(of_massless).for_each(|(&index, &y)| massless[index as usize] = y);
    }
}
