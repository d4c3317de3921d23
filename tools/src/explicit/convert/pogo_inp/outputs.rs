//! Measurement sets and field stores.

use std::collections::HashSet;
use std::io;

use pogo_formats::dynamics::{CopiedDisplacements, FieldQuantity, NodalQuantity};
use pogo_formats::explicit::Model;
use pogo_formats::write::pogo::set_names;

use super::super::Findings;
use super::super::sampled::Steps;
use super::actions::code;
use super::{NONE, Out};

/// The exchange of a model with itself.
pub fn exchange(out: &mut Out<'_>, copied: &CopiedDisplacements) -> io::Result<()> {
    out.integers(&[i32::from(!copied.is_empty()), 0])?;
    for list in [&copied.from, &copied.to].into_iter().filter(|list| !list.is_empty()) {
        out.unsigned(list.len() as u32)?;
        list.iter().try_for_each(|&node| out.unsigned(node))?;
    }
    Ok(())
}

/// What is recorded.
#[derive(Default)]
pub struct Outputs {
    /// First step of the samples, and increments between two.
    samples: (u64, u64),
    /// Degrees of freedom of each set.
    sets: Vec<Set>,
    /// Degrees of freedom with their weights.
    groups: Vec<Vec<(u64, f64)>>,
    /// Groups of each set of weighted sums.
    sets_of_sums: Vec<Set>,
    /// Increments of fields, from 0.
    stores: Vec<u64>,
}

/// A measurement set with its degrees of freedom, or with numbers of groups of them.
struct Set {
    name: String,
    members: Vec<u64>,
}

impl Outputs {
    /// Finds what the file cannot hold of the outputs.
    pub fn new(model: &Model, steps: Steps, findings: &mut Findings) -> Self {
        let setup = &model.setup;
        let is_displacement = |(quantity, _): &&(NodalQuantity, u8)| *quantity == NodalQuantity::Displacement;
        let mut outputs = Self::default();
        let (mut measured, mut others) = (Vec::new(), Vec::new());
        for history in &setup.histories {
            let axes: Vec<u8> = history.variables.iter().filter(is_displacement).map(|&(_, axis)| axis).collect();
            others.extend((axes.len() < history.variables.len()).then(|| format!("`{}`", history.set)));
            if axes.is_empty() || history.nodes.is_empty() {
                continue;
            }
            measured.push(&history.interval);
            let codes = history.nodes.iter().flat_map(|&node| axes.iter().map(move |&axis| code(node, axis)));
            if history.weights.is_empty() {
                add(&mut outputs.sets, &history.set, codes);
            } else {
                add(&mut outputs.sets_of_sums, &history.set, std::iter::once(outputs.groups.len() as u64));
                let weighted = codes.zip(history.weights.iter().copied());
                outputs.groups.push(weighted.filter(|&(_, weight)| weight != 0.0).collect());
            }
        }
        findings.warn_of(&others, "velocities, accelerations and reactions are not measured");
        let elemental: Vec<String> =
            setup.element_histories.iter().map(|history| format!("`{}`", history.set)).collect();
        findings.warn_of(&elemental, "elements are not measured");
        rename(outputs.sets.iter_mut().chain(&mut outputs.sets_of_sums), findings);
        outputs.samples = steps.common(measured.into_iter(), findings).unwrap_or((1, 1));
        outputs.stores = stores(model, steps, findings);
        outputs
    }

    /// Whether there are weighted sums, which versions before 1.08 have not.
    pub fn has_groups(&self) -> bool {
        !self.groups.is_empty()
    }

    pub fn dof_groups(&self, out: &mut Out<'_>) -> io::Result<()> {
        out.integers(&[self.groups.len() as i32])?;
        for group in &self.groups {
            out.integers(&[group.len() as i32])?;
            out.codes(group.iter().map(|&(code, _)| code))?;
            out.reals(group.iter().map(|&(_, weight)| weight))?;
        }
        Ok(())
    }

    pub fn measurements(&self, out: &mut Out<'_>) -> io::Result<()> {
        out.integers(&[(self.sets.len() + self.sets_of_sums.len()) as i32])?;
        // Step n here is sample n − 1 there.
        let (first, every) = self.samples;
        out.integers(&[every as i32, first as i32 - 1])?;
        for Set { name, members } in &self.sets {
            out.text(name, 20)?;
            out.integers(&[members.len() as i32])?;
            out.degrees_of_freedom(members.iter().copied())?;
        }
        for Set { name, members } in &self.sets_of_sums {
            out.text(name, 20)?;
            out.integers(&[members.len() as i32])?;
            out.groups(members.iter().copied())?;
        }
        Ok(())
    }

    pub fn field_stores(&self, out: &mut Out<'_>) -> io::Result<()> {
        out.integers(&[self.stores.len() as i32])?;
        self.stores.iter().try_for_each(|&increment| out.integers(&[increment as i32]))?;
        out.unsigned(NONE)
    }
}

/// Adds members to the set of this name, each once.
fn add(sets: &mut Vec<Set>, name: &str, members: impl Iterator<Item = u64>) {
    let at = sets.iter().position(|set| set.name == name).unwrap_or_else(|| {
        sets.push(Set { name: name.to_owned(), members: Vec::new() });
        sets.len() - 1
    });
    let mut seen: HashSet<u64> = sets[at].members.iter().copied().collect();
    sets[at].members.extend(members.filter(|&member| seen.insert(member)));
}

/// Gives sets the names that a file can hold.
fn rename<'a>(sets: impl Iterator<Item = &'a mut Set>, findings: &mut Findings) {
    let sets: Vec<&mut Set> = sets.collect();
    let names = set_names(&sets.iter().map(|set| set.name.as_str()).collect::<Vec<_>>());
    let mut changed = Vec::new();
    for (set, new) in sets.into_iter().zip(names) {
        if set.name != new {
            changed.push(format!("`{}` as `{new}`", set.name));
        }
        set.name = new;
    }
    findings.warn_of(&changed, "sets have at most 19 characters, and other names");
}

fn stores(model: &Model, steps: Steps, findings: &mut Findings) -> Vec<u64> {
    let mut stores = Vec::new();
    let mut others = false;
    for field in &model.setup.fields {
        others |= field.quantities.iter().any(|&quantity| quantity != FieldQuantity::Displacement);
        if field.quantities.contains(&FieldQuantity::Displacement) {
            let written = field.interval.steps(steps.increment, steps.n);
            stores.extend(written.into_iter().filter_map(|step| step.checked_sub(1)));
        }
    }
    if others {
        findings.warn("fields of other quantities than displacement are left out");
    }
    stores.sort_unstable();
    stores.dedup();
    stores
}
