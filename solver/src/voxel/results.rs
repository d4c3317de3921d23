//! What follows from the displacements of a load case: reactions and energies.

use pogo_formats::voxel::setup::{Analysis, LoadCase, NodeRegion};
use pogo_formats::voxel::{VoxelMeshView, VoxelSetup};

use super::case::{Conditions, coordinates, magnitude};
use super::elements::{Matter, fill, internal_force, unit_energies};

/// Reactions: K u − f at prescribed degrees of freedom, nil elsewhere.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Reactions {
    /// Nodes with a prescribed degree of freedom, ascending.
    pub nodes: Vec<u32>,
    /// Components of each force.
    pub forces: Vec<[f64; 3]>,
}

/// What the elements of a model store.
pub(super) struct Energies {
    /// Strain-energy density of each element.
    pub density: Vec<f32>,
    /// Effective strain √(2 U / E) of each element.
    pub mean_strain: Vec<f32>,
    /// Effective strain of each element by the strain at its centre: √(ε : D ε / E).
    pub central_strain: Vec<f32>,
    /// Strain energy of all elements.
    pub total: f64,
}

/// A solution with what is needed to read it.
pub(super) struct Solution<'a> {
    pub mesh: &'a VoxelMeshView<'a>,
    pub matter: &'a Matter<'a>,
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
        internal_force(bricks, self.matter, spacing, self.displacement, is_wanted, |node, force| {
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

    /// What the elements store.
    pub fn energies(&self) -> Energies {
        let h = self.mesh.spacing;
        let n = self.mesh.bricks.n_elements();
        let mut out =
            Energies { density: vec![0.0; n], mean_strain: vec![0.0; n], central_strain: vec![0.0; n], total: 0.0 };
        let tables = [&mut out.density[..], &mut out.mean_strain, &mut out.central_strain];
        // Added up by pieces, so that the sum is the same for every number of threads.
        let total = fill(&self.mesh.bricks, tables, |elements, found| {
            let unit = unit_energies(self.matter, self.displacement, elements);
            for (lane, (element, found)) in elements.iter().zip(found).enumerate() {
                let u = unit.mean[lane] * self.matter.young(element.number) / (h * h);
                let effective = |unit: f64| ((2.0 * unit.max(0.0)).sqrt() / h) as f32;
                *found = ([u as f32, effective(unit.mean[lane]), effective(unit.centre[lane])], u);
            }
        });
        out.total = total * h * h * h;
        out
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
