//! Checks that nothing can move.

use std::collections::BTreeMap;

use pogo_formats::voxel::BricksView;
use pogo_formats::words::counted;
use pogo_kernels::voxel::FixedDof;

use super::rigid::Stopped;
use super::{Bodies, root, unite};

/// Parts that nothing holds.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{}", describe(self))]
pub(in crate::voxel) struct LooseParts {
    /// Number of loose parts.
    pub parts: usize,
    /// Number of voxels of the largest part.
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

/// Which rigid motions of which bodies are stopped, as far as it is known.
struct Progress<'a> {
    bodies: &'a Bodies,
    bricks: &'a BricksView<'a>,
    /// A forest of the bodies: those that hold each other have one root.
    merged: Vec<u32>,
    /// Motions that are stopped, of each root.
    stopped: Vec<Stopped>,
}

impl Bodies {
    /// Checks that nothing can move.
    ///
    /// # Errors
    /// [`LooseParts`] with the largest body that can. Bodies that hold each other only as three or more (a ring of hinges)
    /// count as loose too.
    pub fn check(&self, bricks: &BricksView<'_>, fixed: &[FixedDof]) -> Result<(), LooseParts> {
        let merged = (0..self.len() as u32).collect();
        let stopped = vec![Stopped::default(); self.len()];
        let mut progress = Progress { bodies: self, bricks, merged, stopped };
        progress.stop_fixed(fixed);
        while progress.pass_on_joints() | progress.pass_on_pairs() {}
        progress.loose().map_or(Ok(()), Err)
    }
}

impl Progress<'_> {
    /// Counts what prescribed degrees of freedom stop.
    fn stop_fixed(&mut self, fixed: &[FixedDof]) {
        let Self { bodies, bricks, stopped, .. } = self;
        for dof in fixed {
            let stopped = &mut stopped[bodies.body(dof.node) as usize];
            if !stopped.all() {
                stopped.add(bodies.row(bricks, dof.node, dof.direction));
            }
        }
        bodies.stop_joined(bricks, |body, row| {
            let stopped = &mut stopped[body as usize];
            stopped.add(row);
            stopped.all()
        });
        // Nodes in several bodies are listed under one of them above; supports there hold all of them.
        let is_fixed = |node: u32, direction: u8| {
            fixed.binary_search_by_key(&(node, direction), |fixed| (fixed.node, fixed.direction)).is_ok()
        };
        for (&(a, b), nodes) in &bodies.joints {
            for &node in nodes {
                for direction in (0..3).filter(|&direction| is_fixed(node, direction)) {
                    let row = bodies.row(bricks, node, direction);
                    stopped[a as usize].add(row);
                    stopped[b as usize].add(row);
                }
            }
        }
    }

    /// Lets bodies that are held hold those that they touch, and merges bodies that hold each other. Returns whether
    /// anything has changed.
    fn pass_on_joints(&mut self) -> bool {
        let Self { bodies, bricks, merged, stopped } = self;
        let mut changed = false;
        for (&(a, b), nodes) in &bodies.joints {
            let (a, b) = (root(merged, a), root(merged, b));
            let (holds_a, holds_b) = (stopped[a as usize].all(), stopped[b as usize].all());
            if a == b || holds_a && holds_b {
                continue;
            }
            let mut shared = Stopped::default();
            for &node in nodes {
                (0..3).for_each(|direction| shared.add(bodies.row(bricks, node, direction)));
            }
            if holds_a || holds_b {
                let other = if holds_a { b } else { a } as usize;
                let before = stopped[other].rows.len();
                shared.rows.iter().for_each(|&row| stopped[other].add(row));
                changed |= stopped[other].rows.len() > before;
            } else if shared.all() {
                let (low, high) = (a.min(b), a.max(b));
                let rows = std::mem::take(&mut stopped[high as usize].rows);
                rows.into_iter().for_each(|row| stopped[low as usize].add(row));
                unite(merged, low, high);
                changed = true;
            }
        }
        changed
    }

    /// Lets bodies that are held hold those whose nodes move like theirs. Returns whether anything has changed.
    fn pass_on_pairs(&mut self) -> bool {
        let Self { bodies, bricks, merged, stopped } = self;
        let mut changed = false;
        for &(node, other) in &bodies.pairs {
            let (a, b) = (root(merged, bodies.body(node)), root(merged, bodies.body(other)));
            let (holds_a, holds_b) = (stopped[a as usize].all(), stopped[b as usize].all());
            if holds_a == holds_b {
                continue;
            }
            let (body, node) = if holds_a { (b, other) } else { (a, node) };
            let before = stopped[body as usize].rows.len();
            (0..3).for_each(|direction| stopped[body as usize].add(bodies.row(bricks, node, direction)));
            changed |= stopped[body as usize].rows.len() > before;
        }
        changed
    }

    /// The largest part that can move.
    fn loose(&mut self) -> Option<LooseParts> {
        let Self { bodies, merged, stopped, .. } = self;
        // Voxels and first voxel by root.
        let mut loose: BTreeMap<u32, (usize, [u32; 3])> = BTreeMap::new();
        for body in 0..bodies.len() as u32 {
            let root = root(merged, body);
            if !stopped[root as usize].all() {
                loose.entry(root).or_insert((0, bodies.first[body as usize])).0 += bodies.voxels[body as usize];
            }
        }
        let (&body, &(voxels, first)) = loose.iter().max_by_key(|(body, part)| (part.0, std::cmp::Reverse(**body)))?;
        let hinged = bodies.joints.keys().any(|&(a, b)| {
            let (a, b) = (root(merged, a), root(merged, b));
            a != b && (a == body || b == body)
        });
        let free = 6 - stopped[body as usize].rows.len();
        Some(LooseParts { parts: loose.len(), voxels, first, free, hinged })
    }
}
