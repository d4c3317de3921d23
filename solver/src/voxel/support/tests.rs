//! Bodies that are held, and bodies that are not.

use pogo_kernels::voxel::FixedDof;

use super::*;
use pogo_formats::voxel::bricks_of;

/// All directions of the nodes with k = 0.
fn clamped(bricks: &BricksView<'_>) -> Vec<FixedDof> {
    let mut fixed: Vec<FixedDof> = (0..bricks.n_nodes() as u32)
        .filter(|&node| bricks.node_position(node)[2] == 0)
        .flat_map(|node| (0..3).map(move |direction| FixedDof { node, direction, value: 0.0 }))
        .collect();
    fixed.sort_by_key(|fixed| (fixed.node, fixed.direction));
    fixed
}

#[test]
fn one_body_is_held_or_not() {
    let bricks = bricks_of([9, 10, 11], |_| true);
    let bricks = bricks.view();
    let bodies = Bodies::find(&bricks);
    assert_eq!(bodies.len(), 1);
    let fixed = clamped(&bricks);
    assert_eq!(bodies.check(&bricks, &fixed), Ok(()));
    let axial: Vec<FixedDof> = fixed.iter().copied().filter(|fixed| fixed.direction == 2).collect();
    let loose = bodies.check(&bricks, &axial).unwrap_err();
    assert_eq!((loose.voxels, loose.free, loose.hinged), (990, 3, false));
    let held = bodies.hold(&bricks, &axial);
    assert_eq!(held.len(), 3);
    let mut all = axial.clone();
    all.extend(held.iter().map(|&(node, direction)| FixedDof { node, direction, value: 0.0 }));
    all.sort_by_key(|fixed| (fixed.node, fixed.direction));
    assert_eq!(bodies.check(&bricks, &all), Ok(()));
    assert_eq!(bodies.hold(&bricks, &[]).len(), 6);
}

#[test]
fn a_part_that_floats_is_named() {
    let bricks = bricks_of([20, 4, 6], |[i, _, k]| i < 3 || (9..14).contains(&i) && k > 1);
    let bricks = bricks.view();
    let bodies = Bodies::find(&bricks);
    assert_eq!(bodies.len(), 2);
    let loose = bodies.check(&bricks, &clamped(&bricks)).unwrap_err();
    assert_eq!((loose.parts, loose.voxels, loose.free, loose.hinged), (1, 5 * 4 * 4, 6, false));
    assert_eq!(loose.first, [9, 0, 2]);
    assert!(loose.to_string().contains("80 voxels at (9, 0, 2) touches no support"), "{loose}");
}

#[test]
fn hinges_are_found_and_frames_are_not() {
    // Two blocks that meet in the edge x = 4, z = 4.
    let bricks = bricks_of([8, 3, 8], |[i, _, k]| (i < 4) == (k < 4));
    let bricks = bricks.view();
    let bodies = Bodies::find(&bricks);
    assert_eq!(bodies.len(), 2);
    let loose = bodies.check(&bricks, &clamped(&bricks)).unwrap_err();
    assert_eq!((loose.free, loose.hinged), (1, true));
    // A block on three others that it meets in corners only stands on three points, and stands.
    let bricks = bricks_of([10, 10, 6], |[i, j, k]| match k {
        0..3 => (!(2..8).contains(&i) && j < 2) || (i < 2 && j >= 8),
        _ => (2..8).contains(&i) && (2..8).contains(&j),
    });
    let bricks = bricks.view();
    let bodies = Bodies::find(&bricks);
    assert_eq!(bodies.len(), 4);
    assert_eq!(bodies.check(&bricks, &clamped(&bricks)), Ok(()));
}
