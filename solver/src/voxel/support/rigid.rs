//! Rigid motions of bodies, and holds that take away those which supports leave free.

use std::collections::BTreeMap;

use pogo_formats::voxel::BricksView;
use pogo_kernels::voxel::FixedDof;

use super::Bodies;

/// Displacement `direction` of a point at x under the six rigid motions: three translations, three rotations.
pub(in crate::voxel) fn rigid_row(x: [f64; 3], direction: usize) -> [f64; 6] {
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
pub(super) struct Stopped {
    pub rows: Vec<[f64; 6]>,
}

impl Stopped {
    /// What of a row is not stopped yet.
    pub fn rest(&self, mut row: [f64; 6]) -> [f64; 6] {
        // Twice, since one pass leaves rounding behind.
        for basis in self.rows.iter().chain(&self.rows) {
            let along: f64 = basis.iter().zip(&row).map(|(a, b)| a * b).sum();
            row.iter_mut().zip(basis).for_each(|(x, b)| *x -= along * b);
        }
        row
    }

    pub fn add(&mut self, row: [f64; 6]) {
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

    pub fn all(&self) -> bool {
        self.rows.len() == 6
    }
}

/// Number of nodes among which a hold is chosen in a large group.
const SAMPLE: usize = 100_000;

impl Bodies {
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
            && let Some(largest) = self.largest()
        {
            stopped.insert(groups[largest], Stopped::default());
        }
        let mut held = Vec::new();
        for (&group, stopped) in &mut stopped {
            while !stopped.all() {
                let Some((node, direction)) = self.best_hold(bricks, &groups, group, stopped) else { break };
                stopped.add(self.row(bricks, node, direction));
                held.push((node, direction));
            }
        }
        held.sort_unstable();
        held.dedup();
        held
    }

    /// The degree of freedom of a group that takes away most of the rigid motion that is left; none if it takes away
    /// nothing.
    fn best_hold(&self, bricks: &BricksView<'_>, groups: &[u32], group: u32, stopped: &Stopped) -> Option<(u32, u8)> {
        let mut best = (0.0, (0, 0));
        let own = (0..bricks.n_nodes() as u32).filter(|&node| groups[self.body(node) as usize] == group);
        // Every node of a small group, a sample of a large one: a choice among this many is as good as among all.
        let step = if self.voxels[group as usize] > SAMPLE { (bricks.n_nodes() / SAMPLE).max(1) } else { 1 };
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
        (best.0 >= 1e-14).then_some(best.1)
    }
}
