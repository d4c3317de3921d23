//! Halos of blocks: the particles of other blocks that the springs of one lead to.

use std::collections::HashMap;
use std::ops::Range;

use pogo_formats::spring::SpringMeshView;
use pogo_formats::system::parallel::{self, Shared};

use crate::spring::SpringError;

/// The halos of own blocks for local ids, one after the other, with the starts and end of all: those of the mesh, and what added
/// springs (lower end first) need besides.
pub(super) fn halos(
    mesh: &SpringMeshView,
    block: usize,
    additions: &[([u32; 2], u32)],
    is_own: &[bool],
) -> Result<(Vec<usize>, Vec<u32>), SpringError> {
    /// Blocks whose halos a thread finds one after the other, in one piece of memory.
    const BLOCKS: usize = 64;
    let n_blocks = mesh.n_particles().div_ceil(block);
    let blocks = |piece: usize| BLOCKS * piece..n_blocks.min(BLOCKS * (piece + 1));
    let found: Vec<(Vec<usize>, Vec<u32>)> = parallel::map(n_blocks.div_ceil(BLOCKS), &|piece| {
        let (mut ends, mut halo, mut is_read) = (vec![0], Vec::new(), Vec::new());
        for b in blocks(piece) {
            if is_own[b] {
                own_halo(mesh, block, b, &mut is_read, &mut halo);
            }
            ends.push(halo.len());
        }
        (ends, halo)
    });
    let own = |b: usize| {
        let (ends, halo) = &found[b / BLOCKS];
        &halo[ends[b % BLOCKS]..ends[b % BLOCKS + 1]]
    };
    let mut further = HashMap::<usize, Vec<u32>>::new();
    for &([i, j], _) in additions {
        for (from, to) in [(i, j), (j, i)] {
            let b = from as usize / block;
            if is_own[b] && to as usize / block != b && own(b).binary_search(&to).is_err() {
                let further = further.entry(b).or_default();
                if !further.contains(&to) {
                    further.push(to);
                }
            }
        }
    }
    let added = |b: usize| further.get(&b).map_or(&[][..], Vec::as_slice);
    let mut first = vec![0];
    for b in 0..n_blocks {
        let length = own(b).len() + added(b).len();
        if block + length > usize::from(u16::MAX) {
            return Err(SpringError::BlockTooLarge { block: b, particles: block + length });
        }
        first.push(first[b] + length);
    }
    let mut halo = vec![0; first[n_blocks]];
    let shared = Shared::new(&mut halo);
    parallel::for_each(n_blocks.div_ceil(BLOCKS), &|piece| {
        for b in blocks(piece) {
            // SAFETY: each block has a part of its own.
            let (of_mesh, further) = unsafe { shared.part(first[b]..first[b + 1]) }.split_at_mut(own(b).len());
            of_mesh.copy_from_slice(own(b));
            further.copy_from_slice(added(b));
        }
    });
    Ok((first, halo))
}

/// Appends the particles of other blocks that a block's springs lead to, ascending. `is_read` is memory to work in.
fn own_halo(mesh: &SpringMeshView, block: usize, b: usize, is_read: &mut Vec<bool>, halo: &mut Vec<u32>) {
    if block == mesh.lists.block_size {
        return halo.extend_from_slice(mesh.lists.halo(b));
    }
    let own = b * block..mesh.n_particles().min((b + 1) * block);
    if mesh.lists.block_size.is_multiple_of(block) {
        return halo_within(mesh, own, is_read, halo);
    }
    let others = own.clone().flat_map(|i| mesh.springs(i).map(|spring| spring.other));
    let mut found: Vec<u32> = others.filter(|&j| !own.contains(&(j as usize))).collect();
    found.sort_unstable();
    found.dedup();
    halo.extend(found);
}

/// The same for particles of one block of the mesh, whose local ids name all candidates.
fn halo_within(mesh: &SpringMeshView, own: Range<usize>, is_read: &mut Vec<bool>, halo: &mut Vec<u32>) {
    let (lists, size) = (mesh.lists, mesh.lists.block_size);
    let b = own.start / size;
    let outside = lists.halo(b);
    is_read.clear();
    is_read.resize(size + outside.len(), false);
    let entries = lists.first[b] as usize + own.start % size;
    let most = lists.count[own.clone()].iter().copied().max().unwrap_or(0);
    for slot in 0..usize::from(most) {
        let ids = &lists.neighbour[entries + slot * size..][..own.len()];
        for (id, count) in ids.iter().zip(&lists.count[own.clone()]) {
            if usize::from(*count) > slot {
                is_read[usize::from(*id)] = true;
            }
        }
    }
    // The halo of the mesh's block is ascending, too, and has none of the particles of that block.
    let (inside, is_read) = is_read.split_at(size);
    let before = outside.partition_point(|&j| (j as usize) < own.start);
    let read = |range: Range<usize>| range.filter(|&at| is_read[at]).map(|at| outside[at]);
    halo.extend(read(0..before));
    let of_block = (b * size..(b + 1) * size).filter(|j| inside[j - b * size] && !own.contains(j));
    halo.extend(of_block.map(|j| j as u32));
    halo.extend(read(before..outside.len()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spring_support::lattice;

    #[test]
    fn halos_of_smaller_blocks_are_what_their_springs_lead_to() {
        let mesh = lattice([21, 9, 8], [1.0; 3], 18, 512, |place| (place.iter().sum::<usize>() % 7 != 3).then_some(0));
        let (mesh, n) = (mesh.view(), mesh.view().n_particles());
        assert!(!n.is_multiple_of(512) && n > 1024);
        for block in [64, 256, 512, 96] {
            for b in 0..n.div_ceil(block) {
                let own = b * block..n.min((b + 1) * block);
                let others = own.clone().flat_map(|i| mesh.springs(i).map(|spring| spring.other));
                let expected: std::collections::BTreeSet<u32> =
                    others.filter(|&other| !own.contains(&(other as usize))).collect();
                let mut halo = vec![7];
                own_halo(&mesh, block, b, &mut vec![true; 9], &mut halo);
                assert!(halo[1..].iter().eq(&expected), "{block} {b}");
            }
        }
    }
}
