//! What the summary of a run says of a load case.

use std::collections::BTreeMap;

use pogo_formats::system::parallel::iterate::*;
use pogo_formats::voxel::setup::{Analysis, FailureEnergy, LoadCase, NodeRegion};
use pogo_formats::voxel::summary::CaseSummary;
use pogo_formats::voxel::{VoxelMeshView, VoxelSetup};

use super::apparent::{apparent, failure, histogram};
use super::case::Conditions;
use super::results::{Reactions, Solution, centre, loaded_axis, side};

/// The faces of the specimen's box, by name: axis and whether the upper one.
const SIDES: [(&str, usize, bool); 6] = [
    ("xmin", 0, false),
    ("xmax", 0, true),
    ("ymin", 1, false),
    ("ymax", 1, true),
    ("zmin", 2, false),
    ("zmax", 2, true),
];

/// Everything about a case but how it was solved.
pub(super) fn summarise(
    solution: &Solution<'_>,
    setup: &VoxelSetup,
    case: &LoadCase,
    conditions: &Conditions,
    reactions: &Reactions,
) -> CaseSummary {
    let mesh = solution.mesh;
    let energies = solution.energies();
    let largest = |node: &[f64]| node.iter().map(|u| u * u).sum::<f64>();
    let bins = setup.output.histogram_bins;
    let failure_of = || {
        loaded_axis(setup.analysis).map(|axis| {
            let high = side(mesh, setup, axis, true);
            let load = match setup.analysis {
                Analysis::Bending { .. } | Analysis::Torsion { .. } => {
                    reactions.moment(mesh, &high, centre(mesh, setup))
                }
                _ => reactions.sum(&high),
            };
            let strains = match setup.output.failure_energy {
                FailureEnergy::Centre => &energies.central_strain,
                FailureEnergy::Mean => &energies.mean_strain,
            };
            failure(strains, &setup.output, load)
        })
    };
    // Each goes through all elements, and they wait for nothing of each other.
    let ((failure, energy_density), effective_strain) = rayon::join(
        || rayon::join(failure_of, || histogram(&energies.density, bins)),
        || histogram(&energies.mean_strain, bins),
    );
    CaseSummary {
        name: case.name.clone(),
        imbalance: imbalance(reactions, conditions),
        reaction: named_reactions(mesh, setup, case, reactions),
        strain_energy: energies.total,
        max_displacement: solution.displacement.par_chunks(3).map(largest).reduce(|| 0.0, f64::max).sqrt(),
        apparent: apparent(solution, setup, reactions),
        energy_density,
        effective_strain,
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
