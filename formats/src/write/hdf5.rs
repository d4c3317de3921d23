//! HDF5 files that grow: data sets in groups, to which rows are added while every state in between can be read.
//!
//! Data and descriptions are only ever put behind what the file holds; [`Hdf5::commit`] then makes the 48 bytes at its
//! beginning lead to the new description. Whoever opens the file, or has it open, sees one state whole, and a run that is
//! killed leaves the last one. The rows of a data set that grows lie in chunks, which are reserved for rows to come.
//!
//! The objects are those of HDF5 1.8 and later (superblock 2, object headers 2, links in the header, chunks in a B-tree of
//! version 1), without compression; the layout follows "HDF5 File Format Specification Version 3.0" (The HDF Group).

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};

use super::grid::Number;

/// Bytes of the superblock.
const SUPERBLOCK: u64 = 48;
/// The address of nothing.
const NOWHERE: u64 = u64::MAX;
/// Bytes that a chunk has at least if so many are to come …
const CHUNK: u64 = 16 << 20;
/// … and at most.
const MAX_CHUNK: u64 = 1 << 30;
/// Children of a node of a B-tree, at most: twice the K that readers assume.
const CHILDREN: usize = 64;
/// Strings of a heap collection, whose objects have 16 bits for their numbers.
const HEAP: usize = 1 << 15;

/// An attribute of a data set or a group.
#[derive(Debug, Clone, PartialEq)]
pub enum Attribute {
    Integers(Vec<i64>),
    Reals(Vec<f64>),
    Text(String),
}

/// Elements of a data set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Element {
    Number(Number),
    /// Strings of any length, kept in a heap.
    Text,
}

#[derive(Debug, Clone, PartialEq)]
enum Storage {
    At(u64),
    Chunks {
        rows: u64,
        /// Addresses; more than the rows need where there were more rows once.
        at: Vec<u64>,
        /// Root of the B-tree, and how many chunks are in it.
        tree: (u64, usize),
    },
}

/// A data set as it will be described.
#[derive(Debug, Clone, PartialEq)]
struct Dataset {
    element: Element,
    /// Rows and what is in one.
    shape: Vec<u64>,
    storage: Storage,
}

impl Dataset {
    fn element_size(&self) -> u64 {
        match self.element {
            Element::Number(number) => number.size(),
            Element::Text => 16,
        }
    }

    fn row_bytes(&self) -> u64 {
        self.shape[1..].iter().product::<u64>() * self.element_size()
    }
}

/// A file as it will be described; see the [module](self).
#[derive(Debug, Clone, Default)]
pub struct Hdf5 {
    /// The end of what the file holds, where the next data go.
    end: u64,
    datasets: BTreeMap<String, Dataset>,
    /// By path of a group or data set, in the order of writing.
    attributes: BTreeMap<String, BTreeMap<String, Attribute>>,
}

/// Where a file is written.
pub type Out = BufWriter<File>;

impl Hdf5 {
    /// An empty file.
    pub fn new() -> Self {
        Self { end: SUPERBLOCK, ..Self::default() }
    }

    /// A file that [`commit`](Self::commit) has written, to go on with it.
    ///
    /// # Errors
    /// It is no such file.
    pub fn open(file: &hdf5_pure::File) -> Result<Self, String> {
        let mut found = Self { end: file.superblock().eof_address, ..Self::default() };
        found.read_group(&file.root(), "").map_err(|error| error.to_string())?;
        Ok(found)
    }

    fn read_group(&mut self, group: &hdf5_pure::Group, path: &str) -> Result<(), hdf5_pure::Error> {
        let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") };
        self.read_attributes(path, group.attrs()?);
        for name in group.datasets()? {
            let (dataset, path) = (group.dataset(&name)?, below(&name));
            use hdf5_pure::DType;
            let element = match dataset.dtype()? {
                DType::F32 => Element::Number(Number::F32),
                DType::F64 => Element::Number(Number::F64),
                DType::I64 => Element::Number(Number::I64),
                DType::U8 => Element::Number(Number::U8),
                DType::U16 => Element::Number(Number::U16),
                DType::U32 => Element::Number(Number::U32),
                _ => Element::Text,
            };
            let storage = match dataset.layout()? {
                hdf5_pure::Layout::Chunked { chunk_shape, .. } => Storage::Chunks {
                    rows: chunk_shape.first().map_or(1, |&rows| rows.max(1)),
                    at: dataset.chunks()?.iter().map(|chunk| chunk.address).collect(),
                    tree: (NOWHERE, 0),
                },
                hdf5_pure::Layout::Contiguous { address, .. } => Storage::At(address.unwrap_or(NOWHERE)),
                _ => Storage::At(NOWHERE),
            };
            self.read_attributes(&path, dataset.attrs()?);
            self.datasets.insert(path, Dataset { element, shape: dataset.shape()?, storage });
        }
        group.groups()?.iter().try_for_each(|name| self.read_group(&group.group(name)?, &below(name)))
    }

    fn read_attributes(&mut self, path: &str, attributes: impl IntoIterator<Item = (String, hdf5_pure::AttrValue)>) {
        for (name, value) in attributes {
            let value = match (value.as_str(), value.to_i64s(), value.to_f64s()) {
                (Some(text), ..) => Attribute::Text(text.into()),
                (_, Some(integers), _) => Attribute::Integers(integers),
                (.., Some(reals)) => Attribute::Reals(reals),
                _ => continue,
            };
            self.set(path, &name, value);
        }
    }

    /// Rows of a data set; none where there is no such one.
    pub fn rows(&self, path: &str) -> Option<u64> {
        self.datasets.get(path).map(|dataset| dataset.shape[0])
    }

    /// Paths of all data sets.
    pub fn paths(&self) -> Vec<String> {
        self.datasets.keys().cloned().collect()
    }

    /// Sets an attribute of a group or data set.
    pub fn set(&mut self, path: &str, name: &str, value: Attribute) {
        self.attributes.entry(path.into()).or_default().insert(name.into(), value);
    }

    /// Forgets the rows of a growing data set from `rows` on; their place is used again.
    pub fn truncate(&mut self, path: &str, rows: u64) {
        let Some(dataset) = self.datasets.get_mut(path) else { return };
        if let Storage::Chunks { tree, .. } = &mut dataset.storage
            && rows < dataset.shape[0]
        {
            dataset.shape[0] = rows;
            *tree = (NOWHERE, 0);
        }
    }

    /// Writes a data set that stays as it is; `fill` writes all its numbers.
    ///
    /// # Errors
    /// What `fill` and the file return.
    pub fn put(
        &mut self,
        out: &mut Out,
        path: &str,
        number: Number,
        shape: &[u64],
        fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        let bytes = shape.iter().product::<u64>() * number.size();
        let at = if bytes == 0 { NOWHERE } else { self.reserve(bytes) };
        let storage = Storage::At(at);
        self.datasets.insert(path.into(), Dataset { element: Element::Number(number), shape: shape.into(), storage });
        if bytes > 0 {
            out.seek(SeekFrom::Start(at))?;
        }
        let mut rows = Rows { out, chunk: bytes, left: bytes, next: [].iter() };
        fill(&mut rows)?;
        rows.finish()
    }

    /// Writes a list of strings, which stays as it is.
    ///
    /// # Errors
    /// What the file returns.
    pub fn put_names(&mut self, out: &mut Out, path: &str, names: &[&str]) -> io::Result<()> {
        let mut table: Vec<u8> = Vec::new();
        for names in names.chunks(HEAP) {
            // A global heap collection: strings as objects 1, 2, …, and the rest as object 0.
            let mut heap: Vec<u8> = Vec::new();
            for (index, name) in (1_u16..).zip(names) {
                heap.extend(index.to_le_bytes());
                heap.extend([1, 0, 0, 0, 0, 0]);
                heap.extend((name.len() as u64).to_le_bytes());
                heap.extend(name.bytes());
                heap.resize(heap.len().next_multiple_of(8), 0);
            }
            let size = (heap.len() as u64 + 32).max(4096);
            let free = size - 16 - heap.len() as u64;
            heap.extend([0; 8]);
            heap.extend(free.to_le_bytes());
            heap.resize(size as usize - 16, 0);
            let at = self.reserve(size);
            out.seek(SeekFrom::Start(at))?;
            out.write_all(b"GCOL\x01\0\0\0")?;
            out.write_all(&size.to_le_bytes())?;
            out.write_all(&heap)?;
            for (index, name) in (1_u32..).zip(names) {
                table.extend((name.len() as u32).to_le_bytes());
                table.extend(at.to_le_bytes());
                table.extend(index.to_le_bytes());
            }
        }
        let at = self.reserve(table.len() as u64);
        out.seek(SeekFrom::Start(at))?;
        out.write_all(&table)?;
        let shape = vec![names.len() as u64];
        self.datasets.insert(path.into(), Dataset { element: Element::Text, shape, storage: Storage::At(at) });
        Ok(())
    }

    /// Adds rows to a data set, which is made with the first: `width` holds the numbers of a row where that is not just
    /// one, `expected` says how often as many rows will come. `fill` writes the numbers.
    ///
    /// # Errors
    /// What `fill` and the file return.
    #[allow(clippy::too_many_arguments)] // what a data set is, and what goes in
    pub fn append(
        &mut self,
        out: &mut Out,
        path: &str,
        number: Number,
        width: Option<u64>,
        rows: u64,
        expected: u64,
        fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        if !self.datasets.contains_key(path) {
            let shape: Vec<u64> = [0].into_iter().chain(width).collect();
            let row = width.unwrap_or(1) * number.size();
            let (rows, bytes) = (rows.max(1), rows.max(1) * row);
            let times = (CHUNK / bytes).clamp(1, expected.max(1));
            let storage = Storage::Chunks {
                rows: (rows * times).min((MAX_CHUNK / row).max(1)),
                at: Vec::new(),
                tree: (NOWHERE, 0),
            };
            self.datasets.insert(path.into(), Dataset { element: Element::Number(number), shape, storage });
        }
        let Some(mut dataset) = self.datasets.remove(path) else { return Ok(()) };
        let (row, first) = (dataset.row_bytes(), dataset.shape[0]);
        let Storage::Chunks { rows: chunk_rows, at, .. } = &mut dataset.storage else {
            return Err(io::Error::other(format!("{path} does not grow")));
        };
        if Element::Number(number) != dataset.element || dataset.shape.get(1).copied() != width {
            return Err(io::Error::other(format!("{path} has other numbers than before")));
        }
        let chunk = *chunk_rows * row;
        while (at.len() as u64) < (first + rows).div_ceil(*chunk_rows) {
            at.push(self.reserve(chunk));
        }
        let mut next = at[(first / *chunk_rows) as usize..].iter();
        let within = first % *chunk_rows * row;
        let left = rows * row;
        if left > 0
            && let Some(start) = next.next()
        {
            out.seek(SeekFrom::Start(start + within))?;
        }
        let mut written = Rows { out, chunk, left, next };
        let room = chunk - within;
        let mut scatter = Scatter { rows: &mut written, room };
        fill(&mut scatter)?;
        written.finish()?;
        dataset.shape[0] += rows;
        self.datasets.insert(path.into(), dataset);
        Ok(())
    }

    fn reserve(&mut self, bytes: u64) -> u64 {
        let at = self.end.next_multiple_of(8);
        self.end = at + bytes;
        at
    }

    /// Makes all that was written since the last time part of the file.
    ///
    /// # Errors
    /// What the file returns; it is then as it was.
    pub fn commit(&mut self, out: &mut Out) -> io::Result<()> {
        let mut datasets = std::mem::take(&mut self.datasets);
        for dataset in datasets.values_mut() {
            self.write_tree(out, dataset)?;
        }
        self.datasets = datasets;
        let root = self.write_group(out, "")?;
        out.flush()?;
        // Chunks are reserved whole.
        if out.get_ref().metadata()?.len() < self.end {
            out.get_ref().set_len(self.end)?;
        }
        out.get_ref().sync_data()?;
        let mut block = b"\x89HDF\r\n\x1a\n\x02\x08\x08\0".to_vec();
        [0, NOWHERE, self.end, root].iter().for_each(|address| block.extend(address.to_le_bytes()));
        block.extend(lookup3(&block).to_le_bytes());
        out.seek(SeekFrom::Start(0))?;
        out.write_all(&block)?;
        out.flush()?;
        out.get_ref().sync_data()
    }

    /// Bytes that the file has.
    pub fn size(&self) -> u64 {
        self.end
    }

    /// The B-tree of a data set's chunks, anew if there are more than in the last.
    fn write_tree(&mut self, out: &mut Out, dataset: &mut Dataset) -> io::Result<()> {
        let (rank, row) = (dataset.shape.len(), dataset.row_bytes());
        let Storage::Chunks { rows, at, tree } = &mut dataset.storage else { return Ok(()) };
        let used = dataset.shape[0].div_ceil(*rows) as usize;
        if used == tree.1 {
            return Ok(());
        }
        // (first row, address); the last one only bounds the others.
        let mut level: Vec<(u64, u64)> = (0..).step_by(*rows as usize).zip(at[..used].iter().copied()).collect();
        let end = used as u64 * *rows;
        let size = 24 + CHILDREN as u64 * 8 + (CHILDREN as u64 + 1) * (8 + 8 * (rank as u64 + 1));
        let mut height = 0_u8;
        loop {
            let nodes = level.len().div_ceil(CHILDREN);
            let first = self.reserve(size * nodes as u64);
            out.seek(SeekFrom::Start(first))?;
            let address = |node: usize| if node < nodes { first + size * node as u64 } else { NOWHERE };
            for (node, children) in level.chunks(CHILDREN).enumerate() {
                let mut bytes = b"TREE\x01".to_vec();
                bytes.push(height);
                bytes.extend((children.len() as u16).to_le_bytes());
                bytes.extend(address(node.wrapping_sub(1)).to_le_bytes());
                bytes.extend(address(node + 1).to_le_bytes());
                let key = |bytes: &mut Vec<u8>, row_number: u64| {
                    bytes.extend(((*rows * row) as u32).to_le_bytes());
                    bytes.extend([0; 4]);
                    bytes.extend(row_number.to_le_bytes());
                    bytes.resize(bytes.len() + 8 * rank, 0);
                };
                for &(row_number, child) in children {
                    key(&mut bytes, row_number);
                    bytes.extend(child.to_le_bytes());
                }
                key(&mut bytes, level.get((node + 1) * CHILDREN).map_or(end, |next| next.0));
                bytes.resize(size as usize, 0);
                out.write_all(&bytes)?;
            }
            level = level.chunks(CHILDREN).enumerate().map(|(node, below)| (below[0].0, address(node))).collect();
            height += 1;
            if nodes == 1 {
                break;
            }
        }
        *tree = (level[0].1, used);
        Ok(())
    }

    /// Object headers of a group and of all below it; returns its address.
    fn write_group(&mut self, out: &mut Out, path: &str) -> io::Result<u64> {
        let within = |known: &str| -> Option<String> {
            let rest = if path.is_empty() { known } else { known.strip_prefix(path)?.strip_prefix('/')? };
            Some(rest.split('/').next().unwrap_or_default().to_owned())
        };
        let children: BTreeSet<String> =
            self.datasets.keys().chain(self.attributes.keys()).filter_map(|known| within(known)).collect();
        let mut header = Header::default();
        header.message(0x02, &[&[0, 0][..], &[0xff; 16]].concat());
        header.message(0x0a, &[0, 0]);
        for name in children.iter().filter(|name| !name.is_empty()) {
            let child = if path.is_empty() { name.clone() } else { format!("{path}/{name}") };
            let address = match self.datasets.get(&child) {
                Some(dataset) => {
                    let header = dataset_header(dataset, self.attributes.get(&child));
                    self.write_header(out, header)?
                }
                None => self.write_group(out, &child)?,
            };
            let mut link = vec![1, 0, name.len() as u8];
            link.extend(name.bytes());
            link.extend(address.to_le_bytes());
            header.message(0x06, &link);
        }
        header.attributes(self.attributes.get(path));
        self.write_header(out, header)
    }

    fn write_header(&mut self, out: &mut Out, header: Header) -> io::Result<u64> {
        let mut bytes = b"OHDR\x02\x02".to_vec();
        bytes.extend((header.messages.len() as u32).to_le_bytes());
        bytes.extend(header.messages);
        bytes.extend(lookup3(&bytes).to_le_bytes());
        let at = self.reserve(bytes.len() as u64);
        out.seek(SeekFrom::Start(at))?;
        out.write_all(&bytes)?;
        Ok(at)
    }
}

/// Writes the bytes of an array, and checks how many there are.
struct Rows<'a> {
    out: &'a mut Out,
    chunk: u64,
    left: u64,
    next: std::slice::Iter<'a, u64>,
}

impl Rows<'_> {
    fn finish(self) -> io::Result<()> {
        if self.left == 0 {
            Ok(())
        } else {
            Err(io::Error::other(format!("{} bytes of an array are missing", self.left)))
        }
    }
}

impl Write for Rows<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() as u64 > self.left {
            return Err(io::Error::other("an array is longer than it should be"));
        }
        self.out.write_all(bytes)?;
        self.left -= bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes rows into chunks, one after the other.
struct Scatter<'a, 'b> {
    rows: &'a mut Rows<'b>,
    room: u64,
}

impl Write for Scatter<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.room == 0 && !bytes.is_empty() {
            let &next =
                self.rows.next.next().ok_or_else(|| io::Error::other("an array is longer than it should be"))?;
            self.rows.out.seek(SeekFrom::Start(next))?;
            self.room = self.rows.chunk;
        }
        let n = self.rows.write(&bytes[..bytes.len().min(self.room as usize)])?;
        self.room -= n as u64;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Messages of an object header.
#[derive(Default)]
struct Header {
    messages: Vec<u8>,
}

impl Header {
    fn message(&mut self, kind: u8, data: &[u8]) {
        self.messages.push(kind);
        self.messages.extend((data.len() as u16).to_le_bytes());
        self.messages.push(0);
        self.messages.extend(data);
    }

    fn attributes(&mut self, attributes: Option<&BTreeMap<String, Attribute>>) {
        for (name, value) in attributes.into_iter().flatten() {
            let (kind, space, data): (_, _, Vec<u8>) = match value {
                Attribute::Integers(values) => (
                    number_type(Number::I64),
                    list_space(values.len()),
                    values.iter().flat_map(|v| v.to_le_bytes()).collect(),
                ),
                Attribute::Reals(values) => (
                    number_type(Number::F64),
                    list_space(values.len()),
                    values.iter().flat_map(|v| v.to_le_bytes()).collect(),
                ),
                Attribute::Text(text) => {
                    // Filled up with zeros, ASCII.
                    let kind = [&[0x13, 1, 0, 0][..], &(text.len() as u32).to_le_bytes()].concat();
                    (kind, vec![2, 0, 0, 0], text.bytes().collect())
                }
            };
            let mut message = vec![3, 0];
            for length in [name.len() + 1, kind.len(), space.len()] {
                message.extend((length as u16).to_le_bytes());
            }
            message.push(0);
            message.extend(name.bytes());
            message.push(0);
            message.extend([kind, space, data].concat());
            self.message(0x0c, &message);
        }
    }
}

/// A single number is a scalar.
fn list_space(n: usize) -> Vec<u8> {
    if n == 1 { vec![2, 0, 0, 0] } else { simple_space(&[n as u64]) }
}

fn simple_space(shape: &[u64]) -> Vec<u8> {
    let mut space = vec![2, shape.len() as u8, 0, 1];
    shape.iter().for_each(|n| space.extend(n.to_le_bytes()));
    space
}

fn number_type(number: Number) -> Vec<u8> {
    let (size, bits) = (number.size() as u8, 8 * number.size() as u8);
    match number {
        Number::F32 => vec![0x11, 0x20, 31, 0, 4, 0, 0, 0, 0, 0, 32, 0, 23, 8, 0, 23, 127, 0, 0, 0],
        Number::F64 => vec![0x11, 0x20, 63, 0, 8, 0, 0, 0, 0, 0, 64, 0, 52, 11, 0, 52, 255, 3, 0, 0],
        Number::I64 => vec![0x10, 8, 0, 0, size, 0, 0, 0, 0, 0, bits, 0],
        Number::U8 | Number::U16 | Number::U32 => vec![0x10, 0, 0, 0, size, 0, 0, 0, 0, 0, bits, 0],
    }
}

fn dataset_header(dataset: &Dataset, attributes: Option<&BTreeMap<String, Attribute>>) -> Header {
    let mut header = Header::default();
    header.message(0x01, &simple_space(&dataset.shape));
    header.message(
        0x03,
        &match dataset.element {
            Element::Number(number) => number_type(number),
            // A string of any length, of bytes. It is called ASCII, since VTK reads no strings that say they are UTF-8.
            Element::Text => [&[0x19, 1, 0, 0, 16, 0, 0, 0][..], &number_type(Number::U8)].concat(),
        },
    );
    let mut layout = vec![3];
    let allocated = match &dataset.storage {
        Storage::At(at) => {
            let bytes = dataset.shape[0] * dataset.row_bytes();
            layout.push(1);
            layout.extend(at.to_le_bytes());
            layout.extend(bytes.to_le_bytes());
            2
        }
        Storage::Chunks { rows, tree, .. } => {
            layout.extend([2, dataset.shape.len() as u8 + 1]);
            layout.extend(tree.0.to_le_bytes());
            for extent in [*rows].iter().chain(&dataset.shape[1..]).chain(&[dataset.element_size()]) {
                layout.extend((*extent as u32).to_le_bytes());
            }
            3
        }
    };
    // Allocated late or bit by bit; no fill value.
    header.message(0x05, &[3, 8 | allocated]);
    header.message(0x08, &layout);
    header.attributes(attributes);
    header
}

/// Bob Jenkins's hash `lookup3`, the checksum of HDF5's descriptions.
fn lookup3(bytes: &[u8]) -> u32 {
    let mut state = [0xdead_beef_u32.wrapping_add(bytes.len() as u32); 3];
    let mut blocks = bytes.chunks(12).peekable();
    while let Some(block) = blocks.next() {
        let mut padded = [0; 12];
        padded[..block.len()].copy_from_slice(block);
        for (word, four) in state.iter_mut().zip(padded.as_chunks::<4>().0) {
            *word = word.wrapping_add(u32::from_le_bytes(*four));
        }
        let is_last = blocks.peek().is_none();
        let turns: &[u32] = if is_last { &[14, 11, 25, 16, 4, 14, 24] } else { &[4, 6, 8, 16, 19, 4] };
        // The numbers move on by one place with every turn; the last to change is the second.
        for &turn in turns {
            let [a, b, c] = state;
            state = match is_last {
                false => [b, c.wrapping_add(b), a.wrapping_sub(c) ^ c.rotate_left(turn)],
                true => [b, (c ^ b).wrapping_sub(b.rotate_left(turn)), a],
            };
        }
    }
    state[1]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_its_author() {
        // From the driver that Jenkins published with it, with and without a last block that is full.
        assert_eq!(lookup3(b"Four score and seven years ago"), 0x1777_0551);
        assert_eq!(lookup3(b""), 0xdead_beef);
    }

    #[test]
    fn addresses_have_64_bits() {
        let path = tempfile::NamedTempFile::new().unwrap();
        let mut out = BufWriter::new(path.reopen().unwrap());
        // A hole in place of 5 GiB of data before.
        let mut file = Hdf5 { end: 5 << 30, ..Hdf5::new() };
        let numbers =
            |from: u32| move |out: &mut dyn Write| (from..from + 3).try_for_each(|n| out.write_all(&n.to_le_bytes()));
        file.put(&mut out, "lasting", Number::U32, &[3], numbers(1)).unwrap();
        file.put_names(&mut out, "names", &["first", "", "last one"]).unwrap();
        let many: Vec<String> = (0..70_000).map(|n| format!("part {n}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        file.put_names(&mut out, "many", &many).unwrap();
        for from in [10, 13] {
            file.append(&mut out, "growing", Number::U32, None, 3, 1, numbers(from)).unwrap();
            file.commit(&mut out).unwrap();
        }
        let read = hdf5_pure::File::open_streaming(path.path()).unwrap();
        assert_eq!(read.dataset("lasting").unwrap().read_u32().unwrap(), [1, 2, 3]);
        assert_eq!(read.dataset("growing").unwrap().read_u32().unwrap(), [10, 11, 12, 13, 14, 15]);
        let names = read.dataset("names").unwrap().read_string().unwrap();
        assert_eq!(names, ["first", "", "last one"]);
        assert_eq!(read.dataset("many").unwrap().read_string().unwrap(), many);
        assert!(file.size() > 5 << 30 && file.size() < (5 << 30) + 5_000_000);
    }
}
