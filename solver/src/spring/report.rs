//! What a run says of its springs: those that came and went, changes that did nothing, and errors by the user's labels.

use pogo_formats::spring::results::SpringEvent;
use pogo_formats::spring::{CutShape, SpringMeshView, SpringSetup};
use pogo_kernels::spring::{Cause, Change, SpringError};

/// Warnings about cuts, erasures and additions that changed nothing in a run up to the time `end`, s.
pub(super) fn idle_changes(setup: &SpringSetup, changes: &[Change], end: f64) -> Vec<String> {
    let is_idle = |cause: Cause| changes.iter().all(|change| change.cause != cause);
    let warning = |name: &str, time: f64, why: &str| {
        let late = format!("its time, {time} s, is not before the end of the run");
        format!("{name} does nothing: {}", if time >= end * (1.0 - 1e-9) { &late } else { why })
    };
    let cuts = setup.cuts.iter().zip(0..).map(|(cut, index)| {
        let start = match &cut.shape {
            CutShape::Blade { times, .. } => cut.time + times.first().copied().unwrap_or(0.0),
            _ => cut.time,
        };
        (Cause::Cut(index), &cut.name, start, "it crosses no spring")
    });
    let erasures = setup.erasures.iter().zip(0..);
    let erasures =
        erasures.map(|(it, index)| (Cause::Erased(index), &it.name, it.time, "none of its springs is there"));
    let additions = setup.additions.iter().zip(0..);
    let additions =
        additions.map(|(it, index)| (Cause::Added(index), &it.name, it.time, "its springs are there already"));
    let idle = cuts.chain(erasures).chain(additions).filter(|(cause, ..)| is_idle(*cause));
    idle.map(|(_, name, time, why)| warning(name, time, why)).collect()
}

/// A row of `broken.csv`.
pub(super) fn event(change: &Change, mesh: &SpringMeshView<'_>, setup: &SpringSetup, dt: f64) -> SpringEvent {
    let [a, b] = change.particles;
    let of_mesh = || mesh.springs(a as usize).find(|spring| spring.other == b).map(|spring| spring.group);
    let of_addition = || {
        let joins = |springs: &[[u32; 2]]| springs.contains(&[a, b]) || springs.contains(&[b, a]);
        setup.additions.iter().find(|addition| joins(&addition.springs)).map(|addition| addition.group)
    };
    let (group, cause) = match change.cause {
        Cause::Broken => (None, "strain".to_owned()),
        Cause::Cut(index) => (None, format!("cut {}", setup.cuts[index as usize].name)),
        Cause::Erased(index) => (None, format!("erase {}", setup.erasures[index as usize].name)),
        Cause::Added(index) => {
            let addition = &setup.additions[index as usize];
            (Some(addition.group), format!("add {}", addition.name))
        }
    };
    let group = group.or_else(of_mesh).or_else(of_addition).and_then(|group| setup.groups.get(group as usize));
    let names = mesh.particle_names();
    SpringEvent {
        time: change.step as f64 * dt,
        particles: [names.of(a), names.of(b)],
        group: group.map_or_else(String::new, |group| group.name.clone()),
        cause,
    }
}

/// An error of the kernels, which know indices only, with the user's labels.
pub(super) fn explain(error: &SpringError, mesh: &SpringMeshView<'_>) -> String {
    let names = mesh.particle_names();
    match error {
        SpringError::NotInGrid { particles: [a, b] } => format!(
            "the spring added from particle {} to {} does not join neighbours in the grid, or is not of the group that their \
             materials have; use --addressing explicit",
            names.of(*a),
            names.of(*b)
        ),
        SpringError::Addition { particles: [a, b], reason } => {
            format!("the spring from particle {} to {} cannot be added: {reason}", names.of(*a), names.of(*b))
        }
        other => other.to_string(),
    }
}
