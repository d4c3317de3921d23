//! Products that look the nodes of elements up: in offset tables, in a hash, in a list.

use pogo_formats::domains::SubDomainsView;
use pogo_formats::voxel::{BricksView, HashView, OffsetView};
use rayon::prelude::*;

use super::domains::DomainProduct;
use super::first::fine_elements;
use super::forces::Cubes;
use super::number::Shared;
use super::product::{Scratch, numbers};
use super::split::{Batches, Elements};
use crate::simd::{Level, Real};

/// How the nodes of elements are found.
#[derive(Debug, Clone, Copy, Default)]
pub enum Grid<'a> {
    /// By the bricks and their neighbours.
    #[default]
    Bricks,
    /// By the offset tables of the levels, the finest first.
    Offset(&'a [OffsetView<'a>]),
    /// By the hashes of the levels, the finest first.
    Hash(&'a [HashView<'a>]),
    /// Sub-domains with vectors of their own, which exchange what they need along their messages.
    Domains(SubDomainsView<'a>),
    /// Nodes that are one and the same.
    Joined(&'a Joined),
}

/// A model that repeats itself: nodes on opposite faces are one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Joined {
    /// Number that each node has in vectors, (n_nodes,), all below `n`.
    pub number: Vec<u32>,
    /// Nodes left.
    pub n: usize,
    /// First voxel and the one after the last along each axis.
    pub period: [[u32; 2]; 3],
}

/// As [`Grid`], on one level and ready for products.
#[derive(Debug)]
pub(super) enum Ways<'a> {
    Bricks,
    Lookup(Box<Lookup<'a>>),
    Domains(DomainProduct),
}

impl<'a> Ways<'a> {
    pub fn new(bricks: &BricksView, grid: Grid<'a>, level: usize) -> Self {
        let lookup = |nodes: Nodes<'a>, n_nodes: usize, period| {
            let mut elements = Elements { n_nodes, period, ..Elements::default() };
            elements.nodes = (0..bricks.n_elements()).into_par_iter().map(|e| nodes.of(e)).collect();
            Self::Lookup(Box::new(Lookup { batches: Batches::new(&elements), nodes, n_nodes, period }))
        };
        match grid {
            Grid::Offset(levels) if level < levels.len() => {
                lookup(Nodes::Offset(levels[level]), levels[level].n_nodes, None)
            }
            Grid::Hash(levels) if level < levels.len() => {
                lookup(Nodes::Hash(levels[level]), levels[level].n_nodes(), None)
            }
            Grid::Joined(joined) => {
                let mut list = fine_elements(bricks).nodes;
                list.iter_mut().flatten().for_each(|node| *node = joined.number[*node as usize]);
                lookup(Nodes::List(list), joined.n, Some(joined.period))
            }
            Grid::Domains(domains) if level == 0 && domains.n_domains() > 1 => {
                Self::Domains(DomainProduct::new(bricks, &domains))
            }
            _ => Self::Bricks,
        }
    }

    /// Nodes of the vectors, where bricks do not say it.
    pub fn n_nodes(&self) -> Option<usize> {
        match self {
            Self::Lookup(lookup) => Some(lookup.n_nodes),
            _ => None,
        }
    }

    /// The elements of the bricks, with their nodes as they are found here.
    pub fn elements(&self, mut elements: Elements) -> Elements {
        if let Self::Lookup(lookup) = self {
            elements.nodes.par_iter_mut().enumerate().for_each(|(e, nodes)| *nodes = lookup.nodes.of(e));
            (elements.n_nodes, elements.period) = (lookup.n_nodes, lookup.period);
        }
        elements
    }

    /// As [`Product::apply`](super::Product::apply).
    pub fn apply<T: Real>(
        &self,
        x: &[T],
        blocks: &[[[T; 3]; 3]; 8],
        stiffness: &(dyn Fn(usize) -> f64 + Sync),
        fixed: &[u32],
        scratch: &mut Scratch,
        sink: impl Fn(usize, &mut [T]) -> f64 + Sync,
    ) -> f64 {
        // y of nodes `first`, ..., as the caller gets it.
        let finish = |first: usize, y: &mut [T]| {
            let (begin, end) = (3 * first as u32, (3 * first + y.len()) as u32);
            let from = fixed.partition_point(|&dof| dof < begin);
            fixed[from..].iter().take_while(|&&dof| dof < end).for_each(|dof| y[(dof - begin) as usize] = T::default());
            sink(first, y)
        };
        match self {
            Self::Bricks => 0.0,
            Self::Domains(domains) => domains.apply(x, blocks, stiffness, scratch, finish),
            Self::Lookup(lookup) => {
                let y = numbers::<T>(&mut scratch.values[0], x.len());
                let asked = Asked { nodes: &|e| lookup.nodes.of(e), stiffness };
                add_elements(&lookup.batches, &asked, blocks, x, y);
                const NODES: usize = 4096;
                scratch.sums.clear();
                y.par_chunks_mut(3 * NODES)
                    .enumerate()
                    .map(|(i, y)| finish(i * NODES, y))
                    .collect_into_vec(&mut scratch.sums);
                scratch.sums.iter().sum()
            }
        }
    }
}

/// Elements whose nodes are looked up.
#[derive(Debug)]
pub(super) struct Lookup<'a> {
    nodes: Nodes<'a>,
    batches: Batches,
    n_nodes: usize,
    period: Option<[[u32; 2]; 3]>,
}

#[derive(Debug)]
enum Nodes<'a> {
    Offset(OffsetView<'a>),
    Hash(HashView<'a>),
    List(Vec<[u32; 8]>),
}

impl Nodes<'_> {
    #[inline(always)]
    fn of(&self, element: usize) -> [u32; 8] {
        match self {
            Self::Offset(view) => view.nodes(element),
            Self::Hash(view) => view.nodes(element),
            Self::List(list) => list[element],
        }
    }
}

/// What is asked of each element: its nodes, its E h.
pub(super) struct Asked<'a> {
    pub nodes: &'a (dyn Fn(usize) -> [u32; 8] + Sync),
    pub stiffness: &'a (dyn Fn(usize) -> f64 + Sync),
}

/// y = Σ E h K x over all elements of the batches, in one order.
pub(super) fn add_elements<T: Real>(batches: &Batches, asked: &Asked, blocks: &[[[T; 3]; 3]; 8], x: &[T], y: &mut [T]) {
    y.fill(T::default());
    let (n, level) = (y.len(), Level::detect());
    let y = Shared::new(y);
    batches.for_each(|range| {
        // SAFETY: batches that run at the same time share no node; within one there is one thread.
        let y = unsafe { y.part(0..n) };
        let zeros = [[[T::default(); 8]; 8]; 3];
        let mut f = zeros;
        for at in range.clone().step_by(8) {
            let n = (range.end - at).min(8);
            let (mut u, mut e, mut found) = (zeros, [T::default(); 8], [[0; 8]; 8]);
            for lane in 0..n {
                found[lane] = (asked.nodes)(at + lane);
                e[lane] = T::from_f64((asked.stiffness)(at + lane));
                for (c, &node) in found[lane].iter().enumerate() {
                    let from = &x[3 * node as usize..3 * node as usize + 3];
                    for a in 0..3 {
                        u[a][c][lane] = from[a];
                    }
                }
            }
            level.run(Cubes { blocks, displacements: &u, stiffness: &e, forces: &mut f });
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
