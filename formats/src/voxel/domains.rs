//! Sub-domains of a voxel grid: which nodes each needs of others, and the bricks of each.
//!
//! As in ParOSol (Section 3.1 of Arbenz, Flaig and Kellenberger; Section 4.1 of Kellenberger's thesis), a sub-domain has its
//! own elements and its own nodes, and needs further nodes of its elements that others own. Before a product K u, owners
//! send u there (import). After it, what was added there goes back to the owners, who add it up (export). The unit of
//! cutting is a brick: a sub-domain owns the elements and the nodes of its bricks.

use super::masks;
use super::{BricksView, NO_BRICK};
use crate::domains::{SubDomains, SubDomainsView, ranges_of};
use crate::system::parallel::iterate::*;

/// Lists what sub-domains need of each other, given the sub-domain of each brick, (n_bricks,), all below `n_domains`.
pub fn sub_domains(method: &str, bricks: &BricksView, domain: &[u32], n_domains: usize) -> SubDomains {
    // Nodes that the elements of a brick have in the bricks above it, where those are of another sub-domain.
    let needed_by = |brick: usize| {
        let elements = bricks.elements(brick);
        let mut needed = Vec::new();
        for c in (1..8).filter(|&c| masks::touches_upper(&elements, c)) {
            let other = bricks.neighbours[27 * brick + 13 + (c & 1) + 3 * (c >> 1 & 1) + 9 * (c >> 2)];
            if other == NO_BRICK || domain[other as usize] == domain[brick] {
                continue;
            }
            let mut around = [[0; 8]; 8];
            around[c] = elements;
            let (other, nodes) = (other as usize, masks::node_mask(&around));
            let slot_codes = bricks.node_codes(other).zip(bricks.node_first[other]..);
            let is_needed = |code: u64| nodes[(code >> 6 & 7) as usize] >> (code & 63) & 1 == 1;
            needed.extend(slot_codes.filter(|&(code, _)| is_needed(code)).map(|(_, node)| node));
        }
        needed
    };
    let pairs: Vec<(u32, u32)> = (0..bricks.n_bricks())
        .into_par_iter()
        .with_min_len(1024)
        .flat_map_iter(|brick| needed_by(brick).into_iter().map(move |node| (domain[brick], node)))
        .collect();
    let mut needed = vec![Vec::new(); n_domains];
    pairs.into_iter().for_each(|(domain, node)| needed[domain as usize].push(node));
    SubDomains::new(method, &ranges_of(bricks.node_first, domain, n_domains), needed)
}

impl BricksView<'_> {
    /// The bricks of a sub-domain, ascending.
    pub fn of_domain(&self, domains: &SubDomainsView, domain: usize) -> Vec<u32> {
        let before = |node: u32| self.node_first[..self.n_bricks()].partition_point(|&first| first < node) as u32;
        domains.own(domain).flat_map(|nodes| before(nodes.start)..before(nodes.end)).collect()
    }

    /// The sub-domain of each brick, (n_bricks,).
    pub fn domains(&self, domains: &SubDomainsView) -> Vec<u32> {
        let mut domain = vec![0; self.n_bricks()];
        for d in 0..domains.n_domains() {
            self.of_domain(domains, d).iter().for_each(|&brick| domain[brick as usize] = d as u32);
        }
        domain
    }
}
