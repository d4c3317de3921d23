//! Coarser images.

use pogo_formats::voxel::build::{BricksError, coarse_size, coarsen};
use pogo_formats::voxel::{Bricks, BricksView};

use crate::voxel::elements::Elements;
use crate::voxel::{PLACES, StaticProblem, place_of};

/// Coarse nodes that a node lies between, each with the weight 1 / n.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Between {
    nodes: [u32; 8],
    n: u8,
}

impl Between {
    pub fn nodes(&self) -> &[u32] {
        &self.nodes[..usize::from(self.n)]
    }

    pub fn weight(&self) -> f64 {
        1.0 / f64::from(self.n)
    }
}

/// An image of half the resolution.
pub(super) struct Image {
    pub bricks: Bricks,
    /// Modulus of each voxel: the mean of 2 × 2 × 2 finer ones, void counted as 0 (eqs. 5, 6).
    pub modulus: Vec<f32>,
    /// Degrees of freedom that touch a finer fixed one, ascending.
    pub fixed: Vec<u32>,
    /// For each node of the finer image.
    pub between: Vec<Between>,
}

impl Image {
    /// The next coarser image. `size` is at least that of the finer one.
    fn new(
        view: &BricksView,
        size: [u32; 3],
        modulus: impl Fn(usize) -> f64,
        fixed: &[u32],
    ) -> Result<Self, BricksError> {
        let fine = Elements::of_bricks(view);
        let mut codes: Vec<u64> = Vec::new();
        let mut sums: Vec<f64> = Vec::new();
        for (e, code) in fine.code.iter().enumerate() {
            if codes.last() != Some(&(code >> 3)) {
                codes.push(code >> 3);
                sums.push(0.0);
            }
            if let Some(sum) = sums.last_mut() {
                *sum += modulus(e) / 8.0;
            }
        }
        let bricks = coarsen(view, size)?;
        let between = between(&fine, &Elements::of_bricks(&bricks.view()));
        let mut coarse_fixed: Vec<u32> = Vec::new();
        for &dof in fixed {
            coarse_fixed.extend(between[dof as usize / 3].nodes().iter().map(|node| 3 * node + dof % 3));
        }
        coarse_fixed.sort_unstable();
        coarse_fixed.dedup();
        Ok(Self { bricks, modulus: sums.iter().map(|&m| m as f32).collect(), fixed: coarse_fixed, between })
    }

    /// Up to `most` coarser images of a problem, as long as they have more than one voxel.
    pub fn all(problem: &StaticProblem, most: usize, fixed: &[u32]) -> Result<Vec<Self>, BricksError> {
        // Coarsening needs a size with room for every brick.
        let mut size = [0; 3];
        for brick in 0..problem.bricks.n_bricks() {
            let corner = problem.bricks.corner(brick);
            size = std::array::from_fn(|m| size[m].max(corner[m] + 8));
        }
        let mut images: Vec<Self> = Vec::new();
        while images.len() < most {
            let next = match images.last() {
                None => Self::new(&problem.bricks, size, |e| problem.moduli.young(e), fixed)?,
                Some(finer) => Self::new(&finer.bricks.view(), size, |e| f64::from(finer.modulus[e]), &finer.fixed)?,
            };
            if next.bricks.view().n_elements() < 2 {
                break;
            }
            size = coarse_size(size);
            images.push(next);
        }
        Ok(images)
    }
}

/// Where the nodes of finer elements stand between those of the coarse ones.
fn between(fine: &Elements, coarse: &Elements) -> Vec<Between> {
    let mut between = vec![Between::default(); fine.n_nodes];
    let mut parent = 0;
    for (code, nodes) in fine.code.iter().zip(&fine.nodes) {
        while coarse.code[parent] != code >> 3 {
            parent += 1;
        }
        for (c, &node) in nodes.iter().enumerate() {
            let corners = PLACES[place_of((code & 7) as usize, c)].corners();
            let to = &mut between[node as usize];
            to.n = corners.len() as u8;
            to.nodes.iter_mut().zip(corners).for_each(|(to, &c)| *to = coarse.nodes[parent][usize::from(c)]);
        }
    }
    between
}
