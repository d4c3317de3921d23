//! The frames of a run, kept on disk until their common scale is known.
//!
//! A frame is one value a pixel. The file is a heading (`POGOFRM1`, the number of values of a frame), then for each frame its
//! step, its time, the bytes that follow, and the values as f32, packed by gzip. All numbers are little-endian and of 8 bytes.
//! A frame that a killed run has not finished is left out when the run goes on.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

use super::scale::Spread;
use crate::write::{OutputError, journal};

const MAGIC: &[u8; 8] = b"POGOFRM1";
const HEADING: u64 = 16;
const RECORD: u64 = 24;

/// A frame in the file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FrameAt {
    /// Step of the run.
    pub step: u64,
    /// s.
    pub time: f64,
    /// Nothing but zeros.
    pub is_blank: bool,
    offset: u64,
    bytes: u64,
}

/// The frames of a run so far.
#[derive(Debug)]
pub struct Film {
    path: PathBuf,
    file: File,
    n_values: usize,
    frames: Vec<FrameAt>,
    spread: Spread,
}

impl Film {
    /// Begins a film of frames with so many values.
    ///
    /// # Errors
    /// [`OutputError::Io`].
    pub fn create(path: &Path, n_values: usize) -> Result<Self, OutputError> {
        journal::note(path);
        let options = || OpenOptions::new().read(true).write(true).create(true).truncate(true).open(path);
        let mut file = options().map_err(OutputError::io(path))?;
        let heading = [&MAGIC[..], &(n_values as u64).to_le_bytes()].concat();
        file.write_all(&heading).map_err(OutputError::io(path))?;
        Ok(Self { path: path.to_owned(), file, n_values, frames: Vec::new(), spread: Spread::default() })
    }

    /// Goes on with a film after its frames up to a step. One that is missing or of other frames begins anew.
    ///
    /// # Errors
    /// [`OutputError::Io`].
    pub fn resume(path: &Path, n_values: usize, last_step: u64) -> Result<Self, OutputError> {
        let Ok(mut file) = OpenOptions::new().read(true).write(true).open(path) else {
            return Self::create(path, n_values);
        };
        let mut heading = [0; HEADING as usize];
        let expected = [&MAGIC[..], &(n_values as u64).to_le_bytes()].concat();
        if file.read_exact(&mut heading).is_err() || heading[..] != expected[..] {
            return Self::create(path, n_values);
        }
        journal::note(path);
        let mut film = Self { path: path.to_owned(), file, n_values, frames: Vec::new(), spread: Spread::default() };
        let mut end = HEADING;
        while let Some((frame, values)) = film.read_at(end).filter(|(frame, _)| frame.step <= last_step) {
            end = frame.offset + frame.bytes;
            film.take(frame, &values);
        }
        film.file.set_len(end).map_err(OutputError::io(path))?;
        Ok(film)
    }

    /// The frame whose record is at this place, if it is whole.
    fn read_at(&mut self, offset: u64) -> Option<(FrameAt, Vec<f32>)> {
        self.file.seek(SeekFrom::Start(offset)).ok()?;
        let mut record = [[0; 8]; 3];
        self.file.read_exact(record.as_flattened_mut()).ok()?;
        let [step, time, bytes] = record;
        let offset = offset + RECORD;
        let frame = FrameAt {
            step: u64::from_le_bytes(step),
            time: f64::from_le_bytes(time),
            is_blank: false,
            offset,
            bytes: u64::from_le_bytes(bytes),
        };
        let end = frame.offset.checked_add(frame.bytes)?;
        (end <= self.file.metadata().ok()?.len()).then_some(())?;
        let values = self.unpack(&frame).ok()?;
        Some((frame, values))
    }

    fn unpack(&mut self, frame: &FrameAt) -> std::io::Result<Vec<f32>> {
        self.file.seek(SeekFrom::Start(frame.offset))?;
        let mut values = vec![[0; 4]; self.n_values];
        let mut packed = GzDecoder::new((&self.file).take(frame.bytes));
        packed.read_exact(values.as_flattened_mut())?;
        // The checksum stands at the end.
        std::io::copy(&mut packed, &mut std::io::sink())?;
        Ok(values.into_iter().map(f32::from_le_bytes).collect())
    }

    fn take(&mut self, frame: FrameAt, values: &[f32]) {
        self.spread.add(values.iter().copied());
        let is_blank = values.iter().all(|value| value.is_nan() || *value == 0.0);
        self.frames.push(FrameAt { is_blank, ..frame });
    }

    /// Adds a frame.
    ///
    /// # Errors
    /// [`OutputError::Shape`] of another number of values; [`OutputError::Io`].
    pub fn push(&mut self, step: u64, time: f64, values: &[f32]) -> Result<(), OutputError> {
        if values.len() != self.n_values {
            return Err(OutputError::shape(
                &self.path,
                format!("{} values for {} pixels", values.len(), self.n_values),
            ));
        }
        let begin = self.frames.last().map_or(HEADING, |frame| frame.offset + frame.bytes);
        let mut write = || {
            let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
            values.chunks(4096).try_for_each(|part| {
                let bytes: Vec<[u8; 4]> = part.iter().map(|value| value.to_le_bytes()).collect();
                packed.write_all(bytes.as_flattened())
            })?;
            let packed = packed.finish()?;
            let bytes = packed.len() as u64;
            let record = [step.to_le_bytes(), time.to_le_bytes(), bytes.to_le_bytes()];
            self.file.seek(SeekFrom::Start(begin))?;
            self.file.write_all(record.as_flattened())?;
            self.file.write_all(&packed)?;
            Ok(bytes)
        };
        let bytes = write().map_err(OutputError::io(&self.path))?;
        self.take(FrameAt { step, time, is_blank: false, offset: begin + RECORD, bytes }, values);
        Ok(())
    }

    /// All frames so far.
    pub fn frames(&self) -> &[FrameAt] {
        &self.frames
    }

    /// The values of a frame.
    ///
    /// # Errors
    /// [`OutputError::Io`].
    pub fn values(&mut self, frame: FrameAt) -> Result<Vec<f32>, OutputError> {
        self.unpack(&frame).map_err(OutputError::io(&self.path))
    }

    /// How large the values of all frames are.
    pub fn spread(&self) -> &Spread {
        &self.spread
    }

    /// Removes the file.
    pub fn remove(self) {
        drop(std::fs::remove_file(&self.path));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_back_and_a_run_that_goes_on_keeps_the_whole_ones() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("film");
        let frames: Vec<Vec<f32>> = (0..4).map(|n| (0..1000).map(|i| (n * i) as f32).collect()).collect();
        let mut film = Film::create(&path, 1000).unwrap();
        for (step, values) in (0..).zip(&frames) {
            film.push(10 * step, step as f64, values).unwrap();
        }
        assert!(film.push(50, 5.0, &[1.0]).is_err());
        assert_eq!(film.values(film.frames()[2]).unwrap(), frames[2]);
        assert_eq!(film.frames().iter().map(|frame| frame.is_blank).collect::<Vec<_>>(), [true, false, false, false]);
        drop(film);

        // Up to a step; the last frame was cut.
        let whole = std::fs::read(&path).unwrap();
        for (length, last_step, expected) in [(whole.len(), 10, 2), (whole.len() - 3, 90, 3), (30, 90, 0)] {
            std::fs::write(&path, &whole[..length]).unwrap();
            let mut film = Film::resume(&path, 1000, last_step).unwrap();
            assert_eq!(film.frames().len(), expected, "{length}");
            film.push(99, 9.9, &frames[1]).unwrap();
            assert_eq!(film.values(film.frames()[expected]).unwrap(), frames[1]);
        }
        // Frames of another size.
        assert!(Film::resume(&path, 7, 90).unwrap().frames().is_empty());
        Film::resume(&path, 7, 90).unwrap().remove();
        assert!(!path.exists());
    }
}
