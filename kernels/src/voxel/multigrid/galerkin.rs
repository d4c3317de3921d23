//! Coarse operators Pᵀ A P.

use rayon::prelude::*;

use super::blocks::{Blocks, transposed};
use super::cell::add_child;
use super::first::{CellPart, First};
use super::split::Coarsening;
use super::transfer::{PLACES, Transfer};
use crate::shared::Shared;
use crate::simd::Real;
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

/// Pᵀ A P of an assembled level.
pub(crate) fn galerkin(fine: &Blocks, coarse: &Elements, transfer: &Transfer) -> Blocks {
    let n_fine = fine.n_rows();
    let support = Support::of_all(n_fine, coarse, transfer);
    let mut out = Blocks::pattern(coarse);
    // The finer nodes that depend on each coarse one.
    let (lower, finer) = (fine.lower(), Lists::by_key(out.n_rows(), n_fine, |node| support[node].nodes()));
    let value = Shared::new(&mut out.value);
    let (first, all_columns) = (&out.first, &out.column);
    (0..first.len() - 1).into_par_iter().for_each(|node| {
        let range = first[node] as usize..first[node + 1] as usize;
        let columns = &all_columns[range.clone()];
        // SAFETY: each row has blocks of its own.
        let value = unsafe { value.part(range) };
        let mut add = |column: u32, block: &[f64; 9], weight: f64| {
            let of = &support[column as usize];
            let block = block.map(|v| v * weight * of.weight);
            for column in of.nodes().filter(|&column| column as usize >= node) {
                let to = &mut value[columns.partition_point(|&c| c < column)];
                for i in 0..9 {
                    to[i] += block[i];
                }
            }
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
