//! The product element by element, with the nodes of each element from a table.

use std::fmt::Debug;

use pogo_formats::system::parallel;
use pogo_formats::system::parallel::iterate::*;

use super::Sink;
use super::scratch::{Scratch, numbers};
use crate::simd::{Level, Real};
use crate::voxel::elements::{Batches, Elements};
use crate::voxel::forces::{Cubes, Part};
use crate::voxel::problem::Stiffness;
use pogo_formats::system::parallel::Shared;

/// Tables that give the nodes of elements, level by level, 0 the finest.
pub trait NodeTables: Sync + Debug {
    /// What to call the tables in a report.
    fn name(&self) -> &'static str;
    /// Number of nodes of a level, if there is a table of it.
    fn n_nodes(&self, level: usize) -> Option<usize>;
    /// The eight nodes of an element.
    fn nodes(&self, level: usize, element: usize) -> [u32; 8];
}

/// A periodic model: nodes on opposite faces are one unknown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Joined {
    /// Number of each node in vectors, (n_nodes,), all below `n`.
    pub number: Vec<u32>,
    /// Nodes in vectors.
    pub n: usize,
    /// First voxel along each axis and the one after the last.
    pub period: [[u32; 2]; 3],
}

/// Where the nodes of elements stand.
#[derive(Debug)]
enum Nodes<'a> {
    Tables(&'a dyn NodeTables, usize),
    List(Vec<[u32; 8]>),
}

impl Nodes<'_> {
    #[inline(always)]
    fn of(&self, element: usize) -> [u32; 8] {
        match self {
            Self::Tables(tables, level) => tables.nodes(*level, element),
            Self::List(list) => list[element],
        }
    }
}

/// Elements whose nodes are looked up.
#[derive(Debug)]
pub(super) struct Listed<'a> {
    nodes: Nodes<'a>,
    batches: Batches,
    pub n_nodes: usize,
    period: Option<[[u32; 2]; 3]>,
}

impl<'a> Listed<'a> {
    /// The `n_elements` elements of a level as `tables` have them, if they do.
    pub fn by_tables(tables: &'a dyn NodeTables, level: usize, n_elements: usize) -> Option<Self> {
        let n_nodes = tables.n_nodes(level)?;
        Some(Self::new(Nodes::Tables(tables, level), n_nodes, None, n_elements))
    }

    /// The elements of the finest level with joined nodes.
    pub fn joined(mut elements: Elements, joined: &Joined) -> Self {
        elements.nodes.iter_mut().flatten().for_each(|node| *node = joined.number[*node as usize]);
        let n_elements = elements.nodes.len();
        Self::new(Nodes::List(elements.nodes), joined.n, Some(joined.period), n_elements)
    }

    fn new(nodes: Nodes<'a>, n_nodes: usize, period: Option<[[u32; 2]; 3]>, n_elements: usize) -> Self {
        let mut elements = Elements { n_nodes, period, ..Elements::default() };
        elements.nodes = (0..n_elements).into_par_iter().map(|e| nodes.of(e)).collect();
        Self { batches: Batches::new(&elements), nodes, n_nodes, period }
    }

    /// The same elements with the nodes found here.
    pub fn renumber(&self, elements: &mut Elements) {
        elements.nodes.par_iter_mut().enumerate().for_each(|(e, nodes)| *nodes = self.nodes.of(e));
        (elements.n_nodes, elements.period) = (self.n_nodes, self.period);
        elements.blocks_of_voxels = elements.blocks_of_voxels.filter(|_| self.period.is_none());
    }

    /// As [`Product::apply`](super::Product::apply); `finish` gets the sums of pieces of consecutive nodes.
    pub fn apply<T: Real, const N: usize>(
        &self,
        x: &[T],
        parts: &[Part<T>; N],
        stiffness: &Stiffness,
        scratch: &mut Scratch,
        finish: Sink<'_, T>,
    ) -> f64 {
        const PIECE: usize = 4096;
        let y = numbers::<T>(&mut scratch.vectors[0], x.len());
        add_elements(&self.batches, &|e| self.nodes.of(e), stiffness, parts, x, y);
        let (n, y) = (y.len(), Shared::new(y));
        let results = parallel::map(n.div_ceil(3 * PIECE), &|i| {
            // SAFETY: each piece has its own numbers.
            finish(i * PIECE, unsafe { y.part(3 * i * PIECE..n.min(3 * (i + 1) * PIECE)) })
        });
        results.iter().sum()
    }
}

/// y = Σ s_p K_p x over all elements of the batches and their parts p, in one order. `nodes` and `stiffness` give the nodes
/// of an element and s_p.
pub(super) fn add_elements<T: Real, const N: usize>(
    batches: &Batches,
    nodes: &(dyn Fn(usize) -> [u32; 8] + Sync),
    stiffness: &Stiffness,
    parts: &[Part<T>; N],
    x: &[T],
    y: &mut [T],
) {
    y.fill(T::default());
    let (n, level) = (y.len(), Level::detect());
    let y = Shared::new(y);
    batches.for_each(&|range| {
        // SAFETY: batches that run at the same time share no node; within one there is one thread.
        let y = unsafe { y.part(0..n) };
        let zeros = [[[T::default(); 8]; 8]; 3];
        let mut f = zeros;
        for at in range.clone().step_by(8) {
            let n = (range.end - at).min(8);
            let (mut u, mut e, mut found) = (zeros, [[T::default(); 8]; N], [[0; 8]; 8]);
            for lane in 0..n {
                found[lane] = nodes(at + lane);
                (0..N).for_each(|p| e[p][lane] = T::from_f64(stiffness(at + lane, p)));
                for (c, &node) in found[lane].iter().enumerate() {
                    let from = &x[3 * node as usize..3 * node as usize + 3];
                    for a in 0..3 {
                        u[a][c][lane] = from[a];
                    }
                }
            }
            level.run(Cubes { parts, displacements: &u, stiffness: &e, forces: &mut f });
            for lane in 0..n {
                for (c, &node) in found[lane].iter().enumerate() {
                    let to = &mut y[3 * node as usize..3 * node as usize + 3];
                    for a in 0..3 {
                        to[a] += f[a][c][lane];
                    }
                }
            }
        }
    });
}
