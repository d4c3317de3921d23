//! Fluids: what is written of them, and their energies.
//!
//! A node of a fluid has one unknown q, minus the integral of its pressure over time, in the first component of its displacement:
//! p = −dq/dt. The state holds it half an increment later than displacements, q at t_n + Δt/2, so that p_n = −Δq_n/Δt.

use std::collections::{BTreeMap, HashSet};

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

/// Where fluids and solids touch, by solver index.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Touching {
    /// Pairs of nodes at one place, with the part of the surface that belongs to each: one pair a node.
    pub wet: Vec<WetPair>,
    /// Pairs with a node at a tie: any number of pairs a node.
    pub tied: Vec<WetPair>,
}

impl Touching {
    /// All pairs of a model.
    pub fn new(mesh: &MeshView<'_>, setup: &Setup) -> Self {
        let (interface, ties) = (&setup.interface, &setup.interface.ties);
        let mut areas = Areas::default();
        for ((fluid, solid), &element) in interface.fluid.iter().zip(&interface.solid).zip(&interface.elements) {
            let of_corners = corner_areas(mesh, setup, fluid, element);
            for ((&fluid, &solid), area) in fluid.iter().zip(solid).zip(of_corners) {
                add(&mut areas, (fluid, solid), 1.0, area);
            }
        }
        let of_faces = ties.faces.iter().zip(&ties.elements);
        let of_faces: Vec<_> = of_faces.map(|(face, &element)| corner_areas(mesh, setup, face, element)).collect();
        for share in &ties.shares {
            let (face, corner) = (share.face as usize, share.corner as usize);
            let Some(&area) = of_faces[face].get(corner) else { continue };
            add(&mut areas, (ties.faces[face][corner], share.solid), share.weight, area);
        }
        let is_tied: HashSet<u32> = ties.nodes().collect();
        let pairs = areas.into_iter().map(|((fluid, solid), area)| WetPair { fluid, solid, area });
        let (tied, wet) = pairs.partition(|pair| is_tied.contains(&pair.fluid) || is_tied.contains(&pair.solid));
        Self { wet, tied }
    }

    /// Whether no fluid touches a solid.
    pub fn is_empty(&self) -> bool {
        self.wet.is_empty() && self.tied.is_empty()
    }

    /// All pairs.
    pub fn pairs(&self) -> impl Iterator<Item = &WetPair> {
        self.wet.iter().chain(&self.tied)
    }
}

/// Areas of pairs of nodes of a fluid and a solid, m².
type Areas = BTreeMap<(u32, u32), [f64; 3]>;

fn add(areas: &mut Areas, pair: (u32, u32), weight: f64, area: [f64; 3]) {
    areas.entry(pair).or_default().iter_mut().zip(area).for_each(|(sum, part)| *sum += weight * part);
}

/// ∫ N n dS of each corner of a face of a fluid, m², n out of its element.
fn corner_areas(mesh: &MeshView<'_>, setup: &Setup, face: &[u32; 4], element: u32) -> Vec<[f64; 3]> {
    let n = face.iter().take_while(|&&node| node != u32::MAX).count();
    let Some((group, at)) = mesh.group_of(element as usize) else { return Vec::new() };
    let nodes = group.connectivity.chunks_exact(group.kind.n_nodes()).nth(at).unwrap_or_default();
    let thickness = setup.sections[group.section[at] as usize].thickness;
    let [face, body] = [&face[..n], nodes].map(|nodes| positions(mesh, nodes));
    let weights = faces::weights(&face[..n], mesh.dimension, thickness);
    let outward = faces::subtract(faces::centre(&face[..n]), faces::centre(&body[..nodes.len()]));
    let normal = faces::sum(weights.iter().map(|(normal, _)| normal));
    let sign = if faces::dot(normal, outward) < 0.0 { -1.0 } else { 1.0 };
    weights.iter().map(|(normal, _)| normal.map(|part| sign * part)).collect()
}

/// A bound of the square of the largest singular value of the matrix |A|/√(mM) over all pairs, 1/s²: the product of its largest sums
/// over the pairs of a fluid's node and over those of a solid's node. Where each node is in one pair, that is the largest A²/mM.
pub(super) fn frequency_of_pairs(touching: &Touching, lumped_mass: &[f64]) -> f64 {
    let (mut of_fluids, mut of_solids) = (BTreeMap::new(), BTreeMap::new());
    for pair in touching.pairs() {
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
pub(super) fn energy_between(touching: &Touching, dimension: usize, dt: f64, state: &State) -> f64 {
    let work = |pair: &WetPair| {
        let du = &state.increment[pair.solid as usize * dimension..][..dimension];
        let p = -state.increment[pair.fluid as usize * dimension] / dt;
        0.5 * p * du.iter().zip(pair.area).map(|(du, area)| du * area).sum::<f64>()
    };
    touching.pairs().map(work).sum()
}
