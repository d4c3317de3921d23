//! Devices that compute one model: what a device writes into the memory of the others.
//!
//! Every device has room for the state of the whole model, and steps the blocks of its sub-domain. A block with nodes that
//! blocks of other devices read writes their u and Δu into the arrays of those devices too, at the same places. Then it
//! tells them that its pass is complete. A block waits for neighbouring blocks of other devices as for those of its own.

use std::sync::Arc;

use pogo_formats::explicit::block::{BlocksView, DeviceView};

use super::halo::{Devices, Senders};
use crate::device::layout::{In, Out, layouts};
use crate::device::{Arena, DeviceError, Gpu, Opened, Plain as _, Slice};
use crate::dynamics::HaloLists;
use crate::ranks::{Ranks, exchange_arrays};

layouts! {
    header "explicit/gpu/peers.cuh", numbers template;

    constants {
        /// Most devices of a model.
        MOST_DEVICES: u32 = crate::dynamics::MOST_DEVICES as u32;
        /// Bits of an entry that hold the local number of a node. The device stands above them.
        NODE_BITS: u32 = 16;
    }

    opaque {}

    /// The memory of the other devices, by device.
    struct Peers<T> {
        /// Displacements at even and at odd passes, (n_nodes, 2).
        u: [[Out<T>; 2]; 8],
        /// Their last increments.
        du: [[Out<T>; 2]; 8],
        /// Number of passes of each block that are complete, since the model was placed.
        done: [Out<u32>; 8],
        /// First entry of each block in `entries`, (n_blocks + 1,); null where one device has the whole model.
        first: In<u32>,
        /// Nodes that other devices read.
        entries: In<u32>,
        /// Bit d of a block: device d waits for it.
        waiting: In<u32>,
        /// Passes before this launch.
        base: u32,
        /// 1 if the launch reads the arrays of odd passes first.
        odd: u32,
        /// 1 if blocks wait for those of other devices, and not the host between passes.
        waits: u32,
        reserved: u32,
    }
}

impl<T: crate::device::Plain> Peers<T> {
    /// Whether there are other devices.
    pub fn are_there(&self) -> bool {
        self.first.address() != 0
    }
}

/// Nodes that a block of fans reads: those of its halo, and outer nodes where two steps are made at a time.
fn read_by_fans<'a>(
    blocks: &BlocksView<'a>,
    (view, two_steps): (&DeviceView<'a>, bool),
    b: usize,
) -> impl Iterator<Item = u32> {
    let outer = match two_steps {
        true => &view.outer_nodes[view.outer_first[b] as usize..view.outer_first[b + 1] as usize],
        false => &[],
    };
    blocks.halo(b).iter().chain(outer).copied()
}

/// The nodes of triangles that a device sends by messages, and its blocks: those with such nodes, and the others.
pub(super) fn fans_by_messages(
    blocks: &BlocksView,
    (view, two_steps, domain): (&DeviceView, bool, &[u32]),
    devices: &Devices,
) -> (HaloLists, Vec<u32>, Vec<u32>) {
    let mut sent = Senders::new(devices);
    let mut is_border = vec![false; blocks.n_blocks()];
    for (b, &reader) in domain.iter().enumerate().filter(|&(_, &reader)| reader != devices.me) {
        for node in read_by_fans(blocks, (view, two_steps), b).filter(|&node| devices.is_own(node)) {
            sent.add(reader, node);
            is_border[blocks.block_of(node)] = true;
        }
    }
    let own = (0..blocks.n_blocks() as u32).filter(|&b| domain[b as usize] == devices.me);
    let (border, inside) = own.partition(|&b| is_border[b as usize]);
    (sent.lists(), border, inside)
}

/// The blocks of one device, and what it sends.
#[derive(Debug)]
pub(super) struct Sent {
    /// Blocks of this device; those that others read come first, so that the others need not wait.
    pub own: Vec<u32>,
    first: Vec<u32>,
    entries: Vec<u32>,
    waiting: Vec<u32>,
}

impl Sent {
    /// What device `me` sends, given the device of each block. With `two_steps`, blocks also read outer nodes.
    pub fn new(blocks: &BlocksView, view: &DeviceView, two_steps: bool, domain: &[u32], me: u32) -> Self {
        let n = blocks.n_blocks();
        let mut pairs = Vec::new();
        let mut waiting = vec![0_u32; n];
        for (b, &reader) in domain.iter().enumerate() {
            for node in read_by_fans(blocks, (view, two_steps), b) {
                let owner = blocks.block_of(node);
                if domain[owner] == me && reader != me {
                    pairs.push((owner as u32, (node - blocks.node_first[owner]) | reader << NODE_BITS));
                    waiting[owner] |= 1 << reader;
                } else if reader == me && domain[owner] != me {
                    // The owner must not overwrite what this block reads.
                    waiting[b] |= 1 << domain[owner];
                }
            }
        }
        pairs.sort_unstable();
        pairs.dedup();
        let first = (0..=n as u32).map(|block| pairs.partition_point(|&(owner, _)| owner < block) as u32).collect();
        let is_own = |&b: &u32| domain[b as usize] == me;
        let mut own: Vec<u32> = (0..n as u32).filter(is_own).collect();
        own.sort_by_key(|&b| waiting[b as usize] == 0);
        Self { own, first, entries: pairs.into_iter().map(|(_, entry)| entry).collect(), waiting }
    }

    /// Places the lists on this device and learns the addresses of the others. Collective.
    ///
    /// # Errors
    /// A device cannot reach the memory of another.
    pub fn place<T: crate::simd::Real>(
        &self,
        gpu: &Gpu,
        ranks: &Arc<dyn Ranks>,
        (arena, opened): (&mut Arena, &mut Opened),
        (u, du, done): ([Slice<T>; 2], [Slice<T>; 2], Slice<u32>),
    ) -> Result<Peers<T>, DeviceError> {
        let arrays = [u[0].pointer(), u[1].pointer(), du[0].pointer(), du[1].pointer(), done.pointer()];
        let all = exchange_arrays(ranks, gpu, Ok(&arrays), opened)?;
        let mut peers = Peers::zeroed();
        let first = arena.copy("entries of blocks", &self.first)?;
        let entries = arena.copy("nodes that others read", &self.entries)?;
        let waiting = arena.copy("devices that wait", &self.waiting)?;
        (peers.first, peers.entries, peers.waiting) = (first.at(), entries.at(), waiting.at());
        peers.waits = u32::from(all.iter().enumerate().all(|(device, of)| device == ranks.rank() || of.is_other));
        for (device, of) in all.iter().enumerate() {
            let at = |k: usize| crate::device::Pointer::from_address(of.addresses[k]);
            (peers.u[device], peers.du[device]) = ([at(0), at(1)], [at(2), at(3)]);
            peers.done[device] = crate::device::Pointer::from_address(of.addresses[4]);
        }
        Ok(peers)
    }
}
