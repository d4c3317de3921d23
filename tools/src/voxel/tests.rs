use std::collections::{BTreeMap, BTreeSet};

use pogo_formats::voxel::{VoxelGrid, VoxelModuli, morton_code, morton_position};
use proptest::prelude::*;

use super::*;

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
        if mixed % rarity == 0 { 1 + (mixed / rarity % 3) as u8 } else { 0 }
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
            let there = bricks::moved(at, [d % 3 - 1, d / 3 % 3 - 1, d / 9 - 1]);
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
