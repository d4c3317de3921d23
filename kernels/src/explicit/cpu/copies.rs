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
struct Row {
    /// u.
    displacement: usize,
    /// Δu.
    increment: usize,
    /// u among those of the boundary nodes, if it is there.
    boundary: Option<usize>,
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
        let (d, stride) = (tables.dimension, tables.state_stride());
        let mut displacement = vec![0; tables.n_nodes];
        super::own_rows(tables).for_each(|(row, node)| displacement[node] = row);
        let boundary: HashMap<usize, usize> = tables
            .blocks
            .iter()
            .flat_map(|block| {
                let place = |at| (block.first_row + usize::from(tables.boundary[at])) * stride;
                block.boundary.clone().map(move |at| (place(at), at * d))
            })
            .collect();
        let row = |node: usize| Row {
            displacement: displacement[node],
            increment: node * d,
            boundary: boundary.get(&displacement[node]).copied(),
        };
        Self(copied.pairs().map(|(from, to)| [row(from), row(to)]).collect())
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
