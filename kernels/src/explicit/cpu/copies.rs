//! Displacements that are copied from node to node after each step.
//!
//! Blocks write their own nodes in place while others go on, so a step with copies is a call of its own: all blocks make
//! it, then one thread copies the rows. Sides have few nodes beside the mesh.

use std::collections::HashMap;

use pogo_formats::dynamics::CopiedDisplacements;

use super::tables::Tables;
use crate::simd::Real;

/// Where a node's numbers stand.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    /// u.
    pub displacement: usize,
    /// Δu.
    pub increment: usize,
    /// u among those of the boundary nodes, if it is there.
    pub boundary: Option<usize>,
}

/// Where the numbers of own nodes stand.
pub(super) struct Places {
    dimension: usize,
    displacement: Vec<usize>,
    boundary: HashMap<usize, usize>,
}

impl Places {
    /// Of the own nodes of a stepper, by their local numbers.
    pub fn new<T: Real>(tables: &Tables<T>) -> Self {
        let (d, stride) = (tables.dimension, tables.state_stride());
        let mut displacement = vec![0; tables.n_nodes];
        super::own_rows(tables).for_each(|(row, node)| displacement[node] = row);
        let boundary = tables
            .blocks
            .iter()
            .flat_map(|block| {
                let place = |at| (block.first_row + usize::from(tables.boundary[at])) * stride;
                block.boundary.clone().map(move |at| (place(at), at * d))
            })
            .collect();
        Self { dimension: d, displacement, boundary }
    }

    /// The numbers of an own node.
    pub fn row(&self, node: usize) -> Row {
        let displacement = self.displacement[node];
        Row { displacement, increment: node * self.dimension, boundary: self.boundary.get(&displacement).copied() }
    }
}

/// The rows that are read, each with the one that becomes equal to it.
#[derive(Debug, Default)]
pub(super) struct Copies(Vec<[Row; 2]>);

impl Copies {
    /// Of a stepper of the whole model.
    pub fn new<T: Real>(tables: &Tables<T>, copied: &CopiedDisplacements) -> Self {
        if copied.is_empty() {
            return Self::default();
        }
        let places = Places::new(tables);
        Self(copied.pairs().map(|(from, to)| [places.row(from), places.row(to)]).collect())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Copies u and Δu of nodes with `d` components. `boundary` are the boundary nodes of the step that comes.
    /// `boundary_increment` are their increments, or empty.
    pub fn make<T: Real>(
        &self,
        d: usize,
        displacement: &mut [T],
        increment: &mut [T],
        [boundary, boundary_increment]: [&mut [T]; 2],
    ) {
        for [from, to] in &self.0 {
            for c in 0..d {
                let u = displacement[from.displacement + c];
                displacement[to.displacement + c] = u;
                if let Some(row) = to.boundary {
                    boundary[row + c] = u;
                }
                let du = increment[from.increment + c];
                increment[to.increment + c] = du;
                if let (Some(row), false) = (to.boundary, boundary_increment.is_empty()) {
                    boundary_increment[row + c] = du;
                }
            }
        }
    }
}
