//! Coarse operators Pᵀ A P.

use rayon::prelude::*;

use super::blocks::{Blocks, transposed};
use super::cell::add_child;
use super::first::{CellPart, First};
use super::split::Coarsening;
use super::transfer::{PLACES, Transfer};
use crate::shared::Shared;
use crate::simd::Real;
use crate::voxel::cube::Cube;
use crate::voxel::elements::{Batches, Elements};
use crate::voxel::lists::Lists;
use crate::voxel::problem::Stiffness;

/// Coarse nodes on which a finer node depends, with one weight for all.
#[derive(Clone, Copy, Default)]
struct Support {
    nodes: [u32; 8],
    n: u8,
    weight: f64,
}

impl Support {
    /// Of each of `n` finer nodes.
    fn of_all(n: usize, coarse: &Elements, transfer: &Transfer) -> Vec<Self> {
        let mut support = vec![Self::default(); n];
        let shared = Shared::new(&mut support);
        coarse.nodes.par_iter().enumerate().for_each(|(element, nodes)| {
            for (node, place) in transfer.of(element) {
                // SAFETY: each finer node belongs to one element.
                let to = unsafe { &mut shared.part(node..node + 1)[0] };
                let place = &PLACES[place];
                to.weight = f64::from(place.weight);
                to.n = place.corners().len() as u8;
                to.nodes.iter_mut().zip(place.corners()).for_each(|(to, &c)| *to = nodes[usize::from(c)]);
            }
        });
        support
    }

    fn nodes(&self) -> impl Iterator<Item = u32> + use<> {
        self.nodes.into_iter().take(usize::from(self.n))
    }
}

/// Which pairs of coarse nodes a coarse matrix couples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Coupling {
    /// Those of one coarse element.
    Element,
    /// All on which finer nodes depend that the finer matrix couples: elements join nodes of different phases.
    Phases,
}

/// Coarse nodes from several finer ones, each once.
fn supports(support: &[Support], finer: &mut Vec<u32>, row: &mut Vec<u32>) {
    finer.sort_unstable();
    finer.dedup();
    row.extend(finer.iter().flat_map(|&node| support[node as usize].nodes()));
}

/// Adds `weight` times the block of a finer column to a coarse row, whose first block has the column `node`.
fn add_to_row((node, columns, value): (usize, &[u32], &mut [[f64; 9]]), of: &Support, block: &[f64; 9], weight: f64) {
    let block = block.map(|v| v * weight * of.weight);
    for column in of.nodes().filter(|&column| column as usize >= node) {
        let to = &mut value[columns.partition_point(|&c| c < column)];
        for i in 0..9 {
            to[i] += block[i];
        }
    }
}

/// Pᵀ A P of an assembled level.
pub(crate) fn galerkin(fine: &Blocks, coarse: &Elements, transfer: &Transfer, coupling: Coupling) -> Blocks {
    let (n_fine, n_coarse) = (fine.n_rows(), coarse.n_nodes);
    let support = Support::of_all(n_fine, coarse, transfer);
    // The finer nodes that depend on each coarse one.
    let (lower, finer) = (fine.lower(), Lists::by_key(n_coarse, n_fine, |node| support[node].nodes()));
    let mut out = match coupling {
        Coupling::Element => Blocks::pattern(coarse),
        Coupling::Phases => Blocks::of_rows(n_coarse, |node, row| {
            let mut columns = Vec::new();
            for &finer in finer.of(node) {
                columns.extend_from_slice(lower.of(finer as usize));
                columns.extend_from_slice(fine.columns(finer as usize));
            }
            row.push(node as u32);
            supports(&support, &mut columns, row);
        }),
    };
    let value = Shared::new(&mut out.value);
    let (first, all_columns) = (&out.first, &out.column);
    (0..first.len() - 1).into_par_iter().for_each(|node| {
        let range = first[node] as usize..first[node + 1] as usize;
        let columns = &all_columns[range.clone()];
        // SAFETY: each row has blocks of its own.
        let value = unsafe { value.part(range) };
        let mut add = |column: u32, block: &[f64; 9], weight: f64| {
            add_to_row((node, columns, value), &support[column as usize], block, weight);
        };
        for &row in finer.of(node) {
            let weight = support[row as usize].weight;
            for &column in lower.of(row as usize) {
                add(column, &transposed(&fine.value[fine.find(column, row)]), weight);
            }
            for at in fine.first[row as usize] as usize..fine.first[row as usize + 1] as usize {
                add(fine.column[at], &fine.value[at], weight);
            }
        }
    });
    out
}

/// Pᵀ K P of the voxels themselves, where phases have coarse nodes of their own. `fixed` has a bit for each fixed direction of
/// each node.
pub(crate) fn galerkin_of_voxels(
    (cubes, stiffness): (&[Cube], &Stiffness),
    fine: &Elements,
    fixed: &[u8],
    level: &Coarsening,
) -> Blocks {
    let (n_fine, n_coarse) = (fine.n_nodes, level.coarse.n_nodes);
    let support = Support::of_all(n_fine, &level.coarse, &level.transfer);
    let elements_of = Lists::by_key(n_fine, fine.nodes.len(), |element| fine.nodes[element].into_iter());
    let finer = Lists::by_key(n_coarse, n_fine, |node| support[node].nodes());
    let nodes_beside =
        |node: u32| elements_of.of(node as usize).iter().flat_map(|&element| fine.nodes[element as usize]);
    let mut out = Blocks::of_rows(n_coarse, |node, row| {
        let mut columns: Vec<u32> = finer.of(node).iter().flat_map(|&finer| nodes_beside(finer)).collect();
        row.push(node as u32);
        supports(&support, &mut columns, row);
    });
    let value = Shared::new(&mut out.value);
    let (first, all_columns) = (&out.first, &out.column);
    (0..n_coarse).into_par_iter().for_each_init(Vec::new, |beside: &mut Vec<(u32, [f64; 9])>, node| {
        let range = first[node] as usize..first[node + 1] as usize;
        let columns = &all_columns[range.clone()];
        // SAFETY: each row has blocks of its own.
        let value = unsafe { value.part(range) };
        for &row in finer.of(node) {
            beside.clear();
            for &element in elements_of.of(row as usize) {
                let nodes = &fine.nodes[element as usize];
                for c in (0..8).filter(|&c| nodes[c] == row) {
                    add_row((cubes, stiffness), element as usize, (c, nodes), beside);
                }
            }
            let is_fixed = |node: u32, direction: usize| fixed[node as usize] >> direction & 1 == 1;
            for (column, block) in beside.iter_mut() {
                for (i, value) in block.iter_mut().enumerate() {
                    if is_fixed(row, i / 3) || is_fixed(*column, i % 3) {
                        *value = 0.0;
                    }
                }
                let weight = support[row as usize].weight;
                add_to_row((node, columns, value), &support[*column as usize], block, weight);
            }
        }
    });
    out
}

/// Adds the blocks of corner `c` of an element to those of the nodes beside it.
fn add_row(
    (cubes, stiffness): (&[Cube], &Stiffness),
    element: usize,
    (c, nodes): (usize, &[u32; 8]),
    beside: &mut Vec<(u32, [f64; 9])>,
) {
    for (d, &node) in nodes.iter().enumerate() {
        let at = beside.iter().position(|(other, _)| *other == node).unwrap_or_else(|| {
            beside.push((node, [0.0; 9]));
            beside.len() - 1
        });
        for (part, cube) in cubes.iter().enumerate() {
            let s = stiffness(element, part);
            for (i, value) in beside[at].1.iter_mut().enumerate() {
                *value += s * cube.dense[3 * c + i / 3][3 * d + i % 3];
            }
        }
    }
}

/// Pᵀ A P of the first coarse level, element by element.
pub(crate) fn galerkin_of_first<T: Real>(
    first: &First<T>,
    fine: &Elements,
    level: &Coarsening,
    stiffness: &Stiffness,
) -> Blocks {
    let mut out = Blocks::pattern(&level.coarse);
    let batches = Batches::new(&level.coarse);
    // Of each part, share of each of 8 × 8 voxels in the matrix (octant of the level, octant of its cell), and of eight equal
    // ones.
    let share = |(part, i): (&CellPart<T>, usize)| {
        let (mut share, (octant, voxel)) = ([0.0; 576], (i / 9, i % 9));
        for o in (0..8).filter(|&o| voxel == 8 || o == voxel) {
            let a = std::array::from_fn(|i| part.cell.octant[o][i / 24][i % 24]);
            add_child(octant, &a, &mut share);
        }
        share
    };
    let shares: Vec<[f64; 576]> =
        first.parts.iter().flat_map(|part| (0..72).map(move |i| (part, i))).map(share).collect();
    out.add_all(&level.coarse, &batches, |element, sum| {
        sum.fill(0.0);
        let mut add = |share: &[f64; 576], e: f64| sum.iter_mut().zip(share).for_each(|(sum, a)| *sum += e * a);
        for &child in level.children.of(element) {
            let octant = fine.octant(child as usize);
            if octant >= 8 || !first.is_plain(child as usize) {
                let (mut a, mut share) = ([0.0; 576], [0.0; 576]);
                first.matrix(child as usize, stiffness, &mut a);
                add_child(octant, &a, &mut share);
                add(&share, 1.0);
                continue;
            }
            for (part, shares) in shares.chunks_exact(72).enumerate() {
                let e = first.plain(child as usize, part, stiffness);
                if e.iter().all(|&other| other == e[0]) {
                    add(&shares[9 * octant + 8], e[0]);
                } else {
                    (0..8).filter(|&o| e[o] != 0.0).for_each(|o| add(&shares[9 * octant + o], e[o]));
                }
            }
        }
    });
    out
}
