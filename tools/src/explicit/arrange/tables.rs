//! Halo lists, elements and local connectivity of each block.

use std::ops::Range;

use pogo_formats::explicit::block::Blocks;
use pogo_formats::mesh::MeshView;
use pogo_formats::system::parallel::iterate::*;

use super::{ArrangeError, Order};
use crate::partition::Deal;
use crate::rows::{accumulate, concatenate, offsets};

/// Blocks that one task works on.
const CHUNK: usize = 32;

/// Local node indices are 16-bit.
const MOST_LOCAL_NODES: usize = 1 << 16;

/// Tables that one task made; those of all tasks are put one after the other.
#[derive(Default)]
struct Part {
    /// Halo entries and runs of each block.
    n_halo: Vec<u32>,
    n_runs: Vec<u32>,
    halo_nodes: Vec<u32>,
    run_kind: Vec<u8>,
    run_section: Vec<u32>,
    /// Elements of each run.
    run_elements: Vec<u32>,
    /// Connectivity entries of each run.
    run_entries: Vec<u32>,
    elements: Vec<u32>,
    connectivity: Vec<u16>,
}

/// The tables of all blocks. `mesh` is in solver order.
pub(super) fn tables(mesh: &MeshView, order: &Order, capacity: usize) -> Result<Blocks, ArrangeError> {
    let n_blocks = order.n_boundary.len();
    let place = Place::new(&order.node_first);
    let deal = Deal::new(mesh, n_blocks, |solver| place.block(solver));
    let group_first: Vec<u32> = offsets(mesh.groups.iter().map(|group| group.labels.len() as u32));
    let parts = (0..n_blocks.div_ceil(CHUNK))
        .into_par_iter()
        .map(|chunk| {
            let mut part = Part::default();
            let mut scratch = Scratch::default();
            for block in chunk * CHUNK..((chunk + 1) * CHUNK).min(n_blocks) {
                scratch.block(mesh, &deal, order, &group_first, block, &mut part)?;
            }
            Ok(part)
        })
        .collect::<Result<Vec<Part>, ArrangeError>>()?;
    drop(deal);
    Ok(Blocks {
        capacity: capacity as u32,
        node_first: order.node_first.clone(),
        n_boundary: order.n_boundary.clone(),
        halo_first: offsets(parts.iter().flat_map(|part| part.n_halo.iter().copied())),
        halo_nodes: concatenate(parts.iter().map(|part| part.halo_nodes.as_slice())),
        run_first: offsets(parts.iter().flat_map(|part| part.n_runs.iter().copied())),
        run_kind: concatenate(parts.iter().map(|part| part.run_kind.as_slice())),
        run_section: concatenate(parts.iter().map(|part| part.run_section.as_slice())),
        run_element_first: offsets(parts.iter().flat_map(|part| part.run_elements.iter().copied())),
        run_connectivity_first: offsets(parts.iter().flat_map(|part| part.run_entries.iter().copied())),
        elements: concatenate(parts.iter().map(|part| part.elements.as_slice())),
        connectivity: concatenate(parts.iter().map(|part| part.connectivity.as_slice())),
    })
}

/// Finds the block of a node.
struct Place<'a> {
    node_first: &'a [u32],
    /// Block of every node whose number is a multiple of [`STRIDE`](Self::STRIDE).
    near: Vec<u32>,
}

impl<'a> Place<'a> {
    const STRIDE: u32 = 64;

    fn new(node_first: &'a [u32]) -> Self {
        let n_nodes = node_first.last().copied().unwrap_or(0);
        let mut block = 0;
        let near = (0..n_nodes).step_by(Self::STRIDE as usize).map(|solver| {
            while node_first[block + 1] <= solver {
                block += 1;
            }
            block as u32
        });
        Self { node_first, near: near.collect() }
    }

    fn block(&self, solver: u32) -> u32 {
        let mut block = self.near[(solver / Self::STRIDE) as usize];
        while self.node_first[block as usize + 1] <= solver {
            block += 1;
        }
        block
    }
}

/// An element that touches a block.
#[derive(Clone, Copy, Default)]
struct Found<'a> {
    kind: u8,
    section: u32,
    /// The element and its nodes.
    record: &'a [u32],
}

/// Work space for some blocks.
#[derive(Default)]
struct Scratch<'a> {
    /// Number of elements before those of each own node.
    first: Vec<u32>,
    /// Lowest own node of each element, in the order of the bucket.
    lowest: Vec<u32>,
    found: Vec<Found<'a>>,
    /// A node of another block in the upper half of the word, and in the lower half its entry of the block's connectivity.
    others: Vec<u64>,
}

impl<'a> Scratch<'a> {
    fn block(
        &mut self,
        mesh: &MeshView<'a>,
        deal: &'a Deal,
        order: &Order,
        group_first: &[u32],
        block: usize,
        part: &mut Part,
    ) -> Result<(), ArrangeError> {
        let own = order.node_first[block]..order.node_first[block + 1];
        self.find_elements(mesh, deal, group_first, block, own.clone());
        let entries = part.connectivity.len();
        self.add_runs(own.clone(), part);
        let n_local = self.add_halo(own.len(), entries, part);
        if n_local > MOST_LOCAL_NODES {
            return Err(ArrangeError::TooManyLocalNodes { block, own: own.len(), halo: n_local - own.len() });
        }
        part.n_halo.push((n_local - own.len()) as u32);
        Ok(())
    }

    /// Finds the elements of a block, by kind and section, then by their lowest own node: that is the order of access.
    fn find_elements(
        &mut self,
        mesh: &MeshView<'a>,
        deal: &'a Deal,
        group_first: &[u32],
        block: usize,
        own: Range<u32>,
    ) {
        self.first.clear();
        self.first.resize(own.len() + 1, 0);
        self.lowest.clear();
        for record in deal.bucket(block).flat_map(|dealt| dealt.records()) {
            // The difference wraps for nodes before the block, to more than that of any own node.
            let local = record[1..].iter().map(|node| node.wrapping_sub(own.start)).min().unwrap_or(0);
            self.first[local as usize + 1] += 1;
            self.lowest.push(local);
        }
        accumulate(&mut self.first);
        self.found.clear();
        self.found.resize(self.lowest.len(), Found::default());
        let mut lowest = self.lowest.iter();
        for dealt in deal.bucket(block) {
            let group = &mesh.groups[dealt.group];
            for (record, &local) in dealt.records().zip(lowest.by_ref()) {
                let section = group.section[(record[0] - group_first[dealt.group]) as usize];
                let place = &mut self.first[local as usize];
                self.found[*place as usize] = Found { kind: group.kind as u8, section, record };
                *place += 1;
            }
        }
        if self.found.windows(2).any(|pair| (pair[0].kind, pair[0].section) > (pair[1].kind, pair[1].section)) {
            self.found.sort_by_key(|found| (found.kind, found.section));
        }
    }

    /// Adds the runs of the elements that were found. Entries of nodes of other blocks are left to [`add_halo`](Self::add_halo).
    fn add_runs(&mut self, own: Range<u32>, part: &mut Part) {
        self.others.clear();
        let entries = part.connectivity.len();
        let mut n_runs = 0;
        for run in self.found.chunk_by(|a, b| (a.kind, a.section) == (b.kind, b.section)) {
            let before = part.connectivity.len();
            for found in run {
                part.elements.push(found.record[0]);
                for &solver in &found.record[1..] {
                    if !own.contains(&solver) {
                        self.others.push(u64::from(solver) << 32 | (part.connectivity.len() - entries) as u64);
                    }
                    part.connectivity.push(solver.wrapping_sub(own.start) as u16);
                }
            }
            part.run_kind.push(run[0].kind);
            part.run_section.push(run[0].section);
            part.run_elements.push(run.len() as u32);
            part.run_entries.push((part.connectivity.len() - before) as u32);
            n_runs += 1;
        }
        part.n_runs.push(n_runs);
    }

    /// Adds the halo, ascending, and its local indices to the entries from `entries` on. Gives the number of local nodes.
    fn add_halo(&mut self, n_own: usize, entries: usize, part: &mut Part) -> usize {
        self.others.sort_unstable();
        let mut n_local = n_own;
        for same in self.others.chunk_by(|a, b| a >> 32 == b >> 32) {
            part.halo_nodes.push((same[0] >> 32) as u32);
            for &other in same {
                part.connectivity[entries + (other & u64::from(u32::MAX)) as usize] = n_local as u16;
            }
            n_local += 1;
        }
        n_local
    }
}
