//! The first coarse operator, never assembled: P^T K P of 2 × 2 × 2 voxels of different moduli.

use pogo_formats::voxel::{BrickNodes, BricksView};
use rayon::prelude::*;

use super::Cube;
use super::bricks::for_each_slot;
use super::forces::{Cubes, amplitudes, k, one, three, two};
use super::multigrid::zero;
use super::number::{self, Eight, Shared};
use super::split::{Batches, Coarsening, Elements, PLACES, place_of};
use crate::simd::{InstructionSet, Kernel, Lanes, Level, Real};

/// Stiffness of 2 × 2 × 2 voxels under trilinear displacements of the whole cell.
///
/// For octant o with modulus E_o it is Σ_o E_o P_oᵀ K P_o. In the Walsh-Hadamard basis over the cell's corners and over the
/// octants, ê_w = Σ_o (−1)^|w & o| E_o, mirror symmetry leaves each entry one ê: f̂_(v,a) = Σ ê_w C_(v,a),(v',b) û_(v',b)
/// with w = v ⊕ 2^a ⊕ v' ⊕ 2^b. Eight constant matrices become one.
#[derive(Debug, Clone)]
pub(super) struct Cell<T = f32> {
    /// P_oᵀ K P_o.
    pub octant: Vec<[[f64; 24]; 24]>,
    /// C, row (v, a) at 3 v + a; with the scale of both transforms.
    pub c: Box<[[T; 24]; 24]>,
    c64: Box<[[f64; 24]; 24]>,
}

fn sign(i: usize) -> f64 {
    if i.count_ones().is_multiple_of(2) { 1.0 } else { -1.0 }
}

/// The Walsh-Hadamard transform of eight numbers a stride apart.
fn walsh(v: &mut [f64], first: usize, stride: usize) {
    for half in [1, 2, 4] {
        for i in (0..8).filter(|i| i & half == 0) {
            let (a, b) = (v[first + i * stride], v[first + (i + half) * stride]);
            v[first + i * stride] = a + b;
            v[first + (i + half) * stride] = a - b;
        }
    }
}

/// Adds P_oᵀ A P_o of one octant to a coarse element's matrix.
pub(super) fn add_child(octant: usize, a: &[f64; 576], out: &mut [f64; 576]) {
    // B = A P: columns go to the corners.
    let mut b = [0.0; 576];
    for d in 0..8 {
        let place = &PLACES[place_of(octant, d)];
        let weight = f64::from(place.weight);
        for &corner in &place.corners[..usize::from(place.n)] {
            for row in 0..24 {
                for m in 0..3 {
                    b[24 * row + 3 * usize::from(corner) + m] += weight * a[24 * row + 3 * d + m];
                }
            }
        }
    }
    for c in 0..8 {
        let place = &PLACES[place_of(octant, c)];
        let weight = f64::from(place.weight);
        for &corner in &place.corners[..usize::from(place.n)] {
            for m in 0..3 {
                let (to, from) = (24 * (3 * usize::from(corner) + m), 24 * (3 * c + m));
                for column in 0..24 {
                    out[to + column] += weight * b[from + column];
                }
            }
        }
    }
}

impl<T: Real> Cell<T> {
    pub fn new(cube: &Cube) -> Self {
        let dense: [f64; 576] = std::array::from_fn(|i| cube.dense[i / 24][i % 24]);
        let octant: Vec<[[f64; 24]; 24]> = (0..8)
            .map(|o| {
                let mut out = [0.0; 576];
                add_child(o, &dense, &mut out);
                std::array::from_fn(|i| std::array::from_fn(|j| out[24 * i + j]))
            })
            .collect();
        let mut c64 = Box::new([[0.0; 24]; 24]);
        for i in 0..24 {
            for j in 0..24 {
                let (v, a, u, b) = (i / 3, i % 3, j / 3, j % 3);
                let w = v ^ 1 << a ^ u ^ 1 << b;
                let mut sum = 0.0;
                for o in 0..8 {
                    for c in 0..8 {
                        for d in 0..8 {
                            sum += sign(w & o) * sign(v & c) * octant[o][3 * c + a][3 * d + b] * sign(u & d);
                        }
                    }
                }
                // Three transforms there, each over 8 on the way back.
                c64[i][j] = if v == 0 || u == 0 { 0.0 } else { sum / 512.0 };
            }
        }
        let c = Box::new(c64.map(|row| row.map(T::from_f64)));
        Self { octant, c, c64 }
    }

    /// The matrix for these stiffnesses E_o h.
    pub fn matrix(&self, e: &[f64; 8], out: &mut [f64; 576]) {
        let mut amplitude = *e;
        walsh(&mut amplitude, 0, 1);
        for i in 0..24 {
            for j in 0..24 {
                let w = (i / 3) ^ 1 << (i % 3) ^ (j / 3) ^ 1 << (j % 3);
                out[24 * i + j] = amplitude[w] * self.c64[i][j];
            }
        }
        for row in 0..24 {
            for b in 0..3 {
                walsh(out, 24 * row + b, 3);
            }
        }
        for column in 0..24 {
            for a in 0..3 {
                walsh(out, 24 * a + column, 72);
            }
        }
    }
}

/// The operator of the first coarse level.
#[derive(Debug)]
pub(super) struct First<T = f32> {
    /// First voxel of each cell and which octants are there; 0 where the cell is one of its own kind.
    pub child: Vec<(u32, u8)>,
    pub cell: Cell<T>,
    /// Cells of their own kind, ascending.
    pub own: Vec<u32>,
    /// Their matrices, once a device has asked for them.
    pub matrices: Vec<[f32; 576]>,
    /// What is special about them.
    special: Vec<Special>,
    dense: Box<[[f64; 24]; 24]>,
    /// [`Cube::blocks`].
    blocks: [[[T; 3]; 3]; 8],
    pub n_nodes: usize,
    /// Non-zero blocks, were it assembled.
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

/// Up to a batch of elements.
struct Few {
    element: [u32; Batches::SIZE],
    n: usize,
}

impl Default for Few {
    fn default() -> Self {
        Self { element: [0; Batches::SIZE], n: 0 }
    }
}

impl Few {
    #[inline(always)]
    fn add(&mut self, element: usize) {
        self.element[self.n] = element as u32;
        self.n += 1;
    }

    fn get(&self) -> &[u32] {
        &self.element[..self.n]
    }
}

/// Values at the corners of up to eight elements; lanes without one have those of the first.
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

/// Stiffness E h of fine elements.
pub(super) type Stiffness<'a> = dyn Fn(usize) -> f64 + Sync + 'a;

impl<T: Real> First<T> {
    /// P^T K P; `fixed` has a bit for each fixed direction of each fine node.
    pub fn new(cube: &Cube, fine: &Elements, level: &Coarsening, fixed: &[u8]) -> Self {
        let cell = |element: usize| {
            let children =
                &level.children[level.child_first[element] as usize..level.child_first[element + 1] as usize];
            let mut cell = Special { octants: 0, all: 0, fixed: [0; 3] };
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
        };
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
            dense: Box::new(cube.dense),
            blocks: cube.blocks.map(|block| block.map(|row| row.map(T::from_f64))),
            n_nodes: level.coarse.n_nodes,
            n_blocks: 0,
            uniform: None,
            cell: Cell::new(cube),
        }
    }

    /// E h of the octants of a cell that is nothing special.
    pub fn plain(&self, element: usize, stiffness: &impl Fn(usize) -> f64) -> Option<[f64; 8]> {
        let (first, octants) = self.child[element];
        (octants != 0).then(|| Self::octants(first, octants, stiffness))
    }

    /// E h of the octants of a cell: all voxels of a cell share its middle, so they are one piece and consecutive.
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

    /// Makes the matrices of cells of their own kind: devices read them, the CPU goes through the voxels.
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

    /// What is special about a cell of its own kind.
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
        for o in (0..8).filter(|o| cell.octants >> o & 1 == 1) {
            let octant = o | usize::from(cell.all) << 3;
            let free: [f64; 24] = std::array::from_fn(|i| f64::from(!cell.fixed[i % 3] >> place_of(octant, i / 3) & 1));
            let mut a = [0.0; 576];
            for ((a, dense), &row) in a.chunks_exact_mut(24).zip(self.dense.iter()).zip(&free) {
                for ((a, &dense), &column) in a.iter_mut().zip(dense).zip(&free) {
                    *a = e[o] * dense * (row * column);
                }
            }
            add_child(octant, &a, out);
        }
    }

    /// y = A x.
    pub fn apply(
        &self,
        nodes: &[[u32; 8]],
        x: &[T],
        y: &mut [T],
        batches: &Batches,
        stiffness: &(impl Fn(usize) -> f64 + Sync),
    ) {
        zero(y);
        let y = Shared::new(y);
        batches.for_each(|range| {
            // SAFETY: batches that run at the same time share no node; within one there is one thread.
            let y = unsafe { y.part(0..3 * self.n_nodes) };
            Level::detect().run(Batch { level: self, range, nodes, x, y, stiffness });
        });
    }

    #[inline(always)]
    fn batch<I: InstructionSet>(
        &self,
        range: std::ops::Range<usize>,
        nodes: &[[u32; 8]],
        x: &[T],
        y: &mut [T],
        stiffness: &impl Fn(usize) -> f64,
    ) {
        let zero = Eight::<T, I>::splat(T::default());
        // Cells whose eight voxels are alike are like one large voxel.
        let (mut alike, mut mixed) = (Few::default(), Few::default());
        for element in range {
            match self.child[element].1 {
                0 => self.add_own(element, &nodes[element], x, y, stiffness),
                255 if self.uniform.is_some() => alike.add(element),
                _ => mixed.add(element),
            }
        }
        if let Some(e) = self.uniform {
            let (e, blocks) = (Eight::<T, I>::splat(T::from_f64(2.0 * e)), &self.blocks);
            for lanes in alike.get().chunks(8) {
                let u = gather::<T, I>(lanes, nodes, x).map(number::walsh);
                let mut f = [[zero; 8]; 3];
                amplitudes!(blocks, u, e, f);
                scatter(lanes, nodes, f.map(number::walsh), y);
            }
        }
        for lanes in mixed.get().chunks(8) {
            let mut e = [zero; 8];
            if let Some(uniform) = self.uniform {
                let mut octants = [0_u32; 8];
                lanes.iter().enumerate().for_each(|(lane, &at)| octants[lane] = u32::from(self.child[at as usize].1));
                let there = T::from_f64(uniform);
                for o in 0..8 {
                    e[o] = Eight::new(octants.map(|octants| if octants >> o & 1 == 1 { there } else { T::default() }));
                }
            } else {
                for (lane, &at) in lanes.iter().enumerate() {
                    let (first, octants) = self.child[at as usize];
                    let octants = Self::octants(first, octants, stiffness);
                    (0..8).for_each(|o| e[o].0[lane] = T::from_f64(octants[o]));
                }
            }
            let u = gather::<T, I>(lanes, nodes, x).map(number::walsh);
            let e = number::walsh(e);
            let mut f = [[zero; 8]; 3];
            for v in 1..8 {
                for a in 0..3 {
                    let row = &self.cell.c[3 * v + a];
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
            scatter(lanes, nodes, f.map(number::walsh), y);
        }
    }

    /// Σ_o P_oᵀ M E_o K M P_o of one cell, M without what is fixed: its eight voxels side by side.
    #[inline(never)]
    fn add_own(&self, element: usize, nodes: &[u32; 8], x: &[T], y: &mut [T], stiffness: &impl Fn(usize) -> f64) {
        let cell = self.special(element);
        let e = Self::octants(self.child[element].0, cell.octants, stiffness).map(T::from_f64);
        let mut values = [[T::default(); 27]; 3];
        for (p, place) in PLACES.iter().enumerate() {
            for &c in &place.corners[..usize::from(place.n)] {
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
        for o in (0..8).filter(|o| cell.octants >> o & 1 == 1) {
            for c in 0..8 {
                let place = place_of(o | usize::from(cell.all) << 3, c);
                for a in 0..3 {
                    sums[a][place] += f[a][c][o];
                }
            }
        }
        for (p, place) in PLACES.iter().enumerate() {
            for a in (0..3).filter(|&a| cell.fixed[a] >> p & 1 == 0) {
                let value = T::from_f64(f64::from(place.weight)) * sums[a][p];
                for &c in &place.corners[..usize::from(place.n)] {
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
                // Nodes of a cell that is joined to itself are the same: what stands beside the diagonal counts too.
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

/// [`First::batch`].
struct Batch<'a, T, F> {
    level: &'a First<T>,
    range: std::ops::Range<usize>,
    nodes: &'a [[u32; 8]],
    x: &'a [T],
    y: &'a mut [T],
    stiffness: &'a F,
}

impl<T: Real, F: Fn(usize) -> f64> Kernel for Batch<'_, T, F> {
    type Output = ();
    #[inline(always)]
    fn run<I: InstructionSet>(self) {
        self.level.batch::<I>(self.range, self.nodes, self.x, self.y, self.stiffness);
    }
}

/// Elements of the fine level with their nodes.
pub(super) fn fine_elements(bricks: &BricksView) -> Elements {
    let n = bricks.n_elements();
    let (mut code, mut nodes) = (vec![0_u64; n], vec![[0_u32; 8]; n]);
    {
        let (codes, lists) = (Shared::new(&mut code), Shared::new(&mut nodes));
        (0..bricks.n_bricks()).into_par_iter().for_each_init(BrickNodes::default, |local, brick| {
            local.load(bricks, brick);
            let range = bricks.element_first[brick] as usize..bricks.element_first[brick + 1] as usize;
            // SAFETY: each brick has elements of its own.
            let (codes, lists) = unsafe { (codes.part(range.clone()), lists.part(range)) };
            for_each_slot(&bricks.element_mask[8 * brick..8 * brick + 8], &[u64::MAX; 8], |slot, rank| {
                codes[rank] = bricks.code[brick] << 9 | slot as u64;
                lists[rank] = local.in_slot(slot);
            });
        });
    }
    Elements { code, nodes, n_nodes: bricks.n_nodes(), ..Elements::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::voxel::tests::random;

    #[test]
    fn a_cell_is_its_eight_voxels() {
        let cube = Cube::new(0.3);
        let cell = Cell::<f32>::new(&cube);
        let e: [f64; 8] = std::array::from_fn(|o| if o == 3 { 0.0 } else { 0.5 + random(o as u64) });
        let mut sum = [0.0; 576];
        for o in 0..8 {
            let a: [f64; 576] = std::array::from_fn(|i| e[o] * cube.dense[i / 24][i % 24]);
            add_child(o, &a, &mut sum);
        }
        let mut matrix = [0.0; 576];
        cell.matrix(&e, &mut matrix);
        for (a, b) in matrix.iter().zip(&sum) {
            assert!((a - b).abs() < 1e-14, "{a} {b}");
        }
        // Of one modulus it is a cube of twice the edge.
        cell.matrix(&[0.7; 8], &mut matrix);
        for (a, b) in matrix.iter().zip(cube.dense.as_flattened()) {
            assert!((a - 1.4 * b).abs() < 1e-14, "{a} {b}");
        }
    }
}
