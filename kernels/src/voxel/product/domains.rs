//! The product y = K x on sub-domains that have vectors of their own (Section 3.1 of Arbenz, Flaig and Kellenberger).
//!
//! 1. Owners send x of the nodes that other sub-domains read.
//! 2. Each sub-domain computes all its elements.
//! 3. Readers send the sums on their halo nodes back, and owners add them up message by message.

use std::collections::HashMap;

use pogo_formats::domains::SubDomainsView;
use pogo_formats::system::parallel;
use pogo_formats::voxel::{BrickNodes, BricksView};

use super::Sink;
use super::listed::add_elements;
use super::scratch::{Scratch, numbers};
use crate::exchange::{Exchange, Receivers};
use crate::simd::Real;
use crate::voxel::bricks::{ALL_SLOTS, for_each_slot};
use crate::voxel::elements::{Batches, Elements};
use crate::voxel::forces;
use crate::voxel::problem::Stiffness;
use pogo_formats::system::parallel::Shared;

/// One sub-domain. Its local node numbers: own nodes brick by brick, then its halo.
#[derive(Debug)]
struct Part {
    /// Elements of the model, ascending.
    elements: Vec<u32>,
    /// Local numbers of their nodes.
    nodes: Vec<[u32; 8]>,
    batches: Batches,
    bricks: OwnBricks,
    /// Own nodes and halo.
    n_nodes: usize,
}

/// The bricks of a sub-domain, ascending.
#[derive(Debug)]
struct OwnBricks {
    /// Of each brick: its number, its first node in the model, its first local node.
    list: Vec<[u32; 3]>,
    /// Own nodes of the sub-domain.
    n_own: usize,
}

/// All sub-domains with their exchange. One product runs at a time.
#[derive(Debug)]
pub(super) struct DomainProduct {
    parts: Vec<Part>,
    /// First node of each sub-domain in the concatenated local vectors, and the end.
    first: Vec<usize>,
    exchange: Exchange,
    n_bricks: usize,
}

impl DomainProduct {
    pub fn new(bricks: &BricksView, domains: &SubDomainsView) -> Self {
        let n = domains.n_domains();
        let parts: Vec<Part> = parallel::map(n, &|domain| Part::new(bricks, domains, domain));
        let mut first = vec![0];
        parts.iter().for_each(|part| first.push(first[first.len() - 1] + part.n_nodes));
        Self { first, exchange: Exchange::of(domains), n_bricks: bricks.n_bricks(), parts }
    }

    /// As [`Product::apply`](super::Product::apply).
    pub fn apply<T: Real, const N: usize>(
        &self,
        x: &[T],
        parts: &[forces::Part<T>; N],
        stiffness: &Stiffness,
        scratch: &mut Scratch,
        finish: Sink<'_, T>,
    ) -> f64 {
        let n = 3 * self.first[self.parts.len()];
        scratch.results.clear();
        scratch.results.resize(self.n_bricks, 0.0);
        let [u, f] = &mut scratch.vectors;
        let u = Shared::new(numbers::<T>(u, n));
        let f = Shared::new(numbers::<T>(f, n));
        let results = Shared::new(&mut scratch.results);
        let of_domain = |domain: usize| 3 * self.first[domain]..3 * self.first[domain + 1];
        parallel::for_each(self.parts.len(), &|domain| {
            let part = &self.parts[domain];
            // SAFETY: each sub-domain has its own numbers.
            let u = unsafe { u.part(of_domain(domain)) };
            for (_, first, own) in part.bricks.iter() {
                u[own.clone()].copy_from_slice(&x[3 * first..3 * first + own.len()]);
            }
            self.exchange.send_owned(domain, u, 3);
        });
        self.exchange.deliver(Receivers::Readers);
        parallel::for_each(self.parts.len(), &|domain| {
            let part = &self.parts[domain];
            // SAFETY: each sub-domain has its own numbers.
            let (u, f) = unsafe { (u.part(of_domain(domain)), f.part(of_domain(domain))) };
            self.exchange.receive_halo(domain, u, 3);
            let stiffness = |e: usize, p: usize| stiffness(part.elements[e] as usize, p);
            add_elements(&part.batches, &|e| part.nodes[e], &stiffness, parts, u, f);
            self.exchange.send_halo(domain, f, 3);
        });
        self.exchange.deliver(Receivers::Owners);
        parallel::for_each(self.parts.len(), &|domain| {
            let part = &self.parts[domain];
            // SAFETY: each sub-domain has its own numbers.
            let f = unsafe { f.part(of_domain(domain)) };
            self.exchange.add_received(domain, f, 3);
            for (brick, first, own) in part.bricks.iter() {
                let result = finish(first, &mut f[own]);
                // SAFETY: each brick is in one sub-domain.
                unsafe { results.part(brick..brick + 1)[0] = result };
            }
        });
        scratch.results.iter().sum()
    }
}

impl Part {
    fn new(bricks: &BricksView, domains: &SubDomainsView, domain: usize) -> Self {
        let (numbers, halo) = (bricks.of_domain(domains, domain), domains.halo_of(domain));
        let own = OwnBricks::new(bricks, &numbers);
        let in_halo: HashMap<u32, u32> = halo.iter().copied().zip(own.n_own as u32..).collect();
        let number = |node: u32| own.local(node).or_else(|| in_halo.get(&node).copied()).unwrap_or(0);
        let (mut elements, mut nodes, mut table) = (Vec::new(), Vec::new(), BrickNodes::default());
        for &brick in &numbers {
            let brick = brick as usize;
            table.load(bricks, brick);
            for_each_slot(&bricks.element_mask[8 * brick..8 * brick + 8], &ALL_SLOTS, |slot, rank| {
                elements.push(bricks.element_first[brick] + rank as u32);
                nodes.push(table.in_slot(slot).map(number));
            });
        }
        let list = Elements { nodes, n_nodes: own.n_own + halo.len(), ..Elements::default() };
        let batches = Batches::new(&list);
        Self { elements, nodes: list.nodes, batches, bricks: own, n_nodes: list.n_nodes }
    }
}

impl OwnBricks {
    fn new(bricks: &BricksView, numbers: &[u32]) -> Self {
        let (mut list, mut n_own) = (Vec::with_capacity(numbers.len()), 0);
        for &brick in numbers {
            let nodes = bricks.node_first[brick as usize]..bricks.node_first[brick as usize + 1];
            list.push([brick, nodes.start, n_own]);
            n_own += nodes.len() as u32;
        }
        Self { list, n_own: n_own as usize }
    }

    /// Of each brick: its number, its first node in the model, the range of its nodes' numbers in local vectors.
    fn iter(&self) -> impl Iterator<Item = (usize, usize, std::ops::Range<usize>)> {
        let ends = self.list.iter().skip(1).map(|next| next[2] as usize).chain([self.n_own]);
        let brick = |(&[brick, first, local], end): (&[u32; 3], usize)| {
            (brick as usize, first as usize, 3 * local as usize..3 * end)
        };
        self.list.iter().zip(ends).map(brick)
    }

    /// Local number of a node of the model, if it is an own one.
    fn local(&self, node: u32) -> Option<u32> {
        // Bricks and their nodes both ascend.
        let next = self.list.partition_point(|brick| brick[1] <= node);
        let [_, first, local] = self.list[next.checked_sub(1)?];
        let end = self.list.get(next).map_or(self.n_own as u32, |brick| brick[2]);
        (node - first < end - local).then_some(local + (node - first))
    }
}
