//! From a deck to springs: the edges of its elements, and its two-node elements, each pair of nodes once.

mod assign;
mod combine;
mod geometry;
mod masses;
mod particles;

use pogo_formats::job::JobError;
use pogo_formats::mesh::{ElementKind, Mesh};
use pogo_formats::read::deck::Lines;
use pogo_formats::spring::job::SpringJob;
use pogo_formats::spring::{SpringGroup, SpringMaterial};

use assign::Assignment;
use combine::{Combinations, one_rest_factor, parallel};
use geometry::{local_edges, size};
use masses::Trusses;

use crate::elements::{elements, position};
use crate::prepare::Remarks;

pub use particles::mesh_of_edges;

/// Springs of a deck.
#[derive(Debug, Clone, PartialEq)]
pub struct Edges {
    /// Both nodes, the lower first, and an index into `groups`; ascending, each pair once.
    pub springs: Vec<(u32, u32, u16)>,
    /// The job's `[[springs]]`, then the deck's `*SPRING`, `*DASHPOT` and sections of trusses, then combinations of several
    /// between two nodes.
    pub groups: Vec<SpringGroup>,
    /// An index into `materials` for each node that has a spring.
    pub material: Vec<u16>,
    /// The job's `[[material]]`, then the deck's `*MASS` and `*DENSITY` of trusses, then combinations of several at one node.
    pub materials: Vec<SpringMaterial>,
    /// Volume that belongs to each node, in equal shares, of elements and of trusses with a section; area of elements where
    /// none are solid. A node whose mass comes from its trusses has the volume of these; where their materials differ, the
    /// volume that gives the mass of all at the greatest density.
    pub volume: Vec<f64>,
    /// Two-node elements that are no springs, masses without effect.
    pub remarks: Remarks,
}

/// Marks an element or node for which no table of a job holds.
const NONE: u16 = u16::MAX;

/// The springs that a job makes of a deck's elements and two-node elements, and the masses of its nodes.
///
/// An element has one group. Where several tables of the job name it, the last one holds. A table without a set does not
/// hold for the elements of the deck's own `*SPRING` and `*DASHPOT`. E A of a section holds for trusses that no table names.
/// Where several tables hold for one pair of nodes, the last one counts. The deck's own cards are added to it, each element by
/// itself: a dashpot beside a spring.
///
/// # Errors
/// A set that does not exist, no table or card that makes springs, no material for a node, a spring without length.
pub fn edges(mesh: &Mesh, lines: &Lines, job: &SpringJob) -> Result<Edges, JobError> {
    let mut remarks = Remarks::default();
    let assignment = Assignment::new(mesh, lines, job)?;
    let (mut springs, mut volume) = springs_of_elements(mesh, job, &assignment)?;
    assignment.remark_on_elements(&mut remarks);
    springs.extend(springs_of_lines(mesh, lines, job, &assignment)?);
    assignment.remark_on_lines(lines, &mut remarks);
    let filled: Vec<bool> = volume.iter().map(|volume| *volume > 0.0).collect();
    let trusses = Trusses::new(mesh, lines, &assignment, &mut volume);
    springs.sort_unstable();
    let (springs, groups) = groups_of_pairs(mesh, lines, job, &assignment, &springs, &mut remarks)?;
    let mut edges = Edges { springs, groups, material: Vec::new(), materials: Vec::new(), volume, remarks };
    masses::assign(mesh, lines, job, &trusses, &filled, &mut edges)?;
    Ok(edges)
}

/// Two nodes, the lower first, and the table or property that makes a spring between them.
type Spring = (u32, u32, usize);

/// The edges of elements as springs, and the volume of the elements by node.
fn springs_of_elements(
    mesh: &Mesh,
    job: &SpringJob,
    assignment: &Assignment,
) -> Result<(Vec<Spring>, Vec<f64>), JobError> {
    let (mut springs, mut volume) = (Vec::new(), vec![0.0; mesh.n_nodes()]);
    // Faces beside solids, as mesh generators write them, have no volume.
    let dimension = mesh.groups.iter().map(|elements| elements.kind.dimension()).max();
    let edges_of = ElementKind::ALL.map(local_edges);
    for ((element, (kind, nodes)), &group) in (0_u32..).zip(elements(mesh)).zip(&assignment.of_element) {
        if group == NONE {
            continue;
        }
        let fills = Some(kind.dimension()) == dimension;
        let share = if fills { size(mesh, kind, nodes) / nodes.len() as f64 } else { 0.0 };
        nodes.iter().for_each(|&node| volume[node as usize] += share);
        for local in &edges_of[kind as usize] {
            let [a, b] = local.map(|local| nodes[usize::from(local)]);
            if a != b && position(mesh, a) == position(mesh, b) {
                let [one, other] = [a, b].map(|node| mesh.node_labels[node as usize]);
                let label = mesh.place(element).map_or(0, |(group, at)| group.labels[at]);
                let text = format!(
                    "nodes {one} and {other} of element {label} are at one place: the edge between them cannot be a spring; merge them"
                );
                return Err(job.springs[usize::from(group)].place.error(text));
            }
            if a != b {
                springs.push((a.min(b), a.max(b), usize::from(group)));
            }
        }
    }
    Ok((springs, volume))
}

/// Two-node elements as springs.
fn springs_of_lines(
    mesh: &Mesh,
    lines: &Lines,
    job: &SpringJob,
    assignment: &Assignment,
) -> Result<Vec<Spring>, JobError> {
    let mut springs = Vec::new();
    for (at, (&[a, b], of)) in lines.nodes.iter().zip(&assignment.of_line).enumerate() {
        let Some(of) = *of else { continue };
        if position(mesh, a) == position(mesh, b) {
            let place = job.springs.get(of).map_or(&job.solver.place, |item| &item.place);
            let text = format!("element {} has both ends at one place: it cannot be a spring", lines.labels[at]);
            return Err(place.error(text));
        }
        springs.push((a.min(b), a.max(b), of));
    }
    Ok(springs)
}

/// The two nodes of each spring with the number of its group, and the groups.
type Grouped = (Vec<(u32, u32, u16)>, Vec<SpringGroup>);

/// The group of each pair of nodes, and the list of groups. `springs` ascends.
fn groups_of_pairs(
    mesh: &Mesh,
    lines: &Lines,
    job: &SpringJob,
    assignment: &Assignment,
    springs: &[Spring],
    remarks: &mut Remarks,
) -> Result<Grouped, JobError> {
    let n_tables = assignment.n_tables;
    let mut groups =
        Combinations::new(job.springs.iter().map(|item| item.value.group()).collect(), |group| &group.name);
    let of_property = groups_of_properties(lines, assignment, &mut groups);
    let mut pairs = Vec::new();
    let mut holds = vec![false; n_tables];
    for same in springs.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
        let n_of_job = same.partition_point(|spring| spring.2 < n_tables);
        let of_job = same[..n_of_job].last().map(|spring| spring.2 as u32);
        of_job.iter().for_each(|&table| holds[table as usize] = true);
        let of_deck = same[n_of_job..].iter().filter_map(|spring| of_property[spring.2 - n_tables]);
        let of: Vec<u32> = of_job.into_iter().chain(of_deck).collect();
        let parts: Vec<&SpringGroup> = of.iter().map(|&index| &groups.items[index as usize]).collect();
        if parts.iter().any(|part| part.axial_stiffness > 0.0) && one_rest_factor(&parts).is_none() {
            let [a, b] = [same[0].0, same[0].1].map(|node| mesh.node_labels[node as usize]);
            let what = "are springs with different `rest_factor`, and one has E A: give them one [[springs]] table";
            return Err(job.solver.place.error(format!("between nodes {a} and {b} {what}")));
        }
        let group = groups.of(of, parallel);
        let group = u16::try_from(group).ok().filter(|&group| group != NONE);
        let too_many = || job.solver.place.error("the deck makes more than 65,535 groups of springs that differ");
        pairs.push((same[0].0, same[0].1, group.ok_or_else(too_many)?));
    }
    for (item, _) in job.springs.iter().zip(holds).filter(|(item, holds)| !holds && item.value.says_where()) {
        let what = "hold for no edge and no two-node element: of tables that cover the same one, the later wins";
        remarks.warn(&item.place, format!("springs \"{}\" {what}", item.value.name));
    }
    Ok((pairs, groups.items))
}

/// Adds a group for each property of the deck that makes springs; gives its index.
fn groups_of_properties(
    lines: &Lines,
    assignment: &Assignment,
    groups: &mut Combinations<SpringGroup>,
) -> Vec<Option<u32>> {
    let mut of_property: Vec<Option<u32>> = vec![None; lines.properties.len()];
    for index in assignment.of_line.iter().flatten().filter_map(|of| of.checked_sub(assignment.n_tables)) {
        let property = &lines.properties[index];
        of_property[index].get_or_insert_with(|| {
            let name = groups.unique(&property.name);
            groups.push(SpringGroup {
                name,
                stiffness: property.stiffness,
                axial_stiffness: property.truss.as_ref().map_or(0.0, |truss| truss.area * truss.young.unwrap_or(0.0)),
                damping: property.damping,
                max_strain: f64::INFINITY,
                rest_factor: 1.0,
            })
        });
    }
    of_property
}
