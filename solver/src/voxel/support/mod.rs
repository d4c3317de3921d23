//! Whether everything is held: connected bodies, hinges between them, and rigid motions that the supports leave free.
//!
//! Voxels that share faces make a *body*: it has no mechanism of its own, only six rigid motions. Bodies that meet in an
//! edge or a corner of a voxel are hinged there. A body is supported when its prescribed degrees of freedom and the nodes
//! that it shares with supported bodies stop all six motions; two bodies whose shared nodes stop all six relative ones
//! count as one.

mod check;
mod find;
mod rigid;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use pogo_formats::voxel::BricksView;

pub(super) use check::LooseParts;
pub(super) use rigid::rigid_row;

/// Bodies of a model, found once for all load cases.
#[derive(Debug, Clone)]
pub(super) struct Bodies {
    /// Number of voxels of each body.
    voxels: Vec<usize>,
    /// First voxel of each body.
    first: Vec<[u32; 3]>,
    /// Body of each node (of several, one), empty where there is only one body.
    node_body: Vec<u32>,
    /// Nodes that move alike but for a constant: see [`join`](Self::join).
    pairs: Vec<(u32, u32)>,
    /// Nodes in several bodies: (body, other body) with ascending numbers → nodes.
    joints: BTreeMap<(u32, u32), Vec<u32>>,
    /// 1 / largest extent in voxels.
    scale: f64,
}

/// The body that stands for all that have been joined with this one; `parent` is a forest.
fn root(parent: &mut [u32], mut at: u32) -> u32 {
    while parent[at as usize] != at {
        parent[at as usize] = parent[parent[at as usize] as usize];
        at = parent[at as usize];
    }
    at
}

fn unite(parent: &mut [u32], a: u32, b: u32) {
    let (a, b) = (root(parent, a), root(parent, b));
    // The lower number stays, so that the numbering does not depend on the order.
    parent[a.max(b) as usize] = a.min(b);
}

impl Bodies {
    /// Joins nodes that move alike but for a constant, as on opposite faces of a model that repeats itself.
    pub fn join(&mut self, pairs: Vec<(u32, u32)>) {
        self.pairs = pairs;
    }

    /// A node of the largest body.
    pub fn first_node_of_largest(&self) -> u32 {
        let largest = self.largest().unwrap_or(0);
        self.node_body.iter().position(|&body| body as usize == largest).unwrap_or(0) as u32
    }

    /// The body with the most voxels; of several, the first.
    fn largest(&self) -> Option<usize> {
        (0..self.len()).max_by_key(|&body| (self.voxels[body], std::cmp::Reverse(body)))
    }

    /// What joined nodes of one and the same body stop: it may not turn so that they part.
    fn stop_joined(&self, bricks: &BricksView<'_>, mut stop: impl FnMut(u32, [f64; 6]) -> bool) {
        for &(node, other) in &self.pairs {
            let body = self.body(node);
            if body != self.body(other) {
                continue;
            }
            for direction in 0..3 {
                let (a, b) = (self.row(bricks, node, direction), self.row(bricks, other, direction));
                // Once a body cannot move, more does not matter.
                if stop(body, std::array::from_fn(|i| a[i] - b[i])) {
                    break;
                }
            }
        }
    }

    /// Number of face-connected bodies.
    pub fn len(&self) -> usize {
        self.voxels.len()
    }

    /// Whether a part, or parts that touch, has nodes of both kinds.
    pub fn join_nodes(&self, some: &[u32], others: &[u32]) -> bool {
        let groups = self.groups();
        let mut reached = vec![false; groups.len()];
        some.iter().for_each(|&node| reached[groups[self.body(node) as usize] as usize] = true);
        others.iter().any(|&node| reached[groups[self.body(node) as usize] as usize])
    }

    fn body(&self, node: u32) -> u32 {
        self.node_body.get(node as usize).copied().unwrap_or(0)
    }

    fn row(&self, bricks: &BricksView<'_>, node: u32, direction: u8) -> [f64; 6] {
        let at = bricks.node_position(node).map(|p| f64::from(p) * self.scale);
        rigid_row(at, usize::from(direction))
    }

    /// Groups of bodies that touch at all, by the lowest body of each.
    fn groups(&self) -> Vec<u32> {
        let mut group: Vec<u32> = (0..self.len() as u32).collect();
        for &(a, b) in self.joints.keys() {
            unite(&mut group, a, b);
        }
        (0..self.len() as u32).map(|body| root(&mut group, body)).collect()
    }
}
