//! `.pogo-field`: displacement of all nodes at some times.
//!
//! The file grows. A store goes behind all that is there, and then 12 bytes before the first one say that there is one
//! more. So a file that is being written, or whose run was killed, holds all stores that are done.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::{PRECISION, begin, integers, reals, section};
use crate::system::inputs;
use crate::write::{OutputError, advice, write_atomically};

/// Bytes of the section's length and the number of stores, which change as the file grows.
const GROWING: u64 = 8 + 4;

/// A file of displacement fields, which appears with its first store.
#[derive(Debug, Clone)]
pub struct FieldFile {
    path: PathBuf,
    dimension: usize,
    n_nodes: usize,
    /// All that comes before the growing numbers.
    head: Vec<u8>,
    n_stores: u32,
}

impl FieldFile {
    /// A file of nodes with these numbers, from 0, and positions, (n_nodes, dimension), m. Nothing is written yet.
    pub fn new(path: &Path, dimension: usize, nodes: impl ExactSizeIterator<Item = (i32, [f64; 3])>) -> Self {
        let n_nodes = nodes.len();
        let mut head = Vec::with_capacity(300 + n_nodes * (4 + 8 * dimension));
        let mut numbers = Vec::with_capacity(n_nodes);
        // Nothing fails that goes to memory.
        let fill = || -> io::Result<()> {
            begin(&mut head, "%pogo-field")?;
            section(&mut head, "generalInfo", 3 * 4)?;
            integers(&mut head, &[PRECISION, dimension as i32, dimension as i32])?;
            section(&mut head, "nodes", 4 + n_nodes as u64 * (4 + 8 * dimension as u64))?;
            integers(&mut head, &[n_nodes as i32])?;
            for (number, position) in nodes {
                numbers.push(number);
                reals(&mut head, position.into_iter().take(dimension))?;
            }
            integers(&mut head, &numbers)?;
            section(&mut head, "fieldStores", 0)
        };
        let _ = fill();
        head.truncate(head.len() - size_of::<u64>());
        Self { path: path.into(), dimension, n_nodes, head, n_stores: 0 }
    }

    /// Goes on with the file of an earlier run, of whose stores the first `n_stores` stay.
    ///
    /// # Errors
    /// [`OutputError::Io`]; [`OutputError::Damaged`] where there are fewer, or it is the file of another model.
    pub fn resume(&mut self, n_stores: u32) -> Result<(), OutputError> {
        if n_stores == 0 {
            return Ok(());
        }
        let damaged = |what: &str| {
            let what =
                format!("cannot go on with this file ({what}); go on without --pogo-files, or write elsewhere with -o");
            OutputError::damaged(&self.path, what)
        };
        let mut start = vec![0; self.head.len() + GROWING as usize];
        let read = inputs::open_regular(&self.path).and_then(|mut file| file.read_exact(&mut start));
        read.map_err(|error| damaged(&error.to_string()))?;
        let count = start.last_chunk::<4>().map_or(0, |&bytes| u32::from_le_bytes(bytes));
        if !start.starts_with(&self.head) {
            return Err(damaged("it has other nodes"));
        }
        if count < n_stores {
            return Err(damaged(&format!("it has {count} of the {n_stores} stores up to the checkpoint")));
        }
        self.n_stores = n_stores;
        Ok(())
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// No store yet.
    pub fn is_empty(&self) -> bool {
        self.n_stores == 0
    }

    /// Adds a store: u of each node in the order of the nodes, m.
    ///
    /// # Errors
    /// [`OutputError::Io`].
    pub fn write<'a>(&mut self, time: f64, u: impl Fn(usize) -> &'a [f64]) -> Result<(), OutputError> {
        let store = |out: &mut dyn Write| {
            let components =
                (0..self.dimension).flat_map(|component| (0..self.n_nodes).map(move |node| (node, component)));
            let values = components.map(|(node, component)| u(node)[component]);
            reals(out, std::iter::once(time).chain(values))
        };
        if self.is_empty() {
            write_atomically(&self.path, |out| {
                out.write_all(&self.head)?;
                out.write_all(&self.growing(1))?;
                store(out)
            })?;
        } else {
            self.append(store).map_err(advice).map_err(OutputError::io(&self.path))?;
        }
        self.n_stores += 1;
        Ok(())
    }

    fn append(&self, store: impl Fn(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        let file = File::options().write(true).open(&self.path)?;
        let first = self.head.len() as u64 + GROWING;
        let end = first + u64::from(self.n_stores) * self.store_bytes();
        // What is behind was written by a run that went further than its checkpoint.
        file.set_len(end)?;
        let mut out = BufWriter::with_capacity(1 << 18, file);
        out.seek(SeekFrom::Start(end))?;
        store(&mut out)?;
        out.flush()?;
        out.get_ref().sync_data()?;
        out.seek(SeekFrom::Start(self.head.len() as u64))?;
        out.write_all(&self.growing(self.n_stores + 1))?;
        out.flush()?;
        out.get_ref().sync_data()
    }

    fn growing(&self, n_stores: u32) -> Vec<u8> {
        let bytes = 4 + u64::from(n_stores) * self.store_bytes();
        [bytes.to_le_bytes().as_slice(), &n_stores.to_le_bytes()].concat()
    }

    fn store_bytes(&self) -> u64 {
        8 * (1 + (self.n_nodes * self.dimension) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &Path, n_nodes: usize) -> FieldFile {
        FieldFile::new(path, 2, (0..n_nodes).map(|node| (node as i32, [node as f64, 0.5, 0.0])))
    }

    #[test]
    fn a_file_that_goes_on_has_the_bytes_of_one_that_was_never_stopped() {
        let folder = tempfile::tempdir().unwrap();
        let [whole, stopped] = ["whole", "stopped"].map(|name| folder.path().join(name));
        let u: Vec<f64> = (0..6).map(f64::from).collect();
        let write = |file: &mut FieldFile, time: f64| file.write(time, |node| &u[2 * node..2 * node + 2]).unwrap();
        let mut one = file(&whole, 3);
        assert!(one.is_empty() && !whole.exists());
        [1.0, 2.0, 3.0].iter().for_each(|&time| write(&mut one, time));
        let mut first = file(&stopped, 3);
        // The last store was written after the checkpoint.
        [1.0, 2.0, 7.0].iter().for_each(|&time| write(&mut first, time));
        let mut second = file(&stopped, 3);
        second.resume(2).unwrap();
        write(&mut second, 3.0);
        let bytes = std::fs::read(&whole).unwrap();
        assert_eq!(bytes, std::fs::read(&stopped).unwrap());
        // Times stand before the components, one after the other, at the end of the file.
        let last = bytes[bytes.len() - 7 * 8..].as_chunks::<8>().0.iter().map(|&value| f64::from_le_bytes(value));
        assert_eq!(last.collect::<Vec<_>>(), [3.0, 0.0, 2.0, 4.0, 1.0, 3.0, 5.0]);
    }

    #[test]
    fn files_of_other_runs_are_not_gone_on_with() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.pogo-field");
        let refused = |n_nodes, n_stores| file(&path, n_nodes).resume(n_stores).unwrap_err().to_string();
        assert!(refused(1, 1).contains("go on without --pogo-files"), "{}", refused(1, 1));
        file(&path, 1).write(0.0, |_| &[0.0, 0.0]).unwrap();
        assert!(refused(1, 2).contains("it has 1 of the 2 stores"), "{}", refused(1, 2));
        assert!(refused(2, 1).contains("go on without --pogo-files"), "{}", refused(2, 1));
        file(&path, 1).resume(0).unwrap();
    }
}
