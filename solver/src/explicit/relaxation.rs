//! Relaxation mechanisms of a model: from the attenuation of its materials to what the kernels step.

use pogo_formats::explicit::{Relaxation as Setting, Setup};
use pogo_formats::mesh::MeshView;
use pogo_formats::relaxation::Fit;
use pogo_kernels::device::DeviceError;
use pogo_kernels::dynamics::State;
use pogo_kernels::explicit::elements::{ElementError, ElementFields, element_fields, energy_density};
use pogo_kernels::explicit::{ElementStepper, Relaxation};

use super::matter::{Matter, MatterError};
use crate::observe::Observer;

/// The mechanisms of all sections, and C_U/C of each, (n_sections,), which is 1 without attenuation.
///
/// # Errors
/// Attenuation that cannot be met.
pub(super) fn mechanisms(setup: &Setup) -> Result<(Relaxation, Vec<f64>), MatterError> {
    let mut fits = Vec::with_capacity(setup.sections.len());
    for section in &setup.sections {
        let material = &setup.materials[section.material as usize];
        let refused = |reason| MatterError::Attenuation { material: material.name.clone(), reason };
        fits.push(setup.relaxation_of(material).map_err(refused)?);
    }
    let unrelaxed = fits.iter().map(|fit| fit.as_ref().map_or(1.0, |fit| fit.unrelaxed)).collect();
    let mut relaxation = Relaxation::default();
    if let (Some(setting), true) = (&setup.relaxation, fits.iter().any(Option::is_some)) {
        relaxation.rates = setting.rates();
        relaxation.strengths = fits.iter().map(|fit| fit.as_ref().map_or([0.0; 3], |fit| fit.strengths)).collect();
    }
    Ok((relaxation, unrelaxed))
}

/// What is to be said of the mechanisms of each material that a section uses.
fn fits(setup: &Setup) -> impl Iterator<Item = (&str, &Setting, Fit)> {
    let is_used = |at: usize| setup.sections.iter().any(|section| section.material as usize == at);
    let used = setup.materials.iter().enumerate().filter(move |(at, _)| is_used(*at));
    used.filter_map(|(_, material)| {
        let fit = setup.relaxation_of(material).ok().flatten()?;
        Some((material.name.as_str(), setup.relaxation.as_ref()?, fit))
    })
}

/// Warnings of materials that miss their Q by more than is good.
pub(super) fn warnings(setup: &Setup) -> Vec<String> {
    let rough = fits(setup).filter(|(_, _, fit)| fit.is_rough());
    rough.map(|(material, setting, fit)| fit.words(material, setting)).collect()
}

/// Notes how well each material meets its target.
pub(super) fn note_fits(setup: &Setup, observer: &mut dyn Observer) {
    for (material, setting, fit) in fits(setup).filter(|(_, _, fit)| !fit.is_rough()) {
        observer.note(&format!("note: {}", fit.words(material, setting)));
    }
}

/// u at t_{n−½}, and each z_l there, of second order: z_n − Δt/2 dz_l/dt.
fn between<'a>(
    matter: &'a Matter,
    time_increment: f64,
    state: &'a State,
) -> (Vec<f64>, impl Iterator<Item = Vec<f64>> + 'a) {
    let State { displacement, increment, memory, .. } = state;
    let u = displacement.iter().zip(increment).map(|(u, du)| u - 0.5 * du).collect();
    let mechanisms = matter.relaxation.rates.iter().zip(memory.chunks_exact(displacement.len().max(1)));
    let z = mechanisms.map(move |(rate, z)| {
        let half = 0.5 * time_increment * rate;
        z.iter().zip(displacement).map(|(z, u)| z - half * (u - z)).collect()
    });
    (u, z)
}

/// What relaxation takes of the strain energy ½ u·K u, times −2, J: the free energy of the mechanisms is
/// ½ u·K u + Σ_l (½ z_l·K_l z_l − u·K_l z_l), K_l = Σ_e Y_l K_e. z_l and u are those of t_{n−½}.
///
/// # Errors
/// The device is lost.
pub(super) fn free_energy(
    stepper: &mut dyn ElementStepper,
    matter: &Matter,
    time_increment: f64,
    state: &State,
) -> Result<f64, DeviceError> {
    let n = state.displacement.len();
    let nothing = vec![0.0; n];
    let (u, mechanisms) = between(matter, time_increment, state);
    let mut sum = 0.0;
    for (mechanism, z) in mechanisms.enumerate() {
        let mut memory = vec![0.0; state.memory.len()];
        memory[mechanism * n..(mechanism + 1) * n].copy_from_slice(&z);
        // −K_l z_l.
        let force = stepper.viscous_force([&nothing, &nothing, &memory])?;
        sum += force.iter().zip(u.iter().zip(&z)).map(|(force, (u, z))| (2.0 * u - z) * force).sum::<f64>();
    }
    Ok(sum)
}

/// The same at t = 0, halved, where all z_l are 0: their rate is ω_l u_0. `forces` are −K_l u_0 of each mechanism.
pub(super) fn energy_of_start(
    matter: &Matter,
    time_increment: f64,
    (displacement, increment): (&[f64], &[f64]),
    forces: &[Vec<f64>],
    has_mass: impl Fn(usize) -> bool,
) -> f64 {
    let mut sum = 0.0;
    for (force, rate) in forces.iter().zip(&matter.relaxation.rates) {
        let half = 0.5 * time_increment * rate;
        for (dof, force) in force.iter().enumerate().filter(|(dof, _)| has_mass(*dof)) {
            // z_l = −half u_0 at t = −Δt/2.
            let (u, du) = (displacement[dof], increment[dof]);
            sum -= half * force * (u - 0.5 * du + 0.5 * half * u);
        }
    }
    sum
}

/// Strain, stress and energy density of all elements at a state: the stress is C_U (ε − Σ_l Y_l ζ_l).
///
/// # Errors
/// Wrong lengths or references.
pub(super) fn fields(mesh: &MeshView<'_>, matter: &Matter, state: &State) -> Result<ElementFields, ElementError> {
    let of = |displacement: &[f64]| element_fields(mesh, &matter.sections, &matter.stiffness_factor, displacement);
    let mut fields = of(&state.displacement)?;
    if matter.relaxation.is_empty() {
        return Ok(fields);
    }
    let sections: Vec<usize> =
        mesh.groups.iter().flat_map(|group| group.section).map(|&section| section as usize).collect();
    for (mechanism, z) in state.memory.chunks_exact(state.displacement.len().max(1)).enumerate() {
        let of_memory = of(z)?.stress;
        let rows = fields.stress.chunks_exact_mut(6).zip(of_memory.chunks_exact(6));
        for (&section, (stress, memory)) in sections.iter().zip(rows) {
            let strength = matter.relaxation.of_section(section)[mechanism];
            stress.iter_mut().zip(memory).for_each(|(stress, memory)| *stress -= strength * memory);
        }
    }
    let rows = fields.strain.as_chunks::<6>().0.iter().zip(fields.stress.as_chunks::<6>().0);
    fields.energy_density = rows.map(|(strain, stress)| energy_density(strain, stress)).collect();
    Ok(fields)
}
