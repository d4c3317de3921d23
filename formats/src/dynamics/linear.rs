//! Linear constraints between degrees of freedom: Σ c_k u_k = 0.

// rkyv's derive writes undocumented twins of enum variants with named fields.
#![allow(missing_docs)]

use rkyv::{Archive, Deserialize, Serialize};

use super::check::Limits;
use super::{Boundary, BoundaryKind, Load, LoadKind};
use crate::block::check::{Check, all_below, require};

/// A term c u of a row.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs)]
pub struct LinearTerm {
    /// A node, or with the component [`MASSLESS`](Self::MASSLESS) a massless unknown.
    pub node: u32,
    /// 0, 1 or 2 of a node, or [`PRESSURE`](Self::PRESSURE).
    pub component: u8,
    /// c.
    pub coefficient: f64,
}

impl LinearTerm {
    /// The component of massless unknowns.
    pub const MASSLESS: u8 = u8::MAX;
    /// The component that is the pressure of a fluid's node.
    pub const PRESSURE: u8 = u8::MAX - 1;

    /// Whether it is a massless unknown.
    pub fn is_massless(&self) -> bool {
        self.component == Self::MASSLESS
    }
}

/// Rows Σ c_k u_k = 0 over components of displacements and over *massless unknowns*, and rows Σ c_k p_k = 0 over the pressures of
/// fluids.
///
/// A massless unknown is a degree of freedom that has no inertia of its own: a displacement or a rotation of a reference
/// node, or the displacement of a node along an axis of its own.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq, Default)]
#[allow(missing_docs)]
pub struct LinearConstraints {
    /// Name of what each row comes from, (n_rows,), as an index into `names`.
    pub origin: Vec<u32>,
    pub names: Vec<String>,
    /// First term of each row, (n_rows + 1,); empty without rows.
    pub row_first: Vec<u32>,
    pub terms: Vec<LinearTerm>,
    /// Name of each massless unknown, for messages.
    pub massless: Vec<String>,
    /// Prescribed massless unknowns: `nodes` are their indices, and `component` is 0. Later entries win over earlier ones.
    pub prescribed: Vec<Boundary>,
    /// Forces and moments on massless unknowns: concentrated loads whose `nodes` are their indices, along (1, 0, 0).
    pub loads: Vec<Load>,
}

impl LinearConstraints {
    /// Whether nothing is constrained.
    pub fn is_empty(&self) -> bool {
        self.origin.is_empty()
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.origin.len()
    }

    /// The terms of each row.
    pub fn rows(&self) -> impl Iterator<Item = &[LinearTerm]> {
        (0..self.n_rows()).map(|row| self.row(row))
    }

    /// The terms of a row.
    pub fn row(&self, row: usize) -> &[LinearTerm] {
        &self.terms[self.row_first[row] as usize..self.row_first[row + 1] as usize]
    }

    /// Name of what a row comes from.
    pub fn name(&self, row: usize) -> &str {
        self.origin.get(row).and_then(|&name| self.names.get(name as usize)).map_or("", String::as_str)
    }

    /// Adds a row that comes from `name`; rows of one origin follow each other.
    pub fn push(&mut self, name: &str, terms: impl IntoIterator<Item = LinearTerm>) {
        if self.names.last().is_none_or(|last| last != name) {
            self.names.push(name.to_owned());
        }
        if self.row_first.is_empty() {
            self.row_first.push(0);
        }
        self.origin.push(self.names.len() as u32 - 1);
        self.terms.extend(terms);
        self.row_first.push(self.terms.len() as u32);
    }

    /// Nodes of all rows, with repetitions.
    pub fn nodes(&self) -> impl Iterator<Item = u32> {
        self.terms.iter().filter(|term| !term.is_massless()).map(|term| term.node)
    }

    /// Replaces node indices.
    pub fn renumber(&mut self, new_from_old: &[u32]) {
        for term in self.terms.iter_mut().filter(|term| !term.is_massless()) {
            term.node = new_from_old[term.node as usize];
        }
    }

    /// What the solver relies on.
    pub(crate) fn check(&self, limits: &Limits<'_>) -> Check {
        let what = "linear constraints";
        all_below(what, &self.origin, self.names.len())?;
        let n_firsts = if self.is_empty() { 0 } else { self.n_rows() + 1 };
        require(self.row_first.len() == n_firsts, || format!("{what}: rows and their ends differ in number"))?;
        require(self.row_first.is_sorted() && self.row_first.first().is_none_or(|&first| first == 0), || {
            format!("{what}: rows overlap")
        })?;
        let end = self.row_first.last().copied().unwrap_or(0) as usize;
        require(end == self.terms.len(), || format!("{what}: {} terms where rows have {end}", self.terms.len()))?;
        let n_massless = self.massless.len();
        let good = |term: &LinearTerm| {
            let is_there = match term.is_massless() {
                true => (term.node as usize) < n_massless,
                false => {
                    let is_pressure = term.component == LinearTerm::PRESSURE;
                    let has_component = is_pressure || usize::from(term.component) < limits.dimension;
                    (term.node as usize) < limits.n_nodes && has_component
                }
            };
            is_there && term.coefficient.is_finite() && term.coefficient != 0.0
        };
        require(self.terms.iter().all(good), || {
            format!("{what}: a term of no degree of freedom, or without a coefficient")
        })?;
        for boundary in &self.prescribed {
            limits.amplitude(&boundary.name, boundary.amplitude)?;
            all_below(&format!("`{}`", boundary.name), &boundary.nodes, n_massless)?;
            let is_scalar = boundary.component == 0 && boundary.kind != BoundaryKind::Pressure;
            require(is_scalar, || format!("`{}`: a component of a massless unknown", boundary.name))?;
        }
        for load in &self.loads {
            limits.amplitude(&load.name, load.amplitude)?;
            let LoadKind::Concentrated { nodes, weights, .. } = &load.kind else {
                return Err(format!("load `{}`: on a massless unknown, and not concentrated", load.name));
            };
            all_below(&format!("load `{}`", load.name), nodes, n_massless)?;
            require(weights.is_empty(), || format!("load `{}`: weights of massless unknowns", load.name))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_rows() -> LinearConstraints {
        let term = |node, component, coefficient| LinearTerm { node, component, coefficient };
        let mut rows = LinearConstraints { massless: vec!["9.1".into()], ..LinearConstraints::default() };
        rows.push("EQUATION", [term(0, 1, 1.0), term(3, 1, -1.0)]);
        rows.push("TIE", [term(2, 0, 1.0), term(0, LinearTerm::MASSLESS, -2.0)]);
        rows
    }

    #[test]
    fn rows_are_renumbered_without_their_massless_unknowns() {
        let mut rows = two_rows();
        assert_eq!((rows.n_rows(), rows.name(0), rows.name(1)), (2, "EQUATION", "TIE"));
        rows.renumber(&[7, 8, 9, 10]);
        assert_eq!(rows.nodes().collect::<Vec<_>>(), [7, 10, 9]);
        assert_eq!(rows.rows().nth(1).unwrap()[1].node, 0);
    }

    #[test]
    fn damaged_tables_are_errors() {
        let limits = Limits { amplitudes: &[], n_nodes: 4, dimension: 2 };
        two_rows().check(&limits).unwrap();
        let mut of_fluids = two_rows();
        of_fluids.terms[0].component = LinearTerm::PRESSURE;
        of_fluids.check(&limits).unwrap();
        let wrong = |damage: fn(&mut LinearConstraints)| {
            let mut rows = two_rows();
            damage(&mut rows);
            assert!(rows.check(&limits).is_err(), "{rows:?}");
        };
        wrong(|rows| rows.origin[0] = 2);
        wrong(|rows| rows.row_first[1] = 5);
        wrong(|rows| rows.row_first[2] = 3);
        wrong(|rows| rows.row_first.truncate(2));
        wrong(|rows| rows.terms[0].node = 4);
        wrong(|rows| rows.terms[0].component = 2);
        wrong(|rows| (rows.terms[0].node, rows.terms[0].component) = (4, LinearTerm::PRESSURE));
        wrong(|rows| rows.terms[3].node = 1);
        wrong(|rows| rows.terms[0].coefficient = f64::NAN);
        let held = |nodes, component| Boundary {
            name: "B".into(),
            nodes,
            component,
            kind: BoundaryKind::Velocity,
            value: 1.0,
            amplitude: None,
        };
        assert!(LinearConstraints { prescribed: vec![held(vec![1], 0)], ..two_rows() }.check(&limits).is_err());
        assert!(LinearConstraints { prescribed: vec![held(vec![0], 1)], ..two_rows() }.check(&limits).is_err());
        LinearConstraints { prescribed: vec![held(vec![0], 0)], ..two_rows() }.check(&limits).unwrap();
    }
}
