//! `*EQUATION` and `*MPC`.

use super::super::data::{Entry, entries};
use super::super::lexer::{Card, Place};
use super::super::log::Log;
use super::{Linear, PRESSURE_DOF, ROTATION, dof};
use crate::dynamics::LinearTerm;

/// Terms of an equation on a data line.
const TERMS_A_LINE: usize = 4;

/// A term as it is written.
struct Written {
    place: Place,
    nodes: Vec<u32>,
    dof: u8,
    coefficient: f64,
}

impl Linear<'_> {
    /// Equations: a line with the number of terms, then the terms, up to four a line.
    pub(super) fn equation(&mut self, card: &Card, log: &mut Log) {
        let lines = entries(card, log);
        let mut rest = lines.iter();
        while let Some(first) = rest.next() {
            let Some(n) = first.whole(0).filter(|&n| n > 0 && !first.has_more(1)) else {
                return log.error(first.place, "an equation begins with its number of terms, alone on a line");
            };
            let mut terms = Vec::new();
            while terms.len() < n as usize {
                let Some(line) = rest.next() else {
                    let text = format!("this equation ends after {} of its {n} terms", terms.len());
                    return log.error(first.place, text + ": each has a node or set, a component and a factor");
                };
                let columns = (0..3 * TERMS_A_LINE).step_by(3).filter(|&column| column == 0 || line.has(column));
                let of_line: Option<Vec<Written>> = columns.map(|column| self.written(line, column, log)).collect();
                let Some(of_line) = of_line else { return };
                terms.extend(of_line);
            }
            if terms.len() > n as usize {
                let text = format!("this equation has {} terms where {n} are announced", terms.len());
                return log.error(first.place, text + ": correct their number");
            }
            self.push_equation(first.place, &terms, log);
        }
    }

    /// The term that begins with a column of a line.
    fn written(&self, line: &Entry, column: usize, log: &mut Log) -> Option<Written> {
        let nodes = self.nodes(&line.text(column), line.place, log)?;
        let pressure = Some(PRESSURE_DOF).filter(|&dof| line.whole(column + 1) == Some(dof.into()));
        let Some(dof) = pressure.or_else(|| dof(line, column + 1, self.dimension)) else {
            let text = line.text(column + 1);
            let has = "an equation has components of displacements, or pressures of fluids (8)";
            log.error(line.place, format!("`{text}` is no degree of freedom of an equation: {has}"));
            return None;
        };
        let Some(coefficient) = line.real(column + 2).filter(|value| value.is_finite()) else {
            log.error(line.place, format!("`{}` is no factor of a term", line.text(column + 2)));
            return None;
        };
        Some(Written { place: line.place, nodes, dof, coefficient })
    }

    /// An equation for each node of the first set: the other terms have as many nodes, or one.
    fn push_equation(&mut self, place: Place, terms: &[Written], log: &mut Log) {
        let n = terms[0].nodes.len();
        if let Some(other) = terms.iter().find(|term| term.nodes.len() != n && term.nodes.len() != 1) {
            let text = format!("a set of {} nodes in an equation whose first set has {n}", other.nodes.len());
            return log.error(other.place, text + ": give sets of one length, or single nodes");
        }
        if terms.iter().all(|term| term.coefficient == 0.) {
            return log.error(place, "an equation with no factor other than 0");
        }
        if let Some(term) = terms.iter().find(|term| (term.dof == PRESSURE_DOF) != (terms[0].dof == PRESSURE_DOF)) {
            let text = "an equation of pressures (8) and displacements: solids and fluids touch where they share nodes, or by *TIE";
            return log.error(term.place, text);
        }
        let mut turning = terms.iter().filter(|term| term.dof > ROTATION && term.dof != PRESSURE_DOF);
        if let Some(term) = turning.find(|term| !self.turn(&term.nodes)) {
            let text = "a rotation in an equation: only reference nodes of rigid bodies and couplings turn";
            return log.error(term.place, text);
        }
        for k in 0..n {
            let of = |term: &Written| {
                let node = if term.nodes.len() == 1 { term.nodes[0] } else { term.nodes[k] };
                self.terms(node, term.dof, term.coefficient)
            };
            let row: Vec<LinearTerm> = terms.iter().flat_map(of).collect();
            self.deck.rows.push("*EQUATION", row);
        }
    }

    /// `TIE` and `PIN`: the displacements of two nodes, or of the nodes of two sets pair by pair, are the same.
    pub(super) fn multi_point(&mut self, card: &Card, log: &mut Log) {
        for entry in entries(card, log) {
            let kind = entry.word(0);
            if !matches!(kind.as_str(), "TIE" | "PIN") {
                let text = "TIE and PIN are; *EQUATION, *COUPLING and *RIGID BODY say the same of solids as LINEAR, BEAM and LINK";
                log.error(entry.place, format!("*MPC of type `{kind}` is not supported: {text}"));
                continue;
            }
            if !(entry.has(1) && entry.has(2)) || entry.has_more(3) {
                log.error(entry.place, format!("*MPC, {kind} is: {kind}, node or set, node or set"));
                continue;
            }
            let [first, second] = [1, 2].map(|at| self.nodes(&entry.text(at), entry.place, log));
            let (Some(first), Some(second)) = (first, second) else { continue };
            if second.len() != 1 && second.len() != first.len() {
                let text = format!("*MPC joins a set of {} nodes and one of {}", first.len(), second.len());
                log.error(entry.place, text + ": give sets of one length, or a single second node");
                continue;
            }
            let begin = self.deck.rows.n_rows();
            for (k, &node) in first.iter().enumerate() {
                let other = if second.len() == 1 { second[0] } else { second[k] };
                self.join(&format!("*MPC, {kind}"), node, &[(other, 1.)]);
            }
            if kind == "TIE" {
                self.deck.joins.push(begin..self.deck.rows.n_rows());
            }
        }
    }

    /// The displacement of a node is Σ weight × displacement of others.
    pub(super) fn join(&mut self, name: &str, node: u32, others: &[(u32, f64)]) {
        for component in 0..self.dimension {
            let of = |(node, weight): &(u32, f64)| LinearTerm { node: *node, component, coefficient: -weight };
            let own = LinearTerm { node, component, coefficient: 1. };
            self.deck.rows.push(name, std::iter::once(own).chain(others.iter().map(of)));
        }
    }
}
