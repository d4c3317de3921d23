//! What the kernels and the solver rely on, checked once: every index in range, every length right, positions finite.
//!
//! The writer checks what it is given and the reader what it finds with the same functions, so that nothing is written
//! that cannot be opened. Large tables are scanned in parallel.

mod device;
mod grids;
mod solids;

use super::{Blocks, BlocksView, ExplicitView};
use crate::block::Table;
use crate::block::check::{Check, all_below, offsets, require};
use crate::dynamics::LoadKind;
use crate::dynamics::check::Limits;
use crate::explicit::{FluidTies, Interface, Setup, TieShare};
use crate::mesh::{ElementKind, Mesh, MeshView};
use crate::system::parallel::iterate::*;

/// Everything that [`BlockFile::open`](super::BlockFile::open) promises.
pub(super) fn all(ExplicitView { mesh, blocks, device, .. }: &ExplicitView, setup: &Setup) -> Check {
    self::mesh(mesh, setup.sections.len())?;
    self::blocks(mesh, blocks, setup.sections.len())?;
    device::all(mesh, blocks, device, setup.sections.len())?;
    self::setup(mesh, setup)
}

fn mesh(mesh: &MeshView, n_sections: usize) -> Check {
    let (n_nodes, n_elements, dimension) = (mesh.n_nodes(), mesh.n_elements(), mesh.dimension);
    require(dimension == 2 || dimension == 3, || format!("mesh: dimension {dimension}"))?;
    require(n_nodes < u32::MAX as usize && n_elements < u32::MAX as usize, || "mesh: more than 2³² entries".into())?;
    Mesh::check(mesh)?;
    for group in &mesh.groups {
        let what = group.kind.name();
        require(group.kind.dimension() == dimension, || format!("{what} elements in a {dimension}D mesh"))?;
        all_below(&format!("instance of {what}"), group.instance, mesh.instances.len())?;
        all_below(&format!("section of {what}"), group.section, n_sections)?;
        all_below(&format!("connectivity of {what}"), group.connectivity, n_nodes)?;
    }
    for (name, members) in &mesh.node_sets {
        all_below(&format!("node set `{name}`"), members, n_nodes)?;
    }
    for (name, members) in &mesh.element_sets {
        all_below(&format!("element set `{name}`"), members, n_elements)?;
    }
    Ok(())
}

fn blocks(mesh: &MeshView, blocks: &BlocksView, n_sections: usize) -> Check {
    let n_blocks = blocks.n_blocks();
    Blocks::check(blocks)?;
    require(blocks.capacity > 0, || "blocks: capacity 0".into())?;
    offsets("nodes of blocks", blocks.node_first, n_blocks, mesh.n_nodes())?;
    all_below("section of runs", blocks.run_section, n_sections)?;
    all_below("elements of blocks", blocks.elements, mesh.n_elements())?;
    all_below("halo nodes", blocks.halo_nodes, mesh.n_nodes())?;
    (0..n_blocks).into_par_iter().try_for_each(|block| one_block(mesh, blocks, block))
}

fn one_block(mesh: &MeshView, blocks: &BlocksView, block: usize) -> Check {
    let (own, halo) = (blocks.own_nodes(block), blocks.halo(block));
    let n_local = own.len() + halo.len();
    require(n_local <= 1 << 16, || format!("block {block}: {n_local} nodes, more than 16-bit indices reach"))?;
    require(blocks.n_boundary[block] as usize <= own.len(), || {
        format!("block {block}: more boundary nodes than nodes")
    })?;
    require(halo.is_sorted_by(|a, b| a < b), || format!("block {block}: halo nodes are not sorted"))?;
    let from_own = |&node: &u32| own.contains(&(node as usize));
    require(!halo.iter().any(from_own), || format!("block {block}: one of its own nodes in its halo"))?;
    for run in blocks.run_first[block] as usize..blocks.run_first[block + 1] as usize {
        let Some(kind) = ElementKind::from_code(blocks.run_kind[run]) else {
            return Err(format!("run {run}: element kind {}", blocks.run_kind[run]));
        };
        require(kind.dimension() == mesh.dimension, || {
            format!("run {run}: {} in a {}D mesh", kind.name(), mesh.dimension)
        })?;
        let n = blocks.run_element_first[run + 1] - blocks.run_element_first[run];
        let entries = blocks.run_connectivity_first[run] as usize..blocks.run_connectivity_first[run + 1] as usize;
        require(entries.len() as u64 == n * kind.n_nodes() as u64, || {
            format!("run {run}: {} node indices for {n} {} elements", entries.len(), kind.name())
        })?;
        let largest = blocks.connectivity[entries].iter().copied().fold(0, u16::max);
        require(n == 0 || usize::from(largest) < n_local, || {
            format!("block {block}: local node {largest} where {n_local} exist")
        })?;
    }
    Ok(())
}

fn setup(mesh: &MeshView, setup: &Setup) -> Check {
    let (n_nodes, n_elements) = (mesh.n_nodes(), mesh.n_elements());
    let limits = Limits { amplitudes: &setup.amplitudes, n_nodes, dimension: mesh.dimension };
    limits.check(&setup.boundaries, &setup.initial_velocities, &setup.histories)?;
    setup.copied.check(n_nodes)?;
    setup.linear.check(&limits)?;
    interface(mesh, &setup.interface)?;
    for section in &setup.sections {
        require((section.material as usize) < setup.materials.len(), || {
            format!("section `{}`: a material that does not exist", section.name)
        })?;
    }
    for load in &setup.loads {
        limits.amplitude(&load.name, load.amplitude)?;
        self::load(mesh, &format!("load `{}`", load.name), &load.kind)?;
    }
    for layer in &setup.absorbing_layers {
        let what = format!("absorbing layer `{}`", layer.name);
        all_below(&what, &layer.elements, n_elements)?;
        require(layer.elements.len() == layer.depth_fraction.len(), || {
            format!("{what}: depths and elements differ in number")
        })?;
        let inside = layer.depth_fraction.iter().all(|depth| (0.0..=1.0).contains(depth));
        require(inside, || format!("{what}: a depth fraction outside [0, 1]"))?;
    }
    for boundary in &setup.impedances {
        let what = format!("impedance boundary `{}`", boundary.name);
        faces(mesh, &what, &boundary.faces, &boundary.elements)?;
        all_below(&format!("section of {what}"), &boundary.sections, setup.sections.len())?;
        require(boundary.sections.len() == boundary.faces.len(), || {
            format!("{what}: faces and sections differ in number")
        })?;
    }
    for history in &setup.element_histories {
        let what = format!("element history `{}`", history.set);
        all_below(&what, &history.elements, n_elements)?;
        let known = history.variables.iter().all(|&(quantity, index)| index < quantity.n_components());
        require(known, || format!("{what}: a component that does not exist"))?;
    }
    Ok(())
}

/// That faces have a node of a fluid and one of a solid at each corner.
fn interface(mesh: &MeshView, interface: &Interface) -> Check {
    ties(mesh, &interface.ties)?;
    let n = interface.elements.len();
    require(interface.fluid.len() == n && interface.solid.len() == n, || {
        "interface: faces and elements differ in number".into()
    })?;
    if n == 0 {
        return Ok(());
    }
    all_below("interface", &interface.elements, mesh.n_elements())?;
    let fluid = mesh.fluid_nodes();
    let is_fluid = |node: u32| fluid.get(node as usize).copied();
    for (one, other) in interface.fluid.iter().zip(&interface.solid) {
        let corners = one.iter().take_while(|&&node| node != u32::MAX).count();
        let good = corners >= mesh.dimension
            && one[..corners].iter().all(|&node| is_fluid(node) == Some(true))
            && other[..corners].iter().all(|&node| is_fluid(node) == Some(false))
            && one[corners..].iter().chain(&other[corners..]).all(|&node| node == u32::MAX);
        require(good, || "interface: a face without a node of a fluid and of a solid at each corner".into())?;
    }
    Ok(())
}

/// That shares of ties are those of corners that exist, of faces of fluids and nodes of solids.
fn ties(mesh: &MeshView, ties: &FluidTies) -> Check {
    let what = "ties of fluids";
    faces(mesh, what, &ties.faces, &ties.elements)?;
    let fluid = if ties.is_empty() { Vec::new() } else { mesh.fluid_nodes() };
    let is_fluid = |node: u32| fluid.get(node as usize).copied();
    let mut corners = ties.faces.as_flattened().iter().filter(|node| **node != u32::MAX);
    require(corners.all(|&node| is_fluid(node) == Some(true)), || format!("{what}: a face with a node of no fluid"))?;
    let good = |share: &TieShare| {
        let corner = ties.faces.get(share.face as usize).and_then(|face| face.get(share.corner as usize));
        corner.is_some_and(|&node| node != u32::MAX) && is_fluid(share.solid) == Some(false) && share.weight.is_finite()
    };
    require(ties.shares.iter().all(good), || format!("{what}: a share of no corner, or of no node of a solid"))
}

fn load(mesh: &MeshView, what: &str, kind: &LoadKind) -> Check {
    let (n_nodes, n_elements) = (mesh.n_nodes(), mesh.n_elements());
    match kind {
        LoadKind::Concentrated { nodes, weights, .. } | LoadKind::Volume { nodes, weights } => {
            all_below(what, nodes, n_nodes)?;
            require(weights.is_empty() || weights.len() == nodes.len(), || {
                format!("{what}: {} weights for {} nodes", weights.len(), nodes.len())
            })
        }
        LoadKind::Pressure { faces, elements } | LoadKind::Traction { faces, elements, .. } => {
            self::faces(mesh, what, faces, elements)
        }
        LoadKind::Body { elements, .. } | LoadKind::Gravity { elements, .. } => all_below(what, elements, n_elements),
    }
}

fn faces(mesh: &MeshView, what: &str, faces: &[[u32; 4]], elements: &[u32]) -> Check {
    all_below(what, elements, mesh.n_elements())?;
    require(faces.len() == elements.len(), || format!("{what}: faces and elements differ in number"))?;
    // At least a line in 2D or a triangle in 3D, with padding at the end only.
    let good = |face: &[u32; 4]| {
        let n = face.iter().take_while(|&&node| (node as usize) < mesh.n_nodes()).count();
        n >= mesh.dimension && face[n..].iter().all(|&node| node == u32::MAX)
    };
    require(faces.iter().all(good), || format!("{what}: a face with nodes that do not exist"))
}

/// The blocks say the same as the mesh: each entry's kind, section and nodes are the element's, a block has every element
/// that touches its nodes, and halo nodes are among the boundary nodes of their block. Colours and fans hold the same
/// elements once more, and grids some of them.
pub(super) fn agreement(ExplicitView { mesh, blocks, device, .. }: &ExplicitView) -> Check {
    elements_agree(mesh, blocks)?;
    device::agreement(blocks, device)?;
    grids::agree(mesh, device)
}

fn elements_agree(mesh: &MeshView, blocks: &BlocksView) -> Check {
    (0..blocks.n_blocks()).into_par_iter().try_for_each(|block| {
        let (own, halo) = (blocks.own_nodes(block), blocks.halo(block));
        for &node in halo {
            let owner = blocks.block_of(node);
            require(node - blocks.node_first[owner] < blocks.n_boundary[owner], || {
                format!("block {block}: halo node {node} is not a boundary node of block {owner}")
            })?;
        }
        for run in blocks.runs(block) {
            for (&element, nodes) in run.elements.iter().zip(run.connectivity.chunks_exact(run.kind.n_nodes())) {
                let found = mesh.group_of(element as usize);
                let (group, at) =
                    found.ok_or_else(|| format!("block {block}: element {element} is not in the mesh"))?;
                require(group.kind == run.kind && group.section[at] as usize == run.section, || {
                    format!("block {block}: element {element} with another kind or section")
                })?;
                let global = nodes.iter().map(|&local| match halo.get(usize::from(local).wrapping_sub(own.len())) {
                    Some(&node) => node,
                    None => own.start as u32 + u32::from(local),
                });
                let width = group.kind.n_nodes();
                require(global.eq(group.connectivity[at * width..(at + 1) * width].iter().copied()), || {
                    format!("block {block}: element {element} with other nodes")
                })?;
            }
        }
        Ok::<(), String>(())
    })?;

    // Entries are genuine now; if their number is right too, none is missing (unless another is there twice).
    let blocks_of = |nodes: &[u32]| {
        let mut owners = [0; 8];
        let owners = &mut owners[..nodes.len()];
        for (slot, &node) in owners.iter_mut().zip(nodes) {
            *slot = blocks.block_of(node);
        }
        owners.sort_unstable();
        1 + owners.windows(2).filter(|pair| pair[0] != pair[1]).count()
    };
    let elements = mesh.groups.iter().map(|group| group.connectivity.par_chunks_exact(group.kind.n_nodes()));
    let touched: usize = elements.map(|elements| elements.map(blocks_of).sum::<usize>()).sum();
    require(touched == blocks.elements.len(), || {
        format!("blocks hold {} elements where {touched} touch them", blocks.elements.len())
    })
}
