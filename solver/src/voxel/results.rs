//! What follows from the displacements of a load case: reactions and energies.

use std::collections::BTreeMap;

use pogo_formats::voxel::setup::{Analysis, LoadCase, NodeRegion};
use pogo_formats::voxel::summary::CaseSummary;
use pogo_formats::voxel::{VoxelMeshView, VoxelSetup};
use pogo_kernels::voxel::Moduli;

use super::apparent;
use super::conditions::{Conditions, coordinates, magnitude};
use super::element::Cube;
use super::elements::{gather, internal_force, per_element};

/// The faces of the specimen's box, by name: axis and whether the upper one.
pub(super) const SIDES: [(&str, usize, bool); 6] = [
    ("xmin", 0, false),
    ("xmax", 0, true),
    ("ymin", 1, false),
    ("ymax", 1, true),
    ("zmin", 2, false),
    ("zmax", 2, true),
];

/// Reactions: K u − f at prescribed degrees of freedom, nil elsewhere.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Reactions {
    /// Nodes with a prescribed degree of freedom, ascending.
    pub nodes: Vec<u32>,
    /// Components of each.
    pub forces: Vec<[f64; 3]>,
}

/// A solution with what is needed to read it.
pub(super) struct Solution<'a> {
    /// The grid.
    pub mesh: &'a VoxelMeshView<'a>,
    /// Moduli in force.
    pub moduli: Moduli<'a>,
    /// The element.
    pub cube: &'a Cube,
    /// Displacements, (n_nodes, 3).
    pub displacement: &'a [f64],
}

impl Solution<'_> {
    /// Reactions under these conditions.
    pub fn reactions(&self, conditions: &Conditions) -> Reactions {
        let mut nodes: Vec<u32> = conditions.fixed.iter().map(|fixed| fixed.node).collect();
        nodes.dedup();
        // A bit a node, since every element asks for eight of them.
        let mut wanted = vec![0_u64; self.mesh.bricks.n_nodes().div_ceil(64)];
        nodes.iter().for_each(|&node| wanted[node as usize / 64] |= 1 << (node % 64));
        let is_wanted = |node: u32| wanted[node as usize / 64] >> (node % 64) & 1 == 1;
        let mut internal = vec![[0.0; 3]; nodes.len()];
        let spacing = self.mesh.spacing;
        let bricks = &self.mesh.bricks;
        internal_force(bricks, &self.moduli, self.cube, spacing, self.displacement, is_wanted, |node, force| {
            if let Ok(at) = nodes.binary_search(&node) {
                (0..3).for_each(|d| internal[at][d] += force[d]);
            }
        });
        for force in &conditions.forces {
            if let Ok(at) = nodes.binary_search(&force.node) {
                internal[at][usize::from(force.direction)] -= force.value;
            }
        }
        let mut forces = vec![[0.0; 3]; nodes.len()];
        for fixed in &conditions.fixed {
            if let Ok(at) = nodes.binary_search(&fixed.node) {
                forces[at][usize::from(fixed.direction)] = internal[at][usize::from(fixed.direction)];
            }
        }
        Reactions { nodes, forces }
    }

    /// Strain-energy density and modulus of each element.
    fn energies(&self) -> (Vec<f32>, Vec<f32>, f64) {
        let (h, displacement) = (self.mesh.spacing, self.displacement);
        let (mut density, mut effective) = (Vec::new(), Vec::new());
        let n = self.mesh.bricks.n_elements();
        density.reserve_exact(n);
        effective.reserve_exact(n);
        let mut total = 0.0;
        let values = per_element(&self.mesh.bricks, |element| {
            let unit = self.cube.energy_density(&gather(displacement, &element.nodes)) / (h * h);
            (unit * self.moduli.young(element.number as usize), (2.0 * unit.max(0.0)).sqrt())
        });
        for (u, strain) in values {
            total += u;
            density.push(u as f32);
            effective.push(strain as f32);
        }
        (density, effective, total * h * h * h)
    }

    /// Mean displacement of a face's nodes.
    pub fn mean(&self, nodes: &[u32]) -> [f64; 3] {
        let n = nodes.len().max(1) as f64;
        let sum = |d: usize| nodes.iter().map(|&node| self.displacement[3 * node as usize + d]).sum::<f64>();
        [0, 1, 2].map(|d| sum(d) / n)
    }
}

impl Reactions {
    /// Sum over the nodes of a region (ascending).
    pub fn sum(&self, nodes: &[u32]) -> [f64; 3] {
        let mut sum = [0.0; 3];
        for node in nodes {
            if let Ok(at) = self.nodes.binary_search(node) {
                (0..3).for_each(|d| sum[d] += self.forces[at][d]);
            }
        }
        sum
    }

    /// Moment about a point, over the nodes of a region.
    pub fn moment(&self, mesh: &VoxelMeshView<'_>, nodes: &[u32], about: [f64; 3]) -> [f64; 3] {
        let mut sum = [0.0; 3];
        for node in nodes {
            if let Ok(at) = self.nodes.binary_search(node) {
                let x = coordinates(mesh, *node);
                let r = [0, 1, 2].map(|k| x[k] - about[k]);
                let f = self.forces[at];
                sum[0] += r[1] * f[2] - r[2] * f[1];
                sum[1] += r[2] * f[0] - r[0] * f[2];
                sum[2] += r[0] * f[1] - r[1] * f[0];
            }
        }
        sum
    }
}

/// Nodes of a side of the specimen's box.
pub(super) fn side(mesh: &VoxelMeshView<'_>, setup: &VoxelSetup, axis: usize, upper: bool) -> Vec<u32> {
    let [mut low, mut high] = setup.bounds;
    if upper {
        low[axis] = high[axis]
    } else {
        high[axis] = low[axis]
    }
    mesh.bricks.region_nodes(&NodeRegion::Box { low, high }, &[])
}

/// Edges of the specimen's box.
pub(super) fn extents(setup: &VoxelSetup, spacing: f64) -> [f64; 3] {
    let [low, high] = setup.bounds;
    [0, 1, 2].map(|axis| f64::from(high[axis] - low[axis]) * spacing)
}

/// Middle of the specimen's box.
pub(super) fn centre(mesh: &VoxelMeshView<'_>, setup: &VoxelSetup) -> [f64; 3] {
    let [low, high] = setup.bounds;
    [0, 1, 2].map(|k| mesh.origin[k] + mesh.spacing * 0.5 * (f64::from(low[k]) + f64::from(high[k])))
}

/// Factor that takes a unit solution to the force or moment asked for.
pub(super) fn scale(
    mesh: &VoxelMeshView<'_>,
    setup: &VoxelSetup,
    case: &LoadCase,
    reactions: &Reactions,
) -> Option<f64> {
    let target = case.scale_to.as_ref()?;
    let nodes = mesh.bricks.region_nodes(&target.region, mesh.element_class);
    let direction = usize::from(target.direction);
    let found = match target.moment_about {
        Some(point) => reactions.moment(mesh, &nodes, point)[direction],
        None => reactions.sum(&nodes)[direction],
    };
    Some(magnitude(&setup.magnitudes, Some(target.magnitude)) / found)
}

/// Everything about a case but how it was solved.
pub(super) fn summarise(
    solution: &Solution<'_>,
    setup: &VoxelSetup,
    case: &LoadCase,
    conditions: &Conditions,
    reactions: &Reactions,
) -> CaseSummary {
    let mesh = solution.mesh;
    let (density, effective, strain_energy) = solution.energies();
    let largest = |node: &[f64]| node.iter().map(|u| u * u).sum::<f64>();
    let failure = loaded_axis(setup.analysis).map(|axis| {
        let high = side(mesh, setup, axis, true);
        let load = match setup.analysis {
            Analysis::Bending { .. } | Analysis::Torsion { .. } => reactions.moment(mesh, &high, centre(mesh, setup)),
            _ => reactions.sum(&high),
        };
        apparent::failure(&effective, setup.output.failure_volume, setup.output.failure_strain, load)
    });
    CaseSummary {
        name: case.name.clone(),
        imbalance: imbalance(reactions, conditions),
        reaction: named_reactions(mesh, setup, case, reactions),
        strain_energy,
        max_displacement: solution.displacement.chunks(3).map(largest).fold(0.0, f64::max).sqrt(),
        apparent: apparent::apparent(solution, setup, reactions),
        energy_density: apparent::histogram(density, setup.output.histogram_bins),
        effective_strain: apparent::histogram(effective, setup.output.histogram_bins),
        failure,
        scale: 1.0,
        ..CaseSummary::default()
    }
}

/// Sums of the reactions on the sides of the box, on regions with a name, and on tables.
fn named_reactions(
    mesh: &VoxelMeshView<'_>,
    setup: &VoxelSetup,
    case: &LoadCase,
    reactions: &Reactions,
) -> BTreeMap<String, [f64; 3]> {
    let mut reaction = BTreeMap::new();
    // A preset names its faces; others only share edges with them.
    let names_sides = case.displacements.iter().any(|field| SIDES.iter().any(|(name, ..)| *name == field.name));
    for (name, axis, upper) in SIDES {
        if names_sides && !case.displacements.iter().any(|field| field.name == name) {
            continue;
        }
        let nodes = side(mesh, setup, axis, upper);
        if nodes.iter().any(|node| reactions.nodes.binary_search(node).is_ok()) {
            reaction.insert(name.to_owned(), reactions.sum(&nodes));
        }
    }
    for field in &case.displacements {
        let is_surface = matches!(field.region, NodeRegion::Surface { .. });
        if !SIDES.iter().any(|(name, ..)| *name == field.name) && !is_surface {
            let nodes = mesh.bricks.region_nodes(&field.region, mesh.element_class);
            let sum = reactions.sum(&nodes);
            let entry = reaction.entry(field.name.clone()).or_insert([0.0; 3]);
            (0..3).for_each(|d| entry[d] += sum[d]);
        }
    }
    for table in &case.displacement_tables {
        let mut nodes = table.nodes.clone();
        nodes.sort_unstable();
        nodes.dedup();
        reaction.insert(table.name.clone(), reactions.sum(&nodes));
    }
    reaction
}

/// Axis whose faces are loaded.
pub(super) fn loaded_axis(analysis: Analysis) -> Option<usize> {
    match analysis {
        Analysis::Uniaxial { axis, .. }
        | Analysis::Shear { axis, .. }
        | Analysis::Bending { axis, .. }
        | Analysis::Torsion { axis } => Some(usize::from(axis)),
        Analysis::Own | Analysis::Tensor(_) => None,
    }
}

fn imbalance(reactions: &Reactions, conditions: &Conditions) -> f64 {
    let (mut sum, mut size) = ([0.0; 3], 0.0);
    let reactions = reactions.forces.iter().flat_map(|force| force.iter().copied().enumerate());
    let forces = conditions.forces.iter().map(|force| (usize::from(force.direction), force.value));
    for (direction, value) in reactions.chain(forces) {
        sum[direction] += value;
        size += value.abs();
    }
    let sum = sum.iter().map(|x: &f64| x.abs()).fold(0.0, f64::max);
    if size > 0.0 { sum / size } else { 0.0 }
}
