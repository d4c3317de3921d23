//! Inputs that lie in memory under the names of files: what a program has in arrays need not go through a disk.
//!
//! [`hold`] gives them a folder that no disk has. As long as it is held, the readers find these inputs in it, in place of
//! files: an array as an `.npy` file, a job as its text. A mesh stands for a deck where its name ends in `.inp`, and for a
//! file of VTK where it ends in `.vtu`. The numbers stay where they are, and are read from there.

use std::collections::HashMap;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

/// Numbers that somebody else owns.
pub type Shared<T> = Arc<dyn AsRef<[T]> + Send + Sync>;

/// An input that lies in memory.
#[derive(Clone)]
pub enum Held {
    /// What the file would hold, byte by byte.
    File(Pieces),
    /// Points, cells and sets.
    Mesh(Arc<HeldMesh>),
}

/// Bytes of one file, which need not lie in one piece: the header of an array, then its numbers.
#[derive(Clone, Default)]
pub struct Pieces(Vec<Shared<u8>>);

/// A mesh in arrays. Indices count from 0, and whoever reads them checks them.
pub struct HeldMesh {
    /// 2 or 3.
    pub dimension: usize,
    /// (n_points, dimension).
    pub points: Shared<f64>,
    /// Cells by type.
    pub groups: Vec<HeldCells>,
    /// Indices of points by name.
    pub node_sets: Vec<(String, Shared<i64>)>,
    /// Indices of cells by name, in the order of all groups.
    pub element_sets: Vec<(String, Shared<i64>)>,
    /// Data on cells by name, each as an `.npy` file.
    pub cell_data: Vec<(String, Pieces)>,
}

/// Cells of one type.
pub struct HeldCells {
    /// Abaqus's name of the type.
    pub kind: String,
    /// Points a cell.
    pub corners: usize,
    /// Indices of points, (n_cells, corners).
    pub nodes: Shared<i64>,
}

impl HeldCells {
    /// The points of each cell.
    pub fn cells(&self) -> impl ExactSizeIterator<Item = &[i64]> {
        (*self.nodes).as_ref().chunks_exact(self.corners.max(1))
    }
}

impl HeldMesh {
    /// Coordinates of the points; z = 0 in the plane.
    pub fn coordinates(&self) -> Vec<f64> {
        let points = (*self.points).as_ref();
        match self.dimension {
            3 => points.to_vec(),
            _ => points.chunks_exact(2).flat_map(|x| [x[0], x[1], 0.0]).collect(),
        }
    }

    /// Bytes of points and cells.
    pub fn bytes(&self) -> u64 {
        let cells: usize = self.groups.iter().map(|group| size_of_val((*group.nodes).as_ref())).sum();
        (size_of_val((*self.points).as_ref()) + cells) as u64
    }

    /// Number of points.
    pub fn n_points(&self) -> usize {
        (*self.points).as_ref().len() / self.dimension.max(1)
    }
}

impl Pieces {
    /// Pieces that follow each other.
    pub fn new(pieces: Vec<Shared<u8>>) -> Self {
        Self(pieces)
    }

    /// Number of bytes.
    pub fn length(&self) -> u64 {
        self.0.iter().map(|piece| (**piece).as_ref().len() as u64).sum()
    }

    /// Copies bytes from `at` on, as many as one piece has there; none behind the end.
    fn read_at(&self, mut at: u64, out: &mut [u8]) -> usize {
        for piece in &self.0 {
            let piece = (**piece).as_ref();
            if let Some(here) = usize::try_from(at).ok().and_then(|at| piece.get(at..)).filter(|here| !here.is_empty())
            {
                let n = here.len().min(out.len());
                out[..n].copy_from_slice(&here[..n]);
                return n;
            }
            at -= piece.len() as u64;
        }
        0
    }

    /// Fills `out` with the bytes from `at` on.
    ///
    /// # Errors
    /// There are not so many.
    pub fn read_exact_at(&self, out: &mut [u8], at: u64) -> io::Result<()> {
        Reader { pieces: self, at }.read_exact(out)
    }

    /// Reads them from the beginning.
    pub fn reader(&self) -> Reader<&Self> {
        Reader { pieces: self, at: 0 }
    }

    /// Reads them from the beginning, and keeps them.
    pub fn into_reader(self) -> Reader<Self> {
        Reader { pieces: self, at: 0 }
    }
}

/// A position in a file that lies in memory.
#[derive(Clone)]
pub struct Reader<P> {
    pieces: P,
    at: u64,
}

impl<P: std::borrow::Borrow<Pieces>> Reader<P> {
    /// What is read.
    pub fn pieces(&self) -> &Pieces {
        self.pieces.borrow()
    }
}

impl<P: std::borrow::Borrow<Pieces>> Read for Reader<P> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let n = self.pieces.borrow().read_at(self.at, out);
        self.at += n as u64;
        Ok(n)
    }
}

impl<P: std::borrow::Borrow<Pieces>> Seek for Reader<P> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let from = |base: u64, by: i64| {
            let wrong = || io::Error::new(io::ErrorKind::InvalidInput, "a position before the first byte");
            base.checked_add_signed(by).ok_or_else(wrong)
        };
        self.at = match to {
            SeekFrom::Start(at) => at,
            SeekFrom::Current(by) => from(self.at, by)?,
            SeekFrom::End(by) => from(self.pieces.borrow().length(), by)?,
        };
        Ok(self.at)
    }
}

impl Held {
    /// Hands over all that it holds as bytes: those of the file; of a mesh names, then numbers, little-endian.
    pub(crate) fn each_piece(&self, take: &mut impl FnMut(&[u8])) {
        match self {
            Self::File(Pieces(pieces)) => pieces.iter().for_each(|piece| take((**piece).as_ref())),
            Self::Mesh(mesh) => {
                numbers(&mesh.points, f64::to_le_bytes, take);
                for HeldCells { kind, nodes, .. } in &mesh.groups {
                    take(kind.as_bytes());
                    numbers(nodes, i64::to_le_bytes, take);
                }
                for (name, members) in mesh.node_sets.iter().chain(&mesh.element_sets) {
                    take(name.as_bytes());
                    numbers(members, i64::to_le_bytes, take);
                }
                for (name, Pieces(pieces)) in &mesh.cell_data {
                    take(name.as_bytes());
                    pieces.iter().for_each(|piece| take((**piece).as_ref()));
                }
            }
        }
    }
}

fn numbers<T: Copy>(values: &Shared<T>, bytes_of: fn(T) -> [u8; 8], take: &mut impl FnMut(&[u8])) {
    const MANY: usize = 1 << 12;
    let mut bytes = Vec::with_capacity(8 * MANY);
    for piece in (**values).as_ref().chunks(MANY) {
        bytes.clear();
        piece.iter().for_each(|value| bytes.extend(bytes_of(*value)));
        take(&bytes);
    }
}

/// What stands behind the name of an input that lay in memory, in place of its folder.
const IN_MEMORY: &str = " (in memory)";

/// What the provenance calls an input that lies in memory: its name without the folder, which is another one in each run.
pub(crate) fn name_of(path: &Path) -> String {
    format!("{}{IN_MEMORY}", path.file_name().unwrap_or_default().display())
}

/// Whether a name in a provenance is that of an input that lay in memory.
pub fn is_name(name: &str) -> bool {
    name.ends_with(IN_MEMORY)
}

static HELD: LazyLock<RwLock<HashMap<PathBuf, Held>>> = LazyLock::new(RwLock::default);

/// A folder of inputs in memory. They are gone when it is dropped.
#[derive(Debug)]
pub struct Holding {
    folder: PathBuf,
    names: Vec<PathBuf>,
}

/// An empty folder for inputs in memory, whose name no disk has and no other one in this process.
pub fn hold() -> Holding {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    // Nobody makes files there.
    let folder = format!("/proc/self/pogo-{}", NEXT.fetch_add(1, Ordering::Relaxed));
    Holding { folder: folder.into(), names: Vec::new() }
}

impl Holding {
    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Holds one more input, under this name in the folder. Gives its path.
    pub fn add(&mut self, name: &str, held: Held) -> &Path {
        let path = self.folder.join(name);
        HELD.write().unwrap_or_else(PoisonError::into_inner).insert(path.clone(), held);
        self.names.push(path);
        &self.names[self.names.len() - 1]
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        // What is dropped may call other programs: not while the lock is held.
        let mut all = HELD.write().unwrap_or_else(PoisonError::into_inner);
        let gone: Vec<_> = self.names.iter().filter_map(|path| all.remove(path)).collect();
        drop(all);
        drop(gone);
    }
}

/// The input of this name that lies in memory.
pub fn find(path: &Path) -> Option<Held> {
    HELD.read().unwrap_or_else(PoisonError::into_inner).get(path).cloned()
}

/// The mesh of this name that lies in memory.
pub fn mesh(path: &Path) -> Option<Arc<HeldMesh>> {
    match find(path) {
        Some(Held::Mesh(mesh)) => Some(mesh),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_in_pieces_reads_as_one() {
        let bytes = |from: u8, to: u8| -> Shared<u8> { Arc::new((from..to).collect::<Vec<u8>>()) };
        let pieces = Pieces::new(vec![bytes(0, 3), bytes(3, 3), bytes(3, 10)]);
        assert_eq!(pieces.length(), 10);
        let mut all = Vec::new();
        pieces.reader().read_to_end(&mut all).unwrap();
        assert_eq!(all, (0..10).collect::<Vec<u8>>());
        let mut some = [0; 4];
        pieces.read_exact_at(&mut some, 1).unwrap();
        assert_eq!(some, [1, 2, 3, 4]);
        assert!(pieces.read_exact_at(&mut some, 7).is_err() && pieces.read_exact_at(&mut some, 70).is_err());
        let mut reader = pieces.into_reader();
        assert_eq!(reader.seek(SeekFrom::End(-2)).unwrap(), 8);
        assert!(reader.seek(SeekFrom::Current(-9)).is_err());
        assert_eq!(reader.read(&mut some).unwrap(), 2);
        assert_eq!(&some[..2], [8, 9]);
    }

    #[test]
    fn what_is_held_goes_with_its_folder() {
        let mut one = hold();
        let other = hold();
        assert_ne!(one.folder(), other.folder());
        let path = one.add("job.toml", Held::File(Pieces::default())).to_owned();
        assert!(find(&path).is_some() && mesh(&path).is_none() && !path.exists());
        assert!(find(&other.folder().join("job.toml")).is_none());
        assert!(is_name(&name_of(&path)) && !is_name("job.toml"));
        drop(one);
        assert!(find(&path).is_none());
    }
}
