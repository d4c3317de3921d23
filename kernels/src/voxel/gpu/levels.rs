//! The coarse levels as `levels.cuh` reads them.

mod order;
mod wanted;

use std::ops::Range;

use pogo_formats::system::parallel;
use pogo_formats::system::parallel::iterate::*;
use pogo_formats::voxel::{BricksView, morton_position};

pub(super) use order::{Order, Sharing, part_by_place};
pub(super) use wanted::{Wanted, numbers_of};

use super::super::lists::{Lists, starts};
use super::super::multigrid::{Coarse, Factor, Level, Operator, PLACES, Packed, exponent, rounded};
use super::super::{Moduli, Voxels};
use super::layout::*;
use crate::device::layout::{In, Out, Pointer};
use crate::device::{Arena, DeviceError, Plain};
use pogo_formats::system::parallel::Shared;

/// Nodes of an assembled level, at most.
const COLUMNS: usize = 1 << COLUMN_BITS;

/// Where arrays are put. `cuts` are the first values on each device but the first; without cuts all lies on the first.
pub(super) trait Memory {
    /// Copies `values` to the devices; the address of the copy.
    fn put_cut<T: Plain>(&mut self, values: &[T], cuts: &[usize]) -> Result<u64, DeviceError>;
    /// The same where a device that has one part needs only the values of that.
    fn put_own<T: Plain>(&mut self, values: &[T], cuts: &[usize]) -> Result<u64, DeviceError>;
    /// Address of `len` zeros on the devices; a device that has one part needs only the values of that, and those of `further` ranges.
    fn zeros_own<T: Plain>(&mut self, len: usize, cuts: &[usize], further: &[Range<usize>])
    -> Result<u64, DeviceError>;

    /// The same on the first device.
    fn put<T: Plain>(&mut self, values: &[T]) -> Result<u64, DeviceError> {
        self.put_cut(values, &[])
    }
}

impl Memory for Arena {
    fn put_cut<T: Plain>(&mut self, values: &[T], cuts: &[usize]) -> Result<u64, DeviceError> {
        Ok(self.copy_cut("tables of coarse levels", values, cuts)?.pointer())
    }

    fn put_own<T: Plain>(&mut self, values: &[T], cuts: &[usize]) -> Result<u64, DeviceError> {
        Ok(self.copy_own("tables of coarse levels", values, cuts)?.pointer())
    }

    fn zeros_own<T: Plain>(
        &mut self,
        len: usize,
        cuts: &[usize],
        further: &[Range<usize>],
    ) -> Result<u64, DeviceError> {
        Ok(Arena::zeros_own::<T>(self, "vectors of coarse levels", len, cuts, further)?.pointer())
    }
}

/// Cuts of `n` values that are in the order of `n_nodes` nodes with these cuts, but not so many of each node.
fn like(n: usize, n_nodes: usize, cuts: &[usize]) -> Vec<usize> {
    cuts.iter().map(|cut| n * cut / n_nodes.max(1)).collect()
}

/// Cuts of values of which each node has `n`.
fn times(n: usize, cuts: &[usize]) -> Vec<usize> {
    cuts.iter().map(|cut| n * cut).collect()
}

/// Cuts of the entries of rows that begin at `first`, cut at these rows.
fn of_rows(first: &[u32], cuts: &[usize]) -> Vec<usize> {
    cuts.iter().map(|&cut| first[cut] as usize).collect()
}

/// Numbers of a vector of `n` nodes: a multiple of four.
pub(super) fn padded(n: usize) -> usize {
    (3 * n).next_multiple_of(4)
}

/// Vectors of a level: residual, direction, product, solution, z, t and, where a smoother's step asks for it, d.
fn n_vectors(level: usize, degree: usize, last: bool) -> usize {
    if level == 0 || degree != 2 || last { 7 } else { 6 }
}

/// Memory that the finest level has no use for during a correction: where it has its z, and its t.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Lent {
    /// Addresses, multiples of 16.
    pub z: u64,
    pub t: u64,
    /// Bytes of each of the two.
    pub bytes: u64,
}

/// Finds places for vectors.
struct Places {
    lent: Lent,
    used: [u64; 2],
}

impl Places {
    /// Place of a vector of `bytes` bytes in z or t, if there is one. What the finest level's residual is added up in must not lie
    /// there (in t), nor what its z is corrected with where that is.
    fn find(&mut self, level: usize, vector: usize, bytes: u64) -> Option<u64> {
        let allowed: &[usize] = match (level, vector) {
            (0, 0) => &[0],
            (0, 3 | 4) => &[1],
            _ => &[0, 1],
        };
        let place = *allowed.iter().find(|&&place| self.used[place] + bytes <= self.lent.bytes)?;
        let at = [self.lent.z, self.lent.t][place] + self.used[place];
        self.used[place] += bytes;
        Some(at)
    }
}

/// Calls `act(level, vector, numbers)` for every vector, those of level 1 that may not lie everywhere first.
fn for_vectors(
    coarse: &Coarse,
    mut act: impl FnMut(usize, usize, usize) -> Result<(), DeviceError>,
) -> Result<(), DeviceError> {
    for (l, level) in coarse.levels.iter().enumerate() {
        let last = l + 1 == coarse.levels.len();
        for vector in [0, 3, 4, 1, 2, 5, 6].into_iter().filter(|&v| v < n_vectors(l, coarse.settings.degree[1], last)) {
            act(l, vector, padded(level.n / 3))?;
        }
    }
    Ok(())
}

/// Bytes of everything that [`tables`] puts: of what is cut between parts, and of what each of several processes has whole.
pub(super) fn bytes(coarse: &Coarse, lent: Lent) -> [u64; 2] {
    let (mut sum, mut whole) = (0, size_of::<Tables>() as u64);
    let mut places = Places { lent, used: [0; 2] };
    let _ = for_vectors(coarse, |level, vector, n| {
        if places.find(level, vector, 4 * n as u64).is_none() {
            sum += 4 * n as u64;
        }
        Ok(())
    });
    for level in &coarse.levels {
        let n = level.n / 3;
        let size = 4 * padded(n);
        whole += 32 * level.nodes.len() as u64;
        let size = size
            + match &level.operator {
                Operator::First(first) => {
                    whole += (size_of::<Cell>() * level.nodes.len() + 4 * 300 * first.matrices.len()) as u64;
                    4 * level.nodes.len()
                }
                Operator::Assembled(blocks) => {
                    let gather: usize =
                        level.transfer.place.iter().map(|&p| PLACES[usize::from(p)].corners().len()).sum();
                    whole += 8 * n as u64;
                    22 * blocks.column.len() + 4 * gather + 4 * level.transfer.fine.len()
                }
                Operator::Half(_) => unreachable!("only on the CPU"),
            };
        sum += size as u64;
    }
    let n = if coarse.is_factorised() { coarse.levels.last().map_or(0, |level| level.n) } else { 0 };
    [sum, whole + 4 * (n * n) as u64]
}

/// The elements of level 1 as they lie in memory: those of one device after those of another, and within a device those of
/// one colour after those of another. An element with nodes of several devices lies in each of these.
struct Colours {
    /// Number of each element with the bit [`COPY`](Self::COPY), and position of its cell.
    order: Vec<(u32, [u16; 3])>,
    /// First element of each colour, for each device.
    first: Vec<[u32; 9]>,
}

impl Colours {
    /// The first node of the element is one of another device.
    const COPY: u32 = 1 << 31;

    /// The elements with these nodes, of which each device has those between two `cuts`.
    ///
    /// The colour of a cell is the parity of its position, the lowest bits of its Morton code. Cells of one colour have no
    /// corner in common. (On level 1 no cell falls apart: its voxels all have the node in its middle.)
    fn new(bricks: &BricksView, nodes: &[[u32; 8]], cuts: &[usize]) -> Self {
        /// Words of masks that a thread takes at a time.
        const WORDS: usize = 1 << 12;
        let (n_devices, words) = (cuts.len() + 1, bricks.element_mask);
        let cells = |word: u64| word.to_le_bytes().into_iter().enumerate().filter(|&(_, octants)| octants != 0);
        let n_cells = |words: &[u64]| words.iter().map(|&word| cells(word).count() as u32).sum();
        let first_cell = starts(words.par_chunks(WORDS).map(n_cells).collect::<Vec<u32>>().into_iter());
        let device_of = |node: u32| cuts.partition_point(|&cut| cut <= node as usize);
        // Lists of each device and each colour.
        let of_part = |(part, words): (usize, &[u64])| {
            let mut of = vec![Vec::new(); 8 * n_devices];
            let mut element = first_cell[part];
            for (at, &word) in (part * WORDS..).zip(words) {
                let (brick, eighth) = (bricks.corner(at / 8), morton_position(at as u64 % 8));
                for (cell, _) in cells(word) {
                    let within = morton_position(cell as u64);
                    let position = [0, 1, 2].map(|a| (brick[a] / 2 + 2 * eighth[a] + within[a]) as u16);
                    let devices = nodes[element as usize].map(device_of);
                    for device in 0..n_devices {
                        if device == devices[0] {
                            of[8 * device + cell].push((element, position));
                        } else if devices.contains(&device) {
                            of[8 * device + cell].push((element | Self::COPY, position));
                        }
                    }
                    element += 1;
                }
            }
            of
        };
        let mut parts: Vec<Vec<Vec<_>>> = words.par_chunks(WORDS).enumerate().map(of_part).collect();
        let mut first = vec![[0; 9]; n_devices];
        let (mut lists, mut end) = (Vec::with_capacity(8 * n_devices * parts.len()), 0);
        for (device, first) in first.iter_mut().enumerate() {
            first[0] = end;
            for colour in 0..8 {
                lists.extend(parts.iter_mut().map(|part| std::mem::take(&mut part[8 * device + colour])));
                end += lists[lists.len() - parts.len()..].iter().map(|list| list.len() as u32).sum::<u32>();
                first[colour + 1] = end;
            }
        }
        Self { order: parallel::joined(&lists), first }
    }

    /// First elements of each device but the first.
    fn cuts(&self) -> Vec<usize> {
        self.first[1..].iter().map(|first| first[0] as usize).collect()
    }
}

/// An address as the kernels' structures hold it.
fn at<T>(address: u64) -> In<T> {
    In::from_address(address)
}

/// A part that asks what it reads of others, and the part of each node of the finest level, in the order of the bricks.
pub(super) type Asks<'a> = (usize, &'a (dyn Fn(usize) -> usize + Sync));

/// Puts the coarse levels into a memory. What belongs to the finest level, and what devices tell each other, is left to the
/// caller. Returns the tables of each part, and what the part that `asks` reads of others.
///
/// # Errors
/// Too little memory, too many levels, or a level too large for the blocks' columns.
pub(super) fn tables(
    bricks: &BricksView,
    coarse: &Coarse,
    lent: Lent,
    order: &Order,
    asks: Option<Asks<'_>>,
    memory: &mut impl Memory,
) -> Result<(Vec<Tables>, Wanted), DeviceError> {
    let settings = &coarse.settings;
    let n_levels = coarse.levels.len();
    let most = coarse.levels.iter().skip(1).fold(0, |most, level| most.max(level.n / 3));
    if n_levels > MAX_LEVELS as usize || most > COLUMNS {
        let reason = format!("{n_levels} levels, the second of {most} nodes: there may be {MAX_LEVELS} and {COLUMNS}");
        return Err(DeviceError::Failed { what: "hold the coarse levels", reason });
    }
    let nodes = |nodes: &[u32; 8]| nodes.map(|node| order.place(0, node));
    let first_nodes: Vec<[u32; 8]> = coarse.levels[0].nodes.par_iter().map(nodes).collect();
    let colours = Colours::new(bricks, &first_nodes, order.cuts(0));
    let mut out = Tables {
        tolerance: settings.inner_tolerance.powi(2),
        n_levels: n_levels as u32,
        degree: settings.degree[1] as u32,
        ..Tables::zeroed()
    };
    for (l, (level, row)) in coarse.levels.iter().zip(&mut out.levels).enumerate() {
        row.n = (level.n / 3) as u32;
        row.steps = *settings.inner.get(l).or(settings.inner.last()).unwrap_or(&1) as u32;
        row.step = (1.0 / level.lambda) as f32;
        row.cost = level.cost;
    }
    // Tables of further levels are made while those of the first are copied.
    let mut further = Vec::new();
    rayon::in_place_scope(|scope| {
        scope.spawn(|_| further = (1..n_levels).map(|l| Assembled::new(coarse, l, order)).collect());
        put_first(&coarse.levels[0], &first_nodes, (&colours, order), memory, &mut out)
    })?;
    let wanted = asks.map_or_else(Wanted::default, |(part, part_of_finest)| {
        Wanted::new(part, coarse, order, (&colours, &first_nodes, &further), part_of_finest)
    });
    drop(first_nodes);
    put_vectors(coarse, lent, (order, &wanted), memory, &mut out)?;
    for (l, made) in (1..).zip(&further) {
        put_assembled(&coarse.levels[l], made, (l, order), memory, &mut out.levels[l])?;
    }
    if let (Some(factor), Some(last)) = (&coarse.bottom, coarse.levels.last()) {
        out.bottom = at(memory.put(&inverse(factor, last.n))?);
    }
    Ok(((0..order.n_parts).map(|part| of_part(part, coarse, order, &colours, &out)).collect(), wanted))
}

/// The tables of a part, from those of all.
fn of_part(part: usize, coarse: &Coarse, order: &Order, colours: &Colours, all: &Tables) -> Tables {
    let mut out = *all;
    for l in 0..coarse.levels.len() {
        let nodes = order.own(part, l);
        (out.levels[l].first, out.levels[l].end) = (nodes.start as u32, nodes.end as u32);
    }
    // The first part has all of a level that is not shared.
    let end = colours.order.len() as u32;
    out.colour_first = colours.first.get(part).copied().unwrap_or([end; 9]);
    out.peers.n_devices = order.n_parts as u32;
    out.peers.me = part as u32;
    out.peers.n_shared = order.n_shared as u32;
    out.peers.n_elements = colours.order.len() as u32;
    out
}

/// Finds places for the vectors of all levels: in memory that is lent, or of their own.
fn put_vectors(
    coarse: &Coarse,
    lent: Lent,
    (order, wanted): (&Order, &Wanted),
    memory: &mut impl Memory,
    out: &mut Tables,
) -> Result<(), DeviceError> {
    let mut places = Places { lent, used: [0; 2] };
    for_vectors(coarse, |level, vector, n| {
        let at = match places.find(level, vector, 4 * n as u64) {
            Some(at) => at,
            None => memory.zeros_own::<f32>(n, &times(3, order.cuts(level)), &wanted.numbers(level))?,
        };
        let super::layout::Level { residual, direction, product, solution, z, t, d, .. } = &mut out.levels[level];
        *[residual, direction, product, solution, z, t, d][vector] = Out::<f32>::from_address(at);
        Ok(())
    })
}

/// The operator of level 1, whose elements with these nodes come in the order of the colours.
fn put_first(
    level: &Level,
    nodes: &[[u32; 8]],
    (colours, order_of_nodes): (&Colours, &Order),
    memory: &mut impl Memory,
    out: &mut Tables,
) -> Result<(), DeviceError> {
    let Operator::First(operator) = &level.operator else { unreachable!("only on the CPU") };
    let (order, cuts) = (&colours.order, colours.cuts());
    let number = |&(e, _): &(u32, [u16; 3])| (e & !Colours::COPY) as usize;
    let nodes: Vec<[u32; 8]> = order.par_iter().map(|of| nodes[number(of)]).collect();
    out.levels[0].nodes = at(memory.put_cut(nodes.as_flattened(), &times(8, &cuts))?);
    drop(nodes);
    let child = |of: &(u32, [u16; 3])| match operator.child[number(of)] {
        (_, 0) => operator.own.partition_point(|&own| (own as usize) < number(of)) as u32,
        (child, _) => child,
    };
    out.child = at(memory.put_own(&order.par_iter().map(child).collect::<Vec<u32>>(), &cuts)?);
    let cell = |of: &(u32, [u16; 3])| {
        let places = level.transfer.of(number(of)).fold(0, |bits, (_, place)| bits | 1 << place);
        let [x, y, z] = of.1;
        let is_copy = if of.0 & Colours::COPY == 0 { 0 } else { OF_ANOTHER };
        Cell { places: places | is_copy, x, y, z, octants: operator.child[number(of)].1.into() }
    };
    out.cells = at(memory.put_cut(&order.par_iter().map(cell).collect::<Vec<Cell>>(), &cuts)?);
    let lower = |matrix: &[f32; 576]| -> [f32; 300] {
        let mut rows = (0..24).flat_map(|i| matrix[24 * i..24 * i + i + 1].iter());
        std::array::from_fn(|_| *rows.next().unwrap_or(&0.0))
    };
    let own: Vec<[f32; 300]> = operator.matrices.par_iter().map(lower).collect();
    out.own = at(memory.put_cut(&own, &like(own.len(), order.len(), &cuts))?);
    put_inverse(level, (0, order_of_nodes), memory, &mut out.levels[0])
}

/// 1 / diagonal of a level.
fn put_inverse(
    level: &Level,
    (l, order): (usize, &Order),
    memory: &mut impl Memory,
    row: &mut super::layout::Level,
) -> Result<(), DeviceError> {
    let mut inverse = order.of_nodes(l, 3, level.inverse.clone());
    inverse.resize(padded(level.n / 3), 0.0);
    row.inverse = at(memory.put_own(&inverse, &times(3, order.cuts(l)))?);
    Ok(())
}

/// Tables of a further level.
struct Assembled {
    /// None of a level that is factorised.
    blocks: Option<Rounded>,
    /// Eight places of each element.
    nodes: Vec<[u32; 8]>,
    transfer: Gathering,
}

impl Assembled {
    fn new(coarse: &Coarse, l: usize, order: &Order) -> Self {
        let level = &coarse.levels[l];
        let Operator::Assembled(blocks) = &level.operator else { unreachable!("only on the CPU") };
        let is_bottom = l + 1 == coarse.levels.len() && coarse.is_factorised();
        let blocks = (!is_bottom).then(|| Rounded::new(blocks).in_order(l, order));
        let nodes = level.nodes.par_iter().map(|nodes| nodes.map(|node| order.place(l, node))).collect();
        Self { blocks, nodes, transfer: Gathering::new(level).in_order(l, order) }
    }
}

/// The operator of further level `l`, and its transfer.
fn put_assembled(
    level: &Level,
    Assembled { blocks, nodes, transfer }: &Assembled,
    (l, order): (usize, &Order),
    memory: &mut impl Memory,
    row: &mut super::layout::Level,
) -> Result<(), DeviceError> {
    let (n, cuts) = (level.n / 3, order.cuts(l));
    row.nodes = at(memory.put_cut(nodes, &like(nodes.len(), n, cuts))?);
    let Gathering { owner, first, entries } = transfer;
    row.owner = at(memory.put_own(owner, order.cuts(l - 1))?);
    row.gather_first = at(memory.put_cut(first, cuts)?);
    row.gather = at(memory.put_own(entries, &of_rows(first, cuts))?);
    let Some(rounded) = blocks else {
        // Solved as it is.
        let mut ones = vec![1.0_f32; level.n];
        ones.resize(padded(n), 0.0);
        row.inverse = at(memory.put(&ones)?);
        return Ok(());
    };
    let of_blocks = of_rows(&rounded.first, cuts);
    row.row_first = at(memory.put_cut(&rounded.first, cuts)?);
    row.column = at(memory.put_own(&rounded.column, &of_blocks)?);
    row.value = at(memory.put_own(&rounded.value, &of_blocks)?);
    row.ninth = at(memory.put_own(&rounded.ninth, &of_blocks)?);
    row.unit = rounded.unit;
    put_inverse(level, (l, order), memory, row)
}

/// How a level is connected to the finer one.
struct Gathering {
    /// Where each finer node stands: 32 × element + place.
    owner: Vec<u32>,
    /// First entry of each node, and the end.
    first: Vec<u32>,
    /// The finer nodes that each node has to do with.
    entries: Vec<u32>,
}

impl Gathering {
    fn new(level: &Level) -> Self {
        let (transfer, n) = (&level.transfer, level.n / 3);
        let mut owner = vec![0_u32; transfer.fine.len()];
        let owners = Shared::new(&mut owner);
        parallel::for_each(level.nodes.len(), &|element| {
            for (fine, place) in transfer.of(element) {
                // SAFETY: each finer node belongs to one element.
                unsafe { owners.part(fine..fine + 1)[0] = (element << 5 | place) as u32 };
            }
        });
        let elements_of = Lists::by_key(n, level.nodes.len(), |element| level.nodes[element].into_iter());
        // For each place, a bit for each corner on which it depends, and k where they are 2^k.
        let corners = PLACES.map(|place| place.corners().iter().fold(0, |bits, &c| bits | 1_u8 << c));
        let powers = PLACES.map(|place| place.corners().len().trailing_zeros());
        // The finer nodes that depend on a node, element by element.
        let of_node = |node: usize| {
            elements_of.of(node).iter().flat_map(move |&element| {
                let corner =
                    level.nodes[element as usize].iter().position(|&other| other as usize == node).unwrap_or(8);
                let depends = move |place: usize| u32::from(corners[place]) >> corner & 1 == 1;
                let here = transfer.of(element as usize).filter(move |&(_, place)| depends(place));
                here.map(move |(fine, place)| (fine as u32) << 2 | powers[place])
            })
        };
        let counts: Vec<u32> = parallel::map(n, &|node| of_node(node).count() as u32);
        let first = starts(counts.into_iter());
        let mut entries = vec![0_u32; first[n] as usize];
        let gathered = Shared::new(&mut entries);
        parallel::for_each(n, &|node| {
            // SAFETY: each node has a range of its own.
            let to = unsafe { gathered.part(first[node] as usize..first[node + 1] as usize) };
            to.iter_mut().zip(of_node(node)).for_each(|(to, entry)| *to = entry);
        });
        Self { owner, first, entries }
    }

    /// The same of level `l` and the finer one in the order of their places.
    fn in_order(self, l: usize, order: &Order) -> Self {
        let (first, rows) = order.of_rows(l, self.first);
        let mut entries = rows.moved(self.entries);
        entries.par_iter_mut().for_each(|entry| *entry = order.place(l - 1, *entry >> 2) << 2 | *entry & 3);
        Self { owner: order.of_nodes(l - 1, 1, self.owner), first, entries }
    }
}

/// Blocks as `Level` in grid.cuh has them.
struct Rounded {
    first: Vec<u32>,
    column: Vec<u32>,
    value: Vec<[u16; 8]>,
    ninth: Vec<u16>,
    unit: f32,
}

impl Rounded {
    /// Both blocks of a pair of nodes are rounded from one, as [`Packed`] has them: what is not quite symmetric turns differences of
    /// displacement into forces on the whole, and a few last bits are enough for that to count.
    fn new(blocks: &Packed) -> Self {
        /// Sums below this share of the largest number in a row are what rounding in f32 leaves of numbers that cancel.
        const NOTHING: f64 = 4e-6;
        let n_blocks = blocks.column.len();
        let most = blocks.value.par_iter().map(|v| f64::from(v.abs())).reduce(|| 0.0, f64::max);
        // A power of two whose 32767-fold no number exceeds, nor a sum of so many: where a node is held in one direction, that of
        // its row is as large as all other blocks together.
        const SUMMANDS: f64 = 256.0;
        let top = exponent(SUMMANDS * most);
        let (mut column, mut value, mut ninth) =
            (vec![0_u32; n_blocks], vec![[0_u16; 8]; n_blocks], vec![0_u16; n_blocks]);
        let parts = (Shared::new(&mut column), Shared::new(&mut value), Shared::new(&mut ninth));
        parallel::for_each(blocks.first.len() - 1, &|row| {
            let range = blocks.first[row] as usize..blocks.first[row + 1] as usize;
            // Columns of blocks become rows.
            let block = |at: usize| -> [f64; 9] {
                std::array::from_fn(|i| f64::from(blocks.value[9 * at + 3 * (i % 3) + i / 3]))
            };
            // Of the node itself, the sum of all.
            let (mut sum, mut large) = ([0.0; 9], 0.0_f64);
            for at in range.clone() {
                for (sum, v) in sum.iter_mut().zip(block(at)) {
                    *sum += v;
                    large = large.max(v.abs());
                }
            }
            let sum = sum.map(|v| if v.abs() > NOTHING * large { v } else { 0.0 });
            // SAFETY: each row has blocks of its own.
            let (column, value, ninth) =
                unsafe { (parts.0.part(range.clone()), parts.1.part(range.clone()), parts.2.part(range.clone())) };
            for (i, at) in range.enumerate() {
                let node = blocks.column[at];
                // Blocks above the diagonal and below are the same numbers.
                let block = if node as usize == row { sum } else { block(at) };
                let (power, whole) = rounded(&block, top);
                let whole = whole.map(|v| v as u16);
                column[i] = node | power << COLUMN_BITS;
                value[i].copy_from_slice(&whole[..8]);
                ninth[i] = whole[8];
            }
        });
        Self { first: blocks.first.clone(), column, value, ninth, unit: f32::from_bits(((127 + top) as u32) << 23) }
    }

    /// The same of level `l` in the order of its places.
    fn in_order(self, l: usize, order: &Order) -> Self {
        let (first, rows) = order.of_rows(l, self.first);
        let mut column = rows.moved(self.column);
        const NODE: u32 = (1 << COLUMN_BITS) - 1;
        column.par_iter_mut().for_each(|entry| *entry = *entry & !NODE | order.place(l, *entry & NODE));
        Self { first, column, value: rows.moved(self.value), ninth: rows.moved(self.ninth), unit: self.unit }
    }
}

/// The inverse of L Lᵀ, (n, n); rows without a pivot are left out.
fn inverse(factor: &Factor, n: usize) -> Vec<f32> {
    let mut out = vec![0.0_f32; n * n];
    // Symmetric: columns are rows.
    out.par_chunks_mut(n.max(1)).enumerate().for_each_init(
        || vec![0.0_f32; n],
        |unit, (column, out)| {
            unit[column] = 1.0;
            factor.solve(unit, out);
            unit[column] = 0.0;
        },
    );
    out
}

/// The moduli of the finest level; `one`: that of the first voxel is that of all. They are cut into equal parts: voxels have
/// the order of the elements of level 1.
pub(super) fn put_moduli(
    voxels: &Voxels,
    one: bool,
    n_devices: usize,
    memory: &mut impl Memory,
) -> Result<PutModuli, DeviceError> {
    let cuts = |n: usize| (1..n_devices).map(|device| n * device / n_devices).collect::<Vec<usize>>();
    let mut out = PutModuli::default();
    match voxels.moduli {
        Moduli::Classes { class, .. } => {
            let mut young: Vec<f32> = voxels.of_classes().into_iter().map(|e| e as f32).collect();
            match class.first() {
                Some(&first) if one => young = vec![young[usize::from(first)]],
                _ => out.material = memory.put_cut(class, &cuts(class.len()))?,
            }
            out.young = memory.put(&young)?;
        }
        Moduli::Each { modulus, scale } => {
            out.modulus = memory.put_cut(modulus, &cuts(modulus.len()))?;
            out.modulus_unit = (scale * voxels.spacing) as f32;
        }
    }
    Ok(out)
}

/// Where [`put_moduli`] has put what there is of classes, moduli of classes and moduli of voxels.
#[derive(Debug, Default)]
pub(super) struct PutModuli {
    material: u64,
    young: u64,
    modulus: u64,
    modulus_unit: f32,
}

impl PutModuli {
    /// Tells the kernels.
    pub fn enter(&self, tables: &mut Tables) {
        (tables.material, tables.young) = (at(self.material), at(self.young));
        (tables.modulus, tables.modulus_unit) = (at(self.modulus), self.modulus_unit);
    }
}

#[cfg(test)]
mod tests;
