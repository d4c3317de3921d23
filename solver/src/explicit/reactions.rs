//! Reaction forces at some degrees of freedom: RF = m a + c v + K u − F.
//!
//! Only the rows of K that belong to those degrees of freedom are assembled, once, so that a reaction at every step
//! costs nothing beside the step itself.

use std::collections::BTreeMap;

use pogo_formats::mesh::ElementKind;
use pogo_formats::mesh::MeshView;
use pogo_kernels::dynamics::NodalForce;
use pogo_kernels::explicit::elements::{element_stiffness, quadrature};

use super::assemble::Matter;
use super::elements::Elements;
use super::histories::{ReactionForces, Record};
use super::signals::Signals;

/// Rows of K and everything else that reactions need.
#[derive(Debug, Clone)]
pub struct Reactions<'a> {
    /// Degrees of freedom, increasing.
    dofs: Vec<u64>,
    /// First entry of each row in `columns`, (n_dofs + 1,).
    row_first: Vec<usize>,
    /// Degree of freedom of each entry.
    columns: Vec<u64>,
    /// N/m.
    values: Vec<f64>,
    /// m of each, kg.
    mass: Vec<f64>,
    /// α of each, 1/s.
    damping_rate: Vec<f64>,
    /// Forces on these degrees of freedom, with the row's index for `dof`.
    forces: Vec<NodalForce>,
    signals: Signals<'a>,
    time_increment: f64,
    /// Degrees of freedom in `columns` and `dofs`, increasing.
    monitors: Vec<u64>,
    /// Where each of `columns` and each of `dofs` stands in a record.
    column_positions: Vec<usize>,
    dof_positions: Vec<usize>,
    /// Result of the last call.
    reactions: Vec<f64>,
}

impl<'a> Reactions<'a> {
    /// Reactions at `dofs` (increasing), on which `forces` act.
    pub fn new(
        mesh: &MeshView<'_>,
        matter: &Matter,
        dofs: Vec<u64>,
        forces: &[NodalForce],
        signals: Signals<'a>,
        time_increment: f64,
    ) -> Self {
        let (row_first, columns, values) = rows(mesh, matter, &dofs);
        let mut monitors: Vec<u64> = columns.iter().chain(&dofs).copied().collect();
        monitors.sort_unstable();
        monitors.dedup();
        let node = |&dof: &u64| (dof / mesh.dimension as u64) as usize;
        Self {
            mass: dofs.iter().map(|dof| matter.lumped_mass[node(dof)]).collect(),
            damping_rate: dofs.iter().map(|dof| matter.damping_rate.get(node(dof)).copied().unwrap_or(0.0)).collect(),
            forces: forces
                .iter()
                .filter_map(|force| {
                    let row = dofs.binary_search(&force.dof).ok()?;
                    Some(NodalForce { dof: row as u64, ..*force })
                })
                .collect(),
            reactions: vec![0.0; dofs.len()],
            dofs,
            row_first,
            columns,
            values,
            signals,
            time_increment,
            monitors,
            column_positions: Vec::new(),
            dof_positions: Vec::new(),
        }
    }
}

impl ReactionForces for Reactions<'_> {
    fn bind(&mut self, monitors: &[u64]) {
        let find = |dof: &u64| monitors.binary_search(dof).unwrap_or_default();
        self.column_positions = self.columns.iter().map(find).collect();
        self.dof_positions = self.dofs.iter().map(find).collect();
    }

    fn monitors(&self) -> &[u64] {
        &self.monitors
    }

    fn index(&self, dof: u64) -> Option<usize> {
        self.dofs.binary_search(&dof).ok()
    }

    fn at(&mut self, record: Record<'_>) -> &[f64] {
        let dt = self.time_increment;
        let signals = self.signals.table(record.step, 1).values;
        for (row, &position) in self.dof_positions.iter().enumerate() {
            let entries = self.row_first[row]..self.row_first[row + 1];
            let internal: f64 = self.column_positions[entries.clone()]
                .iter()
                .zip(&self.values[entries])
                .map(|(&column, value)| value * record.values[column][0])
                .sum();
            let [_, before, after] = record.values[position];
            let acceleration = (after - before) / (dt * dt);
            let velocity = (after + before) / (2.0 * dt);
            self.reactions[row] = self.mass[row] * (acceleration + self.damping_rate[row] * velocity) + internal;
        }
        for force in &self.forces {
            self.reactions[force.dof as usize] -= force.value * signals[force.signal as usize];
        }
        &self.reactions
    }
}

/// The rows of K, sparse.
fn rows(mesh: &MeshView<'_>, matter: &Matter, dofs: &[u64]) -> (Vec<usize>, Vec<u64>, Vec<f64>) {
    let mut rows: Vec<BTreeMap<u64, f64>> = vec![BTreeMap::new(); dofs.len()];
    let dimension = mesh.dimension;
    let rules = ElementKind::ALL.map(quadrature);
    let elements = Elements::new(mesh);
    // First row of each node that has one.
    let mut touched = vec![false; mesh.n_nodes()];
    for &dof in dofs {
        touched[dof as usize / dimension] = true;
    }
    let n_elements = if dofs.is_empty() { 0 } else { mesh.n_elements() };
    for index in 0..n_elements {
        let Some(element) = elements.get(index) else { continue };
        if !element.nodes.iter().any(|&node| touched[node as usize]) {
            continue;
        }
        let section = &matter.sections[element.section];
        let stiffness =
            element_stiffness(element.kind, &rules[element.kind as usize], &elements.positions(element.nodes), section);
        let factor = matter.stiffness_factor.get(index).copied().unwrap_or(1.0);
        let element_dof =
            |local: usize| u64::from(element.nodes[local / dimension]) * dimension as u64 + (local % dimension) as u64;
        let width = element.nodes.len() * dimension;
        for local_row in 0..width {
            let Ok(row) = dofs.binary_search(&element_dof(local_row)) else { continue };
            for local_column in 0..width {
                *rows[row].entry(element_dof(local_column)).or_insert(0.0) +=
                    factor * stiffness[local_row * width + local_column];
            }
        }
    }
    let mut row_first = vec![0];
    let (mut columns, mut values) = (Vec::new(), Vec::new());
    for row in rows {
        for (column, value) in row {
            columns.push(column);
            values.push(value);
        }
        row_first.push(columns.len());
    }
    (row_first, columns, values)
}
