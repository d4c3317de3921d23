//! Packed streams that end only where their packing says they end.
//!
//! Reading gives 0 bytes when the end of the packed data was found, every checksum and length behind them fits, and nothing
//! but zeros follows in the file. A stream that stops earlier is an error, and so is one whose checksum differs.

use std::io::{self, BufRead, ErrorKind, Read};

use flate2::bufread::{GzDecoder, ZlibDecoder};

/// The error for a checksum or a length that does not fit what was unpacked.
fn differs(what: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, format!("{what} does not fit what was unpacked: the file is damaged"))
}

/// Refuses bytes other than zeros behind packed data; some programs fill a block of a tape or a disk up with zeros.
fn expect_padding(mut packed: impl BufRead) -> io::Result<()> {
    loop {
        let rest = packed.fill_buf()?;
        if rest.is_empty() {
            return Ok(());
        }
        if rest.iter().any(|&byte| byte != 0) {
            let message = "the file goes on behind the end of its packed data: it is two files in one, or damaged";
            return Err(io::Error::new(ErrorKind::InvalidData, message));
        }
        let length = rest.len();
        packed.consume(length);
    }
}

/// Unpacks a gzip file of one member or several; each has its CRC-32 and length behind it.
pub(crate) struct Gunzip<R>(Option<GzDecoder<R>>);

impl<R: BufRead> Gunzip<R> {
    pub(crate) fn new(packed: R) -> Self {
        Self(Some(GzDecoder::new(packed)))
    }
}

impl<R: BufRead> Read for Gunzip<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = self.0.as_mut().filter(|_| !out.is_empty()) {
            let n = member.read(out)?;
            if n > 0 {
                return Ok(n);
            }
            let Some(mut packed) = self.0.take().map(GzDecoder::into_inner) else { break };
            if packed.fill_buf()?.first() == Some(&0x1f) {
                self.0 = Some(GzDecoder::new(packed));
            } else {
                expect_padding(packed)?;
            }
        }
        Ok(0)
    }
}

/// Unpacks a zlib stream, which has its Adler-32 behind it.
pub(crate) struct Unzlib<R>(Option<ZlibDecoder<R>>);

impl<R: BufRead> Unzlib<R> {
    pub(crate) fn new(packed: R) -> Self {
        Self(Some(ZlibDecoder::new(packed)))
    }
}

impl<R: BufRead> Read for Unzlib<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let Some(stream) = self.0.as_mut().filter(|_| !out.is_empty()) else { return Ok(0) };
        let n = stream.read(out)?;
        if n == 0
            && let Some(stream) = self.0.take()
        {
            expect_padding(stream.into_inner())?;
        }
        Ok(n)
    }
}

/// Compares what is read with a length and a CRC-32 that are known beforehand, as those of an entry of a zip archive.
pub(crate) struct Known<R> {
    unpacked: R,
    bytes: u64,
    crc: u32,
    found: flate2::Crc,
    read: u64,
}

impl<R: Read> Known<R> {
    pub(crate) fn new(unpacked: R, bytes: u64, crc: u32) -> Self {
        Self { unpacked, bytes, crc, found: flate2::Crc::new(), read: 0 }
    }
}

impl<R: Read> Read for Known<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let n = self.unpacked.read(out)?;
        self.found.update(&out[..n]);
        self.read += n as u64;
        if self.read > self.bytes || (n == 0 && !out.is_empty() && self.read < self.bytes) {
            return Err(differs("the length of this entry"));
        }
        if n == 0 && !out.is_empty() && self.found.sum() != self.crc {
            return Err(differs("the CRC-32 of this entry"));
        }
        Ok(n)
    }
}

/// Fills `out` from a zlib stream in memory, reads the stream to its end, which compares its Adler-32, and gives the number
/// of bytes that it holds beyond `out`. What follows the stream in `packed` is not looked at: TIFF strips may be padded.
pub(crate) fn unpack_zlib(packed: &[u8], out: &mut [u8]) -> io::Result<u64> {
    let mut stream = ZlibDecoder::new(packed);
    stream.read_exact(out)?;
    io::copy(&mut stream, &mut io::sink())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn all(mut stream: impl Read) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).ok().map(|_| bytes)
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(bytes).unwrap();
        packed.finish().unwrap()
    }

    fn zlib(bytes: &[u8]) -> Vec<u8> {
        let mut packed = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(bytes).unwrap();
        packed.finish().unwrap()
    }

    /// Every cut and every changed byte is an error or gives the same bytes; so few of them give the same bytes.
    fn is_held(packed: &[u8], bytes: &[u8], headers: usize, unpack: impl Fn(&[u8]) -> Option<Vec<u8>>) {
        assert_eq!(unpack(packed).as_deref(), Some(bytes));
        (0..packed.len()).for_each(|length| assert_eq!(unpack(&packed[..length]), None, "cut to {length}"));
        let mut same = 0;
        for at in 0..packed.len() {
            for bit in 0..8 {
                let mut damaged = packed.to_vec();
                damaged[at] ^= 1 << bit;
                if let Some(found) = unpack(&damaged) {
                    assert_eq!(found, bytes, "bit {bit} of byte {at}");
                    same += 1;
                }
            }
        }
        assert!(same <= 8 * headers, "{same} changes pass");
    }

    #[test]
    fn packed_streams_are_held_to_their_checksums_and_trailers() {
        let bytes: Vec<u8> = (0..300u32).map(|i| (i * i / 7) as u8).collect();
        // Time, operating system and the like of a gzip header say nothing about the data.
        is_held(&gzip(&bytes), &bytes, 10, |packed| all(Gunzip::new(packed)));
        is_held(&zlib(&bytes), &bytes, 1, |packed| all(Unzlib::new(packed)));
        is_held(&zlib(&bytes), &bytes, 1, |packed| {
            let mut out = vec![0; bytes.len()];
            unpack_zlib(packed, &mut out).ok().map(|_| out)
        });
        let crc = flate2::Crc::new();
        let crc = [&bytes[..]].iter().fold(crc, |mut crc, bytes| {
            crc.update(bytes);
            crc
        });
        is_held(&bytes, &bytes, 0, |packed| all(Known::new(packed, bytes.len() as u64, crc.sum())));
        assert_eq!(all(Known::new(&[bytes.clone(), vec![0]].concat()[..], bytes.len() as u64, crc.sum())), None);
    }

    #[test]
    fn members_are_joined_and_only_zeros_may_follow() {
        let two = [gzip(b"one "), gzip(b"two")].concat();
        assert_eq!(all(Gunzip::new(&two[..])).as_deref(), Some(&b"one two"[..]));
        for (packed, expected) in [(gzip(b"one"), true), (zlib(b"one"), false)] {
            let unpack = |packed: &[u8]| if expected { all(Gunzip::new(packed)) } else { all(Unzlib::new(packed)) };
            assert_eq!(unpack(&[&packed[..], &[0; 70_000]].concat()).as_deref(), Some(&b"one"[..]));
            assert_eq!(unpack(&[&packed[..], b"\0\0junk"].concat()), None);
        }
        let (mut out, mut long) = ([0; 2], [0; 4]);
        assert_eq!(unpack_zlib(&zlib(b"one"), &mut out).unwrap(), 1);
        assert!(unpack_zlib(&zlib(b"one"), &mut long).is_err());
    }
}
