//! Sub-domains of an Eikonal mesh and their interfaces (Sections 6 and 6.3 of Ganellari et al.).
//!
//! A sub-domain owns consecutive nodes and computes the times of these alone; it reads further nodes of the elements round them,
//! its *halo*. Local numbers of a sub-domain: its own nodes, then its halo. Where the time of an own node falls, the owner tells
//! the sub-domains that have it in their halo. The lists for that lie once in the file and serve both approaches of the paper:
//! the *first* (one list for each pair of neighbouring sub-domains, worked off by anybody) is `pair` with `pair_first`; the
//! *second* (each sub-domain has its own interface information) is the range `sent_first` of those pairs that one owner
//! sends. In contrast to the paper's, a node has one owner: nobody else writes its time, so no update needs an atomic operation.

use rkyv::{Archive, Archived, Deserialize, Serialize};

use crate::block::Table;
use crate::block::cast::native;

/// Sub-domains and interfaces.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq, Default)]
pub struct EikonalDomains {
    /// How the nodes were cut: `morton`, `metis`, `greedy`.
    pub method: String,
    /// First node of each sub-domain, (N + 1,).
    pub node_first: Vec<u32>,
    /// First halo node of each sub-domain, (N + 1,).
    pub halo_first: Vec<u32>,
    /// Halo nodes (solver indices), ascending within a sub-domain.
    pub halo: Vec<u32>,
    /// First pair that each sub-domain sends, (N + 1,).
    pub sent_first: Vec<u32>,
    /// Owner and reader of each pair, ascending, (P, 2).
    pub pair: Vec<u32>,
    /// First entry of each pair in `interface`, (P + 1,).
    pub pair_first: Vec<u32>,
    /// Local number of a node at its owner and at the reader, (Σ, 2), ascending within a pair.
    pub interface: Vec<u32>,
}

/// [`EikonalDomains`] as slices.
#[derive(Debug, Clone, Copy)]
pub struct EikonalDomainsView<'a> {
    /// As in [`EikonalDomains`].
    pub method: &'a str,
    /// As in [`EikonalDomains`].
    pub node_first: &'a [u32],
    /// As in [`EikonalDomains`].
    pub halo_first: &'a [u32],
    /// As in [`EikonalDomains`].
    pub halo: &'a [u32],
    /// As in [`EikonalDomains`].
    pub sent_first: &'a [u32],
    /// As in [`EikonalDomains`].
    pub pair: &'a [u32],
    /// As in [`EikonalDomains`].
    pub pair_first: &'a [u32],
    /// As in [`EikonalDomains`].
    pub interface: &'a [u32],
}

/// What one sub-domain tells another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Boundary<'a> {
    /// The sub-domain that owns the nodes.
    pub owner: u32,
    /// The sub-domain that reads them.
    pub reader: u32,
    /// Local number at the owner and at the reader, (k, 2).
    pub nodes: &'a [[u32; 2]],
}

impl EikonalDomains {
    /// Finds halos and interfaces.
    ///
    /// `node_first` cuts the nodes; `neighbour_first` and `neighbours` are those of [`EikonalMesh`](super::EikonalMesh).
    pub fn new(method: &str, node_first: Vec<u32>, neighbour_first: &[u32], neighbours: &[u32]) -> Self {
        let n_domains = node_first.len() - 1;
        let mut result = Self { method: method.into(), halo_first: vec![0], ..Default::default() };
        // (owner, reader, local at the owner, local at the reader)
        let mut entries: Vec<(u32, u32, u32, u32)> = Vec::new();
        let mut halo = Vec::new();
        for domain in 0..n_domains {
            let own = node_first[domain]..node_first[domain + 1];
            halo.clear();
            let range = neighbour_first[own.start as usize] as usize..neighbour_first[own.end as usize] as usize;
            halo.extend(neighbours[range].iter().copied().filter(|node| !own.contains(node)));
            halo.sort_unstable();
            halo.dedup();
            for (place, &node) in halo.iter().enumerate() {
                let owner = node_first.partition_point(|&first| first <= node) as u32 - 1;
                let local = node - node_first[owner as usize];
                entries.push((owner, domain as u32, local, own.len() as u32 + place as u32));
            }
            result.halo.extend_from_slice(&halo);
            result.halo_first.push(result.halo.len() as u32);
        }
        entries.sort_unstable();
        let mut sent = vec![0; n_domains + 1];
        for same in entries.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            sent[same[0].0 as usize + 1] += 1;
            result.pair.extend([same[0].0, same[0].1]);
            result.pair_first.push((result.interface.len() / 2) as u32);
            result.interface.extend(same.iter().flat_map(|entry| [entry.2, entry.3]));
        }
        result.pair_first.push((result.interface.len() / 2) as u32);
        for domain in 0..n_domains {
            sent[domain + 1] += sent[domain];
        }
        result.sent_first = sent;
        result.node_first = node_first;
        result
    }

    /// The lists as slices.
    pub fn view(&self) -> EikonalDomainsView<'_> {
        EikonalDomainsView {
            method: &self.method,
            node_first: &self.node_first,
            halo_first: &self.halo_first,
            halo: &self.halo,
            sent_first: &self.sent_first,
            pair: &self.pair,
            pair_first: &self.pair_first,
            interface: &self.interface,
        }
    }
}

impl<'a> EikonalDomainsView<'a> {
    /// Number of sub-domains.
    pub fn n_domains(&self) -> usize {
        self.node_first.len() - 1
    }

    /// Own nodes of a sub-domain.
    pub fn own(&self, domain: usize) -> std::ops::Range<usize> {
        self.node_first[domain] as usize..self.node_first[domain + 1] as usize
    }

    /// Halo of a sub-domain.
    pub fn halo_of(&self, domain: usize) -> &'a [u32] {
        &self.halo[self.halo_first[domain] as usize..self.halo_first[domain + 1] as usize]
    }

    /// The sub-domain that owns a node.
    pub fn owner(&self, node: u32) -> u32 {
        self.node_first.partition_point(|&first| first <= node) as u32 - 1
    }

    /// Number of pairs (owner, reader).
    pub fn n_pairs(&self) -> usize {
        self.pair_first.len() - 1
    }

    /// One pair: the first approach goes through all of them.
    pub fn boundary(&self, pair: usize) -> Boundary<'a> {
        let range = self.pair_first[pair] as usize..self.pair_first[pair + 1] as usize;
        Boundary {
            owner: self.pair[2 * pair],
            reader: self.pair[2 * pair + 1],
            nodes: &self.interface.as_chunks::<2>().0[range],
        }
    }

    /// What a sub-domain sends: the second approach.
    pub fn sent(self, domain: usize) -> impl Iterator<Item = Boundary<'a>> {
        (self.sent_first[domain] as usize..self.sent_first[domain + 1] as usize).map(move |pair| self.boundary(pair))
    }
}

impl Table for EikonalDomains {
    type View<'a> = EikonalDomainsView<'a>;

    fn view(&self) -> EikonalDomainsView<'_> {
        self.view()
    }

    fn archived(domains: &Archived<Self>) -> EikonalDomainsView<'_> {
        EikonalDomainsView {
            method: domains.method.as_str(),
            node_first: native(&domains.node_first),
            halo_first: native(&domains.halo_first),
            halo: native(&domains.halo),
            sent_first: native(&domains.sent_first),
            pair: native(&domains.pair),
            pair_first: native(&domains.pair_first),
            interface: native(&domains.interface),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A chain of triangles 0-1-2, 1-2-3, 2-3-4, 3-4-5, cut into 0-1, 2-3, 4-5.
    #[test]
    fn interfaces_of_a_strip() {
        let mut mesh = crate::eikonal::EikonalMesh {
            corners: 3,
            elements: vec![0, 1, 2, 1, 2, 3, 2, 3, 4, 3, 4, 5],
            ..Default::default()
        };
        mesh.connect(6);
        let domains = EikonalDomains::new("morton", vec![0, 2, 4, 6], &mesh.neighbour_first, &mesh.neighbours);
        let view = domains.view();
        assert_eq!(view.halo_of(0), [2, 3]);
        assert_eq!(view.halo_of(1), [0, 1, 4, 5]);
        assert_eq!(view.n_pairs(), 4);
        let sent: Vec<Boundary> = view.sent(1).collect();
        assert_eq!(sent.len(), 2);
        assert_eq!((sent[0].reader, sent[0].nodes), (0, &[[0, 2], [1, 3]][..]));
        assert_eq!((sent[1].reader, sent[1].nodes), (2, &[[0, 2], [1, 3]][..]));
        assert_eq!(view.owner(3), 1);
    }
}
