//! Colours: batches of elements that share no node of the block's own.

use pogo_formats::explicit::block::{BlocksView, DeviceTables, Run};
use pogo_formats::system::parallel::iterate::*;

use super::{ALIGNMENT, Batches, CHUNK, mixes_runs, together};

/// Colours the elements of the blocks that `are_left_out` does not name.
pub(super) fn colours(blocks: &BlocksView, are_left_out: &(dyn Fn(usize) -> bool + Sync), device: &mut DeviceTables) {
    let (n_blocks, is_mixed) = (blocks.n_blocks(), mixes_runs(blocks));
    let parts: Vec<Batches> = (0..n_blocks.div_ceil(CHUNK))
        .into_par_iter()
        .map_init(Greedy::default, |greedy, chunk| {
            let mut part = Batches::default();
            for block in chunk * CHUNK..((chunk + 1) * CHUNK).min(n_blocks) {
                let (n_own, first_run) = (blocks.own_nodes(block).len(), blocks.run_first[block]);
                let before = part.run.len();
                let runs: Vec<Run> = blocks.runs(block).collect();
                let mut number = first_run;
                for runs in together(&runs, is_mixed).take_while(|_| !are_left_out(block)) {
                    let elements = runs.iter().map(|run| run.elements).collect::<Vec<_>>().concat();
                    let connectivity = runs.iter().map(|run| run.connectivity).collect::<Vec<_>>().concat();
                    let all = Run { elements: &elements, connectivity: &connectivity, ..runs[0] };
                    greedy.colour(n_own, &all);
                    greedy.emit((number, runs.len() > 1), &all, &mut part);
                    number += runs.len() as u32;
                }
                part.n_of_block.push((part.run.len() - before) as u32);
            }
            part
        })
        .collect();

    Batches::join(&parts, device);
}

/// More rounds take time and save few colours.
const ROUNDS: usize = 2;

/// Greedy colouring in rounds. In the first round each element, in the order of the mesh, takes the lowest colour that none
/// of its own nodes has yet: meshes are often numbered row by row, which needs fewer colours than the run's order. In the next
/// round the elements come colour by colour, the last colour first: the number of colours never rises then, and often
/// falls (Culberson 1992, "Iterated greedy graph coloring"). At the end elements move from full colours to emptier ones.
#[derive(Default)]
struct Greedy {
    /// Local indices of the own nodes of each element, and where they begin.
    nodes: Vec<u16>,
    first: Vec<u32>,
    /// Colours of the elements of each own node, one bit each, (n_own, `n_words`).
    taken: Vec<u64>,
    n_words: usize,
    /// Number of elements of each colour.
    filled: Vec<u32>,
    /// Colour of each element of the run.
    colour_of: Vec<u32>,
    /// Elements in the order of a round.
    order: Vec<u32>,
    /// Place of the next element of each colour, and of its nodes.
    next: Vec<(usize, usize)>,
}

impl Greedy {
    fn colour(&mut self, n_own: usize, run: &Run) {
        self.nodes.clear();
        self.first.clear();
        self.first.push(0);
        for nodes in run.connectivity.chunks_exact(run.kind.n_nodes()) {
            // A collapsed element has a node twice; flipping its mark twice would remove it.
            let distinct = |&(at, node): &(usize, &u16)| usize::from(*node) < n_own && !nodes[..at].contains(node);
            self.nodes.extend(nodes.iter().enumerate().filter(distinct).map(|(_, node)| node));
            self.first.push(self.nodes.len() as u32);
        }
        let mut degree = vec![0; n_own];
        self.nodes.iter().for_each(|&node| degree[usize::from(node)] += 1);
        let n_least = degree.into_iter().max().unwrap_or(0);
        let n = run.elements.len();
        self.colour_of.clear();
        self.colour_of.resize(n, 0);
        self.order.clear();
        self.order.extend(0..n as u32);
        self.order.sort_unstable_by_key(|&element| run.elements[element as usize]);
        self.n_words = self.n_words.max(1);
        for round in 0..ROUNDS {
            self.filled.clear();
            self.taken.clear();
            self.taken.resize(n_own * self.n_words, 0);
            for i in 0..n {
                let element = self.order[i] as usize;
                let colour = self.lowest_free(element);
                self.take(element, colour);
            }
            if self.filled.len() <= n_least || round + 1 == ROUNDS {
                break;
            }
            self.reorder();
        }
        self.level();
    }

    fn nodes(&self, element: usize) -> &[u16] {
        &self.nodes[self.first[element] as usize..self.first[element + 1] as usize]
    }

    /// Colours at the own nodes of an element, of those in one word.
    fn taken(&self, element: usize, word: usize) -> u64 {
        self.nodes(element).iter().fold(0, |taken, &node| taken | self.taken[usize::from(node) * self.n_words + word])
    }

    fn lowest_free(&mut self, element: usize) -> usize {
        for word in 0..self.n_words {
            let free = !self.taken(element, word);
            if free != 0 {
                return 64 * word + free.trailing_zeros() as usize;
            }
        }
        let wider = self.n_words + 1;
        let mut taken = vec![0; self.taken.len() / self.n_words * wider];
        for (to, from) in taken.chunks_exact_mut(wider).zip(self.taken.chunks_exact(self.n_words)) {
            to[..self.n_words].copy_from_slice(from);
        }
        (self.taken, self.n_words) = (taken, wider);
        64 * (wider - 1)
    }

    fn take(&mut self, element: usize, colour: usize) {
        if self.filled.len() <= colour {
            self.filled.resize(colour + 1, 0);
        }
        self.filled[colour] += 1;
        self.colour_of[element] = colour as u32;
        self.flip(element, colour);
    }

    /// Marks a colour as taken at the element's own nodes, or as free again.
    fn flip(&mut self, element: usize, colour: usize) {
        let (word, bit) = (colour / 64, 1 << (colour % 64));
        for at in self.first[element] as usize..self.first[element + 1] as usize {
            self.taken[usize::from(self.nodes[at]) * self.n_words + word] ^= bit;
        }
    }

    /// Orders the elements by colour, the last colour first.
    fn reorder(&mut self) {
        let mut sum = 0;
        self.next.clear();
        self.next.resize(self.filled.len(), (0, 0));
        for (next, &n) in self.next.iter_mut().zip(&self.filled).rev() {
            next.0 = sum;
            sum += n as usize;
        }
        for (element, &colour) in self.colour_of.iter().enumerate() {
            let next = &mut self.next[colour as usize].0;
            self.order[*next] = element as u32;
            *next += 1;
        }
    }

    /// Moves elements to the emptiest colour that is free at their nodes.
    fn level(&mut self) {
        for element in 0..self.colour_of.len() {
            let colour = self.colour_of[element] as usize;
            let (mut best, mut least) = (colour, self.filled[colour] - 1);
            for (word, filled) in self.filled.chunks(64).enumerate() {
                let mut free = !self.taken(element, word) & u64::MAX >> (64 - filled.len());
                while free != 0 {
                    let bit = free.trailing_zeros() as usize;
                    free &= free - 1;
                    if filled[bit] < least {
                        (best, least) = (64 * word + bit, filled[bit]);
                    }
                }
            }
            if best != colour {
                self.flip(element, colour);
                self.filled[colour] -= 1;
                self.take(element, best);
            }
        }
    }

    fn emit(&mut self, (number, is_mixed): (u32, bool), run: &Run, part: &mut Batches) {
        let width = run.kind.n_nodes();
        let (mut element, mut entry) = (part.elements.len(), part.connectivity.len());
        self.next.clear();
        for &n in &self.filled {
            self.next.push((element, entry));
            if n > 0 {
                let n_entries = (n as usize * width).next_multiple_of(ALIGNMENT);
                part.run.push(number);
                part.is_mixed.push(is_mixed);
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
