//! The first coarse operator, never assembled: P^T K P of 2 × 2 × 2 voxels of different moduli.

use pogo_formats::voxel::{BrickNodes, BricksView};

use super::Cube;
use super::bricks::for_each_slot;
use super::number::{self, Eight, Shared};
use super::split::{Batches, Coarsening, Elements, PLACES, place_of};

/// Stiffness of 2 × 2 × 2 voxels under trilinear displacements of the whole cell.
///
/// For octant o with modulus E_o it is Σ_o E_o P_oᵀ K P_o. In the Walsh-Hadamard basis over the cell's corners and over the
/// octants, ê_w = Σ_o (−1)^|w & o| E_o, mirror symmetry leaves each entry one ê: f̂_(v,a) = Σ ê_w C_(v,a),(v',b) û_(v',b)
/// with w = v ⊕ 2^a ⊕ v' ⊕ 2^b. Eight constant matrices become one.
#[derive(Debug, Clone)]
pub(super) struct Cell {
    /// P_oᵀ K P_o.
    pub octant: Vec<[[f64; 24]; 24]>,
    /// C, row (v, a) at 3 v + a; with the scale of both transforms.
    pub c: Box<[[f32; 24]; 24]>,
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

impl Cell {
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
        let c = Box::new(c64.map(|row| row.map(|c| c as f32)));
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
pub(super) struct First {
    /// First voxel of each cell and which octants are there; 0 where the cell has a matrix of its own.
    pub child: Vec<(u32, u8)>,
    pub cell: Cell,
    /// Cells that have fixed degrees of freedom, ascending, and their matrices.
    pub own: Vec<u32>,
    pub matrices: Vec<[f32; 576]>,
    pub n_nodes: usize,
    /// Non-zero blocks, were it assembled.
    pub n_blocks: usize,
}

/// Stiffness E h of fine elements.
pub(super) type Stiffness<'a> = dyn Fn(usize) -> f64 + Sync + 'a;

impl First {
    /// P^T K P; `fixed` has a bit for each fixed direction of each fine node.
    pub fn new(cube: &Cube, fine: &Elements, level: &Coarsening, fixed: &[u8], stiffness: &Stiffness) -> Self {
        let cell = Cell::new(cube);
        let mut out = Self {
            child: Vec::with_capacity(level.coarse.nodes.len()),
            own: Vec::new(),
            matrices: Vec::new(),
            n_nodes: level.coarse.n_nodes,
            n_blocks: 0,
            cell,
        };
        for element in 0..level.coarse.nodes.len() {
            let children =
                &level.children[level.child_first[element] as usize..level.child_first[element + 1] as usize];
            let mut octants = 0;
            let mut own = false;
            for &child in children {
                octants |= 1 << (fine.code[child as usize] & 7);
                own |= fine.nodes[child as usize].iter().any(|&node| fixed[node as usize] != 0);
            }
            if own {
                let mut sum = [0.0; 576];
                for &child in children {
                    let nodes = &fine.nodes[child as usize];
                    let free = |i: usize| fixed[nodes[i / 3] as usize] >> (i % 3) & 1 == 0;
                    let e = stiffness(child as usize);
                    let a: [f64; 576] = std::array::from_fn(|i| {
                        if free(i / 24) && free(i % 24) { e * cube.dense[i / 24][i % 24] } else { 0.0 }
                    });
                    add_child((fine.code[child as usize] & 7) as usize, &a, &mut sum);
                }
                out.own.push(element as u32);
                out.matrices.push(sum.map(|a| a as f32));
                octants = 0;
            }
            out.child.push((children[0], octants));
        }
        out
    }

    /// E h of the octants of a cell without a matrix of its own.
    #[inline(always)]
    fn octants(&self, element: usize, stiffness: &impl Fn(usize) -> f64) -> [f64; 8] {
        let (first, octants) = self.child[element];
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

    /// The matrix of one element.
    pub fn matrix(&self, element: usize, stiffness: &impl Fn(usize) -> f64, out: &mut [f64; 576]) {
        if self.child[element].1 == 0 {
            let own = self.own.partition_point(|&e| (e as usize) < element);
            *out = self.matrices[own].map(f64::from);
        } else {
            self.cell.matrix(&self.octants(element, stiffness), out);
        }
    }

    /// y += A x; y is zero before.
    pub fn apply(
        &self,
        nodes: &[[u32; 8]],
        x: &[f32],
        y: &mut [f32],
        batches: &Batches,
        stiffness: &(impl Fn(usize) -> f64 + Sync),
    ) {
        y.fill(0.0);
        let y = Shared::new(y);
        batches.for_each(|range| {
            // SAFETY: batches that run at the same time share no node; within one there is one thread.
            let y = unsafe { y.part(0..3 * self.n_nodes) };
            #[cfg(target_arch = "x86_64")]
            if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
                // SAFETY: the machine has both.
                unsafe { self.batch_avx2(range, nodes, x, y, stiffness) };
                return;
            }
            self.batch::<false>(range, nodes, x, y, stiffness);
        });
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    fn batch_avx2(
        &self,
        range: std::ops::Range<usize>,
        nodes: &[[u32; 8]],
        x: &[f32],
        y: &mut [f32],
        stiffness: &impl Fn(usize) -> f64,
    ) {
        self.batch::<true>(range, nodes, x, y, stiffness);
    }

    #[inline(always)]
    fn batch<const FMA: bool>(
        &self,
        range: std::ops::Range<usize>,
        nodes: &[[u32; 8]],
        x: &[f32],
        y: &mut [f32],
        stiffness: &impl Fn(usize) -> f64,
    ) {
        type V<const FMA: bool> = Eight<f32, FMA>;
        let mut at = range.start;
        while at < range.end {
            let n = (range.end - at).min(8);
            let mut u = [[V::<FMA>::splat(0.0); 8]; 3];
            let mut e = [V::<FMA>::splat(0.0); 8];
            let mut own = 0_u32;
            for lane in 0..n {
                for (c, &node) in nodes[at + lane].iter().enumerate() {
                    let from = &x[3 * node as usize..3 * node as usize + 3];
                    for a in 0..3 {
                        u[a][c].0[lane] = from[a];
                    }
                }
                if self.child[at + lane].1 == 0 {
                    own |= 1 << lane;
                } else {
                    let octants = self.octants(at + lane, stiffness);
                    for o in 0..8 {
                        e[o].0[lane] = octants[o] as f32;
                    }
                }
            }
            let u = u.map(number::walsh);
            let e = number::walsh(e);
            let mut f = [[V::<FMA>::splat(0.0); 8]; 3];
            for v in 1..8 {
                for a in 0..3 {
                    let row = &self.cell.c[3 * v + a];
                    let mut sum = V::<FMA>::splat(0.0);
                    for w in 0..8 {
                        let mut part = V::<FMA>::splat(0.0);
                        for b in 0..3 {
                            let other = v ^ 1 << a ^ w ^ 1 << b;
                            if other != 0 {
                                part = V::<FMA>::splat(row[3 * other + b]).fma(u[b][other], part);
                            }
                        }
                        sum = e[w].fma(part, sum);
                    }
                    f[a][v] = sum;
                }
            }
            let f = f.map(number::walsh);
            for lane in 0..n {
                if own >> lane & 1 == 0 {
                    for (c, &node) in nodes[at + lane].iter().enumerate() {
                        let to = &mut y[3 * node as usize..3 * node as usize + 3];
                        for a in 0..3 {
                            to[a] += f[a][c].0[lane];
                        }
                    }
                } else {
                    self.add_own(at + lane, &nodes[at + lane], x, y);
                }
            }
            at += 8;
        }
    }

    fn add_own(&self, element: usize, nodes: &[u32; 8], x: &[f32], y: &mut [f32]) {
        let own = self.own.partition_point(|&e| (e as usize) < element);
        let matrix = &self.matrices[own];
        let u: [f32; 24] = std::array::from_fn(|i| x[3 * nodes[i / 3] as usize + i % 3]);
        for i in 0..24 {
            let row = &matrix[24 * i..24 * i + 24];
            y[3 * nodes[i / 3] as usize + i % 3] += row.iter().zip(&u).map(|(a, u)| a * u).sum::<f32>();
        }
    }

    /// The diagonal, (3 n_nodes,).
    pub fn diagonal(&self, nodes: &[[u32; 8]], stiffness: &impl Fn(usize) -> f64) -> Vec<f64> {
        let mut diagonal = vec![0.0; 3 * self.n_nodes];
        for (element, nodes) in nodes.iter().enumerate() {
            if self.child[element].1 == 0 {
                let own = self.own.partition_point(|&e| (e as usize) < element);
                for i in 0..24 {
                    diagonal[3 * nodes[i / 3] as usize + i % 3] += f64::from(self.matrices[own][25 * i]);
                }
            } else {
                let e = self.octants(element, stiffness);
                for i in 0..24 {
                    diagonal[3 * nodes[i / 3] as usize + i % 3] +=
                        (0..8).map(|o| e[o] * self.cell.octant[o][i][i]).sum::<f64>();
                }
            }
        }
        diagonal
    }
}

/// Elements of the fine level with their nodes.
pub(super) fn fine_elements(bricks: &BricksView) -> Elements {
    let mut out = Elements { n_nodes: bricks.n_nodes(), ..Elements::default() };
    out.code.reserve_exact(bricks.n_elements());
    out.nodes.reserve_exact(bricks.n_elements());
    let mut nodes = BrickNodes::default();
    for brick in 0..bricks.n_bricks() {
        nodes.load(bricks, brick);
        for_each_slot(&bricks.element_mask[8 * brick..8 * brick + 8], &[u64::MAX; 8], |slot, _| {
            out.code.push(bricks.code[brick] << 9 | slot as u64);
            out.nodes.push(nodes.in_slot(slot));
        });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::voxel::tests::random;

    #[test]
    fn a_cell_is_its_eight_voxels() {
        let cube = Cube::new(0.3);
        let cell = Cell::new(&cube);
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
    }
}
