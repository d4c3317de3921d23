//! The first stage: materials, sections and time.

use pogo_formats::dynamics::{Increment, Start};
use pogo_formats::explicit::job::{ExplicitJob, Plane, Section};
use pogo_formats::job::{IncrementValue, JobError, Located};
use pogo_formats::mesh::{ElementKind, Mesh};
use pogo_formats::read::deck::{Deck, DeckMaterial, NO_SECTION, Step};
use pogo_formats::words::listed;

use super::grains::grains;
use crate::conditions::{find_name, find_set, unique};
use crate::prepare::Remarks;

/// Safety factor of the automatic increment when neither job nor deck gives one; the same as that of a deck.
const INCREMENT_FACTOR: f64 = 0.95;

/// Gives a deck the job's materials, sections and solver settings.
///
/// A job with one material and no section, for a deck without sections, means that every element is of that material.
///
/// # Errors
/// [`JobError`] for a set or material that does not exist, and for a `plane` that would split a group of elements.
pub fn apply_to_deck(deck: &mut Deck, job: &ExplicitJob, remarks: &mut Remarks) -> Result<(), JobError> {
    for item in &job.materials {
        let given = &item.value;
        let material = DeckMaterial {
            name: given.name.clone(),
            file: item.place.file.to_string(),
            line: item.place.line as u64,
            density: Some(given.density),
            elasticity: Some(given.elasticity().map_err(|text| item.place.error(text))?),
            damping_alpha: given.alpha,
            damping_beta: given.beta,
            attenuation: given.attenuation().map_err(|text| item.place.error(text))?,
        };
        match find_name(&deck.materials, &given.name, |material| &material.name) {
            Some(index) => {
                remarks.note(&item.place, format_args!("material {} replaces the deck's", given.name));
                // The deck's spelling stays: overrides by name should not depend on the job.
                let name = std::mem::take(&mut deck.materials[index].name);
                deck.materials[index] = DeckMaterial { name, ..material };
            }
            None => deck.materials.push(material),
        }
    }

    let bare = deck.mesh.groups.iter().all(|group| group.section.iter().all(|&section| section == NO_SECTION));
    let alone = bare && job.grains.is_empty();
    if let ([], [only], true) = (job.sections.as_slice(), job.materials.as_slice(), alone) {
        remarks.note(&only.place, format_args!("every element is made of {}", only.value.name));
        let value = of_all(&only.value.name);
        section(deck, &Located { place: only.place.clone(), value }).map_err(|text| only.place.error(text))?;
    }
    let mut given = Vec::with_capacity(job.sections.len());
    for item in &job.sections {
        given.push((section(deck, item).map_err(|text| item.place.error(text))?, item));
    }
    let mut of_grains = Vec::with_capacity(job.grains.len());
    for item in &job.grains {
        let sections = grains(deck, item, remarks).map_err(|text| item.place.error(text))?;
        let value = Section { plane: item.value.plane, ..of_all(&item.value.material) };
        of_grains.push((sections, Located { place: item.place.clone(), value }));
    }
    given.extend(of_grains.iter().flat_map(|(sections, item)| sections.clone().map(move |index| (index, item))));
    planes(deck, &given)?;
    if bare {
        plane_stress_is_meant(deck, job, remarks);
    }
    solver(deck, job);
    Ok(())
}

/// The section of every element that says nothing but its material.
fn of_all(material: &str) -> Section {
    Section {
        elset: None,
        all: true,
        material: material.to_owned(),
        plane: None,
        reduced: None,
        thickness: None,
        orientation: None,
        angle: None,
        hourglass_factor: None,
        mass_factor: None,
    }
}

/// Gives elements their section. Returns the index of the section.
fn section(deck: &mut Deck, item: &Located<Section>) -> Result<usize, String> {
    let given = &item.value;
    let Some(material) = find_name(&deck.materials, &given.material, |material| &material.name) else {
        let names = deck.materials.iter().map(|material| material.name.as_str());
        return Err(format!("there is no material \"{}\" in the job or the deck{}", given.material, listed(names)));
    };
    let identity = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
    let mut section = pogo_formats::explicit::Section {
        name: "ALL".to_owned(),
        material: material as u32,
        material_from_global: given.material_from_global()?.unwrap_or(identity),
        thickness: given.thickness.unwrap_or(1.0),
        hourglass_factor: given.hourglass_factor.unwrap_or(1.0),
        mass_factor: given.mass_factor.unwrap_or(1.0),
    };
    let elements = match &given.elset {
        Some(name) => {
            let set = find_set(&deck.mesh.element_sets, name, "element")?;
            if set.members.is_empty() {
                return Err(format!("element set {} is empty", set.name));
            }
            section.name.clone_from(&set.name);
            Some(set.members.clone())
        }
        None => None,
    };
    let sections = &mut deck.sections;
    let index = match find_name(sections, &section.name, |section| &section.name) {
        Some(index) if elements.as_deref().is_none_or(|elements| holds_only(&deck.mesh, index, elements)) => {
            sections[index] = section;
            index
        }
        found => {
            if found.is_some() {
                section.name = unique(&section.name, sections, |section| &section.name);
            }
            sections.push(section);
            sections.len() - 1
        }
    };
    deck.assign_section(elements.as_deref(), index as u32);
    Ok(index)
}

/// Whether only these elements have the section. A set named ALL need not hold all elements.
fn holds_only(mesh: &Mesh, section: usize, elements: &[u32]) -> bool {
    let mut inside = vec![false; mesh.n_elements()];
    elements.iter().for_each(|&element| inside[element as usize] = true);
    let sections = mesh.groups.iter().flat_map(|group| &group.section);
    sections.zip(inside).all(|(&other, inside)| inside || other as usize != section)
}

/// Plane strain or plane stress, and the integration.
fn planes(deck: &mut Deck, given: &[(usize, &Located<Section>)]) -> Result<(), JobError> {
    let plane = |section: &Section| section.plane.map(|plane| matches!(plane.0, Plane::Stress));
    by_groups(deck, given, "plane", plane, |kind, stress| match kind.dimension() {
        2 => ElementKind::of_law(kind.law(), stress).unwrap_or(kind),
        _ => kind,
    })?;
    by_groups(deck, given, "reduced", |section| section.reduced, ElementKind::with_integration)
}

/// Changes the kind of whole groups of elements as the sections wish: a kind is a property of the group. `given` are the job's
/// sections with their indices.
fn by_groups(
    deck: &mut Deck,
    given: &[(usize, &Located<Section>)],
    key: &str,
    wish_of: impl Fn(&Section) -> Option<bool>,
    change: impl Fn(ElementKind, bool) -> ElementKind,
) -> Result<(), JobError> {
    let mut wishes = vec![None; deck.sections.len()];
    for (index, item) in given {
        wishes[*index] = wish_of(&item.value).map(|wish| (wish, &item.place));
    }
    // Elements of fluids become acoustic ones whatever the plane.
    let of_fluids: Vec<bool> = deck.sections.iter().map(|section| deck.is_fluid(section)).collect();
    let is_solid = |section: u32| section != NO_SECTION && !of_fluids.get(section as usize).is_some_and(|&fluid| fluid);
    let changes = |kind: ElementKind| change(kind, true) != change(kind, false);
    for group in deck.mesh.groups.iter_mut().filter(|group| changes(group.kind)) {
        let wish = |section: u32| wishes.get(section as usize).copied().flatten();
        let mut used = group.section.iter().filter(|&&section| is_solid(section)).map(|&section| wish(section));
        let Some(first) = used.next() else { continue };
        let other = used.find(|other| other.map(|wish| wish.0) != first.map(|wish| wish.0));
        if let (Some((_, place)), _) | (None, Some(Some((_, place)))) = (first, other)
            && other.is_some()
        {
            let kind = group.kind.name();
            return Err(place.error(format!("give the same `{key}` in every section that has {kind} elements")));
        }
        if let Some((wish, _)) = first {
            group.kind = change(group.kind, wish);
        }
    }
    Ok(())
}

/// Notes that plane stress will be computed, unless the job says so: mesh generators write CPS3 whatever the user means.
fn plane_stress_is_meant(deck: &Deck, job: &ExplicitJob, remarks: &mut Remarks) {
    let used = deck.mesh.groups.iter().filter(|group| group.section.iter().any(|&s| s != NO_SECTION));
    let said = job.sections.iter().any(|item| item.value.plane.is_some())
        || job.grains.iter().any(|item| item.value.plane.is_some());
    let stress = used.into_iter().find(|group| group.kind.is_plane_stress());
    let place = job.sections.first().map(|item| &item.place).or(job.materials.first().map(|item| &item.place));
    if let (Some(group), false, Some(place)) = (stress, said, place) {
        let kind = group.kind.name();
        remarks.note(
            place,
            format_args!("plane stress, as the deck's {kind}; `plane = \"strain\"` in a section changes that"),
        );
    }
}

fn solver(deck: &mut Deck, job: &ExplicitJob) {
    let Some(solver) = job.solver.as_ref().map(|item| &item.value) else { return };
    let automatic = Increment::Automatic { factor: solver.increment_factor.unwrap_or(INCREMENT_FACTOR) };
    if let (None, Some(time)) = (&deck.step, solver.time) {
        deck.step = Some(Step { time, increment: automatic, start: Start::SecondOrder });
    }
    // Without a time from either, finishing the deck is an error.
    let Some(step) = &mut deck.step else { return };
    step.time = solver.time.unwrap_or(step.time);
    match (solver.increment, solver.increment_factor) {
        (Some(IncrementValue::Seconds(seconds)), _) => step.increment = Increment::Fixed(seconds),
        (Some(IncrementValue::Automatic), _) | (None, Some(_)) => step.increment = automatic,
        (None, None) => {}
    }
}
