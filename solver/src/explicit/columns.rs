//! Columns of traces that follow from several degrees of freedom: reactions, and strain and stress of elements.
//!
//! ```text
//! RF_n = m A_n + c V_n + f_int(u_n + β/Δt Δu_n − Σ_l Y_l z_l) − F_n    on prescribed components, 0 elsewhere
//! ```
//!
//! with the force A p_n of a fluid that touches the node, and that of linear constraints, among F_n.
//!
//! Only the rows of K that belong to those components are assembled, once, so that a reaction at every step costs
//! nothing beside the step itself. Strain and stress of an element are means over its volume, from u_n of its nodes, and with
//! relaxation from their memory variables.

use std::collections::{BTreeMap, HashSet};

use pogo_formats::explicit::ElementQuantity;
use pogo_formats::mesh::MeshView;
use pogo_formats::write::traces::{TraceColumn, TraceQuantity, Traces};
use pogo_kernels::dynamics::NodalForce;
use pogo_kernels::dynamics::signals::Signals;
use pogo_kernels::explicit::elements::{ElementError, ElementProbe, element_probes, energy_density, mises};
use pogo_kernels::explicit::{LinearRows, MOST_MECHANISMS};

use super::matter::{Matter, Rule};
use crate::run::conditions::Dofs;
use crate::run::histories::{DerivedColumns, Record};

/// Reactions at some degrees of freedom, and columns of some elements.
pub(super) struct Columns<'a> {
    reactions: Reactions<'a>,
    elements: ElementColumns,
}

impl<'a> Columns<'a> {
    /// Reactions at `dofs` (increasing), on which `forces` and the constraints `rows` act, and the columns of elements in `traces`.
    ///
    /// # Errors
    /// A trace of an element that is not there.
    pub fn new(
        mesh: &MeshView<'_>,
        matter: &Matter,
        traces: &Traces,
        (dofs, forces, rows): (Vec<u64>, &[NodalForce], &LinearRows),
        signals: Signals<'a>,
        time_increment: f64,
    ) -> Result<Self, ElementError> {
        let mut reactions = Reactions::new(mesh, matter, dofs, forces, signals, time_increment);
        let named: HashSet<u64> = rows.dofs.iter().copied().collect();
        let held = reactions.dofs.iter().enumerate().filter(|(_, dof)| named.contains(dof));
        let first = (1 + matter.relaxation.rates.len() as u64) * rows.n_dofs;
        reactions.held = held.map(|(row, dof)| (row, first + dof)).collect();
        Ok(Self { reactions, elements: ElementColumns::new(mesh, matter, traces)? })
    }
}

/// Numbers of reactions come first, then those of elements.
impl DerivedColumns for Columns<'_> {
    fn monitors(&self) -> Vec<u64> {
        let mut monitors = self.reactions.monitors();
        monitors.extend(self.elements.monitors());
        monitors
    }

    fn bind(&mut self, monitors: &[u64]) {
        self.reactions.bind(monitors);
        self.elements.bind(monitors);
    }

    fn column(&mut self, column: &TraceColumn) -> Option<usize> {
        match column.quantity {
            TraceQuantity::Nodal(_) => {
                let dof = self.elements.dofs.at(column.index, column.component);
                self.reactions.dofs.binary_search(&dof).ok()
            }
            TraceQuantity::Element(quantity) => {
                Some(self.reactions.dofs.len() + self.elements.column(column.index, quantity, column.component))
            }
        }
    }

    fn value(&mut self, column: usize, record: Record<'_>) -> f64 {
        match column.checked_sub(self.reactions.dofs.len()) {
            None => self.reactions.at(record)[column],
            Some(column) => self.elements.value(column, record),
        }
    }
}

/// Rows of K, masses, damping and forces at some degrees of freedom.
struct Reactions<'a> {
    /// Increasing.
    dofs: Vec<u64>,
    /// First entry of each row in `columns`, (n_dofs + 1,).
    row_first: Vec<usize>,
    /// Degree of freedom of each entry.
    columns: Vec<u64>,
    /// Of u, N/m.
    values: Vec<f64>,
    /// Of Δu, N/m; empty without damping in proportion to the stiffness.
    lagged: Vec<f64>,
    /// Of z_l of each mechanism, N/m.
    relaxed: Vec<Vec<f64>>,
    /// Row, column and N s/m of dashpots over 2Δt, N/m.
    dashpots: Vec<(usize, u64, f64)>,
    /// m of each degree of freedom, kg.
    mass: Vec<f64>,
    /// α of each degree of freedom, 1/s.
    damping_rate: Vec<f64>,
    /// Forces on these degrees of freedom, with the row's index for `dof`.
    forces: Vec<NodalForce>,
    /// Row, degree of freedom of a fluid that touches it, and the part of the surface, m².
    wet: Vec<(usize, u64, f64)>,
    /// Where those degrees of freedom stand in a record.
    wet_positions: Vec<usize>,
    /// Row, and what monitors the force of linear constraints on its degree of freedom.
    held: Vec<(usize, u64)>,
    held_positions: Vec<usize>,
    signals: Signals<'a>,
    time_increment: f64,
    n_dofs: u64,
    /// Where each of `columns` stands in a record.
    column_positions: Vec<usize>,
    /// Where z_l of each of `columns` stands in a record, a mechanism.
    relaxed_positions: Vec<Vec<usize>>,
    /// Where the column of each of `dashpots` stands in a record: its node's own components are there.
    dashpot_positions: Vec<usize>,
    /// Where each of `dofs` stands in a record.
    dof_positions: Vec<usize>,
    /// Reactions at the step that was computed last.
    reactions: Vec<f64>,
    step: Option<u64>,
}

impl<'a> Reactions<'a> {
    fn new(
        mesh: &MeshView<'_>,
        matter: &Matter,
        dofs: Vec<u64>,
        forces: &[NodalForce],
        signals: Signals<'a>,
        time_increment: f64,
    ) -> Self {
        let Rows { row_first, columns, values, mut lagged, relaxed } = rows(mesh, matter, &dofs, time_increment);
        if !matter.is_lagged() {
            lagged.clear();
        }
        let node = |&dof: &u64| (dof / mesh.dimension as u64) as usize;
        let dashpots: Vec<_> = dofs
            .iter()
            .enumerate()
            .flat_map(|(row, &dof)| {
                let (node, component) = (dof / mesh.dimension as u64, (dof % mesh.dimension as u64) as usize);
                let of_node = matter.dashpot(node as u32).into_iter();
                of_node.flat_map(move |dashpot| {
                    let of_row = dashpot.matrix[component].into_iter().take(mesh.dimension);
                    let column = node * mesh.dimension as u64;
                    (column..).zip(of_row).map(move |(column, value)| (row, column, 0.5 * value / time_increment))
                })
            })
            .collect();
        let in_rows = |force: &NodalForce| {
            let row = dofs.binary_search(&force.dof).ok()?;
            Some(NodalForce { dof: row as u64, ..*force })
        };
        let d = mesh.dimension as u64;
        let components = matter.touching.pairs().flat_map(|pair| (0..d).map(move |c| (pair, c)));
        let wet = components.filter_map(|(pair, c)| {
            let row = dofs.binary_search(&(u64::from(pair.solid) * d + c)).ok()?;
            Some((row, u64::from(pair.fluid) * d, pair.area[c as usize]))
        });
        Self {
            wet: wet.collect(),
            wet_positions: Vec::new(),
            held: Vec::new(),
            held_positions: Vec::new(),
            mass: dofs.iter().map(|dof| matter.lumped_mass[node(dof)]).collect(),
            damping_rate: dofs.iter().map(|dof| matter.damping_rate.get(node(dof)).copied().unwrap_or(0.0)).collect(),
            forces: forces.iter().filter_map(in_rows).collect(),
            reactions: vec![0.0; dofs.len()],
            dashpot_positions: Vec::new(),
            dofs,
            row_first,
            columns,
            values,
            lagged,
            relaxed,
            n_dofs: mesh.coordinates.len() as u64,
            relaxed_positions: Vec::new(),
            dashpots,
            signals,
            time_increment,
            column_positions: Vec::new(),
            dof_positions: Vec::new(),
            step: None,
        }
    }

    fn monitors(&self) -> Vec<u64> {
        let of_fluids = self.wet.iter().map(|(_, dof, _)| dof);
        let of_rows = self.held.iter().map(|(_, monitor)| monitor);
        let dofs = self.columns.iter().chain(&self.dofs).chain(of_fluids).chain(of_rows).copied();
        dofs.chain((0..self.relaxed.len()).flat_map(|mechanism| self.memories(mechanism))).collect()
    }

    /// Monitors of z_l of each of `columns`.
    fn memories(&self, mechanism: usize) -> impl Iterator<Item = u64> {
        let first = (1 + mechanism as u64) * self.n_dofs;
        self.columns.iter().map(move |column| first + column)
    }

    fn bind(&mut self, monitors: &[u64]) {
        let find = |dof: &u64| monitors.binary_search(dof).unwrap_or_default();
        self.column_positions = self.columns.iter().map(find).collect();
        let of_mechanism = |mechanism| self.memories(mechanism).map(|dof| find(&dof)).collect();
        self.relaxed_positions = (0..self.relaxed.len()).map(of_mechanism).collect();
        self.dashpot_positions = self.dashpots.iter().map(|(_, column, _)| find(column)).collect();
        self.dof_positions = self.dofs.iter().map(find).collect();
        self.held_positions = self.held.iter().map(|(_, monitor)| find(monitor)).collect();
        self.wet_positions = self.wet.iter().map(|(_, dof, _)| find(dof)).collect();
    }

    fn at(&mut self, record: Record<'_>) -> &[f64] {
        if self.step.replace(record.step) == Some(record.step) {
            return &self.reactions;
        }
        let dt = self.time_increment;
        let signals = self.signals.table(record.step, 1).values;
        for (row, &position) in self.dof_positions.iter().enumerate() {
            let entries = self.row_first[row]..self.row_first[row + 1];
            let mut internal: f64 = self.column_positions[entries.clone()]
                .iter()
                .zip(&self.values[entries.clone()])
                .map(|(&column, value)| value * record.values[column][0])
                .sum();
            if let Some(lagged) = self.lagged.get(entries.clone()) {
                let columns = self.column_positions[entries.clone()].iter();
                internal += columns.zip(lagged).map(|(&column, value)| value * record.values[column][1]).sum::<f64>();
            }
            for (relaxed, positions) in self.relaxed.iter().zip(&self.relaxed_positions) {
                let columns = positions[entries.clone()].iter().zip(&relaxed[entries.clone()]);
                internal -= columns.map(|(&column, value)| value * record.values[column][0]).sum::<f64>();
            }
            let [_, before, after] = record.values[position];
            let acceleration = (after - before) / (dt * dt);
            let velocity = (after + before) / (2.0 * dt);
            self.reactions[row] = self.mass[row] * (acceleration + self.damping_rate[row] * velocity) + internal;
        }
        for (&(row, _, value), &column) in self.dashpots.iter().zip(&self.dashpot_positions) {
            let [_, before, after] = record.values[column];
            self.reactions[row] += value * (before + after);
        }
        for force in &self.forces {
            self.reactions[force.dof as usize] -= force.value * signals[force.signal as usize];
        }
        for (&(row, _, area), &position) in self.wet.iter().zip(&self.wet_positions) {
            // Less A p.
            self.reactions[row] += area * record.values[position][1] / dt;
        }
        for (&(row, _), &position) in self.held.iter().zip(&self.held_positions) {
            self.reactions[row] -= record.values[position][0];
        }
        &self.reactions
    }
}

/// An element whose strain is asked for.
struct Probed {
    probe: ElementProbe,
    /// Where u of its nodes stands in a record, by node and component.
    positions: [[usize; 3]; 8],
    /// The same of z_l, and Y_l, of each mechanism.
    relaxed: Vec<([[usize; 3]; 8], f64)>,
}

/// Columns of elements.
struct ElementColumns {
    /// Element indices, increasing.
    elements: Vec<u32>,
    probed: Vec<Probed>,
    /// Index among `probed`, quantity and component of each column.
    columns: Vec<(usize, ElementQuantity, usize)>,
    dofs: Dofs,
    /// Step, index among `probed`, strain and stress that were computed last. The columns of an element stand side by side.
    last: Option<(u64, usize, [[f64; 6]; 2])>,
}

impl ElementColumns {
    fn new(mesh: &MeshView<'_>, matter: &Matter, traces: &Traces) -> Result<Self, ElementError> {
        let columns = traces.groups.iter().flat_map(|group| &group.columns);
        let is_element = |column: &&TraceColumn| matches!(column.quantity, TraceQuantity::Element(_));
        let mut elements: Vec<u32> = columns.filter(is_element).map(|column| column.index).collect();
        elements.sort_unstable();
        elements.dedup();
        let probes = element_probes(mesh, &matter.sections, &matter.stiffness_factor, &elements)?;
        let sections: Vec<u32> = mesh.groups.iter().flat_map(|group| group.section).copied().collect();
        let n_mechanisms = matter.relaxation.rates.len();
        let probed = elements.iter().zip(probes).map(|(&element, probe)| {
            let strengths = matter.relaxation.of_section(sections[element as usize] as usize);
            let relaxed = strengths.into_iter().take(n_mechanisms).map(|strength| ([[0; 3]; 8], strength)).collect();
            Probed { probe, positions: [[0; 3]; 8], relaxed }
        });
        let probed = probed.collect();
        Ok(Self { elements, probed, columns: Vec::new(), dofs: super::dofs(mesh), last: None })
    }

    fn monitors(&self) -> impl Iterator<Item = u64> {
        let components = 0..self.dofs.dimension as u8;
        let n_dofs = self.dofs.n() as u64;
        self.probed.iter().flat_map(move |probed| {
            let components = components.clone();
            let dofs = probed
                .probe
                .nodes()
                .iter()
                .flat_map(move |&node| components.clone().map(move |component| self.dofs.at(node, component)));
            (0..=probed.relaxed.len() as u64).flat_map(move |beyond| dofs.clone().map(move |dof| beyond * n_dofs + dof))
        })
    }

    fn bind(&mut self, monitors: &[u64]) {
        let n_dofs = self.dofs.n() as u64;
        for Probed { probe, positions, relaxed } in &mut self.probed {
            let all = std::iter::once(positions).chain(relaxed.iter_mut().map(|(positions, _)| positions));
            for (beyond, positions) in (0..).zip(all) {
                for (positions, &node) in positions.iter_mut().zip(probe.nodes()) {
                    for (component, position) in (0..).zip(positions).take(self.dofs.dimension) {
                        let dof = beyond * n_dofs + self.dofs.at(node, component);
                        *position = monitors.binary_search(&dof).unwrap_or_default();
                    }
                }
            }
        }
    }

    fn column(&mut self, element: u32, quantity: ElementQuantity, component: u8) -> usize {
        let probed = self.elements.binary_search(&element).unwrap_or_default();
        self.columns.push((probed, quantity, usize::from(component)));
        self.columns.len() - 1
    }

    fn value(&mut self, column: usize, record: Record<'_>) -> f64 {
        let (index, quantity, component) = self.columns[column];
        let [strain, stress] = match self.last {
            Some((step, last, found)) if (step, last) == (record.step, index) => found,
            _ => {
                let Probed { probe, positions, relaxed } = &self.probed[index];
                let of = |positions: &[[usize; 3]; 8]| {
                    probe.strain_and_stress(|node, component| record.values[positions[node][component]][0])
                };
                let (strain, mut stress) = of(positions);
                for (positions, strength) in relaxed {
                    let (_, of_memory) = of(positions);
                    stress.iter_mut().zip(of_memory).for_each(|(stress, memory)| *stress -= strength * memory);
                }
                self.last = Some((record.step, index, [strain, stress]));
                [strain, stress]
            }
        };
        match quantity {
            ElementQuantity::Strain => strain[component],
            ElementQuantity::Stress => stress[component],
            ElementQuantity::Mises => mises(stress),
            ElementQuantity::EnergyDensity => energy_density(&strain, &stress),
        }
    }
}

/// Rows of K, of C/Δt, C = βK, and of K_l = Σ_e Y_l K_e, sparse.
struct Rows {
    row_first: Vec<usize>,
    columns: Vec<u64>,
    values: Vec<f64>,
    lagged: Vec<f64>,
    relaxed: Vec<Vec<f64>>,
}

/// Those of some degrees of freedom.
fn rows(mesh: &MeshView<'_>, matter: &Matter, dofs: &[u64], time_increment: f64) -> Rows {
    let mut rows: Vec<BTreeMap<u64, [f64; 2 + MOST_MECHANISMS]>> = vec![BTreeMap::new(); dofs.len()];
    if !dofs.is_empty() {
        let mut is_wanted = vec![false; mesh.coordinates.len()];
        dofs.iter().for_each(|&dof| is_wanted[dof as usize] = true);
        matter.visit_stiffness(
            mesh,
            |dof| is_wanted[dof],
            |element_dofs, stiffness, Rule { factor, beta, strengths }| {
                for (stiffness, &dof) in stiffness.chunks_exact(element_dofs.len()).zip(element_dofs) {
                    let Ok(row) = dofs.binary_search(&(dof as u64)) else { continue };
                    for (&column, value) in element_dofs.iter().zip(stiffness) {
                        let entry = rows[row].entry(column as u64).or_default();
                        entry[0] += factor * value;
                        entry[1] += beta / time_increment * factor * value;
                        for (entry, strength) in entry[2..].iter_mut().zip(strengths) {
                            *entry += strength * factor * value;
                        }
                    }
                }
            },
        );
    }
    let mut row_first = vec![0];
    let (mut columns, mut values, mut lagged) = (Vec::new(), Vec::new(), Vec::new());
    let mut relaxed = vec![Vec::new(); matter.relaxation.rates.len()];
    for row in rows {
        for (column, [value, of_increment, of_memory @ ..]) in row {
            columns.push(column);
            values.push(value);
            lagged.push(of_increment);
            relaxed.iter_mut().zip(of_memory).for_each(|(relaxed, value)| relaxed.push(value));
        }
        row_first.push(columns.len());
    }
    Rows { row_first, columns, values, lagged, relaxed }
}
