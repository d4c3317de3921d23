//! Where the samples of a stack come from: a stretch of a file, or a stream that is unpacked on the way.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Take};
use std::path::PathBuf;

use super::Header;
use super::sample::Endian;
use crate::system::inputs::{self, Input};

/// Layers of samples.
pub(super) trait Source: Send {
    /// Fills `out`, a whole number of layers, with layers from `first` on, as they are stored.
    fn read(&mut self, first: usize, out: &mut [u8]) -> Result<(), String>;

    /// Reads what is left of packed voxels, so that every checksum is compared. Gives the number of bytes behind the last
    /// voxel that belong to no voxel, and should not be there.
    fn finish(&mut self) -> Result<u64, String> {
        Ok(0)
    }
}

/// How a sample's bytes are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    /// Lowest byte first.
    Little,
    /// Highest byte first.
    Big,
    /// F-floating numbers of VAX computers.
    Vax,
}

impl From<Endian> for Encoding {
    fn from(endian: Endian) -> Self {
        match endian {
            Endian::Little => Self::Little,
            Endian::Big => Self::Big,
        }
    }
}

impl Encoding {
    /// Makes samples of `size` bytes little-endian.
    pub(super) fn to_little(self, size: usize, samples: &mut [u8]) {
        match (self, size) {
            (Self::Little, _) | (Self::Big, 1) => {}
            (Self::Big, 2) => samples.as_chunks_mut::<2>().0.iter_mut().for_each(|sample| sample.reverse()),
            (Self::Big, 4) => samples.as_chunks_mut::<4>().0.iter_mut().for_each(|sample| sample.reverse()),
            (Self::Big, _) => samples.as_chunks_mut::<8>().0.iter_mut().for_each(|sample| sample.reverse()),
            (Self::Vax, _) => {
                for sample in samples.as_chunks_mut::<4>().0 {
                    *sample = vax_float(*sample).to_le_bytes();
                }
            }
        }
    }
}

/// Values of less than a byte, the first in the highest bits.
pub(super) fn unpack(row: &[u8], bits: usize, values: &mut [u8]) {
    let (per_byte, mask) = (8 / bits, u8::MAX >> (8 - bits));
    for (i, value) in values.iter_mut().enumerate() {
        *value = row[i / per_byte] >> (8 - bits * (1 + i % per_byte)) & mask;
    }
}

/// A VAX F-floating number: IEEE's layout with the two 16-bit halves swapped and an exponent that is larger by 2.
pub(super) fn vax_float(bytes: [u8; 4]) -> f32 {
    f32::from_bits(u32::from_le_bytes([bytes[2], bytes[3], bytes[0], bytes[1]])) * 0.25
}

/// A number of VAX' G-floating kind as Scanco's headers hold it: IEEE's double with its 16-bit quarters in reverse order.
pub(super) fn vax_double(bytes: [u8; 8]) -> f64 {
    let [a, b, c, d, e, f, g, h] = bytes;
    f64::from_bits(u64::from_le_bytes([g, h, e, f, c, d, a, b])) * 0.25
}

/// Samples that lie one after the other in a file, or in memory.
pub(super) struct Flat {
    file: Input,
    offset: u64,
    layer_bytes: u64,
    /// Bytes behind the last voxel that should not be there.
    rest: u64,
}

impl Flat {
    /// Checks that the file holds all voxels of a header from `offset` on. `tail` bytes may follow them.
    pub(super) fn new(header: &Header, file: Input, offset: u64, tail: u64) -> Result<Self, String> {
        let (layer_bytes, bytes) = header.bytes()?;
        let rest = expect_bytes(&file, offset, bytes)?;
        Ok(Self { file, offset, layer_bytes: layer_bytes as u64, rest: if rest > tail { rest } else { 0 } })
    }
}

/// Checks that a file holds so many bytes of voxels from `offset` on. Gives the number of bytes behind them.
pub(super) fn expect_bytes(file: &Input, offset: u64, bytes: u64) -> Result<u64, String> {
    let length = file.length().map_err(|error| format!("cannot read this stack: {error}"))?;
    if offset.checked_add(bytes).is_none_or(|end| end > length) {
        return Err(too_short(bytes, length.saturating_sub(offset)));
    }
    Ok(length - offset - bytes)
}

/// The error for a file that holds fewer bytes of voxels than it should.
pub(super) fn too_short(bytes: u64, held: u64) -> String {
    format!("the header claims {bytes} bytes of voxels, the file holds {held}: it is cut short, or damaged")
}

impl Source for Flat {
    fn read(&mut self, first: usize, out: &mut [u8]) -> Result<(), String> {
        let start = self.offset + first as u64 * self.layer_bytes;
        self.file.read_exact_at(out, start).map_err(|error| format!("cannot read layer {first}: {error}"))
    }

    fn finish(&mut self) -> Result<u64, String> {
        Ok(self.rest)
    }
}

/// Opens a stream again from its beginning.
pub(super) type Reopen = Box<dyn Fn() -> io::Result<Box<dyn Read + Send>> + Send>;

/// A stretch of a file that is read in pieces.
pub(super) type Stretch = BufReader<Take<File>>;

/// Opens the `length` bytes of a file that begin at `start`, through `unpack`.
pub(super) fn reopen<R: Read + Send + 'static>(
    path: PathBuf,
    (start, length): (u64, u64),
    unpack: impl Fn(Stretch) -> io::Result<R> + Send + 'static,
) -> Reopen {
    Box::new(move || {
        let mut file = inputs::open(&path)?;
        file.seek(SeekFrom::Start(start))?;
        Ok(Box::new(unpack(BufReader::with_capacity(1 << 16, file.take(length)))?))
    })
}

/// Samples of a stream that can only be read forward.
pub(super) struct Stream {
    reopen: Reopen,
    stream: Option<Box<dyn Read + Send>>,
    /// Bytes of the stream before the first sample.
    offset: u64,
    position: u64,
    layer_bytes: u64,
    /// Bytes of the stream up to the end of the last sample.
    end: u64,
    /// Bytes behind that, once the stream has been read to its end.
    rest: Option<u64>,
}

/// Bytes that a byte of deflate can become at most.
pub(super) const DEFLATE_RATIO: u64 = 1032;

/// Bytes behind the last voxel that are unpacked beyond as many again as the voxels have. More than that is no mistake in a
/// size but a file that is made to cost time.
const MOST_REST: u64 = 64 << 20;

impl Stream {
    /// `packed` is the number of bytes that the stream is unpacked from: a claim that no stream of that length can fulfil is
    /// refused.
    pub(super) fn deflated(header: &Header, reopen: Reopen, packed: u64, offset: u64) -> Result<Self, String> {
        let (_, bytes) = header.bytes()?;
        if bytes > packed.saturating_mul(DEFLATE_RATIO) {
            return Err(format!(
                "the header claims {bytes} bytes of voxels, more than {packed} packed bytes can hold: it is cut short, or damaged"
            ));
        }
        Self::new(header, reopen, offset)
    }

    /// The voxels of a header from byte `offset` of a stream on.
    pub(super) fn new(header: &Header, reopen: Reopen, offset: u64) -> Result<Self, String> {
        let (layer_bytes, bytes) = header.bytes()?;
        let end = offset.checked_add(bytes).ok_or("the header puts the voxels beyond the end of any file")?;
        Ok(Self { reopen, stream: None, offset, position: 0, layer_bytes: layer_bytes as u64, end, rest: None })
    }

    /// Reads on from byte `start` of the stream; begins again where that lies behind.
    fn advance(&mut self, start: u64, out: &mut [u8]) -> io::Result<()> {
        let mut stream = match self.stream.take() {
            Some(stream) if self.position <= start => stream,
            _ => {
                self.position = 0;
                (self.reopen)()?
            }
        };
        let skipped = io::copy(&mut stream.by_ref().take(start - self.position), &mut io::sink())?;
        if skipped < start - self.position {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        stream.read_exact(out)?;
        self.position = start + out.len() as u64;
        self.stream = Some(stream);
        Ok(())
    }

    /// Reads the stream from the end of the last sample to its own end, which compares checksums.
    fn drain(&mut self) -> io::Result<u64> {
        self.advance(self.end, &mut [])?;
        let most = (self.end - self.offset).saturating_add(MOST_REST);
        let Some(stream) = &mut self.stream else { return Ok(0) };
        let rest = io::copy(&mut stream.take(most + 1), &mut io::sink())?;
        self.position += rest;
        if rest > most {
            let message = format!("more than {most} bytes follow the last voxel: the header's sizes are wrong");
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        Ok(rest)
    }
}

impl Source for Stream {
    fn read(&mut self, first: usize, out: &mut [u8]) -> Result<(), String> {
        self.advance(self.offset + first as u64 * self.layer_bytes, out).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => {
                format!("the packed voxels end within layer {first} or the next: the file is cut short, or damaged")
            }
            _ => format!("cannot unpack layer {first}: {error}"),
        })?;
        // Whoever reads the last layer must not go on with voxels whose checksum has not been compared.
        if self.position == self.end { self.finish().map(|_| ()) } else { Ok(()) }
    }

    fn finish(&mut self) -> Result<u64, String> {
        if let Some(rest) = self.rest {
            return Ok(rest);
        }
        let rest = self.drain().map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => {
                "the packed voxels end early, or without their checksum: the file is cut short, or damaged".to_owned()
            }
            _ => format!("cannot unpack the voxels to their end: {error}"),
        })?;
        self.rest = Some(rest);
        Ok(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vax_numbers_are_what_scanco_stored() {
        // Element size of the Bonelab files.
        assert_eq!(vax_float([0xa7, 0x3e, 0x9e, 0xef]), 0.082);
        let mut samples = [0x80, 0x40, 0, 0];
        Encoding::Vax.to_little(4, &mut samples);
        assert_eq!(f32::from_le_bytes(samples), 1.0);
        assert_eq!(vax_double([0x20, 0x40, 0, 0, 0, 0, 0, 0]), 2.0);
    }

    #[test]
    fn a_stream_goes_back_by_starting_again() {
        let data: Vec<u8> = (0..40).collect();
        let reopen: Reopen = Box::new(move || Ok(Box::new(io::Cursor::new(data.clone()))));
        let mut stream = Stream { reopen, stream: None, offset: 4, position: 0, layer_bytes: 9, end: 40, rest: None };
        let mut out = [0; 9];
        for layer in [2, 0, 1, 3] {
            stream.read(layer, &mut out).unwrap();
            assert_eq!(usize::from(out[0]), 4 + 9 * layer);
        }
        assert_eq!(stream.finish(), Ok(0));
        assert!(stream.read(4, &mut out).unwrap_err().contains("end within layer 4"));
    }
}
