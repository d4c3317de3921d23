//! Devices that compute one model of other elements than triangles alone: what each computes, and the nodes that it sends
//! after each step ([`HaloLists`]).
//!
//! Every device has room for the state of the whole model and steps the blocks of its sub-domain. In space it also computes
//! the elements of blocks of other devices that pass forces on to its own.

use pogo_formats::explicit::block::DeviceView;

use super::grids::Role;
use crate::dynamics::HaloLists;
use crate::explicit::Problem;

/// What one device computes, and what it sends.
#[derive(Debug)]
pub(super) struct ElementLists {
    pub roles: Vec<Role>,
    pub sent: HaloLists,
}

/// The nodes of those elements of a block that have a node of another device.
fn shared_elements(problem: &Problem, b: usize, is_of_other: impl Fn(u32) -> bool) -> impl Iterator<Item = u32> {
    let (own, halo) = (problem.blocks.own_nodes(b), problem.blocks.halo(b));
    let node = |local: u16| match usize::from(local).checked_sub(own.len()) {
        None => (own.start + usize::from(local)) as u32,
        Some(at) => halo[at],
    };
    let mut nodes = Vec::new();
    for run in problem.blocks.runs(b) {
        for element in run.connectivity.chunks_exact(run.kind.n_nodes()) {
            if element.iter().any(|&local| is_of_other(node(local))) {
                nodes.extend(element.iter().map(|&local| node(local)));
            }
        }
    }
    nodes.into_iter()
}

impl ElementLists {
    /// Of device `me`, given the device of each block.
    pub fn new(problem: &Problem, view: &DeviceView, domain: &[u32], n_devices: usize, me: u32) -> Self {
        let (blocks, in_space) = (&problem.blocks, problem.mesh.dimension == 3);
        let device_of = |node: u32| domain[blocks.block_of(node)];
        let mut sent = vec![Vec::new(); n_devices];
        let mut roles = Vec::with_capacity(domain.len());
        for (b, &device) in domain.iter().enumerate() {
            let near = if in_space { view.later(b) } else { blocks.halo(b) };
            // Devices that compute elements of the block.
            let mut devices = vec![device];
            if in_space {
                devices.extend(near.iter().map(|&node| device_of(node)));
                devices.sort_unstable();
                devices.dedup();
            }
            roles.push(match devices.contains(&me) {
                _ if device == me => Role::Steps,
                true => Role::PassesOn,
                false => Role::Rests,
            });
            for reader in devices.into_iter().filter(|&reader| reader != me) {
                let of_others = |node: &u32| device_of(*node) == me;
                let to = &mut sent[reader as usize];
                match reader == device {
                    true => to.extend(near.iter().copied().filter(of_others)),
                    false => to.extend(shared_elements(problem, b, |node| device_of(node) == reader).filter(of_others)),
                }
            }
        }
        Self { roles, sent: HaloLists::new(sent) }
    }
}
