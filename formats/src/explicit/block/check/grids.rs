//! The grids of hexahedra and tetrahedra.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::super::DeviceView;
use super::super::corner::ways_of;
use super::super::grid::{CORNERS, NODE, NOTHING, PRESENT, WHOLE, tetrahedra};
use crate::block::check::{Check, require};
use crate::mesh::{ElementKind, ElementShape, GroupView, MeshView};
use crate::system::parallel::iterate::*;

/// What a kernel follows.
pub(super) fn all(device: &DeviceView, n_nodes: usize) -> Check {
    let n_places = device.grid_size.chunks(3).try_fold(0_usize, |sum, size| {
        size.iter().try_fold(1_usize, |n, &along| n.checked_mul(along as usize)).and_then(|n| sum.checked_add(n))
    });
    let fits = n_places == Some(device.grid_places.len());
    require(fits, || "grids: tables of different lengths".into())?;
    for (number, grid) in device.grids().enumerate() {
        let kind = device.material_kind.get(grid.material).and_then(|&kind| ElementKind::from_code(kind));
        require(kind.is_some_and(stands_in_grids), || {
            format!("grid {number}: of a material that is neither of hexahedra nor of tetrahedra")
        })?;
        grid.places.par_iter().enumerate().try_for_each(|(place, &word)| {
            let node = word & NODE;
            let fits = if node == NOTHING { word == NOTHING } else { (node as usize) < n_nodes };
            let at = grid.position(place);
            // All corners of a cell are there.
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

fn stands_in_grids(kind: ElementKind) -> bool {
    matches!(kind.shape(), ElementShape::Tetrahedron | ElementShape::Hexahedron)
}

/// The elements are the mesh's, each in one place, and whole nodes have no others.
pub(super) fn agree(mesh: &MeshView, device: &DeviceView) -> Check {
    if device.grid_places.is_empty() {
        return Ok(());
    }
    let mut n_elements = vec![0_u32; mesh.n_nodes()];
    for group in &mesh.groups {
        for nodes in group.connectivity.chunks_exact(group.kind.n_nodes()) {
            for (at, &node) in nodes.iter().enumerate() {
                n_elements[node as usize] += u32::from(!nodes[..at].contains(&node));
            }
        }
    }
    let groups: Vec<Group> = mesh
        .groups
        .iter()
        .filter(|group| stands_in_grids(group.kind))
        .map(|group| Group::new(group, mesh.n_nodes()))
        .collect();
    for (number, grid) in device.grids().enumerate() {
        let (kind, section) = (device.material_kind[grid.material], device.material_section[grid.material]);
        let kind = ElementKind::from_code(kind).unwrap_or(ElementKind::C3d8);
        let taken = |nodes: &[u32]| groups.iter().any(|group| group.kind == kind && group.take(nodes, section));
        let fits =
            (0..grid.places.len()).into_par_iter().filter(|&place| grid.places[place] & PRESENT != 0).all(|place| {
                match kind {
                    ElementKind::C3d4 | ElementKind::Ac3d4 => {
                        tetrahedra(grid.cell(place)).iter().all(|nodes| taken(nodes))
                    }
                    _ => taken(&grid.cell(place)),
                }
            });
        require(fits, || format!("grid {number}: an element that the mesh does not have, or in two places"))?;
        for (place, &word) in grid.places.iter().enumerate().filter(|(_, word)| *word & WHOLE != 0) {
            let there = grid.n_around(grid.position(place), kind);
            require(n_elements[(word & NODE) as usize] as usize == there, || {
                format!("grid {number}: node {} has other elements, too", word & NODE)
            })?;
        }
    }
    Ok(())
}

/// The elements of a group by their lowest nodes.
struct Group<'a> {
    kind: ElementKind,
    section: &'a [u32],
    connectivity: &'a [u32],
    ways: Vec<[u8; 8]>,
    /// First entry of each node in `elements`, (n_nodes + 1,).
    first: Vec<u32>,
    elements: Vec<u32>,
    /// Which elements are in a grid.
    taken: Vec<AtomicBool>,
}

impl<'a> Group<'a> {
    fn new(group: &GroupView<'a>, n_nodes: usize) -> Self {
        let lowest = |nodes: &[u32]| nodes.iter().min().map_or(0, |&node| node as usize);
        let nodes = group.connectivity.chunks_exact(group.kind.n_nodes());
        let mut first = vec![0_u32; n_nodes + 1];
        nodes.clone().for_each(|nodes| first[lowest(nodes)] += 1);
        let mut sum = 0;
        for first in &mut first {
            sum += *first;
            *first = sum;
        }
        let mut elements = vec![0; nodes.len()];
        for (element, nodes) in (0_u32..).zip(nodes.clone()) {
            let first = &mut first[lowest(nodes)];
            *first -= 1;
            elements[*first as usize] = element;
        }
        Self {
            kind: group.kind,
            section: group.section,
            connectivity: group.connectivity,
            ways: ways_of(group.kind),
            first,
            taken: nodes.map(|_| AtomicBool::new(false)).collect(),
            elements,
        }
    }

    /// Takes an element of a section with these nodes, however it is turned, if one is left.
    fn take(&self, nodes: &[u32], section: u32) -> bool {
        let Some(lowest) = nodes.iter().min().map(|&node| node as usize) else { return false };
        let same = |&&element: &&u32| {
            let other = &self.connectivity[nodes.len() * element as usize..][..nodes.len()];
            let turned =
                |way: &[u8; 8]| nodes.iter().zip(way).all(|(&node, &corner)| other[usize::from(corner)] == node);
            self.section[element as usize] == section && self.ways.iter().any(turned)
        };
        self.elements[self.first[lowest] as usize..self.first[lowest + 1] as usize]
            .iter()
            .filter(same)
            .any(|&element| !self.taken[element as usize].swap(true, Relaxed))
    }
}
