//! Elements of one material: sections, and what absorbing layers make of them.

use std::collections::HashMap;

use pogo_formats::explicit::{Elasticity, Material, Setup};
use pogo_formats::mesh::Mesh;

/// Elements that have the same section, the same added damping and the same factor on their stiffness.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Region {
    /// Index of the section.
    pub section: u32,
    /// α that absorbing layers add, 1/s.
    pub alpha: f64,
    /// Factor of absorbing layers on the stiffness.
    pub factor: f64,
}

/// All regions: first one for each section, then those of absorbing layers.
#[derive(Debug)]
pub struct Regions {
    pub all: Vec<Region>,
    /// Index of the region of each element.
    pub of_element: Vec<u32>,
}

impl Regions {
    /// Where layers overlap, their damping rates add up and their factors multiply, as when a model is solved.
    pub fn new(mesh: &Mesh, setup: &Setup) -> Self {
        let sections = || mesh.groups.iter().flat_map(|group| &group.section);
        let mut of_element: Vec<Region> =
            sections().map(|&section| Region { section, alpha: 0.0, factor: 1.0 }).collect();
        for layer in &setup.absorbing_layers {
            for (&element, &depth) in layer.elements.iter().zip(&layer.depth_fraction) {
                let (alpha, factor) = layer.profile.at(depth);
                let region = &mut of_element[element as usize];
                region.alpha += alpha;
                region.factor *= factor;
            }
        }
        let n_sections = setup.sections.len() as u32;
        let mut all: Vec<Region> = (0..n_sections).map(|section| Region { section, alpha: 0.0, factor: 1.0 }).collect();
        let key = |region: &Region| (region.section, region.alpha.to_bits(), region.factor.to_bits());
        let mut index: HashMap<_, u32> = all.iter().map(key).zip(0..).collect();
        let mut number = |region: Region| {
            *index.entry(key(&region)).or_insert_with(|| {
                all.push(region);
                all.len() as u32 - 1
            })
        };
        let of_element = of_element.into_iter().map(&mut number).collect();
        Self { all, of_element }
    }

    /// Whether a region is that of an absorbing layer.
    pub fn is_layer(region: &Region) -> bool {
        region.alpha != 0.0 || region.factor != 1.0
    }
}

/// The material of a region, in the axes of its section's material.
pub fn material(setup: &Setup, region: &Region) -> Material {
    let section = &setup.sections[region.section as usize];
    let material = &setup.materials[section.material as usize];
    let mut material = material.clone();
    material.damping_alpha += region.alpha;
    material.elasticity = scaled(&material.elasticity, region.factor);
    material
}

/// The law with all stiffnesses multiplied by a factor.
pub fn scaled(elasticity: &Elasticity, factor: f64) -> Elasticity {
    match *elasticity {
        Elasticity::Isotropic { young, poisson } => Elasticity::Isotropic { young: factor * young, poisson },
        Elasticity::EngineeringConstants([e1, e2, e3, nu12, nu13, nu23, g12, g13, g23]) => {
            let [e1, e2, e3, g12, g13, g23] = [e1, e2, e3, g12, g13, g23].map(|modulus| factor * modulus);
            Elasticity::EngineeringConstants([e1, e2, e3, nu12, nu13, nu23, g12, g13, g23])
        }
        Elasticity::Orthotropic(constants) => Elasticity::Orthotropic(constants.map(|constant| factor * constant)),
        Elasticity::Anisotropic(constants) => Elasticity::Anisotropic(constants.map(|constant| factor * constant)),
        Elasticity::Fluid { bulk } => Elasticity::Fluid { bulk: factor * bulk },
    }
}

/// The 21 stiffnesses in global axes, Pa, in Abaqus's order; none for a material that gives energy away. `axes` has the
/// material's axes in global components as rows.
pub fn global_stiffness(elasticity: &Elasticity, axes: &[f64; 9]) -> Option<[f64; 21]> {
    const PAIRS: [[usize; 2]; 6] = [[0, 0], [1, 1], [2, 2], [0, 1], [0, 2], [1, 2]];
    let local = elasticity.matrix()?;
    // σ_global = T σ_local with engineering strains ε_local = Tᵀ ε_global, so D_global = T D_local Tᵀ.
    let t = |global: usize, local: usize| {
        let ([i, j], [k, l]) = (PAIRS[global], PAIRS[local]);
        let r = |row: usize, column: usize| axes[3 * row + column];
        if k == l { r(k, i) * r(l, j) } else { r(k, i) * r(l, j) + r(l, i) * r(k, j) }
    };
    let is_plain = *axes == [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
    let entry = |row: usize, column: usize| -> f64 {
        if is_plain {
            return local[6 * row + column];
        }
        (0..6).map(|p| (0..6).map(|q| t(row, p) * local[6 * p + q] * t(column, q)).sum::<f64>()).sum()
    };
    let mut constants = [0.0; 21];
    let places = (0..6).flat_map(|column| (0..=column).map(move |row| (row, column)));
    for (constant, (row, column)) in constants.iter_mut().zip(places) {
        *constant = entry(row, column);
    }
    Some(constants)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The plane waves of a crystal do not depend on the axes that its stiffness is written in.
    #[test]
    fn turned_stiffness_has_the_waves_of_the_crystal() {
        let law = Elasticity::EngineeringConstants([150e9, 90e9, 60e9, 0.28, 0.31, 0.35, 40e9, 30e9, 20e9]);
        let (c, s) = (0.6, 0.8);
        let about_z = [c, s, 0.0, -s, c, 0.0, 0.0, 0.0, 1.0];
        let about_x = [1.0, 0.0, 0.0, 0.0, c, s, 0.0, -s, c];
        let mut axes = [0.0; 9];
        for row in 0..3 {
            for column in 0..3 {
                axes[3 * row + column] = (0..3).map(|k| about_x[3 * row + k] * about_z[3 * k + column]).sum();
            }
        }
        let material = |elasticity| Material::new("m", 2000.0, elasticity);
        let turned = material(Elasticity::Anisotropic(global_stiffness(&law, &axes).unwrap()));
        let local = material(law);
        for direction in [[1.0, 0.0, 0.0], [0.0, 0.6, 0.8], [0.48, 0.6, 0.64]] {
            let mut in_crystal = [0.0; 3];
            for (row, value) in in_crystal.iter_mut().enumerate() {
                *value = (0..3).map(|k| axes[3 * row + k] * direction[k]).sum();
            }
            let (found, expected) = (turned.wave_speeds(direction).unwrap(), local.wave_speeds(in_crystal).unwrap());
            for (found, expected) in found.iter().zip(expected) {
                assert!((found - expected).abs() < 1e-9 * expected, "{found} {expected}");
            }
        }
    }
}
