//! Coarse levels whose elements are split where the finer ones do not touch.
//!
//! Eight cells of a level make one of the next. Where the finer elements in it fall apart into pieces that share no node,
//! each piece becomes a coarse element of its own; and a corner of the coarse grid becomes several coarse nodes where the
//! coarse elements round it do not touch each other. So a coarse level never glues struts that are apart. Displacements
//! between coarse nodes are trilinear.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use pogo_formats::voxel::{morton_code, morton_position};
use rayon::prelude::*;

use super::number::Shared;

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

/// Groups of corners that are one node, made by several threads. The lowest member stands for its group, whatever the
/// order in which they are joined.
struct Union(Vec<AtomicU32>);

impl Union {
    fn new(n: u32) -> Self {
        Self((0..n).into_par_iter().map(AtomicU32::new).collect())
    }

    fn find(&self, mut i: u32) -> u32 {
        loop {
            let up = self.0[i as usize].load(Relaxed);
            if up == i {
                return i;
            }
            let next = self.0[up as usize].load(Relaxed);
            if next != up {
                // Halves the way; a parent only ever gives way to a lower one of its own group.
                let _ = self.0[i as usize].compare_exchange_weak(up, next, Relaxed, Relaxed);
            }
            i = next;
        }
    }

    /// The lower one stays.
    fn join(&self, i: u32, j: u32) {
        let (mut i, mut j) = (i, j);
        loop {
            (i, j) = (self.find(i), self.find(j));
            if i == j {
                return;
            }
            let (low, high) = (i.min(j), i.max(j));
            if self.0[high as usize].compare_exchange(high, low, Relaxed, Relaxed).is_ok() {
                return;
            }
        }
    }
}

/// Coarse elements of finer elements `range`, which hold whole cells: pieces of each cell that share nodes.
fn pieces(fine: &Elements, range: std::ops::Range<usize>, split: bool) -> (Vec<u64>, Vec<u32>, Vec<u32>) {
    let (mut code, mut count, mut children) = (Vec::new(), Vec::new(), Vec::with_capacity(range.len()));
    let mut piece = Vec::new();
    let mut at = range.start;
    while at < range.end {
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
                let before = children.len();
                code.push(cell);
                children.extend((p..end - at).filter(|&i| piece[i] == p).map(|i| (at + i) as u32));
                count.push((children.len() - before) as u32);
            }
        }
        at = end;
    }
    (code, count, children)
}

/// First of each, and the end.
fn starts(counts: impl Iterator<Item = u32>, n: usize) -> Vec<u32> {
    let mut out = Vec::with_capacity(n + 1);
    let mut sum = 0;
    out.push(0);
    out.extend(counts.map(|count| {
        sum += count;
        sum
    }));
    out
}

/// The next coarser level. Where not `split`, a cell is one element and a corner one node, whatever touches there.
pub(super) fn coarsen(fine: &Elements, split: bool) -> Coarsening {
    const SIZE: usize = 1 << 14;
    let n = fine.code.len();
    // Parts that end where a cell does.
    let whole = |at: usize| {
        at + fine.code[at..].iter().take_while(|&&code| at > 0 && code >> 3 == fine.code[at - 1] >> 3).count()
    };
    let parts: Vec<_> = (0..n.div_ceil(SIZE))
        .into_par_iter()
        .map(|i| pieces(fine, whole(i * SIZE)..whole(((i + 1) * SIZE).min(n)), split))
        .collect();
    let mut out = Coarsening::default();
    let n_coarse = parts.iter().map(|part| part.0.len()).sum();
    out.coarse.code.reserve_exact(n_coarse);
    out.children.reserve_exact(n);
    parts.iter().for_each(|part| out.coarse.code.extend_from_slice(&part.0));
    out.child_first = starts(parts.iter().flat_map(|part| part.1.iter().copied()), n_coarse);
    parts.into_iter().for_each(|part| out.children.extend_from_slice(&part.2));
    let children =
        |coarse: usize| &out.children[out.child_first[coarse] as usize..out.child_first[coarse + 1] as usize];
    // Each finer node belongs to the first coarse element that has it, and stands where that has it first.
    let owner: Vec<AtomicU32> = (0..fine.n_nodes).into_par_iter().map(|_| AtomicU32::new(u32::MAX)).collect();
    (0..n_coarse).into_par_iter().for_each(|coarse| {
        for node in children(coarse).iter().flat_map(|&child| fine.nodes[child as usize]) {
            owner[node as usize].fetch_min(coarse as u32, Relaxed);
        }
    });
    let owner: Vec<u32> = owner.into_par_iter().map(AtomicU32::into_inner).collect();
    let each = |coarse: usize, act: &mut dyn FnMut(usize, usize)| {
        for &child in children(coarse) {
            let octant = fine.octant(child as usize);
            for (c, &node) in fine.nodes[child as usize].iter().enumerate() {
                act(node as usize, place_of(octant, c));
            }
        }
    };
    const NOWHERE: u8 = u8::MAX;
    let mut place = vec![NOWHERE; fine.n_nodes];
    let mut count = vec![0_u32; n_coarse];
    {
        let shared = Shared::new(&mut place);
        count.par_iter_mut().enumerate().for_each(|(coarse, count)| {
            each(coarse, &mut |node, here| {
                if owner[node] == coarse as u32 {
                    // SAFETY: each node has one owner.
                    let place = unsafe { shared.part(node..node + 1) };
                    if place[0] == NOWHERE {
                        place[0] = here as u8;
                        *count += 1;
                    }
                }
            });
        });
    }
    // Corners: those that finer nodes need, one for all coarse elements that have the node.
    let union = Union::new(8 * n_coarse as u32);
    (0..n_coarse).into_par_iter().for_each(|coarse| {
        each(coarse, &mut |node, here| {
            if owner[node] != coarse as u32 || usize::from(place[node]) != here {
                let (mine, its) = (&PLACES[here], &PLACES[usize::from(place[node])]);
                for k in 0..usize::from(mine.n) {
                    union.join(
                        8 * coarse as u32 + u32::from(mine.corners[k]),
                        8 * owner[node] + u32::from(its.corners[k]),
                    );
                }
            }
        });
    });
    if !split {
        let corner = |i: usize| {
            let at = morton_position(out.coarse.code[i / 8]);
            morton_code([0, 1, 2].map(|m| at[m] + (i as u32 >> m & 1)))
        };
        let mut corners: Vec<(u64, u32)> = (0..8 * n_coarse).map(|i| (corner(i), i as u32)).collect();
        corners.par_sort_unstable();
        corners.windows(2).filter(|pair| pair[0].0 == pair[1].0).for_each(|pair| union.join(pair[0].1, pair[1].1));
    }
    // Groups get numbers in the order of their lowest corners.
    let is_root = |i: usize| union.0[i].load(Relaxed) == i as u32;
    let n_corners = 8 * n_coarse;
    let roots: Vec<u32> = (0..n_corners.div_ceil(SIZE))
        .into_par_iter()
        .map(|part| (part * SIZE..((part + 1) * SIZE).min(n_corners)).filter(|&i| is_root(i)).count() as u32)
        .collect();
    let first_root = starts(roots.into_iter(), n_corners.div_ceil(SIZE));
    let mut number = vec![0_u32; n_corners];
    number.par_chunks_mut(SIZE).enumerate().for_each(|(part, number)| {
        let mut next = first_root[part];
        for (i, number) in number.iter_mut().enumerate() {
            if is_root(part * SIZE + i) {
                *number = next;
                next += 1;
            }
        }
    });
    out.coarse.nodes = (0..n_coarse)
        .into_par_iter()
        .map(|coarse| std::array::from_fn(|c| number[union.find((8 * coarse + c) as u32) as usize]))
        .collect();
    out.coarse.n_nodes = first_root.last().map_or(0, |&n| n as usize);
    out.coarse.period = fine.period.map(|period| period.map(|[first, end]| [first / 2, end.div_ceil(2)]));
    drop((number, union));
    // Finer nodes by their coarse element, ascending.
    let first = starts(count.into_iter(), n_coarse);
    let (mut nodes, mut places) = (vec![0_u32; fine.n_nodes], vec![0_u8; fine.n_nodes]);
    {
        let (to_nodes, to_places) = (Shared::new(&mut nodes), Shared::new(&mut places));
        (0..n_coarse).into_par_iter().for_each(|coarse| {
            let range = first[coarse] as usize..first[coarse + 1] as usize;
            // SAFETY: each coarse element has a range of its own.
            let (nodes, places) = unsafe { (to_nodes.part(range.clone()), to_places.part(range)) };
            let mut found = 0;
            each(coarse, &mut |node, here| {
                if owner[node] == coarse as u32
                    && usize::from(place[node]) == here
                    && !nodes[..found].contains(&(node as u32))
                {
                    nodes[found] = node as u32;
                    found += 1;
                }
            });
            nodes.sort_unstable();
            places.iter_mut().zip(&*nodes).for_each(|(to, &node)| *to = place[node as usize]);
        });
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
    /// Elements of a batch at most.
    pub const SIZE: usize = 256;

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
