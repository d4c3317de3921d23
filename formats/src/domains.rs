//! Sub-domains: parts of a model that are computed apart, and what they send each other.
//!
//! An *item* is what a sub-domain owns and computes: a node of a mesh or of a grid, or a particle, by its number in the
//! whole model. Each item has one owner. A sub-domain also reads items that others own, its *halo*. The items that one
//! sub-domain (the reader) needs of another (the owner) are a *message*. Values may travel along a message in both
//! directions: from the owner to the readers' halos, or back to the owner, who adds them up.
//!
//! Local numbers of a sub-domain: its own items, ascending, then its halo, by owner and ascending within an owner. A
//! message is therefore a stretch of its reader's halo, and both ends read the same list.

use std::ops::Range;

use crate::block::check::{Check, all_below, require};
use crate::block::{Table, tables};
use crate::system::parallel::iterate::*;

tables! {
    /// Sub-domains and the messages between them.
    ///
    /// Messages are numbered by reader, then by owner.
    #[derive(Default)]
    pub struct SubDomains, #[derive(Copy)] SubDomainsView as domains {
        /// How the model was cut: `morton`, `metis`, `aligned` or `greedy`.
        pub method: String,
        /// First range of each sub-domain, (n_domains + 1,).
        pub range_first: Vec<u32> [offsets(domains.n_domains(), domains.ranges.len() / 2)],
        /// First item of each range and the one behind its last, (n_ranges, 2), ascending within a sub-domain.
        pub ranges: Vec<u32> [entries(2 * (domains.ranges.len() / 2))],
        /// First message that each sub-domain reads, (n_domains + 1,).
        pub message_first: Vec<u32> [offsets(domains.n_domains(), domains.n_messages())],
        /// Owner of the items of each message, ascending within a reader, (n_messages,).
        pub owner: Vec<u32> [all_below(domains.n_domains())],
        /// First item of each message in `halo`, (n_messages + 1,).
        pub item_first: Vec<u64> [offsets(domains.n_messages(), domains.halo.len())],
        /// Items of the messages, ascending within each: the halos of all sub-domains, one after the other.
        pub halo: Vec<u32>,
        /// First entry of each sub-domain in `sent`, (n_domains + 1,).
        pub sent_first: Vec<u32> [offsets(domains.n_domains(), domains.n_messages())],
        /// Messages that each sub-domain owns, ascending, (n_messages,).
        pub sent: Vec<u32> [entries(domains.n_messages()), all_below(domains.n_messages())],
    }
}

/// Items that one sub-domain reads and another owns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Message<'a> {
    pub owner: u32,
    pub reader: u32,
    /// Place of the first item in the reader's halo.
    pub halo_first: usize,
    /// Numbers in the whole model, ascending.
    pub items: &'a [u32],
}

impl SubDomains {
    /// Lists the messages, given each sub-domain's own items as ascending ranges, and the items that it needs of others,
    /// in any order and any number of times.
    ///
    /// # Panics
    /// If a sub-domain needs an item that nobody owns.
    pub fn new(method: &str, own: &[Vec<Range<u32>>], needed: Vec<Vec<u32>>) -> Self {
        let mut result = Self { method: method.into(), range_first: vec![0], ..Self::default() };
        for ranges in own {
            result.ranges.extend(ranges.iter().flat_map(|range| [range.start, range.end]));
            result.range_first.push((result.ranges.len() / 2) as u32);
        }
        let owners = Owners::new(own.iter().map(|ranges| ranges.iter().cloned()));
        let halos: Vec<Vec<(u32, u32)>> = needed
            .into_par_iter()
            .map(|items| {
                let owner = |item: u32| owners.of(item).expect("an item that nobody owns");
                let mut halo: Vec<(u32, u32)> = items.into_iter().map(|item| (owner(item), item)).collect();
                halo.sort_unstable();
                halo.dedup();
                halo
            })
            .collect();
        (result.message_first, result.item_first) = (vec![0], vec![0]);
        for halo in &halos {
            for message in halo.chunk_by(|a, b| a.0 == b.0) {
                result.owner.push(message[0].0);
                result.halo.extend(message.iter().map(|(_, item)| item));
                result.item_first.push(result.halo.len() as u64);
            }
            result.message_first.push(result.owner.len() as u32);
        }
        result.sent = (0..result.owner.len() as u32).collect();
        result.sent.sort_by_key(|&message| result.owner[message as usize]);
        let sent_before =
            |domain| result.sent.partition_point(|&message| result.owner[message as usize] < domain) as u32;
        result.sent_first = (0..=own.len() as u32).map(sent_before).collect();
        result
    }
}

/// The own items of each sub-domain, given those of each block, (n_blocks + 1,), and each block's sub-domain.
pub fn ranges_of(first: &[u32], domain: &[u32], n_domains: usize) -> Vec<Vec<Range<u32>>> {
    let mut own: Vec<Vec<Range<u32>>> = vec![Vec::new(); n_domains];
    for (items, &domain) in first.windows(2).zip(domain) {
        match own[domain as usize].last_mut() {
            Some(last) if last.end == items[0] => last.end = items[1],
            _ => own[domain as usize].push(items[0]..items[1]),
        }
    }
    own
}

/// Finds the owner of an item.
struct Owners {
    /// First item of each range that is not empty, ascending.
    first: Vec<u32>,
    /// The item behind its last, and its owner.
    rest: Vec<(u32, u32)>,
}

impl Owners {
    fn new(own: impl Iterator<Item = impl Iterator<Item = Range<u32>>>) -> Self {
        let ranges = (0..).zip(own).flat_map(|(domain, ranges)| ranges.map(move |range| (range, domain)));
        let mut list: Vec<(u32, u32, u32)> = ranges
            .filter(|(range, _)| !range.is_empty())
            .map(|(range, domain)| (range.start, range.end, domain))
            .collect();
        list.sort_unstable();
        Self {
            first: list.iter().map(|range| range.0).collect(),
            rest: list.iter().map(|range| (range.1, range.2)).collect(),
        }
    }

    fn of(&self, item: u32) -> Option<u32> {
        let at = self.first.partition_point(|&first| first <= item).checked_sub(1)?;
        let (end, domain) = self.rest[at];
        (item < end).then_some(domain)
    }
}

impl<'a> SubDomainsView<'a> {
    /// Number of sub-domains.
    pub fn n_domains(&self) -> usize {
        self.range_first.len().saturating_sub(1)
    }

    /// Number of messages of all sub-domains.
    pub fn n_messages(&self) -> usize {
        self.owner.len()
    }

    /// The ranges of a sub-domain's own items, ascending.
    pub fn own(self, domain: usize) -> impl Iterator<Item = Range<u32>> + use<'a> {
        let ranges = self.range_first[domain] as usize..self.range_first[domain + 1] as usize;
        self.ranges.as_chunks::<2>().0[ranges].iter().map(|&[start, end]| start..end)
    }

    /// Number of a sub-domain's own items.
    pub fn n_own(&self, domain: usize) -> usize {
        self.own(domain).map(|range| range.len()).sum()
    }

    /// From the first own item of a sub-domain to the one behind its last: its own items where they are consecutive.
    pub fn span(&self, domain: usize) -> Range<usize> {
        let start = self.own(domain).next().map_or(0, |range| range.start as usize);
        start..self.own(domain).last().map_or(start, |range| range.end as usize)
    }

    /// First item of each sub-domain, and the end, (n_domains + 1,), where sub-domains own consecutive items in turn.
    pub fn starts(&self) -> Vec<u32> {
        let end = self.ranges.last().copied().unwrap_or(0);
        (0..self.n_domains()).map(|domain| self.span(domain).start as u32).chain([end]).collect()
    }

    /// The halo of a sub-domain, in local order.
    pub fn halo_of(&self, domain: usize) -> &'a [u32] {
        &self.halo[self.halo_first(domain)..self.halo_first(domain + 1)]
    }

    /// First entry of a sub-domain in `halo`.
    pub fn halo_first(&self, domain: usize) -> usize {
        self.item_first[self.message_first[domain] as usize] as usize
    }

    /// A message by its number.
    pub fn message(&self, message: usize) -> Message<'a> {
        let reader = self.message_first.partition_point(|&first| first as usize <= message) - 1;
        let items = self.item_first[message] as usize..self.item_first[message + 1] as usize;
        Message {
            owner: self.owner[message],
            reader: reader as u32,
            halo_first: items.start - self.halo_first(reader),
            items: &self.halo[items],
        }
    }

    /// Messages that a sub-domain reads, by owner.
    pub fn received(self, domain: usize) -> impl Iterator<Item = Message<'a>> {
        (self.message_first[domain] as usize..self.message_first[domain + 1] as usize).map(move |m| self.message(m))
    }

    /// Messages of which a sub-domain owns the items, by reader.
    pub fn sent(self, domain: usize) -> impl Iterator<Item = Message<'a>> {
        let sent = &self.sent[self.sent_first[domain] as usize..self.sent_first[domain + 1] as usize];
        sent.iter().map(move |&m| self.message(m as usize))
    }

    /// Beyond [`Table::check`]: each of `n_items` items has one owner, messages hold items of their owners in order, and
    /// what a sub-domain sends is what it owns.
    pub(crate) fn check_items(&self, n_items: usize) -> Check {
        <SubDomains as Table>::check(self)?;
        require(self.n_domains() > 0, || "no sub-domain".into())?;
        all_below("items of messages", self.halo, n_items)?;
        let mut ranges = self.ranges.as_chunks::<2>().0.to_vec();
        ranges.sort_unstable();
        let mut end = 0;
        for [start, behind] in ranges {
            require(start == end && behind >= start, || format!("item {end} in no sub-domain, or in two"))?;
            end = behind;
        }
        require(end as usize == n_items, || format!("item {end} in no sub-domain"))?;
        for d in 0..self.n_domains() {
            let ascending = self.own(d).is_sorted_by(|a, b| a.end <= b.start);
            require(ascending, || format!("sub-domain {d}: its items are not sorted"))?;
            let owners = &self.owner[self.message_first[d] as usize..self.message_first[d + 1] as usize];
            require(owners.is_sorted_by(|a, b| a < b) && !owners.contains(&(d as u32)), || {
                format!("sub-domain {d}: messages are not sorted by owner")
            })?;
            let sent = &self.sent[self.sent_first[d] as usize..self.sent_first[d + 1] as usize];
            let owned = sent.iter().all(|&message| self.owner[message as usize] as usize == d);
            require(owned && sent.is_sorted_by(|a, b| a < b), || format!("sub-domain {d}: sends what is not its own"))?;
        }
        let owners = Owners::new((0..self.n_domains()).map(|domain| self.own(domain)));
        (0..self.n_messages()).into_par_iter().try_for_each(|number| {
            let message = self.message(number);
            require(message.items.is_sorted_by(|a, b| a < b), || format!("message {number}: items are not sorted"))?;
            let owned = message.items.iter().all(|&item| owners.of(item) == Some(message.owner));
            require(owned, || format!("message {number}: an item of another sub-domain"))
        })
    }

    /// That two tables list the same messages.
    pub(crate) fn same_messages(&self, other: &SubDomainsView) -> bool {
        self.message_first == other.message_first
            && self.owner == other.owner
            && self.item_first == other.item_first
            && self.halo == other.halo
            && self.sent_first == other.sent_first
            && self.sent == other.sent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sub-domains of whole blocks: `first` is the first item of each block, (n_blocks + 1,), `halo` gives the items that a
    /// block reads of others, and `domain` is the sub-domain of each block, below `n_domains`.
    fn of_blocks<'a>(
        method: &str,
        first: &[u32],
        halo: impl Fn(usize) -> &'a [u32],
        domain: &[u32],
        n_domains: usize,
    ) -> SubDomains {
        let own = ranges_of(first, domain, n_domains);
        let mut needed = vec![Vec::new(); n_domains];
        let owner = |item: u32| domain[first.partition_point(|&first| first <= item) - 1];
        for (block, &reader) in domain.iter().enumerate() {
            needed[reader as usize].extend(halo(block).iter().copied().filter(|&item| owner(item) != reader));
        }
        SubDomains::new(method, &own, needed)
    }

    /// Four blocks of two items in a ring, of which blocks 0 and 2 are one sub-domain.
    #[test]
    fn sub_domains_of_blocks() {
        let halo = [[2, 7], [1, 4], [3, 6], [0, 5]];
        let made = of_blocks("metis", &[0, 2, 4, 6, 8], |block| &halo[block], &[0, 1, 0, 2], 3);
        let view = made.view();
        view.check_items(8).unwrap();
        assert_eq!(view.own(0).collect::<Vec<_>>(), [0..2, 4..6]);
        assert_eq!((view.n_own(0), view.span(1)), (4, 2..4));
        assert_eq!(view.halo_of(0), [2, 3, 6, 7]);
        let read: Vec<Message> = view.received(0).collect();
        assert_eq!(read[0], Message { owner: 1, reader: 0, halo_first: 0, items: &[2, 3] });
        assert_eq!(read[1], Message { owner: 2, reader: 0, halo_first: 2, items: &[6, 7] });
        assert_eq!(view.sent(0).map(|message| message.reader).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(view.sent(1).map(|message| message.items).collect::<Vec<_>>(), [[2, 3]]);
        assert!(view.check_items(9).is_err());
    }

    #[test]
    fn blocks_beside_each_other_are_one_range() {
        let made = of_blocks("morton", &[0, 3, 3, 5], |_| &[], &[0, 0, 1], 2);
        assert_eq!(made.ranges, [0, 3, 3, 5]);
        assert_eq!(made.view().starts(), [0, 3, 5]);
    }
}
