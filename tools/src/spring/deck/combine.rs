//! Several springs between two nodes, and several masses at one node, as one.

use std::collections::{BTreeMap, HashSet};

use pogo_formats::spring::{SpringGroup, SpringMaterial};

/// A list of groups or materials that grows by combinations of its items.
pub(super) struct Combinations<T> {
    pub items: Vec<T>,
    /// Index of each combination by the indices of its parts.
    combined: BTreeMap<Vec<u32>, u32>,
    /// Names in lower case.
    taken: HashSet<String>,
}

impl<T> Combinations<T> {
    pub fn new(items: Vec<T>, name_of: impl Fn(&T) -> &str) -> Self {
        let taken = items.iter().map(|item| name_of(item).to_ascii_lowercase()).collect();
        Self { items, combined: BTreeMap::new(), taken }
    }

    /// `name`, or `name-2`, `name-3`, … when it is taken.
    pub fn unique(&mut self, name: &str) -> String {
        let numbered = (2..).map(|number| format!("{name}-{number}"));
        let mut candidates = std::iter::once(name.to_owned()).chain(numbered);
        candidates.find(|name| self.taken.insert(name.to_ascii_lowercase())).unwrap_or_default()
    }

    pub fn push(&mut self, item: T) -> u32 {
        self.items.push(item);
        self.items.len() as u32 - 1
    }

    /// The index of a single item, or of the combination that `combine` makes of several.
    pub fn of(&mut self, indices: Vec<u32>, combine: impl Fn(&[&T]) -> T) -> u32 {
        match (indices.as_slice(), self.combined.get(&indices)) {
            (&[index], _) | (_, Some(&index)) => index,
            _ => {
                let parts: Vec<&T> = indices.iter().map(|&index| &self.items[index as usize]).collect();
                let combination = combine(&parts);
                let index = self.push(combination);
                self.combined.insert(indices, index);
                index
            }
        }
    }
}

fn joined<'n>(names: impl Iterator<Item = &'n str>) -> String {
    names.collect::<Vec<_>>().join("+")
}

/// The common rest factor of all groups with a stiffness, or that of the first group where none has one; `None` where they
/// differ.
pub(super) fn one_rest_factor(parts: &[&SpringGroup]) -> Option<f64> {
    let mut pulling = parts.iter().filter(|part| part.stiffness > 0.0 || part.axial_stiffness > 0.0);
    let factor = pulling.next().unwrap_or(&parts[0]).rest_factor;
    pulling.all(|part| part.rest_factor == factor).then_some(factor)
}

/// Parallel springs as one: Σ k_i (l − L_i) = k (l − L) with k = Σ k_i and L = Σ k_i L_i / k. It breaks where the first of
/// them would. Where one has E A, all must have the same rest factor.
pub(super) fn parallel(parts: &[&SpringGroup]) -> SpringGroup {
    let stiffness: f64 = parts.iter().map(|part| part.stiffness).sum();
    let moment: f64 = parts.iter().map(|part| part.stiffness * part.rest_factor).sum();
    let axial_stiffness: f64 = parts.iter().map(|part| part.axial_stiffness).sum();
    let rest_factor = one_rest_factor(parts).unwrap_or(moment / stiffness);
    let longest = parts.iter().map(|part| part.rest_factor * (1.0 + part.max_strain)).fold(f64::INFINITY, f64::min);
    SpringGroup {
        name: joined(parts.iter().map(|part| part.name.as_str())),
        stiffness,
        axial_stiffness,
        damping: parts.iter().map(|part| part.damping).sum(),
        max_strain: longest / rest_factor - 1.0,
        rest_factor,
    }
}

/// Masses at one node as one. Its density is the largest; the node gets the volume that gives the mass of all at this density.
pub(super) fn masses_at_one_node(parts: &[&SpringMaterial]) -> SpringMaterial {
    SpringMaterial {
        name: joined(parts.iter().map(|part| part.name.as_str())),
        mass: parts.iter().map(|part| part.mass).sum(),
        density: parts.iter().map(|part| part.density).fold(0.0, f64::max),
    }
}
