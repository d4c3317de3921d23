//! Finite elements: shape functions, elasticity, masses, stable increments, stresses. Everything here is the readable
//! double-precision reference; the inner loop of [`crate::explicit`] has its own vectorised forms, tested against it.

mod damped;
mod elasticity;
mod fields;
mod impedance;
mod mass;
mod shape;
mod stable;
mod stiffness;

#[cfg(test)]
mod tests;

pub use damped::{damped_factors, damped_stable_increment};
pub(crate) use elasticity::plane_elasticity;
pub use elasticity::{MaterialError, SectionProperties, section_properties};
pub use fields::{ElementFields, ElementProbe, element_fields, element_probes, energy_density, mises};
pub use impedance::impedance;
pub(crate) use mass::mass_change;
pub use mass::{lumped_mass, nodal_damping};
pub(crate) use shape::{CORNERS, full_quadrature, quadrature};
pub use stable::{
    RESOLUTION, StableIncrement, global_stable_increment, joint_increment, stable_increment, stable_increment_of,
};
pub use stiffness::element_stiffness;
pub(crate) use stiffness::{HOURGLASS_COEFFICIENT, hourglass_modulus};

use pogo_formats::mesh::{ElementKind, GroupView, MeshView};
use pogo_formats::system::parallel::iterate::*;

/// What is wrong with an element or with the tables beside it.
#[derive(Debug, thiserror::Error, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum ElementError {
    /// Elements that are inside out, flat, or so distorted that a nodal mass is not positive; the indices of the first few.
    #[error(
        "{count} elements have no positive volume at an integration point or node (first: element index {first}); \
         check the order of their nodes and their shape"
    )]
    NonPositiveVolume { count: usize, first: usize, elements: Vec<usize> },
    #[error("{what}: {found} entries where {expected} are needed")]
    Length { what: &'static str, expected: usize, found: usize },
    /// An element names a section or a node that is not there.
    #[error("element index {element} refers to a section or node that does not exist")]
    Reference { element: usize },
    #[error("{what} must be positive and finite, found {value}")]
    NotPositive { what: &'static str, value: f64 },
}

/// One element with its nodes' positions; rows beyond the element's own nodes are zero, as is z in 2D.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Element<'a> {
    pub index: usize,
    pub kind: ElementKind,
    pub section: usize,
    pub nodes: &'a [u32],
    pub positions: [[f64; 3]; 8],
}

/// Applies `each` to every element, in parallel; the results come in element order.
///
/// # Errors
/// [`ElementError::Reference`] when a table points outside another.
pub(crate) fn map_elements<R: Send>(
    mesh: &MeshView,
    n_sections: usize,
    each: impl Fn(&Element) -> R + Sync,
) -> Result<Vec<R>, ElementError> {
    check_groups(mesh, n_sections)?;
    let mut out = Vec::with_capacity(mesh.n_elements());
    let mut first = 0;
    for group in &mesh.groups {
        let n = group.labels.len();
        out.par_extend((0..n).into_par_iter().with_min_len(CHUNK).map(|i| each(&element(mesh, group, first, i))));
        first += n;
    }
    Ok(out)
}

/// Elements that a thread takes at a time.
pub(crate) const CHUNK: usize = 2048;

/// Sums what every element gives to each of its nodes, in element order whatever the number of threads, (n_nodes,); and
/// the elements that give nothing.
pub(crate) fn sum_to_nodes(
    mesh: &MeshView,
    n_sections: usize,
    each: impl Fn(&Element) -> Option<[f64; 8]> + Sync,
) -> Result<(Vec<f64>, Vec<usize>), ElementError> {
    check_groups(mesh, n_sections)?;
    let mut sums = vec![0.0; mesh.n_nodes()];
    let mut bad = Vec::new();
    let mut first = 0;
    for group in &mesh.groups {
        let n_nodes = group.kind.n_nodes();
        // A window at a time: the shares of all elements together would take more memory than the mesh.
        let n = group.labels.len();
        let share_of = |i: usize| each(&element(mesh, group, first, i));
        let mut shares = vec![0.0; n_nodes * n.min(64 * CHUNK)];
        for window in (0..n).step_by(64 * CHUNK) {
            let end = (window + 64 * CHUNK).min(n);
            let shares = &mut shares[..n_nodes * (end - window)];
            let all = shares
                .par_chunks_exact_mut(n_nodes)
                .zip(window..end)
                .with_min_len(CHUNK)
                .map(|(shares, i)| {
                    let share = share_of(i);
                    shares.copy_from_slice(&share.unwrap_or_default()[..n_nodes]);
                    share.is_some()
                })
                .reduce(|| true, |a, b| a & b);
            if !all {
                bad.extend((window..end).filter(|&i| share_of(i).is_none()).map(|i| first + i));
            }
            let nodes = &group.connectivity[n_nodes * window..n_nodes * end];
            for (&node, &share) in nodes.iter().zip(&*shares) {
                sums[node as usize] += share;
            }
        }
        first += n;
    }
    Ok((sums, bad))
}

/// Element i of a group whose first element has the index `first`.
fn element<'a>(mesh: &MeshView, group: &GroupView<'a>, first: usize, i: usize) -> Element<'a> {
    let n_nodes = group.kind.n_nodes();
    let nodes = &group.connectivity[i * n_nodes..(i + 1) * n_nodes];
    Element {
        index: first + i,
        kind: group.kind,
        section: group.section[i] as usize,
        nodes,
        positions: positions(mesh, nodes),
    }
}

/// Checks lengths and references of all groups.
fn check_groups(mesh: &MeshView, n_sections: usize) -> Result<(), ElementError> {
    let mut first = 0;
    for group in &mesh.groups {
        let (n, n_nodes) = (group.labels.len(), group.kind.n_nodes());
        if group.connectivity.len() != n * n_nodes || group.section.len() != n {
            return Err(ElementError::Length {
                what: "connectivity of an element group",
                expected: n * n_nodes,
                found: group.connectivity.len(),
            });
        }
        let total = mesh.coordinates.len() / mesh.dimension.max(1);
        let bad = (0..n).into_par_iter().with_min_len(CHUNK).find_first(|&i| {
            group.section[i] as usize >= n_sections
                || group.connectivity[i * n_nodes..(i + 1) * n_nodes].iter().any(|&node| node as usize >= total)
        });
        if let Some(i) = bad {
            return Err(ElementError::Reference { element: first + i });
        }
        first += n;
    }
    Ok(())
}

/// Positions of up to eight nodes; rows beyond them are zero, as is z in 2D.
pub fn positions(mesh: &MeshView, nodes: &[u32]) -> [[f64; 3]; 8] {
    let mut x = [[0.0; 3]; 8];
    for (row, &node) in x.iter_mut().zip(nodes) {
        let at = node as usize * mesh.dimension;
        row[..mesh.dimension].copy_from_slice(&mesh.coordinates[at..at + mesh.dimension]);
    }
    x
}

/// Thickness to integrate with: 1 in 3D.
pub(crate) fn thickness(kind: ElementKind, thickness: f64) -> f64 {
    if kind.dimension() == 2 { thickness } else { 1.0 }
}

fn collect_bad(bad: Vec<usize>) -> Result<(), ElementError> {
    match bad.first() {
        None => Ok(()),
        Some(&first) => Err(ElementError::NonPositiveVolume {
            count: bad.len(),
            first,
            elements: bad.into_iter().take(16).collect(),
        }),
    }
}
