//! Displacements that are copied from node to node after each step.
//!
//! Blocks write their own nodes in place while others go on, so a step with copies is a call of its own: all blocks make
//! it, then one thread copies the rows. Sides have few nodes beside the mesh.
//!
//! A part that reads a copied node reads the node that it is copied from, too. It copies before the next step, when its halo has
//! come. So a copy needs no message of its own.

use std::collections::HashMap;

use pogo_formats::dynamics::CopiedDisplacements;

use super::tables::Tables;
use crate::dynamics::Part;
use crate::explicit::problem::StepperError;
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

/// Where u and Δu of a node stand, own or of the halo: in the state, and among the boundary nodes.
#[derive(Debug, Clone, Copy)]
struct Spot {
    displacement: [Option<usize>; 2],
    increment: [Option<usize>; 2],
}

impl Spot {
    fn new<T: Real>(tables: &Tables<T>, places: &Places, node: usize) -> Self {
        if node < tables.n_nodes {
            let Row { displacement, increment, boundary } = places.row(node);
            return Self { displacement: [Some(displacement), boundary], increment: [Some(increment), boundary] };
        }
        if tables.computes_once() {
            let in_state = [Some(node * tables.dimension), None];
            return Self { displacement: in_state, increment: in_state };
        }
        let row = tables.boundary.len() + node - tables.n_nodes;
        let in_boundary = [None, Some(row * tables.dimension)];
        Self { displacement: in_boundary, increment: in_boundary }
    }
}

/// Where numbers are read, each with where they are written.
#[derive(Debug, Default)]
pub(super) struct Copies(Vec<[Spot; 2]>);

impl Copies {
    /// Of nodes by their numbers in a part.
    pub fn new<T: Real>(tables: &Tables<T>, copied: &CopiedDisplacements) -> Self {
        if copied.is_empty() {
            return Self::default();
        }
        let places = Places::new(tables);
        Self(copied.pairs().map(|(from, to)| [from, to].map(|node| Spot::new(tables, &places, node))).collect())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Copies u and Δu of nodes with `d` components. Each comes as that of the state and of the boundary nodes of the step that
    /// comes. Arrays may end before the halo, where nothing reads it.
    pub fn make<T: Real>(&self, d: usize, mut u: [&mut [T]; 2], mut du: [&mut [T]; 2]) {
        for [from, to] in &self.0 {
            copy(from.displacement, to.displacement, d, &mut u);
            copy(from.increment, to.increment, d, &mut du);
        }
    }
}

/// Copies a row of `d` numbers from the first array that has it to all that have the other.
fn copy<T: Real>(from: [Option<usize>; 2], to: [Option<usize>; 2], d: usize, arrays: &mut [&mut [T]; 2]) {
    for c in 0..d {
        let read = |(at, array): (Option<usize>, &&mut [T])| array.get(at? + c).copied();
        let Some(number) = from.into_iter().zip(arrays.iter()).find_map(read) else { return };
        for (at, array) in to.into_iter().zip(arrays.iter_mut()) {
            if let Some(copy) = at.and_then(|at| array.get_mut(at + c)) {
                *copy = number;
            }
        }
    }
}

/// What is copied to own nodes and to the halo of a part, by its numbers.
///
/// # Errors
/// The part does not read a node that is copied from.
pub(super) fn of_part(copied: &CopiedDisplacements, part: &Part) -> Result<CopiedDisplacements, StepperError> {
    let mut of_part = CopiedDisplacements::default();
    for (from, to) in copied.pairs() {
        if let Some(to) = part.local(to) {
            of_part.from.push(part.local(from).ok_or(StepperError::Copied)? as u32);
            of_part.to.push(to as u32);
        }
    }
    Ok(of_part)
}
