//! Which table of the job, or which property of the deck, makes springs of each element.

use pogo_formats::job::JobError;
use pogo_formats::mesh::{Mesh, NamedSet};
use pogo_formats::read::deck::{LineProperty, Lines};
use pogo_formats::spring::job::SpringJob;
use pogo_formats::words::counted;

use super::NONE;
use crate::conditions::find_set;
use crate::prepare::Remarks;

/// Most notes on sets of two-node elements.
const MOST_NOTES: usize = 20;

/// The tables and properties that hold for elements.
pub(super) struct Assignment {
    /// Tables of the job.
    pub n_tables: usize,
    /// Table of each element, or [`NONE`].
    pub of_element: Vec<u16>,
    /// Of each two-node element its table, or [`n_tables`](Self::n_tables) and more for a property of the deck.
    pub of_line: Vec<Option<usize>>,
}

impl Assignment {
    pub fn new(mesh: &Mesh, lines: &Lines, job: &SpringJob) -> Result<Self, JobError> {
        let n_tables = job.springs.len();
        let mut of_element = vec![NONE; mesh.n_elements()];
        let mut of_line: Vec<Option<usize>> = vec![None; lines.nodes.len()];
        for (index, property) in lines.properties.iter().enumerate() {
            if stiffness(property).is_some() {
                property.lines.iter().for_each(|&line| of_line[line as usize] = Some(n_tables + index));
            }
        }
        let mut any = lines.properties.iter().any(|property| stiffness(property).is_some());
        for (table, item) in job.springs.iter().enumerate().filter(|(_, item)| item.value.says_where()) {
            let index = u16::try_from(table).ok().filter(|&index| index != NONE);
            let index = index.ok_or_else(|| item.place.error("at most 65,535 tables of springs"))?;
            any = true;
            match &item.value.elset {
                Some(name) => {
                    let set = element_set(mesh, lines, name).map_err(|text| item.place.error(text))?;
                    set.elements.iter().for_each(|&element| of_element[element as usize] = index);
                    set.lines.iter().for_each(|&line| of_line[line as usize] = Some(table));
                }
                None => {
                    of_element.fill(index);
                    let own =
                        |of: usize| of.checked_sub(n_tables).is_some_and(|of| lines.properties[of].truss.is_none());
                    of_line.iter_mut().filter(|of| !of.is_some_and(own)).for_each(|of| *of = Some(table));
                }
            }
        }
        if !any {
            let text = "which edges are springs? give [[springs]] with `elset` or `all = true`";
            return Err(job.solver.place.error(text));
        }
        Ok(Self { n_tables, of_element, of_line })
    }

    /// Warns of elements that make no springs.
    pub fn remark_on_elements(&self, remarks: &mut Remarks) {
        let n = self.of_element.iter().filter(|&&group| group == NONE).count();
        if n > 0 {
            let (what, makes) = (counted(n, "element"), if n == 1 { "makes" } else { "make" });
            remarks.warnings.push(format!("warning: {what} {makes} no springs: no [[springs]] table is for them"));
        }
    }

    /// Notes two-node elements that are no springs, and properties of the deck that hold or that a table replaces.
    pub fn remark_on_lines(&self, lines: &Lines, remarks: &mut Remarks) {
        let n_loose = self.of_line.iter().filter(|of| of.is_none()).count();
        if n_loose > 0 {
            let what = counted(n_loose, "two-node element");
            let text = if n_loose == 1 { "is no spring" } else { "are no springs" };
            let why =
                "no [[springs]] table, *SPRING, *DASHPOT or section of trusses with an isotropic *ELASTIC is for them";
            remarks.notes.push(format!("note: {what} {text}: {why}"));
        }
        let n_notes = remarks.notes.len();
        for (index, property) in lines.properties.iter().enumerate() {
            let Some((what, value)) = stiffness(property) else { continue };
            let is_own = |line: &&u32| self.of_line[**line as usize] == Some(self.n_tables + index);
            let own = property.lines.iter().filter(is_own).count();
            let (n, name) = (property.lines.len() - own, &property.name);
            if own > 0 && property.truss.is_some() {
                let trusses = counted(own, "truss element");
                remarks.notes.push(format!("note: {trusses} of `{name}`: k = E A / length with {what} = {value:e}"));
            }
            if n > 0 {
                let text = format!("note: [[springs]] hold over {what} = {value:e} of the deck for {n} of `{name}`");
                remarks.notes.push(text);
            }
        }
        let more = remarks.notes.len().saturating_sub(n_notes + MOST_NOTES);
        if more > 0 {
            remarks.notes.truncate(n_notes + MOST_NOTES);
            remarks.notes.push(format!("note: the same of {}", counted(more, "further set")));
        }
    }
}

/// The stiffness or damping that a card of the deck gives its elements, with its name.
fn stiffness(property: &LineProperty) -> Option<(&'static str, f64)> {
    match &property.truss {
        Some(truss) => Some(("E A", truss.area * truss.young?)),
        None if property.stiffness > 0.0 => Some(("*SPRING", property.stiffness)),
        None => Some(("*DASHPOT", property.damping)),
    }
}

/// An element set: elements that are computed, and two-node elements.
pub(super) struct Members<'a> {
    pub elements: &'a [u32],
    pub lines: &'a [u32],
}

pub(super) fn element_set<'a>(mesh: &'a Mesh, lines: &'a Lines, name: &str) -> Result<Members<'a>, String> {
    let of = |sets: &'a [NamedSet]| find_set(sets, name, "element").map(|set| set.members.as_slice());
    match (of(&mesh.element_sets), of(&lines.sets)) {
        (Err(text), Err(_)) if !mesh.element_sets.is_empty() => Err(text),
        (Err(_), Err(text)) => Err(text),
        (elements, lines) => Ok(Members { elements: elements.unwrap_or_default(), lines: lines.unwrap_or_default() }),
    }
}
