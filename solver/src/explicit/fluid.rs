//! Fluids: what is written of them, and their energies.
//!
//! A node of a fluid has one unknown q, minus the integral of its pressure over time, in the first component of its displacement:
//! p = −dq/dt. The state holds it half an increment later than displacements, q at t_n + Δt/2, so that p_n = −Δq_n/Δt.

use std::collections::BTreeMap;

use pogo_formats::explicit::Setup;
use pogo_formats::mesh::MeshView;
use pogo_kernels::dynamics::State;
use pogo_kernels::explicit::WetPair;
use pogo_kernels::explicit::elements::positions;

use super::faces;
use super::matter::Matter;
use crate::call::Call;
use crate::error::SolveError;

/// Refuses files that hold no pressures.
///
/// # Errors
/// Files of P. Huthwaite's Pogo are asked for.
pub(super) fn check_call(mesh: &MeshView<'_>, call: &Call<'_>) -> Result<(), SolveError> {
    if mesh.has_fluid() && call.settings.pogo_files.is_some() {
        return Err(call.refuse("--pogo-files: files of P. Huthwaite's Pogo hold no pressures of fluids; leave it out"));
    }
    Ok(())
}

/// What `values` of nodes, (n_nodes × dimension,), are without fluids, whose nodes have none of them.
pub(super) fn without_fluid(matter: &Matter, dimension: usize, values: &[f64]) -> Option<Vec<f64>> {
    if matter.fluid.is_empty() {
        return None;
    }
    let rows = values.chunks_exact(dimension).zip(&matter.fluid);
    Some(rows.flat_map(|(row, &fluid)| row.iter().map(move |&value| if fluid { 0.0 } else { value })).collect())
}

/// p_n at nodes of fluids, Pa, and 0 at those of solids, (n_nodes,).
pub(super) fn pressure(matter: &Matter, dimension: usize, dt: f64, state: &State) -> Vec<f64> {
    let p = |(node, row): (usize, &[f64])| if matter.is_fluid(node) { -row[0] / dt } else { 0.0 };
    state.increment.chunks_exact(dimension).enumerate().map(p).collect()
}

/// What makes the speed of a solid and the pressure of a fluid a density of momentum, (n_nodes,), or empty without fluids: ρ, kg/m³,
/// at nodes of solids, and 1/c, s/m, at those of fluids.
pub(super) fn momentum_factors(mesh: &MeshView<'_>, setup: &Setup) -> Vec<f64> {
    let mut factors = vec![0.0; if mesh.has_fluid() { mesh.n_nodes() } else { 0 }];
    for group in mesh.groups.iter().filter(|_| mesh.has_fluid()) {
        for (nodes, &section) in group.connectivity.chunks_exact(group.kind.n_nodes()).zip(group.section) {
            let material = &setup.materials[setup.sections[section as usize].material as usize];
            let density = material.density;
            let factor = material.elasticity.bulk().map_or(density, |bulk| (density / bulk).sqrt());
            nodes.iter().for_each(|&node| factors[node as usize] = factor);
        }
    }
    factors
}

/// The pairs of nodes at which fluids and solids touch, with the part of the surface that belongs to each, by solver index.
pub(super) fn wet_pairs(mesh: &MeshView<'_>, setup: &Setup) -> Vec<WetPair> {
    let interface = &setup.interface;
    let mut areas: BTreeMap<(u32, u32), [f64; 3]> = BTreeMap::new();
    for ((fluid, solid), &element) in interface.fluid.iter().zip(&interface.solid).zip(&interface.elements) {
        let n = fluid.iter().take_while(|&&node| node != u32::MAX).count();
        let Some((group, at)) = mesh.group_of(element as usize) else { continue };
        let nodes = group.connectivity.chunks_exact(group.kind.n_nodes()).nth(at).unwrap_or_default();
        let thickness = setup.sections[group.section[at] as usize].thickness;
        let [face, body] = [&fluid[..n], nodes].map(|nodes| positions(mesh, nodes));
        let weights = faces::weights(&face[..n], mesh.dimension, thickness);
        let outward = faces::subtract(faces::centre(&face[..n]), faces::centre(&body[..nodes.len()]));
        let normal = faces::sum(weights.iter().map(|(normal, _)| normal));
        let sign = if faces::dot(normal, outward) < 0.0 { -1.0 } else { 1.0 };
        for ((&fluid, &solid), (normal, _)) in fluid.iter().zip(solid).zip(&weights) {
            let area = areas.entry((fluid, solid)).or_default();
            area.iter_mut().zip(normal).for_each(|(sum, part)| *sum += sign * part);
        }
    }
    areas.into_iter().map(|((fluid, solid), area)| WetPair { fluid, solid, area }).collect()
}

/// A bound of A²/mM, 1/s², over all pairs: the product of the largest sums of |A|/√(mM) over those of a fluid's and of a solid's node.
pub(super) fn frequency_of_pairs(wet: &[WetPair], lumped_mass: &[f64]) -> f64 {
    let (mut of_fluids, mut of_solids) = (BTreeMap::new(), BTreeMap::new());
    for pair in wet {
        let masses = lumped_mass[pair.fluid as usize] * lumped_mass[pair.solid as usize];
        let rate = faces::dot(pair.area, pair.area).sqrt() / masses.sqrt();
        *of_fluids.entry(pair.fluid).or_insert(0.0) += rate;
        *of_solids.entry(pair.solid).or_insert(0.0) += rate;
    }
    let largest = |rates: BTreeMap<u32, f64>| rates.into_values().fold(0.0, f64::max);
    largest(of_fluids) * largest(of_solids)
}

/// What stands at one time less of the discrete energy where fluids and solids touch, ½ Σ A · Δu_n p_n, J: the energies of both
/// are those of t_n − Δt/2, but for the work of the last half increment.
pub(super) fn energy_between(wet: &[WetPair], dimension: usize, dt: f64, state: &State) -> f64 {
    let work = |pair: &WetPair| {
        let du = &state.increment[pair.solid as usize * dimension..][..dimension];
        let p = -state.increment[pair.fluid as usize * dimension] / dt;
        0.5 * p * du.iter().zip(pair.area).map(|(du, area)| du * area).sum::<f64>()
    };
    wet.iter().map(work).sum()
}
