//! Forces on massless unknowns, as forces on the nodes that carry them.

use std::collections::{BTreeMap, BTreeSet};

use super::LinearRows;
use super::dense::Inverse;

/// Part of a unit force that rounding explains.
const ROUNDING: f64 = 1e-8;

impl LinearRows {
    /// The forces on degrees of freedom with mass, or prescribed, that do the same work as a unit force on the massless unknown
    /// `index` in all motions that the rows allow; none where no row carries it.
    ///
    /// The rows that hang together over massless unknowns z, C z + G u = 0, give z = −(CᵀC)⁻¹CᵀG u: the forces are the row
    /// of that matrix. Of a reference node whose nodes weigh alike, that spreads a force evenly.
    pub fn carried(&self, index: usize) -> Option<Vec<(u64, f64)>> {
        let rows = self.rows_of(index);
        let of_rows = || rows.iter().flat_map(|&row| self.terms(row).map(move |term| (row, term)));
        let mut places: BTreeMap<usize, usize> =
            of_rows().filter_map(|(_, (dof, _))| Some((self.free_massless(dof)?, 0))).collect();
        places.values_mut().enumerate().for_each(|(at, place)| *place = at);
        let n = places.len();
        let &at = places.get(&index)?;
        let (mut normal, mut sizes) = (vec![0.0; n * n], vec![0.0; n * n]);
        let free = |row: usize| -> Vec<(usize, f64)> {
            self.terms(row).filter_map(|(dof, c)| Some((places[&self.free_massless(dof)?], c))).collect()
        };
        for terms in rows.iter().map(|&row| free(row)) {
            for &(i, a) in &terms {
                for &(j, b) in &terms {
                    normal[i * n + j] += a * b;
                    sizes[i * n + j] += (a * b).abs();
                }
            }
        }
        let unit: Vec<f64> = (0..n).map(|i| f64::from(i == at)).collect();
        let x: Vec<f64> = Inverse::new(normal.clone(), &sizes, n).times(&unit).collect();
        let carried = |(row, unit): (&[f64], &f64)| {
            (row.iter().zip(&x).map(|(k, x)| k * x).sum::<f64>() - unit).abs() <= ROUNDING
        };
        if !normal.chunks_exact(n).zip(&unit).all(carried) {
            return None;
        }
        let mut forces: BTreeMap<u64, f64> = BTreeMap::new();
        for &row in &rows {
            let weight: f64 = free(row).iter().map(|&(place, c)| c * x[place]).sum();
            for (dof, c) in self.terms(row).filter(|&(dof, _)| dof < self.n_dofs) {
                *forces.entry(dof).or_insert(0.0) -= c * weight;
            }
        }
        let largest = forces.values().fold(0.0, |most: f64, force| most.max(force.abs()));
        forces.retain(|_, force| force.abs() > f64::EPSILON * largest);
        Some(forces.into_iter().collect())
    }

    /// The rows that hang together with a massless unknown over free massless unknowns, ascending.
    fn rows_of(&self, index: usize) -> Vec<usize> {
        let mut with: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for row in 0..self.n_rows() {
            for free in self.terms(row).filter_map(|(dof, _)| self.free_massless(dof)) {
                with.entry(free).or_default().push(row);
            }
        }
        let (mut rows, mut seen, mut next) = (BTreeSet::new(), BTreeSet::from([index]), vec![index]);
        while let Some(free) = next.pop() {
            for &row in with.get(&free).into_iter().flatten() {
                if rows.insert(row) {
                    let others = self.terms(row).filter_map(|(dof, _)| self.free_massless(dof));
                    next.extend(others.filter(|&other| seen.insert(other)));
                }
            }
        }
        rows.into_iter().collect()
    }
}
