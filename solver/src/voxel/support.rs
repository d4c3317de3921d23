//! Whether everything is held: connected bodies, hinges between them, and rigid motions that the supports leave free.
//!
//! Voxels that share faces make a *body*: it has no mechanism of its own, only six rigid motions. Bodies that meet in an
//! edge or a corner of a voxel are hinged there. A body is supported when its prescribed degrees of freedom and the nodes
//! that it shares with supported bodies stop all six motions; two bodies whose shared nodes stop all six relative ones
//! count as one.

use std::collections::BTreeMap;

use pogo_formats::voxel::{BrickNodes, BricksView, NO_BRICK, morton_code};
use pogo_formats::words::counted;
use pogo_kernels::voxel::FixedDof;

use super::elements::for_brick;

/// No body yet.
const NONE: u32 = u32::MAX;

/// Displacement `direction` of a point at x under the six rigid motions: three translations, three rotations.
pub fn rigid_row(x: [f64; 3], direction: usize) -> [f64; 6] {
    let mut row = [0.0; 6];
    row[direction] = 1.0;
    let (next, last) = ((direction + 1) % 3, (direction + 2) % 3);
    // (e_r × x)_d: rotation about `next` moves along d by x_last, about `last` by −x_next.
    row[3 + next] = x[last];
    row[3 + last] = -x[next];
    row
}

/// Rigid motions that are stopped: an orthonormal basis of at most six rows.
#[derive(Debug, Clone, Default, PartialEq)]
struct Stopped {
    rows: Vec<[f64; 6]>,
}

impl Stopped {
    /// What of a row is not stopped yet.
    fn rest(&self, mut row: [f64; 6]) -> [f64; 6] {
        // Twice, since one pass leaves rounding behind.
        for basis in self.rows.iter().chain(&self.rows) {
            let along: f64 = basis.iter().zip(&row).map(|(a, b)| a * b).sum();
            row.iter_mut().zip(basis).for_each(|(x, b)| *x -= along * b);
        }
        row
    }

    fn add(&mut self, row: [f64; 6]) {
        if self.all() {
            return;
        }
        let rest = self.rest(row);
        let norm = rest.iter().map(|x| x * x).sum::<f64>().sqrt();
        // Coordinates are fractions of the model: one voxel in 2²¹ is 5e-7.
        if norm > 1e-8 {
            self.rows.push(rest.map(|x| x / norm));
        }
    }

    fn all(&self) -> bool {
        self.rows.len() == 6
    }
}

/// Parts that nothing holds.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{}", describe(self))]
pub struct LooseParts {
    /// How many.
    pub parts: usize,
    /// Voxels of the largest.
    pub voxels: usize,
    /// First voxel of the largest, (i, j, k).
    pub first: [u32; 3],
    /// Rigid motions of it that are free, 1 to 6.
    pub free: usize,
    /// It hangs on another part by an edge or a corner of a voxel.
    pub hinged: bool,
}

fn describe(loose: &LooseParts) -> String {
    let LooseParts { parts, voxels, first: [i, j, k], free, hinged } = loose;
    let how = match (free, hinged) {
        (6, false) => "touches no support".to_owned(),
        (_, true) => {
            format!(
                "can move: it meets its neighbours only in edges or corners of voxels, a hinge with {free} free motions"
            )
        }
        _ => format!("can still move in {free} of 6 rigid motions"),
    };
    let others =
        if *parts > 1 { format!(" ({} loose parts in all; this is the largest)", parts) } else { String::new() };
    format!(
        "loose part: {} at ({i}, {j}, {k}) {how}{others}; drop it with [image] keep = \"largest\", or support it with a \
         [[boundary]]",
        counted(*voxels, "voxel")
    )
}

/// Bodies of a model, found once for all load cases.
#[derive(Debug, Clone)]
pub struct Bodies {
    /// Voxels of each body.
    voxels: Vec<usize>,
    /// First voxel of each.
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

fn find(parent: &mut [u32], mut at: u32) -> u32 {
    while parent[at as usize] != at {
        parent[at as usize] = parent[parent[at as usize] as usize];
        at = parent[at as usize];
    }
    at
}

fn join(parent: &mut [u32], a: u32, b: u32) {
    let (a, b) = (find(parent, a), find(parent, b));
    // The lower number stays, so that the numbering does not depend on the order.
    parent[a.max(b) as usize] = a.min(b);
}

impl Bodies {
    /// Finds the face-connected bodies and where they touch.
    pub fn find(bricks: &BricksView<'_>) -> Self {
        let n = bricks.n_elements();
        let mut parent: Vec<u32> = (0..n as u32).collect();
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
                        join(&mut parent, element, below);
                    }
                }
            }
        }
        let size = bricks.bounds().map_or(1, |[low, high]| (0..3).map(|a| high[a] - low[a]).max().unwrap_or(1));
        let mut bodies = Self {
            voxels: Vec::new(),
            first: Vec::new(),
            node_body: Vec::new(),
            pairs: Vec::new(),
            joints: BTreeMap::new(),
            scale: 1.0 / f64::from(size.max(1)),
        };
        let mut number: BTreeMap<u32, u32> = BTreeMap::new();
        // Most elements are of the body of the one before.
        let mut last = (NONE, NONE);
        for element in 0..n as u32 {
            let root = find(&mut parent, element);
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
            bodies.node_body = vec![NONE; bricks.n_nodes()];
            let mut table = BrickNodes::default();
            for brick in 0..bricks.n_bricks() {
                for_brick(bricks, brick, &mut table, |element| {
                    let body = number[&find(&mut parent, element.number)];
                    for node in element.nodes {
                        let held = &mut bodies.node_body[node as usize];
                        if *held == NONE {
                            *held = body;
                        } else if *held != body {
                            bodies.joints.entry((body.min(*held), body.max(*held))).or_default().push(node);
                        }
                    }
                });
            }
            for nodes in bodies.joints.values_mut() {
                nodes.sort_unstable();
                nodes.dedup();
            }
        }
        bodies
    }

    /// Joins nodes that move alike but for a constant, as on opposite faces of a model that repeats itself.
    pub fn join(&mut self, pairs: Vec<(u32, u32)>) {
        self.pairs = pairs;
    }

    /// A node of the largest body.
    pub fn first_node_of_largest(&self) -> u32 {
        let largest = (0..self.len()).max_by_key(|&body| (self.voxels[body], std::cmp::Reverse(body))).unwrap_or(0);
        self.node_body.iter().position(|&body| body as usize == largest).unwrap_or(0) as u32
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

    /// No voxel at all.
    pub fn is_empty(&self) -> bool {
        self.voxels.is_empty()
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
            join(&mut group, a, b);
        }
        (0..self.len() as u32).map(|body| find(&mut group, body)).collect()
    }

    /// Degrees of freedom that take away what rigid motion `fixed` leaves to the groups of touching bodies that it holds
    /// at all (or, where nothing is fixed, to the largest), chosen one by one where they act best.
    pub fn hold(&self, bricks: &BricksView<'_>, fixed: &[FixedDof]) -> Vec<(u32, u8)> {
        let groups = self.groups();
        let mut stopped: BTreeMap<u32, Stopped> = BTreeMap::new();
        for dof in fixed {
            let stopped = stopped.entry(groups[self.body(dof.node) as usize]).or_default();
            if !stopped.all() {
                stopped.add(self.row(bricks, dof.node, dof.direction));
            }
        }
        self.stop_joined(bricks, |body, row| match stopped.get_mut(&groups[body as usize]) {
            Some(stopped) if !stopped.all() => {
                stopped.add(row);
                false
            }
            _ => true,
        });
        if stopped.is_empty()
            && let Some(largest) = (0..self.len()).max_by_key(|&body| (self.voxels[body], std::cmp::Reverse(body)))
        {
            stopped.insert(groups[largest], Stopped::default());
        }
        // A choice among this many is as good as among all.
        let step = (bricks.n_nodes() / 100_000).max(1);
        let mut held = Vec::new();
        for (&group, stopped) in &mut stopped {
            while !stopped.all() {
                let mut best = (0.0, (0, 0));
                let own = (0..bricks.n_nodes() as u32).filter(|&node| groups[self.body(node) as usize] == group);
                // Every node of a small group, a sample of a large one.
                let step = if self.voxels[group as usize] > 100_000 { step } else { 1 };
                for node in own.step_by(step) {
                    for direction in 0..3 {
                        let rest = stopped.rest(self.row(bricks, node, direction));
                        let norm: f64 = rest.iter().map(|x| x * x).sum();
                        // Clearly better only: ties go to the first.
                        if norm > best.0 * (1.0 + 1e-9) {
                            best = (norm, (node, direction));
                        }
                    }
                }
                if best.0 < 1e-14 {
                    break;
                }
                let (node, direction) = best.1;
                stopped.add(self.row(bricks, node, direction));
                held.push((node, direction));
            }
        }
        held.sort_unstable();
        held.dedup();
        held
    }

    /// Checks that nothing can move.
    ///
    /// # Errors
    /// [`LooseParts`] with the largest body that can. Bodies that hold each other only as three or more (a ring of hinges)
    /// count as loose too.
    pub fn check(&self, bricks: &BricksView<'_>, fixed: &[FixedDof]) -> Result<(), LooseParts> {
        let n = self.len();
        let mut merged: Vec<u32> = (0..n as u32).collect();
        let mut stopped = vec![Stopped::default(); n];
        for dof in fixed {
            let stopped = &mut stopped[self.body(dof.node) as usize];
            if !stopped.all() {
                stopped.add(self.row(bricks, dof.node, dof.direction));
            }
        }
        self.stop_joined(bricks, |body, row| {
            let stopped = &mut stopped[body as usize];
            stopped.add(row);
            stopped.all()
        });
        // Nodes in several bodies are listed under one of them above; supports there hold all of them.
        let is_fixed = |node: u32, direction: u8| {
            fixed.binary_search_by_key(&(node, direction), |fixed| (fixed.node, fixed.direction)).is_ok()
        };
        for (&(a, b), nodes) in &self.joints {
            for &node in nodes {
                for direction in (0..3).filter(|&direction| is_fixed(node, direction)) {
                    let row = self.row(bricks, node, direction);
                    stopped[a as usize].add(row);
                    stopped[b as usize].add(row);
                }
            }
        }
        loop {
            let mut changed = false;
            for (&(a, b), nodes) in &self.joints {
                let (a, b) = (find(&mut merged, a), find(&mut merged, b));
                if a == b || stopped[a as usize].all() && stopped[b as usize].all() {
                    continue;
                }
                let mut shared = Stopped::default();
                for &node in nodes {
                    (0..3).for_each(|direction| shared.add(self.row(bricks, node, direction)));
                }
                let (holds_a, holds_b) = (stopped[a as usize].all(), stopped[b as usize].all());
                if holds_a || holds_b {
                    let other = if holds_a { b } else { a } as usize;
                    let before = stopped[other].rows.len();
                    shared.rows.iter().for_each(|&row| stopped[other].add(row));
                    changed |= stopped[other].rows.len() > before;
                } else if shared.all() {
                    let (low, high) = (a.min(b), a.max(b));
                    let rows = std::mem::take(&mut stopped[high as usize].rows);
                    rows.into_iter().for_each(|row| stopped[low as usize].add(row));
                    join(&mut merged, low, high);
                    changed = true;
                }
            }
            for &(node, other) in &self.pairs {
                let (a, b) = (find(&mut merged, self.body(node)), find(&mut merged, self.body(other)));
                let (holds_a, holds_b) = (stopped[a as usize].all(), stopped[b as usize].all());
                if holds_a == holds_b {
                    continue;
                }
                let (body, node) = if holds_a { (b, other) } else { (a, node) };
                let before = stopped[body as usize].rows.len();
                (0..3).for_each(|direction| stopped[body as usize].add(self.row(bricks, node, direction)));
                changed |= stopped[body as usize].rows.len() > before;
            }
            if !changed {
                break;
            }
        }
        let mut loose: BTreeMap<u32, (usize, [u32; 3])> = BTreeMap::new();
        for body in 0..n as u32 {
            let root = find(&mut merged, body);
            if !stopped[root as usize].all() {
                let entry = loose.entry(root).or_insert((0, self.first[body as usize]));
                entry.0 += self.voxels[body as usize];
            }
        }
        let Some((&body, &(voxels, first))) =
            loose.iter().max_by_key(|(body, part)| (part.0, std::cmp::Reverse(**body)))
        else {
            return Ok(());
        };
        let joints: Vec<(u32, u32)> = self.joints.keys().copied().collect();
        let hinged = joints.iter().any(|&(a, b)| {
            let (a, b) = (find(&mut merged, a), find(&mut merged, b));
            a != b && (a == body || b == body)
        });
        let free = 6 - stopped[body as usize].rows.len();
        Err(LooseParts { parts: loose.len(), voxels, first, free, hinged })
    }
}

#[cfg(test)]
mod tests {
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
}
