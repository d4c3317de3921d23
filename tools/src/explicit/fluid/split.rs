//! Nodes that solids and fluids share are divided into one of each, and the faces between them found.

use std::collections::HashMap;

use pogo_formats::explicit::Interface;
use pogo_formats::mesh::Mesh;

use crate::elements::{elements, faces, round};
use crate::partition::Partition;

/// What became of the nodes that solids and fluids shared.
#[derive(Debug, Default)]
pub(super) struct Twins {
    /// The node of the fluid, by that of the solid, which kept its index.
    pub fluid_of: HashMap<u32, u32>,
    pub interface: Interface,
}

/// Gives the fluids nodes of their own where they share some with solids. They have the labels of those.
///
/// # Errors
/// More nodes than tables can hold.
pub(super) fn split(mesh: &mut Mesh) -> Result<Twins, String> {
    let shared = shared(mesh);
    let n_before = mesh.n_nodes();
    if n_before + shared.len() >= u32::MAX as usize {
        return Err("more nodes than 32-bit tables can hold".to_owned());
    }
    let fluid_of: HashMap<u32, u32> = shared.iter().copied().zip(n_before as u32..).collect();
    let interface = interface(mesh, &fluid_of);
    let dimension = mesh.dimension as usize;
    for &node in &shared {
        let node = node as usize;
        mesh.coordinates.extend_from_within(node * dimension..(node + 1) * dimension);
        mesh.node_labels.push(mesh.node_labels[node]);
        mesh.node_instance.push(mesh.node_instance[node]);
    }
    for group in mesh.groups.iter_mut().filter(|group| group.kind.is_acoustic()) {
        for node in &mut group.connectivity {
            *node = fluid_of.get(node).copied().unwrap_or(*node);
        }
    }
    for set in &mut mesh.node_sets {
        let twins: Vec<u32> = set.members.iter().filter_map(|node| fluid_of.get(node)).copied().collect();
        set.members.extend(twins);
    }
    Ok(Twins { fluid_of, interface })
}

/// Nodes of elements of both, ascending.
fn shared(mesh: &Mesh) -> Vec<u32> {
    let mut of = vec![[false; 2]; mesh.n_nodes()];
    for group in &mesh.groups {
        let at = usize::from(group.kind.is_acoustic());
        group.connectivity.iter().for_each(|&node| of[node as usize][at] = true);
    }
    (0..).zip(of).filter(|(_, of)| *of == [true; 2]).map(|(node, _)| node).collect()
}

/// The faces that an element of a fluid has in common with one of a solid.
fn interface(mesh: &Mesh, fluid_of: &HashMap<u32, u32>) -> Interface {
    let mut interface = Interface::default();
    if fluid_of.is_empty() {
        return interface;
    }
    let is_shared = |face: &[u32; 4]| round(face).iter().all(|node| fluid_of.contains_key(node));
    let key = |mut face: [u32; 4]| {
        face.sort_unstable();
        face
    };
    let mut of_solids = std::collections::HashSet::new();
    for (kind, nodes) in elements(mesh).filter(|(kind, _)| !kind.is_acoustic()) {
        of_solids.extend(faces(kind, nodes).filter(is_shared).map(key));
    }
    for (element, (kind, nodes)) in (0..).zip(elements(mesh)) {
        if !kind.is_acoustic() || nodes.iter().filter(|node| fluid_of.contains_key(node)).count() < 2 {
            continue;
        }
        for face in faces(kind, nodes).filter(|face| is_shared(face) && of_solids.contains(&key(*face))) {
            interface.solid.push(face);
            interface.fluid.push(face.map(|node| fluid_of.get(&node).copied().unwrap_or(u32::MAX)));
            interface.elements.push(element);
        }
    }
    interface
}

/// Puts both nodes of each pair into one block, that of the solid: what they do to each other stays inside it.
pub(in super::super) fn join_pairs(mut partition: Partition, interface: &Interface) -> Partition {
    if interface.is_empty() {
        return partition;
    }
    for (fluid, solid) in interface.pairs() {
        partition.block_of_node[fluid as usize] = partition.block_of_node[solid as usize];
    }
    // Blocks that have lost all of their nodes go.
    let mut number = vec![u32::MAX; partition.n_blocks as usize];
    partition.block_of_node.iter().for_each(|&block| number[block as usize] = 0);
    let mut next = 0..;
    for number in number.iter_mut().filter(|number| **number == 0) {
        *number = next.next().unwrap_or_default();
    }
    partition.n_blocks = next.start;
    partition.block_of_node.iter_mut().for_each(|block| *block = number[*block as usize]);
    partition
}
