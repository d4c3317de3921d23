//! Applies a TOML job to a deck.
//!
//! In two stages, as the deck is read: [`apply_to_deck`] gives materials, sections and the time to a [`Deck`], which may be a
//! bare mesh; [`apply_to_model`] adds what needs the finished mesh: the conditions, absorbing layers, relaxation and output.
//!
//! [`Deck`]: pogo_formats::read::deck::Deck

mod absorbing;
mod deck;
mod grains;
mod impedance;
mod relaxation;
mod transducer;

use pogo_formats::dynamics::{CopiedDisplacements, FieldRequest, Shot};
use pogo_formats::explicit::job::{Absorbing, ExplicitJob, Profile};
use pogo_formats::explicit::{AbsorbingLayer, Model, Setup};
use pogo_formats::job::{JobError, Located};
use pogo_formats::mesh::Mesh;
use pogo_formats::read::deck::ReadOptions;

pub use absorbing::{Layer, layer};
pub use deck::apply_to_deck;

use self::impedance::impedance;
use self::transducer::transducer;
use super::crack;
use crate::conditions::{Conditions, Geometry, check_sides, each, find_set, name_or};
use crate::prepare::Remarks;

/// How to read a deck that this job will be applied to; `options` has what the job does not say.
pub fn read_options(job: Option<&ExplicitJob>, options: ReadOptions) -> ReadOptions {
    let job_sets_time = job.and_then(|job| job.solver.as_ref()).is_some_and(|solver| solver.value.time.is_some());
    ReadOptions {
        require_step: !job_sets_time,
        job_sets_time,
        job_materials: job
            .map_or_else(Vec::new, |job| job.materials.iter().map(|material| material.value.name.clone()).collect()),
        ..options
    }
}

/// Opens the job's cracks, and adds its mass lumping, amplitudes, sources, boundary conditions, outputs and absorbing layers to a model whose materials, sections
/// and time are those of [`apply_to_deck`].
///
/// # Errors
/// [`JobError`] for a set, amplitude or component that does not exist, for a place with no node or element, and for a crack
/// that opens nothing.
pub fn apply_to_model(model: &mut Model, job: &ExplicitJob, remarks: &mut Remarks) -> Result<(), JobError> {
    crack::open(model, &job.cracks, remarks)?;
    let Model { mesh, setup } = model;
    if let Some(title) = &job.title {
        setup.title.clone_from(title);
    }
    if let Some(solver) = job.solver.as_ref().map(|item| &item.value) {
        let settings = &mut setup.explicit;
        settings.lumping = solver.lumping.map_or(settings.lumping, |word| word.0);
        settings.start = solver.start.map_or(settings.start, |word| word.0);
    }
    relaxation::relaxation(setup, job, remarks)?;
    let geometry = Geometry::new(mesh);
    with_conditions(setup, |conditions| {
        conditions.apply(&geometry, &job.dynamics, remarks)?;
        each(&job.transducers, |item, index| transducer(&geometry, conditions, item, index, remarks))
    })?;
    each(&job.fields, |item, _| {
        let quantities = item.value.quantities.iter().map(|word| word.0).collect();
        setup.fields.push(FieldRequest { quantities, interval: item.value.when()? });
        Ok(())
    })?;
    each(&job.absorbing, |item, index| {
        match item.value.profile.0 {
            Profile::Impedance => setup.impedances.push(impedance(mesh, &geometry, &item.value, index)?),
            _ => setup.absorbing_layers.push(absorbing(mesh, &geometry, item, index, remarks)?),
        }
        Ok(())
    })?;
    each(&job.shots, |item, index| {
        let shot = Shot { name: name_or(&item.value.name, "shot", index), sources: item.value.sources() };
        setup.shots.push(shot);
        // With those before it, so that the error is at the first that is wrong.
        setup.check_shots()
    })
}

/// Replaces the node indices of a setup by those of the solver's order, and leaves those of elements.
pub fn remap_setup(setup: &mut Setup, solver_from_model: &[u32]) {
    with_conditions(setup, |conditions| conditions.renumber(solver_from_model));
    let CopiedDisplacements { from, to } = &mut setup.copied;
    from.iter_mut().chain(to).for_each(|node| *node = solver_from_model[*node as usize]);
    setup.linear.renumber(solver_from_model);
    setup.interface.renumber(solver_from_model);
    for node in setup.impedances.iter_mut().flat_map(|boundary| &mut boundary.faces).flatten() {
        *node = solver_from_model.get(*node as usize).copied().unwrap_or(u32::MAX);
    }
}

/// Calls with the conditions of a setup, which are taken out of it meanwhile.
fn with_conditions<T>(setup: &mut Setup, call: impl FnOnce(&mut Conditions) -> T) -> T {
    let mut conditions = Conditions {
        amplitudes: std::mem::take(&mut setup.amplitudes),
        loads: std::mem::take(&mut setup.loads),
        boundaries: std::mem::take(&mut setup.boundaries),
        initial_velocities: std::mem::take(&mut setup.initial_velocities),
        histories: std::mem::take(&mut setup.histories),
    };
    let result = call(&mut conditions);
    Conditions {
        amplitudes: setup.amplitudes,
        loads: setup.loads,
        boundaries: setup.boundaries,
        initial_velocities: setup.initial_velocities,
        histories: setup.histories,
    } = conditions;
    result
}

/// Whether an element is in a set; without a set all are.
fn members(mesh: &Mesh, set: Option<&str>) -> Result<impl Fn(u32) -> bool + use<>, String> {
    let mut member = None;
    if let Some(name) = set {
        let mut inside = vec![false; mesh.n_elements()];
        for &element in &find_set(&mesh.element_sets, name, "element")?.members {
            inside[element as usize] = true;
        }
        member = Some(inside);
    }
    Ok(move |element: u32| member.as_ref().is_none_or(|inside| inside[element as usize]))
}

/// The absorbing layer of a table.
fn absorbing(
    mesh: &Mesh,
    geometry: &Geometry,
    item: &Located<Absorbing>,
    index: usize,
    remarks: &mut Remarks,
) -> Result<AbsorbingLayer, String> {
    let given = &item.value;
    let (side, depth, profile) = given.layer()?;
    check_sides(side, mesh.dimension as usize)?;
    let is_member = members(mesh, given.elset.as_deref())?;
    let Layer { elements, depth_fraction } = layer(mesh, geometry.bounds(), side, depth, is_member);
    if elements.is_empty() {
        return Err(format!("no element lies within {depth} of that side"));
    }
    let name = name_or(&given.name, "LAYER", index);
    if elements.len() == mesh.n_elements() {
        remarks.warn(&item.place, format_args!("layer {name} covers every element of the mesh"));
    }
    Ok(AbsorbingLayer { name, elements, depth_fraction, profile })
}

#[cfg(test)]
pub(crate) mod tests;
