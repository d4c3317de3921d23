//! Devices that compute one model of other elements than triangles alone: what each computes, and the nodes that it sends
//! after each step ([`HaloLists`]).
//!
//! Every device has room for the state of the whole model and steps the blocks of its sub-domain. In space it also computes
//! the elements of blocks of other devices that pass forces on to its own. Of tiles of grids it computes the planes that have
//! nodes of its own ([`Tiles::of_part`]).

use pogo_formats::explicit::block::{BlocksView, DeviceView};
use pogo_formats::system::parallel;

use super::grids::{Role, Tiles};
use crate::dynamics::HaloLists;
use crate::explicit::Problem;

/// Which device has each block and node.
#[derive(Debug)]
pub(in crate::explicit) struct Devices<'a> {
    of_block: &'a [u32],
    /// At most [`MOST_DEVICES_BY_MESSAGES`](crate::dynamics::MOST_DEVICES_BY_MESSAGES).
    of_node: Vec<u8>,
    /// How many there are.
    pub n: usize,
    /// This one.
    pub me: u32,
}

impl<'a> Devices<'a> {
    /// Given the device of each block.
    pub fn new(blocks: &BlocksView, of_block: &'a [u32], n: usize, me: u32) -> Self {
        let nodes = |(b, &device): (usize, &u32)| std::iter::repeat_n(device as u8, blocks.own_nodes(b).len());
        Self { of_block, of_node: of_block.iter().enumerate().flat_map(nodes).collect(), n, me }
    }

    /// The device of a node.
    pub fn of(&self, node: u32) -> u32 {
        u32::from(self.of_node[node as usize])
    }

    /// Whether a node is this device's.
    pub fn is_own(&self, node: u32) -> bool {
        self.of(node) == self.me
    }

    /// Number of nodes of the model.
    pub fn n_nodes(&self) -> usize {
        self.of_node.len()
    }
}

/// The nodes that this device sends, device by device; some of them more than once.
#[derive(Debug, Default)]
pub(super) struct Senders(Vec<Vec<u32>>);

impl Senders {
    pub fn new(devices: &Devices) -> Self {
        Self(vec![Vec::new(); devices.n])
    }

    /// A node that a device reads.
    pub fn add(&mut self, device: u32, node: u32) {
        self.0[device as usize].push(node);
    }

    /// Whether any device reads each node.
    pub fn marks(&self, n_nodes: usize) -> Vec<bool> {
        let mut marks = vec![false; n_nodes];
        self.0.iter().flatten().for_each(|&node| marks[node as usize] = true);
        marks
    }

    /// Takes out the nodes that ties and linear constraints name, and lists them apart: all devices compute all of these, and so have
    /// them in all places at once.
    pub fn take_joined(&mut self, devices: &Devices, joined: &[u32]) -> HaloLists {
        let mut is_joined = vec![false; devices.n_nodes()];
        joined.iter().for_each(|&node| is_joined[node as usize] = true);
        self.0.iter_mut().for_each(|nodes| nodes.retain(|&node| !is_joined[node as usize]));
        let own: Vec<u32> = joined.iter().copied().filter(|&node| devices.is_own(node)).collect();
        let of = |device| if device == devices.me as usize { Vec::new() } else { own.clone() };
        HaloLists::new((0..devices.n).map(of).collect())
    }

    /// Without repeats.
    pub fn lists(self) -> HaloLists {
        HaloLists::new(self.0)
    }
}

/// What one device computes of blocks, and what it sends.
#[derive(Debug)]
pub(super) struct ElementLists {
    pub roles: Vec<Role>,
    pub sent: Senders,
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
    /// Of this device. `tiles` are those of the whole model.
    pub fn new(problem: &Problem, view: &DeviceView, devices: &Devices, tiles: Option<&Tiles>) -> Self {
        let (blocks, in_space, me) = (&problem.blocks, problem.mesh.dimension == 3, devices.me);
        let is_stepped: Vec<bool> = match &tiles {
            Some(tiles) => tiles.roles.iter().map(|&role| role == Role::Steps).collect(),
            None => vec![true; blocks.n_blocks()],
        };
        // Role of a block here, and nodes that others read for it.
        let of_block = |b: usize| {
            let owner = devices.of_block[b];
            let near = if in_space { view.later(b) } else { blocks.halo(b) };
            // Devices that compute elements of the block.
            let mut computing = if is_stepped[b] { vec![owner] } else { Vec::new() };
            if in_space {
                let stepped = near.iter().filter(|&&node| is_stepped[blocks.block_of(node)]);
                computing.extend(stepped.map(|&node| devices.of(node)));
                computing.sort_unstable();
                computing.dedup();
            }
            let role = match computing.contains(&me) {
                true if owner == me && is_stepped[b] => Role::Steps,
                true => Role::PassesOn,
                false => Role::Rests,
            };
            let mut read = Vec::new();
            for reader in computing.into_iter().filter(|&reader| reader != me) {
                let mut add = |node: u32| {
                    if devices.is_own(node) {
                        read.push((reader, node));
                    }
                };
                match reader == owner && is_stepped[b] {
                    true => near.iter().for_each(|&node| add(node)),
                    false => shared_elements(problem, b, |node| devices.of(node) == reader).for_each(add),
                }
            }
            (role, read)
        };
        let of_blocks: Vec<_> = parallel::map(blocks.n_blocks(), &of_block);
        let (mut roles, mut sent) = (Vec::with_capacity(of_blocks.len()), Senders::new(devices));
        for (role, read) in of_blocks {
            roles.push(role);
            read.into_iter().for_each(|(reader, node)| sent.add(reader, node));
        }
        Self { roles, sent }
    }
}
