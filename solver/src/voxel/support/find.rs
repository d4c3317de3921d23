//! Finds the bodies of a model and where they touch.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use pogo_formats::system::parallel::iterate::*;
use pogo_formats::voxel::{BricksView, NO_BRICK, morton_code};
use pogo_kernels::union::Union;

use super::Bodies;
use crate::voxel::elements::each_of_pieces;

/// Number of a voxel that is not there.
const NONE: u32 = u32::MAX;
/// Voxels that a thread takes at a time.
const PART: u32 = 1 << 14;

impl Bodies {
    /// Finds the face-connected bodies and where they touch.
    pub fn find(bricks: &BricksView<'_>) -> Self {
        let union = joined_by_faces(bricks);
        let size = bricks.bounds().map_or(1, |[low, high]| (0..3).map(|a| high[a] - low[a]).max().unwrap_or(1));
        let mut bodies = Self {
            voxels: Vec::new(),
            first: Vec::new(),
            node_body: Vec::new(),
            pairs: Vec::new(),
            joints: BTreeMap::new(),
            scale: 1.0 / f64::from(size.max(1)),
        };
        // Bodies in the order of their first voxels, by these.
        let mut number: BTreeMap<u32, u32> = BTreeMap::new();
        for (lowest, n) in rows_of_one_body(&union, bricks.n_elements() as u32).into_iter().flatten() {
            let next = number.len() as u32;
            let body = *number.entry(lowest).or_insert(next);
            if body == next {
                bodies.voxels.push(0);
                bodies.first.push(bricks.element_position(lowest));
            }
            bodies.voxels[body as usize] += n;
        }
        if bodies.voxels.len() > 1 {
            bodies.find_joints(bricks, |element| number[&union.find(element)]);
        }
        bodies
    }

    /// Finds the body of each node, which is that of its first voxel, and the nodes that several bodies have.
    fn find_joints(&mut self, bricks: &BricksView<'_>, body_of: impl Fn(u32) -> u32 + Sync) {
        let first: Vec<AtomicU32> = (0..bricks.n_nodes()).into_par_iter().map(|_| AtomicU32::new(NONE)).collect();
        each_of_pieces(bricks, |_: &mut Vec<()>, element| {
            for node in element.nodes {
                first[node as usize].fetch_min(element.number, Relaxed);
            }
        });
        let body = |first: AtomicU32| match first.into_inner() {
            NONE => NONE,
            element => body_of(element),
        };
        self.node_body = first.into_par_iter().map(body).collect();
        let node_body = &self.node_body;
        let shared = each_of_pieces(bricks, |found, element| {
            let body = body_of(element.number);
            let others = element.nodes.iter().map(|&node| (node, node_body[node as usize]));
            found.extend(others.filter(|&(_, other)| other != body).map(|(node, other)| (body, other, node)));
        });
        for (body, other, node) in shared.into_iter().flatten() {
            self.joints.entry((body.min(other), body.max(other))).or_default().push(node);
        }
        for nodes in self.joints.values_mut() {
            nodes.sort_unstable();
            nodes.dedup();
        }
    }
}

/// Voxels one behind the other that are of one body: the first voxel of the body, and how many they are.
fn rows_of_one_body(union: &Union, n: u32) -> Vec<Vec<(u32, usize)>> {
    let of_part = |part: u32| {
        let mut rows: Vec<(u32, usize)> = Vec::new();
        for element in part * PART..((part + 1) * PART).min(n) {
            let lowest = union.find(element);
            match rows.last_mut() {
                Some((last, n)) if *last == lowest => *n += 1,
                _ => rows.push((lowest, 1)),
            }
        }
        rows
    };
    (0..n.div_ceil(PART)).into_par_iter().map(of_part).collect()
}

/// Groups of the voxels that faces join.
fn joined_by_faces(bricks: &BricksView<'_>) -> Union {
    let union = Union::new(bricks.n_elements() as u32);
    (0..bricks.n_bricks()).into_par_iter().for_each_init(
        || vec![NONE; 512],
        |numbers, brick| {
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
                        union.join(element, below);
                    }
                }
            }
        },
    );
    union
}
