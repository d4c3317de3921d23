//! Materials, orientations, and the sections that give both to elements.

use super::layout::{Layout, Parameters};
use super::shape::Users;
use super::{Findings, Found, ShearOrder};
use crate::material::{Elasticity, Section};
use crate::mesh::NamedSet;
use crate::read::deck::frame::{IDENTITY, axes, product, rotation_about};
use crate::read::deck::{Deck, DeckMaterial, ReadOptions};
use crate::words::counted;

/// Number of constants before ρ and α, by type.
const CONSTANTS: [usize; 4] = [2, 9, 21, 9];

/// `material 3`, or `material 4 (parent 3)`, from 1.
pub(super) fn names(materials: &[Parameters]) -> Vec<String> {
    let name = |(number, material): (usize, &Parameters)| match material.parent {
        -1 => format!("material {number}"),
        parent => format!("material {number} (parent {})", i64::from(parent) + 1),
    };
    (1..).zip(materials).map(name).collect()
}

/// Gives the deck its materials and sections. `users` are the materials and orientations of sections.
///
/// # Errors
/// Parents that are not there.
pub(super) fn read(
    layout: &Layout,
    users: Users,
    options: &ReadOptions,
    deck: &mut Deck,
    findings: &mut Findings,
) -> Found<()> {
    let mut is_used = vec![false; layout.materials.len()];
    users.iter().for_each(|&(material, _)| is_used[material as usize] = true);
    let mut swapped = 0;
    for ((material, name), is_used) in layout.materials.iter().zip(names(&layout.materials)).zip(is_used) {
        if material.parent < -1 || i64::from(material.parent) >= layout.materials.len() as i64 {
            let Parameters { parent, at, .. } = material;
            return Err(format!(
                "{name}: there is no material {parent}, counted from 0 (byte {at}): the file is damaged"
            ));
        }
        let is_of_job = options.job_materials.iter().any(|other| other.eq_ignore_ascii_case(&name));
        let found = one(&name, material, options.pogo.shear_order);
        let (density, elasticity, damping_alpha) = match found {
            Ok((density, elasticity, alpha)) => {
                swapped += usize::from(is_used && reordered(&elasticity).matrix() != elasticity.matrix());
                (Some(density), Some(elasticity), alpha)
            }
            Err(text) => {
                if is_used && !is_of_job {
                    findings.error(format!("{name}: {text}"));
                }
                (None, None, 0.0)
            }
        };
        let file = findings.file.clone();
        let damping_beta = 0.0;
        let attenuation = Default::default();
        deck.materials.push(DeckMaterial {
            name,
            file,
            line: 0,
            density,
            elasticity,
            damping_alpha,
            damping_beta,
            attenuation,
        });
    }
    if swapped > 0 {
        let (order, other) = match options.pogo.shear_order {
            ShearOrder::Abaqus => ("11 22 33 12 13 23 (Abaqus')", "voigt"),
            ShearOrder::Voigt => ("11 22 33 23 13 12 (Voigt's)", "abaqus"),
        };
        let materials = counted(swapped, "anisotropic material");
        findings.note(format!(
            "constants of {materials} are taken in the order {order}; --pogo-shear-order {other} changes it"
        ));
    }
    sections(layout, &users, options, deck, findings);
    Ok(())
}

/// ρ, the elasticity and α of a material, or why it is not computed.
fn one(name: &str, material: &Parameters, order: ShearOrder) -> Result<(f64, Elasticity, f64), String> {
    let Parameters { kind, values, at, .. } = material;
    let Some(&n) = usize::try_from(*kind).ok().and_then(|kind| CONSTANTS.get(kind)) else {
        let what = match kind {
            4 => "an acoustic fluid",
            5 => "a displacement-based fluid",
            6 => "isotropic with viscosity",
            _ => "unknown",
        };
        return Err(format!(
            "type {kind} (byte {at}, {what}) is not computed: give a [[material]] named \"{name}\" in a job"
        ));
    };
    if values.len() != n + 1 && values.len() != n + 2 {
        let (found, least, most) = (counted(values.len(), "value"), n + 1, n + 2);
        return Err(format!("type {kind} has {found} (byte {at}), not {least} or {most}: the file is damaged"));
    }
    let (density, alpha) = (values[n], values.get(n + 1).copied().unwrap_or(0.0));
    if !(density > 0.0 && density.is_finite()) {
        return Err(format!("its density is {density} kg/m³ (byte {at}): a positive one is needed"));
    }
    if !(alpha >= 0.0 && alpha.is_finite()) {
        return Err(format!(
            "its damping α is {alpha} 1/s (byte {at}), which feeds energy in: it must not be negative"
        ));
    }
    let given = match *kind {
        0 => Elasticity::Isotropic { young: values[0], poisson: values[1] },
        1 => Elasticity::Orthotropic(first(values)),
        2 => Elasticity::Anisotropic(first(values)),
        _ => Elasticity::EngineeringConstants(first(values)),
    };
    let elasticity = if order == ShearOrder::Voigt { reordered(&given) } else { given };
    match elasticity.matrix() {
        Some(_) => Ok((density, elasticity, alpha)),
        None => Err(format!("its stiffness (byte {at}) is not positive definite: it would create energy")),
    }
}

fn first<const N: usize>(values: &[f64]) -> [f64; N] {
    std::array::from_fn(|at| values[at])
}

/// The same constants where the shear components stand in the other order: 12 and 23 change places.
fn reordered(elasticity: &Elasticity) -> Elasticity {
    const PLACE: [usize; 6] = [0, 1, 2, 5, 4, 3];
    // Place of row and column in the upper triangle by columns.
    let at = |row: usize, column: usize| {
        let (low, high) = (row.min(column), row.max(column));
        high * (high + 1) / 2 + low
    };
    let last_three = |mut values: [f64; 9]| {
        values.swap(6, 8);
        values
    };
    match elasticity {
        Elasticity::Isotropic { .. } | Elasticity::Fluid { .. } => elasticity.clone(),
        Elasticity::EngineeringConstants(values) => Elasticity::EngineeringConstants(last_three(*values)),
        Elasticity::Orthotropic(values) => Elasticity::Orthotropic(last_three(*values)),
        Elasticity::Anisotropic(values) => {
            let mut other = *values;
            for column in 0..6 {
                for row in 0..=column {
                    other[at(row, column)] = values[at(PLACE[row], PLACE[column])];
                }
            }
            Elasticity::Anisotropic(other)
        }
    }
}

/// A section and an element set for each material, or each pair of a material and an orientation.
fn sections(layout: &Layout, users: &[(u32, i32)], options: &ReadOptions, deck: &mut Deck, findings: &mut Findings) {
    let mut unknown = 0;
    let mut leaves_out = None;
    for &(material, orientation) in users {
        let name = deck.materials[material as usize].name.clone();
        let is_isotropic =
            matches!(deck.materials[material as usize].elasticity, Some(Elasticity::Isotropic { .. }) | None);
        let values = usize::try_from(orientation).ok().map(|index| &layout.orientations[index]);
        let (name, material_from_global) = match values {
            None => (name, IDENTITY),
            Some(values) => {
                let name = format!("{name}, orientation {}", orientation + 1);
                let rotation = match (is_isotropic, options.pogo.abaqus_orientations) {
                    (true, _) => Ok(IDENTITY),
                    (false, true) => rotation(values),
                    (false, false) => {
                        let what = "orientations of anisotropic materials";
                        let ignored = *leaves_out.get_or_insert_with(|| findings.ignores("ORIENTATIONS", what));
                        unknown += usize::from(!ignored);
                        Ok(IDENTITY)
                    }
                };
                (
                    name,
                    rotation.unwrap_or_else(|text| {
                        findings.error(format!("orientation {}: {text}", orientation + 1));
                        IDENTITY
                    }),
                )
            }
        };
        deck.sections.push(Section { material_from_global, ..Section::new(name, material) });
    }
    if unknown > 0 {
        findings.error(
            "anisotropic materials have orientations, whose meaning is not public: rotate the constants of the materials; \
             --pogo-orientations abaqus takes the values as those of *ORIENTATION, and --ignore ORIENTATIONS leaves them out",
        );
    }
    element_sets(deck);
}

/// The rotation of *ORIENTATION: a, b, and perhaps an axis with an angle in degrees.
fn rotation(orientation: &Parameters) -> Result<[f64; 9], String> {
    let Parameters { values, at, .. } = orientation;
    let (vectors, turn) = match values.as_slice() {
        [vectors @ .., axis, angle] if vectors.len() == 6 => (vectors, Some((*axis, *angle))),
        vectors if vectors.len() == 6 => (vectors, None),
        _ => return Err(format!("it has {} (byte {at}), not 6 or 8", counted(values.len(), "value"))),
    };
    let frame =
        axes(first(&vectors[..3]), first(&vectors[3..])).ok_or("its vectors a and b are parallel or have no length")?;
    let Some((axis, degrees)) = turn else { return Ok(frame) };
    let unit = match axis {
        1.0 => [1.0, 0.0, 0.0],
        2.0 => [0.0, 1.0, 0.0],
        3.0 => [0.0, 0.0, 1.0],
        _ => return Err(format!("its axis is {axis} (byte {at}), not 1, 2 or 3")),
    };
    if !degrees.is_finite() {
        return Err(format!("its angle is {degrees} (byte {at})"));
    }
    // The rows turn with the material.
    Ok(product(&rotation_about(unit, -degrees), &frame))
}

/// The elements of each section, as a set of its name.
fn element_sets(deck: &mut Deck) {
    let mut members = vec![Vec::new(); deck.sections.len()];
    let sections = deck.mesh.groups.iter().flat_map(|group| &group.section);
    (0..).zip(sections).for_each(|(element, &section)| members[section as usize].push(element));
    let sets = deck.sections.iter().zip(members);
    deck.mesh.element_sets = sets.map(|(section, members)| NamedSet { name: section.name.clone(), members }).collect();
}
