//! Finds the bodies of a model and where they touch.

use std::collections::BTreeMap;

use pogo_formats::voxel::{BrickNodes, BricksView, NO_BRICK, morton_code};

use super::{Bodies, root, unite};
use crate::voxel::elements::for_brick;

/// Number of the body of a voxel that belongs to none yet.
const NONE: u32 = u32::MAX;

impl Bodies {
    /// Finds the face-connected bodies and where they touch.
    pub fn find(bricks: &BricksView<'_>) -> Self {
        let mut forest = joined_by_faces(bricks);
        let size = bricks.bounds().map_or(1, |[low, high]| (0..3).map(|a| high[a] - low[a]).max().unwrap_or(1));
        let mut bodies = Self {
            voxels: Vec::new(),
            first: Vec::new(),
            node_body: Vec::new(),
            pairs: Vec::new(),
            joints: BTreeMap::new(),
            scale: 1.0 / f64::from(size.max(1)),
        };
        // Body of each root.
        let mut number: BTreeMap<u32, u32> = BTreeMap::new();
        // Most elements are of the body of the one before.
        let mut last = (NONE, NONE);
        for element in 0..bricks.n_elements() as u32 {
            let root = root(&mut forest, element);
            if root == last.0 {
                bodies.voxels[last.1 as usize] += 1;
                continue;
            }
            let next = number.len() as u32;
            let body = *number.entry(root).or_insert(next);
            last = (root, body);
            if body == next {
                bodies.voxels.push(0);
                bodies.first.push(bricks.element_position(element));
            }
            bodies.voxels[body as usize] += 1;
        }
        if bodies.voxels.len() > 1 {
            bodies.find_joints(bricks, |element| number[&root(&mut forest, element)]);
        }
        bodies
    }

    /// Finds the body of each node, and the nodes that several bodies have.
    fn find_joints(&mut self, bricks: &BricksView<'_>, mut body_of: impl FnMut(u32) -> u32) {
        self.node_body = vec![NONE; bricks.n_nodes()];
        let mut table = BrickNodes::default();
        for brick in 0..bricks.n_bricks() {
            for_brick(bricks, brick, &mut table, |element| {
                let body = body_of(element.number);
                for node in element.nodes {
                    let held = &mut self.node_body[node as usize];
                    if *held == NONE {
                        *held = body;
                    } else if *held != body {
                        self.joints.entry((body.min(*held), body.max(*held))).or_default().push(node);
                    }
                }
            });
        }
        for nodes in self.joints.values_mut() {
            nodes.sort_unstable();
            nodes.dedup();
        }
    }
}

/// A forest of the elements: those that faces join have one root.
fn joined_by_faces(bricks: &BricksView<'_>) -> Vec<u32> {
    let mut parent: Vec<u32> = (0..bricks.n_elements() as u32).collect();
    let mut numbers = vec![NONE; 512];
    for brick in 0..bricks.n_bricks() {
        let corner = bricks.corner(brick);
        numbers.fill(NONE);
        let elements = bricks.element_first[brick]..bricks.element_first[brick + 1];
        for (at, element) in bricks.element_positions(brick).zip(elements) {
            let slot = [0, 1, 2].map(|axis| (at[axis] - corner[axis]) as usize);
            numbers[slot[0] + 8 * slot[1] + 64 * slot[2]] = element;
            for (axis, step) in [1, 8, 64].into_iter().enumerate() {
                let below = if slot[axis] > 0 {
                    // It has the lower Morton code, so it is numbered already.
                    numbers[slot[0] + 8 * slot[1] + 64 * slot[2] - step]
                } else {
                    let mut below = slot.map(|slot| slot as u32);
                    below[axis] = 7;
                    let brick = bricks.neighbours[27 * brick + 13 - [1, 3, 9][axis]];
                    let beside = (brick != NO_BRICK).then_some(brick as usize);
                    beside.and_then(|brick| bricks.element_at(brick, morton_code(below) as u32)).unwrap_or(NONE)
                };
                if below != NONE {
                    unite(&mut parent, element, below);
                }
            }
        }
    }
    parent
}
