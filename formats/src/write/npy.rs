//! NumPy's `.npy` files.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;

use zip::ZipWriter;

use super::ahead::start_writing;
use super::{OutputError, write_atomically};
use crate::system::inputs;
use crate::system::parallel::iterate::*;

/// Starts an array: magic, version, and the header with type and shape, such as `<f8` and `[12, 3]`.
///
/// # Errors
/// Those of `out`.
pub(super) fn write_header(out: &mut impl Write, kind: &str, shape: &[usize]) -> io::Result<()> {
    let sizes: Vec<String> = shape.iter().map(|n| format!("{n},")).collect();
    let mut header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({}), }}", sizes.join(" "));
    // Magic, version, length and header are a multiple of 64 bytes together, newline included.
    while !(10 + header.len() + 1).is_multiple_of(64) {
        header.push(' ');
    }
    header.push('\n');
    out.write_all(b"\x93NUMPY\x01\x00")?;
    out.write_all(&(header.len() as u16).to_le_bytes())?;
    out.write_all(header.as_bytes())
}

/// An `.npz` archive while it is written.
pub(super) type Archive<'a> = ZipWriter<Patient<'a, &'a mut BufWriter<File>>>;

/// Writes an archive of arrays through `fill`.
///
/// # Errors
/// [`OutputError::Io`].
pub(super) fn write_archive(
    path: &Path,
    fill: impl FnOnce(&mut Archive<'_>) -> io::Result<()>,
) -> Result<(), OutputError> {
    write_atomically(path, |out| {
        let mut error = None;
        let mut archive = ZipWriter::new(Patient { out, at: 0, error: &mut error });
        let filled = fill(&mut archive);
        let finished = archive.finish().map(drop).map_err(io::Error::from);
        match error {
            Some(error) => Err(error),
            None => filled.and(finished),
        }
    })
}

/// Keeps the first error of a file, and takes what comes after it as if it were written: an archive cannot be given up.
pub(super) struct Patient<'a, W> {
    out: W,
    /// Where the next byte would go.
    at: u64,
    error: &'a mut Option<io::Error>,
}

impl<W: Write> Write for Patient<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = match self.error {
            Some(_) => Ok(bytes.len()),
            None => self.out.write(bytes),
        };
        let n = written.unwrap_or_else(|error| {
            *self.error = Some(error);
            bytes.len()
        });
        self.at += n as u64;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.error.is_none()
            && let Err(error) = self.out.flush()
        {
            *self.error = Some(error);
        }
        Ok(())
    }
}

impl<W: Write + Seek> Seek for Patient<'_, W> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        if self.error.is_none() {
            match self.out.seek(to) {
                Ok(at) => self.at = at,
                Err(error) => *self.error = Some(error),
            }
        } else if let SeekFrom::Start(at) = to {
            self.at = at;
        }
        Ok(self.at)
    }
}

/// Starts an entry of an archive, stored as it is as `numpy.savez` does; `bytes` is the size of its data.
///
/// # Errors
/// Those of the archive.
pub(super) fn start_entry<W: Write + Seek>(out: &mut ZipWriter<W>, key: &str, bytes: u64) -> io::Result<()> {
    let options = zip::write::SimpleFileOptions::default()
        .compression_method(zip::CompressionMethod::Stored)
        // Numbers that a program maps lie where processors like them: NumPy's headers keep this alignment.
        .with_alignment(64)
        // Entries over 4 GiB need the 64-bit extension.
        .large_file(bytes >= 1 << 31);
    Ok(out.start_file(format!("{key}.npy"), options)?)
}

/// Writes rows of three numbers as (n, 3): `<f8` or `<i4` by the type. They come in pieces, which all threads write: `first`
/// holds the first row of each piece, and behind them n; `rows` are those of a piece.
///
/// # Errors
/// [`OutputError::Io`].
pub fn write_rows<T: Number, R: Iterator<Item = [T; 3]>>(
    path: &Path,
    first: &[usize],
    rows: impl Fn(usize) -> R + Sync,
) -> Result<(), OutputError> {
    let (n, n_pieces) = (first.last().copied().unwrap_or_default(), first.len().saturating_sub(1));
    write_rows_in_any_order::<T, OutputError>(path, &[n, 3], |writer| {
        let piece = |piece: usize| writer.values(first[piece], rows(piece).flatten());
        (0..n_pieces).into_par_iter().try_for_each(piece).map_err(OutputError::io(path))
    })
}

/// Writes an array of any shape: `<f8`, `<f4` or `<i4` by the type.
///
/// # Errors
/// [`OutputError::Io`].
pub fn write_values<T: Number>(
    path: &Path,
    shape: &[usize],
    values: impl Iterator<Item = T>,
) -> Result<(), OutputError> {
    write_atomically(path, |out| {
        write_header(out, T::KIND, shape)?;
        let mut values = values;
        values.try_for_each(|value| value.write(out))
    })
}

/// An array of an archive.
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub enum Stored<'a> {
    /// `<f8`.
    F64(&'a [f64]),
    /// `<i4`.
    U32(&'a [u32]),
}

/// Writes an `.npz` archive of arrays with names and shapes.
///
/// # Errors
/// [`OutputError::Io`].
pub fn write_arrays(path: &Path, arrays: &[(&str, &[usize], Stored<'_>)]) -> Result<(), OutputError> {
    write_archive(path, |archive| {
        arrays.iter().try_for_each(|(name, shape, values)| match values {
            Stored::F64(values) => write_entry(archive, name, shape, values),
            Stored::U32(values) => write_entry(archive, name, shape, values),
        })
    })
}

/// One `.npy` entry (format version 1.0) of an archive.
fn write_entry<T: Number>(archive: &mut Archive<'_>, key: &str, shape: &[usize], values: &[T]) -> io::Result<()> {
    start_entry(archive, key, size_of_val(values) as u64)?;
    write_header(archive, T::KIND, shape)?;
    let mut buffer = Vec::with_capacity(1 << 16);
    for some in values.chunks(1 << 12) {
        buffer.clear();
        some.iter().try_for_each(|value| value.write(&mut buffer))?;
        archive.write_all(&buffer)?;
    }
    Ok(())
}

/// Writes an array whose rows (all but its first index) come in any order, from several threads: `fill` gets a writer of
/// whole rows.
///
/// # Errors
/// [`OutputError::Io`], and what `fill` gives.
pub fn write_rows_in_any_order<T: Number, E: From<OutputError>>(
    path: &Path,
    shape: &[usize],
    fill: impl FnOnce(&RowWriter) -> Result<(), E>,
) -> Result<(), E> {
    let mut failed = None;
    let written = write_atomically(path, |out| {
        write_header(out, T::KIND, shape)?;
        out.flush()?;
        let start = out.stream_position()?;
        let width: usize = shape.iter().skip(1).product();
        let rows = shape.first().copied().unwrap_or_default();
        let bytes = (rows as u64).saturating_mul(width as u64).saturating_mul(size_of::<T>() as u64);
        out.get_ref().set_len(start.saturating_add(bytes))?;
        let writer = RowWriter { file: out.get_ref(), start, width };
        if let Err(error) = fill(&writer) {
            failed = Some(error);
            return Err(io::Error::other("not finished"));
        }
        out.seek(io::SeekFrom::End(0)).map(|_| ())
    });
    match (failed, written) {
        (Some(error), _) => Err(error),
        (None, written) => written.map_err(E::from),
    }
}

/// Writes rows of an array at their places.
#[derive(Debug)]
pub struct RowWriter<'a> {
    file: &'a File,
    start: u64,
    width: usize,
}

impl RowWriter<'_> {
    /// Values of a row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Writes one row. Rows that are never written are zeros.
    ///
    /// # Errors
    /// Those of the file.
    pub fn row<T: Number>(&self, row: usize, values: impl Iterator<Item = T>) -> io::Result<()> {
        self.values(row, values.take(self.width))
    }

    /// Writes values from a row on.
    fn values<T: Number>(&self, row: usize, values: impl Iterator<Item = T>) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(self.width * size_of::<T>());
        for value in values {
            value.write(&mut bytes)?;
        }
        let at = self.start + (row * self.width * size_of::<T>()) as u64;
        std::os::unix::fs::FileExt::write_all_at(self.file, &bytes, at)?;
        start_writing(self.file, at, bytes.len() as u64);
        Ok(())
    }
}

/// A number of an array.
pub trait Number: Copy {
    /// NumPy's name of the type.
    const KIND: &'static str;
    /// Writes it.
    ///
    /// # Errors
    /// Those of `out`.
    fn write(self, out: &mut impl Write) -> io::Result<()>;
}

impl Number for f64 {
    const KIND: &'static str = "<f8";
    fn write(self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(&self.to_le_bytes())
    }
}

impl Number for f32 {
    const KIND: &'static str = "<f4";
    fn write(self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(&self.to_le_bytes())
    }
}

impl Number for u32 {
    const KIND: &'static str = "<i4";
    fn write(self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(&self.to_le_bytes())
    }
}

/// Reads an array of `<f8` with shape (n, 3).
///
/// # Errors
/// [`OutputError::Io`] when it cannot be read, is no such array, has another number of rows, or a value that is not finite.
pub fn read_rows(path: &Path, n: usize) -> Result<Vec<f64>, OutputError> {
    let wrong = |what: String| OutputError::Io { path: path.into(), source: io::Error::other(what) };
    let mut bytes = Vec::new();
    let opened = inputs::open_regular(path).and_then(|mut file| file.read_to_end(&mut bytes));
    opened.map_err(OutputError::io(path))?;
    let length = match bytes.get(..10) {
        Some(start) if start.starts_with(b"\x93NUMPY\x01") => usize::from(u16::from_le_bytes([start[8], start[9]])),
        _ => return Err(wrong("not a NumPy array of version 1".into())),
    };
    let header = bytes.get(10..10 + length).map(String::from_utf8_lossy).unwrap_or_default();
    let plain: String = header.chars().filter(|c| !c.is_whitespace()).collect();
    if !plain.contains("'descr':'<f8'") || !plain.contains("'fortran_order':False") {
        return Err(wrong("expected 64-bit floats in C order".into()));
    }
    let data = &bytes[(10 + length).min(bytes.len())..];
    if !plain.contains(&format!("'shape':({n},3")) || data.len() != 24 * n {
        return Err(wrong(format!("expected {n} rows of 3 numbers: it belongs to another model")));
    }
    let (data, _) = data.as_chunks::<8>();
    let values: Vec<f64> = data.iter().map(|&bytes| f64::from_le_bytes(bytes)).collect();
    match values.iter().position(|value| !value.is_finite()) {
        Some(at) => Err(wrong(format!("row {} has the value {}", at / 3, values[at]))),
        None => Ok(values),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes so many bytes and no more.
    struct Full(usize);

    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or_else(|| io::Error::from(io::ErrorKind::StorageFull))?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Seek for Full {
        fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
            let SeekFrom::Start(at) = to else { return Ok(0) };
            Ok(at)
        }
    }

    /// Wherever the disk is full, also where the archive's list of entries is written.
    #[test]
    fn an_archive_on_a_full_disk_keeps_its_error() {
        let mut n_failed = 0;
        for room in (0..600).step_by(20) {
            let mut error = None;
            let mut archive = ZipWriter::new(Patient { out: Full(room), at: 0, error: &mut error });
            start_entry(&mut archive, "a", 16).unwrap();
            archive.write_all(&[0; 16]).unwrap();
            archive.finish().unwrap();
            n_failed += usize::from(error.is_some_and(|error| error.kind() == io::ErrorKind::StorageFull));
        }
        assert!(n_failed > 5 && n_failed < 30, "{n_failed}");
    }

    #[test]
    fn rows_come_back_and_foreign_files_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("u.npy");
        let rows = [[1.0, -2.5, 3e-300], [f64::MAX, 0.0, -0.0]];
        let first = [0, 1, 1, 2];
        write_rows(&path, &first, |piece| rows[first[piece]..first[piece + 1]].iter().copied()).unwrap();
        assert_eq!(read_rows(&path, 2).unwrap(), rows.concat());
        assert_eq!(std::fs::metadata(&path).unwrap().len() % 16, 0);
        assert!(read_rows(&path, 3).unwrap_err().to_string().contains("another model"));
        write_rows(&path, &[0, 2], |_| [[0.0; 3], [0.0, f64::NAN, 0.0]].into_iter()).unwrap();
        assert!(read_rows(&path, 2).unwrap_err().to_string().contains("row 1 has the value NaN"));
        write_rows(&path, &[0, 1], |_| [[1_u32, 2, 3]].into_iter()).unwrap();
        assert!(read_rows(&path, 1).unwrap_err().to_string().contains("64-bit floats"));
        std::fs::write(&path, "x").unwrap();
        assert!(read_rows(&path, 1).unwrap_err().to_string().contains("not a NumPy array"));
    }
}
