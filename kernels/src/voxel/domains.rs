//! The product on sub-domains: each has vectors of its own, and they tell each other what they need.
//!
//! As on several machines: owners send u of the nodes that others need, all compute their elements, what was added to those
//! nodes comes back, and owners add it up, message by message (Section 3.1 of Arbenz, Flaig and Kellenberger).

use std::collections::HashMap;

use pogo_formats::voxel::{BrickNodes, BricksView, DomainsView};
use rayon::prelude::*;

use super::bricks::for_each_slot;
use super::lookup::{Asked, add_elements};
use super::number::{Number, Shared};
use super::product::{Scratch, numbers};
use super::split::{Batches, Elements};

/// What one domain computes.
#[derive(Debug)]
struct Part {
    /// Elements of the model, ascending.
    elements: Vec<u32>,
    /// Their nodes: own ones, then those of the messages received.
    nodes: Vec<[u32; 8]>,
    batches: Batches,
    /// Of each of its bricks: number, first node of the model, first node here.
    bricks: Vec<[u32; 3]>,
    n_own: usize,
    n_nodes: usize,
    /// Messages received, and their first node here.
    received: Vec<(usize, usize)>,
    /// Messages sent, and their nodes here.
    sent: Vec<(usize, Vec<u32>)>,
}

/// All domains.
#[derive(Debug)]
pub(super) struct DomainProduct {
    parts: Vec<Part>,
    /// First node of each domain in the vectors of all, and the end.
    first: Vec<usize>,
    /// First node of each message, and the end.
    message_first: Vec<usize>,
    n_bricks: usize,
}

impl DomainProduct {
    pub fn new(bricks: &BricksView, domains: &DomainsView) -> Self {
        let parts: Vec<Part> =
            (0..domains.n_domains()).into_par_iter().map(|domain| Part::new(bricks, domains, domain)).collect();
        let mut first = vec![0];
        parts.iter().for_each(|part| first.push(first[first.len() - 1] + part.n_nodes));
        let message_first = domains.message_node_first.iter().map(|&n| n as usize).collect();
        Self { parts, first, message_first, n_bricks: bricks.n_bricks() }
    }

    /// As [`Product::apply`](super::Product::apply).
    pub fn apply<T: Number>(
        &self,
        x: &[T],
        blocks: &[[[T; 3]; 3]; 8],
        stiffness: &(dyn Fn(usize) -> f64 + Sync),
        scratch: &mut Scratch,
        finish: impl Fn(usize, &mut [T]) -> f64 + Sync,
    ) -> f64 {
        let n = 3 * self.first[self.parts.len()];
        scratch.sums.clear();
        scratch.sums.resize(self.n_bricks, 0.0);
        let [u, f, messages] = &mut scratch.values;
        let u = Shared::new(numbers::<T>(u, n));
        let f = Shared::new(numbers::<T>(f, n));
        let messages = Shared::new(numbers::<T>(messages, 3 * self.message_first.last().unwrap_or(&0)));
        let sums = Shared::new(&mut scratch.sums);
        let of_domain = |domain: usize| 3 * self.first[domain]..3 * self.first[domain + 1];
        let of_message = |message: usize| 3 * self.message_first[message]..3 * self.message_first[message + 1];
        // Between these walks over the domains everything that was sent has come.
        self.parts.par_iter().enumerate().for_each(|(domain, part)| {
            // SAFETY: each domain has its own numbers, and each message one sender.
            let u = unsafe { u.part(of_domain(domain)) };
            for &[_, node, here] in &part.bricks {
                let (from, to) = (3 * node as usize, 3 * here as usize);
                let n = part.own_of(here);
                u[to..to + n].copy_from_slice(&x[from..from + n]);
            }
            for (message, nodes) in &part.sent {
                // SAFETY: as above.
                let out = unsafe { messages.part(of_message(*message)) };
                for (to, &node) in out.chunks_exact_mut(3).zip(nodes) {
                    to.copy_from_slice(&u[3 * node as usize..3 * node as usize + 3]);
                }
            }
        });
        self.parts.par_iter().enumerate().for_each(|(domain, part)| {
            // SAFETY: each domain has its own numbers, and each message one receiver.
            let (u, f) = unsafe { (u.part(of_domain(domain)), f.part(of_domain(domain))) };
            for &(message, first) in &part.received {
                // SAFETY: as above.
                let message = unsafe { messages.part(of_message(message)) };
                u[3 * first..3 * first + message.len()].copy_from_slice(message);
            }
            let stiffness = |e: usize| stiffness(part.elements[e] as usize);
            let asked = Asked { nodes: &|e| part.nodes[e], stiffness: &stiffness };
            add_elements(&part.batches, &asked, blocks, u, f);
            for &(message, first) in &part.received {
                // SAFETY: as above.
                let message = unsafe { messages.part(of_message(message)) };
                message.copy_from_slice(&f[3 * first..3 * first + message.len()]);
            }
        });
        self.parts.par_iter().enumerate().for_each(|(domain, part)| {
            // SAFETY: each domain has its own numbers, and nobody writes messages now.
            let f = unsafe { f.part(of_domain(domain)) };
            for (message, nodes) in &part.sent {
                // SAFETY: as above.
                let back = unsafe { messages.part(of_message(*message)) };
                for (from, &node) in back.chunks_exact(3).zip(nodes) {
                    (0..3).for_each(|a| f[3 * node as usize + a] += from[a]);
                }
            }
            for &[brick, node, here] in &part.bricks {
                let n = part.own_of(here);
                let sum = finish(node as usize, &mut f[3 * here as usize..3 * here as usize + n]);
                // SAFETY: each brick is in one domain.
                unsafe { sums.part(brick as usize..brick as usize + 1)[0] = sum };
            }
        });
        scratch.sums.iter().sum()
    }
}

impl Part {
    fn new(bricks: &BricksView, domains: &DomainsView, domain: usize) -> Self {
        let this = domains.domain(domain);
        let mut out = Self {
            elements: Vec::new(),
            nodes: Vec::new(),
            batches: Batches::default(),
            bricks: Vec::with_capacity(this.bricks.len()),
            n_own: 0,
            n_nodes: 0,
            received: Vec::new(),
            sent: Vec::new(),
        };
        for &brick in this.bricks {
            let first = bricks.node_first[brick as usize];
            out.bricks.push([brick, first, out.n_own as u32]);
            out.n_own += (bricks.node_first[brick as usize + 1] - first) as usize;
        }
        out.n_nodes = out.n_own + this.halo.len();
        let halo: HashMap<u32, u32> = this.halo.iter().copied().zip(out.n_own as u32..).collect();
        // Bricks and their nodes both ascend.
        let own = |node: u32| {
            let [_, first, here] = out.bricks[out.bricks.partition_point(|brick| brick[1] <= node).checked_sub(1)?];
            let number = here + (node - first);
            (node - first < (out.own_of(here) / 3) as u32).then_some(number)
        };
        let number = |node: u32| own(node).or_else(|| halo.get(&node).copied()).unwrap_or(0);
        let (mut elements, mut nodes, mut table) = (Vec::new(), Vec::new(), BrickNodes::default());
        for &brick in this.bricks {
            let brick = brick as usize;
            table.load(bricks, brick);
            for_each_slot(&bricks.element_mask[8 * brick..8 * brick + 8], &[u64::MAX; 8], |slot, rank| {
                elements.push(bricks.element_first[brick] + rank as u32);
                nodes.push(table.in_slot(slot).map(number));
            });
        }
        let received = domains.message_first[domain] as usize..domains.message_first[domain + 1] as usize;
        let received = received.zip(&this.received).map(|(m, message)| (m, out.n_own + message.halo_first)).collect();
        let sent = &domains.sent[domains.sent_first[domain] as usize..domains.sent_first[domain + 1] as usize];
        let sent: Vec<(usize, Vec<u32>)> = sent
            .iter()
            .zip(&this.sent)
            .map(|(&m, message)| (m as usize, message.nodes.iter().map(|&node| own(node).unwrap_or(0)).collect()))
            .collect();
        let list = Elements { nodes, n_nodes: out.n_nodes, ..Elements::default() };
        let batches = Batches::new(&list);
        Self { elements, nodes: list.nodes, batches, received, sent, ..out }
    }

    /// Numbers of the own nodes of the brick that begins at `here`.
    fn own_of(&self, here: u32) -> usize {
        let next = self.bricks.partition_point(|brick| brick[2] <= here);
        3 * (self.bricks.get(next).map_or(self.n_own, |brick| brick[2] as usize) - here as usize)
    }
}
