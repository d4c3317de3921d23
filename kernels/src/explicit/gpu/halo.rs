//! Devices that compute one model of other elements than triangles alone: after each step a kernel writes displacements
//! that other devices read into their memory, and waits for theirs.
//!
//! Every device has room for the state of the whole model and steps the blocks of its sub-domain. In space it also computes
//! the elements of blocks of other devices that pass forces on to its own.

use std::sync::Arc;

use pogo_formats::explicit::block::DeviceView;

use super::grids::Role;
use crate::device::layout::{In, Out, layouts};
use crate::device::{Arena, DeviceError, Gpu, Opened, Plain as _, Pointer, Slice};
use crate::explicit::Problem;
use crate::ranks::{Ranks, exchange_arrays};
use crate::simd::Real;

layouts! {
    header "explicit/gpu/halo.cuh", numbers template;

    constants {}

    opaque {}

    /// What a device sends after a step, and where.
    struct Halo<T> {
        /// Displacements on each device, the two arrays of the state, (n_nodes, dimension).
        u: [[Out<T>; 2]; 8],
        /// On each device: the number of steps that each of the others has sent, (n_devices,).
        arrived: [Out<u32>; 8],
        /// First entry of each device in `nodes`, (n_devices + 1,).
        first: In<u32>,
        /// Nodes that other devices read, device by device.
        nodes: In<u32>,
        /// Thread blocks that have sent their part of this step, and the number of steps sent.
        progress: Out<u32>,
        me: u32,
        n_devices: u32,
        dimension: u32,
        /// 1 if the kernel waits for the other devices, and not the host.
        waits: u32,
    }
}

/// What one device computes, and what it sends.
#[derive(Debug)]
pub(super) struct HaloLists {
    pub roles: Vec<Role>,
    first: Vec<u32>,
    nodes: Vec<u32>,
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

impl HaloLists {
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
        let mut lists = Self { roles, first: vec![0], nodes: Vec::new() };
        for mut nodes in sent {
            nodes.sort_unstable();
            nodes.dedup();
            lists.nodes.append(&mut nodes);
            lists.first.push(lists.nodes.len() as u32);
        }
        lists
    }

    /// Number of nodes that are sent.
    pub fn n_sent(&self) -> usize {
        self.nodes.len()
    }

    /// Places the lists on this device and learns the addresses of the others. Collective.
    ///
    /// # Errors
    /// A device cannot reach the memory of another.
    pub fn place<T: Real>(
        &self,
        gpu: &Gpu,
        ranks: &Arc<dyn Ranks>,
        (arena, opened): (&mut Arena, &mut Opened),
        u: [Slice<T>; 2],
        unknowns: usize,
    ) -> Result<Halo<T>, DeviceError> {
        let arrived = arena.zeros::<u32>("steps that others have sent", ranks.n_ranks());
        let arrays = arrived.map(|arrived| [u[0].pointer(), u[1].pointer(), arrived.pointer()]);
        let arrays = arrays.as_ref().map(|arrays| arrays.as_slice()).map_err(DeviceError::clone);
        let all = exchange_arrays(ranks, gpu, arrays, opened)?;
        let mut halo = Halo::zeroed();
        halo.first = arena.copy("first nodes to send", &self.first)?.at();
        halo.nodes = arena.copy("nodes to send", &self.nodes)?.at();
        halo.progress = arena.zeros::<u32>("progress of sending", 2)?.at();
        (halo.me, halo.n_devices, halo.dimension) = (ranks.rank() as u32, ranks.n_ranks() as u32, unknowns as u32);
        for (device, of) in all.iter().enumerate() {
            halo.waits |= u32::from(of.is_other);
            let addresses = &of.addresses;
            halo.u[device] = [Pointer::from_address(addresses[0]), Pointer::from_address(addresses[1])];
            halo.arrived[device] = Pointer::from_address(addresses[2]);
        }
        Ok(halo)
    }
}
