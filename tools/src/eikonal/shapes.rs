//! Checks of elements: those without volume are refused, inverted ones are turned, and duplicates are found.

use pogo_formats::eikonal::EikonalMeshView;
use pogo_formats::read::mesh::MeshFile;
use pogo_formats::system::parallel::iterate::*;

use super::EikonalError;
use crate::elements::{cross, dot, norm, sub};

/// An element has no volume if |V| is below this fraction of (longest edge)ᵈ.
const FLAT: f64 = 1e-13;
/// Most labels that are named.
const MOST: usize = 8;

/// Swaps two nodes of inverted tetrahedra and of inverted triangles in the plane, which changes only the sign of their volume.
/// Gives a note that counts them.
///
/// # Errors
/// Elements without area or volume.
pub(super) fn orient(file: &mut MeshFile) -> Result<Option<String>, EikonalError> {
    let corners = file.corners;
    let points = file.coordinates.as_chunks::<3>().0;
    let plane = file.plane;
    // Elements to turn or to refuse, and whether they have a volume.
    let found: Vec<(usize, bool)> = file
        .elements
        .par_chunks_exact(corners)
        .enumerate()
        .filter_map(|(element, nodes)| {
            let x = |k: usize| points[nodes[k] as usize];
            let edge = |k: usize| sub(x(k), x(0));
            let (a, b) = (edge(1), edge(2));
            let normal = cross(a, b);
            let mut longest = dot(a, a).max(dot(b, b));
            let measure = if corners == 4 {
                let c = edge(3);
                longest = longest.max(dot(c, c));
                dot(normal, c)
            } else if plane {
                normal[2]
            } else {
                norm(normal)
            };
            let limit = FLAT * longest.sqrt().powi(corners as i32 - 1);
            // Also false for a NaN.
            let has_volume = measure.abs() > limit;
            (!has_volume || measure < 0.0).then_some((element, has_volume))
        })
        .collect();
    let list = |which: bool| {
        let all: Vec<usize> =
            found.iter().filter(|(_, turned)| *turned == which).map(|(element, _)| *element).collect();
        let names: Vec<String> = all.iter().take(MOST).map(|&e| file.element_labels[e].to_string()).collect();
        let more = if all.len() > MOST { format!(" and {} more", all.len() - MOST) } else { String::new() };
        (all, names.join(", ") + &more)
    };
    let (flat, names) = list(false);
    if let Some(&first) = flat.first() {
        let measure = if corners == 4 { "volume" } else { "area" };
        let (place, n) = (file.place_of(first), file.n_elements());
        return Err(EikonalError::Flat { place, count: flat.len(), n, measure, names });
    }
    let (turned, names) = list(true);
    if turned.is_empty() {
        return Ok(None);
    }
    let note = format!(
        "{}: note: nodes run the wrong way round and were turned back in {} elements: {names}",
        file.place_of(turned[0]),
        turned.len()
    );
    for element in turned {
        file.elements.swap(corners * element + 1, corners * element + 2);
    }
    Ok(Some(note))
}

/// Elements with the same nodes as the one before them in solver order.
pub fn twins(mesh: &EikonalMeshView) -> Vec<usize> {
    let nodes = |element: usize| {
        let mut nodes = [u32::MAX; 4];
        nodes[..mesh.corners].copy_from_slice(mesh.nodes(element));
        nodes.sort_unstable();
        nodes
    };
    (1..mesh.n_elements()).into_par_iter().filter(|&element| nodes(element) == nodes(element - 1)).collect()
}
