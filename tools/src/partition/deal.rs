//! Elements sorted into buckets of nodes. Work on the nodes of one bucket then reads its elements from end to end, wherever
//! they stand in the mesh.

use std::ops::Range;

use pogo_formats::mesh::MeshView;
use pogo_formats::system::parallel::iterate::*;

use super::PartitionError;
use crate::rows::accumulate;

/// Fewest elements that one task sorts, and most tasks.
const CHUNK: usize = 16_384;
const MOST_CHUNKS: usize = 64;
/// Nodes of a range: data on them stay in the cache of a core.
pub(super) const RANGE: usize = 4096;

/// Each element in the buckets of all its nodes.
pub(crate) struct Deal {
    /// In the order of the elements.
    hands: Vec<Hand>,
}

/// Consecutive elements of one group, by bucket.
struct Hand {
    group: usize,
    /// Nodes of an element.
    width: usize,
    /// First record of each bucket, (n_buckets + 1,).
    first: Vec<u32>,
    /// Element and its nodes, (n_records, 1 + width).
    records: Vec<u32>,
}

/// Some elements of a bucket, ascending.
pub(crate) struct Dealt<'a> {
    /// Element group.
    pub(crate) group: usize,
    width: usize,
    records: &'a [u32],
}

impl<'a> Dealt<'a> {
    /// Nodes of an element.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// Each element: its index, then its nodes.
    pub(crate) fn records(&self) -> impl DoubleEndedIterator<Item = &'a [u32]> + use<'a> {
        self.records.chunks_exact(1 + self.width)
    }

    /// [`records`](Self::records) with a constant width.
    pub(crate) fn records_of<const RECORD: usize>(&self) -> &'a [[u32; RECORD]] {
        self.records.as_chunks().0
    }
}

impl Deal {
    /// Sorts into the buckets that `bucket_of` gives. All nodes of the mesh must be in range, and `bucket_of` below `n_buckets`.
    pub(crate) fn new(mesh: &MeshView, n_buckets: usize, bucket_of: impl Fn(u32) -> u32 + Sync) -> Self {
        let chunk = mesh.n_elements().div_ceil(MOST_CHUNKS).max(CHUNK);
        let mut tasks = Vec::new();
        let mut first_element = 0;
        for (group, elements) in mesh.groups.iter().enumerate() {
            for nodes in elements.connectivity.chunks(chunk * elements.kind.n_nodes()) {
                tasks.push((group, first_element, nodes));
                first_element += (nodes.len() / elements.kind.n_nodes()) as u32;
            }
        }
        let hand = |(group, element, nodes): (usize, u32, &[u32])| {
            let width = mesh.groups[group].kind.n_nodes();
            let (first, records) = match width {
                3 => deal::<3>(nodes, element, n_buckets, &bucket_of),
                4 => deal::<4>(nodes, element, n_buckets, &bucket_of),
                6 => deal::<6>(nodes, element, n_buckets, &bucket_of),
                _ => deal::<8>(nodes, element, n_buckets, &bucket_of),
            };
            Hand { group, width, first, records }
        };
        Self { hands: tasks.into_par_iter().map(hand).collect() }
    }

    /// Sorts into consecutive ranges of nodes; see [`range`](Self::range).
    ///
    /// # Errors
    /// More nodes or elements than 32-bit indices can count, or an element with a node that does not exist.
    pub(crate) fn to_ranges(mesh: &MeshView) -> Result<Self, PartitionError> {
        let n_nodes = mesh.n_nodes();
        let n_entries: usize = mesh.groups.iter().map(|group| group.connectivity.len()).sum();
        if i32::try_from(n_nodes).is_err() {
            return Err(PartitionError::TooLarge(n_nodes, "nodes"));
        }
        if u32::try_from(n_entries).is_err() {
            return Err(PartitionError::TooLarge(n_entries, "connectivity entries"));
        }
        let mut first_element = 0;
        for group in &mesh.groups {
            if group.connectivity.par_iter().max().is_some_and(|&node| node as usize >= n_nodes) {
                let at = group.connectivity.iter().position(|&node| node as usize >= n_nodes).unwrap_or(0);
                let element = first_element + at / group.kind.n_nodes();
                return Err(PartitionError::NodeOutOfRange { element, node: group.connectivity[at], n_nodes });
            }
            first_element += group.labels.len();
        }
        Ok(Self::new(mesh, n_nodes.div_ceil(RANGE), |node| node / RANGE as u32))
    }

    /// Nodes of a range.
    pub(crate) fn range(range: usize, n_nodes: usize) -> Range<u32> {
        (range * RANGE) as u32..((range + 1) * RANGE).min(n_nodes) as u32
    }

    /// Number of ranges of this many nodes.
    pub(crate) fn n_ranges(n_nodes: usize) -> usize {
        n_nodes.div_ceil(RANGE)
    }

    /// The elements of a bucket, ascending.
    pub(crate) fn bucket(&self, bucket: usize) -> impl DoubleEndedIterator<Item = Dealt<'_>> {
        self.hands.iter().map(move |hand| {
            let record = 1 + hand.width;
            let range = hand.first[bucket] as usize * record..hand.first[bucket + 1] as usize * record;
            Dealt { group: hand.group, width: hand.width, records: &hand.records[range] }
        })
    }
}

/// First record of each bucket, and the records.
fn deal<const WIDTH: usize>(
    nodes: &[u32],
    first_element: u32,
    n_buckets: usize,
    bucket_of: impl Fn(u32) -> u32,
) -> (Vec<u32>, Vec<u32>) {
    let elements = nodes.as_chunks::<WIDTH>().0;
    let mut first = vec![0; n_buckets + 1];
    for nodes in elements {
        each_once(nodes.map(&bucket_of), |bucket| first[bucket] += 1);
    }
    let mut records = vec![0; accumulate(&mut first) as usize * (1 + WIDTH)];
    // Filled from the end: `first` then is the first record of each bucket again.
    for (i, nodes) in elements.iter().enumerate().rev() {
        each_once(nodes.map(&bucket_of), |bucket| {
            first[bucket] -= 1;
            let at = first[bucket] as usize * (1 + WIDTH);
            records[at] = first_element + i as u32;
            records[at + 1..][..WIDTH].copy_from_slice(nodes);
        });
    }
    (first, records)
}

fn each_once<const N: usize>(buckets: [u32; N], mut call: impl FnMut(usize)) {
    for k in 0..N {
        if !buckets[..k].contains(&buckets[k]) {
            call(buckets[k] as usize);
        }
    }
}
