//! The operator of the first coarse level, never assembled: PᵀKP, cell by cell of 2 × 2 × 2 voxels.

use std::ops::Range;

use pogo_formats::system::parallel;
use pogo_formats::system::parallel::iterate::*;

use super::cell::{Cell, add_child};
use super::split::{Coarsening, each_corner};
use super::transfer::{PLACES, place_of};
use crate::simd::{InstructionSet, Kernel, Lanes, Level, Real};
use crate::voxel::cube::Cube;
use crate::voxel::elements::{Batches, Elements};
use crate::voxel::forces::{Cubes, Part, amplitudes, k, one, three, two};
use crate::voxel::number::{self, Eight};
use crate::voxel::problem::Stiffness;
use crate::voxel::share::Contributors;
use pogo_formats::system::parallel::Shared;

/// The operator of the first coarse level.
#[derive(Debug)]
pub(crate) struct First<T = f32> {
    /// First voxel of each cell, and a bit for each octant that is there; 0 for a special cell.
    pub child: Vec<(u32, u8)>,
    /// The parts of the stiffness: one, or two; see [`Voxels`](crate::voxel::Voxels).
    pub parts: Vec<CellPart<T>>,
    /// Numbers of the special cells, ascending.
    pub own: Vec<u32>,
    special: Vec<Special>,
    /// Matrices of special cells, for devices ([`make_matrices`](Self::make_matrices)).
    pub matrices: Vec<[f32; 576]>,
    pub n_nodes: usize,
    /// Number of non-zero blocks of the assembled matrix.
    pub n_blocks: usize,
    /// E h where all elements have the same stiffness.
    pub uniform: Option<f64>,
}

/// What cells are made of in one part of the stiffness.
#[derive(Debug)]
pub(crate) struct CellPart<T> {
    pub cell: Cell<T>,
    cube: Cube,
    blocks: Part<T>,
}

impl<T: Real> CellPart<T> {
    fn new(cube: &Cube) -> Self {
        let blocks = cube.blocks.map(|block| block.map(|row| row.map(T::from_f64)));
        Self { cell: Cell::new(cube), cube: cube.clone(), blocks }
    }
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

/// Stiffness of the octants of a cell where that of all voxels is `one`.
fn of_equal(octants: u8, one: f64) -> [f64; 8] {
    std::array::from_fn(|o| if octants >> o & 1 == 1 { one } else { 0.0 })
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
    pub fn new(cubes: &[Cube], fine: &Elements, level: &Coarsening, fixed: &[u8]) -> Self {
        let cell = |element: usize| Special::new(fine, level.children.of(element), fixed);
        let child = |element: usize| {
            let children = level.children.of(element);
            let (mut octants, mut bound) = (0, 0);
            for &child in children {
                let octant = fine.octant(child as usize);
                (octants, bound) = (octants | 1 << (octant & 7), bound | octant >> 3);
            }
            each_corner(fine, children, |node, _| bound |= usize::from(fixed[node]));
            (children[0], if bound == 0 { octants } else { 0 })
        };
        let child: Vec<(u32, u8)> = parallel::map(level.coarse.nodes.len(), &child);
        let own: Vec<u32> = (0..).zip(&child).filter(|(_, child)| child.1 == 0).map(|(element, _)| element).collect();
        Self {
            special: own.par_iter().map(|&element| cell(element as usize).1).collect(),
            child,
            own,
            matrices: Vec::new(),
            parts: cubes.iter().map(CellPart::new).collect(),
            n_nodes: level.coarse.n_nodes,
            n_blocks: 0,
            uniform: None,
        }
    }

    /// Whether a cell is not special.
    pub fn is_plain(&self, element: usize) -> bool {
        self.child[element].1 != 0
    }

    /// Whether a cell is not special and has all eight voxels.
    pub fn is_full(&self, element: usize) -> bool {
        self.child[element].1 == 255
    }

    /// Stiffness of the octants of a cell that is not special, in a part.
    pub fn plain(&self, element: usize, part: usize, stiffness: &Stiffness) -> [f64; 8] {
        let (first, octants) = self.child[element];
        match self.uniform {
            Some(one) => of_equal(octants, one),
            None => Self::octants(first, octants, part, stiffness),
        }
    }

    /// Stiffness of the octants of a cell in a part. All voxels of a cell share its middle, so they are one piece and consecutive.
    #[inline(always)]
    fn octants(first: u32, octants: u8, part: usize, stiffness: &Stiffness) -> [f64; 8] {
        let mut next = first as usize;
        let mut e = [0.0; 8];
        for o in 0..8 {
            if octants >> o & 1 == 1 {
                e[o] = stiffness(next, part);
                next += 1;
            }
        }
        e
    }

    /// Makes the matrices of special cells. Devices read them; the CPU goes through the voxels.
    pub fn make_matrices(&mut self, stiffness: &Stiffness) {
        let matrix = |&element: &u32| {
            let mut matrix = [0.0; 576];
            self.matrix(element as usize, stiffness, &mut matrix);
            matrix.map(|a| a as f32)
        };
        self.matrices = self.own.par_iter().map(matrix).collect();
    }

    /// What is kept of the special cell `element`.
    fn special(&self, element: usize) -> &Special {
        &self.special[self.own.partition_point(|&e| (e as usize) < element)]
    }

    /// The matrix of one element.
    pub fn matrix(&self, element: usize, stiffness: &Stiffness, out: &mut [f64; 576]) {
        for part in 0..self.parts.len() {
            if part == 0 {
                self.matrix_of_part(element, part, stiffness, out);
            } else {
                let mut further = [0.0; 576];
                self.matrix_of_part(element, part, stiffness, &mut further);
                out.iter_mut().zip(further).for_each(|(out, further)| *out += further);
            }
        }
    }

    fn matrix_of_part(&self, element: usize, part: usize, stiffness: &Stiffness, out: &mut [f64; 576]) {
        let (first, octants) = self.child[element];
        let CellPart { cell: plain, cube, .. } = &self.parts[part];
        if octants != 0 {
            plain.matrix(&Self::octants(first, octants, part, stiffness), out);
            return;
        }
        let cell = self.special(element);
        let e = Self::octants(first, cell.octants, part, stiffness);
        out.fill(0.0);
        for (o, octant) in cell.octants() {
            let free: [f64; 24] = std::array::from_fn(|i| f64::from(!cell.fixed[i % 3] >> place_of(octant, i / 3) & 1));
            let mut a = [0.0; 576];
            for ((a, dense), &row) in a.chunks_exact_mut(24).zip(cube.dense.iter()).zip(&free) {
                for ((a, &dense), &column) in a.iter_mut().zip(dense).zip(&free) {
                    *a = e[o] * dense * (row * column);
                }
            }
            add_child(octant, &a, out);
        }
    }

    /// y = A x at the contributors' own nodes.
    pub fn apply(&self, nodes: &[[u32; 8]], x: &[T], y: &mut [T], to: &Contributors, stiffness: &Stiffness) {
        match &self.parts[..] {
            [one, other] => self.apply_parts(nodes, x, y, to, stiffness, [one, other]),
            parts => self.apply_parts(nodes, x, y, to, stiffness, [&parts[0]]),
        }
    }

    fn apply_parts<const N: usize>(
        &self,
        nodes: &[[u32; 8]],
        x: &[T],
        y: &mut [T],
        to: &Contributors,
        stiffness: &Stiffness,
        parts: [&CellPart<T>; N],
    ) {
        to.clear(y);
        let y = Shared::new(y);
        to.batches.for_each(&|range| {
            // SAFETY: batches that run at the same time share no node; within one there is one thread.
            let y = unsafe { y.part(0..3 * self.n_nodes) };
            Level::detect().run(Batch { level: self, parts, range, nodes, x, y, stiffness });
        });
    }

    /// Adds Σ_o P_oᵀ M E_o K M P_o x of a special cell, its eight voxels side by side. M makes what is fixed 0.
    #[inline(never)]
    fn add_special<const N: usize>(
        &self,
        element: usize,
        nodes: &[u32; 8],
        x: &[T],
        y: &mut [T],
        (parts, stiffness): (&[Part<T>; N], &Stiffness),
    ) {
        let cell = self.special(element);
        let of_part = |part| Self::octants(self.child[element].0, cell.octants, part, stiffness).map(T::from_f64);
        let e: [[T; 8]; N] = std::array::from_fn(of_part);
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
        let cubes = Cubes { parts, displacements: &u, stiffness: &e, forces: &mut f };
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
    pub fn diagonal(&self, nodes: &[[u32; 8]], batches: &Batches, stiffness: &Stiffness) -> Vec<f64> {
        let n = 3 * self.n_nodes;
        let mut diagonal = vec![0.0; n];
        let shared = Shared::new(&mut diagonal);
        let of_octants: Vec<[[f64; 24]; 8]> = self.parts.iter().map(|part| part.cell.diagonals()).collect();
        let sum = |part: usize, e: [f64; 8]| -> [f64; 24] {
            let mut sum = of_octants[part][0].map(|a| e[0] * a);
            for (a, e) in of_octants[part].iter().zip(e).skip(1) {
                (0..24).for_each(|i| sum[i] += e * a[i]);
            }
            sum
        };
        // Where all voxels are equal, that of each set of octants.
        let of_sets: Option<Vec<[f64; 24]>> =
            self.uniform.map(|one| (0..=255).map(|octants| sum(0, of_equal(octants, one))).collect());
        batches.for_each(&|range| {
            // SAFETY: batches that run at the same time share no node; within one there is one thread.
            let diagonal = unsafe { shared.part(0..n) };
            let mut matrix = [0.0; 576];
            for element in range {
                let nodes = &nodes[element];
                if self.is_plain(element) {
                    for part in 0..self.parts.len() {
                        let a = match &of_sets {
                            Some(of_sets) => of_sets[usize::from(self.child[element].1)],
                            None => sum(part, self.plain(element, part, stiffness)),
                        };
                        for (i, a) in a.into_iter().enumerate() {
                            diagonal[3 * nodes[i / 3] as usize + i % 3] += a;
                        }
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
struct Batch<'a, T, const N: usize> {
    level: &'a First<T>,
    parts: [&'a CellPart<T>; N],
    range: Range<usize>,
    nodes: &'a [[u32; 8]],
    x: &'a [T],
    y: &'a mut [T],
    stiffness: &'a Stiffness<'a>,
}

impl<T: Real, const N: usize> Kernel for Batch<'_, T, N> {
    type Output = ();
    #[inline(always)]
    fn run<I: InstructionSet>(mut self) {
        // Cells of eight equal voxels from the front, others from the back.
        let mut cells = [0_u32; Batches::SIZE];
        let (mut equal, mut mixed) = (0, cells.len());
        let blocks = self.parts.map(|part| part.blocks);
        let special = (&blocks, self.stiffness);
        for element in self.range.clone() {
            match self.level.child[element].1 {
                0 => self.level.add_special(element, &self.nodes[element], self.x, self.y, special),
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

impl<T: Real, const N: usize> Batch<'_, T, N> {
    /// Cells of eight equal voxels: each is one voxel of twice the edge, f = 2 E h K u.
    #[inline(always)]
    fn add_equal<I: InstructionSet>(&mut self, cells: &[u32]) {
        let Some(e) = self.level.uniform else { return };
        let (e, blocks) = (Eight::<T, I>::splat(T::from_f64(2.0 * e)), &self.parts[0].blocks);
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
            let u = gather::<T, I>(lanes, self.nodes, self.x).map(number::walsh);
            let mut f = [[zero; 8]; 3];
            for p in 0..N {
                let e = number::walsh(self.octants::<I>(lanes, p));
                for v in 1..8 {
                    for a in 0..3 {
                        let row = &self.parts[p].cell.c[3 * v + a];
                        let mut sum = if p == 0 { zero } else { f[a][v] };
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
            }
            scatter(lanes, self.nodes, f.map(number::walsh), self.y);
        }
    }

    /// Stiffness of the octants of up to eight cells in a part.
    #[inline(always)]
    fn octants<I: InstructionSet>(&self, lanes: &[u32], part: usize) -> [Eight<T, I>; 8] {
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
                let octants = First::<T>::octants(first, octants, part, self.stiffness);
                (0..8).for_each(|o| e[o].0[lane] = T::from_f64(octants[o]));
            }
        }
        e
    }
}
