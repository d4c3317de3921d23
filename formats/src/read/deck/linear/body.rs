//! `*RIGID BODY` and `*COUPLING`: nodes that follow a reference node, or that it follows.
//!
//! ```text
//! rigid, kinematic:  u_i = u_r + θ_r × (x_i − x_r)
//! distributing:      u_r = ū + θ̄ × (x_r − x̄),  θ_r = θ̄ = T⁻¹ Σ w_i r_i × u_i
//! ```
//!
//! with ū = Σ w_i u_i, x̄ = Σ w_i x_i, r_i = x_i − x̄ and T = Σ w_i (r_i² 1 − r_i r_iᵀ); the weights w_i have the sum 1.

use super::super::data::entries;
use super::super::lexer::{Card, Place};
use super::super::log::Log;
use super::super::raw::Entity;
use super::{Linear, ROTATION, dof};
use crate::dynamics::LinearTerm;
use crate::vector::{Vector, cross, difference, dot};

pub(super) const BARE: &str = "*COUPLING needs *KINEMATIC or *DISTRIBUTING behind it";

/// T below this part of its largest entry has no inverse: the nodes lie on a line.
const ON_A_LINE: f64 = 1e-9;

impl Linear<'_> {
    pub(super) fn rigid_body(&mut self, card: &Card, log: &mut Log) {
        let (keyword, place) = (&card.keyword, card.keyword.place);
        if !matches!(keyword.word("POSITION").as_str(), "" | "INPUT") {
            return log
                .error(place, "*RIGID BODY: the reference node stays where it is; write POSITION=INPUT and its place");
        }
        // Refused already.
        if keyword.has("ANALYTICALSURFACE") {
            return;
        }
        let Some(reference) = self.reference(card, log) else { return };
        let mut nodes = Vec::new();
        for set in ["NSET", "TIENSET", "PINNSET"].into_iter().filter_map(|key| keyword.given(key)) {
            let Some(found) = self.nodes(set, place, log) else { return };
            nodes.extend(found);
        }
        if let Some(set) = keyword.given("ELSET") {
            let Some(codes) = self.assembly.members(Entity::Element, set) else {
                let hint = self.assembly.hint(Entity::Element, set);
                return log.absent(place, format!("there is no element set `{set}`{hint}"));
            };
            nodes.extend(self.assembly.nodes_of_elements(&codes));
        }
        nodes.sort_unstable();
        nodes.dedup();
        if nodes.is_empty() {
            return log.error(place, "*RIGID BODY has no nodes: give NSET= or ELSET=");
        }
        log.note(place, "*RIGID BODY: its elements keep their share in the stable increment");
        self.follow("*RIGID BODY", reference, &nodes, &[true; 3]);
    }

    /// `*COUPLING` with its `*KINEMATIC` or `*DISTRIBUTING`.
    pub(super) fn couple(&mut self, coupling: &Card, kind: &Card, log: &mut Log) {
        let place = coupling.keyword.place;
        let Some(reference) = self.reference(coupling, log) else { return };
        let Some(surface) = self.surface(coupling.keyword.value("SURFACE"), place, log) else { return };
        let Some(mut couples) = self.coupled(kind, log) else { return };
        let name = match coupling.keyword.value("CONSTRAINTNAME") {
            "" => "*COUPLING".to_owned(),
            name => format!("*COUPLING `{name}`"),
        };
        let (x, radius) = (self.position(reference), coupling.keyword.real("INFLUENCERADIUS"));
        let is_near = |node: &u32| {
            let from = difference(self.position(*node), x);
            *node != reference && radius.is_none_or(|radius| dot(from, from).sqrt() <= radius)
        };
        let pairs = surface.nodes.iter().copied().zip(surface.weights);
        let (nodes, weights): (Vec<u32>, Vec<f64>) = pairs.filter(|(node, _)| is_near(node)).unzip();
        if nodes.is_empty() {
            return log.error(place, format!("{name} has no node within its radius"));
        }
        if kind.keyword.key == "KINEMATIC" {
            return self.follow(&name, reference, &nodes, &[couples[0], couples[1], couples[2]]);
        }
        if !matches!(kind.keyword.word("WEIGHTINGMETHOD").as_str(), "" | "UNIFORM") {
            return log.error(kind.keyword.place, "*DISTRIBUTING: WEIGHTING METHOD=UNIFORM is computed alone");
        }
        couples[..3].fill(true);
        self.lead(&name, (reference, &couples), (&nodes, &weights), place, log);
    }

    /// Which of the degrees of freedom 1 to 6 a `*KINEMATIC` or `*DISTRIBUTING` couples: all without data lines.
    fn coupled(&self, card: &Card, log: &mut Log) -> Option<[bool; 6]> {
        let lines = entries(card, log);
        let mut couples = [lines.is_empty(); 6];
        for entry in lines {
            let first = if entry.has(0) { dof(&entry, 0, 3) } else { Some(1) };
            let last = match (entry.has(0), entry.has(1)) {
                (_, true) => dof(&entry, 1, 3),
                (true, false) => first,
                (false, false) => Some(6),
            };
            let (Some(first), Some(last)) = (first, last) else {
                log.error(entry.place, "the first and last degree of freedom that is coupled are from 1 to 6");
                return None;
            };
            couples[usize::from(first) - 1..usize::from(last.max(first))].fill(true);
        }
        Some(couples)
    }

    /// θ × d of the rotation of a node: terms of each component.
    fn turned(&self, node: u32, d: Vector, factor: f64) -> [Vec<LinearTerm>; 3] {
        let axes: &[u8] = if self.dimension == 2 { &[2] } else { &[0, 1, 2] };
        let mut terms = [const { Vec::new() }; 3];
        for &axis in axes {
            let unit: Vector = std::array::from_fn(|k| f64::from(k == usize::from(axis)));
            for (terms, part) in terms.iter_mut().zip(cross(unit, d)) {
                if part != 0. {
                    terms.push(LinearTerm { node, component: ROTATION + axis, coefficient: factor * part });
                }
            }
        }
        terms
    }

    /// Nodes follow a reference node in some components.
    fn follow(&mut self, name: &str, reference: u32, nodes: &[u32], components: &[bool; 3]) {
        self.turning.insert(reference);
        let x = self.position(reference);
        for &node in nodes.iter().filter(|&&node| node != reference) {
            let turned = self.turned(reference, difference(self.position(node), x), -1.);
            for (component, turned) in (0..self.dimension).zip(turned) {
                if components[usize::from(component)] {
                    let own = LinearTerm { node, component, coefficient: 1. };
                    let of_reference = LinearTerm { node: reference, component, coefficient: -1. };
                    self.deck.rows.push(name, [own, of_reference].into_iter().chain(turned));
                }
            }
        }
    }

    /// A reference node follows the mean motion of nodes.
    fn lead(
        &mut self,
        name: &str,
        (reference, couples): (u32, &[bool; 6]),
        (nodes, weights): (&[u32], &[f64]),
        place: Place,
        log: &mut Log,
    ) {
        let sum: f64 = weights.iter().sum();
        let weights: Vec<f64> = weights.iter().map(|weight| weight / sum).collect();
        let positions: Vec<Vector> = nodes.iter().map(|&node| self.position(node)).collect();
        let mean = |f: &dyn Fn(Vector) -> f64| positions.iter().zip(&weights).map(|(x, w)| w * f(*x)).sum::<f64>();
        let centre: Vector = std::array::from_fn(|k| mean(&|x| x[k]));
        let Some(inverse) = inverse_of_inertia(self.dimension, |i, j| {
            mean(&|x| {
                let r = difference(x, centre);
                if i == j { dot(r, r) - r[i] * r[i] } else { -r[i] * r[j] }
            })
        }) else {
            return log.error(place, format!("{name}: its nodes lie on one line, so that they have no mean rotation"));
        };
        self.turning.insert(reference);
        let arm = difference(self.position(reference), centre);
        let units: [Vector; 3] = std::array::from_fn(|c| std::array::from_fn(|k| f64::from(k == c)));
        for component in 0..self.dimension {
            let own = LinearTerm { node: reference, component, coefficient: 1. };
            let row = self.mean_row(
                own,
                (nodes, &weights, &positions),
                |r| {
                    // u_c of the reference for a unit displacement e of a node: e_c + (T⁻¹(r × e) × arm)_c.
                    let of = |e: Vector| {
                        e[usize::from(component)] + cross(apply(&inverse, cross(r, e)), arm)[usize::from(component)]
                    };
                    units.map(of)
                },
                centre,
            );
            self.deck.rows.push(name, row);
        }
        let axes: &[u8] = if self.dimension == 2 { &[2] } else { &[0, 1, 2] };
        for &axis in axes.iter().filter(|axis| couples[usize::from(**axis) + 3]) {
            let own = LinearTerm { node: reference, component: ROTATION + axis, coefficient: 1. };
            let of_axis = |r| units.map(|e| apply(&inverse, cross(r, e))[usize::from(axis)]);
            let row = self.mean_row(own, (nodes, &weights, &positions), of_axis, centre);
            self.deck.rows.push(name, row);
        }
    }

    /// own − Σ w_i a(r_i) · u_i.
    fn mean_row(
        &self,
        own: LinearTerm,
        (nodes, weights, positions): (&[u32], &[f64], &[Vector]),
        factors: impl Fn(Vector) -> Vector,
        centre: Vector,
    ) -> Vec<LinearTerm> {
        let mut row = vec![own];
        for ((&node, &weight), &x) in nodes.iter().zip(weights).zip(positions) {
            let factors = factors(difference(x, centre));
            let terms = (0..self.dimension).zip(factors).filter(|(_, factor)| *factor != 0.);
            row.extend(terms.map(|(component, factor)| LinearTerm { node, component, coefficient: -weight * factor }));
        }
        row
    }
}

/// M x.
fn apply(m: &[Vector; 3], x: Vector) -> Vector {
    m.map(|row| dot(row, x))
}

/// T⁻¹; in the plane of its last entry alone. None where T is singular.
fn inverse_of_inertia(dimension: u8, t: impl Fn(usize, usize) -> f64) -> Option<[Vector; 3]> {
    let rows: [Vector; 3] = std::array::from_fn(|i| std::array::from_fn(|j| t(i, j)));
    if dimension == 2 {
        let mut inverse = [[0.; 3]; 3];
        inverse[2][2] = 1. / rows[2][2];
        return (rows[2][2] > 0.).then_some(inverse);
    }
    let cofactors = [cross(rows[1], rows[2]), cross(rows[2], rows[0]), cross(rows[0], rows[1])];
    let determinant = dot(rows[0], cofactors[0]);
    let size = (0..3).map(|i| rows[i][i]).fold(0., f64::max);
    // Columns of the inverse are the cofactors over the determinant; T is symmetric.
    (determinant > ON_A_LINE * size.powi(3)).then(|| cofactors.map(|row| row.map(|value| value / determinant)))
}
