//! The product y = K x of the finest level.

mod by_brick;
mod domains;
mod listed;
mod plane;
mod scratch;

use std::sync::Arc;

use pogo_formats::domains::SubDomainsView;
use pogo_formats::voxel::BricksView;

use super::cube::Cube;
use super::elements::Elements;
use super::forces::Part;
use super::multigrid::Division;
use super::problem::{StaticProblem, Voxels};
use super::share::{RankShares, Share};
use crate::ranks::Ranks;
use crate::simd::Real;
use by_brick::{BrickProduct, chunk_size};
use domains::DomainProduct;
use listed::Listed;
pub use listed::{Joined, NodeTables};
pub use scratch::Scratch;
use scratch::numbers;

/// How the nodes of elements are found.
#[derive(Debug, Clone, Copy, Default)]
pub enum Grid<'a> {
    /// By the bricks and their neighbours.
    #[default]
    Bricks,
    /// In tables of the levels.
    Tables(&'a dyn NodeTables),
    /// In sub-domains with vectors of their own, which exchange the values of their halos.
    Domains(SubDomainsView<'a>),
    /// By bricks, where some nodes are one and the same.
    Joined(&'a Joined),
}

/// Most ranks that can share a mesh.
pub fn most_ranks(bricks: &BricksView) -> usize {
    bricks.n_bricks().div_ceil(chunk_size(bricks.n_bricks()))
}

/// The product with the stiffness of a voxel mesh.
///
/// The result has the same bits for every number of threads.
#[derive(Debug)]
pub struct Product<'a> {
    voxels: Voxels<'a>,
    /// Cubes of the parts of the stiffness; see [`Voxels`].
    cubes: Vec<Cube>,
    /// Fixed degrees of freedom as they were given, ascending.
    fixed: Vec<u32>,
    path: Path<'a>,
}

/// Takes y of nodes that follow each other, the first of which it is told, and returns a part of a sum. It is no type parameter: a
/// product would be compiled anew for each use of it.
pub type Sink<'a, T> = &'a (dyn Fn(usize, &mut [T]) -> f64 + Sync);
/// A [`Sink`] that is told the brick, too, before the node.
type BrickSink<'a, T> = &'a (dyn Fn(usize, usize, &mut [T]) -> f64 + Sync);

/// How a product is computed.
#[derive(Debug)]
enum Path<'a> {
    Bricks(Box<BrickProduct<'a>>),
    Listed(Listed<'a>),
    Domains(DomainProduct),
}

impl<'a> Product<'a> {
    /// Tables for the product of a problem, whose forces and prescribed values do not matter here. `fixed`: degrees of freedom
    /// 3 node + direction, ascending, where y is made 0.
    pub fn new(problem: &StaticProblem<'a>, fixed: Vec<u32>) -> Self {
        Self::on(problem.voxels(), Grid::Bricks, 0, fixed)
    }

    /// As [`new`](Self::new), with the nodes of elements found as `grid` says on this level, 0 the finest.
    pub(crate) fn on(voxels: Voxels<'a>, grid: Grid<'a>, level: usize, fixed: Vec<u32>) -> Self {
        let bricks = &voxels.bricks;
        let path = match grid {
            Grid::Tables(tables) => Listed::by_tables(tables, level, bricks.n_elements()).map(Path::Listed),
            Grid::Joined(joined) => Some(Path::Listed(Listed::joined(Elements::of_bricks(bricks), joined))),
            Grid::Domains(domains) if level == 0 && domains.n_domains() > 1 => {
                Some(Path::Domains(DomainProduct::new(bricks, &domains)))
            }
            Grid::Bricks | Grid::Domains(_) => None,
        };
        let path = path.unwrap_or_else(|| Path::Bricks(Box::new(BrickProduct::new(voxels, &fixed))));
        Self { cubes: voxels.cubes(), voxels, fixed, path }
    }

    /// Number of nodes of the vectors.
    pub fn n_nodes(&self) -> usize {
        match &self.path {
            Path::Listed(listed) => listed.n_nodes,
            Path::Bricks(_) | Path::Domains(_) => self.voxels.bricks.n_nodes(),
        }
    }

    /// What this rank computes of the vectors: all, until it is [divided](Self::divide).
    pub(crate) fn share(&self) -> Share {
        match &self.path {
            Path::Bricks(product) => Share::with_ends(&product.ends()),
            Path::Listed(_) | Path::Domains(_) => Share::with_ends(&[0, self.n_nodes()]),
        }
    }

    /// Divides the bricks among ranks, so that this one computes its own alone from now on. Collective.
    ///
    /// # Panics
    /// If nodes are not found by bricks, or there are fewer chunks of bricks than ranks: see [`most_ranks`].
    pub(crate) fn divide(&mut self, ranks: &Arc<dyn Ranks>) -> Division {
        let Path::Bricks(product) = &mut self.path else { panic!("elements without bricks are not divided") };
        let (firsts, n_read) = product.divide(ranks);
        let bricks = &self.voxels.bricks;
        let nodes: Vec<usize> = firsts.iter().map(|&brick| bricks.node_first[brick] as usize).collect();
        let me = ranks.rank();
        Division {
            ranks: ranks.clone(),
            shares: RankShares::gather(&**ranks, nodes[me + 1] - nodes[me], n_read),
            nodes,
            codes: firsts[..firsts.len() - 1].iter().map(|&brick| bricks.code[brick] << 9).collect(),
        }
    }

    /// Copies the values of nodes of other ranks that the next product reads. Collective.
    pub(crate) fn fetch<T: Real>(&self, x: &mut [T]) {
        if let Path::Bricks(product) = &self.path {
            product.fetch(x);
        }
    }

    /// Number of elements.
    pub fn n_elements(&self) -> usize {
        self.voxels.bricks.n_elements()
    }

    /// All elements with their nodes.
    pub(crate) fn elements(&self) -> Elements {
        let mut elements = Elements::of_bricks(&self.voxels.bricks);
        if let Path::Listed(listed) = &self.path {
            listed.renumber(&mut elements);
        }
        elements
    }

    /// All elements with their nodes in the order of the solver's vectors.
    pub(crate) fn arranged_elements(&self) -> Elements {
        let mut elements = self.elements();
        if let Path::Bricks(product) = &self.path {
            product.rows.renumber(&self.voxels.bricks, &mut elements);
        }
        elements
    }

    /// Number of a degree of freedom in the solver's vectors.
    pub(crate) fn place(&self, node: u32, direction: u8) -> u32 {
        let node = match &self.path {
            Path::Bricks(product) => product.rows.place(&self.voxels.bricks, node),
            Path::Listed(_) | Path::Domains(_) => node,
        };
        3 * node + u32::from(direction)
    }

    /// Arranges values of all nodes, (n_nodes, 3), as in the solver's vectors, or back.
    pub(crate) fn arrange<T: Real>(&self, values: &mut [T], back: bool) {
        if let Path::Bricks(product) = &self.path {
            product.rows.arrange(&self.voxels.bricks, values, back);
        }
    }

    /// What `act` makes of the diagonal of K at each node, whose three entries are equal, in the order of the solver's vectors.
    pub(crate) fn diagonals<T: Copy + Default + Send>(&self, act: impl Fn(f64) -> T + Sync) -> Vec<T> {
        let [first, further @ ..] = &self.cubes[..] else { return Vec::new() };
        // In units of the first part's diagonal.
        let value = |e: usize| {
            let further = (1..).zip(further).map(|(p, cube)| self.stiffness(e, p) * (cube.diagonal / first.diagonal));
            self.stiffness(e, 0) + further.sum::<f64>()
        };
        let act = |sum: f64| act(sum * first.diagonal);
        if let Path::Bricks(product) = &self.path {
            return product.node_sums(value, act);
        }
        let mut sums = vec![0.0; self.n_nodes()];
        for (e, nodes) in self.elements().nodes.iter().enumerate() {
            nodes.iter().for_each(|&node| sums[node as usize] += value(e));
        }
        sums.into_iter().map(act).collect()
    }

    /// Stiffness s_p of element `e` in part p: E h, where all elements have one Poisson's ratio and so one part.
    #[inline(always)]
    pub(crate) fn stiffness(&self, e: usize, part: usize) -> f64 {
        self.voxels.stiffness(e, part)
    }

    /// Cubes of the parts.
    pub(crate) fn cubes(&self) -> &[Cube] {
        &self.cubes
    }

    /// Fixed degrees of freedom.
    pub fn fixed(&self) -> &[u32] {
        &self.fixed
    }

    /// Fixed degrees of freedom in the order of the solver's vectors, ascending.
    pub(crate) fn arranged_fixed(&self) -> &[u32] {
        match &self.path {
            Path::Bricks(product) => &product.fixed,
            Path::Listed(_) | Path::Domains(_) => &self.fixed,
        }
    }

    /// Numbers that [`apply_with`](Self::apply_with) wants memory for.
    pub(crate) fn needs(&self) -> [usize; 2] {
        match &self.path {
            Path::Bricks(product) => product.needs(),
            Path::Listed(_) | Path::Domains(_) => [0; 2],
        }
    }

    /// Memory of `scratch` that products do not need between calls, as long as [`needs`](Self::needs) says, the second
    /// piece first.
    pub(crate) fn lend<'s, T: Real>(&self, scratch: &'s mut Scratch) -> [&'s mut [T]; 2] {
        let [n_passed, n_pending] = self.needs();
        [numbers(&mut scratch.pending, n_pending), numbers(&mut scratch.passed, n_passed)]
    }

    /// y = K x, given brick by brick to `sink(first node, y of its nodes)`; the sum of what `sink` returns, in one order.
    /// `sink` is called once for each brick, from several threads.
    pub fn apply<T: Real>(&self, x: &[T], scratch: &mut Scratch, sink: Sink<'_, T>) -> f64 {
        let Path::Bricks(product) = &self.path else { return self.apply_arranged(x, scratch, sink) };
        let mut memory = std::mem::take(&mut scratch.vectors[0]);
        let arranged = numbers::<T>(&mut memory, x.len());
        arranged.copy_from_slice(x);
        self.arrange(arranged, false);
        let sum = self.apply_in_scratch(arranged, scratch, &|brick, first, y| {
            product.rows.arrange_brick(&self.voxels.bricks, brick, y, true);
            sink(first, y)
        });
        scratch.vectors[0] = memory;
        sum
    }

    /// As [`apply`](Self::apply), for x and y in the order of the solver's vectors.
    pub(crate) fn apply_arranged<T: Real>(&self, x: &[T], scratch: &mut Scratch, sink: Sink<'_, T>) -> f64 {
        self.apply_in_scratch(x, scratch, &|_, first, y| sink(first, y))
    }

    /// As [`apply_arranged`](Self::apply_arranged), with other memory than the scratch's, as long as
    /// [`needs`](Self::needs) says.
    pub(crate) fn apply_with<T: Real>(
        &self,
        x: &[T],
        memory: [&mut [T]; 2],
        scratch: &mut Scratch,
        sink: Sink<'_, T>,
    ) -> f64 {
        self.run(x, memory, scratch, &|_, first, y| sink(first, y))
    }

    fn apply_in_scratch<T: Real>(&self, x: &[T], scratch: &mut Scratch, sink: BrickSink<'_, T>) -> f64 {
        let [n_passed, n_pending] = self.needs();
        let mut memory = (std::mem::take(&mut scratch.passed), std::mem::take(&mut scratch.pending));
        let passed = numbers::<T>(&mut memory.0, n_passed);
        let pending = numbers::<T>(&mut memory.1, n_pending);
        let sum = self.run(x, [passed, pending], scratch, sink);
        (scratch.passed, scratch.pending) = memory;
        sum
    }

    /// `sink` gets the brick, too; 0 where there are no bricks.
    fn run<T: Real>(&self, x: &[T], memory: [&mut [T]; 2], scratch: &mut Scratch, sink: BrickSink<'_, T>) -> f64 {
        assert_eq!(x.len(), 3 * self.n_nodes());
        let part = |cube: &Cube| cube.blocks.map(|block| block.map(|row| row.map(T::from_f64)));
        match &self.cubes[..] {
            [one, other] => self.run_parts(&[part(one), part(other)], x, memory, scratch, sink),
            cubes => self.run_parts(&[part(&cubes[0])], x, memory, scratch, sink),
        }
    }

    /// As [`run`](Self::run), with the parts of the stiffness.
    fn run_parts<T: Real, const N: usize>(
        &self,
        parts: &[Part<T>; N],
        x: &[T],
        memory: [&mut [T]; 2],
        scratch: &mut Scratch,
        sink: BrickSink<'_, T>,
    ) -> f64 {
        let stiffness = |e, p| self.stiffness(e, p);
        let finish = |first: usize, y: &mut [T]| {
            let (begin, end) = (3 * first as u32, (3 * first + y.len()) as u32);
            let fixed = &self.fixed[self.fixed.partition_point(|&dof| dof < begin)..];
            fixed.iter().take_while(|&&dof| dof < end).for_each(|dof| y[(dof - begin) as usize] = T::default());
            sink(0, first, y)
        };
        match &self.path {
            Path::Bricks(product) => product.apply(x, parts, memory, scratch, sink),
            Path::Listed(listed) => listed.apply(x, parts, &stiffness, scratch, &finish),
            Path::Domains(domains) => domains.apply(x, parts, &stiffness, scratch, &finish),
        }
    }
}
