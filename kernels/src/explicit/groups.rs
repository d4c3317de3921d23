//! Blocks of the file that are stepped as one. What a device holds on its chip is small beside the cache of a processor
//! core: joined blocks read fewer nodes of others, and fewer elements are computed twice.

use std::collections::BTreeMap;

use pogo_formats::explicit::block::BlocksView;

/// Most own nodes of a group: eight blocks of the usual size. Larger groups gain little, and positions relative to the middle
/// of a group are coarser in single precision.
const MOST_NODES: usize = 4096;
/// Fewest groups that remain, so that threads have blocks to share.
const FEWEST_GROUPS: usize = 16;

/// Whether an element on a join is computed by one block alone, which passes forces on. Solids cost more than that; plane
/// elements do not, and most of them lie inside.
pub(super) fn computes_once(dimension: usize) -> bool {
    dimension == 3
}

/// The blocks that are stepped as one. They do not depend on the number of threads and of parts. Solids gain little from
/// larger blocks: they are bound by arithmetic.
pub(crate) fn groups_of(blocks: &BlocksView, dimension: usize) -> Vec<Vec<usize>> {
    match computes_once(dimension) {
        true => (0..blocks.n_blocks()).map(|b| vec![b]).collect(),
        false => group_blocks(blocks),
    }
}

/// The blocks of each group, ascending; groups by their first block. In each round groups are joined in pairs, those that
/// share most halo nodes first.
fn group_blocks(blocks: &BlocksView) -> Vec<Vec<usize>> {
    let n_blocks = blocks.n_blocks();
    let mut groups: Vec<Vec<usize>> = (0..n_blocks).map(|b| vec![b]).collect();
    if n_blocks / 2 < FEWEST_GROUPS {
        return groups;
    }
    // Halo nodes between two blocks, seen from either, (n_blocks,).
    let mut shared = vec![BTreeMap::<usize, usize>::new(); n_blocks];
    for b in 0..n_blocks {
        for &node in blocks.halo(b) {
            let owner = blocks.block_of(node);
            *shared[b].entry(owner).or_default() += 1;
            *shared[owner].entry(b).or_default() += 1;
        }
    }
    let mut sizes: Vec<usize> = (0..n_blocks).map(|b| blocks.own_nodes(b).len()).collect();
    loop {
        let mut pairs = Vec::new();
        for (a, shared) in shared.iter().enumerate() {
            for (&b, &nodes) in shared.range(a + 1..) {
                if sizes[a] + sizes[b] <= MOST_NODES {
                    pairs.push((nodes, a, b));
                }
            }
        }
        pairs.sort_unstable_by_key(|&(nodes, a, b)| (std::cmp::Reverse(nodes), a, b));
        let mut mate = vec![usize::MAX; groups.len()];
        for &(_, a, b) in &pairs {
            if mate[a] == usize::MAX && mate[b] == usize::MAX {
                (mate[a], mate[b]) = (b, a);
            }
        }
        // A group's new number: that of the pair's first, counted.
        let mut number = vec![0; groups.len()];
        let mut n = 0;
        for a in 0..groups.len() {
            number[a] = if mate[a] < a { number[mate[a]] } else { n };
            n += usize::from(mate[a] > a);
        }
        if n == groups.len() || n < FEWEST_GROUPS {
            break;
        }
        let mut joined = vec![Vec::new(); n];
        let mut joined_sizes = vec![0; n];
        let mut joined_shared = vec![BTreeMap::new(); n];
        for (a, group) in groups.into_iter().enumerate() {
            joined[number[a]].extend(group);
            joined_sizes[number[a]] += sizes[a];
            for (&b, &nodes) in shared[a].iter().filter(|&(&b, _)| number[b] != number[a]) {
                *joined_shared[number[a]].entry(number[b]).or_insert(0) += nodes;
            }
        }
        (groups, sizes, shared) = (joined, joined_sizes, joined_shared);
    }
    groups.iter_mut().for_each(|group| group.sort_unstable());
    groups
}

#[cfg(test)]
mod tests {
    use pogo_formats::mesh::ElementKind;

    use super::*;
    use crate::test_support::{box_blocks, box_mesh};

    #[test]
    fn neighbours_are_joined_and_enough_groups_are_left() {
        for cells in [20, 50, 300] {
            let mesh = box_mesh(ElementKind::Cpe3, [cells, cells, 0], 1.0, 0.1);
            let (_, blocks) = box_blocks(&mesh, 12.0);
            let view = blocks.view();
            let groups = group_blocks(&view);
            let mut members = groups.concat();
            members.sort_unstable();
            assert!(members.into_iter().eq(0..view.n_blocks()));
            assert!(groups.iter().all(|group| group.is_sorted()) && groups.is_sorted());
            let size = |group: &Vec<usize>| group.iter().map(|&b| view.own_nodes(b).len()).sum::<usize>();
            assert!(groups.iter().all(|group| size(group) <= MOST_NODES));
            assert_eq!(groups.len() == view.n_blocks(), cells < 300, "{cells}: {}", groups.len());
            assert!(groups.len() >= FEWEST_GROUPS.min(view.n_blocks()));
            for group in groups.iter().filter(|group| group.len() > 1) {
                // Each block sees another of its group.
                let near = |b: usize| {
                    let own = |other: usize| view.own_nodes(other);
                    group.iter().any(|&o| o != b && view.halo(b).iter().any(|&node| own(o).contains(&(node as usize))))
                };
                assert!(group.iter().all(|&b| near(b)), "{group:?}");
            }
        }
    }
}
