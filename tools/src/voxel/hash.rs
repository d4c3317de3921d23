//! Building the perfect hash.
//!
//! The method is that of Lefebvre and Hoppe. Keys that share a shift form a bucket. Buckets are placed in the order of their
//! sizes, the largest first, each with the first shift at which all its keys meet empty slots. The shifts of the two buckets
//! beside it are tried first, which keeps neighbours together; then all others, from a pseudo-random one on. If none
//! fits, the table gets more shifts, and in the end more slots. Tables are built in parallel.

use pogo_formats::system::parallel::iterate::*;
use pogo_formats::voxel::HashLevel;
use pogo_formats::voxel::build::{filled, reserve};
use pogo_formats::voxel::hash::stride;

use super::VoxelError;
use crate::rows::{accumulate, offsets};

/// Target for the fraction of slots that hold a node.
const FULL: f64 = 0.95;
/// Initial number of keys for one shift.
const BUCKET: f64 = 3.0;
/// Number of different shifts.
const SHIFTS: u64 = 1 << 16;
/// Most attempts with more shifts, and with more slots.
const ATTEMPTS: u32 = 12;

/// One table.
struct Table {
    slots: Vec<u32>,
    shifts: Vec<u16>,
}

/// The hash of a level whose nodes have these codes, ascending, in `n_tables` tables, a power of two.
pub(super) fn build(
    size: [u32; 3],
    codes: &[u64],
    element_node: Vec<u32>,
    n_tables: usize,
) -> Result<HashLevel, VoxelError> {
    let table_of = |code: &u64| *code as usize & (n_tables - 1);
    let (first, nodes) = by_row("tables of the hash", n_tables, codes.iter().map(table_of))?;
    let of_table = |table: usize| &nodes[first[table] as usize..first[table + 1] as usize];
    let tables: Vec<Table> = (0..n_tables)
        .into_par_iter()
        .map(|table| one_table(codes, of_table(table), n_tables.trailing_zeros()))
        .collect::<Result<_, _>>()?;
    drop(nodes);

    let slot_first: Vec<u64> = offsets(tables.iter().map(|table| table.slots.len() as u32));
    let shift_first: Vec<u64> = offsets(tables.iter().map(|table| table.shifts.len() as u32));
    let mut slots = reserve("slots of the hash", slot_first[n_tables] as usize)?;
    let mut shifts = reserve("shifts of the hash", shift_first[n_tables] as usize)?;
    for table in tables {
        slots.extend(table.slots);
        shifts.extend(table.shifts);
    }
    let mut node_key = reserve("keys of nodes", codes.len())?;
    node_key.extend(codes.iter().map(|&code| code as u32));
    let (mut upper, mut upper_first) = (Vec::new(), Vec::new());
    for (node, &code) in (0..).zip(codes) {
        if upper.last() != Some(&((code >> 32) as u32)) {
            upper.push((code >> 32) as u32);
            upper_first.push(node);
        }
    }
    upper_first.push(codes.len() as u32);
    Ok(HashLevel { size, node_key, upper, upper_first, element_node, slot_first, shift_first, slots, shifts })
}

fn coprime(a: u64, b: u64) -> bool {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a == 1
}

fn one_table(codes: &[u64], nodes: &[u32], shift: u32) -> Result<Table, VoxelError> {
    let n = nodes.len() as u64;
    if n == 0 {
        return Ok(Table { slots: Vec::new(), shifts: Vec::new() });
    }
    let mut m = (n as f64 / FULL).ceil() as u64;
    for _ in 0..ATTEMPTS {
        let mut r = (n as f64 / BUCKET).ceil() as u64;
        for _ in 0..ATTEMPTS {
            // Keys in one bucket must not meet for every shift.
            while !coprime(m, r) {
                r += 1;
            }
            if let Some(table) = fill(codes, nodes, shift, m, r)? {
                return Ok(table);
            }
            r += r / 6 + 1;
        }
        m += m / 50 + 1;
    }
    Err(VoxelError::Hash { keys: nodes.len() })
}

/// Tries to fill a table of m slots and r shifts.
fn fill(codes: &[u64], nodes: &[u32], key_shift: u32, m: u64, r: u64) -> Result<Option<Table>, VoxelError> {
    let Buckets { first, mut keys } = Buckets::new(codes, nodes, key_shift, m, r)?;
    let n_buckets = r as usize;
    let bucket_keys = |bucket: usize| first[bucket] as usize..first[bucket + 1] as usize;
    let order = largest_first(&first)?;
    let mut table =
        Table { slots: filled("slots of the hash", m as usize, 0)?, shifts: filled("shifts", n_buckets, 0)? };
    let mut taken = filled("slots of the hash", m.div_ceil(64) as usize, 0_u64)?;
    let (stride, n_shifts) = (stride(m), m.min(SHIFTS));
    let mut placed = filled("buckets of the hash", n_buckets.div_ceil(64), 0_u64)?;
    let is_placed = |placed: &[u64], bucket: usize| placed[bucket / 64] >> (bucket % 64) & 1 == 1;
    for &bucket in &order {
        let bucket = bucket as usize;
        let keys = &mut keys[bucket_keys(bucket)];
        if keys.is_empty() {
            break;
        }
        keys.sort_unstable();
        if keys.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            return Ok(None);
        }
        let slot = |start: u32, by: u64| {
            // Both are below m.
            let slot = u64::from(start) + by;
            if slot >= m { slot - m } else { slot }
        };
        let fits = |shift: u64| {
            let by = shift * stride % m;
            keys.iter().all(|&(start, _)| {
                let slot = slot(start, by);
                taken[slot as usize / 64] >> (slot % 64) & 1 == 0
            })
        };
        let beside = [bucket.wrapping_sub(1), bucket + 1].into_iter();
        let beside = beside.filter(|&other| other < n_buckets && is_placed(&placed, other));
        let beside = beside.map(|other| u64::from(table.shifts[other]));
        let start = (bucket as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let others = (0..n_shifts).map(|step| (start + step) % n_shifts);
        let Some(shift) = beside.chain(others).find(|&shift| fits(shift)) else { return Ok(None) };
        let by = shift * stride % m;
        for &(start, node) in keys.iter() {
            let slot = slot(start, by);
            taken[slot as usize / 64] |= 1 << (slot % 64);
            table.slots[slot as usize] = node;
        }
        table.shifts[bucket] = shift as u16;
        placed[bucket / 64] |= 1 << (bucket % 64);
    }
    Ok(Some(table))
}

/// Keys by the bucket that they share.
struct Buckets {
    /// First key of each bucket, (n_buckets + 1,).
    first: Vec<u32>,
    /// Slot of each key without a shift, and its node.
    keys: Vec<(u32, u32)>,
}

impl Buckets {
    fn new(codes: &[u64], nodes: &[u32], key_shift: u32, m: u64, r: u64) -> Result<Self, VoxelError> {
        let key = |node: u32| codes[node as usize] >> key_shift;
        let bucket = |&node: &u32| (key(node) % r) as usize;
        let (first, order) = by_row("buckets of the hash", r as usize, nodes.iter().map(bucket))?;
        let mut keys = reserve("buckets of the hash", nodes.len())?;
        keys.extend(order.into_iter().map(|at| nodes[at as usize]).map(|node| ((key(node) % m) as u32, node)));
        Ok(Self { first, keys })
    }
}

/// Buckets by their numbers of keys, the largest first.
fn largest_first(first: &[u32]) -> Result<Vec<u32>, VoxelError> {
    let n_buckets = first.len() - 1;
    let size = |bucket: usize| (first[bucket + 1] - first[bucket]) as usize;
    let largest = (0..n_buckets).map(size).max().unwrap_or(0);
    Ok(by_row("buckets of the hash", largest + 1, (0..n_buckets).map(|bucket| largest - size(bucket)))?.1)
}

/// As [`by_row`](crate::rows::by_row), where there is memory for it; `what` says for the error what needs it.
fn by_row(
    what: &'static str,
    n_rows: usize,
    row_of: impl ExactSizeIterator<Item = usize> + Clone,
) -> Result<(Vec<u32>, Vec<u32>), VoxelError> {
    let mut first = filled(what, n_rows + 1, 0_u32)?;
    row_of.clone().for_each(|row| first[row + 1] += 1);
    accumulate(&mut first);
    let mut items = filled(what, row_of.len(), 0_u32)?;
    let mut next = first.clone();
    for (item, row) in (0..).zip(row_of) {
        items[next[row] as usize] = item;
        next[row] += 1;
    }
    Ok((first, items))
}
