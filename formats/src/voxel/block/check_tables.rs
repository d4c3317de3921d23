//! The papers' grid representations and the sub-domains: checked when a file is written and when it is opened.

use rayon::prelude::*;

use crate::block::check::{Check, PIECE, all_below, offsets, require};
use crate::voxel::{
    BrickNodes, Bricks, BricksView, Domains, DomainsView, HashView, OffsetView, VoxelMeshView, coarse_size, coarsen,
};

/// No look-up panics or gives a node that does not exist; messages name nodes of their owners.
pub(super) fn all(mesh: &VoxelMeshView, offset: &[OffsetView], hash: &[HashView], domains: &DomainsView) -> Check {
    let sizes = |found: Vec<([u32; 3], usize, usize)>| -> Check {
        let mut size = mesh.size;
        if let Some(&(_, n_elements, n_nodes)) = found.first() {
            let expected = (mesh.bricks.n_elements(), mesh.bricks.n_nodes());
            require((n_elements, n_nodes) == expected, || "level 0: not as many elements or nodes as the mesh".into())?;
        }
        for (level, (found, ..)) in found.into_iter().enumerate() {
            require(found == size, || format!("level {level}: {found:?} voxels, not {size:?}"))?;
            size = coarse_size(size);
        }
        Ok(())
    };
    sizes(offset.iter().map(|level| (level.size, level.n_elements, level.n_nodes)).collect())?;
    sizes(hash.iter().map(|level| (level.size, level.n_elements(), level.n_nodes())).collect())?;
    for (number, level) in offset.iter().enumerate() {
        let finer = number.checked_sub(1).map(|finer| &offset[finer]);
        offset_level(level, finer).map_err(|reason| format!("offset tables, level {number}: {reason}"))?;
    }
    for (number, level) in hash.iter().enumerate() {
        hash_level(level).map_err(|reason| format!("hash, level {number}: {reason}"))?;
    }
    self::domains(&mesh.bricks, domains)
}

fn offset_level(level: &OffsetView, finer: Option<&OffsetView>) -> Check {
    let (n, n_nodes) = (level.n_elements, level.n_nodes);
    let (n_short, n_medium, n_long) = (level.n_short(), level.n_medium(), level.n_long());
    let lengths = [
        (level.kind.len(), 2 * n.div_ceil(64)),
        (level.before.len(), 2 * n.div_ceil(64)),
        (level.short_offset.len(), 7 * n_short),
        (level.medium_offset.len(), 7 * n_medium),
        (level.long_nodes.len(), 8 * n_long),
        (n_short + n_medium + n_long, n),
    ];
    require(lengths.iter().all(|(found, expected)| found == expected), || "tables of different lengths".into())?;
    let mut count = [0_u64; 2];
    for (pair, (words, before)) in level.kind.chunks_exact(2).zip(level.before.chunks_exact(2)).enumerate() {
        let beyond = match n - 64 * pair {
            left if left < 64 => !0 << left,
            _ => 0,
        };
        require(words[0] & words[1] == 0 && (words[0] | words[1]) & beyond == 0, || {
            format!("elements {} and on: kinds that make no sense", 64 * pair)
        })?;
        require([0, 1].iter().all(|&kind| u64::from(before[kind]) == count[kind]), || {
            format!("elements {} and on: numbers that do not count the kinds", 64 * pair)
        })?;
        count = [count[0] + u64::from(words[0].count_ones()), count[1] + u64::from(words[1].count_ones())];
    }
    require(count == [n_medium as u64, n_long as u64], || "not as many elements of each kind as tables".into())?;
    let reach = |first: u32, most: u32| u64::from(first) + u64::from(most) < n_nodes as u64;
    let inside = |n: usize, far: &(dyn Fn(usize) -> (u32, u32) + Sync)| {
        (0..n).into_par_iter().with_min_len(PIECE).all(|at| {
            let (first, most) = far(at);
            reach(first, most)
        })
    };
    let short = |at: usize| {
        let most = (0..7).map(|c| level.short_offset[c * n_short + at]).max();
        (level.short_first[at], u32::from(most.unwrap_or(0)))
    };
    require(inside(n_short, &short), || "short elements: a node that does not exist".into())?;
    let medium = |at: usize| {
        let most = (0..7).map(|c| level.medium_offset[c * n_medium + at]).max();
        (level.medium_first[at], u32::from(most.unwrap_or(0)))
    };
    require(inside(n_medium, &medium), || "medium elements: a node that does not exist".into())?;
    all_below("long elements", level.long_nodes, n_nodes)?;

    let transfer = &level.transfer;
    let Some(finer) = finer else {
        let empty = transfer.element_children.is_empty()
            && transfer.element_first_child.is_empty()
            && transfer.node_children.is_empty()
            && transfer.node_first_child.is_empty();
        return require(empty, || "children on the finest level".into());
    };
    for (what, bitmap, first, n, n_finer) in [
        ("elements", transfer.element_children, transfer.element_first_child, n, finer.n_elements),
        ("nodes", transfer.node_children, transfer.node_first_child, n_nodes, finer.n_nodes),
    ] {
        require(bitmap.len() == n && first.len() == n, || format!("children of {what}: tables of different lengths"))?;
        let mut count = 0_u64;
        for (bits, &first) in bitmap.iter().zip(first) {
            require(u64::from(first) == count, || format!("children of {what} are not consecutive"))?;
            count += u64::from(bits.count_ones());
        }
        require(count == n_finer as u64, || format!("children of {what}: {count} where {n_finer} exist"))?;
    }
    Ok(())
}

fn hash_level(level: &HashView) -> Check {
    let n_nodes = level.n_nodes();
    let n_tables = level.slot_first.len().wrapping_sub(1);
    require(n_tables.is_power_of_two() && n_tables < 1 << 32, || "not a power of two of tables".into())?;
    offsets("slots of tables", level.slot_first, n_tables, level.slots.len())?;
    offsets("shifts of tables", level.shift_first, n_tables, level.shifts.len())?;
    let pairs = level.slot_first.par_windows(2).zip(level.shift_first.par_windows(2));
    let good = pairs.with_min_len(PIECE).all(|(slots, shifts)| slots[0] == slots[1] || shifts[0] < shifts[1]);
    require(good, || "a table without shifts".into())?;
    all_below("slots", level.slots, n_nodes)?;
    all_below("nodes of elements", level.element_node, n_nodes)?;
    require(level.element_node.par_windows(2).with_min_len(PIECE).all(|pair| pair[0] < pair[1]), || {
        "nodes of elements are not in order".into()
    })?;
    offsets("upper bits of keys", level.upper_first, level.upper.len(), n_nodes)?;
    let sorted = level.upper.par_windows(2).with_min_len(PIECE).all(|pair| pair[0] < pair[1]);
    require(sorted && level.upper.last().is_none_or(|&upper| upper < 1 << 31), || {
        "upper bits of keys are wrong".into()
    })?;
    // So that every node has its upper bits, and no search ends before the first.
    let some = level.upper_first.par_windows(2).with_min_len(PIECE).all(|pair| pair[0] < pair[1]);
    require(some, || "upper bits of no key".into())
}

fn domains(bricks: &BricksView, domains: &DomainsView) -> Check {
    let n = domains.brick_first.len().wrapping_sub(1);
    require(n >= 1 && n != usize::MAX, || "no sub-domain".into())?;
    let n_messages = domains.message_owner.len();
    offsets("bricks of sub-domains", domains.brick_first, n, domains.bricks.len())?;
    offsets("messages of sub-domains", domains.message_first, n, n_messages)?;
    offsets("nodes of messages", domains.message_node_first, n_messages, domains.message_nodes.len())?;
    offsets("sent messages of sub-domains", domains.sent_first, n, domains.sent.len())?;
    require(domains.bricks.len() == bricks.n_bricks() && domains.sent.len() == n_messages, || {
        "sub-domains: tables of different lengths".into()
    })?;
    all_below("bricks of sub-domains", domains.bricks, bricks.n_bricks())?;
    all_below("owners of messages", domains.message_owner, n)?;
    all_below("sent messages", domains.sent, n_messages)?;
    all_below("nodes of messages", domains.message_nodes, bricks.n_nodes())?;
    for d in 0..n {
        let own = &domains.bricks[domains.brick_first[d] as usize..domains.brick_first[d + 1] as usize];
        require(own.is_sorted_by(|a, b| a < b), || format!("sub-domain {d}: bricks are not sorted"))?;
        let owners = &domains.message_owner[domains.message_first[d] as usize..domains.message_first[d + 1] as usize];
        require(owners.is_sorted_by(|a, b| a < b) && !owners.contains(&(d as u32)), || {
            format!("sub-domain {d}: messages are not sorted by owner")
        })?;
        let sent = &domains.sent[domains.sent_first[d] as usize..domains.sent_first[d + 1] as usize];
        let right = sent.is_sorted_by(|a, b| a < b);
        require(right && sent.iter().all(|&message| domains.message_owner[message as usize] as usize == d), || {
            format!("sub-domain {d}: sends what is not its own")
        })?;
    }
    let mut seen = vec![false; bricks.n_bricks()];
    domains.bricks.iter().for_each(|&brick| seen[brick as usize] = true);
    require(seen.iter().all(|&seen| seen), || "a brick in no sub-domain".into())?;
    let domain = domains.domain_of_bricks();
    (0..n_messages).into_par_iter().try_for_each(|message| {
        let nodes = domains.message(message);
        require(nodes.is_sorted_by(|a, b| a < b), || format!("message {message}: nodes are not sorted"))?;
        let owner = |&node: &u32| domain[bricks.node_first.partition_point(|&first| first <= node) - 1];
        require(nodes.iter().all(|node| owner(node) == domains.message_owner[message]), || {
            format!("message {message}: a node of another sub-domain")
        })
    })
}

/// Beyond what [`all`] checks: every table says what the bricks say.
pub(super) fn agreement(
    mesh: &VoxelMeshView,
    offset: &[OffsetView],
    hash: &[HashView],
    domains: &DomainsView,
) -> Check {
    let remade = Domains::new(domains.method, &mesh.bricks, &domains.domain_of_bricks(), domains.n_domains());
    let same = remade.message_first == domains.message_first
        && remade.message_owner == domains.message_owner
        && remade.message_node_first == domains.message_node_first
        && remade.message_nodes == domains.message_nodes
        && remade.sent == domains.sent;
    require(same, || "sub-domains: messages other than their elements need".into())?;

    let (mut size, mut owned): ([u32; 3], Option<Bricks>) = (mesh.size, None);
    for level in 0..offset.len().max(hash.len()) {
        let bricks = owned.as_ref().map_or(mesh.bricks, Bricks::view);
        if let Some(tables) = offset.get(level) {
            let counts = (tables.n_elements, tables.n_nodes) == (bricks.n_elements(), bricks.n_nodes());
            require(counts && same_nodes(&bricks, &|element| tables.nodes(element)), || {
                format!("offset tables, level {level}: nodes other than the bricks'")
            })?;
        }
        if let Some(tables) = hash.get(level) {
            let counts = (tables.n_elements(), tables.n_nodes()) == (bricks.n_elements(), bricks.n_nodes());
            require(counts && same_nodes(&bricks, &|element| tables.nodes(element)), || {
                format!("hash, level {level}: nodes other than the bricks'")
            })?;
            let keys = (0..bricks.n_bricks()).into_par_iter().with_min_len(64).all(|brick| {
                let numbers = bricks.node_first[brick]..bricks.node_first[brick + 1];
                numbers.zip(bricks.node_codes(brick)).all(|(node, code)| tables.node(code) == Some(node))
            });
            require(keys, || format!("hash, level {level}: a node is not found"))?;
        }
        if let Some(coarser) = offset.get(level + 1) {
            children(&bricks, coarser).map_err(|reason| format!("offset tables, level {}: {reason}", level + 1))?;
        }
        let coarse = coarsen(&bricks, size).map_err(|error| error.to_string())?;
        size = coarse_size(size);
        owned = Some(coarse);
    }
    Ok(())
}

fn same_nodes(bricks: &BricksView, nodes: &(dyn Fn(usize) -> [u32; 8] + Sync)) -> bool {
    (0..bricks.n_bricks()).into_par_iter().with_min_len(64).all(|brick| {
        if bricks.element_first[brick] == bricks.element_first[brick + 1] {
            return true;
        }
        let mut table = BrickNodes::default();
        table.load(bricks, brick);
        let numbers = bricks.element_first[brick] as usize..;
        numbers.zip(bricks.element_codes(brick)).all(|(e, code)| nodes(e) == table.in_slot(code as usize & 511))
    })
}

/// The children of a coarse level, in turn, are the elements and nodes of the fine level.
fn children(fine: &BricksView, coarse: &OffsetView) -> Check {
    let all = |bitmap: &[u8], codes: &mut dyn Iterator<Item = u64>| {
        let mut last = None;
        bitmap.iter().all(|&bits| {
            let slots = (0..8).filter(|c| bits >> c & 1 == 1);
            let codes: Vec<(u64, u64)> = slots.zip(&mut *codes).collect();
            let parent = codes.first().map(|(_, code)| code >> 3);
            let right = codes.iter().all(|&(slot, code)| slot == code & 7 && Some(code >> 3) == parent);
            let new = parent.is_none() || last.replace(parent) != Some(parent);
            right && new
        })
    };
    let n = fine.n_bricks();
    require(all(coarse.transfer.element_children, &mut (0..n).flat_map(|b| fine.element_codes(b))), || {
        "children of elements are others".into()
    })?;
    require(all(coarse.transfer.node_children, &mut (0..n).flat_map(|b| fine.node_codes(b))), || {
        "children of nodes are others".into()
    })
}
