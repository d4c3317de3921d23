//! Coarse operators Pᵀ A P.

use pogo_formats::system::parallel::iterate::*;

use super::blocks::{Blocks, Lower, transposed};
use super::cell::add_child;
use super::first::{CellPart, First};
use super::split::Coarsening;
use super::transfer::{PLACES, Transfer};
use crate::simd::{InstructionSet, Kernel, Level, Real};
use crate::voxel::cube::Cube;
use crate::voxel::elements::{Batches, Elements};
use crate::voxel::lists::Lists;
use crate::voxel::problem::Stiffness;
use pogo_formats::system::parallel::Shared;

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
pub(crate) fn galerkin(
    (fine, lower): (&Blocks, &Lower),
    coarse: &Elements,
    transfer: &Transfer,
    coupling: Coupling,
) -> Blocks {
    /// Parts for each thread: each part has memory of its own.
    const PARTS: usize = 4;
    let (n_fine, n_coarse) = (fine.n_rows(), coarse.n_nodes);
    let support = Support::of_all(n_fine, coarse, transfer);
    // The finer nodes that depend on each coarse one.
    let finer = Lists::by_key(n_coarse, n_fine, |node| support[node].nodes());
    let mut out = match coupling {
        Coupling::Element => Blocks::pattern(coarse),
        Coupling::Phases => Blocks::of_rows(n_coarse, |node, row| {
            let mut columns = Vec::new();
            for &finer in finer.of(node) {
                columns.extend(lower.of(finer as usize).iter().map(|&[column, _]| column));
                columns.extend_from_slice(fine.columns(finer as usize));
            }
            row.push(node as u32);
            supports(&support, &mut columns, row);
        }),
    };
    let value = Shared::new(&mut out.value);
    let (first, all_columns) = (&out.first, &out.column);
    let least = n_coarse.div_ceil(PARTS * rayon::current_num_threads());
    (0..n_coarse).into_par_iter().with_min_len(least).for_each_init(
        || vec![0_u32; n_coarse],
        |places, node| {
            let range = first[node] as usize..first[node + 1] as usize;
            let columns = &all_columns[range.clone()];
            // SAFETY: each row has blocks of its own.
            let value = unsafe { value.part(range) };
            let finer = finer.of(node);
            Level::detect().run(RowOfProduct { fine, lower, support: &support, node, finer, places, columns, value });
        },
    );
    out
}

/// Adds up a row of Pᵀ A P.
struct RowOfProduct<'a> {
    fine: &'a Blocks,
    lower: &'a Lower,
    support: &'a [Support],
    node: usize,
    /// The finer nodes that depend on the node.
    finer: &'a [u32],
    /// Room for the place of each column in the row.
    places: &'a mut [u32],
    columns: &'a [u32],
    value: &'a mut [[f64; 9]],
}

impl Kernel for RowOfProduct<'_> {
    type Output = ();
    #[inline(always)]
    fn run<I: InstructionSet>(self) {
        let Self { fine, lower, support, node, finer, places, columns, value } = self;
        columns.iter().zip(0..).for_each(|(&column, place)| places[column as usize] = place);
        let mut add = |weight: f64, column: u32, block: [f64; 9]| {
            let of = &support[column as usize];
            // Weights are powers of two, so that their product is exact.
            let weight = weight * of.weight;
            let block = block.map(|v| v * weight);
            for &column in &of.nodes[..usize::from(of.n)] {
                if column as usize >= node {
                    let to = &mut value[places[column as usize] as usize];
                    (0..9).for_each(|i| to[i] += block[i]);
                }
            }
        };
        for &row in finer {
            let weight = support[row as usize].weight;
            for &[column, at] in lower.of(row as usize) {
                add(weight, column, transposed(&fine.value[at as usize]));
            }
            for at in fine.first[row as usize] as usize..fine.first[row as usize + 1] as usize {
                add(weight, fine.column[at], fine.value[at]);
            }
        }
    }
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

/// Shares of voxels, or of eight equal ones, in the matrix of an element of level 2, and their stiffness.
type Terms<'a> = Vec<(&'a [f64; 576], f64)>;

/// Adds Σ e a over some terms, in their order.
struct AddTerms<'a> {
    terms: &'a Terms<'a>,
    sum: &'a mut [f64; 576],
}

impl Kernel for AddTerms<'_> {
    type Output = ();
    #[inline(always)]
    fn run<I: InstructionSet>(self) {
        /// Numbers that are summed up in registers.
        const PIECE: usize = 32;
        for (i, to) in self.sum.as_chunks_mut::<PIECE>().0.iter_mut().enumerate() {
            let mut sum = *to;
            for (a, e) in self.terms {
                let a = &a[PIECE * i..][..PIECE];
                (0..PIECE).for_each(|k| sum[k] += e * a[k]);
            }
            *to = sum;
        }
    }
}

/// The matrices of elements of level 2.
struct OfFirst<'a, T> {
    first: &'a First<T>,
    fine: &'a Elements,
    stiffness: &'a Stiffness<'a>,
    /// Of each part, share of each of 8 × 8 voxels (octant of the level, octant of its cell), and of eight equal ones.
    shares: &'a [[f64; 576]],
}

impl<'a, T: Real> OfFirst<'a, T> {
    /// Adds the matrices of some cells, which are not special.
    fn add_plain(&self, cells: &[u32], terms: &mut Terms<'a>, sum: &mut [f64; 576]) {
        terms.clear();
        for &cell in cells {
            let octant = self.fine.octant(cell as usize);
            for (part, shares) in self.shares.chunks_exact(72).enumerate() {
                let e = self.first.plain(cell as usize, part, self.stiffness);
                if e.iter().all(|&other| other == e[0]) {
                    terms.push((&shares[9 * octant + 8], e[0]));
                } else {
                    terms.extend((0..8).filter(|&o| e[o] != 0.0).map(|o| (&shares[9 * octant + o], e[o])));
                }
            }
        }
        Level::detect().run(AddTerms { terms, sum });
    }

    /// Adds the matrix of any cell.
    fn add_special(&self, cell: u32, sum: &mut [f64; 576]) {
        let (mut a, mut share) = ([0.0; 576], [0.0; 576]);
        self.first.matrix(cell as usize, self.stiffness, &mut a);
        add_child(self.fine.octant(cell as usize), &a, &mut share);
        sum.iter_mut().zip(&share).for_each(|(sum, a)| *sum += a);
    }

    fn is_special(&self, cell: u32) -> bool {
        self.fine.octant(cell as usize) >= 8 || !self.first.is_plain(cell as usize)
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
    let of_first = OfFirst { first, fine, stiffness, shares: &shares };
    // Of 4 × 4 × 4 equal voxels.
    let equal = first.uniform.map(|e| {
        let terms = (0..8).map(|octant| (&shares[9 * octant + 8], e)).collect();
        let mut sum = [0.0; 576];
        Level::detect().run(AddTerms { terms: &terms, sum: &mut sum });
        sum
    });
    let is_full = |cells: &[u32]| {
        cells.len() == 8 && cells.iter().all(|&cell| first.is_full(cell as usize) && fine.octant(cell as usize) < 8)
    };
    out.add_all(&level.coarse, &batches, Vec::new, |element, terms, sum| {
        let cells = level.children.of(element);
        if let Some(equal) = equal.as_ref().filter(|_| is_full(cells)) {
            *sum = *equal;
            return;
        }
        sum.fill(0.0);
        for cells in cells.chunk_by(|&a, &b| !of_first.is_special(a) && !of_first.is_special(b)) {
            match *cells {
                [cell] if of_first.is_special(cell) => of_first.add_special(cell, sum),
                _ => of_first.add_plain(cells, terms, sum),
            }
        }
    });
    out
}
