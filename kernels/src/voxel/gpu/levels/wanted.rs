//! What a part reads of the nodes of others: the lists of the messages between ranks whose devices do not reach each other's memory.

use std::ops::Range;

use pogo_formats::system::parallel;
use pogo_formats::system::parallel::iterate::*;

use super::super::super::multigrid::Coarse;
use super::super::super::share::sorted;
use super::super::layout::{IN_PRODUCTS, IN_PROLONGATION, IN_RESTRICTION, N_LISTS};
use super::{Assembled, COLUMNS, Colours, Order};

/// Nodes that one part reads and others have, ascending.
#[derive(Debug, Default)]
pub(in super::super) struct Wanted {
    /// Nodes of the finest level, in the order of the bricks, whose residual is restricted.
    pub finest: Vec<u32>,
    /// Places of nodes, N_LISTS lists for each level.
    pub places: Vec<Vec<u32>>,
}

impl Wanted {
    /// Those of a part. `first_nodes` are the places of the nodes of level 1's elements, `further` the tables of further levels.
    pub(super) fn new(
        part: usize,
        coarse: &Coarse,
        order: &Order,
        (colours, first_nodes, further): (&Colours, &[[u32; 8]], &[Assembled]),
        part_of_finest: &(dyn Fn(usize) -> usize + Sync),
    ) -> Self {
        let mut out = Self { finest: Vec::new(), places: vec![Vec::new(); N_LISTS as usize * coarse.levels.len()] };
        let own: Vec<Range<usize>> = (0..coarse.levels.len()).map(|l| order.own(part, l)).collect();
        let foreign = |l: usize, node: u32| !own[l].contains(&(node as usize));
        let at = |l: usize, kind: u32| N_LISTS as usize * l + kind as usize;

        let transfer = &coarse.levels[0].transfer;
        let elements = colours.of_part(part);
        let read = elements.par_iter().flat_map_iter(|&element| transfer.of(element as usize).map(|(fine, _)| fine));
        out.finest = sorted(read.filter(|&fine| part_of_finest(fine) != part).map(|fine| fine as u32).collect());
        let read = elements.par_iter().flat_map_iter(|&element| first_nodes[element as usize]);
        out.places[at(0, IN_PRODUCTS)] = sorted(read.filter(|&node| foreign(0, node)).collect());
        let is_read = |&element: &usize| transfer.of(element).any(|(fine, _)| part_of_finest(fine) == part);
        let read = (0..first_nodes.len()).into_par_iter().filter(is_read).flat_map_iter(|element| first_nodes[element]);
        out.places[at(0, IN_PROLONGATION)] = sorted(read.filter(|&node| foreign(0, node)).collect());

        // Levels that the first part computes alone have no others but at their border to shared ones.
        for (l, Assembled { blocks, nodes, transfer }) in (1..).zip(further).take(order.n_shared) {
            let (rows, finer) = (own[l].clone(), own[l - 1].clone());
            if let Some(blocks) = blocks {
                let columns = blocks.column[entries(&blocks.first, &rows)].par_iter();
                let columns = columns.map(|&entry| entry & (COLUMNS - 1) as u32);
                out.places[at(l, IN_PRODUCTS)] = sorted(columns.filter(|&node| foreign(l, node)).collect());
            }
            let read = transfer.entries[entries(&transfer.first, &rows)].par_iter().map(|&entry| entry >> 2);
            out.places[at(l - 1, IN_RESTRICTION)] = sorted(read.filter(|&node| foreign(l - 1, node)).collect());
            let read = transfer.owner[finer].par_iter().flat_map_iter(|&owner| nodes[owner as usize >> 5]);
            out.places[at(l, IN_PROLONGATION)] = sorted(read.filter(|&node| foreign(l, node)).collect());
        }
        out
    }
}

impl Wanted {
    /// Numbers of the vectors of a level that come from other parts, in few ranges.
    pub fn numbers(&self, level: usize) -> Vec<Range<usize>> {
        let lists = self.places.chunks(N_LISTS as usize).nth(level).unwrap_or_default();
        lists.iter().flat_map(|nodes| numbers_of(nodes)).collect()
    }
}

/// The numbers of ascending nodes in a vector, in few ranges: those between nodes that lie near each other are in them, too.
pub(in super::super) fn numbers_of(nodes: &[u32]) -> Vec<Range<usize>> {
    /// Less than this lies on the same page as its neighbours, or nearly so.
    const NEAR: u32 = 1 << 17;
    let runs = nodes.chunk_by(|a, b| b - a < NEAR);
    runs.map(|run| 3 * run[0] as usize..3 * (run[run.len() - 1] as usize + 1)).collect()
}

/// The entries of some rows.
fn entries(first: &[u32], rows: &Range<usize>) -> Range<usize> {
    first[rows.start] as usize..first[rows.end] as usize
}

impl Colours {
    /// The elements that have nodes of a part.
    fn of_part(&self, part: usize) -> Vec<u32> {
        let range = self.first.get(part).map_or(0..0, |first| first[0] as usize..first[8] as usize);
        let order = &self.order[range];
        parallel::map(order.len(), &|at| order[at].0 & !Self::COPY)
    }
}
