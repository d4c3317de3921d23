//! Colours: batches of elements that share no node of the block's own.

use pogo_formats::block::{BlocksView, DeviceTables, Run};
use rayon::prelude::*;

use super::CHUNK;

/// Connectivity of a colour starts at a multiple of so many entries, for wide loads.
const ALIGNMENT: usize = 8;

/// What one task made, to be put end to end.
#[derive(Default)]
struct Part {
    /// Colours of each block.
    n_colours: Vec<u32>,
    run: Vec<u32>,
    /// Elements and connectivity entries of each colour.
    n_elements: Vec<u32>,
    n_entries: Vec<u32>,
    elements: Vec<u32>,
    connectivity: Vec<u16>,
}

pub(super) fn colours(blocks: &BlocksView, device: &mut DeviceTables) {
    let n_blocks = blocks.n_blocks();
    let parts: Vec<Part> = (0..n_blocks.div_ceil(CHUNK))
        .into_par_iter()
        .map_init(Greedy::default, |greedy, chunk| {
            let mut part = Part::default();
            for block in chunk * CHUNK..((chunk + 1) * CHUNK).min(n_blocks) {
                let (n_own, first_run) = (blocks.own_nodes(block).len(), blocks.run_first[block]);
                let before = part.run.len();
                for (run, number) in blocks.runs(block).zip(first_run..) {
                    greedy.colour(n_own, &run);
                    greedy.emit(number, &run, &mut part);
                }
                part.n_colours.push((part.run.len() - before) as u32);
            }
            part
        })
        .collect();

    let (mut colour, mut element, mut entry) = (0, 0, 0);
    device.colour_first = vec![colour];
    device.colour_element_first = vec![element];
    device.colour_connectivity_first = vec![entry];
    device.coloured_elements.reserve_exact(parts.iter().map(|part| part.elements.len()).sum());
    device.coloured_connectivity.reserve_exact(parts.iter().map(|part| part.connectivity.len()).sum());
    for part in parts {
        for count in part.n_colours {
            colour += count;
            device.colour_first.push(colour);
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
    }
}

/// Greedy colouring: each element takes, of the colours that none of its own nodes has yet, the one with the fewest
/// elements. As many colours as the node with the most elements has are there from the start: fewer never do.
#[derive(Default)]
struct Greedy {
    /// Colours of each own node's elements, a bit each, (n_own, `n_words`).
    taken: Vec<u64>,
    n_words: usize,
    degree: Vec<u32>,
    /// Elements of each colour.
    filled: Vec<u32>,
    /// Colour of each element of the run.
    colour_of: Vec<u32>,
    /// Where the next element of each colour goes, and its nodes.
    next: Vec<(usize, usize)>,
}

impl Greedy {
    fn colour(&mut self, n_own: usize, run: &Run) {
        let width = run.kind.n_nodes();
        self.degree.clear();
        self.degree.resize(n_own, 0);
        for &node in run.connectivity {
            if let Some(degree) = self.degree.get_mut(usize::from(node)) {
                *degree += 1;
            }
        }
        let n_least = self.degree.iter().copied().max().unwrap_or(0) as usize;
        self.filled.clear();
        self.filled.resize(n_least, 0);
        self.n_words = n_least.div_ceil(64).max(1);
        self.taken.clear();
        self.taken.resize(n_own * self.n_words, 0);
        self.colour_of.clear();
        for nodes in run.connectivity.chunks_exact(width) {
            let colour = match self.least_filled(n_own, nodes) {
                Some(colour) => colour,
                None => self.open(),
            };
            self.filled[colour] += 1;
            self.colour_of.push(colour as u32);
            let (word, bit) = (colour / 64, 1 << (colour % 64));
            for node in nodes.iter().map(|&node| usize::from(node)).filter(|&node| node < n_own) {
                self.taken[node * self.n_words + word] |= bit;
            }
        }
    }

    fn least_filled(&self, n_own: usize, nodes: &[u16]) -> Option<usize> {
        let mut best = None;
        let mut least = u32::MAX;
        for (word, filled) in self.filled.chunks(64).enumerate() {
            let taken = nodes.iter().map(|&node| usize::from(node)).filter(|&node| node < n_own);
            let taken = taken.fold(0, |taken, node| taken | self.taken[node * self.n_words + word]);
            let mut free = !taken & u64::MAX >> (64 - filled.len());
            while free != 0 {
                let bit = free.trailing_zeros() as usize;
                free &= free - 1;
                if filled[bit] < least {
                    least = filled[bit];
                    best = Some(64 * word + bit);
                }
            }
        }
        best
    }

    fn open(&mut self) -> usize {
        if self.filled.len() == 64 * self.n_words {
            let wider = self.n_words + 1;
            let mut taken = vec![0; self.taken.len() / self.n_words * wider];
            for (to, from) in taken.chunks_exact_mut(wider).zip(self.taken.chunks_exact(self.n_words)) {
                to[..self.n_words].copy_from_slice(from);
            }
            (self.taken, self.n_words) = (taken, wider);
        }
        self.filled.push(0);
        self.filled.len() - 1
    }

    fn emit(&mut self, number: u32, run: &Run, part: &mut Part) {
        let width = run.kind.n_nodes();
        let (mut element, mut entry) = (part.elements.len(), part.connectivity.len());
        self.next.clear();
        for &n in &self.filled {
            self.next.push((element, entry));
            if n > 0 {
                let n_entries = (n as usize * width).next_multiple_of(ALIGNMENT);
                part.run.push(number);
                part.n_elements.push(n);
                part.n_entries.push(n_entries as u32);
                element += n as usize;
                entry += n_entries;
            }
        }
        part.elements.resize(element, 0);
        part.connectivity.resize(entry, 0);
        let elements = run.elements.iter().zip(run.connectivity.chunks_exact(width));
        for ((&index, nodes), &colour) in elements.zip(&self.colour_of) {
            let (element, entry) = &mut self.next[colour as usize];
            part.elements[*element] = index;
            part.connectivity[*entry..*entry + width].copy_from_slice(nodes);
            *element += 1;
            *entry += width;
        }
    }
}
