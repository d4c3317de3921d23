//! Checkpoints: the state of a run, from which it continues bit for bit.
//!
//! Layout, little-endian: magic `POGOCKPT`, version u32, length of the file u64, step u64, external work f64, damped energy
//! f64, fingerprint u64, time increment f64; then, each with its length as u64 in front: the block file's hash, the precision, u, Δu, payload;
//! then XXH3-64 of all bytes before it.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::{OutputError, write_atomically};
use crate::system::inputs;

const MAGIC: [u8; 8] = *b"POGOCKPT";
const VERSION: u32 = 3;
/// Magic, version and length.
const PREFIX: usize = 20;
/// Magic to time increment, five lengths and the checksum.
const SMALLEST: usize = PREFIX + 5 * 8 + 5 * 8 + 8;

/// Everything that a run needs to continue.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Checkpoint<'a> {
    /// Hash of the block file, as the block file's reader reports it.
    pub block_hash: Cow<'a, str>,
    /// `f32` or `f64`.
    pub precision: Cow<'a, str>,
    /// Hash of the settings that must not change: overrides, increment, lumping.
    pub fingerprint: u64,
    /// Δt, s.
    pub time_increment: f64,
    /// n.
    pub step: u64,
    /// Work done by forces and moving supports so far, J.
    pub external_work: f64,
    /// Energy taken by damping so far, J.
    pub damped_energy: f64,
    /// u_n, m, (n_nodes × dimension,); single precision is kept exactly.
    pub displacement: Cow<'a, [f64]>,
    /// Δu_n, m, (n_nodes × dimension,).
    pub increment: Cow<'a, [f64]>,
    /// Whatever else the solver keeps: traces and energies so far, snapshots written.
    pub payload: Cow<'a, [u8]>,
}

/// Writes bytes and hashes them on the way.
struct Hashed<'a> {
    out: &'a mut BufWriter<File>,
    hash: Xxh3,
}

impl Hashed<'_> {
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hash.update(bytes);
        self.out.write_all(bytes)
    }

    fn put_section(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.put(&(bytes.len() as u64).to_le_bytes())?;
        self.put(bytes)
    }

    fn put_numbers(&mut self, values: &[f64]) -> io::Result<()> {
        self.put(&(8 * values.len() as u64).to_le_bytes())?;
        let mut buffer = Vec::with_capacity(1 << 16);
        for chunk in values.chunks(1 << 13) {
            buffer.clear();
            buffer.extend(chunk.iter().flat_map(|value| value.to_le_bytes()));
            self.put(&buffer)?;
        }
        Ok(())
    }
}

/// Writes a checkpoint; the one that was there stays until the new one is whole.
///
/// # Errors
/// [`OutputError::Io`].
pub fn write(path: &Path, checkpoint: &Checkpoint<'_>) -> Result<(), OutputError> {
    let length = SMALLEST
        + checkpoint.block_hash.len()
        + checkpoint.precision.len()
        + 8 * (checkpoint.displacement.len() + checkpoint.increment.len())
        + checkpoint.payload.len();
    write_atomically(path, |out| {
        let mut file = Hashed { out, hash: Xxh3::new() };
        file.put(&MAGIC)?;
        file.put(&VERSION.to_le_bytes())?;
        file.put(&(length as u64).to_le_bytes())?;
        file.put(&checkpoint.step.to_le_bytes())?;
        file.put(&checkpoint.external_work.to_le_bytes())?;
        file.put(&checkpoint.damped_energy.to_le_bytes())?;
        file.put(&checkpoint.fingerprint.to_le_bytes())?;
        file.put(&checkpoint.time_increment.to_le_bytes())?;
        file.put_section(checkpoint.block_hash.as_bytes())?;
        file.put_section(checkpoint.precision.as_bytes())?;
        file.put_numbers(&checkpoint.displacement)?;
        file.put_numbers(&checkpoint.increment)?;
        file.put_section(&checkpoint.payload)?;
        let hash = file.hash.digest();
        out.write_all(&hash.to_le_bytes())
    })
}

/// The increment of a checkpoint, s, without the rest of it; none of what is no checkpoint of this version.
pub fn time_increment(path: &Path) -> Option<f64> {
    let mut start = [0; PREFIX + 5 * 8];
    inputs::open_regular(path).ok()?.read_exact(&mut start).ok()?;
    let is_known = start[..8] == MAGIC && start[8..12] == VERSION.to_le_bytes();
    let (_, last) = start.split_last_chunk::<8>()?;
    is_known.then(|| f64::from_le_bytes(*last))
}

/// Reads a checkpoint. That it belongs to this block file, precision and settings is for the caller to compare.
///
/// # Errors
/// [`OutputError::Io`]; [`OutputError::Damaged`] for what is no checkpoint, is of another version, cut or changed.
pub fn read(path: &Path) -> Result<Checkpoint<'static>, OutputError> {
    let damaged = |what: String| OutputError::damaged(path, what);
    let mut file = inputs::open_regular(path).map_err(OutputError::io(path))?;
    let on_disk = file.metadata().map_err(OutputError::io(path))?.len();
    let mut prefix = [0; PREFIX];
    if on_disk >= PREFIX as u64 {
        file.read_exact(&mut prefix).map_err(OutputError::io(path))?;
    }
    if prefix[..8] != MAGIC {
        return Err(damaged("not a Pogo checkpoint".into()));
    }
    let version = u32::from_le_bytes([prefix[8], prefix[9], prefix[10], prefix[11]]);
    if version != VERSION {
        return Err(damaged(format!(
            "checkpoint of version {version}, expected {VERSION}: continue with the Pogo that wrote it, or start again"
        )));
    }
    let length = u64::from_le_bytes(prefix[12..].try_into().unwrap_or_default());
    if length != on_disk || length < SMALLEST as u64 {
        return Err(damaged(format!(
            "the checkpoint is cut or changed: {on_disk} bytes, expected {length}; use an older one or start again"
        )));
    }
    let rest = usize::try_from(length).map_err(|_| damaged("larger than this machine's memory".into()))? - PREFIX;
    let mut bytes = Vec::new();
    bytes
        .try_reserve_exact(rest + PREFIX)
        .map_err(|_| damaged(format!("no memory for a checkpoint of {length} bytes")))?;
    bytes.extend_from_slice(&prefix);
    file.read_to_end(&mut bytes).map_err(OutputError::io(path))?;
    let changed = || damaged("the checkpoint's checksum is wrong: use an older one or start again".into());
    let (content, checksum) = bytes.split_last_chunk::<8>().ok_or_else(changed)?;
    if xxh3_64(content) != u64::from_le_bytes(*checksum) {
        return Err(changed());
    }
    parse(&content[PREFIX..]).ok_or_else(changed)
}

/// The part between the length and the checksum; none when the lengths do not add up.
fn parse(mut rest: &[u8]) -> Option<Checkpoint<'static>> {
    let step = u64::from_le_bytes(take(&mut rest)?);
    let external_work = f64::from_le_bytes(take(&mut rest)?);
    let damped_energy = f64::from_le_bytes(take(&mut rest)?);
    let fingerprint = u64::from_le_bytes(take(&mut rest)?);
    let time_increment = f64::from_le_bytes(take(&mut rest)?);
    let block_hash = String::from_utf8(section(&mut rest)?.to_vec()).ok()?;
    let precision = String::from_utf8(section(&mut rest)?.to_vec()).ok()?;
    let displacement = numbers(section(&mut rest)?)?;
    let increment = numbers(section(&mut rest)?)?;
    let payload = section(&mut rest)?.to_vec();
    rest.is_empty().then(|| Checkpoint {
        block_hash: block_hash.into(),
        precision: precision.into(),
        fingerprint,
        time_increment,
        step,
        external_work,
        damped_energy,
        displacement: displacement.into(),
        increment: increment.into(),
        payload: payload.into(),
    })
}

fn take(rest: &mut &[u8]) -> Option<[u8; 8]> {
    let (first, tail) = rest.split_first_chunk::<8>()?;
    *rest = tail;
    Some(*first)
}

fn section<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = usize::try_from(u64::from_le_bytes(take(rest)?)).ok()?;
    let (section, tail) = rest.split_at_checked(length)?;
    *rest = tail;
    Some(section)
}

fn numbers(bytes: &[u8]) -> Option<Vec<f64>> {
    let (values, remainder) = bytes.as_chunks::<8>();
    let mut numbers = Vec::new();
    numbers.try_reserve_exact(values.len()).ok()?;
    numbers.extend(values.iter().map(|value| f64::from_le_bytes(*value)));
    remainder.is_empty().then_some(numbers)
}

#[cfg(test)]
mod tests;
