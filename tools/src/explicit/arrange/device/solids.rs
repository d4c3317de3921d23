//! Elements in space, each in one block, in batches.

use pogo_formats::explicit::block::corner::MOST_LOCAL_NODES;
use pogo_formats::explicit::block::{BlocksView, DeviceTables};
use pogo_formats::mesh::ElementShape;
use rayon::prelude::*;

use super::batches::Batcher;
use super::items::Items;
use super::joins::Kept;
use super::rings::Rings;
use super::{ALIGNMENT, Batches, CHUNK};
use crate::rows::{concatenate, offsets};

/// Tables that one task made; those of all tasks are put one after the other.
#[derive(Default)]
struct Part {
    batches: Batches,
    /// Later nodes of each block, and all of them.
    n_later: Vec<u32>,
    later: Vec<u32>,
}

/// Fills the tables for elements in space.
pub(super) fn solids(blocks: &BlocksView, device: &mut DeviceTables) {
    let n_blocks = blocks.n_blocks();
    let parts: Vec<Part> = (0..n_blocks.div_ceil(CHUNK))
        .into_par_iter()
        .map_init(Arranger::default, |arranger, chunk| {
            let mut part = Part::default();
            for block in chunk * CHUNK..((chunk + 1) * CHUNK).min(n_blocks) {
                arranger.block(blocks, block, &mut part);
            }
            part
        })
        .collect();

    device.later_first = offsets(parts.iter().flat_map(|part| part.n_later.iter().copied()));
    device.later_nodes = concatenate(parts.iter().map(|part| part.later.as_slice()));
    let batches: Vec<Batches> = parts.into_iter().map(|part| part.batches).collect();
    Batches::join(&batches, device);
}

#[derive(Default)]
struct Arranger {
    kept: Kept,
    rings: Rings,
    items: Items,
    ringed: Items,
    batcher: Batcher,
}

impl Arranger {
    fn block(&mut self, blocks: &BlocksView, block: usize, part: &mut Part) {
        let n_own = blocks.own_nodes(block).len();
        let later = self.kept.find(blocks, block);
        let n_local = n_own + later.len();
        part.n_later.push(later.len() as u32);
        part.later.extend_from_slice(later);
        let batches = &mut part.batches;
        let before = batches.run.len();
        for (run, number) in blocks.runs(block).zip(blocks.run_first[block]..) {
            if n_local > MOST_LOCAL_NODES {
                continue;
            }
            self.items.copy(&run);
            self.kept.keep(&mut self.items);
            let ringed = run.kind.shape() == ElementShape::Tetrahedron;
            if ringed {
                self.rings.join(&self.items, &mut self.ringed);
            }
            let items = if ringed { &mut self.ringed } else { &mut self.items };
            if items.elements.is_empty() {
                continue;
            }
            self.batcher.arrange(run.kind, items, n_local);
            batches.run.push(number);
            batches.n_elements.push(items.elements.len() as u32);
            batches.elements.extend_from_slice(&items.elements);
            let n_entries = items.nodes.len().next_multiple_of(ALIGNMENT);
            batches.n_entries.push(n_entries as u32);
            batches.connectivity.extend_from_slice(&items.nodes);
            batches.connectivity.resize(batches.connectivity.len() + n_entries - items.nodes.len(), 0);
        }
        batches.n_of_block.push((batches.run.len() - before) as u32);
    }
}
