//! Numbers that no consistent system of units gives, or that overflow before the first step.

use super::Findings;
use super::shape::volumes;
use crate::explicit::Material;
use crate::read::deck::Deck;
use crate::system::parallel::iterate::*;

/// Speeds of waves: from 10 m/s in SI units to 30 km/s in mm, tonne, s.
const SPEEDS: [f64; 2] = [10., 3e7];
/// Densities: from a light foam in tonne/mm³ to more than osmium in kg/m³.
const DENSITIES: [f64; 2] = [1e-14, 1e5];
/// Most materials that are named.
const MOST: usize = 4;

/// One warning for all materials whose density or speed of waves no common system of units gives, and errors where masses or
/// increments are not finite or vanish.
pub(super) fn check(deck: &Deck, materials: &[Material], findings: &mut Findings) {
    let is_within = |[low, high]: [f64; 2], value: f64| value >= low && value <= high;
    let mut odd = Vec::new();
    for (at, material) in materials.iter().enumerate() {
        let is_used = deck.sections.iter().any(|section| section.material as usize == at);
        let (density, Some(speed)) = (material.density, speed(material)) else { continue };
        if is_used && !(is_within(SPEEDS, speed) && is_within(DENSITIES, density)) {
            odd.push(format!("`{}` (density {density:.3e}, speed of waves {speed:.3e})", material.name));
        }
    }
    if !odd.is_empty() {
        let more = match odd.len().saturating_sub(MOST) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        odd.truncate(MOST);
        findings.warning(format!(
            "no common system of units gives waves of 10 m/s to 30 km/s and such a density: {}{more}; SI is m, kg, s, Pa; with mm \
             it is tonne, s, MPa",
            odd.join(", ")
        ));
    }
    overflow(deck, materials, findings);
}

/// √(D/ρ) of the largest normal stiffness; none without a stiffness.
fn speed(material: &Material) -> Option<f64> {
    let d = material.elasticity.matrix()?;
    Some((d[0].max(d[7]).max(d[14]) / material.density).sqrt())
}

/// Masses, stiffnesses and times that single precision cannot hold, nor their inverses.
fn overflow(deck: &Deck, materials: &[Material], findings: &mut Findings) {
    let dimension = deck.mesh.dimension as usize;
    // By section: least and largest volume of its elements.
    let none = || vec![[f64::INFINITY, 0.]; deck.sections.len()];
    let mut ranges = none();
    let join = |ranges: &mut Vec<[f64; 2]>, section: usize, [low, high]: [f64; 2]| {
        if let Some([least, most]) = ranges.get_mut(section) {
            (*least, *most) = (low.min(*least), high.max(*most));
        }
    };
    for group in &deck.mesh.groups {
        let volumes = volumes(group.kind, dimension, &deck.mesh.coordinates, &group.connectivity);
        let of_parts = volumes.zip(&group.section).fold(none, |mut ranges, (volume, section)| {
            join(&mut ranges, *section as usize, [volume; 2]);
            ranges
        });
        for part in of_parts.collect::<Vec<_>>() {
            part.into_iter().enumerate().for_each(|(section, range)| join(&mut ranges, section, range));
        }
    }
    let is_held = |value: f64| (value as f32).is_normal() && ((1. / value) as f32).is_normal();
    for (section, range) in deck.sections.iter().zip(ranges).filter(|(_, range)| range[1] > 0.) {
        let Some(material) = materials.get(section.material as usize) else { continue };
        let Some(speed) = speed(material) else { continue };
        let thickness = if dimension == 2 { section.thickness } else { 1. };
        let density = material.density * section.mass_factor;
        let quantities = range.map(|volume| {
            let width = volume.powf(1. / dimension.max(1) as f64);
            let (mass, time) = (density * thickness * volume, width / speed);
            [("mass", mass), ("time", time), ("stiffness", mass / (time * time))]
        });
        if let Some((what, value)) = quantities.into_iter().flatten().find(|(_, value)| !is_held(*value)) {
            let text = "single precision cannot hold it; check the units";
            findings.error(format!("section `{}`: an element has the {what} {value:.3e}: {text}", section.name));
        }
    }
}
