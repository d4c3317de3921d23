//! Elements in space, each in one block, in batches.

use pogo_formats::explicit::block::corner::MOST_LOCAL_NODES;
use pogo_formats::explicit::block::{BlocksView, DeviceTables, Run};
use pogo_formats::mesh::ElementKind;
use rayon::prelude::*;

use super::CHUNK;
use super::batches::Batcher;
use super::joins::Kept;
use super::rings::Rings;

/// Connectivity of a run starts at a multiple of so many entries, for wide loads.
const ALIGNMENT: usize = 8;

/// Elements of a run, or rings of its tetrahedra.
#[derive(Default)]
pub(super) struct Items {
    /// Local indices of an element.
    pub width: usize,
    /// (n, `width`) and (n,); of rings and in batches of the shape that tables have.
    pub nodes: Vec<u16>,
    pub elements: Vec<u32>,
}

impl Items {
    fn copy(&mut self, run: &Run) {
        self.width = run.kind.n_nodes();
        self.nodes.clear();
        self.nodes.extend_from_slice(run.connectivity);
        self.elements.clear();
        self.elements.extend_from_slice(run.elements);
    }
}

/// What one task made, to be put end to end.
#[derive(Default)]
struct Part {
    /// Runs with elements, and later nodes, of each block.
    n_runs: Vec<u32>,
    n_later: Vec<u32>,
    run: Vec<u32>,
    /// Elements and connectivity entries of each such run.
    n_elements: Vec<u32>,
    n_entries: Vec<u32>,
    elements: Vec<u32>,
    connectivity: Vec<u16>,
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

    let (mut colour, mut element, mut entry, mut later) = (0, 0, 0, 0);
    device.colour_first = vec![colour];
    device.colour_element_first = vec![element];
    device.colour_connectivity_first = vec![entry];
    device.later_first = vec![later];
    device.coloured_elements.reserve_exact(parts.iter().map(|part| part.elements.len()).sum());
    device.coloured_connectivity.reserve_exact(parts.iter().map(|part| part.connectivity.len()).sum());
    device.later_nodes.reserve_exact(parts.iter().map(|part| part.later.len()).sum());
    for part in parts {
        for count in part.n_runs {
            colour += count;
            device.colour_first.push(colour);
        }
        for count in part.n_later {
            later += u64::from(count);
            device.later_first.push(later);
        }
        for count in part.n_elements {
            element += u64::from(count);
            device.colour_element_first.push(element);
        }
        for count in part.n_entries {
            entry += u64::from(count);
            device.colour_connectivity_first.push(entry);
        }
        device.colour_run.extend_from_slice(&part.run);
        device.coloured_elements.extend_from_slice(&part.elements);
        device.coloured_connectivity.extend_from_slice(&part.connectivity);
        device.later_nodes.extend_from_slice(&part.later);
    }
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
        let before = part.run.len();
        for (run, number) in blocks.runs(block).zip(blocks.run_first[block]..) {
            if n_local > MOST_LOCAL_NODES {
                continue;
            }
            self.items.copy(&run);
            self.kept.keep(&mut self.items);
            let ringed = run.kind == ElementKind::C3d4;
            if ringed {
                self.rings.join(n_local, &self.items, &mut self.ringed);
            }
            let items = if ringed { &mut self.ringed } else { &mut self.items };
            if items.elements.is_empty() {
                continue;
            }
            self.batcher.arrange(run.kind, items, n_local);
            part.run.push(number);
            part.n_elements.push(items.elements.len() as u32);
            part.elements.extend_from_slice(&items.elements);
            let n_entries = items.nodes.len().next_multiple_of(ALIGNMENT);
            part.n_entries.push(n_entries as u32);
            part.connectivity.extend_from_slice(&items.nodes);
            part.connectivity.resize(part.connectivity.len() + n_entries - items.nodes.len(), 0);
        }
        part.n_runs.push((part.run.len() - before) as u32);
    }
}
