//! Sub-domains: parts of the grid that are computed apart, and what they tell each other.
//!
//! As in ParOSol (Section 3.1 of Arbenz, Flaig and Kellenberger; Section 4.1 of Kellenberger's thesis), a domain has its own
//! elements and its own nodes, and needs further nodes of its elements that others own: its *halo*. Before a product K u, owners
//! send u there (import); after it, what was added there goes back to the owners, who add it up (export). Lists say
//! which nodes in which order. The unit of cutting is a brick, so that tables by brick need no change.

use rayon::prelude::*;
use rkyv::{Archive, Archived, Deserialize, Serialize};

use crate::block::Table;
use crate::block::cast::native;

use super::masks::{self, Mask};
use super::{BricksView, NO_BRICK};

/// Domains and their interfaces.
///
/// Local node numbers of a domain: its own nodes, ascending, then those of its messages, one after the other.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq, Default)]
pub struct Domains {
    /// `morton` (contiguous ranges) or `metis`.
    pub method: String,
    /// First entry of each domain in `bricks`, (n_domains + 1,).
    pub brick_first: Vec<u32>,
    /// Bricks of each domain, ascending within it, (n_bricks,).
    pub bricks: Vec<u32>,
    /// First message that each domain receives, (n_domains + 1,).
    pub message_first: Vec<u32>,
    /// Domain that owns the nodes of each message, ascending within a receiver, (n_messages,).
    pub message_owner: Vec<u32>,
    /// First node of each message, (n_messages + 1,).
    pub message_node_first: Vec<u64>,
    /// Nodes of the messages (of the whole model), ascending within each.
    pub message_nodes: Vec<u32>,
    /// First entry of each domain in `sent`, (n_domains + 1,).
    pub sent_first: Vec<u32>,
    /// Messages that each domain sends, ascending, (n_messages,).
    pub sent: Vec<u32>,
}

/// [`Domains`] as slices.
#[derive(Debug, Clone, Copy)]
pub struct DomainsView<'a> {
    /// As in [`Domains`].
    pub method: &'a str,
    /// As in [`Domains`].
    pub brick_first: &'a [u32],
    /// As in [`Domains`].
    pub bricks: &'a [u32],
    /// As in [`Domains`].
    pub message_first: &'a [u32],
    /// As in [`Domains`].
    pub message_owner: &'a [u32],
    /// As in [`Domains`].
    pub message_node_first: &'a [u64],
    /// As in [`Domains`].
    pub message_nodes: &'a [u32],
    /// As in [`Domains`].
    pub sent_first: &'a [u32],
    /// As in [`Domains`].
    pub sent: &'a [u32],
}

/// Nodes that one domain needs of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message<'a> {
    /// The other domain: the owner of what is received, or the receiver of what is sent.
    pub other: u32,
    /// Where the nodes begin in the receiver's halo.
    pub halo_first: usize,
    /// Nodes of the whole model, ascending.
    pub nodes: &'a [u32],
}

/// One domain.
#[derive(Debug, Clone)]
pub struct Domain<'a> {
    /// Its bricks, ascending.
    pub bricks: &'a [u32],
    /// Its halo, in local order: nodes that its elements have and others own.
    pub halo: &'a [u32],
    /// The halo by owner.
    pub received: Vec<Message<'a>>,
    /// What it owes to others, by receiver.
    pub sent: Vec<Message<'a>>,
}

/// What the elements of brick `from` need in brick `to` of another domain.
struct Need {
    domain: u32,
    owner: u32,
    brick: u32,
    nodes: Mask,
}

impl Domains {
    /// Numbers the messages between domains, given the domain of each brick, (n_bricks,), all below `n_domains`.
    pub fn new(method: &str, bricks: &BricksView, domain: &[u32], n_domains: usize) -> Self {
        let mut list: Vec<u32> = (0..bricks.n_bricks() as u32).collect();
        list.sort_by_key(|&brick| domain[brick as usize]);
        let first_of = |sorted: &[u32]| -> Vec<u32> {
            (0..=n_domains).map(|d| sorted.partition_point(|&of| (of as usize) < d) as u32).collect()
        };
        let brick_first = first_of(&list.iter().map(|&brick| domain[brick as usize]).collect::<Vec<_>>());

        let mut needs: Vec<Need> = (0..bricks.n_bricks())
            .into_par_iter()
            .with_min_len(1024)
            .flat_map_iter(|brick| {
                let elements = bricks.elements(brick);
                (1..8).filter_map(move |c| {
                    let other = bricks.neighbours[27 * brick + 13 + (c & 1) + 3 * (c >> 1 & 1) + 9 * (c >> 2)];
                    if other == NO_BRICK
                        || domain[other as usize] == domain[brick]
                        || !masks::touches_upper(&elements, c)
                    {
                        return None;
                    }
                    let mut around = [[0; 8]; 8];
                    around[c] = elements;
                    let (domain, owner) = (domain[brick], domain[other as usize]);
                    Some(Need { domain, owner, brick: other, nodes: masks::node_mask(&around) })
                })
            })
            .collect();
        needs.sort_by_key(|need| (need.domain, need.owner, need.brick));

        let (mut receiver, mut message_owner) = (Vec::new(), Vec::new());
        let (mut message_node_first, mut message_nodes) = (vec![], Vec::new());
        for same_message in needs.chunk_by(|a, b| (a.domain, a.owner) == (b.domain, b.owner)) {
            receiver.push(same_message[0].domain);
            message_owner.push(same_message[0].owner);
            message_node_first.push(message_nodes.len() as u64);
            for same_brick in same_message.chunk_by(|a, b| a.brick == b.brick) {
                let brick = same_brick[0].brick as usize;
                let needed: Mask =
                    std::array::from_fn(|word| same_brick.iter().fold(0, |all, need| all | need.nodes[word]));
                let mut number = bricks.node_first[brick];
                for (word, &there) in bricks.node_mask[8 * brick..8 * brick + 8].iter().enumerate() {
                    let mut left = there;
                    while left != 0 {
                        if needed[word] >> left.trailing_zeros() & 1 == 1 {
                            message_nodes.push(number);
                        }
                        left &= left - 1;
                        number += 1;
                    }
                }
            }
        }
        message_node_first.push(message_nodes.len() as u64);
        let mut sent: Vec<u32> = (0..message_owner.len() as u32).collect();
        sent.sort_by_key(|&message| message_owner[message as usize]);
        let sent_first = first_of(&sent.iter().map(|&message| message_owner[message as usize]).collect::<Vec<_>>());
        Self {
            method: method.into(),
            brick_first,
            bricks: list,
            message_first: first_of(&receiver),
            message_owner,
            message_node_first,
            message_nodes,
            sent_first,
            sent,
        }
    }

    /// The lists as slices.
    pub fn view(&self) -> DomainsView<'_> {
        DomainsView {
            method: &self.method,
            brick_first: &self.brick_first,
            bricks: &self.bricks,
            message_first: &self.message_first,
            message_owner: &self.message_owner,
            message_node_first: &self.message_node_first,
            message_nodes: &self.message_nodes,
            sent_first: &self.sent_first,
            sent: &self.sent,
        }
    }
}

impl<'a> DomainsView<'a> {
    /// Number of domains.
    pub fn n_domains(&self) -> usize {
        self.brick_first.len() - 1
    }

    /// Nodes of a message.
    pub fn message(&self, message: usize) -> &'a [u32] {
        &self.message_nodes[self.message_node_first[message] as usize..self.message_node_first[message + 1] as usize]
    }

    /// Receiver of a message.
    pub fn receiver(&self, message: usize) -> u32 {
        self.message_first.partition_point(|&first| first as usize <= message) as u32 - 1
    }

    /// One domain.
    ///
    /// # Panics
    /// If there is no such domain.
    pub fn domain(&self, domain: usize) -> Domain<'a> {
        let received = self.message_first[domain] as usize..self.message_first[domain + 1] as usize;
        let sent = &self.sent[self.sent_first[domain] as usize..self.sent_first[domain + 1] as usize];
        let start = |domain: usize| self.message_node_first[self.message_first[domain] as usize] as usize;
        let message = |message: usize, other: u32, receiver: usize| Message {
            other,
            halo_first: self.message_node_first[message] as usize - start(receiver),
            nodes: self.message(message),
        };
        Domain {
            bricks: &self.bricks[self.brick_first[domain] as usize..self.brick_first[domain + 1] as usize],
            halo: &self.message_nodes[start(domain)..start(domain + 1)],
            received: received.map(|m| message(m, self.message_owner[m], domain)).collect(),
            sent: sent
                .iter()
                .map(|&m| {
                    let receiver = self.receiver(m as usize);
                    message(m as usize, receiver, receiver as usize)
                })
                .collect(),
        }
    }

    /// The domain of each brick, (n_bricks,).
    pub fn domain_of_bricks(&self) -> Vec<u32> {
        let mut domain = vec![0; self.bricks.len()];
        for d in 0..self.n_domains() {
            for &brick in &self.bricks[self.brick_first[d] as usize..self.brick_first[d + 1] as usize] {
                domain[brick as usize] = d as u32;
            }
        }
        domain
    }
}

impl Table for Domains {
    type View<'a> = DomainsView<'a>;

    fn view(&self) -> DomainsView<'_> {
        self.view()
    }

    fn archived(domains: &Archived<Self>) -> DomainsView<'_> {
        DomainsView {
            method: domains.method.as_str(),
            brick_first: native(&domains.brick_first),
            bricks: native(&domains.bricks),
            message_first: native(&domains.message_first),
            message_owner: native(&domains.message_owner),
            message_node_first: native(&domains.message_node_first),
            message_nodes: native(&domains.message_nodes),
            sent_first: native(&domains.sent_first),
            sent: native(&domains.sent),
        }
    }
}
