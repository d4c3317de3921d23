//! The papers' grid representations and the sub-domains: checked when a file is written and when it is opened.

use crate::block::Table;
use crate::block::check::{Check, PIECE, require};
use crate::domains::SubDomainsView;
use crate::system::parallel::iterate::*;
use crate::voxel::{
    BrickNodes, Bricks, BricksView, HashLevel, HashView, OffsetLevel, OffsetView, VoxelLevelsView, VoxelMeshView,
    coarse_size, coarsen, sub_domains,
};

/// No look-up panics or gives a node that does not exist; messages name nodes of their owners.
pub(super) fn all(mesh: &VoxelMeshView, levels: &VoxelLevelsView, domains: &SubDomainsView) -> Check {
    let VoxelLevelsView { offset, hash } = levels;
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
        let checked = OffsetLevel::check(level).and_then(|()| offset_level(level, finer));
        checked.map_err(|reason| format!("offset tables, level {number}: {reason}"))?;
    }
    for (number, level) in hash.iter().enumerate() {
        let checked = HashLevel::check(level).and_then(|()| hash_level(level));
        checked.map_err(|reason| format!("hash, level {number}: {reason}"))?;
    }
    self::domains(&mesh.bricks, domains)
}

fn offset_level(level: &OffsetView, finer: Option<&OffsetView>) -> Check {
    let (n, n_nodes) = (level.n_elements, level.n_nodes);
    let (n_short, n_medium, n_long) = (level.n_short(), level.n_medium(), level.n_long());
    require(n_short + n_medium + n_long == n, || "tables of different lengths".into())?;
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
    let n_tables = level.n_tables();
    require(n_tables.is_power_of_two() && n_tables < 1 << 32, || "not a power of two of tables".into())?;
    let pairs = level.slot_first.par_windows(2).zip(level.shift_first.par_windows(2));
    let good = pairs.with_min_len(PIECE).all(|(slots, shifts)| slots[0] == slots[1] || shifts[0] < shifts[1]);
    require(good, || "a table without shifts".into())?;
    require(level.element_node.par_windows(2).with_min_len(PIECE).all(|pair| pair[0] < pair[1]), || {
        "nodes of elements are not in order".into()
    })?;
    let sorted = level.upper.par_windows(2).with_min_len(PIECE).all(|pair| pair[0] < pair[1]);
    require(sorted && level.upper.last().is_none_or(|&upper| upper < 1 << 31), || {
        "upper bits of keys are wrong".into()
    })?;
    // So that every node has its upper bits, and no search ends before the first.
    let some = level.upper_first.par_windows(2).with_min_len(PIECE).all(|pair| pair[0] < pair[1]);
    require(some, || "upper bits of no key".into())
}

fn domains(bricks: &BricksView, domains: &SubDomainsView) -> Check {
    domains.check_items(bricks.n_nodes())?;
    let whole = domains.ranges.iter().all(|node| bricks.node_first.binary_search(node).is_ok());
    require(whole, || "a brick in two sub-domains".into())
}

/// Beyond what [`all`] checks: every table says what the bricks say.
pub(super) fn agreement(mesh: &VoxelMeshView, levels: &VoxelLevelsView, domains: &SubDomainsView) -> Check {
    let VoxelLevelsView { offset, hash } = levels;
    let remade = sub_domains(domains.method, &mesh.bricks, &mesh.bricks.domains(domains), domains.n_domains());
    require(remade.view().same_messages(domains), || "sub-domains: messages other than their elements need".into())?;

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
