//! Names and labels as a deck can have them.

use std::collections::HashSet;

use pogo_formats::mesh::{Mesh, NamedSet};

/// Names that are taken, in upper case: decks do not tell cases apart.
#[derive(Default)]
pub struct Names(HashSet<String>);

impl Names {
    /// The name, with signs replaced that need quotes in a deck, and with a number where it is taken.
    pub fn unique(&mut self, wanted: &str) -> String {
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let mut plain: String = wanted.chars().map(|c| if allowed(c) { c } else { '_' }).collect();
        if !plain.starts_with(|c: char| c.is_ascii_alphabetic()) {
            plain.insert_str(0, "S-");
        }
        let mut name = plain.clone();
        let mut number = 1;
        while !self.0.insert(name.to_ascii_uppercase()) {
            number += 1;
            name = format!("{plain}-{number}");
        }
        name
    }

    /// Name of the set with these members, which is added where there is none.
    pub fn set(&mut self, wanted: &str, members: &[u32], sets: &mut Vec<NamedSet>) -> String {
        if let Some(known) = sets.iter().find(|set| set.members == members) {
            return known.name.clone();
        }
        let name = self.unique(wanted);
        sets.push(NamedSet { name: name.clone(), members: members.to_vec() });
        name
    }
}

/// Labels of nodes and elements: the user's, or numbers from 1 where instances make them ambiguous.
pub struct Labels {
    pub nodes: Vec<u32>,
    pub elements: Vec<u32>,
}

impl Labels {
    pub fn of(mesh: &Mesh) -> Self {
        let elements: Vec<u32> = mesh.groups.iter().flat_map(|group| group.labels.iter().copied()).collect();
        let is_unique = |labels: &[u32]| {
            let mut seen = HashSet::new();
            labels.iter().all(|&label| label > 0 && seen.insert(label))
        };
        match is_unique(&mesh.node_labels) && is_unique(&elements) {
            true => Self { nodes: mesh.node_labels.clone(), elements },
            false => {
                Self { nodes: (1..=mesh.n_nodes() as u32).collect(), elements: (1..=elements.len() as u32).collect() }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_need_no_quotes_and_differ_in_more_than_case() {
        let mut names = Names::default();
        let found = ["top line", "TOP_LINE", "7.5_mm", "", "ä"].map(|name| names.unique(name));
        assert_eq!(found, ["top_line", "TOP_LINE-2", "S-7.5_mm", "S-", "S-_"]);
    }
}
