//! All coarse levels, made from the finest one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use pogo_formats::system::parallel::iterate::*;
use pogo_formats::timings::{self, timed};

use super::blocks::{Blocks, Lower};
use super::factor::{Factor, Order};
use super::first::First;
use super::galerkin::{Coupling, galerkin, galerkin_of_first, galerkin_of_voxels};
use super::half::Half;
use super::level::{Level, Operator};
use super::packed::Packed;
use super::phases;
use super::settings::CycleSettings;
use super::smoother::Smoother;
use super::split::{Coarsening, coarsen};
use super::transfer::Transfer;
use crate::ranks::Ranks;
use crate::simd::Real;
use crate::voxel::cube::Cube;
use crate::voxel::elements::{Batches, Elements};
use crate::voxel::problem::Stiffness;
use crate::voxel::share::{RankShares, Share};

/// Largest number of degrees of freedom that is factorised.
pub(crate) const FACTORISED: usize = 4000;
/// Levels with more blocks store 16 bits a number.
const LARGE: usize = 10_000;

/// Who works with the levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Host {
    /// This process. Large levels store 16 bits a number.
    Cpu {
        /// Numbers in each piece of memory that is lent during a correction.
        lent: [usize; 3],
    },
    /// A device, which stores every level in a form of its own and multiplies with the inverse of the last level.
    Device {
        /// It finds the largest eigenvalues of the levels itself.
        finds_spectra: bool,
    },
}

impl Host {
    fn is_device(self) -> bool {
        matches!(self, Self::Device { .. })
    }

    fn finds_spectra(self) -> bool {
        self == Self::Device { finds_spectra: true }
    }
}

/// Entries of the diagonal below this share of the greatest one are what rounding leaves of 0.
const LEAST: f64 = 1e-7;

/// The form of assembled levels.
#[derive(Debug, Clone, Copy)]
struct Form {
    coupling: Coupling,
    host: Host,
}

/// Nodes of a level for each rank, from which on the level is divided: below that, messages take longer than what they save.
const DIVIDED: usize = 1500;

/// How ranks divide the levels.
#[derive(Debug, Clone)]
pub(crate) struct Division {
    pub ranks: Arc<dyn Ranks>,
    /// First node of the finest level of each rank, and the end.
    pub nodes: Vec<usize>,
    /// Code of the first element of the finest level of each rank.
    pub codes: Vec<u64>,
    pub shares: RankShares,
}

impl Division {
    /// The first nodes of all ranks, and the end, on coarse level `number`, 1 the first.
    fn cuts(&self, elements: &Elements, number: usize, share: &Share) -> Vec<usize> {
        let before = |&code: &u64| {
            let end = elements.code.partition_point(|&of| of < code >> (3 * number));
            elements.nodes[..end].par_iter().flat_map_iter(|nodes| nodes).max().map_or(0, |&last| last as usize + 1)
        };
        let ends = self.codes[1..].iter().map(before).chain([elements.n_nodes]);
        share.cuts(&std::iter::once(0).chain(ends).collect::<Vec<usize>>())
    }
}

/// All coarse levels.
#[derive(Debug)]
pub(crate) struct Coarse<T = f32> {
    pub levels: Vec<Level<T>>,
    /// Cholesky factor of the last level.
    pub bottom: Option<Factor>,
    pub settings: CycleSettings,
    pub(super) smoother: Smoother,
    /// Work so far, in products of the finest level.
    pub products: f64,
    /// Memory that coarse nodes for each phase would have taken, bytes, where they were left out for it.
    pub phases_left_out: Option<f64>,
    /// How ranks divide the levels, and first nodes of all ranks on each level.
    division: Option<Division>,
    cuts: Vec<Vec<usize>>,
}

impl<T: Real> Coarse<T> {
    /// All levels under a finest one. `fixed` has a bit for each fixed direction of each fine node.
    pub fn new(
        cubes: &[Cube],
        fine: Elements,
        fixed: &[u8],
        stiffness: &Stiffness,
        settings: &CycleSettings,
        host: Host,
        division: Option<Division>,
    ) -> Self {
        let mut out = Self {
            levels: Vec::new(),
            bottom: None,
            settings: settings.clone(),
            smoother: Smoother::new(settings.degree[1], settings.ratio),
            products: 0.0,
            phases_left_out: None,
            division,
            cuts: Vec::new(),
        };
        let fine_blocks = fine.blocks_of_voxels.unwrap_or_else(|| count_blocks(&fine)) as f64;
        let phases = match host {
            Host::Cpu { .. } => out.add_first_of_phases(cubes, &fine, fixed, stiffness, fine_blocks),
            Host::Device { .. } => None,
        };
        let (coarsest, blocks) = match phases {
            Some((elements, blocks)) => ((elements, None), Some(blocks)),
            None => (out.add_first(cubes, fine, fixed, stiffness, fine_blocks), None),
        };
        let form = Form { coupling: if blocks.is_some() { Coupling::Phases } else { Coupling::Element }, host };
        let last = out.add_assembled(coarsest, blocks, stiffness, fine_blocks, form);
        if let Some((blocks, order)) = last {
            out.finish_last(blocks, order, fine_blocks, form);
        }
        out.divide();
        let n_levels = out.levels.len();
        let mut free = if let Host::Cpu { lent } = host { lent } else { [0; 3] };
        for (index, level) in out.levels.iter_mut().enumerate() {
            let is_last = index + 1 == n_levels;
            if !(is_last && out.bottom.is_some() || host.finds_spectra()) {
                level.lambda = timed("spectra", || level.largest_eigenvalue(stiffness));
            }
            level.allocate([index == 0, is_last], settings, &out.smoother, &mut free);
        }
        out
    }

    /// Adds a level.
    fn push(&mut self, level: Level<T>, elements: &Elements) {
        if let Some(division) = &self.division {
            self.cuts.push(division.cuts(elements, self.levels.len() + 1, &level.share));
        }
        self.levels.push(level);
    }

    /// Divides the levels that are large enough; of the others every rank computes everything. Collective.
    fn divide(&mut self) {
        let Some(Division { ranks, nodes, .. }) = &self.division else { return };
        let (mut finer, n_levels) = (nodes, self.levels.len());
        for ((number, level), cuts) in (1..).zip(&mut self.levels).zip(&self.cuts) {
            let divided = number < n_levels && level.n >= 3 * DIVIDED * ranks.n_ranks();
            level.divide(ranks, [finer, cuts], divided);
            if !divided {
                break;
            }
            finer = cuts;
        }
    }

    /// Level 1 of a model of several phases, with coarse nodes for each; its elements and its matrix. None where there is one
    /// phase, where the level would be too large, or where there is too little memory.
    fn add_first_of_phases(
        &mut self,
        cubes: &[Cube],
        fine: &Elements,
        fixed: &[u8],
        stiffness: &Stiffness,
        fine_blocks: f64,
    ) -> Option<(Elements, Blocks)> {
        if !self.settings.split {
            return None;
        }
        let (level, elements) = timed("split", || {
            let level = coarsen(&phases::apart(fine, stiffness, cubes.len())?, true);
            let elements = phases::used(&level);
            phases::pays(&elements, fine.n_nodes).then_some((level, elements))
        })?;
        let bytes = phases::BYTES_OF_NODE * fine.n_nodes as f64;
        if bytes > self.settings.phase_bytes {
            self.phases_left_out = Some(bytes);
            return None;
        }
        let blocks = timed("Galerkin products", || galerkin_of_voxels((cubes, stiffness), fine, fixed, &level));
        self.push_assembled(&level.coarse, level.transfer, &blocks, fine_blocks, Coupling::Phases);
        Some((elements, blocks))
    }

    /// Adds a level whose matrix is rounded when the next one has been made of it.
    fn push_assembled(
        &mut self,
        elements: &Elements,
        transfer: Transfer,
        blocks: &Blocks,
        fine_blocks: f64,
        coupling: Coupling,
    ) {
        let _make = timings::stage("tables of a level");
        let (diagonal, cost) = (blocks.diagonal(), blocks.n_blocks() as f64 / fine_blocks);
        let (operator, batches) = (Operator::Assembled(Packed::default()), Batches::new(elements));
        // A compliant phase has small entries which are not of rounding: matrices of phases are sums of positive terms in f64.
        let least = if coupling == Coupling::Phases { 1e-30 } else { LEAST };
        self.push(Level::new(operator, elements, batches, transfer, (diagonal.as_flattened(), least), cost), elements);
    }

    /// Whether a level with these elements, above which there are `n_levels`, is to have a coarser one.
    fn goes_on(&self, elements: &Elements, n_levels: usize) -> bool {
        3 * elements.n_nodes > self.settings.bottom && n_levels + 1 < self.settings.levels
    }

    /// Level 1, which is never assembled; its elements, and what follows from them alone: the next level, which is made meanwhile.
    fn add_first(
        &mut self,
        cubes: &[Cube],
        fine: Elements,
        fixed: &[u8],
        stiffness: &Stiffness,
        fine_blocks: f64,
    ) -> (Elements, Option<Coarsening>) {
        let split = self.settings.split;
        let level = timed("split", || coarsen(&fine, split));
        let goes_on = self.goes_on(&level.coarse, 1);
        let make_first = || {
            let _first = timings::stage("first coarse level");
            let mut first = First::new(cubes, &fine, &level, fixed);
            let one = stiffness(0, 0);
            let is_one = cubes.len() == 1 && (1..fine.code.len()).into_par_iter().all(|e| stiffness(e, 0) == one);
            first.uniform = is_one.then_some(one);
            let batches = Batches::new(&level.coarse);
            let diagonal = first.diagonal(&level.coarse.nodes, &batches, stiffness);
            first.n_blocks = count_blocks(&level.coarse);
            (first, batches, diagonal)
        };
        let make_next = || goes_on.then(|| timed("split", || coarsen(&level.coarse, split)));
        let ((first, batches, diagonal), next) = rayon::join(make_first, make_next);
        drop(fine);
        let elements = level.coarse;
        let cost = first.n_blocks as f64 / fine_blocks;
        let operator = Operator::First(Box::new(first));
        self.push(Level::new(operator, &elements, batches, level.transfer, (&diagonal, LEAST), cost), &elements);
        (elements, next)
    }

    /// Levels 2, 3, …, from the elements of level 1, with the next level if that has been made; `last` is the matrix of level 1, if
    /// that is assembled. The matrix of the last level, if there is any, in f64, and the order in which it is eliminated if its
    /// factor is sparse enough to stop there.
    fn add_assembled(
        &mut self,
        (mut elements, mut made): (Elements, Option<Coarsening>),
        mut last: Option<Blocks>,
        stiffness: &Stiffness,
        fine_blocks: f64,
        form: Form,
    ) -> Option<(Blocks, Option<Order>)> {
        let (bottom, split) = (self.settings.bottom, self.settings.split);
        let sparse = !form.host.is_device() && self.settings.bottom_steps.is_none();
        while self.goes_on(&elements, self.levels.len()) {
            // At most as many blocks as a dense factor of `bottom` unknowns.
            let order = last.as_ref().filter(|_| sparse).and_then(|blocks| Order::new(blocks, bottom.pow(2) / 18));
            if order.is_some() {
                return last.map(|blocks| (blocks, order));
            }
            let next = made.take().unwrap_or_else(|| timed("split", || coarsen(&elements, split)));
            if next.coarse.n_nodes as f64 > 0.8 * elements.n_nodes as f64 {
                break;
            }
            let used = (form.coupling == Coupling::Phases).then(|| phases::used(&next));
            let lower = last.as_ref().map(Blocks::lower);
            let multiply = || {
                let _product = timings::stage("Galerkin products");
                match (&last, &lower) {
                    (Some(blocks), Some(lower)) => {
                        galerkin((blocks, lower), &next.coarse, &next.transfer, form.coupling)
                    }
                    _ => {
                        let Operator::First(first) = &self.levels[0].operator else { unreachable!("level 1 is first") };
                        galerkin_of_first(first, &elements, &next, stiffness)
                    }
                }
            };
            // The level after that follows from the elements alone.
            let further = used.as_ref().unwrap_or(&next.coarse);
            let goes_on = self.goes_on(further, self.levels.len() + 1);
            let make_further = || goes_on.then(|| timed("split", || coarsen(further, split)));
            let (blocks, found) = rayon::join(multiply, make_further);
            made = found;
            if let (Some(finer), Some(lower), Some(level)) = (last.take(), lower, self.levels.last_mut()) {
                level.operator = timed("round", || rounded(finer, &lower, form));
            }
            self.push_assembled(&next.coarse, next.transfer, &blocks, fine_blocks, form.coupling);
            elements = used.unwrap_or(next.coarse);
            last = Some(blocks);
        }
        last.map(|blocks| (blocks, None))
    }

    /// Factorises the last level or rounds it.
    fn finish_last(&mut self, blocks: Blocks, order: Option<Order>, fine_blocks: f64, form: Form) {
        let Some(level) = self.levels.last_mut() else { return };
        let is_small = level.n <= FACTORISED && self.settings.bottom_steps.is_none();
        let order = order.or_else(|| if is_small { Order::new(&blocks, usize::MAX) } else { None });
        if let Some(order) = order {
            level.cost = order.n_blocks() as f64 / fine_blocks;
            self.bottom = Some(timed("factor", || Factor::new(&blocks, order, form.coupling)));
        } else {
            let lower = blocks.lower();
            level.operator = rounded(blocks, &lower, form);
        }
    }

    /// Whether the last level is factorised.
    pub fn is_factorised(&self) -> bool {
        self.bottom.is_some()
    }

    /// Makes what only devices read.
    pub fn make_matrices(&mut self, stiffness: &Stiffness) {
        if let Operator::First(first) = &mut self.levels[0].operator {
            first.make_matrices(stiffness);
        }
    }

    /// C of [`Cell`](super::cell::Cell) in all parts, row by row.
    pub fn cells(&self) -> Vec<T> {
        match &self.levels[0].operator {
            Operator::First(first) => first.parts.iter().flat_map(|part| part.cell.c.as_flattened()).copied().collect(),
            _ => Vec::new(),
        }
    }
}

/// A matrix as it is multiplied.
///
/// With phases, what 16 bits leave of a stiff block is more than the whole of a compliant one.
fn rounded<T: Real>(blocks: Blocks, lower: &Lower, Form { coupling, host }: Form) -> Operator<T> {
    let is_large = blocks.n_blocks() > LARGE && blocks.n_rows() <= Half::ROWS;
    let half = is_large && !host.is_device() && coupling == Coupling::Element;
    if half && size_of::<T>() == 4 {
        Operator::Half(Half::new(blocks, lower))
    } else {
        Operator::Assembled(Packed::new(blocks, lower))
    }
}

/// Number of non-zero 3 × 3 blocks that a level has when it is assembled. Where several nodes stand at one place, a
/// neighbour counts one of them.
fn count_blocks(elements: &Elements) -> usize {
    // For each node a bit for each of the 27 places around it.
    let seen: Vec<AtomicU32> = (0..elements.n_nodes).into_par_iter().map(|_| AtomicU32::new(0)).collect();
    elements.nodes.par_iter().with_min_len(1 << 12).for_each(|nodes| {
        for (c, &node) in nodes.iter().enumerate() {
            // Corner d is at place 13 + d − c.
            let lowest = 13 - (c & 1) - 3 * (c >> 1 & 1) - 9 * (c >> 2);
            let bits =
                (0..8).fold(0, |bits, d: usize| bits | 1 << (lowest + (d & 1) + 3 * (d >> 1 & 1) + 9 * (d >> 2)));
            let seen = &seen[node as usize];
            if seen.load(Relaxed) & bits != bits {
                seen.fetch_or(bits, Relaxed);
            }
        }
    });
    seen.par_iter().map(|seen| seen.load(Relaxed).count_ones() as usize).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::voxel::tests::random;
    use pogo_formats::voxel::bricks_of;

    #[test]
    fn blocks_are_counted_by_voxels_as_by_elements() {
        for fill in [0.02, 0.3, 0.8, 1.0] {
            // Beyond several bricks along each axis.
            let solid = |[x, y, z]: [u32; 3]| random(u64::from(x + 100 * (y + 100 * z))) < fill;
            let fine = Elements::of_bricks(&bricks_of([19, 26, 33], solid).view());
            assert_eq!(fine.blocks_of_voxels, Some(count_blocks(&fine)), "{fill}");
        }
    }
}
