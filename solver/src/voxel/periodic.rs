//! Periodic boundary conditions: u = ε̄ (x − x₀) + ũ, where ũ is the same on opposite faces of the specimen's box.
//!
//! Nodes that are the same but for the box's length are *joined*: they share the unknowns of ũ. A node on a face without a
//! partner on the other side is free: the material ends there, against a void. The right side is that of the mean strain, and
//! as it moves no rigid body, single degrees of freedom may hold ũ without any reaction.

use std::collections::HashMap;

use pogo_formats::voxel::setup::{LoadCase, PrescribedField};
use pogo_formats::voxel::{BricksView, VoxelMeshView, VoxelSetup};
use pogo_kernels::voxel::{FixedDof, Joined, NodalForce};

use super::case::{ConditionError, Conditions, magnitude};
use super::elements::{Matter, internal_force};
use super::support::Bodies;

/// A specimen that repeats itself.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Periodic {
    /// Which nodes are joined, and the number of each after that.
    pub joined: Joined,
    /// Node on an upper face, and the one that it is joined with.
    pub pairs: Vec<(u32, u32)>,
    /// What is held against rigid motion, by joined number.
    pub fixed: Vec<FixedDof>,
    /// The same by the number of the node.
    pub held: Vec<(u32, u8)>,
    /// Of each axis: nodes of both faces with a partner, and without.
    pub matched: [[usize; 2]; 3],
    /// Voxels of the cell and of the image along each axis.
    pub sizes: [[u32; 3]; 2],
}

impl Periodic {
    /// Joins the nodes on opposite faces of the specimen's box, and checks that nothing can move.
    ///
    /// # Errors
    /// No node of a face has a partner, or a part is loose.
    pub fn new(mesh: &VoxelMeshView<'_>, setup: &VoxelSetup, bodies: &mut Bodies) -> Result<Self, ConditionError> {
        let [low, high] = setup.bounds;
        let (pairs, matched) = pairs(&mesh.bricks, setup.bounds);
        if let Some(axis) = (0..3).find(|&axis| matched[axis][0] == 0) {
            return Err(ConditionError::NotPeriodic { axis: ["x", "y", "z"][axis] });
        }
        let joined = joined(mesh.bricks.n_nodes(), &pairs, setup.bounds);
        bodies.join(pairs.clone());
        let held = held(&mesh.bricks, bodies)?;
        let at_joined =
            |&(node, direction): &(u32, u8)| FixedDof { node: joined.number[node as usize], direction, value: 0.0 };
        let mut fixed: Vec<FixedDof> = held.iter().map(at_joined).collect();
        fixed.sort_by_key(|fixed| (fixed.node, fixed.direction));
        fixed.dedup_by_key(|fixed| (fixed.node, fixed.direction));
        let sizes = [[0, 1, 2].map(|a| high[a] - low[a]), mesh.size];
        Ok(Self { joined, pairs, fixed, held, matched, sizes })
    }

    /// ε̄ (x − x₀) at every node, (n_nodes, 3).
    pub fn mean(&self, mesh: &VoxelMeshView<'_>, setup: &VoxelSetup, case: &LoadCase) -> Vec<f64> {
        let mut mean = Vec::with_capacity(3 * self.joined.number.len());
        for at in (0..mesh.bricks.n_bricks()).flat_map(|brick| mesh.bricks.node_positions(brick)) {
            let x: [f64; 3] = std::array::from_fn(|axis| mesh.origin[axis] + mesh.spacing * f64::from(at[axis]));
            mean.extend((0..3).map(|row| {
                let of = |field: &PrescribedField| {
                    let linear: f64 = (0..3).map(|k| field.gradient[3 * row + k] * (x[k] - field.centre[k])).sum();
                    magnitude(&setup.magnitudes, field.magnitude) * linear
                };
                case.displacements.iter().map(of).sum::<f64>()
            }));
        }
        mean
    }

    /// The right side −K ε̄ x of ũ, by joined number.
    pub fn forces(&self, mesh: &VoxelMeshView<'_>, matter: &Matter<'_>, mean: &[f64]) -> Vec<NodalForce> {
        let mut sums = vec![0.0; 3 * self.joined.n];
        let mut size = vec![0.0_f64; self.joined.n];
        internal_force(
            &mesh.bricks,
            matter,
            mesh.spacing,
            mean,
            |_| true,
            |node, force| {
                let number = self.joined.number[node as usize] as usize;
                for (d, force) in force.into_iter().enumerate() {
                    sums[3 * number + d] -= force;
                    size[number] += force.abs();
                }
            },
        );
        // Where moduli are the same all round, what is left is rounding.
        let entries = sums.iter().enumerate().filter(|&(dof, sum)| sum.abs() > 1e-13 * size[dof / 3]);
        entries.map(|(dof, &value)| NodalForce { node: (dof / 3) as u32, direction: (dof % 3) as u8, value }).collect()
    }

    /// ũ of a displacement, by joined number.
    pub fn fluctuation(&self, displacement: &[f64], mean: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; 3 * self.joined.n];
        for (node, &number) in self.joined.number.iter().enumerate() {
            (0..3).for_each(|d| out[3 * number as usize + d] = displacement[3 * node + d] - mean[3 * node + d]);
        }
        out
    }

    /// Adds ũ to ε̄ x.
    pub fn add(&self, fluctuation: &[f64], mean: &mut [f64]) {
        for (node, &number) in self.joined.number.iter().enumerate() {
            (0..3).for_each(|d| mean[3 * node + d] += fluctuation[3 * number as usize + d]);
        }
    }

    /// All nodes that are joined, as if they were prescribed: where the outer forces act.
    pub fn surface(&self) -> Conditions {
        let mut nodes: Vec<u32> = self.pairs.iter().flat_map(|&(a, b)| [a, b]).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let fixed =
            nodes.into_iter().flat_map(|node| (0..3).map(move |direction| FixedDof { node, direction, value: 0.0 }));
        Conditions { fixed: fixed.collect(), forces: Vec::new(), held: self.held.clone() }
    }

    /// Warnings: of nodes without a partner, and of a cell that is not the image's.
    pub fn warnings(&self) -> Vec<String> {
        let named = |axis: usize| {
            let [with, without] = self.matched[axis];
            let name = ["x", "y", "z"][axis];
            (without > 0).then(|| format!("{without} of {} on {name}min and {name}max", with + without))
        };
        let parts: Vec<String> = (0..3).filter_map(named).collect();
        let mut out = Vec::new();
        if !parts.is_empty() {
            out.push(format!("periodic: nodes without a partner on the opposite face are free ({})", parts.join(", ")));
        }
        if self.sizes[0] != self.sizes[1] {
            let [cell, image] = self.sizes.map(|[x, y, z]| format!("{x} × {y} × {z}"));
            out.push(format!(
                "periodic: the cell is the box of the solid voxels, {cell} of the image's {image}; `bounds` = \"image\" in \
                 [load] takes the whole image"
            ));
        }
        out
    }
}

/// Nodes on upper faces of a box, each with the one that it is joined with; and, of each axis, how many nodes of both faces
/// have a partner, and how many have none.
fn pairs(bricks: &BricksView<'_>, [low, high]: [[u32; 3]; 2]) -> (Vec<(u32, u32)>, [[usize; 2]; 3]) {
    let (mut pairs, mut matched) = (Vec::new(), [[0; 2]; 3]);
    // The first node of each place that nodes on upper faces are moved to and where no node is.
    let mut others: HashMap<[u32; 3], u32> = HashMap::new();
    let mut node = 0_u32;
    for at in (0..bricks.n_bricks()).flat_map(|brick| bricks.node_positions(brick)) {
        for axis in 0..3 {
            let mut across = at;
            if at[axis] == low[axis] {
                across[axis] = high[axis];
            } else if at[axis] == high[axis] {
                across[axis] = low[axis];
            } else {
                continue;
            }
            matched[axis][usize::from(bricks.node(across).is_none())] += 1;
        }
        let place: [u32; 3] = std::array::from_fn(|a| if at[a] == high[a] { low[a] } else { at[a] });
        if place != at {
            let first = bricks.node(place).unwrap_or_else(|| *others.entry(place).or_insert(node));
            if first != node {
                pairs.push((node, first));
            }
        }
        node += 1;
    }
    (pairs, matched)
}

/// Numbers of the unknowns. The node that others are joined with has the lowest number of all, for Morton's order puts lower
/// places first.
fn joined(n_nodes: usize, pairs: &[(u32, u32)], period: [[u32; 3]; 2]) -> Joined {
    let mut number = vec![0; n_nodes];
    let mut n = 0;
    let mut pair = pairs.iter().peekable();
    for node in 0..n_nodes {
        number[node] = match pair.next_if(|pair| pair.0 as usize == node) {
            Some(&(_, first)) => number[first as usize],
            None => {
                n += 1;
                n - 1
            }
        };
    }
    let [low, high] = period;
    Joined { number, n: n as usize, period: [0, 1, 2].map(|a| [low[a], high[a]]) }
}

/// Degrees of freedom that are held against rigid motion, ascending.
fn held(bricks: &BricksView<'_>, bodies: &Bodies) -> Result<Vec<(u32, u8)>, ConditionError> {
    let fix = |(node, direction)| FixedDof { node, direction, value: 0.0 };
    let first = bodies.first_node_of_largest();
    let mut fixed: Vec<FixedDof> = (0..3).map(|direction| fix((first, direction))).collect();
    fixed.extend(bodies.hold(bricks, &fixed).into_iter().map(fix));
    fixed.sort_by_key(|fixed| (fixed.node, fixed.direction));
    bodies.check(bricks, &fixed)?;
    Ok(fixed.iter().map(|fixed| (fixed.node, fixed.direction)).collect())
}
