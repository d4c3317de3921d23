//! Linear constraints of explicit dynamics: the projection of a motion onto them.
//!
//! With the lumped mass M, central differences under G u = g with Lagrange multipliers λ are
//!
//! ```text
//! u_{n+1} = u* − M⁻¹ Gᵀ λ,   (G M⁻¹ Gᵀ) λ = G u* − g
//! ```
//!
//! where u* is what the step gives without constraints. That is the point nearest to u* in the metric of M, so that the
//! constraints do no work where g does not move. The largest frequency of K on the constrained motions is not above that of all
//! motions, so that the stable increment is not below that of the elements.
//!
//! Of rows that share degrees of freedom, G M⁻¹ Gᵀ fills where many rows share one. Such degrees of freedom stay unknowns,
//!
//! ```text
//! ⎡  S  −B  −C ⎤ ⎡ λ ⎤   ⎡ r ⎤     S = G_l M_l⁻¹ G_lᵀ of those that few rows share,
//! ⎢ −Bᵀ −M_h   ⎥ ⎢ δ ⎥ = ⎢ 0 ⎥     B, M_h and the corrections δ of those that many rows share,
//! ⎣ −Cᵀ      0 ⎦ ⎣ z ⎦   ⎣ 0 ⎦     C and the values z of massless unknowns
//! ```
//!
//! A dashpot couples the components of its node: M is (1 + q) m + Δt/2 G there, and they are among those of M_h.
//!
//! The first two rows of blocks are quasi-definite and sparse ([`factor`]). Massless unknowns, and the rows that have no pivot,
//! are a *border*: a dense matrix for each set that hangs together ([`border`]).

mod border;
mod carry;
mod dense;
mod factor;
mod inertia;
mod rows;
mod sets;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use crate::dynamics::Constraint;
use crate::union::Union;
pub(in crate::explicit) use border::Border;
use factor::{Factor, Symmetric};
pub(in crate::explicit) use inertia::CoupledNode;
pub use inertia::Inertia;
pub use rows::{LinearRows, ProjectionError};
pub(in crate::explicit) use sets::Sets;

/// Rows that share a degree of freedom with mass; beyond so many it stays an unknown.
const MANY_ROWS: usize = 8;
/// Steps from one projection of u to the next.
pub const FIX_EVERY: u64 = 64;
/// Part of what a signal moves that rounding explains where rows contradict nothing.
const ROUNDING: f64 = 1e-8;

/// The projection onto linear constraints.
#[derive(Debug, Clone)]
pub struct Projection {
    /// Degrees of freedom of all rows, increasing, (n_touched,).
    touched: Vec<u64>,
    /// 1/m of each, 0 where it is prescribed.
    inverse_mass: Vec<f64>,
    /// Nodes with dashpots.
    coupled: Vec<CoupledNode>,
    /// Entry in `coupled` of each touched degree of freedom, or `u32::MAX`; empty without dashpots.
    coupled_of: Vec<u32>,
    first: Vec<u32>,
    /// Index among `touched` of each term.
    places: Vec<u32>,
    coefficients: Vec<f64>,
    /// Terms of free massless unknowns: row, unknown and coefficient.
    massless: Vec<(u32, u32, f64)>,
    /// Terms of prescribed ones: row, signal, and coefficient times value.
    moving: Vec<(u32, u32, f64)>,
    n_massless: usize,
    n_unknowns: usize,
    factor: Factor,
    borders: Vec<Border>,
    n_redundant: usize,
}

/// Working memory of a [`Projection`], and what it has found.
#[derive(Debug, Clone, Default)]
pub struct Projected {
    /// λ of each row, then the corrections of degrees of freedom that many rows share.
    unknowns: Vec<f64>,
    /// z.
    massless: Vec<f64>,
    work: Vec<f64>,
    right: Vec<f64>,
    /// Gᵀλ of each touched degree of freedom.
    pub pull: Vec<f64>,
}

impl Projection {
    /// The projection of `rows` in the metric of an inertia.
    ///
    /// # Errors
    /// Too many massless unknowns that hang together.
    pub fn new(rows: &LinearRows, inertia: &Inertia<'_>) -> Result<Self, ProjectionError> {
        let mut touched: Vec<u64> = rows.dofs.iter().copied().filter(|&dof| dof < rows.n_dofs).collect();
        touched.sort_unstable();
        touched.dedup();
        inertia.add_coupled_components(&mut touched);
        let coupled = inertia.coupled_nodes(&touched);
        let mut coupled_of = vec![u32::MAX; if coupled.is_empty() { 0 } else { touched.len() }];
        let mut inverse_mass: Vec<f64> = touched.iter().map(|&dof| inertia.inverse_mass(dof)).collect();
        for (number, node) in (0..).zip(&coupled) {
            for (c, place) in node.places.clone().enumerate() {
                coupled_of[place] = number;
                inverse_mass[place] = node.inverse[c][c];
            }
        }
        let mut projection = Self {
            inverse_mass,
            coupled,
            coupled_of,
            touched,
            first: vec![0],
            places: Vec::new(),
            coefficients: Vec::new(),
            massless: Vec::new(),
            moving: Vec::new(),
            n_massless: rows.n_massless,
            n_unknowns: 0,
            factor: Factor::default(),
            borders: Vec::new(),
            n_redundant: 0,
        };
        for row in 0..rows.n_rows() {
            for (dof, coefficient) in rows.terms(row) {
                if let Ok(place) = projection.touched.binary_search(&dof) {
                    projection.places.push(place as u32);
                    projection.coefficients.push(coefficient);
                } else if let Some(index) = rows.free_massless(dof) {
                    projection.massless.push((row as u32, index as u32, coefficient));
                } else {
                    let held = rows.prescribed.binary_search_by_key(&(dof - rows.n_dofs), |held| held.dof);
                    let held = &rows.prescribed[held.unwrap_or_default()];
                    projection.moving.push((row as u32, held.signal, coefficient * held.value));
                }
            }
            projection.first.push(projection.places.len() as u32);
        }
        projection.factorise()?;
        Ok(projection)
    }

    /// Degrees of freedom of all rows, increasing.
    pub fn touched(&self) -> &[u64] {
        &self.touched
    }

    /// 1/m of each, 0 where it is prescribed.
    pub fn inverse_mass(&self) -> &[f64] {
        &self.inverse_mass
    }

    /// Degrees of freedom that constraints may move, ascending.
    pub(in crate::explicit) fn moved(&self) -> impl Iterator<Item = u64> {
        let touched = self.touched.iter().zip(&self.inverse_mass);
        touched.filter(|(_, inverse_mass)| **inverse_mass > 0.0).map(|(&dof, _)| dof)
    }

    /// Nodes with dashpots, which couple their components in M.
    pub(in crate::explicit) fn coupled(&self) -> &[CoupledNode] {
        &self.coupled
    }

    /// The node with a dashpot that a touched degree of freedom belongs to.
    fn coupled_of(&self, place: usize) -> Option<&CoupledNode> {
        self.coupled.get(*self.coupled_of.get(place)? as usize)
    }

    /// Rows that follow from others, or from prescribed displacements.
    pub fn n_redundant(&self) -> usize {
        self.n_redundant
    }

    /// What it costs to find λ: terms, entries of the factor and of borders, which are read twice, and degrees of freedom.
    pub(super) fn work(&self) -> usize {
        let of_borders: usize = self.borders.iter().map(|border| border.n_entries()).sum();
        self.coefficients.len() + self.factor.n_entries() + of_borders + 4 * self.touched.len()
    }

    pub(super) fn n_rows(&self) -> usize {
        self.first.len() - 1
    }

    /// Terms of prescribed massless unknowns: row, signal, and coefficient times value.
    pub(super) fn moving(&self) -> &[(u32, u32, f64)] {
        &self.moving
    }

    /// Massless unknowns and rows without a pivot, by the sets that hang together.
    pub(super) fn borders(&self) -> &[Border] {
        &self.borders
    }

    /// Terms of a row: index among the touched degrees of freedom, and coefficient.
    pub(super) fn terms(&self, row: usize) -> impl Iterator<Item = (usize, f64)> {
        let terms = self.first[row] as usize..self.first[row + 1] as usize;
        self.places[terms.clone()].iter().map(|&place| place as usize).zip(self.coefficients[terms].iter().copied())
    }

    /// The matrix of the sparse part. Rows come first, then degrees of freedom with mass that many rows share.
    fn sparse_part(&mut self) -> Symmetric {
        let n_rows = self.n_rows();
        let mut rows_of: Vec<Vec<(u32, f64)>> = vec![Vec::new(); self.touched.len()];
        for row in 0..n_rows {
            for (place, coefficient) in self.terms(row).filter(|&(place, _)| self.inverse_mass[place] > 0.0) {
                match rows_of[place].last_mut().filter(|last| last.0 == row as u32) {
                    Some(last) => last.1 += coefficient,
                    None => rows_of[place].push((row as u32, coefficient)),
                }
            }
        }
        let mut has_unknown = vec![false; n_rows];
        self.massless.iter().for_each(|&(row, _, _)| has_unknown[row as usize] = true);
        let (mut entries, mut n) = (Vec::new(), n_rows as u32);
        for (place, (rows, &inverse_mass)) in rows_of.iter().zip(&self.inverse_mass).enumerate() {
            rows.iter().for_each(|&(row, _)| has_unknown[row as usize] = true);
            if self.coupled_of(place).is_some() {
                continue;
            }
            if rows.len() > MANY_ROWS {
                entries.push((n, n, -1.0 / inverse_mass));
                entries.extend(rows.iter().map(|&(row, coefficient)| (row, n, -coefficient)));
                n += 1;
                continue;
            }
            for (at, &(row, coefficient)) in rows.iter().enumerate() {
                let others = rows[at..].iter();
                entries.extend(
                    others.map(|&(other, with)| (row.min(other), row.max(other), coefficient * inverse_mass * with)),
                );
            }
        }
        for node in &self.coupled {
            let first = node.places.start;
            let free: Vec<usize> = (0..node.places.len()).filter(|c| self.inverse_mass[first + c] > 0.0).collect();
            for (i, &c) in free.iter().enumerate() {
                let at = n + i as u32;
                let of_place = &node.mass[c];
                entries.extend(free[..=i].iter().zip(n..).map(|(&other, before)| (before, at, -of_place[other])));
                entries.extend(rows_of[first + c].iter().map(|&(row, coefficient)| (row, at, -coefficient)));
            }
            n += free.len() as u32;
        }
        // A row of prescribed degrees of freedom alone binds nothing.
        for (row, _) in (0..).zip(&has_unknown).filter(|(_, has)| !**has) {
            entries.push((row, row, 1.0));
            self.n_redundant += 1;
        }
        self.n_unknowns = n as usize;
        Symmetric { n: n as usize, entries, is_positive: (0..n as usize).map(|at| at < n_rows).collect() }
    }

    fn factorise(&mut self) -> Result<(), ProjectionError> {
        let matrix = self.sparse_part();
        let (factor, left_out) = Factor::new(&matrix);
        self.factor = factor;
        let n = self.n_unknowns as u32;
        let union = Union::new(n + self.n_massless as u32);
        matrix.entries.iter().for_each(|&(i, j, _)| union.join(i, j));
        self.massless.iter().for_each(|&(row, index, _)| union.join(row, n + index));
        // By the lowest unknown of each set: those of the sparse part, rows without a pivot, and massless unknowns.
        let mut sets: BTreeMap<u32, [Vec<u32>; 3]> = BTreeMap::new();
        left_out.iter().for_each(|&row| sets.entry(union.find(row)).or_default()[1].push(row));
        let mut used: Vec<u32> = self.massless.iter().map(|&(_, index, _)| index).collect();
        used.sort_unstable();
        used.dedup();
        used.iter().for_each(|&index| sets.entry(union.find(n + index)).or_default()[2].push(index));
        for unknown in (0..n).filter(|unknown| left_out.binary_search(unknown).is_err()) {
            if let Some(set) = sets.get_mut(&union.find(unknown)) {
                set[0].push(unknown);
            }
        }
        for set in sets.into_values() {
            let border = Border::new((&self.factor, &matrix), &self.massless, set)?;
            self.n_redundant += border.n_redundant();
            self.borders.push(border);
        }
        Ok(())
    }

    /// Finds λ of values of the touched degrees of freedom, which are those of a motion without constraints, and of
    /// prescribed massless unknowns by the signals that they follow. See [`correction`](Self::correction).
    pub fn find(&self, values: &[f64], signal: impl Fn(u32) -> f64, found: &mut Projected) {
        let mut right = std::mem::take(&mut found.right);
        right.clear();
        right.resize(self.n_unknowns, 0.0);
        for (row, right) in right.iter_mut().enumerate().take(self.n_rows()) {
            *right = self.terms(row).map(|(place, coefficient)| coefficient * values[place]).sum();
        }
        for &(row, of, value) in &self.moving {
            right[row as usize] += value * signal(of);
        }
        self.solve(&right, found);
        found.right = right;
    }

    fn solve(&self, right: &[f64], found: &mut Projected) {
        found.unknowns.clear();
        found.unknowns.extend_from_slice(right);
        found.work.resize(self.n_unknowns, 0.0);
        found.massless.clear();
        found.massless.resize(self.n_massless, 0.0);
        self.factor.solve(&mut found.unknowns, &mut found.work);
        for border in &self.borders {
            border.apply(right, &mut found.unknowns, &mut found.massless);
        }
        found.pull.clear();
        found.pull.resize(self.touched.len(), 0.0);
        for row in 0..self.n_rows() {
            let multiplier = found.unknowns[row];
            self.terms(row).for_each(|(place, coefficient)| found.pull[place] += coefficient * multiplier);
        }
    }

    /// What is added to the value of each touched degree of freedom: −M⁻¹Gᵀλ.
    pub fn correction(&self, found: &Projected, place: usize) -> f64 {
        match self.coupled_of(place) {
            None => -self.inverse_mass[place] * found.pull[place],
            Some(node) => {
                let row = node.inverse[place - node.places.start];
                -row.iter().zip(&found.pull[node.places.clone()]).map(|(inverse, pull)| inverse * pull).sum::<f64>()
            }
        }
    }

    /// Projects values of all degrees of freedom, (n_dofs,), where those that are prescribed have their values.
    pub fn project(&self, values: &mut [f64], signal: impl Fn(u32) -> f64) {
        let touched: Vec<f64> = self.touched.iter().map(|&dof| values[dof as usize]).collect();
        let mut found = Projected::default();
        self.find(&touched, signal, &mut found);
        for (place, &dof) in self.touched.iter().enumerate() {
            values[dof as usize] += self.correction(&found, place);
        }
    }

    /// Checks that the rows allow what is prescribed: `constraints` with mass, increasing by degree of freedom.
    ///
    /// # Errors
    /// The row that is violated most.
    pub fn check(&self, constraints: &[Constraint]) -> Result<(), ProjectionError> {
        let held = |dof: u64| constraints.binary_search_by_key(&dof, |held| held.dof).ok().map(|at| &constraints[at]);
        let held: Vec<Option<&Constraint>> = self.touched.iter().map(|&dof| held(dof)).collect();
        let mut signals: Vec<u32> = held.iter().flatten().map(|held| held.signal).collect();
        signals.extend(self.moving.iter().map(|moving| moving.1));
        signals.sort_unstable();
        signals.dedup();
        let mut found = Projected::default();
        for signal in signals {
            let of_signal =
                |held: &Option<&Constraint>| held.filter(|held| held.signal == signal).map_or(0.0, |h| h.value);
            let values: Vec<f64> = held.iter().map(of_signal).collect();
            self.find(&values, |of| f64::from(of == signal), &mut found);
            let mut rest: Vec<f64> = found.right[..self.n_rows()].to_vec();
            let size = rest.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
            for (row, rest) in rest.iter_mut().enumerate() {
                *rest += self.terms(row).map(|(place, c)| c * self.correction(&found, place)).sum::<f64>();
            }
            for &(row, index, coefficient) in &self.massless {
                rest[row as usize] += coefficient * found.massless[index as usize];
            }
            let worst = rest.iter().enumerate().max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()));
            if let Some((row, _)) = worst.filter(|(_, rest)| rest.abs() > ROUNDING * size) {
                return Err(ProjectionError::Contradiction { row });
            }
        }
        Ok(())
    }
}
