//! Sections for the grains of a polycrystal.

use std::collections::{HashMap, HashSet};

use pogo_formats::explicit::Section;
use pogo_formats::explicit::job::{Grains, Numbered};
use pogo_formats::job::Located;
use pogo_formats::mesh::Mesh;
use pogo_formats::read::deck::Deck;
use pogo_formats::words::{counted, listed};

use crate::conditions::find_name;
use crate::prepare::Remarks;

/// Names the set of grains when the job names no other, as Neper does.
const PREFIX: &str = "poly";

/// Most grains that a warning names.
const MOST_NAMED: usize = 5;

/// Gives the elements of each grain a section of its own. Elements with the same angles in a table of elements share one.
/// Returns the indices of the sections.
///
/// # Errors
/// A material, grains or elements that do not exist, and grains without elements where all are.
pub(super) fn grains(
    deck: &mut Deck,
    item: &Located<Grains>,
    remarks: &mut Remarks,
) -> Result<std::ops::Range<usize>, String> {
    let given = &item.value;
    let Some(material) = find_name(&deck.materials, &given.material, |material| &material.name) else {
        let names = deck.materials.iter().map(|material| material.name.as_str());
        return Err(format!("there is no material \"{}\" in the job or the deck{}", given.material, listed(names)));
    };
    let first = deck.sections.len();
    let found = match (given.of.0, &given.elements) {
        (Numbered::Elements, _) => of_elements(&deck.mesh, given)?,
        (Numbered::Grains, Some(file)) => of_table(&deck.mesh, given, file)?,
        (Numbered::Grains, None) => of_sets(&deck.mesh, given)?,
    };
    let mut names: HashSet<String> = deck.sections.iter().map(|section| section.name.to_ascii_lowercase()).collect();
    let mut section_of = vec![u32::MAX; deck.mesh.n_elements()];
    let mut n_elements = 0;
    for grain in &found.grains {
        let mut name = grain.name.clone();
        let mut number = 2;
        while !names.insert(name.to_ascii_lowercase()) {
            name = format!("{}-{number}", grain.name);
            number += 1;
        }
        for &element in &grain.elements {
            section_of[element as usize] = deck.sections.len() as u32;
        }
        n_elements += grain.elements.len();
        deck.sections.push(Section {
            material_from_global: given.orientations[grain.orientation].material_from_global(),
            thickness: given.thickness.unwrap_or(1.0),
            ..Section::new(name, material as u32)
        });
    }
    let sections = deck.mesh.groups.iter_mut().flat_map(|group| &mut group.section);
    for (section, &new) in sections.zip(&section_of).filter(|(_, new)| **new != u32::MAX) {
        *section = new;
    }
    let n = found.grains.len();
    let text = format!(
        "{} in {} of {}",
        counted(n_elements, "element"),
        counted(n, "orientation"),
        deck.materials[material].name
    );
    remarks.note(&item.place, text);
    for text in found.doubts {
        remarks.warn(&item.place, text);
    }
    Ok(first..deck.sections.len())
}

/// Elements of one orientation.
struct Grain {
    name: String,
    /// Index in the table of angles.
    orientation: usize,
    elements: Vec<u32>,
}

struct Found {
    grains: Vec<Grain>,
    doubts: Vec<String>,
}

/// The grains are element sets.
fn of_sets(mesh: &Mesh, given: &Grains) -> Result<Found, String> {
    let prefix = given.elsets.as_deref().unwrap_or(PREFIX);
    let mut sets: HashMap<u32, usize> = HashMap::new();
    for (index, set) in mesh.element_sets.iter().enumerate() {
        let own = set.name.rsplit_once('.').map_or(set.name.as_str(), |(_, own)| own);
        let Some(number) = number_of(own, prefix) else { continue };
        if let Some(other) = sets.insert(number, index) {
            let other = &mesh.element_sets[other].name;
            return Err(format!("grain {number} is ambiguous: there are element sets {other} and {}", set.name));
        }
    }
    let (mut grains, mut without) = (Vec::new(), Vec::new());
    for (orientation, one) in given.orientations.iter().enumerate() {
        match sets.remove(&one.number) {
            Some(set) if !mesh.element_sets[set].members.is_empty() => {
                let set = &mesh.element_sets[set];
                grains.push(Grain { name: set.name.clone(), orientation, elements: set.members.clone() });
            }
            _ => without.push(one.number),
        }
    }
    if grains.is_empty() {
        let names = mesh.element_sets.iter().map(|set| set.name.as_str());
        return Err(format!("no element set is called {prefix} and a number of {}{}", given.file, listed(names)));
    }
    let mut others: Vec<u32> = sets.into_keys().collect();
    others.sort_unstable();
    let mut doubts = Vec::new();
    doubts.extend(
        some(&without).map(|list| format!("grains of {} without an element set {prefix}…: {list}", given.file)),
    );
    doubts.extend(some(&others).map(|list| format!("element sets {prefix}… without angles in {}: {list}", given.file)));
    Ok(Found { grains, doubts })
}

/// The number behind a prefix in any case.
fn number_of(name: &str, prefix: &str) -> Option<u32> {
    let (front, number) = (name.get(..prefix.len())?, &name[prefix.len()..]);
    let is_number = front.eq_ignore_ascii_case(prefix) && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| number.parse().ok()).flatten()
}

/// A table says of which grain each element is.
fn of_table(mesh: &Mesh, given: &Grains, file: &str) -> Result<Found, String> {
    let place: HashMap<u32, usize> = given.orientations.iter().enumerate().map(|(at, one)| (one.number, at)).collect();
    let element_of = elements_by_label(mesh, given.grain_of.iter().map(|row| row.0), file)?;
    let mut elements = vec![Vec::new(); given.orientations.len()];
    for (&(label, grain), element) in given.grain_of.iter().zip(element_of) {
        let at = place.get(&grain).ok_or_else(|| {
            format!("{file}: error: element {label} is of grain {grain}, which has no angles in {}", given.file)
        })?;
        elements[*at].push(element);
    }
    let (mut grains, mut without) = (Vec::new(), Vec::new());
    for ((orientation, one), mut elements) in given.orientations.iter().enumerate().zip(elements) {
        elements.sort_unstable();
        match elements.is_empty() {
            true => without.push(one.number),
            false => grains.push(Grain { name: format!("grain {}", one.number), orientation, elements }),
        }
    }
    let doubts = some(&without).map(|list| format!("grains of {} without an element in {file}: {list}", given.file));
    Ok(Found { grains, doubts: doubts.into_iter().collect() })
}

/// The numbers of the table are elements. Those with the same angles are of one grain.
fn of_elements(mesh: &Mesh, given: &Grains) -> Result<Found, String> {
    let element_of = elements_by_label(mesh, given.orientations.iter().map(|one| one.number), &given.file)?;
    let mut place = HashMap::new();
    let mut grains: Vec<Grain> = Vec::new();
    for ((orientation, one), element) in given.orientations.iter().enumerate().zip(element_of) {
        let at = *place.entry(one.angles.map(|angle| (angle + 0.0).to_bits())).or_insert_with(|| {
            let name = format!("orientation of element {}", one.number);
            grains.push(Grain { name, orientation, elements: Vec::new() });
            grains.len() - 1
        });
        grains[at].elements.push(element);
    }
    Ok(Found { grains, doubts: Vec::new() })
}

/// Indices of elements by the users' labels, in their order.
fn elements_by_label(mesh: &Mesh, labels: impl Iterator<Item = u32>, file: &str) -> Result<Vec<u32>, String> {
    let mut known: HashMap<u32, Option<u32>> = HashMap::with_capacity(mesh.n_elements());
    for (element, &label) in (0..).zip(mesh.groups.iter().flat_map(|group| &group.labels)) {
        // Two instances may have the same labels.
        known.entry(label).and_modify(|known| *known = None).or_insert(Some(element));
    }
    let find = |label| match known.get(&label) {
        Some(Some(element)) => Ok(*element),
        Some(None) => Err(format!("{file}: error: several instances have an element {label}: use element sets")),
        None => Err(format!("{file}: error: there is no element {label} in the mesh")),
    };
    labels.map(find).collect()
}

/// The first of some numbers, and how many more there are.
fn some(numbers: &[u32]) -> Option<String> {
    let named: Vec<String> = numbers.iter().take(MOST_NAMED).map(u32::to_string).collect();
    match numbers.len().saturating_sub(MOST_NAMED) {
        0 if named.is_empty() => None,
        0 => Some(named.join(", ")),
        more => Some(format!("{} and {more} more", named.join(", "))),
    }
}
