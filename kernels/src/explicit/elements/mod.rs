//! Finite elements: shape functions, elasticity, masses, stable increments, stresses. Everything here is the readable
//! double-precision reference; the inner loop of [`crate::explicit`] has its own vectorised forms, tested against it.

mod elasticity;
mod fields;
mod mass;
mod shape;
mod stable;
mod stiffness;

#[cfg(test)]
mod tests;

pub use elasticity::{MaterialError, SectionProperties, global_elasticity, plane_elasticity, section_properties};
pub use fields::{ElementFields, ElementProbe, element_fields, element_probes, energy_density, mises};
pub(crate) use mass::mass_change;
pub use mass::{element_masses, element_volumes, lumped_mass, nodal_damping};
pub(crate) use shape::CORNERS;
pub use shape::{QuadraturePoint, quadrature, shape_functions};
pub use stable::{RESOLUTION, StableIncrement, global_stable_increment, stable_increment};
pub(crate) use stiffness::hourglass_modulus;
pub use stiffness::{HOURGLASS_COEFFICIENT, element_stiffness, hourglass_vectors};

use pogo_formats::mesh::ElementKind;
use pogo_formats::mesh::{GroupView, MeshView};
use rayon::prelude::*;

/// What is wrong with an element or with the tables beside it.
#[derive(Debug, thiserror::Error, Clone, PartialEq)]
pub enum ElementError {
    /// Elements that are inside out, flat, or so distorted that a nodal mass is not positive.
    #[error(
        "{count} elements have no positive volume at an integration point or node (first: element index {first}); \
         check the order of their nodes and their shape"
    )]
    NonPositiveVolume {
        /// How many.
        count: usize,
        /// Element index of the first.
        first: usize,
        /// Element indices of the first few, at most 16.
        elements: Vec<usize>,
    },
    /// An array has the wrong length.
    #[error("{what}: {found} entries where {expected} are needed")]
    Length {
        /// Which array.
        what: &'static str,
        /// Needed.
        expected: usize,
        /// Given.
        found: usize,
    },
    /// An element names a section or a node that is not there.
    #[error("element index {element} refers to a section or node that does not exist")]
    Reference {
        /// Element index.
        element: usize,
    },
    /// Something that must be a positive number is not.
    #[error("{what} must be positive and finite, found {value}")]
    NotPositive {
        /// Which quantity.
        what: &'static str,
        /// What it is.
        value: f64,
    },
}

/// One element with its nodes' positions; rows beyond the element's own nodes are zero, as is z in 2D.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Element<'a> {
    /// Element index.
    pub index: usize,
    pub kind: ElementKind,
    pub section: usize,
    pub nodes: &'a [u32],
    pub positions: [[f64; 3]; 8],
}

/// Applies `each` to every element, in parallel, in fixed chunks; the results come back in element order.
///
/// # Errors
/// [`ElementError::Reference`] when a table points outside another.
pub(crate) fn map_elements<R: Send>(
    mesh: &MeshView,
    n_sections: usize,
    each: impl Fn(&Element) -> R + Sync,
) -> Result<Vec<R>, ElementError> {
    let chunks = map_chunks(mesh, n_sections, |elements| {
        let mut out = Vec::with_capacity(CHUNK);
        elements(&mut |element| out.push(each(element)));
        out
    })?;
    Ok(chunks.into_iter().flatten().collect())
}

/// Elements a chunk: fixed, so that results never depend on the number of threads.
pub(crate) const CHUNK: usize = 2048;

/// Applies `each` to fixed chunks of elements, in parallel; the argument runs a function over the chunk's elements.
pub(crate) fn map_chunks<R: Send>(
    mesh: &MeshView,
    n_sections: usize,
    each: impl Fn(&dyn Fn(&mut dyn FnMut(&Element))) -> R + Sync,
) -> Result<Vec<R>, ElementError> {
    let mut out = Vec::new();
    let mut first = 0;
    for group in &mesh.groups {
        let n = group.labels.len();
        check_group(mesh, group, first, n_sections)?;
        let chunks: Vec<R> = (0..n.div_ceil(CHUNK))
            .into_par_iter()
            .map(|chunk| {
                each(&|visit| {
                    for i in chunk * CHUNK..((chunk + 1) * CHUNK).min(n) {
                        visit(&element(mesh, group, first, i));
                    }
                })
            })
            .collect();
        out.extend(chunks);
        first += n;
    }
    Ok(out)
}

/// Sums what every element gives to each of its nodes, in element order whatever the number of threads, (n_nodes,); and
/// the elements that give nothing.
pub(crate) fn sum_to_nodes(
    mesh: &MeshView,
    n_sections: usize,
    each: impl Fn(&Element) -> Option<[f64; 8]> + Sync,
) -> Result<(Vec<f64>, Vec<usize>), ElementError> {
    let mut sums = vec![0.0; mesh.n_nodes()];
    let mut bad = Vec::new();
    let mut first = 0;
    for group in &mesh.groups {
        let n_nodes = group.kind.n_nodes();
        check_group(mesh, group, first, n_sections)?;
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

/// Lengths and references of a group.
fn check_group(mesh: &MeshView, group: &GroupView, first: usize, n_sections: usize) -> Result<(), ElementError> {
    let n_nodes = group.kind.n_nodes();
    let n = group.labels.len();
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
    bad.map_or(Ok(()), |i| Err(ElementError::Reference { element: first + i }))
}

fn positions(mesh: &MeshView, nodes: &[u32]) -> [[f64; 3]; 8] {
    let mut x = [[0.0; 3]; 8];
    for (row, &node) in x.iter_mut().zip(nodes) {
        let at = node as usize * mesh.dimension;
        row[..mesh.dimension].copy_from_slice(&mesh.coordinates[at..at + mesh.dimension]);
    }
    x
}

/// One point with hourglass control.
pub(crate) const fn is_reduced(kind: ElementKind) -> bool {
    matches!(kind, ElementKind::Cpe4r | ElementKind::Cps4r | ElementKind::C3d8r)
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
