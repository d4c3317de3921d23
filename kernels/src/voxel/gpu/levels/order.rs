//! The order of the nodes of coarse levels that several parts of a model compute.
//!
//! A part has the nodes of a level that lie where it has the finest level. So parts exchange what lies at their borders, and
//! restriction and prolongation stay within them but for that.

use std::ops::Range;

use pogo_formats::system::parallel;

use super::super::super::lists::starts;
use super::super::super::multigrid::{Coarse, Level};
use pogo_formats::system::parallel::Shared;

/// How parts of a model share the coarse levels. Each has a device.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Sharing {
    pub n_parts: usize,
    /// A level of fewer nodes is computed by the first part alone.
    pub least: usize,
}

impl Sharing {
    /// Number of levels that all parts compute.
    fn n_shared(self, coarse: &Coarse) -> usize {
        if self.n_parts == 1 {
            return 0;
        }
        let smoothed = coarse.levels.len() - usize::from(coarse.is_factorised());
        coarse.levels[..smoothed].iter().take_while(|level| level.n / 3 >= self.least).count()
    }
}

/// Where the nodes of coarse levels lie: those of one part after those of another.
#[derive(Debug)]
pub(in super::super) struct Order {
    pub n_parts: usize,
    /// Number of levels that all parts compute.
    pub n_shared: usize,
    /// One for each level.
    levels: Vec<OfLevel>,
}

/// The nodes of a level.
#[derive(Debug)]
struct OfLevel {
    n: usize,
    /// Place of each node, (n,), and the node of each place; empty where nodes keep their numbers.
    place: Vec<u32>,
    node: Vec<u32>,
    /// First place of each part but the first, multiples of four; none where the first part has all.
    cuts: Vec<usize>,
}

impl Order {
    /// `part_of_finest` gives the part of each node of the finest level, in the order of the bricks.
    pub fn new(coarse: &Coarse, sharing: Sharing, part_of_finest: &(dyn Fn(usize) -> usize + Sync)) -> Self {
        let n_shared = sharing.n_shared(coarse);
        let mut levels = Vec::new();
        let mut parts: Vec<u16> = Vec::new();
        for (l, level) in coarse.levels.iter().enumerate() {
            if l < n_shared {
                let part_of_finer = |node: usize| parts.get(node).map_or_else(|| part_of_finest(node), |&p| p.into());
                parts = parts_of(level, if l == 0 { part_of_finest } else { &part_of_finer });
                levels.push(OfLevel::by_part(&parts, sharing.n_parts));
            } else {
                levels.push(OfLevel { n: level.n / 3, place: Vec::new(), node: Vec::new(), cuts: Vec::new() });
            }
        }
        Self { n_parts: sharing.n_parts, n_shared, levels }
    }

    /// First places of each part but the first.
    pub fn cuts(&self, level: usize) -> &[usize] {
        &self.levels[level].cuts
    }

    /// The places that a part computes.
    pub fn own(&self, part: usize, level: usize) -> Range<usize> {
        let OfLevel { n, cuts, .. } = &self.levels[level];
        match (cuts.is_empty(), part) {
            (true, 0) => 0..*n,
            (true, _) => 0..0,
            (false, 0) => 0..cuts[0],
            (false, _) => cuts[part - 1]..cuts.get(part).copied().unwrap_or(*n),
        }
    }

    /// First place of each part, and the end.
    pub fn firsts(&self, level: usize) -> Vec<usize> {
        let ends = (0..self.n_parts).map(|part| self.own(part, level).end.max(self.own(0, level).end));
        std::iter::once(0).chain(ends).collect()
    }

    /// Place of a node of a level.
    pub fn place(&self, level: usize, node: u32) -> u32 {
        self.levels[level].place.get(node as usize).copied().unwrap_or(node)
    }

    /// Values of which each node of a level has `n`, from the order of the nodes to that of the places.
    pub fn of_nodes<T: Copy + Default + Send + Sync>(&self, level: usize, n: usize, values: Vec<T>) -> Vec<T> {
        let OfLevel { node, .. } = &self.levels[level];
        if node.is_empty() {
            return values;
        }
        let mut out = vec![T::default(); values.len()];
        let to = Shared::new(&mut out);
        parallel::for_each(node.len(), &|place| {
            let from = n * node[place] as usize;
            // SAFETY: each place has values of its own.
            unsafe { to.part(n * place..n * place + n) }.copy_from_slice(&values[from..from + n]);
        });
        out
    }

    /// Rows of entries, one a node: their first entries and the end, and what moves entries of one kind to the order of the places.
    pub fn of_rows(&self, level: usize, first: Vec<u32>) -> (Vec<u32>, Rows<'_>) {
        let node = &self.levels[level].node[..];
        if node.is_empty() {
            return (first, Rows { node, from: Vec::new(), to: Vec::new() });
        }
        let lengths = node.iter().map(|&node| first[node as usize + 1] - first[node as usize]);
        let to = starts(lengths);
        (to.clone(), Rows { node, from: first, to })
    }
}

/// Moves rows of entries, one a node, to the order of the places.
#[derive(Debug)]
pub(in super::super) struct Rows<'o> {
    /// Empty where they stay.
    node: &'o [u32],
    from: Vec<u32>,
    to: Vec<u32>,
}

impl Rows<'_> {
    /// The entries of all rows.
    pub fn moved<T: Copy + Default + Send + Sync>(&self, entries: Vec<T>) -> Vec<T> {
        if self.node.is_empty() {
            return entries;
        }
        let mut out = vec![T::default(); entries.len()];
        let shared = Shared::new(&mut out);
        parallel::for_each(self.node.len(), &|place| {
            let node = self.node[place] as usize;
            let from = self.from[node] as usize..self.from[node + 1] as usize;
            // SAFETY: each row has entries of its own.
            let to = unsafe { shared.part(self.to[place] as usize..self.to[place + 1] as usize) };
            to.copy_from_slice(&entries[from]);
        });
        out
    }
}

impl OfLevel {
    /// Given the part of each node.
    fn by_part(parts: &[u16], n_parts: usize) -> Self {
        let mut next = vec![0_u32; n_parts];
        parts.iter().for_each(|&part| next[usize::from(part)] += 1);
        let first = starts(next.iter().copied());
        next.copy_from_slice(&first[..n_parts]);
        let mut node = vec![0; parts.len()];
        let place = (0..).zip(parts).map(|(number, &part)| {
            let place = &mut next[usize::from(part)];
            node[*place as usize] = number;
            *place += 1;
            *place - 1
        });
        let place = place.collect();
        // A part begins up to three nodes early, as kernels load four numbers at a time.
        let cuts = first[1..n_parts].iter().map(|&first| first as usize / 4 * 4).collect();
        Self { n: parts.len(), place, node, cuts }
    }
}

/// The part of each node of a level: that of the first element which has the node. An element belongs to the part of the first finer
/// node in it.
fn parts_of(level: &Level, part_of_finer: &(dyn Fn(usize) -> usize + Sync)) -> Vec<u16> {
    let of_element =
        |element: usize| level.transfer.of(element).next().map_or(0, |(fine, _)| part_of_finer(fine) as u16);
    let of_elements: Vec<u16> = parallel::map(level.nodes.len(), &of_element);
    let mut parts = vec![0; level.n / 3];
    for (nodes, part) in level.nodes.iter().zip(of_elements).rev() {
        nodes.iter().for_each(|&node| parts[node as usize] = part);
    }
    parts
}

/// The part of each node of the bricks, where parts have places of the finest level from `first` on, and `place` is that of each node.
pub(in super::super) fn part_by_place<'p>(first: &'p [usize], place: &'p [u32]) -> impl Fn(usize) -> usize + Sync + 'p {
    |node| first.partition_point(|&first| first <= place[node] as usize).max(1) - 1
}
