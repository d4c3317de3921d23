//! Linear constraints: from the rows of a setup to those that kernels step, and what is refused with them.

use pogo_formats::dynamics::{LinearTerm, LoadKind};
use pogo_formats::explicit::Setup;
use pogo_formats::mesh::MeshView;
use pogo_kernels::dynamics::signals::{Signal, Signals};
use pogo_kernels::explicit::{Inertia, LinearRows, Problem, Projection, ProjectionError};

use super::assemble::Actions;
use super::loads::LoadError;
use super::matter::Matter;
use crate::call::Call;
use crate::error::SolveError;
use crate::observe::Observer;
use crate::run::conditions::{self, ConditionError, Dofs, ForceSum, is_absolute};

/// Refuses rows that contradict what is prescribed, and notes those that say nothing new.
///
/// # Errors
/// Such rows, and what constraints are not computed with.
pub(super) fn check(
    problem: &Problem<'_>,
    setup: &Setup,
    call: &Call<'_>,
    observer: &mut dyn Observer,
) -> Result<(), SolveError> {
    if let Some(what) = problem.beside_rows() {
        return Err(
            call.refuse(format!("linear constraints are not computed together with {what}: leave one of them out"))
        );
    }
    if problem.rows.is_empty() {
        return Ok(());
    }
    // What rows allow does not depend on damping.
    let inertia = Inertia {
        dimension: problem.mesh.dimension,
        components: problem.mesh.dimension,
        lumped_mass: &problem.lumped_mass,
        damping_rate: &[],
        dashpots: &[],
        time_increment: 0.0,
        constraints: &problem.constraints,
    };
    let checked = Projection::new(&problem.rows, &inertia).and_then(|projection| {
        projection.check(&problem.constraints)?;
        Ok(projection.n_redundant())
    });
    let n_redundant = checked.map_err(|error| match error {
        ProjectionError::Contradiction { row } => {
            let name = setup.linear.name(row);
            let why = "contradicts what is prescribed at its nodes";
            call.refuse(format!("{name} (row {} of all linear constraints) {why}: leave one of them out", row + 1))
        }
        error => call.refuse(error),
    })?;
    if n_redundant > 0 {
        observer.note(&format!(
            "note: {n_redundant} of {} rows of linear constraints follow from others, or from what is prescribed",
            problem.rows.n_rows()
        ));
    }
    Ok(())
}

/// The rows over degrees of freedom, with the massless unknowns that are prescribed.
///
/// # Errors
/// References beyond the model.
pub(super) fn rows(
    mesh: &MeshView<'_>,
    setup: &Setup,
    signals: &mut Signals<'_>,
) -> Result<LinearRows, ConditionError> {
    let (linear, dofs) = (&setup.linear, super::dofs(mesh));
    let n_dofs = dofs.n() as u64;
    let dof = |term: &LinearTerm| match term.is_massless() {
        true => n_dofs + u64::from(term.node),
        // The unknown of a fluid stands in the place of the first component.
        false if term.component == LinearTerm::PRESSURE => dofs.at(term.node, 0),
        false => dofs.at(term.node, term.component),
    };
    let massless = massless(setup);
    let rest = Default::default();
    let prescribed = conditions::constraints(massless, &linear.prescribed, &setup.amplitudes, &rest, signals)?;
    Ok(LinearRows {
        first: linear.row_first.clone(),
        dofs: linear.terms.iter().map(dof).collect(),
        coefficients: linear.terms.iter().map(|term| term.coefficient).collect(),
        n_dofs,
        n_massless: massless.n_nodes,
        prescribed,
    })
}

/// Massless unknowns, as degrees of freedom.
fn massless(setup: &Setup) -> Dofs {
    Dofs { n_nodes: setup.linear.massless.len(), dimension: 1 }
}

/// Adds the loads on massless unknowns to those on the nodes that carry them.
///
/// # Errors
/// References beyond the model; a load that no constraint carries.
pub(super) fn add_loads(
    setup: &Setup,
    rows: &LinearRows,
    dimension: usize,
    signals: &mut Signals<'_>,
    sum: &mut ForceSum,
) -> Result<(), LoadError> {
    for load in &setup.linear.loads {
        let LoadKind::Concentrated { nodes, .. } = &load.kind else { continue };
        let absolute = is_absolute(&setup.amplitudes, load.amplitude, &load.name)?;
        let magnitude = if absolute { 1.0 } else { load.magnitude };
        let signal = signals.column(Signal::Value(load.amplitude));
        for &index in nodes {
            massless(setup).check_node(&load.name, index)?;
            if rows.prescribed.binary_search_by_key(&u64::from(index), |held| held.dof).is_ok() {
                // The support takes it.
                continue;
            }
            let Some(forces) = rows.carried(index as usize) else {
                let unknown = setup.linear.massless[index as usize].clone();
                return Err(LoadError::NotCarried { name: load.name.clone(), unknown });
            };
            for (dof, part) in forces {
                let mut force = [0.0; 3];
                force[(dof % dimension as u64) as usize] = magnitude * part;
                sum.add((dof / dimension as u64) as u32, signal, force);
            }
        }
    }
    Ok(())
}

/// The projection of motions of a model in the metric of a step, or with Δt = 0 in that of its lumped masses.
///
/// # Errors
/// Too many massless unknowns that hang together.
pub(super) fn projection(
    matter: &Matter,
    dimension: usize,
    actions: &Actions,
    time_increment: f64,
) -> Result<Projection, ProjectionError> {
    let Matter { lumped_mass, damping_rate, dashpots, .. } = matter;
    let constraints = &actions.constraints;
    Projection::new(
        &actions.rows,
        &Inertia { dimension, components: dimension, lumped_mass, damping_rate, dashpots, time_increment, constraints },
    )
}
