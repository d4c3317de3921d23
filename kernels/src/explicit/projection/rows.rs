//! Rows of linear constraints, and why they cannot be constraints.

use crate::dynamics::Constraint;

/// Rows Σ c u = 0 over degrees of freedom.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LinearRows {
    /// First term of each row, (n_rows + 1,); empty without rows.
    pub first: Vec<u32>,
    /// Degree of freedom of each term: solver node × dimension + component, or n_dofs + index of a massless unknown.
    pub dofs: Vec<u64>,
    /// c of each term.
    pub coefficients: Vec<f64>,
    /// Degrees of freedom with mass, or prescribed.
    pub n_dofs: u64,
    /// Massless unknowns.
    pub n_massless: usize,
    /// Prescribed massless unknowns, by their index, increasing.
    pub prescribed: Vec<Constraint>,
}

impl LinearRows {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.first.len() < 2
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.first.len().saturating_sub(1)
    }

    /// Degree of freedom and coefficient of each term of a row.
    pub fn terms(&self, row: usize) -> impl Iterator<Item = (u64, f64)> {
        let terms = self.first[row] as usize..self.first[row + 1] as usize;
        self.dofs[terms.clone()].iter().copied().zip(self.coefficients[terms].iter().copied())
    }

    /// Those of these rows that `is_kept` names.
    pub(in crate::explicit) fn only(&self, is_kept: impl Fn(usize) -> bool) -> Self {
        let mut first = vec![0];
        let (mut dofs, mut coefficients) = (Vec::new(), Vec::new());
        for row in (0..self.n_rows()).filter(|&row| is_kept(row)) {
            self.terms(row).for_each(|(dof, coefficient)| {
                dofs.push(dof);
                coefficients.push(coefficient);
            });
            first.push(dofs.len() as u32);
        }
        let Self { n_dofs, n_massless, prescribed, .. } = self;
        Self { first, dofs, coefficients, n_dofs: *n_dofs, n_massless: *n_massless, prescribed: prescribed.clone() }
    }

    /// Whether a degree of freedom is a massless unknown that nothing prescribes: its index.
    pub(super) fn free_massless(&self, dof: u64) -> Option<usize> {
        let index = dof.checked_sub(self.n_dofs)?;
        self.prescribed.binary_search_by_key(&index, |held| held.dof).is_err().then_some(index as usize)
    }
}

/// Why rows cannot be constraints.
#[derive(Debug, thiserror::Error, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum ProjectionError {
    /// Prescribed values that a row does not allow.
    #[error("constraint row {row} contradicts the prescribed displacements of its nodes, or other constraints")]
    Contradiction { row: usize },
    #[error("{n} massless unknowns or repeated constraints hang together, more than 2000: divide the constraint")]
    TooLarge { n: usize },
}
