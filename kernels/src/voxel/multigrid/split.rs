//! Coarse levels whose elements are split where the finer ones do not touch.
//!
//! Eight cells of a level make one of the next. Where the finer elements in it fall apart into pieces that share no node,
//! each piece becomes a coarse element of its own. A corner of the coarse grid becomes several coarse nodes where the
//! coarse elements around it do not touch each other. So a coarse level never joins struts that are apart. Displacements
//! between coarse nodes are trilinear.

use std::ops::Range;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use pogo_formats::system::parallel;
use pogo_formats::system::parallel::iterate::*;
use pogo_formats::voxel::{morton_code, morton_position};

use super::transfer::{PLACES, Transfer, place_of};
use crate::union::Union;
use crate::voxel::elements::{Elements, NO_NODE};
use crate::voxel::lists::{Lists, starts};
use pogo_formats::system::parallel::Shared;

/// Elements or corners that a thread takes at a time.
const PART: usize = 1 << 14;

/// From a level to the next coarser one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Coarsening {
    /// Elements of the coarser level.
    pub coarse: Elements,
    /// Finer elements of each coarse one.
    pub children: Lists,
    /// How values go between the levels.
    pub transfer: Transfer,
}

/// Coarse elements of finer elements `range`, which hold whole cells: codes, numbers of children, children.
///
/// Where `split`, finer elements of a cell that share no node, not even through others, are different coarse elements.
fn pieces(fine: &Elements, range: Range<usize>, split: bool) -> (Vec<u64>, Vec<u32>, Vec<u32>) {
    let (mut code, mut count, mut children) = (Vec::new(), Vec::new(), Vec::with_capacity(range.len()));
    let mut piece = Vec::new();
    let mut at = range.start;
    while at < range.end {
        let cell = fine.code[at] >> 3;
        let end = at + fine.code[at..].iter().take_while(|&&code| code >> 3 == cell).count();
        if fine.blocks_of_voxels.is_some() || end == at + 1 {
            code.push(cell);
            count.push((end - at) as u32);
            children.extend(at as u32..end as u32);
            at = end;
            continue;
        }
        piece.clear();
        piece.extend(0..end - at);
        for i in 1..end - at {
            for j in 0..i {
                if piece[i] != piece[j] && (!split || touch(fine, at + i, at + j)) {
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

/// Whether two elements of a cell share a node: that in the middle of the cell, if any, for most.
fn touch(fine: &Elements, i: usize, j: usize) -> bool {
    let (a, b) = (&fine.nodes[i], &fine.nodes[j]);
    let middle = |at: usize| fine.nodes[at][7 ^ (fine.code[at] & 7) as usize];
    if middle(i) == middle(j) && middle(i) != NO_NODE {
        return true;
    }
    a.iter().any(|&node| node != NO_NODE && b.iter().fold(false, |found, &other| found | (other == node)))
}

/// A corner of a voxel of a cell: which of the voxels that are there it is, the corner, and its place in the cell.
type CornerOfVoxel = [u8; 3];

/// For the octants of a cell that are there, the first corner at each place that a voxel has, in the order of the voxels.
static CORNERS_OF_VOXELS: LazyLock<Vec<Vec<CornerOfVoxel>>> = LazyLock::new(|| {
    let of_octants = |octants: usize| {
        let mut corners: Vec<CornerOfVoxel> = Vec::new();
        for (rank, octant) in (0..8).filter(|o| octants >> o & 1 == 1).enumerate() {
            for c in 0..8 {
                let place = place_of(octant, c) as u8;
                if corners.iter().all(|corner| corner[2] != place) {
                    corners.push([rank as u8, c as u8, place]);
                }
            }
        }
        corners
    };
    (0..256).map(of_octants).collect()
});

/// The next coarser level. Where not `split`, a cell is one element and a corner one node, whatever touches there.
pub(crate) fn coarsen(fine: &Elements, split: bool) -> Coarsening {
    let (code, children) = coarse_elements(fine, split);
    let n_coarse = code.len();
    let owner = owners(fine, &children, n_coarse);
    let (place, n_owned) = places(fine, &children, &owner, n_coarse);
    let union = joined_corners(fine, &children, &owner, &place, n_coarse);
    if !split {
        join_whole_corners(&code, &union);
    }
    let (nodes, n_nodes) = number_groups(&union, n_coarse);
    drop(union);
    let period = fine.period.map(|period| period.map(|[first, end]| [first / 2, end.div_ceil(2)]));
    let transfer = transfer(fine, &children, &owner, &place, &n_owned);
    Coarsening { coarse: Elements { code, nodes, n_nodes, period, blocks_of_voxels: None }, children, transfer }
}

/// Codes and children of the coarse elements.
fn coarse_elements(fine: &Elements, split: bool) -> (Vec<u64>, Lists) {
    let n = fine.code.len();
    // Parts that end where a cell does.
    let whole = |at: usize| {
        at + fine.code[at..].iter().take_while(|&&code| at > 0 && code >> 3 == fine.code[at - 1] >> 3).count()
    };
    let of_part = |i: usize| pieces(fine, whole(i * PART)..whole(((i + 1) * PART).min(n)), split);
    let (code, count, children): (Vec<_>, Vec<_>, Vec<_>) =
        parallel::map(n.div_ceil(PART), &of_part).into_iter().collect();
    (parallel::joined(&code), Lists::new(count.into_iter().flatten(), parallel::joined(&children)))
}

/// Calls `act(node, place)` for the nodes of all finer elements `children` of a coarse one, each once at each of its places, in
/// the order in which they are found.
#[inline(always)]
pub(super) fn each_corner(fine: &Elements, children: &[u32], mut act: impl FnMut(usize, usize)) {
    if fine.blocks_of_voxels.is_some() {
        let octants = children.iter().fold(0_u8, |octants, &child| octants | 1 << (fine.code[child as usize] & 7));
        for &[rank, c, place] in &CORNERS_OF_VOXELS[usize::from(octants)] {
            act(fine.nodes[children[usize::from(rank)] as usize][usize::from(c)] as usize, place.into());
        }
        return;
    }
    // The first node at each place, and others there.
    let (mut first, mut further) = ([NO_NODE; PLACES.len()], Vec::new());
    for &child in children {
        let octant = fine.octant(child as usize);
        for (c, &node) in fine.nodes[child as usize].iter().enumerate().filter(|(_, node)| **node != NO_NODE) {
            let place = place_of(octant, c);
            if first[place] == NO_NODE {
                first[place] = node;
            } else if first[place] == node || further.contains(&(node, place)) {
                continue;
            } else {
                further.push((node, place));
            }
            act(node as usize, place);
        }
    }
}

/// The owner of each finer node: the first coarse element that has it.
fn owners(fine: &Elements, children: &Lists, n_coarse: usize) -> Vec<AtomicU32> {
    let owner: Vec<AtomicU32> = (0..fine.n_nodes).into_par_iter().map(|_| AtomicU32::new(u32::MAX)).collect();
    parallel::for_each(n_coarse, &|coarse| {
        each_corner(fine, children.of(coarse), |node, _| {
            if owner[node].load(Relaxed) > coarse as u32 {
                owner[node].fetch_min(coarse as u32, Relaxed);
            }
        });
    });
    owner
}

/// The place of each finer node in its owner, the first one found; and how many nodes each coarse element owns.
fn places(fine: &Elements, children: &Lists, owner: &[AtomicU32], n_coarse: usize) -> (Vec<u8>, Vec<u32>) {
    const NOWHERE: u8 = u8::MAX;
    let (mut place, mut n_owned) = (vec![NOWHERE; fine.n_nodes], vec![0_u32; n_coarse]);
    let shared = Shared::new(&mut place);
    n_owned.par_iter_mut().enumerate().for_each(|(coarse, n_owned)| {
        each_corner(fine, children.of(coarse), |node, here| {
            if owner[node].load(Relaxed) == coarse as u32 {
                // SAFETY: each node has one owner.
                let place = unsafe { shared.part(node..node + 1) };
                if place[0] == NOWHERE {
                    place[0] = here as u8;
                    *n_owned += 1;
                }
            }
        });
    });
    (place, n_owned)
}

/// Groups of corners 8 element + c of coarse elements: where coarse elements share a finer node, the corners on which it
/// depends are the same coarse nodes.
fn joined_corners(fine: &Elements, children: &Lists, owner: &[AtomicU32], place: &[u8], n_coarse: usize) -> Union {
    /// Corners that are remembered for each corner: those of neighbours by faces, and one more.
    const REMEMBERED: usize = 4;
    let union = Union::new(8 * n_coarse as u32);
    parallel::for_each(n_coarse, &|coarse| {
        // What each corner has been joined with: several nodes say the same.
        let mut joined = [[NO_NODE; REMEMBERED]; 8];
        let mut next = [0; 8];
        each_corner(fine, children.of(coarse), |node, here| {
            let (there, owner) = (usize::from(place[node]), owner[node].load(Relaxed));
            if owner == coarse as u32 && there == here {
                return;
            }
            for (&mine, &its) in PLACES[here].corners().iter().zip(PLACES[there].corners()) {
                let (mine, other) = (usize::from(mine), 8 * owner + u32::from(its));
                if !joined[mine].contains(&other) {
                    joined[mine][next[mine] % REMEMBERED] = other;
                    next[mine] += 1;
                    union.join((8 * coarse + mine) as u32, other);
                }
            }
        });
    });
    union
}

/// Joins all corners at one point.
fn join_whole_corners(code: &[u64], union: &Union) {
    let corner = |i: usize| {
        let at = morton_position(code[i / 8]);
        morton_code([0, 1, 2].map(|m| at[m] + (i as u32 >> m & 1)))
    };
    let mut corners: Vec<(u64, u32)> = (0..8 * code.len()).map(|i| (corner(i), i as u32)).collect();
    corners.par_sort_unstable();
    corners.windows(2).filter(|pair| pair[0].0 == pair[1].0).for_each(|pair| union.join(pair[0].1, pair[1].1));
}

/// Numbers the groups in the order of their lowest corners: nodes of the coarse elements, and how many there are.
fn number_groups(union: &Union, n_coarse: usize) -> (Vec<[u32; 8]>, usize) {
    let n_corners = 8 * n_coarse;
    let n_parts = n_corners.div_ceil(PART);
    let is_root = |i: usize| union.is_lowest(i as u32);
    let roots: Vec<u32> = (0..n_parts)
        .into_par_iter()
        .map(|part| (part * PART..((part + 1) * PART).min(n_corners)).filter(|&i| is_root(i)).count() as u32)
        .collect();
    let first_root = starts(roots.into_iter());
    let mut number = vec![0_u32; n_corners];
    number.par_chunks_mut(PART).enumerate().for_each(|(part, number)| {
        let mut next = first_root[part];
        for (i, number) in number.iter_mut().enumerate() {
            if is_root(part * PART + i) {
                *number = next;
                next += 1;
            }
        }
    });
    let nodes = (0..n_coarse)
        .into_par_iter()
        .map(|coarse| std::array::from_fn(|c| number[union.find((8 * coarse + c) as u32) as usize]))
        .collect();
    (nodes, first_root.last().map_or(0, |&n| n as usize))
}

/// Finer nodes by their owner, ascending, with their places.
fn transfer(fine: &Elements, children: &Lists, owner: &[AtomicU32], place: &[u8], n_owned: &[u32]) -> Transfer {
    let first = starts(n_owned.iter().copied());
    let (mut nodes, mut places) = (vec![0_u32; fine.n_nodes], vec![0_u8; fine.n_nodes]);
    let (to_nodes, to_places) = (Shared::new(&mut nodes), Shared::new(&mut places));
    parallel::for_each(n_owned.len(), &|coarse| {
        let range = first[coarse] as usize..first[coarse + 1] as usize;
        // SAFETY: each coarse element has a range of its own.
        let (nodes, places) = unsafe { (to_nodes.part(range.clone()), to_places.part(range)) };
        let mut found = 0;
        each_corner(fine, children.of(coarse), |node, here| {
            if owner[node].load(Relaxed) == coarse as u32 && usize::from(place[node]) == here {
                nodes[found] = node as u32;
                found += 1;
            }
        });
        nodes.sort_unstable();
        places.iter_mut().zip(&*nodes).for_each(|(to, &node)| *to = place[node as usize]);
    });
    Transfer { first, fine: nodes, place: places }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::voxel::tests::random;
    use pogo_formats::voxel::bricks_of;

    /// Elements of the voxels for which `solid` says so.
    fn elements(size: [u32; 3], solid: impl Fn([u32; 3]) -> bool) -> (Elements, Vec<[u32; 3]>) {
        let bricks = bricks_of(size, solid);
        let fine = Elements::of_bricks(&bricks.view());
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
    fn voxels_are_coarsened_as_any_elements() {
        let (voxels, _) = elements([21, 18, 17], |[x, y, z]| random(u64::from(x + 100 * (y + 100 * z))) < 0.4);
        let any = Elements { blocks_of_voxels: None, ..voxels.clone() };
        let [a, b] = [&voxels, &any].map(|fine| coarsen(fine, true));
        assert!((&a.coarse.code, &a.coarse.nodes) == (&b.coarse.code, &b.coarse.nodes));
        assert!((0..a.coarse.code.len()).all(|element| a.children.of(element) == b.children.of(element)));
        let parts = |t: &Transfer| (t.first.clone(), t.fine.clone(), t.place.clone());
        assert!(parts(&a.transfer) == parts(&b.transfer));
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
            for (node, place) in t.of(element) {
                let place = &PLACES[place];
                for m in 0..3 {
                    let sum: f32 = place
                        .corners()
                        .iter()
                        .map(|&c| at[level.coarse.nodes[element][usize::from(c)] as usize].expect("there")[m])
                        .sum();
                    assert_eq!(sum * place.weight, positions[node][m] as f32);
                }
            }
        }
    }
}
