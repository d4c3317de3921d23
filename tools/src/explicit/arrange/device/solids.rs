//! Elements in space, each in one block, in batches.

use pogo_formats::explicit::block::corner::MOST_LOCAL_NODES;
use pogo_formats::explicit::block::{BlocksView, DeviceTables, Run};
use pogo_formats::mesh::ElementShape;
use pogo_formats::system::parallel::iterate::*;

use super::batches::Batcher;
use super::items::Items;
use super::joins::Kept;
use super::rings::Rings;
use super::{ALIGNMENT, Batches, CHUNK, mixes_runs, together};
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
    let (n_blocks, is_mixed) = (blocks.n_blocks(), mixes_runs(blocks));
    let parts: Vec<Part> = (0..n_blocks.div_ceil(CHUNK))
        .into_par_iter()
        .map_init(Arranger::default, |arranger, chunk| {
            let mut part = Part::default();
            for block in chunk * CHUNK..((chunk + 1) * CHUNK).min(n_blocks) {
                arranger.block(blocks, block, is_mixed, &mut part);
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
    gathered: Items,
    batcher: Batcher,
}

impl Arranger {
    fn block(&mut self, blocks: &BlocksView, block: usize, is_mixed: bool, part: &mut Part) {
        let n_own = blocks.own_nodes(block).len();
        let later = self.kept.find(blocks, block);
        let n_local = n_own + later.len();
        part.n_later.push(later.len() as u32);
        part.later.extend_from_slice(later);
        let batches = &mut part.batches;
        let before = batches.run.len();
        let runs: Vec<Run> = blocks.runs(block).collect();
        let mut number = blocks.run_first[block];
        for runs in together(&runs, is_mixed).filter(|_| n_local <= MOST_LOCAL_NODES) {
            let kind = runs[0].kind;
            let mut from = Vec::new();
            self.gathered.clear();
            for run in runs {
                self.items.copy(run);
                self.kept.keep(&mut self.items);
                let ringed = kind.shape() == ElementShape::Tetrahedron;
                if ringed {
                    self.rings.join(&self.items, &mut self.ringed);
                }
                let items = if ringed { &self.ringed } else { &self.items };
                if !items.elements.is_empty() {
                    from.push(number);
                    self.gathered.append(items);
                }
                number += 1;
            }
            let Some(&first) = from.first() else { continue };
            let items = &mut self.gathered;
            self.batcher.arrange(kind, items, n_local);
            batches.run.push(first);
            batches.is_mixed.push(from.len() > 1);
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
