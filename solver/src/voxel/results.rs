//! What a solved load case says: reactions, apparent properties, energies, and the estimate of failure.

use std::collections::BTreeMap;

use pogo_formats::voxel::setup::{Analysis, LoadCase, NodeRegion};
use pogo_formats::voxel::summary::{Apparent, CaseSummary, Failure, Histogram};
use pogo_formats::voxel::{VoxelMeshView, VoxelSetup};
use pogo_kernels::voxel::Moduli;

use super::conditions::{Conditions, coordinates, magnitude};
use super::element::Cube;
use super::elements::{gather, internal_force, modulus, per_element};

/// The faces of the specimen's box, by name: axis and whether the upper one.
pub const SIDES: [(&str, usize, bool); 6] = [
    ("xmin", 0, false),
    ("xmax", 0, true),
    ("ymin", 1, false),
    ("ymax", 1, true),
    ("zmin", 2, false),
    ("zmax", 2, true),
];

/// Reactions: K u − f at prescribed degrees of freedom, nil elsewhere.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reactions {
    /// Nodes with a prescribed degree of freedom, ascending.
    pub nodes: Vec<u32>,
    /// Components of each.
    pub forces: Vec<[f64; 3]>,
}

/// A solution with what is needed to read it.
pub struct Solution<'a> {
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
            (unit * modulus(&self.moduli, element.number), (2.0 * unit.max(0.0)).sqrt())
        });
        for (u, strain) in values {
            total += u;
            density.push(u as f32);
            effective.push(strain as f32);
        }
        (density, effective, total * h * h * h)
    }

    /// Mean displacement of a face's nodes.
    fn mean(&self, nodes: &[u32]) -> [f64; 3] {
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
pub fn side(mesh: &VoxelMeshView<'_>, setup: &VoxelSetup, axis: usize, upper: bool) -> Vec<u32> {
    let [mut low, mut high] = setup.bounds;
    if upper {
        low[axis] = high[axis]
    } else {
        high[axis] = low[axis]
    }
    mesh.bricks.region_nodes(&NodeRegion::Box { low, high }, &[])
}

/// Edges of the specimen's box.
pub fn extents(setup: &VoxelSetup, spacing: f64) -> [f64; 3] {
    let [low, high] = setup.bounds;
    [0, 1, 2].map(|axis| f64::from(high[axis] - low[axis]) * spacing)
}

/// Middle of the specimen's box.
pub fn centre(mesh: &VoxelMeshView<'_>, setup: &VoxelSetup) -> [f64; 3] {
    let [low, high] = setup.bounds;
    [0, 1, 2].map(|k| mesh.origin[k] + mesh.spacing * 0.5 * (f64::from(low[k]) + f64::from(high[k])))
}

/// Factor that takes a unit solution to the force or moment asked for.
pub fn scale(mesh: &VoxelMeshView<'_>, setup: &VoxelSetup, case: &LoadCase, reactions: &Reactions) -> Option<f64> {
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
pub fn summarise(
    solution: &Solution<'_>,
    setup: &VoxelSetup,
    case: &LoadCase,
    conditions: &Conditions,
    reactions: &Reactions,
) -> CaseSummary {
    let mesh = solution.mesh;
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
    let (density, effective, strain_energy) = solution.energies();
    let largest = |node: &[f64]| node.iter().map(|u| u * u).sum::<f64>();
    let apparent = apparent(solution, setup, reactions);
    let loaded = loaded_face(setup.analysis);
    let failure = loaded.map(|axis| {
        let high = side(mesh, setup, axis, true);
        let load = match setup.analysis {
            Analysis::Bending { .. } | Analysis::Torsion { .. } => reactions.moment(mesh, &high, centre(mesh, setup)),
            _ => reactions.sum(&high),
        };
        failure(&effective, setup.output.failure_volume, setup.output.failure_strain, load)
    });
    CaseSummary {
        name: case.name.clone(),
        imbalance: imbalance(reactions, conditions),
        reaction,
        strain_energy,
        max_displacement: solution.displacement.chunks(3).map(largest).fold(0.0, f64::max).sqrt(),
        apparent,
        energy_density: histogram(density, setup.output.histogram_bins),
        effective_strain: histogram(effective, setup.output.histogram_bins),
        failure,
        scale: 1.0,
        ..CaseSummary::default()
    }
}

/// Axis whose faces are loaded.
fn loaded_face(analysis: Analysis) -> Option<usize> {
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

fn apparent(solution: &Solution<'_>, setup: &VoxelSetup, reactions: &Reactions) -> Option<Apparent> {
    let axis = loaded_face(setup.analysis)?;
    let mesh = solution.mesh;
    let extents = extents(setup, mesh.spacing);
    let (low, high) = (side(mesh, setup, axis, false), side(mesh, setup, axis, true));
    let (length, area) = (extents[axis], extents[(axis + 1) % 3] * extents[(axis + 2) % 3]);
    let centre = centre(mesh, setup);
    let force = reactions.sum(&high);
    let moment = || reactions.moment(mesh, &high, centre);
    // Rotation about an axis that fits the displacements of a face best, using some components.
    let turn = |nodes: &[u32], about: usize, components: &[usize]| {
        let (mut along, mut square) = (0.0, 0.0);
        for &node in nodes {
            let x = coordinates(mesh, node);
            let r = [0, 1, 2].map(|k| x[k] - centre[k]);
            let (b, c) = ((about + 1) % 3, (about + 2) % 3);
            let mut motion = [0.0; 3];
            (motion[b], motion[c]) = (-r[c], r[b]);
            for &d in components {
                along += motion[d] * solution.displacement[3 * node as usize + d];
                square += motion[d] * motion[d];
            }
        }
        if square > 0.0 { along / square } else { 0.0 }
    };
    let difference = |d: usize| (solution.mean(&high)[d] - solution.mean(&low)[d]) / length;
    let (kind, strain, load, value) = match setup.analysis {
        Analysis::Uniaxial { confined, .. } => {
            let (strain, load) = (difference(axis), force[axis]);
            (if confined { "confined modulus" } else { "modulus" }, strain, load, load / area / strain)
        }
        Analysis::Shear { direction, .. } => {
            let (strain, load) = (difference(usize::from(direction)), force[usize::from(direction)]);
            ("shear modulus", strain, load, load / area / strain)
        }
        Analysis::Bending { about, .. } => {
            let about = usize::from(about);
            let curvature = (turn(&high, about, &[axis]) - turn(&low, about, &[axis])) / length;
            let load = moment()[about];
            ("bending stiffness", curvature, load, load / curvature)
        }
        _ => {
            let plane = [(axis + 1) % 3, (axis + 2) % 3];
            let twist = (turn(&high, axis, &plane) - turn(&low, axis, &plane)) / length;
            let load = moment()[axis];
            ("torsional stiffness", twist, load, load / twist)
        }
    };
    Some(Apparent { kind, strain, load, area, length, value })
}

/// Counts in classes of equal width up to the largest value.
fn histogram(mut values: Vec<f32>, bins: u32) -> Histogram {
    let maximum = f64::from(values.iter().copied().fold(0.0_f32, f32::max));
    let mut counts = vec![0_u64; bins.max(1) as usize];
    let last = counts.len() - 1;
    let mut sum = 0.0;
    for &value in &values {
        sum += f64::from(value);
        let class = if maximum > 0.0 { f64::from(value) / maximum * (last + 1) as f64 } else { 0.0 };
        counts[(class as usize).min(last)] += 1;
    }
    let n = values.len();
    let middle = n / 2;
    let median = if n > 0 { f64::from(*values.select_nth_unstable_by(middle, f32::total_cmp).1) } else { 0.0 };
    Histogram { maximum, mean: sum / n.max(1) as f64, median, counts }
}

/// Pistoia et al. (Bone 30, 2002): failure when `share` of the volume passes the effective strain `strain`.
fn failure(effective: &[f32], share: f64, strain: f64, load: [f64; 3]) -> Failure {
    let mut sorted = effective.to_vec();
    let n = sorted.len();
    let above = ((share * n as f64).round() as usize).clamp(1, n.max(1));
    let passed = match n {
        0 => 0.0,
        n => f64::from(*sorted.select_nth_unstable_by(n - above, f32::total_cmp).1),
    };
    let factor = strain / passed;
    Failure { volume: share, strain, strain_passed: passed, factor, load: load.map(|f| f * factor) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_that_fails_is_counted_from_the_top() {
        let values: Vec<f32> = (1..=100).map(|n| n as f32 * 1e-4).collect();
        let failure = failure(&values, 0.02, 0.007, [0.0, 0.0, -10.0]);
        assert!((failure.strain_passed - 99e-4).abs() < 1e-9);
        assert!((failure.load[2] + 10.0 * 0.007 / 99e-4).abs() < 1e-5);
        let histogram = histogram(values, 10);
        assert_eq!(histogram.counts.iter().sum::<u64>(), 100);
        assert!((histogram.mean - 50.5e-4).abs() < 1e-9);
        assert!((histogram.maximum - 1e-2).abs() < 1e-9);
    }
}
