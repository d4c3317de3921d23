//! Coarse levels whose elements are split where the finer ones do not touch.
//!
//! Eight cells of a level make one of the next. Where the finer elements in it fall apart into pieces that share no node,
//! each piece becomes a coarse element of its own; and a corner of the coarse grid becomes several coarse nodes where the
//! coarse elements round it do not touch each other. So a coarse level never glues struts that are apart. Displacements
//! between coarse nodes are trilinear.

use pogo_formats::voxel::{morton_code, morton_position};
use rayon::prelude::*;

/// Elements of one level, in the Morton order of their cells.
#[derive(Debug, Clone, Default)]
pub(super) struct Elements {
    /// Morton code of each element's cell; pieces of one cell have the same.
    pub code: Vec<u64>,
    /// Eight nodes each.
    pub nodes: Vec<[u32; 8]>,
    /// Number of nodes.
    pub n_nodes: usize,
    /// First cell and the one after the last along each axis, where the model repeats itself along all three.
    pub period: Option<[[u32; 2]; 3]>,
}

impl Elements {
    /// Which eighth of its coarse cell element `i` is, bits 0 to 2, and along which axes it is all of the cell, bits 3 to 5.
    ///
    /// The latter is so at the ends of an odd number of cells that repeat: were such a coarse cell half empty, the nodes at its end
    /// would lie between coarse nodes, and those that they are one with on the other side on one.
    pub fn octant(&self, i: usize) -> usize {
        let octant = (self.code[i] & 7) as usize;
        let Some(period) = self.period else { return octant };
        let at = morton_position(self.code[i]);
        let alone = |m: &usize| !(period[*m][0]..period[*m][1]).contains(&(at[*m] ^ 1));
        (0..3).filter(alone).fold(octant, |octant, m| octant | 8 << m)
    }
}

/// From a level to the next coarser one.
#[derive(Debug, Clone, Default)]
pub(super) struct Coarsening {
    /// Coarse elements.
    pub coarse: Elements,
    /// First finer element of each coarse one, in `children`, (n_coarse + 1,).
    pub child_first: Vec<u32>,
    /// Finer elements, coarse element by coarse element.
    pub children: Vec<u32>,
    /// How values go between the levels.
    pub transfer: Transfer,
}

/// Trilinear interpolation between two levels.
///
/// Each finer node belongs to one coarse element, in which it stands at one of 27 places.
#[derive(Debug, Clone, Default)]
pub(super) struct Transfer {
    /// First finer node of each coarse element, in `fine`, (n_coarse elements + 1,).
    pub first: Vec<u32>,
    /// Finer nodes, coarse element by coarse element.
    pub fine: Vec<u32>,
    /// Place of each, x + 3 y + 9 z in half edges.
    pub place: Vec<u8>,
}

/// Corners that a place depends on, and their one weight.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub corners: [u8; 8],
    pub n: u8,
    pub weight: f32,
}

/// Of the 27 places.
pub(super) const PLACES: [Place; 27] = {
    let mut places = [Place { corners: [0; 8], n: 0, weight: 1.0 }; 27];
    let mut p = 0;
    while p < 27 {
        let at = [p % 3, p / 3 % 3, p / 9];
        let mut c = 0;
        while c < 8 {
            let corner = [c & 1, c >> 1 & 1, c >> 2];
            let mut fits = true;
            let mut m = 0;
            while m < 3 {
                fits = fits && (at[m] == 1 || at[m] == 2 * corner[m]);
                m += 1;
            }
            if fits {
                places[p].corners[places[p].n as usize] = c as u8;
                places[p].n += 1;
            }
            c += 1;
        }
        places[p].weight = 1.0 / places[p].n as f32;
        p += 1;
    }
    places
};

/// Place of corner `c` of the finer cell `octant`, as [`Elements::octant`] says it, in the coarse one.
pub(super) const fn place_of(octant: usize, c: usize) -> usize {
    let mut place = 0;
    let (mut m, mut step) = (0, 1);
    while m < 3 {
        let (all, half, upper) = (octant >> (3 + m) & 1, octant >> m & 1, c >> m & 1);
        place += step * if all == 1 { 2 * upper } else { half + upper };
        m += 1;
        step *= 3;
    }
    place
}

struct Union(Vec<u32>);

impl Union {
    fn find(&mut self, mut i: u32) -> u32 {
        while self.0[i as usize] != i {
            let up = self.0[self.0[i as usize] as usize];
            self.0[i as usize] = up;
            i = up;
        }
        i
    }

    /// The lower one stays.
    fn join(&mut self, i: u32, j: u32) {
        let (i, j) = (self.find(i), self.find(j));
        self.0[i.max(j) as usize] = i.min(j);
    }
}

/// The next coarser level. Where not `split`, a cell is one element and a corner one node, whatever touches there.
pub(super) fn coarsen(fine: &Elements, split: bool) -> Coarsening {
    let n = fine.code.len();
    let mut out = Coarsening { child_first: vec![0], ..Coarsening::default() };
    out.children.reserve_exact(n);
    // Coarse elements: pieces of each cell that share nodes.
    let mut at = 0;
    let mut piece = Vec::new();
    while at < n {
        let cell = fine.code[at] >> 3;
        let end = at + fine.code[at..].iter().take_while(|&&code| code >> 3 == cell).count();
        piece.clear();
        piece.extend(0..end - at);
        for i in 1..end - at {
            for j in 0..i {
                if piece[i] != piece[j] && (!split || touch(&fine.nodes[at + i], &fine.nodes[at + j])) {
                    let (low, high) = (piece[i].min(piece[j]), piece[i].max(piece[j]));
                    piece.iter_mut().filter(|p| **p == high).for_each(|p| *p = low);
                }
            }
        }
        for p in 0..end - at {
            if piece[p] == p {
                out.coarse.code.push(cell);
                out.children.extend((p..end - at).filter(|&i| piece[i] == p).map(|i| (at + i) as u32));
                out.child_first.push(out.children.len() as u32);
            }
        }
        at = end;
    }
    // Corners: those that finer nodes need, one for all coarse elements that have the node.
    let n_coarse = out.coarse.code.len();
    let mut union = Union((0..8 * n_coarse as u32).collect());
    const NONE: u32 = u32::MAX;
    let mut owner = vec![NONE; fine.n_nodes];
    let mut place = vec![0_u8; fine.n_nodes];
    for coarse in 0..n_coarse {
        for &child in &out.children[out.child_first[coarse] as usize..out.child_first[coarse + 1] as usize] {
            let octant = fine.octant(child as usize);
            for (c, &node) in fine.nodes[child as usize].iter().enumerate() {
                let (node, here) = (node as usize, place_of(octant, c));
                if owner[node] == NONE {
                    owner[node] = coarse as u32;
                    place[node] = here as u8;
                } else if owner[node] != coarse as u32 || usize::from(place[node]) != here {
                    let (mine, its) = (&PLACES[here], &PLACES[usize::from(place[node])]);
                    for k in 0..usize::from(mine.n) {
                        union.join(
                            8 * coarse as u32 + u32::from(mine.corners[k]),
                            8 * owner[node] + u32::from(its.corners[k]),
                        );
                    }
                }
            }
        }
    }
    if !split {
        let corner = |i: usize| {
            let at = morton_position(out.coarse.code[i / 8]);
            morton_code([0, 1, 2].map(|m| at[m] + (i as u32 >> m & 1)))
        };
        let mut corners: Vec<(u64, u32)> = (0..8 * n_coarse).map(|i| (corner(i), i as u32)).collect();
        corners.par_sort_unstable();
        corners.windows(2).filter(|pair| pair[0].0 == pair[1].0).for_each(|pair| union.join(pair[0].1, pair[1].1));
    }
    let mut number = vec![NONE; 8 * n_coarse];
    let mut n_nodes = 0;
    out.coarse.nodes = vec![[0; 8]; n_coarse];
    for i in 0..8 * n_coarse {
        let root = union.find(i as u32) as usize;
        if number[root] == NONE {
            number[root] = n_nodes;
            n_nodes += 1;
        }
        out.coarse.nodes[i / 8][i % 8] = number[root];
    }
    out.coarse.n_nodes = n_nodes as usize;
    out.coarse.period = fine.period.map(|period| period.map(|[first, end]| [first / 2, end.div_ceil(2)]));
    drop((number, union));
    // Finer nodes by their coarse element.
    let mut first = vec![0_u32; n_coarse + 1];
    owner.iter().for_each(|&owner| first[owner as usize + 1] += 1);
    (0..n_coarse).for_each(|i| first[i + 1] += first[i]);
    let mut next = first.clone();
    let (mut nodes, mut places) = (vec![0; fine.n_nodes], vec![0; fine.n_nodes]);
    for node in 0..fine.n_nodes {
        let at = &mut next[owner[node] as usize];
        nodes[*at as usize] = node as u32;
        places[*at as usize] = place[node];
        *at += 1;
    }
    out.transfer = Transfer { first, fine: nodes, place: places };
    out
}

fn touch(a: &[u32; 8], b: &[u32; 8]) -> bool {
    a.iter().any(|node| b.contains(node))
}

/// Elements of a level in batches of neighbours, and the batches in colours: batches of one colour share no node.
#[derive(Debug, Clone, Default)]
pub(super) struct Batches {
    /// Batches of each colour.
    pub colours: Vec<Vec<u32>>,
    pub n_elements: usize,
}

impl Batches {
    const SIZE: usize = 256;

    pub fn new(elements: &Elements) -> Self {
        let n_batches = elements.nodes.len().div_ceil(Self::SIZE);
        // Batches that have each node: at most eight elements have it, so few.
        let mut last = vec![u32::MAX; elements.n_nodes];
        let mut pairs: Vec<(u32, u32)> = Vec::new();
        let mut of_node: Vec<Vec<u32>> = Vec::new();
        let mut slot = vec![u32::MAX; elements.n_nodes];
        for (batch, chunk) in elements.nodes.chunks(Self::SIZE).enumerate() {
            let batch = batch as u32;
            for &node in chunk.iter().flatten() {
                let node = node as usize;
                if last[node] == batch {
                    continue;
                }
                if last[node] != u32::MAX {
                    if slot[node] == u32::MAX {
                        slot[node] = of_node.len() as u32;
                        of_node.push(vec![last[node]]);
                    }
                    let list = &mut of_node[slot[node] as usize];
                    pairs.extend(list.iter().map(|&other| (other, batch)));
                    list.push(batch);
                }
                last[node] = batch;
            }
        }
        pairs.sort_unstable();
        pairs.dedup();
        let mut below = vec![Vec::new(); n_batches];
        pairs.iter().for_each(|&(low, high)| below[high as usize].push(low));
        let mut colour = vec![0_usize; n_batches];
        let mut colours: Vec<Vec<u32>> = Vec::new();
        for batch in 0..n_batches {
            let taken: Vec<usize> = below[batch].iter().map(|&b| colour[b as usize]).collect();
            let free = (0..).find(|c| !taken.contains(c)).unwrap_or(0);
            colour[batch] = free;
            if free == colours.len() {
                colours.push(Vec::new());
            }
            colours[free].push(batch as u32);
        }
        Self { colours, n_elements: elements.nodes.len() }
    }

    /// Calls `act` with the elements of every batch; those that share a node one after the other, in one order.
    pub fn for_each(&self, act: impl Fn(std::ops::Range<usize>) + Sync) {
        for colour in &self.colours {
            colour.par_iter().for_each(|&batch| {
                let first = batch as usize * Self::SIZE;
                act(first..(first + Self::SIZE).min(self.n_elements));
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::voxel::tests::random;
    use pogo_formats::voxel::bricks_of;

    /// Elements of the voxels for which `solid` says so.
    fn elements(size: [u32; 3], solid: impl Fn([u32; 3]) -> bool) -> (Elements, Vec<[u32; 3]>) {
        let bricks = bricks_of(size, solid);
        let fine = super::super::first::fine_elements(&bricks.view());
        let view = bricks.view();
        let positions = (0..view.n_bricks()).flat_map(|b| view.node_positions(b)).collect();
        (fine, positions)
    }

    #[test]
    fn two_plates_stay_apart_and_one_is_a_grid() {
        // A gap of one voxel: the plates meet in cells of the first level, and in none of their corners.
        let (fine, _) = elements([8, 8, 7], |[_, _, z]| z != 3);
        let level = coarsen(&fine, true);
        assert_eq!(level.coarse.n_nodes, 2 * 5 * 5 * 3);
        let next = coarsen(&level.coarse, true);
        assert_eq!(next.coarse.code.len(), 2 * 2 * 2);
        assert_eq!(next.coarse.n_nodes, 2 * 3 * 3 * 2);
        let (fine, _) = elements([8, 8, 7], |_| true);
        assert_eq!(coarsen(&fine, true).coarse.n_nodes, 5 * 5 * 5);
    }

    #[test]
    fn linear_fields_are_interpolated_as_they_are() {
        let (fine, positions) = elements([13, 9, 11], |[x, y, z]| random(u64::from(x + 100 * (y + 100 * z))) < 0.3);
        let level = coarsen(&fine, true);
        // Position of each coarse node from any element that has it.
        let mut at = vec![None; level.coarse.n_nodes];
        for (code, nodes) in level.coarse.code.iter().zip(&level.coarse.nodes) {
            let p = pogo_formats::voxel::morton_position(*code);
            for (c, &node) in nodes.iter().enumerate() {
                let here = [0, 1, 2].map(|m| 2.0 * (p[m] + (c as u32 >> m & 1)) as f32);
                assert!(at[node as usize].is_none_or(|at| at == here));
                at[node as usize] = Some(here);
            }
        }
        let t = &level.transfer;
        assert_eq!(t.fine.len(), fine.n_nodes);
        for element in 0..level.coarse.nodes.len() {
            for i in t.first[element] as usize..t.first[element + 1] as usize {
                let place = &PLACES[usize::from(t.place[i])];
                for m in 0..3 {
                    let sum: f32 = place.corners[..usize::from(place.n)]
                        .iter()
                        .map(|&c| at[level.coarse.nodes[element][usize::from(c)] as usize].expect("there")[m])
                        .sum();
                    assert_eq!(sum * place.weight, positions[t.fine[i] as usize][m] as f32);
                }
            }
        }
    }
}
