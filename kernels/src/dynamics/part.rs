//! The part of a model that a stepper owns.
//!
//! A stepper moves its *own* nodes. Their elements and springs also have nodes of other parts, the *halo*, whose
//! displacements come from the steppers that own them: after each step an [`Exchange`] carries them along the messages of
//! the sub-domains. Steppers with all parts of a model then give the same bits as one with the whole.

use std::ops::Range;

use pogo_formats::domains::SubDomainsView;

use super::Stepper;
use crate::device::Plain;
use crate::exchange::{Exchange, Receivers};

/// Which nodes (or particles) of a model a stepper has, by their solver indices.
///
/// Local numbers: own nodes, ascending, then the halo in the order given.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Part {
    /// Ranges of own nodes, ascending.
    own: Vec<Range<usize>>,
    /// Local number of the first node of each range, and the number of own nodes.
    own_first: Vec<usize>,
    halo: Vec<u32>,
    /// The halo, ascending, with its local numbers.
    sorted_halo: Vec<(u32, u32)>,
    /// Own nodes that other parts read, ascending.
    read_by_others: Vec<u32>,
}

impl Part {
    /// All of a model.
    pub fn whole(n_nodes: usize) -> Self {
        Self::new(std::iter::once(0..n_nodes).collect(), Vec::new(), Vec::new())
    }

    /// A part with some ranges of nodes, ascending, the nodes of other parts that it reads, and the own nodes that other
    /// parts read, ascending.
    pub fn new(own: Vec<Range<usize>>, halo: Vec<u32>, read_by_others: Vec<u32>) -> Self {
        let mut own_first = vec![0];
        own.iter().for_each(|range| own_first.push(own_first[own_first.len() - 1] + range.len()));
        let n_own = own_first[own.len()] as u32;
        let mut sorted_halo: Vec<_> = halo.iter().copied().zip(n_own..).collect();
        sorted_halo.sort_unstable();
        Self { own, own_first, halo, sorted_halo, read_by_others }
    }

    /// A sub-domain of a model.
    pub fn of(domains: &SubDomainsView, domain: usize) -> Self {
        let own = domains.own(domain).map(|range| range.start as usize..range.end as usize);
        let mut read_by_others: Vec<u32> = domains.sent(domain).flat_map(|message| message.items).copied().collect();
        read_by_others.sort_unstable();
        read_by_others.dedup();
        Self::new(own.collect(), domains.halo_of(domain).to_vec(), read_by_others)
    }

    /// Number of own nodes.
    pub fn n_own(&self) -> usize {
        self.own_first[self.own.len()]
    }

    /// Own nodes and those of the halo.
    pub fn n_local(&self) -> usize {
        self.n_own() + self.halo.len()
    }

    /// Own nodes, ascending.
    pub fn own(&self) -> impl Iterator<Item = usize> + '_ {
        self.own.iter().flat_map(Range::clone)
    }

    /// Ranges of own nodes, ascending.
    pub fn own_ranges(&self) -> &[Range<usize>] {
        &self.own
    }

    /// Nodes of other parts that this one reads.
    pub fn halo(&self) -> &[u32] {
        &self.halo
    }

    /// Own nodes that other parts read, ascending.
    pub fn read_by_others(&self) -> &[u32] {
        &self.read_by_others
    }

    /// Local number of an own node.
    pub fn local_own(&self, node: usize) -> Option<usize> {
        let range = self.own.partition_point(|range| range.end <= node);
        let start = self.own.get(range).filter(|own| own.contains(&node))?.start;
        Some(self.own_first[range] + node - start)
    }

    /// Local number of an own node, or of one of the halo.
    pub fn local(&self, node: usize) -> Option<usize> {
        self.local_own(node).or_else(|| {
            let at = self.sorted_halo.binary_search_by_key(&(node as u32), |&(node, _)| node).ok()?;
            Some(self.sorted_halo[at].1 as usize)
        })
    }

    /// Solver index of an own node, given its local number.
    pub fn solver(&self, local: usize) -> usize {
        let range = self.own_first.partition_point(|&first| first <= local) - 1;
        self.own[range].start + local - self.own_first[range]
    }

    /// The values of own nodes, (n_own, `n_components`), out of those of all.
    pub fn select<T: Copy>(&self, values: &[T], n_components: usize) -> Vec<T> {
        let of_range = |range: &Range<usize>| &values[n_components * range.start..n_components * range.end];
        self.own.iter().flat_map(of_range).copied().collect()
    }

    /// The values of own nodes and halo, (n_tables × n_local × `n_components`,), out of tables of those of all nodes, each of
    /// `n_numbers` numbers.
    pub fn select_local(&self, tables: &[f64], n_numbers: usize, n_components: usize) -> Vec<f64> {
        let of_table = |values: &[f64]| {
            let mut local = self.select(values, n_components);
            local.extend(self.halo.iter().flat_map(|&node| &values[node as usize * n_components..][..n_components]));
            local
        };
        tables.chunks_exact(n_numbers.max(1)).flat_map(of_table).collect()
    }
}

/// A stepper that has a [`Part`] of a model.
///
/// It is to be advanced a step at a time where the part has a halo, whose values must be those of the step before.
#[allow(private_bounds)] // No other crate can make a number plain.
pub trait PartStepper: Stepper {
    /// Of displacements.
    type Number: Plain;

    /// The part that it has.
    fn part(&self) -> &Part;

    /// Numbers of a node that follow each other in [`exchanged`](Self::exchanged): a node's rows have so many each.
    fn n_components(&self) -> usize;

    /// The rows of a node, own and read by others or of the halo, in the arrays of [`exchanged`](Self::exchanged).
    fn rows(&self, node: u32) -> Vec<u32>;

    /// Arrays of which other parts read some own rows, and in which rows of the halo are written, at the present step.
    fn exchanged(&mut self) -> Vec<&mut [Self::Number]>;
}

/// Copies the displacements of other parts' nodes to the halo of this part, and sends those that others read: a message
/// from each owner to each reader. All parts call it at the same step.
pub fn update_halo<S: PartStepper>(exchange: &Exchange, domain: usize, stepper: &mut S) {
    let n_components = stepper.n_components();
    for array in 0..stepper.exchanged().len() {
        exchange.send_owned(domain, stepper.exchanged()[array], n_components);
        exchange.deliver(Receivers::Readers);
        exchange.receive_halo(domain, stepper.exchanged()[array], n_components);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_numbers_are_own_nodes_then_the_halo() {
        let part = Part::new(vec![3..5, 8..9], vec![9, 2], vec![4]);
        assert_eq!((part.n_own(), part.n_local()), (3, 5));
        let local: Vec<_> = (0..10).map(|node| part.local(node)).collect();
        let expected = [None, None, Some(4), Some(0), Some(1), None, None, None, Some(2), Some(3)];
        assert_eq!(local, expected);
        assert_eq!(part.local_own(9), None);
        assert_eq!([0, 1, 2].map(|local| part.solver(local)), [3, 4, 8]);
        assert_eq!(part.select(&(0..20).collect::<Vec<_>>(), 2), [6, 7, 8, 9, 16, 17]);
        assert_eq!(Part::whole(4).local(3), Some(3));
    }
}
