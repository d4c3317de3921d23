//! The grids of hexahedra.

use rayon::prelude::*;

use super::super::corner::ways_of;
use super::super::grid::{CORNERS, NODE, NOTHING, PRESENT, WHOLE};
use super::super::{DeviceView, MeshView};
use super::{Check, require};
use crate::model::ElementKind;

/// What a kernel follows.
pub(super) fn all(device: &DeviceView, n_nodes: usize) -> Check {
    let n_grids = device.grid_material.len();
    let n_places = device.grid_size.chunks(3).try_fold(0_usize, |sum, size| {
        size.iter().try_fold(1_usize, |n, &along| n.checked_mul(along as usize)).and_then(|n| sum.checked_add(n))
    });
    let fits = device.grid_size.len() == 3 * n_grids && n_places == Some(device.grid_places.len());
    require(fits, || "grids of hexahedra: tables of different lengths".into())?;
    for (number, grid) in device.grids().enumerate() {
        let hexahedra = device.material_kind.get(grid.material).is_some_and(|&kind| is_hexahedron(kind));
        require(hexahedra, || format!("grid {number}: of a material that is not of hexahedra"))?;
        grid.places.par_iter().enumerate().try_for_each(|(place, &word)| {
            let node = word & NODE;
            let fits = if node == NOTHING { word == NOTHING } else { (node as usize) < n_nodes };
            let at = grid.position(place);
            // All corners of an element are there.
            let corner = |&[a, b, c]: &[usize; 3]| {
                let corner = [at[0] + a, at[1] + b, at[2] + c];
                (0..3).all(|i| corner[i] < grid.size[i]) && grid.places[grid.place(corner)] & NODE != NOTHING
            };
            require(fits && (word & PRESENT == 0 || CORNERS.iter().all(corner)), || {
                format!("grid {number}: place {place} leads nowhere")
            })
        })?;
    }
    Ok(())
}

fn is_hexahedron(kind: u8) -> bool {
    matches!(ElementKind::from_code(kind), Some(ElementKind::C3d8 | ElementKind::C3d8r))
}

/// The elements are the mesh's, each in one place, and whole nodes have no others.
pub(super) fn agree(mesh: &MeshView, device: &DeviceView) -> Check {
    if device.grid_places.is_empty() {
        return Ok(());
    }
    let ways = ways_of(ElementKind::C3d8);
    let named = |nodes: [u32; 8]| ways.iter().map(|way| way.map(|corner| nodes[usize::from(corner)])).min();
    let mut n_elements = vec![0_u32; mesh.n_nodes()];
    let mut expected = Vec::new();
    for group in &mesh.groups {
        for (nodes, &section) in group.connectivity.chunks_exact(group.kind.n_nodes()).zip(group.section) {
            for (at, &node) in nodes.iter().enumerate() {
                n_elements[node as usize] += u32::from(!nodes[..at].contains(&node));
            }
            if let Ok(nodes) = <[u32; 8]>::try_from(nodes) {
                expected.push((group.kind as u8, section, nodes));
            }
        }
    }
    expected.par_iter_mut().for_each(|element| element.2 = named(element.2).unwrap_or_default());
    expected.par_sort_unstable();
    let mut found = vec![false; expected.len()];
    for (number, grid) in device.grids().enumerate() {
        let (kind, section) = (device.material_kind[grid.material], device.material_section[grid.material]);
        let present = (0..grid.places.len()).into_par_iter().filter(|&place| grid.places[place] & PRESENT != 0);
        let elements: Vec<Option<usize>> = present
            .map(|place| {
                let element = (kind, section, named(grid.element(place)).unwrap_or_default());
                expected.binary_search(&element).ok()
            })
            .collect();
        for at in elements {
            let alone = at.is_some_and(|at| !std::mem::replace(&mut found[at], true));
            require(alone, || format!("grid {number}: an element that the mesh does not have, or in two places"))?;
        }
        for (place, &word) in grid.places.iter().enumerate().filter(|(_, word)| *word & WHOLE != 0) {
            let there = grid.n_around(grid.position(place));
            require(n_elements[(word & NODE) as usize] as usize == there, || {
                format!("grid {number}: node {} has other elements, too", word & NODE)
            })?;
        }
    }
    Ok(())
}
