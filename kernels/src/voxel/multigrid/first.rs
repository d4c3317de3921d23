//! The operator of the first coarse level, never assembled: PᵀKP, cell by cell of 2 × 2 × 2 voxels.

use std::ops::Range;

use rayon::prelude::*;

use super::cell::{Cell, add_child};
use super::split::Coarsening;
use super::transfer::{PLACES, place_of};
use crate::shared::Shared;
use crate::simd::{InstructionSet, Kernel, Lanes, Level, Real};
use crate::voxel::cube::Cube;
use crate::voxel::elements::{Batches, Elements};
use crate::voxel::forces::{Cubes, amplitudes, k, one, three, two};
use crate::voxel::number::{self, Eight};
use crate::voxel::share::Contributors;

/// E h of fine elements.
pub(crate) type Stiffness<'a> = dyn Fn(usize) -> f64 + Sync + 'a;

/// The operator of the first coarse level.
#[derive(Debug)]
pub(crate) struct First<T = f32> {
    /// First voxel of each cell, and a bit for each octant that is there; 0 for a special cell.
    pub child: Vec<(u32, u8)>,
    pub cell: Cell<T>,
    /// Numbers of the special cells, ascending.
    pub own: Vec<u32>,
    special: Vec<Special>,
    /// Matrices of special cells, for devices ([`make_matrices`](Self::make_matrices)).
    pub matrices: Vec<[f32; 576]>,
    cube: Box<Cube>,
    /// [`Cube::blocks`].
    blocks: [[[T; 3]; 3]; 8],
    pub n_nodes: usize,
    /// Number of non-zero blocks of the assembled matrix.
    pub n_blocks: usize,
    /// E h where all elements have the same.
    pub uniform: Option<f64>,
}

/// A cell with fixed degrees of freedom, or one that is no more than one voxel wide.
#[derive(Debug, Clone, Copy)]
struct Special {
    octants: u8,
    /// Axes along which the voxels fill the cell, as in bits 3 to 5 of [`Elements::octant`].
    all: u8,
    /// For x, y and z: a bit for each of the 27 places, set where the node there is fixed.
    fixed: [u32; 3],
}

impl Special {
    /// What is special about a cell of the finer elements `children`; first of these.
    fn new(fine: &Elements, children: &[u32], fixed: &[u8]) -> (u32, Self) {
        let mut cell = Self { octants: 0, all: 0, fixed: [0; 3] };
        for &child in children {
            let octant = fine.octant(child as usize);
            cell.octants |= 1 << (octant & 7);
            cell.all |= (octant >> 3) as u8;
            for (c, &node) in fine.nodes[child as usize].iter().enumerate() {
                for m in (0..3).filter(|m| fixed[node as usize] >> m & 1 == 1) {
                    cell.fixed[m] |= 1 << place_of(octant, c);
                }
            }
        }
        (children[0], cell)
    }

    /// Its octants that are there, as [`Elements::octant`] says them.
    fn octants(&self) -> impl Iterator<Item = (usize, usize)> {
        (0..8).filter(|o| self.octants >> o & 1 == 1).map(|o| (o, o | usize::from(self.all) << 3))
    }
}

/// Values at the corners of up to eight elements; surplus lanes have those of the first.
#[inline(always)]
fn gather<T: Real, I: InstructionSet>(lanes: &[u32], nodes: &[[u32; 8]], x: &[T]) -> [[Eight<T, I>; 8]; 3] {
    let elements: [&[u32; 8]; 8] =
        std::array::from_fn(|lane| &nodes[lanes[if lane < lanes.len() { lane } else { 0 }] as usize]);
    let mut u = [[Eight::splat(T::default()); 8]; 3];
    for c in 0..8 {
        let of_corner = number::gather::<T, I>(x, &elements.map(|nodes| nodes[c]));
        (0..3).for_each(|a| u[a][c] = Eight::new(of_corner[a]));
    }
    u
}

/// Adds to the corners of up to eight elements.
#[inline(always)]
fn scatter<T: Real, I: InstructionSet>(lanes: &[u32], nodes: &[[u32; 8]], f: [[Eight<T, I>; 8]; 3], y: &mut [T]) {
    for (lane, &at) in lanes.iter().enumerate() {
        for (c, &node) in nodes[at as usize].iter().enumerate() {
            let to = &mut y[3 * node as usize..3 * node as usize + 3];
            for a in 0..3 {
                to[a] += f[a][c].0[lane];
            }
        }
    }
}

impl<T: Real> First<T> {
    /// `fixed` has a bit for each fixed direction of each fine node.
    pub fn new(cube: &Cube, fine: &Elements, level: &Coarsening, fixed: &[u8]) -> Self {
        let cell = |element: usize| Special::new(fine, level.children.of(element), fixed);
        let child: Vec<(u32, u8)> = (0..level.coarse.nodes.len())
            .into_par_iter()
            .map(|element| {
                let (first, cell) = cell(element);
                (first, if cell.all != 0 || cell.fixed != [0; 3] { 0 } else { cell.octants })
            })
            .collect();
        let own: Vec<u32> = (0..).zip(&child).filter(|(_, child)| child.1 == 0).map(|(element, _)| element).collect();
        Self {
            special: own.par_iter().map(|&element| cell(element as usize).1).collect(),
            child,
            own,
            matrices: Vec::new(),
            cube: Box::new(cube.clone()),
            blocks: cube.blocks.map(|block| block.map(|row| row.map(T::from_f64))),
            n_nodes: level.coarse.n_nodes,
            n_blocks: 0,
            uniform: None,
            cell: Cell::new(cube),
        }
    }

    /// E h of the octants of a cell, unless it is special.
    pub fn plain(&self, element: usize, stiffness: &impl Fn(usize) -> f64) -> Option<[f64; 8]> {
        let (first, octants) = self.child[element];
        (octants != 0).then(|| Self::octants(first, octants, stiffness))
    }

    /// E h of the octants of a cell. All voxels of a cell share its middle, so they are one piece and consecutive.
    #[inline(always)]
    fn octants(first: u32, octants: u8, stiffness: &impl Fn(usize) -> f64) -> [f64; 8] {
        let mut next = first as usize;
        let mut e = [0.0; 8];
        for o in 0..8 {
            if octants >> o & 1 == 1 {
                e[o] = stiffness(next);
                next += 1;
            }
        }
        e
    }

    /// Makes the matrices of special cells. Devices read them; the CPU goes through the voxels.
    pub fn make_matrices(&mut self, stiffness: &(impl Fn(usize) -> f64 + Sync)) {
        let mut matrices = Vec::new();
        self.own
            .par_iter()
            .map(|&element| {
                let mut matrix = [0.0; 576];
                self.matrix(element as usize, stiffness, &mut matrix);
                matrix.map(|a| a as f32)
            })
            .collect_into_vec(&mut matrices);
        self.matrices = matrices;
    }

    /// What is kept of the special cell `element`.
    fn special(&self, element: usize) -> &Special {
        &self.special[self.own.partition_point(|&e| (e as usize) < element)]
    }

    /// The matrix of one element.
    pub fn matrix(&self, element: usize, stiffness: &impl Fn(usize) -> f64, out: &mut [f64; 576]) {
        let (first, octants) = self.child[element];
        if octants != 0 {
            self.cell.matrix(&Self::octants(first, octants, stiffness), out);
            return;
        }
        let cell = self.special(element);
        let e = Self::octants(first, cell.octants, stiffness);
        out.fill(0.0);
        for (o, octant) in cell.octants() {
            let free: [f64; 24] = std::array::from_fn(|i| f64::from(!cell.fixed[i % 3] >> place_of(octant, i / 3) & 1));
            let mut a = [0.0; 576];
            for ((a, dense), &row) in a.chunks_exact_mut(24).zip(self.cube.dense.iter()).zip(&free) {
                for ((a, &dense), &column) in a.iter_mut().zip(dense).zip(&free) {
                    *a = e[o] * dense * (row * column);
                }
            }
            add_child(octant, &a, out);
        }
    }

    /// y = A x at the contributors' own nodes.
    pub fn apply(
        &self,
        nodes: &[[u32; 8]],
        x: &[T],
        y: &mut [T],
        to: &Contributors,
        stiffness: &(impl Fn(usize) -> f64 + Sync),
    ) {
        to.clear(y);
        let y = Shared::new(y);
        to.batches.for_each(|range| {
            // SAFETY: batches that run at the same time share no node; within one there is one thread.
            let y = unsafe { y.part(0..3 * self.n_nodes) };
            Level::detect().run(Batch { level: self, range, nodes, x, y, stiffness });
        });
    }

    /// Adds Σ_o P_oᵀ M E_o K M P_o x of a special cell, its eight voxels side by side. M makes what is fixed 0.
    #[inline(never)]
    fn add_special(&self, element: usize, nodes: &[u32; 8], x: &[T], y: &mut [T], stiffness: &impl Fn(usize) -> f64) {
        let cell = self.special(element);
        let e = Self::octants(self.child[element].0, cell.octants, stiffness).map(T::from_f64);
        let mut values = [[T::default(); 27]; 3];
        for (p, place) in PLACES.iter().enumerate() {
            for &c in place.corners() {
                let node = nodes[usize::from(c)] as usize;
                for a in 0..3 {
                    values[a][p] += x[3 * node + a];
                }
            }
            for a in 0..3 {
                let free = cell.fixed[a] >> p & 1 == 0;
                values[a][p] = if free { T::from_f64(f64::from(place.weight)) * values[a][p] } else { T::default() };
            }
        }
        let mut u = [[[T::default(); 8]; 8]; 3];
        for o in 0..8 {
            for c in 0..8 {
                let place = place_of(o | usize::from(cell.all) << 3, c);
                for a in 0..3 {
                    u[a][c][o] = values[a][place];
                }
            }
        }
        let mut f = u;
        let cubes = Cubes { blocks: &self.blocks, displacements: &u, stiffness: &e, forces: &mut f };
        Level::detect().run(cubes);
        let mut sums = [[T::default(); 27]; 3];
        for (o, octant) in cell.octants() {
            for c in 0..8 {
                let place = place_of(octant, c);
                for a in 0..3 {
                    sums[a][place] += f[a][c][o];
                }
            }
        }
        for (p, place) in PLACES.iter().enumerate() {
            for a in (0..3).filter(|&a| cell.fixed[a] >> p & 1 == 0) {
                let value = T::from_f64(f64::from(place.weight)) * sums[a][p];
                for &c in place.corners() {
                    y[3 * nodes[usize::from(c)] as usize + a] += value;
                }
            }
        }
    }

    /// The diagonal, (3 n_nodes,).
    pub fn diagonal(
        &self,
        nodes: &[[u32; 8]],
        batches: &Batches,
        stiffness: &(impl Fn(usize) -> f64 + Sync),
    ) -> Vec<f64> {
        let n = 3 * self.n_nodes;
        let mut diagonal = vec![0.0; n];
        let shared = Shared::new(&mut diagonal);
        batches.for_each(|range| {
            // SAFETY: batches that run at the same time share no node; within one there is one thread.
            let diagonal = unsafe { shared.part(0..n) };
            let mut matrix = [0.0; 576];
            for element in range {
                let nodes = &nodes[element];
                if let Some(e) = self.plain(element, stiffness) {
                    for i in 0..24 {
                        diagonal[3 * nodes[i / 3] as usize + i % 3] +=
                            (0..8).map(|o| e[o] * self.cell.octant[o][i][i]).sum::<f64>();
                    }
                    continue;
                }
                self.matrix(element, stiffness, &mut matrix);
                // A periodic cell may have a node twice; then entries beside the diagonal count, too.
                for i in 0..24 {
                    for j in (i % 3..24).step_by(3).filter(|&j| nodes[j / 3] == nodes[i / 3]) {
                        diagonal[3 * nodes[i / 3] as usize + i % 3] += matrix[24 * i + j];
                    }
                }
            }
        });
        diagonal
    }
}

/// Adds A x of some cells to y.
struct Batch<'a, T, F> {
    level: &'a First<T>,
    range: Range<usize>,
    nodes: &'a [[u32; 8]],
    x: &'a [T],
    y: &'a mut [T],
    stiffness: &'a F,
}

impl<T: Real, F: Fn(usize) -> f64> Kernel for Batch<'_, T, F> {
    type Output = ();
    #[inline(always)]
    fn run<I: InstructionSet>(mut self) {
        // Cells of eight equal voxels from the front, others from the back.
        let mut cells = [0_u32; Batches::SIZE];
        let (mut equal, mut mixed) = (0, cells.len());
        for element in self.range.clone() {
            match self.level.child[element].1 {
                0 => self.level.add_special(element, &self.nodes[element], self.x, self.y, self.stiffness),
                255 if self.level.uniform.is_some() => {
                    cells[equal] = element as u32;
                    equal += 1;
                }
                _ => {
                    mixed -= 1;
                    cells[mixed] = element as u32;
                }
            }
        }
        cells[mixed..].reverse();
        self.add_equal::<I>(&cells[..equal]);
        self.add_mixed::<I>(&cells[mixed..]);
    }
}

impl<T: Real, F: Fn(usize) -> f64> Batch<'_, T, F> {
    /// Cells of eight equal voxels: each is one voxel of twice the edge, f = 2 E h K u.
    #[inline(always)]
    fn add_equal<I: InstructionSet>(&mut self, cells: &[u32]) {
        let Some(e) = self.level.uniform else { return };
        let (e, blocks) = (Eight::<T, I>::splat(T::from_f64(2.0 * e)), &self.level.blocks);
        for lanes in cells.chunks(8) {
            let u = gather::<T, I>(lanes, self.nodes, self.x).map(number::walsh);
            let mut f = [[Eight::<T, I>::splat(T::default()); 8]; 3];
            amplitudes!(blocks, u, e, f);
            scatter(lanes, self.nodes, f.map(number::walsh), self.y);
        }
    }

    /// Other cells: f̂_(v,a) = Σ_w ê_w Σ_b C_(v,a),(v',b) û_(v',b) with v' = v ⊕ 2^a ⊕ w ⊕ 2^b; see [`Cell`].
    #[inline(always)]
    fn add_mixed<I: InstructionSet>(&mut self, cells: &[u32]) {
        let zero = Eight::<T, I>::splat(T::default());
        for lanes in cells.chunks(8) {
            let e = number::walsh(self.octants::<I>(lanes));
            let u = gather::<T, I>(lanes, self.nodes, self.x).map(number::walsh);
            let mut f = [[zero; 8]; 3];
            for v in 1..8 {
                for a in 0..3 {
                    let row = &self.level.cell.c[3 * v + a];
                    let mut sum = zero;
                    for w in 0..8 {
                        let mut part = zero;
                        for b in 0..3 {
                            let other = v ^ 1 << a ^ w ^ 1 << b;
                            if other != 0 {
                                part = Eight::<T, I>::splat(row[3 * other + b]).fma(u[b][other], part);
                            }
                        }
                        sum = e[w].fma(part, sum);
                    }
                    f[a][v] = sum;
                }
            }
            scatter(lanes, self.nodes, f.map(number::walsh), self.y);
        }
    }

    /// E h of the octants of up to eight cells.
    #[inline(always)]
    fn octants<I: InstructionSet>(&self, lanes: &[u32]) -> [Eight<T, I>; 8] {
        let mut e = [Eight::<T, I>::splat(T::default()); 8];
        if let Some(uniform) = self.level.uniform {
            let mut octants = [0_u32; 8];
            lanes.iter().zip(&mut octants).for_each(|(&at, to)| *to = u32::from(self.level.child[at as usize].1));
            let there = T::from_f64(uniform);
            for o in 0..8 {
                e[o] = Eight::new(octants.map(|octants| if octants >> o & 1 == 1 { there } else { T::default() }));
            }
        } else {
            for (lane, &at) in lanes.iter().enumerate() {
                let (first, octants) = self.level.child[at as usize];
                let octants = First::<T>::octants(first, octants, self.stiffness);
                (0..8).for_each(|o| e[o].0[lane] = T::from_f64(octants[o]));
            }
        }
        e
    }
}
