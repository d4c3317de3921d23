//! Elements, by kind, and what they are made of.

use std::collections::BTreeMap;

use super::cursor::{Integers, beyond};
use super::layout::{Elements, Layout};
use super::nodes::Nodes;
use super::{Findings, Found};
use crate::mesh::{ElementGroup, ElementKind};
use crate::read::deck::{Deck, ElementCount};
use crate::words::counted;

/// Node number in unused places.
const UNUSED: u32 = u32::MAX;

/// Material and orientation (−1: none) of each section, in the order of the sections' numbers in the groups.
pub(super) type Users = Vec<(u32, i32)>;

/// What becomes of the elements of a type.
#[derive(Clone, Copy)]
enum Use {
    Group(usize),
    LeftOut,
}

/// Reads the elements into groups. Their sections are those that it returns.
///
/// # Errors
/// Numbers of types, materials, orientations or nodes that are not there.
pub(super) fn read(layout: &Layout, nodes: &Nodes, deck: &mut Deck, findings: &mut Findings) -> Found<Users> {
    let elements = &layout.elements;
    let counts = count(elements, layout.element_types.len())?;
    let uses = uses(layout, &counts, deck, findings)?;
    let mut sections = Sections::new(layout);
    let all = matches!(deck.mesh.groups.as_slice(), [group] if group.kind.n_nodes() == elements.most_nodes)
        && uses.iter().zip(&counts).all(|(used, count)| matches!(used, Use::Group(_)) || *count == 0);
    if all {
        let group = &mut deck.mesh.groups[0];
        group.labels = (1..=elements.n as u32).collect();
        group.connectivity = elements.nodes.indices(nodes.len(), "a node of an element")?;
        group.section = (0..elements.n).map(|at| sections.of(at)).collect::<Found<_>>()?;
    } else {
        mixed(elements, &uses, nodes.len(), &mut deck.mesh.groups, &mut sections)?;
    }
    for group in &mut deck.mesh.groups {
        group.instance = vec![0; group.labels.len()];
        if !nodes.are_themselves() {
            group.connectivity.iter_mut().for_each(|node| *node = nodes.stands_for(*node));
        }
    }
    deck.report.n_elements = deck.mesh.n_elements() as u64;
    Ok(sections.users)
}

/// Number of elements of each type.
fn count(elements: &Elements, n_types: usize) -> Found<Vec<usize>> {
    let mut counts = vec![0; n_types];
    for (index, number) in elements.types.iter().enumerate() {
        match usize::try_from(number).ok().and_then(|number| counts.get_mut(number)) {
            Some(count) => *count += 1,
            None => {
                return Err(beyond("the type of an element", number.into(), n_types, elements.types.at + 4 * index));
            }
        }
    }
    Ok(counts)
}

/// The group of each type. Types of one name share a group; those that are not computed are refused.
fn uses(layout: &Layout, counts: &[usize], deck: &mut Deck, findings: &mut Findings) -> Found<Vec<Use>> {
    let mut by_name: BTreeMap<String, usize> = BTreeMap::new();
    for (name, count) in layout.element_types.iter().zip(counts) {
        *by_name.entry(name.to_ascii_uppercase()).or_default() += count;
    }
    let mut refused = Vec::new();
    for (name, &count) in by_name.iter().filter(|(_, count)| **count > 0) {
        let kind = ElementKind::from_name(name).filter(|kind| !kind.is_acoustic());
        let entry = ElementCount {
            name: name.clone(),
            count: count as u64,
            supported: kind.is_some(),
            file: findings.file.clone(),
            line: 0,
        };
        deck.report.elements.push(entry);
        match kind {
            Some(kind) if kind.n_nodes() > layout.elements.most_nodes => {
                let (n, most) = (kind.n_nodes(), layout.elements.most_nodes);
                return Err(format!(
                    "elements have {most} places for nodes, and {name} has {n} nodes: the file is damaged"
                ));
            }
            Some(kind) => deck.mesh.groups.push(ElementGroup::new(kind)),
            None if findings.ignores(name, &counted(count, &format!("{name} element"))) => {}
            None => refused.push(format!("{} ({count})", name.escape_debug())),
        }
    }
    if !refused.is_empty() {
        let names = refused.join(", ");
        let acoustic = if by_name.keys().any(|name| name.starts_with("AC")) { " (AC: acoustic)" } else { "" };
        findings
            .error(format!("element types that are not computed: {names}{acoustic}; --ignore TYPE leaves them out"));
    }
    let group_of = |name: &String| {
        let group = deck.mesh.groups.iter().position(|group| group.kind.name().eq_ignore_ascii_case(name));
        group.map_or(Use::LeftOut, Use::Group)
    };
    Ok(layout.element_types.iter().map(group_of).collect())
}

/// Elements of several types, or of fewer nodes than there are places.
fn mixed(
    elements: &Elements,
    uses: &[Use],
    n_nodes: usize,
    groups: &mut [ElementGroup],
    sections: &mut Sections,
) -> Found<()> {
    for at in 0..elements.n {
        let Use::Group(group) = uses[elements.types.get(at) as usize] else { continue };
        let group = &mut groups[group];
        let places = elements.nodes.part(at * elements.most_nodes, elements.most_nodes);
        let n = group.kind.n_nodes();
        for (place, node) in places.unsigned().enumerate() {
            let at_byte = places.at + 4 * place;
            if place < n && node as usize >= n_nodes {
                let what = format!("a node of element {} ({})", at + 1, group.kind.name());
                return Err(beyond(&what, i64::from(node as i32), n_nodes, at_byte));
            }
            if place >= n && node != UNUSED {
                let kind = group.kind.name();
                let text = format!("element {} ({kind}) has more than {n} nodes (byte {at_byte})", at + 1);
                return Err(text + ": the file is damaged");
            }
        }
        group.labels.push(at as u32 + 1);
        group.connectivity.extend(places.part(0, n).unsigned());
        group.section.push(sections.of(at)?);
    }
    groups.iter_mut().for_each(|group| {
        group.labels.shrink_to_fit();
        group.connectivity.shrink_to_fit();
        group.section.shrink_to_fit();
    });
    Ok(())
}

/// Gives each pair of a material and an orientation a number.
struct Sections<'a> {
    materials: Integers<'a>,
    orientations: Integers<'a>,
    limits: [usize; 2],
    numbers: BTreeMap<(i32, i32), u32>,
    /// The pair before, which elements in a row mostly share.
    last: Option<((i32, i32), u32)>,
    users: Users,
}

impl<'a> Sections<'a> {
    fn new(layout: &Layout<'a>) -> Self {
        Self {
            materials: layout.elements.materials,
            orientations: layout.elements.orientations,
            limits: [layout.materials.len(), layout.orientations.len()],
            numbers: BTreeMap::new(),
            last: None,
            users: Users::new(),
        }
    }

    fn of(&mut self, element: usize) -> Found<u32> {
        let pair = (self.materials.get(element), self.orientations.get(element));
        match self.last {
            Some((last, number)) if last == pair => return Ok(number),
            _ => {}
        }
        let number = match self.numbers.get(&pair) {
            Some(&number) => number,
            None => self.add(element, pair)?,
        };
        self.last = Some((pair, number));
        Ok(number)
    }

    fn add(&mut self, element: usize, pair: (i32, i32)) -> Found<u32> {
        let (material, orientation) = pair;
        let [materials, orientations] = self.limits;
        let Some(index) = u32::try_from(material).ok().filter(|&index| (index as usize) < materials) else {
            return Err(beyond(
                "the material of an element",
                material.into(),
                materials,
                self.materials.at + 4 * element,
            ));
        };
        if orientation != -1 && usize::try_from(orientation).map_or(true, |index| index >= orientations) {
            let at = self.orientations.at + 4 * element;
            return Err(beyond("the orientation of an element", orientation.into(), orientations, at));
        }
        let number = self.users.len() as u32;
        self.users.push((index, orientation));
        self.numbers.insert(pair, number);
        Ok(number)
    }
}
