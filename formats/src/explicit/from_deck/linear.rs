//! Linear constraints of a deck → rows over what has mass, and massless unknowns.
//!
//! A displacement of a node that elements use has mass. All else that rows name has none: displacements of other nodes,
//! rotations, and displacements along own axes. They become massless unknowns, with what is prescribed and what acts on them.

use std::collections::BTreeMap;

use super::Findings;
use super::fluid_ties::nodes_of;
use crate::dynamics::{Boundary, LinearConstraints, LinearTerm, Load, LoadKind};
use crate::mesh::{Mesh, user_label};
use crate::read::deck::Deck;
use crate::read::deck::linear::{DeckLinear, OWN_AXIS};
use crate::read::deck::regroup::new_index;

/// Labels of the nodes that constraints name, by index: they are asked for when nodes without elements are gone.
pub(super) fn labels(deck: &Deck) -> BTreeMap<u32, String> {
    let mesh: &Mesh = &deck.mesh;
    let name = |node: u32| {
        let at = node as usize;
        (node, user_label(&mesh.instances, mesh.node_instance[at], mesh.node_labels[at]))
    };
    deck.linear.rows.nodes().map(name).collect()
}

/// A node and a component from 0 to 8, or the pressure.
type Key = (u32, u8);

/// What the rows of a deck name.
struct Resolver<'a> {
    map: Option<&'a [u32]>,
    /// Whether each node, by its new index, is one of a fluid.
    is_fluid: Vec<bool>,
    dimension: u8,
    labels: &'a BTreeMap<u32, String>,
    out: LinearConstraints,
    massless: BTreeMap<Key, u32>,
}

/// The rows of a deck, with massless unknowns. `map` gives the new index of each node, or none where all stay. Boundary
/// conditions and loads on massless unknowns are taken out of the deck.
pub(super) fn resolve(
    deck: &mut Deck,
    map: Option<&[u32]>,
    labels: &BTreeMap<u32, String>,
    findings: &mut Findings,
) -> LinearConstraints {
    let linear = std::mem::take(&mut deck.linear);
    if linear.rows.is_empty() {
        return LinearConstraints::default();
    }
    let dimension = deck.mesh.dimension as u8;
    let is_fluid = nodes_of(&deck.mesh, true);
    let (out, massless) = (LinearConstraints::default(), BTreeMap::new());
    let mut resolver = Resolver { map, is_fluid, dimension, labels, out, massless };
    if let Some((name, node)) = resolver.pressure_of_solid(&linear) {
        let label = labels.get(&node).map_or("?", String::as_str);
        findings.error(format!(
            "{name} names the pressure (8) of node {label}, which is in no element of a fluid: leave it out"
        ));
        return LinearConstraints::default();
    }
    let actors = resolver.actors(deck, &linear);
    resolver.rows(&linear, &actors);
    resolver.act(deck, linear);
    if let Some((name, label)) = resolver.names_fluid(&deck.mesh) {
        findings.error(format!(
            "{name} names a displacement of node {label} of a fluid, which has a pressure alone: write degree of freedom 8 for the \
             pressure. A *TIE between surfaces joins a fluid to a solid"
        ));
    }
    let (n_rows, n_massless) = (resolver.out.n_rows(), resolver.out.massless.len());
    findings.note(format!("linear constraints: {n_rows} rows, {n_massless} massless unknowns"));
    resolver.out
}

impl Resolver<'_> {
    fn node(&self, node: u32) -> Option<u32> {
        match self.map {
            Some(map) => new_index(map, node),
            None => Some(node),
        }
    }

    fn has_mass(&self, (node, component): Key) -> bool {
        (component < self.dimension || component == LinearTerm::PRESSURE) && self.node(node).is_some()
    }

    /// A row that names the pressure of a node that is not one of a fluid: its name, and the node.
    fn pressure_of_solid(&self, linear: &DeckLinear) -> Option<(String, u32)> {
        let is_fluid = |node| self.node(node).is_some_and(|new| self.is_fluid[new as usize]);
        let is_wrong = |term: &&LinearTerm| term.component == LinearTerm::PRESSURE && !is_fluid(term.node);
        let mut rows = linear.rows.rows().enumerate();
        rows.find_map(|(at, row)| Some((linear.rows.name(at).to_owned(), row.iter().find(is_wrong)?.node)))
    }

    /// Massless degrees of freedom that something acts on, or that is prescribed.
    fn actors(&self, deck: &Deck, linear: &DeckLinear) -> Vec<Key> {
        let held = deck.boundaries.iter().chain(&linear.prescribed);
        let mut keys: Vec<Key> = held.flat_map(|b| b.nodes.iter().map(|&node| (node, b.component))).collect();
        for load in &deck.loads {
            if let LoadKind::Concentrated { nodes, direction, .. } = &load.kind {
                let components = (0..).zip(direction).filter(|(_, part)| **part != 0.).map(|(component, _)| component);
                components.for_each(|component| keys.extend(nodes.iter().map(|&node| (node, component))));
            }
        }
        for (component, load) in &linear.moments {
            if let LoadKind::Concentrated { nodes, .. } = &load.kind {
                keys.extend(nodes.iter().map(|&node| (node, *component)));
            }
        }
        keys.retain(|&key| !self.has_mass(key));
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    /// Keeps the rows that constrain something: a row with a massless degree of freedom that nothing else names only says what
    /// that one is.
    fn rows(&mut self, linear: &DeckLinear, actors: &[Key]) {
        let rows: Vec<&[LinearTerm]> = linear.rows.rows().collect();
        let mut with: BTreeMap<Key, Vec<u32>> = BTreeMap::new();
        for (at, row) in (0u32..).zip(&rows) {
            for key in row.iter().map(|term| (term.node, term.component)).filter(|&key| !self.has_mass(key)) {
                with.entry(key).or_default().push(at);
            }
        }
        with.values_mut().for_each(|rows| rows.dedup());
        let mut is_kept = vec![true; rows.len()];
        let is_alone =
            |with: &BTreeMap<Key, Vec<u32>>, key: &Key| with[key].len() == 1 && actors.binary_search(key).is_err();
        let mut alone: Vec<Key> = with.keys().filter(|key| is_alone(&with, key)).copied().collect();
        while let Some(key) = alone.pop() {
            let Some(row) = with.get_mut(&key).and_then(Vec::pop) else { continue };
            is_kept[row as usize] = false;
            for term in rows[row as usize] {
                let other = (term.node, term.component);
                if let Some(of_other) = with.get_mut(&other) {
                    of_other.retain(|at| *at != row);
                    if is_alone(&with, &other) {
                        alone.push(other);
                    }
                }
            }
        }
        for (at, row) in rows.iter().enumerate().filter(|(at, _)| is_kept[*at]) {
            let terms = self.merged(row);
            if !terms.is_empty() {
                self.out.push(linear.rows.name(at), terms);
            }
        }
    }

    /// The terms of a row by degree of freedom, each once.
    fn merged(&mut self, row: &[LinearTerm]) -> Vec<LinearTerm> {
        let key = |term: &LinearTerm| ((term.node, term.component), term.coefficient);
        let mut sums: Vec<(Key, f64)> = row.iter().map(key).collect();
        // Stable: what is summed keeps its order.
        sums.sort_by_key(|sum| sum.0);
        sums.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 += next.1;
            }
            same
        });
        let kept = sums.into_iter().filter(|(_, coefficient)| *coefficient != 0.);
        kept.map(|(key, coefficient)| self.term(key, coefficient)).collect()
    }

    /// A row that names a displacement of a node that only fluids have: its name, and the node's label.
    fn names_fluid(&self, mesh: &Mesh) -> Option<(String, String)> {
        let is_solid = nodes_of(mesh, false);
        let of_fluid = |terms: &[LinearTerm]| {
            let mut nodes = terms.iter().filter(|term| term.component < self.dimension).map(|term| term.node);
            nodes.find(|&node| self.is_fluid[node as usize] && !is_solid[node as usize])
        };
        let (row, node) = self.out.rows().enumerate().find_map(|(row, terms)| Some((row, of_fluid(terms)?)))?;
        let at = node as usize;
        let label = user_label(&mesh.instances, mesh.node_instance[at], mesh.node_labels[at]);
        Some((self.out.name(row).to_owned(), label))
    }

    fn term(&mut self, key: Key, coefficient: f64) -> LinearTerm {
        let (node, component) = key;
        if let Some(node) = self.node(node).filter(|_| self.has_mass(key)) {
            return LinearTerm { node, component, coefficient };
        }
        let next = self.massless.len() as u32;
        let index = *self.massless.entry(key).or_insert(next);
        if index == next {
            let label = self.labels.get(&node).map_or("?", String::as_str);
            self.out.massless.push(match component.checked_sub(OWN_AXIS) {
                Some(axis) => format!("{label}, own axis {}", axis + 1),
                None => format!("{label}.{}", component + 1),
            });
        }
        LinearTerm { node: index, component: LinearTerm::MASSLESS, coefficient }
    }

    /// Takes what is prescribed of massless unknowns, and what acts on them, out of the deck.
    fn act(&mut self, deck: &mut Deck, linear: DeckLinear) {
        for mut held in std::mem::take(&mut deck.boundaries) {
            let (massless, nodes) = self.split(&held.nodes, held.component);
            if !massless.is_empty() {
                let name = if nodes.is_empty() { held.name.clone() } else { format!("{}.massless", held.name) };
                self.out.prescribed.push(Boundary { name, nodes: massless, component: 0, ..held.clone() });
            }
            if !nodes.is_empty() || held.nodes.is_empty() {
                held.nodes = nodes;
                deck.boundaries.push(held);
            }
        }
        for held in linear.prescribed {
            let (massless, _) = self.split(&held.nodes, held.component);
            if !massless.is_empty() {
                self.out.prescribed.push(Boundary { nodes: massless, component: 0, ..held });
            }
        }
        for load in std::mem::take(&mut deck.loads) {
            let kept = self.load(load);
            deck.loads.extend(kept);
        }
        for (component, load) in linear.moments {
            if let LoadKind::Concentrated { nodes, .. } = &load.kind {
                let (massless, _) = self.split(nodes, component);
                self.push_load(&load, load.name.clone(), massless, load.magnitude);
            }
        }
    }

    /// Massless unknowns of a component of some nodes, and the other nodes.
    fn split(&self, nodes: &[u32], component: u8) -> (Vec<u32>, Vec<u32>) {
        let mut massless = Vec::new();
        let of_node = |node: &&u32| match self.massless.get(&(**node, component)) {
            Some(&index) => {
                massless.push(index);
                false
            }
            None => true,
        };
        let others = nodes.iter().filter(of_node).copied().collect();
        (massless, others)
    }

    /// Gives the load on massless unknowns to these. Returns what is left of it.
    fn load(&mut self, mut load: Load) -> Option<Load> {
        let LoadKind::Concentrated { nodes, weights, direction } = &load.kind else { return Some(load) };
        let is_massless = |node: u32| {
            let mut along = (0..).zip(direction).filter(|(_, part)| **part != 0.);
            along.any(|(component, _): (u8, _)| self.massless.contains_key(&(node, component)))
        };
        let (mine, others): (Vec<usize>, Vec<usize>) = (0..nodes.len()).partition(|&at| is_massless(nodes[at]));
        if mine.is_empty() {
            return Some(load);
        }
        let (nodes, weights, direction) = (nodes.clone(), weights.clone(), *direction);
        let several = !others.is_empty() || direction.iter().filter(|part| **part != 0.).count() > 1;
        for &at in &mine {
            for (component, part) in (0u8..).zip(direction).filter(|(_, part)| *part != 0.) {
                let Some(&index) = self.massless.get(&(nodes[at], component)) else { continue };
                let name = match several || mine.len() > 1 {
                    true => format!("{}.{}", load.name, self.out.massless[index as usize]),
                    false => load.name.clone(),
                };
                let weight = weights.get(at).copied().unwrap_or(1.);
                self.push_load(&load, name, vec![index], load.magnitude * part * weight);
            }
        }
        if others.is_empty() {
            return None;
        }
        load.kind = LoadKind::Concentrated {
            nodes: others.iter().map(|&at| nodes[at]).collect(),
            weights: others.iter().filter_map(|&at| weights.get(at).copied()).collect(),
            direction,
        };
        Some(load)
    }

    fn push_load(&mut self, of: &Load, name: String, nodes: Vec<u32>, magnitude: f64) {
        if !nodes.is_empty() {
            let kind = LoadKind::Concentrated { nodes, weights: Vec::new(), direction: [1., 0., 0.] };
            self.out.loads.push(Load { name, kind, magnitude, amplitude: of.amplitude });
        }
    }
}
