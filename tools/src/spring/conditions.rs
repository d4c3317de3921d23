//! The conditions of a job on the particles of a mesh: forces, motions, cuts and changes of springs.

use pogo_formats::dynamics::LoadKind;
use pogo_formats::job::JobError;
use pogo_formats::mesh::{Mesh, NamedSet};
use pogo_formats::spring::job::{Add, Erase, SpringJob};
use pogo_formats::spring::{
    Cut, CutFrame, Gravity, PointForce, SpringAddition, SpringErasure, SpringFields, SpringGroup, SpringMaterial,
    SpringMesh, SpringMeshView, SpringSetup,
};
use pogo_formats::system::parallel::iterate::*;
use pogo_formats::words::counted;

use crate::conditions::{Conditions, Geometry, Message, add_amplitude, each, find_name, find_set, name_or, unique};
use crate::prepare::Remarks;

/// A spring that breaks only at more than this many times its distance at rest probably has a `max_strain` in percent.
const MOST_LONGER: f64 = 3.0;

/// What an input holds beside its mesh; all of it in particles.
#[derive(Debug, Clone, Default)]
pub struct Given {
    pub title: String,
    /// Conditions of a deck; empty for a stack.
    pub conditions: Conditions,
    /// Gravity of a deck.
    pub gravity: Vec<Gravity>,
    /// Snapshots of a deck. They are taken where the job asks for none.
    pub fields: Vec<SpringFields>,
    /// Spring groups of the mesh.
    pub groups: Vec<SpringGroup>,
    /// Materials of the mesh.
    pub materials: Vec<SpringMaterial>,
}

/// The setup of a mesh: what the input gives, and the conditions of the job. Groups that only `[[springs]]` or `[[add]]` name
/// come behind those of the mesh.
///
/// # Errors
/// [`JobError`] for a set, amplitude or group that does not exist, and for a place with no particle.
pub fn setup(mesh: &SpringMesh, given: Given, job: &SpringJob, remarks: &mut Remarks) -> Result<SpringSetup, JobError> {
    let Given { title, mut conditions, mut gravity, fields, mut groups, materials } = given;
    let view = mesh.view();
    let spacing = match &view.grid {
        Some(grid) => grid.spacing.into_iter().fold(0.0, f64::max),
        None => longest_spring(&view),
    };
    let particles = Mesh {
        dimension: 3,
        coordinates: copied(&mesh.coordinates),
        node_labels: copied(&mesh.labels),
        node_instance: copied(&mesh.instance),
        instances: mesh.instances.clone(),
        groups: Vec::new(),
        node_sets: mesh
            .sets
            .iter()
            .map(|set| NamedSet { name: set.name.clone(), members: copied(&set.members) })
            .collect(),
        element_sets: Vec::new(),
    };
    let geometry = Geometry::of_particles(&particles, spacing);
    conditions.apply(&geometry, &job.dynamics, remarks)?;
    add_gravity(&mut gravity, &mut conditions, job)?;
    remarks.warnings.extend(doubtful_strains(job));
    for item in job.springs.iter().filter(|item| !item.value.says_where()) {
        if !job.additions.iter().any(|add| add.value.group.eq_ignore_ascii_case(&item.value.name)) {
            let what = "are nowhere: give `elset` or `all` (of a deck), or an [[add]] with their name as its `group`";
            remarks.warn(&item.place, format!("springs \"{}\" {what}", item.value.name));
        }
    }
    // The tables of a deck are groups already.
    for item in &job.springs {
        if find_name(&groups, &item.value.name, |group| &group.name).is_none() {
            groups.push(item.value.group());
        }
    }
    let finder = Finder { view: &view, sets: &mesh.sets, geometry };
    let additions = additions(&finder, &groups, job)?;
    let fields = match job.fields.as_slice() {
        [] => fields,
        items => items
            .iter()
            .map(|item| item.value.request().map_err(|text| item.place.error(text)))
            .collect::<Result<_, _>>()?,
    };
    Ok(SpringSetup {
        title: job.title.clone().unwrap_or(title),
        materials,
        groups,
        forces: point_forces(&mut conditions),
        amplitudes: conditions.amplitudes,
        boundaries: conditions.boundaries,
        gravity,
        initial_velocities: conditions.initial_velocities,
        cuts: cuts(job)?,
        erasures: erasures(&finder, &additions, job)?,
        additions,
        histories: conditions.histories,
        fields,
        solver: job.solver.value.settings(),
    })
}

/// A copy that all threads make.
fn copied<T: Copy + Send + Sync>(values: &[T]) -> Vec<T> {
    values.par_iter().copied().collect()
}

fn point_forces(conditions: &mut Conditions) -> Vec<PointForce> {
    let loads = std::mem::take(&mut conditions.loads).into_iter();
    let forces = loads.filter_map(|load| match load.kind {
        LoadKind::Concentrated { nodes, mut weights, direction } => {
            weights.resize(nodes.len(), 1.0);
            let (name, magnitude, amplitude) = (load.name, load.magnitude, load.amplitude);
            Some(PointForce { name, particles: nodes, weights, direction, magnitude, amplitude })
        }
        _ => None,
    });
    forces.collect()
}

fn add_gravity(gravity: &mut Vec<Gravity>, conditions: &mut Conditions, job: &SpringJob) -> Result<(), JobError> {
    each(&job.gravity, |item, index| {
        let given = &item.value;
        let name = unique(&name_or(&given.name, "GRAVITY", index), gravity, |gravity| &gravity.name);
        let amplitude = add_amplitude(&mut conditions.amplitudes, given.amplitude.as_ref(), &name)?;
        let magnitude = given.vector.iter().map(|x| x * x).sum::<f64>().sqrt();
        let direction = given.vector.map(|x| if magnitude > 0.0 { x / magnitude } else { 0.0 });
        gravity.push(Gravity { name, particles: None, direction, magnitude, amplitude });
        Ok(())
    })
}

fn cuts(job: &SpringJob) -> Result<Vec<Cut>, JobError> {
    let mut cuts: Vec<Cut> = Vec::new();
    each(&job.cuts, |item, index| {
        let name = unique(&name_or(&item.value.name, "CUT", index), &cuts, |cut| &cut.name);
        let frame = item.value.positions.map_or(CutFrame::Current, |word| word.0);
        cuts.push(Cut { name, time: item.value.time, frame, shape: item.value.shape()? });
        Ok(())
    })?;
    Ok(cuts)
}

fn additions(finder: &Finder, groups: &[SpringGroup], job: &SpringJob) -> Result<Vec<SpringAddition>, JobError> {
    let mut additions: Vec<SpringAddition> = Vec::new();
    each(&job.additions, |item, index| {
        let Add { name, group, time, .. } = &item.value;
        let name = unique(&name_or(name, "ADD", index), &additions, |addition| &addition.name);
        let group = find_name(groups, group, |group| &group.name).ok_or_else(|| {
            let names: Vec<&str> = groups.iter().map(|group| group.name.as_str()).collect();
            format!("there is no spring group \"{group}\"; there are {}", names.join(", "))
        })?;
        additions.push(SpringAddition { name, time: *time, group: group as u32, springs: finder.added(&item.value)? });
        Ok(())
    })?;
    Ok(additions)
}

fn erasures(finder: &Finder, additions: &[SpringAddition], job: &SpringJob) -> Result<Vec<SpringErasure>, JobError> {
    let mut erasures: Vec<SpringErasure> = Vec::new();
    each(&job.erasures, |item, index| {
        let name = unique(&name_or(&item.value.name, "ERASE", index), &erasures, |erasure| &erasure.name);
        let springs = finder.erased(&item.value, additions)?;
        erasures.push(SpringErasure { name, time: item.value.time, springs });
        Ok(())
    })?;
    Ok(erasures)
}

/// Warnings about values of `max_strain` that are probably mistakes; one a table.
fn doubtful_strains(job: &SpringJob) -> Vec<String> {
    let tables = job.materials.iter().map(|item| (&item.place, item.value.groups().to_vec()));
    let tables = tables.chain(job.springs.iter().map(|item| (&item.place, vec![item.value.group()])));
    let remark = |group: &SpringGroup| {
        let SpringGroup { name, max_strain, rest_factor, .. } = group;
        match rest_factor * (1.0 + max_strain) {
            longest if longest < 1.0 => Some(format!(
                "springs of {name} are longer at rest than `max_strain` = {max_strain} allows with `rest_factor` = {rest_factor}: \
                 they break at once"
            )),
            longest if longest > MOST_LONGER && longest.is_finite() => Some(format!(
                "`max_strain` = {max_strain}: springs of {name} break at {longest} times their distance at rest; it is a fraction, 0.3 \
                 for 30 %"
            )),
            _ => None,
        }
    };
    let remarks = tables.filter_map(|(place, groups)| Some((place, groups.iter().find_map(remark)?)));
    remarks.map(|(place, text)| format!("{place}: warning: {text}")).collect()
}

fn longest_spring(mesh: &SpringMeshView<'_>) -> f64 {
    let length = |particle: usize| {
        let squares =
            mesh.springs(particle).map(|spring| mesh.rest_vector(particle, &spring).iter().map(|x| x * x).sum::<f64>());
        squares.fold(0.0, f64::max)
    };
    (0..mesh.n_particles()).map(length).fold(0.0, f64::max).sqrt()
}

/// Finds springs.
struct Finder<'a> {
    view: &'a SpringMeshView<'a>,
    sets: &'a [NamedSet],
    geometry: Geometry<'a>,
}

impl Finder<'_> {
    fn by_labels(&self, pairs: &[[u32; 2]]) -> Message<Vec<[u32; 2]>> {
        let mut order: Vec<(u32, u32)> = self.view.labels.iter().copied().zip(0..).collect();
        order.sort_unstable();
        let find = |label: u32| {
            let at = order.partition_point(|entry| entry.0 < label);
            match order.get(at..).unwrap_or_default() {
                [first, second, ..] if first.0 == label && second.0 == label => {
                    Err(format!("several particles have the label {label}: use `at`, or sets"))
                }
                [first, ..] if first.0 == label => Ok(first.1),
                _ => Err(format!("no particle has the label {label}")),
            }
        };
        pairs.iter().map(|[a, b]| Ok(sorted(find(*a)?, find(*b)?))).collect()
    }

    /// The springs that a table erases. Sets stand for springs of the model and for those that are added to it.
    fn erased(&self, given: &Erase, additions: &[SpringAddition]) -> Message<Vec<[u32; 2]>> {
        if let Some(pairs) = &given.pairs {
            return self.by_labels(pairs);
        }
        let inside = |name: &str| -> Message<Vec<bool>> {
            let mut inside = vec![false; self.view.n_particles()];
            find_set(self.sets, name, "particle")?.members.iter().for_each(|&member| inside[member as usize] = true);
            Ok(inside)
        };
        let (one, other) = match (&given.within, &given.between) {
            (Some(name), _) => (inside(name)?, None),
            (None, Some([a, b])) => (inside(a)?, Some(inside(b)?)),
            (None, None) => return Ok(Vec::new()),
        };
        let is_meant = |[a, b]: [u32; 2]| {
            let (a, b) = (a as usize, b as usize);
            match &other {
                None => one[a] && one[b],
                Some(other) => one[a] && other[b] || other[a] && one[b],
            }
        };
        let particles = 0..self.view.n_particles() as u32;
        let there = particles.flat_map(|particle| {
            let springs = self.view.springs(particle as usize).map(move |spring| [particle, spring.other]);
            springs.filter(|[a, b]| a < b)
        });
        let added = additions.iter().flat_map(|addition| addition.springs.iter().copied());
        let springs: Vec<[u32; 2]> = there.chain(added).filter(|&pair| is_meant(pair)).collect();
        if springs.is_empty() {
            return Err("no spring is meant by this table".to_owned());
        }
        Ok(springs)
    }

    fn added(&self, given: &Add) -> Message<Vec<[u32; 2]>> {
        let springs = match (&given.pairs, &given.at) {
            (Some(pairs), _) => self.by_labels(pairs)?,
            (None, Some(points)) => {
                let nearest = |point: [f64; 3]| self.geometry.nearest(point).map(|found| found.node);
                let found = points.iter().map(|[a, b]| Some(sorted(nearest(*a)?, nearest(*b)?)));
                found.collect::<Option<Vec<_>>>().ok_or("the model has no particle")?
            }
            (None, None) => Vec::new(),
        };
        if springs.is_empty() {
            return Err(format!("{} added", counted(0, "spring")));
        }
        match springs.iter().find(|[a, b]| a == b) {
            Some([a, _]) => Err(format!("both ends are particle {}", self.view.labels[*a as usize])),
            None => Ok(springs),
        }
    }
}

fn sorted(a: u32, b: u32) -> [u32; 2] {
    [a.min(b), a.max(b)]
}
