use std::collections::{BTreeMap, BTreeSet};

use pogo_formats::voxel::{BrickNodes, BricksView, VoxelGrid, VoxelModuli, coarsen, morton_code, morton_position};
use proptest::prelude::*;

use super::*;
use crate::prepare::options::DomainMethod;

/// An image of classes.
pub(super) fn image(size: [usize; 3], class: impl Fn([usize; 3]) -> u8) -> VoxelGrid {
    let n = size.iter().product();
    let class: Vec<u8> =
        (0..n).map(|v: usize| class([v % size[0], v / size[0] % size[1], v / size[0] / size[1]])).collect();
    let materials = (1..=3).map(|c| (format!("m{c}"), f64::from(c))).collect();
    VoxelGrid { size, spacing: 0.5, origin: [1.0, 2.0, 3.0], moduli: VoxelModuli::Classes { class, materials } }
}

/// A pseudo-random image in which about one voxel of `rarity` is solid.
pub(super) fn noise(size: [usize; 3], seed: u64, rarity: u64) -> VoxelGrid {
    image(size, |[i, j, k]| {
        let key = (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
            ^ (j as u64).wrapping_mul(0xc2b2_ae3d_27d4_eb4f)
            ^ (k as u64).wrapping_mul(0x1656_67b1_9e37_79f9)
            ^ seed;
        let mixed = (key ^ key >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 32).wrapping_mul(0x94d0_49bb_1331_11eb) >> 33;
        if mixed.is_multiple_of(rarity) { 1 + (mixed / rarity % 3) as u8 } else { 0 }
    })
}

/// Elements and nodes by plain sets.
fn expected(grid: &VoxelGrid) -> (BTreeMap<u64, u8>, BTreeSet<u64>) {
    let VoxelModuli::Classes { class, .. } = &grid.moduli else { unreachable!() };
    let (mut elements, mut nodes) = (BTreeMap::new(), BTreeSet::new());
    for (v, &class) in class.iter().enumerate().filter(|(_, class)| **class > 0) {
        let at = [v % grid.size[0], v / grid.size[0] % grid.size[1], v / grid.size[0] / grid.size[1]].map(|x| x as u32);
        elements.insert(morton_code(at), class - 1);
        nodes.extend((0..8).map(|c| morton_code([at[0] + (c & 1), at[1] + (c >> 1 & 1), at[2] + (c >> 2)])));
    }
    (elements, nodes)
}

fn assert_mesh(grid: &VoxelGrid) {
    let (elements, nodes) = expected(grid);
    if elements.is_empty() {
        assert_eq!(mesh(grid.clone()), Err(VoxelError::Empty));
        return;
    }
    let mesh = mesh(grid.clone()).unwrap();
    let bricks = mesh.bricks.view();
    let codes = |positions: Vec<[u32; 3]>| positions.into_iter().map(morton_code).collect::<Vec<_>>();
    let all = 0..bricks.n_bricks();
    assert_eq!(
        codes(all.clone().flat_map(|b| bricks.element_positions(b)).collect()),
        elements.keys().copied().collect::<Vec<_>>()
    );
    assert_eq!(
        codes(all.clone().flat_map(|b| bricks.node_positions(b)).collect()),
        nodes.iter().copied().collect::<Vec<_>>()
    );
    assert_eq!(mesh.element_class, elements.values().copied().collect::<Vec<_>>());
    for (number, &code) in (0..).zip(&nodes) {
        assert_eq!(bricks.node(morton_position(code)), Some(number));
    }
    for b in all {
        assert!(bricks.node_first[b] < bricks.node_first[b + 1], "a brick with nothing in it");
        let at = morton_position(bricks.code[b]);
        for d in 0..27 {
            let there = [0, 1, 2].map(|a| i64::from(at[a]) + [d % 3, d / 3 % 3, d / 9][a] - 1);
            let expected = there.iter().all(|&x| x >= 0).then(|| morton_code(there.map(|x| x as u32)));
            let found = bricks.neighbours[27 * b + d as usize];
            assert_eq!(
                expected.and_then(|code| bricks.code.binary_search(&code).ok()),
                (found != u32::MAX).then_some(found as usize)
            );
        }
    }
}

#[test]
fn one_voxel_in_a_corner_of_its_brick() {
    let mesh = mesh(image([16, 8, 8], |at| u8::from(at == [7, 7, 7]))).unwrap();
    let bricks = mesh.bricks.view();
    assert_eq!((bricks.n_bricks(), bricks.n_elements(), bricks.n_nodes()), (8, 1, 8));
    assert_eq!(bricks.node([8, 8, 8]), Some(7));
    assert_eq!(bricks.element([7, 7, 7]), Some(0));
    assert_eq!((mesh.spacing, mesh.origin, mesh.element_class.as_slice()), (0.5, [1.0, 2.0, 3.0], &[0_u8][..]));
}

#[test]
fn what_cannot_be_a_model_is_refused() {
    assert_eq!(mesh(image([3, 2, 2], |_| 0)), Err(VoxelError::Empty));
    let mut grid = image([3, 2, 2], |_| 1);
    grid.size = [3, 3, 2];
    assert!(matches!(mesh(grid), Err(VoxelError::Inconsistent(_))));
    assert!(matches!(mesh(image([3, 2, 2], |_| 4)), Err(VoxelError::Inconsistent(_))));
    let mut grid = image([3, 2, 2], |_| 1);
    grid.moduli = VoxelModuli::Each(vec![f32::NAN; 12]);
    assert!(matches!(mesh(grid), Err(VoxelError::Inconsistent(_))));
    let mut grid = image([3, 2, 2], |_| 1);
    grid.size = [1 << 21, 1, 1];
    assert!(matches!(mesh(grid), Err(VoxelError::TooLong { axis: 'x', .. })));
}

#[test]
fn moduli_go_with_their_elements() {
    let mut grid = image([5, 4, 3], |_| 1);
    grid.moduli = VoxelModuli::Each((0..60).map(|v| (v % 3 * v) as f32).collect());
    let mesh = mesh(grid).unwrap();
    let bricks = mesh.bricks.view();
    let at: Vec<[u32; 3]> = (0..bricks.n_bricks()).flat_map(|b| bricks.element_positions(b)).collect();
    let expected: Vec<f32> = at.iter().map(|[i, j, k]| i + 5 * (j + 4 * k)).map(|v| (v % 3 * v) as f32).collect();
    assert_eq!(mesh.element_modulus, expected);
    assert!(mesh.element_class.is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn meshes_as_by_sets(size in [1_usize..20, 1..20, 1..20], seed: u64, rarity in 1_u64..40) {
        assert_mesh(&noise(size, seed, rarity));
    }

    #[test]
    fn coarse_levels_as_by_halving(size in [1_usize..30, 1..30, 1..30], seed: u64, rarity in 1_u64..40) {
        let grid = noise(size, seed, rarity);
        let coarse_size = size.map(|n| n.div_ceil(2));
        let coarse = image(coarse_size, |[i, j, k]| {
            let solid = |c: usize| {
                let at = [2 * i + (c & 1), 2 * j + (c >> 1 & 1), 2 * k + (c >> 2)];
                at.iter().zip(size).all(|(&x, n)| x < n) && grid.is_solid((at[2] * size[1] + at[1]) * size[0] + at[0])
            };
            u8::from((0..8).any(solid))
        });
        if let Ok(fine) = mesh(grid.clone()) {
            let found = coarsen(&fine.bricks.view(), fine.size).unwrap();
            prop_assert_eq!(found, mesh(coarse).unwrap().bricks);
        }
    }
}

/// Nodes of all elements by the bricks.
fn by_bricks(bricks: &BricksView) -> Vec<[u32; 8]> {
    let mut local = BrickNodes::default();
    let mut all = Vec::new();
    for brick in 0..bricks.n_bricks() {
        local.load(bricks, brick);
        all.extend(bricks.element_codes(brick).map(|code| local.in_slot(code as usize & 511)));
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn bricks_offsets_and_hashes_agree(size in [1_usize..24, 1..24, 1..24], seed: u64, rarity in 1_u64..30, tables in 0_u32..4) {
        let Ok(fine) = mesh(noise(size, seed, rarity)) else { return Ok(()) };
        let (bricks, size) = (fine.bricks.view(), fine.size);
        let offset = levels(&bricks, size, GridKind::Offset, None).unwrap().offset;
        let hash = levels(&bricks, size, GridKind::Hash, Some(1 << tables)).unwrap().hash;
        prop_assert_eq!(offset.len(), hash.len());
        let (mut bricks, mut size) = (fine.bricks.clone(), size);
        let mut finer: Option<(pogo_formats::voxel::Bricks, usize)> = None;
        for (offset, hash) in offset.iter().zip(&hash) {
            let (view, offset, hash) = (bricks.view(), offset.view(), hash.view());
            prop_assert_eq!((offset.size, hash.size), (size, size));
            prop_assert_eq!(view.nodes(view.n_elements() as u32), None);
            prop_assert_eq!((offset.n_elements, offset.n_nodes), (view.n_elements(), view.n_nodes()));
            prop_assert_eq!((hash.n_elements(), hash.n_nodes()), (view.n_elements(), view.n_nodes()));
            for (element, nodes) in by_bricks(&view).into_iter().enumerate() {
                prop_assert_eq!(offset.nodes(element), nodes);
                prop_assert_eq!(hash.nodes(element), nodes);
                prop_assert_eq!(view.nodes(element as u32), Some(nodes));
            }
            // Also where no node is.
            for k in 0..=size[2] + 1 {
                for j in 0..=size[1] {
                    for at in (0..=size[0] + 3).map(|i| [i, j, k]) {
                        prop_assert_eq!(hash.node(morton_code(at)), view.node(at));
                    }
                }
            }
            if let Some((finer, n)) = &finer {
                let finer = finer.view();
                let (mut elements, mut nodes) = (vec![0; finer.n_elements()], 0);
                for brick in 0..view.n_bricks() {
                    for ((number, at), is_element) in (view.element_first[brick]..).zip(view.element_positions(brick)).map(|x| (x, true))
                        .chain((view.node_first[brick]..).zip(view.node_positions(brick)).map(|x| (x, false))) {
                        let expected: Vec<(u32, u32)> = (0..8).filter_map(|c| {
                            let at = [2 * at[0] + (c & 1), 2 * at[1] + (c >> 1 & 1), 2 * at[2] + (c >> 2)];
                            let child = if is_element { finer.element(at) } else { finer.node(at) };
                            child.map(|child| (c, child))
                        }).collect();
                        let number = number as usize;
                        if is_element {
                            let found: Vec<_> = offset.transfer.of_element(number).collect();
                            found.iter().for_each(|(_, child)| elements[*child as usize] += 1);
                            prop_assert!(!found.is_empty());
                            prop_assert_eq!(found, expected);
                        } else {
                            let found: Vec<_> = offset.transfer.of_node(number).collect();
                            nodes += found.len();
                            prop_assert_eq!(found, expected);
                        }
                    }
                }
                // Each has exactly one parent.
                prop_assert!(elements.iter().all(|&n| n == 1));
                prop_assert_eq!(nodes, *n);
            }
            let coarse = coarsen(&view, size).unwrap();
            let n = view.n_nodes();
            size = pogo_formats::voxel::coarse_size(size);
            finer = Some((std::mem::replace(&mut bricks, coarse), n));
        }
        prop_assert_eq!(finer.unwrap().0.view().n_elements(), 1);
    }

    #[test]
    fn domains_add_up(size in [9_usize..40, 9..40, 9..40], seed: u64, rarity in 1_u64..30, n in 1_usize..6, metis: bool) {
        let Ok(mesh) = mesh(noise(size, seed, rarity)) else { return Ok(()) };
        let bricks = mesh.bricks.view();
        let method = if metis { DomainMethod::Metis } else { DomainMethod::Morton };
        let with_elements = (0..bricks.n_bricks()).filter(|&b| bricks.elements(b) != [0; 8]).count();
        let made = domains(&bricks, method, n);
        if n > with_elements {
            prop_assert!(matches!(made, Err(VoxelError::Domains { .. })), "{:?}", made);
            return Ok(());
        }
        // METIS may leave a sub-domain of few bricks without elements, and says so.
        prop_assert!(metis || made.is_ok(), "{made:?}");
        let Ok(made) = made else { return Ok(()) };
        let made = made.view();
        prop_assert_eq!(made.n_domains(), n);

        // A product in which element e adds e times the sum of its nodes to each of them, in integers.
        let nodes = by_bricks(&bricks);
        let u = |node: u32| u64::from(node).wrapping_mul(0x9e37_79b9) % 1000;
        let mut expected = vec![0_u64; bricks.n_nodes()];
        for (e, nodes) in nodes.iter().enumerate() {
            let sum: u64 = nodes.iter().map(|&node| u(node)).sum();
            nodes.iter().for_each(|&node| expected[node as usize] += e as u64 * sum);
        }

        // The same by domains, each of which only sees its own nodes and its halo.
        let own: Vec<Vec<u32>> = (0..n).map(|d| made.own(d).flatten().collect()).collect();
        let local = |d: usize, node: u32| own[d].binary_search(&node).unwrap_or_else(|_| {
            let halo = made.halo_of(d).iter().position(|&halo| halo == node);
            own[d].len() + halo.expect("a node that the domain does not have")
        });
        let mut y: Vec<Vec<u64>> = (0..n).map(|d| vec![0; own[d].len() + made.halo_of(d).len()]).collect();
        for d in 0..n {
            let mut x: Vec<u64> = own[d].iter().map(|&node| u(node)).collect();
            x.resize(y[d].len(), u64::MAX);
            for message in made.received(d) {
                // Found at the other end too, in the same order.
                let other = made.sent(message.owner as usize).find(|sent| sent.reader as usize == d).unwrap();
                prop_assert_eq!(other, message);
                for (at, &node) in (own[d].len() + message.halo_first..).zip(message.items) {
                    prop_assert!(own[message.owner as usize].binary_search(&node).is_ok());
                    x[at] = u(node);
                }
            }
            for b in bricks.of_domain(&made, d) {
                for e in bricks.element_first[b as usize]..bricks.element_first[b as usize + 1] {
                    let at = nodes[e as usize].map(|node| local(d, node));
                    let sum: u64 = at.iter().map(|&at| x[at]).sum();
                    at.iter().for_each(|&at| y[d][at] += u64::from(e) * sum);
                }
            }
        }
        let mut found = vec![0; bricks.n_nodes()];
        for d in 0..n {
            own[d].iter().zip(&y[d]).for_each(|(&node, &y)| found[node as usize] += y);
            made.halo_of(d).iter().zip(&y[d][own[d].len()..]).for_each(|(&node, &y)| found[node as usize] += y);
        }
        prop_assert_eq!(found, expected);
        if !metis {
            // In Morton order nodes are only needed from later domains.
            prop_assert!((0..n).all(|d| made.received(d).all(|message| message.owner as usize > d)));
            prop_assert!(made.ranges.is_sorted());
        }
    }
}

#[test]
fn fractions_of_the_lemma() {
    // A cube of 64: all patterns of the lowest 16 bits occur, and more.
    let mesh = mesh(image([64; 3], |_| 1)).unwrap();
    let kinds = kinds(&mesh.bricks.view());
    let n = 64.0_f64.powi(3);
    // Exact for key distances; node numbers are at most as far apart, for keys that are no nodes do not count.
    assert!((0.644..0.70).contains(&(kinds.short as f64 / n)), "{kinds:?}");
    assert!(((kinds.short + kinds.medium) as f64 / n) > 0.938, "{kinds:?}");
    assert_eq!(kinds.short + kinds.medium + kinds.long, 64 * 64 * 64);
}

#[test]
fn hash_of_a_dense_cube_is_full() {
    let mesh = mesh(image([48; 3], |_| 1)).unwrap();
    for tables in [1, 8, 64] {
        let hash = levels(&mesh.bricks.view(), mesh.size, GridKind::Hash, Some(tables)).unwrap().hash;
        let view = hash[0].view();
        assert_eq!(view.n_tables(), tables);
        assert!(view.occupancy() > 0.9, "{tables} tables: {}", view.occupancy());
        assert!((view.bytes() as f64) < 15.5 * view.n_elements() as f64, "{tables} tables: {}", view.bytes());
    }
}

#[test]
fn a_hash_of_few_far_keys() {
    // Keys beyond 32 bits, and far apart.
    let (size, code) = ([1 << 20; 3], [0, 1 << 35, (1 << 53) + 5_u64]);
    let keys: Vec<u64> = code.iter().flat_map(|code| (0..40).map(move |slot| (code << 9) | (slot * 3))).collect();
    for tables in [1, 4] {
        let level = hash::build(size, &keys, vec![0, 3], tables).unwrap();
        let view = level.view();
        for (node, &key) in (0..).zip(&keys) {
            assert_eq!((view.code(node), view.node(key)), (key, Some(node)));
            assert_eq!(view.node(key + 1), None);
        }
    }
}
